//! `ts_headline`: the stretch of a document (or several) that shows best where a query matches, with its words marked.
//!
//! The document's words are listed with the operands of the query that they are ([`Item`]). A cover is a short stretch in which the
//! query matches, between two of its words; from covers come the stretches that are shown, cut or lengthened to a length in words.

use super::dictionary::{Configuration, Lexized};
use super::document::{too_long, Tell};
use super::parser::{Kind, Parser};
use pgsqlite_types::tsearch::matching::{matches, Document, Found};
use pgsqlite_types::tsearch::tsquery::Operand;
use pgsqlite_types::tsearch::{Query, LAST_POSITION};
use pgsqlite_types::work::{self, Ticking};
use pgsqlite_types::{PgError, Result, SqlState};

/// The options of `ts_headline`.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    start: String,
    stop: String,
    delimiter: String,
    max_words: i64,
    min_words: i64,
    short_word: i64,
    max_fragments: i64,
    highlight_all: bool,
}

/// Bytes of StartSel and its like, at most.
const LONGEST_MARK: usize = 32767;

impl Default for Options {
    fn default() -> Self {
        Options {
            start: "<b>".into(),
            stop: "</b>".into(),
            delimiter: " ... ".into(),
            max_words: 35,
            min_words: 15,
            short_word: 3,
            max_fragments: 0,
            highlight_all: false,
        }
    }
}

fn invalid(message: impl Into<String>) -> PgError {
    PgError::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

impl Options {
    /// Reads `Name=value, Name="value"`. Errors: 22023, 42601.
    pub fn parse(text: &str) -> Result<Options> {
        let mut options = Options::default();
        for (name, value) in pairs(text)? {
            work::pulse(1);
            let number = || {
                let wrong = || invalid_integer(&value);
                let value: i64 = value.trim().parse().map_err(|_| wrong())?;
                i32::try_from(value).map(i64::from).map_err(|_| wrong())
            };
            match name.to_ascii_lowercase().as_str() {
                "maxwords" => options.max_words = number()?,
                "minwords" => options.min_words = number()?,
                "shortword" => options.short_word = number()?,
                "maxfragments" => options.max_fragments = number()?,
                "startsel" => options.start.clone_from(&value),
                "stopsel" => options.stop.clone_from(&value),
                "fragmentdelimiter" => options.delimiter.clone_from(&value),
                "highlightall" => {
                    options.highlight_all =
                        ["1", "on", "true", "t", "y", "yes"].iter().any(|yes| value.eq_ignore_ascii_case(yes));
                }
                _ => return Err(invalid(format!("unrecognized headline parameter: \"{name}\""))),
            }
        }
        for (name, value) in
            [("StartSel", &options.start), ("StopSel", &options.stop), ("FragmentDelimiter", &options.delimiter)]
        {
            work::pulse(1);
            if value.len() > LONGEST_MARK {
                return Err(invalid(format!("value for \"{name}\" is too long")));
            }
        }
        if !options.highlight_all {
            if options.min_words >= options.max_words {
                return Err(invalid("MinWords should be less than MaxWords"));
            }
            if options.min_words <= 0 {
                return Err(invalid("MinWords should be positive"));
            }
            if options.short_word < 0 {
                return Err(invalid("ShortWord should be >= 0"));
            }
            if options.max_fragments < 0 {
                return Err(invalid("MaxFragments should be >= 0"));
            }
        }
        Ok(options)
    }
}

fn invalid_integer(value: &str) -> PgError {
    PgError::new(SqlState::INVALID_TEXT_REPRESENTATION, format!("invalid input syntax for type integer: \"{value}\""))
}

/// `name = value` pairs between commas or blanks; values may stand in quotes of either kind.
fn pairs(text: &str) -> Result<Vec<(String, String)>> {
    let malformed = || PgError::new(SqlState::SYNTAX_ERROR, format!("invalid parameter list format: \"{text}\""));
    let mut out = Vec::new();
    let mut chars = text.chars().peekable();
    let is_space = |c: &char| c.is_whitespace();
    loop {
        work::pulse(1);
        while chars.next_if(|c| is_space(c) || *c == ',').is_some() {}
        if chars.peek().is_none() {
            return Ok(out);
        }
        let mut name = String::new();
        if chars.next_if_eq(&'"').is_some() {
            loop {
                work::pulse(1);
                match chars.next() {
                    Some('"') if chars.next_if_eq(&'"').is_some() => name.push('"'),
                    Some('"') => break,
                    Some(c) => name.push(c),
                    None => return Err(malformed()),
                }
            }
        } else {
            if !chars.peek().is_some_and(|c| c.is_alphabetic()) {
                return Err(malformed());
            }
            while let Some(c) = chars.next_if(|c| !is_space(c) && *c != '=') {
                work::pulse(1);
                name.push(c);
            }
        }
        while chars.next_if(is_space).is_some() {}
        if chars.next() != Some('=') {
            return Err(malformed());
        }
        while chars.next_if(is_space).is_some() {}
        let mut value = String::new();
        match chars.peek().copied() {
            Some(quote @ ('\'' | '"')) => {
                chars.next();
                loop {
                    work::pulse(1);
                    match chars.next() {
                        Some(c) if c == quote && chars.next_if_eq(&quote).is_some() => value.push(c),
                        Some(c) if c == quote => break,
                        Some('\\') if quote == '\'' => value.push(chars.next().ok_or_else(malformed)?),
                        Some(c) => value.push(c),
                        None => return Err(malformed()),
                    }
                }
            }
            _ => {
                while let Some(c) = chars.next_if(|c| !is_space(c) && *c != ',') {
                    work::pulse(1);
                    value.push(c);
                }
            }
        }
        out.push((name, value));
    }
}

/// A token of the document, or (`repeated`) one more operand that the token before it is.
struct Item<'d> {
    token: &'d str,
    kind: Kind,
    place: u32,
    /// which operand of the query
    operand: Option<usize>,
    repeated: bool,
    shown: bool,
    selected: bool,
    /// a tag, which becomes a blank
    replaced: bool,
    /// what follows in parts
    skipped: bool,
}

