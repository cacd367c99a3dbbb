//! `to_char` of numbers.
//!
//! The value becomes digits as the template's counts ask for it ([`Number`]), then `Writer` walks the template and the
//! digits together.

use super::number_template::{nodes, Anchor, Node, Pattern, Summary};
use super::ordinal;
use crate::numeric::Numeric;
use crate::{float, int, PgError, Result, SqlState};

/// A value to be written.
#[derive(Debug, Clone)]
pub enum Number {
    Int4(i32),
    Int8(i64),
    Float4(f32),
    Float8(f64),
    Numeric(Numeric),
}

/// What is written of a value: its digits without sign (`#` where the template has too few places), the sign, and how many
/// places of the template lie in front of the digits.
struct Digits {
    text: Vec<u8>,
    negative: bool,
    places_before: usize,
}

/// `to_char(number, template)`. Errors: 42601 for a template that contradicts itself, 22003 for a value that a shift (`V`)
/// or `RN` takes out of its type.
pub fn write(number: &Number, template: &str) -> Result<String> {
    if template.is_empty() {
        return Ok(String::new());
    }
    let (nodes, mut summary) = nodes(template)?;
    if summary.exponent {
        return scientific(number, &summary);
    }
    let digits = if summary.roman {
        Digits { text: roman(number).into_bytes(), negative: false, places_before: 0 }
    } else {
        digits(number, &mut summary)?
    };
    Writer::new(digits, summary).run(&nodes)
}

/// Ten to a power of the template's making, as the integers multiply by it.
fn shifted(value: i64, shift: usize) -> Option<i64> {
    value.checked_mul(10i64.checked_pow(u32::try_from(shift).ok()?)?)
}

fn out_of_range(type_name: &str) -> PgError {
    PgError::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, format!("{type_name} out of range"))
}

/// The digits of a value as the template wants them. Corrects the template's counts: `V` adds places before the point, a
/// float has only as many digits as its type holds.
fn digits(number: &Number, summary: &mut Summary) -> Result<Digits> {
    let shift = if summary.shifted { summary.shift } else { 0 };
    let mut text = match number {
        Number::Int4(v) => {
            // An integer's shift wraps around in PostgreSQL.
            let factor = 10i32.checked_pow(shift as u32).ok_or_else(|| out_of_range("integer"))?;
            whole(v.wrapping_mul(factor) as i64, summary.after)
        }
        Number::Int8(v) => whole(shifted(*v, shift).ok_or_else(|| out_of_range("bigint"))?, summary.after),
        Number::Float4(v) => {
            let v = if summary.shifted { *v * 10f64.powi(shift as i32) as f32 } else { *v };
            fixed(v as f64, summary, 6)
        }
        Number::Float8(v) => {
            let v = if summary.shifted { *v * 10f64.powi(shift as i32) } else { *v };
            fixed(v, summary, 15)
        }
        Number::Numeric(v) => {
            let v =
                if shift > 0 { v.mul(&Numeric::from(10i64).power(&Numeric::from(shift as i64))?)? } else { v.clone() };
            let mut out = Vec::new();
            v.round(summary.after as i32).write(&mut out);
            out
        }
    };
    summary.before += shift;
    let negative = text.first() == Some(&b'-');
    if negative {
        text.remove(0);
    }
    let length = text.iter().position(|b| *b == b'.').unwrap_or(text.len());
    let mut places_before = 0;
    if length < summary.before {
        places_before = summary.before - length;
    } else if length > summary.before {
        text = vec![b'#'; summary.before + summary.after + 1];
        text[summary.before] = b'.';
    }
    Ok(Digits { text, negative, places_before })
}

/// An integer with so many zeros after the point.
fn whole(value: i64, after: usize) -> Vec<u8> {
    let mut out = value.to_string().into_bytes();
    if after > 0 {
        out.push(b'.');
        out.resize(out.len() + after, b'0');
    }
    out
}

/// A float with the digits after the point that the template asks for and its type can give.
fn fixed(value: f64, summary: &mut Summary, digits: usize) -> Vec<u8> {
    let before = printed(value.abs(), 0).len();
    if before >= digits {
        summary.after = 0;
    } else if before + summary.after > digits {
        summary.after = digits - before;
    }
    printed(value, summary.after).into_bytes()
}

