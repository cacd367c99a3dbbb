//! `numeric`: exact decimals with a display scale, NaN and the infinities. Stored as TEXT in PostgreSQL's own text
//! form, which keeps the scale, so most values are never parsed on their way out.
//!
//! A finite value is `coefficient × 10^-scale`. Coefficients that fit 128 bits stay in machine words, longer ones are
//! big integers; `text.rs` reads and writes, `arith.rs` has the operators with PostgreSQL's result scales,
//! `functions.rs` roots, logarithms and powers, `io.rs` the codec.

mod arith;
mod functions;
pub(crate) mod io;
mod text;

pub use text::{compare_text, Invalid};

use crate::{Datum, DatumRef, PgError, Result, SqlState};
use num_bigint::{BigInt, Sign};
use std::cmp::Ordering;

/// Most digits before the decimal point.
pub const MAX_WHOLE_DIGITS: i64 = 131_072;
/// Most digits after the decimal point.
pub const MAX_SCALE: i64 = 16_383;
/// Result scales that PostgreSQL chooses itself stay below this.
pub(crate) const MAX_DISPLAY_SCALE: i64 = 1000;
/// Significant digits that division, roots and logarithms give at least.
pub(crate) const MIN_SIGNIFICANT: i64 = 16;

/// A value of type `numeric`.
#[derive(Debug, Clone)]
pub enum Numeric {
    NegInfinity,
    Finite(Decimal),
    Infinity,
    NaN,
}

/// A finite value: `coefficient × 10^-scale`, shown with `scale` digits after the point.
#[derive(Debug, Clone)]
pub struct Decimal {
    pub(crate) coefficient: Coefficient,
    pub(crate) scale: u16,
}

/// `Small` wherever the value fits it, so equal values have equal forms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Coefficient {
    Small(i128),
    Big(BigInt),
}

impl Coefficient {
    pub(crate) fn big(&self) -> BigInt {
        match self {
            Coefficient::Small(v) => BigInt::from(*v),
            Coefficient::Big(v) => {
                crate::work::pulse(v.bits() as usize / 256);
                v.clone()
            }
        }
    }
    pub(crate) fn from_big(v: BigInt) -> Coefficient {
        match i128::try_from(&v) {
            Ok(small) => Coefficient::Small(small),
            Err(_) => Coefficient::Big(v),
        }
    }
    pub(crate) fn is_zero(&self) -> bool {
        matches!(self, Coefficient::Small(0))
    }
    pub(crate) fn signum(&self) -> i32 {
        match self {
            Coefficient::Small(v) => v.signum() as i32,
            Coefficient::Big(v) if v.sign() == Sign::Minus => -1,
            Coefficient::Big(_) => 1,
        }
    }
    /// Number of decimal digits; 0 for zero.
    pub(crate) fn digits(&self) -> i64 {
        match self {
            Coefficient::Small(0) => 0,
            Coefficient::Small(v) => v.unsigned_abs().ilog10() as i64 + 1,
            Coefficient::Big(v) => big_digits(v),
        }
    }
}

/// Number of decimal digits of a big integer; 0 for zero.
pub(crate) fn big_digits(v: &BigInt) -> i64 {
    if v.sign() == Sign::NoSign {
        return 0;
    }
    // log10(2) × bits is right or one too low.
    let low = ((v.bits() - 1) as f64 * std::f64::consts::LOG10_2) as u64;
    let mut digits = low.max(1);
    while v.magnitude() >= pow10(digits).magnitude() {
        crate::work::pulse(1);
        digits += 1;
    }
    digits as i64
}

/// A product, quotient or conversion of big integers with so many bits is about to be computed, which no request can end.
pub(crate) fn announce(bits: usize, other_bits: usize) {
    crate::work::pulse((bits / 64 + 1).saturating_mul(other_bits / 64 + 1) / 8);
}

/// The bits of a big integer.
pub(crate) fn bits(v: &BigInt) -> usize {
    v.bits() as usize
}

/// 10^n.
pub(crate) fn pow10(n: u64) -> BigInt {
    if n <= 38 {
        BigInt::from(10i128.pow(n as u32))
    } else {
        announce(n as usize * 3, n as usize * 3);
        BigInt::from(10).pow(n as u32)
    }
}

