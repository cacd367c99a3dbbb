//! What is committed to a database, for the standbys that follow it over connections (`--max-wal-senders`).
//!
//! Each open database has a [`Feed`] with a thread. While a standby waits for more, the thread takes what has been committed from the write-ahead log
//! (`pgsqlite_storage::stream`), as one LTX file. The last files are kept, up to `--wal-keep-size`, for standbys that are slow or were away for a while. One that is further behind reads from
//! the log what is still there, or gets a copy of the whole database. So nobody waits for a standby.
//!
//! Without an archive the feed is also the one who has the log begin anew, after it has read all of it, and who counts places in the log. What is needed to go on after a restart
//! is kept in a file beside the database ([`Kept`]).

mod changes;
mod kept;

pub use changes::{nameless, Changes};
pub use kept::Kept;
use parking_lot::Mutex;
use pgsqlite_engine::engine::Engine;
use pgsqlite_natives::statistics::LogPlace;
use pgsqlite_replication::ltx::FIRST_LSN;
use pgsqlite_storage::stream::{Batch, Next, Position, Stream};
use pgsqlite_types::{PgError, Result, SqlState};
use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{channel, RecvTimeoutError, Sender};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio::sync::watch;

/// Between two looks at the log: while it changes, and when it has not changed for a while.
const SHORT_PAUSE: Duration = Duration::from_millis(1);
const LONG_PAUSE: Duration = Duration::from_millis(8);
/// … and while no standby is connected.
const IDLE_PAUSE: Duration = Duration::from_millis(200);
/// After a change the next one is looked for at once for so long.
const BUSY: Duration = Duration::from_millis(200);
/// From this length on the log is written back.
const LONG: u64 = 4 << 20;
/// From this length on readers are waited for, in the writer's slot, so that the log begins anew; for so long.
const VERY_LONG: u64 = 64 << 20;
const PATIENCE: Duration = Duration::from_millis(200);
/// Between two attempts.
const TRY_AGAIN: Duration = Duration::from_millis(250);
/// Between two times that the place is kept.
const AGAIN: Duration = Duration::from_secs(1);
/// More bytes than that are not taken while others wait to write.
const LARGE: u64 = 8 << 20;
/// So many bytes of changes are put together for a standby that has missed several of them.
const MOST_TOGETHER: usize = 16 << 20;
/// An error that comes again is logged so often.
const REPEATED: Duration = Duration::from_secs(60);

fn failed(message: &str) -> PgError {
    PgError::new(SqlState::IO_ERROR, message.to_string())
}

/// What a standby is sent next.
pub enum Following {
    /// These changes lead on.
    Changes(Arc<Changes>),
    /// It has everything: its position is that of this place.
    Nothing(u64),
    /// What leads on is there no more: it needs a copy.
    Gone,
}

/// A copy of the whole database, to be read page by page.
pub struct Copy {
    pub batch: Batch,
    /// the place whose state it has
    pub lsn: u64,
    pub position: Position,
}

/// What is known to others. It is locked for moments only.
struct State {
    /// what leads up to here is in `kept`, or was read before
    position: Option<Position>,
    lsn: u64,
    kept: VecDeque<Arc<Changes>>,
    bytes: u64,
    identifier: u64,
    /// the place in the log is known
    is_counted: bool,
    /// what the file beside the database says, and since when
    written: Option<(Kept, Instant)>,
    /// where places have jumped to last
    jumped: Option<Kept>,
    changed: Instant,
}

impl State {
    /// Keeps nothing of before.
    fn forget(&mut self) {
        self.kept.clear();
        self.bytes = 0;
    }
}

/// What is committed to one database.
pub struct Feed {
    engine: Weak<Engine>,
    name: String,
    database: PathBuf,
    /// so many bytes of changes are kept
    keep: u64,
    /// an archive counts places in the log, and has the log begin anew
    archived: bool,
    /// reads the log; locked while changes are taken from it, before the state is
    stream: Mutex<Stream>,
    state: Mutex<State>,
    /// how often there was something new
    grown: watch::Sender<u64>,
    /// standbys that have everything
    waiting: AtomicUsize,
    /// connected standbys
    senders: AtomicUsize,
    /// how often they were asked to leave the database
    asked_to_leave: AtomicU64,
}

/// One of a feed's standbys, as long as it is connected.
pub struct Connected(Arc<Feed>);

