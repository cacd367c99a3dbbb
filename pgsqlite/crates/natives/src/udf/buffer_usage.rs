//! How many pages a connection has read from its file and found in its cache, for pg_stat_database.
//!
//! SQLite counts them for each connection. They are added to the database's counters when somebody asks for those and when the
//! connection closes, so that statements cost nothing more.

use crate::statistics::{add, DatabaseCounters};
use libsqlite3_sys as ffi;
use std::cell::{Cell, OnceCell};
use std::ffi::c_int;
use std::sync::Arc;

/// What of a connection's pages is counted already.
#[derive(Default)]
pub struct Pages {
    counters: OnceCell<Arc<DatabaseCounters>>,
    read: Cell<c_int>,
    hit: Cell<c_int>,
}

impl Pages {
    /// The database whose pages the connection reads.
    pub fn belong_to(&self, counters: &Arc<DatabaseCounters>) {
        self.counters.get_or_init(|| counters.clone());
    }

    /// Adds what the connection has read since this was called last.
    pub fn count(&self, db: *mut ffi::sqlite3) {
        let Some(counters) = self.counters.get() else { return };
        let count = |figure, before: &Cell<c_int>, counter| {
            let (mut now, mut highest) = (0, 0);
            // SAFETY: a live connection of this thread; the figures are written to the two integers.
            unsafe { ffi::sqlite3_db_status(db, figure, &mut now, &mut highest, 0) };
            // SQLite counts in 32 bits and begins anew after them
            add(counter, u64::from(now.wrapping_sub(before.replace(now)).cast_unsigned()));
        };
        count(ffi::SQLITE_DBSTATUS_CACHE_MISS, &self.read, &counters.blocks_read);
        count(ffi::SQLITE_DBSTATUS_CACHE_HIT, &self.hit, &counters.blocks_hit);
    }
}
