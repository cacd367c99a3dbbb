//! Copies of each database's changes, written while it is served (`--archive`).
//!
//! Each open database has a thread. About each second it takes what has been committed since (`pgsqlite_storage::stream`), and writes it as one file
//! of an archive (`pgsqlite_replication`). Nobody waits for it. It is also the one who has the log begin anew, after it has read all of it.
//!
//! How far it has come is in the file `position` of the archive. If that is not a place in the log any more, because the server was used without an archive or the
//! file was replaced, it goes on with the whole database.

use parking_lot::Mutex;
use pgsqlite_engine::engine::Engine;
use pgsqlite_engine::statistics::add;
use pgsqlite_replication::archive::Archive;
use pgsqlite_replication::levels::{tidy, Policy};
use pgsqlite_replication::ltx::Header;
use pgsqlite_storage::stream::{Batch, Next, Position, Stream};
use pgsqlite_types::{PgError, Result, SqlState};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{channel, RecvTimeoutError, Sender};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// So long a commit waits for the next file.
const PAUSE: Duration = Duration::from_secs(1);
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

/// The thread of one database.
pub struct Archiver {
    stop: Sender<()>,
    thread: JoinHandle<()>,
}

impl Archiver {
    /// Starts the thread of a database whose log is left. `folder`: where its archive is.
    pub fn start(engine: &Arc<Engine>, folder: PathBuf, name: &str) -> Result<Archiver> {
        let archive = Archive::make(folder).map_err(|e| failed(&e.to_string()))?;
        let lock = archive.lock().map_err(|e| failed(&e.to_string()))?;
        let (stop, stopped) = channel();
        let mut work = Work::new(Arc::downgrade(engine), archive, name);
        let run = move || {
            let _lock = lock;
            loop {
                let last = !matches!(stopped.recv_timeout(PAUSE), Err(RecvTimeoutError::Timeout));
                if !work.step() || last {
                    break;
                }
            }
        };
        let thread = std::thread::Builder::new()
            .name("archiver".into())
            .spawn(run)
            .map_err(|e| failed(&format!("no thread for the archive: {e}")))?;
        Ok(Archiver { stop, thread })
    }

    /// Writes what is committed now, and ends.
    pub fn finish(self) {
        // (it may have ended by itself)
        let _ = self.stop.send(());
        if self.thread.join().is_err() {
            tracing::error!("the archiver's thread has panicked");
        }
    }
}

fn failed(message: &str) -> PgError {
    PgError::new(SqlState::IO_ERROR, message.to_string())
}

struct Work {
    engine: Weak<Engine>,
    archive: Archive,
    name: String,
    stream: Option<Stream>,
    /// the number of the last file that was written
    last: u64,
    /// when its last commit was made; times never go back
    time: i64,
    /// the error that was logged last, and when
    reported: Option<(String, Instant)>,
    /// what is put together or removed just now
    tidying: Option<JoinHandle<()>>,
    tidied: Instant,
}

/// In the writer's slot: writes the log back. Returns what has been committed since the last look, to be written to the archive after the slot.
fn has_log_begin_anew(stream: &mut Stream, length: u64) -> Result<Option<Batch>> {
    let began = Instant::now();
    let late = match stream.advance()? {
        Next::Nothing => None,
        Next::Batch(mut batch) => {
            if !batch.keep(MOST_KEPT)? {
                // (there is another time)
                return Ok(Some(batch));
            }
            Some(batch)
        }
        Next::Lost(why) => return Err(failed(why)),
    };
    while !stream.write_back()? && length > VERY_LONG && began.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(2));
    }
    Ok(late)
}

/// The milliseconds since 1970.
fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_millis() as i64)
}

impl Work {
    fn new(engine: Weak<Engine>, archive: Archive, name: &str) -> Work {
        let (name, tidied) = (name.to_string(), Instant::now());
        Work { engine, archive, name, stream: None, last: 0, time: 0, reported: None, tidying: None, tidied }
    }

