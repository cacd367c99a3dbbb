//! Transactions that go on with another snapshot, or begin to write in the one that they read.

use super::{Connection, Natives};
use crate::error;
use libsqlite3_sys as ffi;
use pgsqlite_types::{PgError, Result, SqlState};

impl<N: Natives> Connection<N> {
    /// Takes the write lock in a transaction that has begun to read the newest snapshot. False: another program has it, or has just written.
    pub fn try_write_lock(&self) -> Result<bool> {
        // (changes nothing but, in a file with auto_vacuum, where a free page is)
        match self.without_patience(|| self.exec("PRAGMA main.incremental_vacuum(1)")) {
            Ok(()) if self.has_begun_to_write() => Ok(true),
            Ok(()) => Err(PgError::internal("SQLite has not taken the write lock")),
            Err(e) if [SqlState::LOCK_NOT_AVAILABLE, SqlState::SERIALIZATION_FAILURE].contains(&e.code()) => Ok(false),
            Err(e) => Err(e),
        }
    }

    /// Whether this connection reads the same state of the file as another one. Both are within transactions that have read.
    pub fn reads_snapshot_of(&self, other: &Connection<N>) -> Result<bool> {
        // None: there was nothing in the log, and nothing is written back to the file before the transaction ends
        let snapshot = |connection: &Connection<N>| -> Result<Option<*mut ffi::sqlite3_snapshot>> {
            let mut snapshot = std::ptr::null_mut();
            // SAFETY: a live connection of this thread.
            match unsafe { ffi::sqlite3_snapshot_get(connection.handle(), c"main".as_ptr(), &mut snapshot) } {
                ffi::SQLITE_OK => Ok(Some(snapshot)),
                ffi::SQLITE_ERROR if connection.is_reading() => Ok(None),
                _ => Err(connection.error()),
            }
        };
        let own = snapshot(self)?;
        let others = snapshot(other);
        let same = match (own, &others) {
            // SAFETY: two snapshots of one file.
            (Some(own), Ok(Some(others))) => unsafe { ffi::sqlite3_snapshot_cmp(own, *others) == 0 },
            (own, others) => own.is_none() && matches!(others, Ok(None)),
        };
        for snapshot in own.into_iter().chain(others.as_ref().ok().copied().flatten()) {
            // SAFETY: each is freed once, after its last use.
            unsafe { ffi::sqlite3_snapshot_free(snapshot) };
        }
        others.map(|_| same)
    }

    /// Goes on with the snapshot that another connection reads. False: a checkpoint keeps it from that for a moment.
    pub fn take_snapshot_of(&self, newest: &Connection<N>) -> Result<bool> {
        let mut snapshot = std::ptr::null_mut();
        // SAFETY: live connections of this thread; the snapshot is freed once, after its last use.
        let rc = unsafe {
            match ffi::sqlite3_snapshot_get(newest.handle(), c"main".as_ptr(), &mut snapshot) {
                ffi::SQLITE_OK => {}
                // the log is empty: nothing was written since this transaction pinned it
                ffi::SQLITE_ERROR => return Ok(true),
                _ => return Err(newest.error()),
            }
            let rc = ffi::sqlite3_snapshot_open(self.handle(), c"main".as_ptr(), snapshot);
            ffi::sqlite3_snapshot_free(snapshot);
            rc
        };
        match rc {
            ffi::SQLITE_OK => Ok(true),
            // it has given up its snapshot: the next statement takes the newest
            _ if !self.is_reading() => Ok(true),
            ffi::SQLITE_ERROR_SNAPSHOT => Err(PgError::new(
                SqlState::SERIALIZATION_FAILURE,
                "could not serialize access due to concurrent update",
            )
            .detail("Another program has begun the write-ahead log anew, and this transaction has changed temporary tables.")),
            rc if rc & 0xff == ffi::SQLITE_BUSY => Ok(false),
            rc => Err(error::from_sqlite(rc, "the newest snapshot could not be read")),
        }
    }
}
