//! Waiting: for a lock, the writer slot, a pooled connection, or a time.
//!
//! Every wait of a session goes through [`SessionServer::wait`]. It ends when what it waits for is there, and with an error when the
//! statement is cancelled, times out or is terminated, when `lock_timeout` has passed, when the client has gone away, and when the session is
//! part of a cycle of waits ([`crate::locks::graph`]) that `deadlock_timeout` has not dissolved. A wait of a second is logged with the
//! session that is waited for. A holder of the writer slot whose client has been silent for [`crate::session::EngineConfig::idle_writer_timeout`] while
//! others wait is ended.
//!
//! A statement that waits *apart* holds nothing meanwhile: `SELECT pg_advisory_lock(1)` and `SELECT pg_sleep(1)` begin, find that they
//! have to wait, and are given up; the session waits without a connection and without a thread, and runs them anew. What they have waited for
//! is remembered in [`Apart`]. Where a statement cannot be run twice (it writes, a function of the user waits), its native function waits on
//! the statement's thread, with the connection: the graph knows of it.

use crate::engine::{Contested, Engine};
use crate::locks::graph::{cycle, Edge, Graph, Needs};
use crate::locks::{Request, Target};
use crate::session::context::SessionContext;
use crate::session::execution::server_functions::{session_of, SessionServer};
use crate::session::executor::Executor;
use crate::session::{ClientWatch, Session};
use pgsqlite_natives::settings::Gucs;
use pgsqlite_natives::statistics::activity::{Activity, Wait};
use pgsqlite_natives::udf::session_cell::AdvisoryKey;
use pgsqlite_types::{PgError, Result, SqlState};
use std::future::Future;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;
use tokio::time::Instant;

/// A wait that is over sooner costs nothing but its timer.
const SHORT: Duration = Duration::from_millis(10);
/// How long the client of an open transaction must be silent for a session that is not to wait for it.
const PAUSE: Duration = Duration::from_millis(5);
/// A wait that lasts longer is logged.
const LOGGED: Duration = Duration::from_secs(1);
/// Longer statements are cut in the log.
const SHOWN: usize = 1000;

/// How long a wait may last.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// None: for ever
    pub lock_timeout: Option<Duration>,
    pub deadlock_timeout: Duration,
}

impl Limits {
    pub fn of(gucs: &Gucs) -> Limits {
        let often = &gucs.often;
        let limit = |ms: u64| (ms > 0).then(|| Duration::from_millis(ms));
        Limits {
            lock_timeout: limit(often.lock_timeout),
            deadlock_timeout: Duration::from_millis(often.deadlock_timeout),
        }
    }
}

/// What a statement waits for apart.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Wanted {
    Lock(Request),
    Sleep(Duration),
}

/// The waits of a statement that may be run anew.
#[derive(Default)]
pub(crate) struct Apart {
    /// the running statement may be given up
    allowed: bool,
    /// … for locks alone
    locks_only: bool,
    /// what it has to wait for
    wanted: Option<Wanted>,
    /// what it has waited for, or got at once, in its earlier executions and this one
    done: Vec<Wanted>,
    /// those of them that this execution has come by
    passed: Vec<bool>,
}

/// What a native function is to do that may have to wait.
#[derive(Debug, PartialEq)]
pub(crate) enum Step {
    /// it was done in an earlier execution
    Done,
    /// to be tried, and given up if it has to wait
    Apart,
    /// to be waited for on the thread
    Here,
}

/// The session's wait is over when this is dropped, however it ends.
struct Waited<'a> {
    server: &'a SessionServer,
    engine: &'a Engine,
}

impl Drop for Waited<'_> {
    fn drop(&mut self) {
        if let Some(activity) = self.server.activity() {
            if activity.wait() == Wait::Pool {
                self.engine.waits.pool.lock().remove(&self.server.number());
            }
            activity.set_wait(Wait::Nothing);
        }
    }
}

