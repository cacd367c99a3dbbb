//! `.datetime()`: dates and times as items of a path. A template is read as the SQL standard has it: what it says must be there,
//! character by character.

use crate::calendar;
use crate::datetime::zone::{self, Zone};
use crate::datetime::{storage, Date, Time, TimeTz, Timestamp, MICROS_PER_SECOND};
use crate::work;
use crate::{PgError, Result, Settings, SqlState};
use std::cmp::Ordering;

/// A date or a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    Date(Date),
    Time(Time),
    TimeTz(TimeTz),
    Timestamp(Timestamp),
    /// the moment, and the offset that it was given with (seconds east of UTC)
    TimestampTz(Timestamp, i32),
}

impl Moment {
    /// What `.type()` says.
    pub fn type_name(self) -> &'static str {
        match self {
            Moment::Date(_) => "date",
            Moment::Time(_) => "time without time zone",
            Moment::TimeTz(_) => "time with time zone",
            Moment::Timestamp(_) => "timestamp without time zone",
            Moment::TimestampTz(..) => "timestamp with time zone",
        }
    }

    /// As JSON shows it: ISO 8601.
    pub fn to_text(self) -> String {
        let mut out = Vec::new();
        let offset = |seconds: i32, out: &mut Vec<u8>| {
            out.push(if seconds < 0 { b'-' } else { b'+' });
            let (hours, minutes) = (seconds.abs() / 3600, seconds.abs() / 60 % 60);
            out.extend_from_slice(format!("{hours:02}:{minutes:02}").as_bytes());
        };
        let at = |t: Timestamp, out: &mut Vec<u8>| {
            let begin = out.len();
            storage::write_timestamp(t, out);
            if let Some(blank) = out[begin..].iter().position(|b| *b == b' ') {
                out[begin + blank] = b'T';
            }
        };
        match self {
            Moment::Date(date) => storage::write_date(date, &mut out),
            Moment::Time(time) => storage::write_time(time, &mut out),
            Moment::TimeTz(t) => {
                storage::write_time(Time(t.micros), &mut out);
                offset(t.offset, &mut out);
            }
            Moment::Timestamp(t) => at(t, &mut out),
            Moment::TimestampTz(t, east) => {
                at(Timestamp(t.0 + i64::from(east) * MICROS_PER_SECOND), &mut out);
                offset(east, &mut out);
            }
        }
        String::from_utf8(out).expect("digits are ASCII")
    }

    /// The order of two moments; None: a date and a time have none. `zone`: what times without a zone are taken in; without it
    /// they cannot be compared with those that have one (0A000).
    pub fn compare(self, other: Moment, zone: Option<&Settings>) -> Result<Option<Ordering>> {
        use Moment as M;
        let needs_zone = |from: &str, to: &str| {
            zone.ok_or_else(|| {
                PgError::new(
                    SqlState::FEATURE_NOT_SUPPORTED,
                    format!("cannot convert value from {from} to {to} without time zone usage"),
                )
                .hint("Use *_tz() function for time zone support.")
            })
        };
        let midnight = |date: Date| Timestamp(i64::from(date.0) * 86_400 * MICROS_PER_SECOND);
        let in_zone = |t: Timestamp, settings: &Settings| t.to_utc(&Zone::Rules(settings.time_zone.clone()));
        Ok(Some(match (self, other) {
            (M::Date(a), M::Date(b)) => a.cmp(&b),
            (M::Date(a), M::Timestamp(b)) => midnight(a).cmp(&b),
            (M::Timestamp(a), M::Date(b)) => a.cmp(&midnight(b)),
            (M::Timestamp(a), M::Timestamp(b)) => a.cmp(&b),
            (M::Date(a), M::TimestampTz(b, _)) => in_zone(midnight(a), needs_zone("date", "timestamptz")?)?.cmp(&b),
            (M::TimestampTz(a, _), M::Date(b)) => a.cmp(&in_zone(midnight(b), needs_zone("date", "timestamptz")?)?),
            (M::Timestamp(a), M::TimestampTz(b, _)) => in_zone(a, needs_zone("timestamp", "timestamptz")?)?.cmp(&b),
            (M::TimestampTz(a, _), M::Timestamp(b)) => a.cmp(&in_zone(b, needs_zone("timestamp", "timestamptz")?)?),
            (M::TimestampTz(a, _), M::TimestampTz(b, _)) => a.cmp(&b),
            (M::Time(a), M::Time(b)) => a.cmp(&b),
            (M::Time(a), M::TimeTz(b)) => today(a, needs_zone("time", "timetz")?).cmp(&b),
            (M::TimeTz(a), M::Time(b)) => a.cmp(&today(b, needs_zone("time", "timetz")?)),
            (M::TimeTz(a), M::TimeTz(b)) => a.cmp(&b),
            _ => return Ok(None),
        }))
    }
}

