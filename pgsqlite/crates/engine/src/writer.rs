//! The writer slot and durable commits.
//!
//! SQLite has one writer. Sessions queue for the slot first-in-first-out (a fair async mutex: nobody polls, nobody sees
//! "database is locked"). A commit appends to the WAL under `synchronous=NORMAL`; before it is acknowledged, one
//! fdatasync of the WAL runs outside the slot, shared by all sessions that wait for one (group commit).

use crate::wal::Wal;
use pgsqlite_types::{PgError, Result, SqlState};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;
use tokio::sync::{Mutex, OwnedMutexGuard};

/// The right to write: held from the first write of a transaction to its end.
pub type Slot = OwnedMutexGuard<()>;

pub struct Writer {
    slot: Arc<Mutex<()>>,
    /// None: an in-memory database has nothing to sync
    wal: Option<Wal>,
    commits: AtomicU64,
    /// every commit up to this number is on disk
    synced: Mutex<u64>,
    failed: AtomicBool,
}

impl Writer {
    pub fn new(wal: Option<Wal>) -> Writer {
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

    /// To be called right before COMMIT, while SQLite's write lock is held, if [`Writer::wait_durable`] will be called.
    pub fn expect_sync(&self) {
        if let Some(Err(e)) = self.wal.as_ref().map(Wal::lengthen) {
            tracing::debug!("the write-ahead log was not made longer: {e}");
        }
    }

    /// To be called right after COMMIT, still inside the slot: the commit's number.
    pub fn committed(&self) -> u64 {
        self.commits.fetch_add(1, Ordering::AcqRel) + 1
    }

    /// Resolves when the commit with this number is on disk. One sync serves all commits made before it began.
    pub async fn wait_durable(&self, commit: u64) -> Result<()> {
        let Some(wal) = &self.wal else { return Ok(()) };
        let mut synced = self.synced.lock().await;
        if *synced >= commit {
            return Ok(());
        }
        let upto = self.commits.load(Ordering::Acquire);
        match tokio::task::block_in_place(|| wal.sync()) {
            Ok(()) => {
                *synced = upto;
                Ok(())
            }
            Err(e) => {
                self.failed.store(true, Ordering::Release);
                Err(PgError::new(SqlState::IO_ERROR, format!("could not sync the write-ahead log: {e}")).fatal())
            }
        }
    }
}
