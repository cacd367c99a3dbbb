//! The functions that lowering calls by itself: text input and output, length coercion, arrays and records as values,
//! checks. Their names and arguments are those of `pgsqlite_sql::lower::support`.

use super::session_cell::SessionCell;
use super::shim::{Call, Scalar, State};
use pgsqlite_sql::lower::support;
use pgsqlite_sql::typed::RowCheckOf;
use pgsqlite_types::array::{split_bounds, Array};
use pgsqlite_types::buffer::bad_stored;
use pgsqlite_types::codec::TypeCodec;
use pgsqlite_types::datetime::{round_micros, Interval, Time, TimeTz, Timestamp};
use pgsqlite_types::geometry::io as geometry;
use pgsqlite_types::int::Width;
use pgsqlite_types::numeric::Numeric;
use pgsqlite_types::work;
use pgsqlite_types::{oid, record, text, Datum, DatumRef, Oid, PgError, Result, SqlState};

/// The text form of a value of a type.
pub(crate) fn text_of(session: &SessionCell, type_oid: Oid, value: DatumRef) -> Result<String> {
    let codec = session.codec(type_oid)?;
    text_by(session, &codec, value)
}
pub(crate) fn text_by(session: &SessionCell, codec: &TypeCodec, value: DatumRef) -> Result<String> {
    let mut out = Vec::new();
    session.with_context(|context| codec.text_out(value, context, &mut out))?;
    String::from_utf8(out).map_err(|_| PgError::internal("text output that is no UTF-8"))
}

fn type_argument(c: &Call, i: usize) -> Result<Oid> {
    Ok(c.int(i)? as Oid)
}

fn text_in(c: &Call) -> Result<Datum> {
    if c.is_null(2) {
        return Ok(Datum::Null);
    }
    let codec = c.session.codec(type_argument(c, 0)?)?;
    c.session.with_context(|context| codec.text_in(c.text(2)?, c.int(1)? as i32, context))
}

fn no_collation(c: &Call) -> Result<Datum> {
    if c.is_null(0) {
        return Ok(Datum::Null);
    }
    Err(PgError::new(
        SqlState::INDETERMINATE_COLLATION,
        format!("could not determine which collation to use for {}", c.text(1)?),
    )
    .hint("Use the COLLATE clause to set the collation explicitly."))
}

/// A text in the case of a locale.
fn cased(c: &Call, case: fn(&str, &str) -> String) -> Result<Datum> {
    if c.is_null(0) {
        return Ok(Datum::Null);
    }
    Ok(Datum::Text(case(c.text(0)?, c.text(1)?)))
}

fn text_out(c: &Call) -> Result<Datum> {
    if c.is_null(1) {
        return Ok(Datum::Null);
    }
    text_of(c.session, type_argument(c, 0)?, c.datum(1)).map(Datum::Text)
}

/// Rounded to `precision` digits of a second; 22008 where that leaves the range.
pub(crate) fn timestamp_typmod(t: Timestamp, precision: i32) -> Result<Timestamp> {
    if t.is_infinite() {
        return Ok(t);
    }
    let rounded = Timestamp(round_micros(t.0, precision));
    if rounded.is_valid() || rounded == Timestamp::END {
        return Ok(rounded);
    }
    Err(PgError::new(SqlState::DATETIME_VALUE_OUT_OF_RANGE, "timestamp out of range"))
}

