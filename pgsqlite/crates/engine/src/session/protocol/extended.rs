//! The extended protocol: Parse, Bind, Describe, Execute, Close.

use crate::plans::Prepared;
use crate::session::context::SessionContext;
use crate::session::execution::planning::{result_type_changed, same_result};
use crate::session::execution::portal::Portal;
use crate::session::executor::Executor;
use crate::session::protocol::rebinding::Given;
use crate::session::transaction;
use crate::session::{
    BoxFuture, Execution, Format, OutputColumn, RowSink, Session, Statement, StatementDescription, StatementSource,
};
use pgsqlite_sql::parse::ast::TransactionStmtKind;
use pgsqlite_types::codec::{Context, NamesFor, TypeCodec};
use pgsqlite_types::{Datum, Oid, PgError, Result, SqlState};
use std::sync::Arc;

/// An error of a value in binary format that goes on behind its end names the value.
pub(in crate::session) fn incorrect_format_in(mut error: PgError, place: &str) -> PgError {
    let message = &mut error.fields_mut().message;
    if message == "incorrect binary data format" {
        message.push_str(&format!(" in {place}"));
    }
    error
}

impl SessionContext {
    /// The parameters' values, decoded by the statement's types.
    pub(in crate::session) fn read_parameters(
        &self,
        portal: &str,
        prepared: Option<&Prepared>,
        formats: &[Format],
        values: &[Option<&[u8]>],
    ) -> Result<Vec<Datum>> {
        let view = self.view();
        let names = NamesFor { names: &*view, role: Some(view.user) };
        let context = Context { settings: &self.gucs.typed, names: &names };
        let mut parameters = Vec::with_capacity(values.len());
        for (i, value) in values.iter().enumerate() {
            let Some(bytes) = value else {
                parameters.push(Datum::Null);
                continue;
            };
            let codec = prepared.and_then(|p| p.codecs[i].as_ref()).ok_or_else(|| {
                let ty = prepared.map_or(0, |p| p.parameters[i]);
                PgError::not_supported(format!("a parameter of type {ty}"))
            })?;
            let format = match formats {
                [] => Format::Text,
                [one] => *one,
                many => many[i],
            };
            // an input function's error also shows that there was a text, but (as PostgreSQL by default) not which
            let mut shown = "";
            let datum = self.read_value(codec, format, bytes, &context, &mut shown);
            parameters.push(datum.map_err(|e| {
                let e = incorrect_format_in(e, &format!("bind parameter {}", i + 1));
                let place =
                    if portal.is_empty() { "unnamed portal".to_string() } else { format!("portal \"{portal}\"") };
                e.context(format!("{place} parameter ${}{shown}", i + 1))
            })?);
        }
        Ok(parameters)
    }

    /// A value of the client's. `shown`: what an error says of it behind the parameter's name, once its text could be read.
    pub(in crate::session) fn read_value(
        &self,
        codec: &TypeCodec,
        format: Format,
        bytes: &[u8],
        context: &Context,
        shown: &mut &'static str,
    ) -> Result<Datum> {
        let encoding = self.gucs.client_encoding;
        match format {
            Format::Text => encoding.decode(bytes).and_then(|text| {
                *shown = if text.is_empty() { " = ''" } else { " = '...'" };
                codec.text_in(&text, -1, context)
            }),
            Format::Binary if encoding.is_converted() => {
                crate::session::protocol::client_text::binary_to_utf8(encoding, codec, bytes)
                    .and_then(|bytes| codec.binary_in(&bytes, -1, context))
            }
            Format::Binary => codec.binary_in(bytes, -1, context),
        }
    }
}

