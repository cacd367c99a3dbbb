//! The functions that lowering calls besides those of the table (`pgsqlite_sql::lower::support` says what each does).

use crate::udf::shim::{aggregate, scalar, Call, State, Traits};
use crate::udf::SessionCell;
use pgsqlite_sql::lower::support as name;
use pgsqlite_types::codec::TypeCodec;
use pgsqlite_types::{Datum, DatumRef, Oid, PgError, Result, SqlState};
use serde_json::Value;
use std::sync::Arc;

/// Registers them with a connection.
pub fn register(conn: &rusqlite::Connection, cell: &Arc<SessionCell>) -> Result<()> {
    // SAFETY: the handle is used while `conn` is borrowed.
    let db = unsafe { conn.handle() };
    let plain = |arity| Traits { arity, strict: false, deterministic: true };
    let strict = |arity| Traits { arity, strict: true, deterministic: true };
    scalar(db, cell, name::TEXT_IN, Traits { arity: 3, strict: true, deterministic: false }, text_in)?;
    scalar(db, cell, name::TEXT_OUT, strict(2), text_out)?;
    scalar(db, cell, name::TYPMOD, strict(4), typmod)?;
    scalar(db, cell, name::LIMIT, plain(2), limit)?;
    scalar(db, cell, name::CHECK, plain(4), check)?;
    scalar(db, cell, name::DOMAIN, plain(-1), domain)?;
    scalar(db, cell, name::FOREIGN, plain(3), foreign)?;
    scalar(db, cell, name::ARRAY, plain(-1), array)?;
    scalar(db, cell, name::FLATTEN, strict(1), flatten)?;
    scalar(db, cell, name::ELEMENT, strict(-1), element)?;
    scalar(db, cell, name::SLICE, strict(-1), slice)?;
    scalar(db, cell, name::ARRAY_CAST, strict(3), array_cast)?;
    scalar(db, cell, name::RECORD, plain(-1), record)?;
    aggregate(db, cell, name::SINGLE, plain(1), || Box::<Single>::default())
}

fn oid(call: &Call, i: usize) -> Result<Oid> {
    Oid::try_from(call.int(i)?).map_err(|_| PgError::internal("a type OID is out of range"))
}

fn text_in(call: &Call) -> Result<Datum> {
    let codec = call.session.codec(oid(call, 0)?)?;
    let (typmod, text) = (call.int(1)? as i32, call.text(2)?);
    call.session.with_context(|context| codec.text_in(text, typmod, context))
}

fn text_out(call: &Call) -> Result<Datum> {
    let codec = call.session.codec(oid(call, 0)?)?;
    to_text(call.session, &codec, call.datum(1)).map(Datum::Text)
}

fn to_text(session: &SessionCell, codec: &TypeCodec, value: DatumRef) -> Result<String> {
    let mut out = Vec::new();
    session.with_context(|context| codec.text_out(value, context, &mut out))?;
    String::from_utf8(out).map_err(|_| PgError::internal("text output that is not UTF-8"))
}

fn typmod(call: &Call) -> Result<Datum> {
    let codec = call.session.codec(oid(call, 0)?)?;
    codec.coerce_typmod(call.datum(3), call.int(1)? as i32, call.bool(2)?)
}

fn limit(call: &Call) -> Result<Datum> {
    let is_offset = call.bool(1)?;
    if call.is_null(0) {
        return Ok(Datum::Int(if is_offset { 0 } else { -1 }));
    }
    let n = call.int(0)?;
    if n >= 0 {
        return Ok(Datum::Int(n));
    }
    Err(if is_offset {
        PgError::new(SqlState::INVALID_ROW_COUNT_IN_RESULT_OFFSET_CLAUSE, "OFFSET must not be negative")
    } else {
        PgError::new(SqlState::INVALID_ROW_COUNT_IN_LIMIT_CLAUSE, "LIMIT must not be negative")
    })
}

