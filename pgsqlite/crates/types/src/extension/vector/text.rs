//! The text forms: `[1,2.5]`, and `{1:1,3:2.5}/5` with indices from 1.

use super::sparse::{check_elements, Sparse};
use super::{data, elements, expect_dimensions, out_of_range, store, store_half, stored, Kind, MAX_DIMENSIONS};
use crate::{buffer, float, work, Datum, DatumRef, PgError, Result, SqlState};

/// Reads a value (`typmod`: its number of dimensions, -1 for any).
pub(crate) fn text_in(text: &str, kind: Kind, typmod: i32) -> Result<Datum> {
    let mut reader = Reader { text, kind, at: 0 };
    match kind {
        Kind::Sparse => reader.sparse(typmod),
        Kind::Vector | Kind::Half => reader.dense(typmod),
    }
}

/// Appends the text form of a stored value.
pub(crate) fn text_out(value: DatumRef, kind: Kind, out: &mut Vec<u8>) -> Result<()> {
    let stored = stored(value, kind)?;
    if kind == Kind::Sparse {
        let sparse = Sparse::from_stored(stored);
        out.push(b'{');
        for (i, (index, element)) in sparse.elements.iter().enumerate() {
            work::pulse(1);
            if i > 0 {
                out.push(b',');
            }
            buffer::int(out, index + 1);
            out.push(b':');
            float::write(f64::from(*element), true, 1, out);
        }
        out.extend_from_slice(b"}/");
        buffer::int(out, sparse.dimensions);
        return Ok(());
    }
    out.push(b'[');
    for (i, element) in elements(kind, stored).into_iter().enumerate() {
        work::pulse(1);
        if i > 0 {
            out.push(b',');
        }
        float::write(f64::from(element), true, 1, out);
    }
    out.push(b']');
    Ok(())
}

struct Reader<'a> {
    text: &'a str,
    kind: Kind,
    at: usize,
}

/// A number, and whether it is too large or too small for 32 bits.
struct Number {
    value: f32,
    overflows: bool,
    vanishes: bool,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a [u8] {
        self.text.as_bytes().get(self.at..).unwrap_or_default()
    }

    fn skip(&mut self) {
        while self.rest().first().is_some_and(|b| buffer::is_space(*b)) {
            crate::work::visit();
            self.at += 1;
        }
    }

    /// Steps over a byte, if it is the next one.
    fn take(&mut self, byte: u8) -> bool {
        let there = self.rest().first() == Some(&byte);
        self.at += usize::from(there);
        there
    }

    fn invalid(&self) -> PgError {
        let message = format!("invalid input syntax for type {}: \"{}\"", self.kind.name(), self.text);
        PgError::new(SqlState::INVALID_TEXT_REPRESENTATION, message)
    }

    /// The number that begins here, and its text.
    fn number(&mut self) -> Result<(Number, &'a str)> {
        let length = number_length(self.rest());
        let text = self.text.get(self.at..self.at + length).filter(|t| !t.is_empty()).ok_or_else(|| self.invalid())?;
        self.at += length;
        Ok((read_number(text), text))
    }

    /// The integer that begins here, as one of 64 bits (the nearest, if it does not fit).
    fn integer(&mut self) -> Result<i64> {
        self.skip();
        let rest = self.rest();
        let sign = usize::from(matches!(rest.first(), Some(b'-' | b'+')));
        let digits = rest.iter().skip(sign).take_while(|b| b.is_ascii_digit()).count();
        if digits == 0 {
            return Err(self.invalid());
        }
        let text = self.text.get(self.at..self.at + sign + digits).unwrap_or_default();
        self.at += sign + digits;
        Ok(text.parse().unwrap_or(if text.starts_with('-') { i64::MIN } else { i64::MAX }))
    }

    fn dense(&mut self, typmod: i32) -> Result<Datum> {
        self.skip();
        if !self.take(b'[') {
            return Err(self.invalid().detail("Vector contents must start with \"[\"."));
        }
        self.skip();
        let mut values = Vec::new();
        if self.take(b']') {
            self.kind.check_dimensions(0)?;
        }
        loop {
            work::pulse(1);
            if values.len() == MAX_DIMENSIONS {
                return Err(self.kind.too_many_dimensions());
            }
            self.skip();
            let (number, text) = self.number()?;
            let too_large =
                number.value.is_finite() && self.kind == Kind::Half && half::f16::from_f32(number.value).is_infinite();
            if number.overflows || too_large {
                return Err(out_of_range(text, self.kind));
            }
            self.kind.check_element(number.value)?;
            values.push(number.value);
            self.skip();
            if self.take(b',') {
                continue;
            }
            if self.take(b']') {
                break;
            }
            return Err(self.invalid());
        }
        self.skip();
        if !self.rest().is_empty() {
            return Err(self.invalid().detail("Junk after closing right brace."));
        }
        expect_dimensions(typmod, values.len() as i64)?;
        match self.kind {
            Kind::Half => store_half(&values),
            _ => Ok(store(&values)),
        }
    }

