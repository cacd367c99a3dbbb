//! The database's objects as the analyzer sees them: an immutable snapshot, made by the engine from the file.
//!
//! The structs are also what is remembered in the file: each object is one row of `__pgsqlite_object`, its definition
//! as JSON (serde). Built-in objects are not here but in [`crate::builtins`]; [`Catalog`]'s look-ups see both.

pub mod acl_item;
pub mod composite;
pub mod inheritance;
pub mod routine;
pub mod rule;

use crate::builtins::catalog::{self as builtin, Operator, Proc};
use crate::builtins::extensions as builtin_extensions;
use crate::operator::{MadeOperator, UserCast};
use acl_item::AclItem;
pub use inheritance::{
    Inheritance, Inherited, PartitionBound, PartitionKey, PartitionKeyColumn, PartitionStrategy, RangeDatum,
};
use pgsqlite_types::codec::{CompositeType, EnumType, TypeCodec};
pub use pgsqlite_types::oid::is_information_domain;
use pgsqlite_types::range::RangeType;
use pgsqlite_types::{catalog as pg_type, Oid};
use routine::{Event, Function, Routine, Timing, Trigger};
use rule::Rule;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// Fixed OIDs of the schemas every database has.
pub const PG_CATALOG: Oid = 11;
/// The search path of texts that are stored: everything but pg_catalog is qualified.
pub const STORED_PATH: &[Oid] = &[PG_CATALOG];
pub const PG_TOAST: Oid = 99;
pub const PUBLIC: Oid = 2200;
/// Allocated by initdb in PostgreSQL (not pinned), so any number below 16384 is right.
pub const INFORMATION_SCHEMA: Oid = 13000;

/// The schema of temporary tables, one per session; its objects live in SQLite's `temp` database.
pub const PG_TEMP: Oid = 13001;

/// OIDs of temporary objects start here: they are not remembered in the file.
pub const FIRST_TEMPORARY_OID: Oid = 3_000_000_000;
/// While a trigger runs: the tables of old and of new rows that its REFERENCING names.
pub const TRANSITION_TABLES: [Oid; 2] = [FIRST_TEMPORARY_OID - 2, FIRST_TEMPORARY_OID - 3];
/// The role that initdb makes.
pub const BOOTSTRAP_ROLE: Oid = 10;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Schema {
    pub oid: Oid,
    pub name: String,
    pub owner: Oid,
    /// None: PostgreSQL's default privileges
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acl: Option<Vec<AclItem>>,
}

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
    /// PostgreSQL SQL text of DEFAULT, as `pg_get_expr` prints it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    /// PostgreSQL SQL text of GENERATED ALWAYS AS (…) STORED.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generated: Option<String>,
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
            default: None,
            generated: None,
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

    /// GENERATED ALWAYS AS (…), whoever computes it.
    pub fn is_generated(&self) -> bool {
        self.generated.is_some() || self.sqlite_generated
    }

    /// What pg_attrdef says of the column: its default or its expression.
    pub fn shown_default(&self) -> Option<&String> {
        self.default.as_ref().or(self.generated.as_ref()).or(self.sqlite_text.as_ref())
    }
}

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

    /// PRIMARY KEY or UNIQUE.
    pub fn is_key(&self) -> bool {
        matches!(self.kind, ConstraintKind::PrimaryKey | ConstraintKind::Unique { .. })
    }

    /// It goes together with its index.
    pub fn has_index(&self) -> bool {
        self.is_key() || self.kind == ConstraintKind::Exclusion
    }
}

/// A part of the key of an index, or of that by which a table is partitioned.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum KeyPart {
    Column(i16),
    /// PostgreSQL SQL text.
    Expression(String),
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

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sequence {
    /// int2, int4 or int8
    pub type_oid: Oid,
    pub start: i64,
    pub increment: i64,
    pub min: i64,
    pub max: i64,
    pub cache: i64,
    pub cycle: bool,
    /// the column (table, attnum) it belongs to
    #[serde(default)]
    pub owned_by: Option<(Oid, i16)>,
    /// made for an identity column
    #[serde(default)]
    pub identity: bool,
    /// of the INTEGER PRIMARY KEY of a table that another program made: the sequence stands where the table does
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub row_numbers: Option<RowNumbers>,
}

/// How SQLite numbers the rows that leave out their INTEGER PRIMARY KEY.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum RowNumbers {
    /// by the highest number that is there, plus one
    Highest,
    /// AUTOINCREMENT: by the highest number that ever was there, plus one
    Autoincrement,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum RelationKind {
    Table,
    View {
        /// PostgreSQL SQL text of the query, names qualified, as pg_get_viewdef prints it (without `;`).
        definition: String,
        #[serde(default)]
        options: Vec<String>,
    },
    /// A view whose rows are stored: a SQLite table that REFRESH fills.
    MaterializedView {
        /// as of a view
        definition: String,
        /// false: WITH NO DATA, reading it is an error until REFRESH
        populated: bool,
    },
    /// A view of the file made by another program: read as SQLite has it.
    ForeignView,
    Index(Index),
    Sequence(Sequence),
    /// A table of pg_catalog or information_schema: a SQLite virtual table (or view over such) of the engine.
    System,
}

/// Which conditions WITH CHECK OPTION looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckOption {
    /// the view's own
    Local,
    /// and those of the views below it
    Cascaded,
}

/// How a table came into the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Origin {
    /// CREATE TABLE of a client of ours.
    #[default]
    Pgsqlite,
    /// Made by another SQLite program: types derived from its declared types.
    Foreign,
}

/// What becomes of a temporary table at COMMIT.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum OnCommit {
    #[default]
    PreserveRows,
    DeleteRows,
    Drop,
}

/// The command that a policy is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum PolicyCommand {
    All,
    Select,
    Insert,
    Update,
    Delete,
}

/// A row-level security policy: one row of `pg_policy`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Policy {
    pub oid: Oid,
    pub name: String,
    pub permissive: bool,
    pub command: PolicyCommand,
    /// [`crate::acl::PUBLIC_ROLE`]: everybody
    pub roles: Vec<Oid>,
    /// PostgreSQL SQL text of USING.
    pub using: Option<String>,
    /// PostgreSQL SQL text of WITH CHECK.
    pub check: Option<String>,
}

/// Row-level security of a table.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct RowSecurity {
    pub enabled: bool,
    /// FORCE: for the owner, too
    pub forced: bool,
    pub policies: Vec<Policy>,
}

impl RowSecurity {
    fn is_default(&self) -> bool {
        *self == RowSecurity::default()
    }
}

