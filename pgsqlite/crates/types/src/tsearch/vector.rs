//! `tsvector`: lexemes in order, each with the positions where it stands in its document.

use super::lexeme::Reader;
use super::{LARGEST_VECTOR, LAST_POSITION, LONGEST_LEXEME, MOST_POSITIONS};
use crate::buffer::{int, Reader as Binary};
use crate::text::decode_utf8;
use crate::{Datum, DatumRef, PgError, Result, SqlState};
use std::cmp::Ordering;

/// A place in a document, with its weight: 0 is D, 3 is A.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    pub at: u16,
    pub weight: u8,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lexeme {
    pub text: String,
    /// in order; none: it was stripped of them
    pub positions: Vec<Position>,
}

/// Lexemes in the order of their bytes, each once.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Vector {
    pub lexemes: Vec<Lexeme>,
}

/// The number of a weight's letter. Errors: 22023.
pub fn weight_of(letter: u8) -> Option<u8> {
    match letter.to_ascii_uppercase() {
        b'A' => Some(3),
        b'B' => Some(2),
        b'C' => Some(1),
        b'D' => Some(0),
        _ => None,
    }
}

/// Writes a lexeme between quotes.
pub(crate) fn quote(text: &str, out: &mut Vec<u8>) {
    out.push(b'\'');
    for b in text.bytes() {
        crate::work::pulse(1);
        if matches!(b, b'\'' | b'\\') {
            out.push(b);
        }
        out.push(b);
    }
    out.push(b'\'');
}

/// In order, each once with its highest weight, no more than there can be.
fn tidy(positions: &mut Vec<Position>) {
    positions.sort_by_key(|p| p.at);
    positions.dedup_by(|next, kept| {
        if next.at == kept.at {
            kept.weight = kept.weight.max(next.weight);
        }
        next.at == kept.at
    });
    positions.truncate(MOST_POSITIONS);
}

impl Vector {
    /// From lexemes in any order; those that come several times are put together. Errors: 54000 if one, or all, are too long.
    pub fn from_lexemes(mut lexemes: Vec<Lexeme>) -> Result<Vector> {
        lexemes.sort_by(|a, b| a.text.cmp(&b.text));
        let mut out: Vec<Lexeme> = Vec::with_capacity(lexemes.len());
        for lexeme in lexemes {
            crate::work::pulse(1);
            if lexeme.text.len() > LONGEST_LEXEME {
                return Err(PgError::new(
                    SqlState::PROGRAM_LIMIT_EXCEEDED,
                    format!("word is too long ({} bytes, max {LONGEST_LEXEME} bytes)", lexeme.text.len()),
                ));
            }
            match out.last_mut() {
                Some(last) if last.text == lexeme.text => last.positions.extend(lexeme.positions),
                _ => out.push(lexeme),
            }
        }
        out.iter_mut().for_each(|l| tidy(&mut l.positions));
        let vector = Vector { lexemes: out };
        let size = vector.data_size();
        if size > LARGEST_VECTOR {
            return Err(PgError::new(
                SqlState::PROGRAM_LIMIT_EXCEEDED,
                format!("string is too long for tsvector ({size} bytes, max {LARGEST_VECTOR} bytes)"),
            ));
        }
        Ok(vector)
    }

    /// Reads the text form. Errors: 42601, 54000.
    pub fn parse(text: &str) -> Result<Vector> {
        let mut reader = Reader { text, at: 0, query: false };
        let mut lexemes = Vec::new();
        while let Some(read) = reader.lexeme()? {
            crate::work::pulse(1);
            if read.text.len() > LONGEST_LEXEME {
                return Err(PgError::new(
                    SqlState::PROGRAM_LIMIT_EXCEEDED,
                    format!("word is too long ({} bytes, max {LONGEST_LEXEME} bytes)", read.text.len()),
                ));
            }
            lexemes.push(Lexeme { text: read.text, positions: read.positions });
        }
        Vector::from_lexemes(lexemes)
    }