/// A value brought to its type's modifier, as an assignment or (`explicit`) a cast does it.
pub(crate) fn apply_typmod(codec: &TypeCodec, typmod: i32, explicit: bool, value: DatumRef) -> Result<Datum> {
    let string = |v: DatumRef| match v {
        DatumRef::Text(t) => Ok(t.to_string()),
        other => Err(bad_stored("text", other)),
    };
    if value.is_null() || typmod < 0 {
        return Ok(value.to_owned());
    }
    Ok(match codec {
        TypeCodec::Numeric => Numeric::from_datum(value)?.apply_typmod(typmod)?.to_datum(),
        TypeCodec::Text => Datum::from(text::coerce_varchar(&string(value)?, typmod, explicit)?),
        TypeCodec::BpChar => Datum::Text(text::coerce_bpchar(&string(value)?, typmod, explicit)?),
        TypeCodec::Time => {
            let t = Time::from_storage(&string(value)?).ok_or_else(|| bad_stored("time", value))?;
            Datum::Text(Time(round_micros(t.0, typmod)).to_storage())
        }
        TypeCodec::TimeTz => {
            let t = TimeTz::from_storage(&string(value)?).ok_or_else(|| bad_stored("time with time zone", value))?;
            Datum::Text(TimeTz { micros: round_micros(t.micros, typmod), ..t }.to_storage())
        }
        TypeCodec::Timestamp | TypeCodec::TimestampTz => {
            let t = Timestamp::from_storage(&string(value)?).ok_or_else(|| bad_stored("timestamp", value))?;
            Datum::Text(timestamp_typmod(t, typmod)?.to_storage())
        }
        TypeCodec::Interval => {
            let t = Interval::from_storage(&string(value)?).ok_or_else(|| bad_stored("interval", value))?;
            Datum::Text(t.apply_typmod(typmod)?.to_storage())
        }
        TypeCodec::Array(element, ..) => {
            let mut array = Array::from_storage(&string(value)?, element).ok_or_else(|| bad_stored(ARRAY, value))?;
            for e in &mut array.elements {
                work::pulse(1);
                *e = apply_typmod(element, typmod, explicit, e.as_ref())?;
            }
            array.to_datum()
        }
        _ => codec.coerce_typmod(value, typmod, explicit)?,
    })
}

fn typmod(c: &Call) -> Result<Datum> {
    let codec = c.session.codec(type_argument(c, 0)?)?;
    apply_typmod(&codec, c.int(1)? as i32, c.bool(2)?, c.datum(3))
}

/// A part of a point, a line, a segment or a box.
fn part(c: &Call) -> Result<Datum> {
    if c.is_null(1) || c.is_null(2) {
        return Ok(Datum::Null);
    }
    geometry::part(c.datum(1), geometric_kind(c)?, c.int(2)?).map(Option::unwrap_or_default)
}
/// The value with that part changed. NULLs change nothing, as in every array of fixed length.
fn set_part(c: &Call) -> Result<Datum> {
    if c.is_null(3) {
        return Err(PgError::new(SqlState::NULL_VALUE_NOT_ALLOWED, "array subscript in assignment must not be null"));
    }
    if c.is_null(1) || c.is_null(2) {
        return Ok(c.datum(1).to_owned());
    }
    geometry::set_part(c.datum(1), geometric_kind(c)?, c.datum(2), c.int(3)?)
}
fn geometric_kind(c: &Call) -> Result<geometry::Kind> {
    match c.session.codec(type_argument(c, 0)?)? {
        TypeCodec::Geometric(kind) => Ok(kind),
        _ => Err(PgError::internal("a geometric type expected")),
    }
}

fn limit(c: &Call) -> Result<Datum> {
    let kind = c.int(1)?;
    if c.is_null(0) {
        if kind == 2 {
            return Err(PgError::new(
                SqlState::INVALID_ROW_COUNT_IN_LIMIT_CLAUSE,
                "row count cannot be null in FETCH FIRST ... WITH TIES clause",
            ));
        }
        return Ok(Datum::Int(-1));
    }
    let n = c.int(0)?;
    if n < 0 {
        return Err(if kind == 1 {
            PgError::new(SqlState::INVALID_ROW_COUNT_IN_RESULT_OFFSET_CLAUSE, "OFFSET must not be negative")
        } else {
            PgError::new(SqlState::INVALID_ROW_COUNT_IN_LIMIT_CLAUSE, "LIMIT must not be negative")
        });
    }
    Ok(Datum::Int(n))
}

fn check(c: &Call) -> Result<Datum> {
    if !c.is_null(1) && !c.bool(1)? {
        let (schema, table, constraint) = (c.text(2)?, c.text(3)?, c.text(4)?);
        return Err(PgError::new(
            SqlState::CHECK_VIOLATION,
            format!("new row for relation \"{table}\" violates check constraint \"{constraint}\""),
        )
        .schema(schema)
        .table(table)
        .constraint(constraint));
    }
    Ok(c.datum(0).to_owned())
}

fn view_check(c: &Call) -> Result<Datum> {
    if !c.bool(1)? {
        return Err(RowCheckOf::View(c.text(2)?.to_string()).violation());
    }
    Ok(c.datum(0).to_owned())
}

