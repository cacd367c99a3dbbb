//! DEFERRABLE PRIMARY KEY and UNIQUE constraints: checked after their statement, by SET CONSTRAINTS, or at COMMIT.
//!
//! SQLite checks a unique index at each row, so the index of such a constraint is an ordinary one. While a transaction writes,
//! its connection notes the rows that are written of tables with such keys ([`crate::written`]), by whatever; here each of those
//! rows is compared with the others of its table, through the index.

use super::diagnose::printed;
use super::Session;
use crate::connection::Connection;
use crate::written::Rows;
use pgsqlite_sql::catalog::{Column, Constraint, Relation};
use pgsqlite_sql::lower::{rowid_name, table_name};
use pgsqlite_sql::parse::NodeEnum;
use pgsqlite_types::codec::Context;
use pgsqlite_types::{Datum, PgError, Result, SqlState};
use std::sync::Arc;

/// What a transaction knows of its deferrable keys.
#[derive(Debug, Default)]
pub(super) struct Watch {
    /// the catalog's epoch that the connection was told of
    epoch: Option<u64>,
    /// tables are watched
    on: bool,
    /// rows noted up to here are checked, as far as their keys are immediate
    checked: u64,
}

/// A deferrable key of a table.
struct Key<'a> {
    table: &'a Relation,
    columns: Vec<&'a Column>,
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

impl<'a> Key<'a> {
    fn new(table: &'a Relation, constraint: &'a Constraint) -> Result<Key<'a>> {
        let columns: Option<Vec<&Column>> = constraint.columns.iter().map(|a| table.column_by_attnum(*a)).collect();
        let columns = columns.ok_or_else(|| PgError::internal("a key on a column that is not there"))?;
        Ok(Key { table, columns })
    }

    /// The key of a row that has the same key as one that was there before it (or of any row).
    fn violation(&self, connection: &Connection, rows: &Rows, rowid: Option<i64>) -> Result<Option<Vec<Datum>>> {
        let id = rowid_name(self.table)?;
        let names: Vec<String> = self.columns.iter().map(|c| quoted(&c.name)).collect();
        let values: Vec<String> = names.iter().map(|n| format!("n.{n}")).collect();
        let equal: Vec<String> = names.iter().map(|n| format!("o.{n} = n.{n}")).collect();
        let table = table_name(self.table);
        let mut sql = format!(
            "SELECT o.{id}, {} FROM {table} AS n, {table} AS o WHERE {} AND o.{id} <> n.{id}",
            values.join(", "),
            equal.join(" AND ")
        );
        let Some(rowid) = rowid else {
            sql.push_str(" LIMIT 1");
            return Ok(connection.first_row(&sql, &[])?.map(|mut row| row.split_off(1)));
        };
        sql.push_str(&format!(" AND n.{id} = ?1"));
        let when = rows.when(rowid);
        for mut row in connection.all_rows(&sql, &[Datum::Int(rowid)])? {
            // of two new rows the later one is told
            let Datum::Int(other) = row[0] else { return Err(PgError::internal("a rowid that is no integer")) };
            if rows.when(other) < when {
                return Ok(Some(row.split_off(1)));
            }
        }
        Ok(None)
    }
}

impl Session {
    /// Before a statement writes: the connection notes the rows of tables with deferrable keys.
    pub(super) fn watch_keys(&mut self) -> Result<()> {
        let catalog = self.catalog();
        if self.transaction.keys.epoch == Some(catalog.epoch) {
            return Ok(());
        }
        let mut tables = catalog.tables_with_deferrable_keys().peekable();
        let on = tables.peek().is_some();
        let connection = self.connection.as_mut().ok_or_else(|| PgError::internal("no connection"))?;
        if on || connection.written().is_watching() {
            if self.transaction.keys.epoch.is_none() {
                connection.written().clear();
            }
            connection.watch(tables.map(|t| (t.temporary, t.sqlite_name.clone())))?;
        }
        self.transaction.keys.epoch = Some(catalog.epoch);
        self.transaction.keys.on = on;
        Ok(())
    }

