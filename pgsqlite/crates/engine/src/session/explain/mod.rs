//! EXPLAIN: SQLite's query plan, and with ANALYZE what the statement's execution took.
//!
//! The plan is SQLite's ([`plan`]), in PostgreSQL's terms and formats ([`format`]). Costs are estimated here
//! ([`costs`]). SQLite knows no buffers, log records or times per node (the root's are measured here), and no setting changes its plans:
//! the options that ask for these are taken, and nothing is shown for them.

pub(in crate::session) mod costs;
pub(in crate::session) mod counts;
pub(in crate::session) mod format;
pub(in crate::session) mod nodes;
mod parallel;

use crate::plans::{Body, Prepared};
use crate::session::execution::portal::{Portal, Unwanted};
use crate::session::explain::costs as explain_costs;
use crate::session::explain::format::{self as explain_format, Explained, Format as Layout};
use crate::session::explain::nodes as explain_plan;
use crate::session::{Execution, Row, RowSink, Session};
use pgsqlite_sql::parse::{ast, NodeEnum, RawStatement};
use pgsqlite_types::codec::Context;
use pgsqlite_types::{oid, Datum, Oid, PgError, Result, SqlState};
use std::sync::Arc;
use std::time::{Duration, Instant};

#[derive(Default)]
pub(in crate::session) struct Options {
    analyze: bool,
    verbose: bool,
    settings: bool,
    /// by default true
    costs: Option<bool>,
    /// how long until the first and the last row; by default with ANALYZE
    timing: Option<bool>,
    /// Planning Time and Execution Time; by default with ANALYZE
    summary: Option<bool>,
    pub format: Layout,
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

/// Reads the options. Errors: 42601 and 22023 for what is none, or does not go together.
pub(in crate::session) fn options(nodes: &[ast::Node]) -> Result<Options> {
    let mut options = Options::default();
    let mut wal = false;
    for node in nodes {
        let Some(NodeEnum::DefElem(option)) = &node.node else { return Err(PgError::internal("an EXPLAIN option")) };
        match option.defname.as_str() {
            "analyze" => options.analyze = truth(option)?,
            "verbose" => options.verbose = truth(option)?,
            "summary" => options.summary = Some(truth(option)?),
            "settings" => options.settings = truth(option)?,
            "timing" => options.timing = Some(truth(option)?),
            "wal" => wal = truth(option)?,
            "costs" => options.costs = Some(truth(option)?),
            "buffers" => {
                truth(option)?;
            }
            "format" => {
                options.format = match format_name(option)? {
                    "text" => Layout::Text,
                    "xml" => Layout::Xml,
                    "json" => Layout::Json,
                    "yaml" => Layout::Yaml,
                    other => {
                        return Err(PgError::new(
                            SqlState::INVALID_PARAMETER_VALUE,
                            format!("unrecognized value for EXPLAIN option \"format\": \"{other}\""),
                        )
                        .at(option.location))
                    }
                };
            }
            other => {
                return Err(PgError::new(SqlState::SYNTAX_ERROR, format!("unrecognized EXPLAIN option \"{other}\""))
                    .at(option.location))
            }
        }
    }
    for (given, name) in [(wal, "WAL"), (options.timing == Some(true), "TIMING")] {
        if given && !options.analyze {
            return Err(PgError::new(
                SqlState::INVALID_PARAMETER_VALUE,
                format!("EXPLAIN option {name} requires ANALYZE"),
            ));
        }
    }
    Ok(options)
}

/// Whether the statement that is explained is run, too (ANALYZE).
pub(in crate::session) fn runs(e: &ast::ExplainStmt) -> bool {
    options(&e.options).is_ok_and(|options| options.analyze)
}

fn format_name(option: &ast::DefElem) -> Result<&str> {
    match option.arg.as_ref().and_then(|a| a.node.as_ref()) {
        Some(NodeEnum::String(s)) => Ok(&s.sval),
        _ => Err(PgError::new(SqlState::SYNTAX_ERROR, "format requires a parameter")),
    }
}

/// The type of the result's column: the last FORMAT counts. What else is wrong with the options is told when the statement runs.
pub(in crate::session) fn result_type(e: &ast::ExplainStmt) -> Result<Oid> {
    let mut type_oid = oid::TEXT;
    for node in &e.options {
        let Some(NodeEnum::DefElem(option)) = &node.node else { continue };
        if option.defname == "format" {
            type_oid = match format_name(option)? {
                "json" => oid::JSON,
                "xml" => oid::XML,
                _ => oid::TEXT,
            };
        }
    }
    Ok(type_oid)
}

/// The statement that is explained, if it is a query or data modification (its parameters are then EXPLAIN's).
pub(in crate::session) fn explained(e: &ast::ExplainStmt, raw: &RawStatement) -> Option<Arc<RawStatement>> {
    let node = e.query.as_ref().and_then(|q| q.node.clone())?;
    let node = match node {
        NodeEnum::DeclareCursorStmt(d) => d.query.and_then(|q| q.node)?,
        NodeEnum::CreateTableAsStmt(c) => c.query.and_then(|q| q.node)?,
        node => node,
    };
    pgsqlite_sql::parse::is_optimizable(&node).then(|| Arc::new(raw.within(node, "explained")))
}

/// Counts rows that nobody gets.
struct Counter {
    rows: u64,
    /// when the first one came
    first: Option<Instant>,
}

impl RowSink for Counter {
    fn columns(&mut self, columns: &Arc<[crate::session::OutputColumn]>) -> Result<()> {
        Unwanted.columns(columns)
    }
    fn row(&mut self, row: &dyn Row, context: &Context) -> Result<crate::session::Flow> {
        self.rows += 1;
        self.first.get_or_insert_with(Instant::now);
        Unwanted.row(row, context)
    }
}

/// What an execution gave, and how long that took.
struct Timed {
    ran: explain_plan::Ran,
    /// until the first row, or the end if there was none
    first: Duration,
    took: Duration,
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

/// An EXPLAIN.
pub(in crate::session) struct Explain<'e> {
    statement: &'e ast::ExplainStmt,
    options: Options,
    /// of the EXPLAIN itself
    prepared: &'e Prepared,
    /// those of the statement that is explained
    parameters: &'e [Datum],
}

impl<'e> Explain<'e> {
    /// Reads the options. Errors: as of [`options`].
    pub fn read(
        statement: &'e ast::ExplainStmt,
        prepared: &'e Prepared,
        parameters: &'e [Datum],
    ) -> Result<Explain<'e>> {
        Ok(Explain { statement, options: options(&statement.options)?, prepared, parameters })
    }

