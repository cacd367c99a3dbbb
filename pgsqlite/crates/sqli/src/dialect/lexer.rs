//! Words, literals and operators of Informix's SQL.

use super::Parse;
use crate::errors::Failure;
use pgsqlite_types::work;

#[derive(Debug, Clone, PartialEq)]
pub enum Token {
    /// a word in lower case
    Word(String),
    /// a delimited identifier (with DELIMIDENT)
    Quoted(String),
    Text(String),
    Number(String),
    /// punctuation and operators
    Sign(&'static str),
    End,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Lexeme {
    pub token: Token,
    /// byte offset in the text
    pub at: usize,
    /// where it ends
    pub end: usize,
}

/// Longest first.
const SIGNS: [&str; 25] = [
    "::", "||", "<=", ">=", "<>", "!=", "(", ")", ",", ".", ";", ":", "=", "<", ">", "+", "-", "*", "/", "[", "]", "?",
    "@", "{", "}",
];

/// The tokens of a text, `End` last. `delimident`: text in double quotes is a name, not a literal.
/// Errors: -282 for a quote that does not end, -201 for a character that begins nothing.
pub fn tokens(text: &str, delimident: bool) -> Parse<Vec<Lexeme>> {
    let mut out: Vec<Lexeme> = Vec::new();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        work::visit();
        let rest = &text[at..];
        if c.is_whitespace() {
            at += c.len_utf8();
            continue;
        }
        if c == '{' && begins_collection(&out) {
            out.push(Lexeme { token: Token::Sign("{"), at, end: at + 1 });
            at += 1;
            continue;
        }
        let comment = [("--", "\n"), ("/*", "*/"), ("{", "}")].into_iter().find(|(open, _)| rest.starts_with(open));
        if let Some((open, close)) = comment {
            at = match rest[open.len()..].find(close) {
                Some(n) => at + open.len() + n + close.len(),
                None if open == "--" => text.len(),
                None => return Err(Failure::syntax(at)),
            };
            continue;
        }
        let (token, length) = match c {
            '\'' | '"' => {
                let (content, length) = quoted(rest, c).ok_or(Failure::new(-282, 0, "").at(at))?;
                // behind a point only a name can stand
                let behind_point = matches!(out.last(), Some(Lexeme { token: Token::Sign("."), .. }));
                match c {
                    '"' if delimident || behind_point => (Token::Quoted(content), length),
                    _ => (Token::Text(content), length),
                }
            }
            '0'..='9' => number(rest),
            '.' if rest[1..].starts_with(|d: char| d.is_ascii_digit()) => number(rest),
            c if c.is_alphabetic() || c == '_' => {
                let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$')).unwrap_or(rest.len());
                (Token::Word(rest[..end].to_lowercase()), end)
            }
            _ => {
                let sign = SIGNS.iter().find(|s| rest.starts_with(**s)).ok_or_else(|| Failure::syntax(at))?;
                (Token::Sign(sign), sign.len())
            }
        };
        out.push(Lexeme { token, at, end: at + length });
        at += length;
    }
    out.push(Lexeme { token: Token::End, at: text.len(), end: text.len() });
    Ok(out)
}

/// Whether the brace that comes next is that of a literal like `SET{1}`, not a comment's: behind a SET that is not UPDATE's and does
/// not begin the statement, or behind MULTISET or LIST.
fn begins_collection(before: &[Lexeme]) -> bool {
    let is_set = |l: &Lexeme| l.token == Token::Word("set".into());
    match before {
        [.., Lexeme { token: Token::Word(word), .. }] if word == "multiset" || word == "list" => true,
        [first, between @ .., last] if is_set(last) => {
            first.token != Token::Word("update".into()) || between.iter().any(is_set)
        }
        _ => false,
    }
}

/// A quoted text's content and its length with quotes; doubled quotes stand for one.
fn quoted(rest: &str, quote: char) -> Option<(String, usize)> {
    let mut content = String::new();
    let mut characters = rest.char_indices().skip(1).peekable();
    while let Some((i, c)) = characters.next() {
        work::visit();
        if c != quote {
            content.push(c);
        } else if characters.next_if(|(_, next)| *next == quote).is_some() {
            content.push(quote);
        } else {
            return Some((content, i + 1));
        }
    }
    None
}

fn number(rest: &str) -> (Token, usize) {
    let digits = |from: usize| rest[from..].bytes().take_while(u8::is_ascii_digit).count();
    let mut end = digits(0);
    if rest[end..].starts_with('.') {
        end += 1 + digits(end + 1);
    }
    if rest[end..].starts_with(['e', 'E']) {
        let sign = rest[end + 1..].starts_with(['+', '-']) as usize;
        let exponent = digits(end + 1 + sign);
        if exponent > 0 {
            end += 1 + sign + exponent;
        }
    }
    (Token::Number(rest[..end].to_string()), end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_of_a_statement() {
        let found = |text: &str, delimident| -> Vec<Token> {
            tokens(text, delimident).unwrap().into_iter().map(|l| l.token).collect()
        };
        let word = |w: &str| Token::Word(w.into());
        assert_eq!(
            found("SELECT a--x\n{c}/*d*/,'it''s' \"q\" 1.5e3||?", false),
            [
                word("select"),
                word("a"),
                Token::Sign(","),
                Token::Text("it's".into()),
                Token::Text("q".into()),
                Token::Number("1.5e3".into()),
                Token::Sign("||"),
                Token::Sign("?"),
                Token::End
            ]
        );
        for (text, braces) in [
            ("select set{1} {c}", true),
            ("update t set {c} a = 1", false),
            ("update t set a = set {2}", true),
            ("set {c} isolation to dirty read", false),
            ("select list{}", true),
        ] {
            assert_eq!(found(text, false).contains(&Token::Sign("{")), braces, "{text}");
        }
        assert_eq!(found("\"Q\"", true)[0], Token::Quoted("Q".into()));
        assert_eq!(tokens("select 'x", false).unwrap_err().sqlcode, -282);
        assert_eq!(tokens("select #", false).unwrap_err(), Failure::syntax(7));
        assert_eq!(tokens("select /* x", false).unwrap_err().sqlcode, -201);
    }
}
