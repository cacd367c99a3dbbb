//! Records, rows of set-returning functions, and values with one part replaced: functions that lowering calls by itself.

use super::json::{self as document, stored, tree};
use super::session_cell::SessionCell;
use super::shim::{Call, Scalar};
use super::support::{untyped, Items};
use pgsqlite_sql::catalog::UserTypeKind;
use pgsqlite_sql::lower::support;
use pgsqlite_types::array::Array;
use pgsqlite_types::codec::TypeCodec;
use pgsqlite_types::json::Json;
use pgsqlite_types::numeric::Numeric;
use pgsqlite_types::work;
use pgsqlite_types::{oid, record, Datum, DatumRef, Oid, PgError, Result, SqlState};

fn broken() -> PgError {
    PgError::corrupted("a stored record is malformed")
}

fn fields(text: &str) -> Result<Vec<record::Field>> {
    record::from_storage(text).ok_or_else(broken)
}

// --- records ---------------------------------------------------------------------------------------------------------

/// (name, type, value, …) → record
fn named_record(c: &Call) -> Result<Datum> {
    let fields = (0..c.len() / 3)
        .map(|i| Ok((c.text(3 * i)?.to_string(), (c.int(3 * i + 1)? as Oid, c.datum(3 * i + 2).to_owned()))))
        .collect::<Result<Vec<_>>>()?;
    Ok(Datum::Text(record::named_to_storage(&fields)))
}

/// (record, index) → the field's value
fn field(c: &Call) -> Result<Datum> {
    if c.is_null(0) {
        return Ok(Datum::Null);
    }
    let index = c.int(1)? as usize;
    // a column that was added to the type after the value was stored is NULL
    Ok(fields(c.text(0)?)?.into_iter().nth(index).map_or(Datum::Null, |(_, value)| value))
}

/// (record, index, value, type of each field …) → the record with that field changed; a NULL record counts as one of NULLs
fn set_field(c: &Call) -> Result<Datum> {
    let types = (3..c.len()).map(|i| Ok(c.int(i)? as Oid)).collect::<Result<Vec<_>>>()?;
    let mut values = if c.is_null(0) { vec![] } else { fields(c.text(0)?)? };
    // bounded: the columns of a row
    for (i, ty) in types.iter().enumerate().skip(values.len()) {
        debug_assert!(i >= values.len());
        values.push((*ty, Datum::Null));
    }
    let index = c.int(1)? as usize;
    let slot = values.get_mut(index).ok_or_else(broken)?;
    slot.1 = c.datum(2).to_owned();
    Ok(Datum::Text(record::to_storage(&values)))
}

/// (record, test for NOT NULL)
fn record_is_null(c: &Call) -> Result<Datum> {
    let not_null = c.bool(1)?;
    if c.is_null(0) {
        return Ok(Datum::from(!not_null));
    }
    let fields = fields(c.text(0)?)?;
    Ok(Datum::from(fields.iter().all(|(_, value)| value.is_null() != not_null)))
}

/// [record, …] → [[value, …], …]
fn record_rows(c: &Call) -> Result<Datum> {
    if c.is_null(0) {
        return Ok(Datum::Null);
    }
    let mut rows = Vec::new();
    for item in untyped(c.text(0)?)?.elements {
        work::pulse(1);
        match item {
            Datum::Null => rows.push("null".to_string()),
            Datum::Text(text) => {
                let values = fields(&text)?.into_iter().map(|(_, value)| value).collect();
                rows.push(Array::from_elements(values).to_storage());
            }
            _ => return Err(broken()),
        }
    }
    Ok(Datum::Text(format!("[{}]", rows.join(","))))
}

// --- rows ------------------------------------------------------------------------------------------------------------

/// Arrays side by side: a row for each of the longest's elements, NULL where another has none.
fn zip(c: &Call) -> Result<Datum> {
    let mut columns: Vec<Vec<&str>> = Vec::new();
    for i in 0..c.len() {
        columns.push(if c.is_null(i) { vec![] } else { Items::of(c.text(i)?)?.collect() });
    }
    let rows = columns.iter().map(Vec::len).max().unwrap_or(0);
    let mut out = String::from("[");
    for row in 0..rows {
        work::pulse(1);
        if row > 0 {
            out.push(',');
        }
        for (i, column) in columns.iter().enumerate() {
            work::pulse(1);
            out.push(if i == 0 { '[' } else { ',' });
            out.push_str(column.get(row).copied().unwrap_or("null"));
        }
        out.push(']');
    }
    Ok(Datum::Text(out + "]"))
}

