//! Arithmetic of dates, times and intervals: the operators `+ - * /`, `age`, `justify_…`, `make_…`, `date_bin`,
//! `AT TIME ZONE` and the casts between the types. Infinite timestamps stay what they are under `+` and `-`.

use super::zone::{self, Zone};
use super::{
    date_out_of_range, interval_out_of_range, timestamp_out_of_range, Civil, Date, Interval, Time, TimeTz, Timestamp,
    MICROS_PER_DAY, MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND,
};
use crate::calendar;
use crate::time_zone::TimeZone;
use crate::{PgError, Result, SqlState};

fn out_of_range(message: impl Into<String>) -> PgError {
    PgError::new(SqlState::DATETIME_VALUE_OUT_OF_RANGE, message)
}

fn checked(micros: Option<i64>) -> Result<Timestamp> {
    micros.map(Timestamp).filter(|t| t.is_valid()).ok_or_else(timestamp_out_of_range)
}

impl Date {
    /// `date + integer`
    pub fn add_days(self, days: i32) -> Result<Date> {
        if self.is_infinite() {
            return Ok(self);
        }
        self.0.checked_add(days).map(Date).filter(|d| d.is_valid()).ok_or_else(date_out_of_range)
    }
    /// `date - integer`
    pub fn sub_days(self, days: i32) -> Result<Date> {
        if self.is_infinite() {
            return Ok(self);
        }
        self.0.checked_sub(days).map(Date).filter(|d| d.is_valid()).ok_or_else(date_out_of_range)
    }
    /// `date - date`, in days
    pub fn days_since(self, other: Date) -> Result<i32> {
        if self.is_infinite() || other.is_infinite() {
            return Err(out_of_range("cannot subtract infinite dates"));
        }
        Ok(self.0 - other.0)
    }
    /// Midnight of the day; 22008 where the day is outside the range of timestamps.
    pub fn to_timestamp(self) -> Result<Timestamp> {
        match self {
            Date::INFINITY => Ok(Timestamp::INFINITY),
            Date::NEG_INFINITY => Ok(Timestamp::NEG_INFINITY),
            Date(d) => (d as i64)
                .checked_mul(MICROS_PER_DAY)
                .map(Timestamp)
                .filter(|t| t.is_valid())
                .ok_or_else(|| out_of_range("date out of range for timestamp")),
        }
    }
    /// Midnight in a zone.
    pub fn to_timestamptz(self, zone: &TimeZone) -> Result<Timestamp> {
        let local = self.to_timestamp()?;
        zone::to_utc(zone, local).ok_or_else(|| out_of_range("date out of range for timestamp"))
    }
    /// `date + time`
    pub fn at(self, time: Time) -> Result<Timestamp> {
        let midnight = self.to_timestamp()?;
        if midnight.is_infinite() {
            return Ok(midnight);
        }
        checked(midnight.0.checked_add(time.0))
    }
    /// `date + timetz`, a moment
    pub fn at_tz(self, time: TimeTz) -> Result<Timestamp> {
        let midnight = self.to_timestamp()?;
        if midnight.is_infinite() {
            return Ok(midnight);
        }
        checked(midnight.0.checked_add(time.utc()))
    }
    /// `make_date`: a negative year is BC; 22008 for what is no date.
    pub fn make(year: i32, month: i32, day: i32) -> Result<Date> {
        // What is shown is the year as it is counted inside: 0 is 1 BC.
        let error = |y: i32| out_of_range(format!("date field value out of range: {y}-{month:02}-{day:02}"));
        let astronomical = match year {
            0 => return Err(error(0)),
            y if y < 0 => y + 1,
            y => y,
        };
        if !(1..=12).contains(&month) || day < 1 || day > calendar::days_in_month(astronomical, month) {
            return Err(error(astronomical));
        }
        let range = || out_of_range(format!("date out of range: {astronomical}-{month:02}-{day:02}"));
        if !calendar::is_valid_year_month(astronomical, month) {
            return Err(range());
        }
        Some(Date(calendar::days(astronomical, month, day))).filter(|d| d.is_valid()).ok_or_else(range)
    }
}