impl Item<'_> {
    fn is_interesting(&self) -> bool {
        self.operand.is_some() && !self.repeated
    }
    fn in_parts(&self) -> bool {
        matches!(self.kind, Kind::Url | Kind::NumCompound | Kind::AsciiCompound | Kind::Compound)
    }
    fn is_word(&self) -> bool {
        !matches!(self.kind, Kind::Blank | Kind::Tag) && !self.in_parts()
    }
    /// Nothing should begin or end here.
    fn is_bad_end(&self, short: i64) -> bool {
        use Kind::*;
        let no_end = !self.is_word()
            || matches!(self.kind, Scientific | Version | Decimal | SignedInt | UnsignedInt | Protocol | Entity);
        (no_end || self.token.len() as i64 <= short) && !self.is_interesting()
    }
}

/// The words of a stretch, as a query sees them.
struct Stretch<'i, 'd> {
    items: &'i [Item<'d>],
    operands: &'i [&'i Operand],
}

impl Document for Stretch<'_, '_> {
    fn find(&self, operand: &Operand) -> Found {
        let Some(i) = self.operands.iter().position(|o| std::ptr::eq(*o, operand)) else { return Found::No };
        let mut places: Vec<u32> = Vec::new();
        for item in self.items.iter().pulsing().filter(|item| item.operand == Some(i)) {
            if places.last().is_none_or(|last| *last < item.place) {
                places.push(item.place);
            }
        }
        if places.is_empty() {
            Found::No
        } else {
            Found::At(places)
        }
    }
}

fn items<'d>(configuration: &Configuration, text: &'d str, operands: &[&Operand], tell: Tell) -> Vec<Item<'d>> {
    let mut out: Vec<Item> = Vec::new();
    let mut place = 0;
    for (kind, token) in Parser::new(text) {
        work::pulse(1);
        if too_long(token, tell) {
            continue;
        }
        let lexeme = match configuration.lexize(kind, token).0 {
            Lexized::Lexeme(lexeme) => {
                place += 1;
                Some(lexeme)
            }
            Lexized::Stop => {
                place += 1;
                None
            }
            Lexized::Unknown | Lexized::Changed(_) => None,
        };
        let at = place.min(u32::from(LAST_POSITION));
        let item = |operand: Option<usize>, repeated: bool| Item {
            token,
            kind,
            place: at,
            operand,
            repeated,
            shown: false,
            selected: false,
            replaced: false,
            skipped: false,
        };
        let Some(lexeme) = lexeme else {
            out.push(item(None, false));
            continue;
        };
        let means = |o: &Operand| if o.prefix { lexeme.starts_with(&o.text) } else { lexeme == o.text };
        let mut found = operands.iter().enumerate().filter(|(_, o)| means(o)).map(|(i, _)| i);
        out.push(item(found.next(), false));
        out.extend(found.map(|i| item(Some(i), true)));
    }
    out
}