pub(crate) fn overflow() -> PgError {
    PgError::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "value overflows numeric format")
}

impl From<i64> for Numeric {
    fn from(v: i64) -> Self {
        Numeric::small(v as i128, 0)
    }
}

impl Numeric {
    pub(crate) fn small(coefficient: i128, scale: u16) -> Numeric {
        Numeric::Finite(Decimal { coefficient: Coefficient::Small(coefficient), scale })
    }

    /// `coefficient × 10^-scale`.
    pub fn of_parts(coefficient: i128, scale: u16) -> Numeric {
        Numeric::small(coefficient, scale)
    }

    /// The coefficient and the scale of a finite value whose coefficient fits 128 bits.
    pub fn small_parts(&self) -> Option<(i128, u16)> {
        match self {
            Numeric::Finite(Decimal { coefficient: Coefficient::Small(c), scale }) => Some((*c, *scale)),
            _ => None,
        }
    }

    /// `coefficient × 10^-scale`, refused (22003) where PostgreSQL's format could not hold it.
    pub(crate) fn from_big(coefficient: BigInt, scale: i64) -> Result<Numeric> {
        Numeric::checked(Coefficient::from_big(coefficient), scale)
    }

    pub(crate) fn checked(coefficient: Coefficient, scale: i64) -> Result<Numeric> {
        if !(0..=MAX_SCALE).contains(&scale) {
            return Err(overflow());
        }
        if matches!(coefficient, Coefficient::Big(_)) && coefficient.digits() - scale > MAX_WHOLE_DIGITS {
            return Err(overflow());
        }
        Ok(Numeric::Finite(Decimal { coefficient, scale: scale as u16 }))
    }

    pub fn zero() -> Numeric {
        Numeric::small(0, 0)
    }
    pub fn one() -> Numeric {
        Numeric::small(1, 0)
    }

    pub fn is_nan(&self) -> bool {
        matches!(self, Numeric::NaN)
    }
    pub fn is_finite(&self) -> bool {
        matches!(self, Numeric::Finite(_))
    }
    pub fn is_infinite(&self) -> bool {
        matches!(self, Numeric::Infinity | Numeric::NegInfinity)
    }
    pub fn is_zero(&self) -> bool {
        matches!(self, Numeric::Finite(d) if d.coefficient.is_zero())
    }
    pub fn is_negative(&self) -> bool {
        match self {
            Numeric::NegInfinity => true,
            Numeric::Finite(d) => d.coefficient.signum() < 0,
            _ => false,
        }
    }

    /// The value of a storage form: TEXT, or the INTEGER that an expression of SQLite's own gives.
    pub fn from_datum(value: DatumRef) -> Result<Numeric> {
        match value {
            DatumRef::Int(i) => Ok(Numeric::from(i)),
            DatumRef::Text(t) => Numeric::parse(t).map_err(|_| crate::buffer::bad_stored("numeric", value)),
            other => Err(crate::buffer::bad_stored("numeric", other)),
        }
    }

    /// The storage form.
    pub fn to_datum(&self) -> Datum {
        let mut text = Vec::with_capacity(24);
        self.write(&mut text);
        Datum::Text(String::from_utf8(text).expect("numerics are printed in ASCII"))
    }

    /// The nearest double (22003 never: too large a value gives infinity, as PostgreSQL's internal conversion).
    pub fn to_f64(&self) -> f64 {
        match self {
            Numeric::NaN => f64::NAN,
            Numeric::Infinity => f64::INFINITY,
            Numeric::NegInfinity => f64::NEG_INFINITY,
            Numeric::Finite(Decimal { coefficient: Coefficient::Small(c), scale: 0 }) => *c as f64,
            Numeric::Finite(_) => self.to_string().parse().unwrap_or(f64::NAN),
        }
    }

    /// What the cast to `double precision` (or `real`) gives: 22003 where the value is out of its range.
    pub fn to_float(&self, single: bool) -> Result<f64> {
        match self {
            Numeric::Finite(_) => crate::float::parse(&self.to_string(), single),
            other => Ok(other.to_f64()),
        }
    }

