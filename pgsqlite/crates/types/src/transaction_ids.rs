//! What tells moments of the transaction log: `xid` and `cid` (32 bits), `xid8` (64 bits), `pg_snapshot` and `txid_snapshot`, and
//! `pg_lsn`, a place in the write-ahead log.
//!
//! | type | stored as |
//! | --- | --- |
//! | xid, cid | INTEGER |
//! | xid8 | INTEGER; numbers beyond 63 bits as TEXT, `x` and 16 hexadecimal digits, which sorts after every INTEGER |
//! | pg_snapshot, txid_snapshot, pg_lsn | TEXT, as they print; pg_lsn under the collation `pg_lsn` |

use crate::buffer::{bad_stored, int, invalid_syntax, Reader};
use crate::int::{sign, unsigned, unsigned_32};
use crate::numeric::Numeric;
use crate::work;
use crate::{Datum, DatumRef, PgError, Result, SqlState};
use std::cmp::Ordering;

fn digits_value(digits: &str, base: u32, negative: bool) -> u64 {
    let value = digits
        .chars()
        .map_while(|c| c.to_digit(base))
        .try_fold(0u64, |value, d| value.checked_mul(u64::from(base)).and_then(|v| v.checked_add(u64::from(d))));
    match value {
        Some(value) if negative => value.wrapping_neg(),
        Some(value) => value,
        None => u64::MAX,
    }
}

/// `strtoull` with base 10: the number at the beginning of a text (0 where there is none), and what follows it.
fn decimal(text: &str) -> (u64, &str) {
    let (negative, digits) = sign(text);
    let length = digits.bytes().take_while(u8::is_ascii_digit).count();
    let rest = if length == 0 { text } else { &digits[length..] };
    (digits_value(&digits[..length], 10, negative), rest)
}

/// `xid` and `cid` (`ty`): 32 bits, with a sign or without.
pub(crate) fn xid_text_in(text: &str, ty: &str) -> Result<Datum> {
    unsigned_32(text, ty).map(|value| Datum::Int(i64::from(value)))
}

/// An `xid8` in storage form.
pub fn xid8_datum(value: u64) -> Datum {
    match i64::try_from(value) {
        Ok(i) => Datum::Int(i),
        Err(_) => Datum::Text(format!("x{value:016x}")),
    }
}

/// The number of an `xid8` in storage form.
pub fn xid8(value: DatumRef) -> Result<u64> {
    match value {
        DatumRef::Int(i) => u64::try_from(i).ok(),
        DatumRef::Text(t) => t.strip_prefix('x').and_then(|digits| u64::from_str_radix(digits, 16).ok()),
        _ => None,
    }
    .ok_or_else(|| bad_stored("xid8", value))
}

pub(crate) fn xid8_text_in(text: &str) -> Result<Datum> {
    Ok(xid8_datum(unsigned(text, "xid8")?))
}
pub(crate) fn xid8_text_out(value: DatumRef, out: &mut Vec<u8>) -> Result<()> {
    int(out, xid8(value)?);
    Ok(())
}
pub(crate) fn xid8_binary_in(bytes: &[u8]) -> Result<Datum> {
    let mut r = Reader(bytes);
    let value = r.i64()? as u64;
    r.end()?;
    Ok(xid8_datum(value))
}
pub(crate) fn xid8_binary_out(value: DatumRef, out: &mut Vec<u8>) -> Result<()> {
    out.extend_from_slice(&xid8(value)?.to_be_bytes());
    Ok(())
}

/// A snapshot: transactions below `xmin` are over, those from `xmax` on have not begun; of those between, `running` lists the
/// ones that were running, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    pub xmin: u64,
    pub xmax: u64,
    pub running: Vec<u64>,
}

impl Snapshot {
    /// Reads `xmin:xmax:xid,xid…`; None: it is none.
    pub fn parse(text: &str) -> Option<Snapshot> {
        let (xmin, rest) = decimal(text);
        let (xmax, rest) = decimal(rest.strip_prefix(':')?);
        let mut list = rest.strip_prefix(':')?;
        let mut running = Vec::new();
        while !list.is_empty() {
            work::pulse(1);
            let (id, rest) = decimal(list);
            running.push(id);
            list = match rest.strip_prefix(',') {
                Some(next) => next,
                None if rest.is_empty() => rest,
                None => return None,
            };
        }
        Snapshot { xmin, xmax, running }.checked()
    }

    /// The snapshot without repeated numbers, if its numbers are in order.
    fn checked(mut self) -> Option<Snapshot> {
        // a number is one of a transaction if the lower half, the xid, is
        let valid = |id: u64| id as u32 != 0;
        let sane = valid(self.xmin) && valid(self.xmax) && self.xmin <= self.xmax;
        let between = self.running.iter().all(|id| (self.xmin..self.xmax).contains(id));
        if !sane || !between || !self.running.is_sorted() {
            return None;
        }
        self.running.dedup();
        Some(self)
    }

    pub fn to_text(&self) -> String {
        let running: Vec<String> = self.running.iter().map(u64::to_string).collect();
        format!("{}:{}:{}", self.xmin, self.xmax, running.join(","))
    }

