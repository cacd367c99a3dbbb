//! SQLite, as pgsqlite uses it: its files, its log, its connections, its one writer. It knows values and errors, and nothing of tables,
//! statements or sessions.
//!
//! [`checkpoints`] knows the databases whose logs are left to other programs. [`files`] has the names and the locks of a database's files, [`vfs`] the way by which SQLite reads and writes them, [`wal`] the log.
//! A [`connection`] has prepared statements and the natives that its user registers; the [`writer`] queues those who write, commits
//! for several at once, and syncs. A [`stream`] has what is committed as batches of pages. What SQLite reports of changed rows is in [`changes`] and [`written`].
//!
//! Files that may be a database's are opened here. `tools/lint_files.py` lists the few other places, each with its reason.

#![warn(missing_docs)]

pub mod apart;
pub mod apply;
pub mod changes;
pub mod checkpoints;
pub mod connection;
pub mod error;
pub mod files;
pub mod in_memory;
pub mod lease;
pub mod lru_cache;
pub mod sqlite_statement;
pub mod stream;
pub mod vfs;
pub mod wal;
pub mod writer;
pub mod written;

// the library that the bindings are for
use pgsqlite_sqlite as _;
