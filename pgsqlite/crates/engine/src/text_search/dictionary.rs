//! Configurations and dictionaries: which token becomes which lexeme.
//!
//! There are the configurations `simple` and `english`. A dictionary gives a lexeme, or says that the token is a stop word.

use super::parser::Kind;
use pgsqlite_sql::builtins::text_search::{configuration_name, dictionary_name};
use pgsqlite_types::{Oid, PgError, Result, SqlState};
use rust_stemmers::{Algorithm, Stemmer};
use std::collections::HashSet;
use std::sync::OnceLock;

/// OIDs of `pg_ts_config`, `pg_ts_dict`, `pg_ts_parser`.
pub const SIMPLE: Oid = 3748;
pub const ENGLISH: Oid = 13164;
pub const SIMPLE_DICTIONARY: Oid = 3765;
pub const ENGLISH_STEM: Oid = 13163;
pub const DEFAULT_PARSER: Oid = 3722;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dictionary {
    /// lower case, without stop words
    Simple,
    /// the Snowball stemmer for English, with its stop words
    English,
}

impl Dictionary {
    /// Errors: 0A000 for those of other languages.
    pub fn of(oid: Oid) -> Result<Dictionary> {
        match oid {
            SIMPLE_DICTIONARY => Ok(Dictionary::Simple),
            ENGLISH_STEM => Ok(Dictionary::English),
            other => match dictionary_name(other) {
                Some(name) => Err(PgError::not_supported(format!("the text search dictionary \"{name}\""))),
                None => Err(PgError::new(
                    SqlState::INTERNAL_ERROR,
                    format!("cache lookup failed for text search dictionary {other}"),
                )),
            },
        }
    }

    pub fn oid(self) -> Oid {
        match self {
            Dictionary::Simple => SIMPLE_DICTIONARY,
            Dictionary::English => ENGLISH_STEM,
        }
    }

    /// The lexeme that a token becomes. None: it is a stop word.
    pub fn lexeme(self, token: &str) -> Option<String> {
        let lower = lower(token);
        match self {
            Dictionary::Simple => Some(lower),
            Dictionary::English if lower.is_empty() || stop_words().contains(lower.as_str()) => None,
            Dictionary::English => Some(stem(&lower)),
        }
    }
}

fn stem(word: &str) -> String {
    static STEMMER: OnceLock<Stemmer> = OnceLock::new();
    STEMMER.get_or_init(|| Stemmer::create(Algorithm::English)).stem(word).into_owned()
}

/// PostgreSQL's list for English.
fn stop_words() -> &'static HashSet<&'static str> {
    static WORDS: OnceLock<HashSet<&'static str>> = OnceLock::new();
    WORDS.get_or_init(|| include_str!("english_stop.txt").split_whitespace().collect())
}

/// Letter by letter, as the C library does it: a letter whose lower form is several stays.
fn lower(text: &str) -> String {
    let one = |c: char| {
        let mut lower = c.to_lowercase();
        match (lower.next(), lower.next()) {
            (Some(l), None) => l,
            _ => c,
        }
    };
    text.chars().map(one).collect()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Configuration {
    words: Dictionary,
}

impl Configuration {
    /// Errors: 0A000 for those of other languages, 42704 for an OID that is none.
    pub fn of(oid: Oid) -> Result<Configuration> {
        match oid {
            SIMPLE => Ok(Configuration { words: Dictionary::Simple }),
            ENGLISH => Ok(Configuration { words: Dictionary::English }),
            other => match configuration_name(other) {
                Some(name) => Err(PgError::not_supported(format!("the text search configuration \"{name}\""))),
                None => Err(PgError::new(
                    SqlState::INTERNAL_ERROR,
                    format!("cache lookup failed for text search configuration {other}"),
                )),
            },
        }
    }

    /// The dictionary for tokens of a type. None: they are not indexed.
    pub fn dictionary(self, kind: Kind) -> Option<Dictionary> {
        use Kind::*;
        match kind {
            Blank | Tag | Protocol | Entity => None,
            AsciiWord | Word | AsciiCompound | Compound | AsciiPart | WordPart => Some(self.words),
            _ => Some(Dictionary::Simple),
        }
    }
}
