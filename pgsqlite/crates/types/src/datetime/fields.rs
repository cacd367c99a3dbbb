//! `extract` and `date_part`: every field of every type. Results are numerics with PostgreSQL's scale; `date_part`
//! gives the same as double precision ([`Numeric::to_f64`]). None is NULL: fields that an infinity does not have.

use super::tokens::{self, Span, Unit, Word};
use super::{
    zone, Civil, Date, Interval, Time, TimeTz, Timestamp, MICROS_PER_DAY, MICROS_PER_HOUR, MICROS_PER_MINUTE,
    UNIX_EPOCH_DAYS, UNIX_EPOCH_MICROS,
};
use crate::calendar;
use crate::numeric::Numeric;
use crate::time_zone::TimeZone;
use crate::{PgError, Result, SqlState};

/// A field of `extract`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Span(Span),
    Epoch,
    Julian,
    DayOfWeek,
    IsoDayOfWeek,
    DayOfYear,
    IsoYear,
    /// a word that stands for a moment: no date or timestamp has it
    Moment,
}

fn field(name: &str, type_name: &str) -> Result<Field> {
    let lower = name.to_ascii_lowercase();
    let found = match tokens::span(&lower) {
        Some(Span::Ago) => None,
        Some(span) => Some(Field::Span(span)),
        None => match lower.as_str() {
            "dow" => Some(Field::DayOfWeek),
            "isodow" => Some(Field::IsoDayOfWeek),
            "doy" => Some(Field::DayOfYear),
            "isoyear" => Some(Field::IsoYear),
            _ => match tokens::word(&lower) {
                Some(Word::Epoch) => Some(Field::Epoch),
                Some(Word::Unit(Unit::Julian)) => Some(Field::Julian),
                Some(
                    Word::Infinity
                    | Word::NegInfinity
                    | Word::Now
                    | Word::Today
                    | Word::Tomorrow
                    | Word::Yesterday
                    | Word::Zulu,
                ) if type_name.starts_with("timestamp") || type_name == "date" => Some(Field::Moment),
                _ => None,
            },
        },
    };
    found.ok_or_else(|| not_recognized(&lower, type_name))
}

/// 22023 `unit "…" not recognized for type …`
pub(super) fn not_recognized(unit: &str, type_name: &str) -> PgError {
    PgError::new(SqlState::INVALID_PARAMETER_VALUE, format!("unit \"{unit}\" not recognized for type {type_name}"))
}

/// 0A000 `unit "…" not supported for type …`
pub(super) fn not_supported(unit: &str, type_name: &str) -> PgError {
    PgError::new(
        SqlState::FEATURE_NOT_SUPPORTED,
        format!("unit \"{}\" not supported for type {type_name}", unit.to_ascii_lowercase()),
    )
}

/// Microseconds shown with `scale` digits: 6 for seconds, 3 for milliseconds.
fn micros_as(micros: i128, scale: u16) -> Numeric {
    Numeric::small(micros, scale)
}

fn whole(v: i64) -> Option<Numeric> {
    Some(Numeric::from(v))
}

/// The fields that a clock has; None for others.
fn clock_field(span: Span, micros: i64) -> Option<Numeric> {
    let in_minute = (micros % MICROS_PER_MINUTE) as i128;
    match span {
        Span::Microsecond => Some(micros_as(in_minute, 0)),
        Span::Millisecond => Some(micros_as(in_minute, 3)),
        Span::Second => Some(micros_as(in_minute, 6)),
        Span::Minute => whole(micros % MICROS_PER_HOUR / MICROS_PER_MINUTE),
        Span::Hour => whole(micros / MICROS_PER_HOUR),
        _ => None,
    }
}

/// The fields that a day has; None for others.
fn day_field(field: Field, days: i32) -> Option<Numeric> {
    let (year, month, day) = calendar::civil(days);
    let (y, m) = (year as i64, month as i64);
    // Years before 1 AD are counted from -1 down.
    let counted = |y: i64| if y > 0 { y } else { y - 1 };
    whole(match field {
        Field::Span(Span::Day) => day as i64,
        Field::Span(Span::Week) => calendar::iso_week(days).1 as i64,
        Field::Span(Span::Month) => m,
        Field::Span(Span::Quarter) => (m - 1) / 3 + 1,
        Field::Span(Span::Year) => counted(y),
        Field::Span(Span::Decade) if y >= 0 => y / 10,
        Field::Span(Span::Decade) => -((8 - (y - 1)) / 10),
        Field::Span(Span::Century) if y > 0 => (y + 99) / 100,
        Field::Span(Span::Century) => -((99 - (y - 1)) / 100),
        Field::Span(Span::Millennium) if y > 0 => (y + 999) / 1000,
        Field::Span(Span::Millennium) => -((999 - (y - 1)) / 1000),
        Field::IsoYear => counted(calendar::iso_week(days).0 as i64),
        Field::DayOfWeek => calendar::day_of_week(days) as i64,
        Field::IsoDayOfWeek => (calendar::day_of_week(days) as i64 + 6) % 7 + 1,
        Field::DayOfYear => calendar::day_of_year(year, month, day) as i64,
        _ => return None,
    })
}

/// What an infinity has of a field: itself where the field grows with time, else NULL.
fn infinite(field: Field, positive: bool, type_name: &str, name: &str, date: bool) -> Result<Option<Numeric>> {
    match field {
        Field::Span(Span::Year | Span::Decade | Span::Century | Span::Millennium)
        | Field::IsoYear
        | Field::Epoch
        | Field::Julian => Ok(Some(if positive { Numeric::Infinity } else { Numeric::NegInfinity })),
        Field::Span(
            Span::Microsecond
            | Span::Millisecond
            | Span::Second
            | Span::Minute
            | Span::Hour
            | Span::Timezone
            | Span::TimezoneHour
            | Span::TimezoneMinute,
        ) if date => Err(not_supported(name, type_name)),
        Field::Moment => Err(not_supported(name, type_name)),
        _ => Ok(None),
    }
}

