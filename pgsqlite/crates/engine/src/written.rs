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
    /// of the tables that cursors stand on: rows that were deleted, and when. Another row may have such a number now.
    gone: HashMap<(bool, String), Gone>,
    /// how many rows were deleted of all tables
    deleted: u64,
}

#[derive(Debug, Default)]
struct Gone {
    /// rowid → when rows of that number were deleted
    rows: HashMap<i64, Vec<u64>>,
    /// … and updated or inserted
    changed: HashMap<i64, Vec<u64>>,
    /// when all were deleted together, of which SQLite does not tell one by one
    all: Vec<u64>,
}

fn is_after(times: Option<&Vec<u64>>, since: u64) -> bool {
    times.and_then(|t| t.last()).is_some_and(|at| *at > since)
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
        !self.tables.is_empty() || !self.gone.is_empty()
    }

    /// Notes from now on which rows of a table are deleted.
    pub fn watch_deletes(&mut self, temporary: bool, table: &str) {
        self.gone.entry((temporary, table.to_string())).or_default();
    }

    pub fn note_deleted(&mut self, temporary: bool, table: &str, rowid: i64) {
        self.deleted += 1;
        if let Some((_, gone)) = self.gone.iter_mut().find(|((t, name), _)| *t == temporary && name == table) {
            self.now += 1;
            gone.rows.entry(rowid).or_default().push(self.now);
        }
    }

    /// How many rows SQLite has told to be deleted.
    pub fn deleted(&self) -> u64 {
        self.deleted
    }

    /// Rows were deleted of which SQLite did not tell one by one.
    pub fn note_all_deleted(&mut self) {
        self.now += 1;
        self.gone.values_mut().for_each(|gone| gone.all.push(self.now));
    }

    /// Whether a row that was there at `since` was deleted meanwhile.
    pub fn is_gone(&self, temporary: bool, table: &str, rowid: i64, since: u64) -> bool {
        let found = self.gone.get(&(temporary, table.to_string()));
        found.is_some_and(|gone| is_after(Some(&gone.all), since) || is_after(gone.rows.get(&rowid), since))
    }

    /// Whether a row was written (or deleted) since.
    pub fn is_changed(&self, temporary: bool, table: &str, rowid: i64, since: u64) -> bool {
        let found = self.gone.get(&(temporary, table.to_string()));
        let changed = found.is_some_and(|gone| is_after(gone.changed.get(&rowid), since));
        changed || self.is_gone(temporary, table, rowid, since)
    }

    /// What was done to cursors' tables after `mark` ([`Written::now`]) was taken back.
    pub fn undo(&mut self, mark: u64) {
        for gone in self.gone.values_mut() {
            let lists = gone.rows.values_mut().chain(gone.changed.values_mut()).chain([&mut gone.all]);
            lists.for_each(|times| times.retain(|at| *at <= mark));
        }
    }

    /// The cursors are closed.
    pub fn forget_deletes(&mut self) {
        self.gone.clear();
    }

    pub fn note(&mut self, temporary: bool, table: &str, rowid: i64) {
        if let Some((_, gone)) = self.gone.iter_mut().find(|((t, name), _)| *t == temporary && name == table) {
            self.now += 1;
            gone.changed.entry(rowid).or_default().push(self.now);
        }
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
        if self.gone.is_empty() {
            self.now = 0;
        }
    }
}
