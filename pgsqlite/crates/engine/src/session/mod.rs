//! A PostgreSQL session: settings, transaction state, prepared statements, portals.
//!
//! * [`api`]: the shapes that pass between the protocol and the engine
//! * [`plans`]: the shared plan cache; [`guc`]: settings; [`transaction`]: blocks, savepoints, the writer slot
//! * [`portal`]: running a plan step by step; [`utility`]: SET, BEGIN, PREPARE, DECLARE, EXPLAIN …
//! * [`script`]: the query strings of the simple protocol
//! * [`view`]: the catalog snapshot and search path of a statement
//! * [`cursor`]: DECLARE, FETCH, MOVE, with the rows kept in a [`spool`]; [`cancel`]: what stops a statement
//! * [`characteristics`]: isolation levels and modes of transactions; [`maintenance`]: VACUUM, LOCK …; [`explain`]: EXPLAIN
//! * [`diagnose`]: the row that a constraint refused
//! * [`copy`]: COPY ([`copy_to`], [`copy_from`]), with its options in [`copy_options`] and its text and CSV formats in [`copy_format`]

mod api;
mod cancel;
mod characteristics;
mod constraints;
mod copy;
mod copy_binary;
mod copy_format;
mod copy_from;
mod copy_options;
mod copy_to;
mod cursor;
mod diagnose;
mod explain;
pub mod guc;
mod guc_values;
mod identity;
mod maintenance;
mod natives;
mod objects;
pub mod plans;
mod portal;
mod script;
mod server_functions;
mod spool;
pub(crate) mod transaction;
mod utility;
mod view;

pub use crate::engine::Engine;
pub use api::*;
pub use cancel::CancelHandle;
pub use script::Script;

use crate::connection::Connection;
use guc::Gucs;
use parking_lot::Mutex;
use pgsqlite_sql::analyze::analyze;
use pgsqlite_sql::catalog::Catalog;
use pgsqlite_sql::parse::{NodeEnum, RawStatement};
use pgsqlite_sql::plan::PlanColumn;
use pgsqlite_types::codec::Context;
use pgsqlite_types::error::Severity;
use pgsqlite_types::{Datum, Oid, PgError, Result, SqlState};
use plans::{Body, Key, Prepared};
use portal::Portal;
use std::collections::HashMap;
use std::sync::Arc;
use transaction::Transaction;
use view::View;

/// A prepared statement of the session.
struct Statement {
    /// the whole text that the client sent
    text: Arc<str>,
    /// by PREPARE, not by a Parse message
    from_sql: bool,
    /// microseconds since 2000-01-01 UTC
    created: i64,
    executions: i64,
    /// the types the client gave
    given: Vec<Oid>,
    /// None: the empty statement
    raw: Option<Arc<RawStatement>>,
    /// None: the empty statement
    prepared: Option<Arc<Prepared>>,
    /// what `prepared` was made for
    view: Arc<View>,
}

/// A session. Dropping it rolls back and frees everything it holds.
pub struct Session {
    engine: Arc<Engine>,
    options: SessionOptions,
    /// the user was a role of the file when the session began
    is_role: bool,
    /// the effective role by (version of the settings, epoch of the catalog)
    identity: Mutex<Option<identity::Known>>,
    gucs: Gucs,
    /// the settings at the session's start: what RESET goes back to
    initial: Gucs,
    /// the settings as natives see and change them
    variables: Arc<natives::SessionVariables>,
    sequences: Arc<crate::sequence::SessionSequences>,
    server: Arc<server_functions::SessionServer>,
    connection: Option<Connection>,
    /// temporary relations of this session; other sessions never see them
    temporary: Vec<Arc<pgsqlite_sql::catalog::Relation>>,
    /// the shared catalog (by epoch) with the temporary relations added
    merged: Mutex<Option<(u64, Arc<Catalog>)>>,
    last_view: Mutex<Option<Arc<View>>>,
    transaction: Transaction,
    statements: HashMap<String, Statement>,
    portals: HashMap<String, Portal>,
    /// the COPY that is under way
    copying: Option<copy::Copying>,
    /// the FETCH whose sink asked for a pause
    fetching: Option<cursor::Fetching>,
    notices: Vec<PgError>,
    reported: HashMap<&'static str, String>,
    /// of the settings when the client was last told
    reported_version: u64,
    cancel: CancelHandle,
    /// statement_timeout of the running statement
    timer: Option<tokio::task::JoinHandle<()>>,
    /// when the present statement began, microseconds since 2000-01-01 UTC
    statement_timestamp: i64,
    /// the state of random(), while no connection is leased; zeros: to be seeded
    random: [u64; 2],
    /// the whole text that the running statement came in
    source: Arc<str>,
}