/// C's `%.*f`.
fn printed(value: f64, after: usize) -> String {
    if value.is_nan() {
        return float::NAN.into();
    }
    if value.is_infinite() {
        return if value > 0.0 { "Infinity" } else { "-Infinity" }.into();
    }
    format!("{value:.after$}")
}

/// C's `%.*e`: at least two digits of exponent.
fn exponential(value: f64, after: usize) -> String {
    let text = format!("{value:.after$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    format!("{mantissa}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs())
}

/// `9.99EEEE`. What has no exponent (NaN, infinities) becomes `#`.
fn scientific(number: &Number, summary: &Summary) -> Result<String> {
    let text = match number {
        Number::Int4(v) => exponential(*v as f64, summary.after),
        Number::Float4(v) if v.is_finite() => exponential(*v as f64, summary.after),
        Number::Float8(v) if v.is_finite() => exponential(*v, summary.after),
        Number::Int8(v) => scientific_numeric(&Numeric::from(*v), summary.after)?,
        Number::Numeric(v) if v.is_finite() => scientific_numeric(v, summary.after)?,
        _ => {
            // six places more: the point, `e`, its sign, two digits, and the number's sign
            let mut out = vec![b'#'; summary.before + summary.after + 6];
            out[0] = b' ';
            out[summary.before + 1] = b'.';
            return String::from_utf8(out).map_err(|e| PgError::internal(e.to_string()));
        }
    };
    Ok(if text.starts_with('-') { text } else { format!(" {text}") })
}

