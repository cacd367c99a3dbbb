//! FOR UPDATE, FOR SHARE … anywhere in a statement: it has the writer slot while it runs, so that nobody changes the rows that it locks.
//! The native `pg_lock_row` locks each ([`Lowerer::locked_rows`]), above the sort and below LIMIT.

use super::{support, Lowerer};
use crate::typed::{CteBody, ExprKind, Query, QueryBody, RteKind};
use crate::walk;
use pgsqlite_types::Result;

/// What a statement asks for.
#[derive(Default)]
pub(super) struct Locks {
    pub any: bool,
}

pub(super) fn of_query(query: &Query) -> Locks {
    let mut locks = Locks::default();
    locks.query(query);
    locks
}

/// Whether the rows of a query's FROM list are those of tables, directly or in a subquery.
fn reads_tables(query: &Query) -> bool {
    let of_set = match &query.body {
        QueryBody::SetOperation { left, right, .. } => reads_tables(left) || reads_tables(right),
        _ => false,
    };
    of_set
        || query.range_table.iter().any(|entry| match &entry.kind {
            RteKind::Relation(_) => true,
            RteKind::Subquery { query, .. } => reads_tables(query),
            _ => false,
        })
}

impl Locks {
    fn query(&mut self, query: &Query) {
        self.from(query);
        walk::query_exprs(query, 0, &mut |_, e| {
            if let ExprKind::SubLink { query, .. } = &e.kind {
                self.from(query);
            }
        });
    }

    /// The query itself and those in its FROM and WITH, not those in its expressions.
    fn from(&mut self, query: &Query) {
        self.any |= query.locks_rows && reads_tables(query);
        for entry in &query.range_table {
            if let RteKind::Subquery { query, .. } = &entry.kind {
                self.from(query);
            }
        }
        for cte in &query.ctes {
            if let CteBody::Query(query) = &cte.body {
                self.from(query);
            }
        }
        if let QueryBody::SetOperation { left, right, .. } = &query.body {
            self.from(left);
            self.from(right);
        }
    }
}

impl Lowerer<'_> {
    /// The columns that show which rows a query locks, to be computed with its targets.
    pub(super) fn columns_of_locks(&mut self, query: &Query) -> Result<Vec<String>> {
        let mut columns = Vec::new();
        for (i, lock) in query.row_locks.iter().enumerate() {
            columns.push(format!("{} AS lt{i}", self.expr(&lock.table)?));
            columns.push(format!("{} AS ln{i}", self.expr(&lock.number)?));
        }
        Ok(columns)
    }

    /// The rows of a query, sorted, as far as LIMIT asks for them: each is locked before it is given, or left out. `text` has the columns
    /// of [`Lowerer::columns_of_locks`] beside its `width` own ones. (A query with a LIMIT is computed as it is: SQLite moves
    /// no condition into it, and keeps its order. A query with an OFFSET is not made a part of the one around it, whose order would
    /// decide then which rows the LIMIT leaves.)
    pub(super) fn locked_rows(&mut self, query: &Query, text: &str, width: usize, limit: &str) -> String {
        let output: Vec<String> = (1..=width).map(|i| format!("c{i}")).collect();
        let locks = query.row_locks.iter().enumerate();
        let locked: Vec<String> = locks
            .map(|(i, lock)| format!("{}(lt{i}, ln{i}, {}, {})", support::LOCK_ROW, lock.mode, lock.policy as u8))
            .collect();
        let apart = if limit.is_empty() || self.has_offset(query) { "" } else { " OFFSET 0" };
        format!("SELECT {} FROM ({text} LIMIT -1) WHERE {}{limit}{apart}", output.join(", "), locked.join(" AND "))
    }
}
