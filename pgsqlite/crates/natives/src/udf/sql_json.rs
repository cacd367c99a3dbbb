//! The constructors of SQL/JSON and IS JSON. What is written beside their arguments comes first, as JSON
//! ([`pgsqlite_sql::sql_json::Construction`]).

use super::json as document;
use super::json_build::{duplicate_key, key, quote, write};
use super::shim::{Call, Scalar};
use super::strings::invalid_parameter;
use super::Own;
use pgsqlite_sql::lower::support;
use pgsqlite_sql::sql_json::{Construction, Format, ItemKind};
use pgsqlite_types::codec::TypeCodec;
use pgsqlite_types::json;
use pgsqlite_types::{oid, text, work, Datum, DatumRef, Oid, PgError, Result, SqlState};
use std::borrow::Cow;
use std::collections::HashSet;

/// What lowering has written as the first argument. Errors: XX000.
pub(super) fn told<T: serde::de::DeserializeOwned>(c: &Call) -> Result<T> {
    serde_json::from_str(c.text(0)?).map_err(|e| PgError::internal(format!("an expression of SQL/JSON: {e}")))
}

/// The type behind a domain; a literal without a type is a text.
fn plain_type(c: &Call, ty: Oid) -> Oid {
    match c.session.state().catalog.base_type(ty) {
        oid::UNKNOWN => oid::TEXT,
        base => base,
    }
}

/// A document as its text: of a bytea what its bytes are in UTF8. Errors: 22021.
pub(super) fn document_text<'c>(value: DatumRef<'c>) -> Result<Cow<'c, str>> {
    match value {
        DatumRef::Text(t) => Ok(t.into()),
        DatumRef::Blob(bytes) => Ok(text::decode_utf8(bytes)?.into()),
        _ => Err(PgError::internal("a JSON document that is no text")),
    }
}

/// Appends a value as JSON; with FORMAT JSON it is JSON already. Errors: 22P02.
fn append(c: &Call, ty: Oid, format: Format, value: DatumRef, out: &mut String) -> Result<()> {
    if format == Format::Default || value.is_null() {
        return write(c.session, plain_type(c, ty), value, out);
    }
    let text = document_text(value)?;
    json::validate(&text)?;
    out.push_str(&text);
    Ok(())
}

fn finished(how: &Construction, text: String) -> Result<Datum> {
    match (how.binary, how.bytes) {
        (true, _) => document::stored(&document::tree(&text)?),
        (_, true) => Ok(Datum::Blob(text.into_bytes())),
        _ => Ok(Datum::Text(text)),
    }
}

fn object(c: &Call) -> Result<Datum> {
    let how: Construction = told(c)?;
    let mut out = String::from("{");
    let mut keys = HashSet::new();
    let mut any = false;
    for (i, format) in how.formats.iter().enumerate() {
        work::tick(4)?;
        let (at, ty) = (1 + 2 * i, |n: usize| how.types.get(2 * i + n).copied().unwrap_or(oid::TEXT));
        if c.is_null(at) {
            return Err(match how.binary {
                true => invalid_parameter(format!("argument {at}: key must not be null")),
                false => PgError::new(SqlState::NULL_VALUE_NOT_ALLOWED, "null value not allowed for object key"),
            });
        }
        let name = key(c.session, plain_type(c, ty(0)), c.datum(at))?;
        if how.unique && !keys.insert(name.clone()) {
            return Err(duplicate_key(&name, how.binary));
        }
        if how.absent && c.is_null(at + 1) {
            continue;
        }
        out.push_str(if any { ", " } else { "" });
        any = true;
        quote(&name, &mut out);
        out.push_str(" : ");
        append(c, ty(1), *format, c.datum(at + 1), &mut out)?;
    }
    out.push('}');
    finished(&how, out)
}

