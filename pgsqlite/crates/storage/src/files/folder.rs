//! The files of databases that are not open: made, renamed and removed.

use pgsqlite_types::{PgError, Result, SqlState};
use std::fs::File;
use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};

/// Names of the files that SQLite and pgsqlite keep beside a database.
pub const SUFFIXES: [&str; 4] = ["-wal", "-shm", "-journal", super::LOCK_SUFFIX];

/// The paths of the files that SQLite and pgsqlite keep beside a database, in the order of [`SUFFIXES`].
pub fn companions(path: &Path) -> [PathBuf; SUFFIXES.len()] {
    SUFFIXES.map(|suffix| {
        let mut name = path.as_os_str().to_os_string();
        name.push(suffix);
        PathBuf::from(name)
    })
}

fn io(path: &Path, error: Error) -> PgError {
    PgError::new(SqlState::IO_ERROR, format!("database file \"{}\": {error}", path.display()))
}

fn remove_file(path: &Path) -> Result<()> {
    match std::fs::remove_file(path) {
        Err(e) if e.kind() != ErrorKind::NotFound => Err(io(path, e)),
        _ => Ok(()),
    }
}

/// The folder that a file is in.
fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Makes the names in a folder last.
fn sync_folder(folder: &Path) -> Result<()> {
    File::open(folder).and_then(|file| file.sync_all()).map_err(|e| io(folder, e))
}

/// Removes what is left beside a database's file.
fn remove_companions(path: &Path) -> Result<()> {
    companions(path).iter().try_for_each(|file| remove_file(file))
}

/// Removes a database that is not open, as far as its files are there, for good: the main file goes first, because a log without one
/// is nothing, and a database without its log would be an older state of it.
pub fn remove(path: &Path) -> Result<()> {
    remove_file(path)?;
    sync_folder(folder_of(path))?;
    remove_companions(path)?;
    sync_folder(folder_of(path))
}

/// Puts a database that is not open aside, with its log, under its name and `.dropped`, in the place of one that was put aside before. Returns where it is.
pub fn put_aside(path: &Path) -> Result<PathBuf> {
    let mut target = path.as_os_str().to_os_string();
    target.push(".dropped");
    let target = PathBuf::from(target);
    remove(&target)?;
    std::fs::rename(path, &target).map_err(|e| io(path, e))?;
    let [log, ..] = companions(path);
    let [log_aside, ..] = companions(&target);
    match std::fs::rename(&log, &log_aside) {
        Err(e) if e.kind() != ErrorKind::NotFound => return Err(io(&log, e)),
        _ => {}
    }
    remove_companions(path)?;
    sync_folder(folder_of(path))?;
    Ok(target)
}

/// Gives a database that was made under another name the name it is to have, for good. What a database of this name has left behind is
/// removed first: SQLite would take a log for the new file's.
pub fn install(made: &Path, path: &Path) -> Result<()> {
    File::open(made).and_then(|file| file.sync_all()).map_err(|e| io(made, e))?;
    remove_companions(path)?;
    sync_folder(folder_of(path))?;
    std::fs::rename(made, path).map_err(|e| io(path, e))?;
    sync_folder(folder_of(path))
}

/// Gives a database that is not open another name, for good. Errors: 55006 if another program has it open.
pub fn rename(name: &str, path: &Path, target: &Path) -> Result<()> {
    let [log, shared, journal, lock] = companions(path);
    // closing wrote the log back; a reader of another program keeps it, then the file must stay where it is
    if log.exists() || journal.exists() {
        return Err(PgError::new(
            SqlState::OBJECT_IN_USE,
            format!("database \"{name}\" is being accessed by another program"),
        ));
    }
    remove_companions(target)?;
    sync_folder(folder_of(target))?;
    std::fs::rename(path, target).map_err(|e| io(path, e))?;
    sync_folder(folder_of(target))?;
    remove_file(&shared)?;
    remove_file(&lock)
}

/// Makes an empty file, which is an empty database. False: there is a file of this name.
pub fn make_empty(path: &Path) -> std::io::Result<bool> {
    match File::create_new(path) {
        Ok(_) => Ok(true),
        Err(e) if e.kind() == ErrorKind::AlreadyExists => Ok(false),
        Err(e) => Err(e),
    }
}
