//! Cursors: OPEN, FETCH, MOVE, and the arguments of one that has parameters.

use super::super::scan::Token;
use super::super::{Direction, Query, Sql, StatementKind as K};
use super::Parser;
use pgsqlite_types::{PgError, Result, SqlState};

impl Parser<'_> {
    pub(super) fn cursor_variable(&mut self) -> Result<usize> {
        let names = match self.token().clone() {
            Token::Parameter(n) => {
                self.advance();
                vec![format!("${n}")]
            }
            _ => self.dotted()?,
        };
        let shown: Vec<&str> = names.iter().map(String::as_str).collect();
        match self.body.look_up(self.names, &shown) {
            Some((v, used)) if used == shown.len() => Ok(v),
            _ => Err(self.not_known(&names.join("."))),
        }
    }

    /// `(a, name := b)` behind a bound cursor.
    pub(super) fn cursor_arguments(&mut self, cursor: usize) -> Result<Vec<(Option<String>, Sql)>> {
        let mut out = Vec::new();
        let variable = &self.body.variables[cursor];
        let cursor = variable.name.clone();
        let parameters: Vec<String> =
            variable.cursor.iter().flat_map(|c| c.parameters.iter().map(|p| p.0.clone())).collect();
        let wrong = |message: String| PgError::new(SqlState::SYNTAX_ERROR, message);
        if !self.is_mark("(") {
            if !parameters.is_empty() {
                return Err(wrong(format!("cursor \"{cursor}\" has arguments")).at(self.place()));
            }
            return Ok(out);
        }
        if parameters.is_empty() {
            return Err(wrong(format!("cursor \"{cursor}\" has no arguments")).at(self.place()));
        }
        self.advance();
        let mut set = vec![false; parameters.len()];
        loop {
            let start = self.place();
            let mut name = None;
            if matches!(self.ahead(1), Token::Mark(m) if m == ":=" || m == "=>") {
                name = Some(self.identifier()?);
            }
            let slot = match &name {
                Some(name) => match parameters.iter().position(|p| p == name) {
                    Some(slot) => slot,
                    None => {
                        let message = format!("cursor \"{cursor}\" has no argument named \"{name}\"");
                        return Err(wrong(message).at(start));
                    }
                },
                None => out.len(),
            };
            if slot >= parameters.len() {
                return Err(wrong(format!("too many arguments for cursor \"{cursor}\"")).at(self.place()));
            }
            if std::mem::replace(&mut set[slot], true) {
                let parameter = &parameters[slot];
                let message =
                    format!("value for parameter \"{parameter}\" of cursor \"{cursor}\" specified more than once");
                return Err(wrong(message).at(start));
            }
            if name.is_some() {
                self.advance();
            }
            out.push((name, self.expression(&[",", ")"])?));
            if !self.is_mark(",") || out.len() == parameters.len() {
                break;
            }
            self.advance();
        }
        if out.len() < parameters.len() {
            return Err(wrong(format!("not enough arguments for cursor \"{cursor}\"")).at(self.place()));
        }
        if self.is_mark(",") {
            return Err(wrong(format!("too many arguments for cursor \"{cursor}\"")).at(self.place()));
        }
        self.expect_mark(")")?;
        Ok(out)
    }

    pub(super) fn open(&mut self) -> Result<K> {
        self.advance();
        let cursor = self.cursor_variable()?;
        if self.body.variables[cursor].cursor.is_some() {
            let arguments = self.cursor_arguments(cursor)?;
            self.expect_mark(";")?;
            return Ok(K::Open { cursor, scroll: None, query: None, arguments });
        }
        let mut scroll = None;
        if self.take_word("no") {
            self.expect_word("scroll")?;
            scroll = Some(false);
        } else if self.take_word("scroll") {
            scroll = Some(true);
        }
        self.expect_word("for")?;
        let query = if self.take_word("execute") {
            let text = self.expression(&[";", "using"])?;
            let using = if self.take_word("using") { self.using(&[";"])? } else { vec![] };
            Query::Dynamic { text, using }
        } else {
            Query::Static(self.query(&[";"])?)
        };
        self.expect_mark(";")?;
        Ok(K::Open { cursor, scroll, query: Some(query), arguments: vec![] })
    }

    pub(super) fn fetch(&mut self, fetch: bool) -> Result<K> {
        self.advance();
        let ends = ["from", "in"];
        let mut direction = Direction::Next;
        let mut written = true;
        if let Token::Word { text, quoted: false } = self.token().clone() {
            match text.as_str() {
                "next" | "prior" | "first" | "last" => {
                    self.advance();
                    direction = match text.as_str() {
                        "next" => Direction::Next,
                        "prior" => Direction::Prior,
                        "first" => Direction::First,
                        _ => Direction::Last,
                    };
                }
                "absolute" | "relative" => {
                    self.advance();
                    let count = self.expression(&ends)?;
                    direction =
                        if text == "absolute" { Direction::Absolute(count) } else { Direction::Relative(count) };
                }
                "forward" | "backward" => {
                    self.advance();
                    let forward = text == "forward";
                    direction = if self.take_word("all") {
                        if forward {
                            Direction::ForwardAll
                        } else {
                            Direction::BackwardAll
                        }
                    } else if self.is_word("from") || self.is_word("in") {
                        if forward {
                            Direction::Forward(None)
                        } else {
                            Direction::Backward(None)
                        }
                    } else {
                        let count = self.expression(&ends)?;
                        if forward {
                            Direction::Forward(Some(count))
                        } else {
                            Direction::Backward(Some(count))
                        }
                    };
                }
                "all" => {
                    self.advance();
                    direction = Direction::ForwardAll;
                }
                "from" | "in" => {}
                _ => written = false,
            }
        } else {
            let count = self.expression(&ends)?;
            direction = Direction::Forward(Some(count));
        }
        if written && !self.take_word("from") && !self.take_word("in") {
            // the words may be left out behind a direction
            if !matches!(self.token(), Token::Word { .. }) {
                return Err(self.syntax_error());
            }
        }
        let several = matches!(
            direction,
            Direction::Forward(Some(_)) | Direction::Backward(Some(_)) | Direction::ForwardAll | Direction::BackwardAll
        );
        if fetch && several {
            return Err(PgError::new(SqlState::FEATURE_NOT_SUPPORTED, "FETCH statement cannot return multiple rows"));
        }
        let cursor = self.cursor_variable()?;
        let into = if fetch {
            self.expect_word("into")?;
            Some(self.targets()?)
        } else {
            None
        };
        self.expect_mark(";")?;
        Ok(K::Fetch { cursor, direction, into })
    }
}
