//! Aggregates over the far side of a LEFT JOIN, computed before the join.
//!
//! `SELECT a.id, count(b.x) FROM a LEFT JOIN b ON b.a = a.id AND … GROUP BY a.id` has one group for each row of `a`, if `id` is its primary
//! key. The rows of `b` are grouped by the columns of the join, and the groups are joined: fewer rows are joined, and none is sorted. Only
//! where so many rows of `b` are wanted that all are read sooner than they are looked up ([`Lowerer::hashes_sooner`]), and where nothing that is
//! computed of a row without a partner could fail.

use super::conditions::{conjuncts, joined};
use super::hash_join::{is_own, HashKey};
use super::Lowerer;
use crate::builtins::catalog as builtin;
use crate::catalog::Relation;
use crate::typed::{
    Aggregate, Distinct, Expr, ExprKind, FromItem, JoinKind, Query, QueryBody, RangeTableEntry, RteColumn, RteKind,
    Select, Target, Var,
};
use crate::volatility;
use crate::walk;
use pgsqlite_types::{oid, Datum};

/// Aggregates that are NULL where there are no rows, and cannot fail because of one.
const NULL_WITHOUT_ROWS: [&str; 4] = ["min", "max", "bool_and", "bool_or"];

/// The parts of such a join.
struct Join<'q> {
    near: usize,
    far: usize,
    conditions: Vec<&'q Expr>,
}

/// The two tables of a query that is a LEFT JOIN of them, with groups.
fn join<'q>(select: &'q Select, query: &'q Query) -> Option<Join<'q>> {
    let [FromItem::Join { kind: JoinKind::Left, left, right, on: Some(on), .. }] = &select.from[..] else {
        return None;
    };
    let (FromItem::Entry(near), FromItem::Entry(far)) = (&**left, &**right) else { return None };
    let plain = select.grouped
        && !select.group_by.is_empty()
        && select.grouping_sets.is_empty()
        && select.filter.is_none()
        && select.windows.is_empty()
        && !matches!(select.distinct, Distinct::On(_))
        && query.ctes.is_empty()
        && query.row_locks.is_empty()
        && !query.locks_rows;
    let conditions: Vec<&Expr> = conjuncts(on).iter().flat_map(conjuncts).collect();
    plain.then_some(Join { near: *near, far: *far, conditions })
}

/// A column of an entry of this level.
fn column_of(e: &Expr, entry: usize) -> Option<Var> {
    match &e.kind {
        ExprKind::Var(v) if v.levels_up == 0 && v.rte == entry => Some(*v),
        _ => None,
    }
}

/// Whether each group has one row of a table: its primary key is among what is grouped by.
fn has_one_row(group_by: &[Expr], near: usize, relation: &Relation) -> bool {
    let Some(key) = relation.primary_key().filter(|_| relation.deferrable_keys().next().is_none()) else {
        return false;
    };
    let columns: Vec<i16> = relation.live_columns().map(|c| c.attnum).collect();
    let grouped: Vec<Option<i16>> =
        group_by.iter().filter_map(|e| column_of(e, near)).map(|v| columns.get(v.column).copied()).collect();
    key.columns.iter().all(|attnum| grouped.contains(&Some(*attnum)))
}

/// Whether an aggregate asks columns of the far side alone, and is nothing (`count`: 0) where there are no rows.
fn is_of_far_side(call: &Aggregate, far: usize) -> bool {
    let plain = !call.star && call.direct.is_empty() && call.order_by.is_empty() && call.filter.is_none();
    let known = builtin::proc_by_oid(call.proc)
        .is_some_and(|p| p.name.as_str() == "count" || NULL_WITHOUT_ROWS.contains(&p.name.as_str()));
    plain && known && call.levels_up == 0 && call.args.iter().all(|arg| column_of(arg, far).is_some())
}

/// The aggregates of an expression are added to those that are there. False: it asks the far side in another way, or something else.
fn gather_calls(e: &Expr, join: &Join, calls: &mut Vec<Expr>) -> bool {
    let mut plain = true;
    walk::map(e, &mut |e| match &e.kind {
        ExprKind::Aggregate(call) if is_of_far_side(call, join.far) => {
            if !calls.contains(e) {
                calls.push(e.clone());
            }
            Some(e.clone())
        }
        ExprKind::Var(v) => {
            plain &= v.levels_up == 0 && v.rte == join.near;
            None
        }
        ExprKind::Aggregate(_)
        | ExprKind::Window { .. }
        | ExprKind::SubLink { .. }
        | ExprKind::SetFunc { .. }
        | ExprKind::Grouping(_)
        | ExprKind::WholeRow { .. } => {
            plain = false;
            Some(e.clone())
        }
        _ => None,
    });
    plain
}

