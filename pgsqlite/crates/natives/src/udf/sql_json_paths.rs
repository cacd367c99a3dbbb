//! JSON_EXISTS, JSON_VALUE, JSON_QUERY and JSON_TABLE: a path is run over a document, and what it finds becomes a value of a type.

use super::json as document;
use super::json_build::write;
use super::records::from_json;
use super::shim::Call;
use super::sql_json::{document_text, is_json_type, told};
use pgsqlite_sql::sql_json::{
    Behavior, Evaluation, Operation, Passing, PathCall, Table, TableColumn, TableRows, Wrapper,
};
use pgsqlite_types::array::Array;
use pgsqlite_types::codec::TypeCodec;
use pgsqlite_types::json::moment::Moment;
use pgsqlite_types::json::{self, Flavor, Json};
use pgsqlite_types::jsonpath::eval::{run, Outcome};
use pgsqlite_types::jsonpath::{self, Path};
use pgsqlite_types::numeric::Numeric;
use pgsqlite_types::{oid, work, Datum, DatumRef, Oid, PgError, Result, Settings, SqlState};

/// What paths are run with: the values of PASSING, and the session's settings.
struct Running<'c, 'a> {
    c: &'c Call<'a>,
    variables: Json,
    settings: Settings,
}

impl Running<'_, '_> {
    /// Errors of the data are an outcome unless `raises`.
    fn run(&self, path: &Path, item: &Json, raises: bool, all: bool) -> Result<(Outcome, Vec<Json>)> {
        let matcher =
            |text: &str, pattern: &str, flags: &str| super::pattern::path_matches(self.c, text, pattern, flags);
        run(path, item, Some(&self.variables), !raises, all, &matcher, Some(&self.settings))
    }
}

/// A value of PASSING as an item.
fn item_of(c: &Call, ty: Oid, value: DatumRef) -> Result<Json> {
    if value.is_null() {
        return Ok(Json::Null);
    }
    let base = match c.session.state().catalog.base_type(ty) {
        oid::UNKNOWN => oid::TEXT,
        base => base,
    };
    let stored = |text: Option<Moment>| text.map(Json::Moment).ok_or_else(|| PgError::corrupted("a stored time"));
    Ok(match (c.session.codec(base)?, value) {
        (TypeCodec::Bool, v) => Json::Bool(v != DatumRef::Int(0)),
        (TypeCodec::Int2 | TypeCodec::Int4 | TypeCodec::Int8, DatumRef::Int(n)) => Json::Number(Numeric::from(n)),
        (TypeCodec::Numeric, v) => Json::Number(Numeric::from_datum(v)?),
        (TypeCodec::Float8, v) => Json::Number(Numeric::from_f64(pgsqlite_types::float::from_datum(v)?)),
        (TypeCodec::Float4, v) => Json::Number(Numeric::from_f32(pgsqlite_types::float::from_datum(v)? as f32)),
        (TypeCodec::Json | TypeCodec::Jsonb, DatumRef::Text(t)) => json::parse(t, Flavor::Jsonb)?,
        (TypeCodec::Date, DatumRef::Text(t)) => {
            stored(pgsqlite_types::datetime::Date::from_storage(t).map(Moment::Date))?
        }
        (TypeCodec::Time, DatumRef::Text(t)) => {
            stored(pgsqlite_types::datetime::Time::from_storage(t).map(Moment::Time))?
        }
        (TypeCodec::TimeTz, DatumRef::Text(t)) => {
            stored(pgsqlite_types::datetime::TimeTz::from_storage(t).map(Moment::TimeTz))?
        }
        (TypeCodec::Timestamp, DatumRef::Text(t)) => {
            stored(pgsqlite_types::datetime::Timestamp::from_storage(t).map(Moment::Timestamp))?
        }
        (TypeCodec::TimestampTz, DatumRef::Text(t)) => {
            stored(pgsqlite_types::datetime::Timestamp::from_storage(t).map(|t| Moment::TimestampTz(t, 0)))?
        }
        (_, DatumRef::Text(t)) if pgsqlite_types::catalog::by_oid(base).is_some_and(|t| t.category == b'S') => {
            Json::String(t.to_string())
        }
        (_, v) => {
            let mut out = String::new();
            write(c.session, base, v, &mut out)?;
            json::parse(&out, Flavor::Jsonb)?
        }
    })
}

