//! A database's file, looked at from the command line: what it has, whether it is sound, and its way to the newest format.
//!
//! [`facts`] and [`check`] read in a transaction of their own, so a server may have the file open. [`upgrade`] needs it for itself.

use crate::connection::Connection;
use pgsqlite_metadata::store::{self, sqlite_error};
use pgsqlite_sql::catalog::{Catalog, RelationKind};
use pgsqlite_storage::error::open_error;
use pgsqlite_storage::files::{check_name, Room};
use pgsqlite_storage::vfs::open::{counted, leave_litestreams};
use pgsqlite_types::{oid, PgError, Result, SqlState};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

/// A table, as [`facts`] reports it.
pub struct Table {
    /// `schema.name`
    pub name: String,
    pub rows: i64,
    /// of its pages
    pub bytes: i64,
    /// of the pages of its indexes
    pub index_bytes: i64,
    pub indexes: usize,
}

/// What a file says of itself.
pub struct Facts {
    /// The format of what pgsqlite keeps in the file; None: pgsqlite has changed nothing in it.
    pub format: Option<i64>,
    /// The format that this program writes.
    pub newest_format: i64,
    /// of its pages, those in the write-ahead log among them
    pub bytes: i64,
    pub free_bytes: i64,
    pub page_size: i64,
    /// SQLite's journal mode (`wal`, `delete` …)
    pub journal: String,
    /// by name
    pub tables: Vec<Table>,
    pub views: usize,
    pub functions: usize,
    /// those that may log in
    pub users: Vec<String>,
}

/// What [`check`] has found.
#[derive(Default)]
pub struct Findings {
    /// what is broken
    pub problems: Vec<String>,
    /// what another program has done that is no fault
    pub remarks: Vec<String>,
    pub tables: usize,
    pub indexes: usize,
}

/// Opens a file that is there, begins to read, and reads the catalog. Errors: 58P01, 55000 for a file with several names, XX001 for what
/// is no database, 0A000 for a file of a newer pgsqlite.
fn reading<T>(path: &Path, read: impl FnOnce(&Connection, &Catalog) -> Result<T>) -> Result<T> {
    match std::fs::metadata(path) {
        Ok(metadata) if !metadata.is_file() => {
            return Err(PgError::new(SqlState::WRONG_OBJECT_TYPE, format!("\"{}\" is not a file", path.display())))
        }
        Ok(_) => {}
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            let message = format!("the file \"{}\" does not exist", path.display());
            return Err(PgError::new(SqlState::UNDEFINED_FILE, message));
        }
        Err(e) => return Err(PgError::new(SqlState::IO_ERROR, format!("\"{}\": {e}", path.display()))),
    }
    check_name(path)?;
    leave_litestreams(path);
    let connection = Connection::open(path)?;
    connection.rusqlite().busy_timeout(std::time::Duration::from_secs(5)).map_err(sqlite_error)?;
    connection.rusqlite().execute_batch("PRAGMA query_only = ON; BEGIN").map_err(|e| open_error(path, e))?;
    let catalog = Arc::new(store::load(connection.rusqlite()).map_err(|mut e| {
        e.fields_mut().message = format!("\"{}\": {}", path.display(), e.message());
        e
    })?);
    // (indexes may be ordered by what it says of types and collations)
    connection.cell.update(|state| state.catalog = catalog.clone());
    let found = read(&connection, &catalog)?;
    connection.exec("COMMIT")?;
    Ok(found)
}

fn number(connection: &Connection, sql: &str) -> Result<i64> {
    connection.rusqlite().query_row(sql, [], |row| row.get(0)).map_err(sqlite_error)
}

/// Tables and materialized views with rows of their own, by the name that SQLite has for them.
fn stored_tables(catalog: &Catalog) -> BTreeMap<String, String> {
    let stored = |kind: &RelationKind| matches!(kind, RelationKind::Table | RelationKind::MaterializedView { .. });
    let tables = catalog.relations.values().filter(|r| stored(&r.kind) && !r.temporary && r.oid >= oid::FIRST_USER_OID);
    tables.map(|r| (r.sqlite_name.clone(), format!("{}.{}", catalog.schema_name(r.schema), r.name))).collect()
}

