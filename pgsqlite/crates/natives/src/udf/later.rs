//! Functions that PostgreSQL 16 to 18 have added: numbers, bytes and UUIDs. (Those of arrays, JSON and times are beside their kin.)

use super::numbers::{next_random, random_fraction};
use super::shim::{Call, NewState, Scalar, State};
use super::strings::invalid_parameter;
use super::SessionCell;
use pgsqlite_types::datetime::{Timestamp, UNIX_EPOCH_MICROS};
use pgsqlite_types::int::Width;
use pgsqlite_types::numeric::Numeric;
use pgsqlite_types::{float, uuid, work, Datum, PgError, Result, SqlState};
use std::collections::VecDeque;

// --- random numbers --------------------------------------------------------------------------------------------------

/// A number from 0 to `last`, each as likely as the others: as many bits as `last` has, until they are none too many.
pub(crate) fn random_below(session: &SessionCell, last: u64) -> Result<u64> {
    if last == 0 {
        return Ok(0);
    }
    loop {
        work::tick(1)?;
        let value = next_random(session)? >> last.leading_zeros();
        if value <= last {
            return Ok(value);
        }
    }
}

fn bounds_in_order(in_order: bool) -> Result<()> {
    match in_order {
        true => Ok(()),
        false => Err(invalid_parameter("lower bound must be less than or equal to upper bound")),
    }
}

fn random_integer(c: &Call) -> Result<Datum> {
    let (low, high) = (c.int(0)?, c.int(1)?);
    bounds_in_order(low <= high)?;
    let above = random_below(c.session, high.wrapping_sub(low) as u64)?;
    Ok(Datum::Int(low.wrapping_add(above as i64)))
}

/// A numeric with as many digits behind the point as the longer bound has.
fn random_numeric(c: &Call) -> Result<Datum> {
    let (low, high) = (c.numeric(0)?, c.numeric(1)?);
    for (bound, name) in [(&low, "lower"), (&high, "upper")] {
        if bound.is_nan() {
            return Err(invalid_parameter(format!("{name} bound cannot be NaN")));
        }
        if bound.is_infinite() {
            return Err(invalid_parameter(format!("{name} bound cannot be infinity")));
        }
    }
    let scale = low.scale().unwrap_or(0).max(high.scale().unwrap_or(0));
    let span = high.sub(&low)?.round(scale);
    bounds_in_order(!span.is_negative())?;
    let mut text = Vec::new();
    span.write(&mut text);
    let digits: Vec<u8> = text.into_iter().filter(|b| *b != b'.').skip_while(|b| *b == b'0').collect();
    // the first digits are not above those of the span, the others are any; what is above the span as a whole is thrown away
    const GROUP: usize = 18;
    let chosen = loop {
        let mut chosen = String::new();
        for (i, group) in digits.chunks(GROUP).enumerate() {
            work::tick(1)?;
            let most = match i {
                0 => group.iter().fold(0u64, |n, d| n * 10 + u64::from(d - b'0')),
                _ => 10u64.pow(group.len() as u32) - 1,
            };
            chosen += &format!("{:0width$}", random_below(c.session, most)?, width = group.len());
        }
        if chosen.as_bytes() <= &digits[..] {
            break chosen;
        }
    };
    let above = match chosen.is_empty() {
        true => Numeric::zero(),
        false => Numeric::from_text(&format!("{chosen}e-{scale}"))?,
    };
    Ok(low.add(&above)?.round(scale).to_datum())
}

/// Of the normal distribution, by the method of Box and Muller.
fn random_normal(c: &Call) -> Result<Datum> {
    let (mean, deviation) = (c.float(0)?, c.float(1)?);
    let (first, second) = (1.0 - random_fraction(c.session)?, 1.0 - random_fraction(c.session)?);
    let standard = (-2.0 * first.ln()).sqrt() * (2.0 * std::f64::consts::PI * second).sin();
    Ok(float::to_datum(mean + deviation * standard))
}

// --- functions of mathematics ----------------------------------------------------------------------------------------

/// Those of the C library, so that the last digits are PostgreSQL's.
mod c {
    unsafe extern "C" {
        pub(super) safe fn erf(x: f64) -> f64;
        pub(super) safe fn erfc(x: f64) -> f64;
        pub(super) safe fn tgamma(x: f64) -> f64;
        pub(super) safe fn lgamma_r(x: f64, sign: &mut std::ffi::c_int) -> f64;
    }
}

