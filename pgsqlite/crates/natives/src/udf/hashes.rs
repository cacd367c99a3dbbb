//! PostgreSQL's hash functions (`hashtext`, `hashint8extended` …), which applications make keys of advisory locks of.
//!
//! Those with a seed give all 64 bits of [`pgsqlite_types::hash`], those without one the lower 32 of it for seed 0.

use super::shim::{Call, Scalar};
use pgsqlite_types::{hash, Datum, PgError, Result};

/// A hash of the first argument with a seed.
type Hash = fn(&Call, u64) -> Result<u64>;

fn number(c: &Call, seed: u64) -> Result<u64> {
    Ok(hash::number(c.int(0)? as u32, seed))
}
fn long(c: &Call, seed: u64) -> Result<u64> {
    Ok(hash::long(c.int(0)?, seed))
}
fn text(c: &Call, seed: u64) -> Result<u64> {
    Ok(hash::bytes(c.text(0)?.as_bytes(), seed))
}
fn padded(c: &Call, seed: u64) -> Result<u64> {
    Ok(hash::bytes(c.text(0)?.trim_end_matches(' ').as_bytes(), seed))
}
/// A zero has the seed as its hash, whatever its sign.
fn float(c: &Call, seed: u64) -> Result<u64> {
    let value = c.float(0)?;
    if value == 0.0 {
        return Ok(seed);
    }
    let value = if value.is_nan() { f64::NAN } else { value };
    Ok(hash::bytes(&value.to_le_bytes(), seed))
}
fn uuid(c: &Call, seed: u64) -> Result<u64> {
    let bytes =
        pgsqlite_types::uuid::parse(c.text(0)?).ok_or_else(|| PgError::corrupted("a stored uuid that is none"))?;
    Ok(hash::bytes(&bytes, seed))
}
fn time(c: &Call, seed: u64) -> Result<u64> {
    Ok(hash::long(c.time(0)?.0, seed))
}
fn timestamp(c: &Call, seed: u64) -> Result<u64> {
    Ok(hash::long(c.timestamp(0)?.0, seed))
}

fn blob(c: &Call, seed: u64) -> Result<u64> {
    Ok(hash::bytes(c.bytes(0)?, seed))
}
fn date(c: &Call, seed: u64) -> Result<u64> {
    Ok(hash::number(c.date(0)?.0 as u32, seed))
}

fn short(c: &Call, hash: Hash) -> Result<Datum> {
    Ok(Datum::Int((hash(c, 0)? as i32).into()))
}
fn seeded(c: &Call, hash: Hash) -> Result<Datum> {
    Ok(Datum::Int(hash(c, c.int(1)? as u64)? as i64))
}

pub(crate) const FUNCTIONS: &[(&str, Scalar)] = &[
    ("hashint2 hashint4 hashoid", |c| short(c, number)),
    ("hashint2extended hashint4extended hashoidextended", |c| seeded(c, number)),
    ("hashbytea", |c| short(c, blob)),
    ("hashbyteaextended", |c| seeded(c, blob)),
    ("hashdate", |c| short(c, date)),
    ("hashdateextended", |c| seeded(c, date)),
    ("hashbool", |c| short(c, number)),
    ("hashboolextended", |c| seeded(c, number)),
    ("timestamptz_hash", |c| short(c, timestamp)),
    ("timestamptz_hash_extended", |c| seeded(c, timestamp)),
    ("hashint8", |c| short(c, long)),
    ("hashint8extended", |c| seeded(c, long)),
    ("hashtext hashname", |c| short(c, text)),
    ("hashtextextended hashnameextended", |c| seeded(c, text)),
    ("hashbpchar", |c| short(c, padded)),
    ("hashbpcharextended", |c| seeded(c, padded)),
    ("hashfloat4 hashfloat8", |c| short(c, float)),
    ("hashfloat4extended hashfloat8extended", |c| seeded(c, float)),
    ("uuid_hash", |c| short(c, uuid)),
    ("uuid_hash_extended", |c| seeded(c, uuid)),
    ("time_hash", |c| short(c, time)),
    ("time_hash_extended", |c| seeded(c, time)),
    ("timestamp_hash", |c| short(c, timestamp)),
    ("timestamp_hash_extended", |c| seeded(c, timestamp)),
];
