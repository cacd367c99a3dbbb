//! `real` and `double precision`. Stored as REAL; NaN as TEXT `NaN`, because SQLite turns a REAL NaN into NULL
//! (and TEXT sorts after every number, as NaN does in PostgreSQL).

use crate::buffer::{bad_stored, fraction, int, invalid_syntax, is_space, Reader};
use crate::work;
use crate::{Datum, DatumRef, PgError, Result, SqlState};

/// What C's `strtod` reads of a text, if that is all of it: NaN and infinities are numbers, too.
pub(crate) fn c_number(text: &str) -> Option<f64> {
    let blanks = text.bytes().take_while(|b| is_space(*b)).count();
    let number = &text[blanks..];
    let unsigned = number.trim_start_matches(['+', '-']);
    let (value, end) = match scan(number.as_bytes()) {
        // (a number beyond the range is an infinity or zero)
        Scanned::Decimal(end) => (unsigned.parse().ok()?, end),
        Scanned::Hex(end) => (hex_value(unsigned), end),
        Scanned::Infinity(end) => (f64::INFINITY, end),
        Scanned::NaN(end) => (f64::NAN, end),
        Scanned::Nothing => return None,
    };
    (end == number.len()).then_some(if number.starts_with('-') { -value } else { value })
}

/// The storage form of NaN.
pub const NAN: &str = "NaN";

/// A float in storage form.
pub fn to_datum(value: f64) -> Datum {
    if value.is_nan() {
        Datum::Text(NAN.into())
    } else {
        Datum::Real(value)
    }
}

/// The float of a storage form.
pub fn from_datum(value: DatumRef) -> Result<f64> {
    match value {
        DatumRef::Real(r) => Ok(r),
        DatumRef::Int(i) => Ok(i as f64),
        DatumRef::Text(t) if t == NAN => Ok(f64::NAN),
        other => Err(bad_stored("double precision", other)),
    }
}

/// One number as `strtod` reads it: its length in bytes, and the words for what is no decimal number.
enum Scanned {
    Decimal(usize),
    Hex(usize),
    Infinity(usize),
    NaN(usize),
    Nothing,
}

fn scan(bytes: &[u8]) -> Scanned {
    let mut i = usize::from(matches!(bytes.first(), Some(b'+' | b'-')));
    let word =
        |i: usize, w: &str| bytes.len() >= i + w.len() && bytes[i..i + w.len()].eq_ignore_ascii_case(w.as_bytes());
    if word(i, "nan") {
        return Scanned::NaN(i + 3);
    }
    if word(i, "infinity") {
        return Scanned::Infinity(i + 8);
    }
    if word(i, "inf") {
        return Scanned::Infinity(i + 3);
    }
    let hex = word(i, "0x") && bytes.get(i + 2).is_some_and(|b| b.is_ascii_hexdigit() || *b == b'.');
    if hex {
        i += 2;
    }
    let digit = |b: &u8| if hex { b.is_ascii_hexdigit() } else { b.is_ascii_digit() };
    let mut digits = 0;
    while bytes.get(i).is_some_and(digit) {
        work::pulse(1);
        i += 1;
        digits += 1;
    }
    if bytes.get(i) == Some(&b'.') {
        let after = bytes[i + 1..].iter().take_while(|b| digit(b)).count();
        if digits + after > 0 {
            i += 1 + after;
            digits += after;
        }
    }
    if digits == 0 {
        return Scanned::Nothing;
    }
    let exponent_mark: &[u8] = if hex { b"pP" } else { b"eE" };
    if bytes.get(i).is_some_and(|b| exponent_mark.contains(b)) {
        let sign = usize::from(matches!(bytes.get(i + 1), Some(b'+' | b'-')));
        let n = bytes[i + 1 + sign..].iter().take_while(|b| b.is_ascii_digit()).count();
        if n > 0 {
            i += 1 + sign + n;
        }
    }
    if hex {
        Scanned::Hex(i)
    } else {
        Scanned::Decimal(i)
    }
}

