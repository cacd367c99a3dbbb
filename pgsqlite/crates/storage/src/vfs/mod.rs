//! SQLite's way to its files: its own for Unix, with two short cuts where a statement would spend more time in system calls
//! than in SQLite.
//!
//! * A reader locks one of the log's read marks and lets it go at its end: two calls of `fcntl` per statement, two more where
//!   the log has grown. Here the process keeps the mark that its connections share, for a moment, in their place
//!   ([`marks`]).
//! * SQLite writes a frame of the log as 24 bytes of header and, with a call of its own, the page. Here both go with one
//!   ([`frames`]).
//!
//! * Temporary files count for the session that makes them, up to its `temp_file_limit`.
//!
//! * A transaction can change an older snapshot, in its memory alone ([`branch`]).
//!
//! It also notes how far the log is on disk, who has read beyond that, and whether a sync has failed ([`progress`]).
//!
//! Everything else is the default VFS's: its files are opened in place, and only the methods named above are exchanged. What
//! other processes see (files, locks, their meaning) is what SQLite's documentation says: <https://www.sqlite.org/vfs.html>,
//! <https://www.sqlite.org/walformat.html#wal_locks>.

mod allocator;
mod branch;
pub(crate) mod caches;
mod log_progress;
mod marks;
pub mod open;
mod wal_frames;

pub use log_progress::{Extent, OldestReader, Part, Progress, Reading};
pub use marks::{Anchor, Pin};

use libsqlite3_sys as ffi;
use pgsqlite_memory::TemporaryFile;
use pgsqlite_types::work;
use std::cell::Cell;
use std::ffi::{c_char, c_int, CStr};
use std::mem::{align_of, size_of};
use std::sync::OnceLock;

/// By this name SQLite knows the VFS.
const NAME: &CStr = c"pgsqlite";

/// The default VFS, and the one made of it.
struct Registered {
    base: *mut ffi::sqlite3_vfs,
    /// never freed; SQLite links it into its list (the field `pNext`) and so writes to it: no reference to it is ever made
    ours: *mut ffi::sqlite3_vfs,
    /// where our part of an opened file begins: after the default VFS's
    state: usize,
}

// SAFETY: neither is changed by us; SQLite does so under a mutex of its own.
unsafe impl Send for Registered {}
// SAFETY: as above.
unsafe impl Sync for Registered {}

static REGISTERED: OnceLock<Option<Registered>> = OnceLock::new();

/// The name of the VFS to open connections with; None: SQLite has no default VFS that could be extended, and its own is as good.
pub fn name() -> Option<&'static CStr> {
    let registered = REGISTERED.get_or_init(|| {
        allocator::install();
        caches::install();
        // SAFETY: initializes SQLite; the default VFS lives as long as the process.
        let base = unsafe { ffi::sqlite3_vfs_find(std::ptr::null()) };
        // SAFETY: null or a registered VFS.
        let found = unsafe { base.as_ref() }?;
        let align = align_of::<FileState>();
        let state = (found.szOsFile as usize).div_ceil(align) * align;
        let ours = ffi::sqlite3_vfs {
            zName: NAME.as_ptr(),
            szOsFile: (state + size_of::<FileState>()) as c_int,
            pNext: std::ptr::null_mut(),
            xOpen: Some(open),
            ..*found
        };
        Some(Registered { base, ours: Box::into_raw(Box::new(ours)), state })
    });
    static READY: OnceLock<bool> = OnceLock::new();
    let registered = registered.as_ref()?;
    let ready = READY.get_or_init(|| {
        // SAFETY: the struct stays where it is, and nobody else has a reference to it.
        unsafe { ffi::sqlite3_vfs_register(registered.ours, 0) == ffi::SQLITE_OK }
    });
    ready.then_some(NAME)
}

/// What we know of an opened file, in the memory behind the default VFS's part.
enum FileState {
    Database(marks::User),
    Log(Log),
    /// of a sort, a set of rows, a materialized query
    Temporary(TemporaryFile),
}

