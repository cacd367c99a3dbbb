//! `to_char` of timestamps and intervals.

use super::time_template::{nodes, Field, Node};
use super::{ordinal, Case, DAYS, MONTHS, ROMAN_MONTHS};
use crate::calendar;
use crate::datetime::{zone, Civil, Interval, Timestamp};
use crate::datetime::{MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND};
use crate::time_zone::TimeZone;
use crate::{PgError, Result, SqlState};

/// What the patterns can ask of a value.
struct Parts {
    /// astronomical for a date: 0 is 1 BC
    year: i64,
    month: i64,
    day: i64,
    hour: i64,
    minute: i64,
    second: i64,
    micros: i64,
    /// day of the year; of an interval its length in days
    day_of_year: i64,
    /// None: an interval, which has no date
    date: Option<i32>,
    /// seconds east of UTC, and the zone's abbreviation
    offset: i32,
    zone: Option<String>,
}

impl Parts {
    fn of_timestamp(local: Timestamp, offset: i32, zone: Option<String>) -> Parts {
        let c = Civil::of(local);
        Parts {
            year: c.year as i64,
            month: c.month as i64,
            day: c.day as i64,
            hour: c.hour as i64,
            minute: c.minute as i64,
            second: c.second as i64,
            micros: c.micros as i64,
            day_of_year: calendar::day_of_year(c.year, c.month, c.day) as i64,
            date: Some(local.split().0),
            offset,
            zone,
        }
    }

    fn of_interval(i: Interval) -> Parts {
        let (year, month, day) = ((i.months / 12) as i64, (i.months % 12) as i64, i.days as i64);
        Parts {
            year,
            month,
            day,
            hour: i.micros / MICROS_PER_HOUR,
            minute: i.micros % MICROS_PER_HOUR / MICROS_PER_MINUTE,
            second: i.micros % MICROS_PER_MINUTE / MICROS_PER_SECOND,
            micros: i.micros % MICROS_PER_SECOND,
            day_of_year: (year * 12 + month) * 30 + day,
            date: None,
            offset: 0,
            zone: None,
        }
    }

    /// Days since 2000 of a date; 22007 for an interval.
    fn date(&self) -> Result<i32> {
        self.date.ok_or_else(|| {
            PgError::new(SqlState::INVALID_DATETIME_FORMAT, "invalid format specification for an interval value")
                .hint("Intervals are not tied to specific calendar dates.")
        })
    }

    /// The year as it is written: those before 1 AD are counted from 1 up.
    fn shown_year(&self, year: i64) -> i64 {
        if self.date.is_some() && year <= 0 {
            1 - year
        } else {
            year
        }
    }

    /// The day that a Julian day number shows. An interval's fields are taken as a date, as PostgreSQL does.
    fn julian_date(&self) -> i32 {
        let of_fields = || {
            let julian = calendar::julian_of_fields(self.year as i32, self.month as i32, self.day as i32);
            julian.wrapping_sub(calendar::EPOCH_JULIAN)
        };
        self.date.unwrap_or_else(of_fields)
    }

    /// The ISO year, the week, and the day of that year.
    fn week_date(&self) -> WeekDate {
        match self.date {
            Some(days) => {
                let (year, week) = calendar::iso_week(days);
                WeekDate { year, week, day: days - calendar::iso_week_start(year, 1) + 1 }
            }
            None => WeekDate::of_fields(self.year as i32, self.month as i32, self.day as i32),
        }
    }
}

/// A date by weeks.
struct WeekDate {
    year: i32,
    week: i32,
    /// of the year
    day: i32,
}

impl WeekDate {
    /// That of an interval's fields, which need not be a date: PostgreSQL looks for it in the neighbouring years only, and runs over.
    fn of_fields(year: i32, month: i32, day: i32) -> WeekDate {
        // the Monday of a year's first week
        let start = |year: i32| {
            let january_4 = calendar::julian_of_fields(year, 1, 4);
            january_4.wrapping_sub(january_4.wrapping_rem(7).rem_euclid(7))
        };
        let own = calendar::julian_of_fields(year, month, day);
        let week = |start: i32| own.wrapping_sub(start) / 7 + 1;
        let mut found = WeekDate { year, week: week(start(year)), day: 0 };
        if own < start(year) {
            found = WeekDate { year: year - 1, week: week(start(year - 1)), day: 0 };
        }
        if found.week >= 52 && own >= start(year + 1) {
            // (one year after the interval's own for the week, and one after the year that was found)
            found.week = week(start(year + 1));
            found.year += 1;
        }
        found.day = own.wrapping_sub(start(found.year)).wrapping_add(1);
        found
    }
}

