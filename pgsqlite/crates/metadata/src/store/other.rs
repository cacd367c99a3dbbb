//! What another database of the server says of itself: its file is looked at for a moment, without being served.

use super::transactions::{self, Recorded};
use super::{base, read_properties, read_roles, sqlite_error, version};
use pgsqlite_sql::catalog::{Catalog, BOOTSTRAP_ROLE};
use pgsqlite_types::{Oid, PgError, Result};
use std::path::Path;

/// Another database.
pub struct Other {
    /// of its pages, those in the write-ahead log among them
    pub bytes: i64,
    /// its roles, owner and privileges; nothing else is read
    pub catalog: Catalog,
}

impl Other {
    /// The role there that a role here is: the one of the same name, as each file has its own. None: the file has no such role.
    pub fn role_of(&self, here: &Catalog, role: Oid) -> Option<Oid> {
        counterpart(here, role, &self.catalog)
    }

    /// Its owner as a role here.
    pub fn owner_in(&self, here: &Catalog) -> Option<Oid> {
        counterpart(&self.catalog, self.catalog.properties.owner, here)
    }
}

fn counterpart(from: &Catalog, role: Oid, to: &Catalog) -> Option<Oid> {
    match role {
        // it may have got a name of its own
        BOOTSTRAP_ROLE => Some(BOOTSTRAP_ROLE),
        role => to.role_named(&from.roles.get(&role)?.name).map(|r| r.oid),
    }
}

/// Reads from a file that is there. Errors: 55000 for a file with several names; what SQLite says of it.
pub fn look(path: &Path) -> Result<Other> {
    reading(path, |conn| {
        let sql = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size";
        let bytes =
            conn.query_row(sql, [], |row| row.get(0)).map_err(|e| pgsqlite_storage::error::open_error(path, e))?;
        let mut catalog = base::catalog().clone();
        if version(conn)?.is_some() {
            read_roles(conn, &mut catalog)?;
            read_properties(conn, &mut catalog)?;
        }
        Ok(Other { bytes, catalog })
    })
}

/// What a file that is there has recorded of a transaction. Errors: as of [`look`].
pub fn recorded(path: &Path, transaction: u64) -> Result<Recorded> {
    reading(path, |conn| transactions::recorded(conn, transaction))
}

/// How many prepared transactions a file that is there has. Errors: as of [`look`].
pub fn prepared(path: &Path) -> Result<u64> {
    reading(path, super::prepared::count)
}

/// Opens a file for a moment.
fn reading<T>(path: &Path, read: impl FnOnce(&rusqlite::Connection) -> Result<T>) -> Result<T> {
    let open_error = |e| pgsqlite_storage::error::open_error(path, e);
    pgsqlite_storage::files::check_name(path)?;
    let conn = pgsqlite_storage::vfs::open::open_existing(path)?;
    // (a connection that may write, too, so that it tidies up as the last one: nothing stays beside the file)
    let begin = |conn: &rusqlite::Connection| -> std::result::Result<(), rusqlite::Error> {
        conn.busy_timeout(std::time::Duration::from_secs(1))?;
        conn.execute_batch("PRAGMA query_only = ON; BEGIN")
    };
    begin(&conn).map_err(open_error)?;
    let found = read(&conn)?;
    conn.execute_batch("COMMIT").map_err(sqlite_error)?;
    // (its statements are closed before)
    conn.flush_prepared_statement_cache();
    conn.close().map_err(|(_, e)| -> PgError { open_error(e) })?;
    Ok(found)
}
