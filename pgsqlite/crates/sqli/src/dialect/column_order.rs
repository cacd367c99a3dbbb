//! The order of a table's columns after ALTER TABLE … ADD … BEFORE.
//!
//! PostgreSQL adds columns at the end only, and so does the stored table: nothing that hangs on it is built anew. The order that Informix's
//! statements see is kept as a function of the schema `informix` whose parameter is the table's row type: it follows the table under
//! another name, and into dumps. `*`, INSERT without a list of columns and the system catalog follow it. PostgreSQL's clients see the
//! order in which the columns were added.

use super::ast::*;
use super::print::{ident, Printer, Scope};
use super::spl::routine::{dollar_quoted, marked, text_of};
use super::Parse;
use crate::errors::Failure;
use crate::values::types::SCHEMA;
use pgsqlite_sql::catalog::{Catalog, Column, Relation};
use pgsqlite_sql::routine::Routine;
use pgsqlite_types::work;
use std::sync::Arc;

/// The name of the functions. No identifier of Informix's has a blank.
pub(super) const FUNCTION: &str = "column order";

/// A column by its number and name.
type Place = (i16, String);

fn stored<'a>(catalog: &'a Catalog, relation: &Relation) -> Option<&'a Arc<Routine>> {
    catalog.routine_in(catalog.schema_oid(SCHEMA)?, FUNCTION, &[relation.row_type])
}

/// The columns of a table in Informix's order. Those of which nothing is stored come last.
pub fn columns_of<'a>(catalog: &Catalog, relation: &'a Relation) -> Vec<&'a Column> {
    let mut rest: Vec<&Column> = relation.live_columns().collect();
    let Some(text) = stored(catalog, relation).and_then(|r| text_of(r)) else { return rest };
    let places: Vec<(i16, &str)> = text
        .lines()
        .filter_map(|line| {
            let (number, name) = line.split_once(' ')?;
            Some((number.parse().ok()?, name))
        })
        .collect();
    let mut out = Vec::new();
    for (number, name) in &places {
        work::visit();
        // a column that another program has given another name still has its number
        let renamed = |c: &Column| c.attnum == *number && !places.iter().any(|(_, n)| *n == c.name);
        let found = rest.iter().position(|c| c.name == *name).or_else(|| rest.iter().position(|c| renamed(c)));
        out.extend(found.map(|i| rest.remove(i)));
    }
    out.extend(rest);
    out
}

/// The statement that stores an order.
fn store(target: &str, places: &[Place]) -> String {
    let lines: Vec<String> = places.iter().map(|(number, name)| format!("{number} {name}")).collect();
    let source = format!("\n{}BEGIN END", marked(&lines.join("\n")));
    format!(
        "CREATE OR REPLACE FUNCTION {SCHEMA}.{}({target}) RETURNS void LANGUAGE plpgsql AS {}",
        ident(FUNCTION),
        dollar_quoted(&source)
    )
}

impl Printer<'_> {
    /// What follows the additions and removals of ALTER TABLE, if one of them has a place. Errors: -217 for a column that is not there.
    pub(super) fn new_order(&self, table: &Name, alterations: &[Alteration]) -> Parse<Vec<String>> {
        if !alterations.iter().any(|a| matches!(a, Alteration::AddColumn(_, Some(_)))) {
            return Ok(vec![]);
        }
        let relation = self.existing(table)?;
        let catalog = &self.environment.catalog;
        let mut next = relation.columns.len() as i16;
        let mut places: Vec<Place> =
            columns_of(catalog, &relation).into_iter().map(|c| (c.attnum, c.name.clone())).collect();
        for alteration in alterations {
            work::visit();
            match alteration {
                Alteration::AddColumn(column, before) => {
                    next += 1;
                    let at = match before {
                        None => places.len(),
                        Some(before) => places
                            .iter()
                            .position(|(_, name)| name == before)
                            .ok_or_else(|| Failure::new(-217, 0, before.clone()))?,
                    };
                    places.insert(at, (next, column.name.clone()));
                }
                Alteration::DropColumn(name) => places.retain(|(_, n)| n != name),
                _ => {}
            }
        }
        let mut out = vec![];
        if catalog.schema_oid(SCHEMA).is_none() {
            out.push(format!("CREATE SCHEMA IF NOT EXISTS {SCHEMA}"));
        }
        out.push(store(&self.table(table)?, &places));
        Ok(out)
    }

    /// What follows RENAME COLUMN, if the table has an order of its own.
    pub(super) fn renamed_order(&self, table: &Name, column: &str, to: &str) -> Parse<Option<String>> {
        let (relation, catalog) = (self.existing(table)?, &self.environment.catalog);
        if stored(catalog, &relation).is_none() {
            return Ok(None);
        }
        let renamed = |c: &Column| if c.name == column { to.to_string() } else { c.name.clone() };
        let places: Vec<Place> = columns_of(catalog, &relation).into_iter().map(|c| (c.attnum, renamed(c))).collect();
        Ok(Some(store(&self.table(table)?, &places)))
    }

    /// What comes before DROP TABLE, if the table has an order of its own.
    pub(super) fn dropped_order(&self, table: &Name) -> Parse<Option<String>> {
        let Some(relation) = self.relation(table) else { return Ok(None) };
        Ok(match stored(&self.environment.catalog, &relation) {
            Some(_) => Some(format!("DROP FUNCTION {SCHEMA}.{}({})", ident(FUNCTION), self.table(table)?)),
            None => None,
        })
    }

    /// A query with the names of the columns instead of `*`, where a table in scope has an order of its own.
    pub(super) fn without_stars(&self, select: &Select) -> Parse<Option<Select>> {
        let scopes = self.scopes.last().map_or(&[][..], |s| s.as_slice());
        let has_order = |s: &Scope| s.relation.as_ref().is_some_and(|r| stored(&self.environment.catalog, r).is_some());
        let is_star = |item: &Item| matches!(item, Item::Star(_));
        if !select.items.iter().any(is_star) || !scopes.iter().any(has_order) {
            return Ok(None);
        }
        let mut items = Vec::new();
        for item in &select.items {
            work::visit();
            let Item::Star(table) = item else {
                items.push(item.clone());
                continue;
            };
            for scope in scopes.iter().filter(|s| table.as_ref().is_none_or(|t| *t == s.alias)) {
                work::visit();
                let unknown = || {
                    Failure::refused("* of a query whose columns are not known beside a table with an order of its own")
                };
                let columns = scope.columns.as_ref().ok_or_else(unknown)?;
                items.extend(
                    columns.iter().map(|c| Item::Expr(Expr::Column(vec![scope.alias.clone(), c.clone()]), None)),
                );
            }
        }
        Ok(Some(Select { items, ..select.clone() }))
    }
}
