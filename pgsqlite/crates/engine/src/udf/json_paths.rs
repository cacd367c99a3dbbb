//! `jsonb_path_…` and the operators `@?`, `@@`: the paths are `pgsqlite_types::jsonpath`'s, the regular expressions ours.

use super::shim::{Call, Scalar};
use pgsqlite_types::array::Array;
use pgsqlite_types::json::{self, Flavor, Json};
use pgsqlite_types::jsonpath::eval::{run, Outcome};
use pgsqlite_types::{jsonpath, Datum, PgError, Result, SqlState};

/// Runs (target, path [, variables, silent]); the operators have no variables and are silent.
fn evaluate(c: &Call, all: bool) -> Result<(Outcome, Vec<Json>, bool)> {
    let target = json::parse(c.text(0)?, Flavor::Jsonb)?;
    let path = jsonpath::parse(c.text(1)?)?;
    let (variables, silent) = match c.len() {
        2 => (Json::Object(vec![]), true),
        _ => (json::parse(c.text(2)?, Flavor::Jsonb)?, c.bool(3)?),
    };
    let matcher = |text: &str, pattern: &str, flags: &str| super::pattern::path_matches(c, text, pattern, flags);
    let (outcome, found) = run(&path, &target, &variables, silent, all, &matcher)?;
    Ok((outcome, found, silent))
}
fn stored(value: &Json) -> Datum {
    Datum::Text(value.to_text())
}

fn exists(c: &Call) -> Result<Datum> {
    Ok(match evaluate(c, false)?.0 {
        Outcome::Error => Datum::Null,
        outcome => Datum::from(outcome == Outcome::Found),
    })
}
fn matches(c: &Call) -> Result<Datum> {
    let (outcome, found, silent) = evaluate(c, true)?;
    match (outcome, &found[..]) {
        (Outcome::Found, [Json::Bool(b)]) => Ok(Datum::from(*b)),
        (Outcome::Found, [Json::Null]) => Ok(Datum::Null),
        _ if silent => Ok(Datum::Null),
        _ => Err(PgError::new(SqlState::SINGLETON_SQL_JSON_ITEM_REQUIRED, "single boolean result is expected")),
    }
}
fn query(c: &Call) -> Result<Datum> {
    let (_, found, _) = evaluate(c, true)?;
    Ok(Array::from_elements(found.iter().map(stored).collect()).to_datum())
}
fn query_array(c: &Call) -> Result<Datum> {
    let (_, found, _) = evaluate(c, true)?;
    Ok(stored(&Json::Array(found)))
}
fn query_first(c: &Call) -> Result<Datum> {
    let (_, found, _) = evaluate(c, true)?;
    Ok(found.first().map_or(Datum::Null, stored))
}

pub(super) const FUNCTIONS: &[(&str, Scalar)] = &[
    ("jsonb_path_exists jsonb_path_exists_tz jsonb_path_exists_opr", exists),
    ("jsonb_path_match jsonb_path_match_tz jsonb_path_match_opr", matches),
    ("jsonb_path_query jsonb_path_query_tz", query),
    ("jsonb_path_query_array jsonb_path_query_array_tz", query_array),
    ("jsonb_path_query_first jsonb_path_query_first_tz", query_first),
];