/// A relation: one row of `pg_class`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Relation {
    pub oid: Oid,
    pub schema: Oid,
    pub name: String,
    pub kind: RelationKind,
    /// The name in SQLite: `t` for `public.t`, `s.t` for table `t` of schema `s`. Unquoted.
    pub sqlite_name: String,
    pub owner: Oid,
    /// OID of the row type (and its array type); 0 for indexes and sequences
    #[serde(default)]
    pub row_type: Oid,
    #[serde(default)]
    pub array_type: Oid,
    /// The array type's name, where it is not `_name`: that was taken, or another type has taken it since
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub array_name: Option<String>,
    #[serde(default)]
    pub temporary: bool,
    /// CREATE UNLOGGED TABLE (accepted; durability is the file's)
    #[serde(default)]
    pub unlogged: bool,
    /// All columns incl. dropped ones, by attnum.
    #[serde(default)]
    pub columns: Vec<Column>,
    #[serde(default)]
    pub constraints: Vec<Constraint>,
    /// attnum of the column that is SQLite's rowid (a single-column integer primary key).
    #[serde(default)]
    pub rowid_column: Option<i16>,
    /// WITHOUT ROWID (foreign tables only)
    #[serde(default)]
    pub without_rowid: bool,
    #[serde(default)]
    pub origin: Origin,
    /// None: PostgreSQL's default privileges
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acl: Option<Vec<AclItem>>,
    #[serde(default)]
    pub on_commit: OnCommit,
    #[serde(default, skip_serializing_if = "RowSecurity::is_default")]
    pub security: RowSecurity,
    /// How many rows it had when they were last counted (-1: forgotten since); None: never counted
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tuples: Option<i64>,
    /// What ANALYZE has seen of its columns, of those that have values
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub distinct: Vec<ColumnStatistics>,
    /// in the order of their names
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub triggers: Vec<Trigger>,
    /// in the order of their names
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<Rule>,
    #[serde(default, skip_serializing_if = "Inheritance::is_default")]
    pub inheritance: Inheritance,
    #[serde(default, skip_serializing_if = "Storage::is_default")]
    pub storage: Storage,
    /// CREATE STATISTICS
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub statistics: Vec<StatisticsObject>,
}

/// What ANALYZE estimates of a column's values from a sample of the rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ColumnStatistics {
    pub attnum: i16,
    /// how many different values there are
    pub distinct: i64,
    /// Values at equal distances in their order, from the least to the greatest, in storage form: of integers, dates and timestamps.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bounds: Vec<String>,
    /// Of a hundred rows, how many are followed by one with the same value in the order in which the table stores them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub repeated: u8,
}

fn is_zero(value: &u8) -> bool {
    *value == 0
}

/// Extended statistics of a table's columns. They change no plan here, but the catalogs and dumps show them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StatisticsObject {
    pub oid: Oid,
    pub schema: Oid,
    pub name: String,
    pub owner: Oid,
    /// ALTER STATISTICS … SET STATISTICS; None: -1
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<i32>,
    /// `d` (ndistinct), `f` (dependencies), `m` (mcv), `e` (of expressions), in this order
    pub kinds: String,
    /// attnums, ascending
    #[serde(default)]
    pub columns: Vec<i16>,
    /// PostgreSQL SQL texts
    #[serde(default)]
    pub expressions: Vec<String>,
}

/// What was said about how PostgreSQL should store a table or index. It changes nothing here, but the catalogs and dumps show it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Storage {
    /// `name=value`, of pg_class.reloptions
    #[serde(default)]
    pub parameters: Vec<String>,
    /// the index that CLUSTER goes by; 0: none
    #[serde(default)]
    pub clustered: Oid,
    #[serde(default)]
    pub replica_identity: ReplicaIdentity,
}

/// REPLICA IDENTITY of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum ReplicaIdentity {
    /// the primary key
    #[default]
    Default,
    Nothing,
    Full,
    /// a unique index, by OID
    Index(Oid),
}

impl Storage {
    fn is_default(&self) -> bool {
        *self == Storage::default()
    }
}

impl Relation {
    /// Its rows are in a SQLite table: a table or a materialized view.
    pub fn is_stored(&self) -> bool {
        matches!(self.kind, RelationKind::Table | RelationKind::MaterializedView { .. })
    }
    /// It is a view whose INSTEAD OF triggers do what a data modification asks for.
    pub fn has_instead_of(&self, event: Event) -> bool {
        self.triggers.iter().any(|t| t.timing == Timing::InsteadOf && t.events.contains(&event))
    }
    /// The rules that rewrite a statement of this event, in the order in which they do.
    pub fn rules_for(&self, event: Event) -> impl Iterator<Item = &Rule> {
        self.rules.iter().filter(move |r| r.is_on() && r.event == event)
    }
    /// A view whose tables are read with the rights of whoever reads the view.
    pub fn is_invoker_view(&self) -> bool {
        let invoker = |options: &Vec<String>| options.iter().any(|o| o == "security_invoker=true");
        matches!(&self.kind, RelationKind::View { options, .. } if invoker(options))
    }
    /// A rule replaces each statement of this event.
    pub fn is_replaced(&self, event: Event) -> bool {
        self.rules_for(event).any(Rule::replaces)
    }
    /// The columns that exist, in order.
    pub fn live_columns(&self) -> impl Iterator<Item = &Column> {
        self.columns.iter().filter(|c| !c.dropped)
    }
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.live_columns().find(|c| c.name == name)
    }
    pub fn column_by_attnum(&self, attnum: i16) -> Option<&Column> {
        self.columns.iter().find(|c| c.attnum == attnum)
    }
    pub fn primary_key(&self) -> Option<&Constraint> {
        self.constraints.iter().find(|c| c.kind == ConstraintKind::PrimaryKey)
    }
    /// WITH CHECK OPTION of a view.
    pub fn check_option(&self) -> Option<CheckOption> {
        let RelationKind::View { options, .. } = &self.kind else { return None };
        options.iter().find_map(|o| match o.as_str() {
            "check_option=local" => Some(CheckOption::Local),
            "check_option=cascaded" => Some(CheckOption::Cascaded),
            _ => None,
        })
    }
    /// EXCLUDE constraints that are looked at for each row when it is written.
    pub fn immediate_exclusions(&self) -> impl Iterator<Item = &Constraint> {
        self.constraints.iter().filter(|c| c.kind == ConstraintKind::Exclusion && !c.deferrable)
    }
    /// PRIMARY KEY, UNIQUE and EXCLUDE constraints that are DEFERRABLE, in the order in which PostgreSQL checks them.
    pub fn deferrable_keys(&self) -> impl Iterator<Item = &Constraint> {
        let of = |primary: bool| {
            self.constraints.iter().filter(move |c| {
                c.deferrable && matches!(c.kind, ConstraintKind::PrimaryKey) == primary && c.has_index()
            })
        };
        of(true).chain(of(false))
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DomainConstraint {
    pub oid: Oid,
    pub name: String,
    /// PostgreSQL SQL text over VALUE.
    pub expression: String,
    #[serde(default)]
    pub not_valid: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum UserTypeKind {
    /// (label, OID of the pg_enum row) in order
    Enum {
        labels: Vec<(String, Oid)>,
        /// pg_enum's enumsortorder of each; none: 1, 2, 3 …
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        orders: Vec<f32>,
        /// The labels (their OIDs) that the transaction has added: PostgreSQL does not let them be used before it commits.
        #[serde(skip)]
        added: Vec<Oid>,
    },
    Domain {
        base: Oid,
        typmod: i32,
        not_null: bool,
        default: Option<String>,
        checks: Vec<DomainConstraint>,
        /// 0: that of the base type
        #[serde(default)]
        collation: Oid,
    },
    /// A stand-alone composite type: (name, type, typmod)
    Composite {
        fields: Vec<(String, Oid, i32)>,
    },
    Range(RangeDefinition),
    /// The multirange type of a range type, which it lives and dies with.
    Multirange {
        range: Oid,
    },
}

/// What CREATE TYPE … AS RANGE says: a row of `pg_range`, and the functions and the cast that come with the type.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RangeDefinition {
    pub subtype: Oid,
    pub multirange: Oid,
    /// 0: the subtype has none
    pub collation: Oid,
    /// the subtype's btree operator class
    pub opclass: Oid,
    /// the subtype difference function; 0: none
    pub difference: Oid,
    /// Schema and names of the constructors: those that the types had when they were made, which no ALTER TYPE changes.
    pub constructor_schema: Oid,
    pub range_name: String,
    pub multirange_name: String,
    /// of two bounds; of two bounds and flags
    pub range_constructors: [Oid; 2],
    /// of nothing; of a range; of an array of ranges
    pub multirange_constructors: [Oid; 3],
    /// from the range type to the multirange type
    pub cast: Oid,
}

impl RangeDefinition {
    /// OID and name of each constructor.
    pub fn constructors(&self) -> impl Iterator<Item = (Oid, &str)> {
        let of_range = self.range_constructors.iter().map(|&oid| (oid, self.range_name.as_str()));
        of_range.chain(self.multirange_constructors.iter().map(|&oid| (oid, self.multirange_name.as_str())))
    }
}

/// A range type, its multirange type and its subtype.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RangeTypes {
    pub range: Oid,
    pub multirange: Oid,
    pub subtype: Oid,
}

