//! Statement text → libpg_query's tree, with PostgreSQL's errors and positions.

mod c_tree;
mod layout;
mod nodes;
mod statements;

use pg_query::protobuf;
use pgsqlite_types::{PgError, Result, SqlState};
use std::ffi::CString;
use std::sync::Arc;

pub use pg_query::protobuf as ast;
pub use pg_query::{NodeEnum, NodeRef};

/// A parsed statement of a query string.
#[derive(Debug, Clone)]
pub struct RawStatement {
    pub node: NodeEnum,
    /// The statement's own text, without `;`.
    pub text: Arc<str>,
    /// Byte offset of `text` in the whole string. Locations in `node` count from the whole string's start.
    pub offset: usize,
}

impl RawStatement {
    /// A statement that is within this one, or was made of it. Its text is the key of its plan, so no text that a client can send is
    /// like it: those have no zero byte.
    pub fn within(&self, node: NodeEnum, what: &str) -> RawStatement {
        RawStatement { node, text: format!("{}\0{what}", self.text).into(), offset: self.offset }
    }
}

/// Deeper than this the parse tree is refused with 54001, as PostgreSQL does at its stack limit.
const STACK: usize = 512 << 20;

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

/// Runs `f` on a stack that the deepest tree the C parser lets through fits in.
/// Analysis and lowering recurse over the same tree: they run in here, too.
pub fn with_stack<R>(f: impl FnOnce() -> R) -> R {
    stacker::maybe_grow(16 << 20, STACK, f)
}

/// Parses a query string into its statements (none for an empty string or comments only).
/// Errors: 42601 with position, 54001 for nesting that is too deep.
pub fn parse(text: &str) -> Result<Vec<RawStatement>> {
    with_stack(|| parse_inner(text))
}

/// As [`parse`], of a text whose strings are written in another way (`crate::escapes`). `blank`: the same without what is in them.
pub(crate) fn parse_escaped(text: &str, blank: &str, strings: Strings) -> Result<Vec<RawStatement>> {
    with_stack(|| parse_as(text, blank, Some(strings)))
}

fn parse_inner(text: &str) -> Result<Vec<RawStatement>> {
    parse_as(text, text, None)
}

fn parse_as(text: &str, blank: &str, strings: Option<Strings>) -> Result<Vec<RawStatement>> {
    check_nesting(blank)?;
    let input = CString::new(text)
        .map_err(|_| PgError::new(SqlState::SYNTAX_ERROR, "invalid byte sequence for encoding \"UTF8\": 0x00"))?;
    let options = match strings {
        None => 0,
        Some(strings) => {
            let mut options = pg_query::ParserOptions::DISABLE_ESCAPE_STRING_WARNING;
            if !strings.standard {
                options |= pg_query::ParserOptions::DISABLE_STANDARD_CONFORMING_STRINGS;
            }
            if !strings.backslash_quote {
                options |= pg_query::ParserOptions::DISABLE_BACKSLASH_QUOTE;
            }
            options.bits()
        }
    };
    let statements = c_tree::raw_parse(&input, options)?.map_err(|e| parse_error(text, e.message, e.cursor))?;
    check_parameters(blank)?;
    let mut out = Vec::new();
    for raw in statements {
        let start = raw.stmt_location.max(0) as usize;
        let end = if raw.stmt_len > 0 { start + raw.stmt_len as usize } else { text.len() };
        let Some(node) = raw.stmt.and_then(|n| n.node) else { continue };
        let slice = text.get(start..end).ok_or_else(|| PgError::internal("statement bounds are not on characters"))?;
        let trimmed = slice.trim_start();
        out.push(RawStatement { node, offset: start + (slice.len() - trimmed.len()), text: trimmed.trim_end().into() });
    }
    Ok(out)
}

/// Where the words of a text are: (start, end) in bytes, comments left out.
pub fn words(text: &str) -> Result<Vec<(usize, usize)>> {
    let scanned = pg_query::scan(text).map_err(|e| PgError::internal(format!("the scanner: {e}")))?;
    let comment = [protobuf::Token::SqlComment as i32, protobuf::Token::CComment as i32];
    let places = scanned.tokens.iter().filter(|t| !comment.contains(&t.token));
    Ok(places.map(|t| (t.start.max(0) as usize, t.end.max(0) as usize)).collect())
}

/// Longest identifier in bytes (NAMEDATALEN - 1).
pub const MAX_NAME: usize = 63;

