//! EXPLAIN: SQLite's query plan, and with ANALYZE what the statement's execution took.
//!
//! SQLite knows no costs, buffers or times per node: the options that ask for them are refused, not answered with invented figures.

use super::plans::{Body, Prepared};
use super::portal::{Portal, Unwanted};
use super::{Execution, Format, Row, RowSink, Session};
use crate::connection::Connection;
use pgsqlite_sql::parse::{ast, NodeEnum, RawStatement};
use pgsqlite_sql::plan::{QueryPlan, StepOutput};
use pgsqlite_types::codec::Context;
use pgsqlite_types::{Datum, PgError, Result, SqlState};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

#[derive(Default)]
struct Options {
    analyze: bool,
    verbose: bool,
    /// Planning Time and Execution Time; by default with ANALYZE
    summary: Option<bool>,
}

fn truth(option: &ast::DefElem) -> Result<bool> {
    let refuse = || PgError::new(SqlState::SYNTAX_ERROR, format!("{} requires a Boolean value", option.defname));
    match option.arg.as_ref().and_then(|a| a.node.as_ref()) {
        None => Ok(true),
        Some(NodeEnum::Integer(i)) if i.ival == 0 || i.ival == 1 => Ok(i.ival == 1),
        Some(NodeEnum::Boolean(b)) => Ok(b.boolval),
        Some(NodeEnum::String(s)) => match s.sval.to_ascii_lowercase().as_str() {
            "true" | "on" => Ok(true),
            "false" | "off" => Ok(false),
            _ => Err(refuse()),
        },
        _ => Err(refuse()),
    }
}

fn options(nodes: &[ast::Node]) -> Result<Options> {
    let mut options = Options::default();
    let (mut timing, mut wal) = (None, false);
    let mut unavailable = None;
    for node in nodes {
        let Some(NodeEnum::DefElem(option)) = &node.node else { return Err(PgError::internal("an EXPLAIN option")) };
        match option.defname.as_str() {
            "analyze" => options.analyze = truth(option)?,
            "verbose" => options.verbose = truth(option)?,
            "summary" => options.summary = Some(truth(option)?),
            name @ ("costs" | "buffers" | "settings" | "timing" | "wal") => {
                let wanted = truth(option)?;
                if name == "timing" {
                    timing = Some(wanted);
                }
                wal |= name == "wal" && wanted;
                if wanted {
                    unavailable.get_or_insert((format!("EXPLAIN ({})", name.to_ascii_uppercase()), option.location));
                }
            }
            "format" => {
                let format = match option.arg.as_ref().and_then(|a| a.node.as_ref()) {
                    Some(NodeEnum::String(s)) => s.sval.as_str(),
                    _ => "",
                };
                match format {
                    "text" => {}
                    "xml" | "json" | "yaml" => {
                        let what = format!("EXPLAIN (FORMAT {})", format.to_ascii_uppercase());
                        unavailable.get_or_insert((what, option.location));
                    }
                    other => {
                        return Err(PgError::new(
                            SqlState::INVALID_PARAMETER_VALUE,
                            format!("unrecognized value for EXPLAIN option \"format\": \"{other}\""),
                        )
                        .at(option.location))
                    }
                }
            }
            other => {
                return Err(PgError::new(SqlState::SYNTAX_ERROR, format!("unrecognized EXPLAIN option \"{other}\""))
                    .at(option.location))
            }
        }
    }
    for (given, name) in [(wal, "WAL"), (timing == Some(true), "TIMING")] {
        if given && !options.analyze {
            return Err(PgError::new(
                SqlState::INVALID_PARAMETER_VALUE,
                format!("EXPLAIN option {name} requires ANALYZE"),
            ));
        }
    }
    match unavailable {
        Some((what, location)) => Err(PgError::not_supported(what).at(location)),
        None => Ok(options),
    }
}

/// The statement that is explained, if it is a query or data modification (its parameters are then EXPLAIN's).
pub(super) fn explained(e: &ast::ExplainStmt, raw: &RawStatement) -> Option<Arc<RawStatement>> {
    let node = e.query.as_ref().and_then(|q| q.node.clone())?;
    let node = match node {
        NodeEnum::DeclareCursorStmt(d) => d.query.and_then(|q| q.node)?,
        NodeEnum::CreateTableAsStmt(c) => c.query.and_then(|q| q.node)?,
        node => node,
    };
    let optimizable = matches!(
        node,
        NodeEnum::SelectStmt(_)
            | NodeEnum::InsertStmt(_)
            | NodeEnum::UpdateStmt(_)
            | NodeEnum::DeleteStmt(_)
            | NodeEnum::MergeStmt(_)
    );
    optimizable.then(|| {
        let text = format!("{} /* explained */", raw.text).into();
        Arc::new(RawStatement { node, text, offset: raw.offset })
    })
}

/// Counts rows that nobody gets.
struct Counter(u64);

impl RowSink for Counter {
    fn columns(&mut self, columns: &Arc<[super::OutputColumn]>) -> Result<()> {
        Unwanted.columns(columns)
    }
    fn row(&mut self, row: &dyn Row, context: &Context) -> Result<super::Flow> {
        self.0 += 1;
        Unwanted.row(row, context)
    }
    fn copy_out(&mut self, formats: &[Format]) -> Result<()> {
        Unwanted.copy_out(formats)
    }
    fn copy_data(&mut self, data: &[u8]) -> Result<super::Flow> {
        Unwanted.copy_data(data)
    }
    fn copy_done(&mut self) -> Result<()> {
        Unwanted.copy_done()
    }
}

