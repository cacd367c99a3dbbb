//! `hstore`: pairs of texts, each key once. Stored as TEXT in the form that it is printed in, `"a"=>"1", "b"=>NULL`, the pairs
//! by the length of their keys, then by their bytes: equal values are equal texts.

use crate::buffer::{is_space, Reader};
use crate::{Datum, DatumRef, PgError, Result, SqlState};
use std::cmp::Ordering;

/// A value in memory.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Hstore {
    /// in the type's order; None: NULL
    pairs: Vec<(String, Option<String>)>,
}

fn key_order(a: &str, b: &str) -> Ordering {
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}

fn syntax(message: String) -> PgError {
    PgError::new(SqlState::SYNTAX_ERROR, message)
}

fn ends() -> PgError {
    syntax("syntax error in hstore: unexpected end of string".into())
}

/// Reader of the text form.
struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl Parser<'_> {
    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn unexpected(&self) -> PgError {
        let c = self.peek().map(String::from).unwrap_or_default();
        syntax(format!("syntax error in hstore, near \"{c}\" at position {}", self.at))
    }

    fn skip(&mut self) {
        while self.text.as_bytes().get(self.at).is_some_and(|b| is_space(*b)) {
            crate::work::pulse(1);
            self.at += 1;
        }
    }

    /// A key or (`value`) a value, and whether it was quoted. None: nothing but blanks follows.
    fn word(&mut self, value: bool) -> Result<Option<(String, bool)>> {
        self.skip();
        let mut out = String::new();
        let Some(first) = self.peek() else { return Ok(None) };
        let quoted = first == '"';
        if quoted {
            self.at += 1;
        } else if first == '=' && !value {
            return Err(self.unexpected());
        }
        // (what begins a word without quotes is part of it, also a comma)
        let mut begun = quoted;
        loop {
            crate::work::pulse(1);
            let Some(c) = self.peek() else {
                return if quoted { Err(ends()) } else { Ok(Some((out, false))) };
            };
            match c {
                '\\' => {
                    self.at += 1;
                    let escaped = self.peek().ok_or_else(ends)?;
                    out.push(escaped);
                    self.at += escaped.len_utf8();
                    begun = true;
                    continue;
                }
                '"' if quoted => {
                    self.at += 1;
                    return Ok(Some((out, true)));
                }
                '=' if !quoted && !value && begun => return Ok(Some((out, false))),
                ',' if !quoted && value && begun => return Ok(Some((out, false))),
                c if !quoted && c.is_ascii() && is_space(c as u8) => return Ok(Some((out, false))),
                c => out.push(c),
            }
            self.at += c.len_utf8();
            begun = true;
        }
    }

    /// Blanks, then this character.
    fn expect(&mut self, wanted: char) -> Result<()> {
        match self.peek() {
            Some(c) if c == wanted => {
                self.at += 1;
                Ok(())
            }
            None => Err(ends()),
            Some(_) => Err(self.unexpected()),
        }
    }
}

impl Hstore {
    /// Of any pairs: of those with one key the first counts.
    pub fn new(mut pairs: Vec<(String, Option<String>)>) -> Hstore {
        pairs.sort_by(|a, b| key_order(&a.0, &b.0));
        pairs.dedup_by(|b, a| a.0 == b.0);
        Hstore { pairs }
    }

    /// Reads the text form.
    pub fn parse(text: &str) -> Result<Hstore> {
        let mut parser = Parser { text, at: 0 };
        let mut pairs = Vec::new();
        while let Some((key, _)) = parser.word(false)? {
            crate::work::pulse(1);
            parser.skip();
            parser.expect('=')?;
            parser.expect('>')?;
            let (value, quoted) = parser.word(true)?.ok_or_else(ends)?;
            let null = !quoted && value.eq_ignore_ascii_case("null");
            pairs.push((key, (!null).then_some(value)));
            parser.skip();
            match parser.peek() {
                None => break,
                Some(',') => parser.at += 1,
                Some(_) => return Err(parser.unexpected()),
            }
        }
        Ok(Hstore::new(pairs))
    }

    /// The text form, which is the storage form, too.
    pub fn to_text(&self) -> String {
        let mut out = String::new();
        let quote = |text: &str, out: &mut String| {
            out.push('"');
            for c in text.chars() {
                crate::work::pulse(1);
                if matches!(c, '"' | '\\') {
                    out.push('\\');
                }
                out.push(c);
            }
            out.push('"');
        };
        for (i, (key, value)) in self.pairs.iter().enumerate() {
            crate::work::pulse(1);
            if i > 0 {
                out.push_str(", ");
            }
            quote(key, &mut out);
            out.push_str("=>");
            match value {
                Some(value) => quote(value, &mut out),
                None => out.push_str("NULL"),
            }
        }
        out
    }