/// What we know of a log that a connection has opened.
#[derive(Default)]
struct Log {
    pending: wal_frames::Pending,
    /// the connection's; one of its own if the database's file is none of ours
    reading: Reading,
}

/// The view that a connection has of its database's log; None: its files are none of ours.
///
/// # Safety
/// `db` must be a live connection that no other thread uses now.
pub(crate) unsafe fn reading_of(db: *mut ffi::sqlite3) -> Option<Reading> {
    // SAFETY: promised by the caller.
    unsafe { user_of(db) }.map(|(user, _)| user.reading.clone())
}

/// Keeps this process from beginning the log of a connection's database anew. None: it does so just now, or the files are none of ours.
///
/// # Safety
/// `db` must be a live connection that no other thread uses now.
pub(crate) unsafe fn pin_log(db: *mut ffi::sqlite3) -> Option<Pin> {
    // SAFETY: promised by the caller.
    unsafe { user_of(db) }.and_then(|(user, _)| user.pin())
}

/// The file of a connection's database. None: its files are none of ours.
///
/// # Safety
/// `db` must be a live connection that no other thread uses as long as the result lives.
unsafe fn user_of<'a>(db: *mut ffi::sqlite3) -> Option<(&'a mut marks::User, *mut ffi::sqlite3_file)> {
    let mut file: *mut ffi::sqlite3_file = std::ptr::null_mut();
    // SAFETY: promised by the caller; the operation writes one pointer.
    unsafe {
        let op = ffi::SQLITE_FCNTL_FILE_POINTER;
        ffi::sqlite3_file_control(db, c"main".as_ptr(), op, (&raw mut file).cast());
        if file.is_null() || (*file).pMethods.is_null() || !is_ours(file) {
            return None;
        }
        match state_of(file) {
            FileState::Database(user) => Some((user, file)),
            FileState::Log(_) | FileState::Temporary(_) => None,
        }
    }
}

/// Lets a transaction of SQLite, which has only read, change the snapshot that it reads, beside the log. False: it cannot, and is as
/// before.
///
/// # Safety
/// `db` must be a live connection that no other thread uses now.
pub(crate) unsafe fn begin_branch(db: *mut ffi::sqlite3) -> bool {
    // SAFETY: promised by the caller; the snapshot is freed once, after its last use.
    unsafe {
        let Some((user, _)) = user_of(db) else { return false };
        let mut snapshot = std::ptr::null_mut();
        let header = match ffi::sqlite3_snapshot_get(db, c"main".as_ptr(), &mut snapshot) {
            ffi::SQLITE_OK => {
                // (a snapshot is the header of the log's index as it was)
                const { assert!(size_of::<ffi::sqlite3_snapshot>() == branch::HEADER) };
                let header = *snapshot.cast::<branch::Header>();
                ffi::sqlite3_snapshot_free(snapshot);
                Some(header)
            }
            _ => user.index.header_of_empty_log(),
        };
        let begun = header.is_some_and(|header| user.index.begin(&header));
        user.reading.set_beside(user.index.is_beside());
        begun
    }
}

/// Ends a branch that SQLite has not begun to write in.
///
/// # Safety
/// As for [`begin_branch`].
pub(crate) unsafe fn end_branch(db: *mut ffi::sqlite3) {
    // SAFETY: promised by the caller.
    if let Some((user, _)) = unsafe { user_of(db) } {
        user.index.end();
        user.reading.set_beside(user.index.is_beside());
    }
}

/// Makes a writing transaction of a branch. False: others have committed since its snapshot, or another program writes.
///
/// # Safety
/// As for [`begin_branch`].
pub(crate) unsafe fn join_branch(db: *mut ffi::sqlite3) -> bool {
    // SAFETY: promised by the caller.
    unsafe {
        let Some((user, file)) = user_of(db) else { return false };
        let Some(lock) = base_of(state_of(file)).xShmLock else { return false };
        let joined = user.index.join(|flags| lock(file, marks::WRITE, 1, flags));
        user.reading.set_beside(user.index.is_beside());
        joined
    }
}

