//! Whether an expression matches, and where the first match begins.
//!
//! The `regex` crate does it for short texts, whose search is over soon. In longer ones this module steps through the text itself, with the
//! lazily built automata of the `regex-automata` crate, so that requests end the search between two bytes. Neither knows look-around
//! and back-references: those expressions are left to [`super::regex_exact`].

use pgsqlite_types::{work, PgError, Result};
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::hybrid::LazyStateID;
use regex_automata::nfa::thompson;
use regex_automata::{Anchored, Input, MatchKind};
use std::cell::{OnceCell, RefCell};

/// The `regex` crate searches texts up to so many bytes: with the largest program ([`PROGRAM`]) that takes some milliseconds.
const SHORT: usize = 1024;
/// Bytes of the program of an expression for the `regex` crate.
const PROGRAM: usize = 256 << 10;
/// Bytes of the states that the `regex` crate keeps for an expression, in each direction.
const STATES: usize = 512 << 10;
/// Bytes of the program behind an automaton.
const LARGE_PROGRAM: usize = 1 << 20;
/// Bytes of the states of an automaton, or more where its program needs more: then they are made anew.
const AUTOMATON: usize = 2 << 20;
/// So many bytes are read between two ticks.
const STRIDE: usize = 64;

/// An automaton with its states as far as they are made.
struct Automaton {
    dfa: DFA,
    cache: RefCell<Cache>,
    /// of the program that it is made from
    states: usize,
}

/// Why an automaton gives no answer.
enum Stop {
    /// what the automaton does not know: word edges in a text that is not ASCII
    Unknown,
    Request(PgError),
}

impl From<PgError> for Stop {
    fn from(error: PgError) -> Stop {
        Stop::Request(error)
    }
}

impl Automaton {
    fn new(regex: &str, reverse: bool) -> Option<Automaton> {
        let program = thompson::Config::new().reverse(reverse).nfa_size_limit(Some(LARGE_PROGRAM));
        let kind = if reverse { MatchKind::All } else { MatchKind::LeftmostFirst };
        let config = DFA::config()
            .match_kind(kind)
            .unicode_word_boundary(true)
            .cache_capacity(AUTOMATON)
            .skip_cache_capacity_check(true);
        let dfa = DFA::builder().configure(config).thompson(program).build(regex).ok()?;
        let cache = RefCell::new(dfa.create_cache());
        let states = dfa.get_nfa().states().len();
        Some(Automaton { dfa, cache, states })
    }

    /// About the bytes of the program and of the states. A cache that was full keeps its memory for the next states, and how it finds a
    /// state takes half as much again.
    fn weight(&self) -> usize {
        let cache = self.cache.borrow();
        let states = if cache.clear_count() > 0 { AUTOMATON } else { cache.memory_usage() };
        self.dfa.get_nfa().memory_usage() + states / 2 * 3
    }

    /// The state after a byte.
    fn step(&self, cache: &mut Cache, state: LazyStateID, byte: u8) -> Result<LazyStateID, Stop> {
        self.dfa.next_state(cache, state, byte).map_err(|_| Stop::Unknown)
    }

    /// Looks at requests after a stride. Where states have to be made again and again, a byte takes as long as the program is large.
    fn tick(&self, cache: &Cache) -> Result<(), Stop> {
        let each = if cache.clear_count() > 0 { 1 + self.states / 8 } else { 1 };
        Ok(work::tick(STRIDE * each)?)
    }

    /// The end of the first match that begins at `from` or later; `earliest`: any place where it is known that there is one.
    fn end(&self, text: &str, from: usize, earliest: bool) -> Result<Option<usize>, Stop> {
        let (bytes, cache) = (text.as_bytes(), &mut *self.cache.borrow_mut());
        let input = Input::new(text).range(from..);
        let mut state = self.dfa.start_state_forward(cache, &input).map_err(|_| Stop::Unknown)?;
        let mut found = None;
        for (at, byte) in bytes.iter().enumerate().skip(from) {
            if (at - from).is_multiple_of(STRIDE) {
                self.tick(cache)?;
            }
            state = self.step(cache, state, *byte)?;
            if state.is_tagged() {
                // (a match is known one byte behind its end)
                if state.is_match() {
                    found = Some(at);
                    if earliest {
                        return Ok(found);
                    }
                } else if state.is_dead() {
                    return Ok(found);
                } else if state.is_quit() {
                    return Err(Stop::Unknown);
                }
            }
        }
        let state = self.dfa.next_eoi_state(cache, state).map_err(|_| Stop::Unknown)?;
        Ok(if state.is_match() { Some(bytes.len()) } else { found })
    }

