//! Copies of a database's file: CREATE DATABASE … TEMPLATE.
//!
//! A file system that can clone has nothing to copy, others copy within the kernel. Both need a file that stands still and has all that
//! is committed: the writer's lock is held, and the log is written back into the file first. Where that cannot be (somebody writes, or
//! still reads an older snapshot), SQLite writes the copy from a snapshot of its own (VACUUM INTO), which takes several times as long.

use crate::connection::Connection;
use pgsqlite_metadata::store::sqlite_error;
use pgsqlite_sql::catalog::Catalog;
use pgsqlite_storage::error::open_error;
use pgsqlite_storage::files::folder::companions;
use pgsqlite_storage::files::{check_name, Room};
use pgsqlite_storage::vfs::open::{leave_litestreams, open_existing, open_file};
use pgsqlite_types::{PgError, Result, SqlState};
use std::path::Path;
use std::sync::Arc;

/// Copies what is committed in an open database to a file that does not exist yet; others may use the database meanwhile. The copy is
/// not synced. `catalog` is the database's: its indexes are ordered by what it says of types and collations.
pub(crate) fn copy_to(room: &Arc<Room>, catalog: &Arc<Catalog>, to: &Path) -> Result<()> {
    let writer = open_file(room.path())?;
    writer.busy_timeout(std::time::Duration::ZERO).map_err(sqlite_error)?;
    if writer.execute_batch("BEGIN IMMEDIATE").is_ok() && Connection::open_in(room)?.write_back()? {
        return room.copy_to(to).map_err(|e| file_error(to, &e));
    }
    // the writer's lock would keep nobody from writing here
    drop(writer);
    let source = Connection::open_in(room)?;
    source.cell.update(|state| state.catalog = catalog.clone());
    vacuum_into(&source, to)
}

/// Copies what is committed, without what is prepared, in a file that this process does not have open, which stays as it is, to one that does not exist yet, unsynced.
/// Errors: 58P01 if it is not there, 55000 for one with several names, those of opening it, 55P03 while another program writes.
pub fn copy_file(from: &Path, to: &Path) -> Result<()> {
    if !from.is_file() {
        let what = if from.exists() { "is not a file" } else { "does not exist" };
        return Err(PgError::new(SqlState::UNDEFINED_FILE, format!("\"{}\" {what}", from.display())));
    }
    check_name(from)?;
    leave_litestreams(from);
    let source = open_existing(from)?;
    let begin = |source: &rusqlite::Connection| {
        source.busy_timeout(std::time::Duration::from_secs(5))?;
        source.execute_batch("PRAGMA query_only = ON; BEGIN")?;
        source.query_row("SELECT count(*) FROM main.sqlite_schema", [], |row| row.get::<_, i64>(0))
    };
    begin(&source).map_err(|e| open_error(from, e))?;
    let [log, ..] = companions(from);
    // while somebody reads a snapshot that has nothing of the log, nobody writes to the main file
    if std::fs::metadata(&log).map_or(0, |m| m.len()) == 0 {
        std::fs::copy(from, to).map_err(|e| file_error(to, &e))?;
        drop(source);
        return leave_prepared(to);
    }
    drop(source);
    let source = Connection::open(from)?;
    let catalog = Arc::new(pgsqlite_metadata::store::load(source.rusqlite())?);
    source.cell.update(|state| state.catalog = catalog);
    vacuum_into(&source, to)?;
    leave_prepared(to)
}

/// What was prepared in the original of a copy is not prepared in the copy, too: one COMMIT PREPARED is for one transaction.
pub(crate) fn leave_prepared(copy: &Path) -> Result<()> {
    let connection = Connection::open(copy)?;
    if pgsqlite_metadata::store::prepared::count(connection.rusqlite())? == 0 {
        return Ok(());
    }
    // whoever gives the copy its name syncs it
    connection.exec("PRAGMA synchronous = OFF")?;
    pgsqlite_metadata::store::prepared::forget(connection.rusqlite())
}

/// SQLite's own copy.
fn vacuum_into(source: &Connection, to: &Path) -> Result<()> {
    let target = to.to_str().ok_or_else(|| PgError::not_supported("a file name that is no UTF-8"))?;
    source.exec(&format!("VACUUM INTO '{}'", target.replace('\'', "''")))
}

