//! Copies of each database's changes, written while it is served (`--archive`).
//!
//! Each open database has a thread. About each second it takes what has been committed since (`pgsqlite_storage::stream`), and writes it as one file
//! of an archive (`pgsqlite_replication`). Nobody waits for it. It is also the one who has the log begin anew, after it has read all of it.
//!
//! How far it has come is kept with the archive ([`Archive::publish`]). If that is not a place in the log any more, because the server was used without an archive or the
//! file was replaced, it goes on with the whole database.
//!
//! Where servers share the archive (`crate::failover`), each group of commits waits for the thread: it is asked right after the log's sync, and answers when what was committed is in the archive and the
//! server has its lease still.
//!
//! A file is made on this machine and then published. If that fails, the same file is published again, with growing pauses, until the archive has it: a bucket that
//! does not answer may have it or not. Nothing else is taken from the log before.

mod leading;

use crate::failover::{unknown, Failover};
use crate::feed::Feed;
use parking_lot::Mutex;
use pgsqlite_engine::engine::Engine;
use pgsqlite_engine::writer::Replicator;
use pgsqlite_natives::statistics::{add, LogPlace};
use pgsqlite_replication::archive::{Archive, Made, Published};
use pgsqlite_replication::failover::node::Verdict;
use pgsqlite_replication::levels::{tidy, Policy};
use pgsqlite_replication::ltx::{Header, FIRST_LSN};
use pgsqlite_replication::place::Place;
use pgsqlite_storage::stream::{Batch, Next, Position, Stream};
use pgsqlite_types::{PgError, Result, SqlState};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{channel, RecvTimeoutError, Sender};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// So long a commit waits for the next file.
const PAUSE: Duration = Duration::from_secs(1);
/// After failures a bucket is left alone for so long at most.
const LONGEST_PAUSE: Duration = Duration::from_secs(15);
/// From this length on the log is written back.
const LONG: u64 = 4 << 20;
/// From this length on readers are waited for, in the writer's slot, so that the log begins anew.
const VERY_LONG: u64 = 64 << 20;
/// So long they are waited for.
const PATIENCE: Duration = Duration::from_millis(200);
/// So many bytes are kept in memory until the slot is free.
const MOST_KEPT: usize = 32 << 20;
/// An error that comes again is logged so often.
const AGAIN: Duration = Duration::from_secs(60);
/// Between two looks at what is to be put together or removed.
const TIDY: Duration = Duration::from_secs(10);
/// Before the first look. (What an earlier process has left is read more quickly after it.)
const FIRST_TIDY: Duration = Duration::from_secs(2);

/// With a lease nothing is removed earlier after it was taken, whatever other machines' clocks have said.
const SETTLED: Duration = Duration::from_secs(5 * 60);
/// With a lease an entry that cannot be made is tried again for so long. The lease is given up then.
const LONGEST_FAILURE: Duration = Duration::from_secs(30);

/// What the thread is asked for.
enum Ask {
    /// All that is committed is to be in the archive.
    Ship(Sender<Result<()>>),
    /// Nobody writes until this is done: the log may begin anew. None: that cannot be had.
    Anew(Option<Sender<()>>),
    /// … and the thread is to end.
    Stop,
}

/// The thread of one database.
pub struct Archiver {
    asks: Sender<Ask>,
    thread: JoinHandle<()>,
}

/// Brings commits to the archive before they are acknowledged.
struct Ships {
    asks: Mutex<Sender<Ask>>,
    failover: Arc<Failover>,
}

impl Replicator for Ships {
    fn replicate(&self) -> Result<()> {
        let (answer, answered) = channel();
        self.asks.lock().send(Ask::Ship(answer)).map_err(|_| unknown())?;
        answered.recv().map_err(|_| unknown())?
    }

    fn leads(&self) -> bool {
        self.failover.leads()
    }
}

