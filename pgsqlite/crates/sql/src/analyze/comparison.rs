//! Comparisons: operators, BETWEEN, IS DISTINCT FROM, IN, ANY, ALL, and those of rows.

use super::Analyzer;
use crate::builtins::catalog as builtin;
use crate::parse::{ast, NodeEnum};
use crate::typed::{Expr, ExprKind, OperatorRef, Quantifier};
use pgsqlite_types::{oid, Datum, Oid, PgError, Result, SqlState};

impl Analyzer<'_> {
    /// `rows`: the operands that were written as rows, which are compared as such.
    pub(super) fn between(
        &mut self,
        value: Expr,
        (low, high): (Expr, Expr),
        rows: [bool; 3],
        negated: bool,
        location: i32,
    ) -> Result<Expr> {
        let (first, second) = if negated { ("<", ">") } else { (">=", "<=") };
        let a = self.rows_or_values(first, value.clone(), low, rows[0] && rows[1], location)?;
        // the first comparison may have told what type a parameter has
        let (value, high) = (self.told_type(value), self.told_type(high));
        let b = self.rows_or_values(second, value, high, rows[0] && rows[2], location)?;
        Ok(Expr::new(if negated { ExprKind::Or(vec![a, b]) } else { ExprKind::And(vec![a, b]) }, oid::BOOL, location))
    }

    pub(crate) fn distinct(&mut self, left: Expr, right: Expr, negated: bool, location: i32) -> Result<Expr> {
        let is_null = |e: &Expr| matches!(e.kind, ExprKind::Const(Datum::Null)) && e.ty == oid::UNKNOWN;
        if is_null(&right) || is_null(&left) {
            let arg = if is_null(&right) { left } else { right };
            let arg = self.resolve_of_any_type(arg)?;
            return Ok(Expr::new(ExprKind::IsNull { arg: Box::new(arg), negated: !negated }, oid::BOOL, location));
        }
        self.distinct_values(left, right, negated, location)
    }

    /// As [`Analyzer::distinct`], of parts of rows: also a NULL is compared there.
    pub(super) fn distinct_values(&mut self, left: Expr, right: Expr, negated: bool, location: i32) -> Result<Expr> {
        let comparison = self.operator("=", Some(left), right, location)?;
        let ExprKind::Op { op, mut args } = comparison.kind else { return Err(PgError::internal("operator expected")) };
        let (right, left) = (args.pop().expect("two"), args.pop().expect("two"));
        Ok(Expr::new(
            ExprKind::Distinct { op, left: Box::new(left), right: Box::new(right), negated },
            oid::BOOL,
            location,
        ))
    }

    /// `arg IS [NOT] NULL`
    pub(super) fn null_test(&mut self, arg: Option<&ast::Node>, negated: bool, location: i32) -> Result<Expr> {
        let arg = self.expr_opt(arg)?;
        let arg = self.resolve_of_any_type(arg)?;
        if let ExprKind::WholeRow { levels_up, rte, .. } = arg.kind {
            let fields = self.whole_row_fields(levels_up, rte, location);
            let tests = fields.into_iter().map(|f| self.field_null_test(f, negated, location)).collect();
            return Ok(Expr::new(ExprKind::And(tests), oid::BOOL, location));
        }
        Ok(Expr::new(ExprKind::IsNull { arg: Box::new(arg), negated }, oid::BOOL, location))
    }

    pub(super) fn operator_expr(&mut self, e: &ast::AExpr, name: &str) -> Result<Expr> {
        let location = e.location;
        let Some(left_node) = e.lexpr.as_deref() else {
            let right = self.expr_opt(e.rexpr.as_deref())?;
            return self.operator(name, None, right, location);
        };
        if self.env.settings.transform_null_equals && name == "=" && e.name.len() == 1 {
            let is_null = |n: &ast::Node| matches!(&n.node, Some(NodeEnum::AConst(c)) if c.isnull);
            let tested = match e.rexpr.as_deref() {
                Some(right) if is_null(right) => Some(left_node),
                Some(right) if is_null(left_node) => Some(right),
                _ => None,
            };
            if let Some(tested) = tested {
                return self.null_test(Some(tested), false, location);
            }
        }
        // ROW(…) op (SELECT …)
        let left = self.expr(left_node)?;
        if let (ExprKind::Row(fields), true, Some(NodeEnum::SubLink(s))) =
            (&left.kind, written_as_row(Some(left_node)), e.rexpr.as_ref().and_then(|n| n.node.as_ref()))
        {
            if s.sub_link_type == ast::SubLinkType::ExprSublink as i32 {
                return self.row_compare_subquery(name, fields.clone(), s, location);
            }
        }
        let right = self.expr_opt(e.rexpr.as_deref())?;
        let both = written_as_row(Some(left_node)) && written_as_row(e.rexpr.as_deref());
        self.rows_or_values(name, left, right, both, location)
    }

    /// `left name right`. `rows`: both were written as rows.
    fn rows_or_values(&mut self, name: &str, left: Expr, right: Expr, rows: bool, location: i32) -> Result<Expr> {
        if let (ExprKind::Row(l), ExprKind::Row(r), true) = (&left.kind, &right.kind, rows) {
            return self.row_compare(name, l.clone(), r.clone(), location);
        }
        self.operator(name, Some(left), right, location)
    }

    fn row_compare(&mut self, name: &str, left: Vec<Expr>, right: Vec<Expr>, location: i32) -> Result<Expr> {
        if left.len() != right.len() {
            return Err(
                PgError::new(SqlState::SYNTAX_ERROR, "unequal number of entries in row expressions").at(location)
            );
        }
        if left.is_empty() {
            return Err(
                PgError::new(SqlState::FEATURE_NOT_SUPPORTED, "cannot compare rows of zero length").at(location)
            );
        }
        if !matches!(name, "=" | "<>" | "<" | "<=" | ">" | ">=") {
            return Err(PgError::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                format!("could not determine interpretation of row comparison operator {name}"),
            )
            .at(location));
        }
        let single = left.len() == 1;
        let (mut operators, mut l_out, mut r_out) = (Vec::new(), Vec::new(), Vec::new());
        for (l, r) in left.into_iter().zip(right) {
            let comparison = self.operator(name, Some(l), r, location)?;
            if single {
                return Ok(comparison);
            }
            let ExprKind::Op { op, mut args } = comparison.kind else {
                return Err(PgError::internal("operator expected"));
            };
            check_has_order(&op, name, location)?;
            operators.push(op);
            r_out.push(args.pop().expect("two"));
            l_out.push(args.pop().expect("two"));
        }
        // PostgreSQL keeps equality and its opposite as the comparisons of the columns
        if self.storing && matches!(name, "=" | "<>") {
            let pairs = operators.into_iter().zip(l_out.into_iter().zip(r_out));
            let mut tests: Vec<Expr> = pairs
                .map(|(op, (l, r))| Expr::new(ExprKind::Op { op, args: vec![l, r] }, oid::BOOL, location))
                .collect();
            if tests.len() == 1 {
                return Ok(tests.remove(0));
            }
            let kind = if name == "=" { ExprKind::And(tests) } else { ExprKind::Or(tests) };
            return Ok(Expr::new(kind, oid::BOOL, location));
        }
        Ok(Expr::new(
            ExprKind::RowCompare { name: name.to_string(), operators, left: l_out, right: r_out },
            oid::BOOL,
            location,
        ))
    }

    pub(super) fn array_compare(
        &mut self,
        name: &str,
        quantifier: Quantifier,
        left: Expr,
        array: Expr,
        location: i32,
    ) -> Result<Expr> {
        // an untyped array operand takes the array type over the left operand's
        let element = if array.ty == oid::UNKNOWN {
            oid::UNKNOWN
        } else {
            self.env.catalog.element_type(self.base_type(array.ty)).ok_or_else(|| {
                PgError::new(SqlState::WRONG_OBJECT_TYPE, "op ANY/ALL (array) requires array on right side")
                    .at(location)
            })?
        };
        let (op, args, ret) = self.resolve_operator(name, Some(left.ty), element, location)?;
        if ret != oid::BOOL {
            return Err(PgError::new(
                SqlState::WRONG_OBJECT_TYPE,
                "op ANY/ALL (array) requires operator to yield boolean",
            )
            .at(location));
        }
        let left = self.coerce_implicit(left, args[0])?;
        let composite = args[1] == oid::RECORD && self.env.catalog.composite_fields(element).is_some();
        // (values of a domain are compared as they are, but PostgreSQL has a cast there)
        let same = self.base_type(element) == args[1] && !(self.storing && element != args[1]);
        let element_target = if same || composite { element } else { args[1] };
        let target = self.array_type_of(element_target, location)?;
        let array = self.coerce_implicit(array, target)?;
        Ok(Expr::new(
            ExprKind::ArrayCompare { op, quantifier, left: Box::new(left), array: Box::new(array) },
            oid::BOOL,
            location,
        ))
    }

    pub(super) fn in_list(&mut self, e: &ast::AExpr, negated: bool) -> Result<Expr> {
        let location = e.location;
        let left = self.expr_opt(e.lexpr.as_deref())?;
        let Some(NodeEnum::List(items)) = e.rexpr.as_ref().and_then(|n| n.node.as_ref()) else {
            return Err(PgError::internal("IN without a list"));
        };
        let list = self.expr_list(&items.items)?;
        // NOT IN is <> of all
        let name = if negated { "<>" } else { "=" };
        // PostgreSQL makes an array of what depends on no column of the query, if that is more than one item.
        let (mut list, mut others) = (list, vec![]);
        let depends = |e: &&Expr| self.storing && self.names_own_column(e);
        let constants: Vec<&Expr> = list.iter().filter(|e| !depends(e)).collect();
        let alone = constants.len() < 2 || self.storing && self.common_element(&left, &constants).is_none();
        if !alone && self.storing {
            (others, list) = list.into_iter().partition(|e| self.names_own_column(e));
        }
        if alone {
            let mut tests = Vec::new();
            for item in list {
                tests.push(self.in_item(name, left.clone(), item, location)?);
            }
            return Ok(joined(tests, negated, location));
        }
        let any = self.in_constants(left.clone(), list, negated, location)?;
        let mut tests = vec![any];
        for item in others {
            tests.push(self.in_item(name, left.clone(), item, location)?);
        }
        Ok(joined(tests, negated, location))
    }

    /// Whether an expression depends on a column of the query that it belongs to. OLD and NEW of a rule belong to its commands.
    fn names_own_column(&self, expr: &Expr) -> bool {
        let around = self.levels.len().checked_sub(2).and_then(|at| self.levels.get(at));
        let in_rule = usize::from(around.is_some_and(|level| level.of_rule));
        let own = |levels_up: usize, depth: usize| (depth..=depth + in_rule).contains(&levels_up);
        let mut found = false;
        // (VALUE of a domain, whose row nobody owns, is no column)
        let is_value = |rte: usize| {
            let entry = self.levels.last().and_then(|level| level.range_table.get(rte));
            entry.is_some_and(|e| matches!(&e.kind, crate::typed::RteKind::Relation(r) if r.oid == 0 && r.owner == 0))
        };
        crate::walk::deep(expr, 0, &mut |depth, e| {
            found |= match &e.kind {
                ExprKind::Var(v) => own(v.levels_up, depth) && !(v.levels_up == depth && is_value(v.rte)),
                ExprKind::WholeRow { levels_up, .. } => own(*levels_up, depth),
                _ => false,
            }
        });
        found
    }

    /// The comparison with one item of IN's list.
    fn in_item(&mut self, name: &str, left: Expr, item: Expr, location: i32) -> Result<Expr> {
        match (&left.kind, &item.kind) {
            (ExprKind::Row(l), ExprKind::Row(r)) => self.row_compare(name, l.clone(), r.clone(), location),
            _ => self.operator(name, Some(left), item, location),
        }
    }

    /// The type of the array that IN's operand is compared with: that of its elements. None: the items are compared one by one.
    fn common_element(&self, left: &Expr, list: &[&Expr]) -> Option<Oid> {
        let all: Vec<&Expr> = std::iter::once(left).chain(list.iter().copied()).collect();
        let common = self.common_type(&all, "IN").ok();
        // (there is no array of arrays: those are compared one by one)
        common.filter(|&t| t != oid::UNKNOWN && t != oid::RECORD && self.env.catalog.array_type(t).is_some())
    }

    /// `left [NOT] IN (…)` of several items.
    fn in_constants(&mut self, left: Expr, list: Vec<Expr>, negated: bool, location: i32) -> Result<Expr> {
        let name = if negated { "<>" } else { "=" };
        // With a common type of all items the operator is chosen once (as PostgreSQL's = ANY (ARRAY[…])), else one by one.
        if let Some(common) = self.common_element(&left, &list.iter().collect::<Vec<_>>()) {
            let mut items = Vec::with_capacity(list.len());
            let mut convertible = true;
            for item in &list {
                convertible &= self.can_coerce(item.ty, common, builtin::CastContext::Implicit);
            }
            if convertible {
                for item in list {
                    items.push(self.coerce_to_common(item, common, "IN")?);
                }
                let left_type = left.ty;
                let (op, args, _) = self.resolve_operator(name, Some(left_type), common, location)?;
                let left = self.coerce_implicit(left, args[0])?;
                let mut list = Vec::with_capacity(items.len());
                for item in items {
                    list.push(self.coerce_implicit(item, args[1])?);
                }
                let integer = |t: Oid| matches!(t, oid::INT2 | oid::INT4 | oid::INT8);
                if args[0] == args[1] || integer(args[0]) && integer(args[1]) {
                    // (points have <>, but no =)
                    let equal = match negated {
                        true => self.resolve_operator("=", Some(left_type), common, location).ok().map(|(op, ..)| op),
                        false => Some(op),
                    };
                    if let Some(op) = equal {
                        return Ok(Expr::new(
                            ExprKind::InList { op, left: Box::new(left), list, negated },
                            oid::BOOL,
                            location,
                        ));
                    }
                }
                let test = |item| Expr::new(ExprKind::Op { op, args: vec![left.clone(), item] }, oid::BOOL, location);
                return Ok(joined(list.into_iter().map(test).collect(), negated, location));
            }
        }
        let mut tests = Vec::new();
        for item in list {
            tests.push(self.in_item(name, left.clone(), item, location)?);
        }
        Ok(joined(tests, negated, location))
    }
}

