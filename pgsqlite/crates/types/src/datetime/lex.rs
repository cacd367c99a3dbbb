//! The first step of reading dates, times and intervals: the text is cut into fields by their looks. With it, the small
//! number readers and the reasons for refusal that all the readers share.

use super::tokens;
use crate::{PgError, SqlState};

/// Why a text was refused; [`Failure::error`] words it.
#[derive(Debug, Clone, PartialEq)]
pub enum Failure {
    Format,
    Field,
    /// month or day out of range: perhaps the order is wrong
    MonthDay,
    Interval,
    Zone,
    /// a finished error
    Other(PgErrorBox),
}

/// A [`PgError`] that can be compared in tests (never equal).
#[derive(Debug, Clone)]
pub struct PgErrorBox(pub PgError);
impl PartialEq for PgErrorBox {
    fn eq(&self, _: &Self) -> bool {
        false
    }
}

impl Failure {
    /// The error for input `text` of a type (`date`, `timestamp with time zone` …).
    pub fn error(self, type_name: &str, text: &str) -> PgError {
        match self {
            Failure::Format => PgError::new(
                SqlState::INVALID_DATETIME_FORMAT,
                format!("invalid input syntax for type {type_name}: \"{text}\""),
            ),
            Failure::Field => field_out_of_range(text),
            Failure::MonthDay => field_out_of_range(text).hint("Perhaps you need a different \"DateStyle\" setting."),
            Failure::Interval => PgError::new(
                SqlState::INTERVAL_FIELD_OVERFLOW,
                format!("interval field value out of range: \"{text}\""),
            ),
            Failure::Zone => PgError::new(
                SqlState::INVALID_TIME_ZONE_DISPLACEMENT_VALUE,
                format!("time zone displacement out of range: \"{text}\""),
            ),
            Failure::Other(e) => e.0,
        }
    }
}

fn field_out_of_range(text: &str) -> PgError {
    PgError::new(SqlState::DATETIME_FIELD_OVERFLOW, format!("date/time field value out of range: \"{text}\""))
}

pub(super) type Parsed<T> = std::result::Result<T, Failure>;

/// What a field looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Number,
    Text,
    Date,
    Time,
    Zone,
    /// a signed word (`+infinity`)
    Special,
}

/// Most fields in one text, and most bytes.
const MAX_FIELDS: usize = 25;
const MAX_BYTES: usize = 128 + MAX_FIELDS;

/// Cuts a text into fields, in lower case.
pub(super) fn fields(text: &str) -> Parsed<Vec<(Kind, String)>> {
    let b = text.as_bytes();
    let at = |i: usize| b.get(i).copied().unwrap_or(0);
    let mut found: Vec<(Kind, String)> = Vec::new();
    let mut size = 0;
    let mut i = 0;
    while i < b.len() {
        if crate::buffer::is_space(b[i]) {
            i += 1;
            continue;
        }
        let start = i;
        let run = |mut i: usize, more: &dyn Fn(u8) -> bool| {
            while i < b.len() && more(b[i]) {
                i += 1;
            }
            i
        };
        let digit = |c: u8| c.is_ascii_digit();
        let alpha = |c: u8| c.is_ascii_alphabetic();
        let mut skipped = None;
        let kind = if digit(b[i]) {
            i = run(i, &digit);
            match at(i) {
                b':' => {
                    i = run(i, &|c| digit(c) || c == b':' || c == b'.');
                    Kind::Time
                }
                separator @ (b'-' | b'/' | b'.') => {
                    i += 1;
                    if digit(at(i)) {
                        let mut kind = if separator == b'.' { Kind::Number } else { Kind::Date };
                        i = run(i, &digit);
                        if at(i) == separator {
                            kind = Kind::Date;
                            i = run(i, &|c| digit(c) || c == separator);
                        }
                        kind
                    } else {
                        i = run(i, &|c| c.is_ascii_alphanumeric() || c == separator);
                        Kind::Date
                    }
                }
                _ => Kind::Number,
            }
        } else if b[i] == b'.' {
            i = run(i + 1, &digit);
            Kind::Number
        } else if alpha(b[i]) {
            i = run(i, &alpha);
            let date = match at(i) {
                b'-' | b'/' | b'.' => true,
                b'+' | b'0'..=b'9' => tokens::word(&text[start..i].to_ascii_lowercase()).is_none(),
                _ => false,
            };
            if date {
                i = run(i, &|c| c.is_ascii_alphanumeric() || b"+-/_.:".contains(&c));
                Kind::Date
            } else {
                Kind::Text
            }
        } else if matches!(b[i], b'+' | b'-') {
            i = run(i + 1, &crate::buffer::is_space);
            skipped = Some(i);
            if digit(at(i)) {
                i = run(i, &|c| digit(c) || c == b':' || c == b'.' || c == b'-');
                Kind::Zone
            } else if alpha(at(i)) {
                i = run(i, &alpha);
                Kind::Special
            } else {
                return Err(Failure::Format);
            }
        } else if b[i].is_ascii_punctuation() {
            i += 1;
            continue;
        } else {
            return Err(Failure::Format);
        };
        let mut field = text[start..i].to_ascii_lowercase();
        if let Some(after) = skipped {
            field = format!("{}{}", &text[start..start + 1], text[after..i].to_ascii_lowercase());
        }
        size += field.len() + 1;
        if found.len() >= MAX_FIELDS || size > MAX_BYTES {
            return Err(Failure::Format);
        }
        found.push((kind, field));
    }
    Ok(found)
}

