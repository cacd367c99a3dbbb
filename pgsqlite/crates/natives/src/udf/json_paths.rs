//! `jsonb_path_…` and the operators `@?`, `@@`: the paths are `pgsqlite_types::jsonpath`'s, the regular expressions ours.

use super::shim::{Call, Scalar};
use pgsqlite_types::array::Array;
use pgsqlite_types::json::{self, Flavor, Json};
use pgsqlite_types::jsonpath::eval::{run, Outcome};
use pgsqlite_types::{jsonpath, Datum, PgError, Result, SqlState};

/// Runs (target, path [, variables, silent]), `zoned`: in the session's time zone; the operators are silent, and their variables are null.
fn evaluate(c: &Call, all: bool, zoned: bool) -> Result<(Outcome, Vec<Json>, bool)> {
    let target = json::parse(c.text(0)?, Flavor::Jsonb)?;
    let path = jsonpath::parse(c.text(1)?)?;
    let (variables, silent) = match c.len() {
        2 => (None, true),
        _ => (Some(json::parse(c.text(2)?, Flavor::Jsonb)?), c.bool(3)?),
    };
    let matcher = |text: &str, pattern: &str, flags: &str| super::pattern::path_matches(c, text, pattern, flags);
    let settings = c.session.state().settings.clone();
    let (outcome, found) = run(&path, &target, variables.as_ref(), silent, all, &matcher, zoned.then_some(&settings))?;
    Ok((outcome, found, silent))
}
fn stored(value: &Json) -> Datum {
    Datum::Text(value.to_text())
}

fn exists(c: &Call, zoned: bool) -> Result<Datum> {
    Ok(match evaluate(c, false, zoned)?.0 {
        Outcome::Error => Datum::Null,
        outcome => Datum::from(outcome == Outcome::Found),
    })
}
fn matches(c: &Call, zoned: bool) -> Result<Datum> {
    let (outcome, found, silent) = evaluate(c, true, zoned)?;
    match (outcome, &found[..]) {
        (Outcome::Found, [Json::Bool(b)]) => Ok(Datum::from(*b)),
        (Outcome::Found, [Json::Null]) => Ok(Datum::Null),
        _ if silent => Ok(Datum::Null),
        _ => Err(PgError::new(SqlState::SINGLETON_SQL_JSON_ITEM_REQUIRED, "single boolean result is expected")),
    }
}
fn query(c: &Call, zoned: bool) -> Result<Datum> {
    let (_, found, _) = evaluate(c, true, zoned)?;
    Ok(Array::from_elements(found.iter().map(stored).collect()).to_datum())
}
fn query_array(c: &Call, zoned: bool) -> Result<Datum> {
    let (_, found, _) = evaluate(c, true, zoned)?;
    Ok(stored(&Json::Array(found)))
}
fn query_first(c: &Call, zoned: bool) -> Result<Datum> {
    let (_, found, _) = evaluate(c, true, zoned)?;
    Ok(found.first().map_or(Datum::Null, stored))
}

pub(crate) const FUNCTIONS: &[(&str, Scalar)] = &[
    ("jsonb_path_exists jsonb_path_exists_opr", |c| exists(c, false)),
    ("jsonb_path_exists_tz", |c| exists(c, true)),
    ("jsonb_path_match jsonb_path_match_opr", |c| matches(c, false)),
    ("jsonb_path_match_tz", |c| matches(c, true)),
    ("jsonb_path_query", |c| query(c, false)),
    ("jsonb_path_query_tz", |c| query(c, true)),
    ("jsonb_path_query_array", |c| query_array(c, false)),
    ("jsonb_path_query_array_tz", |c| query_array(c, true)),
    ("jsonb_path_query_first", |c| query_first(c, false)),
    ("jsonb_path_query_first_tz", |c| query_first(c, true)),
];
