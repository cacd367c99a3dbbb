//! Sizes of relations and databases (bytes of their pages in the file) and of values, and how sizes are written.

use crate::pg_catalog::cluster;
use pgsqlite_natives::udf::shim::{Call, Scalar};
use pgsqlite_natives::udf::strings::invalid_parameter;
use pgsqlite_sql::acl::privilege;
use pgsqlite_sql::catalog::{Relation, RelationKind};
use pgsqlite_types::codec::TypeCodec;
use pgsqlite_types::int::Width;
use pgsqlite_types::numeric::Numeric;
use pgsqlite_types::work;
use pgsqlite_types::{Datum, DatumRef, Oid, PgError, Result, SqlState};

/// What of a relation to count.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    Own,
    Indexes,
    All,
}

/// Bytes of a relation; NULL if there is none of that OID. What has no pages of its own (views, sequences, catalogs) has none.
fn relation(c: &Call, part: Part) -> Result<Datum> {
    let oid = c.int(0)? as Oid;
    let state = c.session.state();
    let Some(relation) = state.catalog.relation(oid) else {
        let system = pgsqlite_sql::builtins::catalog::system_relations().iter().any(|r| r.oid == oid);
        let composite = state.catalog.composite_of_class(oid).is_some();
        return Ok((system || composite).then_some(0i64).into());
    };
    let is_index = matches!(relation.kind, RelationKind::Index(_));
    let bytes = match part {
        Part::Own => pages(c, relation, "name = ?1")?,
        Part::Indexes if is_index => 0,
        Part::All if is_index => pages(c, relation, "name = ?1")?,
        Part::Indexes => pages(c, relation, &belonging(relation, " AND type = 'index'"))?,
        Part::All => pages(c, relation, &belonging(relation, ""))?,
    };
    Ok(Datum::Int(bytes))
}
fn schema_of(relation: &Relation) -> &'static str {
    if relation.temporary {
        "temp"
    } else {
        "main"
    }
}
fn belonging(relation: &Relation, condition: &str) -> String {
    format!("name IN (SELECT name FROM {}.sqlite_schema WHERE tbl_name = ?1{condition})", schema_of(relation))
}
fn pages(c: &Call, relation: &Relation, condition: &str) -> Result<i64> {
    let sql = format!("SELECT sum(pgsize) FROM dbstat('{}', 1) WHERE {condition}", schema_of(relation));
    c.query_integer(&sql, &[&relation.sqlite_name])
}
fn fork(c: &Call) -> Result<Datum> {
    match c.text(1)? {
        "main" => relation(c, Part::Own),
        "fsm" | "vm" | "init" => Ok(Datum::Int(0)),
        _ => Err(invalid_parameter("invalid fork name")
            .hint("Valid fork names are \"main\", \"fsm\", \"vm\", and \"init\".")),
    }
}
/// `pg_database_size`, of another database by its file: NULL if no database has the OID. Errors: 42501 without CONNECT.
fn database(c: &Call) -> Result<Datum> {
    let state = c.session.state();
    let Some(database) = cluster::database_argument(&state, c.datum(0))? else { return Ok(Datum::Null) };
    if database.number == cluster::OWN {
        let sql = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size";
        return c.query_integer(sql, &[]).map(Datum::Int);
    }
    let other = database.look(&state)?;
    let connect = [(privilege::CONNECT, false)];
    if !super::privileges::has_on_other(&state, &other, state.user_oid, &connect) {
        let message = format!("permission denied for database {}", database.name);
        return Err(PgError::new(SqlState::INSUFFICIENT_PRIVILEGE, message));
    }
    Ok(Datum::Int(other.bytes))
}

/// `pg_column_size`: of a type with a fixed length that; of others the bytes that the value has in the file.
fn column(c: &Call) -> Result<Datum> {
    if c.is_null(1) {
        return Ok(Datum::Null);
    }
    let written = c.types()?.args.first().copied().unwrap_or_default();
    let state = c.session.state();
    let ty = state.catalog.base_type(written);
    let length = match pgsqlite_types::catalog::by_oid(ty) {
        Some(t) => t.len,
        None if matches!(c.session.codec(ty)?, TypeCodec::Enum(_)) => 4,
        None => -1,
    };
    Ok(Datum::Int(match (length, c.datum(1)) {
        (1.., _) => length.into(),
        // a literal of no type is a C string, which has a zero at its end
        (-2, DatumRef::Text(text)) => text.len() as i64 + 1,
        (_, DatumRef::Text(text)) => text.len() as i64,
        (_, DatumRef::Blob(bytes)) => bytes.len() as i64,
        // a number that another program has stored
        (_, _) => 8,
    }))
}

