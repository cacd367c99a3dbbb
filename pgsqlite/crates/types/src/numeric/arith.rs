//! The operators of `numeric`: results and result scales are PostgreSQL's.

use super::{announce, bits, pow10, Coefficient, Decimal, Numeric, MAX_DISPLAY_SCALE, MAX_SCALE, MIN_SIGNIFICANT};
use crate::{work, PgError, Result, SqlState};
use num_bigint::{BigInt, Sign};
use num_integer::Integer;
use num_traits::Signed;
use std::cmp::Ordering;
use Numeric::{Finite, Infinity, NaN, NegInfinity};

pub(crate) fn division_by_zero() -> PgError {
    PgError::new(SqlState::DIVISION_BY_ZERO, "division by zero")
}

/// `n / d`, rounded half away from zero.
pub(super) fn divide_rounded(n: &BigInt, d: &BigInt) -> BigInt {
    announce(bits(n), bits(d));
    let (q, r) = n.div_rem(d);
    if r.abs() * 2 >= d.abs() {
        let up = BigInt::from(if n.is_negative() == d.is_negative() { 1 } else { -1 });
        return q + up;
    }
    q
}

/// The product of two big coefficients.
fn product(a: &Coefficient, b: &Coefficient) -> BigInt {
    let (a, b) = (a.big(), b.big());
    announce(bits(&a), bits(&b));
    a * b
}

fn divide_rounded_small(n: i128, d: i128) -> i128 {
    let (q, r) = (n / d, n % d);
    if r.unsigned_abs() >= d.unsigned_abs() - r.unsigned_abs() {
        q + if (n < 0) == (d < 0) { 1 } else { -1 }
    } else {
        q
    }
}

impl Decimal {
    /// Exponent of the first digit in base 10,000 and that digit (0 to 9999): PostgreSQL's weight.
    pub(super) fn weight(&self) -> (i64, i64) {
        let digits = self.coefficient.digits();
        if digits == 0 {
            return (0, 0);
        }
        let exponent = digits - self.scale as i64 - 1;
        let weight = exponent.div_euclid(4);
        let in_group = exponent - weight * 4 + 1;
        let first = match &self.coefficient {
            Coefficient::Small(c) if digits > in_group => c.unsigned_abs() / 10u128.pow((digits - in_group) as u32),
            Coefficient::Small(c) => c.unsigned_abs() * 10u128.pow((in_group - digits) as u32),
            Coefficient::Big(c) => {
                u128::try_from((c.abs() / pow10((digits - in_group) as u64)).magnitude()).unwrap_or(0)
            }
        };
        (weight, first as i64)
    }

    /// Rounded (half away from zero) or cut to `scale` digits after the point; a negative scale clears digits before
    /// it. A larger scale adds zeros.
    pub(super) fn rescale(&self, scale: i64, round: bool) -> Result<Numeric> {
        let shift = scale - self.scale as i64;
        if shift >= 0 {
            if let (Coefficient::Small(c), true) = (&self.coefficient, shift <= 38) {
                if let Some(v) = c.checked_mul(10i128.pow(shift as u32)) {
                    return Numeric::checked(Coefficient::Small(v), scale);
                }
            }
            return Numeric::from_big(self.coefficient.big() * pow10(shift as u64), scale);
        }
        let drop = shift.unsigned_abs();
        if drop as i64 > self.coefficient.digits() + 1 {
            return Ok(Numeric::small(0, scale.max(0) as u16));
        }
        let kept = match &self.coefficient {
            Coefficient::Small(c) if drop <= 38 => {
                let unit = 10i128.pow(drop as u32);
                BigInt::from(if round { divide_rounded_small(*c, unit) } else { c / unit })
            }
            c if round => divide_rounded(&c.big(), &pow10(drop)),
            c => c.big() / pow10(drop),
        };
        if scale < 0 {
            return Numeric::from_big(kept * pow10(scale.unsigned_abs()), 0);
        }
        Numeric::from_big(kept, scale)
    }
}

impl Numeric {
    pub fn neg(&self) -> Numeric {
        match self {
            NaN => NaN,
            Infinity => NegInfinity,
            NegInfinity => Infinity,
            Finite(d) => Finite(Decimal {
                coefficient: match &d.coefficient {
                    Coefficient::Small(i128::MIN) => Coefficient::from_big(-BigInt::from(i128::MIN)),
                    Coefficient::Small(c) => Coefficient::Small(-c),
                    Coefficient::Big(c) => Coefficient::from_big(-c),
                },
                scale: d.scale,
            }),
        }
    }

