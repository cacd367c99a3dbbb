//! Stopping what a session does: cancel requests, statement_timeout, termination.
//!
//! A request counts only while a statement runs (between [`CancelHandle::begin`] and [`CancelHandle::end`]). It interrupts SQLite if
//! that is at work, and wakes what waits ([`CancelHandle::requested`]): for the writer slot, a lock, a pooled connection. The statements of a
//! query string are one request's: a client that cancels between two of them ends the second one.

use parking_lot::Mutex;
use pgsqlite_types::{PgError, Result, SqlState};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;

/// Why a statement is to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reason {
    User,
    StatementTimeout,
    OldSnapshot,
    ClientLost,
    LongWriter,
    TransactionTimeout,
}

#[derive(Default)]
struct Running {
    active: bool,
    /// set while SQLite is at work
    interrupt: Option<Arc<rusqlite::InterruptHandle>>,
    reason: Option<Reason>,
}

#[derive(Default)]
struct State {
    running: Mutex<Running>,
    /// the statement is one of a query string, and others follow it; changed with `running` locked
    others_follow: AtomicBool,
    /// a reason is set, or the session is terminated: looked at in loops
    requested: AtomicBool,
    /// the session's transaction has savepoints
    savepoints: AtomicBool,
    terminated: AtomicBool,
    /// terminated, and what runs is to end, too
    ends_statement: AtomicBool,
    /// the number of a client's silence in which its session is to end; 0: of none
    silence: AtomicU64,
    /// others have waited too long for the session's transaction
    long_writer: AtomicBool,
    /// [`pgsqlite_storage::vfs::OldestReader::began`] of the read transaction that is to end; 0: none
    old_snapshot: AtomicU64,
    /// the number of the transaction that has lasted too long; 0: none
    late_transaction: AtomicU64,
    /// something for a session whose client is silent: termination, a notification
    wake: tokio::sync::Notify,
    /// a request came while a statement runs
    stop: tokio::sync::Notify,
    /// the session is terminated while it sends rows
    give_up: tokio::sync::Notify,
}

/// Cancels what a session is running; cheap to clone, usable from any thread.
#[derive(Clone, Default)]
pub struct CancelHandle(Arc<State>);

impl CancelHandle {
    /// The running statement (if any) ends with 57014.
    pub fn cancel(&self) {
        self.request(Reason::User);
    }

    pub(crate) fn time_out(&self) {
        self.request(Reason::StatementTimeout);
    }

    /// The client has gone away while its statement runs.
    pub(crate) fn lose_client(&self) {
        self.request(Reason::ClientLost);
    }

    /// A statement begins: whether its transaction has savepoints.
    pub(crate) fn note_savepoints(&self, any: bool) {
        self.0.savepoints.store(any, Ordering::Relaxed);
    }

    pub(crate) fn has_savepoints(&self) -> bool {
        self.0.savepoints.load(Ordering::Relaxed)
    }

    fn request(&self, reason: Reason) {
        let mut running = self.0.running.lock();
        let between = self.0.others_follow.load(Ordering::Relaxed) && reason == Reason::User;
        if !running.active && !between {
            return;
        }
        running.reason.get_or_insert(reason);
        self.0.requested.store(true, Ordering::Release);
        if let Some(handle) = &running.interrupt {
            handle.interrupt();
        }
        self.0.stop.notify_one();
    }

    /// The session ends with 57P01 at the next chance (pg_terminate_backend, shutdown).
    pub fn terminate(&self) {
        self.0.terminated.store(true, Ordering::Release);
        self.0.ends_statement.store(true, Ordering::SeqCst);
        self.0.requested.store(true, Ordering::Release);
        if let Some(handle) = &self.0.running.lock().interrupt {
            handle.interrupt();
        }
        self.0.stop.notify_one();
        self.0.wake.notify_one();
        self.0.give_up.notify_one();
    }

    /// Resolves when the session is terminated, what runs included.
    pub async fn terminated(&self) {
        while !self.0.ends_statement.load(Ordering::SeqCst) {
            self.0.give_up.notified().await;
        }
    }

