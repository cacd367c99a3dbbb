//! Functions of strings and byte strings. Positions count characters from 1.

use super::session_cell::SessionCell;
use super::shim::{Call, Scalar, Types};
use super::support::{text_of, untyped, ARRAY};
use crate::hashing::digest_of;
use pgsqlite_types::array::Array;
use pgsqlite_types::buffer::bad_stored;
use pgsqlite_types::codec::TypeCodec;
use pgsqlite_types::work::{self, Ticking};
use pgsqlite_types::{bytea, text, Datum, DatumRef, PgError, Result, SqlState};
use sha2::{Sha224, Sha256, Sha384, Sha512};

/// Most bytes of a value.
const MAX_LENGTH: usize = 0x3fff_ffff;

fn too_long() -> PgError {
    PgError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, "requested length too large")
}
fn negative_length() -> PgError {
    PgError::new(SqlState::SUBSTRING_ERROR, "negative substring length not allowed")
}
/// The error 22023 with this message.
pub fn invalid_parameter(message: impl Into<String>) -> PgError {
    PgError::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

// --- trimming, cutting -----------------------------------------------------------------------------------------------

fn trimmed(c: &Call, left: bool, right: bool) -> Result<Datum> {
    let text = c.text(0)?;
    let set = if c.len() > 1 { c.text(1)? } else { " " };
    let mut out = text;
    if left {
        out = out.trim_start_matches(|ch| {
            work::pulse(1 + set.len() / 16);
            set.contains(ch)
        });
    }
    if right {
        out = out.trim_end_matches(|ch| {
            work::pulse(1 + set.len() / 16);
            set.contains(ch)
        });
    }
    Ok(Datum::from(out))
}
fn btrim(c: &Call) -> Result<Datum> {
    trimmed(c, true, true)
}
fn ltrim(c: &Call) -> Result<Datum> {
    trimmed(c, true, false)
}
fn rtrim(c: &Call) -> Result<Datum> {
    trimmed(c, false, true)
}
fn name_to_text(c: &Call) -> Result<Datum> {
    Ok(Datum::from(c.text(0)?))
}
fn text_to_name(c: &Call) -> Result<Datum> {
    Ok(Datum::from(text::truncate_name(c.text(0)?.trim_end_matches('\0'))))
}
/// The number of a `"char"`; none is 0.
fn char_to_int(c: &Call) -> Result<Datum> {
    Ok(Datum::Int(text::char_byte(c.text(0)?) as i8 as i64))
}
fn int_to_char(c: &Call) -> Result<Datum> {
    match c.int(0)? {
        n @ -128..=127 => text::char_of_byte(n as i8 as u8),
        _ => Err(PgError::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "\"char\" out of range")),
    }
}
fn text_to_char(c: &Call) -> Result<Datum> {
    text::char_in(c.text(0)?)
}
fn bpchar_to_name(c: &Call) -> Result<Datum> {
    Ok(Datum::from(text::truncate_name(c.text(0)?).trim_end_matches(' ')))
}

/// Byte offset of the character with this number (from 0); the text's length if there are fewer.
fn offset(text: &str, characters: usize) -> usize {
    if text.is_ascii() {
        return characters.min(text.len());
    }
    text.char_indices().nth(characters).map_or(text.len(), |(i, _)| i)
}

