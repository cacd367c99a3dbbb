//! The result of lowering: what the engine prepares, binds and steps.

use pgsqlite_types::Oid;

/// A result column as RowDescription tells it.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanColumn {
    pub name: String,
    pub type_oid: Oid,
    pub typmod: i32,
    pub table_oid: Oid,
    pub attnum: i16,
}

/// The command tag's first word(s).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tag {
    /// `SELECT n`: rows returned
    Select,
    /// `INSERT 0 n`
    Insert,
    Update,
    Delete,
    Merge,
}

/// What becomes of the rows of a step.
#[derive(Debug, Clone, PartialEq)]
pub enum StepOutput {
    /// none are expected; SQLite's change count is added to the statement's if `counts`
    None,
    /// inserted into the table of this name in [`crate::lower::SCRATCH`], made anew with `columns` columns `c1`, `c2` … without types
    Materialize { table: String, columns: usize },
    /// sent to the client
    Rows,
}

/// One SQLite statement. Client parameter `$n` is SQLite's `?n`; a step may use any subset of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    pub sql: String,
    pub output: StepOutput,
    /// this step's change count (or row count, for Rows/Materialize of a statement with RETURNING) is the tag's
    pub counts: bool,
    /// it is a DELETE: of one that empties a table SQLite does not report the rows
    pub deletes: bool,
    /// the engine carries it out row by row, and `sql` only refuses to be run
    pub by_rows: Option<Box<ByRows>>,
}

/// A step that is no statement of SQLite's.
#[derive(Debug, Clone, PartialEq)]
pub enum ByRows {
    /// a data modification
    Modify(Triggered),
    /// the FOR EACH STATEMENT triggers of what a MERGE may do with its table: the events with the attnums that UPDATE sets
    Statements { table: Oid, events: Vec<(crate::routine::Event, Vec<i16>)>, before: bool },
}

impl Step {
    /// A statement of SQLite's.
    pub fn new(sql: String, output: StepOutput, counts: bool) -> Step {
        Step { sql, output, counts, deletes: false, by_rows: None }
    }
}

impl QueryPlan {
    /// Whether a step is carried out row by row.
    pub fn has_steps_by_rows(&self) -> bool {
        self.steps.iter().any(|s| s.by_rows.is_some())
    }
}

/// A query or data modification. Several steps run in order in one (sub)transaction.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryPlan {
    pub steps: Vec<Step>,
    pub tag: Tag,
    /// needs the writer slot
    pub writes: bool,
    /// at most a handful of rows are touched by plan (key look-up, short write): runs inline on the worker thread
    pub touches_few_rows: bool,
    /// it only reads and calls functions that wait (`pg_sleep`, `pg_advisory_lock`): it may be given up when it has to wait, and run
    /// again afterwards, for nothing else that it calls leaves traces
    pub waits_apart: bool,
    /// it changes or locks rows, and calls functions that wait for locks: it may be undone when it has to wait, and run again afterwards
    pub waits_aside: bool,
    /// it is bounded, and calls nothing that may wait or take long: it may run in a transaction that other sessions wait for
    pub shares: bool,
    /// the tables it modifies (OIDs), for triggers of the engine such as sequence resynchronisation
    pub modifies: Vec<Oid>,
    /// what it reads
    pub named: Named,
    /// a query over constants and parameters alone: its errors come before its columns are told, as those of
    /// PostgreSQL's constant folding do
    pub constant: bool,
    /// SELECT … FOR UPDATE/SHARE: take the writer slot before running
    pub locks_rows: bool,
    /// what ON CONFLICT may leave as it is without changing anything
    pub passes_over: PassesOver,
    /// an INSERT of it has ON CONFLICT
    pub upserts: bool,
    /// it fires triggers: the engine carries it out row by row, and the steps only refuse to be run
    pub triggered: Option<Box<Triggered>>,
    /// it calls functions of the user that may change data: it needs the writer slot, unless the transaction is read-only
    pub calls_writers: bool,
    /// WHERE CURRENT OF: the cursor, and the tables (OIDs) whose rows the statement may change
    pub current_of: Option<(String, Vec<Oid>)>,
    /// the columns (attnums) of rows that are there already which an UPDATE or an INSERT's ON CONFLICT assigns; None: any, or it is another
    /// statement
    pub assigns: Option<Vec<i16>>,
    /// its one step does the same as these two statements, which cost less
    pub read_back: Option<ReadBack>,
    /// a query whose groups several connections can make
    pub gather: Option<Box<Gather>>,
    /// rules have made several statements of it, which are carried out instead; there are no steps then
    pub rewritten: Option<Box<RewrittenPlan>>,
    pub shape: Shape,
}

/// The place of a further condition, which chooses a part of the rows ([`Gather::rows`]). No other text has a zero byte.
pub const PART: &str = "\0";

/// The text that reads all rows.
pub(crate) fn without_parts(sql: String) -> String {
    match sql.contains(PART) {
        true => sql.replace(PART, ""),
        false => sql,
    }
}

