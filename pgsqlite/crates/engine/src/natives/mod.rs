//! All native functions, put together and registered on a connection.
//!
//! The table in `pgsqlite_sql::builtins::imp` says which functions are native; the modules of [`pgsqlite_natives::udf`] and
//! [`pgsqlite_objects::pg_catalog::functions`] implement them by PostgreSQL's own C symbol (`pg_proc.prosrc`), so that all OIDs that share one
//! share the implementation. Values are in storage form throughout. [`register_all`] is called once per connection.

#[cfg(test)]
mod derived_collations;
#[cfg(test)]
mod tests;

use crate::routine;
use pgsqlite_natives::udf::shim::{self, NewState, Scalar, Traits};
use pgsqlite_natives::udf::{
    self, aggregates, collation, decimals, groups, hashed_rows, pattern, support, SessionCell,
};
use pgsqlite_objects::pg_catalog;
use pgsqlite_sql::builtins::catalog::proc_by_oid;
use pgsqlite_sql::builtins::imp::{imp, named, native_name, Imp};
use pgsqlite_types::{Oid, PgError, Result};
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

/// The scalar (and set-returning) functions of all areas.
const SCALARS: &[&[&[(&str, Scalar)]]] = &[udf::SCALARS, pg_catalog::functions::SCALARS];

enum Run {
    Scalar(Scalar),
    Aggregate(NewState),
}

/// A native function ready to be registered.
struct Entry {
    oid: Oid,
    name: String,
    traits: Traits,
    run: Run,
}

/// Everything that the table calls native, joined with its implementation once per process.
fn entries() -> &'static Result<Vec<Entry>> {
    static ENTRIES: OnceLock<Result<Vec<Entry>>> = OnceLock::new();
    ENTRIES.get_or_init(|| {
        let mut runs: HashMap<Oid, Run> = HashMap::new();
        for (words, run) in SCALARS.iter().copied().flatten().copied().flatten() {
            for oid in words.split_whitespace().flat_map(named) {
                if runs.insert(oid, Run::Scalar(*run)).is_some() {
                    return Err(PgError::internal(format!("native function {oid} is implemented twice: {words}")));
                }
            }
        }
        for (words, new) in udf::AGGREGATES.iter().copied().flatten() {
            for oid in words.split_whitespace().flat_map(named) {
                if runs.insert(oid, Run::Aggregate(*new)).is_some() {
                    return Err(PgError::internal(format!("native aggregate {oid} is implemented twice: {words}")));
                }
            }
        }
        runs.into_iter()
            .map(|(oid, run)| {
                let missing = || PgError::internal(format!("native function {oid} has no row in the table"));
                let p = proc_by_oid(oid).ok_or_else(missing)?;
                let typed = match imp(oid).ok_or_else(missing)? {
                    Imp::Native => false,
                    Imp::NativeTyped => true,
                    Imp::NativeSet { typed } | Imp::NativeAggregate { typed } => typed,
                    _ => return Err(missing()),
                };
                let variadic = p.variadic == pgsqlite_types::oid::ANY;
                let direct_or_plain = p.args.len() as i32 + typed as i32;
                let traits = Traits {
                    arity: if variadic || p.kind == b'a' { -1 } else { direct_or_plain },
                    strict: match run {
                        Run::Scalar(_) => p.strict,
                        Run::Aggregate(_) => aggregates::skips_nulls(p),
                    },
                    deterministic: p.volatility == b'i',
                };
                Ok(Entry { oid, name: native_name(oid), traits, run })
            })
            .collect()
    })
}

/// The cell of a new connection.
pub(crate) fn new_cell() -> Arc<SessionCell> {
    Arc::new(SessionCell::new(Default::default(), Box::<routine::Runtime>::default()))
}

/// Registers all functions, aggregates and collations on a connection.
pub fn register_all(conn: &rusqlite::Connection, state: Arc<SessionCell>) -> Result<()> {
    pgsqlite_types::jsonpath::PATTERN_CHECK.get_or_init(|| pattern::check_path_pattern);
    // SAFETY: the handle is used while `conn` is borrowed.
    let db = unsafe { conn.handle() };
    collation::register(db, &state)?;
    for entry in entries().as_ref().map_err(Clone::clone)? {
        match entry.run {
            Run::Scalar(run) => shim::scalar(db, &state, &entry.name, entry.traits, run)?,
            Run::Aggregate(new) => {
                shim::aggregate(db, &state, &entry.name, entry.traits, new, false)?;
                let name = format!("{}{}", entry.name, pgsqlite_sql::lower::support::DISTINCT_SUFFIX);
                shim::aggregate(db, &state, &name, entry.traits, new, true)?;
            }
        }
    }
    for (name, arity, deterministic, run) in udf::OWN.iter().copied().flatten().chain(routine::FUNCTIONS) {
        let traits = Traits { arity: *arity, strict: false, deterministic: *deterministic };
        shim::scalar(db, &state, name, traits, *run)?;
    }
    let any = Traits { arity: -1, strict: false, deterministic: false };
    let name = pgsqlite_sql::lower::support::AGGREGATE;
    let distinct = format!("{name}{}", pgsqlite_sql::lower::support::DISTINCT_SUFFIX);
    let new = routine::aggregate::new_user_aggregate;
    shim::aggregate(db, &state, name, any, new, false)?;
    shim::aggregate(db, &state, &distinct, any, new, true)?;
    for (name, new) in decimals::AGGREGATES {
        shim::aggregate(db, &state, name, Traits { arity: -1, strict: true, deterministic: true }, *new, false)?;
    }
    let find = |name: &str| {
        let decimal = decimals::AGGREGATES.iter().find(|(n, _)| *n == name).map(|(_, new)| (*new, true));
        decimal.or_else(|| {
            let entry = entries().as_ref().ok()?.iter().find(|e| e.name == name)?;
            match entry.run {
                Run::Aggregate(new) => Some((new, entry.traits.strict)),
                Run::Scalar(_) => None,
            }
        })
    };
    groups::NATIVE.get_or_init(|| find);
    for (name, new) in groups::AGGREGATES.iter().chain(hashed_rows::AGGREGATES) {
        shim::aggregate(db, &state, name, Traits { arity: -1, strict: false, deterministic: true }, *new, false)?;
    }
    let single = Traits { arity: 1, strict: false, deterministic: true };
    shim::aggregate(db, &state, pgsqlite_sql::lower::support::SINGLE, single, support::new_single, false)
}

/// OIDs of all native functions that are registered.
pub fn registered() -> Result<Vec<Oid>> {
    Ok(entries().as_ref().map_err(Clone::clone)?.iter().map(|e| e.oid).collect())
}
