//! Statements of a client that has standard_conforming_strings = off: backslashes escape in its plain string constants, too.
//!
//! The parser has an option for it. What reads the text beside the parser is given a copy in which the constants are blank, and what
//! PostgreSQL's scanner warns of is found here.

use crate::parse::{self, RawStatement};
use pgsqlite_types::error::Severity;
use pgsqlite_types::{PgError, Result, SqlState};

/// How a client writes string constants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Strings {
    /// standard_conforming_strings: in plain constants backslashes stand for themselves
    pub standard: bool,
    /// backslash_quote: `\'` may stand for a quote where backslashes escape
    pub backslash_quote: bool,
    /// escape_string_warning
    pub warns: bool,
}

impl Strings {
    /// Whether the text means the same as it does to who reads strings as the standard has it.
    pub fn are_standard_in(&self, text: &str) -> bool {
        let plain = self.standard && self.backslash_quote;
        plain || !text.contains('\\') && (self.standard || !text.contains("U&'") && !text.contains("u&'"))
    }
}

/// Parses a query string in which strings are written so. Besides the statements: what is warned of.
pub fn parse(text: &str, strings: Strings) -> Result<(Vec<RawStatement>, Vec<PgError>)> {
    let (blank, escapes) = read(text, strings.standard);
    let statements = parse::parse_escaped(text, &blank, strings)?;
    let warnings = match strings.warns && !strings.standard {
        true => escapes.iter().map(|(start, escaped)| warning(*start, *escaped)).collect(),
        false => vec![],
    };
    Ok((statements, warnings))
}

/// Whether the text has a plain constant with a backslash, which is read in one way or the other.
pub fn depends(text: &str) -> bool {
    text.contains('\\') && !read(text, false).1.is_empty()
}

/// Whether the text may have what is neither plain text nor a plain constant, a quoted identifier or a comment to the end of a line: a
/// comment in `/* */`, a constant with escapes, one in dollars.
pub(crate) fn has_rare_quotes(text: &str) -> bool {
    let bytes = text.as_bytes();
    let dollars = || bytes.windows(2).any(|pair| pair[0] == b'$' && !pair[1].is_ascii_digit());
    text.contains('\\') || text.contains("/*") || text.contains('$') && dollars()
}

/// The text with blanks for what is in string constants, comments and quoted identifiers, where strings are written as in the standard.
pub(crate) fn blank(text: &str) -> String {
    read(text, true).0
}

/// What the scanner tells of the first escape in a plain constant. `escaped`: what stands behind the backslash.
fn warning(start: usize, escaped: u8) -> PgError {
    let (what, hint) = match escaped {
        b'\'' => ("\\'", "Use '' to write quotes in strings, or use the escape string syntax (E'...')."),
        b'\\' => ("\\\\", "Use the escape string syntax for backslashes, e.g., E'\\\\'."),
        _ => ("escape", "Use the escape string syntax for escapes, e.g., E'\\r\\n'."),
    };
    let message = format!("nonstandard use of {what} in a string literal");
    PgError::new(SqlState::NONSTANDARD_USE_OF_ESCAPE_CHARACTER, message)
        .severity(Severity::Warning)
        .hint(hint)
        .at(start as i32)
}

/// The text with blanks for what is in string constants, comments and quoted identifiers; and of each plain constant with an
/// escape its start and the byte behind its first backslash.
fn read(text: &str, standard: bool) -> (String, Vec<(usize, u8)>) {
    let bytes = text.as_bytes();
    let mut blank = bytes.to_vec();
    let mut escapes = Vec::new();
    let mut i = 0;
    while i < bytes.len() {
        let rest = &bytes[i..];
        let start = i;
        match rest[0] {
            b'\'' => {
                let word = i > 0 && is_word(bytes[i - 1]) && !(i > 1 && is_word(bytes[i - 2]));
                let prefix = if word { bytes[i - 1].to_ascii_lowercase() } else { 0 };
                let plain = !matches!(prefix, b'e' | b'b' | b'x');
                let escaping = prefix == b'e' || plain && !standard;
                let (end, escaped) = constant(bytes, i, escaping);
                if let (Some(escaped), true, false) = (escaped, plain, standard) {
                    escapes.push((i, escaped));
                }
                i = end;
            }
            b'"' => i += 1 + rest[1..].iter().position(|b| *b == b'"').map_or(rest.len() - 1, |at| at + 1),
            b'-' if rest.starts_with(b"--") => {
                i += rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len());
            }
            b'/' if rest.starts_with(b"/*") => i = comment(bytes, i),
            b'$' if i == 0 || !is_word(bytes[i - 1]) => match dollar_quoted(rest) {
                Some(length) => i += length,
                None => {
                    i += 1;
                    continue;
                }
            },
            _ => {
                i += 1;
                continue;
            }
        }
        // (the quotes themselves stay)
        let inside = start + 1..i.saturating_sub(1).max(start + 1);
        if matches!(bytes[start], b'\'' | b'"') {
            blank[inside].fill(b' ');
        } else {
            blank[start..i].fill(b' ');
        }
    }
    // (whole characters were replaced, so it is UTF-8 as before)
    (String::from_utf8(blank).unwrap_or_else(|_| text.to_string()), escapes)
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | 0x80..)
}

