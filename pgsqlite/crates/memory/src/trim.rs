//! Freed memory goes back to the operating system.
//!
//! The C library keeps what is freed between allocations that live on. After a statement that took much, most of it would stay with the
//! process for good. So when the total has fallen by [`FALL`] bytes, a thread asks the C library to give back what it can.

use std::sync::atomic::{AtomicBool, AtomicIsize, Ordering};

/// So many bytes are freed before it is worth looking for them.
const FALL: isize = 64 << 20;

/// The highest total since memory was given back last.
static PEAK: AtomicIsize = AtomicIsize::new(0);
static RUNNING: AtomicBool = AtomicBool::new(false);

/// Remembers a total.
pub(crate) fn note(total: isize) {
    if total > PEAK.load(Ordering::Relaxed) {
        PEAK.fetch_max(total, Ordering::Relaxed);
    }
}

/// Gives memory back if the total has fallen far below its peak. Called between the turns of a session, never by the allocator.
pub(crate) fn after(total: isize) {
    if PEAK.load(Ordering::Relaxed) - total < FALL || RUNNING.swap(true, Ordering::AcqRel) {
        return;
    }
    PEAK.store(total, Ordering::Relaxed);
    let started = std::thread::Builder::new().name("memory-trim".into()).spawn(|| {
        // SAFETY: takes the allocator's own locks, and nothing of ours.
        unsafe { libc::malloc_trim(0) };
        RUNNING.store(false, Ordering::Release);
        crate::flush_thread();
    });
    if started.is_err() {
        RUNNING.store(false, Ordering::Release);
    }
}
