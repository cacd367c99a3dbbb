//! Arithmetic and mathematics of integers, floats and `numeric`, and the casts between them.

use super::shim::{Call, Scalar};
use super::SessionCell;
use pgsqlite_types::int::Width;
use pgsqlite_types::numeric::Numeric;
use pgsqlite_types::work;
use pgsqlite_types::{float, Datum, PgError, Result, SqlState};

fn width(bytes: u8) -> Width {
    match bytes {
        2 => Width::Two,
        4 => Width::Four,
        _ => Width::Eight,
    }
}

/// The value, if an integer of `W` bytes holds it.
fn fit<const W: u8>(value: Option<i64>) -> Result<Datum> {
    value
        .filter(|v| match W {
            2 => i16::try_from(*v).is_ok(),
            4 => i32::try_from(*v).is_ok(),
            _ => true,
        })
        .map(Datum::Int)
        .ok_or_else(|| width(W).out_of_range())
}

pub(crate) fn division_by_zero() -> PgError {
    PgError::new(SqlState::DIVISION_BY_ZERO, "division by zero")
}

fn add<const W: u8>(c: &Call) -> Result<Datum> {
    fit::<W>(c.int(0)?.checked_add(c.int(1)?))
}
fn sub<const W: u8>(c: &Call) -> Result<Datum> {
    fit::<W>(c.int(0)?.checked_sub(c.int(1)?))
}
fn mul<const W: u8>(c: &Call) -> Result<Datum> {
    fit::<W>(c.int(0)?.checked_mul(c.int(1)?))
}
fn div<const W: u8>(c: &Call) -> Result<Datum> {
    match c.int(1)? {
        0 => Err(division_by_zero()),
        d => fit::<W>(c.int(0)?.checked_div(d)),
    }
}
fn rem(c: &Call) -> Result<Datum> {
    match c.int(1)? {
        0 => Err(division_by_zero()),
        d => Ok(Datum::Int(c.int(0)?.wrapping_rem(d))),
    }
}
fn neg<const W: u8>(c: &Call) -> Result<Datum> {
    fit::<W>(c.int(0)?.checked_neg())
}
fn abs<const W: u8>(c: &Call) -> Result<Datum> {
    fit::<W>(c.int(0)?.checked_abs())
}
fn greatest_divisor(a: i64, b: i64) -> u64 {
    let (mut a, mut b) = (a.unsigned_abs(), b.unsigned_abs());
    while b != 0 {
        work::pulse(1);
        (a, b) = (b, a % b);
    }
    a
}
fn gcd<const W: u8>(c: &Call) -> Result<Datum> {
    fit::<W>(i64::try_from(greatest_divisor(c.int(0)?, c.int(1)?)).ok())
}
fn lcm<const W: u8>(c: &Call) -> Result<Datum> {
    let (a, b) = (c.int(0)?, c.int(1)?);
    if a == 0 || b == 0 {
        return Ok(Datum::Int(0));
    }
    let multiple = (a.unsigned_abs() as u128 / greatest_divisor(a, b) as u128) * b.unsigned_abs() as u128;
    fit::<W>(i64::try_from(multiple).ok())
}
/// Shifts take the count modulo the width of the machine's operation (32 bits for smallint too).
fn shl<const W: u8>(c: &Call) -> Result<Datum> {
    let (v, n) = (c.int(0)?, c.int(1)? as u32);
    Ok(Datum::Int(match W {
        2 => (v as i32).wrapping_shl(n) as i16 as i64,
        4 => (v as i32).wrapping_shl(n) as i64,
        _ => v.wrapping_shl(n),
    }))
}
fn shr<const W: u8>(c: &Call) -> Result<Datum> {
    let (v, n) = (c.int(0)?, c.int(1)? as u32);
    Ok(Datum::Int(if W == 8 { v.wrapping_shr(n) } else { (v as i32).wrapping_shr(n) as i64 }))
}
fn xor(c: &Call) -> Result<Datum> {
    Ok(Datum::Int(c.int(0)? ^ c.int(1)?))
}

// --- floats --------------------------------------------------------------------------------------------------------

