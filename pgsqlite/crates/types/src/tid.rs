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
        let (block, offset) = text.trim_start().strip_prefix('(')?.split_once(')')?.0.split_once(',')?;
        Some(join(block.trim().parse().ok()?, offset.trim().parse().ok()?))
    };
    parse().ok_or_else(|| invalid_syntax("tid", text))
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
        for text in ["", "(0,1", "0,1", "(0)", "(-1,1)", "(0,65536)", "(4294967296,0)", "(a,b)"] {
            assert_eq!(text_in(text).unwrap_err().code(), crate::SqlState::INVALID_TEXT_REPRESENTATION, "{text}");
        }
        for number in [-1, 1 << 48] {
            assert!(text_out(DatumRef::Int(number), &mut Vec::new()).unwrap_err().is_refusal());
        }
        assert!(binary_in(&[0; 5]).is_err());
    }
}
