//! Where a database "in memory" lives: a private folder that goes with the engine.
//!
//! SQLite's own in-memory databases know no write-ahead log: there one open transaction that wrote keeps all others from even
//! reading. So it is an ordinary file in a file system that is memory (`/dev/shm`, where there is one with room), or in the
//! temporary folder, and it is never synced. A server that was killed leaves its folder behind: the next one removes it.

use pgsqlite_types::{PgError, Result, SqlState};
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

const PREFIX: &str = "pgsqlite-memory-";
const FILE: &str = "main.db";
/// Containers often have a `/dev/shm` of 64 MB: less than this is not worth the name of memory.
const ROOM: u64 = 1 << 30;

/// A folder for one database, removed when dropped.
pub struct MemoryFolder(PathBuf);

impl MemoryFolder {
    /// Errors: 58030.
    pub fn new() -> Result<MemoryFolder> {
        MemoryFolder::with_room(0)
    }

    /// A folder for a database of so many bytes, which may take a quarter of the memory that is free. Errors: 58030.
    pub fn with_room(bytes: u64) -> Result<MemoryFolder> {
        let base = base(bytes);
        // (one look is enough: those that are killed while this one runs are for the next)
        static LOOKED: std::sync::Once = std::sync::Once::new();
        LOOKED.call_once(|| remove_abandoned(&base));
        static NEXT: AtomicU32 = AtomicU32::new(0);
        loop {
            let n = NEXT.fetch_add(1, Ordering::Relaxed);
            let path = base.join(format!("{PREFIX}{}-{n}", std::process::id()));
            // nobody else may read it
            match std::fs::DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(MemoryFolder(path)),
                Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists && n < 10_000 => {}
                Err(e) => {
                    return Err(PgError::new(SqlState::IO_ERROR, format!("cannot make \"{}\": {e}", path.display())))
                }
            }
        }
    }

    /// The database's file.
    pub fn file(&self) -> PathBuf {
        self.0.join(FILE)
    }
}

impl Drop for MemoryFolder {
    fn drop(&mut self) {
        if let Err(e) = std::fs::remove_dir_all(&self.0) {
            tracing::debug!("folder {}: {e}", self.0.display());
        }
    }
}

/// The folder for what is gone at the end: memory, if a database of so many bytes takes no more than a quarter of what is free there.
pub fn base(bytes: u64) -> PathBuf {
    let shared = Path::new("/dev/shm");
    if room(shared) >= ROOM.max(bytes.saturating_mul(4)) {
        shared.to_path_buf()
    } else {
        std::env::temp_dir()
    }
}

/// Bytes that are free in the file system of a folder; 0 if it is not there.
fn room(folder: &Path) -> u64 {
    let Ok(path) = CString::new(folder.as_os_str().as_bytes()) else { return 0 };
    // SAFETY: a C string and a struct that the call fills.
    unsafe {
        let mut found: libc::statvfs = std::mem::zeroed();
        match libc::statvfs(path.as_ptr(), &mut found) {
            0 => found.f_bavail as u64 * found.f_frsize as u64,
            _ => 0,
        }
    }
}

/// Whether the process that a name's number means is gone: `prefix`, the number, `-` or the end. (One in another container may be unknown
/// here, so this alone says nothing.)
pub fn is_gone(name: &str, prefix: &str) -> bool {
    let number = name.strip_prefix(prefix).and_then(|rest| rest.split('-').next()?.parse::<i32>().ok());
    number.is_some_and(|pid| {
        pid > 0
            // SAFETY: no signal is sent: the call says whether it could be.
            && unsafe { libc::kill(pid, 0) } != 0
            && std::io::Error::last_os_error().raw_os_error() == Some(libc::ESRCH)
    })
}

/// Removes the folders of servers that were killed: the process is gone, their lock is there, and nobody holds it. (A server that is just
/// making its folder has a lock that it does not hold yet.)
fn remove_abandoned(base: &Path) {
    let Ok(entries) = std::fs::read_dir(base) else { return };
    for entry in entries.flatten() {
        // SAFETY: takes nothing, changes nothing, cannot fail.
        let me = unsafe { libc::geteuid() };
        let ours = entry.metadata().is_ok_and(|m| m.is_dir() && m.uid() == me);
        if !ours || !is_gone(&entry.file_name().to_string_lossy(), PREFIX) {
            continue;
        }
        let lock = entry.path().join(format!("{FILE}{}", crate::files::LOCK_SUFFIX));
        let abandoned = std::fs::File::open(lock).is_ok_and(|file| file.try_lock().is_ok());
        if abandoned && std::fs::remove_dir_all(entry.path()).is_err() {
            tracing::debug!("folder {} is left", entry.path().display());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_goes_with_its_owner_and_an_abandoned_one_with_the_next() {
        let base = std::env::temp_dir().join(format!("pgsqlite-memory-test-{}", std::process::id()));
        let (held, abandoned, new) = (
            base.join("pgsqlite-memory-99999991-0"),
            base.join("pgsqlite-memory-99999992-0"),
            base.join("pgsqlite-memory-99999993-0"),
        );
        // its lock is made, and not held yet
        let making = base.join(format!("pgsqlite-memory-{}-77", std::process::id()));
        for folder in [&held, &abandoned, &new, &making] {
            std::fs::create_dir_all(folder).unwrap();
        }
        let lock = |folder: &Path| folder.join(format!("{FILE}{}", crate::files::LOCK_SUFFIX));
        std::fs::write(lock(&abandoned), "").unwrap();
        std::fs::write(lock(&making), "").unwrap();
        let holder = std::fs::File::create(lock(&held)).unwrap();
        holder.lock().unwrap();
        remove_abandoned(&base);
        // `new` is just being made: it has no lock yet
        assert_eq!((held.exists(), abandoned.exists(), new.exists(), making.exists()), (true, false, true, true));
        std::fs::remove_dir_all(&base).unwrap();
        let folder = MemoryFolder::new().unwrap();
        let path = folder.file().parent().unwrap().to_path_buf();
        assert!(path.is_dir());
        drop(folder);
        assert!(!path.exists());
    }
}
