//! The codecs of `json` and `jsonb`.

use super::{parse, validate, Flavor};
use crate::buffer::Reader;
use crate::text;
use crate::{Datum, DatumRef, PgError, Result, SqlState};

pub(crate) fn json_in(text: &str) -> Result<Datum> {
    validate(text)?;
    Ok(Datum::from(text))
}

pub(crate) fn jsonb_in(text: &str) -> Result<Datum> {
    Ok(Datum::Text(parse(text, Flavor::Jsonb)?.to_text()))
}

/// The binary form of `jsonb` is a version byte and the text.
pub(crate) fn jsonb_binary_in(bytes: &[u8]) -> Result<Datum> {
    let mut r = Reader(bytes);
    let version = r.u8()?;
    if version != 1 {
        return Err(PgError::new(
            SqlState::INVALID_BINARY_REPRESENTATION,
            format!("unsupported jsonb version number {version}"),
        ));
    }
    jsonb_in(text::decode_utf8(r.0)?)
}

pub(crate) fn jsonb_binary_out(value: DatumRef, out: &mut Vec<u8>) -> Result<()> {
    out.push(1);
    text::text_out(value, out)
}
