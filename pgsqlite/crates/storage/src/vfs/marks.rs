//! The read mark that a process keeps for a moment, so that its readers need no system call to lock and unlock one.
//!
//! SQLite's readers hold a shared lock on one of five read marks while they read (<https://www.sqlite.org/walformat.html>,
//! "WAL Locks"). Within a process SQLite counts who shares a lock, and asks the operating system only for the first and the
//! last. So a connection that nobody reads with, the [`Anchor`], joins the first reader's lock and stays: the readers after it
//! are not the first, and none is the last.
//!
//! A reader that finds the log grown since the mark was set takes a mark exclusively for a moment to raise it. A lower mark is
//! as good to read with (it says which frames the log must keep, not which are seen), so most of these are answered "busy",
//! which SQLite takes as "somebody else uses that mark" and goes on with the lower one; now and then the anchor lets go, and
//! the mark is raised.
//!
//! What a lock that is held a little longer can do to others: a checkpoint copies no frames beyond a locked mark, and a log is
//! not begun anew while one is locked. Checkpoints of this process come first: the anchor lets go as one begins. For those of
//! others it lets go when nobody has read for [`IDLE`].

use super::branch::Index;
use super::{FileState, Progress, Reading};
use libsqlite3_sys as ffi;
use parking_lot::Mutex;
use pgsqlite_types::Result;
use std::collections::HashMap;
use std::ffi::{c_int, CStr, CString};
use std::path::Path;
use std::sync::mpsc::Sender;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

/// After so long without a reader the mark is let go (at the latest after twice that).
const IDLE: Duration = Duration::from_millis(50);
/// So often in a row a reader goes on with the lower mark: a checkpoint can reach all but as many of the latest commits even if
/// there is always a reader.
const LOWER: u32 = 64;

// the indexes of SQLite's locks on a write-ahead log
pub(super) const WRITE: c_int = 0;
const CHECKPOINT: c_int = 1;
const RECOVERY: c_int = 2;
const FIRST_MARK: c_int = 3;

type ShmLock = unsafe extern "C" fn(*mut ffi::sqlite3_file, c_int, c_int, c_int) -> c_int;

const SHARE: c_int = ffi::SQLITE_SHM_LOCK | ffi::SQLITE_SHM_SHARED;
const UNSHARE: c_int = ffi::SQLITE_SHM_UNLOCK | ffi::SQLITE_SHM_SHARED;
const EXCLUDE: c_int = ffi::SQLITE_SHM_LOCK | ffi::SQLITE_SHM_EXCLUSIVE;

/// The marks of one database, as its connections in this process share them.
#[derive(Default)]
struct Marks {
    held: Mutex<Held>,
    progress: Arc<Progress>,
}

#[derive(Default)]
struct Held {
    /// the anchor's file; None: nothing is kept
    anchor: Option<AnchorFile>,
    /// the lock that the anchor holds
    mark: Option<c_int>,
    /// how often in a row a mark was not raised
    lower: u32,
    /// connections that are about to checkpoint or recover the log
    clearing: u32,
    /// a reader came since the watcher looked last
    used: bool,
    /// the watcher knows of it
    watched: bool,
    /// transactions that must be able to exchange their snapshots: meanwhile this process does not begin the log anew
    pins: u32,
    /// a connection begins the log anew just now
    restarting: bool,
}

struct AnchorFile {
    file: *mut ffi::sqlite3_file,
    lock: ShmLock,
}

// SAFETY: the file is used for locks only, under the mutex of its marks.
unsafe impl Send for AnchorFile {}

impl Held {
    /// Lets the mark go.
    fn release(&mut self) {
        if let (Some(anchor), Some(mark)) = (&self.anchor, self.mark.take()) {
            // SAFETY: the anchor's file is open as long as it is in here.
            let rc = unsafe { (anchor.lock)(anchor.file, mark, 1, UNSHARE) };
            debug_assert_eq!(rc, ffi::SQLITE_OK);
        }
        self.lower = 0;
    }

    /// Joins a reader's lock. Returns whether the watcher has to be told.
    fn join(&mut self, mark: c_int) -> bool {
        self.used = true;
        if self.mark == Some(mark) || self.clearing > 0 || self.anchor.is_none() {
            return false;
        }
        self.release();
        if let Some(anchor) = &self.anchor {
            // SAFETY: as above.
            if unsafe { (anchor.lock)(anchor.file, mark, 1, SHARE) } == ffi::SQLITE_OK {
                self.mark = Some(mark);
            }
        }
        self.mark.is_some() && !std::mem::replace(&mut self.watched, true)
    }
}

