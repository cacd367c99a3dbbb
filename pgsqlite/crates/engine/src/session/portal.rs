//! Portals: a bound statement and where its execution stands.

use super::plans::{Body, Prepared};
use super::{Execution, Flow, Format, OutputColumn, Row, RowSink, Session};
use crate::connection::{Connection, RawStatement, Step};
use crate::store::names::CatalogNames;
use pgsqlite_sql::plan::{QueryPlan, StepOutput, Tag};
use pgsqlite_types::codec::Context;
use pgsqlite_types::{Datum, DatumRef, PgError, Result, SqlState};
use std::sync::Arc;

/// A bound statement.
pub(super) struct Portal {
    prepared: Option<Arc<Prepared>>,
    /// boxed: SQLite reads bound values in place
    parameters: Box<[Datum]>,
    pub formats: Vec<Format>,
    state: State,
    /// rows given out so far
    rows: u64,
    /// DECLARE … WITH HOLD is refused; cursors of DECLARE end with their transaction
    pub is_cursor: bool,
}

enum State {
    New,
    /// the last step's statement, between rows
    Running {
        statement: RawStatement,
        sql: String,
        row_waiting: bool,
    },
    Done(String),
}

impl Portal {
    pub fn new(prepared: Option<Arc<Prepared>>, parameters: Vec<Datum>, formats: Vec<Format>) -> Portal {
        Portal {
            prepared,
            parameters: parameters.into_boxed_slice(),
            formats,
            state: State::New,
            rows: 0,
            is_cursor: false,
        }
    }

    pub fn columns(&self) -> Option<Arc<[OutputColumn]>> {
        self.prepared.as_ref().and_then(|p| p.columns.clone())
    }
}

impl Row for RawStatement {
    fn value(&self, column: usize) -> DatumRef<'_> {
        self.column(column)
    }
}

/// A row of our own making (SHOW, EXPLAIN …).
pub(super) struct OwnRow(pub Vec<Datum>);

impl Row for OwnRow {
    fn value(&self, column: usize) -> DatumRef<'_> {
        self.0[column].as_ref()
    }
}

impl Session {
    /// Releases what a portal holds.
    pub(super) fn close(&mut self, portal: Portal) {
        if let (State::Running { statement, sql, .. }, Some(connection)) = (portal.state, &mut self.connection) {
            connection.release(&sql, statement);
        }
    }

    pub(super) async fn run_portal(
        &mut self,
        portal: &mut Portal,
        max_rows: u64,
        sink: &mut dyn RowSink,
    ) -> Result<Execution> {
        let Some(mut prepared) = portal.prepared.clone() else { return Ok(Execution::Empty) };
        self.check_not_failed(&prepared.statement.node)?;
        if let State::Done(tag) = &portal.state {
            // executed again after it ended: nothing more comes
            return Ok(Execution::Complete(tag_of_rerun(tag)));
        }
        if matches!((&prepared.body, &portal.state), (Body::Plan(_), State::New)) {
            self.begin_plan(portal, &mut prepared).await?;
            // those of a data modification are told when it has not failed
            let modifies = matches!(&prepared.body, Body::Plan(plan) if !plan.query.modifies.is_empty());
            if let Some(columns) = prepared.columns.as_ref().filter(|_| !modifies) {
                sink.columns(columns)?;
            }
        }
        match &prepared.body {
            Body::Utility => {
                let execution = self.run_utility(&prepared, portal, max_rows, sink).await?;
                if let Execution::Complete(tag) = &execution {
                    portal.state = State::Done(tag.clone());
                }
                Ok(execution)
            }
            Body::Plan(plan) => {
                let timeout = self.start_timeout();
                let query = &plan.query;
                let result = if query.bounded {
                    self.run_plan(portal, query, max_rows, sink)
                } else {
                    tokio::task::block_in_place(|| self.run_plan(portal, query, max_rows, sink))
                };
                self.stop_timeout(timeout);
                let result = result.map_err(|e| self.diagnose(&prepared, &portal.parameters, e));
                let result = self.statement_result(result);
                if let Ok(Execution::Complete(tag)) = &result {
                    portal.state = State::Done(tag.clone());
                }
                result
            }
        }
    }

    /// Takes the first step of a query over constants, so that its errors come before its columns are told.
    pub(super) fn start_constant(&mut self, portal: &mut Portal, plan: &QueryPlan) -> Result<()> {
        let [step] = &plan.steps[..] else { return Ok(()) };
        let connection = self.connection.as_mut().ok_or_else(|| PgError::internal("no connection"))?;
        let mut statement = connection.prepare(&step.sql)?;
        // SAFETY: the portal owns the values in a box and outlives the statement's execution.
        unsafe { connection.bind_all(&mut statement, &portal.parameters)? };
        match connection.step(&mut statement) {
            Ok(Step::Row) => {
                portal.state = State::Running { statement, sql: step.sql.clone(), row_waiting: true };
                Ok(())
            }
            Ok(Step::Done) => {
                connection.release(&step.sql, statement);
                Ok(())
            }
            Err(e) => {
                connection.release(&step.sql, statement);
                Err(e)
            }
        }
    }

