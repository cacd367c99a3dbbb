//! Where a sequence stands, and what a commit stores of that.

use pgsqlite_sql::catalog::Sequence;
use pgsqlite_types::Oid;
use std::collections::HashMap;

/// Where sequences stand, by their OIDs.
pub(crate) type Sequences = HashMap<Oid, State>;

/// So many values beyond the last one given a commit stores.
pub(crate) const AHEAD: i64 = 32;
/// … at most, where transactions that only took values had to wait for the writer slot.
pub(crate) const MOST_AHEAD: i64 = 4096;

/// Where a sequence stands.
#[derive(Debug, Clone, Copy)]
pub struct State {
    pub last: i64,
    /// false: the next value is `last` itself
    pub called: bool,
    /// setval() put it there, and no value has been given since: that is stored as it is
    pub(crate) set: bool,
    /// what the committed file says (None: that is not known, or the values do not lead there)
    pub(crate) stored: Option<i64>,
    /// the same of what is on disk
    pub(crate) durable: Option<i64>,
    /// tells it from what it was before it was put to another place
    pub(crate) version: u64,
    /// so many values beyond the last one given a commit stores
    pub(crate) ahead: i64,
}

impl State {
    /// Put there by something else than its next value.
    pub fn at(last: i64, called: bool) -> State {
        let version = pgsqlite_metadata::counter::next_number();
        State { last, called, set: false, stored: None, durable: None, version, ahead: AHEAD }
    }

    /// Whether a sequence that is at `known` after a crash gives no value again.
    pub(crate) fn is_covered(&self, known: Option<i64>, increment: i64) -> bool {
        let reaches = |known| if increment > 0 { self.last <= known } else { self.last >= known };
        self.called && !self.set && known.is_some_and(reaches)
    }

    /// Whether more than half of the values that were stored ahead are given, and more can be stored.
    pub(crate) fn runs_low(self, definition: &Sequence) -> bool {
        let half = definition.increment.saturating_mul(self.ahead / 2);
        let later = State { last: self.last.saturating_add(half), ..self };
        !self.set
            && self.called
            && !later.is_covered(self.stored, definition.increment)
            && self.stored.is_none_or(|stored| self.to_store(definition).0 != stored)
    }

    /// What a commit stores: (last_value, is_called).
    pub(crate) fn to_store(self, definition: &Sequence) -> (i64, bool) {
        if self.set || !self.called {
            return (self.last, self.called);
        }
        let ahead = self.last.saturating_add(definition.increment.saturating_mul(self.ahead));
        (ahead.clamp(definition.min.min(self.last), definition.max.max(self.last)), true)
    }
}

/// Whether a transaction has to store where sequences stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ToStore {
    Nothing,
    /// its values are covered, but those to come will soon not be
    Soon,
    /// its values are not covered
    Now,
}