/// # Safety
/// `file` is null or a file that SQLite has open for a connection that no other thread uses now.
unsafe fn reading_of_file(file: *mut ffi::sqlite3_file) -> Option<Reading> {
    // SAFETY: promised by the caller.
    unsafe {
        if file.is_null() || (*file).pMethods.is_null() || !is_ours(file) {
            return None;
        }
        match state_of(file) {
            FileState::Database(user) => Some(user.reading.clone()),
            FileState::Log(_) | FileState::Temporary(_) => None,
        }
    }
}

/// The methods of a kind of file: the default VFS's, some exchanged.
#[derive(Clone, Copy)]
struct Methods {
    base: &'static ffi::sqlite3_io_methods,
    ours: ffi::sqlite3_io_methods,
}

// SAFETY: tables of functions, never changed.
unsafe impl Send for Methods {}
// SAFETY: as above.
unsafe impl Sync for Methods {}

/// Filled by the first file of each kind: (databases, logs, temporary files). A file whose methods are others keeps those.
static METHODS: [OnceLock<Methods>; 3] = [OnceLock::new(), OnceLock::new(), OnceLock::new()];

/// The default VFS's methods of a file of ours.
fn base_of(state: &FileState) -> &'static ffi::sqlite3_io_methods {
    let kind = match state {
        FileState::Database(_) => 0,
        FileState::Log(_) => 1,
        FileState::Temporary(_) => 2,
    };
    METHODS[kind].get().expect("set before a file of the kind was opened").base
}

/// Our part of a file whose methods are ours.
///
/// # Safety
/// The file is open, its methods are of [`METHODS`], and SQLite uses it from one thread at a time.
unsafe fn state_of<'a>(file: *mut ffi::sqlite3_file) -> &'a mut FileState {
    let offset = REGISTERED.get().and_then(|r| r.as_ref()).map_or(0, |r| r.state);
    // SAFETY: open() has written it there.
    unsafe { &mut *file.byte_add(offset).cast::<FileState>() }
}

/// Whether an open file's methods are ours: then it has a state.
///
/// # Safety
/// The file is open.
unsafe fn is_ours(file: *mut ffi::sqlite3_file) -> bool {
    // SAFETY: promised by the caller.
    let methods = unsafe { (*file).pMethods };
    METHODS.iter().any(|m| m.get().is_some_and(|m| std::ptr::eq(&m.ours, methods)))
}

unsafe extern "C" fn open(
    _vfs: *mut ffi::sqlite3_vfs,
    name: ffi::sqlite3_filename,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    out_flags: *mut c_int,
) -> c_int {
    let Some(registered) = REGISTERED.get().and_then(|r| r.as_ref()) else { return ffi::SQLITE_CANTOPEN };
    // SAFETY: the arguments are SQLite's own; the memory at `file` is larger than the default VFS needs.
    unsafe {
        let Some(base) = (*registered.base).xOpen else { return ffi::SQLITE_CANTOPEN };
        let rc = base(registered.base, name, file, flags, out_flags);
        if rc != ffi::SQLITE_OK {
            return rc;
        }
        let Some(methods) = (*file).pMethods.as_ref() else { return rc };
        // (PostgreSQL's limit does not count the temporary tables of the session either)
        let (kind, state) = if flags & (ffi::SQLITE_OPEN_TRANSIENT_DB | ffi::SQLITE_OPEN_TEMP_JOURNAL) != 0 {
            (2, FileState::Temporary(TemporaryFile::new()))
        } else if name.is_null() {
            return rc;
        } else if flags & ffi::SQLITE_OPEN_MAIN_DB != 0 {
            (0, FileState::Database(marks::User::of(CStr::from_ptr(name as *const c_char))))
        } else if flags & ffi::SQLITE_OPEN_WAL != 0 {
            let reading = reading_of_file(ffi::sqlite3_database_file_object(name as *const c_char));
            (1, FileState::Log(Log { reading: reading.unwrap_or_default(), ..Log::default() }))
        } else {
            return rc;
        };
        let table = METHODS[kind].get_or_init(|| {
            let exchanged = match kind {
                0 => ffi::sqlite3_io_methods {
                    xRead: Some(read),
                    xShmLock: Some(shm_lock),
                    xShmMap: Some(shm_map),
                    xShmUnmap: Some(shm_unmap),
                    xSync: Some(sync),
                    xClose: Some(close),
                    ..*methods
                },
                2 => ffi::sqlite3_io_methods {
                    xWrite: Some(write),
                    xTruncate: Some(truncate_temporary),
                    xClose: Some(close),
                    // (memory-mapped pages would be written without a call)
                    iVersion: 2,
                    ..*methods
                },
                _ => ffi::sqlite3_io_methods {
                    xWrite: Some(write),
                    xRead: Some(read),
                    xTruncate: Some(truncate),
                    xSync: Some(sync),
                    xFileSize: Some(file_size),
                    xClose: Some(close),
                    ..*methods
                },
            };
            Methods { base: methods, ours: exchanged }
        });
        if std::ptr::eq(table.base, methods) && methods.iVersion >= 2 {
            file.byte_add(registered.state).cast::<FileState>().write(state);
            (*file).pMethods = &table.ours;
        }
        rc
    }
}

