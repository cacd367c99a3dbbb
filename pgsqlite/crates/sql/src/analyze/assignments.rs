//! SET.

use super::modify::shift;
use super::{Analyzer, Clause};
use crate::catalog::{Catalog, Column, Identity, Relation};
use crate::parse::{ast, NodeEnum};
use crate::typed::{CastMethod, Expr, ExprKind, FromItem, Query, QueryBody, RteKind, Select, SubLinkKind, Target, Var};
use crate::{volatility, walk};
use pgsqlite_types::{oid, Datum, PgError, Result, SqlState};
use std::borrow::Cow;
use std::sync::Arc;

impl Analyzer<'_> {
    /// SET of UPDATE and ON CONFLICT DO UPDATE.
    pub(super) fn set_list(&mut self, nodes: &[ast::Node], target: &Arc<Relation>) -> Result<Vec<(i16, Expr)>> {
        let mut set: Vec<(i16, Expr)> = Vec::new();
        for node in nodes {
            let Some(NodeEnum::ResTarget(t)) = &node.node else { return Err(PgError::internal("ResTarget expected")) };
            let of_table =
                !t.indirection.is_empty() && self.level().range_table.first().is_some_and(|e| e.alias == t.name);
            let column = self.assigned_column(target, &t.name, "UPDATE", t.location).map_err(|e| match of_table {
                true if e.code() == SqlState::UNDEFINED_COLUMN => {
                    e.hint("SET target columns cannot be qualified with the relation name.")
                }
                _ => e,
            })?;
            let earlier = set.iter().position(|(a, _)| *a == column.attnum);
            // what is a domain's was checked, or is so in the end
            if let Some((_, expr)) = earlier.map(|i| &mut set[i]) {
                while let ExprKind::Cast { arg, method: CastMethod::Domain | CastMethod::Relabel, .. } = &expr.kind {
                    *expr = (**arg).clone();
                }
            }
            if earlier.is_some_and(|i| t.indirection.is_empty() || !matches!(set[i].1.kind, ExprKind::Assign { .. })) {
                return Err(multiple_assignments(&column.name));
            }
            let value = t.val.as_deref().ok_or_else(|| PgError::internal("SET without a value"))?;
            let expr = match &value.node {
                Some(NodeEnum::MultiAssignRef(m)) => self.multi_assign(m)?,
                _ => self.in_clause(Clause::UpdateSet, |a| a.expr_or_default(value))?,
            };
            // a view's column without a default of its own has that of its type, or NULL, whatever its table's column has
            let of_view = matches!(expr.kind, ExprKind::Default) && !self.storing && self.level().view_target.is_some();
            let expr = match of_view && self.view_default(&column)?.is_none() {
                true => {
                    let bare = Column { default: None, identity: None, generated: None, ..column.clone() };
                    self.default_of(&bare)?
                        .unwrap_or_else(|| Expr::new(ExprKind::Const(Datum::Null), oid::UNKNOWN, expr.location))
                }
                false => expr,
            };
            if column.is_generated() || column.identity == Some(Identity::Always) {
                if matches!(expr.kind, ExprKind::Default) {
                    if column.is_generated() {
                        continue;
                    }
                } else {
                    let error = PgError::new(
                        SqlState::GENERATED_ALWAYS,
                        format!("column \"{}\" can only be updated to DEFAULT", column.name),
                    );
                    return Err(if column.is_generated() {
                        error.detail(format!("Column \"{}\" is a generated column.", column.name))
                    } else {
                        error.detail(format!(
                            "Column \"{}\" is an identity column defined as GENERATED ALWAYS.",
                            column.name
                        ))
                    });
                }
            }
            if !t.indirection.is_empty() {
                // several parts of one column are assigned one after the other
                let base = match earlier {
                    Some(i) => set.remove(i).1,
                    None => self.target_column(target, column.attnum)?,
                };
                let expr = self.assign_part(base, &t.indirection, expr, &column.name, t.location)?;
                let expr =
                    self.coerce_assignment(expr, column.type_oid, column.typmod, &self.name_in_target(&column))?;
                set.push((column.attnum, expr));
                continue;
            }
            let expr = if matches!(expr.kind, ExprKind::Default) && self.storing {
                expr
            } else if matches!(expr.kind, ExprKind::Default) {
                self.default_of(&column)?.ok_or_else(|| PgError::internal("default of a generated column"))?
            } else {
                self.coerce_assignment(expr, column.type_oid, column.typmod, &self.name_in_target(&column))?
            };
            set.push((column.attnum, expr));
        }
        Ok(set)
    }

    /// What a column of the target is called where the statement names it: a view may have another name for it.
    pub(super) fn name_in_target<'c>(&self, column: &'c Column) -> Cow<'c, str> {
        let level = self.levels.last();
        let Some((level, view)) = level.and_then(|l| Some((l, l.view_target.as_ref()?))) else {
            return Cow::Borrowed(&column.name);
        };
        let shows = |e: &Expr| {
            let ExprKind::Var(v) = &e.kind else { return false };
            match level.range_table.get(v.rte).map(|entry| &entry.kind) {
                Some(RteKind::Relation(r)) => r.live_columns().nth(v.column).is_some_and(|c| c.attnum == column.attnum),
                _ => false,
            }
        };
        let found = view.columns.iter().find(|(_, e)| shows(e));
        found.map_or(Cow::Borrowed(&column.name), |(name, _)| Cow::Owned(name.clone()))
    }

    /// `(a, b) = (x, y)` or `= ROW(x, y)`; a sub-query on the right is one scalar sub-query per column. Errors: 0A000 where these would not
    /// have their values from the same rows.
    fn multi_assign(&mut self, m: &ast::MultiAssignRef) -> Result<Expr> {
        let source = m.source.as_deref().ok_or_else(|| PgError::internal("multiple assignment without a source"))?;
        match &source.node {
            Some(NodeEnum::RowExpr(row)) => {
                let mismatch = || {
                    PgError::new(SqlState::SYNTAX_ERROR, "number of columns does not match number of values")
                        .at(row.location)
                };
                let star = |node: &ast::Node| match &node.node {
                    Some(NodeEnum::ColumnRef(c)) => {
                        c.fields.last().is_some_and(|f| matches!(f.node, Some(NodeEnum::AStar(_))))
                    }
                    _ => false,
                };
                if row.args.iter().any(star) {
                    let mut values =
                        self.in_clause(Clause::UpdateSet, |a| a.row_elements(&row.args, Self::expr_or_default))?;
                    if values.len() != m.ncolumns as usize {
                        return Err(mismatch());
                    }
                    return Ok(values.swap_remove(m.colno as usize - 1));
                }
                if row.args.len() != m.ncolumns as usize {
                    return Err(mismatch());
                }
                self.in_clause(Clause::UpdateSet, |a| a.expr_or_default(&row.args[m.colno as usize - 1]))
            }
            Some(NodeEnum::SubLink(s)) => {
                let select = s.subselect.as_deref().ok_or_else(|| PgError::internal("a sub-query without a query"))?;
                let mut query = self.in_clause(Clause::UpdateSet, |a| a.sub_query(select))?;
                if query.columns.len() != m.ncolumns as usize {
                    return Err(PgError::new(
                        SqlState::SYNTAX_ERROR,
                        "number of columns does not match number of values",
                    )
                    .at(s.location));
                }
                self.resolve_unknown_columns(&mut query)?;
                let index = m.colno as usize - 1;
                let location = match &query.body {
                    QueryBody::Select(select) => select.targets.get(index).map_or(s.location, |t| t.expr.location),
                    _ => s.location,
                };
                let (ty, typmod) = (query.columns[index].ty, query.columns[index].typmod);
                let query = one_column(self.env.catalog, query, index).map_err(|e| e.at(s.location))?;
                Ok(Expr::new(ExprKind::SubLink { kind: SubLinkKind::Scalar, query: Box::new(query) }, ty, location)
                    .with_typmod(typmod))
            }
            _ => Err(PgError::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                "source for a multiple-column UPDATE item must be a sub-SELECT or ROW() expression",
            )),
        }
    }
}

