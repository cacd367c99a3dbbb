//! Statements that are not queries: SET, SHOW, BEGIN, PREPARE, DECLARE, EXPLAIN … and DDL (pgsqlite_objects::ddl).

use crate::plans::{Body, Prepared};
use crate::routine::HasRoutines;
use crate::session::context::SessionContext;
use crate::session::execution::portal::{OwnRow, Portal};
use crate::session::executor::Executor;
use crate::session::explain::Explain;
use crate::session::protocol::rebinding::Given;
use crate::session::{give_notices, Execution, Flow, Format, OutputColumn, RowSink, Session, Statement};
use pgsqlite_natives::settings::rights::Permit;
use pgsqlite_natives::statistics::progress::Command;
use pgsqlite_natives::udf::session_cell::SequenceSource;
use pgsqlite_natives::udf::session_cell::ServerFunctions;
use pgsqlite_objects::ddl;
use pgsqlite_sql::parse::{ast, NodeEnum, RawStatement};
use pgsqlite_storage::vfs::open::counted;
use pgsqlite_types::codec::TypeCodec;
use pgsqlite_types::{oid, Datum, Oid, PgError, Result, SqlState};
use std::sync::Arc;

/// A result column of text.
fn text_column(name: &str) -> OutputColumn {
    OutputColumn {
        name: name.into(),
        type_oid: oid::TEXT,
        type_len: -1,
        typmod: -1,
        table_oid: 0,
        attnum: 0,
        codec: TypeCodec::Text,
    }
}

impl SessionContext {
    // --- DDL -----------------------------------------------------------------------------------------------------------------

    /// What PostgreSQL refuses inside a transaction block, and how it names it.
    fn check_outside_block(&mut self, node: &NodeEnum) -> Result<()> {
        let what = match node {
            NodeEnum::CreatedbStmt(_) => "CREATE DATABASE",
            NodeEnum::DropdbStmt(_) => "DROP DATABASE",
            NodeEnum::IndexStmt(s) if s.concurrent => "CREATE INDEX CONCURRENTLY",
            NodeEnum::DropStmt(s) if s.concurrent => "DROP INDEX CONCURRENTLY",
            // what is stored in another file does not end with this transaction
            NodeEnum::AlterDatabaseSetStmt(s)
                if self.engine.config.databases.is_some() && !self.catalog().is_database(&s.dbname) =>
            {
                if self.transaction.block().is_block() || self.transaction.block().is_pipeline() {
                    return Err(PgError::not_supported("ALTER DATABASE of another database in a transaction block"));
                }
                return Ok(());
            }
            _ => return Ok(()),
        };
        self.need_no_block(what)
    }

    // --- settings --------------------------------------------------------------------------------------------------------------

    fn set_statement(&mut self, s: &ast::VariableSetStmt) -> Result<String> {
        use ast::VariableSetKind as K;
        let kind = K::try_from(s.kind).map_err(|_| PgError::internal("unknown kind of SET"))?;
        if s.is_local && !self.transaction.block().is_block() {
            self.warn(SqlState::NO_ACTIVE_SQL_TRANSACTION, "SET LOCAL can only be used in transaction blocks");
        }
        match kind {
            K::VarSetValue => {
                let value = self.set_value(&s.name, &s.args)?;
                self.set_setting(&s.name, Some(&value), s.is_local)?;
                Ok("SET".into())
            }
            K::VarSetDefault => {
                self.set_setting(&s.name, None, s.is_local)?;
                Ok("SET".into())
            }
            K::VarReset => {
                self.set_setting(&s.name, None, false)?;
                Ok("RESET".into())
            }
            K::VarResetAll => {
                self.reset_all()?;
                Ok("RESET".into())
            }
            K::VarSetCurrent => Err(PgError::not_supported("SET … FROM CURRENT")),
            K::VarSetMulti => {
                match s.name.as_str() {
                    "TRANSACTION" => {
                        if !self.transaction.block().is_block() {
                            self.warn(
                                SqlState::NO_ACTIVE_SQL_TRANSACTION,
                                "SET TRANSACTION can only be used in transaction blocks",
                            );
                        }
                        self.transaction_options(&s.args)?;
                    }
                    "SESSION CHARACTERISTICS" => self.session_characteristics(&s.args)?,
                    other => return Err(PgError::not_supported(format!("SET {other}"))),
                }
                Ok("SET".into())
            }
            K::Undefined => Err(PgError::internal("undefined kind of SET")),
        }
    }