/// A session that the error of a cycle ends.
struct Victim<'a> {
    engine: &'a Engine,
    session: u64,
    chosen: bool,
}

impl Drop for Victim<'_> {
    fn drop(&mut self) {
        if self.chosen {
            self.engine.waits.victims.lock().remove(&self.session);
        }
    }
}

fn clipped(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        None => text.to_string(),
        Some((end, _)) => format!("{}...", &text[..end]),
    }
}

impl SessionServer {
    /// Waits for what the future gives, within the limits; see the module.
    pub(crate) async fn wait<T>(
        &self,
        what: Wait,
        limits: Limits,
        future: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        let engine = self.engine()?;
        // dropped last: until its wait is left, others find the cycle broken
        let mut victim = Victim { engine: &engine, session: self.number(), chosen: false };
        let mut future = std::pin::pin!(future);
        let at_once = std::future::poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx))).await;
        if let Poll::Ready(result) = at_once {
            return result;
        }
        if matches!(what, Wait::Relation | Wait::Advisory | Wait::Sleep) {
            self.end_turn(&engine);
        }
        if let Some(activity) = self.activity() {
            activity.set_wait(what);
        }
        let _waited = Waited { server: self, engine: &engine };
        let is_lock = !matches!(what, Wait::Pool | Wait::Sleep);
        let began = Instant::now();
        let give_up = limits.lock_timeout.filter(|_| is_lock).map(|limit| began + limit);
        let evicts = engine.config.idle_writer_timeout.filter(|_| what == Wait::Writer);
        let mut logs = is_lock.then_some(began + LOGGED);
        let hopeless = matches!(what, Wait::Relation | Wait::Advisory) && engine.locks.is_hopeless(self.number());
        let patience = if hopeless { Duration::ZERO } else { limits.deadlock_timeout };
        let mut checks = (what != Wait::Sleep).then_some(began + patience);
        let hurries = engine.config.writer_timeout.filter(|_| what == Wait::Writer);
        let mut looks = (what == Wait::Writer).then_some(began + SHORT);
        let watch = self.client_watch();
        let mut gone = None;
        let impatient = is_lock && self.gives_up_on_silence();
        let mut listens = impatient.then_some(began);
        let mut silences: Vec<(u64, u64)> = vec![];
        loop {
            let short = (gone.is_none() && began.elapsed() < SHORT).then_some(began + SHORT);
            let next = [give_up, logs, checks, looks, short, listens].into_iter().flatten().min();
            let left = async {
                match &mut gone {
                    Some(left) => std::pin::Pin::as_mut(left).await,
                    None => std::future::pending::<()>().await,
                }
            };
            let time = async {
                match next {
                    Some(next) => tokio::time::sleep_until(next).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                result = &mut future => return result,
                stopped = self.cancel().requested() => return Err(stopped),
                () = left => return Err(crate::requests::connection_lost()),
                () = time => {}
            }
            let now = Instant::now();
            if gone.is_none() {
                // it lasts: from now on it is worth looking after the client
                gone = Some(match &watch {
                    Some(watch) => watch.gone(),
                    None => Box::pin(std::future::pending()),
                });
                if what == Wait::Pool {
                    engine.waits.pool.lock().insert(self.number());
                }
            }
            if listens.is_some_and(|at| at <= now) {
                listens = Some(now + PAUSE);
                let found = engine.silences_before(self.number());
                if silences.iter().any(|silence| found.contains(silence)) {
                    return Err(PgError::new(SqlState::LOCK_NOT_AVAILABLE, "could not obtain a lock")
                        .detail("An open transaction whose client is silent has it."));
                }
                silences = found;
            }
            if give_up.is_some_and(|at| at <= now) {
                return Err(PgError::new(SqlState::LOCK_NOT_AVAILABLE, "canceling statement due to lock timeout"));
            }
            if checks.is_some_and(|at| at <= now) {
                checks = Some(now + limits.deadlock_timeout);
                if let Some(error) = engine.deadlock(self.number()) {
                    victim.chosen = true;
                    return Err(error);
                }
            }
            if logs.is_some_and(|at| at <= now) {
                logs = None;
                engine.log_wait(self, what, began.elapsed());
            }
            if looks.is_some_and(|at| at <= now) {
                let shortest = evicts.into_iter().chain(hurries).min().unwrap_or(LOGGED);
                looks = Some(now + (shortest / 4).clamp(SHORT, LOGGED));
                engine.end_vanished_writer();
                if let Some(limit) = evicts {
                    engine.end_silent_writer(limit);
                }
                if let Some(limit) = hurries {
                    engine.end_long_writer(limit);
                }
            }
        }
    }

    /// Waits on the thread of a statement, for what cannot be waited for apart.
    pub(crate) fn wait_here<T: Send>(
        &self,
        what: Wait,
        limits: Limits,
        future: impl Future<Output = Result<T>> + Send,
    ) -> Result<T> {
        use tokio::runtime::{Builder, Handle, RuntimeFlavor};
        let waiting = self.wait(what, limits, future);
        match Handle::try_current() {
            Ok(handle) if handle.runtime_flavor() == RuntimeFlavor::MultiThread => {
                pgsqlite_storage::apart::apart(|| handle.block_on(waiting))
            }
            _ => std::thread::scope(|scope| {
                let waiting = scope.spawn(|| {
                    let runtime = Builder::new_current_thread().enable_time().build();
                    runtime
                        .map_err(|e| PgError::no_resources(format!("could not start a runtime: {e}")))?
                        .block_on(waiting)
                });
                waiting.join().unwrap_or_else(|_| Err(PgError::internal("a wait has panicked")))
            }),
        }
    }

    /// A lock of the table, waited for. `keeps_lease`: the session has a connection meanwhile.
    pub(crate) async fn turn(&self, request: Request, keeps_lease: bool) -> Result<()> {
        let engine = self.engine()?;
        if request.transaction {
            self.note_locked();
        }
        if let Some(turn) = engine.locks.acquire(request, keeps_lease) {
            turn.await;
        }
        Ok(())
    }

    // --- waiting apart ---------------------------------------------------------------------------------------------------

    /// What a native function is to do that wants this.
    pub(crate) fn step(&self, wanted: Wanted) -> Step {
        let apart = &mut *self.apart.lock();
        if !apart.allowed || apart.locks_only && matches!(wanted, Wanted::Sleep(_)) {
            return Step::Here;
        }
        let same = |done: &Wanted| match (done, &wanted) {
            (Wanted::Sleep(_), Wanted::Sleep(_)) => true,
            (done, wanted) => done == wanted,
        };
        let found = (0..apart.done.len()).find(|&i| !apart.passed[i] && same(&apart.done[i]));
        match found {
            Some(i) => {
                apart.passed[i] = true;
                Step::Done
            }
            None => Step::Apart,
        }
    }

    /// The native function has got it without waiting.
    pub(crate) fn got(&self, wanted: Wanted) {
        let mut apart = self.apart.lock();
        if apart.allowed {
            apart.done.push(wanted);
            apart.passed.push(true);
        }
    }

    /// The statement is given up because it has to wait: the error that ends it.
    pub(crate) fn give_up_for(&self, wanted: Wanted) -> PgError {
        self.apart.lock().wanted = Some(wanted);
        PgError::internal("a statement that waits is begun anew")
    }

    /// Whether the statement was given up because it has to wait.
    pub(in crate::session) fn wants_apart(&self) -> bool {
        self.apart.lock().wanted.is_some()
    }

    /// The next statement may be given up to wait apart; `locks_only`: for locks, not for a time.
    fn allow_apart(&self, locks_only: bool) {
        let mut apart = self.apart.lock();
        apart.allowed = true;
        apart.locks_only = locks_only;
        apart.passed.fill(false);
    }

    /// The statement has ended, or was given up: what it waits for then.
    fn end_apart(&self) -> Option<Wanted> {
        let mut apart = self.apart.lock();
        apart.allowed = false;
        let wanted = apart.wanted.take();
        match wanted {
            Some(wanted) => {
                apart.done.push(wanted);
                apart.passed.push(false);
            }
            None => self.forget(&mut apart),
        }
        wanted
    }

    fn forget(&self, apart: &mut Apart) {
        apart.done.clear();
        apart.passed.clear();
    }
}

