//! The statements of an SQL file, one after the other, as psql finds their ends: a file may be larger than memory.

/// Looks for the end of a statement, byte by byte. All that matters here is ASCII, so bytes of longer characters pass as they are.
#[derive(Default)]
pub struct Splitter {
    text: Vec<u8>,
    state: State,
    /// open parentheses: commands of a rule have semicolons within
    parentheses: u32,
    /// open BEGIN and CASE in the body of a function in the standard's way
    blocks: u32,
    /// the words so far, in lower case, as long as they may be those of CREATE FUNCTION
    words: Vec<String>,
    word: String,
    /// the statement has more than blanks and comments
    begun: bool,
}

#[derive(Default, PartialEq)]
enum State {
    #[default]
    Plain,
    /// `'…'`; `escapes`: a backslash takes the next character's meaning
    Text {
        escapes: bool,
        escaped: bool,
    },
    Name,
    Line,
    /// `/* … */`, so deep
    Block(u32),
    /// `$tag$ … $tag$`: the delimiter, and how much of it the last bytes are
    Dollar(Vec<u8>),
}

impl Splitter {
    /// Whether a line that comes now begins a statement.
    pub fn is_between(&self) -> bool {
        !self.begun && self.state == State::Plain
    }

    /// Takes a line with its end. The statements that end in it are given to `each`.
    pub fn line<E>(&mut self, line: &[u8], mut each: impl FnMut(Vec<u8>) -> Result<(), E>) -> Result<(), E> {
        let mut at = 0;
        while at < line.len() {
            at += self.step(&line[at..]);
            if self.state == State::Plain && self.text.last() == Some(&b';') && self.ends() {
                self.begun = false;
                self.words.clear();
                self.word.clear();
                each(std::mem::take(&mut self.text))?;
            }
        }
        Ok(())
    }

    /// What is left at the end of the file; None: blanks and comments only.
    pub fn rest(&mut self) -> Option<Vec<u8>> {
        let text = std::mem::take(&mut self.text);
        std::mem::take(&mut self.begun).then_some(text)
    }

    fn ends(&self) -> bool {
        self.parentheses == 0 && self.blocks == 0
    }

    /// Takes what belongs together at the beginning of `rest`: the number of its bytes.
    fn step(&mut self, rest: &[u8]) -> usize {
        let (byte, next) = (rest[0], rest.get(1).copied());
        let mut taken = 1;
        match &mut self.state {
            State::Plain => taken = self.plain(byte, next, rest),
            State::Text { escapes, escaped } => match byte {
                _ if *escaped => *escaped = false,
                b'\\' if *escapes => *escaped = true,
                b'\'' => self.state = State::Plain,
                _ => {}
            },
            State::Name if byte == b'"' => self.state = State::Plain,
            State::Line if byte == b'\n' => self.state = State::Plain,
            State::Name | State::Line => {}
            State::Block(depth) => match (byte, next) {
                (b'*', Some(b'/')) => {
                    taken = 2;
                    *depth -= 1;
                    if *depth == 0 {
                        self.state = State::Plain;
                    }
                }
                (b'/', Some(b'*')) => {
                    taken = 2;
                    *depth += 1;
                }
                _ => {}
            },
            State::Dollar(delimiter) => {
                if byte == b'$' && rest.starts_with(delimiter) {
                    taken = delimiter.len();
                    self.state = State::Plain;
                }
            }
        }
        self.text.extend_from_slice(&rest[..taken]);
        taken
    }

    fn plain(&mut self, byte: u8, next: Option<u8>, rest: &[u8]) -> usize {
        if byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80 {
            self.begun = true;
            self.word.push(byte.to_ascii_lowercase() as char);
            return 1;
        }
        let escapes = self.word == "e";
        // a dollar within a name is a part of it
        let in_word = !self.word.is_empty();
        if byte == b'$' && in_word {
            self.word.push('$');
            return 1;
        }
        self.end_word();
        if byte == b'-' && next == Some(b'-') {
            self.state = State::Line;
            return 2;
        }
        if byte == b'/' && next == Some(b'*') {
            self.state = State::Block(1);
            return 2;
        }
        self.begun |= !byte.is_ascii_whitespace();
        match byte {
            b'\'' => self.state = State::Text { escapes, escaped: false },
            b'"' => self.state = State::Name,
            b'(' => self.parentheses += 1,
            b')' => self.parentheses = self.parentheses.saturating_sub(1),
            b'$' => {
                if let Some(delimiter) = dollar_quote(rest) {
                    let taken = delimiter.len();
                    self.state = State::Dollar(delimiter);
                    return taken;
                }
            }
            _ => {}
        }
        1
    }

