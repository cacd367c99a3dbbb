//! The errors of EXCLUDE constraints. `shown`: the printed keys of the new row, then those of the other one.

use pgsqlite_sql::plan::Exclusion;
use pgsqlite_types::{PgError, SqlState};

fn error(exclusion: &Exclusion, message: String, schema: &str, table: &str) -> PgError {
    PgError::new(SqlState::EXCLUSION_VIOLATION, message).schema(schema).table(table).constraint(&exclusion.name)
}

/// `(keys)=(values)` of the new row and of the other.
fn both(exclusion: &Exclusion, shown: &[String]) -> (String, String) {
    let (new, other) = shown.split_at(exclusion.types.len());
    let text = |values: &[String]| format!("({})=({})", exclusion.keys, values.join(", "));
    (text(new), text(other))
}

/// A row that was written is related to another. `seen`: the role may read the keys.
pub fn violation(exclusion: &Exclusion, schema: &str, table: &str, shown: &[String], seen: bool) -> PgError {
    let message = format!("conflicting key value violates exclusion constraint \"{}\"", exclusion.name);
    let (new, other) = both(exclusion, shown);
    error(exclusion, message, schema, table).detail(match exclusion.hidden || !seen {
        true => "Key conflicts with existing key.".to_string(),
        false => format!("Key {new} conflicts with existing key {other}."),
    })
}

/// The constraint is made while rows are related.
pub(crate) fn unsatisfiable(exclusion: &Exclusion, schema: &str, table: &str, shown: &[String]) -> PgError {
    let message = format!("could not create exclusion constraint \"{}\"", exclusion.name);
    let (new, other) = both(exclusion, shown);
    error(exclusion, message, schema, table).detail(match exclusion.hidden {
        true => "Key conflicts exist.".to_string(),
        false => format!("Key {new} conflicts with key {other}."),
    })
}
