//! `to_date` and `to_timestamp(text, text)`: a text is read along a template, then the fields are put together.

use super::time_template::{is_delimited, is_separator, is_space, nodes, Calendar, Field, Modifiers, Node};
use super::{Case, DAYS, MONTHS, ROMAN_MONTHS};
use crate::calendar;
use crate::datetime::zone::{self, Abbreviation, Zone};
use crate::datetime::{round_micros, Civil, Date, Timestamp};
use crate::{PgError, Result, Settings, SqlState};

fn invalid(message: impl Into<String>) -> PgError {
    PgError::new(SqlState::INVALID_DATETIME_FORMAT, message)
}
fn field_out_of_range(text: &str) -> PgError {
    PgError::new(SqlState::DATETIME_FIELD_OVERFLOW, format!("date/time field value out of range: \"{text}\""))
}

/// The fields as the text gives them; 0 is "not given" for all of them, as in PostgreSQL.
#[derive(Default)]
struct Given {
    calendar: Option<Calendar>,
    hour: i32,
    afternoon: i32,
    minute: i32,
    second: i32,
    second_of_day: i32,
    /// 1 Sunday … 7 Saturday
    day_of_week: i32,
    day: i32,
    day_of_year: i32,
    month: i32,
    milliseconds: i32,
    year: i32,
    before_christ: i32,
    week: i32,
    week_of_month: i32,
    century: i32,
    julian: i32,
    microseconds: i32,
    /// digits of the year's pattern
    year_size: i32,
    twelve_hours: bool,
    zone_sign: i32,
    zone_hour: i32,
    zone_minute: i32,
    /// an abbreviation; it counts where `zone_sign` is 0
    zone_name: String,
    /// digits of an `FF` pattern; 0 none
    fraction_digits: i32,
}

/// Sets a field; 22007 if it has another value already.
fn set(field: &mut i32, value: i32, pattern: &str) -> Result<()> {
    if *field != 0 && *field != value {
        return Err(invalid(format!("conflicting values for \"{pattern}\" field in formatting string"))
            .detail("This value contradicts a previous setting for the same field type."));
    }
    *field = value;
    Ok(())
}

