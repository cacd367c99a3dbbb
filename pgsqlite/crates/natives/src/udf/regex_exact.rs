//! Where a match of a regular expression lies, exactly as PostgreSQL defines it (manual: "Regular Expression Matching Rules").
//!
//! Of the matches that begin first PostgreSQL takes the longest or the shortest, as the expression prefers, and then gives
//! each part, from left to right, the longest or shortest stretch that still lets the rest match. Other engines take the first
//! alternative that matches, which may be another one. So [`super::pattern`] uses them only to find where a match begins
//! ([`super::regex_search`]); this module finds its end and its parts, and searches for what those engines do not know.
//!
//! [`Re`] is the expression as a set of strings: [`Matcher::forward`] and [`Matcher::backward`] say where a match may end or
//! begin. [`Tree`] is how the expression is taken apart: only pieces that have captures, back-references or a preference of
//! their own are separate nodes, the pieces between are one node, and it is the node's preference that counts.

use pgsqlite_types::work::{self, Ticking};
use pgsqlite_types::{PgError, Result, SqlState};
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

/// A set of positions in the text (in characters).
pub type Set = BTreeSet<usize>;

/// Which characters an atom matches.
#[derive(Debug, Clone)]
pub enum Class {
    Character {
        character: char,
        ignore_case: bool,
    },
    /// a regular expression of one character
    Set(regex::Regex),
}

impl Class {
    fn matches(&self, c: char) -> bool {
        match self {
            Class::Character { character, ignore_case: false } => *character == c,
            Class::Character { character, ignore_case: true } => {
                *character == c
                    || character.to_lowercase().eq(c.to_lowercase())
                    || character.to_uppercase().eq(c.to_uppercase())
            }
            Class::Set(regex) => regex.is_match(c.encode_utf8(&mut [0; 4])),
        }
    }
}

/// A condition on a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    TextBegin,
    TextEnd,
    LineBegin,
    LineEnd,
    WordBegin,
    WordEnd,
    WordEdge,
    NoWordEdge,
}

/// An expression as a set of strings.
#[derive(Debug, Clone)]
pub enum Re {
    Empty,
    One(Class),
    Place(Place),
    Look {
        ahead: bool,
        negative: bool,
        inner: Box<Re>,
    },
    Concat(Vec<Re>),
    Alternatives(Vec<Re>),
    /// at least, at most (None: any number)
    Repeat(Box<Re>, u32, Option<u32>),
}

impl Re {
    fn then(self, next: Re) -> Re {
        match (self, next) {
            (Re::Empty, next) => next,
            (first, Re::Empty) => first,
            (Re::Concat(mut list), next) => {
                list.push(next);
                Re::Concat(list)
            }
            (first, next) => Re::Concat(vec![first, next]),
        }
    }
    fn repeated(self, low: u32, high: Option<u32>) -> Re {
        match (low, high) {
            (1, Some(1)) => self,
            (_, Some(0)) => Re::Empty,
            _ => Re::Repeat(Box::new(self), low, high),
        }
    }
}

/// What an expression prefers and has inside.
pub mod flag {
    pub const LONGER: u8 = 1;
    pub const SHORTER: u8 = 2;
    /// both preferences inside
    pub const MIXED: u8 = 4;
    pub const CAPTURE: u8 = 8;
    pub const BACK_REFERENCE: u8 = 16;
}
use flag::*;

/// What of a part's flags counts for the whole: that it mixes preferences, but not which one it has.
fn inherited(f: u8) -> u8 {
    let mixed = if f & LONGER != 0 && f & SHORTER != 0 { MIXED } else { 0 };
    f & !(LONGER | SHORTER) | mixed
}
fn preference(f: u8) -> u8 {
    f & (LONGER | SHORTER)
}
/// The flags of two parts together: the first preference counts.
fn combined(a: u8, b: u8) -> u8 {
    inherited(a | b) | if preference(a) != 0 { preference(a) } else { preference(b) }
}
fn is_messy(f: u8) -> bool {
    f & (MIXED | CAPTURE | BACK_REFERENCE) != 0
}

