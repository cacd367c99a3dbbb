//! Pattern matching: LIKE, SIMILAR TO and PostgreSQL's regular expressions.
//!
//! An "advanced regular expression" is translated ([`super::regex_syntax`]) and kept compiled per connection, in two forms: the
//! `regex` crate and its automata tell whether there is a match and where the first one begins ([`super::regex_search`]),
//! [`super::regex_exact`] where it ends and what its parts are, because they take the first alternative that matches where PostgreSQL
//! takes the longest match.

use super::regex_exact::{Matcher, Set, Tree};
use super::regex_search::Search;
use super::regex_syntax::{self, Options, Translation};
use super::shim::{Call, Scalar};
use super::strings::{invalid_parameter, lower_text};
use pgsqlite_types::array::Array;
use pgsqlite_types::work::{self, Ticking};
use pgsqlite_types::{Datum, PgError, Result, SqlState};

/// A compiled pattern.
pub struct Pattern {
    /// None: a pattern that the searching engines do not know, or read in another way
    search: Option<Search>,
    tree: Tree,
    groups: usize,
    ignore_case: bool,
}

impl Pattern {
    /// The bytes of what grows while texts are searched, and of the programs.
    fn weight(&self) -> usize {
        std::mem::size_of::<Pattern>() + self.search.as_ref().map_or(0, Search::weight)
    }
}

/// A match: its own place and those of its parts, in bytes.
struct Captures<'t> {
    text: &'t str,
    places: Vec<Option<(usize, usize)>>,
}

impl<'t> Captures<'t> {
    fn place(&self, n: usize) -> Option<(usize, usize)> {
        self.places.get(n).copied().flatten()
    }
    fn get(&self, n: usize) -> Option<&'t str> {
        self.place(n).map(|(a, b)| &self.text[a..b])
    }
}
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

/// Regular expressions by pattern and flags, so that a constant pattern is compiled once per connection.
#[derive(Default)]
pub struct Cache {
    compiled: RefCell<HashMap<(String, String), Rc<Pattern>>>,
    /// the one that was asked for last, and what it weighed then: it grows with the texts in which it is searched
    last: RefCell<Option<(Rc<Pattern>, usize)>>,
    /// bytes of all, without what the last one has grown
    weight: Cell<usize>,
}

/// Patterns kept before the cache is emptied.
const CAPACITY: usize = 64;
/// Bytes of the patterns and their automata, above which the cache is emptied.
const BUDGET: usize = 16 << 20;

impl Cache {
    /// The compiled pattern; `compile` makes one that is not in the cache. Errors: those of `compile`.
    pub fn get<E>(
        &self,
        pattern: &str,
        flags: &str,
        compile: impl FnOnce() -> Result<Pattern, E>,
    ) -> Result<Rc<Pattern>, E> {
        self.weigh_last();
        let key = (pattern.to_string(), flags.to_string());
        if let Some(found) = self.compiled.borrow().get(&key) {
            *self.last.borrow_mut() = Some((found.clone(), found.weight()));
            return Ok(found.clone());
        }
        let compiled = Rc::new(compile()?);
        if self.compiled.borrow().len() >= CAPACITY {
            self.clear();
        }
        let weight = compiled.weight();
        self.weight.set(self.weight.get() + weight + 2 * pattern.len());
        *self.last.borrow_mut() = Some((compiled.clone(), weight));
        self.compiled.borrow_mut().insert(key, compiled.clone());
        Ok(compiled)
    }

    /// Adds what the last pattern has grown, and empties the cache if all have become too large.
    fn weigh_last(&self) {
        if let Some((pattern, before)) = self.last.take() {
            self.weight.set(self.weight.get() + pattern.weight().saturating_sub(before));
        }
        if self.weight.get() > BUDGET {
            self.clear();
        }
    }

    fn clear(&self) {
        self.compiled.borrow_mut().clear();
        self.last.take();
        self.weight.set(0);
    }
}

// --- LIKE ------------------------------------------------------------------------------------------------------------

/// Whether `text` matches a LIKE pattern with `\` as escape character.
fn like(text: &str, pattern: &str) -> Result<bool> {
    like_bytes(text.as_bytes(), pattern.as_bytes(), true)
}