impl Drop for Connected {
    fn drop(&mut self) {
        self.0.senders.fetch_sub(1, Ordering::AcqRel);
    }
}

/// A standby waits for more, until this is dropped.
pub struct Waiting<'f>(&'f Feed);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::AcqRel);
    }
}

/// The milliseconds since 1970.
pub fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_millis() as i64)
}

/// The place of a position, which is in the same beginning of the log as a place that is known, or in the next one.
fn place_of(known: LogPlace, position: Position, frame_bytes: u64) -> u64 {
    let frames = u64::from(position.frames) * frame_bytes;
    match position.salt == known.salt {
        true => (known.lsn + frames).saturating_sub(u64::from(known.frames) * frame_bytes),
        // (a log begins anew after all of it was read)
        false => known.lsn + frames,
    }
}

impl Feed {
    fn folder(&self) -> &Path {
        self.database.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."))
    }

    /// The number that IDENTIFY_SYSTEM tells.
    pub fn identifier(&self) -> u64 {
        self.state.lock().identifier
    }

    /// A standby has come.
    pub fn connect(self: &Arc<Self>) -> Connected {
        self.senders.fetch_add(1, Ordering::AcqRel);
        Connected(self.clone())
    }

    /// How often the connected standbys were asked to leave the database, because it is about to close.
    pub fn asked_to_leave(&self) -> u64 {
        self.asked_to_leave.load(Ordering::Acquire)
    }