impl SessionContext {
    pub(in crate::session) fn limits(&self) -> Limits {
        Limits::of(&self.gucs)
    }

    /// A statement may be given up and run anew if it has to wait.
    pub(in crate::session) fn begin_apart(&mut self, locks_only: bool) {
        self.server.allow_apart(locks_only);
    }
}

impl Executor {
    /// Whether the session's connection can be given back while it waits.
    pub(in crate::session) fn release_for_wait(&mut self) -> bool {
        if !self.context.transaction.is_in_sqlite() && self.connection.is_some() && self.connection_is_passing() {
            self.settle_portals();
            self.give_connection_back();
        }
        self.connection.is_some()
    }

    /// After such a statement: true if it has waited now, and is to be run anew.
    pub(in crate::session) async fn wait_apart(&mut self) -> Result<bool> {
        let Some(wanted) = self.context.server.end_apart() else { return Ok(false) };
        let keeps_lease = self.release_for_wait();
        let limits = self.context.limits();
        let waited = match wanted {
            Wanted::Lock(request) => {
                let server = self.context.server.clone();
                let turn = server.turn(request, keeps_lease);
                self.context.server.wait(wait_for(request.target), limits, turn).await
            }
            Wanted::Sleep(duration) => {
                let sleep = async {
                    tokio::time::sleep(duration).await;
                    Ok(())
                };
                self.context.server.wait(Wait::Sleep, limits, sleep).await
            }
        };
        if waited.is_err() {
            self.context.server.forget(&mut self.context.server.apart.lock());
        }
        waited.map(|()| true)
    }
}

