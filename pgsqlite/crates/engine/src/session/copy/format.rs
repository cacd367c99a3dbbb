//! The text and CSV formats of COPY: values ⇄ lines. Pure: no database, no session.
//!
//! In: [`Lines`] takes the client's bytes, cut anywhere, and gives whole lines; [`Fields::split`] takes a line apart.
//! Out: [`put_line`] appends a row.

use crate::session::copy::copy_options::CopyOptions;
use pgsqlite_types::work;
use pgsqlite_types::{PgError, Result, SqlState};

fn bad(message: impl Into<String>) -> PgError {
    PgError::new(SqlState::BAD_COPY_FILE_FORMAT, message)
}

// --- out ---------------------------------------------------------------------------------------------------------------

/// Appends a row: one value per column (None: NULL; its text form otherwise), and the line's end. `quoted`: per column, whether CSV
/// quotes its values in any case.
pub(in crate::session) fn put_line<'a>(
    options: &CopyOptions,
    values: impl ExactSizeIterator<Item = Option<&'a [u8]>>,
    quoted: &[bool],
    out: &mut Vec<u8>,
) -> Result<()> {
    let single = values.len() == 1;
    for (i, value) in values.enumerate() {
        if i > 0 {
            out.push(options.delimiter);
        }
        match value {
            None => out.extend_from_slice(options.null.as_bytes()),
            Some(text) if options.csv => put_csv(options, text, quoted.get(i) == Some(&true), single, out)?,
            Some(text) => put_text(options, text, out)?,
        }
    }
    out.push(b'\n');
    Ok(())
}

fn put_text(options: &CopyOptions, text: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let special = |byte: &u8| matches!(byte, 8..=13 | b'\\') || *byte == options.delimiter;
    let mut rest = text;
    // most values have nothing to escape: what lies between is copied at once
    while let Some(at) = rest.iter().position(special) {
        out.extend_from_slice(&rest[..at]);
        let letter = match rest[at] {
            8 => b'b',
            9 => b't',
            10 => b'n',
            11 => b'v',
            12 => b'f',
            13 => b'r',
            other => other,
        };
        out.extend_from_slice(&[b'\\', letter]);
        rest = &rest[at + 1..];
        work::tick(1)?;
    }
    out.extend_from_slice(rest);
    Ok(())
}

fn put_csv(options: &CopyOptions, text: &[u8], force: bool, single: bool, out: &mut Vec<u8>) -> Result<()> {
    let special = |b: &u8| *b == options.delimiter || *b == options.quote || *b == b'\n' || *b == b'\r';
    // what looks like NULL, or like the end of the data, is told from it by quotes
    let quoted = force || text == options.null.as_bytes() || single && text == b"\\." || text.iter().any(special);
    if !quoted {
        out.extend_from_slice(text);
        return Ok(());
    }
    out.push(options.quote);
    let mut looks = Looks::default();
    for (i, &byte) in text.iter().enumerate() {
        looks.at(i)?;
        if byte == options.quote || byte == options.escape {
            out.push(options.escape);
        }
        out.push(byte);
    }
    out.push(options.quote);
    Ok(())
}

/// Where in a long line or message requests are looked at next.
struct Looks {
    next: usize,
}

impl Default for Looks {
    fn default() -> Looks {
        Looks { next: work::PIECE }
    }
}

impl Looks {
    /// Called at each byte, so that it costs a comparison. Errors: those of requests.
    #[inline]
    fn at(&mut self, place: usize) -> Result<()> {
        if place < self.next {
            return Ok(());
        }
        self.next = place + work::PIECE;
        work::tick(work::PIECE)
    }
}

// --- in: lines ---------------------------------------------------------------------------------------------------------

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineEnd {
    Unknown,
    Newline,
    Return,
    ReturnNewline,
}

/// What [`Lines::next`] found.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::session) enum Next {
    /// a line, without its end: [`Lines::line`] gives it
    Line,
    /// the buffer holds no whole line: more bytes are needed
    More,
    /// no more lines (the end of the data, or `\.`)
    End,
}

