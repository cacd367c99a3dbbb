//! EXCLUDE constraints of a row that a row-by-row statement has just stored.

use super::trigger::all_rows;
use super::Host;
use crate::diagnose::printed;
use pgsqlite_objects::exclusion_violation::violation;
use pgsqlite_sql::catalog::Relation;
use pgsqlite_sql::lower::exclusion::take_back;
use pgsqlite_sql::plan::Exclusion;
use pgsqlite_types::codec::Context;
use pgsqlite_types::{Datum, PgError, Result};

/// Whether the row stays: not if ON CONFLICT DO NOTHING leaves it out, since another one is related to it; then it is gone.
/// Errors: 23P01 if another row is related to it.
pub(super) fn stays(host: Host, exclusions: &[Exclusion], table: &Relation, rowid: &Datum) -> Result<bool> {
    // what leaves the row out is looked at before what refuses it
    let (skipping, refusing): (Vec<&Exclusion>, Vec<&Exclusion>) = exclusions.iter().partition(|e| e.skips);
    for exclusion in skipping.into_iter().chain(refusing) {
        let others = all_rows(host, &exclusion.of_row, std::slice::from_ref(rowid))?;
        let Some(other) = others.first() else { continue };
        if exclusion.skips {
            all_rows(host, &take_back(table)?, std::slice::from_ref(rowid))?;
            return Ok(false);
        }
        return Err(told(host, exclusion, table, &other[1..])?);
    }
    Ok(true)
}

/// The error with the two keys.
fn told(host: Host, exclusion: &Exclusion, table: &Relation, keys: &[Datum]) -> Result<PgError> {
    let (settings, names) = {
        let state = host.cell.state();
        (state.settings.clone(), state.names.clone())
    };
    let context = Context { settings: &settings, names: &*names };
    let catalog = host.catalog();
    let types = exclusion.types.iter().chain(&exclusion.types);
    let shown: Vec<String> =
        types.zip(keys).map(|(ty, key)| printed(&catalog, &context, *ty, key)).collect::<Result<_>>()?;
    let seen = pgsqlite_sql::acl::may_see(&catalog, host.cell.state().user_oid, table, &[]);
    Ok(violation(exclusion, catalog.schema_name(table.schema), &table.name, &shown, seen))
}