fn array(c: &Call) -> Result<Datum> {
    let how: Construction = told(c)?;
    let mut out = String::from("[");
    let mut any = false;
    for (i, (ty, format)) in how.types.iter().zip(&how.formats).enumerate() {
        work::tick(4)?;
        if how.absent && c.is_null(1 + i) {
            continue;
        }
        out.push_str(if any { ", " } else { "" });
        any = true;
        append(c, *ty, *format, c.datum(1 + i), &mut out)?;
    }
    out.push(']');
    finished(&how, out)
}

/// The first key that an object in a document has twice.
fn repeated_key(text: &str) -> Result<Option<String>> {
    work::tick(4)?;
    let text = text.trim();
    if document::is_object(text) {
        let mut keys = HashSet::new();
        for (key, value) in document::pairs(text)? {
            work::tick(1)?;
            if let Some(found) = repeated_key(value)? {
                return Ok(Some(found));
            }
            if !keys.insert(key.clone()) {
                return Ok(Some(key));
            }
        }
    } else if document::is_array(text) {
        for item in document::pieces(text) {
            work::tick(1)?;
            if let Some(found) = repeated_key(item)? {
                return Ok(Some(found));
            }
        }
    }
    Ok(None)
}

/// `JSON(document)`
fn parse(c: &Call) -> Result<Datum> {
    let how: Construction = told(c)?;
    if c.is_null(1) {
        return Ok(Datum::Null);
    }
    let text = document_text(c.datum(1))?;
    json::validate(&text)?;
    if how.unique && repeated_key(&text)?.is_some() {
        return Err(PgError::new(SqlState::DUPLICATE_JSON_OBJECT_KEY_VALUE, "duplicate JSON object key value"));
    }
    Ok(Datum::Text(text.into_owned()))
}

fn scalar(c: &Call) -> Result<Datum> {
    let how: Construction = told(c)?;
    if c.is_null(1) {
        return Ok(Datum::Null);
    }
    let mut out = String::new();
    append(c, how.types.first().copied().unwrap_or(oid::TEXT), Format::Default, c.datum(1), &mut out)?;
    Ok(Datum::Text(out))
}

/// `JSON_SERIALIZE(document)`
fn serialize(c: &Call) -> Result<Datum> {
    let how: Construction = told(c)?;
    if c.is_null(1) {
        return Ok(Datum::Null);
    }
    let text = document_text(c.datum(1))?;
    json::validate(&text)?;
    Ok(match how.bytes {
        true => Datum::Blob(text.into_owned().into_bytes()),
        false => Datum::Text(text.into_owned()),
    })
}

/// (kind, unique, type, value)
fn is_json(c: &Call) -> Result<Datum> {
    let (kind, unique): (ItemKind, bool) = told(c)?;
    if c.is_null(1) {
        return Ok(Datum::Null);
    }
    let text = document_text(c.datum(1))?;
    let fits = match kind {
        ItemKind::Value => true,
        ItemKind::Object => document::is_object(&text),
        ItemKind::Array => document::is_array(&text),
        ItemKind::Scalar => !document::is_object(&text) && !document::is_array(&text),
    };
    let valid = fits
        && match json::validate(&text) {
            Ok(()) => true,
            Err(e) if e.code() == SqlState::INVALID_TEXT_REPRESENTATION => false,
            Err(e) => return Err(e),
        };
    Ok((valid && !(unique && repeated_key(&text)?.is_some())).into())
}

/// Whether a type is one of JSON's.
pub(super) fn is_json_type(c: &Call, ty: Oid) -> Result<bool> {
    Ok(matches!(c.session.codec(plain_type(c, ty))?, TypeCodec::Json | TypeCodec::Jsonb))
}

const fn own(name: &'static str, run: Scalar) -> Own {
    (name, -1, true, run)
}

pub(crate) const FUNCTIONS: &[Own] = &[
    own(support::JSON_OBJECT, object),
    own(support::JSON_ARRAY, array),
    own(support::JSON_PARSE, parse),
    own(support::JSON_SCALAR, scalar),
    own(support::JSON_SERIALIZE, serialize),
    own(support::IS_JSON, is_json),
    own(support::JSON_PATH, super::sql_json_paths::evaluate_call),
    own(support::JSON_TABLE, super::sql_json_paths::table),
];
