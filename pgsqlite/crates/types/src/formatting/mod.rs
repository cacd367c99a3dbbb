//! Formatting by template: `to_char`, `to_date`, `to_timestamp(text, text)`, `to_number`. Manual: "Data Type Formatting Functions".
//!
//! A template is cut into nodes ([`time_template`], [`number_template`]), then a writer (`time_out`, `number_out`) walks the
//! nodes with the value, or a reader (`time_in`, `number_in`) walks them with the text. Names of months and days are the
//! English ones: the server's `lc_time` and `lc_numeric` are C.

pub mod number_in;
pub mod number_out;
mod number_template;
pub mod time_in;
pub mod time_out;
mod time_template;

use crate::{PgError, SqlState};

/// Months as the templates spell them, January first.
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// Days of the week as the templates spell them, Sunday first.
const DAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/// Months in Roman numerals from December down: so that reading finds the longest first.
const ROMAN_MONTHS: [&str; 12] = ["XII", "XI", "X", "IX", "VIII", "VII", "VI", "V", "IV", "III", "II", "I"];

/// How a word is to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Case {
    Upper,
    Capital,
    Lower,
}

impl Case {
    fn of(self, word: &str) -> String {
        match self {
            Case::Upper => word.to_ascii_uppercase(),
            Case::Capital => word.to_string(),
            Case::Lower => word.to_ascii_lowercase(),
        }
    }
}

/// The ordinal suffix of a number written in decimal: `st`, `nd`, `rd` or `th`. 22P02 if it ends in no digit.
fn ordinal(number: &[u8]) -> crate::Result<&'static str> {
    let (last, before) = match number {
        [.., b, l] => (*l, *b),
        [l] => (*l, 0),
        [] => (0, 0),
    };
    if !last.is_ascii_digit() {
        let shown = String::from_utf8_lossy(number);
        return Err(PgError::new(SqlState::INVALID_TEXT_REPRESENTATION, format!("\"{shown}\" is not a number")));
    }
    Ok(match (before, last) {
        (b'1', _) => "th",
        (_, b'1') => "st",
        (_, b'2') => "nd",
        (_, b'3') => "rd",
        _ => "th",
    })
}

/// A piece of a template: text to copy, and whether an escape or quotes made it plain text.
enum Plain<'a> {
    /// the characters between double quotes, escapes resolved
    Quoted(Vec<&'a str>),
    /// one character outside quotes
    Character(&'a str),
}

/// Cuts what is no pattern off the front of a template: a quoted stretch or a single character. Gives it and the rest.
fn plain(template: &str) -> (Plain<'_>, &str) {
    let one = |text: &str| text.chars().next().map_or(0, char::len_utf8);
    if let Some(mut rest) = template.strip_prefix('"') {
        let mut characters = Vec::new();
        while !rest.is_empty() {
            crate::work::pulse(1);
            if let Some(after) = rest.strip_prefix('"') {
                rest = after;
                break;
            }
            if rest.len() > 1 {
                rest = rest.strip_prefix('\\').unwrap_or(rest);
            }
            let (character, after) = rest.split_at(one(rest));
            characters.push(character);
            rest = after;
        }
        return (Plain::Quoted(characters), rest);
    }
    // Outside quotes a backslash is special only before a quote.
    let template = if template.starts_with("\\\"") { &template[1..] } else { template };
    let (character, rest) = template.split_at(one(template));
    (Plain::Character(character), rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinals() {
        for (n, suffix) in
            [("1", "st"), ("2", "nd"), ("3", "rd"), ("4", "th"), ("11", "th"), ("21", "st"), ("113", "th")]
        {
            assert_eq!(ordinal(n.as_bytes()).expect("a number"), suffix, "{n}");
        }
        ordinal(b"NaN").expect_err("no number");
    }
}