unsafe extern "C" fn close(file: *mut ffi::sqlite3_file) -> c_int {
    // SAFETY: SQLite closes an open file once.
    unsafe {
        let state = state_of(file);
        let base = base_of(state);
        let flushed = match state {
            FileState::Log(log) => log.pending.flush(base, file),
            FileState::Database(_) | FileState::Temporary(_) => ffi::SQLITE_OK,
        };
        std::ptr::drop_in_place(state);
        let closed = base.xClose.map_or(ffi::SQLITE_OK, |close| close(file));
        if flushed != ffi::SQLITE_OK {
            flushed
        } else {
            closed
        }
    }
}

unsafe extern "C" fn shm_lock(file: *mut ffi::sqlite3_file, offset: c_int, n: c_int, flags: c_int) -> c_int {
    // SAFETY: a database's file of ours.
    unsafe {
        let state = state_of(file);
        let Some(lock) = base_of(state).xShmLock else { return ffi::SQLITE_IOERR };
        match state {
            FileState::Database(user) => user.lock(lock, file, offset, n, flags),
            FileState::Log(_) | FileState::Temporary(_) => lock(file, offset, n, flags),
        }
    }
}

unsafe extern "C" fn shm_map(
    file: *mut ffi::sqlite3_file,
    region: c_int,
    length: c_int,
    extend: c_int,
    mapped: *mut *mut std::ffi::c_void,
) -> c_int {
    // SAFETY: a database's file of ours; the arguments are SQLite's own.
    unsafe {
        let state = state_of(file);
        let Some(map) = base_of(state).xShmMap else { return ffi::SQLITE_IOERR };
        let rc = map(file, region, length, extend, mapped.cast());
        if let (FileState::Database(user), ffi::SQLITE_OK, 0) = (state, rc, region) {
            if !(*mapped).is_null() {
                *mapped = user.index.map((*mapped).cast(), length.max(0) as usize).cast();
            }
        }
        rc
    }
}

unsafe extern "C" fn shm_unmap(file: *mut ffi::sqlite3_file, delete: c_int) -> c_int {
    // SAFETY: a database's file of ours; the arguments are SQLite's own.
    unsafe {
        let state = state_of(file);
        let unmap = base_of(state).xShmUnmap;
        if let FileState::Database(user) = state {
            user.index.unmap();
        }
        unmap.map_or(ffi::SQLITE_IOERR, |unmap| unmap(file, delete))
    }
}

/// Writes what waits to be written to a log.
///
/// # Safety
/// `file` is open, with these methods and this state.
unsafe fn flush(state: &mut FileState, base: &ffi::sqlite3_io_methods, file: *mut ffi::sqlite3_file) -> c_int {
    match state {
        // SAFETY: promised by the caller.
        FileState::Log(log) => unsafe { log.pending.flush(base, file) },
        FileState::Database(_) | FileState::Temporary(_) => ffi::SQLITE_OK,
    }
}