    /// Whether a transaction was over.
    pub fn sees(&self, id: u64) -> bool {
        id < self.xmin || id < self.xmax && self.running.binary_search(&id).is_err()
    }
}

pub(crate) fn snapshot_text_in(text: &str) -> Result<Datum> {
    let snapshot = Snapshot::parse(text).ok_or_else(|| invalid_syntax("pg_snapshot", text))?;
    Ok(Datum::Text(snapshot.to_text()))
}
pub(crate) fn snapshot_binary_in(bytes: &[u8]) -> Result<Datum> {
    let mut r = Reader(bytes);
    let bad = || PgError::new(SqlState::INVALID_BINARY_REPRESENTATION, "invalid external pg_snapshot data");
    let count = usize::try_from(r.i32()?).map_err(|_| bad())?;
    let (xmin, xmax) = (r.i64()? as u64, r.i64()? as u64);
    // each number takes eight bytes
    if count > r.0.len() / 8 {
        return Err(bad());
    }
    let running: Result<Vec<u64>> = (0..count).map(|_| Ok(r.i64()? as u64)).collect();
    r.end()?;
    let snapshot = Snapshot { xmin, xmax, running: running? }.checked().ok_or_else(bad)?;
    Ok(Datum::Text(snapshot.to_text()))
}
/// A snapshot in storage form.
pub fn snapshot(value: DatumRef) -> Result<Snapshot> {
    match value {
        DatumRef::Text(t) => Snapshot::parse(t),
        _ => None,
    }
    .ok_or_else(|| bad_stored("pg_snapshot", value))
}
pub(crate) fn snapshot_binary_out(value: DatumRef, out: &mut Vec<u8>) -> Result<()> {
    let snapshot = snapshot(value)?;
    out.extend_from_slice(&(snapshot.running.len() as i32).to_be_bytes());
    for number in [snapshot.xmin, snapshot.xmax].iter().chain(&snapshot.running) {
        out.extend_from_slice(&number.to_be_bytes());
    }
    Ok(())
}

/// Reads `16/B374D848`: two hexadecimal numbers of at most eight digits.
pub fn parse_lsn(text: &str) -> Option<u64> {
    let (high, low) = text.split_once('/')?;
    let half = |digits: &str| {
        let plain = (1..=8).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_hexdigit());
        u64::from_str_radix(digits, 16).ok().filter(|_| plain)
    };
    Some(half(high)? << 32 | half(low)?)
}
pub fn lsn_text(value: u64) -> String {
    format!("{:X}/{:X}", value >> 32, value as u32)
}
/// A `pg_lsn` in storage form as a number.
pub fn lsn(value: DatumRef) -> Result<u64> {
    match value {
        DatumRef::Text(t) => parse_lsn(t),
        _ => None,
    }
    .ok_or_else(|| bad_stored("pg_lsn", value))
}
pub(crate) fn lsn_text_in(text: &str) -> Result<Datum> {
    parse_lsn(text).map(|v| Datum::Text(lsn_text(v))).ok_or_else(|| invalid_syntax("pg_lsn", text))
}
pub(crate) fn lsn_binary_in(bytes: &[u8]) -> Result<Datum> {
    let mut r = Reader(bytes);
    let value = r.i64()? as u64;
    r.end()?;
    Ok(Datum::Text(lsn_text(value)))
}
pub(crate) fn lsn_binary_out(value: DatumRef, out: &mut Vec<u8>) -> Result<()> {
    out.extend_from_slice(&lsn(value)?.to_be_bytes());
    Ok(())
}
/// `pg_lsn`: by the number behind; what is none sorts last.
pub fn compare_lsn(a: &str, b: &str) -> Ordering {
    let key = |text: &str| parse_lsn(text).map_or((1, 0), |value| (0, value));
    key(a).cmp(&key(b)).then_with(|| if key(a).0 == 1 { a.cmp(b) } else { Ordering::Equal })
}

/// The number of bytes from `b` to `a`.
pub fn lsn_difference(a: u64, b: u64) -> Result<Numeric> {
    Numeric::from_text(&(i128::from(a) - i128::from(b)).to_string())
}

/// The place that a numeric numbers, rounded.
pub fn lsn_of(value: &Numeric) -> Result<u64> {
    let refuse = |what: &str| PgError::new(SqlState::FEATURE_NOT_SUPPORTED, format!("cannot convert {what} to pg_lsn"));
    match value {
        Numeric::NaN => Err(refuse("NaN")),
        Numeric::Infinity | Numeric::NegInfinity => Err(refuse("infinity")),
        _ => (value.round(0).to_string().parse())
            .map_err(|_| PgError::new(SqlState::INVALID_PARAMETER_VALUE, "pg_lsn out of range")),
    }
}
/// The place so many bytes after (`sub`: before) another.
pub fn lsn_moved(place: u64, by: &Numeric, sub: bool) -> Result<u64> {
    if matches!(by, Numeric::NaN) {
        let what = if sub { "subtract NaN from" } else { "add NaN to" };
        return Err(PgError::new(SqlState::FEATURE_NOT_SUPPORTED, format!("cannot {what} pg_lsn")));
    }
    let place = Numeric::from_text(&place.to_string())?;
    lsn_of(&if sub { place.sub(by)? } else { place.add(by)? })
}
