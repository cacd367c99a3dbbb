//! ANALYZE: what SQLite's planner knows of indexes (`sqlite_stat1`; "The sqlite_stat1 table" in SQLite's description of its file format).
//!
//! SQLite's ANALYZE reads each index from its beginning to its end. Of a large table that takes as long as reading all of it once for each index,
//! while PostgreSQL looks at a sample of the rows. So SQLite's own figures are taken of small tables alone. Of large ones it reads the first
//! entries of each index, and what it has found is exchanged for an estimate: rows at equal distances are looked up in the index, and a value
//! that `f` rows have stands for `1 / f` different values. How many values there are that many rows have is estimated from how often each of
//! them is met.

use super::relation_sizes::{estimated, hash_of};
use pgsqlite_metadata::store::sqlite_error;
use pgsqlite_sql::names::quoted;
use pgsqlite_types::work;
use pgsqlite_types::Result;
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension};
use std::collections::HashMap;

/// Of a table with fewer rows SQLite's own ANALYZE takes no time to speak of.
const LARGE: i64 = 100_000;
/// So many entries of each index of a large table SQLite reads first, so that the table has its rows in `sqlite_stat1`.
const FIRST: i64 = 100;
/// So many rows of a large table are looked up in each of its indexes, about.
const SAMPLE: i64 = 1_000;
/// So many rows with one value are counted, at most.
const FREQUENT: i64 = 100;

/// An index of a table, as far as a sample can tell about it.
struct Index {
    name: String,
    /// its columns, by their places in [`Table::columns`]
    columns: Vec<usize>,
}

/// A large table and its sample.
struct Table<'a> {
    conn: &'a Connection,
    /// with its database, as SQL has it
    name: String,
    rows: i64,
    columns: Vec<String>,
    /// rows at equal distances
    sample: Vec<Vec<Value>>,
}

/// ANALYZE of a table, or (None) of all tables of the database `main` or `temp`.
pub fn analyze(conn: &Connection, database: &str, table: Option<&str>) -> Result<()> {
    let mut changed = false;
    if let Some(table) = table {
        let rows = count(conn, database, table)?;
        let limit = if rows < LARGE { 0 } else { FIRST };
        within_limit(conn, limit, &format!("ANALYZE {database}.{}", quoted(table)))?;
        changed = rows >= LARGE;
        if changed {
            analyze_large(conn, database, table, rows)?;
        }
    } else {
        // (each table for itself would have SQLite read all figures as often as there are tables)
        within_limit(conn, LARGE, &format!("ANALYZE {database}"))?;
        for table in names(conn, &format!("SELECT DISTINCT tbl FROM {database}.sqlite_stat1"), [])? {
            work::visit();
            let rows = count(conn, database, &table)?;
            if rows >= LARGE {
                analyze_large(conn, database, &table, rows)?;
                changed = true;
            }
        }
    }
    if changed {
        // SQLite reads the figures again
        conn.execute_batch(&format!("ANALYZE {database}.sqlite_schema")).map_err(sqlite_error)?;
    }
    Ok(())
}

fn count(conn: &Connection, database: &str, table: &str) -> Result<i64> {
    let sql = format!("SELECT count(*) FROM {database}.{}", quoted(table));
    conn.query_row(&sql, [], |row| row.get(0)).map_err(sqlite_error)
}

/// Runs SQLite's ANALYZE, which reads about so many entries of each index. 0: all.
fn within_limit(conn: &Connection, limit: i64, sql: &str) -> Result<()> {
    conn.execute_batch(&format!("PRAGMA analysis_limit = {limit}")).map_err(sqlite_error)?;
    let result = conn.execute_batch(sql).map_err(sqlite_error);
    // (the connection is another session's later)
    conn.execute_batch("PRAGMA analysis_limit = 0").map_err(sqlite_error)?;
    result
}