/// Calls one of the default VFS's methods after the pending header has been written.
macro_rules! after_flush {
    ($name:ident => $method:ident ( $($argument:ident: $type:ty),* ) $(, noting $note:expr)?) => {
        unsafe extern "C" fn $name(file: *mut ffi::sqlite3_file, $($argument: $type),*) -> c_int {
            // SAFETY: a log's file of ours; the arguments are SQLite's own.
            unsafe {
                let state = state_of(file);
                let base = base_of(state);
                let rc = flush(state, base, file);
                if rc != ffi::SQLITE_OK {
                    return rc;
                }
                $(if let FileState::Log(log) = state {
                    $note(&log.reading);
                })?
                base.$method.map_or(ffi::SQLITE_IOERR, |method| method(file, $($argument),*))
            }
        }
    };
}

after_flush!(truncate => xTruncate(size: ffi::sqlite3_int64), noting |reading: &Reading| reading.progress.truncates(size));
after_flush!(file_size => xFileSize(size: *mut ffi::sqlite3_int64));

/// Whether a statement that only reads is to end: one value may be read from hundreds of thousands of pages, and SQLite's progress handler
/// is called between values.
fn is_ended(reading: &Reading) -> bool {
    /// Of so many reads one looks: a look takes a microsecond, a tenth of a look-up of one row.
    const READS: u32 = 32;
    thread_local! {
        static READ: Cell<u32> = const { Cell::new(0) };
    }
    let read = READ.get().wrapping_add(1);
    READ.set(read);
    read.is_multiple_of(READS) && reading.only_reads() && work::stops_sqlite()
}

/// What the log has is marked as read.
unsafe extern "C" fn read(
    file: *mut ffi::sqlite3_file,
    buffer: *mut std::ffi::c_void,
    n: c_int,
    at: ffi::sqlite3_int64,
) -> c_int {
    // SAFETY: a database's or a log's file of ours; the arguments are SQLite's own.
    unsafe {
        let state = state_of(file);
        let base = base_of(state);
        match state {
            FileState::Log(Log { reading, .. }) | FileState::Database(marks::User { reading, .. })
                if is_ended(reading) =>
            {
                return ffi::SQLITE_INTERRUPT;
            }
            FileState::Log(log) => {
                let rc = log.pending.flush(base, file);
                if rc != ffi::SQLITE_OK {
                    return rc;
                }
                log.reading.reads(at, n.max(0) as usize);
            }
            FileState::Database(_) | FileState::Temporary(_) => {}
        }
        base.xRead.map_or(ffi::SQLITE_IOERR, |read| read(file, buffer, n, at))
    }
}

/// After one sync has failed, all do.
unsafe extern "C" fn sync(file: *mut ffi::sqlite3_file, flags: c_int) -> c_int {
    // SAFETY: a file of ours; the arguments are SQLite's own.
    unsafe {
        let state = state_of(file);
        let base = base_of(state);
        let rc = flush(state, base, file);
        if rc != ffi::SQLITE_OK {
            return rc;
        }
        match state {
            FileState::Log(log) => {
                log.reading.progress.sync_begins();
                sync_noting(&log.reading.progress, base, file, flags)
            }
            FileState::Database(user) => sync_noting(&user.reading.progress, base, file, flags),
            FileState::Temporary(_) => base.xSync.map_or(ffi::SQLITE_IOERR, |sync| sync(file, flags)),
        }
    }
}

