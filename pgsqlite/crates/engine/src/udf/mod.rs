//! PostgreSQL's functions as native functions of a SQLite connection.
//!
//! The table in `pgsqlite_sql::builtins::imp` says which functions are native; the sub-modules implement them by
//! PostgreSQL's own C symbol (`pg_proc.prosrc`), so that all OIDs that share one share the implementation. Values are in
//! storage form throughout. [`register_all`] is called once per connection.

pub mod collation;
pub mod pattern;
pub mod session_cell;
pub mod shim;

pub use session_cell::{SessionCell, SessionState};

use pgsqlite_types::Result;
use std::sync::Arc;

/// Registers all functions, aggregates and collations on a connection.
pub fn register_all(conn: &rusqlite::Connection, state: Arc<SessionCell>) -> Result<()> {
    // SAFETY: the handle is used while `conn` is borrowed.
    let db = unsafe { conn.handle() };
    collation::register(db, &state)?;
    Ok(())
}
