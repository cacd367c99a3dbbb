//! What the server counts of itself: who is there and does what ([`activity`]), what each database did, what each statement took
//! ([`statements`]), how long statements took altogether.
//!
//! One [`Statistics`] is shared by all databases of a server. Sessions write into it as they go (`session/settings/observation.rs`): a few relaxed
//! atomics and one uncontended lock per statement. It is read by pg_stat_activity, pg_stat_database and pg_stat_statements
//! (`pg_catalog/cumulative_statistics.rs`) and by the server's metrics. Nothing of it is kept over a restart.

pub mod activity;
pub mod fetched;
pub mod functions;
pub mod progress;
pub mod refused;
pub mod senders;
pub mod slru;
pub mod statements;

use activity::Activity;
use parking_lot::Mutex;
use pgsqlite_storage::connection::{Idle, Natives};
use pgsqlite_types::{Oid, SqlState};
use statements::Statements;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

/// What a server counts.
#[derive(Default)]
pub struct Statistics {
    sessions: Mutex<BTreeMap<u64, Arc<Activity>>>,
    databases: Mutex<BTreeMap<String, Arc<DatabaseCounters>>>,
    errors: Mutex<BTreeMap<String, u64>>,
    pub statements: Statements,
    pub durations: Durations,
    /// what has become of the files of archives
    pub archiving: Archiving,
    /// connections of standbys
    pub senders: senders::Senders,
    pub slrus: slru::Slrus,
}

impl std::fmt::Debug for Statistics {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str("Statistics")
    }
}

/// What was done in one database since the server started, or since pg_stat_reset().
#[derive(Default)]
pub struct DatabaseCounters {
    pub commits: AtomicU64,
    pub rollbacks: AtomicU64,
    /// statements that ended, with or without an error
    pub statements: AtomicU64,
    /// rows that queries gave to clients
    pub rows_returned: AtomicU64,
    pub rows_inserted: AtomicU64,
    pub rows_updated: AtomicU64,
    pub rows_deleted: AtomicU64,
    pub sessions: AtomicU64,
    pub sessions_killed: AtomicU64,
    /// microseconds
    pub session_time: AtomicU64,
    pub active_time: AtomicU64,
    pub idle_in_transaction_time: AtomicU64,
    /// pages that SQLite read from the file or its log
    pub blocks_read: AtomicU64,
    /// pages that SQLite found in a connection's cache
    pub blocks_hit: AtomicU64,
    /// files that were written to the database's archive
    pub archived: AtomicU64,
    /// attempts to do so that failed
    pub archive_failed: AtomicU64,
    /// milliseconds since 1970: what was committed by then is in the archive; 0: there is none
    pub archive_current: AtomicU64,
    /// milliseconds since 1970: when the last attempt failed; 0: none has
    pub archive_failed_at: AtomicI64,
    /// the last place of the log that was taken for the archive or, without one, for standbys; None: for neither, or the archive has not been read yet
    pub archive_place: Mutex<Option<Option<LogPlace>>>,
    /// how far in the log the archive has come
    pub archive_lsn: AtomicU64,
    /// microseconds since 2000-01-01 UTC; 0: never
    pub reset: AtomicI64,
    pub functions: functions::Functions,
    /// by the OID of the table
    maintenance: Mutex<BTreeMap<Oid, Maintenance>>,
    /// the connections that are not in use, which know pages that are not counted above yet
    pool: Mutex<Option<Weak<dyn CountsPages>>>,
}

/// A place in the log of a database, counted from the beginning of its archive, and where that is in the log's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogPlace {
    /// the bytes up to it
    pub lsn: u64,
    /// what the log's beginning is called
    pub salt: [u8; 8],
    /// so many frames of it are before the place
    pub frames: u32,
}

impl LogPlace {
    /// The place that the log has come to: its beginning's name, how many frames it has, and the bytes of each.
    pub fn now(&self, log: Option<([u8; 8], u32, u64)>) -> u64 {
        let Some((salt, frames, bytes)) = log else { return self.lsn };
        // (a log that has begun anew was read to its end before)
        let since = if salt == self.salt { frames.saturating_sub(self.frames) } else { frames };
        self.lsn + u64::from(since) * bytes
    }
}

/// pg_stat_archiver: what has become of the files of all databases' archives.
#[derive(Debug)]
pub struct Archiving(Mutex<Archived>);

