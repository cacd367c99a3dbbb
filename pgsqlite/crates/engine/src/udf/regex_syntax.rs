//! PostgreSQL's "advanced regular expressions" (manual, 9.7.3) in the syntax of the `fancy-regex` crate.

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
    pub regex: String,
    /// Why the extent of the match might differ from PostgreSQL's.
    pub doubtful: Option<&'static str>,
}

fn invalid(what: &str) -> PgError {
    PgError::new(SqlState::INVALID_REGULAR_EXPRESSION, format!("invalid regular expression: {what}"))
}

/// Translates a pattern.
pub fn translate(pattern: &str, mut options: Options) -> Result<Translation> {
    let mut rest = pattern;
    if let Some(literal) = rest.strip_prefix("***=") {
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
        return Ok(Translation { regex: format!("{prefix}{}", quoted(rest)), doubtful: None });
    }
    let mut t = Translator {
        chars: rest.chars().collect(),
        at: 0,
        options,
        groups: 0,
        open_groups: Vec::new(),
        greedy: false,
        lazy: false,
        doubtful: None,
    };
    let regex = t.alternatives(0)?;
    if t.at < t.chars.len() {
        return Err(invalid("parentheses () not balanced"));
    }
    if t.greedy && t.lazy {
        t.doubtful = Some("both greedy and non-greedy quantifiers");
    }
    Ok(Translation { regex: format!("{prefix}{regex}"), doubtful: t.doubtful })
}