    /// The plan that is explained, and the values of its parameters. None: EXECUTE names a prepared statement without a statement in it.
    fn explained(&self, session: &mut Session) -> Result<Option<(Arc<Prepared>, Vec<Datum>)>> {
        let node = |query: &'e Option<Box<ast::Node>>| query.as_ref().and_then(|q| q.node.as_ref());
        let target = node(&self.statement.query);
        let execute = match target {
            Some(NodeEnum::CreateTableAsStmt(_)) if self.options.analyze => {
                return Err(PgError::not_supported("EXPLAIN ANALYZE of CREATE TABLE AS"))
            }
            Some(NodeEnum::CreateTableAsStmt(c)) => node(&c.query),
            other => other,
        };
        if let Some(NodeEnum::ExecuteStmt(execute)) = execute {
            let Some(plan) = session.plan_to_execute(execute)? else { return Ok(None) };
            let values = session.executor.execute_arguments(execute, &plan)?;
            return Ok(Some((plan, values)));
        }
        let inner = explained(self.statement, &self.prepared.statement)
            .ok_or_else(|| PgError::not_supported("EXPLAIN of this statement"))?;
        let (plan, _) = session.plan(&inner, &self.prepared.parameters)?;
        Ok(Some((plan, self.parameters.to_vec())))
    }

    /// Plans the statement, executes it if ANALYZE says so, and gives the lines. (It borrows the whole session, because it plans and runs a
    /// statement of the session's: prepared statements, the plan cache, the transaction, the connection.)
    pub async fn run(self, session: &mut Session, sink: &mut dyn RowSink) -> Result<()> {
        let options = &self.options;
        let began = Instant::now();
        let columns = || self.prepared.columns.as_ref().ok_or_else(|| PgError::internal("EXPLAIN without columns"));
        let Some((plan, values)) = self.explained(session)? else { return sink.columns(columns()?) };
        let Body::Plan(body) = &plan.body else { return Err(PgError::not_supported("EXPLAIN of this statement")) };
        let planning = began.elapsed();
        let mut root = explain_plan::tree(
            session.executor.connection()?,
            &session.executor.context.catalog(),
            &body.query,
            options.verbose,
            None,
        )?;
        let helpers = session.executor.would_gather(&body.query)?.filter(|_| !options.analyze);
        if let (Some(helpers), Some(gather)) = (helpers, &body.query.gather) {
            parallel::gathered(&mut root, gather.relation, helpers);
        }
        let summary = options.summary.unwrap_or(options.analyze);
        let mut times = Vec::new();
        if summary {
            times.push(("Planning Time", milliseconds(planning)));
        }
        if options.analyze {
            let ran = timed(session, plan.clone(), values).await?;
            root = explain_plan::tree(
                session.executor.connection()?,
                &session.executor.context.catalog(),
                &body.query,
                options.verbose,
                Some(&ran.ran),
            )?;
            if options.timing.unwrap_or(true) {
                root.times = Some((milliseconds(ran.first), milliseconds(ran.took)));
            }
            if summary {
                times.push(("Execution Time", milliseconds(ran.took)));
            }
        }
        if options.costs.unwrap_or(true) {
            explain_costs::estimate(&mut root, &session.executor.context.catalog(), plan.columns.as_deref());
        }
        let explained = Explained { plan: root, settings: options.settings, analyzed: options.analyze, times };
        let lines = explain_format::print(&explained, options.format);
        session.executor.give_notices(sink)?;
        sink.columns(columns()?)?;
        for line in lines {
            session.executor.context.give(sink, vec![line.into()])?;
        }
        Ok(())
    }
}

/// Runs a statement, its rows thrown away.
async fn timed(session: &mut Session, plan: Arc<Prepared>, values: Vec<Datum>) -> Result<Timed> {
    let mut portal = Portal::new(Some(plan), values, vec![]);
    // (what other connections do is not counted)
    portal.undivided = true;
    let mut counter = Counter { rows: 0, first: None };
    session.executor.connection()?;
    if let Some(connection) = &mut session.executor.connection {
        connection.record();
    }
    let began = Instant::now();
    let result = Box::pin(session.run_portal(&mut portal, 0, &mut counter)).await;
    let took = began.elapsed();
    session.executor.close(portal);
    let recorded = session.executor.connection.as_mut().map(|c| c.end_record()).unwrap_or_default();
    match result? {
        Execution::Complete(tag) => {
            let changed = tag.rsplit(' ').next().and_then(|n| n.parse().ok()).unwrap_or(0);
            let first = counter.first.map_or(took, |at| at.duration_since(began));
            Ok(Timed { ran: explain_plan::Ran { rows: counter.rows, changed, recorded }, first, took })
        }
        other => Err(PgError::internal(format!("an explained statement ended as {other:?}"))),
    }
}