/// The value of a C hexadecimal float without its sign (`0x1.8p3`). Digits beyond 64 bits only stick to the last bit.
fn hex_value(text: &str) -> f64 {
    let body = &text[2..];
    let (mantissa, exponent) = body.split_once(['p', 'P']).unwrap_or((body, "0"));
    let mut exponent: i64 =
        exponent.parse::<i64>().unwrap_or(if exponent.starts_with('-') { -100_000 } else { 100_000 });
    let (mut bits, mut after_point) = (0u64, false);
    for c in mantissa.chars() {
        work::pulse(1);
        let Some(d) = c.to_digit(16) else {
            after_point = true;
            continue;
        };
        if bits >> 60 == 0 {
            bits = bits << 4 | d as u64;
            exponent -= if after_point { 4 } else { 0 };
        } else {
            bits |= (d != 0) as u64;
            exponent += if after_point { 0 } else { 4 };
        }
    }
    let mut value = bits as f64;
    let step = if exponent < 0 { 0.5 } else { 2.0 };
    // bounded: 3,000 steps
    for _ in 0..exponent.unsigned_abs().min(3000) {
        value *= step;
    }
    value
}

/// Reads the text form of a float; `single` for `real`. Overflow and underflow are 22003, as `strtod`'s ERANGE.
pub fn parse(text: &str, single: bool) -> Result<f64> {
    let bad = || invalid_syntax(type_name(single), text);
    let (value, length) = parse_prefix(text, single, bad)?;
    if !text.bytes().skip(length).all(is_space) {
        return Err(bad());
    }
    Ok(value)
}

fn type_name(single: bool) -> &'static str {
    if single {
        "real"
    } else {
        "double precision"
    }
}

/// Reads a float at the beginning of a text, after blanks: the value and the length of what was read. `bad` is the error for
/// what is no number.
pub(crate) fn parse_prefix(text: &str, single: bool, bad: impl Fn() -> PgError) -> Result<(f64, usize)> {
    let type_name = type_name(single);
    let blanks = text.bytes().take_while(|b| is_space(*b)).count();
    let body = &text[blanks..];
    let negative = body.starts_with('-');
    let unsigned = |end: usize| body[..end].trim_start_matches(['+', '-']);
    let (value, end) = match scan(body.as_bytes()) {
        Scanned::Nothing => return Err(bad()),
        Scanned::NaN(end) => (f64::NAN, end),
        Scanned::Infinity(end) => (if negative { f64::NEG_INFINITY } else { f64::INFINITY }, end),
        found @ (Scanned::Decimal(end) | Scanned::Hex(end)) => {
            let digits = unsigned(end);
            let is_hex = matches!(found, Scanned::Hex(_));
            let value = if is_hex {
                hex_value(digits)
            } else if single {
                digits.parse::<f32>().map_err(|_| bad())? as f64
            } else {
                digits.parse::<f64>().map_err(|_| bad())?
            };
            let value = if single { value as f32 as f64 } else { value };
            let mantissa = digits.split(if is_hex { ['p', 'P'] } else { ['e', 'E'] }).next().unwrap_or("");
            let zero = !mantissa
                .trim_start_matches("0x")
                .trim_start_matches("0X")
                .bytes()
                .any(|b| b.is_ascii_hexdigit() && b != b'0');
            if value.is_infinite() || (value == 0.0 && !zero) {
                return Err(PgError::new(
                    SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
                    format!("\"{}\" is out of range for type {type_name}", &body[..end]),
                ));
            }
            (if negative { -value } else { value }, end)
        }
    };
    Ok((value, blanks + end))
}

/// Significant decimal digits and the exponent of the first one.
struct Digits {
    digits: [u8; 24],
    len: usize,
    exponent: i32,
}