/// Where a string constant that begins at `i` ends (its parts on several lines are one), and what its first backslash escapes.
fn constant(bytes: &[u8], mut i: usize, escaping: bool) -> (usize, Option<u8>) {
    let mut first = None;
    loop {
        // behind the opening quote
        i += 1;
        while i < bytes.len() {
            match bytes[i] {
                b'\\' if escaping => {
                    first = first.or(bytes.get(i + 1).copied());
                    i += 2;
                }
                b'\'' if bytes.get(i + 1) == Some(&b'\'') => i += 2,
                b'\'' => break,
                _ => i += 1,
            }
        }
        i = (i + 1).min(bytes.len());
        let blanks = bytes[i..].iter().take_while(|b| b.is_ascii_whitespace()).count();
        let goes_on = bytes[i..i + blanks].contains(&b'\n') && bytes.get(i + blanks) == Some(&b'\'');
        if !goes_on {
            return (i, first);
        }
        i += blanks;
    }
}

/// Where a comment that begins at `i` ends; comments nest.
fn comment(bytes: &[u8], mut i: usize) -> usize {
    let mut depth = 0;
    while i < bytes.len() {
        if bytes[i..].starts_with(b"/*") {
            (depth, i) = (depth + 1, i + 2);
        } else if bytes[i..].starts_with(b"*/") {
            (depth, i) = (depth - 1, i + 2);
            if depth == 0 {
                return i;
            }
        } else {
            i += 1;
        }
    }
    bytes.len()
}

/// The length of a dollar-quoted constant; None: the dollar begins none.
fn dollar_quoted(rest: &[u8]) -> Option<usize> {
    let name = rest[1..].iter().take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | 0x80..)).count();
    if rest.get(1 + name) != Some(&b'$') || rest[1].is_ascii_digit() {
        return None;
    }
    let tag = &rest[..name + 2];
    let end = rest[tag.len()..].windows(tag.len()).position(|w| w == tag);
    Some(end.map_or(rest.len(), |at| at + 2 * tag.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OFF: Strings = Strings { standard: false, backslash_quote: true, warns: true };

    #[test]
    fn constants_become_blank() {
        let text = "select 'it\\'s (', E'\\'(', \"a'b\", $x$ ' $x$, 'a'\n'\\n' -- '\n/* ' /* */ ' */, x'41'";
        let (blank, escapes) = read(text, false);
        assert_eq!(blank.len(), text.len());
        assert!(!blank.contains('(') && !blank.contains('\\'), "{blank}");
        assert_eq!(escapes.iter().map(|(_, b)| *b).collect::<Vec<_>>(), [b'\'', b'n']);
    }

    #[test]
    fn only_what_escapes_is_another_text() {
        assert!(OFF.are_standard_in("select 'a'") && !OFF.are_standard_in("select 'a\\b'"));
        let standard = Strings { standard: true, ..OFF };
        assert!(standard.are_standard_in("select 'a\\b'"));
    }

    #[test]
    fn the_parser_reads_escapes_and_forgets_the_option() {
        let (statements, warnings) = parse("SELECT 'it\\'s'", OFF).expect("parses");
        assert!(format!("{:?}", statements[0].node).contains("it's"));
        assert_eq!(warnings.len(), 1);
        let refused = parse("SELECT 'it\\'s'", Strings { backslash_quote: false, ..OFF }).expect_err("unsafe");
        assert_eq!(refused.code(), SqlState::NONSTANDARD_USE_OF_ESCAPE_CHARACTER);
        assert_eq!(parse::words("SELECT 'it\\' s").expect("scans").len(), 3);
    }

    #[test]
    fn only_brackets_of_the_statement_are_nested() {
        let deep = "(".repeat(2000);
        for quoted in
            ["/*'{}*/ 1", "/* /* */ {} */ 1", "E'\\'{}'", "$${}$$", "$a$ ' {} $a$", "'{}'", "\"{}\"", "1 -- {}"]
        {
            let text = format!("SELECT {}", quoted.replace("{}", &deep));
            parse::parse(&text).unwrap_or_else(|e| panic!("{quoted}: {e}"));
        }
        let deep = format!("{deep}1{}", ")".repeat(2000));
        for before in ["/*'*/", "$$'$$,", "E'\\'',", "/*/**/'*/", "/*\"*/"] {
            let refused = parse::parse(&format!("SELECT {before} {deep}")).expect_err(before);
            assert_eq!(refused.code(), SqlState::STATEMENT_TOO_COMPLEX, "{before}");
        }
    }
}