/// A query of several columns with one of them alone, which is computed again for each.
fn one_column(catalog: &Catalog, mut query: Query, index: usize) -> Result<Query> {
    let column = query.columns[index].clone();
    let is_volatile = |query: &Query| {
        let kind = ExprKind::SubLink { kind: SubLinkKind::Exists, query: Box::new(query.clone()) };
        volatility::volatility(catalog, &Expr::new(kind, oid::BOOL, -1)).0 == b'v'
    };
    let several = query.columns.len() > 1 && is_volatile(&query);
    let outer = outer_column(&query);
    let of_each_row = !walk::is_closed(&query, usize::MAX);
    let plain = walk::is_plain(&query) && !query.locks_rows;
    match &mut query.body {
        // What the other columns compute is left out. (Of several rows, LIMIT would let through those that an index of this column has first.)
        QueryBody::Select(select) if plain => {
            let target = select.targets.swap_remove(index);
            select.targets.clear();
            query.columns = vec![column];
            if several && is_volatile(&query) {
                return Err(refused());
            }
            if let QueryBody::Select(select) = &mut query.body {
                select.targets = vec![target];
            }
            if of_each_row && is_volatile(&query) && walk::is_closed(&query, usize::MAX) {
                // the whole is computed for each row, and a column of it that names none would be computed once
                let condition = outer.map(always).ok_or_else(refused)?;
                if let QueryBody::Select(select) = &mut query.body {
                    let filters = select.filter.take().into_iter().chain([condition]).collect();
                    select.filter = Some(Expr::new(ExprKind::And(filters), oid::BOOL, -1));
                }
            }
            Ok(query)
        }
        _ if several => Err(refused()),
        // wrapped so that ORDER BY, DISTINCT and LIMIT keep their meaning
        _ => {
            let columns = query.columns.clone();
            let target =
                Target { expr: super::var(0, 0, index, &column, -1), name: column.name.clone(), origin: (0, 0) };
            let select = Select { from: vec![FromItem::Entry(0)], targets: vec![target], ..Default::default() };
            let kind = RteKind::Subquery { query: Box::new(shift(query)), lateral: false };
            Ok(Query {
                range_table: vec![super::entry(kind, "source".into(), true, columns)],
                ..Query::new(QueryBody::Select(select), vec![column])
            })
        }
    }
}

