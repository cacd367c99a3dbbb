//! Informix's SQL → PostgreSQL's SQL, by way of a tree.
//!
//! [`lexer`] and [`parser`] read Informix's grammar into [`ast`]; [`print`] writes each node as the PostgreSQL construct of the same meaning,
//! looking tables up in the catalog where the meaning depends on their columns' types. What has no such construct is refused.
//! The engine then analyzes the result as it does any statement. [`system`] has Informix's system catalog.

pub mod ast;
mod collections;
mod ddl;
mod expression;
mod functions;
mod insert;
pub mod lexer;
mod moments;
pub mod parser;
mod pattern;
pub mod print;
pub(crate) mod query_print;
mod select;
mod sequence;
mod system;
mod utility;

pub use print::{translate, Environment, Kind, Shown, Translation};

use crate::errors::Failure;

/// A type by Informix's name; None: it is none, or a collection or row.
pub fn simple_type(name: &str) -> Option<crate::values::types::Type> {
    parser::data_type(name).ok().filter(|ty| !matches!(ty, crate::values::types::Type::Complex(_)))
}

/// What every step of parsing and printing gives.
pub type Parse<T> = Result<T, Failure>;
