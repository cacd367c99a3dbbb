//! SQLite's page caches, larger than its sorts.
//!
//! SQLite keeps as many bytes of a sort in memory as the page cache of the database may have, and sorts them at once: no request ends
//! that. So each connection's `cache_size` is that of a sort which is over soon, and the caches have [`TIMES`] as many pages.
//!
//! A connection whose queries last reads the same pages again and again: joins look rows up one by one. It gets a cache of
//! [`Grant::BYTES`], as long as all such caches together stay within [`wide_bytes`].

use libsqlite3_sys as ffi;
use std::cell::Cell;
use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::OnceLock;

/// The pages of a cache for each page that `cache_size` gives it.
pub const TIMES: c_int = 8;

type SetSize = unsafe extern "C" fn(*mut ffi::sqlite3_pcache, c_int);

/// SQLite's own function.
static BASE: OnceLock<SetSize> = OnceLock::new();

unsafe extern "C" fn set_size(cache: *mut ffi::sqlite3_pcache, pages: c_int) {
    if let Some(base) = BASE.get() {
        // SAFETY: the arguments are SQLite's own.
        unsafe { base(cache, pages.saturating_mul(TIMES).max(WIDE.get())) }
    }
}

thread_local! {
    /// The least pages of a cache whose size this thread sets now.
    static WIDE: Cell<c_int> = const { Cell::new(0) };
}

/// Runs `set`, which sets the size of a connection's cache, so that the cache has as many pages as the grant allows.
pub fn wide<R>(grant: &Grant, set: impl FnOnce() -> R) -> R {
    WIDE.set((grant.0 / PAGE) as c_int);
    let result = set();
    WIDE.set(0);
    result
}

/// About what a page and what SQLite knows of it take.
const PAGE: usize = 4096 + 300;

/// The bytes of all grants.
static GRANTED: AtomicUsize = AtomicUsize::new(0);

/// A connection has asked for a grant and got none.
static WANTED: AtomicBool = AtomicBool::new(false);

/// The bytes that the wide caches of all connections may take together: 256 MiB, less where the process' memory is limited.
fn wide_bytes() -> usize {
    (2 * Grant::BYTES).min(pgsqlite_memory::limit() / 8)
}

/// The right to a wide cache. It ends when it is dropped.
#[derive(Debug)]
pub struct Grant(usize);

impl Grant {
    /// What one connection gets at most: PostgreSQL's `shared_buffers` by default.
    pub const BYTES: usize = 128 << 20;

    /// None: other connections have all that may be granted. One of them gives its grant back when its query has ended.
    pub fn new() -> Option<Grant> {
        let all = wide_bytes();
        let bytes = Grant::BYTES.min(all / 2);
        let take = |granted: usize| granted.checked_add(bytes).filter(|sum| *sum <= all);
        match GRANTED.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take) {
            Ok(_) => Some(Grant(bytes)),
            Err(_) => {
                WANTED.store(true, Ordering::Relaxed);
                None
            }
        }
    }

    /// Whether another connection has asked for a grant in vain since the last call.
    pub fn is_wanted() -> bool {
        WANTED.load(Ordering::Relaxed) && WANTED.swap(false, Ordering::Relaxed)
    }
}

impl Drop for Grant {
    fn drop(&mut self) {
        GRANTED.fetch_sub(self.0, Ordering::Relaxed);
    }
}

/// Exchanges the function that sets a cache's size: before SQLite is used for the first time. A program that has used SQLite before keeps
/// what it had, and has smaller caches.
pub fn install() {
    // SAFETY: SQLite fills the struct, and copies it; both calls fail where SQLite is initialized already.
    unsafe {
        let mut methods: ffi::sqlite3_pcache_methods2 = std::mem::zeroed();
        if ffi::sqlite3_config(ffi::SQLITE_CONFIG_GETPCACHE2, &raw mut methods) != ffi::SQLITE_OK {
            return;
        }
        let Some(base) = methods.xCachesize else { return };
        if BASE.set(base).is_ok() {
            methods.xCachesize = Some(set_size);
            if ffi::sqlite3_config(ffi::SQLITE_CONFIG_PCACHE2, &raw const methods) != ffi::SQLITE_OK {
                tracing::debug!("SQLite was in use before: its page caches are small");
            }
        }
        // what a statement may have to take back stays in memory up to this size
        ffi::sqlite3_config(ffi::SQLITE_CONFIG_STMTJRNL_SPILL, STATEMENT_JOURNAL);
    }
}

/// Bytes of a statement's journal that are kept in memory. The journal goes to its file in writes of this size.
const STATEMENT_JOURNAL: c_int = 120 << 10;
/// SQLite's write to a file (`seekAndWriteFd` in os_unix.c) takes the length of a buffer modulo 2^17: a longer one is a full disk to it.
const _: () = assert!(STATEMENT_JOURNAL <= 0x1ffff);

#[cfg(test)]
mod tests {
    use super::*;

    /// (One test: the counters are the process'.)
    #[test]
    fn grants_end_where_all_are_given_and_the_next_one_is_known_to_be_wanted() {
        let (first, second) = (Grant::new(), Grant::new());
        assert!(first.is_some() && second.is_some());
        assert!(!Grant::is_wanted());
        assert!(Grant::new().is_none());
        assert!(Grant::is_wanted());
        assert!(!Grant::is_wanted());
        drop(first);
        assert!(Grant::new().is_some());
        drop(second);
    }
}
