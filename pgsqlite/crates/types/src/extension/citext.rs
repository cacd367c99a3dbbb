//! `citext`: text that compares without regard to case. Stored as TEXT, as it was given; the collation `pg_citext` compares what
//! `lower` makes of two values.

use std::cmp::Ordering;

/// Lower case, character by character: where one letter's lower case is several, the letter stays.
pub fn folded(text: &str) -> impl Iterator<Item = char> + '_ {
    text.chars().map(|c| {
        if c.is_ascii() {
            return c.to_ascii_lowercase();
        }
        let mut lower = c.to_lowercase();
        match (lower.next(), lower.next()) {
            (Some(one), None) => one,
            _ => c,
        }
    })
}

/// The order of two values. (By character is by byte in UTF-8.)
pub fn compare(a: &str, b: &str) -> Ordering {
    folded(a).cmp(folded(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_does_not_count() {
        assert_eq!(compare("Straße", "STRAßE"), Ordering::Equal);
        assert_eq!(compare("ÄB", "äb"), Ordering::Equal);
        assert_eq!(compare("a", "B"), Ordering::Less);
        assert_eq!(compare("aa", "A"), Ordering::Greater);
    }
}
