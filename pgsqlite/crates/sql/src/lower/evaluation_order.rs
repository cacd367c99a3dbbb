//! In which order the values of an INSERT are computed, where it shows: a sequence's number is used up or not when
//! another value of the row fails.
//!
//! PostgreSQL's planner computes what is constant before anything runs; then the row's values follow in the order of the
//! columns (of several VALUES rows: the written values of a row, then its defaults). SQLite computes some constants early and
//! the rowid last. What must come before the first sequence is named as an argument of [`support::AFTER`] around it; where
//! something must come after it, the caller has the row computed by a sub-query, which keeps the written order.

use super::{support, Lowerer};
use crate::builtins::catalog::proc_by_oid;
use crate::typed::{CastMethod, Expr, ExprKind};
use crate::volatility::{is_repeatable, shows_calls};
use crate::walk;
use pgsqlite_types::{oid, Oid, Result};

/// Arguments of one call: SQLite takes some more.
const MOST_ARGUMENTS: usize = 100;

/// Types whose values become each other's without error.
const TIMES: [Oid; 4] = [oid::TIMESTAMP, oid::TIMESTAMPTZ, oid::TIME, oid::TIMETZ];

/// Whether computing the expression can fail at all.
fn may_fail(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Const(_) | ExprKind::Param(_) | ExprKind::Var(_) | ExprKind::Default | ExprKind::NextRow(_) => false,
        // now(), gen_random_uuid() …; a sequence that has reached its end used up nothing
        ExprKind::Func { proc, args, .. } => {
            !args.is_empty() && proc_by_oid(*proc).is_none_or(|p| p.name != "nextval") || args.iter().any(may_fail)
        }
        ExprKind::Cast { arg, method: CastMethod::Relabel, .. } => may_fail(arg),
        ExprKind::Cast { arg, method: CastMethod::Function(_) | CastMethod::Typmod, .. } => {
            !TIMES.contains(&arg.ty) || may_fail(arg)
        }
        _ => true,
    }
}

/// Whether PostgreSQL's planner computes the expression: constants under immutable functions. (A domain's checks are
/// evaluated with the row. Parameters count as constants, as in the plan of a first execution.)
pub(super) fn is_folded(expr: &Expr) -> bool {
    let mut folded = true;
    walk::deep(expr, 0, &mut |_, e| {
        folded &= match &e.kind {
            ExprKind::Func { proc, .. } => proc_by_oid(*proc).is_some_and(|p| p.volatility == b'i'),
            ExprKind::Op { op, .. } => proc_by_oid(op.proc).is_some_and(|p| p.volatility == b'i'),
            ExprKind::Cast { method: CastMethod::Function(proc), .. } => {
                proc_by_oid(*proc).is_some_and(|p| p.volatility == b'i')
            }
            ExprKind::Cast { method: CastMethod::Domain, .. } => false,
            ExprKind::Var(_) | ExprKind::WholeRow { .. } | ExprKind::SubLink { .. } | ExprKind::SetFunc { .. } => false,
            ExprKind::SqlJson { .. } => false,
            _ => !shows_calls(e),
        }
    });
    folded
}

/// Whether a value that fails while the row is computed stands after one that uses up a sequence's number: then the row must
/// be computed in order.
pub(super) fn must_keep_order(row: &[Expr]) -> bool {
    let Some(first) = row.iter().position(|e| !is_repeatable(e)) else { return false };
    row[first + 1..].iter().any(|e| may_fail(e) && !is_folded(e))
}

impl Lowerer<'_> {
    /// The texts of what is computed before the first row, besides what the rows' own order says; empty where nothing of the
    /// rows uses up a number.
    pub(super) fn folded_values(&mut self, rows: &[Vec<Expr>]) -> Result<Vec<String>> {
        let mut texts = Vec::new();
        if rows.iter().flatten().all(is_repeatable) {
            return Ok(texts);
        }
        for expr in rows.iter().flatten() {
            if may_fail(expr) && !matches!(expr.kind, ExprKind::Default) && is_folded(expr) {
                texts.push(self.expr(expr)?);
            }
        }
        Ok(texts)
    }
}

/// `value`, computed after the others.
pub(super) fn after(folded: &[String], value: String) -> String {
    folded
        .chunks(MOST_ARGUMENTS)
        .rev()
        .fold(value, |value, chunk| format!("{}({}, {value})", support::AFTER, chunk.join(", ")))
}
