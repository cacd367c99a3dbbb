//! The header of the log's index, which all programs that have the database open share in memory: whether anything was committed since
//! one looked last is seen there without a system call.
//!
//! The layout is a part of SQLite's file format: <https://www.sqlite.org/walformat.html#the_wal_index_header>. The index is in the byte
//! order of the machine, and each transaction that is committed writes its header twice.

use super::FileId;
use std::fs::File;
use std::io::{Error, ErrorKind, Result};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::atomic::{fence, AtomicU64, Ordering};

/// Both copies of the header, in words of eight bytes.
const WORDS: usize = 12;
/// One copy.
const COPY: usize = WORDS / 2;
/// Behind them: how many frames of the log are in the database, in the lower half of the word.
const WRITTEN_BACK: usize = WORDS;
/// What is mapped.
const MAPPED: usize = WORDS + 1;
/// SQLite makes the index as long as this at least, before it uses it.
const SHORTEST: u64 = 32 << 10;
/// The bytes of the log's header, and of a frame's.
const LOG_HEADER: u64 = 32;
const FRAME_HEADER: u64 = 24;

/// What the header says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    /// Another one after each commit and each new beginning of the log.
    pub mark: u64,
    /// Counts commits.
    pub commits: u32,
    /// Frames of the log that hold commits.
    pub frames: u32,
    /// The bytes of a page.
    pub page: u32,
    /// The checksum of the last of them.
    pub checksum: [u32; 2],
    /// What the log's present beginning is called; in each of its frames, too.
    pub salt: [u8; 8],
}

impl Header {
    /// The bytes of each frame.
    pub fn frame_bytes(&self) -> u64 {
        FRAME_HEADER + u64::from(self.page)
    }

    /// How long the log has to be for its commits.
    pub fn log_length(&self) -> u64 {
        match self.frames {
            0 => 0,
            n => LOG_HEADER + u64::from(n) * self.frame_bytes(),
        }
    }

    /// Where the last frame is that holds a commit; None: there is none.
    fn last_frame(&self) -> Option<u64> {
        (self.frames > 0).then(|| self.log_length() - FRAME_HEADER - u64::from(self.page))
    }

    /// Whether a log has this header: its beginning, and its last frame.
    pub fn is_of(&self, log: &File) -> Result<bool> {
        let Some(last) = self.last_frame() else { return Ok(true) };
        let mut beginning = [0; LOG_HEADER as usize];
        Ok(read_at(log, 0, &mut beginning)? && beginning[16..24] == self.salt && self.is_last_in(log, last)?)
    }

    /// Whether the last frame is still in a log that has grown since. (Of one that has begun anew, it is not.)
    pub fn is_in(&self, log: &File, now: &Header) -> Result<bool> {
        match self.last_frame() {
            Some(last) if self.salt == now.salt => self.is_last_in(log, last),
            _ => Ok(true),
        }
    }

    fn is_last_in(&self, log: &File, at: u64) -> Result<bool> {
        let mut frame = [0; FRAME_HEADER as usize];
        let [high, low] = self.checksum.map(u32::to_be_bytes);
        Ok(read_at(log, at, &mut frame)? && frame[8..16] == self.salt && frame[16..20] == high && frame[20..] == low)
    }
}

/// Reads from a place of a file. False: it ends before.
fn read_at(file: &File, at: u64, to: &mut [u8]) -> Result<bool> {
    match file.read_exact_at(to, at) {
        Ok(()) => Ok(true),
        Err(e) if e.kind() == ErrorKind::UnexpectedEof => Ok(false),
        Err(e) => Err(e),
    }
}

/// The index of a database that is open.
pub(super) struct Index {
    /// [`WORDS`] words
    words: NonNull<AtomicU64>,
    /// SQLite's locks are on this file, too: it is closed after the last connection
    _file: File,
    pub id: FileId,
}

// SAFETY: the words are atomic, and stay mapped as long as the index lives.
unsafe impl Send for Index {}
// SAFETY: as above.
unsafe impl Sync for Index {}

