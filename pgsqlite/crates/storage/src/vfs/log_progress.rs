//! How far a database's log is on disk, and which connections have read beyond that.
//!
//! SQLite shows a commit to readers as soon as its frames are written; it lasts once they are synced, which comes later and for several
//! commits at once. A reader's answer must not rest on a commit that a loss of power takes back, so it waits for the sync of what the
//! reader has seen. What a connection sees comes from the log by `xRead`: a frame beyond [`Progress::on_disk`] marks the connection, and
//! whoever answers with what it has read compares the mark with [`Progress::synced`]. A reader that has met no such frame waits for
//! nothing, however busy the writers are. [`Progress::on_disk`] is always the end of a commit: a sync may come between the frames of
//! one, and the first of them on disk are nothing without the last.
//!
//! Where others have to have a commit before it is acknowledged (`crate::writer::Replicator`), "on disk" means that they have it.
//!
//! Commits under `synchronous_commit = off` are exempt, as in PostgreSQL: [`Progress::begun`] counts only those that somebody waits for.
//!
//! A reader waits for no more than a small sync: where much of the log waits for the disk, a commit's last frame, which shows it to
//! readers, is written only when what comes before it is on disk ([`Progress::is_long`]). So the sync of a bulk load, which may take
//! seconds, is waited for by the one who loads.
//!
//! A sync that has failed is remembered here, whoever asked for it (SQLite's own checkpoints ignore such an error at COMMIT): the system
//! may have dropped what it was for, and the next sync reports success. So every later sync of the database fails, too: no checkpoint
//! takes the log for copied, and the writer accepts nothing more.

use super::wal_frames::HEADER;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

/// What a sync writes for a header that is written anew, without its page: a page of the system's cache, in bytes.
const BLOCK: u64 = 4096;
/// Above so many bytes that no sync has written yet, readers would notice how long the sync of a commit takes.
const LONG: u64 = 1 << 20;

/// What SQLite writes to the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// the header of a commit's last frame, whose page follows
    Last,
    /// such a header over one that was there: its page follows, or it is the last write of a commit that had written a frame twice
    LastAgain,
    /// anything else
    Other,
}

/// The log of one database, as this process writes and syncs it.
#[derive(Default)]
pub struct Progress {
    /// the number of the last commit, made or being made, that somebody waits for the disk with
    begun: AtomicU64,
    /// all commits up to this number are on disk
    synced: AtomicU64,
    /// all commits up to this number are on this machine's disk; where others have to have them, too, `synced` comes later
    on_own_disk: AtomicU64,
    /// the log is on disk up to here, the end of a commit, as far as is known
    on_disk: AtomicI64,
    /// the log has been written up to here, or is being written
    written: AtomicI64,
    /// the end of the last commit that has been written
    committed: AtomicI64,
    /// where the page will be whose frame ends a commit, while its header alone has been given to be written
    commit_page: AtomicI64,
    /// at most so many bytes have been written to the log since a sync of it began
    unsynced: AtomicU64,
    /// how often the log has been cut or written anew before its end: a sync that began before says nothing about what came after
    cuts: Mutex<u64>,
    /// a sync has failed
    failed: AtomicBool,
    /// the number of the last commit that changed the catalog
    catalog: AtomicU64,
    /// all bytes that have ever been written to the log
    appended: AtomicU64,
    /// the connections of this process
    readers: Mutex<Vec<Weak<Reader>>>,
    /// how often the log has begun anew
    beginnings: AtomicU64,
}

/// What one connection reads of the log, for others to look at.
#[derive(Default)]
struct Reader {
    /// whose connection it is at the moment; 0: nobody's
    session: AtomicU64,
    /// [`Progress::appended`] when the transaction that it reads in began, and one; 0: it reads nothing
    began: AtomicU64,
    /// its transaction is a branch: nothing of it may reach the log
    beside: AtomicBool,
    /// it has SQLite's lock for writers
    writes: AtomicBool,
}

