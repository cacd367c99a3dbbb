//! What others see of a session: its activity, what it adds to the server's statistics, and its slow statements in the log.

use crate::config::EngineConfig;
use crate::engine::Engine;
use crate::plans::{Body, Prepared};
use crate::session::context::SessionContext;
use crate::session::execution::portal::Portal;
use crate::session::executor::Executor;
use crate::session::explain::format::{self as explain_format, Explained, Format as Layout};
use crate::session::explain::nodes as explain_plan;
use crate::session::{Execution, Session, SessionOptions, TransactionStatus};
use pgsqlite_natives::settings::values::parse_number;
use pgsqlite_natives::settings::Gucs;
use pgsqlite_natives::statistics::activity::{Activity, State};
use pgsqlite_natives::statistics::statements::Entry;
use pgsqlite_natives::statistics::{add, DatabaseCounters};
use pgsqlite_sql::parse::NodeEnum;
use pgsqlite_types::Oid;
use pgsqlite_types::{PgError, Result};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A statement that has ended and may be told in the log, when it is known what its commit took.
pub(in crate::session) struct Ended {
    text: Arc<str>,
    /// by Parse, Bind and Execute: its name
    name: Option<String>,
    began: Instant,
    took: Duration,
    /// whether it may wait for its commit
    alone: bool,
    /// the log has its text already
    logged: bool,
}

/// Thresholds of the log in milliseconds, as the settings of this version say.
#[derive(Default)]
pub(in crate::session) struct Thresholds {
    version: u64,
    /// `log_min_duration_statement`; None: off
    statement: Option<u64>,
    /// `auto_explain.log_min_duration`
    plan: Option<u64>,
}

/// What others see of one session. It borrows the settings where it needs them.
pub(in crate::session) struct Observation {
    /// of the engine, which a session counts as used by itself once
    config: Arc<EngineConfig>,
    /// of the database
    counters: Arc<DatabaseCounters>,
    /// the session as pg_stat_activity shows it
    pub activity: Arc<Activity>,
    /// the database's name in the log
    database: String,
    /// the session is the program's own: it has no process number, and nothing that it does is counted
    pub is_of_program: bool,
    /// of the settings when the activity was last told the application's name
    told: Option<u64>,
    thresholds: Thresholds,
    /// the statement that ended last, until it is known what its commit took
    ended: Option<Ended>,
    /// the log was told of the running statement before it began
    pub is_logged: bool,
}

/// A portal that was executed to its end, perhaps in several parts.
pub(in crate::session) struct Executed<'a> {
    /// the portal's name
    pub name: &'a str,
    /// None: it has failed
    pub tag: Option<&'a str>,
    /// when its last part began
    pub began: Instant,
    /// what all parts took
    pub took: Duration,
    /// the text that it came in
    pub source: &'a Arc<str>,
    /// it is a transaction of its own
    pub alone: bool,
}

impl Observation {
    /// A session of this role comes: others see it.
    pub fn enter(engine: &Arc<Engine>, options: &SessionOptions, login: Oid, number: u64) -> Observation {
        let user = (options.user.as_str(), login);
        let now = pgsqlite_metadata::clock::now();
        let database = &engine.config.database;
        let client = (options.client_addr, options.encryption.clone());
        let activity = Arc::new(Activity::new(number, options.backend_pid, database, user, client, now));
        let is_of_program = options.backend_pid == 0;
        if !is_of_program {
            engine.config.statistics.enter(&activity);
            add(&engine.counters.sessions, 1);
        }
        Observation {
            config: engine.config.clone(),
            counters: engine.counters.clone(),
            activity,
            database: database_name(engine, options).to_string(),
            is_of_program,
            told: None,
            thresholds: Thresholds::default(),
            ended: None,
            is_logged: false,
        }
    }

    /// The client asks for something: a query string, Parse or Execute. `now` is the time that statement_timestamp() tells.
    pub fn begins(&mut self, gucs: &Gucs, query: Arc<str>, now: i64) {
        self.tell_ended(gucs, None);
        let hidden = !gucs.often.tracks_activities;
        let (before, lasted) = self.activity.change(now, |live| {
            live.hidden = hidden;
            live.state = State::Active;
            live.query = query;
            live.query_start = Some(now);
            if live.transaction_start.is_none() {
                live.transaction_start = Some(now);
                live.transactions = live.transactions.wrapping_add(1);
            }
            live.query_id = None;
        });
        self.count_time(gucs, before, lasted);
    }

