//! Databases that follow an archive, or a primary over a connection (`--standby`).
//!
//! Each has a thread. That of an archive looks for new files twice a second; that of a primary ([`stream`]) waits for what it sends ([`primary`], [`tls`]; [`conninfo`] says where it is). What comes
//! is applied as one transaction while sessions read (`pgsqlite_engine::engine::Engine::apply`). How far the database has come is kept beside it ([`Kept`]), after the change is on disk and before the next one begins:
//! a change that is applied once more changes nothing.
//!
//! A promotion is asked for with pg_promote(), or by a file beside the database (`pgsqlite promote`). Each thread then applies all that the archive has, or that the primary has sent, notes
//! that its database follows no more, and ends. When all have, the server is a primary.

pub mod conninfo;
mod leading;
mod primary;
mod stream;
mod tls;

use crate::failover::Failover;
use crate::kept::{beside, io};
pub use crate::kept::{promotion_file, Kept};
use conninfo::Conninfo;
use parking_lot::Mutex;
use pgsqlite_engine::engine::Engine;
use pgsqlite_natives::recovery::{Recovery, Standby};
use pgsqlite_replication::archive::{pages_of, Archive};
use pgsqlite_replication::ltx::Header;
use pgsqlite_replication::place::Place;
use pgsqlite_replication::restore::{lsn_text, restore, Until};
use pgsqlite_replication::{follow, Error};
use pgsqlite_storage::apply::Applier;
use pgsqlite_storage::files::folder;
use pgsqlite_storage::stream::Position;
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
/// The same, where this process has a node of the cluster that keeps the archive.
const LOOK_IN_CLUSTER: Duration = Duration::from_millis(20);
/// After a failure the archive is left alone for so long.
const REST: Duration = Duration::from_secs(2);
/// Between two looks at files that others stand for.
const WHOLE_LOOK: Duration = Duration::from_secs(15);
/// What comes after the end of an archive, as it was read within this time, is in the files that were written: nothing that old is removed.
const LATELY: Duration = Duration::from_secs(120);
/// An error that comes again is logged so often.
const AGAIN: Duration = Duration::from_secs(60);

/// What a standby follows.
#[derive(Debug, Clone)]
pub enum Source {
    /// an archive, or the folder of archives of all databases
    Archive(Place),
    /// a primary, over a connection
    Primary(Arc<Conninfo>),
}

impl Source {
    /// That of one database.
    fn within(&self, name: &str) -> Result<Source> {
        Ok(match self {
            Source::Archive(place) => Source::Archive(place.within(name).map_err(|e| failed(&e))?),
            Source::Primary(conninfo) => Source::Primary(conninfo.clone()),
        })
    }

    /// The database that it names.
    pub fn named(&self) -> Option<&str> {
        match self {
            Source::Archive(_) => None,
            Source::Primary(conninfo) => conninfo.database.as_deref(),
        }
    }

    /// The databases that there are. Errors: 58030.
    pub fn names(&self) -> Result<Vec<String>> {
        match self {
            Source::Archive(place) => place.names().map_err(|e| failed(&e)),
            Source::Primary(conninfo) => {
                let first = conninfo.database.as_deref().unwrap_or("postgres");
                let connected = primary::Primary::connect(conninfo, first, 0);
                let names = connected.and_then(|(mut primary, _)| primary.databases());
                names.map_err(|e| PgError::new(SqlState::IO_ERROR, e.message().to_string()))
            }
        }
    }
}

fn failed(error: &Error) -> PgError {
    PgError::new(SqlState::IO_ERROR, error.to_string())
}

/// What a file that is about to be opened on a standby is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// It follows an archive from here.
    Following { transaction: u64, lsn: u64 },
    /// It follows a primary from here; without a position it needs a copy.
    Streaming { lsn: u64, position: Option<Position> },
    /// It was promoted before.
    Promoted,
}

/// A database that follows.
pub struct Follows {
    source: Source,
    from: Found,
    name: String,
}