    /// RESET ALL: the settings as at the session's beginning, but for those that are the transaction's, and the session's identity.
    fn reset_all(&mut self) -> Result<()> {
        self.transaction.note_settings(&self.gucs);
        let kept = self.characteristics();
        let identity = ["session_authorization", "role"].map(|name| (name, self.gucs.kept(name)));
        let now = self.gucs.typed.transaction_timestamp;
        self.gucs = self.initial.clone();
        self.gucs.touch();
        for (name, value) in identity {
            self.gucs.set(name, value.as_deref(), Permit::put_back())?;
        }
        self.refresh_superuser();
        self.gucs.typed.transaction_timestamp = now;
        self.transaction
            .note_settings(&self.gucs)
            .local
            .retain(|name, _| pgsqlite_natives::settings::OF_TRANSACTION.contains(&name.as_str()));
        if self.transaction_status() != crate::session::TransactionStatus::Idle {
            for (name, value) in kept {
                self.gucs.set(name, Some(&value), Permit::put_back())?;
            }
        }
        Ok(())
    }

    /// The text of SET's value list.
    fn set_value(&self, name: &str, args: &[ast::Node]) -> Result<String> {
        pgsqlite_natives::settings::values::of_statement(name, args, |zone| self.zone_interval(zone))
    }

    /// SET TIME ZONE INTERVAL '…': hours east of Greenwich.
    fn zone_interval(&self, c: &ast::TypeCast) -> Result<String> {
        let text = match c.arg.as_ref().and_then(|a| a.node.as_ref()) {
            Some(NodeEnum::AConst(ast::AConst { val: Some(ast::a_const::Val::Sval(s)), .. })) => &s.sval,
            _ => return Err(PgError::internal("the time zone's interval")),
        };
        let name = c.type_name.as_ref().ok_or_else(|| PgError::internal("an interval without its type"))?;
        let view = self.view();
        let (_, typmod) = self.with_environment(&view, |e| pgsqlite_sql::analyze::resolve_type_name(e, name))?;
        let value = self.with_context(|context| TypeCodec::Interval.text_in(text, typmod, context))?;
        let Datum::Text(stored) = &value else { return Err(PgError::internal("an interval's storage")) };
        let interval = pgsqlite_types::datetime::Interval::from_storage(stored)
            .ok_or_else(|| PgError::internal("an interval's storage"))?;
        let mut shown = Vec::new();
        self.with_context(|context| TypeCodec::Interval.text_out(value.as_ref(), context, &mut shown))?;
        let shown = String::from_utf8_lossy(&shown);
        let refuse = |detail: &str| {
            let message = format!("invalid value for parameter \"TimeZone\": \"INTERVAL '{shown}'\"");
            Err(PgError::new(SqlState::INVALID_PARAMETER_VALUE, message).detail(detail))
        };
        if interval.months != 0 {
            return refuse("Cannot specify months in time zone interval.");
        }
        if interval.days != 0 {
            return refuse("Cannot specify days in time zone interval.");
        }
        if interval.micros.unsigned_abs() >= 168 * 3_600_000_000 {
            return refuse("UTC timezone offset is out of range.");
        }
        Ok(format!("{}", interval.micros as f64 / 3_600_000_000.0))
    }

    fn show(&mut self, s: &ast::VariableShowStmt, prepared: &Prepared, sink: &mut dyn RowSink) -> Result<()> {
        let columns = prepared.columns.as_ref().ok_or_else(|| PgError::internal("SHOW without columns"))?;
        if s.name.eq_ignore_ascii_case("all") {
            sink.columns(columns)?;
            let catalog = self.catalog();
            let role = self.user_oid(&catalog);
            let mut names: Vec<&String> = pgsqlite_natives::settings::definitions()
                .keys()
                .filter(|n| pgsqlite_natives::settings::may_examine(&catalog, role, n))
                .collect();
            names.sort();
            for name in names {
                let value = self.gucs.get(name).unwrap_or_default();
                let shown = pgsqlite_natives::settings::definitions()[name].name;
                self.give(sink, vec![shown.into(), value.into(), Datum::Text(String::new())])?;
            }
            return Ok(());
        }
        let value = match s.name.as_str() {
            "transaction_isolation" => self.gucs.get("transaction_isolation"),
            name => self.gucs.get(name),
        };
        let value = value.ok_or_else(|| pgsqlite_natives::settings::Gucs::unknown(&s.name))?;
        let catalog = self.catalog();
        pgsqlite_natives::settings::check_may_examine(&catalog, self.user_oid(&catalog), &s.name)?;
        sink.columns(columns)?;
        self.give(sink, vec![value.into()])
    }