impl Archiver {
    /// Starts the thread of a database whose log is left. `place`: where its archive is.
    pub fn start(
        engine: &Arc<Engine>,
        place: Place,
        name: &str,
        policy: Policy,
        feed: Option<Arc<Feed>>,
        failover: Option<Arc<Failover>>,
    ) -> Result<Archiver> {
        let archive = Archive::make(place).map_err(|e| failed(&e.to_string()))?;
        let lock = archive.lock().map_err(|e| failed(&e.to_string()))?;
        *engine.archive_counters().archive_place.lock() = Some(None);
        let (asks, asked) = channel();
        let mut work = Work::new(Arc::downgrade(engine), archive, name, policy);
        work.feed = feed;
        work.failover = failover;
        let mut opened = engine.stream(None);
        opened.begin_here()?;
        work.opened = Some(opened);
        let own = work.failover.as_ref().map(|_| asks.clone());
        if let Some(failover) = work.failover.clone() {
            work.begin_to_lead(engine, &failover)?;
            engine.replicate_by(Arc::new(Ships { asks: Mutex::new(asks.clone()), failover }));
        }
        let run = move || {
            let _lock = lock;
            loop {
                let last = match asked.recv_timeout(work.pause) {
                    Err(RecvTimeoutError::Timeout) => false,
                    Ok(Ask::Ship(answer)) => {
                        // (who has asked may be gone)
                        let _ = answer.send(work.ship_all());
                        work.ask_anew(own.as_ref());
                        // (who commits all the time leaves no time without asks)
                        work.tidy();
                        continue;
                    }
                    Ok(Ask::Anew(done)) => {
                        work.waits_for_slot = false;
                        if let Some(Err(e)) = done.as_ref().map(|_| work.begin_anew()) {
                            tracing::warn!("the log does not begin anew: {}", e.message());
                        }
                        continue;
                    }
                    Ok(Ask::Stop) | Err(RecvTimeoutError::Disconnected) => true,
                };
                if !work.step() || last {
                    break;
                }
                work.ask_anew(own.as_ref());
            }
        };
        let thread = std::thread::Builder::new()
            .name("archiver".into())
            .spawn(run)
            .map_err(|e| failed(&format!("no thread for the archive: {e}")))?;
        Ok(Archiver { asks, thread })
    }

    /// Writes what is committed now, and ends.
    pub fn finish(self) {
        // (it may have ended by itself)
        let _ = self.asks.send(Ask::Stop);
        if self.thread.join().is_err() {
            tracing::error!("the archiver's thread has panicked");
        }
    }
}

fn failed(message: &str) -> PgError {
    PgError::new(SqlState::IO_ERROR, message.to_string())
}

/// A file that is complete, and that the archive may have or not.
struct Pending {
    made: Made,
    /// how far the archive has come with it
    position: Position,
}

struct Work {
    engine: Weak<Engine>,
    /// reads the same log for standbys
    feed: Option<Arc<Feed>>,
    /// other servers may write to the archive, one at a time
    failover: Option<Arc<Failover>>,
    /// another thread waits for the writer's slot, so that the log begins anew
    waits_for_slot: bool,
    archive: Archive,
    name: String,
    /// what is kept
    policy: Policy,
    /// where the log was when the database was opened, before anybody could write
    opened: Option<Stream>,
    stream: Option<Stream>,
    /// whether the archive has been looked at: the following is known from then on
    known: bool,
    /// how far the archive has come, if that is a place in the log
    position: Option<Position>,
    /// the number of the last file that was written
    last: u64,
    /// how far in all of the log it has come
    lsn: u64,
    /// when its last commit was made; times never go back
    time: i64,
    /// this process has written to the archive
    begun: bool,
    pending: Option<Pending>,
    /// somebody else writes to the archive
    taken: bool,
    /// before the next look
    pause: Duration,
    /// the error that was logged last, and when
    reported: Option<(String, Instant)>,
    /// what is put together or removed just now
    tidying: Option<JoinHandle<()>>,
    tidied: Instant,
    has_tidied: bool,
}

/// In the writer's slot: writes the log back. Returns what has been committed since the last look, to be written to the archive after the slot. `taken` is told of it before
/// the log begins anew: the place of a commit after that is counted from its end.
fn has_log_begin_anew(
    stream: &mut Stream,
    length: u64,
    taken: impl FnOnce(&Batch),
    others: impl FnOnce() -> Result<bool>,
) -> Result<Option<Batch>> {
    let began = Instant::now();
    let late = match stream.advance()? {
        Next::Nothing => None,
        Next::Batch(mut batch) => {
            if !batch.keep(MOST_KEPT)? {
                // (there is another time)
                return Ok(Some(batch));
            }
            taken(&batch);
            Some(batch)
        }
        Next::Lost(why) => return Err(failed(why)),
    };
    if !others()? {
        return Ok(late);
    }
    while !stream.write_back()? && length > VERY_LONG && began.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(2));
    }
    Ok(late)
}

/// What is kept with a file: how far the archive has come with it.
pub(crate) fn note(last: u64, position: Position) -> String {
    let Position { salt, frames, checksum } = position;
    let salt = u64::from_be_bytes(salt);
    format!("{last:016x} {salt:016x} {frames} {} {}", checksum[0], checksum[1])
}