    pub fn abs(&self) -> Numeric {
        if self.is_negative() {
            self.neg()
        } else {
            self.clone()
        }
    }

    /// -1, 0, 1 or NaN.
    pub fn sign(&self) -> Numeric {
        match self {
            NaN => NaN,
            Infinity => Numeric::from(1),
            NegInfinity => Numeric::from(-1),
            Finite(d) => Numeric::from(d.coefficient.signum() as i64),
        }
    }

    pub fn add(&self, other: &Numeric) -> Result<Numeric> {
        match (self, other) {
            (NaN, _) | (_, NaN) | (Infinity, NegInfinity) | (NegInfinity, Infinity) => Ok(NaN),
            (Finite(a), Finite(b)) => {
                let scale = a.scale.max(b.scale);
                if let (Coefficient::Small(x), Coefficient::Small(y)) = (&a.coefficient, &b.coefficient) {
                    let widen = |v: i128, s: u16| 10i128.checked_pow((scale - s) as u32).and_then(|f| v.checked_mul(f));
                    let sum = widen(*x, a.scale).zip(widen(*y, b.scale)).and_then(|(x, y)| x.checked_add(y));
                    if let Some(sum) = sum {
                        return Ok(Numeric::small(sum, scale));
                    }
                }
                Numeric::from_big(a.coefficient_at(scale) + b.coefficient_at(scale), scale as i64)
            }
            (Finite(_), infinite) | (infinite, _) => Ok(infinite.clone()),
        }
    }

    pub fn sub(&self, other: &Numeric) -> Result<Numeric> {
        self.add(&other.neg())
    }

    pub fn mul(&self, other: &Numeric) -> Result<Numeric> {
        match (self, other) {
            (NaN, _) | (_, NaN) => Ok(NaN),
            (Finite(a), Finite(b)) => {
                let scale = a.scale as i64 + b.scale as i64;
                if let (Coefficient::Small(x), Coefficient::Small(y)) = (&a.coefficient, &b.coefficient) {
                    if let (Some(product), true) = (x.checked_mul(*y), scale <= MAX_SCALE) {
                        return Ok(Numeric::small(product, scale as u16));
                    }
                }
                let product = product(&a.coefficient, &b.coefficient);
                if scale > MAX_SCALE {
                    let product = divide_rounded(&product, &pow10((scale - MAX_SCALE) as u64));
                    return Numeric::from_big(product, MAX_SCALE);
                }
                Numeric::from_big(product, scale)
            }
            // Infinity times zero is NaN, otherwise the signs decide.
            (a, b) if a.is_zero() || b.is_zero() => Ok(NaN),
            (a, b) if a.is_negative() == b.is_negative() => Ok(Infinity),
            _ => Ok(NegInfinity),
        }
    }

    /// Quotient with at least 16 significant digits; division by zero is 22012.
    pub fn div(&self, other: &Numeric) -> Result<Numeric> {
        match (self, other) {
            (Finite(a), Finite(b)) => {
                if b.coefficient.is_zero() {
                    return Err(division_by_zero());
                }
                let ((weight_a, first_a), (weight_b, first_b)) = (a.weight(), b.weight());
                let weight = weight_a - weight_b - i64::from(first_a <= first_b);
                let scale =
                    (MIN_SIGNIFICANT - weight * 4).max(a.scale as i64).max(b.scale as i64).clamp(0, MAX_DISPLAY_SCALE);
                quotient(a, b, scale)
            }
            _ => self.divide_special(other),
        }
    }

    /// Division where an operand is not finite.
    fn divide_special(&self, other: &Numeric) -> Result<Numeric> {
        match (self, other) {
            (NaN, _) | (_, NaN) => Ok(NaN),
            (a, b) if a.is_infinite() && b.is_infinite() => Ok(NaN),
            (a, b) if a.is_infinite() => {
                if b.is_zero() {
                    return Err(division_by_zero());
                }
                Ok(if a.is_negative() == b.is_negative() { Infinity } else { NegInfinity })
            }
            _ => Ok(Numeric::zero()),
        }
    }

    /// `div(a, b)`: the quotient cut to an integer.
    pub fn div_trunc(&self, other: &Numeric) -> Result<Numeric> {
        match (self, other) {
            (Finite(a), Finite(b)) => {
                if b.coefficient.is_zero() {
                    return Err(division_by_zero());
                }
                let scale = a.scale.max(b.scale);
                let (a, b) = (a.coefficient_at(scale), b.coefficient_at(scale));
                announce(bits(&a), bits(&b));
                Numeric::from_big(a / b, 0)
            }
            _ => self.divide_special(other),
        }
    }

