//! Databases that follow an archive (`--standby`).
//!
//! Each has a thread, which looks for new files of the archive twice a second, and applies each of them as one transaction while sessions read
//! (`pgsqlite_engine::engine::Engine::apply`). How far the database has come is kept beside it ([`Kept`]), after the change is on disk and before the next one begins:
//! a change that is applied once more changes nothing.
//!
//! A promotion is asked for with pg_promote(), or by a file beside the database (`pgsqlite promote`). Each thread then applies all that the archive has, notes
//! that its database follows no more, and ends. When all have, the server is a primary.

use parking_lot::Mutex;
use pgsqlite_engine::engine::Engine;
use pgsqlite_natives::recovery::{Recovery, Standby};
use pgsqlite_replication::archive::Archive;
use pgsqlite_replication::place::Place;
use pgsqlite_replication::restore::{lsn_text, restore, Until};
use pgsqlite_replication::{follow, Error};
use pgsqlite_storage::apply::Applier;
use pgsqlite_storage::files::folder;
use pgsqlite_types::{PgError, Result, SqlState};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{channel, RecvTimeoutError, Sender};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Between two looks at what is asked for.
const TICK: Duration = Duration::from_millis(50);
/// Between two looks at the archive.
const LOOK: Duration = Duration::from_millis(500);
/// After a failure the archive is left alone for so long.
const REST: Duration = Duration::from_secs(2);
/// Between two looks at files that others stand for.
const WHOLE_LOOK: Duration = Duration::from_secs(15);
/// An error that comes again is logged so often.
const AGAIN: Duration = Duration::from_secs(60);

/// What is kept of a standby's database, in a file beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// It is being made from the archive, and is of no use.
    Restoring,
    /// It has the state after this transaction of the archive, whose changes end at this place in the log.
    Following { transaction: u64, lsn: u64 },
    /// It was promoted: it is a primary's.
    Promoted,
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
            ["following", transaction, lsn] => {
                number(transaction).zip(number(lsn)).map(|(transaction, lsn)| Kept::Following { transaction, lsn })
            }
            _ => None,
        };
        kept.map(Some).ok_or_else(|| {
            PgError::new(SqlState::DATA_CORRUPTED, format!("\"{}\" is no standby's file", path.display()))
        })
    }

    /// Keeps it, for good.
    pub fn write(self, database: &Path) -> Result<()> {
        use std::io::Write;
        let (path, making) = (Kept::path(database), beside(database, ".standby.new"));
        let text = match self {
            Kept::Restoring => "restoring\n".to_string(),
            Kept::Promoted => "promoted\n".to_string(),
            Kept::Following { transaction, lsn } => format!("following {transaction:016x} {lsn:016x}\n"),
        };
        let write = || {
            let mut file = std::fs::File::create(&making)?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            std::fs::rename(&making, &path)?;
            let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
            std::fs::File::open(folder)?.sync_all()
        };
        write().map_err(|e| io(&path, &e))
    }
}

/// The file beside a database that asks for its promotion.
pub fn promotion_file(database: &Path) -> PathBuf {
    beside(database, ".promote")
}

/// A path with something behind it.
fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_os_string();
    name.push(end);
    name.into()
}

fn io(path: &Path, error: &std::io::Error) -> PgError {
    PgError::new(SqlState::IO_ERROR, format!("\"{}\": {error}", path.display()))
}

fn failed(error: &Error) -> PgError {
    PgError::new(SqlState::IO_ERROR, error.to_string())
}

/// What a file that is about to be opened on a standby is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// It follows from here.
    Following { transaction: u64, lsn: u64 },
    /// It was promoted before.
    Promoted,
}

