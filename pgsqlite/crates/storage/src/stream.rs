//! What is committed to a database, by whatever program, as batches of pages, in order.
//!
//! A commit is its frames in the write-ahead log. [`Stream::advance`] gives those that have come since it was asked last, as one [`Batch`]: of
//! each page the newest content, and the size that the database has then. Batches are whole transactions, and have been synced.
//!
//! Who reads a stream sees to it that the log begins anew only between batches: the database's log is left ([`crate::checkpoints`]), and
//! [`Stream::write_back`] is called in the writer's slot. Another program can write the log back nevertheless. The log's index counts the commits of all programs,
//! so that a stream notices if it has missed any ([`Next::Lost`]). It then begins again with the whole database ([`Stream::whole`]).
//!
//! With nobody attached there is no stream, and nothing of this is done.

use crate::files::{Header, Room};
use crate::vfs::open::open_file;
use libsqlite3_sys as ffi;
use pgsqlite_types::{PgError, Result, SqlState};
use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// The bytes of the log's header, and of a frame's (<https://www.sqlite.org/walformat.html>).
const LOG_HEADER: u64 = 32;
const FRAME_HEADER: usize = 24;

/// For so long a checkpoint that is under way is waited for, before it is looked at again.
const CHECKPOINT: std::time::Duration = std::time::Duration::from_millis(10);

/// How far a stream has come: a place in one beginning of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Position {
    /// what the log's beginning is called
    pub salt: [u8; 8],
    /// so many of its frames have been read
    pub frames: u32,
    /// the checksum of the last of them, which covers all before
    pub checksum: [u32; 2],
}

impl std::fmt::Display for Position {
    /// As others keep it; [`Position::parse`] reads it.
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        let Position { salt, frames, checksum: [high, low] } = self;
        write!(f, "{:016x}-{frames:x}-{high:08x}{low:08x}", u64::from_be_bytes(*salt))
    }
}

impl Position {
    /// Reads what [`Position`] is written as. None: it is something else.
    pub fn parse(text: &str) -> Option<Position> {
        let mut words = text.split('-').map(|word| u64::from_str_radix(word, 16).ok());
        let (salt, frames, sum) = (words.next()??, words.next()??, words.next()??);
        let position = Position {
            salt: salt.to_be_bytes(),
            frames: u32::try_from(frames).ok()?,
            checksum: [(sum >> 32) as u32, sum as u32],
        };
        words.next().is_none().then_some(position)
    }
}

/// What has been committed since a stream was asked last.
pub enum Next {
    /// Nothing.
    Nothing,
    /// This.
    Batch(Batch),
    /// Some of it is not in the log any more, for this reason. The whole database is needed.
    Lost(&'static str),
}

/// Pages, as they are after the last of some transactions.
pub struct Batch {
    room: Arc<Room>,
    log: File,
    /// the frame that has the newest content of each page; none: it is in the database's file
    frames: BTreeMap<u32, u32>,
    /// the log's beginning
    salt: [u8; 8],
    /// the pages' contents, once they have been read
    kept: BTreeMap<u32, Vec<u8>>,
    /// it has all pages of the database
    whole: bool,
    /// the bytes of a page
    pub page_size: u32,
    /// how many pages the database has
    pub pages: u32,
    /// how far the stream has come with it
    pub position: Position,
    /// how many bytes of the log it is made of
    pub bytes: u64,
    /// keeps other programs from writing later commits back into the file while it is read
    _reader: Option<rusqlite::Connection>,
}

/// Reads what is committed to a database.
pub struct Stream {
    room: Arc<Room>,
    log: Option<File>,
    position: Option<Position>,
    /// how many commits the log's index had counted at the position; none: it has been counted anew since
    commits: Option<u32>,
}

fn number(bytes: &[u8]) -> u32 {
    bytes[..4].iter().fold(0, |n, b| n << 8 | u32::from(*b))
}

fn failed(what: &str, e: &std::io::Error) -> PgError {
    PgError::new(SqlState::IO_ERROR, format!("could not read {what}: {e}"))
}

impl Batch {
    /// The numbers of its pages, in order.
    pub fn numbers(&self) -> Box<dyn Iterator<Item = u32> + '_> {
        let locked = 0x4000_0000 / self.page_size + 1;
        match self.whole {
            true => Box::new((1..=self.pages).filter(move |n| *n != locked)),
            false => Box::new(self.frames.keys().copied()),
        }
    }