fn variables(c: &Call, passing: &Passing, first: usize) -> Result<Json> {
    let mut pairs: Vec<(String, Json)> = Vec::new();
    // bounded: the variables that the statement names
    for (i, (name, ty)) in passing.names.iter().zip(&passing.types).enumerate() {
        // (the first of two with the same name counts)
        if !pairs.iter().any(|(other, _)| other == name) {
            pairs.push((name.clone(), item_of(c, *ty, c.datum(first + i))?));
        }
    }
    Ok(Json::Object(pairs))
}

fn document_of(c: &Call, at: usize) -> Result<Json> {
    json::parse(&document_text(c.datum(at))?, Flavor::Jsonb)
}

/// What a path has come to: a value, or why there is none.
enum Found {
    Value(Datum),
    Nothing,
    Failed,
}

/// Errors that no ON ERROR catches.
fn is_hard(e: &PgError) -> bool {
    matches!(
        e.code(),
        SqlState::FEATURE_NOT_SUPPORTED
            | SqlState::INTERNAL_ERROR
            | SqlState::DATA_CORRUPTED
            | SqlState::QUERY_CANCELED
            | SqlState::OUT_OF_MEMORY
            | SqlState::STATEMENT_TOO_COMPLEX
    )
}

/// JSON as a value of a type. `text`: the JSON text; `string`: the string that it is, where its quotes are left out.
fn coerced(c: &Call, of: &Evaluation, text: &str, string: Option<&str>) -> Result<Datum> {
    let base = c.session.state().catalog.base_type(of.ty);
    let typmod = if base == of.ty { of.typmod } else { c.session.state().catalog.domain_typmod(of.ty) };
    let codec = c.session.codec(base)?;
    let read = |text: &str| c.session.with_context(|context| codec.text_in(text, typmod, context));
    let is_structure = document::is_object(text) || document::is_array(text);
    let value = match (&codec, string) {
        (_, Some(string)) => read(string)?,
        // (OMIT QUOTES has the type's input read what is there, of whatever kind)
        (_, None) if of.omit_quotes => read(text)?,
        (TypeCodec::Array(..), None) if !document::is_array(text) => {
            return Err(PgError::new(SqlState::INVALID_TEXT_REPRESENTATION, "expected JSON array"));
        }
        (TypeCodec::Array(..), None) => from_json(c, "", text, base, typmod, None)?,
        (TypeCodec::Record | TypeCodec::Composite(_), None) if is_structure => {
            from_json(c, "", text, base, typmod, None)?
        }
        (TypeCodec::Record | TypeCodec::Composite(_), None) => {
            return Err(PgError::new(SqlState::INVALID_PARAMETER_VALUE, "cannot call populate_composite on a scalar"));
        }
        (_, None) => read(text)?,
    };
    in_domain(c, of.ty, base, value)
}

fn in_domain(c: &Call, ty: Oid, base: Oid, value: Datum) -> Result<Datum> {
    match ty == base {
        true => Ok(value),
        false => c.session.routines.assign(c, value, base, ty),
    }
}

/// The text of a scalar item as JSON_VALUE gives it. None: null.
fn scalar_text(c: &Call, item: &Json) -> Result<Option<String>> {
    let by = |ty: Oid, stored: String| {
        super::support::text_by(c.session, &c.session.codec(ty)?, DatumRef::Text(&stored)).map(Some)
    };
    match item {
        Json::Null => Ok(None),
        Json::Bool(b) => Ok(Some(if *b { "t" } else { "f" }.into())),
        Json::String(s) => Ok(Some(s.clone())),
        Json::Moment(Moment::Date(d)) => by(oid::DATE, d.to_storage()),
        Json::Moment(Moment::Time(t)) => by(oid::TIME, t.to_storage()),
        Json::Moment(Moment::TimeTz(t)) => by(oid::TIMETZ, t.to_storage()),
        Json::Moment(Moment::Timestamp(t)) => by(oid::TIMESTAMP, t.to_storage()),
        Json::Moment(Moment::TimestampTz(t, _)) => by(oid::TIMESTAMPTZ, t.to_storage()),
        other => Ok(Some(other.to_text())),
    }
}

