//! Serializable transactions: who has read what others have written.
//!
//! A SERIALIZABLE transaction sees its snapshot, as one of REPEATABLE READ. What it has read may be overwritten by a transaction that runs
//! at the same time: then it must come *before* that one in any order of both. Where a transaction must come before another that committed
//! first, and a third must come before itself, there may be no such order, and one of them fails with 40001 (manual: "Serializable Isolation
//! Level"; the rule: Cahill, Röhm, Fekete, "Serializable Isolation for Snapshot Databases", 2008; which transaction fails, and when: Ports,
//! Grittner, "Serializable Snapshot Isolation in PostgreSQL", 2012).
//!
//! What was read and written is known by tables. PostgreSQL watches rows and pages where an index finds them, so that fewer
//! transactions fail there.

use parking_lot::Mutex;
use pgsqlite_types::{PgError, Result, SqlState};
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

/// So many transactions that have committed are remembered for those that run. Then the oldest of these fails.
const REMEMBERED: usize = 4096;

/// Tables, by their names in SQLite.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tables {
    /// any table may be among them
    pub all: bool,
    pub names: HashSet<Box<str>>,
}

impl Tables {
    pub fn all() -> Tables {
        Tables { all: true, names: HashSet::new() }
    }

    fn is_empty(&self) -> bool {
        !self.all && self.names.is_empty()
    }

    fn meets(&self, other: &Tables) -> bool {
        match (self.all, other.all) {
            (true, _) => !other.is_empty(),
            (_, true) => !self.is_empty(),
            _ => self.names.iter().any(|n| other.names.contains(n)),
        }
    }

    fn add(&mut self, more: &Tables) {
        self.all |= more.all;
        self.names.extend(more.names.iter().cloned());
    }
}

/// A moment among beginnings and ends.
type Moment = u64;

#[derive(Debug, Default)]
struct Transaction {
    /// before its snapshot was taken
    began: Moment,
    read_only: bool,
    reads: Tables,
    writes: Tables,
    /// transactions that have read what this one has overwritten: they come before it
    readers: HashSet<u64>,
    /// transactions that have overwritten what this one has read: they come after it
    writers: HashSet<u64>,
    /// it is about to commit since then, and cannot fail any more
    prepared: Option<Moment>,
    /// it has committed, and later snapshots see that
    ended: Option<Moment>,
    /// when the first of its writers that are forgotten by now committed
    first_writer: Option<Moment>,
    /// it has to fail
    doomed: bool,
}

impl Transaction {
    /// Whether it ran while one did that began then.
    fn ran_after(&self, moment: Moment) -> bool {
        self.ended.is_none_or(|ended| ended > moment)
    }
}

#[derive(Debug, Default)]
struct State {
    now: Moment,
    last: u64,
    transactions: BTreeMap<u64, Transaction>,
}

/// The serializable transactions of a database. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct Serializable(Arc<Mutex<State>>);

/// A serializable transaction that runs. It is rolled back where it is dropped without [`Watched::committed`].
#[derive(Debug)]
pub(crate) struct Watched {
    of: Serializable,
    number: u64,
}

/// 40001, with the reason that PostgreSQL gives.
fn failed(reason: &str) -> PgError {
    let message = "could not serialize access due to read/write dependencies among transactions";
    PgError::new(SqlState::SERIALIZATION_FAILURE, message)
        .detail(format!("Reason code: Canceled on {reason}."))
        .hint("The transaction might succeed if retried.")
}

impl State {
    fn tick(&mut self) -> Moment {
        self.now += 1;
        self.now
    }

    /// When the writers of a transaction committed that have done so; and which.
    fn committed_writers<'a>(&'a self, of: &'a Transaction) -> impl Iterator<Item = Moment> + 'a {
        let known = of.writers.iter().filter_map(|w| self.transactions.get(w)?.prepared);
        known.chain(of.first_writer)
    }

    /// `reader` has read what `writer` has overwritten; `own`: the one of them that asks. Errors: it has to fail.
    fn conflict(&mut self, reader: u64, writer: u64, own: u64) -> Result<()> {
        if let Some(r) = self.transactions.get_mut(&reader) {
            r.writers.insert(writer);
        }
        if let Some(w) = self.transactions.get_mut(&writer) {
            w.readers.insert(reader);
        }
        let (Some(r), Some(w)) = (self.transactions.get(&reader), self.transactions.get(&writer)) else {
            return Ok(());
        };
        if r.doomed || w.doomed {
            return Ok(());
        }
        let before = |moment: Moment, prepared: Option<Moment>| prepared.is_none_or(|p| moment <= p);
        // reader → writer → one that committed first
        let writer_is_pivot = self
            .committed_writers(w)
            .any(|third| before(third, r.prepared) && before(third, w.prepared) && (!r.read_only || third <= r.began));
        // one → reader → writer, which committed first
        let reader_is_pivot = match w.prepared {
            Some(first) if !r.read_only && before(first, r.prepared) => r
                .readers
                .iter()
                .filter_map(|one| self.transactions.get(one))
                .any(|one| !one.doomed && before(first, one.prepared) && (!one.read_only || one.began >= first)),
            _ => false,
        };
        if !writer_is_pivot && !reader_is_pivot {
            return Ok(());
        }
        if own == writer {
            return Err(failed("identification as a pivot, during write"));
        }
        if w.prepared.is_some() {
            return Err(failed("conflict out to pivot, during read"));
        }
        if let Some(w) = self.transactions.get_mut(&writer) {
            w.doomed = true;
        }
        Ok(())
    }

