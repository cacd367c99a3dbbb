//! The writer with a disk that is busy for as long as a test likes.

use super::Writer;
use crate::connection::Natives;
use pgsqlite_types::Result;

impl<N: Natives> Writer<N> {
    /// The disk is busy from now on.
    #[doc(hidden)]
    pub fn keep_disk_busy(&self) {
        self.0.state.lock().syncing = true;
    }

    /// The disk is free again. Returns how the sync went.
    #[doc(hidden)]
    pub fn let_disk_go(&self) -> Result<()> {
        let synced = self.0.sync();
        self.0.call_committer();
        synced
    }

    /// How many transactions wait for the one that is open.
    #[doc(hidden)]
    pub fn members(&self) -> usize {
        self.0.state.lock().open.as_ref().map_or(0, |open| open.members.0.len())
    }

    /// Whether all commits are on disk.
    #[doc(hidden)]
    pub fn is_synced(&self) -> bool {
        let state = self.0.state.lock();
        state.synced == state.commits
    }

    /// A sync of the database has failed.
    #[doc(hidden)]
    pub fn fail(&self) {
        self.0.log.progress.fail();
    }
}
