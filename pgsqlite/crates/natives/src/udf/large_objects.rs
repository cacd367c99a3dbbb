//! The functions of large objects (manual, "Large Objects"): made, opened, read, written and removed by OID and descriptor.
//!
//! A descriptor that was opened for reading only, and `lo_get`, show what the object was when the descriptor was opened or the
//! statement began. The file has the newest content alone, so that reading an object that was changed since is refused.

use super::shim::{Call, Scalar};
use super::strings::invalid_parameter;
use crate::large_object::store::{self, Found, LONGEST};
use crate::large_object::Descriptor;
use pgsqlite_sql::acl::{self, privilege, AclObject};
use pgsqlite_types::{Datum, Oid, PgError, Result, SqlState};
use rusqlite::Connection;

/// Flags of `lo_open`.
const WRITE: i64 = 0x20000;
const READ: i64 = 0x40000;
/// Bytes of the longest value.
const LONGEST_VALUE: u64 = (1 << 30) - 5;

/// rusqlite's view of the connection, which it does not close.
fn connection(c: &Call) -> Result<rusqlite::Connection> {
    // SAFETY: the handle belongs to the running call's connection and outlives this view of it.
    unsafe { rusqlite::Connection::from_handle(c.connection()) }.map_err(|e| PgError::internal(e.to_string()))
}

fn missing(object: Oid) -> PgError {
    PgError::new(SqlState::UNDEFINED_OBJECT, format!("large object {object} does not exist"))
}

/// An object that is there. Errors: 42704.
fn found(conn: &Connection, object: Oid) -> Result<Found> {
    store::find(conn, object)?.ok_or_else(|| missing(object))
}

/// An object that the role may read and, if it `writes`, change. Errors: 42704, 42501.
fn permitted(c: &Call, conn: &Connection, object: Oid, writes: bool) -> Result<Found> {
    let found = found(conn, object)?;
    let state = c.session.state();
    let has = acl::privileges(&state.catalog, state.user_oid, AclObject::LargeObject, found.owner, found.acl.as_ref());
    let needed = if writes { privilege::SELECT | privilege::UPDATE } else { privilege::SELECT };
    if needed & !has != 0 {
        let message = format!("permission denied for large object {object}");
        return Err(PgError::new(SqlState::INSUFFICIENT_PRIVILEGE, message));
    }
    Ok(found)
}

fn void() -> Result<Datum> {
    Ok(Datum::Text(String::new()))
}

/// Works on the session's descriptors.
fn with_descriptors<R>(c: &Call, work: impl FnOnce(&mut crate::large_object::Descriptors) -> Result<R>) -> Result<R> {
    let server = c.session.state().server.clone();
    let server = server.ok_or_else(|| PgError::not_supported("an open large object outside a session"))?;
    let result = work(&mut server.large_objects().lock());
    result
}

fn descriptor(c: &Call) -> Result<Descriptor> {
    with_descriptors(c, |all| all.get(c.int(0)?).cloned())
}

/// The place that a descriptor stands at from now on.
fn stand_at(c: &Call, place: u64) -> Result<()> {
    with_descriptors(c, |all| all.get(c.int(0)?).map(|d| d.place = place))
}

/// Notes that this statement changes an object: what reads it as it was when the statement began does not get the new content.
fn note_change(c: &Call, object: Oid) {
    c.session.rows.changed_objects.borrow_mut().insert(object);
}

// --- objects -------------------------------------------------------------------------------------------------------------

fn create_object(c: &Call, object: Option<Oid>, name: &str) -> Result<Oid> {
    c.session.routines.check_may_write(name)?;
    let (catalog, user) = {
        let state = c.session.state();
        (state.catalog.clone(), state.user_oid)
    };
    let object = store::create(&connection(c)?, &catalog, object, user)?;
    note_change(c, object);
    Ok(object)
}

/// 0 stands for a number that is free.
fn wanted(c: &Call, i: usize) -> Result<Option<Oid>> {
    Ok(Some(c.int(i)? as Oid).filter(|object| *object != 0))
}