    fn end_word(&mut self) {
        if self.word.is_empty() {
            return;
        }
        let word = std::mem::take(&mut self.word);
        if self.makes_routine() && self.parentheses == 0 {
            match word.as_str() {
                "begin" => self.blocks += 1,
                "case" if self.blocks > 0 => self.blocks += 1,
                "end" => self.blocks = self.blocks.saturating_sub(1),
                _ => {}
            }
        }
        if self.words.len() < 4 {
            self.words.push(word);
        }
    }

    fn makes_routine(&self) -> bool {
        let words: Vec<&str> = self.words.iter().map(String::as_str).collect();
        matches!(
            words.as_slice(),
            ["create", "function" | "procedure", ..] | ["create", "or", "replace", "function" | "procedure", ..]
        )
    }
}

/// `$tag$` at the beginning of a text.
fn dollar_quote(rest: &[u8]) -> Option<Vec<u8>> {
    let end = rest.iter().skip(1).position(|b| *b == b'$')? + 1;
    let tag = &rest[1..end];
    let plain = |b: &u8| b.is_ascii_alphanumeric() || *b == b'_' || *b >= 0x80;
    (tag.iter().all(plain) && !tag.first().is_some_and(u8::is_ascii_digit)).then(|| rest[..=end].to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str) -> Vec<String> {
        let mut splitter = Splitter::default();
        let mut found = Vec::new();
        for line in text.split_inclusive('\n') {
            splitter
                .line(line.as_bytes(), |statement| {
                    found.push(String::from_utf8(statement).unwrap().trim().to_string());
                    Ok::<(), ()>(())
                })
                .unwrap();
        }
        found.extend(splitter.rest().map(|rest| String::from_utf8(rest).unwrap().trim().to_string()));
        found
    }

    #[test]
    fn statements_end_where_psql_ends_them() {
        for (text, expected) in [
            ("SELECT 1; SELECT 2", vec!["SELECT 1;", "SELECT 2"]),
            ("SELECT ';' , \";\"; SELECT E'\\';'; SELECT '\\';", vec!["SELECT ';' , \";\";", "SELECT E'\\';';", "SELECT '\\';"]),
            ("SELECT 'it''s;'; x", vec!["SELECT 'it''s;';", "x"]),
            ("SELECT $$;$$, $a$ ; $$ $b$ $a$; x", vec!["SELECT $$;$$, $a$ ; $$ $b$ $a$;", "x"]),
            ("SELECT a$b$; x$b$", vec!["SELECT a$b$;", "x$b$"]),
            ("-- a;\n/* b; /* c; */ ; */ SELECT 1;\n-- end;\n", vec!["-- a;\n/* b; /* c; */ ; */ SELECT 1;"]),
            ("CREATE RULE r AS ON INSERT TO t DO (SELECT 1; SELECT 2); x", vec!["CREATE RULE r AS ON INSERT TO t DO (SELECT 1; SELECT 2);", "x"]),
            (
                "CREATE OR REPLACE FUNCTION f() RETURNS int LANGUAGE sql\nBEGIN ATOMIC\n SELECT CASE WHEN true THEN 1 END;\n SELECT 2;\nEND;\nBEGIN; x",
                vec![
                    "CREATE OR REPLACE FUNCTION f() RETURNS int LANGUAGE sql\nBEGIN ATOMIC\n SELECT CASE WHEN true THEN 1 END;\n SELECT 2;\nEND;",
                    "BEGIN;",
                    "x",
                ],
            ),
            ("\n\n -- nothing\n", vec![]),
            ("SELECT $1; SELECT 'ü;'; x", vec!["SELECT $1;", "SELECT 'ü;';", "x"]),
        ] {
            assert_eq!(split(text), expected, "{text}");
        }
    }
}
