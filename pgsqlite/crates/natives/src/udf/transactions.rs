//! Functions of transaction numbers, snapshots and places in the log: what `pgsqlite_types::transaction_ids` computes.

use super::shim::{Call, Scalar};
use pgsqlite_types::array::Array;
use pgsqlite_types::{transaction_ids, Datum, Result};

fn lsn(c: &Call, i: usize) -> Result<u64> {
    transaction_ids::lsn(c.datum(i))
}
fn moved(c: &Call, sub: bool) -> Result<Datum> {
    let place = transaction_ids::lsn_moved(lsn(c, 0)?, &c.numeric(1)?, sub)?;
    Ok(Datum::Text(transaction_ids::lsn_text(place)))
}
fn running(c: &Call, datum: fn(u64) -> Datum) -> Result<Datum> {
    let ids = transaction_ids::snapshot(c.datum(0))?.running;
    Ok(Array::from_elements(ids.into_iter().map(datum).collect()).to_datum())
}

pub(crate) const FUNCTIONS: &[(&str, Scalar)] = &[
    ("xid8cmp", |c| {
        let order = transaction_ids::xid8(c.datum(0))?.cmp(&transaction_ids::xid8(c.datum(1))?);
        Ok(Datum::Int(order as i64))
    }),
    ("xid8toxid", |c| Ok(Datum::Int(i64::from(transaction_ids::xid8(c.datum(0))? as u32)))),
    ("pg_snapshot_xmin(pg_snapshot)", |c| Ok(transaction_ids::xid8_datum(transaction_ids::snapshot(c.datum(0))?.xmin))),
    ("pg_snapshot_xmax(pg_snapshot)", |c| Ok(transaction_ids::xid8_datum(transaction_ids::snapshot(c.datum(0))?.xmax))),
    ("pg_snapshot_xip(pg_snapshot)", |c| running(c, transaction_ids::xid8_datum)),
    // bigint takes the bits as they are
    ("txid_snapshot_xmin(txid_snapshot)", |c| Ok(Datum::Int(transaction_ids::snapshot(c.datum(0))?.xmin as i64))),
    ("txid_snapshot_xmax(txid_snapshot)", |c| Ok(Datum::Int(transaction_ids::snapshot(c.datum(0))?.xmax as i64))),
    ("txid_snapshot_xip(txid_snapshot)", |c| running(c, |id| Datum::Int(id as i64))),
    ("pg_visible_in_snapshot", |c| {
        let id = match c.datum(0) {
            // a bigint, whose sign is a bit as any other
            pgsqlite_types::DatumRef::Int(i) => i as u64,
            other => transaction_ids::xid8(other)?,
        };
        Ok(Datum::from(transaction_ids::snapshot(c.datum(1))?.sees(id)))
    }),
    ("pg_lsn_cmp", |c| Ok(Datum::Int(lsn(c, 0)?.cmp(&lsn(c, 1)?) as i64))),
    ("pg_lsn_mi pg_wal_lsn_diff", |c| Ok(transaction_ids::lsn_difference(lsn(c, 0)?, lsn(c, 1)?)?.to_datum())),
    ("pg_lsn_pli", |c| moved(c, false)),
    ("pg_lsn_mii", |c| moved(c, true)),
    ("numeric_pg_lsn", |c| Ok(Datum::Text(transaction_ids::lsn_text(transaction_ids::lsn_of(&c.numeric(0)?)?)))),
];