fn file_error(path: &Path, e: &std::io::Error) -> PgError {
    let state = match e.kind() {
        std::io::ErrorKind::NotFound => SqlState::UNDEFINED_FILE,
        std::io::ErrorKind::StorageFull => SqlState::DISK_FULL,
        _ => SqlState::IO_ERROR,
    };
    PgError::new(state, format!("could not copy file \"{}\": {e}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pgsqlite_storage::in_memory::MemoryFolder;
    use rusqlite::Connection;
    use std::path::PathBuf;

    fn beside(folder: &MemoryFolder, name: &str) -> PathBuf {
        folder.file().with_file_name(name)
    }

    struct Copies(Arc<Room>);

    impl Copies {
        fn of(folder: &MemoryFolder) -> Copies {
            Copies(Room::enter(&folder.file()).unwrap())
        }
        fn to(&self, to: &Path) -> Result<()> {
            copy_to(&self.0, &Arc::default(), to)
        }
    }

    /// A database with `rows` rows in the log, not in the file.
    fn database(folder: &MemoryFolder, rows: i64) -> Connection {
        let source = pgsqlite_storage::vfs::open::as_another_program(folder.file()).unwrap();
        source
            .execute_batch("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; CREATE TABLE t (i INTEGER)")
            .unwrap();
        for i in 0..rows {
            source.execute("INSERT INTO t VALUES (?1)", [i]).unwrap();
        }
        source
    }

    fn count(path: &Path) -> i64 {
        let copy = pgsqlite_storage::vfs::open::as_another_program(path).unwrap();
        assert_eq!(copy.query_row("PRAGMA integrity_check", [], |r| r.get::<_, String>(0)).unwrap(), "ok");
        copy.query_row("SELECT count(*) FROM t", [], |r| r.get(0)).unwrap()
    }

    #[test]
    fn a_copy_has_what_is_in_the_log() {
        let folder = MemoryFolder::new().unwrap();
        let source = database(&folder, 100);
        let copies = Copies::of(&folder);
        copies.to(&beside(&folder, "one.db")).unwrap();
        source.execute("INSERT INTO t VALUES (0)", []).unwrap();
        copies.to(&beside(&folder, "two.db")).unwrap();
        assert_eq!((count(&beside(&folder, "one.db")), count(&beside(&folder, "two.db"))), (100, 101));
        drop(source);
    }

    #[test]
    fn while_somebody_writes_or_reads_an_older_snapshot_a_copy_has_what_is_committed() {
        let folder = MemoryFolder::new().unwrap();
        let source = database(&folder, 10);
        let path = folder.file();
        let copies = Copies::of(&folder);
        let reader = pgsqlite_storage::vfs::open::as_another_program(&path).unwrap();
        reader.execute_batch("BEGIN; SELECT count(*) FROM t").unwrap();
        source.execute("INSERT INTO t VALUES (0)", []).unwrap();
        copies.to(&beside(&folder, "beside-reader.db")).unwrap();
        source.execute_batch("BEGIN; INSERT INTO t VALUES (0)").unwrap();
        copies.to(&beside(&folder, "beside-writer.db")).unwrap();
        assert_eq!(count(&beside(&folder, "beside-reader.db")), 11);
        assert_eq!(count(&beside(&folder, "beside-writer.db")), 11);
        drop((reader, source));
    }

    /// The terms of an index on numbers are compared by pgsqlite's own collation: the copy of a database in use has it in order, too.
    #[test]
    fn an_index_of_numbers_is_copied_while_somebody_writes() {
        let folder = MemoryFolder::new().unwrap();
        let copies = Copies::of(&folder);
        let source = crate::connection::Connection::open_in(&copies.0).unwrap();
        source
            .exec("PRAGMA journal_mode = WAL; CREATE TABLE t (i TEXT COLLATE decimal PRIMARY KEY); CREATE INDEX x ON t (i);
                   INSERT INTO t VALUES ('9'), ('10'), ('1.5'); BEGIN; INSERT INTO t VALUES ('11')")
            .unwrap();
        let to = beside(&folder, "numbers.db");
        copies.to(&to).unwrap();
        let copy = crate::connection::Connection::open(&to).unwrap();
        let sound: String = copy.rusqlite().query_row("PRAGMA integrity_check", [], |r| r.get(0)).unwrap();
        let count: i64 =
            copy.rusqlite().query_row("SELECT count(*) FROM t WHERE i > '1.50'", [], |r| r.get(0)).unwrap();
        assert_eq!((sound.as_str(), count), ("ok", 2));
    }

    #[test]
    fn a_file_is_copied_with_its_log_and_stays_as_it_is() {
        let folder = MemoryFolder::new().unwrap();
        let source = database(&folder, 7);
        copy_file(&folder.file(), &beside(&folder, "log.db")).unwrap();
        assert_eq!(count(&beside(&folder, "log.db")), 7);
        drop(source);
        let before = std::fs::read(folder.file()).unwrap();
        copy_file(&folder.file(), &beside(&folder, "plain.db")).unwrap();
        assert_eq!(count(&beside(&folder, "plain.db")), 7);
        assert_eq!(std::fs::read(folder.file()).unwrap(), before);
        assert!(copy_file(&beside(&folder, "missing.db"), &beside(&folder, "x.db")).is_err());
    }

    #[test]
    fn errors_name_the_file() {
        let folder = MemoryFolder::new().unwrap();
        let copies = Copies::of(&folder);
        drop(database(&folder, 1));
        let error = copies.to(&beside(&folder, "no-folder/to.db")).unwrap_err();
        assert_eq!(error.code(), SqlState::UNDEFINED_FILE);
        assert!(error.message().contains("no-folder"), "{}", error.message());
    }
}
