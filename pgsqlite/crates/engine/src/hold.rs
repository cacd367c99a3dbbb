//! Work that holds up its thread.
//!
//! Sessions are tasks on a few worker threads. Work that may take long must not keep other sessions waiting: tokio's
//! `block_in_place` hands the thread's other tasks to another thread first, which costs some 10 µs, as much as a short
//! query. One thread at a time may be held up without that, because another is always left (the server runs at least
//! two): whoever comes first pays nothing, and only work that meets other such work pays.

use std::sync::atomic::{AtomicBool, Ordering};

static HELD: AtomicBool = AtomicBool::new(false);

struct Release;

impl Drop for Release {
    fn drop(&mut self) {
        HELD.store(false, Ordering::Release);
    }
}

/// Runs what may take long, inside a multi-thread runtime of at least two workers.
pub(crate) fn up<R>(work: impl FnOnce() -> R) -> R {
    if HELD.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_ok() {
        let _release = Release;
        return work();
    }
    tokio::task::block_in_place(work)
}
