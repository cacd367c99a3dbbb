//! Reads lexemes as they are written in `tsvector` and `tsquery`: bare or in quotes, with backslashes; in a vector with positions.

use super::vector::Position;
use super::LAST_POSITION;
use crate::{PgError, Result, SqlState};

/// A reader over the text of a value.
pub(crate) struct Reader<'a> {
    pub text: &'a str,
    pub at: usize,
    /// it is a query: operators end a lexeme, and what follows `:` is the query's affair
    pub query: bool,
}

/// A lexeme and its positions.
pub(crate) struct Read {
    pub text: String,
    pub positions: Vec<Position>,
}

fn is_operator(c: char) -> bool {
    matches!(c, '!' | '&' | '|' | '(' | ')' | '<')
}

/// Whether PostgreSQL takes it for white space here.
pub(crate) fn is_space(c: char) -> bool {
    c.is_whitespace()
}

impl Reader<'_> {
    pub fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    pub fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    pub fn syntax_error(&self) -> PgError {
        let ty = if self.query { "tsquery" } else { "tsvector" };
        PgError::new(SqlState::SYNTAX_ERROR, format!("syntax error in {ty}: \"{}\"", self.text))
    }

    fn escaped(&mut self) -> Result<char> {
        let missing = PgError::new(SqlState::SYNTAX_ERROR, format!("there is no escaped character: \"{}\"", self.text));
        self.next().ok_or(missing)
    }

    /// The next lexeme; None: the text is at its end.
    pub fn lexeme(&mut self) -> Result<Option<Read>> {
        while self.peek().is_some_and(is_space) {
            crate::work::pulse(1);
            self.next();
        }
        let mut text = String::new();
        match self.peek() {
            None => return Ok(None),
            Some('\'') => {
                self.next();
                self.quoted(&mut text)?;
                if text.is_empty() {
                    return Err(self.syntax_error());
                }
                let positions = match self.peek() {
                    Some(':') if !self.query => self.positions()?,
                    _ => vec![],
                };
                return Ok(Some(Read { text, positions }));
            }
            Some(c) if self.query && is_operator(c) => return Err(self.syntax_error()),
            Some(_) => {}
        }
        loop {
            crate::work::pulse(1);
            match self.peek() {
                Some('\\') => {
                    self.next();
                    text.push(self.escaped()?);
                }
                Some(':') if !text.is_empty() => {
                    let positions = if self.query { vec![] } else { self.positions()? };
                    return Ok(Some(Read { text, positions }));
                }
                // (a vector's lexeme may begin with one)
                Some(':') if self.query => return Err(self.syntax_error()),
                Some(c) if !(is_space(c) || self.query && is_operator(c)) => {
                    text.push(c);
                    self.next();
                }
                _ => return Ok(Some(Read { text, positions: vec![] })),
            }
        }
    }

    /// The rest of a quoted lexeme.
    fn quoted(&mut self, text: &mut String) -> Result<()> {
        loop {
            crate::work::pulse(1);
            match self.next() {
                None => return Err(self.syntax_error()),
                Some('\'') if self.peek() == Some('\'') => {
                    self.next();
                    text.push('\'');
                }
                Some('\'') => return Ok(()),
                Some('\\') => text.push(self.escaped()?),
                Some(c) => text.push(c),
            }
        }
    }

    /// `:1A,2` behind a lexeme of a vector.
    fn positions(&mut self) -> Result<Vec<Position>> {
        let mut out = Vec::new();
        loop {
            crate::work::pulse(1);
            // `:` or `,`
            self.next();
            let from = self.at;
            while self.peek().is_some_and(|c| c.is_ascii_digit()) {
                crate::work::pulse(1);
                self.next();
            }
            if from == self.at {
                return Err(self.syntax_error());
            }
            let number: u64 = self.text[from..self.at].parse().unwrap_or(u64::MAX);
            if number == 0 {
                return Err(PgError::new(
                    SqlState::SYNTAX_ERROR,
                    format!("wrong position info in tsvector: \"{}\"", self.text),
                ));
            }
            let mut position = Position { at: number.min(u64::from(LAST_POSITION)) as u16, weight: 0 };
            loop {
                crate::work::pulse(1);
                // (digits behind a weight mean nothing)
                let weight = match self.peek() {
                    Some(c) if c.is_ascii_digit() => {
                        self.next();
                        continue;
                    }
                    Some('a' | 'A' | '*') => 3,
                    Some('b' | 'B') => 2,
                    Some('c' | 'C') => 1,
                    Some('d' | 'D') => 0,
                    _ => break,
                };
                // of the weights only D can come again
                if position.weight != 0 {
                    return Err(self.syntax_error());
                }
                position.weight = weight;
                self.next();
            }
            out.push(position);
            match self.peek() {
                Some(',') => {}
                None => return Ok(out),
                Some(c) if is_space(c) => return Ok(out),
                // what follows begins the next lexeme only behind a blank
                Some(_) => return Err(self.syntax_error()),
            }
        }
    }
}
