//! Constraints that are checked later than their statement: SET CONSTRAINTS, and who looks at them when they are due. The session does that
//! between its statements, and a function in the midst of one.

pub mod foreign_keys;
pub mod keys;

use crate::constraint_modes::Modes;
use pgsqlite_sql::catalog::{Catalog, Constraint};
use pgsqlite_sql::parse::{ast, NodeEnum};
use pgsqlite_sql::routine::{Event, Trigger};
use pgsqlite_types::codec::Context;
use pgsqlite_types::{Datum, Oid, PgError, Result, SqlState};
use std::collections::BTreeMap;

/// Answers queries of our own.
pub trait Reads {
    /// All rows of a query.
    fn all_rows(&self, sql: &str, parameters: &[Datum]) -> Result<Vec<Vec<Datum>>>;

    /// The first row of a query.
    fn first_row(&self, sql: &str, parameters: &[Datum]) -> Result<Option<Vec<Datum>>> {
        Ok(self.all_rows(sql, parameters)?.into_iter().next())
    }
}

impl<N: pgsqlite_storage::connection::Natives> Reads for pgsqlite_storage::connection::Connection<N> {
    fn all_rows(&self, sql: &str, parameters: &[Datum]) -> Result<Vec<Vec<Datum>>> {
        self.all_rows(sql, parameters)
    }

    fn first_row(&self, sql: &str, parameters: &[Datum]) -> Result<Option<Vec<Datum>>> {
        self.first_row(sql, parameters)
    }
}

/// Who looks at constraints, and through what.
pub struct Looking<'a> {
    pub catalog: &'a Catalog,
    pub context: &'a Context<'a>,
    /// whose rights decide which values an error tells
    pub role: Oid,
    /// the database as the transaction has made it
    pub now: &'a dyn Reads,
    /// whether a query of one truth value is true of the database without the transaction
    pub was: &'a dyn Fn(&str, &[Datum]) -> bool,
    /// what referenced rows have met, where keys whose action is RESTRICT are looked at as others are
    pub event: Option<Event>,
}

/// What SET CONSTRAINTS makes of the modes. Errors: 42704 for an unknown name, 42809 for a constraint that is not deferrable.
pub fn modes_after(
    catalog: &Catalog,
    search_path: &[Oid],
    before: &Modes,
    statement: &ast::ConstraintsSetStmt,
) -> Result<Modes> {
    if statement.constraints.is_empty() {
        return Ok(Modes { all: Some(statement.deferred), named: BTreeMap::new() });
    }
    let mut modes = before.clone();
    for node in &statement.constraints {
        let Some(NodeEnum::RangeVar(name)) = &node.node else {
            return Err(PgError::internal("a constraint's name"));
        };
        for oid in named(catalog, search_path, name)? {
            modes.named.insert(oid, statement.deferred);
        }
    }
    Ok(modes)
}

/// Whether a constraint or constraint trigger (by its OID) is immediate now.
pub fn is_due(catalog: &Catalog, modes: &Modes, oid: Oid) -> bool {
    match catalog.constraint(oid) {
        Some((_, constraint)) => !modes.is_deferred(constraint),
        None => {
            let trigger = catalog.relations.values().flat_map(|r| &r.triggers).find(|t| t.constraint == oid);
            trigger.is_none_or(|t| !modes.says(oid, t.deferrable, t.initially_deferred))
        }
    }
}

/// A constraint and those of partitions that belong to it.
fn parts_of(catalog: &Catalog, constraint: Oid) -> Vec<Oid> {
    let mut all = vec![constraint];
    let mut at = 0;
    while at < all.len() {
        let parts = catalog.relations.values().flat_map(|r| &r.constraints).filter(|c| c.inherited.parent == all[at]);
        let found: Vec<Oid> = parts.map(|c| c.oid).collect();
        all.extend(found);
        at += 1;
    }
    all
}

/// The deferrable constraints of a name: those of the first schema of the path that has any.
fn named(catalog: &Catalog, search_path: &[Oid], name: &ast::RangeVar) -> Result<Vec<Oid>> {
    let schemas = match name.schemaname.as_str() {
        "" => search_path.to_vec(),
        schema => vec![catalog
            .schema_oid(schema)
            .ok_or_else(|| PgError::new(SqlState::UNDEFINED_SCHEMA, format!("schema \"{schema}\" does not exist")))?],
    };
    let not_deferrable = || {
        let message = format!("constraint \"{}\" is not deferrable", name.relname);
        PgError::new(SqlState::WRONG_OBJECT_TYPE, message)
    };
    for schema in schemas {
        let found: Vec<&Constraint> = catalog
            .relations
            .values()
            .filter(|r| r.schema == schema)
            .flat_map(|r| r.constraints.iter().filter(|c| c.name == name.relname))
            .collect();
        if found.iter().any(|c| !c.deferrable) {
            return Err(not_deferrable());
        }
        let triggers: Vec<&Trigger> = catalog
            .relations
            .values()
            .filter(|r| r.schema == schema)
            .flat_map(|r| r.triggers.iter().filter(|t| t.constraint != 0 && t.name == name.relname))
            .collect();
        if triggers.iter().any(|t| !t.deferrable) {
            return Err(not_deferrable());
        }
        let found: Vec<Oid> = found.iter().map(|c| c.oid).chain(triggers.iter().map(|t| t.constraint)).collect();
        if !found.is_empty() {
            return Ok(found.into_iter().flat_map(|oid| parts_of(catalog, oid)).collect());
        }
    }
    Err(PgError::new(SqlState::UNDEFINED_OBJECT, format!("constraint \"{}\" does not exist", name.relname)))
}
