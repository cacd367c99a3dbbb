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
mod host;
mod image;
pub mod inspect;
mod large_object;
mod locks;
mod naming;
pub mod natives;
mod notify;
mod numbers;
pub mod pg_catalog;
pub mod plans;
mod prepared;
pub mod regex;
mod requests;
pub(crate) mod routine;
mod sequence_state;
pub mod session;
pub mod settings;
mod standing;
pub mod statistics;
pub mod store;
mod text_search;
mod transactions;
pub mod udf;
pub mod vtab;
pub mod writer;
