//! MATCHES patterns as regular expressions.

use pgsqlite_types::work;

/// The regular expression (for `~`) that fits what the pattern of MATCHES fits, perhaps with blanks behind; None: the pattern is malformed.
pub fn regular_expression(pattern: &str, escape: char, blanks: bool) -> Option<String> {
    // `.` also fits line breaks by default
    let mut out = String::from("^(?:");
    let mut characters = pattern.chars();
    while let Some(c) = characters.next() {
        work::visit();
        match c {
            c if c == escape => literal(characters.next()?, &mut out),
            '*' => out.push_str(".*"),
            '?' => out.push('.'),
            '[' => {
                let mut set = String::new();
                loop {
                    work::visit();
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
    out.push_str(if blanks { ") *$" } else { ")$" });
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
            assert_eq!(regular_expression(pattern, '\\', false).as_deref(), expected, "{pattern}");
        }
    }
}
