//! A database that follows a primary over a connection.
//!
//! What the primary sends is applied as it comes; all that has come meanwhile is one transaction. How far the database has come is kept beside it without waiting for the disk. So after a
//! loss of power it may say less than the database has. Therefore the first change after a start is shown only when it leads to where the primary was at that time: the database has nothing
//! that is newer.

use super::conninfo::Conninfo;
use super::primary::{Primary, TICK};
use super::{failed, promotion_file, Kept, Reported, Step, REST};
use bytes::Bytes;
use pgsqlite_engine::engine::Engine;
use pgsqlite_natives::recovery::{Receiver, Recovery};
use pgsqlite_replication::ltx::Reader;
use pgsqlite_replication::restore::receive;
use pgsqlite_replication::stream::{now, FromPrimary, Part, Status};
use pgsqlite_storage::apply::{Applier, Change};
use pgsqlite_storage::stream::Position;
use pgsqlite_types::{PgError, Result, SqlState};
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The primary is told at least so often how far the database has come, and asked whether it is there.
const TELL: Duration = Duration::from_secs(1);
/// A primary that says nothing for so long is given up (PostgreSQL: `wal_receiver_timeout`).
const TIMEOUT: Duration = Duration::from_secs(60);
/// A promotion waits at most so long for what the primary has sent before.
const LAST_CHANGES: Duration = Duration::from_secs(5);
/// Changes of more bytes are kept in a file until they are applied.
const LARGE: usize = 8 << 20;
/// So many bytes of changes are applied as one transaction, unless they must be.
const MOST_TOGETHER: usize = 16 << 20;
/// Between two attempts to connect, at first.
const FIRST_REST: Duration = Duration::from_millis(100);

/// An LTX file that comes.
struct Incoming {
    whole: bool,
    /// it has no content: the database has it already
    moved: bool,
    to: u64,
    position: Position,
    memory: Vec<u8>,
    file: Option<File>,
    length: usize,
}

impl Incoming {
    fn take(&mut self, bytes: &[u8], folder: &Path) -> Result<()> {
        let io =
            |e: std::io::Error| PgError::new(SqlState::IO_ERROR, format!("could not keep what the primary sends: {e}"));
        self.length += bytes.len();
        if let Some(file) = &mut self.file {
            return file.write_all(bytes).map_err(io);
        }
        self.memory.extend_from_slice(bytes);
        if self.memory.len() > LARGE {
            let mut file = crate::feed::nameless(folder).map_err(io)?;
            file.write_all(&std::mem::take(&mut self.memory)).map_err(io)?;
            self.file = Some(file);
        }
        Ok(())
    }

    /// The file, from its beginning on.
    fn reader(&mut self) -> Result<Box<dyn Read + '_>> {
        match &mut self.file {
            None => Ok(Box::new(&self.memory[..])),
            Some(file) => {
                file.seek(SeekFrom::Start(0)).map_err(|e| PgError::new(SqlState::IO_ERROR, e.to_string()))?;
                Ok(Box::new(BufReader::with_capacity(1 << 16, file)))
            }
        }
    }
}

/// A stream from a primary: its messages, put together to files.
struct Link {
    primary: Primary,
    folder: PathBuf,
    coming: Option<Incoming>,
    /// the position of the last file that has come, or of the database
    position: Option<Position>,
    told: Instant,
    heard: Instant,
    /// the primary wants to know how far the database has come
    asked: bool,
    /// where the primary's log ends, when its last message was sent, when it came
    end: u64,
    sent: i64,
    /// when the last keepalive came, before which everything has come
    complete: Option<Instant>,
}

fn wrong(what: &str) -> PgError {
    PgError::new(SqlState::PROTOCOL_VIOLATION, format!("the primary sends {what}"))
}

