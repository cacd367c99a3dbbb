//! IF, CASE, the loops, EXIT, CONTINUE and RETURN.

use super::super::scan::Token;
use super::super::{NameKind, Query, Statement, StatementKind as K, Target, TypeRef};
use super::{Parser, Piece};
use pgsqlite_types::{PgError, Result, SqlState};

impl Parser<'_> {
    pub(super) fn if_statement(&mut self) -> Result<K> {
        self.advance();
        let mut branches = Vec::new();
        let condition = self.expression(&["then"])?;
        self.advance();
        branches.push((condition, self.statements()?));
        while self.is_word("elsif") || self.is_word("elseif") {
            self.advance();
            let condition = self.expression(&["then"])?;
            self.advance();
            branches.push((condition, self.statements()?));
        }
        let otherwise = if self.take_word("else") { self.statements()? } else { vec![] };
        self.expect_word("end")?;
        self.expect_word("if")?;
        self.expect_mark(";")?;
        Ok(K::If { branches, otherwise })
    }

    pub(super) fn case_statement(&mut self, line: u32) -> Result<K> {
        self.advance();
        let subject = if self.is_word("when") { None } else { Some(self.expression(&["when"])?) };
        let hidden = format!("__Case__Variable_{}__", self.body.variables.len());
        let before = self.names;
        let variable = self.declare(&hidden, TypeRef::Known(0, -1), line);
        if subject.is_some() {
            self.push_name(hidden.clone(), NameKind::Variable(variable));
        }
        let mut whens = Vec::new();
        while self.take_word("when") {
            let mut condition = self.expression(&["then"])?;
            self.advance();
            if subject.is_some() {
                condition.text = format!("\"{hidden}\" IN ({})", condition.text);
            }
            whens.push((condition, self.statements()?));
        }
        let otherwise = if self.take_word("else") { Some(self.statements()?) } else { None };
        self.names = before;
        self.expect_word("end")?;
        self.expect_word("case")?;
        self.expect_mark(";")?;
        Ok(K::Case { subject, variable, whens, otherwise })
    }

    fn loop_body(&mut self, label: &Option<String>) -> Result<Vec<Statement>> {
        self.expect_word("loop")?;
        self.labels.push((label.clone(), true));
        let body = self.statements()?;
        self.labels.pop();
        self.expect_word("end")?;
        self.expect_word("loop")?;
        self.end_label(label)?;
        self.expect_mark(";")?;
        Ok(body)
    }

    pub(super) fn looping(&mut self, label: Option<String>) -> Result<K> {
        let outer = self.names;
        if let Some(label) = &label {
            self.push_name(label.clone(), NameKind::Block);
        }
        let out = if self.is_word("loop") {
            let body = self.loop_body(&label)?;
            K::Loop { label, body }
        } else if self.take_word("while") {
            let condition = self.expression(&["loop"])?;
            let body = self.loop_body(&label)?;
            K::While { label, condition, body }
        } else if self.take_word("foreach") {
            let targets = self.targets()?;
            let mut slice = 0;
            if self.take_word("slice") {
                let Token::Number(n) = self.token().clone() else { return Err(self.syntax_error()) };
                slice = n.parse().map_err(|_| self.syntax_error())?;
                self.advance();
            }
            self.expect_word("in")?;
            self.expect_word("array")?;
            let array = self.expression(&["loop"])?;
            let body = self.loop_body(&label)?;
            K::Foreach { label, targets, slice, array, body }
        } else {
            self.expect_word("for")?;
            self.for_loop(label)?
        };
        self.names = outer;
        Ok(out)
    }

    fn for_loop(&mut self, label: Option<String>) -> Result<K> {
        let line = self.line();
        let start = self.at;
        // over what? that decides what the variable is
        while !self.is_word("in") {
            if matches!(self.token(), Token::End) || self.is_mark(";") {
                return Err(self.syntax_error());
            }
            self.advance();
        }
        let behind = self.at;
        self.advance();
        if self.take_word("execute") {
            let source = self.at;
            self.at = start;
            let targets = self.row_targets()?;
            self.at = source;
            let text = self.expression(&["loop", "using"])?;
            let using = if self.take_word("using") { self.using(&["loop"])? } else { vec![] };
            let body = self.loop_body(&label)?;
            return Ok(K::ForQuery { label, targets, query: Query::Dynamic { text, using }, body });
        }
        if let Token::Word { text, .. } = self.token().clone() {
            let cursor = self.body.look_up(self.names, &[&text]).map(|f| f.0);
            let is_cursor = |v: &usize| self.body.variables[*v].cursor.is_some();
            if let Some(cursor) = cursor.filter(is_cursor) {
                if matches!(self.ahead(1), Token::Mark(m) if m == "(") || self.is_word_ahead(1, "loop") {
                    self.advance();
                    let source = self.at;
                    self.at = start;
                    let name = self.identifier()?;
                    self.at = source;
                    let arguments = self.cursor_arguments(cursor)?;
                    let variable = self.declare(&name, TypeRef::Record, line);
                    self.push_name(String::new(), NameKind::Block);
                    self.push_name(name, NameKind::Variable(variable));
                    let body = self.loop_body(&label)?;
                    return Ok(K::ForCursor { label, variable, cursor, arguments, body });
                }
            }
        }
        let source = self.at;
        let reverse = self.take_word("reverse");
        let begin = self.at;
        let (_, end) = self.until(&["loop", ".."])?;
        if self.is_mark("..") {
            let lower = self.sql(begin, end, Piece::Expression)?;
            self.advance();
            let upper = self.expression(&["loop", "by"])?;
            let step = if self.take_word("by") { Some(self.expression(&["loop"])?) } else { None };
            let rest = self.at;
            self.at = start;
            let name = self.identifier()?;
            if self.at != behind {
                return Err(PgError::new(
                    SqlState::SYNTAX_ERROR,
                    "integer FOR loop must have only one target variable",
                ));
            }
            self.at = rest;
            let variable = self.declare(&name, TypeRef::Known(pgsqlite_types::oid::INT4, -1), line);
            if label.is_none() {
                self.push_name(String::new(), NameKind::Block);
            }
            self.push_name(name, NameKind::Variable(variable));
            let body = self.loop_body(&label)?;
            return Ok(K::ForInteger { label, variable, reverse, lower, upper, step, body });
        }
        if reverse {
            return Err(PgError::new(SqlState::SYNTAX_ERROR, "cannot specify REVERSE in query FOR loop"));
        }
        self.at = start;
        let targets = self.row_targets()?;
        self.at = source;
        let query = self.query(&["loop"])?;
        let body = self.loop_body(&label)?;
        Ok(K::ForQuery { label, targets, query: Query::Static(query), body })
    }

    fn row_targets(&mut self) -> Result<Vec<Target>> {
        let name = match self.token() {
            Token::Word { text, .. } => text.clone(),
            _ => return Err(self.syntax_error()),
        };
        if self.body.look_up(self.names, &[&name]).is_none() && !matches!(self.ahead(1), Token::Mark(m) if m == ".") {
            return Err(PgError::new(
                SqlState::SYNTAX_ERROR,
                "loop variable of loop over rows must be a record variable or list of scalar variables",
            ));
        }
        self.targets()
    }

    pub(super) fn exit(&mut self, exit: bool) -> Result<K> {
        let start = self.at;
        self.advance();
        let mut label = None;
        if !self.is_word("when") && !self.is_mark(";") {
            let place = self.at;
            let name = self.identifier()?;
            let Some((_, is_loop)) = self.labels.iter().rev().find(|(l, _)| l.as_ref() == Some(&name)) else {
                let error = PgError::new(
                    SqlState::SYNTAX_ERROR,
                    format!("there is no label \"{name}\" attached to any block or loop enclosing this statement"),
                );
                return Err(self.at_word(place, error));
            };
            if !exit && !is_loop {
                return Err(PgError::new(
                    SqlState::SYNTAX_ERROR,
                    format!("block label \"{name}\" cannot be used in CONTINUE"),
                ));
            }
            label = Some(name);
        } else if !self.labels.iter().any(|(_, is_loop)| *is_loop) {
            return Err(PgError::new(
                SqlState::SYNTAX_ERROR,
                if exit {
                    "EXIT cannot be used outside a loop, unless it has a label"
                } else {
                    "CONTINUE cannot be used outside a loop"
                },
            )
            .at(self.tokens[start].start as i32));
        }
        let condition = if self.take_word("when") { Some(self.expression(&[";"])?) } else { None };
        self.expect_mark(";")?;
        Ok(K::Exit { exit, label, condition })
    }

    pub(super) fn return_statement(&mut self) -> Result<K> {
        let start = self.place();
        self.advance();
        let given = self.given;
        let mismatch = |m: &str| PgError::new(SqlState::DATATYPE_MISMATCH, m);
        if self.is_word("next") || self.is_word("query") {
            let word = if self.is_word("next") { "NEXT" } else { "QUERY" };
            if !given.returns_set {
                return Err(mismatch(&format!("cannot use RETURN {word} in a non-SETOF function")).at(start));
            }
        }
        if self.take_word("next") {
            if self.take_mark(";") {
                if !given.has_outputs {
                    return Err(PgError::new(SqlState::SYNTAX_ERROR, "missing expression at or near \";\""));
                }
                return Ok(K::ReturnNext(None));
            }
            if given.has_outputs {
                return Err(mismatch("RETURN NEXT cannot have a parameter in function with OUT parameters"));
            }
            return Ok(K::ReturnNext(Some(self.last_expression()?)));
        }
        if self.take_word("query") {
            if self.take_word("execute") {
                let text = self.expression(&[";", "using"])?;
                let using = if self.take_word("using") { self.using(&[";"])? } else { vec![] };
                self.expect_mark(";")?;
                return Ok(K::ReturnQuery(Query::Dynamic { text, using }));
            }
            let query = self.query(&[";"])?;
            self.expect_mark(";")?;
            return Ok(K::ReturnQuery(Query::Static(query)));
        }
        if self.is_mark(";") {
            if !(given.returns_set || given.returns_nothing || given.has_outputs) {
                return Err(PgError::new(SqlState::SYNTAX_ERROR, "missing expression at or near \";\""));
            }
            self.advance();
            return Ok(K::Return(None));
        }
        if given.returns_set {
            return Err(mismatch("RETURN cannot have a parameter in function returning set")
                .hint("Use RETURN NEXT or RETURN QUERY.")
                .at(self.place()));
        }
        if given.procedure && (given.returns_nothing || given.has_outputs) {
            return Err(mismatch(if given.has_outputs {
                "RETURN cannot have a parameter in function with OUT parameters"
            } else {
                "RETURN cannot have a parameter in a procedure"
            })
            .at(self.place()));
        }
        if given.returns_nothing {
            return Err(mismatch("RETURN cannot have a parameter in function returning void").at(self.place()));
        }
        if given.has_outputs {
            return Err(mismatch("RETURN cannot have a parameter in function with OUT parameters").at(self.place()));
        }
        Ok(K::Return(Some(self.last_expression()?)))
    }
}