    /// In Bind: a query over constants takes its first step, where PostgreSQL would plan (and fold constants).
    pub(super) fn start_if_constant(&mut self, portal: &mut Portal) -> Result<()> {
        let Some(prepared) = portal.prepared.clone() else { return Ok(()) };
        if let Body::Plan(plan) = &prepared.body {
            if plan.query.constant
                && !plan.query.writes
                && self.transaction_status() != super::TransactionStatus::Failed
            {
                self.begin_statement()?;
                self.begin_read()?;
                let result = self.start_constant(portal, &plan.query);
                return self.statement_result(result);
            }
        }
        Ok(())
    }

    /// Makes the session ready to run a plan. A plan that was made before the schema changed is made anew: constraints and
    /// defaults are part of it, so the old one would store what the new schema forbids.
    async fn begin_plan(&mut self, portal: &mut Portal, prepared: &mut Arc<Prepared>) -> Result<()> {
        self.begin_statement()?;
        let Body::Plan(plan) = &prepared.body else { return Err(PgError::internal("not a plan")) };
        if plan.query.writes || plan.query.locks_rows {
            self.begin_write(command(plan.query.tag)).await?;
        } else {
            self.begin_read()?;
        }
        if prepared.epoch != self.catalog().epoch {
            let (new, _, _) = self.plan(&prepared.statement, &prepared.parameters)?;
            if new.columns != prepared.columns || new.parameters != prepared.parameters {
                return Err(PgError::new(SqlState::FEATURE_NOT_SUPPORTED, "cached plan must not change result type"));
            }
            if let Body::Plan(plan) = &new.body {
                if plan.query.writes || plan.query.locks_rows {
                    self.begin_write(command(plan.query.tag)).await?;
                }
            }
            *prepared = new;
            portal.prepared = Some(prepared.clone());
            // natives see the catalog that the new plan was made for
            self.begin_statement()?;
        }
        if let Body::Plan(plan) = &prepared.body {
            if plan.query.constant {
                self.start_constant(portal, &plan.query)?;
            }
        }
        Ok(())
    }

    /// Runs (or goes on with) the steps of a plan.
    fn run_plan(
        &mut self,
        portal: &mut Portal,
        plan: &QueryPlan,
        max_rows: u64,
        sink: &mut dyn RowSink,
    ) -> Result<Execution> {
        let several = plan.steps.len() > 1;
        if matches!(portal.state, State::New) && several {
            self.connection()?.exec("SAVEPOINT pg_statement")?;
        }
        let result = self.run_steps(portal, plan, max_rows, sink);
        if several {
            match &result {
                Ok(Execution::Complete(_)) => self.connection()?.exec("RELEASE pg_statement")?,
                Err(_) => {
                    let connection = self.connection()?;
                    if !connection.is_autocommit() {
                        connection.exec("ROLLBACK TO pg_statement; RELEASE pg_statement")?;
                    }
                }
                Ok(_) => {}
            }
        }
        result
    }

    fn run_steps(
        &mut self,
        portal: &mut Portal,
        plan: &QueryPlan,
        max_rows: u64,
        sink: &mut dyn RowSink,
    ) -> Result<Execution> {
        if matches!(portal.state, State::New) {
            let mut affected = 0;
            let last = plan.steps.len() - 1;
            for (i, step) in plan.steps.iter().enumerate() {
                let connection = self.connection.as_mut().ok_or_else(|| PgError::internal("no connection"))?;
                let mut statement = connection.prepare(&step.sql)?;
                // SAFETY: the portal owns the values in a box and outlives the statement's execution.
                unsafe { connection.bind_all(&mut statement, &portal.parameters)? };
                if i == last && step.output == StepOutput::Rows {
                    let mut row_waiting = false;
                    if !plan.modifies.is_empty() {
                        // SQLite makes all changes in the first step
                        match connection.step(&mut statement) {
                            Ok(first) => row_waiting = first == Step::Row,
                            Err(e) => {
                                connection.release(&step.sql, statement);
                                return Err(e);
                            }
                        }
                        if let Some(columns) = &portal.columns() {
                            sink.columns(columns)?;
                        }
                        if !row_waiting {
                            connection.release(&step.sql, statement);
                            return Ok(Execution::Complete(tag(plan.tag, 0)));
                        }
                    }
                    portal.state = State::Running { statement, sql: step.sql.clone(), row_waiting };
                    break;
                }
                let result = run_to_end(connection, &mut statement, &step.output);
                let changed = connection.changes();
                connection.release(&step.sql, statement);
                result?;
                if step.counts {
                    affected += changed;
                }
                if i == last {
                    return Ok(Execution::Complete(tag(plan.tag, affected)));
                }
            }
        }
        self.give_rows(portal, plan.tag, max_rows, sink)
    }