/// A column of the row around a query that the query names, as its conditions name it.
fn outer_column(query: &Query) -> Option<Expr> {
    let mut found = None;
    walk::query_exprs(query, 0, &mut |depth, e| {
        if let ExprKind::Var(v) = &e.kind {
            if v.levels_up > depth && found.is_none() {
                let var = Var { levels_up: v.levels_up - depth, ..*v };
                found = Some(Expr { kind: ExprKind::Var(var), ..e.clone() });
            }
        }
    });
    found
}

/// A condition that names a column and is true whatever it holds. (SQLite takes `column IS NULL` for a constant where it cannot be: then
/// the column would not be named.)
fn always(column: Expr) -> Expr {
    let null = Expr { kind: ExprKind::Const(Datum::Null), ..column.clone() };
    let value = Expr { kind: ExprKind::Coalesce(vec![column.clone(), null]), ..column };
    let is_null = |arg: Expr, negated| Expr::new(ExprKind::IsNull { arg: Box::new(arg), negated }, oid::BOOL, -1);
    is_null(is_null(value, false), true)
}

/// 0A000: a sub-query whose rows are not the same when it is computed again
fn refused() -> PgError {
    PgError::not_supported("several columns of a sub-query that calls a volatile function for its rows in UPDATE")
}

pub(super) fn multiple_assignments(column: &str) -> PgError {
    PgError::new(SqlState::SYNTAX_ERROR, format!("multiple assignments to same column \"{column}\""))
}
