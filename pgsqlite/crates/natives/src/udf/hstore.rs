//! hstore: the functions of sets of pairs.

use super::json_build::quote;
use super::shim::{Call, Scalar};
use super::support::text_of;
use pgsqlite_sql::catalog::TypeEntry;
use pgsqlite_types::array::Array;
use pgsqlite_types::codec::TypeCodec;
use pgsqlite_types::extension::hstore::{null_key, Hstore};
use pgsqlite_types::work;
use pgsqlite_types::{record, Datum, DatumRef, Oid, PgError, Result, SqlState};

fn hstore(c: &Call, i: usize) -> Result<Hstore> {
    Hstore::parse(c.text(i)?)
}

fn array(c: &Call, i: usize) -> Result<Array> {
    Array::from_storage(c.text(i)?, &TypeCodec::Text).ok_or_else(|| PgError::corrupted("a stored array is malformed"))
}

/// The keys that an array names; NULLs name none.
fn keys(c: &Call, i: usize) -> Result<Vec<String>> {
    Ok(array(c, i)?.elements.into_iter().filter_map(text).collect())
}

fn text(datum: Datum) -> Option<String> {
    match datum {
        Datum::Text(t) => Some(t),
        _ => None,
    }
}

fn datum(value: Option<String>) -> Datum {
    value.map_or(Datum::Null, Datum::Text)
}

fn elements(elements: impl Iterator<Item = Datum>) -> Datum {
    Array::from_elements(elements.collect()).to_datum()
}

fn wrong_array(message: &str) -> PgError {
    PgError::new(SqlState::ARRAY_SUBSCRIPT_ERROR, message)
}

// --- making --------------------------------------------------------------------------------------------------------------

fn from_text(c: &Call) -> Result<Datum> {
    if c.is_null(0) {
        return Ok(Datum::Null);
    }
    let value = if c.is_null(1) { None } else { Some(c.text(1)?.to_string()) };
    Ok(Hstore::new(vec![(c.text(0)?.to_string(), value)]).to_datum())
}

fn from_array(c: &Call) -> Result<Datum> {
    let array = array(c, 0)?;
    match array.dimensions[..] {
        [] => {}
        [n] if n % 2 == 0 => {}
        [_] => return Err(wrong_array("array must have even number of elements")),
        [_, 2] => {}
        [_, _] => return Err(wrong_array("array must have two columns")),
        _ => return Err(wrong_array("wrong number of array subscripts")),
    }
    let mut pairs = Vec::new();
    let mut all = array.elements.into_iter();
    while let (Some(key), Some(value)) = (all.next(), all.next()) {
        work::pulse(1);
        pairs.push((text(key).ok_or_else(null_key)?, text(value)));
    }
    Ok(Hstore::new(pairs).to_datum())
}

fn from_arrays(c: &Call) -> Result<Datum> {
    if c.is_null(0) {
        return Ok(Datum::Null);
    }
    let keys = array(c, 0)?;
    let values = if c.is_null(1) { None } else { Some(array(c, 1)?) };
    if keys.dimensions.len() > 1 || values.as_ref().is_some_and(|v| v.dimensions.len() > 1) {
        return Err(wrong_array("wrong number of array subscripts"));
    }
    if values.as_ref().is_some_and(|v| v.dimensions != keys.dimensions) {
        return Err(wrong_array("arrays must have same bounds"));
    }
    let mut values = values.map_or_else(|| vec![Datum::Null; keys.elements.len()], |v| v.elements).into_iter();
    let mut pairs = Vec::new();
    for key in keys.elements {
        work::pulse(1);
        pairs.push((text(key).ok_or_else(null_key)?, values.next().and_then(text)));
    }
    Ok(Hstore::new(pairs).to_datum())
}

/// The names and types of a composite type's fields; None for other types.
fn fields_of(c: &Call, ty: Oid) -> Option<Vec<(String, Oid, i32)>> {
    c.session.state().catalog.composite_fields(ty)
}

/// (types, record)
fn from_record(c: &Call) -> Result<Datum> {
    let ty = c.types()?.args[0];
    let columns = fields_of(c, ty);
    if c.is_null(1) {
        // a NULL of a row type has its fields, all of them NULL
        return Ok(match columns {
            Some(columns) => Hstore::new(columns.into_iter().map(|(name, ..)| (name, None)).collect()).to_datum(),
            None => Datum::Null,
        });
    }
    let stored = c.text(1)?;
    let fields = record::from_storage(stored).ok_or_else(|| PgError::corrupted("a stored record is malformed"))?;
    let names: Option<Vec<String>> = match c.session.state().catalog.type_entry(ty) {
        Some(TypeEntry::Builtin(_)) | None => record::names(stored),
        _ => columns.map(|columns| columns.into_iter().map(|(name, ..)| name).collect()),
    };
    let mut pairs = Vec::new();
    for (i, (field_type, value)) in fields.iter().enumerate() {
        work::pulse(1);
        let name = names.as_ref().and_then(|n| n.get(i)).cloned().unwrap_or_else(|| format!("f{}", i + 1));
        let value = match value.is_null() {
            true => None,
            false => Some(text_of(c.session, *field_type, value.as_ref())?),
        };
        pairs.push((name, value));
    }
    Ok(Hstore::new(pairs).to_datum())
}

