//! Tokens of a path expression.

use crate::work;
use crate::{PgError, Result, SqlState};

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    Identifier(String),
    String(String),
    Variable(String),
    /// a number as written, and whether it is an integer
    Number(String, bool),
    Symbol(&'static str),
}

/// A token and how an error shows it.
#[derive(Debug, Clone)]
pub(super) struct Lexeme {
    pub token: Token,
    pub shown: String,
}

const SYMBOLS: [&str; 28] = [
    "**", "&&", "||", "==", "!=", "<>", "<=", ">=", "?", "%", ".", "[", "]", "{", "}", "(", ")", "!", "<", ">", "@",
    "#", ",", "*", ":", "-", "+", "/",
];

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | '\x0c')
}
/// A character that a name may have.
fn is_other(c: char) -> bool {
    !is_blank(c) && !"?%$.[]{}()|&!=<>@#,*:-+/\\\"".contains(c)
}

/// 42601 at a token; None: at the end.
pub(super) fn error_at(message: &str, shown: Option<&str>) -> PgError {
    let message = match shown {
        Some(text) => format!("{message} at or near \"{text}\" of jsonpath input"),
        None => format!("{message} at end of jsonpath input"),
    };
    PgError::new(SqlState::SYNTAX_ERROR, message)
}

pub(super) fn tokens(text: &str) -> Result<Vec<Lexeme>> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        work::pulse(1);
        if is_blank(c) {
            rest = &rest[1..];
        } else if rest.starts_with("/*") {
            let end = rest[2..].find("*/").ok_or_else(|| error_at("unexpected end of comment", None))?;
            rest = &rest[2 + end + 2..];
        } else if c == '"' {
            let (string, after) = quoted(&rest[1..])?;
            rest = after;
            out.push(Lexeme { token: Token::String(string), shown: "\"".into() });
        } else if c == '$' {
            let (token, after) = variable(rest)?;
            out.push(Lexeme { token, shown: rest[..rest.len() - after.len()].into() });
            rest = after;
        } else if c.is_ascii_digit() || c == '.' && rest[1..].starts_with(|d: char| d.is_ascii_digit()) {
            let (token, after) = number(rest)?;
            out.push(Lexeme { token, shown: rest[..rest.len() - after.len()].into() });
            rest = after;
        } else if is_other(c) || c == '\\' {
            let (name, after) = name(rest)?;
            // A comment directly after a name takes the name with it, as in PostgreSQL.
            if !after.starts_with("/*") {
                // The scanner has seen the end of a name only at what follows it, so that is what an error shows.
                let shown = after.chars().next().filter(|c| is_blank(*c)).map(String::from).unwrap_or_default();
                out.push(Lexeme { token: Token::Identifier(name), shown });
            }
            rest = after;
        } else if let Some(symbol) = SYMBOLS.iter().find(|s| rest.starts_with(**s)) {
            rest = &rest[symbol.len()..];
            out.push(Lexeme { token: Token::Symbol(symbol), shown: symbol.to_string() });
        } else {
            return Err(error_at("syntax error", Some(&c.to_string())));
        }
    }
    Ok(out)
}

/// `$`, `$name` or `$"name"`
fn variable(text: &str) -> Result<(Token, &str)> {
    let after = &text[1..];
    if let Some(inner) = after.strip_prefix('"') {
        let (string, rest) = quoted(inner)?;
        return Ok((Token::Variable(string), rest));
    }
    // (without quotes it has no escapes)
    let rest = after.trim_start_matches(is_other);
    let name = &after[..after.len() - rest.len()];
    Ok((if name.is_empty() { Token::Symbol("$") } else { Token::Variable(name.into()) }, rest))
}

fn name(text: &str) -> Result<(String, &str)> {
    let (mut out, mut rest) = (String::new(), text);
    while let Some(c) = rest.chars().next() {
        work::pulse(1);
        if c == '\\' {
            rest = escape(rest, &mut out)?;
        } else if is_other(c) {
            out.push(c);
            rest = &rest[c.len_utf8()..];
        } else {
            break;
        }
    }
    Ok((out, rest))
}

/// A string after its opening quote.
fn quoted(text: &str) -> Result<(String, &str)> {
    let (mut out, mut rest) = (String::new(), text);
    loop {
        work::pulse(1);
        match rest.chars().next() {
            None => return Err(error_at("unterminated quoted string", None)),
            Some('"') => return Ok((out, &rest[1..])),
            Some('\\') => rest = escape(rest, &mut out)?,
            Some(c) => {
                out.push(c);
                rest = &rest[c.len_utf8()..];
            }
        }
    }
}

