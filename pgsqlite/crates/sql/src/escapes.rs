//! Statements of a client that has standard_conforming_strings = off: backslashes escape in its plain string constants, too.
//!
//! The parser has an option for it. What reads the text beside the parser is given a copy in which the constants are blank, and what
//! PostgreSQL's scanner warns of is found here.

use crate::blanks::read;
pub use crate::parse::Strings;
use crate::parse::{self, RawStatement};
use pgsqlite_types::error::Severity;
use pgsqlite_types::{PgError, Result, SqlState};

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
