//! The grammar of PL/pgSQL (manual, chapter "PL/pgSQL - SQL Procedural Language"), by recursive descent.

use super::scan::{scan, Placed, Token};
use super::{
    Block, Body, Condition, Conflict, Cursor, Direction, Handler, Into, Level, Name, NameKind, Query, Sql, Statement,
    StatementKind as K, Target, TypeRef, Variable,
};
use pgsqlite_types::{PgError, Result, SqlState};

/// What a body sees before its first declaration, and what it may do.
#[derive(Debug, Clone, Default)]
pub struct Given {
    /// the function's name: the label of the outermost block
    pub name: String,
    /// variables that are there already: (names, type)
    pub variables: Vec<(Vec<String>, TypeRef)>,
    pub returns_set: bool,
    /// no result at all: `void`, or a procedure
    pub returns_nothing: bool,
    /// the result is in OUT parameters
    pub has_outputs: bool,
    pub procedure: bool,
}

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<Placed>,
    at: usize,
    body: Body,
    /// the innermost name that is seen now
    names: usize,
    given: &'a Given,
    /// labels of the loops and blocks around: (label, is a loop)
    labels: Vec<(Option<String>, bool)>,
    depth: usize,
    /// the SQL in the body must be of PostgreSQL's grammar
    check: bool,
}

/// What a piece of SQL in a body is.
#[derive(Clone, Copy, PartialEq)]
enum Piece {
    Expression,
    Statement,
}

/// Deeper nesting than this is refused (54001).
const DEEPEST: usize = 500;

/// Parses a body. Errors: 42601 and its kin as PostgreSQL's compiler tells them.
pub fn parse(text: &str, given: &Given) -> Result<Body> {
    parse_body(text, given, false)
}

/// As [`parse`], of a body that is new: the SQL in it must be of PostgreSQL's grammar, too (42601), though nothing that it names
/// need exist.
pub fn parse_new(text: &str, given: &Given) -> Result<Body> {
    parse_body(text, given, true)
}

fn parse_body(text: &str, given: &Given, check: bool) -> Result<Body> {
    let tokens = scan(text)?;
    let block = Block { label: None, line: 0, declared: vec![], body: vec![], handlers: vec![], error_variables: None };
    let body = Body { variables: vec![], names: vec![], block, texts: 0, conflict: Conflict::default() };
    let mut parser = Parser { text, tokens, at: 0, body, names: 0, given, labels: vec![], depth: 0, check };
    parser.push_name(given.name.clone(), NameKind::Block);
    for (names, ty) in &given.variables {
        let variable = parser.declare(names.first().map_or("", String::as_str), ty.clone(), 0);
        for name in names {
            parser.push_name(name.clone(), NameKind::Variable(variable));
        }
    }
    parser.options()?;
    let label = parser.label()?;
    parser.body.block = parser.block(label)?;
    parser.take_mark(";");
    parser.expect_end()?;
    Ok(parser.body)
}

