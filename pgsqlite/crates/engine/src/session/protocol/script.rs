//! Query strings of the simple protocol: their statements in turn, and the literals in them.
//!
//! A string of one statement is looked up by its mask ([`pgsqlite_sql::parameterize`]): what differs only in literal values has one
//! plan, and its values are bound. Whatever goes wrong with that before the statement runs (a value that is no value of
//! its type, an error of analysis) is left to the plain way, which tells it with its position.

use crate::plans::{Body, Parsed, Prepared, Template, LONGEST, LONGEST_PLANNED};
use crate::session::context::SessionContext;
use crate::session::execution::planning::is_result_type_changed;
use crate::session::execution::portal::Portal;
use crate::session::{BoxFuture, Execution, Format, RowSink, Session};
use pgsqlite_sql::analyze::check_without_parameters;
use pgsqlite_sql::parameterize::{self, Literal, LiteralKind};
use pgsqlite_sql::parse::{is_query, NodeEnum, RawStatement};
use pgsqlite_types::codec::Context;
use pgsqlite_types::{Datum, PgError, Result, SqlState};
use std::ops::Range;
use std::sync::Arc;

/// The statements of a query string, in turn.
pub struct Script {
    statements: Parsed,
    /// of a single statement: its template and values; tried first
    parameterized: Option<(Arc<Template>, Vec<Value>)>,
    next: usize,
    /// the one that is running is in the unnamed script portal
    running: bool,
}

/// The text of a literal that has become a parameter, a part of the query string.
struct Value {
    place: Range<usize>,
    kind: LiteralKind,
    negative: bool,
}

/// The longest text, in bytes, of an INSERT whose literals become parameters.
const LONGEST_PARAMETERIZED: usize = 1 << 20;

impl Script {
    /// Whether the statement that ran was the last one.
    pub fn is_last(&self) -> bool {
        self.next >= self.statements.len()
    }
}

const SCRIPT_PORTAL: &str = "\0script";

impl SessionContext {
    fn read_script(&mut self, text: &str) -> Result<Script> {
        let parameterized = self.parameterized_script(text)?;
        let script = match parameterized {
            Some(script) => script,
            None => Script { statements: self.parse_text(text)?, parameterized: None, next: 0, running: false },
        };
        self.tell_truncated(text)?;
        Ok(script)
    }

    fn parameterized_script(&self, text: &str) -> Result<Option<Script>> {
        // where backslashes escape, literals end elsewhere
        let inserts = || text.trim_start().get(..6).is_some_and(|word| word.eq_ignore_ascii_case("insert"));
        if text.len() > LONGEST_PARAMETERIZED
            || text.len() > LONGEST && !inserts()
            || !self.gucs.often.standard_conforming_strings
        {
            return Ok(None);
        }
        let Some(masked) = parameterize::mask(text).filter(|m| !m.literals.is_empty()) else { return Ok(None) };
        // (of a long text, the literals are what is long)
        if masked.mask.len() > LONGEST_PLANNED {
            return Ok(None);
        }
        let template = match self.engine.plans.template(&masked) {
            Some(template) => template,
            None => {
                let mut parsed = pgsqlite_sql::parse::parse(text)?;
                let [raw] = &mut parsed[..] else { return Ok(None) };
                let parameterized = parameterize::parameterize(&mut raw.node, &masked, text);
                if parameterized.is_empty() {
                    let statements: Parsed = parsed.into_iter().map(Arc::new).collect();
                    self.engine.plans.put_parsed(text, &statements);
                    return Ok(Some(Script { statements, parameterized: None, next: 0, running: false }));
                }
                let Some(raw) = parsed.pop() else { return Ok(None) };
                let stays = |i: &usize| !parameterized.iter().any(|l| l.literal == *i);
                let fixed: Vec<_> = (0..masked.literals.len())
                    .filter(stays)
                    .map(|i| (i, masked.literals[i].text.to_string()))
                    .collect();
                // no client's text is like this one, so the plan is found by templates alone
                let text = format!("{}\0parameterized, but {fixed:?}", masked.mask).into();
                let template = Arc::new(Template {
                    statement: Arc::new(RawStatement { text, ..raw }),
                    given: parameterized.iter().map(|l| l.type_oid).collect(),
                    parameterized,
                    fixed,
                });
                self.engine.plans.put_template(masked.mask, template.clone());
                template
            }
        };
        let values = template.parameterized.iter().map(|l| {
            let literal = &masked.literals[l.literal];
            let place = literal.start..literal.start + literal.text.len();
            Value { place, kind: literal.kind, negative: l.negative }
        });
        let values = values.collect();
        let statements = Arc::new([template.statement.clone()]);
        Ok(Some(Script { statements, parameterized: Some((template, values)), next: 0, running: false }))
    }

