//! The numbers of rows that leave out the INTEGER PRIMARY KEY of a table that another program made.
//!
//! PostgreSQL's clients see an identity column with a sequence, but nothing is counted anywhere: the sequence stands where the
//! table does. So a statement asks for a row's number with [`support::NEXT_ROW_NUMBER`] before it stores the row, and gets the one that SQLite
//! would have given; `currval` and `lastval` tell it afterwards. A number without a row would be given twice, so `nextval` is refused.

use super::shim::{Call, Scalar};
use pgsqlite_metadata::store::sequence_relation::highest_row_number;
use pgsqlite_sql::catalog::RelationKind;
use pgsqlite_sql::lower::support;
use pgsqlite_types::{Datum, Oid, PgError, Result, SqlState};

/// The name of the sequence if it stands for the numbers of a table's rows.
fn named(c: &Call, sequence: Oid) -> Option<String> {
    let state = c.session.state();
    let relation = state.catalog.relation(sequence)?;
    match &relation.kind {
        RelationKind::Sequence(s) => s.row_numbers.map(|_| relation.name.clone()),
        _ => None,
    }
}

fn highest(c: &Call, sequence: Oid) -> Result<Option<i64>> {
    let catalog = c.session.state().catalog.clone();
    // SAFETY: the handle belongs to the engine; this view of it does not close it.
    let connection =
        unsafe { rusqlite::Connection::from_handle(c.connection()) }.map_err(pgsqlite_metadata::store::sqlite_error)?;
    highest_row_number(&connection, &catalog, sequence)
}

/// (last_value, is_called) of a sequence that stands for the numbers of a table's rows; None: it is another one.
pub fn state(c: &Call, sequence: Oid) -> Result<Option<(i64, bool)>> {
    if named(c, sequence).is_none() {
        return Ok(None);
    }
    let highest = highest(c, sequence)?;
    Ok(Some((highest.unwrap_or(1), highest.is_some())))
}

/// 0A000 for what would have to count apart from the table's rows.
pub fn refuse(c: &Call, sequence: Oid, function: &str) -> Result<()> {
    match named(c, sequence) {
        Some(name) => {
            Err(PgError::not_supported(format!("{function} of sequence \"{name}\", whose numbers SQLite gives"))
                .hint("Leave the column out of INSERT, or give it DEFAULT."))
        }
        None => Ok(()),
    }
}

fn next_row_number(c: &Call) -> Result<Datum> {
    let sequence = c.int(0)? as Oid;
    let before = c.session.rows.given.borrow().get(&sequence).copied();
    let next = match highest(c, sequence)?.max(before) {
        None => 1,
        // (SQLite looks for a number at random then)
        Some(i64::MAX) => {
            let name = named(c, sequence).unwrap_or_default();
            let message = format!("nextval: reached maximum value of sequence \"{name}\" ({})", i64::MAX);
            return Err(PgError::new(SqlState::SEQUENCE_GENERATOR_LIMIT_EXCEEDED, message));
        }
        Some(highest) => highest + 1,
    };
    c.session.rows.given.borrow_mut().insert(sequence, next);
    if let Some(sequences) = c.session.state().sequences.clone() {
        sequences.given(sequence, next);
    }
    Ok(Datum::Int(next))
}

/// (name, number of arguments, deterministic, function)
pub(crate) const FUNCTIONS: &[(&str, i32, bool, Scalar)] = &[(support::NEXT_ROW_NUMBER, 1, false, next_row_number)];
