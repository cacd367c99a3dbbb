//! The file of the write-ahead log: synced for commits that must last, and made longer before SQLite needs it.
//!
//! A sync of bytes that lie within a file costs one write to the disk; where the file has grown, its new length and blocks
//! have to be recorded, too, which costs as much again (and SQLite grows its log by a page or two with each commit). So the
//! log is grown a stretch at a time, as zeros: to SQLite the log ends where a frame's checksum is wrong, and a frame of
//! zeros names page 0, which there is not (<https://www.sqlite.org/walformat.html#wal_file_format>).

use crate::connection::{Connection, Natives};
use crate::files::{Fate, FileId, Room};
use crate::vfs::{Extent, Progress};
use parking_lot::Mutex;
use pgsqlite_types::{PgError, Result, SqlState};
use std::cell::UnsafeCell;
use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

/// A log that is left grows longer before it is written back ([`crate::checkpoints`]).
const LONG_IF_LEFT: u64 = 256 << 20;
/// By so many bytes the log grows: some sixty commits of one page each.
const STRETCH: usize = 256 << 10;
/// At about this length SQLite starts again at the log's beginning: its checkpoint comes after 1000 pages.
const LONG: u64 = 4 << 20;

/// A connection that writes a log back into its database.
pub trait Keeper: Send + Sync {
    /// Writes back what can be of a log that was removed. Returns whether that was all; None: the connection is closed.
    fn save_log(&self) -> Option<Result<bool>>;
}

impl<N: Natives> Keeper for Mutex<Option<Connection<N>>> {
    fn save_log(&self) -> Option<Result<bool>> {
        self.lock().as_ref().map(Connection::save_log)
    }
}

/// The open log of a database.
pub struct Wal {
    room: Arc<Room>,
    /// writes a log back that somebody has removed
    keeper: Arc<dyn Keeper>,
    file: OnceLock<(File, FileId)>,
    /// its length after it was last made longer; another one: SQLite has come to its end, or somebody has cut it
    length: AtomicU64,
    /// up to here it is made longer ahead of need
    long: u64,
    made: Instant,
    /// when it was checked last without a sync: milliseconds since it was made
    checked: AtomicU64,
    progress: Arc<Progress>,
}

impl Wal {
    /// The log that SQLite keeps at this path as long as the database is open, and what is known of it.
    pub fn new(room: Arc<Room>, keeper: Arc<dyn Keeper>, progress: Arc<Progress>) -> Wal {
        let left = crate::checkpoints::are_left(room.path());
        Wal {
            long: if left { LONG_IF_LEFT } else { LONG },
            room,
            keeper,
            file: OnceLock::new(),
            length: AtomicU64::new(0),
            made: Instant::now(),
            checked: AtomicU64::new(0),
            progress,
        }
    }

    fn opened(&self) -> io::Result<&(File, FileId)> {
        match self.file.get() {
            Some(file) => Ok(file),
            None => {
                let file = File::options().read(true).write(true).open(self.room.log())?;
                let id = FileId::of(&file.metadata()?);
                Ok(self.file.get_or_init(|| (file, id)))
            }
        }
    }

    fn file(&self) -> io::Result<&File> {
        self.opened().map(|(file, _)| file)
    }

    /// After a sync: whether the database and its log can be found again, and what was committed in the log. Errors: 58P01, fatal.
    pub fn check(&self) -> Result<()> {
        match self.opened() {
            Ok((file, id)) => self.room.check(*id).and_then(|()| self.room.check_content(file)),
            Err(e) => Err(PgError::new(SqlState::IO_ERROR, format!("could not open the write-ahead log: {e}")).fatal()),
        }
    }

    /// As [`Wal::check`], but at most every fifth of a second: for commits that nobody waits to see on disk.
    pub fn check_now_and_then(&self) -> Result<()> {
        const PAUSE: u64 = 200;
        let now = self.made.elapsed().as_millis() as u64;
        if now < self.checked.load(Ordering::Relaxed) + PAUSE {
            return Ok(());
        }
        self.checked.store(now, Ordering::Relaxed);
        self.check()
    }