    /// Reads its pages into memory, so that the log may begin anew before they are used. False: they are more than this many bytes.
    pub fn keep(&mut self, most: usize) -> Result<bool> {
        if self.whole || self.frames.len() * self.page_size as usize > most {
            return Ok(false);
        }
        let mut content = vec![0; self.page_size as usize];
        let mut kept = BTreeMap::new();
        for page in self.frames.keys() {
            self.page(*page, &mut content)?;
            kept.insert(*page, content.clone());
        }
        self.kept = kept;
        Ok(true)
    }

    /// Reads one of its pages. Errors: 58030; XX001 if another program has begun the log anew meanwhile.
    pub fn page(&self, page: u32, to: &mut [u8]) -> Result<()> {
        if let Some(kept) = self.kept.get(&page) {
            to.copy_from_slice(kept);
            return Ok(());
        }
        let Some(frame) = self.frames.get(&page) else {
            let at = u64::from(page - 1) * u64::from(self.page_size);
            return self.room.read_main(at, to).map_err(|e| failed("the database's file", &e));
        };
        let mut header = [0; FRAME_HEADER];
        let at = LOG_HEADER + u64::from(*frame) * (FRAME_HEADER as u64 + u64::from(self.page_size));
        let read = self.log.read_exact_at(to, at + FRAME_HEADER as u64);
        // (looked at afterwards: what is begun anew has another salt)
        read.and_then(|()| self.log.read_exact_at(&mut header, at)).map_err(|e| failed("the write-ahead log", &e))?;
        match number(&header) == page && header[8..16] == self.salt {
            true => Ok(()),
            false => Err(PgError::new(SqlState::DATA_CORRUPTED, "another program has begun the write-ahead log anew")),
        }
    }
}

impl Stream {
    /// The stream of a database that this process has open, from this position on. Without one it begins with the whole database.
    pub fn new(room: Arc<Room>, position: Option<Position>) -> Stream {
        Stream { room, log: None, position, commits: None }
    }

    /// What is committed now, and on disk.
    fn committed(&mut self) -> Result<Option<Header>> {
        let Some(header) = self.room.state() else { return Ok(None) };
        let known = |p: &Position| (p.salt, p.frames, p.checksum) == (header.salt, header.frames, header.checksum);
        if self.log.is_some() && self.position.as_ref().is_some_and(known) {
            return Ok(Some(header));
        }
        let io =
            |e: std::io::Error| PgError::new(SqlState::IO_ERROR, format!("could not sync the write-ahead log: {e}"));
        if self.log.is_none() {
            self.log = Some(File::open(self.room.log()).map_err(io)?);
        }
        if let Some(log) = self.log.as_ref().filter(|_| header.frames > 0) {
            log.sync_data().map_err(io)?;
        }
        Ok(Some(header))
    }

    /// The header of a frame.
    fn frame(&self, frame: u32, page_size: u32) -> Result<[u8; FRAME_HEADER]> {
        let mut header = [0; FRAME_HEADER];
        let at = LOG_HEADER + u64::from(frame) * (FRAME_HEADER as u64 + u64::from(page_size));
        let log = self.log.as_ref().ok_or_else(|| PgError::internal("the log is not open"))?;
        log.read_exact_at(&mut header, at).map_err(|e| failed("the write-ahead log", &e))?;
        Ok(header)
    }

    /// What has been committed since the last batch. Errors: 58030.
    pub fn advance(&mut self) -> Result<Next> {
        let Some(position) = self.position else { return Ok(Next::Lost("nothing has been read yet")) };
        let Some(header) = self.committed()? else { return Ok(Next::Nothing) };
        self.advance_to(position, header)
    }

