//! The methods of a path that convert an item: `.number()`, `.decimal(precision, scale)`, `.bigint()`, `.integer()`, `.boolean()`, `.string()`,
//! `.date()`, `.time(precision)`, `.time_tz(precision)`, `.timestamp(precision)`, `.timestamp_tz(precision)`. They came with PostgreSQL 17.

use crate::buffer::trim;
use crate::datetime::zone::{self, Zone};
use crate::datetime::{round_micros, Date, Time, TimeTz, Timestamp};
use crate::int::{self, Width};
use crate::json::moment::{parse_standard, Moment};
use crate::json::Json;
use crate::numeric::Numeric;
use crate::{bool as boolean, PgError, Result, Settings, SqlState};

/// What an item is converted to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conversion {
    Number,
    Decimal,
    Bigint,
    Integer,
    Boolean,
    String,
    Date,
    Time,
    TimeTz,
    Timestamp,
    TimestampTz,
}

use Conversion as C;

impl Conversion {
    const ALL: [(Conversion, &'static str); 11] = [
        (C::Number, "number"),
        (C::Decimal, "decimal"),
        (C::Bigint, "bigint"),
        (C::Integer, "integer"),
        (C::Boolean, "boolean"),
        (C::String, "string"),
        (C::Date, "date"),
        (C::Time, "time"),
        (C::TimeTz, "time_tz"),
        (C::Timestamp, "timestamp"),
        (C::TimestampTz, "timestamp_tz"),
    ];

    pub(super) fn named(name: &str) -> Option<Conversion> {
        Self::ALL.iter().find(|(_, n)| *n == name).map(|(c, _)| *c)
    }
    pub(super) fn name(self) -> &'static str {
        Self::ALL.iter().find(|(c, _)| *c == self).map_or("", |(_, n)| n)
    }
    pub(super) fn is_time(self) -> bool {
        matches!(self, C::Date | C::Time | C::TimeTz | C::Timestamp | C::TimestampTz)
    }
    /// How many numbers may stand in its parentheses.
    pub(super) fn most_arguments(self) -> usize {
        match self {
            C::Decimal => 2,
            C::Time | C::TimeTz | C::Timestamp | C::TimestampTz => 1,
            _ => 0,
        }
    }
    fn type_name(self) -> &'static str {
        match self {
            C::Bigint => "bigint",
            C::Integer => "integer",
            C::Boolean => "boolean",
            _ => "numeric",
        }
    }
}

fn refused(message: impl Into<String>) -> PgError {
    PgError::new(SqlState::NON_NUMERIC_SQL_JSON_ITEM, message)
}
fn bad_moment(message: impl Into<String>) -> PgError {
    PgError::new(SqlState::INVALID_ARGUMENT_FOR_SQL_JSON_DATETIME_FUNCTION, message)
}

