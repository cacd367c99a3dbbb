//! Time zones that a rule describes (`EST5EDT,M3.2.0,M11.1.0`, `<+03>-3`), as PostgreSQL reads them: it takes much that POSIX does
//! not, so that `1.0` is a zone too (manual, B.5; the names of the parts are those of the IANA time zone code).

use crate::calendar;

const HOUR: i64 = 3600;
const DAY: i64 = 24 * HOUR;
/// When daylight-saving time begins and ends in a rule that does not say it.
const DEFAULT_RULES: &str = ",M3.2.0,M11.1.0";
/// A number of hours is less than a week.
const MOST_HOURS: i64 = 24 * 7 - 1;

/// One of the two times that a zone has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Period {
    pub abbreviation: String,
    /// seconds east of UTC
    pub offset: i32,
    pub dst: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Day {
    /// `Jn`: 1 … 365, without the leap day
    Julian(i64),
    /// `n`: 0 … 365
    OfYear(i64),
    /// `Mm.w.d`: the week 5 is the last one
    OfMonth { month: i64, week: i64, day: i64 },
}

/// When one of the two changes takes place: a day, and the seconds after its midnight in the time before the change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Change {
    day: Day,
    time: i64,
}

/// A zone of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PosixZone {
    standard: Period,
    /// daylight-saving time, its beginning and its end
    summer: Option<(Period, Change, Change)>,
}

/// Reads the parts of a rule.
struct Rule<'a> {
    rest: &'a str,
}

impl<'a> Rule<'a> {
    fn next(&self) -> Option<u8> {
        self.rest.bytes().next()
    }

    fn takes(&mut self, c: char) -> bool {
        self.rest.strip_prefix(c).inspect(|rest| self.rest = rest).is_some()
    }

    /// An abbreviation: in angle brackets, or what comes before a digit, a comma or a sign.
    fn abbreviation(&mut self) -> Option<&'a str> {
        if self.takes('<') {
            let (name, rest) = self.rest.split_once('>')?;
            self.rest = rest;
            return Some(name);
        }
        let end =
            self.rest.find(|c: char| c.is_ascii_digit() || matches!(c, ',' | '-' | '+')).unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(end);
        self.rest = rest;
        Some(name)
    }

    fn number(&mut self, least: i64, most: i64) -> Option<i64> {
        let end = self.rest.bytes().position(|b| !b.is_ascii_digit()).unwrap_or(self.rest.len());
        let (digits, rest) = self.rest.split_at(end);
        // (zeros may precede a number in any amount)
        let digits = digits.trim_start_matches('0');
        let value = match digits.len() {
            0 if end > 0 => 0,
            1..=4 => digits.parse().ok()?,
            _ => return None,
        };
        self.rest = rest;
        (least..=most).contains(&value).then_some(value)
    }

    /// Seconds of `[±]hh[:mm[:ss]]`.
    fn seconds(&mut self) -> Option<i64> {
        let negative = self.takes('-');
        if !negative {
            self.takes('+');
        }
        let mut seconds = self.number(0, MOST_HOURS)? * HOUR;
        if self.takes(':') {
            seconds += self.number(0, 59)? * 60;
            if self.takes(':') {
                seconds += self.number(0, 60)?;
            }
        }
        Some(if negative { -seconds } else { seconds })
    }

    fn change(&mut self) -> Option<Change> {
        let day = match self.next()? {
            b'J' => {
                self.rest = &self.rest[1..];
                Day::Julian(self.number(1, 365)?)
            }
            b'M' => {
                self.rest = &self.rest[1..];
                let month = self.number(1, 12)?;
                let week = self.takes('.').then(|| self.number(1, 5))??;
                let day = self.takes('.').then(|| self.number(0, 6))??;
                Day::OfMonth { month, week, day }
            }
            b if b.is_ascii_digit() => Day::OfYear(self.number(0, 365)?),
            _ => return None,
        };
        let time = if self.takes('/') { self.seconds()? } else { 2 * HOUR };
        Some(Change { day, time })
    }
}

impl Change {
    /// Seconds from 2000-01-01 UTC to the change in a year, before which the clocks show `offset` seconds east of UTC.
    fn at(self, year: i32, offset: i32) -> i64 {
        let first = i64::from(calendar::days(year, 1, 1));
        let day = match self.day {
            Day::Julian(n) => first + n - 1 + i64::from(calendar::is_leap(year) && n >= 60),
            Day::OfYear(n) => first + n,
            Day::OfMonth { month, week, day } => {
                let month = month as i32;
                let begin = calendar::days(year, month, 1);
                let to_weekday = (day - i64::from(calendar::day_of_week(begin))).rem_euclid(7);
                let mut within = to_weekday + (week - 1) * 7;
                if within >= i64::from(calendar::days_in_month(year, month)) {
                    within -= 7;
                }
                i64::from(begin) + within
            }
        };
        day * DAY + self.time - i64::from(offset)
    }
}