impl Session {
    /// Whether the session's waits end, with 55P03, as soon as they are for a transaction whose client is silent. One that is at work
    /// is waited for, up to `lock_timeout`.
    pub fn give_up_on_silence(&self, on: bool) {
        self.executor.context.server.set_gives_up_on_silence(on);
    }

    /// Looks after the client from now on while the session waits.
    pub fn watch_client(&mut self, watch: Arc<dyn ClientWatch>) {
        self.executor.context.server.set_client_watch(watch);
    }
}

/// What a session waits for that waits for a lock of the table.
fn wait_for(target: Target) -> Wait {
    match target {
        Target::Advisory(_) => Wait::Advisory,
        Target::Relation(_) => Wait::Relation,
        Target::Transaction(_) | Target::Turn(_) => Wait::Transaction,
    }
}

impl Engine {
    /// How messages name a request.
    fn lock_name(&self, request: &Request) -> String {
        let mode = request.mode.name();
        match request.target {
            Target::Relation(oid) => format!("{mode} on relation {oid} of database {DATABASE}"),
            Target::Transaction(of) | Target::Turn(of) => {
                let holder = self.activity_of(of.session).and_then(|a| session_of(a.pid));
                let number = holder.and_then(|server| server.own_transaction_id());
                format!("{mode} on transaction {}", number.unwrap_or_default() as u32)
            }
            Target::Advisory(AdvisoryKey::One(key)) => {
                format!("{mode} on advisory lock [{DATABASE},{},{},1]", (key >> 32) as u32, key as u32)
            }
            Target::Advisory(AdvisoryKey::Two(class, object)) => {
                format!("{mode} on advisory lock [{DATABASE},{},{},2]", class as u32, object as u32)
            }
        }
    }

