//! Which rows a transaction has written, of the tables whose deferrable keys must be looked at later.
//!
//! SQLite tells of every row that a statement, a trigger or a referential action inserts or updates. A row that ROLLBACK TO took
//! back stays noted: what is looked at later is the row as it is then.

use libsqlite3_sys as ffi;
use parking_lot::Mutex;
use pgsqlite_types::{PgError, Result};
use std::collections::HashMap;
use std::ffi::{c_char, c_int, c_void, CStr};
use std::sync::Arc;

/// Rows noted one by one for keys that are looked at later; of a table with more, all rows are looked at.
const MOST_ROWS: usize = 1_000_000;

/// Changes of a cursor's table noted one by one (about 40 bytes each); after more it is not known which rows they were of.
const MOST_NOTED: usize = 10_000_000;

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
    /// SQLite tells of the rows that it writes
    listens: bool,
}

/// SQLite's update hook.
extern "C" fn on_update(to: *mut c_void, action: c_int, database: *const c_char, table: *const c_char, rowid: i64) {
    // SAFETY: `listen` gave the pointer, and the names are C strings for as long as the call lasts.
    let (written, database, table) =
        unsafe { (&*to.cast::<Mutex<Written>>(), CStr::from_ptr(database), CStr::from_ptr(table)) };
    let (temporary, table) = (database == c"temp", table.to_string_lossy());
    match action {
        ffi::SQLITE_DELETE => written.lock().note_deleted(temporary, &table, rowid),
        _ => written.lock().note(temporary, &table, rowid),
    }
}

/// Lets SQLite tell of the rows that a connection writes, if any table is watched, or no more.
///
/// # Safety
/// `db` is a live connection, and `written` outlives it.
pub unsafe fn listen(db: *mut ffi::sqlite3, written: &Arc<Mutex<Written>>) {
    let mut own = written.lock();
    let wanted = own.is_watching();
    if wanted != own.listens {
        own.listens = wanted;
        let to = Arc::as_ptr(written).cast_mut().cast();
        let (hook, to) = if wanted { (Some(on_update as _), to) } else { (None, std::ptr::null_mut()) };
        // SAFETY: promised by the caller.
        unsafe { ffi::sqlite3_update_hook(db, hook, to) };
    }
}

#[derive(Debug, Default)]
struct Gone {
    /// the rows that were deleted
    rows: Times,
    /// … and updated or inserted; None: no cursor asks for them
    changed: Option<Times>,
    /// when all were deleted together, of which SQLite does not tell one by one
    all: Vec<u64>,
}

/// When something was done to rows.
#[derive(Debug, Default)]
struct Times {
    /// rowid → when it was done last
    last: HashMap<i64, u64>,
    /// … and when before that, of the few that it was done to more than once: what is done may be taken back
    before: HashMap<i64, Vec<u64>>,
    noted: usize,
    /// when more was noted than is kept
    lost: Option<u64>,
}

impl Times {
    fn note(&mut self, rowid: i64, now: u64) {
        if let Some(before) = self.last.insert(rowid, now) {
            self.before.entry(rowid).or_default().push(before);
        }
        self.noted += 1;
        if self.noted > MOST_NOTED {
            *self = Times { lost: Some(now), ..Times::default() };
        }
    }

    /// Whether it was done to the row after `since`. Errors: 0A000 if that is not known any more.
    fn is_after(&self, rowid: i64, since: u64) -> Result<bool> {
        if self.lost.is_some_and(|lost| lost > since) {
            return Err(PgError::not_supported(format!(
                "a cursor on rows of a table of which the transaction has made more than {MOST_NOTED} changes since it was opened"
            )));
        }
        Ok(self.last.get(&rowid).is_some_and(|at| *at > since))
    }

    /// What was done after `mark` was taken back. (What is lost stays so.)
    fn undo(&mut self, mark: u64) {
        let before = &mut self.before;
        self.last.retain(|rowid, at| {
            while *at > mark {
                match before.get_mut(rowid).and_then(Vec::pop) {
                    Some(earlier) => *at = earlier,
                    None => return false,
                }
            }
            true
        });
    }
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

    /// Whether any table is watched.
    pub fn is_watching(&self) -> bool {
        !self.tables.is_empty() || !self.gone.is_empty()
    }

    /// Notes from now on which rows of a table are deleted, and, with `changes`, which are written.
    pub fn watch_cursor(&mut self, temporary: bool, table: &str, changes: bool) {
        let gone = self.gone.entry((temporary, table.to_string())).or_default();
        if changes {
            gone.changed.get_or_insert_with(Times::default);
        }
    }

    /// A row was deleted.
    pub fn note_deleted(&mut self, temporary: bool, table: &str, rowid: i64) {
        self.deleted += 1;
        if let Some((_, gone)) = self.gone.iter_mut().find(|((t, name), _)| *t == temporary && name == table) {
            self.now += 1;
            gone.rows.note(rowid, self.now);
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

    /// Whether a row that was there at `since` was deleted meanwhile. Errors: 0A000 if that is not known any more.
    pub fn is_gone(&self, temporary: bool, table: &str, rowid: i64, since: u64) -> Result<bool> {
        let Some(gone) = self.gone.get(&(temporary, table.to_string())) else { return Ok(false) };
        Ok(gone.all.last().is_some_and(|at| *at > since) || gone.rows.is_after(rowid, since)?)
    }

    /// Whether a row was written (or deleted) since, of a table whose changes are noted. Errors: 0A000 if that is not known any more.
    pub fn is_changed(&self, temporary: bool, table: &str, rowid: i64, since: u64) -> Result<bool> {
        let gone = self.gone.get(&(temporary, table.to_string()));
        if let Some(changed) = gone.and_then(|gone| gone.changed.as_ref()) {
            if changed.is_after(rowid, since)? {
                return Ok(true);
            }
        }
        self.is_gone(temporary, table, rowid, since)
    }

    /// What was done to cursors' tables after `mark` ([`Written::now`]) was taken back.
    pub fn undo(&mut self, mark: u64) {
        for gone in self.gone.values_mut() {
            gone.all.retain(|at| *at <= mark);
            std::iter::once(&mut gone.rows).chain(&mut gone.changed).for_each(|times| times.undo(mark));
        }
    }

    /// The cursors are closed.
    pub fn forget_deletes(&mut self) {
        self.gone.clear();
    }

    /// A row was inserted or updated.
    pub fn note(&mut self, temporary: bool, table: &str, rowid: i64) {
        if let Some((_, gone)) = self.gone.iter_mut().find(|((t, name), _)| *t == temporary && name == table) {
            if let Some(changed) = &mut gone.changed {
                self.now += 1;
                changed.note(rowid, self.now);
            }
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
