//! Foreign keys that SQLite carries out, looked at while it waits with them.

use super::{Looking, Reads};
use crate::diagnose::{missing_parent, printed, still_referenced};
use pgsqlite_sql::acl;
use pgsqlite_sql::catalog::{Catalog, Constraint, ConstraintKind, ForeignKeyAction, Relation};
use pgsqlite_sql::foreign_key::action;
use pgsqlite_sql::lower::table_name;
use pgsqlite_sql::names::quoted;
use pgsqlite_types::{Datum, PgError, Result};
use std::sync::Arc;

/// A foreign key with its tables.
pub struct ForeignKey {
    pub child: Arc<Relation>,
    pub parent: Arc<Relation>,
    constraint: Constraint,
}

/// The foreign keys that SQLite knows of, of those that `wanted` takes.
pub fn foreign_keys(catalog: &Catalog, wanted: impl Fn(&Constraint) -> bool) -> Vec<ForeignKey> {
    let mut keys = Vec::new();
    for child in catalog.relations.values() {
        // (what SQLite does not know of it does not wait with)
        for constraint in child.constraints.iter().filter(|c| !c.managed && wanted(c)) {
            let ConstraintKind::ForeignKey { references, .. } = &constraint.kind else { continue };
            let Some(parent) = catalog.relation(*references) else { continue };
            keys.push(ForeignKey { child: child.clone(), parent: parent.clone(), constraint: constraint.clone() });
        }
    }
    keys.sort_by_key(|k| k.constraint.oid);
    keys
}

impl ForeignKey {
    /// The names of the referencing and of the referenced columns.
    fn columns(&self) -> Result<(Vec<&str>, Vec<&str>)> {
        let ConstraintKind::ForeignKey { columns, .. } = &self.constraint.kind else {
            return Err(PgError::internal("not a foreign key"));
        };
        fn names<'a>(relation: &'a Relation, attnums: &[i16]) -> Option<Vec<&'a str>> {
            attnums.iter().map(|a| relation.column_by_attnum(*a).map(|c| c.name.as_str())).collect()
        }
        let own = names(&self.child, &self.constraint.columns);
        own.zip(names(&self.parent, columns)).ok_or_else(|| PgError::internal("a foreign key on a missing column"))
    }

    /// SQL: whether the referenced table has a row with these values.
    fn present(&self, values: &[String]) -> Result<String> {
        let (_, columns) = self.columns()?;
        let equal: Vec<String> = columns.iter().zip(values).map(|(c, v)| format!("p.{} = {v}", quoted(c))).collect();
        Ok(format!("EXISTS (SELECT 1 FROM {} AS p WHERE {})", table_name(&self.parent), equal.join(" AND ")))
    }

    /// The key of a row that references nothing: of several the one that was stored first.
    pub fn violation(&self, connection: &dyn Reads) -> Result<Option<Vec<Datum>>> {
        let (own, _) = self.columns()?;
        let values: Vec<String> = own.iter().map(|c| format!("c.{}", quoted(c))).collect();
        let given: Vec<String> = values.iter().map(|v| format!("{v} IS NOT NULL")).collect();
        let order = if self.child.without_rowid { "" } else { " ORDER BY c._rowid_" };
        let sql = format!(
            "SELECT {} FROM {} AS c WHERE {} AND NOT {}{order} LIMIT 1",
            values.join(", "),
            table_name(&self.child),
            given.join(" AND "),
            self.present(&values)?
        );
        connection.first_row(&sql, &[])
    }

    /// 23503 (23001 of RESTRICT) as PostgreSQL words it. Of the database without the transaction: a referenced row that was there
    /// has been taken away, else the referencing one is new.
    fn error(&self, key: &[Datum], looking: &Looking) -> Result<PgError> {
        let Looking { catalog, context, role, .. } = *looking;
        let (own, other) = self.columns()?;
        let (child, parent, name) = (&self.child.name, &self.parent.name, &self.constraint.name);
        let places: Vec<String> = (1..=key.len()).map(|i| format!("?{i}")).collect();
        let sql = format!("SELECT {}", self.present(&places)?);
        // a table that the transaction made is not there for others: then neither was the row
        let was_there = (looking.was)(&sql, key);
        let mut shown = Vec::new();
        for (column, value) in own.iter().zip(key) {
            let ty = self.child.column(column).map_or(0, |c| c.type_oid);
            shown.push(printed(catalog, context, ty, value)?);
        }
        let (columns, told) = if was_there { (other, &self.parent) } else { (own, &self.child) };
        let attnums: Vec<i16> = columns.iter().filter_map(|c| told.column(c)).map(|c| c.attnum).collect();
        let key = match acl::may_see(catalog, role, told, &attnums) {
            true => format!("Key ({})=({})", columns.join(", "), shown.join(", ")),
            false => "Key".to_string(),
        };
        let child = (catalog.schema_name(self.child.schema), child.as_str());
        let restricts =
            looking.event.is_some_and(|event| action(&self.constraint, event) == ForeignKeyAction::Restrict);
        Ok(match was_there {
            true => still_referenced(child, name, &key, parent, restricts),
            false => missing_parent(child, name, &key, parent),
        })
    }
}

/// The error of the first key, of those that `wanted` takes, that a row violates.
pub fn violated(looking: &Looking, wanted: impl Fn(&Constraint) -> bool) -> Result<Option<PgError>> {
    for key in foreign_keys(looking.catalog, wanted) {
        if let Some(values) = key.violation(looking.now)? {
            return key.error(&values, looking).map(Some);
        }
    }
    Ok(None)
}
