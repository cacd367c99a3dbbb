//! Generated columns: what the expression of a virtual one may have, where it may not be used, and SET EXPRESSION.
//!
//! A stored column has its values in SQLite's table. A virtual one is computed when it is read, and SQLite's table has no such column: other
//! programs see the others.

use super::{Ddl, Oid};
use pgsqlite_sql::analyze;
use pgsqlite_sql::catalog::*;
use pgsqlite_sql::parse::ast;
use pgsqlite_sql::typed::Expr;
use pgsqlite_sql::volatility::made_functions;
use pgsqlite_sql::walk;
use pgsqlite_types::{work, PgError, Result, SqlState};
use std::collections::HashMap;

const OF_TYPES: &str = "Virtual generated columns that make use of user-defined types are not yet supported.";
const OF_FUNCTIONS: &str = "Virtual generated columns that make use of user-defined functions are not yet supported.";

fn refused(message: impl Into<String>) -> PgError {
    PgError::new(SqlState::FEATURE_NOT_SUPPORTED, message)
}

/// Whether PostgreSQL takes a type for one of a user: extensions have made some, too.
fn is_of_user(ty: Oid) -> bool {
    const FIRST_UNPINNED: Oid = 12000;
    ty >= FIRST_UNPINNED
}

impl Ddl<'_> {
    /// Errors: 0A000 if a virtual column may not have this type.
    pub(super) fn check_virtual_type(&self, column: &Column) -> Result<()> {
        let name = &column.name;
        if self.catalog.base_type(column.type_oid) != column.type_oid {
            return Err(refused(format!("virtual generated column \"{name}\" cannot have a domain type")));
        }
        if is_of_user(column.type_oid) {
            let message = format!("virtual generated column \"{name}\" cannot have a user-defined type");
            return Err(refused(message).detail(OF_TYPES));
        }
        Ok(())
    }

    /// Errors: 0A000 if the expression of a virtual column has a function or a type that a user has made: who reads the table would call it.
    pub(super) fn check_virtual_expression(&self, relation: &Relation, node: &ast::Node) -> Result<()> {
        let expr = self.analyze(|e| analyze::analyze_expression_to_print(e, node, Some(relation), None))?;
        let mut found = None;
        walk::deep(&expr, 0, &mut |_, e: &Expr| {
            let message = match (found.is_none(), is_of_user(e.ty)) {
                (true, true) => "generation expression uses user-defined type",
                _ => return,
            };
            found = Some(refused(message).detail(OF_TYPES).at(e.location));
        });
        if !made_functions(&expr).is_empty() {
            let message = "generation expression uses user-defined function";
            return Err(refused(message).detail(OF_FUNCTIONS).at(expr.location));
        }
        found.map_or(Ok(()), Err)
    }

    /// Errors: 0A000 if one of these columns is virtual. `what`: what is not supported on such a column.
    pub(super) fn check_no_virtual(&self, relation: &Relation, columns: &[i16], what: &str) -> Result<()> {
        let is_virtual = |a: &i16| relation.column_by_attnum(*a).is_some_and(|c| c.is_virtual);
        match columns.iter().any(is_virtual) {
            true => Err(refused(format!("{what} on virtual generated columns are not supported"))),
            false => Ok(()),
        }
    }

    /// Errors: 0A000 if one of these columns, of which there are to be statistics, is virtual.
    pub(super) fn check_no_virtual_statistics(&self, relation: &Relation, columns: &[i16]) -> Result<()> {
        self.check_no_virtual(relation, columns, "")
            .map_err(|_| refused("statistics creation on virtual generated columns is not supported"))
    }

    /// As [`Ddl::check_no_virtual`], of all columns that an index has.
    pub(super) fn check_no_virtual_in_index(&self, relation: &Relation, index: &Index, what: &str) -> Result<()> {
        if !relation.has_virtual_columns() {
            return Ok(());
        }
        let mut used = index.include.clone();
        for key in &index.columns {
            work::visit();
            match &key.key {
                KeyPart::Column(attnum) => used.push(*attnum),
                KeyPart::Expression(text) => used.extend(self.expression_columns(text, relation)?),
            }
        }
        if let Some(text) = &index.predicate {
            used.extend(self.expression_columns(text, relation)?);
        }
        self.check_no_virtual(relation, &used, what)
    }

    /// Errors: 23502 if a virtual column that may not be NULL is NULL in a row that is there.
    pub(super) fn check_virtual_not_null(&self, relation: &Relation, column: &Column) -> Result<()> {
        let text = column.generated.as_deref().ok_or_else(|| PgError::internal("a virtual column that is none"))?;
        let value = self.lower_stored(text, Some(relation), Some((column.type_oid, column.typmod)))?;
        if column.not_null && self.any_row(relation, &format!("({value}) IS NULL"))? {
            return Err(self.contains_nulls(relation, &column.name));
        }
        Ok(())
    }

    /// ALTER COLUMN … SET EXPRESSION: of a stored column, all rows get new values.
    pub(super) fn set_expression(&mut self, old: &Relation, command: &ast::AlterTableCmd) -> Result<()> {
        let column = self.alter_column_of(old, &command.name)?;
        let of = format!("column \"{}\" of relation \"{}\"", column.name, old.name);
        if column.generated.is_none() {
            let message = format!("{of} is not a generated column");
            return Err(PgError::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message));
        }
        if column.is_virtual && old.constraints.iter().any(Constraint::is_check) {
            let message = "ALTER TABLE / SET EXPRESSION is not supported for virtual generated columns in tables with check constraints";
            let detail =
                format!("Column \"{}\" of relation \"{}\" is a virtual generated column.", column.name, old.name);
            return Err(refused(message).detail(detail));
        }
        let node = command.def.as_ref().ok_or_else(|| PgError::internal("SET EXPRESSION without one"))?;
        let text = self.generation_expression(old, column.attnum, node).map_err(PgError::without_position)?;
        let mut new = old.clone();
        let changed = &mut new.columns[column.attnum as usize - 1];
        changed.generated = Some(text.clone());
        let changed = changed.clone();
        self.put_relation(new.clone())?;
        if changed.is_virtual {
            return self.check_virtual_not_null(&new, &changed);
        }
        let value = self.lower_stored(&text, Some(old), Some((column.type_oid, column.typmod)))?;
        self.rebuild(old, &new, &HashMap::from([(column.attnum, value)]))?;
        let concerned = |c: &&Constraint| c.columns.contains(&column.attnum) && !c.not_valid;
        for constraint in new.constraints.iter().filter(concerned) {
            work::visit();
            self.check_rows(&new, constraint)?;
        }
        Ok(())
    }
}

/// Errors: 42611 (or `state`) if a child's column is stored and its parent's is virtual, or the other way round.
pub(super) fn check_kind(parent: &Column, child: &Column, state: SqlState) -> Result<()> {
    if parent.is_virtual == child.is_virtual {
        return Ok(());
    }
    let kind = |c: &Column| if c.is_virtual { "VIRTUAL" } else { "STORED" };
    let message = format!("column \"{}\" inherits from generated column of different kind", child.name);
    let detail = format!("Parent column is {}, child column is {}.", kind(parent), kind(child));
    Err(PgError::new(state, message).detail(detail))
}
