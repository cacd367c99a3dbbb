//! Dates, times, timestamps and intervals: the value types that codecs and native functions compute with.
//!
//! Units are PostgreSQL's: days and microseconds since 2000-01-01 (UTC for `timestamptz`), a proleptic Gregorian
//! calendar, one value at either end of the range for the infinities. Files: `storage` the texts in the file, `parse` (with `lex`, `decode`, `tokens`) PostgreSQL's input syntax, `zone` time zones,
//! `format` output by DateStyle, `interval_text` and `interval_format` the same for intervals, `arith`, `fields` (extract), `trunc`, `io` the codecs.

pub mod arith;
mod decode;
pub mod fields;
pub mod format;
pub mod interval_format;
pub mod interval_text;
pub(crate) mod io;
mod lex;
pub mod parse;
pub mod storage;
mod tokens;
pub mod trunc;
pub mod zone;

use crate::{calendar, PgError, SqlState};
use std::cmp::Ordering;

pub const MICROS_PER_SECOND: i64 = 1_000_000;
pub const MICROS_PER_MINUTE: i64 = 60 * MICROS_PER_SECOND;
pub const MICROS_PER_HOUR: i64 = 60 * MICROS_PER_MINUTE;
pub const MICROS_PER_DAY: i64 = 24 * MICROS_PER_HOUR;
/// Microseconds from 1970-01-01 to 2000-01-01.
pub const UNIX_EPOCH_MICROS: i64 = 946_684_800 * MICROS_PER_SECOND;
/// Days from 1970-01-01 to 2000-01-01.
pub const UNIX_EPOCH_DAYS: i32 = 10_957;

/// Days since 2000-01-01; the extremes are the infinities.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date(pub i32);

/// Microseconds since midnight, 24:00:00 included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub i64);

/// A time of day with its offset from UTC in seconds, east positive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TimeTz {
    pub micros: i64,
    pub offset: i32,
}

/// Microseconds since 2000-01-01 00:00:00, local for `timestamp`, UTC for `timestamptz`; the extremes are the infinities.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub i64);

/// Months, days and microseconds, kept apart because neither months nor days have a fixed length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Interval {
    pub months: i32,
    pub days: i32,
    pub micros: i64,
}

impl Date {
    pub const NEG_INFINITY: Date = Date(i32::MIN);
    pub const INFINITY: Date = Date(i32::MAX);
    /// 4714-11-24 BC
    pub const MIN: Date = Date(-calendar::EPOCH_JULIAN);
    /// 5874897-12-31
    pub const MAX: Date = Date(2_147_483_494 - 1 - calendar::EPOCH_JULIAN);

    pub fn is_infinite(self) -> bool {
        self == Date::INFINITY || self == Date::NEG_INFINITY
    }
    /// Within the range of the type (infinities are not).
    pub fn is_valid(self) -> bool {
        (Date::MIN..=Date::MAX).contains(&self)
    }
}

impl Timestamp {
    pub const NEG_INFINITY: Timestamp = Timestamp(i64::MIN);
    pub const INFINITY: Timestamp = Timestamp(i64::MAX);
    /// 4714-11-24 00:00:00 BC
    pub const MIN: Timestamp = Timestamp(-211_813_488_000_000_000);
    /// The first microsecond after the range: 294277-01-01 00:00:00.
    pub const END: Timestamp = Timestamp(9_223_371_331_200_000_000);

    pub fn is_infinite(self) -> bool {
        self == Timestamp::INFINITY || self == Timestamp::NEG_INFINITY
    }
    /// Within the range of the type (infinities are not).
    pub fn is_valid(self) -> bool {
        (Timestamp::MIN..Timestamp::END).contains(&self)
    }
    /// Microseconds since 1970.
    pub fn unix_micros(self) -> i128 {
        self.0 as i128 + UNIX_EPOCH_MICROS as i128
    }
    /// Day and microsecond of the day.
    pub fn split(self) -> (i32, i64) {
        (self.0.div_euclid(MICROS_PER_DAY) as i32, self.0.rem_euclid(MICROS_PER_DAY))
    }
}

impl TimeTz {
    /// The same moment in UTC; may lie outside 0…24 h.
    fn utc(self) -> i64 {
        self.micros - self.offset as i64 * MICROS_PER_SECOND
    }
}
/// By the moment in UTC, then the one farther west is greater.
impl Ord for TimeTz {
    fn cmp(&self, other: &Self) -> Ordering {
        self.utc().cmp(&other.utc()).then_with(|| other.offset.cmp(&self.offset))
    }
}
impl PartialOrd for TimeTz {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Interval {
    pub fn new(months: i32, days: i32, micros: i64) -> Interval {
        Interval { months, days, micros }
    }
    /// The span that comparisons use: a month has 30 days, a day 24 hours.
    pub fn span(self) -> i128 {
        (self.months as i128 * 30 + self.days as i128) * MICROS_PER_DAY as i128 + self.micros as i128
    }
    /// Order and equality of the type (`1 month = 30 days`), which differ from the identity of the three parts.
    pub fn compare(self, other: Interval) -> Ordering {
        self.span().cmp(&other.span())
    }
}

/// A broken-down local time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Civil {
    /// Astronomical: 0 is 1 BC.
    pub year: i32,
    pub month: i32,
    pub day: i32,
    pub hour: i32,
    pub minute: i32,
    pub second: i32,
    pub micros: i32,
}

impl Civil {
    /// The fields of a local timestamp.
    pub fn of(t: Timestamp) -> Civil {
        let (days, micros) = t.split();
        let (year, month, day) = calendar::civil(days);
        let (hour, minute, second, fraction) = calendar::clock(micros);
        Civil { year, month, day, hour, minute, second, micros: fraction }
    }
    /// Microseconds since midnight.
    pub fn day_micros(&self) -> i64 {
        self.hour as i64 * MICROS_PER_HOUR
            + self.minute as i64 * MICROS_PER_MINUTE
            + self.second as i64 * MICROS_PER_SECOND
            + self.micros as i64
    }
    /// The local timestamp of these fields; None outside the range.
    pub fn timestamp(&self) -> Option<Timestamp> {
        if !calendar::is_valid_year_month(self.year, self.month) {
            return None;
        }
        let days = calendar::days(self.year, self.month, self.day) as i64;
        let t = Timestamp(days.checked_mul(MICROS_PER_DAY)?.checked_add(self.day_micros())?);
        t.is_valid().then_some(t)
    }
}

pub(crate) fn timestamp_out_of_range() -> PgError {
    PgError::new(SqlState::DATETIME_VALUE_OUT_OF_RANGE, "timestamp out of range")
}
pub(crate) fn date_out_of_range() -> PgError {
    PgError::new(SqlState::DATETIME_VALUE_OUT_OF_RANGE, "date out of range")
}
pub(crate) fn interval_out_of_range() -> PgError {
    PgError::new(SqlState::DATETIME_VALUE_OUT_OF_RANGE, "interval out of range")
}

/// Rounds microseconds to `precision` digits of a second (0 to 6; others: unchanged), half away from zero.
pub fn round_micros(micros: i64, precision: i32) -> i64 {
    if !(0..6).contains(&precision) {
        return micros;
    }
    let unit = 10i64.pow((6 - precision) as u32);
    let half = unit / 2;
    if micros >= 0 {
        micros.saturating_add(half) / unit * unit
    } else {
        -((micros.saturating_neg().saturating_add(half)) / unit * unit)
    }
}