/// The same for byte strings; `utf8`: `_` stands for a character, not for a byte.
fn like_bytes(text: &[u8], pattern: &[u8], utf8: bool) -> Result<bool> {
    let bad = || PgError::new(SqlState::INVALID_ESCAPE_SEQUENCE, "LIKE pattern must not end with escape character");
    let (mut t, mut p) = (0, 0);
    // Where to go on if the text after the last % does not match: one character further.
    let mut retry: Option<(usize, usize)> = None;
    let character = |b: &[u8], i: usize| {
        let mut n = 1;
        // bounded: the bytes of a character
        while utf8 && b.get(i + n).is_some_and(|b| b & 0xc0 == 0x80) {
            n += 1;
        }
        n
    };
    loop {
        work::tick(1)?;
        let matched = match pattern.get(p) {
            None if t == text.len() => return Ok(true),
            None => false,
            Some(b'%') => {
                p += 1;
                if p == pattern.len() {
                    return Ok(true);
                }
                retry = Some((t, p));
                continue;
            }
            Some(b'_') if t < text.len() => {
                t += character(text, t);
                p += 1;
                true
            }
            Some(b'_') => false,
            // The escape is looked at only while there is text left.
            Some(b'\\') if t == text.len() => false,
            Some(b'\\') => {
                let next = pattern.get(p + 1).ok_or_else(bad)?;
                if text.get(t) == Some(next) {
                    t += 1;
                    p += 2;
                    true
                } else {
                    false
                }
            }
            Some(b) if text.get(t) == Some(b) => {
                t += 1;
                p += 1;
                true
            }
            Some(_) => false,
        };
        if !matched {
            match retry {
                Some((from, after)) if from < text.len() => {
                    t = from + character(text, from);
                    p = after;
                    retry = Some((t, p));
                }
                _ => return Ok(false),
            }
        }
    }
}
fn like_call(c: &Call) -> Result<Datum> {
    Ok(Datum::from(like(c.text(0)?, c.text(1)?)?))
}
fn not_like(c: &Call) -> Result<Datum> {
    Ok(Datum::from(!like(c.text(0)?, c.text(1)?)?))
}
fn ilike(c: &Call) -> Result<bool> {
    like(&lower_text(c.text(0)?), &lower_text(c.text(1)?))
}
fn ilike_call(c: &Call) -> Result<Datum> {
    Ok(Datum::from(ilike(c)?))
}
fn not_ilike(c: &Call) -> Result<Datum> {
    Ok(Datum::from(!ilike(c)?))
}
fn escape_character(escape: &str) -> Result<Option<char>> {
    let mut chars = escape.chars();
    match (chars.next(), chars.next()) {
        (first, None) => Ok(first),
        _ => Err(PgError::new(SqlState::INVALID_ESCAPE_SEQUENCE, "invalid escape string")
            .hint("Escape string must be empty or one character.")),
    }
}
/// The pattern with `\` as escape character instead of the one given.
fn like_escape(c: &Call) -> Result<Datum> {
    let escape = escape_character(c.text(1)?)?;
    let mut out = String::new();
    let mut after_escape = false;
    for ch in c.text(0)?.chars().pulsing() {
        if Some(ch) == escape && escape != Some('\\') && !after_escape {
            out.push('\\');
            after_escape = true;
        } else if ch == '\\' && escape != Some('\\') {
            out.push('\\');
            if !after_escape {
                out.push('\\');
            }
            after_escape = false;
        } else {
            out.push(ch);
            after_escape = false;
        }
    }
    Ok(Datum::Text(out))
}

// --- SIMILAR TO ------------------------------------------------------------------------------------------------------

