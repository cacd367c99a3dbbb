//! What SERIALIZABLE transactions read and write ([`crate::locks::serializable`]).

use crate::changes::table::Table;
use crate::locks::serializable::{Condition, Read, Row, Rows, Tables, Written};
use crate::plans::Prepared;
use crate::session::context::SessionContext;
use crate::session::executor::Executor;
use pgsqlite_sql::analyze::{analyze, Statement};
use pgsqlite_sql::lower::lower_over_row;
use pgsqlite_sql::parse::{ast, NodeEnum};
use pgsqlite_sql::plan::{QueryPlan, Tag};
use pgsqlite_storage::sqlite_statement::Step;
use pgsqlite_types::{Datum, Oid, Result};
use std::collections::HashMap;
use std::sync::Arc;

impl SessionContext {
    /// A statement of a serializable transaction begins: before its snapshot is taken.
    pub(in crate::session) fn watch_serializable(&mut self) {
        let by_default = self.implicit_characteristics().default_serializable;
        let t = &mut self.transaction;
        let serializable = t.is_serializable() || by_default && !t.block().is_explicit();
        if serializable && t.watched().is_none() && !t.block().is_failed() {
            t.set_watched(self.engine.serializable.begin(t.is_read_only()));
        }
        // (SET and its kin take no snapshot)
        if let Some(watched) = t.watched().filter(|_| !t.has_queried() && !t.is_in_sqlite()) {
            watched.begin_anew();
        }
    }

    /// The transaction has met a row where it wanted to insert one. Errors: 40001.
    pub(in crate::session) fn note_met(&self, table: Oid) -> Result<()> {
        let Some(watched) = self.transaction.watched() else { return Ok(()) };
        watched.writes(&Tables::whole([table]), &mut whole)?;
        watched.reads(&Tables::whole([table]), &mut whole)
    }

    /// The tables that a plan reads.
    fn tables_read(plan: &QueryPlan) -> Read {
        let runs_more = plan.triggered.is_some() || plan.rewritten.is_some() || plan.has_steps_by_rows();
        // (a function of the user may read anything)
        match runs_more || plan.calls_writers || plan.named.reads_more {
            true => Tables::all(),
            false => Tables::whole(plan.named.tables()),
        }
    }

    /// A statement without a plan begins. Errors: 40001.
    pub(in crate::session) fn note_utility(&self, node: &NodeEnum) -> Result<()> {
        use NodeEnum::*;
        let touches_no_rows = matches!(
            node,
            VariableSetStmt(_)
                | VariableShowStmt(_)
                | DiscardStmt(_)
                | ListenStmt(_)
                | UnlistenStmt(_)
                | NotifyStmt(_)
                | PrepareStmt(_)
                | DeallocateStmt(_)
                | LockStmt(_)
                | ConstraintsSetStmt(_)
                | DeclareCursorStmt(_)
                | FetchStmt(_)
                | ClosePortalStmt(_)
        );
        match touches_no_rows {
            true => Ok(()),
            false => self.note_anything(false),
        }
    }

    /// Something begins that may read and write anything (DDL, COPY, a body of statements). Errors: 40001.
    pub(in crate::session) fn note_anything(&self, writes: bool) -> Result<()> {
        let Some(watched) = self.transaction.watched() else { return Ok(()) };
        watched.reads(&Tables::all(), &mut whole)?;
        match writes {
            true => watched.writes(&Tables::all(), &mut whole),
            false => Ok(()),
        }
    }
}

impl Executor {
    /// The transaction is about to run a plan with these parameters. Errors: 40001.
    pub(in crate::session) fn note_plan_reads(
        &mut self,
        prepared: &Arc<Prepared>,
        plan: &QueryPlan,
        parameters: &[Datum],
    ) -> Result<()> {
        if self.context.transaction.watched().is_none() {
            return Ok(());
        }
        let mut read = SessionContext::tables_read(plan);
        if let Some((table, condition)) = self.condition_of(prepared, plan, parameters) {
            if let Some(rows) = read.tables.get_mut(&table) {
                *rows = Rows::Of(vec![condition]);
            }
        }
        self.note_read_rows(&read)
    }

    fn note_read_rows(&mut self, read: &Read) -> Result<()> {
        let Some(watched) = self.context.transaction.take_watched() else { return Ok(()) };
        let noted = watched.reads(read, &mut |condition, rows| self.are_met(condition, rows));
        self.context.transaction.set_watched(watched);
        noted
    }

    fn note_written_rows(&mut self, written: &Written) -> Result<()> {
        let Some(watched) = self.context.transaction.take_watched() else { return Ok(()) };
        let noted = watched.writes(written, &mut |condition, rows| self.are_met(condition, rows));
        self.context.transaction.set_watched(watched);
        noted
    }

