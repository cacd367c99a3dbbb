//! Configurations and dictionaries: which token becomes which lexeme.
//!
//! There are `simple` and the languages of [`Language`]. A dictionary gives a lexeme, or says that the token is a stop word.

use super::language::Language;
use super::parser::Kind;
use pgsqlite_sql::builtins::text_search::{configuration_name, dictionary_name, dictionary_named};
use pgsqlite_types::{Oid, PgError, Result, SqlState};

/// OIDs of `pg_ts_config`, `pg_ts_dict`, `pg_ts_parser`.
pub const SIMPLE: Oid = 3748;
pub const SIMPLE_DICTIONARY: Oid = 3765;
pub const DEFAULT_PARSER: Oid = 3722;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dictionary {
    /// lower case, without stop words
    Simple,
    /// a Snowball stemmer, with the stop words of its language
    Snowball(Language),
}

impl Dictionary {
    /// Errors: 0A000 for languages that are not known here.
    pub fn of(oid: Oid) -> Result<Dictionary> {
        if oid == SIMPLE_DICTIONARY {
            return Ok(Dictionary::Simple);
        }
        let name = dictionary_name(oid).ok_or_else(|| {
            PgError::new(SqlState::INTERNAL_ERROR, format!("cache lookup failed for text search dictionary {oid}"))
        })?;
        match name.strip_suffix("_stem").and_then(Language::named) {
            Some(language) => Ok(Dictionary::Snowball(language)),
            None => Err(PgError::not_supported(format!("the text search dictionary \"{name}\""))),
        }
    }

    pub fn oid(self) -> Oid {
        match self {
            Dictionary::Simple => SIMPLE_DICTIONARY,
            Dictionary::Snowball(language) => dictionary_named(&format!("{}_stem", language.name())).unwrap_or(0),
        }
    }

    /// The lexeme that a token becomes. None: it is a stop word.
    pub fn lexeme(self, token: &str) -> Option<String> {
        /// Bytes of a word that is stemmed, at most.
        const LONGEST: usize = 1000;
        let lower = lower(token);
        match self {
            Dictionary::Simple => Some(lower),
            Dictionary::Snowball(_) if lower.len() > LONGEST => Some(lower),
            Dictionary::Snowball(language) if lower.is_empty() || language.is_stop_word(&lower) => None,
            Dictionary::Snowball(language) => Some(language.stem(&lower)),
        }
    }
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
    /// for words of ASCII letters
    ascii: Dictionary,
}

impl Configuration {
    /// Errors: 0A000 for languages that are not known here.
    pub fn of(oid: Oid) -> Result<Configuration> {
        if oid == SIMPLE {
            return Ok(Configuration { words: Dictionary::Simple, ascii: Dictionary::Simple });
        }
        let name = configuration_name(oid).ok_or_else(|| {
            PgError::new(SqlState::INTERNAL_ERROR, format!("cache lookup failed for text search configuration {oid}"))
        })?;
        let known = |name: &str| Language::named(name).map(Dictionary::Snowball);
        let words =
            known(name).ok_or_else(|| PgError::not_supported(format!("the text search configuration \"{name}\"")))?;
        // what is written in another script has its ASCII words from English
        let ascii = match name {
            "russian" => known("english").unwrap_or(words),
            _ => words,
        };
        Ok(Configuration { words, ascii })
    }

    /// The dictionary for tokens of a type. None: they are not indexed.
    pub fn dictionary(self, kind: Kind) -> Option<Dictionary> {
        use Kind::*;
        match kind {
            Blank | Tag | Protocol | Entity => None,
            AsciiWord | AsciiCompound | AsciiPart => Some(self.ascii),
            Word | Compound | WordPart => Some(self.words),
            _ => Some(Dictionary::Simple),
        }
    }
}
