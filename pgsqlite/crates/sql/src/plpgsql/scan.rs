//! The words of a PL/pgSQL body, by the scanner of PostgreSQL's grammar.

use pg_query::protobuf::Token as Kind;
use pgsqlite_types::text::truncate_name;
use pgsqlite_types::{PgError, Result, SqlState};

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    /// an identifier or keyword in lower case; `quoted`: it was in double quotes
    Word {
        text: String,
        quoted: bool,
    },
    /// `$1`
    Parameter(usize),
    /// a string literal's value
    Text(String),
    Number(String),
    /// an operator or a mark
    Mark(String),
    End,
}

#[derive(Debug, Clone)]
pub(super) struct Placed {
    pub token: Token,
    /// bytes in the body
    pub start: usize,
    pub end: usize,
}

/// The value of a string literal as written.
fn text_value(written: &str) -> Result<String> {
    let statements = crate::parse::parse(&format!("SELECT {written}"))?;
    let [statement] = &statements[..] else { return Err(PgError::internal("a literal")) };
    if let pg_query::NodeEnum::SelectStmt(select) = &statement.node {
        if let Some(pg_query::NodeEnum::ResTarget(t)) = select.target_list.first().and_then(|n| n.node.as_ref()) {
            if let Some(pg_query::NodeEnum::AConst(c)) = t.val.as_ref().and_then(|v| v.node.as_ref()) {
                if let Some(pg_query::protobuf::a_const::Val::Sval(s)) = &c.val {
                    return Ok(s.sval.clone());
                }
            }
        }
    }
    Err(PgError::new(SqlState::SYNTAX_ERROR, format!("syntax error at or near \"{written}\"")))
}

pub(super) fn scan(body: &str) -> Result<Vec<Placed>> {
    let scanned = pg_query::scan(body).map_err(|e| match e {
        pg_query::Error::Scan(message) => PgError::new(SqlState::SYNTAX_ERROR, message),
        other => PgError::internal(format!("the scanner: {other}")),
    })?;
    let mut out = Vec::with_capacity(scanned.tokens.len() + 1);
    for t in scanned.tokens {
        let (start, end) = (t.start.max(0) as usize, t.end.max(0) as usize);
        let written = body.get(start..end).ok_or_else(|| PgError::internal("a token inside a character"))?;
        let kind = Kind::try_from(t.token).unwrap_or(Kind::Nul);
        let token = match kind {
            Kind::SqlComment | Kind::CComment => continue,
            Kind::Sconst | Kind::Usconst => Token::Text(text_value(written)?),
            Kind::Bconst | Kind::Xconst => Token::Mark(written.to_string()),
            Kind::Iconst | Kind::Fconst => Token::Number(written.to_string()),
            Kind::Param => Token::Parameter(
                written[1..].parse().map_err(|_| PgError::new(SqlState::SYNTAX_ERROR, "parameter number too large"))?,
            ),
            _ => match written.strip_prefix('"').and_then(|w| w.strip_suffix('"')) {
                Some(inner) => {
                    let name = inner.replace("\"\"", "\"");
                    Token::Word { text: truncate_name(&name).to_string(), quoted: true }
                }
                None if written.starts_with(|c: char| c.is_alphabetic() || c == '_' || !c.is_ascii()) => {
                    Token::Word { text: truncate_name(&written.to_ascii_lowercase()).to_string(), quoted: false }
                }
                None => Token::Mark(written.to_string()),
            },
        };
        out.push(Placed { token, start, end });
    }
    out.push(Placed { token: Token::End, start: body.len(), end: body.len() });
    Ok(out)
}