/// Whether `ROW(…)` was written, or `(…, …)`: no cast of one.
pub(super) fn written_as_row(node: Option<&ast::Node>) -> bool {
    matches!(node.and_then(|n| n.node.as_ref()), Some(NodeEnum::RowExpr(_)))
}

/// The tests of IN (any of them holds) or NOT IN (all hold) as one expression, nested as PostgreSQL nests them.
pub(super) fn joined(tests: Vec<Expr>, negated: bool, location: i32) -> Expr {
    let pair = |a, b| if negated { ExprKind::And(vec![a, b]) } else { ExprKind::Or(vec![a, b]) };
    let joined = tests.into_iter().reduce(|a, b| Expr::new(pair(a, b), oid::BOOL, location));
    joined
        .unwrap_or_else(|| Expr::new(ExprKind::Const(pgsqlite_types::Datum::Int(negated as i64)), oid::BOOL, location))
}

/// 0A000 for an operator of the user in a comparison of rows: it is in no family of a B-tree, and has no order with others.
pub(super) fn check_has_order(op: &OperatorRef, name: &str, location: i32) -> Result<()> {
    match builtin::operator_by_oid(op.oid) {
        Some(_) => Ok(()),
        None => Err(PgError::new(
            SqlState::FEATURE_NOT_SUPPORTED,
            format!("could not determine interpretation of row comparison operator {name}"),
        )
        .hint("Row comparison operators must be associated with btree operator families.")
        .at(location)),
    }
}