    /// A row of our own making; the sink's buffer takes it even when it would rather pause (they are few and short).
    pub(in crate::session) fn give(&self, sink: &mut dyn RowSink, row: Vec<Datum>) -> Result<()> {
        let row = OwnRow(row);
        match self.with_context(|context| sink.row(&row, context))? {
            Flow::Continue | Flow::Pause => Ok(()),
        }
    }

    /// The analyzer speaks of an expression and a column where PostgreSQL speaks of EXECUTE's parameter.
    fn argument_error(&self, mut error: PgError, number: usize, ty: Oid) -> PgError {
        let message = error.message();
        let new = if let Some(given) = message
            .rsplit_once(" but expression is of type ")
            .filter(|_| message.starts_with("column \"\" is of type "))
        {
            let expected = self.with_context(|c| c.names.reg_name(oid::REGTYPE, ty)).unwrap_or_default();
            format!("parameter ${number} of type {} cannot be coerced to the expected type {expected}", given.1)
        } else if message.starts_with("cannot use ") && message.ends_with(" in this expression") {
            message.replace(" in this expression", " in EXECUTE parameter")
        } else {
            message.replace(" in this expression", " in EXECUTE parameters")
        };
        error.fields_mut().message = new;
        error
    }
}

impl Executor {
    /// Gives what functions have raised until now, if the sink takes notices before the answer's end.
    pub(in crate::session) fn give_notices(&mut self, sink: &mut dyn RowSink) -> Result<()> {
        let connection = self.connection.as_ref().ok_or_else(|| PgError::internal("no connection"))?;
        give_notices(&connection.cell, &mut self.context.notices, &self.context.gucs, sink);
        Ok(())
    }

    /// After SET: `SET seed` calls `setseed`.
    fn seed_random(&mut self, s: &ast::VariableSetStmt) -> Result<()> {
        if ast::VariableSetKind::try_from(s.kind) != Ok(ast::VariableSetKind::VarSetValue) {
            return Ok(());
        }
        let value = self.context.set_value(&s.name, &s.args)?;
        if let Some(seed) = pgsqlite_natives::settings::seed_of(&s.name, &value) {
            let state = pgsqlite_natives::udf::seeded(seed);
            match &self.connection {
                Some(connection) => connection.cell.random.set(state),
                None => self.random = state,
            }
        }
        Ok(())
    }

    /// Drops the session's temporary objects, inside the transaction's rules.
    async fn drop_temporary(&mut self) -> Result<()> {
        let catalog = self.context.catalog();
        if !catalog.relations.values().any(|r| r.temporary) && catalog.temporary_routines().next().is_none() {
            return Ok(());
        }
        self.settle_portals();
        self.begin_slot(false).await?;
        let connection = self.connection()?;
        let names: Vec<String> = connection
            .rusqlite()
            .prepare(
                "SELECT name FROM temp.sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'",
            )
            .and_then(|mut s| s.query_map([], |r| r.get(0))?.collect())
            .map_err(|_| connection.error())?;
        for name in names {
            connection.exec(&format!("DROP TABLE temp.{}", pgsqlite_sql::names::quoted(&name)))?;
        }
        let mut without = self.context.catalog().shared();
        without.epoch = pgsqlite_metadata::counter::next_number();
        self.context.transaction.set_catalog(Some(Arc::new(without)));
        if let Some(connection) = &mut self.connection {
            connection.clear_cache();
        }
        Ok(())
    }

    /// The values of EXECUTE's arguments.
    pub(in crate::session) fn execute_arguments(
        &mut self,
        e: &ast::ExecuteStmt,
        prepared: &Prepared,
    ) -> Result<Vec<Datum>> {
        // (PostgreSQL does not look at arguments of a statement without parameters)
        if prepared.parameters.is_empty() {
            return Ok(Vec::new());
        }
        if e.params.len() != prepared.parameters.len() {
            return Err(PgError::new(
                SqlState::SYNTAX_ERROR,
                format!("wrong number of parameters for prepared statement \"{}\"", e.name),
            )
            .detail(format!(
                "Expected {} parameters but got {}.",
                prepared.parameters.len(),
                e.params.len()
            )));
        }
        let mut values = Vec::new();
        for (i, (node, &ty)) in e.params.iter().zip(&prepared.parameters).enumerate() {
            values.push(self.evaluate(node, ty).map_err(|e| self.context.argument_error(e, i + 1, ty))?);
        }
        Ok(values)
    }

