//! Frees what is large on a thread of its own. A catalog of ten thousand tables takes tens of milliseconds to free: so long neither the
//! session that replaces it nor those that share its thread should wait. What comes faster than that thread frees is freed by who brings it:
//! memory does not grow with a queue.

use std::any::Any;
use std::sync::mpsc::{sync_channel, SyncSender};
use std::sync::OnceLock;

/// How many values wait to be freed, at most.
const WAITING: usize = 4;

/// Frees a value soon, elsewhere; here, if there can be no thread for it.
pub(crate) fn discard<T: Send + 'static>(value: T) {
    static THREAD: OnceLock<Option<SyncSender<Box<dyn Any + Send>>>> = OnceLock::new();
    let thread = THREAD.get_or_init(|| {
        let (sender, discarded) = sync_channel(WAITING);
        let free = move || discarded.into_iter().for_each(drop);
        let spawned = std::thread::Builder::new().name("discard".into()).spawn(free);
        if let Err(e) = &spawned {
            tracing::warn!("large values are freed by the sessions themselves: {e}");
        }
        spawned.is_ok().then_some(sender)
    });
    if let Some(thread) = thread {
        // an error gives the value back, which is freed here
        let _ = thread.try_send(Box::new(value));
    }
}
