//! Values of files that another program made, brought into storage form.
//!
//! SQLite keeps any value in any column, so a value is taken for what its type can plainly mean and refused (22P02,
//! 22007, 22003; the caller names table, column and row) where it would have to be guessed: an ambiguous `01/02/03`, a
//! REAL that may be a Julian day, a word like `now`. Nothing depends on the session: times without a zone are UTC, as
//! SQLite's own CURRENT_TIMESTAMP writes them.

use crate::array::Array;
use crate::buffer::invalid_syntax;
use crate::codec::{Context, NoNames, TypeCodec};
use crate::datetime::{self, fields, parse, Date, Time, TimeTz, Timestamp};
use crate::geometry::io as geometry;
use crate::int::Width;
use crate::network::{inet, mac};
use crate::numeric::Numeric;
use crate::settings::DateOrder;
use crate::{bits, bool, bytea, enums, float, int, json, money, text, transaction_ids, uuid};
use crate::{Datum, DatumRef, PgError, Result, Settings, SqlState};

/// Epoch numbers of this size and more are milliseconds (as seconds: the year 5138).
const MILLISECONDS_FROM: i64 = 100_000_000_000;
/// Numbers beyond this are no milliseconds either.
const EPOCH_LIMIT: i64 = 100_000_000_000_000;
/// REAL numbers up to this one may be Julian days (SQLite's range of them).
const MAX_JULIAN_DAY: f64 = 5_373_484.5;

fn shown(value: DatumRef) -> String {
    match value {
        DatumRef::Null => "NULL".into(),
        DatumRef::Int(i) => i.to_string(),
        DatumRef::Real(r) => {
            let mut out = Vec::new();
            float::write(r, false, 1, &mut out);
            String::from_utf8_lossy(&out).into_owned()
        }
        DatumRef::Text(t) => t.into(),
        DatumRef::Blob(b) => {
            let mut out = Vec::new();
            bytea::write(b, crate::settings::ByteaOutput::Hex, &mut out);
            String::from_utf8_lossy(&out).into_owned()
        }
    }
}

fn invalid(type_name: &str, value: DatumRef) -> PgError {
    invalid_syntax(type_name, &shown(value))
}

fn invalid_time(type_name: &str, value: DatumRef) -> PgError {
    PgError::new(
        SqlState::INVALID_DATETIME_FORMAT,
        format!("invalid input syntax for type {type_name}: \"{}\"", shown(value)),
    )
}

/// Whether a value is in the type's storage form already, so that [`normalize`] would give it back.
pub fn is_canonical(codec: &TypeCodec, value: DatumRef) -> bool {
    match (codec, value) {
        (_, DatumRef::Null) => true,
        (TypeCodec::Bool, DatumRef::Int(0 | 1)) => true,
        (TypeCodec::Int2, DatumRef::Int(i)) => i16::try_from(i).is_ok(),
        (TypeCodec::Int4, DatumRef::Int(i)) => i32::try_from(i).is_ok(),
        (TypeCodec::Int8, DatumRef::Int(_)) => true,
        (TypeCodec::Float8, DatumRef::Real(_)) => true,
        (TypeCodec::Float4, DatumRef::Real(r)) => r as f32 as f64 == r,
        (TypeCodec::Text | TypeCodec::Citext | TypeCodec::Name, DatumRef::Text(_)) => true,
        (TypeCodec::Bytea, DatumRef::Blob(_)) => true,
        (TypeCodec::Date, DatumRef::Text(t)) => Date::from_storage(t).is_some(),
        (TypeCodec::Time, DatumRef::Text(t)) => Time::from_storage(t).is_some_and(|v| v.to_storage() == t),
        (TypeCodec::Timestamp | TypeCodec::TimestampTz, DatumRef::Text(t)) => {
            // A fraction with trailing zeros is readable, but not in the form that compares as text.
            Timestamp::from_storage(t).is_some() && !(t.contains('.') && t.ends_with('0'))
        }
        _ => false,
    }
}

