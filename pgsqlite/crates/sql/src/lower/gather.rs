//! Groups that several connections make at once, each of a part of a table's rows.
//!
//! Where SQLite reads a large table from its beginning to its end for the groups or aggregates of a query, any part of the rows can be
//! grouped by itself, and the groups be put together: `pg_group` (see [`super::groups`]) has them in a table. The engine decides when it
//! runs the plan, for it sees how SQLite reads the table, whether the transaction has changed anything, and how many connections it may
//! have. The plan has both forms.

use super::groups::Groups;
use super::stages::Stage;
use super::{table_name, Lowerer};
use crate::plan::Gather;
use crate::typed::{ExprKind, Query, RteKind};
use crate::walk;
use pgsqlite_types::Result;

/// A table with fewer rows, as ANALYZE has counted them, is read by one connection: to begin with several takes a millisecond.
const MANY: i64 = 50_000;

/// A table that SQLite is expected to read from its beginning to its end, once.
pub(super) struct Scanned {
    table: String,
    alias: String,
}

/// What makes the groups of a part of the rows: the text before the condition that chooses them, and the table.
pub(super) struct Parts {
    rows: String,
    scanned: Scanned,
}

/// A part of a statement's text, and what takes its place when the groups were gathered.
pub(super) struct Found {
    pub serial: String,
    pub instead: String,
    pub parts: Parts,
    /// see [`Gather::one_group`]
    pub one_group: Option<String>,
}

impl Scanned {
    /// `call`: `SELECT pg_group(…)`
    pub fn parts(&self, call: &str, stage: &Stage) -> Parts {
        let more = if stage.filter.is_empty() { "WHERE" } else { "AND" };
        Parts {
            rows: format!("{call}{} {more} ", stage.from_where()),
            scanned: Scanned { table: self.table.clone(), alias: self.alias.clone() },
        }
    }
}

impl Found {
    /// Returns what the plan has of it. None: the statement does not contain the text exactly once.
    pub fn over(self, statement: &str) -> Option<Box<Gather>> {
        let (before, after) = statement.split_once(&self.serial)?;
        if after.contains(&self.serial) {
            return None;
        }
        let Parts { rows, scanned } = self.parts;
        Some(Box::new(Gather {
            rows,
            table: scanned.table,
            alias: scanned.alias,
            one_group: self.one_group,
            sql: format!("{before}{}{after}", self.instead),
        }))
    }
}

impl Lowerer<'_> {
    /// The table of the statement's own FROM that is read first, if it is large, and if other connections see it.
    pub(super) fn scanned_first(&self, first: Option<usize>, from: &[String], query: &Query) -> Option<Scanned> {
        if self.scopes.len() != 1 || self.in_recursive_term || self.begun_anew > 0 {
            return None;
        }
        let entry = first?;
        let RteKind::Relation(relation) = &query.range_table[entry].kind else { return None };
        if relation.temporary || relation.without_rowid || relation.tuples.is_none_or(|rows| rows < MANY) {
            return None;
        }
        let (alias, _) = self.scopes.last()?.entries.get(entry)?.first()?.split_once('.')?;
        let table = table_name(relation);
        (from[entry] == format!("{table} AS {alias}")).then(|| Scanned { table, alias: alias.to_string() })
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
        scanned: Scanned,
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
        let parts = scanned.parts(call, stage);
        let one_group = Some(plan.clone());
        let mut above = stage.clone();
        let hashed = self.scope().hashed;
        self.read_groups(&mut above, &groups, &format!("SELECT {}()", super::support::GATHERED))?;
        self.scope().hashed = hashed;
        Ok(Some((above, Found { serial: String::new(), instead: String::new(), parts, one_group })))
    }
}
