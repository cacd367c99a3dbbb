//! SQLite's way to its files: its own for Unix, but that a process keeps a read mark for its readers.
//!
//! A reader locks one of the log's read marks and lets it go at its end: two calls of `fcntl` per statement, two more where
//! the log has grown. Here the process keeps the mark that its connections share, for a moment, in their place ([`marks`]).
//!
//! Everything else is the default VFS's: its files are opened in place, and of a database's file the method that locks shared
//! memory is exchanged. What is written, and when, is SQLite's own business: it writes a frame's header and its page by a call
//! each, and headers alone where a transaction has written frames twice, so nothing may wait for "the rest of a frame". What
//! other processes see (files, locks, their meaning) is what SQLite's documentation says: <https://www.sqlite.org/vfs.html>,
//! <https://www.sqlite.org/walformat.html#wal_locks>.

mod marks;

pub use marks::Anchor;
use marks::User;

use libsqlite3_sys as ffi;
use std::ffi::{c_char, c_int, CStr};
use std::mem::{align_of, size_of};
use std::sync::OnceLock;

/// By this name SQLite knows the VFS.
const NAME: &CStr = c"pgsqlite";

/// The default VFS, and the one made of it.
struct Registered {
    base: *mut ffi::sqlite3_vfs,
    ours: ffi::sqlite3_vfs,
    /// where our part of an opened file begins: after the default VFS's
    state: usize,
}

// SAFETY: neither is changed after the registration.
unsafe impl Send for Registered {}
unsafe impl Sync for Registered {}

static REGISTERED: OnceLock<Option<Box<Registered>>> = OnceLock::new();

/// The name of the VFS to open connections with; None: SQLite has no default VFS that could be extended, and its own is as good.
pub fn name() -> Option<&'static CStr> {
    let registered = REGISTERED.get_or_init(|| {
        // SAFETY: initializes SQLite; the default VFS lives as long as the process.
        let base = unsafe { ffi::sqlite3_vfs_find(std::ptr::null()) };
        // SAFETY: null or a registered VFS.
        let found = unsafe { base.as_ref() }?;
        let align = align_of::<User>();
        let state = (found.szOsFile as usize).div_ceil(align) * align;
        let ours = ffi::sqlite3_vfs {
            zName: NAME.as_ptr(),
            szOsFile: (state + size_of::<User>()) as c_int,
            pNext: std::ptr::null_mut(),
            xOpen: Some(open),
            ..*found
        };
        Some(Box::new(Registered { base, ours, state }))
    });
    static READY: OnceLock<bool> = OnceLock::new();
    let registered = registered.as_ref()?;
    let ready = READY.get_or_init(|| {
        // SAFETY: the struct stays where it is: SQLite links it into its list (the field pNext) under its own mutex and reads
        // the rest. Nobody else writes to it.
        unsafe { ffi::sqlite3_vfs_register((&raw const registered.ours).cast_mut(), 0) == ffi::SQLITE_OK }
    });
    ready.then_some(NAME)
}

/// The methods of a database's file: the default VFS's, two exchanged.
struct Methods {
    base: &'static ffi::sqlite3_io_methods,
    ours: ffi::sqlite3_io_methods,
}

// SAFETY: tables of functions, never changed.
unsafe impl Send for Methods {}
unsafe impl Sync for Methods {}

/// Filled by the first file. One whose methods are others keeps those.
static METHODS: OnceLock<Methods> = OnceLock::new();

/// What we know of an opened database's file, in the memory behind the default VFS's part of it.
///
/// # Safety
/// The file is open and its methods are [`METHODS`]'.
unsafe fn user_of(file: *mut ffi::sqlite3_file) -> *mut User {
    let offset = REGISTERED.get().and_then(|r| r.as_ref()).map_or(0, |r| r.state);
    // SAFETY: open() has written it there.
    unsafe { file.byte_add(offset).cast::<User>() }
}

/// Whether an open file's methods are ours: then it has a [`User`].
///
/// # Safety
/// The file is open.
unsafe fn is_ours(file: *mut ffi::sqlite3_file) -> bool {
    // SAFETY: promised by the caller.
    let methods = unsafe { (*file).pMethods };
    METHODS.get().is_some_and(|m| std::ptr::eq(&m.ours, methods))
}

unsafe extern "C" fn open(
    _vfs: *mut ffi::sqlite3_vfs,
    name: ffi::sqlite3_filename,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    out_flags: *mut c_int,
) -> c_int {
    let Some(registered) = REGISTERED.get().and_then(|r| r.as_ref()) else { return ffi::SQLITE_CANTOPEN };
    // SAFETY: the arguments are SQLite's own; the memory at `file` is larger than the default VFS needs.
    unsafe {
        let Some(base) = (*registered.base).xOpen else { return ffi::SQLITE_CANTOPEN };
        let rc = base(registered.base, name, file, flags, out_flags);
        if rc != ffi::SQLITE_OK || name.is_null() {
            return rc;
        }
        let Some(methods) = (*file).pMethods.as_ref() else { return rc };
        if flags & ffi::SQLITE_OPEN_MAIN_DB == 0 || methods.iVersion < 2 {
            return rc;
        }
        let table = METHODS.get_or_init(|| Methods {
            base: methods,
            ours: ffi::sqlite3_io_methods { xShmLock: Some(shm_lock), xClose: Some(close), ..*methods },
        });
        if std::ptr::eq(table.base, methods) {
            let user = User::of(CStr::from_ptr(name as *const c_char));
            file.byte_add(registered.state).cast::<User>().write(user);
            (*file).pMethods = &table.ours;
        }
        rc
    }
}

/// The default VFS's methods of a file of ours.
fn base() -> Option<&'static ffi::sqlite3_io_methods> {
    METHODS.get().map(|methods| methods.base)
}

unsafe extern "C" fn close(file: *mut ffi::sqlite3_file) -> c_int {
    // SAFETY: SQLite closes an open file once.
    unsafe {
        std::ptr::drop_in_place(user_of(file));
        base().and_then(|m| m.xClose).map_or(ffi::SQLITE_OK, |close| close(file))
    }
}

unsafe extern "C" fn shm_lock(file: *mut ffi::sqlite3_file, offset: c_int, n: c_int, flags: c_int) -> c_int {
    let Some(lock) = base().and_then(|m| m.xShmLock) else { return ffi::SQLITE_IOERR };
    // SAFETY: a database's file of ours, which SQLite uses from one thread at a time.
    unsafe { (*user_of(file)).lock(lock, file, offset, n, flags) }
}

#[cfg(test)]
mod tests;
