//! `record` (and composite) values. Stored as TEXT: a JSON array of `[type OID, value]` pairs, values as in arrays.

use crate::array::{length_prefixed, Array};
use crate::codec::{Context, TypeCodec};
use crate::json::{self, Json};
use crate::oid::Oid;
use crate::write::{bad_stored, is_space};
use crate::{Datum, DatumRef, PgError, Result};

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
        if i > 0 {
            out.push(',');
        }
        let value = Array::from_elements(vec![value.clone()]).to_storage();
        out.push_str(&format!("[{oid},{}]", &value[1..value.len() - 1]));
    }
    out.push(']');
    out
}

/// Reads a storage form; None for anything else.
pub fn from_storage(text: &str) -> Option<Vec<Field>> {
    let Json::Array(pairs) = json::parse(text, json::Flavor::Json).ok()? else { return None };
    pairs
        .into_iter()
        .map(|pair| {
            let Json::Array(pair) = pair else { return None };
            let [Json::Number(oid), value] = pair.as_slice() else { return None };
            let oid = Oid::try_from(oid.to_i64().ok()?).ok()?;
            let value = match value {
                Json::Null => Datum::Null,
                Json::Bool(b) => Datum::from(*b),
                Json::String(s) => match oid {
                    crate::oid::BYTEA => Datum::Blob(crate::bytea::parse(s).ok()?),
                    crate::oid::FLOAT4 | crate::oid::FLOAT8 if s != crate::float::NAN => Datum::Real(s.parse().ok()?),
                    _ => Datum::Text(s.clone()),
                },
                Json::Number(n) if matches!(oid, crate::oid::FLOAT4 | crate::oid::FLOAT8) => Datum::Real(n.to_f64()),
                Json::Number(n) => match n.to_i64() {
                    Ok(i) if n.scale() == Some(0) => Datum::Int(i),
                    _ => Datum::Text(n.to_string()),
                },
                Json::Array(_) | Json::Object(_) => return None,
            };
            Some((oid, value))
        })
        .collect()
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
        out.extend_from_slice(&oid.to_be_bytes());
        length_prefixed(value, &field_codec(*oid, Some(context.names))?, context, out)?;
    }
    Ok(())
}

/// `record` has no input of its own: PostgreSQL refuses it too.
pub(crate) fn input() -> PgError {
    PgError::new(crate::SqlState::FEATURE_NOT_SUPPORTED, "input of anonymous composite types is not implemented")
}

/// Field by field, NULLs last; the shorter record first.
pub fn compare(a: &str, b: &str) -> std::cmp::Ordering {
    use std::cmp::Ordering;
    let (Some(x), Some(y)) = (from_storage(a), from_storage(b)) else { return a.cmp(b) };
    for ((oid, p), (_, q)) in x.iter().zip(&y) {
        let order = match (p.is_null(), q.is_null()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Greater,
            (false, true) => Ordering::Less,
            (false, false) => match TypeCodec::builtin(*oid) {
                Some(codec) => codec.compare_storage(p.as_ref(), q.as_ref()),
                None => crate::compare::storage_classes(p.as_ref(), q.as_ref()),
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
    use crate::codec::RegNames;
    use crate::{oid, Settings};

    struct NoNames;
    impl RegNames for NoNames {
        fn reg_name(&self, _: Oid, _: Oid) -> Option<String> {
            None
        }
        fn reg_oid(&self, _: Oid, name: &str) -> Result<Oid> {
            Err(PgError::not_supported(name))
        }
        fn codec(&self, _: Oid) -> Option<TypeCodec> {
            None
        }
    }

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
        crate::write::hex(&mut hex, &out);
        let expected = "0000000b000000170000000400000001000000190000000361206200000017ffffffff00000019000000000000\
            06a40000000c000200000000000200011388000000100000000101000003ef000000240000000100000000000000170000000200000\
            0010000000400000001000000040000000200000019000000057822795c7a0000001900000003282c29000002bd000000083ff80000\
            0000000000000011000000024142";
        assert_eq!(String::from_utf8_lossy(&hex), expected);
    }
}
