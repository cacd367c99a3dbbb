//! What an inverted index (GIN) keeps of a value, and which of its terms a condition needs.
//!
//! A value has *terms* ([`terms`]); a condition has *covers* ([`covers`]): every value that satisfies it has a term of each cover.
//! The rows with a term of one cover are candidates, which the condition itself then looks at: a cover may be too wide, never too narrow.

use crate::array::Array;
use crate::codec::TypeCodec;
use crate::json::{self, Flavor, Json};
use crate::tsearch::tsquery::Node;
use crate::tsearch::{Query, Vector};
use crate::work;
use crate::{Datum, PgError, Result};

/// What the indexed values are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// a tsvector: its lexemes
    Vector,
    /// a jsonb: its keys and its scalars, wherever they stand
    Document,
    /// an array of texts or uuids
    Texts,
    /// an array of integers
    Numbers,
}

impl Kind {
    /// Each with the name by which SQL text says it.
    pub const ALL: [(&'static str, Kind); 4] =
        [("vector", Kind::Vector), ("document", Kind::Document), ("texts", Kind::Texts), ("numbers", Kind::Numbers)];

    /// The name in [`Kind::ALL`].
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|k| k.1 == self).map_or("", |k| k.0)
    }

    /// The kind of a name in [`Kind::ALL`]. Errors: XX000.
    pub fn named(name: &str) -> Result<Kind> {
        let found = Self::ALL.iter().find(|k| k.0 == name).map(|k| k.1);
        found.ok_or_else(|| PgError::internal("an unknown kind of inverted index"))
    }

    fn element(self) -> TypeCodec {
        match self {
            Kind::Numbers => TypeCodec::Int8,
            _ => TypeCodec::Text,
        }
    }
}

/// How a value is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strategy {
    /// `tsvector @@ tsquery`
    Matches,
    /// `@>`
    Contains,
    /// `&&`
    Overlaps,
    /// `jsonb ? text`
    HasKey,
    /// `jsonb ?| text[]`
    HasAnyKey,
    /// `jsonb ?& text[]`
    HasAllKeys,
}

impl Strategy {
    /// Each with the name by which SQL text says it.
    pub const ALL: [(&'static str, Strategy); 6] = [
        ("matches", Strategy::Matches),
        ("contains", Strategy::Contains),
        ("overlaps", Strategy::Overlaps),
        ("key", Strategy::HasKey),
        ("any key", Strategy::HasAnyKey),
        ("all keys", Strategy::HasAllKeys),
    ];

    /// The name in [`Strategy::ALL`].
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|s| s.1 == self).map_or("", |s| s.0)
    }

    /// The strategy of a name in [`Strategy::ALL`]. Errors: XX000.
    pub fn named(name: &str) -> Result<Strategy> {
        let found = Self::ALL.iter().find(|s| s.0 == name).map(|s| s.1);
        found.ok_or_else(|| PgError::internal("an unknown strategy of an inverted index"))
    }
}

/// A value that satisfies the condition has one of these terms.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cover {
    /// these terms themselves
    pub exact: Vec<String>,
    /// terms from the first text on, up to but without the second, in the order of their bytes
    pub ranges: Vec<(String, String)>,
}

impl Cover {
    fn of(terms: Vec<String>) -> Cover {
        Cover { exact: terms, ranges: vec![] }
    }

    /// How much of an index it is likely to read: the fewer terms the better, and long ones are rare.
    fn cost(&self) -> (usize, usize) {
        let shortest = self.exact.iter().map(String::len).min().unwrap_or(0);
        (self.exact.len() + 20 * self.ranges.len(), usize::MAX - shortest)
    }
}

/// More ways to look for the same rows are not weighed against each other.
const MOST_COVERS: usize = 8;

/// The terms of a value in storage form, each once. Errors: those of reading it.
pub fn terms(kind: Kind, stored: &str) -> Result<Vec<String>> {
    let mut out = match kind {
        Kind::Vector => Vector::parse(stored)?.lexemes.into_iter().map(|l| l.text).collect(),
        Kind::Document => {
            let mut out = Vec::new();
            of_document(&json::parse(stored, Flavor::Jsonb)?, &mut out);
            out
        }
        Kind::Texts | Kind::Numbers => elements(kind, stored)?.into_iter().flatten().collect(),
    };
    out.sort_unstable();
    out.dedup();
    Ok(out)
}

/// The elements of an array; None: NULL.
fn elements(kind: Kind, stored: &str) -> Result<Vec<Option<String>>> {
    let malformed = || PgError::corrupted("a stored array is malformed");
    let array = Array::from_storage(stored, &kind.element()).ok_or_else(malformed)?;
    let text = |d: Datum| match d {
        Datum::Null => Ok(None),
        Datum::Text(t) => Ok(Some(t)),
        Datum::Int(i) => Ok(Some(i.to_string())),
        _ => Err(malformed()),
    };
    array.elements.into_iter().map(text).collect()
}

/// Keys and strings look the same: `?` finds both.
fn of_document(value: &Json, out: &mut Vec<String>) {
    match value {
        Json::Null => out.push("0".into()),
        Json::Bool(b) => out.push(format!("b{}", i32::from(*b))),
        Json::Number(n) => out.push(format!("n{}", n.trim_scale())),
        Json::String(s) => out.push(format!("s{s}")),
        Json::Moment(_) => {}
        Json::Array(items) => items.iter().for_each(|item| of_document(item, out)),
        Json::Object(pairs) => {
            for (key, value) in pairs {
                work::pulse(1);
                out.push(format!("s{key}"));
                of_document(value, out);
            }
        }
    }
}