fn arbiter_check(c: &Call) -> Result<Datum> {
    if !c.bool(1)? {
        return Err(RowCheckOf::Arbiter.violation());
    }
    Ok(c.datum(0).to_owned())
}

fn partition_check(c: &Call) -> Result<Datum> {
    if !c.bool(1)? {
        let (schema, table) = (c.text(2)?.to_string(), c.text(3)?.to_string());
        return Err(RowCheckOf::Partition { schema, table }.violation());
    }
    Ok(c.datum(0).to_owned())
}

fn existing_check(c: &Call) -> Result<Datum> {
    if !c.bool(1)? {
        let policy = if c.is_null(3) { None } else { Some(c.text(3)?.to_string()) };
        return Err(RowCheckOf::Existing { table: c.text(2)?.to_string(), policy, merge: c.bool(4)? }.violation());
    }
    Ok(c.datum(0).to_owned())
}

fn policy_check(c: &Call) -> Result<Datum> {
    if !c.bool(1)? {
        let policy = if c.is_null(3) { None } else { Some(c.text(3)?.to_string()) };
        return Err(RowCheckOf::Policy { table: c.text(2)?.to_string(), policy }.violation());
    }
    Ok(c.datum(0).to_owned())
}

fn period_check(c: &Call) -> Result<Datum> {
    if !c.bool(1)? {
        let (table, column) = (c.text(2)?, c.text(3)?);
        return Err(PgError::new(
            SqlState::CHECK_VIOLATION,
            format!("empty WITHOUT OVERLAPS value found in column \"{column}\" in relation \"{table}\""),
        ));
    }
    Ok(c.datum(0).to_owned())
}

fn sequence_state(c: &Call) -> Result<Datum> {
    let sequences = c.session.state().sequences.clone();
    let sequences = sequences.ok_or_else(|| PgError::not_supported("a sequence outside a session"))?;
    let sequence = type_argument(c, 0)?;
    let (last, called) = match super::row_numbers::state(c, sequence)? {
        Some(state) => state,
        None => sequences.state(sequence)?,
    };
    Ok(if c.int(1)? == 0 { Datum::Int(last) } else { Datum::from(called) })
}

fn not_null(c: &Call) -> Result<Datum> {
    if c.is_null(0) {
        let (schema, table, column) = (c.text(1)?, c.text(2)?, c.text(3)?);
        return Err(PgError::new(
            SqlState::NOT_NULL_VIOLATION,
            format!("null value in column \"{column}\" of relation \"{table}\" violates not-null constraint"),
        )
        .schema(schema)
        .table(table)
        .column(column));
    }
    Ok(c.datum(0).to_owned())
}

/// A type as messages name it: with its schema, unless the search path finds it.
fn shown_type(c: &Call, schema: &str, name: &str) -> String {
    let state = c.session.state();
    let found = state.catalog.schema_oid(schema).and_then(|schema| state.catalog.type_in(schema, name));
    let names = pgsqlite_sql::deparse::Names::new(&state.catalog, &state.search_path);
    found.map_or_else(|| name.to_string(), |ty| names.type_name(ty, -1))
}

fn domain(c: &Call) -> Result<Datum> {
    let (schema, name) = (c.text(1)?, c.text(2)?);
    if c.is_null(0) && c.bool(3)? {
        let shown = shown_type(c, schema, name);
        return Err(PgError::new(SqlState::NOT_NULL_VIOLATION, format!("domain {shown} does not allow null values"))
            .schema(schema)
            .data_type(name));
    }
    for i in (4..c.len()).step_by(2) {
        if !c.is_null(i) && !c.bool(i)? {
            let constraint = c.text(i + 1)?;
            let shown = shown_type(c, schema, name);
            return Err(PgError::new(
                SqlState::CHECK_VIOLATION,
                format!("value for domain {shown} violates check constraint \"{constraint}\""),
            )
            .schema(schema)
            .data_type(name)
            .constraint(constraint));
        }
    }
    Ok(c.datum(0).to_owned())
}