/// Cuts a stream of bytes into lines. The first line's end decides what ends the others.
pub(in crate::session) struct Lines {
    buffer: Vec<u8>,
    /// where the present line begins, and how far it was looked through
    start: usize,
    scan: usize,
    /// the line found last, in `buffer`
    line: std::ops::Range<usize>,
    ended: bool,
    /// the present line is counted already
    begun: bool,
    line_end: LineEnd,
    in_quote: bool,
    last_was_escape: bool,
    /// from 1; a quoted line end inside a CSV value counts, too
    pub number: u64,
    csv: bool,
    quote: u8,
    /// the escape character, if it is not the quote itself
    escape: Option<u8>,
}

impl Lines {
    pub fn new(options: &CopyOptions) -> Lines {
        Lines {
            buffer: Vec::new(),
            start: 0,
            scan: 0,
            line: 0..0,
            ended: false,
            begun: false,
            line_end: LineEnd::Unknown,
            in_quote: false,
            last_was_escape: false,
            number: 0,
            csv: options.csv,
            quote: options.quote,
            escape: (options.escape != options.quote).then_some(options.escape),
        }
    }

    /// Takes more of the client's bytes; what comes after `\.` is not kept.
    pub fn push(&mut self, data: &[u8]) {
        if self.ended {
            return;
        }
        if self.start > 0 {
            self.buffer.drain(..self.start);
            self.scan -= self.start;
            self.start = 0;
            self.line = 0..0;
        }
        self.buffer.extend_from_slice(data);
    }

    /// Bytes that wait to be read as lines.
    pub fn waiting(&self) -> usize {
        self.buffer.len() - self.start
    }

    /// The line that was found last.
    pub fn line(&self) -> &[u8] {
        &self.buffer[self.line.clone()]
    }

    fn found(&mut self, end: usize, next: usize) -> Next {
        self.line = self.start..end;
        self.start = next;
        self.scan = next;
        self.begun = false;
        self.in_quote = false;
        self.last_was_escape = false;
        Next::Line
    }

    /// `\.` at `at`: what stands before it in its line is the last line.
    fn end_marker(&mut self, at: usize) -> Next {
        self.ended = true;
        if at == self.start {
            self.start = self.buffer.len();
            return Next::End;
        }
        let end = self.buffer.len();
        self.found(at, end)
    }

    /// The next line. `last`: no more bytes will come, so what is left is a line. Errors: 22P04.
    pub fn next(&mut self, last: bool) -> Result<Next> {
        if self.ended {
            return Ok(Next::End);
        }
        if !self.begun {
            if self.start == self.buffer.len() {
                return Ok(if last { Next::End } else { Next::More });
            }
            self.begun = true;
            self.number += 1;
        }
        let mut looks = Looks { next: self.scan + work::PIECE };
        while let Some(&byte) = self.buffer.get(self.scan) {
            looks.at(self.scan)?;
            let following = self.buffer.get(self.scan + 1).copied();
            match byte {
                b'\r' if !self.in_quote => {
                    if matches!(self.line_end, LineEnd::Unknown | LineEnd::ReturnNewline) {
                        if following.is_none() && !last {
                            return Ok(Next::More);
                        }
                        if following == Some(b'\n') {
                            self.line_end = LineEnd::ReturnNewline;
                            return Ok(self.found(self.scan, self.scan + 2));
                        }
                        if self.line_end == LineEnd::ReturnNewline {
                            return Err(self.stray_return());
                        }
                        self.line_end = LineEnd::Return;
                    } else if self.line_end == LineEnd::Newline {
                        return Err(self.stray_return());
                    }
                    return Ok(self.found(self.scan, self.scan + 1));
                }
                b'\n' if !self.in_quote => {
                    if matches!(self.line_end, LineEnd::Return | LineEnd::ReturnNewline) {
                        return Err(if self.csv {
                            bad("unquoted newline found in data").hint("Use quoted CSV field to represent newline.")
                        } else {
                            bad("literal newline found in data").hint("Use \"\\n\" to represent newline.")
                        });
                    }
                    self.line_end = LineEnd::Newline;
                    return Ok(self.found(self.scan, self.scan + 1));
                }
                // (of CSV nothing but the end of the data ends it)
                b'\\' if !self.csv => {
                    if following.is_none() {
                        if !last {
                            return Ok(Next::More);
                        }
                        self.scan += 1;
                        continue;
                    }
                    if following == Some(b'.') {
                        match self.marker_end(last)? {
                            Marker::End => return Ok(self.end_marker(self.scan)),
                            Marker::More => return Ok(Next::More),
                            Marker::Data => self.scan += 1,
                        }
                        continue;
                    }
                    // whatever follows a backslash is data, also a line's end
                    self.scan += 2;
                    continue;
                }
                _ => {}
            }
            if self.csv {
                let escape = Some(byte) == self.escape;
                if self.in_quote && escape {
                    self.last_was_escape = !self.last_was_escape;
                }
                if byte == self.quote && !self.last_was_escape {
                    self.in_quote = !self.in_quote;
                }
                if !escape {
                    self.last_was_escape = false;
                }
                let counted = if self.line_end == LineEnd::Newline { b'\n' } else { b'\r' };
                if self.in_quote && byte == counted {
                    self.number += 1;
                }
            }
            self.scan += 1;
        }
        if !last {
            return Ok(Next::More);
        }
        let end = self.buffer.len();
        Ok(self.found(end, end))
    }

