//! PostgreSQL sessions over a SQLite file, without a socket. SQLite's files and connections are those of the crate
//! [`pgsqlite_storage`].
//!
//! [`Engine::open`](engine::Engine::open) opens (or makes) a file; [`Engine::session`](engine::Engine::session) gives a
//! PostgreSQL session on it: settings, transaction state, prepared statements, portals. The crate `server` puts the wire
//! protocol on top; a Rust program can use the engine as a library.
//!
//! The way of a statement: [`session::Session::parse`] → `sql::parse` → `sql::analyze` → `sql::lower` → plan cache →
//! a [`connection::Connection`] (leased from the engine's pool) binds and steps the `sqlite3_stmt` → each row goes to the
//! caller's [`session::RowSink`] as borrowed [`pgsqlite_types::DatumRef`]s.

pub mod archiving;
mod changes;
mod clone;
pub mod config;
pub mod connection;
pub mod database_copy;
mod discard;
pub mod engine;
mod gate;
mod image;
pub mod inspect;
mod locks;
pub mod natives;
mod notify;
pub mod plans;
mod prepared;
mod requests;
mod sequence_state;
pub mod session;
mod settle;
mod standby;
mod transactions;
pub mod write_ahead_log;
pub mod writer;

// Paths of modules that have become crates below this one.
#[allow(unused_imports)]
pub(crate) use pgsqlite_metadata::{clock, counter, databases, error, naming, store};
#[allow(unused_imports)]
pub(crate) use pgsqlite_natives::{host, large_object, regex, settings, statistics, text_search, udf};
#[allow(unused_imports)]
pub(crate) use pgsqlite_objects::{ddl, pg_catalog, vtab};
pub(crate) use pgsqlite_routines::{constraint_modes, constraints, cursor_position, diagnose, routine};