/// The half-open range of positions (from 0) that `substring(… from start for length)` means.
fn window(start: i64, length: Option<i64>) -> Result<(usize, usize)> {
    let end = match length {
        None => i64::MAX,
        Some(n) if n < 0 => return Err(negative_length()),
        Some(n) => start.saturating_add(n),
    };
    let low = start.max(1) - 1;
    let high = if end == i64::MAX { i64::MAX } else { (end - 1).max(low) };
    Ok((low as usize, high as usize))
}
fn substr(c: &Call) -> Result<Datum> {
    let text = c.text(0)?;
    let length = if c.len() > 2 { Some(c.int(2)?) } else { None };
    let (low, high) = window(c.int(1)?, length)?;
    let from = offset(text, low);
    let to = from + offset(&text[from..], high - low);
    Ok(Datum::from(&text[from..to]))
}
fn bytea_substr(c: &Call) -> Result<Datum> {
    let bytes = c.bytes(0)?;
    let length = if c.len() > 2 { Some(c.int(2)?) } else { None };
    let (low, high) = window(c.int(1)?, length)?;
    let (low, high) = (low.min(bytes.len()), high.min(bytes.len()));
    Ok(Datum::Blob(bytes[low..high].to_vec()))
}
fn left(c: &Call) -> Result<Datum> {
    let (text, n) = (c.text(0)?, c.int(1)?);
    let keep = if n >= 0 { n } else { (text.chars().count() as i64 + n).max(0) };
    Ok(Datum::from(&text[..offset(text, keep as usize)]))
}
fn right(c: &Call) -> Result<Datum> {
    let (text, n) = (c.text(0)?, c.int(1)?);
    let skip = match n {
        // PostgreSQL's integer has no positive of it.
        n if n == i32::MIN as i64 => 0,
        n if n >= 0 => (text.chars().count() as i64 - n).max(0),
        n => -n,
    };
    Ok(Datum::from(&text[offset(text, skip as usize)..]))
}
fn position(c: &Call) -> Result<Datum> {
    let (text, part) = (c.text(0)?, c.text(1)?);
    if part.is_empty() {
        return Ok(Datum::Int(1));
    }
    Ok(Datum::Int(work::matches(text, part).next().map_or(0, |(i, _)| text[..i].chars().count() as i64 + 1)))
}
/// The position after `length` from `start`; 22003 beyond an integer.
fn after(start: i64, length: i64) -> Result<i64> {
    let end = start + length;
    i32::try_from(end).map_err(|_| pgsqlite_types::int::Width::Four.out_of_range())?;
    Ok(end)
}
fn overlay(c: &Call) -> Result<Datum> {
    let (text, new, start) = (c.text(0)?, c.text(1)?, c.int(2)?);
    let length = if c.len() > 3 { c.int(3)? } else { new.chars().count() as i64 };
    if start <= 0 {
        return Err(negative_length());
    }
    let head = &text[..offset(text, start as usize - 1)];
    let tail = &text[offset(text, (after(start, length)? - 1).max(0) as usize)..];
    Ok(Datum::Text([head, new, tail].concat()))
}

// --- case, replacing, padding ----------------------------------------------------------------------------------------

