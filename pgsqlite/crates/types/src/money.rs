//! `money`: stored as INTEGER, the number of cents. Read and printed as with `lc_monetary = C`: `-$1,234.56`.

use crate::buffer::{bad_stored, int, invalid_syntax, is_space, Reader};
use crate::numeric::Numeric;
use crate::work;
use crate::{Datum, DatumRef, PgError, Result, SqlState};

/// Cents of a unit, and their digits.
const SCALE: i64 = 100;
const DECIMALS: usize = 2;

/// What an amount that leaves 64 bits is refused with.
pub fn out_of_range() -> PgError {
    PgError::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "money out of range")
}

/// Reads an amount. A sign (or an opening bracket: negative) may stand before it or after it, the currency's symbol as well;
/// commas between digits do not count; a third decimal rounds.
pub fn parse(text: &str) -> Result<i64> {
    let overflow = || {
        PgError::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, format!("value \"{text}\" is out of range for type money"))
    };
    let blanks = |s: &mut &[u8]| *s = &s[s.iter().take_while(|b| is_space(**b)).count()..];
    let symbol = |s: &mut &[u8]| *s = s.strip_prefix(b"$").unwrap_or(s);
    let mut rest = text.as_bytes();
    let mut negative = false;
    blanks(&mut rest);
    symbol(&mut rest);
    blanks(&mut rest);
    if let [sign @ (b'-' | b'(' | b'+'), after @ ..] = rest {
        negative = *sign != b'+';
        rest = after;
    }
    blanks(&mut rest);
    symbol(&mut rest);
    blanks(&mut rest);

    // Counted down from zero, because there is one negative amount more than there are positive ones.
    let mut value = 0i64;
    let mut decimals = None;
    while let [b, after @ ..] = rest {
        work::pulse(1);
        match b {
            b'0'..=b'9' if decimals.is_none_or(|d| d < DECIMALS) => {
                let digit = i64::from(b - b'0');
                value = value.checked_mul(10).and_then(|v| v.checked_sub(digit)).ok_or_else(overflow)?;
                decimals = decimals.map(|d| d + 1);
            }
            b'.' if decimals.is_none() => decimals = Some(0),
            b',' => {}
            _ => break,
        }
        rest = after;
    }
    if matches!(rest.first(), Some(b'5'..=b'9')) {
        value = value.checked_sub(1).ok_or_else(overflow)?;
    }
    // bounded: two decimals
    for _ in decimals.unwrap_or(0)..DECIMALS {
        value = value.checked_mul(10).ok_or_else(overflow)?;
    }
    rest = &rest[rest.iter().take_while(|b| b.is_ascii_digit()).count()..];
    for b in rest {
        work::pulse(1);
        match b {
            b')' | b'+' | b'$' => {}
            b'-' => negative = true,
            b if is_space(*b) => {}
            _ => return Err(invalid_syntax("money", text)),
        }
    }
    if negative {
        Ok(value)
    } else {
        value.checked_neg().ok_or_else(overflow)
    }
}

pub(crate) fn text_in(text: &str) -> Result<Datum> {
    parse(text).map(Datum::Int)
}

fn stored(value: DatumRef) -> Result<i64> {
    match value {
        DatumRef::Int(i) => Ok(i),
        other => Err(bad_stored("money", other)),
    }
}

pub(crate) fn text_out(value: DatumRef, out: &mut Vec<u8>) -> Result<()> {
    let cents = stored(value)?;
    if cents < 0 {
        out.push(b'-');
    }
    out.push(b'$');
    let (units, cents) = (cents.unsigned_abs() / SCALE as u64, cents.unsigned_abs() % SCALE as u64);
    let mut digits = itoa::Buffer::new();
    let digits = digits.format(units).as_bytes();
    // bounded: the digits of a number
    for (i, digit) in digits.iter().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(b',');
        }
        out.push(*digit);
    }
    out.push(b'.');
    if cents < 10 {
        out.push(b'0');
    }
    int(out, cents);
    Ok(())
}

pub(crate) fn binary_in(bytes: &[u8]) -> Result<Datum> {
    let mut r = Reader(bytes);
    let value = r.i64()?;
    r.end()?;
    Ok(Datum::Int(value))
}

pub(crate) fn binary_out(value: DatumRef, out: &mut Vec<u8>) -> Result<()> {
    out.extend_from_slice(&stored(value)?.to_be_bytes());
    Ok(())
}

/// A product or quotient computed in floating point, rounded to the nearest even cent.
pub fn from_float(value: f64) -> Result<i64> {
    let rounded = value.round_ties_even();
    if rounded.is_nan() || !(-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&rounded) {
        return Err(out_of_range());
    }
    Ok(rounded as i64)
}

/// An amount of whole units.
pub fn from_units(units: i64) -> Result<i64> {
    units.checked_mul(SCALE).ok_or_else(|| PgError::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "bigint out of range"))
}

pub fn from_numeric(value: &Numeric) -> Result<i64> {
    value.mul(&Numeric::from(SCALE))?.to_i64()
}

/// With two decimals.
pub fn to_numeric(cents: i64) -> Result<Numeric> {
    let (sign, size) = (if cents < 0 { "-" } else { "" }, cents.unsigned_abs());
    Numeric::from_text(&format!("{sign}{}.{:02}", size / SCALE as u64, size % SCALE as u64))
}

const SMALL: [&str; 21] = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
    "twenty",
];
const TENS: [&str; 10] = ["", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];

/// A number below 1000 in words.
fn words(value: usize) -> String {
    let (hundreds, rest) = (value / 100, value % 100);
    let below = match rest {
        0..=20 => SMALL[rest].to_string(),
        _ if rest % 10 == 0 => TENS[rest / 10].to_string(),
        _ => format!("{} {}", TENS[rest / 10], SMALL[rest % 10]),
    };
    match (hundreds, rest) {
        (0, _) => below,
        (_, 0) => format!("{} hundred", SMALL[hundreds]),
        (_, 1..=19) => format!("{} hundred and {below}", SMALL[hundreds]),
        _ => format!("{} hundred {below}", SMALL[hundreds]),
    }
}

/// `cash_words`
pub fn in_words(cents: i64) -> String {
    let size = cents.unsigned_abs();
    let units = size / SCALE as u64;
    let mut out = String::new();
    for (name, power) in [("quadrillion", 5), ("trillion", 4), ("billion", 3), ("million", 2), ("thousand", 1)]
        .map(|(n, p)| (n, 1000u64.pow(p)))
    {
        let group = units / power % 1000;
        if group > 0 {
            out += &format!("{} {name} ", words(group as usize));
        }
    }
    if !units.is_multiple_of(1000) {
        out += &words((units % 1000) as usize);
    }
    if units == 0 {
        out += "zero";
    }
    out += if units == 1 { " dollar and " } else { " dollars and " };
    let cents_left = (size % SCALE as u64) as usize;
    out += &words(cents_left);
    out += if cents_left == 1 { " cent" } else { " cents" };
    if cents < 0 {
        return format!("Minus {out}");
    }
    out[..1].to_ascii_uppercase() + &out[1..]
}