#[derive(Debug, Clone)]
enum Kind {
    /// nothing inside is of interest
    Plain,
    Concat(Box<Tree>, Box<Tree>),
    Alternatives(Vec<Tree>),
    Capture(usize, Box<Tree>),
    BackReference {
        group: usize,
        low: u32,
        high: Option<u32>,
    },
    Iterate(Box<Tree>, u32, Option<u32>),
}

/// An expression as it is taken apart.
#[derive(Debug, Clone)]
pub struct Tree {
    kind: Kind,
    pub re: Re,
    flags: u8,
}

/// An atom of a branch.
#[derive(Debug, Clone)]
pub enum Atom {
    /// takes no place
    Constraint(Re),
    One(Class),
    /// `(?:…)`
    Group(Tree),
    /// `(…)` with its number
    Capture(usize, Tree),
    /// its number and the group's expression
    BackReference(usize, Re),
}

/// An atom with its quantifier and the preference that the quantifier states (0: none).
#[derive(Debug, Clone)]
pub struct Piece {
    pub atom: Atom,
    pub low: u32,
    pub high: Option<u32>,
    pub preference: u8,
}

impl Tree {
    fn plain(re: Re, flags: u8) -> Tree {
        Tree { kind: Kind::Plain, re, flags }
    }

    fn concat(left: Tree, right: Tree) -> Tree {
        let flags = left.flags | combined(left.flags, right.flags);
        let re = left.re.clone().then(right.re.clone());
        Tree { kind: Kind::Concat(Box::new(left), Box::new(right)), re, flags }
    }

    /// Whether there are back-references.
    pub fn refers_back(&self) -> bool {
        self.flags & BACK_REFERENCE != 0
    }

    /// The branches of an expression.
    pub fn alternatives(mut branches: Vec<Tree>) -> Tree {
        if branches.len() == 1 {
            return branches.remove(0);
        }
        let flags = branches.iter().fold(LONGER, |f, b| f | inherited(f | b.flags));
        let re = Re::Alternatives(branches.iter().map(|b| b.re.clone()).collect());
        if !is_messy(flags) {
            return Tree::plain(re, flags);
        }
        Tree { kind: Kind::Alternatives(branches), re, flags }
    }

    /// A branch. What comes before the first piece that must be looked into is one node.
    pub fn branch(pieces: &[Piece]) -> Tree {
        let mut prefix = Tree::plain(Re::Empty, 0);
        for (i, piece) in pieces.iter().enumerate() {
            work::pulse(1);
            if piece.high == Some(0) {
                continue;
            }
            let (atom, special) = match &piece.atom {
                Atom::Constraint(re) => {
                    prefix.re = std::mem::replace(&mut prefix.re, Re::Empty).then(re.clone());
                    continue;
                }
                Atom::One(class) => (Tree::plain(Re::One(class.clone()), 0), false),
                Atom::Group(tree) => (tree.clone(), false),
                Atom::Capture(n, tree) => {
                    let (re, flags) = (tree.re.clone(), tree.flags | CAPTURE);
                    (Tree { kind: Kind::Capture(*n, Box::new(tree.clone())), re, flags }, true)
                }
                Atom::BackReference(group, re) => {
                    let kind = Kind::BackReference { group: *group, low: piece.low, high: piece.high };
                    let re = re.clone().repeated(piece.low, piece.high);
                    let flags = BACK_REFERENCE | piece.preference;
                    (Tree { kind, re, flags }, true)
                }
            };
            let flags = prefix.flags | piece.preference | atom.flags;
            if !special && !is_messy(inherited(flags)) {
                let repeated = atom.re.repeated(piece.low, piece.high);
                prefix.re = std::mem::replace(&mut prefix.re, Re::Empty).then(repeated);
                prefix.flags = flags;
                continue;
            }
            let own = combined(piece.preference, atom.flags);
            let atom = quantified(atom, piece);
            let rest = Tree::branch(&pieces[i + 1..]);
            let mut tail = Tree::concat(atom, rest);
            tail.flags |= own;
            return Tree::concat(prefix, tail);
        }
        prefix
    }
}

