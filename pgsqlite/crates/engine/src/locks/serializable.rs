//! Serializable transactions: who has read what others have written.
//!
//! A SERIALIZABLE transaction sees its snapshot, as one of REPEATABLE READ. What it has read may be overwritten by a transaction that runs
//! at the same time: then it must come *before* that one in any order of both. Where a transaction must come before another that committed
//! first, and a third must come before itself, there may be no such order, and one of them fails with 40001 (manual: "Serializable Isolation
//! Level"; the rule: Cahill, Röhm, Fekete, "Serializable Isolation for Snapshot Databases", 2008; which transaction fails, and when: Ports,
//! Grittner, "Serializable Snapshot Isolation in PostgreSQL", 2012).
//!
//! What was written is known by rows, as far as they are recorded, and otherwise by tables. What was read is known by the condition on the
//! rows of a table where that can be told of one row alone, and otherwise by tables. Whether a row meets a condition is asked outside of the
//! lock, by who comes second: both have told what they do before they look at the other's. (PostgreSQL watches rows, and the pages of an index.)

use parking_lot::Mutex;
use pgsqlite_types::{Datum, Oid, PgError, Result, SqlState};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

/// So many transactions that have committed are remembered for those that run. Then the oldest of these fails.
const REMEMBERED: usize = 4096;

/// So many conditions on the rows of a table are remembered of a transaction. Then all rows of the table count as read.
const CONDITIONS: usize = 256;
/// So many rows that it has written to a table. Then all rows of the table count as written.
const ROWS: usize = 10_000;

/// Which rows of a table: those that meet a condition on each alone.
#[derive(Debug, PartialEq)]
pub(crate) struct Condition {
    /// The query of one row, which gives something if that row meets the condition. Its parameters: `parameters`, then the row's values.
    pub sql: Arc<str>,
    pub parameters: Vec<Datum>,
    /// the settings under which it means that
    pub settings: String,
}

/// The values of a row, in SQLite's order of the columns.
pub(crate) type Row = Box<[Datum]>;

/// Rows of a table.
#[derive(Debug, Clone)]
pub(crate) enum Rows<T> {
    All,
    /// those of each of these
    Of(Vec<T>),
}

/// Tables, by their OIDs, and which rows of them.
#[derive(Debug, Clone)]
pub(crate) struct Tables<T> {
    /// any row of any table may be among them
    pub all: bool,
    pub tables: HashMap<Oid, Rows<T>>,
}

/// What a transaction has read.
pub(crate) type Read = Tables<Arc<Condition>>;
/// What a transaction has written: rows as they were and as they are.
pub(crate) type Written = Tables<Arc<[Row]>>;

impl<T> Default for Tables<T> {
    fn default() -> Self {
        Tables { all: false, tables: HashMap::new() }
    }
}

impl<T: Clone> Tables<T> {
    pub fn all() -> Self {
        Tables { all: true, tables: HashMap::new() }
    }

    /// All rows of some tables.
    pub fn whole(tables: impl IntoIterator<Item = Oid>) -> Self {
        Tables { all: false, tables: tables.into_iter().map(|table| (table, Rows::All)).collect() }
    }

    fn is_empty(&self) -> bool {
        !self.all && self.tables.is_empty()
    }

    /// `is_enough`: so much of a table is known that all of it counts; `has`: nothing is new.
    fn add(&mut self, more: &Tables<T>, is_enough: impl Fn(&[T]) -> bool, has: impl Fn(&[T], &T) -> bool) {
        self.all |= more.all;
        for (table, rows) in &more.tables {
            let known = self.tables.entry(*table).or_insert_with(|| Rows::Of(vec![]));
            let (Rows::Of(known_rows), Rows::Of(rows)) = (&mut *known, rows) else {
                *known = Rows::All;
                continue;
            };
            for part in rows {
                if !has(known_rows, part) {
                    known_rows.push(part.clone());
                }
            }
            if is_enough(known_rows) {
                *known = Rows::All;
            }
        }
    }
}

impl Read {
    fn note(&mut self, more: &Read) {
        self.add(more, |conditions| conditions.len() > CONDITIONS, |known, new| known.contains(new));
    }
}

impl Written {
    fn note(&mut self, more: &Written) {
        self.add(more, |chunks| chunks.iter().map(|c| c.len()).sum::<usize>() > ROWS, |_, _| false);
    }
}

/// Conditions, and the rows that may meet them.
type Open = Vec<(Arc<Condition>, Arc<[Row]>)>;

/// Whether what was written is among what was read. None: if some of these rows meet their conditions.
fn meet(read: &Read, written: &Written) -> std::result::Result<bool, Open> {
    match (read.all, written.all) {
        (true, _) => return Ok(!written.is_empty()),
        (_, true) => return Ok(!read.is_empty()),
        _ => {}
    }
    let mut open = Open::new();
    for (table, written) in &written.tables {
        match (read.tables.get(table), written) {
            (None, _) => {}
            (Some(Rows::Of(conditions)), Rows::Of(chunks)) => {
                open.extend(conditions.iter().flat_map(|c| chunks.iter().map(|rows| (c.clone(), rows.clone()))));
            }
            (Some(_), _) => return Ok(true),
        }
    }
    match open.is_empty() {
        true => Ok(false),
        false => Err(open),
    }
}

