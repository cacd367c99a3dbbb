//! The languages of Snowball's stemmers, and their stop words.

use rust_stemmers::{Algorithm, Stemmer};
use std::collections::HashSet;
use std::sync::OnceLock;

/// A language with a stemmer. What PostgreSQL has besides (Armenian, Basque …) has none here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Language(&'static Entry);

#[derive(Debug)]
struct Entry {
    /// as in the names of configurations and dictionaries
    name: &'static str,
    algorithm: Algorithm,
    /// by which the lists of stop words are known; empty: PostgreSQL has none
    code: &'static str,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Entry) -> bool {
        self.name == other.name
    }
}
impl Eq for Entry {}

const fn entry(name: &'static str, algorithm: Algorithm, code: &'static str) -> Entry {
    Entry { name, algorithm, code }
}

static LANGUAGES: [Entry; 18] = [
    entry("arabic", Algorithm::Arabic, ""),
    entry("danish", Algorithm::Danish, "da"),
    entry("dutch", Algorithm::Dutch, "nl"),
    entry("english", Algorithm::English, "en"),
    entry("finnish", Algorithm::Finnish, "fi"),
    entry("french", Algorithm::French, "fr"),
    entry("german", Algorithm::German, "de"),
    entry("greek", Algorithm::Greek, ""),
    entry("hungarian", Algorithm::Hungarian, "hu"),
    entry("italian", Algorithm::Italian, "it"),
    entry("norwegian", Algorithm::Norwegian, "no"),
    entry("portuguese", Algorithm::Portuguese, "pt"),
    entry("romanian", Algorithm::Romanian, ""),
    entry("russian", Algorithm::Russian, "ru"),
    entry("spanish", Algorithm::Spanish, "es"),
    entry("swedish", Algorithm::Swedish, "sv"),
    entry("tamil", Algorithm::Tamil, ""),
    entry("turkish", Algorithm::Turkish, "tr"),
];

/// Where PostgreSQL's lists differ from those of the library: what they have not, and what they have besides.
fn differences(code: &str) -> (&'static [&'static str], &'static [&'static str]) {
    match code {
        "fr" => (&["ils", "les"], &[]),
        "de" => (&["dass", "unsere", "unserem", "unseren", "unseres"], &["unse", "unsem", "unsen", "unses"]),
        "pt" => (&["estar", "haver", "ser", "é"], &[]),
        "es" => (&["vosotras", "vosotros"], &["vosostras", "vosostros"]),
        _ => (&[], &[]),
    }
}

impl Language {
    /// The language of a name; None: there is no stemmer for it here.
    pub fn named(name: &str) -> Option<Language> {
        LANGUAGES.iter().find(|l| l.name == name).map(Language)
    }

    /// The stem of a word in lower case.
    pub fn stem(self, word: &str) -> String {
        Stemmer::create(self.0.algorithm).stem(word).into_owned()
    }

    /// Whether PostgreSQL's list for the language has the word, which is in lower case.
    pub fn is_stop_word(self, word: &str) -> bool {
        static LISTS: OnceLock<Vec<(&'static str, HashSet<String>)>> = OnceLock::new();
        let lists =
            LISTS.get_or_init(|| LANGUAGES.iter().map(|language| (language.name, stop_words(language.code))).collect());
        lists.iter().any(|(name, words)| *name == self.0.name && words.contains(word))
    }
}

fn stop_words(code: &str) -> HashSet<String> {
    match code {
        "" => HashSet::new(),
        // (the library's list has many more)
        "en" => include_str!("english_stop.txt").split_whitespace().map(String::from).collect(),
        _ => {
            let (without, with) = differences(code);
            let words = stop_words::get(code).iter().filter(|w| !without.contains(w)).map(|w| match code {
                // the library's list was once written in an encoding that has no ő
                "hu" => w.replace('õ', "ő"),
                _ => w.to_string(),
            });
            words.chain(with.iter().map(|w| w.to_string())).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `ts_lexize` of PostgreSQL said.
    #[test]
    fn stems_are_those_of_postgresql() {
        for (language, word, stem) in [
            ("german", "häuser", "haus"),
            ("french", "continuellement", "continuel"),
            ("russian", "важнейшими", "важн"),
            ("spanish", "cheques", "chequ"),
            ("swedish", "jaktkarlarne", "jaktkarl"),
        ] {
            assert_eq!(Language::named(language).expect("a language").stem(word), stem);
        }
    }

    #[test]
    fn lists_are_as_long_as_those_of_postgresql() {
        for (language, count) in [
            ("danish", 94),
            ("dutch", 101),
            ("english", 127),
            ("finnish", 229),
            ("french", 155),
            ("german", 231),
            ("hungarian", 198),
            ("italian", 279),
            ("norwegian", 172),
            ("portuguese", 203),
            ("russian", 151),
            ("spanish", 313),
            ("swedish", 114),
            ("turkish", 53),
            ("greek", 0),
        ] {
            let entry = LANGUAGES.iter().find(|l| l.name == language).expect("a language");
            assert_eq!(stop_words(entry.code).len(), count, "{language}");
        }
    }
}