/// `to_char(timestamp, template)`; None (NULL) for an infinity or an empty template.
pub fn timestamp(t: Timestamp, template: &str) -> Result<Option<String>> {
    if t.is_infinite() || template.is_empty() {
        return Ok(None);
    }
    write(&Parts::of_timestamp(t, 0, None), template).map(Some)
}

/// `to_char(timestamptz, template)` in a time zone; None (NULL) for an infinity or an empty template.
pub fn timestamptz(t: Timestamp, template: &str, zone: &TimeZone) -> Result<Option<String>> {
    if t.is_infinite() || template.is_empty() {
        return Ok(None);
    }
    let (offset, name) = zone::offset_and_name(zone, t);
    write(&Parts::of_timestamp(zone::to_local(zone, t), offset, Some(name)), template).map(Some)
}

/// `to_char(interval, template)`; None (NULL) for an empty template. 22007 for patterns that need a date.
pub fn interval(i: Interval, template: &str) -> Result<Option<String>> {
    if template.is_empty() {
        return Ok(None);
    }
    write(&Parts::of_interval(i), template).map(Some)
}

fn write(parts: &Parts, template: &str) -> Result<String> {
    let mut out = String::new();
    for node in nodes(template) {
        crate::work::pulse(1);
        match node {
            Node::Separator(c) | Node::Space(c) | Node::Character(c) => out.push_str(c),
            Node::Pattern { field, modifiers, .. } => {
                let (text, number) = value(parts, field, modifiers.fill, modifiers.translated)?;
                out.push_str(&text);
                if let Some(case) = modifiers.ordinal.filter(|_| number) {
                    // PostgreSQL looks at all that was written so far of this field only.
                    out.push_str(&case.of(ordinal(text.as_bytes())?));
                }
            }
        }
    }
    Ok(out)
}

