//! Fields of rows.

use super::Analyzer;
use crate::parse::ast;
use crate::typed::{Expr, ExprKind, RteKind, SubLinkKind};
use pgsqlite_types::{oid, Oid, PgError, Result, SqlState};

impl Analyzer<'_> {
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
}
