//! `uuid`. Stored as TEXT: 36 characters, lower case.

use crate::buffer::{bad_stored, hex, invalid_syntax, Reader};
use crate::{Datum, DatumRef, Result};

/// Reads the text form: 32 hexadecimal digits, a hyphen allowed after each group of four, braces allowed around.
pub fn parse(text: &str) -> Option<[u8; 16]> {
    let mut rest = text.as_bytes();
    let braces = rest.first() == Some(&b'{');
    if braces {
        rest = &rest[1..];
    }
    let mut bytes = [0u8; 16];
    for (i, byte) in bytes.iter_mut().enumerate() {
        let (high, low) = (*rest.first()? as char, *rest.get(1)? as char);
        *byte = (high.to_digit(16)? << 4 | low.to_digit(16)?) as u8;
        rest = &rest[2..];
        if rest.first() == Some(&b'-') && i % 2 == 1 && i < 15 {
            rest = &rest[1..];
        }
    }
    if braces {
        rest = rest.strip_prefix(b"}")?;
    }
    rest.is_empty().then_some(bytes)
}

/// Appends the form `8-4-4-4-12`.
pub fn write(bytes: &[u8; 16], out: &mut Vec<u8>) {
    for (i, range) in [0..4, 4..6, 6..8, 8..10, 10..16].into_iter().enumerate() {
        if i > 0 {
            out.push(b'-');
        }
        hex(out, &bytes[range]);
    }
}

fn to_datum(bytes: &[u8; 16]) -> Datum {
    let mut out = Vec::with_capacity(36);
    write(bytes, &mut out);
    Datum::Text(String::from_utf8(out).expect("hexadecimal digits are ASCII"))
}

pub(crate) fn text_in(text: &str) -> Result<Datum> {
    parse(text).map(|b| to_datum(&b)).ok_or_else(|| invalid_syntax("uuid", text))
}

/// Whether a text is a UUID as it is stored: another program may have written any text.
fn is_stored_form(text: &str) -> bool {
    let is_dash = |i: usize| matches!(i, 8 | 13 | 18 | 23);
    let right = |(i, b): (usize, &u8)| match is_dash(i) {
        true => *b == b'-',
        false => matches!(b, b'0'..=b'9' | b'a'..=b'f'),
    };
    text.len() == 36 && text.as_bytes().iter().enumerate().all(right)
}

pub(crate) fn text_out(value: DatumRef, out: &mut Vec<u8>) -> Result<()> {
    match value {
        DatumRef::Text(t) if is_stored_form(t) => out.extend_from_slice(t.as_bytes()),
        DatumRef::Text(t) => match text_in(t) {
            Ok(Datum::Text(stored)) => out.extend_from_slice(stored.as_bytes()),
            _ => return Err(bad_stored("uuid", value)),
        },
        other => return Err(bad_stored("uuid", other)),
    }
    Ok(())
}

pub(crate) fn binary_in(bytes: &[u8]) -> Result<Datum> {
    let mut r = Reader(bytes);
    let value: [u8; 16] = r.take(16)?.try_into().expect("sixteen bytes");
    r.end()?;
    Ok(to_datum(&value))
}

pub(crate) fn binary_out(value: DatumRef, out: &mut Vec<u8>) -> Result<()> {
    let bytes = match value {
        DatumRef::Text(t) => parse(t),
        _ => None,
    };
    out.extend_from_slice(&bytes.ok_or_else(|| bad_stored("uuid", value))?);
    Ok(())
}
