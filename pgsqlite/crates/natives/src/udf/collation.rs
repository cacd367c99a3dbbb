//! Collations under which values in storage form sort as PostgreSQL sorts them. Made when SQLite first asks for one by
//! name, because those of arrays and enums are as many as there are types.

use super::session_cell::SessionCell;
use libsqlite3_sys as ffi;
use pgsqlite_sql::catalog::Catalog;
use pgsqlite_types::codec::TypeCodec;
use pgsqlite_types::{compare, record, work, Oid, PgError, Result};
use std::cell::RefCell;
use std::cmp::Ordering;
use std::collections::HashMap;
use std::ffi::{c_char, c_int, c_void, CStr};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::{Arc, Weak};

/// How one collation orders.
enum Order {
    Codec(CodecOrder),
    /// the order of `min` and `max`: of equal values the second one is the lesser or the greater, so that the last one is taken
    Last(TypeCodec, Ordering),
    Language(pgsqlite_types::collation::Collation),
}

/// The order of a type.
struct CodecOrder {
    codec: RefCell<TypeCodec>,
    /// Of a type of the user, whose labels DDL may change: its name, and the catalog that the codec was made from. (As long as it is
    /// named here, no other catalog gets its address.)
    of_user: Option<(String, *const SessionCell, RefCell<Weak<Catalog>>)>,
    /// the codecs of records' fields that are of types of the user
    fields: RefCell<HashMap<Oid, Option<TypeCodec>>>,
}

impl CodecOrder {
    fn compare(&self, a: &str, b: &str) -> Ordering {
        let codec = self.codec.borrow();
        match (&*codec, &self.of_user) {
            // the fields' types are in the values
            (TypeCodec::Record, Some((_, session, _))) => {
                // SAFETY: as in `refresh`.
                let session = unsafe { &**session };
                let codec =
                    |oid| self.fields.borrow_mut().entry(oid).or_insert_with(|| session.codec(oid).ok()).clone();
                record::compare(a, b, &|_, oid| codec(oid))
            }
            _ => codec.compare_text(a, b),
        }
    }

    /// Makes the codec anew if the catalog is another one.
    fn refresh(&self) {
        let Some((name, session, made_from)) = &self.of_user else { return };
        // SAFETY: the connection's functions keep the cell alive as long as its collations.
        let session = unsafe { &**session };
        let state = session.state();
        let now = &state.catalog;
        if made_from.borrow().as_ptr() == Arc::as_ptr(now) {
            return;
        }
        if let Some(codec) = codec_of(name, session) {
            *self.codec.borrow_mut() = codec;
        }
        self.fields.borrow_mut().clear();
        *made_from.borrow_mut() = Arc::downgrade(now);
    }
}

extern "C" fn collate(
    order: *mut c_void,
    a_length: c_int,
    a: *const c_void,
    b_length: c_int,
    b: *const c_void,
) -> c_int {
    // SAFETY: SQLite passes two texts of these lengths; the user data is the order given at registration.
    let (order, a, b) = unsafe {
        let text = |p: *const c_void, n: c_int| match n {
            0 => &[][..],
            n => std::slice::from_raw_parts(p as *const u8, n as usize),
        };
        (&*(order as *const Order), text(a, a_length), text(b, b_length))
    };
    let compared = match (std::str::from_utf8(a), std::str::from_utf8(b)) {
        // comparisons come to their end: half an order would be stored
        (Ok(x), Ok(y)) => catch_unwind(AssertUnwindSafe(|| {
            work::sheltered(|| {
                work::pulse(8 + (x.len() + y.len()) / 8);
                match order {
                    Order::Codec(order) => {
                        order.refresh();
                        order.compare(x, y)
                    }
                    Order::Last(codec, equal) => codec.compare_text(x, y).then(*equal),
                    Order::Language(collation) => collation.compare(x, y),
                }
            })
        }))
        .unwrap_or_else(|_| x.cmp(y)),
        _ => a.cmp(b),
    };
    match compared {
        Ordering::Less => -1,
        Ordering::Equal => 0,
        Ordering::Greater => 1,
    }
}

