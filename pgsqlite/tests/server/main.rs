//! The server as its users meet it: the real binary, real sockets, real signals, no driver in between.
//!
//! What messages a session answers with is in `tests/wire/` (compared with PostgreSQL); here is what a single exchange cannot
//! show: command lines, files, signals, limits, encryption, bad bytes and what they do to other sessions.

// the library that rusqlite has no copy of
use pgsqlite_sqlite as _;

mod bad_input;
mod cancel;
mod clones;
mod command_line;
mod commands;
mod databases;
mod files;
mod first_errors;
mod fuzz;
mod harness;
mod inverted_index;
mod limits;
mod pipelining;
mod progress;
mod scram;
mod shutdown;
mod startup;
mod statistics;
mod status;
mod tls;
