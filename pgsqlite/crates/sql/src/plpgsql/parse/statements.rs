//! Statements: which one it is, assignments, RAISE, EXECUTE, SQL, GET DIAGNOSTICS.

use super::super::scan::Token;
use super::super::{Condition, Into, Level, Sql, Statement, StatementKind as K, Target};
use super::{known_condition, Parser, Piece};
use pgsqlite_types::{PgError, Result, SqlState};

impl Parser<'_> {
    pub(super) fn statements(&mut self) -> Result<Vec<Statement>> {
        let mut out = Vec::new();
        loop {
            match self.token() {
                Token::Word { text, quoted: false }
                    if matches!(text.as_str(), "end" | "else" | "elsif" | "elseif" | "when" | "exception") =>
                {
                    return Ok(out)
                }
                Token::End => return Err(self.syntax_error()),
                _ => out.push(self.statement()?),
            }
        }
    }

    fn statement(&mut self) -> Result<Statement> {
        self.deeper()?;
        let line = self.line();
        let kind = self.statement_kind(line)?;
        self.depth -= 1;
        Ok(Statement { line, kind })
    }

    fn statement_kind(&mut self, line: u32) -> Result<K> {
        if self.is_mark("<<") {
            let label = self.label()?;
            return match self.token() {
                Token::Word { text, quoted: false } => match text.as_str() {
                    "declare" | "begin" => {
                        let block = self.block(label)?;
                        self.expect_mark(";")?;
                        Ok(K::Block(block))
                    }
                    "loop" | "while" | "for" | "foreach" => self.looping(label),
                    _ => Err(self.syntax_error()),
                },
                _ => Err(self.syntax_error()),
            };
        }
        if let Some(assignment) = self.assignment(line)? {
            return Ok(assignment);
        }
        let Token::Word { text, quoted: false } = self.token().clone() else { return self.sql_statement() };
        match text.as_str() {
            "declare" | "begin" => {
                let block = self.block(None)?;
                self.expect_mark(";")?;
                Ok(K::Block(block))
            }
            "if" => self.if_statement(),
            "case" => self.case_statement(line),
            "loop" | "while" | "for" | "foreach" => self.looping(None),
            "exit" | "continue" => self.exit(text == "exit"),
            "return" => self.return_statement(),
            "raise" => self.raise(),
            "assert" => {
                self.advance();
                let condition = self.expression(&[",", ";"])?;
                let message = if self.take_mark(",") { Some(self.expression(&[";"])?) } else { None };
                self.expect_mark(";")?;
                Ok(K::Assert { condition, message })
            }
            "perform" => {
                self.advance();
                let query = self.last_expression()?;
                Ok(K::Perform(Sql { text: format!("SELECT {}", query.text), ..query }))
            }
            "call" => {
                let sql = self.query(&[";"])?;
                self.expect_mark(";")?;
                Ok(K::Call(sql))
            }
            "execute" => self.dynamic(),
            "get" => self.diagnostics(),
            "open" => self.open(),
            "fetch" => self.fetch(true),
            "move" => self.fetch(false),
            "close" => {
                self.advance();
                let cursor = self.cursor_variable()?;
                self.expect_mark(";")?;
                Ok(K::Close(cursor))
            }
            "null" => {
                self.advance();
                self.expect_mark(";")?;
                Ok(K::Null)
            }
            "commit" | "rollback" => {
                self.advance();
                let mut chain = false;
                if self.take_word("and") {
                    chain = !self.take_word("no");
                    self.expect_word("chain")?;
                }
                self.expect_mark(";")?;
                Ok(if text == "commit" { K::Commit { chain } } else { K::Rollback { chain } })
            }
            _ => self.sql_statement(),
        }
    }

    /// `variable := …`, `record.field = …`, `array[i] := …`; None: the statement is none of these.
    fn assignment(&mut self, line: u32) -> Result<Option<K>> {
        let start = self.at;
        let first = match self.token().clone() {
            Token::Word { text, .. } => text,
            Token::Parameter(n) => format!("${n}"),
            _ => return Ok(None),
        };
        // a path of names and subscripts, then the mark of assignment
        let mut names = vec![first];
        self.advance();
        while self.is_mark(".") {
            self.advance();
            match self.token().clone() {
                Token::Word { text, .. } => names.push(text),
                _ => {
                    self.at = start;
                    return Ok(None);
                }
            }
            self.advance();
        }
        let subscripts = self.at;
        if self.is_mark("[") {
            while self.is_mark("[") || self.is_mark(".") {
                if self.take_mark(".") {
                    self.advance();
                    continue;
                }
                self.advance();
                if self.until(&["]"]).is_err() {
                    self.at = start;
                    return Ok(None);
                }
                self.advance();
            }
        }
        let behind = self.at;
        if !(self.is_mark(":=") || self.is_mark("=")) {
            self.at = start;
            return Ok(None);
        }
        self.advance();
        let shown: Vec<&str> = names.iter().map(String::as_str).collect();
        let Some((variable, used)) = self.body.look_up(self.names, &shown) else {
            return Err(self.at_word(start, self.not_known(&names.join("."))));
        };
        let subscripts = if behind > subscripts {
            self.text[self.tokens[subscripts].start..self.tokens[behind - 1].end].to_string()
        } else {
            String::new()
        };
        let target = Target { variable, fields: names[used..].to_vec(), subscripts };
        self.check_assignable(&target).map_err(|e| self.at_word(start, e))?;
        let _ = line;
        let mut value = self.last_expression()?;
        if let Some(at) = self.tokens.get(start).map(|t| t.start) {
            let whole = &self.text[at..self.tokens[self.at - 1].start];
            value.lead = whole.strip_suffix(value.text.as_str()).unwrap_or_default().to_string();
        }
        Ok(Some(K::Assign { target, value }))
    }

    fn check_assignable(&self, target: &Target) -> Result<()> {
        let variable = &self.body.variables[target.variable];
        if variable.constant {
            return Err(PgError::new(
                SqlState::ERROR_IN_ASSIGNMENT,
                format!("variable \"{}\" is declared CONSTANT", variable.name),
            ));
        }
        Ok(())
    }

    /// `a, b.c, d`: what rows go into.
    pub(super) fn targets(&mut self) -> Result<Vec<Target>> {
        let mut out = Vec::new();
        loop {
            let start = self.at;
            let names = match self.token().clone() {
                Token::Parameter(n) => {
                    self.advance();
                    vec![format!("${n}")]
                }
                Token::Word { .. } => self.dotted()?,
                _ => return Err(self.syntax_error()),
            };
            let shown: Vec<&str> = names.iter().map(String::as_str).collect();
            let Some((variable, used)) = self.body.look_up(self.names, &shown) else {
                return Err(self.at_word(start, self.not_known(&names.join("."))));
            };
            let target = Target { variable, fields: names[used..].to_vec(), subscripts: String::new() };
            self.check_assignable(&target)?;
            out.push(target);
            if !self.take_mark(",") {
                return Ok(out);
            }
        }
    }

    pub(super) fn using(&mut self, ends: &[&str]) -> Result<Vec<Sql>> {
        let mut out = Vec::new();
        let mut all = vec![","];
        all.extend(ends);
        loop {
            out.push(self.expression(&all)?);
            if !self.take_mark(",") {
                return Ok(out);
            }
        }
    }

    fn raise(&mut self) -> Result<K> {
        self.advance();
        let mut level = Level::Exception;
        let (mut condition, mut format, mut arguments, mut options) = (None, None, Vec::new(), Vec::new());
        if let Token::Word { text, quoted: false } = self.token() {
            let found = match text.as_str() {
                "debug" => Some(Level::Debug),
                "log" => Some(Level::Log),
                "info" => Some(Level::Info),
                "notice" => Some(Level::Notice),
                "warning" => Some(Level::Warning),
                "exception" => Some(Level::Exception),
                _ => None,
            };
            if let Some(found) = found {
                level = found;
                self.advance();
            }
        }
        match self.token().clone() {
            Token::Mark(m) if m == ";" => {
                if level != Level::Exception || self.is_word_behind("exception") {
                    return Err(self.syntax_error());
                }
            }
            Token::Text(text) => {
                self.advance();
                format = Some(text);
                while self.take_mark(",") {
                    arguments.push(self.expression(&[",", ";", "using"])?);
                }
                self.check_format(format.as_deref().unwrap_or_default(), arguments.len())?;
            }
            Token::Word { text, quoted: false } if text == "using" => {}
            Token::Word { text, quoted: false } if text == "sqlstate" => {
                self.advance();
                condition = Some(Condition::State(self.state_literal()?));
            }
            Token::Word { text, .. } => {
                self.advance();
                let name = Condition::Name(text);
                known_condition(&name)?;
                condition = Some(name);
            }
            _ => return Err(self.syntax_error()),
        }
        if self.take_word("using") {
            loop {
                let option = self.identifier()?;
                let known =
                    ["errcode", "message", "detail", "hint", "column", "constraint", "datatype", "table", "schema"];
                if !known.contains(&option.as_str()) {
                    return Err(PgError::new(SqlState::SYNTAX_ERROR, "unrecognized RAISE statement option"));
                }
                if !self.take_mark("=") {
                    self.expect_mark(":=")?;
                }
                options.push((option, self.expression(&[",", ";"])?));
                if !self.take_mark(",") {
                    break;
                }
            }
        }
        self.expect_mark(";")?;
        Ok(K::Raise { level, condition, format, arguments, options })
    }

    fn is_word_behind(&self, word: &str) -> bool {
        self.at > 0 && matches!(&self.tokens[self.at - 1].token, Token::Word { text, .. } if text == word)
    }

    fn check_format(&self, format: &str, given: usize) -> Result<()> {
        let wanted = format.replace("%%", "").matches('%').count();
        let message = match wanted.cmp(&given) {
            std::cmp::Ordering::Less => "too many parameters specified for RAISE",
            std::cmp::Ordering::Greater => "too few parameters specified for RAISE",
            std::cmp::Ordering::Equal => return Ok(()),
        };
        Err(PgError::new(SqlState::SYNTAX_ERROR, message))
    }

    fn into(&mut self) -> Result<Into> {
        let strict = self.take_word("strict");
        Ok(Into { targets: self.targets()?, strict })
    }

    fn dynamic(&mut self) -> Result<K> {
        self.advance();
        let text = self.expression(&["into", "using", ";"])?;
        let (mut into, mut using) = (None, Vec::new());
        loop {
            if self.is_word("into") && into.is_none() {
                self.advance();
                into = Some(self.into()?);
            } else if self.is_word("using") && using.is_empty() {
                self.advance();
                using = self.using(&["into", ";"])?;
            } else {
                self.expect_mark(";")?;
                return Ok(K::DynamicExecute { text, using, into });
            }
        }
    }

    /// Whether CREATE FUNCTION or CREATE PROCEDURE begins here.
    fn is_routine_definition(&self) -> bool {
        let replaces = self.is_word_ahead(1, "or") && self.is_word_ahead(2, "replace");
        let at = if replaces { 3 } else { 1 };
        self.is_word("create") && (self.is_word_ahead(at, "function") || self.is_word_ahead(at, "procedure"))
    }

    /// A statement of SQL, with INTO taken out of it.
    fn sql_statement(&mut self) -> Result<K> {
        let from = self.at;
        let line = self.line();
        if let Token::Word { text, quoted: false } = self.token() {
            if matches!(text.as_str(), "then" | "elsif" | "loop" | "by" | "in" | "using") {
                return Err(self.syntax_error());
            }
        } else if !self.is_mark("(") {
            return Err(self.syntax_error());
        }
        // in a body in the standard's way: BEGIN ATOMIC, and CASE within it
        let (routine, mut open) = (self.is_routine_definition(), 0i32);
        let mut depth = 0i32;
        let mut into: Option<(usize, usize, Into)> = None;
        loop {
            match self.token().clone() {
                Token::End => return Err(self.syntax_error()),
                Token::Word { text, quoted: false } if routine && (text == "begin" || text == "case" && open > 0) => {
                    open += 1
                }
                Token::Word { text, quoted: false } if open > 0 && text == "end" => open -= 1,
                Token::Mark(m) if m == ";" && depth == 0 && open > 0 => {}
                Token::Mark(m) if m == ";" && depth == 0 => break,
                Token::Mark(m) if m == ";" => {
                    return Err(PgError::new(
                        SqlState::SYNTAX_ERROR,
                        format!("mismatched parentheses {}", self.shown()),
                    ))
                }
                Token::Mark(m) if matches!(m.as_str(), "(" | "[") => depth += 1,
                Token::Mark(m) if matches!(m.as_str(), ")" | "]") => depth -= 1,
                Token::Word { text, quoted: false }
                    if text == "into"
                        && !self.is_word_behind("insert")
                        && !self.is_word_behind("merge")
                        && self.at > from =>
                {
                    if into.is_some() {
                        return Err(PgError::new(SqlState::SYNTAX_ERROR, "INTO specified more than once"));
                    }
                    let begin = self.at;
                    self.advance();
                    let found = self.into()?;
                    into = Some((begin, self.at, found));
                    continue;
                }
                _ => {}
            }
            self.advance();
        }
        let sql = match into.as_ref() {
            None => self.sql(from, self.at, Piece::Statement)?,
            Some((begin, end, _)) => {
                let place = |i: usize| self.tokens[i].start;
                let text = format!(
                    "{}{}{}",
                    &self.text[place(from)..place(*begin)],
                    " ".repeat(place(*end) - place(*begin)),
                    &self.text[place(*end)..place(self.at)]
                );
                self.check_sql(text.trim_end(), place(from), Piece::Statement)?;
                self.made_sql(text.trim_end().to_string(), line)
            }
        };
        self.expect_mark(";")?;
        Ok(K::Execute { sql, into: into.map(|(_, _, i)| i) })
    }

    fn diagnostics(&mut self) -> Result<K> {
        self.advance();
        let stacked = self.take_word("stacked");
        if !stacked {
            self.take_word("current");
        }
        self.expect_word("diagnostics")?;
        let mut items = Vec::new();
        loop {
            let target = self.targets()?.pop().ok_or_else(|| self.syntax_error())?;
            if !self.take_mark("=") {
                self.expect_mark(":=")?;
            }
            let item = self.identifier()?;
            let current = ["row_count", "pg_context", "pg_routine_oid"];
            let of_error = [
                "returned_sqlstate",
                "column_name",
                "constraint_name",
                "pg_datatype_name",
                "message_text",
                "table_name",
                "schema_name",
                "pg_exception_detail",
                "pg_exception_hint",
                "pg_exception_context",
            ];
            if current.contains(&item.as_str()) && stacked && item != "pg_context" {
                return Err(PgError::new(
                    SqlState::SYNTAX_ERROR,
                    format!("diagnostics item {} is not allowed in GET STACKED DIAGNOSTICS", item.to_uppercase()),
                ));
            }
            if of_error.contains(&item.as_str()) && !stacked {
                return Err(PgError::new(
                    SqlState::SYNTAX_ERROR,
                    format!("diagnostics item {} is not allowed in GET CURRENT DIAGNOSTICS", item.to_uppercase()),
                ));
            }
            if !current.contains(&item.as_str()) && !of_error.contains(&item.as_str()) {
                return Err(PgError::new(SqlState::SYNTAX_ERROR, "unrecognized GET DIAGNOSTICS item"));
            }
            items.push((target, item));
            if !self.take_mark(",") {
                break;
            }
        }
        self.expect_mark(";")?;
        Ok(K::GetDiagnostics { stacked, items })
    }
}