fn create(c: &Call) -> Result<Datum> {
    Ok(Datum::Int(create_object(c, wanted(c, 0)?, "lo_create()")?.into()))
}
fn creat(c: &Call) -> Result<Datum> {
    Ok(Datum::Int(create_object(c, None, "lo_creat()")?.into()))
}
fn from_bytes(c: &Call) -> Result<Datum> {
    let object = create_object(c, wanted(c, 0)?, "lo_from_bytea()")?;
    store::write(&connection(c)?, object, 0, c.bytes(1)?)?;
    Ok(Datum::Int(object.into()))
}
fn unlink(c: &Call) -> Result<Datum> {
    let object = c.int(0)? as Oid;
    let conn = connection(c)?;
    let found = found(&conn, object)?;
    {
        let state = c.session.state();
        if !acl::owns(&state.catalog, state.user_oid, found.owner) {
            let message = format!("must be owner of large object {object}");
            return Err(PgError::new(SqlState::INSUFFICIENT_PRIVILEGE, message));
        }
    }
    c.session.routines.check_may_write("lo_unlink()")?;
    store::unlink(&conn, object)?;
    note_change(c, object);
    with_descriptors(c, |all| {
        all.close_of(object);
        Ok(())
    })?;
    Ok(Datum::Int(1))
}

/// `lo_get`: `length` bytes from `start` on; None: all.
fn get_part(c: &Call, start: i64, length: Option<i64>) -> Result<Datum> {
    let (conn, object) = (connection(c)?, c.int(0)? as Oid);
    permitted(c, &conn, object, false)?;
    if c.session.rows.changed_objects.borrow().contains(&object) {
        return Err(PgError::not_supported("reading a large object in the statement that changes it"));
    }
    let start = target(start)?;
    let there = store::size(&conn, object)?.saturating_sub(start);
    let length = length.map_or(there, |length| there.min(length as u64));
    if length > LONGEST_VALUE {
        return Err(PgError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, "large object read request is too large"));
    }
    store::read(&conn, object, start, length).map(Datum::Blob)
}
fn get(c: &Call) -> Result<Datum> {
    get_part(c, 0, None)
}
fn get_fragment(c: &Call) -> Result<Datum> {
    let length = c.int(2)?;
    if length < 0 {
        return Err(invalid_parameter("requested length cannot be negative"));
    }
    get_part(c, c.int(1)?, Some(length))
}
fn put(c: &Call) -> Result<Datum> {
    let object = c.int(0)? as Oid;
    let conn = connection(c)?;
    permitted(c, &conn, object, true)?;
    let start = target(c.int(1)?)?;
    c.session.routines.check_may_write("lo_put()")?;
    write_at(c, &conn, object, start, c.bytes(2)?)?;
    void()
}

/// A place in an object. Errors: 22023.
fn target(place: i64) -> Result<u64> {
    match u64::try_from(place) {
        Ok(place) if place <= LONGEST => Ok(place),
        _ => Err(invalid_parameter(format!("invalid large object seek target: {place}"))),
    }
}

fn write_at(c: &Call, conn: &Connection, object: Oid, start: u64, bytes: &[u8]) -> Result<()> {
    if start + bytes.len() as u64 > LONGEST {
        return Err(invalid_parameter(format!("invalid large object write request size: {}", bytes.len())));
    }
    if !bytes.is_empty() {
        store::write(conn, object, start, bytes)?;
        note_change(c, object);
    }
    Ok(())
}

// --- descriptors ---------------------------------------------------------------------------------------------------------

fn open(c: &Call) -> Result<Datum> {
    let (object, flags) = (c.int(0)? as Oid, c.int(1)?);
    if flags & (READ | WRITE) == 0 {
        return Err(invalid_parameter(format!("invalid flags for opening a large object: {flags}")));
    }
    let writes = flags & WRITE != 0;
    if writes {
        c.session.routines.check_not_read_only("lo_open(INV_WRITE)")?;
    }
    let found = permitted(c, &connection(c)?, object, writes)?;
    if !writes && c.session.rows.changed_objects.borrow().contains(&object) {
        return Err(PgError::not_supported("reading a large object in the statement that changes it"));
    }
    with_descriptors(c, |all| Ok(Datum::Int(all.open(object, writes, found.version).into())))
}
fn close(c: &Call) -> Result<Datum> {
    with_descriptors(c, |all| all.close(c.int(0)?))?;
    Ok(Datum::Int(0))
}

/// The object of a descriptor as it may be read: a change since a descriptor for reading was opened is not for it to see.
fn check_readable(conn: &Connection, descriptor: &Descriptor) -> Result<()> {
    let found = store::find(conn, descriptor.object)?;
    match (descriptor.writes, found) {
        (true, Some(_)) => Ok(()),
        (true, None) => Err(missing(descriptor.object)),
        (false, Some(found)) if found.version == descriptor.version => Ok(()),
        (false, _) => {
            Err(PgError::not_supported("reading a large object that has changed since it was opened for reading only"))
        }
    }
}

