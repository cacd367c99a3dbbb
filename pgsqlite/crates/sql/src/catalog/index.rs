//! Indexes.

use pgsqlite_types::Oid;
use serde::{Deserialize, Serialize};

/// A part of the key of an index, or of that by which a table is partitioned.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum KeyPart {
    Column(i16),
    /// PostgreSQL SQL text.
    Expression(String),
}

impl KeyPart {
    /// The number of the column; None for an expression.
    pub fn column(&self) -> Option<i16> {
        match self {
            KeyPart::Column(attnum) => Some(*attnum),
            KeyPart::Expression(_) => None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IndexColumn {
    pub key: KeyPart,
    pub descending: bool,
    pub nulls_first: bool,
    #[serde(default)]
    pub collation: Oid,
    #[serde(default)]
    pub opclass: Oid,
    /// the operator class was written out
    #[serde(default)]
    pub opclass_explicit: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Index {
    pub table: Oid,
    pub unique: bool,
    pub primary: bool,
    #[serde(default)]
    pub nulls_not_distinct: bool,
    /// of a DEFERRABLE constraint: an ordinary index in SQLite, whose keys are checked after the statement or at COMMIT
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deferrable: bool,
    /// of EXCLUDE: for each key the operator (OID); two rows may not be related by all of them
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclusion: Vec<Oid>,
    /// `btree`, `hash`, `gin` … (all are SQLite b-trees; the name is kept)
    pub method: String,
    pub columns: Vec<IndexColumn>,
    /// Another program's, with an expression or a condition: what SQLite says in its own words is only shown in PostgreSQL's, and an
    /// index without columns is one whose words say nothing there ([`Index::is_named_only`]).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub of_sqlite: bool,
    /// there is a table of the terms of its values, which conditions are looked up in (`lower/inverted.rs`)
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub inverted: bool,
    /// INCLUDE columns
    #[serde(default)]
    pub include: Vec<i16>,
    /// PostgreSQL SQL text of the WHERE condition of a partial index.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub predicate: Option<String>,
}

impl Index {
    /// Its definition cannot be told: its name is taken, and it can be dropped.
    pub fn is_named_only(&self) -> bool {
        self.of_sqlite && self.columns.is_empty()
    }
}