/// A type of the user.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UserType {
    pub oid: Oid,
    /// OID of the array type over it
    pub array_oid: Oid,
    /// The array type's name, where it is not `_name`: that was taken, or another type has taken it since
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub array_name: Option<String>,
    pub schema: Oid,
    pub name: String,
    pub owner: Oid,
    pub kind: UserTypeKind,
    /// None: PostgreSQL's default privileges
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acl: Option<Vec<AclItem>>,
}

impl UserType {
    /// The name of the array type over it.
    pub fn array_name(&self) -> String {
        self.array_name.clone().unwrap_or_else(|| format!("_{}", self.name))
    }
}

impl Relation {
    /// The name of the array type over its row type.
    pub fn array_name(&self) -> String {
        self.array_name.clone().unwrap_or_else(|| format!("_{}", self.name))
    }
}

/// One role's membership in another: a row of `pg_auth_members`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Membership {
    /// the role it is a member of
    pub role: Oid,
    pub grantor: Oid,
    pub admin: bool,
}

/// An extension that CREATE EXTENSION has made: one row of `pg_extension`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Extension {
    pub oid: Oid,
    pub name: String,
    pub schema: Oid,
    pub owner: Oid,
    pub version: String,
}

/// A collation that CREATE COLLATION has made: one row of `pg_collation`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UserCollation {
    pub oid: Oid,
    pub schema: Oid,
    pub name: String,
    pub owner: Oid,
    pub deterministic: bool,
    /// the locale of ICU; None: the provider is libc, and texts are ordered by their bytes
    pub locale: Option<String>,
    /// libc's names
    pub collate: Option<String>,
    pub ctype: Option<String>,
    pub version: Option<String>,
    /// it is bound to no encoding
    #[serde(default)]
    pub any_encoding: bool,
}

/// A text search configuration that CREATE TEXT SEARCH CONFIGURATION has made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TsConfiguration {
    pub oid: Oid,
    pub schema: Oid,
    pub name: String,
    pub owner: Oid,
    /// the dictionaries that are asked, by the number of the type of token
    pub mappings: Vec<(i32, Vec<Oid>)>,
}

/// A text search dictionary that CREATE TEXT SEARCH DICTIONARY has made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TsDictionary {
    pub oid: Oid,
    pub schema: Oid,
    pub name: String,
    pub owner: Oid,
    pub template: Oid,
    pub options: Vec<(String, String)>,
}

/// What a collation is, wherever it is defined.
#[derive(Debug, Clone, Copy)]
pub struct CollationEntry<'a> {
    pub schema: Oid,
    pub name: &'a str,
    pub deterministic: bool,
    /// the locale of ICU; None: texts are ordered by their bytes
    pub locale: Option<&'a str>,
}

/// The collation of an expression for which none can be told: what depends on it is refused.
pub const NO_COLLATION: Oid = Oid::MAX;
/// `default`, which orders as the database: by bytes.
pub const DEFAULT_COLLATION: Oid = 100;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Role {
    pub oid: Oid,
    pub name: String,
    pub superuser: bool,
    pub inherit: bool,
    pub create_role: bool,
    pub create_db: bool,
    pub login: bool,
    pub replication: bool,
    pub bypass_rls: bool,
    pub connection_limit: i32,
    /// SCRAM verifier
    pub password: Option<String>,
    pub valid_until: Option<String>,
    #[serde(default)]
    pub memberships: Vec<Membership>,
    /// ALTER ROLE … SET: (name, value)
    #[serde(default)]
    pub settings: Vec<(String, String)>,
}

/// What is kept of the database itself: its row of `pg_database`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DatabaseProperties {
    pub owner: Oid,
    /// None: PostgreSQL's default privileges
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acl: Option<Vec<AclItem>>,
    /// ALTER DATABASE … SET: (name, value)
    #[serde(default)]
    pub settings: Vec<(String, String)>,
    /// ALTER DEFAULT PRIVILEGES
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub default_acls: Vec<DefaultAcl>,
}

/// What new objects of a role grant by themselves: a row of `pg_default_acl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DefaultAcl {
    pub oid: Oid,
    pub role: Oid,
    /// 0: in every schema
    pub schema: Oid,
    /// as `defaclobjtype`: `r` tables and views, `S` sequences, `f` functions, `T` types, `n` schemas
    pub object: char,
    pub acl: Vec<AclItem>,
}

impl Default for DatabaseProperties {
    fn default() -> Self {
        DatabaseProperties { owner: BOOTSTRAP_ROLE, acl: None, settings: Vec::new(), default_acls: Vec::new() }
    }
}

