//! pg_trgm: how similar texts are, by the trigrams of their words.

use super::shim::{Call, Scalar};
use pgsqlite_types::array::Array;
use pgsqlite_types::tsearch::tsquery::checksum;
use pgsqlite_types::work;
use pgsqlite_types::{Datum, PgError, Result, SqlState};

/// Three characters; where they are more than three bytes, three bytes of their checksum.
type Trigram = [i8; 3];

/// A trigram of a text in the order of the text: whether a word begins or ends with it.
struct Placed {
    trigram: Trigram,
    begins: bool,
    ends: bool,
}

/// The trigrams of all words: a word has two blanks before it and one behind.
fn placed(text: &str) -> Vec<Placed> {
    let mut out = Vec::new();
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()) {
        work::pulse(1);
        let padded: Vec<char> = "  ".chars().chain(word.chars().flat_map(char::to_lowercase)).chain([' ']).collect();
        let last = padded.len() - 3;
        for (i, three) in padded.windows(3).enumerate() {
            work::pulse(1);
            out.push(Placed { trigram: trigram(three), begins: i == 0, ends: i == last });
        }
    }
    out
}

fn trigram(three: &[char]) -> Trigram {
    let text: String = three.iter().collect();
    match text.as_bytes() {
        &[a, b, c] => [a as i8, b as i8, c as i8],
        _ => {
            let [a, b, c, _] = checksum(&text).to_le_bytes();
            [a as i8, b as i8, c as i8]
        }
    }
}