/// A number with as many decimals as the column declares, as PostgreSQL shows it. Digits beyond them stay: they are the value.
fn padded(number: Datum, typmod: i32) -> Datum {
    let (Datum::Text(text), Some((_, scale))) = (&number, pgsqlite_types::typmod::numeric_precision_scale(typmod))
    else {
        return number;
    };
    if !text.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'-' | b'.')) {
        return number;
    }
    let decimals = text.split_once('.').map_or(0, |(_, d)| d.len());
    match (scale as usize).checked_sub(decimals).filter(|_| scale > 0) {
        Some(0) | None => number,
        Some(missing) => {
            let point = if decimals == 0 { "." } else { "" };
            Datum::Text(format!("{text}{point}{}", "0".repeat(missing)))
        }
    }
}

/// A value of another program's making, in the storage form of the column's type.
fn foreign(c: &Call) -> Result<Datum> {
    let type_oid = type_argument(c, 0)?;
    let codec = c.session.codec(type_oid)?;
    let place = c.text(2)?;
    let misfit = |e: PgError| PgError::new(e.code(), format!("{} in column {place}", e.message()));
    let through_text = |text: &str| c.session.with_context(|context| codec.text_in(text, -1, context)).map_err(misfit);
    let unreadable = |shown: String| {
        let name = pgsqlite_types::typmod::format_type(type_oid, -1).unwrap_or_default();
        PgError::new(
            SqlState::INVALID_TEXT_REPRESENTATION,
            format!("invalid input syntax for type {name}: \"{shown}\" in column {place}"),
        )
    };
    // Microseconds from 2000 of a moment given in seconds from 1970.
    let moment = |seconds: f64| {
        let micros = (seconds - 946_684_800.0) * 1e6;
        let t = Timestamp(micros.round() as i64);
        t.is_valid().then_some(t).ok_or_else(|| unreadable(seconds.to_string()))
    };
    match (c.datum(1), &codec) {
        (DatumRef::Null, _) => Ok(Datum::Null),
        (DatumRef::Int(i), TypeCodec::Bool) => Ok(Datum::from(i != 0)),
        (DatumRef::Int(i), TypeCodec::Int2 | TypeCodec::Int4 | TypeCodec::Int8 | TypeCodec::Oid) => Ok(Datum::Int(i)),
        (DatumRef::Real(r), TypeCodec::Int2 | TypeCodec::Int4 | TypeCodec::Int8)
            if r.fract() == 0.0 && r.abs() < 9e18 =>
        {
            Ok(Datum::Int(r as i64))
        }
        (DatumRef::Int(i), TypeCodec::Float4 | TypeCodec::Float8) => Ok(Datum::Real(i as f64)),
        (DatumRef::Real(r), TypeCodec::Float4 | TypeCodec::Float8) => Ok(Datum::Real(r)),
        (DatumRef::Int(i), TypeCodec::Numeric) => Ok(padded(Datum::Text(i.to_string()), c.int(3)? as i32)),
        (DatumRef::Real(r), TypeCodec::Numeric) => Ok(padded(Numeric::from_f64(r).to_datum(), c.int(3)? as i32)),
        (DatumRef::Text(t), TypeCodec::Numeric) => Ok(padded(through_text(t)?, c.int(3)? as i32)),
        (DatumRef::Int(i), TypeCodec::Timestamp | TypeCodec::TimestampTz) => {
            Ok(Datum::Text(moment(i as f64)?.to_storage()))
        }
        (DatumRef::Real(r), TypeCodec::Timestamp | TypeCodec::TimestampTz) => Ok(Datum::Text(moment(r)?.to_storage())),
        (DatumRef::Blob(b), TypeCodec::Bytea) => Ok(Datum::Blob(b.to_vec())),
        (DatumRef::Text(t), TypeCodec::Bytea) => Ok(Datum::Blob(t.as_bytes().to_vec())),
        (DatumRef::Int(i), TypeCodec::Text | TypeCodec::BpChar | TypeCodec::Name) => Ok(Datum::Text(i.to_string())),
        (DatumRef::Real(r), TypeCodec::Text | TypeCodec::BpChar | TypeCodec::Name) => {
            text_of(c.session, oid::FLOAT8, DatumRef::Real(r)).map(Datum::Text)
        }
        (DatumRef::Text(t), TypeCodec::Text | TypeCodec::BpChar | TypeCodec::Name) => Ok(Datum::from(t)),
        (DatumRef::Text(t), _) => through_text(t),
        (DatumRef::Int(i), _) => Err(unreadable(i.to_string())),
        (DatumRef::Real(r), _) => Err(unreadable(r.to_string())),
        (DatumRef::Blob(_), _) => Err(unreadable("a blob".into())),
    }
}

