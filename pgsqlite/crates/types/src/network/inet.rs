//! `inet` and `cidr`: an IPv4 or IPv6 address with the length of its network's prefix; in a `cidr` the bits after the prefix
//! are zero. Stored as they print. An `inet` that was a `cidr` may have kept its `/32`: output leaves it out.

use crate::buffer::{bad_stored, invalid_syntax, Reader};
use crate::{Datum, DatumRef, PgError, Result, SqlState};
use std::cmp::Ordering;
use std::fmt::Write;

/// How the binary form names the families.
const BINARY_V4: u8 = 2;
const BINARY_V6: u8 = 3;

/// An address. `address` has its lowest 32 or 128 bits, `bits` is the prefix's length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Inet {
    pub v6: bool,
    pub bits: u32,
    pub address: u128,
}

/// Reads digits of a prefix's length up to the end of the text: at most `most`.
fn prefix_length(digits: &[u8], most: u32) -> Option<u32> {
    let mut value = 0u32;
    for d in digits {
        value = value * 10 + (*d as char).to_digit(10)?;
        if value > most {
            return None;
        }
    }
    (!digits.is_empty()).then_some(value)
}

/// The octets of a dotted text and what follows them. `trailing_dot`: a point may end it.
fn octets(text: &[u8], trailing_dot: bool) -> Option<(Vec<u8>, &[u8])> {
    let (mut out, mut rest) = (Vec::new(), text);
    while rest.first().is_some_and(u8::is_ascii_digit) {
        let mut value = 0u32;
        while let [d @ b'0'..=b'9', after @ ..] = rest {
            value = value * 10 + u32::from(d - b'0');
            if value > 255 {
                return None;
            }
            rest = after;
        }
        if out.len() == 4 {
            return None;
        }
        out.push(value as u8);
        match rest {
            [] | [b'/', ..] => break,
            [b'.', after @ ..] if trailing_dot || after.first().is_some_and(u8::is_ascii_digit) => rest = after,
            _ => return None,
        }
    }
    (!out.is_empty()).then_some((out, rest))
}

/// What follows the address: nothing, or `/` and the prefix's length.
fn v4_prefix(rest: &[u8]) -> Option<Option<u32>> {
    match rest {
        [] => Some(None),
        [b'/', digits @ ..] => prefix_length(digits, 32).map(Some),
        _ => None,
    }
}

fn v4(octets: &[u8], bits: u32) -> Inet {
    let address = (0..4).fold(0, |n, i| n << 8 | u128::from(octets.get(i).copied().unwrap_or(0)));
    Inet { v6: false, bits, address }
}

/// IPv4 as `inet` reads it: all four octets, or as many as the given prefix needs.
fn parse_v4(text: &[u8]) -> Option<Inet> {
    let (octets, rest) = octets(text, true)?;
    let bits = match v4_prefix(rest)? {
        Some(bits) => bits,
        None if octets.len() == 4 => 32,
        None => return None,
    };
    (bits / 8 <= octets.len() as u32).then(|| v4(&octets, bits))
}

/// IPv4 as `cidr` reads it: octets may be missing at the end (or be given as `0x` and hexadecimal digits); without a prefix's
/// length the class of the network says it.
fn parse_v4_network(text: &[u8]) -> Option<Inet> {
    let (octets, rest) = match text {
        [b'0', b'x' | b'X', rest @ ..] if rest.first().is_some_and(u8::is_ascii_hexdigit) => {
            let count = rest.iter().take_while(|b| b.is_ascii_hexdigit()).count();
            let digits: Vec<u8> =
                rest[..count].iter().filter_map(|b| (*b as char).to_digit(16)).map(|d| d as u8).collect();
            // an odd last digit is the upper half of its octet
            let octets: Vec<u8> = digits.chunks(2).map(|c| c[0] << 4 | c.get(1).unwrap_or(&0)).collect();
            if octets.len() > 4 {
                return None;
            }
            (octets, &rest[count..])
        }
        _ => octets(text, false)?,
    };
    let given = octets.len() as u32 * 8;
    let bits = v4_prefix(rest)?.unwrap_or_else(|| {
        let class = match octets[0] {
            240.. => 32,
            224.. => 8,
            192.. => 24,
            128.. => 16,
            _ => 8,
        };
        match class.max(given) {
            8 if octets[0] == 224 => 4,
            bits => bits,
        }
    });
    Some(v4(&octets, bits))
}

