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
    // Accumulated below zero, because there is one more negative number than positive ones. A value that has
    // overflowed is reported as such even where garbage follows.
    let mut value: i64 = 0;
    while let Some(d) = bytes.get(i).filter(|b| b.is_ascii_digit()) {
        value = value.checked_mul(10).and_then(|v| v.checked_sub((d - b'0') as i64)).ok_or_else(range)?;
        if !width.holds(value) {
            return Err(range());
        }
        i += 1;
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

/// Reads the text form of an `oid`: decimal, where a negative 32-bit number counts from the top.
pub fn parse_oid(text: &str) -> Result<u32> {
    let range =
        || PgError::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, format!("value \"{text}\" is out of range for type oid"));
    let t = crate::buffer::trim(text);
    let unsigned = t.strip_prefix(['+', '-']).unwrap_or(t);
    let digits = unsigned.bytes().take_while(u8::is_ascii_digit).count();
    // a number that is too large is told before what follows it
    if digits > 0 && unsigned[..digits].parse::<u64>().is_err() {
        return Err(range());
    }
    if digits == 0 || digits < unsigned.len() {
        return Err(invalid_syntax("oid", text));
    }
    let value: i64 = t.parse().map_err(|_| range())?;
    if let Ok(v) = u32::try_from(value) {
        Ok(v)
    } else if let Ok(v) = i32::try_from(value) {
        Ok(v as u32)
    } else {
        Err(range())
    }
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