/// A foreign value in the storage form of `codec`. `typmod` only adds what it shows (zeros of a numeric's scale, blanks
/// of a `character(n)`); it never cuts.
pub fn normalize(codec: &TypeCodec, typmod: i32, value: DatumRef) -> Result<Datum> {
    if is_canonical(codec, value) {
        return Ok(value.to_owned());
    }
    match codec {
        TypeCodec::Bool => boolean(value),
        TypeCodec::Int2 => integer(value, Width::Two).map(Datum::Int),
        TypeCodec::Int4 => integer(value, Width::Four).map(Datum::Int),
        TypeCodec::Int8 => integer(value, Width::Eight).map(Datum::Int),
        TypeCodec::Oid | TypeCodec::Xid | TypeCodec::Cid | TypeCodec::Reg(_) => {
            let v = integer(value, Width::Eight)?;
            u32::try_from(v).map(|v| Datum::Int(v as i64)).map_err(|_| invalid("oid", value))
        }
        TypeCodec::Float4 => real(value, true),
        TypeCodec::Float8 => real(value, false),
        TypeCodec::Numeric => numeric(value, typmod),
        TypeCodec::Text | TypeCodec::Citext | TypeCodec::Name | TypeCodec::Char => characters(value).map(Datum::Text),
        TypeCodec::BpChar => {
            let t = characters(value)?;
            let length = (typmod - 4).max(0) as usize;
            let missing = length.saturating_sub(t.chars().count());
            Ok(Datum::Text(t + &" ".repeat(missing)))
        }
        TypeCodec::Bytea => match value {
            DatumRef::Text(t) => Ok(Datum::Blob(t.as_bytes().to_vec())),
            other => Err(invalid("bytea", other)),
        },
        TypeCodec::Date => date(value),
        TypeCodec::Time => match value {
            DatumRef::Text(t) => Ok(Datum::Text(unambiguous("time", t, parse::time)?.to_storage())),
            other => Err(invalid_time("time", other)),
        },
        TypeCodec::TimeTz => match value {
            DatumRef::Text(t) => {
                let read: fn(&str, &Settings) -> Result<TimeTz> = parse::timetz;
                Ok(Datum::Text(unambiguous("time with time zone", t, read)?.to_storage()))
            }
            other => Err(invalid_time("time with time zone", other)),
        },
        TypeCodec::Timestamp => Ok(Datum::Text(timestamp("timestamp", value)?.to_storage())),
        TypeCodec::TimestampTz => Ok(Datum::Text(timestamp("timestamp with time zone", value)?.to_storage())),
        TypeCodec::Interval => match value {
            DatumRef::Text(t) => {
                let style = crate::settings::IntervalStyle::Postgres;
                Ok(Datum::Text(datetime::interval_text::parse(t, -1, style)?.to_storage()))
            }
            other => Err(invalid_time("interval", other)),
        },
        TypeCodec::Uuid => match value {
            DatumRef::Text(t) => uuid::text_in(t),
            DatumRef::Blob(b) if b.len() == 16 => uuid::binary_in(b),
            other => Err(invalid("uuid", other)),
        },
        TypeCodec::Json => {
            let t = json_text(value)?;
            json::validate(&t)?;
            Ok(Datum::Text(t))
        }
        TypeCodec::JsonPath => crate::jsonpath::text_in(&characters(value)?),
        TypeCodec::Hstore => crate::extension::hstore::text_in(&characters(value)?),
        TypeCodec::QueryInt => crate::extension::query_int::text_in(&characters(value)?),
        TypeCodec::Vector(kind) => crate::extension::vector::text_in(&characters(value)?, *kind, -1),
        TypeCodec::TsVector => crate::tsearch::vector::text_in(&characters(value)?),
        TypeCodec::TsQuery => crate::tsearch::tsquery::text_in(&characters(value)?),
        TypeCodec::Jsonb => json::io::jsonb_in(&json_text(value)?),
        TypeCodec::Enum(e) => enums::text_in(&characters(value)?, e),
        TypeCodec::Array(element, ..) => array(codec, element, value),
        TypeCodec::Bits { varying } => bits::text_in(&characters(value)?, -1, *varying),
        TypeCodec::Inet { network } => inet::text_in(&characters(value)?, *network),
        TypeCodec::MacAddr { eight } => mac::text_in(&characters(value)?, *eight),
        TypeCodec::Money => money::text_in(&characters(value)?),
        TypeCodec::Geometric(kind) => geometry::text_in(&characters(value)?, *kind),
        TypeCodec::Xid8 => u64::try_from(integer(value, Width::Eight)?)
            .map(transaction_ids::xid8_datum)
            .map_err(|_| invalid("xid8", value)),
        TypeCodec::Snapshot => transaction_ids::snapshot_text_in(&characters(value)?),
        TypeCodec::Lsn => transaction_ids::lsn_text_in(&characters(value)?),
        TypeCodec::Tid => Err(invalid("tid", value)),
        // no other program declares columns of these
        TypeCodec::Range(_) | TypeCodec::Multirange(_) => Err(invalid("range", value)),
        TypeCodec::Void | TypeCodec::Record | TypeCodec::Composite(_) => Err(invalid("record", value)),
    }
}