/// The IPv4 tail of an IPv6 address: its octets (none with leading zeros) and the prefix's length after it. PostgreSQL reads an octet
/// without digits as zero where something follows it.
fn v4_tail(text: &[u8]) -> Option<(Vec<u8>, Option<u32>)> {
    let (dotted, bits) = match text.iter().position(|b| *b == b'/') {
        Some(at) => (&text[..at], Some(v6_prefix(&text[at + 1..])?)),
        None => (text, None),
    };
    let mut octets = Vec::new();
    if bits.is_none() && matches!(dotted, [] | [.., b'.']) {
        return None;
    }
    for part in dotted.split(|b| *b == b'.') {
        if part.len() > 1 && part[0] == b'0' || octets.len() == 4 {
            return None;
        }
        octets.push(if part.is_empty() { 0 } else { prefix_length(part, 255)? as u8 });
    }
    Some((octets, bits))
}

fn v6_prefix(digits: &[u8]) -> Option<u32> {
    if digits.len() > 1 && digits[0] == b'0' {
        return None;
    }
    prefix_length(digits, 128)
}

/// IPv6: eight groups, one run of zeros left out as `::`, the last two perhaps as IPv4.
fn parse_v6(text: &[u8]) -> Option<Inet> {
    let mut rest = match text {
        [b':', after @ ..] => {
            after.first().filter(|b| **b == b':')?;
            after
        }
        _ => text,
    };
    let mut bytes: Vec<u8> = Vec::new();
    let (mut gap, mut bits) = (None, None);
    let mut token = rest;
    let (mut value, mut digits) = (0u32, 0);
    while let [b, after @ ..] = rest {
        if let Some(d) = (*b as char).to_digit(16) {
            value = value << 4 | d;
            digits += 1;
            if digits > 4 {
                return None;
            }
        } else if *b == b':' {
            token = after;
            if digits == 0 {
                if gap.replace(bytes.len()).is_some() {
                    return None;
                }
            } else {
                if after.is_empty() || bytes.len() + 2 > 16 {
                    return None;
                }
                bytes.extend_from_slice(&(value as u16).to_be_bytes());
                (value, digits) = (0, 0);
            }
        } else if *b == b'.' && bytes.len() + 4 <= 16 {
            let (mut octets, given) = v4_tail(token)?;
            octets.resize(4, 0);
            bytes.extend_from_slice(&octets);
            bits = given;
            digits = 0;
            break;
        } else if *b == b'/' {
            bits = Some(v6_prefix(after)?);
            break;
        } else {
            return None;
        }
        rest = after;
    }
    if digits > 0 {
        if bytes.len() + 2 > 16 {
            return None;
        }
        bytes.extend_from_slice(&(value as u16).to_be_bytes());
    }
    if let Some(at) = gap {
        if bytes.len() == 16 {
            return None;
        }
        let missing = 16 - bytes.len();
        bytes.splice(at..at, std::iter::repeat_n(0, missing));
    }
    let bytes: [u8; 16] = bytes.try_into().ok()?;
    Some(Inet { v6: true, bits: bits.unwrap_or(128), address: u128::from_be_bytes(bytes) })
}

/// Appends four octets with points between them.
fn dotted(address: u32, out: &mut String) {
    let [a, b, c, d] = address.to_be_bytes();
    // writing to a String cannot fail
    let _ = write!(out, "{a}.{b}.{c}.{d}");
}

impl Inet {
    /// Reads the text form of an `inet`, or (`network`) of a `cidr`, whose host bits are not looked at.
    pub fn parse(text: &str, network: bool) -> Option<Inet> {
        match (text.contains(':'), network) {
            (true, _) => parse_v6(text.as_bytes()),
            (false, true) => parse_v4_network(text.as_bytes()),
            (false, false) => parse_v4(text.as_bytes()),
        }
    }

