//! `to_number`: digits, point and sign are picked out of a text along a template.

use super::number_template::{nodes, Anchor, Node, Pattern, Summary};
use crate::numeric::Numeric;
use crate::{PgError, Result, SqlState};

/// How many numerals the longest number has: MMMDCCCLXXXVIII.
const LONGEST_ROMAN: usize = 15;

fn not_for_input(pattern: &str) -> PgError {
    PgError::new(SqlState::FEATURE_NOT_SUPPORTED, format!("\"{pattern}\" not supported for input"))
}

/// `to_number(text, template)`; None (NULL) for an empty template.
/// Errors: 42601 for a template that contradicts itself, 22P02 where the text has no number, 0A000 for `EEEE`, and for `RN` with digits.
pub fn read(text: &str, template: &str) -> Result<Option<Numeric>> {
    if template.is_empty() {
        return Ok(None);
    }
    let (nodes, summary) = nodes(template)?;
    if summary.exponent {
        return Err(not_for_input("EEEE"));
    }
    if summary.roman && (summary.before > 0 || summary.decimal || summary.shifted) {
        return Err(not_for_input("RN with digits"));
    }
    let (before, shift, shifted) = (summary.before, summary.shift, summary.shifted);
    let mut reader = Reader {
        text: text.as_bytes(),
        at: 0,
        sign: b' ',
        digits: Vec::new(),
        summary,
        read_before: 0,
        read_after: 0,
        point_read: false,
    };
    for node in &nodes {
        crate::work::pulse(1);
        if reader.at >= reader.text.len() {
            break;
        }
        if let Node::Pattern(Pattern::Roman(_)) = node {
            return reader.roman().map(|value| Some(Numeric::from(value)));
        }
        reader.node(node);
    }
    if reader.digits.last() == Some(&b'.') {
        reader.digits.pop();
    }
    let mut number = vec![reader.sign];
    number.extend_from_slice(&reader.digits);
    let scale = reader.read_after as i32;
    let number = Numeric::from_text(&String::from_utf8_lossy(&number))?;
    let precision = (before + shift) as i32 + scale;
    let number = number.apply_typmod(((precision << 16) | scale) + 4)?;
    if !shifted {
        return Ok(Some(number));
    }
    let factor = Numeric::from(10i64).power(&Numeric::from(-(shift as i64)))?;
    number.mul(&factor).map(Some)
}

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
    /// a blank until one was read
    sign: u8,
    digits: Vec<u8>,
    summary: Summary,
    read_before: usize,
    read_after: usize,
    point_read: bool,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    /// A number in Roman numerals, after blanks. Errors: 22P02 for one that is not written as it is printed.
    fn roman(&mut self) -> Result<i64> {
        let rest = &self.text[self.at..];
        let blanks = rest.iter().take_while(|b| b.is_ascii_whitespace()).count();
        let worth = |b: &u8| match b.to_ascii_uppercase() {
            b'I' => Some(1),
            b'V' => Some(5),
            b'X' => Some(10),
            b'L' => Some(50),
            b'C' => Some(100),
            b'D' => Some(500),
            b'M' => Some(1000),
            _ => None,
        };
        let values: Vec<i64> = rest[blanks..].iter().map_while(worth).take(LONGEST_ROMAN).collect();
        // a numeral before a larger one is taken off
        let next = values.iter().skip(1).chain([&0]);
        let value: i64 = values.iter().zip(next).map(|(own, next)| if own < next { -own } else { *own }).sum();
        let written = rest[blanks..][..values.len()].to_ascii_uppercase();
        match (1..=3999).contains(&value) && super::number_out::numerals(value).as_bytes() == written {
            true => Ok(value),
            false => Err(PgError::new(SqlState::INVALID_TEXT_REPRESENTATION, "invalid Roman numeral")),
        }
    }

    fn skip_character(&mut self) {
        if let Some(lead) = self.peek() {
            let length = match lead {
                0xf0.. => 4,
                0xe0.. => 3,
                0xc0.. => 2,
                _ => 1,
            };
            self.at = (self.at + length).min(self.text.len());
        }
    }

    /// Over up to `n` characters that are no part of a number.
    fn skip_others(&mut self, n: usize) {
        for _ in 0..n {
            crate::work::pulse(1);
            match self.peek() {
                Some(b) if !b.is_ascii_digit() && !b".,+-".contains(&b) => self.skip_character(),
                _ => break,
            }
        }
    }

    fn node(&mut self, node: &Node) {
        let pattern = match node {
            // Any character may stand for one of the template's.
            Node::Character(_) => return self.skip_character(),
            Node::Pattern(pattern) => *pattern,
        };
        match pattern {
            Pattern::Digit | Pattern::Zero | Pattern::Point | Pattern::LocalePoint => {
                self.number_place(pattern);
                self.at += 1;
            }
            Pattern::Comma | Pattern::Group => {
                // With FM PostgreSQL looks for no comma.
                if !self.summary.fill && self.peek() == Some(b',') {
                    self.at += 1;
                }
            }
            Pattern::Currency => self.skip_others(1),
            Pattern::Ordinal(_) => {
                if !self.summary.decimal {
                    self.skip_others(2);
                }
            }
            Pattern::Minus | Pattern::Plus | Pattern::Sign => match self.peek() {
                Some(b'-') if pattern != Pattern::Plus => {
                    self.sign = b'-';
                    self.at += 1;
                }
                Some(b'+') if pattern != Pattern::Minus => {
                    self.sign = b'+';
                    self.at += 1;
                }
                _ => self.skip_others(1),
            },
            Pattern::Blank
            | Pattern::IsoCurrency
            | Pattern::Fill
            | Pattern::Brackets
            | Pattern::AnchoredSign
            | Pattern::Spell
            | Pattern::Roman(_)
            | Pattern::Shift
            | Pattern::Exponent => {}
        }
    }

    /// A place for a digit or the point, with the signs that may stand around it. Leaves the position at its last byte.
    fn number_place(&mut self, pattern: Pattern) {
        if self.peek() == Some(b' ') {
            self.at += 1;
        }
        let Some(first) = self.peek() else { return };
        let nothing_read = self.read_before + self.read_after == 0;
        if self.sign == b' ' && matches!(pattern, Pattern::Digit | Pattern::Zero) && nothing_read {
            let bracket = self.summary.brackets && first == b'<';
            let anchored = self.summary.anchored_sign && self.summary.anchor == Anchor::Before;
            if first == b'-' || bracket && !anchored {
                self.sign = b'-';
                self.at += 1;
            } else if first == b'+' {
                self.sign = b'+';
                self.at += 1;
            }
        }
        let Some(next) = self.peek() else { return };
        let mut read = false;
        if next.is_ascii_digit() {
            if self.point_read && self.read_after == self.summary.after {
                return;
            }
            self.digits.push(next);
            if self.point_read {
                self.read_after += 1;
            } else {
                self.read_before += 1;
            }
            read = true;
        } else if self.summary.decimal && !self.point_read && next == b'.' {
            self.digits.push(b'.');
            self.point_read = true;
            read = true;
        }
        if self.sign != b' ' || self.read_before + self.read_after == 0 {
            return;
        }
        // A sign behind the last digit.
        let following = self.text.get(self.at + 1).copied();
        if self.summary.anchored_sign && read {
            if let Some(sign @ (b'-' | b'+')) = following {
                self.sign = sign;
                self.at += 1;
            }
        } else if !read && !self.summary.anchored_sign && (self.summary.plus || self.summary.minus) {
            if let b'-' | b'+' = next {
                self.sign = next;
            }
        }
    }
}