/// An atom that is looked into, with its quantifier.
fn quantified(atom: Tree, piece: &Piece) -> Tree {
    let looked_into = atom.flags & (CAPTURE | BACK_REFERENCE) != 0;
    let own = preference(atom.flags) | atom.flags & MIXED;
    let vacuous = piece.preference == 0 || own == 0 || piece.preference == own;
    if matches!(atom.kind, Kind::BackReference { .. }) || piece.low == 1 && piece.high == Some(1) && vacuous {
        return atom;
    }
    let flags = combined(piece.preference, atom.flags);
    if !looked_into {
        return Tree::plain(atom.re.repeated(piece.low, piece.high), flags);
    }
    if piece.low > 0 && atom.flags & BACK_REFERENCE == 0 {
        // Only the last repetition's captures count: the ones before need not be looked into.
        let before = atom.re.clone().repeated(piece.low - 1, piece.high.map(|h| h - 1));
        let mut both = Tree::concat(Tree::plain(before, preference(flags)), atom);
        both.flags |= flags;
        return both;
    }
    let re = atom.re.clone().repeated(piece.low, piece.high);
    Tree { kind: Kind::Iterate(Box::new(atom), piece.low, piece.high), re, flags }
}

/// Most steps of one search before it is given up.
const MOST_STEPS: usize = 50_000_000;
/// Most repetitions that are looked into one by one.
const MOST_ITERATIONS: usize = 5_000;

/// The captures: group 0 is the whole match; (begin, end) in characters.
pub type Parts = Vec<Option<(usize, usize)>>;

/// A search in one text.
pub struct Matcher<'t> {
    text: &'t [char],
    ignore_case: bool,
    steps: usize,
    most_steps: usize,
    /// all places, and where look-around constraints hold
    all: Option<Rc<Set>>,
    holding: HashMap<*const Re, Rc<Set>>,
}

/// Where constraints hold is computed for all places at once from so many places on.
const MANY: usize = 16;

fn too_complex() -> PgError {
    PgError::new(SqlState::STATEMENT_TOO_COMPLEX, "regular expression is too complex")
}
fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

