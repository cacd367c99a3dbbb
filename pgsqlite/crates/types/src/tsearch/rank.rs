//! How well a document matches: `ts_rank` counts how often lexemes are there and how near to each other, `ts_rank_cd` how dense the
//! stretches are that match ("cover density").

use super::matching::{matches, Document, Found};
use super::tsquery::{Node, Operand, Query};
use super::vector::{Lexeme, Position, Vector};
use super::LAST_POSITION;
use crate::{PgError, Result, SqlState};
use std::cell::RefCell;

/// The weights of D, C, B, A where none are given.
pub const WEIGHTS: [f32; 4] = [0.1, 0.2, 0.4, 1.0];

/// Bits of the normalization argument.
mod by {
    pub const LOG_LENGTH: i64 = 1;
    pub const LENGTH: i64 = 2;
    pub const EXTENT_DISTANCE: i64 = 4;
    pub const UNIQUE: i64 = 8;
    pub const LOG_UNIQUE: i64 = 16;
    pub const SELF: i64 = 32;
}

/// Weights as the caller gives them, negative ones mean the default. Errors: 2202E (too few), 22004, 22023.
pub fn weights(given: &[Option<f32>]) -> Result<[f32; 4]> {
    if given.len() < 4 {
        return Err(PgError::new(SqlState::ARRAY_SUBSCRIPT_ERROR, "array of weight is too short"));
    }
    let mut out = WEIGHTS;
    for (slot, weight) in out.iter_mut().zip(given) {
        crate::work::pulse(1);
        let weight = weight
            .ok_or_else(|| PgError::new(SqlState::NULL_VALUE_NOT_ALLOWED, "array of weight must not contain nulls"))?;
        if weight >= 0.0 {
            *slot = weight;
        }
        if *slot > 1.0 {
            return Err(PgError::new(SqlState::INVALID_PARAMETER_VALUE, "weight out of range"));
        }
    }
    Ok(out)
}

/// How many places the document has; a lexeme without positions has one.
fn length(vector: &Vector) -> usize {
    vector.lexemes.iter().map(|l| l.positions.len().max(1)).sum()
}

/// The lexemes of a query, each once, in order.
fn distinct(query: &Query) -> Vec<&Operand> {
    let mut operands = query.operands();
    operands.sort_by(|a, b| a.text.cmp(&b.text));
    operands.dedup_by(|a, b| a.text == b.text);
    operands
}

fn places(lexeme: &Lexeme, without: Position) -> Vec<Position> {
    if lexeme.positions.is_empty() {
        vec![without]
    } else {
        lexeme.positions.clone()
    }
}

/// `ts_rank`. `method`: bits of the normalization argument.
pub fn rank(weights: &[f32; 4], vector: &Vector, query: &Query, method: i64) -> f32 {
    let Some(root) = &query.0 else { return 0.0 };
    if vector.lexemes.is_empty() {
        return 0.0;
    }
    let mut rank = match root {
        Node::And(..) | Node::Phrase(..) => of_all(weights, vector, query),
        _ => of_any(weights, vector, query),
    };
    if rank < 0.0 {
        rank = 1e-20;
    }
    let unique = vector.lexemes.len();
    let length = length(vector);
    if method & by::LOG_LENGTH != 0 {
        rank = (f64::from(rank) / (((length + 1) as f64).ln() / 2f64.ln())) as f32;
    }
    if method & by::LENGTH != 0 && length > 0 {
        rank /= length as f32;
    }
    if method & by::UNIQUE != 0 {
        rank /= unique as f32;
    }
    if method & by::LOG_UNIQUE != 0 {
        rank = (f64::from(rank) / (((unique + 1) as f64).ln() / 2f64.ln())) as f32;
    }
    if method & by::SELF != 0 {
        rank /= rank + 1.0;
    }
    rank
}