/// A database's file of a connection.
pub struct User {
    marks: Arc<Marks>,
    /// what its connection has read of the log
    pub reading: Reading,
    /// its mapping of the log's index
    pub(super) index: Index,
    /// it holds SQLite's lock for checkpoints or recovery: these bits of (1 << CHECKPOINT, 1 << RECOVERY)
    clearing: c_int,
}

impl User {
    /// The file of this name (SQLite's full path name).
    pub fn of(name: &CStr) -> User {
        let marks = marks_of(name);
        User { reading: Reading::of(marks.progress.clone()), marks, index: Index::default(), clearing: 0 }
    }

    /// SQLite's `xShmLock`.
    ///
    /// # Safety
    /// `file` is open, `lock` the default VFS's method for it.
    pub unsafe fn lock(
        &mut self,
        lock: ShmLock,
        file: *mut ffi::sqlite3_file,
        offset: c_int,
        n: c_int,
        flags: c_int,
    ) -> c_int {
        if self.index.is_beside() && offset == WRITE && n == 1 {
            let answer = self.index.lock(flags);
            self.reading.set_beside(self.index.is_beside());
            return answer.unwrap_or(ffi::SQLITE_OK);
        }
        // SAFETY: promised by the caller.
        let pass = || unsafe { lock(file, offset, n, flags) };
        // all marks but the first: the log is to be begun anew
        let restarts = offset == FIRST_MARK + 1 && n > 1;
        match flags {
            EXCLUDE if restarts => {
                let mut held = self.marks.held.lock();
                if held.pins > 0 {
                    return ffi::SQLITE_BUSY;
                }
                held.release();
                let rc = pass();
                held.restarting |= rc == ffi::SQLITE_OK;
                rc
            }
            SHARE if offset >= FIRST_MARK => {
                let rc = pass();
                if rc == ffi::SQLITE_OK {
                    self.reading.begins();
                    if self.marks.held.lock().join(offset) {
                        look_after(&self.marks);
                    }
                }
                rc
            }
            UNSHARE if offset >= FIRST_MARK => {
                self.reading.ends();
                pass()
            }
            EXCLUDE if offset > FIRST_MARK && n == 1 && self.clearing == 0 => {
                let mut held = self.marks.held.lock();
                if held.mark.is_some_and(|mark| mark > FIRST_MARK) && held.lower < LOWER {
                    // SQLite tries one mark after the other
                    held.lower += u32::from(offset == FIRST_MARK + 1);
                    return ffi::SQLITE_BUSY;
                }
                held.release();
                drop(held);
                pass()
            }
            EXCLUDE if offset > 0 || n > 1 => {
                let mine = covered(offset, n) & (1 << CHECKPOINT | 1 << RECOVERY);
                let mut held = self.marks.held.lock();
                held.clearing += u32::from(mine != 0 && self.clearing == 0);
                held.release();
                drop(held);
                let rc = pass();
                if rc == ffi::SQLITE_OK {
                    self.clearing |= mine;
                } else if mine != 0 && self.clearing == 0 {
                    self.marks.held.lock().clearing -= 1;
                }
                rc
            }
            _ => {
                let rc = pass();
                if restarts && flags & ffi::SQLITE_SHM_UNLOCK != 0 {
                    self.marks.held.lock().restarting = false;
                }
                if covered(offset, n) & (1 << WRITE) != 0 && rc == ffi::SQLITE_OK {
                    self.reading.set_writing(flags == EXCLUDE);
                }
                if flags & ffi::SQLITE_SHM_UNLOCK != 0 && self.clearing & covered(offset, n) != 0 {
                    self.clearing &= !covered(offset, n);
                    if self.clearing == 0 {
                        self.marks.held.lock().clearing -= 1;
                    }
                }
                rc
            }
        }
    }
}

/// While it lives, no connection of this process begins the log anew: the snapshots in it stay comparable.
pub struct Pin(Arc<Marks>);

impl Drop for Pin {
    fn drop(&mut self) {
        self.0.held.lock().pins -= 1;
    }
}

impl User {
    /// None: the log is being begun anew just now.
    pub fn pin(&self) -> Option<Pin> {
        let mut held = self.marks.held.lock();
        if held.restarting {
            return None;
        }
        held.pins += 1;
        Some(Pin(self.marks.clone()))
    }
}

impl Drop for User {
    fn drop(&mut self) {
        if self.clearing != 0 {
            self.marks.held.lock().clearing -= 1;
        }
    }
}