    /// Reads the storage form of either type.
    pub fn from_storage(text: &str) -> Option<Inet> {
        Inet::parse(text, false)
    }

    /// Bits of an address of the family.
    pub fn width(&self) -> u32 {
        if self.v6 {
            128
        } else {
            32
        }
    }

    /// A mask of the first `bits` bits.
    fn mask(&self, bits: u32) -> u128 {
        match self.width() - bits {
            128 => 0,
            host => (u128::MAX << host) & self.all(),
        }
    }

    fn all(&self) -> u128 {
        u128::MAX >> (128 - self.width())
    }

    /// The same with the prefix's length `bits`.
    pub fn with_bits(self, bits: u32) -> Inet {
        Inet { bits, ..self }
    }

    /// The network: the bits after the prefix are cleared.
    pub fn network(self) -> Inet {
        Inet { address: self.address & self.mask(self.bits), ..self }
    }
    /// The network's last address.
    pub fn broadcast(self) -> Inet {
        Inet { address: self.address | self.all() & !self.mask(self.bits), ..self }
    }
    pub fn netmask(self) -> Inet {
        Inet { address: self.mask(self.bits), bits: self.width(), ..self }
    }
    pub fn hostmask(self) -> Inet {
        Inet { address: self.all() & !self.mask(self.bits), bits: self.width(), ..self }
    }

    /// `set_masklen`'s argument as a prefix's length: -1 is the whole address.
    pub fn checked_bits(&self, bits: i64) -> Result<u32> {
        match bits {
            -1 => Ok(self.width()),
            n if (0..=i64::from(self.width())).contains(&n) => Ok(n as u32),
            n => Err(PgError::new(SqlState::INVALID_PARAMETER_VALUE, format!("invalid mask length: {n}"))),
        }
    }

    /// The address alone.
    pub fn host(&self) -> String {
        let mut out = String::new();
        if !self.v6 {
            dotted(self.address as u32, &mut out);
            return out;
        }
        let bytes = self.address.to_be_bytes();
        let groups: Vec<u16> = bytes.chunks(2).map(|c| u16::from_be_bytes([c[0], c[1]])).collect();
        // the first of the longest runs of zeros, if it has two groups
        let (mut start, mut length, mut at) = (0, 0, 0);
        while at < 8 {
            let run = groups[at..].iter().take_while(|g| **g == 0).count();
            if run > length {
                (start, length) = (at, run);
            }
            at += run.max(1);
        }
        if length < 2 {
            length = 0;
        }
        for (i, group) in groups.iter().enumerate() {
            if (start..start + length).contains(&i) {
                if i == start {
                    out.push(':');
                }
                continue;
            }
            if i > 0 {
                out.push(':');
            }
            if i == 6 && start == 0 && (length == 6 || length == 5 && groups[5] == 0xffff) {
                dotted(self.address as u32, &mut out);
                return out;
            }
            let _ = write!(out, "{group:x}");
        }
        if length > 0 && start + length == 8 {
            out.push(':');
        }
        out
    }

    /// The address and always the prefix's length: how a `cidr` prints.
    pub fn with_prefix(&self) -> String {
        format!("{}/{}", self.host(), self.bits)
    }

    /// How an `inet` prints: the prefix's length is left out where it is the whole address.
    pub fn to_text(&self) -> String {
        if self.bits == self.width() {
            self.host()
        } else {
            self.with_prefix()
        }
    }