fn out_of_range(message: &str) -> PgError {
    PgError::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, message)
}
/// Functions of the C library, whose last digit Rust's own formulas do not always share.
mod c_math {
    extern "C" {
        pub fn sinh(v: f64) -> f64;
        pub fn asinh(v: f64) -> f64;
        pub fn acosh(v: f64) -> f64;
        pub fn atanh(v: f64) -> f64;
    }
    pub fn call(function: unsafe extern "C" fn(f64) -> f64, v: f64) -> f64 {
        // SAFETY: pure functions of the C library.
        unsafe { function(v) }
    }
}

fn overflow() -> PgError {
    out_of_range("value out of range: overflow")
}
fn underflow() -> PgError {
    out_of_range("value out of range: underflow")
}
fn input_out_of_range() -> PgError {
    out_of_range("input is out of range")
}

/// Rounds to `real` where `F` says so, and raises where finite operands gave an infinity, or non-zero ones zero.
fn result<const F: bool>(value: f64, infinite_operand: bool, zero_ok: bool) -> Result<Datum> {
    let value = if F { value as f32 as f64 } else { value };
    if value.is_infinite() && !infinite_operand {
        return Err(overflow());
    }
    if value == 0.0 && !zero_ok {
        return Err(underflow());
    }
    Ok(float::to_datum(value))
}
/// In `real` arithmetic a double holds the exact sum or product of two, so one rounding to `real` is right.
fn fadd<const F: bool>(c: &Call) -> Result<Datum> {
    let (a, b) = (c.float(0)?, c.float(1)?);
    result::<F>(a + b, a.is_infinite() || b.is_infinite(), true)
}
fn fsub<const F: bool>(c: &Call) -> Result<Datum> {
    let (a, b) = (c.float(0)?, c.float(1)?);
    result::<F>(a - b, a.is_infinite() || b.is_infinite(), true)
}
fn fmul<const F: bool>(c: &Call) -> Result<Datum> {
    let (a, b) = (c.float(0)?, c.float(1)?);
    result::<F>(a * b, a.is_infinite() || b.is_infinite(), a == 0.0 || b == 0.0)
}
fn fdiv<const F: bool>(c: &Call) -> Result<Datum> {
    let (a, b) = (c.float(0)?, c.float(1)?);
    if b == 0.0 && !a.is_nan() {
        return Err(division_by_zero());
    }
    result::<F>(a / b, a.is_infinite(), a == 0.0 || b.is_infinite())
}
fn fneg(c: &Call) -> Result<Datum> {
    Ok(float::to_datum(-c.float(0)?))
}
fn fabs(c: &Call) -> Result<Datum> {
    Ok(float::to_datum(c.float(0)?.abs()))
}
fn ceil(c: &Call) -> Result<Datum> {
    Ok(float::to_datum(c.float(0)?.ceil()))
}
fn floor(c: &Call) -> Result<Datum> {
    Ok(float::to_datum(c.float(0)?.floor()))
}
fn round(c: &Call) -> Result<Datum> {
    Ok(float::to_datum(c.float(0)?.round_ties_even()))
}
fn trunc(c: &Call) -> Result<Datum> {
    Ok(float::to_datum(c.float(0)?.trunc()))
}
fn sign(c: &Call) -> Result<Datum> {
    let v = c.float(0)?;
    Ok(float::to_datum(if v > 0.0 {
        1.0
    } else if v < 0.0 {
        -1.0
    } else {
        // NaN, too, as in PostgreSQL
        0.0
    }))
}
fn power_error(message: &str) -> PgError {
    PgError::new(SqlState::INVALID_ARGUMENT_FOR_POWER_FUNCTION, message)
}
fn log_error(message: &str) -> PgError {
    PgError::new(SqlState::INVALID_ARGUMENT_FOR_LOGARITHM, message)
}
fn sqrt(c: &Call) -> Result<Datum> {
    let v = c.float(0)?;
    if v < 0.0 {
        return Err(power_error("cannot take square root of a negative number"));
    }
    result::<false>(v.sqrt(), v.is_infinite(), v == 0.0)
}
/// Rounded correctly, by Rust's library on every system. PostgreSQL has what its C library gives: glibc 2.36 misses the last digit of
/// cbrt(27).
fn cbrt(c: &Call) -> Result<Datum> {
    let v = c.float(0)?;
    result::<false>(v.cbrt(), v.is_infinite(), v == 0.0)
}
fn pow(c: &Call) -> Result<Datum> {
    let (a, b) = (c.float(0)?, c.float(1)?);
    if a.is_nan() {
        return Ok(float::to_datum(if b == 0.0 { 1.0 } else { a }));
    }
    if b.is_nan() {
        return Ok(float::to_datum(if a == 1.0 { 1.0 } else { b }));
    }
    if a == 0.0 && b < 0.0 {
        return Err(power_error("zero raised to a negative power is undefined"));
    }
    if a < 0.0 && b.floor() != b {
        return Err(power_error("a negative number raised to a non-integer power yields a complex result"));
    }
    result::<false>(a.powf(b), a.is_infinite() || b.is_infinite(), a == 0.0 || a.is_infinite() || b.is_infinite())
}
fn exp(c: &Call) -> Result<Datum> {
    let v = c.float(0)?;
    result::<false>(v.exp(), v.is_infinite(), v.is_infinite())
}
fn logarithm(c: &Call, f: fn(f64) -> f64) -> Result<Datum> {
    let v = c.float(0)?;
    if v == 0.0 {
        return Err(log_error("cannot take logarithm of zero"));
    }
    if v < 0.0 {
        return Err(log_error("cannot take logarithm of a negative number"));
    }
    result::<false>(f(v), v.is_infinite(), v == 1.0)
}
fn ln(c: &Call) -> Result<Datum> {
    logarithm(c, f64::ln)
}
fn log10(c: &Call) -> Result<Datum> {
    logarithm(c, f64::log10)
}

