//! The order in which the tables of a query are joined.
//!
//! SQLite chooses an order by what its own ANALYZE has seen of indexes. It knows nothing of columns without an index, guesses how many
//! rows a comparison lets through, and prefers an order in which it need not sort. Where our ANALYZE has seen all tables of a query and
//! one of them is large, the order is computed here, by dynamic programming over what PostgreSQL's planner has, too: numbers of rows, of
//! different values, and bounds. `CROSS JOIN` keeps SQLite to it; which index serves a table is still SQLite's choice.
//!
//! Costs are in rows that are read one after the other.

use super::conditions::{conjuncts, only_entry, ranged, share, LARGE};
use super::hash_join::{self, hash_costs, is_own, HashKey};
use super::query::refers_outwards;
use super::Lowerer;
use crate::builtins::catalog as builtin;
use crate::catalog::{Index, KeyPart, Relation, RelationKind};
use crate::typed::{CastMethod, Expr, ExprKind, FromItem, JoinKind, Query, RteKind, Select, SubLinkKind, Var};
use crate::volatility;
use crate::walk;
use std::sync::Arc;

/// More tables than these are left to SQLite.
const MOST_TABLES: usize = 8;
/// To ask a row a sub-query.
const ASK: f64 = 25.0;
/// To read a row beside the one that was read last.
const NEAR: f64 = 1.2;
/// Rows of a table that was never counted (where all queries are ordered, for tests).
const UNCOUNTED: f64 = 1000.0;

/// The order that was chosen.
pub(super) struct JoinOrder {
    /// the entries of the range table
    pub entries: Vec<Placed>,
    /// WHERE and the conditions of all JOINs
    pub filter: Option<Expr>,
    /// the first table is read as a whole
    pub scans_first: bool,
    /// It is not known how many rows of the first table an index finds.
    pub begins_with_guess: bool,
    /// of the whole, in rows that are read one after the other
    pub cost: f64,
}

impl JoinOrder {
    /// How many rows the join has, about.
    pub fn rows(&self) -> Option<f64> {
        self.entries.last().map(|placed| placed.rows)
    }
}

/// A table's place in the order.
pub(super) struct Placed {
    pub entry: usize,
    /// empty: its rows are looked up; else it is hashed by them
    pub keys: Vec<HashKey>,
    /// how many rows the tables up to this one have together, about
    pub rows: f64,
}

/// Whether all joins are ordered, for tests of what that gives.
fn always() -> bool {
    static ALWAYS: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
    *ALWAYS.get_or_init(|| std::env::var("PGSQLITE_JOIN_ORDER").is_ok_and(|value| value == "always"))
        || hash_join::always()
}

/// The entries and conditions of an item of FROM that has inner joins alone.
fn flattened(item: &FromItem, entries: &mut Vec<usize>, conditions: &mut Vec<Expr>) -> bool {
    match item {
        FromItem::Entry(entry) => {
            entries.push(*entry);
            true
        }
        FromItem::Join { kind: JoinKind::Inner | JoinKind::Cross, left, right, on, .. } => {
            let flat = flattened(left, entries, conditions) && flattened(right, entries, conditions);
            conditions.extend(on.iter().flat_map(conjuncts).cloned());
            flat
        }
        FromItem::Join { .. } => false,
    }
}

/// The column that an expression is, behind JOIN's merged columns and casts that change no value.
pub(super) fn column<'q>(mut e: &'q Expr, query: &'q Query) -> Option<&'q Var> {
    loop {
        match &e.kind {
            ExprKind::Cast { arg, method: CastMethod::Relabel, .. } => e = arg,
            ExprKind::Var(v) if v.levels_up == 0 => match &query.range_table.get(v.rte)?.kind {
                RteKind::Join { columns } => e = columns.get(v.column)?,
                RteKind::Relation(_) => return Some(v),
                _ => return None,
            },
            _ => return None,
        }
    }
}

