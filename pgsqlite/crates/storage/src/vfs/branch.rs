//! Transactions that write beside the log.
//!
//! SQLite lets a connection write only on the newest snapshot, and only one connection at a time: it takes the write lock, and compares
//! the snapshot that it reads with the header of the log's index, in shared memory. A *branch* is a transaction that changes an older
//! snapshot, while other connections commit. Its changes stay in the connection's page cache. It can only be rolled back, or be made a
//! writing transaction where nobody has committed since its snapshot ([`Index::join`]).
//!
//! Each connection sees the first pages of the index through a mapping of its own. For a branch the page with the header is exchanged
//! for a copy that has the header of the branch's snapshot, and SQLite's write lock is granted without being taken. What the other pages of
//! the index say of frames beyond that snapshot does not matter: SQLite compares each with the header. Nothing may be
//! written to the log: the page cache has no limit meanwhile, and a write is refused ([`super::write`]).
//!
//! The format of the index: <https://www.sqlite.org/walformat.html#the_wal_index_file_format>.

use libsqlite3_sys as ffi;
use std::ffi::c_int;

/// The bytes of a header of the index, of which there are two copies at its beginning.
pub const HEADER: usize = 48;
/// Where a header has the number of the snapshot's last frame (4 bytes, in the machine's order).
const LAST_FRAME: std::ops::Range<usize> = 16..20;

/// A header of the index, which is what tells one snapshot from another.
pub type Header = [u8; HEADER];

/// What the connection does with its mapping.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum State {
    /// it shares the page with all others
    #[default]
    Shared,
    /// it has a page of its own, and has not asked for the write lock
    Ready,
    /// SQLite believes that it has the write lock
    Writing,
    /// the page could not be shared again: the connection is of no use any more
    Broken,
}

/// A connection's mapping of the first pages of the log's index.
#[derive(Default)]
pub struct Index {
    mapping: Option<Mapping>,
    state: State,
}

/// The first pages of the index, a second time.
struct Mapping {
    /// as the default VFS has mapped them
    shared: *mut u8,
    own: *mut u8,
    length: usize,
    /// the system's
    page: usize,
}

// SAFETY: memory that the connection uses, which one thread does at a time.
unsafe impl Send for Mapping {}

impl Mapping {
    /// None: the system cannot map memory twice, or its pages are too large.
    ///
    /// # Safety
    /// `shared` is a shared mapping of `length` bytes, which stays until this is dropped.
    #[cfg(target_os = "linux")]
    unsafe fn new(shared: *mut u8, length: usize) -> Option<Mapping> {
        // SAFETY: a constant of the system; with an old size of 0 a shared mapping is doubled (mremap(2)).
        let (page, own) = unsafe {
            (libc::sysconf(libc::_SC_PAGESIZE), libc::mremap(shared.cast(), 0, length, libc::MREMAP_MAYMOVE))
        };
        if own == libc::MAP_FAILED {
            return None;
        }
        let mapping = Mapping { shared, own: own.cast(), length, page: usize::try_from(page).ok()? };
        (2 * HEADER <= mapping.page && mapping.page <= length).then_some(mapping)
    }

    #[cfg(not(target_os = "linux"))]
    unsafe fn new(_shared: *mut u8, _length: usize) -> Option<Mapping> {
        None
    }