impl Parser<'_> {
    // --- tokens --------------------------------------------------------------------------------------------------------

    fn token(&self) -> &Token {
        &self.tokens[self.at].token
    }
    fn ahead(&self, n: usize) -> &Token {
        &self.tokens[(self.at + n).min(self.tokens.len() - 1)].token
    }
    fn advance(&mut self) {
        if self.at + 1 < self.tokens.len() {
            self.at += 1;
        }
    }
    fn line(&self) -> u32 {
        let start = self.tokens[self.at].start;
        1 + self.text[..start].bytes().filter(|b| *b == b'\n').count() as u32
    }
    fn is_mark(&self, mark: &str) -> bool {
        matches!(self.token(), Token::Mark(m) if m == mark)
    }
    fn take_mark(&mut self, mark: &str) -> bool {
        let found = self.is_mark(mark);
        if found {
            self.advance();
        }
        found
    }
    fn expect_mark(&mut self, mark: &str) -> Result<()> {
        if self.take_mark(mark) {
            return Ok(());
        }
        Err(self.syntax_error())
    }
    fn is_word(&self, word: &str) -> bool {
        matches!(self.token(), Token::Word { text, quoted: false } if text == word)
    }
    fn is_word_ahead(&self, n: usize, word: &str) -> bool {
        matches!(self.ahead(n), Token::Word { text, quoted: false } if text == word)
    }
    fn take_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        if found {
            self.advance();
        }
        found
    }
    fn expect_word(&mut self, word: &str) -> Result<()> {
        if self.take_word(word) {
            return Ok(());
        }
        Err(self.syntax_error())
    }
    fn identifier(&mut self) -> Result<String> {
        match self.token().clone() {
            Token::Word { text, .. } => {
                self.advance();
                Ok(text)
            }
            _ => Err(self.syntax_error()),
        }
    }
    fn expect_end(&mut self) -> Result<()> {
        match self.token() {
            Token::End => Ok(()),
            _ => Err(self.syntax_error()),
        }
    }

    fn shown(&self) -> String {
        match self.tokens.get(self.at) {
            Some(p) if p.token != Token::End => format!("at or near \"{}\"", &self.text[p.start..p.end]),
            _ => "at end of input".into(),
        }
    }
    fn syntax_error(&self) -> PgError {
        PgError::new(SqlState::SYNTAX_ERROR, format!("syntax error {}", self.shown())).at(self.place())
    }

    /// Where the present word stands.
    fn place(&self) -> i32 {
        self.tokens[self.at].start as i32
    }

    // --- names ---------------------------------------------------------------------------------------------------------

    fn push_name(&mut self, name: String, kind: NameKind) {
        self.body.names.push(Name { name, kind, outer: self.names });
        self.names = self.body.names.len();
    }

    fn declare(&mut self, name: &str, ty: TypeRef, line: u32) -> usize {
        let variable = Variable { name: name.to_string(), line, ty, constant: false, not_null: false, cursor: None };
        self.body.variables.push(variable);
        self.body.variables.len() - 1
    }

    fn not_known(&self, name: &str) -> PgError {
        PgError::new(SqlState::SYNTAX_ERROR, format!("\"{name}\" is not a known variable"))
    }

    /// An error that stands at a word.
    fn at_word(&self, index: usize, error: PgError) -> PgError {
        error.at(self.tokens[index].start as i32)
    }

    // --- pieces of SQL -------------------------------------------------------------------------------------------------

    fn sql(&mut self, from: usize, to: usize, piece: Piece) -> Result<Sql> {
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
    fn check_sql(&self, text: &str, start: usize, piece: Piece) -> Result<()> {
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

    fn made_sql(&mut self, text: String, line: u32) -> Sql {
        self.body.texts += 1;
        Sql { text, lead: String::new(), line, names: self.names, id: self.body.texts - 1 }
    }

    /// Passes over SQL up to a word or mark outside brackets, which is left. Gives the range of tokens.
    fn until(&mut self, ends: &[&str]) -> Result<(usize, usize)> {
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

    fn expression(&mut self, ends: &[&str]) -> Result<Sql> {
        let (from, to) = self.until(ends)?;
        self.sql(from, to, Piece::Expression)
    }

    /// A statement of SQL in another one of the language.
    fn query(&mut self, ends: &[&str]) -> Result<Sql> {
        let (from, to) = self.until(ends)?;
        self.sql(from, to, Piece::Statement)
    }

    /// An expression and the `;` behind it.
    fn last_expression(&mut self) -> Result<Sql> {
        let sql = self.expression(&[";"])?;
        self.expect_mark(";")?;
        Ok(sql)
    }

    // --- blocks --------------------------------------------------------------------------------------------------------

    fn options(&mut self) -> Result<()> {
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
                    let on = self.identifier()?;
                    if on == "on" {
                        return Err(PgError::not_supported("#print_strict_params"));
                    }
                }
                "dump" => {}
                _ => return Err(self.syntax_error()),
            }
        }
        Ok(())
    }

    fn label(&mut self) -> Result<Option<String>> {
        if !self.take_mark("<<") {
            return Ok(None);
        }
        let name = self.identifier()?;
        self.expect_mark(">>")?;
        Ok(Some(name))
    }

    fn end_label(&mut self, label: &Option<String>) -> Result<()> {
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
    fn block(&mut self, label: Option<String>) -> Result<Block> {
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

    fn deeper(&mut self) -> Result<()> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(PgError::new(SqlState::STATEMENT_TOO_COMPLEX, "stack depth limit exceeded"));
        }
        Ok(())
    }

    fn state_literal(&mut self) -> Result<String> {
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
                    self.advance();
                    self.body
                        .look_up(self.names, &[&format!("${n}")])
                        .ok_or_else(|| self.not_known(&format!("${n}")))?
                        .0
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
            self.dotted()?;
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

    fn dotted(&mut self) -> Result<Vec<String>> {
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

    // --- statements ----------------------------------------------------------------------------------------------------

    fn statements(&mut self) -> Result<Vec<Statement>> {
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
                Ok(K::Perform(self.last_expression()?))
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
    fn targets(&mut self) -> Result<Vec<Target>> {
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

    fn if_statement(&mut self) -> Result<K> {
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

    fn case_statement(&mut self, line: u32) -> Result<K> {
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

    fn looping(&mut self, label: Option<String>) -> Result<K> {
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

    fn using(&mut self, ends: &[&str]) -> Result<Vec<Sql>> {
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

    fn exit(&mut self, exit: bool) -> Result<K> {
        let start = self.at;
        self.advance();
        let mut label = None;
        if !self.is_word("when") && !self.is_mark(";") {
            let name = self.identifier()?;
            let Some((_, is_loop)) = self.labels.iter().rev().find(|(l, _)| l.as_ref() == Some(&name)) else {
                return Err(PgError::new(
                    SqlState::SYNTAX_ERROR,
                    format!("there is no label \"{name}\" attached to any block or loop enclosing this statement"),
                ));
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

    fn return_statement(&mut self) -> Result<K> {
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
        let mut depth = 0i32;
        let mut into: Option<(usize, usize, Into)> = None;
        loop {
            match self.token().clone() {
                Token::End => return Err(self.syntax_error()),
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

    // --- cursors -------------------------------------------------------------------------------------------------------

    fn cursor_variable(&mut self) -> Result<usize> {
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
    fn cursor_arguments(&mut self, cursor: usize) -> Result<Vec<(Option<String>, Sql)>> {
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

    fn open(&mut self) -> Result<K> {
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

    fn fetch(&mut self, fetch: bool) -> Result<K> {
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

/// 42704 for a condition name that PostgreSQL does not have.
fn known_condition(condition: &Condition) -> Result<()> {
    match condition {
        Condition::Name(name) if SqlState::by_name(name).is_none() => {
            Err(PgError::new(SqlState::UNDEFINED_OBJECT, format!("unrecognized exception condition \"{name}\"")))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Body> {
        let given = Given {
            name: "f".into(),
            variables: vec![
                (vec!["found".into()], TypeRef::Known(16, -1)),
                (vec!["$1".into(), "a".into()], TypeRef::Known(23, -1)),
            ],
            returns_set: true,
            ..Default::default()
        };
        parse(text, &given)
    }

    fn message(text: &str) -> String {
        parsed(text).map(|_| String::new()).unwrap_or_else(|e| e.message().to_string())
    }

    #[test]
    fn every_kind_of_statement() {
        let body = parsed(
            "<<top>> DECLARE x int := 1; y CONSTANT text NOT NULL DEFAULT 'q'; r record; c CURSOR (k int) FOR SELECT k;
             t x%TYPE; u tab.col%TYPE; v tab%ROWTYPE; al ALIAS FOR $1;
             BEGIN
               x := a + top.x; r.f := 2; IF x > 1 THEN NULL; ELSIF x < 0 THEN RETURN; ELSE x := 3; END IF;
               CASE x WHEN 1, 2 THEN NULL; ELSE NULL; END CASE;
               FOR i IN REVERSE 10..1 BY 2 LOOP CONTINUE WHEN i = 3; EXIT; END LOOP;
               FOR r IN SELECT 1 AS a LOOP NULL; END LOOP;
               FOR q IN c(4) LOOP NULL; END LOOP;
               SELECT 1, 2 INTO STRICT x, t FROM tab WHERE a = 1;
               EXECUTE 'SELECT 1' INTO x USING a, x;
               INSERT INTO tab VALUES (1) RETURNING a INTO x;
               RETURN QUERY SELECT 1; RETURN NEXT x;
               RAISE NOTICE 'v %', x USING ERRCODE = '22012'; RAISE division_by_zero; 
               GET DIAGNOSTICS x = ROW_COUNT; OPEN c(1); FETCH c INTO x; MOVE FORWARD 2 FROM c; CLOSE c;
             EXCEPTION WHEN division_by_zero OR SQLSTATE '23505' THEN NULL; WHEN others THEN RAISE; END top;",
        )
        .unwrap();
        assert_eq!(body.block.body.len(), 19);
        assert_eq!(body.block.handlers.len(), 2);
        let mut into = 0;
        walk_for_test(&body, &mut |s| {
            if let K::Execute { sql, into: Some(i) } = &s.kind {
                assert!(!sql.text.contains("STRICT") && !i.targets.is_empty());
                into += 1;
            }
        });
        assert_eq!(into, 2);
    }

    fn walk_for_test(body: &Body, visit: &mut dyn FnMut(&Statement)) {
        super::super::walk_block(&body.block, visit);
    }

    #[test]
    fn what_is_told_of_mistakes() {
        assert_eq!(message("BEGIN zz := 1; END"), "\"zz\" is not a known variable");
        assert_eq!(message("BEGIN EXIT; END"), "EXIT cannot be used outside a loop, unless it has a label");
        assert_eq!(message("BEGIN RAISE 'x %'; END"), "too few parameters specified for RAISE");
        assert_eq!(message("BEGIN RAISE nonsense; END"), "unrecognized exception condition \"nonsense\"");
        assert_eq!(message("DECLARE a int; a int; BEGIN END"), "duplicate declaration at or near \"a\"");
        assert_eq!(message("BEGIN IF true THEN END IF"), "syntax error at end of input");
    }
}