    /// `abbrev(cidr)`: what follows the prefix is left out.
    pub fn abbreviated(&self) -> String {
        let mut out = String::new();
        let bits = self.bits;
        let network = self.network();
        if !self.v6 {
            let octets = (network.address as u32).to_be_bytes();
            let shown = bits.div_ceil(8).max(1) as usize;
            let octets: Vec<String> = octets[..shown].iter().map(u8::to_string).collect();
            let text = if bits == 0 { "0".into() } else { octets.join(".") };
            return format!("{text}/{bits}");
        }
        if bits == 0 {
            return "::/0".into();
        }
        let bytes = network.address.to_be_bytes();
        let groups: Vec<u16> = bytes.chunks(2).map(|c| u16::from_be_bytes([c[0], c[1]])).collect();
        let shown = match bits.div_ceil(16) as usize {
            1 => 2,
            n => n,
        };
        // A run of zeros is counted on after a shorter one than the longest so far: so does PostgreSQL.
        let (mut start, mut length, mut run_start, mut run) = (0, 0, 0, 0);
        for (i, group) in groups[..shown].iter().enumerate() {
            if *group == 0 {
                if run == 0 {
                    run_start = i;
                }
                run += 1;
            } else if length < run {
                (start, length) = (run_start, run);
                run = 0;
            }
        }
        if length < run {
            (start, length) = (run_start, run);
        }
        let v4 = length != shown
            && start == 0
            && (length == 6 || length == 5 && groups[5] == 0xffff || length == 7 && bytes[14] != 0 && bytes[15] != 1);
        for i in 0..shown {
            if (start..start + length).contains(&i) {
                if i == start {
                    out.push(':');
                }
                if i == shown - 1 {
                    out.push(':');
                }
                continue;
            }
            if v4 && i > 5 {
                out.push(if i == 6 { ':' } else { '.' });
                let _ = write!(out, "{}", bytes[2 * i]);
                // the last octet is left out if the prefix ends before it
                if i != 7 || bits > 120 {
                    let _ = write!(out, ".{}", bytes[2 * i + 1]);
                }
            } else {
                if !out.is_empty() {
                    out.push(':');
                }
                let _ = write!(out, "{:x}", groups[i]);
            }
        }
        let _ = write!(out, "/{bits}");
        out
    }

    /// Whether the first `bits` bits are those of `other`, which is of the same family.
    fn shares(&self, other: &Inet, bits: u32) -> bool {
        (self.address ^ other.address) & self.mask(bits) == 0
    }

    /// PostgreSQL's order: IPv4 first, then by the bits that both prefixes have, by prefix, by address.
    pub fn compare(&self, other: &Inet) -> Ordering {
        if self.v6 != other.v6 {
            return self.v6.cmp(&other.v6);
        }
        let common = self.mask(self.bits.min(other.bits));
        let prefix = (self.address & common).cmp(&(other.address & common));
        prefix.then(self.bits.cmp(&other.bits)).then(self.address.cmp(&other.address))
    }

    /// Whether this network is in `other` (`<<=`; `strict`: and is not all of it, `<<`).
    pub fn is_within(&self, other: &Inet, strict: bool) -> bool {
        let deep = if strict { self.bits > other.bits } else { self.bits >= other.bits };
        self.v6 == other.v6 && deep && self.shares(other, other.bits)
    }

    /// `&&`
    pub fn overlaps(&self, other: &Inet) -> bool {
        self.v6 == other.v6 && self.shares(other, self.bits.min(other.bits))
    }

    fn same_family(&self, other: &Inet, message: &str) -> Result<()> {
        if self.v6 == other.v6 {
            return Ok(());
        }
        Err(PgError::new(SqlState::INVALID_PARAMETER_VALUE, message))
    }

    /// `~`
    pub fn inverted(self) -> Inet {
        Inet { address: !self.address & self.all(), ..self }
    }
    /// `&`
    pub fn and(self, other: &Inet) -> Result<Inet> {
        self.same_family(other, "cannot AND inet values of different sizes")?;
        Ok(Inet { address: self.address & other.address, bits: self.bits.max(other.bits), ..self })
    }
    /// `|`
    pub fn or(self, other: &Inet) -> Result<Inet> {
        self.same_family(other, "cannot OR inet values of different sizes")?;
        Ok(Inet { address: self.address | other.address, bits: self.bits.max(other.bits), ..self })
    }
    /// The address `count` further.
    pub fn moved(self, count: i64) -> Result<Inet> {
        let size = u128::from(count.unsigned_abs());
        let moved = if count < 0 { self.address.checked_sub(size) } else { self.address.checked_add(size) };
        let address = moved.filter(|a| *a <= self.all()).ok_or_else(out_of_range)?;
        Ok(Inet { address, ..self })
    }
    /// How far this address is from `other`.
    pub fn distance(self, other: &Inet) -> Result<i64> {
        self.same_family(other, "cannot subtract inet values of different sizes")?;
        // the difference of 128 bits, as the two's complement has it
        i64::try_from(self.address.wrapping_sub(other.address) as i128)
            .ok()
            .filter(|d| (*d < 0) == (self.address < other.address))
            .ok_or_else(out_of_range)
    }
    /// `inet_merge`: the smallest network that has both.
    pub fn merge(self, other: &Inet) -> Result<Inet> {
        self.same_family(other, "cannot merge addresses from different families")?;
        let differ = (self.address ^ other.address) << (128 - self.width());
        let bits = differ.leading_zeros().min(self.bits).min(other.bits);
        Ok(self.with_bits(bits).network())
    }
}

