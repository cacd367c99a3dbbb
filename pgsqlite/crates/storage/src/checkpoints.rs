//! Databases whose write-ahead logs are written back by who copies them: another program (`--checkpoints external`), or the reader of a
//! [`crate::stream`] (`--archive`).
//!
//! A program that replicates a log, as Litestream does, copies its frames before it writes them back itself. If anybody else writes the log
//! back while it does not run, the next commit begins the log anew, and the program may take the new log for the whole of what has
//! happened. So no connection of this process writes such a log back: not at a commit, not when it is closed, not when it is asked to.
//! The log begins anew after the other program has written all of it back.
//!
//! Which databases these are is known by their paths, so that every connection knows it, whoever opens it ([`crate::vfs::open`]).

use crate::error::sqlite_error;
use parking_lot::RwLock;
use pgsqlite_types::{PgError, Result, SqlState};
use rusqlite::config::DbConfig;
use std::path::{Path, PathBuf};

/// Files, and folders whose databases all are left.
static LEFT: RwLock<Vec<PathBuf>> = RwLock::new(Vec::new());

/// The tables that Litestream makes in a database, with their columns: a number of its own commits, and one to take SQLite's write lock by.
pub const LITESTREAM_TABLES: [(&str, &[&str]); 2] =
    [("_litestream_seq", &["id", "seq"]), ("_litestream_lock", &["id"])];

/// A path without symbolic links, also of a file that is yet to be made.
fn real(path: &Path) -> PathBuf {
    let of_folder = || {
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Some(std::fs::canonicalize(folder).ok()?.join(path.file_name()?))
    };
    std::fs::canonicalize(path).ok().or_else(of_folder).unwrap_or_else(|| path.to_path_buf())
}

/// From now on nobody in this process writes back the log of this database, or of any database of this folder. To be called before it
/// is opened.
pub fn leave(path: &Path) {
    let path = real(path);
    let mut left = LEFT.write();
    if !left.contains(&path) {
        left.push(path);
    }
}

/// Whether another program writes back the log of a database.
pub fn are_left(path: &Path) -> bool {
    let left = LEFT.read();
    if left.is_empty() {
        return false;
    }
    let path = real(path);
    // (a file that is still being made has a name with a dot in front)
    let is_database = path.extension().is_some_and(|end| end == "db")
        && path.file_name().is_some_and(|name| !name.to_string_lossy().starts_with('.'));
    left.iter().any(|place| *place == path || is_database && Some(place.as_path()) == path.parent())
}

/// The connection never writes its log back by itself.
pub(crate) fn leave_alone(connection: &rusqlite::Connection) -> rusqlite::Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    connection.pragma_update(None, "wal_autocheckpoint", 0)
}

/// Whether a table is one of Litestream's: by its name and its columns.
pub fn is_litestreams(connection: &rusqlite::Connection, table: &str) -> Result<bool> {
    let Some((_, columns)) = LITESTREAM_TABLES.iter().find(|(name, _)| *name == table) else { return Ok(false) };
    let mut statement =
        connection.prepare("SELECT name FROM pragma_table_info(?1, 'main') ORDER BY cid").map_err(sqlite_error)?;
    let names = statement.query_map([table], |row| row.get::<_, String>(0)).map_err(sqlite_error)?;
    let names: Vec<String> = names.collect::<rusqlite::Result<_>>().map_err(sqlite_error)?;
    Ok(names == *columns)
}

/// Whether Litestream has been at work on a database.
pub fn has_litestreams_tables(connection: &rusqlite::Connection) -> Result<bool> {
    is_litestreams(connection, LITESTREAM_TABLES[0].0)
}

/// The error for what cannot be done without writing a log back.
pub fn refused(what: &str) -> PgError {
    PgError::new(
        SqlState::FEATURE_NOT_SUPPORTED,
        format!("{what} is not possible with archive or checkpoints = external"),
    )
    .detail("The write-ahead log stays beside the database's file.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::without_natives::Connection;
    use crate::files::Room;
    use crate::in_memory::MemoryFolder;
    use crate::vfs::open::{as_another_program, leave_litestreams};

    /// The two numbers of the log's header by which each beginning differs.
    fn salts(path: &Path) -> Vec<u8> {
        let log = std::fs::read(path.with_extension("db-wal")).expect("there is a log");
        log[16..24].to_vec()
    }

    /// Commits of more pages than SQLite writes back by itself, then whatever writes a log back.
    fn write_and_try(path: &Path) {
        let room = Room::enter(path).expect("a database");
        let db = Connection::open_in(&room).expect("opens");
        db.exec("PRAGMA journal_mode = WAL; CREATE TABLE IF NOT EXISTS t (s)").expect("runs");
        for _ in 0..3 {
            db.exec("INSERT INTO t VALUES (randomblob(3000000))").expect("commits");
            db.empty_log().expect("runs");
            db.write_back().expect("runs");
            db.exec("VACUUM").expect("runs");
        }
    }

    #[test]
    fn a_log_that_is_left_does_not_begin_anew() {
        let folder = MemoryFolder::new().expect("a folder");
        let path = folder.file();
        leave(&path);
        assert!(are_left(&path) && !are_left(&path.with_file_name("other.db")));
        write_and_try(&path);
        let first = salts(&path);
        write_and_try(&path);
        assert_eq!(salts(&path), first, "the log has begun anew");
        // another program may do so
        let other = as_another_program(&path).expect("opens");
        other.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).expect("is written back");
        write_and_try(&path);
        assert_ne!(salts(&path), first, "the log goes on");
    }

    #[test]
    fn a_log_that_is_not_left_begins_anew() {
        let folder = MemoryFolder::new().expect("a folder");
        // (the log stays as long as somebody has it open)
        let other = as_another_program(folder.file()).expect("opens");
        other.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE t (s)").expect("runs");
        write_and_try(&folder.file());
        let first = salts(&folder.file());
        write_and_try(&folder.file());
        assert_ne!(salts(&folder.file()), first);
        drop(other);
    }

    #[test]
    fn databases_of_a_folder_are_left_with_it() {
        let folder = MemoryFolder::new().expect("a folder");
        let inside = |name: &str| folder.file().with_file_name(name);
        leave(folder.file().parent().expect("a folder"));
        assert!(are_left(&inside("any.db")));
        // one that is still being made is written back before it gets its name
        assert!(!are_left(&inside(".any.db.new")));
    }

    #[test]
    fn a_file_of_litestream_is_left_by_its_tables() {
        let folder = MemoryFolder::new().expect("a folder");
        let path = folder.file();
        let make = |sql: &str| as_another_program(&path).and_then(|db| db.execute_batch(sql)).expect("runs");
        make("CREATE TABLE _litestream_seq (a)");
        leave_litestreams(&path);
        assert!(!are_left(&path), "a table of that name with other columns");
        make("DROP TABLE _litestream_seq; CREATE TABLE _litestream_seq (id INTEGER PRIMARY KEY, seq INTEGER)");
        leave_litestreams(&path);
        assert!(are_left(&path));
    }
}