    fn stray_return(&self) -> PgError {
        if self.csv {
            bad("unquoted carriage return found in data").hint("Use quoted CSV field to represent carriage return.")
        } else {
            bad("literal carriage return found in data").hint("Use \"\\r\" to represent carriage return.")
        }
    }

    /// What follows `\.` at `scan`.
    fn marker_end(&self, last: bool) -> Result<Marker> {
        let corrupt = || Err(bad("end-of-copy marker is not alone on its line"));
        let mismatch = || Err(bad("end-of-copy marker does not match previous newline style"));
        let at = |i: usize| self.buffer.get(self.scan + 2 + i).copied();
        let missing = if last { Marker::Data } else { Marker::More };
        let mut end = match at(0) {
            None => return Ok(missing),
            Some(byte) => byte,
        };
        if self.line_end == LineEnd::ReturnNewline {
            match end {
                b'\n' => return mismatch(),
                b'\r' => {}
                _ => return corrupt(),
            }
            end = match at(1) {
                None => return Ok(missing),
                Some(byte) => byte,
            };
        }
        match (end, self.line_end) {
            (b'\n', LineEnd::Return) | (b'\r', LineEnd::Newline | LineEnd::ReturnNewline) => mismatch(),
            (b'\n' | b'\r', _) => Ok(Marker::End),
            _ => corrupt(),
        }
    }
}

enum Marker {
    End,
    More,
    Data,
}

// --- in: fields --------------------------------------------------------------------------------------------------------

/// A line, taken apart. Made once, used for every line: its buffers are kept.
#[derive(Default)]
pub(in crate::session) struct Fields {
    bytes: Vec<u8>,
    /// per field: its range in `bytes`; None: NULL
    ends: Vec<Option<std::ops::Range<usize>>>,
    /// the fields that are written as the DEFAULT specification says
    defaults: Vec<usize>,
}

impl Fields {
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// A field's bytes; None: NULL.
    pub fn get(&self, i: usize) -> Option<&[u8]> {
        self.ends[i].as_ref().map(|r| &self.bytes[r.clone()])
    }

    /// Whether a field stands for its column's default.
    pub fn is_default(&self, i: usize) -> bool {
        self.defaults.contains(&i)
    }

    /// The fields that stand for their columns' defaults, in order.
    pub fn defaults(&self) -> &[usize] {
        &self.defaults
    }

    /// The next field, whose bytes are those behind `out`. `written`: as it stands in the line, if that may be one of the marks.
    fn push(&mut self, options: &CopyOptions, out: usize, written: Option<&[u8]>) {
        if written.is_some() && written == options.default.as_ref().map(String::as_bytes) {
            self.defaults.push(self.ends.len());
        }
        let null = written == Some(options.null.as_bytes());
        self.ends.push((!null).then_some(out..self.bytes.len()));
    }

    /// Takes a line apart. Errors: 22P04 for a quoted value without an end.
    pub fn split(&mut self, options: &CopyOptions, line: &[u8]) -> Result<()> {
        self.bytes.clear();
        self.ends.clear();
        self.defaults.clear();
        if options.csv {
            self.split_csv(options, line)
        } else {
            self.split_text(options, line)
        }
    }