/// ["[1,2]", "[3,4]"] → [[1,2],[3,4]]: what ARRAY(SELECT array …) gives.
fn nest(c: &Call) -> Result<Datum> {
    let mut all = Array::default();
    let mut count = 0;
    for item in untyped(c.text(0)?)?.elements {
        work::pulse(1);
        let Datum::Text(text) = item else {
            return Err(PgError::new(SqlState::NULL_VALUE_NOT_ALLOWED, "cannot accumulate null arrays"));
        };
        let array = untyped(&text)?;
        if array.dimensions.is_empty() {
            return Err(PgError::new(SqlState::ARRAY_SUBSCRIPT_ERROR, "cannot accumulate empty arrays"));
        }
        if count == 0 {
            (all.dimensions, all.lower) = (array.dimensions.clone(), array.lower_bounds());
        } else if all.dimensions != array.dimensions || all.lower != array.lower_bounds() {
            return Err(PgError::new(
                SqlState::ARRAY_SUBSCRIPT_ERROR,
                "cannot accumulate arrays of different dimensionality",
            ));
        }
        count += 1;
        all.elements.extend(array.elements);
    }
    if count == 0 {
        return Ok(Array::default().to_datum());
    }
    all.dimensions.insert(0, count);
    all.lower.insert(0, 1);
    Ok(all.to_datum())
}

/// A JSON value (its text) as a value of a type, in storage form: what json_to_record and its like do for each column.
/// `old`: the value that a row inside keeps the fields of.
pub(super) fn from_json(c: &Call, key: &str, value: &str, ty: Oid, typmod: i32, old: Option<&Datum>) -> Result<Datum> {
    let session = c.session;
    let codec = &session.codec(ty)?;
    let read = |text: &str| session.with_context(|context| codec.text_in(text, typmod, context));
    if value.trim() == "null" {
        return Ok(Datum::Null);
    }
    if matches!(codec, TypeCodec::Json | TypeCodec::Jsonb) {
        return read(value);
    }
    let text = match document::as_text(value)? {
        Datum::Text(text) => text,
        _ => return Ok(Datum::Null),
    };
    let is_string = value.trim_start().starts_with('"');
    match codec {
        TypeCodec::Array(_, element, _) if document::is_array(value) => {
            let (dimensions, sizes, elements) = (vec![], vec![], vec![]);
            let mut filling = Filling { c, key, element: *element, typmod, dimensions, sizes, elements };
            filling.array(value, 0)?;
            if filling.elements.is_empty() {
                return Ok(Array::default().to_datum());
            }
            let lengths = filling.dimensions.iter().skip(1).map(|d| d.unwrap_or_default());
            let dimensions = filling.sizes.first().copied().into_iter().chain(lengths).collect();
            Ok(Array { dimensions, elements: filling.elements, ..Array::default() }.to_datum())
        }
        TypeCodec::Array(..) if !is_string => {
            Err(PgError::new(SqlState::INVALID_TEXT_REPRESENTATION, "expected JSON array")
                .hint(format!("See the value of key \"{key}\".")))
        }
        TypeCodec::Record | TypeCodec::Composite(_) if !is_string => {
            row_from_json(c, session.state().catalog.base_type(ty), value, old)
        }
        _ => read(&text),
    }
}

fn malformed() -> PgError {
    PgError::new(SqlState::INVALID_TEXT_REPRESENTATION, "malformed JSON array")
        .detail("Multidimensional arrays must have sub-arrays with matching dimensions.")
}

/// The type modifier with which a column's values are read.
fn column_typmod(session: &SessionCell, ty: Oid, typmod: i32) -> i32 {
    let catalog = &session.state().catalog;
    match catalog.types.get(&ty).map(|t| &t.kind) {
        Some(UserTypeKind::Domain { .. }) => catalog.domain_typmod(ty),
        _ => typmod,
    }
}

/// Whether a value may stand in a column of the type: what its domain demands.
pub(crate) fn check_domain(c: &Call, ty: Oid, value: &Datum) -> Result<()> {
    let base = c.session.state().catalog.base_type(ty);
    if base == ty {
        return Ok(());
    }
    c.session.routines.assign(c, value.clone(), base, ty).map(|_| ())
}

