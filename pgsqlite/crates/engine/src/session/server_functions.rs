//! What native functions ask of the server: advisory locks, other sessions, the transaction's number.

use super::CancelHandle;
use crate::advisory::Wait;
use crate::engine::Engine;
use crate::large_object::Descriptors;
use crate::notify::{Mailbox, Pending};
use crate::udf::session_cell::{AdvisoryKey, LockHolder, ServerFunctions};
use parking_lot::Mutex;
use pgsqlite_types::{Oid, PgError, Result};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

/// How often a sleeping session looks whether it was cancelled.
const LOOK: Duration = Duration::from_millis(10);

/// A session as the others of this process reach it.
struct Known {
    cancel: CancelHandle,
    server: Weak<SessionServer>,
}

/// The sessions of this process by the process number they report. A number of 0 is nobody's.
fn sessions() -> &'static Mutex<HashMap<i32, Known>> {
    static SESSIONS: OnceLock<Mutex<HashMap<i32, Known>>> = OnceLock::new();
    SESSIONS.get_or_init(Mutex::default)
}

/// One session's side.
pub struct SessionServer {
    engine: Weak<Engine>,
    /// tells sessions apart, also those that report no process number
    number: u64,
    pid: i32,
    variables: Arc<super::natives::SessionVariables>,
    transaction_id: Mutex<Option<u64>>,
    /// the relations that the transaction has locked, with the number of the mode (1 is ACCESS SHARE, 8 ACCESS EXCLUSIVE)
    relations: Mutex<Vec<(Oid, i32)>>,
    /// how many cursors have got no name
    unnamed: AtomicU64,
    /// the large objects that the transaction holds open
    pub large_objects: Mutex<Descriptors>,
    /// LISTEN and NOTIFY of the running transaction
    pub pending: Mutex<Pending>,
    pub mailbox: Arc<Mailbox>,
}

impl SessionServer {
    pub fn new(
        engine: &Arc<Engine>,
        pid: i32,
        cancel: &CancelHandle,
        variables: &Arc<super::natives::SessionVariables>,
    ) -> Arc<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let server = Arc::new(SessionServer {
            engine: Arc::downgrade(engine),
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            pid,
            variables: variables.clone(),
            transaction_id: Mutex::default(),
            relations: Mutex::default(),
            unnamed: AtomicU64::new(0),
            large_objects: Mutex::default(),
            pending: Mutex::default(),
            mailbox: Arc::new(Mailbox::new(cancel.clone())),
        });
        if pid != 0 {
            let known = Known { cancel: cancel.clone(), server: Arc::downgrade(&server) };
            sessions().lock().insert(pid, known);
        }
        server
    }

    /// The transaction has locked relations (or, as far as this server is concerned, done what locks them in PostgreSQL).
    pub fn lock_relations(&self, relations: impl IntoIterator<Item = Oid>, mode: i32) {
        let mut locked = self.relations.lock();
        for relation in relations {
            if !locked.contains(&(relation, mode)) {
                locked.push((relation, mode));
            }
        }
    }

    /// What the session holds and waits for; `writes`: it has the writer slot.
    fn locks(&self, writes: bool) -> LockHolder {
        let transaction = match writes {
            true => Some(*self.transaction_id.lock().get_or_insert_with(crate::engine::next_number)),
            false => *self.transaction_id.lock(),
        };
        let (advisory, waits_for) = match self.engine.upgrade() {
            Some(engine) => engine.advisory.of(self.number),
            None => (vec![], vec![]),
        };
        let relations = self.relations.lock().clone();
        LockHolder { session: self.number, transaction, relations, advisory, waits_for }
    }

    /// Tells sessions apart.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Whether the messages of the transaction, which is about to commit, find room. Errors: 54000.
    pub fn check_room(&self) -> Result<()> {
        let pending = self.pending.lock();
        match self.engine.upgrade().filter(|_| !pending.is_empty()) {
            Some(engine) => engine.channels.check_room(&pending),
            None => Ok(()),
        }
    }

    /// The transaction committed: its LISTENs hold and its messages go out.
    pub fn committed(&self) {
        let mut pending = self.pending.lock();
        if let Some(engine) = self.engine.upgrade().filter(|_| !pending.is_empty()) {
            engine.channels.commit(self.number, self.pid, &self.mailbox, &mut pending);
        }
    }

    /// The transaction ended: its number and its locks are gone.
    pub fn transaction_ended(&self) {
        *self.transaction_id.lock() = None;
        self.relations.lock().clear();
        self.large_objects.lock().close_all();
        if let Some(engine) = self.engine.upgrade() {
            engine.advisory.release_transaction(self.number);
        }
    }

    fn engine(&self) -> Result<Arc<Engine>> {
        self.engine.upgrade().ok_or_else(|| PgError::internal("a session without an engine"))
    }

    /// The session ended: its locks are free and nobody can signal it. (Not in Drop: a pooled connection's cell may keep
    /// this longer than the session lives.)
    pub fn close(&self) {
        if self.pid != 0 {
            sessions().lock().remove(&self.pid);
        }
        if let Some(engine) = self.engine.upgrade() {
            engine.advisory.release_transaction(self.number);
            engine.advisory.release_session(self.number);
            engine.channels.leave(self.number);
        }
    }
}