    /// No values come with a script: 42P02 for a query with parameters. (PREPARE and bodies of functions may have some.)
    fn check_parameters(&mut self, raw: &Arc<RawStatement>) -> Result<()> {
        let inner = match &raw.node {
            NodeEnum::DeclareCursorStmt(d) => {
                Some(crate::session::execution::cursor::cursor_query(d, raw)?.node.clone())
            }
            NodeEnum::CreateTableAsStmt(c) => c.query.as_ref().and_then(|q| q.node.clone()),
            NodeEnum::CopyStmt(c) => c.query.as_ref().and_then(|q| q.node.clone()),
            NodeEnum::ExplainStmt(e) => e.query.as_ref().and_then(|q| q.node.clone()),
            _ => None,
        };
        let query = inner.as_ref().unwrap_or(&raw.node);
        if !is_query(query) {
            return Ok(());
        }
        let view = self.view();
        let begins = self.begins_here();
        self.cancel.work(begins, None, || {
            self.with_environment(&view, |environment| check_without_parameters(environment, query))
        })
    }
}

impl Session {
    /// Parses a whole query string (a syntax error anywhere runs nothing). Several statements form one implicit transaction.
    pub fn script(&mut self, text: &str) -> Result<Script> {
        self.executor.drop_portal("");
        self.statements.remove("");
        self.executor.context.source = text.into();
        self.executor.context.begin_observed(self.executor.context.source.clone());
        // requests count from here on, until the first statement has ended; those between it and the last one are for the next
        self.executor.context.cancel.set_others_follow(false);
        self.executor.context.begin_running_script();
        let script = self.executor.context.read_script(text);
        match &script {
            Ok(script) => self.log_statements(None, script.statements.iter().map(|raw| &raw.node)),
            Err(_) => self.executor.context.end_running(),
        }
        script
    }

    /// Makes the portal of the script's next statement.
    async fn begin_script_statement(&mut self, script: &mut Script, mut raw: Arc<RawStatement>) -> Result<()> {
        self.executor.context.transaction.block_mut().start_of_script(script.statements.len() > 1);
        self.executor.context.sync_follows = script.statements.len() == 1;
        self.executor.begin_statement().await?;
        let mut ready = None;
        if let Some((template, values)) = script.parameterized.take() {
            ready = self.bind_parameterized(&template, &values);
            if ready.is_none() {
                let text = self.executor.context.source.clone();
                script.statements = self.executor.context.parse_text(&text)?;
                raw = script.statements.first().cloned().ok_or_else(|| PgError::internal("an empty template"))?;
            }
        }
        let (prepared, values) = match ready {
            Some(ready) => ready,
            None => {
                let planned = self.plan(&raw, &[]);
                // (the query within a COPY and the like is planned when that runs)
                let has_none = is_query(&raw.node) && planned.as_ref().is_ok_and(|(p, _)| p.parameters.is_empty());
                if raw.text.contains('$') && !has_none {
                    self.executor.context.check_parameters(&raw)?;
                }
                if let (Err(_), NodeEnum::ExecuteStmt(e)) = (&planned, &raw.node) {
                    self.plan_to_execute(e)?;
                }
                let (prepared, _) = planned?;
                if !prepared.parameters.is_empty() {
                    return Err(PgError::new(SqlState::UNDEFINED_PARAMETER, "there is no parameter $1"));
                }
                (prepared, vec![])
            }
        };
        let formats = vec![Format::Text; prepared.columns.as_ref().map_or(0, |c| c.len())];
        let mut portal = Portal::new(Some(prepared), values, formats);
        portal.given = crate::session::protocol::rebinding::Given::Script;
        self.executor.portals.insert(SCRIPT_PORTAL.into(), portal);
        Ok(())
    }