    /// Whether one of the rows meets a condition. (Where that cannot be told, it is supposed.)
    fn are_met(&mut self, condition: &Condition, rows: &[Row]) -> bool {
        if condition.settings != self.context.gucs.plan_key() {
            return true;
        }
        let Some(connection) = &mut self.connection else { return true };
        let Ok(mut statement) = connection.prepare(&condition.sql) else { return true };
        let bound: Vec<Vec<Datum>> =
            rows.iter().map(|row| condition.parameters.iter().chain(row.iter()).cloned().collect()).collect();
        let met = bound.iter().any(|values| {
            // SAFETY: the values live until the statement is released below.
            let bound = unsafe { connection.bind_all(&mut statement, values) };
            let found = bound.and_then(|()| connection.step(&mut statement));
            statement.reset();
            !matches!(found, Ok(Step::Done))
        });
        connection.release(&condition.sql, statement);
        met
    }

    /// The table that a plan reads and the condition on its rows, if they are all that it reads, and the condition is one on each row alone.
    fn condition_of(
        &mut self,
        prepared: &Arc<Prepared>,
        plan: &QueryPlan,
        parameters: &[Datum],
    ) -> Option<(Oid, Arc<Condition>)> {
        let mut named = plan.named.tables();
        let table = named.next().filter(|_| named.next().is_none())?;
        let sql = match prepared.row_query.get() {
            Some(made) => made.clone(),
            None => {
                let made = self.row_query(prepared, table);
                prepared.row_query.get_or_init(|| made).clone()
            }
        }?;
        let parameters = parameters.get(..prepared.parameters.len())?.to_vec();
        let settings = self.context.gucs.plan_key();
        Some((table, Arc::new(Condition { sql, parameters, settings })))
    }

    /// The query of one row of a table that tells whether the statement reads it.
    fn row_query(&mut self, prepared: &Prepared, table: Oid) -> Option<Arc<str>> {
        let (relation, condition) = match &prepared.statement.node {
            NodeEnum::SelectStmt(s) => {
                let [from] = &s.from_clause[..] else { return None };
                let Some(NodeEnum::RangeVar(relation)) = &from.node else { return None };
                let is_plain = s.with_clause.is_none() && s.op() == ast::SetOperation::SetopNone;
                (is_plain.then_some(relation)?, s.where_clause.as_ref()?)
            }
            NodeEnum::UpdateStmt(s) if s.from_clause.is_empty() && s.with_clause.is_none() => {
                (s.relation.as_ref()?, s.where_clause.as_ref()?)
            }
            NodeEnum::DeleteStmt(s) if s.using_clause.is_empty() && s.with_clause.is_none() => {
                (s.relation.as_ref()?, s.where_clause.as_ref()?)
            }
            _ => return None,
        };
        if !is_of_one_row(condition) {
            return None;
        }
        let catalog = self.context.catalog();
        let named = self.context.named_relation(relation).ok()?;
        // (a policy may ask who it is that reads)
        let is_plain = !catalog.stands_for_several(&named) && !named.security.enabled;
        if !is_plain || named.oid != table {
            return None;
        }
        let one =
            ast::AConst { isnull: false, val: Some(ast::a_const::Val::Ival(ast::Integer { ival: 1 })), location: -1 };
        let one = ast::ResTarget { val: Some(node(NodeEnum::AConst(one))), ..Default::default() };
        let select = ast::SelectStmt {
            target_list: vec![*node(NodeEnum::ResTarget(Box::new(one)))],
            from_clause: vec![*node(NodeEnum::RangeVar(relation.clone()))],
            where_clause: Some(condition.clone()),
            limit_option: ast::LimitOption::Default as i32,
            op: ast::SetOperation::SetopNone as i32,
            ..Default::default()
        };
        let connection = self.connection.as_ref()?;
        let columns = Table::read(connection.rusqlite(), &catalog, &named.sqlite_name).ok()?;
        // (SQLite does not tell the values of generated columns)
        if columns.obstacle.is_some() {
            return None;
        }
        let first = prepared.parameters.len() + 1;
        let names: Vec<String> = columns.columns.iter().map(|name| pgsqlite_sql::names::quoted(name)).collect();
        let values: Vec<String> = (first..first + names.len()).map(|i| format!("?{i}")).collect();
        // (the values are compared as those of the table: by the affinities and collations of its columns)
        let (names, values) = (names.join(", "), values.join(", "));
        let name = pgsqlite_sql::lower::table_name(&named);
        let row = format!("(SELECT {names} FROM {name} WHERE 0 UNION ALL SELECT {values})");
        let select = NodeEnum::SelectStmt(Box::new(select));
        let plan = self.context.with_environment(&self.context.view(), |environment| {
            let (statement, parameters) = analyze(environment, &select, &prepared.parameters).ok()?;
            match statement {
                Statement::Query(query) => lower_over_row(environment, &query, parameters, table, row).ok(),
                _ => None,
            }
        })?;
        let named = &plan.query.named;
        let is_of_row = named.tables().count() == 1 && !named.reads_more;
        match &plan.query.steps[..] {
            [step] if is_of_row && plan.parameters.len() == prepared.parameters.len() => Some(step.sql.as_str().into()),
            _ => None,
        }
    }

