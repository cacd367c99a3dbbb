//! `smallint`, `integer`, `bigint` and the unsigned `oid`, `xid`, `cid`. Stored as INTEGER.

use crate::buffer::{bad_stored, int, invalid_syntax, is_space, Reader};
use crate::{Datum, DatumRef, PgError, Result, SqlState};

/// One of the signed integer types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Width {
    Two,
    Four,
    Eight,
}

impl Width {
    pub fn type_name(self) -> &'static str {
        match self {
            Width::Two => "smallint",
            Width::Four => "integer",
            Width::Eight => "bigint",
        }
    }
    fn holds(self, value: i64) -> bool {
        match self {
            Width::Two => i16::try_from(value).is_ok(),
            Width::Four => i32::try_from(value).is_ok(),
            Width::Eight => true,
        }
    }
    /// 22003 `integer out of range`, as arithmetic and casts raise it.
    pub fn out_of_range(self) -> PgError {
        PgError::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, format!("{} out of range", self.type_name()))
    }
}

/// Reads the text form of a signed integer.
pub fn parse(text: &str, width: Width) -> Result<i64> {
    let bytes = text.as_bytes();
    let syntax = || invalid_syntax(width.type_name(), text);
    let range = || {
        PgError::new(
            SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
            format!("value \"{text}\" is out of range for type {}", width.type_name()),
        )
    };
    let mut i = bytes.iter().take_while(|b| is_space(**b)).count();
    let negative = match bytes.get(i) {
        Some(b'-') => {
            i += 1;
            true
        }
        Some(b'+') => {
            i += 1;
            false
        }
        _ => false,
    };
    if !bytes.get(i).is_some_and(u8::is_ascii_digit) {
        return Err(syntax());
    }
    let base = match (bytes[i], bytes.get(i + 1)) {
        (b'0', Some(b'x' | b'X')) => 16,
        (b'0', Some(b'o' | b'O')) => 8,
        (b'0', Some(b'b' | b'B')) => 2,
        _ => 10,
    };
    if base != 10 {
        i += 2;
    }
    let digit = |at: usize| bytes.get(at).and_then(|b| char::from(*b).to_digit(base));
    let first = i;
    // Accumulated below zero, because there is one more negative number than positive ones. A value that has
    // overflowed is reported as such even where garbage follows.
    let mut value: i64 = 0;
    loop {
        // (an underscore stands before a digit)
        if bytes.get(i) == Some(&b'_') {
            i += 1;
            if digit(i).is_none() {
                return Err(syntax());
            }
        }
        let Some(d) = digit(i) else { break };
        value = value.checked_mul(i64::from(base)).and_then(|v| v.checked_sub(i64::from(d))).ok_or_else(range)?;
        if !width.holds(value) {
            return Err(range());
        }
        i += 1;
    }
    if i == first {
        return Err(syntax());
    }
    if !bytes[i..].iter().all(|b| is_space(*b)) {
        return Err(syntax());
    }
    if !negative {
        value = value.checked_neg().ok_or_else(range)?;
    }
    if width.holds(value) {
        Ok(value)
    } else {
        Err(range())
    }
}

fn stored(value: DatumRef, width: Width) -> Result<i64> {
    match value {
        DatumRef::Int(i) if width.holds(i) => Ok(i),
        // An integer expression whose value left 64 bits arrives as REAL: an overflow, never a rounded number.
        DatumRef::Int(_) | DatumRef::Real(_) => Err(width.out_of_range()),
        other => Err(bad_stored(width.type_name(), other)),
    }
}

pub(crate) fn text_in(text: &str, width: Width) -> Result<Datum> {
    parse(text, width).map(Datum::Int)
}

pub(crate) fn text_out(value: DatumRef, width: Width, out: &mut Vec<u8>) -> Result<()> {
    int(out, stored(value, width)?);
    Ok(())
}

pub(crate) fn binary_in(bytes: &[u8], width: Width) -> Result<Datum> {
    let mut r = Reader(bytes);
    let value = match width {
        Width::Two => r.i16()? as i64,
        Width::Four => r.i32()? as i64,
        Width::Eight => r.i64()?,
    };
    r.end()?;
    Ok(Datum::Int(value))
}