/// The fields of a row type (name, type, type modifier); of an anonymous record those that the value has.
fn fields_of(c: &Call, ty: Oid, value: Option<&str>) -> Option<Vec<(String, Oid, i32)>> {
    if ty != oid::RECORD {
        return c.session.state().catalog.composite_fields(ty);
    }
    let stored = value?;
    let names = record::names(stored);
    let fields = record::from_storage(stored)?;
    let name = |i: usize| names.as_ref().and_then(|n| n.get(i)).cloned().unwrap_or_else(|| format!("f{}", i + 1));
    Some(fields.into_iter().enumerate().map(|(i, (ty, _))| (name(i), ty, -1)).collect())
}

/// What an object makes of a row: keys that are not there keep the row's values.
fn fill_fields(
    c: &Call,
    columns: &[(String, Oid, i32)],
    base: Option<&[record::Field]>,
    object: &str,
) -> Result<Vec<record::Field>> {
    let mut fields = Vec::new();
    for (i, (name, ty, typmod)) in columns.iter().enumerate() {
        work::pulse(1);
        let old = base.and_then(|b| b.get(i)).map(|(_, value)| value);
        let value = match document::field(object, name)? {
            Some(value) => from_json(c, name, value, *ty, column_typmod(c.session, *ty, *typmod), old)?,
            None => old.cloned().unwrap_or_default(),
        };
        check_domain(c, *ty, &value)?;
        fields.push((*ty, value));
    }
    Ok(fields)
}

/// An object as a value of a row type. `old`: the value whose fields stay where the object has no such key.
fn row_from_json(c: &Call, ty: Oid, text: &str, old: Option<&Datum>) -> Result<Datum> {
    let [object] = objects(text, "", false)?[..] else { return Err(broken()) };
    let stored = match old {
        Some(Datum::Text(stored)) => Some(stored.as_str()),
        _ => None,
    };
    let columns = fields_of(c, ty, stored).ok_or_else(|| PgError::not_supported("a record inside json_to_record"))?;
    let base = stored.map(fields).transpose()?;
    Ok(Datum::Text(record::to_storage(&fill_fields(c, &columns, base.as_deref(), object)?)))
}

/// A JSON array that becomes an array: the first element that is no array, or the first array without elements, tells how many dimensions there
/// are. What is in the innermost ones is an element, also if it is an array again.
struct Filling<'f> {
    c: &'f Call<'f>,
    key: &'f str,
    element: Oid,
    typmod: i32,
    /// the length of each dimension, as soon as one array of it has ended; empty: nothing is known yet
    dimensions: Vec<Option<usize>>,
    /// how many parts of the present array of each dimension there are until now
    sizes: Vec<usize>,
    elements: Vec<Datum>,
}

impl Filling<'_> {
    /// Reads the parts of an array of the dimension `depth` (from 0).
    fn array(&mut self, value: &str, depth: usize) -> Result<()> {
        if !document::is_array(value) {
            return Err(self.expected_array(depth));
        }
        let items = document::pieces(value);
        if self.dimensions.is_empty() && items.first().is_none_or(|item| !document::is_array(item)) {
            self.dimensions = vec![None; depth + 1];
            self.sizes = vec![0; depth + 1];
        }
        for item in items {
            work::pulse(1);
            if depth + 1 == self.dimensions.len() {
                let value = from_json(self.c, self.key, item, self.element, self.typmod, None)?;
                check_domain(self.c, self.element, &value)?;
                self.elements.push(value);
            } else {
                self.array(item, depth + 1)?;
                let size = std::mem::take(&mut self.sizes[depth + 1]);
                if *self.dimensions[depth + 1].get_or_insert(size) != size {
                    return Err(malformed());
                }
            }
            self.sizes[depth] += 1;
        }
        Ok(())
    }

    fn expected_array(&self, depth: usize) -> PgError {
        let places: String = self.sizes.iter().take(depth).map(|size| format!("[{size}]")).collect();
        let key = if self.key.is_empty() { String::new() } else { format!(" of key \"{}\"", self.key) };
        PgError::new(SqlState::INVALID_TEXT_REPRESENTATION, "expected JSON array")
            .hint(format!("See the array element {places}{key}."))
    }
}