/// Lower case, character by character as C libraries do it (`İ` becomes `i`).
pub(crate) fn lower_text(text: &str) -> String {
    text.chars().pulsing().map(lower_character).collect()
}
fn upper_text(text: &str) -> String {
    text.chars().pulsing().map(upper_character).collect()
}
fn lower_character(ch: char) -> char {
    match single(ch.to_lowercase()) {
        // the one character whose lower case is two in Unicode's special mappings
        None if ch == 'İ' => 'i',
        mapped => mapped.unwrap_or(ch),
    }
}
/// Upper case of one character. One whose upper case is several in Unicode's special mappings has another one in the simple
/// mappings, if any: Greek letters with an iota written below have that of the capital with an iota beside it.
fn upper_character(ch: char) -> char {
    let with_iota = match ch as u32 {
        n @ (0x1f80..=0x1f87 | 0x1f90..=0x1f97 | 0x1fa0..=0x1fa7) => char::from_u32(n + 8),
        n @ (0x1fb3 | 0x1fc3 | 0x1ff3) => char::from_u32(n + 9),
        _ => None,
    };
    with_iota.or_else(|| single(ch.to_uppercase())).unwrap_or(ch)
}
/// The one character that a mapping gives; None: it gives several.
fn single(mut mapped: impl Iterator<Item = char>) -> Option<char> {
    mapped.next().filter(|_| mapped.next().is_none())
}
fn upper(c: &Call) -> Result<Datum> {
    Ok(Datum::Text(upper_text(c.text(0)?)))
}
fn lower(c: &Call) -> Result<Datum> {
    Ok(Datum::Text(lower_text(c.text(0)?)))
}
fn initcap(c: &Call) -> Result<Datum> {
    let mut inside = false;
    let out = c.text(0)?.chars().pulsing().map(|ch| {
        let mapped = if inside { lower_character(ch) } else { upper_character(ch) };
        inside = ch.is_alphanumeric();
        mapped
    });
    Ok(Datum::Text(out.collect()))
}
fn replace(c: &Call) -> Result<Datum> {
    let (text, from) = (c.text(0)?, c.text(1)?);
    Ok(if from.is_empty() { Datum::from(text) } else { Datum::Text(work::replaced(text, from, c.text(2)?)?) })
}
fn translate(c: &Call) -> Result<Datum> {
    let from: Vec<char> = c.text(1)?.chars().collect();
    let to: Vec<char> = c.text(2)?.chars().collect();
    // the first place of each character counts
    let places: std::collections::HashMap<char, usize> = from.iter().enumerate().rev().map(|(i, &f)| (f, i)).collect();
    let map = |ch| match places.get(&ch).copied() {
        Some(i) => to.get(i).copied(),
        None => Some(ch),
    };
    Ok(Datum::Text(c.text(0)?.chars().pulsing().filter_map(map).collect()))
}
fn padded(c: &Call, at_left: bool) -> Result<Datum> {
    let (text, n) = (c.text(0)?, c.int(1)?.max(0) as usize);
    let fill = if c.len() > 2 { c.text(2)? } else { " " };
    let have = text.chars().count();
    if have >= n || fill.is_empty() {
        return Ok(Datum::from(&text[..offset(text, n)]));
    }
    if n > MAX_LENGTH {
        return Err(too_long());
    }
    let each = fill.chars().count();
    let mut out = String::new();
    if !at_left {
        work::append(&mut out, text)?;
    }
    work::append(&mut out, &work::repeated(fill, (n - have) / each)?)?;
    out.extend(fill.chars().take((n - have) % each));
    if at_left {
        work::append(&mut out, text)?;
    }
    Ok(Datum::Text(out))
}
fn lpad(c: &Call) -> Result<Datum> {
    padded(c, true)
}
fn rpad(c: &Call) -> Result<Datum> {
    padded(c, false)
}
fn repeat(c: &Call) -> Result<Datum> {
    let (text, n) = (c.text(0)?, c.int(1)?.max(0) as usize);
    if text.len().saturating_mul(n) > MAX_LENGTH {
        return Err(too_long());
    }
    Ok(Datum::Text(work::repeated(text, n)?))
}
fn reverse(c: &Call) -> Result<Datum> {
    Ok(Datum::Text(c.text(0)?.chars().rev().pulsing().collect()))
}
fn split_part(c: &Call) -> Result<Datum> {
    let (text, delimiter, n) = (c.text(0)?, c.text(1)?, c.int(2)?);
    if n == 0 {
        return Err(invalid_parameter("field position must not be zero"));
    }
    if text.is_empty() {
        return Ok(Datum::from(""));
    }
    if delimiter.is_empty() {
        return Ok(Datum::from(if n == 1 || n == -1 { text } else { "" }));
    }
    let part = if n > 0 {
        text.split(delimiter).pulsing().nth(n as usize - 1)
    } else {
        text.rsplit(delimiter).pulsing().nth(-(n + 1) as usize)
    };
    Ok(Datum::from(part.unwrap_or("")))
}
fn starts_with(c: &Call) -> Result<Datum> {
    Ok(Datum::from(c.text(0)?.starts_with(c.text(1)?)))
}
fn ascii(c: &Call) -> Result<Datum> {
    Ok(Datum::Int(c.text(0)?.chars().next().map_or(0, |ch| ch as i64)))
}
fn chr(c: &Call) -> Result<Datum> {
    let n = c.int(0)?;
    let error = |m: String| PgError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, m);
    if n < 0 {
        return Err(invalid_parameter("character number must be positive"));
    }
    if n == 0 {
        return Err(error("null character not permitted".into()));
    }
    match u32::try_from(n).ok().and_then(char::from_u32) {
        Some(ch) => Ok(Datum::Text(ch.to_string())),
        None if n > 0x10_ffff => Err(error(format!("requested character too large for encoding: {n}"))),
        None => Err(error(format!("requested character not valid for encoding: {n}"))),
    }
}
fn to_hex32(c: &Call) -> Result<Datum> {
    Ok(Datum::Text(format!("{:x}", c.int(0)? as i32)))
}
fn to_hex64(c: &Call) -> Result<Datum> {
    Ok(Datum::Text(format!("{:x}", c.int(0)?)))
}

// --- quoting ---------------------------------------------------------------------------------------------------------

/// An identifier, quoted if it has to be.
pub fn identifier(name: &str) -> String {
    pgsqlite_sql::deparse::quote_identifier(name)
}
pub(crate) fn literal(text: &str) -> String {
    let escaped = text.contains('\\');
    let mut out = String::from(if escaped { "E'" } else { "'" });
    for ch in text.chars().pulsing() {
        match ch {
            '\'' | '\\' => out.extend([ch, ch]),
            _ => out.push(ch),
        }
    }
    out.push('\'');
    out
}
fn quote_ident(c: &Call) -> Result<Datum> {
    Ok(Datum::Text(identifier(c.text(0)?)))
}
fn quote_literal(c: &Call) -> Result<Datum> {
    Ok(Datum::Text(literal(c.text(0)?)))
}
fn quote_nullable(c: &Call) -> Result<Datum> {
    Ok(Datum::Text(if c.is_null(0) { "NULL".into() } else { literal(c.text(0)?) }))
}

