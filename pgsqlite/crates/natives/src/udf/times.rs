//! Functions of dates, times and intervals: the arithmetic is the crate `types`', here it meets the arguments.

use super::session_cell::SessionCell;
use super::shim::{Call, Scalar};
use super::support::timestamp_typmod;
use pgsqlite_sql::lower::support;
use pgsqlite_types::datetime::zone::Zone;
use pgsqlite_types::datetime::{arith, fields, round_micros, trunc, Date, Interval, Time, TimeTz, Timestamp};
use pgsqlite_types::numeric::Numeric;
use pgsqlite_types::time_zone::TimeZone;
use pgsqlite_types::{float, Datum, Result};
use std::cmp::Ordering;

fn session_zone(session: &SessionCell) -> TimeZone {
    session.state().settings.time_zone.clone()
}
pub(crate) fn zone(c: &Call) -> TimeZone {
    session_zone(c.session)
}
fn rules(c: &Call) -> Zone {
    Zone::Rules(zone(c))
}
fn transaction_start(c: &Call) -> Timestamp {
    Timestamp(c.session.state().settings.transaction_timestamp)
}
/// Microseconds since 2000 of the system's clock.
fn clock() -> Timestamp {
    let since_1970 = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |d| d.as_micros());
    Timestamp(since_1970 as i64 - pgsqlite_types::datetime::UNIX_EPOCH_MICROS)
}

