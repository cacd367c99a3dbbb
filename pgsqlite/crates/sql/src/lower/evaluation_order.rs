//! In which order the values of an INSERT are computed, where it shows: a sequence's number is used up or not when
//! another value of the row fails.
//!
//! PostgreSQL's planner computes what is constant before anything runs; then the row's values follow in the order of the
//! columns (of several VALUES rows: the written values of a row, then its defaults). SQLite computes some constants early and
//! the rowid last. What must come before the first sequence is named as an argument of [`support::AFTER`] around it; where
//! something must come after it, the caller has the row computed by a sub-query, which keeps the written order.

use super::{support, Lowerer};
use crate::builtins::catalog::proc_by_oid;
use crate::typed::{CastMethod, Expr, ExprKind, OperatorRef};
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

impl Lowerer<'_> {
    /// The text of a strict call. Where constants may make it NULL ([`null_deciders`]) and something else in it may fail or show that it is
    /// computed, PostgreSQL's planner finds that out first: `f(x) / nullif(1, 1)` does not call f.
    pub(super) fn unless_null(&mut self, expr: &Expr, text: String) -> Result<String> {
        let (mut deciders, mut waits) = (Vec::new(), false);
        null_deciders(expr, NULL_DEPTH, &mut deciders, &mut waits);
        if deciders.is_empty() || !waits {
            return Ok(text);
        }
        let mut tests = Vec::new();
        for decider in deciders {
            tests.push(format!("{} IS NULL", self.expr(decider)?));
        }
        Ok(format!("(CASE WHEN {} THEN NULL ELSE {text} END)", tests.join(" OR ")))
    }
}

/// The constant expressions of which one that is NULL makes a call NULL, in it and in the strict calls that are its arguments. `waits`: whether
/// something beside them may fail or be noticed.
fn null_deciders<'e>(expr: &'e Expr, depth: usize, deciders: &mut Vec<&'e Expr>, waits: &mut bool) {
    let (proc, args) = match &expr.kind {
        ExprKind::Func { proc, args, .. } => (*proc, args),
        ExprKind::Op { op, args } => (op.proc, args),
        _ => return,
    };
    if depth == 0 || !is_strict(proc) || is_constant(expr) {
        return;
    }
    for arg in args {
        let mut value = arg;
        while let ExprKind::Cast {
            arg,
            method: CastMethod::Relabel | CastMethod::Function(_) | CastMethod::Typmod,
            ..
        } = &value.kind
        {
            value = arg;
        }
        match is_constant(value) {
            true if may_be_null(value) => deciders.push(value),
            true => {}
            false => {
                null_deciders(value, depth - 1, deciders, waits);
                *waits |= !super::conditions::cannot_fail(arg) || !is_repeatable(arg);
            }
        }
    }
}

/// Whether PostgreSQL's planner computes an expression, in every plan.
fn is_constant(expr: &Expr) -> bool {
    is_folded(expr)
        && !walk::any(expr, &|e| matches!(e.kind, ExprKind::Param(_) | ExprKind::Default | ExprKind::NextRow(_)))
}

/// Whether a constant expression may be NULL though none of its constants is.
fn may_be_null(expr: &Expr) -> bool {
    walk::any(expr, &|e| match &e.kind {
        ExprKind::NullIf { .. } | ExprKind::Case { .. } | ExprKind::Func { .. } => true,
        ExprKind::Const(value) => value.is_null(),
        _ => false,
    })
}

/// `value`, computed after the others.
pub(super) fn after(folded: &[String], value: String) -> String {
    folded
        .chunks(MOST_ARGUMENTS)
        .rev()
        .fold(value, |value, chunk| format!("{}({}, {value})", support::AFTER, chunk.join(", ")))
}

/// Calls within calls that [`is_always_null`] looks into.
const NULL_DEPTH: usize = 6;

/// Whether a call is NULL because one of its arguments is, whatever the others are: PostgreSQL's planner leaves them out (after it has computed
/// what is constant in them).
pub(super) fn is_always_null(expr: &Expr) -> bool {
    is_null_within(expr, NULL_DEPTH)
}