/// C's `%02g` of seconds, as the error messages of `make_time` show them.
fn seconds_shown(seconds: f64) -> String {
    if !seconds.is_finite() {
        let mut out = Vec::new();
        crate::float::write(seconds, false, 0, &mut out);
        return String::from_utf8_lossy(&out).into_owned();
    }
    format!("{:0>2}", crate::float::general(seconds, 6))
}

impl Time {
    /// `make_time`
    pub fn make(hour: i32, minute: i32, seconds: f64) -> Result<Time> {
        let micros = (seconds * MICROS_PER_SECOND as f64).round_ties_even();
        let valid = (0..=24).contains(&hour) && (0..60).contains(&minute) && (0.0..=60e6).contains(&micros);
        let total =
            if valid { hour as i64 * MICROS_PER_HOUR + minute as i64 * MICROS_PER_MINUTE + micros as i64 } else { 0 };
        if !valid || total > MICROS_PER_DAY {
            return Err(out_of_range(format!(
                "time field value out of range: {hour}:{minute:02}:{}",
                seconds_shown(seconds)
            )));
        }
        Ok(Time(total))
    }
    /// `time + interval`: the clock goes round; months and days do not count.
    pub fn add_interval(self, i: Interval) -> Time {
        Time((self.0 as i128 + i.micros as i128).rem_euclid(MICROS_PER_DAY as i128) as i64)
    }
    pub fn sub_interval(self, i: Interval) -> Time {
        Time((self.0 as i128 - i.micros as i128).rem_euclid(MICROS_PER_DAY as i128) as i64)
    }
    /// `time - time`
    pub fn since(self, other: Time) -> Interval {
        Interval::new(0, 0, self.0 - other.0)
    }
}

impl TimeTz {
    pub fn add_interval(self, i: Interval) -> TimeTz {
        TimeTz { micros: Time(self.micros).add_interval(i).0, ..self }
    }
    pub fn sub_interval(self, i: Interval) -> TimeTz {
        TimeTz { micros: Time(self.micros).sub_interval(i).0, ..self }
    }
    /// The same moment with another offset (seconds east).
    pub fn with_offset(self, offset: i32) -> TimeTz {
        let local = self.utc() + offset as i64 * MICROS_PER_SECOND;
        TimeTz { micros: local.rem_euclid(MICROS_PER_DAY), offset }
    }
    /// `timetz AT TIME ZONE zone`; `now` decides the offset of a zone with rules.
    pub fn at_zone(self, zone: &Zone, now: Timestamp) -> TimeTz {
        self.with_offset(zone.offset_at(now))
    }
}

impl Timestamp {
    /// Adds months, keeping to the end of a shorter month, then days; `self` is local.
    fn add_months_days(self, months: i32, days: i32) -> Result<Timestamp> {
        let mut t = self;
        if months != 0 {
            let mut c = Civil::of(t);
            let total = c.year as i64 * 12 + (c.month - 1) as i64 + months as i64;
            c.year = i32::try_from(total.div_euclid(12)).map_err(|_| timestamp_out_of_range())?;
            c.month = total.rem_euclid(12) as i32 + 1;
            c.day = c.day.min(calendar::days_in_month(c.year, c.month));
            t = c.timestamp().ok_or_else(timestamp_out_of_range)?;
        }
        if days != 0 {
            let shift = (days as i64).checked_mul(MICROS_PER_DAY);
            t = checked(shift.and_then(|s| t.0.checked_add(s)))?;
        }
        Ok(t)
    }

    /// `timestamp + interval`
    pub fn add_interval(self, i: Interval) -> Result<Timestamp> {
        if self.is_infinite() {
            return Ok(self);
        }
        let t = self.add_months_days(i.months, i.days)?;
        checked(t.0.checked_add(i.micros))
    }
    /// `timestamp - interval`
    pub fn sub_interval(self, i: Interval) -> Result<Timestamp> {
        self.add_interval(i.neg()?)
    }
    /// `timestamptz + interval`: months and days go by the zone's calendar.
    pub fn add_interval_tz(self, i: Interval, zone: &TimeZone) -> Result<Timestamp> {
        if self.is_infinite() {
            return Ok(self);
        }
        let mut t = self;
        // In two steps, because the offset may differ in between.
        for (months, days) in [(i.months, 0), (0, i.days)] {
            if months != 0 || days != 0 {
                let local = zone::to_local(zone, t).add_months_days(months, days)?;
                t = zone::to_utc(zone, local).ok_or_else(timestamp_out_of_range)?;
            }
        }
        checked(t.0.checked_add(i.micros))
    }
    pub fn sub_interval_tz(self, i: Interval, zone: &TimeZone) -> Result<Timestamp> {
        self.add_interval_tz(i.neg()?, zone)
    }

