//! SPL, Informix's language of routines and triggers, by way of a tree, as PL/pgSQL.
//!
//! [`parser`] reads CREATE FUNCTION, PROCEDURE and TRIGGER; [`print`] writes the body as PL/pgSQL; [`routine`] makes the function, keeps the
//! text that it was made from in it, and finds what calls need to know; [`trigger`] writes triggers. What has no counterpart of the same
//! meaning is refused by name.
//!
//! Variables are named `:name` in PL/pgSQL, which no column is, so that a name means what SPL says: a variable, if there is one.

mod errors;
mod parser;
mod print;
pub(super) mod routine;
pub(super) mod trigger;

pub use print::Locals;

use super::ast::{Expr, Name, Query};
use crate::values::types::Type;

/// What a variable or parameter is declared as.
#[derive(Debug, Clone, PartialEq)]
pub enum Declared {
    Type(Type),
    /// `LIKE table.column`
    Like(Name, String),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Parameter {
    pub name: String,
    pub ty: Declared,
    pub default: Option<Expr>,
}

/// CREATE FUNCTION or PROCEDURE.
#[derive(Debug, Clone, PartialEq)]
pub struct Routine {
    pub name: Name,
    pub if_not_exists: bool,
    pub parameters: Vec<Parameter>,
    /// what RETURNING says: types, and the names that results get
    pub returns: Vec<(Declared, Option<String>)>,
    pub body: Block,
    /// a RETURN … WITH RESUME is in it, so that it gives any number of rows
    pub resumes: bool,
    /// the statement as the client wrote it
    pub text: String,
}

/// What stands between BEGIN and END, or is a body.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Block {
    pub defines: Vec<(Vec<String>, Declared)>,
    pub handlers: Vec<Handler>,
    pub body: Vec<Step>,
}

/// ON EXCEPTION
#[derive(Debug, Clone, PartialEq)]
pub struct Handler {
    /// empty: all
    pub codes: Vec<i32>,
    /// variables that get the code, the ISAM code and the text
    pub set: Vec<String>,
    pub body: Block,
    /// the statement behind the one that failed comes next
    pub resume: bool,
}

/// A statement and where it begins.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    pub at: usize,
    pub what: What,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoopKind {
    For,
    While,
    Foreach,
    Loop,
    /// whatever it is
    Any,
}

/// `name(arguments)`; an argument may be named.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    pub name: Name,
    pub arguments: Vec<(Option<String>, Expr)>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum What {
    Let(Vec<String>, Vec<Expr>),
    If(Vec<(Expr, Vec<Step>)>, Vec<Step>),
    While(Expr, Vec<Step>),
    /// the values and ranges (with a step) that the variable takes one after the other
    For(String, Vec<Range>, Vec<Step>),
    Loop(Vec<Step>),
    /// over a query: its cursor's name, WITH HOLD, the query, which has its variables
    Foreach(Option<String>, Box<Query>, Vec<Step>),
    /// over the rows of a routine
    ForeachCall(Call, Vec<String>, Vec<Step>),
    Exit(LoopKind, Option<Expr>),
    Continue(LoopKind),
    Return(Vec<Expr>, bool),
    /// code, ISAM code, text
    Raise(Expr, Option<Expr>, Option<Expr>),
    Call(Call, Vec<String>),
    /// SELECT … INTO
    Select(Box<Query>),
    /// INSERT, UPDATE, DELETE, MERGE, TRUNCATE
    Sql(Box<super::ast::Statement>),
    Block(Block),
    Nothing,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Range {
    pub from: Expr,
    pub to: Option<Expr>,
    pub step: Option<Expr>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    Insert,
    Update,
    Delete,
}

/// CREATE TRIGGER
#[derive(Debug, Clone, PartialEq)]
pub struct Trigger {
    pub name: Name,
    pub if_not_exists: bool,
    pub event: Event,
    /// of UPDATE OF
    pub columns: Vec<String>,
    pub table: Name,
    /// correlation names
    pub old: Option<String>,
    pub new: Option<String>,
    /// actions before the statement, for each row, after the statement
    pub before: Vec<Action>,
    pub row: Vec<Action>,
    pub after: Vec<Action>,
    pub text: String,
}

/// WHEN (condition) (statements)
#[derive(Debug, Clone, PartialEq)]
pub struct Action {
    pub condition: Option<Expr>,
    pub statements: Vec<Step>,
}