    /// The client may send the next query: the session is idle. `writes`: its transaction has written.
    pub fn idles(&mut self, gucs: &Gucs, status: TransactionStatus, writes: bool) {
        let now = pgsqlite_metadata::clock::now();
        let state = match status {
            TransactionStatus::Idle => State::Idle,
            TransactionStatus::InTransaction => State::IdleInTransaction,
            TransactionStatus::Failed => State::IdleInFailedTransaction,
        };
        self.activity.set_writes(writes);
        let hidden = !gucs.often.tracks_activities;
        let (before, lasted) = self.activity.change(now, |live| {
            live.hidden = hidden;
            live.state = state;
            if state == State::Idle {
                live.transaction_start = None;
            }
        });
        self.count_time(gucs, before, lasted);
        self.tell_ended(gucs, Some(state == State::Idle));
        self.tell_name(gucs);
    }

    /// Tells the application's name, if settings have changed.
    pub fn tell_name(&mut self, gucs: &Gucs) {
        if self.told != Some(gucs.version()) {
            self.told = Some(gucs.version());
            let name = gucs.get("application_name").unwrap_or_default();
            self.activity.set_application_name(&name);
        }
    }

    /// An error is told to the client, which has sent this statement.
    fn fails(&self, error: &PgError, statement: &str) {
        self.config.statistics.failed(error.code());
        if let Some(refused) = &self.config.refused {
            refused.write(error, &self.activity, statement);
        }
    }

    /// The session ends. `killed`: somebody has ended it.
    pub fn ends(&mut self, gucs: &Gucs, killed: bool) {
        self.tell_ended(gucs, None);
        let (before, lasted) = self.activity.change(pgsqlite_metadata::clock::now(), |_| {});
        self.count_time(gucs, before, lasted);
        self.config.statistics.leave(self.activity.number);
        if killed {
            add(&self.counters.sessions_killed, 1);
        }
    }

    /// How long the session was in a state that it leaves.
    fn count_time(&self, gucs: &Gucs, state: State, micros: u64) {
        let counters = &self.counters;
        add(&counters.session_time, micros);
        match state {
            // (what is not looked at is not counted, either)
            _ if !gucs.often.tracks_activities => {}
            State::Active => add(&counters.active_time, micros),
            State::IdleInTransaction | State::IdleInFailedTransaction => {
                add(&counters.idle_in_transaction_time, micros)
            }
            State::Idle => {}
        }
    }

    /// Whether the log gets the plan of a statement that took so long.
    fn logs_plan(&mut self, gucs: &Gucs, took: Duration) -> bool {
        self.refresh_thresholds(gucs);
        self.thresholds.plan.is_some_and(|ms| took.as_millis() as u64 >= ms)
    }

    /// A portal was executed. `entry` is its entry of pg_stat_statements.
    fn executes(&mut self, gucs: &Gucs, executed: &Executed, entry: Option<Arc<Entry>>) {
        let Executed { name, tag, began, took, source, alone } = *executed;
        let rows = tag.map_or(0, |tag| self.count_rows(gucs, tag));
        // statements that failed are not counted in pg_stat_statements, as in PostgreSQL
        if let Some(entry) = entry {
            entry.add(took, rows);
            self.activity.set_query_id(entry.query_id);
        }
        self.refresh_thresholds(gucs);
        if self.thresholds.statement.is_some() || gucs.often.log_duration {
            self.tell_ended(gucs, None);
            let name = (!name.starts_with('\0')).then(|| match name {
                "" => "<unnamed>".to_string(),
                name => name.to_string(),
            });
            self.ended = Some(Ended { text: source.clone(), name, began, took, alone, logged: self.is_logged });
        }
    }

    /// A statement was executed that took so long, whatever became of it.
    fn count_statement(&self, took: Duration) {
        add(&self.counters.statements, 1);
        self.config.statistics.durations.record(took);
    }

