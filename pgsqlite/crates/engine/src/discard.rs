//! Frees what is large on a thread of its own. A catalog of ten thousand tables takes tens of milliseconds to free: so long neither the
//! session that replaces it nor those that share its thread should wait.

use std::any::Any;
use std::sync::mpsc::{channel, Sender};
use std::sync::OnceLock;

/// Frees a value soon, elsewhere; here, if there can be no thread for it.
pub(crate) fn discard<T: Send + 'static>(value: T) {
    static THREAD: OnceLock<Option<Sender<Box<dyn Any + Send>>>> = OnceLock::new();
    let thread = THREAD.get_or_init(|| {
        let (sender, discarded) = channel();
        let free = move || discarded.into_iter().for_each(drop);
        let spawned = std::thread::Builder::new().name("discard".into()).spawn(free);
        if let Err(e) = &spawned {
            tracing::warn!("large values are freed by the sessions themselves: {e}");
        }
        spawned.is_ok().then_some(sender)
    });
    if let Some(thread) = thread {
        // an error gives the value back, which is freed here
        let _ = thread.send(Box::new(value));
    }
}
