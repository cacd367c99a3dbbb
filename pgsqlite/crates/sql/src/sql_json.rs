//! What the expressions of SQL/JSON say besides the expressions in them (manual, "JSON Functions and Operators"): JSON_OBJECT and the other
//! constructors, IS JSON, JSON_EXISTS, JSON_VALUE, JSON_QUERY and JSON_TABLE, which PostgreSQL 16 and 17 have added. The native functions that carry
//! them out get it as JSON.

use pgsqlite_types::Oid;
use serde::{Deserialize, Serialize};

/// FORMAT of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Format {
    /// none is written
    Default,
    /// `FORMAT JSON`
    Json,
    /// `FORMAT JSON ENCODING UTF8`
    JsonUtf8,
}

/// Which kind of JSON a predicate asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ItemKind {
    Value,
    Object,
    Array,
    Scalar,
}

/// What an expression gives where a path finds nothing, or fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Behavior {
    Null,
    Error,
    True,
    False,
    Unknown,
    EmptyArray,
    EmptyObject,
    /// the value of the argument with this number
    Default(usize),
}

impl Behavior {
    /// As it is written before ON EMPTY and ON ERROR.
    pub fn words(self) -> &'static str {
        match self {
            Behavior::Null => "NULL",
            Behavior::Error => "ERROR",
            Behavior::True => "TRUE",
            Behavior::False => "FALSE",
            Behavior::Unknown => "UNKNOWN",
            Behavior::EmptyArray => "EMPTY ARRAY",
            Behavior::EmptyObject => "EMPTY OBJECT",
            Behavior::Default(_) => "DEFAULT",
        }
    }
}

/// Whether found items are put into an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Wrapper {
    Without,
    Conditional,
    Unconditional,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Operation {
    Exists,
    Query,
    Value,
}

impl Operation {
    /// The name of the function.
    pub fn name(self) -> &'static str {
        match self {
            Operation::Exists => "JSON_EXISTS",
            Operation::Query => "JSON_QUERY",
            Operation::Value => "JSON_VALUE",
        }
    }
}

/// What is made of the items that a path finds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evaluation {
    pub operation: Operation,
    /// RETURNING
    pub ty: Oid,
    pub typmod: i32,
    pub wrapper: Wrapper,
    pub omit_quotes: bool,
    pub on_empty: Behavior,
    pub on_error: Behavior,
}

/// PASSING: the names of the values, and their types.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Passing {
    pub names: Vec<String>,
    pub types: Vec<Oid>,
}

/// JSON_EXISTS, JSON_VALUE or JSON_QUERY. The arguments: the document, the path, the values of PASSING, those of DEFAULT.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathCall {
    pub evaluation: Evaluation,
    pub format: Format,
    pub passing: Passing,
}

/// JSON_TABLE. The arguments: the document, the values of PASSING, those of DEFAULT.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Table {
    pub format: Format,
    pub passing: Passing,
    pub rows: TableRows,
    /// ERROR ON ERROR; else there are no rows where the path fails
    pub raises: bool,
    /// how many columns it has
    pub width: usize,
}

/// A path of JSON_TABLE that gives rows, and what is shown of each.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableRows {
    /// in canonical form
    pub path: String,
    pub name: String,
    pub columns: Vec<TableColumn>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum TableColumn {
    /// FOR ORDINALITY: its name, and the number of the column in the row
    Ordinality(String, usize),
    Value {
        name: String,
        place: usize,
        /// in canonical form
        path: String,
        evaluation: Evaluation,
        /// FORMAT JSON is written
        format: Format,
    },
    /// NESTED PATH
    Nested(TableRows),
}

/// An expression of SQL/JSON: what stands beside its arguments.
#[derive(Debug, Clone, PartialEq)]
pub enum SqlJson {
    /// JSON_OBJECT: keys and values take turns. `formats`: of the values.
    Object {
        absent: bool,
        unique: bool,
        formats: Vec<Format>,
        returning: (Oid, i32),
    },
    /// JSON_ARRAY
    Array {
        absent: bool,
        formats: Vec<Format>,
        returning: (Oid, i32),
    },
    /// JSON_OBJECTAGG, JSON_ARRAYAGG: the argument is the call of the aggregate
    Aggregate {
        object: bool,
        absent: bool,
        unique: bool,
        returning: (Oid, i32),
    },
    /// JSON()
    Parse {
        unique: bool,
        format: Format,
    },
    /// JSON_SCALAR
    Scalar,
    /// JSON_SERIALIZE
    Serialize {
        format: Format,
        returning: (Oid, i32),
    },
    /// IS JSON
    Is {
        kind: ItemKind,
        unique: bool,
    },
    Path(PathCall),
    /// its value is an array with a row in each element
    Table(Table),
}

/// What the native functions of constructors get before their arguments.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Construction {
    /// of the arguments
    pub types: Vec<Oid>,
    /// of the values among them
    pub formats: Vec<Format>,
    pub absent: bool,
    pub unique: bool,
    /// the result is jsonb
    pub binary: bool,
    /// the result is a bytea
    pub bytes: bool,
}