fn boolean(value: DatumRef) -> Result<Datum> {
    match value {
        DatumRef::Real(0.0) => Some(false),
        DatumRef::Real(1.0) => Some(true),
        DatumRef::Text(t) => bool::parse(t),
        _ => None,
    }
    .map(Datum::from)
    .ok_or_else(|| invalid("boolean", value))
}

fn integer(value: DatumRef, width: Width) -> Result<i64> {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    let wide = match value {
        DatumRef::Int(i) => i,
        DatumRef::Real(r) if r.fract() == 0.0 && (-LIMIT..LIMIT).contains(&r) => r as i64,
        DatumRef::Text(t) => match int::parse(t, width) {
            Ok(i) => i,
            // '12.0' is an integer too.
            Err(e) => match Numeric::parse(t) {
                Ok(n) if n.min_scale() == Some(0) => return n.to_int(width),
                _ => return Err(e),
            },
        },
        other => return Err(invalid(width.type_name(), other)),
    };
    Numeric::from(wide).to_int(width)
}

fn real(value: DatumRef, single: bool) -> Result<Datum> {
    let type_name = if single { "real" } else { "double precision" };
    let v = match value {
        DatumRef::Real(r) => r,
        DatumRef::Int(i) => i as f64,
        DatumRef::Text(t) => float::parse(t, single)?,
        other => return Err(invalid(type_name, other)),
    };
    let v = if single { v as f32 as f64 } else { v };
    Ok(float::to_datum(v))
}

fn numeric(value: DatumRef, typmod: i32) -> Result<Datum> {
    let n = match value {
        DatumRef::Int(i) => Numeric::from(i),
        // The shortest decimal that means this double.
        DatumRef::Real(_) => Numeric::from_text(&shown(value))?,
        DatumRef::Text(t) => Numeric::from_text(t)?,
        other => return Err(invalid("numeric", other)),
    };
    let Some((_, scale)) = crate::typmod::numeric_precision_scale(typmod) else { return Ok(n.to_datum()) };
    let rounded = n.round(scale.max(0));
    // A double of a decimal column is an approximation of a decimal of that scale; other values stay exact.
    Ok(if rounded == n || matches!(value, DatumRef::Real(_)) { rounded } else { n }.to_datum())
}

fn characters(value: DatumRef) -> Result<String> {
    match value {
        DatumRef::Blob(b) => text::decode_utf8(b).map(String::from),
        other => Ok(shown(other)),
    }
}

fn json_text(value: DatumRef) -> Result<String> {
    match value {
        DatumRef::Text(_) | DatumRef::Int(_) | DatumRef::Real(_) => Ok(shown(value)),
        other => Err(invalid("json", other)),
    }
}

/// Settings that no session changes.
fn settings(order: DateOrder) -> Settings {
    Settings { date_order: order, ..Settings::default() }
}

/// Reads a date or time whose meaning does not depend on the order of day, month and year, nor on today's date.
fn unambiguous<T: PartialEq + Copy>(
    type_name: &str,
    t: &str,
    read: impl Fn(&str, &Settings) -> Result<T>,
) -> Result<T> {
    let lower = t.to_ascii_lowercase();
    if ["now", "today", "tomorrow", "yesterday"].iter().any(|w| lower.contains(w)) {
        return Err(invalid_time(type_name, DatumRef::Text(t)));
    }
    let readings = [DateOrder::Mdy, DateOrder::Dmy, DateOrder::Ymd].map(|o| read(t, &settings(o)));
    let mut found: Option<T> = None;
    for r in readings.iter().flatten() {
        if found.is_some_and(|f| f != *r) {
            return Err(
                invalid_time(type_name, DatumRef::Text(t)).detail("The order of day, month and year is ambiguous.")
            );
        }
        found = Some(*r);
    }
    let [first, ..] = readings;
    found.map_or(first, Ok)
}

