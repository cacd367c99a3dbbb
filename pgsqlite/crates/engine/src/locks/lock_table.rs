//! The locks that sessions hold, and the queues of those that wait for one.
//!
//! A lock is granted by whoever frees it: the first in the queue that conflicts with no holder, and with none that came before it, gets it
//! and is woken. A [`Turn`] that is dropped leaves the queue.

use super::{Mode, Request, Target};
use parking_lot::Mutex;
use std::collections::{HashMap, HashSet, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::sync::oneshot;

/// A lock that is held.
#[derive(Debug, Clone)]
struct Held {
    session: u64,
    mode: Mode,
    transaction: bool,
    /// The number of each grant, in order: it is taken as often.
    grants: Vec<u64>,
}

struct Waiting {
    number: u64,
    request: Request,
    /// the session has a pooled connection meanwhile
    keeps_lease: bool,
    /// microseconds since 2000-01-01 UTC
    since: i64,
    granted: oneshot::Sender<()>,
}

#[derive(Default)]
struct Entry {
    held: Vec<Held>,
    queue: VecDeque<Waiting>,
}

impl Entry {
    fn holds(&self, session: u64) -> bool {
        self.held.iter().any(|h| h.session == session)
    }

    /// The sessions that keep a request from being granted: those that hold the target in a conflicting mode, and those that came
    /// before (`before` in the queue) with a conflicting request, unless the session holds the target already.
    fn blockers(&self, request: &Request, before: usize) -> Vec<u64> {
        let holders = self.held.iter().filter(|h| h.session != request.session && h.mode.conflicts(request.mode));
        let mut out: Vec<u64> = holders.map(|h| h.session).collect();
        if !self.holds(request.session) {
            let earlier = self.queue.iter().take(before).map(|w| &w.request);
            out.extend(
                earlier.filter(|w| w.session != request.session && w.mode.conflicts(request.mode)).map(|w| w.session),
            );
        }
        out.sort_unstable();
        out.dedup();
        out
    }

    fn grant(&mut self, request: &Request, number: u64) {
        let same = |h: &&mut Held| {
            h.session == request.session && h.mode == request.mode && h.transaction == request.transaction
        };
        match self.held.iter_mut().find(same) {
            Some(held) => held.grants.push(number),
            None => self.held.push(Held {
                session: request.session,
                mode: request.mode,
                transaction: request.transaction,
                grants: vec![number],
            }),
        }
    }

    /// Takes one back; false: the session does not hold it so.
    fn release(&mut self, request: &Request) -> bool {
        let at = self.held.iter().position(|h| {
            h.session == request.session && h.mode == request.mode && h.transaction == request.transaction
        });
        let Some(at) = at else { return false };
        self.held[at].grants.pop();
        if self.held[at].grants.is_empty() {
            self.held.swap_remove(at);
        }
        true
    }

    /// Wakes those whose turn has come.
    fn serve(&mut self) {
        let mut at = 0;
        while at < self.queue.len() {
            let request = self.queue[at].request;
            if !self.blockers(&request, at).is_empty() {
                at += 1;
                continue;
            }
            if let Some(waiting) = self.queue.remove(at) {
                self.grant(&request, waiting.number);
                if waiting.granted.send(()).is_err() {
                    self.release(&request);
                }
            }
        }
    }
}

#[derive(Default)]
struct State {
    entries: HashMap<Target, Entry>,
    /// those of the entries that are relations
    relations: HashSet<Target>,
    /// the number of the last request
    last: u64,
}

/// The lock table of a database. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct LockTable(Arc<Inner>);

#[derive(Default)]
struct Inner {
    state: Mutex<State>,
    /// how many relations are locked or waited for
    relations: AtomicUsize,
}

/// A lock of a session, as pg_locks shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shown {
    pub target: Target,
    pub mode: Mode,
    /// it is waited for: since when, microseconds since 2000-01-01 UTC
    pub waits_since: Option<i64>,
}

/// A session that waits.
#[derive(Debug, Clone)]
pub(crate) struct Waiter {
    pub request: Request,
    pub keeps_lease: bool,
    pub blockers: Vec<u64>,
}

/// A place in a queue; resolves when the lock is granted.
pub(crate) struct Turn {
    table: LockTable,
    request: Request,
    number: u64,
    granted: oneshot::Receiver<()>,
    over: bool,
}

