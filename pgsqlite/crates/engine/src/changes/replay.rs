//! Making recorded changes again, in a transaction that has just begun.

use super::table::{same, Now, Table};
use pgsqlite_sql::names::quoted;
use pgsqlite_storage::changes::change_log::{ChangeLog, Operation};
use pgsqlite_types::DatumRef;
use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use rusqlite::{params_from_iter, Connection, OptionalExtension, ToSql};
use std::collections::HashMap;
use std::sync::Arc;

/// Why changes could not be made again.
#[derive(Debug)]
pub(crate) enum Failure {
    /// what SQLite says is the connection's last error
    Sqlite,
    /// a row is not as it was; what is said of it
    Changed(String),
}

impl From<rusqlite::Error> for Failure {
    fn from(_: rusqlite::Error) -> Failure {
        Failure::Sqlite
    }
}

struct Bound<'a>(DatumRef<'a>);

impl ToSql for Bound<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self.0 {
            DatumRef::Null => ValueRef::Null,
            DatumRef::Int(i) => ValueRef::Integer(i),
            DatumRef::Real(r) => ValueRef::Real(r),
            DatumRef::Text(t) => ValueRef::Text(t.as_bytes()),
            DatumRef::Blob(b) => ValueRef::Blob(b),
        }))
    }
}

/// Makes the changes of a log again. `tables`: one for each of the log's. `savepoint` is called before the change with each number
/// (and with the number of changes at the end), to make the savepoints that were made there. A row whose number others have taken gets
/// another one, by which the log then knows it.
pub(crate) fn replay(
    conn: &Connection,
    log: &mut ChangeLog,
    tables: &[Arc<Table>],
    mut savepoint: impl FnMut(usize) -> Result<(), Failure>,
) -> Result<(), Failure> {
    // the row's number in the log → the one that it has now
    let mut moved: HashMap<(usize, i64), i64> = HashMap::new();
    for at in 0..log.len() {
        savepoint(at)?;
        let change = log.changes()[at].clone();
        let table = &tables[change.table];
        let now = |rowid: i64| moved.get(&(change.table, rowid)).copied().unwrap_or(rowid);
        let (rowid, mut new_rowid) = (now(change.rowid), now(change.new_rowid));
        if change.direct {
            if let Some(old) = log.old(&change) {
                unchanged(conn, table, rowid, &old)?;
            }
            match change.operation {
                Operation::Insert => {
                    let row = log.new_row(&change).unwrap_or_default();
                    new_rowid = insert(conn, table, change.new_rowid, &row)?;
                }
                Operation::Update => {
                    let (old, new) = (log.old(&change).unwrap_or_default(), log.new_row(&change).unwrap_or_default());
                    update(conn, table, rowid, &old, &new)?;
                }
                Operation::Delete => delete(conn, table, rowid)?,
            }
        }
        if change.operation == Operation::Insert {
            match new_rowid == change.new_rowid {
                true => drop(moved.remove(&(change.table, change.new_rowid))),
                false => drop(moved.insert((change.table, change.new_rowid), new_rowid)),
            }
        }
        let change = &mut log.changes_mut()[at];
        (change.rowid, change.new_rowid) = match change.operation {
            Operation::Insert => (new_rowid, new_rowid),
            _ => (rowid, new_rowid),
        };
    }
    savepoint(log.len())
}

fn missing(table: &Table, rowid: i64) -> Failure {
    Failure::Changed(format!("Row {rowid} of table \"{}\" is not there any more.", table.name))
}

/// A row is as the transaction saw it: locks keep this server's sessions from changing it, and nothing keeps another program from that.
fn unchanged(conn: &Connection, table: &Table, rowid: i64, old: &[DatumRef]) -> Result<(), Failure> {
    match table.compare(conn, rowid, old)? {
        Now::Same => Ok(()),
        Now::Gone => Err(missing(table, rowid)),
        Now::Changed => {
            Err(Failure::Changed(format!("Another program has changed row {rowid} of table \"{}\".", table.name)))
        }
    }
}

/// Returns the row's number.
fn insert(conn: &Connection, table: &Table, rowid: i64, row: &[DatumRef]) -> Result<i64, Failure> {
    let name = quoted(&table.name);
    let mut columns: Vec<String> = table.columns.iter().map(|c| quoted(c)).collect();
    let mut values: Vec<Bound> = row.iter().map(|v| Bound(*v)).collect();
    if let (false, Some(number)) = (table.numbered_by_column, table.rowid) {
        let taken = conn
            .prepare_cached(&format!("SELECT 1 FROM main.{name} WHERE {number} = ?1"))?
            .query_row([rowid], |_| Ok(()))
            .optional()?;
        if taken.is_none() {
            columns.push(number.to_string());
            values.push(Bound(DatumRef::Int(rowid)));
        }
    }
    let places: Vec<String> = (1..=columns.len()).map(|i| format!("?{i}")).collect();
    let sql = format!("INSERT INTO main.{name} ({}) VALUES ({})", columns.join(", "), places.join(", "));
    conn.prepare_cached(&sql)?.execute(params_from_iter(values))?;
    Ok(conn.last_insert_rowid())
}