/// A two-, three- or one-digit year in the years around 2020.
fn around_2020(year: i32) -> i32 {
    match year {
        ..=69 => year.wrapping_add(2000),
        70..=99 => year + 1900,
        100..=519 => year + 2000,
        520..=999 => year + 1000,
        _ => year,
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a [u8] {
        &self.text.as_bytes()[self.at.min(self.text.len())..]
    }
    fn peek(&self) -> Option<u8> {
        self.rest().first().copied()
    }
    fn skip_spaces(&mut self) -> i32 {
        let n = self.rest().iter().take_while(|b| is_space(**b)).count();
        self.at += n;
        n as i32
    }
    /// Over one character.
    fn skip_character(&mut self) {
        if let Some(lead) = self.peek() {
            let length = match lead {
                0xf0.. => 4,
                0xe0.. => 3,
                0xc0.. => 2,
                _ => 1,
            };
            self.at = (self.at + length).min(self.text.len());
        }
    }

    /// A decimal number with blanks and a sign in front, as C's `strtol` reads it: its value (None: too large for 64 bits)
    /// and length in bytes, 0 if there is none.
    fn number(bytes: &[u8]) -> (Option<i64>, usize) {
        let blanks = bytes.iter().take_while(|b| is_space(**b)).count();
        let (negative, signed) = match bytes.get(blanks) {
            Some(b'-') => (true, 1),
            Some(b'+') => (false, 1),
            _ => (false, 0),
        };
        let digits = bytes[blanks + signed..].iter().take_while(|b| b.is_ascii_digit());
        let (mut value, mut length) = (Some(0i64), 0);
        for d in digits {
            crate::work::pulse(1);
            value = value.and_then(|v| v.checked_mul(10)?.checked_add((d - b'0') as i64));
            length += 1;
        }
        if length == 0 {
            return (Some(0), 0);
        }
        (value.map(|v| if negative { -v } else { v }), blanks + signed + length)
    }

    /// A number of at most `length` digits, or of as many as there are where it is delimited. Gives it and the bytes read.
    fn integer(&mut self, length: usize, delimited: bool, pattern: &str) -> Result<(i32, i32)> {
        let start = self.at;
        self.skip_spaces();
        let copy = &self.rest()[..length.min(self.rest().len())];
        let shown = || String::from_utf8_lossy(copy).into_owned();
        let value = if delimited {
            let (value, used) = Self::number(&self.text.as_bytes()[start..]);
            self.at = start + used;
            value
        } else {
            const FIXED: &str = "If your source string is not fixed-width, try using the \"FM\" modifier.";
            let remaining = self.rest().len();
            if remaining < length {
                return Err(invalid(format!("source string too short for \"{pattern}\" formatting field"))
                    .detail(format!("Field requires {length} characters, but only {remaining} remain."))
                    .hint(FIXED));
            }
            let (value, used) = Self::number(copy);
            if used > 0 && used < length {
                return Err(invalid(format!("invalid value \"{}\" for \"{pattern}\"", shown()))
                    .detail(format!("Field requires {length} characters, but only {used} could be parsed."))
                    .hint(FIXED));
            }
            self.at += used;
            value
        };
        if self.at == start {
            return Err(
                invalid(format!("invalid value \"{}\" for \"{pattern}\"", shown())).detail("Value must be an integer.")
            );
        }
        let value = value.and_then(|v| i32::try_from(v).ok()).ok_or_else(|| {
            PgError::new(
                SqlState::DATETIME_FIELD_OVERFLOW,
                format!("value for \"{pattern}\" in source string is out of range"),
            )
            .detail(format!("Value must be in the range {} to {}.", i32::MIN, i32::MAX))
        })?;
        Ok((value, (self.at - start) as i32))
    }

    /// One of some words, letter case aside: its index.
    fn word(&mut self, words: &[&str], pattern: &str) -> Result<i32> {
        let rest = self.rest();
        let fits = |w: &&str| rest.len() >= w.len() && rest[..w.len()].eq_ignore_ascii_case(w.as_bytes());
        let Some(found) = words.iter().position(fits) else {
            let end = rest.iter().position(|b| is_space(*b) && *b != 11).unwrap_or(rest.len());
            return Err(invalid(format!(
                "invalid value \"{}\" for \"{pattern}\"",
                String::from_utf8_lossy(&rest[..end])
            ))
            .detail("The given value did not match any of the allowed values for this field."));
        };
        self.at += words[found].len();
        Ok(found as i32)
    }

    /// The years of `Y,YYY`.
    fn year_with_comma(&mut self) -> Result<i32> {
        let bad = || invalid("invalid input string for \"Y,YYY\"");
        let rest = self.rest();
        let (millennia, used) = Self::number(rest);
        if used == 0 || rest.get(used) != Some(&b',') {
            return Err(bad());
        }
        let after = &rest[used + 1..];
        let blanks = after.iter().take_while(|b| is_space(**b)).count();
        let (years, length) = Self::number(&after[blanks..after.len().min(blanks + 3)]);
        if length == 0 {
            return Err(bad());
        }
        self.at += used + 1 + blanks + length;
        let wrap = |v: Option<i64>| v.unwrap_or(-1) as i32;
        Ok(wrap(years).wrapping_add(wrap(millennia).wrapping_mul(1000)))
    }
}

/// The length of the longest abbreviation of a zone that a text begins with.
fn abbreviation_before(text: &str) -> Option<usize> {
    let letters = text.bytes().take(10).take_while(u8::is_ascii_alphabetic).count();
    (1..=letters).rev().find(|length| zone::abbreviation(&text[..*length]).is_some())
}

/// Reads a text along a template.
fn read(text: &str, template: &str) -> Result<Given> {
    let nodes = nodes(template);
    let mut given = Given::default();
    let mut r = Reader { text, at: 0 };
    let mut exact = false;
    // Characters of the input passed over beyond what the template asked for.
    let mut extra = 0;
    for (i, node) in nodes.iter().enumerate() {
        crate::work::pulse(1);
        if r.peek().is_none() {
            break;
        }
        let pattern = matches!(node, Node::Pattern { .. });
        if !exact && !matches!(node, Node::Pattern { field: Field::Exact, .. }) && (pattern || i == 0) {
            extra += r.skip_spaces();
        }
        match node {
            Node::Space(_) | Node::Separator(_) if exact => r.skip_character(),
            Node::Space(_) | Node::Separator(_) => {
                extra -= 1;
                if r.peek().is_some_and(|b| is_space(b) || is_separator(b)) {
                    r.at += 1;
                    extra += 1;
                }
            }
            // Text need not be the template's; what was passed over before counts for it.
            Node::Character(_) if !exact && extra > 0 => extra -= 1,
            Node::Character(_) => r.skip_character(),
            Node::Pattern { field, name, modifiers } => {
                let calendar = field.calendar();
                if calendar != Calendar::Either {
                    if given.calendar.is_some_and(|c| c != calendar) {
                        return Err(invalid("invalid combination of date conventions")
                            .hint("Do not mix Gregorian and ISO week date conventions in a formatting template."));
                    }
                    given.calendar = Some(calendar);
                }
                let delimited = modifiers.fill || is_delimited(&nodes, i);
                if *field == Field::Exact {
                    exact = true;
                } else {
                    read_field(&mut r, &mut given, *field, name, *modifiers, delimited, extra)?;
                }
                if !exact {
                    extra = r.skip_spaces();
                }
            }
        }
    }
    Ok(given)
}

fn read_field(
    r: &mut Reader,
    g: &mut Given,
    field: Field,
    name: &'static str,
    modifiers: Modifiers,
    delimited: bool,
    extra: i32,
) -> Result<()> {
    let mut ordinal = true;
    match field {
        Field::Meridiem { points, .. } => {
            let words: [&str; 2] = if points { ["a.m.", "p.m."] } else { ["am", "pm"] };
            let value = r.word(&words, name)?;
            set(&mut g.afternoon, value, name)?;
            g.twelve_hours = true;
            ordinal = false;
        }
        Field::Era { points, .. } => {
            let words: [&str; 2] = if points { ["a.d.", "b.c."] } else { ["ad", "bc"] };
            let value = r.word(&words, name)?;
            set(&mut g.before_christ, value, name)?;
            ordinal = false;
        }
        Field::Hour12 => {
            let (value, _) = r.integer(2, delimited, name)?;
            set(&mut g.hour, value, name)?;
            g.twelve_hours = true;
        }
        Field::Hour24 => {
            let (value, _) = r.integer(2, delimited, name)?;
            set(&mut g.hour, value, name)?;
        }
        Field::Millisecond => {
            let (value, read) = r.integer(3, delimited, name)?;
            set(&mut g.milliseconds, value, name)?;
            // The digits are those after the point: 25 is 250 ms.
            g.milliseconds = value.wrapping_mul(10i32.pow((3 - read.clamp(1, 3)) as u32));
        }
        Field::Fraction(_) | Field::Microsecond => {
            let digits = if let Field::Fraction(n) = field {
                g.fraction_digits = n as i32;
                n as usize
            } else {
                6
            };
            let (value, read) = r.integer(digits, delimited, name)?;
            set(&mut g.microseconds, value, name)?;
            g.microseconds = value.wrapping_mul(10i32.pow((6 - read.clamp(1, 6)) as u32));
        }
        Field::ZoneName(_) | Field::Offset | Field::ZoneHour => {
            let rest = &r.text[r.at..];
            let is_name = matches!(field, Field::ZoneName(_));
            match is_name.then(|| abbreviation_before(rest)).flatten() {
                Some(length) => {
                    g.zone_name = rest[..length].to_string();
                    g.zone_sign = 0;
                    r.at += length;
                }
                None if is_name && rest.starts_with(|c: char| c.is_ascii_alphabetic()) => {
                    return Err(invalid(format!("invalid value \"{rest}\" for \"{name}\""))
                        .detail("Time zone abbreviation is not recognized."));
                }
                None => {
                    match r.peek() {
                        Some(sign @ (b'+' | b'-' | b' ')) => {
                            g.zone_sign = if sign == b'-' { -1 } else { 1 };
                            r.at += 1;
                        }
                        // The sign may have been passed over as a separator.
                        _ => {
                            let minus = extra > 0 && r.at > 0 && r.text.as_bytes()[r.at - 1] == b'-';
                            g.zone_sign = if minus { -1 } else { 1 };
                        }
                    }
                    let (value, _) = r.integer(2, delimited, name)?;
                    set(&mut g.zone_hour, value, name)?;
                    if !matches!(field, Field::ZoneHour) && r.peek() == Some(b':') {
                        r.at += 1;
                        let (value, _) = r.integer(2, delimited, name)?;
                        set(&mut g.zone_minute, value, name)?;
                    }
                }
            }
            ordinal = false;
        }
        Field::ZoneMinute => {
            if g.zone_sign == 0 {
                g.zone_sign = 1;
            }
            let (value, _) = r.integer(2, delimited, name)?;
            set(&mut g.zone_minute, value, name)?;
            ordinal = false;
        }
        Field::MonthName { short, .. } => {
            let value = if short { r.word(&MONTHS.map(|m| &m[..3]), name)? } else { r.word(&MONTHS, name)? };
            set(&mut g.month, value + 1, name)?;
            ordinal = false;
        }
        Field::DayName { short, .. } => {
            let value = if short { r.word(&DAYS.map(|d| &d[..3]), name)? } else { r.word(&DAYS, name)? };
            set(&mut g.day_of_week, value, name)?;
            g.day_of_week += 1;
            ordinal = false;
        }
        Field::RomanMonth(_) => {
            let value = r.word(&ROMAN_MONTHS, name)?;
            set(&mut g.month, 12 - value, name)?;
            ordinal = false;
        }
        Field::IsoDayOfWeek => {
            let (value, _) = r.integer(1, delimited, name)?;
            set(&mut g.day_of_week, value, name)?;
            g.day_of_week = g.day_of_week.wrapping_add(1);
            if g.day_of_week > 7 {
                g.day_of_week = 1;
            }
            ordinal = false;
        }
        Field::IsoDayOfYear => {
            let (value, _) = r.integer(3, delimited, name)?;
            set(&mut g.day_of_year, value, name)?;
        }
        Field::YearWithComma => {
            let value = r.year_with_comma()?;
            set(&mut g.year, value, name)?;
            g.year_size = 4;
        }
        Field::Year(digits) | Field::IsoYear(digits) => {
            let (value, read) = r.integer(name.len(), delimited, name)?;
            set(&mut g.year, value, name)?;
            if digits < 4 && read < 4 {
                g.year = around_2020(g.year);
            }
            g.year_size = digits as i32;
        }
        // Nobody can tell the date from it: read and dropped, as in PostgreSQL.
        Field::Quarter => {
            r.integer(1, delimited, name)?;
        }
        Field::Minute => number(r, &mut g.minute, delimited, name)?,
        Field::Second => number(r, &mut g.second, delimited, name)?,
        Field::SecondOfDay => number(r, &mut g.second_of_day, delimited, name)?,
        Field::Month => number(r, &mut g.month, delimited, name)?,
        Field::DayOfYear => number(r, &mut g.day_of_year, delimited, name)?,
        Field::DayOfMonth => number(r, &mut g.day, delimited, name)?,
        Field::DayOfWeek => number(r, &mut g.day_of_week, delimited, name)?,
        Field::Week | Field::IsoWeek => number(r, &mut g.week, delimited, name)?,
        Field::WeekOfMonth => number(r, &mut g.week_of_month, delimited, name)?,
        Field::Century => number(r, &mut g.century, delimited, name)?,
        Field::Julian => number(r, &mut g.julian, delimited, name)?,
        Field::Exact => return Err(PgError::internal("FX is not read")),
    }
    if ordinal && matches!(modifiers.ordinal, Some(Case::Upper | Case::Lower)) {
        r.skip_character();
        r.skip_character();
    }
    Ok(())
}

/// A field as wide as its pattern.
fn number(r: &mut Reader, field: &mut i32, delimited: bool, name: &str) -> Result<()> {
    let (value, _) = r.integer(name.len(), delimited, name)?;
    set(field, value, name)
}

/// Which parts of the date were given, for the check of their range.
#[derive(Default)]
struct Mask {
    year: bool,
    month: bool,
    day: bool,
}

/// The local time that the fields make, with the zone if one was given.
fn assemble(mut g: Given, text: &str) -> Result<(Civil, Option<Zone>)> {
    let mut c = Civil { month: 1, day: 1, ..Civil::default() };
    let mut mask = Mask::default();
    if g.second_of_day != 0 {
        let s = g.second_of_day;
        (c.hour, c.minute, c.second) = (s / 3600, s % 3600 / 60, s % 60);
    }
    for (given, field) in [(g.second, &mut c.second), (g.minute, &mut c.minute), (g.hour, &mut c.hour)] {
        crate::work::pulse(1);
        if given != 0 {
            *field = given;
        }
    }
    if g.twelve_hours {
        if !(1..=12).contains(&c.hour) {
            return Err(invalid(format!("hour \"{}\" is invalid for the 12-hour clock", c.hour))
                .hint("Use the 24-hour clock, or give an hour between 1 and 12."));
        }
        if g.afternoon != 0 && c.hour < 12 {
            c.hour += 12;
        } else if g.afternoon == 0 && c.hour == 12 {
            c.hour = 0;
        }
    }
    let before_christ = g.before_christ != 0;
    if g.year != 0 && g.century != 0 && g.year_size <= 2 {
        // The last digits of a year within a century: the 21st is 2001 to 2100, the 6th BC 600 to 501.
        let century = if before_christ { g.century.wrapping_neg() } else { g.century };
        let hundreds = |n: i32| n.wrapping_mul(100);
        let last = g.year % 100;
        c.year = match (last != 0, century >= 0) {
            (true, true) => last.wrapping_add(hundreds(century - 1)),
            (true, false) => hundreds(century + 1).wrapping_sub(last).wrapping_add(1),
            (false, true) => hundreds(century),
            (false, false) => hundreds(century).wrapping_add(1),
        };
        mask.year = true;
    } else if g.year != 0 {
        c.year = if before_christ { g.year.wrapping_neg() } else { g.year };
        if c.year < 0 {
            c.year += 1;
        }
        mask.year = true;
    } else if g.century != 0 {
        let century = if before_christ { g.century.wrapping_neg() } else { g.century };
        c.year = if century >= 0 { (century - 1).wrapping_mul(100) } else { century.wrapping_mul(100) }.wrapping_add(1);
        mask.year = true;
    }
    let whole_date = |c: &mut Civil, mask: &mut Mask, days: i32| {
        (c.year, c.month, c.day) = calendar::civil(days);
        *mask = Mask { year: true, month: true, day: true };
    };
    if g.julian != 0 {
        whole_date(&mut c, &mut mask, g.julian.wrapping_sub(calendar::EPOCH_JULIAN));
    }
    let iso = g.calendar == Some(Calendar::IsoWeek);
    if g.week != 0 {
        if iso {
            let monday = checked_week(c.year, g.week, text)?;
            let past = match g.day_of_week {
                0 => 0,
                d if d > 1 => d - 2,
                _ => 6,
            };
            whole_date(&mut c, &mut mask, monday.wrapping_add(past));
        } else {
            g.day_of_year = (g.week.wrapping_sub(1)).wrapping_mul(7).wrapping_add(1);
        }
    }
    if g.week_of_month != 0 {
        g.day = (g.week_of_month.wrapping_sub(1)).wrapping_mul(7).wrapping_add(1);
    }
    if g.day != 0 {
        c.day = g.day;
        mask.day = true;
    }
    if g.month != 0 {
        c.month = g.month;
        mask.month = true;
    }
    if g.day_of_year != 0 && (c.month <= 1 || c.day <= 1) {
        if c.year == 0 && !before_christ {
            return Err(invalid("cannot calculate day of year without year information"));
        }
        if iso {
            let first = checked_week(c.year, 1, text)?;
            whole_date(&mut c, &mut mask, first.wrapping_add(g.day_of_year).wrapping_sub(1));
        } else {
            let (mut month, mut before) = (1, 0);
            while month <= 12 && g.day_of_year > before + calendar::days_in_month(c.year, month) {
                crate::work::pulse(1);
                before += calendar::days_in_month(c.year, month);
                month += 1;
            }
            if c.month <= 1 {
                c.month = month;
            }
            if c.day <= 1 {
                // Past the year's end the month is 13, which the check below refuses.
                c.day = g.day_of_year.wrapping_sub(before);
            }
            (mask.month, mask.day) = (true, true);
        }
    }
    c.micros = g.milliseconds.wrapping_mul(1000).wrapping_add(g.microseconds);
    let bad_month = mask.month && !(1..=12).contains(&c.month);
    let bad_day = mask.day && !(1..=31).contains(&c.day);
    if bad_month || bad_day {
        return Err(field_out_of_range(text));
    }
    if mask.year && mask.month && mask.day && c.day > calendar::days_in_month(c.year, c.month) {
        return Err(field_out_of_range(text));
    }
    let clock = (0..24).contains(&c.hour) && (0..60).contains(&c.minute) && (0..60).contains(&c.second);
    if !clock || !(0..1_000_000).contains(&c.micros) {
        return Err(field_out_of_range(text));
    }
    let zone = match g.zone_sign {
        0 => match zone::abbreviation(&g.zone_name) {
            Some(Abbreviation::Fixed(seconds, _)) => Some(Zone::Offset(seconds)),
            Some(Abbreviation::Dynamic(of)) => zone::by_name(of).map(|of| Zone::Abbreviation(of, g.zone_name)),
            None => None,
        },
        sign => {
            if !(0..=15).contains(&g.zone_hour) || !(0..60).contains(&g.zone_minute) {
                return Err(PgError::new(
                    SqlState::INVALID_TIME_ZONE_DISPLACEMENT_VALUE,
                    format!("time zone displacement out of range: \"{text}\""),
                ));
            }
            Some(Zone::Offset(sign * (g.zone_hour * 3600 + g.zone_minute * 60)))
        }
    };
    Ok((c, zone))
}

/// The Monday of an ISO week; 22008 where the year is beyond every calendar.
fn checked_week(year: i32, week: i32, text: &str) -> Result<i32> {
    if year.unsigned_abs() > 5_900_000 || week.unsigned_abs() > 1_000_000 {
        return Err(field_out_of_range(text));
    }
    Ok(calendar::iso_week_start(year, week))
}

/// `to_timestamp(text, template)`: the moment, read in the session's time zone unless the text gives an offset.
/// Errors: 22007, 22008, 22009.
pub fn timestamptz(text: &str, template: &str, settings: &Settings) -> Result<Timestamp> {
    let given = read(text, template)?;
    let digits = given.fraction_digits;
    let (civil, zone) = assemble(given, text)?;
    let out_of_range = || PgError::new(SqlState::DATETIME_FIELD_OVERFLOW, "timestamp out of range");
    let local = civil.timestamp().ok_or_else(out_of_range)?;
    let zone = zone.unwrap_or_else(|| Zone::Rules(settings.time_zone.clone()));
    let t = local.to_utc(&zone)?;
    Ok(if digits > 0 { Timestamp(round_micros(t.0, digits)) } else { t })
}

/// `to_date(text, template)`. Errors: 22007, 22008.
pub fn date(text: &str, template: &str) -> Result<Date> {
    let (c, _) = assemble(read(text, template)?, text)?;
    let out_of_range = || PgError::new(SqlState::DATETIME_FIELD_OVERFLOW, format!("date out of range: \"{text}\""));
    if !calendar::is_valid_year_month(c.year, c.month) {
        return Err(out_of_range());
    }
    let date = Date(calendar::days(c.year, c.month, c.day));
    date.is_valid().then_some(date).ok_or_else(out_of_range)
}