/// Each lexeme counts by itself: its best place whole, further ones less and less.
fn of_any(weights: &[f32; 4], vector: &Vector, query: &Query) -> f32 {
    /// the sum of 1/n² over all n
    const LIMIT: f64 = 1.64493406685;
    let operands = distinct(query);
    let mut rank = 0f32;
    for operand in &operands {
        crate::work::pulse(1);
        for lexeme in vector.meant(&operand.text, operand.prefix) {
            crate::work::pulse(1);
            let (mut sum, mut best, mut best_at) = (0f32, -1f32, 0i32);
            for (i, p) in (0i32..).zip(places(lexeme, Position { at: 0, weight: 0 })) {
                crate::work::pulse(1);
                let weight = weights[usize::from(p.weight)];
                sum += weight / ((i + 1) * (i + 1)) as f32;
                if weight > best {
                    (best, best_at) = (weight, i);
                }
            }
            let share = best + sum - best / ((best_at + 1) * (best_at + 1)) as f32;
            rank = (f64::from(rank) + f64::from(share) / LIMIT) as f32;
        }
    }
    if operands.is_empty() {
        rank
    } else {
        rank / operands.len() as f32
    }
}

/// How much two places that are this far apart count together.
fn nearness(distance: i32) -> f32 {
    if distance > 100 {
        return 1e-30;
    }
    (1.0 / (1.005 + 0.05 * (f64::from(distance as f32) / 1.5 - 2.0).exp())) as f32
}

/// Each pair of places of two lexemes counts by its nearness. Negative: there is none.
fn of_all(weights: &[f32; 4], vector: &Vector, query: &Query) -> f32 {
    let operands = distinct(query);
    if operands.len() < 2 {
        return of_any(weights, vector, query);
    }
    let nowhere = Position { at: LAST_POSITION, weight: 0 };
    let mut rank = -1f32;
    // of each operand: the places of its last lexeme, and whether they are known
    let mut seen: Vec<Option<(Vec<Position>, bool)>> = Vec::new();
    for operand in &operands {
        crate::work::pulse(1);
        let mut own = None;
        for lexeme in vector.meant(&operand.text, operand.prefix) {
            crate::work::pulse(1);
            let known = !lexeme.positions.is_empty();
            let here = places(lexeme, nowhere);
            for (others, others_known) in seen.iter().flatten() {
                crate::work::pulse(1);
                for p in &here {
                    crate::work::pulse(1);
                    for q in others {
                        crate::work::pulse(1);
                        let mut distance = (i32::from(p.at) - i32::from(q.at)).abs();
                        if distance == 0 {
                            if known && *others_known {
                                continue;
                            }
                            distance = i32::from(LAST_POSITION) + 1;
                        }
                        let product = weights[usize::from(p.weight)] * weights[usize::from(q.weight)];
                        let pair = f64::from(product * nearness(distance)).sqrt() as f32;
                        rank = if rank < 0.0 {
                            pair
                        } else {
                            (1.0 - (1.0 - f64::from(rank)) * (1.0 - f64::from(pair))) as f32
                        };
                    }
                }
            }
            own = Some((here, known));
        }
        seen.push(own);
    }
    rank
}

/// A place of the document where lexemes of the query stand.
struct Place<'q> {
    position: Position,
    lexeme: &'q str,
    /// which operands of the query mean it
    operands: Vec<usize>,
}

/// The part of a document that was read so far, as the query sees it.
struct Window<'q> {
    operands: &'q [&'q Operand],
    /// of each operand
    places: RefCell<Vec<Vec<u32>>>,
}

impl Document for Window<'_> {
    fn find(&self, operand: &Operand) -> Found {
        let i = self.operands.iter().position(|o| std::ptr::eq(*o, operand));
        match i.map(|i| self.places.borrow()[i].clone()) {
            Some(mut places) if !places.is_empty() => {
                places.sort_unstable();
                places.dedup();
                Found::At(places)
            }
            _ => Found::No,
        }
    }
}

impl Window<'_> {
    fn clear(&self) {
        self.places.borrow_mut().iter_mut().for_each(Vec::clear);
    }
    fn add(&self, place: &Place) {
        for operand in &place.operands {
            crate::work::pulse(1);
            self.places.borrow_mut()[*operand].push(u32::from(place.position.at));
        }
    }
}

