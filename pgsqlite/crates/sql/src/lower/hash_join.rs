//! Joins by hashing.
//!
//! SQLite joins by loops: for each row of one table it looks up those of the next in a b-tree. Where so many rows are looked up that all
//! rows of the table are read sooner, the table is read once, into a table of hashes:
//! `… CROSS JOIN pg_hashed((SELECT pg_hash(plan, value …) FROM … WHERE …), key …)`. Its plan says which values are keys, and how they
//! compare; see `natives/src/udf/hashed_rows.rs`. The conditions of the table alone are asked while it is read; the keys are compared
//! again by the query, so that a hash need not say which values are equal.
//!
//! A table of hashes is read by one cursor. So a query that SQLite may begin anew, a sub-query of an expression or of LATERAL, has none.

use super::conditions::{conjuncts, joined};
use super::query::refers_outwards;
use super::{support, Lowerer};
use crate::catalog::Relation;
use crate::typed::{Expr, ExprKind, FromItem, JoinKind, OperatorRef, Query, RteKind, Select, Var};
use crate::volatility;
use crate::walk;
use pgsqlite_types::{oid, Oid, Result};
use std::sync::Arc;

/// What rows cost that are hashed, as the costs of the order of joins: to keep one, to look for those with a key, and to read one that
/// was found.
const KEEP: f64 = 2.0;
const FIND: f64 = 2.0;
const FOUND: f64 = 1.0;
/// The same for rows that do not fit `work_mem`, which are read from a file.
const FROM_FILE: f64 = 6.0;
/// So many rows fit the default of `work_mem`.
const FIT: f64 = 100_000.0;
/// More rows than these are not hashed.
const MOST_ROWS: f64 = 5_000_000.0;

/// Which joins are hashed.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Wanted {
    None,
    /// those of which more rows would be looked up than are read
    Sooner,
    /// all that can be, for tests of what that gives
    All,
}

fn wanted() -> Wanted {
    static WANTED: std::sync::OnceLock<Wanted> = std::sync::OnceLock::new();
    *WANTED.get_or_init(|| match std::env::var("PGSQLITE_HASH_JOINS").as_deref() {
        Ok("off") => Wanted::None,
        Ok("always") => Wanted::All,
        _ => Wanted::Sooner,
    })
}

/// Whether all joins that can be hashed are.
pub(super) fn always() -> bool {
    wanted() == Wanted::All
}

/// Whether no join is hashed.
pub(super) fn never() -> bool {
    wanted() == Wanted::None
}

/// Columns of two tables that are equal in each row of the join: of the table that is hashed, and of one before it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct HashKey {
    pub own: Var,
    pub other: Var,
}

/// What it costs to hash a table: once, and for each row of before. `read` is what it costs to read its rows, `kept` how many of them its
/// own conditions let through, and `found` how many of those there are for each row of before.
pub(super) fn hash_costs(read: f64, kept: f64, found: f64) -> Option<(f64, f64)> {
    let from_file = if kept > FIT { FROM_FILE } else { 0.0 };
    (kept <= MOST_ROWS).then_some((read + kept * KEEP, FIND + found * (FOUND + from_file)))
}

/// The kind of values that compare with each other, byte by byte or by one collation, where `=` is SQLite's own.
fn family(ty: Oid) -> Option<Oid> {
    Some(match ty {
        oid::INT2 | oid::INT4 | oid::INT8 | oid::OID => oid::INT8,
        oid::TEXT | oid::VARCHAR => oid::TEXT,
        oid::BOOL | oid::BPCHAR | oid::DATE | oid::TIMESTAMP | oid::TIMESTAMPTZ | oid::UUID | oid::NUMERIC => ty,
        _ => return None,
    })
}

/// The entries that an expression's columns are of, behind JOIN's merged columns. None: it asks something else, too.
pub(super) fn entries_of(e: &Expr, query: &Query) -> Option<Vec<usize>> {
    let (mut entries, mut known) = (Vec::new(), true);
    walk::deep(e, 0, &mut |depth, e| match &e.kind {
        ExprKind::Var(v) if depth == 0 && v.levels_up == 0 => match query.range_table.get(v.rte).map(|e| &e.kind) {
            Some(RteKind::Join { columns }) => match columns.get(v.column).and_then(|c| entries_of(c, query)) {
                Some(of) => entries.extend(of),
                None => known = false,
            },
            _ => entries.push(v.rte),
        },
        ExprKind::Var(_) | ExprKind::WholeRow { .. } | ExprKind::SubLink { .. } => known = false,
        _ => {}
    });
    entries.sort_unstable();
    entries.dedup();
    known.then_some(entries)
}

