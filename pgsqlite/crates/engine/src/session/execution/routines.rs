//! DO and CALL, and what the functions that a statement calls tell the session.

use crate::routine::plpgsql::Program;
use crate::routine::HasRoutines;
use crate::routine::{statement::Planned, Access, Ender, Host, Outcome};
use crate::session::context::SessionContext;
use crate::session::execution::unshared::Unshared;
use crate::session::execution::work::Begins;
use crate::session::executor::Executor;
use crate::session::{OutputColumn, RowSink, Session};
use pgsqlite_natives::settings::Often;
use pgsqlite_sql::analyze::inline::analyze_call;
use pgsqlite_sql::effects;
use pgsqlite_sql::parse::{ast, NodeEnum};
use pgsqlite_sql::routine::Function;
use pgsqlite_types::{record, Datum, Oid, PgError, Result, SqlState};
use std::sync::Arc;

/// The stack of a body that has a thread of its own.
const BODY_STACK: usize = 16 << 20;

impl SessionContext {
    /// The settings that are the characteristics of a transaction without BEGIN: as they were when it began.
    pub(in crate::session) fn implicit_characteristics(&self) -> &Often {
        &self.transaction.settings_before().unwrap_or(&self.gucs).often
    }

    /// Whether the transaction (or the statement outside one) may only read.
    pub(in crate::session) fn is_read_only(&self) -> bool {
        self.transaction.is_read_only()
            || !self.transaction.block().is_explicit()
                && (self.implicit_characteristics().default_transaction_read_only || self.gucs.often.in_hot_standby)
    }

    /// Whether a body that COMMITs outside a transaction block ends a transaction.
    fn is_outside_block(&self) -> bool {
        !self.transaction.block().is_block()
    }

    /// The columns that CALL gives: the procedure's OUT parameters; and the types of the statement's parameters.
    pub(in crate::session) fn call_columns(
        &mut self,
        call: &ast::CallStmt,
        given: &[Oid],
        view: &crate::session::execution::catalog_view::View,
    ) -> Result<(Option<Arc<[OutputColumn]>>, Vec<Oid>)> {
        let call = call.funccall.as_deref().ok_or_else(|| PgError::internal("CALL of nothing"))?;
        let (procedure, _, parameters) = self.with_environment(view, |e| analyze_call(e, call, None, given))?;
        let f = view.catalog.function(procedure).ok_or_else(|| PgError::cache_lookup_failed("function", procedure))?;
        let mut columns = Vec::new();
        for (i, argument) in f.arguments.iter().filter(|a| a.mode.is_output()).enumerate() {
            let codec = view
                .catalog
                .codec(argument.type_oid)
                .ok_or_else(|| PgError::not_supported("an OUT parameter of this type"))?;
            let name = if argument.name.is_empty() { format!("column{}", i + 1) } else { argument.name.clone() };
            columns.push(OutputColumn {
                name,
                type_oid: argument.type_oid,
                type_len: pgsqlite_types::catalog::by_oid(argument.type_oid).map_or(-1, |t| t.len),
                typmod: -1,
                table_oid: 0,
                attnum: 0,
                codec,
            });
        }
        Ok(((!columns.is_empty()).then(|| columns.into()), parameters))
    }
}

impl Executor {
    /// Tells the functions of the leased connection what they may do to data.
    pub(in crate::session) fn tell_access(&self) {
        let Some(connection) = &self.connection else { return };
        let access = if self.context.is_read_only() {
            Access::ReadOnly
        } else if self.context.transaction.may_write() {
            Access::Write
        } else {
            Access::Read
        };
        self.context.observation.activity.set_writes(self.context.transaction.is_writer());
        self.tell_cursor_names();
        connection.cell.routines().access.set(access);
        let mut modes = connection.cell.routines().modes.borrow_mut();
        if *modes != *self.context.transaction.constraints() {
            modes.clone_from(self.context.transaction.constraints());
        }
    }

    /// After an error: DDL inside functions is undone, and the catalog that it made is nobody's.
    pub(in crate::session) fn forget_routine_changes(&self) {
        if let Some(connection) = &self.connection {
            connection.cell.routines().changed.take();
        }
    }

