//! Conditions that are asked within a sub-query whose columns have other values each time they are computed.
//!
//! Such a sub-query is computed once, before what is around it ([`Lowerer::computed_once`]): SQLite finds no index for what is asked of it. As in
//! PostgreSQL, what is asked of its other columns alone chooses its rows, and only these are computed.

use super::conditions::{cannot_fail, conjuncts, joined, only_entry};
use super::Lowerer;
use crate::typed::{Expr, ExprKind, FromItem, JoinKind, Query, QueryBody, RteKind, Select};
use crate::volatility;
use crate::walk;

/// The entries that WHERE chooses the rows of: no join adds rows to them.
fn chosen_entries(item: &FromItem, out: &mut Vec<usize>) {
    match item {
        FromItem::Entry(entry) => out.push(*entry),
        FromItem::Join { kind, left, right, .. } => {
            if matches!(kind, JoinKind::Inner | JoinKind::Cross | JoinKind::Left) {
                chosen_entries(left, out);
            }
            if matches!(kind, JoinKind::Inner | JoinKind::Cross | JoinKind::Right) {
                chosen_entries(right, out);
            }
        }
    }
}

impl Lowerer<'_> {
    /// The query with conditions of its WHERE in its sub-queries, too. None: there are none to take there.
    pub(super) fn pushed_down(&self, query: &Query) -> Option<Query> {
        let QueryBody::Select(select) = &query.body else { return None };
        let filter = select.filter.as_ref()?;
        let mut chosen = Vec::new();
        select.from.iter().for_each(|item| chosen_entries(item, &mut chosen));
        let mut narrowed: Option<Query> = None;
        for entry in chosen {
            let Some(RteKind::Subquery { query: inner, lateral: false }) =
                query.range_table.get(entry).map(|e| &e.kind)
            else {
                continue;
            };
            let QueryBody::Select(rows) = &inner.body else { continue };
            if !walk::is_plain(inner)
                || inner.locks_rows
                || !rows.targets.iter().any(|t| self.is_computed_anew(&t.expr))
            {
                continue;
            }
            let asked: Vec<Expr> =
                conjuncts(filter).iter().filter_map(|condition| self.asked_within(condition, entry, rows)).collect();
            if asked.is_empty() {
                continue;
            }
            let copy = narrowed.get_or_insert_with(|| query.clone());
            if let RteKind::Subquery { query: inner, .. } = &mut copy.range_table[entry].kind {
                if let QueryBody::Select(rows) = &mut inner.body {
                    let mut conditions: Vec<Expr> = rows.filter.take().into_iter().collect();
                    conditions.extend(asked);
                    rows.filter = Some(joined(conditions, filter.location, ExprKind::And));
                }
            }
        }
        narrowed
    }

    /// A condition of an entry as the query of its rows asks it. None: it is not asked of columns alone that stay the same.
    fn asked_within(&self, condition: &Expr, entry: usize, rows: &Select) -> Option<Expr> {
        let around = |e: &Expr| match &e.kind {
            ExprKind::Var(v) => v.levels_up > 0,
            ExprKind::WholeRow { .. } | ExprKind::SubLink { .. } => true,
            _ => false,
        };
        if only_entry(condition) != Some(entry) || !cannot_fail(condition) || walk::any(condition, &around) {
            return None;
        }
        let mut same = volatility::is_repeatable(condition);
        let within = walk::map(condition, &mut |e| match &e.kind {
            ExprKind::Var(v) => {
                let column = rows.targets.get(v.column).map(|t| &t.expr);
                same &= column.is_some_and(|c| !self.is_computed_anew(c));
                column.cloned()
            }
            _ => None,
        });
        same.then_some(within)
    }
}