    /// What was committed between two positions of one beginning of the log; None: it is not in the log any more. Errors: 58030.
    pub fn between(room: Arc<Room>, from: Position, to: Position) -> Result<Option<Batch>> {
        let mut stream = Stream::new(room, Some(from));
        let Some(now) = stream.committed()? else { return Ok(None) };
        if from.salt != to.salt || now.salt != to.salt || from.frames >= to.frames || now.frames < to.frames {
            return Ok(None);
        }
        match stream.advance_to(from, Header { frames: to.frames, checksum: to.checksum, ..now })? {
            Next::Batch(batch) => Ok(Some(batch)),
            Next::Nothing | Next::Lost(_) => Ok(None),
        }
    }

    /// Goes on with what is committed from now on, whatever was before. None: the log cannot be looked at just now. Errors: 58030.
    pub fn begin_here(&mut self) -> Result<Option<Position>> {
        let Some(header) = self.committed()? else { return Ok(None) };
        let position = Position { salt: header.salt, frames: header.frames, checksum: header.checksum };
        (self.position, self.commits) = (Some(position), Some(header.commits));
        Ok(self.position)
    }

    /// Until which position it has read.
    pub fn position(&self) -> Option<Position> {
        self.position
    }

    fn advance_to(&mut self, position: Position, header: Header) -> Result<Next> {
        let same = header.salt == position.salt;
        if same && header.frames == position.frames && (header.frames == 0 || header.checksum == position.checksum) {
            self.commits = Some(header.commits);
            return Ok(Next::Nothing);
        }
        if header.frames == 0 && self.commits == Some(header.commits) {
            // the log has been emptied, after all of it had been read
            return Ok(Next::Nothing);
        }
        if same && header.frames <= position.frames {
            return Ok(Next::Lost("the write-ahead log is another one, or shorter than it was"));
        }
        let first = if same { position.frames } else { 0 };
        if same && first > 0 && checksum_of(&self.frame(first - 1, header.page)?) != position.checksum {
            return Ok(Next::Lost("the write-ahead log is another one"));
        }
        let (mut frames, mut pages, mut commits) = (BTreeMap::new(), 0, 0u32);
        for at in first..header.frames {
            let frame = self.frame(at, header.page)?;
            if frame[8..16] != header.salt {
                return Ok(Next::Lost("another program has begun the write-ahead log anew"));
            }
            frames.insert(number(&frame), at);
            if number(&frame[4..]) != 0 {
                pages = number(&frame[4..]);
                commits += 1;
            }
        }
        let counted = self.commits.map(|before| before.wrapping_add(commits));
        if counted.is_some_and(|counted| counted != header.commits) || !same && counted.is_none() {
            return Ok(Next::Lost("another program has written back what had not been read"));
        }
        frames.split_off(&(pages + 1));
        let position = Position { salt: header.salt, frames: header.frames, checksum: header.checksum };
        let bytes = u64::from(header.frames - first) * (FRAME_HEADER as u64 + u64::from(header.page));
        (self.position, self.commits) = (Some(position), Some(header.commits));
        self.batch(header, frames, pages, position, bytes, None).map(Next::Batch)
    }

    fn batch(
        &self,
        header: Header,
        frames: BTreeMap<u32, u32>,
        pages: u32,
        position: Position,
        bytes: u64,
        reader: Option<rusqlite::Connection>,
    ) -> Result<Batch> {
        let log = self.log.as_ref().ok_or_else(|| PgError::internal("the log is not open"))?;
        Ok(Batch {
            room: self.room.clone(),
            log: log.try_clone().map_err(|e| failed("the write-ahead log", &e))?,
            frames,
            salt: header.salt,
            kept: BTreeMap::new(),
            whole: reader.is_some(),
            page_size: header.page,
            pages,
            position,
            bytes,
            _reader: reader,
        })
    }

