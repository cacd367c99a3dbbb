//! Configurations and dictionaries: which token becomes which lexeme.
//!
//! A configuration has a list of dictionaries for each type of token, which are asked one after the other. A dictionary gives a
//! lexeme, says that the token is a stop word, changes the token for those behind it, or does not know it.

use super::language::Language;
use super::parser::Kind;
use super::unaccent::unaccented;
use pgsqlite_sql::builtins::text_search::{dictionary_name, mappings, SIMPLE_TEMPLATE, UNACCENT_DICTIONARY};
use pgsqlite_sql::catalog::Catalog;
use pgsqlite_types::work;
use pgsqlite_types::{Oid, PgError, Result, SqlState};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};

/// OIDs of `pg_ts_dict`, `pg_ts_parser`.
pub const SIMPLE_DICTIONARY: Oid = 3765;
/// The OID of the parser `default`.
pub const DEFAULT_PARSER: Oid = 3722;

/// A dictionary, by its template and options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dictionary {
    /// lower case, without stop words. `accept`: else the token is left to the dictionaries behind
    Simple { accept: bool },
    /// a Snowball stemmer, with the stop words of its language (`stops`)
    Snowball { language: Language, stops: bool },
    /// takes accents away, and leaves the rest to the dictionaries behind
    Unaccent,
}

/// What a dictionary makes of a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lexized {
    Unknown,
    Stop,
    Lexeme(String),
    /// another token for the dictionaries behind
    Changed(String),
}

impl Dictionary {
    /// Errors: 0A000 for languages that are not known here.
    pub fn of(catalog: &Catalog, oid: Oid) -> Result<Dictionary> {
        if let Some(own) = catalog.ts_dictionaries.get(&oid) {
            let option = |name: &str| own.options.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str());
            if own.template == SIMPLE_TEMPLATE {
                let refuses = |value: &str| matches!(value.to_ascii_lowercase().as_str(), "false" | "off" | "0");
                return Ok(Dictionary::Simple { accept: !option("accept").is_some_and(refuses) });
            }
            let language = option("language").and_then(Language::named);
            let language =
                language.ok_or_else(|| PgError::damaged_catalog("a dictionary of text search has no language"))?;
            return Ok(Dictionary::Snowball { language, stops: option("stopwords").is_some() });
        }
        match oid {
            SIMPLE_DICTIONARY => return Ok(Dictionary::Simple { accept: true }),
            UNACCENT_DICTIONARY => return Ok(Dictionary::Unaccent),
            _ => {}
        }
        let name = dictionary_name(oid).ok_or_else(|| {
            PgError::new(SqlState::INTERNAL_ERROR, format!("cache lookup failed for text search dictionary {oid}"))
        })?;
        match name.strip_suffix("_stem").and_then(Language::named) {
            Some(language) => Ok(Dictionary::Snowball { language, stops: true }),
            None => Err(PgError::not_supported(format!("the text search dictionary \"{name}\""))),
        }
    }

    /// What the dictionary makes of a token.
    pub fn lexize(self, token: &str) -> Lexized {
        /// Bytes of a word that is stemmed, at most.
        const LONGEST: usize = 1000;
        match self {
            Dictionary::Simple { accept: true } => Lexized::Lexeme(lower(token)),
            Dictionary::Simple { accept: false } => Lexized::Unknown,
            Dictionary::Unaccent => match unaccented(token) {
                changed if changed == token => Lexized::Unknown,
                changed => Lexized::Changed(changed),
            },
            Dictionary::Snowball { language, stops } => match lower(token) {
                lower if lower.len() > LONGEST => Lexized::Lexeme(lower),
                lower if lower.is_empty() || stops && language.is_stop_word(&lower) => Lexized::Stop,
                lower => Lexized::Lexeme(language.stem(&lower)),
            },
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

/// The dictionaries for each type of token, by its number.
#[derive(Debug, Clone)]
pub struct Configuration(Arc<HashMap<i32, Vec<(Oid, Dictionary)>>>);

impl Configuration {
    /// Errors: 0A000 for languages that are not known here.
    pub fn of(catalog: &Catalog, oid: Oid) -> Result<Configuration> {
        static BUILTIN: OnceLock<Mutex<HashMap<Oid, Configuration>>> = OnceLock::new();
        if let Some(own) = catalog.ts_configurations.get(&oid) {
            return Configuration::new(catalog, &own.mappings);
        }
        let made = BUILTIN.get_or_init(Default::default);
        let mut made = made.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some(found) = made.get(&oid) {
            return Ok(found.clone());
        }
        let list = mappings(oid).ok_or_else(|| {
            PgError::new(SqlState::INTERNAL_ERROR, format!("cache lookup failed for text search configuration {oid}"))
        })?;
        let configuration = Configuration::new(catalog, &list)?;
        made.insert(oid, configuration.clone());
        Ok(configuration)
    }

    fn new(catalog: &Catalog, mappings: &[(i32, Vec<Oid>)]) -> Result<Configuration> {
        let mut lists = HashMap::new();
        for (token, dictionaries) in mappings {
            work::pulse(1);
            let list: Result<Vec<_>> =
                dictionaries.iter().map(|&oid| Ok((oid, Dictionary::of(catalog, oid)?))).collect();
            lists.insert(*token, list?);
        }
        Ok(Configuration(Arc::new(lists)))
    }

    /// The dictionaries for tokens of a type; none: they are not indexed.
    pub fn dictionaries(&self, kind: Kind) -> &[(Oid, Dictionary)] {
        self.0.get(&(kind as i32)).map_or(&[], Vec::as_slice)
    }

    /// What becomes of a token, and which dictionary said so.
    pub fn lexize(&self, kind: Kind, token: &str) -> (Lexized, Option<Oid>) {
        let mut changed: Option<String> = None;
        for (oid, dictionary) in self.dictionaries(kind) {
            work::pulse(1);
            match dictionary.lexize(changed.as_deref().unwrap_or(token)) {
                Lexized::Unknown => {}
                Lexized::Changed(other) => changed = Some(other),
                found => return (found, Some(*oid)),
            }
        }
        (Lexized::Unknown, None)
    }
}