impl Link {
    fn begin(mut primary: Primary, database: &Path, from: Option<(u64, Position)>) -> Result<Link> {
        primary.begin(from)?;
        let folder = database.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new(".")).to_path_buf();
        let now = Instant::now();
        let position = from.map(|(_, position)| position);
        let (coming, asked, end, sent, complete) = (None, false, 0, 0, None);
        Ok(Link { primary, folder, coming, position, told: now, heard: now, asked, end, sent, complete })
    }

    /// The next file that is complete. None: there is none now.
    fn next(&mut self, waits: bool) -> Result<Option<Incoming>> {
        while let Some(message) = self.primary.next(waits)? {
            if let Some(file) = self.take(&message)? {
                return Ok(Some(file));
            }
        }
        Ok(None)
    }

    fn take(&mut self, message: &Bytes) -> Result<Option<Incoming>> {
        self.heard = Instant::now();
        match FromPrimary::decode(message).map_err(|e| wrong(&format!("something else than changes: {e}")))? {
            FromPrimary::Keepalive { end, sent, reply } => {
                (self.end, self.sent) = (self.end.max(end), sent);
                self.complete = Some(Instant::now());
                self.asked |= reply;
            }
            FromPrimary::Data { end, sent, part, .. } => {
                (self.end, self.sent) = (self.end.max(end), sent);
                match (part, &mut self.coming) {
                    (Part::Begin { whole, to, before, position }, None) => {
                        let leads_on = self.position.is_some_and(|own| own.to_string() == before);
                        if !whole && !leads_on {
                            return Err(wrong("changes that do not follow those that it has sent before"));
                        }
                        let position = Position::parse(position).ok_or_else(|| wrong("a position that is none"))?;
                        let (memory, file, length) = Default::default();
                        self.coming = Some(Incoming { whole, moved: false, to, position, memory, file, length });
                    }
                    (Part::Moved { to, position }, None) => {
                        let own = self.position.filter(|own| own.to_string() == position);
                        let position = own.ok_or_else(|| wrong("the place of another position"))?;
                        let (memory, file, length) = Default::default();
                        return Ok(Some(Incoming { whole: false, moved: true, to, position, memory, file, length }));
                    }
                    (Part::Bytes(bytes), Some(coming)) => coming.take(bytes, &self.folder)?,
                    (Part::End, coming @ Some(_)) => {
                        let file = coming.take();
                        self.position = file.as_ref().map(|file| file.position);
                        return Ok(file);
                    }
                    _ => return Err(wrong("parts of changes in another order")),
                }
            }
        }
        Ok(None)
    }

    /// `written`: all up to there has come.
    fn tell(&mut self, written: u64, applied: u64, reply: bool) -> Result<()> {
        (self.told, self.asked) = (Instant::now(), false);
        self.primary.tell(&Status { written, flushed: applied, applied, sent: now(), reply })
    }
}

/// Makes the file of a database that is not there yet. Returns the place whose state it has.
pub fn restore(conninfo: &Conninfo, name: &str, database: &Path) -> Result<(u64, Position)> {
    let (primary, _) = Primary::connect(conninfo, name, 0)?;
    let mut link = Link::begin(primary, database, None)?;
    loop {
        if let Some(mut file) = link.next(true)? {
            if !file.whole {
                return Err(wrong("changes, and not a copy"));
            }
            let place = (file.to, file.position);
            let mut reader = Reader::new(file.reader()?).map_err(|e| failed(&e))?;
            receive(&mut reader, database).map_err(|e| failed(&e))?;
            return Ok(place);
        }
        if link.told.elapsed() >= TELL {
            link.tell(0, 0, true)?;
        }
        if link.heard.elapsed() >= TIMEOUT {
            return Err(PgError::new(SqlState::CONNECTION_FAILURE, "the primary sends nothing any more"));
        }
        if promotion_file(database).exists() {
            return Err(PgError::new(SqlState::CONNECTION_FAILURE, "the copy of the database is not complete"));
        }
    }
}

/// The work of a database's thread.
pub struct Work {
    pub engine: Weak<Engine>,
    pub database: PathBuf,
    /// what the primary calls it
    pub name: String,
    pub conninfo: Arc<Conninfo>,
    pub recovery: Arc<Recovery>,
    pub lsn: u64,
    /// None: the database needs a copy
    pub position: Option<Position>,
    kept: Option<File>,
    link: Option<Link>,
    /// the server of those that are named that is asked first
    host: usize,
    applier: Option<Applier>,
    /// what has come and is not applied
    ready: Vec<Incoming>,
    /// nothing is shown before the database has come to here
    until: Option<u64>,
    /// something was applied since the start
    begun: bool,
    tried: Option<Instant>,
    rest: Duration,
    reported: Reported,
    promoted_at: Option<Instant>,
}

impl Work {
    /// Of a database that has the state of a place.
    pub fn new(
        engine: &Arc<Engine>,
        database: &Path,
        name: &str,
        conninfo: Arc<Conninfo>,
        recovery: Arc<Recovery>,
        (lsn, position): (u64, Option<Position>),
    ) -> Work {
        Work {
            engine: Arc::downgrade(engine),
            database: database.to_path_buf(),
            name: name.to_string(),
            conninfo,
            recovery,
            lsn,
            position,
            kept: None,
            link: None,
            host: 0,
            applier: None,
            ready: Vec::new(),
            until: None,
            begun: false,
            tried: None,
            rest: Duration::ZERO,
            reported: Reported::default(),
            promoted_at: None,
        }
    }

