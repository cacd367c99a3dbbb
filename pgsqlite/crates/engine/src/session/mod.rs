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

mod copy;
mod execution;
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
use crate::connection::Connection;
pub use crate::plans::OutputColumn;
use crate::plans::Prepared;
use execution::catalog_view::View;
use execution::portal::Portal;
use parking_lot::Mutex;
use pgsqlite_natives::settings::rights::{Source, NOBODY};
use pgsqlite_natives::settings::Gucs;
use pgsqlite_sql::catalog::Catalog;
use pgsqlite_sql::escapes::Strings;
use pgsqlite_sql::parse::{NodeEnum, RawStatement};
use pgsqlite_types::codec::Context;
use pgsqlite_types::error::Severity;
use pgsqlite_types::{Oid, PgError, Result, SqlState};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use transaction::state::Transaction;

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

/// A session. Dropping it rolls back and frees everything it holds.
pub struct Session {
    engine: Arc<Engine>,
    options: SessionOptions,
    /// the role that the client authenticated as
    login: Oid,
    /// the effective role by (version of the settings, epoch of the catalog)
    identity: Mutex<Option<settings::identity::Known>>,
    gucs: Gucs,
    /// the settings at the session's start: what RESET goes back to
    initial: Gucs,
    /// the settings as natives see and change them
    variables: Arc<execution::natives::SessionVariables>,
    sequences: Arc<execution::sequences::SessionSequences>,
    server: Arc<execution::server_functions::SessionServer>,
    connection: Option<Connection>,
    /// temporary relations of this session; other sessions never see them
    temporary: transaction::private::Temporary,
    /// the shared catalog (by epoch) with the temporary relations added
    merged: Mutex<Option<(u64, Arc<Catalog>)>>,
    last_view: Mutex<Option<Arc<View>>>,
    transaction: Transaction,
    /// where the transaction is while the client is silent
    place: Arc<transaction::resting::Place>,
    /// how long its client is silent within transactions
    pace: execution::pace::Pace,
    /// the running statement must not touch what others hold
    heeding: Option<transaction::resting::Heeding>,
    statements: ByName<Statement>,
    /// boxed: Execute takes its portal out of here, and puts it back
    portals: ByName<Box<Portal>>,
    /// the COPY that is under way
    copying: Option<copy::Copying>,
    /// the FETCH whose sink asked for a pause
    fetching: Option<execution::cursor::Fetching>,
    notices: Vec<PgError>,
    reported: HashMap<&'static str, String>,
    /// of the settings when the client was last told
    reported_version: u64,
    cancel: CancelHandle,
    /// statement_timeout and client_connection_check_interval of the running statement
    timer: Option<tokio::task::JoinHandle<()>>,
    /// portals that an error in a transaction block has ended, and whether they had columns: their names are taken until the block's end
    lost_portals: HashMap<String, bool>,
    /// `begin_message` has begun what the next Execute goes on with
    began_early: bool,
    /// when the present statement (or the query string that it came in) was received, microseconds since 2000-01-01 UTC
    statement_timestamp: i64,
    /// a body runs on the connection, whatever becomes of the transaction
    keeps_connection: bool,
    /// a Sync comes after the present statement: it is the whole of its transaction, or the end of it
    sync_follows: bool,
    /// it may wait for the disk on its thread
    own_thread: bool,
    /// above 0: others were committing at the time of one of its last commits
    beside_others: u8,
    /// the last commit that it may have seen through connections that it has given back ([`seen`])
    seen: u64,
    /// the limit that the session's account was given
    temp_file_limit: Option<u64>,
    /// the state of random(), while no connection is leased; zeros: to be seeded
    random: [u64; 2],
    /// the whole text that the running statement came in
    source: Arc<str>,
    /// what others see of it
    observation: settings::observation::Observation,
}