/// A time of day in the session's zone, as it is today.
pub(crate) fn today(time: Time, settings: &Settings) -> TimeTz {
    let since_1970 = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let now = Timestamp(since_1970.as_micros() as i64 - crate::datetime::UNIX_EPOCH_MICROS);
    TimeTz { micros: time.0, offset: zone::offset_at(&settings.time_zone, now) }
}

fn invalid(message: impl Into<String>) -> PgError {
    PgError::new(SqlState::INVALID_DATETIME_FORMAT, message)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Year,
    Month,
    Day,
    Hour,
    Minute,
    Second,
    Milliseconds,
    Microseconds,
    ZoneHour,
    ZoneMinute,
}

enum Part {
    Field(Field, &'static str),
    /// a character outside quotes; those must be there, too
    Separator(char),
    Literal(char),
}

const FIELDS: [(&str, Field); 10] = [
    ("YYYY", Field::Year),
    ("MM", Field::Month),
    ("DD", Field::Day),
    ("HH24", Field::Hour),
    ("MI", Field::Minute),
    ("SS", Field::Second),
    ("MS", Field::Milliseconds),
    ("US", Field::Microseconds),
    ("TZH", Field::ZoneHour),
    ("TZM", Field::ZoneMinute),
];

/// What else templates have: told apart from what is no field at all.
const OTHERS: [&str; 42] = [
    "A.D.", "A.M.", "AD", "AM", "B.C.", "BC", "CC", "DAY", "DDD", "DY", "D", "FF1", "FF2", "FF3", "FF4", "FF5", "FF6",
    "FX", "HH12", "HH", "IDDD", "ID", "IW", "IYYY", "IYY", "IY", "I", "J", "MONTH", "MON", "OF", "P.M.", "PM", "Q",
    "RM", "SSSSS", "SSSS", "TZ", "WW", "W", "Y", "FM",
];

fn template_parts(template: &str) -> Result<Vec<Part>> {
    let mut parts = Vec::new();
    let mut rest = template;
    while let Some(first) = rest.chars().next() {
        work::pulse(1);
        let begins = |word: &str| rest.get(..word.len()).is_some_and(|r| r.eq_ignore_ascii_case(word));
        let longest_other = OTHERS.iter().filter(|w| begins(w)).map(|w| w.len()).max().unwrap_or(0);
        let field = FIELDS.iter().filter(|(w, _)| begins(w)).max_by_key(|(w, _)| w.len());
        match field {
            Some((word, field)) if word.len() >= longest_other => {
                parts.push(Part::Field(*field, word));
                rest = &rest[word.len()..];
                continue;
            }
            _ if longest_other > 0 => {
                let word = &rest[..longest_other];
                return Err(PgError::not_supported(format!("{word} in the template of .datetime()")));
            }
            _ => {}
        }
        rest = &rest[first.len_utf8()..];
        if first == '"' {
            let (literal, after) = rest.split_once('"').unwrap_or((rest, ""));
            parts.extend(literal.chars().map(Part::Literal));
            rest = after;
        } else if "-./,':; ".contains(first) {
            parts.push(Part::Separator(first));
        } else {
            return Err(invalid(format!("invalid datetime format separator: \"{first}\"")));
        }
    }
    Ok(parts)
}

#[derive(Default)]
struct Given {
    year: i64,
    month: i64,
    day: i64,
    hour: i64,
    minute: i64,
    second: i64,
    micros: i64,
    dated: bool,
    timed: bool,
    /// sign, hours, minutes
    zone: Option<(i64, i64, i64)>,
}

/// Whether a template can be read. Errors: 22007, and 0A000 for fields that are not implemented.
pub fn check_template(template: &str) -> Result<()> {
    template_parts(template).map(drop)
}

/// Reads a text by a template.
pub fn parse(text: &str, template: &str) -> Result<Moment> {
    let parts = template_parts(template)?;
    let mut rest = text;
    let mut given = Given::default();
    for (i, part) in parts.iter().enumerate() {
        work::pulse(1);
        if rest.is_empty() {
            return Err(invalid("input string is too short for datetime format"));
        }
        match part {
            Part::Separator(c) | Part::Literal(c) => match rest.strip_prefix(*c) {
                Some(after) => rest = after,
                None if matches!(part, Part::Separator(_)) => {
                    return Err(invalid(format!("unmatched format separator \"{c}\"")))
                }
                None => return Err(invalid(format!("unmatched format character \"{c}\""))),
            },
            Part::Field(field, word) => {
                let open = !matches!(
                    parts.get(i + 1),
                    Some(Part::Field(Field::Year | Field::Month | Field::Day | Field::Hour | Field::Minute, _))
                        | Some(Part::Field(Field::Second | Field::Milliseconds | Field::Microseconds, _))
                ) && !matches!(parts.get(i + 1), Some(Part::Literal(c) | Part::Separator(c)) if c.is_ascii_digit());
                rest = take(*field, word, rest, open, &mut given)?;
            }
        }
    }
    if !rest.is_empty() {
        return Err(invalid("trailing characters remain in input string after datetime format"));
    }
    given.moment(text)
}

/// Reads one field. `open`: it may have any number of digits, since none can follow that are another's.
fn take<'t>(field: Field, word: &str, text: &'t str, open: bool, given: &mut Given) -> Result<&'t str> {
    let mut rest = text;
    if field == Field::ZoneHour {
        let sign = if rest.starts_with('-') { -1 } else { 1 };
        rest = rest.strip_prefix(['+', '-', ' ']).unwrap_or(rest);
        given.zone = Some((sign, 0, 0));
    }
    let width = match field {
        Field::Year => 4,
        Field::Milliseconds => 3,
        Field::Microseconds => 6,
        _ => 2,
    };
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let length = if open { digits } else { digits.min(width) };
    if length == 0 {
        let shown: String = rest.chars().take(width).collect();
        return Err(invalid(format!("invalid value \"{shown}\" for \"{word}\"")).detail("Value must be an integer."));
    }
    if !open && length < width {
        return Err(invalid(format!("source string too short for \"{word}\" formatting field")).detail(format!(
            "Field requires {width} characters, but only {} remain.",
            rest.chars().count().min(width)
        )));
    }
    let out_of_range = || {
        PgError::new(
            SqlState::DATETIME_VALUE_OUT_OF_RANGE,
            format!("value for \"{word}\" in source string is out of range"),
        )
    };
    if length > 9 {
        return Err(out_of_range());
    }
    let value: i64 = rest[..length].parse().map_err(|_| out_of_range())?;
    match field {
        Field::Year => (given.year, given.dated) = (value, true),
        Field::Month => (given.month, given.dated) = (value, true),
        Field::Day => (given.day, given.dated) = (value, true),
        Field::Hour => (given.hour, given.timed) = (value, true),
        Field::Minute => (given.minute, given.timed) = (value, true),
        Field::Second => (given.second, given.timed) = (value, true),
        Field::Milliseconds | Field::Microseconds => {
            if length > width {
                return Err(out_of_range());
            }
            let micros = value * 10i64.pow((width - length) as u32);
            given.micros += if field == Field::Milliseconds { micros * 1000 } else { micros };
            given.timed = true;
        }
        Field::ZoneHour => {
            if let Some((_, hours, _)) = &mut given.zone {
                *hours = value;
            }
        }
        Field::ZoneMinute => given.zone.get_or_insert((1, 0, 0)).2 = value,
    }
    Ok(&rest[length..])
}