    fn sparse(&mut self, typmod: i32) -> Result<Datum> {
        check_elements(self.text.bytes().filter(|b| *b == b',').count() as i64 + 1)?;
        self.skip();
        if !self.take(b'{') {
            return Err(self.invalid().detail("Vector contents must start with \"{\"."));
        }
        self.skip();
        let mut elements: Vec<(i64, f32)> = Vec::new();
        if !self.take(b'}') {
            loop {
                work::pulse(1);
                // (an index that no value has stays one)
                let index = self.integer()?.clamp(i64::from(i32::MIN) + 1, i64::from(i32::MAX));
                self.skip();
                if !self.take(b':') {
                    return Err(self.invalid());
                }
                self.skip();
                let (number, text) = self.number()?;
                if number.overflows || number.vanishes {
                    return Err(out_of_range(text, Kind::Sparse));
                }
                Kind::Sparse.check_element(number.value)?;
                if number.value != 0.0 {
                    elements.push((index - 1, number.value));
                }
                self.skip();
                if self.take(b',') {
                    continue;
                }
                if self.take(b'}') {
                    break;
                }
                return Err(self.invalid());
            }
        }
        self.skip();
        if !self.take(b'/') {
            return Err(self.invalid().detail("Unexpected end of input."));
        }
        let dimensions = self.integer()?;
        self.skip();
        if !self.rest().is_empty() {
            return Err(self.invalid().detail("Junk after closing."));
        }
        Kind::Sparse.check_dimensions(dimensions)?;
        expect_dimensions(typmod, dimensions)?;
        elements.sort_by_key(|e| e.0);
        let numbered: Option<Vec<(u32, f32)>> =
            elements.into_iter().map(|(index, e)| Some((u32::try_from(index).ok()?, e))).collect();
        let sparse = Sparse { dimensions, elements: numbered.ok_or_else(|| data("sparsevec index out of bounds"))? };
        sparse.check_indices()?;
        Ok(sparse.to_datum())
    }
}

/// How long the longest number is that begins here, as C's strtof reads it: decimal or hexadecimal, `inf`, `infinity`, `nan`.
fn number_length(bytes: &[u8]) -> usize {
    let sign = usize::from(matches!(bytes.first(), Some(b'-' | b'+')));
    let body = bytes.get(sign..).unwrap_or_default();
    for word in ["infinity", "inf", "nan"] {
        crate::work::visit();
        if body.get(..word.len()).is_some_and(|b| b.eq_ignore_ascii_case(word.as_bytes())) {
            return sign + word.len();
        }
    }
    if let [b'0', b'x' | b'X', rest @ ..] = body {
        let length = digits_length(rest, u8::is_ascii_hexdigit, b'p');
        if length > 0 {
            return sign + 2 + length;
        }
    }
    match digits_length(body, u8::is_ascii_digit, b'e') {
        0 => 0,
        length => sign + length,
    }
}

/// Digits with a point and an exponent.
fn digits_length(bytes: &[u8], is_digit: fn(&u8) -> bool, exponent: u8) -> usize {
    let count = |from: usize, is_digit: fn(&u8) -> bool| {
        bytes.get(from..).unwrap_or_default().iter().take_while(|b| is_digit(b)).count()
    };
    let whole = count(0, is_digit);
    let mut length = whole;
    if bytes.get(whole) == Some(&b'.') {
        let fraction = count(whole + 1, is_digit);
        if whole + fraction > 0 {
            length = whole + 1 + fraction;
        }
    }
    if length > 0 && bytes.get(length).is_some_and(|b| b.to_ascii_lowercase() == exponent) {
        let sign = usize::from(matches!(bytes.get(length + 1), Some(b'-' | b'+')));
        let digits = count(length + 1 + sign, u8::is_ascii_digit);
        if digits > 0 {
            length += 1 + sign + digits;
        }
    }
    length
}

fn read_number(text: &str) -> Number {
    let body = text.trim_start_matches(['-', '+']);
    let hexadecimal = body.strip_prefix("0x").or_else(|| body.strip_prefix("0X"));
    let named = body.starts_with(['i', 'I', 'n', 'N']);
    let (magnitude, is_zero) = match hexadecimal {
        Some(digits) => {
            let (mantissa, exponent) = digits.split_once(['p', 'P']).unwrap_or((digits, "0"));
            let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
            let mut value = 0f64;
            for digit in whole.bytes().chain(fraction.bytes()) {
                crate::work::visit();
                value = value * 16.0 + f64::from((digit as char).to_digit(16).unwrap_or(0));
            }
            let exponent = exponent.parse().unwrap_or(0i32).saturating_sub(4 * fraction.len() as i32);
            ((value * 2f64.powi(exponent)) as f32, value == 0.0)
        }
        None => {
            let digits = body.split(['e', 'E']).next().unwrap_or_default();
            (body.parse::<f32>().unwrap_or(f32::NAN), !digits.bytes().any(|b| (b'1'..=b'9').contains(&b)))
        }
    };
    Number {
        value: if text.starts_with('-') { -magnitude } else { magnitude },
        overflows: magnitude.is_infinite() && !named,
        vanishes: magnitude == 0.0 && !is_zero,
    }
}
