//! `boolean`. Stored as INTEGER 0 or 1.

use crate::buffer::{bad_stored, invalid_syntax, trim, Reader};
use crate::{Datum, DatumRef, Result};

/// The value of a text form: `true`, `false`, `yes`, `no`, `on`, `off`, `1`, `0` and unique prefixes, any case.
pub fn parse(text: &str) -> Option<bool> {
    let t = trim(text).as_bytes();
    let prefix = |word: &str, least: usize| {
        t.len() >= least && t.len() <= word.len() && t.eq_ignore_ascii_case(&word.as_bytes()[..t.len()])
    };
    if prefix("true", 1) || prefix("yes", 1) || prefix("on", 2) || t == b"1" {
        Some(true)
    } else if prefix("false", 1) || prefix("no", 1) || prefix("off", 2) || t == b"0" {
        Some(false)
    } else {
        None
    }
}

pub(crate) fn text_in(text: &str) -> Result<Datum> {
    parse(text).map(Datum::from).ok_or_else(|| invalid_syntax("boolean", text))
}

fn stored(value: DatumRef) -> Result<bool> {
    match value {
        DatumRef::Int(i) => Ok(i != 0),
        other => Err(bad_stored("boolean", other)),
    }
}

pub(crate) fn text_out(value: DatumRef, out: &mut Vec<u8>) -> Result<()> {
    out.push(if stored(value)? { b't' } else { b'f' });
    Ok(())
}

pub(crate) fn binary_in(bytes: &[u8]) -> Result<Datum> {
    let mut r = Reader(bytes);
    let value = r.u8()? != 0;
    r.end()?;
    Ok(value.into())
}

pub(crate) fn binary_out(value: DatumRef, out: &mut Vec<u8>) -> Result<()> {
    out.push(stored(value)? as u8);
    Ok(())
}
