//! Columns of relations.

use super::acl_item::AclItem;
use super::inheritance::Inherited;
use pgsqlite_types::Oid;
use serde::{Deserialize, Serialize};

/// How a column's values are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum StorageForm {
    /// The storage form of the type, as pgsqlite writes it.
    #[default]
    Canonical,
    /// Written by another program (text timestamps, decimals as REAL …): read through a normalising function.
    Foreign,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Identity {
    Always,
    ByDefault,
}

/// A column: one row of `pg_attribute`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Column {
    /// From 1; numbers of dropped columns are not used again.
    pub attnum: i16,
    pub name: String,
    pub type_oid: Oid,
    pub typmod: i32,
    #[serde(default)]
    pub not_null: bool,
    /// NOT NULL … NOT VALID: each new row has a value, and those that were there before may have none. `not_null` is false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub not_null_pending: bool,
    /// PostgreSQL SQL text of DEFAULT, as `pg_get_expr` prints it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    /// PostgreSQL SQL text of GENERATED ALWAYS AS (…).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generated: Option<String>,
    /// GENERATED ALWAYS AS (…) VIRTUAL: it is computed when it is read, and SQLite's table has no such column.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_virtual: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<Identity>,
    /// OID of the explicit collation; 0: the type's default.
    #[serde(default)]
    pub collation: Oid,
    #[serde(default)]
    pub dropped: bool,
    #[serde(default)]
    pub storage: StorageForm,
    /// The sequence that a serial or identity column owns.
    #[serde(default)]
    pub sequence: Oid,
    /// Left out of an INSERT, SQLite fills it itself: a default of a foreign table that only SQLite can compute, or its rowid
    /// column (which pgsqlite asks the number of: [`RowNumbers`]). Such a column must be absent from the lowered INSERT when it gets no value (an explicit DEFAULT in a list of
    /// several rows cannot be expressed). False with `default: None` means NULL.
    #[serde(default)]
    pub sqlite_default: bool,
    /// The default or (`sqlite_generated`) the expression of a foreign column that SQLite computes, in SQLite's words: it is
    /// shown to clients, never carried out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sqlite_text: Option<String>,
    /// SQLite computes it for each row: no statement gives it a value.
    #[serde(default)]
    pub sqlite_generated: bool,
    /// None: what the table's list says
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acl: Option<Vec<AclItem>>,
    #[serde(default, skip_serializing_if = "Inherited::is_none")]
    pub inherited: Inherited,
    #[serde(default, skip_serializing_if = "ColumnKeeping::is_plain")]
    pub keeping: ColumnKeeping,
}

/// What ALTER TABLE has said about how a column is kept: shown and dumped, of no other effect.
#[derive(Debug, Clone, PartialEq, Default, serde::Serialize, serde::Deserialize)]
pub struct ColumnKeeping {
    /// SET STATISTICS; None: -1
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub statistics: Option<i32>,
    /// SET STORAGE: `p`, `e`, `x` or `m`; None: the type's own
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage: Option<char>,
    /// SET COMPRESSION: `p` or `l`; None: the server's own
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compression: Option<char>,
    /// SET (…): `n_distinct=5`
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
}

impl ColumnKeeping {
    fn is_plain(&self) -> bool {
        *self == ColumnKeeping::default()
    }
}

impl Column {
    /// A plain column without default or constraint.
    pub fn new(attnum: i16, name: impl Into<String>, type_oid: Oid, typmod: i32) -> Column {
        Column {
            attnum,
            name: name.into(),
            type_oid,
            typmod,
            not_null: false,
            not_null_pending: false,
            default: None,
            generated: None,
            is_virtual: false,
            identity: None,
            collation: 0,
            dropped: false,
            storage: StorageForm::Canonical,
            sequence: 0,
            sqlite_default: false,
            sqlite_text: None,
            sqlite_generated: false,
            acl: None,
            inherited: Inherited::default(),
            keeping: ColumnKeeping::default(),
        }
    }

    /// Whether a new row must have a value in it.
    pub fn needs_value(&self) -> bool {
        self.not_null || self.not_null_pending
    }

    /// GENERATED ALWAYS AS (…), whoever computes it.
    pub fn is_generated(&self) -> bool {
        self.generated.is_some() || self.sqlite_generated
    }

    /// What pg_attrdef says of the column: its default or its expression.
    pub fn shown_default(&self) -> Option<&String> {
        self.default.as_ref().or(self.generated.as_ref()).or(self.sqlite_text.as_ref())
    }
}