/// Picks the digits out of a printed number (zmij's, or Rust's `{:e}`).
fn digits_of(printed: &str) -> Digits {
    let mut d = Digits { digits: [b'0'; 24], len: 0, exponent: 0 };
    let (mantissa, exponent) = printed.split_once('e').unwrap_or((printed, "0"));
    let mut point: i32 = 0; // digits before the point, counted from the first one that is not zero
    let mut seen_point = false;
    // bounded: the digits of a printed number
    for b in mantissa.bytes() {
        match b {
            b'.' => seen_point = true,
            b'0' if d.len == 0 => point -= i32::from(seen_point),
            b'0'..=b'9' => {
                if d.len < d.digits.len() {
                    d.digits[d.len] = b;
                }
                d.len += 1;
                point += i32::from(!seen_point);
            }
            _ => {}
        }
    }
    d.len = d.len.min(d.digits.len());
    // bounded: the digits of a printed number
    while d.len > 1 && d.digits[d.len - 1] == b'0' {
        d.len -= 1;
    }
    d.len = d.len.max(1);
    d.exponent = point - 1 + exponent.parse::<i32>().unwrap_or(0);
    d
}

/// True where the decimal number is exactly half way between two neighbouring doubles (24 bits: floats), which
/// PostgreSQL does not accept as a text form although reading it back (ties to even) would give the same number.
fn is_boundary(d: &Digits, mantissa: u64, exponent2: i32, power_of_two: bool) -> bool {
    let Ok(value) = std::str::from_utf8(&d.digits[..d.len]).unwrap_or("").parse::<u128>() else { return false };
    let exponent10 = d.exponent - d.len as i32 + 1;
    // value * 10^exponent10 == (2m ± 1) * 2^(exponent2 - 1); at a power of two the lower neighbour is half as far.
    let below = if power_of_two {
        (4 * mantissa as u128 - 1, exponent2 - 2)
    } else {
        (2 * mantissa as u128 - 1, exponent2 - 1)
    };
    let candidates = [(2 * mantissa as u128 + 1, exponent2 - 1), below];
    candidates.into_iter().any(|(m, e2)| {
        // m is odd: compare the odd parts, then the powers of two.
        let (mut left, e_left) = (value, exponent10);
        let (mut right, e_right) = (m, e2);
        // bounded: the exponents of a number
        for _ in 0..exponent10.unsigned_abs() {
            let side = if exponent10 > 0 { &mut left } else { &mut right };
            let Some(v) = side.checked_mul(5) else { return false };
            *side = v;
        }
        let shift = left.trailing_zeros() as i32;
        let right_shift = right.trailing_zeros() as i32;
        left >> shift == right >> right_shift && e_left + shift == e_right + right_shift
    })
}

/// Of the crates that find the shortest digits, zmij is the fastest (ns a double, any bits / between 0 and 1 / amounts of cents: zmij
/// 12/17/14, ryu 30/21/37, Rust's `{:e}` 110/75/70), with the same digits as ryu for 26 million doubles, all powers of two and ten and their
/// neighbours among them.
fn shortest(value: f64, single: bool) -> Digits {
    let mut buffer = zmij::Buffer::new();
    let (d, mantissa, exponent2, power_of_two) = if single {
        let v = (value as f32).abs();
        let bits = v.to_bits();
        let (m, e) = (bits & 0x7f_ffff, (bits >> 23) as i32);
        let full = if e == 0 { m } else { m | 0x80_0000 };
        (digits_of(buffer.format_finite(v)), full as u64, e.max(1) - 150, m == 0 && e > 1)
    } else {
        let v = value.abs();
        let bits = v.to_bits();
        let (m, e) = (bits & 0xf_ffff_ffff_ffff, (bits >> 52) as i32);
        let full = if e == 0 { m } else { m | 0x10_0000_0000_0000 };
        (digits_of(buffer.format_finite(v)), full, e.max(1) - 1075, m == 0 && e > 1)
    };
    if mantissa & 1 == 1 || value == 0.0 || !is_boundary(&d, mantissa, exponent2, power_of_two) {
        return d;
    }
    // bounded: 17 digits
    for precision in d.len..17 {
        let text = if single {
            format!("{:.*e}", precision, (value as f32).abs())
        } else {
            format!("{:.*e}", precision, value.abs())
        };
        let same = if single { text.parse() == Ok((value as f32).abs()) } else { text.parse() == Ok(value.abs()) };
        let next = digits_of(&text);
        if same && !is_boundary(&next, mantissa, exponent2, power_of_two) {
            return next;
        }
    }
    d
}

