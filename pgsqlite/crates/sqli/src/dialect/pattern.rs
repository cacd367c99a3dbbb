//! MATCHES patterns as regular expressions.

/// The regular expression (for `~`) that fits what the pattern of MATCHES fits; None: the pattern is malformed.
pub fn regular_expression(pattern: &str, escape: char) -> Option<String> {
    // `.` also fits line breaks by default
    let mut out = String::from("^(?:");
    let mut characters = pattern.chars();
    while let Some(c) = characters.next() {
        match c {
            c if c == escape => literal(characters.next()?, &mut out),
            '*' => out.push_str(".*"),
            '?' => out.push('.'),
            '[' => {
                let mut set = String::new();
                loop {
                    match characters.next()? {
                        ']' if !set.is_empty() => break,
                        c if c == escape => literal(characters.next()?, &mut set),
                        '^' if set.is_empty() => set.push('^'),
                        '-' => set.push('-'),
                        c => literal(c, &mut set),
                    }
                }
                out.push('[');
                out.push_str(&set);
                out.push(']');
            }
            c => literal(c, &mut out),
        }
    }
    out.push_str(")$");
    Some(out)
}

fn literal(c: char, out: &mut String) {
    if c.is_ascii_punctuation() {
        out.push('\\');
    }
    out.push(c);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        for (pattern, expected) in [
            ("a*b?", Some("^(?:a.*b.)$")),
            ("[a-c]x", Some("^(?:[a-c]x)$")),
            ("[^0-9]", Some("^(?:[^0-9])$")),
            (r"\*(1.5)", Some(r"^(?:\*\(1\.5\))$")),
            ("[a", None),
            ("x\\", None),
        ] {
            assert_eq!(regular_expression(pattern, '\\').as_deref(), expected, "{pattern}");
        }
    }
}