    /// The session ends with 57P01 when it is between statements; what runs may finish.
    pub fn finish(&self) {
        self.0.terminated.store(true, Ordering::Release);
        self.0.wake.notify_one();
    }

    /// The session ends with 25P03 if its client is still in the silence of this number.
    pub(crate) fn end_silence(&self, number: u64) {
        self.0.silence.store(number, Ordering::Release);
        self.0.wake.notify_one();
        self.0.stop.notify_one();
    }

    /// The session ends with 25P04: with the running statement, or in the client's silence of this number.
    pub(crate) fn end_long_writer(&self, silence: Option<u64>) {
        self.0.long_writer.store(true, Ordering::Release);
        match silence {
            Some(number) => self.end_silence(number),
            None => self.request(Reason::LongWriter),
        }
    }

    /// Whether the session ends because others have waited too long for it.
    pub(crate) fn is_long_writer(&self) -> bool {
        self.0.long_writer.load(Ordering::Acquire)
    }

    pub(crate) fn ends_silence(&self, number: u64) -> bool {
        self.0.silence.load(Ordering::Acquire) == number
    }

    /// The read transaction that began so ([`pgsqlite_storage::vfs::OldestReader::began`]) ends with 72000: with the running statement, or with
    /// the session if its client is silent.
    pub(crate) fn end_snapshot(&self, began: u64) {
        self.0.old_snapshot.store(began, Ordering::Release);
        self.request(Reason::OldSnapshot);
        self.0.wake.notify_one();
    }

    /// Whether the read transaction that began so is to end.
    pub(crate) fn ends_snapshot(&self, began: u64) -> bool {
        began != 0 && self.0.old_snapshot.load(Ordering::Acquire) == began
    }

    /// The session ends with 25P04 if its transaction is still the one of this number: with the running statement, or in the client's silence.
    pub(crate) fn end_transaction(&self, number: u64) {
        self.0.late_transaction.store(number, Ordering::Release);
        self.request(Reason::TransactionTimeout);
        self.0.wake.notify_one();
    }

    pub(crate) fn ends_transaction(&self, number: u64) -> bool {
        self.0.late_transaction.load(Ordering::Acquire) == number
    }

    pub fn is_terminated(&self) -> bool {
        self.0.terminated.load(Ordering::Acquire)
    }

    /// Lets [`Session::wait_event`](crate::session::Session::wait_event) look again: a notification is there.
    pub(crate) fn wake(&self) {
        self.0.wake.notify_one();
    }

    pub(crate) async fn woken(&self) {
        self.0.wake.notified().await;
    }

    /// A statement begins: from now on requests count. False: it runs already (after a pause).
    pub(crate) fn begin(&self) -> bool {
        let mut running = self.0.running.lock();
        if running.active {
            return false;
        }
        running.active = true;
        self.settle_request(&mut running);
        true
    }

    /// The statement has ended.
    pub(crate) fn end(&self) {
        let mut running = self.0.running.lock();
        running.active = false;
        running.interrupt = None;
        self.settle_request(&mut running);
    }

    /// Whether the client has sent other statements in the same query string, which run after this one.
    pub(crate) fn set_others_follow(&self, others_follow: bool) {
        if self.0.others_follow.load(Ordering::Relaxed) == others_follow {
            return;
        }
        let mut running = self.0.running.lock();
        self.0.others_follow.store(others_follow, Ordering::Relaxed);
        if !running.active {
            self.settle_request(&mut running);
        }
    }

    /// A request was for the statement that is over, or before the one that begins. What stays: a client's own, if statements of the same
    /// query string follow, and a termination.
    fn settle_request(&self, running: &mut Running) {
        let others_follow = self.0.others_follow.load(Ordering::Relaxed);
        running.reason = running.reason.filter(|reason| others_follow && *reason == Reason::User);
        self.0.requested.store(running.reason.is_some(), Ordering::SeqCst);
        if self.0.ends_statement.load(Ordering::SeqCst) {
            self.0.requested.store(true, Ordering::Release);
        }
    }

