//! PostgreSQL's functions as native functions of a SQLite connection.
//!
//! The table in `pgsqlite_sql::builtins::imp` says which functions are native; the sub-modules implement them by
//! PostgreSQL's own C symbol (`pg_proc.prosrc`), so that all OIDs that share one share the implementation. Values are in
//! storage form throughout. The tables at the end of this file name all of them. Those above that register them on each connection add theirs.

pub mod aggregates;
pub(crate) mod arrays;
pub(crate) mod binary;
pub(crate) mod bits;
pub(crate) mod blowfish_crypt;
pub mod buffer_usage;
pub mod collation;
pub mod decimals;
pub(crate) mod distinct;
pub(crate) mod encodings;
pub(crate) mod extensions;
pub(crate) mod formatting;
pub(crate) mod frames;
pub(crate) mod geometry;
pub mod groups;
mod hash_keys;
pub mod hashed_rows;
pub(crate) mod hashes;
pub(crate) mod hstore;
pub(crate) mod intarray;
pub(crate) mod inverted;
pub(crate) mod json;
pub(crate) mod json_build;
pub(crate) mod json_paths;
pub(crate) mod large_objects;
pub(crate) mod later;
pub(crate) mod money;
pub(crate) mod networks;
pub(crate) mod numbers;
pub(crate) mod ordered_sets;
pub mod pattern;
pub(crate) mod ranges;
pub(crate) mod record_images;
pub(crate) mod records;
pub(crate) mod regex_exact;
pub(crate) mod regex_search;
pub(crate) mod regex_syntax;
pub(crate) mod row_locks;
pub mod row_numbers;
pub mod session_cell;
pub mod shim;
pub(crate) mod sql_json;
mod sql_json_paths;
pub mod statement_rows;
pub mod strings;
pub mod support;
pub(crate) mod text_search;
pub(crate) mod times;
pub(crate) mod transactions;
pub(crate) mod transitions;
pub(crate) mod trigrams;
pub(crate) mod vectors;

pub use numbers::seeded;
pub use session_cell::{SessionCell, SessionState};

use shim::{NewState, Scalar};

/// A function that lowered statements call by a name of ours: the name, the number of arguments (-1: any), whether it is deterministic, and
/// what runs.
pub type Own = (&'static str, i32, bool, Scalar);

/// The scalar (and set-returning) functions of all areas, by PostgreSQL's names for them (several are separated by spaces).
pub const SCALARS: &[&[(&str, Scalar)]] = &[
    numbers::FUNCTIONS,
    hashes::FUNCTIONS,
    large_objects::FUNCTIONS,
    later::FUNCTIONS,
    strings::FUNCTIONS,
    bits::FUNCTIONS,
    binary::FUNCTIONS,
    networks::FUNCTIONS,
    transactions::FUNCTIONS,
    transitions::FUNCTIONS,
    geometry::FUNCTIONS,
    money::FUNCTIONS,
    encodings::FUNCTIONS,
    pattern::FUNCTIONS,
    times::FUNCTIONS,
    formatting::FUNCTIONS,
    arrays::FUNCTIONS,
    json::FUNCTIONS,
    json_build::FUNCTIONS,
    json_paths::FUNCTIONS,
    records::SYMBOLS,
    record_images::FUNCTIONS,
    text_search::FUNCTIONS,
    ranges::FUNCTIONS,
    extensions::FUNCTIONS,
    trigrams::FUNCTIONS,
    hstore::FUNCTIONS,
    intarray::FUNCTIONS,
    vectors::FUNCTIONS,
];

/// The aggregates of all areas, by PostgreSQL's names for them.
pub const AGGREGATES: &[&[(&str, NewState)]] = &[
    aggregates::FUNCTIONS,
    ordered_sets::FUNCTIONS,
    json_build::AGGREGATES,
    bits::AGGREGATES,
    later::AGGREGATES,
    money::AGGREGATES,
    ranges::AGGREGATES,
    vectors::AGGREGATES,
];

/// The functions of all areas that lowered statements call by names of ours.
pub const OWN: &[&[Own]] = &[
    support::FUNCTIONS,
    statement_rows::FUNCTIONS,
    row_locks::FUNCTIONS,
    row_numbers::FUNCTIONS,
    records::FUNCTIONS,
    inverted::FUNCTIONS,
    ranges::CONSTRUCTORS,
    frames::FUNCTIONS,
    record_images::COMPARISONS,
    times::BOUNDS,
    decimals::FUNCTIONS,
    groups::FUNCTIONS,
    vectors::OWN,
    sql_json::FUNCTIONS,
];
