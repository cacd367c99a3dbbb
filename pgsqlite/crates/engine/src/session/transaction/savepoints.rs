//! The savepoints of a transaction, and what it has done that ROLLBACK TO takes back by their number.

use crate::sequence_state;
use crate::session::transaction::private::Temporary;
use crate::session::transaction::state::Local;
use pgsqlite_natives::settings::Gucs;
use pgsqlite_natives::udf::session_cell::{LockMark, NotificationMark};
use pgsqlite_sql::catalog::Catalog;
use pgsqlite_storage::changes::change_log::Mark;
use pgsqlite_types::Oid;
use std::sync::Arc;

/// A savepoint: what holds again after ROLLBACK TO.
pub(in crate::session) struct Savepoint {
    pub name: String,
    pub catalog: Option<Arc<Catalog>>,
    pub temporary: Temporary,
    pub gucs: Gucs,
    pub local: Local,
    pub pending: NotificationMark,
    pub constraints: crate::constraint_modes::Modes,
    /// how many rows were noted as written
    pub noted: u64,
    /// the changes that were recorded
    pub recorded: Mark,
    pub locks: LockMark,
}

/// The savepoints of a transaction. What is remembered with how many of them there were is older than the others.
#[derive(Default)]
pub(in crate::session) struct Savepoints {
    list: Vec<Savepoint>,
    /// SQLite gave them up with the whole transaction
    lost: bool,
    /// how many there were when the transaction got the writer slot for what it has changed
    written_from: usize,
    /// tables that TRUNCATE has emptied, and how many savepoints there were
    emptied: Vec<(Oid, usize)>,
    /// sequences that DDL (RESTART, TRUNCATE … RESTART IDENTITY) has set: where they stood before, and how many savepoints there were
    restarted: Vec<(Oid, Option<sequence_state::State>, usize)>,
}

impl Savepoints {
    pub fn len(&self) -> usize {
        self.list.len()
    }

    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub fn last(&self) -> Option<&Savepoint> {
        self.list.last()
    }

    pub fn iter(&self) -> impl Iterator<Item = &Savepoint> {
        self.list.iter()
    }

    /// The savepoint with this number.
    pub fn at(&self, i: usize) -> &Savepoint {
        &self.list[i]
    }

    /// The number of the last savepoint of a name.
    pub fn named(&self, name: &str) -> Option<usize> {
        self.list.iter().rposition(|s| s.name == name)
    }

    pub fn push(&mut self, savepoint: Savepoint) {
        self.list.push(savepoint);
    }

    /// RELEASE: what was done since the savepoint belongs to what is around it.
    pub fn release(&mut self, i: usize) {
        self.list.truncate(i);
        self.written_from = self.written_from.min(i);
        let depths = self.restarted.iter_mut().map(|(_, _, depth)| depth);
        depths.chain(self.emptied.iter_mut().map(|(_, depth)| depth)).for_each(|depth| *depth = (*depth).min(i));
    }

    /// ROLLBACK TO: the savepoint stays, those after it are gone.
    pub fn roll_back_to(&mut self, i: usize) {
        self.list.truncate(i + 1);
        self.emptied.retain(|(_, depth)| *depth <= i);
    }

    /// There are none any more.
    pub fn clear(&mut self) {
        self.list.clear();
    }

    /// SQLite has given up the whole transaction, and the savepoints with it.
    pub fn lose(&mut self) {
        self.lost |= !self.list.is_empty();
        self.list.clear();
    }

    /// Whether there were some that SQLite has given up.
    pub fn are_lost(&self) -> bool {
        self.lost
    }

    /// The transaction has got the writer slot, and has changed nothing before.
    pub fn begins_to_write(&mut self) {
        self.written_from = self.list.len();
    }

    /// Whether all that was changed in the writer slot was changed since a savepoint.
    pub fn began_to_write_since(&self, i: usize) -> bool {
        self.written_from > i
    }

    /// TRUNCATE has emptied a table.
    pub fn empties(&mut self, table: Oid) {
        self.emptied.push((table, self.list.len()));
    }

    /// Whether TRUNCATE has emptied a table since the last savepoint: COPY may FREEZE its rows in it.
    pub fn has_emptied(&self, table: Oid) -> bool {
        self.emptied.contains(&(table, self.list.len()))
    }

    /// Whether TRUNCATE has emptied any table.
    pub fn has_emptied_any(&self) -> bool {
        !self.emptied.is_empty()
    }

    /// DDL has set a sequence, which stood at `before`.
    pub fn restarts(&mut self, sequence: Oid, before: Option<sequence_state::State>) {
        self.restarted.push((sequence, before, self.list.len()));
    }

    /// Whether DDL has set any sequence.
    pub fn has_restarted_any(&self) -> bool {
        !self.restarted.is_empty()
    }

    /// Takes the sequences that were set since a savepoint (None: since the transaction's beginning), the last first, with where they stood before.
    pub fn take_restarted(&mut self, since: Option<usize>) -> Vec<(Oid, Option<sequence_state::State>)> {
        let all = std::mem::take(&mut self.restarted);
        let (kept, taken): (Vec<_>, _) = all.into_iter().partition(|(_, _, at)| since.is_some_and(|i| *at <= i));
        self.restarted = kept;
        taken.into_iter().rev().map(|(sequence, before, _)| (sequence, before)).collect()
    }
}