/// The identifiers of a text that the parser cuts, as written and as cut: PostgreSQL tells of each with a notice.
pub fn truncated_identifiers(text: &str) -> Vec<(String, String)> {
    let part = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$') || *b >= 0x80;
    let bytes = text.as_bytes();
    let long_word = bytes.len() > MAX_NAME && bytes.split(|b| !part(b)).any(|word| word.len() > MAX_NAME);
    let long_quoted = bytes.len() > MAX_NAME && bytes.split(|b| *b == b'"').skip(1).any(|word| word.len() > MAX_NAME);
    if !long_word && !long_quoted {
        return Vec::new();
    }
    let Ok(scanned) = pg_query::scan(text) else { return Vec::new() };
    let mut out = Vec::new();
    for token in scanned.tokens.iter().filter(|t| t.token == protobuf::Token::Ident as i32) {
        let Some(written) = text.get(token.start as usize..token.end as usize) else { continue };
        let name = match written.strip_prefix('"').and_then(|w| w.strip_suffix('"')) {
            Some(quoted) => quoted.replace("\"\"", "\""),
            None => written.to_lowercase(),
        };
        if name.len() > MAX_NAME {
            let mut end = MAX_NAME;
            while !name.is_char_boundary(end) {
                end -= 1;
            }
            out.push((name.clone(), name[..end].to_string()));
        }
    }
    out
}

/// The statement from a 1-based character position on.
fn text_at(text: &str, cursor: i32) -> &str {
    let begin =
        usize::try_from(cursor - 1).ok().and_then(|n| text.char_indices().nth(n)).map_or(text.len(), |(i, _)| i);
    &text[begin..]
}

/// libpg_query gives a message and a 1-based character position, no SQLSTATE: recover it from the message.
fn parse_error(text: &str, message: String, cursor: i32) -> PgError {
    let code = if message.starts_with("stack depth") || message.contains("memory exhausted") {
        SqlState::STATEMENT_TOO_COMPLEX
    } else if message.contains("out of range") {
        SqlState::NUMERIC_VALUE_OUT_OF_RANGE
    } else if message.contains("is not supported")
        || message.contains("not implemented")
        || message.contains("not yet implemented")
        || message.contains("not supported on recursive views")
        || message.contains("constraints cannot be marked")
        || message.contains("is only supported for ON DELETE actions")
        || message.contains("are supported in JSON_TABLE path specification")
    {
        SqlState::FEATURE_NOT_SUPPORTED
    } else if message == "invalid Unicode escape" && !text_at(text, cursor).starts_with(['\\']) {
        SqlState::SYNTAX_ERROR
    } else if message == "invalid Unicode escape" && !text_at(text, cursor)[1..].starts_with(['u', 'U']) {
        // of U&'…', unlike of E'…'
        SqlState::SYNTAX_ERROR
    } else if message.starts_with("invalid Unicode") && message != "invalid Unicode escape" {
        SqlState::SYNTAX_ERROR
    } else if message.starts_with("invalid Unicode") || message.contains("escape") && message.contains("invalid") {
        SqlState::INVALID_ESCAPE_SEQUENCE
    } else if message.starts_with("unsafe use of \\'") {
        SqlState::NONSTANDARD_USE_OF_ESCAPE_CHARACTER
    } else if message.starts_with("unsafe use of string constant") {
        SqlState::FEATURE_NOT_SUPPORTED
    } else if message.starts_with("invalid byte sequence for encoding") {
        SqlState::CHARACTER_NOT_IN_REPERTOIRE
    } else if message.starts_with("role name ") && message.ends_with("is reserved") {
        SqlState::RESERVED_NAME
    } else if message.starts_with("frame ") {
        SqlState::WINDOWING_ERROR
    } else if message.contains("identifier too long") {
        SqlState::NAME_TOO_LONG
    } else {
        SqlState::SYNTAX_ERROR
    };
    let mut error = match message.starts_with("parse tree is nested too deeply") {
        true => PgError::new(SqlState::STATEMENT_TOO_COMPLEX, "stack depth limit exceeded"),
        false => PgError::new(code, message),
    };
    if error.message() == "invalid Unicode escape" {
        let hint = match error.code() {
            SqlState::SYNTAX_ERROR => "Unicode escapes must be \\XXXX or \\+XXXXXX.",
            _ => "Unicode escapes must be \\uXXXX or \\UXXXXXXXX.",
        };
        error = error.hint(hint);
    }
    if error.code() == SqlState::NONSTANDARD_USE_OF_ESCAPE_CHARACTER {
        error = error.hint("Use '' to write quotes in strings. \\' is insecure in client-only encodings.");
    } else if error.message().starts_with("unsafe use of string constant") {
        error = error.detail(
            "String constants with Unicode escapes cannot be used when \"standard_conforming_strings\" is off.",
        );
    }
    if cursor > 0 {
        let byte = text.char_indices().nth(cursor as usize - 1).map_or(text.len(), |(i, _)| i);
        error = error.at(byte as i32);
    }
    error
}