fn check(call: &Call) -> Result<Datum> {
    if call.is_null(1) || call.bool(1)? {
        return Ok(call.datum(0).to_owned());
    }
    let (table, constraint) = (call.text(2)?, call.text(3)?);
    Err(PgError::new(
        SqlState::CHECK_VIOLATION,
        format!("new row for relation \"{table}\" violates check constraint \"{constraint}\""),
    )
    .table(table)
    .constraint(constraint))
}

fn domain(call: &Call) -> Result<Datum> {
    let (schema, domain) = (call.text(1)?, call.text(2)?);
    if call.bool(3)? && call.is_null(0) {
        return Err(PgError::new(SqlState::NOT_NULL_VIOLATION, format!("domain {domain} does not allow null values"))
            .schema(schema)
            .data_type(domain));
    }
    for i in (4..call.len()).step_by(2) {
        if !call.is_null(i) && !call.bool(i)? {
            let constraint = call.text(i + 1)?;
            return Err(PgError::new(
                SqlState::CHECK_VIOLATION,
                format!("value for domain {domain} violates check constraint \"{constraint}\""),
            )
            .schema(schema)
            .data_type(domain)
            .constraint(constraint));
        }
    }
    Ok(call.datum(0).to_owned())
}

fn foreign(call: &Call) -> Result<Datum> {
    if call.is_null(1) {
        return Ok(Datum::Null);
    }
    let type_oid = oid(call, 0)?;
    let codec = call.session.codec(type_oid)?;
    let place = call.text(2)?;
    pgsqlite_types::foreign::normalize(&codec, -1, call.datum(1)).map_err(|e| e.context(format!("column {place}")))
}

// --- arrays: JSON text --------------------------------------------------------------------------------------------------

/// A value as an array's element.
fn to_json(value: DatumRef) -> Value {
    match value {
        DatumRef::Null => Value::Null,
        DatumRef::Int(i) => Value::from(i),
        DatumRef::Real(r) => serde_json::Number::from_f64(r)
            .map_or_else(|| Value::from(if r > 0.0 { "Infinity" } else { "-Infinity" }), Value::Number),
        DatumRef::Text(t) => Value::from(t),
        DatumRef::Blob(b) => Value::from(format!("\\x{}", hex::encode(b))),
    }
}

/// An array's element as a value; elements of bytea arrays stay in their text form (callers refuse those).
fn from_json(value: &Value) -> Datum {
    match value {
        Value::Null => Datum::Null,
        Value::Bool(b) => Datum::Int(*b as i64),
        Value::Number(n) => n.as_i64().map_or_else(|| Datum::Real(n.as_f64().unwrap_or(f64::NAN)), Datum::Int),
        Value::String(s) => Datum::Text(s.clone()),
        other => Datum::Text(other.to_string()),
    }
}

fn parse(text: &str) -> Result<Value> {
    serde_json::from_str(text).map_err(|_| {
        PgError::new(SqlState::INVALID_TEXT_REPRESENTATION, format!("malformed array in storage: \"{text}\""))
    })
}

fn array(call: &Call) -> Result<Datum> {
    let nested = call.bool(0)?;
    let mut items = Vec::with_capacity(call.len() - 1);
    for i in 1..call.len() {
        items.push(match call.datum(i) {
            // a NULL sub-array counts as an empty one
            DatumRef::Null if nested => continue,
            DatumRef::Text(t) if nested => parse(t)?,
            other => to_json(other),
        });
    }
    if nested {
        let mut lengths = items.iter().map(|v| v.as_array().map_or(0, Vec::len));
        let first = lengths.next();
        if lengths.any(|n| Some(n) != first) {
            return Err(PgError::new(
                SqlState::ARRAY_SUBSCRIPT_ERROR,
                "multidimensional arrays must have array expressions with matching dimensions",
            ));
        }
        if first == Some(0) {
            return Ok(Datum::Text("[]".into()));
        }
    }
    Ok(Datum::Text(Value::Array(items).to_string()))
}

