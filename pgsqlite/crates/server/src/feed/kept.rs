//! What is kept of a database's feed, so that it goes on after a restart.

use crate::kept::{beside, io, replace};
use pgsqlite_storage::stream::Position;
use pgsqlite_types::Result;
use std::path::{Path, PathBuf};

/// What is kept of a database's feed, in a file beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kept {
    /// made with the file, as PostgreSQL's system identifier is
    pub identifier: u64,
    pub lsn: u64,
    pub position: Position,
}

impl Kept {
    fn path(database: &Path) -> PathBuf {
        beside(database, ".feed")
    }

    /// None: there is none yet, or it is no such file.
    pub fn read(database: &Path) -> Result<Option<Kept>> {
        let path = Kept::path(database);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(io(&path, &e)),
        };
        let parse = || {
            let mut words = text.split_whitespace();
            let mut number = || u64::from_str_radix(words.next()?, 16).ok();
            let (identifier, lsn) = (number()?, number()?);
            Some(Kept { identifier, lsn, position: Position::parse(words.next()?)? })
        };
        Ok(parse())
    }

    /// Nothing is kept of a database that is gone.
    pub fn forget(database: &Path) -> Result<()> {
        let path = Kept::path(database);
        match std::fs::remove_file(&path) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(io(&path, &e)),
            _ => Ok(()),
        }
    }

    /// Keeps it. `for_good`: it is on disk.
    pub fn write(&self, database: &Path, for_good: bool) -> Result<()> {
        let text = format!("{:016x} {:016x} {}\n", self.identifier, self.lsn, self.position);
        replace(&Kept::path(database), &text, for_good)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pgsqlite_storage::in_memory::MemoryFolder;

    #[test]
    fn what_is_kept_is_read_again() {
        let folder = MemoryFolder::new().expect("a folder");
        let database = folder.file();
        let read = || Kept::read(&database).expect("is read");
        assert_eq!(read(), None);
        let position = Position { salt: [9; 8], frames: 7, checksum: [0, 5] };
        for (lsn, for_good) in [(1 << 40, true), (u64::MAX, false)] {
            let kept = Kept { identifier: 3, lsn, position };
            kept.write(&database, for_good).expect("is written");
            assert_eq!(read(), Some(kept));
        }
        Kept::forget(&database).and_then(|()| Kept::forget(&database)).expect("is removed");
        assert_eq!(read(), None);
        std::fs::write(Kept::path(&database), "1 2").expect("is written");
        assert_eq!(read(), None, "the standbys get new copies");
    }
}
