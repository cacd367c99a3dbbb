//! The typed tree: what analysis makes of a parse tree and lowering turns into SQLite SQL. Every name is resolved, every
//! expression has a type, every conversion is a node. Nothing here knows SQLite.

use crate::catalog::Relation;
use crate::sql_json::SqlJson;
use pgsqlite_types::{Datum, Oid, PgError, SqlState};
use std::sync::Arc;

/// An expression with its type. Equality ignores the location: GROUP BY x matches the x of the select list.
#[derive(Debug, Clone)]
pub struct Expr {
    pub kind: ExprKind,
    pub ty: Oid,
    /// -1: none
    pub typmod: i32,
    /// OID of the collation that COLLATE sets; of other expressions that which they are compared with (see `analyze::collations`);
    /// 0: the type's default.
    pub collation: Oid,
    /// Byte offset in the statement; -1 unknown.
    pub location: i32,
}

/// How a cast is carried out.
#[derive(Debug, Clone, PartialEq)]
pub enum CastMethod {
    /// the representation stays (varchar → text, domain → base …)
    Relabel,
    /// through a function of pg_cast; it takes 1 to 3 arguments (value, typmod, explicit)
    Function(Oid),
    /// through text output and text input
    InOut,
    /// element by element
    Array(Box<CastMethod>, Oid, Oid),
    /// apply the expression's typmod to a value that is of the type already
    Typmod,
    /// base type → domain: check its constraints
    Domain,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CastForm {
    /// written in the statement (`::`, CAST)
    Explicit,
    Assignment,
    Implicit,
    /// no cast: `CURRENT_TIMESTAMP` and its like, printed as this word, around the calls that they stand for
    Keyword(&'static str),
    /// no cast: `COLLATE`, around the expression whose collation it sets
    Collate,
    /// no cast: around a call that was written as the SQL standard has it (`SUBSTRING(a FROM b)`), in trees that are printed
    Syntax,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BoolTest {
    True,
    NotTrue,
    False,
    NotFalse,
    Unknown,
    NotUnknown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantifier {
    Any,
    All,
}

/// A reference to a column of an entry of a range table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Var {
    /// 0: this query, 1: the one around it …
    pub levels_up: usize,
    /// index in `Query::range_table`
    pub rte: usize,
    /// index in `RangeTableEntry::columns`
    pub column: usize,
}

#[derive(Debug, Clone, PartialEq)]
pub enum SubLinkKind {
    Scalar,
    Exists,
    /// ARRAY(SELECT …)
    Array,
    /// `tests op ANY|ALL (query)`: one operator function per column; all columns must hold (row comparison `=`), `<>`: any.
    Quantified {
        quantifier: Quantifier,
        tests: Vec<Expr>,
        operators: Vec<OperatorRef>,
    },
    /// ROW(…) op (subquery)
    RowCompare {
        tests: Vec<Expr>,
        operators: Vec<OperatorRef>,
    },
}

/// An operator that overload resolution chose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OperatorRef {
    pub oid: Oid,
    /// the function behind it
    pub proc: Oid,
}

/// An aggregate call.
#[derive(Debug, Clone, PartialEq)]
pub struct Aggregate {
    pub proc: Oid,
    /// direct arguments of an ordered-set aggregate
    pub direct: Vec<Expr>,
    pub args: Vec<Expr>,
    /// count(*)
    pub star: bool,
    pub distinct: bool,
    pub order_by: Vec<SortKey>,
    pub filter: Option<Expr>,
    /// an argument list ended in VARIADIC array
    pub variadic: bool,
    /// 0: aggregates over this query's rows
    pub levels_up: usize,
}

#[derive(Debug, Clone, PartialEq)]
pub enum ExprKind {
    /// A literal in the storage form of its type (of type `unknown`: Text).
    Const(Datum),
    /// `$n`, from 1
    Param(usize),
    Var(Var),
    /// A whole row of a range table entry, as a record.
    WholeRow {
        levels_up: usize,
        rte: usize,
        /// names and types of the columns
        fields: Vec<(String, Oid)>,
    },
    /// A function call (not aggregate, window or set-returning).
    Func {
        proc: Oid,
        args: Vec<Expr>,
        variadic: bool,
    },
    /// A set-returning function in a place where rows multiply (select list).
    SetFunc {
        proc: Oid,
        args: Vec<Expr>,
        variadic: bool,
    },
    /// An operator call: 1 (prefix) or 2 arguments.
    Op {
        op: OperatorRef,
        args: Vec<Expr>,
    },
    Cast {
        arg: Box<Expr>,
        method: CastMethod,
        form: CastForm,
    },
    And(Vec<Expr>),
    Or(Vec<Expr>),
    Not(Box<Expr>),
    IsNull {
        arg: Box<Expr>,
        negated: bool,
    },
    BoolTest {
        arg: Box<Expr>,
        test: BoolTest,
    },
    /// IS [NOT] DISTINCT FROM by the equality operator
    Distinct {
        op: OperatorRef,
        left: Box<Expr>,
        right: Box<Expr>,
        negated: bool,
    },
    /// `left [NOT] IN (list)`
    InList {
        op: OperatorRef,
        left: Box<Expr>,
        list: Vec<Expr>,
        negated: bool,
    },
    /// `left op ANY|ALL (array)`
    ArrayCompare {
        op: OperatorRef,
        quantifier: Quantifier,
        left: Box<Expr>,
        array: Box<Expr>,
    },
    /// Searched CASE (the simple form became `operand = value` comparisons).
    Case {
        whens: Vec<(Expr, Expr)>,
        otherwise: Option<Box<Expr>>,
    },
    Coalesce(Vec<Expr>),
    NullIf {
        op: OperatorRef,
        left: Box<Expr>,
        right: Box<Expr>,
    },
    Greatest(Vec<Expr>),
    Least(Vec<Expr>),
    Aggregate(Box<Aggregate>),
    /// A window function or aggregate OVER windows[window]
    Window {
        call: Box<Aggregate>,
        window: usize,
    },
    /// GROUPING(…): indexes in the group clause
    Grouping(Vec<usize>),
    /// WHERE CURRENT OF: the number (tid) of the row that the cursor stands on, if it is of the table with this OID
    CurrentOf {
        cursor: String,
        table: Box<Expr>,
    },
    /// The row of the target whose rowid a parameter has: the condition of a statement that changes one row after the other.
    RowNumbered {
        rowid: String,
        parameter: usize,
    },
    SubLink {
        kind: SubLinkKind,
        query: Box<Query>,
    },
    Array(Vec<Expr>),
    /// element access (`upper` only) or slice, per dimension
    Subscript {
        arg: Box<Expr>,
        slice: bool,
        subscripts: Vec<(Option<Expr>, Option<Expr>)>,
    },
    /// jsonb subscripts
    JsonSubscript {
        arg: Box<Expr>,
        subscripts: Vec<Expr>,
    },
    Row(Vec<Expr>),
    /// ROW(…) op ROW(…): `=`, `<>`, `<` …; operators one per column
    RowCompare {
        name: String,
        operators: Vec<OperatorRef>,
        left: Vec<Expr>,
        right: Vec<Expr>,
    },
    /// a field of a record, by index
    Field {
        arg: Box<Expr>,
        index: usize,
        name: String,
    },
    /// `base` with one part of it replaced by `value`
    Assign {
        base: Box<Expr>,
        part: AssignPart,
        value: Box<Expr>,
    },
    /// DEFAULT in VALUES or SET
    Default,
    /// The number that SQLite would give to the next row of a table: of its INTEGER PRIMARY KEY, whose sequence (OID) this is.
    NextRow(Oid),
    /// VALUE in a domain's check
    DomainValue,
    /// An expression of SQL/JSON: what is written in it, and the expressions
    SqlJson {
        form: Box<SqlJson>,
        args: Vec<Expr>,
    },
}

/// The part of a value that an assignment replaces.
#[derive(Debug, Clone, PartialEq)]
pub enum AssignPart {
    /// a field of a composite value: its index, and the types of all fields
    Field { index: usize, types: Vec<Oid> },
    /// an array element: a subscript per dimension
    Element(Vec<Expr>),
    /// an array slice: lower and upper bound per dimension
    Slice(Vec<(Option<Expr>, Option<Expr>)>),
    /// a place in a jsonb value: keys (text) and indexes (integers)
    Json(Vec<Expr>),
}

#[derive(Debug, Clone, PartialEq)]
pub struct SortKey {
    pub expr: Expr,
    pub descending: bool,
    pub nulls_first: bool,
    /// index of the target this key is, if it is one
    pub target: Option<usize>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    pub expr: Expr,
    pub name: String,
    /// (table OID, attnum) of a plain column, for RowDescription
    pub origin: (Oid, i16),
}

/// A column that a range table entry offers.
#[derive(Debug, Clone, PartialEq)]
pub struct RteColumn {
    pub name: String,
    pub ty: Oid,
    pub typmod: i32,
    /// attnum in the relation (0: not of a relation)
    pub attnum: i16,
    pub origin: (Oid, i16),
    pub collation: Oid,
}

#[derive(Debug, Clone, PartialEq)]
pub enum RteKind {
    Relation(Arc<Relation>),
    Subquery {
        query: Box<Query>,
        lateral: bool,
    },
    /// a WITH query: how many levels up it is defined and its index there
    Cte {
        levels_up: usize,
        index: usize,
        self_reference: bool,
    },
    /// ROWS FROM: one or more functions side by side
    Function {
        functions: Vec<TableFunction>,
        ordinality: bool,
        lateral: bool,
    },
    Values {
        rows: Vec<Vec<Expr>>,
        lateral: bool,
    },
    /// in RETURNING, the row of the target (entry 0) as it was, or (of MERGE) as it is, where a bare column does not mean that
    Returned,
    /// the merged columns of JOIN … USING / NATURAL, or a join with an alias: each column is an expression over the
    /// entries below
    Join {
        columns: Vec<Expr>,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub struct TableFunction {
    pub call: Expr,
    /// how many columns it gives
    pub width: usize,
    /// it gives records (a column definition list, or a composite type), whose fields are the columns
    pub as_record: bool,
    /// the names in its column definition list; none without one
    pub defined_names: Vec<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct RangeTableEntry {
    pub kind: RteKind,
    pub alias: String,
    /// the alias was written (or it is a join's)
    pub has_alias: bool,
    /// the alias names columns
    pub names_columns: bool,
    pub columns: Vec<RteColumn>,
    /// the row type of a view that stands here as its query; 0: none
    pub row_type: Oid,
    /// TABLESAMPLE
    pub sample: Option<Box<Sample>>,
    /// ONLY: the rows of the table's descendants are not meant
    pub only: bool,
}

impl RangeTableEntry {
    /// Whether FOR UPDATE OF and the like can name it so. A sub-query without an alias has no name, but one that is printed.
    pub fn is_named(&self, name: &str) -> bool {
        let is_view = self.row_type != 0;
        self.alias == name && (self.has_alias || is_view || !matches!(self.kind, RteKind::Subquery { .. }))
    }
}

/// TABLESAMPLE of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// `bernoulli` or `system`
    pub method: String,
    pub percent: Expr,
    /// REPEATABLE
    pub seed: Option<Expr>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JoinKind {
    Inner,
    Left,
    Right,
    Full,
    Cross,
}

#[derive(Debug, Clone, PartialEq)]
pub enum FromItem {
    /// index in the range table
    Entry(usize),
    Join {
        kind: JoinKind,
        left: Box<FromItem>,
        right: Box<FromItem>,
        on: Option<Expr>,
        /// USING's columns (`on` compares them); NATURAL's, too
        using: Vec<String>,
        /// `USING (…) AS name`
        using_alias: Option<String>,
        /// its [`RteKind::Join`], in trees that are printed
        entry: Option<usize>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetOperation {
    Union,
    Intersect,
    Except,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub enum Distinct {
    #[default]
    No,
    All,
    On(Vec<Expr>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameMode {
    Range,
    Rows,
    Groups,
}

#[derive(Debug, Clone, PartialEq)]
pub enum FrameBound {
    UnboundedPreceding,
    Preceding(Expr),
    CurrentRow,
    Following(Expr),
    UnboundedFollowing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameExclusion {
    NoOthers,
    CurrentRow,
    Group,
    Ties,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Frame {
    pub mode: FrameMode,
    pub start: FrameBound,
    pub end: FrameBound,
    pub exclusion: FrameExclusion,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Window {
    pub name: Option<String>,
    pub partition_by: Vec<Expr>,
    pub order_by: Vec<SortKey>,
    /// None: PostgreSQL's (and SQLite's) default
    pub frame: Option<Frame>,
}

/// A query of WITH.
#[derive(Debug, Clone, PartialEq)]
pub struct Cte {
    pub name: String,
    pub columns: Vec<RteColumn>,
    pub body: CteBody,
    /// MATERIALIZED / NOT MATERIALIZED as written
    pub materialized: Option<bool>,
    pub recursive: bool,
    /// how many of the columns are named behind the query's name
    pub named: usize,
    /// How SEARCH and CYCLE were written: `body` has the columns that they add, and what computes those.
    pub marked: Option<Box<Marked>>,
}

/// A recursive query with SEARCH or CYCLE as it was written (manual, 7.8.2).
#[derive(Debug, Clone, PartialEq)]
pub struct Marked {
    /// without the columns that are added
    pub query: Query,
    pub search: Option<SearchClause>,
    pub cycle: Option<CycleClause>,
}

/// `SEARCH … FIRST BY columns SET sequence`
#[derive(Debug, Clone, PartialEq)]
pub struct SearchClause {
    pub columns: Vec<String>,
    /// BREADTH, else DEPTH
    pub breadth: bool,
    pub sequence: String,
}

/// `CYCLE columns SET mark TO value DEFAULT default USING path`
#[derive(Debug, Clone, PartialEq)]
pub struct CycleClause {
    pub columns: Vec<String>,
    pub mark: String,
    pub value: Expr,
    pub default: Expr,
    pub path: String,
}

#[derive(Debug, Clone, PartialEq)]
pub enum CteBody {
    Query(Query),
    /// INSERT, UPDATE, DELETE … RETURNING
    Modify(Box<Modify>),
}

/// What a query level computes.
#[derive(Debug, Clone, PartialEq)]
pub enum QueryBody {
    Select(Select),
    SetOperation {
        op: SetOperation,
        all: bool,
        left: Box<Query>,
        right: Box<Query>,
    },
    /// VALUES (…), (…) as a query
    Values(Vec<Vec<Expr>>),
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Select {
    pub from: Vec<FromItem>,
    pub targets: Vec<Target>,
    pub filter: Option<Expr>,
    pub group_by: Vec<Expr>,
    /// each: indexes in `group_by`; empty: plain GROUP BY
    pub grouping_sets: Vec<Vec<usize>>,
    /// the clause that the sets were made of; None: plain GROUP BY
    pub grouping_clause: Option<Box<GroupingClause>>,
    /// GROUP BY, HAVING or an aggregate is there
    pub grouped: bool,
    pub having: Option<Expr>,
    pub windows: Vec<Window>,
    pub distinct: Distinct,
}

/// GROUP BY with grouping sets, as it was written.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct GroupingClause {
    /// GROUP BY DISTINCT
    pub distinct: bool,
    pub elements: Vec<GroupingElement>,
}

/// An element of GROUP BY, or of a grouping set; numbers are indexes in `Select::group_by`.
#[derive(Debug, Clone, PartialEq)]
pub enum GroupingElement {
    /// `a`, `(a, b)` or `()`
    Keys(Vec<usize>),
    Rollup(Vec<GroupingElement>),
    Cube(Vec<GroupingElement>),
    Sets(Vec<GroupingElement>),
}

/// What is done about a row that another transaction has locked; the one that waits least is the greatest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LockPolicy {
    Wait,
    /// SKIP LOCKED
    Skip,
    /// NOWAIT
    Refuse,
    /// as Wait, and only where the lock outlives the statement: in a transaction block
    Block,
}

/// Rows that FOR UPDATE and the like lock.
#[derive(Debug, Clone, PartialEq)]
pub struct RowLock {
    /// the OID of the row's table
    pub table: Expr,
    /// its number; NULL: there is no row, but one that an outer join has added
    pub number: Expr,
    /// 1: KEY SHARE, 2: SHARE, 3: NO KEY UPDATE, 4: UPDATE
    pub mode: u8,
    pub policy: LockPolicy,
}

/// An entry whose rows FOR UPDATE and the like lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowMark {
    /// `FOR UPDATE`, `FOR SHARE` …
    pub strength: &'static str,
    pub rte: usize,
    /// empty, ` NOWAIT` or ` SKIP LOCKED`
    pub wait: &'static str,
}

/// A query: SELECT, VALUES or a set operation.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    pub ctes: Vec<Cte>,
    pub range_table: Vec<RangeTableEntry>,
    pub body: QueryBody,
    /// name, type … of each result column (same length as the targets)
    pub columns: Vec<RteColumn>,
    pub order_by: Vec<SortKey>,
    pub limit: Option<Box<Expr>>,
    pub offset: Option<Box<Expr>>,
    pub with_ties: bool,
    /// it has FOR UPDATE or one of its kin
    pub locks_rows: bool,
    pub row_locks: Vec<RowLock>,
    /// what FOR UPDATE and the like lock, in trees that are printed
    pub row_marks: Vec<RowMark>,
}

impl Query {
    /// A query of this body alone: without WITH, FROM, ORDER BY, LIMIT or locks.
    pub fn new(body: QueryBody, columns: Vec<RteColumn>) -> Query {
        Query {
            ctes: vec![],
            range_table: vec![],
            body,
            columns,
            order_by: vec![],
            limit: None,
            offset: None,
            with_ties: false,
            locks_rows: false,
            row_locks: vec![],
            row_marks: vec![],
        }
    }
}

/// What ON CONFLICT does.
#[derive(Debug, Clone, PartialEq)]
pub struct OnConflict {
    /// None: any conflict (DO NOTHING without a target)
    pub target: Option<ConflictTarget>,
    /// None: DO NOTHING. (attnum, value); expressions see the target (entry 0) and `excluded` (entry 1).
    pub set: Option<Vec<(i16, Expr)>>,
    pub filter: Option<Expr>,
    /// what row-level security demands of the row that is there and of what DO UPDATE makes of it
    pub secured: SecuredChange,
}

/// What row-level security demands of a row that a statement changes which it did not choose by itself (ON CONFLICT, MERGE).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SecuredChange {
    /// of the row as it is; [`RowCheckOf::Existing`]
    pub existing: Vec<RowCheck>,
    /// of the new row
    pub written: Vec<RowCheck>,
}

impl SecuredChange {
    /// The conditions of all its checks.
    pub fn conditions(&mut self) -> impl Iterator<Item = &mut Expr> {
        self.existing.iter_mut().chain(&mut self.written).map(|c| &mut c.condition)
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct ConflictTarget {
    /// key expressions of the arbiter index, over the target (entry 0)
    pub keys: Vec<Expr>,
    pub filter: Option<Expr>,
    /// the arbiter index or constraint
    pub index: Oid,
    /// ON CONSTRAINT names it; 0: the keys are written
    pub constraint: Oid,
    /// in trees that are printed: of each key the collation (0: none) and the operator class (empty: none) as written
    pub written: Vec<(Oid, String)>,
}

/// INSERT, UPDATE or DELETE. Range table entry 0 is the target table.
#[derive(Debug, Clone, PartialEq)]
pub struct Modify {
    pub ctes: Vec<Cte>,
    pub range_table: Vec<RangeTableEntry>,
    pub target: Arc<Relation>,
    pub action: ModifyAction,
    /// empty: no RETURNING
    pub returning: Vec<Target>,
    /// what every new row must satisfy besides the table's constraints, in the order of checking
    pub checks: Vec<RowCheck>,
    pub written: Written,
}

/// What a data modification says itself to write: a role may be told that of a row even where it may not read the table.
#[derive(Debug, Clone, PartialEq)]
pub struct Written {
    /// the table that the statement names; [`Modify::target`] may be a partition of it, or a child
    pub table: Arc<Relation>,
    /// attnums of its columns that the statement gives values to (defaults are not among them)
    pub columns: Vec<i16>,
}

/// What rules make of a data modification: statements that are carried out one after the other.
#[derive(Debug, Clone, PartialEq)]
pub struct Rewritten {
    /// of the statement itself
    pub event: crate::routine::Event,
    pub products: Vec<Product>,
    /// the product whose rows the command tag counts, and whose RETURNING is the statement's; None: the tag counts no rows
    pub counted: Option<usize>,
}

impl Rewritten {
    /// What the client gets of it; empty: no rows.
    pub fn returning(&self) -> &[Target] {
        match self.counted.and_then(|i| self.products.get(i)) {
            Some(Product::Modify(modify)) => &modify.returning,
            _ => &[],
        }
    }
}

/// A statement that a rule has made, or a rule's command.
#[derive(Debug, Clone, PartialEq)]
pub enum Product {
    Query(Query),
    Modify(Modify),
    Notify { channel: String, payload: String },
}

/// A condition for the rows that a statement writes.
#[derive(Debug, Clone, PartialEq)]
pub struct RowCheck {
    /// over the new row as entry 0; it must be true, not merely not false
    pub condition: Expr,
    pub of: RowCheckOf,
}

/// Who demands a [`RowCheck`].
#[derive(Debug, Clone, PartialEq)]
pub enum RowCheckOf {
    /// WITH CHECK OPTION of the view of this name
    View(String),
    /// row-level security of the table of this name: its permissive policies together, or the restrictive one of this name
    Policy { table: String, policy: Option<String> },
    /// as `Policy`, of a row that is there and that the statement would change; `merge`: it is MERGE, else ON CONFLICT DO UPDATE
    Existing { table: String, policy: Option<String>, merge: bool },
    /// the bound of the partition of this name
    Partition { schema: String, table: String },
    /// ON CONFLICT by a partial index whose condition the statement's parameters must repeat
    Arbiter,
}

impl RowCheckOf {
    /// The error of a row that does not satisfy the check.
    pub fn violation(&self) -> PgError {
        match self {
            RowCheckOf::Arbiter => PgError::new(
                SqlState::INVALID_COLUMN_REFERENCE,
                "there is no unique or exclusion constraint matching the ON CONFLICT specification",
            ),
            RowCheckOf::View(view) => PgError::new(
                SqlState::WITH_CHECK_OPTION_VIOLATION,
                format!("new row violates check option for view \"{view}\""),
            ),
            RowCheckOf::Partition { schema, table } => PgError::new(
                SqlState::CHECK_VIOLATION,
                format!("new row for relation \"{table}\" violates partition constraint"),
            )
            .schema(schema.clone())
            .table(table.clone()),
            RowCheckOf::Policy { table, policy } => {
                let which = policy.as_ref().map_or(String::new(), |p| format!(" \"{p}\""));
                PgError::new(
                    SqlState::INSUFFICIENT_PRIVILEGE,
                    format!("new row violates row-level security policy{which} for table \"{table}\""),
                )
            }
            RowCheckOf::Existing { table, policy, merge } => {
                let which = policy.as_ref().map_or(String::new(), |p| format!(" \"{p}\""));
                let row = if *merge { "target" } else { "new" };
                PgError::new(
                    SqlState::INSUFFICIENT_PRIVILEGE,
                    format!(
                        "{row} row violates row-level security policy{which} (USING expression) for table \"{table}\""
                    ),
                )
            }
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum ModifyAction {
    /// `columns`: attnums that get a value, in the source's order (defaults and generated ones filled in by analysis:
    /// every live column is there except those SQLite itself fills: the rowid column without a value, generated ones).
    Insert {
        columns: Vec<i16>,
        source: InsertSource,
        on_conflict: Option<OnConflict>,
    },
    /// `set`: (attnum, value over the range table)
    Update {
        set: Vec<(i16, Expr)>,
        from: Vec<FromItem>,
        filter: Option<Expr>,
    },
    Delete {
        using: Vec<FromItem>,
        filter: Option<Expr>,
    },
    /// `source` joined with the target on `on`; the first WHEN clause that fits a row acts on it
    Merge {
        source: FromItem,
        on: Expr,
        whens: Vec<MergeWhen>,
    },
}

/// For which rows a WHEN clause of MERGE is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MergeMatch {
    Matched,
    /// rows of the source
    NotMatchedByTarget,
    /// rows of the target
    NotMatchedBySource,
}

/// A WHEN clause of MERGE.
#[derive(Debug, Clone, PartialEq)]
pub struct MergeWhen {
    pub matched: MergeMatch,
    pub condition: Option<Expr>,
    pub action: MergeAction,
    /// what row-level security demands of the row before and after
    pub secured: SecuredChange,
}

#[derive(Debug, Clone, PartialEq)]
pub enum MergeAction {
    Nothing,
    /// (attnum, new value)
    Update(Vec<(i16, Expr)>),
    Delete,
    /// as of [`ModifyAction::Insert`]: one row
    Insert {
        columns: Vec<i16>,
        values: Vec<Expr>,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub enum InsertSource {
    Values(Vec<Vec<Expr>>),
    /// columns of the query in order, cast by `casts` (expressions over entry 1 = the query's columns)
    Query {
        query: Box<Query>,
        values: Vec<Expr>,
    },
}

impl PartialEq for Expr {
    fn eq(&self, other: &Expr) -> bool {
        self.ty == other.ty
            && self.typmod == other.typmod
            && (self.collation == other.collation || !self.is_collate())
            && self.kind == other.kind
    }
}

impl Expr {
    /// Whether COLLATE stands here: other expressions have the collation that what is below them and around them gives.
    fn is_collate(&self) -> bool {
        matches!(self.kind, ExprKind::Cast { form: CastForm::Collate, .. })
    }
    pub fn new(kind: ExprKind, ty: Oid, location: i32) -> Expr {
        Expr { kind, ty, typmod: -1, collation: 0, location }
    }
    pub fn with_typmod(mut self, typmod: i32) -> Expr {
        self.typmod = typmod;
        self
    }
}
