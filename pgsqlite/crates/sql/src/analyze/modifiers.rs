//! Type modifiers of expressions that give one of several values: RowDescription shows them, and views and CREATE TABLE AS take
//! them over. The alternatives must agree. What PostgreSQL drops while it computes constants ahead (a branch that is never
//! taken, a NULL in COALESCE) is not asked, except in trees that are printed (`whole`), which have all that was written.

use crate::typed::{Expr, ExprKind};
use pgsqlite_types::{Datum, Oid};

/// Whether an expression is the constant NULL, seen through casts.
pub(super) fn is_null(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Const(value) => value.is_null(),
        ExprKind::Cast { arg, .. } => is_null(arg),
        _ => false,
    }
}

/// Whether an expression is a constant that is not NULL, seen through casts.
fn is_value(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Const(value) => !value.is_null(),
        ExprKind::Cast { arg, .. } => is_value(arg),
        _ => false,
    }
}

/// The modifier that all have, if all are of the type.
fn common<'e>(exprs: impl IntoIterator<Item = &'e Expr>, ty: Oid) -> i32 {
    let mut found = None;
    for expr in exprs {
        if expr.ty != ty || expr.typmod < 0 || found.is_some_and(|f| f != expr.typmod) {
            return -1;
        }
        found = Some(expr.typmod);
    }
    found.unwrap_or(-1)
}

/// Of CASE.
pub(super) fn of_case(whens: &[(Expr, Expr)], otherwise: Option<&Expr>, ty: Oid, whole: bool) -> i32 {
    let mut results = Vec::new();
    if whole {
        let results = whens.iter().map(|(_, result)| result).chain(otherwise);
        return otherwise.map_or(-1, |_| common(results, ty));
    }
    for (condition, result) in whens {
        match &condition.kind {
            ExprKind::Const(Datum::Int(0) | Datum::Null) => {}
            ExprKind::Const(Datum::Int(_)) => {
                results.push(result);
                return common(results, ty);
            }
            _ => results.push(result),
        }
    }
    match otherwise {
        Some(otherwise) => {
            results.push(otherwise);
            common(results, ty)
        }
        None => -1,
    }
}

/// Of COALESCE.
pub(super) fn of_coalesce(args: &[Expr], ty: Oid, whole: bool) -> i32 {
    let mut asked = Vec::new();
    if whole {
        return common(args, ty);
    }
    for arg in args.iter().filter(|a| !is_null(a)) {
        asked.push(arg);
        if is_value(arg) {
            break;
        }
    }
    common(asked, ty)
}

/// Of GREATEST and LEAST.
pub(super) fn of_extreme(args: &[Expr], ty: Oid) -> i32 {
    common(args, ty)
}
