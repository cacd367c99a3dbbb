//! SQLite's allocations: counted, and refused above the limit. SQLite recovers from that, and the statement ends with SQLITE_NOMEM.
//!
//! These are the functions of `sqlite3_mem_methods` (<https://www.sqlite.org/c3ref/mem_methods.html>). The room that links SQLite
//! registers them.

use crate::count;
use libc::{c_int, c_void};

#[cfg(target_vendor = "apple")]
use libc::malloc_size as size_of_allocation;
#[cfg(not(target_vendor = "apple"))]
use libc::malloc_usable_size as size_of_allocation;

/// Bytes of an allocation as the allocator made it.
unsafe fn usable(p: *mut c_void) -> usize {
    // SAFETY: the caller passes a live allocation of `malloc`, or null.
    unsafe { size_of_allocation(p) }
}

fn refused(bytes: usize) -> bool {
    if bytes < count::GRAIN {
        count::check().is_err()
    } else {
        count::reserve(bytes).is_err()
    }
}

/// `xMalloc`
///
/// # Safety
/// As `malloc`.
pub unsafe extern "C" fn malloc(bytes: c_int) -> *mut c_void {
    let bytes = usize::try_from(bytes).unwrap_or(0);
    if refused(bytes) {
        return std::ptr::null_mut();
    }
    // SAFETY: the size is positive.
    unsafe {
        let p = libc::malloc(bytes);
        if !p.is_null() {
            count::note(usable(p) as isize);
        }
        p
    }
}

/// `xFree`
///
/// # Safety
/// `p` is an allocation of [`malloc`] or [`realloc`].
pub unsafe extern "C" fn free(p: *mut c_void) {
    // SAFETY: the caller's promise.
    unsafe {
        count::note(-(usable(p) as isize));
        libc::free(p);
    }
}

/// `xRealloc`
///
/// # Safety
/// As [`free`].
pub unsafe extern "C" fn realloc(p: *mut c_void, bytes: c_int) -> *mut c_void {
    let bytes = usize::try_from(bytes).unwrap_or(0);
    // SAFETY: the caller's promise.
    unsafe {
        let before = usable(p);
        if bytes > before && refused(bytes - before) {
            return std::ptr::null_mut();
        }
        let new = libc::realloc(p, bytes);
        if !new.is_null() {
            count::note(usable(new) as isize - before as isize);
        }
        new
    }
}

/// `xSize`
///
/// # Safety
/// As [`free`].
pub unsafe extern "C" fn size(p: *mut c_void) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { usable(p) as c_int }
}

/// `xRoundup`
pub extern "C" fn roundup(bytes: c_int) -> c_int {
    bytes.saturating_add(7) & !7
}

/// `xInit`
pub extern "C" fn init(_: *mut c_void) -> c_int {
    0
}

/// `xShutdown`
pub extern "C" fn shutdown(_: *mut c_void) {}
