//! What SERIALIZABLE transactions read and write ([`crate::locks::serializable`]).

use super::readers::tables_of;
use super::Session;
use crate::locks::serializable::Tables;
use pgsqlite_sql::parse::NodeEnum;
use pgsqlite_sql::plan::{QueryPlan, Tag};
use pgsqlite_types::Result;

impl Session {
    /// A statement of a serializable transaction begins: before its snapshot is taken.
    pub(super) fn watch_serializable(&mut self) {
        let t = &mut self.transaction;
        let serializable = t.serializable || self.gucs.often.default_serializable && !t.block.is_explicit();
        if serializable && t.watched.is_none() && !t.block.is_failed() {
            t.watched = Some(self.engine.serializable.begin(t.read_only));
        }
    }

    /// The transaction is about to run a plan. Errors: 40001.
    pub(super) fn note_plan_reads(&self, plan: &QueryPlan) -> Result<()> {
        match &self.transaction.watched {
            None => Ok(()),
            Some(watched) => watched.reads(&self.tables_read(plan)),
        }
    }

    /// The transaction has met a row where it wanted to insert one. Errors: 40001.
    pub(super) fn note_met(&self, sqlite_name: &str) -> Result<()> {
        let Some(watched) = &self.transaction.watched else { return Ok(()) };
        let name = super::readers::written(sqlite_name).into_boxed_str();
        let table = Tables { all: false, names: [name].into() };
        watched.writes(&table)?;
        watched.reads(&table)
    }

    /// The tables that a plan reads. (What an INSERT alone names is not read.)
    fn tables_read(&self, plan: &QueryPlan) -> Tables {
        let runs_more = plan.triggered.is_some() || plan.rewritten.is_some() || plan.has_steps_by_rows();
        // (a function of the user may read anything)
        if runs_more || plan.calls_writers || plan.steps.iter().any(|s| s.sql.contains("pg_call")) {
            return Tables::all();
        }
        let catalog = self.catalog();
        let mut tables = Tables::default();
        for step in &plan.steps {
            let mut named: Vec<String> = tables_of(&step.sql).collect();
            if plan.tag == Tag::Insert {
                for target in plan.modifies.iter().filter_map(|t| catalog.relation(*t)) {
                    let name = super::readers::written(&target.sqlite_name);
                    if let Some(at) = named.iter().position(|n| *n == name) {
                        named.remove(at);
                    }
                }
            }
            tables.names.extend(named.into_iter().map(String::into_boxed_str));
        }
        tables
    }

    /// A statement has changed rows. Errors: 40001.
    pub(super) fn note_plan_writes(&self, plan: &QueryPlan) -> Result<()> {
        let Some(watched) = &self.transaction.watched else { return Ok(()) };
        let catalog = self.catalog();
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
        let names = changed.iter().filter_map(|t| catalog.relation(*t));
        let names = names.map(|r| super::readers::written(&r.sqlite_name).into_boxed_str()).collect();
        let tables = Tables { all: runs_more || plan.calls_writers, names };
        watched.writes(&tables)
    }

    /// A statement without a plan begins. Errors: 40001.
    pub(super) fn note_utility(&self, node: &NodeEnum) -> Result<()> {
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
    pub(super) fn note_anything(&self, writes: bool) -> Result<()> {
        let Some(watched) = &self.transaction.watched else { return Ok(()) };
        watched.reads(&Tables::all())?;
        match writes {
            true => watched.writes(&Tables::all()),
            false => Ok(()),
        }
    }
}
