//! SQLite's page caches, larger than its sorts.
//!
//! SQLite keeps as many bytes of a sort in memory as the page cache of the database may have, and sorts them at once: no request ends
//! that. So each connection's `cache_size` is that of a sort which is over soon, and the caches have [`TIMES`] as many pages.

use libsqlite3_sys as ffi;
use std::ffi::c_int;
use std::sync::OnceLock;

/// The pages of a cache for each page that `cache_size` gives it.
pub const TIMES: c_int = 8;

type SetSize = unsafe extern "C" fn(*mut ffi::sqlite3_pcache, c_int);

/// SQLite's own function.
static BASE: OnceLock<SetSize> = OnceLock::new();

unsafe extern "C" fn set_size(cache: *mut ffi::sqlite3_pcache, pages: c_int) {
    if let Some(base) = BASE.get() {
        // SAFETY: the arguments are SQLite's own.
        unsafe { base(cache, pages.saturating_mul(TIMES)) }
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
