//! Which rows a transaction has written, of the tables whose deferrable keys must be looked at later.
//!
//! SQLite tells of every row that a statement, a trigger or a referential action inserts or updates. A row that ROLLBACK TO took
//! back stays noted: what is looked at later is the row as it is then.

use std::collections::HashMap;

/// Rows noted one by one; of a table with more, all rows are looked at.
const MOST_ROWS: usize = 1_000_000;

/// The rows that were written of one table.
#[derive(Debug, Default, Clone)]
pub struct Rows {
    /// rowid → when it was written last
    last: HashMap<i64, u64>,
    /// too many were written to note each
    pub all: bool,
}

impl Rows {
    /// The rowids written after `since`, in the order of their last writing.
    pub fn since(&self, since: u64) -> Vec<i64> {
        let mut rows: Vec<(u64, i64)> =
            self.last.iter().filter(|(_, at)| **at > since).map(|(rowid, at)| (*at, *rowid)).collect();
        rows.sort_unstable();
        rows.into_iter().map(|(_, rowid)| rowid).collect()
    }

    /// When the row was written last; None: not in this transaction.
    pub fn when(&self, rowid: i64) -> Option<u64> {
        self.last.get(&rowid).copied()
    }
}

/// The rows that were written of the tables that are watched.
#[derive(Debug, Default)]
pub struct Written {
    /// by (temporary, name in SQLite)
    tables: HashMap<(bool, String), Rows>,
    /// counts the rows that were noted
    now: u64,
}

impl Written {
    /// The tables to watch; what is noted of those that are watched already stays.
    pub fn set_tables(&mut self, tables: impl Iterator<Item = (bool, String)>) {
        let mut before = std::mem::take(&mut self.tables);
        for table in tables {
            let rows = before.remove(&table).unwrap_or_default();
            self.tables.insert(table, rows);
        }
    }

    pub fn is_watching(&self) -> bool {
        !self.tables.is_empty()
    }

    pub fn note(&mut self, temporary: bool, table: &str, rowid: i64) {
        // the key of the look-up would have to be owned: few tables are watched
        let Some((_, rows)) = self.tables.iter_mut().find(|((t, name), _)| *t == temporary && name == table) else {
            return;
        };
        self.now += 1;
        if rows.all {
            return;
        }
        rows.last.insert(rowid, self.now);
        if rows.last.len() > MOST_ROWS {
            *rows = Rows { last: HashMap::new(), all: true };
        }
    }

    /// What was written of a table; None: nothing.
    pub fn of(&self, temporary: bool, table: &str) -> Option<&Rows> {
        self.tables.get(&(temporary, table.to_string())).filter(|r| r.all || !r.last.is_empty())
    }

    /// The number of the row that was noted last.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// Nothing that was written matters any more.
    pub fn clear(&mut self) {
        self.tables.values_mut().for_each(|rows| *rows = Rows::default());
        self.now = 0;
    }
}