impl Session {
    pub(crate) fn new(engine: Arc<Engine>, options: SessionOptions) -> Result<Session> {
        let mut gucs = Gucs::new(&options.user);
        {
            // ALTER DATABASE … SET, then ALTER ROLE … SET; what the client asks for goes before both
            let catalog = engine.catalog();
            let of_role = catalog.role_named(&options.user).map(|r| r.settings.clone()).unwrap_or_default();
            for (name, value) in catalog.properties.settings.iter().chain(&of_role) {
                gucs.set(name, Some(value))?;
            }
        }
        for (name, value) in &options.settings {
            match name.as_str() {
                "user" | "database" | "replication" | "options" => {}
                _ => gucs.set(name, Some(value)).map_err(|e| e.fatal())?,
            }
        }
        let sequences = crate::sequence::SessionSequences { engine: Arc::downgrade(&engine), own: Default::default() };
        let cancel = CancelHandle::default();
        let variables = Arc::new(natives::SessionVariables::new(gucs.clone()));
        let server = server_functions::SessionServer::new(&engine, options.backend_pid, &cancel, &variables);
        let is_role = engine.catalog().role_named(&options.user).is_some();
        let mut session = Session {
            engine,
            options,
            is_role,
            identity: Mutex::default(),
            variables,
            server: Arc::new(server),
            sequences: Arc::new(sequences),
            initial: gucs.clone(),
            gucs,
            connection: None,
            temporary: Vec::new(),
            merged: Mutex::default(),
            last_view: Mutex::default(),
            transaction: Transaction::default(),
            statements: HashMap::new(),
            portals: HashMap::new(),
            copying: None,
            fetching: None,
            timer: None,
            statement_timestamp: 0,
            random: [0, 0],
            source: "".into(),
            notices: Vec::new(),
            reported: HashMap::new(),
            reported_version: 0,
            cancel,
        };
        session.gucs.keep_as_defaults();
        session.initial = session.gucs.clone();
        session.check_login()?;
        for (name, _) in &session.options.settings {
            session.check_may_set(&name.to_ascii_lowercase()).map_err(|e| e.fatal())?;
        }
        session.refresh_superuser();
        Ok(session)
    }

    // --- what analysis sees --------------------------------------------------------------------------------------------

    fn catalog(&self) -> Arc<Catalog> {
        if let Some(own) = &self.transaction.catalog {
            return own.clone();
        }
        let shared = self.engine.catalog();
        if self.temporary.is_empty() {
            return shared;
        }
        let mut merged = self.merged.lock();
        match &*merged {
            Some((epoch, catalog)) if *epoch == shared.epoch => catalog.clone(),
            _ => {
                let mut catalog = (*shared).clone();
                for relation in &self.temporary {
                    catalog.add_relation((**relation).clone());
                }
                let catalog = Arc::new(catalog);
                *merged = Some((shared.epoch, catalog.clone()));
                catalog
            }
        }
    }

    /// A committed catalog, taken apart: what is temporary stays here, the rest is everybody's.
    fn take_temporary(&mut self, catalog: Arc<Catalog>) -> Arc<Catalog> {
        self.temporary = catalog.relations.values().filter(|r| r.temporary).cloned().collect();
        *self.merged.lock() = None;
        if self.temporary.is_empty() {
            return catalog;
        }
        let mut shared = (*catalog).clone();
        for relation in &self.temporary {
            shared.remove_relation(relation.oid);
        }
        Arc::new(shared)
    }

