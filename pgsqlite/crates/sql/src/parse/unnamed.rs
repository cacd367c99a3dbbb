//! Sub-queries of FROM without an alias. PostgreSQL 15's grammar demands one, the parser that is used does not, and its tree has no
//! place of a sub-query: the place is found by giving each one in parentheses an alias.

use super::c_tree::{raw_parse, Unnamed};
use pg_query::protobuf::Token;
use pgsqlite_types::{PgError, Result, SqlState};
use std::ffi::CString;

/// The bytes that are parsed at most to find the place. Beyond them the error has none.
const MAX_PARSED: usize = 16 << 20;

/// The error of the first of the sub-queries without an alias. `text` has no strings that are read otherwise than by default.
pub(super) fn error(text: &str, there: Unnamed) -> PgError {
    let found = first(text, there).ok().flatten();
    let of_values = found.map_or(there.queries == 0, |(_, of_values)| of_values);
    let (what, example) = match of_values {
        true => ("VALUES", "(VALUES ...)"),
        false => ("subquery", "(SELECT ...)"),
    };
    let error = PgError::new(SqlState::SYNTAX_ERROR, format!("{what} in FROM must have an alias"))
        .hint(format!("For example, FROM {example} [AS] foo."));
    match found {
        Some((place, _)) => error.at(place as i32),
        None => error,
    }
}

/// Where the first one to end begins, in bytes, and whether it is VALUES.
fn first(text: &str, there: Unnamed) -> Result<Option<(usize, bool)>> {
    let scanned = pg_query::scan(text).map_err(|e| PgError::internal(format!("the scanner: {e}")))?;
    let comments = [Token::SqlComment as i32, Token::CComment as i32];
    let tokens: Vec<_> = scanned.tokens.iter().filter(|t| !comments.contains(&t.token)).collect();
    let begins_query = [Token::Select, Token::Values, Token::With, Token::Table, Token::Ascii40].map(|t| t as i32);
    let mut open = Vec::new();
    let mut parsed = 0;
    for (i, token) in tokens.iter().enumerate() {
        if token.token == Token::Ascii40 as i32 {
            open.push(i);
        } else if token.token == Token::Ascii41 as i32 {
            let Some(begin) = open.pop() else { return Ok(None) };
            if !begins_query.contains(&tokens[begin + 1].token) {
                continue;
            }
            parsed += text.len();
            if parsed > MAX_PARSED {
                return Ok(None);
            }
            let (before, behind) = text.split_at(token.end.max(0) as usize);
            let Ok(named) = CString::new(format!("{before} a {behind}")) else { return Ok(None) };
            let Ok((_, left)) = raw_parse(&named, 0)? else { continue };
            if left.queries + left.values + 1 == there.queries + there.values {
                return Ok(Some((tokens[begin].start.max(0) as usize, left.values < there.values)));
            }
        }
    }
    Ok(None)
}
