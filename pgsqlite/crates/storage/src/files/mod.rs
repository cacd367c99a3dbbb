//! The files of open databases: who has them open, and what must not happen to them.
//!
//! SQLite locks a database with POSIX's locks, which belong to the process and the inode: when a process closes *any* descriptor of a
//! file, all of its locks on that file are gone (<https://www.sqlite.org/howtocorrupt.html#_posix_advisory_locks_canceled_by_a_separate_thread_doing_close_>).
//! Another program then believes to be alone, and takes the write-ahead log away with all that was committed to it. So a database's
//! files are opened in this folder and by SQLite alone (`tools/lint_files.py` checks it), each open database has one [`Room`], and
//! whatever else opens a file by a name that a client or a folder gave asks here first, and gives the descriptor back here
//! ([`ServerFile`]).

pub mod folder;
mod lock;
mod log_index;
mod pages;
pub mod server_file;
mod watch;

pub(crate) use lock::LOCK_SUFFIX;
pub(crate) use log_index::Header;
pub use server_file::ServerFile;
pub(crate) use watch::Fate;

use lock::{in_use, lock_inode, unlock_inode, PathLock};
use log_index::Index;
use parking_lot::Mutex;
use pgsqlite_types::{PgError, Result, SqlState};
use std::fs::{File, Metadata};
use std::io::{ErrorKind, Read, Seek};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicU8, Ordering};
use std::sync::{Arc, OnceLock, Weak};

/// What every SQLite database begins with; an empty file is an empty database.
const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// A file, by whatever name: its device and inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileId {
    device: u64,
    inode: u64,
}

impl FileId {
    /// The file that these metadata are of.
    pub fn of(metadata: &Metadata) -> FileId {
        FileId { device: metadata.dev(), inode: metadata.ino() }
    }

    /// None: there is no such file, or it cannot be looked at.
    fn at(path: &Path) -> Option<FileId> {
        std::fs::metadata(path).ok().map(|m| FileId::of(&m))
    }
}

/// The databases that this process has open.
static ROOMS: Mutex<Vec<Weak<Room>>> = Mutex::new(Vec::new());

/// The room of the open database that a file belongs to: as its main file, log, shared memory, journal or lock. To be called with
/// [`ROOMS`] locked.
fn room_of(rooms: &[Weak<Room>], id: FileId) -> Option<Arc<Room>> {
    rooms.iter().filter_map(Weak::upgrade).find(|room| room.has(id))
}

/// The files of one open database. It is dropped after all of the process's connections to the database.
pub struct Room {
    /// without symbolic links: SQLite names the log and the others after it
    path: PathBuf,
    id: FileId,
    /// holds the lock on the inode
    file: Mutex<File>,
    /// the log's path
    log: PathBuf,
    /// of the log; none: it could not be opened
    index: OnceLock<Index>,
    /// the index's mark when the engine compared the schema last
    compared: AtomicU64,
    /// a [`Fate`]
    fate: AtomicU8,
    /// what the index said when the log's content was looked at last ([`Room::check_content`])
    checked: Mutex<Option<log_index::Header>>,
    /// descriptors of its files that others have opened
    kept: Mutex<Vec<File>>,
    _lock: PathLock,
}

impl Drop for Room {
    fn drop(&mut self) {
        unlock_inode(&self.file.lock());
    }
}

impl Room {
    /// Takes a database's file, which is made if it is not there; nothing else of the process or of another server has it then.
    /// Errors: 55006 if somebody has; 55000 for a file with several names; 58P01, 42809, 25006, 58030, XX001 for what is no
    /// database that can be written to.
    pub fn enter(path: &Path) -> Result<Arc<Room>> {
        check(path)?;
        // whoever looks for a file's room holds all rooms for a moment: a room that is left at that moment gives up its locks when the
        // look ends, which is before this thread has the list
        let mut rooms = ROOMS.lock();
        let lock = PathLock::new(path)?;
        let io = |e: std::io::Error| {
            PgError::new(SqlState::IO_ERROR, format!("cannot open database file \"{}\": {e}", path.display()))
        };
        if FileId::at(path).is_some_and(|id| room_of(&rooms, id).is_some()) {
            return Err(in_use(path));
        }
        let mut file =
            File::options().read(true).write(true).create(true).truncate(false).mode(0o644).open(path).map_err(io)?;
        let metadata = file.metadata().map_err(io)?;
        let id = FileId::of(&metadata);
        if let Some(room) = room_of(&rooms, id) {
            // it came to this name just now
            room.keep(file);
            return Err(in_use(path));
        }
        one_name(path, &metadata)?;
        let mut head = [0u8; MAGIC.len()];
        if metadata.len() > 0 && (file.read_exact(&mut head).is_err() || &head != MAGIC) {
            return Err(no_database(path));
        }
        if !lock_inode(&file).map_err(io)? {
            return Err(in_use(path));
        }
        let path = std::fs::canonicalize(path).map_err(io)?;
        let [log, ..] = folder::companions(&path);
        let room = Arc::new(Room {
            path,
            id,
            file: Mutex::new(file),
            log,
            index: OnceLock::new(),
            compared: AtomicU64::new(0),
            fate: AtomicU8::new(Fate::Sound as u8),
            checked: Mutex::default(),
            kept: Mutex::default(),
            _lock: lock,
        });
        rooms.retain(|room| room.strong_count() > 0);
        rooms.push(Arc::downgrade(&room));
        Ok(room)
    }

