//! Syncing the log: by the session that commits while nobody else does, by the committer's thread where several do.

use super::{Inner, Writer};
use crate::connection::Natives;
use crate::wal::Wal;
use pgsqlite_types::{PgError, Result, SqlState};
use std::future::Future;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use tokio::sync::oneshot;

impl<N: Natives> Writer<N> {
    /// Resolves when the commit with this number is on disk. One sync serves all commits made before it began. `here`: the calling
    /// thread has nothing else to do, and may wait for the disk itself. The commit may be one that is still being made by another session
    /// and that this one has seen. Errors: 58030, fatal: the commit may be lost.
    pub async fn wait_durable(&self, commit: u64, here: bool) -> Result<()> {
        let inner = &self.0;
        if inner.wal.is_none() {
            return Ok(());
        }
        let turn = {
            let mut state = inner.state.lock();
            if state.synced >= commit {
                return Ok(());
            }
            if let Some(error) = &state.failed {
                return Err(error.clone());
            }
            if here && !state.syncing && commit <= state.commits {
                state.syncing = true;
                None
            } else {
                let (sender, turn) = oneshot::channel();
                state.waiting.push((commit, sender.into()));
                Some(turn)
            }
        };
        if let Some(turn) = turn {
            inner.call_committer();
            return turn.await.map_err(|_| PgError::internal("the committer is gone"))?;
        }
        let synced = crate::apart::apart(|| inner.sync());
        inner.call_committer();
        synced
    }

    /// Waits on this thread until every commit that somebody waits for is on disk. Errors: as of [`Writer::wait_durable`].
    pub fn settle_all(&self) -> Result<()> {
        let progress = self.progress();
        if !progress.has_unsynced() {
            return Ok(());
        }
        let mut waiting = std::pin::pin!(self.wait_durable(progress.begun(), true));
        let waker = Waker::from(Arc::new(Unparks(std::thread::current())));
        loop {
            match waiting.as_mut().poll(&mut Context::from_waker(&waker)) {
                Poll::Ready(settled) => return settled,
                Poll::Pending => std::thread::park(),
            }
        }
    }
}

/// The error of a sync that has failed.
pub(super) fn not_synced(error: std::io::Error) -> PgError {
    PgError::new(SqlState::IO_ERROR, format!("could not sync the write-ahead log: {error}")).fatal()
}

/// Wakes the thread that waits for a future.
struct Unparks(Thread);

impl Wake for Unparks {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

impl<N: Natives> Inner<N> {
    /// One sync, by whoever has set `syncing`; who waits for it is told.
    pub(super) fn sync(self: &Arc<Self>) -> Result<()> {
        let upto = self.state.lock().commits;
        let result = self.wal.as_ref().map_or(Ok(()), |wal| {
            let extent = wal.sync_file().map_err(not_synced)?;
            if self.replicator.get().is_some() {
                wal.check()?;
                self.replicate(upto)?;
            }
            self.log.progress.is_synced(&extent, upto);
            // what is on disk in a file that nobody finds again is not kept
            wal.check()
        });
        let told = {
            let mut state = self.state.lock();
            state.syncing = false;
            match &result {
                Ok(()) => state.synced = upto,
                Err(e) => state.failed = Some(e.clone()),
            }
            // what was left open meanwhile is next, unless somebody is about to join it
            if state.open.is_some() && !state.held {
                state.held = true;
                state.due = true;
            }
            let is_told = |(number, _): &(u64, _)| *number <= upto || result.is_err();
            let (told, waiting): (Vec<_>, _) = std::mem::take(&mut state.waiting).into_iter().partition(is_told);
            state.waiting = waiting;
            told
        };
        for (_, member) in told {
            member.tell(result.clone());
        }
        if result.is_err() {
            self.save_removed();
        }
        result
    }

    /// If the log was removed: sees to it that what was acknowledged is in the database, as soon as nobody reads an older state of it.
    fn save_removed(self: &Arc<Self>) {
        const PAUSE: std::time::Duration = std::time::Duration::from_millis(20);
        let inner = Arc::downgrade(self);
        let save = move || {
            while inner.upgrade().is_some_and(|inner| inner.wal.as_ref().is_some_and(Wal::save_removed)) {
                std::thread::sleep(PAUSE);
            }
        };
        if let Err(e) = std::thread::Builder::new().name("saves-log".into()).spawn(save) {
            tracing::error!("a log that was removed is not written back: {e}");
        }
    }

    /// If there is something to commit or to sync, the committer does it, on its thread.
    pub(super) fn call_committer(self: &Arc<Self>) {
        if !self.state.lock().has_work() {
            return;
        }
        let mut committer = self.committer.lock();
        if committer.is_none() {
            let inner = self.clone();
            match std::thread::Builder::new().name("committer".into()).spawn(move || inner.work()) {
                Ok(thread) => *committer = Some(thread),
                Err(e) => {
                    drop(committer);
                    tracing::debug!("no thread for the committer: {e}");
                    while self.work_once() {}
                    return;
                }
            }
        }
        self.work.notify_one();
    }

    /// The committer's thread.
    fn work(self: &Arc<Self>) {
        loop {
            {
                let mut state = self.state.lock();
                while !state.has_work() {
                    if state.closed {
                        return;
                    }
                    self.work.wait(&mut state);
                }
            }
            self.work_once();
        }
    }

    /// Commits what is due, or syncs what waits for it. False: there is nothing to do.
    fn work_once(self: &Arc<Self>) -> bool {
        let mut state = self.state.lock();
        if std::mem::take(&mut state.due) {
            let shared = state.open.take();
            drop(state);
            if let Some(shared) = shared {
                self.commit(shared);
            }
            self.give_back(None);
            return true;
        }
        if state.has_work() {
            state.syncing = true;
            drop(state);
            if let Err(e) = self.sync() {
                tracing::error!(error = %e, "no more writes are accepted");
            }
            return true;
        }
        false
    }
}

impl<N: Natives> Drop for Writer<N> {
    fn drop(&mut self) {
        self.stop_checkpoints();
        self.0.state.lock().closed = true;
        self.0.work.notify_one();
        // (its thread may ask for the committer, or start another one, before it ends: nobody may hold the lock meanwhile)
        loop {
            let committer = self.0.committer.lock().take();
            let Some(committer) = committer else { return };
            if committer.join().is_err() {
                tracing::error!("the committer's thread has panicked");
            }
        }
    }
}
