//! pg_largeobject_metadata and pg_largeobject, which read the file: the catalog does not know large objects.

use super::{int, Rows};
use pgsqlite_natives::large_object::store;
use pgsqlite_natives::udf::session_cell::SessionState;
use pgsqlite_types::work;
use pgsqlite_types::{Datum, PgError, Result};
use rusqlite::Connection;

/// Bytes of a page of pg_largeobject.
const PAGE: usize = 2048;
/// The rows are made in memory: of more contents than this none are shown.
const MOST: u64 = 256 << 20;

pub(super) fn metadata(rows: &mut Rows, connection: &Connection, state: &SessionState) -> Result<()> {
    for found in store::all(connection)? {
        work::visit();
        let acl = super::views::acl_array(&state.catalog, &found.acl);
        rows.push(&[("oid", int(found.object)), ("lomowner", int(found.owner)), ("lomacl", acl)]);
    }
    Ok(())
}

/// The contents in pages. Errors: 0A000 for very many.
pub(super) fn pages(rows: &mut Rows, connection: &Connection, _: &SessionState) -> Result<()> {
    let mut bytes = 0;
    store::each_part(connection, |object, start, data| {
        bytes += data.len() as u64;
        if bytes > MOST {
            return Err(PgError::not_supported("pg_largeobject over more than 256 MB of contents"));
        }
        for (i, page) in data.chunks(PAGE).enumerate() {
            work::visit();
            let number = start as usize / PAGE + i;
            rows.push(&[("loid", int(object)), ("pageno", int(number as i64)), ("data", Datum::Blob(page.to_vec()))]);
        }
        Ok(())
    })
}