/// Converts an item. `arguments` are the numbers in the parentheses; without `zone` nothing may depend on the session's time zone.
/// Errors: 22036, 22031; 0A000, whatever the caller does with errors of the data, for what needs a zone.
pub(super) fn convert(to: Conversion, arguments: &[Numeric], item: &Json, zone: Option<&Settings>) -> Result<Json> {
    let name = to.name();
    let invalid = |text: &str| {
        let of = to.type_name();
        refused(format!("argument \"{text}\" of jsonpath item method .{name}() is invalid for type {of}"))
    };
    match to {
        C::Boolean => Ok(Json::Bool(match item {
            Json::Bool(b) => *b,
            // (as the text of an integer is read)
            Json::Number(n) => match n.scale() {
                Some(0) => n.to_int(Width::Four).map_err(|_| invalid(&shown(n)))? != 0,
                _ => return Err(invalid(&shown(n))),
            },
            // (without blanks)
            Json::String(s) if trim(s) != s.as_str() => return Err(invalid(s)),
            Json::String(s) => boolean::parse(s).ok_or_else(|| invalid(s))?,
            _ => return Err(only(name, "a boolean, string, or numeric value")),
        })),
        C::String => Ok(Json::String(match item {
            Json::Bool(b) => b.to_string(),
            Json::Number(n) => shown(n),
            Json::String(s) => s.clone(),
            Json::Moment(moment) => moment.to_text(),
            _ => return Err(only(name, "a boolean, string, numeric, or datetime value")),
        })),
        C::Bigint | C::Integer => {
            let width = if to == C::Bigint { Width::Eight } else { Width::Four };
            let value = match item {
                Json::Number(n) => n.to_int(width).map_err(|_| invalid(&shown(n)))?,
                Json::String(s) => int::parse(s, width).map_err(|_| invalid(s))?,
                _ => return Err(only(name, "a string or numeric value")),
            };
            Ok(Json::Number(Numeric::from(value)))
        }
        C::Number | C::Decimal => {
            let number = match item {
                Json::Number(n) => n.clone(),
                Json::String(s) => Numeric::from_text(s).map_err(|_| invalid(s))?,
                _ => return Err(only(name, "a string or numeric value")),
            };
            if !number.is_finite() {
                return Err(refused(format!("NaN or Infinity is not allowed for jsonpath item method .{name}()")));
            }
            let Some(typmod) = decimal_typmod(arguments)? else { return Ok(Json::Number(number)) };
            let text = shown(&number);
            number.apply_typmod(typmod).map(Json::Number).map_err(|_| invalid(&text))
        }
        C::Date | C::Time | C::TimeTz | C::Timestamp | C::TimestampTz => {
            let Json::String(text) = item else {
                return Err(bad_moment(format!("jsonpath item method .{name}() can only be applied to a string")));
            };
            let precision = precision(arguments, name)?;
            let moment = match standard(text)? {
                Some(moment) => in_form(to, moment, zone)?,
                None => None,
            };
            let moment = moment.ok_or_else(|| bad_moment(format!("{name} format is not recognized: \"{text}\"")))?;
            Ok(Json::Moment(rounded(moment, precision)))
        }
    }
}

/// The moment that a text is in one of the standard forms, in which a blank may stand before the `+` of the zone.
fn standard(text: &str) -> Result<Option<Moment>> {
    let found = parse_standard(text)?;
    let Some((before, sign)) =
        text.rmatch_indices([' ']).map(|(i, _)| text.split_at(i)).next().filter(|_| found.is_none())
    else {
        return Ok(found);
    };
    match sign.trim_start().starts_with('+') && !text.contains('T') {
        true => parse_standard(&format!("{}{}", before.trim_end(), sign.trim_start())),
        false => Ok(None),
    }
}

fn only(name: &str, what: &str) -> PgError {
    refused(format!("jsonpath item method .{name}() can only be applied to {what}"))
}