    pub fn to_text(&self) -> String {
        let mut out = Vec::new();
        for (i, lexeme) in self.lexemes.iter().enumerate() {
            crate::work::pulse(1);
            if i > 0 {
                out.push(b' ');
            }
            quote(&lexeme.text, &mut out);
            for (i, p) in lexeme.positions.iter().enumerate() {
                crate::work::pulse(1);
                out.push(if i == 0 { b':' } else { b',' });
                int(&mut out, p.at);
                if p.weight > 0 {
                    out.push(b'D' - p.weight);
                }
            }
        }
        String::from_utf8(out).unwrap_or_default()
    }

    pub fn to_datum(&self) -> Datum {
        Datum::Text(self.to_text())
    }

    /// The bytes that lexemes and positions take in PostgreSQL, where positions begin at even places.
    fn data_size(&self) -> usize {
        self.lexemes.iter().fold(0, |size, lexeme| {
            let size = size + lexeme.text.len();
            match lexeme.positions.len() {
                0 => size,
                n => size.next_multiple_of(2) + 2 + 2 * n,
            }
        })
    }

    /// The order of the btree operator class: by size, by number of lexemes, then lexeme by lexeme.
    pub fn compare(&self, other: &Vector) -> Ordering {
        let size = |v: &Vector| (v.lexemes.len() * 4 + v.data_size(), v.lexemes.len());
        size(self).cmp(&size(other)).then_with(|| {
            let by_lexeme = |(a, b): (&Lexeme, &Lexeme)| {
                // one with positions comes before one without
                let placed = b.positions.is_empty().cmp(&a.positions.is_empty()).reverse();
                let order = placed.then_with(|| a.text.cmp(&b.text));
                order.then_with(|| b.positions.len().cmp(&a.positions.len())).then_with(|| {
                    let positions = a.positions.iter().zip(&b.positions);
                    let key = |p: &Position| (p.at, p.weight);
                    positions.map(|(p, q)| key(q).cmp(&key(p))).find(|o| o.is_ne()).unwrap_or(Ordering::Equal)
                })
            };
            self.lexemes.iter().zip(&other.lexemes).map(by_lexeme).find(|o| o.is_ne()).unwrap_or(Ordering::Equal)
        })
    }

    pub fn find(&self, text: &str) -> Option<&Lexeme> {
        self.lexemes.binary_search_by(|l| l.text.as_str().cmp(text)).ok().map(|i| &self.lexemes[i])
    }

    /// The lexemes that begin with `text`.
    pub fn with_prefix<'v>(&'v self, text: &'v str) -> impl Iterator<Item = &'v Lexeme> {
        let from = self.lexemes.partition_point(|l| l.text.as_str() < text);
        self.lexemes[from..].iter().take_while(move |l| l.text.starts_with(text))
    }

    /// The lexemes that an operand of a query means.
    pub fn meant<'v>(&'v self, text: &'v str, prefix: bool) -> Vec<&'v Lexeme> {
        match prefix {
            true => self.with_prefix(text).collect(),
            false => self.find(text).into_iter().collect(),
        }
    }

    pub fn strip(mut self) -> Vector {
        self.lexemes.iter_mut().for_each(|l| l.positions.clear());
        self
    }

    /// Gives all positions (or those of the lexemes named) a weight.
    pub fn set_weight(mut self, weight: u8, of: Option<&[String]>) -> Vector {
        for lexeme in &mut self.lexemes {
            crate::work::pulse(1);
            if of.is_none_or(|names| names.contains(&lexeme.text)) {
                lexeme.positions.iter_mut().for_each(|p| p.weight = weight);
            }
        }
        self
    }

    /// `||`: the positions of `other` come behind the last of this one.
    pub fn concat(mut self, other: Vector) -> Result<Vector> {
        let last = self.lexemes.iter().flat_map(|l| &l.positions).map(|p| p.at).max().unwrap_or(0);
        let full = |l: &&Lexeme| l.positions.last().is_some_and(|p| p.at == LAST_POSITION);
        let full: std::collections::HashSet<String> =
            self.lexemes.iter().filter(full).map(|l| l.text.clone()).collect();
        for mut lexeme in other.lexemes {
            crate::work::pulse(1);
            if full.contains(&lexeme.text) {
                continue;
            }
            let mut moved: Vec<Position> = Vec::new();
            for p in lexeme.positions {
                crate::work::pulse(1);
                let at = (u32::from(p.at) + u32::from(last)).min(u32::from(LAST_POSITION)) as u16;
                if moved.last().is_some_and(|m| m.at == LAST_POSITION) {
                    break;
                }
                moved.push(Position { at, ..p });
            }
            lexeme.positions = moved;
            self.lexemes.push(lexeme);
        }
        Vector::from_lexemes(self.lexemes)
    }