/// What a type OID is, wherever it is defined.
#[derive(Debug, Clone)]
pub enum TypeEntry<'a> {
    Builtin(&'static pg_type::PgType),
    User(&'a Arc<UserType>),
    /// The array type over a user type or a table's row type (element OID).
    ArrayOf(Oid),
    /// The row type of a relation.
    Row(&'a Arc<Relation>),
}

/// A snapshot of all objects. Cheap to clone (Arcs); changed copies are made by DDL.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    /// Changes with every change of the schema: part of the plan cache's key.
    pub epoch: u64,
    /// The database's name: the file's stem.
    pub database: String,
    /// The other name that sessions may know it by: `main`, where a server serves one file.
    pub database_alias: Option<String>,
    /// A table or view of the file may give its texts a collation of SQLite's (NOCASE, RTRIM), which comparisons must not take
    pub sqlite_collations: bool,
    pub properties: DatabaseProperties,
    pub schemas: BTreeMap<Oid, Arc<Schema>>,
    pub relations: BTreeMap<Oid, Arc<Relation>>,
    pub types: BTreeMap<Oid, Arc<UserType>>,
    pub roles: BTreeMap<Oid, Arc<Role>>,
    /// those that were made, by name
    pub extensions: BTreeMap<String, Arc<Extension>>,
    /// those of the user
    pub collations: BTreeMap<Oid, Arc<UserCollation>>,
    /// text search configurations and dictionaries of the user
    pub ts_configurations: BTreeMap<Oid, Arc<TsConfiguration>>,
    pub ts_dictionaries: BTreeMap<Oid, Arc<TsDictionary>>,
    /// functions and procedures of the user
    pub routines: BTreeMap<Oid, Arc<Routine>>,
    /// the functions that came with range types of the user
    pub range_constructors: BTreeMap<Oid, Arc<Proc>>,
    pub operators: BTreeMap<Oid, Arc<MadeOperator>>,
    /// by source and target
    pub casts: BTreeMap<(Oid, Oid), Arc<UserCast>>,
    /// (class OID, object OID, sub-id) → comment
    pub comments: BTreeMap<(Oid, Oid, i32), String>,
    /// tables that have a deferrable PRIMARY KEY or UNIQUE constraint
    deferrable_tables: BTreeSet<Oid>,
    /// parent → its children, by OID
    pub(crate) children: HashMap<Oid, Vec<Oid>>,
    schema_names: HashMap<String, Oid>,
    relation_names: HashMap<(Oid, String), Oid>,
    type_names: HashMap<(Oid, String), Oid>,
    /// the array types over row types that are not named `_relation`
    array_names: HashMap<(Oid, String), Oid>,
    array_types: HashMap<Oid, Oid>,
    row_types: HashMap<Oid, Oid>,
    routine_names: HashMap<String, Vec<Oid>>,
}

impl Catalog {
    /// Whether a statement's database name means this one.
    pub fn is_database(&self, name: &str) -> bool {
        name == self.database || self.database_alias.as_deref() == Some(name)
    }
    /// The schema of a built-in function, operator or operator class. None: it is an extension's that nobody has made.
    pub fn schema_of_builtin(&self, oid: Oid) -> Option<Oid> {
        match builtin_extensions::of(oid) {
            Some(extension) => self.extensions.get(extension).map(|e| e.schema),
            None if builtin::proc_by_oid(oid).is_some_and(|p| p.schema() != "pg_catalog") => Some(INFORMATION_SCHEMA),
            None => Some(PG_CATALOG),
        }
    }

    /// The operators that a name alone may mean, each with its schema, in the order of the path: pg_catalog comes first unless the path has
    /// another place for it, and the temporary schema is left out. Of two with the same operands the first hides the other. A stored text finds
    /// those of extensions, wherever they are.
    pub fn operators_found(&self, search_path: &[Oid], name: &str) -> Vec<(&Operator, Oid)> {
        let builtins: Vec<(&Operator, Oid)> =
            builtin::operators_named(name).filter_map(|o| Some((o, self.schema_of_builtin(o.oid)?))).collect();
        let implied = (!search_path.contains(&PG_CATALOG)).then_some(PG_CATALOG);
        let mut found: Vec<(&Operator, Oid)> = Vec::new();
        for schema in implied.into_iter().chain(search_path.iter().copied().filter(|s| *s != PG_TEMP)) {
            found.extend(builtins.iter().filter(|(_, s)| *s == schema));
            found.extend(self.operators_made(schema, name).into_iter().map(|o| (o, schema)));
        }
        if search_path == STORED_PATH {
            found.extend(builtins.iter().filter(|(_, s)| *s != PG_CATALOG));
        }
        found
    }

    /// The user's operators of this name in a schema.
    pub fn operators_made(&self, schema: Oid, name: &str) -> Vec<&Operator> {
        let made =
            self.operators.values().filter(|made| made.definition.schema == schema && made.definition.name == name);
        made.map(|made| &made.row).collect()
    }

    /// The schema of an operator.
    pub fn schema_of_operator(&self, oid: Oid) -> Option<Oid> {
        match self.operators.get(&oid) {
            Some(made) => Some(made.definition.schema),
            None => builtin::operator_by_oid(oid).and_then(|o| self.schema_of_builtin(o.oid)),
        }
    }

    /// A text search configuration by schema and name.
    pub fn ts_configuration_in(&self, schema: Oid, name: &str) -> Option<Oid> {
        if schema == PG_CATALOG {
            return crate::builtins::text_search::configuration_named(name);
        }
        self.ts_configurations.values().find(|c| c.schema == schema && c.name == name).map(|c| c.oid)
    }

    /// A text search dictionary by schema and name.
    pub fn ts_dictionary_in(&self, schema: Oid, name: &str) -> Option<Oid> {
        use crate::builtins::text_search;
        if schema == PG_CATALOG {
            return text_search::dictionary_named(name);
        }
        if name == "unaccent" && self.extensions.get(name).is_some_and(|e| e.schema == schema) {
            return Some(text_search::UNACCENT_DICTIONARY);
        }
        self.ts_dictionaries.values().find(|c| c.schema == schema && c.name == name).map(|c| c.oid)
    }

    /// Schema and name of a text search configuration.
    pub fn ts_configuration_identity(&self, oid: Oid) -> Option<(Oid, &str)> {
        match self.ts_configurations.get(&oid) {
            Some(own) => Some((own.schema, own.name.as_str())),
            None => crate::builtins::text_search::configuration_name(oid).map(|name| (PG_CATALOG, name)),
        }
    }

    /// Schema and name of a text search dictionary.
    pub fn ts_dictionary_identity(&self, oid: Oid) -> Option<(Oid, &str)> {
        use crate::builtins::text_search;
        if oid == text_search::UNACCENT_DICTIONARY {
            return self.extensions.get("unaccent").map(|e| (e.schema, "unaccent"));
        }
        match self.ts_dictionaries.get(&oid) {
            Some(own) => Some((own.schema, own.name.as_str())),
            None => text_search::dictionary_name(oid).map(|name| (PG_CATALOG, name)),
        }
    }

    /// A collation by OID.
    pub fn collation(&self, oid: Oid) -> Option<CollationEntry<'_>> {
        if let Some(c) = self.collations.get(&oid) {
            return Some(CollationEntry {
                schema: c.schema,
                name: &c.name,
                deterministic: c.deterministic,
                locale: c.locale.as_deref(),
            });
        }
        let c = builtin::collation_by_oid(oid)?;
        Some(CollationEntry { schema: PG_CATALOG, name: c.name, deterministic: true, locale: c.locale })
    }

    /// A collation by schema and name.
    pub fn collation_in(&self, schema: Oid, name: &str) -> Option<Oid> {
        if schema == PG_CATALOG {
            return builtin::collation_named(name).map(|c| c.oid);
        }
        self.collations.values().find(|c| c.schema == schema && c.name == name).map(|c| c.oid)
    }

    /// The locale by which a collation orders texts, and whether it is deterministic; None: they are in the order of bytes.
    fn locale_of_collation(&self, oid: Oid) -> Option<(&str, bool)> {
        if matches!(oid, 0 | DEFAULT_COLLATION | 950 | 951 | NO_COLLATION) {
            return None;
        }
        let c = self.collation(oid)?;
        c.locale.map(|locale| (locale, c.deterministic))
    }

    /// Whether texts in a collation are in another order than that of their bytes.
    pub fn is_of_language(&self, collation: Oid) -> bool {
        self.locale_of_collation(collation).is_some()
    }

    /// SQLite's name for the order of a collation; None: the order of bytes.
    pub fn sqlite_collation(&self, oid: Oid) -> Option<String> {
        self.locale_of_collation(oid)
            .map(|(locale, deterministic)| pgsqlite_types::collation::sqlite_name(locale, deterministic))
    }

    /// Whether any column is in the order of a language.
    pub fn has_languages(&self) -> bool {
        self.relations.values().any(|r| r.columns.iter().any(|c| self.is_of_language(c.collation)))
    }

    /// Whether SQLite would compare some column by anything but its bytes, unless it is told to.
    pub fn has_collated_columns(&self) -> bool {
        self.sqlite_collations || self.has_languages()
    }

    /// The collation that values of a type have by themselves; 0: the type has none.
    pub fn type_collation(&self, ty: Oid) -> Oid {
        match self.type_entry(ty) {
            Some(TypeEntry::Builtin(t)) if t.kind == b'd' => self.type_collation(t.base_type),
            Some(TypeEntry::Builtin(t)) => t.collation,
            Some(TypeEntry::ArrayOf(element)) => self.type_collation(element),
            Some(TypeEntry::User(t)) => match &t.kind {
                UserTypeKind::Domain { collation, base, .. } => match collation {
                    0 => self.type_collation(*base),
                    own => *own,
                },
                _ => 0,
            },
            _ => 0,
        }
    }

    /// The schema of a built-in type. None: it is an extension's that nobody has made.
    pub fn schema_of_builtin_type(&self, ty: &pg_type::PgType) -> Option<Oid> {
        match ty.extension {
            Some(extension) => self.extensions.get(extension).map(|e| e.schema),
            None if is_information_domain(ty.oid) => Some(INFORMATION_SCHEMA),
            None => Some(PG_CATALOG),
        }
    }

    /// Adds or replaces (same OID) a function.
    pub fn add_function(&mut self, function: Function) {
        self.remove_function(function.oid);
        self.routine_names.entry(function.name.clone()).or_default().push(function.oid);
        let routine = Routine::new(function, |ty| self.element_type(ty));
        self.routines.insert(routine.function.oid, Arc::new(routine));
    }

    pub fn remove_function(&mut self, oid: Oid) {
        if let Some(old) = self.routines.remove(&oid) {
            if let Some(named) = self.routine_names.get_mut(&old.function.name) {
                named.retain(|&o| o != oid);
            }
        }
    }

    /// The user's functions of a name, in all schemas, by OID.
    pub fn routines_named(&self, name: &str) -> impl Iterator<Item = &Arc<Routine>> {
        self.routine_names.get(name).into_iter().flatten().filter_map(|oid| self.routines.get(oid))
    }

    /// The user's function of a schema with this name and these argument types (as `pg_proc.proargtypes` has them).
    pub fn routine_in(&self, schema: Oid, name: &str, types: &[Oid]) -> Option<&Arc<Routine>> {
        self.routines_named(name).find(|r| r.function.schema == schema && r.proc.args == types)
    }

    /// Whether a type (or its elements') is of the session alone: the rows of a temporary table.
    pub fn is_temporary_type(&self, ty: Oid) -> bool {
        self.element_type(ty).unwrap_or(ty) >= FIRST_TEMPORARY_OID
    }

    /// The functions of the session alone: of the temporary schema, or over temporary types.
    pub fn temporary_routines(&self) -> impl Iterator<Item = &Arc<Routine>> {
        self.routines.values().filter(|r| r.function.oid >= FIRST_TEMPORARY_OID)
    }

    pub fn function(&self, oid: Oid) -> Option<&Function> {
        self.routines.get(&oid).map(|r| &r.function)
    }

    /// The row of `pg_aggregate` of an aggregate, PostgreSQL's own or the user's.
    pub fn aggregate(&self, proc: Oid) -> Option<&builtin::Aggregate> {
        builtin::aggregate(proc).or_else(|| self.function(proc)?.aggregate.as_deref())
    }

    /// The row of `pg_operator` of an operator, PostgreSQL's own or the user's.
    pub fn operator(&self, oid: Oid) -> Option<&builtin::Operator> {
        builtin::operator_by_oid(oid).or_else(|| self.operators.get(&oid).map(|o| &o.row))
    }

    /// The row of `pg_proc` of a function, PostgreSQL's own or the user's.
    pub fn proc(&self, oid: Oid) -> Option<&Proc> {
        builtin::proc_by_oid(oid)
            .or_else(|| self.routines.get(&oid).map(|r| &r.proc))
            .or_else(|| self.range_constructors.get(&oid).map(|p| &**p))
    }

    /// The trigger with this OID and its table.
    pub fn trigger(&self, oid: Oid) -> Option<(&Arc<Relation>, &Trigger)> {
        self.relations.values().find_map(|r| r.triggers.iter().find(|t| t.oid == oid).map(|t| (r, t)))
    }

    pub fn add_schema(&mut self, schema: Schema) {
        self.schema_names.insert(schema.name.clone(), schema.oid);
        self.schemas.insert(schema.oid, Arc::new(schema));
    }

    /// Adds or replaces (same OID) a relation.
    pub fn add_relation(&mut self, relation: Relation) {
        self.remove_relation(relation.oid);
        self.relation_names.insert((relation.schema, relation.name.clone()), relation.oid);
        if relation.row_type != 0 {
            self.row_types.insert(relation.row_type, relation.oid);
        }
        if relation.array_type != 0 {
            self.array_types.insert(relation.array_type, relation.row_type);
            if let Some(name) = &relation.array_name {
                self.array_names.insert((relation.schema, name.clone()), relation.array_type);
            }
        }
        if relation.deferrable_keys().next().is_some() {
            self.deferrable_tables.insert(relation.oid);
        }
        for &parent in relation.inheritance.parents.iter().filter(|_| !relation.inheritance.detaching) {
            let children = self.children.entry(parent).or_default();
            if let Err(at) = children.binary_search(&relation.oid) {
                children.insert(at, relation.oid);
            }
        }
        self.relations.insert(relation.oid, Arc::new(relation));
    }

    /// The tables that have a deferrable PRIMARY KEY, UNIQUE or EXCLUDE constraint.
    pub fn tables_with_deferrable_keys(&self) -> impl Iterator<Item = &Arc<Relation>> {
        self.deferrable_tables.iter().filter_map(|oid| self.relations.get(oid))
    }

    pub fn remove_relation(&mut self, oid: Oid) {
        if let Some(old) = self.relations.remove(&oid) {
            self.relation_names.remove(&(old.schema, old.name.clone()));
            self.row_types.remove(&old.row_type);
            self.array_types.remove(&old.array_type);
            if let Some(name) = &old.array_name {
                self.array_names.remove(&(old.schema, name.clone()));
            }
            self.deferrable_tables.remove(&oid);
            for parent in &old.inheritance.parents {
                if let Some(children) = self.children.get_mut(parent) {
                    children.retain(|c| *c != oid);
                    if children.is_empty() {
                        self.children.remove(parent);
                    }
                }
            }
        }
    }

    /// Adds or replaces (same OID) a type of the user.
    pub fn add_type(&mut self, user_type: UserType) {
        self.remove_type(user_type.oid);
        self.type_names.insert((user_type.schema, user_type.name.clone()), user_type.oid);
        self.type_names.insert((user_type.schema, user_type.array_name()), user_type.array_oid);
        self.array_types.insert(user_type.array_oid, user_type.oid);
        for proc in routine::range_constructors(&user_type) {
            self.range_constructors.insert(proc.oid, Arc::new(proc));
        }
        self.types.insert(user_type.oid, Arc::new(user_type));
    }

    pub fn remove_type(&mut self, oid: Oid) {
        if let Some(old) = self.types.remove(&oid) {
            self.type_names.remove(&(old.schema, old.name.clone()));
            self.type_names.remove(&(old.schema, old.array_name()));
            self.array_types.remove(&old.array_oid);
            if let UserTypeKind::Range(definition) = &old.kind {
                for (constructor, _) in definition.constructors() {
                    self.range_constructors.remove(&constructor);
                }
            }
        }
    }

    pub fn remove_schema(&mut self, oid: Oid) {
        if let Some(old) = self.schemas.remove(&oid) {
            self.schema_names.remove(&old.name);
        }
    }

    /// This snapshot without temporary objects: what other sessions may see.
    pub fn shared(&self) -> Catalog {
        let mut shared = self.clone();
        for relation in self.relations.values().filter(|r| r.temporary) {
            shared.remove_relation(relation.oid);
        }
        for routine in self.temporary_routines() {
            shared.remove_function(routine.function.oid);
        }
        shared
    }

    /// This snapshot with the temporary objects of another one (the session's own).
    pub fn with_temporary_of(&self, session: &Catalog) -> Catalog {
        let mut merged = self.clone();
        for relation in session.relations.values().filter(|r| r.temporary) {
            merged.add_relation((**relation).clone());
        }
        for routine in session.temporary_routines() {
            merged.add_function(routine.function.clone());
        }
        merged
    }

    pub fn schema_name(&self, oid: Oid) -> &str {
        self.schemas.get(&oid).map_or("", |s| s.name.as_str())
    }

    pub fn role_name(&self, oid: Oid) -> Option<&str> {
        self.roles.get(&oid).map(|r| r.name.as_str())
    }

    pub fn role_named(&self, name: &str) -> Option<&Arc<Role>> {
        self.roles.values().find(|r| r.name == name)
    }

    /// The constraint with this OID and its table.
    pub fn constraint(&self, oid: Oid) -> Option<(&Arc<Relation>, &Constraint)> {
        self.relations.values().find_map(|r| r.constraints.iter().find(|c| c.oid == oid).map(|c| (r, c)))
    }

    /// The foreign keys of other (or the same) tables that reference `table`.
    pub fn referencing(&self, table: Oid) -> impl Iterator<Item = (&Arc<Relation>, &Constraint)> {
        self.relations.values().flat_map(move |r| {
            r.constraints
                .iter()
                .filter(
                    move |c| matches!(&c.kind, ConstraintKind::ForeignKey { references, .. } if *references == table),
                )
                .map(move |c| (r, c))
        })
    }

    /// The highest OID given to an object of the user, at least the one before the first.
    pub fn highest_oid(&self) -> Oid {
        let mut highest = pgsqlite_types::oid::FIRST_USER_OID - 1;
        let mut see = |oid: Oid| {
            if (pgsqlite_types::oid::FIRST_USER_OID..FIRST_TEMPORARY_OID).contains(&oid) {
                highest = highest.max(oid);
            }
        };
        self.schemas.keys().chain(self.roles.keys()).for_each(|&o| see(o));
        for r in self.relations.values() {
            [r.oid, r.row_type, r.array_type].into_iter().for_each(&mut see);
            r.constraints.iter().for_each(|c| see(c.oid));
            r.security.policies.iter().for_each(|p| see(p.oid));
            r.triggers.iter().for_each(|t| see(t.oid));
            r.statistics.iter().for_each(|s| see(s.oid));
        }
        self.routines.keys().for_each(|&o| see(o));
        self.collations.keys().for_each(|&o| see(o));
        self.ts_configurations.keys().chain(self.ts_dictionaries.keys()).for_each(|&o| see(o));
        self.operators.keys().for_each(|&o| see(o));
        self.casts.values().for_each(|c| see(c.oid));
        self.properties.default_acls.iter().for_each(|d| see(d.oid));
        for t in self.types.values() {
            [t.oid, t.array_oid].into_iter().for_each(&mut see);
            match &t.kind {
                UserTypeKind::Enum { labels, .. } => labels.iter().for_each(|l| see(l.1)),
                UserTypeKind::Domain { checks, .. } => checks.iter().for_each(|c| see(c.oid)),
                UserTypeKind::Range(r) => {
                    r.range_constructors.iter().chain(&r.multirange_constructors).for_each(|&o| see(o));
                    see(r.cast);
                }
                UserTypeKind::Composite { .. } | UserTypeKind::Multirange { .. } => {}
            }
        }
        highest
    }

    /// The labels of enums that a transaction has added can be used from its COMMIT on.
    pub fn with_labels_committed(self: Arc<Self>) -> Arc<Self> {
        let fresh = |t: &UserType| matches!(&t.kind, UserTypeKind::Enum { added, .. } if !added.is_empty());
        if !self.types.values().any(|t| fresh(t)) {
            return self;
        }
        let mut catalog = Arc::unwrap_or_clone(self);
        for t in catalog.types.values_mut().filter(|t| fresh(t)) {
            if let UserTypeKind::Enum { added, .. } = &mut Arc::make_mut(t).kind {
                added.clear();
            }
        }
        Arc::new(catalog)
    }

    pub fn schema_oid(&self, name: &str) -> Option<Oid> {
        self.schema_names.get(name).copied()
    }

    /// The schema `public`. It has another OID than [`PUBLIC`] where it was dropped and made again.
    pub fn public_schema(&self) -> Oid {
        self.schema_oid("public").unwrap_or(PUBLIC)
    }

    pub fn relation(&self, oid: Oid) -> Option<&Arc<Relation>> {
        self.relations.get(&oid)
    }

    /// All extended statistics, with their tables.
    pub fn statistics(&self) -> impl Iterator<Item = (&Arc<Relation>, &StatisticsObject)> {
        self.relations.values().flat_map(|r| r.statistics.iter().map(move |s| (r, s)))
    }

    pub fn relation_in(&self, schema: Oid, name: &str) -> Option<&Arc<Relation>> {
        self.relations.get(self.relation_names.get(&(schema, name.to_string()))?)
    }

    /// The indexes of a table, by OID.
    pub fn indexes_of(&self, table: Oid) -> impl Iterator<Item = (&Arc<Relation>, &Index)> {
        self.relations.values().filter_map(move |r| match &r.kind {
            RelationKind::Index(index) if index.table == table => Some((r, index)),
            _ => None,
        })
    }

    /// A type by OID.
    pub fn type_entry(&self, oid: Oid) -> Option<TypeEntry<'_>> {
        if let Some(t) = pg_type::by_oid(oid) {
            return Some(TypeEntry::Builtin(t));
        }
        if let Some(t) = self.types.get(&oid) {
            return Some(TypeEntry::User(t));
        }
        if let Some(&element) = self.array_types.get(&oid) {
            return Some(TypeEntry::ArrayOf(element));
        }
        self.row_types.get(&oid).and_then(|r| self.relations.get(r)).map(TypeEntry::Row)
    }

    /// A type by schema and catalog name (`int4`, `_int4`, `mood`, a table's name …).
    pub fn type_in(&self, schema: Oid, name: &str) -> Option<Oid> {
        if let Some(t) = pg_type::by_name(name).filter(|t| self.schema_of_builtin_type(t) == Some(schema)) {
            return Some(t.oid);
        }
        if let Some(&oid) = self.type_names.get(&(schema, name.to_string())) {
            return Some(oid);
        }
        if let Some(relation) = self.relation_in(schema, name).filter(|r| r.row_type != 0) {
            return Some(relation.row_type);
        }
        if let Some(&oid) = self.array_names.get(&(schema, name.to_string())) {
            return Some(oid);
        }
        let relation = self.relation_in(schema, name.strip_prefix('_')?)?;
        (relation.array_type != 0 && relation.array_name.is_none()).then_some(relation.array_type)
    }

    /// Whether a type has this name that does not make room for another one: any but an array type that came with its element type.
    pub fn type_name_taken(&self, schema: Oid, name: &str) -> bool {
        self.type_in(schema, name).is_some_and(|oid| !matches!(self.type_entry(oid), Some(TypeEntry::ArrayOf(_))))
    }

    /// A name that is free for the array type over the type `name`: as many underscores in front of it as it takes.
    pub fn free_array_name(&self, schema: Oid, name: &str) -> String {
        let longest = crate::parse::MAX_NAME;
        let mut found = String::new();
        for underscores in 1..longest {
            let mut kept = name.len().min(longest - underscores);
            while !name.is_char_boundary(kept) {
                kept -= 1;
            }
            found = format!("{}{}", "_".repeat(underscores), &name[..kept]);
            if self.type_in(schema, &found).is_none() {
                break;
            }
        }
        found
    }

    /// The element type of an array type (built-in or of the user).
    pub fn element_type(&self, array: Oid) -> Option<Oid> {
        match self.type_entry(array)? {
            TypeEntry::Builtin(t) if t.is_array() => Some(t.elem),
            TypeEntry::ArrayOf(element) => Some(element),
            _ => None,
        }
    }

    /// The array type over a type; None if it has none.
    pub fn array_type(&self, element: Oid) -> Option<Oid> {
        match self.type_entry(element)? {
            TypeEntry::Builtin(t) => (t.array != 0).then_some(t.array),
            TypeEntry::User(t) => Some(t.array_oid),
            TypeEntry::Row(r) => Some(r.array_type),
            TypeEntry::ArrayOf(_) => None,
        }
    }

    /// The fields of a composite type (name, type, type modifier); None for other types.
    pub fn composite_fields(&self, oid: Oid) -> Option<Vec<(String, Oid, i32)>> {
        match self.type_entry(self.base_type(oid))? {
            TypeEntry::Row(r) => Some(r.live_columns().map(|c| (c.name.clone(), c.type_oid, c.typmod)).collect()),
            TypeEntry::User(t) => match &t.kind {
                UserTypeKind::Composite { fields } => Some(fields.clone()),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether the elements of an array type or the fields of a row type are values of domains, at any depth.
    pub fn holds_domains(&self, ty: Oid) -> bool {
        let of_domain = |t: Oid| self.base_type(t) != t || self.holds_domains(t);
        match self.element_type(ty) {
            Some(element) => of_domain(element),
            None => self.composite_fields(ty).is_some_and(|fields| fields.iter().any(|(_, t, _)| of_domain(*t))),
        }
    }

    /// The type modifier of a domain's values, -1 if none: its own or that of the domains below it.
    pub fn domain_typmod(&self, domain: Oid) -> i32 {
        match self.types.get(&domain).map(|t| &t.kind) {
            Some(UserTypeKind::Domain { base, typmod, .. }) if *typmod < 0 => self.domain_typmod(*base),
            Some(UserTypeKind::Domain { typmod, .. }) => *typmod,
            _ => pgsqlite_types::catalog::domain_typmod(domain),
        }
    }

    /// The range types that `ty` is the range or the multirange of (domains are not unwrapped).
    pub fn range_types(&self, ty: Oid) -> Option<RangeTypes> {
        if let Some(t) = RangeType::builtin(ty) {
            return Some(RangeTypes { range: t.oid, multirange: t.multirange, subtype: t.subtype });
        }
        let range = match &self.types.get(&ty)?.kind {
            UserTypeKind::Range(_) => ty,
            UserTypeKind::Multirange { range } => *range,
            _ => return None,
        };
        let definition = self.range_definition(range)?;
        Some(RangeTypes { range, multirange: definition.multirange, subtype: definition.subtype })
    }

    /// A type and all that its values may have inside: of arrays, ranges, domains and composite types.
    fn parts(&self, ty: Oid, seen: &mut BTreeSet<Oid>) {
        if !seen.insert(ty) {
            return;
        }
        if let Some(element) = self.element_type(ty) {
            self.parts(element, seen);
        } else if let Some(range) = self.range_types(ty) {
            self.parts(range.subtype, seen);
        } else if let Some(UserTypeKind::Domain { base, .. }) = self.types.get(&ty).map(|t| &t.kind) {
            self.parts(*base, seen);
        } else {
            self.composite_fields(ty).unwrap_or_default().iter().for_each(|f| self.parts(f.1, seen));
        }
    }

    /// Whether values of a type are, or may have inside, values of the type `inner`.
    pub fn holds_values_of(&self, ty: Oid, inner: Oid) -> bool {
        let mut parts = BTreeSet::new();
        self.parts(ty, &mut parts);
        parts.contains(&inner)
    }

    /// Whether values of a type are, or may have inside, values of a domain with constraints, which text and binary input of
    /// the outer type would not check.
    pub fn holds_constrained(&self, ty: Oid) -> bool {
        let mut parts = BTreeSet::new();
        self.parts(ty, &mut parts);
        parts.iter().any(|part| match self.types.get(part).map(|t| &t.kind) {
            Some(UserTypeKind::Domain { not_null, checks, .. }) => *not_null || !checks.is_empty(),
            _ => false,
        })
    }

    /// How a range type of the user was made.
    pub fn range_definition(&self, range: Oid) -> Option<&RangeDefinition> {
        match &self.types.get(&range)?.kind {
            UserTypeKind::Range(definition) => Some(definition),
            _ => None,
        }
    }

    /// The range type of the user that came with a function.
    pub fn range_of_constructor(&self, proc: Oid) -> Option<(&Arc<UserType>, &RangeDefinition)> {
        self.range_constructors.get(&proc)?;
        self.types.values().find_map(|t| match &t.kind {
            UserTypeKind::Range(d) if d.constructors().any(|(oid, _)| oid == proc) => Some((t, d)),
            _ => None,
        })
    }

    /// What the codecs need to know of a range type of the user.
    fn range_codec(&self, range: Oid, depth: usize) -> Option<Arc<RangeType>> {
        let definition = self.range_definition(range)?;
        Some(Arc::new(RangeType {
            oid: range,
            multirange: definition.multirange,
            subtype: definition.subtype,
            element: self.codec_within(definition.subtype, depth)?,
            discrete: false,
        }))
    }

    /// Domains unwrapped: the base type and the type modifier the innermost domain sets.
    pub fn base_type(&self, oid: Oid) -> Oid {
        match self.types.get(&oid).map(|t| &t.kind) {
            Some(UserTypeKind::Domain { base, .. }) => self.base_type(*base),
            _ => match pg_type::by_oid(oid) {
                Some(t) if t.kind == b'd' => self.base_type(t.base_type),
                _ => oid,
            },
        }
    }

    /// How values of the type are stored and travel; None: the type is not implemented (refuse with 0A000).
    pub fn codec(&self, oid: Oid) -> Option<TypeCodec> {
        self.codec_within(oid, 0)
    }

    /// As [`Catalog::codec`], for a type that is so many composite types deep inside of another.
    fn codec_within(&self, oid: Oid, depth: usize) -> Option<TypeCodec> {
        match self.type_entry(oid)? {
            TypeEntry::Builtin(t) if t.kind == b'd' => self.codec_within(t.base_type, depth),
            TypeEntry::Builtin(t) => TypeCodec::builtin(t.oid),
            TypeEntry::ArrayOf(element) => {
                Some(TypeCodec::Array(Box::new(self.codec_within(element, depth)?), element, b','))
            }
            TypeEntry::User(t) => match &t.kind {
                UserTypeKind::Enum { labels, added, .. } => Some(TypeCodec::Enum(Arc::new(EnumType {
                    oid: t.oid,
                    name: crate::quoting::quote_identifier(&t.name),
                    labels: labels.iter().map(|(l, _)| l.clone()).collect(),
                    unsafe_labels: labels.iter().filter(|(_, o)| added.contains(o)).map(|(l, _)| l.clone()).collect(),
                }))),
                UserTypeKind::Domain { base, .. } => self.codec_within(*base, depth),
                UserTypeKind::Composite { fields } => {
                    Some(self.composite_codec(&t.name, fields.iter().map(|f| (f.1, f.2)), depth))
                }
                UserTypeKind::Range(_) => self.range_codec(t.oid, depth).map(TypeCodec::Range),
                UserTypeKind::Multirange { range } => self.range_codec(*range, depth).map(TypeCodec::Multirange),
            },
            TypeEntry::Row(r) => {
                Some(self.composite_codec(&r.name, r.live_columns().map(|c| (c.type_oid, c.typmod)), depth))
            }
        }
    }

    /// The type modifier with which a field or column of the type `ty` and the modifier `typmod` is read: a domain's, or that of the
    /// domain of which an array's elements are, where it has none of its own.
    fn input_typmod(&self, ty: Oid, typmod: i32) -> i32 {
        match typmod {
            -1 => match self.domain_typmod(ty) {
                -1 => self.element_type(ty).map_or(-1, |element| self.domain_typmod(element)),
                own => own,
            },
            own => own,
        }
    }

    /// The codec of a composite type with these fields (type, type modifier).
    fn composite_codec(&self, name: &str, fields: impl Iterator<Item = (Oid, i32)>, depth: usize) -> TypeCodec {
        // A file may have a row type inside of itself; how deep values compare has an end then.
        const DEEPEST: usize = 4;
        let fields: Vec<(Oid, i32)> = fields.map(|(ty, typmod)| (ty, self.input_typmod(ty, typmod))).collect();
        let of_user = |ty: Oid| depth < DEEPEST && pg_type::by_oid(ty).is_none();
        let codecs = fields.iter().map(|f| of_user(f.0).then(|| self.codec_within(f.0, depth + 1)).flatten()).collect();
        TypeCodec::Composite(Arc::new(CompositeType { name: name.into(), fields, codecs }))
    }
}
