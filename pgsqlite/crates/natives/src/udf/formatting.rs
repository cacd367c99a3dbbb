//! `to_char`, `to_date`, `to_timestamp(text, text)`, `to_number`: the work is `pgsqlite_types::formatting`'s, here it meets
//! the arguments.

use super::shim::{Call, Scalar};
use pgsqlite_types::formatting::number_out::Number;
use pgsqlite_types::formatting::{number_in, number_out, time_in, time_out};
use pgsqlite_types::{Datum, Result};

fn number(c: &Call, number: Number) -> Result<Datum> {
    number_out::write(&number, c.text(1)?).map(Datum::Text)
}
fn to_number(c: &Call) -> Result<Datum> {
    Ok(number_in::read(c.text(0)?, c.text(1)?)?.map_or(Datum::Null, |n| n.to_datum()))
}
fn timestamp(c: &Call) -> Result<Datum> {
    Ok(time_out::timestamp(c.timestamp(0)?, c.text(1)?)?.into())
}
fn timestamptz(c: &Call) -> Result<Datum> {
    Ok(time_out::timestamptz(c.timestamp(0)?, c.text(1)?, &c.session.state().settings.time_zone)?.into())
}
fn interval(c: &Call) -> Result<Datum> {
    Ok(time_out::interval(c.interval(0)?, c.text(1)?)?.into())
}
fn to_timestamp(c: &Call) -> Result<Datum> {
    let read = time_in::timestamptz(c.text(0)?, c.text(1)?, &c.session.state().settings)?;
    Ok(Datum::Text(read.to_storage()))
}
fn to_date(c: &Call) -> Result<Datum> {
    Ok(Datum::Text(time_in::date(c.text(0)?, c.text(1)?)?.to_storage()))
}

pub(crate) const FUNCTIONS: &[(&str, Scalar)] = &[
    ("int4_to_char", |c| number(c, Number::Int4(c.int(0)? as i32))),
    ("int8_to_char", |c| number(c, Number::Int8(c.int(0)?))),
    ("float4_to_char", |c| number(c, Number::Float4(c.float(0)? as f32))),
    ("float8_to_char", |c| number(c, Number::Float8(c.float(0)?))),
    ("numeric_to_char", |c| number(c, Number::Numeric(c.numeric(0)?))),
    ("numeric_to_number", to_number),
    ("timestamp_to_char", timestamp),
    ("timestamptz_to_char", timestamptz),
    ("interval_to_char", interval),
    ("to_timestamp", to_timestamp),
    ("to_date", to_date),
];
