//! The codecs of the date/time types: storage text ⇄ client text and binary.

use super::{format, parse, round_micros, Date, Interval, Time, TimeTz, Timestamp, MICROS_PER_DAY};
use super::{interval_format, interval_text};
use crate::buffer::{bad_stored, Reader};
use crate::{Datum, DatumRef, PgError, Result, Settings, SqlState};

fn stored<T>(value: DatumRef, type_name: &str, read: impl Fn(&str) -> Option<T>) -> Result<T> {
    match value {
        DatumRef::Text(t) => read(t),
        _ => None,
    }
    .ok_or_else(|| bad_stored(type_name, value))
}

pub(crate) fn stored_date(value: DatumRef) -> Result<Date> {
    stored(value, "date", Date::from_storage)
}
pub(crate) fn stored_time(value: DatumRef) -> Result<Time> {
    stored(value, "time", Time::from_storage)
}
pub(crate) fn stored_timetz(value: DatumRef) -> Result<TimeTz> {
    stored(value, "time with time zone", TimeTz::from_storage)
}
pub(crate) fn stored_timestamp(value: DatumRef) -> Result<Timestamp> {
    stored(value, "timestamp", Timestamp::from_storage)
}
pub(crate) fn stored_interval(value: DatumRef) -> Result<Interval> {
    stored(value, "interval", Interval::from_storage)
}

/// Rounds a time of day to `precision` digits (-1: all).
pub fn time_typmod(time: Time, precision: i32) -> Time {
    Time(round_micros(time.0, precision))
}

/// Rounds a timestamp to `precision` digits (-1: all); 22008 where that leaves the range.
pub fn timestamp_typmod(t: Timestamp, precision: i32) -> Result<Timestamp> {
    if t.is_infinite() {
        return Ok(t);
    }
    // The last microseconds of the range may round to its end, which PostgreSQL lets through.
    let rounded = Timestamp(round_micros(t.0, precision));
    if rounded.is_valid() || rounded == Timestamp::END {
        Ok(rounded)
    } else {
        Err(super::timestamp_out_of_range())
    }
}

pub(crate) fn date_in(text: &str, s: &Settings) -> Result<Datum> {
    Ok(Datum::Text(parse::date(text, s)?.to_storage()))
}
pub(crate) fn time_in(text: &str, typmod: i32, s: &Settings) -> Result<Datum> {
    Ok(Datum::Text(time_typmod(parse::time(text, s)?, typmod).to_storage()))
}
pub(crate) fn timetz_in(text: &str, typmod: i32, s: &Settings) -> Result<Datum> {
    let t = parse::timetz(text, s)?;
    Ok(Datum::Text(TimeTz { micros: round_micros(t.micros, typmod), ..t }.to_storage()))
}
pub(crate) fn timestamp_in(text: &str, typmod: i32, zoned: bool, s: &Settings) -> Result<Datum> {
    let t = if zoned { parse::timestamptz(text, s)? } else { parse::timestamp(text, s)? };
    Ok(Datum::Text(timestamp_typmod(t, typmod)?.to_storage()))
}
pub(crate) fn interval_in(text: &str, typmod: i32, s: &Settings) -> Result<Datum> {
    Ok(Datum::Text(interval_text::parse(text, typmod, s.interval_style)?.to_storage()))
}

pub(crate) fn date_out(value: DatumRef, s: &Settings, out: &mut Vec<u8>) -> Result<()> {
    format::write_date(stored_date(value)?, s, out);
    Ok(())
}
pub(crate) fn time_out(value: DatumRef, out: &mut Vec<u8>) -> Result<()> {
    format::write_time_of_day(stored_time(value)?, out);
    Ok(())
}
pub(crate) fn timetz_out(value: DatumRef, out: &mut Vec<u8>) -> Result<()> {
    format::write_time_of_day_tz(stored_timetz(value)?, out);
    Ok(())
}
pub(crate) fn timestamp_out(value: DatumRef, zoned: bool, s: &Settings, out: &mut Vec<u8>) -> Result<()> {
    let t = stored_timestamp(value)?;
    if zoned {
        format::write_timestamptz(t, s, out);
    } else {
        format::write_timestamp(t, s, out);
    }
    Ok(())
}
pub(crate) fn interval_out(value: DatumRef, s: &Settings, out: &mut Vec<u8>) -> Result<()> {
    interval_format::write(stored_interval(value)?, s.interval_style, out);
    Ok(())
}

