//! Constraints of tables.

use super::inheritance::Inherited;
use pgsqlite_types::Oid;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ForeignKeyAction {
    NoAction,
    Restrict,
    Cascade,
    SetNull,
    SetDefault,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum ConstraintKind {
    PrimaryKey,
    Unique {
        nulls_not_distinct: bool,
    },
    /// EXCLUDE: its index says by which operators rows may not be related.
    Exclusion,
    /// PostgreSQL SQL text of the condition.
    Check {
        expression: String,
        no_inherit: bool,
    },
    /// CHECK of a table that another program made, in SQLite's words: SQLite enforces it.
    SqliteCheck {
        text: String,
    },
    /// NOT NULL of the one column.
    NotNull {
        no_inherit: bool,
    },
    ForeignKey {
        references: Oid,
        /// attnums in the referenced table
        columns: Vec<i16>,
        on_update: ForeignKeyAction,
        on_delete: ForeignKeyAction,
        match_full: bool,
        /// ON DELETE SET NULL or SET DEFAULT of these columns (attnums in the table) alone; empty: all
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        delete_columns: Vec<i16>,
    },
}

/// A constraint of a table: one row of `pg_constraint`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Constraint {
    pub oid: Oid,
    pub name: String,
    pub kind: ConstraintKind,
    /// attnums in the table; of EXCLUDE those of its keys, 0 for an expression
    pub columns: Vec<i16>,
    /// the index behind PRIMARY KEY, UNIQUE and EXCLUDE
    #[serde(default)]
    pub index: Oid,
    #[serde(default)]
    pub deferrable: bool,
    #[serde(default)]
    pub initially_deferred: bool,
    #[serde(default)]
    pub not_valid: bool,
    #[serde(default, skip_serializing_if = "Inherited::is_none")]
    pub inherited: Inherited,
    /// of a foreign key: SQLite does not know of it, the server carries it out row by row ([`crate::foreign_key`])
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub managed: bool,
    /// NOT ENFORCED: nobody checks it. It is not valid either, and SQLite does not know of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub not_enforced: bool,
    /// of an exclusion constraint: it is a key WITHOUT OVERLAPS
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temporal: Option<TemporalKey>,
}

/// What a key WITHOUT OVERLAPS is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum TemporalKey {
    Primary,
    Unique,
}

impl Constraint {
    /// FOREIGN KEY.
    pub fn is_foreign_key(&self) -> bool {
        matches!(self.kind, ConstraintKind::ForeignKey { .. })
    }

    /// CHECK, whoever enforces it.
    pub fn is_check(&self) -> bool {
        matches!(self.kind, ConstraintKind::Check { .. } | ConstraintKind::SqliteCheck { .. })
    }

    /// The column of a NOT NULL.
    pub fn not_null_of(&self) -> Option<i16> {
        matches!(self.kind, ConstraintKind::NotNull { .. }).then(|| self.columns.first().copied()).flatten()
    }

    /// Children have it, too, unless it was declared NO INHERIT.
    pub fn is_no_inherit(&self) -> bool {
        matches!(
            self.kind,
            ConstraintKind::Check { no_inherit: true, .. } | ConstraintKind::NotNull { no_inherit: true }
        )
    }

    /// A CHECK of ours that rows are checked by.
    pub fn enforced_check(&self) -> Option<&str> {
        match &self.kind {
            ConstraintKind::Check { expression, .. } if !self.not_enforced => Some(expression),
            _ => None,
        }
    }

    /// PRIMARY KEY or UNIQUE.
    pub fn is_key(&self) -> bool {
        matches!(self.kind, ConstraintKind::PrimaryKey | ConstraintKind::Unique { .. })
    }

    /// PRIMARY KEY, also WITHOUT OVERLAPS.
    pub fn is_primary(&self) -> bool {
        self.kind == ConstraintKind::PrimaryKey || self.temporal == Some(TemporalKey::Primary)
    }

    /// It goes together with its index.
    pub fn has_index(&self) -> bool {
        self.is_key() || self.kind == ConstraintKind::Exclusion
    }
}