    /// One look at what has come.
    pub fn step(&mut self) -> Step {
        let Some(engine) = self.engine.upgrade() else { return Step::Closed };
        let asked = promotion_file(&self.database);
        if self.promoted_at.is_none() && asked.exists() {
            self.recovery.standby.promote();
        }
        if self.recovery.standby.is_promoted() {
            return self.promote(&engine, &asked);
        }
        let pauses = self.recovery.standby.pauses();
        self.recovery.is_paused.store(pauses, Ordering::Release);
        let done = match pauses {
            true => self.pause(),
            false => self.follow(&engine, true),
        };
        if let Err(e) = done {
            self.lose(&e);
        }
        Step::On
    }

    /// The connection is of no use any more.
    fn lose(&mut self, e: &PgError) {
        // (what was written may be half a change: the next one begins anew)
        (self.applier, self.link) = (None, None);
        self.ready.clear();
        *self.recovery.receiver.lock() = None;
        self.recovery.failed.fetch_add(1, Ordering::Relaxed);
        self.rest = (self.rest * 2).clamp(FIRST_REST, REST);
        self.tried = Some(Instant::now());
        self.host = (self.host + 1) % self.conninfo.hosts.len().max(1);
        self.reported.tell(e.message(), || {
            tracing::error!("the standby \"{}\" does not follow: {}", self.database.display(), e.message());
        });
    }

    /// Nothing is applied for now. The primary need not know.
    fn pause(&mut self) -> Result<()> {
        std::thread::sleep(TICK);
        let written = self.written();
        match &mut self.link {
            Some(link) if link.told.elapsed() >= TELL => link.tell(written, self.lsn, false),
            _ => Ok(()),
        }
    }

    fn connect(&mut self) -> Result<()> {
        let (mut primary, host) = Primary::connect(&self.conninfo, &self.name, self.host)?;
        self.host = host;
        let identity = primary.identify()?;
        let shown = Receiver {
            began: self.lsn,
            host: primary.host.name.clone(),
            port: primary.host.port,
            conninfo: self.conninfo.shown(Some(&primary.host), &self.name),
            ..Receiver::default()
        };
        let from = self.position.map(|position| (self.lsn, position));
        self.link = Some(Link::begin(primary, &self.database, from)?);
        self.until = (!self.begun).then_some(identity.lsn);
        *self.recovery.receiver.lock() = Some(shown);
        if let Some(link) = &mut self.link {
            link.tell(self.lsn, self.lsn, true)?;
        }
        Ok(())
    }

    /// Takes what has come, and applies it. `waits`: for a moment, if there is nothing.
    fn follow(&mut self, engine: &Engine, waits: bool) -> Result<()> {
        if self.link.is_none() {
            if self.tried.is_some_and(|at| at.elapsed() < self.rest) {
                std::thread::sleep(TICK);
                return Ok(());
            }
            self.connect()?;
        }
        let Some(link) = &mut self.link else { return Ok(()) };
        let mut bytes: usize = self.ready.iter().map(|file| file.length).sum();
        let must = self.until;
        let mut first = waits && (self.ready.is_empty() || must.is_some());
        while bytes < MOST_TOGETHER || must.is_some_and(|until| self.ready.last().is_some_and(|file| file.to < until)) {
            let Some(file) = link.next(first)? else { break };
            first = false;
            bytes += file.length;
            if file.whole {
                self.ready.clear();
            }
            self.ready.push(file);
            // (the primary sends no more than a few that have not come)
            link.asked = true;
        }
        if self.reported.0.take().is_some() {
            tracing::warn!("the standby \"{}\" follows its primary again", self.database.display());
        }
        self.rest = Duration::ZERO;
        let shows = self.ready.last().is_some_and(|file| file.whole || must.is_none_or(|until| file.to >= until));
        if shows {
            self.apply(engine)?;
        }
        self.note()
    }

