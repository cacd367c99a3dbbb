//! `text`, `character varying(n)`, `character(n)`, `name` and the one-byte `"char"`. Stored as TEXT; `character(n)`
//! padded to its length with blanks.

use crate::buffer::bad_stored;
use crate::{Datum, DatumRef, PgError, Result, SqlState};

/// Length in bytes of a `name`, without C's closing zero.
pub const NAME_LENGTH: usize = 63;

/// Reads bytes of the client as UTF-8 text: 22021 for what is not UTF-8 and for a zero byte.
pub fn decode_utf8(bytes: &[u8]) -> Result<&str> {
    let (text, bad) = match std::str::from_utf8(bytes) {
        Ok(text) => (text, bytes.iter().position(|b| *b == 0)),
        Err(e) => {
            let valid = e.valid_up_to();
            ("", bytes[..valid].iter().position(|b| *b == 0).or(Some(valid)))
        }
    };
    let Some(at) = bad else { return Ok(text) };
    // The bytes that the first one announces, as far as they are there.
    let announced = match bytes[at] {
        0xc0..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf7 => 4,
        _ => 1,
    };
    let shown: Vec<String> = bytes[at..].iter().take(announced).map(|b| format!("0x{b:02x}")).collect();
    Err(PgError::new(
        SqlState::CHARACTER_NOT_IN_REPERTOIRE,
        format!("invalid byte sequence for encoding \"UTF8\": {}", shown.join(" ")),
    ))
}

/// The byte offset after `n` characters, None where the text has no more than `n`.
fn cut(text: &str, n: usize) -> Option<usize> {
    if text.len() <= n {
        return None;
    }
    text.char_indices().nth(n).map(|(i, _)| i)
}

fn too_long(type_name: &str, n: usize) -> PgError {
    PgError::new(SqlState::STRING_DATA_RIGHT_TRUNCATION, format!("value too long for type {type_name}({n})"))
}

/// `text` cut to `n` characters: silently in an explicit cast, otherwise only blanks may go.
fn fit<'a>(text: &'a str, n: usize, type_name: &str, explicit: bool) -> Result<&'a str> {
    match cut(text, n) {
        Some(end) if explicit || text[end..].bytes().all(|b| b == b' ') => Ok(&text[..end]),
        Some(_) => Err(too_long(type_name, n)),
        None => Ok(text),
    }
}

/// Applies `varchar(n)`'s typmod (n + 4; -1: none).
pub fn coerce_varchar(text: &str, typmod: i32, explicit: bool) -> Result<&str> {
    if typmod < 4 {
        return Ok(text);
    }
    fit(text, typmod as usize - 4, "character varying", explicit)
}

/// Applies `character(n)`'s typmod (n + 4; -1: none): cuts and pads with blanks.
pub fn coerce_bpchar(text: &str, typmod: i32, explicit: bool) -> Result<String> {
    if typmod < 4 {
        return Ok(text.to_string());
    }
    let n = typmod as usize - 4;
    if text.len() <= n && text.is_ascii() {
        let mut padded = String::with_capacity(n);
        padded.push_str(text);
        padded.extend(std::iter::repeat_n(' ', n - text.len()));
        return Ok(padded);
    }
    let mut padded = fit(text, n, "character", explicit)?.to_string();
    let missing = n - padded.chars().count().min(n);
    padded.extend(std::iter::repeat_n(' ', missing));
    Ok(padded)
}

/// `text` as a `name`: cut to 63 bytes at a character boundary.
pub fn truncate_name(text: &str) -> &str {
    if text.len() <= NAME_LENGTH {
        return text;
    }
    let mut end = NAME_LENGTH;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// The first byte of the text, as `"char"` keeps it; a zero byte (the empty text) is stored as the empty text.
/// A `"char"`: the first byte of the text, or the byte that `\ooo` (octal) says.
pub fn char_in(text: &str) -> Result<Datum> {
    let octal = |b: &u8| (b'0'..=b'7').contains(b).then(|| u32::from(b - b'0'));
    match text.as_bytes() {
        [] => char_of_byte(0),
        // (of a number beyond a byte the lower bits are taken)
        [b'\\', a @ b'0'..=b'7', b, c] => match (octal(a), octal(b), octal(c)) {
            (Some(a), Some(b), Some(c)) => char_of_byte((a << 6 | b << 3 | c) as u8),
            _ => char_of_byte(b'\\'),
        },
        [first, ..] => char_of_byte(*first),
    }
}

/// A `"char"` in storage form: what it prints as, so that a byte outside ASCII is `\ooo`.
pub fn char_of_byte(byte: u8) -> Result<Datum> {
    Ok(Datum::Text(match byte {
        0 => String::new(),
        1..=127 => (byte as char).to_string(),
        _ => format!("\\{byte:03o}"),
    }))
}

/// The byte of a `"char"`.
pub fn char_byte(stored: &str) -> u8 {
    match stored.as_bytes() {
        [b'\\', digits @ ..] if digits.len() == 3 => digits.iter().fold(0u8, |n, d| n << 3 | (d & 7)),
        [first, ..] => *first,
        [] => 0,
    }
}

pub(crate) fn char_binary_in(bytes: &[u8]) -> Result<Datum> {
    let mut r = crate::buffer::Reader(bytes);
    let b = r.u8()?;
    r.end()?;
    char_of_byte(b)
}

pub(crate) fn char_binary_out(value: DatumRef, out: &mut Vec<u8>) -> Result<()> {
    out.push(char_byte(stored(value)?));
    Ok(())
}

pub(crate) fn stored<'a>(value: DatumRef<'a>) -> Result<&'a str> {
    match value {
        DatumRef::Text(t) => Ok(t),
        other => Err(bad_stored("text", other)),
    }
}

pub(crate) fn text_out(value: DatumRef, out: &mut Vec<u8>) -> Result<()> {
    out.extend_from_slice(stored(value)?.as_bytes());
    Ok(())
}