/// `fn name(call) = storage form of an expression that may fail`
macro_rules! stored {
    ($($name:ident($c:ident) = $value:expr;)*) => {$(
        fn $name($c: &Call) -> Result<Datum> {
            Ok(Datum::Text(($value).to_storage()))
        }
    )*};
}
stored! {
    date_add_days(c) = c.date(0)?.add_days(c.int(1)? as i32)?;
    date_sub_days(c) = c.date(0)?.sub_days(c.int(1)? as i32)?;
    date_add_interval(c) = c.date(0)?.to_timestamp()?.add_interval(c.interval(1)?)?;
    date_sub_interval(c) = c.date(0)?.to_timestamp()?.sub_interval(c.interval(1)?)?;
    date_time(c) = c.date(0)?.at(c.time(1)?)?;
    date_timetz(c) = c.date(0)?.at_tz(c.timetz(1)?)?;
    time_add(c) = c.time(0)?.add_interval(c.interval(1)?);
    time_sub(c) = c.time(0)?.sub_interval(c.interval(1)?);
    time_since(c) = c.time(0)?.since(c.time(1)?);
    timetz_add(c) = c.timetz(0)?.add_interval(c.interval(1)?);
    timetz_sub(c) = c.timetz(0)?.sub_interval(c.interval(1)?);
    timestamp_add(c) = c.timestamp(0)?.add_interval(c.interval(1)?)?;
    timestamp_sub(c) = c.timestamp(0)?.sub_interval(c.interval(1)?)?;
    timestamp_since(c) = c.timestamp(0)?.since(c.timestamp(1)?)?;
    timestamptz_add(c) = c.timestamp(0)?.add_interval_tz(c.interval(1)?, &zone(c))?;
    timestamptz_add_at(c) = c.timestamp(0)?.add_interval_tz(c.interval(1)?, &Zone::parse(c.text(2)?)?.rules())?;
    timestamptz_sub_at(c) = c.timestamp(0)?.sub_interval_tz(c.interval(1)?, &Zone::parse(c.text(2)?)?.rules())?;
    at_local(c) = match c.timestamp(0)? {
        t if t.is_infinite() => t,
        t => t.to_utc(&rules(c))?,
    };
    at_local_tz(c) = match c.timestamp(0)? {
        t if t.is_infinite() => t,
        t => t.to_local(&rules(c))?,
    };
    timetz_at_local(c) = c.timetz(0)?.at_zone(&rules(c), transaction_start(c));
    timestamptz_sub(c) = c.timestamp(0)?.sub_interval_tz(c.interval(1)?, &zone(c))?;
    interval_neg(c) = c.interval(0)?.neg()?;
    interval_add(c) = c.interval(0)?.add(c.interval(1)?)?;
    interval_sub(c) = c.interval(0)?.sub(c.interval(1)?)?;
    interval_mul(c) = c.interval(0)?.mul(c.float(1)?)?;
    mul_interval(c) = c.interval(1)?.mul(c.float(0)?)?;
    interval_div(c) = c.interval(0)?.div(c.float(1)?)?;
    justify_hours(c) = c.interval(0)?.justify_hours()?;
    justify_days(c) = c.interval(0)?.justify_days()?;
    justify(c) = c.interval(0)?.justify()?;
    age(c) = c.timestamp(0)?.age(c.timestamp(1)?)?;
    age_tz(c) = c.timestamp(0)?.to_local(&rules(c))?.age(c.timestamp(1)?.to_local(&rules(c))?)?;
    now(c) = transaction_start(c);
    statement_start(c) = Timestamp(c.session.state().statement_timestamp);
    timestamp_trunc(c) = trunc::timestamp(c.text(0)?, c.timestamp(1)?)?;
    timestamptz_trunc(c) = trunc::timestamptz(c.text(0)?, c.timestamp(1)?, &zone(c))?;
    interval_trunc(c) = trunc::interval(c.text(0)?, c.interval(1)?)?;
    bin(c) = c.timestamp(1)?.bin(c.interval(0)?, c.timestamp(2)?)?;
    make_date(c) = Date::make(c.int(0)? as i32, c.int(1)? as i32, c.int(2)? as i32)?;
    make_time(c) = Time::make(c.int(0)? as i32, c.int(1)? as i32, c.float(2)?)?;
    make_timestamp(c) = made(c)?;
    make_timestamptz(c) = made(c)?.to_utc(&rules(c))?;
    make_timestamptz_at(c) = made(c)?.to_utc(&Zone::parse_eastward(c.text(6)?)?)?;
    from_unix(c) = Timestamp::from_unix(c.float(0)?)?;
    at_zone(c) = match c.timestamp(1)? {
        t if t.is_infinite() => t,
        t => t.to_utc(&Zone::parse(c.text(0)?)?)?,
    };
    at_zone_tz(c) = match c.timestamp(1)? {
        t if t.is_infinite() => t,
        t => t.to_local(&Zone::parse(c.text(0)?)?)?,
    };
    at_izone(c) = match c.timestamp(1)? {
        t if t.is_infinite() => t,
        t => t.to_utc(&arith::interval_zone(c.interval(0)?)?)?,
    };
    at_izone_tz(c) = match c.timestamp(1)? {
        t if t.is_infinite() => t,
        t => t.to_local(&arith::interval_zone(c.interval(0)?)?)?,
    };
    timetz_at_zone(c) = c.timetz(1)?.at_zone(&Zone::parse(c.text(0)?)?, transaction_start(c));
    timetz_at_izone(c) = c.timetz(1)?.at_zone(&arith::interval_zone(c.interval(0)?)?, transaction_start(c));
    date_timestamp(c) = c.date(0)?.to_timestamp()?;
    date_timestamptz(c) = c.date(0)?.to_timestamptz(&zone(c))?;
    timestamp_date(c) = c.timestamp(0)?.date();
    timestamptz_date(c) = c.timestamp(0)?.to_local(&rules(c))?.date();
    to_utc(c) = c.timestamp(0)?.to_utc(&rules(c))?;
    to_local(c) = c.timestamp(0)?.to_local(&rules(c))?;
    time_interval(c) = Interval::new(0, 0, c.time(0)?.0);
    interval_time(c) = c.interval(0)?.to_time();
    timetz_time(c) = Time(c.timetz(0)?.micros);
    time_timetz(c) = TimeTz {
        micros: c.time(0)?.0,
        // The offset in force at that time of the day on which the transaction began.
        offset: {
            let today = transaction_start(c).to_local(&rules(c))?.date().to_timestamp()?;
            rules(c).offset_of_local(Timestamp(today.0 + c.time(0)?.0))
        },
    };
    time_scale(c) = Time(round_micros(c.time(0)?.0, c.int(1)? as i32));
    timetz_scale(c) = {
        let t = c.timetz(0)?;
        TimeTz { micros: round_micros(t.micros, c.int(1)? as i32), ..t }
    };
    timestamp_scale(c) = {
        let (t, precision) = (c.timestamp(0)?, c.int(1)? as i32);
        if !t.is_infinite() && precision != -1 && !(0..=6).contains(&precision) {
            return Err(super::strings::invalid_parameter(format!(
                "timestamp({precision}) precision must be between 0 and 6"
            )));
        }
        timestamp_typmod(t, precision)?
    };
    interval_scale(c) = c.interval(0)?.apply_typmod(c.int(1)? as i32)?;
}

