//! PostgreSQL's "advanced regular expressions" (manual, 9.7.3), read once for both engines: as text in the syntax of the
//! `regex` crate, and as the tree of [`super::regex_exact`].

use super::regex_exact::{self as exact, flag, Class, Piece, Place, Re, Tree};
use pgsqlite_types::work;
use pgsqlite_types::{PgError, Result, SqlState};

/// What flags and embedded options say.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Options {
    pub ignore_case: bool,
    /// `.` and negated brackets do not match a newline
    pub newline_stops: bool,
    /// `^` and `$` match at newlines too
    pub newline_anchors: bool,
    /// white space and comments are ignored
    pub expanded: bool,
    /// the pattern is a plain string
    pub literal: bool,
    /// a basic or extended regular expression of POSIX: refused
    pub posix: bool,
}

impl Options {
    /// Applies one option letter; false if there is none such.
    pub fn apply(&mut self, letter: char) -> bool {
        match letter {
            'b' | 'e' => self.posix = true,
            'c' => self.ignore_case = false,
            'i' => self.ignore_case = true,
            'm' | 'n' => (self.newline_stops, self.newline_anchors) = (true, true),
            'p' => (self.newline_stops, self.newline_anchors) = (true, false),
            'q' => self.literal = true,
            's' => (self.newline_stops, self.newline_anchors) = (false, false),
            't' => self.expanded = false,
            'w' => (self.newline_stops, self.newline_anchors) = (false, true),
            'x' => self.expanded = true,
            _ => return false,
        }
        true
    }
}

/// A translated pattern.
#[derive(Debug)]
pub struct Translation {
    /// For [`super::regex_search`]: it finds whether there is a match, and where the first one begins.
    pub regex: String,
    /// For [`super::regex_exact`]: it finds where the match ends, and its parts.
    pub tree: Tree,
    /// number of captures
    pub groups: usize,
    pub ignore_case: bool,
}

fn invalid(what: &str) -> PgError {
    PgError::new(SqlState::INVALID_REGULAR_EXPRESSION, format!("invalid regular expression: {what}"))
}

/// Translates a pattern.
pub fn translate(pattern: &str, mut options: Options) -> Result<Translation> {
    if options.posix {
        return Err(PgError::not_supported("a POSIX basic or extended regular expression (options b, e)"));
    }
    let mut rest = pattern;
    if options.literal {
        // (a literal string has no directors)
    } else if let Some(literal) = rest.strip_prefix("***=") {
        options.literal = true;
        rest = literal;
    } else if let Some(advanced) = rest.strip_prefix("***:") {
        rest = advanced;
    } else if rest.starts_with("***") {
        return Err(invalid("quantifier operand invalid"));
    }
    if !options.literal {
        if let Some(inside) = rest.strip_prefix("(?").filter(|r| r.starts_with(|c: char| c.is_ascii_lowercase())) {
            let (letters, after) = inside.split_once(')').ok_or_else(|| invalid("invalid embedded option"))?;
            if !letters.chars().all(|letter| options.apply(letter)) {
                return Err(invalid("invalid embedded option"));
            }
            rest = after;
        }
    }
    if options.posix {
        return Err(PgError::not_supported("a POSIX basic or extended regular expression (options b, e)"));
    }
    let prefix = if options.ignore_case { "(?i)" } else { "" };
    if options.literal {
        let one = |character| Piece {
            atom: exact::Atom::One(Class::Character { character, ignore_case: options.ignore_case }),
            low: 1,
            high: Some(1),
            preference: 0,
        };
        let tree = Tree::branch(&rest.chars().map(one).collect::<Vec<_>>());
        return Ok(Translation {
            regex: format!("{prefix}{}", quoted(rest)),
            tree,
            groups: 0,
            ignore_case: options.ignore_case,
        });
    }
    let mut t = Translator {
        chars: rest.chars().collect(),
        at: 0,
        options,
        groups: 0,
        open_groups: Vec::new(),
        constraints: 0,
        expressions: Vec::new(),
    };
    let (regex, tree) = t.alternatives(0)?;
    if t.at < t.chars.len() {
        return Err(invalid("parentheses () not balanced"));
    }
    Ok(Translation { regex: format!("{prefix}{regex}"), tree, groups: t.groups, ignore_case: options.ignore_case })
}

