//! Window frames that SQLite does not have: whether a row is within an offset of another (PostgreSQL's `in_range` support functions), and
//! the offsets' values.

use super::shim::{Call, Scalar};
use pgsqlite_sql::lower::support;
use pgsqlite_types::numeric::Numeric;
use pgsqlite_types::{oid, Datum, Oid, PgError, Result, SqlState};

fn negative() -> PgError {
    PgError::new(
        SqlState::INVALID_PRECEDING_OR_FOLLOWING_SIZE,
        "invalid preceding or following size in window function",
    )
}

/// `value <= sum` (`less`) or `value >= sum`.
fn within<T: PartialOrd>(value: T, sum: T, less: bool) -> bool {
    if less {
        value <= sum
    } else {
        value >= sum
    }
}

/// `within` where one of them at least is NaN, which is behind all numbers, whatever the offset.
fn with_nan(value: bool, base: bool, less: bool) -> bool {
    match (value, base) {
        (true, true) => true,
        (true, false) => !less,
        _ => less,
    }
}

fn floats(value: f64, base: f64, offset: f64, subtract: bool, less: bool) -> Result<bool> {
    if offset.is_nan() || offset < 0.0 {
        return Err(negative());
    }
    if value.is_nan() || base.is_nan() {
        return Ok(with_nan(value.is_nan(), base.is_nan(), less));
    }
    // what is infinitely before infinity is nothing definite: every row is taken for it
    if offset.is_infinite() && base.is_infinite() && (base > 0.0) == subtract {
        return Ok(true);
    }
    Ok(within(value, if subtract { base - offset } else { base + offset }, less))
}

fn numerics(value: &Numeric, base: &Numeric, offset: &Numeric, subtract: bool, less: bool) -> Result<bool> {
    if offset.is_nan() || offset.is_negative() || *offset == Numeric::NegInfinity {
        return Err(negative());
    }
    if value.is_nan() || base.is_nan() {
        return Ok(with_nan(value.is_nan(), base.is_nan(), less));
    }
    if *offset == Numeric::Infinity {
        let far = if subtract { Numeric::Infinity } else { Numeric::NegInfinity };
        let end = if subtract { Numeric::NegInfinity } else { Numeric::Infinity };
        return Ok(*base == far || less != subtract || *value == end);
    }
    let sum = match base.is_infinite() {
        true => base.clone(),
        false if subtract => base.sub(offset)?,
        false => base.add(offset)?,
    };
    let order = value.cmp(&sum);
    Ok(if less { order.is_le() } else { order.is_ge() })
}

/// (type OID, value, base, offset, subtract, less) → whether the value is not beyond `base ± offset`.
fn in_range(c: &Call) -> Result<Datum> {
    let (subtract, less) = (c.bool(4)?, c.bool(5)?);
    let result = match c.int(0)? as Oid {
        oid::INT2 | oid::INT4 | oid::INT8 => {
            let offset = i128::from(c.int(3)?);
            if offset < 0 {
                return Err(negative());
            }
            let base = i128::from(c.int(2)?);
            within(i128::from(c.int(1)?), if subtract { base - offset } else { base + offset }, less)
        }
        oid::FLOAT4 | oid::FLOAT8 => floats(c.float(1)?, c.float(2)?, c.float(3)?, subtract, less)?,
        oid::NUMERIC => numerics(&c.numeric(1)?, &c.numeric(2)?, &c.numeric(3)?, subtract, less)?,
        // (the time of day disregards months and days)
        ty @ (oid::TIME | oid::TIMETZ) => {
            let offset = c.interval(3)?.micros;
            if offset < 0 {
                return Err(negative());
            }
            let moved = |micros: i64| if subtract { Some(micros - offset) } else { micros.checked_add(offset) };
            if ty == oid::TIME {
                let value = c.time(1)?.0;
                moved(c.time(2)?.0).map_or(less, |sum| within(value, sum, less))
            } else {
                let (value, mut base) = (c.timetz(1)?, c.timetz(2)?);
                match moved(base.micros) {
                    None => less,
                    Some(sum) => {
                        base.micros = sum;
                        within(value, base, less)
                    }
                }
            }
        }
        ty => {
            let offset = c.interval(3)?;
            if offset.span() < 0 {
                return Err(negative());
            }
            match ty {
                oid::INTERVAL => {
                    let base = c.interval(2)?;
                    let sum = if subtract { base.sub(offset)? } else { base.add(offset)? };
                    within(c.interval(1)?.span(), sum.span(), less)
                }
                oid::DATE | oid::TIMESTAMP => {
                    let at = |i: usize| if ty == oid::DATE { c.date(i)?.to_timestamp() } else { c.timestamp(i) };
                    let base = at(2)?;
                    let sum = if subtract { base.sub_interval(offset)? } else { base.add_interval(offset)? };
                    within(at(1)?, sum, less)
                }
                oid::TIMESTAMPTZ => {
                    let (base, zone) = (c.timestamp(2)?, super::times::zone(c));
                    let sum = if subtract {
                        base.sub_interval_tz(offset, &zone)?
                    } else {
                        base.add_interval_tz(offset, &zone)?
                    };
                    within(c.timestamp(1)?, sum, less)
                }
                other => return Err(PgError::internal(format!("no frame offset for type {other}"))),
            }
        }
    };
    Ok(result.into())
}

/// (offset, 0 start, 1 end, whether it counts rows or groups) → offset. Errors: 22004 NULL, 22013 negative.
fn frame_offset(c: &Call) -> Result<Datum> {
    let which = if c.bool(1)? { "ending" } else { "starting" };
    if c.is_null(0) {
        let message = format!("frame {which} offset must not be null");
        return Err(PgError::new(SqlState::NULL_VALUE_NOT_ALLOWED, message));
    }
    if c.bool(2)? && c.int(0)? < 0 {
        let message = format!("frame {which} offset must not be negative");
        return Err(PgError::new(SqlState::INVALID_PRECEDING_OR_FOLLOWING_SIZE, message));
    }
    Ok(c.datum(0).to_owned())
}

/// (n) → n, of nth_value. Error: 22016 where it is not positive.
fn nth(c: &Call) -> Result<Datum> {
    if !c.is_null(0) && c.int(0)? <= 0 {
        let message = "argument of nth_value must be greater than zero";
        return Err(PgError::new(SqlState::INVALID_ARGUMENT_FOR_NTH_VALUE_FUNCTION, message));
    }
    Ok(c.datum(0).to_owned())
}

/// (name, arity, deterministic, function)
pub const FUNCTIONS: &[(&str, i32, bool, Scalar)] = &[
    (support::IN_RANGE, 6, true, in_range),
    (support::FRAME_OFFSET, 3, true, frame_offset),
    (support::NTH, 1, true, nth),
];
