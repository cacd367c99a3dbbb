//! SQLite's preupdate hook, which reports each row before it is changed.
//!
//! A statement that SQLite has prepared while no hook was set may clear a whole table without reporting rows
//! ("truncate optimization"): [`Recorder::expect`] compares the numbers of rows after each statement.

use super::change_log::{ChangeLog, Operation};
use libsqlite3_sys as ffi;
use parking_lot::Mutex;
use pgsqlite_types::DatumRef;
use std::ffi::{c_char, c_int, c_void, CStr};
use std::sync::Arc;

/// What a connection records.
#[derive(Debug, Default)]
pub struct Recorder {
    /// the hook is set
    listens: bool,
    /// changes are recorded
    pub on: bool,
    /// what was recorded
    pub log: ChangeLog,
    /// rows of tables of users are among what was changed since recording began, or may be
    pub rows: bool,
    /// how many rows statements have changed since recording began, as far as SQLite has reported them
    reported: u64,
    /// the name that SQLite has passed last (it stays where it is as long as the schema does), and its place
    last: Option<(usize, usize)>,
}

impl Recorder {
    /// What was recorded is another transaction's from now on.
    pub fn take(&mut self) -> ChangeLog {
        self.on = false;
        self.last = None;
        std::mem::take(&mut self.log)
    }

    /// Goes on with a log.
    pub fn go_on(&mut self, log: ChangeLog) {
        self.rows |= !log.is_empty();
        self.log = log;
        self.last = None;
        self.on = true;
    }

    /// How many changes of statements SQLite has reported.
    pub fn reported(&self) -> u64 {
        self.reported
    }

    /// A statement has deleted rows. `reported`: [`Recorder::reported`] before it.
    pub fn expect(&mut self, reported: u64, deleted: u64) {
        if self.on && self.reported - reported < deleted {
            self.log.obstacle.get_or_insert("it has cleared a table");
            self.rows = true;
        }
    }

    /// # Safety
    /// Called by the hook alone: `db` is in the midst of a change.
    unsafe fn note(&mut self, db: *mut ffi::sqlite3, operation: Operation, name: *const c_char, rowids: (i64, i64)) {
        // SAFETY: promised by the caller.
        let (depth, columns, blob) = unsafe {
            (ffi::sqlite3_preupdate_depth(db), ffi::sqlite3_preupdate_count(db), ffi::sqlite3_preupdate_blobwrite(db))
        };
        if blob >= 0 {
            self.log.obstacle.get_or_insert("it has written into a value by handle");
            self.rows = true;
        }
        let direct = depth == 0;
        self.reported += u64::from(direct);
        let table = match self.last {
            Some((at, table)) if at == name as usize => table,
            _ => {
                // SAFETY: a C string for as long as the call lasts.
                let text = unsafe { CStr::from_ptr(name) }.to_string_lossy();
                let is_own = text.starts_with("__pgsqlite_") || text.starts_with("sqlite_");
                // (a name with a dot is that of a table in a schema of a user, whatever the schema is called)
                self.rows |= !is_own || text.contains('.');
                if direct && is_own {
                    self.log.obstacle.get_or_insert("it has changed what the file remembers of its objects");
                }
                let table = self.log.table(&text);
                self.last = Some((name as usize, table));
                table
            }
        };
        self.log.push(table, operation, direct, rowids, columns as usize);
        if operation != Operation::Insert {
            for i in 0..columns {
                // SAFETY: promised by the caller; the operation has old values.
                unsafe { self.push(db, i, ffi::sqlite3_preupdate_old) };
            }
        }
        if operation != Operation::Delete {
            for i in 0..columns {
                // SAFETY: promised by the caller; the operation has new values.
                unsafe { self.push(db, i, ffi::sqlite3_preupdate_new) };
            }
        }
    }

    /// # Safety
    /// As for [`Recorder::note`].
    unsafe fn push(
        &mut self,
        db: *mut ffi::sqlite3,
        column: c_int,
        get: unsafe extern "C" fn(*mut ffi::sqlite3, c_int, *mut *mut ffi::sqlite3_value) -> c_int,
    ) {
        let mut value = std::ptr::null_mut();
        // SAFETY: promised by the caller; the value is SQLite's until the hook returns.
        let found = unsafe { get(db, column, &mut value) } == ffi::SQLITE_OK && !value.is_null();
        // SAFETY: a value of SQLite's.
        match found.then(|| unsafe { value_of(value) }).flatten() {
            Some(value) => self.log.push_value(value),
            None => {
                self.log.obstacle.get_or_insert("a value could not be recorded");
            }
        }
    }
}

/// None: a text that is none, or memory is short.
///
/// # Safety
/// `value` is live as long as the result is used.
unsafe fn value_of<'a>(value: *mut ffi::sqlite3_value) -> Option<DatumRef<'a>> {
    // SAFETY: promised by the caller; the bytes are asked for after the text, as SQLite demands.
    unsafe {
        Some(match ffi::sqlite3_value_type(value) {
            ffi::SQLITE_INTEGER => DatumRef::Int(ffi::sqlite3_value_int64(value)),
            ffi::SQLITE_FLOAT => DatumRef::Real(ffi::sqlite3_value_double(value)),
            ffi::SQLITE_TEXT => {
                let p = ffi::sqlite3_value_text(value);
                if p.is_null() {
                    return None;
                }
                let n = ffi::sqlite3_value_bytes(value) as usize;
                DatumRef::Text(std::str::from_utf8(std::slice::from_raw_parts(p, n)).ok()?)
            }
            ffi::SQLITE_BLOB => {
                let p = ffi::sqlite3_value_blob(value) as *const u8;
                let n = ffi::sqlite3_value_bytes(value) as usize;
                DatumRef::Blob(if n == 0 { &[] } else { std::slice::from_raw_parts(p, n) })
            }
            _ => DatumRef::Null,
        })
    }
}

extern "C" fn on_change(
    to: *mut c_void,
    db: *mut ffi::sqlite3,
    operation: c_int,
    database: *const c_char,
    table: *const c_char,
    old_rowid: i64,
    new_rowid: i64,
) {
    // SAFETY: `listen` gave the pointer; the name is a C string for as long as the call lasts.
    let (recorder, database) = unsafe { (&*to.cast::<Mutex<Recorder>>(), CStr::from_ptr(database)) };
    if database != c"main" {
        return;
    }
    let mut recorder = recorder.lock();
    if !recorder.on {
        return;
    }
    let operation = match operation {
        ffi::SQLITE_INSERT => Operation::Insert,
        ffi::SQLITE_UPDATE => Operation::Update,
        _ => Operation::Delete,
    };
    // SAFETY: SQLite calls it before it makes a change.
    unsafe { recorder.note(db, operation, table, (old_rowid, new_rowid)) };
}

/// Records changes from now on, or no more.
///
/// # Safety
/// `db` is a live connection, and `recorder` outlives it.
pub unsafe fn listen(db: *mut ffi::sqlite3, recorder: &Arc<Mutex<Recorder>>, on: bool) {
    let mut own = recorder.lock();
    own.rows &= own.on;
    own.on = on;
    if !on {
        // what was recorded was another transaction's
        own.log = ChangeLog::default();
    }
    if on != own.listens {
        own.listens = on;
        let to = Arc::as_ptr(recorder).cast_mut().cast();
        let (hook, to) = if on { (Some(on_change as _), to) } else { (None, std::ptr::null_mut()) };
        // SAFETY: promised by the caller.
        unsafe { ffi::sqlite3_preupdate_hook(db, hook, to) };
    }
}