/// The regular expression that a SIMILAR TO pattern means.
fn similar(pattern: &str, escape: Option<char>) -> Result<String> {
    let mut out = String::from("^(?:");
    let (mut after_escape, mut separators) = (false, 0);
    let mut bracket = 0usize;
    let mut bracket_start = false;
    for ch in pattern.chars() {
        work::pulse(1);
        if after_escape {
            if ch == '"' && bracket == 0 {
                match separators {
                    0 => out += "){1,1}?(",
                    1 => out += "){1,1}(?:",
                    _ => {
                        return Err(PgError::new(
                            SqlState::INVALID_USE_OF_ESCAPE_CHARACTER,
                            "SQL regular expression may not contain more than two escape-double-quote separators",
                        ))
                    }
                }
                separators += 1;
            } else {
                out.push('\\');
                out.push(ch);
            }
            after_escape = false;
        } else if Some(ch) == escape {
            after_escape = true;
        } else if bracket > 0 {
            if ch == '\\' {
                out.push('\\');
            }
            out.push(ch);
            if ch == ']' && !bracket_start {
                bracket -= 1;
            }
            bracket_start = bracket_start && ch == '^';
        } else {
            match ch {
                '[' => {
                    bracket += 1;
                    bracket_start = true;
                    out.push('[');
                }
                '%' => out += ".*",
                '_' => out.push('.'),
                '(' => out += "(?:",
                '\\' | '.' | '^' | '$' => {
                    out.push('\\');
                    out.push(ch);
                }
                _ => out.push(ch),
            }
        }
    }
    Ok(out + ")$")
}
fn similar_to_escape(c: &Call) -> Result<Datum> {
    let escape = if c.len() > 1 { escape_character(c.text(1)?)? } else { Some('\\') };
    Ok(Datum::Text(similar(c.text(0)?, escape)?))
}
/// The older form: a NULL escape means the default one.
fn similar_escape(c: &Call) -> Result<Datum> {
    if c.is_null(0) {
        return Ok(Datum::Null);
    }
    let escape = if c.is_null(1) { Some('\\') } else { escape_character(c.text(1)?)? };
    Ok(Datum::Text(similar(c.text(0)?, escape)?))
}

// --- regular expressions: compiling ----------------------------------------------------------------------------------

/// Flags as `regexp_…` functions take them: the options of the pattern and whether `g` was among them.
fn parse_flags(flags: &str) -> Result<(Options, bool)> {
    let (mut options, mut global) = (Options::default(), false);
    for ch in flags.chars() {
        work::pulse(1);
        if ch == 'g' {
            global = true;
        } else if !options.apply(ch) {
            return Err(invalid_parameter(format!("invalid regular expression option: \"{ch}\"")));
        }
    }
    Ok((options, global))
}

fn compiled(c: &Call, pattern: &str, options: Options) -> Result<Rc<Pattern>> {
    c.session.patterns.get(pattern, &format!("{options:?}"), || compile(pattern, options))
}

fn compile(pattern: &str, options: Options) -> Result<Pattern> {
    let Translation { regex, tree, groups, ignore_case } = regex_syntax::translate(pattern, options)?;
    // A reference to a part that took no part fails here, even if it may be absent.
    let search = if tree.refers_back() { None } else { Search::new(regex) };
    Ok(Pattern { search, tree, groups, ignore_case })
}

/// A text in which matches are searched.
struct Subject<'t> {
    text: &'t str,
    characters: Vec<char>,
    /// of each character, and of the end
    offsets: Vec<usize>,
    /// where matches may begin, if the searching engines do not know it
    begins: OnceCell<Set>,
}

impl<'t> Subject<'t> {
    fn new(text: &'t str) -> Subject<'t> {
        Subject {
            text,
            characters: text.chars().pulsing().collect(),
            offsets: text.char_indices().pulsing().map(|(i, _)| i).chain([text.len()]).collect(),
            begins: OnceCell::new(),
        }
    }

    /// The first place (in characters) from `at` on where a match may begin. (One of an expression with back-references may not.)
    fn begin(&self, pattern: &Pattern, at: usize) -> Result<Option<usize>> {
        if self.begins.get().is_none() {
            if let Some(search) = &pattern.search {
                if let Some(found) = search.first(self.text, self.offsets[at])? {
                    return found.map(|byte| self.number(byte)).transpose();
                }
            }
            let begins = Matcher::new(&self.characters, pattern.ignore_case).begins(&pattern.tree)?;
            self.begins.get_or_init(|| begins);
        }
        Ok(self.begins.get().and_then(|begins| begins.range(at..).next().copied()))
    }

    /// The number of the character that begins at a byte.
    fn number(&self, byte: usize) -> Result<usize> {
        self.offsets.binary_search(&byte).map_err(|_| PgError::internal("a place inside a character"))
    }

    /// The first match from byte `from` on.
    fn first(&self, pattern: &Pattern, from: usize) -> Result<Option<Captures<'t>>> {
        let mut at = self.number(from)?;
        while at < self.offsets.len() {
            work::tick(16)?;
            match self.begin(pattern, at)? {
                Some(begin) => at = begin,
                None => return Ok(None),
            }
            let mut matcher = Matcher::new(&self.characters, pattern.ignore_case);
            if let Some(parts) = matcher.match_at(&pattern.tree, at, pattern.groups)? {
                let bytes = |(a, b): (usize, usize)| (self.offsets[a], self.offsets[b]);
                return Ok(Some(Captures {
                    text: self.text,
                    places: parts.into_iter().map(|p| p.map(bytes)).collect(),
                }));
            }
            at += 1;
        }
        Ok(None)
    }
}

