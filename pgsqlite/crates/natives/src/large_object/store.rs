//! Large objects in the file: a table of them, and one of their contents in chunks. Both are made with the first object.
//!
//! A chunk that was never written is not there, and the last one may be short: what is missing before the end is zeros.

use pgsqlite_metadata::store::{self, sqlite_error};
use pgsqlite_sql::acl::AclItem;
use pgsqlite_sql::catalog::Catalog;
use pgsqlite_types::work;
use pgsqlite_types::{Oid, PgError, Result, SqlState};
use rusqlite::{params, Connection, OptionalExtension, Row};

/// Bytes of a chunk.
const CHUNK: u64 = 16 << 10;
/// Bytes of the longest object: as many as PostgreSQL's pages of 2 KiB can hold.
pub const LONGEST: u64 = 2048 * i32::MAX as u64;

const TABLES: &str = "
CREATE TABLE main.__pgsqlite_large_object (oid INTEGER PRIMARY KEY, owner INTEGER NOT NULL, version INTEGER NOT NULL, acl TEXT);
CREATE TABLE main.__pgsqlite_large_object_data (
  object INTEGER NOT NULL,
  chunk INTEGER NOT NULL,
  data BLOB NOT NULL,
  PRIMARY KEY (object, chunk)
);
";

/// What is known of an object.
#[derive(Debug, Clone)]
pub struct Found {
    pub object: Oid,
    pub owner: Oid,
    /// None: the owner alone has privileges
    pub acl: Option<Vec<AclItem>>,
    /// another one after each change of the content
    pub version: i64,
}

fn has_tables(conn: &Connection) -> Result<bool> {
    let sql = "SELECT 1 FROM main.sqlite_schema WHERE name = '__pgsqlite_large_object'";
    let found: Option<i64> = conn.query_row(sql, [], |r| r.get(0)).optional().map_err(sqlite_error)?;
    Ok(found.is_some())
}

/// An object; None: there is none of that number.
pub fn find(conn: &Connection, object: Oid) -> Result<Option<Found>> {
    if !has_tables(conn)? {
        return Ok(None);
    }
    conn.query_row("SELECT * FROM main.__pgsqlite_large_object WHERE oid = ?1", [object], of_row)
        .optional()
        .map_err(sqlite_error)
}

/// All objects in the order of their numbers.
pub fn all(conn: &Connection) -> Result<Vec<Found>> {
    if !has_tables(conn)? {
        return Ok(vec![]);
    }
    let read = || -> rusqlite::Result<Vec<Found>> {
        let mut statement = conn.prepare("SELECT * FROM main.__pgsqlite_large_object ORDER BY oid")?;
        let rows = statement.query_map([], of_row)?;
        rows.collect()
    };
    read().map_err(sqlite_error)
}

fn of_row(row: &Row) -> rusqlite::Result<Found> {
    // a table of an earlier version has no privileges
    let acl: Option<String> = if row.as_ref().column_count() > 3 { row.get(3)? } else { None };
    let acl = acl.map(|acl| serde_json::from_str(&acl)).transpose();
    let acl = acl.map_err(|e| rusqlite::Error::FromSqlConversionFailure(3, rusqlite::types::Type::Text, e.into()))?;
    Ok(Found { object: row.get(0)?, owner: row.get(1)?, version: row.get(2)?, acl })
}

/// Gives an object that is there another list of privileges.
pub fn set_acl(conn: &Connection, object: Oid, acl: &Option<Vec<AclItem>>) -> Result<()> {
    let columns = "SELECT 1 FROM pragma_table_info('__pgsqlite_large_object', 'main') WHERE name = 'acl'";
    let found: Option<i64> = conn.query_row(columns, [], |r| r.get(0)).optional().map_err(sqlite_error)?;
    if found.is_none() {
        conn.execute_batch("ALTER TABLE main.__pgsqlite_large_object ADD COLUMN acl TEXT").map_err(sqlite_error)?;
    }
    let acl = acl.as_ref().map(serde_json::to_string).transpose().map_err(|e| PgError::internal(e.to_string()))?;
    let sql = "UPDATE main.__pgsqlite_large_object SET acl = ?2 WHERE oid = ?1";
    conn.execute(sql, params![object, acl]).map_err(sqlite_error)?;
    Ok(())
}

/// Gives what is stored of all contents: the object, the place of the part in it, the bytes. What lies between is zeros.
pub fn each_part(conn: &Connection, mut see: impl FnMut(Oid, u64, &[u8]) -> Result<()>) -> Result<()> {
    if !has_tables(conn)? {
        return Ok(());
    }
    let sql = "SELECT object, chunk, data FROM main.__pgsqlite_large_object_data ORDER BY object, chunk";
    let mut statement = conn.prepare(sql).map_err(sqlite_error)?;
    let mut rows = statement.query([]).map_err(sqlite_error)?;
    while let Some(row) = rows.next().map_err(sqlite_error)? {
        work::visit();
        let object = row.get(0).map_err(sqlite_error)?;
        let chunk: i64 = row.get(1).map_err(sqlite_error)?;
        let data = row.get_ref(2).map_err(sqlite_error)?.as_blob();
        let data = data.map_err(|e| PgError::new(SqlState::DATA_CORRUPTED, e.to_string()))?;
        see(object, chunk as u64 * CHUNK, data)?;
    }
    Ok(())
}