/// A function that takes no infinities.
fn finite(c: &Call, f: impl Fn(f64) -> f64, infinite_result: bool) -> Result<Datum> {
    let v = c.float(0)?;
    if v.is_infinite() {
        return Err(input_out_of_range());
    }
    result::<false>(f(v), infinite_result, true)
}
fn sin(c: &Call) -> Result<Datum> {
    finite(c, f64::sin, false)
}
fn cos(c: &Call) -> Result<Datum> {
    finite(c, f64::cos, false)
}
fn tan(c: &Call) -> Result<Datum> {
    finite(c, f64::tan, true)
}
fn cot(c: &Call) -> Result<Datum> {
    finite(c, |v| 1.0 / v.tan(), true)
}
/// A function defined within -1 … 1.
fn unit(c: &Call, f: impl Fn(f64) -> f64) -> Result<Datum> {
    let v = c.float(0)?;
    if !v.is_nan() && !(-1.0..=1.0).contains(&v) {
        return Err(input_out_of_range());
    }
    Ok(float::to_datum(f(v)))
}
fn asin(c: &Call) -> Result<Datum> {
    unit(c, f64::asin)
}
fn acos(c: &Call) -> Result<Datum> {
    unit(c, f64::acos)
}
fn atan(c: &Call) -> Result<Datum> {
    Ok(float::to_datum(c.float(0)?.atan()))
}
fn atan2(c: &Call) -> Result<Datum> {
    Ok(float::to_datum(c.float(0)?.atan2(c.float(1)?)))
}
fn sinh(c: &Call) -> Result<Datum> {
    Ok(float::to_datum(c_math::call(c_math::sinh, c.float(0)?)))
}
fn cosh(c: &Call) -> Result<Datum> {
    Ok(float::to_datum(c.float(0)?.cosh()))
}
fn tanh(c: &Call) -> Result<Datum> {
    Ok(float::to_datum(c.float(0)?.tanh()))
}
fn asinh(c: &Call) -> Result<Datum> {
    Ok(float::to_datum(c_math::call(c_math::asinh, c.float(0)?)))
}
fn acosh(c: &Call) -> Result<Datum> {
    let v = c.float(0)?;
    if v < 1.0 {
        return Err(input_out_of_range());
    }
    Ok(float::to_datum(c_math::call(c_math::acosh, v)))
}
fn atanh(c: &Call) -> Result<Datum> {
    unit(c, |v| c_math::call(c_math::atanh, v))
}
fn pi(_: &Call) -> Result<Datum> {
    Ok(Datum::Real(std::f64::consts::PI))
}
const RADIANS_PER_DEGREE: f64 = 0.017_453_292_519_943_295;
fn degrees(c: &Call) -> Result<Datum> {
    let v = c.float(0)?;
    result::<false>(v / RADIANS_PER_DEGREE, v.is_infinite(), v == 0.0)
}
fn radians(c: &Call) -> Result<Datum> {
    let v = c.float(0)?;
    result::<false>(v * RADIANS_PER_DEGREE, v.is_infinite(), true)
}

