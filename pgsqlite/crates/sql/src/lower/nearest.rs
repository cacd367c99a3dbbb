//! Indexes for the rows that are nearest to a value: `USING hnsw` and `USING ivfflat` (pgvector).
//!
//! Such an index with [`Index::inverted`] has two tables in the file. [`lists_table`] has the centers of the lists into which the rows that
//! were there when the index was made fall apart; `side_table` has, for each row with a value, the list whose center is
//! nearest. SQLite's own triggers keep the second one (`objects/src/ddl/nearest.rs`). `ORDER BY column <-> value LIMIT n` then reads the
//! rows of the lists that are nearest to the value, and sorts these by their distances. Where fewer rows are found than are asked for,
//! and while there are no lists, all rows are read: an index never leaves rows out because a condition or a limit is larger than it expects.

use super::inverted::side_table;
use super::query::LimitKind;
use super::stages::plain_limit;
use super::{quote, rowid_name, support, Lowerer};
use crate::builtins::catalog as builtin;
use crate::builtins::imp::native_name;
use crate::catalog::{Index, Origin, RelationKind};
use crate::typed::{Distinct, Expr, ExprKind, FromItem, Query, RteKind, Select};
use crate::volatility::is_repeatable;
use crate::walk;
use pgsqlite_types::extension::vector::distance::Metric;
use pgsqlite_types::extension::vector::Kind;
use pgsqlite_types::{Oid, Result};

/// The table of the centers of an index's lists.
pub fn lists_table(index: Oid) -> String {
    format!("{}_lists", side_table(index))
}

/// Whether an access method is one of those for nearest values.
pub fn is_method(method: &str) -> bool {
    matches!(method, "hnsw" | "ivfflat")
}

/// What an operator class of these methods orders by.
#[derive(Debug, Clone, Copy)]
pub struct Class {
    pub kind: Kind,
    pub metric: Metric,
    /// the operator's function
    pub function: Oid,
}

/// The class with this OID. None: it is none of these methods, or its values are not clustered (bit strings, `sparsevec`).
pub fn class(class: Oid) -> Option<Class> {
    let found = builtin::operator_class_by_oid(class).filter(|c| is_method(c.method))?;
    let (kind, metric) = match found.name.split_once('_')? {
        ("vector", metric) => (Kind::Vector, metric),
        ("halfvec", metric) => (Kind::Half, metric),
        _ => return None,
    };
    let metric = match metric {
        "l2_ops" => Metric::L2,
        "ip_ops" => Metric::NegativeProduct,
        "cosine_ops" => Metric::Cosine,
        "l1_ops" => Metric::L1,
        _ => return None,
    };
    let operator = builtin::all_operators()
        .iter()
        .find(|o| o.left == found.input && builtin::orders_in_family(o.oid, found.family))?;
    Some(Class { kind, metric, function: operator.proc })
}

/// SQL: the number of the list whose center is nearest to a value; 0 where there are no lists.
pub fn list_of(index: Oid, class: &Class, value: &str) -> String {
    let (function, lists) = (native_name(class.function), quote(&lists_table(index)));
    format!("ifnull((SELECT number FROM {lists} ORDER BY {function}(center, {value}), number LIMIT 1), 0)")
}

impl Lowerer<'_> {
    /// The condition that a row's number is among those of the lists in which the rows are looked for that a query asks for. None: no index
    /// serves the query.
    pub(super) fn nearest(&mut self, select: &Select, query: &Query) -> Result<Option<String>> {
        let ([FromItem::Entry(rte)], Some(limit), Some(first)) =
            (&select.from[..], &query.limit, query.order_by.first())
        else {
            return Ok(None);
        };
        let plain = select.filter.is_none()
            && !select.grouped
            && select.windows.is_empty()
            && select.distinct == Distinct::No
            && !query.with_ties
            && query.row_locks.is_empty()
            && !first.descending
            && !first.nulls_first
            && !select.targets.iter().any(|t| walk::contains_set_function(&t.expr));
        let ExprKind::Op { op, args } = &first.expr.kind else { return Ok(None) };
        let [left, right] = &args[..] else { return Ok(None) };
        if !plain {
            return Ok(None);
        }
        let Some(entry) = query.range_table.get(*rte) else { return Ok(None) };
        let RteKind::Relation(relation) = &entry.kind else { return Ok(None) };
        if relation.kind != RelationKind::Table
            || relation.temporary
            || relation.without_rowid
            || relation.origin == Origin::Foreign
            || entry.sample.is_some()
            || self.stands_for_several(entry, relation)
        {
            return Ok(None);
        }
        let relation = relation.clone();
        let of_table = |e: &Expr| {
            let mut found = false;
            walk::deep(e, 0, &mut |depth, e| match &e.kind {
                ExprKind::Var(v) => found |= v.levels_up == depth,
                ExprKind::WholeRow { levels_up, .. } => found |= *levels_up == depth,
                _ => {}
            });
            found
        };
        let (value, asked) = match (of_table(left), of_table(right)) {
            (true, false) => (left, right),
            (false, true) => (right, left),
            _ => return Ok(None),
        };
        if !is_repeatable(asked) {
            return Ok(None);
        }
        let orders = |index: &Index| {
            let family =
                index.columns.first().and_then(|c| builtin::operator_class_by_oid(c.opclass)).map(|c| c.family);
            is_method(&index.method) && family.is_some_and(|family| builtin::orders_in_family(op.oid, family))
        };
        let Some(index) = self.index_of_value(&relation, value, *rte, &orders) else { return Ok(None) };
        let Some((method, Some(class))) = self.env.catalog.relation(index).and_then(|r| match &r.kind {
            RelationKind::Index(index) => Some((index.method.clone(), class(index.columns.first()?.opclass))),
            _ => None,
        }) else {
            return Ok(None);
        };
        let number = self.scope().entries.get(*rte).and_then(|e| e.get(relation.live_columns().count())).cloned();
        let (Some(number), Ok(own_number)) = (number, rowid_name(&relation)) else { return Ok(None) };
        let asked = self.expr(asked)?;
        // so many rows are needed: NULL and ALL are all of them
        let mut bounds = Vec::new();
        for (bound, kind) in [(Some(limit), LimitKind::Limit), (query.offset.as_ref(), LimitKind::Offset)] {
            let Some(bound) = bound else { continue };
            bounds.push(match plain_limit(bound) {
                Some(n) => n.to_string(),
                None => {
                    let bound = self.limit_bound(bound, kind)?;
                    format!("(CASE WHEN {bound} < 0 THEN {} ELSE {bound} END)", i64::MAX / 4)
                }
            });
        }
        let (side, lists) = (quote(&side_table(index)), quote(&lists_table(index)));
        let function = native_name(class.function);
        let [found, row, any, list, all] = ["w", "t", "t", "t", "t"].map(|letter| self.unique(letter));
        Ok(Some(format!(
            "{number} IN (WITH {found}(n) AS MATERIALIZED (SELECT {row}.number FROM main.{side} AS {row} WHERE {row}.term IN \
             (SELECT {list}.number FROM main.{lists} AS {list} ORDER BY {function}({list}.center, {asked}), {list}.number \
             LIMIT {}('{method}', (SELECT count(*) FROM main.{lists} AS {all})))) \
             SELECT n FROM {found} UNION ALL SELECT {any}.{own_number} FROM {} AS {any} \
             WHERE (SELECT count(*) FROM {found}) < {})",
            support::LISTS_ASKED,
            self.read_table(&relation),
            bounds.join(" + "),
        )))
    }
}
