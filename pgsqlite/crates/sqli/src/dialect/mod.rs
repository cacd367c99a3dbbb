//! Informix's SQL → PostgreSQL's SQL, by way of a tree.
//!
//! [`lexer`] and [`parser`] read Informix's grammar into [`ast`]; [`print`] writes each node as the PostgreSQL construct of the same meaning,
//! looking tables up in the catalog where the meaning depends on their columns' types. What has no such construct is refused.
//! The engine then analyzes the result as it does any statement. [`system`] has Informix's system catalog.

pub mod ast;
mod characters;
mod collections;
mod column_order;
mod ddl;
mod derived;
mod expression;
mod functions;
mod insert;
pub mod lexer;
mod moments;
mod more_functions;
pub mod parser;
mod pattern;
pub mod print;
pub(crate) mod query_print;
mod select;
mod sequence;
mod server;
pub mod spl;
mod statement_print;
mod synonyms;
mod system_catalog;
mod system_privileges;
mod system_routines;
pub mod translation;
mod utility;
mod whole;

pub use print::translate;
pub use translation::{Environment, Kind, Shown, Translation};

use crate::errors::Failure;

/// A type by Informix's name; None: it is none, or a collection or row.
fn simple_type(name: &str) -> Option<crate::values::types::Type> {
    parser::data_type(name).ok().filter(|ty| !matches!(ty, crate::values::types::Type::Complex(_)))
}

/// A statement that can be carried out while no database is open. Errors: -349 for another one.
pub fn without_database(text: &str, delimident: bool) -> Parse<ast::Action> {
    match parser::parse(text, delimident)? {
        (ast::Statement::Session(action), 0) if !matches!(action, ast::Action::LockWait(_)) => Ok(action),
        _ => Err(Failure::new(-349, 0, "")),
    }
}

/// What every step of parsing and printing gives.
pub type Parse<T> = Result<T, Failure>;