    // --- parse -----------------------------------------------------------------------------------------------------------

    /// The statements of a query string: from the cache of parsed strings, or parsed now.
    fn parse_text(&self, text: &str) -> Result<Arc<[Arc<RawStatement>]>> {
        if let Some(found) = self.engine.plans.parsed(text) {
            return Ok(found);
        }
        let statements: Arc<[_]> = pgsqlite_sql::parse::parse(text)?.into_iter().map(Arc::new).collect();
        self.engine.plans.put_parsed(text, &statements);
        Ok(statements)
    }

    /// Tells of the identifiers that the parser cuts.
    fn tell_truncated(&mut self, text: &str) {
        for (written, cut) in pgsqlite_sql::parse::truncated_identifiers(text) {
            let message = format!("identifier \"{written}\" will be truncated to \"{cut}\"");
            self.notices.push(PgError::new(SqlState::NAME_TOO_LONG, message).severity(Severity::Notice));
        }
    }

    /// The plan of a statement: from the cache, or analyzed and lowered now.
    fn plan(&mut self, raw: &Arc<RawStatement>, given: &[Oid]) -> Result<(Arc<Prepared>, Arc<View>)> {
        let view = self.view();
        let key = Key {
            text: raw.text.clone(),
            parameter_types: given.to_vec(),
            search_path: view.path.clone(),
            epoch: view.catalog.epoch,
            settings: view.plan_key.clone(),
            // a plan was permitted to the role that it was made for
            role: view.role,
        };
        // inside a transaction that changed the schema the catalog is this session's own; the columns of EXECUTE and FETCH
        // depend on the session's statements and cursors, which the text does not tell
        let of_session = matches!(raw.node, NodeEnum::ExecuteStmt(_) | NodeEnum::FetchStmt(_));
        let shared = self.transaction.catalog.is_none() && self.temporary.is_empty() && !of_session;
        if shared {
            if let Some(found) = self.engine.plans.get(&key) {
                return Ok((found, view));
            }
        }
        if self.connection.is_some() {
            self.refresh_catalog()?;
            let now = self.view();
            if now.catalog.epoch != view.catalog.epoch {
                // another program has changed the schema
                self.tell_natives(self.connection()?);
                return self.plan(raw, given);
            }
        }
        let prepared = Arc::new(self.analyze_now(raw, given, &view)?);
        if shared {
            self.engine.plans.put(key, prepared.clone());
        }
        Ok((prepared, view))
    }

    fn analyze_now(&mut self, raw: &Arc<RawStatement>, given: &[Oid], view: &View) -> Result<Prepared> {
        let is_query = match &raw.node {
            NodeEnum::SelectStmt(s) => s.into_clause.is_none(),
            NodeEnum::InsertStmt(_) | NodeEnum::UpdateStmt(_) | NodeEnum::DeleteStmt(_) | NodeEnum::MergeStmt(_) => {
                true
            }
            _ => false,
        };
        let epoch = view.catalog.epoch;
        if !is_query {
            let columns = self.utility_columns(&raw.node)?;
            // the query of a cursor, or an explained one, may have parameters
            let parameters = match &raw.node {
                NodeEnum::DeclareCursorStmt(d) => {
                    let inner = cursor::cursor_query(d, raw)?;
                    self.analyze_now(&inner, given, view)?.parameters
                }
                NodeEnum::ExplainStmt(e) => match explain::explained(e, raw) {
                    Some(inner) => self.analyze_now(&inner, given, view)?.parameters,
                    None => vec![],
                },
                _ => vec![],
            };
            return Ok(Prepared {
                statement: raw.clone(),
                body: Body::Utility,
                parameters,
                columns,
                epoch,
                shows_session: false,
                role: view.role,
            });
        }
        let plan = self.with_environment(view, |environment| {
            let (statement, parameters) = analyze(environment, &raw.node, given)?;
            pgsqlite_sql::lower::lower(environment, &statement, parameters)
        })?;
        let columns = match &plan.columns {
            Some(columns) => Some(output_columns(&view.catalog, columns)?),
            None => None,
        };
        Ok(Prepared {
            statement: raw.clone(),
            parameters: plan.parameters.clone(),
            shows_session: plan.query.steps.iter().any(|s| objects::shown_by(&s.sql)),
            body: Body::Plan(plan),
            columns,
            epoch,
            role: view.role,
        })
    }

