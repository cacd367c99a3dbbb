//! The pieces of SQL in a body: where each ends is told by the words behind it.

use super::super::scan::Token;
use super::super::Sql;
use super::{Parser, Piece};
use pgsqlite_types::{PgError, Result, SqlState};

impl Parser<'_> {
    pub(super) fn sql(&mut self, from: usize, to: usize, piece: Piece) -> Result<Sql> {
        if from >= to {
            return Err(PgError::new(SqlState::SYNTAX_ERROR, format!("missing expression {}", self.shown())));
        }
        let text = self.text[self.tokens[from].start..self.tokens[to - 1].end].to_string();
        self.check_sql(&text, self.tokens[from].start, piece)?;
        let line = 1 + self.text[..self.tokens[from].start].bytes().filter(|b| *b == b'\n').count() as u32;
        self.body.texts += 1;
        Ok(Sql { text, lead: String::new(), line, names: self.names, id: self.body.texts - 1 })
    }

    /// Errors of the grammar in a piece of SQL that begins at a byte of the body.
    pub(super) fn check_sql(&self, text: &str, start: usize, piece: Piece) -> Result<()> {
        if !self.check {
            return Ok(());
        }
        // the value of an expression is what SELECT gives
        const LEAD: &str = "SELECT ";
        let (lead, parsed) = match piece {
            Piece::Expression => (LEAD.len(), crate::parse::parse(&format!("{LEAD}{text}"))),
            Piece::Statement => (0, crate::parse::parse(text)),
        };
        parsed.map(|_| ()).map_err(|mut e| match e.fields_mut().location.take() {
            Some(at) => e.at((start + at.saturating_sub(lead)) as i32),
            None => e,
        })
    }

    pub(super) fn made_sql(&mut self, text: String, line: u32) -> Sql {
        self.body.texts += 1;
        Sql { text, lead: String::new(), line, names: self.names, id: self.body.texts - 1 }
    }

    /// Passes over SQL up to a word or mark outside brackets, which is left. Gives the range of tokens.
    pub(super) fn until(&mut self, ends: &[&str]) -> Result<(usize, usize)> {
        let from = self.at;
        let mut depth = 0usize;
        loop {
            match self.token() {
                Token::End => {
                    return Err(match depth {
                        0 => PgError::new(SqlState::SYNTAX_ERROR, "syntax error at end of input"),
                        _ => PgError::new(SqlState::SYNTAX_ERROR, "mismatched parentheses at end of input"),
                    }
                    .at(self.place()))
                }
                Token::Mark(m) if depth == 0 && ends.contains(&m.as_str()) => break,
                Token::Word { text, quoted: false } if depth == 0 && ends.contains(&text.as_str()) => break,
                Token::Mark(m) => match m.as_str() {
                    "(" | "[" => depth += 1,
                    ")" | "]" if depth == 0 => {
                        return Err(PgError::new(
                            SqlState::SYNTAX_ERROR,
                            format!("mismatched parentheses {}", self.shown()),
                        ))
                    }
                    ")" | "]" => depth -= 1,
                    ";" => {
                        if depth > 0 {
                            return Err(PgError::new(
                                SqlState::SYNTAX_ERROR,
                                format!("mismatched parentheses {}", self.shown()),
                            ));
                        }
                        // the end was not there
                        return Err(self.missing(ends));
                    }
                    _ => {}
                },
                _ => {}
            }
            self.advance();
        }
        Ok((from, self.at))
    }

    fn missing(&self, ends: &[&str]) -> PgError {
        let word = match ends.first() {
            Some(&"then") => "THEN",
            Some(&"loop") => "LOOP",
            _ => return self.syntax_error(),
        };
        PgError::new(SqlState::SYNTAX_ERROR, format!("missing \"{word}\" at end of SQL expression")).at(self.place())
    }

    pub(super) fn expression(&mut self, ends: &[&str]) -> Result<Sql> {
        let (from, to) = self.until(ends)?;
        self.sql(from, to, Piece::Expression)
    }

    /// A statement of SQL in another one of the language.
    pub(super) fn query(&mut self, ends: &[&str]) -> Result<Sql> {
        let (from, to) = self.until(ends)?;
        self.sql(from, to, Piece::Statement)
    }

    /// An expression and the `;` behind it.
    pub(super) fn last_expression(&mut self) -> Result<Sql> {
        let sql = self.expression(&[";"])?;
        self.expect_mark(";")?;
        Ok(sql)
    }
}