/// The trigrams of a text, each once, in pg_trgm's order.
fn set(text: &str) -> Vec<Trigram> {
    let mut all: Vec<Trigram> = placed(text).into_iter().map(|p| p.trigram).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// The share of what is common in all.
fn share(common: usize, a: usize, b: usize) -> f32 {
    common as f32 / (a + b - common) as f32
}

fn similarity_of(a: &str, b: &str) -> f32 {
    let (a, b) = (set(a), set(b));
    if a.is_empty() || b.is_empty() {
        return 0.0;
    }
    let common = a.iter().filter(|t| b.binary_search(t).is_ok()).count();
    share(common, a.len(), b.len())
}

/// The greatest similarity between the trigrams of `words` and those of a stretch of `text`; `strict`: a stretch of whole words.
fn word_similarity_of(words: &str, text: &str, strict: bool) -> f32 {
    let wanted = set(words);
    let places = placed(text);
    let mut kinds: Vec<Trigram> = places.iter().map(|p| p.trigram).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let kind: Vec<usize> = places.iter().map(|p| kinds.binary_search(&p.trigram).unwrap_or(0)).collect();
    let found: Vec<bool> = kinds.iter().map(|t| wanted.binary_search(t).is_ok()).collect();
    // where each kind was seen last in the stretch
    let mut last: Vec<Option<usize>> = vec![None; kinds.len()];
    let (mut best, mut count, mut size) = (0f32, 0usize, 0usize);
    let mut lower = if strict { Some(0) } else { None };
    for (i, place) in places.iter().enumerate() {
        work::pulse(1);
        let own = kind[i];
        if lower.is_some() || found[own] {
            if last[own].is_none() {
                size += 1;
                count += usize::from(found[own]);
            }
            last[own] = Some(i);
        }
        let can_end = if strict { place.ends } else { found[own] };
        if !can_end {
            continue;
        }
        let before = match lower {
            Some(lower) => lower,
            None => {
                size = 1;
                i
            }
        };
        let mut begin = before;
        let mut current = share(count, wanted.len(), size);
        let (mut less_count, mut less_size) = (count, size);
        for at in before..=i {
            work::pulse(1);
            if !strict || places[at].begins {
                let shorter = share(less_count, wanted.len(), less_size);
                if shorter > current {
                    (current, size, begin, count) = (shorter, less_size, at, less_count);
                }
            }
            let own = kind[at];
            if last[own] == Some(at) {
                less_size -= 1;
                less_count -= usize::from(found[own]);
            }
        }
        best = best.max(current);
        for at in before..begin {
            work::pulse(1);
            if last[kind[at]] == Some(at) {
                last[kind[at]] = None;
            }
        }
        lower = Some(begin);
    }
    best
}

fn real(value: f32) -> Result<Datum> {
    Ok(Datum::Real(f64::from(value)))
}

/// A threshold, as the setting says it.
fn threshold(c: &Call, name: &str, default: f64) -> Result<f64> {
    let variables = c.session.state().variables.clone().ok_or_else(|| PgError::internal("no session"))?;
    Ok(variables.get(&format!("pg_trgm.{name}")).and_then(|v| v.parse().ok()).unwrap_or(default))
}

const SIMILARITY: (&str, f64) = ("similarity_threshold", 0.3);
const WORD: (&str, f64) = ("word_similarity_threshold", 0.6);
const STRICT_WORD: (&str, f64) = ("strict_word_similarity_threshold", 0.5);

fn reaches(c: &Call, similarity: f32, (name, default): (&str, f64)) -> Result<Datum> {
    Ok((f64::from(similarity) >= f64::from(threshold(c, name, default)? as f32)).into())
}

fn similarity(c: &Call) -> Result<f32> {
    Ok(similarity_of(c.text(0)?, c.text(1)?))
}

/// `swapped`: the text comes first, then the words.
fn word(c: &Call, strict: bool, swapped: bool) -> Result<f32> {
    let (words, text) = if swapped { (c.text(1)?, c.text(0)?) } else { (c.text(0)?, c.text(1)?) };
    Ok(word_similarity_of(words, text, strict))
}

fn show(c: &Call) -> Result<Datum> {
    let printable = |b: &i8| (*b as u8).is_ascii_alphanumeric() || *b as u8 == b' ';
    let shown = |t: Trigram| {
        let bytes = t.map(|b| b as u8);
        Datum::Text(match t.iter().all(printable) {
            true => bytes.map(char::from).iter().collect(),
            false => format!("0x{:02x}{:02x}{:02x}", bytes[0], bytes[1], bytes[2]),
        })
    };
    Ok(Array::from_elements(set(c.text(0)?).into_iter().map(shown).collect()).to_datum())
}

fn show_limit(c: &Call) -> Result<Datum> {
    real(threshold(c, SIMILARITY.0, SIMILARITY.1)? as f32)
}

fn set_limit(c: &Call) -> Result<Datum> {
    let limit = c.float(0)?;
    if !(0.0..=1.0).contains(&limit) {
        return Err(PgError::new(
            SqlState::INVALID_PARAMETER_VALUE,
            format!("{limit} is outside the valid range for parameter \"pg_trgm.similarity_threshold\" (0 .. 1)"),
        ));
    }
    let variables = c.session.state().variables.clone().ok_or_else(|| PgError::internal("no session"))?;
    variables.set(
        "pg_trgm.similarity_threshold",
        Some(&(limit as f32).to_string()),
        false,
        &c.session.state().claimant(),
    )?;
    real(limit as f32)
}

pub(crate) const FUNCTIONS: &[(&str, Scalar)] = &[
    ("similarity", |c| real(similarity(c)?)),
    ("similarity_dist", |c| real(1.0 - similarity(c)?)),
    ("similarity_op", |c| reaches(c, similarity(c)?, SIMILARITY)),
    ("word_similarity", |c| real(word(c, false, false)?)),
    ("strict_word_similarity", |c| real(word(c, true, false)?)),
    ("word_similarity_op", |c| reaches(c, word(c, false, false)?, WORD)),
    ("word_similarity_commutator_op", |c| reaches(c, word(c, false, true)?, WORD)),
    ("strict_word_similarity_op", |c| reaches(c, word(c, true, false)?, STRICT_WORD)),
    ("strict_word_similarity_commutator_op", |c| reaches(c, word(c, true, true)?, STRICT_WORD)),
    ("word_similarity_dist_op", |c| real(1.0 - word(c, false, false)?)),
    ("word_similarity_dist_commutator_op", |c| real(1.0 - word(c, false, true)?)),
    ("strict_word_similarity_dist_op", |c| real(1.0 - word(c, true, false)?)),
    ("strict_word_similarity_dist_commutator_op", |c| real(1.0 - word(c, true, true)?)),
    ("show_trgm", show),
    ("show_limit", show_limit),
    ("set_limit", set_limit),
];
