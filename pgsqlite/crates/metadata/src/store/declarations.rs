//! What only the texts of CREATE TABLE and CREATE INDEX in `sqlite_schema` tell: CHECK constraints, generated columns, the
//! expressions and the condition of an index. Pragmas do not.
//!
//! The text is SQLite's own grammar, with its four ways to quote a name; only its brackets, commas and a few words matter here.

use pgsqlite_types::work;

/// The expressions of a CREATE TABLE, as they are written.
#[derive(Debug, Default, PartialEq)]
pub struct Declarations {
    /// constraint's name, name of the column it stands beside, condition
    pub checks: Vec<(Option<String>, Option<String>, String)>,
    /// column, expression
    pub generated: Vec<(String, String)>,
    /// AUTOINCREMENT stands beside the INTEGER PRIMARY KEY
    pub autoincrement: bool,
}

#[derive(Debug, PartialEq)]
enum Token<'a> {
    /// a bare word
    Word(&'a str),
    /// a quoted name, without its quotes
    Name(String),
    /// what stands between a bracket and its partner
    Group(&'a str),
    Comma,
    Other,
}

/// The next token and what follows it; None at the end (or at a bracket without partner).
fn next(text: &str) -> Option<(Token<'_>, &str)> {
    let text = skip(text);
    let first = text.chars().next()?;
    let word = |c: char| c.is_alphanumeric() || c == '_' || c == '$' || !c.is_ascii();
    Some(match first {
        '(' => {
            let inner = &text[1..];
            let end = closing(inner)?;
            (Token::Group(&inner[..end]), &inner[end + 1..])
        }
        ',' => (Token::Comma, &text[1..]),
        '\'' | '"' | '`' | '[' => {
            let end = quoted(text)?;
            let close = if first == '[' { ']' } else { first };
            let doubled: String = [close, close].iter().collect();
            let name = text[1..end - 1].replace(&doubled, &close.to_string());
            (if first == '\'' { Token::Other } else { Token::Name(name) }, &text[end..])
        }
        c if word(c) => {
            let end = text.find(|c| !word(c)).unwrap_or(text.len());
            (Token::Word(&text[..end]), &text[end..])
        }
        c => (Token::Other, &text[c.len_utf8()..]),
    })
}

/// Without the blanks and comments at its beginning.
fn skip(text: &str) -> &str {
    let mut text = text.trim_start();
    loop {
        work::visit();
        text = if let Some(rest) = text.strip_prefix("--") {
            rest.find('\n').map_or("", |end| &rest[end..])
        } else if let Some(rest) = text.strip_prefix("/*") {
            rest.find("*/").map_or("", |end| &rest[end + 2..])
        } else {
            return text;
        }
        .trim_start();
    }
}

/// The length of the quoted thing at the beginning, quotes included.
fn quoted(text: &str) -> Option<usize> {
    let open = text.chars().next()?;
    let close = if open == '[' { ']' } else { open };
    let mut at = 1;
    loop {
        work::visit();
        at += text[at..].find(close)? + 1;
        if open == '[' || !text[at..].starts_with(close) {
            return Some(at);
        }
        at += 1;
    }
}

/// Where the bracket is that closes the one before the text.
fn closing(text: &str) -> Option<usize> {
    let mut at = 0;
    let mut depth = 0;
    loop {
        work::visit();
        at = text.len() - skip(&text[at..]).len();
        match text[at..].chars().next()? {
            '(' => depth += 1,
            ')' if depth == 0 => return Some(at),
            ')' => depth -= 1,
            '\'' | '"' | '`' | '[' => {
                at += quoted(&text[at..])?;
                continue;
            }
            c => {
                at += c.len_utf8();
                continue;
            }
        }
        at += 1;
    }
}

/// Reads a CREATE TABLE statement. What cannot be read is left out.
pub fn read(sql: &str) -> Declarations {
    let mut out = Declarations::default();
    let mut rest = sql;
    // the first brackets are around the columns (CREATE TABLE … AS has none: SQLite stores it with them)
    let body = loop {
        match next(rest) {
            Some((Token::Group(body), _)) => break body,
            Some((_, after)) => rest = after,
            None => return out,
        }
    };
    let mut rest = body;
    let mut column: Option<String> = None;
    let mut begins = true;
    let mut constraint: Option<String> = None;
    let mut last = String::new();
    while let Some((token, after)) = next(rest) {
        work::visit();
        rest = after;
        let is = |word: &str| last.eq_ignore_ascii_case(word);
        let mut word = String::new();
        match token {
            Token::Comma => {
                (begins, column, constraint) = (true, None, None);
                last.clear();
                continue;
            }
            Token::Word(w) if begins => {
                let table_constraint = ["constraint", "primary", "unique", "check", "foreign"];
                if table_constraint.iter().any(|k| w.eq_ignore_ascii_case(k)) {
                    word = w.to_string();
                } else {
                    column = Some(w.to_string());
                }
            }
            Token::Name(name) if begins => column = Some(name),
            Token::Word(w) if is("constraint") => constraint = Some(w.to_string()),
            Token::Name(name) if is("constraint") => constraint = Some(name),
            Token::Group(condition) if is("check") => {
                out.checks.push((constraint.take(), column.clone(), condition.trim().to_string()));
            }
            Token::Group(expression) if is("as") => {
                if let Some(column) = &column {
                    out.generated.push((column.clone(), expression.trim().to_string()));
                }
            }
            Token::Word(w) => {
                // (SQLite takes it nowhere else)
                out.autoincrement |= w.eq_ignore_ascii_case("autoincrement");
                word = w.to_string();
            }
            _ => {}
        }
        begins = false;
        last = word;
    }
    out
}

/// An expression with its names quoted as the standard quotes them, without comments.
pub fn standard(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        work::visit();
        let after = skip(rest);
        if after.len() < rest.len() {
            out.push(' ');
            rest = after;
            continue;
        }
        let mut end = first.len_utf8();
        match first {
            '\'' | '"' | '`' | '[' => {
                let Some(length) = quoted(rest) else { break };
                end = length;
                match next(rest) {
                    Some((Token::Name(name), _)) => out.push_str(&pgsqlite_sql::names::quoted(&name)),
                    _ => out.push_str(&rest[..end]),
                }
            }
            _ => out.push(first),
        }
        rest = &rest[end..];
    }
    out
}