/// (types, record, hstore): the record with the values of the keys that are names of its fields.
fn populate_record(c: &Call) -> Result<Datum> {
    let ty = c.types()?.args[0];
    let Some(columns) = fields_of(c, ty) else {
        return Err(PgError::new(SqlState::DATATYPE_MISMATCH, "first argument must be a rowtype"));
    };
    if c.is_null(2) {
        return Ok(c.datum(1).to_owned());
    }
    let pairs = hstore(c, 2)?;
    let base = match c.is_null(1) {
        true => None,
        false if pairs.pairs().is_empty() => return Ok(c.datum(1).to_owned()),
        false => record::from_storage(c.text(1)?),
    };
    let mut fields = Vec::new();
    for (i, (name, field_type, typmod)) in columns.iter().enumerate() {
        work::pulse(1);
        let codec = c.session.codec(*field_type)?;
        let value = match pairs.get(name) {
            None => base.as_ref().and_then(|b| b.get(i)).map_or(Datum::Null, |(_, value)| value.clone()),
            Some(None) => Datum::Null,
            Some(Some(text)) => c.session.with_context(|context| codec.text_in(text, *typmod, context))?,
        };
        super::records::check_domain(c, *field_type, &value)?;
        fields.push((*field_type, value));
    }
    let row = Datum::Text(record::to_storage(&fields));
    super::records::check_domain(c, ty, &row)?;
    Ok(row)
}

// --- reading -------------------------------------------------------------------------------------------------------------

fn fetch(c: &Call) -> Result<Datum> {
    Ok(datum(hstore(c, 0)?.get(c.text(1)?).cloned().flatten()))
}

fn fetch_all(c: &Call) -> Result<Datum> {
    let value = hstore(c, 0)?;
    let array = array(c, 1)?;
    let found = |key: Datum| datum(text(key).and_then(|k| value.get(&k).cloned().flatten()));
    Ok(Array { elements: array.elements.into_iter().map(found).collect(), ..array }.to_datum())
}

fn slice(c: &Call) -> Result<Datum> {
    let value = hstore(c, 0)?;
    let found = keys(c, 1)?.into_iter().filter_map(|k| value.get(&k).cloned().map(|v| (k, v)));
    Ok(Hstore::new(found.collect()).to_datum())
}

fn all_keys(c: &Call) -> Result<Datum> {
    Ok(elements(hstore(c, 0)?.pairs().iter().map(|(k, _)| Datum::from(k.as_str()))))
}

fn all_values(c: &Call) -> Result<Datum> {
    Ok(elements(hstore(c, 0)?.pairs().iter().map(|(_, v)| datum(v.clone()))))
}

/// Keys and values: in turn, or (`matrix`) as an array of pairs.
fn flat(c: &Call, matrix: bool) -> Result<Datum> {
    let value = hstore(c, 0)?;
    let all = value.pairs().iter().flat_map(|(k, v)| [Datum::from(k.as_str()), datum(v.clone())]);
    let count = value.pairs().len();
    let dimensions = match (count, matrix) {
        (0, _) => vec![],
        (_, true) => vec![count, 2],
        (_, false) => vec![2 * count],
    };
    Ok(Array { dimensions, lower: vec![], elements: all.collect() }.to_datum())
}

fn each(c: &Call) -> Result<Datum> {
    let rows = hstore(c, 0)?
        .pairs()
        .iter()
        .map(|(k, v)| Array::from_elements(vec![Datum::from(k.as_str()), datum(v.clone())]).to_storage())
        .collect::<Vec<_>>();
    Ok(Datum::Text(format!("[{}]", rows.join(","))))
}

// --- asking --------------------------------------------------------------------------------------------------------------

fn exists_any(c: &Call) -> Result<Datum> {
    let value = hstore(c, 0)?;
    Ok(Datum::from(keys(c, 1)?.iter().any(|k| value.get(k).is_some())))
}

fn exists_all(c: &Call) -> Result<Datum> {
    let value = hstore(c, 0)?;
    Ok(Datum::from(keys(c, 1)?.iter().all(|k| value.get(k).is_some())))
}

// --- changing ------------------------------------------------------------------------------------------------------------

fn delete_array(c: &Call) -> Result<Datum> {
    let gone = keys(c, 1)?;
    Ok(hstore(c, 0)?.without(|k, _| gone.iter().any(|g| g == k)).to_datum())
}

