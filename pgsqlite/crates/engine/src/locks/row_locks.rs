//! Locks on rows and keys.
//!
//! A transaction that is put aside ([`crate::changes`]) holds the rows that it has changed, the keys that it has given and taken, and the
//! rows that its foreign keys refer to; `SELECT … FOR UPDATE` and its kin hold the rows that they have read. Whoever meets such a lock waits for
//! the end of its holder's transaction ([`super::Target::Transaction`]) and begins its statement anew.
//!
//! Locks are taken by whoever has the database's writer slot, so that none is added while a statement writes. As long as
//! none is held, one load of an atomic says so.

use super::Holder;
use crate::changes::table::KeyOfTable;
use parking_lot::Mutex;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

/// A mode in which a row is locked (manual: "Row-Level Locks"), weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum RowMode {
    KeyShare,
    Share,
    NoKeyUpdate,
    Update,
}

impl RowMode {
    /// Whether two transactions cannot hold the modes on one row (manual: table 13.3).
    pub fn conflicts(self, other: RowMode) -> bool {
        use RowMode::*;
        match self {
            KeyShare => other == Update,
            Share => other >= NoKeyUpdate,
            NoKeyUpdate => other >= Share,
            Update => true,
        }
    }

    /// Its number, 1 to 4, in the order of their strength.
    pub fn number(self) -> i64 {
        self as i64 + 1
    }

    /// The mode with a number, 1 to 4, in the order of their strength.
    pub fn numbered(number: i64) -> Option<RowMode> {
        use RowMode::*;
        [KeyShare, Share, NoKeyUpdate, Update].get(usize::try_from(number - 1).ok()?).copied()
    }
}

/// A row of a table, by their name and number in SQLite.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Row {
    pub table: Arc<str>,
    pub rowid: i64,
}

#[derive(Debug, Clone, Copy)]
struct Held {
    session: u64,
    mode: RowMode,
    /// the number of the lock, in the order in which locks were taken; 0: it follows from the changes of a transaction that was put aside
    number: u64,
}

/// What a transaction holds.
#[derive(Debug, Default)]
struct Holding {
    /// the transaction's number: see [`Holder::transaction`]
    transaction: u64,
    rows: Vec<Row>,
    keys: Vec<KeyOfTable>,
    /// rows or keys of rows are gone for it that others still find
    removes: bool,
}

impl Holding {
    /// Whether it holds anything of these tables (`None`: of any).
    fn is_in(&self, tables: Option<&[Arc<str>]>) -> bool {
        let Some(tables) = tables else { return true };
        self.rows.iter().any(|r| tables.contains(&r.table))
            || self.keys.iter().any(|k| tables.iter().any(|t| **t == *k.table))
    }
}

#[derive(Debug, Default)]
struct State {
    rows: HashMap<Row, Vec<Held>>,
    keys: HashMap<KeyOfTable, u64>,
    holders: HashMap<u64, Holding>,
    last: u64,
    /// how many transactions have held any
    transactions: u64,
}

/// The locks on the rows of a database. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct RowLocks(Arc<Inner>);

#[derive(Default)]
struct Inner {
    state: Mutex<State>,
    /// how many transactions hold any
    holders: AtomicUsize,
}

/// What a transaction that is put aside holds.
#[derive(Debug, Default)]
pub(crate) struct Footprint {
    pub rows: Vec<(Row, RowMode)>,
    pub keys: Vec<KeyOfTable>,
    pub removes: bool,
}

impl State {
    fn conflict(&self, session: u64, row: &Row, mode: RowMode) -> Option<Holder> {
        let held = self.rows.get(row)?;
        held.iter().find(|h| h.session != session && h.mode.conflicts(mode)).map(|h| self.transaction_of(h.session))
    }

    fn transaction_of(&self, session: u64) -> Holder {
        Holder { session, transaction: self.holders.get(&session).map_or(0, |holding| holding.transaction) }
    }

    fn holding(&mut self, session: u64) -> &mut Holding {
        self.holders.entry(session).or_insert_with(|| {
            self.transactions += 1;
            Holding { transaction: self.transactions, ..Holding::default() }
        })
    }

