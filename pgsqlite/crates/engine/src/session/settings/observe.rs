//! What others see of a session: its activity, what it adds to the server's statistics, and its slow statements in the log.

use crate::engine::Engine;
use crate::plans::{Body, Prepared};
use crate::session::execution::portal::Portal;
use crate::session::explain::format::{self as explain_format, Explained, Format as Layout};
use crate::session::explain::plan as explain_plan;
use crate::session::{Execution, Session, SessionOptions, TransactionStatus};
use pgsqlite_natives::settings::values::parse_number;
use pgsqlite_natives::statistics::activity::{Activity, State};
use pgsqlite_natives::statistics::add;
use pgsqlite_natives::statistics::statements::Entry;
use pgsqlite_sql::catalog::BOOTSTRAP_ROLE;
use pgsqlite_sql::parse::NodeEnum;
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

impl Session {
    /// The client asks for something: a query string, Parse or Execute. This is the time that statement_timestamp() tells.
    pub(in crate::session) fn observe_begin(&mut self, query: Arc<str>) {
        self.observe_ended(None);
        let now = pgsqlite_metadata::clock::now();
        self.statement_timestamp = now;
        let hidden = !self.gucs.often.tracks_activities;
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
        self.count_time(before, lasted);
    }

    /// The client may send the next query: the session is idle.
    pub(in crate::session) fn observe_idle(&mut self) {
        let now = pgsqlite_metadata::clock::now();
        let state = match self.transaction_status() {
            TransactionStatus::Idle => State::Idle,
            TransactionStatus::InTransaction => State::IdleInTransaction,
            TransactionStatus::Failed => State::IdleInFailedTransaction,
        };
        self.activity.set_writes(self.transaction.slot.is_some() || self.transaction.aside.is_some());
        let hidden = !self.gucs.often.tracks_activities;
        let (before, lasted) = self.activity.change(now, |live| {
            live.hidden = hidden;
            live.state = state;
            if state == State::Idle {
                live.transaction_start = None;
            }
        });
        self.count_time(before, lasted);
        self.observe_ended(Some(state == State::Idle));
        self.observe_settings();
    }

    /// Tells the application's name, if settings have changed.
    pub(in crate::session) fn observe_settings(&mut self) {
        if self.observed_version != self.gucs.version() {
            self.observed_version = self.gucs.version();
            let name = self.gucs.get("application_name").unwrap_or_default();
            self.activity.set_application_name(&name);
        }
    }

    /// Whether an error ends the session (`exit_on_error`).
    pub fn exits_on_error(&self) -> bool {
        self.gucs.often.exits_on_error
    }

    /// An error is told to the client.
    pub fn observe_error(&self, error: &PgError) {
        self.observe_error_of(error, &self.source);
    }

    /// The same of an error of a statement that the client has written in another dialect.
    pub fn observe_error_of(&self, error: &PgError, statement: &str) {
        self.engine.config.statistics.failed(error.code());
        if let Some(refused) = &self.engine.config.refused {
            refused.write(error, &self.activity, statement);
        }
    }

    /// The client has got its answers and may say something: others see the session as idle, in a transaction or not.
    pub fn observe_pause(&mut self) {
        self.observe_idle();
    }

    /// The session ends.
    pub(in crate::session) fn observe_end(&mut self) {
        self.observe_ended(None);
        let (before, lasted) = self.activity.change(pgsqlite_metadata::clock::now(), |_| {});
        self.count_time(before, lasted);
        self.engine.config.statistics.leave(self.activity.number);
        if self.cancel.is_terminated() {
            add(&self.engine.counters.sessions_killed, 1);
        }
    }

    /// How long the session was in a state that it leaves.
    pub(in crate::session) fn count_time(&self, state: State, micros: u64) {
        let counters = &self.engine.counters;
        add(&counters.session_time, micros);
        match state {
            // (what is not looked at is not counted, either)
            _ if !self.gucs.often.tracks_activities => {}
            State::Active => add(&counters.active_time, micros),
            State::IdleInTransaction | State::IdleInFailedTransaction => {
                add(&counters.idle_in_transaction_time, micros)
            }
            State::Idle => {}
        }
    }

    /// The session is the program's own: it has no process number, and nothing that it does is counted.
    pub(in crate::session) fn is_of_program(&self) -> bool {
        self.options.backend_pid == 0
    }

