//! What a client gets to know has been on disk before: who has seen what a commit wrote waits for that commit's sync.
//!
//! A session notes which commits it may have seen when it gives a connection back, and whoever sends its answers asks before each flush.
//! That covers rows, but also what follows from them: a row count, a refused key, "it is there already".

use crate::connection::Connection;
use crate::session::context::SessionContext;
use crate::session::executor::Executor;
use crate::session::Session;
use pgsqlite_natives::statistics::activity::Wait;
use pgsqlite_types::Result;

impl SessionContext {
    /// What was seen through a connection that the session gives up.
    pub(in crate::session) fn note_seen(&mut self, connection: &Connection) {
        self.seen = self.seen.max(connection.seen());
    }

    /// Whether the session's commits wait for all that a commit can wait for: the disk, and others that have to have it.
    pub(in crate::session) fn waits_for_all(&self) -> bool {
        let often = &self.gucs.often;
        often.waits_for_disk && (often.waits_for_others || !self.replicates())
    }

    /// Whether commits wait for others, too.
    pub(in crate::session) fn replicates(&self) -> bool {
        self.engine.config.lease && self.engine.writer.replicates()
    }

    /// Whether the session is shown what a failover may take back (`pgsqlite.read_unreplicated`).
    fn reads_unreplicated(&self) -> bool {
        self.gucs.often.reads_unreplicated && self.replicates()
    }

    /// Waits until this commit is on disk. Errors: 58030, fatal: it may be lost, and what was seen of it with it; 57P01, fatal: another server writes by now.
    pub(in crate::session) async fn settle(&mut self, commit: u64) -> Result<()> {
        self.engine.writer.check_leads()?;
        let unreplicated = self.reads_unreplicated();
        self.observation.activity.set_wait(Wait::Sync);
        let settled = match unreplicated {
            false => self.engine.writer.wait_durable(commit, self.own_thread).await,
            true => self.engine.writer.wait_on_own_disk(commit, self.own_thread).await,
        };
        self.observation.activity.set_wait(Wait::Nothing);
        settled
    }
}

impl Executor {
    /// The number of the last commit that the session may have seen and that is not on disk yet; None: there is none.
    pub(in crate::session) fn unsettled(&self) -> Option<u64> {
        let progress = self.context.engine.writer.progress();
        if self.context.engine.config.lease && self.context.engine.writer.check_leads().is_err() {
            return Some(progress.begun());
        }
        if !progress.has_unsynced() {
            return None;
        }
        let held = self.connection.iter().chain(self.portals.values().filter_map(|p| p.own_connection()));
        let without = self.context.seen.max(self.context.engine.writer.seen_by_all());
        let seen = held.map(Connection::seen).fold(without, u64::max).min(progress.begun());
        let settled = match self.context.reads_unreplicated() {
            false => progress.synced(),
            true => progress.on_own_disk(),
        };
        (seen > settled).then_some(seen)
    }

    /// Waits until all that the session may have seen is on disk. Errors: as of [`SessionContext::settle`].
    pub(in crate::session) async fn settle_seen(&mut self) -> Result<()> {
        match self.unsettled() {
            Some(commit) => self.context.settle(commit).await,
            None => Ok(()),
        }
    }
}

impl Session {
    /// The number of the last commit that the session may have seen and that is not on disk yet; None: there is none.
    pub fn unsettled(&self) -> Option<u64> {
        self.executor.unsettled()
    }

    /// Waits until this commit is on disk. Errors: 58030, fatal: it may be lost, and what was seen of it with it.
    pub async fn settle(&mut self, commit: u64) -> Result<()> {
        self.executor.context.settle(commit).await
    }

    /// Whether a transaction of the session has the writer slot: whoever wants to write waits for its end.
    pub fn has_writer_slot(&self) -> bool {
        self.executor.context.transaction.has_slot()
    }
}
