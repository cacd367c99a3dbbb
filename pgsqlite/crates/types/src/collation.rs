//! Collations of languages: the order of texts that ICU gives a locale.
//!
//! A locale is written as PostgreSQL's `colliculocale`: a language tag (`de`, `und-u-ks-level1`), or ICU's older form with
//! keywords (`@colStrength=secondary`). What of it has no counterpart in the library used here is refused, never left out.

use crate::work;
use crate::{PgError, Result};
use icu_collator::options::{AlternateHandling, CaseLevel, CollatorOptions, MaxVariable, Strength};
use icu_collator::preferences::{CollationCaseFirst, CollationNumericOrdering};
use icu_collator::{CollatorBorrowed, CollatorPreferences};
use icu_locale_core::Locale;
use std::cmp::Ordering;

/// An opened collation.
pub struct Collation {
    collator: CollatorBorrowed<'static>,
    /// texts that the language does not tell apart are told apart by their bytes
    deterministic: bool,
}

impl Collation {
    pub fn compare(&self, a: &str, b: &str) -> Ordering {
        if a == b {
            return Ordering::Equal;
        }
        let order = self.collator.compare(a, b);
        if order == Ordering::Equal && self.deterministic {
            return a.cmp(b);
        }
        order
    }
}

fn refused(locale: &str, what: &str) -> PgError {
    PgError::not_supported(format!("{what} of the ICU locale \"{locale}\""))
}

/// ICU's older form of keywords as those of language tags.
fn keyword(name: &str) -> Option<&'static str> {
    Some(match name.to_ascii_lowercase().as_str() {
        "colstrength" => "ks",
        "colcaselevel" => "kc",
        "colcasefirst" => "kf",
        "colalternate" => "ka",
        "colnumeric" => "kn",
        "colbackwards" => "kb",
        "colnormalization" => "kk",
        "colreorder" => "kr",
        "collation" => "co",
        _ => return None,
    })
}

fn keyword_value(key: &str, value: &str) -> String {
    let value = value.to_ascii_lowercase();
    match (key, value.as_str()) {
        ("ks", "primary") => "level1",
        ("ks", "secondary") => "level2",
        ("ks", "tertiary") => "level3",
        ("ks", "quaternary") => "level4",
        ("ks", "identical") => "identic",
        ("ka", "non-ignorable") => "noignore",
        ("kf", "no") => "false",
        ("co", "phonebook") => "phonebk",
        ("co", "traditional") => "trad",
        ("co", "dictionary") => "dict",
        (_, "yes") => "true",
        (_, "no") => "false",
        _ => return value,
    }
    .to_string()
}

/// The language tag without its keywords, and the keywords.
fn parts(locale: &str) -> Result<(String, Vec<(String, String)>)> {
    if let Some((tag, keywords)) = locale.split_once('@') {
        let mut out = Vec::new();
        for pair in keywords.split(';').filter(|p| !p.is_empty()) {
            work::pulse(1);
            let (name, value) = pair.split_once('=').ok_or_else(|| refused(locale, "the keywords"))?;
            let key = keyword(name).ok_or_else(|| refused(locale, &format!("keyword {name}")))?;
            out.push((key.to_string(), keyword_value(key, value)));
        }
        return Ok((tag.replace('_', "-"), out));
    }
    let lower = locale.replace('_', "-");
    let (tag, extension) = match lower.find("-u-") {
        Some(at) => (&lower[..at], &lower[at + 3..]),
        None => (lower.as_str(), ""),
    };
    let mut out: Vec<(String, String)> = Vec::new();
    for part in extension.split('-').filter(|p| !p.is_empty()) {
        work::pulse(1);
        match (part.len(), out.last_mut()) {
            (1, _) => return Err(refused(locale, "an extension")),
            (2, _) => out.push((part.to_ascii_lowercase(), String::new())),
            (_, None) => return Err(refused(locale, "an attribute")),
            (_, Some((_, value))) => {
                if !value.is_empty() {
                    value.push('-');
                }
                value.push_str(&part.to_ascii_lowercase());
            }
        }
    }
    Ok((tag.to_string(), out))
}

