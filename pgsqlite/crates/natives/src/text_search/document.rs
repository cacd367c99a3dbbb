//! Texts as vectors and queries.

use super::dictionary::{Configuration, Lexized};
use super::parser::{Kind, Parser};
use pgsqlite_types::error::Severity;
use pgsqlite_types::tsearch::tsquery::{self, Builder, Operator};
use pgsqlite_types::tsearch::{Lexeme, Position, Query, Vector, LAST_POSITION, LONGEST_LEXEME};
use pgsqlite_types::work;
use pgsqlite_types::{PgError, Result, SqlState};

/// Where notices go.
pub type Tell<'a> = &'a dyn Fn(PgError);

fn notice(message: impl Into<String>) -> PgError {
    PgError::new(SqlState::SUCCESSFUL_COMPLETION, message).severity(Severity::Notice)
}

/// The lexemes of a text with their places, which go on from `place` (0: the first is 1): stop words take one, too.
pub fn lexemes(configuration: &Configuration, text: &str, place: &mut u32, tell: Tell) -> Vec<(String, u32)> {
    let mut out = Vec::new();
    for (kind, token) in Parser::new(text) {
        work::pulse(1);
        if too_long(token, tell) {
            continue;
        }
        match configuration.lexize(kind, token).0 {
            Lexized::Lexeme(lexeme) => {
                *place += 1;
                out.push((lexeme, *place));
            }
            Lexized::Stop => *place += 1,
            Lexized::Unknown | Lexized::Changed(_) => {}
        }
    }
    out
}

/// Tells that a token is left out because of its length.
pub fn too_long(token: &str, tell: Tell) -> bool {
    if token.len() <= LONGEST_LEXEME {
        return false;
    }
    let told = PgError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, "word is too long to be indexed");
    tell(
        told.severity(Severity::Notice)
            .detail(format!("Words longer than {} characters are ignored.", LONGEST_LEXEME + 1)),
    );
    true
}

/// Lexemes with their places as a vector.
pub fn vector(lexemes: Vec<(String, u32)>) -> Result<Vector> {
    let lexeme = |(text, place): (String, u32)| Lexeme {
        text,
        positions: vec![Position { at: place.min(u32::from(LAST_POSITION)) as u16, weight: 0 }],
    };
    Vector::from_lexemes(lexemes.into_iter().map(lexeme).collect())
}

/// `to_tsvector`
pub fn to_vector(configuration: &Configuration, text: &str, tell: Tell) -> Result<Vector> {
    vector(lexemes(configuration, text, &mut 0, tell))
}

/// Pushes what an operand's text becomes: its lexemes, joined by `operator`; stop words between them keep their places.
fn push_text(
    configuration: &Configuration,
    builder: &mut Builder,
    text: &str,
    weights: u8,
    prefix: bool,
    operator: Operator,
    tell: Tell,
) -> Result<()> {
    let found = lexemes(configuration, text, &mut 0, tell);
    if found.is_empty() {
        builder.stop();
        return Ok(());
    }
    let mut last = 0;
    let mut pushed = false;
    for (lexeme, place) in found {
        work::pulse(1);
        if last > 0 {
            for _ in last + 1..place {
                work::pulse(1);
                builder.stop();
                builder.operator(operator)?;
            }
        }
        last = place;
        builder.operand(lexeme, weights, prefix)?;
        if pushed {
            builder.operator(operator)?;
        }
        pushed = true;
    }
    Ok(())
}

/// Takes the stop words out, and tells if nothing else was there.
fn finish(query: Query, tell: Tell) -> Query {
    if query.0.is_none() {
        return query;
    }
    let query = query.without_stop_words();
    if query.0.is_none() {
        tell(notice("text-search query contains only stop words or doesn't contain lexemes, ignored"));
    }
    query
}

fn without_lexemes(text: &str, tell: Tell) {
    tell(notice(format!("text-search query doesn't contain lexemes: \"{text}\"")));
}

