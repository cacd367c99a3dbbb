//! The writer slot and durable commits.
//!
//! SQLite has one writer. Sessions queue for the slot first-in-first-out (a fair async mutex: nobody polls, nobody sees
//! "database is locked"). A commit appends to the WAL under `synchronous=NORMAL`; before it is acknowledged, one
//! fdatasync of the WAL runs outside the slot, shared by all sessions that wait for one (group commit).

use pgsqlite_types::{PgError, Result, SqlState};
use std::fs::File;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{Mutex, OwnedMutexGuard};

/// The right to write: held from the first write of a transaction to its end.
pub type Slot = OwnedMutexGuard<()>;

pub struct Writer {
    slot: Arc<Mutex<()>>,
    /// None: an in-memory database has nothing to sync
    wal: Option<PathBuf>,
    commits: AtomicU64,
    synced: Mutex<Synced>,
    failed: AtomicBool,
}

#[derive(Default)]
struct Synced {
    /// every commit up to this number is on disk
    upto: u64,
    file: Option<File>,
    /// the last sync took no longer than [`SHORT`]
    was_short: bool,
}

/// A sync of up to this long may hold up its thread: it is not worth handing the thread's other work over.
const SHORT: Duration = Duration::from_micros(500);

impl Writer {
    pub fn new(wal: Option<PathBuf>) -> Writer {
        Writer {
            slot: Arc::default(),
            wal,
            commits: AtomicU64::new(0),
            synced: Mutex::default(),
            failed: AtomicBool::new(false),
        }
    }

    /// Waits for the slot, in order of asking.
    pub async fn acquire(&self) -> Result<Slot> {
        if self.failed.load(Ordering::Acquire) {
            return Err(PgError::new(
                SqlState::IO_ERROR,
                "the server has stopped accepting writes because a sync of the database failed",
            ));
        }
        Ok(self.slot.clone().lock_owned().await)
    }

    /// The slot, if nobody has it or waits for it.
    pub fn try_acquire(&self) -> Result<Option<Slot>> {
        if self.failed.load(Ordering::Acquire) {
            return Err(PgError::new(
                SqlState::IO_ERROR,
                "the server has stopped accepting writes because a sync of the database failed",
            ));
        }
        Ok(self.slot.clone().try_lock_owned().ok())
    }

    /// To be called right after COMMIT, still inside the slot: the commit's number.
    pub fn committed(&self) -> u64 {
        self.commits.fetch_add(1, Ordering::AcqRel) + 1
    }

    /// Resolves when the commit with this number is on disk. One sync serves all commits made before it began.
    pub async fn wait_durable(&self, commit: u64) -> Result<()> {
        let Some(path) = &self.wal else { return Ok(()) };
        let mut synced = self.synced.lock().await;
        if synced.upto >= commit {
            return Ok(());
        }
        let upto = self.commits.load(Ordering::Acquire);
        let result = (|| {
            if synced.file.is_none() {
                synced.file = Some(File::open(path)?);
            }
            let file = synced.file.as_ref().expect("opened above");
            let began = Instant::now();
            if synced.was_short && self.slot.try_lock().is_ok() {
                file.sync_data()?;
            } else {
                // the disk is slow, or the next writer may be waiting for this very thread
                tokio::task::block_in_place(|| file.sync_data())?;
            }
            synced.was_short = began.elapsed() <= SHORT;
            std::io::Result::Ok(())
        })();
        match result {
            Ok(()) => {
                synced.upto = upto;
                Ok(())
            }
            Err(e) => {
                self.failed.store(true, Ordering::Release);
                Err(PgError::new(SqlState::IO_ERROR, format!("could not sync the write-ahead log: {e}")).fatal())
            }
        }
    }
}
