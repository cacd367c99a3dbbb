//! The default parser: cuts a text into tokens of 23 types (manual, "Parsers").
//!
//! Where a token could become a longer one of another type (a word a host name, a number a version), the recognizer of that is tried
//! first, with everything behind; if it finds nothing, the token is what it was. Compound words, and URLs, come as a whole first,
//! then once more in parts. Recognizers take the place of the next character, and give the token that ends behind it.

use pgsqlite_types::work;
use regex::Regex;
use std::rc::Rc;
use std::sync::OnceLock;

/// Types of tokens, with the numbers of `ts_token_type('default')`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    AsciiWord = 1,
    Word,
    NumWord,
    Email,
    Url,
    Host,
    Scientific,
    Version,
    NumPart,
    WordPart,
    AsciiPart,
    Blank,
    Tag,
    Protocol,
    NumCompound,
    AsciiCompound,
    Compound,
    UrlPath,
    File,
    Decimal,
    SignedInt,
    UnsignedInt,
    Entity,
}

use Kind::*;

/// All types: their names and descriptions.
pub const KINDS: [(Kind, &str, &str); 23] = [
    (AsciiWord, "asciiword", "Word, all ASCII"),
    (Word, "word", "Word, all letters"),
    (NumWord, "numword", "Word, letters and digits"),
    (Email, "email", "Email address"),
    (Url, "url", "URL"),
    (Host, "host", "Host"),
    (Scientific, "sfloat", "Scientific notation"),
    (Version, "version", "Version number"),
    (NumPart, "hword_numpart", "Hyphenated word part, letters and digits"),
    (WordPart, "hword_part", "Hyphenated word part, all letters"),
    (AsciiPart, "hword_asciipart", "Hyphenated word part, all ASCII"),
    (Blank, "blank", "Space symbols"),
    (Tag, "tag", "XML tag"),
    (Protocol, "protocol", "Protocol head"),
    (NumCompound, "numhword", "Hyphenated word, letters and digits"),
    (AsciiCompound, "asciihword", "Hyphenated word, all ASCII"),
    (Compound, "hword", "Hyphenated word, all letters"),
    (UrlPath, "url_path", "URL path"),
    (File, "file", "File or path name"),
    (Decimal, "float", "Decimal notation"),
    (SignedInt, "int", "Signed integer"),
    (UnsignedInt, "uint", "Unsigned integer"),
    (Entity, "entity", "XML entity"),
];

/// What the next token begins as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Start {
    Anything,
    /// the parts of a compound word
    Parts,
    /// what is behind the host of a URL
    Path,
    Digits,
}

/// A token: its type, where it ends, how the next one begins.
#[derive(Debug, Clone, Copy)]
struct Found {
    kind: Kind,
    end: usize,
    next: Start,
    /// the next token begins where this one did: its parts follow
    again: bool,
}

fn token(kind: Kind, end: usize) -> Option<Found> {
    Some(Found { kind, end, next: Start::Anything, again: false })
}

fn compound(kind: Kind, end: usize) -> Option<Found> {
    Some(Found { kind, end, next: Start::Parts, again: true })
}

fn part(kind: Kind, end: usize) -> Option<Found> {
    Some(Found { kind, end, next: Start::Parts, again: false })
}

/// The tokens of a text, one after the other.
pub struct Parser<'t> {
    text: &'t str,
    chars: Rc<Vec<(usize, char)>>,
    at: usize,
    begin: usize,
    start: Start,
    /// a URL is taken apart: its host ends where its path begins
    want_host: bool,
    /// inside of <script> or <style>
    ignoring: bool,
}

fn is_letter(c: char) -> bool {
    c.is_ascii_alphabetic()
}

fn is_digit(c: char) -> bool {
    c.is_ascii_digit()
}

fn is_alnum(c: char) -> bool {
    c.is_alphanumeric()
}

fn is_alpha(c: char) -> bool {
    is_alnum(c) && !is_digit(c)
}