impl Engine {
    /// A session on the database. Errors: 28000 and 53300 as PostgreSQL's for a role that may not log in.
    pub fn session(self: &Arc<Self>, options: SessionOptions) -> Result<Session> {
        Session::new(self.clone(), options)
    }
}

impl Session {
    pub(crate) fn new(engine: Arc<Engine>, options: SessionOptions) -> Result<Session> {
        let login = engine.catalog().role_named(&options.user).map_or(NOBODY, |role| role.oid);
        let mut gucs = Gucs::new(&options.user, login);
        for (name, value) in options.server_settings.iter() {
            gucs.set_of_server(name, value);
        }
        if engine.in_recovery() {
            gucs.set_in_hot_standby(true);
        }
        let cancel = CancelHandle::default();
        let variables = Arc::new(execution::natives::SessionVariables::new(gucs.clone()));
        let server = execution::server_functions::SessionServer::new(&engine, &options, login, &cancel, &variables);
        let sequences = execution::sequences::SessionSequences {
            engine: Arc::downgrade(&engine),
            server: server.clone(),
            locks: engine.locks.clone(),
            own: Default::default(),
        };
        let observation = settings::observation::Observation::enter(&engine, &options, login, server.number());
        server.set_activity(&observation.activity);
        let mut session = Session {
            engine,
            options,
            login,
            identity: Mutex::default(),
            variables,
            server,
            sequences: Arc::new(sequences),
            initial: gucs.clone(),
            gucs,
            connection: None,
            temporary: Default::default(),
            merged: Mutex::default(),
            last_view: Mutex::default(),
            transaction: Transaction::default(),
            place: Default::default(),
            pace: Default::default(),
            heeding: None,
            statements: ByName::default(),
            portals: ByName::default(),
            copying: None,
            fetching: None,
            timer: None,
            lost_portals: HashMap::new(),
            began_early: false,
            statement_timestamp: 0,
            keeps_connection: false,
            sync_follows: false,
            // whoever gives it a thread of its own says so: until then others' tasks wait for the thread
            own_thread: false,
            beside_others: 0,
            seen: 0,
            temp_file_limit: None,
            random: [0, 0],
            source: "".into(),
            observation,
            notices: Vec::new(),
            reported: HashMap::new(),
            reported_version: 0,
            cancel,
        };
        session.check_login()?;
        session.begin_settings()?;
        session.refresh_superuser();
        // the copies share what they have in common
        session.initial = session.gucs.clone();
        session.variables.refresh(&session.gucs);
        session.observation.tell_name(&session.gucs);
        Ok(session)
    }

    /// The settings that the session begins with, to which RESET goes back: those of ALTER DATABASE … SET, then those of ALTER ROLE … SET,
    /// and before both what the client asks for. A stored value that has become impossible is a warning. Errors (FATAL): those of a SET.
    fn begin_settings(&mut self) -> Result<()> {
        let catalog = self.catalog();
        let of_role = catalog.roles.get(&self.login).map_or(&[][..], |role| &role.settings[..]);
        for (name, value) in catalog.properties.settings.iter().chain(of_role) {
            if let Err(e) = self.begin_setting(&catalog, name, value, Source::Stored) {
                self.notices.push(e.severity(Severity::Warning));
            }
        }
        for (name, value) in &std::mem::take(&mut self.options.settings) {
            self.begin_setting(&catalog, name, value, Source::StartUp).map_err(|e| e.fatal())?;
        }
        self.gucs.keep_as_defaults();
        Ok(())
    }

    fn begin_setting(&mut self, catalog: &Catalog, name: &str, value: &str, source: Source) -> Result<()> {
        let permit = self.claimant(catalog).permit(name, Some(value), source)?;
        let key = name.to_ascii_lowercase();
        if key == "session_authorization" || pgsqlite_natives::settings::OF_TRANSACTION.contains(&key.as_str()) {
            // whom the client authenticated as stays, and there is no transaction yet: as in PostgreSQL
            return Ok(());
        }
        self.gucs.set(name, Some(value), permit)
    }

