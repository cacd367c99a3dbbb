//! Whether a query matches, and in phrases: where.
//!
//! Inside a phrase a node's answer is a list of positions, or (below `!`) the list of those where it does *not* match; the position
//! of something wider than one lexeme is that of its last. A lexeme without positions can be said to match perhaps.

use super::tsquery::{Node, Operand, Query};
use super::vector::Vector;

/// What a lexeme of the query finds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    No,
    /// it is there, nobody knows where
    Somewhere,
    /// the positions, in order, each once
    At(Vec<u32>),
}

/// What the lexemes of a query are looked up in.
pub trait Document {
    fn find(&self, operand: &Operand) -> Found;
}

impl Document for Vector {
    fn find(&self, operand: &Operand) -> Found {
        let mut found = Found::No;
        for lexeme in self.meant(&operand.text, operand.prefix) {
            crate::work::pulse(1);
            if lexeme.positions.is_empty() {
                if found == Found::No {
                    found = Found::Somewhere;
                }
                continue;
            }
            let fits = |weight: u8| operand.weights == 0 || operand.weights & (1 << weight) != 0;
            let places: Vec<u32> =
                lexeme.positions.iter().filter(|p| fits(p.weight)).map(|p| u32::from(p.at)).collect();
            if places.is_empty() {
                continue;
            }
            match &mut found {
                Found::At(all) => all.extend(places),
                // lexemes without positions make the positions of the others uncertain
                Found::Somewhere => {}
                Found::No => found = Found::At(places),
            }
        }
        if let Found::At(all) = &mut found {
            all.sort_unstable();
            all.dedup();
        }
        found
    }
}

/// A node's answer inside a phrase.
enum Answer {
    No,
    Maybe,
    Yes(Places),
}

#[derive(Default)]
struct Places {
    at: Vec<u32>,
    /// it matches everywhere else
    negated: bool,
    /// how far the last lexeme of a match is from its first
    width: u32,
}

/// Which positions of two lists are taken.
#[derive(Clone, Copy)]
struct Take {
    both: bool,
    left: bool,
    right: bool,
}

/// Merges two lists, each moved by its offset.
fn merge(left: &[u32], right: &[u32], offsets: (u32, u32), take: Take) -> Vec<u32> {
    let mut out = Vec::new();
    let (mut l, mut r) =
        (left.iter().map(|p| p + offsets.0).peekable(), right.iter().map(|p| p + offsets.1).peekable());
    loop {
        crate::work::pulse(1);
        let (position, taken) = match (l.peek().copied(), r.peek().copied()) {
            (None, None) => return out,
            (Some(a), None) => (a, take.left),
            (None, Some(b)) => (b, take.right),
            (Some(a), Some(b)) if a < b => (a, take.left),
            (Some(a), Some(b)) if a > b => (b, take.right),
            (Some(a), Some(_)) => (a, take.both),
        };
        if l.peek() == Some(&position) {
            l.next();
        }
        if r.peek() == Some(&position) {
            r.next();
        }
        if taken && position > 0 {
            out.push(position);
        }
    }
}

const ALL: Take = Take { both: true, left: true, right: true };
const BOTH: Take = Take { both: true, left: false, right: false };
const LEFT: Take = Take { both: false, left: true, right: false };
const RIGHT: Take = Take { both: false, left: false, right: true };

fn answer(places: Places) -> Answer {
    if places.at.is_empty() && !places.negated {
        Answer::No
    } else {
        Answer::Yes(places)
    }
}

fn in_phrase(node: &Node, document: &dyn Document) -> Answer {
    match node {
        Node::Stop => Answer::No,
        Node::Operand(operand) => match document.find(operand) {
            Found::No => Answer::No,
            Found::Somewhere => Answer::Maybe,
            Found::At(at) => Answer::Yes(Places { at, ..Default::default() }),
        },
        Node::Not(inner) => match in_phrase(inner, document) {
            // nowhere becomes everywhere, and the other way round
            Answer::No => Answer::Yes(Places { negated: true, ..Default::default() }),
            Answer::Yes(places) => answer(Places { negated: !places.negated, ..places }),
            Answer::Maybe => Answer::Maybe,
        },
        Node::Phrase(a, b, distance) => both(a, b, Some(u32::from(*distance)), document),
        Node::And(a, b) => both(a, b, None, document),
        Node::Or(a, b) => {
            let (a, b) = (in_phrase(a, document), in_phrase(b, document));
            let (a, b) = match (a, b) {
                (Answer::No, Answer::No) => return Answer::No,
                (Answer::Maybe, _) | (_, Answer::Maybe) => return Answer::Maybe,
                (Answer::No, Answer::Yes(b)) => (Places::default(), b),
                (Answer::Yes(a), Answer::No) => (a, Places::default()),
                (Answer::Yes(a), Answer::Yes(b)) => (a, b),
            };
            let width = a.width.max(b.width);
            let offsets = (width - a.width, width - b.width);
            // !a | b is !(a & !b), and so on
            let (take, negated) = match (a.negated, b.negated) {
                (true, true) => (BOTH, true),
                (true, false) => (LEFT, true),
                (false, true) => (RIGHT, true),
                (false, false) => (ALL, false),
            };
            answer(Places { at: merge(&a.at, &b.at, offsets, take), negated, width })
        }
    }
}

/// A phrase with its distance, or both at the same place.
fn both(a: &Node, b: &Node, distance: Option<u32>, document: &dyn Document) -> Answer {
    let a = in_phrase(a, document);
    if matches!(a, Answer::No) {
        return Answer::No;
    }
    let b = in_phrase(b, document);
    let (a, b) = match (a, b) {
        (_, Answer::No) | (Answer::No, _) => return Answer::No,
        (Answer::Maybe, _) | (_, Answer::Maybe) => return Answer::Maybe,
        (Answer::Yes(a), Answer::Yes(b)) => (a, b),
    };
    let (offsets, width) = match distance {
        Some(distance) => ((distance + b.width, 0), distance + a.width + b.width),
        None => {
            let width = a.width.max(b.width);
            ((width - a.width, width - b.width), width)
        }
    };
    let (take, negated) = match (a.negated, b.negated) {
        (true, true) => (ALL, true),
        (true, false) => (RIGHT, false),
        (false, true) => (LEFT, false),
        (false, false) => (BOTH, false),
    };
    answer(Places { at: merge(&a.at, &b.at, offsets, take), negated, width })
}

fn holds(node: &Node, document: &dyn Document) -> bool {
    match node {
        Node::Stop => false,
        Node::Operand(operand) => document.find(operand) != Found::No,
        Node::Not(inner) => !holds(inner, document),
        Node::And(a, b) => holds(a, document) && holds(b, document),
        Node::Or(a, b) => holds(a, document) || holds(b, document),
        Node::Phrase(..) => matches!(in_phrase(node, document), Answer::Yes(_)),
    }
}

/// Whether the query matches. One without lexemes never does.
pub fn matches(query: &Query, document: &dyn Document) -> bool {
    query.0.as_ref().is_some_and(|node| holds(node, document))
}