/// A table of the join.
struct Table<'q> {
    relation: &'q Arc<Relation>,
    rows: f64,
    /// which part of its rows its own conditions let through
    share: f64,
    /// columns that are compared with values for equality
    fixed: Vec<i16>,
    indexes: Vec<&'q Index>,
    /// columns that the query uses
    used: Vec<i16>,
    /// what its rows are asked besides comparisons: sub-queries
    asked: f64,
    /// the least part of its rows that an index finds by bounds
    bounded: f64,
    /// It is not known which part of its rows bounds that an index may serve let through.
    guessed: bool,
    /// the query needs no more of it than columns
    can_hash: bool,
}

impl Table<'_> {
    fn different(&self, attnum: i16) -> f64 {
        let seen = self.relation.distinct.iter().find(|c| c.attnum == attnum);
        seen.map_or(self.rows / 10.0, |c| c.distinct as f64).clamp(1.0, self.rows.max(1.0))
    }

    /// Of the rows with a value, how many come right after another one.
    fn repeated(&self, columns: &[i16]) -> f64 {
        let of_column = |attnum: &i16| {
            let seen = self.relation.distinct.iter().find(|c| c.attnum == *attnum);
            seen.map_or(0.0, |c| f64::from(c.repeated) / 100.0)
        };
        columns.iter().map(of_column).fold(1.0, f64::min)
    }

    /// Whether at most one row has these values.
    fn is_unique(&self, bound: &[i16]) -> bool {
        self.relation.rowid_column.is_some_and(|column| bound.contains(&column))
            || self.indexes.iter().any(|index| {
                index.unique
                    && index.columns.iter().all(|c| matches!(c.key, KeyPart::Column(attnum) if bound.contains(&attnum)))
            })
    }

    /// Which part of the rows has given values in these columns. (Columns of one table mostly depend on each other.)
    fn part(&self, bound: &[i16]) -> f64 {
        if self.is_unique(bound) {
            return 1.0 / self.rows.max(1.0);
        }
        let mut parts: Vec<f64> = bound.iter().map(|attnum| 1.0 / self.different(*attnum)).collect();
        parts.sort_by(f64::total_cmp);
        let mut power = 1.0;
        parts.iter().fold(1.0, |product, part| {
            let product = product * part.powf(power);
            power /= 2.0;
            product
        })
    }

    /// How often the rows of a thousand are doubled to those of the table. (Measured: the more pages there are, the less often one is
    /// in the processor's cache.)
    fn doublings(&self) -> f64 {
        (self.rows / 1000.0).max(1.0).log2()
    }

    /// To find a key in an index.
    fn seek(&self) -> f64 {
        1.0 + 0.5 * self.doublings()
    }

    /// To read the row that an index leads to, at any place.
    fn fetch(&self) -> f64 {
        1.0 + 0.3 * self.doublings().powi(2)
    }

    /// What it costs to find the rows with given values in these columns; `in_order`: the values come in the order of the table's rows.
    /// None: no index serves.
    fn looked_up(&self, bound: &[i16], in_order: bool) -> Option<f64> {
        let (seek, first) = if in_order { (1.0, 1.0) } else { (self.seek(), self.fetch()) };
        if self.relation.rowid_column.is_some_and(|column| bound.contains(&column)) {
            return Some(seek + first / 2.0);
        }
        let by_index = |index: &&Index| {
            let of_key = |key: &KeyPart| match key {
                KeyPart::Column(attnum) if bound.contains(attnum) => Some(*attnum),
                _ => None,
            };
            let key: Vec<i16> = index.columns.iter().map_while(|c| of_key(&c.key)).collect();
            let found = (self.part(&key) * self.rows).max(1.0);
            let has =
                |used: &i16| index.columns.iter().any(|c| matches!(c.key, KeyPart::Column(attnum) if attnum == *used));
            let rows = if self.used.iter().all(has) {
                found
            } else if index.primary {
                // rows mostly come in the order of their primary key
                first + (found - 1.0) * NEAR
            } else {
                let near = found * self.repeated(&key);
                near * NEAR + (found - near) * self.fetch()
            };
            (!key.is_empty()).then_some(seek + rows)
        };
        self.indexes.iter().filter_map(by_index).min_by(f64::total_cmp)
    }

    /// What it costs to read it as the first table, and whether that is done without an index.
    fn read(&self) -> (f64, bool) {
        let bounded = self.seek() + self.bounded * self.rows * (1.0 + self.fetch());
        let found = bounded.min(self.looked_up(&self.fixed, false).unwrap_or(f64::MAX));
        (found.min(self.rows), found >= self.rows)
    }

    /// The column that its rows are mostly in the order of.
    fn ordered_by(&self) -> Option<i16> {
        let primary = self.indexes.iter().find(|index| index.primary);
        self.relation.rowid_column.or_else(|| primary?.columns.first()?.key.column())
    }
}