    /// What the cast from `double precision` gives: 15 significant digits.
    pub fn from_f64(value: f64) -> Numeric {
        Numeric::from_float(value, 15)
    }
    /// What the cast from `real` gives: 6 significant digits.
    pub fn from_f32(value: f32) -> Numeric {
        Numeric::from_float(value as f64, 6)
    }
    fn from_float(value: f64, digits: i32) -> Numeric {
        if value.is_nan() {
            Numeric::NaN
        } else if value.is_infinite() {
            if value > 0.0 {
                Numeric::Infinity
            } else {
                Numeric::NegInfinity
            }
        } else {
            Numeric::parse(&crate::float::general(value, digits)).unwrap_or(Numeric::NaN)
        }
    }

    /// Rounded half away from zero to an integer of `width`; 22003 or, for NaN and infinities, 0A000.
    pub fn to_int(&self, width: crate::int::Width) -> Result<i64> {
        let special = |what: &str| {
            PgError::new(SqlState::FEATURE_NOT_SUPPORTED, format!("cannot convert {what} to {}", width.type_name()))
        };
        match self {
            Numeric::NaN => Err(special("NaN")),
            Numeric::Infinity | Numeric::NegInfinity => Err(special("infinity")),
            Numeric::Finite(_) => {
                let Numeric::Finite(Decimal { coefficient: Coefficient::Small(c), .. }) = self.round(0) else {
                    return Err(width.out_of_range());
                };
                let low_high = match width {
                    crate::int::Width::Two => (i16::MIN as i128, i16::MAX as i128),
                    crate::int::Width::Four => (i32::MIN as i128, i32::MAX as i128),
                    crate::int::Width::Eight => (i64::MIN as i128, i64::MAX as i128),
                };
                if c < low_high.0 || c > low_high.1 {
                    return Err(width.out_of_range());
                }
                Ok(c as i64)
            }
        }
    }

    /// As [`Numeric::to_int`] for `bigint`.
    pub fn to_i64(&self) -> Result<i64> {
        self.to_int(crate::int::Width::Eight)
    }
}

impl PartialEq for Numeric {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl Eq for Numeric {}
impl PartialOrd for Numeric {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// PostgreSQL's total order: -Infinity < finite < Infinity < NaN, NaN equals itself, the scale does not count.
impl Ord for Numeric {
    fn cmp(&self, other: &Self) -> Ordering {
        let rank = |n: &Numeric| match n {
            Numeric::NegInfinity => 0,
            Numeric::Finite(_) => 1,
            Numeric::Infinity => 2,
            Numeric::NaN => 3,
        };
        match (self, other) {
            (Numeric::Finite(a), Numeric::Finite(b)) => a.cmp_value(b),
            _ => rank(self).cmp(&rank(other)),
        }
    }
}

impl Decimal {
    fn cmp_value(&self, other: &Decimal) -> Ordering {
        let signs = self.coefficient.signum().cmp(&other.coefficient.signum());
        if signs != Ordering::Equal || self.coefficient.is_zero() {
            return signs;
        }
        if let (Coefficient::Small(a), Coefficient::Small(b)) = (&self.coefficient, &other.coefficient) {
            let shift = self.scale.abs_diff(other.scale) as u32;
            let factor = if shift <= 38 { Some(10i128.pow(shift)) } else { None };
            let pair = match self.scale.cmp(&other.scale) {
                Ordering::Less => factor.and_then(|f| a.checked_mul(f)).map(|a| (a, *b)),
                _ => factor.and_then(|f| b.checked_mul(f)).map(|b| (*a, b)),
            };
            if let Some((a, b)) = pair {
                return a.cmp(&b);
            }
        }
        // Magnitudes first: numbers of very different size need no common scale.
        let size = |d: &Decimal| d.coefficient.digits() - d.scale as i64;
        let by_size = size(self).cmp(&size(other));
        if by_size != Ordering::Equal {
            return if self.coefficient.signum() < 0 { by_size.reverse() } else { by_size };
        }
        let scale = self.scale.max(other.scale);
        self.coefficient_at(scale).cmp(&other.coefficient_at(scale))
    }

    /// The coefficient at a larger scale.
    pub(crate) fn coefficient_at(&self, scale: u16) -> BigInt {
        let (coefficient, factor) = (self.coefficient.big(), pow10((scale - self.scale) as u64));
        announce(bits(&coefficient), bits(&factor));
        coefficient * factor
    }
}
