//! Changes of another database, applied to a copy of it while others read the copy.
//!
//! A change is pages as they are after some transactions, and the size that the database has then. They are written with SQLite's table `sqlite_dbpage`
//! (<https://www.sqlite.org/dbpage.html>) in one transaction, so that a reader sees all of them or none. The connection that does so knows nothing of what
//! it has written: it is used for nothing else.

use crate::error::sqlite_error;
use crate::files::Room;
use crate::vfs::open::open_file;
use pgsqlite_types::{PgError, Result, SqlState};
use std::path::Path;
use std::sync::Arc;

/// From this length on the log is written back into the file.
const LONG: u64 = 4 << 20;
/// Where the first page has the size of a page, and SQLite's number of the schema.
const PAGE_SIZE: std::ops::Range<usize> = 16..18;
const COOKIE: std::ops::Range<usize> = 40..44;

/// The first page of a database, and how many pages it has. Errors: 58030.
pub fn first_page(path: &Path) -> Result<(Vec<u8>, u32)> {
    let connection = open_file(path)?;
    let read = connection.query_row(
        "SELECT data, (SELECT page_count FROM pragma_page_count) FROM sqlite_dbpage WHERE pgno = 1",
        [],
        |row| Ok((row.get(0)?, row.get(1)?)),
    );
    read.map_err(sqlite_error)
}

/// Writes changes to the copy that the engine has open.
pub struct Applier {
    room: Arc<Room>,
    /// The copy is attached to a database in memory. So SQLite never reads its schema, which it would do while half of a change is written.
    connection: rusqlite::Connection,
    page_size: u32,
    /// the schema's number
    cookie: u32,
    /// how many pages the copy has, once it is known
    pages: Option<u32>,
}

impl Applier {
    /// For the database of this room.
    pub fn new(room: Arc<Room>) -> Result<Applier> {
        let connection = open_file(Path::new(":memory:"))?;
        let path = room.path().to_str().ok_or_else(|| {
            let message = format!("the path \"{}\" is no UTF-8", room.path().display());
            PgError::new(SqlState::FEATURE_NOT_SUPPORTED, message)
        })?;
        connection.execute("ATTACH ?1 AS copy", [path]).map_err(sqlite_error)?;
        // (a change is on disk before it is noted that the copy has it)
        connection
            .execute_batch(
                "PRAGMA copy.synchronous = FULL; PRAGMA copy.cache_size = -4096; PRAGMA wal_autocheckpoint = 0",
            )
            .map_err(sqlite_error)?;
        let first: Vec<u8> = connection
            .query_row("SELECT data FROM main.sqlite_dbpage('copy') WHERE pgno = 1", [], |row| row.get(0))
            .map_err(sqlite_error)?;
        let (Some(size), Some(cookie)) = (first.get(PAGE_SIZE), cookie_of(&first)) else {
            return Err(PgError::new(SqlState::DATA_CORRUPTED, "the copy has no first page"));
        };
        let page_size = match u32::from(size[0]) << 8 | u32::from(size[1]) {
            1 => 65_536,
            n => n,
        };
        Ok(Applier { room, connection, page_size, cookie, pages: None })
    }

    /// The bytes of a page.
    pub fn page_size(&self) -> u32 {
        self.page_size
    }

    /// Begins a change. Errors: 55P03 if another program writes to the copy.
    pub fn begin(&mut self) -> Result<Change<'_>> {
        self.connection.execute_batch("BEGIN IMMEDIATE").map_err(sqlite_error)?;
        Ok(Change { of: self, cookie: None, pages: None, largest: 0, ended: false })
    }

    /// Writes the log back into the file if it is long, so that the next change begins it anew. Readers may keep it from that.
    pub fn write_back(&self) -> Result<()> {
        let length = self.room.log_state().map_or(0, |(_, frames, bytes)| u64::from(frames) * bytes);
        if length < LONG {
            return Ok(());
        }
        self.connection.query_row("PRAGMA copy.wal_checkpoint(PASSIVE)", [], |_| Ok(())).map_err(sqlite_error)
    }
}

/// The schema's number in a first page.
fn cookie_of(page: &[u8]) -> Option<u32> {
    page.get(COOKIE)?.try_into().ok().map(u32::from_be_bytes)
}

/// A change that is being written.
pub struct Change<'a> {
    of: &'a mut Applier,
    /// the schema's number after it, if the first page is part of the change
    cookie: Option<u32>,
    /// how many pages the database has after it
    pages: Option<u32>,
    /// the last page that was written
    largest: u32,
    ended: bool,
}