    /// All of the database, as it is now. To be called in the writer's slot; the batch may be read after it, and the log does not begin anew as long as the batch is there. Errors: 58030,
    /// 55P03 if another program writes meanwhile.
    pub fn whole(&mut self) -> Result<Batch> {
        for _ in 0..20 {
            let Some(before) = self.committed()? else { continue };
            let reader = open_file(self.room.path())?;
            let page = |pragma: &str| -> Result<u32> {
                reader.query_row(pragma, [], |row| row.get(0)).map_err(crate::error::sqlite_error)
            };
            reader.execute_batch("BEGIN").map_err(crate::error::sqlite_error)?;
            let pages = page("PRAGMA page_count")?;
            if before.frames > 0 && !hold_log(&reader)? {
                std::thread::sleep(CHECKPOINT);
                continue;
            }
            // (an empty log does not say it)
            let header = Header { page: page("PRAGMA page_size")?, ..before };
            if self.room.state() != Some(before) {
                // another program has committed
                continue;
            }
            let mut frames = BTreeMap::new();
            for at in 0..header.frames {
                frames.insert(number(&self.frame(at, header.page)?), at);
            }
            frames.split_off(&(pages + 1));
            let position = Position { salt: header.salt, frames: header.frames, checksum: header.checksum };
            // (what is in the log may have been counted before)
            let bytes = u64::from(pages) * u64::from(header.page) + u64::from(header.frames) * header.frame_bytes();
            (self.position, self.commits) = (Some(position), Some(header.commits));
            return self.batch(header, frames, pages, position, bytes, Some(reader));
        }
        Err(PgError::new(SqlState::LOCK_NOT_AVAILABLE, "another program writes to the database all the time"))
    }

    /// How many bytes the log has that were read.
    pub fn log_length(&self) -> u64 {
        let frame = |header: Header| FRAME_HEADER as u64 + u64::from(header.page);
        let frames = self.position.map_or(0, |position| u64::from(position.frames));
        self.room.state().map_or(0, |header| frames * frame(header))
    }

    /// Writes the log back into the database's file, if all of it has been read, so that the next commit begins it anew. To be called in the writer's slot.
    /// Returns whether that could be done. Errors: 58030.
    pub fn write_back(&mut self) -> Result<bool> {
        let header = self.room.state();
        let read = self.position.zip(header).is_some_and(|(p, h)| p.salt == h.salt && p.frames == h.frames);
        if !read {
            return Ok(false);
        }
        let connection = open_file(self.room.path())?;
        connection.execute_batch("PRAGMA synchronous = NORMAL").map_err(crate::error::sqlite_error)?;
        let (busy, all, done): (i64, i64, i64) = connection
            .query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
            .map_err(crate::error::sqlite_error)?;
        Ok(busy == 0 && all == done)
    }
}

/// Makes a reader's transaction one that keeps the log from beginning anew. SQLite lets a transaction read the file alone if all of the log has been written back, and then the next commit
/// begins the log anew; a transaction that opens a snapshot (<https://www.sqlite.org/c3ref/snapshot_open.html>) always reads the log. False: a checkpoint is under way, or has just been. Errors:
/// 58030.
fn hold_log(reader: &rusqlite::Connection) -> Result<bool> {
    let mut snapshot = std::ptr::null_mut();
    // SAFETY: a live connection of this thread; the snapshot is freed once, after its last use.
    let rc = unsafe {
        let rc = match ffi::sqlite3_snapshot_get(reader.handle(), c"main".as_ptr(), &mut snapshot) {
            ffi::SQLITE_OK => ffi::sqlite3_snapshot_open(reader.handle(), c"main".as_ptr(), snapshot),
            rc => rc,
        };
        ffi::sqlite3_snapshot_free(snapshot);
        rc
    };
    match rc {
        ffi::SQLITE_OK => Ok(true),
        ffi::SQLITE_ERROR_SNAPSHOT => Ok(false),
        rc if rc & 0xff == ffi::SQLITE_BUSY => Ok(false),
        rc => Err(crate::error::from_sqlite(rc, "the write-ahead log could not be held")),
    }
}

