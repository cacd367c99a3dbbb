//! What is answered with has been on disk before: who has read what a commit wrote waits for that commit's sync.
//!
//! A commit gets its number before SQLite makes it ([`Progress::begins`](crate::vfs::Progress::begins)), because readers see it before
//! COMMIT returns. Whoever waits for a number that comes to nothing in the end (a COMMIT that failed, or had nothing to write) waits for
//! the commit before it instead.

use super::{Inner, Writer};
use crate::connection::Natives;
use crate::vfs::Progress;
use std::sync::Arc;

impl<N: Natives> Writer<N> {
    /// How far the log is on disk.
    pub fn progress(&self) -> &Progress {
        &self.0.log.progress
    }

    /// The number of the last commit that sessions may have seen without a connection of theirs: the catalog, and what is looked up in
    /// committed state.
    pub fn seen_by_all(&self) -> u64 {
        self.0.log.seen().max(self.0.log.progress.catalog())
    }

    /// The number of the last commit that was made.
    pub fn last_commit(&self) -> u64 {
        self.0.state.lock().commits
    }
}

impl<N: Natives> Inner<N> {
    /// From now on readers may see the commit that the slot's holder is about to make; its number.
    pub(super) fn begin_commit(&self) -> u64 {
        let number = self.state.lock().commits + 1;
        if self.wal.is_some() {
            self.log.progress.begins(number);
        }
        number
    }

    /// The commit that was announced last has come to nothing: nobody has seen it, and who waits for it waits for the one before.
    pub(super) fn give_commit_up(self: &Arc<Self>) {
        let mut state = self.state.lock();
        let (made, synced) = (state.commits, state.synced);
        self.log.progress.begins(made.min(self.log.progress.begun()));
        let mut released = Vec::new();
        for (number, reader) in std::mem::take(&mut state.waiting) {
            if number <= made || made > synced {
                state.waiting.push((number.min(made), reader));
            } else {
                released.push(reader);
            }
        }
        drop(state);
        for reader in released {
            reader.tell(Ok(()));
        }
        self.call_committer();
    }
}
