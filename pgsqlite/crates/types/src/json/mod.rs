//! JSON values with exact numbers: `json` keeps its text, `jsonb` its canonical form; both stored as TEXT.
//!
//! Files: `parse` reads with PostgreSQL's errors, `write` prints jsonb's canonical text and the compact text of stored
//! arrays, `order` compares as `jsonb`'s operators do, `io` is the codec.

pub(crate) mod io;
pub mod moment;
mod order;
mod parse;
pub(crate) mod print;

pub use order::{compare, compare_text};
pub use parse::{parse, validate, Flavor};
pub use print::write_string;

use crate::numeric::Numeric;
use crate::work;
use moment::Moment;

/// A JSON value as `jsonb` holds it.
#[derive(Debug, Clone)]
pub enum Json {
    Null,
    Bool(bool),
    Number(Numeric),
    String(String),
    Array(Vec<Json>),
    /// Keys unique, ordered by length in bytes, then by bytes.
    Object(Vec<(String, Json)>),
    /// a date or a time inside of a path expression; a string elsewhere
    Moment(Moment),
}

impl Json {
    /// An object of pairs in any order; of equal keys the last one counts.
    pub fn object(pairs: Vec<(String, Json)>) -> Json {
        let mut pairs = pairs;
        // Stable, so that equal keys stay in the order they came in.
        pairs.sort_by(|a, b| {
            crate::work::pulse(1 + a.0.len() / 32);
            key_order(&a.0, &b.0)
        });
        let mut unique: Vec<(String, Json)> = Vec::with_capacity(pairs.len());
        for pair in pairs {
            work::pulse(1);
            match unique.last_mut() {
                Some(last) if last.0 == pair.0 => last.1 = pair.1,
                _ => unique.push(pair),
            }
        }
        Json::Object(unique)
    }

    /// The value of a key; None if this is no object or has no such key.
    pub fn get(&self, key: &str) -> Option<&Json> {
        match self {
            Json::Object(pairs) => pairs.binary_search_by(|(k, _)| key_order(k, key)).ok().map(|i| &pairs[i].1),
            _ => None,
        }
    }

    /// The canonical text (that of `jsonb`).
    pub fn to_text(&self) -> String {
        let mut out = Vec::new();
        print::write(self, &mut out);
        String::from_utf8(out).expect("JSON of valid strings is valid UTF-8")
    }

    /// `object`, `array`, `string`, `number`, `boolean`, `null`: what `jsonb_typeof` gives.
    pub fn type_name(&self) -> &'static str {
        match self {
            Json::Null => "null",
            Json::Bool(_) => "boolean",
            Json::Number(_) => "number",
            Json::String(_) => "string",
            Json::Array(_) => "array",
            Json::Object(_) => "object",
            Json::Moment(moment) => moment.type_name(),
        }
    }
}

/// The order of keys in an object.
pub(crate) fn key_order(a: &str, b: &str) -> std::cmp::Ordering {
    a.len().cmp(&b.len()).then_with(|| a.as_bytes().cmp(b.as_bytes()))
}

/// Equality of `jsonb`: numbers by value.
impl PartialEq for Json {
    fn eq(&self, other: &Self) -> bool {
        compare(self, other).is_eq()
    }
}
