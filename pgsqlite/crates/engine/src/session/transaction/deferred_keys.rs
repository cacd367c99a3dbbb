//! DEFERRABLE PRIMARY KEY, UNIQUE and EXCLUDE constraints: checked after their statement, by SET CONSTRAINTS, or at COMMIT.
//!
//! SQLite checks a unique index at each row, so the index of such a constraint is an ordinary one. While a transaction writes,
//! its connection notes the rows that are written of tables with such keys ([`pgsqlite_storage::written`]), by whatever; here each of those
//! rows is compared with the others of its table, through the index.

use crate::constraints::{keys, Looking};
use crate::session::executor::Executor;
use pgsqlite_sql::catalog::{Constraint, Relation};
use pgsqlite_sql::parse::NodeEnum;
use pgsqlite_types::codec::Context;
use pgsqlite_types::{Datum, PgError, Result, SqlState};
use std::sync::Arc;

impl Watch {
    /// Whether tables are watched.
    pub(in crate::session) fn watches(&self) -> bool {
        self.on
    }
}

/// What a transaction knows of its deferrable keys.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::session) struct Watch {
    /// the catalog's epoch that the connection was told of
    epoch: Option<u64>,
    /// tables are watched
    on: bool,
    /// rows noted up to here are checked, as far as their keys are immediate
    checked: u64,
}

impl Executor {
    /// Before a statement writes: the connection notes the rows of tables with deferrable keys.
    pub(in crate::session) fn watch_keys(&mut self) -> Result<()> {
        let catalog = self.context.catalog();
        if self.context.transaction.keys().epoch == Some(catalog.epoch) {
            return Ok(());
        }
        let mut tables = catalog.tables_with_deferrable_keys().peekable();
        let on = tables.peek().is_some();
        let connection = self.connection()?;
        if on || connection.written().is_watching() {
            if self.context.transaction.keys().epoch.is_none() {
                connection.written().clear();
            }
            connection.watch(tables.map(|t| (t.temporary, t.sqlite_name.clone())));
        }
        let checked = self.context.transaction.keys().checked;
        self.context.transaction.set_keys(Watch { epoch: Some(catalog.epoch), on, checked });
        Ok(())
    }

    /// After a statement: 23505 (23P01) for a key that is immediate now and that a row written by the statement has twice.
    pub(in crate::session) fn check_written_keys(&mut self) -> Result<()> {
        if !self.context.transaction.keys().on {
            return Ok(());
        }
        self.check_keys_since(self.context.transaction.keys().checked)?;
        let modes = self.context.transaction.constraints();
        let waits = self
            .context
            .catalog()
            .tables_with_deferrable_keys()
            .any(|t| t.deferrable_keys().any(|c| modes.is_deferred(c)));
        let connection = self.connection()?;
        // (after ROLLBACK TO a key may be deferred again that is immediate now: what was written before the savepoint stays noted)
        let checked = if waits || !self.context.transaction.savepoints().is_empty() {
            connection.written().now()
        } else {
            connection.written().clear();
            0
        };
        self.context.transaction.set_keys(Watch { checked, ..self.context.transaction.keys() });
        Ok(())
    }

    /// SET CONSTRAINTS: 23505 for a key that is immediate now and that a row of the transaction has twice.
    pub(in crate::session) fn check_all_immediate_keys(&mut self) -> Result<()> {
        match self.context.transaction.keys().on {
            true => self.check_keys_since(0),
            false => Ok(()),
        }
    }

    fn check_keys_since(&self, since: u64) -> Result<()> {
        let modes = self.context.transaction.constraints().clone();
        match self.key_violated(since, |c| !modes.is_deferred(c))? {
            Some((_, error)) => Err(error),
            None => Ok(()),
        }
    }

    /// At COMMIT: 23505 for a key that a row of the transaction has twice.
    pub(in crate::session) fn check_keys_at_commit(&self) -> Result<()> {
        if !self.context.transaction.keys().on {
            return Ok(());
        }
        match self.key_violated(0, |_| true)? {
            Some((_, error)) => Err(error),
            None => Ok(()),
        }
    }

    /// Before a change of a table's definition: 55006 if a key of it waits to be checked and would fail now.
    pub(in crate::session) fn check_no_pending_keys(&self, node: &NodeEnum) -> Result<()> {
        if !self.context.transaction.keys().on && !self.connection()?.has_deferred_violations() {
            return Ok(());
        }
        let (command, names): (&str, Vec<&str>) = match node {
            NodeEnum::AlterTableStmt(s) => ("ALTER TABLE", s.relation.iter().map(|r| r.relname.as_str()).collect()),
            NodeEnum::RenameStmt(s) => ("ALTER TABLE", s.relation.iter().map(|r| r.relname.as_str()).collect()),
            NodeEnum::IndexStmt(s) => ("CREATE INDEX", s.relation.iter().map(|r| r.relname.as_str()).collect()),
            NodeEnum::TruncateStmt(s) => {
                let name = |n: &'_ pgsqlite_sql::parse::ast::Node| match &n.node {
                    Some(NodeEnum::RangeVar(r)) => Some(r.relname.clone()),
                    _ => None,
                };
                let found = s.relations.iter().filter_map(name).find_map(|n| self.pending(&n).transpose());
                return found.map_or(Ok(()), |table| Err(in_use("TRUNCATE", &table?)));
            }
            _ => return Ok(()),
        };
        for name in names {
            if let Some(table) = self.pending(name)? {
                return Err(in_use(command, &table));
            }
        }
        Ok(())
    }

    /// The name, if a table of it has a violated key.
    fn pending(&self, name: &str) -> Result<Option<String>> {
        if self.violated_in_sqlite(name)? {
            return Ok(Some(name.to_string()));
        }
        if !self.context.transaction.keys().on {
            return Ok(None);
        }
        Ok(self.key_violated(0, |_| true)?.map(|(table, _)| table.name.clone()).filter(|table| table == name))
    }

    /// The first row written after `since` that has one of the wanted keys twice. Errors: also those of requests.
    fn key_violated(
        &self,
        since: u64,
        wanted: impl Fn(&Constraint) -> bool,
    ) -> Result<Option<(Arc<Relation>, PgError)>> {
        // (it only reads: what has been written stays)
        let interrupt = Some(self.connection()?.interrupt_handle());
        self.context.cancel.work(self.context.begins_here(), interrupt, || self.find_violated(since, wanted))
    }

    fn find_violated(
        &self,
        since: u64,
        wanted: impl Fn(&Constraint) -> bool,
    ) -> Result<Option<(Arc<Relation>, PgError)>> {
        let view = self.context.view();
        let now = self.connection()?;
        let context = Context { settings: &self.context.gucs.typed, names: &*view };
        let was = |_: &str, _: &[Datum]| false;
        let looking =
            Looking { catalog: &view.catalog, context: &context, role: view.user, now, was: &was, event: None };
        let written = |table: &Relation| keys::rows_of(&now.written(), table);
        self.context.with_environment(&view, |e| keys::violated(&looking, e, &written, since, &wanted))
    }
}

fn in_use(command: &str, table: &str) -> PgError {
    PgError::new(SqlState::OBJECT_IN_USE, format!("cannot {command} \"{table}\" because it has pending trigger events"))
}