// --- concat, format --------------------------------------------------------------------------------------------------

/// The text forms of the arguments from `first` on (None: NULL), a VARIADIC array spread out. `first` counts SQL arguments.
fn spread(c: &Call, types: &Types, first: usize) -> Result<Option<Vec<Option<String>>>> {
    let mut out = Vec::new();
    for i in (first..types.args.len()).pulsing() {
        let value = c.datum(i + 1);
        if types.variadic && i + 1 == types.args.len() {
            if value.is_null() {
                return Ok(None);
            }
            let TypeCodec::Array(element, ..) = c.session.codec(types.args[i])? else {
                return Err(PgError::new(SqlState::DATATYPE_MISMATCH, "VARIADIC argument must be an array"));
            };
            for e in array(c.text(i + 1)?, &element)?.elements {
                work::tick(8)?;
                out.push(optional_text(c.session, &element, e.as_ref())?);
            }
        } else if value.is_null() {
            out.push(None);
        } else {
            out.push(Some(text_of(c.session, types.args[i], value)?));
        }
    }
    Ok(Some(out))
}
fn optional_text(session: &SessionCell, codec: &TypeCodec, value: DatumRef) -> Result<Option<String>> {
    match value {
        DatumRef::Null => Ok(None),
        v => super::support::text_by(session, codec, v).map(Some),
    }
}
pub(crate) fn array(text: &str, element: &TypeCodec) -> Result<Array> {
    Array::from_storage(text, element).ok_or_else(|| bad_stored(ARRAY, DatumRef::Text(text)))
}
fn concat(c: &Call) -> Result<Datum> {
    Ok(spread(c, &c.types()?, 0)?.map(|parts| parts.into_iter().flatten().collect::<String>()).into())
}
fn concat_ws(c: &Call) -> Result<Datum> {
    if c.is_null(1) {
        return Ok(Datum::Null);
    }
    let separator = c.text(1)?;
    let parts = spread(c, &c.types()?, 1)?;
    Ok(parts.map(|p| p.into_iter().flatten().collect::<Vec<_>>().join(separator)).into())
}
fn format(c: &Call) -> Result<Datum> {
    let types = c.types()?;
    if c.is_null(1) {
        return Ok(Datum::Null);
    }
    let args = spread(c, &types, 1)?.unwrap_or_default();
    let mut out = String::new();
    let mut chars = c.text(1)?.chars().peekable();
    let mut next = 0usize;
    let unterminated =
        || invalid_parameter("unterminated format() type specifier").hint("For a single \"%\" use \"%%\".");
    let too_few = || invalid_parameter("too few arguments for format()");
    while let Some(ch) = chars.next() {
        work::tick(1)?;
        if ch != '%' {
            out.push(ch);
            continue;
        }
        if chars.peek() == Some(&'%') {
            chars.next();
            out.push('%');
            continue;
        }
        let number = |chars: &mut std::iter::Peekable<std::str::Chars>| -> Result<Option<usize>> {
            let mut n: Option<usize> = None;
            while let Some(d) = chars.peek().and_then(|c| c.to_digit(10)) {
                work::tick(1)?;
                let value = n.unwrap_or(0) * 10 + d as usize;
                if value > i32::MAX as usize {
                    return Err(PgError::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "number is out of range"));
                }
                n = Some(value);
                chars.next();
            }
            Ok(n)
        };
        let (mut explicit, mut width, mut width_argument, mut left_justified) = (None, None, None, false);
        let zero = || invalid_parameter("format specifies argument 0, but arguments are numbered from 1");
        let first = number(&mut chars)?;
        if first.is_some() && chars.peek() == Some(&'$') {
            chars.next();
            if first == Some(0) {
                return Err(zero());
            }
            explicit = first;
        } else if first.is_some() {
            width = first.map(|w| w as i64);
        }
        if width.is_none() {
            while chars.peek() == Some(&'-') {
                work::tick(1)?;
                chars.next();
                left_justified = true;
            }
            if chars.peek() == Some(&'*') {
                chars.next();
                let n = number(&mut chars)?;
                let index = match n {
                    Some(0) => return Err(zero()),
                    Some(n) => {
                        if chars.next() != Some('$') {
                            return Err(invalid_parameter("width argument position must be ended by \"$\""));
                        }
                        n
                    }
                    None => next + 1,
                };
                width_argument = Some(index);
            } else {
                width = number(&mut chars)?.map(|w| w as i64);
            }
        }
        let kind = chars.next().ok_or_else(unterminated)?;
        if !matches!(kind, 's' | 'I' | 'L') {
            return Err(invalid_parameter(format!("unrecognized format() type specifier \"{kind}\""))
                .hint("For a single \"%\" use \"%%\"."));
        }
        if let Some(index) = width_argument {
            let value = args.get(index - 1).ok_or_else(too_few)?;
            next = index;
            width = Some(match value {
                None => 0,
                Some(v) => pgsqlite_types::int::parse(v, pgsqlite_types::int::Width::Four)?,
            });
        }
        let index = explicit.unwrap_or(next + 1);
        let value = args.get(index - 1).ok_or_else(too_few)?;
        next = index;
        let text = match (kind, value) {
            ('s', v) => v.clone().unwrap_or_default(),
            ('I', Some(v)) => identifier(v),
            ('I', None) => {
                return Err(PgError::new(
                    SqlState::NULL_VALUE_NOT_ALLOWED,
                    "null values cannot be formatted as an SQL identifier",
                ))
            }
            (_, Some(v)) => literal(v),
            (_, None) => "NULL".into(),
        };
        let width = width.unwrap_or(0);
        let wanted = (width.unsigned_abs() as usize).saturating_sub(text.chars().count()).min(MAX_LENGTH);
        let padded_left = !left_justified && width >= 0;
        work::append_repeated(&mut out, " ", if padded_left { wanted } else { 0 })?;
        work::append(&mut out, &text)?;
        work::append_repeated(&mut out, " ", if padded_left { 0 } else { wanted })?;
    }
    Ok(Datum::Text(out))
}