    fn hold(&mut self, session: u64, row: Row, mode: RowMode, number: u64) {
        let held = self.rows.entry(row.clone()).or_default();
        // (what follows from a change and what was locked by itself are given back at different times: the one does not stand in for the other)
        let covers = |h: &Held| h.session == session && h.mode >= mode && (h.number == 0) == (number == 0);
        if held.iter().any(covers) {
            return;
        }
        held.push(Held { session, mode, number });
        self.holding(session).rows.push(row);
    }

    /// Takes away the session's locks on rows that are not to be kept.
    fn release_rows(&mut self, session: u64, kept: impl Fn(&Held) -> bool) {
        let Some(holder) = self.holders.get_mut(&session) else { return };
        let rows = &mut self.rows;
        holder.rows.retain(|row| {
            let Entry::Occupied(mut entry) = rows.entry(row.clone()) else { return false };
            entry.get_mut().retain(|h| h.session != session || kept(h));
            let holds = entry.get().iter().any(|h| h.session == session);
            if entry.get().is_empty() {
                entry.remove();
            }
            holds
        });
    }

    fn release_keys(&mut self, session: u64) {
        let Some(holder) = self.holders.get_mut(&session) else { return };
        for key in holder.keys.drain(..) {
            if self.keys.get(&key) == Some(&session) {
                self.keys.remove(&key);
            }
        }
        holder.removes = false;
    }

    /// Forgets a session that holds nothing.
    fn tidy(&mut self, session: u64) {
        if self.holders.get(&session).is_some_and(|h| h.rows.is_empty() && h.keys.is_empty() && !h.removes) {
            self.holders.remove(&session);
        }
    }
}

impl RowLocks {
    fn change<R>(&self, session: u64, change: impl FnOnce(&mut State) -> R) -> R {
        let mut state = self.0.state.lock();
        let result = change(&mut state);
        state.tidy(session);
        self.0.holders.store(state.holders.len(), Ordering::SeqCst);
        result
    }

    /// Whether any other transaction than the session's holds locks.
    pub fn has_others(&self, session: u64) -> bool {
        match self.0.holders.load(Ordering::SeqCst) {
            0 => false,
            1 => !self.0.state.lock().holders.contains_key(&session),
            _ => true,
        }
    }

    /// Whether a session's transaction holds locks.
    pub fn has(&self, session: u64) -> bool {
        self.0.holders.load(Ordering::SeqCst) > 0 && self.0.state.lock().holders.contains_key(&session)
    }

    /// A session's transaction, if it holds locks.
    pub fn holder(&self, session: u64) -> Option<Holder> {
        let state = self.0.state.lock();
        state.holders.contains_key(&session).then(|| state.transaction_of(session))
    }

    /// Locks a row, if that needs no waiting. Err: the transaction that is in the way.
    pub fn try_lock(&self, session: u64, row: Row, mode: RowMode) -> Result<(), Holder> {
        self.change(session, |state| match state.conflict(session, &row, mode) {
            Some(other) => Err(other),
            None => {
                state.last += 1;
                let number = state.last;
                state.hold(session, row, mode, number);
                Ok(())
            }
        })
    }

    /// What a statement of a session that has touched rows and keys is in the way of: the transaction that it has to wait for.
    pub fn conflict(&self, session: u64, footprint: &Footprint) -> Option<Holder> {
        let state = self.0.state.lock();
        let of_rows = footprint.rows.iter().find_map(|(row, mode)| state.conflict(session, row, *mode));
        let of_keys = || footprint.keys.iter().find_map(|key| state.keys.get(key).filter(|s| **s != session));
        of_rows.or_else(|| of_keys().map(|other| state.transaction_of(*other)))
    }

    /// Another session's transaction for which rows or keys of these tables (`None`: of any) are gone that are still found.
    pub fn remover_in(&self, session: u64, tables: Option<&[Arc<str>]>) -> Option<Holder> {
        self.find(session, |holder| holder.removes && holder.is_in(tables))
    }

    /// Another session's transaction that holds locks on rows of these tables (`None`: of any).
    pub fn holder_in(&self, session: u64, tables: Option<&[Arc<str>]>) -> Option<Holder> {
        self.find(session, |holder| holder.is_in(tables))
    }

