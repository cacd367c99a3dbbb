//! The codec of `numeric`: text is the storage form; the binary form is base 10,000 with a weight and a scale.

use super::text::parts;
use super::{pow10, Numeric, MAX_SCALE};
use crate::buffer::{bad_stored, int, Reader};
use crate::work;
use crate::{Datum, DatumRef, PgError, Result, SqlState};
use num_bigint::BigInt;

const POSITIVE: u16 = 0x0000;
const NEGATIVE: u16 = 0x4000;
const NAN: u16 = 0xc000;
const INFINITY: u16 = 0xd000;
const NEG_INFINITY: u16 = 0xf000;
/// The scale word that PostgreSQL sends with an infinity; it means nothing.
const INFINITY_SCALE: usize = 0x20;

pub(crate) fn text_in(text: &str, typmod: i32) -> Result<Datum> {
    // A text that is canonical already, and needs no rounding, is stored as it came.
    if typmod < 0 && text.len() < 1000 {
        if let Some(p) = parts(text) {
            let zero = p.whole.is_empty() && p.fraction.iter().all(|d| *d == b'0');
            let sign = usize::from(p.negative);
            let leading_zero =
                text.as_bytes()[sign] == b'0' && text.as_bytes().get(sign + 1).is_some_and(|b| *b != b'.');
            let negative_zero = p.negative && zero;
            if !negative_zero && !leading_zero {
                return Ok(Datum::Text(text.to_string()));
            }
        }
    }
    if let Some(fitted) = fitted(text, typmod) {
        return Ok(Datum::Text(fitted));
    }
    Ok(Numeric::from_text(text)?.apply_typmod(typmod)?.to_datum())
}

/// A canonical text of no more digits than `numeric(precision, scale)` has: with zeros up to the scale, it is what is stored.
fn fitted(text: &str, typmod: i32) -> Option<String> {
    let modifier = usize::try_from(typmod.checked_sub(4)?).ok()?;
    // (a negative scale has the bit of 1,024)
    let (precision, scale) = (modifier >> 16, modifier & 0x7ff);
    if scale >= 1024 || precision < scale {
        return None;
    }
    let p = parts(text)?;
    let zero = p.whole.is_empty() && p.fraction.iter().all(|d| *d == b'0');
    let sign = usize::from(p.negative);
    let leading_zero = text.as_bytes()[sign] == b'0' && text.as_bytes().get(sign + 1).is_some_and(|b| *b != b'.');
    if p.negative && zero || leading_zero || p.fraction.len() > scale || p.whole.len() + scale > precision {
        return None;
    }
    let mut out = String::with_capacity(text.len() + 1 + scale);
    out.push_str(text);
    if p.fraction.is_empty() && scale > 0 {
        out.push('.');
    }
    out.extend(std::iter::repeat_n('0', scale - p.fraction.len()));
    Some(out)
}

/// Whether a text is a number as it is stored: another program may have written any text.
fn is_stored_form(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text).as_bytes();
    if !digits.iter().all(|b| matches!(b, b'0'..=b'9' | b'.')) {
        return matches!(text, "NaN" | "Infinity" | "-Infinity");
    }
    digits.iter().filter(|b| **b == b'.').count() <= 1
        && digits.first().is_some_and(u8::is_ascii_digit)
        && digits.last().is_some_and(u8::is_ascii_digit)
}

pub(crate) fn text_out(value: DatumRef, out: &mut Vec<u8>) -> Result<()> {
    match value {
        DatumRef::Text(t) if is_stored_form(t) => out.extend_from_slice(t.as_bytes()),
        DatumRef::Text(t) => {
            let number = Numeric::parse(t).ok().ok_or_else(|| bad_stored("numeric", value))?;
            out.extend_from_slice(number.to_string().as_bytes());
        }
        DatumRef::Int(i) => int(out, i),
        other => return Err(bad_stored("numeric", other)),
    }
    Ok(())
}