impl Index {
    /// Opens the index of a database that this process has in use.
    pub fn open(path: &Path) -> Result<Index> {
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        if metadata.len() < SHORTEST {
            return Err(Error::new(ErrorKind::InvalidData, "the index is not in use"));
        }
        // SAFETY: a new mapping of an open file, which is longer than this; nothing is written to it.
        let mapped = unsafe {
            libc::mmap(std::ptr::null_mut(), MAPPED * 8, libc::PROT_READ, libc::MAP_SHARED, file.as_raw_fd(), 0)
        };
        let words = NonNull::new(mapped).filter(|m| m.as_ptr() != libc::MAP_FAILED).ok_or_else(Error::last_os_error)?;
        Ok(Index { words: words.cast(), _file: file, id: FileId::of(&metadata) })
    }

    fn word(&self, i: usize) -> u64 {
        debug_assert!(i < MAPPED);
        // SAFETY: within the mapping. Other processes write to it, as SQLite means it to be.
        unsafe { self.words.add(i).as_ref() }.load(Ordering::Relaxed)
    }

    /// The checksum of the copy that SQLite writes last. (The header has no word that is never the same again; its checksum covers the
    /// number of commits, and what the log's present beginning is called.)
    pub fn mark(&self) -> u64 {
        let mark = self.word(COPY - 1);
        fence(Ordering::Acquire);
        mark
    }

    /// How many frames of the log have been written back into the database.
    pub fn written_back(&self) -> u32 {
        let [a, b, c, d, ..] = self.word(WRITTEN_BACK).to_ne_bytes();
        u32::from_ne_bytes([a, b, c, d])
    }

    /// None: somebody writes it just now, again and again.
    pub fn header(&self) -> Option<Header> {
        for _ in 0..100 {
            let first: [u64; COPY] = std::array::from_fn(|i| self.word(i));
            fence(Ordering::Acquire);
            let second: [u64; COPY] = std::array::from_fn(|i| self.word(COPY + i));
            if first == second {
                let bytes = |word: u64| word.to_ne_bytes();
                let number = |word: u64, half: usize| {
                    let b = bytes(word);
                    u32::from_ne_bytes([b[4 * half], b[4 * half + 1], b[4 * half + 2], b[4 * half + 3]])
                };
                let page = bytes(first[1]);
                let page = u32::from(u16::from_ne_bytes([page[6], page[7]]));
                let salt = bytes(first[4]);
                return Some(Header {
                    mark: first[COPY - 1],
                    commits: number(first[1], 0),
                    frames: number(first[2], 0),
                    // the largest does not fit into its field
                    page: if page == 1 { 65_536 } else { page },
                    checksum: [number(first[3], 0), number(first[3], 1)],
                    salt,
                });
            }
            std::hint::spin_loop();
        }
        None
    }
}

impl Drop for Index {
    fn drop(&mut self) {
        // SAFETY: mapped by open(), unmapped once.
        unsafe { libc::munmap(self.words.as_ptr().cast(), MAPPED * 8) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::in_memory::MemoryFolder;

    #[test]
    fn the_header_counts_commits_and_frames() {
        let folder = MemoryFolder::new().unwrap();
        let db = crate::vfs::open::as_another_program(folder.file()).unwrap();
        db.execute_batch("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; CREATE TABLE t (i)").unwrap();
        let [log, index, ..] = crate::files::folder::companions(&folder.file());
        let length = || std::fs::metadata(&log).unwrap().len();
        let index = Index::open(&index).unwrap();
        let before = index.header().unwrap();
        assert_eq!((before.log_length(), before.mark), (length(), index.mark()));
        for i in 0..3 {
            db.execute("INSERT INTO t VALUES (?1)", [i]).unwrap();
        }
        let after = index.header().unwrap();
        assert_eq!((after.commits, after.log_length()), (before.commits + 3, length()));
        assert_ne!(after.mark, before.mark);
        assert_eq!(index.written_back(), 0);
        db.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(())).unwrap();
        assert_eq!(index.written_back(), after.frames);
        db.query_row("SELECT count(*) FROM t", [], |r| r.get::<_, i64>(0)).unwrap();
        db.execute_batch("BEGIN; INSERT INTO t VALUES (1); ROLLBACK").unwrap();
        assert_eq!(index.header(), Some(after));
        db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
        let emptied = index.header().unwrap();
        assert_eq!((emptied.log_length(), length()), (0, 0));
        assert_ne!(emptied.mark, after.mark);
    }
}