/// Makes an empty object. `object`: its number; None: one that is free. Errors: 23505.
pub fn create(conn: &Connection, catalog: &Catalog, object: Option<Oid>, owner: Oid) -> Result<Oid> {
    if store::version(conn)?.is_none() {
        store::init(conn, catalog)?;
    }
    if !has_tables(conn)? {
        conn.execute_batch(TABLES).map_err(sqlite_error)?;
    }
    let object = match object {
        Some(object) if find(conn, object)?.is_some() => {
            return Err(PgError::new(
                SqlState::UNIQUE_VIOLATION,
                "duplicate key value violates unique constraint \"pg_largeobject_metadata_oid_index\"",
            )
            .detail(format!("Key (oid)=({object}) already exists."))
            .schema("pg_catalog")
            .table("pg_largeobject_metadata")
            .constraint("pg_largeobject_metadata_oid_index"))
        }
        Some(object) => object,
        None => loop {
            let next = "UPDATE main.__pgsqlite_meta SET value = value + 1 WHERE key = 'next_oid' RETURNING value - 1";
            let free: Oid = conn.query_row(next, [], |r| r.get(0)).map_err(sqlite_error)?;
            if find(conn, free)?.is_none() {
                break free;
            }
        },
    };
    let sql = "INSERT INTO main.__pgsqlite_large_object (oid, owner, version) VALUES (?1, ?2, 0)";
    conn.execute(sql, [object, owner]).map_err(sqlite_error)?;
    Ok(object)
}

/// Removes an object that is there.
pub fn unlink(conn: &Connection, object: Oid) -> Result<()> {
    conn.execute("DELETE FROM main.__pgsqlite_large_object_data WHERE object = ?1", [object]).map_err(sqlite_error)?;
    conn.execute("DELETE FROM main.__pgsqlite_large_object WHERE oid = ?1", [object]).map_err(sqlite_error)?;
    Ok(())
}

/// Gives an object that is there to a role.
pub fn set_owner(conn: &Connection, object: Oid, owner: Oid) -> Result<()> {
    let sql = "UPDATE main.__pgsqlite_large_object SET owner = ?2 WHERE oid = ?1";
    conn.execute(sql, [object, owner]).map_err(sqlite_error)?;
    Ok(())
}

/// Bytes of an object.
pub fn size(conn: &Connection, object: Oid) -> Result<u64> {
    let sql = "SELECT chunk, length(data) FROM main.__pgsqlite_large_object_data WHERE object = ?1 ORDER BY chunk DESC LIMIT 1";
    let last: Option<(i64, i64)> =
        conn.query_row(sql, [object], |r| Ok((r.get(0)?, r.get(1)?))).optional().map_err(sqlite_error)?;
    Ok(last.map_or(0, |(chunk, length)| chunk as u64 * CHUNK + length as u64))
}

/// As many bytes from `start` on as there are, `length` at most.
pub fn read(conn: &Connection, object: Oid, start: u64, length: u64) -> Result<Vec<u8>> {
    let end = size(conn, object)?.min(start.saturating_add(length));
    if start >= end {
        return Ok(vec![]);
    }
    let mut out = vec![0; (end - start) as usize];
    let mut fill = || -> rusqlite::Result<()> {
        let mut statement = conn.prepare(
            "SELECT chunk, data FROM main.__pgsqlite_large_object_data WHERE object = ?1 AND chunk BETWEEN ?2 AND ?3",
        )?;
        let mut rows = statement.query(params![object, (start / CHUNK) as i64, ((end - 1) / CHUNK) as i64])?;
        while let Some(row) = rows.next()? {
            work::visit();
            let from = row.get::<_, i64>(0)? as u64 * CHUNK;
            let data = row.get_ref(1)?.as_blob().map_err(rusqlite::Error::from)?;
            let (first, behind) = (start.max(from), end.min(from + data.len() as u64));
            if first < behind {
                let part = &data[(first - from) as usize..(behind - from) as usize];
                out[(first - start) as usize..(behind - start) as usize].copy_from_slice(part);
            }
        }
        Ok(())
    };
    fill().map_err(sqlite_error)?;
    Ok(out)
}

fn chunk_of(conn: &Connection, object: Oid, chunk: u64) -> Result<Vec<u8>> {
    let sql = "SELECT data FROM main.__pgsqlite_large_object_data WHERE object = ?1 AND chunk = ?2";
    let found = conn.query_row(sql, params![object, chunk as i64], |r| r.get(0)).optional().map_err(sqlite_error)?;
    Ok(found.unwrap_or_default())
}