pub(crate) fn binary_out(value: DatumRef, width: Width, out: &mut Vec<u8>) -> Result<()> {
    let value = stored(value, width)?;
    match width {
        Width::Two => out.extend_from_slice(&(value as i16).to_be_bytes()),
        Width::Four => out.extend_from_slice(&(value as i32).to_be_bytes()),
        Width::Eight => out.extend_from_slice(&value.to_be_bytes()),
    }
    Ok(())
}

/// C's `strtoull` with base 0: blanks, a sign, a prefix for octal or hexadecimal; and blanks again. Errors: 22P02, 22003.
pub(crate) fn unsigned(text: &str, ty: &str) -> Result<u64> {
    let (negative, digits) = sign(text);
    let digits = digits.trim_end_matches(|c: char| c.is_ascii() && is_space(c as u8));
    let hexadecimal = digits
        .strip_prefix("0x")
        .or_else(|| digits.strip_prefix("0X"))
        .filter(|d| d.starts_with(|c: char| c.is_ascii_hexdigit()));
    let (digits, base) = match hexadecimal {
        Some(rest) => (rest, 16),
        None if digits.starts_with('0') => (digits, 8),
        None => (digits, 10),
    };
    let length = digits.find(|c: char| !c.is_digit(base)).unwrap_or(digits.len());
    if length == 0 {
        return Err(invalid_syntax(ty, text));
    }
    // a number that is too large is told before what follows it
    let value = u64::from_str_radix(&digits[..length], base).map_err(|_| out_of_range(text, ty))?;
    if length < digits.len() {
        return Err(invalid_syntax(ty, text));
    }
    Ok(if negative { value.wrapping_neg() } else { value })
}

pub(crate) fn out_of_range(text: &str, ty: &str) -> PgError {
    let message = format!("value \"{text}\" is out of range for type {ty}");
    PgError::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, message)
}

/// Whether a minus sign stands before the digits, after blanks; and what follows it.
pub(crate) fn sign(text: &str) -> (bool, &str) {
    let text = text.trim_start_matches(|c: char| c.is_ascii() && is_space(c as u8));
    (text.starts_with('-'), text.strip_prefix(['-', '+']).unwrap_or(text))
}

/// 32 bits, with a sign or without. Errors: 22P02, 22003.
pub(crate) fn unsigned_32(text: &str, ty: &str) -> Result<u32> {
    let value = unsigned(text, ty)?;
    let lower = value as u32;
    match value == u64::from(lower) || value == i64::from(lower as i32) as u64 {
        true => Ok(lower),
        false => Err(out_of_range(text, ty)),
    }
}

/// Reads the text form of an `oid`, as C does: decimal, octal or hexadecimal; a negative 32-bit number counts from the top.
pub fn parse_oid(text: &str) -> Result<u32> {
    unsigned_32(text, "oid")
}

fn stored_oid(value: DatumRef) -> Result<u32> {
    match value {
        DatumRef::Int(i) => {
            u32::try_from(i).map_err(|_| PgError::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "OID out of range"))
        }
        other => Err(bad_stored("oid", other)),
    }
}

pub(crate) fn oid_text_in(text: &str) -> Result<Datum> {
    Ok(Datum::Int(parse_oid(text)? as i64))
}

pub(crate) fn oid_text_out(value: DatumRef, out: &mut Vec<u8>) -> Result<()> {
    int(out, stored_oid(value)?);
    Ok(())
}

pub(crate) fn oid_binary_in(bytes: &[u8]) -> Result<Datum> {
    let mut r = Reader(bytes);
    let value = r.u32()?;
    r.end()?;
    Ok(Datum::Int(value as i64))
}

pub(crate) fn oid_binary_out(value: DatumRef, out: &mut Vec<u8>) -> Result<()> {
    out.extend_from_slice(&stored_oid(value)?.to_be_bytes());
    Ok(())
}
