//! Groups that several connections make at once, each of a part of a table's rows.
//!
//! The rows of a join are divided by the rows of one of its tables, the divided one: each row of the join has one row of it. Any part can
//! be grouped by itself, and the groups be put together: `pg_group` (see [`super::groups`]) has them in a table. Divided is the first table
//! of the join order behind which there are many rows, so that what is before it, which every connection reads, is little. The engine
//! decides when it runs the plan, for it sees how SQLite reads the table, whether the transaction has changed anything, and how many
//! connections it may have. The plan has both forms.
//!
//! The condition that chooses a part takes the place of [`PART`] in the text. A derived table of plain rows that is all of the query's FROM
//! has it inside: there the tables are.

use super::groups::Groups;
use super::join_order::JoinOrder;
use super::query::refers_outwards;
use super::stages::Stage;
use super::{rowid_name, table_name, Lowerer};
use crate::plan::{without_parts, Gather, PART};
use crate::typed::{Distinct, ExprKind, FromItem, JoinKind, Query, QueryBody, RteKind, Select};
use crate::walk;
use pgsqlite_types::{Oid, Result};

/// A query that costs less, in rows that are read one after the other, is left to one connection: to begin with several takes a
/// millisecond. (Measured: such a query takes three milliseconds, if its rows are looked up.)
const WORK: f64 = 80_000.0;
/// A table that is read as a whole is divided if it has so many rows.
const MANY: i64 = 50_000;
/// Reading a table as a whole is little if the query costs so many times as much.
const SMALL: f64 = 8.0;
/// Fewer rows that an index finds are not divided: the bounds that ANALYZE has seen are not near enough to tell ten from hundreds.
const LEAST_FOUND: f64 = 1_000.0;
/// So many parts there are, with two connections: each of them computes anew what a query asks once.
const PARTS: f64 = 16.0;
/// So many rows are many enough to be divided evenly.
const DIVISIBLE: f64 = 200.0;
/// Groups of more parts than connections are put together if there are not more of them.
const FEW_GROUPS: f64 = 1_000.0;

/// Whether the rows of all queries are divided that can be: for tests.
fn always() -> bool {
    static ALWAYS: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
    *ALWAYS.get_or_init(|| std::env::var("PGSQLITE_GATHER").is_ok_and(|value| value == "always"))
}

/// The table by whose rows those of a query are divided.
#[derive(Clone)]
pub(super) struct Divided {
    table: String,
    relation: Oid,
    alias: String,
    rowid: String,
    /// only if SQLite reads it from its beginning to its end: what else it would cost is not known
    only_scanned: bool,
    /// to read it as a whole costs little beside the query
    is_small: bool,
    /// costs of the query, in rows
    work: f64,
    /// how many rows there are to divide, about
    pub joined: Option<f64>,
    /// [`PART`] is in the text of FROM
    marked: bool,
}

/// What makes the groups of a part of the rows.
pub(super) struct Parts {
    /// the text, with [`PART`]
    rows: String,
    divided: Divided,
    few_groups: bool,
}

/// A part of a statement's text, and what takes its place when the groups were gathered.
pub(super) struct Found {
    pub serial: String,
    pub instead: String,
    pub parts: Parts,
    /// see [`Gather::one_group`]
    pub one_group: Option<String>,
}

/// How many rows the sub-queries of WHERE read that do not depend on its row, about.
fn asked_once(select: &Select) -> f64 {
    let mut rows = 0.0;
    let mut asked = |query: &Query| {
        if !refers_outwards(query) {
            walk::entries(query, &mut |entry| {
                if let RteKind::Relation(relation) = &entry.kind {
                    rows += relation.tuples.map_or(MANY as f64, |tuples| tuples as f64);
                }
            });
        }
    };
    if let Some(filter) = &select.filter {
        walk::deep(filter, 0, &mut |_, e| {
            if let ExprKind::SubLink { query, .. } = &e.kind {
                asked(query);
            }
        });
    }
    rows
}

/// A WHERE clause, or none, with the place of a condition.
fn marked(filter: &str) -> String {
    format!("{}{PART}", if filter.is_empty() { " WHERE 1" } else { filter })
}