fn made(c: &Call) -> Result<Timestamp> {
    let field = |i| Ok::<i32, pgsqlite_types::PgError>(c.int(i)? as i32);
    Timestamp::make(field(0)?, field(1)?, field(2)?, field(3)?, field(4)?, c.float(5)?)
}
fn make_interval(c: &Call) -> Result<Datum> {
    let field = |i| Ok::<i32, pgsqlite_types::PgError>(c.int(i)? as i32);
    let made = Interval::make(field(0)?, field(1)?, field(2)?, field(3)?, field(4)?, field(5)?, c.float(6)?)?;
    Ok(Datum::Text(made.to_storage()))
}
fn date_since(c: &Call) -> Result<Datum> {
    Ok(Datum::Int(c.date(0)?.days_since(c.date(1)?)? as i64))
}
fn clock_timestamp(_: &Call) -> Result<Datum> {
    Ok(Datum::Text(clock().to_storage()))
}
/// `Wed Feb 26 15:12:25.123456 2020 UTC`
fn timeofday(c: &Call) -> Result<Datum> {
    use pgsqlite_types::calendar;
    use pgsqlite_types::datetime::{zone as zones, Civil};
    const DAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let (now, zone) = (clock(), zone(c));
    let local = zones::to_local(&zone, now);
    let f = Civil::of(local);
    let (day, month) = (calendar::day_of_week(local.split().0) as usize % 7, (f.month as usize - 1) % 12);
    Ok(Datum::Text(format!(
        "{} {} {:02} {:02}:{:02}:{:02}.{:06} {} {}",
        DAYS[day],
        MONTHS[month],
        f.day,
        f.hour,
        f.minute,
        f.second,
        f.micros,
        f.year,
        zones::offset_and_name(&zone, now).1
    )))
}
fn trunc_in_zone(c: &Call) -> Result<Datum> {
    let (t, unit) = (c.timestamp(1)?, c.text(0)?);
    if t.is_infinite() {
        return Ok(Datum::Text(t.to_storage()));
    }
    Ok(Datum::Text(
        match Zone::parse(c.text(2)?)? {
            Zone::Rules(zone) => trunc::timestamptz(unit, t, &zone)?,
            Zone::Offset(seconds) => trunc::timestamptz(unit, t, &TimeZone::fixed(seconds))?,
            Zone::Abbreviation(..) => {
                return Err(pgsqlite_types::PgError::not_supported(
                    "date_trunc in a zone given by a changing abbreviation",
                ))
            }
        }
        .to_storage(),
    ))
}