pub(super) fn shown(n: &Numeric) -> String {
    let mut text = Vec::new();
    n.write(&mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// The type modifier that precision and scale are.
fn decimal_typmod(arguments: &[Numeric]) -> Result<Option<i32>> {
    let Some(precision) = arguments.first() else { return Ok(None) };
    let int = |n: &Numeric, what: &str| {
        let message = format!("{what} of jsonpath item method .decimal() is out of range for type integer");
        n.to_int(Width::Four).map_err(|_| refused(message))
    };
    let precision = int(precision, "precision")?;
    let scale = arguments.get(1).map_or(Ok(0), |n| int(n, "scale"))?;
    let bounds = |what: &str, value: i64, low: i64| {
        let message = format!("NUMERIC {what} {value} must be between {low} and 1000");
        match (low..=1000).contains(&value) {
            true => Ok(()),
            false => Err(PgError::new(SqlState::INVALID_PARAMETER_VALUE, message)),
        }
    };
    bounds("precision", precision, 1)?;
    bounds("scale", scale, -1000)?;
    Ok(Some(((precision << 16) as i32 | (scale as i32 & 0x7ff)) + 4))
}

fn precision(arguments: &[Numeric], name: &str) -> Result<i32> {
    let Some(precision) = arguments.first() else { return Ok(6) };
    let message = format!("time precision of jsonpath item method .{name}() is out of range for type integer");
    match precision.to_int(Width::Four).map_err(|_| bad_moment(message))? {
        // (with a warning, which nothing here can give)
        7.. => Err(PgError::not_supported(format!("a precision above 6 of the jsonpath item method .{name}()"))),
        precision => Ok(precision as i32),
    }
}

/// A moment in the form that is asked for. None: it has not what that form has.
fn in_form(to: Conversion, moment: Moment, zone: Option<&Settings>) -> Result<Option<Moment>> {
    use Moment as M;
    let needs_zone = |from: &str, to: &str| {
        zone.ok_or_else(|| {
            let message = format!("cannot convert value from {from} to {to} without time zone usage");
            PgError::new(SqlState::FEATURE_NOT_SUPPORTED, message).hint("Use *_tz() function for time zone support.")
        })
    };
    let local =
        |t: Timestamp, to: &str| needs_zone("timestamptz", to).map(|settings| zone::to_local(&settings.time_zone, t));
    let utc = |t: Timestamp, from: &str| -> Result<Moment> {
        let settings = needs_zone(from, "timestamptz")?;
        let utc = t.to_utc(&Zone::Rules(settings.time_zone.clone()))?;
        Ok(M::TimestampTz(utc, zone::offset_at(&settings.time_zone, utc)))
    };
    let of_day = |t: Timestamp| t.time().map(M::Time);
    Ok(match (to, moment) {
        (C::Date, M::Date(_))
        | (C::Time, M::Time(_))
        | (C::TimeTz, M::TimeTz(_))
        | (C::Timestamp, M::Timestamp(_))
        | (C::TimestampTz, M::TimestampTz(..)) => Some(moment),
        (C::Date, M::Timestamp(t)) => Some(M::Date(t.date())),
        (C::Date, M::TimestampTz(t, _)) => Some(M::Date(local(t, "date")?.date())),
        (C::Time, M::TimeTz(t)) => needs_zone("timetz", "time").map(|_| Some(M::Time(Time(t.micros))))?,
        (C::Time, M::Timestamp(t)) => of_day(t),
        (C::Time, M::TimestampTz(t, _)) => of_day(local(t, "time")?),
        (C::TimeTz, M::Time(t)) => Some(M::TimeTz(crate::json::moment::today(t, needs_zone("time", "timetz")?))),
        (C::TimeTz, M::TimestampTz(t, _)) => match zone {
            Some(settings) => t.timetz(&settings.time_zone).map(M::TimeTz),
            None => {
                return Err(PgError::not_supported("jsonpath item method .time_tz() of a timestamp with time zone"))
            }
        },
        (C::Timestamp, M::Date(d)) => Some(M::Timestamp(d.to_timestamp()?)),
        (C::Timestamp, M::TimestampTz(t, _)) => Some(M::Timestamp(local(t, "timestamp")?)),
        (C::TimestampTz, M::Date(d)) => Some(utc(d.to_timestamp()?, "date")?),
        (C::TimestampTz, M::Timestamp(t)) => Some(utc(t, "timestamp")?),
        _ => None,
    })
}

fn rounded(moment: Moment, precision: i32) -> Moment {
    let round = |micros: i64| round_micros(micros, precision);
    match moment {
        Moment::Date(date) => Moment::Date(Date(date.0)),
        Moment::Time(t) => Moment::Time(Time(round(t.0))),
        Moment::TimeTz(t) => Moment::TimeTz(TimeTz { micros: round(t.micros), ..t }),
        Moment::Timestamp(t) => Moment::Timestamp(Timestamp(round(t.0))),
        Moment::TimestampTz(t, offset) => Moment::TimestampTz(Timestamp(round(t.0)), offset),
    }
}