fn out_of_range(what: &str) -> PgError {
    PgError::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, format!("value out of range: {what}"))
}
fn error_function(c: &Call) -> Result<Datum> {
    Ok(float::to_datum(c::erf(c.float(0)?)))
}
fn complementary_error_function(c: &Call) -> Result<Datum> {
    Ok(float::to_datum(c::erfc(c.float(0)?)))
}
fn gamma(c: &Call) -> Result<Datum> {
    let x = c.float(0)?;
    if x.is_nan() || x == f64::INFINITY {
        return Ok(float::to_datum(x));
    }
    match c::tgamma(x) {
        0.0 => Err(out_of_range("underflow")),
        value if value.is_finite() => Ok(float::to_datum(value)),
        _ => Err(out_of_range("overflow")),
    }
}
fn log_gamma(c: &Call) -> Result<Datum> {
    let x = c.float(0)?;
    let value = c::lgamma_r(x, &mut 0);
    match value.is_infinite() && !x.is_infinite() {
        true => Err(out_of_range("overflow")),
        false => Ok(float::to_datum(value)),
    }
}

// --- bits and bytes --------------------------------------------------------------------------------------------------

fn crc(bytes: &[u8], polynomial: u32) -> Result<Datum> {
    let mut table = [0u32; 256];
    // bounded: the 256 values of a byte
    for (i, entry) in table.iter_mut().enumerate() {
        *entry = (0..8).fold(i as u32, |rest, _| (rest >> 1) ^ (polynomial & (rest & 1).wrapping_neg()));
    }
    let mut rest = u32::MAX;
    for piece in bytes.chunks(work::PIECE) {
        work::tick(piece.len() / 16)?;
        rest = piece.iter().fold(rest, |rest, byte| table[usize::from(rest as u8 ^ byte)] ^ (rest >> 8));
    }
    Ok(Datum::Int((!rest).into()))
}
fn reversed(c: &Call) -> Result<Datum> {
    let bytes = c.bytes(0)?;
    work::room(bytes.len())?;
    Ok(Datum::Blob(bytes.iter().rev().copied().collect()))
}
/// The last bytes of an integer, the highest one first.
fn integer_bytes(c: &Call, width: usize) -> Result<Datum> {
    Ok(Datum::Blob(c.int(0)?.to_be_bytes()[8 - width..].to_vec()))
}
/// The integer that up to so many bytes are; fewer make a positive one.
fn bytes_integer(c: &Call, width: Width, most: usize) -> Result<Datum> {
    let bytes = c.bytes(0)?;
    if bytes.len() > most {
        return Err(width.out_of_range());
    }
    let value = bytes.iter().fold(0u64, |value, byte| value << 8 | u64::from(*byte));
    Ok(Datum::Int(match most {
        2 => (value as i16).into(),
        4 => (value as i32).into(),
        _ => value as i64,
    }))
}

// --- UUIDs -----------------------------------------------------------------------------------------------------------

fn uuid_argument(c: &Call) -> Result<[u8; 16]> {
    uuid::parse(c.text(0)?).ok_or_else(|| PgError::corrupted("a stored uuid that is none"))
}
/// The version; None: it is not of the variant that RFC 9562 describes.
fn version_of(bytes: &[u8; 16]) -> Option<u8> {
    (bytes[8] & 0xc0 == 0x80).then_some(bytes[6] >> 4)
}
fn extracted_version(c: &Call) -> Result<Datum> {
    Ok(version_of(&uuid_argument(c)?).map(i64::from).into())
}
/// Of versions 1 (steps of 100 ns since 1582) and 7 (milliseconds since 1970).
fn extracted_timestamp(c: &Call) -> Result<Datum> {
    /// seconds from 1582-10-15 to 1970-01-01
    const GREGORIAN: i64 = 12_219_292_800;
    let bytes = uuid_argument(c)?;
    let number = |places: &[usize]| places.iter().fold(0u64, |value, i| value << 8 | u64::from(bytes[*i]));
    let since_1970 = match version_of(&bytes) {
        Some(1) => (number(&[6, 7, 4, 5, 0, 1, 2, 3]) & 0x0fff_ffff_ffff_ffff) as i64 / 10 - GREGORIAN * 1_000_000,
        Some(7) => number(&[0, 1, 2, 3, 4, 5]) as i64 * 1000,
        _ => return Ok(Datum::Null),
    };
    Ok(Datum::Text(Timestamp(since_1970 - UNIX_EPOCH_MICROS).to_storage()))
}

