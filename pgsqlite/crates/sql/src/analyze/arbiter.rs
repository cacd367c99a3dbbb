//! Whether the condition of ON CONFLICT gives that of a partial index.
//!
//! Expressions are compared as SQLite gets them: what PostgreSQL prints of a stored expression (`t = ANY (ARRAY[…])`) and what the
//! statement has (`t IN (…)`) are the same there.

use super::Analyzer;
use crate::catalog::Relation;
use crate::typed::{Expr, ExprKind, Quantifier};
use crate::walk;
use pgsqlite_types::{oid, Result};

impl Analyzer<'_> {
    /// The SQL of an expression over the table that is changed.
    pub(super) fn lowered(&self, expr: &Expr, target: &Relation) -> Result<String> {
        (self.env.sqlite_text)(&self.env, expr, Some(target))
    }

    /// Whether `given` says what an index's `predicate` says, and perhaps more. Where it has parameters in place of constants it
    /// does so if they have these values: the condition for that comes with the answer.
    pub(super) fn implies(
        &mut self,
        given: &Expr,
        predicate: &Expr,
        target: &Relation,
    ) -> Result<Option<Option<Expr>>> {
        let (mut offered, mut asked) = (Vec::new(), Vec::new());
        conjuncts(given, &mut offered);
        conjuncts(predicate, &mut asked);
        let mut conditions = Vec::new();
        for part in asked {
            let text = self.lowered(part, target)?;
            let mut found = None;
            for offer in &offered {
                if self.lowered(offer, target)? == text {
                    found = Some(vec![]);
                    break;
                }
                if self.is_part_of(offer, part, target)? {
                    found = Some(vec![]);
                    break;
                }
                let (with_values, pairs) = with_constants(offer, part);
                if found.is_none() && !pairs.is_empty() && self.lowered(&with_values, target)? == text {
                    found = Some(pairs);
                }
            }
            let Some(pairs) = found else { return Ok(None) };
            for (parameter, constant) in pairs {
                conditions.push(self.in_stored_text(|a| a.operator("=", Some(parameter), constant, -1))?);
            }
        }
        let both = |list| Expr::new(ExprKind::And(list), oid::BOOL, -1);
        Ok(Some((!conditions.is_empty()).then(|| both(conditions))))
    }
}

impl Analyzer<'_> {
    /// Whether both say that the same value is in a list, and the first one's list is a part of the other's.
    fn is_part_of(&self, offer: &Expr, part: &Expr, target: &Relation) -> Result<bool> {
        let (Some((of, mine)), Some((over, all))) = (listed(offer), listed(part)) else { return Ok(false) };
        if self.lowered(of, target)? != self.lowered(over, target)? {
            return Ok(false);
        }
        let lowered =
            |items: Vec<&Expr>| items.into_iter().map(|e| self.lowered(e, target)).collect::<Result<Vec<_>>>();
        let (mine, all) = (lowered(mine)?, lowered(all)?);
        Ok(mine.iter().all(|item| all.contains(item)))
    }
}

/// What `x = constant`, `x IN (constants)` and `x = ANY (ARRAY[constants])` compare with what.
fn listed(expr: &Expr) -> Option<(&Expr, Vec<&Expr>)> {
    let equals = |op: &crate::typed::OperatorRef| {
        crate::builtins::catalog::operator_by_oid(op.oid).is_some_and(|o| o.name == "=")
    };
    let (left, items): (&Expr, Vec<&Expr>) = match &expr.kind {
        ExprKind::Op { op, args } if equals(op) && args.len() == 2 => (&args[0], vec![&args[1]]),
        ExprKind::InList { op, left, list, negated: false } if equals(op) => (left, list.iter().collect()),
        ExprKind::ArrayCompare { op, quantifier: Quantifier::Any, left, array } if equals(op) => match &array.kind {
            ExprKind::Array(items) => (left, items.iter().collect()),
            _ => return None,
        },
        _ => return None,
    };
    let constant = |e: &&Expr| !walk::any(e, &|e| !matches!(e.kind, ExprKind::Const(_) | ExprKind::Cast { .. }));
    items.iter().all(constant).then_some((left, items))
}

fn conjuncts<'e>(expr: &'e Expr, out: &mut Vec<&'e Expr>) {
    match &expr.kind {
        ExprKind::And(list) => list.iter().for_each(|e| conjuncts(e, out)),
        _ => out.push(expr),
    }
}

/// `expr` with the constants that stand in the same places of `model` for its parameters; and these pairs.
fn with_constants(expr: &Expr, model: &Expr) -> (Expr, Vec<(Expr, Expr)>) {
    let mut constants = Vec::new();
    walk::deep(model, 0, &mut |_, e| {
        if let ExprKind::Const(datum) = &e.kind {
            constants.push(datum.clone());
        }
    });
    let (mut at, mut pairs) = (0, Vec::new());
    let new = walk::map(expr, &mut |e| match e.kind {
        ExprKind::Const(_) => {
            at += 1;
            None
        }
        ExprKind::Param(_) => {
            let datum = constants.get(at)?.clone();
            at += 1;
            let constant = Expr { kind: ExprKind::Const(datum), ..e.clone() };
            pairs.push((e.clone(), constant.clone()));
            Some(constant)
        }
        _ => None,
    });
    match at == constants.len() {
        true => (new, pairs),
        false => (new, vec![]),
    }
}
