//! Commands of a connection for replication (<https://www.postgresql.org/docs/15/protocol-replication.html>), as far as they are carried out.

use pgsqlite_replication::stream::FORMAT;
use pgsqlite_storage::stream::Position;
use pgsqlite_types::transaction_ids::parse_lsn;
use pgsqlite_types::{PgError, Result, SqlState};

/// A command.
#[derive(Debug, PartialEq, Eq)]
pub enum Command {
    /// `IDENTIFY_SYSTEM`
    Identify,
    /// `LIST_DATABASES`, which PostgreSQL has not: each of them is followed by a connection of its own
    List,
    /// `START_REPLICATION PHYSICAL X/X (format 'ltx3', position '…')`: a standby has the state of this place, and wants what comes after it
    Start {
        /// the place
        lsn: u64,
        /// as the position of it was told; None: the standby has nothing
        position: Option<Position>,
    },
}

/// A word of a command.
#[derive(Debug, PartialEq, Eq)]
enum Word {
    Plain(String),
    Quoted(String),
    Mark(char),
}

/// What PostgreSQL takes on such a connection and this server does not.
const OTHERS: [&str; 7] = [
    "BASE_BACKUP",
    "CREATE_REPLICATION_SLOT",
    "DROP_REPLICATION_SLOT",
    "READ_REPLICATION_SLOT",
    "TIMELINE_HISTORY",
    "UPLOAD_MANIFEST",
    "SHOW",
];

/// (PostgreSQL names no place in such a command.)
fn syntax() -> PgError {
    PgError::new(SqlState::SYNTAX_ERROR, "syntax error")
}

fn words(text: &str) -> Result<Vec<Word>> {
    let (mut found, mut rest) = (Vec::new(), text.chars().peekable());
    while let Some(c) = rest.next() {
        match c {
            c if c.is_whitespace() => {}
            '\'' | '"' => {
                let mut word = String::new();
                loop {
                    match rest.next() {
                        Some(end) if end == c => match rest.next_if_eq(&c) {
                            Some(_) => word.push(c),
                            None => break,
                        },
                        Some(other) => word.push(other),
                        None => return Err(syntax()),
                    }
                }
                found.push(Word::Quoted(word));
            }
            '(' | ')' | ',' | ';' => found.push(Word::Mark(c)),
            c => {
                let mut word = String::from(c);
                while let Some(next) = rest.next_if(|c| !c.is_whitespace() && !"'\"(),;".contains(*c)) {
                    word.push(next);
                }
                found.push(Word::Plain(word));
            }
        }
    }
    if found.last() == Some(&Word::Mark(';')) {
        found.pop();
    }
    Ok(found)
}

fn not_for_postgres(what: String) -> PgError {
    PgError::not_supported(what)
        .detail("This server sends its standbys pages of a SQLite database, which PostgreSQL and its tools cannot use.")
        .hint("Start the standby as a pgsqlite with --standby.")
}

/// Reads a command. Errors: 42601, 0A000 for what is not carried out.
pub fn parse(text: &str) -> Result<Command> {
    let words = words(text)?;
    let Some(Word::Plain(first)) = words.first() else { return Err(syntax()) };
    // (the words are in capitals, as for PostgreSQL 15)
    match first.as_str() {
        "IDENTIFY_SYSTEM" | "LIST_DATABASES" if words.len() > 1 => Err(syntax()),
        "IDENTIFY_SYSTEM" => Ok(Command::Identify),
        "LIST_DATABASES" => Ok(Command::List),
        "START_REPLICATION" => start(&words[1..]),
        name if OTHERS.contains(&name) => Err(not_for_postgres(format!("the replication command {name}"))),
        _ => Err(PgError::new(
            SqlState::FEATURE_NOT_SUPPORTED,
            "cannot execute SQL commands in WAL sender for physical replication",
        )),
    }
}