    /// A standby waits for more than it has.
    pub fn wait(&self) -> Waiting<'_> {
        self.waiting.fetch_add(1, Ordering::AcqRel);
        Waiting(self)
    }

    /// Tells when there is more.
    pub fn subscribe(&self) -> watch::Receiver<u64> {
        self.grown.subscribe()
    }

    /// Begins with the log, where this is possible. Errors: 58030.
    fn begin(&self, engine: &Engine, stream: &mut Stream) -> Result<()> {
        let known = Kept::read(&self.database)?;
        let kept = match known {
            Some(kept) => {
                // (whether the log is the one of then is asked when it is read)
                *stream = engine.stream(Some(kept.position));
                kept
            }
            None => {
                let Some(position) = stream.begin_here()? else { return Ok(()) };
                // (a standby that was promoted goes on behind its primary's places)
                let replayed = engine.recovery().map_or(0, |recovery| recovery.replayed.load(Ordering::Acquire));
                let lsn = if replayed > 0 { ((replayed >> 32) + 1) << 32 } else { FIRST_LSN };
                let random = getrandom::u64();
                let identifier = random.map_err(|e| PgError::no_resources(format!("no random numbers: {e}")))?;
                let kept = Kept { identifier, lsn, position };
                kept.write(&self.database, true)?;
                kept
            }
        };
        let mut state = self.state.lock();
        (state.position, state.lsn, state.identifier) = (Some(kept.position), kept.lsn, kept.identifier);
        state.written = Some((kept, Instant::now()));
        Ok(())
    }

    /// Takes what has been committed. Errors: 58030.
    pub fn take(&self, engine: &Engine) -> Result<()> {
        // (a change that is larger than all that is kept is for nobody, if nobody is there)
        let nobody = self.senders.load(Ordering::Acquire) == 0;
        self.advance(engine, !nobody || self.pending(engine) <= self.keep)
    }

    /// As [`Feed::take`], in the writer's slot, in which others wait. False: there is too much of it, which is to be taken outside; nothing was done. If the log is too long for that, it is
    /// skipped, and the standbys need new copies.
    pub fn take_in_slot(&self, engine: &Engine) -> Result<bool> {
        match self.pending(engine) <= LARGE {
            true => self.advance(engine, true)?,
            false if self.is_far_behind(engine) => self.advance(engine, false)?,
            false => return Ok(false),
        }
        Ok(true)
    }

    /// Whether the log is so long that it has to begin anew whatever becomes of the standbys.
    fn is_far_behind(&self, engine: &Engine) -> bool {
        engine.log_bytes_after(Position::default()) > VERY_LONG.max(self.keep) * 4
    }

    /// How many bytes of the log have not been taken.
    fn pending(&self, engine: &Engine) -> u64 {
        let position = self.state.lock().position.unwrap_or_default();
        engine.log_bytes_after(position)
    }

    /// Takes what has been committed. `keeps`: for the standbys; else those that have not got it need a copy.
    fn advance(&self, engine: &Engine, keeps: bool) -> Result<()> {
        let mut stream = self.stream.lock();
        if self.state.lock().position.is_none() {
            self.begin(engine, &mut stream)?;
        }
        let (before, from) = {
            let state = self.state.lock();
            let Some(before) = state.position else { return Ok(()) };
            (before, state.lsn)
        };
        // (nobody counts on meanwhile)
        let mut counted = engine.archive_counters().archive_place.lock();
        if self.archived && counted.flatten().is_none() {
            return Ok(());
        }
        let (mut position, mut to) = (before, from);
        let (mut batch, mut lost) = (None, None);
        match stream.advance()? {
            Next::Nothing => {}
            Next::Batch(next) => {
                (position, to) = (next.position, from + next.bytes);
                batch = Some(next);
            }
            Next::Lost(why) => {
                let Some(here) = stream.begin_here()? else { return Ok(()) };
                // (behind every place that anybody may have been told, also after a crash right now)
                (position, to) = (here, ((from >> 32) + 2) << 32);
                if !self.archived {
                    self.jumps(to, position)?;
                }
                lost = Some(why);
            }
        }
        let Position { salt, frames, .. } = position;
        match (self.archived, counted.flatten()) {
            (true, Some(place)) => to = place_of(place, position, engine.frame_bytes()),
            _ => *counted = Some(Some(LogPlace { lsn: to, salt, frames })),
        }
        drop(counted);
        let is_new = batch.is_some() || lost.is_some();
        let skipped = !keeps && batch.is_some();
        let changes =
            batch.filter(|_| keeps).map(|batch| Changes::of(&batch, (from, to.max(from + 1)), before, self.folder()));
        let mut state = self.state.lock();
        (state.position, state.lsn, state.is_counted) = (Some(position), to, true);
        if let Some(why) = lost {
            if self.senders.load(Ordering::Acquire) > 0 {
                tracing::warn!("the standbys of database \"{}\" need new copies: {why}", self.name);
            }
            state.forget();
        }
        if skipped {
            if self.senders.load(Ordering::Acquire) > 0 {
                let name = &self.name;
                tracing::warn!(
                    "the standbys of database \"{name}\" need new copies: more is written than can be kept for them"
                );
            }
            state.forget();
        }
        let changes = match changes.transpose() {
            Ok(changes) => changes,
            Err(e) => {
                // (what is kept leads nowhere now)
                state.forget();
                return Err(e);
            }
        };
        if let Some(changes) = changes {
            state.bytes += changes.length;
            state.kept.push_back(Arc::new(changes));
            while state.bytes > self.keep && state.kept.len() > 1 {
                state.bytes -= state.kept.pop_front().map_or(0, |changes| changes.length);
            }
        }
        if is_new {
            state.changed = Instant::now();
            drop(state);
            self.grown.send_modify(|n| *n += 1);
        }
        Ok(())
    }

    /// Places in the log are about to go on from here, further on than the log has grown. To be called before anybody is told of them: after a crash they never go back.
    pub fn jumps(&self, lsn: u64, position: Position) -> Result<()> {
        let mut state = self.state.lock();
        let kept = Kept { identifier: state.identifier, lsn, position };
        kept.write(&self.database, true)?;
        (state.jumped, state.written) = (Some(kept), Some((kept, Instant::now())));
        Ok(())
    }

    /// The place of a position of the archive, which was counted from the beginning of its files: not before those that were told of before a crash. None of them are known before.
    pub fn not_before(&self, engine: &Engine, lsn: u64, position: Option<Position>) -> Result<u64> {
        let Some(kept) = Kept::read(&self.database)? else { return Ok(lsn) };
        let expected = match position {
            Some(Position { salt, frames, .. }) => {
                place_of(LogPlace { lsn, salt, frames }, kept.position, engine.frame_bytes())
            }
            None => lsn,
        };
        Ok(lsn + kept.lsn.saturating_sub(expected))
    }

    /// Where the log is, as far as it was read: not before all that was sent to anybody. Errors: 55000 while that is not known.
    pub fn place(&self, engine: &Engine) -> Result<(u64, Position)> {
        if !self.state.lock().is_counted {
            self.take(engine)?;
        }
        let state = self.state.lock();
        state.position.filter(|_| state.is_counted).map(|position| (state.lsn, position)).ok_or_else(|| {
            let message = "the place in the log is not known yet";
            PgError::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
        })
    }

    /// What leads on from here. Errors: 58030.
    pub fn after(&self, engine: &Engine, from: u64, position: Position) -> Result<Following> {
        let (end, to, found, is_last) = {
            let state = self.state.lock();
            let Some(end) = state.position else { return Ok(Following::Gone) };
            if end == position {
                return Ok(Following::Nothing(state.lsn));
            }
            if end.salt == position.salt && end.frames < position.frames {
                // (a copy that is newer than what was taken)
                return Ok(Following::Nothing(from));
            }
            let at = state.kept.iter().position(|changes| changes.before == position);
            let found = at.map(|at| state.kept[at].clone());
            (end, state.lsn, found, at.is_some_and(|at| at + 1 == state.kept.len()))
        };
        // (several of them are put together, if they are in the log still)
        let together = match is_last {
            true => None,
            false => self.from_log(engine, (from, to), (position, end), found.is_some())?,
        };
        Ok(together.map(Arc::new).or(found).map_or(Following::Gone, Following::Changes))
    }

    /// What the log has between two positions. `few`: no more than is put together. None: the log has begun anew.
    fn from_log(
        &self,
        engine: &Engine,
        (from, to): (u64, u64),
        (position, end): (Position, Position),
        few: bool,
    ) -> Result<Option<Changes>> {
        let read = || {
            let Some(mut batch) = engine.stream_between(position, end)? else { return Ok(None) };
            match batch.keep(MOST_TOGETHER)? || !few {
                true => Changes::of(&batch, (from, to.max(from + 1)), position, self.folder()).map(Some),
                false => Ok(None),
            }
        };
        match read() {
            Err(e) if e.code() == SqlState::DATA_CORRUPTED => Ok(None),
            read => read,
        }
    }

    /// A copy of the whole database as it is now. It may be ahead of the feed. What comes after it is in the log as long as the copy is not dropped. It waits for who writes: not to be called on
    /// a thread with other tasks.
    pub fn copy(&self, engine: &Engine) -> Result<Copy> {
        engine.while_nobody_writes(|| {
            let batch = engine.stream(None).whole()?;
            let position = batch.position;
            let lsn = engine.archive_counters().archive_place.lock().flatten();
            let lsn = lsn.ok_or_else(|| PgError::internal("a copy before the place in the log is known"))?;
            Ok(Copy { lsn: place_of(lsn, position, engine.frame_bytes()), position, batch })
        })?
    }

    /// One look. `ends`: it is the last one.
    fn step(&self, engine: &Engine, tried: &mut Option<Instant>, ends: bool) -> Result<()> {
        let log = || engine.log_bytes_after(Position::default());
        if ends || self.waiting.load(Ordering::Acquire) > 0 || log() > LONG || self.state.lock().position.is_none() {
            self.take(engine)?;
        }
        self.keep_place(ends)?;
        if self.archived || ends || log() <= LONG || tried.is_some_and(|at| at.elapsed() < TRY_AGAIN) {
            return Ok(());
        }
        let began = Instant::now();
        let done = engine.while_nobody_writes(|| {
            if !self.take_in_slot(engine)? {
                return Ok(false);
            }
            self.keep_place(true)?;
            let length = log();
            loop {
                if self.stream.lock().write_back()? {
                    return Ok::<_, PgError>(true);
                }
                if length <= VERY_LONG || began.elapsed() >= PATIENCE {
                    return Ok(false);
                }
                std::thread::sleep(Duration::from_millis(2));
            }
        })??;
        *tried = (!done).then(Instant::now);
        Ok(())
    }

    /// Keeps how far the log was read, if that is not kept. `for_good`: now, and on disk.
    fn keep_place(&self, for_good: bool) -> Result<()> {
        let mut state = self.state.lock();
        let Some(position) = state.position else { return Ok(()) };
        let kept = match state.jumped {
            // (what was read before the places have jumped)
            Some(jumped) if jumped.lsn > state.lsn => return Ok(()),
            _ => Kept { identifier: state.identifier, lsn: state.lsn, position },
        };
        let due = match &state.written {
            None => true,
            Some((written, at)) => {
                let another_log = written.position.salt != position.salt;
                *written != kept && (for_good || another_log || at.elapsed() >= AGAIN)
            }
        };
        if due {
            kept.write(&self.database, for_good)?;
            state.written = Some((kept, Instant::now()));
        }
        Ok(())
    }

    fn pause(&self) -> Duration {
        match (self.senders.load(Ordering::Acquire), self.state.lock().changed.elapsed() < BUSY) {
            (0, _) => IDLE_PAUSE,
            (_, true) => SHORT_PAUSE,
            (_, false) => LONG_PAUSE,
        }
    }
}

