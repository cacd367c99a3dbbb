//! The grammar of range and multirange literals: what is between the brackets, as texts. Manual, "Range Input/Output".

use crate::buffer::is_space;
use crate::{PgError, Result, SqlState};

/// The literal of a range without values.
pub(super) const EMPTY: &str = "empty";

/// What a range literal says: bounds with quotes and escapes resolved; None: nothing is written.
pub(super) struct Parts {
    pub lower: Option<String>,
    pub upper: Option<String>,
    pub lower_inclusive: bool,
    pub upper_inclusive: bool,
}

fn malformed(kind: &str, text: &str, detail: &str) -> PgError {
    PgError::new(SqlState::INVALID_TEXT_REPRESENTATION, format!("malformed {kind} literal: \"{text}\"")).detail(detail)
}

fn skip_space(text: &str) -> &str {
    text.trim_start_matches(|c: char| c.is_ascii() && is_space(c as u8))
}

/// The rest after the word `empty`, in any case, if it stands here.
fn after_empty(text: &str) -> Option<&str> {
    let head = text.get(..EMPTY.len())?;
    head.eq_ignore_ascii_case(EMPTY).then(|| &text[EMPTY.len()..])
}

/// Reads `[a,b)`; None: `empty`. Errors: 22P02 with PostgreSQL's details.
pub(super) fn range(text: &str) -> Result<Option<Parts>> {
    let bad = |detail| malformed("range", text, detail);
    let start = skip_space(text);
    if let Some(rest) = after_empty(start) {
        return match skip_space(rest) {
            "" => Ok(None),
            _ => Err(bad("Junk after \"empty\" key word.")),
        };
    }
    let lower_inclusive = match start.bytes().next() {
        Some(b'[') => true,
        Some(b'(') => false,
        _ => return Err(bad("Missing left parenthesis or bracket.")),
    };
    let (lower, rest) = bound(&start[1..]).ok_or_else(|| bad("Unexpected end of input."))?;
    let rest = rest.strip_prefix(',').ok_or_else(|| bad("Missing comma after lower bound."))?;
    let (upper, rest) = bound(rest).ok_or_else(|| bad("Unexpected end of input."))?;
    let upper_inclusive = match rest.bytes().next() {
        Some(b']') => true,
        Some(b')') => false,
        _ => return Err(bad("Too many commas.")),
    };
    if !skip_space(&rest[1..]).is_empty() {
        return Err(bad("Junk after right parenthesis or bracket."));
    }
    Ok(Some(Parts { lower, upper, lower_inclusive, upper_inclusive }))
}

/// A bound and what follows it, which begins with `,`, `)` or `]`. None: the text ends too early.
fn bound(text: &str) -> Option<(Option<String>, &str)> {
    if text.starts_with([',', ')', ']']) {
        return Some((None, text));
    }
    let mut out = String::new();
    let mut quoted = false;
    let mut chars = text.char_indices().peekable();
    loop {
        crate::work::pulse(1);
        let (at, c) = chars.next()?;
        match c {
            ',' | ')' | ']' if !quoted => return Some((Some(out), &text[at..])),
            '\\' => out.push(chars.next()?.1),
            '"' if !quoted => quoted = true,
            // a doubled quote inside quotes is one
            '"' if chars.next_if(|next| next.1 == '"').is_some() => out.push('"'),
            '"' => quoted = false,
            other => out.push(other),
        }
    }
}

/// Reads the ranges of `{[a,b),[c,d)}` one after the other, so that what is wrong with one is told before what is wrong behind it; empty
/// ones are left out. Errors: 22P02 with PostgreSQL's details, and those of `read`.
pub(super) fn multirange<T>(text: &str, mut read: impl FnMut(&str) -> Result<T>) -> Result<Vec<T>> {
    #[derive(PartialEq)]
    enum State {
        BeforeRange,
        InRange,
        InRangeEscaped,
        InQuotes,
        InQuotesEscaped,
        AfterRange,
    }
    let bad = |detail| malformed("multirange", text, detail);
    let Some(body) = skip_space(text).strip_prefix('{') else { return Err(bad("Missing left brace.")) };
    let bytes = body.as_bytes();
    let mut ranges = Vec::new();
    let (mut state, mut seen, mut start, mut at) = (State::BeforeRange, false, 0, 0);
    loop {
        crate::work::pulse(1);
        let Some(&c) = bytes.get(at) else { return Err(bad("Unexpected end of input.")) };
        at += 1;
        if is_space(c) {
            continue;
        }
        match state {
            State::BeforeRange => match c {
                b'[' | b'(' => {
                    start = at - 1;
                    state = State::InRange;
                }
                b'}' if !seen => break,
                _ => match body.get(at - 1..).and_then(after_empty) {
                    Some(_) => {
                        at += EMPTY.len() - 1;
                        seen = true;
                        state = State::AfterRange;
                    }
                    None => return Err(bad("Expected range start.")),
                },
            },
            State::InRange => match c {
                b']' | b')' => {
                    ranges.push(read(&body[start..at])?);
                    seen = true;
                    state = State::AfterRange;
                }
                b'"' => state = State::InQuotes,
                b'\\' => state = State::InRangeEscaped,
                _ => {}
            },
            State::InRangeEscaped => state = State::InRange,
            State::InQuotes => match c {
                b'"' if bytes.get(at) == Some(&b'"') => at += 1,
                b'"' => state = State::InRange,
                b'\\' => state = State::InQuotesEscaped,
                _ => {}
            },
            State::InQuotesEscaped => state = State::InQuotes,
            State::AfterRange => match c {
                b',' => state = State::BeforeRange,
                b'}' => break,
                _ => return Err(bad("Expected comma or end of multirange.")),
            },
        }
    }
    match skip_space(&body[at..]) {
        "" => Ok(ranges),
        _ => Err(bad("Junk after closing right brace.")),
    }
}

/// Appends a bound's text, in quotes where it needs them.
pub(super) fn quoted(text: &[u8], out: &mut Vec<u8>) {
    let plain = |b: &u8| !matches!(b, b'"' | b'\\' | b'(' | b')' | b'[' | b']' | b',') && !is_space(*b);
    if !text.is_empty() && text.iter().all(plain) {
        return out.extend_from_slice(text);
    }
    out.push(b'"');
    for b in text {
        crate::work::pulse(1);
        if matches!(b, b'"' | b'\\') {
            out.push(*b);
        }
        out.push(*b);
    }
    out.push(b'"');
}
