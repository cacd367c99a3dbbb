//! The locks that keep a second server away from a database's file, whatever name it knows the file by.
//!
//! Two locks are held: one on a file beside the database, found by the path without its symbolic links, and one on the database's file
//! itself, found by its inode. The first keeps a second server from even opening the database; the second holds for hard links and for
//! a file that is mounted in two places.

use pgsqlite_types::{PgError, Result, SqlState};
use std::fs::File;
use std::io::{Error, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The end of the lock file's name, after the database's.
pub(crate) const LOCK_SUFFIX: &str = "-pgsqlite.lock";

/// The refusal of a second server.
pub(super) fn in_use(path: &Path) -> PgError {
    PgError::new(SqlState::OBJECT_IN_USE, format!("another pgsqlite serves \"{}\" already", path.display()))
        .hint("Connect to that server, or stop it. `pgsqlite info FILE` names the processes that have the file open.")
}

/// An advisory lock beside the file (SQLite uses the file's own). The lock's file is removed with the lock.
pub(super) struct PathLock {
    path: PathBuf,
    _file: File,
}

impl PathLock {
    /// Errors: 55006 if another server holds it, 58030.
    pub fn new(path: &Path) -> Result<PathLock> {
        let io = |e: Error| PgError::new(SqlState::IO_ERROR, format!("cannot lock \"{}\": {e}", path.display()));
        let mut name = match std::fs::canonicalize(path) {
            Ok(found) => found.into_os_string(),
            // a file that is still to be made
            Err(e) if e.kind() == ErrorKind::NotFound => path.as_os_str().to_os_string(),
            Err(e) => return Err(io(e)),
        };
        name.push(LOCK_SUFFIX);
        let name = PathBuf::from(name);
        loop {
            let file = File::options().create(true).truncate(false).write(true).open(&name).map_err(io)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(std::fs::TryLockError::WouldBlock) => return Err(in_use(path)),
                Err(std::fs::TryLockError::Error(e)) => return Err(io(e)),
            }
            // who held it may have removed it between our opening and locking: then we hold nothing
            let ours = file.metadata().map_err(io)?;
            if std::fs::metadata(&name).is_ok_and(|m| (m.dev(), m.ino()) == (ours.dev(), ours.ino())) {
                return Ok(PathLock { path: name, _file: file });
            }
        }
    }
}

impl Drop for PathLock {
    fn drop(&mut self) {
        if let Err(e) = std::fs::remove_file(&self.path) {
            tracing::debug!("lock file {}: {e}", self.path.display());
        }
    }
}

/// Locks the file's inode as long as the descriptor is open. The lock is one of the open file (not of the process, as SQLite's are) on
/// a byte far behind those that SQLite locks, so that neither sees the other. False: another server holds it.
#[cfg(target_os = "linux")]
pub(super) fn lock_inode(file: &File) -> std::io::Result<bool> {
    let Err(error) = set_inode_lock(file, libc::F_WRLCK) else { return Ok(true) };
    match error.raw_os_error() {
        Some(libc::EAGAIN | libc::EACCES) => Ok(false),
        // a file system without such locks: the lock beside the file is all there is
        Some(libc::EINVAL | libc::EOPNOTSUPP | libc::ENOLCK | libc::EOVERFLOW | libc::ENOSYS) => {
            tracing::debug!("the file's inode cannot be locked: {error}");
            Ok(true)
        }
        _ => Err(error),
    }
}

/// Gives up the lock of [`lock_inode`]. Closing the descriptor does not: a program that is being started from another thread has a copy
/// of it until it runs, and the lock is that of all copies.
#[cfg(target_os = "linux")]
pub(super) fn unlock_inode(file: &File) {
    if let Err(error) = set_inode_lock(file, libc::F_UNLCK) {
        tracing::debug!("the lock of the file's inode stays until its descriptors are closed: {error}");
    }
}

#[cfg(target_os = "linux")]
fn set_inode_lock(file: &File, kind: libc::c_int) -> std::io::Result<()> {
    use std::os::fd::AsRawFd;
    // SAFETY: a struct of numbers, for which zeros are a value.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = kind as _;
    lock.l_whence = libc::SEEK_SET as _;
    lock.l_start = libc::off_t::MAX - 1;
    lock.l_len = 1;
    // SAFETY: an open descriptor and a struct that the call reads.
    match unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &lock) } {
        0 => Ok(()),
        _ => Err(Error::last_os_error()),
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) fn unlock_inode(_: &File) {}

/// Elsewhere locks of open files meet SQLite's own: the lock beside the file is all there is.
#[cfg(not(target_os = "linux"))]
pub(super) fn lock_inode(_: &File) -> std::io::Result<bool> {
    Ok(true)
}
