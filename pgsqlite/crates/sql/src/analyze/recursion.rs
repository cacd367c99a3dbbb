//! WITH RECURSIVE: where a query may name itself (42P19), and the columns that SEARCH and CYCLE add to it.

use super::typename::name_parts;
use super::{from::plain_column, var, Analyzer};
use crate::parse::{ast, NodeEnum};
use crate::typed::{
    CycleClause, Expr, ExprKind, Marked, OperatorRef, Quantifier, Query, QueryBody, RteColumn, RteKind, SearchClause,
    Target,
};
use pgsqlite_types::{oid, Datum, PgError, Result, SqlState};

/// Where a recursive reference stands.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Allowed,
    NonRecursiveTerm,
    SubLink,
    OuterJoin,
    Intersect,
    Except,
}

struct Walk<'a> {
    name: &'a str,
    found: usize,
}

/// Checks that the two terms of a recursive query name it once at most, in a place where that is allowed.
pub(super) fn check(
    name: &str,
    select: &ast::SelectStmt,
    left: &ast::SelectStmt,
    right: &ast::SelectStmt,
) -> Result<()> {
    let mut walk = Walk { name, found: 0 };
    walk.select(left, Place::NonRecursiveTerm)?;
    walk.select(right, Place::Allowed)?;
    let refused = |what: &str, node: Option<&ast::Node>| {
        let location = node.and_then(|n| n.node.as_ref()).map_or(-1, location_of);
        Err(PgError::new(SqlState::FEATURE_NOT_SUPPORTED, format!("{what} in a recursive query is not implemented"))
            .at(location))
    };
    if let Some(sort) = select.sort_clause.first() {
        return refused("ORDER BY", Some(sort));
    }
    if select.limit_offset.is_some() {
        return refused("OFFSET", select.limit_offset.as_deref());
    }
    if select.limit_count.is_some() {
        return refused("LIMIT", select.limit_count.as_deref());
    }
    if !select.locking_clause.is_empty() {
        return refused("FOR UPDATE/SHARE", None);
    }
    Ok(())
}

/// Where an expression begins; -1: not known.
pub(super) fn location_of(node: &NodeEnum) -> i32 {
    match node {
        NodeEnum::SortBy(s) => s.node.as_deref().and_then(|n| n.node.as_ref()).map_or(-1, location_of),
        NodeEnum::AConst(c) => c.location,
        NodeEnum::ColumnRef(c) => c.location,
        NodeEnum::ParamRef(p) => p.location,
        NodeEnum::FuncCall(f) => f.location,
        NodeEnum::TypeCast(c) => c.arg.as_deref().and_then(|n| n.node.as_ref()).map_or(c.location, location_of),
        NodeEnum::AExpr(e) => e.lexpr.as_deref().and_then(|n| n.node.as_ref()).map_or(e.location, location_of),
        _ => -1,
    }
}

