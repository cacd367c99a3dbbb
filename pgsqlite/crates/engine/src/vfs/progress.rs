//! How far a database's log is on disk, and which connections have read beyond that.
//!
//! SQLite shows a commit to readers as soon as its frames are written; it lasts once they are synced, which comes later and for several
//! commits at once. A reader's answer must not rest on a commit that a loss of power takes back, so it waits for the sync of what the
//! reader has seen. What a connection sees comes from the log by `xRead`: a frame beyond [`Progress::on_disk`] marks the connection, and
//! whoever answers with what it has read compares the mark with [`Progress::synced`]. A reader that has met no such frame waits for
//! nothing, however busy the writers are.
//!
//! Commits under `synchronous_commit = off` are exempt, as in PostgreSQL: [`Progress::begun`] counts only those that somebody waits for.
//!
//! A sync that has failed is remembered here, whoever asked for it (SQLite's own checkpoints ignore such an error at COMMIT): the system
//! may have dropped what it was for, and the next sync reports success. So every later sync of the database fails, too: no checkpoint
//! takes the log for copied, and the writer accepts nothing more.

use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::Arc;

/// The log of one database, as this process writes and syncs it.
#[derive(Default)]
pub struct Progress {
    /// the number of the last commit, made or being made, that somebody waits for the disk with
    begun: AtomicU64,
    /// all commits up to this number are on disk
    synced: AtomicU64,
    /// the log is on disk up to here, as far as is known
    on_disk: AtomicI64,
    /// the log has been written up to here
    written: AtomicI64,
    /// how often the log has been cut or written anew before its end: a sync that began before says nothing about what came after
    cuts: Mutex<u64>,
    /// a sync has failed
    failed: AtomicBool,
    /// the number of the last commit that changed the catalog
    catalog: AtomicU64,
}

/// What a sync is to make durable; to be taken before it begins.
pub struct Extent {
    end: i64,
    cuts: u64,
}

impl Progress {
    /// `bytes` are about to be written to the log at `at`.
    pub fn writes(&self, at: i64, bytes: usize) {
        let end = at + bytes as i64;
        if at < self.written.load(Ordering::Relaxed) {
            self.cut(at, end);
        } else {
            self.written.store(end, Ordering::Relaxed);
        }
    }

    /// What comes behind `at` is not on disk any more; the log ends at `end`, or further on.
    fn cut(&self, at: i64, end: i64) {
        let mut cuts = self.cuts.lock();
        *cuts += 1;
        if at < self.on_disk.load(Ordering::Relaxed) {
            self.on_disk.store(at, Ordering::Release);
        }
        // a frame's header that is written anew leaves what comes behind it
        let written = if at == 0 { end } else { end.max(self.written.load(Ordering::Relaxed)) };
        self.written.store(written, Ordering::Relaxed);
    }

    /// The log has been truncated.
    pub fn truncates(&self, size: i64) {
        self.cut(size, size);
        self.written.store(size, Ordering::Relaxed);
    }

    /// What a sync that begins now makes durable.
    pub fn extent(&self) -> Extent {
        let cuts = self.cuts.lock();
        Extent { end: self.written.load(Ordering::Relaxed), cuts: *cuts }
    }

    /// The sync has succeeded: commits up to this number are on disk.
    pub fn is_synced(&self, extent: &Extent, upto: u64) {
        let cuts = self.cuts.lock();
        if *cuts == extent.cuts && extent.end > self.on_disk.load(Ordering::Relaxed) {
            self.on_disk.store(extent.end, Ordering::Release);
        }
        drop(cuts);
        self.synced.fetch_max(upto, Ordering::AcqRel);
    }

    /// Commit `number`, which somebody will wait for, is about to be made: readers may see it from now on.
    pub fn begins(&self, number: u64) {
        self.begun.store(number, Ordering::Release);
    }

    /// The number of the last commit that somebody waits for the disk with.
    pub fn begun(&self) -> u64 {
        self.begun.load(Ordering::Acquire)
    }