fn start(words: &[Word]) -> Result<Command> {
    let mut words = words.iter().peekable();
    let is = |word: &Word, wanted: &str| matches!(word, Word::Plain(word) if word == wanted);
    if words.next_if(|word| is(word, "SLOT")).is_some() {
        return Err(not_for_postgres("START_REPLICATION with a slot".into()));
    }
    if words.next_if(|word| is(word, "LOGICAL")).is_some() {
        return Err(not_for_postgres("START_REPLICATION LOGICAL".into()));
    }
    words.next_if(|word| is(word, "PHYSICAL"));
    let lsn = match words.next() {
        Some(Word::Plain(word)) => parse_lsn(word).ok_or_else(syntax)?,
        _ => return Err(syntax()),
    };
    if words.next_if(|word| is(word, "TIMELINE")).is_some() {
        match words.next() {
            Some(Word::Plain(word)) if word.parse::<u32>().is_ok_and(|n| n > 0) => {}
            _ => return Err(syntax()),
        }
    }
    let without = || not_for_postgres(format!("START_REPLICATION without (format '{FORMAT}')"));
    match words.next() {
        Some(Word::Mark('(')) => {}
        None => return Err(without()),
        _ => return Err(syntax()),
    }
    let (mut format, mut position) = (None, None);
    loop {
        let name = match words.next() {
            Some(Word::Plain(name)) => name.to_ascii_lowercase(),
            _ => return Err(syntax()),
        };
        let value = match words.next() {
            Some(Word::Quoted(value)) => value.clone(),
            _ => return Err(syntax()),
        };
        let place = match name.as_str() {
            "format" => &mut format,
            "position" => &mut position,
            _ => return Err(syntax()),
        };
        if place.replace(value).is_some() {
            return Err(PgError::new(SqlState::SYNTAX_ERROR, "conflicting or redundant options"));
        }
        match words.next() {
            Some(Word::Mark(',')) => {}
            Some(Word::Mark(')')) => break,
            _ => return Err(syntax()),
        }
    }
    if words.next().is_some() {
        return Err(syntax());
    }
    if format.as_deref() != Some(FORMAT) {
        return Err(without());
    }
    let position = match position.as_deref().unwrap_or_default() {
        "" => None,
        text => Some(Position::parse(text).ok_or_else(syntax)?),
    };
    Ok(Command::Start { lsn, position })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_read() {
        let simple = |text: &str| parse(text).map_err(|e| e.code());
        assert_eq!(simple(" IDENTIFY_SYSTEM ; "), Ok(Command::Identify));
        assert_eq!(simple("LIST_DATABASES"), Ok(Command::List));
        let started = |text: &str| match parse(text) {
            Ok(Command::Start { lsn, position }) => Ok((lsn, position.map(|p| p.to_string()))),
            Ok(other) => panic!("{other:?}"),
            Err(e) => Err(e.code()),
        };
        assert_eq!(started("START_REPLICATION PHYSICAL 1/A (format 'ltx3')"), Ok(((1 << 32) + 10, None)));
        let position = Position { salt: [1; 8], frames: 7, checksum: [3, u32::MAX] };
        let text = format!("START_REPLICATION 0/0 TIMELINE 1 (format 'ltx3', position '{position}')");
        assert_eq!(started(&text), Ok((0, Some(position.to_string()))));
        // what PostgreSQL's own programs say
        let refused = SqlState::FEATURE_NOT_SUPPORTED;
        for text in [
            "START_REPLICATION PHYSICAL 0/3000000 TIMELINE 1",
            "START_REPLICATION SLOT \"a\" PHYSICAL 0/3000000",
            "START_REPLICATION PHYSICAL 0/0 (format 'other')",
            "BASE_BACKUP ( LABEL 'pg_basebackup base backup' )",
            "SHOW wal_segment_size",
            "SELECT 1",
            "identify_system",
        ] {
            assert_eq!(started(text), Err(refused), "{text}");
        }
        for text in [
            "",
            "'x'",
            "IDENTIFY_SYSTEM 1",
            "START_REPLICATION",
            "START_REPLICATION 0/0 (format 'ltx3'",
            "START_REPLICATION 0/0 (format 'ltx3') 1",
            "START_REPLICATION 0/0 (format 'ltx3', position '1')",
            "START_REPLICATION 0/0 (format 'ltx3",
        ] {
            assert_eq!(started(text), Err(SqlState::SYNTAX_ERROR), "{text}");
        }
    }
}