/// Marks that are no letters, but do not end a word.
fn is_mark(c: char) -> bool {
    static MARKS: OnceLock<Option<Regex>> = OnceLock::new();
    if c.is_ascii() || c == '\u{ad}' {
        return false;
    }
    let marks = MARKS.get_or_init(|| Regex::new(r"^[\p{M}\p{Cf}]$").ok());
    marks.as_ref().is_some_and(|m| m.is_match(c.encode_utf8(&mut [0; 4])))
}

fn is_url_char(c: char) -> bool {
    c.is_ascii_graphic() && !matches!(c, '"' | '<' | '>' | '\\' | '^' | '`' | '{' | '|' | '}')
}

fn is_file_char(c: char) -> bool {
    is_letter(c) || is_digit(c) || c == '_'
}

impl<'t> Parser<'t> {
    /// Begins to read a text.
    pub fn new(text: &'t str) -> Parser<'t> {
        let mut chars = Vec::new();
        for c in text.char_indices() {
            work::pulse(1);
            chars.push(c);
        }
        Parser {
            text,
            chars: Rc::new(chars),
            at: 0,
            begin: 0,
            start: Start::Anything,
            want_host: false,
            ignoring: false,
        }
    }

    fn char(&self, i: usize) -> Option<char> {
        self.chars.get(i).map(|c| c.1)
    }

    fn is(&self, i: usize, test: impl Fn(char) -> bool) -> bool {
        self.char(i).is_some_and(test)
    }

    fn slice(&self, from: usize, to: usize) -> &'t str {
        let byte = |i: usize| self.chars.get(i).map_or(self.text.len(), |c| c.0);
        &self.text[byte(from)..byte(to)]
    }

    /// The first place from `i` on where the test fails.
    fn past(&self, mut i: usize, test: impl Fn(char) -> bool) -> usize {
        while self.is(i, &test) {
            work::pulse(1);
            i += 1;
        }
        i
    }

    fn found(&mut self) -> Option<Found> {
        self.begin = self.at;
        let i = self.at;
        self.char(i)?;
        match self.start {
            Start::Anything => self.anything(i),
            Start::Parts => self.part(i),
            Start::Path => token(UrlPath, self.past(i + 1, is_url_char)),
            Start::Digits => self.unsigned(i),
        }
    }

    /// Another parser over the same text, from `i` on: its first token, if it is of this type.
    fn ahead(&self, i: usize, kind: Kind) -> Option<usize> {
        let mut other = Parser {
            text: self.text,
            chars: self.chars.clone(),
            at: i,
            begin: i,
            start: Start::Anything,
            want_host: true,
            ignoring: false,
        };
        let found = other.found()?;
        (found.kind == kind).then_some(found.end)
    }

    fn anything(&mut self, i: usize) -> Option<Found> {
        let c = self.char(i)?;
        if c == '<' {
            if let Some(found) = self.tag(i + 1) {
                return Some(found);
            }
        }
        if self.ignoring {
            return self.blank(i + 1);
        }
        let found = match c {
            _ if is_letter(c) => return self.ascii_word(i + 1),
            _ if is_digit(c) => return self.unsigned(i + 1),
            _ if is_alpha(c) => return self.word(i + 1),
            '-' | '+' if self.is(i + 1, is_digit) => return self.signed(i + 1),
            '&' => self.entity(i + 1),
            '~' => self.home(i + 1),
            '/' => self.path(i + 1),
            '.' if self.char(i + 1) == Some('.') => self.parent(i + 2),
            '.' if self.char(i + 1) == Some('/') => self.path(i + 2),
            _ => None,
        };
        found.or_else(|| self.blank(i + 1))
    }

    fn blank(&self, i: usize) -> Option<Found> {
        let goes_on = |c: char| match c {
            '<' => false,
            _ if self.ignoring => true,
            '-' | '+' | '&' | '/' => false,
            _ => !is_alnum(c),
        };
        token(Blank, self.past(i, goes_on))
    }

    // --- words -------------------------------------------------------------------------------------------------------