    fn split_text(&mut self, options: &CopyOptions, line: &[u8]) -> Result<()> {
        let mut i = 0;
        let mut looks = Looks::default();
        loop {
            let (begin, out) = (i, self.bytes.len());
            while i < line.len() && line[i] != options.delimiter {
                looks.at(i)?;
                if line[i] != b'\\' || i + 1 == line.len() {
                    self.bytes.push(line[i]);
                    i += 1;
                    continue;
                }
                let letter = line[i + 1];
                i += 2;
                let byte = match letter {
                    b'0'..=b'7' => {
                        let mut value = u32::from(letter - b'0');
                        for _ in 0..2 {
                            match line.get(i) {
                                Some(d @ b'0'..=b'7') => value = (value << 3) + u32::from(d - b'0'),
                                _ => break,
                            }
                            i += 1;
                        }
                        (value & 0xff) as u8
                    }
                    b'x' => {
                        let mut value = None;
                        for _ in 0..2 {
                            match line.get(i).and_then(|d| (*d as char).to_digit(16)) {
                                Some(d) => value = Some(value.unwrap_or(0) * 16 + d),
                                None => break,
                            }
                            i += 1;
                        }
                        value.map_or(b'x', |v| v as u8)
                    }
                    b'b' => 8,
                    b'f' => 12,
                    b'n' => 10,
                    b'r' => 13,
                    b't' => 9,
                    b'v' => 11,
                    other => other,
                };
                self.bytes.push(byte);
            }
            // NULL is known by what was written, not by what it means
            self.push(options, out, Some(&line[begin..i]));
            if i == line.len() {
                return Ok(());
            }
            i += 1;
        }
    }

