//! `record` (and composite) values. Stored as TEXT: a JSON array of `[type OID, value]` pairs, values as in arrays. A row of a
//! query, whose type has no name, has its columns' names as a third item.

use crate::array::{length_prefixed, Array, StoredText};
use crate::buffer::{bad_stored, is_space};
use crate::codec::{CompositeType, Context, TypeCodec};
use crate::json::{self, Json};
use crate::numeric::Numeric;
use crate::oid::Oid;
use crate::{work, Datum, DatumRef, PgError, Result};

/// The codec of a field's type.
fn field_codec(oid: Oid, names: Option<&dyn crate::codec::RegNames>) -> Result<TypeCodec> {
    TypeCodec::builtin(oid)
        .or_else(|| names.and_then(|n| n.codec(oid)))
        .ok_or_else(|| PgError::not_supported(format!("a record with a field of type {oid}")))
}

/// One field: its type's OID and its value in storage form.
pub type Field = (Oid, Datum);

/// The storage form of a record.
pub fn to_storage(fields: &[Field]) -> String {
    let mut out = String::from("[");
    for (i, (oid, value)) in fields.iter().enumerate() {
        work::pulse(1);
        if i > 0 {
            out.push(',');
        }
        let value = Array::from_elements(vec![value.clone()]).to_storage();
        out.push_str(&format!("[{oid},{}]", &value[1..value.len() - 1]));
    }
    out.push(']');
    out
}

/// The storage form of a record whose fields have names.
pub fn named_to_storage(fields: &[(String, Field)]) -> String {
    let mut out = String::from("[");
    for (i, (name, (oid, value))) in fields.iter().enumerate() {
        work::pulse(1);
        if i > 0 {
            out.push(',');
        }
        let pair = Array::from_elements(vec![value.clone(), Datum::Text(name.clone())]).to_storage();
        out.push_str(&format!("[{oid},{}]", &pair[1..pair.len() - 1]));
    }
    out.push(']');
    out
}

/// The names of a stored record's fields, if it has them.
pub fn names(text: &str) -> Option<Vec<String>> {
    let Json::Array(fields) = json::parse(text, json::Flavor::Json).ok()? else { return None };
    fields
        .into_iter()
        .map(|field| match field {
            Json::Array(items) => match items.into_iter().nth(2) {
                Some(Json::String(name)) => Some(name),
                _ => None,
            },
            _ => None,
        })
        .collect()
}

/// Reads a storage form; None for anything else.
pub fn from_storage(text: &str) -> Option<Vec<Field>> {
    let mut text = StoredText::new(text);
    let mut fields = Vec::new();
    if !text.takes(b'[') {
        return None;
    }
    if !text.takes(b']') {
        loop {
            work::pulse(1);
            fields.push(stored_field(&mut text)?);
            if text.takes(b']') {
                break;
            }
            if !text.takes(b',') {
                return None;
            }
        }
    }
    text.is_read().then_some(fields)
}

/// Reads `[OID, value]` or `[OID, value, name]`.
fn stored_field(text: &mut StoredText) -> Option<Field> {
    if !text.takes(b'[') {
        return None;
    }
    work::pulse(4);
    let oid: Oid = text.word()?.parse().ok()?;
    if !text.takes(b',') {
        return None;
    }
    let is_float = matches!(oid, crate::oid::FLOAT4 | crate::oid::FLOAT8);
    let value = if text.peek()? == b'"' {
        let string = text.string()?;
        match oid {
            ty if crate::catalog::is_blob(ty) => Datum::Blob(crate::bytea::parse(&string).ok()?),
            _ if is_float && string != crate::float::NAN => Datum::Real(string.parse().ok()?),
            _ => Datum::Text(string),
        }
    } else {
        match text.word()? {
            "null" => Datum::Null,
            "true" => Datum::Int(1),
            "false" => Datum::Int(0),
            // (of a negative zero the sign is kept)
            word if is_float => Datum::Real(word.parse().ok()?),
            word => match word.parse() {
                Ok(i) => Datum::Int(i),
                Err(_) => Datum::Text(Numeric::from_text(word).ok()?.to_string()),
            },
        }
    };
    if text.takes(b',') {
        (text.peek()? == b'"').then(|| text.string())??;
    }
    text.takes(b']').then_some((oid, value))
}

fn stored(value: DatumRef) -> Result<Vec<Field>> {
    match value {
        DatumRef::Text(t) => from_storage(t),
        _ => None,
    }
    .ok_or_else(|| bad_stored("record", value))
}

