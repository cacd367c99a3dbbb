//! What a transaction has read of the statistics, which it reads again as `stats_fetch_consistency` says.

use super::functions::{FunctionCounts, OfFunctions};
use super::slru::{Slru, NAMES};
use super::{DatabaseCounters, Statistics};
use pgsqlite_types::Oid;
use std::collections::BTreeMap;

/// `stats_fetch_consistency`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Consistency {
    /// each look shows what is counted by then
    None,
    /// what was looked at stays as it is until the transaction ends
    #[default]
    Cache,
    /// the first look takes everything
    Snapshot,
}

impl Consistency {
    /// The value of the setting.
    pub fn of_setting(value: &str) -> Consistency {
        match value {
            "none" => Consistency::None,
            "snapshot" => Consistency::Snapshot,
            _ => Consistency::Cache,
        }
    }
}

/// What one transaction has read.
#[derive(Debug, Default)]
pub struct Fetched {
    consistency: Consistency,
    functions: BTreeMap<Oid, Option<FunctionCounts>>,
    slrus: Option<[Slru; NAMES.len()]>,
    everything: Option<OfFunctions>,
}

impl Fetched {
    /// The transaction has ended, or `pg_stat_clear_snapshot()`.
    pub fn clear(&mut self) {
        if self.everything.is_some() || self.slrus.is_some() || !self.functions.is_empty() {
            *self = Fetched::default();
        }
    }

    /// Before a look.
    fn look(&mut self, consistency: Consistency, statistics: &Statistics, database: &DatabaseCounters) {
        if self.consistency != consistency {
            *self = Fetched { consistency, ..Fetched::default() };
        }
        if consistency == Consistency::Snapshot && self.everything.is_none() {
            self.everything = Some(database.functions.all());
            self.slrus = Some(statistics.slrus.shown());
        }
    }

    /// What was counted of a function. `exists`: whether there is such a function for who begins a transaction now.
    pub fn function(
        &mut self,
        function: Oid,
        consistency: Consistency,
        statistics: &Statistics,
        database: &DatabaseCounters,
        exists: bool,
    ) -> Option<FunctionCounts> {
        self.look(consistency, statistics, database);
        let now = || database.functions.of(function).filter(|_| exists);
        match consistency {
            Consistency::None => now(),
            Consistency::Cache => *self.functions.entry(function).or_insert_with(now),
            Consistency::Snapshot => self.everything.as_ref().and_then(|all| all.get(&function).copied()),
        }
    }

    pub fn slrus(
        &mut self,
        consistency: Consistency,
        statistics: &Statistics,
        database: &DatabaseCounters,
    ) -> [Slru; NAMES.len()] {
        self.look(consistency, statistics, database);
        match consistency {
            Consistency::None => statistics.slrus.shown(),
            _ => *self.slrus.get_or_insert_with(|| statistics.slrus.shown()),
        }
    }
}