    /// After a statement: the catalog as DDL inside functions has left it.
    pub(in crate::session) fn take_routine_changes(&mut self) -> Result<()> {
        let Some(connection) = &self.connection else { return Ok(()) };
        let Some((catalog, sequences)) = connection.cell.routines().changed.take() else { return Ok(()) };
        {
            let mut known = self.context.engine.sequences.lock();
            for sequence in sequences {
                match pgsqlite_metadata::store::sequence_state(connection.rusqlite(), sequence)? {
                    Some((last, called)) => known.insert(sequence, crate::sequence_state::State::at(last, called)),
                    None => known.remove(&sequence),
                };
            }
        }
        self.context.transaction.set_catalog(Some(catalog));
        if let Some(connection) = &mut self.connection {
            connection.clear_cache();
        }
        Ok(())
    }

    /// Runs a body that may end the transaction and begin another one. It has a thread of its own, so that the session can do that
    /// meanwhile: the body waits. `writes`: as the statement began its transaction.
    fn on_routines_with_transactions<R>(&mut self, writes: bool, run: impl FnOnce(Host) -> Result<R>) -> Result<R> {
        let connection = self.connection()?;
        let (cell, db) = (connection.cell.clone(), connection.handle());
        self.context.cancel.arm(connection.interrupt_handle())?;
        let cancel = self.context.cancel.clone();
        self.tell_access();
        let (request, requests) = std::sync::mpsc::channel();
        let (answers, done) = std::sync::mpsc::channel();
        cell.routines().may_end_transaction.set(true);
        cell.routines().set_ender(Some(Ender { request, done }));
        self.keeps_connection = true;
        // SAFETY: the body's thread is the only one that uses the connection, its cell and what `run` refers to until it has ended or waits
        // for an answer; this one waits for its requests and its end.
        let body = unsafe { Unshared::new((cell, db, run)) };
        let result = pgsqlite_storage::apart::apart(|| {
            let runtime = tokio::runtime::Handle::current();
            let of_body = runtime.clone();
            std::thread::scope(|scope| {
                let started = std::thread::Builder::new().stack_size(BODY_STACK).spawn_scoped(scope, move || {
                    let (cell, db, run) = body.into_inner();
                    let _entered = of_body.enter();
                    // (a panic of the body, too, ends the session's waiting for requests)
                    let _leaves = LeavesEnder(&cell);
                    let result = cancel.work_for(|| run(Host { cell: &cell, db }));
                    // SAFETY: this thread ends with it.
                    unsafe { Unshared::new(result) }
                });
                let thread = started
                    .map_err(|e| PgError::no_resources(format!("could not start a thread for a function: {e}")))?;
                while let Ok(commit) = requests.recv() {
                    let ended = runtime.block_on(self.end_in_body(commit, writes));
                    if answers.send(ended).is_err() {
                        break;
                    }
                }
                thread.join().map_err(|_| PgError::internal("a body has broken down"))?.into_inner()
            })
        });
        self.keeps_connection = false;
        if let Some(connection) = &self.connection {
            connection.cell.routines().set_ender(None);
            connection.cell.routines().may_end_transaction.set(false);
        }
        self.context.cancel.disarm();
        if result.is_err() {
            self.connection()?.cell.routines().changed.take();
        }
        self.statement_result(result)
    }

    /// COMMIT or ROLLBACK in a body, and the beginning of the next transaction.
    async fn end_in_body(&mut self, commit: bool, writes: bool) -> Result<()> {
        self.context.cancel.disarm();
        match commit {
            true => {
                self.statement_result(Ok(()))?;
                self.commit().await?;
            }
            false => {
                self.connection()?.cell.routines().changed.take();
                self.rollback();
            }
        }
        self.context.transaction.set_started(pgsqlite_metadata::clock::now());
        self.begin_statement().await?;
        if writes && !self.context.is_read_only() {
            loop {
                self.begin_write("CALL", false).await?;
                self.context.note_anything(true)?;
                if !self.let_holder_end(None).await? {
                    break;
                }
            }
        } else {
            self.begin_read()?;
        }
        self.context.transaction.set_queried();
        self.tell_access();
        self.context.cancel.arm(self.connection()?.interrupt_handle())
    }