pub(crate) fn date_binary_in(bytes: &[u8]) -> Result<Datum> {
    let mut r = Reader(bytes);
    let d = Date(r.i32()?);
    r.end()?;
    if !d.is_infinite() && !d.is_valid() {
        return Err(super::date_out_of_range());
    }
    Ok(Datum::Text(d.to_storage()))
}
pub(crate) fn date_binary_out(value: DatumRef, out: &mut Vec<u8>) -> Result<()> {
    out.extend_from_slice(&stored_date(value)?.0.to_be_bytes());
    Ok(())
}

fn time_of_day(r: &mut Reader) -> Result<i64> {
    let micros = r.i64()?;
    if !(0..=MICROS_PER_DAY).contains(&micros) {
        return Err(PgError::new(SqlState::DATETIME_VALUE_OUT_OF_RANGE, "time out of range"));
    }
    Ok(micros)
}
pub(crate) fn time_binary_in(bytes: &[u8], typmod: i32) -> Result<Datum> {
    let mut r = Reader(bytes);
    let t = time_of_day(&mut r)?;
    r.end()?;
    Ok(Datum::Text(time_typmod(Time(t), typmod).to_storage()))
}
pub(crate) fn time_binary_out(value: DatumRef, out: &mut Vec<u8>) -> Result<()> {
    out.extend_from_slice(&stored_time(value)?.0.to_be_bytes());
    Ok(())
}
/// Offsets in messages count west of UTC.
pub(crate) fn timetz_binary_in(bytes: &[u8], typmod: i32) -> Result<Datum> {
    let mut r = Reader(bytes);
    let micros = time_of_day(&mut r)?;
    let west = r.i32()?;
    r.end()?;
    if west <= -16 * 3600 || west >= 16 * 3600 {
        return Err(PgError::new(
            SqlState::INVALID_TIME_ZONE_DISPLACEMENT_VALUE,
            "time zone displacement out of range",
        ));
    }
    Ok(Datum::Text(TimeTz { micros: round_micros(micros, typmod), offset: -west }.to_storage()))
}
pub(crate) fn timetz_binary_out(value: DatumRef, out: &mut Vec<u8>) -> Result<()> {
    let t = stored_timetz(value)?;
    out.extend_from_slice(&t.micros.to_be_bytes());
    out.extend_from_slice(&(-t.offset).to_be_bytes());
    Ok(())
}
pub(crate) fn timestamp_binary_in(bytes: &[u8], typmod: i32) -> Result<Datum> {
    let mut r = Reader(bytes);
    let t = Timestamp(r.i64()?);
    r.end()?;
    if !t.is_infinite() && !t.is_valid() && t != Timestamp::END {
        return Err(super::timestamp_out_of_range());
    }
    Ok(Datum::Text(timestamp_typmod(t, typmod)?.to_storage()))
}
pub(crate) fn timestamp_binary_out(value: DatumRef, out: &mut Vec<u8>) -> Result<()> {
    out.extend_from_slice(&stored_timestamp(value)?.0.to_be_bytes());
    Ok(())
}
pub(crate) fn interval_binary_in(bytes: &[u8], typmod: i32) -> Result<Datum> {
    let mut r = Reader(bytes);
    let micros = r.i64()?;
    let days = r.i32()?;
    let months = r.i32()?;
    r.end()?;
    Ok(Datum::Text(Interval { months, days, micros }.apply_typmod(typmod)?.to_storage()))
}
pub(crate) fn interval_binary_out(value: DatumRef, out: &mut Vec<u8>) -> Result<()> {
    let i = stored_interval(value)?;
    out.extend_from_slice(&i.micros.to_be_bytes());
    out.extend_from_slice(&i.days.to_be_bytes());
    out.extend_from_slice(&i.months.to_be_bytes());
    Ok(())
}