impl Executor {
    /// As [`Executor::begin_statement`].
    fn begin_to_parse(&mut self) -> BoxFuture<'_, Result<()>> {
        Box::pin(self.begin_statement())
    }

    /// As [`Executor::start_if_constant`].
    fn begin_to_bind<'a>(&'a mut self, portal: &'a mut Portal) -> BoxFuture<'a, Result<()>> {
        Box::pin(self.start_if_constant(portal))
    }

    /// A statement has completed: another one may follow in its transaction, unless it has ended that. Returns whether it has.
    async fn executed(&mut self, command: Option<TransactionStmtKind>) -> Result<bool> {
        use TransactionStmtKind as K;
        if self.context.transaction.ends_with_statement() {
            self.commit().await?;
            return Ok(true);
        }
        if command.is_none() {
            self.context.transaction.block_mut().executed();
        }
        use K::{
            TransStmtCommit, TransStmtCommitPrepared, TransStmtPrepare, TransStmtRollback, TransStmtRollbackPrepared,
        };
        Ok(matches!(
            command,
            Some(
                TransStmtCommit
                    | TransStmtRollback
                    | TransStmtPrepare
                    | TransStmtCommitPrepared
                    | TransStmtRollbackPrepared
            )
        ))
    }

    /// In a failed block the portals of before are closed, but what is said of them is that the block has failed.
    fn no_portal(&self, portal: &str) -> PgError {
        match self.lost_portals.contains_key(portal) {
            true => transaction::failed_block(),
            false => PgError::new(SqlState::INVALID_CURSOR_NAME, format!("portal \"{portal}\" does not exist")),
        }
    }
}

impl Session {
    /// Parse. `name` "" is the unnamed statement; 42P05 if a named one exists.
    pub async fn parse(&mut self, name: &str, text: &str, parameter_types: &[Oid]) -> Result<()> {
        // the old unnamed statement is lost even if this one cannot be prepared
        if name.is_empty() {
            self.statements.remove(name);
        }
        let text: Arc<str> = text.into();
        self.executor.context.begin_observed(text.clone());
        let statements = self.executor.context.parse_text(&text)?;
        self.executor.context.tell_truncated(&text)?;
        if statements.len() > 1 {
            return Err(PgError::new(
                SqlState::SYNTAX_ERROR,
                "cannot insert multiple commands into a prepared statement",
            ));
        }
        let raw = statements.first().cloned();
        let (prepared, view, denied) = match &raw {
            Some(raw) => {
                self.executor.context.check_not_failed(&raw.node)?;
                self.executor.begin_to_parse().await?;
                let (prepared, view, denied) = self.plan_or_describe(raw, parameter_types)?;
                (Some(prepared), view, denied)
            }
            None => (None, self.executor.context.view(), false),
        };
        if self.statements.contains_key(name) {
            return Err(PgError::new(
                SqlState::DUPLICATE_PREPARED_STATEMENT,
                format!("prepared statement \"{name}\" already exists"),
            ));
        }
        let statement = Statement {
            text,
            from_sql: false,
            created: if name.is_empty() { 0 } else { pgsqlite_metadata::clock::now() },
            executions: 0,
            types: prepared.as_ref().map_or(vec![], |p| p.parameters.clone()),
            raw,
            prepared,
            view,
            denied,
        };
        self.statements.insert(name.to_string(), statement);
        Ok(())
    }

    /// The statement's plan, made anew if the catalog or the search path changed since.
    pub(in crate::session) fn current_plan(&mut self, name: &str) -> Result<Option<Arc<Prepared>>> {
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
        self.executor.refresh_catalog()?;
        let statement = self.statements.get(name).ok_or_else(missing)?;
        if !statement.denied && self.executor.context.view().plans_as(&statement.view) {
            return Ok(statement.prepared.clone());
        }
        let Some(raw) = statement.raw.clone() else { return Ok(None) };
        let types = statement.types.clone();
        let old = statement.prepared.clone();
        let (new, view) = self.plan(&raw, &types)?;
        if let Some(old) = old {
            if !same_result(&old.columns, &new.columns) {
                return Err(result_type_changed());
            }
        }
        if let Some(statement) = self.statements.get_mut(name) {
            (statement.prepared, statement.view, statement.denied) = (Some(new.clone()), view, false);
        }
        Ok(Some(new))
    }

