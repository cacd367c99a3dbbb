//! Outputs whose computation has effects (`nextval`, functions of the user) are computed in the order of ORDER BY, and for the rows
//! that LIMIT lets through only. SQLite computes all outputs before it sorts, so the sorted rows become a sub-query, over which
//! these outputs are computed.

use super::conditions::cannot_fail;
use super::stages::Stage;
use super::Lowerer;
use crate::builtins::catalog::proc_by_oid;
use crate::typed::{Distinct, Expr, ExprKind, Query, Select, SortKey, Var};
use crate::volatility::{is_repeatable, shows_calls};
use crate::walk;
use pgsqlite_types::Result;

/// Whether the order in which an expression is computed for rows can be seen.
fn has_effect(expr: &Expr) -> bool {
    const UNSEEN: [&str; 4] = ["random", "gen_random_uuid", "clock_timestamp", "timeofday"];
    walk::any(expr, &|e| {
        shows_calls(e)
            && match &e.kind {
                ExprKind::Func { proc, .. } => !proc_by_oid(*proc).is_some_and(|p| UNSEEN.contains(&p.name.as_str())),
                _ => true,
            }
    })
}

/// A part that is one value for a row of the sorted query, although something in it changes with each computation.
fn is_bound(expr: &Expr) -> bool {
    walk::any(expr, &|e| {
        matches!(e.kind, ExprKind::SubLink { .. } | ExprKind::Window { .. } | ExprKind::Aggregate(_))
            && !is_repeatable(e)
    })
}

/// The outputs to compute after sorting, by place.
pub(super) fn postponed(select: &Select, order_by: &[SortKey]) -> Vec<usize> {
    if order_by.is_empty() || select.distinct != Distinct::No {
        return vec![];
    }
    let sorts = |i: usize, e: &Expr| order_by.iter().any(|k| k.target == Some(i) || k.expr == *e);
    let waits = |(i, e): (usize, &Expr)| has_effect(e) && !is_bound(e) && !sorts(i, e);
    select.targets.iter().enumerate().filter(|(i, t)| waits((*i, &t.expr))).map(|(i, _)| i).collect()
}

/// A query whose rows come in the order it says, also where what is around it could do without.
pub(super) fn keeping_order(query: &Query, text: String) -> String {
    match query.order_by.is_empty() || query.limit.is_some() || query.offset.is_some() || query.with_ties {
        true => text,
        // SQLite sorts a sub-query that has a LIMIT
        false => format!("{text} LIMIT -1 OFFSET 0"),
    }
}

impl Lowerer<'_> {
    /// The text of a query some of whose outputs (`late`) are computed after sorting.
    pub(super) fn after_sorting(&mut self, stage: &Stage, late: &[usize], limit: &str) -> Result<String> {
        let select = &stage.select;
        let alias = self.unique("t");
        let mut columns = Vec::new();
        for (i, target) in select.targets.iter().enumerate() {
            // (places stay, since sort keys may be places)
            columns.push(if late.contains(&i) { "NULL".to_string() } else { self.windowed(&target.expr, select)? });
        }
        // what the late outputs are computed of
        let ready = self.scope().entries.len();
        let mut parts: Vec<Expr> = Vec::new();
        let first = columns.len();
        let exprs: Vec<Expr> = late
            .iter()
            .map(|&i| {
                walk::map(&select.targets[i].expr, &mut |e| {
                    let own = |e: &Expr| {
                        matches!(
                            &e.kind,
                            ExprKind::Var(Var { levels_up: 0, .. }) | ExprKind::WholeRow { levels_up: 0, .. }
                        ) || matches!(
                            e.kind,
                            ExprKind::Aggregate(_) | ExprKind::Window { .. } | ExprKind::SubLink { .. }
                        ) || matches!(e.kind, ExprKind::Grouping(_))
                    };
                    // (what fails may be computed where a condition or an earlier operand allows it only)
                    if !is_repeatable(e) || !walk::any(e, &own) || !own(e) && !cannot_fail(e) {
                        return None;
                    }
                    let place = parts.iter().position(|p| p == e).unwrap_or_else(|| {
                        parts.push(e.clone());
                        parts.len() - 1
                    });
                    let var = Var { levels_up: 0, rte: ready, column: first + place };
                    Some(Expr { kind: ExprKind::Var(var), ..e.clone() })
                })
            })
            .collect();
        for part in &parts {
            columns.push(self.windowed(part, select)?);
        }
        let named: Vec<String> = columns.iter().enumerate().map(|(i, c)| format!("{c} AS c{}", i + 1)).collect();
        let keys = self.order_keys(&stage.order_by, select)?;
        let limit = if limit.is_empty() { " LIMIT -1 OFFSET 0" } else { limit };
        let sorted =
            format!("SELECT {}{}{} ORDER BY {keys}{limit}", named.join(", "), stage.from_where(), stage.group_having);
        let names: Vec<String> = (1..=columns.len()).map(|i| format!("{alias}.c{i}")).collect();
        self.scope().entries.push(names);
        let mut outputs = Vec::new();
        for i in 0..select.targets.len() {
            let text = match late.iter().position(|l| *l == i) {
                Some(at) => self.expr(&exprs[at])?,
                None => format!("{alias}.c{}", i + 1),
            };
            outputs.push(format!("{text} AS c{}", i + 1));
        }
        self.scope().entries.pop();
        // WHERE keeps SQLite from taking the two queries for one
        Ok(format!("SELECT {} FROM ({sorted}) AS {alias} WHERE 1", outputs.join(", ")))
    }
}