/// Exchanges what SQLite has found at the beginnings of a large table's indexes.
fn analyze_large(conn: &Connection, database: &str, table: &str, rows: i64) -> Result<()> {
    let name = format!("{database}.{}", quoted(table));
    let put = |index: Option<&str>, figures: &str| {
        let sql = format!("UPDATE {database}.sqlite_stat1 SET stat = ?1 WHERE tbl = ?2 AND idx IS ?3");
        conn.execute(&sql, (figures, table, index)).map_err(sqlite_error)
    };
    put(None, &rows.to_string())?;
    let columns = names(conn, "SELECT name FROM pragma_table_xinfo(?1, ?2) ORDER BY cid", [table, database])?;
    let mut sampled = Vec::new();
    for index in names(conn, "SELECT name FROM pragma_index_list(?1, ?2) WHERE NOT partial", [table, database])? {
        work::visit();
        if let Some(places) = places_of(conn, database, &index)? {
            sampled.push(Index { name: index, columns: places });
        }
    }
    let of_sample = match sampled.is_empty() {
        true => None,
        false => sample(conn, database, table, &columns)?,
    };
    let mut estimated = Vec::new();
    if let Some(sample) = of_sample {
        let table = Table { conn, name, rows, columns, sample };
        for index in &sampled {
            work::visit();
            if let Some(figures) = table.figures_of(index)? {
                put(Some(&index.name), &figures)?;
                estimated.push(&*index.name);
            }
        }
    }
    // the others: partial indexes, those of expressions, and those of tables whose rows have no numbers
    let all = format!("SELECT idx FROM {database}.sqlite_stat1 WHERE tbl = ?1 AND idx IS NOT NULL");
    for index in names(conn, &all, [table])? {
        work::visit();
        if !estimated.contains(&&*index) {
            // (the key of a table whose rows have no numbers has the table's name)
            conn.execute_batch(&format!("ANALYZE {database}.{}", quoted(&index))).map_err(sqlite_error)?;
        }
    }
    Ok(())
}

fn names<const N: usize>(conn: &Connection, sql: &str, of: [&str; N]) -> Result<Vec<String>> {
    let mut statement = conn.prepare_cached(sql).map_err(sqlite_error)?;
    let found = statement.query_map(rusqlite::params_from_iter(of), |row| row.get(0)).map_err(sqlite_error)?;
    found.collect::<rusqlite::Result<_>>().map_err(sqlite_error)
}

/// The places of an index's columns in its table. None: it has an expression, or the rows' number.
fn places_of(conn: &Connection, database: &str, index: &str) -> Result<Option<Vec<usize>>> {
    let sql = "SELECT cid FROM pragma_index_xinfo(?1, ?2) WHERE key ORDER BY seqno";
    let mut statement = conn.prepare_cached(sql).map_err(sqlite_error)?;
    let found = statement.query_map([index, database], |row| row.get::<_, i64>(0)).map_err(sqlite_error)?;
    let places: Vec<i64> = found.collect::<rusqlite::Result<_>>().map_err(sqlite_error)?;
    Ok(places.into_iter().map(|place| usize::try_from(place).ok()).collect())
}

/// The least and the greatest number of a table's rows. None: it has no rows.
pub(super) fn ends(conn: &Connection, table: &str, number: &str) -> Result<Option<(i64, i64)>> {
    // (SQLite finds either by itself at an end of the table, and both at once by reading all of it)
    let sql = format!("SELECT (SELECT min({number}) FROM {table}), (SELECT max({number}) FROM {table})");
    let ends = conn.query_row(&sql, [], |row| Ok((row.get(0)?, row.get(1)?))).map_err(sqlite_error)?;
    Ok(match ends {
        (Some(low), Some(high)) => Some((low, high)),
        _ => None,
    })
}