/// What messages call an array of whatever type that is not in the form that arrays are stored in.
pub(crate) const ARRAY: &str = "array";

// --- arrays as SQLite sees them: the JSON text, element by element --------------------------------------------------

/// One JSON value of a stored array: its text.
pub(crate) struct Items<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Items<'a> {
    /// The items of `[…]`.
    pub(crate) fn of(text: &'a str) -> Result<Items<'a>> {
        let inner = text
            .strip_prefix('[')
            .and_then(|t| t.strip_suffix(']'))
            .ok_or_else(|| bad_stored(ARRAY, DatumRef::Text(text)))?;
        Ok(Items { text: inner, at: 0 })
    }
}

impl<'a> Iterator for Items<'a> {
    type Item = &'a str;
    fn next(&mut self) -> Option<&'a str> {
        if self.at >= self.text.len() {
            return None;
        }
        let bytes = self.text.as_bytes();
        let (start, mut depth, mut quoted) = (self.at, 0usize, false);
        let mut i = start;
        while i < bytes.len() {
            work::pulse(1);
            match bytes[i] {
                b'\\' if quoted => i += 1,
                b'"' => quoted = !quoted,
                b'[' | b'{' if !quoted => depth += 1,
                b']' | b'}' if !quoted => depth = depth.saturating_sub(1),
                b',' if !quoted && depth == 0 => break,
                _ => {}
            }
            i += 1;
        }
        self.at = i + 1;
        Some(&self.text[start..i])
    }
}

/// A stored array without knowing its element type: numbers, strings and NULLs as JSON has them.
pub fn untyped(text: &str) -> Result<Array> {
    fn walk(text: &str, depth: usize, out: &mut Array) -> Result<()> {
        let mut count = 0;
        for item in Items::of(text)? {
            work::pulse(1);
            count += 1;
            if item.starts_with('[') {
                walk(item, depth + 1, out)?;
            } else {
                out.elements.push(scalar(item)?);
            }
        }
        if count > 0 {
            if out.dimensions.len() <= depth {
                out.dimensions.resize(depth + 1, 0);
            }
            out.dimensions[depth] = count;
        }
        Ok(())
    }
    let mut out = Array::default();
    let (lower, text) = split_bounds(text);
    walk(text, 0, &mut out)?;
    out.lower = lower;
    Ok(out)
}

/// A JSON scalar as a value in storage form.
fn scalar(item: &str) -> Result<Datum> {
    let malformed = || bad_stored(ARRAY, DatumRef::Text(item));
    Ok(match item.as_bytes().first() {
        Some(b'n') => Datum::Null,
        Some(b'"') => Datum::Text(serde_json::from_str(item).map_err(|_| malformed())?),
        _ => match item.parse::<i64>() {
            Ok(i) => Datum::Int(i),
            Err(_) => Datum::Real(item.parse().map_err(|_| malformed())?),
        },
    })
}

/// ARRAY[…]: of scalars, or of arrays that all have the same shape.
fn array(c: &Call) -> Result<Datum> {
    if !c.bool(0)? {
        return Ok(Array::from_elements((1..c.len()).map(|i| c.datum(i).to_owned()).collect()).to_datum());
    }
    let mut out = Array::default();
    let mut shape: Option<(Vec<usize>, Vec<i64>)> = None;
    for i in 1..c.len() {
        // A NULL or empty array among others has no shape.
        let inner = if c.is_null(i) { Array::default() } else { untyped(c.text(i)?)? };
        let own = (inner.dimensions.clone(), inner.lower_bounds());
        match &shape {
            None => shape = Some(own),
            Some(s) if *s == own => {}
            Some(_) => {
                return Err(PgError::new(
                    SqlState::ARRAY_SUBSCRIPT_ERROR,
                    "multidimensional arrays must have array expressions with matching dimensions",
                ))
            }
        }
        out.elements.extend(inner.elements);
    }
    let (shape, lower) = shape.unwrap_or_default();
    if shape.is_empty() {
        return Ok(Datum::from("[]"));
    }
    out.dimensions = std::iter::once(c.len() - 1).chain(shape).collect();
    out.lower = std::iter::once(1).chain(lower).collect();
    Ok(out.to_datum())
}