/// The first word of the query from `from` on.
fn next_operand(items: &[Item], from: usize) -> Option<usize> {
    (from..items.len()).pulsing().find(|i| items[*i].operand.is_some())
}

/// The next cover that begins at `from` or behind: its first and last word.
fn cover(items: &[Item], query: &Query, operands: &[&Operand], longest: usize, from: usize) -> Option<(usize, usize)> {
    let mut begin = next_operand(items, from);
    while let Some(first) = begin {
        work::pulse(1);
        let mut end = Some(first);
        while let Some(last) = end.filter(|last| *last == first || last - first < longest) {
            work::pulse(1);
            let stretch = Stretch { items: &items[first..=last], operands };
            if matches(query, &stretch) {
                return Some((first, last));
            }
            end = next_operand(items, last + 1);
        }
        begin = next_operand(items, first + 1);
    }
    None
}

fn mark(items: &mut [Item], highlight_all: bool) {
    for item in items {
        work::pulse(1);
        item.selected |= item.operand.is_some();
        if !highlight_all && item.kind == Kind::Tag {
            item.replaced = true;
        } else if item.in_parts() {
            item.skipped = true;
        }
        item.shown = !item.repeated;
    }
}

/// The first words of the document: there is nothing better to show.
fn first_words(items: &[Item], words: i64) -> usize {
    let (mut count, mut end) = (0, 0);
    for (i, item) in items.iter().enumerate() {
        work::pulse(1);
        if count >= words {
            break;
        }
        count += i64::from(item.is_word());
        end = i;
    }
    end
}

/// The one stretch to show (MaxFragments = 0).
fn one_stretch(items: &[Item], query: &Query, operands: &[&Operand], o: &Options, longest: usize) -> (usize, usize) {
    let bad = |i: usize| items[i].is_bad_end(o.short_word);
    let word = |i: usize| i64::from(items[i].is_word());
    let interesting = |i: usize| i64::from(items[i].is_interesting());
    // begin, end, interesting words, whether all of the cover is in it
    let mut best: Option<(usize, usize, i64, bool)> = None;
    let mut from = 0;
    while let Some((p, q)) = cover(items, query, operands, longest, from) {
        work::pulse(1);
        let (mut words, mut found) = (0, 0);
        let (mut begin, mut end) = (p, p);
        let mut i = p;
        while i <= q && words < o.max_words {
            work::pulse(1);
            words += word(i);
            found += interesting(i);
            end = i;
            i += 1;
        }
        if words < o.max_words {
            // there is room: on to a good end
            i -= 1;
            while i < items.len() && words < o.max_words {
                work::pulse(1);
                if i > q {
                    words += word(i);
                    found += interesting(i);
                }
                end = i;
                if !bad(i) && words >= o.min_words {
                    break;
                }
                i += 1;
            }
            if words < o.min_words {
                // the document ends here: to the left then
                let mut at = 0;
                for i in (0..p).rev() {
                    work::pulse(1);
                    words += word(i);
                    found += interesting(i);
                    if words >= o.max_words || !bad(i) && words >= o.min_words {
                        at = i;
                        break;
                    }
                }
                begin = at;
            }
        } else {
            // cut back to a good end
            let mut i = i.min(q);
            while words > o.min_words && bad(i) {
                work::pulse(1);
                words -= word(i);
                found -= interesting(i);
                i -= 1;
                end = i;
            }
        }
        let whole = begin <= p && end >= q;
        let better = match best {
            None => true,
            Some((_, best_end, best_found, best_whole)) => {
                (whole, found, !bad(end)) > (best_whole, best_found, !bad(best_end))
            }
        };
        if better {
            best = Some((begin, end, found, whole));
        }
        from = p + 1;
    }
    match best {
        Some((begin, end, ..)) => (begin, end),
        None => (0, first_words(items, o.min_words)),
    }
}

/// A piece of a cover that is no longer than MaxWords.
struct Piece {
    begin: usize,
    end: usize,
    interesting: i64,
    words: i64,
    open: bool,
}

