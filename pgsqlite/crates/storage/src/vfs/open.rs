//! SQLite's connections to files, with nothing of ours but the way to the files.

use crate::{checkpoints, error};
use libsqlite3_sys as ffi;
use pgsqlite_types::Result;
use std::cell::RefCell;
use std::ffi::c_int;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

/// So many steps of SQLite's machine pass between two looks at what oversees the thread: some ten microseconds.
const STEPS: c_int = 1000;

thread_local! {
    static COUNTED: RefCell<Option<Arc<AtomicU64>>> = const { RefCell::new(None) };
}

/// Runs, and adds the steps that SQLite's machine makes meanwhile on this thread to `steps`, by thousands.
pub fn counted<R>(steps: &Arc<AtomicU64>, run: impl FnOnce() -> R) -> R {
    struct Restore(Option<Arc<AtomicU64>>);
    impl Drop for Restore {
        fn drop(&mut self) {
            COUNTED.set(self.0.take());
        }
    }
    let _restore = Restore(COUNTED.replace(Some(steps.clone())));
    run()
}

/// The progress handler of every connection: whoever runs SQLite for a client, and by whatever way, is overseen.
unsafe extern "C" fn look(_: *mut std::ffi::c_void) -> c_int {
    COUNTED.with_borrow(|steps| {
        if let Some(steps) = steps {
            steps.fetch_add(STEPS as u64, Ordering::Relaxed);
        }
    });
    c_int::from(pgsqlite_types::work::stops_sqlite())
}

/// SQLite's connection to a file (made if it is not there), with nothing of ours but the way to its files.
pub fn open_file(path: &Path) -> Result<rusqlite::Connection> {
    open_with(path, rusqlite::OpenFlags::SQLITE_OPEN_CREATE)
}

/// The same to a file that must be there.
pub fn open_existing(path: &Path) -> Result<rusqlite::Connection> {
    open_with(path, rusqlite::OpenFlags::empty())
}

/// As [`checkpoints::leave`], if Litestream has been at work on the file. One that cannot be read is left to whoever opens it, and reports that.
pub fn leave_litestreams(path: &Path) {
    if !path.is_file() || checkpoints::are_left(path) {
        return;
    }
    let look = || -> Result<bool> {
        let connection = open_existing(path)?;
        // (to close it may be to close the last one)
        checkpoints::leave_alone(&connection).map_err(error::sqlite_error)?;
        checkpoints::has_litestreams_tables(&connection)
    };
    if look().is_ok_and(|found| found) {
        checkpoints::leave(path);
    }
}

fn open_with(path: &Path, flags: rusqlite::OpenFlags) -> Result<rusqlite::Connection> {
    use rusqlite::OpenFlags;
    let flags = flags | OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let opened = match super::name() {
        Some(vfs) => rusqlite::Connection::open_with_flags_and_vfs(path, flags, vfs),
        None => rusqlite::Connection::open_with_flags(path, flags),
    };
    let connection = opened.map_err(|e| error::open_error(path, e))?;
    if checkpoints::are_left(path) {
        checkpoints::leave_alone(&connection).map_err(|e| error::open_error(path, e))?;
    }
    // SAFETY: a live connection.
    unsafe {
        count_loops(connection.handle(), false);
        leave_columns(connection.handle());
        ffi::sqlite3_progress_handler(connection.handle(), STEPS, Some(look), std::ptr::null_mut());
    }
    Ok(connection)
}

/// SQLite puts no constant in place of a column that a condition compares with it: `y = 0 AND 10 / y > 1` would ask `10 / 0` before the first
/// row. (What the columns of a join are equal to is found by another of its optimizations.)
///
/// # Safety
/// `db` must be a live connection.
unsafe fn leave_columns(db: *mut ffi::sqlite3) {
    /// `SQLITE_PropagateConst` of `sqliteInt.h`
    const CONSTANTS_FOR_COLUMNS: std::ffi::c_uint = 0x8000;
    // SAFETY: promised by the caller; the control takes a connection and the optimizations that it goes without.
    unsafe { ffi::sqlite3_test_control(ffi::SQLITE_TESTCTRL_OPTIMIZATIONS, db, CONSTANTS_FOR_COLUMNS) };
}

/// Whether SQLite counts what the statements that are prepared from now on do; it does at first.
///
/// # Safety
/// `db` must be a live connection.
pub(crate) unsafe fn count_loops(db: *mut ffi::sqlite3, counts: bool) {
    // SAFETY: promised by the caller; a null pointer asks for no answer.
    unsafe {
        ffi::sqlite3_db_config(
            db,
            ffi::SQLITE_DBCONFIG_STMT_SCANSTATUS,
            c_int::from(counts),
            std::ptr::null_mut::<c_int>(),
        )
    };
}

/// A database in memory, for tests: before anything else uses SQLite, its memory is ours ([`super::name`]).
pub fn in_memory() -> rusqlite::Result<rusqlite::Connection> {
    super::name();
    rusqlite::Connection::open_in_memory()
}

/// A file as another program opens it, for tests.
pub fn as_another_program(path: impl AsRef<Path>) -> rusqlite::Result<rusqlite::Connection> {
    super::name();
    rusqlite::Connection::open(path)
}
