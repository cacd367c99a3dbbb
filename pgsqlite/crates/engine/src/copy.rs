//! Copies of a database's file: CREATE DATABASE … TEMPLATE.
//!
//! A file system that can clone has nothing to copy, others copy within the kernel. Both need a file that stands still and has all that
//! is committed: the writer's lock is held, and the log is written back into the file first. Where that cannot be (somebody writes, or
//! still reads an older snapshot), SQLite writes the copy from a snapshot of its own (VACUUM INTO), which takes several times as long.

use crate::connection::open_file;
use crate::store::sqlite_error;
use pgsqlite_types::{PgError, Result, SqlState};
use std::fs::File;
use std::io::Seek;
use std::path::{Path, PathBuf};

/// A database's file to be copied. When a process closes any descriptor of a file, its locks on that file are gone (POSIX): this one must
/// be dropped after all connections of the process to the database.
pub struct Source {
    file: File,
    path: PathBuf,
}

impl Source {
    /// Errors: 58P01, 58030.
    pub fn open(path: &Path) -> Result<Source> {
        let file = File::open(path).map_err(|e| file_error(path, &e))?;
        Ok(Source { file, path: path.to_path_buf() })
    }

    /// Copies what is committed to a file that does not exist yet; others may use the database meanwhile. The copy is not synced.
    pub fn copy_to(&self, to: &Path) -> Result<()> {
        let writer = open_file(&self.path)?;
        writer.busy_timeout(std::time::Duration::ZERO).map_err(sqlite_error)?;
        if writer.execute_batch("BEGIN IMMEDIATE").is_ok() && self.is_written_back()? {
            let mut from = &self.file;
            let copied = from.rewind().and_then(|()| std::io::copy(&mut from, &mut File::create_new(to)?));
            return copied.map(drop).map_err(|e| file_error(to, &e));
        }
        // the writer's lock would keep nobody from writing here
        drop(writer);
        let target = to.to_str().ok_or_else(|| PgError::not_supported("a file name that is no UTF-8"))?;
        let source = open_file(&self.path)?;
        source.execute_batch(&format!("VACUUM INTO '{}'", target.replace('\'', "''"))).map_err(sqlite_error)
    }

    /// Writes the log back into the file, as far as readers allow; whether that was all.
    fn is_written_back(&self) -> Result<bool> {
        let connection = open_file(&self.path)?;
        // (whether it was kept from it, frames in the log, frames that are in the file; -1 where there is no log)
        let result = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, i64>(2)?))
        });
        let (busy, frames, written_back) = result.map_err(sqlite_error)?;
        Ok(busy == 0 && frames == written_back)
    }
}

/// Copies a database that no connection of this process uses. See [`Source::copy_to`].
pub fn copy_database(from: &Path, to: &Path) -> Result<()> {
    Source::open(from)?.copy_to(to)
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
    use crate::memory::MemoryFolder;
    use rusqlite::Connection;

    fn beside(folder: &MemoryFolder, name: &str) -> PathBuf {
        folder.file().with_file_name(name)
    }

    /// A database with `rows` rows in the log, not in the file.
    fn database(folder: &MemoryFolder, rows: i64) -> Connection {
        let source = Connection::open(folder.file()).unwrap();
        source
            .execute_batch("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; CREATE TABLE t (i INTEGER)")
            .unwrap();
        for i in 0..rows {
            source.execute("INSERT INTO t VALUES (?1)", [i]).unwrap();
        }
        source
    }

    fn count(path: &Path) -> i64 {
        let copy = Connection::open(path).unwrap();
        assert_eq!(copy.query_row("PRAGMA integrity_check", [], |r| r.get::<_, String>(0)).unwrap(), "ok");
        copy.query_row("SELECT count(*) FROM t", [], |r| r.get(0)).unwrap()
    }

    #[test]
    fn a_copy_has_what_is_in_the_log() {
        let folder = MemoryFolder::new().unwrap();
        let source = database(&folder, 100);
        let copies = Source::open(&folder.file()).unwrap();
        copies.copy_to(&beside(&folder, "one.db")).unwrap();
        source.execute("INSERT INTO t VALUES (0)", []).unwrap();
        copies.copy_to(&beside(&folder, "two.db")).unwrap();
        assert_eq!((count(&beside(&folder, "one.db")), count(&beside(&folder, "two.db"))), (100, 101));
        drop(source);
    }

    #[test]
    fn while_somebody_writes_or_reads_an_older_snapshot_a_copy_has_what_is_committed() {
        let folder = MemoryFolder::new().unwrap();
        let source = database(&folder, 10);
        let path = folder.file();
        let copies = Source::open(&path).unwrap();
        let reader = Connection::open(&path).unwrap();
        reader.execute_batch("BEGIN; SELECT count(*) FROM t").unwrap();
        source.execute("INSERT INTO t VALUES (0)", []).unwrap();
        copies.copy_to(&beside(&folder, "beside-reader.db")).unwrap();
        source.execute_batch("BEGIN; INSERT INTO t VALUES (0)").unwrap();
        copies.copy_to(&beside(&folder, "beside-writer.db")).unwrap();
        assert_eq!(count(&beside(&folder, "beside-reader.db")), 11);
        assert_eq!(count(&beside(&folder, "beside-writer.db")), 11);
        drop((reader, source));
    }

    #[test]
    fn errors_name_the_file() {
        let folder = MemoryFolder::new().unwrap();
        let gone = copy_database(&beside(&folder, "none.db"), &beside(&folder, "to.db")).unwrap_err();
        assert_eq!(gone.code(), SqlState::UNDEFINED_FILE);
        drop(database(&folder, 1));
        let nowhere = beside(&folder, "no-folder/to.db");
        let error = copy_database(&folder.file(), &nowhere).unwrap_err();
        assert!(error.message().contains("no-folder"), "{}", error.message());
    }
}
