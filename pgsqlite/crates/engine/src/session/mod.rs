//! A PostgreSQL session: settings, transaction state, prepared statements, portals.
//!
//! * [`protocol`]: what clients send and get: the two protocols' statements ([`protocol::extended`], [`protocol::script`])
//! * [`execution`]: from a statement to its plan ([`execution::planning`]), the plan's steps ([`execution::portal`]), cursors, and the statements
//!   that are no queries ([`execution::utility`])
//! * [`transaction`]: blocks, savepoints, the writer slot; isolation levels; locks, and waiting for them ([`transaction::waiting`]); prepared
//!   transactions
//! * [`mod@copy`]: COPY; [`explain`]: EXPLAIN
//! * [`settings`]: the role and the settings of a session, and what others see of it
//!
//! The plan cache, which sessions share, is [`plans`](crate::plans). What stops a statement is in [`requests`](crate::requests).

mod context;
mod copy;
mod execution;
mod executor;
mod explain;
mod protocol;
mod settings;
#[cfg(test)]
pub(crate) mod tests;
pub(crate) mod transaction;

pub use crate::engine::Engine;
pub use crate::notify::Notification;
pub use crate::requests::CancelHandle;
pub use pgsqlite_metadata::databases::DatabasesHandle;
pub use pgsqlite_natives::host::{HbaFileRule, Host, HostHandle, IdentFileMapping};
pub use pgsqlite_natives::settings::rights::Claimant;
pub use protocol::api::*;
pub use protocol::client_text;
pub use protocol::script::Script;

pub use crate::config::{EngineConfig, Location};
pub use crate::plans::OutputColumn;
use crate::plans::Prepared;
use crate::session::context::SessionContext;
use crate::session::executor::Executor;
use execution::catalog_view::View;
use pgsqlite_natives::settings::Gucs;
use pgsqlite_natives::udf::SessionCell;
use pgsqlite_sql::catalog::Catalog;
use pgsqlite_sql::parse::RawStatement;
use pgsqlite_types::{Oid, PgError, Result, SqlState};
use std::collections::HashMap;
use std::sync::Arc;

/// A prepared statement of the session.
struct Statement {
    /// the whole text that the client sent
    text: Arc<str>,
    /// by PREPARE, not by a Parse message
    from_sql: bool,
    /// microseconds since 2000-01-01 UTC
    created: i64,
    executions: i64,
    /// the parameters' types, which stay what they were when the statement was prepared: clients send values by them
    types: Vec<Oid>,
    /// None: the empty statement
    raw: Option<Arc<RawStatement>>,
    /// None: the empty statement
    prepared: Option<Arc<Prepared>>,
    /// what `prepared` was made for
    view: Arc<View>,
    /// `prepared` says what the statement gives, but the role may not run it: it is planned again at each use
    denied: bool,
}

/// Statements and portals are looked up several times for each execution: by a faster hash than the standard library's.
type ByName<T> = HashMap<String, T, foldhash::fast::RandomState>;

/// A session. Dropping it rolls back and frees everything it holds. Its own are the prepared statements; it answers what clients send,
/// over what runs the statements ([`Executor`]), which runs them over what they see and may do ([`SessionContext`]).
pub struct Session {
    statements: ByName<Statement>,
    executor: Executor,
}

impl Engine {
    /// A session on the database. Errors: 28000 and 53300 as PostgreSQL's for a role that may not log in.
    pub fn session(self: &Arc<Self>, options: SessionOptions) -> Result<Session> {
        Session::new(self.clone(), options)
    }
}

impl Session {
    pub(crate) fn new(engine: Arc<Engine>, options: SessionOptions) -> Result<Session> {
        let context = SessionContext::new(engine, options)?;
        Ok(Session { statements: ByName::default(), executor: Executor::new(context) })
    }

    // --- what others ask of a session ----------------------------------------------------------------------------------------

    /// How the client stands to a transaction, as ReadyForQuery reports it.
    pub fn transaction_status(&self) -> TransactionStatus {
        self.executor.context.transaction_status()
    }

    /// What statements see now: the shared catalog or the transaction's own, with the session's temporary relations. The same
    /// snapshot is given until something changes.
    pub fn catalog_snapshot(&self) -> Arc<Catalog> {
        self.executor.context.catalog()
    }

    /// A message of the extended protocol begins. `statement_timeout` runs from the first one on, until an Execute completes or a Sync
    /// comes. Errors: 57014 if it is over.
    pub fn begin_message(&mut self) -> Result<()> {
        let context = &mut self.executor.context;
        context.transaction.block_mut().start();
        if context.gucs.often.statement_timeout == 0 && context.timer.is_none() {
            return Ok(());
        }
        context.began_early |= context.cancel.begin();
        context.limit_time();
        context.cancel.check()
    }

    // --- state -----------------------------------------------------------------------------------------------------------------

    /// Notices and warnings since the last call.
    pub fn take_notices(&mut self) -> Vec<PgError> {
        let context = &mut self.executor.context;
        told(std::mem::take(&mut context.notices), &context.gucs)
    }