/// A feed with its thread.
struct Running {
    feed: Arc<Feed>,
    stop: Sender<()>,
    thread: JoinHandle<()>,
}

/// The feeds of a server's databases, by name.
#[derive(Default)]
pub struct Feeds(Mutex<HashMap<String, Running>>);

impl Feeds {
    /// Begins with a database that was opened. `keep`: how many bytes of changes are kept; `archived`: the database has an archive.
    pub fn begin(
        &self,
        engine: &Arc<Engine>,
        database: &Path,
        name: &str,
        keep: u64,
        archived: bool,
    ) -> Result<Arc<Feed>> {
        self.end(name);
        let state = State {
            position: None,
            lsn: FIRST_LSN,
            kept: VecDeque::new(),
            bytes: 0,
            identifier: 0,
            is_counted: false,
            written: None,
            jumped: None,
            changed: Instant::now(),
        };
        let feed = Arc::new(Feed {
            engine: Arc::downgrade(engine),
            name: name.to_string(),
            database: database.to_path_buf(),
            keep,
            archived,
            stream: Mutex::new(engine.stream(None)),
            state: Mutex::new(state),
            grown: watch::Sender::new(0),
            waiting: AtomicUsize::new(0),
            senders: AtomicUsize::new(0),
            asked_to_leave: AtomicU64::new(0),
        });
        if !archived {
            *engine.archive_counters().archive_place.lock() = Some(None);
        }
        // (a session that asks for the place gets an answer from the start)
        feed.take(engine)?;
        let (stop, stopped) = channel();
        let own = feed.clone();
        let run = move || {
            let (mut tried, mut reported) = (None, None::<(String, Instant)>);
            loop {
                let ends = !matches!(stopped.recv_timeout(own.pause()), Err(RecvTimeoutError::Timeout));
                let Some(engine) = own.engine.upgrade() else { return };
                if let Err(e) = own.step(&engine, &mut tried, ends) {
                    if !reported.as_ref().is_some_and(|(m, at)| m == e.message() && at.elapsed() < REPEATED) {
                        let name = &own.name;
                        tracing::error!(
                            "the changes of database \"{name}\" cannot be read for standbys: {}",
                            e.message()
                        );
                        reported = Some((e.message().to_string(), Instant::now()));
                    }
                    std::thread::sleep(IDLE_PAUSE);
                }
                if ends {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new()
            .name("feed".into())
            .spawn(run)
            .map_err(|e| failed(&format!("no thread for standbys: {e}")))?;
        self.0.lock().insert(name.to_string(), Running { feed: feed.clone(), stop, thread });
        Ok(feed)
    }

    /// That of a database. None: it is not open, or has none.
    pub fn of(&self, name: &str) -> Option<Arc<Feed>> {
        self.0.lock().get(name).map(|running| running.feed.clone())
    }

    /// Asks the standbys of a database to leave it.
    pub fn ask_to_leave(&self, name: &str) {
        if let Some(feed) = self.of(name) {
            feed.asked_to_leave.fetch_add(1, Ordering::AcqRel);
            feed.grown.send_modify(|n| *n += 1);
        }
    }

    /// Ends that of a database that is about to close.
    pub fn end(&self, name: &str) {
        let running = self.0.lock().remove(name);
        running.into_iter().for_each(Running::finish);
    }

    /// Ends all of them.
    pub fn finish(&self) {
        let all: Vec<Running> = self.0.lock().drain().map(|(_, running)| running).collect();
        all.into_iter().for_each(Running::finish);
    }
}

impl Running {
    fn finish(self) {
        // (it may have ended by itself)
        let _ = self.stop.send(());
        if self.thread.join().is_err() {
            tracing::error!("the thread for standbys has panicked");
        }
    }
}