    /// What `current_database()` reports: of the names of the database, the one that the client connected with.
    pub(super) fn database(&self) -> &str {
        settings::observation::database_name(&self.engine, &self.options)
    }

    /// What statements see now: the shared catalog or the transaction's own, with the session's temporary relations. The same
    /// snapshot is given until something changes.
    pub fn catalog_snapshot(&self) -> Arc<Catalog> {
        self.catalog()
    }

    // --- what analysis sees --------------------------------------------------------------------------------------------

    fn catalog(&self) -> Arc<Catalog> {
        if let Some(own) = self.transaction.catalog() {
            return own.clone();
        }
        if let Some(view) = self.last_view.lock().as_ref().filter(|view| self.sees_committed(view)) {
            return view.catalog.clone();
        }
        let shared = self.engine.catalog();
        if !self.has_temporary() {
            return shared;
        }
        let mut merged = self.merged.lock();
        match &*merged {
            Some((epoch, catalog)) if *epoch == shared.epoch => catalog.clone(),
            _ => {
                let mut catalog = (*shared).clone();
                for relation in &self.temporary.relations {
                    catalog.add_relation((**relation).clone());
                }
                for routine in &self.temporary.routines {
                    catalog.add_function(routine.function.clone());
                }
                // plans that were made with other temporary objects are none for these
                catalog.epoch = pgsqlite_metadata::counter::next_number();
                let catalog = Arc::new(catalog);
                *merged = Some((shared.epoch, catalog.clone()));
                catalog
            }
        }
    }

    /// Whether the session has objects that others do not see.
    fn has_temporary(&self) -> bool {
        !self.temporary.is_empty()
    }

    /// A committed catalog, taken apart: what is temporary stays here, the rest is everybody's.
    fn take_temporary(&mut self, catalog: Arc<Catalog>) -> Arc<Catalog> {
        self.temporary = transaction::private::Temporary::of(&catalog);
        *self.merged.lock() = None;
        if !self.has_temporary() {
            return catalog;
        }
        let mut shared = (*catalog).clone();
        for relation in &self.temporary.relations {
            shared.remove_relation(relation.oid);
        }
        for routine in &self.temporary.routines {
            shared.remove_function(routine.function.oid);
        }
        Arc::new(shared)
    }

    // --- parse -----------------------------------------------------------------------------------------------------------

    /// The statements of a query string: from the cache of parsed strings, or parsed now.
    fn parse_text(&mut self, text: &str) -> Result<Arc<[Arc<RawStatement>]>> {
        if text.contains('\\') || !self.gucs.typed.standard_conforming_strings {
            let strings = self.strings();
            if !strings.are_standard_in(text) {
                return self.parse_escaped(text, strings);
            }
        }
        if let Some(found) = self.engine.plans.parsed(text) {
            return Ok(found);
        }
        let begins =
            if text.len() > crate::plans::LONGEST { execution::work::Begins::Apart } else { self.begins_here() };
        let cancel = self.cancel.clone();
        let parse = || match text.len() {
            0..=protocol::long_texts::LONG => pgsqlite_sql::parse::parse(text),
            _ => protocol::long_texts::read(text, pgsqlite_sql::parse::parse),
        };
        let parsed = self.while_requests_count(|_| cancel.work(begins, None, parse))?;
        let statements: Arc<[_]> = parsed.into_iter().map(Arc::new).collect();
        self.engine.plans.put_parsed(text, &statements);
        Ok(statements)
    }

    /// How the client writes string constants.
    fn strings(&self) -> Strings {
        // in these a backslash may be the second byte of a character
        const UNSAFE: [&str; 7] = ["SJIS", "BIG5", "GBK", "UHC", "GB18030", "JOHAB", "SHIFT_JIS_2004"];
        let backslash_quote = match self.gucs.get("backslash_quote").as_deref() {
            Some("off") => false,
            Some("safe_encoding") => !UNSAFE.contains(&self.gucs.client_encoding.name()),
            _ => true,
        };
        let standard = self.gucs.typed.standard_conforming_strings;
        Strings { standard, backslash_quote, warns: self.gucs.is_on("escape_string_warning") }
    }