/// The objects that a function of rows works on: the document itself, or (`set`) its elements.
fn objects<'a>(text: &'a str, name: &str, set: bool) -> Result<Vec<&'a str>> {
    let refused = |name: &str, what: &str| {
        PgError::new(SqlState::INVALID_PARAMETER_VALUE, format!("cannot call {name} on {what}"))
    };
    let (is_object, is_array) = (document::is_object(text), document::is_array(text));
    if !set {
        return match (is_object, is_array) {
            (true, _) => Ok(vec![text]),
            (_, true) => Err(refused("populate_composite", "an array")),
            _ => Err(refused("populate_composite", "a scalar")),
        };
    }
    if !is_array {
        return Err(match is_object {
            _ if name.starts_with("jsonb") => refused(name, "a non-array"),
            true => refused(name, "an object"),
            false => refused(name, "a scalar"),
        });
    }
    let items = document::pieces(text);
    if items.iter().any(|item| !document::is_object(item)) {
        return Err(PgError::new(
            SqlState::INVALID_PARAMETER_VALUE,
            format!("argument of {name} must be an array of objects"),
        ));
    }
    Ok(items)
}

/// (json, [["name", type, typmod], …], function's name) → rows
fn json_rows(c: &Call) -> Result<Datum> {
    if c.is_null(0) {
        return Ok(Datum::Null);
    }
    let definitions: Vec<(String, Oid, i32)> =
        serde_json::from_str(c.text(1)?).map_err(|e| PgError::internal(format!("column definitions: {e}")))?;
    let function = c.text(2)?;
    let mut rows = Vec::new();
    for object in objects(c.text(0)?, function, function.ends_with("set"))? {
        work::pulse(1);
        let mut row = Vec::new();
        for (name, ty, typmod) in &definitions {
            work::pulse(1);
            let typmod = column_typmod(c.session, *ty, *typmod);
            let value = match document::field(object, name)? {
                Some(value) => from_json(c, name, value, *ty, typmod, None)?,
                None => Datum::Null,
            };
            check_domain(c, *ty, &value)?;
            row.push(value);
        }
        rows.push(Array::from_elements(row).to_storage());
    }
    Ok(Datum::Text(format!("[{}]", rows.join(","))))
}

/// One object over the fields of a composite type: keys that are not there keep the base record's value.
fn populate(c: &Call, function: &str, object: &str) -> Result<String> {
    let ty = c.types()?.args[0];
    let stored = if c.is_null(1) { None } else { Some(c.text(1)?) };
    let row_type = c.session.state().catalog.base_type(ty);
    let columns = fields_of(c, row_type, stored).ok_or_else(|| no_row_type(function))?;
    let base = stored.map(fields).transpose()?;
    let filled = fill_fields(c, &columns, base.as_deref(), object)?;
    let row = match row_type {
        oid::RECORD => {
            let named: Vec<_> = columns.into_iter().map(|(name, ..)| name).zip(filled).collect();
            record::named_to_storage(&named)
        }
        _ => record::to_storage(&filled),
    };
    check_domain(c, ty, &Datum::Text(row.clone()))?;
    Ok(row)
}

fn no_row_type(function: &str) -> PgError {
    PgError::new(SqlState::FEATURE_NOT_SUPPORTED, format!("could not determine row type for result of {function}"))
        .hint(
        "Provide a non-null record argument, or call the function in the FROM clause using a column definition list.",
    )
}

fn populate_record(c: &Call, name: &str) -> Result<Datum> {
    if c.is_null(2) {
        return Ok(c.datum(1).to_owned());
    }
    let [object] = objects(c.text(2)?, "", false)?[..] else { return Err(broken()) };
    populate(c, name, object).map(Datum::Text)
}

fn populate_set(c: &Call, name: &str) -> Result<Datum> {
    if c.is_null(2) {
        return Ok(Datum::Null);
    }
    if c.session.state().catalog.composite_fields(c.types()?.args[0]).is_none() && c.is_null(1) {
        return Err(no_row_type(name));
    }
    let mut rows = Vec::new();
    for item in objects(c.text(2)?, name, true)? {
        work::pulse(1);
        rows.push(Datum::Text(populate(c, name, item)?));
    }
    Ok(Array::from_elements(rows).to_datum())
}

fn merge_twice(_: &Call) -> Result<Datum> {
    Err(PgError::new(SqlState::CARDINALITY_VIOLATION, "MERGE command cannot affect row a second time")
        .hint("Ensure that not more than one source row matches any one target row."))
}

