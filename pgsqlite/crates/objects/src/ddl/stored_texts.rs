//! A look at every text that DDL stores: read again, it must mean what was written. The tests that replay recorded statements
//! [begin] it and ask for what differs. It is part of debug builds only, because those tests are in a crate above.
//!
//! What is compared is SQLite's SQL, where that can be had: PostgreSQL itself stores `x IN (…)` as `x = ANY (ARRAY[…])` and casts that
//! nobody wrote as casts.

use pgsqlite_types::Result;
use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Mutex;

static BEGUN: AtomicBool = AtomicBool::new(false);
static DIFFERENCES: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
static COMPARED: Mutex<usize> = Mutex::new(0);

/// Looks at all texts that are stored from now on.
pub fn begin() {
    BEGUN.store(true, Ordering::Relaxed);
}

/// Whether texts are looked at.
pub(super) fn compares() -> bool {
    BEGUN.load(Ordering::Relaxed)
}

/// Without the ELSE that a printed CASE always has, and the mark of the VARIADIC that stands before an array in a printed call.
fn plain(sql: &impl Debug) -> String {
    format!("{sql:?}").replace(" ELSE NULL END", " END").replace("('v", "('")
}

/// Notes a text that does not mean what was written.
pub(super) fn compare<T: Debug>(kind: &str, text: &str, written: Result<T>, read: Result<T>) {
    *COMPARED.lock().unwrap() += 1;
    let told = match (written, read) {
        (Ok(written), Ok(read)) if plain(&written) == plain(&read) => return,
        // (what SQLite's SQL cannot be had of)
        (Err(written), Err(read)) if written.message() == read.message() => return,
        (written, read) => format!("written {written:?}\n  read    {read:?}"),
    };
    DIFFERENCES.lock().unwrap().insert(format!("{kind}: {text}\n  {told}"));
}

/// How many texts were looked at, and what differed of them.
pub fn found() -> (usize, BTreeSet<String>) {
    (*COMPARED.lock().unwrap(), DIFFERENCES.lock().unwrap().clone())
}