fn delete_pairs(c: &Call) -> Result<Datum> {
    let gone = hstore(c, 1)?;
    Ok(hstore(c, 0)?.without(|k, v| gone.get(k) == Some(v)).to_datum())
}

// --- as JSON -------------------------------------------------------------------------------------------------------------

/// Whether JSON has the text as a number.
fn is_number(text: &str) -> bool {
    let digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
    let text = text.strip_prefix('-').unwrap_or(text);
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (text, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    digits(whole)
        && (whole == "0" || !whole.starts_with('0'))
        && fraction.is_none_or(digits)
        && exponent.is_none_or(|e| digits(e.strip_prefix(['+', '-']).unwrap_or(e)))
}

/// The JSON object of a stored value. `loose`: what looks like a number or a truth value is one.
pub(crate) fn json(stored: &str, loose: bool) -> Result<String> {
    let mut out = String::from("{");
    for (i, (key, value)) in Hstore::parse(stored)?.pairs().iter().enumerate() {
        work::pulse(1);
        out.push_str(if i > 0 { ", " } else { "" });
        quote(key, &mut out);
        out.push_str(": ");
        match value.as_deref() {
            None => out.push_str("null"),
            Some("t") if loose => out.push_str("true"),
            Some("f") if loose => out.push_str("false"),
            Some(number) if loose && is_number(number) => out.push_str(number),
            Some(text) => quote(text, &mut out),
        }
    }
    out.push('}');
    Ok(out)
}

fn jsonb(c: &Call, loose: bool) -> Result<Datum> {
    let text = json(c.text(0)?, loose)?;
    c.session.with_context(|context| TypeCodec::Jsonb.text_in(&text, -1, context))
}

fn compare(c: &Call) -> Result<Datum> {
    let order = TypeCodec::Hstore.compare_storage(DatumRef::Text(c.text(0)?), DatumRef::Text(c.text(1)?));
    Ok(Datum::Int(order as i64))
}

pub(crate) const FUNCTIONS: &[(&str, Scalar)] = &[
    ("hstore_from_text", from_text),
    ("hstore_from_array", from_array),
    ("hstore_from_arrays", from_arrays),
    ("hstore_from_record", from_record),
    ("hstore_populate_record", populate_record),
    ("hstore_fetchval", fetch),
    ("hstore_slice_to_array", fetch_all),
    ("hstore_slice_to_hstore", slice),
    ("hstore_akeys hstore_skeys", all_keys),
    ("hstore_avals hstore_svals", all_values),
    ("hstore_to_array", |c| flat(c, false)),
    ("hstore_to_matrix", |c| flat(c, true)),
    ("hstore_each", each),
    ("hstore_exists", |c| Ok(Datum::from(hstore(c, 0)?.get(c.text(1)?).is_some()))),
    ("hstore_defined", |c| Ok(Datum::from(hstore(c, 0)?.get(c.text(1)?).is_some_and(Option::is_some)))),
    ("hstore_exists_any", exists_any),
    ("hstore_exists_all", exists_all),
    ("hstore_contains", |c| Ok(Datum::from(hstore(c, 0)?.contains(&hstore(c, 1)?)))),
    ("hstore_contained", |c| Ok(Datum::from(hstore(c, 1)?.contains(&hstore(c, 0)?)))),
    ("hstore_concat", |c| Ok(hstore(c, 0)?.concat(&hstore(c, 1)?).to_datum())),
    ("hstore_delete", |c| {
        let gone = c.text(1)?;
        Ok(hstore(c, 0)?.without(|k, _| k == gone).to_datum())
    }),
    ("hstore_delete_array", delete_array),
    ("hstore_delete_hstore", delete_pairs),
    ("hstore_to_json", |c| json(c.text(0)?, false).map(Datum::Text)),
    ("hstore_to_json_loose", |c| json(c.text(0)?, true).map(Datum::Text)),
    ("hstore_to_jsonb", |c| jsonb(c, false)),
    ("hstore_to_jsonb_loose", |c| jsonb(c, true)),
    ("hstore_cmp", compare),
    // the version of the form that PostgreSQL keeps it in
    ("hstore_version_diag", |_| Ok(Datum::Int(2))),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_json() {
        for text in ["0", "-1", "1.5", "10e3", "1E-7", "0.0"] {
            assert!(is_number(text), "{text}");
        }
        for text in ["", "-", "01", "1.", ".5", "1e", "0x1", " 1", "NaN", "+1"] {
            assert!(!is_number(text), "{text}");
        }
    }

    #[test]
    fn loose_json_has_numbers_and_truth_values() {
        let stored = Hstore::parse("a=>1, b=>t, c=>NULL, d=>x").expect("valid").to_text();
        assert_eq!(json(&stored, true).expect("json"), r#"{"a": 1, "b": true, "c": null, "d": "x"}"#);
        assert_eq!(json(&stored, false).expect("json"), r#"{"a": "1", "b": "t", "c": null, "d": "x"}"#);
    }
}
