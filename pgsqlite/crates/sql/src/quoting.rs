//! Identifiers in double quotes, where they need them.

use crate::builtins::keywords::keywords;

/// An identifier, in double quotes where it would not read back as itself (`quote_ident`).
pub fn quote_identifier(name: &str) -> String {
    let mut chars = name.chars();
    let safe = chars.next().is_some_and(|c| c.is_ascii_lowercase() || c == '_')
        && chars.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    if safe && !is_reserved(name) {
        name.to_string()
    } else {
        quoted(name)
    }
}

/// An identifier in double quotes, as PostgreSQL and SQLite read it, whatever is in it.
pub fn quoted(name: &str) -> String {
    match name.contains('"') {
        true => format!("\"{}\"", name.replace('"', "\"\"")),
        false => ["\"", name, "\""].concat(),
    }
}

/// Whether PostgreSQL reserves the word in some place.
fn is_reserved(word: &str) -> bool {
    static RESERVED: std::sync::OnceLock<std::collections::HashSet<&str>> = std::sync::OnceLock::new();
    let reserved = || keywords().filter(|k| k.category != "U").map(|k| k.word).collect();
    RESERVED.get_or_init(reserved).contains(word)
}

/// The name of a function or type: as [`quote_identifier`], and in double quotes if a later grammar, which reads stored texts, reserves
/// it there (`json`, `json_table`).
pub fn quote_callable(name: &str) -> String {
    let shown = quote_identifier(name);
    if !shown.starts_with('"') && is_keyword(name) {
        return quoted(name);
    }
    shown
}

/// Whether the grammar reserves the word in some place (every keyword but the unreserved ones).
fn is_keyword(word: &str) -> bool {
    use pg_query::protobuf::KeywordKind;
    match pg_query::scan(word) {
        Ok(scanned) => scanned
            .tokens
            .first()
            .is_some_and(|t| !matches!(t.keyword_kind(), KeywordKind::NoKeyword | KeywordKind::UnreservedKeyword)),
        Err(_) => true,
    }
}