impl Walk<'_> {
    fn select(&mut self, select: &ast::SelectStmt, place: Place) -> Result<()> {
        if let Some(with) = &select.with_clause {
            for node in &with.ctes {
                let Some(NodeEnum::CommonTableExpr(cte)) = &node.node else { continue };
                if let Some(NodeEnum::SelectStmt(inner)) = cte.ctequery.as_deref().and_then(|n| n.node.as_ref()) {
                    if !(with.recursive && cte.ctename == self.name) {
                        self.select(inner, place)?;
                    }
                }
            }
            let shadowed = with
                .ctes
                .iter()
                .any(|n| matches!(&n.node, Some(NodeEnum::CommonTableExpr(c)) if c.ctename == self.name));
            if shadowed {
                return Ok(());
            }
        }
        if let (Some(left), Some(right)) = (&select.larg, &select.rarg) {
            let (l, r) = match ast::SetOperation::try_from(select.op) {
                Ok(ast::SetOperation::SetopIntersect) if select.all => (Place::Intersect, Place::Intersect),
                Ok(ast::SetOperation::SetopExcept) => (if select.all { Place::Except } else { place }, Place::Except),
                _ => (place, place),
            };
            let pick = |p: Place| if place == Place::Allowed { p } else { place };
            self.select(left, pick(l))?;
            self.select(right, pick(r))?;
        }
        for item in &select.from_clause {
            self.from(item, place)?;
        }
        let others = [&select.target_list, &select.group_clause, &select.window_clause, &select.values_lists]
            .into_iter()
            .chain([&select.sort_clause, &select.distinct_clause])
            .flatten()
            .chain(select.where_clause.as_deref())
            .chain(select.having_clause.as_deref())
            .chain(select.limit_count.as_deref())
            .chain(select.limit_offset.as_deref());
        for node in others {
            self.expression(node, place)?;
        }
        Ok(())
    }

    fn from(&mut self, node: &ast::Node, place: Place) -> Result<()> {
        match &node.node {
            Some(NodeEnum::RangeVar(r)) if r.schemaname.is_empty() && r.relname == self.name => {
                self.reference(r.location, place)
            }
            Some(NodeEnum::RangeSubselect(s)) => match s.subquery.as_deref().and_then(|n| n.node.as_ref()) {
                Some(NodeEnum::SelectStmt(inner)) => self.select(inner, place),
                _ => Ok(()),
            },
            Some(NodeEnum::JoinExpr(j)) => {
                let kind = ast::JoinType::try_from(j.jointype);
                let far = |far: bool| if far && place == Place::Allowed { Place::OuterJoin } else { place };
                let left = matches!(kind, Ok(ast::JoinType::JoinRight | ast::JoinType::JoinFull));
                let right = matches!(kind, Ok(ast::JoinType::JoinLeft | ast::JoinType::JoinFull));
                if let Some(larg) = j.larg.as_deref() {
                    self.from(larg, far(left))?;
                }
                if let Some(rarg) = j.rarg.as_deref() {
                    self.from(rarg, far(right))?;
                }
                match j.quals.as_deref() {
                    Some(quals) => self.expression(quals, place),
                    None => Ok(()),
                }
            }
            Some(NodeEnum::RangeFunction(_)) => self.expression(node, place),
            _ => Ok(()),
        }
    }

    /// A table that an expression names stands in a sub-query.
    fn expression(&mut self, node: &ast::Node, place: Place) -> Result<()> {
        let Some(inner) = &node.node else { return Ok(()) };
        for (n, ..) in inner.nodes() {
            if let pg_query::NodeRef::RangeVar(r) = n {
                if r.schemaname.is_empty() && r.relname == self.name {
                    let place = if place == Place::NonRecursiveTerm { place } else { Place::SubLink };
                    self.reference(r.location, place)?;
                }
            }
        }
        Ok(())
    }

    fn reference(&mut self, location: i32, place: Place) -> Result<()> {
        let name = self.name;
        let what = match place {
            Place::Allowed if self.found == 0 => {
                self.found += 1;
                return Ok(());
            }
            Place::Allowed => "more than once",
            Place::NonRecursiveTerm => "within its non-recursive term",
            Place::SubLink => "within a subquery",
            Place::OuterJoin => "within an outer join",
            Place::Intersect => "within INTERSECT",
            Place::Except => "within EXCEPT",
        };
        Err(PgError::new(
            SqlState::INVALID_RECURSION,
            format!("recursive reference to query \"{name}\" must not appear {what}"),
        )
        .at(location))
    }
}

// --- SEARCH, CYCLE -----------------------------------------------------------------------------------------------------

/// What SEARCH and CYCLE add to a recursive query.
#[derive(Default)]
pub(super) struct Marks {
    search: Option<Search>,
    cycle: Option<Cycle>,
}

struct Search {
    /// positions of the columns searched by
    columns: Vec<usize>,
    breadth: bool,
    sequence: RteColumn,
}

struct Cycle {
    columns: Vec<usize>,
    mark: RteColumn,
    value: Expr,
    default: Expr,
    path: RteColumn,
    /// `<>` of the mark's type
    differs: OperatorRef,
}

impl Marks {
    pub fn is_empty(&self) -> bool {
        self.search.is_none() && self.cycle.is_none()
    }

    /// The clauses as they were written. `columns`: the WITH query's own.
    pub fn written(&self, columns: &[RteColumn], query: Query) -> Marked {
        let names = |at: &[usize]| at.iter().map(|&i| columns[i].name.clone()).collect();
        let search = self.search.as_ref().map(|s| SearchClause {
            columns: names(&s.columns),
            breadth: s.breadth,
            sequence: s.sequence.name.clone(),
        });
        let cycle = self.cycle.as_ref().map(|c| CycleClause {
            columns: names(&c.columns),
            mark: c.mark.name.clone(),
            value: c.value.clone(),
            default: c.default.clone(),
            path: c.path.name.clone(),
        });
        Marked { query, search, cycle }
    }

    /// The additional columns, in order.
    pub fn columns(&self) -> Vec<RteColumn> {
        let search = self.search.iter().map(|s| s.sequence.clone());
        let cycle = self.cycle.iter().flat_map(|c| [c.mark.clone(), c.path.clone()]);
        search.chain(cycle).collect()
    }
}

/// array_append(anycompatiblearray, anycompatible)
const ARRAY_APPEND: u32 = 378;