    /// The statements of a query string in which backslashes escape otherwise than the standard has it. Their texts are not looked at
    /// any more after that: refuses those of which parts are stored as they are written.
    fn parse_escaped(&mut self, text: &str, strings: Strings) -> Result<Arc<[Arc<RawStatement>]>> {
        let cancel = self.cancel.clone();
        let parse = || match text.len() {
            0..=protocol::long_texts::LONG => pgsqlite_sql::escapes::parse(text, strings),
            _ => protocol::long_texts::read(text, move |text| pgsqlite_sql::escapes::parse(text, strings)),
        };
        let (statements, warnings) =
            self.while_requests_count(|_| cancel.work(execution::work::Begins::Apart, None, parse))?;
        let by_tree = |node: &NodeEnum| {
            pgsqlite_sql::parse::is_optimizable(node)
                || matches!(
                    node,
                    NodeEnum::ExplainStmt(_)
                        | NodeEnum::PrepareStmt(_)
                        | NodeEnum::ExecuteStmt(_)
                        | NodeEnum::DeclareCursorStmt(_)
                        | NodeEnum::CopyStmt(_)
                        | NodeEnum::VariableSetStmt(_)
                        | NodeEnum::TransactionStmt(_)
                        | NodeEnum::CommentStmt(_)
                        | NodeEnum::NotifyStmt(_)
                )
        };
        let depends = |s: &RawStatement| !strings.standard && pgsqlite_sql::escapes::depends(&s.text);
        let wrong = |s: &&RawStatement| depends(s) && !by_tree(&s.node);
        if let Some(statement) = statements.iter().find(wrong) {
            let name = pgsqlite_sql::command::name(&statement.node);
            let refused =
                format!("{name} with a backslash in a string constant while standard_conforming_strings is off");
            return Err(PgError::not_supported(refused).at(statement.offset as i32));
        }
        self.notices.extend(warnings);
        Ok(statements.into_iter().map(Arc::new).collect())
    }

    /// Tells of the identifiers that the parser cuts.
    fn tell_truncated(&mut self, text: &str) -> Result<()> {
        if !self.gucs.typed.standard_conforming_strings && text.contains('\\') {
            return Ok(());
        }
        let truncated = match text.len() {
            0..=protocol::long_texts::LONG => pgsqlite_sql::parse::truncated_identifiers(text),
            _ => {
                let cancel = self.cancel.clone();
                let find =
                    || protocol::long_texts::read(text, |text| Ok(pgsqlite_sql::parse::truncated_identifiers(text)));
                self.while_requests_count(|_| cancel.work(execution::work::Begins::Apart, None, find))?
            }
        };
        for (written, cut) in truncated {
            let message = format!("identifier \"{written}\" will be truncated to \"{cut}\"");
            self.notices.push(PgError::new(SqlState::NAME_TOO_LONG, message).severity(Severity::Notice));
        }
        Ok(())
    }

    /// A message of the extended protocol begins. `statement_timeout` runs from the first one on, until an Execute completes or a Sync
    /// comes. Errors: 57014 if it is over.
    pub fn begin_message(&mut self) -> Result<()> {
        self.transaction.block_mut().start();
        if self.gucs.often.statement_timeout == 0 && self.timer.is_none() {
            return Ok(());
        }
        self.began_early |= self.cancel.begin();
        self.limit_time();
        self.cancel.check()
    }

    /// A portal is executed: cancel requests count, statement_timeout runs. Again after a pause, or in a query string: it goes on.
    fn begin_running(&mut self) {
        if self.cancel.begin() || std::mem::take(&mut self.began_early) {
            self.begin_observed(self.source.clone());
        }
        self.limit_time();
    }