// --- strings and arrays ----------------------------------------------------------------------------------------------

fn string_to_array(c: &Call) -> Result<Datum> {
    if c.is_null(0) {
        return Ok(Datum::Null);
    }
    let text = c.text(0)?;
    let null = if c.len() > 2 && !c.is_null(2) { Some(c.text(2)?) } else { None };
    let item = |part: &str| if Some(part) == null { Datum::Null } else { Datum::from(part) };
    let elements = if text.is_empty() {
        Vec::new()
    } else if c.is_null(1) {
        text.chars().pulsing().map(|ch| item(ch.encode_utf8(&mut [0; 4]))).collect()
    } else {
        match c.text(1)? {
            "" => vec![item(text)],
            delimiter => {
                let (mut items, mut from) = (Vec::new(), 0);
                for (at, _) in work::matches(text, delimiter) {
                    work::tick(8)?;
                    items.push(item(&text[from..at]));
                    from = at + delimiter.len();
                }
                items.push(item(&text[from..]));
                items
            }
        }
    };
    Ok(Array::from_elements(elements).to_datum())
}
/// As `string_to_array`, no rows for NULL.
fn string_to_table(c: &Call) -> Result<Datum> {
    Ok(match string_to_array(c)? {
        Datum::Null => Datum::from("[]"),
        array => array,
    })
}
fn array_to_string(c: &Call) -> Result<Datum> {
    if c.is_null(1) || c.is_null(2) {
        return Ok(Datum::Null);
    }
    let types = c.types()?;
    let TypeCodec::Array(element, ..) = c.session.codec(types.args[0])? else {
        return Err(PgError::internal("array_to_string of no array"));
    };
    let delimiter = c.text(2)?;
    let null = if c.len() > 3 && !c.is_null(3) { Some(c.text(3)?) } else { None };
    let mut parts = Vec::new();
    for e in array(c.text(1)?, &element)?.elements {
        work::tick(8)?;
        match optional_text(c.session, &element, e.as_ref())? {
            Some(text) => parts.push(text),
            None => parts.extend(null.map(str::to_string)),
        }
    }
    Ok(Datum::Text(parts.join(delimiter)))
}

// --- hashes, encodings -----------------------------------------------------------------------------------------------