fn is_null_within(expr: &Expr, depth: usize) -> bool {
    let (proc, args) = match &expr.kind {
        ExprKind::NullIf { left, right, .. } => {
            return depth > 0 && is_null_within(left, depth - 1) && !walk::any(right, &constant_fails);
        }
        ExprKind::InList { op, left, list, .. } => {
            return depth > 0 && list_beside_null(op, left, list).is_some_and(|computed| computed.is_empty());
        }
        ExprKind::Not(arg) => return depth > 0 && is_null_within(arg, depth - 1),
        ExprKind::Const(value) => return value.is_null(),
        ExprKind::Cast { method: CastMethod::Domain, .. } => return false,
        ExprKind::Cast { arg, .. } => return depth > 0 && is_null_within(arg, depth - 1),
        ExprKind::Func { proc, args, .. } => (*proc, args),
        ExprKind::Op { op, args } => (op.proc, args),
        _ => return false,
    };
    if depth == 0 || !is_strict(proc) || !args.iter().any(|arg| is_null_within(arg, depth - 1)) {
        return false;
    }
    !args.iter().any(|arg| !is_null_within(arg, depth - 1) && walk::any(arg, &constant_fails))
}

fn is_strict(proc: Oid) -> bool {
    proc_by_oid(proc).is_some_and(|p| p.strict && !p.retset)
}

/// Whether an expression is of no row, and may fail: PostgreSQL's planner computes it.
fn constant_fails(expr: &Expr) -> bool {
    let varies = |e: &Expr| {
        matches!(e.kind, ExprKind::Var(_) | ExprKind::WholeRow { .. } | ExprKind::Param(_) | ExprKind::SubLink { .. })
    };
    !super::conditions::cannot_fail(expr) && is_folded(expr) && !walk::any(expr, &varies)
}

/// Of `NULL IN (list)` what is computed all the same. PostgreSQL makes one array of the items that read no column, if there are two or more,
/// and computes it; each other item becomes a comparison with NULL, which its planner leaves out. None: the left side may have a value, or
/// something in such a comparison fails while it is planned.
pub(super) fn list_beside_null(op: &OperatorRef, left: &Expr, list: &[Expr]) -> Option<Vec<Expr>> {
    if !is_strict(op.proc) || !is_always_null(left) || list.iter().any(|e| walk::any(e, &is_sub_query)) {
        return None;
    }
    let (compared, mut in_array): (Vec<&Expr>, Vec<&Expr>) = list.iter().partition(|e| walk::any(e, &reads_row));
    if in_array.len() < 2 && in_array.iter().any(|e| walk::any(e, &constant_fails)) {
        return None;
    }
    if in_array.len() < 2 {
        in_array.clear();
    }
    in_array.retain(|e| !super::conditions::cannot_fail(e) || !is_repeatable(e));
    let fails = compared.iter().any(|e| walk::any(e, &constant_fails));
    (!fails).then(|| in_array.into_iter().cloned().collect())
}

fn is_sub_query(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::SubLink { .. })
}

/// Whether an expression is a column, or a row, of the query that it stands in.
fn reads_row(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Var(var) => var.levels_up == 0,
        ExprKind::WholeRow { levels_up, .. } => *levels_up == 0,
        _ => false,
    }
}

/// Whether computing a value may raise an error, and may be done twice.
pub(super) fn may_fail_again(expr: &Expr) -> bool {
    let plain = matches!(expr.kind, ExprKind::Const(_) | ExprKind::Param(_) | ExprKind::Default | ExprKind::NextRow(_));
    !plain && is_repeatable(expr)
}

/// Whether a value is the next number of a sequence.
pub(super) fn takes_number(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Cast { arg, .. } => takes_number(arg),
        ExprKind::Func { proc, .. } => proc_by_oid(*proc).is_some_and(|p| p.name == "nextval"),
        _ => false,
    }
}