fn array_join(c: &Call) -> Result<Datum> {
    if !c.bool(0)? {
        // one-dimensional: the texts put together
        let mut out = String::from("[");
        for i in 1..c.len() {
            let inner = c.text(i)?;
            let inner = inner.strip_prefix('[').and_then(|t| t.strip_suffix(']'));
            let inner = inner.ok_or_else(|| bad_stored(ARRAY, c.datum(i)))?;
            if out.len() > 1 && !inner.is_empty() {
                out.push(',');
            }
            out.push_str(inner);
        }
        out.push(']');
        return Ok(Datum::from(out));
    }
    let mut out = Array::default();
    for i in 1..c.len() {
        let inner = untyped(c.text(i)?)?;
        if i > 1 && out.dimensions.get(1..) != inner.dimensions.get(1..) {
            return Err(PgError::new(
                SqlState::ARRAY_SUBSCRIPT_ERROR,
                "multidimensional arrays must have array expressions with matching dimensions",
            ));
        }
        match (out.dimensions.first_mut(), inner.dimensions.first()) {
            (Some(all), Some(more)) => *all += more,
            _ => (out.dimensions, out.lower) = (inner.dimensions, inner.lower),
        }
        out.elements.extend(inner.elements);
    }
    Ok(out.to_datum())
}

fn greatest(c: &Call) -> Result<Datum> {
    extreme(c, std::cmp::Ordering::Greater)
}

fn least(c: &Call) -> Result<Datum> {
    extreme(c, std::cmp::Ordering::Less)
}

fn extreme(c: &Call, wanted: std::cmp::Ordering) -> Result<Datum> {
    let codec = c.session.codec(type_argument(c, 0)?)?;
    let mut found: Option<usize> = None;
    for i in (1..c.len()).filter(|i| !c.is_null(*i)) {
        if found.is_none_or(|f| codec.compare_storage(c.datum(i), c.datum(f)) == wanted) {
            found = Some(i);
        }
    }
    Ok(found.map_or(Datum::Null, |i| c.datum(i).to_owned()))
}

fn flatten(c: &Call) -> Result<Datum> {
    if c.is_null(0) {
        return Ok(Datum::Null);
    }
    let text = split_bounds(c.text(0)?).1;
    if !text.starts_with("[[") {
        return Ok(Datum::from(text));
    }
    Ok(Array::from_elements(untyped(text)?.elements).to_datum())
}

fn element(c: &Call) -> Result<Datum> {
    if (0..c.len()).any(|i| c.is_null(i)) {
        return Ok(Datum::Null);
    }
    let (lower, mut item) = split_bounds(c.text(0)?);
    for i in 1..c.len() {
        let index = c.int(i)? - lower.get(i - 1).copied().unwrap_or(1);
        if !item.starts_with('[') || index < 0 {
            return Ok(Datum::Null);
        }
        match Items::of(item)?.nth(index as usize) {
            Some(next) => item = next,
            None => return Ok(Datum::Null),
        }
    }
    if item.starts_with('[') {
        return Ok(Datum::Null);
    }
    scalar(item)
}

fn slice(c: &Call) -> Result<Datum> {
    if (0..c.len()).any(|i| c.is_null(i)) {
        return Ok(Datum::Null);
    }
    let array = untyped(c.text(0)?)?;
    let wanted = (c.len() - 1) / 2;
    if wanted > array.dimensions.len() {
        return Ok(Datum::from("[]"));
    }
    let mut ranges = Vec::new();
    for (d, &length) in array.dimensions.iter().enumerate() {
        let bound = |i: usize, default: i64| match c.datum(i) {
            _ if d >= wanted => Ok(default),
            DatumRef::Text("") => Ok(default),
            _ => c.int(i),
        };
        let first = array.lower_bound(d);
        let last = first + length as i64 - 1;
        let low = bound(1 + 2 * d, first)?.max(first);
        let high = bound(2 + 2 * d, last)?.min(last);
        if low > high {
            return Ok(Datum::from("[]"));
        }
        ranges.push(((low - first) as usize, (high - first) as usize));
    }
    let mut elements = Vec::new();
    'each: for (i, e) in array.elements.iter().enumerate() {
        work::pulse(1);
        let mut rest = i;
        for (d, &length) in array.dimensions.iter().enumerate().rev() {
            let at = rest % length;
            rest /= length;
            if at < ranges[d].0 || at > ranges[d].1 {
                continue 'each;
            }
        }
        elements.push(e.clone());
    }
    let dimensions = ranges.iter().map(|(l, h)| h - l + 1).collect();
    Ok(Array { dimensions, lower: vec![], elements }.to_datum())
}