impl Change<'_> {
    /// Writes a page.
    pub fn page(&mut self, number: u32, content: &[u8]) -> Result<()> {
        if content.len() != self.of.page_size as usize {
            return Err(PgError::new(SqlState::DATA_CORRUPTED, "the size of the pages is not that of the copy"));
        }
        if number == 1 {
            self.cookie = cookie_of(content);
        }
        self.largest = self.largest.max(number);
        self.write(number, Some(content))
    }

    /// A page without content, and all after it, are cut off.
    fn write(&mut self, number: u32, content: Option<&[u8]>) -> Result<()> {
        let mut statement = self
            .of
            .connection
            .prepare_cached("INSERT INTO main.sqlite_dbpage (pgno, data, schema) VALUES (?1, ?2, 'copy')")
            .map_err(sqlite_error)?;
        statement.execute(rusqlite::params![number, content]).map_err(sqlite_error).map(drop)
    }

    /// The database has so many pages after the change, which may be several of the primary's. To be called after all of them.
    pub fn size(&mut self, pages: u32) -> Result<()> {
        self.pages = Some(pages);
        match self.of.pages.is_none_or(|before| before.max(self.largest) > pages) {
            true => self.write(pages + 1, None),
            false => Ok(()),
        }
    }

    /// Whether the schema is another one after the change.
    pub fn changes_schema(&self) -> bool {
        self.cookie.is_some_and(|cookie| cookie != self.of.cookie)
    }

    /// Shows the change to readers. It is on disk then.
    pub fn commit(mut self) -> Result<()> {
        let Some(pages) = self.pages else { return Err(PgError::internal("a change without a size")) };
        self.of.connection.execute_batch("COMMIT").map_err(sqlite_error)?;
        self.ended = true;
        self.of.pages = Some(pages);
        self.of.cookie = self.cookie.unwrap_or(self.of.cookie);
        Ok(())
    }
}

impl Drop for Change<'_> {
    fn drop(&mut self) {
        if !self.ended && !self.of.connection.is_autocommit() {
            if let Err(e) = self.of.connection.execute_batch("ROLLBACK") {
                tracing::error!("a change that was not complete cannot be taken back: {e}");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::in_memory::MemoryFolder;
    use crate::vfs::open::as_another_program;

    /// All pages of a database that nobody else uses, as they are in its file.
    fn pages(path: &std::path::Path) -> (Vec<Vec<u8>>, u32) {
        let db = as_another_program(path).expect("opens");
        db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).expect("is written back");
        let count = db.query_row("PRAGMA page_count", [], |r| r.get(0)).expect("reads");
        let mut statement = db.prepare("SELECT data FROM sqlite_dbpage ORDER BY pgno").expect("is sound");
        let pages = statement.query_map([], |r| r.get(0)).expect("runs").map(|p| p.expect("a page")).collect();
        (pages, count)
    }

    fn apply(applier: &mut Applier, from: &std::path::Path) -> bool {
        let (pages, count) = pages(from);
        let mut change = applier.begin().expect("begins");
        for (i, page) in pages.iter().enumerate() {
            change.page(i as u32 + 1, page).expect("writes");
        }
        change.size(count).expect("cuts");
        let changes_schema = change.changes_schema();
        change.commit().expect("commits");
        changes_schema
    }

    #[test]
    fn a_copy_follows_while_it_is_read() {
        let (original, copy) = (MemoryFolder::new().expect("a folder"), MemoryFolder::new().expect("a folder"));
        let from = original.file();
        let write = |sql: &str| as_another_program(&from).and_then(|db| db.execute_batch(sql)).expect("runs");
        write("PRAGMA page_size = 1024; PRAGMA journal_mode = WAL; CREATE TABLE t (i)");
        std::fs::copy(&from, copy.file()).expect("is copied");
        let room = Room::enter(&copy.file()).expect("a database");
        let mut applier = Applier::new(room.clone()).expect("opens");
        let reader = open_file(room.path()).expect("opens");
        let rows = || -> i64 { reader.query_row("SELECT count(*) FROM t", [], |r| r.get(0)).expect("reads") };
        assert_eq!(rows(), 0);
        write("INSERT INTO t SELECT zeroblob(900) FROM (VALUES (1), (2), (3), (4), (5), (6), (7), (8))");
        assert!(!apply(&mut applier, &from), "rows alone");
        assert_eq!(rows(), 8);
        reader.execute_batch("BEGIN").expect("begins");
        assert_eq!(rows(), 8);
        write("DELETE FROM t WHERE rowid > 2; CREATE TABLE u (i); VACUUM");
        assert!(apply(&mut applier, &from), "another schema");
        assert_eq!(rows(), 8, "a snapshot stays");
        reader.execute_batch("COMMIT").expect("ends");
        assert_eq!(rows(), 2);
        let sound: String = reader.query_row("PRAGMA integrity_check", [], |r| r.get(0)).expect("reads");
        assert_eq!(sound, "ok");
        let (ours, theirs) = (pages(&copy.file()), pages(&from));
        assert_eq!(ours.1, theirs.1);
        assert_eq!(ours.0[1..], theirs.0[1..]);
    }

    #[test]
    fn a_change_that_is_not_complete_is_none() {
        let folder = MemoryFolder::new().expect("a folder");
        as_another_program(folder.file())
            .and_then(|db| db.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE t (i); INSERT INTO t VALUES (1)"))
            .expect("runs");
        let room = Room::enter(&folder.file()).expect("a database");
        let mut applier = Applier::new(room.clone()).expect("opens");
        let size = applier.page_size() as usize;
        let mut change = applier.begin().expect("begins");
        change.page(2, &vec![0; size]).expect("writes");
        assert!(change.page(3, &[0; 7]).is_err(), "a page of another size");
        drop(change);
        let reader = open_file(room.path()).expect("opens");
        assert_eq!(reader.query_row("SELECT count(*) FROM t", [], |r| r.get::<_, i64>(0)).expect("reads"), 1);
    }
}
