//! Files of the server that a client names (COPY), which may be a database's.

use super::{room_of, FileId, ROOMS};
use pgsqlite_types::{PgError, SqlState};
use std::fs::File;
use std::io::{Error, Read, Write};
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::path::Path;

/// A file that is not an open database's, and that is not closed as long as it is one.
pub struct ServerFile(ManuallyDrop<File>);

/// Why a file was not opened.
pub enum Refused {
    /// The operating system's reason.
    Io(Error),
    /// It belongs to a database that the server has open.
    Database(PgError),
}

impl From<Error> for Refused {
    fn from(e: Error) -> Refused {
        Refused::Io(e)
    }
}

fn refusal(path: &Path) -> Refused {
    Refused::Database(
        PgError::new(
            SqlState::OBJECT_IN_USE,
            format!("file \"{}\" belongs to a database that the server has open", path.display()),
        )
        .hint("Only the server itself may read or write the files of its databases."),
    )
}

/// 55006 for a file of an open database. It is looked at without being opened.
fn check(path: &Path) -> std::result::Result<(), Refused> {
    match FileId::at(path) {
        Some(id) if room_of(&ROOMS.lock(), id).is_some() => Err(refusal(path)),
        _ => Ok(()),
    }
}

impl ServerFile {
    /// Opens a file to read from.
    pub fn open(path: &Path) -> std::result::Result<ServerFile, Refused> {
        check(path)?;
        ServerFile::take(path, File::open(path)?)
    }

    /// Opens a file to write to: it is made, or emptied.
    pub fn create(path: &Path) -> std::result::Result<ServerFile, Refused> {
        check(path)?;
        // nor one that is not open now, or that another program has open
        if let Some(what) = sqlite_file(path) {
            let message = format!("file \"{}\" is {what}", path.display());
            let hint = "Remove the file first if it is not needed any more.";
            return Err(Refused::Database(PgError::new(SqlState::WRONG_OBJECT_TYPE, message).hint(hint)));
        }
        // it is emptied when it is known whose it is
        let file = File::options().write(true).create(true).truncate(false).open(path)?;
        let file = ServerFile::take(path, file)?;
        if file.metadata()?.is_file() {
            file.set_len(0)?;
        }
        Ok(file)
    }

    /// Opens a file to write to its end: it is made if it is not there.
    pub fn append(path: &Path) -> std::result::Result<ServerFile, Refused> {
        check(path)?;
        ServerFile::take(path, File::options().append(true).create(true).open(path)?)
    }

    /// Another file may have come to the name meanwhile.
    fn take(path: &Path, file: File) -> std::result::Result<ServerFile, Refused> {
        let file = ServerFile(ManuallyDrop::new(file));
        let id = FileId::of(&file.metadata()?);
        let is_database = room_of(&ROOMS.lock(), id).is_some();
        match is_database {
            true => Err(refusal(path)),
            false => Ok(file),
        }
    }
}

impl Deref for ServerFile {
    type Target = File;
    fn deref(&self) -> &File {
        &self.0
    }
}

impl Read for ServerFile {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.0.read(buffer)
    }
}

impl Write for ServerFile {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.write(bytes)
    }
    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}

impl Drop for ServerFile {
    fn drop(&mut self) {
        // a database may have been opened meanwhile: then its room closes the file
        let rooms = ROOMS.lock();
        let room = self.0.metadata().ok().and_then(|m| room_of(&rooms, FileId::of(&m)));
        // SAFETY: taken once, by drop.
        let file = unsafe { ManuallyDrop::take(&mut self.0) };
        match room {
            Some(room) => room.keep(file),
            None => drop(file),
        }
        drop(rooms);
    }
}

/// What a file is of a SQLite database, if anything: told by its first bytes (<https://www.sqlite.org/fileformat.html>).
fn sqlite_file(path: &Path) -> Option<&'static str> {
    if !std::fs::metadata(path).is_ok_and(|m| m.is_file()) {
        return None;
    }
    let mut first = Vec::new();
    ServerFile::open(path).ok()?.take_head(&mut first).ok()?;
    match first[..] {
        _ if first == super::MAGIC => Some("a SQLite database"),
        [0x37, 0x7f, 0x06, 0x82 | 0x83, ..] => Some("a write-ahead log of SQLite"),
        _ => None,
    }
}

/// Whether a file is, or is empty and may become, a SQLite database that this process does not have open. (Of one that is open: false.)
pub fn may_be_database(path: &Path) -> bool {
    if !std::fs::metadata(path).is_ok_and(|m| m.is_file()) {
        return false;
    }
    let Ok(file) = ServerFile::open(path) else { return false };
    let mut first = Vec::new();
    let read = file.take_head(&mut first);
    read.is_ok() && (first.is_empty() || first == super::MAGIC)
}

impl ServerFile {
    fn take_head(&self, to: &mut Vec<u8>) -> std::io::Result<usize> {
        (&**self).take(super::MAGIC.len() as u64).read_to_end(to)
    }
}
