//! Running the steps of a plan: those before its rows, the rows, and what follows them.

use crate::connection::{Connection, RawStatement, Step};
use crate::session::execution::portal::{copied, tag, OwnRow, Portal, State};
use crate::session::execution::spool::{Keep, Spooled};
use crate::session::executor::Executor;
use crate::session::{give_notices, Execution, Flow, RowSink};
use pgsqlite_sql::plan::{QueryPlan, StepOutput, Tag};
use pgsqlite_types::codec::Context;
use pgsqlite_types::{Datum, PgError, Result};

impl Executor {
    /// Runs (or goes on with) the steps of a plan.
    pub(in crate::session) fn run_plan(
        &mut self,
        portal: &mut Portal,
        plan: &QueryPlan,
        epoch: u64,
        max_rows: u64,
        sink: &mut dyn RowSink,
    ) -> Result<Execution> {
        if matches!(portal.state, State::New) {
            self.defer_for_functions(plan)?;
        }
        if matches!(portal.state, State::New) && plan.steps.len() > 1 {
            self.defer_between_steps(plan)?;
            self.connection()?.exec("SAVEPOINT pg_statement")?;
            portal.savepoint = true;
        }
        let result = self.run_steps(portal, plan, epoch, max_rows, sink);
        if portal.savepoint {
            match &result {
                Ok(Execution::Paused) => {}
                // its changes are made: they must not hang on whether the client takes all rows
                Ok(Execution::Suspended) => {
                    self.read_ahead(portal);
                    portal.savepoint = false;
                    self.end_savepoint(true)?;
                }
                _ => {
                    portal.savepoint = false;
                    self.end_savepoint(result.is_ok())?;
                }
            }
        } else if (plan.writes || plan.calls_writers) && matches!(result, Ok(Execution::Suspended)) {
            self.read_ahead(portal);
        }
        result
    }

    pub(in crate::session) fn run_steps(
        &mut self,
        portal: &mut Portal,
        plan: &QueryPlan,
        epoch: u64,
        max_rows: u64,
        sink: &mut dyn RowSink,
    ) -> Result<Execution> {
        if let (State::New, Some(triggered)) = (&portal.state, &plan.triggered) {
            return self.run_triggered(portal, plan, triggered, max_rows, sink);
        }
        if let (State::New, Some(rewritten)) = (&portal.state, &plan.rewritten) {
            return self.run_rewritten(portal, plan, rewritten, max_rows, sink);
        }
        if matches!(portal.state, State::New) {
            let mut first = 0;
            if plan.has_steps_by_rows() {
                let connection = self.connection()?;
                let host = crate::routine::Host { cell: &connection.cell, db: connection.handle() };
                let done = crate::routine::statement::run_by_rows(host, &plan.steps, &portal.parameters)?;
                if done.steps == plan.steps.len() {
                    return self.give_done(portal, plan, done.count, done.shown, max_rows, sink);
                }
                first = done.steps;
            }
            if let Some(done) = self.start_from(first, portal, plan, epoch, sink)? {
                return Ok(done);
            }
            if self.heeding.is_some() || plan.locks_rows {
                // no row is told before all rows are known to be free, and no more are locked than now
                self.read_ahead(portal);
                if !portal.changed {
                    portal.take_error()?;
                }
                self.check_touched()?;
            }
        }
        self.give_rows(portal, plan.tag, max_rows, sink)
    }

    /// The rows of a data modification that is done.
    pub(in crate::session) fn give_done(
        &mut self,
        portal: &mut Portal,
        plan: &QueryPlan,
        count: u64,
        rows: Vec<Vec<Datum>>,
        max_rows: u64,
        sink: &mut dyn RowSink,
    ) -> Result<Execution> {
        self.check_touched()?;
        let Some(columns) = portal.prepared.as_ref().and_then(|p| p.columns.clone()) else {
            return Ok(Execution::Complete(tag(plan.tag, count)));
        };
        self.give_notices(sink)?;
        sink.columns(&columns)?;
        rows.into_iter().for_each(|row| portal.spool.push(row.into_boxed_slice()));
        portal.state = State::Exhausted;
        self.give_rows(portal, plan.tag, max_rows, sink)
    }

    /// A data modification that fires triggers: RETURNING's rows come when all of it is done.
    pub(in crate::session) fn run_triggered(
        &mut self,
        portal: &mut Portal,
        plan: &QueryPlan,
        triggered: &pgsqlite_sql::plan::Triggered,
        max_rows: u64,
        sink: &mut dyn RowSink,
    ) -> Result<Execution> {
        let connection = self.connection()?;
        let host = crate::routine::Host { cell: &connection.cell, db: connection.handle() };
        let mut rows = Vec::new();
        let count = crate::routine::trigger::run(host, triggered, &portal.parameters, &mut |row| {
            rows.push(row);
            Ok(true)
        })?;
        self.give_done(portal, plan, count, rows, max_rows, sink)
    }