    /// A statement has changed rows. Errors: 40001.
    pub(in crate::session) fn note_plan_writes(&mut self, plan: &QueryPlan) -> Result<()> {
        if self.context.transaction.watched().is_none() {
            return Ok(());
        }
        if let Some(written) = self.rows_written() {
            return self.note_written_rows(&written);
        }
        let catalog = self.context.catalog();
        let mut changed: Vec<_> = plan.modifies.clone();
        // referential actions change further tables
        let mut at = 0;
        while at < changed.len() && plan.tag != Tag::Insert {
            pgsqlite_types::work::tick(1)?;
            for (table, _) in catalog.referencing(changed[at]) {
                if !changed.contains(&table.oid) {
                    changed.push(table.oid);
                }
            }
            at += 1;
        }
        let runs_more = plan.triggered.is_some() || plan.rewritten.is_some() || plan.has_steps_by_rows();
        let all = runs_more || plan.calls_writers;
        self.note_written_rows(&Written { all, ..Tables::whole(changed) })
    }

    /// The rows that the transaction has changed since this was asked last; None: they are not all recorded.
    fn rows_written(&self) -> Option<Written> {
        let connection = self.connection.as_ref()?;
        let mut recorder = connection.recorder();
        if !recorder.on || recorder.log.obstacle.is_some() {
            return None;
        }
        let log = &recorder.log;
        let tables = self.context.engine.tables_of(connection, log).ok()?;
        let mut rows: HashMap<usize, Vec<Row>> = HashMap::new();
        for change in &log.changes()[log.told()..] {
            let of_table = rows.entry(change.table).or_default();
            for row in log.old(change).into_iter().chain(log.new_row(change)) {
                of_table.push(row.into_iter().map(|value| value.to_owned()).collect());
            }
        }
        // (a table that SQLite's triggers keep has no OID)
        let known = rows.into_iter().filter(|(table, _)| tables[*table].oid != 0);
        let of_tables = known.map(|(table, rows)| (tables[table].oid, Rows::Of(vec![rows.into()])));
        let written = Written { all: false, tables: of_tables.collect() };
        recorder.log.tell();
        Some(written)
    }
}

/// Of tables that are read and written as a whole, no row is asked for.
fn whole(_: &Condition, _: &[Row]) -> bool {
    true
}

fn node(node: NodeEnum) -> Box<ast::Node> {
    Box::new(ast::Node { node: Some(node) })
}

/// Whether a condition says of a row by its values alone whether it is met, whoever asks, and when.
fn is_of_one_row(condition: &ast::Node) -> bool {
    let all = |nodes: &[ast::Node]| nodes.iter().all(is_of_one_row);
    let optional = |node: &Option<Box<ast::Node>>| node.as_deref().is_none_or(is_of_one_row);
    match &condition.node {
        None => true,
        // (what some operators of text search and trigrams say depends on settings)
        Some(NodeEnum::AExpr(e)) => {
            let of_settings = |name: &ast::Node| matches!(&name.node, Some(NodeEnum::String(s)) if s.sval.contains(['%']) || s.sval.contains("@@"));
            !e.name.iter().any(of_settings) && optional(&e.lexpr) && optional(&e.rexpr)
        }
        Some(NodeEnum::BoolExpr(e)) => all(&e.args),
        Some(NodeEnum::NullTest(t)) => optional(&t.arg),
        Some(NodeEnum::BooleanTest(t)) => optional(&t.arg),
        // (what a name of an object means depends on the search path)
        Some(NodeEnum::TypeCast(c)) => {
            let ty = c.type_name.as_ref().and_then(|t| t.names.last()).and_then(|n| n.node.as_ref());
            matches!(ty, Some(NodeEnum::String(name)) if !name.sval.starts_with("reg")) && optional(&c.arg)
        }
        Some(NodeEnum::AArrayExpr(a)) => all(&a.elements),
        Some(NodeEnum::List(l)) => all(&l.items),
        Some(NodeEnum::FuncCall(f)) => {
            let name = f.funcname.last().and_then(|n| n.node.as_ref());
            let Some(NodeEnum::String(name)) = name else { return false };
            all(&f.args) && f.over.is_none() && f.agg_filter.is_none() && is_immutable(&name.sval)
        }
        // (`now` and its kin are other times in other transactions)
        Some(NodeEnum::AConst(c)) => match &c.val {
            Some(ast::a_const::Val::Sval(text)) => {
                let text = text.sval.to_ascii_lowercase();
                !["now", "today", "tomorrow", "yesterday"].iter().any(|word| text.contains(word))
            }
            _ => true,
        },
        Some(NodeEnum::ParamRef(_) | NodeEnum::ColumnRef(_)) => true,
        _ => false,
    }
}

/// Whether all built-in functions of a name are immutable. (Those of users run as `pg_call`, which is asked for apart.)
fn is_immutable(name: &str) -> bool {
    let mut found = pgsqlite_sql::builtins::catalog::procs_named(name).peekable();
    found.peek().is_some() && found.all(|f| f.volatility == b'i')
}