/// The groups of a query can be made of parts of its rows, by several connections at once ([`crate::lower`]'s `gather`).
#[derive(Debug, Clone, PartialEq)]
pub struct Gather {
    /// Makes the groups of a part of the rows: [`PART`] stands for a condition on the number of a row of `table`, which is called `alias`.
    /// Its one value is the number of the groups.
    pub rows: String,
    pub table: String,
    pub relation: Oid,
    pub alias: String,
    /// what SQLite calls the number of a row of it
    pub rowid: String,
    /// It is worth it only if SQLite reads the table from its beginning to its end.
    pub only_scanned: bool,
    /// To read the table as a whole costs little beside the query.
    pub is_small: bool,
    /// There are so few groups that more parts than connections may be made.
    pub few_groups: bool,
    /// the plan of the groups, where there is one group even if there are no rows; None: there is a group for each key that is found
    pub one_group: Option<String>,
    /// what the query's one step does, over the groups that were gathered
    pub sql: String,
    /// How the rows are divided, found when the plan ran first; None: they cannot be.
    pub division: std::sync::OnceLock<Option<Division>>,
}

/// How the rows of a divided table are divided.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Division {
    /// ranges of rowids; `many`: also more of them than connections
    Ranges { many: bool },
    /// blocks of rowids, in turn
    Blocks,
}

impl Gather {
    /// The statement that makes the groups of the rows for which the condition is true.
    pub fn part(&self, condition: &str) -> String {
        self.rows.replace(PART, &format!(" AND {condition}"))
    }

    /// The statement that makes the groups of all rows.
    pub fn whole(&self) -> String {
        self.rows.replace(PART, "")
    }
}

/// The relations whose rows the statements of a plan read: those that the client has named, those of views, policies and functions that took
/// the place of their calls, and those that lowering adds (partitions, copies of rows before they change).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Named {
    /// their OIDs, as often as they are named; the target of an UPDATE or a DELETE is read, that of an INSERT is not
    pub read: Vec<Oid>,
    /// It calls functions that may read what it does not name: those of users, and those of PostgreSQL's that run a text.
    pub reads_more: bool,
}

impl Named {
    /// The tables of the file among them: neither PostgreSQL's own relations nor temporary ones.
    pub fn tables(&self) -> impl Iterator<Item = Oid> + '_ {
        let of_file = pgsqlite_types::oid::FIRST_USER_OID..crate::catalog::FIRST_TEMPORARY_OID;
        let is_of_file = move |oid: &Oid| of_file.contains(oid) && !crate::catalog::TRANSITION_TABLES.contains(oid);
        self.read.iter().copied().filter(is_of_file)
    }
}

/// Rows that ON CONFLICT finds and does not change: SQLite says nothing of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum PassesOver {
    #[default]
    None,
    /// DO NOTHING: the row that has the key is left as it is
    Rows,
    /// DO UPDATE … WHERE: whether the row is left depends on its values
    Values,
}

/// What a statement does with the rows that its FROM and WHERE give: SQLite's plan says nothing of it, EXPLAIN does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Shape {
    /// it makes groups of them
    pub grouped: bool,
    /// GROUP BY has keys
    pub keys: bool,
    pub distinct: bool,
    pub limit: bool,
    /// LIMIT reads other rows than those that it gives: OFFSET, WITH TIES
    pub offset: bool,
    /// a data modification changes (or inserts) each of them, and nothing else
    pub changes_each: bool,
}

impl Shape {
    pub fn of_query(query: &crate::typed::Query) -> Shape {
        use crate::typed::{Distinct, QueryBody};
        let mut shape = Shape {
            limit: query.limit.is_some(),
            offset: query.offset.is_some() || query.with_ties,
            ..Shape::default()
        };
        if let QueryBody::Select(select) = &query.body {
            shape.grouped = select.grouped;
            shape.keys = !select.group_by.is_empty();
            shape.distinct = select.distinct != Distinct::No;
        }
        shape
    }
}

/// What rewrite rules have made of a data modification.
#[derive(Debug, Clone, PartialEq)]
pub struct RewrittenPlan {
    /// in the order in which they are carried out
    pub products: Vec<ProductPlan>,
    /// the product whose rows the command tag counts and whose RETURNING the client gets; None: the tag counts none
    pub counted: Option<usize>,
}

/// A statement of those that rewrite rules have made.
#[derive(Debug, Clone, PartialEq)]
pub enum ProductPlan {
    /// `modify`: what it is, if it changes rows without triggers
    Run {
        plan: Box<Plan>,
        modify: Option<Box<crate::typed::Modify>>,
    },
    Notify {
        channel: String,
        payload: String,
    },
}

/// `INSERT … VALUES (one row) RETURNING …` in two parts. For RETURNING itself SQLite keeps the rows in a table that it makes for
/// each execution, and a journal of the statement's own.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadBack {
    /// the INSERT without RETURNING
    pub insert: String,
    /// what RETURNING shows of the row that was inserted last
    pub row: String,
}