/// The checksum in a frame's header.
fn checksum_of(frame: &[u8; FRAME_HEADER]) -> [u32; 2] {
    [number(&frame[16..]), number(&frame[20..])]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::in_memory::MemoryFolder;
    use crate::vfs::open::as_another_program;

    /// A database with a stream, and a copy that is made of nothing but its batches.
    struct Followed {
        folder: MemoryFolder,
        stream: Stream,
        copy: Vec<u8>,
    }

    impl Followed {
        fn new() -> (Followed, rusqlite::Connection) {
            let folder = MemoryFolder::new().expect("a folder");
            crate::checkpoints::leave(&folder.file());
            let room = Room::enter(&folder.file()).expect("a database");
            let db = open_file(room.path()).expect("opens");
            db.execute_batch("PRAGMA page_size = 1024; PRAGMA journal_mode = WAL; CREATE TABLE t (i INTEGER, s)")
                .expect("runs");
            room.open_index();
            (Followed { folder, stream: Stream::new(room, None), copy: vec![] }, db)
        }

        fn apply(&mut self, batch: &Batch) {
            let size = batch.page_size as usize;
            let mut content = vec![0; size];
            self.copy.resize(batch.pages as usize * size, 0);
            for page in batch.numbers() {
                batch.page(page, &mut content).expect("is read");
                let at = (page as usize - 1) * size;
                self.copy[at..at + size].copy_from_slice(&content);
            }
        }

        /// Follows. Returns what was lost, if anything was.
        fn follow(&mut self) -> Option<&'static str> {
            match self.stream.advance().expect("reads") {
                Next::Nothing => None,
                Next::Batch(batch) => {
                    self.apply(&batch);
                    None
                }
                Next::Lost(why) => {
                    let batch = self.stream.whole().expect("reads");
                    self.apply(&batch);
                    Some(why)
                }
            }
        }

        /// Compares the copy with what SQLite says is committed, page by page.
        fn check(&self) {
            let copy = self.folder.file().with_file_name("copy.db");
            std::fs::write(&copy, &self.copy).expect("writes");
            let rows = |path: &std::path::Path| -> Vec<(i64, Vec<u8>)> {
                let db = as_another_program(path).expect("opens");
                let mut rows = db.prepare("SELECT i, CAST(s AS BLOB) FROM t ORDER BY i, rowid").expect("is sound");
                let found = rows.query_map([], |r| Ok((r.get(0)?, r.get(1)?))).expect("runs");
                found.collect::<rusqlite::Result<_>>().expect("reads")
            };
            assert_eq!(rows(&copy), rows(&self.folder.file()));
            let sound: String = as_another_program(&copy)
                .and_then(|db| db.query_row("PRAGMA integrity_check", [], |r| r.get(0)))
                .expect("reads");
            assert_eq!(sound, "ok");
            for end in ["", "-wal", "-shm"] {
                let _ = std::fs::remove_file(self.folder.file().with_file_name(format!("copy.db{end}")));
            }
        }
    }

    /// Commits, growth, VACUUM, and a log that begins anew, by us and by another program: nothing is missed, or it is said.
    #[test]
    fn a_copy_of_all_batches_is_the_database() {
        let (mut followed, db) = Followed::new();
        assert!(followed.follow().is_some(), "it begins with the whole database");
        followed.check();
        let other = as_another_program(followed.folder.file()).expect("opens");
        // (it would write back what has not been read)
        other.execute_batch("PRAGMA wal_autocheckpoint = 0").expect("runs");
        let mut state = 1u64;
        let mut anew = 0;
        for round in 0..300 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(round);
            let kind = (state >> 40) % 12;
            match kind {
                0 => db.execute_batch("DELETE FROM t WHERE i % 3 = 0; VACUUM").expect("runs"),
                1 => db
                    .execute_batch("INSERT INTO t SELECT value, zeroblob(3000) FROM generate_series(1, 40)")
                    .or_else(|_| db.execute_batch("INSERT INTO t VALUES (7, zeroblob(90000))"))
                    .expect("runs"),
                2 => other.execute_batch("INSERT INTO t VALUES (8, 'other')").expect("runs"),
                3 => anew += u32::from(followed.stream.write_back().expect("runs")),
                4 => {
                    assert_eq!(followed.follow(), None, "round {round}");
                    // all of it was read: this does no harm
                    other.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).expect("runs");
                }
                _ => db.execute("INSERT INTO t VALUES (?1, 'x')", [round as i64]).map(drop).expect("runs"),
            }
            if kind > 6 {
                assert_eq!(followed.follow(), None, "round {round}");
            }
            if round % 20 == 0 {
                assert_eq!(followed.follow(), None, "round {round}");
                followed.check();
            }
        }
        assert!(anew > 3, "{anew}");
        assert_eq!(followed.follow(), None);
        followed.check();
    }

    /// A copy of the whole database holds the log also when all of the log has been written back.
    #[test]
    fn a_whole_copy_can_be_read_while_others_commit() {
        for back in [false, true] {
            let (mut followed, db) = Followed::new();
            db.execute_batch("INSERT INTO t SELECT value, zeroblob(3000) FROM json_each('[1, 2, 3, 4, 5, 6, 7, 8]')")
                .expect("runs");
            let batch = followed.stream.whole().expect("reads");
            drop(batch);
            if back {
                assert!(followed.stream.write_back().expect("runs"));
            }
            let batch = followed.stream.whole().expect("reads");
            let salt = batch.position.salt;
            for i in 0..20 {
                db.execute("INSERT INTO t VALUES (?1, zeroblob(9000))", [i]).expect("runs");
                db.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(())).expect("runs");
            }
            followed.apply(&batch);
            assert_eq!(followed.stream.room.state().expect("a log").salt, salt, "written back before: {back}");
            assert_eq!(followed.follow(), None, "what comes after it is in the log");
            drop(batch);
            followed.check();
        }
    }

    #[test]
    fn what_another_program_takes_away_is_noticed() {
        for how in ["PASSIVE", "TRUNCATE", "RESTART"] {
            let (mut followed, db) = Followed::new();
            followed.follow();
            db.execute_batch("INSERT INTO t VALUES (1, 'not read yet')").expect("runs");
            let other = as_another_program(followed.folder.file()).expect("opens");
            other.query_row(&format!("PRAGMA wal_checkpoint({how})"), [], |_| Ok(())).expect("runs");
            db.execute_batch("INSERT INTO t VALUES (2, 'in the new log')").expect("runs");
            assert!(followed.follow().is_some(), "{how}");
            followed.check();
            db.execute_batch("INSERT INTO t VALUES (3, 'and on')").expect("runs");
            assert_eq!(followed.follow(), None, "{how}");
            followed.check();
        }
    }

    #[test]
    fn a_stream_goes_on_where_it_was_or_says_that_it_cannot() {
        let (mut followed, db) = Followed::new();
        followed.follow();
        db.execute_batch("INSERT INTO t VALUES (1, 'a')").expect("runs");
        followed.follow();
        let position = followed.stream.position;
        db.execute_batch("INSERT INTO t VALUES (2, 'b')").expect("runs");
        followed.stream = Stream::new(followed.stream.room.clone(), position);
        assert_eq!(followed.follow(), None);
        followed.check();
        for wrong in [
            Position { checksum: [1, 2], ..position.expect("there is one") },
            Position { salt: [9; 8], ..position.expect("there is one") },
            Position { frames: 1 << 20, ..position.expect("there is one") },
        ] {
            followed.stream = Stream::new(followed.stream.room.clone(), Some(wrong));
            assert!(followed.follow().is_some(), "{wrong:?}");
            followed.check();
        }
    }

    #[test]
    fn kept_pages_outlive_their_log() {
        let (mut followed, db) = Followed::new();
        followed.follow();
        db.execute_batch("INSERT INTO t VALUES (1, 'a')").expect("runs");
        let Next::Batch(mut batch) = followed.stream.advance().expect("reads") else { panic!("there is one") };
        assert!(!batch.keep(1000).expect("reads") && batch.keep(1 << 20).expect("reads"));
        assert!(followed.stream.write_back().expect("runs"));
        // the log begins anew
        db.execute_batch("CREATE TABLE other (i); INSERT INTO other VALUES (1)").expect("runs");
        followed.apply(&batch);
        let copy = followed.folder.file().with_file_name("copy.db");
        std::fs::write(&copy, &followed.copy).expect("writes");
        let rows: i64 = as_another_program(&copy)
            .and_then(|db| db.query_row("SELECT count(*) FROM t", [], |r| r.get(0)))
            .expect("reads");
        assert_eq!(rows, 1);
    }
}