/// The milliseconds since 1970.
fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_millis() as i64)
}

impl Work {
    fn new(engine: Weak<Engine>, archive: Archive, name: &str, policy: Policy) -> Work {
        Work {
            engine,
            feed: None,
            failover: None,
            waits_for_slot: false,
            archive,
            name: name.to_string(),
            policy,
            opened: None,
            stream: None,
            known: false,
            position: None,
            last: 0,
            lsn: FIRST_LSN,
            time: 0,
            begun: false,
            pending: None,
            taken: false,
            pause: Duration::ZERO,
            reported: None,
            tidying: None,
            tidied: Instant::now(),
            has_tidied: false,
        }
    }

    /// One look at what was committed. False: the database is closed.
    fn step(&mut self) -> bool {
        let Some(engine) = self.engine.upgrade() else { return false };
        let counters = engine.archive_counters();
        let began = now();
        match self.ship(&engine) {
            Ok(()) => {
                self.pause = PAUSE;
                counters.archive_current.store(began.max(0) as u64, Ordering::Relaxed);
                if self.reported.take().is_some() {
                    tracing::warn!("the archive of database \"{}\" is written again", self.name);
                }
            }
            Err(e) => {
                add(&counters.archive_failed, 1);
                counters.archive_failed_at.store(now(), Ordering::Relaxed);
                let next = self.pending.as_ref().map_or((self.last + 1, self.last + 1), |p| {
                    let Header { first, last, .. } = p.made.header;
                    (first, last)
                });
                engine.archiver_statistics().failed(self.file(next));
                self.pause = match self.archive.place() {
                    Place::Bucket(_) => (self.pause * 2).clamp(PAUSE, LONGEST_PAUSE),
                    Place::Folder(_) => PAUSE,
                };
                let known = self.reported.as_ref().is_some_and(|(m, at)| m == e.message() && at.elapsed() < AGAIN);
                if !known {
                    tracing::error!("the archive of database \"{}\" is not written: {}", self.name, e.message());
                    self.reported = Some((e.message().to_string(), Instant::now()));
                }
            }
        }
        drop(engine);
        self.tidy();
        true
    }

    /// The name of a file, as pg_stat_archiver shows it.
    fn file(&self, (first, last): (u64, u64)) -> String {
        format!("{}/{first:016x}-{last:016x}.ltx", self.name)
    }

    fn ship(&mut self, engine: &Arc<Engine>) -> Result<()> {
        if self.taken {
            return Err(failed(&self.archive.taken().to_string()));
        }
        if !self.known {
            self.look(engine)?;
        }
        self.publish(engine)?;
        let mut stream = match self.stream.take() {
            Some(stream) => stream,
            // (it has the count of commits, by which it goes on also if a commit has begun the log anew since)
            None => match self.opened.take().filter(|opened| opened.position() == self.position) {
                Some(opened) => opened,
                None => engine.stream(self.position),
            },
        };
        let shipped = match self.failover.is_some() {
            true => self.ship_next(engine, &mut stream),
            false => self.ship_from(engine, &mut stream),
        };
        // (what was taken from the stream is made already, or is taken again)
        if shipped.is_ok() || self.pending.is_some() {
            self.stream = Some(stream);
        }
        shipped
    }

    fn ship_from(&mut self, engine: &Arc<Engine>, stream: &mut Stream) -> Result<()> {
        self.ship_next(engine, stream)?;
        let length = stream.log_length();
        if length > LONG {
            let taken = |late: &Batch| self.taken_until(engine, self.lsn + late.bytes, late.position);
            // (the log may begin anew only after both have read it)
            let feed = self.feed.clone();
            if let Some(feed) = &feed {
                feed.take(engine)?;
            }
            let others = || feed.as_ref().map_or(Ok(true), |feed| feed.take_in_slot(engine));
            let late = engine.while_nobody_writes(|| has_log_begin_anew(stream, length, taken, others))??;
            if let Some(late) = late {
                self.write(engine, &late)?;
            }
        }
        Ok(())
    }