    fn ascii_word(&mut self, i: usize) -> Option<Found> {
        let i = self.past(i, is_letter);
        let longer = match self.char(i) {
            Some('.') => self.domain_first(i + 1).or_else(|| self.file_next(i + 1)),
            Some('-') => self.host_first(i + 1).or_else(|| self.ascii_compound_first(i + 1)),
            Some('_') => self.host_first(i + 1),
            Some('@') => self.email(i + 1),
            Some(':') => match (self.char(i + 1), self.char(i + 2)) {
                (Some('/'), Some('/')) => token(Protocol, i + 3),
                _ => None,
            },
            Some('/') => self.path(i + 1),
            Some(c) if is_digit(c) => return self.host(i + 1).or_else(|| self.num_word(i + 1)),
            Some(c) if is_alpha(c) || is_mark(c) => return self.word(i + 1),
            _ => None,
        };
        longer.or_else(|| token(AsciiWord, i))
    }

    fn word(&mut self, i: usize) -> Option<Found> {
        let i = self.past(i, |c| is_alpha(c) || is_mark(c));
        match self.char(i) {
            Some(c) if is_digit(c) => self.num_word(i + 1),
            Some('-') => self.word_compound_first(i + 1).or_else(|| token(Word, i)),
            _ => token(Word, i),
        }
    }

    fn num_word(&mut self, i: usize) -> Option<Found> {
        let i = self.past(i, |c| is_alnum(c) || is_mark(c));
        let longer = match self.char(i) {
            Some('@') => self.email(i + 1),
            Some('/') => self.path(i + 1),
            Some('.') => self.file_next(i + 1),
            Some('-') => self.num_compound_first(i + 1),
            _ => None,
        };
        longer.or_else(|| token(NumWord, i))
    }

    // --- compound words ----------------------------------------------------------------------------------------------

    /// Behind a hyphen: a part that begins with digits needs letters.
    fn digits_then_letters(&mut self, i: usize) -> Option<Found> {
        let i = self.past(i, is_digit);
        if self.is(i, |c| is_alpha(c) || is_mark(c)) {
            return self.num_compound(i + 1);
        }
        None
    }

    fn ascii_compound_first(&mut self, i: usize) -> Option<Found> {
        match self.char(i)? {
            c if is_letter(c) => self.ascii_compound(i + 1),
            c if is_digit(c) => self.digits_then_letters(i + 1),
            c if is_alpha(c) => self.word_compound(i + 1),
            _ => None,
        }
    }

    fn word_compound_first(&mut self, i: usize) -> Option<Found> {
        match self.char(i)? {
            c if is_digit(c) => self.digits_then_letters(i + 1),
            c if is_alpha(c) => self.word_compound(i + 1),
            _ => None,
        }
    }

    fn num_compound_first(&mut self, i: usize) -> Option<Found> {
        match self.char(i)? {
            c if is_digit(c) => self.digits_then_letters(i + 1),
            c if is_alpha(c) => self.num_compound(i + 1),
            _ => None,
        }
    }

    fn ascii_compound(&mut self, i: usize) -> Option<Found> {
        let i = self.past(i, is_letter);
        match self.char(i) {
            Some(c) if is_digit(c) => self.num_compound(i + 1),
            Some(c) if is_alpha(c) || is_mark(c) => self.word_compound(i + 1),
            Some('-') => deep(|| self.ascii_compound_first(i + 1)).or_else(|| compound(AsciiCompound, i)),
            _ => compound(AsciiCompound, i),
        }
    }

    fn word_compound(&mut self, i: usize) -> Option<Found> {
        let i = self.past(i, |c| is_alpha(c) || is_mark(c));
        match self.char(i) {
            Some(c) if is_digit(c) => self.num_compound(i + 1),
            Some('-') => deep(|| self.word_compound_first(i + 1)).or_else(|| compound(Compound, i)),
            _ => compound(Compound, i),
        }
    }

    fn num_compound(&mut self, i: usize) -> Option<Found> {
        let i = self.past(i, |c| is_alnum(c) || is_mark(c));
        match self.char(i) {
            Some('-') => deep(|| self.num_compound_first(i + 1)).or_else(|| compound(NumCompound, i)),
            _ => compound(NumCompound, i),
        }
    }