    /// Where the longest match begins that ends at `end`, not before `from`. (This automaton reads backwards.)
    fn begin(&self, text: &str, from: usize, end: usize) -> Result<Option<usize>, Stop> {
        let (bytes, cache) = (text.as_bytes(), &mut *self.cache.borrow_mut());
        let input = Input::new(text).range(from..end).anchored(Anchored::Yes);
        let mut state = self.dfa.start_state_reverse(cache, &input).map_err(|_| Stop::Unknown)?;
        let mut found = None;
        for at in (from..end).rev() {
            if (end - at).is_multiple_of(STRIDE) {
                self.tick(cache)?;
            }
            state = self.step(cache, state, bytes[at])?;
            if state.is_tagged() {
                if state.is_match() {
                    found = Some(at + 1);
                } else if state.is_dead() {
                    return Ok(found);
                } else if state.is_quit() {
                    return Err(Stop::Unknown);
                }
            }
        }
        let state = match from.checked_sub(1) {
            Some(before) => self.step(cache, state, bytes[before])?,
            None => self.dfa.next_eoi_state(cache, state).map_err(|_| Stop::Unknown)?,
        };
        if state.is_quit() {
            return Err(Stop::Unknown);
        }
        Ok(if state.is_match() { Some(from) } else { found })
    }
}

/// An expression to search for.
pub struct Search {
    regex: String,
    short: Option<regex::Regex>,
    forward: OnceCell<Option<Automaton>>,
    backward: OnceCell<Option<Automaton>>,
}

impl Search {
    /// None: an expression that this module does not know.
    pub fn new(regex: String) -> Option<Search> {
        let short = match regex::RegexBuilder::new(&regex).size_limit(PROGRAM).dfa_size_limit(STATES).build() {
            Ok(short) => Some(short),
            Err(regex::Error::CompiledTooBig(_)) => None,
            Err(_) => return None,
        };
        Some(Search { regex, short, forward: OnceCell::new(), backward: OnceCell::new() })
    }

    /// The bytes that the expression and its automata take. (What the `regex` crate takes is not known, and bounded by its limits.)
    pub fn weight(&self) -> usize {
        let automata = [&self.forward, &self.backward].into_iter().filter_map(|a| a.get()?.as_ref());
        self.regex.len() + automata.map(Automaton::weight).sum::<usize>()
    }

    /// The `regex` crate, if what is left of the text is short.
    fn short(&self, text: &str, from: usize) -> Option<&regex::Regex> {
        self.short.as_ref().filter(|_| text.len() - from <= SHORT)
    }

    fn forward(&self) -> Option<&Automaton> {
        self.forward.get_or_init(|| Automaton::new(&self.regex, false)).as_ref()
    }

    /// Whether there is a match; None: that is not known. Errors: those of requests.
    pub fn matches(&self, text: &str) -> Result<Option<bool>> {
        if let Some(regex) = self.short(text, 0) {
            return Ok(Some(regex.is_match(text)));
        }
        let Some(forward) = self.forward() else { return Ok(None) };
        known(forward.end(text, 0, true).map(|end| end.is_some()))
    }

    /// Where the first match begins at byte `from` or later; None: that is not known. Errors: those of requests.
    pub fn first(&self, text: &str, from: usize) -> Result<Option<Option<usize>>> {
        if let Some(regex) = self.short(text, from) {
            return Ok(Some(regex.find_at(text, from).map(|m| m.start())));
        }
        let Some(forward) = self.forward() else { return Ok(None) };
        let backward = self.backward.get_or_init(|| Automaton::new(&self.regex, true));
        let Some(backward) = backward.as_ref() else { return Ok(None) };
        known(match forward.end(text, from, false) {
            Ok(Some(end)) => backward.begin(text, from, end),
            Ok(None) => Ok(None),
            Err(stop) => Err(stop),
        })
    }
}

fn known<T>(answer: Result<T, Stop>) -> Result<Option<T>> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(Stop::Unknown) => Ok(None),
        Err(Stop::Request(error)) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn automata_find_what_the_regex_crate_finds() {
        let expressions = [
            "a",
            "b+",
            "a|ab",
            "ab|a",
            "",
            "(?:ab)*?c",
            "\\Aab",
            "b\\z",
            "(?m:^)b",
            "\\bab\\b",
            "[^a]{2,3}",
            "ü.",
            "x*",
        ];
        let texts = ["", "a", "abc", "xx ab abc\nb ab", "cüaüb\nab", "bbbbab", "zzz"];
        for expression in expressions {
            let regex = regex::Regex::new(expression).unwrap();
            let search = Search::new(expression.to_string()).unwrap();
            let (forward, backward) = (search.forward().unwrap(), Automaton::new(expression, true).unwrap());
            for text in texts {
                for from in (0..=text.len()).filter(|i| text.is_char_boundary(*i)) {
                    let expected = regex.find_at(text, from).map(|m| m.start());
                    let found = match forward.end(text, from, false) {
                        Ok(Some(end)) => backward.begin(text, from, end),
                        Ok(None) => Ok(None),
                        Err(stop) => Err(stop),
                    };
                    match found {
                        Ok(found) => assert_eq!(found, expected, "{expression} in {text:?} from {from}"),
                        Err(Stop::Unknown) => assert!(!text.is_ascii() && expression.contains("\\b"), "{expression}"),
                        Err(Stop::Request(e)) => panic!("{e}"),
                    }
                    let any = forward.end(text, from, true).ok().map(|end| end.is_some());
                    assert!(any.is_none_or(|any| any == expected.is_some()), "{expression} in {text:?} from {from}");
                }
            }
        }
        assert!(Search::new("(?=a)b".to_string()).is_none());
    }
}
