//! The native with which lowered queries lock rows.

use super::shim::{Call, Scalar};
use pgsqlite_sql::lower::support;
use pgsqlite_types::{Datum, Oid, PgError, Result, SqlState};

/// `pg_lock_row(table, number, mode, policy)`: true if the row is locked now (or there is none), false if it is another transaction's and
/// passed over. Errors: 55P03 (NOWAIT); one that makes the session wait and begin the statement anew.
fn lock_row(c: &Call) -> Result<Datum> {
    if c.is_null(0) || c.is_null(1) {
        return Ok(true.into());
    }
    let state = c.session.state();
    let catalog = state.catalog.clone();
    let server = state.server.clone().ok_or_else(|| PgError::internal("a row is locked without a session"))?;
    drop(state);
    let policy = c.int(3)?;
    if policy == BLOCK && !server.is_in_block() {
        return Ok(true.into());
    }
    let relation = catalog.relation(c.int(0)? as Oid);
    let relation = relation.ok_or_else(|| PgError::internal("a row of an unknown table is locked"))?;
    if relation.temporary
        || server.lock_row(&relation.sqlite_name, c.int(1)?, c.int(2)?, matches!(policy, WAIT | BLOCK))?
    {
        return Ok(true.into());
    }
    match policy {
        REFUSE => Err(PgError::new(
            SqlState::LOCK_NOT_AVAILABLE,
            format!("could not obtain lock on row in relation \"{}\"", relation.name),
        )),
        _ => Ok(false.into()),
    }
}

/// The numbers of [`pgsqlite_sql::typed::LockPolicy`].
const WAIT: i64 = pgsqlite_sql::typed::LockPolicy::Wait as i64;
const REFUSE: i64 = pgsqlite_sql::typed::LockPolicy::Refuse as i64;
const BLOCK: i64 = pgsqlite_sql::typed::LockPolicy::Block as i64;

/// Name, number of arguments, whether SQLite may reuse a result, function.
pub(crate) const FUNCTIONS: &[(&str, i32, bool, Scalar)] = &[(support::LOCK_ROW, 4, false, lock_row)];