/// Whether a condition asks a table alone, so that its rows can be asked before they are joined.
pub(super) fn is_own(condition: &Expr, entry: usize, query: &Query) -> bool {
    entries_of(condition, query).is_some_and(|entries| entries == [entry]) && volatility::is_repeatable(condition)
}

impl Lowerer<'_> {
    /// Whether the values of two columns that an operator finds equal have the same hash.
    pub(super) fn hash_alike(&self, op: OperatorRef, a: &Expr, b: &Expr) -> bool {
        let kind = |e: &Expr| family(self.env.catalog.base_type(e.ty));
        let how = |e: &Expr| super::groups::comparison(self.collation_of(e).as_deref());
        kind(a).is_some()
            && kind(a) == kind(b)
            && self.plain_equality(op, a.ty, b.ty)
            && how(a).is_some()
            && how(a) == how(b)
    }

    /// Whether joins of this query may be hashed at all.
    pub(super) fn may_hash(&self, query: &Query) -> bool {
        !never()
            && self.begun_anew == 0
            && !self.in_recursive_term
            && query.row_locks.is_empty()
            && !refers_outwards(query)
    }

    /// The columns of an entry that a query needs besides those that its own conditions ask. None: it needs more than columns.
    pub(super) fn columns_kept(
        &self,
        entry: usize,
        relation: &Relation,
        own: &[Expr],
        query: &Query,
    ) -> Option<Vec<usize>> {
        let count = relation.live_columns().count();
        let (mut uses, mut plain) = (vec![0usize; count], true);
        walk::query_exprs(query, 0, &mut |depth, e| match &e.kind {
            ExprKind::Var(v) if v.levels_up == depth && v.rte == entry => match uses.get_mut(v.column) {
                Some(uses) => *uses += 1,
                None => plain = false,
            },
            ExprKind::WholeRow { levels_up, rte, .. } if *levels_up == depth && *rte == entry => plain = false,
            _ => {}
        });
        // What is LATERAL in FROM has its text already, with the columns' former names.
        for lateral in query.range_table.iter().filter(|rte| !matches!(rte.kind, RteKind::Join { .. })) {
            walk::entry_exprs(std::slice::from_ref(lateral), 0, &mut |depth, e| {
                plain &= !matches!(&e.kind, ExprKind::Var(v) if v.levels_up == depth && v.rte == entry);
            });
        }
        for condition in own {
            walk::deep(condition, 0, &mut |depth, e| match &e.kind {
                ExprKind::Var(v) if v.levels_up == depth && v.rte == entry => {
                    if let Some(uses) = uses.get_mut(v.column) {
                        *uses = uses.saturating_sub(1);
                    }
                }
                _ => {}
            });
        }
        let kept: Vec<usize> = (0..count).filter(|column| uses[*column] > 0).collect();
        (plain && kept.len() < support::MOST_HASHED).then_some(kept)
    }

    /// The item of FROM that gives an entry's rows by their hashes; the entry's columns are its from here on. `own` is what the
    /// conditions on the entry alone ask, `filter` their text and what else is asked of its rows.
    pub(super) fn hashed_item(
        &mut self,
        entry: usize,
        from: &str,
        keys: &[HashKey],
        (own, filter): (&[Expr], &[String]),
        query: &Query,
    ) -> Result<Option<String>> {
        let RteKind::Relation(relation) = &query.range_table[entry].kind else { return Ok(None) };
        let relation: Arc<Relation> = relation.clone();
        let Some(mut kept) = self.columns_kept(entry, &relation, own, query) else { return Ok(None) };
        kept.extend(keys.iter().map(|key| key.own.column));
        kept.sort_unstable();
        kept.dedup();
        let columns = &query.range_table[entry].columns;
        let (mut plan, mut others) = (Vec::new(), Vec::new());
        for key in keys.iter().take(support::MOST_HASH_KEYS) {
            let Some(column) = columns.get(key.own.column) else { return Ok(None) };
            let collation = self.collation_in(column.ty, column.collation);
            let how = super::groups::comparison(collation.as_deref());
            let place = kept.iter().position(|k| *k == key.own.column);
            let (Some(how), Some(place)) = (how, place) else { return Ok(None) };
            plan.push(format!("{how}{place}"));
            others.push(self.scope().entries[key.other.rte][key.other.column].clone());
        }
        let alias = self.unique("t");
        let texts = self.scope().entries[entry].clone();
        let mut call = vec![super::quote_text(&plan.join(" "))];
        let mut replaced = Vec::with_capacity(texts.len());
        for (column, text) in texts.iter().enumerate() {
            match kept.iter().position(|k| *k == column) {
                Some(place) => {
                    call.push(text.clone());
                    replaced.push(format!("{alias}.{}{}", self.affinity_of_type(columns[column].ty), place + 1));
                }
                // (nobody reads it)
                None => replaced.push(text.clone()),
            }
        }
        let filter = if filter.is_empty() { String::new() } else { format!(" WHERE {}", filter.join(" AND ")) };
        self.scope().entries[entry] = replaced;
        Ok(Some(format!(
            "{}((SELECT {}({}) FROM {from}{filter}), {}) AS {alias}",
            support::HASHED,
            support::HASH,
            call.join(", "),
            others.join(", ")
        )))
    }

    /// The far side of a LEFT JOIN as an item that is hashed, and what is left of the condition. None: its rows are looked up.
    pub(super) fn hashed_far_side(
        &mut self,
        (left, right): (&FromItem, &FromItem),
        on: &Expr,
        from: &[String],
        (select, query): (&Select, &Query),
    ) -> Result<Option<(String, Expr)>> {
        let FromItem::Entry(entry) = *right else { return Ok(None) };
        let may = self.may_hash(query) && (query.limit.is_none() || select.grouped);
        if !may || self.scope().present.get(entry).is_some_and(|p| p.is_some()) || select.from.iter().any(turned) {
            return Ok(None);
        }
        let conditions: Vec<Expr> = conjuncts(on).iter().flat_map(conjuncts).cloned().collect();
        if !conditions.iter().all(volatility::is_repeatable) {
            return Ok(None);
        }
        let mut given = Vec::new();
        entries_below(left, &mut given);
        let keys = self.keys_between(&conditions, entry, &given, query);
        let (own, rest): (Vec<Expr>, Vec<Expr>) = conditions.into_iter().partition(|c| is_own(c, entry, query));
        if keys.is_empty() || !self.hashes_sooner(entry, &given, &keys, &own, (select, query)) {
            return Ok(None);
        }
        let filter = match own.is_empty() {
            true => vec![],
            false => vec![self.filter(&joined(own.clone(), on.location, ExprKind::And), query, Some(entry))?],
        };
        let item = self.hashed_item(entry, &from[entry], &keys, (&own, &filter), query)?;
        Ok(item.map(|item| (item, joined(rest, on.location, ExprKind::And))))
    }

    /// The columns of an entry that equal one of those in `given`.
    fn keys_between(&self, conditions: &[Expr], entry: usize, given: &[usize], query: &Query) -> Vec<HashKey> {
        let key = |condition: &Expr| {
            let ExprKind::Op { op, args } = &condition.kind else { return None };
            let [a, b] = &args[..] else { return None };
            let (x, y) = (super::join_order::column(a, query)?, super::join_order::column(b, query)?);
            let (own, other) = if x.rte == entry { (*x, *y) } else { (*y, *x) };
            let between = own.rte == entry && given.contains(&other.rte);
            (between && self.hash_alike(*op, a, b)).then_some(HashKey { own, other })
        };
        conditions.iter().filter_map(key).collect()
    }
}

/// Whether an item has joins that give the rows of their right side.
fn turned(item: &FromItem) -> bool {
    match item {
        FromItem::Entry(_) => false,
        FromItem::Join { kind, left, right, .. } => {
            matches!(kind, JoinKind::Right | JoinKind::Full) || turned(left) || turned(right)
        }
    }
}

/// The entries of an item of FROM.
fn entries_below(item: &FromItem, out: &mut Vec<usize>) {
    match item {
        FromItem::Entry(entry) => out.push(*entry),
        FromItem::Join { left, right, .. } => {
            entries_below(left, out);
            entries_below(right, out);
        }
    }
}