impl Given {
    fn moment(self, text: &str) -> Result<Moment> {
        let out_of_range = || {
            PgError::new(SqlState::DATETIME_FIELD_OVERFLOW, format!("date/time field value out of range: \"{text}\""))
        };
        let (month, day) = (self.month.max(1), self.day.max(1));
        let in_clock = self.hour < 24 && self.minute < 60 && self.second < 60 && self.micros < MICROS_PER_SECOND;
        if !in_clock || month > 12 || day > 31 {
            return Err(out_of_range());
        }
        if self.year > 9999 {
            return Err(PgError::not_supported("a year past 9999 in .datetime()"));
        }
        if self.dated && (self.year == 0 || day > i64::from(calendar::days_in_month(self.year as i32, month as i32))) {
            return Err(out_of_range());
        }
        let offset = match self.zone {
            None => None,
            Some((_, hours, minutes)) if hours > 15 || minutes > 59 => {
                return Err(PgError::new(
                    SqlState::INVALID_TIME_ZONE_DISPLACEMENT_VALUE,
                    format!("time zone displacement out of range: \"{text}\""),
                ))
            }
            Some((sign, hours, minutes)) => Some((sign * (hours * 3600 + minutes * 60)) as i32),
        };
        let micros = ((self.hour * 60 + self.minute) * 60 + self.second) * MICROS_PER_SECOND + self.micros;
        let date = Date(calendar::days(self.year as i32, month as i32, day as i32));
        let local = Timestamp(i64::from(date.0) * 86_400 * MICROS_PER_SECOND + micros);
        Ok(match (self.dated, self.timed, offset) {
            (true, false, None) => Moment::Date(date),
            (true, false, Some(_)) => return Err(invalid("datetime format is zoned but not timed")),
            (true, true, None) => Moment::Timestamp(local),
            (true, true, Some(east)) => {
                Moment::TimestampTz(Timestamp(local.0 - i64::from(east) * MICROS_PER_SECOND), east)
            }
            (false, true, None) => Moment::Time(Time(micros)),
            (false, true, Some(offset)) => Moment::TimeTz(TimeTz { micros, offset }),
            (false, false, _) => return Err(invalid("datetime format is not dated and not timed")),
        })
    }
}

/// Reads a text by the first of the standard's forms that fits. None: none does.
pub fn parse_standard(text: &str) -> Result<Option<Moment>> {
    const ZONES: [&str; 3] = ["TZH:TZM", "TZH", ""];
    for (date, joint) in [("", ""), ("YYYY-MM-DD", " "), ("YYYY-MM-DD", "\"T\"")] {
        if !date.is_empty() && joint == " " {
            if let Some(moment) = fitting(parse(text, date))? {
                return Ok(Some(moment));
            }
        }
        for clock in ["HH24:MI:SS.US", "HH24:MI:SS"] {
            // bounded: the forms of a zone
            for zone in ZONES {
                if let Some(moment) = fitting(parse(text, &format!("{date}{joint}{clock}{zone}")))? {
                    return Ok(Some(moment));
                }
            }
        }
    }
    Ok(None)
}

/// None: the form does not fit.
fn fitting(read: Result<Moment>) -> Result<Option<Moment>> {
    match read {
        Ok(moment) => Ok(Some(moment)),
        Err(e) if e.code() == SqlState::FEATURE_NOT_SUPPORTED => Err(e),
        Err(_) => Ok(None),
    }
}