    fn apply(&mut self, engine: &Engine) -> Result<()> {
        let mut ready = std::mem::take(&mut self.ready);
        let (all_moved, mut time) = (ready.iter().all(|file| file.moved), 0);
        let whole = ready.iter().any(|file| file.whole);
        if whole {
            for file in ready.iter_mut().filter(|file| file.whole) {
                let mut reader = Reader::new(file.reader()?).map_err(|e| failed(&e))?;
                while reader.page().map_err(|e| failed(&e))?.is_some() {}
            }
            // (a copy may be another primary's: until it is known that the database has it, nothing leads on from it)
            let nowhere = Position { frames: u32::MAX, ..Position::default() };
            Kept::Streaming { lsn: self.lsn, position: nowhere }.write(&self.database)?;
            self.kept = None;
        }
        let write = |change: &mut Change<'_>| {
            let mut pages = 0;
            for file in ready.iter_mut().filter(|file| !file.moved) {
                let mut reader = Reader::new(file.reader()?).map_err(|e| failed(&e))?;
                (pages, time) = (reader.header().pages, reader.header().time);
                while let Some((number, content)) = reader.page().map_err(|e| failed(&e))? {
                    change.page(number, content)?;
                }
            }
            change.size(pages)
        };
        if !all_moved {
            let applier = match &mut self.applier {
                Some(applier) => applier,
                None => self.applier.insert(engine.applier()?),
            };
            engine.apply(applier, write)?;
        }
        if let Some(last) = ready.last() {
            (self.lsn, self.position, self.begun, self.until) = (last.to, Some(last.position), true, None);
            self.keep(last.position)?;
            // (another primary may count otherwise)
            self.recovery.replayed.store(self.lsn, Ordering::Release);
            self.recovery.replayed_at.fetch_max(time, Ordering::AcqRel);
            self.recovery.received.store(self.lsn, Ordering::Release);
            if let Some(link) = &mut self.link {
                link.asked = true;
            }
        }
        Ok(())
    }

    /// All up to here has come.
    fn written(&self) -> u64 {
        self.ready.last().map_or(self.lsn, |file| file.to)
    }

    /// Keeps how far the database has come.
    fn keep(&mut self, position: Position) -> Result<()> {
        let kept = Kept::Streaming { lsn: self.lsn, position };
        match &self.kept {
            Some(file) => kept.write_over(file, &self.database),
            None => {
                kept.write(&self.database)?;
                self.kept = Some(Kept::open(&self.database)?);
                Ok(())
            }
        }
    }

    /// Tells the primary, and others, how far the database has come.
    fn note(&mut self) -> Result<()> {
        let written = self.written();
        let Some(link) = &mut self.link else { return Ok(()) };
        let waits = link.told.elapsed() >= TELL;
        if link.asked || waits {
            link.tell(written, self.lsn, waits)?;
        }
        if link.heard.elapsed() >= TIMEOUT {
            return Err(PgError::new(SqlState::CONNECTION_FAILURE, "the primary says nothing any more"));
        }
        if self.ready.is_empty() && link.coming.is_none() && link.sent != 0 {
            if self.begun || self.until.is_none_or(|until| self.lsn >= until) {
                // (it has all that the primary had at the start)
                (self.begun, self.until) = (true, None);
            }
            let elapsed = link.heard.elapsed().as_millis() as i64;
            let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_millis() as i64);
            self.recovery.followed_at.store(now - elapsed, Ordering::Release);
        }
        if let Some(receiver) = self.recovery.receiver.lock().as_mut().filter(|_| link.sent != 0) {
            let came = now() - link.heard.elapsed().as_micros() as i64;
            receiver.message = Some((link.sent, came));
            receiver.end = Some((link.end, came));
        }
        Ok(())
    }

    /// Applies what the primary has sent before, and ends.
    fn promote(&mut self, engine: &Engine, asked: &Path) -> Step {
        let began = *self.promoted_at.get_or_insert_with(Instant::now);
        let complete = match &mut self.link {
            None => true,
            Some(link) => {
                if link.complete.is_none_or(|at| at < began) && link.told.elapsed() >= TICK * 5 {
                    // (what the primary answers comes after all that it has sent)
                    if link.tell(self.lsn, self.lsn, true).is_err() {
                        link.told = Instant::now();
                    }
                }
                link.complete.is_some_and(|at| at >= began) && self.ready.is_empty()
            }
        };
        if !complete && began.elapsed() < LAST_CHANGES {
            if let Err(e) = self.follow(engine, true) {
                self.lose(&e);
            }
            return Step::On;
        }
        (self.link, self.applier) = (None, None);
        self.ready.clear();
        *self.recovery.receiver.lock() = None;
        match super::promoted(engine, &self.database, asked) {
            Ok(()) => Step::Promoted,
            Err(e) => {
                self.reported.tell(e.message(), || {
                    tracing::error!("the standby \"{}\" is not promoted: {}", self.database.display(), e.message());
                });
                std::thread::sleep(REST / 4);
                Step::On
            }
        }
    }

    /// What is kept is on disk.
    pub fn settle(&self) {
        if let Some(Err(e)) = self.kept.as_ref().map(File::sync_all) {
            tracing::warn!("\"{}\": {e}", Kept::path(&self.database).display());
        }
    }
}