/// What a pattern gives, and whether it is a number that may have an ordinal suffix.
fn value(p: &Parts, field: Field, fill: bool, translated: bool) -> Result<(String, bool)> {
    // Zero-padded; a negative number has one place more.
    let padded = |n: i64, width: usize| {
        let width = if fill { 0 } else { width + (n < 0) as usize };
        (format!("{n:0width$}"), true)
    };
    // Padded by the sign of the field rather than of what is written.
    let by = |n: i64, width: usize, negative: bool| {
        let width = if fill { 0 } else { width + negative as usize };
        (format!("{n:0width$}"), true)
    };
    let word = |text: String, width: usize| {
        let width = if fill || translated { 0 } else { width };
        (format!("{text:<width$}"), false)
    };
    let plain = |n: i64| (n.to_string(), true);
    Ok(match field {
        Field::Meridiem { points, case } => {
            let name = match (p.hour % 24 >= 12, points) {
                (true, true) => "P.M.",
                (true, false) => "PM",
                (false, true) => "A.M.",
                (false, false) => "AM",
            };
            (case.of(name), false)
        }
        Field::Era { points, case } => {
            p.date()?;
            let name = match (p.year <= 0, points) {
                (true, true) => "B.C.",
                (true, false) => "BC",
                (false, true) => "A.D.",
                (false, false) => "AD",
            };
            (case.of(name), false)
        }
        Field::Hour12 => by(if p.hour % 12 == 0 { 12 } else { p.hour % 12 }, 2, p.hour < 0),
        Field::Hour24 => padded(p.hour, 2),
        Field::Minute => padded(p.minute, 2),
        Field::Second => padded(p.second, 2),
        Field::Millisecond => (format!("{:03}", p.micros / 1000), true),
        Field::Microsecond => (format!("{:06}", p.micros), true),
        Field::Fraction(n) => (format!("{:0width$}", p.micros / 10i64.pow(6 - n as u32), width = n as usize), true),
        Field::SecondOfDay => plain(p.hour * 3600 + p.minute * 60 + p.second),
        Field::ZoneName(case) => {
            p.date()?;
            let name = p.zone.clone().unwrap_or_default();
            (if case == Case::Lower { name.to_ascii_lowercase() } else { name }, false)
        }
        Field::ZoneHour => {
            p.date()?;
            (format!("{}{:02}", sign(p.offset), p.offset.abs() / 3600), false)
        }
        Field::ZoneMinute => {
            p.date()?;
            (format!("{:02}", p.offset.abs() % 3600 / 60), false)
        }
        Field::Offset => {
            p.date()?;
            let (hours, rest) = (p.offset.abs() / 3600, p.offset.abs() % 3600);
            let width = if fill { 0 } else { 2 };
            let mut text = format!("{}{hours:0width$}", sign(p.offset));
            if rest != 0 {
                text += &format!(":{:02}", rest / 60);
            }
            (text, false)
        }
        Field::MonthName { short, case } => {
            p.date()?;
            let name = MONTHS[(p.month.clamp(1, 12) - 1) as usize];
            if short {
                (case.of(&name[..3]), false)
            } else {
                word(case.of(name), 9)
            }
        }
        Field::DayName { short, case } => {
            let name = DAYS[calendar::day_of_week(p.date()?).clamp(0, 6) as usize];
            if short {
                (case.of(&name[..3]), false)
            } else {
                word(case.of(name), 9)
            }
        }
        Field::Month => padded(p.month, 2),
        Field::RomanMonth(case) => {
            // An interval of whole years counts as December.
            let at = match p.month {
                0 if p.year == 0 => return Ok((String::new(), false)),
                0 if p.year > 0 => 0,
                0 => 11,
                m if m < 0 => -(m + 1),
                m => 12 - m,
            };
            let width = if fill { 0 } else { 4 };
            (format!("{:<width$}", case.of(ROMAN_MONTHS[at.clamp(0, 11) as usize])), false)
        }
        Field::DayOfYear => by(p.day_of_year, 3, false),
        Field::IsoDayOfYear => by(p.week_date().day as i64, 3, false),
        Field::DayOfMonth => by(p.day, 2, false),
        Field::DayOfWeek => plain(calendar::day_of_week(p.date()?) as i64 + 1),
        Field::IsoDayOfWeek => plain((calendar::day_of_week(p.date()?) as i64 + 6) % 7 + 1),
        Field::Week => by((p.day_of_year - 1) / 7 + 1, 2, false),
        Field::IsoWeek => by(p.week_date().week as i64, 2, false),
        Field::Quarter if p.month == 0 => (String::new(), false),
        Field::Quarter => plain((p.month - 1) / 3 + 1),
        Field::Century => {
            let century = match p.date {
                None => p.year / 100,
                Some(_) if p.year > 0 => (p.year - 1) / 100 + 1,
                Some(_) => p.year / 100 - 1,
            };
            if century.abs() <= 99 {
                padded(century, 2)
            } else {
                plain(century)
            }
        }
        Field::YearWithComma => {
            let year = p.shown_year(p.year);
            (format!("{},{:03}", year / 1000, year - year / 1000 * 1000), true)
        }
        Field::Year(digits) => year_digits(p.shown_year(p.year), digits, fill, p.shown_year(p.year) < 0),
        // PostgreSQL makes room for the sign of the calendar's year.
        Field::IsoYear(digits) => {
            year_digits(p.shown_year(p.week_date().year as i64), digits, fill, p.shown_year(p.year) < 0)
        }
        Field::WeekOfMonth => plain((p.day - 1) / 7 + 1),
        Field::Julian => plain(p.julian_date().wrapping_add(calendar::EPOCH_JULIAN) as i64),
        Field::Exact => (String::new(), false),
    })
}

/// The last digits of a year (4: all of it), zero-padded.
fn year_digits(year: i64, digits: u8, fill: bool, negative: bool) -> (String, bool) {
    let shown = if digits == 4 { year } else { year % 10i64.pow(digits as u32) };
    let width = match (fill, digits) {
        (true, _) | (_, 1) => 0,
        _ => digits as usize + negative as usize,
    };
    (format!("{shown:0width$}"), true)
}

fn sign(offset: i32) -> char {
    if offset >= 0 {
        '+'
    } else {
        '-'
    }
}
