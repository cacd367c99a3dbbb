//! Connections with PostgreSQL's functions, and the cell through which those see the session.

use crate::natives::{new_cell, register_all};
use crate::routine::{scratch, HasRoutines};
use libsqlite3_sys as ffi;
use parking_lot::Mutex;
use pgsqlite_natives::udf::SessionCell;
use pgsqlite_storage::changes::recorder::Recorder;
pub use pgsqlite_storage::connection::{Natives, PlanStep};
pub use pgsqlite_storage::sqlite_statement::{Counted, RawStatement, Step};
use pgsqlite_storage::written::Written;
use pgsqlite_types::{PgError, Result};
use std::cell::Cell;
use std::ffi::c_int;
use std::sync::Arc;

/// A connection with PostgreSQL's functions.
pub type Connection = pgsqlite_storage::connection::Connection<PostgresNatives>;

/// Connections waiting to be leased.
pub type Idle = pgsqlite_storage::connection::Idle<PostgresNatives>;

/// PostgreSQL's functions, system tables and collations, and the users' functions.
pub enum PostgresNatives {}

// SAFETY: a runtime's `written` and `recorder` are never replaced.
unsafe impl Natives for PostgresNatives {
    type Cell = SessionCell;

    fn register(connection: &rusqlite::Connection) -> Result<Arc<SessionCell>> {
        let cell = new_cell();
        register_all(connection, cell.clone())?;
        pgsqlite_objects::vtab::register(connection, &cell)?;
        Ok(cell)
    }

    fn finalize(cell: &SessionCell) {
        cell.routines().clear();
    }

    /// Outside a transaction: the rows that statements have left there are forgotten.
    fn clear(connection: &Connection) {
        if connection.is_autocommit() {
            scratch::clear(connection.rusqlite());
        }
    }

    fn written(cell: &SessionCell) -> &Arc<Mutex<Written>> {
        &cell.routines().written
    }

    fn recorder(cell: &SessionCell) -> &Arc<Mutex<Recorder>> {
        &cell.routines().recorder
    }

    fn changes_before(cell: &SessionCell) -> &Cell<i64> {
        &cell.changes_before
    }

    fn has_made_temporary(cell: &SessionCell) -> bool {
        cell.routines().temporary.take()
    }

    unsafe fn count_pages(cell: &SessionCell, db: *mut ffi::sqlite3) {
        cell.pages.count(db);
    }

    fn take_error(cell: &SessionCell) -> Option<PgError> {
        cell.take_error()
    }

    fn statement_error(cell: &SessionCell, code: c_int, message: &str) -> PgError {
        pgsqlite_metadata::error::from_sqlite(code, message, Some(&cell.state().catalog))
    }
}
