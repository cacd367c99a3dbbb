//! What the catalog knows of a rewrite rule (CREATE RULE). ON SELECT rules are views and are not here.

use crate::routine::Event;
use pgsqlite_types::Oid;
use serde::{Deserialize, Serialize};

/// A rule of a table or view: one row of `pg_rewrite`. It is stored with its relation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rule {
    pub oid: Oid,
    pub name: String,
    /// INSERT, UPDATE or DELETE
    pub event: Event,
    pub instead: bool,
    /// PostgreSQL SQL text of WHERE over `old` and `new`, names qualified
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// PostgreSQL SQL texts of the commands over `old` and `new`, names qualified; none: NOTHING
    #[serde(default)]
    pub actions: Vec<String>,
    /// `pg_rewrite.ev_enabled`: `O`, `D`, `R` or `A`
    pub enabled: u8,
}

impl Rule {
    /// It rewrites in an ordinary session.
    pub fn is_on(&self) -> bool {
        matches!(self.enabled, b'O' | b'A')
    }

    /// DO INSTEAD without WHERE: the statement itself is not carried out.
    pub fn replaces(&self) -> bool {
        self.instead && self.condition.is_none()
    }
}
