//! Connections without natives, for tests.

use super::Natives;
use crate::changes::recorder::Recorder;
use crate::written::Written;
use libsqlite3_sys as ffi;
use parking_lot::Mutex;
use pgsqlite_types::{PgError, Result};
use std::cell::Cell;
use std::ffi::c_int;
use std::sync::Arc;

pub(crate) type Connection = super::Connection<None>;

pub(crate) enum None {}

#[derive(Default)]
pub(crate) struct Kept {
    written: Arc<Mutex<Written>>,
    recorder: Arc<Mutex<Recorder>>,
    changes_before: Cell<i64>,
}

// SAFETY: used by the thread that uses the connection.
unsafe impl Sync for Kept {}

// SAFETY: the fields are never replaced.
unsafe impl Natives for None {
    type Cell = Kept;

    fn register(_: &rusqlite::Connection) -> Result<Arc<Kept>> {
        Ok(Arc::default())
    }
    fn finalize(_: &Kept) {}
    fn clear(_: &Connection) {}
    fn written(cell: &Kept) -> &Arc<Mutex<Written>> {
        &cell.written
    }
    fn recorder(cell: &Kept) -> &Arc<Mutex<Recorder>> {
        &cell.recorder
    }
    fn changes_before(cell: &Kept) -> &Cell<i64> {
        &cell.changes_before
    }
    fn has_made_temporary(_: &Kept) -> bool {
        false
    }
    unsafe fn count_pages(_: &Kept, _: *mut ffi::sqlite3) {}
    fn take_error(_: &Kept) -> Option<PgError> {
        Option::None
    }
    fn statement_error(_: &Kept, code: c_int, message: &str) -> PgError {
        crate::error::from_sqlite(code, message)
    }
}