fn md5_text(c: &Call) -> Result<Datum> {
    Ok(Datum::Text(hex::encode(digest_of::<md5::Md5>(&[c.text(0)?.as_bytes()])?)))
}
fn md5_bytea(c: &Call) -> Result<Datum> {
    Ok(Datum::Text(hex::encode(digest_of::<md5::Md5>(&[c.bytes(0)?])?)))
}
fn sha224(c: &Call) -> Result<Datum> {
    Ok(Datum::Blob(digest_of::<Sha224>(&[c.bytes(0)?])?))
}
fn sha256(c: &Call) -> Result<Datum> {
    Ok(Datum::Blob(digest_of::<Sha256>(&[c.bytes(0)?])?))
}
fn sha384(c: &Call) -> Result<Datum> {
    Ok(Datum::Blob(digest_of::<Sha384>(&[c.bytes(0)?])?))
}
fn sha512(c: &Call) -> Result<Datum> {
    Ok(Datum::Blob(digest_of::<Sha512>(&[c.bytes(0)?])?))
}

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Base 64 with a line break after 76 characters, as MIME wants it.
fn base64_encode(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len() / 3 * 4 + 8);
    let mut column = 0;
    for chunk in bytes.chunks(3).pulsing() {
        let n = chunk.iter().fold(0u32, |n, b| n << 8 | *b as u32) << (8 * (3 - chunk.len()));
        out.extend([0, 1, 2, 3].map(|i| match i > chunk.len() {
            true => '=',
            false => BASE64[(n >> (18 - 6 * i) & 63) as usize] as char,
        }));
        column += 4;
        // no line break comes after the padding
        if column >= 76 && chunk.len() == 3 {
            out.push('\n');
            column = 0;
        }
    }
    out
}
fn base64_decode(text: &str) -> Result<Vec<u8>> {
    let bad_end = || {
        invalid_parameter("invalid base64 end sequence")
            .hint("Input data is missing padding, is truncated, or is otherwise corrupted.")
    };
    let (mut out, mut n, mut filled, mut end) = (Vec::new(), 0u32, 0, 0);
    for ch in text.chars().pulsing() {
        if matches!(ch, ' ' | '\t' | '\n' | '\r') {
            continue;
        }
        let value = if ch == '=' {
            if end == 0 {
                end = match filled {
                    2 => 1,
                    3 => 2,
                    _ => return Err(invalid_parameter("unexpected \"=\" while decoding base64 sequence")),
                };
            }
            0
        } else {
            let found = ch.is_ascii().then(|| BASE64.iter().position(|b| *b == ch as u8)).flatten();
            found.ok_or_else(|| {
                invalid_parameter(format!("invalid symbol \"{ch}\" found while decoding base64 sequence"))
            })? as u32
        };
        n = n << 6 | value;
        filled += 1;
        if filled == 4 {
            out.push((n >> 16) as u8);
            if end == 0 || end > 1 {
                out.push((n >> 8) as u8);
            }
            if end == 0 || end > 2 {
                out.push(n as u8);
            }
            (n, filled) = (0, 0);
        }
    }
    if filled != 0 {
        return Err(bad_end());
    }
    Ok(out)
}
fn escape_encode(bytes: &[u8]) -> String {
    let mut out = String::new();
    for &b in bytes.iter().pulsing() {
        match b {
            b'\\' => out.push_str("\\\\"),
            0 | 0x80.. => out.push_str(&format!("\\{b:03o}")),
            _ => out.push(b as char),
        }
    }
    out
}
fn unknown_encoding(name: &str) -> PgError {
    invalid_parameter(format!("unrecognized encoding: \"{name}\""))
}
fn encode(c: &Call) -> Result<Datum> {
    let (bytes, format) = (c.bytes(0)?, c.text(1)?);
    Ok(Datum::Text(match format.to_ascii_lowercase().as_str() {
        "hex" => {
            let mut out = String::with_capacity(bytes.len() * 2);
            for piece in bytes.chunks(work::PIECE).ticking(work::PIECE / 2) {
                out.push_str(&hex::encode(piece?));
            }
            out
        }
        "base64" => base64_encode(bytes),
        "escape" => escape_encode(bytes),
        _ => return Err(unknown_encoding(format)),
    }))
}
fn decode(c: &Call) -> Result<Datum> {
    let (text, format) = (c.text(0)?, c.text(1)?);
    Ok(Datum::Blob(match format.to_ascii_lowercase().as_str() {
        "hex" => bytea::parse_hex(text)?,
        "base64" => base64_decode(text)?,
        "escape" => {
            // `\x` at the start means nothing special here, unlike in bytea's input
            if text.starts_with("\\x") {
                return Err(PgError::new(SqlState::INVALID_TEXT_REPRESENTATION, "invalid input syntax for type bytea"));
            }
            bytea::parse(text)?
        }
        _ => return Err(unknown_encoding(format)),
    }))
}
/// Only encodings whose text is UTF-8 are there; the name may be written in several ways.
fn unistr(c: &Call) -> Result<Datum> {
    let bad = || {
        PgError::new(SqlState::SYNTAX_ERROR, "invalid Unicode escape")
            .hint("Unicode escapes must be \\XXXX, \\+XXXXXX, \\uXXXX, or \\UXXXXXXXX.")
    };
    let pair = || PgError::new(SqlState::SYNTAX_ERROR, "invalid Unicode surrogate pair");
    let text = c.text(0)?;
    let (mut out, mut rest, mut high) = (String::new(), text, None::<u32>);
    while let Some(ch) = rest.chars().next() {
        work::tick(1)?;
        if ch != '\\' {
            if high.is_some() {
                return Err(pair());
            }
            out.push(ch);
            rest = &rest[ch.len_utf8()..];
            continue;
        }
        let after = &rest[1..];
        if let Some(tail) = after.strip_prefix('\\') {
            if high.is_some() {
                return Err(pair());
            }
            out.push('\\');
            rest = tail;
            continue;
        }
        let (skip, digits) = match after.as_bytes().first() {
            Some(b'+') => (1, 6),
            Some(b'u') => (1, 4),
            Some(b'U') => (1, 8),
            _ => (0, 4),
        };
        let code =
            after.get(skip..skip + digits).filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit())).ok_or_else(bad)?;
        let code = u32::from_str_radix(code, 16).map_err(|_| bad())?;
        rest = &after[skip + digits..];
        match (high.take(), code) {
            (None, 0xd800..=0xdbff) => high = Some(code),
            (Some(h), 0xdc00..=0xdfff) => {
                out.extend(char::from_u32(0x10000 + ((h - 0xd800) << 10) + (code - 0xdc00)));
            }
            (Some(_), _) | (None, 0xdc00..=0xdfff) => return Err(pair()),
            (None, code) => match char::from_u32(code).filter(|ch| *ch != '\0') {
                Some(ch) => out.push(ch),
                None => {
                    return Err(PgError::new(
                        SqlState::INVALID_PARAMETER_VALUE,
                        "invalid Unicode code point: ".to_string() + &format!("{code:04X}"),
                    ))
                }
            },
        }
    }
    if high.is_some() {
        return Err(pair());
    }
    Ok(Datum::Text(out))
}

