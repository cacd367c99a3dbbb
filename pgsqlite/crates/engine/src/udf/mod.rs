//! PostgreSQL's functions as native functions of a SQLite connection.
//!
//! The table in `pgsqlite_sql::builtins::imp` says which functions are native; the sub-modules implement them by
//! PostgreSQL's own C symbol (`pg_proc.prosrc`), so that all OIDs that share one share the implementation. Values are in
//! storage form throughout. [`register_all`] is called once per connection.

pub(crate) mod aggregates;
pub(crate) mod arrays;
pub(crate) mod binary;
pub(crate) mod bits;
pub(crate) mod blowfish_crypt;
pub mod collation;
pub(crate) mod decimals;
pub(crate) mod distinct;
pub(crate) mod encodings;
pub(crate) mod extensions;
pub(crate) mod formatting;
pub(crate) mod frames;
pub(crate) mod geometry;
pub(crate) mod groups;
pub(crate) mod hashes;
pub(crate) mod hstore;
pub(crate) mod intarray;
pub(crate) mod inverted;
pub(crate) mod json;
pub(crate) mod json_build;
pub(crate) mod json_paths;
pub(crate) mod large_objects;
pub(crate) mod money;
pub(crate) mod networks;
pub(crate) mod numbers;
pub(crate) mod ordered_sets;
pub mod pages;
pub mod pattern;
pub(crate) mod ranges;
pub(crate) mod record_images;
pub(crate) mod records;
pub(crate) mod regex_exact;
pub(crate) mod regex_search;
pub(crate) mod regex_syntax;
pub(crate) mod row_locks;
pub(crate) mod row_numbers;
pub mod rows;
pub mod session_cell;
pub mod shim;
pub(crate) mod strings;
pub(crate) mod support;
pub(crate) mod text_search;
pub(crate) mod times;
pub(crate) mod transactions;
pub(crate) mod transitions;
pub(crate) mod trigrams;

pub use session_cell::{SessionCell, SessionState};