    /// A constant expression's value, as an assignment to `ty`.
    fn evaluate(&mut self, node: &ast::Node, ty: Oid) -> Result<Datum> {
        let view = self.context.view();
        let sql = self.context.with_environment(&view, |environment| {
            let expr = pgsqlite_sql::analyze::analyze_expression_node(environment, node, None, Some((ty, -1)))?;
            pgsqlite_sql::lower::lower_expression(environment, &expr, None)
        })?;
        let connection = self.connection.as_mut().ok_or_else(|| PgError::internal("no connection"))?;
        let text = format!("SELECT {sql}");
        let mut statement = connection.prepare(&text)?;
        let result = connection.step(&mut statement).map(|_| statement.column(0).to_owned());
        connection.release(&text, statement);
        result
    }
}

impl Session {
    /// The columns a statement that is no query gives back; None: no rows.
    pub(in crate::session) fn utility_columns(&mut self, node: &NodeEnum) -> Result<Option<Arc<[OutputColumn]>>> {
        Ok(match node {
            NodeEnum::VariableShowStmt(s) if s.name.eq_ignore_ascii_case("all") => {
                Some(vec![text_column("name"), text_column("setting"), text_column("description")].into())
            }
            NodeEnum::VariableShowStmt(s) => {
                if self.executor.context.gucs.get(&s.name).is_none() {
                    return Err(pgsqlite_natives::settings::Gucs::unknown(&s.name));
                }
                let shown = pgsqlite_natives::settings::definitions()
                    .get(&s.name.to_ascii_lowercase())
                    .map_or(s.name.as_str(), |d| d.name);
                Some(vec![text_column(shown)].into())
            }
            NodeEnum::ExplainStmt(e) => {
                let type_oid = crate::session::explain::result_type(e)?;
                Some(vec![OutputColumn { type_oid, ..text_column("QUERY PLAN") }].into())
            }
            NodeEnum::ExecuteStmt(e) => {
                // (one that is not there is an error of the execution)
                if !self.statements.contains_key(&e.name) {
                    return Ok(None);
                }
                let plan = match self.named_plan(&e.name) {
                    Ok(plan) => plan,
                    // (where there are no columns to describe, so is that it does not fit any more)
                    Err(error) => match self.statements.get(&e.name).and_then(|s| s.prepared.as_ref()) {
                        Some(before) if before.columns.is_none() => None,
                        _ => return Err(error),
                    },
                };
                plan.and_then(|p| p.columns.clone())
            }
            NodeEnum::FetchStmt(f) if !f.ismove => {
                self.executor.portals.get(&f.portalname).and_then(|portal| portal.columns())
            }
            _ => None,
        })
    }

    pub(in crate::session) async fn run_utility(
        &mut self,
        prepared: &Arc<Prepared>,
        portal: &mut Portal,
        sink: &mut dyn RowSink,
    ) -> Result<Execution> {
        self.carry_out(prepared, portal, sink).await.map_err(|e| match e.is_refusal() {
            // of a statement, or of a part whose place is not known
            true => e.at(pgsqlite_sql::command::start(&prepared.statement)),
            false => e,
        })
    }

