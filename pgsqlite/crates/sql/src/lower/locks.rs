//! FOR UPDATE, FOR SHARE … anywhere in a statement. A database has one writer at a time: what locks rows takes the writer
//! slot, which is every row's lock. SKIP LOCKED waits for the slot, since nobody knows which rows its holder will touch:
//! afterwards none is locked. NOWAIT does not wait.

use crate::typed::{CteBody, ExprKind, InsertSource, Modify, ModifyAction, Query, QueryBody, RteKind};
use crate::walk;

/// What a statement asks for.
#[derive(Default)]
pub(super) struct Locks {
    pub any: bool,
    /// NOWAIT is among them: a table of that query
    pub nowait: Option<String>,
}

pub(super) fn of_query(query: &Query) -> Locks {
    let mut locks = Locks::default();
    locks.query(query);
    locks
}

pub(super) fn of_modify(modify: &Modify) -> Locks {
    let mut locks = Locks::default();
    for cte in &modify.ctes {
        if let CteBody::Query(query) = &cte.body {
            locks.query(query);
        }
    }
    for entry in &modify.range_table {
        if let RteKind::Subquery { query, .. } = &entry.kind {
            locks.query(query);
        }
    }
    if let ModifyAction::Insert { source: InsertSource::Query { query, .. }, .. } = &modify.action {
        locks.query(query);
    }
    let mut modify = modify.clone();
    for expr in crate::walk::modify_exprs_mut(&mut modify) {
        walk::deep(expr, 0, &mut |_, e| {
            if let ExprKind::SubLink { query, .. } = &e.kind {
                locks.from(query);
            }
        });
    }
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
        if let Some(locking) = query.locking.as_ref().filter(|_| reads_tables(query)) {
            self.any = true;
            if locking.nowait && self.nowait.is_none() {
                let table = query.range_table.iter().find_map(|entry| match &entry.kind {
                    RteKind::Relation(relation) => Some(relation.name.clone()),
                    _ => None,
                });
                self.nowait = Some(table.unwrap_or_default());
            }
        }
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