/// `to_tsquery`: operators are those of the type's text form.
pub fn to_query(configuration: &Configuration, text: &str, tell: Tell) -> Result<Query> {
    let query = tsquery::parse(text, &mut |builder, operand, weights, prefix| {
        push_text(configuration, builder, &operand, weights, prefix, Operator::Phrase(1), tell)
    })?;
    if query.0.is_none() {
        without_lexemes(text, tell);
    }
    Ok(finish(query, tell))
}

/// `plainto_tsquery` and `phraseto_tsquery`: all of the text is one operand.
pub fn plain_to_query(configuration: &Configuration, text: &str, operator: Operator, tell: Tell) -> Result<Query> {
    let mut builder = Builder::default();
    if text.is_empty() {
        without_lexemes(text, tell);
        return Ok(Query(None));
    }
    push_text(configuration, &mut builder, text, 0, false, operator, tell)?;
    Ok(finish(builder.finish()?, tell))
}

/// `websearch_to_tsquery`: words, "phrases", `or`, `-`. No text is wrong.
pub fn web_to_query(configuration: &Configuration, text: &str, tell: Tell) -> Result<Query> {
    let mut builder = Builder::default();
    let mut waiting: Vec<Operator> = Vec::new();
    let mut rest = text;
    let mut operand_due = true;
    let mut first = true;
    while let Some(c) = rest.chars().next() {
        work::pulse(1);
        let behind = &rest[c.len_utf8()..];
        if c.is_whitespace() || is_operator(c) {
            rest = behind;
            // (what means nothing counts as a beginning, blanks do not)
            first &= c.is_whitespace() || !operand_due;
            continue;
        }
        if !operand_due {
            let operator = match behind_or(rest) {
                Some(left) => {
                    rest = left;
                    Operator::Or
                }
                None => Operator::And,
            };
            tsquery::settle(&mut builder, &mut waiting, operator)?;
            waiting.push(operator);
            operand_due = true;
            continue;
        }
        first = false;
        if c == '-' {
            tsquery::settle(&mut builder, &mut waiting, Operator::Not)?;
            waiting.push(Operator::Not);
            rest = behind;
            continue;
        }
        let operand = if c == '"' {
            let (operand, left) = behind.split_once('"').unwrap_or((behind, ""));
            rest = left;
            operand
        } else {
            let ends = |c: char| c.is_whitespace() || is_operator(c) || matches!(c, '"' | ':');
            let (operand, left) = rest.split_at(behind.find(ends).map_or(rest.len(), |at| c.len_utf8() + at));
            rest = left;
            operand
        };
        push_text(configuration, &mut builder, operand, 0, false, Operator::Phrase(1), tell)?;
        operand_due = false;
    }
    if first {
        without_lexemes(text, tell);
        return Ok(Query(None));
    }
    if operand_due {
        builder.stop();
    }
    while let Some(operator) = waiting.pop() {
        work::pulse(1);
        builder.operator(operator)?;
    }
    Ok(finish(builder.finish()?, tell))
}

/// The operators of the type's text form, which mean nothing here.
fn is_operator(c: char) -> bool {
    matches!(c, '!' | '&' | '|' | '(' | ')' | '<')
}

/// What is behind the word `or`, if that stands here and more follows.
fn behind_or(text: &str) -> Option<&str> {
    if !text.get(..2)?.eq_ignore_ascii_case("or") {
        return None;
    }
    let behind = &text[2..];
    let mut following = behind.chars();
    let next = following.next()?;
    let part_of_a_word = matches!(next, '-' | '_') || next.is_alphanumeric();
    (!part_of_a_word && following.any(|c| !c.is_whitespace())).then_some(behind)
}

/// The tokens of a text, as `ts_parse` gives them.
pub fn tokens(text: &str) -> impl Iterator<Item = (Kind, &str)> {
    Parser::new(text)
}
