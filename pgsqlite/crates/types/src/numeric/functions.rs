//! Square root, exponential, logarithms and powers of `numeric`. How many digits a result has is decided as
//! PostgreSQL decides it; the digits are then computed in binary fixed point with guard bits and rounded once.

use super::arith::divide_rounded;
use super::{big_digits, bits, overflow, pow10, Decimal, Numeric, MAX_DISPLAY_SCALE, MIN_SIGNIFICANT};
use crate::{work, PgError, Result, SqlState};
use num_bigint::{BigInt, Sign};
use num_traits::{Signed, ToPrimitive};
use Numeric::{Finite, Infinity, NaN, NegInfinity};

/// Digits that a result computed by series may have at most.
const MAX_RESULT_SCALE: f64 = 2000.0;
/// log10(e), with the digits PostgreSQL's estimate uses.
#[allow(clippy::approx_constant)]
const LOG10_E: f64 = 0.434294481903252;
const BITS_PER_DIGIT: f64 = 3.3219280948873626;

fn log_error(message: &str) -> PgError {
    PgError::new(SqlState::INVALID_ARGUMENT_FOR_LOGARITHM, message)
}
fn power_error(message: &str) -> PgError {
    PgError::new(SqlState::INVALID_ARGUMENT_FOR_POWER_FUNCTION, message)
}

/// Bits that hold `digits` decimal digits and a reserve.
fn bits_for(digits: f64) -> u64 {
    (digits.max(0.0) * BITS_PER_DIGIT) as u64 + 96
}

/// `2^bits × ln 2`, by the series of 2 artanh(1/3).
fn ln2(bits: u64) -> BigInt {
    artanh_series(&((BigInt::from(1) << bits) / 3), bits) << 1
}

/// artanh(t) for fixed-point |t| ≤ 1/3.
fn artanh_series(t: &BigInt, bits: u64) -> BigInt {
    let square: BigInt = (t * t) >> bits;
    let (mut power, mut sum, mut k) = (t.clone(), t.clone(), 3u32);
    loop {
        crate::work::pulse(1);
        power = (&power * &square) >> bits;
        let term = &power / k;
        if term.sign() == Sign::NoSign || power == BigInt::from(-1) {
            return sum;
        }
        sum += term;
        k += 2;
    }
}

/// `2^bits × ln d` for d > 0.
fn ln_fixed(d: &Decimal, bits: u64) -> BigInt {
    const ROOTS: u64 = 8;
    let work = bits + 2 * ROOTS + 32;
    let c = d.coefficient.big();
    let unit = pow10(d.scale as u64);
    // d = m × 2^e with 1/2 < m < 2
    let e = c.bits() as i64 - unit.bits() as i64;
    let shift = work as i64 - e;
    let mut m: BigInt = if shift >= 0 { (c << shift as u64) / unit } else { c / (unit << shift.unsigned_abs()) };
    for _ in 0..ROOTS {
        crate::work::pulse(1);
        m = (m << work).sqrt();
    }
    let one = BigInt::from(1) << work;
    let t: BigInt = ((&m - &one) << work) / (&m + &one);
    let ln_m: BigInt = artanh_series(&t, work) << (1 + ROOTS);
    (ln_m + ln2(work) * e) >> (work - bits)
}

/// `e^(x / 2^bits)` as (mantissa with `bits` fraction bits, power of two).
fn exp_fixed(x: &BigInt, bits: u64) -> (BigInt, i64) {
    const HALVINGS: u64 = 8;
    let work = bits + 2 * HALVINGS + 32 + x.bits().saturating_sub(bits);
    let x: BigInt = x << (work - bits);
    let ln2 = ln2(work);
    let k = divide_rounded(&x, &ln2);
    let r: BigInt = (&x - &k * &ln2) >> HALVINGS;
    let one = BigInt::from(1) << work;
    let (mut term, mut sum, mut n) = (one.clone(), one, 1u32);
    loop {
        crate::work::pulse(1);
        term = ((&term * &r) >> work) / n;
        if term.sign() == Sign::NoSign || term == BigInt::from(-1) {
            break;
        }
        sum += &term;
        n += 1;
    }
    for _ in 0..HALVINGS {
        crate::work::pulse(1);
        sum = (&sum * &sum) >> work;
    }
    (sum >> (work - bits), k.to_i64().unwrap_or(i64::MAX))
}