extern "C" fn drop_order(order: *mut c_void) {
    // SAFETY: made by Box::into_raw below; SQLite calls this once.
    drop(unsafe { Box::from_raw(order as *mut Order) });
}

/// The codec whose order a collation is, of built-in types and of the session's.
fn codec_of(name: &str, session: &SessionCell) -> Option<TypeCodec> {
    if let Some(oid) = name.strip_prefix("pg_enum_").and_then(|o| o.parse().ok()) {
        return session.codec(oid).ok();
    }
    if let Some(codec) = compare::codec_of(name) {
        return Some(codec);
    }
    let range = name.strip_prefix("pg_range_").or_else(|| name.strip_prefix("pg_multirange_"));
    if let Some(range) = range {
        return session.codec(range.parse().ok()?).ok();
    }
    let element = name.strip_prefix("pg_array_")?.parse().ok()?;
    Some(TypeCodec::Array(Box::new(session.codec(element).ok()?), element, b','))
}

fn create(db: *mut ffi::sqlite3, name: &CStr, order: Order) -> c_int {
    let data = Box::into_raw(Box::new(order));
    // SAFETY: `db` is open. Unlike functions, SQLite does not call the destructor when this fails.
    unsafe {
        let code = ffi::sqlite3_create_collation_v2(
            db,
            name.as_ptr(),
            ffi::SQLITE_UTF8,
            data.cast(),
            Some(collate),
            Some(drop_order),
        );
        if code != ffi::SQLITE_OK {
            drop(Box::from_raw(data));
        }
        code
    }
}

extern "C" fn needed(session: *mut c_void, db: *mut ffi::sqlite3, _encoding: c_int, name: *const c_char) {
    // SAFETY: the user data is a cell that the connection's functions keep alive; the name ends with NUL.
    let (session, name) = unsafe { (&*(session as *const SessionCell), CStr::from_ptr(name)) };
    let Ok(text) = name.to_str() else { return };
    if let Some(opened) = pgsqlite_types::collation::by_sqlite_name(text) {
        // (a locale that is not known here was refused before it got into a schema or a statement)
        if let Ok(collation) = opened {
            let _ = create(db, name, Order::Language(collation));
        }
        return;
    }
    // (SQLite compares the best value so far with the next one)
    let last = [("_max", Ordering::Less), ("_min", Ordering::Greater)].into_iter().find_map(|(suffix, equal)| {
        let codec = compare::codec_of(text.strip_suffix(suffix)?)?;
        Some(Order::Last(codec, equal))
    });
    if let Some(order) = last {
        let _ = create(db, name, order);
        return;
    }
    if let Some(codec) = codec_of(text, session) {
        let made_from = RefCell::new(Arc::downgrade(&session.state().catalog));
        let of_user = (text.to_string(), session as *const SessionCell, made_from);
        let order = CodecOrder { codec: RefCell::new(codec), of_user: Some(of_user), fields: RefCell::default() };
        // A failure leaves the collation missing, which SQLite reports.
        let _ = create(db, name, Order::Codec(order));
    }
}

/// Registers `decimal` and its like, and the maker of the others. `session` must live as long as the connection (the
/// functions registered with it see to that).
pub fn register(db: *mut ffi::sqlite3, session: &Arc<SessionCell>) -> Result<()> {
    let decimal = CodecOrder { codec: RefCell::new(TypeCodec::Numeric), of_user: None, fields: RefCell::default() };
    if create(db, c"decimal", Order::Codec(decimal)) != ffi::SQLITE_OK {
        return Err(PgError::internal("registering the collation decimal failed"));
    }
    // SAFETY: see above.
    let code = unsafe { ffi::sqlite3_collation_needed(db, Arc::as_ptr(session) as *mut c_void, Some(needed)) };
    if code != ffi::SQLITE_OK {
        return Err(PgError::internal("registering the collations failed"));
    }
    Ok(())
}
