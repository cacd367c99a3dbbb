//! What a data modification remembers of its rows while it runs: values that a second evaluation would not give again
//! (for the DETAIL of a failed constraint), and the rows it has touched (ON CONFLICT DO UPDATE may touch each once, and so may
//! all parts of a statement with data-modifying WITH queries together).

use super::shim::{Call, Scalar};
use pgsqlite_sql::lower::support;
use pgsqlite_types::{Datum, Oid, PgError, Result, SqlState};
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};

/// The memory of one statement; it is empty for most.
#[derive(Default)]
pub struct StatementRows {
    /// by attnum: how many values the column has got, and the last one
    kept: RefCell<HashMap<i64, (u64, Datum)>>,
    /// table and key of each row that was inserted or updated
    touched: RefCell<HashSet<Vec<Key>>>,
    /// the row at hand was there before the statement
    updates: Cell<bool>,
    /// values of sub-queries that are computed once, by their numbers
    once: RefCell<HashMap<i64, Datum>>,
    /// large objects that the statement has changed
    pub(crate) changed_objects: RefCell<HashSet<Oid>>,
    /// the numbers that rows of an INTEGER PRIMARY KEY have got, by its sequence: the last of each
    pub(crate) given: RefCell<HashMap<Oid, i64>>,
    /// what WHERE CURRENT OF means
    pub current: RefCell<Option<Current>>,
}

/// The row that a cursor stands on.
pub struct Current {
    pub cursor: String,
    /// the table's OID and the row's number; None: there is no such row any more
    pub row: Option<(i64, i64)>,
}

/// A part of a row's identity, comparable.
#[derive(PartialEq, Eq, Hash)]
enum Key {
    Int(i64),
    Bytes(Vec<u8>),
}

impl StatementRows {
    /// Before each statement.
    pub fn clear(&self) {
        self.updates.set(false);
        // borrowed first: most statements have nothing to forget
        if !self.kept.borrow().is_empty() {
            self.kept.borrow_mut().clear();
        }
        if !self.touched.borrow().is_empty() {
            self.touched.borrow_mut().clear();
        }
        if !self.once.borrow().is_empty() {
            self.once.borrow_mut().clear();
        }
        if !self.changed_objects.borrow().is_empty() {
            self.changed_objects.borrow_mut().clear();
        }
        if !self.given.borrow().is_empty() {
            self.given.borrow_mut().clear();
        }
    }

    /// While another statement runs inside this one: what was remembered so far. (Numbers that rows have got stay: the other
    /// statement's rows get others.)
    pub fn set_aside(&self) -> StatementRows {
        let updates = Cell::new(self.updates.take());
        let changed_objects = RefCell::new(self.changed_objects.take());
        let once = RefCell::new(self.once.take());
        if self.kept.borrow().is_empty() && self.touched.borrow().is_empty() {
            return StatementRows { updates, once, changed_objects, ..Default::default() };
        }
        let (kept, touched) = (RefCell::new(self.kept.take()), RefCell::new(self.touched.take()));
        StatementRows { kept, touched, updates, once, changed_objects, ..Default::default() }
    }

    /// The other statement has ended. (What it has changed the one around did not find when it began.)
    pub fn put_back(&self, remembered: StatementRows) {
        let mut changed = self.changed_objects.take();
        let given = self.given.take();
        self.clear();
        self.given.replace(given);
        changed.extend(remembered.changed_objects.take());
        self.changed_objects.replace(changed);
        self.updates.set(remembered.updates.get());
        self.once.replace(remembered.once.into_inner());
        if !remembered.kept.borrow().is_empty() || !remembered.touched.borrow().is_empty() {
            self.kept.replace(remembered.kept.into_inner());
            self.touched.replace(remembered.touched.into_inner());
        }
    }

    /// Whether a part of the statement has noted that it inserted or updated the row of a table.
    pub fn is_touched(&self, table: Oid, rowid: i64) -> bool {
        let touched = self.touched.borrow();
        !touched.is_empty() && touched.contains(&vec![Key::Int(i64::from(table)), Key::Int(rowid)])
    }

    /// How many values were remembered for a column.
    pub fn count(&self, attnum: i16) -> u64 {
        self.kept.borrow().get(&i64::from(attnum)).map_or(0, |(n, _)| *n)
    }
}

fn keep(c: &Call) -> Result<Datum> {
    let (attnum, value) = (c.int(0)?, c.datum(1).to_owned());
    let mut kept = c.session.rows.kept.borrow_mut();
    let entry = kept.entry(attnum).or_insert((0, Datum::Null));
    *entry = (entry.0 + 1, value.clone());
    Ok(value)
}