/// A fixed-point value × 2^exponent, rounded to `scale` decimal digits.
fn to_decimal(mantissa: &BigInt, bits: u64, exponent: i64, scale: i64) -> Result<Numeric> {
    let scaled = mantissa * pow10(scale as u64);
    let shift = bits as i64 - exponent;
    let coefficient = if shift >= 0 {
        divide_rounded(&scaled, &(BigInt::from(1) << shift as u64))
    } else {
        scaled << shift.unsigned_abs()
    };
    Numeric::from_big(coefficient, scale)
}

impl Decimal {
    fn to_f64(&self) -> f64 {
        Finite(self.clone()).to_f64()
    }

    /// Estimates the decimal exponent of ln(self), as PostgreSQL does.
    fn ln_exponent(&self) -> i64 {
        let value = Finite(self.clone());
        let close = |text: &str| Numeric::parse(text).unwrap_or(NaN);
        if value >= close("0.9") && value <= close("1.1") {
            let Ok(Finite(x)) = value.sub(&Numeric::one()) else { return 0 };
            if x.coefficient.is_zero() {
                return 0;
            }
            let (weight, first) = x.weight();
            return weight * 4 + (first as f64).log10() as i64;
        }
        // ln of the first digits + the exponent.
        let digits = self.coefficient.digits();
        let drop = (digits - 15).max(0);
        let leading = (self.coefficient.big() / pow10(drop as u64)).to_f64().unwrap_or(1.0);
        let ln = leading.ln() + (drop - self.scale as i64) as f64 * std::f64::consts::LN_10;
        ln.abs().log10() as i64
    }

    fn is_integer(&self) -> bool {
        matches!(Finite(self.clone()).min_scale(), Some(0))
    }
}

fn display_scale(scale: i64, arguments: &[&Decimal]) -> i64 {
    arguments.iter().map(|d| d.scale as i64).fold(scale, i64::max).clamp(0, MAX_DISPLAY_SCALE)
}

impl Numeric {
    /// Square root; 2201F for a negative number.
    pub fn sqrt(&self) -> Result<Numeric> {
        let d = match self {
            NaN | Infinity => return Ok(self.clone()),
            Finite(d) if d.coefficient.signum() >= 0 => d,
            _ => return Err(power_error("cannot take square root of a negative number")),
        };
        let (weight, _) = d.weight();
        // C's division cuts towards zero.
        let scale = display_scale(MIN_SIGNIFICANT - ((weight + 1) * 4 / 2 - 1), &[d]);
        let shift = 2 * scale - d.scale as i64;
        let n = if shift >= 0 {
            d.coefficient.big() * pow10(shift as u64)
        } else {
            d.coefficient.big() / pow10(shift.unsigned_abs())
        };
        let root = n.sqrt();
        let up = &n - &root * &root > root;
        Numeric::from_big(if up { root + 1 } else { root }, scale)
    }

    /// e to this power.
    pub fn exp(&self) -> Result<Numeric> {
        let d = match self {
            NaN | Infinity => return Ok(self.clone()),
            NegInfinity => return Ok(Numeric::zero()),
            Finite(d) => d,
        };
        let value = d.to_f64();
        let magnitude = (value * LOG10_E).clamp(-MAX_RESULT_SCALE, MAX_RESULT_SCALE);
        let scale = display_scale(MIN_SIGNIFICANT - magnitude as i64, &[d]);
        if value.abs() >= MAX_RESULT_SCALE * 3.0 {
            if value > 0.0 {
                return Err(overflow());
            }
            return Ok(Numeric::small(0, scale as u16));
        }
        let bits = bits_for(scale as f64 + (value * LOG10_E).max(0.0));
        let x = divide_rounded(&(d.coefficient.big() << bits), &pow10(d.scale as u64));
        let (mantissa, exponent) = exp_fixed(&x, bits);
        to_decimal(&mantissa, bits, exponent, scale)
    }