    /// After a statement: 23505 for a key that is immediate now and that a row written by the statement has twice.
    pub(super) fn check_written_keys(&mut self) -> Result<()> {
        if !self.transaction.keys.on {
            return Ok(());
        }
        self.check_keys_since(self.transaction.keys.checked)?;
        let modes = &self.transaction.constraints;
        let waits =
            self.catalog().tables_with_deferrable_keys().any(|t| t.deferrable_keys().any(|c| modes.is_deferred(c)));
        let connection = self.connection()?;
        let checked = if waits {
            connection.written().now()
        } else {
            connection.written().clear();
            0
        };
        self.transaction.keys.checked = checked;
        Ok(())
    }

    /// SET CONSTRAINTS: 23505 for a key that is immediate now and that a row of the transaction has twice.
    pub(super) fn check_all_immediate_keys(&mut self) -> Result<()> {
        match self.transaction.keys.on {
            true => self.check_keys_since(0),
            false => Ok(()),
        }
    }

    fn check_keys_since(&self, since: u64) -> Result<()> {
        let modes = self.transaction.constraints.clone();
        match self.key_violated(since, |c| !modes.is_deferred(c))? {
            Some((_, error)) => Err(error),
            None => Ok(()),
        }
    }

    /// At COMMIT: 23505 for a key that a row of the transaction has twice.
    pub(super) fn check_keys_at_commit(&self) -> Result<()> {
        if !self.transaction.keys.on {
            return Ok(());
        }
        match self.key_violated(0, |_| true)? {
            Some((_, error)) => Err(error),
            None => Ok(()),
        }
    }

    /// Before a change of a table's definition: 55006 if a key of it waits to be checked and would fail now.
    pub(super) fn check_no_pending_keys(&self, node: &NodeEnum) -> Result<()> {
        if !self.transaction.keys.on {
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
        Ok(self.key_violated(0, |_| true)?.map(|(table, _)| table.name.clone()).filter(|table| table == name))
    }

    /// The first row written after `since` that has one of the wanted keys twice.
    fn key_violated(
        &self,
        since: u64,
        wanted: impl Fn(&Constraint) -> bool,
    ) -> Result<Option<(Arc<Relation>, PgError)>> {
        let view = self.view();
        let connection = self.connection()?;
        let context = Context { settings: &self.gucs.typed, names: &*view };
        // (when, table, its rows, row)
        let mut events: Vec<(u64, &Arc<Relation>, Arc<Rows>, Option<i64>)> = Vec::new();
        for table in view.catalog.tables_with_deferrable_keys() {
            let Some(rows) = connection.written().of(table.temporary, &table.sqlite_name).cloned().map(Arc::new) else {
                continue;
            };
            if rows.all {
                events.push((0, table, rows, None));
                continue;
            }
            for rowid in rows.since(since) {
                events.push((rows.when(rowid).unwrap_or(0), table, rows.clone(), Some(rowid)));
            }
        }
        events.sort_by_key(|e| e.0);
        for (_, table, rows, rowid) in events {
            for constraint in table.deferrable_keys().filter(|c| wanted(c)) {
                let key = Key::new(table, constraint)?;
                let Some(values) = key.violation(connection, &rows, rowid)? else { continue };
                let mut shown = Vec::new();
                for (column, value) in key.columns.iter().zip(&values) {
                    shown.push(printed(&view.catalog, &context, column.type_oid, value)?);
                }
                let names: Vec<&str> = key.columns.iter().map(|c| c.name.as_str()).collect();
                let error = PgError::new(
                    SqlState::UNIQUE_VIOLATION,
                    format!("duplicate key value violates unique constraint \"{}\"", constraint.name),
                )
                .detail(format!("Key ({})=({}) already exists.", names.join(", "), shown.join(", ")))
                .schema(view.catalog.schema_name(table.schema))
                .table(table.name.clone())
                .constraint(constraint.name.clone());
                return Ok(Some((table.clone(), error)));
            }
        }
        Ok(None)
    }
}

fn in_use(command: &str, table: &str) -> PgError {
    PgError::new(SqlState::OBJECT_IN_USE, format!("cannot {command} \"{table}\" because it has pending trigger events"))
}
