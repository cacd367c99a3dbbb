//! DEFERRABLE PRIMARY KEY, UNIQUE and EXCLUDE constraints: the rows that a connection has noted are compared with the others of their tables.

use super::{Looking, Reads};
use crate::diagnose::printed;
use pgsqlite_objects::exclusion_violation::violation;
use pgsqlite_sql::acl;
use pgsqlite_sql::analyze::Environment;
use pgsqlite_sql::catalog::{Column, Constraint, ConstraintKind, Relation};
use pgsqlite_sql::lower::exclusion::exclusion;
use pgsqlite_sql::lower::{rowid_name, table_name};
use pgsqlite_sql::names::quoted;
use pgsqlite_sql::plan::Exclusion;
use pgsqlite_storage::written::{Rows, Written};
use pgsqlite_types::work;
use pgsqlite_types::{Datum, Oid, PgError, Result, SqlState};
use std::sync::Arc;

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
    fn violation(&self, connection: &dyn Reads, rows: &Rows, rowid: Option<i64>) -> Result<Option<Vec<Datum>>> {
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

    fn error(&self, looking: &Looking, table: &Relation, name: &str, values: &[Datum]) -> Result<PgError> {
        let Looking { catalog, context, role, .. } = *looking;
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

/// The first row written after `since` that has one of the wanted keys twice: its table and the error. Errors: also those of requests.
pub fn violated(
    looking: &Looking,
    environment: &Environment,
    written: &dyn Fn(&Relation) -> Option<Arc<Rows>>,
    since: u64,
    wanted: impl Fn(&Constraint) -> bool,
) -> Result<Option<(Arc<Relation>, PgError)>> {
    // (when, table, its rows, row)
    let mut events: Vec<(u64, &Arc<Relation>, Arc<Rows>, Option<i64>)> = Vec::new();
    for table in looking.catalog.tables_with_deferrable_keys() {
        work::tick(1)?;
        let Some(rows) = written(table) else { continue };
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
            let key = Key::new(environment, table, constraint)?;
            let Some(values) = key.violation(looking.now, &rows, rowid)? else { continue };
            let error = key.error(looking, table, &constraint.name, &values)?;
            return Ok(Some((table.clone(), error)));
        }
    }
    Ok(None)
}

/// The rows of a table that a connection has noted.
pub fn rows_of(written: &Written, table: &Relation) -> Option<Arc<Rows>> {
    written.of(table.temporary, &table.sqlite_name).cloned().map(Arc::new)
}
