//! PostgreSQL SQL → SQLite SQL. Pure: no database, no sockets.
//!
//! 1. [`parse`]: libpg_query, the real grammar → protobuf tree, with PostgreSQL's errors and positions
//! 2. [`analyze`]: names, types, overloads (manual, chapter 10) → the typed tree of [`typed`]
//! 3. [`lower`]: the typed tree → a [`plan::Plan`]: SQLite SQL text, parameter slots, output columns
//!
//! [`catalog`] is what both read of the database (a snapshot the engine keeps); [`builtins`] are PostgreSQL's own
//! catalogs as data plus the table of what is implemented.

pub mod acl;
pub mod analyze;
mod blanks;
pub mod builtins;
pub mod catalog;
pub mod command;
pub mod data;
pub mod deparse;
pub mod effects;
pub mod escapes;
pub mod foreign_key;
pub mod lower;
pub mod names;
pub mod operator;
pub mod parameterize;
pub mod parse;
pub mod partition;
pub mod plan;
pub mod plpgsql;
mod quoting;
pub mod sql_json;
pub mod typed;
pub mod volatility;
pub mod walk;

pub use catalog::{inheritance, routine, rule};
