//! What clones of a database are made from.

use crate::connection::Connection;
use pgsqlite_metadata::store;
use pgsqlite_sql::catalog::Catalog;
use pgsqlite_storage::files::Room;
use pgsqlite_storage::in_memory::MemoryFolder;
use pgsqlite_types::Result;
use std::sync::Arc;

/// The state of a database at some time: a copy of its file that nobody opens, with the catalog that was read from it.
pub(crate) struct Image {
    /// the mark of the original's log; None: it has none, and nobody knows whether the image is still right
    pub mark: Option<u64>,
    /// keeps the file locked, so that its folder does not look abandoned
    pub room: Arc<Room>,
    pub _folder: MemoryFolder,
    /// what the file says, and whether it has tables of ours yet
    pub read: Read,
}

/// What is read from a file to open it.
#[derive(Clone)]
pub(crate) struct Read {
    pub catalog: Arc<Catalog>,
    pub version: Option<i64>,
    /// the highest number of a transaction that it knows
    pub highest: u64,
}

impl Read {
    pub fn of(room: &Arc<Room>) -> Result<Read> {
        let connection = Connection::open_in(room)?;
        // (SQLite's own copy has another mode)
        connection.exec("PRAGMA synchronous = OFF; PRAGMA journal_mode = WAL")?;
        let version = store::version(connection.rusqlite())?;
        let highest = store::transactions::highest(connection.rusqlite())?;
        Ok(Read { catalog: Arc::new(store::load(connection.rusqlite())?), version, highest })
    }
}
