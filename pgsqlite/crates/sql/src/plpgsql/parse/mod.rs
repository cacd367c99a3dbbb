//! The grammar of PL/pgSQL (manual, chapter "PL/pgSQL - SQL Procedural Language"), by recursive descent: here the tokens and the names,
//! in the files beside it what they make up.

mod blocks;
mod control_structures;
mod cursors;
mod pieces;
mod statements;

use super::scan::{scan, Placed, Token};
use super::{Block, Body, Condition, Conflict, Name, NameKind, TypeRef, Variable};
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
    let body = Body {
        variables: vec![],
        names: vec![],
        block,
        texts: 0,
        conflict: Conflict::default(),
        print_strict_params: false,
    };
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
    use super::super::{Statement, StatementKind as K};
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
