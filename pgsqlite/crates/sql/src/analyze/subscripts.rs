//! ARRAY, ROW, and what is taken of an array by subscripts.

use super::typename::name_parts;
use super::Analyzer;
use crate::builtins::catalog as builtin;
use crate::parse::{ast, NodeEnum};
use crate::typed::{Expr, ExprKind};
use pgsqlite_types::{oid, Datum, Oid, PgError, Result, SqlState};

impl Analyzer<'_> {
    /// ARRAY[…]; `cast`: the array type that it is cast to, and the modifier, which the elements' casts may need.
    pub(super) fn array(&mut self, a: &ast::AArrayExpr, cast: Option<(Oid, i32)>) -> Result<Expr> {
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
        let array = if nested { element } else { self.array_type_of(element, a.location)? };
        Ok(Expr::new(ExprKind::Array(elements), array, a.location))
    }

    /// The elements of ROW(…); `t.*` in it stands for the columns.
    pub(super) fn row_elements(
        &mut self,
        nodes: &[ast::Node],
        element: impl Fn(&mut Self, &ast::Node) -> Result<Expr>,
    ) -> Result<Vec<Expr>> {
        let mut out = Vec::new();
        for node in nodes {
            if let Some(NodeEnum::ColumnRef(c)) = &node.node {
                if c.fields.last().is_some_and(|f| matches!(f.node, Some(NodeEnum::AStar(_)))) {
                    out.extend(self.expand_star(c)?.into_iter().map(|(_, e)| e));
                    continue;
                }
            }
            out.push(element(self, node)?);
        }
        Ok(out)
    }

    pub(super) fn indirection(&mut self, i: &ast::AIndirection) -> Result<Expr> {
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
            // (the subscript is the type's own, whatever the path finds)
            return self.in_stored_text(|analyzer| analyzer.operator("->", Some(arg), key, location));
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