/// The exponent is that of the value before rounding, so that 9.99 with one digit is 10.0e+00, as in PostgreSQL.
fn scientific_numeric(value: &Numeric, after: usize) -> Result<String> {
    let mut digits = Vec::new();
    value.abs().write(&mut digits);
    let point = digits.iter().position(|b| *b == b'.').unwrap_or(digits.len());
    let mut exponent = 0i64;
    if let Some(first) = digits.iter().position(|b| (b'1'..=b'9').contains(b)) {
        exponent = if first < point { (point - first) as i64 - 1 } else { point as i64 - first as i64 };
    }
    // Moving the point is exact; a division would round twice.
    let mut moved: Vec<u8> = digits.iter().copied().filter(|b| *b != b'.').collect();
    let mut at = point as i64 - exponent;
    if at < 0 {
        moved.splice(0..0, std::iter::repeat_n(b'0', -at as usize));
        at = 0;
    }
    while (moved.len() as i64) < at {
        crate::work::pulse(1);
        moved.push(b'0');
    }
    moved.insert(at as usize, b'.');
    let moved = format!("0{}", String::from_utf8_lossy(&moved));
    let mut mantissa = Vec::new();
    Numeric::from_text(moved.trim_end_matches('.'))?.round(after as i32).write(&mut mantissa);
    let mantissa = String::from_utf8_lossy(&mantissa).into_owned();
    let sign = if value.is_negative() { "-" } else { "" };
    Ok(format!("{sign}{mantissa}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs()))
}

/// The value in Roman numerals; fifteen `#` outside 1 … 3999.
fn roman(number: &Number) -> String {
    let value = match number {
        Number::Int4(v) => *v as i64,
        Number::Int8(v) => *v,
        // C converts what no int holds to its least one
        Number::Float4(v) => float_as_int(*v as f64),
        Number::Float8(v) => float_as_int(*v),
        Number::Numeric(v) => v.to_int(int::Width::Four).unwrap_or(i64::MAX),
    };
    if !(1..=3999).contains(&value) {
        return "#".repeat(15);
    }
    numerals(value)
}

/// A value from 1 to 3999 in Roman numerals.
pub(super) fn numerals(value: i64) -> String {
    const NUMERALS: [(i64, &str); 13] = [
        (1000, "M"),
        (900, "CM"),
        (500, "D"),
        (400, "CD"),
        (100, "C"),
        (90, "XC"),
        (50, "L"),
        (40, "XL"),
        (10, "X"),
        (9, "IX"),
        (5, "V"),
        (4, "IV"),
        (1, "I"),
    ];
    let (mut rest, mut out) = (value, String::new());
    for (worth, numeral) in NUMERALS {
        crate::work::pulse(1);
        while rest >= worth {
            crate::work::pulse(1);
            out.push_str(numeral);
            rest -= worth;
        }
    }
    out
}

fn float_as_int(value: f64) -> i64 {
    let rounded = value.round_ties_even();
    if rounded.abs() < 2_147_483_648.0 {
        rounded as i64
    } else {
        i32::MIN as i64
    }
}

/// Walks the template and the digits together.
struct Writer {
    out: Vec<u8>,
    digits: Vec<u8>,
    /// the next digit
    at: usize,
    negative: bool,
    /// places of the template before the first digit
    places_before: usize,
    summary: Summary,
    /// the place of the template we are at
    place: usize,
    /// the number of the last place
    places: i64,
    sign_written: bool,
    /// whether the last place wrote a digit: then a comma is written
    in_number: bool,
    /// index of the last digit that `FM` keeps, the point itself if all after it are zeros
    last_relevant: Option<usize>,
}

impl Writer {
    fn new(digits: Digits, mut summary: Summary) -> Writer {
        if summary.roman {
            summary = Summary { fill: summary.fill, roman: true, ..Summary::default() };
        }
        let Digits { text, negative, places_before } = digits;
        summary.zero_start = summary.zero_start.saturating_sub(1);
        let sign_written;
        if summary.plus || summary.minus {
            // MI, PL and SG write the sign themselves; PL alone leaves a minus to the number.
            sign_written = !summary.plus || summary.minus;
        } else {
            if !negative && summary.fill {
                summary.brackets = false;
            }
            sign_written = !negative && summary.fill && !summary.anchored_sign;
            if summary.anchor == Anchor::Before && summary.before == summary.digits_before_sign {
                summary.anchor = Anchor::After;
            }
        }
        let mut places = (summary.after + summary.before) as i64 - 1;
        let mut last_relevant = None;
        if summary.fill && summary.decimal {
            last_relevant = text.iter().position(|b| *b == b'.').map(|point| {
                let last = text[point + 1..].iter().rposition(|b| *b != b'0').map_or(point, |i| point + 1 + i);
                // Places that are `0` in the template are kept.
                if summary.zero_end > places_before {
                    last.max((text.len() - 1).min(summary.zero_end - places_before))
                } else {
                    last
                }
            });
        }
        if !sign_written && places_before == 0 {
            places += 1;
        }
        Writer {
            out: Vec::new(),
            digits: text,
            at: 0,
            negative,
            places_before,
            summary,
            place: 0,
            places,
            sign_written,
            in_number: false,
            last_relevant,
        }
    }

    fn run(mut self, nodes: &[Node]) -> Result<String> {
        for node in nodes {
            crate::work::pulse(1);
            match node {
                Node::Character(c) => self.out.extend_from_slice(c.as_bytes()),
                Node::Pattern(p) => self.pattern(*p)?,
            }
        }
        // A float may have fewer digits than the template: PostgreSQL's text ends there.
        if let Some(end) = self.out.iter().position(|b| *b == 0) {
            self.out.truncate(end);
        }
        String::from_utf8(self.out).map_err(|e| PgError::internal(e.to_string()))
    }

    fn pattern(&mut self, pattern: Pattern) -> Result<()> {
        let fill = self.summary.fill;
        match pattern {
            Pattern::Digit | Pattern::Zero | Pattern::Point | Pattern::LocalePoint => self.number_place(pattern),
            Pattern::Comma | Pattern::Group if self.in_number => self.out.push(b','),
            Pattern::Comma | Pattern::Group | Pattern::Currency if pattern == Pattern::Currency || !fill => {
                self.out.push(b' ')
            }
            Pattern::Comma | Pattern::Group | Pattern::Currency => {}
            Pattern::Roman(case) => {
                let text = case.of(&String::from_utf8_lossy(&self.digits));
                let width = if fill { 0 } else { 15 };
                self.out.extend_from_slice(format!("{text:>width$}").as_bytes());
            }
            Pattern::Ordinal(case) => {
                let s = &self.summary;
                if !(s.roman || s.decimal || self.negative || self.digits.first() == Some(&b'#')) {
                    self.out.extend_from_slice(case.of(ordinal(&self.digits)?).as_bytes());
                }
            }
            // A Roman number has no sign.
            Pattern::Minus | Pattern::Plus | Pattern::Sign => {
                let sign = match (self.summary.roman, self.negative) {
                    (true, _) => 0,
                    (_, true) => b'-',
                    (_, false) => b'+',
                };
                let wanted = match pattern {
                    Pattern::Minus => sign == b'-',
                    Pattern::Plus => sign == b'+',
                    _ => true,
                };
                if wanted {
                    self.out.push(sign);
                } else if !fill {
                    self.out.push(b' ');
                }
            }
            Pattern::Blank
            | Pattern::IsoCurrency
            | Pattern::Fill
            | Pattern::Brackets
            | Pattern::AnchoredSign
            | Pattern::Spell
            | Pattern::Shift
            | Pattern::Exponent => {}
        }
        Ok(())
    }

    /// The first digit is a 0 that stands alone before the point: it is left out.
    fn bare_zero(&self) -> bool {
        !self.summary.zero && self.at == 0 && self.digits.first() == Some(&b'0') && self.summary.after != 0
    }

    /// All digits after the point are zeros that `FM` drops.
    fn ends_at_point(&self) -> bool {
        self.last_relevant.is_some_and(|i| self.digits[i] == b'.')
    }

    fn sign(&mut self) {
        let zeros_begin = self.summary.zero && self.summary.zero_start == self.place;
        let number_begins = self.place >= self.places_before || zeros_begin;
        if self.sign_written || !number_begins || self.bare_zero() && !self.ends_at_point() {
            return;
        }
        if self.summary.anchored_sign {
            if self.summary.anchor != Anchor::Before {
                return;
            }
            self.out.push(if self.negative { b'-' } else { b'+' });
        } else if self.summary.brackets {
            self.out.push(if self.negative { b'<' } else { b' ' });
        } else if self.negative {
            self.out.push(b'-');
        } else if !self.summary.fill {
            self.out.push(b' ');
        }
        self.sign_written = true;
    }

    /// A place for a digit or the point.
    fn number_place(&mut self, pattern: Pattern) {
        if self.summary.roman {
            return;
        }
        self.in_number = false;
        self.sign();
        if self.place < self.places_before {
            if self.summary.zero && self.summary.zero_start <= self.place {
                self.out.push(b'0');
                self.in_number = true;
            } else if !self.summary.fill {
                self.out.push(b' ');
            }
        } else {
            self.digit(pattern);
        }
        let mut end = self.places + (self.places_before > 0) as i64 + self.summary.decimal as i64;
        if self.last_relevant == Some(self.at) {
            end = self.place as i64;
        }
        if self.place as i64 + 1 == end {
            if self.sign_written && self.summary.brackets {
                self.out.push(if self.negative { b'>' } else { b' ' });
            } else if self.summary.anchored_sign && self.summary.anchor == Anchor::After {
                self.out.push(if self.negative { b'-' } else { b'+' });
            }
        }
        self.place += 1;
    }

    fn digit(&mut self, pattern: Pattern) {
        let next = self.digits.get(self.at).copied();
        if next == Some(b'.') {
            if !self.ends_at_point() || self.summary.fill {
                self.out.push(b'.');
            }
        } else if self.last_relevant.is_some_and(|last| self.at > last) && pattern != Pattern::Zero {
            // a trailing zero that FM drops
        } else if self.bare_zero() {
            if !self.summary.fill {
                self.out.push(b' ');
            } else if self.ends_at_point() {
                self.out.push(b'0');
            }
        } else {
            self.out.push(next.unwrap_or(0));
            self.in_number = true;
        }
        if next.is_some() {
            self.at += 1;
        }
    }
}
