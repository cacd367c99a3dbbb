//! SQLite's memory is allocated by the functions that count it and refuse it above the server's limit ([`pgsqlite_memory::sqlite`]).
//! A statement that is to end gets no large allocation, either.

use libsqlite3_sys as ffi;
use pgsqlite_memory::sqlite;

/// Gives SQLite its allocator: before it is used for the first time. A program that has used SQLite before keeps what it had, and
/// SQLite's memory is not counted.
pub fn install() {
    sqlite::stop_by(pgsqlite_types::work::refuses_memory);
    let methods = ffi::sqlite3_mem_methods {
        xMalloc: Some(sqlite::malloc),
        xFree: Some(sqlite::free),
        xRealloc: Some(sqlite::realloc),
        xSize: Some(sqlite::size),
        xRoundup: Some(sqlite::roundup),
        xInit: Some(sqlite::init),
        xShutdown: Some(sqlite::shutdown),
        pAppData: std::ptr::null_mut(),
    };
    // SAFETY: SQLite copies the struct; the functions keep the contract of `sqlite3_mem_methods`. The call fails where SQLite is
    // initialized already.
    let code = unsafe { ffi::sqlite3_config(ffi::SQLITE_CONFIG_MALLOC, &raw const methods) };
    if code != ffi::SQLITE_OK {
        tracing::debug!("SQLite was in use before: its memory is not counted");
    }
}