impl Lowerer<'_> {
    /// The query that joins groups instead of rows. None: it stays as it is.
    pub(super) fn eagerly_grouped(&self, query: &Query) -> Option<Query> {
        let QueryBody::Select(select) = &query.body else { return None };
        let join = join(select, query).filter(|_| self.may_hash(query))?;
        let entry = |at: usize| query.range_table.get(at);
        let (near, far) = (entry(join.near)?, entry(join.far)?);
        let RteKind::Relation(table) = &near.kind else { return None };
        let RteKind::Relation(grouped) = &far.kind else { return None };
        let is_one = |rte: &RangeTableEntry, relation: &Relation| {
            relation.is_stored() && rte.sample.is_none() && !self.stands_for_several(rte, relation)
        };
        if !is_one(near, table) || !is_one(far, grouped) || !has_one_row(&select.group_by, join.near, table) {
            return None;
        }
        let (keys, own) = self.keys_and_own(&join, query)?;
        let mut calls = Vec::new();
        let shown = select.targets.iter().map(|t| &t.expr).chain(&select.having);
        let all: Vec<&Expr> = shown.chain(query.order_by.iter().map(|k| &k.expr)).chain(&select.group_by).collect();
        if !all.into_iter().all(|e| gather_calls(e, &join, &mut calls)) || calls.is_empty() {
            return None;
        }
        let hash_keys: Vec<HashKey> = keys.iter().map(|(key, ..)| *key).collect();
        if !self.hashes_sooner(join.far, &[join.near], &hash_keys, &own, (select, query)) {
            return None;
        }
        Some(joined_groups(query, select, &join, &keys, own, &calls))
    }

    /// The equalities of columns that join the tables, each with its condition and the far side's column, and the conditions of the far
    /// side alone. None: there is another condition, or none that joins.
    #[expect(clippy::type_complexity, reason = "one use")]
    fn keys_and_own<'q>(
        &self,
        join: &Join<'q>,
        query: &Query,
    ) -> Option<(Vec<(HashKey, &'q Expr, &'q Expr)>, Vec<Expr>)> {
        let (mut keys, mut own) = (Vec::new(), Vec::new());
        for condition in &join.conditions {
            if let ExprKind::Op { op, args } = &condition.kind {
                if let [a, b] = &args[..] {
                    let sides = [(a, b), (b, a)].into_iter();
                    let mut found = sides
                        .filter_map(|(far, near)| Some((column_of(far, join.far)?, column_of(near, join.near)?, far)));
                    if let Some((own, other, far)) = found.next().filter(|_| self.hash_alike(*op, a, b)) {
                        keys.push((HashKey { own, other }, *condition, far));
                        continue;
                    }
                }
            }
            if !is_own(condition, join.far, query) || !volatility::is_repeatable(condition) {
                return None;
            }
            own.push((*condition).clone());
        }
        (!keys.is_empty()).then_some((keys, own))
    }
}

/// The query with the groups of the far side in its place.
fn joined_groups(
    query: &Query,
    select: &Select,
    join: &Join,
    keys: &[(HashKey, &Expr, &Expr)],
    own: Vec<Expr>,
    calls: &[Expr],
) -> Query {
    // the far side is the only entry of its own query
    let below = |e: &Expr| {
        walk::map(e, &mut |e| {
            let v = column_of(e, join.far)?;
            Some(Expr { kind: ExprKind::Var(Var { rte: 0, ..v }), ..e.clone() })
        })
    };
    let named = |(i, e): (usize, &Expr)| Target { expr: below(e), name: format!("g{i}"), origin: (0, 0) };
    let columns: Vec<&Expr> = keys.iter().map(|(_, _, far)| *far).chain(calls).collect();
    let targets: Vec<Target> = columns.iter().copied().enumerate().map(named).collect();
    let described: Vec<RteColumn> = targets
        .iter()
        .map(|t| RteColumn {
            name: t.name.clone(),
            ty: t.expr.ty,
            typmod: t.expr.typmod,
            attnum: 0,
            origin: (0, 0),
            collation: t.expr.collation,
        })
        .collect();
    let location = own.first().map_or(-1, |e| e.location);
    let groups = Select {
        from: vec![FromItem::Entry(0)],
        filter: (!own.is_empty()).then(|| below(&joined(own, location, ExprKind::And))),
        group_by: targets[..keys.len()].iter().map(|t| t.expr.clone()).collect(),
        targets,
        grouped: true,
        ..Select::default()
    };
    let mut inner = Query::new(QueryBody::Select(groups), described.clone());
    inner.range_table = vec![query.range_table[join.far].clone()];

    let group = |place: usize, like: &Expr| {
        let var = Var { levels_up: 0, rte: join.far, column: place };
        Expr { kind: ExprKind::Var(var), ..like.clone() }
    };
    let above = |e: &Expr| {
        walk::map(e, &mut |e| {
            let place = calls.iter().position(|call| call == e)?;
            let found = group(keys.len() + place, e);
            let ExprKind::Aggregate(call) = &e.kind else { return None };
            let counts = builtin::proc_by_oid(call.proc).is_some_and(|p| p.name.as_str() == "count");
            Some(match counts {
                true => {
                    let zero = Expr::new(ExprKind::Const(Datum::Int(0)), oid::INT8, -1);
                    Expr { kind: ExprKind::Coalesce(vec![found, zero]), ..e.clone() }
                }
                false => found,
            })
        })
    };
    let conditions: Vec<Expr> = keys
        .iter()
        .enumerate()
        .map(|(i, (_, condition, far))| walk::map(condition, &mut |e| column_of(e, join.far).map(|_| group(i, far))))
        .collect();
    let mut out = query.clone();
    let far = &mut out.range_table[join.far];
    far.kind = RteKind::Subquery { query: Box::new(inner), lateral: false };
    far.columns = described;
    out.order_by.iter_mut().for_each(|key| key.expr = above(&key.expr));
    let mut rows = select.clone();
    if let [FromItem::Join { on, .. }] = &mut rows.from[..] {
        *on = Some(joined(conditions, -1, ExprKind::And));
    }
    rows.targets.iter_mut().for_each(|target| target.expr = above(&target.expr));
    rows.filter = rows.having.take().map(|having| above(&having));
    rows.group_by.clear();
    rows.grouped = false;
    out.body = QueryBody::Select(rows);
    out
}