/// The bits of n locks.
fn covered(offset: c_int, n: c_int) -> c_int {
    ((1 << n) - 1) << offset
}

/// The marks of a database that is open, by its full path name.
fn marks_of(name: &CStr) -> Arc<Marks> {
    static ALL: OnceLock<Mutex<HashMap<CString, Weak<Marks>>>> = OnceLock::new();
    let mut all = ALL.get_or_init(Mutex::default).lock();
    if let Some(found) = all.get(name).and_then(Weak::upgrade) {
        return found;
    }
    all.retain(|_, marks| marks.strong_count() > 0);
    let marks = Arc::<Marks>::default();
    all.insert(name.to_owned(), Arc::downgrade(&marks));
    marks
}

/// Sees to it that marks are let go when nobody reads any more: one thread for all databases, asleep while nothing is held.
fn look_after(marks: &Arc<Marks>) {
    static WATCHED: OnceLock<Sender<Weak<Marks>>> = OnceLock::new();
    let sender = WATCHED.get_or_init(|| {
        let (sender, receiver) = std::sync::mpsc::channel::<Weak<Marks>>();
        let watch = move || {
            while let Ok(first) = receiver.recv() {
                let mut watched = vec![first];
                while !watched.is_empty() {
                    std::thread::sleep(IDLE);
                    watched.extend(receiver.try_iter());
                    watched.retain(|marks| {
                        let Some(marks) = marks.upgrade() else { return false };
                        let mut held = marks.held.lock();
                        if !std::mem::take(&mut held.used) {
                            held.release();
                        }
                        held.watched = held.mark.is_some();
                        held.watched
                    });
                }
            }
        };
        if let Err(e) = std::thread::Builder::new().name("read-marks".into()).spawn(watch) {
            tracing::warn!("read marks are not kept: {e}");
        }
        sender
    });
    hand_over(sender, marks);
}

/// Hands a held mark over to the watcher. Where there is none (its thread could not be started), nothing is held, now or later: each
/// mark that is joined comes here again.
fn hand_over(watcher: &Sender<Weak<Marks>>, marks: &Arc<Marks>) {
    if watcher.send(Arc::downgrade(marks)).is_err() {
        let mut held = marks.held.lock();
        held.release();
        held.watched = false;
    }
}

/// A connection that joins the readers' locks, one for each database. While it lives, read marks are kept.
pub struct Anchor {
    marks: Arc<Marks>,
    // closed after the mark is let go
    _connection: rusqlite::Connection,
}

impl Anchor {
    /// Opens the connection; None: the database's files have another VFS.
    pub fn new(path: &Path) -> Result<Option<Anchor>> {
        let connection = super::open::open_file(path)?;
        // the log and its shared memory are opened by the first who reads
        let read = connection.query_row("SELECT count(*) FROM (SELECT 1 FROM sqlite_schema LIMIT 1)", [], |_| Ok(()));
        read.map_err(|e| crate::error::open_error(path, e))?;
        let mut file: *mut ffi::sqlite3_file = std::ptr::null_mut();
        // SAFETY: a live connection; the operation writes one pointer.
        unsafe {
            let op = ffi::SQLITE_FCNTL_FILE_POINTER;
            ffi::sqlite3_file_control(connection.handle(), c"main".as_ptr(), op, (&raw mut file).cast());
            if file.is_null() || !super::is_ours(file) {
                return Ok(None);
            }
            let state = super::state_of(file);
            let (FileState::Database(user), Some(lock)) = (&*state, super::base_of(state).xShmLock) else {
                return Ok(None);
            };
            let marks = user.marks.clone();
            let mut held = marks.held.lock();
            debug_assert!(held.anchor.is_none(), "a database has one anchor");
            held.release();
            held.anchor = Some(AnchorFile { file, lock });
            drop(held);
            Ok(Some(Anchor { marks, _connection: connection }))
        }
    }
}

impl Drop for Anchor {
    fn drop(&mut self) {
        let mut held = self.marks.held.lock();
        held.release();
        held.anchor = None;
    }
}

#[cfg(test)]
impl Anchor {
    /// The mark that is held now.
    pub fn mark(&self) -> Option<c_int> {
        self.marks.held.lock().mark
    }

    /// Hands its mark over to a watcher that has ended; false: it is not held any more, and the next one will be handed over, too.
    pub fn hand_over_to_nobody(&self) -> bool {
        let (nobody, _) = std::sync::mpsc::channel();
        hand_over(&nobody, &self.marks);
        let held = self.marks.held.lock();
        held.mark.is_some() || held.watched
    }
}