/// A stretch that matches: its first and last place, as indexes and as positions.
struct Cover {
    begin: usize,
    end: usize,
    from: i32,
    to: i32,
}

/// The next stretch that matches, looked for from `start` on; `start` moves behind its beginning.
fn next_cover(document: &[Place], query: &Query, window: &Window, start: &mut usize) -> Option<Cover> {
    while *start < document.len() {
        crate::work::pulse(1);
        window.clear();
        // forwards to the end of a match
        let end = (*start..document.len()).find(|i| {
            window.add(&document[*i]);
            matches(query, window)
        })?;
        let to = i32::from(document[end].position.at);
        if to <= 0 {
            return None;
        }
        // then backwards to where it begins at the latest
        window.clear();
        let begin = (*start..=end).rev().find(|i| {
            window.add(&document[*i]);
            matches(query, window)
        });
        if let Some(begin) = begin {
            let from = i32::from(document[begin].position.at);
            if from <= to {
                *start = begin + 1;
                return Some(Cover { begin, end, from, to });
            }
        }
        *start += 1;
    }
    None
}

/// `ts_rank_cd`.
pub fn cover_density(weights: &[f32; 4], vector: &Vector, query: &Query, method: i64) -> f32 {
    let operands = query.operands();
    let mut document: Vec<Place> = Vec::new();
    for (i, operand) in operands.iter().enumerate() {
        crate::work::pulse(1);
        for lexeme in vector.meant(&operand.text, operand.prefix) {
            crate::work::pulse(1);
            for p in &lexeme.positions {
                crate::work::pulse(1);
                if operand.weights != 0 && operand.weights & (1 << p.weight) == 0 {
                    continue;
                }
                match document.iter_mut().find(|d| d.position == *p && d.lexeme == lexeme.text) {
                    Some(place) => place.operands.push(i),
                    None => document.push(Place { position: *p, lexeme: &lexeme.text, operands: vec![i] }),
                }
            }
        }
    }
    if document.is_empty() {
        return 0.0;
    }
    document.sort_by(|a, b| {
        let key = |p: &Place| (p.position.at, p.position.weight);
        key(a).cmp(&key(b)).then_with(|| a.lexeme.cmp(b.lexeme))
    });
    let inverse: Vec<f64> = weights.iter().map(|w| 1.0 / f64::from(*w)).collect();
    let window = Window { operands: &operands, places: RefCell::new(vec![vec![]; operands.len()]) };
    let (mut rank, mut distances, mut before, mut covers) = (0f64, 0f64, 0f64, 0u32);
    let mut start = 0;
    while let Some(cover) = next_cover(&document, query, &window, &mut start) {
        crate::work::pulse(1);
        let sum: f64 = document[cover.begin..=cover.end].iter().map(|p| inverse[usize::from(p.position.weight)]).sum();
        let span = (cover.end - cover.begin) as i32;
        let mut noise = (cover.to - cover.from) - span;
        if noise < 0 {
            // places at the end of a long document are all the same
            noise = span / 2;
        }
        rank += f64::from(span + 1) / sum / f64::from(1 + noise);
        let middle = f64::from(cover.to + cover.from) / 2.0;
        if covers > 0 && middle > before {
            distances += 1.0 / (middle - before);
        }
        before = middle;
        covers += 1;
    }
    let (unique, length) = (vector.lexemes.len() as f64, length(vector) as f64);
    if method & by::LOG_LENGTH != 0 {
        rank /= (length + 1.0).ln();
    }
    if method & by::LENGTH != 0 && length > 0.0 {
        rank /= length;
    }
    if method & by::EXTENT_DISTANCE != 0 && covers > 0 && distances > 0.0 {
        rank /= f64::from(covers) / distances;
    }
    if method & by::UNIQUE != 0 {
        rank /= unique;
    }
    if method & by::LOG_UNIQUE != 0 {
        rank /= (unique + 1.0).ln() / 2f64.ln();
    }
    if method & by::SELF != 0 {
        rank /= rank + 1.0;
    }
    rank as f32
}