    /// `timestamp - timestamp`: days and a time.
    pub fn since(self, other: Timestamp) -> Result<Interval> {
        if self.is_infinite() || other.is_infinite() {
            return Err(out_of_range("cannot subtract infinite timestamps"));
        }
        let micros = self.0.checked_sub(other.0).ok_or_else(interval_out_of_range)?;
        Interval::new(0, 0, micros).justify_hours()
    }

    /// `age(self, other)`: years, months, days and time by the calendar. For `timestamptz` both are given as local
    /// times of the session's zone.
    pub fn age(self, other: Timestamp) -> Result<Interval> {
        if self.is_infinite() || other.is_infinite() {
            return Err(timestamp_out_of_range());
        }
        let negative = self < other;
        let (later, earlier) = if negative { (other, self) } else { (self, other) };
        let (a, b) = (Civil::of(later), Civil::of(earlier));
        let mut micros = a.day_micros() - b.day_micros();
        let mut days = a.day - b.day;
        let mut months = (a.year - b.year) * 12 + a.month - b.month;
        if micros < 0 {
            micros += MICROS_PER_DAY;
            days -= 1;
        }
        while days < 0 {
            // Days are borrowed from the month that the earlier time is in.
            days += calendar::days_in_month(b.year, b.month);
            months -= 1;
        }
        let i = Interval::new(months, days, micros);
        if negative {
            i.neg()
        } else {
            Ok(i)
        }
    }

    /// The day of a local timestamp.
    pub fn date(self) -> Date {
        match self {
            Timestamp::INFINITY => Date::INFINITY,
            Timestamp::NEG_INFINITY => Date::NEG_INFINITY,
            t => Date(t.split().0),
        }
    }
    /// The time of day of a local timestamp; None (NULL) for the infinities.
    pub fn time(self) -> Option<Time> {
        (!self.is_infinite()).then(|| Time(self.split().1))
    }
    /// The cast of a moment to `timetz` in a zone; None (NULL) for the infinities.
    pub fn timetz(self, zone: &TimeZone) -> Option<TimeTz> {
        let local = zone::to_local(zone, self);
        Some(TimeTz { micros: local.time()?.0, offset: zone::offset_at(zone, self) })
    }
    /// The cast `timestamptz → timestamp`, and `timestamptz AT TIME ZONE`.
    pub fn to_local(self, zone: &Zone) -> Result<Timestamp> {
        if self.is_infinite() {
            return Ok(self);
        }
        checked(self.0.checked_add(zone.offset_at(self) as i64 * MICROS_PER_SECOND))
    }
    /// The cast `timestamp → timestamptz`, and `timestamp AT TIME ZONE`.
    pub fn to_utc(self, zone: &Zone) -> Result<Timestamp> {
        if self.is_infinite() {
            return Ok(self);
        }
        checked(self.0.checked_sub(zone.offset_of_local(self) as i64 * MICROS_PER_SECOND))
    }

