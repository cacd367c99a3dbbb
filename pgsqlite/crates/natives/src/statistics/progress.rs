//! How far a session's command is that takes long: the rows of pg_stat_progress_copy, pg_stat_progress_create_index and others.

use pgsqlite_types::Oid;
use std::sync::atomic::{AtomicU64, AtomicU8, Ordering};
use std::sync::Arc;

/// What takes long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    CopyFrom,
    CreateIndex,
    Reindex,
    VacuumFull,
    Analyze,
}

/// How far a command is. Whoever carries it out writes, everybody reads.
#[derive(Debug)]
pub struct Progress {
    pub command: Command,
    /// the table; 0: none, or all of them
    relation: AtomicU64,
    /// the index that is built; 0: none
    index: AtomicU64,
    pub done: Amount,
    /// 0: not known
    pub total: Amount,
    /// SQLite's steps on the thread of the command
    pub steps: Arc<AtomicU64>,
    build: Build,
}

/// Bytes, rows and pages.
#[derive(Debug, Default)]
pub struct Amount {
    pub bytes: AtomicU64,
    pub rows: AtomicU64,
    pub pages: AtomicU64,
}

/// An index that is being built, in SQLite's steps.
#[derive(Debug, Default)]
struct Build {
    began: AtomicU64,
    /// for each row that is read, and for each that is put into the index
    scan: AtomicU8,
    load: AtomicU8,
}

/// How far the building of an index is, as far as SQLite's steps tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Built {
    pub phase: &'static str,
    /// rows that were read; in the phase of loading, that are in the index
    pub rows: u64,
    pub total: u64,
}

impl Progress {
    /// Of a command that begins now.
    pub fn new(command: Command, relation: Oid) -> Arc<Progress> {
        Arc::new(Progress {
            command,
            relation: AtomicU64::new(relation.into()),
            index: AtomicU64::new(0),
            done: Amount::default(),
            total: Amount::default(),
            steps: Arc::default(),
            build: Build::default(),
        })
    }

    pub fn relation(&self) -> Oid {
        self.relation.load(Ordering::Relaxed) as Oid
    }

    pub fn index(&self) -> Oid {
        self.index.load(Ordering::Relaxed) as Oid
    }

    /// The command has come to a table.
    pub fn comes_to(&self, relation: Oid) {
        self.relation.store(relation.into(), Ordering::Relaxed);
    }

    /// An index with so many keys is built for a table with about so many rows.
    pub fn builds(&self, relation: Oid, index: Oid, keys: usize, unique: bool, rows: u64) {
        self.comes_to(relation);
        self.total.rows.store(rows, Ordering::Relaxed);
        // SQLite reads each key, the row's number, makes a record, gives it to the sorter, and goes on
        self.build.scan.store(u8::try_from(keys).unwrap_or(u8::MAX).saturating_add(4), Ordering::Relaxed);
        // it takes a record from the sorter, looks for its place, puts it there, and goes on
        self.build.load.store(4 + u8::from(unique), Ordering::Relaxed);
        self.build.began.store(self.steps.load(Ordering::Relaxed), Ordering::Relaxed);
        self.index.store(index.into(), Ordering::Relaxed);
    }

    /// How far the building of the index is. None: none is being built.
    pub fn built(&self) -> Option<Built> {
        if self.index() == 0 {
            return None;
        }
        let total = self.total.rows.load(Ordering::Relaxed);
        let steps = self.steps.load(Ordering::Relaxed).saturating_sub(self.build.began.load(Ordering::Relaxed));
        let of = |each: &AtomicU8| u64::from(each.load(Ordering::Relaxed)).max(1);
        let (scan, load) = (of(&self.build.scan), of(&self.build.load));
        let read = steps / scan;
        Some(match read < total {
            true => Built { phase: "building index: scanning table", rows: read, total },
            false => Built {
                phase: "building index: loading tuples in tree",
                rows: (steps.saturating_sub(total * scan) / load).min(total),
                total,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_steps_tell_what_an_index_has_come_to() {
        let progress = Progress::new(Command::CreateIndex, 7);
        assert_eq!(progress.built(), None);
        progress.steps.store(500, Ordering::Relaxed);
        progress.builds(7, 8, 1, false, 100);
        let at = |steps: u64| {
            progress.steps.store(500 + steps, Ordering::Relaxed);
            progress.built().unwrap()
        };
        let built = |phase, rows| Built { phase, rows, total: 100 };
        assert_eq!(at(0), built("building index: scanning table", 0));
        assert_eq!(at(250), built("building index: scanning table", 50));
        assert_eq!(at(500), built("building index: loading tuples in tree", 0));
        assert_eq!(at(700), built("building index: loading tuples in tree", 50));
        assert_eq!(at(9000), built("building index: loading tuples in tree", 100));
    }
}