    /// What rules have made of a statement. The rows of their SELECTs go to clients of the simple protocol, which take any number of
    /// results, and to nobody else.
    pub(in crate::session) fn run_rewritten(
        &mut self,
        portal: &mut Portal,
        plan: &QueryPlan,
        rewritten: &pgsqlite_sql::plan::RewrittenPlan,
        max_rows: u64,
        sink: &mut dyn RowSink,
    ) -> Result<Execution> {
        let connection = self.connection()?;
        let host = crate::routine::Host { cell: &connection.cell, db: connection.handle() };
        let given = crate::routine::rewritten::run(host, rewritten, &portal.parameters)?;
        if sink.takes_rows_aside() {
            let view = self.context.view();
            let context = Context { settings: &self.context.gucs.typed, names: &*view };
            for aside in given.aside {
                sink.columns(&crate::session::execution::planning::output_columns(&view.catalog, &aside.columns)?)?;
                for row in aside.rows {
                    sink.row(&OwnRow(row), &context)?;
                }
            }
        }
        self.give_done(portal, plan, given.count, given.rows, max_rows, sink)
    }

    /// Runs the steps before the one that gives rows, and prepares that. Some: there are no rows to give.
    pub(in crate::session) fn start(
        &mut self,
        portal: &mut Portal,
        plan: &QueryPlan,
        epoch: u64,
        sink: &mut dyn RowSink,
    ) -> Result<Option<Execution>> {
        self.start_from(0, portal, plan, epoch, sink)
    }

    /// The same from step number `first`.
    pub(in crate::session) fn start_from(
        &mut self,
        first: usize,
        portal: &mut Portal,
        plan: &QueryPlan,
        epoch: u64,
        sink: &mut dyn RowSink,
    ) -> Result<Option<Execution>> {
        let mut affected = 0;
        let last = plan.steps.len() - 1;
        let gathered = match &plan.gather {
            Some(gather) => self.gather(portal, gather)?.then_some(gather),
            None => None,
        };
        for (i, step) in plan.steps.iter().enumerate().skip(first) {
            let connection =
                portal.own.as_mut().or(self.connection.as_mut()).ok_or_else(|| PgError::internal("no connection"))?;
            let mut sql = gathered.map_or(&step.sql, |gather| &gather.sql);
            if let Some(two) = &plan.read_back {
                let mut insert = connection.prepare(&two.insert)?;
                // SAFETY: the portal owns the values in a box and outlives the statement's execution.
                let bound = unsafe { connection.bind_all(&mut insert, &portal.parameters) };
                let inserted = bound.and_then(|()| connection.step(&mut insert));
                connection.release(&two.insert, insert);
                inserted?;
                sql = &two.row;
            }
            let prepared = connection.prepare_or_find(sql);
            let (mut statement, fresh) = match prepared {
                Ok(found) => found,
                // a column may be gone that the plan names
                Err(e) if plan.modifies.is_empty() && !plan.calls_writers && i == 0 => match self.is_stale(epoch)? {
                    true => {
                        portal.state = State::Stale;
                        return Ok(Some(Execution::Empty));
                    }
                    false => return Err(e),
                },
                Err(e) => return Err(e),
            };
            let connection =
                portal.own.as_mut().or(self.connection.as_mut()).ok_or_else(|| PgError::internal("no connection"))?;
            // SAFETY: the portal owns the values in a box and outlives the statement's execution.
            unsafe { connection.bind_all(&mut statement, &portal.parameters)? };
            if i == last && step.output == StepOutput::Rows {
                // of a data modification SQLite makes all changes in the first step
                let first = connection.step(&mut statement);
                let suspect = fresh || first.is_err() || statement.was_prepared_anew();
                if plan.modifies.is_empty() && !plan.calls_writers && suspect && self.is_stale(epoch)? {
                    portal.state = State::Stale;
                    return Ok(Some(Execution::Empty));
                }
                // the keys that are due now are looked at before the first row is told
                let first = match first {
                    Ok(step) if !plan.modifies.is_empty() => self.check_constraints(Some(plan.tag)).map(|()| step),
                    other => other,
                };
                // the columns of a data modification are told when it has not failed, and after what its functions have raised
                if first.is_ok() || plan.modifies.is_empty() {
                    if !plan.modifies.is_empty() {
                        self.give_notices(sink)?;
                    }
                    if let Some(columns) = portal.prepared.as_ref().and_then(|p| p.columns.as_ref()) {
                        sink.columns(columns)?;
                    }
                }
                let row_waiting = first.as_ref().is_ok_and(|s| *s == Step::Row);
                portal.state = State::Running { statement, sql: sql.clone(), row_waiting };
                if !row_waiting {
                    self.stop_reading(portal, State::Exhausted);
                    first?;
                    return Ok(Some(Execution::Complete(tag(plan.tag, 0))));
                }
                return Ok(None);
            }
            let told = connection.written().deleted();
            let reported = connection.recorder().reported();
            let result = run_to_end(connection, &mut statement, &step.output);
            let changed = connection.changes();
            if plan.tag == Tag::Delete && connection.written().deleted() - told < changed {
                connection.written().note_all_deleted();
            }
            if step.deletes {
                connection.recorder().expect(reported, changed);
            }
            connection.release(&step.sql, statement);
            result?;
            if step.counts {
                affected += changed;
            }
        }
        Ok(Some(Execution::Complete(tag(plan.tag, affected))))
    }