    /// A statement of a query string begins, as [`Session::begin_running`]; that the string came is told already.
    fn begin_running_script(&mut self) {
        self.cancel.begin();
        self.limit_time();
    }

    /// What Parse and Bind compute: cancel requests and statement_timeout end it as they end a statement.
    fn while_requests_count<R>(&mut self, run: impl FnOnce(&mut Session) -> R) -> R {
        let begins = self.cancel.begin();
        if begins {
            self.limit_time();
        }
        let result = run(self);
        if begins {
            self.end_running();
        }
        result
    }

    /// From now on `statement_timeout` and `client_connection_check_interval` end what runs.
    fn limit_time(&mut self) {
        let (timeout, check) = (self.gucs.often.statement_timeout, self.gucs.often.client_connection_check_interval);
        if timeout == 0 && check == 0 || self.timer.is_some() {
            return;
        }
        let (cancel, client) = (self.cancel.clone(), self.server.client_watch().filter(|_| check > 0));
        let over = async move {
            match timeout {
                0 => std::future::pending().await,
                timeout => tokio::time::sleep(Duration::from_millis(timeout)).await,
            }
        };
        let gone = async move {
            let Some(client) = client else { return std::future::pending().await };
            tokio::time::sleep(Duration::from_millis(check)).await;
            client.gone().await;
        };
        self.timer = Some(tokio::spawn(async move {
            tokio::select! {
                biased;
                () = over => cancel.time_out(),
                () = gone => cancel.lose_client(),
            }
        }));
    }

    fn end_running(&mut self) {
        self.cancel.end();
        self.began_early = false;
        if let Some(timer) = self.timer.take() {
            timer.abort();
        }
    }

    /// An error in a transaction block has ended a portal. (A query string has the unnamed one.)
    fn lose_portal(&mut self, name: &str, portal: &Portal) {
        let name = match name.starts_with('\0') {
            // (PostgreSQL computes constants before it makes the portal)
            true if portal.is_constant() => return,
            true => "",
            false => name,
        };
        self.lost_portals.insert(name.to_string(), portal.columns().is_some());
    }

    fn drop_portal(&mut self, name: &str) {
        if let Some(portal) = self.portals.remove(name) {
            self.close(portal);
        }
    }

    // --- state -----------------------------------------------------------------------------------------------------------------

    /// Notices and warnings since the last call.
    pub fn take_notices(&mut self) -> Vec<PgError> {
        if self.notices.is_empty() {
            return Vec::new();
        }
        let least = self.gucs.get("client_min_messages");
        let mut notices = std::mem::take(&mut self.notices);
        notices.retain(|n| pgsqlite_natives::settings::is_told(n, least.as_deref().unwrap_or("notice")));
        notices
    }

    fn warn(&mut self, code: SqlState, message: impl Into<String>) {
        self.notices.push(PgError::new(code, message).severity(Severity::Warning));
    }

    /// Reported settings (GUC_REPORT) whose value changed since the last call; on a new session: all of them.
    pub fn take_parameter_changes(&mut self) -> Vec<(String, String)> {
        let mut changes = Vec::new();
        self.follow_promotion();
        if self.reported_version == self.gucs.version() {
            return changes;
        }
        self.reported_version = self.gucs.version();
        for name in pgsqlite_natives::settings::REPORTED {
            let value = self.gucs.get(name).unwrap_or_default();
            if self.reported.get(name) != Some(&value) {
                changes.push((name.to_string(), value.clone()));
                self.reported.insert(name, value);
            }
        }
        changes
    }

    /// Notifications due now (only outside a transaction).
    pub fn take_notifications(&mut self) -> Vec<Notification> {
        if self.transaction_status() != TransactionStatus::Idle {
            return Vec::new();
        }
        self.server.mailbox.take()
    }