impl<'t> Matcher<'t> {
    pub fn new(text: &'t [char], ignore_case: bool) -> Matcher<'t> {
        Matcher { text, ignore_case, steps: 0, most_steps: MOST_STEPS, all: None, holding: HashMap::new() }
    }

    /// The places where matches may begin: all that do, and where there are back-references some that do not.
    pub fn begins(&mut self, tree: &Tree) -> Result<Set> {
        // as long as the text, and ended by requests alone
        self.most_steps = usize::MAX;
        let all = self.all()?;
        self.backward(&tree.re, &all)
    }

    fn all(&mut self) -> Result<Rc<Set>> {
        if let Some(all) = &self.all {
            return Ok(all.clone());
        }
        work::room(16 * self.text.len())?;
        let all: Rc<Set> = Rc::new((0..=self.text.len()).pulsing().collect());
        self.all = Some(all.clone());
        Ok(all)
    }

    /// Where a stretch begins (`ahead`) or ends that the inside of a constraint matches.
    fn holding(&mut self, inner: &Re, ahead: bool) -> Result<Rc<Set>> {
        let key: *const Re = inner;
        if let Some(found) = self.holding.get(&key) {
            return Ok(found.clone());
        }
        let all = self.all()?;
        let found = Rc::new(self.image(inner, &all, !ahead)?);
        self.holding.insert(key, found.clone());
        Ok(found)
    }

    /// The match that begins at a place, with `groups` captures; None if there is none.
    pub fn match_at(&mut self, tree: &Tree, begin: usize, groups: usize) -> Result<Option<Parts>> {
        let ends = self.forward(&tree.re, &Set::from([begin]))?;
        let mut ends: Vec<usize> = ends.into_iter().collect();
        if tree.flags & SHORTER == 0 {
            ends.reverse();
        }
        for end in ends {
            work::pulse(1);
            let mut parts: Parts = vec![None; groups + 1];
            if self.dissect(tree, begin, end, &mut parts)? {
                parts[0] = Some((begin, end));
                return Ok(Some(parts));
            }
            // Only back-references can fail a match that the expression's strings allow.
            if tree.flags & BACK_REFERENCE == 0 {
                return Err(PgError::internal("a match that cannot be taken apart"));
            }
        }
        Ok(None)
    }

    fn count(&mut self, steps: usize) -> Result<()> {
        pgsqlite_types::work::tick(8 * (steps + 1))?;
        self.steps += steps + 1;
        if self.steps > self.most_steps {
            return Err(too_complex());
        }
        Ok(())
    }

    fn holds(&self, place: Place, at: usize) -> bool {
        let before = at.checked_sub(1).map(|i| self.text[i]);
        let after = self.text.get(at).copied();
        let (word_before, word_after) = (before.is_some_and(is_word), after.is_some_and(is_word));
        match place {
            Place::TextBegin => before.is_none(),
            Place::TextEnd => after.is_none(),
            Place::LineBegin => before.is_none_or(|c| c == '\n'),
            Place::LineEnd => after.is_none_or(|c| c == '\n'),
            Place::WordBegin => !word_before && word_after,
            Place::WordEnd => word_before && !word_after,
            Place::WordEdge => word_before != word_after,
            Place::NoWordEdge => word_before == word_after,
        }
    }

    /// Where matches end that begin at one of the places.
    fn forward(&mut self, re: &Re, from: &Set) -> Result<Set> {
        self.image(re, from, true)
    }
    /// Where matches begin that end at one of the places.
    fn backward(&mut self, re: &Re, from: &Set) -> Result<Set> {
        self.image(re, from, false)
    }

    fn image(&mut self, re: &Re, from: &Set, forward: bool) -> Result<Set> {
        self.count(from.len())?;
        if from.is_empty() {
            return Ok(Set::new());
        }
        Ok(match re {
            Re::Empty => from.clone(),
            Re::One(class) if forward => {
                from.iter().filter(|&&p| self.text.get(p).is_some_and(|c| class.matches(*c))).map(|p| p + 1).collect()
            }
            Re::One(class) => {
                from.iter().filter(|&&p| p > 0 && class.matches(self.text[p - 1])).map(|p| p - 1).collect()
            }
            Re::Place(place) => from.iter().copied().filter(|&p| self.holds(*place, p)).collect(),
            Re::Look { ahead, negative, inner } if from.len() > MANY => {
                let holding = self.holding(inner, *ahead)?;
                from.iter().pulsing().copied().filter(|p| holding.contains(p) != *negative).collect()
            }
            Re::Look { ahead, negative, inner } => {
                let mut out = Set::new();
                for &p in from {
                    work::pulse(1);
                    let found = !self.image(inner, &Set::from([p]), *ahead)?.is_empty();
                    if found != *negative {
                        out.insert(p);
                    }
                }
                out
            }
            Re::Concat(list) => {
                let mut places = from.clone();
                for i in 0..list.len() {
                    work::pulse(1);
                    let part = if forward { &list[i] } else { &list[list.len() - 1 - i] };
                    places = self.image(part, &places, forward)?;
                }
                places
            }
            Re::Alternatives(list) => {
                let mut out = Set::new();
                for part in list {
                    work::pulse(1);
                    out.append(&mut self.image(part, from, forward)?);
                }
                out
            }
            Re::Repeat(inner, low, high) => {
                let mut places = from.clone();
                for _ in 0..*low {
                    work::pulse(1);
                    let next = self.image(inner, &places, forward)?;
                    if next == places {
                        break;
                    }
                    places = next;
                }
                let (mut all, mut edge) = (places.clone(), places);
                let mut left = high.map(|h| h - low);
                while !edge.is_empty() && left != Some(0) {
                    work::pulse(1);
                    let next = self.image(inner, &edge, forward)?;
                    edge = next.difference(&all).copied().collect();
                    all.extend(&edge);
                    left = left.map(|n| n - 1);
                }
                all
            }
        })
    }

    /// Whether the expression matches exactly from `begin` to `end`.
    fn spans(&mut self, re: &Re, begin: usize, end: usize) -> Result<bool> {
        Ok(self.forward(re, &Set::from([begin]))?.contains(&end))
    }

    /// Gives the parts of a match from `begin` to `end` their places; false if a back-reference does not fit.
    fn dissect(&mut self, tree: &Tree, begin: usize, end: usize, parts: &mut Parts) -> Result<bool> {
        self.count(0)?;
        match &tree.kind {
            Kind::Plain => Ok(true),
            Kind::Capture(n, inner) => {
                let fits = self.dissect(inner, begin, end, parts)?;
                if fits {
                    parts[*n] = Some((begin, end));
                }
                Ok(fits)
            }
            Kind::Concat(left, right) => {
                let ends = self.forward(&left.re, &Set::from([begin]))?;
                let begins = self.backward(&right.re, &Set::from([end]))?;
                let mut middles: Vec<usize> = ends.intersection(&begins).copied().collect();
                if left.flags & SHORTER == 0 {
                    middles.reverse();
                }
                for middle in middles {
                    work::pulse(1);
                    let saved = parts.clone();
                    if self.dissect(left, begin, middle, parts)? && self.dissect(right, middle, end, parts)? {
                        return Ok(true);
                    }
                    *parts = saved;
                }
                Ok(false)
            }
            Kind::Alternatives(branches) => {
                for branch in branches {
                    work::pulse(1);
                    if self.spans(&branch.re, begin, end)? {
                        let saved = parts.clone();
                        if self.dissect(branch, begin, end, parts)? {
                            return Ok(true);
                        }
                        *parts = saved;
                    }
                }
                Ok(false)
            }
            Kind::BackReference { group, low, high } => {
                let Some((from, to)) = parts[*group] else { return Ok(false) };
                let (length, own) = (to - from, end - begin);
                let allowed = |n: usize| n >= *low as usize && high.is_none_or(|h| n <= h as usize);
                if length == 0 {
                    return Ok(own == 0);
                }
                if own % length != 0 || !allowed(own / length) {
                    return Ok(false);
                }
                self.count(own / 8)?;
                let same =
                    |a: char, b: char| Class::Character { character: a, ignore_case: self.ignore_case }.matches(b);
                Ok((0..own).all(|i| same(self.text[from + i % length], self.text[begin + i])))
            }
            Kind::Iterate(inner, low, high) => {
                let shorter = inner.flags & SHORTER != 0;
                if *low == 0 && begin == end {
                    // Nothing at all, unless more is preferred and may be empty.
                    let saved = parts.clone();
                    let once = !shorter && self.spans(&inner.re, begin, end)?;
                    if !once || !self.dissect(inner, begin, end, parts)? {
                        *parts = saved;
                    }
                    return Ok(true);
                }
                let low = (*low).max(1) as usize;
                let most = high.map_or(end - begin, |h| (h as usize).min(end - begin)).max(low);
                self.iterate(inner, (begin, end), (low, most), shorter, 1, parts)
            }
        }
    }

    /// The `nth` repetition begins at `range.0`; all of them end at `range.1`.
    fn iterate(
        &mut self,
        inner: &Tree,
        range: (usize, usize),
        (low, most): (usize, usize),
        shorter: bool,
        nth: usize,
        parts: &mut Parts,
    ) -> Result<bool> {
        if nth > MOST_ITERATIONS {
            return Err(too_complex());
        }
        let (begin, end) = range;
        let ends = self.forward(&inner.re, &Set::from([begin]))?;
        let mut middles: Vec<usize> = ends.into_iter().filter(|m| *m <= end).collect();
        if !shorter {
            middles.reverse();
        }
        for middle in middles {
            work::pulse(1);
            // An empty repetition is taken only to reach the least number.
            if middle == begin && (nth >= low || low - nth < end - begin) && !(middle == end && nth >= low) {
                continue;
            }
            let last = middle == end && nth >= low;
            if !last && nth >= most {
                continue;
            }
            let saved = parts.clone();
            clear(inner, parts);
            if self.dissect(inner, begin, middle, parts)?
                && (last || self.iterate(inner, (middle, end), (low, most), shorter, nth + 1, parts)?)
            {
                return Ok(true);
            }
            *parts = saved;
        }
        Ok(false)
    }
}

/// Forgets the captures inside an expression.
fn clear(tree: &Tree, parts: &mut Parts) {
    match &tree.kind {
        Kind::Capture(n, inner) => {
            parts[*n] = None;
            clear(inner, parts);
        }
        Kind::Concat(a, b) => {
            clear(a, parts);
            clear(b, parts);
        }
        Kind::Alternatives(list) => list.iter().for_each(|t| clear(t, parts)),
        Kind::Iterate(inner, ..) => clear(inner, parts),
        Kind::Plain | Kind::BackReference { .. } => {}
    }
}