    /// Writes what the stream has now.
    fn ship_next(&mut self, engine: &Arc<Engine>, stream: &mut Stream) -> Result<()> {
        match stream.advance()? {
            Next::Nothing => {
                let is_known = engine.archive_counters().archive_place.lock().flatten().is_some();
                if let Some(position) = stream.position().filter(|_| !is_known) {
                    self.taken_until(engine, self.lsn, position);
                }
                Ok(())
            }
            Next::Batch(batch) => self.write(engine, &batch),
            Next::Lost(why) => {
                if let Some(failover) = self.failover.as_ref().filter(|_| self.last > 0) {
                    // (the file is another one than the archive's, or another program has written to it; and whoever has the writer's slot may wait for this thread)
                    failover.drop_file(why)?;
                    return Err(unknown());
                }
                if self.last > 0 {
                    tracing::warn!("the archive of database \"{}\" goes on with the whole database: {why}", self.name);
                }
                // (what is committed after it has a place behind it)
                let batch = engine.while_nobody_writes(|| {
                    let batch = stream.whole()?;
                    if let Some(feed) = &self.feed {
                        feed.jumps(self.lsn + batch.bytes, batch.position)?;
                    }
                    self.taken_until(engine, self.lsn + batch.bytes, batch.position);
                    Ok::<_, PgError>(batch)
                })??;
                self.write(engine, &batch)
            }
        }
    }

    fn write(&mut self, engine: &Engine, batch: &Batch) -> Result<()> {
        let first = self.last + 1;
        // (with a lease the name is the entry's number, so that no two servers write one)
        let last = if self.begun || self.failover.is_some() { first } else { self.archive.first_last(first) };
        self.time = self.time.max(now());
        let lsn = (self.lsn, self.lsn + batch.bytes);
        let header = Header::new(batch.page_size, batch.pages, first, last, self.time).at(lsn).by(self.process());
        let mut content = vec![0; batch.page_size as usize];
        let made = self.archive.make_file(0, &header, |to| {
            for page in batch.numbers() {
                batch.page(page, &mut content).map_err(|e| pgsqlite_replication::Error::new(e.message()))?;
                to.page(page, &content)?;
            }
            Ok(())
        });
        let (made, ()) = made.map_err(|e| failed(&e.to_string()))?;
        self.begun = true;
        self.pending = Some(Pending { made, position: batch.position });
        self.taken_until(engine, lsn.1, batch.position);
        self.publish(engine)
    }

    /// All of the log up to a place has been taken for the archive.
    fn taken_until(&self, engine: &Engine, lsn: u64, position: Position) {
        let Position { salt, frames, .. } = position;
        *engine.archive_counters().archive_place.lock() = Some(Some(LogPlace { lsn, salt, frames }));
    }

    /// Gives the file that is complete to the archive, if there is one.
    fn publish(&mut self, engine: &Engine) -> Result<()> {
        let Some(Pending { made, position }) = &self.pending else { return Ok(()) };
        let last = made.header.last;
        let text = note(last, *position);
        if let Some(failover) = &self.failover {
            match failover.append(&self.archive, made, &text)? {
                Verdict::Acknowledged => return self.published(engine),
                Verdict::Behind => {
                    (self.pending, self.known, self.stream, self.position) = (None, false, None, None);
                    return Err(failed("another server has written to the archive"));
                }
                Verdict::Again | Verdict::Deposed => return Err(unknown()),
            }
        }
        match self.archive.publish(made, &text).map_err(|e| failed(&e.to_string()))? {
            Published::Done => {}
            Published::Taken => {
                self.taken = true;
                return Err(failed(&self.archive.taken().to_string()));
            }
        }
        self.published(engine)
    }

    /// The archive has the file that was complete.
    fn published(&mut self, engine: &Engine) -> Result<()> {
        let Some(Pending { made, position }) = &self.pending else { return Ok(()) };
        let Header { first, last, lsn, .. } = made.header;
        let file = self.file((first, last));
        (self.last, self.lsn, self.position) = (last, lsn.1, Some(*position));
        self.pending = None;
        let counters = engine.archive_counters();
        add(&counters.archived, 1);
        counters.archive_lsn.store(lsn.1, Ordering::Relaxed);
        engine.archiver_statistics().archived(file);
        Ok(())
    }