    /// `a % b` with the sign of `a`.
    pub fn rem(&self, other: &Numeric) -> Result<Numeric> {
        match (self, other) {
            (NaN, _) | (_, NaN) => Ok(NaN),
            (a, b) if a.is_infinite() => {
                if b.is_zero() {
                    return Err(division_by_zero());
                }
                Ok(NaN)
            }
            (Finite(a), Finite(b)) => {
                if b.coefficient.is_zero() {
                    return Err(division_by_zero());
                }
                let scale = a.scale.max(b.scale);
                let (a, b) = (a.coefficient_at(scale), b.coefficient_at(scale));
                announce(bits(&a), bits(&b));
                Numeric::from_big(a % b, scale as i64)
            }
            (a, _) => Ok(a.clone()),
        }
    }

    /// Rounded half away from zero to `scale` digits after the point (before it where negative).
    pub fn round(&self, scale: i32) -> Numeric {
        self.round_or_trunc(scale, true)
    }
    /// As [`Numeric::round`]; 22003 where rounding up needs one digit more than the type has.
    pub fn round_checked(&self, scale: i32) -> Result<Numeric> {
        match self {
            Finite(d) => d.rescale((scale as i64).clamp(-super::MAX_WHOLE_DIGITS - 1, super::MAX_SCALE), true),
            other => Ok(other.clone()),
        }
    }
    /// The sum of two finite numbers, without the limits of what can be stored: for what goes on inside a computation.
    pub fn add_unlimited(&self, other: &Numeric) -> Numeric {
        match (self, other) {
            (Finite(a), Finite(b)) => self.add(other).unwrap_or_else(|_| {
                let scale = a.scale.max(b.scale);
                let coefficient = Coefficient::from_big(a.coefficient_at(scale) + b.coefficient_at(scale));
                Finite(Decimal { coefficient, scale })
            }),
            _ => NaN,
        }
    }
    /// The exact product of two finite numbers, without the limits of what can be stored.
    pub fn mul_unlimited(&self, other: &Numeric) -> Numeric {
        match (self, other) {
            (Finite(a), Finite(b)) => match (&a.coefficient, &b.coefficient, a.scale.checked_add(b.scale)) {
                (Coefficient::Small(x), Coefficient::Small(y), Some(scale)) if x.checked_mul(*y).is_some() => {
                    Finite(Decimal { coefficient: Coefficient::Small(x * y), scale })
                }
                (x, y, Some(scale)) => Finite(Decimal { coefficient: Coefficient::from_big(product(x, y)), scale }),
                // Two stored numbers have half as many digits each.
                (_, _, None) => NaN,
            },
            _ => NaN,
        }
    }
    /// As [`Numeric::round`], towards zero.
    pub fn trunc(&self, scale: i32) -> Numeric {
        self.round_or_trunc(scale, false)
    }
    fn round_or_trunc(&self, scale: i32, round: bool) -> Numeric {
        match self {
            // No more digits than the type has.
            Finite(d) => d
                .rescale((scale as i64).clamp(-super::MAX_WHOLE_DIGITS - 1, super::MAX_SCALE), round)
                .unwrap_or_else(|_| self.clone()),
            other => other.clone(),
        }
    }

    pub fn ceil(&self) -> Numeric {
        let cut = self.trunc(0);
        if cut.is_finite() && cut.cmp(self) == Ordering::Less {
            return cut.add(&Numeric::one()).unwrap_or(cut);
        }
        cut
    }
    pub fn floor(&self) -> Numeric {
        let cut = self.trunc(0);
        if cut.is_finite() && cut.cmp(self) == Ordering::Greater {
            return cut.sub(&Numeric::one()).unwrap_or(cut);
        }
        cut
    }

    /// Digits after the point as shown; None for NaN and infinities.
    pub fn scale(&self) -> Option<i32> {
        match self {
            Finite(d) => Some(d.scale as i32),
            _ => None,
        }
    }
    /// Digits after the point that the value needs.
    pub fn min_scale(&self) -> Option<i32> {
        self.trim_scale().scale()
    }
    /// The same value without trailing zeros after the point.
    pub fn trim_scale(&self) -> Numeric {
        let Finite(d) = self else { return self.clone() };
        if d.coefficient.is_zero() {
            return Numeric::zero();
        }
        let mut d = d.clone();
        let ten = BigInt::from(10);
        while d.scale > 0 {
            crate::work::pulse(match &d.coefficient {
                Coefficient::Small(_) => 1,
                Coefficient::Big(c) => bits(c) / 64,
            });
            let next = match &d.coefficient {
                Coefficient::Small(c) if c % 10 == 0 => Coefficient::Small(c / 10),
                Coefficient::Small(_) => break,
                Coefficient::Big(c) => {
                    let (q, r) = c.div_rem(&ten);
                    if r.sign() != num_bigint::Sign::NoSign {
                        break;
                    }
                    Coefficient::from_big(q)
                }
            };
            d = Decimal { coefficient: next, scale: d.scale - 1 };
        }
        Finite(d)
    }

