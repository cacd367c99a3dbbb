//! Relations: tables, views, indexes, sequences and composite types.

use super::acl_item::AclItem;
use super::column::Column;
use super::constraint::{Constraint, ConstraintKind};
use super::index::Index;
use super::inheritance::Inheritance;
use super::routine::{Event, Timing, Trigger};
use super::rule::Rule;
use super::{BOOTSTRAP_ROLE, PUBLIC};
use pgsqlite_types::Oid;
use serde::{Deserialize, Serialize};

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

impl RelationKind {
    /// The detail of an error: what a command does not do to such a relation.
    pub fn not_supported(&self) -> &'static str {
        match self {
            RelationKind::View { .. } | RelationKind::ForeignView => "This operation is not supported for views.",
            RelationKind::MaterializedView { .. } => "This operation is not supported for materialized views.",
            RelationKind::Index(_) => "This operation is not supported for indexes.",
            RelationKind::Sequence(_) => "This operation is not supported for sequences.",
            RelationKind::Table | RelationKind::System => "This operation is not supported for tables.",
        }
    }
}

impl Relation {
    /// A relation of the superuser in `public` with nothing in it, and without OIDs and names.
    pub fn new(kind: RelationKind) -> Relation {
        Relation {
            oid: 0,
            schema: PUBLIC,
            name: String::new(),
            kind,
            sqlite_name: String::new(),
            owner: BOOTSTRAP_ROLE,
            row_type: 0,
            array_type: 0,
            array_name: None,
            temporary: false,
            unlogged: false,
            columns: Vec::new(),
            constraints: Vec::new(),
            rowid_column: None,
            without_rowid: false,
            origin: Origin::Pgsqlite,
            acl: None,
            on_commit: Default::default(),
            security: Default::default(),
            tuples: None,
            distinct: Vec::new(),
            triggers: Vec::new(),
            rules: Vec::new(),
            inheritance: Default::default(),
            storage: Default::default(),
            statistics: Vec::new(),
        }
    }
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
    /// The columns that SQLite's table has: all but the virtual ones.
    pub fn stored_columns(&self) -> impl Iterator<Item = &Column> {
        self.live_columns().filter(|c| !c.is_virtual)
    }
    /// Whether some of its columns are computed when they are read.
    pub fn has_virtual_columns(&self) -> bool {
        self.live_columns().any(|c| c.is_virtual)
    }
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.live_columns().find(|c| c.name == name)
    }
    pub fn column_by_attnum(&self, attnum: i16) -> Option<&Column> {
        self.columns.iter().find(|c| c.attnum == attnum)
    }
    /// The key that is called the primary one: that of [`Relation::primary_key`], or one WITHOUT OVERLAPS.
    pub fn primary_constraint(&self) -> Option<&Constraint> {
        self.constraints.iter().find(|c| c.is_primary())
    }
    /// Whether a column is in the primary key, of whichever kind that is.
    pub fn is_in_primary_key(&self, attnum: i16) -> bool {
        self.constraints.iter().any(|k| k.is_primary() && k.columns.contains(&attnum))
    }
    /// The primary key whose columns together are different in each row.
    pub fn primary_key(&self) -> Option<&Constraint> {
        self.constraints.iter().find(|c| c.kind == ConstraintKind::PrimaryKey)
    }
    /// The NOT NULL of a column, where it is a constraint of its own.
    pub fn not_null_constraint(&self, attnum: i16) -> Option<&Constraint> {
        self.constraints.iter().find(|c| c.not_null_of() == Some(attnum))
    }
    /// Whether a child's column must have a value because this table's must.
    pub fn passes_on_not_null(&self, column: &Column) -> bool {
        column.needs_value() && !self.not_null_constraint(column.attnum).is_some_and(Constraint::is_no_inherit)
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

    /// The name of the array type over its row type.
    pub fn array_name(&self) -> String {
        self.array_name.clone().unwrap_or_else(|| format!("_{}", self.name))
    }
}