    /// A part of a compound word, or what comes behind it.
    fn part(&mut self, i: usize) -> Option<Found> {
        let c = self.char(i)?;
        if is_letter(c) {
            let i = self.past(i + 1, is_letter);
            return match self.char(i) {
                Some(c) if is_digit(c) => self.num_part(i + 1),
                Some(c) if is_alpha(c) || is_mark(c) => self.word_part(i + 1),
                _ => part(AsciiPart, i),
            };
        }
        if is_digit(c) {
            let i = self.past(i + 1, is_digit);
            if self.is(i, |c| is_alpha(c) || is_mark(c)) {
                return self.num_part(i + 1);
            }
        } else if is_alpha(c) {
            return self.word_part(i + 1);
        } else if c == '-' && self.is(i + 1, |c| is_alnum(c) || is_mark(c)) {
            return part(Blank, i + 1);
        }
        self.anything(i)
    }

    fn word_part(&self, i: usize) -> Option<Found> {
        let i = self.past(i, |c| is_alpha(c) || is_mark(c));
        match self.char(i) {
            Some(c) if is_digit(c) => self.num_part(i + 1),
            _ => part(WordPart, i),
        }
    }

    fn num_part(&self, i: usize) -> Option<Found> {
        part(NumPart, self.past(i, |c| is_alnum(c) || is_mark(c)))
    }

    // --- numbers -----------------------------------------------------------------------------------------------------

    fn unsigned(&mut self, i: usize) -> Option<Found> {
        let i = self.past(i, is_digit);
        let longer = match self.char(i) {
            Some('.') => self.domain_first(i + 1).or_else(|| self.decimal(i + 1)),
            Some(c) if is_letter(c) => {
                let exponent = if matches!(c, 'e' | 'E') { self.exponent(i + 1) } else { None };
                exponent.or_else(|| self.host(i + 1)).or_else(|| self.num_word(i + 1))
            }
            Some(c) if is_alpha(c) || is_mark(c) => self.num_word(i + 1),
            Some('/') => self.path(i + 1),
            Some('-' | '_') => self.host_first(i + 1),
            Some('@') => self.email(i + 1),
            _ => None,
        };
        longer.or_else(|| token(UnsignedInt, i))
    }

    fn exponent(&self, i: usize) -> Option<Found> {
        let digits = if self.is(i, |c| matches!(c, '+' | '-')) { i + 1 } else { i };
        let end = self.past(digits, is_digit);
        if end > digits {
            token(Scientific, end)
        } else {
            None
        }
    }

    /// The digits behind the point of an unsigned number.
    fn decimal(&self, i: usize) -> Option<Found> {
        let end = self.past(i, is_digit);
        if end == i {
            return None;
        }
        let longer = match self.char(end) {
            Some('.') => self.version(end + 1),
            Some('e' | 'E') => self.exponent(end + 1),
            _ => None,
        };
        longer.or_else(|| token(Decimal, end))
    }

    fn version(&self, mut i: usize) -> Option<Found> {
        let mut end = self.past(i, is_digit);
        if end == i {
            return None;
        }
        while self.char(end) == Some('.') {
            work::pulse(1);
            i = end + 1;
            let next = self.past(i, is_digit);
            if next == i {
                break;
            }
            end = next;
        }
        token(Version, end)
    }

    fn signed(&self, i: usize) -> Option<Found> {
        let i = self.past(i, is_digit);
        let longer = match self.char(i) {
            Some('.') if self.is(i + 1, is_digit) => {
                let end = self.past(i + 1, is_digit);
                match self.char(end) {
                    // a version has no sign: that was a blank
                    Some('.') if self.is(end + 1, is_digit) => {
                        let first = self.past(self.begin, |c| !is_digit(c));
                        Some(Found { kind: Blank, end: first, next: Start::Digits, again: false })
                    }
                    Some('e' | 'E') => self.exponent(end + 1).or_else(|| token(Decimal, end)),
                    _ => token(Decimal, end),
                }
            }
            Some('e' | 'E') => self.exponent(i + 1),
            _ => None,
        };
        longer.or_else(|| token(SignedInt, i))
    }

    // --- hosts, URLs, mail -------------------------------------------------------------------------------------------

