//! Expressions of the grammar → typed expressions.

use super::select::MOST_ENTRIES;
use super::typename::name_parts;
use super::{modifiers, Analyzer};
use crate::builtins::catalog as builtin;
use crate::catalog::Catalog;
use crate::parse::{ast, NodeEnum};
use crate::typed::{BoolTest, CastForm, CastMethod, Expr, ExprKind, Quantifier, SortKey};
use pgsqlite_types::codec::{Context, TypeCodec};
use pgsqlite_types::numeric::Numeric;
use pgsqlite_types::{bits, catalog as pg_type, oid, Datum, Oid, PgError, Result, SqlState};
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
    pub(super) fn field_null_test(&self, field: Expr, negated: bool, location: i32) -> Expr {
        let arg = if matches!(self.env.catalog.codec(field.ty), Some(TypeCodec::Record | TypeCodec::Composite(_))) {
            let (method, form) = (CastMethod::Relabel, CastForm::Implicit);
            Expr::new(ExprKind::Cast { arg: Box::new(field), method, form }, oid::TEXT, location)
        } else {
            field
        };
        Expr::new(ExprKind::IsNull { arg: Box::new(arg), negated }, oid::BOOL, location)
    }

    /// An expression, or DEFAULT where a column's value is given: in a row of INSERT's VALUES or in SET.
    pub(super) fn expr_or_default(&mut self, node: &ast::Node) -> Result<Expr> {
        match &node.node {
            Some(NodeEnum::SetToDefault(d)) => Ok(Expr::new(ExprKind::Default, oid::UNKNOWN, d.location)),
            _ => self.expr(node),
        }
    }

    /// Any expression. Errors: 42601 for DEFAULT, which [`Analyzer::expr_or_default`] takes.
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
                let typmod = modifiers::of_coalesce(&args, ty, self.storing);
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
                let args = self.row_elements(&r.args, Self::expr)?;
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
            NodeEnum::SetToDefault(d) => Err(default_is_not_allowed(d.location)),
            NodeEnum::NamedArgExpr(n) => {
                Err(PgError::new(SqlState::SYNTAX_ERROR, "a named argument stands outside a function call")
                    .at(n.location))
            }
            NodeEnum::MergeSupportFunc(f) => self.merge_action(f.location),
            NodeEnum::JsonObjectConstructor(o) => self.json_object(o),
            NodeEnum::JsonArrayConstructor(a) => self.json_array(a),
            NodeEnum::JsonArrayQueryConstructor(q) => self.json_array_of_query(q),
            NodeEnum::JsonObjectAgg(a) => self.json_object_agg(a),
            NodeEnum::JsonArrayAgg(a) => self.json_array_agg(a),
            NodeEnum::JsonParseExpr(p) => self.json_parse(p),
            NodeEnum::JsonScalarExpr(s) => self.json_scalar(s),
            NodeEnum::JsonSerializeExpr(s) => self.json_serialize(s),
            NodeEnum::JsonIsPredicate(p) => self.is_json(p),
            NodeEnum::JsonFuncExpr(f) => self.json_path_call(f),
            NodeEnum::XmlExpr(x) => Err(PgError::not_supported("XML").at(x.location)),
            NodeEnum::XmlSerialize(x) => Err(PgError::not_supported("XML").at(x.location)),
            NodeEnum::CurrentOfExpr(_) => Err(PgError::not_supported("WHERE CURRENT OF")),
            NodeEnum::MultiAssignRef(_) => Err(PgError::not_supported("multiple assignment here")),
            other => Err(PgError::not_supported(format!("expression {}", node_name(other)))),
        }
    }

    pub(super) fn constant(&mut self, c: &ast::AConst) -> Result<Expr> {
        use ast::a_const::Val;
        if c.isnull {
            return Ok(Expr::new(ExprKind::Const(Datum::Null), oid::UNKNOWN, c.location));
        }
        let (datum, ty) = match &c.val {
            Some(Val::Ival(i)) => (Datum::Int(i.ival as i64), oid::INT4),
            Some(Val::Fval(f)) => {
                let text = decimal_digits(&f.fval).map_err(|e| e.at(c.location))?;
                match text.parse::<i64>() {
                    Ok(i) if i32::try_from(i).is_ok() => (Datum::Int(i), oid::INT4),
                    Ok(i) => (Datum::Int(i), oid::INT8),
                    Err(_) => {
                        let context = Context { settings: self.env.settings, names: self.env.names };
                        (TypeCodec::Numeric.text_in(&text, -1, &context).map_err(|e| e.at(c.location))?, oid::NUMERIC)
                    }
                }
            }
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
            0 => {
                self.untyped.insert((location, n));
                Ok(Expr::new(ExprKind::Param(n), oid::UNKNOWN, location))
            }
            ty => self.typed_parameter(n, ty, location),
        }
    }

    /// A parameter that was read before its type was known, with the type it has now.
    pub(super) fn told_type(&self, mut value: Expr) -> Expr {
        if let (ExprKind::Param(n), oid::UNKNOWN) = (&value.kind, value.ty) {
            if let Some(&ty) = self.parameters.get(n - 1).filter(|ty| **ty != 0) {
                value.ty = ty;
            }
        }
        value
    }

    /// A parameter of unknown type meets a context that fixes it.
    pub(crate) fn set_parameter_type(&mut self, n: usize, ty: Oid, location: i32) -> Result<()> {
        self.untyped.remove(&(location, n));
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
            Some(NodeEnum::AArrayExpr(a))
                if self.env.catalog.element_type(self.base_type(ty)).is_some() && !self.keeps_array(a) =>
            {
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

    /// Whether `ARRAY[…]::t[]` in a stored text that is printed stays a cast of the array. Where the elements were to be read as t, the text has
    /// them as such.
    fn keeps_array(&self, a: &ast::AArrayExpr) -> bool {
        fn typed(a: &ast::AArrayExpr) -> bool {
            use ast::a_const::Val;
            a.elements.iter().all(|e| match &e.node {
                Some(NodeEnum::AConst(c)) => !c.isnull && !matches!(c.val, Some(Val::Sval(_))),
                Some(NodeEnum::AArrayExpr(inner)) => typed(inner),
                _ => true,
            })
        }
        self.storing && !self.written && !a.elements.is_empty() && typed(a)
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
                    // (an error is at WHEN; the comparison, which is not written, is at its value)
                    let location = condition.location;
                    let mut comparison = self.operator("=", Some(operand.clone()), condition, when.location)?;
                    comparison.location = location;
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
        let typmod = modifiers::of_case(&whens, otherwise.as_deref(), ty, self.storing);
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
                // (a stored text that has rows here, as values of a type, has them as parts of rows that are taken apart already)
                let cast =
                    |n: Option<&ast::Node>| matches!(n.and_then(|n| n.node.as_ref()), Some(NodeEnum::TypeCast(_)));
                let whole = !self.written && (cast(e.lexpr.as_deref()) || cast(e.rexpr.as_deref()));
                if let (ExprKind::Row(l), ExprKind::Row(r), false) = (&left.kind, &right.kind, whole) {
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
                        tests.push(self.distinct_values(a, b, negated && !opposite, location)?);
                    }
                    if opposite {
                        let distinct = super::comparison::joined(tests, false, location);
                        return Ok(Expr::new(ExprKind::Not(Box::new(distinct)), oid::BOOL, location));
                    }
                    return Ok(super::comparison::joined(tests, negated, location));
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
                let row = |n: &ast::Node| super::comparison::written_as_row(Some(n));
                let rows = [e.lexpr.as_deref().is_some_and(row), row(&bounds.items[0]), row(&bounds.items[1])];
                let plain = self.between(left.clone(), (low.clone(), high.clone()), rows, negated, location)?;
                if matches!(kind, K::AexprBetween | K::AexprNotBetween) {
                    return Ok(plain);
                }
                let rows = [rows[0], rows[2], rows[1]];
                let swapped = self.between(left, (high, low), rows, negated, location)?;
                let both = vec![plain, swapped];
                Ok(Expr::new(if negated { ExprKind::And(both) } else { ExprKind::Or(both) }, oid::BOOL, location))
            }
            K::Undefined => Err(PgError::internal("undefined kind of expression")),
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

    /// ORDER BY item: direction and place of NULLs.
    pub(crate) fn sort_key(&mut self, expr: Expr, sort: &ast::SortBy, target: Option<usize>) -> Result<SortKey> {
        // where it is written, not where the output column is that it may name
        let written = sort.node.as_deref().and_then(|n| n.node.as_ref());
        let location = written.map_or(expr.location, super::recursion::location_of);
        self.check_orderable(if expr.ty == oid::UNKNOWN { oid::TEXT } else { expr.ty }, location)?;
        let mut descending = sort.sortby_dir == ast::SortByDir::SortbyDesc as i32;
        if sort.sortby_dir == ast::SortByDir::SortbyUsing as i32 {
            let name = operator_name(self.env.catalog, &sort.use_op)?;
            let ty = if expr.ty == oid::UNKNOWN { oid::TEXT } else { expr.ty };
            let (operator, ..) = self.resolve_operator(&name, Some(ty), ty, sort.location)?;
            // where the path does not have the type's own operator, that of the type that it is taken for is found, which orders otherwise
            let base = self.base_type(ty);
            let own = pg_type::by_oid(base).is_none_or(|t| t.extension.is_none())
                || builtin::operator_by_oid(operator.oid).is_some_and(|o| o.left == base);
            match builtin::ordering(operator.oid) {
                Some(ordering) if ordering.default && own => descending = ordering.descending,
                Some(_) => return Err(PgError::not_supported(format!("ORDER BY … USING {name}")).at(sort.location)),
                None => {
                    return Err(PgError::new(
                        SqlState::WRONG_OBJECT_TYPE,
                        format!("operator {name} is not a valid ordering operator"),
                    )
                    .hint("Ordering operators must be \"<\" or \">\" members of btree operator families.")
                    .at(sort.location))
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

/// A number as it is written (`1_000`, `0x1F`) in decimal digits.
fn decimal_digits(written: &str) -> Result<Cow<'_, str>> {
    // (the grammar puts a minus sign in front)
    if let Some(positive) = written.strip_prefix('-') {
        return Ok(format!("-{}", decimal_digits(positive)?).into());
    }
    let text: Cow<str> = match written.contains('_') {
        true => written.replace('_', "").into(),
        false => written.into(),
    };
    let base: i64 = match text.as_bytes() {
        [b'0', b'x' | b'X', ..] => 16,
        [b'0', b'o' | b'O', ..] => 8,
        [b'0', b'b' | b'B', ..] => 2,
        _ => return Ok(text),
    };
    let mut value = Numeric::zero();
    for digit in text[2..].chars().filter_map(|c| c.to_digit(base as u32)) {
        pgsqlite_types::work::tick(1)?;
        value = value.mul(&Numeric::from(base))?.add(&Numeric::from(i64::from(digit)))?;
    }
    let mut digits = Vec::new();
    value.write(&mut digits);
    Ok(String::from_utf8(digits).expect("numerics are printed in ASCII").into())
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

/// The grammar's name of a node, for refusals.
pub(crate) fn node_name(node: &NodeEnum) -> String {
    let debug = format!("{node:?}");
    debug.split(['(', ' ', '{']).next().unwrap_or("").to_string()
}

/// The error of DEFAULT within an expression.
pub(super) fn default_is_not_allowed(location: i32) -> PgError {
    PgError::new(SqlState::SYNTAX_ERROR, "DEFAULT is not allowed in this context").at(location)
}

/// As [`Analyzer::collation`], for whoever has no statement before it.
pub fn find_collation(catalog: &crate::catalog::Catalog, search_path: &[Oid], parts: &[&str]) -> Result<Oid> {
    use crate::catalog::searched;
    let unknown = || {
        PgError::new(
            SqlState::UNDEFINED_OBJECT,
            format!("collation \"{}\" for encoding \"UTF8\" does not exist", parts.join(".")),
        )
    };
    let found = match parts {
        [name] => searched(search_path).find_map(|s| catalog.collation_in(s, name)),
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
