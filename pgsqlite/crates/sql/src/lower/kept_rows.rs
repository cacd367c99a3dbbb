//! Rows of tables that functions called beside them change.
//!
//! A query sees its tables as they were when it began, whatever the functions that it calls do meanwhile. SQLite reads a column when it is
//! needed: from a row that a function has changed or deleted since. So the rows are read before the first call.

use super::stages::{collect_vars, computed_of_rows, Stage};
use super::Lowerer;
use crate::typed::{Expr, ExprKind, Query, QueryBody, RangeTableEntry, RteKind, SubLinkKind};
use crate::{effects, volatility, walk};
use pgsqlite_types::{Oid, PgError, Result};
use std::collections::HashSet;

/// Which rows of a query are read before functions are called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kept {
    /// none: no function changes what is read
    Nothing,
    /// those that FROM and WHERE give: the calls are in what is computed of them
    Rows,
    /// all of each item of FROM: FROM or WHERE itself has calls
    Items,
}

impl Lowerer<'_> {
    /// What has to be kept of a query's rows.
    pub(super) fn kept(&self, query: &Query) -> Kept {
        let catalog = self.env.catalog;
        let QueryBody::Select(select) = &query.body else { return Kept::Nothing };
        if catalog.routines.is_empty() || query.range_table.is_empty() || !query.row_locks.is_empty() {
            return Kept::Nothing;
        }
        let note = |expr: &Expr, calls: &mut Vec<Oid>| {
            volatility::called(expr, &mut |proc| calls.extend(catalog.function(proc).map(|f| f.oid)));
        };
        let mut calls = Vec::new();
        walk::query_exprs(query, 0, &mut |_, e| note(e, &mut calls));
        if calls.is_empty() {
            return Kept::Nothing;
        }
        let called: HashSet<Oid> = calls.iter().copied().collect();
        let mut tables: Vec<Oid> = Vec::new();
        walk::entries(query, &mut |entry| {
            if let RteKind::Relation(relation) = &entry.kind {
                tables.push(relation.oid);
            }
        });
        let changed = |function: &Oid| {
            let changes = effects::changes(catalog, *function);
            tables.iter().any(|table| changes.may_concern(*table))
        };
        if tables.is_empty() || !called.iter().any(changed) {
            return Kept::Nothing;
        }
        let mut computed = Vec::new();
        for expr in computed_of_rows(select, &query.order_by) {
            walk::deep(expr, 0, &mut |_, e| note(e, &mut computed));
        }
        match computed.len() == calls.len() && !select.grouped {
            true => Kept::Rows,
            false => Kept::Items,
        }
    }

    /// The text of an item of FROM, all of whose rows are read before the first of them is used.
    pub(super) fn kept_item(&mut self, rte: &RangeTableEntry, text: String) -> Result<String> {
        let number = match &rte.kind {
            RteKind::Relation(relation) if relation.is_stored() => {
                // (the number of a row is a column of its own, or none of those that * stands for)
                let numbered = !text.starts_with('(') && !relation.without_rowid && relation.rowid_column.is_none();
                let name = if numbered { super::rowid_name(relation).ok() } else { None };
                name.map_or_else(String::new, |name| format!("{name} AS {name}, "))
            }
            RteKind::Subquery { lateral: false, .. } | RteKind::Cte { .. } => String::new(),
            _ => return Ok(text),
        };
        let (item, alias) = text.rsplit_once(" AS ").ok_or_else(|| PgError::internal("an item without alias"))?;
        let name = self.unique("w");
        Ok(format!("(WITH {name} AS MATERIALIZED (SELECT {number}* FROM {item}) SELECT * FROM {name}) AS {alias}"))
    }

    /// The stage stands above its rows, which are read before the first of them is used.
    pub(super) fn keep_rows(&mut self, stage: &mut Stage) -> Result<()> {
        let mut parts = Vec::new();
        stage.exprs().into_iter().for_each(|expr| collect_parts(expr, &mut parts));
        let rows = self.select_of_parts(stage, &parts)?;
        let name = self.unique("w");
        self.stand_above(stage, &format!("WITH {name} AS MATERIALIZED ({rows}) SELECT * FROM {name}"), &parts);
        Ok(())
    }
}

/// What is computed with the rows: columns, and sub-queries that are computed for each row whatever its values are, and call nothing that
/// would show when.
fn collect_parts(expr: &Expr, parts: &mut Vec<Expr>) {
    match &expr.kind {
        ExprKind::SubLink { kind: SubLinkKind::Scalar | SubLinkKind::Exists | SubLinkKind::Array, .. }
            if volatility::is_repeatable(expr) =>
        {
            if !parts.contains(expr) {
                parts.push(expr.clone());
            }
        }
        ExprKind::Func { args, .. } => args.iter().for_each(|arg| collect_parts(arg, parts)),
        ExprKind::Cast { arg, .. } => collect_parts(arg, parts),
        _ => collect_vars(expr, parts),
    }
}