    /// Looks how far the archive has come.
    fn look(&mut self, engine: &Engine) -> Result<()> {
        let io = |e: pgsqlite_replication::Error| failed(&e.to_string());
        if self.failover.is_none() && self.archive.has_lease().map_err(io)? {
            return Err(failed(&format!("\"{}\" has a lease: start the server with --lease", self.archive.place())));
        }
        self.archive.claim().map_err(io)?;
        if let Some(begun) = self.failover.as_ref().and_then(|failover| failover.begun()) {
            (self.last, self.time, self.lsn) = (begun.last, begun.time, begun.lsn.max(FIRST_LSN));
            self.position = Some(begun.position);
            engine.archive_counters().archive_lsn.store(self.lsn, Ordering::Relaxed);
            self.known = true;
            return Ok(());
        }
        let entries = self.archive.entries().map_err(io)?;
        // (of level 0, if there is one: it has the position)
        if let Some(newest) = entries.iter().max_by_key(|e| (e.last, u32::MAX - e.level)) {
            let header = self.archive.headers(std::slice::from_ref(newest)).map_err(io)?.remove(0);
            let text = self.archive.position(newest).map_err(io)?;
            let words: Vec<&str> = text.split_whitespace().collect();
            let parse = || -> Option<(u64, Position)> {
                let [number, salt, frames, high, low] = words[..] else { return None };
                let salt = u64::from_str_radix(salt, 16).ok()?.to_be_bytes();
                let checksum = [high.parse().ok()?, low.parse().ok()?];
                let position = Position { salt, frames: frames.parse().ok()?, checksum };
                Some((u64::from_str_radix(number, 16).ok()?, position))
            };
            // (in a folder, a file that was written right before a crash may have no position: then the whole database follows)
            self.position = parse().filter(|(number, _)| *number == newest.last).map(|(_, position)| position);
            (self.last, self.time, self.lsn) = (newest.last, header.time, header.lsn.1.max(FIRST_LSN));
        }
        if let Some(feed) = &self.feed {
            // (what standbys were told of may not have come to the archive)
            self.lsn = feed.not_before(engine, self.lsn, self.position)?;
        }
        if let Some(failover) = &self.failover {
            failover.has_read(self.last);
        }
        // (where the log is now is not known before it is known to lead on from there)
        engine.archive_counters().archive_lsn.store(self.lsn, Ordering::Relaxed);
        self.known = true;
        Ok(())
    }

    /// Puts files together and removes old ones, beside the thread's other work.
    fn tidy(&mut self) {
        // (not before it is known what there is, nor beside somebody else)
        if !self.known || self.taken || self.pending.is_some() {
            return;
        }
        if self.failover.as_ref().is_some_and(|failover| !failover.leads()) {
            return;
        }
        let removes = self.failover.as_ref().is_none_or(|failover| failover.has_led() >= SETTLED);
        let pause = if self.has_tidied { TIDY } else { FIRST_TIDY };
        if self.tidied.elapsed() < pause || self.tidying.as_ref().is_some_and(|t| !t.is_finished()) {
            return;
        }
        (self.tidied, self.has_tidied) = (Instant::now(), true);
        let (archive, name, policy) = (self.archive.clone(), self.name.clone(), self.policy);
        let work = move || {
            let done = match archive.is_claimed() {
                Ok(true) => tidy(&archive, &policy, now(), removes),
                Ok(false) => Err(archive.taken()),
                Err(e) => Err(e),
            };
            if let Err(e) = done {
                archive.forget();
                tracing::warn!("the archive of database \"{name}\" is not tidied up: {e}");
            }
        };
        match std::thread::Builder::new().name("tidies".into()).spawn(work) {
            Ok(thread) => self.tidying = Some(thread),
            Err(e) => tracing::warn!("no thread to tidy up the archive: {e}"),
        }
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        // a file that is half written would be written again (in a bucket there is none, and another server waits for the lease)
        if let Some(thread) = self.tidying.take().filter(|_| self.failover.is_none()) {
            let _ = thread.join();
        }
    }
}

/// The threads of a server's databases, by name.
#[derive(Default)]
pub struct Archivers(Mutex<std::collections::HashMap<String, Archiver>>);

impl Archivers {
    /// Begins with a database that was opened. `place`: that of all archives.
    pub fn begin(
        &self,
        engine: &Arc<Engine>,
        place: &Place,
        name: &str,
        policy: Policy,
        feed: Option<Arc<Feed>>,
        failover: Option<Arc<Failover>>,
    ) -> Result<()> {
        self.end(name);
        let place = place.within(name).map_err(|e| failed(&e.to_string()))?;
        let archiver = Archiver::start(engine, place, name, policy, feed, failover)?;
        self.0.lock().insert(name.to_string(), archiver);
        Ok(())
    }

    /// Ends that of a database that is about to close.
    pub fn end(&self, name: &str) {
        let archiver = self.0.lock().remove(name);
        if let Some(archiver) = archiver {
            archiver.finish();
        }
    }

    /// Ends all of them, after what is committed has been written.
    pub fn finish(&self) {
        let all: Vec<Archiver> = self.0.lock().drain().map(|(_, archiver)| archiver).collect();
        all.into_iter().for_each(Archiver::finish);
    }
}