fn is_match(pattern: &Pattern, text: &str) -> Result<bool> {
    work::room(text.len())?;
    if let Some(search) = &pattern.search {
        if let Some(found) = search.matches(text)? {
            return Ok(found);
        }
    }
    Ok(Subject::new(text).first(pattern, 0)?.is_some())
}
fn first<'t>(pattern: &Pattern, text: &'t str) -> Result<Option<Captures<'t>>> {
    Subject::new(text).first(pattern, 0)
}

/// The first match of an expression, and its parts, without a session.
pub(crate) fn parts_of_first_match(pattern: &str, text: &str) -> Result<Option<Vec<Option<String>>>> {
    let pattern = compile(pattern, Options::default())?;
    let found = first(&pattern, text)?;
    Ok(found.map(|found| (0..found.places.len()).map(|n| found.get(n).map(str::to_string)).collect()))
}

fn matches(c: &Call, ignore_case: bool) -> Result<bool> {
    let options = Options { ignore_case, ..Options::default() };
    is_match(&*compiled(c, c.text(1)?, options)?, c.text(0)?)
}
/// `like_regex` of a path expression: `s` lets `.` match line ends, `m` lets `^` and `$` match at them, `q` takes the pattern
/// literally.
pub(crate) fn path_matches(c: &Call, text: &str, pattern: &str, flags: &str) -> Result<bool> {
    is_match(&*compiled(c, pattern, path_options(flags))?, text)
}
/// Whether the pattern of `like_regex` can be read: what paths are checked with. Errors: 2201B.
pub fn check_path_pattern(pattern: &str, flags: &str) -> Result<()> {
    regex_syntax::translate(pattern, path_options(flags)).map(drop)
}
fn path_options(flags: &str) -> Options {
    let literal = flags.contains('q');
    Options {
        ignore_case: flags.contains('i'),
        newline_stops: !literal && !flags.contains('s'),
        newline_anchors: !literal && flags.contains('m'),
        literal,
        ..Options::default()
    }
}
fn regex_eq(c: &Call) -> Result<Datum> {
    Ok(Datum::from(matches(c, false)?))
}
fn regex_ne(c: &Call) -> Result<Datum> {
    Ok(Datum::from(!matches(c, false)?))
}
fn iregex_eq(c: &Call) -> Result<Datum> {
    Ok(Datum::from(matches(c, true)?))
}
fn iregex_ne(c: &Call) -> Result<Datum> {
    Ok(Datum::from(!matches(c, true)?))
}

/// The matches from byte `from` on, in order, each after the one before. An empty match is taken only where it does not
/// touch the end of the one before, as PostgreSQL searches.
fn all<'t>(pattern: &Pattern, text: &'t str, from: usize, most: usize) -> Result<Vec<Captures<'t>>> {
    let subject = Subject::new(text);
    let (mut out, mut at) = (Vec::new(), from);
    while out.len() < most && at <= text.len() {
        work::tick(16)?;
        let Some(captures) = subject.first(pattern, at)? else { break };
        let (begin, end) = captures.place(0).ok_or_else(|| PgError::internal("a match without extent"))?;
        at = end;
        if begin == end {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
        }
        out.push(captures);
    }
    Ok(out)
}

fn group(captures: &Captures, n: usize) -> Datum {
    captures.get(n).into()
}

/// The parenthesised parts, or the whole match if there are none.
fn parts(captures: &Captures) -> Datum {
    let elements = match captures.places.len() {
        1 => vec![group(captures, 0)],
        n => (1..n).map(|i| group(captures, i)).collect(),
    };
    Array::from_elements(elements).to_datum()
}