/// The characters, none of them special.
fn quoted(text: &str) -> String {
    let mut out = String::new();
    text.chars().for_each(|ch| push_literal(ch, &mut out));
    out
}
fn push_literal(ch: char, out: &mut String) {
    if ch.is_ascii_punctuation() {
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
    greedy: bool,
    lazy: bool,
    doubtful: Option<&'static str>,
}

/// One alternative of a group.
struct Branch {
    regex: String,
    /// The set of characters it begins with, as a regular expression of one character; None: it may be empty, or unknown.
    first: Option<String>,
    /// It is a plain string.
    literal: bool,
    length: usize,
}

/// An atom: its text, whether it matches exactly one character, whether it is a plain character.
struct Atom {
    regex: String,
    one_character: bool,
    literal: bool,
    /// Anchors and lookaround take no quantifier.
    constraint: bool,
}

impl Atom {
    fn character(ch: char) -> Atom {
        let mut regex = String::new();
        push_literal(ch, &mut regex);
        Atom { regex, one_character: true, literal: true, constraint: false }
    }
    fn set(regex: impl Into<String>) -> Atom {
        Atom { regex: regex.into(), one_character: true, literal: false, constraint: false }
    }
    fn constraint(regex: &str) -> Atom {
        Atom { regex: regex.into(), one_character: false, literal: false, constraint: true }
    }
    fn other(regex: String) -> Atom {
        Atom { regex, one_character: false, literal: false, constraint: false }
    }
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
            if self.options.expanded && self.peek().is_some_and(char::is_whitespace) {
                self.at += 1;
            } else if self.options.expanded && self.peek() == Some('#') {
                while self.peek().is_some_and(|c| c != '\n') {
                    self.at += 1;
                }
            } else if self.eat_text("(?#") {
                while self.peek().is_some_and(|c| c != ')') {
                    self.at += 1;
                }
                self.at += 1;
            } else {
                return;
            }
        }
    }

    /// `branch|branch…` up to `)` or the end.
    fn alternatives(&mut self, depth: usize) -> Result<String> {
        if depth > 200 {
            return Err(invalid("regular expression is too complex"));
        }
        let mut branches = vec![self.branch(depth)?];
        while self.eat('|') {
            branches.push(self.branch(depth)?);
        }
        if branches.len() > 1 {
            if branches.iter().all(|b| b.literal) {
                // The longest string first is what PostgreSQL's longest match comes to.
                branches.sort_by_key(|b| std::cmp::Reverse(b.length));
                if self.at < self.chars.len() && !self.distinct(&branches) {
                    // What follows might go with a shorter one.
                    self.doubtful = Some("alternatives that begin alike");
                }
            } else if !self.distinct(&branches) {
                self.doubtful = Some("alternatives that begin alike");
            }
        }
        Ok(branches.into_iter().map(|b| b.regex).collect::<Vec<_>>().join("|"))
    }

    /// Whether no text can match two of the branches, judged by their first characters.
    fn distinct(&self, branches: &[Branch]) -> bool {
        let samples: Vec<String> = (1u8..128)
            .map(|b| (b as char).to_string())
            .chain(["é".into(), "Ж".into(), "中".into(), "٣".into(), "\u{a0}".into()])
            .collect();
        let mut seen = vec![false; samples.len()];
        for branch in branches {
            let Some(first) = &branch.first else { return false };
            let case = if self.options.ignore_case { "(?i)" } else { "" };
            let Ok(regex) = fancy_regex::Regex::new(&format!("{case}\\A(?:{first})\\z")) else { return false };
            for (sample, seen) in samples.iter().zip(&mut seen) {
                if regex.is_match(sample).unwrap_or(true) && std::mem::replace(seen, true) {
                    return false;
                }
            }
            // A character outside the samples may begin several branches.
            if branch.literal && !branch.regex.is_ascii() {
                return branches.iter().all(|b| b.literal);
            }
        }
        true
    }

    fn branch(&mut self, depth: usize) -> Result<Branch> {
        let mut out = Branch { regex: String::new(), first: None, literal: true, length: 0 };
        let mut begun = false;
        loop {
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
            let (quantifier, may_be_absent) = self.quantifier()?;
            if !quantifier.is_empty() && atom.constraint {
                return Err(invalid("quantifier operand invalid"));
            }
            if !begun && !atom.constraint {
                begun = true;
                out.first = (atom.one_character && !may_be_absent).then(|| atom.regex.clone());
            }
            out.literal &= atom.literal && quantifier.is_empty();
            out.length += 1;
            let grouped = !quantifier.is_empty() && !atom.one_character && !atom.regex.starts_with('(');
            if grouped {
                out.regex += &format!("(?:{}){quantifier}", atom.regex);
            } else {
                out.regex += &atom.regex;
                out.regex += &quantifier;
            }
        }
        Ok(out)
    }

    /// The quantifier, if one is next, and whether it allows zero times.
    fn quantifier(&mut self) -> Result<(String, bool)> {
        let (mut text, may_be_absent, fixed) = match self.peek() {
            Some('*') => ("*".to_string(), true, false),
            Some('+') => ("+".to_string(), false, false),
            Some('?') => ("?".to_string(), true, false),
            Some('{') if self.peek_at(1).is_some_and(|c| c.is_ascii_digit()) => {
                self.at += 1;
                let bad = || invalid("invalid repetition count(s)");
                let low = self.number().filter(|n| *n <= 255).ok_or_else(bad)?;
                let high = if self.eat(',') {
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
                (text, low == 0, high == Some(low))
            }
            _ => return Ok((String::new(), false)),
        };
        self.at += 1;
        if self.eat('?') {
            // A fixed count has a greediness too in PostgreSQL: it decides for the whole.
            self.lazy = true;
            text.push('?');
        } else if !fixed {
            self.greedy = true;
        }
        self.skip_ignored();
        if matches!(self.peek(), Some('*' | '+' | '?')) {
            return Err(invalid("quantifier operand invalid"));
        }
        Ok((text, may_be_absent))
    }

    fn number(&mut self) -> Option<u32> {
        let start = self.at;
        while self.peek().is_some_and(|c| c.is_ascii_digit()) {
            self.at += 1;
        }
        self.chars[start..self.at].iter().collect::<String>().parse().ok()
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
            '.' => Atom::set(self.any()),
            '^' if self.options.newline_anchors => Atom::constraint("(?m:^)"),
            '^' => Atom::constraint("\\A"),
            '$' if self.options.newline_anchors => Atom::constraint("(?m:$)"),
            '$' => Atom::constraint("\\z"),
            '*' | '+' | '?' => return Err(invalid("quantifier operand invalid")),
            '{' if self.peek().is_some_and(|c| c.is_ascii_digit()) => {
                return Err(invalid("quantifier operand invalid"))
            }
            '[' if self.eat_text("[:<:]]") => Atom::constraint("\\b(?=\\w)"),
            '[' if self.eat_text("[:>:]]") => Atom::constraint("\\b(?<=\\w)"),
            '[' => Atom::set(self.bracket()?),
            '(' => self.group(depth)?,
            '\\' => self.escape()?,
            ch => Atom::character(ch),
        })
    }

    fn group(&mut self, depth: usize) -> Result<Atom> {
        let mut constraint = false;
        let mut number = None;
        let opening = if self.eat_text("?:") {
            "(?:"
        } else if self.eat_text("?=") {
            constraint = true;
            "(?="
        } else if self.eat_text("?!") {
            constraint = true;
            "(?!"
        } else if self.eat_text("?<=") {
            constraint = true;
            "(?<="
        } else if self.eat_text("?<!") {
            constraint = true;
            "(?<!"
        } else if self.peek() == Some('?') {
            return Err(invalid("quantifier operand invalid"));
        } else {
            self.groups += 1;
            number = Some(self.groups);
            "("
        };
        self.open_groups.extend(number);
        let inside = self.alternatives(depth + 1)?;
        if !self.eat(')') {
            return Err(invalid("parentheses () not balanced"));
        }
        if number.is_some() {
            self.open_groups.pop();
        }
        let regex = format!("{opening}{inside})");
        Ok(if constraint { Atom::constraint(&regex) } else { Atom::other(regex) })
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
                let text: String =
                    self.chars[self.at..].iter().take(2).take_while(|c| ('0'..='7').contains(*c)).collect();
                self.at += text.len();
                char::from_u32(u32::from_str_radix(&format!("0{text}"), 8).unwrap_or(0)).unwrap_or('\0')
            }
            _ => return Ok(None),
        }))
    }

    fn escape(&mut self) -> Result<Atom> {
        let bad = || invalid("invalid escape \\ sequence");
        let ch = self.peek().ok_or_else(bad)?;
        self.at += 1;
        if !ch.is_ascii_alphanumeric() {
            return Ok(Atom::character(ch));
        }
        Ok(match ch {
            'd' => Atom::set("[0-9]"),
            'D' if self.options.newline_stops => Atom::set("[^0-9\\n]"),
            'D' => Atom::set("[^0-9]"),
            's' => Atom::set("\\s"),
            'S' => Atom::set("\\S"),
            'w' => Atom::set("\\w"),
            'W' if self.options.newline_stops => Atom::set("[^\\w\\n]"),
            'W' => Atom::set("\\W"),
            'A' => Atom::constraint("\\A"),
            'm' => Atom::constraint("\\b(?=\\w)"),
            'M' => Atom::constraint("\\b(?<=\\w)"),
            'y' => Atom::constraint("\\b"),
            'Y' => Atom::constraint("\\B"),
            'Z' => Atom::constraint("\\z"),
            '1'..='9' => {
                let mut n = ch as usize - '0' as usize;
                // Two digits are a back-reference only if there are so many groups.
                while let Some(d) = self.peek().and_then(|c| c.to_digit(10)) {
                    if n * 10 + d as usize > self.groups {
                        break;
                    }
                    n = n * 10 + d as usize;
                    self.at += 1;
                }
                if n > self.groups || self.open_groups.contains(&n) {
                    return Err(invalid("invalid backreference number"));
                }
                Atom::other(format!("(?:\\{n})"))
            }
            _ => match self.entry(ch)? {
                Some(ch) => Atom::character(ch),
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
            let ch = self.peek().ok_or_else(unbalanced)?;
            if ch == ']' && !first {
                self.at += 1;
                return Ok(out + "]");
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
