//! The lines of `pg_hba.conf` and `pg_ident.conf`: words with blanks between them, lists with commas, `#` for comments, a backslash at a line's
//! end for an entry of several lines, `@file` for the words of another file.

use std::path::{Path, PathBuf};

/// A line that is no rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub line: usize,
    pub message: String,
}

/// A word of a line. Quotes take its special meaning from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// The word itself.
    pub text: String,
    /// It begins with a quote.
    pub quoted: bool,
}

impl Word {
    /// Whether the word is this keyword.
    pub(super) fn is(&self, keyword: &str) -> bool {
        !self.quoted && self.text == keyword
    }
}

/// How deep files of words may name one another.
const DEEPEST: usize = 10;

/// The lines of a text that have fields, each with its number and its fields, or with what is wrong with it. Files that it names without a
/// folder are in `folder`.
pub(super) fn lines<'a>(
    text: &'a str,
    folder: &'a Path,
) -> impl Iterator<Item = (usize, Result<Vec<Vec<Word>>, String>)> + 'a {
    logical_lines(text).into_iter().filter_map(move |(line, text)| {
        let fields: Result<Vec<_>, String> =
            fields(&text).into_iter().map(|words| with_files(words, folder, 0)).collect();
        (fields != Ok(Vec::new())).then_some((line, fields))
    })
}

/// Lines with the number of their first: a backslash at the end takes the next one in.
fn logical_lines(text: &str) -> Vec<(usize, String)> {
    let mut lines: Vec<(usize, String)> = Vec::new();
    let mut open = false;
    for (at, line) in text.lines().enumerate() {
        let continues = line.ends_with('\\');
        let part = line.strip_suffix('\\').unwrap_or(line);
        match lines.last_mut() {
            Some((_, whole)) if open => whole.push_str(part),
            _ => lines.push((at + 1, part.to_string())),
        }
        open = continues;
    }
    lines
}

/// The fields of a line, each a list of words.
fn fields(line: &str) -> Vec<Vec<Word>> {
    let mut characters = line.chars().peekable();
    let mut fields: Vec<Vec<Word>> = Vec::new();
    // the word before ended with a comma: the next one is of the same list
    let mut goes_on = false;
    loop {
        while characters.next_if(|c| matches!(c, ' ' | '\t' | '\r' | ',')).is_some() {}
        let (mut text, mut quoted, mut in_quotes, mut was_quote, mut any_quote) =
            (String::new(), false, false, false, false);
        let mut comma = false;
        let mut ended = true;
        while let Some(c) = characters.next() {
            match c {
                ' ' | '\t' | '\r' if !in_quotes => {
                    ended = false;
                    break;
                }
                '#' if !in_quotes => {
                    characters = "".chars().peekable();
                    break;
                }
                ',' if !in_quotes => {
                    (comma, ended) = (true, false);
                    break;
                }
                _ => {}
            }
            if c != '"' || was_quote {
                text.push(c);
            }
            // two quotes within quotes are one
            was_quote = in_quotes && c == '"' && !was_quote;
            if c == '"' {
                in_quotes = !in_quotes;
                any_quote = true;
                quoted |= text.is_empty();
            }
        }
        if text.is_empty() && !any_quote {
            return fields;
        }
        let word = Word { text, quoted };
        match fields.last_mut() {
            Some(list) if goes_on => list.push(word),
            _ => fields.push(vec![word]),
        }
        goes_on = comma;
        if ended && characters.peek().is_none() {
            return fields;
        }
    }
}

/// The system's words for an error.
pub(super) fn reason(error: &std::io::Error) -> String {
    let told = error.to_string();
    match told.split_once(" (os error ") {
        Some((words, _)) => words.to_string(),
        None => told,
    }
}

/// `@name`, which PostgreSQL reads names from.
fn is_file(word: &Word) -> bool {
    !word.quoted && word.text.len() > 1 && word.text.starts_with('@')
}

/// The words of a field, those of the files that it names in the place of their names.
fn with_files(words: Vec<Word>, folder: &Path, depth: usize) -> Result<Vec<Word>, String> {
    let mut all = Vec::new();
    for word in words {
        if !is_file(&word) {
            all.push(word);
            continue;
        }
        let path: PathBuf = folder.join(&word.text[1..]);
        let told = |why: String| {
            format!("could not open secondary authentication file \"{}\" as \"{}\": {why}", word.text, path.display())
        };
        if depth == DEEPEST {
            return Err(told("maximum nesting depth exceeded".into()));
        }
        let text = std::fs::read_to_string(&path).map_err(|e| told(reason(&e)))?;
        let folder = path.parent().unwrap_or(folder);
        for (_, line) in logical_lines(&text) {
            for words in fields(&line) {
                all.extend(with_files(words, folder, depth + 1)?);
            }
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_as_postgresql_splits_them() {
        let texts = |line: &str| -> Vec<Vec<String>> {
            fields(line).iter().map(|f| f.iter().map(|w| w.text.clone()).collect()).collect()
        };
        assert_eq!(texts("a , b,c  \"d e\",f # g"), [vec!["a"], vec!["b", "c"], vec!["d e", "f"]]);
        assert_eq!(texts("a, b \"\" \"x\"\"y\""), [vec!["a", "b"], vec![""], vec!["x\"y"]]);
        assert_eq!(texts("\"a#b\"#c"), [vec!["a#b"]]);
        assert!(fields("\"all\"")[0][0].quoted && !fields("all")[0][0].quoted);
    }
}
