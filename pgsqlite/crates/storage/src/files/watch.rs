//! Whether a database's files are still the ones that the server has open.
//!
//! A program that removes or replaces the file or its log, or cuts the log, takes away what is committed there. That cannot be hindered,
//! but it must not be acknowledged: before it, the inodes behind the names are compared with those that are open
//! ([`Room::check`]), and before a commit is written, the log's length with what its index says of it ([`Room::check_length`]).

use super::{FileId, Room};
use pgsqlite_types::{PgError, Result, SqlState};
use std::fs::File;
use std::path::Path;
use std::sync::atomic::Ordering;

/// What has become of a database's files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Fate {
    /// They are in their place.
    Sound = 0,
    /// There is no log at its place, or an empty one, but the database is.
    LogRemoved = 1,
    /// At the log's place is another file, or it was cut.
    LogReplaced = 2,
    /// At the database's place is no file, or another one.
    FileReplaced = 3,
}

impl Fate {
    fn of(number: u8) -> Fate {
        [Fate::Sound, Fate::LogRemoved, Fate::LogReplaced]
            .into_iter()
            .find(|f| *f as u8 == number)
            .unwrap_or(Fate::FileReplaced)
    }
}

/// Device and inode of the file at a path, without its times: a file whose times were asked for gets new ones with the next write, which
/// costs more than the write.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(super) fn identity(path: &Path) -> std::io::Result<FileId> {
    use std::os::unix::ffi::OsStrExt;
    let path = std::ffi::CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: a struct of numbers; a C string, and a struct that the call fills.
    unsafe {
        let mut found: libc::statx = std::mem::zeroed();
        if libc::statx(libc::AT_FDCWD, path.as_ptr(), 0, libc::STATX_INO, &mut found) != 0 {
            return Err(std::io::Error::last_os_error());
        }
        let device = libc::makedev(found.stx_dev_major, found.stx_dev_minor);
        Ok(FileId { device, inode: found.stx_ino })
    }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(super) fn identity(path: &Path) -> std::io::Result<FileId> {
    std::fs::metadata(path).map(|m| FileId::of(&m))
}

impl Room {
    /// Compares the files at the places of the database and its log (`log`: the one that is open) with those that are open. To be called
    /// after a sync, before what was synced is acknowledged. Errors: 58P01, fatal, from now on.
    pub(crate) fn check(&self, log: FileId) -> Result<()> {
        let fate = match (identity(&self.path), identity(&self.log)) {
            (Ok(file), Ok(found)) if file == self.id && found == log => Fate::Sound,
            // SQLite makes an empty log where it finds none
            (Ok(file), Ok(_)) if file == self.id && std::fs::metadata(&self.log).is_ok_and(|m| m.len() == 0) => {
                Fate::LogRemoved
            }
            (Ok(file), Ok(_)) if file == self.id => Fate::LogReplaced,
            (Ok(file), Err(e)) if file == self.id && e.kind() == std::io::ErrorKind::NotFound => Fate::LogRemoved,
            (Ok(_), _) => Fate::FileReplaced,
            (Err(e), _) if e.kind() == std::io::ErrorKind::NotFound => Fate::FileReplaced,
            (Err(e), _) => {
                let message = format!("could not look at database file \"{}\": {e}", self.path.display());
                return Err(PgError::new(SqlState::IO_ERROR, message).fatal());
            }
        };
        self.note(fate)
    }

    /// Whether the log is as long as its index says. To be called while this process holds SQLite's write lock. Errors: as
    /// [`Room::check`].
    pub(crate) fn check_length(&self, length: u64) -> Result<()> {
        match self.index.get().and_then(|index| index.header()) {
            Some(header) if length < header.log_length() => self.note(Fate::LogReplaced),
            _ => self.note(Fate::Sound),
        }
    }

    /// Whether the log still holds what its index says. Another program may have cut it, or begun it anew, while a commit was written: what
    /// is lost then is found at its beginning (which a cut log that grows again has not), at its last frame, and at the frame that was the
    /// last one when this was asked before. To be called after a sync, before what was synced is acknowledged. Errors: 58P01, fatal, from
    /// now on; 58030.
    pub(crate) fn check_content(&self, log: &File) -> Result<()> {
        let Some(index) = self.index.get() else { return Ok(()) };
        let mut checked = self.checked.lock();
        let mut header = index.header();
        // others may begin the log anew at this moment: then what was read says nothing
        for _ in 0..100 {
            let Some(now) = header else { return Ok(()) };
            let sound = now
                .is_of(log)
                .and_then(|sound| Ok(sound && checked.map_or(Ok(true), |before| before.is_in(log, &now))?));
            let sound = sound.map_err(|e| {
                let message = format!("could not read file \"{}\": {e}", self.log.display());
                PgError::new(SqlState::IO_ERROR, message).fatal()
            })?;
            if sound {
                *checked = Some(now);
                return Ok(());
            }
            header = index.header();
            if header == Some(now) {
                return self.note(Fate::LogReplaced);
            }
        }
        Ok(())
    }

    /// Remembers what was found; the first that is not well stays.
    fn note(&self, fate: Fate) -> Result<()> {
        if fate != Fate::Sound {
            let _ = self.fate.compare_exchange(Fate::Sound as u8, fate as u8, Ordering::AcqRel, Ordering::Acquire);
        }
        match self.fate() {
            Fate::Sound => Ok(()),
            fate => Err(self.error(fate)),
        }
    }

    pub(crate) fn fate(&self) -> Fate {
        Fate::of(self.fate.load(Ordering::Acquire))
    }

    fn error(&self, fate: Fate) -> PgError {
        let (what, path) = match fate {
            Fate::LogRemoved => ("was removed", &self.log),
            Fate::LogReplaced => ("was replaced or cut", &self.log),
            Fate::Sound | Fate::FileReplaced => ("was removed or replaced", &self.path),
        };
        PgError::new(SqlState::UNDEFINED_FILE, format!("file \"{}\" {what} by another program", path.display()))
            .detail("The server has stopped accepting writes: they would go to a file that nobody finds again.")
            .hint("Put the file back if there is a copy of it, and restart the server.")
            .fatal()
    }

    /// After SQLite has opened the database once more: all connections of an engine have one file. `has_moved`: SQLite finds another
    /// file under its name. Errors: 58P01.
    pub(crate) fn check_open(&self, has_moved: bool) -> Result<()> {
        match has_moved {
            false => self.check_path(),
            true => Err(self.error(Fate::FileReplaced)),
        }
    }

    fn check_path(&self) -> Result<()> {
        match identity(&self.path) {
            Ok(id) if id == self.id => Ok(()),
            _ => Err(self.error(Fate::FileReplaced)),
        }
    }

    /// Whether the last connection may write the log back and remove it: not if the names are those of other files now. To be asked
    /// before the database is closed.
    pub fn may_tidy(&self, log: Option<FileId>) -> bool {
        if let Some(log) = log {
            // what is found is remembered
            let _ = self.check(log);
        }
        self.check_path().is_ok() && matches!(self.fate(), Fate::Sound | Fate::LogRemoved)
    }
}
