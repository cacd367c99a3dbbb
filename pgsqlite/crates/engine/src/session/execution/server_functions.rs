//! What native functions ask of the server: advisory locks, other sessions, the transaction's number.

use crate::engine::Engine;
use crate::gate::during_recovery;
use crate::locks::lock_table::Shown;
use crate::locks::row_locks::{Row, RowMode};
use crate::locks::{Holder, Mode, Request, Target};
use crate::notify::{Mailbox, Pending};
use crate::session::transaction::waiting::{Apart, Limits, Step, Wanted};
use crate::session::{CancelHandle, ClientWatch, Host, HostHandle, SessionOptions};
use crate::transactions::{self, Number};
use parking_lot::Mutex;
use pgsqlite_metadata::store::transactions::{recorded, Recorded};
use pgsqlite_natives::large_object::Descriptors;
use pgsqlite_natives::settings::TracksFunctions;
use pgsqlite_natives::statistics::activity::{Activity, Wait};
use pgsqlite_natives::statistics::fetched::Fetched;
use pgsqlite_natives::statistics::functions::{FunctionCounts, OfFunctions};
use pgsqlite_natives::statistics::slru::{Slru, NAMES};
use pgsqlite_natives::udf::session_cell::{
    AdvisoryKey, AdvisoryLock, Backend, Fate, LockHolder, LockMark, NotificationMark, PreparedTransaction,
    ServerFunctions,
};
use pgsqlite_sql::catalog::Relation;
use pgsqlite_types::{Oid, PgError, Result};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

const SLRUS: usize = NAMES.len();

/// A session as the others of this process reach it.
struct Known {
    cancel: CancelHandle,
    server: Weak<SessionServer>,
    /// as in `Backend`
    role: Oid,
}

/// The sessions of this process by the process number they report. A number of 0 is nobody's.
fn sessions() -> &'static Mutex<HashMap<i32, Known>> {
    static SESSIONS: OnceLock<Mutex<HashMap<i32, Known>>> = OnceLock::new();
    SESSIONS.get_or_init(Mutex::default)
}

/// The session with this process number.
pub(in crate::session) fn session_of(pid: i32) -> Option<Arc<SessionServer>> {
    sessions().lock().get(&pid)?.server.upgrade()
}

/// The sessions of a database.
pub(in crate::session) fn sessions_of(engine: &Arc<Engine>) -> Vec<Arc<SessionServer>> {
    let own = Arc::downgrade(engine);
    let all: Vec<_> = sessions().lock().values().filter_map(|known| known.server.upgrade()).collect();
    all.into_iter().filter(|server| server.engine.ptr_eq(&own)).collect()
}

/// A number for a session, which no other has.
pub(crate) fn next_session() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// The number of a session's transaction.
#[derive(Default)]
enum OwnNumber {
    /// nobody has asked for it
    #[default]
    None,
    Known(Number),
    /// the transaction commits: it gets none any more, because nobody would record it
    Ending,
}

impl OwnNumber {
    /// `assign`: it gets one if it has none.
    fn get(&mut self, assign: bool) -> Option<u64> {
        if assign && matches!(self, OwnNumber::None) {
            *self = OwnNumber::Known(Number::take());
        }
        match self {
            OwnNumber::Known(number) => Some(number.get()),
            OwnNumber::None | OwnNumber::Ending => None,
        }
    }
}

/// One session's side.
pub struct SessionServer {
    engine: Weak<Engine>,
    /// tells sessions apart, also those that report no process number
    number: u64,
    pid: i32,
    host: HostHandle,
    variables: Arc<crate::session::execution::natives::SessionVariables>,
    cancel: CancelHandle,
    activity: OnceLock<Arc<Activity>>,
    client: Mutex<Option<Arc<dyn ClientWatch>>>,
    /// what the running statement waits for apart
    pub(in crate::session) apart: Mutex<Apart>,
    /// the transaction may have locks in the database's table
    locked: AtomicBool,
    /// the transaction that holds a row which the running statement has met
    met: Mutex<Option<Holder>>,
    /// the transaction whose end the running statement has waited for, and of which it is the next ([`Target::Turn`])
    pub(in crate::session) next_after: Mutex<Option<Holder>>,
    /// as what the transaction holds rows: others wait for its end
    pub(in crate::session) holds_as: Mutex<Option<Holder>>,
    /// no wait is for a transaction whose client is silent
    gives_up_on_silence: AtomicBool,
    transaction_number: Mutex<OwnNumber>,
    /// the running statement is one of a transaction block
    in_block: AtomicBool,
    /// the transaction keeps its snapshot
    repeatable: AtomicBool,
    /// ROLLBACK TO has taken back what the transaction had written: it keeps its number
    has_undone: AtomicBool,
    /// the relations that the transaction has locked, with the number of the mode (1 is ACCESS SHARE, 8 ACCESS EXCLUSIVE)
    relations: Mutex<Vec<(Oid, i32)>>,
    /// what the transaction block has read
    reads: Mutex<crate::session::transaction::readers::Readers>,
    /// how many cursors have got no name
    unnamed: AtomicU64,
    /// the large objects that the transaction holds open
    pub large_objects: Mutex<Descriptors>,
    /// what the transaction has counted of functions
    calls: Mutex<OfFunctions>,
    /// what it has read of the statistics
    fetched: Mutex<Fetched>,
    /// LISTEN and NOTIFY of the running transaction
    pub pending: Mutex<Pending>,
    pub mailbox: Arc<Mailbox>,
}

