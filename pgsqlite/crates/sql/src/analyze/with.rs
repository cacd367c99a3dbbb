//! WITH: the queries and data modifications that a statement names, recursive ones among them.

use super::from::plain_column;
use super::select::column_expr;
use super::typename::name_parts;
use super::{Analyzer, Level};
use crate::parse::{ast, NodeEnum};
use crate::typed::{Cte, CteBody, Expr, ExprKind, Marked, Query, QueryBody, RteColumn, SetOperation};
use pgsqlite_types::{oid, Oid, PgError, Result, SqlState};

impl Analyzer<'_> {
    pub(crate) fn with_clause(&mut self, with: &ast::WithClause) -> Result<()> {
        let mut pending: Vec<&ast::CommonTableExpr> = Vec::new();
        for node in &with.ctes {
            let Some(NodeEnum::CommonTableExpr(cte)) = &node.node else {
                return Err(PgError::internal("WITH query expected"));
            };
            if pending.iter().any(|c| c.ctename == cte.ctename) {
                return Err(PgError::new(
                    SqlState::DUPLICATE_ALIAS,
                    format!("WITH query name \"{}\" specified more than once", cte.ctename),
                )
                .at(cte.location));
            }
            pending.push(cte);
        }
        while !pending.is_empty() {
            let mut next = 0;
            if with.recursive {
                // a query may refer to later ones: each comes after those that it names
                let ready = |cte: &ast::CommonTableExpr| {
                    pending.iter().all(|other| other.ctename == cte.ctename || !cte_mentions(cte, &other.ctename))
                };
                next = pending.iter().position(|cte| ready(cte)).ok_or_else(|| {
                    PgError::new(
                        SqlState::FEATURE_NOT_SUPPORTED,
                        "mutual recursion between WITH items is not implemented",
                    )
                    .at(pending[0].location)
                })?;
            }
            let cte = pending.remove(next);
            self.level().pending_ctes =
                std::iter::once(cte).chain(pending.iter().copied()).map(|c| c.ctename.clone()).collect();
            self.with_query(cte, with.recursive)?;
        }
        self.level().pending_ctes.clear();
        Ok(())
    }

    fn with_query(&mut self, cte: &ast::CommonTableExpr, recursive: bool) -> Result<()> {
        let materialized = match cte.ctematerialized {
            x if x == ast::CteMaterialize::Always as i32 => Some(true),
            x if x == ast::CteMaterialize::Never as i32 => Some(false),
            _ => None,
        };
        let node = cte
            .ctequery
            .as_ref()
            .and_then(|n| n.node.as_ref())
            .ok_or_else(|| PgError::internal("WITH without a query"))?;
        let names = name_parts(&cte.aliascolnames);
        let mut marked = None;
        let (body, mut columns, is_recursive) = match node {
            NodeEnum::SelectStmt(select) => {
                if recursive && mentions(select, &cte.ctename) {
                    let (query, columns, written) = self.recursive_query(cte, select)?;
                    marked = written;
                    (CteBody::Query(query), columns, true)
                } else if cte.search_clause.is_some() || cte.cycle_clause.is_some() {
                    return Err(PgError::new(SqlState::SYNTAX_ERROR, "WITH query is not recursive").at(cte.location));
                } else {
                    let mut query = self.query(select)?;
                    self.resolve_unknown_columns(&mut query)?;
                    let columns = query.columns.clone();
                    (CteBody::Query(query), columns, false)
                }
            }
            NodeEnum::InsertStmt(_) | NodeEnum::UpdateStmt(_) | NodeEnum::DeleteStmt(_) => {
                if self.levels.len() > 1 {
                    return Err(PgError::new(
                        SqlState::FEATURE_NOT_SUPPORTED,
                        "WITH clause containing a data-modifying statement must be at the top level",
                    )
                    .at(cte.location));
                }
                let modify = match node {
                    NodeEnum::InsertStmt(s) => self.insert(s)?,
                    NodeEnum::UpdateStmt(s) => self.update(s)?,
                    NodeEnum::DeleteStmt(s) => self.delete(s)?,
                    _ => unreachable!("matched above"),
                };
                self.rules_in_with(&modify)?;
                let modify = self.with_collations(modify)?;
                let columns = modify
                    .returning
                    .iter()
                    .map(|t| RteColumn {
                        origin: t.origin,
                        collation: t.expr.collation,
                        ..plain_column(&t.name, t.expr.ty, t.expr.typmod)
                    })
                    .collect();
                (CteBody::Modify(Box::new(modify)), columns, false)
            }
            other => {
                return Err(PgError::not_supported(format!("{} in WITH", crate::command::name(other))).at(cte.location))
            }
        };
        if names.len() > columns.len() {
            return Err(PgError::new(
                SqlState::INVALID_COLUMN_REFERENCE,
                format!(
                    "WITH query \"{}\" has {} columns available but {} columns specified",
                    cte.ctename,
                    columns.len(),
                    names.len()
                ),
            )
            .at(cte.location));
        }
        let named = names.len();
        for (column, name) in columns.iter_mut().zip(names) {
            column.name = name.to_string();
        }
        self.level().ctes.retain(|c| c.name != cte.ctename);
        let name = cte.ctename.clone();
        self.level().ctes.push(Cte { name, columns, body, materialized, recursive: is_recursive, named, marked });
        Ok(())
    }

    /// WITH RECURSIVE: the non-recursive term fixes names and types, then the whole is analyzed with itself in sight.
    fn recursive_query(
        &mut self,
        cte: &ast::CommonTableExpr,
        select: &ast::SelectStmt,
    ) -> Result<(Query, Vec<RteColumn>, Option<Box<Marked>>)> {
        let malformed = || {
            PgError::new(
                SqlState::INVALID_RECURSION,
                format!(
                    "recursive query \"{}\" does not have the form non-recursive-term UNION [ALL] recursive-term",
                    cte.ctename
                ),
            )
            .at(cte.location)
        };
        if select.op != ast::SetOperation::SetopUnion as i32 {
            return Err(malformed());
        }
        let (Some(larg), Some(rarg)) = (&select.larg, &select.rarg) else { return Err(malformed()) };
        super::recursion::check(&cte.ctename, select, larg, rarg)?;
        // the non-recursive term alone tells the columns
        self.levels.push(Level::new());
        let left = (|| {
            if let Some(with) = &select.with_clause {
                self.with_clause(with)?;
            }
            let mut left = self.query(larg)?;
            self.resolve_unknown_columns(&mut left)?;
            Ok(left)
        })();
        self.levels.pop();
        let mut columns = left?.columns;
        let names = name_parts(&cte.aliascolnames);
        for (column, name) in columns.iter_mut().zip(&names) {
            column.name = name.to_string();
        }
        // SEARCH and CYCLE add columns that the recursive term passes on
        let marks = self.recursion_marks(cte, &columns)?;
        let width = columns.len();
        let mut columns_with_marks = columns.clone();
        columns_with_marks.extend(marks.columns());
        let placeholder = Query::new(QueryBody::Values(vec![]), vec![]);
        self.level().ctes.push(Cte {
            name: cte.ctename.clone(),
            columns: columns_with_marks.clone(),
            body: CteBody::Query(placeholder),
            materialized: None,
            recursive: true,
            named: names.len(),
            marked: None,
        });
        // the arms sit one level below the WITH query's own level
        self.levels.push(Level::new());
        let result = (|| {
            if let Some(with) = &select.with_clause {
                self.with_clause(with)?;
            }
            let mut left = self.query(larg).and_then(|mut q| {
                self.resolve_unknown_columns(&mut q)?;
                Ok(q)
            })?;
            let mut right = self.query(rarg)?;
            if let Some(location) = recursive_aggregate(&right) {
                return Err(PgError::new(
                    SqlState::INVALID_RECURSION,
                    "aggregate functions are not allowed in a recursive query's recursive term",
                )
                .at(location));
            }
            if left.columns.len() != right.columns.len() {
                return Err(PgError::new(
                    SqlState::SYNTAX_ERROR,
                    "each UNION query must have the same number of columns",
                ));
            }
            for (i, column) in columns.iter().enumerate() {
                let other = right.columns[i].ty;
                let common = if other != oid::UNKNOWN && other != column.ty {
                    let literal = |ty: Oid| Expr::new(ExprKind::Default, ty, -1);
                    self.common_type(&[&literal(column.ty), &literal(other)], "UNION")?
                } else {
                    column.ty
                };
                // (both terms have it, or nothing is known of the length)
                let alike = other == common && right.columns[i].typmod == column.typmod;
                let typmod = if alike { column.typmod } else { -1 };
                if (common, typmod) != (column.ty, column.typmod) {
                    let names = crate::names::Names::new(self.env.catalog, self.env.search_path);
                    return Err(PgError::new(
                        SqlState::DATATYPE_MISMATCH,
                        format!(
                            "recursive query \"{}\" column {} has type {} in non-recursive term but type {} overall",
                            cte.ctename,
                            i + 1,
                            names.type_name(column.ty, column.typmod),
                            names.type_name(common, typmod)
                        ),
                    )
                    .hint("Cast the output of the non-recursive term to the correct type.")
                    .at(column_expr(&left, i).location));
                }
            }
            let wanted: Vec<Oid> = columns.iter().map(|c| c.ty).collect();
            self.coerce_query_columns(&mut right, &wanted)?;
            self.check_recursive_collations(&cte.ctename, &left, &right)?;
            let plain = (!marks.is_empty()).then(|| (left.clone(), right.clone()));
            self.add_marks(&marks, &mut left, &mut right, width)?;
            Ok((left, right, plain))
        })();
        let level = self.levels.pop().expect("pushed above");
        let (left, right, plain) = result?;
        let union = |left: Query, right: Query, columns: Vec<RteColumn>| {
            let (left, right) = (Box::new(left), Box::new(right));
            let body = QueryBody::SetOperation { op: SetOperation::Union, all: select.all, left, right };
            let (ctes, range_table) = (level.ctes.clone(), level.range_table.clone());
            Query { ctes, range_table, ..Query::new(body, columns) }
        };
        let marked = plain.map(|(left, right)| {
            let own = left.columns.clone();
            Box::new(marks.written(&columns, union(left, right, own)))
        });
        let own = left.columns.clone();
        Ok((union(left, right, own), columns_with_marks, marked))
    }
}

