//! Texts without accents, as the dictionary `unaccent` makes them.

use pgsqlite_types::work;
use std::collections::HashMap;
use std::sync::OnceLock;

/// What stands for a text, and the length of the longest one in characters.
fn rules() -> &'static (HashMap<&'static str, &'static str>, usize) {
    static RULES: OnceLock<(HashMap<&'static str, &'static str>, usize)> = OnceLock::new();
    RULES.get_or_init(|| {
        let mut rules = HashMap::new();
        let mut longest = 1;
        for line in include_str!("unaccent.rules").lines() {
            work::visit();
            let mut words = line.split_whitespace();
            let Some(from) = words.next() else { continue };
            longest = longest.max(from.chars().count());
            // of two rules for the same text the first counts
            rules.entry(from).or_insert(words.next().unwrap_or(""));
        }
        (rules, longest)
    })
}

/// A text without accents.
pub(crate) fn unaccented(text: &str) -> String {
    let (rules, longest) = rules();
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        work::visit();
        let ends = rest.char_indices().map(|(at, c)| at + c.len_utf8()).take(*longest).collect::<Vec<_>>();
        let found = ends.iter().rev().find_map(|end| rules.get(&rest[..*end]).map(|to| (*end, *to)));
        match found {
            Some((end, to)) => {
                out.push_str(to);
                rest = &rest[end..];
            }
            None => {
                out.push(first);
                rest = &rest[first.len_utf8()..];
            }
        }
    }
    out
}