    /// Runs what steps SQLite in functions, outside of any statement.
    fn on_routines<R>(&mut self, run: impl FnOnce(Host) -> Result<R>) -> Result<R> {
        let connection = self.connection()?;
        self.tell_access();
        let host = Host { cell: &connection.cell, db: connection.handle() };
        host.routines().may_end_transaction.set(self.context.is_outside_block());
        let result = self.context.cancel.work(Begins::Apart, Some(connection.interrupt_handle()), || run(host));
        host.routines().may_end_transaction.set(false);
        if result.is_err() {
            // the transaction is rolled back, and the catalog that functions made with it
            self.connection()?.cell.routines().changed.take();
        }
        self.statement_result(result)
    }
}

impl Session {
    /// Before a body runs: the slot if it may write.
    async fn begin_routine(&mut self, command: &str, writes: bool) -> Result<()> {
        if writes && !self.executor.context.is_read_only() {
            loop {
                self.begin_write_of(command, crate::locks::Mode::RowExclusive, true, None).await?;
                // (what it changes is not known before, and it cannot be begun anew)
                if !self.executor.let_holder_end(None).await? {
                    return Ok(());
                }
            }
        } else {
            self.executor.begin_whole().await?;
            self.executor.context.note_anything(true)?;
            self.executor.begin_read()
        }
    }

    pub(in crate::session) async fn do_statement(
        &mut self,
        statement: &ast::DoStmt,
        raw: &pgsqlite_sql::parse::RawStatement,
    ) -> Result<String> {
        let mut code = None;
        let mut language = "plpgsql".to_string();
        for node in &statement.args {
            let Some(NodeEnum::DefElem(option)) = &node.node else { continue };
            let text = match option.arg.as_ref().and_then(|a| a.node.as_ref()) {
                Some(NodeEnum::String(s)) => s.sval.clone(),
                _ => return Err(PgError::internal("an option of DO without a text")),
            };
            match option.defname.as_str() {
                "as" if code.is_some() => {
                    return Err(
                        PgError::new(SqlState::SYNTAX_ERROR, "conflicting or redundant options").at(option.location)
                    )
                }
                "as" => code = Some(text),
                _ => language = text,
            }
        }
        let code = code.ok_or_else(|| PgError::new(SqlState::SYNTAX_ERROR, "no inline code specified"))?;
        match language.as_str() {
            "plpgsql" => {}
            "sql" | "c" | "internal" => {
                return Err(PgError::new(
                    SqlState::FEATURE_NOT_SUPPORTED,
                    format!("language \"{language}\" does not support inline code execution"),
                ))
            }
            other => {
                return Err(PgError::new(SqlState::UNDEFINED_OBJECT, format!("language \"{other}\" does not exist")))
            }
        }
        let (mut seen, mut program);
        loop {
            seen = self.executor.context.view();
            let compiled = self.executor.on_routines(|host| {
                let program = Program::inline(host, &code).map_err(|e| {
                    pgsqlite_objects::ddl::function_body::body_place(e, &raw.text, raw.offset, &code, false)
                })?;
                let writes = program.may_write(host);
                // SAFETY: it is run on the session's connection, by the thread that runs the session.
                Ok((writes, unsafe { Unshared::new(program) }))
            })?;
            program = compiled;
            self.begin_routine("DO", program.0).await?;
            // what waited for the slot may have changed what the body names
            if self.executor.context.view().catalog.epoch == seen.catalog.epoch {
                break;
            }
            self.executor.begin_statement().await?;
        }
        let (writes, program) = program;
        let ends = self.executor.context.is_outside_block()
            && program.get().may_end_transaction(&self.executor.context.catalog());
        self.executor.context.transaction.set_queried();
        match ends {
            true => self.executor.on_routines_with_transactions(writes, |host| program.get().run_inline(host))?,
            false => self.executor.on_routines(|host| program.get().run_inline(host))?,
        }
        Ok("DO".into())
    }