impl Future for Turn {
    type Output = ();
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let polled = Pin::new(&mut self.granted).poll(cx).map(drop);
        self.over |= polled.is_ready();
        polled
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if self.over {
            return;
        }
        let (number, request) = (self.number, self.request);
        self.granted.close();
        // granted, but nobody has seen it
        let unseen = self.granted.try_recv().is_ok();
        self.table.change(request.target, |entry| {
            entry.queue.retain(|w| w.number != number);
            if unseen {
                entry.release(&request);
            }
        });
    }
}

impl LockTable {
    /// Changes the entry of a target, serves its queue, and forgets it if nothing is left.
    fn change<R>(&self, target: Target, change: impl FnOnce(&mut Entry) -> R) -> R {
        let mut state = self.0.state.lock();
        let entry = state.entries.entry(target).or_default();
        let result = change(entry);
        entry.serve();
        let is_relation = matches!(target, Target::Relation(_));
        if entry.held.is_empty() && entry.queue.is_empty() {
            state.entries.remove(&target);
            if is_relation {
                state.relations.remove(&target);
            }
        } else if is_relation {
            state.relations.insert(target);
        }
        self.0.relations.store(state.relations.len(), Ordering::SeqCst);
        result
    }

    fn next_number(&self) -> u64 {
        let mut state = self.0.state.lock();
        state.last += 1;
        state.last
    }

    /// The number of the last request: what [`LockTable::release_since`] takes.
    pub fn mark(&self) -> u64 {
        self.0.state.lock().last
    }

    /// ROLLBACK TO: gives back what the session's transaction has taken since this mark was made.
    pub fn release_since(&self, session: u64, mark: u64) {
        let taken = |held: &Held| held.session == session && held.transaction && held.grants.iter().any(|&n| n > mark);
        let targets: Vec<Target> = {
            let state = self.0.state.lock();
            state.entries.iter().filter(|(_, entry)| entry.held.iter().any(taken)).map(|(target, _)| *target).collect()
        };
        for target in targets {
            self.change(target, |entry| {
                for held in entry.held.iter_mut().filter(|held| taken(held)) {
                    held.grants.retain(|&n| n <= mark);
                }
                entry.held.retain(|held| !held.grants.is_empty());
            });
        }
    }

    /// Whether any relation is locked: only then the sessions have to look.
    pub fn has_relations(&self) -> bool {
        self.0.relations.load(Ordering::SeqCst) > 0
    }

    /// Takes a lock if that needs no waiting; whether it was got.
    pub fn try_acquire(&self, request: Request) -> bool {
        let number = self.next_number();
        self.change(request.target, |entry| {
            let free = entry.blockers(&request, entry.queue.len()).is_empty();
            if free {
                entry.grant(&request, number);
            }
            free
        })
    }

    /// A session holds a lock already, by what it has done.
    pub fn hold(&self, request: Request) {
        let number = self.next_number();
        self.change(request.target, |entry| {
            let has =
                entry.held.iter().any(|h| h.session == request.session && h.mode == request.mode && h.transaction);
            if !has {
                entry.grant(&request, number);
            }
        });
    }

    /// Whether another session holds what conflicts with a lock that is held.
    pub fn conflicts_of_holder(&self, request: Request) -> bool {
        let state = self.0.state.lock();
        state.entries.get(&request.target).is_some_and(|entry| {
            entry.held.iter().any(|h| h.session != request.session && h.mode.conflicts(request.mode))
        })
    }

    /// Takes a lock, or a place in its queue. `keeps_lease`: the session has a pooled connection while it waits.
    pub fn acquire(&self, request: Request, keeps_lease: bool) -> Option<Turn> {
        if self.try_acquire(request) {
            return None;
        }
        let (granted, turn) = oneshot::channel();
        let number = self.next_number();
        let waiting = Waiting { number, request, keeps_lease, since: pgsqlite_metadata::clock::now(), granted };
        self.change(request.target, |entry| entry.queue.push_back(waiting));
        Some(Turn { table: self.clone(), request, number, granted: turn, over: false })
    }

    /// Gives a lock back once; false: the session does not hold it so.
    pub fn release(&self, request: Request) -> bool {
        self.change(request.target, |entry| entry.release(&request))
    }

