//! Making JSON of values: `to_json`, `json_build_…`, `json_object`, `json_agg` and their jsonb twins.

use super::json::{broken, pairs, pieces, stored, tree};
use super::session_cell::SessionCell;
use super::shim::{Call, NewState, Scalar, State};
use super::strings::{array as read_array, invalid_parameter, text_array};
use super::support::text_by;
use pgsqlite_sql::catalog::TypeEntry;
use pgsqlite_types::array::Array;
use pgsqlite_types::codec::{Context, TypeCodec};
use pgsqlite_types::json::{write_string, Json};
use pgsqlite_types::settings::DateStyle;
use pgsqlite_types::work;
use pgsqlite_types::{record, Datum, DatumRef, Oid, PgError, Result, SqlState};

// --- values as JSON --------------------------------------------------------------------------------------------------

/// Appends a value of a type as `to_json` writes it.
pub(super) fn write(session: &SessionCell, type_oid: Oid, value: DatumRef, out: &mut String) -> Result<()> {
    if value.is_null() {
        out.push_str("null");
        return Ok(());
    }
    let codec = session.codec(type_oid)?;
    if matches!(codec, TypeCodec::Record | TypeCodec::Composite(_)) {
        return write_record(session, type_oid, value, out);
    }
    write_by(session, &codec, value, out)
}
pub(crate) fn quote(text: &str, out: &mut String) {
    let mut bytes = Vec::new();
    write_string(text, &mut bytes);
    out.push_str(&String::from_utf8_lossy(&bytes));
}
fn write_by(session: &SessionCell, codec: &TypeCodec, value: DatumRef, out: &mut String) -> Result<()> {
    match (codec, value) {
        (_, DatumRef::Null) => out.push_str("null"),
        (TypeCodec::Bool, v) => out.push_str(if v == DatumRef::Int(0) { "false" } else { "true" }),
        (TypeCodec::Json | TypeCodec::Jsonb, DatumRef::Text(t)) => out.push_str(t),
        // (by its cast to json)
        (TypeCodec::Hstore, DatumRef::Text(t)) => out.push_str(&super::hstore::json(t, false)?),
        (
            TypeCodec::Int2
            | TypeCodec::Int4
            | TypeCodec::Int8
            | TypeCodec::Float4
            | TypeCodec::Float8
            | TypeCodec::Numeric,
            v,
        ) => {
            let text = text_by(session, codec, v)?;
            if text.bytes().any(|b| b.is_ascii_alphabetic() && b != b'e') {
                quote(&text, out);
            } else {
                out.push_str(&text);
            }
        }
        (TypeCodec::Date | TypeCodec::Timestamp | TypeCodec::TimestampTz, v) => {
            let state = session.state();
            let mut settings = state.settings.clone();
            settings.date_style = DateStyle::Iso;
            let mut text = Vec::new();
            codec.text_out(v, &Context { settings: &settings, names: &*state.names }, &mut text)?;
            let text = String::from_utf8_lossy(&text).into_owned();
            let (moment, era) = match text.strip_suffix(" BC") {
                Some(moment) => (moment, " BC"),
                None => (text.as_str(), ""),
            };
            let mut iso = moment.replacen(' ', "T", 1);
            if *codec == TypeCodec::TimestampTz {
                // The offset has minutes here.
                if let Some(sign) = iso.rfind(['+', '-']).filter(|i| iso.len() - i == 3 && iso.contains('T')) {
                    debug_assert!(sign > 0);
                    iso.push_str(":00");
                }
            }
            quote(&(iso + era), out);
        }
        (TypeCodec::Array(element, element_type, _), DatumRef::Text(t)) => {
            let array = read_array(t, element)?;
            write_level(session, &array, (element, *element_type), 0, &mut 0, out)?;
        }
        (codec, v) => quote(&text_by(session, codec, v)?, out),
    }
    Ok(())
}
fn write_level(
    session: &SessionCell,
    array: &Array,
    element: (&TypeCodec, Oid),
    level: usize,
    next: &mut usize,
    out: &mut String,
) -> Result<()> {
    out.push('[');
    for i in 0..array.dimensions.get(level).copied().unwrap_or(0) {
        work::pulse(1);
        if i > 0 {
            out.push(',');
        }
        if level + 1 < array.dimensions.len() {
            write_level(session, array, element, level + 1, next, out)?;
        } else {
            let value = array.elements[*next].as_ref();
            match element {
                (TypeCodec::Record | TypeCodec::Composite(_), ty) if !value.is_null() => {
                    write_record(session, ty, value, out)?
                }
                (codec, _) => write_by(session, codec, value, out)?,
            }
            *next += 1;
        }
    }
    out.push(']');
    Ok(())
}
fn write_record(session: &SessionCell, type_oid: Oid, value: DatumRef, out: &mut String) -> Result<()> {
    let DatumRef::Text(text) = value else { return Err(broken()) };
    let fields = record::from_storage(text).ok_or_else(broken)?;
    let names: Option<Vec<String>> = match session.state().catalog.type_entry(type_oid) {
        Some(TypeEntry::Builtin(_)) | None => record::names(text),
        _ => {
            let fields = session.state().catalog.composite_fields(type_oid);
            fields.map(|fields| fields.into_iter().map(|(name, ..)| name).collect())
        }
    };
    out.push('{');
    for (i, (field_type, field)) in fields.iter().enumerate() {
        work::pulse(1);
        if i > 0 {
            out.push(',');
        }
        match names.as_ref().and_then(|n| n.get(i)) {
            Some(name) => quote(name, out),
            None => quote(&format!("f{}", i + 1), out),
        }
        out.push(':');
        write(session, *field_type, field.as_ref(), out)?;
    }
    out.push('}');
    Ok(())
}
fn to_json(c: &Call) -> Result<Datum> {
    if c.is_null(1) {
        return Ok(Datum::Null);
    }
    let mut out = String::new();
    write(c.session, c.types()?.args[0], c.datum(1), &mut out)?;
    Ok(Datum::Text(out))
}
fn to_jsonb(c: &Call) -> Result<Datum> {
    match to_json(c)? {
        Datum::Text(text) => stored(&tree(&text)?),
        other => Ok(other),
    }
}
pub(super) fn key(session: &SessionCell, type_oid: Oid, value: DatumRef) -> Result<String> {
    let codec = session.codec(type_oid)?;
    if matches!(
        codec,
        TypeCodec::Array(..) | TypeCodec::Record | TypeCodec::Composite(_) | TypeCodec::Json | TypeCodec::Jsonb
    ) {
        return Err(invalid_parameter("key value must be scalar, not array, composite, or json"));
    }
    if codec == TypeCodec::Bool {
        return Ok(if value == DatumRef::Int(0) { "false" } else { "true" }.into());
    }
    if matches!(codec, TypeCodec::Date | TypeCodec::Timestamp | TypeCodec::TimestampTz) {
        // as values of these types are written, which needs no escapes
        let mut text = String::new();
        write_by(session, &codec, value, &mut text)?;
        return Ok(text.trim_matches('"').to_string());
    }
    text_by(session, &codec, value)
}
/// The arguments with their types; a VARIADIC array is spread out. None: it is NULL.
fn arguments(c: &Call) -> Result<Option<Vec<(Oid, Datum)>>> {
    let types = c.types()?;
    if !types.variadic {
        return Ok(Some(types.args.iter().enumerate().map(|(i, t)| (*t, c.datum(i + 1).to_owned())).collect()));
    }
    if c.is_null(1) {
        return Ok(None);
    }
    let TypeCodec::Array(element, element_oid, _) = c.session.codec(types.args[0])? else {
        return Err(PgError::new(SqlState::DATATYPE_MISMATCH, "VARIADIC argument must be an array"));
    };
    Ok(Some(read_array(c.text(1)?, &element)?.elements.into_iter().map(|e| (element_oid, e)).collect()))
}
fn build_object(c: &Call, binary: bool) -> Result<Datum> {
    let Some(args) = arguments(c)? else { return Ok(Datum::Null) };
    if args.len() % 2 != 0 {
        let name = if binary { "jsonb_build_object()" } else { "json_build_object()" };
        return Err(invalid_parameter("argument list must have even number of elements")
            .hint(format!("The arguments of {name} must consist of alternating keys and values.")));
    }
    let mut out = String::from("{");
    for (i, pair) in args.chunks(2).enumerate() {
        work::pulse(1);
        if pair[0].1.is_null() {
            let n = 2 * i + 1;
            return Err(if binary {
                invalid_parameter(format!("argument {n}: key must not be null"))
            } else {
                PgError::new(SqlState::NULL_VALUE_NOT_ALLOWED, "null value not allowed for object key")
            });
        }
        if i > 0 {
            out.push_str(", ");
        }
        quote(&key(c.session, pair[0].0, pair[0].1.as_ref())?, &mut out);
        out.push_str(" : ");
        write(c.session, pair[1].0, pair[1].1.as_ref(), &mut out)?;
    }
    out.push('}');
    if binary {
        return stored(&tree(&out)?);
    }
    Ok(Datum::Text(out))
}
fn build_array(c: &Call, binary: bool) -> Result<Datum> {
    let Some(args) = arguments(c)? else { return Ok(Datum::Null) };
    let mut out = String::from("[");
    for (i, (type_oid, value)) in args.iter().enumerate() {
        work::pulse(1);
        if i > 0 {
            out.push_str(", ");
        }
        write(c.session, *type_oid, value.as_ref(), &mut out)?;
    }
    out.push(']');
    if binary {
        return stored(&tree(&out)?);
    }
    Ok(Datum::Text(out))
}
/// The pairs that one array of keys and values, or two arrays, make.
fn pairs_of_arrays(c: &Call) -> Result<Vec<(String, Option<String>)>> {
    let no_null = || PgError::new(SqlState::NULL_VALUE_NOT_ALLOWED, "null value not allowed for object key");
    let odd = |m: &str| Err(PgError::new(SqlState::ARRAY_SUBSCRIPT_ERROR, m));
    let shape = |i: usize| Ok::<_, PgError>(super::support::untyped(c.text(i)?)?.dimensions);
    let (texts, dimensions) = (text_array(c.text(0)?)?, shape(0)?);
    if c.len() > 1 {
        let values = text_array(c.text(1)?)?;
        if dimensions.len() > 1 || dimensions.len() != shape(1)?.len() {
            return odd("wrong number of array subscripts");
        }
        if values.len() != texts.len() {
            return odd("mismatched array dimensions");
        }
        return texts.into_iter().zip(values).map(|(k, v)| Ok((k.ok_or_else(no_null)?, v))).collect();
    }
    match dimensions[..] {
        [] => {}
        [n] if n % 2 != 0 => return odd("array must have even number of elements"),
        [_] | [_, 2] => {}
        [_, _] => return odd("array must have two columns"),
        _ => return odd("wrong number of array subscripts"),
    }
    texts.chunks(2).map(|p| Ok((p[0].clone().ok_or_else(no_null)?, p[1].clone()))).collect()
}
fn object_of_arrays(c: &Call) -> Result<Datum> {
    let pairs = pairs_of_arrays(c)?.into_iter().map(|(k, v)| (k, v.map_or(Json::Null, Json::String))).collect();
    stored(&Json::object(pairs))
}
fn json_object_of_arrays(c: &Call) -> Result<Datum> {
    let mut out = String::from("{");
    for (i, (key, value)) in pairs_of_arrays(c)?.iter().enumerate() {
        work::pulse(1);
        if i > 0 {
            out += ", ";
        }
        quote(key, &mut out);
        out += " : ";
        match value {
            Some(value) => quote(value, &mut out),
            None => out += "null",
        }
    }
    Ok(Datum::Text(out + "}"))
}
/// `array_to_json(array, pretty)`: with a line per element.
fn pretty_array(c: &Call) -> Result<Datum> {
    let mut out = String::new();
    write(c.session, c.types()?.args[0], c.datum(1), &mut out)?;
    if !c.bool(2)? {
        return Ok(Datum::Text(out));
    }
    Ok(Datum::Text(format!("[{}]", pieces(&out).join(",\n "))))
}
fn pretty_row(c: &Call) -> Result<Datum> {
    let mut out = String::new();
    write(c.session, c.types()?.args[0], c.datum(1), &mut out)?;
    if !c.bool(2)? {
        return Ok(Datum::Text(out));
    }
    let mut lines = Vec::new();
    for (key, value) in pairs(&out)? {
        work::pulse(1);
        let mut line = String::new();
        quote(&key, &mut line);
        lines.push(format!("{line}:{value}"));
    }
    Ok(Datum::Text(format!("{{{}}}", lines.join(",\n "))))
}