/// Makes the file of a database that is to follow this archive, unless it is there. It waits for an archive that is not there yet, or does not answer. Errors: 55000 for a
/// file that no standby has made.
pub fn prepare(database: &Path, place: &Place) -> Result<Found> {
    let mut reported = Reported::default();
    loop {
        match (database.symlink_metadata().is_ok(), Kept::read(database)?) {
            (true, Some(Kept::Promoted)) => return Ok(Found::Promoted),
            (true, Some(Kept::Following { transaction, lsn })) => return Ok(Found::Following { transaction, lsn }),
            (true, None) => {
                return Err(PgError::new(
                    SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
                    format!(
                        "\"{}\" was not made by a standby: it may have what the archive has not",
                        database.display()
                    ),
                )
                .hint("Move the file and those beside it away. The standby makes it again from the archive."))
            }
            // what a crash has left
            (true, Some(Kept::Restoring)) => folder::remove(database)?,
            (false, _) => {}
        }
        Kept::Restoring.write(database)?;
        folder::remove(&beside(database, ".restoring"))?;
        folder::remove(database)?;
        match restore(&Archive::reader(place.clone()), database, Until::Now) {
            Ok(state) => {
                Kept::Following { transaction: state.transaction, lsn: state.lsn }.write(database)?;
                tracing::info!("\"{}\" was restored: {}", database.display(), lsn_text(state.lsn));
            }
            Err(e) => {
                reported.tell(&e.to_string(), || {
                    tracing::warn!("\"{}\" waits for its archive: {e}", database.display());
                });
                if promotion_file(database).exists() {
                    return Err(failed(&e));
                }
                std::thread::sleep(LOOK);
            }
        }
    }
}

/// What is kept of the databases of a folder, by their names. Errors: as [`Kept::read`].
fn kept_in(folder: &Path) -> Result<Vec<(String, Kept)>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(|e| io(folder, &e))? {
        let path = entry.map_err(|e| io(folder, &e))?.path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()?.strip_suffix(".db")) else { continue };
        found.extend(Kept::read(&path)?.map(|kept| (name.to_string(), kept)));
    }
    Ok(found)
}

/// Whether the databases of a folder were promoted: then no archive is needed. Errors: as [`Kept::read`].
pub fn were_promoted(folder: &Path) -> Result<bool> {
    let kept = kept_in(folder)?;
    Ok(!kept.is_empty() && kept.iter().all(|(_, kept)| *kept == Kept::Promoted))
}

/// The names of the databases of a folder that follow an archive. Errors: as [`Kept::read`].
pub fn followers(folder: &Path) -> Result<Vec<String>> {
    let follow = |(name, kept)| matches!(kept, Kept::Following { .. }).then_some(name);
    Ok(kept_in(folder)?.into_iter().filter_map(follow).collect())
}

/// A file of a standby that is about to be opened by a server that is none: from now on it follows nothing. Errors: 55000 for one that is not complete.
pub fn leave(database: &Path) -> Result<()> {
    match Kept::read(database)? {
        None | Some(Kept::Promoted) => Ok(()),
        Some(Kept::Restoring) => Err(PgError::new(
            SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
            format!("\"{}\" is not complete: it was being restored for a standby", database.display()),
        )
        .hint("Start the server with --standby, or remove the file.")),
        Some(Kept::Following { lsn, .. }) => {
            tracing::warn!(
                "\"{}\" was a standby's, and had all changes up to {}; without --standby it is a primary's",
                database.display(),
                lsn_text(lsn)
            );
            Kept::Promoted.write(database)
        }
    }
}

/// The error that was logged last.
#[derive(Default)]
struct Reported(Option<(String, Instant)>);

impl Reported {
    fn tell(&mut self, message: &str, log: impl FnOnce()) {
        if !self.0.as_ref().is_some_and(|(known, at)| known == message && at.elapsed() < AGAIN) {
            log();
            self.0 = Some((message.to_string(), Instant::now()));
        }
    }
}

/// The databases of a standby.
pub struct Followers {
    standby: Arc<Standby>,
    /// those that have not ended after a promotion
    left: Arc<AtomicUsize>,
    threads: Mutex<Vec<(Sender<()>, JoinHandle<()>)>>,
    /// how far each database has come, by its name
    known: Mutex<Vec<(String, Arc<Recovery>)>>,
}

