//! Which settings may have another value than PostgreSQL's default: those that a row of `accepted_settings.tsv` says work, or cannot change
//! an answer. Any other is refused with its name: a setting that is accepted and ignored would be a promise that is not kept.

use super::Definition;
use pgsqlite_types::{PgError, Result};
use std::collections::HashMap;
use std::sync::OnceLock;

/// The effect of a setting on this server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// It does what PostgreSQL's does.
    Works,
    /// No answer depends on it. Most of these have nothing to act on here; some bound times or memory.
    Neutral,
}

/// The rows of the table, by lower-case name.
fn effects() -> &'static HashMap<String, Effect> {
    static TABLE: OnceLock<HashMap<String, Effect>> = OnceLock::new();
    TABLE.get_or_init(|| {
        include_str!("accepted_settings.tsv")
            .lines()
            .skip(1)
            .filter_map(|line| {
                let mut fields = line.split('\t');
                let (name, effect) = (fields.next()?, fields.next()?);
                let effect = if effect == "works" { Effect::Works } else { Effect::Neutral };
                Some((name.to_ascii_lowercase(), effect))
            })
            .collect()
    })
}

/// What the table says of a setting; None: it has no row.
pub fn effect(name: &str) -> Option<Effect> {
    effects().get(&name.to_ascii_lowercase()).copied()
}

/// Whether a setting of a function's SET clause holds while the function runs: those that natives and the analyzer ask, and those that
/// change no answer.
pub fn holds_in_function(name: &str) -> bool {
    const ASKED: [&str; 12] = [
        "array_nulls",
        "bytea_output",
        "datestyle",
        "default_text_search_config",
        "extra_float_digits",
        "intervalstyle",
        "lock_timeout",
        "row_security",
        "search_path",
        "statement_timeout",
        "timezone",
        "transform_null_equals",
    ];
    name.contains('.') || ASKED.contains(&name) || effect(name) == Some(Effect::Neutral)
}

/// Settings of extensions that are part of the server, as PostgreSQL has them once the extension is loaded: which of each work.
const OF_EXTENSIONS: &[(&str, &[&str])] = &[
    ("auto_explain.", &["log_min_duration"]),
    ("pg_stat_statements.", &[]),
    ("pg_trgm.", &["similarity_threshold", "word_similarity_threshold", "strict_word_similarity_threshold"]),
];

/// Whether a name of several parts may get a value: any, but those of an extension that the server has and that do not work. Errors: 0A000.
pub fn check_custom(key: &str) -> Result<()> {
    for (prefix, works) in OF_EXTENSIONS {
        if key.strip_prefix(prefix).is_some_and(|rest| !works.contains(&rest)) {
            return Err(PgError::not_supported(format!("setting \"{key}\"")));
        }
    }
    Ok(())
}

/// Whether a setting may have this (canonical) value. Errors: 0A000.
pub fn check(definition: &Definition, default: &str, value: &str) -> Result<()> {
    if value == default || effect(definition.name).is_some() {
        return Ok(());
    }
    Err(PgError::not_supported(format!("setting \"{}\" to \"{value}\"", definition.name)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::rights::Permit;
    use crate::settings::{definitions, Gucs};

    #[test]
    fn rows_are_of_settings_that_can_be_set() {
        for name in effects().keys() {
            let definition = definitions().get(name).unwrap_or_else(|| panic!("there is no setting {name}"));
            assert!(!matches!(definition.context, "internal" | "postmaster" | "sighup"), "{name} cannot be set");
        }
        for line in include_str!("accepted_settings.tsv").lines().skip(1) {
            let fields: Vec<&str> = line.split('\t').collect();
            assert!(fields.len() == 3 && matches!(fields[1], "works" | "neutral") && !fields[2].is_empty(), "{line}");
        }
    }

    #[test]
    fn settings_of_extensions_work_or_are_refused() {
        let set = |name: &str| Gucs::new("postgres", 10).set(name, Some("1"), Permit::put_back());
        for refused in ["auto_explain.log_analyze", "pg_stat_statements.track", "PG_TRGM.nosuch"] {
            assert_eq!(set(refused).expect_err(refused).code(), pgsqlite_types::SqlState::FEATURE_NOT_SUPPORTED);
        }
        for taken in ["auto_explain.log_min_duration", "pg_trgm.similarity_threshold", "my.own", "auto_explainer.x"] {
            set(taken).unwrap_or_else(|e| panic!("{taken}: {}", e.message()));
        }
    }

    /// A value that is not the default; None: the setting has only one, or its values are no simple matter.
    fn another(definition: &Definition) -> Option<String> {
        match definition.vartype {
            "bool" => Some(if definition.default == "on" { "off" } else { "on" }.to_string()),
            "enum" => definition.values.iter().find(|v| **v != definition.default).map(|v| v.to_string()),
            "integer" | "real" => {
                let (min, max, now) = (definition.min?, definition.max?, definition.default.parse::<f64>().ok()?);
                match now + 1.0 <= max {
                    true => Some((now + 1.0).to_string()),
                    false => (min < now).then(|| min.to_string()),
                }
            }
            _ => Some("other".to_string()),
        }
    }

    #[test]
    fn what_has_no_row_keeps_its_default() {
        let mut refused = Vec::new();
        for (name, definition) in definitions() {
            let settable = !matches!(definition.context, "internal" | "postmaster" | "sighup");
            let Some(value) = another(definition).filter(|_| settable && effect(name).is_none()) else { continue };
            let mut gucs = Gucs::new("postgres", 10);
            let error = gucs.set(name, Some(&value), Permit::put_back()).expect_err(name);
            assert_eq!(error.code(), pgsqlite_types::SqlState::FEATURE_NOT_SUPPORTED, "{name}: {}", error.message());
            assert!(error.message().contains(definition.name), "{name}: {}", error.message());
            gucs.set(name, None, Permit::put_back()).unwrap_or_else(|e| panic!("RESET {name}: {}", e.message()));
            refused.push(name);
        }
        assert!(refused.len() > 20, "{refused:?}");
    }
}
