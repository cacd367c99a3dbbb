//! Values of one type as values of another, where only the run knows both: what a query gives into variables, arguments of
//! RETURN, rows of EXECUTE.

use super::statement::Planned;
use super::Host;
use pgsqlite_sql::analyze::inline::conversion;
use pgsqlite_types::{oid, Datum, Oid, PgError, Result, SqlState};
use std::rc::Rc;

/// Most conversions kept per connection.
const KEPT: usize = 512;

/// A value as one of another type, as PL/pgSQL assigns it. Errors: 42846 and those of the types' input.
pub fn assign(host: Host, value: Datum, from: Oid, to: Oid, typmod: i32) -> Result<Datum> {
    // what is not typed is stored as a text
    let from = if from == oid::UNKNOWN { oid::TEXT } else { from };
    if from == to && typmod < 0 {
        return Ok(value);
    }
    if value.is_null() && host.catalog().base_type(to) == to {
        return Ok(value);
    }
    let planned = find(host, from, to, typmod)?;
    let parameters = [value];
    let mut out = Datum::Null;
    planned.run(host, &parameters, &mut |row| {
        out = row.into_iter().next().unwrap_or_default();
        Ok(true)
    })?;
    Ok(out)
}

/// As [`assign`], but by casts alone, not by way of text. None: there is no cast.
pub fn assign_by_cast(host: &Host, value: Datum, from: Oid, to: Oid, typmod: i32) -> Result<Option<Datum>> {
    let there = from == to
        || from != oid::UNKNOWN && host.with_environment(|e| conversion(e, from, to, typmod, false))?.is_some();
    there.then(|| assign(*host, value, from, to, typmod)).transpose()
}

fn find(host: Host, from: Oid, to: Oid, typmod: i32) -> Result<Rc<Planned>> {
    let key = (from, to, typmod);
    if let Some(found) = host.routines().conversions.borrow().get(&key) {
        if found.holds(host) {
            return Ok(found.clone());
        }
    }
    let query = host.with_environment(|e| conversion(e, from, to, typmod, true))?;
    let query = query.ok_or_else(|| {
        let catalog = host.catalog();
        let name = |ty: Oid| pgsqlite_sql::deparse::Names::new(&catalog, &[catalog.public_schema()]).type_name(ty, -1);
        PgError::new(SqlState::CANNOT_COERCE, format!("cannot cast type {} to {}", name(from), name(to)))
    })?;
    let planned = Rc::new(Planned::of_query(host, query, vec![from])?);
    let mut kept = host.routines().conversions.borrow_mut();
    if kept.len() >= KEPT {
        kept.clear();
    }
    kept.insert(key, planned.clone());
    Ok(planned)
}