// Trigonometry in degrees is exact at the multiples of 30 and 45: each is scaled by its own value there.
fn sind_0_30(x: f64) -> f64 {
    (x * RADIANS_PER_DEGREE).sin() / (30.0 * RADIANS_PER_DEGREE).sin() / 2.0
}
fn cosd_0_60(x: f64) -> f64 {
    1.0 - (1.0 - (x * RADIANS_PER_DEGREE).cos()) / (1.0 - (60.0 * RADIANS_PER_DEGREE).cos()) / 2.0
}
fn sind_first(x: f64) -> f64 {
    if x <= 30.0 {
        sind_0_30(x)
    } else {
        cosd_0_60(90.0 - x)
    }
}
fn cosd_first(x: f64) -> f64 {
    if x <= 60.0 {
        cosd_0_60(x)
    } else {
        sind_0_30(90.0 - x)
    }
}
fn sine_degrees(x: f64) -> f64 {
    let mut x = x % 360.0;
    let mut sign = 1.0;
    if x < 0.0 {
        x = -x;
        sign = -1.0;
    }
    if x > 180.0 {
        x = 360.0 - x;
        sign = -sign;
    }
    if x > 90.0 {
        x = 180.0 - x;
    }
    sign * sind_first(x)
}
fn cosine_degrees(x: f64) -> f64 {
    let mut x = (x % 360.0).abs();
    let mut sign = 1.0;
    if x > 180.0 {
        x = 360.0 - x;
    }
    if x > 90.0 {
        x = 180.0 - x;
        sign = -sign;
    }
    sign * cosd_first(x)
}
/// Tangent (or cotangent) within the first quadrant and the sign that belongs to it.
fn folded_tangent(x: f64) -> (f64, f64) {
    let mut x = x % 360.0;
    let mut sign = 1.0;
    if x < 0.0 {
        x = -x;
        sign = -1.0;
    }
    if x > 180.0 {
        x = 360.0 - x;
        sign = -sign;
    }
    if x > 90.0 {
        x = 180.0 - x;
        sign = -sign;
    }
    (x, sign)
}
fn tangent_degrees(x: f64) -> f64 {
    let (x, sign) = folded_tangent(x);
    let r = sign * ((sind_first(x) / cosd_first(x)) / (sind_first(45.0) / cosd_first(45.0)));
    if r == 0.0 {
        0.0
    } else {
        r
    }
}
fn cotangent_degrees(x: f64) -> f64 {
    let (x, sign) = folded_tangent(x);
    let r = sign * ((cosd_first(x) / sind_first(x)) / (cosd_first(45.0) / sind_first(45.0)));
    if r == 0.0 {
        0.0
    } else {
        r
    }
}
fn sind(c: &Call) -> Result<Datum> {
    finite(c, sine_degrees, false)
}
fn cosd(c: &Call) -> Result<Datum> {
    finite(c, cosine_degrees, false)
}
fn tand(c: &Call) -> Result<Datum> {
    finite(c, tangent_degrees, true)
}
fn cotd(c: &Call) -> Result<Datum> {
    finite(c, cotangent_degrees, true)
}
fn asind_first(x: f64) -> f64 {
    if x <= 0.5 {
        x.asin() / 0.5f64.asin() * 30.0
    } else {
        90.0 - x.acos() / 0.5f64.acos() * 60.0
    }
}
fn acosd_first(x: f64) -> f64 {
    if x <= 0.5 {
        90.0 - x.asin() / 0.5f64.asin() * 30.0
    } else {
        x.acos() / 0.5f64.acos() * 60.0
    }
}
fn asind(c: &Call) -> Result<Datum> {
    unit(c, |x| if x >= 0.0 { asind_first(x) } else { -asind_first(-x) })
}
fn acosd(c: &Call) -> Result<Datum> {
    unit(c, |x| if x >= 0.0 { acosd_first(x) } else { 90.0 + asind_first(-x) })
}
fn atand(c: &Call) -> Result<Datum> {
    Ok(float::to_datum(c.float(0)?.atan() / 1f64.atan() * 45.0))
}
fn atan2d(c: &Call) -> Result<Datum> {
    Ok(float::to_datum(c.float(0)?.atan2(c.float(1)?) / 1f64.atan() * 45.0))
}