    /// Without these lexemes.
    pub fn delete(mut self, names: &[String]) -> Vector {
        self.lexemes.retain(|l| !names.contains(&l.text));
        self
    }

    /// What is left of it with these weights: the lexemes that have a position of them, and those positions.
    pub fn filter(mut self, weights: &[u8]) -> Vector {
        for lexeme in &mut self.lexemes {
            crate::work::pulse(1);
            lexeme.positions.retain(|p| weights.contains(&p.weight));
        }
        self.lexemes.retain(|l| !l.positions.is_empty());
        self
    }
}

pub(crate) fn text_in(text: &str) -> Result<Datum> {
    Vector::parse(text).map(|v| v.to_datum())
}

fn stored(value: DatumRef) -> Result<Vector> {
    match value {
        DatumRef::Text(text) => Vector::parse(text),
        other => Err(crate::buffer::bad_stored("tsvector", other)),
    }
}

/// The number of lexemes; each as a zero-terminated text, its number of positions, and those: the weight in the two upper bits.
pub(crate) fn binary_out(value: DatumRef, out: &mut Vec<u8>) -> Result<()> {
    let vector = stored(value)?;
    out.extend_from_slice(&(vector.lexemes.len() as u32).to_be_bytes());
    for lexeme in &vector.lexemes {
        crate::work::pulse(1);
        out.extend_from_slice(lexeme.text.as_bytes());
        out.push(0);
        out.extend_from_slice(&(lexeme.positions.len() as u16).to_be_bytes());
        for p in &lexeme.positions {
            crate::work::pulse(1);
            out.extend_from_slice(&(u16::from(p.weight) << 14 | p.at).to_be_bytes());
        }
    }
    Ok(())
}

/// A text that ends with a zero byte.
pub(crate) fn zero_terminated<'a>(r: &mut Binary<'a>) -> Result<&'a str> {
    let Some(end) = r.0.iter().position(|b| *b == 0) else {
        return Err(PgError::new(SqlState::PROTOCOL_VIOLATION, "invalid string in message"));
    };
    let text = decode_utf8(r.take(end)?)?;
    r.take(1)?;
    Ok(text)
}

pub(crate) fn binary_in(bytes: &[u8]) -> Result<Datum> {
    let invalid = |message: &str| PgError::new(SqlState::INVALID_BINARY_REPRESENTATION, message);
    let mut r = Binary(bytes);
    let count = u32::from_be_bytes(r.take(4)?.try_into().unwrap_or_default());
    if count as usize > bytes.len() {
        return Err(invalid("invalid size of tsvector"));
    }
    let mut lexemes = Vec::new();
    for _ in 0..count {
        crate::work::pulse(1);
        let text = zero_terminated(&mut r)?.to_string();
        if text.len() > LONGEST_LEXEME {
            return Err(invalid("invalid tsvector: lexeme too long"));
        }
        let n = r.u16()? as usize;
        if n > MOST_POSITIONS {
            return Err(invalid("unexpected number of tsvector positions"));
        }
        let mut positions: Vec<Position> = Vec::new();
        for _ in 0..n {
            crate::work::pulse(1);
            let word = r.u16()?;
            let p = Position { at: word & LAST_POSITION, weight: (word >> 14) as u8 };
            if positions.last().is_some_and(|before| p.at <= before.at) {
                return Err(invalid("position information is misordered"));
            }
            positions.push(p);
        }
        lexemes.push(Lexeme { text, positions });
    }
    Vector::from_lexemes(lexemes).map(|v| v.to_datum())
}