    fn host_first(&mut self, i: usize) -> Option<Found> {
        match self.char(i)? {
            c if is_digit(c) || is_letter(c) => self.host(i + 1),
            _ => None,
        }
    }

    /// A label that is not the last.
    fn host(&mut self, i: usize) -> Option<Found> {
        let i = self.past(i, |c| is_digit(c) || is_letter(c));
        match self.char(i)? {
            '@' => self.email(i + 1),
            '.' => deep(|| self.domain_first(i + 1)),
            '-' | '_' => deep(|| self.host_first(i + 1)),
            _ => None,
        }
    }

    /// Behind a point: the last label has two letters at least.
    fn domain_first(&mut self, i: usize) -> Option<Found> {
        match self.char(i)? {
            c if is_digit(c) => self.host(i + 1),
            c if is_letter(c) => match self.char(i + 1)? {
                c if is_letter(c) => self.domain(i + 2),
                c if is_digit(c) => self.host(i + 2),
                '-' | '_' => deep(|| self.host_first(i + 2)),
                '.' => deep(|| self.domain_first(i + 2)),
                '@' => self.email(i + 2),
                _ => None,
            },
            _ => None,
        }
    }

    fn domain(&mut self, i: usize) -> Option<Found> {
        let i = self.past(i, is_letter);
        let longer = match self.char(i) {
            None => return token(Host, i),
            Some(c) if is_digit(c) => return self.host(i + 1),
            Some(':') if self.is(i + 1, is_digit) => {
                let end = self.past(i + 1, is_digit);
                return match self.char(end) {
                    None => token(Host, end),
                    Some(_) => self.host_end(end),
                };
            }
            Some('-' | '_') => deep(|| self.host_first(i + 1)),
            Some('.') => deep(|| self.domain_first(i + 1)),
            Some('@') => self.email(i + 1),
            _ => None,
        };
        longer.or_else(|| self.host_end(i))
    }

    fn host_end(&mut self, i: usize) -> Option<Found> {
        if std::mem::take(&mut self.want_host) {
            return Some(Found { kind: Host, end: i, next: Start::Path, again: false });
        }
        if self.char(i) == Some('/') && self.is(i + 1, is_url_char) {
            self.want_host = true;
            let end = self.past(i + 1, is_url_char);
            return Some(Found { kind: Url, end, next: Start::Anything, again: true });
        }
        token(Host, i)
    }

    /// Behind an `@`.
    fn email(&mut self, i: usize) -> Option<Found> {
        if std::mem::take(&mut self.want_host) {
            return None;
        }
        token(Email, self.ahead(i, Host)?)
    }

    // --- files -------------------------------------------------------------------------------------------------------

    /// Behind a slash.
    fn path(&mut self, i: usize) -> Option<Found> {
        match self.char(i)? {
            c if is_file_char(c) => deep(|| self.file(i + 1)),
            '.' => match self.char(i + 1)? {
                c if is_file_char(c) => deep(|| self.file(i + 2)),
                '.' => self.parent(i + 2),
                '/' => deep(|| self.path(i + 2)),
                _ => None,
            },
            '~' => self.home(i + 1),
            _ => None,
        }
    }

    /// Behind a tilde.
    fn home(&mut self, i: usize) -> Option<Found> {
        match self.char(i)? {
            c if is_file_char(c) => deep(|| self.file(i + 1)),
            '/' => deep(|| self.path(i + 1)),
            _ => None,
        }
    }

    /// Behind two points.
    fn parent(&mut self, i: usize) -> Option<Found> {
        match self.char(i) {
            None => token(File, i),
            Some('/') => deep(|| self.path(i + 1)).or_else(|| token(File, i)),
            Some(c) if c.is_whitespace() => token(File, i),
            _ => None,
        }
    }

    fn file(&mut self, i: usize) -> Option<Found> {
        let i = self.past(i, |c| is_file_char(c) || c == '-');
        let longer = match self.char(i) {
            Some('.') => deep(|| self.file_next(i + 1)),
            Some('/') => deep(|| self.path(i + 1)),
            _ => None,
        };
        longer.or_else(|| token(File, i))
    }

    /// Behind a point.
    fn file_next(&mut self, i: usize) -> Option<Found> {
        if self.is(i, is_file_char) {
            return self.file(i + 1);
        }
        None
    }