    /// Gives back memory before a wait that may be long.
    pub fn rest(&mut self) {
        if self.portals.is_empty() {
            self.portals = ByName::default();
        }
    }

    /// Resolves when something needs the session's attention while the client is silent (a notification). Err: the session
    /// must end with this error: it was terminated, or idle for longer than its settings allow.
    pub async fn wait_event(&mut self) -> Result<()> {
        let often = &self.gucs.often;
        let (limit, code, message) = if self.transaction_status() == TransactionStatus::Idle {
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
        let limit = if self.copying.is_some() { 0 } else { limit };
        let idle = async {
            match limit {
                0 => std::future::pending().await,
                limit => tokio::time::sleep(std::time::Duration::from_millis(limit)).await,
            }
        };
        let pending = self.transaction_status() == TransactionStatus::Idle && !self.server.mailbox.is_empty();
        let silence = self.observation.activity.fall_silent();
        let event = async {
            if !pending && !self.cancel.is_terminated() {
                self.cancel.woken().await;
            }
        };
        tokio::select! {
            biased;
            () = event => {}
            () = idle => return Err(PgError::new(code, message).fatal()),
        }
        if self.cancel.is_terminated() {
            return Err(crate::requests::terminated());
        }
        self.check_snapshot()?;
        self.check_silence(&silence)
    }

    /// 25P03 or 25P04 if the client's silence, or the whole transaction, has kept others from the writer slot for too long.
    fn check_silence(&self, silence: &pgsqlite_natives::statistics::activity::Silence<'_>) -> Result<()> {
        let keeps_slot = self.engine.writer.holder().is_some_and(|holder| holder.session == self.server.number());
        if !self.cancel.ends_silence(silence.number) || !keeps_slot {
            return Ok(());
        }
        if self.cancel.is_long_writer() {
            return Err(crate::requests::held_too_long());
        }
        let limit = self.engine.config.idle_writer_timeout.unwrap_or_default().as_secs_f64();
        Err(PgError::new(
            SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
            "terminating connection due to idle-in-transaction timeout",
        )
        .detail(format!("The session was silent for {limit} seconds in a transaction that has written, while others waited to write."))
        .hint("Commit before waiting for something else, or start the server with a longer --idle-writer-timeout.")
        .fatal())
    }

    pub fn cancel_handle(&self) -> CancelHandle {
        self.cancel.clone()
    }

    /// The encoding of the texts that the client sends and gets.
    pub fn client_encoding(&self) -> pgsqlite_types::encoding::Encoding {
        self.gucs.client_encoding
    }

    /// A setting's value as SHOW prints it.
    pub fn setting(&self, name: &str) -> Option<String> {
        self.gucs.get(name)
    }

    /// A context for encoding rows outside a running statement.
    fn with_context<R>(&self, f: impl FnOnce(&Context) -> R) -> R {
        let view = self.view();
        f(&Context { settings: &self.gucs.typed, names: &*view })
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.rouse();
        self.observation.ends(&self.gucs, self.cancel.is_terminated());
        self.server.close();
        if let Ok(copy) = self.take_copy() {
            copy.abandon(self);
        }
        self.end_running();
        let portals: Vec<Box<Portal>> = self.portals.drain().map(|(_, p)| p).collect();
        for portal in portals {
            self.close(portal);
        }
        if self.transaction.is_joined() {
            if let Err(e) = self.withdraw() {
                tracing::debug!("a session's part in a shared transaction could not be taken back: {e}");
            }
        }
        if let Some(connection) = self.connection.take() {
            // an open transaction is rolled back; a connection that cannot be cleaned is closed
            let clean = connection.is_autocommit() || connection.exec("ROLLBACK").is_ok();
            if clean && self.engine.config.pooling && !connection.has_temporary() {
                connection.cell.random.set([0, 0]);
                self.engine.idle.put(connection);
            }
        }
        // (a pooled connection may keep it)
        self.server.transaction_ended();
    }
}