    /// `make_timestamp`, a local time.
    pub fn make(year: i32, month: i32, day: i32, hour: i32, minute: i32, seconds: f64) -> Result<Timestamp> {
        // Here PostgreSQL shows the year as it was given.
        let date = Date::make(year, month, day).map_err(|e| match e.message().starts_with("date field") {
            true => out_of_range(format!("date field value out of range: {year}-{month:02}-{day:02}")),
            false => e,
        })?;
        let time = Time::make(hour, minute, seconds)?;
        date.at(time).map_err(|_| {
            out_of_range(format!(
                "timestamp out of range: {year}-{month:02}-{day:02} {hour}:{minute:02}:{}",
                seconds_shown(seconds)
            ))
        })
    }
    /// `to_timestamp(double precision)`: seconds since 1970, a moment.
    pub fn from_unix(seconds: f64) -> Result<Timestamp> {
        if seconds.is_nan() {
            return Err(out_of_range("timestamp cannot be NaN"));
        }
        if seconds.is_infinite() {
            return Ok(if seconds > 0.0 { Timestamp::INFINITY } else { Timestamp::NEG_INFINITY });
        }
        let shown = || {
            let mut text = Vec::new();
            crate::float::write(seconds, false, 1, &mut text);
            out_of_range(format!("timestamp out of range: \"{}\"", String::from_utf8_lossy(&text)))
        };
        let micros = ((seconds - 946_684_800.0) * 1e6).round_ties_even();
        if micros.abs() >= 9.3e18 {
            return Err(shown());
        }
        Some(Timestamp(micros as i64)).filter(|t| t.is_valid()).ok_or_else(shown)
    }

    /// `date_bin`: the start of the stretch of length `stride`, counted from `origin`, that holds this time.
    pub fn bin(self, stride: Interval, origin: Timestamp) -> Result<Timestamp> {
        if self.is_infinite() {
            return Ok(self);
        }
        if origin.is_infinite() {
            return Err(out_of_range("origin out of range"));
        }
        if stride.months != 0 {
            return Err(PgError::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                "timestamps cannot be binned into intervals containing months or years",
            ));
        }
        let length = (stride.days as i64)
            .checked_mul(MICROS_PER_DAY)
            .and_then(|d| d.checked_add(stride.micros))
            .ok_or_else(interval_out_of_range)?;
        if length <= 0 {
            return Err(out_of_range("stride must be greater than zero"));
        }
        let since = self.0.checked_sub(origin.0).ok_or_else(interval_out_of_range)?;
        checked(origin.0.checked_add(since.div_euclid(length) * length))
    }
}

/// The zone argument of `AT TIME ZONE interval`.
pub fn interval_zone(i: Interval) -> Result<Zone> {
    if i.months != 0 || i.days != 0 {
        return Err(PgError::new(
            SqlState::INVALID_PARAMETER_VALUE,
            format!("interval time zone \"{}\" must not include months or days", i.to_storage()),
        ));
    }
    Ok(Zone::Offset((i.micros / MICROS_PER_SECOND) as i32))
}

/// Rounded to microseconds of a second, as intermediate results of interval products are.
fn round6(v: f64) -> f64 {
    (v * 1e6).round_ties_even() / 1e6
}

// These return a Result, which the traits of the operators do not allow.
#[allow(clippy::should_implement_trait)]
impl Interval {
    pub fn neg(self) -> Result<Interval> {
        let negated = (|| {
            Some(Interval {
                months: self.months.checked_neg()?,
                days: self.days.checked_neg()?,
                micros: self.micros.checked_neg()?,
            })
        })();
        negated.ok_or_else(interval_out_of_range)
    }
    pub fn add(self, o: Interval) -> Result<Interval> {
        let sum = (|| {
            Some(Interval {
                months: self.months.checked_add(o.months)?,
                days: self.days.checked_add(o.days)?,
                micros: self.micros.checked_add(o.micros)?,
            })
        })();
        sum.ok_or_else(interval_out_of_range)
    }
    pub fn sub(self, o: Interval) -> Result<Interval> {
        let difference = (|| {
            Some(Interval {
                months: self.months.checked_sub(o.months)?,
                days: self.days.checked_sub(o.days)?,
                micros: self.micros.checked_sub(o.micros)?,
            })
        })();
        difference.ok_or_else(interval_out_of_range)
    }