/// Nanoseconds since 1970 that no other call in this process gets, and later ones exceed: by as much as a UUID shows of them.
fn later_nanoseconds() -> i64 {
    use std::sync::atomic::{AtomicI64, Ordering};
    /// a step of the 12 bits below the milliseconds
    const STEP: i64 = 1_000_000 / 4096 + 1;
    static LAST: AtomicI64 = AtomicI64::new(0);
    let clock = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |d| d.as_nanos() as i64);
    let next = |last: i64| Some(clock.max(last + STEP));
    LAST.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).map_or(clock, |last| clock.max(last + STEP))
}
/// Version 7: 48 bits of milliseconds, 12 bits of their fraction, the rest random.
fn version_7(nanoseconds: i64) -> Result<Datum> {
    let mut bytes = [0u8; 16];
    getrandom::fill(&mut bytes).map_err(|e| PgError::no_resources(format!("could not generate random values: {e}")))?;
    let (milliseconds, rest) = (nanoseconds.div_euclid(1_000_000), nanoseconds.rem_euclid(1_000_000));
    let fraction = (rest * 4096 / 1_000_000) as u16;
    bytes[..6].copy_from_slice(&milliseconds.to_be_bytes()[2..]);
    bytes[6..8].copy_from_slice(&(0x7000 | fraction).to_be_bytes());
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let mut text = Vec::with_capacity(36);
    uuid::write(&bytes, &mut text);
    Ok(Datum::Text(String::from_utf8(text).expect("hexadecimal digits are ASCII")))
}
fn new_version_7(_: &Call) -> Result<Datum> {
    version_7(later_nanoseconds())
}
fn shifted_version_7(c: &Call) -> Result<Datum> {
    let nanoseconds = later_nanoseconds();
    let at = Timestamp(nanoseconds / 1000 - UNIX_EPOCH_MICROS);
    let shifted = at.add_interval_tz(c.interval(0)?, &super::times::zone(c))?;
    version_7(((shifted.0 + UNIX_EPOCH_MICROS) * 1000).saturating_add(nanoseconds % 1000))
}

// --- aggregates ------------------------------------------------------------------------------------------------------

/// `any_value`: the first value of the rows that are in the frame.
#[derive(Default)]
struct AnyValue(VecDeque<Datum>);

impl State for AnyValue {
    fn step(&mut self, call: &Call) -> Result<()> {
        self.0.push_back(call.datum(0).to_owned());
        Ok(())
    }
    fn inverse(&mut self, _call: &Call) -> Result<()> {
        self.0.pop_front();
        Ok(())
    }
    fn value(&mut self, _session: &SessionCell) -> Result<Datum> {
        Ok(self.0.front().cloned().unwrap_or_default())
    }
}

pub(crate) const AGGREGATES: &[(&str, NewState)] = &[("any_value(anyelement)", || Box::new(AnyValue::default()))];

pub(crate) const FUNCTIONS: &[(&str, Scalar)] = &[
    ("drandom_normal", random_normal),
    ("int4random int8random", random_integer),
    ("numeric_random", random_numeric),
    ("derf", error_function),
    ("derfc", complementary_error_function),
    ("dgamma", gamma),
    ("dlgamma", log_gamma),
    ("to_bin32", |c| Ok(Datum::Text(format!("{:b}", c.int(0)? as u32)))),
    ("to_bin64", |c| Ok(Datum::Text(format!("{:b}", c.int(0)?)))),
    ("to_oct32", |c| Ok(Datum::Text(format!("{:o}", c.int(0)? as u32)))),
    ("to_oct64", |c| Ok(Datum::Text(format!("{:o}", c.int(0)?)))),
    ("crc32_bytea", |c| crc(c.bytes(0)?, 0xEDB8_8320)),
    ("crc32c_bytea", |c| crc(c.bytes(0)?, 0x82F6_3B78)),
    ("bytea_reverse", reversed),
    ("int2_bytea", |c| integer_bytes(c, 2)),
    ("int4_bytea", |c| integer_bytes(c, 4)),
    ("int8_bytea", |c| integer_bytes(c, 8)),
    ("bytea_int2", |c| bytes_integer(c, Width::Two, 2)),
    ("bytea_int4", |c| bytes_integer(c, Width::Four, 4)),
    ("bytea_int8", |c| bytes_integer(c, Width::Eight, 8)),
    ("uuidv7", new_version_7),
    ("uuidv7_interval", shifted_version_7),
    ("uuid_extract_version", extracted_version),
    ("uuid_extract_timestamp", extracted_timestamp),
];