    async fn carry_out(
        &mut self,
        prepared: &Arc<Prepared>,
        portal: &mut Portal,
        sink: &mut dyn RowSink,
    ) -> Result<Execution> {
        let raw = &prepared.statement;
        self.executor.context.check_during_recovery(&raw.node)?;
        self.executor.context.wait_for_place_of(&raw.node).await?;
        if let NodeEnum::FetchStmt(f) = &raw.node {
            return Box::pin(self.fetch(f, sink)).await;
        }
        if let NodeEnum::ExecuteStmt(e) = &raw.node {
            return self.execute_prepared(e, sink).await;
        }
        if let NodeEnum::CopyStmt(c) = &raw.node {
            return crate::session::copy::copy(self, c, raw, sink).await;
        }
        if let NodeEnum::TransactionStmt(t) = &raw.node {
            self.executor.begin_statement().await?;
            return Ok(Execution::Complete(self.executor.transaction_statement(t).await?));
        }
        self.executor.begin_whole().await?;
        self.executor.context.note_utility(&raw.node)?;
        let tag = match &raw.node {
            NodeEnum::VariableSetStmt(s) => {
                let tag = self.executor.context.set_statement(s)?;
                self.executor.seed_random(s)?;
                tag
            }
            NodeEnum::VariableShowStmt(s) => {
                self.executor.context.show(s, prepared, sink)?;
                "SHOW".into()
            }
            NodeEnum::PrepareStmt(p) => self.prepare_statement(p, raw).await?,
            NodeEnum::DeallocateStmt(d) => {
                if d.name.is_empty() {
                    self.statements.retain(|name, _| name.is_empty());
                    "DEALLOCATE ALL".into()
                } else {
                    if self.statements.remove(&d.name).is_none() {
                        return Err(PgError::new(
                            SqlState::INVALID_SQL_STATEMENT_NAME,
                            format!("prepared statement \"{}\" does not exist", d.name),
                        ));
                    }
                    "DEALLOCATE".into()
                }
            }
            NodeEnum::DeclareCursorStmt(d) => self.declare(d, prepared, &portal.parameters).await?,
            NodeEnum::ClosePortalStmt(c) => self.executor.close_cursor(&c.portalname)?,
            NodeEnum::ListenStmt(l) => {
                self.executor.context.server.pending.lock().listen(&l.conditionname)?;
                "LISTEN".into()
            }
            NodeEnum::UnlistenStmt(u) => {
                let mut pending = self.executor.context.server.pending.lock();
                match u.conditionname.as_str() {
                    "" => pending.unlisten_all()?,
                    channel => pending.unlisten(channel)?,
                }
                "UNLISTEN".into()
            }
            NodeEnum::NotifyStmt(n) => {
                if n.payload.len() >= pgsqlite_natives::udf::session_cell::PAYLOAD {
                    return Err(PgError::new(SqlState::INVALID_PARAMETER_VALUE, "payload string too long"));
                }
                self.executor.context.server.pending.lock().notify(&n.conditionname, &n.payload)?;
                "NOTIFY".into()
            }
            NodeEnum::DiscardStmt(d) => self.discard(d).await?,
            NodeEnum::ExplainStmt(e) => {
                Explain::read(e, prepared, &portal.parameters)?.run(self, sink).await?;
                "EXPLAIN".into()
            }
            NodeEnum::ConstraintsSetStmt(s) => self.executor.set_constraints(s)?,
            NodeEnum::DoStmt(d) => self.do_statement(d, raw).await?,
            NodeEnum::CallStmt(c) => {
                let columns = prepared.columns.as_ref();
                self.call_statement(c, columns, &prepared.parameters, &portal.parameters, sink).await?
            }
            NodeEnum::LockStmt(l) => self.executor.lock_table(l).await?,
            NodeEnum::CheckPointStmt(_) => self.executor.checkpoint()?,
            NodeEnum::VacuumStmt(v) => self.vacuum_statement(v, raw).await?,
            NodeEnum::ReindexStmt(r) => self.reindex(r, raw).await?,
            NodeEnum::AlterTableStmt(s) if crate::session::transaction::detaching::is_concurrent(s) => {
                self.detach_concurrently(s, raw).await?
            }
            node if ddl::handles(node) => self.run_ddl(raw, &prepared.parameters, &portal.parameters).await?,
            other => return Err(PgError::not_supported(pgsqlite_sql::command::name(other))),
        };
        Ok(Execution::Complete(tag))
    }

    /// The query and the parameters of CREATE TABLE AS EXECUTE.
    fn executed_query(&mut self, e: &ast::ExecuteStmt) -> Result<(ast::SelectStmt, Vec<Oid>, Vec<Datum>)> {
        let plan = self.plan_to_execute(e)?;
        let Some((plan, NodeEnum::SelectStmt(select))) = plan.as_ref().map(|p| (p, &p.statement.node)) else {
            return Err(PgError::new(SqlState::WRONG_OBJECT_TYPE, "prepared statement is not a SELECT"));
        };
        let (select, types) = ((**select).clone(), plan.parameters.clone());
        let values = self.executor.execute_arguments(e, plan)?;
        Ok((select, types, values))
    }

