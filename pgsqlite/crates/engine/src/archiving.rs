//! What an archive of a database's changes, and standbys that follow them, need of the engine.

use crate::engine::Engine;
use crate::writer::Replicator;
use pgsqlite_storage::stream::{Batch, Position, Stream};
use pgsqlite_types::{PgError, Result, SqlState};
use std::sync::Arc;

impl Engine {
    /// What is committed to the database from this position on. The database's log must be left (`pgsqlite_storage::checkpoints`).
    pub fn stream(&self, position: Option<Position>) -> Stream {
        Stream::new(self.room.clone(), position)
    }

    /// What was committed between two positions of one beginning of the log; None: it is not in the log any more. Errors: 58030.
    pub fn stream_between(&self, from: Position, to: Position) -> Result<Option<Batch>> {
        Stream::between(self.room.clone(), from, to)
    }

    /// How many bytes of the log come after a position, of which a new beginning of the log has none.
    pub fn log_bytes_after(&self, position: Position) -> u64 {
        let Some((salt, frames, bytes)) = self.room.log_state() else { return 0 };
        let before = if salt == position.salt { position.frames } else { 0 };
        u64::from(frames.saturating_sub(before)) * bytes
    }

    /// The bytes of a page in the log.
    pub fn frame_bytes(&self) -> u64 {
        self.room.log_state().map_or(0, |(_, _, bytes)| bytes)
    }

    /// From now on commits wait for others, too.
    pub fn replicate_by(&self, replicator: Arc<dyn Replicator>) {
        self.writer.replicate_by(replicator);
    }

    /// The first page, and how many there are. To be called while nobody writes. Errors: 58030.
    pub fn first_page(&self) -> Result<(Vec<u8>, u32)> {
        pgsqlite_storage::apply::first_page(self.room.path())
    }

    /// What is counted of the database, for its archive.
    pub fn archive_counters(&self) -> &pgsqlite_natives::statistics::DatabaseCounters {
        &self.counters
    }

    /// What is counted of the server's archives together.
    pub fn archiver_statistics(&self) -> &pgsqlite_natives::statistics::Archiving {
        &self.config.statistics.archiving
    }

    /// Where the log of the database is now, counted from the beginning of its archive. Errors: 0A000 without an archive or WAL senders, 55000 while its place in the log is not known.
    pub(crate) fn log_place(&self, function: &str) -> Result<u64> {
        if self.in_recovery() {
            return Err(PgError::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, "recovery is in progress")
                .hint("WAL control functions cannot be executed during recovery."));
        }
        match *self.counters.archive_place.lock() {
            None => Err(PgError::not_supported(format!("{function}() without an archive or WAL senders"))),
            Some(None) => Err(PgError::new(
                SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
                "the place in the log is not known before the archive has been read",
            )),
            Some(Some(known)) => Ok(known.now(self.room.log_state())),
        }
    }

    /// Does something while nobody in this process writes to the database. It waits for those who do: not to be called on a thread with
    /// other tasks. Errors: 58030 after a sync has failed.
    pub fn while_nobody_writes<R>(&self, work: impl FnOnce() -> R) -> Result<R> {
        let failed = |e: std::io::Error| PgError::new(SqlState::IO_ERROR, format!("no waiting for the writer: {e}"));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().map_err(failed)?;
        let mut slot = runtime.block_on(self.writer.acquire(Default::default()))?;
        slot.commit_shared();
        Ok(work())
    }
}
