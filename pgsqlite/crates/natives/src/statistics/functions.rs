//! Calls of functions, as `track_functions` has them counted.

use parking_lot::Mutex;
use pgsqlite_types::Oid;
use std::collections::BTreeMap;
use std::time::Duration;

/// What was counted of one function.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct FunctionCounts {
    pub calls: i64,
    /// its own time and that of the functions that it called. What calls itself counts once.
    pub total: Duration,
    /// without that of the functions that it called, as far as those are counted
    pub own: Duration,
}

/// The counts of some functions, by their OIDs.
pub type OfFunctions = BTreeMap<Oid, FunctionCounts>;

/// What the transactions that have ended have counted of the functions of a database.
#[derive(Debug, Default)]
pub struct Functions(Mutex<OfFunctions>);

impl Functions {
    /// A transaction has ended that counted this. Functions for which `exists` is false are gone, and forgotten.
    pub fn add(&self, counts: OfFunctions, exists: impl Fn(Oid) -> bool) {
        let mut functions = self.0.lock();
        for (function, more) in counts {
            let counts = functions.entry(function).or_default();
            counts.calls += more.calls;
            counts.total += more.total;
            counts.own += more.own;
        }
        functions.retain(|function, _| exists(*function));
    }

    /// None: nothing was counted of it.
    pub fn of(&self, function: Oid) -> Option<FunctionCounts> {
        self.0.lock().get(&function).copied()
    }

    pub fn all(&self) -> OfFunctions {
        self.0.lock().clone()
    }

    /// `pg_stat_reset_single_function_counters()`: what was counted of it is 0 again.
    pub fn reset(&self, function: Oid) {
        if let Some(counts) = self.0.lock().get_mut(&function) {
            *counts = FunctionCounts::default();
        }
    }

    /// `pg_stat_reset()`
    pub fn reset_all(&self) {
        self.0.lock().values_mut().for_each(|counts| *counts = FunctionCounts::default());
    }
}