    fn give_rows(
        &mut self,
        portal: &mut Portal,
        plan_tag: Tag,
        max_rows: u64,
        sink: &mut dyn RowSink,
    ) -> Result<Execution> {
        let catalog = self.catalog();
        let path = self.search_path(&catalog);
        let names = CatalogNames { catalog: &catalog, search_path: &path };
        let context = Context { settings: &self.gucs.typed, names: &names };
        let connection = self.connection.as_mut().ok_or_else(|| PgError::internal("no connection"))?;
        let State::Running { statement, row_waiting, .. } = &mut portal.state else {
            return Err(PgError::internal("portal state"));
        };
        let mut given = 0u64;
        let outcome = loop {
            if max_rows > 0 && given == max_rows {
                break Execution::Suspended;
            }
            let step = if std::mem::take(row_waiting) { Ok(Step::Row) } else { connection.step(statement) };
            match step {
                Ok(Step::Row) => {
                    let flow = sink.row(statement, &context);
                    match flow {
                        Ok(flow) => {
                            given += 1;
                            if flow == Flow::Pause {
                                break Execution::Paused;
                            }
                        }
                        Err(e) => {
                            self.end_running(portal);
                            return Err(e);
                        }
                    }
                }
                Ok(Step::Done) => {
                    let total = portal.rows + given;
                    self.end_running(portal);
                    return Ok(Execution::Complete(tag(plan_tag, total)));
                }
                Err(e) => {
                    self.end_running(portal);
                    return Err(e);
                }
            }
        };
        portal.rows += given;
        Ok(outcome)
    }

    fn end_running(&mut self, portal: &mut Portal) {
        if let State::Running { statement, sql, .. } = std::mem::replace(&mut portal.state, State::New) {
            if let Some(connection) = &mut self.connection {
                connection.release(&sql, statement);
            }
        }
    }
}

/// Steps a statement whose rows (if any) go to a temporary table.
pub(super) fn run_to_end(connection: &Connection, statement: &mut RawStatement, output: &StepOutput) -> Result<()> {
    match output {
        StepOutput::Materialize { table, columns } => {
            let names: Vec<String> = (1..=*columns).map(|i| format!("c{i}")).collect();
            let table = table.replace('"', "\"\"");
            let mut rows: Vec<Vec<Datum>> = Vec::new();
            while connection.step(statement)? == Step::Row {
                rows.push((0..*columns).map(|i| statement.column(i).to_owned()).collect());
            }
            connection.exec(&format!(
                "DROP TABLE IF EXISTS temp.\"{table}\"; CREATE TEMP TABLE \"{table}\" ({})",
                names.join(", ")
            ))?;
            let places: Vec<String> = (1..=*columns).map(|i| format!("?{i}")).collect();
            let sql = format!("INSERT INTO temp.\"{table}\" VALUES ({})", places.join(", "));
            let db = connection.rusqlite();
            let mut insert = db.prepare(&sql).map_err(|_| connection.error())?;
            for row in rows {
                insert
                    .execute(rusqlite::params_from_iter(row.iter().map(to_sqlite)))
                    .map_err(|_| connection.error())?;
            }
            Ok(())
        }
        StepOutput::None | StepOutput::Rows => {
            while connection.step(statement)? == Step::Row {}
            Ok(())
        }
    }
}

fn to_sqlite(datum: &Datum) -> rusqlite::types::Value {
    use rusqlite::types::Value;
    match datum {
        Datum::Null => Value::Null,
        Datum::Int(i) => Value::Integer(*i),
        Datum::Real(r) => Value::Real(*r),
        Datum::Text(t) => Value::Text(t.clone()),
        Datum::Blob(b) => Value::Blob(b.clone()),
    }
}

/// The command's name in messages.
fn command(tag: Tag) -> &'static str {
    match tag {
        // a SELECT that writes calls nextval() or locks rows
        Tag::Select => "SELECT",
        Tag::Insert => "INSERT",
        Tag::Update => "UPDATE",
        Tag::Delete => "DELETE",
        Tag::Merge => "MERGE",
    }
}

fn tag(tag: Tag, n: u64) -> String {
    match tag {
        Tag::Select => format!("SELECT {n}"),
        Tag::Insert => format!("INSERT 0 {n}"),
        Tag::Update => format!("UPDATE {n}"),
        Tag::Delete => format!("DELETE {n}"),
        Tag::Merge => format!("MERGE {n}"),
    }
}

/// A finished portal executed again gives no rows: its tag counts none.
fn tag_of_rerun(tag: &str) -> String {
    match tag.rsplit_once(' ') {
        Some((word, n)) if n.bytes().all(|b| b.is_ascii_digit()) => format!("{word} 0"),
        _ => tag.to_string(),
    }
}
