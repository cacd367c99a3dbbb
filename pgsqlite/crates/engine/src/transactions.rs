//! What became of a transaction: numbers that are known outside of it.
//!
//! A transaction gets a number when somebody asks for it. One that has written stores its number in the file before COMMIT
//! ([`pgsqlite_metadata::store::transactions`]), so that the record is there exactly if the rest is: after a crash, too. One that has not written leaves nothing
//! that a crash could take back, and is remembered in memory. What runs in this process is a [`Number`] that lives until its commit is on
//! disk or its rollback is done. Whatever is in none of the three has not committed, unless it is too long ago.

use parking_lot::Mutex;
use pgsqlite_metadata::counter::next_number;
use pgsqlite_metadata::store::transactions::{Recorded, KEPT};
use std::collections::{BTreeSet, VecDeque};

/// What this process knows.
#[derive(Default)]
struct Known {
    running: BTreeSet<u64>,
    /// committed without having written
    unwritten: VecDeque<u64>,
    /// the highest number that was removed from `unwritten`
    forgotten: u64,
}

static KNOWN: Mutex<Known> = Mutex::new(Known { running: BTreeSet::new(), unwritten: VecDeque::new(), forgotten: 0 });

/// The number of a transaction that is not over.
#[derive(Debug)]
pub struct Number(u64);

impl Number {
    /// The next number.
    pub(crate) fn take() -> Number {
        let mut known = KNOWN.lock();
        let number = next_number();
        known.running.insert(number);
        Number(number)
    }

    /// The number of a transaction that was prepared before this process began.
    pub(crate) fn of_prepared(number: u64) -> Number {
        KNOWN.lock().running.insert(number);
        Number(number)
    }

    pub(crate) fn get(&self) -> u64 {
        self.0
    }

    /// The transaction has committed, and had written nothing.
    pub(crate) fn committed_unwritten(self) {
        let mut known = KNOWN.lock();
        known.unwritten.push_back(self.0);
        if known.unwritten.len() as i64 > KEPT {
            let oldest = known.unwritten.pop_front().unwrap_or_default();
            known.forgotten = known.forgotten.max(oldest);
        }
        // (dropping it takes the lock)
        drop(known);
    }
}

impl Drop for Number {
    fn drop(&mut self) {
        KNOWN.lock().running.remove(&self.0);
    }
}

/// Whether a transaction with this number runs in this process, or waits for the disk.
pub(crate) fn is_running(number: u64) -> bool {
    KNOWN.lock().running.contains(&number)
}

/// What the process remembers of transactions that have written nothing.
pub(crate) fn unwritten(number: u64) -> Recorded {
    let known = KNOWN.lock();
    match known.unwritten.contains(&number) {
        true => Recorded::Committed,
        false if number <= known.forgotten => Recorded::Forgotten,
        false => Recorded::Absent,
    }
}
