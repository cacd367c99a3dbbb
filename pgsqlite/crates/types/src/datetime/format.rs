//! Text output of dates, times and timestamps by DateStyle.

use super::storage::{write_offset, write_time, INFINITY, NEG_INFINITY};
use super::{zone, Civil, Date, Time, TimeTz, Timestamp, MICROS_PER_SECOND};
use crate::buffer::{fraction, padded, two};
use crate::calendar;
use crate::settings::{DateOrder, DateStyle};
use crate::Settings;

const DAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// The year as shown: BC years count from 1.
fn shown_year(year: i32) -> i64 {
    if year > 0 {
        year as i64
    } else {
        1 - year as i64
    }
}

fn era(year: i32, out: &mut Vec<u8>) {
    if year <= 0 {
        out.extend_from_slice(b" BC");
    }
}

/// Two numbers with a separator, in the order of day and month that the style asks for, and the year.
fn numeric_date(y: i32, first: i32, second: i32, separator: u8, out: &mut Vec<u8>) {
    two(out, first as u32);
    out.push(separator);
    two(out, second as u32);
    out.push(separator);
    padded(out, shown_year(y), 4);
}

fn iso_date(y: i32, m: i32, d: i32, out: &mut Vec<u8>) {
    padded(out, shown_year(y), 4);
    out.push(b'-');
    two(out, m as u32);
    out.push(b'-');
    two(out, d as u32);
}

/// Appends a `date`.
pub fn write_date(date: Date, settings: &Settings, out: &mut Vec<u8>) {
    match date {
        Date::INFINITY => return out.extend_from_slice(INFINITY.as_bytes()),
        Date::NEG_INFINITY => return out.extend_from_slice(NEG_INFINITY.as_bytes()),
        _ => {}
    }
    let (y, m, d) = calendar::civil(date.0);
    let day_first = settings.date_order == DateOrder::Dmy;
    match settings.date_style {
        DateStyle::Iso => iso_date(y, m, d, out),
        DateStyle::Sql if day_first => numeric_date(y, d, m, b'/', out),
        DateStyle::Sql => numeric_date(y, m, d, b'/', out),
        DateStyle::German => numeric_date(y, d, m, b'.', out),
        DateStyle::Postgres if day_first => numeric_date(y, d, m, b'-', out),
        DateStyle::Postgres => numeric_date(y, m, d, b'-', out),
    }
    era(y, out);
}

/// Appends a `time`: the same in every style.
pub fn write_time_of_day(time: Time, out: &mut Vec<u8>) {
    write_time(time, out);
}

/// Appends a `timetz`: the same in every style.
pub fn write_time_of_day_tz(t: TimeTz, out: &mut Vec<u8>) {
    write_time(Time(t.micros), out);
    write_offset(t.offset, out);
}

/// Appends a `timestamp`.
pub fn write_timestamp(t: Timestamp, settings: &Settings, out: &mut Vec<u8>) {
    write_local(t, None, settings, out);
}

/// Appends a `timestamptz` in the session's zone.
pub fn write_timestamptz(t: Timestamp, settings: &Settings, out: &mut Vec<u8>) {
    if t.is_infinite() {
        return write_local(t, None, settings, out);
    }
    let offset = zone::offset_at(&settings.time_zone, t);
    let local = Timestamp(t.0.saturating_add(offset as i64 * MICROS_PER_SECOND));
    write_local(local, Some((offset, t)), settings, out);
}

/// `zoned`: the offset of the local time, and the moment.
fn write_local(local: Timestamp, zoned: Option<(i32, Timestamp)>, settings: &Settings, out: &mut Vec<u8>) {
    match local {
        Timestamp::INFINITY => return out.extend_from_slice(INFINITY.as_bytes()),
        Timestamp::NEG_INFINITY => return out.extend_from_slice(NEG_INFINITY.as_bytes()),
        _ => {}
    }
    let c = Civil::of(local);
    let day_first = settings.date_order == DateOrder::Dmy;
    let time = |out: &mut Vec<u8>| {
        two(out, c.hour as u32);
        out.push(b':');
        two(out, c.minute as u32);
        out.push(b':');
        two(out, c.second as u32);
        fraction(out, c.micros as u32);
    };
    // All styles but ISO show the zone's abbreviation; that of a bare offset is the offset.
    let zone_name = |out: &mut Vec<u8>| {
        if let Some((offset, moment)) = zoned {
            let (_, name) = zone::offset_and_name(&settings.time_zone, moment);
            out.push(b' ');
            if name.is_empty() || name.starts_with(['+', '-']) && settings.time_zone.is_fixed() {
                write_offset(offset, out);
            } else {
                out.extend_from_slice(name.as_bytes());
            }
        }
    };
    match settings.date_style {
        DateStyle::Iso => {
            iso_date(c.year, c.month, c.day, out);
            out.push(b' ');
            time(out);
            if let Some((offset, _)) = zoned {
                write_offset(offset, out);
            }
        }
        DateStyle::Sql => {
            let (first, second) = if day_first { (c.day, c.month) } else { (c.month, c.day) };
            numeric_date(c.year, first, second, b'/', out);
            out.push(b' ');
            time(out);
            zone_name(out);
        }
        DateStyle::German => {
            numeric_date(c.year, c.day, c.month, b'.', out);
            out.push(b' ');
            time(out);
            zone_name(out);
        }
        DateStyle::Postgres => {
            let day_name = DAYS[calendar::day_of_week(local.split().0) as usize];
            out.extend_from_slice(day_name.as_bytes());
            out.push(b' ');
            let month = MONTHS[(c.month - 1) as usize].as_bytes();
            if day_first {
                two(out, c.day as u32);
                out.push(b' ');
                out.extend_from_slice(month);
            } else {
                out.extend_from_slice(month);
                out.push(b' ');
                two(out, c.day as u32);
            }
            out.push(b' ');
            time(out);
            out.push(b' ');
            padded(out, shown_year(c.year), 4);
            zone_name(out);
        }
    }
    era(c.year, out);
}