impl ServerFunctions for SessionServer {
    fn next_portal(&self) -> String {
        format!("<unnamed portal {}>", self.unnamed.fetch_add(1, Ordering::Relaxed) + 1)
    }
    fn large_objects(&self) -> &Mutex<Descriptors> {
        &self.large_objects
    }
    fn signal(&self, pid: i32, terminate: bool) -> Result<bool> {
        let target = sessions().lock().get(&pid).map(|known| known.cancel.clone());
        Ok(match target {
            Some(handle) if terminate => {
                handle.terminate();
                true
            }
            Some(handle) => {
                handle.cancel();
                true
            }
            None => false,
        })
    }
    fn notify(&self, channel: &str, payload: &str) -> Result<()> {
        self.pending.lock().notify(channel, payload)
    }
    fn listening(&self) -> Result<Vec<String>> {
        Ok(self.engine()?.channels.of(self.number).into_iter().collect())
    }
    fn advisory_lock(
        &self,
        key: AdvisoryKey,
        shared: bool,
        transaction: bool,
        wait: bool,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<bool> {
        let engine = self.engine()?;
        if engine.advisory.acquire(self.number, key, shared, transaction, Wait::No)? {
            return Ok(true);
        }
        if !wait {
            return Ok(false);
        }
        let timeout = self.variables.lock_timeout();
        let timeout = (timeout > 0).then(|| Duration::from_millis(timeout));
        super::work::apart(|| {
            engine.advisory.acquire(self.number, key, shared, transaction, Wait::Until { timeout, interrupted })
        })
    }
    fn advisory_unlock(&self, key: AdvisoryKey, shared: bool) -> Result<bool> {
        Ok(self.engine()?.advisory.release(self.number, key, shared))
    }
    fn advisory_unlock_all(&self) -> Result<()> {
        self.engine()?.advisory.release_session(self.number);
        Ok(())
    }
    fn lock_holders(&self, writes: &dyn Fn(u64) -> bool) -> Vec<LockHolder> {
        let all: Vec<Arc<SessionServer>> = sessions().lock().values().filter_map(|k| k.server.upgrade()).collect();
        let mut locks: Vec<LockHolder> = all.iter().map(|s| s.locks(writes(s.number))).collect();
        locks.sort_unstable_by_key(|l| l.session);
        locks
    }
    fn transaction_id(&self, assign: bool) -> Result<Option<u64>> {
        let mut own = self.transaction_id.lock();
        if own.is_none() && assign {
            *own = Some(crate::engine::next_number());
        }
        Ok(*own)
    }
    fn latest_transaction_id(&self) -> Result<u64> {
        Ok(self.transaction_id.lock().unwrap_or_else(crate::engine::coming_number))
    }
    fn sleep(&self, duration: Duration, interrupted: &dyn Fn() -> bool) -> bool {
        let end = std::time::Instant::now() + duration;
        super::work::apart(|| loop {
            let left = end.saturating_duration_since(std::time::Instant::now());
            if left.is_zero() {
                return true;
            }
            if interrupted() {
                return false;
            }
            std::thread::sleep(left.min(LOOK));
        })
    }
    fn statistics(&self) -> Option<Arc<crate::statistics::Statistics>> {
        Some(self.engine.upgrade()?.config.statistics.clone())
    }
    fn start_time(&self) -> i64 {
        static START: OnceLock<i64> = OnceLock::new();
        *START.get_or_init(super::transaction::clock)
    }
}