    /// Writes a log that was removed back into the database, which has no other one: what was acknowledged before is in the log that is
    /// open. False: there is nothing to write back, or it is done.
    pub fn save_removed(&self) -> bool {
        if self.room.fate() != Fate::LogRemoved {
            return false;
        }
        match self.keeper.save_log() {
            None => false,
            Some(Ok(done)) => !done,
            Some(Err(e)) => {
                tracing::debug!("{}", e.message());
                true
            }
        }
    }

    /// The log that is open, if one is.
    pub(crate) fn id(&self) -> Option<FileId> {
        self.file.get().map(|(_, id)| *id)
    }

    /// Before a commit, while this process holds SQLite's write lock: whether the log has what was committed to it. Errors: 58P01, fatal.
    pub fn check_length(&self) -> Result<()> {
        let length = self.file().and_then(|mut file| file.seek(SeekFrom::End(0)));
        match length {
            Ok(length) => self.room.check_length(length),
            // SQLite tells what is wrong with it
            Err(_) => Ok(()),
        }
    }

    /// What has been written is on disk when this returns, among it the commits up to this number. After one sync of the database has
    /// failed, whoever asked for it, all do.
    pub fn sync(&self, upto: u64) -> io::Result<()> {
        self.sync_file().map(|extent| self.progress.is_synced(&extent, upto))
    }

    /// As [`Wal::sync`], but what is on disk then is told by the caller. Returns what that is.
    pub fn sync_file(&self) -> io::Result<Extent> {
        let extent = self.progress.extent();
        let synced = self.file().and_then(File::sync_data);
        if synced.is_err() {
            self.progress.fail();
        }
        // one that failed meanwhile was of these bytes, too
        if synced.is_ok() && self.progress.has_failed() {
            return Err(io::Error::other("an earlier sync has failed"));
        }
        synced.map(|()| extent)
    }

    /// Makes room for coming commits, if there may be none. Only to be called while this process holds SQLite's write lock:
    /// nobody else may append meanwhile. That it fails (a full disk) does no harm.
    pub fn lengthen(&self) -> io::Result<()> {
        let mut file = self.file()?;
        // not fstat(): a file whose time of modification has been asked for gets a new one with each write, which costs more
        // than the write
        let length = file.seek(SeekFrom::End(0))?;
        // an empty log has no header yet
        if length == self.length.load(Ordering::Relaxed) || length == 0 || length >= self.long {
            return Ok(());
        }
        self.length.store(length, Ordering::Relaxed);
        file.write_all_at(Zeros::bytes(), length)?;
        self.length.store(length + STRETCH as u64, Ordering::Relaxed);
        Ok(())
    }
}

/// Zeros that take no room in the program's file, as those of a constant would.
struct Zeros(UnsafeCell<[u8; STRETCH]>);

// SAFETY: nobody writes to them.
unsafe impl Sync for Zeros {}

