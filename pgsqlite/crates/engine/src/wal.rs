//! The file of the write-ahead log: synced for commits that must last, and made longer before SQLite needs it.
//!
//! A sync of bytes that lie within a file costs one write to the disk; where the file has grown, its new length and blocks
//! have to be recorded, too, which costs as much again (and SQLite grows its log by a page or two with each commit). So the
//! log is grown a stretch at a time, as zeros: to SQLite the log ends where a frame's checksum is wrong, and a frame of
//! zeros names page 0, which there is not (<https://www.sqlite.org/walformat.html#wal_file_format>).

use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::OnceLock;

/// By so many bytes the log grows: some sixty commits of one page each.
const STRETCH: usize = 256 << 10;
/// At about this length SQLite starts again at the log's beginning: its checkpoint comes after 1000 pages.
const LONG: u64 = 4 << 20;

pub struct Wal {
    path: PathBuf,
    file: OnceLock<File>,
    /// its length after it was last made longer; another one: SQLite has come to its end, or somebody has cut it
    length: AtomicU64,
}

impl Wal {
    /// The log that SQLite keeps at this path as long as the database is open.
    pub fn new(path: PathBuf) -> Wal {
        Wal { path, file: OnceLock::new(), length: AtomicU64::new(0) }
    }

    fn file(&self) -> io::Result<&File> {
        match self.file.get() {
            Some(file) => Ok(file),
            None => {
                let file = File::options().read(true).write(true).open(&self.path)?;
                Ok(self.file.get_or_init(|| file))
            }
        }
    }

    /// What has been written is on disk when this returns.
    pub fn sync(&self) -> io::Result<()> {
        self.file()?.sync_data()
    }

    /// Makes room for coming commits, if there may be none. Only to be called while this process holds SQLite's write lock:
    /// nobody else may append meanwhile. That it fails (a full disk) does no harm.
    pub fn lengthen(&self) -> io::Result<()> {
        static ZEROS: [u8; STRETCH] = [0; STRETCH];
        let mut file = self.file()?;
        // not fstat(): a file whose time of modification has been asked for gets a new one with each write, which costs more
        // than the write
        let length = file.seek(SeekFrom::End(0))?;
        // an empty log has no header yet
        if length == self.length.load(Ordering::Relaxed) || length == 0 || length >= LONG {
            return Ok(());
        }
        self.length.store(length, Ordering::Relaxed);
        file.write_all_at(&ZEROS, length)?;
        self.length.store(length + STRETCH as u64, Ordering::Relaxed);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A copy of a database with a log that was made longer is what a crash leaves: SQLite reads all commits from it.
    #[test]
    fn the_log_grows_ahead_and_reads_the_same() {
        let folder = crate::memory::MemoryFolder::new().expect("a folder");
        let path = |name: &str| folder.file().with_file_name(name);
        let db = rusqlite::Connection::open(path("a.db")).expect("opens");
        let wal = Wal::new(path("a.db-wal"));
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
        let copy = rusqlite::Connection::open(path("b.db")).expect("opens");
        let count: i64 = copy.query_row("SELECT count(*) FROM t", [], |r| r.get(0)).expect("reads");
        let sound: String = copy.query_row("PRAGMA integrity_check", [], |r| r.get(0)).expect("checks");
        assert_eq!((count, sound.as_str()), (200, "ok"));
        wal.sync().expect("syncs");
    }
}