fn zone_field(span: Span, offset: i32) -> Option<Numeric> {
    let o = offset as i64;
    match span {
        Span::Timezone => whole(o),
        Span::TimezoneHour => whole(o / 3600),
        Span::TimezoneMinute => whole(o / 60 % 60),
        _ => None,
    }
}

/// Day number and fraction of the day of a local time.
fn julian(local: Timestamp) -> Result<Numeric> {
    let (days, micros) = local.split();
    let fraction = Numeric::from(micros).div(&Numeric::from(MICROS_PER_DAY))?;
    Numeric::from(days as i64 + calendar::EPOCH_JULIAN as i64).add(&fraction)
}

/// `extract(field FROM timestamp)`
pub fn timestamp(name: &str, t: Timestamp) -> Result<Option<Numeric>> {
    local(name, t, t.unix_micros(), None, "timestamp without time zone")
}

/// `extract(field FROM timestamptz)` in a zone
pub fn timestamptz(name: &str, t: Timestamp, zone: &TimeZone) -> Result<Option<Numeric>> {
    let offset = if t.is_infinite() { 0 } else { zone::offset_at(zone, t) };
    local(name, zone::to_local(zone, t), t.unix_micros(), Some(offset), "timestamp with time zone")
}

fn local(name: &str, t: Timestamp, epoch: i128, offset: Option<i32>, type_name: &str) -> Result<Option<Numeric>> {
    let field = field(name, type_name)?;
    if t.is_infinite() {
        return infinite(field, t == Timestamp::INFINITY, type_name, name, false);
    }
    let (days, micros) = t.split();
    let value = match field {
        Field::Epoch => Some(micros_as(epoch, 6)),
        Field::Julian => Some(julian(t)?),
        Field::Span(span) => clock_field(span, micros)
            .or_else(|| offset.and_then(|o| zone_field(span, o)))
            .or_else(|| day_field(field, days)),
        _ => day_field(field, days),
    };
    value.map(Some).ok_or_else(|| not_supported(name, type_name))
}

/// `extract(field FROM date)`
pub fn date(name: &str, d: Date) -> Result<Option<Numeric>> {
    const TYPE: &str = "date";
    let field = field(name, TYPE)?;
    if d.is_infinite() {
        return infinite(field, d == Date::INFINITY, TYPE, name, true);
    }
    let value = match field {
        Field::Epoch => whole((d.0 as i64 + UNIX_EPOCH_DAYS as i64) * 86_400),
        Field::Julian => whole(d.0 as i64 + calendar::EPOCH_JULIAN as i64),
        _ => day_field(field, d.0),
    };
    value.map(Some).ok_or_else(|| not_supported(name, TYPE))
}

/// `extract(field FROM time)`
pub fn time(name: &str, t: Time) -> Result<Option<Numeric>> {
    const TYPE: &str = "time without time zone";
    let value = match field(name, TYPE)? {
        Field::Epoch => Some(micros_as(t.0 as i128, 6)),
        Field::Span(span) => clock_field(span, t.0),
        _ => None,
    };
    value.map(Some).ok_or_else(|| not_supported(name, TYPE))
}

/// `extract(field FROM timetz)`
pub fn timetz(name: &str, t: TimeTz) -> Result<Option<Numeric>> {
    const TYPE: &str = "time with time zone";
    let value = match field(name, TYPE)? {
        Field::Epoch => Some(micros_as(t.utc() as i128, 6)),
        Field::Span(span) => clock_field(span, t.micros).or_else(|| zone_field(span, t.offset)),
        _ => None,
    };
    value.map(Some).ok_or_else(|| not_supported(name, TYPE))
}

/// `extract(field FROM interval)`
pub fn interval(name: &str, i: Interval) -> Result<Option<Numeric>> {
    const TYPE: &str = "interval";
    let (years, months) = ((i.months / 12) as i64, (i.months % 12) as i64);
    let value = match field(name, TYPE)? {
        // A year has 365.25 days here.
        Field::Epoch => {
            let quarter_days = 1461 * years as i128 + 120 * months as i128 + 4 * i.days as i128;
            Some(micros_as(quarter_days * (MICROS_PER_DAY / 4) as i128 + i.micros as i128, 6))
        }
        Field::Span(span) => clock_field(span, i.micros).or_else(|| {
            whole(match span {
                Span::Day => i.days as i64,
                Span::Month => months,
                Span::Week => i64::from(i.days) / 7,
                // (of a negative interval it is the negative of the reversed one's)
                Span::Quarter if i.months < 0 => -(-months / 3 + 1),
                Span::Quarter => months / 3 + 1,
                Span::Year => years,
                Span::Decade => years / 10,
                Span::Century => years / 100,
                Span::Millennium => years / 1000,
                _ => return None,
            })
        }),
        _ => None,
    };
    value.map(Some).ok_or_else(|| not_supported(name, TYPE))
}

/// Microseconds since 1970 of a moment given in seconds, for callers that have `epoch` values.
pub fn unix_micros_to_timestamp(micros: i64) -> Option<Timestamp> {
    micros.checked_sub(UNIX_EPOCH_MICROS).map(Timestamp).filter(|t| t.is_valid())
}

/// The fields of a local timestamp (for `to_char` and the like).
pub fn civil(t: Timestamp) -> Option<Civil> {
    (!t.is_infinite()).then(|| Civil::of(t))
}