    pub(in crate::session) async fn call_statement(
        &mut self,
        call: &ast::CallStmt,
        columns: Option<&Arc<[OutputColumn]>>,
        given: &[Oid],
        parameters: &[Datum],
        sink: &mut dyn RowSink,
    ) -> Result<String> {
        let call = call.funccall.as_deref().ok_or_else(|| PgError::internal("CALL of nothing"))?;
        let (mut procedure, mut query, mut types, mut writes);
        loop {
            let view = self.executor.context.view();
            (procedure, query, types) =
                self.executor.context.with_environment(&view, |e| analyze_call(e, call, None, given))?;
            writes = effects::may_write(&view.catalog, procedure);
            self.begin_routine("CALL", writes).await?;
            // what waited for the slot may have changed the procedure
            if self.executor.context.view().catalog.epoch == view.catalog.epoch {
                break;
            }
            self.executor.begin_statement().await?;
        }
        self.executor.context.transaction.set_queried();
        let ends = self.executor.context.is_outside_block()
            && effects::may_end_transaction(&self.executor.context.catalog(), procedure);
        let run = |host: Host| {
            let catalog = host.catalog();
            let f: Function =
                catalog.function(procedure).ok_or_else(|| PgError::cache_lookup_failed("function", procedure))?.clone();
            let planned = Planned::of_query(host, query, types)?;
            let types: Vec<Oid> = planned.columns.as_deref().unwrap_or_default().iter().map(|c| c.ty).collect();
            let args = planned.rows(host, parameters)?.pop().unwrap_or_default();
            match crate::routine::call(host, procedure, &types, f.returns, args)? {
                Outcome::Value(value) => Ok(value),
                Outcome::Rows(_) => Err(PgError::internal("a set from CALL")),
            }
        };
        let returned = match ends {
            true => self.executor.on_routines_with_transactions(writes, run)?,
            false => self.executor.on_routines(run)?,
        };
        if let Some(columns) = columns {
            let values: Vec<Datum> = match &returned {
                Datum::Text(text) => record::from_storage(text)
                    .ok_or_else(|| PgError::corrupted("a stored record is malformed"))?
                    .into_iter()
                    .map(|(_, v)| v)
                    .collect(),
                _ => vec![Datum::Null; columns.len()],
            };
            // what the procedure has raised comes before its values
            self.executor.give_notices(sink)?;
            sink.columns(columns)?;
            self.executor.context.give(sink, values)?;
        }
        Ok("CALL".into())
    }
}

/// Takes the [`Ender`] out of the cell when a body is over, however it ends: the session waits as long as it is there.
struct LeavesEnder<'a>(&'a pgsqlite_natives::udf::SessionCell);

impl Drop for LeavesEnder<'_> {
    fn drop(&mut self) {
        self.0.routines().set_ender(None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Engine;
    use crate::session::execution::portal::Unwanted;
    use crate::session::{EngineConfig, Location, SessionOptions};

    /// A body that panics leaves the session usable and gives the writer slot back.
    #[test]
    fn a_panic_of_a_body_ends_the_wait_for_its_requests() {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let folder = pgsqlite_storage::in_memory::MemoryFolder::new().unwrap();
        let engine = Engine::open(EngineConfig::new(Location::File(folder.file()), "test")).unwrap();
        let new_session = || engine.session(SessionOptions { user: "postgres".into(), ..Default::default() }).unwrap();
        let (mut session, mut other) = (new_session(), new_session());
        runtime.block_on(async {
            session.executor.begin_statement().await.unwrap();
            session.begin_routine("CALL", true).await.unwrap();
            let broken =
                session.executor.on_routines_with_transactions(true, |_| -> Result<()> { panic!("as it is to be") });
            assert_eq!(broken.unwrap_err().code(), SqlState::INTERNAL_ERROR);
            session.failed().await;
            session.sync().await.unwrap();
            for session in [&mut other, &mut session] {
                let mut made = session.script("CREATE TABLE IF NOT EXISTS t (i int)").unwrap();
                session.execute_script(&mut made, &mut Unwanted).await.unwrap();
                session.sync().await.unwrap();
            }
        });
    }
}
