//! Collations under which values in storage form sort as PostgreSQL sorts them. Made when SQLite first asks for one by
//! name, because those of arrays and enums are as many as there are types.

use super::session_cell::SessionCell;
use libsqlite3_sys as ffi;
use pgsqlite_types::codec::TypeCodec;
use pgsqlite_types::{compare, PgError, Result};
use std::cmp::Ordering;
use std::ffi::{c_char, c_int, c_void, CStr};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::Arc;

extern "C" fn collate(
    codec: *mut c_void,
    a_length: c_int,
    a: *const c_void,
    b_length: c_int,
    b: *const c_void,
) -> c_int {
    // SAFETY: SQLite passes two texts of these lengths; the user data is the codec given at registration.
    let (codec, a, b) = unsafe {
        let text = |p: *const c_void, n: c_int| match n {
            0 => &[][..],
            n => std::slice::from_raw_parts(p as *const u8, n as usize),
        };
        (&*(codec as *const TypeCodec), text(a, a_length), text(b, b_length))
    };
    let order = match (std::str::from_utf8(a), std::str::from_utf8(b)) {
        (Ok(x), Ok(y)) => catch_unwind(AssertUnwindSafe(|| codec.compare_text(x, y))).unwrap_or_else(|_| x.cmp(y)),
        _ => a.cmp(b),
    };
    match order {
        Ordering::Less => -1,
        Ordering::Equal => 0,
        Ordering::Greater => 1,
    }
}

extern "C" fn drop_codec(codec: *mut c_void) {
    // SAFETY: made by Box::into_raw below; SQLite calls this once.
    drop(unsafe { Box::from_raw(codec as *mut TypeCodec) });
}

/// The codec whose order a collation is, of built-in types and of the session's.
fn codec_of(name: &str, session: &SessionCell) -> Option<TypeCodec> {
    if let Some(oid) = name.strip_prefix("pg_enum_").and_then(|o| o.parse().ok()) {
        return session.codec(oid).ok();
    }
    if let Some(codec) = compare::codec_of(name) {
        return Some(codec);
    }
    let element = name.strip_prefix("pg_array_")?.parse().ok()?;
    Some(TypeCodec::Array(Box::new(session.codec(element).ok()?), element, b','))
}

fn create(db: *mut ffi::sqlite3, name: &CStr, codec: TypeCodec) -> c_int {
    let data = Box::into_raw(Box::new(codec));
    // SAFETY: `db` is open. Unlike functions, SQLite does not call the destructor when this fails.
    unsafe {
        let code = ffi::sqlite3_create_collation_v2(
            db,
            name.as_ptr(),
            ffi::SQLITE_UTF8,
            data.cast(),
            Some(collate),
            Some(drop_codec),
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
    if let Some(codec) = name.to_str().ok().and_then(|n| codec_of(n, session)) {
        // A failure leaves the collation missing, which SQLite reports.
        let _ = create(db, name, codec);
    }
}

/// Registers `decimal` and its like, and the maker of the others. `session` must live as long as the connection (the
/// functions registered with it see to that).
pub fn register(db: *mut ffi::sqlite3, session: &Arc<SessionCell>) -> Result<()> {
    if create(db, c"decimal", TypeCodec::Numeric) != ffi::SQLITE_OK {
        return Err(PgError::internal("registering the collation decimal failed"));
    }
    // SAFETY: see above.
    let code = unsafe { ffi::sqlite3_collation_needed(db, Arc::as_ptr(session) as *mut c_void, Some(needed)) };
    if code != ffi::SQLITE_OK {
        return Err(PgError::internal("registering the collations failed"));
    }
    Ok(())
}

/// Forgets the collation of an enum whose labels changed, so that the next statement asks for it anew.
pub fn refresh_enum(db: *mut ffi::sqlite3, session: &SessionCell, enum_oid: pgsqlite_types::Oid) -> Result<()> {
    let name = std::ffi::CString::new(format!("pg_enum_{enum_oid}")).map_err(|e| PgError::internal(e.to_string()))?;
    match create(db, &name, session.codec(enum_oid)?) {
        ffi::SQLITE_OK => Ok(()),
        _ => Err(PgError::internal("replacing an enum's collation failed")),
    }
}