/// The characters, none of them special.
fn quoted(text: &str) -> String {
    let mut out = String::new();
    text.chars().for_each(|ch| push_literal(ch, &mut out));
    out
}
fn push_literal(ch: char, out: &mut String) {
    // Not all punctuation: some of it has a meaning behind a backslash.
    if r"\.+*?()|[]{}^$#&-~".contains(ch) {
        out.push('\\');
    }
    out.push(ch);
}

struct Translator {
    chars: Vec<char>,
    at: usize,
    options: Options,
    groups: usize,
    open_groups: Vec<usize>,
    /// how many look-around constraints are open: no back-reference may stand in one, and nothing in it is captured
    constraints: usize,
    /// the expressions of the groups that are closed, by number less one
    expressions: Vec<Re>,
}

/// An atom: its text for the searching engine, and what it is for the exact one.
struct Atom {
    regex: String,
    one_character: bool,
    exact: exact::Atom,
}

impl Translator {
    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }
    fn peek_at(&self, n: usize) -> Option<char> {
        self.chars.get(self.at + n).copied()
    }
    fn eat(&mut self, ch: char) -> bool {
        let found = self.peek() == Some(ch);
        self.at += usize::from(found);
        found
    }
    fn eat_text(&mut self, text: &str) -> bool {
        let found = text.chars().enumerate().all(|(i, ch)| self.peek_at(i) == Some(ch));
        if found {
            self.at += text.chars().count();
        }
        found
    }

    /// White space and comments of the expanded syntax, and `(?#…)`.
    fn skip_ignored(&mut self) {
        loop {
            work::pulse(1);
            if self.options.expanded && self.peek().is_some_and(char::is_whitespace) {
                self.at += 1;
            } else if self.options.expanded && self.peek() == Some('#') {
                while self.peek().is_some_and(|c| c != '\n') {
                    work::pulse(1);
                    self.at += 1;
                }
            } else if self.eat_text("(?#") {
                while self.peek().is_some_and(|c| c != ')') {
                    work::pulse(1);
                    self.at += 1;
                }
                self.at += 1;
            } else {
                return;
            }
        }
    }

    /// `branch|branch…` up to `)` or the end.
    fn alternatives(&mut self, depth: usize) -> Result<(String, Tree)> {
        if depth > 200 {
            return Err(invalid("regular expression is too complex"));
        }
        let (mut text, first) = self.branch(depth)?;
        let mut branches = vec![first];
        while self.eat('|') {
            work::pulse(1);
            let (regex, branch) = self.branch(depth)?;
            text = text + "|" + &regex;
            branches.push(branch);
        }
        Ok((text, Tree::alternatives(branches)))
    }

    fn branch(&mut self, depth: usize) -> Result<(String, Tree)> {
        let (mut text, mut pieces) = (String::new(), Vec::new());
        loop {
            work::pulse(1);
            self.skip_ignored();
            match self.peek() {
                None | Some('|') => break,
                Some(')') if depth > 0 => break,
                // A lone closing parenthesis is an error in advanced expressions.
                Some(')') => return Err(invalid("parentheses () not balanced")),
                _ => {}
            }
            let atom = self.atom(depth)?;
            self.skip_ignored();
            let (quantifier, low, high, preference) = self.quantifier()?;
            if !quantifier.is_empty() && matches!(atom.exact, exact::Atom::Constraint(_)) {
                return Err(invalid("quantifier operand invalid"));
            }
            if !quantifier.is_empty() && !atom.one_character && !atom.regex.starts_with('(') {
                text += &format!("(?:{}){quantifier}", atom.regex);
            } else {
                text += &atom.regex;
                text += &quantifier;
            }
            pieces.push(Piece { atom: atom.exact, low, high, preference });
        }
        Ok((text, Tree::branch(&pieces)))
    }

    /// The quantifier, if one is next: its text, the least and the highest number, and its preference.
    fn quantifier(&mut self) -> Result<(String, u32, Option<u32>, u8)> {
        let (mut text, low, high, states_preference) = match self.peek() {
            Some('*') => ("*".to_string(), 0, None, true),
            Some('+') => ("+".to_string(), 1, None, true),
            Some('?') => ("?".to_string(), 0, Some(1), true),
            Some('{') if self.peek_at(1).is_some_and(|c| c.is_ascii_digit()) => {
                self.at += 1;
                let bad = || invalid("invalid repetition count(s)");
                let low = self.number().filter(|n| *n <= 255).ok_or_else(bad)?;
                let mut range = false;
                let high = if self.eat(',') {
                    range = true;
                    if self.peek() == Some('}') {
                        None
                    } else {
                        Some(self.number().filter(|n| *n <= 255 && *n >= low).ok_or_else(bad)?)
                    }
                } else {
                    Some(low)
                };
                if self.peek() != Some('}') {
                    return Err(bad());
                }
                let text = match high {
                    Some(h) if h == low => format!("{{{low}}}"),
                    Some(h) => format!("{{{low},{h}}}"),
                    None => format!("{{{low},}}"),
                };
                (text, low, high, range)
            }
            _ => return Ok((String::new(), 1, Some(1), 0)),
        };
        self.at += 1;
        let mut preference = flag::LONGER;
        if self.eat('?') {
            preference = flag::SHORTER;
            text.push('?');
        }
        self.skip_ignored();
        if matches!(self.peek(), Some('*' | '+' | '?')) {
            return Err(invalid("quantifier operand invalid"));
        }
        // A fixed count passes its atom's preference through.
        Ok((text, low, high, if states_preference { preference } else { 0 }))
    }

    fn number(&mut self) -> Option<u32> {
        let start = self.at;
        while self.peek().is_some_and(|c| c.is_ascii_digit()) {
            work::pulse(1);
            self.at += 1;
        }
        self.chars[start..self.at].iter().collect::<String>().parse().ok()
    }

    fn character(&self, character: char) -> Atom {
        let mut regex = String::new();
        push_literal(character, &mut regex);
        let class = Class::Character { character, ignore_case: self.options.ignore_case };
        Atom { regex, one_character: true, exact: exact::Atom::One(class) }
    }
    fn set(&self, text: impl Into<String>) -> Result<Atom> {
        let text = text.into();
        let case = if self.options.ignore_case { "(?i)" } else { "" };
        let class = regex::Regex::new(&format!("{case}\\A(?:{text})\\z"))
            .map_err(|e| PgError::internal(format!("the character set {text}: {e}")))?;
        Ok(Atom { regex: text, one_character: true, exact: exact::Atom::One(Class::Set(class)) })
    }
    fn place(&self, regex: &str, place: Place) -> Atom {
        Atom { regex: regex.into(), one_character: false, exact: exact::Atom::Constraint(Re::Place(place)) }
    }

    fn any(&self) -> &'static str {
        if self.options.newline_stops {
            "[^\\n]"
        } else {
            "(?s:.)"
        }
    }

    fn atom(&mut self, depth: usize) -> Result<Atom> {
        let ch = self.peek().ok_or_else(|| invalid("unexpected end"))?;
        self.at += 1;
        Ok(match ch {
            '.' => self.set(self.any())?,
            '^' if self.options.newline_anchors => self.place("(?m:^)", Place::LineBegin),
            '^' => self.place("\\A", Place::TextBegin),
            '$' if self.options.newline_anchors => self.place("(?m:$)", Place::LineEnd),
            '$' => self.place("\\z", Place::TextEnd),
            '*' | '+' | '?' => return Err(invalid("quantifier operand invalid")),
            '{' if self.peek().is_some_and(|c| c.is_ascii_digit()) => {
                return Err(invalid("quantifier operand invalid"))
            }
            '[' if self.eat_text("[:<:]]") => self.place("\\b{start}", Place::WordBegin),
            '[' if self.eat_text("[:>:]]") => self.place("\\b{end}", Place::WordEnd),
            '[' => {
                let set = self.bracket()?;
                self.set(set)?
            }
            '(' => self.group(depth)?,
            '\\' => self.escape()?,
            ch => self.character(ch),
        })
    }

    fn group(&mut self, depth: usize) -> Result<Atom> {
        let mut number = None;
        let mut look = None;
        let opening = if self.eat_text("?:") {
            "(?:"
        } else if self.eat_text("?=") {
            look = Some((true, false));
            "(?="
        } else if self.eat_text("?!") {
            look = Some((true, true));
            "(?!"
        } else if self.eat_text("?<=") {
            look = Some((false, false));
            "(?<="
        } else if self.eat_text("?<!") {
            look = Some((false, true));
            "(?<!"
        } else if self.peek() == Some('?') {
            return Err(invalid("quantifier operand invalid"));
        } else if self.constraints > 0 {
            // the parentheses in a look-around constraint capture nothing (manual, 9.7.3.1)
            "(?:"
        } else {
            self.groups += 1;
            self.expressions.push(Re::Empty);
            number = Some(self.groups);
            "("
        };
        self.open_groups.extend(number);
        self.constraints += usize::from(look.is_some());
        let (inside, tree) = self.alternatives(depth + 1)?;
        self.constraints -= usize::from(look.is_some());
        if !self.eat(')') {
            return Err(invalid("parentheses () not balanced"));
        }
        let exact = match (number, look) {
            (Some(n), _) => {
                self.open_groups.pop();
                self.expressions[n - 1] = tree.re.clone();
                exact::Atom::Capture(n, tree)
            }
            (None, Some((ahead, negative))) => {
                exact::Atom::Constraint(Re::Look { ahead, negative, inner: Box::new(tree.re) })
            }
            (None, None) => exact::Atom::Group(tree),
        };
        Ok(Atom { regex: format!("{opening}{inside})"), one_character: false, exact })
    }

    fn hex(&mut self, digits: usize) -> Result<char> {
        let bad = || invalid("invalid escape \\ sequence");
        let text: String = self.chars[self.at..].iter().take(digits).take_while(|c| c.is_ascii_hexdigit()).collect();
        if text.len() < digits {
            return Err(bad());
        }
        self.at += digits;
        u32::from_str_radix(&text, 16).ok().and_then(char::from_u32).ok_or_else(bad)
    }

    /// The character with the number that the next octal digits are, which is 255 at most.
    fn octal(&mut self, digits: usize) -> Result<char> {
        let text: String = self.chars[self.at..].iter().take(digits).take_while(|c| ('0'..='7').contains(*c)).collect();
        let number = |text: &str| u32::from_str_radix(text, 8).ok();
        let fitting = (1..=text.len()).rev().find_map(|n| number(&text[..n]).filter(|v| *v <= 255).map(|v| (n, v)));
        let (length, number) = fitting.ok_or_else(|| invalid("invalid escape \\ sequence"))?;
        self.at += length;
        char::from_u32(number).ok_or_else(|| invalid("invalid escape \\ sequence"))
    }

    /// A character-entry escape, after its letter; None if the letter begins none.
    fn entry(&mut self, letter: char) -> Result<Option<char>> {
        Ok(Some(match letter {
            'a' => '\u{7}',
            'b' => '\u{8}',
            'B' => '\\',
            'c' => {
                let ch = self.peek().ok_or_else(|| invalid("invalid escape \\ sequence"))?;
                self.at += 1;
                char::from_u32(ch as u32 & 0x1f).unwrap_or(ch)
            }
            'e' => '\u{1b}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\u{b}',
            'u' => self.hex(4)?,
            'U' => self.hex(8)?,
            'x' => {
                let text: String = self.chars[self.at..].iter().take_while(|c| c.is_ascii_hexdigit()).collect();
                self.at += text.len();
                let bad = || invalid("invalid escape \\ sequence");
                u32::from_str_radix(&text, 16).ok().and_then(char::from_u32).ok_or_else(bad)?
            }
            '0' => {
                self.at -= 1;
                self.octal(3)?
            }
            _ => return Ok(None),
        }))
    }

    fn escape(&mut self) -> Result<Atom> {
        let bad = || invalid("invalid escape \\ sequence");
        let ch = self.peek().ok_or_else(bad)?;
        self.at += 1;
        if !ch.is_ascii_alphanumeric() {
            return Ok(self.character(ch));
        }
        Ok(match ch {
            'd' => self.set("[0-9]")?,
            'D' => self.set("[^0-9]")?,
            's' => self.set("\\s")?,
            'S' => self.set("\\S")?,
            'w' => self.set("\\w")?,
            'W' => self.set("\\W")?,
            'A' => self.place("\\A", Place::TextBegin),
            'm' => self.place("\\b{start}", Place::WordBegin),
            'M' => self.place("\\b{end}", Place::WordEnd),
            'y' => self.place("\\b", Place::WordEdge),
            'Y' => self.place("\\B", Place::NoWordEdge),
            'Z' => self.place("\\z", Place::TextEnd),
            '1'..='9' => {
                let first = self.at - 1;
                let mut n = ch as usize - '0' as usize;
                while let Some(d) = self.peek().and_then(|c| c.to_digit(10)) {
                    work::pulse(1);
                    n = n.saturating_mul(10).saturating_add(d as usize);
                    self.at += 1;
                }
                // Several digits are a back-reference only if there are so many groups, else the octal number of a character.
                if self.at > first + 1 && n > self.groups {
                    self.at = first;
                    let octal = self.octal(3)?;
                    return Ok(self.character(octal));
                }
                if n > self.groups || self.open_groups.contains(&n) || self.constraints > 0 {
                    return Err(invalid("invalid backreference number"));
                }
                let exact = exact::Atom::BackReference(n, self.expressions[n - 1].clone());
                Atom { regex: format!("(?:\\{n})"), one_character: false, exact }
            }
            _ => match self.entry(ch)? {
                Some(ch) => self.character(ch),
                None => return Err(bad()),
            },
        })
    }

    /// `[…]`, after the bracket.
    fn bracket(&mut self) -> Result<String> {
        let unbalanced = || invalid("brackets [] not balanced");
        let negated = self.eat('^');
        let mut out = String::from(if negated { "[^" } else { "[" });
        if negated && self.options.newline_stops {
            out += "\\n";
        }
        let mut first = true;
        loop {
            work::pulse(1);
            let ch = self.peek().ok_or_else(unbalanced)?;
            if ch == ']' && !first {
                self.at += 1;
                return Ok(out + "]");
            }
            if ch == '-' && !first && self.peek_at(1).is_some_and(|c| c != ']') {
                // (one that is neither first nor last makes a range, here of what is none)
                return Err(invalid("invalid character range"));
            }
            first = false;
            if self.eat_text("[:") {
                out += self.class()?;
                continue;
            }
            if ch == '\\' {
                if let Some(set) = match self.peek_at(1) {
                    Some('d') => Some("0-9"),
                    Some('s') => Some("\\s"),
                    Some('w') => Some("\\w"),
                    Some('D') => Some("[^0-9]"),
                    Some('S') => Some("\\S"),
                    Some('W') => Some("\\W"),
                    _ => None,
                } {
                    self.at += 2;
                    out += set;
                    continue;
                }
            }
            let low = self.bracket_character()?;
            if self.peek() == Some('-') && self.peek_at(1).is_some_and(|c| c != ']') {
                self.at += 1;
                let is_class = self.peek() == Some('\\')
                    && self.peek_at(1).is_some_and(|c| matches!(c, 'd' | 's' | 'w' | 'D' | 'S' | 'W'));
                if is_class {
                    return Err(invalid("invalid character range"));
                }
                let high = self.bracket_character()?;
                if high < low {
                    return Err(invalid("invalid character range"));
                }
                push_literal(low, &mut out);
                out.push('-');
                push_literal(high, &mut out);
            } else {
                push_literal(low, &mut out);
            }
        }
    }

    fn bracket_character(&mut self) -> Result<char> {
        for (open, close) in [("[.", ".]"), ("[=", "=]")] {
            work::pulse(1);
            if self.eat_text(open) {
                let ch = self.peek().ok_or_else(|| invalid("brackets [] not balanced"))?;
                self.at += 1;
                if !self.eat_text(close) {
                    return Err(invalid("invalid collating element"));
                }
                return Ok(ch);
            }
        }
        let ch = self.peek().ok_or_else(|| invalid("brackets [] not balanced"))?;
        self.at += 1;
        if ch != '\\' {
            return Ok(ch);
        }
        let bad = || invalid("invalid escape \\ sequence");
        let escaped = self.peek().ok_or_else(bad)?;
        self.at += 1;
        if !escaped.is_ascii_alphanumeric() {
            return Ok(escaped);
        }
        self.entry(escaped)?.ok_or_else(bad)
    }

    /// `[:name:]`, after `[:`.
    fn class(&mut self) -> Result<&'static str> {
        let start = self.at;
        while self.peek().is_some_and(|c| c != ':') {
            work::pulse(1);
            self.at += 1;
        }
        let name: String = self.chars[start..self.at].iter().collect();
        if !self.eat_text(":]") {
            return Err(invalid("brackets [] not balanced"));
        }
        Ok(match name.as_str() {
            "alnum" => "\\p{Alphabetic}\\p{Nd}",
            "alpha" => "\\p{Alphabetic}",
            "ascii" => "\\x00-\\x7f",
            "blank" => " \\t",
            "cntrl" => "\\p{Cc}",
            "digit" => "0-9",
            "graph" => "[^\\s\\p{Cc}]",
            "lower" => "\\p{Lowercase}",
            "print" => "\\P{Cc}",
            "punct" => "\\p{P}\\p{S}",
            "space" => "\\s",
            "upper" => "\\p{Uppercase}",
            "word" => "\\w",
            "xdigit" => "0-9a-fA-F",
            _ => return Err(invalid("invalid character class")),
        })
    }
}
