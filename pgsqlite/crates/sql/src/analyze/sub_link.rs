//! Sub-queries in expressions.

use super::expr::operator_name;
use super::{Analyzer, Clause};
use crate::parse::ast;
use crate::typed::{Expr, ExprKind, OperatorRef, Quantifier, SubLinkKind};
use pgsqlite_types::{oid, PgError, Result, SqlState};

impl Analyzer<'_> {
    pub(super) fn sub_link(&mut self, s: &ast::SubLink) -> Result<Expr> {
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
                    self.array_type_of(element, location)?
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

    pub(super) fn row_compare_subquery(
        &mut self,
        name: &str,
        fields: Vec<Expr>,
        s: &ast::SubLink,
        location: i32,
    ) -> Result<Expr> {
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
        let several = tests.len() > 1;
        for (i, test) in tests.into_iter().enumerate() {
            let (op, args, ret) = self.resolve_operator(name, Some(test.ty), query.columns[i].ty, location)?;
            if ret != oid::BOOL {
                return Err(PgError::new(
                    SqlState::DATATYPE_MISMATCH,
                    format!("row comparison operator must yield type boolean, not type {}", self.type_display(ret)),
                )
                .at(location));
            }
            if several {
                super::comparison::check_has_order(&op, name, location)?;
            }
            out.push(self.coerce_implicit(test, args[0])?);
            operators.push(op);
            targets.push(args[1]);
        }
        // (a text says nothing of that)
        if !self.storing {
            self.coerce_query_columns(query, &targets)?;
        }
        Ok((out, operators))
    }
}