    /// The transactions beside one, of those that have run at the same time, which meet a condition.
    fn others_at_the_same_time(&self, own: u64, meets: impl Fn(&Transaction) -> bool) -> Vec<u64> {
        let Some(began) = self.transactions.get(&own).map(|t| t.began) else { return vec![] };
        let others = self.transactions.iter().filter(|(number, t)| **number != own && t.ran_after(began) && meets(t));
        others.map(|(number, _)| *number).collect()
    }

    fn check(&self, number: u64, during: &str) -> Result<()> {
        match self.transactions.get(&number).is_some_and(|t| t.doomed) {
            true => Err(failed(&format!("identification as a pivot, during {during}"))),
            false => Ok(()),
        }
    }

    fn prepare(&mut self, number: u64) -> Result<()> {
        self.check(number, "commit attempt")?;
        let Some(own) = self.transactions.get(&number).filter(|t| t.prepared.is_none()) else { return Ok(()) };
        let mut doomed = Vec::new();
        for pivot in &own.readers {
            let Some(p) = self.transactions.get(pivot).filter(|p| p.ended.is_none() && !p.doomed) else { continue };
            let is_pivot = p.readers.iter().any(|one| {
                *one == number
                    || self
                        .transactions
                        .get(one)
                        .is_some_and(|one| one.prepared.is_none() && !one.read_only && !one.doomed)
            });
            if is_pivot && p.prepared.is_some() {
                return Err(failed("commit attempt with conflict in from prepared pivot"));
            }
            if is_pivot {
                doomed.push(*pivot);
            }
        }
        for pivot in doomed {
            if let Some(p) = self.transactions.get_mut(&pivot) {
                p.doomed = true;
            }
        }
        let now = self.tick();
        if let Some(own) = self.transactions.get_mut(&number) {
            own.prepared = Some(now);
        }
        Ok(())
    }

    /// The transaction has left no trace.
    fn remove(&mut self, number: u64) {
        let Some(gone) = self.transactions.remove(&number) else { return };
        for reader in gone.readers {
            if let Some(r) = self.transactions.get_mut(&reader) {
                r.writers.remove(&number);
            }
        }
        for writer in gone.writers {
            if let Some(w) = self.transactions.get_mut(&writer) {
                w.readers.remove(&number);
            }
        }
    }

    /// Forgets those that have committed before any that runs began.
    fn tidy(&mut self) {
        let running = self.transactions.values().filter(|t| t.ended.is_none());
        let oldest = running.map(|t| t.began).min().unwrap_or(Moment::MAX);
        let gone: Vec<u64> =
            self.transactions.iter().filter(|(_, t)| !t.ran_after(oldest)).map(|(number, _)| *number).collect();
        for number in gone {
            let moment = self.transactions.get(&number).and_then(|t| t.prepared);
            let readers = self.transactions.get(&number).map(|t| t.readers.clone()).unwrap_or_default();
            for reader in readers {
                if let Some(r) = self.transactions.get_mut(&reader) {
                    r.first_writer = r.first_writer.into_iter().chain(moment).min();
                }
            }
            self.remove(number);
        }
        if self.transactions.values().filter(|t| t.ended.is_some()).count() > REMEMBERED {
            let running = self.transactions.values_mut().filter(|t| t.prepared.is_none() && !t.doomed);
            if let Some(oldest) = running.min_by_key(|t| t.began) {
                oldest.doomed = true;
            }
        }
    }
}

impl Serializable {
    /// A transaction begins, whose snapshot is taken after this.
    pub fn begin(&self, read_only: bool) -> Watched {
        let mut state = self.0.lock();
        state.last += 1;
        let (number, began) = (state.last, state.now);
        state.transactions.insert(number, Transaction { began, read_only, ..Transaction::default() });
        Watched { of: self.clone(), number }
    }
}

impl Watched {
    /// The transaction is READ ONLY, or not.
    pub fn set_read_only(&self, read_only: bool) {
        if let Some(own) = self.of.0.lock().transactions.get_mut(&self.number) {
            own.read_only = read_only && own.writes.is_empty();
        }
    }

