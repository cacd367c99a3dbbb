//! Text form of numerics: reading PostgreSQL's input syntax, printing, and comparing two stored texts in place.

use super::{overflow, Coefficient, Decimal, Numeric, MAX_SCALE, MAX_WHOLE_DIGITS};
use crate::buffer::{invalid_syntax, trim};
use crate::{PgError, Result};
use num_bigint::BigInt;
use std::cmp::Ordering;
use std::fmt;

/// Why a text is no numeric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Invalid {
    Syntax,
    Overflow,
}

impl Numeric {
    /// Reads a text form; errors as the input function of the type gives them (22P02, 22003).
    pub fn from_text(text: &str) -> Result<Numeric> {
        Numeric::parse(text).map_err(|e| -> PgError {
            match e {
                Invalid::Syntax => invalid_syntax("numeric", text),
                Invalid::Overflow => overflow(),
            }
        })
    }

    /// Reads a text form: blanks around, sign, digits with at most one point, exponent; `NaN`, `[±]inf[inity]`.
    pub fn parse(text: &str) -> Result<Numeric, Invalid> {
        if let Some(plain) = plain(text.as_bytes()) {
            return Ok(plain);
        }
        let body = trim(text);
        let (negative, unsigned) = match body.as_bytes().first() {
            Some(b'-') => (true, &body[1..]),
            Some(b'+') => (false, &body[1..]),
            _ => (false, body),
        };
        if let [b'0', b'x' | b'X' | b'o' | b'O' | b'b' | b'B', ..] = unsigned.as_bytes() {
            return integer_of_base(negative, unsigned);
        }
        let without;
        let unsigned = match unsigned.contains('_') {
            true => {
                without = without_underscores(unsigned).ok_or(Invalid::Syntax)?;
                &without[..]
            }
            false => unsigned,
        };
        let bytes = unsigned.as_bytes();
        if !matches!(bytes, [b'0'..=b'9', ..] | [b'.', b'0'..=b'9', ..]) {
            return special(body, negative, unsigned);
        }
        let whole = bytes.iter().take_while(|b| b.is_ascii_digit()).count();
        let mut end = whole;
        if bytes.get(end) == Some(&b'.') {
            end += 1 + bytes[end + 1..].iter().take_while(|b| b.is_ascii_digit()).count();
        }
        let fraction = end.saturating_sub(whole + 1);
        let mut exponent: i64 = 0;
        if matches!(bytes.get(end), Some(b'e' | b'E')) {
            let digits = &unsigned[end + 1..];
            let after_sign = digits.strip_prefix(['+', '-']).unwrap_or(digits);
            if after_sign.is_empty() || !after_sign.bytes().all(|b| b.is_ascii_digit()) {
                return Err(Invalid::Syntax);
            }
            exponent = digits.parse().map_err(|_| Invalid::Overflow)?;
            if exponent.abs() >= (i32::MAX / 2) as i64 {
                return Err(Invalid::Overflow);
            }
            end = bytes.len();
        }
        if end != bytes.len() {
            return Err(Invalid::Syntax);
        }
        build(negative, &bytes[..whole], &bytes[bytes.len().min(whole + 1)..][..fraction], exponent)
    }

    /// Appends the text form.
    pub fn write(&self, out: &mut Vec<u8>) {
        let d = match self {
            Numeric::NaN => return out.extend_from_slice(b"NaN"),
            Numeric::Infinity => return out.extend_from_slice(b"Infinity"),
            Numeric::NegInfinity => return out.extend_from_slice(b"-Infinity"),
            Numeric::Finite(d) => d,
        };
        if d.coefficient.signum() < 0 {
            out.push(b'-');
        }
        match &d.coefficient {
            Coefficient::Small(c) => {
                let mut buffer = itoa::Buffer::new();
                point(buffer.format(c.unsigned_abs()).as_bytes(), d.scale as usize, out);
            }
            Coefficient::Big(c) => {
                super::announce(super::bits(c), super::bits(c));
                point(c.magnitude().to_string().as_bytes(), d.scale as usize, out)
            }
        }
    }
}