    /// The argument of a logarithm, checked: None for NaN and infinity, which are their own logarithms.
    fn log_argument(&self) -> Result<Option<&Decimal>> {
        match self {
            NaN | Infinity => Ok(None),
            NegInfinity => Err(log_error("cannot take logarithm of a negative number")),
            Finite(d) if d.coefficient.is_zero() => Err(log_error("cannot take logarithm of zero")),
            Finite(d) if d.coefficient.signum() < 0 => Err(log_error("cannot take logarithm of a negative number")),
            Finite(d) => Ok(Some(d)),
        }
    }

    /// Natural logarithm; 2201E where the argument is not positive.
    pub fn ln(&self) -> Result<Numeric> {
        let Some(d) = self.log_argument()? else { return Ok(self.clone()) };
        let scale = display_scale(MIN_SIGNIFICANT - d.ln_exponent(), &[d]);
        let bits = bits_for(scale as f64);
        to_decimal(&ln_fixed(d, bits), bits, 0, scale)
    }

    /// Logarithm of `self` to `base`; 2201E where an argument is not positive.
    pub fn log(&self, base: &Numeric) -> Result<Numeric> {
        if self.is_nan() || base.is_nan() {
            return Ok(NaN);
        }
        if !(self.is_finite() && base.is_finite()) && (self.is_negative() || base.is_negative()) {
            return Err(log_error("cannot take logarithm of a negative number"));
        }
        let b = base.log_argument()?;
        let x = self.log_argument()?;
        let (x, b) = match (x, b) {
            (Some(x), Some(b)) => (x, b),
            (None, None) => return Ok(NaN),
            (None, Some(_)) => return Ok(Infinity),
            (Some(_), None) => return Ok(Numeric::zero()),
        };
        let (exponent_b, exponent_x) = (b.ln_exponent(), x.ln_exponent());
        let scale = display_scale(MIN_SIGNIFICANT - (exponent_x - exponent_b), &[b, x]);
        let bits = bits_for((scale + 2 * exponent_b.abs() + exponent_x.abs() + 8) as f64);
        let ln_b = ln_fixed(b, bits);
        // ln 1 in fixed point is a few units beside zero, not zero.
        if (Finite(b.clone())) == Numeric::one() {
            return Err(super::arith::division_by_zero());
        }
        let ratio: BigInt = (ln_fixed(x, bits) << bits) / ln_b;
        to_decimal(&ratio, bits, 0, scale)
    }

