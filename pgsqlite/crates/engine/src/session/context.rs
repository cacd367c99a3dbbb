//! What the statements of a session see, and what they may do: its role, its settings, the catalog with its temporary relations, what is
//! known of its transaction; and the statement that runs: its text, its time, the requests that end it. Nothing here touches SQLite.

use super::execution::catalog_view::View;
use super::settings;
use super::transaction;
use super::transaction::state::Transaction;
use super::{CancelHandle, Engine, SessionOptions};
use parking_lot::Mutex;
use pgsqlite_natives::settings::rights::{Source, NOBODY};
use pgsqlite_natives::settings::Gucs;
use pgsqlite_sql::catalog::Catalog;
use pgsqlite_types::codec::Context;
use pgsqlite_types::error::Severity;
use pgsqlite_types::{Oid, PgError, Result, SqlState};
use std::collections::HashMap;
use std::sync::Arc;

/// What a statement is analyzed, checked and limited by.
pub(super) struct SessionContext {
    pub engine: Arc<Engine>,
    pub options: SessionOptions,
    /// the role that the client authenticated as
    pub login: Oid,
    /// the effective role by (version of the settings, epoch of the catalog)
    pub identity: Mutex<Option<settings::identity::Known>>,
    pub gucs: Gucs,
    /// the settings at the session's start: what RESET goes back to
    pub initial: Gucs,
    /// the settings as natives see and change them
    pub variables: Arc<super::execution::natives::SessionVariables>,
    pub sequences: Arc<super::execution::sequences::SessionSequences>,
    pub server: Arc<super::execution::server_functions::SessionServer>,
    /// temporary relations of this session; other sessions never see them
    pub temporary: transaction::private::Temporary,
    /// the shared catalog (by epoch) with the temporary relations added
    pub merged: Mutex<Option<(u64, Arc<Catalog>)>>,
    pub last_view: Mutex<Option<Arc<View>>>,
    pub transaction: Transaction,
    pub notices: Vec<PgError>,
    pub reported: HashMap<&'static str, String>,
    /// of the settings when their values were last reported
    pub reported_version: u64,
    pub cancel: CancelHandle,
    /// statement_timeout and client_connection_check_interval of the running statement
    pub timer: Option<tokio::task::JoinHandle<()>>,
    /// `begin_message` has begun what the next Execute goes on with
    pub began_early: bool,
    /// when the present statement (or the query string that it came in) was received, microseconds since 2000-01-01 UTC
    pub statement_timestamp: i64,
    /// the whole text that the running statement came in
    pub source: Arc<str>,
    /// a Sync comes after the present statement: it is the whole of its transaction, or the end of it
    pub sync_follows: bool,
    /// it may wait for the disk on its thread
    pub own_thread: bool,
    /// the last commit that it may have seen through connections that it has given back ([`seen`](super::protocol::seen))
    pub seen: u64,
    /// the limit that the session's account was given
    pub temp_file_limit: Option<u64>,
    /// what others see of the session
    pub observation: settings::observation::Observation,
}

impl SessionContext {
    /// What a session begins with. Errors (FATAL): 28000 and 53300 as PostgreSQL's for a role that may not log in; those of its settings.
    pub fn new(engine: Arc<Engine>, options: SessionOptions) -> Result<SessionContext> {
        let login = engine.catalog().role_named(&options.user).map_or(NOBODY, |role| role.oid);
        let mut gucs = Gucs::new(&options.user, login);
        for (name, value) in options.server_settings.iter() {
            gucs.set_of_server(name, value);
        }
        if engine.in_recovery() {
            gucs.set_in_hot_standby(true);
        }
        let cancel = CancelHandle::default();
        let variables = Arc::new(super::execution::natives::SessionVariables::new(gucs.clone()));
        let server =
            super::execution::server_functions::SessionServer::new(&engine, &options, login, &cancel, &variables);
        let sequences = super::execution::sequences::SessionSequences {
            engine: Arc::downgrade(&engine),
            server: server.clone(),
            locks: engine.locks.clone(),
            own: Default::default(),
        };
        let observation = settings::observation::Observation::enter(&engine, &options, login, server.number());
        server.set_activity(&observation.activity);
        let mut context = SessionContext {
            engine,
            options,
            login,
            identity: Mutex::default(),
            variables,
            server,
            sequences: Arc::new(sequences),
            initial: gucs.clone(),
            gucs,
            temporary: Default::default(),
            merged: Mutex::default(),
            last_view: Mutex::default(),
            transaction: Transaction::default(),
            timer: None,
            began_early: false,
            statement_timestamp: 0,
            sync_follows: false,
            // whoever gives it a thread of its own says so: until then others' tasks wait for the thread
            own_thread: false,
            seen: 0,
            temp_file_limit: None,
            source: "".into(),
            observation,
            notices: Vec::new(),
            reported: HashMap::new(),
            reported_version: 0,
            cancel,
        };
        context.check_login()?;
        context.begin_settings()?;
        context.refresh_superuser();
        // the copies share what they have in common
        context.initial = context.gucs.clone();
        context.variables.refresh(&context.gucs);
        context.observation.tell_name(&context.gucs);
        Ok(context)
    }

    /// The settings that the session begins with, to which RESET goes back: those of ALTER DATABASE … SET, then those of ALTER ROLE … SET,
    /// and before both what the client asks for. A stored value that has become impossible is a warning. Errors (FATAL): those of a SET.
    pub(super) fn begin_settings(&mut self) -> Result<()> {
        let catalog = self.catalog();
        let of_role = catalog.roles.get(&self.login).map_or(&[][..], |role| &role.settings[..]);
        for (source, settings) in [("database", &catalog.properties.settings[..]), ("user", of_role)] {
            for (name, value) in settings {
                if let Err(e) = self.begin_setting(&catalog, name, value, Source::Stored) {
                    self.notices.push(e.severity(Severity::Warning));
                }
            }
            self.gucs.keep_as_defaults(source);
        }
        for (name, value) in &std::mem::take(&mut self.options.settings) {
            self.begin_setting(&catalog, name, value, Source::StartUp).map_err(|e| e.fatal())?;
        }
        self.gucs.keep_as_defaults("client");
        Ok(())
    }

    pub(super) fn begin_setting(&mut self, catalog: &Catalog, name: &str, value: &str, source: Source) -> Result<()> {
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

    pub(super) fn catalog(&self) -> Arc<Catalog> {
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
    pub(super) fn has_temporary(&self) -> bool {
        !self.temporary.is_empty()
    }

    /// A committed catalog, taken apart: what is temporary stays here, the rest is everybody's.
    pub(super) fn take_temporary(&mut self, catalog: Arc<Catalog>) -> Arc<Catalog> {
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

    pub(super) fn warn(&mut self, code: SqlState, message: impl Into<String>) {
        self.notices.push(PgError::new(code, message).severity(Severity::Warning));
    }

    /// 25P03 or 25P04 if the client's silence, or the whole transaction, has kept others from the writer slot for too long.
    pub(super) fn check_silence(&self, silence: &pgsqlite_natives::statistics::activity::Silence<'_>) -> Result<()> {
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

    /// A context for encoding rows outside a running statement.
    pub(super) fn with_context<R>(&self, f: impl FnOnce(&Context) -> R) -> R {
        let view = self.view();
        f(&Context { settings: &self.gucs.typed, names: &*view })
    }
}