/// (percent, seed, row, repeatable) → whether TABLESAMPLE takes the row.
fn sample(c: &Call) -> Result<Datum> {
    if c.is_null(0) {
        return Err(PgError::new(SqlState::INVALID_TABLESAMPLE_ARGUMENT, "TABLESAMPLE parameter cannot be null"));
    }
    let percent = c.float(0)?;
    if !(0.0..=100.0).contains(&percent) {
        return Err(PgError::new(
            SqlState::INVALID_TABLESAMPLE_ARGUMENT,
            "sample percentage must be between 0 and 100",
        ));
    }
    if c.is_null(1) {
        return Err(PgError::new(
            SqlState::INVALID_TABLESAMPLE_REPEAT,
            "TABLESAMPLE REPEATABLE parameter cannot be null",
        ));
    }
    let seed = match c.datum(1) {
        DatumRef::Int(i) => i as u64,
        _ => c.float(1)?.to_bits(),
    };
    // splitmix64: an even spread over rows and seeds
    let mut x = seed.wrapping_add((c.int(2)? as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^= x >> 31;
    Ok(Datum::from((x >> 11) as f64 / ((1u64 << 53) as f64) * 100.0 < percent))
}

// --- RANGE frames over types that SQLite does not count in --------------------------------------------------------------

const MILLION: i64 = 1_000_000;
const MICROS_PER_DAY: i64 = 86_400_000_000;

fn uncountable(what: &str) -> PgError {
    PgError::not_supported(format!("RANGE with an offset over {what}"))
}

/// A numeric in millionths.
fn millionths(n: &Numeric) -> Result<i64> {
    if n.is_nan() || n.is_infinite() {
        return Ok(if n.is_negative() { i64::MIN } else { i64::MAX });
    }
    let scaled = n.mul(&Numeric::from(MILLION))?;
    match scaled.to_i64() {
        Ok(i) if Numeric::from(i) == scaled => Ok(i),
        _ => Err(uncountable("numbers of more than six decimals or beyond nine trillions")),
    }
}

fn range_key(c: &Call) -> Result<Datum> {
    if c.is_null(1) {
        return Ok(Datum::Null);
    }
    Ok(Datum::Int(match c.int(0)? as Oid {
        oid::NUMERIC => millionths(&c.numeric(1)?)?,
        oid::DATE => match c.date(1)?.0 {
            i32::MIN => i64::MIN,
            i32::MAX => i64::MAX,
            days => i64::from(days) * MICROS_PER_DAY,
        },
        oid::TIMESTAMP | oid::TIMESTAMPTZ => c.timestamp(1)?.0,
        oid::TIME => c.time(1)?.0,
        oid::INTERVAL => {
            i64::try_from(c.interval(1)?.span()).map_err(|_| uncountable("intervals of more than 290000 years"))?
        }
        _ => return Err(uncountable("this type")),
    }))
}

// --- assignment to parts ---------------------------------------------------------------------------------------------

fn subscript_error(message: &str) -> PgError {
    PgError::new(SqlState::ARRAY_SUBSCRIPT_ERROR, message)
}

fn null_subscript() -> PgError {
    PgError::new(SqlState::NULL_VALUE_NOT_ALLOWED, "array subscript in assignment must not be null")
}

/// Makes room for the subscripts `low` to `high` in an array of one dimension: NULLs come between.
fn extend(array: &mut Array, low: i64, high: i64) -> Result<()> {
    use pgsqlite_types::array::{too_many_elements, MAX_ELEMENTS};
    let first = array.lower_bound(0);
    let last = first + array.elements.len() as i64 - 1;
    if high.max(last) - low.min(first) >= MAX_ELEMENTS {
        return Err(too_many_elements());
    }
    if low < first {
        array.elements.splice(0..0, std::iter::repeat_n(Datum::Null, (first - low) as usize));
        array.lower = vec![low];
    }
    if high > last {
        array.elements.resize((high - array.lower_bound(0) + 1) as usize, Datum::Null);
    }
    array.dimensions = vec![array.elements.len()];
    array.check_size()
}

/// (array, value, subscript …) → the array with that element changed, extended by NULLs if need be
fn set_element(c: &Call) -> Result<Datum> {
    let mut array = if c.is_null(0) { Array::default() } else { untyped(c.text(0)?)? };
    let mut at = Vec::new();
    for i in 2..c.len() {
        if c.is_null(i) {
            return Err(null_subscript());
        }
        at.push(c.int(i)?);
    }
    let value = c.datum(1).to_owned();
    if array.dimensions.is_empty() {
        // a new array of this one element
        let array = Array { dimensions: vec![1; at.len()], lower: at, elements: vec![value] };
        array.check_size()?;
        return Ok(array.to_datum());
    }
    if array.dimensions.len() != at.len() {
        return Err(subscript_error("wrong number of array subscripts"));
    }
    if let [only] = at[..] {
        extend(&mut array, only, only)?;
        let index = (only - array.lower_bound(0)) as usize;
        array.elements[index] = value;
        return Ok(array.to_datum());
    }
    let mut index = 0;
    // bounded: the dimensions of an array
    for (d, p) in at.iter().enumerate() {
        let length = array.dimensions[d];
        let place = usize::try_from(p - array.lower_bound(d)).ok().filter(|p| *p < length);
        index = index * length + place.ok_or_else(|| subscript_error("array subscript out of range"))?;
    }
    array.elements[index] = value;
    Ok(array.to_datum())
}

/// (array, values, lower, upper …) → the array with that slice replaced
fn set_slice(c: &Call) -> Result<Datum> {
    if c.is_null(1) {
        return Ok(c.datum(0).to_owned());
    }
    let source = untyped(c.text(1)?)?;
    let mut array = if c.is_null(0) { Array::default() } else { untyped(c.text(0)?)? };
    let dimensions = (c.len() - 2) / 2;
    let mut ranges: Vec<(i64, i64)> = Vec::new();
    for d in 0..dimensions {
        let bound = |i: usize, default: Option<i64>| -> Result<i64> {
            match c.datum(i) {
                DatumRef::Null => Err(null_subscript()),
                DatumRef::Text("") => default.ok_or_else(|| {
                    subscript_error("array slice subscript must provide both boundaries").detail(
                        "When assigning to a slice of an empty array value, slice boundaries must be fully specified.",
                    )
                }),
                _ => c.int(i),
            }
        };
        let last = array.upper_bound(d);
        let low = bound(2 + 2 * d, last.map(|_| array.lower_bound(d)))?;
        let high = bound(3 + 2 * d, last)?;
        if high < low {
            return Err(subscript_error("upper bound cannot be less than lower bound"));
        }
        ranges.push((low, high));
    }
    let too_small = || subscript_error("source array too small");
    let needed = |ranges: &[(i64, i64)]| {
        ranges.iter().try_fold(1i64, |n, (low, high)| n.checked_mul(high - low + 1)).unwrap_or(i64::MAX) as usize
    };
    if array.dimensions.is_empty() {
        let wanted = needed(&ranges);
        if wanted as i64 > pgsqlite_types::array::MAX_ELEMENTS {
            return Err(pgsqlite_types::array::too_many_elements());
        }
        let array = Array {
            dimensions: ranges.iter().map(|(low, high)| (high - low + 1) as usize).collect(),
            lower: ranges.iter().map(|(low, _)| *low).collect(),
            elements: source.elements.get(..wanted).ok_or_else(too_small)?.to_vec(),
        };
        array.check_size()?;
        return Ok(array.to_datum());
    }
    if dimensions > array.dimensions.len() {
        return Err(subscript_error("wrong number of array subscripts"));
    }
    if let ([(low, high)], 1) = (&ranges[..], array.dimensions.len()) {
        extend(&mut array, *low, *high)?;
        let values = source.elements.get(..needed(&ranges)).ok_or_else(too_small)?;
        let first = (low - array.lower_bound(0)) as usize;
        array.elements[first..first + values.len()].clone_from_slice(values);
        return Ok(array.to_datum());
    }
    for d in dimensions..array.dimensions.len() {
        ranges.push((array.lower_bound(d), array.upper_bound(d).unwrap_or_default()));
    }
    let beyond = |(d, (low, high)): (usize, &(i64, i64))| {
        *low < array.lower_bound(d) || array.upper_bound(d).is_none_or(|last| *high > last)
    };
    if ranges.iter().enumerate().any(beyond) {
        return Err(subscript_error("array subscript out of range"));
    }
    if source.elements.len() < needed(&ranges) {
        return Err(too_small());
    }
    let lower = array.lower_bounds();
    let mut values = source.elements.into_iter();
    'each: for i in 0..array.elements.len() {
        work::pulse(1);
        let mut rest = i;
        for ((length, first), (low, high)) in array.dimensions.iter().zip(&lower).zip(&ranges).rev() {
            let at = (rest % length) as i64 + first;
            rest /= length;
            if at < *low || at > *high {
                continue 'each;
            }
        }
        if let Some(value) = values.next() {
            array.elements[i] = value;
        }
    }
    Ok(array.to_datum())
}

/// (jsonb, new value, path element …): texts are keys (or numbers of elements), integers positions
fn set_json(c: &Call) -> Result<Datum> {
    let mut path = Vec::new();
    for i in 2..c.len() {
        path.push(match c.datum(i) {
            DatumRef::Null => {
                return Err(PgError::new(
                    SqlState::NULL_VALUE_NOT_ALLOWED,
                    "jsonb subscript in assignment must not be null",
                ))
            }
            DatumRef::Int(n) => (n.to_string(), true),
            _ => (c.text(i)?.to_string(), false),
        });
    }
    let value = if c.is_null(1) { Json::Null } else { tree(c.text(1)?)? };
    let mut root = match c.is_null(0) {
        false => tree(c.text(0)?)?,
        true if path[0].1 => Json::Array(vec![]),
        true => Json::Object(vec![]),
    };
    set_path(&mut root, &path, value)?;
    stored(&root)
}

fn set_path(node: &mut Json, path: &[(String, bool)], value: Json) -> Result<()> {
    let Some(((key, is_number), rest)) = path.split_first() else {
        *node = value;
        return Ok(());
    };
    // what an element that is not there yet begins as
    let fresh = || match rest.first() {
        None | Some((_, false)) => Json::Object(vec![]),
        Some((_, true)) => Json::Array(vec![]),
    };
    match node {
        Json::Object(pairs) => {
            let mut pairs = std::mem::take(pairs);
            let at = match pairs.iter().position(|(k, _)| k == key) {
                Some(at) => at,
                None => {
                    pairs.push((key.clone(), fresh()));
                    pairs.len() - 1
                }
            };
            set_path(&mut pairs[at].1, rest, value)?;
            *node = Json::object(pairs);
            Ok(())
        }
        Json::Array(items) => {
            let n: i64 = key.parse().map_err(|_| {
                PgError::new(
                    SqlState::INVALID_TEXT_REPRESENTATION,
                    format!("path element at position 1 is not an integer: \"{key}\""),
                )
            })?;
            let _ = is_number;
            let at = if n < 0 { items.len() as i64 + n } else { n };
            let Ok(at) = usize::try_from(at) else {
                return Err(PgError::new(
                    SqlState::INVALID_PARAMETER_VALUE,
                    format!("path element at position 1 is out of range: {n}"),
                ));
            };
            while items.len() < at {
                work::pulse(1);
                items.push(Json::Null);
            }
            if items.len() == at {
                items.push(fresh());
            }
            set_path(&mut items[at], rest, value)
        }
        _ => Err(PgError::new(SqlState::INVALID_PARAMETER_VALUE, "cannot replace existing key")
            .detail("The path assumes key is a composite object, but it is a scalar value.")),
    }
}

/// Name, number of arguments, whether SQLite may reuse a result, function.
pub(crate) const FUNCTIONS: &[(&str, i32, bool, Scalar)] = &[
    (support::NAMED_RECORD, -1, true, named_record),
    (support::FIELD, 2, true, field),
    (support::SET_FIELD, -1, true, set_field),
    (support::RECORD_IS_NULL, 2, true, record_is_null),
    (support::RECORD_ROWS, 1, true, record_rows),
    (support::ZIP, -1, true, zip),
    (support::NEST, 1, true, nest),
    (support::JSON_ROWS, 3, true, json_rows),
    (support::SAMPLE, 4, false, sample),
    (support::MERGE_TWICE, 0, false, merge_twice),
    (support::RANGE_KEY, 2, true, range_key),
    (support::SET_ELEMENT, -1, true, set_element),
    (support::SET_SLICE, -1, true, set_slice),
    (support::SET_JSON, -1, true, set_json),
];

/// By PostgreSQL's symbol.
pub(crate) const SYMBOLS: &[(&str, Scalar)] = &[
    ("json_populate_record", |c| populate_record(c, "json_populate_record")),
    ("jsonb_populate_record", |c| populate_record(c, "jsonb_populate_record")),
    ("json_populate_recordset", |c| populate_set(c, "json_populate_recordset")),
    ("jsonb_populate_recordset", |c| populate_set(c, "jsonb_populate_recordset")),
];
