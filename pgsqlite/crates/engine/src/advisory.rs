//! Advisory locks (manual: "Advisory Locks"): who holds which key, who waits, and who would wait for ever.
//!
//! The table belongs to the database and lives in memory, as PostgreSQL's does. A session is known by a number of its own.

use crate::udf::session_cell::{AdvisoryKey, AdvisoryLock};
use parking_lot::{Condvar, Mutex};
use pgsqlite_types::{PgError, Result, SqlState};
use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

/// How often a waiting session looks whether it was cancelled.
const LOOK: Duration = Duration::from_millis(10);

/// What a session holds of a key: how often it was taken, by mode and by what ends it.
#[derive(Debug, Default, Clone, Copy)]
struct Held {
    exclusive: u32,
    shared: u32,
    transaction_exclusive: u32,
    transaction_shared: u32,
}

impl Held {
    fn is_exclusive(&self) -> bool {
        self.exclusive + self.transaction_exclusive > 0
    }
    fn is_empty(&self) -> bool {
        !self.is_exclusive() && self.shared + self.transaction_shared == 0
    }
}

#[derive(Debug, Clone, Copy)]
struct Waiting {
    session: u64,
    key: AdvisoryKey,
    shared: bool,
    /// microseconds since 2000-01-01 UTC
    since: i64,
}

#[derive(Default)]
struct Table {
    held: HashMap<AdvisoryKey, HashMap<u64, Held>>,
    /// first come, first served
    waiting: Vec<Waiting>,
}

impl Table {
    /// The sessions that keep a request from being granted: those that hold the key in a conflicting mode, and those that
    /// came before with a conflicting request (unless the session holds the key already).
    fn blockers(&self, request: Waiting) -> Vec<u64> {
        let holders = self.held.get(&request.key);
        let mut out: Vec<u64> = holders
            .into_iter()
            .flatten()
            .filter(|(session, held)| **session != request.session && (!request.shared || held.is_exclusive()))
            .map(|(session, _)| *session)
            .collect();
        if holders.is_none_or(|h| !h.contains_key(&request.session)) {
            let before = self.waiting.iter().take_while(|w| w.session != request.session);
            out.extend(before.filter(|w| w.key == request.key && !(w.shared && request.shared)).map(|w| w.session));
        }
        out
    }

    /// Whether a waiting session waits, over others, for itself.
    fn is_deadlock(&self, request: Waiting) -> bool {
        let mut open = self.blockers(request);
        let mut seen = HashSet::new();
        while let Some(session) = open.pop() {
            if session == request.session {
                return true;
            }
            if seen.insert(session) {
                open.extend(self.waiting.iter().filter(|w| w.session == session).flat_map(|w| self.blockers(*w)));
            }
        }
        false
    }

    fn grant(&mut self, request: Waiting, transaction: bool) {
        let held = self.held.entry(request.key).or_default().entry(request.session).or_default();
        *match (transaction, request.shared) {
            (false, false) => &mut held.exclusive,
            (false, true) => &mut held.shared,
            (true, false) => &mut held.transaction_exclusive,
            (true, true) => &mut held.transaction_shared,
        } += 1;
    }

    /// Changes what a session holds, of all keys.
    fn change(&mut self, session: u64, change: impl Fn(&mut Held)) {
        self.held.retain(|_, holders| {
            if let Some(held) = holders.get_mut(&session) {
                change(held);
                if held.is_empty() {
                    holders.remove(&session);
                }
            }
            !holders.is_empty()
        });
    }
}

/// The advisory locks of a database.
#[derive(Default)]
pub(crate) struct AdvisoryLocks {
    table: Mutex<Table>,
    freed: Condvar,
}

/// How long to wait for a lock.
pub(crate) enum Wait<'a> {
    No,
    /// Until it is free, `timeout` has passed (55P03) or the statement was interrupted (57014).
    Until {
        timeout: Option<Duration>,
        interrupted: &'a dyn Fn() -> bool,
    },
}

impl AdvisoryLocks {
    /// Takes a lock for a session or (`transaction`) until its transaction ends. Whether it was got.
    /// Errors: 40P01 if waiting would never end, 55P03, 57014.
    pub fn acquire(&self, session: u64, key: AdvisoryKey, shared: bool, transaction: bool, wait: Wait) -> Result<bool> {
        let request = Waiting { session, key, shared, since: crate::session::clock() };
        let mut table = self.table.lock();
        if table.blockers(request).is_empty() {
            table.grant(request, transaction);
            return Ok(true);
        }
        let Wait::Until { timeout, interrupted } = wait else { return Ok(false) };
        table.waiting.push(request);
        let started = Instant::now();
        let result = loop {
            if table.blockers(request).is_empty() {
                table.grant(request, transaction);
                break Ok(true);
            }
            if table.is_deadlock(request) {
                break Err(PgError::new(SqlState::DEADLOCK_DETECTED, "deadlock detected")
                    .hint("See server log for query details."));
            }
            if interrupted() {
                break Err(PgError::new(SqlState::QUERY_CANCELED, "canceling statement due to user request"));
            }
            if timeout.is_some_and(|t| started.elapsed() >= t) {
                break Err(PgError::new(SqlState::LOCK_NOT_AVAILABLE, "canceling statement due to lock timeout"));
            }
            self.freed.wait_for(&mut table, LOOK);
        };
        table.waiting.retain(|w| w.session != session);
        // those behind us may be served now
        self.freed.notify_all();
        result
    }