/// Whether a SELECT names a table anywhere (for WITH RECURSIVE).
fn mentions(select: &ast::SelectStmt, name: &str) -> bool {
    names_table(NodeEnum::SelectStmt(Box::new(select.clone())).nodes(), name)
}

fn cte_mentions(cte: &ast::CommonTableExpr, name: &str) -> bool {
    cte.ctequery.as_deref().is_some_and(|node| node_mentions(node, name))
}

/// Where a query has an aggregate of its own.
fn recursive_aggregate(query: &Query) -> Option<i32> {
    let QueryBody::Select(select) = &query.body else { return None };
    let all: Vec<Expr> = select.targets.iter().map(|t| t.expr.clone()).chain(select.having.clone()).collect();
    crate::walk::find(&all, |k| matches!(k, ExprKind::Aggregate(_))).map(|e| e.location)
}

fn node_mentions(node: &ast::Node, name: &str) -> bool {
    node.node.as_ref().is_some_and(|node| names_table(node.nodes(), name))
}

fn names_table(nodes: Vec<(pg_query::NodeRef, i32, pg_query::Context, bool)>, name: &str) -> bool {
    nodes
        .into_iter()
        .any(|(n, ..)| matches!(n, pg_query::NodeRef::RangeVar(r) if r.relname == name && r.schemaname.is_empty()))
}
