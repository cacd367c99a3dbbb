//! The text form of arrays: `{a,"b c",NULL}`, nested, with explicit bounds in front of it where they are not 1.

use super::MAX_DIMENSIONS;
use crate::buffer::is_space;
use crate::{PgError, Result, SqlState};

pub(super) fn malformed(text: &str, detail: &str) -> PgError {
    PgError::new(SqlState::INVALID_TEXT_REPRESENTATION, format!("malformed array literal: \"{text}\"")).detail(detail)
}

pub(super) fn too_deep(n: usize) -> PgError {
    PgError::new(
        SqlState::PROGRAM_LIMIT_EXCEEDED,
        format!("number of array dimensions ({n}) exceeds the maximum allowed ({MAX_DIMENSIONS})"),
    )
}

/// Explicit bounds `[0:2]…=`: the lower ones, and what follows.
pub(super) fn literal_bounds<'a>(text: &str, literal: &'a str) -> Result<(Vec<i64>, &'a str)> {
    let mut rest = literal;
    let mut lengths: Vec<i64> = Vec::new();
    let mut lower: Vec<i64> = Vec::new();
    let int = |t: &str| -> Option<i64> { t.parse::<i32>().ok().map(i64::from) };
    while let Some(inner) = rest.trim_start().strip_prefix('[') {
        crate::work::tick(1)?;
        if lengths.len() >= MAX_DIMENSIONS {
            return Err(too_deep(lengths.len() + 1));
        }
        let Some((bounds, after)) = inner.split_once(']') else {
            return Err(malformed(text, "Missing \"]\" after array dimensions."));
        };
        let (low, high) = match bounds.split_once(':') {
            Some((l, h)) => (l, h),
            None => ("1", bounds),
        };
        let numeric = |t: &str| t.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '+');
        if !numeric(low) {
            return Err(malformed(text, "\"[\" must introduce explicitly-specified array dimensions."));
        }
        if !numeric(high) {
            return Err(malformed(text, "Missing array dimension value."));
        }
        let digits = |t: &str| t[1..].bytes().all(|b| b.is_ascii_digit());
        let (Some(low), Some(high)) = (int(low), int(high)) else {
            if digits(low) && digits(high) {
                let message = "array bound is out of integer range";
                return Err(PgError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message));
            }
            return Err(malformed(text, "Missing \"]\" after array dimensions."));
        };
        if high == i64::from(i32::MAX) {
            let message = format!("array upper bound is too large: {high}");
            return Err(PgError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message));
        }
        if high < low {
            return Err(PgError::new(SqlState::ARRAY_SUBSCRIPT_ERROR, "upper bound cannot be less than lower bound"));
        }
        lower.push(low);
        lengths.push(high - low + 1);
        rest = after;
    }
    let Some(body) = rest.trim_start().strip_prefix('=') else {
        return Err(malformed(text, "Missing \"=\" after array dimensions."));
    };
    let body = body.trim_start();
    if !body.starts_with('{') {
        return Err(malformed(text, "Array contents must start with \"{\"."));
    }
    let mut shape =
        Literal { text, body, at: 0, delimiter: b',', nulls: true, dimensions: Vec::new(), elements: Vec::new() };
    shape.shape()?;
    if shape.dimensions.iter().map(|d| *d as i64).ne(lengths.iter().copied()) {
        return Err(malformed(text, "Specified array dimensions do not match array contents."));
    }
    Ok((lower, body))
}

/// Parser of `{…}`.
pub(super) struct Literal<'a> {
    pub text: &'a str,
    pub body: &'a str,
    pub at: usize,
    pub delimiter: u8,
    /// `NULL` without quotes is one
    pub nulls: bool,
    pub dimensions: Vec<usize>,
    /// None: NULL
    pub elements: Vec<Option<String>>,
}

/// What the parser has just seen, which decides what may come.
#[derive(Clone, Copy, PartialEq)]
enum Seen {
    Nothing,
    Element,
    ElementDelimiter,
    LevelDelimiter,
    LevelStart,
    LevelEnd,
}

