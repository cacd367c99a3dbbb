//! The order of `jsonb` values: Object > Array > Boolean > Number > String > Null; objects by number of pairs, then
//! key, value, key, value …; arrays by length, then element by element.

use super::{parse, Flavor, Json};
use std::cmp::Ordering;

fn rank(v: &Json) -> u8 {
    match v {
        Json::Null => 0,
        Json::String(_) | Json::Moment(_) => 1,
        Json::Number(_) => 2,
        Json::Bool(_) => 3,
        Json::Array(_) => 4,
        Json::Object(_) => 5,
    }
}

/// Compares two values.
pub fn compare(a: &Json, b: &Json) -> Ordering {
    compare_at(a, b, true)
}

fn compare_at(a: &Json, b: &Json, top: bool) -> Ordering {
    match (a, b) {
        (Json::Null, Json::Null) => Ordering::Equal,
        (Json::Bool(x), Json::Bool(y)) => x.cmp(y),
        (Json::Number(x), Json::Number(y)) => x.cmp(y),
        (Json::String(x), Json::String(y)) => x.as_bytes().cmp(y.as_bytes()),
        (Json::Moment(x), Json::Moment(y)) => x.to_text().cmp(&y.to_text()),
        (Json::Array(x), Json::Array(y)) => x.len().cmp(&y.len()).then_with(|| {
            x.iter().zip(y).map(|(p, q)| compare_at(p, q, false)).find(|o| o.is_ne()).unwrap_or(Ordering::Equal)
        }),
        (Json::Object(x), Json::Object(y)) => x.len().cmp(&y.len()).then_with(|| {
            x.iter()
                .zip(y)
                .map(|(p, q)| p.0.as_bytes().cmp(q.0.as_bytes()).then_with(|| compare_at(&p.1, &q.1, false)))
                .find(|o| o.is_ne())
                .unwrap_or(Ordering::Equal)
        }),
        // PostgreSQL keeps a scalar at the top in an array of its own, and an empty array sorts below it: an accident
        // that its documentation keeps.
        (Json::Array(x), scalar) if top && x.is_empty() && rank(scalar) < 4 => Ordering::Less,
        (scalar, Json::Array(y)) if top && y.is_empty() && rank(scalar) < 4 => Ordering::Greater,
        _ => rank(a).cmp(&rank(b)),
    }
}

/// Compares two stored texts; what is no JSON (a foreign file) sorts after everything, by bytes.
pub fn compare_text(a: &str, b: &str) -> Ordering {
    if a == b {
        return Ordering::Equal;
    }
    match (parse(a, Flavor::Jsonb), parse(b, Flavor::Jsonb)) {
        (Ok(x), Ok(y)) => compare(&x, &y),
        (Ok(_), Err(_)) => Ordering::Less,
        (Err(_), Ok(_)) => Ordering::Greater,
        (Err(_), Err(_)) => a.cmp(b),
    }
}
