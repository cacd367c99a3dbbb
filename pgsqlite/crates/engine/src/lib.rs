//! PostgreSQL sessions over a SQLite file, without a socket: the only crate that links SQLite.
//!
//! [`Engine::open`](engine::Engine::open) opens (or makes) a file; [`Engine::session`](engine::Engine::session) gives a
//! PostgreSQL session on it: settings, transaction state, prepared statements, portals. The crate `server` puts the wire
//! protocol on top; a Rust program can use the engine as a library.
//!
//! The way of a statement: [`session::Session::parse`] → `sql::parse` → `sql::analyze` → `sql::lower` → plan cache →
//! a [`connection::Connection`] (leased from the engine's pool) binds and steps the `sqlite3_stmt` → each row goes to the
//! caller's [`session::RowSink`] as borrowed [`pgsqlite_types::DatumRef`]s.

mod apart;
mod bounded;
mod changes;
mod clock;
mod clone;
pub mod config;
pub mod connection;
mod constraint_modes;
pub mod copy;
mod databases;
pub mod ddl;
mod diagnose;
mod discard;
pub mod engine;
pub mod error;
mod exclusion;
pub mod files;
mod host;
mod image;
pub mod inspect;
mod large_object;
mod lease;
mod locks;
pub mod memory;
mod naming;
pub mod natives;
mod notify;
mod numbers;
pub mod pg_catalog;
pub mod plans;
pub mod regex;
mod requests;
pub(crate) mod routine;
mod sequence_state;
pub mod session;
pub mod settings;
mod sqlite_statement;
mod standing;
pub mod statistics;
pub mod store;
mod text_search;
mod transactions;
pub mod udf;
mod vfs;
pub mod vtab;

mod wal;
pub mod writer;
mod written;
