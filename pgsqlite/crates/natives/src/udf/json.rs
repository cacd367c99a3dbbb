//! Functions of json and jsonb. Parts are cut out of the text as they stand: json keeps its spelling that way, and the
//! canonical text of a jsonb value contains the canonical texts of its parts.

use super::shim::{Call, Scalar};
use super::strings::{invalid_parameter, text_array};
use super::support::untyped;
use pgsqlite_types::array::Array;
use pgsqlite_types::int::Width;
use pgsqlite_types::json::{self, Flavor, Json};
use pgsqlite_types::numeric::Numeric;
use pgsqlite_types::work;
use pgsqlite_types::{float, Datum, PgError, Result, SqlState};

// --- cutting ---------------------------------------------------------------------------------------------------------

pub(crate) fn broken() -> PgError {
    PgError::corrupted("a stored json value is malformed")
}
/// The end of the value (or key) that begins at `at`.
fn skip(bytes: &[u8], mut at: usize) -> usize {
    let (mut depth, mut quoted) = (0usize, false);
    while at < bytes.len() {
        work::pulse(1);
        match bytes[at] {
            b'\\' if quoted => at += 1,
            b'"' => quoted = !quoted,
            b'{' | b'[' if !quoted => depth += 1,
            b'}' | b']' if !quoted && depth == 0 => return at,
            b'}' | b']' if !quoted => depth -= 1,
            b',' | b':' if !quoted && depth == 0 => return at,
            _ => {}
        }
        at += 1;
    }
    at
}
/// The pieces between the commas (and colons) of an array or object.
pub(crate) fn pieces(text: &str) -> Vec<&str> {
    let inner = text.trim();
    let inner = &inner[1..inner.len().saturating_sub(1).max(1)];
    let (mut out, mut at) = (Vec::new(), 0);
    if inner.trim().is_empty() {
        return out;
    }
    while at <= inner.len() {
        work::pulse(1);
        let end = skip(inner.as_bytes(), at);
        out.push(inner[at..end].trim());
        at = end + 1;
    }
    out
}
pub(crate) fn is_object(text: &str) -> bool {
    text.trim_start().starts_with('{')
}
pub(crate) fn is_array(text: &str) -> bool {
    text.trim_start().starts_with('[')
}
fn unescaped(text: &str) -> Result<String> {
    let out: String = serde_json::from_str(text).map_err(|_| broken())?;
    if out.contains('\0') {
        return Err(PgError::new(SqlState::UNTRANSLATABLE_CHARACTER, "unsupported Unicode escape sequence")
            .detail("\\u0000 cannot be converted to text."));
    }
    Ok(out)
}
pub(crate) fn pairs(text: &str) -> Result<Vec<(String, &str)>> {
    pieces(text).chunks(2).map(|p| Ok((unescaped(p[0])?, *p.get(1).ok_or_else(broken)?))).collect()
}
/// What `->>` gives of a value: NULL for null, a string without its quotes.
pub(crate) fn as_text(text: &str) -> Result<Datum> {
    Ok(match text.trim().as_bytes().first() {
        Some(b'n') => Datum::Null,
        Some(b'"') => Datum::Text(unescaped(text.trim())?),
        _ => Datum::from(text.trim()),
    })
}
/// The value of a key: the last one, if json has it twice.
pub(crate) fn field<'a>(text: &'a str, key: &str) -> Result<Option<&'a str>> {
    if !is_object(text) {
        return Ok(None);
    }
    Ok(pairs(text)?.into_iter().rev().find(|(k, _)| k == key).map(|(_, v)| v))
}
fn element(text: &str, index: i64) -> Option<&str> {
    if !is_array(text) {
        return None;
    }
    let items = pieces(text);
    let at = if index < 0 { items.len() as i64 + index } else { index };
    usize::try_from(at).ok().and_then(|i| items.get(i).copied())
}
fn found(value: Option<&str>, text: bool) -> Result<Datum> {
    match value {
        Some(v) if text => as_text(v),
        v => Ok(v.into()),
    }
}
/// The document of a function that takes a part out of it: that goes through all of its strings, whose escapes must be right.
fn document<'c>(c: &Call<'c>) -> Result<&'c str> {
    let text = c.text(0)?;
    if text.contains("\\u") {
        json::parse(text, Flavor::Jsonb)?;
    }
    Ok(text)
}
fn object_field(c: &Call) -> Result<Datum> {
    found(field(document(c)?, c.text(1)?)?, false)
}
fn object_field_text(c: &Call) -> Result<Datum> {
    found(field(document(c)?, c.text(1)?)?, true)
}
fn array_element(c: &Call) -> Result<Datum> {
    found(element(document(c)?, c.int(1)?), false)
}
fn array_element_text(c: &Call) -> Result<Datum> {
    found(element(document(c)?, c.int(1)?), true)
}
/// jsonb keeps a scalar as an array of one, and its operators show that.
fn binary_element(text: &str, index: i64) -> Option<&str> {
    if !is_object(text) && !is_array(text) {
        return (index == 0 || index == -1).then_some(text);
    }
    element(text, index)
}
fn binary_array_element(c: &Call) -> Result<Datum> {
    found(binary_element(c.text(0)?, c.int(1)?), false)
}
fn binary_array_element_text(c: &Call) -> Result<Datum> {
    found(binary_element(c.text(0)?, c.int(1)?), true)
}
fn at_path(mut text: &str, steps: Vec<Option<String>>) -> Result<Option<&str>> {
    for step in steps {
        work::pulse(1);
        let Some(step) = step else { return Ok(None) };
        let next = if is_object(text) {
            field(text, &step)?
        } else {
            step.trim_start().parse().ok().and_then(|i: i32| element(text, i as i64))
        };
        match next {
            Some(next) => text = next,
            None => return Ok(None),
        }
    }
    Ok(Some(text))
}
/// The whole document, where a path has no steps: PostgreSQL keeps the blanks before a scalar, and no others.
fn whole(text: &str) -> &str {
    let text = text.trim_end();
    match text.trim_start() {
        bare if bare.starts_with(['{', '[']) => bare,
        _ => text,
    }
}
fn extract_path(c: &Call) -> Result<Datum> {
    let (text, steps) = (document(c)?, text_array(c.text(1)?)?);
    match steps.is_empty() {
        true => Ok(Datum::from(whole(text))),
        false => found(at_path(text, steps)?, false),
    }
}
fn extract_path_text(c: &Call) -> Result<Datum> {
    let (text, steps) = (document(c)?, text_array(c.text(1)?)?);
    let is_taken_apart = matches!(text.trim_start().as_bytes().first(), Some(b'"' | b'n'));
    match steps.is_empty() && !is_taken_apart {
        true => Ok(Datum::from(whole(text))),
        false => found(at_path(text, steps)?, true),
    }
}
fn type_of(c: &Call) -> Result<Datum> {
    Ok(Datum::from(match c.text(0)?.trim_start().as_bytes().first() {
        Some(b'{') => "object",
        Some(b'[') => "array",
        Some(b'"') => "string",
        Some(b't' | b'f') => "boolean",
        Some(b'n') => "null",
        _ => "number",
    }))
}
fn array_length(c: &Call) -> Result<Datum> {
    let text = c.text(0)?;
    if !is_array(text) {
        let what = if is_object(text) { "a non-array" } else { "a scalar" };
        return Err(invalid_parameter(format!("cannot get array length of {what}")));
    }
    Ok(Datum::Int(pieces(text).len() as i64))
}