    /// All waits of this database.
    fn graph(&self) -> Graph {
        let mut graph = Graph::new();
        let mut leased: Vec<u64> = Vec::new();
        for waiter in self.locks.waiters() {
            if waiter.keeps_lease {
                leased.push(waiter.request.session);
            }
            let what = self.lock_name(&waiter.request);
            graph.insert(waiter.request.session, Edge { needs: Needs::All(waiter.blockers), what });
        }
        let (holder, queue) = (self.writer.holder(), self.writer.waiting());
        let transaction = holder.and_then(|h| self.activity_of(h.session)).and_then(|a| session_of(a.pid));
        let transaction = transaction.and_then(|server| server.own_transaction_id());
        let mut before: Vec<u64> = holder.map(|h| h.session).into_iter().collect();
        for applicant in queue {
            if applicant.keeps_lease {
                leased.push(applicant.session);
            }
            let what = match transaction {
                Some(number) => format!("ShareLock on transaction {}", number as u32),
                None => "ShareLock on the writing transaction".to_string(),
            };
            if holder.is_some() {
                graph.insert(applicant.session, Edge { needs: Needs::All(before.clone()), what });
            }
            before.push(applicant.session);
        }
        // a connection that none of these has comes back in any case
        if leased.len() >= self.config.pool_size {
            for &session in &*self.waits.pool.lock() {
                let edge = Edge { needs: Needs::Any(leased.clone()), what: "a pooled connection".into() };
                graph.insert(session, edge);
            }
        }
        graph
    }

    pub(crate) fn activity_of(&self, session: u64) -> Option<Arc<Activity>> {
        self.config.statistics.sessions().into_iter().find(|a| a.number == session)
    }

    /// The clients' silences that a session waits for: the sessions in its way whose transactions are open, with the silences' numbers.
    fn silences_before(&self, session: u64) -> Vec<(u64, u64)> {
        let blockers = self.blockers_of(session);
        blockers.into_iter().filter_map(|b| Some((b, self.activity_of(b)?.silence()?))).collect()
    }

    /// The sessions that one waits for.
    pub(crate) fn blockers_of(&self, session: u64) -> Vec<u64> {
        self.graph().get(&session).map(|edge| edge.needs.sessions().to_vec()).unwrap_or_default()
    }

    /// 40P01 if a session is part of a cycle of waits. The error ends its wait.
    fn deadlock(&self, session: u64) -> Option<PgError> {
        let mut victims = self.waits.victims.lock();
        let mut graph = self.graph();
        victims.iter().for_each(|victim| drop(graph.remove(victim)));
        let cycle = cycle(&graph, session)?;
        victims.insert(session);
        drop(victims);
        let pid = |session: u64| self.activity_of(session).map_or(0, |a| a.pid);
        let mut lines = Vec::new();
        let mut statements = Vec::new();
        for (i, at) in cycle.iter().enumerate() {
            let next = cycle.get(i + 1).unwrap_or(&session);
            let what = graph.get(at).map_or("", |edge| &edge.what);
            lines.push(format!("Process {} waits for {what}; blocked by process {}.", pid(*at), pid(*next)));
            let query = self.activity_of(*at).map(|a| clipped(&a.live().query)).unwrap_or_default();
            statements.push(format!("Process {}: {query}", pid(*at)));
        }
        let detail = lines.join("\n");
        tracing::warn!(target: "pgsqlite::waits", pid = pid(session), "deadlock detected\n{detail}\n{}", statements.join("\n"));
        Some(
            PgError::new(SqlState::DEADLOCK_DETECTED, "deadlock detected")
                .detail(detail)
                .hint("See server log for query details."),
        )
    }

