//! Prepared transactions, in the table `__pgsqlite_prepared`: what each has changed, and the locks that do not follow from that. The table is
//! made by the first PREPARE TRANSACTION.

use super::{init, sqlite_error, version};
use pgsqlite_sql::catalog::Catalog;
use pgsqlite_storage::changes::change_log::ChangeLog;
use pgsqlite_types::{Oid, PgError, Result, SqlState};
use rusqlite::{params, Connection, OptionalExtension};
use serde::{Deserialize, Serialize};

/// A prepared transaction, without its changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// the name that PREPARE TRANSACTION gave it
    pub gid: String,
    /// the number of the transaction
    pub number: u64,
    /// when it was prepared, microseconds since 2000-01-01 UTC
    pub prepared: i64,
    /// the role that has prepared it
    pub owner: Oid,
    /// the locks that it keeps
    pub locks: Locks,
}

/// What a prepared transaction keeps beside its changes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Locks {
    /// it is SERIALIZABLE
    pub serializable: bool,
    /// of each table of its log: the names of the columns
    pub columns: Vec<Vec<String>>,
    /// relations with the number of the mode
    pub relations: Vec<(Oid, i32)>,
    /// advisory locks with one key, and whether they are shared
    pub advisory: Vec<(i64, bool)>,
    /// … with two keys
    pub advisory_pairs: Vec<(i32, i32, bool)>,
    /// rows that it has locked by itself: table, number, and the number of the mode
    pub rows: Vec<(String, i64, i64)>,
}

fn has_table(conn: &Connection) -> Result<bool> {
    let sql = "SELECT 1 FROM main.sqlite_schema WHERE type = 'table' AND name = '__pgsqlite_prepared'";
    let found = conn.prepare_cached(sql).and_then(|mut s| s.query_row([], |_| Ok(())).optional());
    Ok(found.map_err(sqlite_error)?.is_some())
}

/// Stores a transaction.
pub fn put(conn: &Connection, catalog: &Catalog, record: &Record, log: &ChangeLog) -> Result<()> {
    if !has_table(conn)? {
        if version(conn)?.is_none() {
            init(conn, catalog)?;
        }
        conn.execute_batch(
            "CREATE TABLE main.__pgsqlite_prepared (gid TEXT NOT NULL UNIQUE, number INTEGER NOT NULL, prepared INTEGER NOT NULL, \
             owner INTEGER NOT NULL, locks TEXT NOT NULL, changes BLOB NOT NULL)",
        )
        .map_err(sqlite_error)?;
    }
    let locks = serde_json::to_string(&record.locks)
        .map_err(|e| PgError::internal(format!("the locks of a transaction as JSON: {e}")))?;
    let insert = "INSERT INTO main.__pgsqlite_prepared VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    let values = params![record.gid, record.number as i64, record.prepared, record.owner, locks, log.to_bytes()];
    conn.execute(insert, values).map_err(sqlite_error)?;
    Ok(())
}

/// Removes a transaction. Returns whether it was there.
pub fn remove(conn: &Connection, gid: &str) -> Result<bool> {
    if !has_table(conn)? {
        return Ok(false);
    }
    let removed = conn.execute("DELETE FROM main.__pgsqlite_prepared WHERE gid = ?1", [gid]).map_err(sqlite_error)?;
    Ok(removed > 0)
}

/// Whether a transaction is stored.
pub fn is_stored(conn: &Connection, gid: &str) -> Result<bool> {
    if !has_table(conn)? {
        return Ok(false);
    }
    let sql = "SELECT 1 FROM main.__pgsqlite_prepared WHERE gid = ?1";
    Ok(conn.query_row(sql, [gid], |_| Ok(())).optional().map_err(sqlite_error)?.is_some())
}

/// What a transaction has changed. Errors: XX001 where the file does not have it, or not as it was stored.
pub fn changes(conn: &Connection, gid: &str) -> Result<ChangeLog> {
    let sql = "SELECT changes FROM main.__pgsqlite_prepared WHERE gid = ?1";
    let stored = match has_table(conn)? {
        true => conn.query_row(sql, [gid], |row| row.get::<_, Vec<u8>>(0)).optional().map_err(sqlite_error)?,
        false => None,
    };
    let log = stored.and_then(|bytes| ChangeLog::from_bytes(&bytes).ok());
    log.ok_or_else(|| damaged(gid))
}

