//! What transaction blocks have read, for those who lock tables.
//!
//! A table that a transaction block has read is locked in ACCESS SHARE mode until the block ends, which keeps only ACCESS EXCLUSIVE out. Nobody writes
//! to memory that sessions share for that: the session keeps the plans that its block has run, and who locks a table, which is rare, looks
//! through them. A statement outside a block notes nothing.

use crate::locks::Mode;
use crate::plans::{Body, Prepared};
use pgsqlite_sql::catalog::FIRST_TEMPORARY_OID;
use pgsqlite_types::Oid;
use std::collections::HashSet;
use std::sync::Arc;

/// So many plans are kept before their tables alone are.
const PLANS: usize = 128;

/// The plans that a transaction block has run.
#[derive(Default)]
pub(crate) struct Readers {
    plans: Vec<Arc<Prepared>>,
    /// tables (OIDs) of further plans, and whether their rows were locked
    tables: HashSet<(Oid, bool)>,
}

/// The tables that a plan reads or changes.
fn tables_of(plan: &Prepared) -> impl Iterator<Item = Oid> + '_ {
    let query = match &plan.body {
        Body::Plan(plan) => Some(&plan.query),
        Body::Utility => None,
    };
    query.into_iter().flat_map(|query| query.named.read.iter().chain(&query.modifies).copied())
}

fn locks_rows(plan: &Prepared) -> bool {
    matches!(&plan.body, Body::Plan(plan) if plan.query.locks_rows)
}

fn is_temporary(table: Oid) -> bool {
    table >= FIRST_TEMPORARY_OID
}

impl Readers {
    /// The block runs a plan.
    pub fn note(&mut self, plan: &Arc<Prepared>) {
        if self.plans.iter().rev().any(|p| Arc::ptr_eq(p, plan)) {
            return;
        }
        if self.plans.len() == PLANS {
            for plan in self.plans.drain(..) {
                let locks = locks_rows(&plan);
                self.tables.extend(tables_of(&plan).map(|table| (table, locks)));
            }
        }
        self.plans.push(plan.clone());
    }

    /// The strongest mode in which a table is locked by having been read.
    pub fn mode_of(&self, table: Oid) -> Option<Mode> {
        let mode = |locks: bool| if locks { Mode::RowShare } else { Mode::AccessShare };
        let of_plans = self.plans.iter().filter(|p| tables_of(p).any(|t| t == table)).map(|p| mode(locks_rows(p)));
        let of_tables = [false, true].into_iter().filter(|locks| self.tables.contains(&(table, *locks))).map(mode);
        of_plans.chain(of_tables).max()
    }

    /// Whether a temporary table was read.
    pub fn has_read_temporary(&self) -> bool {
        self.tables.iter().any(|(table, _)| is_temporary(*table))
            || self.plans.iter().any(|plan| tables_of(plan).any(is_temporary))
    }

    /// What [`Readers::cut`] goes back to.
    pub fn mark(&self) -> usize {
        self.plans.len()
    }

    /// ROLLBACK TO: what was noted since is forgotten, unless only its tables are left of it.
    pub fn cut(&mut self, mark: usize) {
        self.plans.truncate(mark);
    }

    /// The transaction has ended.
    pub fn clear(&mut self) {
        self.plans.clear();
        self.tables.clear();
    }
}