// --- rows ------------------------------------------------------------------------------------------------------------

fn rows(items: Vec<Datum>) -> Result<Datum> {
    Ok(Array::from_elements(items).to_datum())
}
fn object_keys(c: &Call, name: &str) -> Result<Datum> {
    let text = c.text(0)?;
    if !is_object(text) {
        let what = if is_array(text) { "an array" } else { "a scalar" };
        return Err(invalid_parameter(format!("cannot call {name} on {what}")));
    }
    rows(pairs(text)?.into_iter().map(|(k, _)| Datum::Text(k)).collect())
}
fn json_keys(c: &Call) -> Result<Datum> {
    object_keys(c, "json_object_keys")
}
fn jsonb_keys(c: &Call) -> Result<Datum> {
    object_keys(c, "jsonb_object_keys")
}
fn elements(c: &Call, binary: bool, text: bool) -> Result<Datum> {
    let value = c.text(0)?;
    if !is_array(value) {
        let name = match (binary, text) {
            (false, false) => "json_array_elements",
            (false, true) => "json_array_elements_text",
            (true, _) => "",
        };
        return Err(invalid_parameter(match (binary, is_object(value)) {
            (true, true) => "cannot extract elements from an object".to_string(),
            (true, false) => "cannot extract elements from a scalar".to_string(),
            (false, true) => format!("cannot call {name} on a non-array"),
            (false, false) => format!("cannot call {name} on a scalar"),
        }));
    }
    rows(pieces(value).into_iter().map(|v| found(Some(v), text)).collect::<Result<_>>()?)
}
fn json_elements(c: &Call) -> Result<Datum> {
    elements(c, false, false)
}
fn json_elements_text(c: &Call) -> Result<Datum> {
    elements(c, false, true)
}
fn jsonb_elements(c: &Call) -> Result<Datum> {
    elements(c, true, false)
}
fn jsonb_elements_text(c: &Call) -> Result<Datum> {
    elements(c, true, true)
}
/// Rows of [key, value]. `name`: how the error names the function where there is no object.
fn each(c: &Call, binary_name: Option<&str>, text: bool) -> Result<Datum> {
    let value = c.text(0)?;
    if !is_object(value) {
        return Err(invalid_parameter(match binary_name {
            Some(name) => format!("cannot call {name} on a non-object"),
            None if is_array(value) => "cannot deconstruct an array as an object".into(),
            None => "cannot deconstruct a scalar".into(),
        }));
    }
    let mut out = String::from("[");
    for (i, (key, value)) in pairs(value)?.into_iter().enumerate() {
        work::pulse(1);
        if i > 0 {
            out.push(',');
        }
        out += &Array::from_elements(vec![Datum::Text(key), found(Some(value), text)?]).to_storage();
    }
    Ok(Datum::Text(out + "]"))
}