    /// `self` to the power `exponent`; 2201F where the result is undefined or complex.
    pub fn power(&self, exponent: &Numeric) -> Result<Numeric> {
        let (base, power) = match (self, exponent) {
            (Finite(base), Finite(power)) => (base, power),
            _ => return power_special(self, exponent),
        };
        let sign = base.coefficient.signum();
        if sign == 0 && power.coefficient.signum() < 0 {
            return Err(power_error("zero raised to a negative power is undefined"));
        }
        let integer = power.is_integer();
        if sign < 0 && !integer {
            return Err(power_error("a negative number raised to a non-integer power yields a complex result"));
        }
        if integer {
            if let Some(n) = Finite(power.clone()).to_i64().ok().and_then(|n| i32::try_from(n).ok()) {
                return power_integer(base, n, display_scale(MIN_SIGNIFICANT - power_weight(base, n), &[base, power]));
            }
        }
        if sign == 0 {
            return Ok(Numeric::small(0, MIN_SIGNIFICANT as u16));
        }
        let magnitude_base = Decimal { coefficient: base.coefficient.clone(), scale: base.scale };
        let Finite(magnitude_base) = Finite(magnitude_base).abs() else { return Ok(NaN) };
        // A huge integer exponent keeps the sign by its parity.
        let odd = integer && Finite(power.clone()).rem(&Numeric::from(2))?.is_zero().eq(&false);
        let size = power.coefficient.digits() - power.scale as i64;
        // The first estimate is as coarse as PostgreSQL's, because the digits of the result depend on it.
        let rough_scale = (8 - magnitude_base.ln_exponent()).clamp(0, MAX_DISPLAY_SCALE);
        let rough_bits = bits_for(rough_scale as f64);
        let rough_ln = to_decimal(&ln_fixed(&magnitude_base, rough_bits), rough_bits, 0, rough_scale)?;
        let value = rough_ln.mul(&Finite(power.clone()))?.round(rough_scale as i32).to_f64();
        if value.abs() > MAX_RESULT_SCALE * 3.01 {
            if value > 0.0 {
                return Err(overflow());
            }
            return Ok(Numeric::small(0, MAX_DISPLAY_SCALE as u16));
        }
        let magnitude = value * LOG10_E;
        let scale = display_scale(MIN_SIGNIFICANT - magnitude as i64, &[base, power]);
        let bits = bits_for(scale as f64 + magnitude.max(0.0) + size.max(0) as f64 + 8.0);
        let x = times(&ln_fixed(&magnitude_base, bits), power);
        let (mantissa, exponent) = exp_fixed(&x, bits);
        let result = to_decimal(&mantissa, bits, exponent, scale)?;
        Ok(if sign < 0 && odd { result.neg() } else { result })
    }

    /// n!; 22003 for a negative n and for what the format cannot hold.
    pub fn factorial(n: i64) -> Result<Numeric> {
        if n < 0 {
            return Err(PgError::new(
                SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
                "factorial of a negative number is undefined",
            ));
        }
        if n > 32_177 {
            return Err(overflow());
        }
        let mut product = BigInt::from(1);
        for k in 2..=n {
            work::tick(4 + bits(&product) / 256)?;
            product *= k;
        }
        Numeric::from_big(product, 0)
    }
}

/// fixed point × decimal
fn times(x: &BigInt, d: &Decimal) -> BigInt {
    divide_rounded(&(x * d.coefficient.big()), &pow10(d.scale as u64))
}

/// Powers with NaN or an infinity, by the rules of POSIX pow().
fn power_special(base: &Numeric, power: &Numeric) -> Result<Numeric> {
    let one = Numeric::one();
    if base.is_nan() || power.is_nan() {
        return Ok(if power.is_zero() || *base == one { one } else { NaN });
    }
    if *base == one || power.is_zero() {
        return Ok(one);
    }
    if base.is_zero() {
        if power.is_negative() {
            return Err(power_error("zero raised to a negative power is undefined"));
        }
        return Ok(Numeric::zero());
    }
    if power.is_infinite() {
        if *base == Numeric::from(-1) {
            return Ok(one);
        }
        let grows = base.abs() > one;
        return Ok(if grows != power.is_negative() { Infinity } else { Numeric::zero() });
    }
    // The base is infinite, the power finite and not zero.
    if matches!(base, Infinity) {
        return Ok(if power.is_negative() { Numeric::zero() } else { Infinity });
    }
    let Finite(p) = power else { return Ok(NaN) };
    if !p.is_integer() {
        return Err(power_error("a negative number raised to a non-integer power yields a complex result"));
    }
    if power.is_negative() {
        return Ok(Numeric::zero());
    }
    let odd = !power.rem(&Numeric::from(2))?.is_zero();
    Ok(if odd { NegInfinity } else { Infinity })
}