    pub async fn describe_statement(&mut self, name: &str) -> Result<StatementDescription> {
        let described = self.statements.get(name).filter(|s| s.denied).and_then(|s| s.prepared.clone());
        let plan = match described {
            None => self.current_plan(name)?,
            // (whether it may run is asked when it is bound)
            described => described,
        };
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
        // what a portal is bound to stays with the session
        pgsqlite_types::memory::check()?;
        let prepared = self.current_plan(statement)?;
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
        if let Some(p) = &prepared {
            self.executor.context.check_not_failed(&p.statement.node)?;
        }
        if portal.is_empty() {
            self.executor.drop_portal("");
            self.executor.lost_portals.remove("");
        } else if self.executor.portals.contains_key(portal) || self.executor.lost_portals.contains_key(portal) {
            return Err(PgError::new(SqlState::DUPLICATE_CURSOR, format!("cursor \"{portal}\" already exists")));
        }
        let parameters = self.executor.context.read_parameters(portal, prepared.as_deref(), formats, values)?;
        let columns = prepared.as_ref().and_then(|p| p.columns.as_ref().map(|c| c.len())).unwrap_or(0);
        if result_formats.len() > 1 && result_formats.len() != columns {
            return Err(PgError::new(
                SqlState::PROTOCOL_VIOLATION,
                format!("bind message has {} result formats but query has {columns} columns", result_formats.len()),
            ));
        }
        let given_formats = formats;
        let formats = match result_formats {
            [] => vec![Format::Text; columns],
            [one] => vec![*one; columns],
            many => many.to_vec(),
        };
        if let Some(statement) = self.statements.get_mut(statement) {
            statement.executions += 1;
            self.executor.context.source = statement.text.clone();
        }
        let of_catalog = prepared.as_deref().is_some_and(crate::session::protocol::rebinding::has_types_of_catalog);
        let mut bound = Portal::new(prepared, parameters, formats);
        if of_catalog {
            let values = values.iter().map(|v| v.map(Into::into)).collect();
            bound.given = Given::Bound { portal: portal.to_string(), formats: given_formats.into(), values };
        }
        bound.depth = self.executor.context.transaction.savepoints().len();
        self.executor.begin_to_bind(&mut bound).await?;
        self.executor.portals.insert(portal.to_string(), bound);
        Ok(())
    }

    /// The portal's columns (None: no rows) and, per column, its format.
    pub fn describe_portal(&self, portal: &str) -> Result<Option<(Arc<[OutputColumn]>, Vec<Format>)>> {
        let executor = &self.executor;
        if executor.lost_portals.get(portal) == Some(&false) {
            return Ok(None);
        }
        let found = executor.portals.get(portal).ok_or_else(|| executor.no_portal(portal))?;
        Ok(found.columns().map(|c| (c, found.formats.clone())))
    }

    /// Execute, also to go on after `Suspended` or `Paused`. `max_rows` 0: all.
    pub fn execute<'a>(
        &'a mut self,
        portal: &'a str,
        max_rows: u64,
        sink: &'a mut dyn RowSink,
    ) -> BoxFuture<'a, Result<Execution>> {
        Box::pin(self.execute_portal(portal, max_rows, sink))
    }

    pub(in crate::session) async fn execute_portal(
        &mut self,
        portal: &str,
        max_rows: u64,
        sink: &mut dyn RowSink,
    ) -> Result<Execution> {
        let Some(mut taken) = self.executor.portals.remove(portal) else { return Err(self.executor.no_portal(portal)) };
        if sink.holds_answers() && taken.is_new() && !taken.reads_few_rows() {
            self.executor.portals.insert(portal.to_string(), taken);
            return Ok(Execution::Paused);
        }
        self.executor.context.begin_running();
        if taken.is_new() && !portal.starts_with('\0') {
            self.log_execution(portal, taken.prepared.as_deref());
        }
        let began = std::time::Instant::now();
        let mut ended = false;
        let mut result = if taken.ran_once() {
            let message = format!("portal \"{portal}\" cannot be run");
            Err(PgError::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message))
        } else {
            self.run_portal(&mut taken, max_rows, sink).await
        };
        if matches!(result, Ok(Execution::Complete(_))) {
            match self.executor.executed(taken.transaction_command()).await {
                Ok(ends) => ended = ends,
                Err(e) => result = Err(e),
            }
        }
        self.observe_execution(portal, &mut taken, began, &result);
        // a pause, or COPY's data: the statement still runs
        if !matches!(result, Ok(Execution::Paused | Execution::CopyIn { .. })) {
            self.executor.context.end_running();
        }
        match &result {
            Err(_) => {
                if self.executor.context.transaction.block().is_explicit() {
                    self.executor.lose_portal(portal, &taken);
                }
                self.executor.close(taken)
            }
            // the end of a transaction ends its portals
            Ok(_) if ended => self.executor.close(taken),
            Ok(_) => {
                self.executor.portals.insert(portal.to_string(), taken);
            }
        }
        result
    }

    /// The text behind a portal; None: there is none.
    pub fn portal_source(&self, portal: &str) -> Option<StatementSource> {
        self.executor.portals.get(portal)?.source()
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
        self.executor.lost_portals.remove(name);
        self.executor.drop_portal(name);
        Ok(())
    }
}