/// An element's cast where it is not that through the text form; None: it is.
fn element_cast(c: &Call, from: &TypeCodec, to: &TypeCodec, value: &Datum) -> Result<Option<Datum>> {
    use pgsqlite_types::datetime::{zone::Zone, Date};
    let width = match to {
        TypeCodec::Int2 => Some(Width::Two),
        TypeCodec::Int4 => Some(Width::Four),
        TypeCodec::Int8 => Some(Width::Eight),
        _ => None,
    };
    let stored = |name: &str| bad_stored(name, value.as_ref());
    let text = || match value {
        Datum::Text(t) => Ok(t.as_str()),
        _ => Err(stored("text")),
    };
    let rules = || Zone::Rules(c.session.state().settings.time_zone.clone());
    let day = || Date::from_storage(text()?).ok_or_else(|| stored("date"));
    let moment = || Timestamp::from_storage(text()?).ok_or_else(|| stored("timestamp"));
    Ok(Some(match (from, to) {
        // blanks at the end are not part of a character(n)
        (TypeCodec::BpChar, TypeCodec::Text) => Datum::from(text()?.trim_end_matches(' ')),
        (TypeCodec::Numeric, _) if width.is_some() => {
            Datum::Int(Numeric::from_datum(value.as_ref())?.to_int(width.unwrap_or(Width::Eight))?)
        }
        (TypeCodec::Float4 | TypeCodec::Float8, _) if width.is_some() => {
            let width = width.unwrap_or(Width::Eight);
            let rounded = pgsqlite_types::float::from_datum(value.as_ref())?.round_ties_even();
            let (low, high) = match width {
                Width::Two => (i16::MIN as f64, -(i16::MIN as f64)),
                Width::Four => (i32::MIN as f64, -(i32::MIN as f64)),
                Width::Eight => (i64::MIN as f64, -(i64::MIN as f64)),
            };
            if !(low..high).contains(&rounded) {
                return Err(width.out_of_range());
            }
            Datum::Int(rounded as i64)
        }
        (TypeCodec::Bool, TypeCodec::Int4) => value.clone(),
        (TypeCodec::Int4, TypeCodec::Bool) => Datum::from(*value != Datum::Int(0)),
        (TypeCodec::Bool, TypeCodec::Text | TypeCodec::BpChar) => {
            Datum::from(if *value == Datum::Int(0) { "false" } else { "true" })
        }
        (TypeCodec::Date, TypeCodec::Timestamp) => Datum::Text(day()?.to_timestamp()?.to_storage()),
        (TypeCodec::Date, TypeCodec::TimestampTz) => {
            let zone = c.session.state().settings.time_zone.clone();
            Datum::Text(day()?.to_timestamptz(&zone)?.to_storage())
        }
        (TypeCodec::Timestamp, TypeCodec::Date) => Datum::Text(moment()?.date().to_storage()),
        (TypeCodec::TimestampTz, TypeCodec::Date) => Datum::Text(moment()?.to_local(&rules())?.date().to_storage()),
        (TypeCodec::Timestamp, TypeCodec::TimestampTz) => Datum::Text(moment()?.to_utc(&rules())?.to_storage()),
        (TypeCodec::TimestampTz, TypeCodec::Timestamp) => Datum::Text(moment()?.to_local(&rules())?.to_storage()),
        _ => return Ok(None),
    }))
}