/// Makes the file of a database that is to follow, unless it is there. It waits for an archive that is not there yet, and for an archive or a primary that does not answer. Returns None for one that was promoted.
/// Errors: 55000 for a file that no standby has made.
pub fn prepare(database: &Path, source: &Source, name: &str) -> Result<Option<Follows>> {
    let source = source.within(name)?;
    let from = match found(database, &source, name)? {
        Found::Promoted => return Ok(None),
        from => from,
    };
    Ok(Some(Follows { name: name.to_string(), source, from }))
}

fn found(database: &Path, source: &Source, name: &str) -> Result<Found> {
    let mut reported = Reported::default();
    loop {
        match (database.symlink_metadata().is_ok(), Kept::read(database)?, source) {
            (true, Some(Kept::Promoted | Kept::Leading { .. }), _) => return Ok(Found::Promoted),
            (true, Some(Kept::Following { transaction, lsn }), Source::Archive(_)) => {
                return Ok(Found::Following { transaction, lsn })
            }
            (true, Some(Kept::Following { lsn, .. }), Source::Primary(_)) => {
                return Ok(Found::Streaming { lsn, position: None })
            }
            (true, Some(Kept::Streaming { lsn, position }), Source::Primary(_)) => {
                return Ok(Found::Streaming { lsn, position: Some(position) })
            }
            (true, Some(Kept::Streaming { .. }), Source::Archive(_)) => {
                return Err(PgError::new(
                    SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
                    format!("\"{}\" has followed a primary, and not this archive", database.display()),
                )
                .hint("Move the file and those beside it away. The standby makes it again from the archive."));
            }
            (true, None, _) => {
                return Err(PgError::new(
                    SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
                    format!(
                        "\"{}\" was not made by a standby: it may have what {} has not",
                        database.display(),
                        match source {
                            Source::Archive(_) => "the archive",
                            Source::Primary(_) => "the primary",
                        }
                    ),
                )
                .hint(match source {
                    Source::Archive(_) => {
                        "Move the file and those beside it away. The standby makes it again from the archive."
                    }
                    Source::Primary(_) => {
                        "Move the file and those beside it away. The standby makes it again from the primary."
                    }
                }))
            }
            // what a crash has left
            (true, Some(Kept::Restoring), _) => folder::remove(database)?,
            (false, ..) => {}
        }
        Kept::Restoring.write(database)?;
        folder::remove(&beside(database, ".restoring"))?;
        folder::remove(database)?;
        let restored = match source {
            Source::Archive(place) => restore(&Archive::reader(place.clone()), database, Until::Now)
                .map(|state| Kept::Following { transaction: state.transaction, lsn: state.lsn })
                .map_err(|e| failed(&e)),
            Source::Primary(conninfo) => {
                stream::restore(conninfo, name, database).map(|(lsn, position)| Kept::Streaming { lsn, position })
            }
        };
        match restored {
            Ok(kept) => {
                kept.write(database)?;
                if let Kept::Following { lsn, .. } | Kept::Streaming { lsn, .. } = kept {
                    tracing::info!("\"{}\" was restored: {}", database.display(), lsn_text(lsn));
                }
            }
            Err(e) => {
                reported.tell(e.message(), || {
                    let source = match source {
                        Source::Archive(_) => "archive",
                        Source::Primary(_) => "primary",
                    };
                    tracing::warn!("\"{}\" waits for its {source}: {}", database.display(), e.message());
                });
                if promotion_file(database).exists() {
                    return Err(e);
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

/// The names of the databases of a folder that follow. Errors: as [`Kept::read`].
pub fn followers(folder: &Path) -> Result<Vec<String>> {
    let follow = |(name, kept)| matches!(kept, Kept::Following { .. } | Kept::Streaming { .. }).then_some(name);
    Ok(kept_in(folder)?.into_iter().filter_map(follow).collect())
}

/// A file of a standby that is about to be opened by a server that is none: from now on it follows nothing. Errors: 55000 for one that is not complete.
pub fn leave(database: &Path) -> Result<()> {
    match Kept::read(database)? {
        None | Some(Kept::Promoted) => Ok(()),
        Some(Kept::Leading { .. }) => Kept::Promoted.write(database),
        Some(Kept::Restoring) => Err(PgError::new(
            SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
            format!("\"{}\" is not complete: it was being restored for a standby", database.display()),
        )
        .hint("Start the server with --standby, or remove the file.")),
        Some(Kept::Following { lsn, .. } | Kept::Streaming { lsn, .. }) => {
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
    /// a lease decides who is the primary
    failover: Option<Arc<Failover>>,
}

impl Followers {
    /// None yet, of this server.
    pub fn new(standby: Arc<Standby>, failover: Option<Arc<Failover>>) -> Followers {
        Followers { standby, left: Arc::default(), threads: Mutex::default(), known: Mutex::default(), failover }
    }

    /// Has a database follow. `promoted` is called when the last database of the server follows no more.
    pub fn begin(
        &self,
        engine: &Arc<Engine>,
        database: &Path,
        follows: Follows,
        promoted: impl FnOnce() + Send + 'static,
    ) -> Result<()> {
        let recovery = engine.recovery().cloned().ok_or_else(|| PgError::internal("no standby's engine"))?;
        self.known.lock().push((engine.catalog().database.clone(), recovery.clone()));
        let Follows { source, from, name } = follows;
        match (source, from) {
            (Source::Archive(place), Found::Following { transaction, lsn }) => {
                recovery.applied(lsn, 0);
                let work = Work {
                    engine: Arc::downgrade(engine),
                    database: database.to_path_buf(),
                    archive: Archive::reader(place),
                    failover: self.failover.clone(),
                    at_end: None,
                    recovery,
                    applier: None,
                    transaction,
                    looked: None,
                    time: 0,
                    looked_at_all: None,
                    rest: Duration::ZERO,
                    reported: Reported::default(),
                };
                let in_cluster = self.failover.as_ref().is_some_and(|failover| failover.is_in_cluster());
                let tick = if in_cluster { LOOK_IN_CLUSTER } else { TICK };
                self.spawn(work, tick, Work::step, |_| {}, promoted)?;
                if let Some(failover) = &self.failover {
                    failover.take();
                }
                Ok(())
            }
            (Source::Primary(conninfo), Found::Streaming { lsn, position }) => {
                recovery.applied(lsn, 0);
                let work = stream::Work::new(engine, database, &name, conninfo, recovery, (lsn, position));
                // (it waits at the socket)
                self.spawn(work, Duration::ZERO, stream::Work::step, stream::Work::settle, promoted)
            }
            _ => Err(PgError::internal("a standby follows something else than it was prepared for")),
        }
    }

    /// Starts the thread of a database. `pause`: between two steps; `ends`: after the last one.
    fn spawn<W: Send + 'static>(
        &self,
        mut work: W,
        pause: Duration,
        step: impl Fn(&mut W) -> Step + Send + 'static,
        ends: impl Fn(&W) + Send + 'static,
        promoted: impl FnOnce() + Send + 'static,
    ) -> Result<()> {
        let (stop, stopped) = channel();
        let left = self.left.clone();
        left.fetch_add(1, Ordering::AcqRel);
        let run = move || {
            while matches!(stopped.recv_timeout(pause), Err(RecvTimeoutError::Timeout)) {
                match step(&mut work) {
                    Step::On => {}
                    Step::Closed => return,
                    Step::Promoted => {
                        drop(work);
                        if left.fetch_sub(1, Ordering::AcqRel) == 1 {
                            promoted();
                        }
                        return;
                    }
                }
            }
            ends(&work);
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
    failover: Option<Arc<Failover>>,
    /// when the archive was read to its end last
    at_end: Option<SystemTime>,
    recovery: Arc<Recovery>,
    applier: Option<Applier>,
    /// the last transaction that was applied
    transaction: u64,
    looked: Option<Instant>,
    looked_at_all: Option<Instant>,
    /// when the last transaction was committed
    time: i64,
    /// how much longer than usual the archive is left alone
    rest: Duration,
    reported: Reported,
}

impl Work {
    fn step(&mut self) -> Step {
        let Some(engine) = self.engine.upgrade() else { return Step::Closed };
        let asked = promotion_file(&self.database);
        if asked.exists() && self.failover.is_some() {
            let database = self.database.display();
            tracing::error!("\"{database}\" is not promoted: a lease decides which server is the primary");
            if let Err(e) = forget(&asked) {
                tracing::error!("{}", e.message());
            }
        } else if asked.exists() {
            self.recovery.standby.promote();
        }
        let promoted = self.recovery.standby.is_promoted();
        let pauses = self.recovery.standby.pauses();
        let in_cluster = self.failover.as_ref().is_some_and(|failover| failover.is_in_cluster());
        let look = if in_cluster { LOOK_IN_CLUSTER } else { LOOK };
        self.recovery.is_paused.store(pauses, Ordering::Release);
        if pauses || !promoted && self.looked.is_some_and(|at| at.elapsed() < look + self.rest) {
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
        let began = SystemTime::now();
        // (a clock that was set back says nothing)
        let lately = self.at_end.is_some_and(|at| began.duration_since(at).is_ok_and(|age| age < LATELY));
        // (where a lease decides, nobody else removes anything)
        let looks = looks && !(lately && self.failover.is_some());
        let entries = follow::newer(&self.archive, self.transaction, looks, lately).map_err(|e| failed(&e))?;
        if looks {
            self.looked_at_all = Some(Instant::now());
        }
        let mut left = &entries[..];
        while !left.is_empty() {
            if self.recovery.standby.pauses() {
                return Ok(());
            }
            let applier = match &mut self.applier {
                Some(applier) => applier,
                None => self.applier.insert(engine.applier()?),
            };
            let readers = self.archive.read_first(left).map_err(|e| failed(&e))?;
            let (these, others) = left.split_at(readers.len());
            let mut header = None;
            // (what follows each other leads to a state that the primary had, too)
            engine.apply(applier, |change| {
                for (mut reader, entry) in readers.into_iter().zip(these) {
                    let mut page = |_: &Header, number, content: &[u8]| {
                        change.page(number, content).map_err(|e| Error::new(e.message()))
                    };
                    header = Some(pages_of(&mut reader, entry, &mut page).map_err(|e| failed(&e))?);
                }
                change.size(header.as_ref().map_or(0, |header| header.pages))
            })?;
            left = others;
            let header = header.ok_or_else(|| PgError::internal("a change without a header"))?;
            self.transaction = header.last;
            Kept::Following { transaction: header.last, lsn: header.lsn.1 }.write(&self.database)?;
            self.recovery.applied(header.lsn.1, header.time);
            self.time = header.time;
        }
        self.at_end = Some(began);
        Ok(())
    }

    /// The database follows no more.
    fn promote(&mut self, engine: &Engine, asked: &Path) -> Result<()> {
        if let Some(failover) = self.failover.clone() {
            self.begin_to_lead(engine, &failover)?;
            self.applier = None;
            engine.prepare_to_write()?;
            return failover.keep();
        }
        self.applier = None;
        promoted(engine, &self.database, asked)
    }
}

/// A database that nothing is applied to any more is a primary's from now on. `asked`: the file that may have asked for it.
fn promoted(engine: &Engine, database: &Path, asked: &Path) -> Result<()> {
    engine.prepare_to_write()?;
    Kept::Promoted.write(database)?;
    forget(asked)
}

/// What this file asks for is done, or will not be.
fn forget(asked: &Path) -> Result<()> {
    match std::fs::remove_file(asked) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(io(asked, &e)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pgsqlite_storage::in_memory::MemoryFolder;

    #[test]
    fn a_file_that_no_standby_has_made_is_left_alone() {
        let folder = MemoryFolder::new().expect("a folder");
        let database = folder.file();
        std::fs::write(&database, "").expect("is written");
        let place = Source::Archive(Place::Folder(database.with_file_name("archive")));
        let refused = prepare(&database, &place, "main").err().expect("is refused");
        assert_eq!(refused.code(), SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE);
        assert!(leave(&database).is_ok());
        Kept::Restoring.write(&database).expect("is written");
        assert!(leave(&database).is_err(), "half a file");
        Kept::Following { transaction: 3, lsn: 4 }.write(&database).expect("is written");
        assert!(leave(&database).is_ok());
        assert_eq!(Kept::read(&database).expect("is read"), Some(Kept::Promoted));
    }
}