    /// A portal was executed, perhaps in part: `took` is what this time took.
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
        if self.is_of_program() {
            return;
        }
        let statistics = self.engine.config.statistics.clone();
        add(&self.engine.counters.statements, 1);
        statistics.durations.record(took);
        let Some(prepared) = portal.prepared.clone() else { return };
        let rows = tag.map_or(0, |tag| self.count_rows(tag));
        // statements that failed are not counted in pg_stat_statements, as in PostgreSQL
        if tag.is_some() {
            let entry = self.entry_of(&prepared);
            entry.add(took, rows);
            self.activity.set_query_id(entry.query_id);
        }
        self.refresh_thresholds();
        if self.thresholds.plan.is_some_and(|ms| tag.is_some() && took.as_millis() as u64 >= ms) {
            self.log_plan(&prepared, took);
        }
        if self.thresholds.statement.is_some() || self.gucs.often.log_duration {
            self.observe_ended(None);
            let name = (!name.starts_with('\0')).then(|| match name {
                "" => "<unnamed>".to_string(),
                name => name.to_string(),
            });
            let alone = !self.transaction.block.is_script();
            self.ended = Some(Ended { text: self.source.clone(), name, began, took, alone, logged: self.is_logged });
        }
    }

    /// The rows that a command tag tells, counted for the database.
    fn count_rows(&self, tag: &str) -> u64 {
        let mut words = tag.split(' ');
        let (verb, rows) = (words.next().unwrap_or(""), words.next_back().and_then(|n| n.parse().ok()).unwrap_or(0));
        if !self.gucs.often.tracks_counts {
            return rows;
        }
        let counters = &self.engine.counters;
        match verb {
            "SELECT" | "FETCH" => add(&counters.rows_returned, rows),
            "INSERT" | "COPY" => add(&counters.rows_inserted, rows),
            "UPDATE" => add(&counters.rows_updated, rows),
            "DELETE" => add(&counters.rows_deleted, rows),
            _ => {}
        }
        rows
    }

    /// The entry of pg_stat_statements. EXECUTE counts for the statement that it executes.
    fn entry_of(&self, prepared: &Arc<Prepared>) -> Arc<Entry> {
        let executed = match &prepared.statement.node {
            NodeEnum::ExecuteStmt(e) => self.statements.get(&e.name),
            _ => None,
        };
        let user = self.view().user;
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
            None if self.transaction.block.is_script() => prepared.statement.text.clone(),
            None => self.source.clone(),
        };
        let entry = self.engine.config.statistics.statements.entry(user, &self.engine.config.database, &text);
        slot.put(&entry);
        entry
    }

    fn refresh_thresholds(&mut self) {
        if self.thresholds.version == self.gucs.version() {
            return;
        }
        let of = |name: &str| {
            let value = self.gucs.get(name).filter(|v| !v.is_empty())?;
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
            version: self.gucs.version(),
            statement: of("log_min_duration_statement"),
            plan: of("auto_explain.log_min_duration"),
        };
    }

    /// Tells of the statement that ended last, if it was slow. `committed`: the session is idle, and out of its transaction.
    fn observe_ended(&mut self, committed: Option<bool>) {
        let Some(ended) = self.ended.take() else { return };
        // a statement that is a transaction of its own is done when its commit is
        let took = if ended.alone && committed == Some(true) { ended.began.elapsed() } else { ended.took };
        let is_slow = self.thresholds.statement.is_some_and(|ms| took.as_millis() as u64 >= ms);
        let (pid, user, database) = (self.activity.pid, &self.activity.user, self.database());
        let took = took.as_secs_f64() * 1000.0;
        if (is_slow && ended.logged) || (!is_slow && self.gucs.often.log_duration) {
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
    fn log_plan(&self, prepared: &Prepared, took: Duration) {
        let Body::Plan(plan) = &prepared.body else { return };
        let made = (|| -> Result<Vec<String>> {
            let connection = self.connection.as_ref().ok_or_else(|| PgError::internal("no connection"))?;
            let root = explain_plan::tree(connection, &self.catalog(), &plan.query, false, None)?;
            let explained = Explained { plan: root, settings: false, analyzed: false, times: Vec::new() };
            Ok(explain_format::print(&explained, Layout::default()))
        })();
        let (pid, user, database) = (self.activity.pid, &self.activity.user, self.database());
        let ms = took.as_secs_f64() * 1000.0;
        match made {
            Ok(lines) => tracing::warn!(
                target: "pgsqlite::slow",
                pid, user, database,
                "duration: {ms:.3} ms  plan:\nQuery Text: {}\n{}", self.source, lines.join("\n")
            ),
            Err(error) => tracing::warn!(target: "pgsqlite::slow", pid, %error, "the plan of a slow statement"),
        }
    }
}

/// A session comes: others see it.
pub(in crate::session) fn enter(engine: &Arc<Engine>, options: &SessionOptions, number: u64) -> Arc<Activity> {
    let user_oid = engine.catalog().role_named(&options.user).map_or(BOOTSTRAP_ROLE, |r| r.oid);
    let database = &engine.config.database;
    let now = pgsqlite_metadata::clock::now();
    let user = (options.user.as_str(), user_oid);
    let activity = Arc::new(Activity::new(number, options.backend_pid, database, user, options.client_addr, now));
    if options.backend_pid != 0 {
        engine.config.statistics.enter(&activity);
        add(&engine.counters.sessions, 1);
    }
    activity
}