    /// `types` and `values`: of the statement's parameters.
    async fn run_ddl(&mut self, raw: &RawStatement, types: &[Oid], values: &[Datum]) -> Result<String> {
        let mut parameters = (types.to_vec(), values.to_vec());
        let mut executed = None;
        if let NodeEnum::CreateTableAsStmt(c) = &raw.node {
            if let Some(NodeEnum::ExecuteStmt(e)) = c.query.as_ref().and_then(|q| q.node.as_ref()) {
                // its arguments are read when nobody can change the schema any more
                self.begin_ddl(raw).await?;
                let (select, types, values) = self.executed_query(e)?;
                parameters = (types, values);
                executed = Some(select);
            }
        }
        self.run_ddl_on(raw, &[], parameters, executed.as_ref()).await
    }

    /// `tables`: what a REINDEX was found to mean; `parameters` and `executed`: the query of a CREATE TABLE AS.
    pub(in crate::session) async fn run_ddl_on(
        &mut self,
        raw: &RawStatement,
        tables: &[Oid],
        parameters: (Vec<Oid>, Vec<Datum>),
        executed: Option<&ast::SelectStmt>,
    ) -> Result<String> {
        self.executor.context.check_outside_block(&raw.node)?;
        let private = executed.is_none() && tables.is_empty() && self.begin_private_ddl(raw).await?;
        if !private {
            self.begin_ddl(raw).await?;
        }
        self.executor.check_no_pending_keys(&raw.node)?;
        let view = self.executor.context.view();
        self.executor.connection()?.exec("SAVEPOINT pg_statement")?;
        self.executor.connection()?.expect_temporary();
        if !private {
            // what DDL finds of sequences is where they stand, not what a crash would leave
            self.executor.context.sequences.settle(self.executor.connection()?.rusqlite())?;
        }
        let cell = &self.executor.connection()?.cell;
        let show_catalog = |catalog: Arc<pgsqlite_sql::catalog::Catalog>| {
            self.executor.context.sequences.own.lock().catalog = catalog.clone();
            cell.update(|state| {
                state.names = Arc::new(view.over(catalog.clone()));
                state.catalog = catalog;
                state.stamp = 0;
            });
        };
        let as_owner = |owner: Oid, run: &mut dyn FnMut()| cell.as_owner(owner, run);
        let host = crate::routine::Host { cell, db: self.executor.connection()?.handle() };
        let fire_truncate = |told: Vec<PgError>,
                             relation: &Arc<pgsqlite_sql::catalog::Relation>,
                             timing: pgsqlite_sql::routine::Timing| {
            told.into_iter().for_each(|notice| host.cell.notice(notice));
            self.executor.tell_access();
            crate::routine::firing::fire_truncate(host, relation, timing)
        };
        let interrupt = self.executor.connection()?.interrupt_handle();
        let connection = self.executor.connection()?.rusqlite();
        let builds = matches!(raw.node, NodeEnum::IndexStmt(_) | NodeEnum::AlterTableStmt(_));
        let shown = builds.then(|| self.executor.context.show_progress(Command::CreateIndex, 0));
        let session = ddl::DdlSession {
            busy: vec![],
            pending: crate::routine::after::pending_tables(host),
            notices: Default::default(),
            show_catalog: Some(&show_catalog),
            as_owner: Some(&as_owner),
            fire_truncate: Some(&fire_truncate),
            tables,
            session_role: self.executor.context.gucs.session_role(),
            database: self.executor.context.database(),
            databases: self.executor.context.engine.config.databases.as_ref().map(|d| &*d.0),
            parameters,
            executed,
            skip_bodies: !self.executor.context.gucs.is_on("check_function_bodies"),
            private,
            progress: shown.as_ref().map(|shown| &*shown.progress),
        };
        // what the statement itself takes of sequences is told apart from what the transaction took before
        let before = std::mem::take(&mut self.executor.context.sequences.own.lock().dirty);
        let outcome = self.executor.context.with_environment(&view, |environment| {
            self.executor.context.cancel.work(crate::session::execution::work::Begins::Apart, Some(interrupt), || {
                let run = || ddl::execute(connection, &view.catalog, environment, raw, &session);
                let outcome = match &shown {
                    Some(shown) => counted(&shown.progress.steps, run),
                    None => run(),
                };
                // what a native raised while DDL's own statements ran; within the work, which knows the request behind a 57014
                outcome.map_err(|e| host.cell.take_error().unwrap_or(e))
            })
        });
        let used = {
            let mut own = self.executor.context.sequences.own.lock();
            let used = own.dirty.clone();
            own.dirty.extend(before);
            used
        };
        let before_failure = session.notices.take();
        let told = self.executor.connection()?.cell.take_notices();
        self.executor.context.notices.extend(told);
        self.executor.context.notices.extend(before_failure);
        let outcome = match outcome {
            Ok(outcome) => outcome,
            Err(e) => {
                let connection = self.executor.connection()?;
                // the triggers of a TRUNCATE have made nothing that stays
                connection.cell.routines().changed.take();
                if !connection.is_autocommit() {
                    connection.exec("ROLLBACK TO pg_statement; RELEASE pg_statement")?;
                }
                return Err(e);
            }
        };
        self.executor.connection()?.exec("RELEASE pg_statement")?;
        self.executor.context.notices.extend(outcome.notices);
        {
            // states that the statement stored are read from this transaction, not from what others see
            // (what the statement took of a new sequence stays taken)
            for &sequence in outcome.sequences.iter().filter(|s| !used.contains(s)) {
                let stored = match private {
                    true => None,
                    false => {
                        pgsqlite_metadata::store::sequence_state(self.executor.connection()?.rusqlite(), sequence)?
                    }
                };
                let mut sequences = self.executor.context.engine.sequences.lock();
                let before = match stored {
                    Some((last, called)) => sequences.insert(sequence, crate::sequence_state::State::at(last, called)),
                    None => sequences.remove(&sequence),
                };
                self.executor.context.transaction.savepoints_mut().restarts(sequence, before);
            }
        }
        if private {
            self.executor.check_private()?;
        }
        if let Some(new) = outcome.catalog.as_ref().filter(|_| private) {
            self.executor.keep_temporary(new);
        } else if let Some(mut new) = outcome.catalog {
            Arc::make_mut(&mut new).epoch = pgsqlite_metadata::counter::next_number();
            self.executor.context.transaction.set_catalog(Some(new));
            if let Some(connection) = &mut self.executor.connection {
                connection.clear_cache();
            }
        }
        if let (NodeEnum::TruncateStmt(_), true) =
            (&raw.node, self.executor.context.transaction.has_positioned_cursors())
        {
            self.executor.connection()?.written().note_all_deleted();
        }
        if let NodeEnum::TruncateStmt(t) = &raw.node {
            for node in &t.relations {
                if let Some(NodeEnum::RangeVar(r)) = &node.node {
                    let table = self.executor.context.copy_relation(r)?.oid;
                    self.executor.context.transaction.savepoints_mut().empties(table);
                }
            }
        }
        Ok(outcome.tag)
    }

