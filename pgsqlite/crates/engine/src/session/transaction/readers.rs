//! What transaction blocks have read, for those who lock tables.
//!
//! A table that a transaction block has read is locked in ACCESS SHARE mode until the block ends, which keeps only ACCESS EXCLUSIVE out. Nobody writes
//! to memory that sessions share for that: the session keeps the plans that its block has run, and who locks a table, which is rare, looks
//! through them. A statement outside a block notes nothing.

use crate::locks::Mode;
use crate::plans::{Body, Prepared};
use std::collections::HashSet;
use std::sync::Arc;

/// So many plans are kept before the names of their tables are.
const PLANS: usize = 128;

/// The plans that a transaction block has run.
#[derive(Default)]
pub(crate) struct Readers {
    plans: Vec<Arc<Prepared>>,
    /// tables of further plans, as the plans name them, and whether their rows were locked
    tables: HashSet<(String, bool)>,
    /// further plans have read temporary tables
    temporary: bool,
}

/// How the texts of plans name a table of the database.
pub(in crate::session) fn written(sqlite_name: &str) -> String {
    format!("main.{}", pgsqlite_sql::names::quoted(sqlite_name))
}

/// The tables of the database that a text names, as it names them.
pub(in crate::session) fn tables_of(sql: &str) -> impl Iterator<Item = String> + '_ {
    sql.match_indices("main.\"").map(|(at, begin)| {
        let name = &sql[at + begin.len()..];
        let mut end = 0;
        while let Some(quote) = name[end..].find('"') {
            end += quote + 1;
            match name[end..].starts_with('"') {
                // a quote in the name is written twice
                true => end += 1,
                false => break,
            }
        }
        sql[at..at + begin.len() + end].to_string()
    })
}

fn texts(plan: &Prepared) -> impl Iterator<Item = &str> {
    let steps = match &plan.body {
        Body::Plan(plan) => &plan.query.steps[..],
        Body::Utility => &[],
    };
    steps.iter().map(|s| s.sql.as_str())
}

fn locks_rows(plan: &Prepared) -> bool {
    matches!(&plan.body, Body::Plan(plan) if plan.query.locks_rows)
}

fn reads_temporary(plan: &Prepared) -> bool {
    texts(plan).any(|text| text.contains("temp.\""))
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
                self.temporary |= reads_temporary(&plan);
                self.tables.extend(texts(&plan).flat_map(tables_of).map(|table| (table, locks)));
            }
        }
        self.plans.push(plan.clone());
    }

    /// The strongest mode in which a table is locked by having been read.
    pub fn mode_of(&self, sqlite_name: &str) -> Option<Mode> {
        let name = written(sqlite_name);
        let mode = |locks: bool| if locks { Mode::RowShare } else { Mode::AccessShare };
        let of_plans =
            self.plans.iter().filter(|p| texts(p).any(|text| text.contains(&name))).map(|p| mode(locks_rows(p)));
        let of_tables =
            [false, true].into_iter().filter(|locks| self.tables.contains(&(name.clone(), *locks))).map(mode);
        of_plans.chain(of_tables).max()
    }

    /// Whether a temporary table was read.
    pub fn has_read_temporary(&self) -> bool {
        self.temporary || self.plans.iter().any(|plan| reads_temporary(plan))
    }

    /// What [`Readers::cut`] goes back to.
    pub fn mark(&self) -> usize {
        self.plans.len()
    }

    /// ROLLBACK TO: what was noted since is forgotten, unless only names are left of it.
    pub fn cut(&mut self, mark: usize) {
        self.plans.truncate(mark);
    }

    /// The transaction has ended.
    pub fn clear(&mut self) {
        self.plans.clear();
        self.tables.clear();
        self.temporary = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_found_in_texts() {
        let sql = r#"SELECT t1."a" FROM main."t" AS t1, main."odd ""one""" AS t2 WHERE 'main."' = t1."b""#;
        let found: Vec<String> = tables_of(sql).collect();
        assert!(found.starts_with(&[written("t"), written("odd \"one\"")]), "{found:?}");
    }
}
