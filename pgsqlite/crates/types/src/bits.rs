//! `bit(n)` and `bit varying(n)`. Stored as TEXT: one `0` or `1` per bit, so that SQLite's own order of texts is
//! PostgreSQL's order of bit strings (bit by bit, then the shorter first).
//!
//! Lengths are in bits throughout; positions count from 1 as in SQL, indexes of single bits from 0.

use crate::buffer::{bad_stored, Reader};
use crate::work::Ticking;
use crate::{Datum, DatumRef, PgError, Result, SqlState};

/// Most bits of a value (PostgreSQL's VARBITMAXLEN).
pub const MAX_BITS: usize = i32::MAX as usize - 7;

fn too_many() -> PgError {
    PgError::new(
        SqlState::PROGRAM_LIMIT_EXCEEDED,
        format!("bit string length exceeds the maximum allowed ({MAX_BITS})"),
    )
}

/// Reads `101`, `b101` or `x1F` as a bit string of its own length.
pub fn parse(text: &str) -> Result<String> {
    let (digits, hexadecimal) = match text.as_bytes() {
        [b'b' | b'B', ..] => (&text[1..], false),
        [b'x' | b'X', ..] => (&text[1..], true),
        _ => (text, false),
    };
    let invalid = |c: char, kind: &str| {
        PgError::new(SqlState::INVALID_TEXT_REPRESENTATION, format!("\"{c}\" is not a valid {kind} digit"))
    };
    if !hexadecimal {
        if let Some(c) = digits.chars().pulsing().find(|c| !matches!(c, '0' | '1')) {
            return Err(invalid(c, "binary"));
        }
        return Ok(digits.to_string());
    }
    if digits.len() > MAX_BITS / 4 {
        return Err(too_many());
    }
    let mut bits = String::with_capacity(digits.len() * 4);
    for c in digits.chars() {
        crate::work::pulse(1);
        let digit = c.to_digit(16).ok_or_else(|| invalid(c, "hexadecimal"))?;
        push_integer(&mut bits, u64::from(digit), 4);
    }
    Ok(bits)
}

/// Appends the lowest `count` (at most 64) bits of `value`.
fn push_integer(bits: &mut String, value: u64, count: u32) {
    bits.extend((0..count).rev().map(|i| if value >> i & 1 == 1 { '1' } else { '0' }));
}

/// Applies the type's modifier (≤ 0: none). `bit(n)` must be of its length, `bit varying(n)` no longer than it; an explicit
/// cast cuts or pads at the right instead.
pub fn fit(bits: &str, typmod: i32, varying: bool, explicit: bool) -> Result<String> {
    let wanted = match usize::try_from(typmod) {
        Ok(n) if n > 0 && n != bits.len() => n,
        _ => return Ok(bits.to_string()),
    };
    if varying && bits.len() < wanted {
        return Ok(bits.to_string());
    }
    if !explicit {
        return Err(if varying {
            PgError::new(
                SqlState::STRING_DATA_RIGHT_TRUNCATION,
                format!("bit string too long for type bit varying({wanted})"),
            )
        } else {
            PgError::new(
                SqlState::STRING_DATA_LENGTH_MISMATCH,
                format!("bit string length {} does not match type bit({wanted})", bits.len()),
            )
        });
    }
    let mut out = bits.get(..wanted).unwrap_or(bits).to_string();
    out.extend(std::iter::repeat_n('0', wanted - out.len()));
    Ok(out)
}

pub(crate) fn text_in(text: &str, typmod: i32, varying: bool) -> Result<Datum> {
    fit(&parse(text)?, typmod, varying, false).map(Datum::Text)
}

/// The bits of a value in storage form.
pub(crate) fn stored<'a>(value: DatumRef<'a>) -> Result<&'a str> {
    match value {
        DatumRef::Text(t) if t.bytes().pulsing().all(|b| matches!(b, b'0' | b'1')) => Ok(t),
        other => Err(bad_stored("bit", other)),
    }
}

pub(crate) fn text_out(value: DatumRef, out: &mut Vec<u8>) -> Result<()> {
    out.extend_from_slice(stored(value)?.as_bytes());
    Ok(())
}

/// Binary form: the number of bits, then their bytes, filled up with zeros.
pub(crate) fn binary_in(bytes: &[u8], typmod: i32, varying: bool) -> Result<Datum> {
    let mut r = Reader(bytes);
    let count = usize::try_from(r.i32()?).ok().filter(|&n| n <= MAX_BITS).ok_or_else(|| {
        PgError::new(SqlState::INVALID_BINARY_REPRESENTATION, "invalid length in external bit string")
    })?;
    let mut bits = String::with_capacity(bytes.len() * 8);
    for byte in r.take(count.div_ceil(8))? {
        crate::work::pulse(1);
        push_integer(&mut bits, u64::from(*byte), 8);
    }
    r.end()?;
    bits.truncate(count);
    fit(&bits, typmod, varying, false).map(Datum::Text)
}

pub(crate) fn binary_out(value: DatumRef, out: &mut Vec<u8>) -> Result<()> {
    let bits = stored(value)?.as_bytes();
    out.extend_from_slice(&(bits.len() as i32).to_be_bytes());
    for chunk in bits.chunks(8) {
        crate::work::pulse(1);
        let byte = chunk.iter().fold(0, |n, b| n << 1 | (b & 1));
        out.push(byte << (8 - chunk.len()));
    }
    Ok(())
}

