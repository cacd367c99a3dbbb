//! SQLite's allocations: counted, and refused above the limit. SQLite recovers from that, and the statement ends with SQLITE_NOMEM.
//!
//! These are the functions of `sqlite3_mem_methods` (<https://www.sqlite.org/c3ref/mem_methods.html>). The room that links SQLite
//! registers them.

use crate::count;
use libc::{c_int, c_void};
use std::sync::OnceLock;

#[cfg(target_vendor = "apple")]
use libc::malloc_size as size_of_allocation;
#[cfg(not(target_vendor = "apple"))]
use libc::malloc_usable_size as size_of_allocation;

/// An allocation of so many bytes takes long: the system makes its pages one by one when they are written to.
const LARGE: usize = 8 << 20;

/// Whether the thread's statement is to end.
static STOPS: OnceLock<fn() -> bool> = OnceLock::new();

/// From now on large allocations are refused while this is true of the thread.
pub fn stop_by(stops: fn() -> bool) {
    // (who is first stays)
    let _ = STOPS.set(stops);
}

fn stops() -> bool {
    STOPS.get().is_some_and(|stops| stops())
}

/// Has the system make an allocation's pages, piece by piece. False: the statement is to end meanwhile.
///
/// # Safety
/// `p` is an allocation of so many bytes whose content nobody needs to keep apart from what is there.
#[cfg(target_os = "linux")]
unsafe fn populate(p: *mut c_void, bytes: usize) -> bool {
    const PAGE: usize = 4096;
    let begin = p.addr().next_multiple_of(PAGE);
    let end = (p.addr() + bytes) & !(PAGE - 1);
    for at in (begin..end).step_by(LARGE) {
        if stops() {
            return false;
        }
        // SAFETY: within the allocation. The call changes nothing of what is in the pages; where the system does not know it, it fails, and
        // the pages are made later.
        unsafe { libc::madvise(p.with_addr(at), LARGE.min(end - at), libc::MADV_POPULATE_WRITE) };
    }
    true
}

#[cfg(not(target_os = "linux"))]
unsafe fn populate(_: *mut c_void, _: usize) -> bool {
    !stops()
}

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
        if bytes >= LARGE && !p.is_null() && !populate(p, bytes) {
            libc::free(p);
            return std::ptr::null_mut();
        }
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
        if bytes > before && refused(bytes - before) || bytes >= LARGE && stops() {
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
