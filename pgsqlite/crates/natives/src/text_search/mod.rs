//! Full-text search: how documents become lexemes. (The types and what can be asked of them: `pgsqlite_types::tsearch`.)
//!
//! A text is cut into tokens ([`parser`]), and the dictionary that a configuration has for a token's type makes a lexeme of it, or
//! nothing of a stop word ([`dictionary`]). [`document`] makes vectors and queries that way, [`headline`] shows where a query matches.

pub mod dictionary;
pub mod document;
pub mod headline;
pub mod language;
pub mod parser;
pub(crate) mod unaccent;