fn timestamp(type_name: &str, value: DatumRef) -> Result<Timestamp> {
    let micros = match value {
        // A zone in the text counts for both types, as for SQLite's own datetime().
        DatumRef::Text(t) => {
            return match Timestamp::from_storage(t) {
                Some(t) => Ok(t),
                None => {
                    unambiguous(type_name, t, |t, s| parse::timestamptz(t, s).map_err(|e| reworded(e, type_name, t)))
                }
            }
        }
        DatumRef::Int(i) if i.abs() < MILLISECONDS_FROM => i * 1_000_000,
        DatumRef::Int(i) if i.abs() < EPOCH_LIMIT => i * 1000,
        DatumRef::Real(r) if !(0.0..=MAX_JULIAN_DAY).contains(&r) && r.abs() < MILLISECONDS_FROM as f64 => {
            (r * 1e6).round_ties_even() as i64
        }
        DatumRef::Real(r) if r.abs() >= MILLISECONDS_FROM as f64 && r.abs() < EPOCH_LIMIT as f64 => {
            (r * 1e3).round_ties_even() as i64
        }
        other => return Err(invalid_time(type_name, other)),
    };
    fields::unix_micros_to_timestamp(micros).ok_or_else(|| invalid_time(type_name, value))
}

/// The same error for the type that was asked for.
fn reworded(e: PgError, type_name: &str, t: &str) -> PgError {
    if e.code() == SqlState::INVALID_DATETIME_FORMAT {
        invalid_time(type_name, DatumRef::Text(t))
    } else {
        e
    }
}

/// A date, or a timestamp at midnight.
fn date(value: DatumRef) -> Result<Datum> {
    if let DatumRef::Text(t) = value {
        if !t.contains(':') {
            return Ok(Datum::Text(unambiguous("date", t, parse::date)?.to_storage()));
        }
    }
    let t = timestamp("date", value)?;
    match t.time() {
        None | Some(Time(0)) => Ok(Datum::Text(t.date().to_storage())),
        Some(_) => Err(invalid_time("date", value).detail("The value has a time of day.")),
    }
}