/// `(a,"b c",)`: NULL is empty, the empty text `""`.
pub(crate) fn text_out(value: DatumRef, context: &Context, out: &mut Vec<u8>) -> Result<()> {
    let mut scratch = Vec::new();
    out.push(b'(');
    for (i, (oid, value)) in stored(value)?.iter().enumerate() {
        work::pulse(1);
        if i > 0 {
            out.push(b',');
        }
        if value.is_null() {
            continue;
        }
        scratch.clear();
        field_codec(*oid, Some(context.names))?.text_out(value.as_ref(), context, &mut scratch)?;
        let quote = scratch.is_empty()
            || scratch.iter().any(|b| matches!(b, b'"' | b'\\' | b'(' | b')' | b',') || is_space(*b));
        if quote {
            out.push(b'"');
        }
        for b in &scratch {
            work::pulse(1);
            if matches!(b, b'"' | b'\\') {
                out.push(*b);
            }
            out.push(*b);
        }
        if quote {
            out.push(b'"');
        }
    }
    out.push(b')');
    Ok(())
}

pub(crate) fn binary_out(value: DatumRef, context: &Context, out: &mut Vec<u8>) -> Result<()> {
    let fields = stored(value)?;
    out.extend_from_slice(&(fields.len() as i32).to_be_bytes());
    for (oid, value) in &fields {
        work::pulse(1);
        out.extend_from_slice(&oid.to_be_bytes());
        length_prefixed(value, &field_codec(*oid, Some(context.names))?, context, out)?;
    }
    Ok(())
}

/// `record` has no input of its own: PostgreSQL refuses it too.
pub(crate) fn input() -> PgError {
    PgError::new(crate::SqlState::FEATURE_NOT_SUPPORTED, "input of anonymous composite types is not implemented")
}

fn malformed(text: &str, detail: &str) -> PgError {
    PgError::new(crate::SqlState::INVALID_TEXT_REPRESENTATION, format!("malformed record literal: \"{text}\""))
        .detail(detail)
}

/// `(a,"b c",)` as a composite type.
pub(crate) fn text_in(text: &str, t: &CompositeType, context: &Context) -> Result<Datum> {
    let inner = text.trim_matches(|c: char| c.is_ascii() && is_space(c as u8));
    let Some(inner) = inner.strip_prefix('(') else {
        return Err(malformed(text, "Missing left parenthesis."));
    };
    // each item: its text, and whether it is there at all (an empty unquoted one is NULL)
    let mut items: Vec<Option<String>> = Vec::new();
    let mut chars = inner.chars();
    let mut item = String::new();
    let (mut quoted, mut seen) = (false, false);
    let closed = loop {
        let Some(c) = chars.next() else { break false };
        match c {
            '\\' => match chars.next() {
                Some(next) => {
                    item.push(next);
                    seen = true;
                }
                None => break false,
            },
            '"' if quoted => {
                // a doubled quote inside quotes is one
                if chars.clone().next() == Some('"') {
                    chars.next();
                    item.push('"');
                } else {
                    quoted = false;
                }
            }
            '"' => {
                quoted = true;
                seen = true;
            }
            ',' | ')' if !quoted => {
                let text = std::mem::take(&mut item);
                items.push((seen || !text.is_empty()).then_some(text));
                seen = false;
                if c == ')' {
                    break true;
                }
            }
            other => item.push(other),
        }
    };
    if !closed {
        return Err(malformed(text, "Unexpected end of input."));
    }
    if chars.any(|c| !(c.is_ascii() && is_space(c as u8))) {
        return Err(malformed(text, "Junk after right parenthesis."));
    }
    if t.fields.is_empty() && items == [None] {
        items.clear();
    }
    if items.len() < t.fields.len() {
        return Err(malformed(text, "Too few columns."));
    }
    if items.len() > t.fields.len() {
        return Err(malformed(text, "Too many columns."));
    }
    let fields = items
        .into_iter()
        .zip(&t.fields)
        .map(|(item, (oid, typmod))| {
            let value = match item {
                Some(text) => field_codec(*oid, Some(context.names))?.text_in(&text, *typmod, context)?,
                None => Datum::Null,
            };
            Ok((*oid, value))
        })
        .collect::<Result<Vec<Field>>>()?;
    Ok(Datum::Text(to_storage(&fields)))
}