    /// Reported settings (GUC_REPORT) whose value changed since the last call; on a new session: all of them.
    pub fn take_parameter_changes(&mut self) -> Vec<(String, String)> {
        let context = &mut self.executor.context;
        let mut changes = Vec::new();
        context.follow_promotion();
        if context.reported_version == context.gucs.version() {
            return changes;
        }
        context.reported_version = context.gucs.version();
        for name in pgsqlite_natives::settings::REPORTED {
            let value = context.gucs.get(name).unwrap_or_default();
            if context.reported.get(name) != Some(&value) {
                changes.push((name.to_string(), value.clone()));
                context.reported.insert(name, value);
            }
        }
        changes
    }

    /// Notifications due now (only outside a transaction).
    pub fn take_notifications(&mut self) -> Vec<Notification> {
        if self.executor.context.transaction_status() != TransactionStatus::Idle {
            return Vec::new();
        }
        self.executor.context.server.mailbox.take()
    }

    /// Gives back memory before a wait that may be long.
    pub fn rest(&mut self) {
        if self.executor.portals.is_empty() {
            self.executor.portals = ByName::default();
        }
    }

    /// Resolves when something needs the session's attention while the client is silent (a notification). Err: the session
    /// must end with this error: it was terminated, or idle for longer than its settings allow.
    pub async fn wait_event(&mut self) -> Result<()> {
        let executor = &mut self.executor;
        if executor.context.transaction_status() != TransactionStatus::Idle {
            executor.context.limit_transaction();
        }
        let often = &executor.context.gucs.often;
        let (limit, code, message) = if executor.context.transaction_status() == TransactionStatus::Idle {
            (
                often.idle_session_timeout,
                SqlState::IDLE_SESSION_TIMEOUT,
                "terminating connection due to idle-session timeout",
            )
        } else {
            (
                often.idle_in_transaction_session_timeout,
                SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
                "terminating connection due to idle-in-transaction timeout",
            )
        };
        // a client that sends the rows of a COPY is at work, however slowly
        let limit = if executor.copying.is_some() { 0 } else { limit };
        let idle = async {
            match limit {
                0 => std::future::pending().await,
                limit => tokio::time::sleep(std::time::Duration::from_millis(limit)).await,
            }
        };
        let pending = executor.context.transaction_status() == TransactionStatus::Idle
            && !executor.context.server.mailbox.is_empty();
        let silence = executor.context.observation.activity.fall_silent();
        let event = async {
            if !pending && !executor.context.cancel.is_terminated() {
                executor.context.cancel.woken().await;
            }
        };
        tokio::select! {
            biased;
            () = event => {}
            () = idle => return Err(PgError::new(code, message).fatal()),
        }
        if executor.context.cancel.is_terminated() {
            return Err(crate::requests::terminated());
        }
        if executor.context.transaction.limit().is_some_and(|number| executor.context.cancel.ends_transaction(number)) {
            return Err(crate::requests::lasted_too_long());
        }
        executor.check_snapshot()?;
        executor.context.check_silence(&silence)
    }

    pub fn cancel_handle(&self) -> CancelHandle {
        self.executor.context.cancel.clone()
    }

    /// A setting, as SHOW prints it.
    pub fn shown_setting(&self, name: &str) -> Option<String> {
        self.executor.context.gucs.get(name)
    }

    /// The client is a standby, and has given this command: others see the session as a WAL sender.
    pub fn replicates(&self, command: &str) {
        let activity = &self.executor.context.observation.activity;
        activity.set_replicates();
        let now = pgsqlite_metadata::clock::now();
        activity.change(now, |live| {
            live.state = pgsqlite_natives::statistics::activity::State::Active;
            live.query = command.into();
            live.query_start = Some(now);
        });
    }

    /// The encoding of the texts that the client sends and gets.
    pub fn client_encoding(&self) -> pgsqlite_types::encoding::Encoding {
        self.executor.context.gucs.client_encoding
    }

    /// A setting's value as SHOW prints it.
    pub fn setting(&self, name: &str) -> Option<String> {
        self.executor.context.gucs.get(name)
    }
}

/// Those of the notices that the client wants to have (`client_min_messages`).
fn told(mut notices: Vec<PgError>, settings: &Gucs) -> Vec<PgError> {
    if !notices.is_empty() {
        let least = settings.get("client_min_messages");
        notices.retain(|n| pgsqlite_natives::settings::is_told(n, least.as_deref().unwrap_or("notice")));
    }
    notices
}

/// Gives a sink that takes notices before the answer's end those that were raised earlier (`kept`), and those of a connection's functions.
fn give_notices(cell: &SessionCell, kept: &mut Vec<PgError>, settings: &Gucs, sink: &mut dyn RowSink) {
    if sink.takes_notices() {
        let mut notices = std::mem::take(kept);
        notices.extend(cell.take_notices());
        told(notices, settings).iter().for_each(|n| sink.notice(n));
    }
}