impl Divided {
    /// `call`: `SELECT pg_group(…)`; `groups`: how many there are, about.
    pub fn parts(self, call: &str, stage: &Stage, groups: Option<f64>) -> Parts {
        let rows = match self.marked {
            true => format!("{call}{}", stage.from_where()),
            false => format!("{call} FROM {}{}", stage.from, marked(&stage.filter)),
        };
        Parts { rows, divided: self, few_groups: groups.is_some_and(|groups| groups <= FEW_GROUPS) }
    }
}

impl Found {
    /// Returns what the plan has of it. None: the statement does not contain the text exactly once.
    pub fn over(self, statement: &str) -> Option<Box<Gather>> {
        let (before, after) = statement.split_once(&self.serial)?;
        if after.contains(&self.serial) {
            return None;
        }
        let Parts { rows, divided, few_groups } = self.parts;
        Some(Box::new(Gather {
            rows,
            table: divided.table,
            relation: divided.relation,
            alias: divided.alias,
            rowid: divided.rowid,
            only_scanned: divided.only_scanned,
            is_small: divided.is_small,
            few_groups,
            one_group: self.one_group,
            sql: without_parts(format!("{before}{}{after}", self.instead)),
            division: Default::default(),
        }))
    }
}

/// Whether a query, or what is below it, names a WITH query: the text of a part does not have those.
fn names_with_queries(query: &Query) -> bool {
    let mut names = !query.ctes.is_empty();
    walk::entries(query, &mut |entry| names |= matches!(entry.kind, RteKind::Cte { .. }));
    names
}

/// The derived table that is all of a query's FROM, if it gives plain rows.
fn plain_rows(query: &Query) -> Option<&Query> {
    let [entry] = &query.range_table[..] else { return None };
    let RteKind::Subquery { query: below, lateral: false } = &entry.kind else { return None };
    let QueryBody::Select(select) = &below.body else { return None };
    let limited = below.limit.is_some() || below.offset.is_some() || !below.order_by.is_empty();
    let computed = select.grouped || !select.windows.is_empty() || select.distinct != Distinct::No;
    let sets = select.targets.iter().any(|t| walk::contains_set_function(&t.expr));
    (!limited && !computed && !sets && below.ctes.is_empty() && below.row_locks.is_empty()).then_some(below)
}

/// The entry of which an item of FROM has each row, with what LEFT JOIN adds to it.
fn outer_side(item: &FromItem) -> Option<usize> {
    match item {
        FromItem::Entry(entry) => Some(*entry),
        FromItem::Join { kind: JoinKind::Left, left, .. } => outer_side(left),
        FromItem::Join { .. } => None,
    }
}

