//! Work that holds up its thread.
//!
//! Sessions are tasks on a few worker threads. Work that may take long must not keep other sessions waiting: tokio's
//! `block_in_place` hands the thread's other tasks to another thread first, which costs some 10 µs, as much as a short
//! query. So one thread at a time may begin such work without that, because another is always left (the server runs at
//! least two). That other one may sleep while this one was the one that waits for sockets: when work goes on for longer
//! than [`LONG`], the watchman's thread wakes it. What meets other such work is handed over at once.

use parking_lot::{Condvar, Mutex};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::OnceLock;
use std::time::Duration;
use tokio::runtime::Handle;

/// After this long others are woken.
const LONG: Duration = Duration::from_millis(2);

static HELD: AtomicBool = AtomicBool::new(false);
/// Counts the times that a thread was held up, so that the watchman tells one from the next.
static TIMES: AtomicU64 = AtomicU64::new(0);

#[derive(Default)]
struct Watchman {
    /// the runtime whose thread is held up
    runtime: Mutex<Option<Handle>>,
    asleep: AtomicBool,
    call: Condvar,
}

struct Release;

impl Drop for Release {
    fn drop(&mut self) {
        HELD.store(false, Ordering::Release);
    }
}

/// Runs what may take long, inside a multi-thread runtime of at least two workers.
pub(crate) fn up<R>(work: impl FnOnce() -> R) -> R {
    let free = HELD.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_ok();
    let release = free.then_some(Release);
    if release.is_none() || !watch() {
        drop(release);
        return tokio::task::block_in_place(work);
    }
    work()
}

/// Has the watchman look at this time; false: there is none.
fn watch() -> bool {
    static WATCHMAN: OnceLock<Option<&'static Watchman>> = OnceLock::new();
    let watchman = WATCHMAN.get_or_init(|| {
        let watchman: &'static Watchman = Box::leak(Box::default());
        let thread = std::thread::Builder::new().name("watchman".into());
        thread.spawn(|| watchman.run()).ok().map(|_| watchman)
    });
    let (Some(watchman), Ok(runtime)) = (watchman, Handle::try_current()) else { return false };
    *watchman.runtime.lock() = Some(runtime);
    TIMES.fetch_add(1, Ordering::AcqRel);
    if watchman.asleep.load(Ordering::Acquire) {
        // in the lock: it does not fall asleep between its last look and the call
        let _lock = watchman.runtime.lock();
        watchman.call.notify_one();
    }
    true
}

impl Watchman {
    fn run(&self) {
        let mut seen = TIMES.load(Ordering::Acquire);
        loop {
            std::thread::sleep(LONG);
            let now = TIMES.load(Ordering::Acquire);
            if now != seen {
                seen = now;
            } else if HELD.load(Ordering::Acquire) {
                // a worker that wakes up for a task waits for sockets afterwards
                if let Some(runtime) = &*self.runtime.lock() {
                    runtime.spawn(async {});
                }
            } else {
                let mut runtime = self.runtime.lock();
                self.asleep.store(true, Ordering::Release);
                if TIMES.load(Ordering::Acquire) == seen {
                    *runtime = None;
                    self.call.wait(&mut runtime);
                }
                self.asleep.store(false, Ordering::Release);
            }
        }
    }
}