    /// Whether the schema is no longer the one that a plan was made for.
    pub(in crate::session) fn is_stale(&self, epoch: u64) -> Result<bool> {
        self.refresh_catalog()?;
        Ok(self.context.catalog().epoch != epoch)
    }

    /// Gives up to `max_rows` rows (0: all) from where the portal stands. The tag counts those of this call (and of the calls
    /// that were paused before it).
    pub(in crate::session) fn give_rows(
        &mut self,
        portal: &mut Portal,
        plan_tag: Tag,
        max_rows: u64,
        sink: &mut dyn RowSink,
    ) -> Result<Execution> {
        let view = self.context.view();
        let context = Context { settings: &self.context.gucs.typed, names: &*view };
        let mut given = std::mem::take(&mut portal.paused);
        let outcome = loop {
            if max_rows > 0 && given == max_rows {
                break Ok(Execution::Suspended);
            }
            let next = portal.position + 1;
            let passed_over = match portal.spool.get(next) {
                Some(row) if self.context.may_pass_over(&portal.cursor_position) => {
                    self.passes_over(&portal.cursor_position, row)
                }
                _ => Ok(false),
            };
            match passed_over {
                Ok(false) => {}
                Ok(true) => {
                    portal.spool.remove(next);
                    continue;
                }
                Err(e) => break Err(e),
            }
            let flow = if let Some(row) = portal.spool.get(next) {
                sink.row(&Spooled(row), &context)
            } else {
                let State::Running { statement, row_waiting, .. } = &mut portal.state else {
                    if let State::Broken(e) = &portal.state {
                        break Err(e.clone());
                    }
                    portal.position = portal.spool.end() + 1;
                    break Ok(Execution::Complete(tag(plan_tag, given)));
                };
                let Some(connection) = portal.own.as_ref().or(self.connection.as_ref()) else {
                    break Err(PgError::internal("no connection"));
                };
                let step = if std::mem::take(row_waiting) { Ok(Step::Row) } else { connection.step(statement) };
                match step {
                    Ok(Step::Row) => {
                        // a row is copied for this only where the cursor locks rows
                        if self.context.may_pass_over(&portal.cursor_position) {
                            match self.passes_over(&portal.cursor_position, &copied(statement)) {
                                Ok(false) => {}
                                Ok(true) => continue,
                                Err(e) => break Err(e),
                            }
                        }
                        if portal.spool.keep == Keep::Nothing {
                            portal.spool.pass();
                        } else {
                            portal.spool.push(copied(statement));
                        }
                        // what its functions have raised comes before the row, as in PostgreSQL
                        if connection.cell.has_notices() {
                            give_notices(&connection.cell, &mut self.context.notices, &self.context.gucs, sink);
                        }
                        sink.row(statement, &context)
                    }
                    Ok(Step::Done) => {
                        self.stop_reading(portal, State::Exhausted);
                        portal.position = portal.spool.end() + 1;
                        break Ok(Execution::Complete(tag(plan_tag, given)));
                    }
                    Err(e) => break Err(e),
                }
            };
            portal.position = next;
            portal.spool.passed(next);
            match flow {
                Ok(flow) => {
                    given += 1;
                    if flow == Flow::Pause {
                        portal.paused = given;
                        break Ok(Execution::Paused);
                    }
                }
                Err(e) => break Err(e),
            }
        };
        if let Err(e) = &outcome {
            self.stop_reading(portal, State::Broken(e.clone()));
        }
        outcome
    }
}

/// Steps a statement whose rows (if any) go to a table of the statement's own.
pub(in crate::session) fn run_to_end(
    connection: &Connection,
    statement: &mut RawStatement,
    output: &StepOutput,
) -> Result<()> {
    match output {
        StepOutput::Materialize { table, columns } => {
            let mut rows: Vec<Vec<Datum>> = Vec::new();
            while connection.step(statement)? == Step::Row {
                rows.push((0..*columns).map(|i| statement.column(i).to_owned()).collect());
            }
            let host = crate::routine::Host { cell: &connection.cell, db: connection.handle() };
            crate::routine::statement::materialize(host, table, *columns, rows)
        }
        StepOutput::None | StepOutput::Rows => {
            while connection.step(statement)? == Step::Row {}
            Ok(())
        }
    }
}
