//! What inverted indexes (`pgsqlite_types::inverted`) are kept and asked with: functions that lowered statements and the triggers
//! of `ddl/inverted.rs` call. They hand terms and covers to SQLite as JSON, which `json_each` takes apart.

use super::shim::{Call, Scalar};
use pgsqlite_sql::lower::support;
use pgsqlite_types::inverted::{covers, terms, Cover, Kind, Strategy};
use pgsqlite_types::{Datum, Result};

/// (kind, value) → JSON array of terms; NULL has none.
fn terms_of(c: &Call) -> Result<Datum> {
    if c.is_null(1) {
        return Ok(Datum::Null);
    }
    let terms = terms(Kind::named(c.text(0)?)?, c.text(1)?)?;
    Ok(Datum::Text(serde_json::Value::from(terms).to_string()))
}

/// (kind, strategy, value) → JSON array of covers: a satisfying value has a term of each; NULL: none in particular.
fn covers_of(c: &Call) -> Result<Datum> {
    if c.is_null(2) {
        return Ok(Datum::Null);
    }
    let covers = covers(Kind::named(c.text(0)?)?, Strategy::named(c.text(1)?)?, c.text(2)?)?;
    let shown = |cover: Cover| serde_json::json!({ "exact": cover.exact, "ranges": cover.ranges });
    Ok(match covers {
        Some(covers) => Datum::Text(serde_json::Value::from_iter(covers.into_iter().map(shown)).to_string()),
        None => Datum::Null,
    })
}

/// (name, arity, deterministic, function)
pub(crate) const FUNCTIONS: &[(&str, i32, bool, Scalar)] =
    &[(support::TERMS, 2, true, terms_of), (support::COVERS, 3, true, covers_of)];