impl Lowerer<'_> {
    /// Whether the rows below a query may be divided, if there is a table for it: the query is computed once, whatever happens.
    fn divides(&self, select: &Select, query: &Query) -> bool {
        let groups = select.grouped && query.row_locks.is_empty() && select.grouping_sets.is_empty();
        self.may_gather && groups && !self.in_recursive_term && self.begun_anew == 0
    }

    /// To be called before the FROM of a query is lowered: if it is a derived table of plain rows, that is to have [`PART`].
    pub(super) fn seek_division(&mut self, query: &Query) {
        let QueryBody::Select(select) = &query.body else { return };
        if self.divides(select, query) && plain_rows(query).is_some() {
            self.scope().divides_below = true;
        }
    }

    /// Whether the query that is lowered is the derived table that [`Lowerer::seek_division`] has found.
    pub(super) fn is_divided_above(&self) -> bool {
        self.scopes.len().checked_sub(2).is_some_and(|above| self.scopes[above].divides_below)
    }

    /// The table to divide a query's rows by, `order` being that of its join; None: they are not divided. For a derived table, which is
    /// lowered in the scope of the query that has groups, the filter gets [`PART`].
    pub(super) fn division(
        &mut self,
        order: Option<&JoinOrder>,
        filter: &mut String,
        from: &[String],
        (select, query): (&Select, &Query),
    ) -> Option<Divided> {
        if self.is_divided_above() {
            let mut divided = self.divided_table(order, from, select, query)?;
            *filter = marked(filter);
            divided.marked = true;
            let above = self.scopes.len() - 2;
            self.scopes[above].divided = Some(divided);
            return None;
        }
        if !self.divides(select, query) {
            return None;
        }
        let found = match self.scope().divided.take() {
            Some(divided) => divided,
            None => self.divided_table(order, from, select, query)?,
        };
        (!refers_outwards(query) && !names_with_queries(query)).then_some(found)
    }

    fn divided_table(
        &self,
        order: Option<&JoinOrder>,
        from: &[String],
        select: &Select,
        query: &Query,
    ) -> Option<Divided> {
        let (entry, only_scanned, work) = match order {
            Some(order) if order.cost >= WORK || order.scans_first && order.cost >= MANY as f64 || always() => {
                let mut looked_up = order.entries.iter().filter(|placed| placed.keys.is_empty());
                let placed = looked_up.find(|placed| placed.rows >= DIVISIBLE || always())?;
                let few = order.begins_with_guess || order.entries.iter().all(|placed| placed.rows < LEAST_FOUND);
                (placed.entry, few && !always(), order.cost)
            }
            Some(_) => return None,
            None => {
                let [item] = &select.from[..] else { return None };
                (outer_side(item)?, !always(), 0.0)
            }
        };
        let RteKind::Relation(relation) = &query.range_table[entry].kind else { return None };
        let rows = relation.tuples.or(always().then_some(0))?;
        let many = rows >= MANY || order.is_some() || always();
        if !always() && asked_once(select) * PARTS > work.max(rows as f64) {
            return None;
        }
        if relation.temporary || relation.without_rowid || !many {
            return None;
        }
        let rowid = rowid_name(relation).ok()?;
        let (alias, _) = self.scopes.last()?.entries.get(entry)?.first()?.split_once('.')?;
        let table = table_name(relation);
        (from[entry] == format!("{table} AS {alias}")).then(|| Divided {
            table,
            relation: relation.oid,
            alias: alias.to_string(),
            rowid,
            only_scanned,
            is_small: rows as f64 * SMALL <= work,
            work: work.max(rows as f64),
            joined: order.and_then(JoinOrder::rows),
            marked: false,
        })
    }

    /// Keeps what several connections can make of a statement; of several such parts, the one that costs most.
    pub(super) fn keep_gathered(&mut self, found: Found) {
        let work = |found: &Found| found.parts.divided.work;
        if self.gather.as_ref().is_none_or(|kept| work(kept) <= work(&found)) {
            self.gather = Some(found);
        }
    }

    /// Whether other connections compute the same as the session's own: nothing that is called waits, or changes or leaves anything.
    pub(super) fn may_be_divided(&self) -> bool {
        let calls = self.may_wait || self.builtin_writes || self.waits || self.leaves_traces;
        !calls && self.routines.is_empty() && self.after_statements.is_empty() && self.unread_parts.is_empty()
    }

    /// The stage above aggregates without GROUP BY that several connections can compute. None: they cannot.
    pub(super) fn gathered_aggregates(
        &mut self,
        stage: &Stage,
        query: &Query,
        divided: Divided,
    ) -> Result<Option<(Stage, Found)>> {
        let select = &stage.select;
        let plain =
            select.grouped && select.group_by.is_empty() && select.windows.is_empty() && query.row_locks.is_empty();
        let mut asks_more = false;
        for expr in stage.exprs() {
            walk::deep(expr, 0, &mut |_, e| asks_more |= matches!(e.kind, ExprKind::SubLink { .. }));
        }
        if !plain || asks_more || !stage.exprs().into_iter().any(walk::contains_aggregate) {
            return Ok(None);
        }
        let Some(groups) = self.groups_of(stage)? else { return Ok(None) };
        let Groups { call, plan, .. } = &groups;
        let parts = divided.parts(call, stage, Some(1.0));
        let one_group = Some(plan.clone());
        let mut above = stage.clone();
        let hashed = self.scope().hashed;
        self.read_groups(&mut above, &groups, &format!("SELECT {}()", super::support::GATHERED))?;
        self.scope().hashed = hashed;
        Ok(Some((above, Found { serial: String::new(), instead: String::new(), parts, one_group })))
    }
}
