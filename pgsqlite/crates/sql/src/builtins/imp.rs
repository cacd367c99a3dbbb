//! What is implemented: function → how. A known function without a row is refused with 0A000 and its full signature.
//!
//! Rows name functions by PostgreSQL's C symbol (`pg_proc.prosrc`): all OIDs that share a symbol are the same code in
//! PostgreSQL and so are here. What has no symbol of its own (SQL-language functions, aggregates) is named by its
//! signature, `name(type,…)` with the type names of `pg_type`. The rows live in the sub-modules, by area.

use super::catalog::{all_procs, overloads, proc_by_oid, Proc};
use foldhash::HashMap;
use pgsqlite_types::{catalog as pg_type, Oid};
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
    /// `v` stands in front if VARIADIC was written; the result type's OID comes last, after `>` : `'23,25>114'`.
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

/// Some functions, and how they are carried out.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// Symbols or signatures, separated by blanks.
    pub functions: &'static str,
    pub imp: Imp,
}

/// A row, written short.
pub(super) const fn row(functions: &'static str, imp: Imp) -> Row {
    Row { functions, imp }
}

/// The name under which a native function is registered with SQLite.
pub fn native_name(oid: Oid) -> String {
    match proc_by_oid(oid) {
        Some(p) => format!("pg_{}_{}", p.name, oid),
        None => format!("pg_{oid}"),
    }
}

/// `name(type,…)` with the type names of `pg_type`: how rows name what has no C symbol of its own.
pub fn signature(proc: &Proc) -> String {
    let args: Vec<&str> = proc.args.iter().map(|&a| type_name(a)).collect();
    format!("{}({})", proc.name, args.join(","))
}

/// The name of a type of `pg_type`, also of the row type of a catalog.
fn type_name(oid: Oid) -> &'static str {
    let row = || super::catalog::system_relations().iter().find(|r| r.row_type == oid).map_or("?", |r| r.name);
    pg_type::by_oid(oid).map_or_else(row, |t| t.name)
}

/// Whether a row may name the function by its symbol.
pub fn has_symbol(proc: &Proc) -> bool {
    proc.kind == b'f' && proc.src.is_some_and(|s| !s.is_empty() && !s.contains([' ', '(']))
}

/// The functions that one word of [`Row::functions`] names: a symbol, or a signature.
pub fn named(word: &str) -> Vec<Oid> {
    // asked a thousand times at the start: no signature is written down to be compared
    if let Some((name, types)) = word.split_once('(') {
        let types = types.trim_end_matches(')');
        let same = |p: &&Proc| match types {
            "" => p.args.is_empty(),
            types => p.args.iter().map(|&a| type_name(a)).eq(types.split(',')),
        };
        return overloads(name).filter(same).map(|p| p.oid).collect();
    }
    static SYMBOLS: OnceLock<HashMap<&'static str, Vec<Oid>>> = OnceLock::new();
    let symbols = SYMBOLS.get_or_init(|| {
        let mut symbols: HashMap<&'static str, Vec<Oid>> = HashMap::default();
        for p in all_procs() {
            if let Some(symbol) = p.src.filter(|_| has_symbol(p)) {
                symbols.entry(symbol).or_default().push(p.oid);
            }
        }
        symbols
    });
    symbols.get(word).cloned().unwrap_or_default()
}

fn table() -> &'static HashMap<Oid, Imp> {
    static TABLE: OnceLock<HashMap<Oid, Imp>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let rows = TABLES.iter().flat_map(|rows| rows.iter());
        rows.flat_map(|r| r.functions.split_whitespace().flat_map(|w| named(w).into_iter().map(|oid| (oid, r.imp))))
            .collect()
    })
}

/// The implementation of a built-in function; None: refuse.
pub fn imp(oid: Oid) -> Option<Imp> {
    table().get(&oid).copied()
}

/// Everything that is implemented.
pub fn implemented() -> impl Iterator<Item = (Oid, Imp)> {
    table().iter().map(|(&oid, &imp)| (oid, imp))
}

/// All areas.
pub const TABLES: &[&[Row]] = &[
    super::numbers::ROWS,
    super::strings::ROWS,
    super::bits::ROWS,
    super::binary::ROWS,
    super::networks::ROWS,
    super::transactions::ROWS,
    super::geometry::ROWS,
    super::money::ROWS,
    super::times::ROWS,
    super::formatting::ROWS,
    super::documents::ROWS,
    super::json_paths::ROWS,
    super::aggregates::ROWS,
    super::catalogs::ROWS,
    super::system::ROWS,
    super::server::ROWS,
    super::objects::ROWS,
    super::privileges::ROWS,
    super::text_search::ROWS,
    super::ranges::ROWS,
    super::extensions::ROWS,
    super::later::ROWS,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_names_functions_and_none_twice() {
        let mut seen: HashMap<Oid, &str> = HashMap::default();
        for word in TABLES.iter().flat_map(|t| t.iter()).flat_map(|r| r.functions.split_whitespace()) {
            assert!(!named(word).is_empty(), "{word} is no function of PostgreSQL");
            for oid in named(word) {
                if let Some(other) = seen.insert(oid, word) {
                    panic!("function {oid} has two rows: {other} and {word}");
                }
            }
        }
    }

    #[test]
    fn kinds_fit() {
        for (oid, imp) in implemented() {
            let p = proc_by_oid(oid).expect("a row's function");
            let aggregate = matches!(imp, Imp::NativeAggregate { .. } | Imp::InlineAggregate(_));
            assert_eq!(aggregate, p.kind != b'f', "{}", signature(p));
            assert!(
                aggregate || p.retset == matches!(imp, Imp::NativeSet { .. }) || imp == Imp::Special,
                "{}",
                signature(p)
            );
        }
    }
}