/// Reads what a file has. Errors: as of a file that is no database, or of a newer pgsqlite.
pub fn facts(path: &Path) -> Result<Facts> {
    reading(path, |connection, catalog| {
        let db = connection.rusqlite();
        let mut sizes: HashMap<String, i64> = HashMap::new();
        let mut statement = db.prepare("SELECT name, pgsize FROM dbstat WHERE aggregate = 1").map_err(sqlite_error)?;
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).map_err(sqlite_error)?;
        for row in rows {
            let (name, bytes): (String, i64) = row.map_err(sqlite_error)?;
            sizes.insert(name, bytes);
        }
        let mut tables = Vec::new();
        for (sqlite_name, name) in stored_tables(catalog) {
            let quoted = pgsqlite_sql::names::quoted(&sqlite_name);
            let rows = number(connection, &format!("SELECT count(*) FROM main.{quoted}"))?;
            let mut indexes = db
                .prepare_cached("SELECT name FROM main.sqlite_schema WHERE type = 'index' AND tbl_name = ?1")
                .map_err(sqlite_error)?;
            let names = indexes.query_map([&sqlite_name], |row| row.get::<_, String>(0)).map_err(sqlite_error)?;
            let names: Vec<String> = names.collect::<rusqlite::Result<_>>().map_err(sqlite_error)?;
            tables.push(Table {
                name,
                rows,
                bytes: sizes.get(&sqlite_name).copied().unwrap_or(0),
                index_bytes: names.iter().filter_map(|name| sizes.get(name)).sum(),
                indexes: names.len(),
            });
        }
        let mut users: Vec<String> = catalog.roles.values().filter(|r| r.login).map(|r| r.name.clone()).collect();
        users.sort();
        let page_size = number(connection, "SELECT page_size FROM pragma_page_size")?;
        let format = store::version(db)?;
        let functions = match format {
            None => 0,
            Some(_) => {
                number(connection, "SELECT count(*) FROM main.__pgsqlite_object WHERE class = 'function'")? as usize
            }
        };
        Ok(Facts {
            format,
            newest_format: store::VERSION,
            bytes: page_size * number(connection, "SELECT page_count FROM pragma_page_count")?,
            free_bytes: page_size * number(connection, "SELECT freelist_count FROM pragma_freelist_count")?,
            page_size,
            journal: db
                .query_row("SELECT journal_mode FROM pragma_journal_mode", [], |row| row.get(0))
                .map_err(sqlite_error)?,
            tables,
            views: catalog.relations.values().filter(|r| is_view(&r.kind) && r.oid >= oid::FIRST_USER_OID).count(),
            functions,
            users,
        })
    })
}

fn is_view(kind: &RelationKind) -> bool {
    matches!(kind, RelationKind::View { .. } | RelationKind::ForeignView)
}

/// How far a look at a file is, in steps of SQLite's machine.
#[derive(Debug, Default)]
pub struct Watch {
    pub done: Arc<AtomicU64>,
    /// about so many there are; 0: it is not known yet
    pub total: AtomicU64,
}

/// About how many steps SQLite needs to check all tables: some for each row, and some for each entry of an index. (How many rows a table has
/// is told by the largest of their numbers.)
fn steps_of_check(connection: &Connection, catalog: &Catalog) -> Result<u64> {
    const ROW: u64 = 5;
    const ENTRY: u64 = 4;
    let mut steps = 0;
    for sqlite_name in stored_tables(catalog).keys() {
        let quoted = pgsqlite_sql::names::quoted(sqlite_name);
        let largest = connection
            .rusqlite()
            .query_row(&format!("SELECT max(rowid) FROM main.{quoted}"), [], |row| row.get::<_, Option<i64>>(0));
        // (a table without numbers of rows counts as empty)
        let rows = largest.ok().flatten().unwrap_or(0).max(0) as u64;
        let indexes = connection
            .rusqlite()
            .query_row(
                "SELECT count(*) FROM main.sqlite_schema WHERE type = 'index' AND tbl_name = ?1",
                [sqlite_name],
                |row| row.get::<_, i64>(0),
            )
            .map_err(sqlite_error)?;
        steps += rows.saturating_mul(ROW + ENTRY * indexes as u64);
    }
    Ok(steps)
}

/// Looks whether a file is sound: its pages, that each index has just the rows of its table, in the order of our collations, that the
/// foreign keys that SQLite knows hold, and that what pgsqlite has stored of its objects can be read. Errors: as of [`facts`].
/// `watch` shows how far it is.
pub fn check(path: &Path, watch: &Watch) -> Result<Findings> {
    counted(&watch.done, || check_counted(path, watch))
}

fn check_counted(path: &Path, watch: &Watch) -> Result<Findings> {
    reading(path, |connection, catalog| {
        let db = connection.rusqlite();
        watch.total.store(steps_of_check(connection, catalog)?, Ordering::Relaxed);
        let mut found = Findings { tables: stored_tables(catalog).len(), ..Findings::default() };
        found.indexes = number(connection, "SELECT count(*) FROM main.sqlite_schema WHERE type = 'index'")? as usize;
        let mut statement = db.prepare("PRAGMA main.integrity_check(100)").map_err(sqlite_error)?;
        let lines = statement.query_map([], |row| row.get::<_, String>(0)).map_err(sqlite_error)?;
        for line in lines {
            match line {
                Ok(line) if line == "ok" => {}
                Ok(line) => found.problems.push(line),
                Err(e) => found.problems.push(sqlite_error(e).message().to_string()),
            }
        }
        let mut statement = db
            .prepare("SELECT \"table\", parent, count(*) FROM pragma_foreign_key_check GROUP BY 1, 2")
            .map_err(sqlite_error)?;
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).map_err(sqlite_error)?;
        for row in rows {
            let (table, parent, n): (String, String, i64) = row.map_err(sqlite_error)?;
            found.problems.push(format!("{n} rows of \"{table}\" refer to rows of \"{parent}\" that do not exist"));
        }
        if store::version(db)?.is_some() {
            let mut statement = db
                .prepare("SELECT oid, name FROM main.__pgsqlite_object WHERE class = 'relation'")
                .map_err(sqlite_error)?;
            let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).map_err(sqlite_error)?;
            for row in rows {
                let (oid, name): (pgsqlite_types::Oid, String) = row.map_err(sqlite_error)?;
                if !catalog.relations.contains_key(&oid) {
                    found.remarks.push(format!("\"{name}\" was dropped, or made anew, by another program"));
                }
            }
        }
        Ok(found)
    })
}