    /// A page of its own, as the shared one is now, with another header.
    #[cfg(target_os = "linux")]
    fn part(&self, header: &Header) -> bool {
        // SAFETY: both mappings have the page, and nobody uses the own one meanwhile. Others may change the shared page: what they add
        // there lies beyond the branch's snapshot.
        unsafe {
            let mut copy = vec![0u8; self.page];
            std::ptr::copy_nonoverlapping(self.shared, copy.as_mut_ptr(), self.page);
            copy[..HEADER].copy_from_slice(header);
            copy[HEADER..2 * HEADER].copy_from_slice(header);
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
            let at = libc::mmap(self.own.cast(), self.page, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
            if at == libc::MAP_FAILED {
                return false;
            }
            std::ptr::copy_nonoverlapping(copy.as_ptr(), self.own, self.page);
        }
        true
    }

    #[cfg(not(target_os = "linux"))]
    fn part(&self, _header: &Header) -> bool {
        false
    }

    /// The shared page again.
    #[cfg(target_os = "linux")]
    fn share(&self) -> bool {
        let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
        // SAFETY: the page takes the place of the own one, which is of no more use.
        let at = unsafe { libc::mremap(self.shared.cast(), 0, self.page, flags, self.own) };
        at != libc::MAP_FAILED
    }

    #[cfg(not(target_os = "linux"))]
    fn share(&self) -> bool {
        true
    }

    fn header(&self, of: *const u8) -> Header {
        let mut header = [0; HEADER];
        // SAFETY: both mappings are longer than that.
        unsafe { std::ptr::copy_nonoverlapping(of, header.as_mut_ptr(), HEADER) };
        header
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is its own, and SQLite does not use it any more.
        unsafe { libc::munmap(self.own.cast(), self.length) };
    }
}

impl Index {
    /// SQLite asks where the first pages are, which the default VFS has mapped at `shared`. Returns the connection's own mapping of them.
    ///
    /// # Safety
    /// As for [`Mapping::new`].
    pub unsafe fn map(&mut self, shared: *mut u8, length: usize) -> *mut u8 {
        if self.mapping.as_ref().is_none_or(|m| m.shared != shared) {
            // SAFETY: promised by the caller.
            self.mapping = unsafe { Mapping::new(shared, length) };
        }
        self.mapping.as_ref().map_or(shared, |m| m.own)
    }

    /// SQLite does not use the mapping any more.
    pub fn unmap(&mut self) {
        *self = Index::default();
    }

    /// The header of the log as it is now, if the log has no frames: then no snapshot is older. None: it has some.
    pub fn header_of_empty_log(&self) -> Option<Header> {
        let mapping = self.mapping.as_ref()?;
        let header = mapping.header(mapping.shared);
        (header[LAST_FRAME] == [0; 4]).then_some(header)
    }

    /// The transaction, which reads the snapshot with this header, may write from now on. False: it cannot.
    pub fn begin(&mut self, header: &Header) -> bool {
        let Some(mapping) = self.mapping.as_ref().filter(|_| self.state == State::Shared) else { return false };
        if mapping.part(header) {
            self.state = State::Ready;
        }
        self.state == State::Ready
    }

    /// Whether the connection must not write to the log.
    pub fn is_beside(&self) -> bool {
        self.state != State::Shared
    }

    /// The branch ends. SQLite has rolled it back, or never begun to write.
    pub fn end(&mut self) {
        let Some(mapping) = &self.mapping else { return };
        if matches!(self.state, State::Ready | State::Writing) {
            self.state = if mapping.share() { State::Shared } else { State::Broken };
        }
    }

    /// SQLite asks for its write lock, or gives it back (`xShmLock`). None: the default VFS answers.
    pub fn lock(&mut self, flags: c_int) -> Option<c_int> {
        const EXCLUDE: c_int = ffi::SQLITE_SHM_LOCK | ffi::SQLITE_SHM_EXCLUSIVE;
        match (self.state, flags) {
            (State::Shared, _) => None,
            (State::Broken, _) => Some(ffi::SQLITE_IOERR_SHMLOCK),
            (_, EXCLUDE) => {
                self.state = State::Writing;
                Some(ffi::SQLITE_OK)
            }
            _ => {
                self.end();
                Some(ffi::SQLITE_OK)
            }
        }
    }

    /// Makes a writing transaction of the branch, which may commit: `lock` takes or gives back SQLite's write lock. False: others have
    /// committed since its snapshot, or have the lock; then it is a branch as before.
    pub fn join(&mut self, mut lock: impl FnMut(c_int) -> c_int) -> bool {
        let Some(mapping) = self.mapping.as_ref().filter(|_| self.state == State::Writing) else { return false };
        if lock(ffi::SQLITE_SHM_LOCK | ffi::SQLITE_SHM_EXCLUSIVE) != ffi::SQLITE_OK {
            return false;
        }
        if mapping.header(mapping.shared) != mapping.header(mapping.own) {
            lock(ffi::SQLITE_SHM_UNLOCK | ffi::SQLITE_SHM_EXCLUSIVE);
            return false;
        }
        self.end();
        self.state == State::Shared
    }
}