impl Analyzer<'_> {
    pub(super) fn recursion_marks(&mut self, cte: &ast::CommonTableExpr, columns: &[RteColumn]) -> Result<Marks> {
        let mut marks = Marks::default();
        let position = |name: &str, what: &str, location: i32| {
            columns.iter().position(|c| c.name == name).ok_or_else(|| {
                PgError::new(SqlState::SYNTAX_ERROR, format!("{what} column \"{name}\" not in WITH query column list"))
                    .at(location)
            })
        };
        let all = |nodes: &[ast::Node], what: &str, location: i32| -> Result<Vec<usize>> {
            let mut out = Vec::new();
            for name in name_parts(nodes) {
                let at = position(name, what, location)?;
                if out.contains(&at) {
                    return Err(PgError::new(
                        SqlState::DUPLICATE_COLUMN,
                        format!("{what} column \"{name}\" specified more than once"),
                    )
                    .at(location));
                }
                out.push(at);
            }
            Ok(out)
        };
        if let Some(search) = &cte.search_clause {
            let by = all(&search.search_col_list, "search", search.location)?;
            if columns.iter().any(|c| c.name == search.search_seq_column) {
                return Err(PgError::new(
                    SqlState::SYNTAX_ERROR,
                    format!(
                        "search sequence column name \"{}\" already used in WITH query column list",
                        search.search_seq_column
                    ),
                )
                .at(search.location));
            }
            let breadth = search.search_breadth_first;
            let ty = if breadth { oid::RECORD } else { oid::RECORD_ARRAY };
            let sequence = plain_column(&search.search_seq_column, ty, -1);
            marks.search = Some(Search { columns: by, breadth, sequence });
        }
        if let Some(cycle) = &cte.cycle_clause {
            let by = all(&cycle.cycle_col_list, "cycle", cycle.location)?;
            for (name, what) in [(&cycle.cycle_mark_column, "mark"), (&cycle.cycle_path_column, "path")] {
                if columns.iter().any(|c| c.name == *name) {
                    return Err(PgError::new(
                        SqlState::SYNTAX_ERROR,
                        format!("cycle {what} column name \"{name}\" already used in WITH query column list"),
                    )
                    .at(cycle.location));
                }
            }
            if cycle.cycle_mark_column == cycle.cycle_path_column {
                return Err(PgError::new(
                    SqlState::SYNTAX_ERROR,
                    "cycle mark column name and cycle path column name are the same",
                )
                .at(cycle.location));
            }
            if let Some(search) = &cte.search_clause {
                for (name, what) in [(&cycle.cycle_mark_column, "mark"), (&cycle.cycle_path_column, "path")] {
                    if *name == search.search_seq_column {
                        return Err(PgError::new(
                            SqlState::SYNTAX_ERROR,
                            format!("search sequence column name and cycle {what} column name are the same"),
                        )
                        .at(search.location));
                    }
                }
            }
            let truth = |b: bool| Expr::new(ExprKind::Const(Datum::from(b)), oid::BOOL, -1);
            let value = match cycle.cycle_mark_value.as_deref() {
                Some(node) => self.expr(node)?,
                None => truth(true),
            };
            let default = match cycle.cycle_mark_default.as_deref() {
                Some(node) => self.expr(node)?,
                None => truth(false),
            };
            let (both, ty) = self.unify(vec![value, default], "CYCLE")?;
            let (value, default) = (both[0].clone(), both[1].clone());
            self.check_comparable(ty, -1)?;
            let (differs, ..) = self.resolve_operator("<>", Some(ty), ty, cycle.location)?;
            marks.cycle = Some(Cycle {
                columns: by,
                mark: plain_column(&cycle.cycle_mark_column, ty, -1),
                value,
                default,
                path: plain_column(&cycle.cycle_path_column, oid::RECORD_ARRAY, -1),
                differs,
            });
        }
        Ok(marks)
    }

    /// Puts the columns of SEARCH and CYCLE behind the `width` own ones of both terms.
    pub(super) fn add_marks(&mut self, marks: &Marks, left: &mut Query, right: &mut Query, width: usize) -> Result<()> {
        if marks.is_empty() {
            return Ok(());
        }
        let plain = |query: &Query| {
            matches!(&query.body, QueryBody::Select(s)
                if !s.grouped && s.distinct == crate::typed::Distinct::No && s.windows.is_empty())
        };
        if matches!(left.body, QueryBody::Values(_)) {
            *left = wrapped(std::mem::replace(left, empty()));
        }
        if !plain(left) || !plain(right) {
            return Err(PgError::not_supported("SEARCH or CYCLE over terms that are no plain SELECTs"));
        }
        let reference =
            right.range_table.iter().position(|r| matches!(r.kind, RteKind::Cte { self_reference: true, .. }));
        let Some(reference) = reference else {
            return Err(PgError::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                "with a SEARCH or CYCLE clause, the recursive reference to WITH query must be at the top level of its \
                 right-hand SELECT",
            ));
        };
        // what the row before has in an additional column
        let columns = right.range_table[reference].columns.clone();
        let before = |name: &str| -> Result<Expr> {
            let at = columns.iter().skip(width).position(|c| c.name == name).map(|i| i + width);
            let at = at.ok_or_else(|| PgError::internal("a mark that the reference has not"))?;
            Ok(var(0, reference, at, &columns[at], -1))
        };
        let (QueryBody::Select(l), QueryBody::Select(r)) = (&mut left.body, &mut right.body) else {
            return Err(PgError::internal("plain terms expected"));
        };
        let row = |targets: &[Target], by: &[usize]| {
            Expr::new(ExprKind::Row(by.iter().map(|&i| targets[i].expr.clone()).collect()), oid::RECORD, -1)
        };
        let first = |row: Expr| Expr::new(ExprKind::Array(vec![row]), oid::RECORD_ARRAY, -1);
        let longer = |path: Expr, row: Expr| {
            let kind = ExprKind::Func { proc: ARRAY_APPEND, args: vec![path, row], variadic: false };
            Expr::new(kind, oid::RECORD_ARRAY, -1)
        };
        let mut added: Vec<(RteColumn, Expr, Expr)> = Vec::new();
        if let Some(search) = &marks.search {
            let (l_row, r_row) = (row(&l.targets, &search.columns), row(&r.targets, &search.columns));
            let sequence = before(&search.sequence.name)?;
            let pair = if search.breadth {
                let numbered = |depth: Expr, row: Expr| {
                    let ExprKind::Row(mut fields) = row.kind else { return depth };
                    fields.insert(0, depth);
                    Expr::new(ExprKind::Row(fields), oid::RECORD, -1)
                };
                let zero = Expr::new(ExprKind::Const(Datum::Int(0)), oid::INT8, -1);
                let one = Expr::new(ExprKind::Const(Datum::Int(1)), oid::INT8, -1);
                let kind = ExprKind::Field { arg: Box::new(sequence), index: 0, name: "f1".into() };
                let kind = Expr::new(kind, oid::INT8, -1);
                let depth = self.in_stored_text(|a| a.operator("+", Some(kind), one, -1))?;
                (numbered(zero, l_row), numbered(depth, r_row))
            } else {
                (first(l_row), longer(sequence, r_row))
            };
            added.push((search.sequence.clone(), pair.0, pair.1));
        }
        let mut go_on = None;
        if let Some(cycle) = &marks.cycle {
            let (l_row, r_row) = (row(&l.targets, &cycle.columns), row(&r.targets, &cycle.columns));
            let path = before(&cycle.path.name)?;
            let (equal, ..) = self.resolve_operator("=", Some(oid::RECORD), oid::RECORD, -1)?;
            let met = Expr::new(
                ExprKind::ArrayCompare {
                    op: equal,
                    quantifier: Quantifier::Any,
                    left: Box::new(r_row.clone()),
                    array: Box::new(path.clone()),
                },
                oid::BOOL,
                -1,
            );
            let mark = Expr::new(
                ExprKind::Case {
                    whens: vec![(met, cycle.value.clone())],
                    otherwise: Some(Box::new(cycle.default.clone())),
                },
                cycle.mark.ty,
                -1,
            );
            added.push((cycle.mark.clone(), cycle.default.clone(), mark));
            added.push((cycle.path.clone(), first(l_row), longer(path, r_row)));
            let args = vec![before(&cycle.mark.name)?, cycle.value.clone()];
            go_on = Some(Expr::new(ExprKind::Op { op: cycle.differs, args }, oid::BOOL, -1));
        }
        for (column, l_expr, r_expr) in added {
            l.targets.push(Target { expr: l_expr, name: column.name.clone(), origin: (0, 0) });
            r.targets.push(Target { expr: r_expr, name: column.name.clone(), origin: (0, 0) });
            left.columns.push(column.clone());
            right.columns.push(column);
        }
        if let Some(condition) = go_on {
            r.filter = Some(match r.filter.take() {
                Some(filter) => Expr::new(ExprKind::And(vec![filter, condition]), oid::BOOL, -1),
                None => condition,
            });
        }
        Ok(())
    }
}

fn empty() -> Query {
    Query::new(QueryBody::Values(vec![]), vec![])
}

/// `SELECT * FROM (query)`; the query's references to outer levels reach one further.
fn wrapped(query: Query) -> Query {
    let query = super::modify::shift(query);
    let columns = query.columns.clone();
    let targets = columns
        .iter()
        .enumerate()
        .map(|(i, c)| Target { expr: var(0, 0, i, c, -1), name: c.name.clone(), origin: (0, 0) })
        .collect();
    let kind = RteKind::Subquery { query: Box::new(query), lateral: false };
    Query {
        range_table: vec![super::entry(kind, "*VALUES*".into(), true, columns.clone())],
        body: QueryBody::Select(crate::typed::Select {
            from: vec![crate::typed::FromItem::Entry(0)],
            targets,
            ..Default::default()
        }),
        columns,
        ..empty()
    }
}