    async fn discard(&mut self, d: &ast::DiscardStmt) -> Result<String> {
        use ast::DiscardMode as M;
        match M::try_from(d.target) {
            Ok(M::DiscardAll) => {
                self.executor.context.need_no_block("DISCARD ALL")?;
                self.executor.close_cursor("")?;
                self.statements.clear();
                self.executor.context.server.pending.lock().unlisten_all()?;
                self.executor.context.server.advisory_unlock_all()?;
                self.executor.context.sequences.discard();
                self.executor.context.gucs = self.executor.context.initial.clone();
                self.executor.context.gucs.touch();
                self.executor.context.refresh_superuser();
                self.executor.drop_temporary().await?;
                Ok("DISCARD ALL".into())
            }
            Ok(M::DiscardPlans) => Ok("DISCARD PLANS".into()),
            Ok(M::DiscardSequences) => {
                self.executor.context.sequences.discard();
                Ok("DISCARD SEQUENCES".into())
            }
            Ok(M::DiscardTemp) => {
                self.executor.drop_temporary().await?;
                Ok("DISCARD TEMP".into())
            }
            _ => Err(PgError::internal("unknown DISCARD")),
        }
    }

    // --- PREPARE, EXECUTE ----------------------------------------------------------------------------------------------------------

    async fn prepare_statement(&mut self, p: &ast::PrepareStmt, raw: &RawStatement) -> Result<String> {
        let query = p
            .query
            .as_ref()
            .and_then(|q| q.node.clone())
            .ok_or_else(|| PgError::internal("PREPARE without a query"))?;
        let view = self.executor.context.view();
        let mut types: Vec<Oid> = Vec::new();
        for node in &p.argtypes {
            let Some(NodeEnum::TypeName(name)) = &node.node else {
                return Err(PgError::internal("type name expected"));
            };
            let (ty, _) =
                self.executor.context.with_environment(&view, |e| pgsqlite_sql::analyze::resolve_type_name(e, name))?;
            types.push(ty);
        }
        let inner = Arc::new(raw.within(query, "prepared"));
        let (prepared, view, denied) = self.plan_or_describe(&inner, &types)?;
        if matches!(prepared.body, Body::Utility) {
            return Err(PgError::new(SqlState::SYNTAX_ERROR, "utility statements cannot be prepared"));
        }
        if self.statements.contains_key(&p.name) {
            return Err(PgError::new(
                SqlState::DUPLICATE_PREPARED_STATEMENT,
                format!("prepared statement \"{}\" already exists", p.name),
            ));
        }
        let statement = Statement {
            text: self.executor.context.source.clone(),
            from_sql: true,
            created: pgsqlite_metadata::clock::now(),
            executions: 0,
            types: prepared.parameters.clone(),
            raw: Some(inner),
            prepared: Some(prepared),
            view,
            denied,
        };
        self.statements.insert(p.name.clone(), statement);
        Ok("PREPARE".into())
    }