/// Of a CREATE INDEX the text of each key, without ASC or DESC, and the condition. None: it cannot be read, or a key has a COLLATE.
pub fn read_index(sql: &str) -> Option<(Vec<String>, Option<String>)> {
    let mut rest = sql;
    let (mut list, after) = loop {
        match next(rest)? {
            (Token::Group(list), after) => break (list, after),
            (_, after) => rest = after,
        }
    };
    let condition = match next(after) {
        Some((Token::Word(word), condition)) if word.eq_ignore_ascii_case("where") => {
            Some(condition.trim().to_string())
        }
        None if skip(after).is_empty() => None,
        _ => return None,
    };
    let mut keys = Vec::new();
    while !skip(list).is_empty() {
        work::visit();
        let begin = list;
        // (where the key's text ends)
        let mut end = 0;
        while let Some((token, after)) = next(list) {
            work::visit();
            list = after;
            match token {
                Token::Comma => break,
                Token::Word(w) if w.eq_ignore_ascii_case("collate") => return None,
                Token::Word(w) if w.eq_ignore_ascii_case("asc") || w.eq_ignore_ascii_case("desc") => {}
                _ => end = begin.len() - after.len(),
            }
        }
        if end == 0 || list.len() == begin.len() {
            return None;
        }
        keys.push(begin[..end].trim().to_string());
    }
    Some((keys, condition))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_keys_of_an_index_and_its_condition_are_found() {
        let found = |sql: &str| read_index(sql);
        let parts = |keys: &[&str], condition: Option<&str>| {
            Some((keys.iter().map(|k| k.to_string()).collect(), condition.map(String::from)))
        };
        assert_eq!(
            found("CREATE UNIQUE INDEX IF NOT EXISTS main.[a (b] ON \"t (\"(a, lower(\"b, c\") DESC, x || ',' ASC)\n WHERE a > (1)"),
            parts(&["a", "lower(\"b, c\")", "x || ','"], Some("a > (1)"))
        );
        assert_eq!(found("create index i on t(a)"), parts(&["a"], None));
        assert_eq!(
            standard("[a \"b] > 'it''s [not]' /* [x] */+`c``d` -- end"),
            "\"a \"\"b\" > 'it''s [not]' +\"c`d\" "
        );
        for broken in [
            "",
            "CREATE INDEX i ON t",
            "CREATE INDEX i ON t (a COLLATE NOCASE)",
            "CREATE INDEX i ON t (a) and",
            "CREATE INDEX i ON t (a,,b)",
        ] {
            assert_eq!(found(broken), None, "{broken}");
        }
    }

    #[test]
    fn checks_and_generated_columns_are_found_among_quotes_and_comments() {
        let found = read(
            "CREATE TABLE \"odd ( name\" (id integer PRIMARY KEY, -- not CHECK (this)\n\
             [a b] text CHECK (\"a b\" <> ')''(' /* ) */ ) DEFAULT ('check'), `c``d` decimal(10, 2) CONSTRAINT pos CHECK(`c``d` > 0),\n\
             g int GENERATED ALWAYS AS (id * (2 + 1)) STORED, h AS (g), \"check\" text, as_is text,\n\
             CONSTRAINT \"both of them\" CHECK (id < 10 OR h IN (1, 2)), CHECK (1), PRIMARY KEY (id), FOREIGN KEY (g) REFERENCES t (check_it))",
        );
        let check = |name: Option<&str>, column: Option<&str>, text: &str| {
            (name.map(String::from), column.map(String::from), text.to_string())
        };
        assert_eq!(
            found.checks,
            [
                check(None, Some("a b"), "\"a b\" <> ')''(' /* ) */"),
                check(Some("pos"), Some("c`d"), "`c``d` > 0"),
                check(Some("both of them"), None, "id < 10 OR h IN (1, 2)"),
                check(None, None, "1"),
            ]
        );
        let generated = |c: &str, e: &str| (c.to_string(), e.to_string());
        assert_eq!(found.generated, [generated("g", "id * (2 + 1)"), generated("h", "g")]);
        assert!(!found.autoincrement);
        assert!(
            !read("CREATE TABLE t (id INTEGER PRIMARY KEY /* AUTOINCREMENT */, \"autoincrement\" x)").autoincrement
        );
        assert!(read("CREATE TABLE t ([id] INTEGER PRIMARY KEY autoIncrement NOT NULL, b)").autoincrement);
        for broken in ["", "CREATE TABLE t", "CREATE TABLE t (a CHECK (1", "CREATE TABLE t (a 'x"] {
            assert_eq!(read(broken), Declarations::default(), "{broken}");
        }
    }
}