impl Zeros {
    fn bytes() -> &'static [u8] {
        static ZEROS: Zeros = Zeros(UnsafeCell::new([0; STRETCH]));
        // SAFETY: nobody writes to them.
        unsafe { &*ZEROS.0.get() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A keeper that is closed.
    fn nobody() -> Arc<dyn Keeper> {
        Arc::<Mutex<Option<crate::connection::without_natives::Connection>>>::default()
    }

    type Harm = fn(&File) -> io::Result<()>;

    /// What other programs may do to a log while a commit is written, and what is acknowledged without a look at it.
    #[test]
    fn a_log_that_is_cut_or_begun_anew_during_a_commit_is_noticed() {
        let page: usize = 24 + 4096;
        let harms: [(&str, Harm); 6] = [
            ("nothing", |_| Ok(())),
            ("is cut", |log| log.set_len(0)),
            ("is cut and grows again", |log| {
                let length = log.metadata()?.len();
                log.set_len(0).and_then(|()| log.set_len(length))
            }),
            ("is cut by its last commits", |log| log.set_len(32 + 3 * (24 + 4096))),
            ("is begun anew", |log| log.write_all_at(&[7; 8], 16)),
            ("loses a frame", |log| log.write_all_at(&[0; 24], log.metadata()?.len() - (24 + 4096))),
        ];
        for (what, harm) in harms {
            for commits_after in [false, true] {
                let folder = crate::in_memory::MemoryFolder::new().expect("a folder");
                let path = folder.file();
                let db = crate::vfs::open::as_another_program(&path).expect("opens");
                db.execute_batch("PRAGMA page_size = 4096; PRAGMA journal_mode = WAL; CREATE TABLE t (i)")
                    .expect("runs");
                let insert = || db.execute("INSERT INTO t VALUES (1)", []).map(drop);
                let room = Room::enter(&path).expect("a database");
                room.open_index();
                let wal = Wal::new(room, nobody(), Arc::default());
                (0..6).try_for_each(|_| insert()).expect("commits");
                wal.check().expect("nothing has happened");
                if !commits_after {
                    insert().expect("commits");
                }
                let log = File::options().read(true).write(true).open(path.with_extension("db-wal")).expect("is there");
                assert_eq!((log.metadata().expect("a log").len() as usize - 32) % page, 0);
                harm(&log).expect("happens");
                if commits_after {
                    // (SQLite may notice itself)
                    let _ = insert();
                }
                match wal.check() {
                    Ok(()) => assert_eq!(what, "nothing", "{commits_after}"),
                    Err(e) => {
                        assert_eq!((e.code(), what == "nothing"), (SqlState::UNDEFINED_FILE, false), "{what}: {e}")
                    }
                }
            }
        }
    }

    #[test]
    fn a_log_that_begins_anew_by_itself_is_sound() {
        let folder = crate::in_memory::MemoryFolder::new().expect("a folder");
        let db = crate::vfs::open::as_another_program(folder.file()).expect("opens");
        db.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE t (i)").expect("runs");
        let room = Room::enter(&folder.file()).expect("a database");
        room.open_index();
        let wal = Wal::new(room, nobody(), Arc::default());
        for how in ["PASSIVE", "RESTART", "TRUNCATE", "FULL", "TRUNCATE"] {
            for _ in 0..3 {
                db.execute("INSERT INTO t VALUES (1)", []).expect("commits");
                wal.check().expect("is sound");
            }
            db.query_row(&format!("PRAGMA wal_checkpoint({how})"), [], |_| Ok(())).expect("is written back");
            wal.check().expect("is sound");
        }
    }

    /// A copy of a database with a log that was made longer is what a crash leaves: SQLite reads all commits from it.
    #[test]
    fn the_log_grows_ahead_and_reads_the_same() {
        let folder = crate::in_memory::MemoryFolder::new().expect("a folder");
        let path = |name: &str| folder.file().with_file_name(name);
        crate::vfs::open::as_another_program(path("a.db"))
            .expect("opens")
            .execute_batch("PRAGMA journal_mode = WAL")
            .expect("runs");
        let wal = Wal::new(Room::enter(&path("a.db")).expect("a database"), nobody(), Arc::default());
        let db = crate::vfs::open::as_another_program(path("a.db")).expect("opens");
        let length = || std::fs::metadata(path("a.db-wal")).expect("is there").len();
        db.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE t (i)").expect("runs");
        let mut grown = 0;
        for i in 0..200 {
            db.execute_batch(&format!("BEGIN IMMEDIATE; INSERT INTO t VALUES ({i})")).expect("writes");
            let before = length();
            wal.lengthen().expect("room on the disk");
            grown += u32::from(length() > before);
            db.execute_batch("COMMIT").expect("commits");
        }
        assert!((3..=5).contains(&grown), "it was made longer {grown} times for 200 pages");
        for end in ["db", "db-wal"] {
            std::fs::copy(path(&format!("a.{end}")), path(&format!("b.{end}"))).expect("copies");
        }
        let copy = crate::vfs::open::as_another_program(path("b.db")).expect("opens");
        let count: i64 = copy.query_row("SELECT count(*) FROM t", [], |r| r.get(0)).expect("reads");
        let sound: String = copy.query_row("PRAGMA integrity_check", [], |r| r.get(0)).expect("checks");
        assert_eq!((count, sound.as_str()), (200, "ok"));
        wal.sync(0).expect("syncs");
    }
}
