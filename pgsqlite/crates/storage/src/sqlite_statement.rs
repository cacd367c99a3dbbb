//! Statements stepped through SQLite's C interface: rows are borrowed, nothing is copied.

use libsqlite3_sys as ffi;
use pgsqlite_types::{Datum, DatumRef};
use std::ffi::{c_char, c_int};

/// A prepared `sqlite3_stmt`. Belongs to the connection that made it, and is used by one thread at a time.
pub struct RawStatement {
    pub(crate) stmt: *mut ffi::sqlite3_stmt,
}

// SAFETY: SQLite is built with SQLITE_THREADSAFE=2 (or 1): a connection and its statements may move between threads as
// long as one at a time uses them, which ownership guarantees.
unsafe impl Send for RawStatement {}

impl Drop for RawStatement {
    fn drop(&mut self) {
        // SAFETY: finalized once, while its connection is open (the cache lives inside the connection).
        unsafe { ffi::sqlite3_finalize(self.stmt) };
    }
}

/// What a step gave.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
pub enum Step {
    /// a row is there
    Row,
    /// there are no more
    Done,
}

impl RawStatement {
    /// Prepares a text; Err: SQLite's code, the message is the connection's.
    pub fn prepare(db: *mut ffi::sqlite3, sql: &str) -> std::result::Result<RawStatement, c_int> {
        let mut stmt = std::ptr::null_mut();
        let Ok(length) = c_int::try_from(sql.len()) else { return Err(ffi::SQLITE_TOOBIG) };
        // SAFETY: the text is passed with its length; SQLite copies it.
        let rc = unsafe {
            ffi::sqlite3_prepare_v3(
                db,
                sql.as_ptr() as *const c_char,
                length,
                ffi::SQLITE_PREPARE_PERSISTENT,
                &mut stmt,
                std::ptr::null_mut(),
            )
        };
        if rc != ffi::SQLITE_OK {
            return Err(rc);
        }
        Ok(RawStatement { stmt })
    }

    /// Goes on to the next row; Err: SQLite's code, the message is the connection's.
    #[inline]
    pub fn step(&mut self) -> std::result::Result<Step, c_int> {
        // SAFETY: a live statement.
        match unsafe { ffi::sqlite3_step(self.stmt) } {
            ffi::SQLITE_ROW => Ok(Step::Row),
            ffi::SQLITE_DONE => Ok(Step::Done),
            code => Err(code),
        }
    }

    /// Ends the execution and forgets the bound values.
    #[inline]
    pub fn reset(&mut self) {
        // SAFETY: a live statement; the result of reset repeats the last step's error, which was told already.
        unsafe {
            ffi::sqlite3_reset(self.stmt);
            ffi::sqlite3_clear_bindings(self.stmt);
        }
    }

    /// How many parameters it has.
    #[inline]
    pub fn parameter_count(&self) -> usize {
        // SAFETY: a live statement.
        unsafe { ffi::sqlite3_bind_parameter_count(self.stmt) as usize }
    }

    /// Whether SQLite has prepared the statement anew by itself since the last call: the schema has changed.
    pub fn was_prepared_anew(&self) -> bool {
        // SAFETY: a live statement.
        unsafe { ffi::sqlite3_stmt_status(self.stmt, ffi::SQLITE_STMTSTATUS_REPREPARE, 1) > 0 }
    }

    /// How many columns its rows have.
    #[inline]
    pub fn column_count(&self) -> usize {
        // SAFETY: a live statement.
        unsafe { ffi::sqlite3_column_count(self.stmt) as usize }
    }

    /// Binds parameter `index` (from 1). The value must outlive the execution (it is not copied).
    ///
    /// # Safety
    /// `value` must stay where it is until the statement is reset or bound anew.
    #[inline]
    pub unsafe fn bind(&mut self, index: usize, value: &Datum) -> c_int {
        let i = index as c_int;
        // SAFETY: a live statement; the caller keeps the value in place.
        unsafe {
            match value {
                Datum::Null => ffi::sqlite3_bind_null(self.stmt, i),
                Datum::Int(v) => ffi::sqlite3_bind_int64(self.stmt, i, *v),
                Datum::Real(v) => ffi::sqlite3_bind_double(self.stmt, i, *v),
                Datum::Text(t) => ffi::sqlite3_bind_text64(
                    self.stmt,
                    i,
                    t.as_ptr() as *const c_char,
                    t.len() as u64,
                    ffi::SQLITE_STATIC(),
                    ffi::SQLITE_UTF8 as u8,
                ),
                Datum::Blob(b) if b.is_empty() => ffi::sqlite3_bind_zeroblob(self.stmt, i, 0),
                Datum::Blob(b) => {
                    ffi::sqlite3_bind_blob64(self.stmt, i, b.as_ptr() as *const _, b.len() as u64, ffi::SQLITE_STATIC())
                }
            }
        }
    }