/// An optimizable statement (as the manual calls those that have a plan): SELECT, VALUES, INSERT, UPDATE, DELETE, MERGE.
pub fn is_optimizable(statement: &NodeEnum) -> bool {
    matches!(
        statement,
        NodeEnum::SelectStmt(_)
            | NodeEnum::InsertStmt(_)
            | NodeEnum::UpdateStmt(_)
            | NodeEnum::DeleteStmt(_)
            | NodeEnum::MergeStmt(_)
    )
}

/// An optimizable statement that is carried out as it is: not SELECT INTO, which makes a table.
pub fn is_query(statement: &NodeEnum) -> bool {
    is_optimizable(statement) && !matches!(statement, NodeEnum::SelectStmt(s) if s.into_clause.is_some())
}

/// The parser reads `$1a` as a parameter and an alias, which PostgreSQL refuses.
fn check_parameters(text: &str) -> Result<()> {
    let suspicious = |w: &[u8]| w[0].is_ascii_digit() && (w[1].is_ascii_alphabetic() || matches!(w[1], b'_' | 0x80..));
    if !text.as_bytes().windows(2).any(suspicious) {
        return Ok(());
    }
    if !text.contains('$') {
        return Ok(());
    }
    let tokens = pg_query::scan(text).map_err(|e| PgError::internal(format!("the scanner: {e}")))?.tokens;
    for token in tokens {
        use protobuf::Token;
        let (start, mut end) = (token.start.max(0) as usize, token.end.max(0) as usize);
        if Token::try_from(token.token) != Ok(Token::Param) {
            continue;
        }
        let behind = text.get(end..).unwrap_or_default();
        // the scanner of PostgreSQL 15 takes one character more and stops
        match behind.chars().next().filter(|c| c.is_ascii_alphabetic() || *c == '_' || !c.is_ascii()) {
            Some(junk) => end += junk.len_utf8(),
            None => continue,
        }
        let written = text.get(start..end).unwrap_or_default();
        let message = format!("trailing junk after parameter at or near \"{written}\"");
        return Err(PgError::new(SqlState::SYNTAX_ERROR, message).at(token.start));
    }
    Ok(())
}

/// A cheap guard before the C parser: brackets nested deeper than any sane statement are refused as too complex, so that
/// no later stage can run out of stack. Quoted text and comments do not count.
fn check_nesting(text: &str) -> Result<()> {
    const MAX: usize = 1500;
    let blank = crate::blanks::has_rare_quotes(text).then(|| crate::blanks::blank(text));
    let bytes = blank.as_deref().unwrap_or(text).as_bytes();
    let (mut depth, mut i) = (0usize, 0usize);
    while i < bytes.len() {
        match bytes[i] {
            b'(' | b'[' => {
                depth += 1;
                if depth > MAX {
                    return Err(PgError::new(SqlState::STATEMENT_TOO_COMPLEX, "stack depth limit exceeded")
                        .hint("Simplify the statement: it is nested too deeply."));
                }
            }
            b')' | b']' => depth = depth.saturating_sub(1),
            quote @ (b'\'' | b'"') => {
                i += 1;
                while i < bytes.len() && bytes[i] != quote {
                    i += 1;
                }
            }
            b'-' if bytes.get(i + 1) == Some(&b'-') => {
                while i < bytes.len() && bytes[i] != b'\n' {
                    i += 1;
                }
            }
            _ => {}
        }
        i += 1;
    }
    Ok(())
}

/// Where the first sub-query of an expression begins.
pub fn first_sub_query(node: &ast::Node) -> Option<i32> {
    let node = node.node.as_ref()?;
    if let NodeEnum::SubLink(link) = node {
        return Some(link.location);
    }
    node.nodes().into_iter().find_map(|(n, ..)| match n {
        pg_query::NodeRef::SubLink(link) => Some(link.location),
        _ => None,
    })
}

/// The strings of a list of String nodes.
pub fn strings(nodes: &[ast::Node]) -> Vec<&str> {
    nodes
        .iter()
        .filter_map(|n| match &n.node {
            Some(NodeEnum::String(s)) => Some(s.sval.as_str()),
            _ => None,
        })
        .collect()
}