/// A leading integer as C's strtol reads it into an `int`, and the rest.
pub(super) fn leading_int(text: &str) -> Parsed<(i32, &str)> {
    let sign = usize::from(text.starts_with(['+', '-']));
    let n = text[sign..].bytes().take_while(u8::is_ascii_digit).count();
    if n == 0 {
        return Ok((0, text));
    }
    let end = sign + n;
    let value: i32 = text[..end].parse().map_err(|_| Failure::Field)?;
    Ok((value, &text[end..]))
}

/// `.ffffff…` in microseconds, rounded.
pub(super) fn fraction_micros(text: &str) -> Parsed<i32> {
    let digits = text.strip_prefix('.').ok_or(Failure::Format)?;
    if digits.is_empty() {
        return Ok(0);
    }
    if !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(Failure::Format);
    }
    let fraction: f64 = text.parse().map_err(|_| Failure::Format)?;
    Ok((fraction * 1e6).round_ties_even() as i32)
}

/// A time with colons; the hour is not checked.
pub(super) struct Clock {
    pub hour: i64,
    pub minute: i32,
    pub second: i32,
    pub micros: i32,
}

pub(super) fn clock_fields(field: &str, minutes_first: bool) -> Parsed<Clock> {
    let n = field.bytes().take_while(u8::is_ascii_digit).count();
    let hour: i64 = field[..n].parse().map_err(|_| Failure::Field)?;
    let rest = field[n..].strip_prefix(':').ok_or(Failure::Format)?;
    let (minute, rest) = leading_int(rest)?;
    let mut clock = Clock { hour, minute, second: 0, micros: 0 };
    if rest.is_empty() {
        if minutes_first {
            clock.second = minute;
            clock.minute = i32::try_from(hour).map_err(|_| Failure::Field)?;
            clock.hour = 0;
        }
    } else if rest.starts_with('.') {
        // Always minutes and seconds.
        clock.micros = fraction_micros(rest)?;
        clock.second = minute;
        clock.minute = i32::try_from(hour).map_err(|_| Failure::Field)?;
        clock.hour = 0;
    } else {
        let rest = rest.strip_prefix(':').ok_or(Failure::Format)?;
        let (second, rest) = leading_int(rest)?;
        clock.second = second;
        if !rest.is_empty() {
            clock.micros = fraction_micros(rest)?;
        }
    }
    let valid = (0..60).contains(&clock.minute) && (0..=60).contains(&clock.second) && clock.micros <= 1_000_000;
    if !valid {
        return Err(Failure::Field);
    }
    Ok(clock)
}
