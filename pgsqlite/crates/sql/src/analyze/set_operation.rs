//! UNION, INTERSECT and EXCEPT, and the types of a query's columns that others decide.

use super::select::{column_expr, first_location};
use super::typename::name_parts;
use super::{Analyzer, Clause};
use crate::builtins::catalog::CastContext;
use crate::parse::{ast, NodeEnum};
use crate::typed::{CastForm, Expr, ExprKind, Query, QueryBody, RteColumn, SetOperation, SortKey, Target};
use pgsqlite_types::{oid, Oid, PgError, Result, SqlState};

impl Analyzer<'_> {
    pub(super) fn set_operation(&mut self, select: &ast::SelectStmt, op: ast::SetOperation) -> Result<Query> {
        let (op, what) = match op {
            ast::SetOperation::SetopUnion => (SetOperation::Union, "UNION"),
            ast::SetOperation::SetopIntersect => (SetOperation::Intersect, "INTERSECT"),
            ast::SetOperation::SetopExcept => (SetOperation::Except, "EXCEPT"),
            _ => return Err(PgError::internal("set operation expected")),
        };
        let (Some(larg), Some(rarg)) = (&select.larg, &select.rarg) else {
            return Err(PgError::internal("a set operation without arms"));
        };
        let mut left = self.query(larg)?;
        let mut right = self.query(rarg)?;
        if left.columns.len() != right.columns.len() {
            return Err(PgError::new(
                SqlState::SYNTAX_ERROR,
                format!("each {what} query must have the same number of columns"),
            )
            .at(first_location(&right)));
        }
        let mut types = Vec::new();
        let mut columns = Vec::new();
        for (i, (l, r)) in left.columns.iter().zip(&right.columns).enumerate() {
            let (le, re) = (column_expr(&left, i), column_expr(&right, i));
            let ty = self.common_type(&[&le, &re], what)?;
            if !(select.all && op == SetOperation::Union) {
                self.check_comparable(ty, le.location)?;
            }
            let typmod = if l.ty == r.ty && l.typmod == r.typmod { l.typmod } else { -1 };
            types.push(ty);
            columns.push(RteColumn { name: l.name.clone(), ty, typmod, attnum: 0, origin: (0, 0), collation: 0 });
        }
        self.coerce_arm(&mut left, &types, what)?;
        self.coerce_arm(&mut right, &types, what)?;
        let mut targets: Vec<Target> = columns
            .iter()
            .map(|c| Target { expr: Expr::new(ExprKind::Default, c.ty, -1), name: c.name.clone(), origin: (0, 0) })
            .collect();
        let order_by = self.output_order(&select.sort_clause, &mut targets, what)?;
        Ok(Query {
            order_by,
            ..Query::new(
                QueryBody::SetOperation { op, all: select.all, left: Box::new(left), right: Box::new(right) },
                columns,
            )
        })
    }

    fn coerce_arm(&mut self, query: &mut Query, types: &[Oid], what: &str) -> Result<()> {
        for (i, &ty) in types.iter().enumerate() {
            let expr = column_expr(query, i);
            if !self.can_coerce(expr.ty, ty, CastContext::Implicit) {
                return Err(PgError::new(
                    SqlState::CANNOT_COERCE,
                    format!(
                        "{what} could not convert type {} to {}",
                        self.type_display(expr.ty),
                        self.type_display(ty)
                    ),
                )
                .at(expr.location));
            }
        }
        if self.storing {
            // the text has only what was written
            let own = |i: usize, ty: Oid| match query.columns[i].ty {
                oid::UNKNOWN => ty,
                own => own,
            };
            let own: Vec<Oid> = types.iter().enumerate().map(|(i, ty)| own(i, *ty)).collect();
            return self.coerce_query_columns(query, &own);
        }
        self.coerce_query_columns(query, types)
    }

    /// ORDER BY of a query whose rows have no expressions (set operations, VALUES): names and positions only.
    pub(super) fn output_order(
        &mut self,
        nodes: &[ast::Node],
        targets: &mut [Target],
        what: &str,
    ) -> Result<Vec<SortKey>> {
        let mut keys = Vec::new();
        for node in nodes {
            let Some(NodeEnum::SortBy(sort)) = &node.node else { return Err(PgError::internal("SortBy expected")) };
            let inner = sort.node.as_deref().ok_or_else(|| PgError::internal("ORDER BY without expression"))?;
            let is_output = match &inner.node {
                Some(NodeEnum::AConst(_)) => true,
                Some(NodeEnum::ColumnRef(c)) => {
                    matches!(name_parts(&c.fields)[..], [name] if targets.iter().any(|t| t.name == name))
                }
                _ => false,
            };
            if !is_output {
                if what == "VALUES" {
                    return Err(PgError::not_supported("ORDER BY an expression over VALUES"));
                }
                if let Some(NodeEnum::ColumnRef(c)) = &inner.node {
                    return Err(PgError::new(
                        SqlState::UNDEFINED_COLUMN,
                        format!("column \"{}\" does not exist", name_parts(&c.fields).join(".")),
                    )
                    .at(c.location));
                }
                return Err(PgError::new(
                    SqlState::FEATURE_NOT_SUPPORTED,
                    "invalid UNION/INTERSECT/EXCEPT ORDER BY clause",
                )
                .detail("Only result column names can be used, not expressions or functions.")
                .hint("Add the expression/function to every SELECT, or move the UNION into a FROM clause.")
                .at(inner.node.as_ref().map_or(-1, super::recursion::location_of)));
            }
            let (mut expr, target) = self.list_item(inner, targets, Clause::OrderBy)?;
            expr.location = -1;
            keys.push(self.sort_key(expr, sort, target)?);
        }
        Ok(keys)
    }

    /// Literals and parameters that nothing typed become text.
    pub(crate) fn resolve_unknown_columns(&mut self, query: &mut Query) -> Result<()> {
        let types: Vec<Oid> =
            query.columns.iter().map(|c| if c.ty == oid::UNKNOWN { oid::TEXT } else { c.ty }).collect();
        self.coerce_query_columns(query, &types)
    }

    /// Converts a query's columns (implicitly) by casts in its targets, in every arm.
    pub(crate) fn coerce_query_columns(&mut self, query: &mut Query, types: &[Oid]) -> Result<()> {
        if query.columns.iter().map(|c| c.ty).eq(types.iter().copied()) {
            return Ok(());
        }
        match &mut query.body {
            QueryBody::Select(select) => {
                for (i, target) in select.targets.iter_mut().enumerate() {
                    if target.expr.ty == types[i] {
                        continue;
                    }
                    // A distinct or grouped query compares the values before conversion: that is the same for the
                    // conversions that are implicit.
                    let old = target.expr.clone();
                    let expr = std::mem::replace(&mut target.expr, Expr::new(ExprKind::Default, 0, -1));
                    target.expr = self.coerce_column(expr, types[i])?;
                    target.origin = if matches!(target.expr.kind, ExprKind::Var(_)) { target.origin } else { (0, 0) };
                    for key in &mut query.order_by {
                        if key.target == Some(i) && key.expr == old && old.ty == oid::UNKNOWN {
                            key.expr = target.expr.clone();
                        }
                    }
                    query.columns[i].ty = target.expr.ty;
                    query.columns[i].typmod = target.expr.typmod;
                    query.columns[i].origin = target.origin;
                }
            }
            QueryBody::SetOperation { left, right, .. } => {
                self.coerce_query_columns(left, types)?;
                self.coerce_query_columns(right, types)?;
                for (column, &ty) in query.columns.iter_mut().zip(types) {
                    if column.ty != ty {
                        column.ty = ty;
                        column.typmod = -1;
                    }
                }
            }
            QueryBody::Values(rows) => {
                for (i, &ty) in types.iter().enumerate() {
                    if query.columns[i].ty == ty {
                        continue;
                    }
                    for row in rows.iter_mut() {
                        let expr = std::mem::replace(&mut row[i], Expr::new(ExprKind::Default, 0, -1));
                        row[i] = self.coerce_column(expr, ty)?;
                    }
                    query.columns[i].ty = ty;
                    query.columns[i].typmod = -1;
                }
            }
        }
        Ok(())
    }

    fn coerce_column(&mut self, expr: Expr, ty: Oid) -> Result<Expr> {
        let (from, location) = (expr.ty, expr.location);
        self.try_coerce(expr, ty, -1, CastContext::Implicit, CastForm::Implicit)?
            .ok_or_else(|| self.cannot_cast(from, ty, location))
    }
}