    /// Parse. `name` "" is the unnamed statement; 42P05 if a named one exists.
    pub async fn parse(&mut self, name: &str, text: &str, parameter_types: &[Oid]) -> Result<()> {
        if !name.is_empty() && self.statements.contains_key(name) {
            return Err(PgError::new(
                SqlState::DUPLICATE_PREPARED_STATEMENT,
                format!("prepared statement \"{name}\" already exists"),
            ));
        }
        // the old unnamed statement is lost even if this one cannot be prepared
        if name.is_empty() {
            self.statements.remove(name);
        }
        let statements = self.parse_text(text)?;
        self.tell_truncated(text);
        if statements.len() > 1 {
            return Err(PgError::new(
                SqlState::SYNTAX_ERROR,
                "cannot insert multiple commands into a prepared statement",
            ));
        }
        let raw = statements.first().cloned();
        let (prepared, view) = match &raw {
            Some(raw) => {
                self.check_not_failed(&raw.node)?;
                self.begin_statement().await?;
                let (prepared, view) = self.plan(raw, parameter_types)?;
                (Some(prepared), view)
            }
            None => (None, self.view()),
        };
        let statement = Statement {
            text: text.into(),
            from_sql: false,
            created: if name.is_empty() { 0 } else { transaction::clock() },
            executions: 0,
            given: parameter_types.to_vec(),
            raw,
            prepared,
            view,
        };
        self.statements.insert(name.to_string(), statement);
        Ok(())
    }

    /// The statement's plan, made anew if the catalog or the search path changed since.
    fn current_plan(&mut self, name: &str) -> Result<Option<Arc<Prepared>>> {
        let missing = || {
            PgError::new(
                SqlState::INVALID_SQL_STATEMENT_NAME,
                if name.is_empty() {
                    "unnamed prepared statement does not exist".to_string()
                } else {
                    format!("prepared statement \"{name}\" does not exist")
                },
            )
        };
        let statement = self.statements.get(name).ok_or_else(missing)?;
        if self.view().plans_as(&statement.view) {
            return Ok(statement.prepared.clone());
        }
        let Some(raw) = statement.raw.clone() else { return Ok(None) };
        let given = statement.given.clone();
        let old = statement.prepared.clone();
        let (new, view) = self.plan(&raw, &given)?;
        if let Some(old) = old {
            if !same_result(&old.columns, &new.columns) {
                return Err(result_type_changed());
            }
        }
        if let Some(statement) = self.statements.get_mut(name) {
            (statement.prepared, statement.view) = (Some(new.clone()), view);
        }
        Ok(Some(new))
    }

    pub async fn describe_statement(&mut self, name: &str) -> Result<StatementDescription> {
        let plan = self.current_plan(name)?;
        Ok(match plan {
            Some(p) => StatementDescription { parameters: p.parameters.clone(), columns: p.columns.clone() },
            None => StatementDescription { parameters: vec![], columns: None },
        })
    }