fn optional(value: Option<String>) -> Result<Datum> {
    Ok(value.into())
}
fn timestamp_time(c: &Call) -> Result<Datum> {
    optional(c.timestamp(0)?.time().map(Time::to_storage))
}
fn timestamptz_time(c: &Call) -> Result<Datum> {
    optional(c.timestamp(0)?.to_local(&rules(c))?.time().map(Time::to_storage))
}
fn timestamptz_timetz(c: &Call) -> Result<Datum> {
    optional(c.timestamp(0)?.timetz(&zone(c)).map(TimeTz::to_storage))
}

// --- fields: extract() gives numeric, date_part() double precision -----------------------------------------------------

fn as_numeric(value: Option<Numeric>) -> Result<Datum> {
    Ok(value.map_or(Datum::Null, |v| v.to_datum()))
}
fn as_float(value: Option<Numeric>) -> Result<Datum> {
    Ok(value.map_or(Datum::Null, |v| float::to_datum(v.to_f64())))
}
macro_rules! extracting {
    ($($extract:ident, $part:ident = |$c:ident| $value:expr;)*) => {$(
        fn $extract($c: &Call) -> Result<Datum> {
            as_numeric($value)
        }
        fn $part($c: &Call) -> Result<Datum> {
            as_float($value)
        }
    )*};
}
extracting! {
    extract_timestamp, timestamp_part = |c| fields::timestamp(c.text(0)?, c.timestamp(1)?)?;
    extract_timestamptz, timestamptz_part = |c| fields::timestamptz(c.text(0)?, c.timestamp(1)?, &zone(c))?;
    extract_time, time_part = |c| fields::time(c.text(0)?, c.time(1)?)?;
    extract_timetz, timetz_part = |c| fields::timetz(c.text(0)?, c.timetz(1)?)?;
    extract_interval, interval_part = |c| fields::interval(c.text(0)?, c.interval(1)?)?;
}
fn extract_date(c: &Call) -> Result<Datum> {
    as_numeric(fields::date(c.text(0)?, c.date(1)?)?)
}
/// `date_part(text, date)` is that of the day's midnight.
fn date_part_date(c: &Call) -> Result<Datum> {
    as_float(fields::timestamp(c.text(0)?, c.date(1)?.to_timestamp()?)?)
}

// --- OVERLAPS --------------------------------------------------------------------------------------------------------

/// Whether two stretches of time overlap; each may be given backwards, or by one end if the other is NULL.
fn overlaps<T: PartialOrd>(first: (Option<T>, Option<T>), second: (Option<T>, Option<T>)) -> Datum {
    // In order, the NULL last.
    let ordered = |(start, end): (Option<T>, Option<T>)| match (start, end) {
        (None, end) => (end, None),
        (Some(s), Some(e)) if s > e => (Some(e), Some(s)),
        pair => pair,
    };
    let ((Some(start1), end1), (Some(start2), end2)) = (ordered(first), ordered(second)) else { return Datum::Null };
    // The one that begins first decides by its end.
    let (later, end_of_earlier, end_of_later) = match start1.partial_cmp(&start2) {
        Some(Ordering::Greater) => (start1, end2, end1),
        Some(Ordering::Less) => (start2, end1, end2),
        _ => return if end1.is_some() && end2.is_some() { Datum::from(true) } else { Datum::Null },
    };
    match end_of_earlier {
        None => Datum::Null,
        Some(end) if later < end => Datum::from(true),
        Some(_) if end_of_later.is_none() => Datum::Null,
        Some(_) => Datum::from(false),
    }
}
fn four<T>(c: &Call, read: impl Fn(usize) -> Result<T>) -> Result<[Option<T>; 4]> {
    let at = |i: usize| if c.is_null(i) { Ok(None) } else { read(i).map(Some) };
    Ok([at(0)?, at(1)?, at(2)?, at(3)?])
}
fn overlaps_timestamp(c: &Call) -> Result<Datum> {
    let [a, b, x, y] = four(c, |i| c.timestamp(i))?;
    Ok(overlaps((a, b), (x, y)))
}
fn overlaps_time(c: &Call) -> Result<Datum> {
    let [a, b, x, y] = four(c, |i| c.time(i))?;
    Ok(overlaps((a, b), (x, y)))
}
fn overlaps_timetz(c: &Call) -> Result<Datum> {
    let [a, b, x, y] = four(c, |i| c.timetz(i))?;
    Ok(overlaps((a, b), (x, y)))
}