/// Reads an escape at a backslash; gives what follows.
fn escape<'a>(text: &'a str, out: &mut String) -> Result<&'a str> {
    let after = &text[1..];
    let Some(c) = after.chars().next() else { return Err(error_at("unexpected end after backslash", None)) };
    let rest = &after[c.len_utf8()..];
    let plain = match c {
        'b' => '\x08',
        'f' => '\x0c',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\x0b',
        'x' => {
            let code = rest.get(..2).and_then(|h| u32::from_str_radix(h, 16).ok());
            let code = code.ok_or_else(|| error_at("invalid hexadecimal character sequence", Some("\\x")))?;
            push_code(code, out)?;
            return Ok(&rest[2..]);
        }
        'u' => {
            let (first, mut rest) = unicode(text)?;
            let code = if (0xd800..0xdc00).contains(&first) {
                let (second, after) = match rest.starts_with("\\u") {
                    true => unicode(rest)?,
                    false => (0, rest),
                };
                if !(0xdc00..0xe000).contains(&second) {
                    return Err(surrogate("Unicode low surrogate must follow a high surrogate."));
                }
                rest = after;
                0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00)
            } else if (0xdc00..0xe000).contains(&first) {
                return Err(surrogate("Unicode low surrogate must follow a high surrogate."));
            } else {
                first
            };
            push_code(code, out)?;
            return Ok(rest);
        }
        c => c,
    };
    out.push(plain);
    Ok(rest)
}

fn surrogate(detail: &str) -> PgError {
    PgError::new(SqlState::INVALID_TEXT_REPRESENTATION, "invalid input syntax for type jsonpath").detail(detail)
}

/// The code of `\uXXXX` or `\u{X…}`, and what follows.
fn unicode(text: &str) -> Result<(u32, &str)> {
    let digits = &text[2..];
    let bad = |length: usize| {
        let end = (2 + length).min(text.len());
        let end = (end..=text.len()).find(|&e| text.is_char_boundary(e)).unwrap_or(text.len());
        error_at("invalid Unicode escape sequence", Some(&text[..end]))
    };
    if let Some(braced) = digits.strip_prefix('{') {
        let length = braced.chars().take_while(char::is_ascii_hexdigit).count();
        if !(1..=6).contains(&length) || !braced[length..].starts_with('}') {
            return Err(bad(1 + length));
        }
        let code = u32::from_str_radix(&braced[..length], 16).map_err(|_| bad(1 + length))?;
        return Ok((code, &braced[length + 1..]));
    }
    let length = digits.chars().take(4).take_while(char::is_ascii_hexdigit).count();
    if length < 4 {
        return Err(bad(length));
    }
    Ok((u32::from_str_radix(&digits[..4], 16).map_err(|_| bad(4))?, &digits[4..]))
}

fn push_code(code: u32, out: &mut String) -> Result<()> {
    if code == 0 {
        return Err(PgError::new(SqlState::UNTRANSLATABLE_CHARACTER, "unsupported Unicode escape sequence")
            .detail("\\u0000 cannot be converted to text."));
    }
    out.push(char::from_u32(code).ok_or_else(|| surrogate("Unicode code value cannot exceed 10FFFF."))?);
    Ok(())
}

fn number(text: &str) -> Result<(Token, &str)> {
    let bytes = text.as_bytes();
    let digits = |from: usize| bytes[from.min(bytes.len())..].iter().take_while(|b| b.is_ascii_digit()).count();
    // An integer has no zero in front of other digits.
    let mut end = if bytes[0] == b'0' { 1 } else { digits(0) };
    let mut integer = true;
    if bytes.get(end) == Some(&b'.') {
        integer = false;
        end += 1 + digits(end + 1);
    }
    if let Some(b'e' | b'E') = bytes.get(end) {
        let signed = matches!(bytes.get(end + 1), Some(b'+' | b'-')) as usize;
        let exponent = digits(end + 1 + signed);
        if exponent > 0 {
            integer = false;
            end += 1 + signed + exponent;
        } else if signed == 1 {
            return Err(error_at("invalid numeric literal", Some(&text[..end + 2])));
        }
    }
    let (number, rest) = text.split_at(end);
    if let Some(junk) = rest.chars().next().filter(|c| is_other(*c)) {
        let shown = format!("{number}{junk}");
        return Err(error_at("trailing junk after numeric literal", Some(&shown)));
    }
    Ok((Token::Number(number.to_string(), integer), rest))
}