    /// The rows that a command tag tells, counted for the database.
    fn count_rows(&self, gucs: &Gucs, tag: &str) -> u64 {
        let mut words = tag.split(' ');
        let (verb, rows) = (words.next().unwrap_or(""), words.next_back().and_then(|n| n.parse().ok()).unwrap_or(0));
        if !gucs.often.tracks_counts {
            return rows;
        }
        let counters = &self.counters;
        match verb {
            "SELECT" | "FETCH" => add(&counters.rows_returned, rows),
            "INSERT" | "COPY" => add(&counters.rows_inserted, rows),
            "UPDATE" => add(&counters.rows_updated, rows),
            "DELETE" => add(&counters.rows_deleted, rows),
            _ => {}
        }
        rows
    }

    fn refresh_thresholds(&mut self, gucs: &Gucs) {
        if self.thresholds.version == gucs.version() {
            return;
        }
        let of = |name: &str| {
            let value = gucs.get(name).filter(|v| !v.is_empty())?;
            match parse_number(&value, Some("ms"), true) {
                // negative: off
                Ok(ms) => (ms >= 0.0).then_some(ms as u64),
                Err(_) => {
                    tracing::warn!(name, value, "a setting that is no time: nothing is logged for it");
                    None
                }
            }
        };
        self.thresholds = Thresholds {
            version: gucs.version(),
            statement: of("log_min_duration_statement"),
            plan: of("auto_explain.log_min_duration"),
        };
    }

    /// Tells the log of a statement that begins (`log_statement`).
    pub fn log_statement(&mut self, what: &str, source: &str) {
        let (pid, user, database) = (self.activity.pid, &self.activity.user, &*self.database);
        tracing::warn!(target: "pgsqlite::statement", pid, user, database, "{what}: {source}");
        self.is_logged = true;
    }

    /// Tells of the statement that ended last, if it was slow. `committed`: the session is idle, and out of its transaction.
    fn tell_ended(&mut self, gucs: &Gucs, committed: Option<bool>) {
        let Some(ended) = self.ended.take() else { return };
        // a statement that is a transaction of its own is done when its commit is
        let took = if ended.alone && committed == Some(true) { ended.began.elapsed() } else { ended.took };
        let is_slow = self.thresholds.statement.is_some_and(|ms| took.as_millis() as u64 >= ms);
        let (pid, user, database) = (self.activity.pid, &self.activity.user, &*self.database);
        let took = took.as_secs_f64() * 1000.0;
        if (is_slow && ended.logged) || (!is_slow && gucs.often.log_duration) {
            tracing::warn!(target: "pgsqlite::slow", pid, user, database, "duration: {took:.3} ms");
        } else if is_slow {
            let what = match &ended.name {
                None => "statement".to_string(),
                Some(name) => format!("execute {name}"),
            };
            tracing::warn!(
                target: "pgsqlite::slow",
                pid, user, database,
                "duration: {took:.3} ms  {what}: {}", ended.text
            );
        }
    }

    /// As auto_explain does it: the plan of a statement that was slow.
    fn log_plan(&self, plan: Result<Vec<String>>, took: Duration, source: &str) {
        let (pid, user, database) = (self.activity.pid, &self.activity.user, &*self.database);
        let ms = took.as_secs_f64() * 1000.0;
        match plan {
            Ok(lines) => tracing::warn!(
                target: "pgsqlite::slow",
                pid, user, database,
                "duration: {ms:.3} ms  plan:\nQuery Text: {source}\n{}", lines.join("\n")
            ),
            Err(error) => tracing::warn!(target: "pgsqlite::slow", pid, %error, "the plan of a slow statement"),
        }
    }
}

/// The name of a session's database.
pub(in crate::session) fn database_name<'a>(engine: &'a Engine, options: &SessionOptions) -> &'a str {
    match &*engine.config {
        config if config.databases.is_none() && options.database == "main" => "main",
        config => &config.database,
    }
}

impl SessionContext {
    /// The client asks for something: a query string, Parse or Execute. This is the time that statement_timestamp() tells.
    pub(in crate::session) fn begin_observed(&mut self, query: Arc<str>) {
        self.statement_timestamp = pgsqlite_metadata::clock::now();
        self.observation.begins(&self.gucs, query, self.statement_timestamp);
    }