// --- comparison across types -------------------------------------------------------------------------------------------

/// Midnight of a day for a comparison: days beyond the range of timestamps stay in order.
fn midnight(d: Date) -> i128 {
    match d {
        Date::INFINITY => i128::MAX,
        Date::NEG_INFINITY => i128::MIN,
        d => d.0 as i128 * pgsqlite_types::datetime::MICROS_PER_DAY as i128,
    }
}
fn point(t: Timestamp) -> i128 {
    match t {
        Timestamp::INFINITY => i128::MAX,
        Timestamp::NEG_INFINITY => i128::MIN,
        t => t.0 as i128,
    }
}
/// A local time as a moment, for a comparison.
fn moment(local: i128, c: &Call) -> i128 {
    if local == i128::MAX || local == i128::MIN {
        return local;
    }
    let near = Timestamp(local.clamp(Timestamp::MIN.0 as i128, Timestamp::END.0 as i128) as i64);
    local - rules(c).offset_of_local(near) as i128 * pgsqlite_types::datetime::MICROS_PER_SECOND as i128
}
/// (date or timestamp) → its moment in the session's time zone as a timestamp with time zone is stored. Days beyond the range of
/// timestamps stay in order.
fn as_moment(c: &Call) -> Result<Datum> {
    if c.is_null(0) {
        return Ok(Datum::Null);
    }
    let local = match Date::from_storage(c.text(0)?) {
        Some(date) => midnight(date),
        None => point(c.timestamp(0)?),
    };
    Ok(Datum::Text(match local {
        i128::MAX => Timestamp::INFINITY.to_storage(),
        i128::MIN => Timestamp::NEG_INFINITY.to_storage(),
        local => {
            let (at, day) = (moment(local, c), pgsqlite_types::datetime::MICROS_PER_DAY as i128);
            let (date, time) = (Date(at.div_euclid(day) as i32), Time(at.rem_euclid(day) as i64));
            format!("{} {}", date.to_storage(), time.to_storage())
        }
    }))
}

/// (timestamp with time zone, last) → the first date whose midnight in the session's time zone is not before the moment, or the last one
/// whose midnight is not after it.
fn day_bound(c: &Call) -> Result<Datum> {
    if c.is_null(0) {
        return Ok(Datum::Null);
    }
    let (at, last) = (c.timestamp(0)?, c.bool(1)?);
    if at.is_infinite() {
        return Ok(Datum::Text(at.to_storage()));
    }
    let near = Date(at.split().0);
    // a zone is at most a day away from UTC; a day that a zone left out begins when the next one does
    let days = (near.0 - 3)..=(near.0 + 3);
    let midnight_of = |day: i32| moment(midnight(Date(day)), c);
    let bound = match last {
        false => days.clone().find(|day| midnight_of(*day) >= point(at)),
        true => days.clone().rev().find(|day| midnight_of(*day) <= point(at)),
    };
    Ok(Datum::Text(Date(bound.unwrap_or(if last { *days.start() } else { *days.end() })).to_storage()))
}

/// (name, arity, deterministic, function): what comparisons across types are made of
pub(crate) const BOUNDS: &[(&str, i32, bool, Scalar)] =
    &[(support::AS_MOMENT, 1, false, as_moment), (support::DAY_BOUND, 2, false, day_bound)];