// --- random --------------------------------------------------------------------------------------------------------

/// The generator's seeding step.
fn split_mix(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut v = *seed;
    v = (v ^ (v >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    v = (v ^ (v >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    v ^ (v >> 31)
}
/// xoroshiro128**, the generator that PostgreSQL uses since 15, so that `setseed` gives the same numbers: its next 64 bits.
pub(crate) fn next_random(session: &SessionCell) -> Result<u64> {
    let [s0, s1] = match session.random.get() {
        [0, 0] => {
            let mut seed = [0u8; 8];
            getrandom::fill(&mut seed)
                .map_err(|e| PgError::no_resources(format!("could not generate random numbers: {e}")))?;
            let mut seed = u64::from_ne_bytes(seed);
            [split_mix(&mut seed), split_mix(&mut seed)]
        }
        state => state,
    };
    let sx = s1 ^ s0;
    let value = s0.wrapping_mul(5).rotate_left(7).wrapping_mul(9);
    session.random.set([s0.rotate_left(24) ^ sx ^ (sx << 16), sx.rotate_left(37)]);
    Ok(value)
}
/// From 0 to 1, which it is not.
pub(crate) fn random_fraction(session: &SessionCell) -> Result<f64> {
    Ok((next_random(session)? >> 12) as f64 / (1u64 << 52) as f64)
}
fn random(c: &Call) -> Result<Datum> {
    random_fraction(c.session).map(Datum::Real)
}
fn setseed(c: &Call) -> Result<Datum> {
    let seed = c.float(0)?;
    if !(-1.0..=1.0).contains(&seed) {
        let shown = c.session.with_context(|context| {
            let mut out = Vec::new();
            float::write(seed, false, context.settings.extra_float_digits.min(0), &mut out);
            String::from_utf8_lossy(&out).into_owned()
        });
        return Err(PgError::new(
            SqlState::INVALID_PARAMETER_VALUE,
            format!("setseed parameter {shown} is out of allowed range [-1,1]"),
        ));
    }
    c.session.random.set(seeded(seed));
    Ok(Datum::from(""))
}

/// The state of the generator after `setseed(seed)`.
pub fn seeded(seed: f64) -> [u64; 2] {
    let mut state = (((1u64 << 52) - 1) as f64 * seed) as i64 as u64;
    [split_mix(&mut state), split_mix(&mut state)]
}

fn bucket_error(message: &str) -> PgError {
    PgError::new(SqlState::INVALID_ARGUMENT_FOR_WIDTH_BUCKET_FUNCTION, message)
}
fn width_bucket_float(c: &Call) -> Result<Datum> {
    let (operand, low, high, count) = (c.float(0)?, c.float(1)?, c.float(2)?, c.int(3)?);
    if count <= 0 {
        return Err(bucket_error("count must be greater than zero"));
    }
    if operand.is_nan() || low.is_nan() || high.is_nan() {
        return Err(bucket_error("operand, lower bound, and upper bound cannot be NaN"));
    }
    if low.is_infinite() || high.is_infinite() {
        return Err(bucket_error("lower and upper bounds must be finite"));
    }
    let bucket = |from: f64, to: f64, x: f64| {
        // Halved where the difference overflows.
        let span = to - from;
        let share = if span.is_finite() { (x - from) / span } else { (x / 2.0 - from / 2.0) / (to / 2.0 - from / 2.0) };
        ((count as f64 * share) as i64).min(count - 1) + 1
    };
    let n = if low < high {
        if operand < low {
            0
        } else if operand >= high {
            count + 1
        } else {
            bucket(low, high, operand)
        }
    } else if low > high {
        if operand > low {
            0
        } else if operand <= high {
            count + 1
        } else {
            bucket(-low, -high, -operand)
        }
    } else {
        return Err(bucket_error("lower bound cannot equal upper bound"));
    };
    fit::<4>(Some(n))
}
fn width_bucket_numeric(c: &Call) -> Result<Datum> {
    let (operand, low, high, count) = (c.numeric(0)?, c.numeric(1)?, c.numeric(2)?, c.int(3)?);
    if count <= 0 {
        return Err(bucket_error("count must be greater than zero"));
    }
    if operand.is_nan() || low.is_nan() || high.is_nan() {
        return Err(bucket_error("operand, lower bound, and upper bound cannot be NaN"));
    }
    if low.is_infinite() || high.is_infinite() {
        return Err(bucket_error("lower and upper bounds must be finite"));
    }
    if low == high {
        return Err(bucket_error("lower bound cannot equal upper bound"));
    }
    let ascending = low < high;
    let (before, after) = if ascending { (operand < low, operand >= high) } else { (operand > low, operand <= high) };
    if before {
        return Ok(Datum::Int(0));
    }
    if after {
        return fit::<4>(count.checked_add(1));
    }
    // floor(count * (operand - low) / (high - low)) + 1, exactly
    let part = operand.sub(&low)?.mul(&Numeric::from(count))?.abs();
    let whole = part.div_trunc(&high.sub(&low)?.abs())?.to_i64()?;
    fit::<4>(Some(whole + 1))
}

// --- numeric -------------------------------------------------------------------------------------------------------

macro_rules! binary_numeric {
    ($($name:ident = $method:ident;)*) => {$(
        fn $name(c: &Call) -> Result<Datum> {
            Ok(c.numeric(0)?.$method(&c.numeric(1)?)?.to_datum())
        }
    )*};
}
binary_numeric! {
    numeric_add = add;
    numeric_sub = sub;
    numeric_mul = mul;
    numeric_div = div;
    numeric_div_trunc = div_trunc;
    numeric_mod = rem;
    numeric_gcd = gcd;
    numeric_lcm = lcm;
    numeric_power = power;
}
macro_rules! unary_numeric {
    ($($name:ident = |$n:ident| $value:expr;)*) => {$(
        fn $name(c: &Call) -> Result<Datum> {
            let $n = c.numeric(0)?;
            Ok(Datum::from($value))
        }
    )*};
}
unary_numeric! {
    numeric_neg = |n| n.neg().to_string();
    numeric_abs = |n| n.abs().to_string();
    numeric_sign = |n| n.sign().to_string();
    numeric_ceil = |n| n.ceil().to_string();
    numeric_floor = |n| n.floor().to_string();
    numeric_round0 = |n| n.round(0).to_string();
    numeric_trunc0 = |n| n.trunc(0).to_string();
    numeric_sqrt = |n| n.sqrt()?.to_string();
    numeric_exp = |n| n.exp()?.to_string();
    numeric_ln = |n| n.ln()?.to_string();
    numeric_log10 = |n| n.log(&Numeric::from(10))?.to_string();
    numeric_scale = |n| n.scale().map(|s| s as i64);
    numeric_min_scale = |n| n.min_scale().map(|s| s as i64);
    numeric_trim_scale = |n| n.trim_scale().to_string();
    numeric_inc = |n| n.add(&Numeric::one())?.to_string();
    numeric_int2 = |n| n.to_int(Width::Two)?;
    numeric_int4 = |n| n.to_int(Width::Four)?;
    numeric_int8 = |n| n.to_int(Width::Eight)?;
}
/// The most digits `round` and `trunc` keep or cut.
const SCALE_LIMIT: i64 = 16_383;
fn scale_argument(c: &Call) -> Result<i32> {
    Ok(c.int(1)?.clamp(-131_072 - 1, SCALE_LIMIT) as i32)
}
fn numeric_round(c: &Call) -> Result<Datum> {
    Ok(c.numeric(0)?.round_checked(scale_argument(c)?)?.to_datum())
}
fn numeric_trunc(c: &Call) -> Result<Datum> {
    Ok(c.numeric(0)?.trunc(scale_argument(c)?).to_datum())
}
fn numeric_log(c: &Call) -> Result<Datum> {
    Ok(c.numeric(1)?.log(&c.numeric(0)?)?.to_datum())
}
fn numeric_factorial(c: &Call) -> Result<Datum> {
    Ok(Numeric::factorial(c.int(0)?)?.to_datum())
}
fn numeric_typmod(c: &Call) -> Result<Datum> {
    Ok(c.numeric(0)?.apply_typmod(c.int(1)? as i32)?.to_datum())
}

// --- casts ---------------------------------------------------------------------------------------------------------

fn narrow<const W: u8>(c: &Call) -> Result<Datum> {
    fit::<W>(Some(c.int(0)?))
}
fn int_oid(c: &Call) -> Result<Datum> {
    let v = c.int(0)?;
    if u32::try_from(v).is_err() {
        return Err(out_of_range("OID out of range"));
    }
    Ok(Datum::Int(v))
}
fn float_int<const W: u8>(c: &Call) -> Result<Datum> {
    let v = c.float(0)?.round_ties_even();
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    fit::<W>((-LIMIT..LIMIT).contains(&v).then_some(v as i64))
}
fn int_real(c: &Call) -> Result<Datum> {
    Ok(Datum::Real(c.int(0)? as f32 as f64))
}
fn float_real(c: &Call) -> Result<Datum> {
    let v = c.float(0)?;
    result::<true>(v, v.is_infinite(), v == 0.0)
}
fn int_numeric(c: &Call) -> Result<Datum> {
    Ok(Datum::Text(c.int(0)?.to_string()))
}
fn real_numeric(c: &Call) -> Result<Datum> {
    Ok(Numeric::from_f32(c.float(0)? as f32).to_datum())
}
fn float_numeric(c: &Call) -> Result<Datum> {
    Ok(Numeric::from_f64(c.float(0)?).to_datum())
}
fn numeric_real(c: &Call) -> Result<Datum> {
    Ok(float::to_datum(c.numeric(0)?.to_float(true)?))
}
fn numeric_float(c: &Call) -> Result<Datum> {
    Ok(float::to_datum(c.numeric(0)?.to_float(false)?))
}

pub(crate) const FUNCTIONS: &[(&str, Scalar)] = &[
    ("int2pl", add::<2>),
    ("int4pl int24pl int42pl", add::<4>),
    ("int8pl int28pl int48pl int82pl int84pl", add::<8>),
    ("int2mi", sub::<2>),
    ("int4mi int24mi int42mi", sub::<4>),
    ("int8mi int28mi int48mi int82mi int84mi", sub::<8>),
    ("int2mul", mul::<2>),
    ("int4mul int24mul int42mul", mul::<4>),
    ("int8mul int28mul int48mul int82mul int84mul", mul::<8>),
    ("int2div", div::<2>),
    ("int4div int24div int42div", div::<4>),
    ("int8div int28div int48div int82div int84div", div::<8>),
    ("int2mod int4mod int8mod", rem),
    ("int2um", neg::<2>),
    ("int4um", neg::<4>),
    ("int8um", neg::<8>),
    ("int2abs", abs::<2>),
    ("int4abs", abs::<4>),
    ("int8abs", abs::<8>),
    ("int4gcd", gcd::<4>),
    ("int8gcd", gcd::<8>),
    ("int4lcm", lcm::<4>),
    ("int8lcm", lcm::<8>),
    ("int2shl", shl::<2>),
    ("int4shl", shl::<4>),
    ("int8shl", shl::<8>),
    ("int2shr", shr::<2>),
    ("int4shr", shr::<4>),
    ("int8shr", shr::<8>),
    ("int2xor int4xor int8xor", xor),
    ("float4pl", fadd::<true>),
    ("float8pl float48pl float84pl", fadd::<false>),
    ("float4mi", fsub::<true>),
    ("float8mi float48mi float84mi", fsub::<false>),
    ("float4mul", fmul::<true>),
    ("float8mul float48mul float84mul", fmul::<false>),
    ("float4div", fdiv::<true>),
    ("float8div float48div float84div", fdiv::<false>),
    ("float4um float8um", fneg),
    ("float4abs float8abs", fabs),
    ("dceil", ceil),
    ("dfloor", floor),
    ("dround", round),
    ("dtrunc", trunc),
    ("dsign", sign),
    ("dsqrt", sqrt),
    ("dcbrt", cbrt),
    ("dpow", pow),
    ("dexp", exp),
    ("dlog1", ln),
    ("dlog10", log10),
    ("dsin", sin),
    ("dcos", cos),
    ("dtan", tan),
    ("dcot", cot),
    ("dasin", asin),
    ("dacos", acos),
    ("datan", atan),
    ("datan2", atan2),
    ("dsind", sind),
    ("dcosd", cosd),
    ("dtand", tand),
    ("dcotd", cotd),
    ("dasind", asind),
    ("dacosd", acosd),
    ("datand", atand),
    ("datan2d", atan2d),
    ("dsinh", sinh),
    ("dcosh", cosh),
    ("dtanh", tanh),
    ("dasinh", asinh),
    ("dacosh", acosh),
    ("datanh", atanh),
    ("dpi", pi),
    ("degrees", degrees),
    ("radians", radians),
    ("drandom", random),
    ("setseed", setseed),
    ("width_bucket_float8", width_bucket_float),
    ("width_bucket_numeric", width_bucket_numeric),
    ("numeric_add", numeric_add),
    ("numeric_sub", numeric_sub),
    ("numeric_mul", numeric_mul),
    ("numeric_div", numeric_div),
    ("numeric_mod", numeric_mod),
    ("numeric_div_trunc", numeric_div_trunc),
    ("numeric_uminus", numeric_neg),
    ("numeric_abs", numeric_abs),
    ("numeric_sign", numeric_sign),
    ("numeric_ceil", numeric_ceil),
    ("numeric_floor", numeric_floor),
    ("numeric_round", numeric_round),
    ("numeric_trunc", numeric_trunc),
    ("round(numeric)", numeric_round0),
    ("trunc(numeric)", numeric_trunc0),
    ("log(numeric) log10(numeric)", numeric_log10),
    ("numeric_sqrt", numeric_sqrt),
    ("numeric_exp", numeric_exp),
    ("numeric_ln", numeric_ln),
    ("numeric_log", numeric_log),
    ("numeric_power", numeric_power),
    ("numeric_fac", numeric_factorial),
    ("numeric_gcd", numeric_gcd),
    ("numeric_lcm", numeric_lcm),
    ("numeric_scale", numeric_scale),
    ("numeric_min_scale", numeric_min_scale),
    ("numeric_trim_scale", numeric_trim_scale),
    ("numeric_inc", numeric_inc),
    ("numeric", numeric_typmod),
    ("i4toi2 int82", narrow::<2>),
    ("int84", narrow::<4>),
    ("i8tooid", int_oid),
    ("i4tof i8tof", int_real),
    ("dtoi2 ftoi2", float_int::<2>),
    ("dtoi4 ftoi4", float_int::<4>),
    ("dtoi8 ftoi8", float_int::<8>),
    ("dtof", float_real),
    ("int2_numeric int4_numeric int8_numeric", int_numeric),
    ("float4_numeric", real_numeric),
    ("float8_numeric", float_numeric),
    ("numeric_int2", numeric_int2),
    ("numeric_int4", numeric_int4),
    ("numeric_int8", numeric_int8),
    ("numeric_float4", numeric_real),
    ("numeric_float8", numeric_float),
];

#[cfg(test)]
mod tests {
    /// A toolchain that took cbrt of the system's C library would give other answers than the one before.
    #[test]
    fn cube_roots_of_cubes_are_exact() {
        let wrong = (1..200_000u64).find(|n| std::hint::black_box((n * n * n) as f64).cbrt() != *n as f64);
        // (beyond 208063 a cube may have more than 53 bits)
        assert_eq!(wrong, None);
    }
}
