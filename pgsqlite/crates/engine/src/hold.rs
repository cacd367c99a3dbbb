//! Work that holds up its thread.
//!
//! Sessions are tasks on a few worker threads. Work that may take long must not keep other sessions waiting: tokio's
//! `block_in_place` hands the thread's other tasks to another thread first, which costs some 10 µs, as much as a short
//! query. So one thread at a time may begin such work without that, because another is always left (the server runs at
//! least two). The thread left may sleep while this one was the one that waits for sockets: once the work has gone on for
//! a while, SQLite's progress handler calls [`tick`], and that wakes the other. What meets other such work pays at once.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{sync_channel, SyncSender};
use std::sync::OnceLock;
use tokio::runtime::Handle;

static HELD: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// this thread is held up, and nobody has been woken for it yet
    static UNTOLD: Cell<bool> = const { Cell::new(false) };
}

/// Steps of SQLite's virtual machine between two calls of [`tick`]: some 100 µs.
pub(crate) const STEPS: i32 = 20_000;

struct Release;

impl Drop for Release {
    fn drop(&mut self) {
        UNTOLD.set(false);
        HELD.store(false, Ordering::Release);
    }
}

/// Runs what may take long, inside a multi-thread runtime of at least two workers.
pub(crate) fn up<R>(work: impl FnOnce() -> R) -> R {
    if HELD.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_ok() {
        let _release = Release;
        UNTOLD.set(true);
        return work();
    }
    tokio::task::block_in_place(work)
}

/// Called now and then while SQLite works.
pub(crate) fn tick() {
    if UNTOLD.replace(false) {
        if let Ok(runtime) = Handle::try_current() {
            wake_another(runtime);
        }
    }
}

/// Has another worker of the runtime wake up; it waits for sockets afterwards. A task that is spawned here would stay in this
/// thread's own queue, so a thread of its own does it.
fn wake_another(runtime: Handle) {
    static WAKER: OnceLock<Option<SyncSender<Handle>>> = OnceLock::new();
    let waker = WAKER.get_or_init(|| {
        let (sender, requests) = sync_channel::<Handle>(16);
        let run = move || {
            for runtime in requests {
                runtime.spawn(async {});
            }
        };
        std::thread::Builder::new().name("waker".into()).spawn(run).ok().map(|_| sender)
    });
    match waker {
        // a full queue wakes the others all the same
        Some(sender) => drop(sender.try_send(runtime)),
        None => tracing::warn!("no thread could be started to wake the runtime's workers"),
    }
}