    // --- XML ---------------------------------------------------------------------------------------------------------

    /// Behind an ampersand.
    fn entity(&self, i: usize) -> Option<Found> {
        let (from, end) = match self.char(i)? {
            '#' if self.is(i + 1, |c| matches!(c, 'x' | 'X')) => (i + 2, self.past(i + 2, |c| c.is_ascii_hexdigit())),
            '#' => (i + 1, self.past(i + 1, is_digit)),
            c if is_letter(c) || matches!(c, ':' | '_') => {
                (i, self.past(i + 1, |c| is_alnum(c) || matches!(c, ':' | '_' | '.' | '-')))
            }
            _ => return None,
        };
        if end > from && self.char(end) == Some(';') {
            return token(Entity, end + 1);
        }
        None
    }

    /// Behind a `<`.
    fn tag(&mut self, i: usize) -> Option<Found> {
        match self.char(i)? {
            '/' if self.is(i + 1, is_letter) => self.tag_name(i + 2),
            '!' => match self.char(i + 1)? {
                '-' if self.char(i + 2) == Some('-') => self.comment(i + 3),
                'D' | 'd' => self.attributes(i + 2),
                _ => None,
            },
            '?' if self.char(i + 1) == Some('x') => self.attributes(i + 2),
            c if is_letter(c) || matches!(c, ':' | '_') => self.tag_name(i + 1),
            _ => None,
        }
    }

    fn comment(&self, mut i: usize) -> Option<Found> {
        loop {
            work::pulse(1);
            let c = self.char(i)?;
            i += 1;
            if c != '-' || self.char(i)? != '-' {
                // (what is behind a single hyphen is no beginning of an end)
                if c == '-' {
                    i += 1;
                }
                continue;
            }
            let end = self.past(i, |c| c == '-');
            if self.char(end)? == '>' {
                return token(Tag, end + 1);
            }
            i = end + 1;
        }
    }

    fn tag_name(&mut self, i: usize) -> Option<Found> {
        let i = self.past(i, |c| is_alnum(c) || matches!(c, ':' | '_' | '.' | '-'));
        match self.char(i)? {
            '/' if self.char(i + 1) == Some('>') => token(Tag, i + 2),
            '>' => {
                self.see_tag(i);
                token(Tag, i + 1)
            }
            c if c.is_whitespace() => {
                self.see_tag(i);
                self.attributes(i + 1)
            }
            _ => None,
        }
    }

    fn attributes(&mut self, mut i: usize) -> Option<Found> {
        loop {
            work::pulse(1);
            match self.char(i)? {
                '>' => {
                    self.see_tag(i);
                    return token(Tag, i + 1);
                }
                quote @ ('\'' | '"') => {
                    i += 1;
                    while self.char(i)? != quote {
                        work::pulse(1);
                        i += if self.char(i) == Some('\\') { 2 } else { 1 };
                    }
                }
                c if c.is_whitespace() => self.see_tag(i),
                c if is_letter(c) || is_digit(c) || "=-_#/:.&?%~".contains(c) => {}
                _ => return None,
            }
            i += 1;
        }
    }

    /// The text between `<script>` and `</script>` is none; so with `<style>`.
    fn see_tag(&mut self, end: usize) {
        let tag = self.slice(self.begin, end).to_ascii_lowercase();
        match tag.as_str() {
            "<script" | "<style" => self.ignoring = true,
            "</script" | "</style" => self.ignoring = false,
            _ => {}
        }
    }
}

/// Runs with as much stack as it takes: paths and hosts can have many parts.
fn deep<R>(run: impl FnOnce() -> R) -> R {
    stacker::maybe_grow(64 * 1024, 1024 * 1024, run)
}

impl<'t> Iterator for Parser<'t> {
    type Item = (Kind, &'t str);

    fn next(&mut self) -> Option<(Kind, &'t str)> {
        let begin = self.at;
        let found = self.found()?;
        self.start = found.next;
        self.at = if found.again { begin } else { found.end };
        Some((found.kind, self.slice(begin, found.end)))
    }
}
