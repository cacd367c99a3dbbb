//! Reading JSON: one pass of lexer and parser, with PostgreSQL's details and context lines.

use super::Json;
use crate::numeric::Numeric;
use crate::{work, PgError, Result, SqlState};

/// Which of the two types' rules a text is read by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flavor {
    /// Pairs of objects stay in their order, equal keys too; escapes that name no character are errors only where the
    /// string is needed, so [`validate`] lets them through.
    Json,
    /// Pairs in jsonb's order, the last of equal keys.
    Jsonb,
}

/// Deepest nesting (SQLite's JSON functions have the same limit).
const MAX_DEPTH: usize = 1000;

/// Reads a value.
pub fn parse(text: &str, flavor: Flavor) -> Result<Json> {
    let mut p = Parser::new(text, true, flavor);
    p.advance()?;
    let value = p.value(0)?;
    p.expect_end()?;
    Ok(value)
}

/// Checks that a text is valid input for `json`.
pub fn validate(text: &str) -> Result<()> {
    let mut p = Parser::new(text, false, Flavor::Json);
    p.advance()?;
    p.value(0)?;
    p.expect_end()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token {
    String,
    Number,
    Word(Word),
    /// one of `{}[],:`
    Mark(u8),
    End,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Word {
    True,
    False,
    Null,
}

struct Parser<'a> {
    text: &'a str,
    /// Strings are unescaped and values built; otherwise only the syntax is checked.
    build: bool,
    flavor: Flavor,
    token: Token,
    /// Byte range of the token, or of what is wrong.
    start: usize,
    end: usize,
    line: usize,
    line_start: usize,
    /// The unescaped string, if the token is one and values are built.
    string: String,
}

fn word_byte(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'_' || b >= 0x80
}

impl<'a> Parser<'a> {
    fn new(text: &'a str, build: bool, flavor: Flavor) -> Self {
        Parser {
            text,
            build,
            flavor,
            token: Token::End,
            start: 0,
            end: 0,
            line: 1,
            line_start: 0,
            string: String::new(),
        }
    }

    fn at(&self, i: usize) -> Option<u8> {
        self.text.as_bytes().get(i).copied()
    }

    /// The end of the character at `i`.
    fn char_end(&self, i: usize) -> usize {
        (i + 1..=self.text.len()).find(|e| self.text.is_char_boundary(*e)).unwrap_or(self.text.len())
    }

    fn error(&self, detail: String) -> PgError {
        let (code, message) = (SqlState::INVALID_TEXT_REPRESENTATION, "invalid input syntax for type json");
        PgError::new(code, message).detail(detail).context(self.context())
    }

    /// `JSON data, line …`: the line up to the error, its last 50 bytes.
    fn context(&self) -> String {
        let mut from = self.line_start.min(self.end);
        while self.end - from >= 50 {
            work::pulse(1);
            from = self.char_end(from);
        }
        if from - self.line_start <= 3 {
            from = self.line_start;
        }
        let prefix = if from > self.line_start { "..." } else { "" };
        let more = self.token != Token::End && !matches!(self.at(self.end), None | Some(b'\n' | b'\r'));
        let shown = self.text.get(from..self.end).unwrap_or("");
        format!("JSON data, line {}: {prefix}{shown}{}", self.line, if more { "..." } else { "" })
    }

    fn invalid_token(&self) -> PgError {
        self.error(format!("Token \"{}\" is invalid.", &self.text[self.start..self.end]))
    }

    fn expected(&self, what: &str) -> PgError {
        if self.token == Token::End {
            return self.error("The input string ended unexpectedly.".into());
        }
        self.error(format!("Expected {what}, but found \"{}\".", &self.text[self.start..self.end]))
    }

    /// Reads the next token.
    fn advance(&mut self) -> Result<()> {
        let mut i = self.end;
        while let Some(b) = self.at(i).filter(|b| matches!(b, b' ' | b'\t' | b'\n' | b'\r')) {
            work::pulse(1);
            i += 1;
            if b == b'\n' {
                self.line += 1;
                self.line_start = i;
            }
        }
        (self.start, self.end) = (i, i);
        let Some(b) = self.at(i) else {
            self.token = Token::End;
            return Ok(());
        };
        // Until the token is known to be right, errors in it count as being inside the text.
        self.token = Token::String;
        match b {
            b'{' | b'}' | b'[' | b']' | b',' | b':' => {
                self.end = i + 1;
                self.token = Token::Mark(b);
            }
            b'"' => self.lex_string()?,
            b'-' | b'0'..=b'9' => self.lex_number()?,
            _ => {
                let mut end = i;
                while self.at(end).is_some_and(word_byte) {
                    work::pulse(1);
                    end += 1;
                }
                self.end = if end == i { self.char_end(i) } else { end };
                self.token = Token::Word(match &self.text[i..self.end] {
                    "true" => Word::True,
                    "false" => Word::False,
                    "null" => Word::Null,
                    _ => return Err(self.invalid_token()),
                });
            }
        }
        Ok(())
    }

    fn lex_number(&mut self) -> Result<()> {
        let mut i = self.start + usize::from(self.at(self.start) == Some(b'-'));
        let mut valid = true;
        let digits = |p: &Self, mut i: usize| {
            while p.at(i).is_some_and(|b| b.is_ascii_digit()) {
                work::pulse(1);
                i += 1;
            }
            i
        };
        match self.at(i) {
            Some(b'0') => i += 1,
            Some(b'1'..=b'9') => i = digits(self, i),
            _ => valid = false,
        }
        if valid && self.at(i) == Some(b'.') {
            let end = digits(self, i + 1);
            valid = end > i + 1;
            i = end;
        }
        if valid && matches!(self.at(i), Some(b'e' | b'E')) {
            i += 1 + usize::from(matches!(self.at(i + 1), Some(b'+' | b'-')));
            let end = digits(self, i);
            valid = end > i;
            i = end;
        }
        let mut end = i;
        while self.at(end).is_some_and(word_byte) {
            work::pulse(1);
            end += 1;
        }
        self.end = end;
        if !valid || end > i {
            return Err(self.invalid_token());
        }
        self.token = Token::Number;
        Ok(())
    }

    fn lex_string(&mut self) -> Result<()> {
        self.string.clear();
        let mut i = self.start + 1;
        let mut plain = i;
        let mut high: Option<u32> = None;
        const LONELY: &str = "Unicode low surrogate must follow a high surrogate.";
        loop {
            if (i - self.start) & 0xffff == 0xffff {
                work::tick(0x2000)?;
            }
            let b = match self.at(i) {
                None => {
                    self.end = i;
                    return Err(self.invalid_token());
                }
                Some(b) => b,
            };
            if b == b'\\' && self.build {
                let piece = &self.text[plain..i];
                if high.is_some() && !piece.is_empty() {
                    self.end = self.char_end(plain);
                    return Err(self.error(LONELY.into()));
                }
                self.string.push_str(piece);
            }
            match b {
                b'"' => {
                    if self.build {
                        if high.is_some() {
                            self.end = self.char_end(plain);
                            return Err(self.error(LONELY.into()));
                        }
                        let piece = &self.text[plain..i];
                        self.string.push_str(piece);
                    }
                    self.end = i + 1;
                    self.token = Token::String;
                    return Ok(());
                }
                0..=0x1f => {
                    self.end = i;
                    return Err(self.error(format!("Character with value 0x{b:02x} must be escaped.")));
                }
                b'\\' => {
                    i += 1;
                    match self.at(i) {
                        None => {
                            self.end = i;
                            return Err(self.invalid_token());
                        }
                        Some(b'u') => {
                            let code = self.hex4(i + 1)?;
                            i += 5;
                            plain = i;
                            if self.build {
                                high = self.unicode(code, high, i)?;
                            }
                        }
                        Some(e) => {
                            let c = match e {
                                b'"' | b'\\' | b'/' => e as char,
                                b'b' => '\u{8}',
                                b'f' => '\u{c}',
                                b'n' => '\n',
                                b'r' => '\r',
                                b't' => '\t',
                                _ => {
                                    (self.start, self.end) = (i, self.char_end(i));
                                    let shown = &self.text[self.start..self.end];
                                    return Err(self.error(format!("Escape sequence \"\\{shown}\" is invalid.")));
                                }
                            };
                            if self.build {
                                if high.is_some() {
                                    self.end = i;
                                    return Err(self.error(LONELY.into()));
                                }
                                self.string.push(c);
                            }
                            i += 1;
                            plain = i;
                        }
                    }
                }
                _ => i += 1,
            }
        }
    }

    /// Four hexadecimal digits at `i`.
    fn hex4(&mut self, i: usize) -> Result<u32> {
        let mut code = 0;
        // bounded: four digits
        for k in i..i + 4 {
            match self.at(k) {
                None => {
                    self.end = k;
                    return Err(self.invalid_token());
                }
                Some(b) => match (b as char).to_digit(16) {
                    Some(d) => code = code << 4 | d,
                    None => {
                        self.end = self.char_end(k);
                        let detail = "\"\\u\" must be followed by four hexadecimal digits.";
                        return Err(self.error(detail.into()));
                    }
                },
            }
        }
        Ok(code)
    }

    /// Adds the character of a `\u` escape that ends at `end`; gives the high surrogate that waits for its other half.
    fn unicode(&mut self, code: u32, high: Option<u32>, end: usize) -> Result<Option<u32>> {
        self.end = end;
        match (code, high) {
            (0xd800..=0xdbff, Some(_)) => {
                Err(self.error("Unicode high surrogate must not follow a high surrogate.".into()))
            }
            (0xd800..=0xdbff, None) => Ok(Some(code)),
            (0xdc00..=0xdfff, Some(h)) => {
                let c = char::from_u32(0x10000 + ((h - 0xd800) << 10) + (code - 0xdc00));
                self.string.push(c.ok_or_else(|| PgError::internal("surrogate pair outside Unicode"))?);
                Ok(None)
            }
            (0xdc00..=0xdfff, None) | (_, Some(_)) => {
                Err(self.error("Unicode low surrogate must follow a high surrogate.".into()))
            }
            (0, None) => {
                let e = PgError::new(SqlState::UNTRANSLATABLE_CHARACTER, "unsupported Unicode escape sequence");
                Err(e.detail("\\u0000 cannot be converted to text.").context(self.context()))
            }
            (_, None) => {
                self.string.push(char::from_u32(code).ok_or_else(|| PgError::internal("not a Unicode character"))?);
                Ok(None)
            }
        }
    }

    fn expect_end(&self) -> Result<()> {
        if self.token == Token::End {
            Ok(())
        } else {
            Err(self.expected("end of input"))
        }
    }

    fn value(&mut self, depth: usize) -> Result<Json> {
        work::tick(4 + (self.end - self.start) / 8)?;
        if depth > MAX_DEPTH {
            return Err(PgError::new(SqlState::STATEMENT_TOO_COMPLEX, "stack depth limit exceeded").hint(
                "Increase the configuration parameter \"max_stack_depth\" (currently 2048kB), \
                 after ensuring the platform's stack depth limit is adequate.",
            ));
        }
        let value = match self.token {
            Token::Mark(b'{') => return self.object(depth),
            Token::Mark(b'[') => return self.array(depth),
            Token::String => Json::String(std::mem::take(&mut self.string)),
            Token::Number if self.build => Json::Number(Numeric::from_text(&self.text[self.start..self.end])?),
            Token::Number => Json::Null,
            Token::Word(Word::True) => Json::Bool(true),
            Token::Word(Word::False) => Json::Bool(false),
            Token::Word(Word::Null) => Json::Null,
            Token::Mark(_) | Token::End => return Err(self.expected("JSON value")),
        };
        self.advance()?;
        Ok(value)
    }

    fn array(&mut self, depth: usize) -> Result<Json> {
        let mut items = Vec::new();
        self.advance()?;
        if self.token != Token::Mark(b']') {
            loop {
                work::pulse(1);
                let item = self.value(depth + 1)?;
                if self.build {
                    items.push(item);
                }
                if self.token != Token::Mark(b',') {
                    break;
                }
                self.advance()?;
            }
        }
        if self.token != Token::Mark(b']') {
            return Err(self.expected("\",\" or \"]\""));
        }
        self.advance()?;
        Ok(Json::Array(items))
    }

    fn object(&mut self, depth: usize) -> Result<Json> {
        let mut pairs = Vec::new();
        self.advance()?;
        match self.token {
            Token::Mark(b'}') => {}
            Token::String => loop {
                if self.token != Token::String {
                    return Err(self.expected("string"));
                }
                work::tick((self.end - self.start) / 8)?;
                let key = std::mem::take(&mut self.string);
                self.advance()?;
                if self.token != Token::Mark(b':') {
                    return Err(self.expected("\":\""));
                }
                self.advance()?;
                let value = self.value(depth + 1)?;
                if self.build {
                    pairs.push((key, value));
                }
                if self.token != Token::Mark(b',') {
                    break;
                }
                self.advance()?;
            },
            _ => return Err(self.expected("string or \"}\"")),
        }
        if self.token != Token::Mark(b'}') {
            return Err(self.expected("\",\" or \"}\""));
        }
        self.advance()?;
        Ok(if self.flavor == Flavor::Jsonb { Json::object(pairs) } else { Json::Object(pairs) })
    }
}