    async fn execute_prepared(&mut self, e: &ast::ExecuteStmt, sink: &mut dyn RowSink) -> Result<Execution> {
        const EXECUTE: &str = "\0execute";
        if !self.executor.portals.contains_key(EXECUTE) {
            // (the protocol has prepared one without a statement in it)
            let planned = self.named_plan(&e.name);
            if matches!(planned, Ok(None)) {
                return Ok(Execution::Complete("EXECUTE".into()));
            }
            self.executor.begin_statement().await?;
            let prepared = match planned {
                Ok(prepared) => prepared,
                Err(_) => self.plan_to_execute(e)?,
            };
            let Some(prepared) = prepared else { return Ok(Execution::Complete("EXECUTE".into())) };
            let values = self.executor.execute_arguments(e, &prepared)?;
            if let Some(statement) = self.statements.get_mut(&e.name) {
                statement.executions += 1;
            }
            let formats = vec![Format::Text; prepared.columns.as_ref().map_or(0, |c| c.len())];
            let of_catalog = crate::session::protocol::rebinding::has_types_of_catalog(&prepared);
            let mut portal = Portal::new(Some(prepared), values, formats);
            if of_catalog {
                portal.given = Given::Arguments(Box::new(e.clone()));
            }
            self.executor.portals.insert(EXECUTE.into(), portal);
        }
        let mut portal = self.executor.portals.remove(EXECUTE).ok_or_else(|| PgError::internal("EXECUTE portal"))?;
        // the tag is the inner statement's
        let result = Box::pin(self.run_portal(&mut portal, 0, sink))
            .await
            .map_err(|error| self.located_in_prepare(&e.name, error));
        match &result {
            Ok(Execution::Paused) => {
                self.executor.portals.insert(EXECUTE.into(), portal);
            }
            _ => self.executor.close(portal),
        }
        result
    }

    /// The plan that EXECUTE names.
    pub(in crate::session) fn named_plan(&mut self, name: &str) -> Result<Option<Arc<Prepared>>> {
        self.current_plan(name).map_err(|error| self.located_in_prepare(name, error))
    }

    /// As [`Session::named_plan`], of what EXECUTE runs next. Errors: first those of the arguments, then those of a statement that does not fit
    /// any more, as in PostgreSQL.
    pub(in crate::session) fn plan_to_execute(&mut self, e: &ast::ExecuteStmt) -> Result<Option<Arc<Prepared>>> {
        let planned = self.named_plan(&e.name);
        if planned.is_err() {
            if let Some(before) = self.statements.get(&e.name).and_then(|s| s.prepared.clone()) {
                self.executor.execute_arguments(e, &before)?;
            }
        }
        planned
    }

    /// An error of a prepared statement that EXECUTE names: its position counts in the string that had PREPARE.
    fn located_in_prepare(&self, name: &str, error: PgError) -> PgError {
        match self.statements.get(name) {
            Some(statement) => error.located_in(|| statement.text.clone()),
            None => error.without_position(),
        }
    }
}
