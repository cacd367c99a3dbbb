//! Comparisons with arrays and sub-queries, and of rows.

use super::expr::raise;
use super::{support, Lowerer};
use crate::builtins::catalog as builtin;
use crate::typed::{Expr, ExprKind, OperatorRef, Quantifier, SubLinkKind};
use pgsqlite_types::{catalog as pg_type, PgError, Result};

impl Lowerer<'_> {
    pub(super) fn array_compare(
        &mut self,
        op: OperatorRef,
        quantifier: Quantifier,
        left: &Expr,
        array: &Expr,
        whole: &Expr,
    ) -> Result<String> {
        if let Some(text) = self.compare_with_items(op, quantifier, left, array, whole)? {
            return Ok(text);
        }
        let array_text = self.expr(array)?;
        let each = format!("json_each({}({array_text}))", support::FLATTEN);
        let element = self
            .env
            .catalog
            .element_type(self.env.catalog.base_type(array.ty))
            .ok_or_else(|| PgError::internal("ANY without an array"))?;
        let null_row = format!("SELECT NULL WHERE {array_text} IS NULL");
        let is_blob = pg_type::is_blob(element);
        if !is_blob && self.plain_equality(op, left.ty, element) && quantifier == Quantifier::Any {
            return Ok(format!("({} IN (SELECT value FROM {each} UNION ALL {null_row}))", self.equated(left)?));
        }
        let negator = builtin::operator_by_oid(op.oid).and_then(|o| builtin::operator_by_oid(o.negator));
        if let Some(negator) = negator.filter(|_| quantifier == Quantifier::All && !is_blob) {
            let equality = OperatorRef { oid: negator.oid, proc: negator.proc };
            if self.plain_equality(equality, left.ty, element) {
                return Ok(format!("({} NOT IN (SELECT value FROM {each} UNION ALL {null_row}))", self.equated(left)?));
            }
        }
        // the general form: the operator per element, folded with three-valued logic
        let alias = self.unique("t");
        let value = self.from_json_element(format!("{alias}.value"), element);
        let item = Expr::new(ExprKind::Var(crate::typed::Var { levels_up: 0, rte: 0, column: 0 }), element, -1);
        self.scopes.push(super::Scope { entries: vec![vec![value]], ..Default::default() });
        let raised = raise(left, 1);
        let test = self.call(op.proc, &[raised, item], false, whole);
        self.scopes.pop();
        let fold = fold_quantifier(quantifier, &format!("SELECT {} AS b FROM {each} AS {alias}", test?));
        Ok(format!("(CASE WHEN {array_text} IS NOT NULL THEN {fold} END)"))
    }

    pub(super) fn row_compare(
        &mut self,
        name: &str,
        operators: &[OperatorRef],
        left: &[Expr],
        right: &[Expr],
        whole: &Expr,
    ) -> Result<String> {
        if !matches!(name, "=" | "<>") {
            // (the columns that they become are compared by another call of this)
            let parts: Vec<Expr> = left.iter().chain(right).cloned().collect();
            let computed: Vec<Expr> = parts.iter().filter(|e| self.is_computed_anew(e)).cloned().collect();
            if !computed.is_empty() {
                return self.in_one_place(&computed, &parts, &[], |lowerer, parts| {
                    let (left, right) = parts.split_at(left.len());
                    lowerer.row_compare(name, operators, left, right, whole)
                });
            }
        }
        let pair = |i: usize| [left[i].clone(), right[i].clone()];
        let mut tests = Vec::new();
        for (i, op) in operators.iter().enumerate() {
            tests.push(self.call(op.proc, &pair(i), false, whole)?);
        }
        Ok(match name {
            "=" => format!("({})", tests.join(" AND ")),
            "<>" => format!("({})", tests.join(" OR ")),
            _ => {
                // lexicographic: strict on all but the last, which takes the operator itself
                let mut text = tests.last().cloned().ok_or_else(|| PgError::internal("an empty row comparison"))?;
                for i in (0..operators.len() - 1).rev() {
                    let strict_name = if name.starts_with('<') { "<" } else { ">" };
                    let operator =
                        builtin::operator_by_oid(operators[i].oid).ok_or_else(|| PgError::internal("row operator"))?;
                    let find = |n: &str| {
                        builtin::operators_named(n)
                            .find(|o| o.left == operator.left && o.right == operator.right)
                            .ok_or_else(|| PgError::not_supported("this row comparison").at(whole.location))
                    };
                    let strict = self.call(find(strict_name)?.proc, &pair(i), false, whole)?;
                    let equal = self.call(find("=")?.proc, &pair(i), false, whole)?;
                    text = format!("({strict} OR ({equal} AND {text}))");
                }
                text
            }
        })
    }

    pub(super) fn sub_link(&mut self, kind: &SubLinkKind, query: &crate::typed::Query, whole: &Expr) -> Result<String> {
        match kind {
            SubLinkKind::Exists => Ok(format!("EXISTS ({})", self.query(query)?)),
            SubLinkKind::Scalar => {
                let text = self.query(query)?;
                if super::query::at_most_one_row(query) {
                    return Ok(format!("({text})"));
                }
                Ok(format!("(SELECT {}(c1) FROM ({text}))", support::SINGLE))
            }
            SubLinkKind::Array => {
                let element = query.columns[0].ty;
                let text = self.query(query)?;
                if self.env.catalog.element_type(element).is_some() {
                    // arrays become the elements of one with a dimension more
                    return Ok(format!("(SELECT {}(json_group_array(c1)) FROM ({text}))", support::NEST));
                }
                Ok(format!("(SELECT json_group_array({}) FROM ({text}))", self.json_element("c1", element)))
            }
            SubLinkKind::Quantified { quantifier, tests, operators } => {
                let all_plain = |l: &Self, ops: &[OperatorRef]| {
                    ops.iter().zip(tests).zip(&query.columns).all(|((op, t), c)| l.plain_equality(*op, t.ty, c.ty))
                };
                let mut left = Vec::new();
                for test in tests {
                    left.push(self.collated(test)?);
                }
                let left = if left.len() == 1 { left.remove(0) } else { format!("({})", left.join(", ")) };
                if *quantifier == Quantifier::Any && all_plain(self, operators) {
                    return Ok(format!("({left} IN ({}))", self.query(query)?));
                }
                let negators: Option<Vec<OperatorRef>> = operators
                    .iter()
                    .map(|op| {
                        builtin::operator_by_oid(builtin::operator_by_oid(op.oid)?.negator)
                            .map(|n| OperatorRef { oid: n.oid, proc: n.proc })
                    })
                    .collect();
                if let Some(negators) = negators.filter(|_| *quantifier == Quantifier::All) {
                    if all_plain(self, &negators) {
                        return Ok(format!("({left} NOT IN ({}))", self.query(query)?));
                    }
                }
                let rows = self.compared_rows(tests, operators, query, whole)?;
                Ok(fold_quantifier(*quantifier, &rows))
            }
            SubLinkKind::RowCompare { tests, operators } => {
                let rows = self.compared_rows(tests, operators, query, whole)?;
                Ok(format!("(SELECT {}(b) FROM ({rows}))", support::SINGLE))
            }
        }
    }

    /// A query that compares `tests` with each row of `query`: its column `b`.
    fn compared_rows(
        &mut self,
        tests: &[Expr],
        operators: &[OperatorRef],
        query: &crate::typed::Query,
        whole: &Expr,
    ) -> Result<String> {
        let inner = self.query(query)?;
        let alias = self.unique("t");
        let var = |column| ExprKind::Var(crate::typed::Var { levels_up: 0, rte: 0, column });
        let items: Vec<Expr> = query.columns.iter().enumerate().map(|(i, c)| Expr::new(var(i), c.ty, -1)).collect();
        let names = (1..=items.len()).map(|i| format!("{alias}.c{i}")).collect();
        let tests: Vec<Expr> = tests.iter().map(|t| raise(t, 1)).collect();
        self.scopes.push(super::Scope { entries: vec![names], ..Default::default() });
        let comparison = match (&tests[..], &items[..]) {
            ([test], [item]) => self.call(operators[0].proc, &[test.clone(), item.clone()], false, whole),
            _ => {
                let name =
                    operators.first().and_then(|op| builtin::operator_by_oid(op.oid)).map_or("", |o| o.name.as_str());
                self.row_compare(name, operators, &tests, &items, whole)
            }
        };
        self.scopes.pop();
        Ok(format!("SELECT {} AS b FROM ({inner}) AS {alias}", comparison?))
    }
}

/// True if any (all) of the column `b` of `rows` are, NULL if that is undecided.
fn fold_quantifier(quantifier: Quantifier, rows: &str) -> String {
    match quantifier {
        Quantifier::Any => {
            format!("(SELECT CASE WHEN max(b) = 1 THEN 1 WHEN count(*) > count(b) THEN NULL ELSE 0 END FROM ({rows}))")
        }
        Quantifier::All => {
            format!("(SELECT CASE WHEN min(b) = 0 THEN 0 WHEN count(*) > count(b) THEN NULL ELSE 1 END FROM ({rows}))")
        }
    }
}