/// What items a path finds become. `raises`: errors are raised.
fn found(r: &Running, of: &Evaluation, path: &Path, item: &Json, column: Option<&str>) -> Result<Found> {
    let c = r.c;
    let raises = of.on_error == Behavior::Error;
    if of.operation == Operation::Exists {
        let (outcome, _) = r.run(path, item, raises, false)?;
        return match outcome {
            Outcome::Error => Ok(Found::Failed),
            outcome => truth(c, of, outcome == Outcome::Found).map(Found::Value),
        };
    }
    let (outcome, items) = r.run(path, item, raises, true)?;
    if outcome == Outcome::Error {
        return Ok(Found::Failed);
    }
    let fails = |code: SqlState, message: String| match raises {
        true => Err(PgError::new(code, message)),
        false => Ok(Found::Failed),
    };
    let place = |of_column: &str, of_function: &str| match column {
        Some(column) => format!("JSON path expression for column \"{column}\" {of_column}"),
        None => format!("JSON path expression in {} {of_function}", of.operation.name()),
    };
    let made = match of.operation {
        Operation::Query => {
            let wraps = match of.wrapper {
                Wrapper::Without => false,
                Wrapper::Unconditional => !items.is_empty(),
                Wrapper::Conditional => items.len() > 1,
            };
            let value = match (wraps, &items[..]) {
                (true, _) => Json::Array(items),
                (false, []) => return Ok(Found::Nothing),
                (false, [one]) => one.clone(),
                (false, _) => {
                    let message = "must return single item when no wrapper is requested";
                    return match fails(SqlState::MORE_THAN_ONE_SQL_JSON_ITEM, place(message, message)) {
                        Err(e) => Err(e.hint("Use the WITH WRAPPER clause to wrap SQL/JSON items into an array.")),
                        failed => failed,
                    };
                }
            };
            let text = value.to_text();
            let string = match (&value, of.omit_quotes) {
                (Json::String(s), true) => Some(s.clone()),
                (Json::Moment(m), true) => Some(m.to_text()),
                _ => None,
            };
            coerced(c, of, &text, string.as_deref())
        }
        _ => {
            let one = match &items[..] {
                [] => return Ok(Found::Nothing),
                [one] => one,
                _ => {
                    let message = "must return single scalar item";
                    return fails(SqlState::MORE_THAN_ONE_SQL_JSON_ITEM, place(message, message));
                }
            };
            if matches!(one, Json::Array(_) | Json::Object(_)) {
                let message = "must return single scalar item";
                return fails(SqlState::SQL_JSON_SCALAR_REQUIRED, place(message, message));
            }
            match scalar_text(c, one)? {
                None => in_domain(c, of.ty, c.session.state().catalog.base_type(of.ty), Datum::Null),
                Some(_) if is_json_type(c, of.ty)? => coerced(c, of, &one.to_text(), None),
                Some(text) => coerced(c, of, "", Some(&text)),
            }
        }
    };
    match made {
        Ok(value) => Ok(Found::Value(value)),
        Err(e) if raises || is_hard(&e) => Err(e),
        Err(_) => Ok(Found::Failed),
    }
}

/// The value of JSON_EXISTS: a boolean, in JSON_TABLE an integer, too.
fn truth(c: &Call, of: &Evaluation, value: bool) -> Result<Datum> {
    let base = c.session.state().catalog.base_type(of.ty);
    in_domain(c, of.ty, base, value.into())
}

/// What stands for a value: ON EMPTY, ON ERROR.
fn otherwise(c: &Call, of: &Evaluation, behavior: Behavior, clause: &str) -> Result<Datum> {
    let base = c.session.state().catalog.base_type(of.ty);
    let made = match behavior {
        Behavior::Null | Behavior::Unknown => in_domain(c, of.ty, base, Datum::Null),
        Behavior::True => truth(c, of, true),
        Behavior::False => truth(c, of, false),
        Behavior::EmptyArray => coerced(c, of, "[]", None),
        Behavior::EmptyObject => coerced(c, of, "{}", None),
        Behavior::Default(argument) => in_domain(c, of.ty, base, c.datum(argument + 1).to_owned()),
        Behavior::Error => Err(PgError::internal("an error that was not raised")),
    };
    made.map_err(|e| match of.on_error == Behavior::Error || is_hard(&e) {
        true => e,
        false => {
            let words = behavior.words();
            let message = format!("could not coerce {clause} expression ({words}) to the RETURNING type");
            PgError::new(SqlState::DATATYPE_MISMATCH, message).detail(e.message().to_string())
        }
    })
}