/// A condition on several tables.
struct Between {
    /// the tables, as bits
    tables: u32,
    share: f64,
}

/// Columns that are equal in each row of the result: table and attnum.
type Equal = Vec<(usize, i16)>;

/// One more table in a join.
struct Step {
    /// costs: once, and for each row of before
    once: f64,
    each: f64,
    /// for each row, where they come in the order of the table's rows
    each_in_order: f64,
    /// for each row, if the table is read as a whole
    most: f64,
    /// costs if the table is hashed: once, and for each row of before
    hashed: Option<(f64, f64)>,
    /// rows for each of before
    factor: f64,
}

/// Some of the tables in an order.
struct Way {
    cost: f64,
    rows: f64,
    /// the tables, whether each is hashed, and how many rows there are behind it
    order: Vec<(usize, bool, f64)>,
}

struct Join<'q> {
    tables: Vec<Table<'q>>,
    between: Vec<Between>,
    equal: Vec<Equal>,
    /// columns as in `equal` whose equal values have the same hash; in place of attnums there are the places of columns
    alike: Vec<Equal>,
}

impl Join<'_> {
    /// The columns of a table by which it can be hashed, each with one of a table in `given`.
    fn hash_keys(&self, table: usize, given: u32) -> Vec<(i16, (usize, i16))> {
        let key = |equal: &Equal| {
            let own = equal.iter().find(|(t, _)| *t == table)?;
            let other = equal.iter().find(|(t, _)| given >> t & 1 == 1)?;
            Some((own.1, *other))
        };
        self.alike.iter().filter_map(key).take(super::support::MOST_HASH_KEYS).collect()
    }

    /// The columns of a table that equal one of the tables in `given`, and for each of those tables the columns there.
    fn bound(&self, table: usize, given: u32) -> (Vec<i16>, Vec<Vec<i16>>) {
        let mut bound = Vec::new();
        let mut others = vec![Vec::new(); self.tables.len()];
        for equal in &self.equal {
            let there: Vec<_> = equal.iter().filter(|(t, _)| given >> t & 1 == 1).collect();
            let here = equal.iter().filter(|(t, _)| *t == table);
            if there.is_empty() {
                continue;
            }
            for (_, attnum) in here {
                bound.push(*attnum);
                for (t, other) in &there {
                    others[*t].push(*other);
                }
            }
        }
        (bound, others)
    }

    /// Whether the values that a table is looked up by come in the order of its rows: the first table is read as a whole, both are in
    /// the order of their primary keys, and those are equal.
    fn comes_in_order(&self, first: usize, table: usize) -> bool {
        let keys = self.tables[first].ordered_by().zip(self.tables[table].ordered_by());
        keys.is_some_and(|(a, b)| {
            let both = |equal: &Equal| equal.contains(&(first, a)) && equal.contains(&(table, b));
            self.tables[first].read().1 && self.equal.iter().any(both)
        })
    }

    /// What one more table costs, and how many rows there are then for each of before.
    fn step(&self, table: usize, given: u32) -> Step {
        let of = &self.tables[table];
        let (bound, others) = self.bound(table, given);
        let known: Vec<i16> = bound.iter().chain(&of.fixed).copied().collect();
        let mut matched = if bound.is_empty() { 1.0 } else { of.part(&bound) };
        // a row of another table may have a single partner here, or be the only one for each row here
        for (t, columns) in others.iter().enumerate().filter(|(_, columns)| !columns.is_empty()) {
            let other = &self.tables[t];
            let part = if other.is_unique(columns) {
                1.0 / other.rows.max(1.0)
            } else {
                columns.iter().map(|c| 1.0 / other.different(*c)).fold(1.0, f64::min)
            };
            // (of a unique key each value is there once, however many the other table has)
            if !of.is_unique(&bound) {
                matched = if other.is_unique(columns) { part } else { matched.min(part) };
            }
        }
        let after = given | 1 << table;
        let mut share = of.share * matched;
        for condition in &self.between {
            if condition.tables & !after == 0 && condition.tables >> table & 1 == 1 {
                share *= condition.share;
            }
        }
        // without an index of the table, SQLite makes one for the statement
        let made = (!bound.is_empty()).then(|| of.seek() + matched * of.rows * NEAR);
        let found = of.looked_up(&known, false);
        let can_hash = of.can_hash && !self.hash_keys(table, given).is_empty();
        let kept = of.rows * of.share;
        let hashed = can_hash.then(|| hash_costs(of.read().0, kept, kept * matched)).flatten();
        Step {
            hashed,
            once: if found.is_none() && made.is_some() { of.rows * of.rows.max(2.0).log2() } else { 0.0 },
            each: found.or(made).unwrap_or(of.rows),
            each_in_order: of.looked_up(&known, true).or(made).unwrap_or(of.rows),
            most: of.rows,
            factor: share * of.rows,
        }
    }

    /// The cheapest order.
    fn best(&self) -> Option<Way> {
        let count = self.tables.len();
        let all = (1usize << count) - 1;
        // by the tables that are joined, and the first of them: in whose order the rows come may count later
        let mut ways: Vec<Option<Way>> = (0..(all + 1) * count).map(|_| None).collect();
        for (i, table) in self.tables.iter().enumerate() {
            let rows = (table.rows * table.share).max(1.0);
            ways[(1 << i) * count + i] =
                Some(Way { cost: table.read().0 + rows * table.asked, rows, order: vec![(i, false, rows)] });
        }
        for given in 1..all {
            let more: Vec<usize> = (0..count).filter(|table| given >> table & 1 == 0).collect();
            let steps: Vec<Step> = more.iter().map(|table| self.step(*table, given as u32)).collect();
            for first in 0..count {
                let Some(way) = ways[given * count + first].take() else { continue };
                for (&table, step) in more.iter().zip(&steps) {
                    let each = if self.comes_in_order(first, table) { step.each_in_order } else { step.each };
                    let rows = (way.rows * step.factor).max(1.0);
                    let joined = (step.once + way.rows * each).min(way.rows * step.most);
                    let hashed = step.hashed.map(|(once, each)| once + way.rows * each);
                    let hashed = hashed.filter(|cost| *cost < joined || hash_join::always());
                    let cost = way.cost + hashed.unwrap_or(joined) + rows * self.tables[table].asked;
                    let place = &mut ways[(given | 1 << table) * count + first];
                    if place.as_ref().is_none_or(|other| cost + rows < other.cost + other.rows) {
                        let order = way.order.iter().copied().chain([(table, hashed.is_some(), rows)]).collect();
                        *place = Some(Way { cost, rows, order });
                    }
                }
            }
        }
        let whole = ways.into_iter().skip(all * count).flatten();
        whole.min_by(|a, b| a.cost.total_cmp(&b.cost))
    }
}