/// The read transaction that has kept the log from beginning anew for longest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OldestReader {
    /// whose it is; 0: of nobody's session
    pub session: u64,
    /// tells it from other transactions of the connection
    pub began: u64,
    /// by how many bytes the log has grown since
    pub grown: u64,
}

/// What a sync is to make durable; to be taken before it begins.
pub struct Extent {
    end: i64,
    cuts: u64,
}

impl Progress {
    /// These bytes are about to be written to the log at `at`. Returns what they are.
    pub fn writes(&self, at: i64, bytes: &[u8]) -> Part {
        let end = at + bytes.len() as i64;
        self.appended.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        let again = at < self.written.load(Ordering::Relaxed);
        self.unsynced
            .fetch_add(if again { BLOCK.max(bytes.len() as u64) } else { bytes.len() as u64 }, Ordering::Relaxed);
        if again {
            self.cut(at, end);
        } else {
            self.written.store(end, Ordering::Relaxed);
        }
        match (ends_commit(bytes), again) {
            (false, _) => Part::Other,
            (true, false) => Part::Last,
            (true, true) => Part::LastAgain,
        }
    }

    /// These bytes have been written to the log at `at`: a frame's header may still wait for its page.
    pub fn wrote(&self, at: i64, bytes: &[u8], part: Part) {
        match part {
            Part::Last | Part::LastAgain => self.commit_page.store(at + HEADER as i64, Ordering::Relaxed),
            Part::Other => {
                if self.commit_page.swap(0, Ordering::Relaxed) == at && at > 0 {
                    self.committed.store(at + bytes.len() as i64, Ordering::Release);
                }
            }
        }
    }

    /// Whether the log is to be synced before a commit that somebody waits for is shown to readers: its sync would take long.
    pub fn is_long(&self) -> bool {
        self.unsynced.load(Ordering::Relaxed) > LONG && self.has_unsynced()
    }

    /// A sync of the log begins: it writes all that was written before.
    pub fn sync_begins(&self) {
        self.unsynced.store(0, Ordering::Relaxed);
    }

