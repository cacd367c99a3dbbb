//! When the constraints of a transaction are checked.

use pgsqlite_sql::catalog::Constraint;
use pgsqlite_types::Oid;
use std::collections::BTreeMap;

/// What SET CONSTRAINTS said in the running transaction: true is deferred.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Modes {
    pub all: Option<bool>,
    pub named: BTreeMap<Oid, bool>,
}

impl Modes {
    pub fn is_deferred(&self, constraint: &Constraint) -> bool {
        self.says(constraint.oid, constraint.deferrable, constraint.initially_deferred)
    }

    /// The same of a constraint or constraint trigger that was declared so.
    pub fn says(&self, constraint: Oid, deferrable: bool, initially_deferred: bool) -> bool {
        let said = self.named.get(&constraint).copied().or(self.all);
        deferrable && said.unwrap_or(initially_deferred)
    }

    /// Whether anything may differ from what the constraints were declared as.
    pub fn is_default(&self) -> bool {
        self.all.is_none() && self.named.is_empty()
    }
}