fn flags_argument(c: &Call, i: usize) -> Result<(Options, bool)> {
    if c.len() > i {
        parse_flags(c.text(i)?)
    } else {
        Ok((Options::default(), false))
    }
}
fn no_global(function: &str) -> PgError {
    invalid_parameter(format!("{function} does not support the \"global\" option"))
}

/// substring(text from pattern): the first parenthesised part, or the whole match.
fn regex_substr(c: &Call) -> Result<Datum> {
    let regex = compiled(c, c.text(1)?, Options::default())?;
    let Some(captures) = first(&regex, c.text(0)?)? else { return Ok(Datum::Null) };
    Ok(group(&captures, usize::from(captures.places.len() > 1)))
}

fn regexp_match(c: &Call) -> Result<Datum> {
    let (options, global) = flags_argument(c, 2)?;
    if global {
        return Err(no_global("regexp_match()").hint("Use the regexp_matches function instead."));
    }
    let regex = compiled(c, c.text(1)?, options)?;
    Ok(first(&regex, c.text(0)?)?.map_or(Datum::Null, |captures| parts(&captures)))
}
fn regexp_matches(c: &Call) -> Result<Datum> {
    regexp_matches_by(c, flags_argument(c, 2)?)
}
fn regexp_matches_by(c: &Call, (options, global): (Options, bool)) -> Result<Datum> {
    let regex = compiled(c, c.text(1)?, options)?;
    let found = all(&regex, c.text(0)?, 0, if global { usize::MAX } else { 1 })?;
    Ok(Array::from_elements(found.iter().map(parts).collect()).to_datum())
}
fn regexp_like(c: &Call) -> Result<Datum> {
    let (options, global) = flags_argument(c, 2)?;
    if global {
        return Err(no_global("regexp_like()"));
    }
    Ok(Datum::from(is_match(&*compiled(c, c.text(1)?, options)?, c.text(0)?)?))
}

/// An argument that has to be at least `low`; `default` where the call has it not.
fn int_at_least(c: &Call, i: usize, name: &str, low: i64, default: i64) -> Result<i64> {
    if c.len() <= i {
        return Ok(default);
    }
    let v = c.int(i)?;
    if v < low {
        return Err(invalid_parameter(format!("invalid value for parameter \"{name}\": {v}")));
    }
    Ok(v)
}
/// Byte offset of the search's start; None: behind the text's end.
fn start(c: &Call, text: &str, i: usize) -> Result<Option<usize>> {
    let n = int_at_least(c, i, "start", 1, 1)? as usize;
    let mut offsets = text.char_indices().map(|(i, _)| i).chain([text.len()]);
    Ok(offsets.nth(n - 1))
}
fn regexp_count(c: &Call) -> Result<Datum> {
    let text = c.text(0)?;
    let from = start(c, text, 2)?;
    let (options, global) = flags_argument(c, 3)?;
    if global {
        return Err(no_global("regexp_count()"));
    }
    let regex = compiled(c, c.text(1)?, options)?;
    Ok(Datum::Int(match from {
        Some(from) => all(&regex, text, from, usize::MAX)?.len() as i64,
        None => 0,
    }))
}
/// The n-th match from a start, and which part of it: what `regexp_substr` and `regexp_instr` share.
fn nth_part(c: &Call, name: &str, flags: usize, part: usize) -> Result<Option<(usize, usize)>> {
    let text = c.text(0)?;
    let from = start(c, text, 2)?;
    let n = int_at_least(c, 3, "n", 1, 1)? as usize;
    if flags > 4 {
        at_end(c)?;
    }
    let part = int_at_least(c, part, "subexpr", 0, 0)? as usize;
    let (options, global) = flags_argument(c, flags)?;
    if global {
        return Err(no_global(name));
    }
    let regex = compiled(c, c.text(1)?, options)?;
    let Some(from) = from else { return Ok(None) };
    let found = all(&regex, text, from, n)?;
    // the whole match is the only part of a pattern that has none
    Ok(found.get(n - 1).and_then(|captures| match (captures.places.len(), part) {
        (1, 1) => captures.place(0),
        _ => captures.place(part),
    }))
}
fn regexp_substr(c: &Call) -> Result<Datum> {
    let text = c.text(0)?;
    Ok(nth_part(c, "regexp_substr()", 4, 5)?.map(|(a, b)| &text[a..b]).into())
}
/// The argument `endoption` of `regexp_instr`: whether the position behind the match is asked for.
fn at_end(c: &Call) -> Result<bool> {
    match int_at_least(c, 4, "endoption", 0, 0)? {
        0 => Ok(false),
        1 => Ok(true),
        v => Err(invalid_parameter(format!("invalid value for parameter \"endoption\": {v}"))),
    }
}
fn regexp_instr(c: &Call) -> Result<Datum> {
    let text = c.text(0)?;
    Ok(Datum::Int(match nth_part(c, "regexp_instr()", 5, 6)? {
        Some((a, b)) => text[..if at_end(c)? { b } else { a }].chars().count() as i64 + 1,
        None => 0,
    }))
}