/// The part of rows that a condition lets through of which ANALYZE knows nothing.
fn guessed(condition: &Expr, query: &Query) -> f64 {
    if let Some(share) = share(condition, query) {
        return share;
    }
    match &condition.kind {
        ExprKind::Op { op, .. } => match builtin::operator_by_oid(op.oid).map_or("", |o| o.name.as_str()) {
            "=" => 0.01,
            "<>" | "!~~" | "!~~*" | "!~" | "!~*" => 0.9,
            "~~" | "~~*" | "~" | "~*" => 0.05,
            _ => 0.3,
        },
        ExprKind::And(list) => list.iter().map(|c| guessed(c, query)).product(),
        ExprKind::Or(list) => list.iter().map(|c| guessed(c, query)).sum::<f64>().min(1.0),
        ExprKind::Not(arg) => 1.0 - guessed(arg, query),
        ExprKind::IsNull { negated, .. } => [0.02, 0.98][usize::from(*negated)],
        ExprKind::InList { negated: true, .. } => 0.9,
        ExprKind::InList { list, .. } => (0.01 * list.len() as f64).min(0.5),
        ExprKind::SubLink { .. } => 0.5,
        _ => 0.3,
    }
}

/// The part of a table's rows that satisfy what each arm of an OR asks of the table alone. None: an arm asks nothing of it.
fn implied_share(condition: &Expr, entry: usize, query: &Query) -> Option<f64> {
    let ExprKind::Or(arms) = &condition.kind else { return None };
    let of_arm = |arm: &Expr| {
        let own: Vec<f64> = conjuncts(arm)
            .iter()
            .flat_map(conjuncts)
            .filter(|c| only_entry(c) == Some(entry))
            .map(|c| guessed(c, query))
            .collect();
        (!own.is_empty()).then(|| own.iter().product::<f64>())
    };
    let parts = arms.iter().map(of_arm).collect::<Option<Vec<f64>>>()?;
    Some(parts.iter().sum::<f64>().clamp(0.000_01, 1.0))
}