fn evaluate(r: &Running, of: &Evaluation, path: &Path, item: &Json, column: Option<&str>) -> Result<Datum> {
    match found(r, of, path, item, column)? {
        Found::Value(value) => Ok(value),
        Found::Nothing if of.on_empty == Behavior::Error => {
            let of_column = column.map_or(String::new(), |column| format!(" of column \"{column}\""));
            let message = format!("no SQL/JSON item found for specified path{of_column}");
            Err(PgError::new(SqlState::NO_SQL_JSON_ITEM, message))
        }
        Found::Nothing => otherwise(r.c, of, of.on_empty, "ON EMPTY"),
        Found::Failed => otherwise(r.c, of, of.on_error, "ON ERROR"),
    }
}

/// (call, document, path, PASSING …, DEFAULT …)
pub(super) fn evaluate_call(c: &Call) -> Result<Datum> {
    let call: PathCall = told(c)?;
    if c.is_null(1) || c.is_null(2) {
        return Ok(Datum::Null);
    }
    let (item, path) = (document_of(c, 1)?, jsonpath::parse(c.text(2)?)?);
    let settings = c.session.state().settings.clone();
    let r = Running { c, variables: variables(c, &call.passing, 3)?, settings };
    evaluate(&r, &call.evaluation, &path, &item, None)
}

// --- JSON_TABLE ------------------------------------------------------------------------------------------------------

/// A [`TableRows`] whose paths were read.
struct Scan<'t> {
    path: Path,
    columns: Vec<Column<'t>>,
    nested: Vec<Scan<'t>>,
}
enum Column<'t> {
    Ordinality(usize),
    Value { name: &'t str, place: usize, path: Path, evaluation: &'t Evaluation },
}

impl<'t> Scan<'t> {
    fn of(rows: &'t TableRows) -> Result<Scan<'t>> {
        let mut scan = Scan { path: jsonpath::parse(&rows.path)?, columns: vec![], nested: vec![] };
        // bounded: the columns that the statement names
        for column in &rows.columns {
            match column {
                TableColumn::Ordinality(_, place) => scan.columns.push(Column::Ordinality(*place)),
                TableColumn::Value { name, place, path, evaluation, .. } => {
                    let path = jsonpath::parse(path)?;
                    scan.columns.push(Column::Value { name, place: *place, path, evaluation });
                }
                TableColumn::Nested(rows) => scan.nested.push(Scan::of(rows)?),
            }
        }
        Ok(scan)
    }

    /// Adds the rows of an item: each is `row` with the columns of this path and of those below it. Whether there was one.
    fn rows(&self, r: &Running, raises: bool, item: &Json, row: &[Datum], out: &mut Rows) -> Result<bool> {
        let (_, items) = match r.run(&self.path, item, raises, true)? {
            (Outcome::Error, _) => return Ok(false),
            found => found,
        };
        for (i, item) in items.iter().enumerate() {
            work::tick(16)?;
            let mut row = row.to_vec();
            for column in &self.columns {
                work::tick(1)?;
                match column {
                    Column::Ordinality(place) => row[*place] = Datum::Int(i as i64 + 1),
                    Column::Value { name, place, path, evaluation } => {
                        row[*place] = evaluate(r, evaluation, path, item, Some(name))?;
                    }
                }
            }
            let mut any = false;
            for nested in &self.nested {
                work::tick(1)?;
                any |= nested.rows(r, raises, item, &row, out)?;
            }
            if !any {
                out.push(row)?;
            }
        }
        Ok(!items.is_empty())
    }
}

/// The rows as a JSON array, each an array of its columns, or its only column.
struct Rows {
    text: String,
    single: bool,
}
impl Rows {
    fn push(&mut self, row: Vec<Datum>) -> Result<()> {
        let before = self.text.len();
        self.text.push(if before == 0 { '[' } else { ',' });
        let row = Array::from_elements(row).to_storage();
        self.text.push_str(if self.single { &row[1..row.len() - 1] } else { &row });
        work::room(self.text.len() - before)
    }
}

/// (table, document, PASSING …, DEFAULT …) → JSON array of rows
pub(super) fn table(c: &Call) -> Result<Datum> {
    let table: Table = told(c)?;
    if c.is_null(1) {
        return Ok(Datum::from("[]"));
    }
    let settings = c.session.state().settings.clone();
    let r = Running { c, variables: variables(c, &table.passing, 2)?, settings };
    let mut out = Rows { text: String::new(), single: table.width == 1 };
    let row = vec![Datum::Null; table.width];
    Scan::of(&table.rows)?.rows(&r, table.raises, &document_of(c, 1)?, &row, &mut out)?;
    Ok(Datum::Text(if out.text.is_empty() { "[]".into() } else { out.text + "]" }))
}