// --- writing and reading sizes ---------------------------------------------------------------------------------------

const UNITS: [&str; 5] = ["kB", "MB", "GB", "TB", "PB"];

/// Halves are rounded away from zero, and a unit is left when it comes to 10 of the next 1024.
fn pretty(c: &Call) -> Result<Datum> {
    let mut size = c.int(0)? as i128;
    if size.abs() < 10 * 1024 {
        return Ok(Datum::Text(format!("{size} bytes")));
    }
    let half = |v: i128| if v < 0 { (v - 1) / 2 } else { (v + 1) / 2 };
    size /= 1 << 9;
    for unit in UNITS {
        work::visit();
        if size.abs() < 20 * 1024 - 1 || unit == "PB" {
            return Ok(Datum::Text(format!("{} {unit}", half(size))));
        }
        size /= 1 << 10;
    }
    Err(PgError::internal("a size without unit"))
}
fn shown(size: &Numeric) -> String {
    let mut out = Vec::new();
    size.write(&mut out);
    String::from_utf8_lossy(&out).into_owned()
}
fn pretty_numeric(c: &Call) -> Result<Datum> {
    let mut size = c.numeric(0)?;
    let n = |v: i64| Numeric::from(v);
    if size.abs() < n(10 * 1024) {
        return Ok(Datum::Text(format!("{} bytes", shown(&size))));
    }
    let half = |v: &Numeric| {
        let one = if v.is_negative() { n(-1) } else { n(1) };
        v.add(&one)?.div_trunc(&n(2))
    };
    size = size.div_trunc(&n(1 << 9))?;
    for unit in UNITS {
        work::visit();
        if size.abs() < n(20 * 1024 - 1) || unit == "PB" {
            return Ok(Datum::Text(format!("{} {unit}", shown(&half(&size)?))));
        }
        size = size.div_trunc(&n(1 << 10))?;
    }
    Err(PgError::internal("a size without unit"))
}
fn bytes(c: &Call) -> Result<Datum> {
    let whole = c.text(0)?;
    let bad = || invalid_parameter(format!("invalid size: \"{whole}\""));
    let text = whole.trim_matches([' ', '\t', '\n', '\r', '\x0b', '\x0c']);
    let digits = |s: &str| s.len() - s.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let mut end = text.len() - text.trim_start_matches(['+', '-']).len();
    if end > 1 {
        return Err(bad());
    }
    let before = digits(&text[end..]);
    end += before;
    let mut after = 0;
    if text[end..].starts_with('.') {
        after = digits(&text[end + 1..]);
        end += 1 + after;
    }
    if before + after == 0 {
        return Err(bad());
    }
    if text[end..].starts_with(['e', 'E']) {
        let sign = text[end + 1..].starts_with(['+', '-']) as usize;
        let exponent = digits(&text[end + 1 + sign..]);
        if exponent > 0 {
            end += 1 + sign + exponent;
        }
    }
    let number = Numeric::from_text(&text[..end])?;
    let unit = text[end..].trim_start();
    let factor: i64 = match unit.to_ascii_lowercase().as_str() {
        "" | "bytes" | "b" => 1,
        "kb" => 1 << 10,
        "mb" => 1 << 20,
        "gb" => 1 << 30,
        "tb" => 1 << 40,
        "pb" => 1 << 50,
        _ => {
            return Err(bad()
                .detail(format!("Invalid size unit: \"{unit}\"."))
                .hint("Valid units are \"bytes\", \"B\", \"kB\", \"MB\", \"GB\", \"TB\", and \"PB\"."))
        }
    };
    let size = if factor > 1 { number.mul(&Numeric::from(factor))? } else { number };
    size.to_int(Width::Eight).map(Datum::Int).map_err(|e| match e.code() {
        SqlState::NUMERIC_VALUE_OUT_OF_RANGE => PgError::new(e.code(), "bigint out of range"),
        _ => e,
    })
}

pub(crate) const FUNCTIONS: &[(&str, Scalar)] = &[
    ("pg_relation_size(regclass)", |c| relation(c, Part::Own)),
    ("pg_relation_size", fork),
    ("pg_table_size", |c| relation(c, Part::Own)),
    ("pg_indexes_size", |c| relation(c, Part::Indexes)),
    ("pg_total_relation_size", |c| relation(c, Part::All)),
    ("pg_database_size_name", database),
    ("pg_database_size_oid", database),
    ("pg_column_size", column),
    ("pg_size_pretty", pretty),
    ("pg_size_pretty_numeric", pretty_numeric),
    ("pg_size_bytes", bytes),
];