    /// It is about to read these tables. Errors: 40001.
    pub fn reads(&self, tables: &Tables) -> Result<()> {
        let mut state = self.of.0.lock();
        state.check(self.number, "conflict out checking")?;
        let Some(own) = state.transactions.get_mut(&self.number) else { return Ok(()) };
        own.reads.add(tables);
        let writers = state.others_at_the_same_time(self.number, |t| t.writes.meets(tables));
        writers.into_iter().try_for_each(|writer| state.conflict(self.number, writer, self.number))
    }

    /// It has written these tables, which others do not see yet. Errors: 40001.
    pub fn writes(&self, tables: &Tables) -> Result<()> {
        let mut state = self.of.0.lock();
        state.check(self.number, "conflict in checking")?;
        let Some(own) = state.transactions.get_mut(&self.number) else { return Ok(()) };
        own.writes.add(tables);
        let readers = state.others_at_the_same_time(self.number, |t| t.reads.meets(tables));
        readers.into_iter().try_for_each(|reader| state.conflict(reader, self.number, self.number))
    }

    /// It is about to commit. Errors: 40001.
    pub fn prepare(&self) -> Result<()> {
        self.of.0.lock().prepare(self.number)
    }

    /// It has committed: snapshots that are taken from now on show it.
    pub fn committed(self) {
        let mut state = self.of.0.lock();
        let now = state.tick();
        if let Some(own) = state.transactions.get_mut(&self.number) {
            own.ended = Some(now);
        }
        state.tidy();
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let mut state = self.of.0.lock();
        if state.transactions.get(&self.number).is_some_and(|t| t.ended.is_none()) {
            state.remove(self.number);
            state.tidy();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(names: &[&str]) -> Tables {
        Tables { all: false, names: names.iter().map(|n| (*n).into()).collect() }
    }

    fn commit(t: Watched) -> Result<()> {
        t.prepare().map(|()| t.committed())
    }

    /// Both read what the other writes.
    #[test]
    fn of_a_skew_of_writes_one_fails() {
        let all = Serializable::default();
        let (a, b) = (all.begin(false), all.begin(false));
        a.reads(&of(&["x"])).unwrap();
        b.reads(&of(&["y"])).unwrap();
        a.writes(&of(&["y"])).unwrap();
        b.writes(&of(&["x"])).unwrap();
        commit(a).unwrap();
        let failed = b.writes(&of(&["z"])).unwrap_err();
        assert_eq!(failed.code(), SqlState::SERIALIZATION_FAILURE);
        assert!(commit(b).is_err());
        // again: it sees what the first has done
        let b = all.begin(false);
        b.reads(&of(&["y"])).unwrap();
        b.writes(&of(&["x"])).unwrap();
        commit(b).unwrap();
        assert!(all.0.lock().transactions.is_empty(), "nobody runs: nothing is remembered");
    }

    #[test]
    fn one_dependency_is_no_harm() {
        let all = Serializable::default();
        let (a, b) = (all.begin(false), all.begin(false));
        a.reads(&of(&["x"])).unwrap();
        b.writes(&of(&["x"])).unwrap();
        commit(b).unwrap();
        a.writes(&of(&["y"])).unwrap();
        commit(a).unwrap();
    }

    /// A report reads a state that no order of the others gives (the anomaly of read-only transactions).
    #[test]
    fn a_reader_between_two_writers_fails() {
        let all = Serializable::default();
        let deposit = all.begin(false);
        deposit.reads(&of(&["control", "receipt"])).unwrap();
        let close = all.begin(false);
        close.reads(&of(&["control"])).unwrap();
        close.writes(&of(&["control"])).unwrap();
        commit(close).unwrap();
        let report = all.begin(true);
        report.reads(&of(&["control", "receipt"])).unwrap();
        commit(report).unwrap();
        let failed = deposit.writes(&of(&["receipt"])).unwrap_err();
        assert_eq!(failed.code(), SqlState::SERIALIZATION_FAILURE);
    }

    #[test]
    fn what_was_rolled_back_counts_for_nothing() {
        let all = Serializable::default();
        let (a, b) = (all.begin(false), all.begin(false));
        a.reads(&of(&["x"])).unwrap();
        b.reads(&Tables::all()).unwrap();
        a.writes(&of(&["y"])).unwrap();
        drop(a);
        b.writes(&of(&["x"])).unwrap();
        commit(b).unwrap();
    }

    #[test]
    fn who_keeps_too_much_in_mind_fails() {
        let all = Serializable::default();
        let old = all.begin(false);
        for _ in 0..=REMEMBERED {
            let t = all.begin(false);
            t.writes(&of(&["x"])).unwrap();
            commit(t).unwrap();
        }
        assert!(old.reads(&of(&["y"])).is_err());
        drop(old);
        assert!(all.0.lock().transactions.is_empty());
    }
}
