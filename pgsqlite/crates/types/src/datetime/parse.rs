//! Reading dates, times and timestamps: the input functions. [`super::lex`] cuts the text into fields,
//! [`super::decode`] understands them; texts that drivers send, in ISO 8601, take a short way.

use super::decode::{numeric_zone, Decoder, Outcome};
pub use super::lex::Failure;
use super::{lex, zone, Date, Time, TimeTz, Timestamp, MICROS_PER_DAY, MICROS_PER_SECOND};
use crate::calendar;
use crate::{PgError, Result, Settings, SqlState};

fn decode<'a>(text: &str, type_name: &str, settings: &'a Settings, time_only: bool) -> Result<Decoder<'a>> {
    let mut decoder = Decoder::new(settings, time_only);
    lex::fields(text).and_then(|f| decoder.run(&f)).map_err(|f| f.error(type_name, text))?;
    Ok(decoder)
}

/// Reads a `date`.
pub fn date(text: &str, settings: &Settings) -> Result<Date> {
    if let Some(d) = plain(text).and_then(Date::from_storage) {
        return Ok(d);
    }
    let d = decode(text, "date", settings, false)?;
    let out_of_range = || PgError::new(SqlState::DATETIME_VALUE_OUT_OF_RANGE, format!("date out of range: \"{text}\""));
    match d.outcome {
        Outcome::Infinity => Ok(Date::INFINITY),
        Outcome::NegInfinity => Ok(Date::NEG_INFINITY),
        Outcome::Epoch => Ok(Date(-super::UNIX_EPOCH_DAYS)),
        Outcome::Fields => {
            let c = d.civil;
            if !calendar::is_valid_year_month(c.year, c.month) {
                return Err(out_of_range());
            }
            let date = Date(calendar::days(c.year, c.month, c.day));
            if date.is_valid() {
                Ok(date)
            } else {
                Err(out_of_range())
            }
        }
    }
}

/// Texts that begin like the storage form of years 1000 to 9999 need no further look; others might mean something else.
fn plain(text: &str) -> Option<&str> {
    let b = text.as_bytes();
    (b.len() >= 10 && b[0].is_ascii_digit() && b[0] != b'0' && b[4] == b'-').then_some(text)
}

/// `YYYY-MM-DD HH:MM:SS[.ffffff]`, with `T` for the blank, and nothing, `Z` or `±HH[:MM]` after it: what drivers send.
fn plain_timestamptz(text: &str, settings: &Settings) -> Option<Timestamp> {
    let b = plain(text)?.as_bytes();
    let end = 19 + b.get(19..)?.iter().take_while(|b| b.is_ascii_digit() || **b == b'.').count();
    let local = match b[10] {
        b' ' => Timestamp::from_storage(text.get(..end)?)?,
        b'T' => {
            let mut copy = [0u8; 26];
            let copy = copy.get_mut(..end)?;
            copy.copy_from_slice(&b[..end]);
            copy[10] = b' ';
            Timestamp::from_storage(std::str::from_utf8(copy).ok()?)?
        }
        _ => return None,
    };
    let offset = match text.get(end..)? {
        "" => zone::offset_of_local(&settings.time_zone, local),
        "Z" => 0,
        suffix if suffix.starts_with(['+', '-']) && suffix.is_ascii() => numeric_zone(suffix).ok()?,
        _ => return None,
    };
    Some(Timestamp(local.0 - offset as i64 * MICROS_PER_SECOND)).filter(|t| t.is_valid())
}

/// Reads a `timestamp`: a zone in the text is read and ignored.
pub fn timestamp(text: &str, settings: &Settings) -> Result<Timestamp> {
    if let Some(t) = plain(text).and_then(Timestamp::from_storage) {
        return Ok(t);
    }
    let d = decode(text, "timestamp", settings, false)?;
    finish_timestamp(&d, text, false)
}

/// Reads a `timestamp with time zone`.
pub fn timestamptz(text: &str, settings: &Settings) -> Result<Timestamp> {
    if let Some(t) = plain_timestamptz(text, settings) {
        return Ok(t);
    }
    let d = decode(text, "timestamp with time zone", settings, false)?;
    finish_timestamp(&d, text, true)
}

fn finish_timestamp(d: &Decoder, text: &str, zoned: bool) -> Result<Timestamp> {
    match d.outcome {
        Outcome::Infinity => Ok(Timestamp::INFINITY),
        Outcome::NegInfinity => Ok(Timestamp::NEG_INFINITY),
        Outcome::Epoch => Ok(Timestamp(-super::UNIX_EPOCH_MICROS)),
        Outcome::Fields => {
            let out_of_range =
                || PgError::new(SqlState::DATETIME_VALUE_OUT_OF_RANGE, format!("timestamp out of range: \"{text}\""));
            let c = &d.civil;
            if !calendar::is_valid_year_month(c.year, c.month) {
                return Err(out_of_range());
            }
            let days = calendar::days(c.year, c.month, c.day) as i64;
            let local = days.checked_mul(MICROS_PER_DAY).and_then(|v| v.checked_add(c.day_micros()));
            let shift = if zoned { d.offset as i64 * MICROS_PER_SECOND } else { 0 };
            let t = local.and_then(|v| v.checked_sub(shift)).map(Timestamp).filter(|t| t.is_valid());
            t.ok_or_else(out_of_range)
        }
    }
}

/// Reads a `time`: a zone in the text is read and ignored.
pub fn time(text: &str, settings: &Settings) -> Result<Time> {
    let d = decode(text, "time", settings, true)?;
    Ok(Time(d.civil.day_micros()))
}

/// Reads a `time with time zone`; without a zone in the text the session's offset of today counts.
pub fn timetz(text: &str, settings: &Settings) -> Result<TimeTz> {
    let d = decode(text, "time with time zone", settings, true)?;
    Ok(TimeTz { micros: d.civil.day_micros(), offset: d.offset })
}
