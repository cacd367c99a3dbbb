//! What a database's file remembers of PostgreSQL's objects beside SQLite's schema. It knows objects by their definitions, and nothing of
//! functions, statements or sessions.
//!
//! [`store`] reads and writes the tables `__pgsqlite_*`, and reads what the schemas of other programs' files declare. [`naming`] says how
//! objects are called in SQLite and shown in messages, [`counter`] counts transactions by the [`clock`], [`error`] gives violations of
//! constraints their names, and [`databases`] makes a file that takes the roles of another one over.

#![warn(missing_docs)]

pub mod clock;
pub mod counter;
pub mod databases;
pub mod error;
pub mod naming;
pub mod store;