fn put_chunk(conn: &Connection, object: Oid, chunk: u64, data: &[u8]) -> Result<()> {
    let sql = "INSERT INTO main.__pgsqlite_large_object_data (object, chunk, data) VALUES (?1, ?2, ?3)
               ON CONFLICT DO UPDATE SET data = excluded.data";
    conn.execute(sql, params![object, chunk as i64, data]).map_err(sqlite_error)?;
    Ok(())
}

/// The content has changed: the object has another version.
fn touch(conn: &Connection, object: Oid) -> Result<()> {
    let sql = "UPDATE main.__pgsqlite_large_object SET version = ?2 WHERE oid = ?1";
    conn.execute(sql, params![object, pgsqlite_metadata::counter::next_number() as i64]).map_err(sqlite_error)?;
    Ok(())
}

/// Puts bytes from `start` on, over those that are there and behind them. ([`LONGEST`] is the caller's to see to.)
pub fn write(conn: &Connection, object: Oid, start: u64, bytes: &[u8]) -> Result<()> {
    let end = start + bytes.len() as u64;
    let mut at = start;
    while at < end {
        work::visit();
        let (chunk, inside) = (at / CHUNK, (at % CHUNK) as usize);
        let length = ((CHUNK - inside as u64).min(end - at)) as usize;
        let part = &bytes[(at - start) as usize..][..length];
        if length as u64 == CHUNK {
            put_chunk(conn, object, chunk, part)?;
        } else {
            let mut data = chunk_of(conn, object, chunk)?;
            data.resize(data.len().max(inside + length), 0);
            data[inside..inside + length].copy_from_slice(part);
            put_chunk(conn, object, chunk, &data)?;
        }
        at += length as u64;
    }
    touch(conn, object)
}

/// Cuts an object, or makes it longer by zeros. ([`LONGEST`] is the caller's to see to.)
pub fn truncate(conn: &Connection, object: Oid, length: u64) -> Result<()> {
    let sql = "DELETE FROM main.__pgsqlite_large_object_data WHERE object = ?1 AND chunk >= ?2";
    conn.execute(sql, params![object, length.div_ceil(CHUNK) as i64]).map_err(sqlite_error)?;
    if length > 0 {
        let last = (length - 1) / CHUNK;
        let mut data = chunk_of(conn, object, last)?;
        data.resize((length - last * CHUNK) as usize, 0);
        put_chunk(conn, object, last, &data)?;
    }
    touch(conn, object)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_are_as_a_vector_would_be() {
        let conn = &pgsqlite_storage::vfs::open::in_memory().expect("SQLite opens");
        let catalog = &store::load(conn).expect("an empty file loads");
        let object = create(conn, catalog, None, 10).unwrap();
        assert!(create(conn, catalog, Some(object), 10).is_err());
        let mut expected: Vec<u8> = vec![];
        let chunk = CHUNK as usize;
        let writes = [
            (0, 5),
            (3, 10),
            (chunk - 2, 4),
            (5 * chunk, 1),
            (2 * chunk, chunk),
            (chunk / 2, 3 * chunk + 7),
            (7 * chunk, chunk),
        ];
        for (number, (start, length)) in writes.into_iter().enumerate() {
            let bytes: Vec<u8> = (0..length).map(|i| (i % 200) as u8 + number as u8 + 1).collect();
            write(conn, object, start as u64, &bytes).unwrap();
            expected.resize(expected.len().max(start + length), 0);
            expected[start..start + length].copy_from_slice(&bytes);
            assert_eq!(read(conn, object, 0, u64::MAX).unwrap(), expected, "{start} {length}");
        }
        for (start, length) in [(0, 1), (chunk - 1, 2), (chunk, chunk), (6 * chunk, 3 * chunk), (9 * chunk, 5), (3, 0)]
        {
            let end = (start + length).min(expected.len());
            let wanted = expected.get(start..end).unwrap_or_default();
            assert_eq!(read(conn, object, start as u64, length as u64).unwrap(), wanted, "{start} {length}");
        }
        for length in
            [8 * chunk, 7 * chunk + 1, 7 * chunk, 4 * chunk, chunk + 3, 2 * chunk, 6 * chunk + 1, 5, 0, 1, chunk]
        {
            truncate(conn, object, length as u64).unwrap();
            expected.resize(length, 0);
            assert_eq!(size(conn, object).unwrap(), length as u64);
            assert_eq!(read(conn, object, 0, u64::MAX).unwrap(), expected, "{length}");
        }
        unlink(conn, object).unwrap();
        assert!(find(conn, object).unwrap().is_none());
        let left: i64 = conn.query_row("SELECT count(*) FROM __pgsqlite_large_object_data", [], |r| r.get(0)).unwrap();
        assert_eq!(left, 0);
    }
}