    /// Logs a wait with the sessions that are waited for, and both statements.
    fn log_wait(&self, server: &SessionServer, what: Wait, waited: Duration) {
        let now = pgsqlite_metadata::clock::now();
        let ms = |since: i64| now.saturating_sub(since).max(0) / 1000;
        let Some(own) = server.activity() else { return };
        let graph = self.graph();
        let edge = graph.get(&own.number);
        let name = match (edge, what) {
            (Some(edge), _) => &edge.what,
            (None, Wait::OtherProgram) => "another program's lock on the database file",
            (None, Wait::Replay) => "a change of the primary",
            (None, _) => "the writer slot",
        };
        let mut holders: Vec<u64> = match what {
            Wait::Writer => self.writer.holder().map(|h| h.session).into_iter().collect(),
            _ => edge.map(|edge| edge.needs.sessions().to_vec()).unwrap_or_default(),
        };
        holders.truncate(5);
        let waiting = clipped(&own.live().query);
        let waited = waited.as_millis();
        if holders.is_empty() {
            tracing::warn!(
                target: "pgsqlite::waits", pid = own.pid, user = own.user, database = own.database,
                "process {} still waits for {name} after {waited} ms\nwaiting statement: {waiting}", own.pid,
            );
        }
        for holder in holders.into_iter().filter_map(|h| self.activity_of(h)) {
            let live = holder.live();
            let transaction =
                live.transaction_start.map_or(String::new(), |at| format!(", its transaction began {} ms ago", ms(at)));
            tracing::warn!(
                target: "pgsqlite::waits", pid = own.pid, user = own.user, database = own.database,
                "process {} still waits for {name} after {waited} ms: process {} of user {} holds it, {} for {} ms{transaction}\n\
                 waiting statement: {waiting}\nholder's statement: {}",
                own.pid, holder.pid, holder.user, live.state.name(), ms(live.state_change), clipped(&live.query),
            );
        }
    }

    /// Ends the session that has the writer slot if its client has been silent for so long while others waited.
    fn end_silent_writer(&self, limit: Duration) {
        let Some(holder) = self.writer.holder() else { return };
        let Some(activity) = self.activity_of(holder.session) else { return };
        let mut silent = self.waits.silent.lock();
        let Some(number) = activity.silence() else {
            *silent = None;
            return;
        };
        match *silent {
            Some((session, known, since)) if session == holder.session && known == number => {
                if since.elapsed() >= limit {
                    if let Some(server) = session_of(activity.pid) {
                        server.cancel().end_silence(number);
                    }
                }
            }
            _ => *silent = Some((holder.session, number, Instant::now())),
        }
    }

    /// Ends the session that has the writer slot if its client has gone away: what it runs keeps others from writing, for nobody. (PostgreSQL
    /// lets it go on, as is done here while nobody waits.)
    fn end_vanished_writer(&self) {
        let Some(holder) = self.writer.holder() else { return };
        let Some(activity) = self.activity_of(holder.session) else { return };
        let Some(server) = session_of(activity.pid) else { return };
        if server.client_watch().is_some_and(|client| client.is_gone()) {
            server.cancel().lose_client();
        }
    }

    /// Ends the session that has the writer slot if others have waited for its transaction for so long, and it is not a superuser's. Called
    /// at least once in [`LOGGED`] while somebody waits.
    fn end_long_writer(&self, limit: Duration) {
        let Some(holder) = self.writer.holder() else { return };
        let Some(activity) = self.activity_of(holder.session) else { return };
        if pgsqlite_sql::acl::is_superuser(&self.catalog(), activity.user_oid) {
            return;
        }
        let (session, began, seen) = (holder.session, activity.live().transaction_start, Instant::now());
        let mut contested = self.waits.contested.lock();
        let waited = match &*contested {
            // nobody has looked for longer than a waiter would: nobody waited
            Some(known) if (known.session, known.began) == (session, began) => {
                known.waited + seen.duration_since(known.seen).min(LOGGED)
            }
            _ => Duration::ZERO,
        };
        *contested = Some(Contested { session, began, waited, seen });
        if waited >= limit {
            if let Some(server) = session_of(activity.pid) {
                server.cancel().end_long_writer(activity.silence());
            }
        }
    }
}

/// The OID that a database has for its own sessions.
const DATABASE: u32 = 1;