    /// Gives back all that a session took until the end of its transaction, or (`transaction` false) for itself.
    pub fn release_all(&self, session: u64, transaction: bool) {
        let targets: Vec<Target> = {
            let state = self.0.state.lock();
            let holds = |entry: &Entry| entry.held.iter().any(|h| h.session == session && h.transaction == transaction);
            state.entries.iter().filter(|(_, entry)| holds(entry)).map(|(target, _)| *target).collect()
        };
        for target in targets {
            self.change(target, |entry| entry.held.retain(|h| h.session != session || h.transaction != transaction));
        }
    }

    /// What one session holds until the end of its transaction is another's from now on. Nobody finds it free in between. The end
    /// of the one's own transaction is not handed over.
    pub fn hand_over(&self, from: u64, to: u64) {
        let mut state = self.0.state.lock();
        for (target, entry) in &mut state.entries {
            if !matches!(target, Target::Transaction(holder) if holder.session == from) {
                entry.held.iter_mut().filter(|h| h.session == from && h.transaction).for_each(|h| h.session = to);
            }
        }
    }

    /// Whether a session holds something both for itself and until the end of its transaction.
    pub fn holds_twice(&self, session: u64) -> bool {
        let state = self.0.state.lock();
        let holds = |entry: &Entry, transaction: bool| {
            entry.held.iter().any(|h| h.session == session && h.transaction == transaction)
        };
        state.entries.values().any(|entry| holds(entry, true) && holds(entry, false))
    }

    /// The relations that other sessions than this one hold locked in a mode that conflicts with `mode`, or wait to lock so before it.
    pub fn relations_against(&self, session: u64, mode: Mode) -> Vec<pgsqlite_types::Oid> {
        if !self.has_relations() {
            return vec![];
        }
        let state = self.0.state.lock();
        // (who holds a relation does not wait for those who queue for it)
        let against = |entry: &Entry| {
            entry.held.iter().any(|h| h.session != session && h.mode.conflicts(mode))
                || !entry.holds(session)
                    && entry.queue.iter().any(|w| w.request.session != session && w.request.mode.conflicts(mode))
        };
        let mut found: Vec<pgsqlite_types::Oid> = state
            .entries
            .iter()
            .filter_map(|(target, entry)| match target {
                Target::Relation(oid) if against(entry) => Some(*oid),
                _ => None,
            })
            .collect();
        // in one order for all: fewer cycles
        found.sort_unstable();
        found
    }

    /// Whether a session waits for a lock that somebody keeps from it who waits for what the session itself holds of the same target:
    /// neither can go on.
    pub fn is_hopeless(&self, session: u64) -> bool {
        let state = self.0.state.lock();
        state.entries.values().any(|entry| {
            let Some(own) = entry.queue.iter().find(|w| w.request.session == session) else { return false };
            let holds_against =
                |holder: u64, mode: Mode| entry.held.iter().any(|h| h.session == holder && h.mode.conflicts(mode));
            entry.queue.iter().any(|other| {
                other.request.session != session
                    && holds_against(session, other.request.mode)
                    && holds_against(other.request.session, own.request.mode)
            })
        })
    }

    /// What a session holds and waits for.
    pub fn of(&self, session: u64) -> Vec<Shown> {
        let state = self.0.state.lock();
        let mut shown = Vec::new();
        for (&target, entry) in &state.entries {
            for held in entry.held.iter().filter(|h| h.session == session) {
                let lock = Shown { target, mode: held.mode, waits_since: None };
                if !shown.contains(&lock) {
                    shown.push(lock);
                }
            }
            for waiting in entry.queue.iter().filter(|w| w.request.session == session) {
                shown.push(Shown { target, mode: waiting.request.mode, waits_since: Some(waiting.since) });
            }
        }
        shown
    }

