//! What is implemented: function OID → how. One row each; a known function without a row is refused with 0A000 and its
//! full signature. The rows live in the sub-modules, by area, as `const ROWS: &[Row]`.

use pgsqlite_types::Oid;
use std::collections::HashMap;
use std::sync::OnceLock;

/// How a function is carried out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Imp {
    /// SQLite expression text; `$1`, `$2` … are the lowered arguments (already parenthesised where needed). Indexes apply.
    Inline(&'static str),
    /// A Rust function registered with SQLite as [`native_name`]; arguments and result in storage form.
    /// Strict functions (pg_proc.proisstrict) are not called with NULLs: the registration returns NULL.
    Native,
    /// As `Native`, with one more argument in front: TEXT, the OIDs of the argument types joined by `,`
    /// (for polymorphic and VARIADIC "any" functions: storage form alone does not tell a bool from an int).
    /// The result type's OID comes last, after `>` : `'23,25>114'`.
    NativeTyped,
    /// A PostgreSQL SQL expression over `$1` …, analyzed and spliced in.
    Sql(&'static str),
    /// Needs the tree: the name of a case in the analyzer or lowering.
    Special,
    /// Set-returning: a native function that returns a JSON array (one element per row, in storage form; an array of
    /// columns per row if it has several OUT columns), expanded by json_each. `typed` as in `NativeTyped`.
    NativeSet { typed: bool },
    /// Aggregate (also usable as window function): a native aggregate registered as [`native_name`].
    NativeAggregate { typed: bool },
    /// SQLite's own aggregate or window function: template as `Inline`.
    InlineAggregate(&'static str),
}

/// One row of the table.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    pub oid: Oid,
    pub imp: Imp,
}

/// The name under which a native function is registered with SQLite.
pub fn native_name(oid: Oid) -> String {
    match super::catalog::proc_by_oid(oid) {
        Some(p) => format!("pg_{}_{}", p.name, oid),
        None => format!("pg_{oid}"),
    }
}

/// The implementation of a built-in function; None: refuse.
pub fn imp(oid: Oid) -> Option<Imp> {
    static TABLE: OnceLock<HashMap<Oid, Imp>> = OnceLock::new();
    TABLE
        .get_or_init(|| TABLES.iter().flat_map(|rows| rows.iter()).map(|r| (r.oid, r.imp)).collect())
        .get(&oid)
        .copied()
}

/// All areas.
pub const TABLES: &[&[Row]] = &[];