/// Whether some of these rows meet the condition. True also where that cannot be told.
pub(crate) type Asks<'a> = &'a mut dyn FnMut(&Condition, &[Row]) -> bool;

/// A moment among beginnings and ends.
type Moment = u64;

#[derive(Debug, Default)]
struct Transaction {
    /// before its snapshot was taken
    began: Moment,
    read_only: bool,
    reads: Read,
    writes: Written,
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

    /// The transactions beside one, of those that have run at the same time, with which something may meet: surely, or if rows meet conditions.
    fn others_at_the_same_time(
        &self,
        own: u64,
        meets: impl Fn(&Transaction) -> std::result::Result<bool, Open>,
    ) -> (Vec<u64>, Vec<(u64, Open)>) {
        let (mut sure, mut open) = (vec![], vec![]);
        let Some(began) = self.transactions.get(&own).map(|t| t.began) else { return (sure, open) };
        for (&number, _) in self.transactions.iter().filter(|(number, t)| **number != own && t.ran_after(began)) {
            match self.transactions.get(&number).map(&meets) {
                Some(Ok(true)) => sure.push(number),
                Some(Err(of_this)) => open.push((number, of_this)),
                _ => {}
            }
        }
        (sure, open)
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
    /// It has not taken its snapshot yet.
    pub fn begin_anew(&self) {
        let mut state = self.of.0.lock();
        let now = state.now;
        let own = state.transactions.get_mut(&self.number);
        if let Some(own) = own.filter(|own| own.reads.is_empty() && own.writes.is_empty()) {
            own.began = now;
        }
    }

    /// The transaction is READ ONLY, or not.
    pub fn set_read_only(&self, read_only: bool) {
        if let Some(own) = self.of.0.lock().transactions.get_mut(&self.number) {
            own.read_only = read_only && own.writes.is_empty();
        }
    }

    /// It is about to read this. Errors: 40001.
    pub fn reads(&self, read: &Read, asks: Asks) -> Result<()> {
        let mut state = self.of.0.lock();
        state.check(self.number, "conflict out checking")?;
        let Some(own) = state.transactions.get_mut(&self.number) else { return Ok(()) };
        own.reads.note(read);
        let (sure, open) = state.others_at_the_same_time(self.number, |t| meet(read, &t.writes));
        drop(state);
        let writers = Self::those_that_meet(sure, open, asks);
        let mut state = self.of.0.lock();
        writers.into_iter().try_for_each(|writer| state.conflict(self.number, writer, self.number))
    }

    /// It has written this, which others do not see yet. Errors: 40001.
    pub fn writes(&self, written: &Written, asks: Asks) -> Result<()> {
        let mut state = self.of.0.lock();
        state.check(self.number, "conflict in checking")?;
        let Some(own) = state.transactions.get_mut(&self.number) else { return Ok(()) };
        own.writes.note(written);
        let (sure, open) = state.others_at_the_same_time(self.number, |t| meet(&t.reads, written));
        drop(state);
        let readers = Self::those_that_meet(sure, open, asks);
        let mut state = self.of.0.lock();
        readers.into_iter().try_for_each(|reader| state.conflict(reader, self.number, self.number))
    }

    /// It may have read and written anything. Errors: 40001.
    pub fn touches_anything(&self) -> Result<()> {
        // (no row is asked for where everything is meant)
        self.reads(&Tables::all(), &mut |_, _| true)?;
        self.writes(&Tables::all(), &mut |_, _| true)
    }

    /// In the order in which they began.
    fn those_that_meet(mut sure: Vec<u64>, open: Vec<(u64, Open)>, asks: Asks) -> Vec<u64> {
        for (number, pairs) in open {
            if pairs.iter().any(|(condition, rows)| asks(condition, rows)) {
                sure.push(number);
            }
        }
        sure.sort_unstable();
        sure
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

    /// Tables by the first letters of their names, which stand for OIDs.
    fn of<T: Clone>(names: &[&str]) -> Tables<T> {
        Tables::whole(names.iter().map(|name| Oid::from(name.as_bytes()[0])))
    }

    fn nobody_asks(_: &Condition, _: &[Row]) -> bool {
        panic!("a table is read or written as a whole")
    }

    impl Watched {
        fn reads_all_of(&self, names: &[&str]) -> Result<()> {
            self.reads(&of(names), &mut nobody_asks)
        }

        fn writes_all_of(&self, names: &[&str]) -> Result<()> {
            self.writes(&of(names), &mut nobody_asks)
        }
    }

    fn commit(t: Watched) -> Result<()> {
        t.prepare().map(|()| t.committed())
    }

    /// Both read what the other writes.
    #[test]
    fn of_a_skew_of_writes_one_fails() {
        let all = Serializable::default();
        let (a, b) = (all.begin(false), all.begin(false));
        a.reads_all_of(&["x"]).unwrap();
        b.reads_all_of(&["y"]).unwrap();
        a.writes_all_of(&["y"]).unwrap();
        b.writes_all_of(&["x"]).unwrap();
        commit(a).unwrap();
        let failed = b.writes_all_of(&["z"]).unwrap_err();
        assert_eq!(failed.code(), SqlState::SERIALIZATION_FAILURE);
        assert!(commit(b).is_err());
        // again: it sees what the first has done
        let b = all.begin(false);
        b.reads_all_of(&["y"]).unwrap();
        b.writes_all_of(&["x"]).unwrap();
        commit(b).unwrap();
        assert!(all.0.lock().transactions.is_empty(), "nobody runs: nothing is remembered");
    }

    #[test]
    fn one_dependency_is_no_harm() {
        let all = Serializable::default();
        let (a, b) = (all.begin(false), all.begin(false));
        a.reads_all_of(&["x"]).unwrap();
        b.writes_all_of(&["x"]).unwrap();
        commit(b).unwrap();
        a.writes_all_of(&["y"]).unwrap();
        commit(a).unwrap();
    }

    /// A report reads a state that no order of the others gives (the anomaly of read-only transactions).
    #[test]
    fn a_reader_between_two_writers_fails() {
        let all = Serializable::default();
        let deposit = all.begin(false);
        deposit.reads_all_of(&["control", "receipt"]).unwrap();
        let close = all.begin(false);
        close.reads_all_of(&["control"]).unwrap();
        close.writes_all_of(&["control"]).unwrap();
        commit(close).unwrap();
        let report = all.begin(true);
        report.reads_all_of(&["control", "receipt"]).unwrap();
        commit(report).unwrap();
        let failed = deposit.writes_all_of(&["receipt"]).unwrap_err();
        assert_eq!(failed.code(), SqlState::SERIALIZATION_FAILURE);
    }

    #[test]
    fn who_takes_its_snapshot_later_runs_later() {
        let all = Serializable::default();
        let (a, b) = (all.begin(false), all.begin(false));
        a.reads_all_of(&["x"]).unwrap();
        a.writes_all_of(&["y"]).unwrap();
        commit(a).unwrap();
        b.begin_anew();
        b.reads_all_of(&["y"]).unwrap();
        b.writes_all_of(&["x"]).unwrap();
        commit(b).unwrap();
    }

    /// Both read and write rows of one table, but neither reads what the other writes.
    #[test]
    fn rows_that_were_not_read_are_no_harm() {
        let condition = |value: i64| {
            let condition = Condition { sql: "".into(), parameters: vec![Datum::Int(value)], settings: String::new() };
            let rows = Rows::Of(vec![Arc::new(condition)]);
            Read { all: false, tables: [(7, rows)].into() }
        };
        let row = |value: i64| {
            let row: Row = [Datum::Int(value)].into();
            Written { all: false, tables: [(7, Rows::Of(vec![[row].into()]))].into() }
        };
        let ask = |condition: &Condition, rows: &[Row]| rows.iter().any(|row| row[..] == condition.parameters[..]);
        let all = Serializable::default();
        for (a_writes, b_writes, fails) in [(3, 4, false), (2, 4, false), (3, 1, false), (2, 1, true)] {
            let (a, b) = (all.begin(false), all.begin(false));
            a.reads(&condition(1), &mut { ask }).unwrap();
            a.writes(&row(a_writes), &mut { ask }).unwrap();
            b.reads(&condition(2), &mut { ask }).unwrap();
            b.writes(&row(b_writes), &mut { ask }).unwrap();
            commit(a).unwrap();
            assert_eq!(commit(b).is_err(), fails, "{a_writes} {b_writes}");
        }
        assert!(all.0.lock().transactions.is_empty());
        // more than is remembered is everything
        let (a, b) = (all.begin(false), all.begin(false));
        (0..=CONDITIONS as i64).for_each(|value| a.reads(&condition(value), &mut { ask }).unwrap());
        b.writes(&row(-1), &mut nobody_asks).unwrap();
        a.writes_all_of(&["u"]).unwrap();
        b.reads_all_of(&["u"]).unwrap();
        commit(a).unwrap();
        assert!(commit(b).is_err());
    }

    #[test]
    fn what_was_rolled_back_counts_for_nothing() {
        let all = Serializable::default();
        let (a, b) = (all.begin(false), all.begin(false));
        a.reads_all_of(&["x"]).unwrap();
        b.reads(&Tables::all(), &mut nobody_asks).unwrap();
        a.writes_all_of(&["y"]).unwrap();
        drop(a);
        b.writes_all_of(&["x"]).unwrap();
        commit(b).unwrap();
    }

    #[test]
    fn who_keeps_too_much_in_mind_fails() {
        let all = Serializable::default();
        let old = all.begin(false);
        for _ in 0..=REMEMBERED {
            let t = all.begin(false);
            t.writes_all_of(&["x"]).unwrap();
            commit(t).unwrap();
        }
        assert!(old.reads_all_of(&["y"]).is_err());
        drop(old);
        assert!(all.0.lock().transactions.is_empty());
    }
}
