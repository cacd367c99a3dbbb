//! Violations of constraints, as SQLite reports them → PostgreSQL's errors, with the names of constraint, table and column. All other
//! errors of SQLite are translated by [`pgsqlite_storage::error`].

use libsqlite3_sys as ffi;
use pgsqlite_sql::catalog::{Catalog, ConstraintKind, Relation, RelationKind};
use pgsqlite_types::{PgError, SqlState};
use std::sync::Arc;

/// An error of a statement. `catalog` lets constraint violations be named.
pub fn from_sqlite(code: i32, message: &str, catalog: Option<&Catalog>) -> PgError {
    match code {
        ffi::SQLITE_CONSTRAINT_UNIQUE | ffi::SQLITE_CONSTRAINT_PRIMARYKEY | ffi::SQLITE_CONSTRAINT_ROWID => {
            unique_violation(message, catalog)
        }
        ffi::SQLITE_CONSTRAINT_NOTNULL => not_null_violation(message, catalog),
        ffi::SQLITE_CONSTRAINT_CHECK => {
            let name = message.split_once(": ").map_or(message, |(_, name)| name);
            if let Some(known) = catalog.and_then(|c| sqlite_check_violation(name, c)) {
                return known;
            }
            PgError::new(SqlState::CHECK_VIOLATION, format!("new row violates check constraint \"{name}\""))
                .constraint(name)
        }
        _ => pgsqlite_storage::error::from_sqlite(code, message),
    }
}

/// `UNIQUE constraint failed: t.a, t.b` → the relation and the columns' names.
fn failed_columns<'a>(message: &'a str, catalog: Option<&'a Catalog>) -> Option<(&'a Arc<Relation>, Vec<String>)> {
    let list = message.split_once("constraint failed: ")?.1;
    let catalog = catalog?;
    // The table's name may hold dots itself: find the relation whose SQLite name is a prefix.
    let relation = catalog
        .relations
        .values()
        .filter(|r| {
            r.kind == RelationKind::Table && list.strip_prefix(&r.sqlite_name).is_some_and(|rest| rest.starts_with('.'))
        })
        .max_by_key(|r| r.sqlite_name.len())?;
    let prefix = format!("{}.", relation.sqlite_name);
    let columns = list.split(", ").map(|c| c.strip_prefix(&prefix).unwrap_or(c).to_string()).collect();
    Some((relation, columns))
}

/// A CHECK of a table that another program made: SQLite tells its name or, if it has none, its condition. None: no table has
/// it, or several have.
fn sqlite_check_violation(said: &str, catalog: &Catalog) -> Option<PgError> {
    let mut found = catalog
        .relations
        .values()
        .flat_map(|r| r.constraints.iter().map(move |c| (r, c)))
        .filter(|(_, c)| matches!(&c.kind, ConstraintKind::SqliteCheck { text } if text == said || c.name == said));
    let (relation, check) = found.next().filter(|_| found.next().is_none())?;
    let message = format!("new row for relation \"{}\" violates check constraint \"{}\"", relation.name, check.name);
    Some(
        PgError::new(SqlState::CHECK_VIOLATION, message)
            .schema(catalog.schema_name(relation.schema))
            .table(relation.name.clone())
            .constraint(check.name.clone()),
    )
}

fn unique_violation(message: &str, catalog: Option<&Catalog>) -> PgError {
    // an index on expressions is named itself
    if let Some(name) = message.split_once("index '").and_then(|(_, rest)| rest.strip_suffix('\'')) {
        let name = name.rsplit('.').next().unwrap_or(name);
        let number = name.strip_prefix(pgsqlite_sql::lower::NULLS_INDEX).and_then(|n| n.parse().ok());
        let own = number.and_then(|oid| catalog.and_then(|c| c.relation(oid)));
        let name = own.map_or(name, |index| index.name.as_str());
        return PgError::new(
            SqlState::UNIQUE_VIOLATION,
            format!("duplicate key value violates unique constraint \"{name}\""),
        )
        .constraint(name);
    }
    let Some((relation, columns)) = failed_columns(message, catalog) else {
        return PgError::new(SqlState::UNIQUE_VIOLATION, "duplicate key value violates a unique constraint");
    };
    let attnums: Vec<i16> = columns.iter().filter_map(|c| relation.column(c).map(|c| c.attnum)).collect();
    let constraint = relation
        .constraints
        .iter()
        .find(|c| matches!(c.kind, ConstraintKind::PrimaryKey | ConstraintKind::Unique { .. }) && c.columns == attnums)
        .map(|c| c.name.clone());
    let index = catalog.and_then(|catalog| {
        catalog
            .indexes_of(relation.oid)
            .find(|(_, i)| {
                i.unique
                    && i.columns
                        .iter()
                        .map(|c| match &c.key {
                            pgsqlite_sql::catalog::KeyPart::Column(a) => *a,
                            pgsqlite_sql::catalog::KeyPart::Expression(_) => 0,
                        })
                        .eq(attnums.iter().copied())
            })
            .map(|(r, _)| r.name.clone())
    });
    let name = constraint.or(index).unwrap_or_else(|| format!("{}_key", relation.name));
    let schema = catalog.and_then(|c| c.schemas.get(&relation.schema)).map_or("public".to_string(), |s| s.name.clone());
    PgError::new(SqlState::UNIQUE_VIOLATION, format!("duplicate key value violates unique constraint \"{name}\""))
        .schema(schema)
        .table(relation.name.clone())
        .constraint(name)
}

fn not_null_violation(message: &str, catalog: Option<&Catalog>) -> PgError {
    let Some((relation, columns)) = failed_columns(message, catalog) else {
        return PgError::new(SqlState::NOT_NULL_VIOLATION, "null value violates a not-null constraint");
    };
    let column = columns.first().cloned().unwrap_or_default();
    let schema = catalog.and_then(|c| c.schemas.get(&relation.schema)).map_or("public".to_string(), |s| s.name.clone());
    PgError::new(
        SqlState::NOT_NULL_VIOLATION,
        format!("null value in column \"{column}\" of relation \"{}\" violates not-null constraint", relation.name),
    )
    .schema(schema)
    .table(relation.name.clone())
    .column(column)
}