    /// `interval * double precision`
    pub fn mul(self, factor: f64) -> Result<Interval> {
        self.scale(|v| v * factor)
    }
    /// `interval / double precision`; 22012 for zero.
    pub fn div(self, divisor: f64) -> Result<Interval> {
        if divisor == 0.0 {
            return Err(PgError::new(SqlState::DIVISION_BY_ZERO, "division by zero"));
        }
        self.scale(|v| v / divisor)
    }
    /// Scales each part; fractions of months go to days (of 30), fractions of days to time.
    fn scale(self, f: impl Fn(f64) -> f64) -> Result<Interval> {
        let whole = |v: f64| {
            if !(-2_147_483_648.0..2_147_483_648.0).contains(&v) {
                Err(interval_out_of_range())
            } else {
                Ok(v as i32)
            }
        };
        let (months_f, days_f) = (f(self.months as f64), f(self.days as f64));
        let (months, mut days) = (whole(months_f)?, whole(days_f)?);
        let month_days = round6((months_f - months as f64) * 30.0);
        let mut seconds = round6((days_f - days as f64 + month_days - month_days.trunc()) * 86_400.0);
        if seconds.abs() >= 86_400.0 {
            let extra = (seconds / 86_400.0).trunc();
            days = days.checked_add(extra as i32).ok_or_else(interval_out_of_range)?;
            seconds -= extra * 86_400.0;
        }
        days = days.checked_add(month_days as i32).ok_or_else(interval_out_of_range)?;
        let micros = (f(self.micros as f64) + seconds * 1e6).round_ties_even();
        if !(-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&micros) {
            return Err(interval_out_of_range());
        }
        Ok(Interval { months, days, micros: micros as i64 })
    }

    /// `justify_hours`: 24 hours make a day.
    pub fn justify_hours(self) -> Result<Interval> {
        let mut days = self.days as i64 + self.micros / MICROS_PER_DAY;
        let mut micros = self.micros % MICROS_PER_DAY;
        if days > 0 && micros < 0 {
            micros += MICROS_PER_DAY;
            days -= 1;
        } else if days < 0 && micros > 0 {
            micros -= MICROS_PER_DAY;
            days += 1;
        }
        Ok(Interval { months: self.months, days: fit(days)?, micros })
    }
    /// `justify_days`: 30 days make a month.
    pub fn justify_days(self) -> Result<Interval> {
        let mut months = self.months as i64 + (self.days / 30) as i64;
        let mut days = (self.days % 30) as i64;
        if months > 0 && days < 0 {
            days += 30;
            months -= 1;
        } else if months < 0 && days > 0 {
            days -= 30;
            months += 1;
        }
        Ok(Interval { months: fit(months)?, days: days as i32, micros: self.micros })
    }
    /// `justify_interval`: both, and one sign for all parts.
    pub fn justify(self) -> Result<Interval> {
        let mut days = self.days as i64 + self.micros / MICROS_PER_DAY;
        let mut micros = self.micros % MICROS_PER_DAY;
        let mut months = self.months as i64 + days / 30;
        days %= 30;
        if months > 0 && (days < 0 || days == 0 && micros < 0) {
            days += 30;
            months -= 1;
        } else if months < 0 && (days > 0 || days == 0 && micros > 0) {
            days -= 30;
            months += 1;
        }
        if days > 0 && micros < 0 {
            micros += MICROS_PER_DAY;
            days -= 1;
        } else if days < 0 && micros > 0 {
            micros -= MICROS_PER_DAY;
            days += 1;
        }
        Ok(Interval { months: fit(months)?, days: days as i32, micros })
    }

    /// `make_interval`
    pub fn make(
        years: i32,
        months: i32,
        weeks: i32,
        days: i32,
        hours: i32,
        minutes: i32,
        seconds: f64,
    ) -> Result<Interval> {
        if !seconds.is_finite() {
            return Err(interval_out_of_range());
        }
        let micros = hours as i128 * MICROS_PER_HOUR as i128
            + minutes as i128 * MICROS_PER_MINUTE as i128
            + (seconds * 1e6).round_ties_even() as i128;
        Ok(Interval {
            months: fit(years as i64 * 12 + months as i64)?,
            days: fit(weeks as i64 * 7 + days as i64)?,
            micros: i64::try_from(micros).map_err(|_| interval_out_of_range())?,
        })
    }

    /// The cast to `time`: the time of day that is left when days and months are dropped.
    pub fn to_time(self) -> Time {
        Time(self.micros.rem_euclid(MICROS_PER_DAY))
    }
}

fn fit(v: i64) -> Result<i32> {
    i32::try_from(v).map_err(|_| interval_out_of_range())
}