/// The pieces of a cover: each begins and ends with a word of the query.
fn pieces(items: &[Item], (from, to): (usize, usize), max_words: i64, out: &mut Vec<Piece>) {
    let mut from = from;
    while from <= to {
        work::pulse(1);
        let begin = (from..=to).find(|i| items[*i].is_interesting()).unwrap_or(to);
        let (mut words, mut interesting) = (0, 0);
        let mut i = begin;
        while i <= to && words < max_words {
            work::pulse(1);
            words += i64::from(items[i].is_word());
            interesting += i64::from(items[i].is_interesting());
            i += 1;
        }
        let mut end = to;
        if to > i {
            end = i;
            for i in (begin..=end).rev() {
                work::pulse(1);
                end = i;
                if items[i].is_interesting() {
                    break;
                }
                words -= i64::from(items[i].is_word());
            }
        }
        out.push(Piece { begin, end, interesting, words, open: true });
        from = end + 1;
    }
}

/// Marks the stretches to show (MaxFragments > 0).
fn several_stretches(items: &mut [Item], query: &Query, operands: &[&Operand], o: &Options, longest: usize) {
    let mut all: Vec<Piece> = Vec::new();
    let mut from = 0;
    while let Some((p, q)) = cover(items, query, operands, longest, from) {
        work::pulse(1);
        pieces(items, (p, q), o.max_words, &mut all);
        from = p + 1;
    }
    let mut any = false;
    for _ in 0..o.max_fragments {
        work::pulse(1);
        // most words of the query, then fewest words
        let (mut most, mut fewest, mut chosen) = (0, i64::MAX, None);
        for (i, piece) in all.iter().enumerate().filter(|(_, piece)| piece.open) {
            work::pulse(1);
            if most < piece.interesting || most == piece.interesting && fewest > piece.words {
                (most, fewest, chosen) = (piece.interesting, piece.words, Some(i));
            }
        }
        let Some(chosen) = chosen else { break };
        let Piece { mut begin, mut end, mut words, .. } = all[chosen];
        all[chosen].open = false;
        if words < o.max_words {
            let word = |i: usize| i64::from(items[i].is_word());
            // half of the room is for what comes before, the rest for what comes behind
            let most = (o.max_words - words) / 2;
            let (mut taken, mut to) = (0, begin);
            for i in (0..begin).rev() {
                work::pulse(1);
                if taken >= most || items[i].shown {
                    break;
                }
                words += word(i);
                taken += word(i);
                to = i;
            }
            while to < begin && items[to].is_bad_end(o.short_word) {
                work::pulse(1);
                words -= word(to);
                to += 1;
            }
            begin = to;
            let mut to = end;
            for (i, item) in items.iter().enumerate().skip(end + 1) {
                work::pulse(1);
                if words >= o.max_words || item.shown {
                    break;
                }
                words += word(i);
                to = i;
            }
            while to > end && items[to].is_bad_end(o.short_word) {
                work::pulse(1);
                to -= 1;
            }
            end = to;
        }
        mark(&mut items[begin..=end], o.highlight_all);
        any = true;
        for piece in &mut all {
            work::pulse(1);
            if piece.begin <= end && piece.end >= begin {
                piece.open = false;
            }
        }
    }
    if !any && !items.is_empty() {
        let end = first_words(items, o.min_words);
        mark(&mut items[..=end], o.highlight_all);
    }
}

/// The headline of a document.
pub fn headline(configuration: &Configuration, text: &str, query: &Query, o: &Options, tell: Tell) -> String {
    let operands = query.operands();
    let mut items = items(configuration, text, &operands, tell);
    let mut longest = (o.max_words * 10).max(100);
    if o.max_fragments > 0 {
        longest = longest.saturating_mul(o.max_fragments);
        several_stretches(&mut items, query, &operands, o, longest as usize);
    } else if !items.is_empty() {
        let (begin, end) = match o.highlight_all {
            true => (0, items.len() - 1),
            false => one_stretch(&items, query, &operands, o, longest as usize),
        };
        mark(&mut items[begin..=end], o.highlight_all);
    }
    let mut out = String::new();
    let (mut inside, mut fragments) = (false, 0);
    for item in items.iter().filter(|item| !item.repeated) {
        work::pulse(1);
        if !item.shown {
            inside = false;
            continue;
        }
        if !inside {
            inside = true;
            fragments += 1;
            if fragments > 1 {
                out.push_str(&o.delimiter);
            }
        }
        if item.replaced {
            out.push(' ');
        } else if !item.skipped {
            if item.selected {
                out.push_str(&o.start);
            }
            out.push_str(item.token);
            if item.selected {
                out.push_str(&o.stop);
            }
        }
    }
    out
}