/// `&`, `|`, `#` of two strings of one length; `verb` is for the error.
pub fn combine(a: &str, b: &str, verb: &str, bit: fn(bool, bool) -> bool) -> Result<String> {
    if a.len() != b.len() {
        return Err(PgError::new(
            SqlState::STRING_DATA_LENGTH_MISMATCH,
            format!("cannot {verb} bit strings of different sizes"),
        ));
    }
    Ok(a.bytes().zip(b.bytes()).map(|(x, y)| if bit(x == b'1', y == b'1') { '1' } else { '0' }).collect())
}

/// `~`
pub fn not(bits: &str) -> String {
    bits.bytes().map(|b| if b == b'1' { '0' } else { '1' }).collect()
}

/// `<<` by `count` bits, `>>` where it is negative; the length stays.
pub fn shift_left(bits: &str, count: i64) -> String {
    let lost = usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX).min(bits.len());
    let zeros = "0".repeat(lost);
    if count >= 0 {
        format!("{}{zeros}", &bits[lost..])
    } else {
        format!("{zeros}{}", &bits[..bits.len() - lost])
    }
}

/// `||`
pub fn concatenate(a: &str, b: &str) -> Result<String> {
    if a.len() + b.len() > MAX_BITS {
        return Err(too_many());
    }
    Ok(format!("{a}{b}"))
}

fn negative_length() -> PgError {
    PgError::new(SqlState::SUBSTRING_ERROR, "negative substring length not allowed")
}

/// `substring(bits from start for length)`; no length: to the end.
pub fn substring(bits: &str, start: i32, length: Option<i32>) -> Result<&str> {
    let all = bits.len() as i64;
    let end = match length {
        None => all + 1,
        Some(length) if length < 0 => return Err(negative_length()),
        Some(length) => (i64::from(start) + i64::from(length)).min(all + 1),
    };
    let start = i64::from(start).max(1);
    if start > all || end <= start {
        return Ok("");
    }
    Ok(&bits[start as usize - 1..end as usize - 1])
}

/// `overlay(bits placing new from start for length)`; no length: that of `new`.
pub fn overlay(bits: &str, new: &str, start: i32, length: Option<i32>) -> Result<String> {
    let length = length.unwrap_or(new.len() as i32);
    if start <= 0 {
        return Err(negative_length());
    }
    let rest = start
        .checked_add(length)
        .ok_or_else(|| PgError::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "integer out of range"))?;
    let before = substring(bits, 1, Some(start - 1))?;
    concatenate(&concatenate(before, new)?, substring(bits, rest, None)?)
}

/// Where `part` begins in `bits`, from 1; 0: nowhere, as everything is in an empty string.
pub fn position(bits: &str, part: &str) -> i64 {
    bits.find(part).filter(|_| !bits.is_empty()).map_or(0, |at| at as i64 + 1)
}

fn index(bits: &str, n: i32) -> Result<usize> {
    usize::try_from(n).ok().filter(|&i| i < bits.len()).ok_or_else(|| {
        PgError::new(
            SqlState::ARRAY_SUBSCRIPT_ERROR,
            format!("bit index {n} out of valid range (0..{})", bits.len() as i64 - 1),
        )
    })
}

/// `get_bit`: the n-th bit from the left.
pub fn get(bits: &str, n: i32) -> Result<i64> {
    Ok(i64::from(bits.as_bytes()[index(bits, n)?] & 1))
}

/// `set_bit`
pub fn set(bits: &str, n: i32, value: i32) -> Result<String> {
    let at = index(bits, n)?;
    let digit = match value {
        0 => "0",
        1 => "1",
        _ => return Err(PgError::new(SqlState::INVALID_PARAMETER_VALUE, "new bit must be 0 or 1")),
    };
    let mut out = bits.to_string();
    out.replace_range(at..=at, digit);
    Ok(out)
}

/// An integer of `width` bits (32 or 64) as `bit(typmod)`: its lowest bits, or its sign repeated in front.
pub fn from_integer(value: i64, typmod: i32, width: u32) -> Result<String> {
    let wanted = usize::try_from(typmod).ok().filter(|&n| n > 0).unwrap_or(1);
    if wanted > MAX_BITS {
        return Err(too_many());
    }
    let mut bits = String::with_capacity(wanted);
    let sign = if value < 0 { '1' } else { '0' };
    bits.extend(std::iter::repeat_n(sign, wanted.saturating_sub(width as usize)));
    push_integer(&mut bits, value as u64, width.min(wanted as u32));
    Ok(bits)
}

/// The integer of `width` bits (32 or 64) whose bits these are; 22003 where they are more.
pub fn to_integer(bits: &str, width: u32) -> Result<i64> {
    if bits.len() > width as usize {
        let name = if width == 32 { "integer" } else { "bigint" };
        return Err(PgError::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, format!("{name} out of range")));
    }
    let value = bits.bytes().fold(0u64, |n, b| n << 1 | u64::from(b & 1));
    Ok(if width == 32 { i64::from(value as u32 as i32) } else { value as i64 })
}
