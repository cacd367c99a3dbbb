//! `date_trunc`.

use super::fields::{not_recognized, not_supported};
use super::tokens::{self, Span};
use super::{
    timestamp_out_of_range, zone, Civil, Interval, Timestamp, MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND,
};
use crate::calendar;
use crate::time_zone::TimeZone;
use crate::{PgError, Result, SqlState};

fn unit(name: &str, type_name: &str) -> Result<Span> {
    match tokens::span(&name.to_ascii_lowercase()) {
        None | Some(Span::Ago) => Err(not_recognized(&name.to_ascii_lowercase(), type_name)),
        Some(Span::Timezone | Span::TimezoneHour | Span::TimezoneMinute) => Err(not_supported(name, type_name)),
        Some(span) => Ok(span),
    }
}

/// `date_trunc(unit, timestamp)`
pub fn timestamp(name: &str, t: Timestamp) -> Result<Timestamp> {
    let unit = unit(name, "timestamp without time zone")?;
    if t.is_infinite() {
        return Ok(t);
    }
    local(unit, t)
}

/// `date_trunc(unit, timestamptz)` in a zone: from days up by its calendar, below by the offset in force.
pub fn timestamptz(name: &str, t: Timestamp, zone: &TimeZone) -> Result<Timestamp> {
    let unit = unit(name, "timestamp with time zone")?;
    if t.is_infinite() {
        return Ok(t);
    }
    let offset = zone::offset_at(zone, t) as i64 * MICROS_PER_SECOND;
    let cut = local(unit, Timestamp(t.0 + offset))?;
    let below_day = matches!(unit, Span::Microsecond | Span::Millisecond | Span::Second | Span::Minute | Span::Hour);
    if below_day {
        return Some(Timestamp(cut.0 - offset)).filter(|t| t.is_valid()).ok_or_else(timestamp_out_of_range);
    }
    zone::to_utc(zone, cut).ok_or_else(timestamp_out_of_range)
}

fn local(unit: Span, t: Timestamp) -> Result<Timestamp> {
    let mut c = Civil::of(t);
    let year = c.year;
    match unit {
        Span::Microsecond => return Ok(t),
        Span::Millisecond => {
            c.micros -= c.micros % 1000;
            return c.timestamp().ok_or_else(timestamp_out_of_range);
        }
        Span::Week => {
            let (iso_year, week) = calendar::iso_week(t.split().0);
            (c.year, c.month, c.day) = calendar::civil(calendar::iso_week_start(iso_year, week));
        }
        Span::Millennium if year > 0 => c.year = (year + 999) / 1000 * 1000 - 999,
        Span::Millennium => c.year = -((999 - (year - 1)) / 1000) * 1000 + 1,
        Span::Century if year > 0 => c.year = (year + 99) / 100 * 100 - 99,
        Span::Century => c.year = -((99 - (year - 1)) / 100) * 100 + 1,
        Span::Decade if year > 0 => c.year = year / 10 * 10,
        Span::Decade => c.year = -((8 - (year - 1)) / 10) * 10,
        _ => {}
    }
    match unit {
        Span::Millennium | Span::Century | Span::Decade | Span::Year => (c.month, c.day) = (1, 1),
        Span::Quarter => (c.month, c.day) = (3 * ((c.month - 1) / 3) + 1, 1),
        Span::Month => c.day = 1,
        _ => {}
    }
    c.micros = 0;
    if unit != Span::Second {
        c.second = 0;
        if unit != Span::Minute {
            c.minute = 0;
            if unit != Span::Hour {
                c.hour = 0;
            }
        }
    }
    c.timestamp().ok_or_else(timestamp_out_of_range)
}

/// `date_trunc(unit, interval)`
pub fn interval(name: &str, i: Interval) -> Result<Interval> {
    let months = |unit: i32| Interval::new(i.months / unit * unit, 0, 0);
    let micros = |unit: i64| Interval { micros: i.micros / unit * unit, ..i };
    Ok(match unit(name, "interval")? {
        Span::Microsecond => i,
        Span::Millisecond => micros(1000),
        Span::Second => micros(MICROS_PER_SECOND),
        Span::Minute => micros(MICROS_PER_MINUTE),
        Span::Hour => micros(MICROS_PER_HOUR),
        Span::Day => Interval { micros: 0, ..i },
        Span::Month => months(1),
        // The quarter is counted within the year.
        Span::Quarter => months(3),
        Span::Year => months(12),
        Span::Decade => months(120),
        Span::Century => months(1200),
        Span::Millennium => months(12_000),
        _ => {
            return Err(PgError::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                format!("unit \"{}\" not supported for type interval", name.to_ascii_lowercase()),
            )
            .detail("Months usually have fractional weeks."))
        }
    })
}
