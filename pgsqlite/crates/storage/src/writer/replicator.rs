//! Others that have to have a commit before it is acknowledged, or shown.
//!
//! The sync of the log is followed by their answer, so that whoever waits for the one waits for both: who commits, and who has read what is not with them yet. Whoever
//! commits without waiting for them (`synchronous_commit = local` or `off`) shows nothing of it to anybody before they have it, not even to itself: its connection forgets the pages,
//! and reads them again.

use super::{Inner, Writer};
use crate::connection::Natives;
use pgsqlite_types::{PgError, Result, SqlState};
use std::sync::Arc;

/// Who brings commits to others.
pub trait Replicator: Send + Sync {
    /// Others have all that is committed, and on this machine's disk, when this returns. Errors, all of which are fatal to the database: 08007 if they may have it or not.
    fn replicate(&self) -> Result<()>;

    /// Whether what the database has may be shown: nobody else writes.
    fn leads(&self) -> bool;
}

impl<N: Natives> Writer<N> {
    /// From now on commits wait for others, too. Only the first call counts.
    pub fn replicate_by(&self, replicator: Arc<dyn Replicator>) {
        let _ = self.0.replicator.set(replicator);
    }

    /// Whether commits wait for others, too.
    pub fn replicates(&self) -> bool {
        self.0.replicator.get().is_some()
    }

    /// Errors: 57P01, fatal, if others may write by now, so that nothing may be shown any more.
    pub fn check_leads(&self) -> Result<()> {
        match self.0.replicator.get() {
            Some(replicator) if !replicator.leads() => Err(lost()),
            _ => Ok(()),
        }
    }

    /// Waits until the commit with this number is on this machine's disk, whether others have it or not. Errors: 58030, fatal: the commit may be lost.
    pub async fn wait_on_own_disk(&self, commit: u64, here: bool) -> Result<()> {
        let inner = &self.0;
        let Some(wal) = inner.wal.as_ref().filter(|_| self.replicates()) else {
            return self.wait_durable(commit, here).await;
        };
        if commit > inner.state.lock().commits {
            // (it is still being made by another session, and has been seen)
            return self.wait_durable(commit, here).await;
        }
        crate::apart::apart(|| {
            // (who waits for the one before is served by it, too, if it began late enough)
            let _one = inner.own_disk.lock();
            if inner.log.progress.on_own_disk() >= commit {
                return Ok(());
            }
            let upto = inner.state.lock().commits;
            let synced = wal.sync_file().map_err(super::disk::not_synced).and_then(|_| wal.check());
            match synced {
                Ok(()) => inner.log.progress.is_on_own_disk(upto),
                Err(e) => {
                    inner.state.lock().failed.get_or_insert(e.clone());
                    return Err(e);
                }
            }
            Ok(())
        })
    }
}

impl<N: Natives> Inner<N> {
    /// Commits up to this number are on this machine's disk: others are given what they do not have.
    pub(super) fn replicate(&self, upto: u64) -> Result<()> {
        let Some(replicator) = self.replicator.get() else { return Ok(()) };
        self.log.progress.is_on_own_disk(upto);
        replicator.replicate()
    }
}

/// The error of those who want to write or read where others may write by now.
pub(super) fn lost() -> PgError {
    PgError::new(SqlState::ADMIN_SHUTDOWN, "terminating connection because the server has lost its lease").fatal()
}