    /// Whether there are commits that somebody waits for the disk with.
    pub fn has_unsynced(&self) -> bool {
        self.begun.load(Ordering::Acquire) > self.synced.load(Ordering::Acquire)
    }

    /// The number up to which commits are on disk.
    pub fn synced(&self) -> u64 {
        self.synced.load(Ordering::Acquire)
    }

    /// Commit `number` has changed the catalog, which sessions see without reading any page.
    pub fn changes_catalog(&self, number: u64) {
        self.catalog.store(number, Ordering::Release);
    }

    /// The number of the last commit that has changed the catalog.
    pub fn catalog(&self) -> u64 {
        self.catalog.load(Ordering::Acquire)
    }

    /// A sync has failed.
    pub fn fail(&self) {
        self.failed.store(true, Ordering::Release);
    }

    /// Whether a sync has failed.
    pub fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Acquire)
    }
}

/// The view that one connection has of the log.
#[derive(Clone, Default)]
pub struct Reading {
    /// the database's
    pub progress: Arc<Progress>,
    /// No commit above this number has been seen through this connection.
    seen: Arc<AtomicU64>,
}

impl Reading {
    /// Of a database whose other connections have this progress.
    pub fn of(progress: Arc<Progress>) -> Reading {
        Reading { progress, seen: Arc::default() }
    }

    /// The connection has read `bytes` of the log at `at`.
    pub fn reads(&self, at: i64, bytes: usize) {
        if at + bytes as i64 > self.progress.on_disk.load(Ordering::Acquire) && self.progress.has_unsynced() {
            self.mark(self.progress.begun.load(Ordering::Acquire));
        }
    }

    /// The connection has the pages of this commit: it has made it, or read them.
    pub fn mark(&self, commit: u64) {
        self.seen.fetch_max(commit, Ordering::Relaxed);
    }

    /// The number of the last commit that may have been seen.
    pub fn seen(&self) -> u64 {
        self.seen.load(Ordering::Relaxed)
    }

    /// Whether all that was seen is on disk.
    pub fn is_settled(&self) -> bool {
        self.seen() <= self.progress.synced()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading() -> Reading {
        Reading::of(Arc::default())
    }

    #[test]
    fn only_who_has_read_an_unsynced_frame_waits() {
        let first = reading();
        let p = first.progress.clone();
        let other = Reading::of(p.clone());
        p.writes(0, 32);
        p.writes(32, 4120);
        p.is_synced(&p.extent(), 1);
        p.begins(2);
        p.writes(4152, 4120);
        first.reads(32, 4120);
        other.reads(4152, 4120);
        assert!(first.is_settled() && !other.is_settled());
        p.is_synced(&p.extent(), 2);
        assert!(other.is_settled() && !p.has_unsynced());
    }

    #[test]
    fn what_nobody_waits_for_marks_nobody() {
        let r = reading();
        r.progress.writes(0, 8000);
        r.reads(32, 4120);
        assert!(r.is_settled());
    }

    #[test]
    fn a_sync_of_the_log_before_says_nothing_of_the_log_after_it_began_anew() {
        let r = reading();
        let p = &r.progress;
        p.writes(0, 100_000);
        let before = p.extent();
        p.begins(1);
        p.writes(0, 32);
        p.writes(32, 4120);
        p.is_synced(&before, 0);
        r.reads(32, 4120);
        assert!(!r.is_settled());
        // nor does one of a log that was begun anew twice
        let before = p.extent();
        p.writes(0, 32);
        p.is_synced(&before, 0);
        assert_eq!(p.on_disk.load(Ordering::Relaxed), 0);
        p.is_synced(&p.extent(), 1);
        assert!(r.is_settled());
        assert_eq!(p.on_disk.load(Ordering::Relaxed), 32);
        p.truncates(0);
        assert_eq!(p.on_disk.load(Ordering::Relaxed), 0);
    }
}