impl SessionServer {
    pub(in crate::session) fn set_gives_up_on_silence(&self, on: bool) {
        self.gives_up_on_silence.store(on, Ordering::Relaxed);
    }

    pub(in crate::session) fn set_in_block(&self, on: bool) {
        self.in_block.store(on, Ordering::Relaxed);
    }

    pub(in crate::session) fn set_repeatable(&self, on: bool) {
        self.repeatable.store(on, Ordering::Relaxed);
    }

    pub(in crate::session) fn is_repeatable(&self) -> bool {
        self.repeatable.load(Ordering::Relaxed)
    }

    pub(in crate::session) fn gives_up_on_silence(&self) -> bool {
        self.gives_up_on_silence.load(Ordering::Relaxed)
    }

    pub fn new(
        engine: &Arc<Engine>,
        options: &SessionOptions,
        login: Oid,
        cancel: &CancelHandle,
        variables: &Arc<crate::session::execution::natives::SessionVariables>,
    ) -> Arc<Self> {
        let pid = options.backend_pid;
        let server = Arc::new(SessionServer {
            engine: Arc::downgrade(engine),
            number: next_session(),
            pid,
            host: options.host.clone(),
            variables: variables.clone(),
            cancel: cancel.clone(),
            activity: OnceLock::new(),
            client: Mutex::default(),
            apart: Mutex::default(),
            locked: AtomicBool::new(false),
            met: Mutex::default(),
            next_after: Mutex::default(),
            holds_as: Mutex::default(),
            gives_up_on_silence: AtomicBool::new(false),
            transaction_number: Mutex::default(),
            in_block: AtomicBool::new(false),
            repeatable: AtomicBool::new(false),
            has_undone: AtomicBool::new(false),
            relations: Mutex::default(),
            reads: Mutex::default(),
            unnamed: AtomicU64::new(0),
            large_objects: Mutex::default(),
            calls: Mutex::default(),
            fetched: Mutex::default(),
            pending: Mutex::default(),
            mailbox: Arc::new(Mailbox::new(cancel.clone())),
        });
        if pid != 0 {
            let known = Known { cancel: cancel.clone(), server: Arc::downgrade(&server), role: login };
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

    /// The transaction block is about to read by this plan. To be told before it looks whether others have locked what it reads.
    pub(in crate::session) fn note_read(&self, plan: &Arc<crate::plans::Prepared>) {
        self.reads.lock().note(plan);
        std::sync::atomic::fence(Ordering::SeqCst);
    }

    /// Whether the transaction block has read or locked a temporary table.
    pub(in crate::session) fn has_used_temporary(&self) -> bool {
        let is_temporary = |oid: Oid| oid >= pgsqlite_sql::catalog::FIRST_TEMPORARY_OID;
        let locks = self.engine.upgrade().map(|engine| engine.locks.of(self.number)).unwrap_or_default();
        let locked = locks.iter().any(|lock| matches!(lock.target, Target::Relation(oid) if is_temporary(oid)));
        locked
            || self.relations.lock().iter().any(|(oid, _)| is_temporary(*oid))
            || self.reads.lock().has_read_temporary()
    }

    /// What the session holds and waits for; `writes`: it has the writer slot.
    fn locks(&self, writes: bool) -> LockHolder {
        let transaction = self.transaction_number.lock().get(writes);
        let relations: Vec<(Oid, i32, Option<i64>)> =
            self.relations.lock().iter().map(|&(relation, mode)| (relation, mode, None)).collect();
        let mut holder = LockHolder { transaction, ..no_locks(self.number) };
        if let Some(engine) = self.engine.upgrade() {
            holder.slot = engine.writer.is_kept_by(self.number);
            for shown in engine.locks.of(self.number) {
                add_lock(&mut holder, shown);
                if shown.waits_since.is_some() {
                    holder.waits_for = engine.blockers_of(self.number);
                }
            }
        }
        for lock in relations {
            if !holder.relations.contains(&lock) {
                holder.relations.push(lock);
            }
        }
        holder
    }

    /// The number of the transaction, which gets one if it has none; None: it is about to end.
    pub(in crate::session) fn own_transaction_id(&self) -> Option<u64> {
        self.transaction_number.lock().get(true)
    }

    /// ROLLBACK TO takes back what the transaction has written.
    pub(in crate::session) fn undoes(&self) {
        self.has_undone.store(true, Ordering::Relaxed);
    }

    /// The transaction is about to commit, and gets no number from now on. Returns the one that it has.
    pub(in crate::session) fn last_number(&self) -> Option<Number> {
        match std::mem::replace(&mut *self.transaction_number.lock(), OwnNumber::Ending) {
            OwnNumber::Known(number) => Some(number),
            OwnNumber::None | OwnNumber::Ending => None,
        }
    }

    /// The session as others see it; None: it is being made.
    pub(in crate::session) fn activity(&self) -> Option<&Arc<Activity>> {
        self.activity.get()
    }

    pub(in crate::session) fn set_activity(&self, activity: &Arc<Activity>) {
        let _ = self.activity.set(activity.clone());
    }

    pub(in crate::session) fn cancel(&self) -> &CancelHandle {
        &self.cancel
    }

    pub(in crate::session) fn client_watch(&self) -> Option<Arc<dyn ClientWatch>> {
        self.client.lock().clone()
    }

    pub(in crate::session) fn set_client_watch(&self, watch: Arc<dyn ClientWatch>) {
        *self.client.lock() = Some(watch);
    }

    /// The transaction takes locks of the database's table.
    pub(in crate::session) fn note_locked(&self) {
        self.locked.store(true, Ordering::Relaxed);
    }

    /// The locks that the transaction has now.
    pub(in crate::session) fn locks_now(&self) -> LockMark {
        let (table, rows) = match self.locked.load(Ordering::Relaxed) {
            true => self.engine.upgrade().map_or((0, 0), |engine| (engine.locks.mark(), engine.rows.mark())),
            false => (0, 0),
        };
        LockMark { noted: self.relations.lock().len(), table, read: self.reads.lock().mark(), rows }
    }

    /// What was done since this mark was made is undone: its locks are given back.
    pub(in crate::session) fn unlock_since(&self, mark: LockMark) {
        // (first what is noted: nobody makes a lock of it any more)
        self.relations.lock().truncate(mark.noted);
        self.reads.lock().cut(mark.read);
        if self.locked.load(Ordering::Relaxed) {
            if let Some(engine) = self.engine.upgrade() {
                engine.rows.release_since(self.number, mark.rows);
                engine.locks.release_since(self.number, mark.table);
                self.wake_waiters(&engine);
            }
        }
    }

    /// What the transaction has noted of a relation becomes a lock of the database's table, until it ends.
    pub(in crate::session) fn publish_relation(&self, engine: &Engine, relation: &Relation) {
        // (held: the transaction does not end meanwhile)
        let noted = self.relations.lock();
        let of_relation = noted.iter().filter(|(r, _)| *r == relation.oid);
        let modes = of_relation.filter_map(|(_, mode)| Mode::numbered(*mode));
        let read = self.reads.lock().mode_of(relation.oid);
        for mode in modes.chain(read) {
            self.note_locked();
            let target = Target::Relation(relation.oid);
            engine.locks.hold(Request { session: self.number, target, mode, transaction: true });
        }
    }

    /// Runs with what the transaction has locked and read; it does not end meanwhile.
    pub(in crate::session) fn while_it_lasts<R>(
        &self,
        run: impl FnOnce(&[(Oid, i32)], &crate::session::transaction::readers::Readers) -> R,
    ) -> R {
        let noted = self.relations.lock();
        let reads = self.reads.lock();
        run(&noted, &reads)
    }

    pub(in crate::session) fn limits_of_natives(&self) -> Limits {
        self.variables.limits()
    }

    /// Tells sessions apart.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Whether the messages of the transaction, which is about to commit, find room. Errors: 54000.
    pub fn check_room(&self) -> Result<()> {
        let pending = self.pending.lock();
        match self.engine.upgrade().filter(|_| !pending.is_empty()) {
            Some(engine) => engine.channels.check_room(self.number, &pending),
            None => Ok(()),
        }
    }

    /// The transaction committed: its LISTENs hold and its messages go out.
    pub fn committed(&self) {
        let mut pending = self.pending.lock();
        if let Some(engine) = self.engine.upgrade().filter(|_| !pending.is_empty()) {
            engine.config.statistics.slrus.notified(pending.lengths());
            engine.channels.commit(self.number, self.pid, &self.mailbox, &mut pending);
        }
    }

    /// The transaction ended: its number and its locks are gone.
    pub fn transaction_ended(&self) {
        *self.transaction_number.lock() = OwnNumber::None;
        self.has_undone.store(false, Ordering::Relaxed);
        {
            let mut relations = self.relations.lock();
            relations.clear();
            self.reads.lock().clear();
        }
        self.large_objects.lock().close_all();
        self.fetched.lock().clear();
        let calls = std::mem::take(&mut *self.calls.lock());
        if let Some(engine) = (!calls.is_empty()).then(|| self.engine.upgrade()).flatten() {
            let catalog = engine.catalog();
            engine.counters.functions.add(calls, |function| catalog.routines.contains_key(&function));
        }
        if self.locked.swap(false, Ordering::Relaxed) {
            self.holds_as.lock().take();
            if let Some(engine) = self.engine.upgrade() {
                engine.rows.release(self.number);
                engine.locks.release_all(self.number, true);
            }
        }
    }

    /// The running statement has met a row or key that another session's transaction holds: the error that ends it.
    pub(in crate::session) fn meet(&self, other: Holder) -> PgError {
        *self.met.lock() = Some(other);
        PgError::internal("a statement that waits for a row is begun anew")
    }

    /// The transaction that holds what the statement has met, if it has.
    pub(in crate::session) fn met(&self) -> Option<Holder> {
        self.met.lock().take()
    }

    pub(in crate::session) fn engine(&self) -> Result<Arc<Engine>> {
        self.engine.upgrade().ok_or_else(|| PgError::internal("a session without an engine"))
    }

    /// The session ended: its locks are free and nobody can signal it. (Not in Drop: a pooled connection's cell may keep
    /// this longer than the session lives.)
    pub fn close(&self) {
        if self.pid != 0 {
            sessions().lock().remove(&self.pid);
        }
        if let Some(engine) = self.engine.upgrade() {
            engine.rows.release(self.number);
            engine.locks.release_all(self.number, true);
            engine.locks.release_all(self.number, false);
            engine.channels.leave(self.number);
        }
    }
}

/// A session without locks.
fn no_locks(session: u64) -> LockHolder {
    LockHolder { session, transaction: None, relations: vec![], advisory: vec![], waits_for: vec![], slot: false }
}

/// Adds what the database's table of locks shows.
fn add_lock(holder: &mut LockHolder, shown: Shown) {
    match shown.target {
        Target::Advisory(key) => {
            let shared = shown.mode == Mode::Share;
            holder.advisory.push(AdvisoryLock { key, shared, waits_since: shown.waits_since });
        }
        Target::Relation(oid) => holder.relations.push((oid, shown.mode as i32, shown.waits_since)),
        // (pg_locks shows the transaction's number itself)
        Target::Transaction(_) | Target::Turn(_) => {}
    }
}

impl ServerFunctions for SessionServer {
    fn was_committed(&self, sql: &str, parameters: &[pgsqlite_types::Datum]) -> bool {
        self.engine.upgrade().is_some_and(|engine| engine.was_committed(sql, parameters))
    }
    fn next_portal(&self) -> String {
        format!("<unnamed portal {}>", self.unnamed.fetch_add(1, Ordering::Relaxed) + 1)
    }
    fn large_objects(&self) -> &Mutex<Descriptors> {
        &self.large_objects
    }
    fn lock_row(&self, table: &str, rowid: i64, mode: i64, wait: bool) -> Result<bool> {
        let engine = self.engine()?;
        let mode = RowMode::numbered(mode).ok_or_else(|| PgError::internal("an unknown mode of locking rows"))?;
        let first = !engine.rows.has(self.number);
        match engine.rows.try_lock(self.number, Row { table: table.into(), rowid }, mode) {
            Ok(()) => {
                if first {
                    self.hold_transaction(&engine);
                }
                Ok(true)
            }
            Err(other) if wait => Err(self.meet(other)),
            Err(_) => Ok(false),
        }
    }
    fn is_in_block(&self) -> bool {
        self.in_block.load(Ordering::Relaxed)
    }
    fn backend(&self, pid: i32) -> Option<Backend> {
        let (server, role) = sessions().lock().get(&pid).map(|known| (known.server.clone(), known.role))?;
        let engine = server.upgrade()?.engine.upgrade()?;
        let superuser = pgsqlite_sql::acl::is_superuser(&engine.catalog(), role);
        Some(Backend { role: self.engine.ptr_eq(&Arc::downgrade(&engine)).then_some(role), superuser })
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
    fn host(&self) -> Option<Arc<dyn Host>> {
        self.host.0.clone()
    }
    fn notify(&self, channel: &str, payload: &str) -> Result<()> {
        self.pending.lock().notify(channel, payload)
    }
    fn listen(&self, channel: &str) -> Result<()> {
        if self.engine()?.in_recovery() {
            return Err(during_recovery("LISTEN"));
        }
        self.pending.lock().listen(channel)
    }
    fn unlisten(&self, channel: Option<&str>) -> Result<()> {
        let mut pending = self.pending.lock();
        match channel {
            Some(channel) => pending.unlisten(channel),
            None => pending.unlisten_all(),
        }
    }
    fn notifications_now(&self) -> NotificationMark {
        self.pending.lock().mark()
    }
    fn take_back_notifications(&self, mark: NotificationMark) {
        self.pending.lock().roll_back_to(mark);
    }
    fn listening(&self) -> Result<Vec<String>> {
        Ok(self.engine()?.channels.of(self.number).into_iter().collect())
    }
    fn advisory_lock(&self, key: AdvisoryKey, shared: bool, transaction: bool, wait: bool) -> Result<bool> {
        let engine = self.engine()?;
        let target = Target::Advisory(key);
        let request = Request { session: self.number, target, mode: Mode::advisory(shared), transaction };
        let wanted = Wanted::Lock(request);
        let step = if wait { self.step(wanted) } else { Step::Here };
        if step == Step::Done {
            return Ok(true);
        }
        if transaction {
            self.note_locked();
        }
        if engine.locks.try_acquire(request) {
            self.got(wanted);
            return Ok(true);
        }
        if !wait {
            return Ok(false);
        }
        if step == Step::Apart {
            return Err(self.give_up_for(wanted));
        }
        self.wait_here(Wait::Advisory, self.variables.limits(), self.turn(request, true))?;
        Ok(true)
    }
    fn advisory_unlock(&self, key: AdvisoryKey, shared: bool) -> Result<bool> {
        let (session, target, mode) = (self.number, Target::Advisory(key), Mode::advisory(shared));
        Ok(self.engine()?.locks.release(Request { session, target, mode, transaction: false }))
    }
    fn locks_now(&self) -> LockMark {
        SessionServer::locks_now(self)
    }
    fn unlock_since(&self, mark: LockMark) {
        SessionServer::unlock_since(self, mark);
    }
    fn advisory_unlock_all(&self) -> Result<()> {
        self.engine()?.locks.release_all(self.number, false);
        Ok(())
    }
    fn lock_holders(&self, writes: &dyn Fn(u64) -> bool) -> Vec<LockHolder> {
        let all: Vec<Arc<SessionServer>> = sessions().lock().values().filter_map(|k| k.server.upgrade()).collect();
        let mut locks: Vec<LockHolder> = all.iter().map(|s| s.locks(writes(s.number))).collect();
        locks.sort_unstable_by_key(|l| l.session);
        locks
    }
    fn prepared_transactions(&self) -> Vec<PreparedTransaction> {
        let Some(engine) = self.engine.upgrade() else { return vec![] };
        let prepared = engine.prepared.all().into_iter().map(|one| {
            let mut locks = LockHolder { transaction: Some(one.number), ..no_locks(one.holder) };
            engine.locks.of(one.holder).into_iter().for_each(|shown| add_lock(&mut locks, shown));
            let (gid, number) = (one.gid, one.number);
            PreparedTransaction { gid, number, prepared: one.prepared, owner: one.owner, locks }
        });
        prepared.collect()
    }
    fn transaction_id(&self, assign: bool) -> Result<Option<u64>> {
        Ok(self.transaction_number.lock().get(assign))
    }
    fn has_writer_slot(&self) -> Result<bool> {
        let engine = self.engine()?;
        Ok(engine.rows.has(self.number) || engine.writer.holder().is_some_and(|holder| holder.session == self.number))
    }
    fn has_undone(&self) -> bool {
        self.has_undone.load(Ordering::Relaxed)
    }
    fn transaction_fate(&self, number: u64) -> Result<Option<Fate>> {
        // asked first: what ends meanwhile is found in one of the records
        if transactions::is_running(number) {
            return Ok(Some(Fate::InProgress));
        }
        let mut found = transactions::unwritten(number);
        let engine = self.engine()?;
        if found != Recorded::Committed {
            // not by the statement's own snapshot, which may be older than the commit
            let keeper = engine.keeper();
            let keeper = keeper.as_ref().ok_or_else(|| PgError::shut_down())?;
            found = found.or(recorded(keeper.rusqlite(), number)?);
        }
        if let Some(databases) = &engine.config.databases {
            for name in databases.0.list() {
                if found == Recorded::Committed {
                    break;
                }
                if name != engine.config.database {
                    found = found.or(databases.0.recorded(&name, number)?);
                }
            }
        }
        Ok(match found {
            Recorded::Committed => Some(Fate::Committed),
            Recorded::Absent => Some(Fate::Aborted),
            Recorded::Forgotten => None,
        })
    }
    fn latest_transaction_id(&self) -> Result<u64> {
        Ok(self.transaction_number.lock().get(false).unwrap_or_else(pgsqlite_metadata::counter::coming_number))
    }
    fn sleep(&self, duration: Duration) -> Result<()> {
        if duration.is_zero() {
            return Ok(());
        }
        let wanted = Wanted::Sleep(duration);
        match self.step(wanted) {
            Step::Done => Ok(()),
            Step::Apart => Err(self.give_up_for(wanted)),
            Step::Here => {
                let limits = Limits { lock_timeout: None, ..self.variables.limits() };
                self.wait_here(Wait::Sleep, limits, async {
                    tokio::time::sleep(duration).await;
                    Ok(())
                })
            }
        }
    }
    fn statistics(&self) -> Option<Arc<pgsqlite_natives::statistics::Statistics>> {
        Some(self.engine.upgrade()?.config.statistics.clone())
    }
    fn notification_usage(&self) -> Result<f64> {
        Ok(self.engine()?.channels.usage())
    }
    fn tracks_functions(&self) -> TracksFunctions {
        self.variables.often(|often| often.tracks_functions)
    }
    fn own_function_counts(&self, function: Oid) -> Option<FunctionCounts> {
        self.calls.lock().get(&function).copied()
    }
    fn function_begins(&self, function: Oid) -> Duration {
        // (one that fails has an entry without a call, as in PostgreSQL)
        self.calls.lock().entry(function).or_default().total
    }
    fn function_called(&self, function: Oid, total: Duration, own: Duration) {
        let mut calls = self.calls.lock();
        let counts = calls.entry(function).or_default();
        counts.calls += 1;
        counts.total = total;
        counts.own += own;
    }
    fn function_counts(&self, function: Oid) -> Option<FunctionCounts> {
        let engine = self.engine.upgrade()?;
        let consistency = self.variables.often(|often| often.fetch_consistency);
        let exists = engine.catalog().routines.contains_key(&function);
        let (statistics, counters) = (&engine.config.statistics, &engine.counters);
        self.fetched.lock().function(function, consistency, statistics, counters, exists)
    }
    fn slrus(&self) -> Option<[Slru; SLRUS]> {
        let engine = self.engine.upgrade()?;
        let consistency = self.variables.often(|often| often.fetch_consistency);
        Some(self.fetched.lock().slrus(consistency, &engine.config.statistics, &engine.counters))
    }
    fn clear_statistics_read(&self) {
        self.fetched.lock().clear();
    }
    fn log_place(&self, function: &str) -> Result<u64> {
        let engine = self.engine.upgrade().ok_or_else(|| PgError::internal("a session without an engine"))?;
        engine.log_place(function)
    }
    fn recovery(&self) -> Option<Arc<pgsqlite_natives::recovery::Recovery>> {
        self.engine.upgrade()?.recovery().cloned()
    }
    fn start_time(&self) -> i64 {
        pgsqlite_metadata::counter::start_time()
    }
}