/// The value of a text as it is stored mostly: a sign or none, few digits, at most one point between them.
fn plain(text: &[u8]) -> Option<Numeric> {
    /// so many digits fit 64 bits
    const DIGITS: usize = 18;
    let (negative, body) = match text {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, text),
    };
    let ([b'0'..=b'9', .., b'0'..=b'9'] | [b'0'..=b'9']) = body else { return None };
    if body.len() > DIGITS {
        return None;
    }
    let (mut value, mut point) = (0i64, None);
    for (i, &b) in body.iter().enumerate() {
        match b {
            b'0'..=b'9' => value = value * 10 + (b - b'0') as i64,
            b'.' if point.is_none() => point = Some(i),
            _ => return None,
        }
    }
    let scale = point.map_or(0, |p| body.len() - 1 - p);
    Some(Numeric::small(if negative { -value } else { value } as i128, scale as u16))
}

/// `0x`, `0o` or `0b` and digits of that base.
fn integer_of_base(negative: bool, text: &str) -> Result<Numeric, Invalid> {
    let base = match text.as_bytes()[1] {
        b'x' | b'X' => 16,
        b'o' | b'O' => 8,
        _ => 2,
    };
    let digits = text[2..].strip_prefix('_').unwrap_or(&text[2..]);
    if !digits.starts_with(|c: char| c.is_digit(base)) {
        return Err(Invalid::Syntax);
    }
    let digits = without_underscores(digits).ok_or(Invalid::Syntax)?;
    super::announce(4 * digits.len(), 4 * digits.len());
    let value = BigInt::parse_bytes(digits.as_bytes(), base).ok_or(Invalid::Syntax)?;
    build(negative, value.to_string().as_bytes(), &[], 0)
}

/// A number's text without the underscores between its digits; None: one stands elsewhere.
fn without_underscores(text: &str) -> Option<String> {
    let is_digit = |b: Option<&u8>| b.is_some_and(u8::is_ascii_hexdigit);
    let bytes = text.as_bytes();
    let misplaced = |(at, _): (usize, &str)| {
        !is_digit(at.checked_sub(1).and_then(|before| bytes.get(before))) || !is_digit(bytes.get(at + 1))
    };
    (!text.match_indices('_').any(misplaced)).then(|| text.replace('_', ""))
}

fn special(body: &str, negative: bool, unsigned: &str) -> Result<Numeric, Invalid> {
    if unsigned.eq_ignore_ascii_case("infinity") || unsigned.eq_ignore_ascii_case("inf") {
        Ok(if negative { Numeric::NegInfinity } else { Numeric::Infinity })
    } else if body.eq_ignore_ascii_case("nan") {
        Ok(Numeric::NaN)
    } else {
        Err(Invalid::Syntax)
    }
}

/// The value of the digits `whole.fraction` × 10^exponent; the exponent moves the display scale, not below 0.
fn build(negative: bool, whole: &[u8], fraction: &[u8], exponent: i64) -> Result<Numeric, Invalid> {
    let scale = fraction.len() as i64 - exponent;
    if scale > MAX_SCALE {
        return Err(Invalid::Overflow);
    }
    let zeros = (-scale).max(0);
    let leading = whole.iter().chain(fraction).take_while(|b| **b == b'0').count();
    let significant = (whole.len() + fraction.len() - leading) as i64;
    if significant > 0 && significant + zeros - scale.max(0) > MAX_WHOLE_DIGITS {
        return Err(Invalid::Overflow);
    }
    let digits = || whole.iter().chain(fraction).skip(leading);
    let coefficient = if significant == 0 {
        Coefficient::Small(0)
    } else if significant + zeros <= 38 {
        let v = digits().fold(0i128, |v, d| v * 10 + (d - b'0') as i128) * 10i128.pow(zeros as u32);
        Coefficient::Small(if negative { -v } else { v })
    } else {
        let text: Vec<u8> = digits().copied().collect();
        super::announce(3 * text.len(), 3 * text.len());
        let v = BigInt::parse_bytes(&text, 10).ok_or(Invalid::Syntax)? * super::pow10(zeros as u64);
        Coefficient::from_big(if negative { -v } else { v })
    };
    Ok(Numeric::Finite(Decimal { coefficient, scale: scale.max(0) as u16 }))
}

