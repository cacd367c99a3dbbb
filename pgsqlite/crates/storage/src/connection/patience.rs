//! Waiting for the locks of other programs.
//!
//! SQLite's own way to wait is to sleep on the thread that asks. A statement that is about to write waits as a task instead, and ends
//! as it does while it waits for other sessions: by a cancel request, statement_timeout, lock_timeout or termination
//! (the session's `begin_immediate`). What else meets such a lock (a reader while another program recovers the log) waits
//! here, until the connection is interrupted or [`LONGEST`] is over.

use super::{Connection, Natives};
use libsqlite3_sys as ffi;
use pgsqlite_types::{Result, SqlState};
use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::time::Duration;

/// The longest pause between two attempts.
const PAUSE: Duration = Duration::from_millis(25);
/// So long a thread waits.
const LONGEST: Duration = Duration::from_secs(5);

/// The pause after so many attempts.
pub fn pause(attempts: u32) -> Duration {
    Duration::from_millis(1 << attempts.min(5)).min(PAUSE)
}

/// How a connection waits.
#[derive(Default)]
pub(crate) struct Patience {
    /// it does not
    none: Cell<bool>,
    db: Cell<Option<std::ptr::NonNull<ffi::sqlite3>>>,
}

// SAFETY: the connection's own handle, used by the thread that uses the connection.
unsafe impl Send for Patience {}

/// SQLite's busy handler: 0 gives up.
unsafe extern "C" fn wait(patience: *mut c_void, attempts: c_int) -> c_int {
    // SAFETY: that of a connection, on whose thread SQLite calls this.
    let patience = unsafe { &*patience.cast::<Patience>() };
    let Some(db) = patience.db.get() else { return 0 };
    let waited = PAUSE * attempts.max(0) as u32;
    // SAFETY: the handler is called by the connection that it belongs to.
    if patience.none.get() || waited > LONGEST || unsafe { ffi::sqlite3_is_interrupted(db.as_ptr()) } != 0 {
        return 0;
    }
    std::thread::sleep(pause(attempts.max(0) as u32));
    1
}

impl<N: Natives> Connection<N> {
    /// Waits for the locks of other programs from now on.
    pub(crate) fn wait_for_others(&self) {
        self.patience.db.set(std::ptr::NonNull::new(self.handle()));
        let patience: *const Patience = &self.patience;
        // SAFETY: a live connection; the box that the address is in lives as long as the connection.
        unsafe { ffi::sqlite3_busy_handler(self.handle(), Some(wait), patience.cast_mut().cast()) };
    }

    /// Runs something that gives up at once where another program has a lock.
    pub(crate) fn without_patience<R>(&self, run: impl FnOnce() -> R) -> R {
        self.patience.none.set(true);
        let result = run();
        self.patience.none.set(false);
        result
    }

    /// BEGIN IMMEDIATE without waiting. False: another program has a lock.
    pub fn try_begin_immediate(&self) -> Result<bool> {
        match self.without_patience(|| self.command("BEGIN IMMEDIATE")) {
            Ok(()) => Ok(true),
            Err(e) if e.code() == SqlState::LOCK_NOT_AVAILABLE => Ok(false),
            Err(e) => Err(e),
        }
    }

    /// Whether another program writes this database's log back.
    fn leaves_log(&self) -> bool {
        self.rusqlite().path().is_some_and(|path| crate::checkpoints::are_left(std::path::Path::new(path)))
    }

    /// CHECKPOINT: writes back what can be of the log without waiting for anybody, and empties the log if that was all. Returns whether
    /// it is empty. One that is left to another program stays as it is.
    pub fn empty_log(&self) -> Result<bool> {
        if self.leaves_log() {
            return Ok(false);
        }
        let empty = self.without_patience(|| {
            self.rusqlite().query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| Ok(row.get::<_, i64>(0)? == 0))
        });
        empty.map_err(|_| self.error())
    }

    /// Whether the database can be written to. Errors: 58030, 25006.
    pub fn check_writes(&self) -> Result<()> {
        if self.try_begin_immediate()? {
            self.command("ROLLBACK")?;
        }
        Ok(())
    }

    /// Whether the file that SQLite has open is no longer the one of its name.
    pub(crate) fn has_moved(&self) -> bool {
        let mut moved: c_int = 0;
        // SAFETY: a live connection; the operation writes one integer.
        let rc = unsafe {
            let op = ffi::SQLITE_FCNTL_HAS_MOVED;
            ffi::sqlite3_file_control(self.handle(), std::ptr::null(), op, (&raw mut moved).cast())
        };
        rc == ffi::SQLITE_OK && moved != 0
    }

    /// The log is neither written back nor removed when this connection is closed as the last one.
    pub fn leave_log(&self) {
        let op = rusqlite::config::DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE;
        if let Err(e) = self.rusqlite().set_db_config(op, true) {
            tracing::warn!("the log of a file that was replaced may be taken for the new one's: {e}");
        }
    }

    /// Writes back what can be of the log now. Returns whether that was all. One that is left to another program stays as it is.
    pub fn write_back(&self) -> Result<bool> {
        if self.leaves_log() {
            return Ok(false);
        }
        self.save_log()
    }

    /// As [`Connection::write_back`], whoever writes the log back otherwise: it was removed, and is lost when this process ends.
    pub(crate) fn save_log(&self) -> Result<bool> {
        // (whether it was kept from it, frames in the log, frames that are in the file)
        let result = self.rusqlite().query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, i64>(2)?))
        });
        let (busy, frames, written_back) = result.map_err(crate::error::sqlite_error)?;
        Ok(busy == 0 && frames == written_back)
    }
}