fn milliseconds(duration: Duration) -> String {
    format!("{:.3} ms", duration.as_secs_f64() * 1000.0)
}

impl Session {
    pub(super) async fn explain(
        &mut self,
        e: &ast::ExplainStmt,
        prepared: &Prepared,
        parameters: &[Datum],
        sink: &mut dyn RowSink,
    ) -> Result<()> {
        let options = options(&e.options)?;
        let began = Instant::now();
        let target = e.query.as_ref().and_then(|q| q.node.as_ref());
        let (plan, values) = match target {
            Some(NodeEnum::ExecuteStmt(execute)) => self.explained_execute(execute)?,
            Some(NodeEnum::CreateTableAsStmt(_)) if options.analyze => {
                return Err(PgError::not_supported("EXPLAIN ANALYZE of CREATE TABLE AS"))
            }
            _ => {
                let inner = explained(e, &prepared.statement)
                    .ok_or_else(|| PgError::not_supported("EXPLAIN of this statement"))?;
                let (plan, _) = self.plan(&inner, &prepared.parameters)?;
                (plan, parameters.to_vec())
            }
        };
        let Body::Plan(body) = &plan.body else { return Err(PgError::not_supported("EXPLAIN of this statement")) };
        let planning = began.elapsed();
        // while a plan with several steps is shown, the tables between them must be there
        let mut lines = plan_lines(self.connection()?, &body.query, options.verbose)?;
        let summary = options.summary.unwrap_or(options.analyze);
        if options.analyze {
            let (rows, took) = self.run_explained(plan.clone(), values).await?;
            lines.push(format!("Actual Rows: {rows}"));
            if summary {
                lines.push(format!("Planning Time: {}", milliseconds(planning)));
                lines.push(format!("Execution Time: {}", milliseconds(took)));
            }
        } else if summary {
            lines.push(format!("Planning Time: {}", milliseconds(planning)));
        }
        sink.columns(prepared.columns.as_ref().ok_or_else(|| PgError::internal("EXPLAIN without columns"))?)?;
        for line in lines {
            self.give(sink, vec![line.into()])?;
        }
        Ok(())
    }

    fn explained_execute(&mut self, execute: &ast::ExecuteStmt) -> Result<(Arc<Prepared>, Vec<Datum>)> {
        let plan = self.named_plan(&execute.name)?.ok_or_else(|| PgError::internal("an empty prepared statement"))?;
        let values = self.execute_arguments(execute, &plan)?;
        Ok((plan, values))
    }

    /// Runs the statement, its rows thrown away: how many there were (or were changed), and how long it took.
    async fn run_explained(&mut self, plan: Arc<Prepared>, values: Vec<Datum>) -> Result<(u64, Duration)> {
        let mut portal = Portal::new(Some(plan), values, vec![]);
        let mut counter = Counter(0);
        let began = Instant::now();
        let result = Box::pin(self.run_portal(&mut portal, 0, &mut counter)).await;
        let took = began.elapsed();
        self.close(portal);
        match result? {
            Execution::Complete(tag) => {
                let changed = tag.rsplit(' ').next().and_then(|n| n.parse().ok()).unwrap_or(0);
                Ok((counter.0.max(changed), took))
            }
            other => Err(PgError::internal(format!("an explained statement ended as {other:?}"))),
        }
    }
}

/// SQLite's plan, indented as PostgreSQL prints a tree; with `verbose` each step's SQLite statement before it.
fn plan_lines(connection: &Connection, plan: &QueryPlan, verbose: bool) -> Result<Vec<String>> {
    let mut made = Vec::new();
    let mut lines = Vec::new();
    let mut read = || -> Result<()> {
        for step in &plan.steps {
            if verbose {
                lines.push(format!("SQLite: {}", step.sql));
            }
            step_lines(connection, &step.sql, &mut lines)?;
            if let StepOutput::Materialize { table, columns } = &step.output {
                let names: Vec<String> = (1..=*columns).map(|i| format!("c{i}")).collect();
                let table = table.replace('"', "\"\"");
                connection.exec(&format!(
                    "DROP TABLE IF EXISTS temp.\"{table}\"; CREATE TEMP TABLE \"{table}\" ({})",
                    names.join(", ")
                ))?;
                made.push(table);
            }
        }
        Ok(())
    };
    let result = read();
    for table in made {
        connection.exec(&format!("DROP TABLE IF EXISTS temp.\"{table}\""))?;
    }
    result?;
    if lines.is_empty() {
        lines.push("Result".into());
    }
    Ok(lines)
}

fn step_lines(connection: &Connection, sql: &str, lines: &mut Vec<String>) -> Result<()> {
    let error = |_| connection.error();
    let mut statement = connection.rusqlite().prepare(&format!("EXPLAIN QUERY PLAN {sql}")).map_err(error)?;
    let mut depth = HashMap::from([(0i64, 0usize)]);
    let mut rows = statement.raw_query();
    while let Some(row) = rows.next().map_err(error)? {
        let read = || -> rusqlite::Result<(i64, i64, String)> { Ok((row.get(0)?, row.get(1)?, row.get(3)?)) };
        let (id, parent, detail) = read().map_err(error)?;
        let level = depth.get(&parent).copied().unwrap_or(0);
        depth.insert(id, level + 1);
        lines.push(if level == 0 { detail } else { format!("{}->  {detail}", " ".repeat(6 * level - 4)) });
    }
    Ok(())
}
