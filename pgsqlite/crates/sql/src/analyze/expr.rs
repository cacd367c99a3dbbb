//! Expressions of the grammar → typed expressions.

use super::select::MOST_ENTRIES;
use super::typename::name_parts;
use super::{modifiers, Analyzer, Clause};
use crate::builtins::catalog as builtin;
use crate::catalog::Catalog;
use crate::parse::{ast, NodeEnum};
use crate::typed::{
    BoolTest, CastForm, CastMethod, Expr, ExprKind, OperatorRef, Quantifier, RteKind, SortKey, SubLinkKind,
};
use pgsqlite_types::codec::{Context, TypeCodec};
use pgsqlite_types::{bits, oid, Datum, Oid, PgError, Result, SqlState};
use std::borrow::Cow;

/// Values that a Bind message can give.
const MOST_PARAMETERS: usize = 65535;
/// Parameters that a statement may name before the types of all of them are known.
const LONGEST_LIST: usize = 1 << 20;

impl Analyzer<'_> {
    pub(crate) fn expr_opt(&mut self, node: Option<&ast::Node>) -> Result<Expr> {
        self.expr(node.ok_or_else(|| PgError::internal("an expression is missing in the parse tree"))?)
    }

    pub(crate) fn expr_list(&mut self, nodes: &[ast::Node]) -> Result<Vec<Expr>> {
        nodes.iter().map(|n| self.expr(n)).collect()
    }

    /// A row's NULL test of one field: a field that is a row is NULL only if it is not there at all.
    fn field_null_test(&self, field: Expr, negated: bool, location: i32) -> Expr {
        let arg = if matches!(self.env.catalog.codec(field.ty), Some(TypeCodec::Record | TypeCodec::Composite(_))) {
            let (method, form) = (CastMethod::Relabel, CastForm::Implicit);
            Expr::new(ExprKind::Cast { arg: Box::new(field), method, form }, oid::TEXT, location)
        } else {
            field
        };
        Expr::new(ExprKind::IsNull { arg: Box::new(arg), negated }, oid::BOOL, location)
    }

    /// Any expression.
    pub(crate) fn expr(&mut self, node: &ast::Node) -> Result<Expr> {
        let node = node.node.as_ref().ok_or_else(|| PgError::internal("an empty node in the parse tree"))?;
        pgsqlite_types::work::tick(32)?;
        match node {
            NodeEnum::AConst(c) => self.constant(c),
            NodeEnum::ColumnRef(c) => self.column_or_variable(c),
            NodeEnum::ParamRef(p) => self.parameter(p.number, p.location),
            NodeEnum::TypeCast(c) => self.type_cast(c),
            NodeEnum::AExpr(e) => self.a_expr(e),
            NodeEnum::BoolExpr(e) => self.bool_expr(e),
            NodeEnum::NullTest(t) => {
                let negated = t.nulltesttype == ast::NullTestType::IsNotNull as i32;
                self.null_test(t.arg.as_deref(), negated, t.location)
            }
            NodeEnum::BooleanTest(t) => {
                let test = match t.booltesttype {
                    x if x == ast::BoolTestType::IsTrue as i32 => BoolTest::True,
                    x if x == ast::BoolTestType::IsNotTrue as i32 => BoolTest::NotTrue,
                    x if x == ast::BoolTestType::IsFalse as i32 => BoolTest::False,
                    x if x == ast::BoolTestType::IsNotFalse as i32 => BoolTest::NotFalse,
                    x if x == ast::BoolTestType::IsUnknown as i32 => BoolTest::Unknown,
                    _ => BoolTest::NotUnknown,
                };
                let what = match test {
                    BoolTest::True => "IS TRUE",
                    BoolTest::NotTrue => "IS NOT TRUE",
                    BoolTest::False => "IS FALSE",
                    BoolTest::NotFalse => "IS NOT FALSE",
                    BoolTest::Unknown => "IS UNKNOWN",
                    BoolTest::NotUnknown => "IS NOT UNKNOWN",
                };
                let arg = self.expr_opt(t.arg.as_deref())?;
                let arg = self.coerce_boolean(arg, what)?;
                Ok(Expr::new(ExprKind::BoolTest { arg: Box::new(arg), test }, oid::BOOL, t.location))
            }
            NodeEnum::CaseExpr(c) => self.case(c),
            NodeEnum::CoalesceExpr(c) => {
                let args = self.expr_list(&c.args)?;
                forbid_set_functions(&args, "COALESCE")?;
                let (args, ty) = self.unify(args, "COALESCE")?;
                let typmod = modifiers::of_coalesce(&args, ty);
                Ok(Expr::new(ExprKind::Coalesce(args), ty, c.location).with_typmod(typmod))
            }
            NodeEnum::MinMaxExpr(m) => {
                let args = self.expr_list(&m.args)?;
                let greatest = m.op == ast::MinMaxOp::IsGreatest as i32;
                let (args, ty) = self.unify(args, if greatest { "GREATEST" } else { "LEAST" })?;
                self.check_orderable(ty, m.location)?;
                let typmod = modifiers::of_extreme(&args, ty);
                let kind = if greatest { ExprKind::Greatest(args) } else { ExprKind::Least(args) };
                Ok(Expr::new(kind, ty, m.location).with_typmod(typmod))
            }
            NodeEnum::FuncCall(f) => self.function_call(f),
            NodeEnum::SubLink(s) => self.sub_link(s),
            NodeEnum::AArrayExpr(a) => self.array(a, None),
            NodeEnum::RowExpr(r) => {
                let args = self.row_elements(&r.args)?;
                if args.len() > MOST_ENTRIES {
                    let message = format!("ROW expressions can have at most {MOST_ENTRIES} entries");
                    return Err(PgError::new(SqlState::TOO_MANY_COLUMNS, message).at(r.location));
                }
                // untyped literals stay so: a comparison with another row may type them
                Ok(Expr::new(ExprKind::Row(args), oid::RECORD, r.location))
            }
            NodeEnum::AIndirection(i) => self.indirection(i),
            NodeEnum::CollateClause(c) => self.collate(c),
            NodeEnum::SqlvalueFunction(f) => self.sql_value_function(f),
            NodeEnum::GroupingFunc(g) => self.grouping_call(g),
            NodeEnum::SetToDefault(d) => Ok(Expr::new(ExprKind::Default, oid::UNKNOWN, d.location)),
            NodeEnum::NamedArgExpr(n) => {
                Err(PgError::new(SqlState::SYNTAX_ERROR, "a named argument stands outside a function call")
                    .at(n.location))
            }
            NodeEnum::XmlExpr(x) => Err(PgError::not_supported("XML").at(x.location)),
            NodeEnum::XmlSerialize(x) => Err(PgError::not_supported("XML").at(x.location)),
            NodeEnum::CurrentOfExpr(_) => Err(PgError::not_supported("WHERE CURRENT OF")),
            NodeEnum::MultiAssignRef(_) => Err(PgError::not_supported("multiple assignment here")),
            other => Err(PgError::not_supported(format!("expression {}", node_name(other)))),
        }
    }

    fn constant(&mut self, c: &ast::AConst) -> Result<Expr> {
        use ast::a_const::Val;
        if c.isnull {
            return Ok(Expr::new(ExprKind::Const(Datum::Null), oid::UNKNOWN, c.location));
        }
        let (datum, ty) = match &c.val {
            Some(Val::Ival(i)) => (Datum::Int(i.ival as i64), oid::INT4),
            Some(Val::Fval(f)) => match f.fval.parse::<i64>() {
                Ok(i) if i32::try_from(i).is_ok() => (Datum::Int(i), oid::INT4),
                Ok(i) => (Datum::Int(i), oid::INT8),
                Err(_) => {
                    let context = Context { settings: self.env.settings, names: self.env.names };
                    (TypeCodec::Numeric.text_in(&f.fval, -1, &context).map_err(|e| e.at(c.location))?, oid::NUMERIC)
                }
            },
            Some(Val::Boolval(b)) => (Datum::Int(b.boolval as i64), oid::BOOL),
            Some(Val::Sval(s)) => (Datum::Text(s.sval.clone()), oid::UNKNOWN),
            // `b…` or `x…`, as the type reads it
            Some(Val::Bsval(b)) => (Datum::Text(bits::parse(&b.bsval).map_err(|e| e.at(c.location))?), oid::BIT),
            None => return Err(PgError::internal("a constant without a value")),
        };
        Ok(Expr::new(ExprKind::Const(datum), ty, c.location))
    }

    fn parameter(&mut self, number: i32, location: i32) -> Result<Expr> {
        let n = usize::try_from(number).ok().filter(|&n| n >= 1).ok_or_else(|| {
            PgError::new(SqlState::UNDEFINED_PARAMETER, format!("there is no parameter ${number}")).at(location)
        })?;
        if let Some(variables) = self.variables {
            return match variables.parameter(n)? {
                Some(found) => Ok(found.expr(location)),
                None => Err(PgError::new(SqlState::UNDEFINED_PARAMETER, format!("there is no parameter ${number}"))
                    .at(location)),
            };
        }
        if let Some(args) = &self.splice_arguments {
            let arg = args.get(n - 1).cloned();
            return arg.ok_or_else(|| PgError::internal("a spliced function text names an argument it has not"));
        }
        if self.parameters.len() < n {
            if !self.parameters_open {
                return Err(PgError::new(SqlState::UNDEFINED_PARAMETER, format!("there is no parameter ${number}"))
                    .at(location));
            }
            // of so many some have no type: the first of them is reported, after the analysis if their list may be made
            if n > LONGEST_LIST {
                let untyped = self.parameters.iter().position(|ty| *ty == 0);
                return Err(super::indeterminate_parameter(untyped.unwrap_or(self.parameters.len()) + 1));
            }
            self.parameters.resize(n, 0);
        } else if n > MOST_PARAMETERS {
            return Err(PgError::not_supported(format!("more than {MOST_PARAMETERS} parameters")).at(location));
        }
        match self.parameters[n - 1] {
            0 => Ok(Expr::new(ExprKind::Param(n), oid::UNKNOWN, location)),
            ty => self.typed_parameter(n, ty, location),
        }
    }

    /// A parameter that was read before its type was known, with the type it has now.
    fn told_type(&self, mut value: Expr) -> Expr {
        if let (ExprKind::Param(n), oid::UNKNOWN) = (&value.kind, value.ty) {
            if let Some(&ty) = self.parameters.get(n - 1).filter(|ty| **ty != 0) {
                value.ty = ty;
            }
        }
        value
    }

    /// A parameter of unknown type meets a context that fixes it.
    pub(crate) fn set_parameter_type(&mut self, n: usize, ty: Oid, location: i32) -> Result<()> {
        let slot = &mut self.parameters[n - 1];
        if *slot == 0 || *slot == oid::UNKNOWN {
            *slot = ty;
        } else if *slot != ty {
            let (old, new) = (self.type_display(self.parameters[n - 1]), self.type_display(ty));
            return Err(PgError::new(
                SqlState::AMBIGUOUS_PARAMETER,
                format!("inconsistent types deduced for parameter ${n}"),
            )
            .detail(format!("{old} versus {new}"))
            .at(location));
        }
        Ok(())
    }

    fn type_cast(&mut self, c: &ast::TypeCast) -> Result<Expr> {
        let name = c.type_name.as_ref().ok_or_else(|| PgError::internal("a cast without a type"))?;
        let (ty, typmod) = self.type_name(name)?;
        let arg = c.arg.as_deref().ok_or_else(|| PgError::internal("a cast without an argument"))?;
        // ARRAY[…]::t[]: the elements are read as t
        let expr = match &arg.node {
            Some(NodeEnum::AArrayExpr(a)) if self.env.catalog.element_type(self.base_type(ty)).is_some() => {
                let base = self.base_type(ty);
                let typmod = if base == ty { typmod } else { self.env.catalog.domain_typmod(ty) };
                self.array(a, Some((base, typmod)))?
            }
            _ => self.expr(arg)?,
        };
        // `true`, `false` come as casts of string constants in old trees
        let location = if c.location >= 0 { c.location } else { expr.location };
        self.coerce_explicit(expr, ty, typmod, location)
    }

    fn bool_expr(&mut self, e: &ast::BoolExpr) -> Result<Expr> {
        let (what, kind) = match e.boolop {
            x if x == ast::BoolExprType::AndExpr as i32 => ("AND", 0),
            x if x == ast::BoolExprType::OrExpr as i32 => ("OR", 1),
            _ => ("NOT", 2),
        };
        let mut args = Vec::with_capacity(e.args.len());
        for node in &e.args {
            let arg = self.expr(node)?;
            args.push(self.coerce_boolean(arg, what)?);
        }
        let kind = match kind {
            0 => ExprKind::And(args),
            1 => ExprKind::Or(args),
            _ => ExprKind::Not(Box::new(args.pop().ok_or_else(|| PgError::internal("NOT without operand"))?)),
        };
        Ok(Expr::new(kind, oid::BOOL, e.location))
    }

    /// Converts all to their common type.
    pub(crate) fn unify(&mut self, args: Vec<Expr>, what: &str) -> Result<(Vec<Expr>, Oid)> {
        let ty = self.common_type(&args.iter().collect::<Vec<_>>(), what)?;
        let mut out = Vec::with_capacity(args.len());
        for arg in args {
            out.push(self.coerce_to_common(arg, ty, what)?);
        }
        Ok((out, ty))
    }

    fn case(&mut self, c: &ast::CaseExpr) -> Result<Expr> {
        let operand = match &c.arg {
            Some(node) => {
                let operand = self.expr(node)?;
                Some(self.resolve_unknown(operand)?)
            }
            None => None,
        };
        let mut conditions = Vec::new();
        let mut results = Vec::new();
        for node in &c.args {
            let Some(NodeEnum::CaseWhen(when)) = &node.node else { return Err(PgError::internal("CaseWhen expected")) };
            let condition = self.expr_opt(when.expr.as_deref())?;
            conditions.push(match &operand {
                Some(operand) => {
                    let location = condition.location;
                    let comparison = self.operator("=", Some(operand.clone()), condition, location)?;
                    self.coerce_boolean(comparison, "CASE/WHEN")?
                }
                None => self.coerce_boolean(condition, "CASE/WHEN")?,
            });
            results.push(self.expr_opt(when.result.as_deref())?);
        }
        let has_default = c.defresult.is_some();
        // PostgreSQL considers ELSE first when it looks for the common type.
        let default = match &c.defresult {
            Some(node) => self.expr(node)?,
            None => Expr::new(ExprKind::Const(Datum::Null), oid::UNKNOWN, -1),
        };
        results.insert(0, default);
        forbid_set_functions(&conditions, "CASE")?;
        forbid_set_functions(&results, "CASE")?;
        let (mut results, ty) = self.unify(results, "CASE")?;
        let default = results.remove(0);
        let otherwise = has_default.then(|| Box::new(default));
        let whens: Vec<(Expr, Expr)> = conditions.into_iter().zip(results).collect();
        let typmod = modifiers::of_case(&whens, otherwise.as_deref(), ty);
        Ok(Expr::new(ExprKind::Case { whens, otherwise }, ty, c.location).with_typmod(typmod))
    }

    fn a_expr(&mut self, e: &ast::AExpr) -> Result<Expr> {
        use ast::AExprKind as K;
        let kind = K::try_from(e.kind).map_err(|_| PgError::internal("unknown kind of expression"))?;
        let name = operator_name(self.env.catalog, &e.name)?;
        let name: &str = &name;
        let location = e.location;
        match kind {
            K::AexprOp => self.operator_expr(e, name),
            K::AexprOpAny | K::AexprOpAll => {
                let quantifier = if kind == K::AexprOpAny { Quantifier::Any } else { Quantifier::All };
                let left = self.expr_opt(e.lexpr.as_deref())?;
                let array = self.expr_opt(e.rexpr.as_deref())?;
                self.array_compare(name, quantifier, left, array, location)
            }
            K::AexprDistinct | K::AexprNotDistinct => {
                let negated = kind == K::AexprNotDistinct;
                let left = self.expr_opt(e.lexpr.as_deref())?;
                let right = self.expr_opt(e.rexpr.as_deref())?;
                if let (ExprKind::Row(l), ExprKind::Row(r)) = (&left.kind, &right.kind) {
                    if l.len() != r.len() {
                        return Err(PgError::new(
                            SqlState::SYNTAX_ERROR,
                            "unequal number of entries in row expressions",
                        )
                        .at(location));
                    }
                    let mut tests = Vec::new();
                    // (PostgreSQL keeps it as the opposite of IS DISTINCT FROM)
                    let opposite = negated && self.storing && l.len() > 1;
                    for (a, b) in l.clone().into_iter().zip(r.clone()) {
                        tests.push(self.distinct(a, b, negated && !opposite, location)?);
                    }
                    if opposite {
                        let distinct = Expr::new(ExprKind::Or(tests), oid::BOOL, location);
                        return Ok(Expr::new(ExprKind::Not(Box::new(distinct)), oid::BOOL, location));
                    }
                    let kind = if negated { ExprKind::And(tests) } else { ExprKind::Or(tests) };
                    return Ok(Expr::new(kind, oid::BOOL, location));
                }
                self.distinct(left, right, negated, location)
            }
            K::AexprNullif => {
                let left = self.expr_opt(e.lexpr.as_deref())?;
                let right = self.expr_opt(e.rexpr.as_deref())?;
                let comparison = self.operator("=", Some(left.clone()), right, location)?;
                let ExprKind::Op { op, mut args } = comparison.kind else {
                    return Err(PgError::internal("operator expected"));
                };
                let (right, left_converted) = (args.pop().expect("two"), args.pop().expect("two"));
                let typmod = if left.ty == left_converted.ty { left.typmod } else { left_converted.typmod };
                let (ty, left) = (left_converted.ty, left_converted);
                let kind = ExprKind::NullIf { op, left: Box::new(left), right: Box::new(right) };
                Ok(Expr::new(kind, ty, location).with_typmod(typmod))
            }
            K::AexprIn => self.in_list(e, name == "<>"),
            K::AexprLike | K::AexprIlike | K::AexprSimilar => {
                let left = self.expr_opt(e.lexpr.as_deref())?;
                let right = self.expr_opt(e.rexpr.as_deref())?;
                self.operator(name, Some(left), right, location)
            }
            K::AexprBetween | K::AexprNotBetween | K::AexprBetweenSym | K::AexprNotBetweenSym => {
                let left = self.expr_opt(e.lexpr.as_deref())?;
                let Some(NodeEnum::List(bounds)) = e.rexpr.as_ref().and_then(|n| n.node.as_ref()) else {
                    return Err(PgError::internal("BETWEEN without bounds"));
                };
                let low = self.expr(&bounds.items[0])?;
                let high = self.expr(&bounds.items[1])?;
                let negated = matches!(kind, K::AexprNotBetween | K::AexprNotBetweenSym);
                let plain = self.between(left.clone(), low.clone(), high.clone(), negated, location)?;
                if matches!(kind, K::AexprBetween | K::AexprNotBetween) {
                    return Ok(plain);
                }
                let swapped = self.between(left, high, low, negated, location)?;
                let both = vec![plain, swapped];
                Ok(Expr::new(if negated { ExprKind::And(both) } else { ExprKind::Or(both) }, oid::BOOL, location))
            }
            K::Undefined => Err(PgError::internal("undefined kind of expression")),
        }
    }

    fn between(&mut self, value: Expr, low: Expr, high: Expr, negated: bool, location: i32) -> Result<Expr> {
        let (first, second) = if negated { ("<", ">") } else { (">=", "<=") };
        let a = self.operator(first, Some(value.clone()), low, location)?;
        // the first comparison may have told what type a parameter has
        let (value, high) = (self.told_type(value), self.told_type(high));
        let b = self.operator(second, Some(value), high, location)?;
        Ok(Expr::new(if negated { ExprKind::Or(vec![a, b]) } else { ExprKind::And(vec![a, b]) }, oid::BOOL, location))
    }

    pub(crate) fn distinct(&mut self, left: Expr, right: Expr, negated: bool, location: i32) -> Result<Expr> {
        let is_null = |e: &Expr| matches!(e.kind, ExprKind::Const(Datum::Null)) && e.ty == oid::UNKNOWN;
        if is_null(&right) || is_null(&left) {
            let arg = if is_null(&right) { left } else { right };
            let arg = self.resolve_unknown(arg)?;
            return Ok(Expr::new(ExprKind::IsNull { arg: Box::new(arg), negated: !negated }, oid::BOOL, location));
        }
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
    fn null_test(&mut self, arg: Option<&ast::Node>, negated: bool, location: i32) -> Result<Expr> {
        let arg = self.expr_opt(arg)?;
        let arg = self.resolve_unknown(arg)?;
        if let ExprKind::Row(fields) = arg.kind {
            // a row IS NULL if all fields are, IS NOT NULL if none is
            let tests = fields.into_iter().map(|f| self.field_null_test(f, negated, location)).collect();
            return Ok(Expr::new(ExprKind::And(tests), oid::BOOL, location));
        }
        if let ExprKind::WholeRow { levels_up, rte, .. } = arg.kind {
            let fields = self.whole_row_fields(levels_up, rte, location);
            let tests = fields.into_iter().map(|f| self.field_null_test(f, negated, location)).collect();
            return Ok(Expr::new(ExprKind::And(tests), oid::BOOL, location));
        }
        Ok(Expr::new(ExprKind::IsNull { arg: Box::new(arg), negated }, oid::BOOL, location))
    }

    fn operator_expr(&mut self, e: &ast::AExpr, name: &str) -> Result<Expr> {
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
        let written = |n: Option<&ast::Node>| matches!(n.and_then(|n| n.node.as_ref()), Some(NodeEnum::RowExpr(_)));
        if let (ExprKind::Row(fields), true, Some(NodeEnum::SubLink(s))) =
            (&left.kind, written(Some(left_node)), e.rexpr.as_ref().and_then(|n| n.node.as_ref()))
        {
            if s.sub_link_type == ast::SubLinkType::ExprSublink as i32 {
                return self.row_compare_subquery(name, fields.clone(), s, location);
            }
        }
        let right = self.expr_opt(e.rexpr.as_deref())?;
        let both = written(Some(left_node)) && written(e.rexpr.as_deref());
        if let (ExprKind::Row(l), ExprKind::Row(r), true) = (&left.kind, &right.kind, both) {
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
            // an operator of the user is in no family of a B-tree, and has no order with others
            if builtin::operator_by_oid(op.oid).is_none() {
                return Err(PgError::new(
                    SqlState::FEATURE_NOT_SUPPORTED,
                    format!("could not determine interpretation of row comparison operator {name}"),
                )
                .hint("Row comparison operators must be associated with btree operator families.")
                .at(location));
            }
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

    fn array_compare(
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
        let element_target = if self.base_type(element) == args[1] || composite { element } else { args[1] };
        let target =
            self.env.catalog.array_type(element_target).ok_or_else(|| PgError::internal("no array type for ANY"))?;
        let array = self.coerce_implicit(array, target)?;
        Ok(Expr::new(
            ExprKind::ArrayCompare { op, quantifier, left: Box::new(left), array: Box::new(array) },
            oid::BOOL,
            location,
        ))
    }

    fn in_list(&mut self, e: &ast::AExpr, negated: bool) -> Result<Expr> {
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
        let depends = |e: &&Expr| self.storing && names_own_column(e);
        let alone = list.iter().filter(|e| !depends(e)).count() < 2;
        if !alone && self.storing {
            (others, list) = list.into_iter().partition(names_own_column);
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

    /// The comparison with one item of IN's list.
    fn in_item(&mut self, name: &str, left: Expr, item: Expr, location: i32) -> Result<Expr> {
        match (&left.kind, &item.kind) {
            (ExprKind::Row(l), ExprKind::Row(r)) => self.row_compare(name, l.clone(), r.clone(), location),
            _ => self.operator(name, Some(left), item, location),
        }
    }

    /// `left [NOT] IN (…)` of several items.
    fn in_constants(&mut self, left: Expr, list: Vec<Expr>, negated: bool, location: i32) -> Result<Expr> {
        let name = if negated { "<>" } else { "=" };
        // With a common type of all items the operator is chosen once (as PostgreSQL's = ANY (ARRAY[…])), else one by one.
        let all: Vec<&Expr> = std::iter::once(&left).chain(&list).collect();
        let same_category = self.common_type(&all, "IN").ok();
        // (there is no array of arrays: those are compared one by one)
        let is_element = |t: &Oid| *t != oid::UNKNOWN && *t != oid::RECORD && self.env.catalog.array_type(*t).is_some();
        if let Some(common) = same_category.filter(is_element) {
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

    /// ARRAY[…]; `cast`: the array type that it is cast to, and the modifier, which the elements' casts may need.
    fn array(&mut self, a: &ast::AArrayExpr, cast: Option<(Oid, i32)>) -> Result<Expr> {
        let target = cast.map(|(ty, _)| ty);
        let typmod = cast.map_or(-1, |(_, typmod)| typmod);
        let element_target = target.and_then(|t| self.env.catalog.element_type(t));
        let mut elements = Vec::new();
        let mut nested = false;
        for node in &a.elements {
            let expr = match &node.node {
                Some(NodeEnum::AArrayExpr(inner)) => {
                    nested = true;
                    self.array(inner, cast)?
                }
                _ => {
                    let expr = self.expr(node)?;
                    // (a domain over an array is an element like any other)
                    nested |= self.env.catalog.element_type(expr.ty).is_some() && expr.ty != oid::UNKNOWN;
                    expr
                }
            };
            elements.push(expr);
        }
        let vector = |ty: Oid| matches!(ty, oid::INT2VECTOR | oid::OIDVECTOR);
        if let Some(e) = elements.iter().find(|e| vector(self.base_type(e.ty))) {
            return Err(PgError::not_supported(format!("an array of {}", self.type_display(e.ty))).at(a.location));
        }
        if elements.is_empty() && target.is_some_and(vector) {
            let message = format!("array is not a valid {}", self.type_display(target.unwrap_or_default()));
            return Err(PgError::new(SqlState::DATATYPE_MISMATCH, message));
        }
        if elements.is_empty() {
            let array = target.ok_or_else(|| {
                PgError::new(SqlState::INDETERMINATE_DATATYPE, "cannot determine type of empty array")
                    .hint("Explicitly cast to the desired type, for example ARRAY[]::integer[].")
                    .at(a.location)
            })?;
            return Ok(Expr::new(ExprKind::Array(vec![]), array, a.location));
        }
        if let (Some(array), Some(element)) = (target, element_target) {
            let mut out = Vec::new();
            for e in elements {
                let wanted = if nested { array } else { element };
                let location = e.location;
                out.push(self.coerce_explicit(e, wanted, typmod, location)?);
            }
            return Ok(Expr::new(ExprKind::Array(out), array, a.location));
        }
        let (elements, element) = self.unify(elements, "ARRAY")?;
        let array = if nested {
            element
        } else {
            self.env.catalog.array_type(element).ok_or_else(|| {
                PgError::new(
                    SqlState::UNDEFINED_OBJECT,
                    format!("could not find array type for data type {}", self.type_display(element)),
                )
                .at(a.location)
            })?
        };
        Ok(Expr::new(ExprKind::Array(elements), array, a.location))
    }

    /// The elements of ROW(…); `t.*` in it stands for the columns.
    pub(super) fn row_elements(&mut self, nodes: &[ast::Node]) -> Result<Vec<Expr>> {
        let mut out = Vec::new();
        for node in nodes {
            if let Some(NodeEnum::ColumnRef(c)) = &node.node {
                if c.fields.last().is_some_and(|f| matches!(f.node, Some(NodeEnum::AStar(_)))) {
                    out.extend(self.expand_star(c)?.into_iter().map(|(_, e)| e));
                    continue;
                }
            }
            out.push(self.expr(node)?);
        }
        Ok(out)
    }

    fn indirection(&mut self, i: &ast::AIndirection) -> Result<Expr> {
        let mut expr = self.expr_opt(i.arg.as_deref())?;
        let from_zero = match (self.variables, i.arg.as_ref().and_then(|a| a.node.as_ref())) {
            (Some(variables), Some(NodeEnum::ColumnRef(c))) => variables.counts_from_zero(&name_parts(&c.fields)),
            _ => false,
        };
        let shifted: Vec<ast::AIndices> = match from_zero {
            true => i.indirection.iter().filter_map(|n| one_higher(n.node.as_ref())).collect(),
            false => vec![],
        };
        let mut shifted = shifted.iter();
        let mut pending: Vec<&ast::AIndices> = Vec::new();
        for node in &i.indirection {
            match &node.node {
                Some(NodeEnum::AIndices(_)) if from_zero => pending.extend(shifted.next()),
                Some(NodeEnum::AIndices(indices)) => pending.push(indices),
                Some(NodeEnum::String(field)) => {
                    if !pending.is_empty() {
                        expr = self.subscript(expr, &std::mem::take(&mut pending))?;
                    }
                    expr = self.field(expr, &field.sval)?;
                }
                _ => return Err(PgError::not_supported("row expansion via \"*\" here")),
            }
        }
        if !pending.is_empty() {
            expr = self.subscript(expr, &pending)?;
        }
        Ok(expr)
    }

    /// `relname[0]`: a name is an array of single characters, counted from 0. (pg_dump looks for a leading `_` by it.)
    fn character_of_name(&mut self, arg: Expr, indices: &[&ast::AIndices]) -> Result<Expr> {
        // substr(text, int4, int4) and "char"(text)
        const SUBSTR: Oid = 877;
        const CHAR: Oid = 944;
        let location = arg.location;
        let index = match indices {
            [index] if !index.is_slice => self.expr_opt(index.uidx.as_deref())?,
            _ => return Err(PgError::not_supported("this subscript of a name").at(location)),
        };
        let ExprKind::Const(Datum::Int(at @ 0..=63)) = index.kind else {
            return Err(PgError::not_supported("a subscript of a name that is no constant from 0 to 63").at(location));
        };
        let number = |n: i64| Expr::new(ExprKind::Const(Datum::Int(n)), oid::INT4, -1);
        let text = self.coerce_implicit(arg, oid::TEXT)?;
        let call = |proc, args, ty| Expr::new(ExprKind::Func { proc, args, variadic: false }, ty, location);
        let part = call(SUBSTR, vec![text, number(at + 1), number(1)], oid::TEXT);
        Ok(call(CHAR, vec![part], oid::CHAR))
    }

    pub(super) fn subscript(&mut self, arg: Expr, indices: &[&ast::AIndices]) -> Result<Expr> {
        const MAX_DIMENSIONS: usize = 6;
        let location = arg.location;
        let base = self.base_type(arg.ty);
        if base != oid::JSONB && indices.len() > MAX_DIMENSIONS {
            return Err(PgError::new(
                SqlState::PROGRAM_LIMIT_EXCEEDED,
                format!(
                    "number of array dimensions ({}) exceeds the maximum allowed ({MAX_DIMENSIONS})",
                    indices.len()
                ),
            ));
        }
        if base == oid::JSONB {
            let mut subscripts = Vec::new();
            for index in indices {
                if index.is_slice {
                    let bound = index.uidx.as_deref().or(index.lidx.as_deref()).and_then(|n| n.node.as_ref());
                    return Err(PgError::new(SqlState::DATATYPE_MISMATCH, "jsonb subscript does not support slices")
                        .at(bound.map_or(location, super::recursion::location_of)));
                }
                let e = self.expr_opt(index.uidx.as_deref())?;
                let e = if matches!(e.ty, oid::INT2 | oid::INT4 | oid::INT8) {
                    e
                } else {
                    if !self.can_coerce(e.ty, oid::TEXT, crate::builtins::catalog::CastContext::Implicit) {
                        let message = format!("subscript type {} is not supported", self.type_display(e.ty));
                        return Err(PgError::new(SqlState::DATATYPE_MISMATCH, message)
                            .hint("jsonb subscript must be coercible to either integer or text.")
                            .at(e.location));
                    }
                    self.coerce_implicit(e, oid::TEXT)?
                };
                subscripts.push(e);
            }
            return Ok(Expr::new(ExprKind::JsonSubscript { arg: Box::new(arg), subscripts }, oid::JSONB, location));
        }
        if base == oid::NAME {
            return self.character_of_name(arg, indices);
        }
        if base == pgsqlite_types::extension::HSTORE {
            let [index] = indices else {
                let message = "hstore allows only one subscript";
                return Err(PgError::new(SqlState::FEATURE_NOT_SUPPORTED, message).at(location));
            };
            if index.is_slice {
                let message = "hstore allows only one subscript";
                return Err(PgError::new(SqlState::FEATURE_NOT_SUPPORTED, message).at(location));
            }
            let key = self.expr_opt(index.uidx.as_deref())?;
            let key = self.coerce_implicit(key, oid::TEXT)?;
            return self.operator("->", Some(arg), key, location);
        }
        // points, segments, boxes and lines are arrays of fixed length, counted from 0
        let fixed = matches!(base, oid::POINT | oid::LSEG | oid::BOX | oid::LINE);
        if fixed && (indices.len() > 1 || indices[0].is_slice) {
            return Err(PgError::not_supported("this subscript of an array of fixed length").at(location));
        }
        let element = match pgsqlite_types::catalog::by_oid(base) {
            Some(t) if fixed => Some(t.elem),
            _ => self.env.catalog.element_type(base),
        };
        let Some(element) = element else {
            return Err(PgError::new(
                SqlState::DATATYPE_MISMATCH,
                format!("cannot subscript type {} because it does not support subscripting", self.type_display(arg.ty)),
            )
            .at(location));
        };
        let slice = indices.iter().any(|i| i.is_slice);
        let mut subscripts = Vec::new();
        for index in indices {
            let bound = |analyzer: &mut Self, node: &Option<Box<ast::Node>>| -> Result<Option<Expr>> {
                let Some(node) = node else { return Ok(None) };
                let e = analyzer.expr(node)?;
                let (ty, at) = (e.ty, e.location);
                match analyzer.try_coerce(
                    e,
                    oid::INT4,
                    -1,
                    builtin::CastContext::Assignment,
                    crate::typed::CastForm::Implicit,
                )? {
                    Some(e) => Ok(Some(e)),
                    None => Err(PgError::new(
                        SqlState::DATATYPE_MISMATCH,
                        format!("array subscript must have type integer, not {}", analyzer.type_display(ty)),
                    )
                    .at(at)),
                }
            };
            let (lower, upper) = (bound(self, &index.lidx)?, bound(self, &index.uidx)?);
            // in a slice, a[2] means a[1:2]
            let lower = if slice && !index.is_slice {
                Some(Expr::new(ExprKind::Const(Datum::Int(1)), oid::INT4, -1))
            } else {
                lower
            };
            subscripts.push((lower, upper));
        }
        let ty = if slice { base } else { element };
        let typmod = if base == arg.ty { arg.typmod } else { self.env.catalog.domain_typmod(arg.ty) };
        Ok(Expr::new(ExprKind::Subscript { arg: Box::new(arg), slice, subscripts }, ty, location).with_typmod(typmod))
    }

    /// `name(row)`, which is `row.name` where no function takes it. None: the value is no row, or has no such field.
    pub(super) fn field_call(&mut self, arg: Expr, name: &str, location: i32) -> Result<Option<Expr>> {
        if !self.is_row_type(arg.ty) {
            return Ok(None);
        }
        match self.field(arg, name) {
            Ok(field) => Ok(Some(Expr { location, ..field })),
            Err(e) if e.code() == SqlState::UNDEFINED_COLUMN => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// `row.name` where the row has no such field: a function of it. None: there is none.
    pub(super) fn function_as_column(&mut self, row: Expr, name: &str, location: i32) -> Result<Option<Expr>> {
        if !self.is_row_type(row.ty) {
            return Ok(None);
        }
        let candidates = self.functions_named(None, name);
        let Some(Ok(found)) = self.resolve_function(&candidates, &[row.ty], false) else { return Ok(None) };
        if found.proc.kind != b'f' || found.proc.args.len() != 1 || found.variadic_from.is_some() {
            return Ok(None);
        }
        let proc = found.proc;
        super::aggregate::call_target(&self.env, proc.oid)?;
        if self.env.catalog.function(proc.oid).is_none() && crate::builtins::imp::imp(proc.oid).is_none() {
            return Err(PgError::not_supported(format!("function {}", self.proc_signature(proc))).at(location));
        }
        let arg = self.coerce_implicit(row, found.args[0])?;
        let call = ast::FuncCall { location, ..Default::default() };
        self.plain_call(proc, vec![arg], found.ret, &call, false).map(Some)
    }

    pub(super) fn field(&mut self, arg: Expr, name: &str) -> Result<Expr> {
        let location = arg.location;
        match &arg.kind {
            ExprKind::WholeRow { levels_up, rte, .. } => {
                let (levels_up, rte) = (*levels_up, *rte);
                match self.column_of(levels_up, rte, name, location) {
                    Err(e) if e.code() == SqlState::UNDEFINED_COLUMN => {
                        self.function_as_column(arg, name, location)?.ok_or(e)
                    }
                    found => found,
                }
            }
            ExprKind::Row(fields) if arg.ty == oid::RECORD => {
                let index = name
                    .strip_prefix('f')
                    .and_then(|n| n.parse::<usize>().ok())
                    .filter(|&n| n >= 1 && n <= fields.len());
                match index {
                    Some(n) => Ok(fields[n - 1].clone()),
                    None => Err(PgError::new(
                        SqlState::UNDEFINED_COLUMN,
                        format!("could not identify column \"{name}\" in record data type"),
                    )
                    .at(location)),
                }
            }
            _ if self.is_row_type(arg.ty) => {
                let fields = self.record_fields(&arg)?;
                let Some(index) = fields.iter().position(|(n, ..)| n == name) else {
                    if let Some(call) = self.function_as_column(arg.clone(), name, location)? {
                        return Ok(call);
                    }
                    let message = if arg.ty == oid::RECORD {
                        format!("could not identify column \"{name}\" in record data type")
                    } else {
                        format!("column \"{name}\" not found in data type {}", self.type_display(arg.ty))
                    };
                    return Err(PgError::new(SqlState::UNDEFINED_COLUMN, message).at(location));
                };
                let (_, ty, typmod) = fields[index].clone();
                let kind = ExprKind::Field { arg: Box::new(arg), index, name: name.to_string() };
                Ok(Expr::new(kind, ty, location).with_typmod(typmod))
            }
            _ => Err(PgError::new(
                SqlState::WRONG_OBJECT_TYPE,
                format!(
                    "column notation .{name} applied to type {}, which is not a composite type",
                    self.type_display(arg.ty)
                ),
            )
            .at(location)),
        }
    }

    /// The fields of a row-typed expression (name, type, type modifier): of its type, or where it comes from.
    pub(crate) fn record_fields(&self, arg: &Expr) -> Result<Vec<(String, Oid, i32)>> {
        if let Some(fields) = self.env.catalog.composite_fields(arg.ty) {
            return Ok(fields);
        }
        let shape = match &arg.kind {
            ExprKind::Var(v) => self
                .levels
                .len()
                .checked_sub(1 + v.levels_up)
                .and_then(|i| self.levels[i].range_table.get(v.rte))
                .and_then(|entry| match &entry.kind {
                    RteKind::Subquery { query, .. } => self.query_column_fields(query, v.column),
                    RteKind::Cte { levels_up, index, .. } => {
                        let level = self.levels.len().checked_sub(1 + v.levels_up + levels_up)?;
                        match &self.levels[level].ctes.get(*index)?.body {
                            crate::typed::CteBody::Query(query) => self.query_column_fields(query, v.column),
                            crate::typed::CteBody::Modify(_) => None,
                        }
                    }
                    _ => None,
                }),
            _ => self.value_fields(arg),
        };
        shape.ok_or_else(|| PgError::not_supported("a field of this record").at(arg.location))
    }

    fn query_column_fields(&self, query: &crate::typed::Query, column: usize) -> Option<Vec<(String, Oid, i32)>> {
        match &query.body {
            crate::typed::QueryBody::Select(select) => {
                let expr = &select.targets.get(column)?.expr;
                match &expr.kind {
                    ExprKind::Var(v) if v.levels_up == 0 => match &query.range_table.get(v.rte)?.kind {
                        RteKind::Subquery { query, .. } => self.query_column_fields(query, v.column),
                        _ => None,
                    },
                    _ => self.value_fields(expr),
                }
            }
            crate::typed::QueryBody::SetOperation { left, .. } => self.query_column_fields(left, column),
            crate::typed::QueryBody::Values(rows) => self.value_fields(rows.first()?.get(column)?),
        }
    }

    fn value_fields(&self, expr: &Expr) -> Option<Vec<(String, Oid, i32)>> {
        match &expr.kind {
            ExprKind::WholeRow { fields, .. } => Some(fields.iter().map(|(n, ty)| (n.clone(), *ty, -1)).collect()),
            ExprKind::Row(fields) => Some(
                fields
                    .iter()
                    .enumerate()
                    .map(|(i, f)| {
                        let ty = if f.ty == oid::UNKNOWN { oid::TEXT } else { f.ty };
                        (format!("f{}", i + 1), ty, f.typmod)
                    })
                    .collect(),
            ),
            ExprKind::SubLink { kind: SubLinkKind::Scalar, query } => self.query_column_fields(query, 0),
            ExprKind::Func { proc, args, .. } | ExprKind::SetFunc { proc, args, .. } => {
                let outs = super::out_columns(self.env.catalog, *proc, args);
                (!outs.is_empty()).then(|| outs.into_iter().map(|(n, ty)| (n, ty, -1)).collect())
            }
            ExprKind::Coalesce(list) => self.value_fields(list.first()?),
            _ => None,
        }
    }

    fn collate(&mut self, c: &ast::CollateClause) -> Result<Expr> {
        // (a literal without a type stays one: what it is compared with may type it)
        let arg = self.expr_opt(c.arg.as_deref())?;
        let collation = self.collation(&c.collname, c.location)?;
        if arg.ty != oid::UNKNOWN && self.env.catalog.type_collation(arg.ty) == 0 {
            return Err(PgError::new(
                SqlState::DATATYPE_MISMATCH,
                format!("collations are not supported by type {}", self.type_display(arg.ty)),
            )
            .at(c.location));
        }
        let (ty, typmod, location) = (arg.ty, arg.typmod, arg.location);
        let kind = ExprKind::Cast { arg: Box::new(arg), method: CastMethod::Relabel, form: CastForm::Collate };
        self.collate_places.insert((location, collation), c.location);
        Ok(Expr { kind, ty, typmod, collation, location })
    }

    /// A collation by name, along the search path. Errors: 42704; 0A000 for a language's whose order is not known here.
    pub(crate) fn collation(&self, name: &[ast::Node], location: i32) -> Result<Oid> {
        let parts = name_parts(name);
        if let [.., schema, _] = parts[..] {
            self.check_schema(schema).map_err(|e| e.at(location))?;
        }
        let found = find_collation(self.env.catalog, self.env.search_path, &parts);
        found.map_err(|e| e.at(location))
    }

    /// CURRENT_DATE and its like: calls of the functions behind them.
    fn sql_value_function(&mut self, f: &ast::SqlValueFunction) -> Result<Expr> {
        use ast::SqlValueFunctionOp as O;
        let op = O::try_from(f.op).map_err(|_| PgError::internal("unknown SQL value function"))?;
        let text = match op {
            O::SvfopCurrentDate => "pg_catalog.now()::date",
            O::SvfopCurrentTime | O::SvfopCurrentTimeN => "pg_catalog.now()::timetz",
            O::SvfopCurrentTimestamp | O::SvfopCurrentTimestampN => "pg_catalog.now()",
            O::SvfopLocaltime | O::SvfopLocaltimeN => "pg_catalog.now()::time",
            O::SvfopLocaltimestamp | O::SvfopLocaltimestampN => "pg_catalog.now()::timestamp",
            O::SvfopCurrentRole | O::SvfopCurrentUser | O::SvfopUser => "pg_catalog.\"current_user\"()",
            O::SvfopSessionUser => "pg_catalog.\"session_user\"()",
            O::SvfopCurrentCatalog => "pg_catalog.current_database()",
            O::SvfopCurrentSchema => "pg_catalog.current_schema()",
            O::SqlvalueFunctionOpUndefined => return Err(PgError::internal("undefined SQL value function")),
        };
        let mut expr = self.sub_expression(text)?;
        expr.location = f.location;
        if f.typmod >= 0 {
            let ty = expr.ty;
            expr = self.coerce_explicit(expr, ty, f.typmod, f.location)?;
        }
        let word = match op {
            O::SvfopCurrentDate => "CURRENT_DATE",
            O::SvfopCurrentTime | O::SvfopCurrentTimeN => "CURRENT_TIME",
            O::SvfopCurrentTimestamp | O::SvfopCurrentTimestampN => "CURRENT_TIMESTAMP",
            O::SvfopLocaltime | O::SvfopLocaltimeN => "LOCALTIME",
            O::SvfopLocaltimestamp | O::SvfopLocaltimestampN => "LOCALTIMESTAMP",
            O::SvfopCurrentRole => "CURRENT_ROLE",
            O::SvfopCurrentUser => "CURRENT_USER",
            O::SvfopUser => "USER",
            O::SvfopSessionUser => "SESSION_USER",
            O::SvfopCurrentCatalog => "CURRENT_CATALOG",
            O::SvfopCurrentSchema => "CURRENT_SCHEMA",
            O::SqlvalueFunctionOpUndefined => return Err(PgError::internal("undefined SQL value function")),
        };
        let (ty, location) = (expr.ty, f.location);
        let kind = ExprKind::Cast {
            arg: Box::new(expr),
            method: crate::typed::CastMethod::Relabel,
            form: CastForm::Keyword(word),
        };
        let mut keyword = Expr::new(kind, ty, location);
        keyword.typmod = f.typmod;
        Ok(keyword)
    }

    fn grouping_call(&mut self, g: &ast::GroupingFunc) -> Result<Expr> {
        let args = self.expr_list(&g.args)?;
        self.level().pending_grouping = true;
        // resolved against GROUP BY once that is known: the arguments are kept in a row meanwhile
        let row = Expr::new(ExprKind::Row(args), oid::RECORD, g.location);
        Ok(Expr::new(
            ExprKind::Field { arg: Box::new(row), index: usize::MAX, name: "grouping".into() },
            oid::INT4,
            g.location,
        ))
    }

    fn sub_link(&mut self, s: &ast::SubLink) -> Result<Expr> {
        use ast::SubLinkType as T;
        let kind = T::try_from(s.sub_link_type).map_err(|_| PgError::internal("unknown kind of sub-query"))?;
        let location = s.location;
        let clause = self.level().clause;
        if matches!(clause, Clause::Standalone) {
            return Err(
                PgError::new(SqlState::FEATURE_NOT_SUPPORTED, "cannot use subquery in this expression").at(location)
            );
        }
        let select = s.subselect.as_deref().ok_or_else(|| PgError::internal("a sub-query without a query"))?;
        let test = match &s.testexpr {
            Some(node) => Some(self.expr(node)?),
            None => None,
        };
        let mut query = self.sub_query(select)?;
        self.resolve_unknown_columns(&mut query)?;
        let width = query.columns.len();
        match kind {
            T::ExistsSublink => Ok(Expr::new(
                ExprKind::SubLink { kind: SubLinkKind::Exists, query: Box::new(query) },
                oid::BOOL,
                location,
            )),
            T::ExprSublink => {
                if width != 1 {
                    return Err(
                        PgError::new(SqlState::SYNTAX_ERROR, "subquery must return only one column").at(location)
                    );
                }
                let (ty, typmod) = (query.columns[0].ty, query.columns[0].typmod);
                Ok(Expr::new(ExprKind::SubLink { kind: SubLinkKind::Scalar, query: Box::new(query) }, ty, location)
                    .with_typmod(typmod))
            }
            T::ArraySublink => {
                if width != 1 {
                    return Err(
                        PgError::new(SqlState::SYNTAX_ERROR, "subquery must return only one column").at(location)
                    );
                }
                let element = query.columns[0].ty;
                if matches!(self.base_type(element), oid::INT2VECTOR | oid::OIDVECTOR) {
                    return Err(
                        PgError::not_supported(format!("an array of {}", self.type_display(element))).at(location)
                    );
                }
                // (a domain over arrays is an element like any other)
                let array = if self.env.catalog.element_type(element).is_some() {
                    // arrays of one shape become one with a dimension more
                    element
                } else {
                    self.env.catalog.array_type(element).ok_or_else(|| {
                        PgError::new(
                            SqlState::UNDEFINED_OBJECT,
                            format!("could not find array type for data type {}", self.type_display(element)),
                        )
                        .at(location)
                    })?
                };
                Ok(Expr::new(ExprKind::SubLink { kind: SubLinkKind::Array, query: Box::new(query) }, array, location))
            }
            T::AnySublink | T::AllSublink => {
                let name =
                    if s.oper_name.is_empty() { "=".into() } else { operator_name(self.env.catalog, &s.oper_name)? };
                let name: &str = &name;
                let test = test.ok_or_else(|| PgError::internal("ANY without a left side"))?;
                let tests = match test.kind {
                    ExprKind::Row(fields) => fields,
                    _ => vec![test],
                };
                self.quantified(kind == T::AnySublink, name, tests, query, location)
            }
            T::RowcompareSublink | T::MultiexprSublink | T::CteSublink | T::Undefined => {
                Err(PgError::not_supported("this form of sub-query").at(location))
            }
        }
    }

    fn quantified(
        &mut self,
        any: bool,
        name: &str,
        tests: Vec<Expr>,
        mut query: crate::typed::Query,
        location: i32,
    ) -> Result<Expr> {
        if tests.len() < query.columns.len() {
            return Err(PgError::new(SqlState::SYNTAX_ERROR, "subquery has too many columns").at(location));
        }
        if tests.len() > query.columns.len() {
            return Err(PgError::new(SqlState::SYNTAX_ERROR, "subquery has too few columns").at(location));
        }
        let (tests, operators) = self.compare_with_columns(name, tests, &mut query, location)?;
        let quantifier = if any { Quantifier::Any } else { Quantifier::All };
        let kind = SubLinkKind::Quantified { quantifier, tests, operators };
        Ok(Expr::new(ExprKind::SubLink { kind, query: Box::new(query) }, oid::BOOL, location))
    }

    fn row_compare_subquery(&mut self, name: &str, fields: Vec<Expr>, s: &ast::SubLink, location: i32) -> Result<Expr> {
        let select = s.subselect.as_deref().ok_or_else(|| PgError::internal("a sub-query without a query"))?;
        let mut query = self.sub_query(select)?;
        self.resolve_unknown_columns(&mut query)?;
        if fields.len() != query.columns.len() {
            let what = if fields.len() < query.columns.len() { "too many" } else { "too few" };
            return Err(PgError::new(SqlState::SYNTAX_ERROR, format!("subquery has {what} columns")).at(location));
        }
        if !matches!(name, "=" | "<>" | "<" | "<=" | ">" | ">=") {
            return Err(PgError::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                format!("could not determine interpretation of row comparison operator {name}"),
            )
            .at(location));
        }
        let (tests, operators) = self.compare_with_columns(name, fields, &mut query, location)?;
        Ok(Expr::new(
            ExprKind::SubLink { kind: SubLinkKind::RowCompare { tests, operators }, query: Box::new(query) },
            oid::BOOL,
            location,
        ))
    }

    /// Resolves `test op column` for each column and converts both sides (the query's columns by casts in its targets).
    fn compare_with_columns(
        &mut self,
        name: &str,
        tests: Vec<Expr>,
        query: &mut crate::typed::Query,
        location: i32,
    ) -> Result<(Vec<Expr>, Vec<OperatorRef>)> {
        let (mut out, mut operators) = (Vec::new(), Vec::new());
        let mut targets = Vec::new();
        for (i, test) in tests.into_iter().enumerate() {
            let (op, args, ret) = self.resolve_operator(name, Some(test.ty), query.columns[i].ty, location)?;
            if ret != oid::BOOL {
                return Err(PgError::new(
                    SqlState::DATATYPE_MISMATCH,
                    format!("row comparison operator must yield type boolean, not type {}", self.type_display(ret)),
                )
                .at(location));
            }
            out.push(self.coerce_implicit(test, args[0])?);
            operators.push(op);
            targets.push(args[1]);
        }
        self.coerce_query_columns(query, &targets)?;
        Ok((out, operators))
    }

    /// ORDER BY item: direction and place of NULLs.
    pub(crate) fn sort_key(&mut self, expr: Expr, sort: &ast::SortBy, target: Option<usize>) -> Result<SortKey> {
        // where it is written, not where the output column is that it may name
        let written = sort.node.as_deref().and_then(|n| n.node.as_ref());
        let location = written.map_or(expr.location, super::recursion::location_of);
        self.check_orderable(if expr.ty == oid::UNKNOWN { oid::TEXT } else { expr.ty }, location)?;
        let mut descending = sort.sortby_dir == ast::SortByDir::SortbyDesc as i32;
        if sort.sortby_dir == ast::SortByDir::SortbyUsing as i32 {
            match &*operator_name(self.env.catalog, &sort.use_op)? {
                "<" => {}
                ">" => descending = true,
                other => {
                    let (operator, ..) = self.resolve_operator(other, Some(expr.ty), expr.ty, sort.location)?;
                    match builtin::ordering(operator.oid) {
                        Some(ordering) if ordering.default => descending = ordering.descending,
                        Some(_) => {
                            return Err(PgError::not_supported(format!("ORDER BY … USING {other}")).at(sort.location))
                        }
                        None => {
                            return Err(PgError::new(
                                SqlState::WRONG_OBJECT_TYPE,
                                format!("operator {other} is not a valid ordering operator"),
                            )
                            .hint("Ordering operators must be \"<\" or \">\" members of btree operator families.")
                            .at(sort.location))
                        }
                    }
                }
            }
        }
        let nulls_first = match sort.sortby_nulls {
            x if x == ast::SortByNulls::SortbyNullsFirst as i32 => true,
            x if x == ast::SortByNulls::SortbyNullsLast as i32 => false,
            _ => descending,
        };
        Ok(SortKey { expr, descending, nulls_first, target })
    }
}

/// CASE and COALESCE do not evaluate all their arguments: nothing in them may give rows.
fn forbid_set_functions(exprs: &[Expr], what: &str) -> Result<()> {
    match crate::walk::find(exprs, |k| matches!(k, ExprKind::SetFunc { .. })) {
        Some(call) => Err(PgError::new(
            SqlState::FEATURE_NOT_SUPPORTED,
            format!("set-returning functions are not allowed in {what}"),
        )
        .hint("You might be able to move the set-returning function into a LATERAL FROM item.")
        .at(call.location)),
        None => Ok(()),
    }
}

/// An operator's name, with `schema.` in front where it was written (of PostgreSQL's own names not: they are what is found anyway).
pub(crate) fn operator_name<'n>(catalog: &Catalog, names: &'n [ast::Node]) -> Result<Cow<'n, str>> {
    let parts = name_parts(names);
    let parts = match &parts[..] {
        [database, rest @ ..] if rest.len() == 2 => {
            if !catalog.is_database(database) {
                return Err(PgError::new(
                    SqlState::FEATURE_NOT_SUPPORTED,
                    format!("cross-database references are not implemented: {}", parts.join(".")),
                ));
            }
            rest
        }
        whole => whole,
    };
    match *parts {
        [name] => Ok(name.into()),
        // (the same, unless somebody has made one of the name)
        ["pg_catalog", name]
            if builtin::operators_named(name).next().is_some()
                && !catalog.operators.values().any(|made| made.definition.name == name) =>
        {
            Ok(name.into())
        }
        [schema, name] => Ok(format!("{schema}.{name}").into()),
        _ => Err(PgError::new(
            SqlState::SYNTAX_ERROR,
            format!("improper qualified name (too many dotted names): {}", parts.join(".")),
        )),
    }
}

/// Whether an expression depends on a column of the query that it belongs to.
fn names_own_column(expr: &Expr) -> bool {
    let mut found = false;
    crate::walk::deep(expr, 0, &mut |depth, e| {
        found |= match &e.kind {
            ExprKind::Var(v) => v.levels_up == depth,
            ExprKind::WholeRow { levels_up, .. } => *levels_up == depth,
            _ => false,
        }
    });
    found
}

/// The tests of IN (any of them holds) or NOT IN (all hold) as one expression, nested as PostgreSQL nests them.
fn joined(tests: Vec<Expr>, negated: bool, location: i32) -> Expr {
    let pair = |a, b| if negated { ExprKind::And(vec![a, b]) } else { ExprKind::Or(vec![a, b]) };
    let joined = tests.into_iter().reduce(|a, b| Expr::new(pair(a, b), oid::BOOL, location));
    joined
        .unwrap_or_else(|| Expr::new(ExprKind::Const(pgsqlite_types::Datum::Int(negated as i64)), oid::BOOL, location))
}

/// The grammar's name of a node, for refusals.
pub(crate) fn node_name(node: &NodeEnum) -> String {
    let debug = format!("{node:?}");
    debug.split(['(', ' ', '{']).next().unwrap_or("").to_string()
}

/// Subscripts that count from 0 as ones that count from 1.
fn one_higher(node: Option<&NodeEnum>) -> Option<ast::AIndices> {
    let Some(NodeEnum::AIndices(indices)) = node else { return None };
    let add = |bound: &Option<Box<ast::Node>>| -> Option<Box<ast::Node>> {
        let left = bound.clone()?;
        let one =
            ast::AConst { val: Some(ast::a_const::Val::Ival(ast::Integer { ival: 1 })), isnull: false, location: -1 };
        let plus = ast::String { sval: "+".into() };
        let sum = ast::AExpr {
            kind: ast::AExprKind::AexprOp as i32,
            name: vec![ast::Node { node: Some(NodeEnum::String(plus)) }],
            lexpr: Some(left),
            rexpr: Some(Box::new(ast::Node { node: Some(NodeEnum::AConst(one)) })),
            location: -1,
            ..Default::default()
        };
        Some(Box::new(ast::Node { node: Some(NodeEnum::AExpr(Box::new(sum))) }))
    };
    Some(ast::AIndices { lidx: add(&indices.lidx), uidx: add(&indices.uidx), ..(**indices).clone() })
}

/// As [`Analyzer::collation`], for whoever has no statement before it.
pub fn find_collation(catalog: &crate::catalog::Catalog, search_path: &[Oid], parts: &[&str]) -> Result<Oid> {
    use crate::catalog::PG_CATALOG;
    let unknown = || {
        PgError::new(
            SqlState::UNDEFINED_OBJECT,
            format!("collation \"{}\" for encoding \"UTF8\" does not exist", parts.join(".")),
        )
    };
    let found = match parts {
        [name] => {
            let implied = (!search_path.contains(&PG_CATALOG)).then_some(PG_CATALOG);
            implied.into_iter().chain(search_path.iter().copied()).find_map(|s| catalog.collation_in(s, name))
        }
        [.., schema, name] => {
            let schema = catalog.schema_oid(schema).ok_or_else(|| {
                PgError::new(SqlState::UNDEFINED_SCHEMA, format!("schema \"{schema}\" does not exist"))
            })?;
            catalog.collation_in(schema, name)
        }
        [] => None,
    };
    let oid = found.ok_or_else(unknown)?;
    if let Some(entry) = catalog.collation(oid) {
        if let Some(locale) = entry.locale {
            pgsqlite_types::collation::open(locale, entry.deterministic)?;
        }
    }
    Ok(oid)
}