/// Brings a file to the newest format: (the format before, the format now). A file in which pgsqlite has changed nothing stays as it is.
/// Errors: those of opening it, 55006 while a server has it.
pub fn upgrade(path: &Path) -> Result<(Option<i64>, i64)> {
    if !path.exists() {
        let message = format!("the file \"{}\" does not exist", path.display());
        return Err(PgError::new(SqlState::UNDEFINED_FILE, message));
    }
    let room = Room::enter(path)?;
    leave_litestreams(path);
    let connection = Connection::open_in(&room)?;
    let db = connection.rusqlite();
    let before = store::version(db)?;
    if before.is_some_and(|before| before < store::VERSION) {
        connection.exec("PRAGMA synchronous = FULL; BEGIN IMMEDIATE")?;
        crate::settle::settle_in(&connection)?;
        connection.exec("COMMIT")?;
    }
    Ok((before, store::VERSION))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pgsqlite_storage::in_memory::MemoryFolder;
    use pgsqlite_storage::vfs::open::as_another_program;

    #[test]
    fn a_file_of_another_program_is_described_and_stays_as_it_is() {
        let folder = MemoryFolder::new().unwrap();
        let path = folder.file();
        let other = as_another_program(&path).unwrap();
        other
            .execute_batch(
                "CREATE TABLE p (i INTEGER PRIMARY KEY); CREATE TABLE c (p INTEGER REFERENCES p); CREATE INDEX x ON c (p);
                 INSERT INTO p VALUES (1); INSERT INTO c VALUES (1), (1); CREATE VIEW v AS SELECT 1 AS one",
            )
            .unwrap();
        let facts = facts(&path).unwrap();
        assert_eq!((facts.format, facts.journal.as_str(), facts.views), (None, "delete", 1));
        let tables: Vec<_> = facts.tables.iter().map(|t| (t.name.as_str(), t.rows, t.indexes)).collect();
        assert_eq!(tables, [("public.c", 2, 1), ("public.p", 1, 0)]);
        let sizes: Vec<_> = facts.tables.iter().map(|t| (t.bytes, t.index_bytes)).collect();
        assert_eq!(sizes, [(facts.page_size, facts.page_size), (facts.page_size, 0)]);
        let watch = Watch::default();
        assert!(check(&path, &watch).unwrap().problems.is_empty());
        assert!(watch.total.load(Ordering::Relaxed) > 0);
        other.execute_batch("PRAGMA foreign_keys = OFF; DELETE FROM p").unwrap();
        let problems = check(&path, &Watch::default()).unwrap().problems;
        assert_eq!(problems, ["2 rows of \"c\" refer to rows of \"p\" that do not exist"]);
        // an index that lacks a row of its table
        other
            .execute_batch(
                "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, 'p', 'p + 1') WHERE name = 'x';",
            )
            .unwrap();
        drop(other);
        assert!(check(&path, &Watch::default()).unwrap().problems.iter().any(|p| p.contains('x')), "the index");
        assert_eq!(upgrade(&path).unwrap(), (None, store::VERSION));
    }

    #[test]
    fn what_is_no_database_is_refused() {
        let folder = MemoryFolder::new().unwrap();
        let path = folder.file().with_file_name("text.db");
        assert_eq!(facts(&path).err().unwrap().code(), SqlState::UNDEFINED_FILE);
        std::fs::write(&path, "no database, but a text that is longer than a header would be: ".repeat(20)).unwrap();
        for error in
            [facts(&path).err().unwrap(), check(&path, &Watch::default()).err().unwrap(), upgrade(&path).unwrap_err()]
        {
            assert!(error.message().contains("text.db"), "{}", error.message());
        }
    }

    #[test]
    fn an_older_format_is_brought_to_the_newest() {
        let folder = MemoryFolder::new().unwrap();
        let path = folder.file();
        let conn = as_another_program(&path).unwrap();
        store::init(&conn, store::base::catalog()).unwrap();
        conn.execute("UPDATE __pgsqlite_meta SET value = 1 WHERE key = 'version'", []).unwrap();
        drop(conn);
        assert_eq!(upgrade(&path).unwrap(), (Some(1), store::VERSION));
        assert_eq!(facts(&path).unwrap().format, Some(store::VERSION));
        assert_eq!(upgrade(&path).unwrap(), (Some(store::VERSION), store::VERSION));
    }
}