    pub fn to_datum(&self) -> Datum {
        Datum::Text(self.to_text())
    }

    pub fn pairs(&self) -> &[(String, Option<String>)] {
        &self.pairs
    }

    /// The value of a key; None: there is no such key.
    pub fn get(&self, key: &str) -> Option<&Option<String>> {
        self.pairs.binary_search_by(|p| key_order(&p.0, key)).ok().map(|i| &self.pairs[i].1)
    }

    /// Without the pairs that `drop` names.
    pub fn without(&self, drop: impl Fn(&str, &Option<String>) -> bool) -> Hstore {
        Hstore { pairs: self.pairs.iter().filter(|(k, v)| !drop(k, v)).cloned().collect() }
    }

    /// Both values' pairs; where both have a key, that of `other`.
    pub fn concat(&self, other: &Hstore) -> Hstore {
        Hstore::new(other.pairs.iter().chain(&self.pairs).cloned().collect())
    }

    /// Whether all pairs of `other` are here.
    pub fn contains(&self, other: &Hstore) -> bool {
        other.pairs.iter().all(|(k, v)| self.get(k) == Some(v))
    }

    /// The order of the operator class: by the bytes of keys and values, then by their lengths.
    pub fn compare(&self, other: &Hstore) -> Ordering {
        let joined = |h: &Hstore| -> String {
            h.pairs.iter().flat_map(|(k, v)| [k.as_str(), v.as_deref().unwrap_or("")]).collect()
        };
        let ends = |h: &Hstore| -> Vec<usize> {
            h.pairs.iter().flat_map(|(k, v)| [k.len(), v.as_ref().map_or(0, String::len)]).collect()
        };
        let nulls = |h: &Hstore| -> Vec<bool> { h.pairs.iter().map(|(_, v)| v.is_none()).collect() };
        if self.pairs.is_empty() || other.pairs.is_empty() {
            return self.pairs.len().cmp(&other.pairs.len());
        }
        joined(self)
            .cmp(&joined(other))
            .then_with(|| self.pairs.len().cmp(&other.pairs.len()))
            .then_with(|| ends(self).cmp(&ends(other)))
            .then_with(|| nulls(self).cmp(&nulls(other)))
    }
}

pub(crate) fn text_in(text: &str) -> Result<Datum> {
    Hstore::parse(text).map(|h| h.to_datum())
}

pub(crate) fn binary_in(bytes: &[u8]) -> Result<Datum> {
    let mut reader = Reader(bytes);
    let count = reader.i32()?;
    // (a pair has 8 bytes at least: nothing is reserved for pairs that cannot be there)
    if count < 0 || count as usize > bytes.len() / 8 + 1 {
        return Err(PgError::new(
            SqlState::PROGRAM_LIMIT_EXCEEDED,
            format!("number of pairs ({count}) exceeds the maximum allowed (67108863)"),
        ));
    }
    let mut pairs = Vec::new();
    for _ in 0..count {
        crate::work::pulse(1);
        let length = reader.i32()?;
        if length < 0 {
            return Err(null_key());
        }
        let key = crate::text::decode_utf8(reader.take(length as usize)?)?.to_string();
        let length = reader.i32()?;
        let value = match length {
            ..=-1 => None,
            _ => Some(crate::text::decode_utf8(reader.take(length as usize)?)?.to_string()),
        };
        pairs.push((key, value));
    }
    reader.end()?;
    Ok(Hstore::new(pairs).to_datum())
}

pub(crate) fn binary_out(value: DatumRef, out: &mut Vec<u8>) -> Result<()> {
    let DatumRef::Text(text) = value else { return Err(crate::buffer::bad_stored("hstore", value)) };
    let value = Hstore::parse(text)?;
    out.extend_from_slice(&(value.pairs.len() as i32).to_be_bytes());
    for (key, value) in &value.pairs {
        crate::work::pulse(1);
        out.extend_from_slice(&(key.len() as i32).to_be_bytes());
        out.extend_from_slice(key.as_bytes());
        match value {
            Some(value) => {
                out.extend_from_slice(&(value.len() as i32).to_be_bytes());
                out.extend_from_slice(value.as_bytes());
            }
            None => out.extend_from_slice(&(-1i32).to_be_bytes()),
        }
    }
    Ok(())
}

/// 22004
pub fn null_key() -> PgError {
    PgError::new(SqlState::NULL_VALUE_NOT_ALLOWED, "null value not allowed for hstore key")
}
