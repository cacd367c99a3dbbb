//! SET CONSTRAINTS in a body, and what is due when a statement of a body has ended.

use super::{after, Host};
use crate::constraint_modes::Modes;
use crate::constraints::{foreign_keys, is_due, keys, modes_after, Looking, Reads};
use libsqlite3_sys as ffi;
use pgsqlite_sql::analyze::Environment;
use pgsqlite_sql::catalog::{Catalog, Relation};
use pgsqlite_sql::parse::ast;
use pgsqlite_types::codec::Context;
use pgsqlite_types::{Datum, PgError, Result};

/// SET CONSTRAINTS. What becomes immediate is carried out now, and looked at. Errors: 42704, 42809, 23503, 23505, those of triggers; 0A000 where a
/// statement that changes data is in the midst of its rows, and SQLite would have to wait with the rest of them.
pub(super) fn set(host: Host, statement: &ast::ConstraintsSetStmt) -> Result<()> {
    let routines = host.routines();
    let (catalog, path) = (host.catalog(), host.cell.state().search_path.clone());
    let modes = modes_after(&catalog, &path, &routines.modes.borrow(), statement)?;
    routines.modes.borrow_mut().clone_from(&modes);
    routines.modes_set.set(true);
    defer_in_sqlite(host, &catalog, &modes)?;
    let due = |oid| is_due(&catalog, &modes, oid);
    after::run_pending(host, due)?;
    check(host, 0)
}

/// How many rows the connection has noted: before a statement of a body.
pub(super) fn noted(host: Host) -> u64 {
    host.routines().written.lock().now()
}

/// What is due when a statement of a body has changed data: deferrable keys that are immediate, and foreign keys that SQLite waits with since
/// SET CONSTRAINTS. `since`: see [`noted`].
pub(super) fn statement_ends(host: Host, since: u64) -> Result<()> {
    let routines = host.routines();
    let waits = routines.written.lock().is_watching() || may_wait(host);
    match waits {
        true => check(host, since),
        false => Ok(()),
    }
}

/// Whether SQLite may wait with foreign keys that are immediate: also where the transaction has gone back behind SET CONSTRAINTS.
fn may_wait(host: Host) -> bool {
    let routines = host.routines();
    routines.modes_set.get() || !routines.modes.borrow().is_default()
}

fn check(host: Host, since: u64) -> Result<()> {
    host.with_environment_of_now(|environment| check_in(host, environment, since))
}

fn check_in(host: Host, environment: &Environment, since: u64) -> Result<()> {
    let routines = host.routines();
    let modes = routines.modes.borrow().clone();
    let server = host.cell.state().server.clone();
    let context = Context { settings: environment.settings, names: environment.names };
    let was = |sql: &str, key: &[Datum]| server.as_ref().is_some_and(|server| server.was_committed(sql, key));
    let (catalog, role) = (environment.catalog, environment.user);
    let looking = Looking { catalog, context: &context, role, now: &host, was: &was, event: None };
    let written = |table: &Relation| keys::rows_of(&routines.written.lock(), table);
    let wanted = |c: &pgsqlite_sql::catalog::Constraint| !modes.is_deferred(c);
    if let Some((_, error)) = keys::violated(&looking, environment, &written, since, wanted)? {
        return Err(error);
    }
    // (a data modification around looks at its own when it ends)
    if may_wait(host) && has_deferred_violations(host) && !is_changing(host) {
        if let Some(error) = foreign_keys::violated(&looking, wanted)? {
            return Err(error);
        }
    }
    Ok(())
}

/// Makes SQLite wait with all foreign keys where one that it would check at once is deferred now. (The session does that where the transaction
/// has not begun in SQLite.)
fn defer_in_sqlite(host: Host, catalog: &Catalog, modes: &Modes) -> Result<()> {
    let must = |c: &pgsqlite_sql::catalog::Constraint| modes.is_deferred(c) && !c.initially_deferred;
    // SAFETY: a live connection.
    if unsafe { ffi::sqlite3_get_autocommit(host.db) } != 0 || foreign_keys::foreign_keys(catalog, must).is_empty() {
        return Ok(());
    }
    let waits = host.first_row("PRAGMA defer_foreign_keys", &[])?;
    if waits.is_some_and(|row| row.first() == Some(&Datum::Int(1))) {
        return Ok(());
    }
    if is_changing(host) {
        return Err(PgError::not_supported("SET CONSTRAINTS … DEFERRED in a function that a data modification calls"));
    }
    host.exec("PRAGMA defer_foreign_keys = ON")
}

/// Whether a statement of SQLite that changes data is in the midst of its rows: it counts the foreign keys that it violates by itself.
fn is_changing(host: Host) -> bool {
    // SAFETY: a live connection, whose statements are not finalized meanwhile.
    unsafe {
        let mut statement = ffi::sqlite3_next_stmt(host.db, std::ptr::null_mut());
        while !statement.is_null() {
            pgsqlite_types::work::visit();
            if ffi::sqlite3_stmt_busy(statement) != 0 && ffi::sqlite3_stmt_readonly(statement) == 0 {
                return true;
            }
            statement = ffi::sqlite3_next_stmt(host.db, statement);
        }
    }
    false
}

fn has_deferred_violations(host: Host) -> bool {
    let (mut now, mut highest) = (0, 0);
    // SAFETY: a live connection and two places for numbers.
    unsafe { ffi::sqlite3_db_status(host.db, ffi::SQLITE_DBSTATUS_DEFERRED_FKS, &mut now, &mut highest, 0) };
    now != 0
}

impl Reads for Host<'_> {
    fn all_rows(&self, sql: &str, parameters: &[Datum]) -> Result<Vec<Vec<Datum>>> {
        use rusqlite::types::Value;
        let value = |datum: &Datum| match datum {
            Datum::Null => Value::Null,
            Datum::Int(i) => Value::Integer(*i),
            Datum::Real(r) => Value::Real(*r),
            Datum::Text(t) => Value::Text(t.clone()),
            Datum::Blob(b) => Value::Blob(b.clone()),
        };
        let datum = |value: Value| match value {
            Value::Null => Datum::Null,
            Value::Integer(i) => Datum::Int(i),
            Value::Real(r) => Datum::Real(r),
            Value::Text(t) => Datum::Text(t),
            Value::Blob(b) => Datum::Blob(b),
        };
        let connection = self.connection()?;
        let read = || -> rusqlite::Result<Vec<Vec<Datum>>> {
            let mut statement = connection.prepare(sql)?;
            let columns = statement.column_count();
            let given = rusqlite::params_from_iter(parameters.iter().map(value));
            let rows = statement.query_map(given, |row| (0..columns).map(|i| row.get(i).map(datum)).collect())?;
            rows.collect()
        };
        read().map_err(|_| self.error())
    }
}