/// Rows at equal distances; a gap is passed over. None: the rows have no numbers.
fn sample(conn: &Connection, database: &str, table: &str, columns: &[String]) -> Result<Option<Vec<Vec<Value>>>> {
    let without = "SELECT wr FROM pragma_table_list(?1) WHERE schema = ?2";
    let without = conn.query_row(without, [table, database], |row| row.get(0)).optional().map_err(sqlite_error)?;
    let is_free = |name: &&str| !columns.iter().any(|c| c.eq_ignore_ascii_case(name));
    let Some(number) = ["rowid", "_rowid_", "oid"].into_iter().find(is_free).filter(|_| without == Some(false)) else {
        return Ok(None);
    };
    let table = format!("{database}.{}", quoted(table));
    let Some((low, high)) = ends(conn, &table, number)? else { return Ok(None) };
    let step = (high.saturating_sub(low) / SAMPLE).max(1);
    let names: Vec<String> = columns.iter().map(|c| quoted(c)).collect();
    let sql = format!("SELECT {number}, {} FROM {table} WHERE {number} >= ?1 ORDER BY 1 LIMIT 1", names.join(", "));
    let mut statement = conn.prepare(&sql).map_err(sqlite_error)?;
    let (mut at, mut rows) = (low, Vec::new());
    loop {
        work::tick(columns.len())?;
        let row = statement.query_row([at], |row| {
            let values = (1..=columns.len()).map(|i| row.get::<_, Value>(i)).collect::<rusqlite::Result<_>>()?;
            Ok((row.get::<_, i64>(0)?, values))
        });
        let Some((number, values)) = row.optional().map_err(sqlite_error)? else { break };
        rows.push(values);
        let Some(next) = number.checked_add(1) else { break };
        at = next.max(at.saturating_add(step));
    }
    Ok(Some(rows))
}

