//! `bytea`. Stored as BLOB.

use crate::buffer::{bad_stored, hex};
use crate::settings::ByteaOutput;
use crate::work::{self, Ticking};
use crate::{Datum, DatumRef, PgError, Result, SqlState};

/// Reads the text form: `\x` and hexadecimal digits, or the older escape form.
pub fn parse(text: &str) -> Result<Vec<u8>> {
    match text.strip_prefix("\\x") {
        Some(digits) => parse_hex(digits),
        None => parse_escape(text.as_bytes()),
    }
}

/// Reads hexadecimal digits; blanks may stand between pairs (22023 otherwise), as `decode(…, 'hex')` reads them too.
pub fn parse_hex(digits: &str) -> Result<Vec<u8>> {
    let invalid = |message: String| PgError::new(SqlState::INVALID_PARAMETER_VALUE, message);
    work::room(digits.len() / 2)?;
    let mut bytes = Vec::with_capacity(digits.len() / 2);
    let mut chars = digits.chars();
    let nibble = |c: char| c.to_digit(16).ok_or_else(|| invalid(format!("invalid hexadecimal digit: \"{c}\"")));
    while let Some(c) = chars.next() {
        work::tick(1)?;
        if matches!(c, ' ' | '\n' | '\t' | '\r') {
            continue;
        }
        let high = nibble(c)?;
        let low = match chars.next() {
            Some(c) => nibble(c)?,
            None => return Err(invalid("invalid hexadecimal data: odd number of digits".into())),
        };
        bytes.push((high << 4 | low) as u8);
    }
    Ok(bytes)
}

fn parse_escape(text: &[u8]) -> Result<Vec<u8>> {
    work::room(text.len())?;
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    loop {
        work::tick(1)?;
        rest = match rest {
            [] => return Ok(bytes),
            [b'\\', b'\\', tail @ ..] => {
                bytes.push(b'\\');
                tail
            }
            [b'\\', a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', tail @ ..] => {
                bytes.push((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'));
                tail
            }
            [b'\\', ..] => {
                return Err(PgError::new(SqlState::INVALID_TEXT_REPRESENTATION, "invalid input syntax for type bytea"))
            }
            [b, tail @ ..] => {
                bytes.push(*b);
                tail
            }
        }
    }
}

/// Appends the text form.
pub fn write(bytes: &[u8], style: ByteaOutput, out: &mut Vec<u8>) {
    match style {
        ByteaOutput::Hex => {
            out.extend_from_slice(b"\\x");
            hex(out, bytes);
        }
        ByteaOutput::Escape => {
            for b in bytes.iter().pulsing() {
                match b {
                    b'\\' => out.extend_from_slice(b"\\\\"),
                    0x20..=0x7e => out.push(*b),
                    _ => out.extend_from_slice(&[b'\\', b'0' + (b >> 6), b'0' + (b >> 3 & 7), b'0' + (b & 7)]),
                }
            }
        }
    }
}

pub(crate) fn stored(value: DatumRef<'_>) -> Result<&[u8]> {
    match value {
        DatumRef::Blob(b) => Ok(b),
        other => Err(bad_stored("bytea", other)),
    }
}

pub(crate) fn text_in(text: &str) -> Result<Datum> {
    parse(text).map(Datum::Blob)
}

pub(crate) fn text_out(value: DatumRef, style: ByteaOutput, out: &mut Vec<u8>) -> Result<()> {
    write(stored(value)?, style, out);
    Ok(())
}