// --- aggregates ------------------------------------------------------------------------------------------------------

/// What JSON an aggregate makes of its rows.
#[derive(Clone, Copy, Default)]
struct Collecting {
    object: bool,
    binary: bool,
    /// rows whose value is NULL are left out
    strict: bool,
    /// no key may come twice, not even with a value that is left out
    unique: bool,
}

/// A row's text (None: it is left out) and, where keys must be unique, its key.
type CollectedRow = (Option<String>, Option<String>);

/// The texts of the rows so far, and how they are put together.
struct Collected {
    rows: std::collections::VecDeque<CollectedRow>,
    how: Collecting,
    nested: bool,
}
impl State for Collected {
    fn step(&mut self, c: &Call) -> Result<()> {
        let types = c.types()?;
        let mut out = String::new();
        let mut own_key = None;
        if self.how.object {
            if c.is_null(1) {
                return Err(match !self.how.binary {
                    true => PgError::new(SqlState::NULL_VALUE_NOT_ALLOWED, "null value not allowed for object key"),
                    false => invalid_parameter("field name must not be null"),
                });
            }
            let key = key(c.session, types.args[0], c.datum(1))?;
            quote(&key, &mut out);
            out.push_str(" : ");
            own_key = Some(key).filter(|_| self.how.unique);
        }
        let last = types.args.len() - 1;
        if self.how.strict && c.is_null(last + 1) {
            self.rows.push_back((None, own_key));
            return Ok(());
        }
        write(c.session, types.args[last], c.datum(last + 1), &mut out)?;
        self.nested = !self.how.object
            && matches!(
                c.session.codec(types.args[last])?,
                TypeCodec::Array(..) | TypeCodec::Record | TypeCodec::Composite(_)
            );
        self.rows.push_back((Some(out), own_key));
        Ok(())
    }
    fn inverse(&mut self, _c: &Call) -> Result<()> {
        self.rows.pop_front();
        Ok(())
    }
    fn value(&mut self, _session: &SessionCell) -> Result<Datum> {
        if self.rows.is_empty() {
            return Ok(Datum::Null);
        }
        let mut keys = std::collections::HashSet::new();
        if let Some(twice) = self.rows.iter().filter_map(|(_, key)| key.as_ref()).find(|key| !keys.insert(*key)) {
            return Err(duplicate_key(twice, self.how.binary));
        }
        let (open, close) = if self.how.object { ("{ ", " }") } else { ("[", "]") };
        let mut text = String::from(open);
        for (i, row) in self.rows.iter().filter_map(|(row, _)| row.as_ref()).enumerate() {
            work::pulse(1);
            if i > 0 {
                // arrays and rows stand on lines of their own, a NULL among them does not
                text += if self.nested && row != "null" { ", \n " } else { ", " };
            }
            text += row;
        }
        text += close;
        if self.how.binary {
            return stored(&tree(&text)?);
        }
        Ok(Datum::Text(text))
    }
}
/// 22030; of json it tells the key.
pub(super) fn duplicate_key(key: &str, binary: bool) -> PgError {
    let mut message = String::from("duplicate JSON object key value");
    if !binary {
        message += ": ";
        quote(key, &mut message);
    }
    PgError::new(SqlState::DUPLICATE_JSON_OBJECT_KEY_VALUE, message)
}
fn collected(how: Collecting) -> Box<dyn State> {
    Box::new(Collected { rows: Default::default(), how, nested: false })
}
const ARRAY: Collecting = Collecting { object: false, binary: false, strict: false, unique: false };
const OBJECT: Collecting = Collecting { object: true, ..ARRAY };
const ARRAY_B: Collecting = Collecting { binary: true, ..ARRAY };
const OBJECT_B: Collecting = Collecting { binary: true, ..OBJECT };
pub(crate) const AGGREGATES: &[(&str, NewState)] = &[
    ("json_agg(anyelement)", || collected(ARRAY)),
    ("jsonb_agg(anyelement)", || collected(ARRAY_B)),
    ("json_object_agg(any,any)", || collected(OBJECT)),
    ("jsonb_object_agg(any,any)", || collected(OBJECT_B)),
    ("json_agg_strict(anyelement)", || collected(Collecting { strict: true, ..ARRAY })),
    ("jsonb_agg_strict(anyelement)", || collected(Collecting { strict: true, ..ARRAY_B })),
    ("json_object_agg_strict(any,any)", || collected(Collecting { strict: true, ..OBJECT })),
    ("json_object_agg_unique(any,any)", || collected(Collecting { unique: true, ..OBJECT })),
    ("json_object_agg_unique_strict(any,any)", || collected(Collecting { strict: true, unique: true, ..OBJECT })),
    ("jsonb_object_agg_strict(any,any)", || collected(Collecting { strict: true, ..OBJECT_B })),
    ("jsonb_object_agg_unique(any,any)", || collected(Collecting { unique: true, ..OBJECT_B })),
    ("jsonb_object_agg_unique_strict(any,any)", || collected(Collecting { strict: true, unique: true, ..OBJECT_B })),
];

pub(crate) const FUNCTIONS: &[(&str, Scalar)] = &[
    ("json_object json_object_two_arg", json_object_of_arrays),
    ("array_to_json_pretty", pretty_array),
    ("row_to_json_pretty", pretty_row),
    ("jsonb_object jsonb_object_two_arg", object_of_arrays),
    ("to_json array_to_json row_to_json", to_json),
    ("to_jsonb", to_jsonb),
    ("json_build_object", |c| build_object(c, false)),
    ("jsonb_build_object", |c| build_object(c, true)),
    ("json_build_array", |c| build_array(c, false)),
    ("jsonb_build_array", |c| build_array(c, true)),
    ("json_build_object_noargs jsonb_build_object_noargs", |_| Ok(Datum::from("{}"))),
    ("json_build_array_noargs jsonb_build_array_noargs", |_| Ok(Datum::from("[]"))),
];