/// Opens a collation by its locale. Errors: 0A000 for what is not known here.
pub fn open(locale: &str, deterministic: bool) -> Result<Collation> {
    let (tag, keywords) = parts(locale)?;
    let tag = if tag.is_empty() { "und" } else { &tag };
    let mut parsed: Locale = tag.parse().map_err(|_| refused(locale, "the language tag"))?;
    let mut options = CollatorOptions::default();
    let (mut case_first, mut numeric) = (None, None);
    for (key, value) in &keywords {
        work::pulse(1);
        let unknown = || refused(locale, &format!("keyword {key}"));
        match (key.as_str(), value.as_str()) {
            ("ks", "level1") => options.strength = Some(Strength::Primary),
            ("ks", "level2") => options.strength = Some(Strength::Secondary),
            ("ks", "level3") => options.strength = Some(Strength::Tertiary),
            ("ks", "level4") => options.strength = Some(Strength::Quaternary),
            ("ks", "identic") => options.strength = Some(Strength::Identical),
            ("ka", "shifted") => options.alternate_handling = Some(AlternateHandling::Shifted),
            ("ka", "noignore") => options.alternate_handling = Some(AlternateHandling::NonIgnorable),
            ("kv", "space") => options.max_variable = Some(MaxVariable::Space),
            ("kv", "punct") => options.max_variable = Some(MaxVariable::Punctuation),
            ("kv", "symbol") => options.max_variable = Some(MaxVariable::Symbol),
            ("kv", "currency") => options.max_variable = Some(MaxVariable::Currency),
            ("kc", "" | "true") => options.case_level = Some(CaseLevel::On),
            ("kc", "false") => options.case_level = Some(CaseLevel::Off),
            ("kf", "upper") => case_first = Some(CollationCaseFirst::Upper),
            ("kf", "lower") => case_first = Some(CollationCaseFirst::Lower),
            ("kf", "false") => case_first = Some(CollationCaseFirst::False),
            ("kn", "" | "true") => numeric = Some(CollationNumericOrdering::True),
            ("kn", "false") => numeric = Some(CollationNumericOrdering::False),
            // comparing here always normalizes
            ("kk", "" | "true") => {}
            ("kb", "false") => {}
            ("co", _) => {
                let with = format!("{tag}-u-co-{value}");
                parsed = with.parse().map_err(|_| unknown())?;
            }
            _ => return Err(unknown()),
        }
    }
    let mut preferences = CollatorPreferences::from(&parsed);
    preferences.case_first = case_first.or(preferences.case_first);
    preferences.numeric_ordering = numeric.or(preferences.numeric_ordering);
    let collator = CollatorBorrowed::try_new(preferences, options).map_err(|_| refused(locale, "the order"))?;
    Ok(Collation { collator, deterministic })
}

/// The name under which SQLite knows the order of a locale.
pub fn sqlite_name(locale: &str, deterministic: bool) -> String {
    format!("{}{locale}", if deterministic { DETERMINISTIC } else { NONDETERMINISTIC })
}

const DETERMINISTIC: &str = "pg_icu:";
const NONDETERMINISTIC: &str = "pg_icu_nd:";

/// The collation behind a name of SQLite's; None: it is no such name.
pub fn by_sqlite_name(name: &str) -> Option<Result<Collation>> {
    if let Some(locale) = name.strip_prefix(DETERMINISTIC) {
        return Some(open(locale, true));
    }
    name.strip_prefix(NONDETERMINISTIC).map(|locale| open(locale, false))
}

/// Lower case by the rules of a locale.
pub fn lower(text: &str, locale: &str) -> String {
    if is_turkic(locale) {
        let prepared = text.replace("I\u{307}", "i").replace('İ', "i").replace('I', "ı");
        return prepared.to_lowercase();
    }
    text.to_lowercase()
}

/// Upper case by the rules of a locale.
pub fn upper(text: &str, locale: &str) -> String {
    if is_turkic(locale) {
        return text.replace('i', "İ").to_uppercase();
    }
    text.to_uppercase()
}

fn is_turkic(locale: &str) -> bool {
    matches!(language(locale), "tr" | "az")
}

/// The language of a locale; empty: none.
pub fn language(locale: &str) -> &str {
    locale.split(['-', '_', '@']).next().unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(locale: &str, a: &str, b: &str) -> Ordering {
        open(locale, true).expect("a locale").compare(a, b)
    }

    #[test]
    fn languages_have_their_order() {
        assert_eq!(order("en", "a", "B"), Ordering::Less);
        assert_eq!(order("en", "a", "A"), Ordering::Less);
        assert_eq!(order("de", "ä", "b"), Ordering::Less);
        assert_eq!(order("sv", "ä", "z"), Ordering::Greater);
        assert_eq!(order("und-u-kf-upper", "a", "A"), Ordering::Greater);
        assert_eq!(order("@colNumeric=yes", "a10", "a9"), Ordering::Greater);
        assert_eq!(order("de-u-co-phonebk", "ä", "af"), Ordering::Less);
    }

    #[test]
    fn what_is_not_deterministic_takes_texts_for_equal() {
        let ignoring = open("@colStrength=secondary", false).expect("a locale");
        assert_eq!(ignoring.compare("a", "A"), Ordering::Equal);
        assert_eq!(order("@colStrength=secondary", "a", "A"), Ordering::Greater);
        assert!(open("und-u-kr-latn", true).is_err());
    }
}