    /// One look at what was committed. False: the database is closed.
    fn step(&mut self) -> bool {
        let Some(engine) = self.engine.upgrade() else { return false };
        let counters = engine.archive_counters();
        let began = now();
        match self.ship(&engine) {
            Ok(()) => {
                counters.archive_current.store(began.max(0) as u64, Ordering::Relaxed);
                if self.reported.take().is_some() {
                    tracing::warn!("the archive of database \"{}\" is written again", self.name);
                }
            }
            Err(e) => {
                add(&counters.archive_failed, 1);
                // (what was taken from the stream is taken again)
                self.stream = None;
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

    fn ship(&mut self, engine: &Arc<Engine>) -> Result<()> {
        let mut stream = match self.stream.take() {
            Some(stream) => stream,
            None => engine.stream(self.position()?),
        };
        self.ship_next(engine, &mut stream)?;
        let length = stream.log_length();
        if length > LONG {
            let late = engine.while_nobody_writes(|| has_log_begin_anew(&mut stream, length))??;
            if let Some(late) = late {
                self.write(engine, &late)?;
            }
        }
        self.stream = Some(stream);
        Ok(())
    }

    /// Writes what the stream has now.
    fn ship_next(&mut self, engine: &Arc<Engine>, stream: &mut Stream) -> Result<()> {
        match stream.advance()? {
            Next::Nothing => Ok(()),
            Next::Batch(batch) => self.write(engine, &batch),
            Next::Lost(why) => {
                if self.last > 0 {
                    tracing::warn!("the archive of database \"{}\" goes on with the whole database: {why}", self.name);
                }
                let batch = engine.while_nobody_writes(|| stream.whole())??;
                self.write(engine, &batch)
            }
        }
    }

    fn write(&mut self, engine: &Engine, batch: &Batch) -> Result<()> {
        let number = self.last + 1;
        self.time = self.time.max(now());
        let header = Header::new(batch.page_size, batch.pages, number, number, self.time);
        let mut content = vec![0; batch.page_size as usize];
        let written = self.archive.write(0, &header, |to| {
            for page in batch.numbers() {
                batch.page(page, &mut content).map_err(|e| pgsqlite_replication::Error::new(e.message()))?;
                to.page(page, &content)?;
            }
            Ok(())
        });
        written.map_err(|e| failed(&e.to_string()))?;
        self.last = number;
        add(&engine.archive_counters().archived, 1);
        let Position { salt, frames, checksum } = batch.position;
        let salt = u64::from_be_bytes(salt);
        let text = format!("{number:016x} {salt:016x} {frames} {} {}\n", checksum[0], checksum[1]);
        self.archive.write_position(&text).map_err(|e| failed(&e.to_string()))
    }

    /// How far the archive has come, if that is known. Sets the number of its last file.
    fn position(&mut self) -> Result<Option<Position>> {
        let entries = self.archive.entries().map_err(|e| failed(&e.to_string()))?;
        self.last = entries.iter().map(|e| e.last).max().unwrap_or(0);
        if let Some(last) = entries.iter().max_by_key(|e| e.last) {
            self.time = last.read().map_or(0, |reader| reader.header().time);
        }
        let text = self.archive.read_position();
        let words: Vec<&str> = text.split_whitespace().collect();
        let parse = || -> Option<(u64, Position)> {
            let [number, salt, frames, high, low] = words[..] else { return None };
            let salt = u64::from_str_radix(salt, 16).ok()?.to_be_bytes();
            let checksum = [high.parse().ok()?, low.parse().ok()?];
            let position = Position { salt, frames: frames.parse().ok()?, checksum };
            Some((u64::from_str_radix(number, 16).ok()?, position))
        };
        // (a file that was written right before a crash may have no position: then the whole database follows)
        Ok(parse().filter(|(number, _)| *number == self.last && self.last > 0).map(|(_, position)| position))
    }

    /// Puts files together and removes old ones, beside the thread's other work.
    fn tidy(&mut self) {
        if self.tidied.elapsed() < TIDY || self.tidying.as_ref().is_some_and(|t| !t.is_finished()) {
            return;
        }
        self.tidied = Instant::now();
        let (archive, name) = (self.archive.clone(), self.name.clone());
        let work = move || {
            if let Err(e) = tidy(&archive, &Policy::default(), now()) {
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
        // a file that is half written would be written again
        if let Some(thread) = self.tidying.take() {
            let _ = thread.join();
        }
    }
}

/// The threads of a server's databases, by name.
#[derive(Default)]
pub struct Archivers(Mutex<std::collections::HashMap<String, Archiver>>);

impl Archivers {
    /// Begins with a database that was opened. `folder`: that of all archives.
    pub fn begin(&self, engine: &Arc<Engine>, folder: &Path, name: &str) -> Result<()> {
        self.end(name);
        let archiver = Archiver::start(engine, folder.join(name), name)?;
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
