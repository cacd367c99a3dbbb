//! DEFERRABLE PRIMARY KEY, UNIQUE and EXCLUDE constraints: checked after their statement, by SET CONSTRAINTS, or at COMMIT.
//!
//! SQLite checks a unique index at each row, so the index of such a constraint is an ordinary one. While a transaction writes,
//! its connection notes the rows that are written of tables with such keys ([`pgsqlite_storage::written`]), by whatever; here each of those
//! rows is compared with the others of its table, through the index.

use crate::connection::Connection;
use crate::diagnose::printed;
use crate::session::executor::Executor;
use pgsqlite_objects::exclusion_violation::violation;
use pgsqlite_sql::acl;
use pgsqlite_sql::analyze::Environment;
use pgsqlite_sql::catalog::{Catalog, Column, Constraint, ConstraintKind, Relation};
use pgsqlite_sql::lower::exclusion::exclusion;
use pgsqlite_sql::lower::{rowid_name, table_name};
use pgsqlite_sql::names::quoted;
use pgsqlite_sql::parse::NodeEnum;
use pgsqlite_sql::plan::Exclusion;
use pgsqlite_storage::written::Rows;
use pgsqlite_types::codec::Context;
use pgsqlite_types::work;
use pgsqlite_types::{Datum, Oid, PgError, Result, SqlState};
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

/// A deferrable constraint of a table: the query of the rows that may not stand beside each other.
enum Key<'a> {
    Unique { table: &'a Relation, columns: Vec<&'a Column>, nulls_not_distinct: bool },
    Exclusion(Exclusion),
}

impl<'a> Key<'a> {
    fn new(environment: &Environment, table: &'a Relation, constraint: &'a Constraint) -> Result<Key<'a>> {
        if constraint.kind == ConstraintKind::Exclusion {
            let index = environment.catalog.relation(constraint.index);
            let index = index.ok_or_else(|| PgError::damaged_catalog("an exclusion constraint has no index"))?;
            return Ok(Key::Exclusion(exclusion(environment, table, index)?));
        }
        let columns: Option<Vec<&Column>> = constraint.columns.iter().map(|a| table.column_by_attnum(*a)).collect();
        let columns = columns.ok_or_else(|| PgError::internal("a key on a column that is not there"))?;
        let nulls_not_distinct = constraint.kind == ConstraintKind::Unique { nulls_not_distinct: true };
        Ok(Key::Unique { table, columns, nulls_not_distinct })
    }

    /// SQL: the rowids of rows that may not stand beside a row (`?1`; `any`: of one such pair), with the values that the error tells.
    fn query(&self, any: bool) -> Result<String> {
        let (table, columns, equals) = match self {
            Key::Unique { table, columns, nulls_not_distinct } => {
                (table, columns, if *nulls_not_distinct { "IS" } else { "=" })
            }
            Key::Exclusion(exclusion) if any => return Ok(exclusion.any.clone()),
            Key::Exclusion(exclusion) => return Ok(exclusion.of_row.clone()),
        };
        let id = rowid_name(table)?;
        let names: Vec<String> = columns.iter().map(|c| quoted(&c.name)).collect();
        let values: Vec<String> = names.iter().map(|n| format!("n.{n}")).collect();
        let equal: Vec<String> = names.iter().map(|n| format!("o.{n} {equals} n.{n}")).collect();
        let table = table_name(table);
        let end = if any { " LIMIT 1".to_string() } else { format!(" AND n.{id} = ?1") };
        Ok(format!(
            "SELECT o.{id}, {} FROM {table} AS n, {table} AS o WHERE {} AND o.{id} <> n.{id}{end}",
            values.join(", "),
            equal.join(" AND ")
        ))
    }

    /// What the error tells of a row that has the same key as one that was there before it (or of any row).
    fn violation(&self, connection: &Connection, rows: &Rows, rowid: Option<i64>) -> Result<Option<Vec<Datum>>> {
        let sql = self.query(rowid.is_none())?;
        let Some(rowid) = rowid else {
            return Ok(connection.first_row(&sql, &[])?.map(|mut row| row.split_off(1)));
        };
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

    fn error(
        &self,
        catalog: &Catalog,
        context: &Context,
        (table, role): (&Relation, Oid),
        name: &str,
        values: &[Datum],
    ) -> Result<PgError> {
        let schema = catalog.schema_name(table.schema);
        let types: Vec<Oid> = match self {
            Key::Unique { columns, .. } => columns.iter().map(|c| c.type_oid).collect(),
            Key::Exclusion(exclusion) => exclusion.types.iter().chain(&exclusion.types).copied().collect(),
        };
        let shown: Vec<String> =
            types.iter().zip(values).map(|(ty, v)| printed(catalog, context, *ty, v)).collect::<Result<_>>()?;
        let columns = match self {
            Key::Unique { columns, .. } => columns,
            Key::Exclusion(exclusion) => {
                let seen = acl::may_see(catalog, role, table, &[]);
                return Ok(violation(exclusion, schema, &table.name, &shown, seen));
            }
        };
        let names: Vec<&str> = columns.iter().map(|c| c.name.as_str()).collect();
        let attnums: Vec<i16> = columns.iter().map(|c| c.attnum).collect();
        let message = format!("duplicate key value violates unique constraint \"{name}\"");
        let error = PgError::new(SqlState::UNIQUE_VIOLATION, message);
        let error = match acl::may_see(catalog, role, table, &attnums) {
            true => error.detail(format!("Key ({})=({}) already exists.", names.join(", "), shown.join(", "))),
            false => error,
        };
        Ok(error.schema(schema).table(table.name.clone()).constraint(name))
    }
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
        let connection = self.connection()?;
        let context = Context { settings: &self.context.gucs.typed, names: &*view };
        // (when, table, its rows, row)
        let mut events: Vec<(u64, &Arc<Relation>, Arc<Rows>, Option<i64>)> = Vec::new();
        for table in view.catalog.tables_with_deferrable_keys() {
            work::tick(1)?;
            let Some(rows) = connection.written().of(table.temporary, &table.sqlite_name).cloned().map(Arc::new) else {
                continue;
            };
            if rows.all {
                events.push((0, table, rows, None));
                continue;
            }
            for rowid in rows.since(since) {
                work::tick(1)?;
                events.push((rows.when(rowid).unwrap_or(0), table, rows.clone(), Some(rowid)));
            }
        }
        events.sort_by_key(|e| e.0);
        for (_, table, rows, rowid) in events {
            work::tick(1)?;
            for constraint in table.deferrable_keys().filter(|c| wanted(c)) {
                let key =
                    self.context.with_environment(&view, |environment| Key::new(environment, table, constraint))?;
                let Some(values) = key.violation(connection, &rows, rowid)? else { continue };
                let error = key.error(&view.catalog, &context, (table, view.user), &constraint.name, &values)?;
                return Ok(Some((table.clone(), error)));
            }
        }
        Ok(None)
    }
}

fn in_use(command: &str, table: &str) -> PgError {
    PgError::new(SqlState::OBJECT_IN_USE, format!("cannot {command} \"{table}\" because it has pending trigger events"))
}
