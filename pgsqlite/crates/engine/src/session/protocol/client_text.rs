//! Values in the client's encoding: what of a binary value is text.

use pgsqlite_types::codec::TypeCodec;
use pgsqlite_types::encoding::Encoding;
use pgsqlite_types::{PgError, Result};
use std::borrow::Cow;

/// Where the text of a binary value begins.
enum Text {
    /// it has none
    None,
    From(usize),
    /// among other things
    Within,
}

fn text_of(codec: &TypeCodec) -> Text {
    match codec {
        TypeCodec::Text | TypeCodec::BpChar | TypeCodec::Name | TypeCodec::Json | TypeCodec::Enum(_) => Text::From(0),
        // after a version number
        TypeCodec::Jsonb | TypeCodec::JsonPath => Text::From(1),
        TypeCodec::Array(element, ..) if matches!(text_of(element), Text::None) => Text::None,
        TypeCodec::Array(..) | TypeCodec::Record | TypeCodec::Composite(_) => Text::Within,
        _ => Text::None,
    }
}

fn refused(encoding: Encoding) -> PgError {
    PgError::not_supported(format!(
        "an array or record of texts in binary with client_encoding \"{}\"",
        encoding.name()
    ))
}

/// A binary value that the client sent, its text in UTF-8.
pub fn binary_to_utf8<'v>(encoding: Encoding, codec: &TypeCodec, value: &'v [u8]) -> Result<Cow<'v, [u8]>> {
    if !encoding.is_converted() {
        return Ok(Cow::Borrowed(value));
    }
    match text_of(codec) {
        Text::None => Ok(Cow::Borrowed(value)),
        Text::From(at) if at <= value.len() => {
            let mut out = value[..at].to_vec();
            out.extend_from_slice(encoding.decode(&value[at..])?.as_bytes());
            Ok(Cow::Owned(out))
        }
        Text::From(_) => Ok(Cow::Borrowed(value)),
        Text::Within => Err(refused(encoding)),
    }
}

/// Puts the text of a value that stands in `buffer` from `start` into the client's encoding.
pub fn to_client(
    encoding: Encoding,
    codec: &TypeCodec,
    binary: bool,
    buffer: &mut Vec<u8>,
    start: usize,
) -> Result<()> {
    let from = match (binary, text_of(codec)) {
        (false, _) => start,
        (true, Text::None) => return Ok(()),
        (true, Text::From(at)) => start + at,
        (true, Text::Within) => return Err(refused(encoding)),
    };
    let Some(value) = buffer.get(from..).filter(|v| !v.is_ascii()) else { return Ok(()) };
    let text = std::str::from_utf8(value).map_err(|_| PgError::internal("a text value that is no UTF-8"))?;
    let encoded = encoding.encode(text)?.into_owned();
    buffer.truncate(from);
    buffer.extend_from_slice(&encoded);
    Ok(())
}