/// The decimal weight of base^n, estimated as PostgreSQL does: from the first groups of four digits of the base.
fn power_weight(base: &Decimal, n: i32) -> i64 {
    if base.coefficient.is_zero() {
        return 0;
    }
    let mut digits = base.coefficient.big().abs().to_string();
    // whole groups on both sides of the point
    digits.push_str(&"0".repeat((4 - base.scale as usize % 4) % 4));
    let mut point = (base.scale as i64 + 3) / 4;
    digits.insert_str(0, &"0".repeat((4 - digits.len() % 4) % 4));
    let mut groups: Vec<f64> =
        digits.as_bytes().chunks(4).map(|g| g.iter().fold(0.0, |n, d| n * 10.0 + f64::from(d - b'0'))).collect();
    let zeros = groups.iter().rev().take_while(|g| **g == 0.0).count();
    groups.truncate(groups.len() - zeros);
    point -= zeros as i64;
    let groups = &groups[groups.iter().position(|g| *g != 0.0).unwrap_or_default()..];
    let mut exponent = (groups.len() as i64 - 1 - point) * 4;
    let more = &groups[1..groups.len().min(4)];
    let leading = more.iter().fold(groups[0], |n, group| n * 10_000.0 + group);
    exponent -= 4 * more.len() as i64;
    // C's conversion cuts towards zero.
    (f64::from(n) * (leading.log10() + exponent as f64)) as i64
}

/// base^n with `scale` digits after the point.
fn power_integer(base: &Decimal, n: i32, scale: i64) -> Result<Numeric> {
    if n == 0 {
        return Decimal::rescale(&one_decimal(), scale, true);
    }
    if base.coefficient.is_zero() {
        return Ok(Numeric::small(0, scale as u16));
    }
    // Decimal exponent of the result, from the first digits of the base.
    let digits = base.coefficient.digits();
    let drop = (digits - 17).max(0);
    let leading = (base.coefficient.big().abs() / pow10(drop as u64)).to_f64().unwrap_or(1.0);
    let magnitude = (leading.log10() + (drop - base.scale as i64) as f64) * n as f64;
    if magnitude > (super::MAX_WHOLE_DIGITS + 8) as f64 {
        return Err(overflow());
    }
    if magnitude + 1.0 < -(scale as f64) || magnitude + 1.0 < -(MAX_DISPLAY_SCALE as f64) {
        return Ok(Numeric::small(0, scale as u16));
    }
    // Significant digits that every product is cut to; each product doubles the relative error at most.
    let keep = scale + magnitude.max(0.0) as i64 + 40;
    let cut = |c: BigInt, e: i64| -> (BigInt, i64) {
        let excess = big_digits(&c) - keep;
        if excess > keep / 4 {
            (divide_rounded(&c, &pow10(excess as u64)), e + excess)
        } else {
            (c, e)
        }
    };
    let mut square = (base.coefficient.big(), -(base.scale as i64));
    let mut result = (BigInt::from(1), 0i64);
    let mut rest = n.unsigned_abs();
    while rest > 0 {
        crate::work::pulse(1);
        if rest & 1 == 1 {
            result = cut(&result.0 * &square.0, result.1 + square.1);
        }
        rest >>= 1;
        if rest > 0 {
            square = cut(&square.0 * &square.0, square.1 * 2);
        }
    }
    let (coefficient, exponent) = result;
    if n > 0 {
        let shift = exponent + scale;
        let c = if shift >= 0 {
            coefficient * pow10(shift as u64)
        } else {
            divide_rounded(&coefficient, &pow10(shift.unsigned_abs()))
        };
        return Numeric::from_big(c, scale);
    }
    // 1 / (c × 10^e) = 10^-e / c
    let shift = scale - exponent;
    if shift < 0 {
        return Numeric::from_big(
            divide_rounded(&BigInt::from(1), &(coefficient * pow10(shift.unsigned_abs()))),
            scale,
        );
    }
    Numeric::from_big(divide_rounded(&pow10(shift as u64), &coefficient), scale)
}

fn one_decimal() -> Decimal {
    Decimal { coefficient: super::Coefficient::Small(1), scale: 0 }
}