pub(crate) fn binary_in(bytes: &[u8], typmod: i32) -> Result<Datum> {
    let invalid = |what: &str| {
        PgError::new(SqlState::INVALID_BINARY_REPRESENTATION, format!("invalid {what} in external \"numeric\" value"))
    };
    let mut r = Reader(bytes);
    let groups = r.u16()?;
    let weight = r.i16()? as i64;
    let sign = r.u16()?;
    let scale = r.u16()?;
    if !matches!(sign, POSITIVE | NEGATIVE | NAN | INFINITY | NEG_INFINITY) {
        return Err(invalid("sign"));
    }
    if scale as i64 > MAX_SCALE {
        return Err(invalid("scale"));
    }
    let mut digits = Vec::with_capacity(groups as usize * 4);
    for _ in 0..groups {
        work::pulse(1);
        let group = r.i16()?;
        if !(0..10_000).contains(&group) {
            return Err(invalid("digit"));
        }
        digits.extend_from_slice(format!("{group:04}").as_bytes());
    }
    r.end()?;
    let value = match sign {
        NAN => Numeric::NaN,
        INFINITY => Numeric::Infinity,
        NEG_INFINITY => Numeric::NegInfinity,
        _ => {
            let magnitude = BigInt::parse_bytes(&digits, 10).unwrap_or_default();
            let coefficient = if sign == NEGATIVE { -magnitude } else { magnitude };
            // coefficient × 10^exponent, cut to the scale that the message names.
            let exponent = (weight + 1 - groups as i64) * 4;
            let shift = exponent + scale as i64;
            let coefficient =
                if shift >= 0 { coefficient * pow10(shift as u64) } else { coefficient / pow10(shift.unsigned_abs()) };
            Numeric::from_big(coefficient, scale as i64)?
        }
    };
    Ok(value.apply_typmod(typmod)?.to_datum())
}

pub(crate) fn binary_out(value: DatumRef, out: &mut Vec<u8>) -> Result<()> {
    let mut buffer = itoa::Buffer::new();
    let text = match value {
        DatumRef::Text(t) => t,
        DatumRef::Int(i) => buffer.format(i),
        other => return Err(bad_stored("numeric", other)),
    };
    match text {
        "NaN" => header(0, 0, NAN, 0, out),
        "Infinity" => header(0, 0, INFINITY, INFINITY_SCALE, out),
        "-Infinity" => header(0, 0, NEG_INFINITY, INFINITY_SCALE, out),
        _ => match parts(text) {
            Some(p) => write_finite(p.negative, p.whole, p.fraction, out),
            None => {
                // A foreign spelling of a number ('1e3').
                let canonical = Numeric::from_datum(value)?.to_string();
                let p = parts(&canonical).ok_or_else(|| bad_stored("numeric", value))?;
                write_finite(p.negative, p.whole, p.fraction, out);
            }
        },
    }
    Ok(())
}

fn header(groups: usize, weight: i64, sign: u16, scale: usize, out: &mut Vec<u8>) {
    for word in [groups as u16, weight as i16 as u16, sign, scale as u16] {
        out.extend_from_slice(&word.to_be_bytes());
    }
}

/// Writes groups of four digits, aligned at the point, without groups of zeros at either end.
fn write_finite(negative: bool, whole: &[u8], fraction: &[u8], out: &mut Vec<u8>) {
    let whole_groups = whole.len().div_ceil(4);
    let groups = whole_groups + fraction.len().div_ceil(4);
    // Digit `i` counts from the start of the first group; digits before the number and after it are zeros.
    let lead = whole_groups * 4 - whole.len();
    let digit = |i: usize| -> u16 {
        let i = match i.checked_sub(lead) {
            Some(i) => i,
            None => return 0,
        };
        let d = if i < whole.len() { whole.get(i) } else { fraction.get(i - whole.len()) };
        d.map_or(0, |d| (d - b'0') as u16)
    };
    let group = |g: usize| (0..4).fold(0, |v, k| v * 10 + digit(g * 4 + k));
    let first = (0..groups).find(|g| group(*g) != 0);
    let Some(first) = first else {
        return header(0, 0, POSITIVE, fraction.len(), out);
    };
    let last = (0..groups).rfind(|g| group(*g) != 0).unwrap_or(first);
    let weight = whole_groups as i64 - 1 - first as i64;
    header(last - first + 1, weight, if negative { NEGATIVE } else { POSITIVE }, fraction.len(), out);
    for g in first..=last {
        work::pulse(1);
        out.extend_from_slice(&group(g).to_be_bytes());
    }
}
