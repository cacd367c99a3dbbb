//! Tables that a statement makes for itself: rows between its steps, transition tables of triggers.
//!
//! They are in a database in memory of their own, [`SCRATCH`], which a connection attaches when the first one is made. In `temp` they
//! would be in the way of what is running: SQLite gives up every statement of a connection whose `temp` schema changes meanwhile.

use super::Host;
use libsqlite3_sys as ffi;
use pgsqlite_sql::lower::{scratch_name, SCRATCH};
use pgsqlite_types::Result;

/// Whether the connection has the database.
pub fn is_attached(db: *mut ffi::sqlite3) -> bool {
    // SAFETY: a live connection and a name that ends with a null byte; nothing is kept.
    unsafe { ffi::sqlite3_txn_state(db, c"pg_scratch".as_ptr()) >= 0 }
}

/// Forgets all rows there. Must be called outside a transaction.
pub fn clear(db: &rusqlite::Connection) {
    // SAFETY: the handle is used while `db` is borrowed.
    if !is_attached(unsafe { db.handle() }) {
        return;
    }
    let names = db
        .prepare_cached("SELECT name FROM pg_scratch.sqlite_schema WHERE type = 'table'")
        .and_then(|mut s| s.query_map([], |r| r.get::<_, String>(0))?.collect::<rusqlite::Result<Vec<_>>>());
    let cleared = names.and_then(|names| {
        names.iter().try_for_each(|name| db.execute_batch(&format!("DELETE FROM {}", scratch_name(name))))
    });
    if let Err(error) = cleared {
        tracing::debug!(%error, "rows of a statement that has ended stay in memory");
    }
}

/// Sees to it that the connection has the database.
pub fn attach(host: Host) -> Result<()> {
    match is_attached(host.db) {
        true => Ok(()),
        false => host.exec(&format!("ATTACH ':memory:' AS {SCRATCH}")),
    }
}

/// An empty table with the columns `c1`, `c2` … without types. One that is there is emptied if it has as many columns: statements that
/// are running may have it open.
pub fn empty_table(host: Host, table: &str, columns: usize) -> Result<()> {
    attach(host)?;
    let name = scratch_name(table);
    let names: Vec<String> = (1..=columns).map(|i| format!("c{i}")).collect();
    host.exec(&format!("CREATE TABLE IF NOT EXISTS {name} ({}); DELETE FROM {name}", names.join(", ")))?;
    let same = host.prepare(&format!("SELECT * FROM {name}")).is_ok_and(|s| s.column_count() == columns);
    match same {
        true => Ok(()),
        // that of another statement
        false => host.exec(&format!("DROP TABLE {name}; CREATE TABLE {name} ({})", names.join(", "))),
    }
}

/// The INSERT that fills such a table.
pub fn insert(table: &str, columns: usize) -> String {
    let places: Vec<String> = (1..=columns).map(|i| format!("?{i}")).collect();
    format!("INSERT INTO {} VALUES ({})", scratch_name(table), places.join(", "))
}