/// Appends the replacement of one match: `\1` … `\9` and `\&` stand for its parts.
fn replacement(template: &str, captures: &Captures, out: &mut String) {
    let mut chars = template.chars();
    while let Some(ch) = chars.next() {
        work::pulse(1);
        if ch != '\\' {
            out.push(ch);
            continue;
        }
        match chars.next() {
            Some('&') => out.push_str(captures.get(0).unwrap_or_default()),
            Some(d @ '1'..='9') => {
                out.push_str(captures.get(d as usize - '0' as usize).unwrap_or_default());
            }
            Some('\\') => out.push('\\'),
            Some(other) => {
                out.push('\\');
                out.push(other);
            }
            None => out.push('\\'),
        }
    }
}
/// Replaces the `n`-th match (0: all).
fn replaced(c: &Call, options: Options, from: usize, n: usize) -> Result<Datum> {
    let (text, template) = (c.text(0)?, c.text(2)?);
    let regex = compiled(c, c.text(1)?, options)?;
    let found = all(&regex, text, from, if n == 0 { usize::MAX } else { n })?;
    let (mut out, mut copied) = (String::with_capacity(text.len()), 0);
    for captures in found.iter().skip(n.saturating_sub(1)) {
        work::pulse(1);
        let Some((begin, end)) = captures.place(0) else { continue };
        out.push_str(&text[copied..begin]);
        replacement(template, captures, &mut out);
        copied = end;
    }
    out.push_str(&text[copied..]);
    Ok(Datum::Text(out))
}
fn regexp_replace(c: &Call) -> Result<Datum> {
    if c.len() > 3 {
        let flags = c.text(3)?;
        if let Some(digit) = flags.chars().next().filter(char::is_ascii_digit) {
            return Err(invalid_parameter(format!("invalid regular expression option: \"{digit}\"")).hint(
                "If you meant to use regexp_replace() with a start parameter, cast the fourth argument to integer explicitly.",
            ));
        }
    }
    let (options, global) = flags_argument(c, 3)?;
    replaced(c, options, 0, if global { 0 } else { 1 })
}
fn regexp_replace_from(c: &Call) -> Result<Datum> {
    let text = c.text(0)?;
    let from = start(c, text, 3)?;
    let n = int_at_least(c, 4, "n", 0, 1)?;
    let (options, global) = flags_argument(c, 5)?;
    // `g` counts only where the number of the match is not given
    let n = if c.len() > 4 || !global { n } else { 0 };
    match from {
        Some(from) => replaced(c, options, from, n as usize),
        None => {
            compiled(c, c.text(1)?, options)?;
            Ok(Datum::from(text))
        }
    }
}
fn regexp_split(c: &Call, name: &str, (options, global): (Options, bool)) -> Result<Datum> {
    if global {
        return Err(no_global(name));
    }
    let text = c.text(0)?;
    let regex = compiled(c, c.text(1)?, options)?;
    let (mut elements, mut from) = (Vec::new(), 0);
    for captures in all(&regex, text, 0, usize::MAX)? {
        work::pulse(1);
        let Some((begin, end)) = captures.place(0) else { continue };
        // An empty match separates only between characters.
        if begin == end && (begin == from || begin == text.len()) {
            continue;
        }
        elements.push(Datum::from(&text[from..begin]));
        from = end;
    }
    elements.push(Datum::from(&text[from..]));
    Ok(Array::from_elements(elements).to_datum())
}
fn regexp_split_to_array(c: &Call) -> Result<Datum> {
    regexp_split(c, "regexp_split_to_array()", flags_argument(c, 2)?)
}
fn regexp_split_to_table(c: &Call) -> Result<Datum> {
    regexp_split(c, "regexp_split_to_table()", flags_argument(c, 2)?)
}