    /// The client has got its answers and may say something: others see the session as idle, in a transaction or not.
    pub(in crate::session) fn observe_pause(&mut self) {
        let writes = self.transaction.is_writer();
        self.observation.idles(&self.gucs, self.transaction_status(), writes);
    }

    /// As [`Session::observe_error`], for a statement of this text.
    pub(in crate::session) fn observe_error_of(&self, error: &PgError, statement: &str) {
        self.observation.fails(error, statement);
    }
}

impl Executor {
    /// The plan of a query as EXPLAIN prints it. None: the statement is none.
    fn plan_lines(&self, prepared: &Prepared) -> Option<Result<Vec<String>>> {
        let Body::Plan(plan) = &prepared.body else { return None };
        let lines = || {
            let connection = self.connection.as_ref().ok_or_else(|| PgError::internal("no connection"))?;
            let root = explain_plan::tree(connection, &self.context.catalog(), &plan.query, false, None)?;
            let explained = Explained { plan: root, settings: false, analyzed: false, times: Vec::new() };
            Ok(explain_format::print(&explained, Layout::default()))
        };
        Some(lines())
    }
}

impl Session {
    /// Whether an error ends the session (`exit_on_error`).
    pub fn exits_on_error(&self) -> bool {
        self.executor.context.gucs.often.exits_on_error
    }

    /// The client has got its answers and may say something: others see the session as idle, in a transaction or not.
    pub fn observe_pause(&mut self) {
        self.executor.context.observe_pause();
    }

    /// As [`Session::observe_error`], for an error of a statement that the client has written in another dialect.
    pub fn observe_error_of(&self, error: &PgError, statement: &str) {
        self.executor.context.observe_error_of(error, statement);
    }

    /// An error is told to the client.
    pub fn observe_error(&self, error: &PgError) {
        self.executor.context.observe_error_of(error, &self.executor.context.source);
    }

    /// A portal was executed, perhaps in part: this part began at `began`.
    pub(in crate::session) fn observe_execution(
        &mut self,
        name: &str,
        portal: &mut Portal,
        began: Instant,
        result: &Result<Execution>,
    ) {
        portal.spent += began.elapsed();
        let tag = match result {
            Ok(Execution::Complete(tag)) => Some(tag.as_str()),
            Ok(Execution::Suspended | Execution::Paused | Execution::CopyIn { .. } | Execution::Empty) => return,
            Err(_) => None,
        };
        let took = std::mem::take(&mut portal.spent);
        if self.executor.context.observation.is_of_program {
            return;
        }
        self.executor.context.observation.count_statement(took);
        let Some(prepared) = portal.prepared.clone() else { return };
        let entry = tag.map(|_| self.entry_of(&prepared));
        if tag.is_some() && self.executor.context.observation.logs_plan(&self.executor.context.gucs, took) {
            if let Some(plan) = self.executor.plan_lines(&prepared) {
                self.executor.context.observation.log_plan(plan, took, &self.executor.context.source);
            }
        }
        let alone = !self.executor.context.transaction.block().is_script();
        let executed = Executed { name, tag, began, took, source: &self.executor.context.source, alone };
        self.executor.context.observation.executes(&self.executor.context.gucs, &executed, entry);
    }

    /// The entry of pg_stat_statements. EXECUTE counts for the statement that it executes.
    fn entry_of(&self, prepared: &Arc<Prepared>) -> Arc<Entry> {
        let executed = match &prepared.statement.node {
            NodeEnum::ExecuteStmt(e) => self.statements.get(&e.name),
            _ => None,
        };
        let user = self.executor.context.view().user;
        let slot = match executed.and_then(|s| s.prepared.as_ref()) {
            Some(inner) => &inner.entry,
            None => &prepared.entry,
        };
        if let Some(entry) = slot.get(user) {
            return entry.clone();
        }
        let text: Arc<str> = match executed {
            Some(statement) => statement.text.clone(),
            // a parameterized statement has a text of its own; of several statements each has its part
            None if self.executor.context.transaction.block().is_script() => prepared.statement.text.clone(),
            None => self.executor.context.source.clone(),
        };
        let entry = self.executor.context.engine.config.statistics.statements.entry(
            user,
            &self.executor.context.engine.config.database,
            &text,
        );
        slot.put(&entry);
        entry
    }
}