// --- jsonb: trees ----------------------------------------------------------------------------------------------------

pub(crate) fn tree(text: &str) -> Result<Json> {
    json::parse(text, Flavor::Jsonb)
}
pub(crate) fn stored(value: &Json) -> Result<Datum> {
    Ok(Datum::Text(value.to_text()))
}
fn contains(outer: &Json, inner: &Json, top: bool) -> bool {
    match (outer, inner) {
        (Json::Object(_), Json::Object(pairs)) => {
            pairs.iter().all(|(k, v)| outer.get(k).is_some_and(|o| contains(o, v, false)))
        }
        (Json::Array(items), Json::Array(wanted)) => wanted.iter().all(|w| items.iter().any(|i| contains(i, w, false))),
        // At the top an array contains a scalar of its own.
        (Json::Array(items), scalar) if top && !matches!(scalar, Json::Object(_)) => items.iter().any(|i| i == scalar),
        (Json::Object(_) | Json::Array(_), _) | (_, Json::Object(_) | Json::Array(_)) => false,
        (a, b) => a == b,
    }
}
fn jsonb_contains(c: &Call) -> Result<Datum> {
    Ok(Datum::from(contains(&tree(c.text(0)?)?, &tree(c.text(1)?)?, true)))
}
fn jsonb_contained(c: &Call) -> Result<Datum> {
    Ok(Datum::from(contains(&tree(c.text(1)?)?, &tree(c.text(0)?)?, true)))
}
fn has(value: &Json, key: &str) -> bool {
    match value {
        Json::Object(_) => value.get(key).is_some(),
        Json::Array(items) => items.iter().any(|i| matches!(i, Json::String(s) if s == key)),
        Json::String(s) => s == key,
        _ => false,
    }
}
fn exists(c: &Call) -> Result<Datum> {
    Ok(Datum::from(has(&tree(c.text(0)?)?, c.text(1)?)))
}
fn exists_any(c: &Call) -> Result<Datum> {
    let value = tree(c.text(0)?)?;
    Ok(Datum::from(text_array(c.text(1)?)?.iter().flatten().any(|k| has(&value, k))))
}
fn exists_all(c: &Call) -> Result<Datum> {
    let value = tree(c.text(0)?)?;
    Ok(Datum::from(text_array(c.text(1)?)?.iter().flatten().all(|k| has(&value, k))))
}
fn concat(c: &Call) -> Result<Datum> {
    stored(&match (tree(c.text(0)?)?, tree(c.text(1)?)?) {
        (Json::Object(a), Json::Object(b)) => Json::object(a.into_iter().chain(b).collect()),
        (Json::Array(a), Json::Array(b)) => Json::Array(a.into_iter().chain(b).collect()),
        (Json::Array(mut a), b) => {
            a.push(b);
            Json::Array(a)
        }
        (a, Json::Array(b)) => Json::Array(std::iter::once(a).chain(b).collect()),
        (a @ Json::Object(_), b) | (a, b @ Json::Object(_)) => Json::Array(vec![a, b]),
        (a, b) => Json::Array(vec![a, b]),
    })
}
fn no_delete(what: &str) -> PgError {
    invalid_parameter(format!("cannot delete {what}"))
}
fn without(value: Json, keys: &[String]) -> Result<Json> {
    Ok(match value {
        Json::Object(pairs) => Json::Object(pairs.into_iter().filter(|(k, _)| !keys.contains(k)).collect()),
        Json::Array(items) => {
            Json::Array(items.into_iter().filter(|i| !matches!(i, Json::String(s) if keys.contains(s))).collect())
        }
        _ => return Err(no_delete("from scalar")),
    })
}
fn delete(c: &Call) -> Result<Datum> {
    stored(&without(tree(c.text(0)?)?, &[c.text(1)?.to_string()])?)
}
fn delete_many(c: &Call) -> Result<Datum> {
    if untyped(c.text(1)?)?.dimensions.len() > 1 {
        return Err(PgError::new(SqlState::ARRAY_SUBSCRIPT_ERROR, "wrong number of array subscripts"));
    }
    let keys: Vec<String> = text_array(c.text(1)?)?.into_iter().flatten().collect();
    stored(&without(tree(c.text(0)?)?, &keys)?)
}
fn delete_index(c: &Call) -> Result<Datum> {
    match tree(c.text(0)?)? {
        Json::Array(mut items) => {
            let i = c.int(1)?;
            let at = if i < 0 { items.len() as i64 + i } else { i };
            if let Some(at) = usize::try_from(at).ok().filter(|at| *at < items.len()) {
                items.remove(at);
            }
            stored(&Json::Array(items))
        }
        Json::Object(_) => Err(no_delete("from object using integer index")),
        _ => Err(no_delete("from scalar")),
    }
}

