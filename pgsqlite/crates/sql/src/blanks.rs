//! Texts of statements without what is in their constants, comments and quoted identifiers.

/// Whether the text may have what is neither plain text nor a plain constant, a quoted identifier or a comment to the end of a line: a
/// comment in `/* */`, a constant with escapes, one in dollars.
pub(crate) fn has_rare_quotes(text: &str) -> bool {
    let bytes = text.as_bytes();
    let dollars = || bytes.windows(2).any(|pair| pair[0] == b'$' && !pair[1].is_ascii_digit());
    text.contains('\\') || text.contains("/*") || text.contains('$') && dollars()
}

/// The text with blanks for what is in string constants, comments and quoted identifiers, where strings are written as in the standard.
pub(crate) fn blank(text: &str) -> String {
    read(text, true).0
}

/// The text with blanks for what is in string constants, comments and quoted identifiers; and of each plain constant with an
/// escape its start and the byte behind its first backslash.
pub(crate) fn read(text: &str, standard: bool) -> (String, Vec<(usize, u8)>) {
    let bytes = text.as_bytes();
    let mut blank = bytes.to_vec();
    let mut escapes = Vec::new();
    let mut i = 0;
    while i < bytes.len() {
        let rest = &bytes[i..];
        let start = i;
        match rest[0] {
            b'\'' => {
                let word = i > 0 && is_word(bytes[i - 1]) && !(i > 1 && is_word(bytes[i - 2]));
                let prefix = if word { bytes[i - 1].to_ascii_lowercase() } else { 0 };
                let plain = !matches!(prefix, b'e' | b'b' | b'x');
                let escaping = prefix == b'e' || plain && !standard;
                let (end, escaped) = constant(bytes, i, escaping);
                if let (Some(escaped), true, false) = (escaped, plain, standard) {
                    escapes.push((i, escaped));
                }
                i = end;
            }
            b'"' => i += 1 + rest[1..].iter().position(|b| *b == b'"').map_or(rest.len() - 1, |at| at + 1),
            b'-' if rest.starts_with(b"--") => {
                i += rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len());
            }
            b'/' if rest.starts_with(b"/*") => i = comment(bytes, i),
            b'$' if i == 0 || !is_word(bytes[i - 1]) => match dollar_quoted(rest) {
                Some(length) => i += length,
                None => {
                    i += 1;
                    continue;
                }
            },
            _ => {
                i += 1;
                continue;
            }
        }
        // (the quotes themselves stay)
        let inside = start + 1..i.saturating_sub(1).max(start + 1);
        if matches!(bytes[start], b'\'' | b'"') {
            blank[inside].fill(b' ');
        } else {
            blank[start..i].fill(b' ');
        }
    }
    // (whole characters were replaced, so it is UTF-8 as before)
    (String::from_utf8(blank).unwrap_or_else(|_| text.to_string()), escapes)
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | 0x80..)
}

/// Where a string constant that begins at `i` ends (its parts on several lines are one), and what its first backslash escapes.
fn constant(bytes: &[u8], mut i: usize, escaping: bool) -> (usize, Option<u8>) {
    let mut first = None;
    loop {
        // behind the opening quote
        i += 1;
        while i < bytes.len() {
            match bytes[i] {
                b'\\' if escaping => {
                    first = first.or(bytes.get(i + 1).copied());
                    i += 2;
                }
                b'\'' if bytes.get(i + 1) == Some(&b'\'') => i += 2,
                b'\'' => break,
                _ => i += 1,
            }
        }
        i = (i + 1).min(bytes.len());
        let blanks = bytes[i..].iter().take_while(|b| b.is_ascii_whitespace()).count();
        let goes_on = bytes[i..i + blanks].contains(&b'\n') && bytes.get(i + blanks) == Some(&b'\'');
        if !goes_on {
            return (i, first);
        }
        i += blanks;
    }
}

/// Where a comment that begins at `i` ends; comments nest.
fn comment(bytes: &[u8], mut i: usize) -> usize {
    let mut depth = 0;
    while i < bytes.len() {
        if bytes[i..].starts_with(b"/*") {
            (depth, i) = (depth + 1, i + 2);
        } else if bytes[i..].starts_with(b"*/") {
            (depth, i) = (depth - 1, i + 2);
            if depth == 0 {
                return i;
            }
        } else {
            i += 1;
        }
    }
    bytes.len()
}

/// The length of a dollar-quoted constant; None: the dollar begins none.
fn dollar_quoted(rest: &[u8]) -> Option<usize> {
    let name = rest[1..].iter().take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | 0x80..)).count();
    if rest.get(1 + name) != Some(&b'$') || rest[1].is_ascii_digit() {
        return None;
    }
    let tag = &rest[..name + 2];
    let end = rest[tag.len()..].windows(tag.len()).position(|w| w == tag);
    Some(end.map_or(rest.len(), |at| at + 2 * tag.len()))
}
