//! Numbers of transactions that have committed, in the table `__pgsqlite_transaction`: the last [`KEPT`] in the order of their commits.
//! Row 0 has the highest number that was forgotten. A transaction of whose number nobody knows is not recorded.

use super::{init, sqlite_error, version};
use crate::counter::next_number;
use pgsqlite_sql::catalog::Catalog;
use pgsqlite_types::Result;
use rusqlite::{Connection, OptionalExtension};

/// How many commits are remembered at least.
pub const KEPT: i64 = 65_536;
/// So many are forgotten at once.
const FORGOTTEN_TOGETHER: i64 = 4_096;

/// What a place that remembers transactions says of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recorded {
    /// it has committed
    Committed,
    /// it has not committed
    Absent,
    /// it may have committed too long ago
    Forgotten,
}

impl Recorded {
    /// What two places say together.
    pub fn or(self, other: Recorded) -> Recorded {
        match (self, other) {
            (Recorded::Committed, _) | (_, Recorded::Committed) => Recorded::Committed,
            (Recorded::Forgotten, _) | (_, Recorded::Forgotten) => Recorded::Forgotten,
            _ => Recorded::Absent,
        }
    }
}

fn has_table(conn: &Connection) -> Result<bool> {
    let sql = "SELECT 1 FROM main.sqlite_schema WHERE type = 'table' AND name = '__pgsqlite_transaction'";
    let found = conn.prepare_cached(sql).and_then(|mut s| s.query_row([], |_| Ok(())).optional());
    Ok(found.map_err(sqlite_error)?.is_some())
}

/// The table, which is made if it is not there. Returns whether it was made.
fn prepare(conn: &Connection, catalog: &Catalog) -> Result<bool> {
    if has_table(conn)? {
        return Ok(false);
    }
    if version(conn)?.is_none() {
        init(conn, catalog)?;
    }
    conn.execute_batch(
        "CREATE TABLE main.__pgsqlite_transaction (place INTEGER PRIMARY KEY, number INTEGER NOT NULL);
         INSERT INTO main.__pgsqlite_transaction VALUES (0, 0)",
    )
    .map_err(sqlite_error)?;
    Ok(true)
}

/// Records in the running transaction that it commits. Returns whether that has changed the file's schema.
pub fn record(conn: &Connection, catalog: &Catalog, number: u64) -> Result<bool> {
    let made = prepare(conn, catalog)?;
    let insert = "INSERT INTO main.__pgsqlite_transaction (number) VALUES (?1)";
    conn.prepare_cached(insert).and_then(|mut s| s.execute([number as i64])).map_err(sqlite_error)?;
    let place = conn.last_insert_rowid();
    if place % FORGOTTEN_TOGETHER == 0 && place > KEPT {
        let oldest = place - KEPT;
        let sql = "UPDATE main.__pgsqlite_transaction SET number = \
                   (SELECT max(number) FROM main.__pgsqlite_transaction WHERE place <= ?1) WHERE place = 0";
        conn.execute(sql, [oldest]).map_err(sqlite_error)?;
        let sql = "DELETE FROM main.__pgsqlite_transaction WHERE place BETWEEN 1 AND ?1";
        conn.execute(sql, [oldest]).map_err(sqlite_error)?;
    }
    Ok(made)
}

/// Another database is removed in the running transaction, and with it what its file has recorded: of the numbers up to now nobody can say any more that
/// they have not committed.
pub fn forget_others(conn: &Connection, catalog: &Catalog) -> Result<()> {
    prepare(conn, catalog)?;
    let now = next_number() as i64;
    let sql = "UPDATE main.__pgsqlite_transaction SET number = ?1 WHERE place = 0";
    conn.execute(sql, [now]).map_err(sqlite_error)?;
    Ok(())
}

/// What a file says of a number, as it is now.
pub fn recorded(conn: &Connection, number: u64) -> Result<Recorded> {
    let Ok(number) = i64::try_from(number) else { return Ok(Recorded::Absent) };
    if !has_table(conn)? {
        return Ok(Recorded::Absent);
    }
    let sql = "SELECT place > 0 FROM main.__pgsqlite_transaction WHERE place > 0 AND number = ?1 OR place = 0 AND number >= ?1 \
               ORDER BY place DESC LIMIT 1";
    let found = conn.prepare_cached(sql).and_then(|mut s| s.query_row([number], |r| r.get::<_, bool>(0)).optional());
    Ok(match found.map_err(sqlite_error)? {
        Some(true) => Recorded::Committed,
        Some(false) => Recorded::Forgotten,
        None => Recorded::Absent,
    })
}

/// The highest number that a file knows: those to come must be above, whatever the clock says.
pub fn highest(conn: &Connection) -> Result<u64> {
    if !has_table(conn)? {
        return Ok(0);
    }
    let sql = "SELECT max(number) FROM main.__pgsqlite_transaction";
    let highest: Option<i64> = conn.query_row(sql, [], |r| r.get(0)).map_err(sqlite_error)?;
    Ok(highest.unwrap_or(0).max(0) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The record is bounded, and what it has forgotten it does not deny.
    #[test]
    fn what_is_forgotten_is_not_denied() {
        let conn = pgsqlite_storage::vfs::open::in_memory().expect("opens");
        let catalog = crate::store::base::catalog();
        assert_eq!(recorded(&conn, 7).expect("reads"), Recorded::Absent);
        assert_eq!(highest(&conn).expect("reads"), 0);
        conn.execute_batch("BEGIN").expect("begins");
        assert!(record(&conn, catalog, 1_000_000).expect("records"));
        // an old transaction that commits late
        assert!(!record(&conn, catalog, 10).expect("records"));
        let last = KEPT + FORGOTTEN_TOGETHER;
        for number in 3..=last {
            assert!(!record(&conn, catalog, 1_000_000 + 2 * number as u64).expect("records"));
        }
        conn.execute_batch("COMMIT").expect("commits");
        let kept: i64 =
            conn.query_row("SELECT count(*) FROM __pgsqlite_transaction", [], |r| r.get(0)).expect("counts");
        assert_eq!(kept, KEPT + 1);
        let newest = 1_000_000 + 2 * last as u64;
        assert_eq!(highest(&conn).expect("reads"), newest);
        assert_eq!(recorded(&conn, newest).expect("reads"), Recorded::Committed);
        assert_eq!(recorded(&conn, newest - 1).expect("reads"), Recorded::Absent);
        for forgotten in [10, 11, 1_000_000, 1_000_000 + 2 * FORGOTTEN_TOGETHER as u64] {
            assert_eq!(recorded(&conn, forgotten).expect("reads"), Recorded::Forgotten);
        }
        assert_eq!(recorded(&conn, 1_000_001 + 2 * FORGOTTEN_TOGETHER as u64).expect("reads"), Recorded::Absent);
        forget_others(&conn, catalog).expect("forgets");
        assert_eq!(recorded(&conn, newest - 1).expect("reads"), Recorded::Forgotten);
        assert_eq!(recorded(&conn, newest).expect("reads"), Recorded::Committed);
    }
}