    /// The locks that a session holds or waits for, and the sessions that it waits for.
    pub fn of(&self, session: u64) -> (Vec<AdvisoryLock>, Vec<u64>) {
        let table = self.table.lock();
        let mut locks = Vec::new();
        for (&key, holders) in &table.held {
            let Some(held) = holders.get(&session) else { continue };
            let modes = [(false, held.is_exclusive()), (true, held.shared + held.transaction_shared > 0)];
            let taken = modes.into_iter().filter(|(_, taken)| *taken);
            locks.extend(taken.map(|(shared, _)| AdvisoryLock { key, shared, waits_since: None }));
        }
        let mut blockers = Vec::new();
        for waiting in table.waiting.iter().filter(|w| w.session == session) {
            locks.push(AdvisoryLock { key: waiting.key, shared: waiting.shared, waits_since: Some(waiting.since) });
            blockers.extend(table.blockers(*waiting));
        }
        (locks, blockers)
    }

    /// Gives a session's lock back once; false if it does not hold it in that mode.
    pub fn release(&self, session: u64, key: AdvisoryKey, shared: bool) -> bool {
        let mut table = self.table.lock();
        let Some(held) = table.held.get_mut(&key).and_then(|holders| holders.get_mut(&session)) else { return false };
        let count = if shared { &mut held.shared } else { &mut held.exclusive };
        if *count == 0 {
            return false;
        }
        *count -= 1;
        table.change(session, |_| {});
        self.freed.notify_all();
        true
    }

    /// Gives back all that a session took for itself (not for its transaction).
    pub fn release_session(&self, session: u64) {
        self.table.lock().change(session, |held| (held.exclusive, held.shared) = (0, 0));
        self.freed.notify_all();
    }

    /// Gives back what a session took for its transaction.
    pub fn release_transaction(&self, session: u64) {
        let mut table = self.table.lock();
        if !table.held.is_empty() {
            table.change(session, |held| (held.transaction_exclusive, held.transaction_shared) = (0, 0));
            self.freed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: AdvisoryKey = AdvisoryKey::One(1);
    const B: AdvisoryKey = AdvisoryKey::Two(0, 1);

    fn forever() -> Wait<'static> {
        Wait::Until { timeout: None, interrupted: &|| false }
    }

    #[test]
    fn modes_counts_and_ends() {
        let locks = AdvisoryLocks::default();
        let get = |s, k, shared, tx| locks.acquire(s, k, shared, tx, Wait::No).expect("no error");
        assert!(get(1, A, false, false) && get(1, A, false, false) && get(1, A, true, true));
        assert!(
            !get(2, A, true, false) && get(2, B, true, false) && get(1, B, true, false) && !get(1, B, false, false)
        );
        assert!(locks.release(1, A, false) && !get(2, A, true, false));
        assert!(locks.release(1, A, false) && !locks.release(1, A, false));
        assert!(get(2, A, true, false) && !get(2, A, false, false), "1 still shares A in its transaction");
        locks.release_transaction(1);
        assert!(get(2, A, false, false));
        locks.release_session(2);
        assert!(get(3, A, false, false) && !get(3, B, false, false), "1 shares B");
        locks.release_session(1);
        assert!(get(3, B, false, false));
    }

    #[test]
    fn waiting_ends() {
        let locks = AdvisoryLocks::default();
        assert!(locks.acquire(1, A, false, false, Wait::No).expect("free"));
        let wait = Wait::Until { timeout: Some(Duration::from_millis(1)), interrupted: &|| false };
        let error = locks.acquire(2, A, false, false, wait).expect_err("held");
        assert_eq!(error.code(), SqlState::LOCK_NOT_AVAILABLE);
        let wait = Wait::Until { timeout: None, interrupted: &|| true };
        let error = locks.acquire(2, A, false, false, wait).expect_err("held");
        assert_eq!(error.code(), SqlState::QUERY_CANCELED);
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| locks.acquire(2, A, false, false, forever()));
            assert!(locks.release(1, A, false));
            assert!(waiting.join().expect("no panic").expect("got it"));
        });
    }

    #[test]
    fn a_circle_is_broken() {
        let locks = AdvisoryLocks::default();
        for (session, key) in [(1, A), (2, B)] {
            assert!(locks.acquire(session, key, false, false, Wait::No).expect("free"));
        }
        std::thread::scope(|scope| {
            let other = scope.spawn(|| {
                let result = locks.acquire(1, B, false, false, forever());
                locks.release_session(1);
                result
            });
            let own = locks.acquire(2, A, false, false, forever());
            locks.release_session(2);
            let results = [own, other.join().expect("no panic")];
            let broken =
                results.iter().filter_map(|r| r.as_ref().err()).filter(|e| e.code() == SqlState::DEADLOCK_DETECTED);
            assert_eq!(broken.count(), 1, "{results:?}");
        });
    }
}