unsafe extern "C" fn write(
    file: *mut ffi::sqlite3_file,
    buffer: *const std::ffi::c_void,
    n: c_int,
    at: ffi::sqlite3_int64,
) -> c_int {
    // SAFETY: a log's or a temporary file of ours; the buffer has n bytes.
    unsafe {
        let state = state_of(file);
        let base = base_of(state);
        match state {
            FileState::Log(log) => {
                if log.reading.is_beside() {
                    // (a branch has no place in the log)
                    return ffi::SQLITE_IOERR_WRITE;
                }
                let bytes = std::slice::from_raw_parts(buffer.cast::<u8>(), n.max(0) as usize);
                write_log(log, base, file, bytes, at)
            }
            FileState::Temporary(temporary) => {
                if !temporary.grow((at + i64::from(n)).max(0) as u64) {
                    // (the session's account knows why)
                    return ffi::SQLITE_FULL;
                }
                base.xWrite.map_or(ffi::SQLITE_IOERR, |write| write(file, buffer, n, at))
            }
            FileState::Database(_) => base.xWrite.map_or(ffi::SQLITE_IOERR, |write| write(file, buffer, n, at)),
        }
    }
}

/// Writes a part of the log. The last one of a long commit is written when the others are on disk, or, if the commit's frames exist already,
/// is on disk itself when this returns: readers see the commit later.
///
/// # Safety
/// `file` is open, with these methods, and is this log.
unsafe fn write_log(
    log: &mut Log,
    base: &ffi::sqlite3_io_methods,
    file: *mut ffi::sqlite3_file,
    bytes: &[u8],
    at: ffi::sqlite3_int64,
) -> c_int {
    let Log { pending, reading: Reading { progress, .. } } = log;
    // a value of many pages outgrows the cache while SQLite writes it (a COMMIT is not stopped: nobody oversees it)
    if bytes.len() == wal_frames::HEADER && work::stops_sqlite() {
        return ffi::SQLITE_INTERRUPT;
    }
    let part = progress.writes(at, bytes);
    if part == Part::Last && progress.is_long() {
        // SAFETY: promised by the caller.
        let rc = unsafe { sync_log(pending, progress, base, file) };
        if rc != ffi::SQLITE_OK {
            return rc;
        }
    }
    // SAFETY: as above.
    let rc = unsafe { pending.write(base, file, bytes, at) };
    if rc != ffi::SQLITE_OK {
        return rc;
    }
    progress.wrote(at, bytes, part);
    match part == Part::LastAgain && progress.is_long() {
        // SAFETY: as above.
        true => unsafe { sync_log(pending, progress, base, file) },
        false => ffi::SQLITE_OK,
    }
}

/// Syncs the log from within a commit. If that fails, the commit does, and every later sync.
///
/// # Safety
/// `file` is open, with these methods, and is this log.
unsafe fn sync_log(
    pending: &mut wal_frames::Pending,
    progress: &Progress,
    base: &ffi::sqlite3_io_methods,
    file: *mut ffi::sqlite3_file,
) -> c_int {
    // SAFETY: promised by the caller.
    let rc = unsafe { pending.flush(base, file) };
    if rc != ffi::SQLITE_OK {
        return rc;
    }
    progress.sync_begins();
    // SAFETY: as above.
    crate::apart::apart(|| unsafe { sync_noting(progress, base, file, ffi::SQLITE_SYNC_NORMAL) })
}

/// Syncs a database's file or its log, unless a sync of either has failed before.
///
/// # Safety
/// `file` is open, with these methods, and is of the database that has this progress.
unsafe fn sync_noting(
    progress: &Progress,
    base: &ffi::sqlite3_io_methods,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
) -> c_int {
    if progress.has_failed() {
        return ffi::SQLITE_IOERR_FSYNC;
    }
    // SAFETY: promised by the caller.
    let rc = base.xSync.map_or(ffi::SQLITE_IOERR, |sync| unsafe { sync(file, flags) });
    if rc != ffi::SQLITE_OK {
        progress.fail();
    }
    rc
}

unsafe extern "C" fn truncate_temporary(file: *mut ffi::sqlite3_file, size: ffi::sqlite3_int64) -> c_int {
    // SAFETY: a temporary file of ours.
    unsafe {
        let state = state_of(file);
        let rc = base_of(state).xTruncate.map_or(ffi::SQLITE_IOERR, |truncate| truncate(file, size));
        if let (FileState::Temporary(temporary), ffi::SQLITE_OK) = (state, rc) {
            temporary.shrink(size.max(0) as u64);
        }
        rc
    }
}

#[cfg(test)]
mod tests;