    /// Bind: decodes the parameters by the statement's types. `formats`/`result_formats` as in the protocol (0, 1 or n).
    pub async fn bind(
        &mut self,
        portal: &str,
        statement: &str,
        formats: &[Format],
        values: &[Option<&[u8]>],
        result_formats: &[Format],
    ) -> Result<()> {
        let prepared = self.current_plan(statement)?;
        if let Some(p) = &prepared {
            self.check_not_failed(&p.statement.node)?;
        }
        if !portal.is_empty() && self.portals.contains_key(portal) {
            return Err(PgError::new(SqlState::DUPLICATE_CURSOR, format!("cursor \"{portal}\" already exists")));
        }
        if portal.is_empty() {
            self.drop_portal("");
        }
        let wanted = prepared.as_ref().map_or(0, |p| p.parameters.len());
        if values.len() != wanted {
            return Err(PgError::new(
                SqlState::PROTOCOL_VIOLATION,
                format!(
                    "bind message supplies {} parameters, but prepared statement \"{statement}\" requires {wanted}",
                    values.len()
                ),
            ));
        }
        if formats.len() > 1 && formats.len() != values.len() {
            return Err(PgError::new(
                SqlState::PROTOCOL_VIOLATION,
                format!("bind message has {} parameter formats but {} parameters", formats.len(), values.len()),
            ));
        }
        let parameters = self.read_parameters(portal, prepared.as_deref(), formats, values)?;
        let columns = prepared.as_ref().and_then(|p| p.columns.as_ref().map(|c| c.len())).unwrap_or(0);
        if result_formats.len() > 1 && result_formats.len() != columns {
            return Err(PgError::new(
                SqlState::PROTOCOL_VIOLATION,
                format!("bind message has {} result formats but query has {columns} columns", result_formats.len()),
            ));
        }
        let formats = match result_formats {
            [] => vec![Format::Text; columns],
            [one] => vec![*one; columns],
            many => many.to_vec(),
        };
        if let Some(statement) = self.statements.get_mut(statement) {
            statement.executions += 1;
            self.source = statement.text.clone();
        }
        let mut bound = Portal::new(prepared, parameters, formats);
        bound.depth = self.transaction.savepoints.len();
        self.start_if_constant(&mut bound).await?;
        self.portals.insert(portal.to_string(), bound);
        Ok(())
    }

    /// The parameters' values, decoded by the statement's types.
    fn read_parameters(
        &self,
        portal: &str,
        prepared: Option<&Prepared>,
        formats: &[Format],
        values: &[Option<&[u8]>],
    ) -> Result<Vec<Datum>> {
        let view = self.view();
        let context = Context { settings: &self.gucs.typed, names: &*view };
        let mut parameters = Vec::with_capacity(values.len());
        for (i, value) in values.iter().enumerate() {
            let ty = prepared.map_or(0, |p| p.parameters[i]);
            let Some(bytes) = value else {
                parameters.push(Datum::Null);
                continue;
            };
            let codec =
                view.catalog.codec(ty).ok_or_else(|| PgError::not_supported(format!("a parameter of type {ty}")))?;
            let format = match formats {
                [] => Format::Text,
                [one] => *one,
                many => many[i],
            };
            // an input function's error also shows that there was a text, but (as PostgreSQL by default) not which
            let mut shown = "";
            let datum = match format {
                Format::Text => pgsqlite_types::text::decode_utf8(bytes).and_then(|text| {
                    shown = if text.is_empty() { " = ''" } else { " = '...'" };
                    codec.text_in(text, -1, &context)
                }),
                Format::Binary => codec.binary_in(bytes, -1, &context),
            };
            parameters.push(datum.map_err(|e| {
                let place =
                    if portal.is_empty() { "unnamed portal".to_string() } else { format!("portal \"{portal}\"") };
                e.context(format!("{place} parameter ${}{shown}", i + 1))
            })?);
        }
        Ok(parameters)
    }

    /// The portal's columns (None: no rows) and, per column, its format.
    pub fn describe_portal(&self, portal: &str) -> Result<Option<(Arc<[OutputColumn]>, Vec<Format>)>> {
        let found = self.portals.get(portal).ok_or_else(|| self.no_portal(portal))?;
        Ok(found.columns().map(|c| (c, found.formats.clone())))
    }