    /// The database's path, without symbolic links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The log's path.
    pub fn log(&self) -> &Path {
        &self.log
    }

    /// Looks at the log's index from now on. To be called when SQLite uses it.
    pub fn open_index(&self) {
        let [_, index, ..] = folder::companions(&self.path);
        match Index::open(&index) {
            Ok(index) => {
                let _ = self.index.set(index);
            }
            Err(e) => tracing::warn!("the index of the write-ahead log cannot be looked at: {e}"),
        }
    }

    /// Whether anything may have been committed since the schema was compared last ([`Room::compared`]).
    pub fn has_changed(&self) -> bool {
        self.index.get().is_none_or(|index| index.mark() != self.compared.load(Ordering::Acquire))
    }

    /// The state that [`Room::compared`] is to be called with after a look at the schema; to be asked before it.
    pub fn mark(&self) -> Option<u64> {
        self.index.get().map(Index::mark)
    }

    /// The schema that the engine knows is that of this state.
    pub fn compared(&self, mark: Option<u64>) {
        if let Some(mark) = mark {
            self.compared.store(mark, Ordering::Release);
        }
    }

    /// The number of commits, while this process holds SQLite's write lock; None: others have committed since the schema was compared.
    pub(crate) fn commits_compared(&self) -> Option<u32> {
        let header = self.index.get()?.header()?;
        (header.mark == self.compared.load(Ordering::Acquire)).then_some(header.commits)
    }

    /// This process has committed, and not changed the schema, after [`Room::commits_compared`]. If others have committed since, their
    /// changes are yet to be compared.
    pub(crate) fn committed(&self, before: u32) {
        if let Some(header) = self.index.get().and_then(|index| index.header()) {
            if header.commits == before.wrapping_add(1) {
                self.compared.store(header.mark, Ordering::Release);
            }
        }
    }

    /// Whether a file is one of the database's.
    fn has(&self, id: FileId) -> bool {
        self.id == id
            || self.index.get().is_some_and(|index| index.id == id)
            || folder::companions(&self.path).iter().any(|path| FileId::at(path) == Some(id))
    }

    /// Keeps a descriptor until the database is closed.
    fn keep(&self, file: File) {
        self.kept.lock().push(file);
    }

    /// Returns the size of the main file, without its log. Errors: 58030.
    pub fn bytes(&self) -> Result<u64> {
        self.file
            .lock()
            .metadata()
            .map(|m| m.len())
            .map_err(|e| PgError::new(SqlState::IO_ERROR, format!("database file \"{}\": {e}", self.path.display())))
    }

    /// Copies the main file, as it is on disk, to one that does not exist yet.
    pub fn copy_to(&self, to: &Path) -> std::io::Result<()> {
        let mut file = self.file.lock();
        file.rewind()?;
        std::io::copy(&mut *file, &mut File::create_new(to)?).map(drop)
    }
}

/// 55000 for a file with hard links.
fn one_name(path: &Path, metadata: &Metadata) -> Result<()> {
    if metadata.nlink() <= 1 {
        return Ok(());
    }
    Err(PgError::new(
        SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
        format!("\"{}\" is one of {} names (hard links) of its file", path.display(), metadata.nlink()),
    )
    .detail("SQLite names the write-ahead log after the database: by another name the last transactions are missing, and what is written damages the file.")
    .hint("Remove the other links, or serve a copy of the file."))
}

/// Before SQLite opens a file for a moment: 55000 for one that has several names.
pub fn check_name(path: &Path) -> Result<()> {
    match std::fs::metadata(path) {
        Ok(metadata) => one_name(path, &metadata),
        Err(_) => Ok(()),
    }
}

fn no_database(path: &Path) -> PgError {
    crate::error::no_database(path.display())
}

/// What can be said of a database's file without opening it.
fn check(path: &Path) -> Result<()> {
    let metadata = match std::fs::metadata(path) {
        Ok(m) => m,
        Err(e) if e.kind() == ErrorKind::NotFound => {
            let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
            if !folder.is_dir() {
                return Err(PgError::new(
                    SqlState::UNDEFINED_FILE,
                    format!("the folder \"{}\" does not exist", folder.display()),
                ));
            }
            return Ok(());
        }
        Err(e) => {
            let message = format!("cannot open database file \"{}\": {e}", path.display());
            return Err(PgError::new(SqlState::IO_ERROR, message));
        }
    };
    if !metadata.is_file() {
        return Err(PgError::new(SqlState::WRONG_OBJECT_TYPE, format!("\"{}\" is not a file", path.display())));
    }
    if metadata.permissions().readonly() {
        return Err(PgError::new(
            SqlState::READ_ONLY_SQL_TRANSACTION,
            format!("database file \"{}\" is read-only", path.display()),
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
