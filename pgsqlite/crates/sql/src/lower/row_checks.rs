//! What a new row is checked for before it is stored.

use super::proposed::{keep, named};
use super::{quote_text, support, Lowerer, Scope};
use crate::analyze::analyze_expression;
use crate::catalog::{Column, Relation};
use crate::typed::{Expr, RowCheck, RowCheckOf, SecuredChange};
use pgsqlite_types::{PgError, Result};

/// Whether a column must have a value, and SQLite does not know it.
pub(super) fn is_left_to_us(column: &Column) -> bool {
    column.is_virtual && column.not_null || column.not_null_pending
}

impl Lowerer<'_> {
    /// The values to store, given the texts of the new row's columns: generated columns computed, CHECKs attached.
    pub(super) fn checked_row(
        &mut self,
        target: &Relation,
        columns: &[Column],
        generated: &[Column],
        texts: &[String],
        kept: &[i16],
    ) -> Result<Vec<String>> {
        // what each live column is in the new row
        let mut new_row: Vec<String> = target
            .live_columns()
            .map(|c| columns.iter().position(|x| x.attnum == c.attnum).map_or("NULL".to_string(), |i| texts[i].clone()))
            .collect();
        let mut values: Vec<String> = texts.to_vec();
        for column in generated {
            let value = self.generated_value(target, column, &new_row)?;
            let position = target
                .live_columns()
                .position(|c| c.attnum == column.attnum)
                .ok_or_else(|| PgError::internal("generated column"))?;
            new_row[position] = value.clone();
            if !column.is_virtual {
                values.push(value);
            }
        }
        for (value, column) in values.iter_mut().zip(columns).filter(|(_, c)| kept.contains(&c.attnum)) {
            *value = keep(column.attnum, value);
        }
        // the last one, so that a CHECK fails when all others are remembered
        if let Some(last) = values.pop() {
            values.push(self.with_checks(target, last, &new_row)?);
        }
        Ok(values)
    }

    pub(super) fn generated_value(&mut self, target: &Relation, column: &Column, row: &[String]) -> Result<String> {
        let text = column.generated.as_deref().ok_or_else(|| PgError::internal("not a generated column"))?;
        let expr = analyze_expression(self.env, text, Some(target), Some((column.type_oid, column.typmod)))?;
        self.over_row(&expr, row)
    }

    /// An expression over a relation's columns whose texts are given.
    pub(super) fn over_row(&mut self, expr: &Expr, row: &[String]) -> Result<String> {
        self.scopes.push(Scope { entries: vec![row.to_vec()], ..Default::default() });
        let text = self.expr(expr);
        self.scopes.pop();
        text
    }

    pub(super) fn has_checks(&self, target: &Relation) -> bool {
        let own = target.constraints.iter().any(|c| c.enforced_check().is_some());
        let required = target.live_columns().any(is_left_to_us);
        let temporal = target.constraints.iter().any(|c| c.temporal.is_some());
        own || required || temporal || !self.row_checks.is_empty()
    }

    /// `value` wrapped in the table's CHECKs, and in what else is demanded, over the new row.
    pub(super) fn with_checks(&mut self, target: &Relation, value: String, row: &[String]) -> Result<String> {
        let mut value = value;
        // what row-level security demands is looked at before the constraints, a view's check option after them
        for check in self.row_checks.clone() {
            let RowCheckOf::Policy { table, policy } = &check.of else { continue };
            let condition = self.over_row(&check.condition, row)?;
            let policy = policy.as_ref().map_or("NULL".to_string(), |p| quote_text(p));
            let table = quote_text(table);
            value = format!("{}({value}, ({condition}) IS TRUE, {table}, {policy})", support::POLICY_CHECK);
        }
        for (i, column) in target.live_columns().enumerate().filter(|(_, c)| is_left_to_us(c)) {
            let (table, name) = (named(self.env, target), quote_text(&column.name));
            let refused = format!("{}({}, {table}, {name}) IS NULL", support::NOT_NULL, row[i]);
            value = format!("CASE WHEN {refused} THEN NULL ELSE {value} END");
        }
        for constraint in target.constraints.iter().filter(|c| c.temporal.is_some()) {
            let period = constraint.columns.last();
            let at = target.live_columns().position(|c| Some(&c.attnum) == period);
            let Some((column, text)) = at.and_then(|at| target.live_columns().nth(at).zip(row.get(at))) else {
                continue;
            };
            let (table, name) = (quote_text(&target.name), quote_text(&column.name));
            value = format!(
                "{}({value}, coalesce({text} NOT IN ('empty', '{{}}'), 1), {table}, {name})",
                support::PERIOD_CHECK
            );
        }
        for constraint in target.constraints.iter().rev() {
            let Some(expression) = constraint.enforced_check() else { continue };
            let expr = analyze_expression(self.env, expression, Some(target), None)?;
            let condition = self.over_row(&expr, row)?;
            value = format!(
                "{}({value}, {condition}, {}, {})",
                support::CHECK,
                named(self.env, target),
                quote_text(&constraint.name)
            );
        }
        for check in self.row_checks.clone() {
            let RowCheckOf::Partition { schema, table } = &check.of else { continue };
            let condition = self.over_row(&check.condition, row)?;
            let (schema, table) = (quote_text(schema), quote_text(table));
            value = format!("{}({value}, ({condition}) IS TRUE, {schema}, {table})", support::PARTITION_CHECK);
        }
        for check in self.row_checks.clone() {
            let RowCheckOf::View(view) = &check.of else { continue };
            let condition = self.over_row(&check.condition, row)?;
            value = format!("{}({value}, ({condition}) IS TRUE, {})", support::VIEW_CHECK, quote_text(view));
        }
        for check in self.row_checks.clone() {
            if check.of == RowCheckOf::Arbiter {
                let condition = self.over_row(&check.condition, row)?;
                value = format!("{}({value}, ({condition}) IS TRUE)", support::ARBITER_CHECK);
            }
        }
        Ok(value)
    }

    /// `value` wrapped in what row-level security demands of the row that is there; `row`: the texts of its live columns.
    pub(super) fn existing_checks(&mut self, secured: &SecuredChange, value: String, row: &[String]) -> Result<String> {
        let mut value = value;
        // (the first one is the innermost)
        for check in &secured.existing {
            let RowCheckOf::Existing { table, policy, merge } = &check.of else { continue };
            let condition = self.over_row(&check.condition, row)?;
            let policy = policy.as_ref().map_or("NULL".to_string(), |p| quote_text(p));
            let (table, merge) = (quote_text(table), *merge as i32);
            value = format!("{}({value}, ({condition}) IS TRUE, {table}, {policy}, {merge})", support::EXISTING_CHECK);
        }
        Ok(value)
    }
}

/// What the new row of a changed one must satisfy: what is demanded besides policies (`all`), and what those of the change demand.
pub(super) fn new_row_checks(all: &[RowCheck], secured: &SecuredChange) -> Vec<RowCheck> {
    let others = all.iter().filter(|c| !matches!(c.of, RowCheckOf::Policy { .. }));
    secured.written.iter().chain(others).cloned().collect()
}
