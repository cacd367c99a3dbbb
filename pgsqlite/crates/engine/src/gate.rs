//! Who has planned for the schema of now, on a standby.
//!
//! A change of the schema is shown when no transaction is open that has planned for the schema before: new transactions wait for it, and
//! those that are open are waited for, for a while ([`PATIENCE`]). Then their sessions end.

use crate::requests::CancelHandle;
use parking_lot::Mutex;
use pgsqlite_types::{PgError, SqlState};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// So long a change of the schema waits for the transactions that are open (PostgreSQL: `max_standby_streaming_delay`).
const PATIENCE: Duration = Duration::from_secs(30);
/// Between two looks at them.
const PAUSE: Duration = Duration::from_millis(2);

/// Who has planned for the schema of now.
#[derive(Default)]
pub(crate) struct Gate {
    state: Mutex<State>,
    /// told when it is open again
    opened: Notify,
}

#[derive(Default)]
struct State {
    next: u64,
    inside: HashMap<u64, CancelHandle>,
    /// a change of the schema is about to be shown
    closed: bool,
}

/// A transaction's place behind the gate.
pub(crate) struct Inside {
    gate: Arc<Gate>,
    number: u64,
}

impl Drop for Inside {
    fn drop(&mut self) {
        self.gate.state.lock().inside.remove(&self.number);
    }
}

impl Gate {
    fn try_enter(self: &Arc<Self>, session: &CancelHandle) -> Option<Inside> {
        let mut state = self.state.lock();
        if state.closed {
            return None;
        }
        state.next += 1;
        let number = state.next;
        state.inside.insert(number, session.clone());
        Some(Inside { gate: self.clone(), number })
    }

    /// Waits until no change of the schema is about to be shown.
    pub(crate) async fn enter(self: &Arc<Self>, session: &CancelHandle) -> Inside {
        loop {
            let opened = self.opened.notified();
            let mut opened = std::pin::pin!(opened);
            // (from here on it is told, also if that comes before the wait)
            opened.as_mut().enable();
            if let Some(inside) = self.try_enter(session) {
                return inside;
            }
            opened.await;
        }
    }

    /// Lets nobody in, and waits until nobody is inside.
    pub(crate) fn close(&self) -> Closed<'_> {
        self.state.lock().closed = true;
        let closed = Closed(self);
        let began = Instant::now();
        loop {
            let state = self.state.lock();
            if state.inside.is_empty() {
                return closed;
            }
            if began.elapsed() > PATIENCE {
                // (again and again: one that is just now told of something else may miss it)
                state.inside.values().for_each(CancelHandle::terminate);
            }
            drop(state);
            std::thread::sleep(PAUSE);
        }
    }
}

/// Opens the gate when dropped.
pub(crate) struct Closed<'a>(&'a Gate);

impl Drop for Closed<'_> {
    fn drop(&mut self) {
        self.0.state.lock().closed = false;
        self.0.opened.notify_waiters();
    }
}

/// The error for what a standby does not do.
pub(crate) fn during_recovery(command: &str) -> PgError {
    PgError::new(SqlState::READ_ONLY_SQL_TRANSACTION, format!("cannot execute {command} during recovery"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gate_waits_for_who_is_inside() {
        let gate = Arc::<Gate>::default();
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("runs");
        let session = CancelHandle::default();
        let first = runtime.block_on(gate.enter(&session));
        let (other, closing) = (gate.clone(), gate.clone());
        let closer = std::thread::spawn(move || drop(closing.close()));
        while !gate.state.lock().closed {
            std::thread::yield_now();
        }
        // who comes now waits until the change is shown
        let late = runtime.spawn(async move { drop(other.enter(&CancelHandle::default()).await) });
        std::thread::sleep(PAUSE * 3);
        assert!(!closer.is_finished() && !late.is_finished());
        drop(first);
        closer.join().expect("the gate closes");
        runtime.block_on(late).expect("it opens again");
        assert!(gate.state.lock().inside.is_empty());
    }
}
