//! Operators and casts of the user as the catalog has them: one row of `__pgsqlite_object` each.

use crate::builtins::catalog::{CastContext, CastMethod, Operator};
use pgsqlite_types::Oid;
use serde::{Deserialize, Serialize};

/// One row of `pg_operator`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UserOperator {
    pub oid: Oid,
    pub schema: Oid,
    pub name: String,
    pub owner: Oid,
    /// 0 for a prefix operator
    pub left: Oid,
    pub right: Oid,
    /// 0 where it is only named as another one's commutator or negator
    pub result: Oid,
    pub proc: Oid,
    pub commutator: Oid,
    pub negator: Oid,
    pub merges: bool,
    pub hashes: bool,
    pub restrict: Oid,
    pub join: Oid,
}

/// An operator with what expressions are resolved by.
#[derive(Debug, Clone)]
pub struct MadeOperator {
    pub definition: UserOperator,
    pub row: Operator,
}

impl MadeOperator {
    pub fn new(definition: UserOperator) -> MadeOperator {
        let row = Operator {
            oid: definition.oid,
            name: crate::builtins::word::Word::made(&definition.name),
            left: definition.left,
            right: definition.right,
            result: definition.result,
            proc: definition.proc,
            commutator: definition.commutator,
            negator: definition.negator,
            merges: definition.merges,
            hashes: definition.hashes,
            restrict: definition.restrict,
            join: definition.join,
        };
        MadeOperator { definition, row }
    }
}

/// One row of `pg_cast`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UserCast {
    pub oid: Oid,
    pub source: Oid,
    pub target: Oid,
    /// `i`, `a` or `e`
    pub context: u8,
    /// 0: none
    pub function: Oid,
    /// through the types' text forms
    pub inout: bool,
}

impl UserCast {
    pub fn context(&self) -> CastContext {
        match self.context {
            b'i' => CastContext::Implicit,
            b'a' => CastContext::Assignment,
            _ => CastContext::Explicit,
        }
    }
    pub fn method(&self) -> CastMethod {
        match (self.function, self.inout) {
            (0, true) => CastMethod::InOut,
            (0, false) => CastMethod::Binary,
            (function, _) => CastMethod::Function(function),
        }
    }
}
