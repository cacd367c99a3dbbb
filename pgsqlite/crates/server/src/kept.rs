//! How far a standby's database has come, in a file beside it.

use pgsqlite_storage::stream::Position;
use pgsqlite_types::{PgError, Result, SqlState};
use std::path::{Path, PathBuf};

/// What is kept of a standby's database, in a file beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// It is being made from the archive, and is of no use.
    Restoring,
    /// It has the state after this transaction of the archive, whose changes end at this place in the log.
    Following { transaction: u64, lsn: u64 },
    /// It has at least the state of this place in the log of a primary, which has this position there.
    Streaming { lsn: u64, position: Position },
    /// It was promoted: it is a primary's.
    Promoted,
    /// It has what a process has written that had the lease: this one, or the one before it. Others may have written since.
    Leading { process: u64, before: u64 },
}

impl Kept {
    /// The file beside a database.
    pub fn path(database: &Path) -> PathBuf {
        beside(database, ".standby")
    }

    /// What is kept beside a database. Errors: 58030, XX001 for a file that says nothing.
    pub fn read(database: &Path) -> Result<Option<Kept>> {
        let path = Kept::path(database);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(io(&path, &e)),
        };
        let words: Vec<&str> = text.split_whitespace().collect();
        let number = |text: &str| u64::from_str_radix(text, 16).ok();
        let kept = match words[..] {
            ["restoring"] => Some(Kept::Restoring),
            ["promoted"] => Some(Kept::Promoted),
            ["leading", process, before] => {
                number(process).zip(number(before)).map(|(process, before)| Kept::Leading { process, before })
            }
            ["following", transaction, lsn] => {
                number(transaction).zip(number(lsn)).map(|(transaction, lsn)| Kept::Following { transaction, lsn })
            }
            ["streaming", lsn, position] => {
                number(lsn).zip(Position::parse(position)).map(|(lsn, position)| Kept::Streaming { lsn, position })
            }
            _ => None,
        };
        kept.map(Some).ok_or_else(|| {
            PgError::new(SqlState::DATA_CORRUPTED, format!("\"{}\" is no standby's file", path.display()))
        })
    }

    fn text(self) -> String {
        match self {
            Kept::Restoring => "restoring\n".to_string(),
            Kept::Promoted => "promoted\n".to_string(),
            Kept::Leading { process, before } => format!("leading {process:016x} {before:016x}\n"),
            Kept::Following { transaction, lsn } => format!("following {transaction:016x} {lsn:016x}\n"),
            // (always of one length, so that one takes the place of another)
            Kept::Streaming { lsn, position } => format!("streaming {lsn:016x} {:<42}\n", position.to_string()),
        }
    }

    /// The file that has it, for [`Kept::write_over`].
    pub fn open(database: &Path) -> Result<std::fs::File> {
        let path = Kept::path(database);
        std::fs::File::options().write(true).open(&path).map_err(|e| io(&path, &e))
    }

    /// Keeps it in the place of another one of its kind, sooner or later.
    pub fn write_over(self, file: &std::fs::File, database: &Path) -> Result<()> {
        use std::os::unix::fs::FileExt;
        file.write_all_at(self.text().as_bytes(), 0).map_err(|e| io(&Kept::path(database), &e))
    }

    /// Keeps it, for good.
    pub fn write(self, database: &Path) -> Result<()> {
        replace(&Kept::path(database), &self.text(), true)
    }
}

/// The file beside a database that asks for its promotion.
pub fn promotion_file(database: &Path) -> PathBuf {
    beside(database, ".promote")
}

/// Puts a file with this text in the place of another one. `for_good`: it is on disk. Errors: 58030.
pub fn replace(path: &Path, text: &str, for_good: bool) -> Result<()> {
    use std::io::Write;
    let making = beside(path, ".new");
    let write = || {
        let mut file = std::fs::File::create(&making)?;
        file.write_all(text.as_bytes())?;
        if for_good {
            file.sync_all()?;
        }
        std::fs::rename(&making, path)?;
        if !for_good {
            return Ok(());
        }
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        std::fs::File::open(folder)?.sync_all()
    };
    write().map_err(|e| io(path, &e))
}

/// A path with something behind it.
pub fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_os_string();
    name.push(end);
    name.into()
}

pub fn io(path: &Path, error: &std::io::Error) -> PgError {
    PgError::new(SqlState::IO_ERROR, format!("\"{}\": {error}", path.display()))
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
        let position = Position { salt: [7; 8], frames: u32::MAX, checksum: [1, u32::MAX] };
        let streaming = [1, u64::MAX].map(|lsn| Kept::Streaming { lsn, position });
        let [first, second] = streaming;
        let leading = Kept::Leading { process: u64::MAX, before: 7 };
        let following = Kept::Following { transaction: 0x1f, lsn: 1 << 40 };
        for kept in [Kept::Restoring, following, Kept::Promoted, leading, first] {
            kept.write(&database).expect("is written");
            assert_eq!(read(), Some(kept));
        }
        let none = Position::default();
        for kept in [second, Kept::Streaming { lsn: 5, position: none }] {
            kept.write_over(&Kept::open(&database).expect("opens"), &database).expect("is written");
            assert_eq!(read(), Some(kept), "one in the place of another");
        }
        std::fs::write(Kept::path(&database), "following 1").expect("is written");
        assert!(Kept::read(&database).is_err());
    }
}