/// A JSON array or PostgreSQL's `{…}`.
fn array(codec: &TypeCodec, element: &TypeCodec, value: DatumRef) -> Result<Datum> {
    let DatumRef::Text(t) = value else { return Err(invalid("array", value)) };
    if let Some(a) = Array::from_storage(t, element) {
        let elements: Result<Vec<Datum>> = a.elements.iter().map(|e| normalize(element, -1, e.as_ref())).collect();
        return Ok(Array { elements: elements?, ..a }.to_datum());
    }
    let settings = settings(DateOrder::Ymd);
    codec.text_in(t, -1, &Context { settings: &settings, names: &NoNames })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn to(codec: TypeCodec, value: DatumRef) -> std::result::Result<Datum, &'static str> {
        normalize(&codec, -1, value).map_err(|e| match e.code().as_str() {
            "22007" => "22007",
            "22P02" => "22P02",
            "22003" => "22003",
            _ => "other",
        })
    }
    fn text(t: &str) -> std::result::Result<Datum, &'static str> {
        Ok(Datum::from(t))
    }

    #[test]
    fn timestamps_of_every_common_spelling() {
        let midnight = text("2024-02-29 00:00:00");
        for t in ["2024-02-29", "2024-02-29T00:00:00Z", "2024-02-29 00:00", "2024-02-29T02:00:00+02:00", "20240229"] {
            assert_eq!(to(TypeCodec::Timestamp, DatumRef::Text(t)), midnight, "{t}");
            assert_eq!(to(TypeCodec::TimestampTz, DatumRef::Text(t)), midnight, "{t}");
        }
        assert_eq!(to(TypeCodec::Timestamp, DatumRef::Text("2024-02-29 12:34:56.500")), text("2024-02-29 12:34:56.5"));
        assert_eq!(to(TypeCodec::Timestamp, DatumRef::Int(1_709_164_800)), midnight);
        assert_eq!(to(TypeCodec::Timestamp, DatumRef::Int(1_709_164_800_000)), midnight);
        assert_eq!(to(TypeCodec::Timestamp, DatumRef::Real(1_709_164_800.25)), text("2024-02-29 00:00:00.25"));
        assert_eq!(to(TypeCodec::Timestamp, DatumRef::Real(2_460_369.5)), Err("22007"), "perhaps a Julian day");
        for t in ["now", "today", "01/02/2003", "abc", ""] {
            assert_eq!(to(TypeCodec::Timestamp, DatumRef::Text(t)), Err("22007"), "{t}");
        }
        assert_eq!(to(TypeCodec::Timestamp, DatumRef::Text("25/02/2003")), text("2003-02-25 00:00:00"));
    }

    #[test]
    fn dates() {
        assert_eq!(to(TypeCodec::Date, DatumRef::Text("1996-07-04 00:00:00")), text("1996-07-04"));
        assert_eq!(to(TypeCodec::Date, DatumRef::Text("1996-07-04 10:00:00")), Err("22007"));
        assert_eq!(to(TypeCodec::Date, DatumRef::Int(1_709_164_800)), text("2024-02-29"));
        assert_eq!(to(TypeCodec::Date, DatumRef::Int(7)), Err("22007"));
    }

    #[test]
    fn numbers_and_booleans() {
        assert_eq!(to(TypeCodec::Bool, DatumRef::Text("yes")), Ok(Datum::Int(1)));
        assert_eq!(to(TypeCodec::Bool, DatumRef::Int(2)), Err("22P02"));
        assert_eq!(to(TypeCodec::Int4, DatumRef::Text(" 12 ")), Ok(Datum::Int(12)));
        assert_eq!(to(TypeCodec::Int4, DatumRef::Text("12.0")), Ok(Datum::Int(12)));
        assert_eq!(to(TypeCodec::Int4, DatumRef::Real(12.0)), Ok(Datum::Int(12)));
        assert_eq!(to(TypeCodec::Int4, DatumRef::Real(12.5)), Err("22P02"));
        assert_eq!(to(TypeCodec::Int4, DatumRef::Int(1 << 40)), Err("22003"));
        assert_eq!(to(TypeCodec::Numeric, DatumRef::Real(0.1)), text("0.1"));
        assert_eq!(to(TypeCodec::Numeric, DatumRef::Int(5)), text("5"));
        let money = crate::typmod::parse(crate::oid::NUMERIC, &[10, 2]).expect("a typmod").typmod;
        assert_eq!(normalize(&TypeCodec::Numeric, money, DatumRef::Real(1.5)).ok(), Some(Datum::from("1.50")));
        assert_eq!(normalize(&TypeCodec::Numeric, money, DatumRef::Text("1.555")).ok(), Some(Datum::from("1.555")));
        assert_eq!(to(TypeCodec::Float8, DatumRef::Int(5)), Ok(Datum::Real(5.0)));
    }

    #[test]
    fn the_rest() {
        let id = "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11";
        assert_eq!(to(TypeCodec::Uuid, DatumRef::Text(id)), text(&id.to_lowercase()));
        assert_eq!(to(TypeCodec::Uuid, DatumRef::Blob(&[0; 16])), text("00000000-0000-0000-0000-000000000000"));
        assert_eq!(to(TypeCodec::Jsonb, DatumRef::Text("{\"b\":1,\"a\":[ ]}")), text("{\"a\": [], \"b\": 1}"));
        assert_eq!(to(TypeCodec::Json, DatumRef::Text("{")), Err("22P02"));
        assert_eq!(to(TypeCodec::Text, DatumRef::Int(5)), text("5"));
        let ints = TypeCodec::builtin(crate::oid::INT4_ARRAY).expect("a built-in type");
        assert_eq!(to(ints.clone(), DatumRef::Text("[1, 2]")), text("[1,2]"));
        assert_eq!(to(ints, DatumRef::Text("{1,2}")), text("[1,2]"));
    }
}