fn read(c: &Call) -> Result<Datum> {
    let descriptor = descriptor(c)?;
    let conn = connection(c)?;
    check_readable(&conn, &descriptor)?;
    let bytes = store::read(&conn, descriptor.object, descriptor.place, c.int(1)?.max(0) as u64)?;
    stand_at(c, descriptor.place + bytes.len() as u64)?;
    Ok(Datum::Blob(bytes))
}

/// A descriptor that may be written. Errors: 55000.
fn writable(c: &Call, conn: &Connection, name: &str) -> Result<Descriptor> {
    c.session.routines.check_not_read_only(name)?;
    let descriptor = descriptor(c)?;
    if !descriptor.writes {
        return Err(PgError::new(
            SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
            format!("large object descriptor {} was not opened for writing", c.int(0)?),
        ));
    }
    c.session.routines.check_may_write(name)?;
    check_readable(conn, &descriptor)?;
    Ok(descriptor)
}

fn write(c: &Call) -> Result<Datum> {
    let conn = connection(c)?;
    let (descriptor, bytes) = (writable(c, &conn, "lowrite()")?, c.bytes(1)?);
    write_at(c, &conn, descriptor.object, descriptor.place, bytes)?;
    stand_at(c, descriptor.place + bytes.len() as u64)?;
    Ok(Datum::Int(bytes.len() as i64))
}
fn truncate(c: &Call) -> Result<Datum> {
    let (conn, length) = (connection(c)?, c.int(1)?);
    let descriptor = writable(c, &conn, "lo_truncate()")?;
    let Some(length) = u64::try_from(length).ok().filter(|l| *l <= LONGEST) else {
        return Err(invalid_parameter(format!("invalid large object truncation target: {length}")));
    };
    store::truncate(&conn, descriptor.object, length)?;
    note_change(c, descriptor.object);
    Ok(Datum::Int(0))
}

/// Moves a descriptor: by an offset from the beginning (0), from where it stands (1) or from the end (2).
fn seek(c: &Call) -> Result<i64> {
    let descriptor = descriptor(c)?;
    let (offset, whence) = (c.int(1)?, c.int(2)?);
    let from = match whence {
        0 => 0,
        1 => descriptor.place,
        2 => {
            let conn = connection(c)?;
            check_readable(&conn, &descriptor)?;
            store::size(&conn, descriptor.object)?
        }
        other => return Err(invalid_parameter(format!("invalid whence setting: {other}"))),
    };
    let place = target((from as i64).wrapping_add(offset))?;
    Ok(place as i64)
}

/// As an integer. Errors: 22003, which leaves the descriptor where it stands.
fn short(c: &Call, place: i64, name: &str) -> Result<Datum> {
    if i32::try_from(place).is_err() {
        return Err(PgError::new(
            SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
            format!("{name} result out of range for large-object descriptor {}", c.int(0)?),
        ));
    }
    Ok(Datum::Int(place))
}
fn lseek(c: &Call) -> Result<Datum> {
    let place = seek(c)?;
    let shown = short(c, place, "lo_lseek")?;
    stand_at(c, place as u64)?;
    Ok(shown)
}
fn lseek64(c: &Call) -> Result<Datum> {
    let place = seek(c)?;
    stand_at(c, place as u64)?;
    Ok(Datum::Int(place))
}
fn tell(c: &Call) -> Result<Datum> {
    short(c, descriptor(c)?.place as i64, "lo_tell")
}
fn tell64(c: &Call) -> Result<Datum> {
    Ok(Datum::Int(descriptor(c)?.place as i64))
}

pub(crate) const FUNCTIONS: &[(&str, Scalar)] = &[
    ("be_lo_create", create),
    ("be_lo_creat", creat),
    ("be_lo_from_bytea", from_bytes),
    ("be_lo_unlink", unlink),
    ("be_lo_get", get),
    ("be_lo_get_fragment", get_fragment),
    ("be_lo_put", put),
    ("be_lo_open", open),
    ("be_lo_close", close),
    ("be_loread", read),
    ("be_lowrite", write),
    ("be_lo_truncate be_lo_truncate64", truncate),
    ("be_lo_lseek", lseek),
    ("be_lo_lseek64", lseek64),
    ("be_lo_tell", tell),
    ("be_lo_tell64", tell64),
];