impl Literal<'_> {
    /// Reads the whole literal.
    pub fn shape(&mut self) -> Result<()> {
        let bytes = self.body.as_bytes();
        let mut seen = Seen::Nothing;
        let mut level = 0;
        // Elements counted so far at each open level, and the length each level must have.
        let mut counts = [0usize; MAX_DIMENSIONS];
        let mut lengths: [Option<usize>; MAX_DIMENSIONS] = [None; MAX_DIMENSIONS];
        let mut depth = 0; // of the elements; fixed by the first one
        let unexpected = |c: char, text: &str| malformed(text, &format!("Unexpected \"{c}\" character."));
        let mismatch =
            |text: &str| malformed(text, "Multidimensional arrays must have sub-arrays with matching dimensions.");
        while level > 0 || seen == Seen::Nothing {
            crate::work::tick(1)?;
            let Some(&b) = bytes.get(self.at) else { return Err(malformed(self.text, "Unexpected end of input.")) };
            if is_space(b) {
                self.at += 1;
                continue;
            }
            if b == b'{' {
                if !matches!(seen, Seen::Nothing | Seen::LevelStart | Seen::LevelDelimiter) {
                    return Err(unexpected('{', self.text));
                }
                if level >= MAX_DIMENSIONS {
                    return Err(too_deep(level + 1));
                }
                if depth != 0 && level + 1 > depth {
                    return Err(mismatch(self.text));
                }
                counts[level] = 0;
                level += 1;
                seen = Seen::LevelStart;
                self.at += 1;
            } else if b == b'}' {
                match seen {
                    Seen::Element | Seen::LevelEnd => {}
                    Seen::LevelStart if level == 1 => {}
                    _ => return Err(unexpected('}', self.text)),
                }
                level -= 1;
                match lengths[level] {
                    Some(n) if n != counts[level] => return Err(mismatch(self.text)),
                    _ => lengths[level] = Some(counts[level]),
                }
                if level > 0 {
                    counts[level - 1] += 1;
                }
                seen = Seen::LevelEnd;
                self.at += 1;
            } else if b == self.delimiter {
                if !matches!(seen, Seen::Element | Seen::LevelEnd) {
                    return Err(unexpected(self.delimiter as char, self.text));
                }
                seen = if seen == Seen::Element { Seen::ElementDelimiter } else { Seen::LevelDelimiter };
                self.at += 1;
            } else {
                if !matches!(seen, Seen::LevelStart | Seen::ElementDelimiter) {
                    // Two elements without a delimiter, or an element right after a sub-array.
                    return Err(if b == b'"' {
                        unexpected('"', self.text)
                    } else {
                        malformed(self.text, "Unexpected array element.")
                    });
                }
                if depth == 0 {
                    depth = level;
                } else if depth != level {
                    return Err(mismatch(self.text));
                }
                let element = self.element()?;
                self.elements.push(element);
                counts[level - 1] += 1;
                seen = Seen::Element;
            }
        }
        if bytes[self.at..].iter().any(|b| !is_space(*b)) {
            return Err(malformed(self.text, "Junk after closing right brace."));
        }
        if !self.elements.is_empty() {
            self.dimensions = lengths.iter().take(depth).map(|n| n.unwrap_or(0)).collect();
        }
        Ok(())
    }

    /// One element, quoted or not.
    fn element(&mut self) -> Result<Option<String>> {
        let bytes = self.body.as_bytes();
        let quoted = bytes[self.at] == b'"';
        let mut raw: Vec<u8> = Vec::new();
        // An unquoted element ends at its last character that is not a blank (unless escaped).
        let mut kept = 0;
        let mut escaped = false;
        if quoted {
            self.at += 1;
        }
        loop {
            crate::work::tick(1)?;
            let Some(&b) = bytes.get(self.at) else { return Err(malformed(self.text, "Unexpected end of input.")) };
            match b {
                b'\\' => {
                    let Some(&next) = bytes.get(self.at + 1) else {
                        return Err(malformed(self.text, "Unexpected end of input."));
                    };
                    raw.push(next);
                    escaped = true;
                    kept = raw.len();
                    self.at += 2;
                }
                b'"' if quoted => {
                    self.at += 1;
                    kept = raw.len();
                    break;
                }
                b'"' => return Err(malformed(self.text, "Unexpected array element.")),
                b'{' if !quoted => return Err(malformed(self.text, "Unexpected \"{\" character.")),
                b if !quoted && (b == self.delimiter || b == b'}') => break,
                b => {
                    raw.push(b);
                    if !is_space(b) {
                        kept = raw.len();
                    }
                    self.at += 1;
                }
            }
        }
        raw.truncate(kept);
        let value = String::from_utf8(raw).map_err(|_| malformed(self.text, "Unexpected array element."))?;
        Ok(if self.nulls && !quoted && !escaped && value.eq_ignore_ascii_case("null") { None } else { Some(value) })
    }
}