// --- byte strings ----------------------------------------------------------------------------------------------------

fn bytea_cat(c: &Call) -> Result<Datum> {
    Ok(Datum::Blob([c.bytes(0)?, c.bytes(1)?].concat()))
}
fn find_bytes(bytes: &[u8], part: &[u8]) -> Option<usize> {
    if part.is_empty() {
        return Some(0);
    }
    bytes.windows(part.len()).position(|w| {
        work::pulse(1 + part.len() / 64);
        w == part
    })
}
fn bytea_position(c: &Call) -> Result<Datum> {
    Ok(Datum::Int(find_bytes(c.bytes(0)?, c.bytes(1)?).map_or(0, |i| i as i64 + 1)))
}
fn bytea_overlay(c: &Call) -> Result<Datum> {
    let (bytes, new, start) = (c.bytes(0)?, c.bytes(1)?, c.int(2)?);
    let length = if c.len() > 3 { c.int(3)? } else { new.len() as i64 };
    if start <= 0 {
        return Err(negative_length());
    }
    let head = &bytes[..(start as usize - 1).min(bytes.len())];
    let tail = &bytes[((after(start, length)? - 1).max(0) as usize).min(bytes.len())..];
    Ok(Datum::Blob([head, new, tail].concat()))
}
fn index(i: i64, length: usize) -> Result<usize> {
    usize::try_from(i).ok().filter(|i| *i < length).ok_or_else(|| {
        PgError::new(SqlState::ARRAY_SUBSCRIPT_ERROR, format!("index {i} out of valid range, 0..{}", length as i64 - 1))
    })
}
fn get_byte(c: &Call) -> Result<Datum> {
    let bytes = c.bytes(0)?;
    Ok(Datum::Int(bytes[index(c.int(1)?, bytes.len())?] as i64))
}
fn set_byte(c: &Call) -> Result<Datum> {
    let mut bytes = c.bytes(0)?.to_vec();
    let i = index(c.int(1)?, bytes.len())?;
    bytes[i] = c.int(2)? as u8;
    Ok(Datum::Blob(bytes))
}
fn get_bit(c: &Call) -> Result<Datum> {
    let bytes = c.bytes(0)?;
    let i = index(c.int(1)?, bytes.len() * 8)?;
    Ok(Datum::Int((bytes[i / 8] >> (i % 8) & 1) as i64))
}
fn set_bit(c: &Call) -> Result<Datum> {
    let mut bytes = c.bytes(0)?.to_vec();
    let i = index(c.int(1)?, bytes.len() * 8)?;
    match c.int(2)? {
        0 => bytes[i / 8] &= !(1 << (i % 8)),
        1 => bytes[i / 8] |= 1 << (i % 8),
        _ => return Err(invalid_parameter("new bit must be 0 or 1")),
    }
    Ok(Datum::Blob(bytes))
}
fn bytea_trimmed(c: &Call, left: bool, right: bool) -> Result<Datum> {
    let (mut bytes, set) = (c.bytes(0)?, c.bytes(1)?);
    while left && bytes.first().is_some_and(|b| set.contains(b)) {
        work::tick(1 + set.len() / 16)?;
        bytes = &bytes[1..];
    }
    while right && bytes.last().is_some_and(|b| set.contains(b)) {
        work::tick(1 + set.len() / 16)?;
        bytes = &bytes[..bytes.len() - 1];
    }
    Ok(Datum::Blob(bytes.to_vec()))
}
fn bytea_btrim(c: &Call) -> Result<Datum> {
    bytea_trimmed(c, true, true)
}
fn bytea_ltrim(c: &Call) -> Result<Datum> {
    bytea_trimmed(c, true, false)
}
fn bytea_rtrim(c: &Call) -> Result<Datum> {
    bytea_trimmed(c, false, true)
}
fn bit_count(c: &Call) -> Result<Datum> {
    Ok(Datum::Int(c.bytes(0)?.iter().map(|b| b.count_ones() as i64).sum()))
}