pub(crate) const FUNCTIONS: &[(&str, Scalar)] = &[
    ("overlaps_timestamp", overlaps_timestamp),
    ("overlaps_time", overlaps_time),
    ("overlaps_timetz", overlaps_timetz),
    ("date_pli", date_add_days),
    ("date_mii", date_sub_days),
    ("date_mi", date_since),
    ("date_pl_interval", date_add_interval),
    ("date_mi_interval", date_sub_interval),
    ("datetime_timestamp", date_time),
    ("datetimetz_timestamptz", date_timetz),
    ("time_pl_interval", time_add),
    ("time_mi_interval", time_sub),
    ("time_mi_time", time_since),
    ("timetz_pl_interval", timetz_add),
    ("timetz_mi_interval", timetz_sub),
    ("timestamp_pl_interval", timestamp_add),
    ("timestamp_mi_interval", timestamp_sub),
    ("timestamp_mi", timestamp_since),
    ("timestamptz_pl_interval", timestamptz_add),
    ("timestamptz_mi_interval", timestamptz_sub),
    ("interval_um", interval_neg),
    ("interval_pl", interval_add),
    ("interval_mi", interval_sub),
    ("interval_mul", interval_mul),
    ("mul_d_interval", mul_interval),
    ("interval_div", interval_div),
    ("interval_justify_hours", justify_hours),
    ("interval_justify_days", justify_days),
    ("interval_justify_interval", justify),
    ("timestamp_age", age),
    ("timestamptz_age", age_tz),
    ("now", now),
    ("statement_timestamp", statement_start),
    ("clock_timestamp", clock_timestamp),
    ("timeofday", timeofday),
    ("timestamp_part", timestamp_part),
    ("timestamptz_part", timestamptz_part),
    ("time_part", time_part),
    ("timetz_part", timetz_part),
    ("interval_part", interval_part),
    ("date_part(text,date)", date_part_date),
    ("extract_timestamp", extract_timestamp),
    ("extract_timestamptz", extract_timestamptz),
    ("extract_date", extract_date),
    ("extract_time", extract_time),
    ("extract_timetz", extract_timetz),
    ("extract_interval", extract_interval),
    ("timestamp_trunc", timestamp_trunc),
    ("timestamptz_trunc", timestamptz_trunc),
    ("timestamptz_pl_interval_at_zone", timestamptz_add_at),
    ("timestamptz_mi_interval_at_zone", timestamptz_sub_at),
    ("timestamp_at_local", at_local),
    ("timestamptz_at_local", at_local_tz),
    ("timetz_at_local", timetz_at_local),
    ("timestamptz_trunc_zone", trunc_in_zone),
    ("interval_trunc", interval_trunc),
    ("timestamp_bin timestamptz_bin", bin),
    ("make_date", make_date),
    ("make_time", make_time),
    ("make_timestamp", make_timestamp),
    ("make_timestamptz", make_timestamptz),
    ("make_timestamptz_at_timezone", make_timestamptz_at),
    ("make_interval", make_interval),
    ("float8_timestamptz", from_unix),
    ("timestamp_zone", at_zone),
    ("timestamptz_zone", at_zone_tz),
    ("timestamp_izone", at_izone),
    ("timestamptz_izone", at_izone_tz),
    ("timetz_zone", timetz_at_zone),
    ("timetz_izone", timetz_at_izone),
    ("date_timestamp", date_timestamp),
    ("date_timestamptz", date_timestamptz),
    ("timestamp_date", timestamp_date),
    ("timestamptz_date", timestamptz_date),
    ("timestamp_time", timestamp_time),
    ("timestamptz_time", timestamptz_time),
    ("timestamptz_timetz", timestamptz_timetz),
    ("timestamp_timestamptz", to_utc),
    ("timestamptz_timestamp", to_local),
    ("time_interval", time_interval),
    ("interval_time", interval_time),
    ("timetz_time", timetz_time),
    ("time_timetz", time_timetz),
    ("time_scale", time_scale),
    ("timetz_scale", timetz_scale),
    ("timestamp_scale timestamptz_scale", timestamp_scale),
    ("interval_scale", interval_scale),
];