/// Appends digits as C's `%g` lays them out: positional while -4 ≤ exponent < `limit`, else with an exponent of at
/// least two digits.
fn layout(d: &Digits, limit: i32, out: &mut Vec<u8>) {
    let digits = &d.digits[..d.len];
    if (-4..limit).contains(&d.exponent) {
        if d.exponent < 0 {
            out.extend_from_slice(b"0.");
            out.extend(std::iter::repeat_n(b'0', (-d.exponent - 1) as usize));
            out.extend_from_slice(digits);
        } else {
            let whole = d.exponent as usize + 1;
            out.extend_from_slice(&digits[..whole.min(digits.len())]);
            if digits.len() > whole {
                out.push(b'.');
                out.extend_from_slice(&digits[whole..]);
            } else {
                out.extend(std::iter::repeat_n(b'0', whole - digits.len()));
            }
        }
    } else {
        out.push(digits[0]);
        if digits.len() > 1 {
            out.push(b'.');
            out.extend_from_slice(&digits[1..]);
        }
        out.push(b'e');
        out.push(if d.exponent < 0 { b'-' } else { b'+' });
        if d.exponent.abs() < 10 {
            out.push(b'0');
        }
        int(out, d.exponent.unsigned_abs());
    }
}

/// Appends the shortest exact form of a positive double if it has at most six decimals and fifteen digits in all, as amounts
/// and measurements do: it is then an integer over a million, whose digits are cheaper to find than zmij's. Returns whether it
/// has. Decimal numbers of fifteen digits are doubles of their own each, so no other one of as many or fewer digits reads as
/// this double.
fn write_decimal(value: f64, out: &mut Vec<u8>) -> bool {
    const MILLION: f64 = 1e6;
    // below, PostgreSQL writes an exponent; above, the integer has more than fifteen digits
    if !(1e-4..1e9).contains(&value) {
        return false;
    }
    // the nearest, or one beside it, which the division then shows
    let millionths = (value * MILLION + 0.5) as u64;
    // both are exact, so that the division rounds as reading the decimal number does
    if millionths as f64 / MILLION != value {
        return false;
    }
    int(out, millionths / 1_000_000);
    fraction(out, (millionths % 1_000_000) as u32);
    true
}

/// Appends PostgreSQL's text form of a float. `extra_float_digits` ≥ 1: shortest exact.
pub fn write(value: f64, single: bool, extra_float_digits: i32, out: &mut Vec<u8>) {
    if value.is_nan() {
        return out.extend_from_slice(b"NaN");
    }
    if value.is_sign_negative() {
        out.push(b'-');
    }
    if value.is_infinite() {
        return out.extend_from_slice(b"Infinity");
    }
    if value == 0.0 {
        return out.push(b'0');
    }
    let digits = if single { 6 } else { 15 };
    if extra_float_digits > 0 {
        if single || !write_decimal(value.abs(), out) {
            layout(&shortest(value, single), digits, out);
        }
    } else {
        write_precision(value.abs(), (digits + extra_float_digits).max(1), out);
    }
}

/// C's `%.{precision}g` of a positive number.
fn write_precision(value: f64, precision: i32, out: &mut Vec<u8>) {
    layout(&digits_of(&format!("{:.*e}", precision as usize - 1, value)), precision, out);
}