/// How two bounds of one column are estimated together whose values are not known: few rows, but at least as many as three values have.
const BETWEEN: f64 = 0.02;

impl Lowerer<'_> {
    /// An entry as a table of a join. None: it is no table by itself, or ANALYZE has not counted its rows.
    fn table_of<'q>(&'q self, number: usize, query: &'q Query) -> Option<Table<'q>> {
        let entry = &query.range_table[number];
        let RteKind::Relation(relation) = &entry.kind else { return None };
        let is_table = matches!(relation.kind, RelationKind::Table | RelationKind::MaterializedView { .. });
        if !is_table || entry.sample.is_some() || self.stands_for_several(entry, relation) {
            return None;
        }
        let rows = match relation.tuples {
            Some(rows) if rows > 0 => rows as f64,
            _ if always() => UNCOUNTED,
            _ => return None,
        };
        let indexes = self.env.catalog.indexes_of(relation.oid).map(|(_, index)| index);
        let indexes = indexes.filter(|index| index.predicate.is_none() && !index.inverted).collect();
        let used = super::conditions::columns_used(number, query);
        let can_hash =
            !hash_join::never() && self.begun_anew == 0 && self.columns_kept(number, relation, &[], query).is_some();
        let (share, asked, bounded) = (1.0, 0.0, 1.0);
        let (fixed, guessed) = (vec![], false);
        Some(Table { relation, rows, share, fixed, indexes, used, asked, bounded, guessed, can_hash })
    }

    /// Whether the far side of a LEFT JOIN is hashed sooner than its rows are looked up.
    pub(super) fn hashes_sooner(
        &self,
        entry: usize,
        given: &[usize],
        keys: &[HashKey],
        own: &[Expr],
        (select, query): (&Select, &Query),
    ) -> bool {
        let Some(table) = self.table_of(entry, query).filter(|table| table.can_hash) else { return false };
        if hash_join::always() {
            return true;
        }
        let share_of = |conditions: &[Expr], entry: usize| {
            let own = conditions.iter().filter(|c| is_own(c, entry, query));
            own.map(|c| guessed(c, query)).product::<f64>()
        };
        let filter: Vec<Expr> = select.filter.iter().flat_map(conjuncts).flat_map(conjuncts).cloned().collect();
        let mut before: f64 = 0.0;
        for given in given {
            match &query.range_table[*given].kind {
                RteKind::Relation(relation) => match relation.tuples {
                    Some(rows) => before = before.max(rows as f64 * share_of(&filter, *given)),
                    None => return false,
                },
                _ => return false,
            }
        }
        let attnum = |v: &Var| query.range_table[v.rte].columns.get(v.column).map_or(0, |c| c.attnum);
        let bound: Vec<i16> = keys.iter().map(|key| attnum(&key.own)).collect();
        let (matched, kept) = (table.part(&bound), table.rows * share_of(own, entry));
        let Some((once, each)) = hash_costs(table.rows, kept, kept * matched) else { return false };
        let looked_up = before * table.looked_up(&bound, false).unwrap_or(table.rows);
        table.rows >= LARGE as f64 && once + before * each < looked_up
    }

    /// The order to join the tables of a query in, of which there may be one. None: SQLite is to choose it.
    pub(super) fn join_order(&self, select: &Select, query: &Query) -> Option<JoinOrder> {
        // a few rows may be found sooner in the order of an index
        if !query.row_locks.is_empty() || query.limit.is_some() && !select.grouped || self.in_recursive_term {
            return None;
        }
        let (mut entries, mut conditions) = (Vec::new(), Vec::new());
        if !select.from.iter().all(|item| flattened(item, &mut entries, &mut conditions)) {
            return None;
        }
        if !(1..=MOST_TABLES).contains(&entries.len()) || refers_outwards(query) {
            return None;
        }
        conditions
            .extend(select.filter.iter().map(|filter| self.factored(filter)).flat_map(|f| conjuncts(&f).to_vec()));
        if !conditions.iter().all(volatility::is_repeatable) {
            return None;
        }
        let place = |rte: usize| entries.iter().position(|entry| *entry == rte);
        let mut tables = Vec::new();
        for number in &entries {
            tables.push(self.table_of(*number, query)?);
        }
        if !always() && tables.iter().all(|table| table.rows < LARGE as f64) {
            return None;
        }
        let (mut between, mut equal, mut alike) = (Vec::new(), Vec::<Equal>::new(), Vec::<Equal>::new());
        // per table and column: the parts that its lower and its upper bounds let through
        let mut ranges: Vec<(usize, i16, [Option<f64>; 2], bool)> = Vec::new();
        for condition in conditions.iter().flat_map(conjuncts) {
            // SQLite may look up the rows of a sub-query, in an order of its own
            if let ExprKind::SubLink { kind: SubLinkKind::Quantified { .. }, .. } = &condition.kind {
                return None;
            }
            let mut asked = 0u32;
            let mut see = |e: &Expr, depth: usize| match &e.kind {
                ExprKind::Var(v) if v.levels_up == depth => match &query.range_table.get(v.rte).map(|e| &e.kind) {
                    Some(RteKind::Join { columns }) => columns.get(v.column).into_iter().for_each(|c| {
                        walk::deep(c, 0, &mut |_, e| {
                            if let ExprKind::Var(v) = &e.kind {
                                asked |= place(v.rte).map_or(0, |p| 1 << p);
                            }
                        })
                    }),
                    _ => asked |= place(v.rte).map_or(0, |p| 1 << p),
                },
                ExprKind::WholeRow { levels_up, rte, .. } if *levels_up == depth => {
                    asked |= place(*rte).map_or(0, |p| 1 << p)
                }
                _ => {}
            };
            walk::deep(condition, 0, &mut |depth, e| see(e, depth));
            let attnum = |v: &Var| query.range_table[v.rte].columns.get(v.column).map_or(0, |c| c.attnum);
            if let ExprKind::Op { op, args } = &condition.kind {
                let equals = builtin::operator_by_oid(op.oid).is_some_and(|o| o.name == "=");
                if let (true, [a, b]) = (equals, &args[..]) {
                    let (left, right) = (column(a, query), column(b, query));
                    if let (Some(a), Some(b)) = (left, right) {
                        let pair = [(place(a.rte)?, attnum(a)), (place(b.rte)?, attnum(b))];
                        if pair[0].0 != pair[1].0 {
                            if self.hash_alike(*op, &args[0], &args[1]) {
                                add_equal(&mut alike, [(pair[0].0, a.column as i16), (pair[1].0, b.column as i16)]);
                            }
                            add_equal(&mut equal, pair);
                            continue;
                        }
                    }
                    if let (Some(v), true) = (left.or(right), asked.count_ones() == 1) {
                        tables[place(v.rte)?].fixed.push(attnum(v));
                    }
                }
            }
            if let ExprKind::InList { left, negated: false, .. } = &condition.kind {
                if let (Some(v), true) = (column(left, query), asked.count_ones() == 1) {
                    tables[place(v.rte)?].fixed.push(attnum(v));
                }
            }
            if asked.count_ones() == 1 {
                let table = asked.trailing_zeros() as usize;
                if let Some((seen, above)) = bounds(condition, query) {
                    let known = share(condition, query);
                    let at = ranges.iter().position(|r| r.0 == table && r.1 == seen).unwrap_or_else(|| {
                        ranges.push((table, seen, [None, None], true));
                        ranges.len() - 1
                    });
                    let (_, _, parts, all_known) = &mut ranges[at];
                    let part = &mut parts[usize::from(above)];
                    *part = Some(part.unwrap_or(1.0).min(known.unwrap_or(0.3)));
                    *all_known &= known.is_some();
                    continue;
                }
                tables[table].share *= guessed(condition, query);
                if walk::any(condition, &|e| matches!(e.kind, ExprKind::SubLink { .. })) {
                    tables[table].asked += ASK;
                }
            } else if asked != 0 {
                // what all arms of an OR ask of a table alone is asked before the join (`implied`)
                let mut left = guessed(condition, query);
                for (table, entry) in entries.iter().enumerate().filter(|(table, _)| asked >> table & 1 == 1) {
                    if let Some(part) = implied_share(condition, *entry, query) {
                        tables[table].share *= part;
                        left = (left / part).min(1.0);
                    }
                }
                between.push(Between { tables: asked, share: left });
            }
        }
        for (table, attnum, parts, known) in ranges {
            let part = match parts {
                // what is outside one bound is inside the other
                [Some(a), Some(b)] if known => (a + b - 1.0).max(0.001),
                [Some(_), Some(_)] => (3.0 / tables[table].different(attnum)).clamp(BETWEEN, 0.5),
                [a, b] => a.or(b).unwrap_or(1.0),
            };
            let table = &mut tables[table];
            table.share *= part;
            let first = |index: &&Index| matches!(index.columns.first().map(|c| &c.key), Some(KeyPart::Column(a)) if *a == attnum);
            if table.indexes.iter().any(first) || table.relation.rowid_column == Some(attnum) {
                table.bounded = table.bounded.min(part);
                table.guessed |= !known;
            }
        }
        let join = Join { tables, between, equal, alike };
        let Way { cost, order, .. } = join.best()?;
        let scans_first = order.first().is_some_and(|(first, ..)| join.tables[*first].read().1);
        let begins_with_guess = order.first().is_some_and(|(first, ..)| join.tables[*first].guessed);
        let mut placed = Vec::new();
        let mut given = 0u32;
        for (table, hashed, rows) in order {
            let var =
                |(table, column): (usize, i16)| Var { levels_up: 0, rte: entries[table], column: column as usize };
            let keys = if hashed { join.hash_keys(table, given) } else { vec![] };
            let keys = keys.into_iter().map(|(own, other)| HashKey { own: var((table, own)), other: var(other) });
            placed.push(Placed { entry: entries[table], keys: keys.collect(), rows });
            given |= 1 << table;
        }
        let filter = match conditions.len() {
            0 => None,
            _ => Some(super::conditions::joined(conditions.clone(), 0, ExprKind::And)),
        };
        Some(JoinOrder { entries: placed, filter, scans_first, begins_with_guess, cost })
    }
}

/// The column that a condition bounds by a value of whatever kind, and whether from above.
fn bounds(condition: &Expr, query: &Query) -> Option<(i16, bool)> {
    if let Some((seen, above)) = ranged(condition, query) {
        return Some((seen.attnum, above));
    }
    let ExprKind::Op { op, args } = &condition.kind else { return None };
    let name = builtin::operator_by_oid(op.oid)?.name.as_str();
    let ([a, b], "<" | "<=" | ">" | ">=") = (&args[..], name) else { return None };
    let (v, above) = match (column(a, query), column(b, query)) {
        (Some(v), None) => (v, name.starts_with('<')),
        (None, Some(v)) => (v, name.starts_with('>')),
        _ => return None,
    };
    Some((query.range_table[v.rte].columns.get(v.column)?.attnum, above))
}

/// Notes that two columns are equal, and with them what is equal to either.
fn add_equal(equal: &mut Vec<Equal>, pair: [(usize, i16); 2]) {
    let mut joined: Equal = pair.to_vec();
    equal.retain(|set| {
        let meets = pair.iter().any(|column| set.contains(column));
        if meets {
            joined.extend(set);
        }
        !meets
    });
    joined.sort_unstable();
    joined.dedup();
    equal.push(joined);
}