/// A data modification that fires triggers or must satisfy EXCLUDE constraints (`lower/triggered.rs`). Its two statements are SQLite's.
#[derive(Debug, Clone, PartialEq)]
pub struct Triggered {
    pub table: Oid,
    pub event: crate::routine::Event,
    /// attnums that UPDATE sets
    pub set: Vec<i16>,
    /// The rows. INSERT: the values of `columns`. UPDATE: rowid, the old row, the new row (all live columns each). DELETE: rowid, the old
    /// row. UPDATE and DELETE: then `others` values that RETURNING needs.
    pub rows: String,
    /// Whether each row is computed when those before it are stored: rows of VALUES, which read nothing that the statement changes, or read it
    /// by volatile functions, which see what has been done.
    pub one_by_one: bool,
    /// UPDATE and DELETE: the live columns of the row with the rowid `?1`, as it is now.
    pub current: String,
    /// Stores (or deletes) one row. Its parameters: those of the statement, the rowid, the values of `columns`, the `others`. It gives the
    /// live columns of the row, then what RETURNING shows.
    pub apply: String,
    /// how many parameters the statement has
    pub parameters: usize,
    /// attnums
    pub columns: Vec<i16>,
    /// the table's key is the rowid, and `apply` does not set it
    pub key_stays: bool,
    pub others: usize,
    /// how many values RETURNING shows; 0: there is none
    pub returning: usize,
    /// what `apply` is
    pub modify: Box<crate::typed::Modify>,
    /// EXCLUDE constraints that a row must satisfy when it is stored
    pub exclusions: Vec<Exclusion>,
    /// INSERT … ON CONFLICT DO UPDATE: what becomes of a row that is there. Its `rows` has the parameters of `apply` and gives at most one
    /// row, as of an UPDATE.
    pub conflict: Option<Box<Triggered>>,
    /// INSERT into a partition that the statement names, where a trigger of its parent's fires before: whether a row (`?1`, `?2` …: the live
    /// columns) belongs to it.
    pub fits: Option<String>,
    /// Of such an update with a condition: the rowid of the row that is there, whether or not the condition holds. The parameters are those
    /// of `rows`.
    pub conflicting: Option<String>,
    /// of a descendant of the table that the statement names: the live columns (positions) that the errors of its rows show
    pub shown: Option<Vec<usize>>,
    /// the table stands for several
    pub tuple_routing: Option<Box<TupleRouting>>,
    /// one of several parts of a statement: the FOR EACH STATEMENT triggers have steps of their own
    pub part_of_several: bool,
}

/// The rest of a data modification of a table with children or partitions (`lower/tuple_routing.rs`).
#[derive(Debug, Clone, PartialEq)]
pub struct TupleRouting {
    /// UPDATE and DELETE: the descendants that have rows
    pub branches: Vec<Triggered>,
    /// where a partitioned table's new rows go
    pub routing: Option<Routing>,
}

/// How the rows of a partitioned table find their partitions.
#[derive(Debug, Clone, PartialEq)]
pub struct Routing {
    /// Gives for a row (`?1`, `?2` …: the live columns of the table that the statement names) its number in `leaves`, or `-1 - n`:
    /// the table of level n has no partition for it.
    pub choose: String,
    /// Of a table that is a partition itself: whether such a row belongs to it.
    pub fits: Option<String>,
    pub levels: Vec<RoutingLevel>,
    /// INSERT into each table that has rows
    pub leaves: Vec<Triggered>,
    /// UPDATE: DELETE from each of them, for a row that goes to another one
    pub departures: Vec<Triggered>,
}

/// A partitioned table among those that rows pass on their way.
#[derive(Debug, Clone, PartialEq)]
pub struct RoutingLevel {
    pub table: Oid,
    /// name and type of the key's columns
    pub columns: Vec<(String, Oid)>,
    /// the key's values, of a row as [`Routing::choose`] has it
    pub values: String,
}

/// The analyzed and lowered form of an optimizable statement (SELECT, VALUES, INSERT, UPDATE, DELETE).
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// types of `$1`, `$2` …, given or inferred
    pub parameters: Vec<Oid>,
    /// None: no rows come back
    pub columns: Option<Vec<PlanColumn>>,
    pub query: QueryPlan,
    /// depends on the epoch of the catalog only if it names a user's object
    pub uses_catalog: bool,
}

/// An EXCLUDE constraint, as what checks it needs it.
#[derive(Debug, Clone, PartialEq)]
pub struct Exclusion {
    /// its name, which is its index's, too
    pub name: String,
    /// The rows that are related to the row with the rowid `?1`: their rowid, the keys of the row, the keys of the other one.
    pub of_row: String,
    /// As `of_row`, of any row of the table; at most one.
    pub any: String,
    /// the keys as DETAIL names them
    pub keys: String,
    pub types: Vec<Oid>,
    /// keys (positions) that a SQLite index can look up: their operator is equality
    pub equal: Vec<usize>,
    /// row-level security hides rows: no key is told
    pub hidden: bool,
    /// ON CONFLICT DO NOTHING: a row that is related to another is left out
    pub skips: bool,
}