/// (source array type, target array type, array): a cast of each element.
fn array_cast(c: &Call) -> Result<Datum> {
    if c.is_null(2) {
        return Ok(Datum::Null);
    }
    let (source, target) = (c.session.codec(type_argument(c, 0)?)?, c.session.codec(type_argument(c, 1)?)?);
    let (TypeCodec::Array(from, ..), TypeCodec::Array(to, ..)) = (&source, &target) else {
        return Err(PgError::internal("an array cast between types that are no arrays"));
    };
    let mut array = Array::from_storage(c.text(2)?, from).ok_or_else(|| bad_stored(ARRAY, c.datum(2)))?;
    // the vectors of the catalogs begin at 0, and so do the arrays made of them
    if matches!(type_argument(c, 0)?, oid::INT2VECTOR | oid::OIDVECTOR) && !array.elements.is_empty() {
        array.lower = vec![0];
    }
    let is_oid = |codec: &TypeCodec| matches!(codec, TypeCodec::Oid | TypeCodec::Reg(_));
    let stored_alike = from == to || is_oid(from) && is_oid(to);
    for e in &mut array.elements {
        work::pulse(1);
        if !e.is_null() && !stored_alike {
            *e = match element_cast(c, from, to, e)? {
                Some(value) => value,
                None => {
                    let text = text_by(c.session, from, e.as_ref())?;
                    c.session.with_context(|context| to.text_in(&text, -1, context))?
                }
            };
        }
    }
    Ok(array.to_datum())
}

fn record_value(c: &Call) -> Result<Datum> {
    let fields = (0..c.len() / 2)
        .map(|i| Ok((type_argument(c, 2 * i)?, c.datum(2 * i + 1).to_owned())))
        .collect::<Result<Vec<_>>>()?;
    Ok(Datum::Text(record::to_storage(&fields)))
}

/// A scalar sub-query's only value.
#[derive(Default)]
struct Single(Option<Datum>);

impl State for Single {
    fn step(&mut self, call: &Call) -> Result<()> {
        if self.0.is_some() {
            return Err(PgError::new(
                SqlState::CARDINALITY_VIOLATION,
                "more than one row returned by a subquery used as an expression",
            ));
        }
        self.0 = Some(call.datum(0).to_owned());
        Ok(())
    }
    fn value(&mut self, _session: &SessionCell) -> Result<Datum> {
        Ok(self.0.clone().unwrap_or_default())
    }
}

/// The state of the aggregate that returns the only row of a sub-query.
pub fn new_single() -> Box<dyn State> {
    Box::<Single>::default()
}

/// Name, number of arguments, whether SQLite may reuse a result (those that read settings may differ between
/// statements, but not within one; an index over them would go stale, so they are not deterministic), function.
pub(crate) const FUNCTIONS: &[(&str, i32, bool, Scalar)] = &[
    (support::TEXT_IN, 3, true, text_in),
    (support::NO_COLLATION, 2, true, no_collation),
    (support::LOWER, 2, true, |c| cased(c, pgsqlite_types::collation::lower)),
    (support::UPPER, 2, true, |c| cased(c, pgsqlite_types::collation::upper)),
    (support::TEXT_OUT, 2, true, text_out),
    (support::TYPMOD, 4, true, typmod),
    (support::LIMIT, 2, true, limit),
    (support::CHECK, 5, true, check),
    (support::VIEW_CHECK, 3, true, view_check),
    (support::ARBITER_CHECK, 2, true, arbiter_check),
    (support::POLICY_CHECK, 4, true, policy_check),
    (support::PERIOD_CHECK, 4, true, period_check),
    (support::EXISTING_CHECK, 5, true, existing_check),
    (support::PARTITION_CHECK, 4, true, partition_check),
    // (what else it is given is there to be computed)
    (support::NOT_NULL, -1, true, not_null),
    (support::SEQUENCE, 2, false, sequence_state),
    (support::DOMAIN, -1, true, domain),
    (support::FOREIGN, 4, true, foreign),
    (support::ARRAY, -1, true, array),
    (support::ARRAY_JOIN, -1, true, array_join),
    (support::GREATEST, -1, true, greatest),
    (support::LEAST, -1, true, least),
    (support::FLATTEN, 1, true, flatten),
    (support::ELEMENT, -1, true, element),
    (support::PART, 3, true, part),
    (support::SET_PART, 4, true, set_part),
    (support::SLICE, -1, true, slice),
    (support::ARRAY_CAST, 3, true, array_cast),
    (support::RECORD, -1, true, record_value),
];
