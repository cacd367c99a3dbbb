//! The writer of a database, with connections that have PostgreSQL's functions: [`pgsqlite_storage::writer`].

#[cfg(test)]
mod tests;

use crate::connection::PostgresNatives;
pub use pgsqlite_storage::writer::{Applicant, Members, Outcome, Replicator, Resting};

/// The queue of a database's writers.
pub type Writer = pgsqlite_storage::writer::Writer<PostgresNatives>;

/// The right to write.
pub type Slot = pgsqlite_storage::writer::Slot<PostgresNatives>;

/// A SQLite transaction with the work of several sessions.
pub type Shared = pgsqlite_storage::writer::Shared<PostgresNatives>;