/// The binary form: the number of fields, then of each its type, length and bytes.
pub(crate) fn binary_in(bytes: &[u8], t: &CompositeType, context: &Context) -> Result<Datum> {
    let short = || PgError::new(crate::SqlState::INVALID_BINARY_REPRESENTATION, "insufficient data left in message");
    let mut rest = bytes;
    let word = |rest: &mut &[u8]| -> Result<i32> {
        let (head, tail) = rest.split_first_chunk::<4>().ok_or_else(short)?;
        *rest = tail;
        Ok(i32::from_be_bytes(*head))
    };
    let count = word(&mut rest)?;
    if usize::try_from(count).ok() != Some(t.fields.len()) {
        return Err(PgError::new(
            crate::SqlState::DATATYPE_MISMATCH,
            format!("wrong number of columns: {count}, expected {}", t.fields.len()),
        ));
    }
    let mut fields = Vec::new();
    for (i, (oid, typmod)) in t.fields.iter().enumerate() {
        work::pulse(1);
        let given = word(&mut rest)? as u32;
        // as with arrays: numbers of generated types differ between databases
        if given != *oid && given < crate::oid::FIRST_GENERATED_OID && *oid < crate::oid::FIRST_GENERATED_OID {
            let name = |oid: Oid| crate::typmod::type_name(oid).unwrap_or_else(|| oid.to_string());
            return Err(PgError::new(
                crate::SqlState::DATATYPE_MISMATCH,
                format!(
                    "binary data has type {given} ({}) instead of expected {oid} ({}) in record column {}",
                    name(given),
                    name(*oid),
                    i + 1
                ),
            ));
        }
        let length = word(&mut rest)?;
        let value = match usize::try_from(length) {
            Err(_) if length == -1 => Datum::Null,
            Err(_) => return Err(short()),
            Ok(n) if n > rest.len() => return Err(short()),
            Ok(n) => {
                let (value, tail) = rest.split_at(n);
                rest = tail;
                field_codec(*oid, Some(context.names))?.binary_in(value, *typmod, context)?
            }
        };
        fields.push((*oid, value));
    }
    Ok(Datum::Text(to_storage(&fields)))
}

/// Field by field, NULLs last; the shorter record first. `of_user` gives the codec of a field (its place, its type) whose type is
/// none of PostgreSQL's own; without one such fields compare by their stored values.
pub fn compare(a: &str, b: &str, of_user: &dyn Fn(usize, Oid) -> Option<TypeCodec>) -> std::cmp::Ordering {
    use std::cmp::Ordering;
    let (Some(x), Some(y)) = (from_storage(a), from_storage(b)) else { return a.cmp(b) };
    for (i, ((oid, p), (_, q))) in x.iter().zip(&y).enumerate() {
        work::pulse(1);
        let order = match (p.is_null(), q.is_null()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Greater,
            (false, true) => Ordering::Less,
            (false, false) => match TypeCodec::builtin(*oid).or_else(|| of_user(i, *oid)) {
                Some(codec) => codec.compare_storage(p.as_ref(), q.as_ref()),
                None => crate::datum::storage_classes(p.as_ref(), q.as_ref()),
            },
        };
        if order != Ordering::Equal {
            return order;
        }
    }
    x.len().cmp(&y.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::NoNames;
    use crate::{oid, Settings};

    /// `row(1, 'a b'::text, NULL::int, ''::text, 1.50::numeric, true, array[1,2], 'x"y\z'::text, '(,)'::text,
    /// 1.5::float8, '\x4142'::bytea)` as PostgreSQL prints and sends it.
    #[test]
    fn a_row_of_many_types() {
        let text = |t: &str| Datum::from(t);
        let stored = to_storage(&[
            (oid::INT4, Datum::Int(1)),
            (oid::TEXT, text("a b")),
            (oid::INT4, Datum::Null),
            (oid::TEXT, text("")),
            (oid::NUMERIC, text("1.50")),
            (oid::BOOL, Datum::Int(1)),
            (oid::INT4_ARRAY, text("[1,2]")),
            (oid::TEXT, text("x\"y\\z")),
            (oid::TEXT, text("(,)")),
            (oid::FLOAT8, Datum::Real(1.5)),
            (oid::BYTEA, Datum::Blob(b"AB".to_vec())),
        ]);
        let settings = Settings::default();
        let context = Context { settings: &settings, names: &NoNames };
        let mut out = Vec::new();
        TypeCodec::Record.text_out(DatumRef::Text(&stored), &context, &mut out).expect("text");
        let expected = r#"(1,"a b",,"",1.50,t,"{1,2}","x""y\\z","(,)",1.5,"\\x4142")"#;
        assert_eq!(String::from_utf8_lossy(&out), expected);
        out.clear();
        TypeCodec::Record.binary_out(DatumRef::Text(&stored), &context, &mut out).expect("binary");
        let mut hex = Vec::new();
        crate::buffer::hex(&mut hex, &out);
        let expected = "0000000b000000170000000400000001000000190000000361206200000017ffffffff00000019000000000000\
            06a40000000c000200000000000200011388000000100000000101000003ef000000240000000100000000000000170000000200000\
            0010000000400000001000000040000000200000019000000057822795c7a0000001900000003282c29000002bd000000083ff80000\
            0000000000000011000000024142";
        assert_eq!(String::from_utf8_lossy(&hex), expected);
    }
}