fn out_of_range() -> PgError {
    PgError::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "result is out of range")
}

const HOST_BITS: &str = "Value has bits set to right of mask.";

fn name(network: bool) -> &'static str {
    if network {
        "cidr"
    } else {
        "inet"
    }
}

pub(crate) fn text_in(text: &str, network: bool) -> Result<Datum> {
    let value = Inet::parse(text, network).ok_or_else(|| invalid_syntax(name(network), text))?;
    if !network {
        return Ok(Datum::Text(value.to_text()));
    }
    if value.network() != value {
        return Err(PgError::new(SqlState::INVALID_TEXT_REPRESENTATION, format!("invalid cidr value: \"{text}\""))
            .detail(HOST_BITS));
    }
    Ok(Datum::Text(value.with_prefix()))
}

fn stored(value: DatumRef, network: bool) -> Result<Inet> {
    match value {
        DatumRef::Text(t) => Inet::from_storage(t),
        _ => None,
    }
    .ok_or_else(|| bad_stored(name(network), value))
}

pub(crate) fn text_out(value: DatumRef, network: bool, out: &mut Vec<u8>) -> Result<()> {
    let value = stored(value, network)?;
    let text = if network { value.with_prefix() } else { value.to_text() };
    out.extend_from_slice(text.as_bytes());
    Ok(())
}

/// Binary form: family, prefix's length, whether it is a `cidr`, number of bytes, the address.
pub(crate) fn binary_in(bytes: &[u8], network: bool) -> Result<Datum> {
    let bad = |what: &str| {
        let message = format!("invalid {what} in external \"{}\" value", name(network));
        PgError::new(SqlState::INVALID_BINARY_REPRESENTATION, message)
    };
    let mut r = Reader(bytes);
    let v6 = match r.u8()? {
        BINARY_V4 => false,
        BINARY_V6 => true,
        _ => return Err(bad("address family")),
    };
    let mut value = Inet { v6, bits: u32::from(r.u8()?), address: 0 };
    if value.bits > value.width() {
        return Err(bad("bits"));
    }
    r.u8()?; // what the sender took it for does not matter
    let length = r.u8()?;
    if u32::from(length) * 8 != value.width() {
        return Err(bad("length"));
    }
    value.address = r.take(usize::from(length))?.iter().fold(0, |n, b| n << 8 | u128::from(*b));
    r.end()?;
    if network && value.network() != value {
        return Err(
            PgError::new(SqlState::INVALID_BINARY_REPRESENTATION, "invalid external \"cidr\" value").detail(HOST_BITS)
        );
    }
    Ok(Datum::Text(if network { value.with_prefix() } else { value.to_text() }))
}

pub(crate) fn binary_out(value: DatumRef, network: bool, out: &mut Vec<u8>) -> Result<()> {
    let value = stored(value, network)?;
    let bytes = value.address.to_be_bytes();
    let length = value.width() as usize / 8;
    let family = if value.v6 { BINARY_V6 } else { BINARY_V4 };
    out.extend_from_slice(&[family, value.bits as u8, u8::from(network), length as u8]);
    out.extend_from_slice(&bytes[16 - length..]);
    Ok(())
}