    fn find(&self, session: u64, wanted: impl Fn(&Holding) -> bool) -> Option<Holder> {
        let state = self.0.state.lock();
        let found = state.holders.iter().find(|(other, holder)| **other != session && wanted(holder));
        found.map(|(other, _)| state.transaction_of(*other))
    }

    /// The rows that a session has locked by itself since a mark was made, each in the strongest of its modes.
    pub fn taken_since(&self, session: u64, mark: u64) -> Vec<(Row, RowMode)> {
        let state = self.0.state.lock();
        let Some(holder) = state.holders.get(&session) else { return vec![] };
        let own = |row: &Row| state.rows.get(row).into_iter().flatten().filter(|h| h.session == session);
        let mut seen = HashSet::new();
        let mut taken = Vec::new();
        // from the last one back to those that were there before (rows that are held by a change have no numbers)
        for row in holder.rows.iter().rev() {
            match own(row).filter(|h| h.number > mark).map(|h| h.mode).max() {
                Some(mode) if seen.insert(row) => taken.push((row.clone(), mode)),
                Some(_) => {}
                None if own(row).any(|h| h.number > 0) => break,
                None => {}
            }
        }
        taken.reverse();
        taken
    }

    /// A transaction is put aside: it holds this, and what it has locked by itself. (What it held when it was put aside before is in it.)
    pub fn put_aside(&self, session: u64, footprint: Footprint) {
        self.change(session, |state| {
            state.release_rows(session, |held| held.number != 0);
            state.release_keys(session);
            for (row, mode) in footprint.rows {
                state.hold(session, row, mode, 0);
            }
            for key in &footprint.keys {
                state.keys.insert(key.clone(), session);
            }
            let holder = state.holding(session);
            holder.keys = footprint.keys;
            holder.removes = footprint.removes;
        });
    }

    /// A transaction holds this, too, by its changes.
    pub fn hold_more(&self, session: u64, footprint: Footprint) {
        self.change(session, |state| {
            for (row, mode) in footprint.rows {
                state.hold(session, row, mode, 0);
            }
            for key in &footprint.keys {
                state.keys.insert(key.clone(), session);
            }
            let holder = state.holding(session);
            holder.keys.extend(footprint.keys);
            holder.removes |= footprint.removes;
        });
    }

    /// Whether a session's transaction has changed a row.
    pub fn holds_by_change(&self, session: u64, row: &Row) -> bool {
        let changed = |h: &Held| h.session == session && h.number == 0 && h.mode >= RowMode::NoKeyUpdate;
        self.0.state.lock().rows.get(row).is_some_and(|held| held.iter().any(changed))
    }

    /// Whether a session holds a row in this mode or a stronger one.
    pub fn holds(&self, session: u64, row: &Row, mode: RowMode) -> bool {
        let state = self.0.state.lock();
        state.rows.get(row).is_some_and(|held| held.iter().any(|h| h.session == session && h.mode >= mode))
    }

    /// The number of the lock that was taken last: what [`RowLocks::release_since`] takes.
    pub fn mark(&self) -> u64 {
        self.0.state.lock().last
    }

    /// All that one session holds is another's, which holds nothing. Nobody finds it free in between.
    pub fn hand_over(&self, from: u64, to: u64) {
        self.change(to, |state| {
            let Some(holder) = state.holders.remove(&from) else { return };
            for row in &holder.rows {
                let held = state.rows.get_mut(row).into_iter().flatten();
                held.filter(|h| h.session == from).for_each(|h| h.session = to);
            }
            for key in &holder.keys {
                if let Some(session) = state.keys.get_mut(key).filter(|s| **s == from) {
                    *session = to;
                }
            }
            state.holders.insert(to, holder);
        });
    }

    /// ROLLBACK TO: gives back what the session has locked by itself since this mark was made.
    pub fn release_since(&self, session: u64, mark: u64) {
        self.change(session, |state| state.release_rows(session, |held| held.number <= mark));
    }

