//! Blocks: their options, labels, declarations and handlers.

use super::super::scan::Token;
use super::super::{Block, Condition, Conflict, Cursor, Handler, NameKind, Sql, TypeRef};
use super::{known_condition, Parser, DEEPEST};
use pgsqlite_types::{PgError, Result, SqlState};

impl Parser<'_> {
    pub(super) fn options(&mut self) -> Result<()> {
        while self.take_mark("#") {
            match self.identifier()?.as_str() {
                "variable_conflict" => {
                    self.body.conflict = match self.identifier()?.as_str() {
                        "error" => Conflict::Error,
                        "use_variable" => Conflict::UseVariable,
                        "use_column" => Conflict::UseColumn,
                        _ => return Err(self.syntax_error()),
                    }
                }
                // it changes the DETAIL of errors of INTO STRICT
                "print_strict_params" => {
                    self.body.print_strict_params = match self.identifier()?.as_str() {
                        "on" => true,
                        "off" => false,
                        _ => return Err(self.syntax_error()),
                    }
                }
                "dump" => {}
                _ => return Err(self.syntax_error()),
            }
        }
        Ok(())
    }

    pub(super) fn label(&mut self) -> Result<Option<String>> {
        if !self.take_mark("<<") {
            return Ok(None);
        }
        let name = self.identifier()?;
        self.expect_mark(">>")?;
        Ok(Some(name))
    }

    pub(super) fn end_label(&mut self, label: &Option<String>) -> Result<()> {
        if let Token::Word { text, .. } = self.token().clone() {
            match label {
                None => {
                    return Err(PgError::new(
                        SqlState::SYNTAX_ERROR,
                        format!("end label \"{text}\" specified for unlabeled block"),
                    ))
                }
                Some(l) if *l != text => {
                    return Err(PgError::new(
                        SqlState::SYNTAX_ERROR,
                        format!("end label \"{text}\" differs from block's label \"{l}\""),
                    ))
                }
                _ => self.advance(),
            }
        }
        Ok(())
    }

    /// `[DECLARE …] BEGIN … [EXCEPTION …] END [label]`
    pub(super) fn block(&mut self, label: Option<String>) -> Result<Block> {
        self.deeper()?;
        let line = self.line();
        let outer = self.names;
        self.push_name(label.clone().unwrap_or_default(), NameKind::Block);
        let mut declared = Vec::new();
        while self.take_word("declare") {
            let own = self.body.names.len();
            while !self.is_word("begin") && !self.is_word("declare") {
                self.declaration(&mut declared, own)?;
            }
        }
        self.expect_word("begin")?;
        self.labels.push((label.clone(), false));
        let body = self.statements()?;
        let mut handlers = Vec::new();
        let mut error_variables = None;
        if self.take_word("exception") {
            let before = self.names;
            let state = self.declare("sqlstate", TypeRef::Known(25, -1), line);
            self.push_name("sqlstate".into(), NameKind::Variable(state));
            let message = self.declare("sqlerrm", TypeRef::Known(25, -1), line);
            self.push_name("sqlerrm".into(), NameKind::Variable(message));
            error_variables = Some((state, message));
            if !self.is_word("when") {
                return Err(self.syntax_error());
            }
            while self.take_word("when") {
                let mut conditions = Vec::new();
                loop {
                    let name = self.identifier()?;
                    conditions.push(match name.as_str() {
                        "others" => Condition::Others,
                        "sqlstate" => Condition::State(self.state_literal()?),
                        _ => Condition::Name(name),
                    });
                    if !self.take_word("or") {
                        break;
                    }
                }
                for condition in &conditions {
                    known_condition(condition)?;
                }
                self.expect_word("then")?;
                let body = self.statements()?;
                handlers.push(Handler { conditions, body });
            }
            self.names = before;
        }
        self.labels.pop();
        self.expect_word("end")?;
        self.end_label(&label)?;
        self.names = outer;
        self.depth -= 1;
        Ok(Block { label, line, declared, body, handlers, error_variables })
    }

    pub(super) fn deeper(&mut self) -> Result<()> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(PgError::new(SqlState::STATEMENT_TOO_COMPLEX, "stack depth limit exceeded"));
        }
        Ok(())
    }

    pub(super) fn state_literal(&mut self) -> Result<String> {
        let Token::Text(state) = self.token().clone() else { return Err(self.syntax_error()) };
        let fits = state.len() == 5 && state.bytes().all(|b| b.is_ascii_digit() || b.is_ascii_uppercase());
        if !fits {
            return Err(PgError::new(SqlState::SYNTAX_ERROR, "invalid SQLSTATE code"));
        }
        self.advance();
        Ok(state)
    }

    fn declaration(&mut self, declared: &mut Vec<(usize, Option<Sql>)>, block: usize) -> Result<()> {
        let line = self.line();
        if matches!(self.token(), Token::Mark(m) if m == "<<") {
            return Err(PgError::new(SqlState::SYNTAX_ERROR, "block label must be placed before DECLARE, not after"));
        }
        let name = self.identifier()?;
        let twice = self.body.names[block..].iter().any(|n| n.name == name && matches!(n.kind, NameKind::Variable(_)));
        if twice {
            let error = PgError::new(SqlState::SYNTAX_ERROR, format!("duplicate declaration at or near \"{name}\""));
            return Err(self.at_word(self.at - 1, error));
        }
        if self.take_word("alias") {
            self.expect_word("for")?;
            let variable = match self.token().clone() {
                Token::Parameter(n) => {
                    let place = self.at;
                    self.advance();
                    let found = self.body.look_up(self.names, &[&format!("${n}")]);
                    let missing =
                        || PgError::new(SqlState::UNDEFINED_OBJECT, format!("variable \"${n}\" does not exist"));
                    found.ok_or_else(|| self.at_word(place, missing()))?.0
                }
                _ => {
                    let parts = self.dotted()?;
                    let shown: Vec<&str> = parts.iter().map(String::as_str).collect();
                    match self.body.look_up(self.names, &shown) {
                        Some((v, used)) if used == shown.len() => v,
                        _ => {
                            return Err(PgError::new(
                                SqlState::UNDEFINED_OBJECT,
                                format!("variable \"{}\" does not exist", parts.join(".")),
                            ))
                        }
                    }
                }
            };
            self.expect_mark(";")?;
            self.push_name(name, NameKind::Variable(variable));
            return Ok(());
        }
        let no_scroll = self.is_word("no") && self.is_word_ahead(1, "scroll");
        if self.is_word("cursor") || no_scroll || self.is_word("scroll") && self.is_word_ahead(1, "cursor") {
            let scroll = if no_scroll {
                self.advance();
                self.advance();
                Some(false)
            } else if self.take_word("scroll") {
                Some(true)
            } else {
                None
            };
            self.expect_word("cursor")?;
            let before = self.names;
            let mut parameters = Vec::new();
            if self.take_mark("(") {
                self.push_name(String::new(), NameKind::Block);
                loop {
                    let parameter = self.identifier()?;
                    let ty = self.type_ref(&[",", ")"])?;
                    let variable = self.declare(&parameter, ty, line);
                    self.push_name(parameter.clone(), NameKind::Variable(variable));
                    parameters.push((parameter, variable));
                    if !self.take_mark(",") {
                        break;
                    }
                }
                self.expect_mark(")")?;
            }
            if !self.take_word("for") {
                self.expect_word("is")?;
            }
            let query = self.query(&[";"])?;
            self.expect_mark(";")?;
            self.names = before;
            let variable = self.declare(&name, TypeRef::Known(pgsqlite_types::oid::REFCURSOR, -1), line);
            self.body.variables[variable].cursor = Some(Cursor { scroll, parameters, query });
            self.push_name(name, NameKind::Variable(variable));
            declared.push((variable, None));
            return Ok(());
        }
        let constant = self.take_word("constant");
        let ty = self.type_ref(&[";", ":=", "=", "default", "not", "collate"])?;
        if self.take_word("collate") {
            let place = self.place();
            let name = self.dotted()?;
            // (those order by bytes, as every variable does here)
            let known = ["default", "C", "POSIX", "ucs_basic", "C.utf8"];
            if !name.last().is_some_and(|n| known.contains(&AsRef::<str>::as_ref(n))) {
                return Err(PgError::not_supported("COLLATE of a variable").at(place));
            }
        }
        let mut not_null = false;
        let not_null_place = self.place();
        if self.take_word("not") {
            self.expect_word("null")?;
            not_null = true;
        }
        let default = if self.take_mark(":=") || self.take_mark("=") || self.take_word("default") {
            Some(self.expression(&[";"])?)
        } else {
            None
        };
        self.expect_mark(";")?;
        if not_null && default.is_none() {
            return Err(PgError::new(
                SqlState::NULL_VALUE_NOT_ALLOWED,
                format!("variable \"{name}\" must have a default value, since it's declared NOT NULL"),
            )
            .at(not_null_place));
        }
        let variable = self.declare(&name, ty, line);
        self.body.variables[variable].constant = constant;
        self.body.variables[variable].not_null = not_null;
        self.push_name(name, NameKind::Variable(variable));
        declared.push((variable, default));
        Ok(())
    }

    pub(super) fn dotted(&mut self) -> Result<Vec<String>> {
        let mut parts = vec![self.identifier()?];
        while self.take_mark(".") {
            parts.push(self.identifier()?);
        }
        Ok(parts)
    }

    /// A type up to one of `ends` (which is left).
    fn type_ref(&mut self, ends: &[&str]) -> Result<TypeRef> {
        let from = self.at;
        if let Token::Word { text, quoted: false } = self.token().clone() {
            if text == "record" && !matches!(self.ahead(1), Token::Mark(m) if m == "." || m == "%") {
                self.advance();
                return Ok(TypeRef::Record);
            }
            // name[.name …]%TYPE, %ROWTYPE
            let parts = self.dotted()?;
            if self.take_mark("%") {
                let what = self.identifier()?;
                let shown: Vec<&str> = parts.iter().map(String::as_str).collect();
                return match what.as_str() {
                    "type" => match self.body.look_up(self.names, &shown) {
                        Some((v, used)) if used == shown.len() => Ok(TypeRef::OfVariable(v)),
                        _ => Ok(TypeRef::OfColumn(parts)),
                    },
                    "rowtype" => Ok(TypeRef::RowOf(parts)),
                    _ => Err(self.syntax_error()),
                };
            }
            self.at = from;
        } else if let Token::Word { .. } = self.token() {
            let parts = self.dotted()?;
            if self.take_mark("%") {
                return match self.identifier()?.as_str() {
                    "type" => Ok(TypeRef::OfColumn(parts)),
                    "rowtype" => Ok(TypeRef::RowOf(parts)),
                    _ => Err(self.syntax_error()),
                };
            }
            self.at = from;
        }
        let (from, to) = self.until(ends)?;
        if from == to {
            return Err(PgError::new(
                SqlState::SYNTAX_ERROR,
                format!("missing data type declaration {}", self.shown()),
            ));
        }
        Ok(TypeRef::Named(self.text[self.tokens[from].start..self.tokens[to - 1].end].to_string()))
    }
}
