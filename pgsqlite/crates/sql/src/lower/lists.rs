//! `x op ANY (ARRAY[…])` and `x op ALL (ARRAY[…])` whose elements are known: a list in SQLite's SQL, which a partial index can
//! have as its condition, where a sub-query over the elements could not stand.

use super::expr::chain;
use super::Lowerer;
use crate::builtins::catalog as builtin;
use crate::typed::{CastMethod, Expr, ExprKind, OperatorRef, Quantifier};
use crate::volatility::is_repeatable;
use pgsqlite_types::array::Array;
use pgsqlite_types::{oid, Datum, Oid, Result};

/// Elements of a constant array that are written out at most.
const MOST_ITEMS: usize = 1000;

impl Lowerer<'_> {
    /// The comparison with each element; None where the elements are not known, or are no single values.
    pub(super) fn compare_with_items(
        &mut self,
        op: OperatorRef,
        quantifier: Quantifier,
        left: &Expr,
        array: &Expr,
        whole: &Expr,
    ) -> Result<Option<String>> {
        let catalog = self.env.catalog;
        let Some(element) = catalog.element_type(catalog.base_type(array.ty)) else { return Ok(None) };
        let Some(items) = self.items_of(array, element) else { return Ok(None) };
        if quantifier == Quantifier::Any && self.plain_equality(op, left.ty, element) {
            return Ok(Some(format!("({} IN ({}))", self.equated(left)?, self.exprs(&items)?.join(", "))));
        }
        let negator = builtin::operator_by_oid(op.oid).and_then(|o| builtin::operator_by_oid(o.negator));
        if let Some(negator) = negator.filter(|_| quantifier == Quantifier::All) {
            if self.plain_equality(OperatorRef { oid: negator.oid, proc: negator.proc }, left.ty, element) {
                return Ok(Some(format!("({} NOT IN ({}))", self.equated(left)?, self.exprs(&items)?.join(", "))));
            }
        }
        // each test writes the left side anew
        if items.is_empty() || items.len() > 1 && !is_repeatable(left) || items.len() > 100 {
            return Ok(None);
        }
        let mut tests = Vec::with_capacity(items.len());
        for item in items {
            tests.push(self.call(op.proc, &[left.clone(), item], false, whole)?);
        }
        Ok(Some(chain(&tests, if quantifier == Quantifier::Any { " OR " } else { " AND " })))
    }

    /// The elements of an array that is written out, as expressions of the element type.
    fn items_of(&self, array: &Expr, element: Oid) -> Option<Vec<Expr>> {
        let catalog = self.env.catalog;
        let retyped = |items: Vec<Expr>, method: &CastMethod, form| {
            let cast = |item: Expr| {
                let location = item.location;
                let arg = Box::new(item);
                Expr::new(ExprKind::Cast { arg, method: method.clone(), form }, element, location)
            };
            items.into_iter().map(cast).collect()
        };
        match &array.kind {
            ExprKind::Array(items) if items.len() <= MOST_ITEMS => {
                let single = |e: &Expr| catalog.element_type(catalog.base_type(e.ty)).is_none();
                items.iter().all(single).then(|| items.clone())
            }
            ExprKind::Cast { arg, method, form } => {
                let from = catalog.element_type(catalog.base_type(arg.ty))?;
                let items = self.items_of(arg, from)?;
                match method {
                    CastMethod::Relabel if from == element => Some(items),
                    CastMethod::Relabel => Some(retyped(items, &CastMethod::Relabel, *form)),
                    CastMethod::Array(each, ..) if !matches!(**each, CastMethod::Typmod | CastMethod::Domain) => {
                        Some(retyped(items, each, *form))
                    }
                    _ => None,
                }
            }
            ExprKind::Const(Datum::Text(text)) if text.len() < MOST_ITEMS * 100 => {
                // the elements of JSON documents and the like have other storage forms inside an array
                let plain = matches!(
                    catalog.base_type(element),
                    oid::INT2
                        | oid::INT4
                        | oid::INT8
                        | oid::TEXT
                        | oid::VARCHAR
                        | oid::BPCHAR
                        | oid::UUID
                        | oid::NUMERIC
                );
                let codec = catalog.codec(element).filter(|_| plain)?;
                let stored = Array::from_storage(text, &codec)?;
                if stored.dimensions.len() > 1 || stored.elements.len() > MOST_ITEMS {
                    return None;
                }
                Some(stored.elements.into_iter().map(|d| Expr::new(ExprKind::Const(d), element, -1)).collect())
            }
            _ => None,
        }
    }
}
