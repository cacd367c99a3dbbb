//! The tree of an Informix statement.

use super::{sequence, spl};
use crate::values::complex::{Field, Kind};
use crate::values::qualifier::Qualifier;
use crate::values::types::Type;

/// `a`, `t.a`, `owner.t`, `db:owner.t`: its parts with what stands before each.
#[derive(Debug, Clone, PartialEq)]
pub struct Name {
    pub database: Option<String>,
    pub owner: Option<String>,
    pub name: String,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Expr {
    Text(String),
    Number(String),
    Null,
    /// the n-th `?`, from 0
    Parameter(usize),
    /// a column, perhaps with its table's name or alias (and that one's owner)
    Column(Vec<String>),
    Unary(&'static str, Box<Expr>),
    Binary(&'static str, Box<Expr>, Box<Expr>),
    Like {
        value: Box<Expr>,
        pattern: Box<Expr>,
        escape: Option<Box<Expr>>,
        matches: bool,
        not: bool,
    },
    Between {
        value: Box<Expr>,
        low: Box<Expr>,
        high: Box<Expr>,
        not: bool,
    },
    In {
        value: Box<Expr>,
        list: Vec<Expr>,
        not: bool,
    },
    InQuery {
        value: Box<Expr>,
        query: Box<Query>,
        not: bool,
    },
    IsNull {
        value: Box<Expr>,
        not: bool,
    },
    Exists(Box<Query>),
    /// `= ANY (SELECT …)`
    Quantified {
        value: Box<Expr>,
        sign: &'static str,
        all: bool,
        query: Box<Query>,
    },
    Case {
        value: Option<Box<Expr>>,
        branches: Vec<(Expr, Expr)>,
        otherwise: Option<Box<Expr>>,
    },
    Cast(Box<Expr>, Type),
    /// name, arguments, DISTINCT
    Call {
        name: String,
        arguments: Vec<Expr>,
        distinct: bool,
    },
    CountStar,
    /// a function over the rows around: `call OVER (…)`
    Window {
        call: Box<Expr>,
        partition: Vec<Expr>,
        order: Vec<Key>,
        /// ROWS or RANGE and its bounds, as both write them
        frame: Option<String>,
    },
    Trim {
        side: &'static str,
        what: Option<Box<Expr>>,
        value: Box<Expr>,
    },
    /// `c[2,4]`
    Substring(Box<Expr>, u32, u32),
    Query(Box<Query>),
    DateTime(String, Qualifier),
    Interval(String, Qualifier),
    Current(Qualifier),
    Today,
    User,
    Server,
    Units(Box<Expr>, &'static str),
    Extend(Box<Expr>, Qualifier),
    /// values in parentheses
    Row(Vec<Expr>),
    /// `SET{1, 2}`
    Collection(Kind, Vec<Expr>),
    /// `ROW(1, 'x')`, a value of a row type
    RowValue(Vec<Expr>),
    /// whether the value is an element of a collection
    Member {
        value: Box<Expr>,
        collection: Box<Expr>,
        not: bool,
    },
}

/// A key of ORDER BY.
#[derive(Debug, Clone, PartialEq)]
pub struct Key {
    pub value: Expr,
    pub descending: bool,
    /// NULLS FIRST or NULLS LAST, if it is said
    pub nulls_first: Option<bool>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Item {
    /// `*` or `t.*`
    Star(Option<String>),
    Expr(Expr, Option<String>),
}

#[derive(Debug, Clone, PartialEq)]
pub enum Source {
    Table {
        name: Name,
        alias: Option<String>,
        columns: Vec<String>,
    },
    Query {
        query: Box<Query>,
        alias: Option<String>,
        columns: Vec<String>,
    },
    /// kind as PostgreSQL spells it
    Join {
        kind: &'static str,
        left: Box<Source>,
        right: Box<Source>,
        on: Option<Expr>,
    },
    /// Informix's own outer join: the condition is in WHERE
    Outer(Vec<Source>),
}

/// One SELECT of a query.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Select {
    pub skip: Option<Expr>,
    pub first: Option<Expr>,
    pub distinct: bool,
    pub items: Vec<Item>,
    /// INTO: variables of a routine
    pub into: Vec<String>,
    pub from: Vec<Source>,
    pub condition: Option<Expr>,
    pub group: Vec<Expr>,
    pub having: Option<Expr>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Body {
    Select(Select),
    /// UNION, UNION ALL, INTERSECT, EXCEPT
    Set(&'static str, Box<Body>, Box<Body>),
}

/// A SELECT with what belongs to all of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    pub with: Vec<(String, Vec<String>, Query)>,
    pub body: Body,
    pub order: Vec<Key>,
    pub limit: Option<Expr>,
    pub for_update: bool,
}

/// A column of CREATE TABLE and ALTER TABLE.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnDefinition {
    pub name: String,
    pub ty: Type,
    /// of SERIAL
    pub start: Option<i64>,
    pub default: Option<Expr>,
    pub not_null: bool,
    pub constraints: Vec<Constraint>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Constraint {
    pub name: Option<String>,
    pub kind: ConstraintKind,
    /// of a constraint of the table; of a column's: empty
    pub columns: Vec<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum ConstraintKind {
    Primary,
    Unique,
    NotNull,
    Check(Expr),
    References { table: Name, columns: Vec<String>, cascade: bool },
}

#[derive(Debug, Clone, PartialEq)]
pub enum Alteration {
    /// the column, and the one before which it comes
    AddColumn(ColumnDefinition, Option<String>),
    DropColumn(String),
    Modify(ColumnDefinition),
    AddConstraint(Constraint),
    DropConstraint(String),
}

#[derive(Debug, Clone, PartialEq)]
pub enum InsertSource {
    Values(Vec<Expr>),
    Query(Box<Query>),
}

#[derive(Debug, Clone, PartialEq)]
pub enum Statement {
    Query(Query),
    /// SELECT … INTO TEMP
    SelectInto {
        query: Query,
        table: String,
    },
    Insert {
        table: Name,
        columns: Vec<String>,
        source: InsertSource,
    },
    Update {
        table: Name,
        alias: Option<String>,
        set: Assignments,
        condition: Option<Expr>,
        /// WHERE CURRENT OF
        cursor: Option<String>,
    },
    Delete {
        table: Name,
        alias: Option<String>,
        condition: Option<Expr>,
        /// WHERE CURRENT OF
        cursor: Option<String>,
    },
    Merge {
        table: Name,
        alias: Option<String>,
        source: Source,
        on: Expr,
        matched: Option<Matched>,
        /// columns and values of what is inserted for a row of the source that has no match
        unmatched: Option<(Vec<String>, Vec<Expr>)>,
    },
    CreateTable {
        table: Name,
        temporary: bool,
        if_not_exists: bool,
        columns: Vec<ColumnDefinition>,
        constraints: Vec<Constraint>,
    },
    /// CREATE TABLE … OF TYPE
    CreateTableOf {
        table: Name,
        row_type: Name,
        if_not_exists: bool,
        constraints: Vec<Constraint>,
    },
    CreateRowType {
        name: Name,
        if_not_exists: bool,
        fields: Vec<Field>,
        /// whose fields come first
        under: Option<Name>,
    },
    DropRowType {
        name: Name,
        if_exists: bool,
    },
    /// CREATE TABLE … AS SELECT
    CreateTableAs {
        table: Name,
        temporary: bool,
        if_not_exists: bool,
        columns: Vec<String>,
        query: Query,
    },
    CreateIndex {
        name: Name,
        unique: bool,
        table: Name,
        columns: Vec<(String, bool)>,
        if_not_exists: bool,
    },
    CreateView {
        name: Name,
        columns: Vec<String>,
        query: Query,
        check_option: bool,
    },
    CreateRoutine(Box<spl::Routine>),
    /// EXECUTE PROCEDURE, EXECUTE FUNCTION, CALL
    Execute(spl::Call),
    DropRoutine {
        name: Name,
        /// of its parameters, if they are said
        types: Option<Vec<Type>>,
        if_exists: bool,
    },
    GrantExecute {
        revoke: bool,
        name: Name,
        to: Vec<String>,
        option: bool,
    },
    CreateSynonym {
        name: Name,
        target: Name,
        if_not_exists: bool,
    },
    DropSynonym {
        name: Name,
        if_exists: bool,
    },
    CreateTrigger(Box<spl::Trigger>),
    DropTrigger {
        name: Name,
        if_exists: bool,
    },
    /// `table`, `view`, `index`, `sequence`
    Drop {
        kind: &'static str,
        name: Name,
        if_exists: bool,
        cascade: bool,
    },
    CreateSequence {
        name: Name,
        if_not_exists: bool,
        options: sequence::Options,
    },
    AlterSequence {
        name: Name,
        options: sequence::Options,
    },
    RenameSequence {
        name: Name,
        to: String,
    },
    AlterTable {
        table: Name,
        alterations: Vec<Alteration>,
    },
    RenameTable {
        table: Name,
        to: String,
    },
    RenameColumn {
        table: Name,
        column: String,
        to: String,
    },
    RenameIndex {
        name: Name,
        to: String,
    },
    Truncate(Name),
    Grant {
        revoke: bool,
        privileges: Vec<String>,
        table: Name,
        to: Vec<String>,
        option: bool,
    },
    Lock {
        table: Name,
        exclusive: bool,
    },
    UpdateStatistics(Option<Name>),
    /// what PostgreSQL says in the same words
    Verbatim(String),
    Session(Action),
    Transaction(Transaction),
    /// PostgreSQL's name of the level
    Isolation(&'static str),
}

/// Columns and what they become.
pub type Assignments = Vec<(Vec<String>, Expr)>;

/// What MERGE does with a row that has a match.
#[derive(Debug, Clone, PartialEq)]
pub enum Matched {
    Update(Assignments),
    Delete,
}

/// A statement that changes what a client is connected to, and not a database.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// tuning that changes no result: there is nothing to do
    Nothing,
    OpenDatabase {
        name: String,
        exclusive: bool,
    },
    CloseDatabase,
    CreateDatabase {
        name: String,
        if_not_exists: bool,
    },
    DropDatabase {
        name: String,
        if_exists: bool,
    },
    /// seconds; None: for ever
    LockWait(Option<u32>),
}

/// What begins, ends and divides transactions, as a statement or as a message.
#[derive(Debug, Clone, PartialEq)]
pub enum Transaction {
    Begin,
    Commit,
    Rollback,
    Savepoint(String),
    ReleaseSavepoint(String),
    RollbackTo(String),
}

impl Expr {
    /// Calls `f` with this expression and all those in it (not those of queries in it).
    pub fn visit(&self, f: &mut impl FnMut(&Expr)) {
        f(self);
        let children: Vec<&Expr> = match self {
            Expr::Unary(_, e)
            | Expr::Cast(e, _)
            | Expr::Substring(e, ..)
            | Expr::Units(e, _)
            | Expr::Extend(e, _)
            | Expr::InQuery { value: e, .. }
            | Expr::IsNull { value: e, .. }
            | Expr::Quantified { value: e, .. } => vec![e],
            Expr::Binary(_, a, b) | Expr::Member { value: a, collection: b, .. } => vec![a, b],
            Expr::Like { value, pattern, escape, .. } => {
                [value, pattern].into_iter().chain(escape).map(|e| &**e).collect()
            }
            Expr::Between { value, low, high, .. } => vec![value, low, high],
            Expr::In { value, list, .. } => std::iter::once(&**value).chain(list).collect(),
            Expr::Case { value, branches, otherwise } => value
                .iter()
                .map(|e| &**e)
                .chain(branches.iter().flat_map(|(a, b)| [a, b]))
                .chain(otherwise.iter().map(|e| &**e))
                .collect(),
            Expr::Call { arguments, .. }
            | Expr::Row(arguments)
            | Expr::Collection(_, arguments)
            | Expr::RowValue(arguments) => arguments.iter().collect(),
            Expr::Trim { what, value, .. } => what.iter().chain([value]).map(|e| &**e).collect(),
            Expr::Window { call, partition, order, .. } => {
                std::iter::once(&**call).chain(partition).chain(order.iter().map(|k| &k.value)).collect()
            }
            _ => vec![],
        };
        for child in children {
            child.visit(f);
        }
    }

    /// The conditions that AND joins.
    pub fn conjuncts(self) -> Vec<Expr> {
        match self {
            Expr::Binary("AND", a, b) => {
                let mut out = a.conjuncts();
                out.extend(b.conjuncts());
                out
            }
            other => vec![other],
        }
    }

    /// Back from [`Expr::conjuncts`].
    pub fn all(conditions: Vec<Expr>) -> Option<Expr> {
        conditions.into_iter().reduce(|a, b| Expr::Binary("AND", Box::new(a), Box::new(b)))
    }
}

/// A file that `filetoblob` or `filetoclob` names.
#[derive(Debug, Clone, PartialEq)]
pub struct ClientFile {
    pub path: String,
    /// of characters in the client's code set
    pub is_text: bool,
}