impl Followers {
    /// None yet, of this server.
    pub fn new(standby: Arc<Standby>) -> Followers {
        Followers { standby, left: Arc::default(), threads: Mutex::default(), known: Mutex::default() }
    }

    /// Has a database follow its archive. `promoted` is called when the last database of the server follows no more.
    pub fn begin(
        &self,
        engine: &Arc<Engine>,
        database: &Path,
        place: Place,
        from: (u64, u64),
        promoted: impl FnOnce() + Send + 'static,
    ) -> Result<()> {
        let recovery = engine.recovery().cloned().ok_or_else(|| PgError::internal("no standby's engine"))?;
        let (transaction, lsn) = from;
        recovery.applied(lsn, 0);
        let (stop, stopped) = channel();
        let left = self.left.clone();
        let mut work = Work {
            engine: Arc::downgrade(engine),
            database: database.to_path_buf(),
            archive: Archive::reader(place),
            recovery,
            applier: None,
            transaction,
            looked: None,
            looked_at_all: None,
            rest: Duration::ZERO,
            reported: Reported::default(),
        };
        self.known.lock().push((engine.catalog().database.clone(), work.recovery.clone()));
        left.fetch_add(1, Ordering::AcqRel);
        let run = move || {
            while matches!(stopped.recv_timeout(TICK), Err(RecvTimeoutError::Timeout)) {
                match work.step() {
                    Step::On => {}
                    Step::Closed => return,
                    Step::Promoted => {
                        drop(work.applier.take());
                        if left.fetch_sub(1, Ordering::AcqRel) == 1 {
                            promoted();
                        }
                        return;
                    }
                }
            }
        };
        let thread = std::thread::Builder::new()
            .name("standby".into())
            .spawn(run)
            .map_err(|e| PgError::new(SqlState::IO_ERROR, format!("no thread for a standby: {e}")))?;
        self.threads.lock().push((stop, thread));
        Ok(())
    }

    /// What the server is.
    pub fn standby(&self) -> &Arc<Standby> {
        &self.standby
    }

    /// How far each database has come, by its name.
    pub fn known(&self) -> Vec<(String, Arc<Recovery>)> {
        self.known.lock().clone()
    }

    /// Whether no database follows.
    pub fn is_done(&self) -> bool {
        self.left.load(Ordering::Acquire) == 0
    }

    /// Ends all threads, after the changes that they are at.
    pub fn finish(&self) {
        let all: Vec<_> = self.threads.lock().drain(..).collect();
        for (stop, thread) in all {
            // (it may have ended by itself)
            let _ = stop.send(());
            if thread.join().is_err() {
                tracing::error!("the standby's thread has panicked");
            }
        }
    }
}

enum Step {
    On,
    /// the database is closed
    Closed,
    /// it follows no more
    Promoted,
}

struct Work {
    engine: Weak<Engine>,
    database: PathBuf,
    archive: Archive,
    recovery: Arc<Recovery>,
    applier: Option<Applier>,
    /// the last transaction that was applied
    transaction: u64,
    looked: Option<Instant>,
    looked_at_all: Option<Instant>,
    /// how much longer than usual the archive is left alone
    rest: Duration,
    reported: Reported,
}

