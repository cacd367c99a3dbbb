//! Whether the condition of ON CONFLICT gives that of a partial index.
//!
//! Expressions are compared as SQLite gets them: what PostgreSQL prints of a stored expression (`t = ANY (ARRAY[…])`) and what the
//! statement has (`t IN (…)`) are the same there.

use super::Analyzer;
use crate::catalog::Relation;
use crate::typed::{Expr, ExprKind, Quantifier};
use crate::walk;
use pgsqlite_types::{oid, Datum, Result};
use std::cmp::Ordering;

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
                if self.is_part_of(offer, part, target)? || self.is_narrower(offer, part, target)? {
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
    /// Whether `offer` is true for no row for which `part` is not: both compare the same value with constants, or `part` says that what the
    /// offer compares is not null, or one of them is an OR (manual of PostgreSQL's sources: `predicate_implied_by`).
    fn is_narrower(&self, offer: &Expr, part: &Expr, target: &Relation) -> Result<bool> {
        if let ExprKind::Or(arms) = &offer.kind {
            return arms.iter().try_fold(true, |all, arm| Ok(all && self.gives(arm, part, target)?));
        }
        if let ExprKind::Or(arms) = &part.kind {
            return arms.iter().try_fold(false, |any, arm| Ok(any || self.gives(offer, arm, target)?));
        }
        let Some((value, strategy, constant)) = bound(offer) else { return Ok(false) };
        if let ExprKind::IsNull { arg, negated: true } = &part.kind {
            return Ok(self.lowered(arg, target)? == self.lowered(value, target)?);
        }
        let Some((asked, wanted, other)) = bound(part) else { return Ok(false) };
        let is_text = |ty| self.env.catalog.type_collation(ty) != 0;
        let Some(codec) = self.env.catalog.codec(self.env.catalog.base_type(value.ty)) else { return Ok(false) };
        if value.ty != asked.ty
            || std::mem::discriminant(constant) != std::mem::discriminant(other) && value.ty != oid::NUMERIC
            || is_text(value.ty) && self.env.catalog.has_languages()
            || self.lowered(value, target)? != self.lowered(asked, target)?
        {
            return Ok(false);
        }
        Ok(strategy.gives(wanted, codec.compare_storage(constant.as_ref(), other.as_ref())))
    }

    /// Whether one condition is another one, or gives it.
    fn gives(&self, offer: &Expr, part: &Expr, target: &Relation) -> Result<bool> {
        let (mut offered, mut asked) = (Vec::new(), Vec::new());
        conjuncts(offer, &mut offered);
        conjuncts(part, &mut asked);
        for part in asked {
            let text = self.lowered(part, target)?;
            let mut given = false;
            for offer in &offered {
                given |= self.lowered(offer, target)? == text
                    || self.is_part_of(offer, part, target)?
                    || self.is_narrower(offer, part, target)?;
            }
            if !given {
                return Ok(false);
            }
        }
        Ok(true)
    }

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

/// How an operator of a B-tree compares a value with a constant.
#[derive(Clone, Copy, PartialEq)]
enum Strategy {
    Less,
    LessEqual,
    Equal,
    NotEqual,
    GreaterEqual,
    Greater,
}

impl Strategy {
    fn named(operator: &str) -> Option<Strategy> {
        Some(match operator {
            "<" => Strategy::Less,
            "<=" => Strategy::LessEqual,
            "=" => Strategy::Equal,
            "<>" => Strategy::NotEqual,
            ">=" => Strategy::GreaterEqual,
            ">" => Strategy::Greater,
            _ => return None,
        })
    }

    /// As seen from the other operand.
    fn commuted(self) -> Strategy {
        match self {
            Strategy::Less => Strategy::Greater,
            Strategy::LessEqual => Strategy::GreaterEqual,
            Strategy::GreaterEqual => Strategy::LessEqual,
            Strategy::Greater => Strategy::Less,
            same => same,
        }
    }

    /// Whether `x self a` gives `x wanted b`, a being in this order to b.
    fn gives(self, wanted: Strategy, order: Ordering) -> bool {
        use Strategy::*;
        match (self, wanted) {
            (Less | LessEqual | Equal, Less) | (LessEqual, NotEqual) if order.is_lt() => true,
            (Less, Less) | (Less | LessEqual | Equal, LessEqual) | (Less, NotEqual) => order.is_le(),
            (Equal, Equal) | (NotEqual, NotEqual) => order.is_eq(),
            (Equal, NotEqual) => order.is_ne(),
            (Greater | GreaterEqual | Equal, Greater) | (GreaterEqual, NotEqual) if order.is_gt() => true,
            (Greater, Greater) | (Greater | GreaterEqual | Equal, GreaterEqual) | (Greater, NotEqual) => order.is_ge(),
            _ => false,
        }
    }
}

/// What `x < constant` and the like compare, how, and with what.
fn bound(expr: &Expr) -> Option<(&Expr, Strategy, &Datum)> {
    let ExprKind::Op { op, args } = &expr.kind else { return None };
    let strategy = Strategy::named(&crate::builtins::catalog::operator_by_oid(op.oid)?.name)?;
    let [left, right] = &args[..] else { return None };
    match (constant(left), constant(right)) {
        (None, Some(datum)) if left.ty == right.ty => Some((left, strategy, datum)),
        (Some(datum), None) if left.ty == right.ty => Some((right, strategy.commuted(), datum)),
        _ => None,
    }
}

/// The value of a constant: also of an integer that is compared with numerics.
fn constant(expr: &Expr) -> Option<&Datum> {
    match &expr.kind {
        ExprKind::Const(Datum::Null) => None,
        ExprKind::Const(datum) => Some(datum),
        ExprKind::Cast { arg, .. } if expr.ty == oid::NUMERIC => match &arg.kind {
            ExprKind::Const(datum @ Datum::Int(_)) => Some(datum),
            _ => None,
        },
        _ => None,
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