/// Updates a row that is there with the values `old`.
fn update(conn: &Connection, table: &Table, rowid: i64, old: &[DatumRef], new: &[DatumRef]) -> Result<(), Failure> {
    let changed: Vec<usize> = (0..new.len()).filter(|&i| !same(&old[i], &new[i])).collect();
    let Some(number) = table.rowid else { return Err(missing(table, rowid)) };
    let name = quoted(&table.name);
    if changed.is_empty() {
        return Ok(());
    }
    let sets: Vec<String> =
        changed.iter().enumerate().map(|(i, &c)| format!("{} = ?{}", quoted(&table.columns[c]), i + 2)).collect();
    let sql = format!("UPDATE main.{name} SET {} WHERE {number} = ?1", sets.join(", "));
    let mut values = vec![Bound(DatumRef::Int(rowid))];
    values.extend(changed.iter().map(|&c| Bound(new[c])));
    match conn.prepare_cached(&sql)?.execute(params_from_iter(values))? {
        1 => Ok(()),
        _ => Err(missing(table, rowid)),
    }
}

fn delete(conn: &Connection, table: &Table, rowid: i64) -> Result<(), Failure> {
    let Some(number) = table.rowid else { return Err(missing(table, rowid)) };
    let sql = format!("DELETE FROM main.{} WHERE {number} = ?1", quoted(&table.name));
    match conn.prepare_cached(&sql)?.execute([Value::Integer(rowid)])? {
        1 => Ok(()),
        _ => Err(missing(table, rowid)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use parking_lot::Mutex;
    use pgsqlite_sql::catalog::Catalog;
    use pgsqlite_storage::changes::recorder::{listen, Recorder};

    fn tables(conn: &Connection, log: &ChangeLog) -> Vec<Arc<Table>> {
        let catalog = Catalog::default();
        log.tables.iter().map(|t| Arc::new(Table::read(conn, &catalog, t).expect("is there"))).collect()
    }

    fn all(conn: &Connection, sql: &str) -> Vec<String> {
        let mut statement = conn.prepare(sql).expect("is right");
        let rows = statement.query_map([], |row| {
            let values: Vec<String> =
                (0..).map_while(|i| row.get::<_, Value>(i).ok()).map(|v| format!("{v:?}")).collect();
            Ok(values.join("|"))
        });
        rows.expect("runs").collect::<rusqlite::Result<_>>().expect("rows")
    }

    /// Changes of all kinds, with referential actions, triggers and savepoints; taken back, others' changes made, and put back.
    #[test]
    fn what_is_put_back_is_what_was_there() {
        let conn = pgsqlite_storage::vfs::open::in_memory().expect("opens");
        conn.execute_batch(
            "PRAGMA foreign_keys = ON;
             CREATE TABLE p (id INTEGER PRIMARY KEY, x TEXT UNIQUE, r REAL);
             CREATE TABLE c (p INTEGER REFERENCES p ON DELETE CASCADE ON UPDATE CASCADE, note);
             CREATE TABLE l (what);
             CREATE TRIGGER t AFTER UPDATE ON p BEGIN INSERT INTO l VALUES (new.id); END;
             INSERT INTO p VALUES (1, 'a', 1), (2, 'b', 2.5), (3, 'c', NULL);
             INSERT INTO c VALUES (1, 'one'), (2, 'two'), (3, x'00ff');",
        )
        .expect("is made");
        let recorder = Arc::new(Mutex::new(Recorder::default()));
        // SAFETY: the connection is live, and the recorder outlives it here.
        unsafe { listen(conn.handle(), &recorder, true) };
        conn.execute_batch(
            "BEGIN; INSERT INTO c VALUES (2, 'hidden number'); UPDATE p SET r = 7 WHERE id = 1;
             UPDATE p SET id = 20 WHERE id = 2; DELETE FROM p WHERE id = 3; UPDATE c SET note = NULL WHERE note = 'hidden number';",
        )
        .expect("works");
        let expected = [
            all(&conn, "SELECT * FROM p ORDER BY 1"),
            all(&conn, "SELECT * FROM c ORDER BY 1, 2"),
            all(&conn, "SELECT * FROM l"),
        ];
        let mut log = recorder.lock().take();
        assert!(log.obstacle.is_none());
        let tables = tables(&conn, &log);
        conn.execute_batch("ROLLBACK; INSERT INTO c VALUES (NULL, 'of others')").expect("works");
        conn.execute_batch("BEGIN").expect("works");
        let mut savepoints = 0;
        replay(&conn, &mut log, &tables, |_| {
            savepoints += 1;
            Ok(())
        })
        .expect("is put back");
        assert_eq!(savepoints, log.len() + 1);
        conn.execute_batch("DELETE FROM c WHERE note = 'of others'").expect("works");
        assert_eq!(
            [
                all(&conn, "SELECT * FROM p ORDER BY 1"),
                all(&conn, "SELECT * FROM c ORDER BY 1, 2"),
                all(&conn, "SELECT * FROM l")
            ],
            expected
        );
        // a row that others have changed is noticed
        conn.execute_batch("ROLLBACK; BEGIN; UPDATE p SET r = 1.5 WHERE id = 1").expect("works");
        let Err(Failure::Changed(what)) = replay(&conn, &mut log, &tables, |_| Ok(())) else {
            panic!("it is put back")
        };
        assert_eq!(what, "Another program has changed row 1 of table \"p\".");
        // a row that is gone is noticed
        conn.execute_batch("ROLLBACK; DELETE FROM p WHERE id = 1; BEGIN").expect("works");
        assert!(matches!(replay(&conn, &mut log, &tables, |_| Ok(())), Err(Failure::Changed(_))));
        // SAFETY: as above.
        unsafe { listen(conn.handle(), &recorder, false) };
    }
}