    fn split_csv(&mut self, options: &CopyOptions, line: &[u8]) -> Result<()> {
        let mut i = 0;
        let mut looks = Looks::default();
        loop {
            let (begin, out) = (i, self.bytes.len());
            let mut saw_quote = false;
            while i < line.len() && line[i] != options.delimiter {
                looks.at(i)?;
                let byte = line[i];
                i += 1;
                if byte != options.quote {
                    self.bytes.push(byte);
                    continue;
                }
                saw_quote = true;
                loop {
                    looks.at(i)?;
                    let Some(&byte) = line.get(i) else { return Err(bad("unterminated CSV quoted field")) };
                    i += 1;
                    if byte == options.escape {
                        if let Some(&next) = line.get(i).filter(|n| **n == options.escape || **n == options.quote) {
                            self.bytes.push(next);
                            i += 1;
                            continue;
                        }
                    }
                    if byte == options.quote {
                        break;
                    }
                    self.bytes.push(byte);
                }
            }
            self.push(options, out, (!saw_quote).then_some(&line[begin..i]));
            if i == line.len() {
                return Ok(());
            }
            i += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    //! The expectations are what PostgreSQL makes of the same data.
    use super::*;
    use crate::session::copy::copy_options::{Columns, Header, Verbosity};

    fn text() -> CopyOptions {
        CopyOptions {
            binary: false,
            csv: false,
            delimiter: b'\t',
            null: "\\N".into(),
            default: None,
            header: Header::No,
            quote: b'"',
            escape: b'"',
            force_quote: Columns::Listed(vec![]),
            force_not_null: vec![],
            force_null: vec![],
            freeze: false,
            ignores_errors: false,
            reject_limit: None,
            log_verbosity: Verbosity::Default,
        }
    }

    fn csv() -> CopyOptions {
        CopyOptions { csv: true, delimiter: b',', null: String::new(), ..text() }
    }

    fn written(options: &CopyOptions, values: &[Option<&str>]) -> String {
        let mut out = Vec::new();
        put_line(options, values.iter().map(|v| v.map(str::as_bytes)), &[], &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    /// All lines of `data`, pushed in pieces of `size` bytes.
    fn lines(options: &CopyOptions, data: &str, size: usize) -> Result<Vec<String>> {
        let mut lines = Lines::new(options);
        let mut out = Vec::new();
        let mut pieces = data.as_bytes().chunks(size);
        loop {
            let piece = pieces.next();
            if let Some(piece) = piece {
                lines.push(piece);
            }
            loop {
                match lines.next(piece.is_none())? {
                    Next::Line => out.push(String::from_utf8(lines.line().to_vec()).unwrap()),
                    Next::More => break,
                    Next::End => return Ok(out),
                }
            }
        }
    }

    fn fields(options: &CopyOptions, line: &str) -> Vec<Option<String>> {
        let mut fields = Fields::default();
        fields.split(options, line.as_bytes()).unwrap();
        (0..fields.len()).map(|i| fields.get(i).map(|b| String::from_utf8(b.to_vec()).unwrap())).collect()
    }

    fn some(values: &[&str]) -> Vec<Option<String>> {
        values.iter().map(|v| Some(v.to_string())).collect()
    }

    #[test]
    fn text_is_written_with_backslashes() {
        let row = [Some("a\tb\n\\c\u{8}\u{b}\u{c}\r\u{1}"), None, Some(""), Some("ä")];
        assert_eq!(written(&text(), &row), "a\\tb\\n\\\\c\\b\\v\\f\\r\u{1}\t\\N\t\tä\n");
        let bar = CopyOptions { delimiter: b'|', null: "nil".into(), ..text() };
        assert_eq!(written(&bar, &[Some("a|b\tc"), None]), "a\\|b\\tc|nil\n");
    }

    #[test]
    fn csv_quotes_what_would_be_misread() {
        assert_eq!(
            written(&csv(), &[Some("a"), None, Some(""), Some("x,\"y\""), Some("1\n2"), Some("\\.")]),
            "a,,\"\",\"x,\"\"y\"\"\",\"1\n2\",\\.\n"
        );
        assert_eq!(written(&csv(), &[Some("\\.")]), "\"\\.\"\n");
        let other = CopyOptions { quote: b'\'', escape: b'\\', null: "NULL".into(), ..csv() };
        assert_eq!(written(&other, &[Some("it's"), Some("a\\b"), Some("NULL"), None]), "'it\\'s',a\\b,'NULL',NULL\n");
    }

    #[test]
    fn lines_are_found_wherever_the_data_is_cut() {
        for size in 1..12 {
            assert_eq!(lines(&text(), "a\nb\\\nc\n\nd", size).unwrap(), ["a", "b\\\nc", "", "d"]);
            assert_eq!(lines(&text(), "a\r\nb\r\n\\.\r\nrest", size).unwrap(), ["a", "b"]);
            assert_eq!(lines(&text(), "a\rb\r", size).unwrap(), ["a", "b"]);
            assert_eq!(lines(&text(), "a\nb\\.\nrest", size).unwrap(), ["a", "b"]);
            assert_eq!(
                lines(&csv(), "a,\"x\ny\"\nb\\.\n\\.\nrest", size).unwrap(),
                ["a,\"x\ny\"", "b\\.", "\\.", "rest"]
            );
            let other = CopyOptions { quote: b'\'', escape: b'\\', ..csv() };
            assert_eq!(lines(&other, "'a\\'\n\\\\'\nb\n", size).unwrap(), ["'a\\'\n\\\\'", "b"]);
        }
    }

    #[test]
    fn line_ends_must_be_alike() {
        let message = |options: &CopyOptions, data| lines(options, data, 3).unwrap_err().message().to_string();
        assert_eq!(message(&text(), "a\nb\rc\n"), "literal carriage return found in data");
        assert_eq!(message(&text(), "a\r\nb\nc\n"), "literal newline found in data");
        assert_eq!(message(&csv(), "a\nb\rc\n"), "unquoted carriage return found in data");
        assert_eq!(message(&csv(), "a\r\nb\nc\n"), "unquoted newline found in data");
        assert_eq!(message(&text(), "a\n\\.x\n"), "end-of-copy marker is not alone on its line");
        assert_eq!(message(&text(), "a\n\\.\r\n"), "end-of-copy marker does not match previous newline style");
    }

    #[test]
    fn text_fields_are_unescaped() {
        assert_eq!(fields(&text(), "a\tb\\tc\\\\\t"), some(&["a", "b\tc\\", ""]));
        assert_eq!(fields(&text(), "\\N\tN\\N"), [None, Some("NN".into())]);
        assert_eq!(fields(&text(), "\\101\\x41\\x4\\xg\\12x\\q\\"), some(&["AA\u{4}xg\nxq\\"]));
        assert_eq!(fields(&text(), ""), some(&[""]));
    }

    #[test]
    fn csv_fields_are_unquoted() {
        assert_eq!(
            fields(&csv(), "a,,\"\",\"x\"\"y\",p\"q,r\"s"),
            [Some("a".into()), None, Some(String::new()), Some("x\"y".into()), Some("pq,rs".into())]
        );
        let mut broken = Fields::default();
        assert_eq!(broken.split(&csv(), b"a,\"b").unwrap_err().message(), "unterminated CSV quoted field");
    }
}