fn flatten(call: &Call) -> Result<Datum> {
    let text = call.text(0)?;
    if !text.starts_with("[[") {
        return Ok(Datum::Text(text.into()));
    }
    let mut out = Vec::new();
    fn walk(value: Value, out: &mut Vec<Value>) {
        match value {
            Value::Array(items) => items.into_iter().for_each(|v| walk(v, out)),
            other => out.push(other),
        }
    }
    walk(parse(text)?, &mut out);
    Ok(Datum::Text(Value::Array(out).to_string()))
}

fn element(call: &Call) -> Result<Datum> {
    let mut value = parse(call.text(0)?)?;
    for i in 1..call.len() {
        let index = call.int(i)?;
        let Value::Array(mut items) = value else { return Ok(Datum::Null) };
        match usize::try_from(index - 1).ok().filter(|&n| n < items.len()) {
            Some(n) => value = items.swap_remove(n),
            None => return Ok(Datum::Null),
        }
    }
    // fewer subscripts than dimensions: NULL
    Ok(if value.is_array() { Datum::Null } else { from_json(&value) })
}

fn slice(call: &Call) -> Result<Datum> {
    let mut bounds = Vec::new();
    for i in (1..call.len()).step_by(2) {
        let bound = |i: usize| -> Result<Option<i64>> {
            match call.datum(i) {
                DatumRef::Text(_) => Ok(None),
                _ => call.int(i).map(Some),
            }
        };
        bounds.push((bound(i)?, bound(i + 1)?));
    }
    fn cut(value: Value, bounds: &[(Option<i64>, Option<i64>)]) -> Value {
        let (Value::Array(items), Some(((lower, upper), rest))) = (value, bounds.split_first().map(|(b, r)| (*b, r)))
        else {
            return Value::Array(vec![]);
        };
        let n = items.len() as i64;
        let from = lower.unwrap_or(1).max(1);
        let to = upper.unwrap_or(n).min(n);
        let kept: Vec<Value> = items
            .into_iter()
            .enumerate()
            .filter(|(i, _)| (from..=to).contains(&(*i as i64 + 1)))
            .map(|(_, v)| if rest.is_empty() { v } else { cut(v, rest) })
            .filter(|v| rest.is_empty() || v.as_array().is_some_and(|a| !a.is_empty()))
            .collect();
        Value::Array(kept)
    }
    let whole = parse(call.text(0)?)?;
    Ok(Datum::Text(cut(whole, &bounds).to_string()))
}

fn array_cast(call: &Call) -> Result<Datum> {
    let (from, to) = (call.session.codec(oid(call, 0)?)?, call.session.codec(oid(call, 1)?)?);
    let text = to_text(call.session, &from, call.datum(2))?;
    call.session.with_context(|context| to.text_in(&text, -1, context))
}

fn record(call: &Call) -> Result<Datum> {
    let mut fields = Vec::new();
    for i in (0..call.len()).step_by(2) {
        fields.push(Value::Array(vec![Value::from(call.int(i)?), to_json(call.datum(i + 1))]));
    }
    Ok(Datum::Text(Value::Array(fields).to_string()))
}

/// The only value of a scalar sub-query.
#[derive(Default)]
struct Single {
    value: Option<Datum>,
}

impl State for Single {
    fn step(&mut self, call: &Call) -> Result<()> {
        if self.value.is_some() {
            return Err(PgError::new(
                SqlState::CARDINALITY_VIOLATION,
                "more than one row returned by a subquery used as an expression",
            ));
        }
        self.value = Some(call.datum(0).to_owned());
        Ok(())
    }
    fn value(&mut self, _session: &SessionCell) -> Result<Datum> {
        Ok(self.value.clone().unwrap_or_default())
    }
}
