//! Assignment to parts of a column: `SET a[2] = …`, `SET a[1:2] = …`, `SET address.street = …`, `SET document['key'] = …`.

use super::Analyzer;
use crate::builtins::catalog::CastContext;
use crate::parse::{ast, NodeEnum};
use crate::typed::{AssignPart, CastForm, Expr, ExprKind};
use pgsqlite_types::{oid, Oid, PgError, Result, SqlState};

impl Analyzer<'_> {
    /// `base` with the part that `indirection` names replaced by `value`. `column` names the assigned column in messages.
    pub(super) fn assign_part(
        &mut self,
        base: Expr,
        indirection: &[ast::Node],
        value: Expr,
        column: &str,
        location: i32,
    ) -> Result<Expr> {
        if matches!(value.kind, ExprKind::Default) {
            let what = match indirection.first().and_then(|n| n.node.as_ref()) {
                Some(NodeEnum::String(_)) => "cannot set a subfield to DEFAULT",
                _ => "cannot set an array element to DEFAULT",
            };
            return Err(PgError::new(SqlState::FEATURE_NOT_SUPPORTED, what).at(location));
        }
        match indirection.first().and_then(|n| n.node.as_ref()) {
            Some(NodeEnum::String(field)) => {
                self.assign_field(base, &field.sval, &indirection[1..], value, column, location)
            }
            Some(NodeEnum::AIndices(_)) => {
                let mut indices: Vec<&ast::AIndices> = Vec::new();
                for node in indirection {
                    match &node.node {
                        Some(NodeEnum::AIndices(i)) => indices.push(i),
                        _ => break,
                    }
                }
                let rest = &indirection[indices.len()..];
                self.assign_subscript(base, &indices, rest, value, column, location)
            }
            _ => Err(PgError::new(SqlState::FEATURE_NOT_SUPPORTED, "row expansion via \"*\" is not supported here")
                .at(location)),
        }
    }

    fn assign_field(
        &mut self,
        base: Expr,
        field: &str,
        rest: &[ast::Node],
        value: Expr,
        column: &str,
        location: i32,
    ) -> Result<Expr> {
        let ty = self.base_type(base.ty);
        let Some(fields) = self.env.catalog.composite_fields(ty) else {
            return Err(PgError::new(
                SqlState::DATATYPE_MISMATCH,
                format!(
                    "cannot assign to field \"{field}\" of column \"{column}\" because its type {} is not a composite type",
                    self.type_display(base.ty)
                ),
            )
            .at(location));
        };
        let Some(index) = fields.iter().position(|(name, ..)| name == field) else {
            return Err(PgError::new(
                SqlState::UNDEFINED_COLUMN,
                format!(
                    "cannot assign to field \"{field}\" of column \"{column}\" because there is no such column in data type {}",
                    self.type_display(ty)
                ),
            )
            .at(location));
        };
        let (name, field_type, typmod) = fields[index].clone();
        let value = if rest.is_empty() {
            let from = value.ty;
            self.try_coerce(value, field_type, typmod, CastContext::Assignment, CastForm::Assignment)?.ok_or_else(
                || {
                    PgError::new(
                        SqlState::DATATYPE_MISMATCH,
                        format!(
                            "subfield \"{field}\" is of type {} but expression is of type {}",
                            self.type_display(field_type),
                            self.type_display(from)
                        ),
                    )
                    .hint("You will need to rewrite or cast the expression.")
                    .at(location)
                },
            )?
        } else {
            let kind = ExprKind::Field { arg: Box::new(base.clone()), index, name };
            let inner = Expr::new(kind, field_type, location).with_typmod(typmod);
            self.assign_part(inner, rest, value, field, location)?
        };
        let part = AssignPart::Field { index, types: fields.iter().map(|(_, ty, _)| *ty).collect() };
        Ok(assigned(base, part, value, ty, location))
    }

    fn assign_subscript(
        &mut self,
        base: Expr,
        indices: &[&ast::AIndices],
        rest: &[ast::Node],
        value: Expr,
        column: &str,
        location: i32,
    ) -> Result<Expr> {
        let ty = self.base_type(base.ty);
        // analysis of the subscripts is that of reading
        let read = self.subscript(Expr { location, ..base.clone() }, indices)?;
        let (part, wanted) = match &read.kind {
            ExprKind::JsonSubscript { subscripts, .. } => (AssignPart::Json(subscripts.clone()), oid::JSONB),
            ExprKind::Subscript { slice: true, subscripts, .. } => (AssignPart::Slice(subscripts.clone()), ty),
            ExprKind::Subscript { subscripts, .. } => {
                let positions = subscripts.iter().filter_map(|(_, upper)| upper.clone()).collect();
                (AssignPart::Element(positions), read.ty)
            }
            _ => {
                let what = format!("assigning to a subscript of type {}", self.type_display(ty));
                return Err(PgError::not_supported(what).at(location));
            }
        };
        let value = if rest.is_empty() {
            // (a domain's modifier is that of what it is made of)
            let typmod = if base.ty == ty { base.typmod } else { self.env.catalog.domain_typmod(base.ty) };
            self.subscripted_value(value, wanted, typmod, column, location)?
        } else {
            self.assign_part(read, rest, value, column, location)?
        };
        Ok(assigned(base, part, value, ty, location))
    }

    fn subscripted_value(
        &mut self,
        value: Expr,
        wanted: Oid,
        typmod: i32,
        column: &str,
        location: i32,
    ) -> Result<Expr> {
        let from = value.ty;
        self.try_coerce(value, wanted, typmod, CastContext::Assignment, CastForm::Assignment)?.ok_or_else(|| {
            PgError::new(
                SqlState::DATATYPE_MISMATCH,
                format!(
                    "subscripted assignment to \"{column}\" requires type {} but expression is of type {}",
                    self.type_display(wanted),
                    self.type_display(from)
                ),
            )
            .hint("You will need to rewrite or cast the expression.")
            .at(location)
        })
    }
}

fn assigned(base: Expr, part: AssignPart, value: Expr, ty: Oid, location: i32) -> Expr {
    let kind = ExprKind::Assign { base: Box::new(base), part, value: Box::new(value) };
    Expr::new(kind, ty, location)
}