impl PosixZone {
    /// Reads a rule, whose letters are in upper case; None: it is none.
    pub fn parse(text: &str) -> Option<PosixZone> {
        let mut rule = Rule { rest: text };
        let name = rule.abbreviation()?;
        // (a rule counts west of UTC)
        let west = rule.seconds()?;
        let standard = Period { abbreviation: name.to_string(), offset: -west as i32, dst: false };
        if rule.rest.is_empty() {
            return Some(PosixZone { standard, summer: None });
        }
        let name = rule.abbreviation().filter(|name| !name.is_empty())?;
        let west = match rule.next() {
            None | Some(b',' | b';') => west - HOUR,
            Some(_) => rule.seconds()?,
        };
        if rule.rest.is_empty() {
            rule.rest = DEFAULT_RULES;
        }
        if !rule.takes(',') && !rule.takes(';') {
            return None;
        }
        let start = rule.change()?;
        let end = rule.takes(',').then(|| rule.change())??;
        if !rule.rest.is_empty() {
            return None;
        }
        let summer = Period { abbreviation: name.to_string(), offset: -west as i32, dst: true };
        // no year in which standard time comes back: daylight-saving time all the time
        let zone = PosixZone { standard, summer: Some((summer.clone(), start, end)) };
        Some(match (1999..2028).any(|year| zone.changes_of(year).is_some()) {
            true => zone,
            false => PosixZone { standard: summer, summer: None },
        })
    }

    /// A zone that has one offset, named as PostgreSQL names one that is given as a number: also returns that name.
    pub fn fixed(offset: i32) -> (PosixZone, String) {
        let west = i64::from(offset.unsigned_abs());
        let mut shown = format!("{:02}", west / HOUR);
        let (minutes, seconds) = (west / 60 % 60, west % 60);
        if minutes != 0 || seconds != 0 {
            shown += &format!(":{minutes:02}");
        }
        if seconds != 0 {
            shown += &format!(":{seconds:02}");
        }
        let (east, sign) = if offset < 0 { ('-', '+') } else { ('+', '-') };
        let abbreviation = format!("{east}{shown}");
        let name = format!("<{abbreviation}>{sign}{shown}");
        (PosixZone { standard: Period { abbreviation, offset, dst: false }, summer: None }, name)
    }

    /// The seconds from 2000-01-01 UTC to the two changes of a year, in order, each with whether daylight-saving time begins;
    /// None: it has none.
    fn changes_of(&self, year: i32) -> Option<[(i64, bool); 2]> {
        let (summer, start, end) = self.summer.as_ref()?;
        let start = start.at(year, self.standard.offset);
        let end = end.at(year, summer.offset);
        if end < start {
            return Some([(end, false), (start, true)]);
        }
        let length = DAY * if calendar::is_leap(year) { 366 } else { 365 };
        let all = length + i64::from(summer.offset) - i64::from(self.standard.offset);
        (start < end && end - start < all).then_some([(start, true), (end, false)])
    }

    /// The changes of the years around a moment (seconds from 2000-01-01 UTC), year by year, and how many of them come before what is
    /// in force. Those of a year count after those of the year before, also where they are earlier.
    fn changes_around(&self, seconds: i64) -> (Vec<(i64, bool)>, usize) {
        let (year, ..) = calendar::civil(seconds.div_euclid(DAY) as i32);
        let changes: Vec<(i64, bool)> =
            (year - 3..=year + 3).filter_map(|year| self.changes_of(year)).flatten().collect();
        let passed = changes.iter().rposition(|(at, _)| *at <= seconds).map_or(0, |last| last + 1);
        (changes, passed)
    }

    fn period(&self, dst: bool) -> &Period {
        match &self.summer {
            Some((summer, ..)) if dst => summer,
            _ => &self.standard,
        }
    }

    /// What the clocks show at a moment, in seconds since 2000-01-01 00:00 UTC.
    pub fn at(&self, seconds: i64) -> &Period {
        if self.summer.is_none() {
            return &self.standard;
        }
        let (changes, passed) = self.changes_around(seconds);
        self.period(passed.checked_sub(1).is_some_and(|last| changes[last].1))
    }

    /// Seconds east of UTC at a local time (in seconds since 2000-01-01 00:00): as the offsets before and after the change that comes first in the day before it and
    /// later say; where they disagree the earlier reading of the clock counts for a gap, the later one for an hour that comes twice.
    pub fn offset_of_local(&self, local: i64) -> i32 {
        if self.summer.is_none() {
            return self.standard.offset;
        }
        let yesterday = local - DAY;
        let (changes, passed) = self.changes_around(yesterday);
        let Some(&(boundary, after)) = changes.get(passed) else { return self.standard.offset };
        let before = passed.checked_sub(1).is_some_and(|last| changes[last].1);
        let (before, after) = (self.period(before).offset, self.period(after).offset);
        let (before_time, after_time) = (local - i64::from(before), local - i64::from(after));
        if before_time < boundary && after_time < boundary {
            before
        } else if before_time > boundary && after_time >= boundary {
            after
        } else if before_time > after_time {
            before
        } else {
            after
        }
    }

    /// The offset, if there is one only.
    pub fn only_offset(&self) -> Option<i32> {
        match &self.summer {
            Some((summer, ..)) if summer.offset != self.standard.offset => None,
            _ => Some(self.standard.offset),
        }
    }
}