/// What happens at the end of a path.
#[derive(Clone, Copy)]
enum Change<'a> {
    Delete,
    Set { new: &'a Json, create: bool },
    Insert { new: &'a Json, after: bool },
}
fn change(value: Json, path: &[Option<String>], depth: usize, how: Change) -> Result<Json> {
    let Some(step) = path.get(depth) else { return Ok(value) };
    let step = step.as_ref().ok_or_else(|| {
        PgError::new(SqlState::NULL_VALUE_NOT_ALLOWED, format!("path element at position {} is null", depth + 1))
    })?;
    let last = depth + 1 == path.len();
    match value {
        Json::Object(mut pairs) => {
            let at = pairs.iter().position(|(k, _)| k == step);
            match (at, last) {
                (Some(i), false) => {
                    let inner = std::mem::replace(&mut pairs[i].1, Json::Null);
                    pairs[i].1 = change(inner, path, depth + 1, how)?;
                }
                (Some(i), true) => match how {
                    Change::Delete => {
                        pairs.remove(i);
                    }
                    Change::Set { new, .. } => pairs[i].1 = new.clone(),
                    Change::Insert { .. } => {
                        return Err(invalid_parameter("cannot replace existing key")
                            .hint("Try using the function jsonb_set to replace key value."))
                    }
                },
                (None, true) => match how {
                    Change::Set { new, create: true } | Change::Insert { new, .. } => {
                        pairs.push((step.clone(), new.clone()));
                    }
                    _ => {}
                },
                (None, false) => {}
            }
            Ok(Json::object(pairs))
        }
        Json::Array(mut items) => {
            let index: i32 = step.trim_start().parse().map_err(|_| {
                PgError::new(
                    SqlState::INVALID_TEXT_REPRESENTATION,
                    format!("path element at position {} is not an integer: \"{step}\"", depth + 1),
                )
            })?;
            let n = items.len() as i64;
            let at = if index < 0 { n + index as i64 } else { index as i64 };
            if (0..n).contains(&at) {
                let i = at as usize;
                if !last {
                    let inner = std::mem::replace(&mut items[i], Json::Null);
                    items[i] = change(inner, path, depth + 1, how)?;
                } else {
                    match how {
                        Change::Delete => {
                            items.remove(i);
                        }
                        Change::Set { new, .. } => items[i] = new.clone(),
                        Change::Insert { new, after } => items.insert(i + usize::from(after), new.clone()),
                    }
                }
            } else if last {
                match how {
                    Change::Set { new, create: true } | Change::Insert { new, .. } if at < 0 => {
                        items.insert(0, new.clone());
                    }
                    Change::Set { new, create: true } | Change::Insert { new, .. } => items.push(new.clone()),
                    _ => {}
                }
            }
            Ok(Json::Array(items))
        }
        scalar => Ok(scalar),
    }
}
fn changed(c: &Call, scalar: &str, how: Change) -> Result<Datum> {
    let path = c.text(1)?;
    if path.starts_with("[[") {
        return Err(PgError::new(SqlState::ARRAY_SUBSCRIPT_ERROR, "wrong number of array subscripts"));
    }
    let value = tree(c.text(0)?)?;
    if !matches!(value, Json::Object(_) | Json::Array(_)) {
        return Err(invalid_parameter(scalar));
    }
    // Where nothing can be created, an empty value stays as it is.
    let empty = match &value {
        Json::Object(pairs) => pairs.is_empty(),
        Json::Array(items) => items.is_empty(),
        _ => false,
    };
    if empty && matches!(how, Change::Delete | Change::Set { create: false, .. }) {
        return stored(&value);
    }
    stored(&change(value, &text_array(path)?, 0, how)?)
}
fn delete_path(c: &Call) -> Result<Datum> {
    changed(c, "cannot delete path in scalar", Change::Delete)
}
fn set(c: &Call) -> Result<Datum> {
    changed(c, "cannot set path in scalar", Change::Set { new: &tree(c.text(2)?)?, create: c.bool(3)? })
}
fn insert(c: &Call) -> Result<Datum> {
    changed(c, "cannot set path in scalar", Change::Insert { new: &tree(c.text(2)?)?, after: c.bool(3)? })
}
fn pretty_into(value: &Json, indent: usize, out: &mut String) {
    let pad = "    ".repeat(indent + 1);
    let (open, close, items): (_, _, Vec<(Option<&str>, &Json)>) = match value {
        Json::Array(items) => ('[', ']', items.iter().map(|i| (None, i)).collect()),
        Json::Object(pairs) => ('{', '}', pairs.iter().map(|(k, v)| (Some(k.as_str()), v)).collect()),
        scalar => return out.push_str(&scalar.to_text()),
    };
    out.push(open);
    for (i, (key, item)) in items.iter().enumerate() {
        work::pulse(1);
        out.push_str(if i > 0 { ",\n" } else { "\n" });
        out.push_str(&pad);
        if let Some(key) = key {
            out.push_str(&Json::String(key.to_string()).to_text());
            out.push_str(": ");
        }
        pretty_into(item, indent + 1, out);
    }
    out.push('\n');
    out.push_str(&"    ".repeat(indent));
    out.push(close);
}
fn pretty(c: &Call) -> Result<Datum> {
    let mut out = String::new();
    pretty_into(&tree(c.text(0)?)?, 0, &mut out);
    Ok(Datum::Text(out))
}
fn stripped(value: Json, in_arrays: bool) -> Json {
    let stays = |v: &Json| !matches!(v, Json::Null);
    match value {
        Json::Object(pairs) => Json::Object(
            pairs.into_iter().filter(|(_, v)| stays(v)).map(|(k, v)| (k, stripped(v, in_arrays))).collect(),
        ),
        Json::Array(items) => {
            let items = items.into_iter().filter(|v| !in_arrays || stays(v));
            Json::Array(items.map(|v| stripped(v, in_arrays)).collect())
        }
        scalar => scalar,
    }
}
fn strip_nulls(c: &Call) -> Result<Datum> {
    let in_arrays = c.len() > 1 && c.bool(1)?;
    stored(&stripped(tree(c.text(0)?)?, in_arrays))
}
fn no_cast(value: &Json, to: &str) -> PgError {
    let what = match value {
        Json::Number(_) => "numeric",
        other => other.type_name(),
    };
    invalid_parameter(format!("cannot cast jsonb {what} to type {to}"))
}
fn jsonb_bool(c: &Call) -> Result<Datum> {
    match tree(c.text(0)?)? {
        Json::Bool(b) => Ok(Datum::from(b)),
        Json::Null => Ok(Datum::Null),
        other => Err(no_cast(&other, "boolean")),
    }
}
/// A number cast to a type; null becomes NULL.
fn number(c: &Call, to: &str, cast: impl Fn(Numeric) -> Result<Datum>) -> Result<Datum> {
    match tree(c.text(0)?)? {
        Json::Number(n) => cast(n),
        Json::Null => Ok(Datum::Null),
        other => Err(no_cast(&other, to)),
    }
}
fn jsonb_int2(c: &Call) -> Result<Datum> {
    number(c, "smallint", |n| n.to_int(Width::Two).map(Datum::Int))
}
fn jsonb_int4(c: &Call) -> Result<Datum> {
    number(c, "integer", |n| n.to_int(Width::Four).map(Datum::Int))
}
fn jsonb_int8(c: &Call) -> Result<Datum> {
    number(c, "bigint", |n| n.to_int(Width::Eight).map(Datum::Int))
}
fn jsonb_numeric(c: &Call) -> Result<Datum> {
    number(c, "numeric", |n| Ok(n.to_datum()))
}
fn jsonb_float4(c: &Call) -> Result<Datum> {
    number(c, "real", |n| n.to_float(true).map(float::to_datum))
}
fn jsonb_float8(c: &Call) -> Result<Datum> {
    number(c, "double precision", |n| n.to_float(false).map(float::to_datum))
}

/// A value of type json written without blanks, its members in their order: `nulls` says whether those that are null stay,
/// `string` what becomes of the strings that are no keys.
pub(crate) fn rewrite(text: &str, nulls: bool, string: &dyn Fn(&str) -> String, out: &mut String) -> Result<()> {
    rewritten(text, (nulls, true), string, out)
}
/// As [`rewrite`]; `nulls`: whether those stay that are members of objects, and those that are elements of arrays.
fn rewritten(text: &str, nulls: (bool, bool), string: &dyn Fn(&str) -> String, out: &mut String) -> Result<()> {
    let is_null = |value: &str| value.trim_matches([' ', '\t', '\n', '\r']) == "null";
    let text = text.trim_matches([' ', '\t', '\n', '\r']);
    if is_object(text) {
        out.push('{');
        let mut first = true;
        for (key, value) in pairs(text)? {
            work::pulse(1);
            if !nulls.0 && is_null(value) {
                continue;
            }
            if !std::mem::take(&mut first) {
                out.push(',');
            }
            super::json_build::quote(&key, out);
            out.push(':');
            rewritten(value, nulls, string, out)?;
        }
        out.push('}');
    } else if is_array(text) {
        out.push('[');
        let items = pieces(text);
        let staying = items.iter().filter(|item| nulls.1 || !is_null(item));
        for (i, item) in staying.enumerate() {
            work::pulse(1);
            if i > 0 {
                out.push(',');
            }
            rewritten(item, nulls, string, out)?;
        }
        out.push(']');
    } else if text.starts_with('"') {
        super::json_build::quote(&string(&unescaped(text)?), out);
    } else {
        out.push_str(text);
    }
    Ok(())
}
/// `json_strip_nulls`: the members that are not null.
fn json_strip_nulls(c: &Call) -> Result<Datum> {
    let mut out = String::new();
    let in_arrays = c.len() > 1 && c.bool(1)?;
    rewritten(c.text(0)?, (false, !in_arrays), &str::to_string, &mut out)?;
    Ok(Datum::Text(out))
}
fn set_lax(c: &Call) -> Result<Datum> {
    if c.is_null(0) || c.is_null(1) || c.is_null(3) {
        return Ok(Datum::Null);
    }
    let wrong = || {
        invalid_parameter(
            "null_value_treatment must be \"delete_key\", \"return_target\", \"use_json_null\", or \"raise_exception\"",
        )
    };
    if c.is_null(4) {
        return Err(wrong());
    }
    if !c.is_null(2) {
        return set(c);
    }
    match c.text(4)? {
        "raise_exception" => Err(PgError::new(SqlState::NULL_VALUE_NOT_ALLOWED, "JSON value must not be null")
            .detail("Exception was raised because null_value_treatment is \"raise_exception\".")
            .hint(
                "To avoid, either change the null_value_treatment argument or ensure that an SQL NULL is not passed.",
            )),
        "use_json_null" => {
            changed(c, "cannot set path in scalar", Change::Set { new: &Json::Null, create: c.bool(3)? })
        }
        "delete_key" => delete_path(c),
        "return_target" => Ok(Datum::from(c.text(0)?)),
        _ => Err(wrong()),
    }
}

pub(crate) const FUNCTIONS: &[(&str, Scalar)] = &[
    ("json_strip_nulls json_strip_nulls_in_arrays", json_strip_nulls),
    ("jsonb_set_lax", set_lax),
    ("json_object_field jsonb_object_field", object_field),
    ("json_object_field_text jsonb_object_field_text", object_field_text),
    ("json_array_element", array_element),
    ("jsonb_array_element", binary_array_element),
    ("json_array_element_text", array_element_text),
    ("jsonb_array_element_text", binary_array_element_text),
    ("json_extract_path jsonb_extract_path", extract_path),
    ("json_extract_path_text jsonb_extract_path_text", extract_path_text),
    ("json_typeof jsonb_typeof", type_of),
    ("json_array_length jsonb_array_length", array_length),
    ("json_object_keys", json_keys),
    ("jsonb_object_keys", jsonb_keys),
    ("json_array_elements", json_elements),
    ("json_array_elements_text", json_elements_text),
    ("jsonb_array_elements", jsonb_elements),
    ("jsonb_array_elements_text", jsonb_elements_text),
    ("json_each", |c| each(c, None, false)),
    ("json_each_text", |c| each(c, None, true)),
    ("jsonb_each", |c| each(c, Some("jsonb_each"), false)),
    ("jsonb_each_text", |c| each(c, Some("jsonb_each_text"), true)),
    ("jsonb_contains", jsonb_contains),
    ("jsonb_contained", jsonb_contained),
    ("jsonb_exists", exists),
    ("jsonb_exists_any", exists_any),
    ("jsonb_exists_all", exists_all),
    ("jsonb_concat", concat),
    ("jsonb_delete", delete),
    ("jsonb_delete_idx", delete_index),
    ("jsonb_delete_array", delete_many),
    ("jsonb_delete_path", delete_path),
    ("jsonb_set", set),
    ("jsonb_insert", insert),
    ("jsonb_pretty", pretty),
    ("jsonb_strip_nulls jsonb_strip_nulls_in_arrays", strip_nulls),
    ("jsonb_bool", jsonb_bool),
    ("jsonb_int2", jsonb_int2),
    ("jsonb_int4", jsonb_int4),
    ("jsonb_int8", jsonb_int8),
    ("jsonb_numeric", jsonb_numeric),
    ("jsonb_float4", jsonb_float4),
    ("jsonb_float8", jsonb_float8),
];