/// What pg_stat_archiver shows. Times are microseconds since 2000-01-01 UTC.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Archived {
    /// so many files were written
    pub count: i64,
    /// the last one, and when
    pub last: Option<(String, i64)>,
    /// so many attempts failed
    pub failed: i64,
    /// the file of the last one, and when
    pub last_failed: Option<(String, i64)>,
    /// since when this is counted
    pub reset: i64,
}

impl Default for Archiving {
    fn default() -> Archiving {
        Archiving(Mutex::new(Archived { reset: pgsqlite_metadata::clock::now(), ..Archived::default() }))
    }
}

impl Archiving {
    /// What there is to show.
    pub fn shown(&self) -> Archived {
        self.0.lock().clone()
    }

    /// A file was written.
    pub fn archived(&self, file: String) {
        let mut archived = self.0.lock();
        archived.count += 1;
        archived.last = Some((file, pgsqlite_metadata::clock::now()));
    }

    /// An attempt failed.
    pub fn failed(&self, file: String) {
        let mut archived = self.0.lock();
        archived.failed += 1;
        archived.last_failed = Some((file, pgsqlite_metadata::clock::now()));
    }

    /// `pg_stat_reset_shared('archiver')`
    pub fn reset(&self) {
        *self.0.lock() = Archived { reset: pgsqlite_metadata::clock::now(), ..Archived::default() };
    }
}

/// What VACUUM and ANALYZE did to a table. Times are microseconds since 2000-01-01 UTC.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Maintenance {
    pub last_vacuum: Option<i64>,
    pub vacuum_count: i64,
    pub last_analyze: Option<i64>,
    pub analyze_count: i64,
}

/// Connections that can add the pages that they have read to [`DatabaseCounters`].
pub trait CountsPages: Send + Sync {
    /// Adds what the connections have read since they were asked last.
    fn count_pages(&self);
}

impl<N: Natives> CountsPages for Idle<N>
where
    Idle<N>: Send + Sync,
{
    fn count_pages(&self) {
        Idle::count_pages(self);
    }
}

/// Adds to a counter that nobody waits for.
pub fn add(counter: &AtomicU64, n: u64) {
    counter.fetch_add(n, Ordering::Relaxed);
}

impl DatabaseCounters {
    fn all(&self) -> [&AtomicU64; 14] {
        [
            &self.commits,
            &self.rollbacks,
            &self.statements,
            &self.rows_returned,
            &self.rows_inserted,
            &self.rows_updated,
            &self.rows_deleted,
            &self.sessions,
            &self.sessions_killed,
            &self.session_time,
            &self.active_time,
            &self.idle_in_transaction_time,
            &self.blocks_read,
            &self.blocks_hit,
        ]
    }

    /// `pool` is asked for its pages before they are shown.
    pub fn set_pool(&self, pool: Weak<dyn CountsPages>) {
        *self.pool.lock() = Some(pool);
    }

    /// Adds the pages that connections which are not in use have read since this was called last.
    pub fn gather_pages(&self) {
        let pool = self.pool.lock().as_ref().and_then(Weak::upgrade);
        if let Some(pool) = pool {
            pool.count_pages();
        }
    }

    /// What VACUUM and ANALYZE did to a table.
    pub fn maintenance(&self, table: Oid) -> Maintenance {
        self.maintenance.lock().get(&table).copied().unwrap_or_default()
    }

    /// VACUUM has cleaned up the tables.
    pub fn vacuumed(&self, tables: impl IntoIterator<Item = Oid>, now: i64) {
        let mut maintenance = self.maintenance.lock();
        for table in tables {
            let of_table = maintenance.entry(table).or_default();
            of_table.last_vacuum = Some(now);
            of_table.vacuum_count += 1;
        }
    }

    /// ANALYZE has counted the rows of the tables.
    pub fn analyzed(&self, tables: impl IntoIterator<Item = Oid>, now: i64) {
        let mut maintenance = self.maintenance.lock();
        for table in tables {
            let of_table = maintenance.entry(table).or_default();
            of_table.last_analyze = Some(now);
            of_table.analyze_count += 1;
        }
    }

    /// Forgets the tables for which `exists` is false.
    pub fn keep_tables(&self, exists: impl Fn(Oid) -> bool) {
        self.maintenance.lock().retain(|table, _| exists(*table));
    }