    /// All that wait, with those that they wait for.
    pub fn waiters(&self) -> Vec<Waiter> {
        let state = self.0.state.lock();
        let mut found = Vec::new();
        for entry in state.entries.values() {
            found.extend(entry.queue.iter().enumerate().map(|(i, w)| Waiter {
                request: w.request,
                keeps_lease: w.keeps_lease,
                blockers: entry.blockers(&w.request, i),
            }));
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::super::Holder;
    use super::*;
    use pgsqlite_natives::udf::session_cell::AdvisoryKey;

    const A: Target = Target::Advisory(AdvisoryKey::One(1));
    const B: Target = Target::Advisory(AdvisoryKey::Two(0, 1));

    fn request(session: u64, target: Target, shared: bool, transaction: bool) -> Request {
        Request { session, target, mode: Mode::advisory(shared), transaction }
    }

    #[test]
    fn modes_counts_and_ends() {
        let locks = LockTable::default();
        let get = |s, t, shared, tx| locks.try_acquire(request(s, t, shared, tx));
        assert!(get(1, A, false, false) && get(1, A, false, false) && get(1, A, true, true));
        assert!(
            !get(2, A, true, false) && get(2, B, true, false) && get(1, B, true, false) && !get(1, B, false, false)
        );
        let give = |s, t, shared| locks.release(request(s, t, shared, false));
        assert!(give(1, A, false) && !get(2, A, true, false));
        assert!(give(1, A, false) && !give(1, A, false));
        assert!(get(2, A, true, false) && !get(2, A, false, false), "1 still shares A in its transaction");
        locks.release_all(1, true);
        assert!(get(2, A, false, false));
        locks.release_all(2, false);
        assert!(get(3, A, false, false) && !get(3, B, false, false), "1 shares B");
        locks.release_all(1, false);
        assert!(get(3, B, false, false));
        locks.release_all(3, false);
        assert!(locks.0.state.lock().entries.is_empty() && !locks.has_relations());
    }

    #[test]
    fn what_was_taken_since_a_mark_is_given_back() {
        let locks = LockTable::default();
        let get = |s, t, shared, tx| locks.try_acquire(request(s, t, shared, tx));
        assert!(get(1, A, true, true));
        let mark = locks.mark();
        assert!(get(1, A, true, true) && get(1, A, false, true) && get(1, B, false, false));
        locks.release_since(1, mark);
        // one of the shared ones is left, and what is the session's
        assert!(get(2, A, true, true) && !get(2, A, false, true) && !get(2, B, true, true));
        locks.release_since(1, 0);
        assert!(get(2, A, false, true) && !get(2, B, true, true));
    }

    #[test]
    fn what_is_handed_over_is_another_s() {
        let locks = LockTable::default();
        assert!(locks.try_acquire(request(1, A, false, true)) && locks.try_acquire(request(1, B, false, false)));
        assert!(!locks.holds_twice(1));
        locks.hold(request(1, Target::Transaction(Holder::any(1)), false, true));
        locks.hand_over(1, 2);
        locks.release_all(1, true);
        assert!(!locks.try_acquire(request(1, A, true, true)) && locks.try_acquire(request(2, A, true, true)));
        assert!(!locks.try_acquire(request(2, B, true, true)), "what is the session's stays its own");
        assert!(locks.try_acquire(request(1, B, false, true)) && locks.holds_twice(1));
        assert!(locks.try_acquire(request(3, Target::Transaction(Holder::any(1)), true, false)));
    }

    #[tokio::test]
    async fn who_waits_is_served_in_order_and_may_leave() {
        let locks = LockTable::default();
        assert!(locks.try_acquire(request(1, A, false, false)));
        let mut second = Box::pin(locks.acquire(request(2, A, true, false), false).expect("waits"));
        let third = locks.acquire(request(3, A, false, false), false).expect("waits");
        let fourth = locks.acquire(request(4, A, true, false), false).expect("waits behind the third");
        assert!(!locks.try_acquire(request(5, A, true, false)), "the queue comes first");
        assert!(futures_now(&mut second).is_none());
        drop(third);
        assert!(locks.release(request(1, A, false, false)));
        assert!(futures_now(&mut second).is_some());
        fourth.await;
        // granted while nobody looked, and given up
        let fifth = locks.acquire(request(5, A, false, false), false).expect("waits");
        locks.release_all(2, false);
        locks.release_all(4, false);
        drop(fifth);
        assert!(locks.try_acquire(request(6, A, false, false)));
    }

    fn futures_now<F: Future + Unpin>(future: &mut F) -> Option<F::Output> {
        match Pin::new(future).poll(&mut Context::from_waker(std::task::Waker::noop())) {
            Poll::Ready(value) => Some(value),
            Poll::Pending => None,
        }
    }
}