fn kept(c: &Call) -> Result<Datum> {
    Ok(c.session.rows.kept.borrow().get(&c.int(0)?).map_or(Datum::Null, |(_, value)| value.clone()))
}

fn once_known(c: &Call) -> Result<Datum> {
    Ok(c.session.rows.once.borrow().contains_key(&c.int(0)?).into())
}

fn once_value(c: &Call) -> Result<Datum> {
    Ok(c.session.rows.once.borrow().get(&c.int(0)?).map_or(Datum::Null, Datum::clone))
}

fn once_keep(c: &Call) -> Result<Datum> {
    let value = c.datum(1).to_owned();
    c.session.rows.once.borrow_mut().insert(c.int(0)?, value.clone());
    Ok(value)
}

fn identity(c: &Call, first: usize) -> Vec<Key> {
    use pgsqlite_types::DatumRef as D;
    (first..c.len())
        .map(|i| match c.datum(i) {
            D::Int(v) => Key::Int(v),
            D::Real(r) => Key::Bytes(r.to_bits().to_be_bytes().to_vec()),
            D::Text(t) => Key::Bytes(t.as_bytes().to_vec()),
            D::Blob(b) => Key::Bytes(b.to_vec()),
            D::Null => Key::Bytes(vec![]),
        })
        .collect()
}

/// The error of an ON CONFLICT DO UPDATE that meets a row which its statement has inserted or updated.
pub fn affected_twice() -> PgError {
    PgError::new(SqlState::CARDINALITY_VIOLATION, "ON CONFLICT DO UPDATE command cannot affect row a second time")
        .hint("Ensure that no rows proposed for insertion within the same command have duplicate constrained values.")
}

fn untouched(c: &Call) -> Result<Datum> {
    if c.session.rows.touched.borrow().contains(&identity(c, 1)) {
        return Err(affected_twice());
    }
    Ok(c.datum(0).to_owned())
}

fn touch(c: &Call) -> Result<Datum> {
    c.session.rows.touched.borrow_mut().insert(identity(c, 0));
    Ok(Datum::Null)
}

fn is_untouched(c: &Call) -> Result<Datum> {
    Ok((!c.session.rows.touched.borrow().contains(&identity(c, 0))).into())
}

fn updates(c: &Call) -> Result<Datum> {
    let condition = c.datum(0).to_owned();
    c.session.rows.updates.set(!c.is_null(0) && c.int(0)? != 0);
    Ok(condition)
}

fn xmax(c: &Call) -> Result<Datum> {
    match c.session.rows.updates.get() {
        // transaction numbers are shown without their epoch
        true => Ok(c.session.server()?.transaction_id(true)?.map(|n| i64::from(n as u32)).into()),
        false => Ok(Datum::Int(0)),
    }
}

fn next_row(c: &Call) -> Result<Datum> {
    c.session.rows.updates.set(false);
    Ok(Datum::Null)
}

fn current_of(c: &Call) -> Result<Datum> {
    let current = c.session.rows.current.borrow();
    match current.as_ref().filter(|found| c.text(0).is_ok_and(|name| name == found.cursor)) {
        None => Err(PgError::not_supported("WHERE CURRENT OF in this place")),
        Some(Current { row: Some((table, number)), .. }) if *table == c.int(1)? => Ok(Datum::Int(*number)),
        Some(_) => Ok(Datum::Null),
    }
}

fn after(c: &Call) -> Result<Datum> {
    Ok(c.datum(c.len() - 1).to_owned())
}

/// (name, number of arguments, deterministic, function)
pub(crate) const FUNCTIONS: &[(&str, i32, bool, Scalar)] = &[
    (support::AFTER, -1, false, after),
    (support::CURRENT_OF, 2, false, current_of),
    (support::KEEP, 2, false, keep),
    (support::KEPT, 1, false, kept),
    (support::ONCE_KNOWN, 1, false, once_known),
    (support::ONCE_VALUE, 1, false, once_value),
    (support::ONCE_KEEP, 2, false, once_keep),
    (support::XMAX, 0, false, xmax),
    (support::UPDATES, 1, false, updates),
    (support::NEXT_ROW, 0, false, next_row),
    (support::UNTOUCHED, -1, false, untouched),
    (support::TOUCH, -1, false, touch),
    (support::IS_UNTOUCHED, -1, false, is_untouched),
];