    /// Execute, also to go on after `Suspended` or `Paused`. `max_rows` 0: all.
    pub async fn execute(&mut self, portal: &str, max_rows: u64, sink: &mut dyn RowSink) -> Result<Execution> {
        let Some(mut taken) = self.portals.remove(portal) else { return Err(self.no_portal(portal)) };
        self.begin_running();
        let result = if taken.ran_once() {
            let message = format!("portal \"{portal}\" cannot be run");
            Err(PgError::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message))
        } else {
            self.run_portal(&mut taken, max_rows, sink).await
        };
        // a pause, or COPY's data: the statement still runs
        if !matches!(result, Ok(Execution::Paused | Execution::CopyIn { .. })) {
            self.end_running();
        }
        match &result {
            Err(_) => self.close(taken),
            Ok(_) => {
                self.portals.insert(portal.to_string(), taken);
            }
        }
        result
    }

    /// In a failed block the portals of before are closed, but what is said of them is that the block has failed.
    fn no_portal(&self, portal: &str) -> PgError {
        match self.transaction.block {
            transaction::Block::Failed => transaction::failed_block(),
            _ => PgError::new(SqlState::INVALID_CURSOR_NAME, format!("portal \"{portal}\" does not exist")),
        }
    }

    /// The text behind a portal; None: there is none.
    pub fn portal_source(&self, portal: &str) -> Option<StatementSource> {
        self.portals.get(portal)?.source()
    }

    /// The text behind a prepared statement; None: there is none.
    pub fn statement_source(&self, statement: &str) -> Option<StatementSource> {
        self.statements.get(statement)?.prepared.clone().map(StatementSource)
    }

    pub fn close_statement(&mut self, name: &str) -> Result<()> {
        self.statements.remove(name);
        Ok(())
    }

    pub fn close_portal(&mut self, name: &str) -> Result<()> {
        self.drop_portal(name);
        Ok(())
    }

    /// A statement begins: cancel requests count, statement_timeout runs. Again after a pause: it goes on.
    fn begin_running(&mut self) {
        self.cancel.begin();
        let timeout = self.gucs.statement_timeout;
        if timeout > 0 && self.timer.is_none() {
            let cancel = self.cancel.clone();
            self.timer = Some(tokio::spawn(async move {
                tokio::time::sleep(std::time::Duration::from_millis(timeout)).await;
                cancel.time_out();
            }));
        }
    }

    fn end_running(&mut self) {
        self.cancel.end();
        if let Some(timer) = self.timer.take() {
            timer.abort();
        }
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
        let least = rank(self.gucs.get("client_min_messages").as_deref().unwrap_or("notice"));
        let mut notices = std::mem::take(&mut self.notices);
        notices.retain(|n| match n.fields().severity {
            Severity::Info => true,
            Severity::Warning => least <= rank("warning"),
            Severity::Notice => least <= rank("notice"),
            Severity::Log => least <= rank("log"),
            Severity::Debug => least <= rank("debug1"),
            Severity::Error | Severity::Fatal | Severity::Panic => true,
        });
        notices
    }

    fn warn(&mut self, code: SqlState, message: impl Into<String>) {
        self.notices.push(PgError::new(code, message).severity(Severity::Warning));
    }

    /// Reported settings (GUC_REPORT) whose value changed since the last call; on a new session: all of them.
    pub fn take_parameter_changes(&mut self) -> Vec<(String, String)> {
        let mut changes = Vec::new();
        if self.reported_version == self.gucs.version() {
            return changes;
        }
        self.reported_version = self.gucs.version();
        for name in guc::REPORTED {
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

    /// Resolves when something needs the session's attention while the client is silent (a notification). Err: the session
    /// must end with this error: it was terminated, or idle for longer than its settings allow.
    pub async fn wait_event(&mut self) -> Result<()> {
        let (setting, code, message) = if self.transaction_status() == TransactionStatus::Idle {
            (
                "idle_session_timeout",
                SqlState::IDLE_SESSION_TIMEOUT,
                "terminating connection due to idle-session timeout",
            )
        } else {
            (
                "idle_in_transaction_session_timeout",
                SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
                "terminating connection due to idle-in-transaction timeout",
            )
        };
        let limit = self.gucs.milliseconds(setting);
        let idle = async {
            match limit {
                0 => std::future::pending().await,
                limit => tokio::time::sleep(std::time::Duration::from_millis(limit)).await,
            }
        };
        let pending = self.transaction_status() == TransactionStatus::Idle && !self.server.mailbox.is_empty();
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
            return Err(cancel::terminated());
        }
        Ok(())
    }

    pub fn cancel_handle(&self) -> CancelHandle {
        self.cancel.clone()
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
        self.server.close();
        self.abandon_copy();
        self.end_running();
        let portals: Vec<Portal> = self.portals.drain().map(|(_, p)| p).collect();
        for portal in portals {
            self.close(portal);
        }
        if let Some(connection) = self.connection.take() {
            // an open transaction is rolled back; a connection that cannot be cleaned is closed
            let clean = connection.is_autocommit() || connection.exec("ROLLBACK").is_ok();
            if clean && self.engine.config.pooling && !connection.has_temporary() {
                connection.cell.random.set([0, 0]);
                self.engine.idle.put(connection);
            }
        }
    }
}