/// The flags of citext's functions: case does not count, unless `c` says that it does.
fn citext_flags(c: &Call) -> Result<(Options, bool)> {
    match c.len() {
        0..=2 => parse_flags("i"),
        _ if c.text(2)?.contains('c') => parse_flags(c.text(2)?),
        _ => parse_flags(&format!("{}i", c.text(2)?)),
    }
}

pub(crate) const FUNCTIONS: &[(&str, Scalar)] = &[
    ("bytealike", |c| Ok(Datum::from(like_bytes(c.bytes(0)?, c.bytes(1)?, false)?))),
    ("byteanlike", |c| Ok(Datum::from(!like_bytes(c.bytes(0)?, c.bytes(1)?, false)?))),
    ("textlike namelike", like_call),
    ("textnlike namenlike", not_like),
    ("texticlike nameiclike", ilike_call),
    ("texticnlike nameicnlike", not_ilike),
    ("like_escape", like_escape),
    ("similar_to_escape_1 similar_to_escape_2", similar_to_escape),
    ("similar_escape", similar_escape),
    ("textregexeq nameregexeq", regex_eq),
    ("textregexne nameregexne", regex_ne),
    ("texticregexeq nameicregexeq", iregex_eq),
    ("texticregexne nameicregexne", iregex_ne),
    ("textregexsubstr", regex_substr),
    ("textregexreplace textregexreplace_noopt", regexp_replace),
    (
        "textregexreplace_extended textregexreplace_extended_no_flags textregexreplace_extended_no_n",
        regexp_replace_from,
    ),
    ("regexp_match regexp_match_no_flags", regexp_match),
    ("regexp_matches regexp_matches_no_flags", regexp_matches),
    ("regexp_like regexp_like_no_flags", regexp_like),
    ("regexp_count regexp_count_no_start regexp_count_no_flags", regexp_count),
    (
        "regexp_substr regexp_substr_no_start regexp_substr_no_n regexp_substr_no_flags regexp_substr_no_subexpr",
        regexp_substr,
    ),
    (
        "regexp_instr regexp_instr_no_start regexp_instr_no_n regexp_instr_no_endoption regexp_instr_no_flags \
         regexp_instr_no_subexpr",
        regexp_instr,
    ),
    ("regexp_split_to_array regexp_split_to_array_no_flags", regexp_split_to_array),
    ("regexp_matches(citext,citext) regexp_matches(citext,citext,text)", |c| regexp_matches_by(c, citext_flags(c)?)),
    ("regexp_split_to_table(citext,citext) regexp_split_to_table(citext,citext,text)", |c| {
        regexp_split(c, "regexp_split_to_table()", citext_flags(c)?)
    }),
    ("regexp_split_to_table regexp_split_to_table_no_flags", regexp_split_to_table),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_that_have_grown_are_let_go() {
        let cache = Cache::default();
        // a text in which an automaton meets ever new sets of places
        let mut state = 1u32;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            if state & 0x10000 == 0 {
                'a'
            } else {
                'b'
            }
        };
        let text: String = (0..50_000).map(|_| next()).collect();
        let kept = |cache: &Cache| cache.compiled.borrow().values().map(|p| p.weight()).sum::<usize>();
        let (mut most, mut cleared) = (0, false);
        for i in 0..CAPACITY {
            let before = cache.compiled.borrow().len();
            let source = format!("a[ab]{{30}}c{i}$");
            let pattern = cache.get(&source, "", || compile(&source, Options::default())).expect("is read");
            assert!(!is_match(&pattern, &text).expect("is searched"));
            cleared |= cache.compiled.borrow().len() < before;
            most = most.max(kept(&cache));
        }
        assert!(cleared && (BUDGET / 2..BUDGET + (8 << 20)).contains(&most), "{most} bytes");
        // one that is searched again and again is counted once
        let small = Cache::default();
        for _ in 0..1000 {
            let pattern = small.get("a[ab]{30}c$", "", || compile("a[ab]{30}c$", Options::default())).expect("is read");
            assert!(!is_match(&pattern, &text[..2000]).expect("is searched"));
        }
        assert!(small.weight.get() <= kept(&small) + 100, "{} for {}", small.weight.get(), kept(&small));
    }
}