    /// The value of a column of the present row.
    #[inline]
    pub fn column(&self, index: usize) -> DatumRef<'_> {
        // SAFETY: the pointers are valid until the next step, reset or type conversion; the borrow of self ends before. SQLite
        // wants values that are "unprotected" (as a column's are) to be read by one thread only, which ownership guarantees;
        // so a value is looked up once, and not anew for its type, its bytes and their number.
        unsafe {
            let value = ffi::sqlite3_column_value(self.stmt, index as c_int);
            match ffi::sqlite3_value_type(value) {
                ffi::SQLITE_INTEGER => DatumRef::Int(ffi::sqlite3_value_int64(value)),
                ffi::SQLITE_FLOAT => DatumRef::Real(ffi::sqlite3_value_double(value)),
                ffi::SQLITE_TEXT => {
                    let p = ffi::sqlite3_value_text(value);
                    if p.is_null() {
                        // out of memory: no codec takes this for text
                        return DatumRef::Blob(&[]);
                    }
                    let n = ffi::sqlite3_value_bytes(value) as usize;
                    match std::str::from_utf8(std::slice::from_raw_parts(p, n)) {
                        Ok(text) => DatumRef::Text(text),
                        // another program may have stored anything: the codec refuses a BLOB where text is due
                        Err(_) => DatumRef::Blob(std::slice::from_raw_parts(p, n)),
                    }
                }
                ffi::SQLITE_BLOB => {
                    let p = ffi::sqlite3_value_blob(value) as *const u8;
                    let n = ffi::sqlite3_value_bytes(value) as usize;
                    DatumRef::Blob(if n == 0 { &[] } else { std::slice::from_raw_parts(p, n) })
                }
                _ => DatumRef::Null,
            }
        }
    }
}

/// A line of a statement's plan, with what the statement's executions have made of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counted {
    /// as EXPLAIN QUERY PLAN tells it
    pub detail: String,
    /// how often the loop was begun; None: SQLite does not count it
    pub loops: Option<u64>,
    /// rows that it came by, those that conditions then ruled out among them
    pub visits: Option<u64>,
}

impl RawStatement {
    /// What SQLite has counted, in the order of its plan. Nothing of a statement that was prepared without [`Connection::record`].
    pub fn counted(&self) -> Vec<Counted> {
        let mut lines: Vec<(c_int, Counted)> = Vec::new();
        for i in 0.. {
            let mut detail: *const c_char = std::ptr::null();
            let (mut loops, mut visits, mut id) = (-1i64, -1i64, 0 as c_int);
            // SAFETY: a live statement; each figure is written as the type that SQLite documents for it. The text is the statement's.
            let text = unsafe {
                let get = |what: c_int, to: *mut std::ffi::c_void| {
                    ffi::sqlite3_stmt_scanstatus_v2(self.stmt, i, what, ffi::SQLITE_SCANSTAT_COMPLEX, to)
                };
                if get(ffi::SQLITE_SCANSTAT_EXPLAIN, (&raw mut detail).cast()) != 0 {
                    break;
                }
                get(ffi::SQLITE_SCANSTAT_NLOOP, (&raw mut loops).cast());
                get(ffi::SQLITE_SCANSTAT_NVISIT, (&raw mut visits).cast());
                get(ffi::SQLITE_SCANSTAT_SELECTID, (&raw mut id).cast());
                match detail.is_null() {
                    true => continue,
                    false => std::ffi::CStr::from_ptr(detail).to_string_lossy().into_owned(),
                }
            };
            let counted = Counted { detail: text, loops: loops.try_into().ok(), visits: visits.try_into().ok() };
            lines.push((id, counted));
        }
        lines.sort_by_key(|(id, _)| *id);
        lines.into_iter().map(|(_, counted)| counted).collect()
    }
}

/// A value as rusqlite binds it.
pub fn to_sqlite(datum: &Datum) -> rusqlite::types::Value {
    use rusqlite::types::Value;
    match datum {
        Datum::Null => Value::Null,
        Datum::Int(i) => Value::Integer(*i),
        Datum::Real(r) => Value::Real(*r),
        Datum::Text(t) => Value::Text(t.clone()),
        Datum::Blob(b) => Value::Blob(b.clone()),
    }
}