/// The order of client_min_messages.
fn rank(level: &str) -> usize {
    ["debug5", "debug4", "debug3", "debug2", "debug1", "log", "notice", "warning", "error"]
        .iter()
        .position(|l| *l == level)
        .unwrap_or(0)
}

/// Whether rows of the one can be sent where the other was described. (Which tables the columns come from may change.)
fn same_result(a: &Option<Arc<[OutputColumn]>>, b: &Option<Arc<[OutputColumn]>>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => {
            let shape = |c: &OutputColumn| (c.type_oid, c.typmod);
            a.len() == b.len() && a.iter().zip(&**b).all(|(a, b)| a.name == b.name && shape(a) == shape(b))
        }
        (None, None) => true,
        _ => false,
    }
}

/// Clients know by the routine that preparing the statement again will do.
fn result_type_changed() -> PgError {
    PgError::new(SqlState::FEATURE_NOT_SUPPORTED, "cached plan must not change result type")
        .routine("RevalidateCachedQuery")
}

/// The type modifier a domain (or one it is made of) sets; -1: none.
fn domain_typmod(catalog: &Catalog, domain: Oid) -> i32 {
    match catalog.types.get(&domain).map(|t| &t.kind) {
        Some(pgsqlite_sql::catalog::UserTypeKind::Domain { base, typmod, .. }) if *typmod < 0 => {
            domain_typmod(catalog, *base)
        }
        Some(pgsqlite_sql::catalog::UserTypeKind::Domain { typmod, .. }) => *typmod,
        _ => pgsqlite_types::catalog::domain_typmod(domain),
    }
}

/// RowDescription's view of a plan's columns.
fn output_columns(catalog: &Catalog, columns: &[PlanColumn]) -> Result<Arc<[OutputColumn]>> {
    columns
        .iter()
        .map(|c| {
            let codec = catalog
                .codec(c.type_oid)
                .ok_or_else(|| PgError::not_supported(format!("a result of type {}", c.type_oid)))?;
            // a domain's values travel as its base type's
            let shown = catalog.base_type(c.type_oid);
            let type_len = pgsqlite_types::catalog::by_oid(shown).map_or(
                if catalog.types.contains_key(&shown) && matches!(codec, pgsqlite_types::codec::TypeCodec::Enum(_)) {
                    4
                } else {
                    -1
                },
                |t| t.len,
            );
            Ok(OutputColumn {
                name: c.name.clone(),
                type_oid: shown,
                type_len,
                typmod: if shown == c.type_oid { c.typmod } else { domain_typmod(catalog, c.type_oid) },
                table_oid: c.table_oid,
                attnum: c.attnum,
                codec,
            })
        })
        .collect::<Result<Vec<_>>>()
        .map(Into::into)
}