    /// The transaction has ended. Returns whether it held any.
    pub fn release(&self, session: u64) -> bool {
        if self.0.holders.load(Ordering::SeqCst) == 0 {
            return false;
        }
        self.change(session, |state| {
            let had = state.holders.contains_key(&session);
            state.release_rows(session, |_| false);
            state.release_keys(session);
            state.holders.remove(&session);
            had
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use RowMode::*;

    fn session(holder: Option<Holder>) -> Option<u64> {
        holder.map(|holder| holder.session)
    }

    fn row(rowid: i64) -> Row {
        Row { table: "t".into(), rowid }
    }

    #[test]
    fn modes_conflict_as_in_the_manual() {
        let all = [KeyShare, Share, NoKeyUpdate, Update];
        let conflicts = all.map(|a| all.map(|b| a.conflicts(b)));
        assert_eq!(
            conflicts,
            [
                [false, false, false, true],
                [false, false, true, true],
                [false, true, true, true],
                [true, true, true, true]
            ]
        );
    }

    #[test]
    fn locks_are_held_until_they_are_given_back() {
        let locks = RowLocks::default();
        assert_eq!(locks.try_lock(1, row(1), KeyShare), Ok(()));
        assert_eq!(locks.try_lock(2, row(1), NoKeyUpdate), Ok(()));
        assert_eq!(locks.try_lock(3, row(1), Share).map_err(|holder| holder.session), Err(2));
        let mark = locks.mark();
        assert_eq!(locks.try_lock(2, row(2), Update), Ok(()));
        assert_eq!(locks.try_lock(1, row(2), KeyShare).map_err(|holder| holder.session), Err(2));
        locks.release_since(2, mark);
        assert_eq!(locks.try_lock(1, row(2), KeyShare), Ok(()));
        let key = KeyOfTable { table: "t".into(), bytes: b"k"[..].into() };
        let footprint = |rowid| Footprint { rows: vec![(row(rowid), Update)], keys: vec![key.clone()], removes: true };
        locks.put_aside(2, footprint(3));
        assert_eq!(
            (session(locks.conflict(2, &footprint(3))), session(locks.conflict(1, &footprint(4)))),
            (None, Some(2))
        );
        assert_eq!((session(locks.remover_in(1, None)), session(locks.remover_in(2, None))), (Some(2), None));
        locks.put_aside(2, Footprint::default());
        assert_eq!((session(locks.conflict(1, &footprint(3))), session(locks.remover_in(1, None))), (None, None));
        assert_eq!(
            locks.try_lock(3, row(1), Share).map_err(|holder| holder.session),
            Err(2),
            "what it has locked by itself stays"
        );
        assert!(locks.release(2) && !locks.release(2) && locks.has_others(2) && !locks.has(2));
        assert_eq!(locks.try_lock(3, row(1), Share), Ok(()));
        // a row that was changed, and then locked by itself, is held when the lock is given back
        locks.put_aside(4, footprint(5));
        let mark = locks.mark();
        assert_eq!(locks.try_lock(4, row(5), Update), Ok(()));
        locks.put_aside(4, footprint(5));
        locks.release_since(4, mark);
        assert_eq!(session(locks.conflict(1, &footprint(5))), Some(4));
        assert!(locks.release(4));
        assert!(locks.release(1) && locks.release(3) && !locks.has_others(4));
        // what is handed over is another's
        locks.put_aside(5, footprint(6));
        assert_eq!(locks.try_lock(5, row(7), Share), Ok(()));
        locks.hand_over(5, 6);
        assert_eq!(locks.taken_since(6, 0), vec![(row(7), Share)]);
        assert_eq!(
            (session(locks.conflict(5, &footprint(6))), session(locks.conflict(6, &footprint(6)))),
            (Some(6), None)
        );
        assert!(!locks.has(5) && !locks.release(5) && locks.release(6));
        // what holds rows is a transaction: the session's next one is another
        assert_eq!(locks.try_lock(7, row(1), Update), Ok(()));
        let first = locks.holder(7);
        assert_eq!((locks.try_lock(7, row(2), Update), locks.holder(7)), (Ok(()), first));
        assert!(locks.release(7) && locks.holder(7).is_none());
        assert_eq!(locks.try_lock(7, row(1), Update), Ok(()));
        assert!(locks.holder(7).is_some() && locks.holder(7) != first && locks.release(7));
        let state = locks.0.state.lock();
        assert!(state.rows.is_empty() && state.keys.is_empty() && state.holders.is_empty());
    }
}