/// XX001: the record of a prepared transaction is not what was stored.
pub fn damaged(gid: &str) -> PgError {
    PgError::new(
        SqlState::DATA_CORRUPTED,
        format!("the record of the prepared transaction \"{gid}\" is missing or damaged"),
    )
    .hint("ROLLBACK PREPARED removes it.")
}

/// The transactions of a file, in the order of their preparation. Errors of single records are those of their `locks`.
pub fn all(conn: &Connection) -> Result<Vec<(Record, bool)>> {
    if !has_table(conn)? {
        return Ok(vec![]);
    }
    let sql = "SELECT gid, number, prepared, owner, locks FROM main.__pgsqlite_prepared ORDER BY rowid";
    let mut statement = conn.prepare(sql).map_err(sqlite_error)?;
    let rows = statement.query_map([], |row| {
        let locks: Option<Locks> = serde_json::from_str(&row.get::<_, String>(4)?).ok();
        let is_whole = locks.is_some();
        let (gid, number) = (row.get(0)?, row.get::<_, i64>(1)?.max(0) as u64);
        let record =
            Record { gid, number, prepared: row.get(2)?, owner: row.get(3)?, locks: locks.unwrap_or_default() };
        Ok((record, is_whole))
    });
    let found = rows.map_err(sqlite_error)?.collect::<rusqlite::Result<_>>();
    found.map_err(sqlite_error)
}

/// How many transactions are stored.
pub fn count(conn: &Connection) -> Result<u64> {
    match has_table(conn)? {
        true => {
            let sql = "SELECT count(*) FROM main.__pgsqlite_prepared";
            conn.query_row(sql, [], |row| row.get::<_, i64>(0)).map(i64::unsigned_abs).map_err(sqlite_error)
        }
        false => Ok(0),
    }
}

/// In the copy of a file, which has some: what was prepared stays with the original.
pub fn forget(conn: &Connection) -> Result<()> {
    conn.execute_batch("DELETE FROM main.__pgsqlite_prepared").map_err(sqlite_error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pgsqlite_storage::changes::change_log::Operation;
    use pgsqlite_types::DatumRef;

    #[test]
    fn a_record_comes_back() {
        let conn = pgsqlite_storage::vfs::open::in_memory().expect("opens");
        let locks = Locks {
            serializable: true,
            columns: vec![vec!["a".into()]],
            relations: vec![(20_000, 3)],
            advisory: vec![(-1, true)],
            advisory_pairs: vec![(1, 2, false)],
            rows: vec![("t".into(), -5, 2)],
        };
        let record = Record { gid: "it's".into(), number: 5, prepared: -1, owner: 10, locks };
        let mut log = ChangeLog::default();
        let table = log.table("t");
        log.push(table, Operation::Insert, true, (1, 1), 1);
        log.push_value(DatumRef::Text("x"));
        assert_eq!(all(&conn).expect("reads"), vec![]);
        put(&conn, crate::store::base::catalog(), &record, &log).expect("stores");
        assert_eq!(all(&conn).expect("reads"), vec![(record.clone(), true)]);
        assert_eq!(changes(&conn, "it's").expect("reads").to_bytes(), log.to_bytes());
        conn.execute_batch("UPDATE __pgsqlite_prepared SET changes = x'01', locks = '{'").expect("updates");
        assert_eq!(changes(&conn, "it's").expect_err("is damaged").code(), SqlState::DATA_CORRUPTED);
        assert!(!all(&conn).expect("reads")[0].1);
        assert!(is_stored(&conn, "it's").expect("reads"));
        assert!(remove(&conn, "it's").expect("removes") && !remove(&conn, "it's").expect("removes"));
        assert_eq!(count(&conn).expect("counts"), 0);
        put(&conn, crate::store::base::catalog(), &Record { gid: "other".into(), ..record }, &log).expect("stores");
        assert_eq!(count(&conn).expect("counts"), 1);
        forget(&conn).expect("forgets");
        assert_eq!(count(&conn).expect("counts"), 0);
    }
}