/// Whether a type is one whose arrays can be read without knowing it: unused codecs are not built for text arrays.
pub(crate) fn text_array(text: &str) -> Result<Vec<Option<String>>> {
    untyped(text)?
        .elements
        .into_iter()
        .map(|e| match e {
            Datum::Null => Ok(None),
            Datum::Text(t) => Ok(Some(t)),
            other => Err(bad_stored("text", other.as_ref())),
        })
        .collect()
}

pub(crate) const FUNCTIONS: &[(&str, Scalar)] = &[
    ("chartoi4", char_to_int),
    ("i4tochar", int_to_char),
    ("text_char", text_to_char),
    ("char_bpchar", name_to_text),
    ("btrim btrim1", btrim),
    ("ltrim ltrim1", ltrim),
    ("rtrim rtrim1", rtrim),
    ("name_text name_bpchar", name_to_text),
    ("text_name", text_to_name),
    ("bpchar_name", bpchar_to_name),
    ("text_substr text_substr_no_len", substr),
    ("bytea_substr bytea_substr_no_len", bytea_substr),
    ("text_left", left),
    ("text_right", right),
    ("textpos", position),
    ("textoverlay textoverlay_no_len", overlay),
    ("upper", upper),
    ("lower", lower),
    ("initcap", initcap),
    ("replace_text", replace),
    ("translate", translate),
    ("lpad lpad(text,int4)", lpad),
    ("rpad rpad(text,int4)", rpad),
    ("repeat", repeat),
    ("text_reverse", reverse),
    ("split_part", split_part),
    ("text_starts_with", starts_with),
    ("ascii", ascii),
    ("chr", chr),
    ("to_hex32", to_hex32),
    ("to_hex64", to_hex64),
    ("quote_ident", quote_ident),
    ("quote_literal", quote_literal),
    ("quote_nullable", quote_nullable),
    ("text_concat", concat),
    ("text_concat_ws", concat_ws),
    ("text_format text_format_nv", format),
    ("text_to_array text_to_array_null", string_to_array),
    ("text_to_table text_to_table_null", string_to_table),
    ("array_to_text array_to_text_null", array_to_string),
    ("md5_text", md5_text),
    ("md5_bytea", md5_bytea),
    ("sha224_bytea", sha224),
    ("sha256_bytea", sha256),
    ("sha384_bytea", sha384),
    ("sha512_bytea", sha512),
    ("binary_encode", encode),
    ("binary_decode", decode),
    ("unistr", unistr),
    ("byteacat", bytea_cat),
    ("byteapos", bytea_position),
    ("byteaoverlay byteaoverlay_no_len", bytea_overlay),
    ("byteaGetByte", get_byte),
    ("byteaSetByte", set_byte),
    ("byteaGetBit", get_bit),
    ("byteaSetBit", set_bit),
    ("byteatrim", bytea_btrim),
    ("bytealtrim", bytea_ltrim),
    ("byteartrim", bytea_rtrim),
    ("bytea_bit_count", bit_count),
];