impl Work {
    fn step(&mut self) -> Step {
        let Some(engine) = self.engine.upgrade() else { return Step::Closed };
        let asked = promotion_file(&self.database);
        if asked.exists() {
            self.recovery.standby.promote();
        }
        let promoted = self.recovery.standby.is_promoted();
        let pauses = self.recovery.standby.pauses();
        self.recovery.is_paused.store(pauses, Ordering::Release);
        if pauses || !promoted && self.looked.is_some_and(|at| at.elapsed() < LOOK + self.rest) {
            return Step::On;
        }
        self.looked = Some(Instant::now());
        let began = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_millis() as i64);
        let done = self.follow(&engine, promoted).and_then(|()| match promoted {
            true => self.promote(&engine, &asked),
            false => Ok(()),
        });
        match done {
            Ok(()) => {
                self.recovery.followed_at.store(began, Ordering::Release);
                self.rest = Duration::ZERO;
                if self.reported.0.take().is_some() {
                    tracing::warn!("the standby \"{}\" follows its archive again", self.database.display());
                }
                if promoted {
                    return Step::Promoted;
                }
            }
            Err(e) => {
                // (what it has written may be half a change: the next one begins anew)
                self.applier = None;
                self.rest = REST;
                self.recovery.failed.fetch_add(1, Ordering::Relaxed);
                let what = if promoted { "is not promoted" } else { "does not follow" };
                self.reported.tell(e.message(), || {
                    tracing::error!("the standby \"{}\" {what}: {}", self.database.display(), e.message());
                });
                if promoted {
                    std::thread::sleep(LOOK);
                }
            }
        }
        Step::On
    }

    /// Applies what is new. `all`: nothing that the archive has is missing afterwards.
    fn follow(&mut self, engine: &Engine, all: bool) -> Result<()> {
        let looks = all || self.looked_at_all.is_none_or(|at| at.elapsed() >= WHOLE_LOOK);
        let entries = follow::newer(&self.archive, self.transaction, looks).map_err(|e| failed(&e))?;
        if looks {
            self.looked_at_all = Some(Instant::now());
        }
        for entry in &entries {
            if self.recovery.standby.pauses() {
                return Ok(());
            }
            let applier = match &mut self.applier {
                Some(applier) => applier,
                None => self.applier.insert(engine.applier()?),
            };
            let mut header = None;
            engine.apply(applier, |change| {
                let read = self.archive.each_page(entry, |_, number, content| {
                    change.page(number, content).map_err(|e| Error::new(e.message()))
                });
                let read = read.map_err(|e| failed(&e))?;
                change.size(read.pages)?;
                header = Some(read);
                Ok(())
            })?;
            let header = header.ok_or_else(|| PgError::internal("a change without a header"))?;
            self.transaction = header.last;
            Kept::Following { transaction: header.last, lsn: header.lsn.1 }.write(&self.database)?;
            self.recovery.applied(header.lsn.1, header.time);
        }
        Ok(())
    }

    /// The database follows no more.
    fn promote(&mut self, engine: &Engine, asked: &Path) -> Result<()> {
        self.applier = None;
        engine.prepare_to_write()?;
        Kept::Promoted.write(&self.database)?;
        match std::fs::remove_file(asked) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(io(asked, &e)),
            _ => Ok(()),
        }
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
        for kept in [Kept::Restoring, Kept::Following { transaction: 0x1f, lsn: 1 << 40 }, Kept::Promoted] {
            kept.write(&database).expect("is written");
            assert_eq!(read(), Some(kept));
        }
        std::fs::write(Kept::path(&database), "following 1").expect("is written");
        assert!(Kept::read(&database).is_err());
    }

    #[test]
    fn a_file_that_no_standby_has_made_is_left_alone() {
        let folder = MemoryFolder::new().expect("a folder");
        let database = folder.file();
        std::fs::write(&database, "").expect("is written");
        let place = Place::Folder(database.with_file_name("archive"));
        let refused = prepare(&database, &place).expect_err("is refused");
        assert_eq!(refused.code(), SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE);
        assert!(leave(&database).is_ok());
        Kept::Restoring.write(&database).expect("is written");
        assert!(leave(&database).is_err(), "half a file");
        Kept::Following { transaction: 3, lsn: 4 }.write(&database).expect("is written");
        assert!(leave(&database).is_ok());
        assert_eq!(Kept::read(&database).expect("is read"), Some(Kept::Promoted));
    }
}
