//! `tid`: where a row is, as (block, offset). Stored as INTEGER, the row's number in SQLite: the offset is its lower 16
//! bits, the block what is above them. So both compare alike.

use crate::buffer::{bad_stored, invalid_syntax, Reader};
use crate::{Datum, DatumRef, PgError, Result};
use std::io::Write;

fn parts(value: DatumRef) -> Result<(u32, u16)> {
    let DatumRef::Int(number) = value else { return Err(bad_stored("tid", value)) };
    match u32::try_from(number >> 16) {
        Ok(block) => Ok((block, number as u16)),
        Err(_) => Err(PgError::not_supported("the ctid of a row whose number is negative or beyond 48 bits")),
    }
}

fn join(block: u32, offset: u16) -> Datum {
    Datum::Int(i64::from(block) << 16 | i64::from(offset))
}

pub(crate) fn text_in(text: &str) -> Result<Datum> {
    let parse = || {
        // what stands before the parenthesis and behind the other one is not looked at
        let inside = text.split(')').next()?;
        let block_at = inside.find(['(', ','])? + 1;
        let offset_at = block_at + inside[block_at..].find(',')? + 1;
        let (block, after) = leading_number(&text[block_at..])?;
        let (offset, end) = leading_number(&text[offset_at..])?;
        if !after.starts_with(',') || !end.starts_with(')') {
            return None;
        }
        // a negative block counts from the top
        let block = u32::try_from(block).or_else(|_| i32::try_from(block as i64).map(|b| b as u32)).ok()?;
        Some(join(block, u16::try_from(offset).ok()?))
    };
    parse().ok_or_else(|| invalid_syntax("tid", text))
}

/// The number that a text begins with and what follows it, as C's `strtoul` reads it: blanks and a sign may come first, a negative number
/// wraps around, and a text that begins with none gives 0. None: no 64 bits hold it.
fn leading_number(text: &str) -> Option<(u64, &str)> {
    let trimmed = text.trim_start_matches([' ', '\t', '\n', '\u{b}', '\u{c}', '\r']);
    let unsigned = trimmed.strip_prefix(['+', '-']).unwrap_or(trimmed);
    let digits = unsigned.bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 {
        return Some((0, text));
    }
    let number: u64 = unsigned[..digits].parse().ok()?;
    Some((if trimmed.starts_with('-') { number.wrapping_neg() } else { number }, &unsigned[digits..]))
}

pub(crate) fn text_out(value: DatumRef, out: &mut Vec<u8>) -> Result<()> {
    let (block, offset) = parts(value)?;
    write!(out, "({block},{offset})").map_err(|e| PgError::internal(format!("writing to memory: {e}")))
}

pub(crate) fn binary_in(bytes: &[u8]) -> Result<Datum> {
    let mut r = Reader(bytes);
    let block = r.u32()?;
    let offset = r.u16()?;
    r.end()?;
    Ok(join(block, offset))
}

pub(crate) fn binary_out(value: DatumRef, out: &mut Vec<u8>) -> Result<()> {
    let (block, offset) = parts(value)?;
    out.extend_from_slice(&block.to_be_bytes());
    out.extend_from_slice(&offset.to_be_bytes());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_binary_and_order() {
        for (text, number) in [("(0,1)", 1), ("(1,0)", 65536), ("(4294967295,65535)", (1 << 48) - 1)] {
            let value = text_in(text).unwrap();
            assert_eq!(value, Datum::Int(number));
            let (mut out, mut bytes) = (Vec::new(), Vec::new());
            text_out(DatumRef::Int(number), &mut out).unwrap();
            binary_out(DatumRef::Int(number), &mut bytes).unwrap();
            assert_eq!((out, bytes.len()), (text.as_bytes().to_vec(), 6));
            assert_eq!(binary_in(&bytes).unwrap(), value);
        }
        for text in ["", "(0,1", "0,1", "(0)", "(0 ,1)", "(0,65536)", "(4294967296,0)", "(a,b)"] {
            assert_eq!(text_in(text).unwrap_err().code(), crate::SqlState::INVALID_TEXT_REPRESENTATION, "{text}");
        }
        for number in [-1, 1 << 48] {
            assert!(text_out(DatumRef::Int(number), &mut Vec::new()).unwrap_err().is_refusal());
        }
        assert!(binary_in(&[0; 5]).is_err());
    }
}