    /// Greatest common divisor, at the larger of the two scales.
    pub fn gcd(&self, other: &Numeric) -> Result<Numeric> {
        match (self, other) {
            (Finite(a), Finite(b)) => {
                let scale = a.scale.max(b.scale);
                Numeric::from_big(common_divisor(a.coefficient_at(scale), b.coefficient_at(scale))?, scale as i64)
            }
            _ => Ok(NaN),
        }
    }
    /// Least common multiple, at the larger of the two scales.
    pub fn lcm(&self, other: &Numeric) -> Result<Numeric> {
        match (self, other) {
            (Finite(a), Finite(b)) => {
                let scale = a.scale.max(b.scale);
                let (a, b) = (a.coefficient_at(scale), b.coefficient_at(scale));
                let divisor = common_divisor(a.clone(), b.clone())?;
                if divisor.sign() == Sign::NoSign {
                    return Numeric::from_big(divisor, scale as i64);
                }
                announce(bits(&a), bits(&b));
                Numeric::from_big((a / divisor * b).abs(), scale as i64)
            }
            _ => Ok(NaN),
        }
    }

    /// Applies the typmod of `numeric(p,s)` (-1: none): rounds to the scale; 22003 `numeric field overflow`.
    pub fn apply_typmod(self, typmod: i32) -> Result<Numeric> {
        let Some((precision, scale)) = crate::typmod::numeric_precision_scale(typmod) else { return Ok(self) };
        let overflow = |detail: String| {
            PgError::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "numeric field overflow").detail(detail)
        };
        let d = match &self {
            NaN => return Ok(self),
            Infinity | NegInfinity => {
                return Err(overflow(format!(
                    "A field with precision {precision}, scale {scale} cannot hold an infinite value."
                )))
            }
            Finite(d) if d.scale as i32 == scale => d.clone(),
            Finite(d) => match d.rescale(scale as i64, true)? {
                Finite(d) => d,
                other => return Ok(other),
            },
        };
        let whole = precision - scale;
        if !d.coefficient.is_zero() && d.coefficient.digits() - d.scale as i64 > whole as i64 {
            let (power, limit) = if whole == 0 { ("", 1) } else { ("10^", whole) };
            return Err(overflow(format!(
                "A field with precision {precision}, scale {scale} must round to an absolute value less than {power}{limit}."
            )));
        }
        Ok(Finite(d))
    }
}

/// The greatest common divisor, by Euclid's algorithm as long as the numbers are large: the library's own looks at no request.
fn common_divisor(mut a: BigInt, mut b: BigInt) -> Result<BigInt> {
    while bits(&a).min(bits(&b)) > 4096 {
        work::tick(bits(&a) / 64 + bits(&b) / 64)?;
        let rest = &a % &b;
        (a, b) = (b, rest);
    }
    // one of them may still be large: it is divided once, which takes no longer than a step above
    if bits(&b) > bits(&a) {
        std::mem::swap(&mut a, &mut b);
    }
    if bits(&b) > 0 {
        a %= &b;
    }
    Ok(a.gcd(&b))
}

/// `a / b` rounded to `scale` digits after the point.
fn quotient(a: &Decimal, b: &Decimal, scale: i64) -> Result<Numeric> {
    let shift = scale + b.scale as i64 - a.scale as i64;
    if let (Coefficient::Small(x), Coefficient::Small(y), 0..=38) = (&a.coefficient, &b.coefficient, shift) {
        // The divisor's magnitude must leave room for doubling the rest.
        if let (Some(n), true) = (x.checked_mul(10i128.pow(shift as u32)), y.unsigned_abs() < 1 << 126) {
            return Numeric::checked(Coefficient::Small(divide_rounded_small(n, *y)), scale);
        }
    }
    let (n, d) = if shift >= 0 {
        (a.coefficient.big() * pow10(shift as u64), b.coefficient.big())
    } else {
        (a.coefficient.big(), b.coefficient.big() * pow10(shift.unsigned_abs()))
    };
    Numeric::from_big(divide_rounded(&n, &d), scale)
}