    /// SQLite is about to work: requests interrupt it. An error if one has come already.
    pub(crate) fn arm(&self, handle: Arc<rusqlite::InterruptHandle>) -> Result<()> {
        self.0.running.lock().interrupt = Some(handle);
        self.check()
    }

    pub(crate) fn disarm(&self) {
        self.0.running.lock().interrupt = None;
    }

    /// The error of a request that has come: 57014, or 57P01 (fatal).
    pub(crate) fn check(&self) -> Result<()> {
        if self.0.requested.load(Ordering::Acquire) {
            Err(self.error())
        } else {
            Ok(())
        }
    }

    /// What an interrupted statement ends with.
    pub(crate) fn error(&self) -> PgError {
        let reason = self.0.running.lock().reason;
        match reason {
            Some(Reason::StatementTimeout) => {
                PgError::new(SqlState::QUERY_CANCELED, "canceling statement due to statement timeout")
            }
            Some(Reason::ClientLost) => connection_lost(),
            Some(Reason::LongWriter) => held_too_long(),
            Some(Reason::TransactionTimeout) => lasted_too_long(),
            Some(Reason::OldSnapshot) => too_old(),
            None if self.is_terminated() => terminated(),
            _ => PgError::new(SqlState::QUERY_CANCELED, "canceling statement due to user request"),
        }
    }

    /// Resolves, with the statement's error, when a request comes.
    pub(crate) async fn requested(&self) -> PgError {
        loop {
            if let Err(e) = self.check() {
                return e;
            }
            self.0.stop.notified().await;
        }
    }
}

/// 08006
pub(crate) fn connection_lost() -> PgError {
    PgError::new(SqlState::CONNECTION_FAILURE, "connection to client lost").fatal()
}

/// 25P04, of `transaction_timeout`
pub(crate) fn lasted_too_long() -> PgError {
    PgError::new(SqlState::TRANSACTION_TIMEOUT, "terminating connection due to transaction timeout").fatal()
}

/// 25P04
pub(crate) fn held_too_long() -> PgError {
    lasted_too_long()
        .detail("Others have waited to write for as long as --writer-timeout allows while this transaction had the writer's slot.")
        .hint("Write in shorter transactions, or start the server with a longer --writer-timeout.")
}

/// 57P01
pub(crate) fn terminated() -> PgError {
    PgError::new(SqlState::ADMIN_SHUTDOWN, "terminating connection due to administrator command").fatal()
}

/// 72000
pub(crate) fn too_old() -> PgError {
    PgError::new(SqlState::SNAPSHOT_TOO_OLD, "snapshot too old")
        .detail("The transaction has kept the database's log from beginning anew until the log reached --log-limit.")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_requested(handle: &CancelHandle) -> bool {
        handle.check().is_err()
    }

    #[test]
    fn a_request_between_statements_is_for_the_next_of_the_same_text() {
        let handle = CancelHandle::default();
        assert!(handle.begin());
        handle.set_others_follow(true);
        handle.end();
        handle.cancel();
        assert!(handle.begin());
        assert!(is_requested(&handle));
        handle.end();
        // the statement ended before it looked
        assert!(handle.begin());
        assert!(is_requested(&handle));
        handle.set_others_follow(false);
        handle.end();
        assert!(!is_requested(&handle));
        handle.cancel();
        assert!(handle.begin());
        assert!(!is_requested(&handle));
    }

    #[test]
    fn what_is_about_one_statement_ends_with_it() {
        let handle = CancelHandle::default();
        assert!(handle.begin());
        handle.set_others_follow(true);
        handle.time_out();
        assert!(is_requested(&handle));
        handle.end();
        handle.time_out();
        assert!(handle.begin());
        assert!(!is_requested(&handle));
        handle.cancel();
        handle.end();
        // an error has ended the text
        handle.set_others_follow(false);
        assert!(handle.begin());
        assert!(!is_requested(&handle));
        handle.terminate();
        handle.end();
        assert!(handle.begin());
        assert!(is_requested(&handle));
    }
}