/// The text of C's `%.{precision}g`: how PostgreSQL turns a float into a numeric (15 digits, `real` 6).
pub fn general(value: f64, precision: i32) -> String {
    let mut out = Vec::new();
    if value.is_sign_negative() {
        out.push(b'-');
    }
    if value == 0.0 {
        out.push(b'0');
    } else {
        write_precision(value.abs(), precision, &mut out);
    }
    String::from_utf8(out).unwrap_or_default()
}

/// Appends a float as SQLite's JSON functions lay it out (`1.0`, `1.0e+20`), with the fewest digits that are exact
/// (SQLite prints up to 17, not always the nearest ones). Infinities are numbers that overflow, which SQLite reads as what
/// they are; NaN, for which SQLite has no number, is a JSON string as it is TEXT in a column.
pub(crate) fn write_json(value: f64, out: &mut Vec<u8>) {
    if value.is_infinite() {
        return out.extend_from_slice(if value > 0.0 { b"9e999" } else { b"-9e999" });
    }
    if value.is_nan() {
        out.push(b'"');
        write(value, false, 1, out);
        return out.push(b'"');
    }
    if value.is_sign_negative() {
        out.push(b'-');
    }
    if value == 0.0 {
        return out.extend_from_slice(b"0.0");
    }
    // A `real` is stored, and therefore printed, as the double of the same value.
    let d = digits_of(zmij::Buffer::new().format_finite(value.abs()));
    if (-4..17).contains(&d.exponent) {
        layout(&d, 17, out);
        if d.len as i32 <= d.exponent + 1 {
            out.extend_from_slice(b".0");
        }
    } else {
        let start = out.len();
        layout(&d, 17, out);
        if d.len == 1 {
            let at = start + 1;
            out.splice(at..at, *b".0");
        }
    }
}

pub(crate) fn text_in(text: &str, single: bool) -> Result<Datum> {
    parse(text, single).map(to_datum)
}

pub(crate) fn text_out(value: DatumRef, single: bool, extra_float_digits: i32, out: &mut Vec<u8>) -> Result<()> {
    write(from_datum(value)?, single, extra_float_digits, out);
    Ok(())
}

pub(crate) fn binary_in(bytes: &[u8], single: bool) -> Result<Datum> {
    let mut r = Reader(bytes);
    let value = if single { f32::from_bits(r.u32()?) as f64 } else { f64::from_bits(r.i64()? as u64) };
    r.end()?;
    Ok(to_datum(value))
}

pub(crate) fn binary_out(value: DatumRef, single: bool, out: &mut Vec<u8>) -> Result<()> {
    let value = from_datum(value)?;
    if single {
        out.extend_from_slice(&(value as f32).to_be_bytes());
    } else {
        out.extend_from_slice(&value.to_be_bytes());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The short way and zmij's give the same text wherever the short way is taken.
    #[test]
    fn decimals_are_the_shortest_digits() {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut taken = 0;
        for i in 0..300_000_u64 {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let value = match i % 6 {
                0 => (state % 1_000_000_000) as f64,
                1 => (state % 1_000_000_000_000) as f64 / 100.0,
                2 => (state % 1_000_000_000_000_000) as f64 / 1e6,
                3 => (state % 1000) as f64 / 1024.0,
                4 => f64::from_bits((state >> 12) | 0x3ff0_0000_0000_0000 | (state % 30) << 52),
                _ => ((state % 1_000_000) as f64).sqrt(),
            };
            if value == 0.0 {
                continue;
            }
            let (mut short, mut long) = (Vec::new(), Vec::new());
            layout(&shortest(value, false), 15, &mut long);
            if write_decimal(value, &mut short) {
                taken += 1;
                assert_eq!(String::from_utf8_lossy(&short), String::from_utf8_lossy(&long), "{value:e}");
            }
        }
        assert!(taken > 100_000, "the short way was taken {taken} times");
    }
}