/// Appends `digits` with a point `scale` digits from the end.
fn point(digits: &[u8], scale: usize, out: &mut Vec<u8>) {
    if digits.len() > scale {
        let (whole, fraction) = digits.split_at(digits.len() - scale);
        out.extend_from_slice(whole);
        if scale > 0 {
            out.push(b'.');
            out.extend_from_slice(fraction);
        }
    } else {
        out.extend_from_slice(b"0.");
        out.extend(std::iter::repeat_n(b'0', scale - digits.len()));
        out.extend_from_slice(digits);
    }
}

impl fmt::Display for Numeric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = Vec::new();
        self.write(&mut out);
        f.write_str(std::str::from_utf8(&out).map_err(|_| fmt::Error)?)
    }
}

/// A stored text in its canonical form, split: sign, digits before the point (no leading zeros), digits after it.
pub(super) struct Parts<'a> {
    pub negative: bool,
    pub whole: &'a [u8],
    pub fraction: &'a [u8],
}

/// Splits a plain decimal (sign, digits, point, digits); None for anything else.
pub(super) fn parts(text: &str) -> Option<Parts<'_>> {
    let bytes = text.as_bytes();
    let (negative, rest) = match bytes {
        [b'-', rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    let end = rest.iter().position(|b| !b.is_ascii_digit()).unwrap_or(rest.len());
    let (whole, tail) = rest.split_at(end);
    let fraction = match tail {
        [] => tail,
        [b'.', f @ ..] if !f.is_empty() && f.iter().all(u8::is_ascii_digit) => f,
        _ => return None,
    };
    if whole.is_empty() {
        return None;
    }
    let zeros = whole.iter().take_while(|b| **b == b'0').count();
    Some(Parts { negative, whole: &whole[zeros..], fraction })
}

/// The order of two stored numerics, without converting them. What is no numeric (a foreign file) sorts after
/// everything, by bytes.
pub fn compare_text(a: &str, b: &str) -> Ordering {
    match (parts(a), parts(b)) {
        (Some(a), Some(b)) => compare_parts(&a, &b),
        _ => match (Numeric::parse(a), Numeric::parse(b)) {
            (Ok(x), Ok(y)) => x.cmp(&y),
            (Ok(_), Err(_)) => Ordering::Less,
            (Err(_), Ok(_)) => Ordering::Greater,
            (Err(_), Err(_)) => a.cmp(b),
        },
    }
}

fn compare_parts(a: &Parts, b: &Parts) -> Ordering {
    fn trimmed<'a>(p: &Parts<'a>) -> &'a [u8] {
        let zeros = p.fraction.iter().rev().take_while(|d| **d == b'0').count();
        &p.fraction[..p.fraction.len() - zeros]
    }
    let (fa, fb) = (trimmed(a), trimmed(b));
    let sign = |p: &Parts, f: &[u8]| match (p.whole.is_empty() && f.is_empty(), p.negative) {
        (true, _) => 0,
        (false, true) => -1,
        (false, false) => 1,
    };
    let (sa, sb) = (sign(a, fa), sign(b, fb));
    if sa != sb || sa == 0 {
        return sa.cmp(&sb);
    }
    let magnitude = a.whole.len().cmp(&b.whole.len()).then_with(|| a.whole.cmp(b.whole)).then_with(|| fa.cmp(fb));
    if sa < 0 {
        magnitude.reverse()
    } else {
        magnitude
    }
}