impl Table<'_> {
    /// The figures of an index: how many rows the table has, and how many of them have the same values in its first column, in its first two …
    /// None: SQLite does not look the columns up in it.
    fn figures_of(&self, index: &Index) -> Result<Option<String>> {
        let mut figures = self.rows.to_string();
        for columns in (1..=index.columns.len()).map(|n| &index.columns[..n]) {
            work::visit();
            let Some(different) = self.different(&index.name, columns)? else { return Ok(None) };
            let each = (self.rows + different - 1) / different;
            figures += &format!(" {each}");
        }
        Ok(Some(figures))
    }

    /// How many different values the columns have, which begin an index.
    fn different(&self, index: &str, columns: &[usize]) -> Result<Option<i64>> {
        let conditions: Vec<String> =
            columns.iter().enumerate().map(|(i, &c)| format!("{} IS ?{}", quoted(&self.columns[c]), i + 1)).collect();
        let sql = format!(
            "SELECT count(*) FROM (SELECT 1 FROM {} INDEXED BY {} WHERE {} LIMIT {FREQUENT})",
            self.name,
            quoted(index),
            conditions.join(" AND ")
        );
        let Ok(mut statement) = self.conn.prepare(&sql) else { return Ok(None) };
        let mut known: HashMap<u64, i64> = HashMap::new();
        // values that many rows have, by how often they are in the sample
        let mut frequent: HashMap<u64, u32> = HashMap::new();
        let (mut rare, mut taken) = (0.0, 0);
        for row in &self.sample {
            work::visit();
            let values: Vec<&Value> = columns.iter().map(|&c| &row[c]).collect();
            let key = values.iter().fold(0, |key: u64, value| key.rotate_left(5) ^ hash_of((*value).into()));
            let rows = match known.get(&key) {
                Some(rows) => *rows,
                None => {
                    let found = statement.query_row(rusqlite::params_from_iter(values), |row| row.get(0));
                    let rows: i64 = found.map_err(sqlite_error)?;
                    known.insert(key, rows);
                    rows
                }
            };
            work::tick(rows as usize)?;
            match rows {
                0 => {}
                FREQUENT.. => {
                    *frequent.entry(key).or_default() += 1;
                    taken += 1;
                }
                rows => rare += 1.0 / rows as f64,
            }
        }
        let sample = self.sample.len().max(1) as f64;
        let of_rare = self.rows as f64 / sample * rare;
        let of_frequent = match taken {
            0 => 0,
            taken => estimated(&frequent, taken, (self.rows as f64 * taken as f64 / sample) as i64),
        };
        Ok(Some((of_rare as i64 + of_frequent).clamp(1, self.rows)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(conn: &Connection) -> Vec<(String, Vec<i64>)> {
        let mut statement =
            conn.prepare("SELECT coalesce(idx, ''), stat FROM sqlite_stat1 ORDER BY 1").expect("is there");
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get::<_, String>(1)?))).expect("rows");
        rows.map(|row| row.expect("a row"))
            .map(|(index, stat)| (index, stat.split(' ').map(|n| n.parse().expect("a number")).collect()))
            .collect()
    }

    /// Estimates beside SQLite's own figures, of columns of all kinds: all different, in pairs, a few values, skewed, NULL, together.
    #[test]
    fn estimates_are_near_what_sqlite_counts() {
        let conn = pgsqlite_storage::vfs::open::in_memory().expect("opens");
        conn.execute_batch(
            "CREATE TABLE t (id INTEGER PRIMARY KEY, pair INT, few INT, skewed INT, gone INT, word TEXT);
             WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 150000)
             INSERT INTO t SELECT i * 3, i / 2, i * 7919 % 5, CASE WHEN i % 3 THEN 0 ELSE i END,
                 CASE WHEN i % 50 THEN NULL ELSE i END, 'w' || (i * 7919 % 1500) FROM n;
             CREATE UNIQUE INDEX i_id ON t (id, pair);
             CREATE INDEX i_pair ON t (pair);
             CREATE INDEX i_few ON t (few, pair);
             CREATE INDEX i_skewed ON t (skewed);
             CREATE INDEX i_gone ON t (gone);
             CREATE INDEX i_word ON t (word DESC, few);
             CREATE INDEX i_partial ON t (pair) WHERE few = 1;
             CREATE INDEX i_expression ON t (pair % 10);
             CREATE TABLE keyed (a INT, b INT, PRIMARY KEY (a, b)) WITHOUT ROWID;
             INSERT INTO keyed SELECT id % 10, id FROM t;
             CREATE TABLE small (a INT); CREATE INDEX i_small ON small (a); INSERT INTO small VALUES (1), (1), (2);
             CREATE TABLE bare (a INT); INSERT INTO bare SELECT id FROM t;
             ANALYZE",
        )
        .expect("is made");
        let counted = figures(&conn);
        conn.execute_batch("DELETE FROM sqlite_stat1").expect("deletes");
        analyze(&conn, "main", None).expect("analyzes");
        let sampled = figures(&conn);
        assert_eq!(
            sampled.iter().map(|(index, f)| (index, f.len())).collect::<Vec<_>>(),
            counted.iter().map(|(index, f)| (index, f.len())).collect::<Vec<_>>()
        );
        for ((index, counted), (_, sampled)) in counted.iter().zip(&sampled) {
            assert_eq!(counted[0], sampled[0], "{index}: rows");
            for (counted, sampled) in counted.iter().zip(sampled) {
                let ratio = *sampled as f64 / *counted as f64;
                assert!((0.6..=1.7).contains(&ratio), "{index}: {counted} rows, and {sampled} are estimated");
            }
        }
        // of one table, again
        conn.execute_batch("DELETE FROM sqlite_stat1 WHERE idx = 'i_pair'").expect("deletes");
        analyze(&conn, "main", Some("t")).expect("analyzes");
        assert_eq!(figures(&conn).len(), counted.len());
        let limit: i64 = conn.query_row("PRAGMA analysis_limit", [], |row| row.get(0)).expect("a number");
        assert_eq!(limit, 0, "whoever uses the connection next is not limited");
    }
}