    /// What comes behind `at` is not on disk any more; the log ends at `end`, or further on.
    fn cut(&self, at: i64, end: i64) {
        let mut cuts = self.cuts.lock();
        *cuts += 1;
        if at == 0 {
            self.beginnings.fetch_add(1, Ordering::Relaxed);
        }
        if at < self.on_disk.load(Ordering::Relaxed) {
            self.on_disk.store(at, Ordering::Release);
        }
        self.committed.fetch_min(at, Ordering::Release);
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
        self.sync_begins();
        let cuts = self.cuts.lock();
        Extent { end: self.committed.load(Ordering::Acquire), cuts: *cuts }
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

    /// Commits up to this number are on this machine's disk, and others are yet to have them.
    pub fn is_on_own_disk(&self, upto: u64) {
        self.on_own_disk.fetch_max(upto, Ordering::AcqRel);
    }

    /// The number up to which commits are on this machine's disk.
    pub fn on_own_disk(&self) -> u64 {
        self.on_own_disk.load(Ordering::Acquire).max(self.synced())
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

    /// How often the log has begun anew since the database was opened: all of it was in the file then.
    pub fn beginnings(&self) -> u64 {
        self.beginnings.load(Ordering::Relaxed)
    }

    /// How long the log is, in bytes, since it began anew.
    pub fn length(&self) -> u64 {
        self.written.load(Ordering::Relaxed).max(0) as u64
    }

    /// How many bytes have been written to the log since the database was opened.
    pub fn appended(&self) -> u64 {
        self.appended.load(Ordering::Relaxed)
    }

    /// Which of this process' read transactions began first.
    pub fn oldest_reader(&self) -> Option<OldestReader> {
        let readers = self.readers.lock();
        let reading = readers.iter().filter_map(Weak::upgrade).filter_map(|reader| {
            let began = reader.began.load(Ordering::Acquire);
            (began > 0).then(|| (began, reader.session.load(Ordering::Acquire)))
        });
        let (began, session) = reading.min()?;
        let grown = (self.appended.load(Ordering::Relaxed) + 1).saturating_sub(began);
        Some(OldestReader { session, began, grown })
    }
}

/// Whether these bytes are the header of a commit's last frame, which has the size of the database.
fn ends_commit(bytes: &[u8]) -> bool {
    bytes.len() == HEADER && bytes[4..8] != [0; 4]
}

/// The view that one connection has of the log.
#[derive(Clone, Default)]
pub struct Reading {
    /// the database's
    pub progress: Arc<Progress>,
    /// No commit above this number has been seen through this connection.
    seen: Arc<AtomicU64>,
    reader: Arc<Reader>,
}

impl Reading {
    /// Of a database whose other connections have this progress.
    pub fn of(progress: Arc<Progress>) -> Reading {
        let reader = Arc::<Reader>::default();
        let mut readers = progress.readers.lock();
        readers.retain(|other| other.strong_count() > 0);
        readers.push(Arc::downgrade(&reader));
        drop(readers);
        Reading { progress, seen: Arc::default(), reader }
    }

    /// The connection is this session's from now on.
    pub fn belongs_to(&self, session: u64) {
        self.reader.session.store(session, Ordering::Release);
    }

    /// A read transaction of the connection begins.
    pub fn begins(&self) {
        self.reader.began.store(self.progress.appended.load(Ordering::Relaxed) + 1, Ordering::Release);
    }

    /// The connection's read transaction has ended.
    pub fn ends(&self) {
        self.reader.began.store(0, Ordering::Release);
    }

    /// [`OldestReader::began`] of the connection's read transaction; 0: it reads nothing.
    pub fn began(&self) -> u64 {
        self.reader.began.load(Ordering::Acquire)
    }

    /// The connection's transaction is a branch ([`super::branch`]), or is no more.
    pub fn set_beside(&self, beside: bool) {
        self.reader.beside.store(beside, Ordering::Release);
    }

    /// Whether the connection must not write to the log.
    pub fn is_beside(&self) -> bool {
        self.reader.beside.load(Ordering::Acquire)
    }

    /// The connection has got SQLite's lock for writers, or has given it back.
    pub fn set_writing(&self, writes: bool) {
        self.reader.writes.store(writes, Ordering::Release);
    }

    /// Whether the connection can only read now. Then what it reads from its files may fail: SQLite takes nothing back.
    pub fn only_reads(&self) -> bool {
        !self.reader.writes.load(Ordering::Acquire) && !self.is_beside()
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

    impl Progress {
        /// At most so many bytes of the log wait for a sync.
        pub fn unsynced_bytes(&self) -> u64 {
            self.unsynced.load(Ordering::Relaxed)
        }

        fn write(&self, at: i64, bytes: &[u8]) -> Part {
            let part = self.writes(at, bytes);
            self.wrote(at, bytes, part);
            part
        }

        /// SQLite writes the log's header.
        fn log_header(&self) {
            self.write(0, &[1; 32]);
        }

        /// SQLite writes a frame; `ends`: it is a commit's last one.
        fn frame(&self, at: i64, ends: bool) {
            self.write(at, &[ends as u8; 24]);
            self.write(at + 24, &[7; 4096]);
        }
    }

    #[test]
    fn only_who_has_read_an_unsynced_frame_waits() {
        let first = reading();
        let p = first.progress.clone();
        let other = Reading::of(p.clone());
        p.log_header();
        p.frame(32, true);
        p.is_synced(&p.extent(), 1);
        p.begins(2);
        p.frame(4152, true);
        first.reads(32, 4120);
        other.reads(4152, 4120);
        assert!(first.is_settled() && !other.is_settled());
        p.is_synced(&p.extent(), 2);
        assert!(other.is_settled() && !p.has_unsynced());
    }

    #[test]
    fn the_oldest_reader_is_the_one_that_began_first() {
        let first = reading();
        let p = first.progress.clone();
        let second = Reading::of(p.clone());
        first.belongs_to(1);
        second.belongs_to(2);
        assert_eq!(p.oldest_reader(), None);
        second.begins();
        p.log_header();
        p.frame(32, true);
        first.begins();
        p.frame(4152, true);
        assert_eq!(p.oldest_reader(), Some(OldestReader { session: 2, began: second.began(), grown: 32 + 2 * 4120 }));
        assert_eq!(p.length(), 32 + 2 * 4120);
        second.ends();
        assert_eq!(p.oldest_reader().map(|r| (r.session, r.grown)), Some((1, 4120)));
        drop(first);
        assert_eq!(p.oldest_reader(), None);
    }

    #[test]
    fn what_nobody_waits_for_marks_nobody() {
        let r = reading();
        r.progress.log_header();
        r.progress.frame(32, true);
        r.reads(32, 4120);
        assert!(r.is_settled());
    }

    #[test]
    fn frames_on_disk_are_nothing_without_the_end_of_their_commit() {
        let r = reading();
        let p = &r.progress;
        p.log_header();
        p.frame(32, true);
        p.begins(2);
        p.frame(4152, false);
        // a sync for another commit comes between the frames of this one
        let between = p.extent();
        p.write(8272, &[1; 24]);
        let before_the_page = p.extent();
        p.write(8296, &[7; 4096]);
        for extent in [between, before_the_page] {
            p.is_synced(&extent, 1);
            assert_eq!(p.on_disk.load(Ordering::Relaxed), 4152);
        }
        r.reads(4176, 4096);
        assert!(!r.is_settled());
        p.is_synced(&p.extent(), 2);
        assert!(r.is_settled());
        assert_eq!(p.on_disk.load(Ordering::Relaxed), 12392);
    }

    #[test]
    fn frames_over_those_of_a_transaction_that_was_taken_back_end_where_they_end() {
        let r = reading();
        let p = &r.progress;
        p.log_header();
        for number in 0..3 {
            p.frame(32 + number * 4120, false);
        }
        // they were taken back; the next commit is shorter
        p.begins(1);
        assert_eq!(p.write(32, &[1; 24]), Part::LastAgain);
        p.write(56, &[7; 4096]);
        p.is_synced(&p.extent(), 1);
        assert_eq!(p.on_disk.load(Ordering::Relaxed), 4152);
        p.begins(2);
        p.frame(4152, true);
        r.reads(4152, 4120);
        assert!(!r.is_settled());
    }

    #[test]
    fn a_commit_is_long_until_a_sync_of_it_begins_and_if_somebody_waits_for_it() {
        let p = Progress::default();
        p.log_header();
        for number in 0..300 {
            p.frame(32 + number * 4120, false);
        }
        assert!(!p.is_long(), "nobody waits");
        p.begins(1);
        assert!(p.is_long());
        p.extent();
        assert!(!p.is_long());
        // headers alone cost the disk a block each
        for number in 0..300 {
            p.write(32 + number * 4120, &[0; 24]);
        }
        assert!(p.is_long());
    }

    #[test]
    fn a_sync_of_the_log_before_says_nothing_of_the_log_after_it_began_anew() {
        let r = reading();
        let p = &r.progress;
        p.log_header();
        p.frame(32, false);
        p.frame(4152, true);
        let before = p.extent();
        p.begins(1);
        p.log_header();
        p.frame(32, true);
        p.is_synced(&before, 0);
        r.reads(32, 4120);
        assert!(!r.is_settled());
        // nor does one of a log that was begun anew twice
        let before = p.extent();
        p.log_header();
        p.is_synced(&before, 0);
        assert_eq!(p.on_disk.load(Ordering::Relaxed), 0);
        p.frame(32, true);
        p.is_synced(&p.extent(), 1);
        assert!(r.is_settled());
        assert_eq!(p.on_disk.load(Ordering::Relaxed), 4152);
        p.truncates(0);
        assert_eq!(p.on_disk.load(Ordering::Relaxed), 0);
    }
}