    /// The formats of the columns that the script's next statement gives: those of FETCH from a BINARY cursor are binary.
    pub fn script_formats(&self, script: &Script) -> Vec<Format> {
        let next = if script.running { script.next.wrapping_sub(1) } else { script.next };
        let Some(NodeEnum::FetchStmt(fetch)) = script.statements.get(next).map(|s| &s.node) else { return vec![] };
        let Some(portal) = self.executor.portals.get(&fetch.portalname) else { return vec![] };
        match &portal.cursor {
            Some(cursor) if cursor.binary => vec![Format::Binary; portal.columns().map_or(0, |c| c.len())],
            _ => vec![],
        }
    }

    /// Runs the script's current statement, or goes on with it after `Paused`. None: the script is done (call `sync` then).
    pub fn execute_script<'a>(
        &'a mut self,
        script: &'a mut Script,
        sink: &'a mut dyn RowSink,
    ) -> BoxFuture<'a, Result<Option<Execution>>> {
        Box::pin(self.execute_next(script, sink))
    }

    async fn execute_next(&mut self, script: &mut Script, sink: &mut dyn RowSink) -> Result<Option<Execution>> {
        if !script.running {
            if script.statements.is_empty() && script.next == 0 {
                script.next = 1;
                self.executor.context.end_running();
                return Ok(Some(Execution::Empty));
            }
            let Some(raw) = script.statements.get(script.next).cloned() else { return Ok(None) };
            script.next += 1;
            self.executor.context.cancel.set_others_follow(script.next < script.statements.len());
            self.executor.context.begin_running_script();
            let begun = self.executor.context.check_not_failed(&raw.node);
            if begun.is_err() {
                self.executor.context.end_running();
            }
            begun?;
            if let Err(e) = self.begin_script_statement(script, raw).await {
                self.executor.context.end_running();
                return Err(e);
            }
        }
        let begins = !std::mem::replace(&mut script.running, true);
        let mut result = self.execute_portal(SCRIPT_PORTAL, 0, sink).await;
        // the schema has changed since the statement was planned: nobody knows its columns yet
        if begins && result.as_ref().is_err_and(is_result_type_changed) {
            let at = script.next - 1;
            if let ([_], text) = (&script.statements[..], self.executor.context.source.clone()) {
                script.statements = self.executor.context.parse_text(&text)?;
            }
            let raw = script.statements.get(at).cloned().ok_or_else(|| PgError::internal("a statement is gone"))?;
            result = match self.begin_script_statement(script, raw).await {
                Ok(()) => self.execute_portal(SCRIPT_PORTAL, 0, sink).await,
                Err(e) => Err(e),
            };
        }
        match &result {
            Ok(Execution::Paused) => {}
            _ => {
                script.running = false;
                self.executor.drop_portal(SCRIPT_PORTAL);
            }
        }
        result.map(Some)
    }

    /// The plan of a template with the values of a text. None: the plain way must do it.
    fn bind_parameterized(&mut self, template: &Template, values: &[Value]) -> Option<(Arc<Prepared>, Vec<Datum>)> {
        let text = self.executor.context.source.clone();
        let (prepared, view) = self.plan(&template.statement, &template.given).ok()?;
        // SQLite uses a partial index only where it sees the value that its condition names
        if matches!(&prepared.body, Body::Plan(plan) if view.may_use_partial_index(&plan.query)) {
            return None;
        }
        if prepared.parameters.len() != values.len() {
            return None;
        }
        let context = Context { settings: &self.executor.context.gucs.typed, names: &*view };
        let mut bound = Vec::with_capacity(values.len());
        for (value, ty) in values.iter().zip(&prepared.parameters) {
            let literal = Literal { start: value.place.start, kind: value.kind, text: text.get(value.place.clone())? };
            let mut shown = literal.value();
            if value.negative {
                shown = format!("-{shown}").into();
            }
            bound.push(view.catalog.codec(*ty)?.text_in(&shown, -1, &context).ok()?);
        }
        Some((prepared, bound))
    }
}