/// What covers a condition whose other side is `asked` (in storage form): each of these does. None: any value might satisfy it.
pub fn covers(kind: Kind, strategy: Strategy, asked: &str) -> Result<Option<Vec<Cover>>> {
    let each = |mut terms: Vec<String>| {
        terms.sort_by_key(|t| std::cmp::Reverse(t.len()));
        terms.truncate(MOST_COVERS);
        let covers: Vec<Cover> = terms.into_iter().map(|t| Cover::of(vec![t])).collect();
        (!covers.is_empty()).then_some(covers)
    };
    let all = |terms: Vec<String>| Some(vec![Cover::of(terms)]);
    Ok(match (kind, strategy) {
        (Kind::Vector, Strategy::Matches) => match Query::parse(asked)?.0 {
            Some(node) => of_query(&node),
            None => all(vec![]),
        },
        (Kind::Document, Strategy::Contains) => each(terms(kind, asked)?),
        (Kind::Document, Strategy::HasKey) => all(vec![format!("s{asked}")]),
        (Kind::Document, Strategy::HasAnyKey) => all(keys(asked)?),
        (Kind::Document, Strategy::HasAllKeys) => each(keys(asked)?),
        (Kind::Texts | Kind::Numbers, Strategy::Contains) => each(terms(kind, asked)?),
        (Kind::Texts | Kind::Numbers, Strategy::Overlaps) => all(terms(kind, asked)?),
        _ => None,
    })
}

/// The terms of the keys in an array of texts.
fn keys(asked: &str) -> Result<Vec<String>> {
    Ok(elements(Kind::Texts, asked)?.into_iter().flatten().map(|k| format!("s{k}")).collect())
}

fn of_query(node: &Node) -> Option<Vec<Cover>> {
    let likely = |covers: Vec<Cover>| covers.into_iter().min_by_key(Cover::cost);
    match node {
        Node::Operand(o) if !o.prefix => Some(vec![Cover::of(vec![o.text.clone()])]),
        Node::Operand(o) => {
            let behind = successor(&o.text)?;
            Some(vec![Cover { exact: vec![], ranges: vec![(o.text.clone(), behind)] }])
        }
        Node::Stop | Node::Not(_) => None,
        Node::And(a, b) | Node::Phrase(a, b, _) => match (of_query(a), of_query(b)) {
            (Some(mut a), Some(b)) => {
                a.extend(b);
                a.sort_by_key(Cover::cost);
                a.truncate(MOST_COVERS);
                Some(a)
            }
            (a, b) => a.or(b),
        },
        Node::Or(a, b) => {
            let (mut a, b) = (likely(of_query(a)?)?, likely(of_query(b)?)?);
            a.exact.extend(b.exact);
            a.ranges.extend(b.ranges);
            Some(vec![a])
        }
    }
}

/// The first text behind all that begin with `prefix`. None: there is none such, or no simple one.
fn successor(prefix: &str) -> Option<String> {
    let last = prefix.chars().next_back()?;
    // (the surrogates between U+D7FF and U+E000 are no characters)
    let next = if last == '\u{d7ff}' { '\u{e000}' } else { char::from_u32(last as u32 + 1)? };
    Some(format!("{}{next}", &prefix[..prefix.len() - last.len_utf8()]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exact(kind: Kind, strategy: Strategy, asked: &str) -> Option<Vec<Vec<String>>> {
        covers(kind, strategy, asked).unwrap().map(|all| all.into_iter().map(|c| c.exact).collect())
    }

    fn lists(lists: &[&[&str]]) -> Option<Vec<Vec<String>>> {
        Some(lists.iter().map(|l| l.iter().map(|t| t.to_string()).collect()).collect())
    }

    #[test]
    fn a_negation_covers_nothing_and_each_side_of_a_conjunction_covers_it() {
        let matches = |q: &str| exact(Kind::Vector, Strategy::Matches, q);
        assert_eq!(matches("'cat'"), lists(&[&["cat"]]));
        assert_eq!(matches("!'cat'"), None);
        assert_eq!(matches("'a' & 'elephant'"), lists(&[&["elephant"], &["a"]]));
        assert_eq!(matches("'a' & !'elephant'"), lists(&[&["a"]]));
        assert_eq!(matches("'a' | !'elephant'"), None);
        assert_eq!(matches("('a' | 'cat') & !'b'"), lists(&[&["a", "cat"]]));
        assert_eq!(matches("'a' <-> 'bc'"), lists(&[&["bc"], &["a"]]));
        assert_eq!(matches(""), lists(&[&[]]));
        let prefix = covers(Kind::Vector, Strategy::Matches, "'ca':*").unwrap().unwrap();
        assert_eq!(prefix[0].ranges, [("ca".to_string(), "cb".to_string())]);
    }

    #[test]
    fn documents_have_keys_and_scalars() {
        assert_eq!(terms(Kind::Document, r#"{"a": [1.50, "x"], "b": null}"#).unwrap(), ["0", "n1.5", "sa", "sb", "sx"]);
        assert_eq!(exact(Kind::Document, Strategy::Contains, "{}"), None);
        assert_eq!(exact(Kind::Document, Strategy::Contains, r#"{"k": "long"}"#), lists(&[&["slong"], &["sk"]]));
        assert_eq!(exact(Kind::Document, Strategy::HasKey, "a"), lists(&[&["sa"]]));
    }

    #[test]
    fn the_last_character_has_no_successor() {
        assert_eq!(successor("a\u{10ffff}"), None);
        assert_eq!(successor("az").as_deref(), Some("a{"));
    }
}