    /// `pg_stat_reset_single_table_counters()`
    pub fn reset_table(&self, table: Oid, now: i64) {
        self.maintenance.lock().remove(&table);
        self.reset.store(now, Ordering::Relaxed);
    }
}

impl Statistics {
    /// The counters of a database, which are made where there are none.
    pub fn database(&self, name: &str) -> Arc<DatabaseCounters> {
        self.databases.lock().entry(name.to_string()).or_default().clone()
    }

    /// The databases that were open since the server started.
    pub fn databases(&self) -> Vec<(String, Arc<DatabaseCounters>)> {
        self.databases.lock().iter().map(|(name, counters)| (name.clone(), counters.clone())).collect()
    }

    /// `pg_stat_reset()`: a database's counters begin at 0 again.
    pub fn reset_database(&self, name: &str, now: i64) {
        let counters = self.database(name);
        counters.gather_pages();
        counters.maintenance.lock().clear();
        counters.functions.reset_all();
        counters.all().into_iter().for_each(|c| c.store(0, Ordering::Relaxed));
        counters.reset.store(now, Ordering::Relaxed);
    }

    /// Adds a session to those that pg_stat_activity shows.
    pub fn enter(&self, activity: &Arc<Activity>) {
        self.sessions.lock().insert(activity.number, activity.clone());
    }

    /// Takes the session with this number out of them.
    pub fn leave(&self, number: u64) {
        self.sessions.lock().remove(&number);
    }

    /// The sessions that are there, the oldest first.
    pub fn sessions(&self) -> Vec<Arc<Activity>> {
        self.sessions.lock().values().cloned().collect()
    }

    /// A statement ended in an error.
    pub fn failed(&self, state: SqlState) {
        *self.errors.lock().entry(state.to_string()).or_default() += 1;
    }

    /// How many errors were told to clients, by SQLSTATE.
    pub fn errors(&self) -> Vec<(String, u64)> {
        self.errors.lock().iter().map(|(state, n)| (state.clone(), *n)).collect()
    }
}

/// How many statements took at most how long.
#[derive(Default)]
pub struct Durations {
    buckets: [AtomicU64; Durations::BOUNDS.len() + 1],
    /// microseconds
    sum: AtomicU64,
}

impl Durations {
    /// Upper bounds in seconds; what is longer has a bucket of its own.
    pub const BOUNDS: [f64; 16] = [
        0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0,
    ];

    /// Counts something that took so long.
    pub fn record(&self, took: Duration) {
        let seconds = took.as_secs_f64();
        let bucket = Self::BOUNDS.iter().position(|b| seconds <= *b).unwrap_or(Self::BOUNDS.len());
        add(&self.buckets[bucket], 1);
        add(&self.sum, took.as_micros() as u64);
    }

    /// The number of statements up to each bound, all of them, and the sum of their seconds.
    pub fn cumulative(&self) -> (Vec<(f64, u64)>, u64, f64) {
        let mut count = 0;
        let mut out = Vec::new();
        for (i, bucket) in self.buckets.iter().enumerate() {
            count += bucket.load(Ordering::Relaxed);
            if let Some(bound) = Self::BOUNDS.get(i) {
                out.push((*bound, count));
            }
        }
        (out, count, self.sum.load(Ordering::Relaxed) as f64 / 1e6)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_counted_up_to_each_bound() {
        let durations = Durations::default();
        for micros in [10, 100, 101, 20_000_000] {
            durations.record(Duration::from_micros(micros));
        }
        let (buckets, count, sum) = durations.cumulative();
        assert_eq!(buckets[0], (0.000_05, 1));
        assert_eq!(buckets[1], (0.000_1, 2));
        assert_eq!(buckets[2], (0.000_25, 3));
        assert_eq!(buckets.last(), Some(&(10.0, 3)));
        assert_eq!(count, 4);
        assert!((sum - 20.000_211).abs() < 1e-9);
    }

    #[test]
    fn a_reset_begins_at_zero() {
        let statistics = Statistics::default();
        let counters = statistics.database("a");
        counters.all().into_iter().for_each(|c| add(c, 7));
        statistics.reset_database("a", 42);
        assert!(counters.all().into_iter().all(|c| c.load(Ordering::Relaxed) == 0));
        assert_eq!(statistics.database("a").reset.load(Ordering::Relaxed), 42);
    }
}
