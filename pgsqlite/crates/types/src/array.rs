//! Arrays. Stored as compact JSON text, exactly as SQLite's `json_array` would print it, so that equal arrays are equal
//! texts: numbers as JSON numbers (NaN and infinities as strings), booleans as 0 and 1, SQL NULL as `null`, everything
//! else as strings; nested for more dimensions. Lower bounds other than 1 have no place in it and are refused.

use crate::codec::{Context, TypeCodec, VECTOR_DELIMITER};
use crate::json::write_string;
use crate::oid::Oid;
use crate::write::{bad_stored, int, is_space, Reader};
use crate::{bytea, catalog, float};
use crate::{Datum, DatumRef, PgError, Result, SqlState};

/// Most dimensions of an array.
pub const MAX_DIMENSIONS: usize = 6;

/// An array in memory: the length of each dimension (none: empty) and the elements in storage form, row by row.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Array {
    pub dimensions: Vec<usize>,
    pub elements: Vec<Datum>,
}

fn malformed(text: &str, detail: &str) -> PgError {
    PgError::new(SqlState::INVALID_TEXT_REPRESENTATION, format!("malformed array literal: \"{text}\"")).detail(detail)
}

fn too_deep(n: usize) -> PgError {
    PgError::new(
        SqlState::PROGRAM_LIMIT_EXCEEDED,
        format!("number of array dimensions ({n}) exceeds the maximum allowed ({MAX_DIMENSIONS})"),
    )
}

/// Whether an element's storage form is printed as a JSON number.
fn is_number(element: &TypeCodec) -> bool {
    matches!(
        element,
        TypeCodec::Bool
            | TypeCodec::Int2
            | TypeCodec::Int4
            | TypeCodec::Int8
            | TypeCodec::Oid
            | TypeCodec::Reg(_)
            | TypeCodec::Float4
            | TypeCodec::Float8
    )
}

/// Appends one element as it stands in the stored text.
fn write_element(value: &Datum, out: &mut Vec<u8>) {
    match value {
        Datum::Null => out.extend_from_slice(b"null"),
        Datum::Int(i) => int(out, *i),
        Datum::Real(r) => float::write_json(*r, out),
        Datum::Text(t) => write_string(t, out),
        Datum::Blob(b) => {
            out.extend_from_slice(b"\"\\\\x");
            crate::write::hex(out, b);
            out.push(b'"');
        }
    }
}

impl Array {
    /// A one-dimensional array.
    pub fn from_elements(elements: Vec<Datum>) -> Array {
        Array { dimensions: if elements.is_empty() { Vec::new() } else { vec![elements.len()] }, elements }
    }

    /// The storage form.
    pub fn to_storage(&self) -> String {
        let mut out = Vec::new();
        let mut next = 0;
        self.write_level(0, &mut next, &mut out);
        String::from_utf8(out).expect("JSON of valid strings is valid UTF-8")
    }

    pub fn to_datum(&self) -> Datum {
        Datum::Text(self.to_storage())
    }

    fn write_level(&self, level: usize, next: &mut usize, out: &mut Vec<u8>) {
        out.push(b'[');
        for i in 0..self.dimensions.get(level).copied().unwrap_or(0) {
            if i > 0 {
                out.push(b',');
            }
            if level + 1 < self.dimensions.len() {
                self.write_level(level + 1, next, out);
            } else {
                write_element(&self.elements[*next], out);
                *next += 1;
            }
        }
        out.push(b']');
    }

    /// Reads a storage form whose elements are of `element`; None for anything else.
    pub fn from_storage(text: &str, element: &TypeCodec) -> Option<Array> {
        let mut reader = Stored { text, at: 0, element, array: Array::default() };
        reader.level(0)?;
        (reader.at == text.len()).then_some(reader.array)
    }
}

/// Reader of the stored JSON text. It takes any JSON array of scalars, of the right shape, as SQLite makes them.
struct Stored<'a> {
    text: &'a str,
    at: usize,
    element: &'a TypeCodec,
    array: Array,
}

impl Stored<'_> {
    fn peek(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        while bytes.get(self.at).is_some_and(|b| is_space(*b)) {
            self.at += 1;
        }
        bytes.get(self.at).copied()
    }

    fn level(&mut self, depth: usize) -> Option<()> {
        if self.peek()? != b'[' || depth >= MAX_DIMENSIONS {
            return None;
        }
        self.at += 1;
        let mut count = 0;
        if self.peek()? == b']' {
            self.at += 1;
            // Only the whole array may be empty.
            return (depth == 0).then_some(());
        }
        let nested = self.peek()? == b'[';
        if self.array.dimensions.len() == depth {
            self.array.dimensions.push(0);
        }
        loop {
            if nested {
                self.level(depth + 1)?;
            } else {
                if self.array.dimensions.len() != depth + 1 {
                    return None;
                }
                let value = self.scalar()?;
                self.array.elements.push(value);
            }
            count += 1;
            match self.peek()? {
                b',' => self.at += 1,
                b']' => break,
                _ => return None,
            }
        }
        self.at += 1;
        // Rows of one dimension have one length: the first one decides.
        let known = &mut self.array.dimensions[depth];
        if *known == 0 {
            *known = count;
        }
        (*known == count).then_some(())
    }

    fn scalar(&mut self) -> Option<Datum> {
        if self.peek()? == b'"' {
            return self.string();
        }
        let rest = &self.text[self.at..];
        let end = rest.find([',', ']', ' ', '\n', '\t', '\r'])?;
        self.at += end;
        let word = &rest[..end];
        Some(match word {
            "null" => Datum::Null,
            "true" => Datum::Int(1),
            "false" => Datum::Int(0),
            _ => match self.element {
                TypeCodec::Float4 | TypeCodec::Float8 => Datum::Real(word.parse().ok()?),
                e if is_number(e) => Datum::Int(word.parse().ok()?),
                // A JSON number among texts, as json_array makes from a numeric of SQLite's own.
                _ => Datum::Text(word.to_string()),
            },
        })
    }

    fn string(&mut self) -> Option<Datum> {
        let rest = &self.text[self.at + 1..];
        let bytes = rest.as_bytes();
        let mut end = 0;
        while *bytes.get(end)? != b'"' {
            end += if bytes[end] == b'\\' { 2 } else { 1 };
        }
        let raw = rest.get(..end)?;
        let text = if raw.contains('\\') {
            match crate::json::parse(&self.text[self.at..self.at + end + 2], crate::json::Flavor::Json).ok()? {
                crate::json::Json::String(s) => s,
                _ => return None,
            }
        } else {
            raw.to_string()
        };
        self.at += end + 2;
        Some(match self.element {
            TypeCodec::Float4 | TypeCodec::Float8 => match text.as_str() {
                "Infinity" => Datum::Real(f64::INFINITY),
                "-Infinity" => Datum::Real(f64::NEG_INFINITY),
                _ => Datum::Text(text),
            },
            TypeCodec::Bytea => Datum::Blob(bytea::parse(&text).ok()?),
            _ => Datum::Text(text),
        })
    }
}

pub(crate) fn stored(value: DatumRef, element: &TypeCodec) -> Result<Array> {
    match value {
        DatumRef::Text(t) => Array::from_storage(t, element),
        _ => None,
    }
    .ok_or_else(|| bad_stored("array", value))
}

/// Reads the text form: `{…}`, for the vectors numbers with blanks between them.
pub(crate) fn text_in(
    text: &str,
    element: &TypeCodec,
    element_oid: Oid,
    delimiter: u8,
    typmod: i32,
    context: &Context,
) -> Result<Datum> {
    if delimiter == VECTOR_DELIMITER {
        let words = text.split(|c: char| c.is_ascii() && is_space(c as u8)).filter(|w| !w.is_empty());
        let elements: Result<Vec<Datum>> = words.map(|w| element.text_in(w, -1, context)).collect();
        return Ok(Array::from_elements(elements?).to_datum());
    }
    let _ = element_oid;
    let literal = text.trim_start_matches(|c: char| c.is_ascii() && is_space(c as u8));
    let body = if literal.starts_with('[') { literal_bounds(text, literal)? } else { literal };
    if !body.starts_with('{') {
        return Err(malformed(text, "Array value must start with \"{\" or dimension information."));
    }
    let mut parser = Literal { text, body, at: 0, delimiter, dimensions: Vec::new(), elements: Vec::new() };
    parser.shape()?;
    let mut elements = Vec::with_capacity(parser.elements.len());
    for e in &parser.elements {
        elements.push(match e {
            Some(t) => element.text_in(t, typmod, context)?,
            None => Datum::Null,
        });
    }
    Ok(Array { dimensions: parser.dimensions, elements }.to_datum())
}

/// Explicit bounds `[1:2]…=`: allowed where they say nothing new, else refused; gives what follows.
fn literal_bounds<'a>(text: &str, literal: &'a str) -> Result<&'a str> {
    let mut rest = literal;
    let mut lengths: Vec<i64> = Vec::new();
    let int = |t: &str| -> Option<i64> { t.parse::<i32>().ok().map(i64::from) };
    while let Some(inner) = rest.trim_start().strip_prefix('[') {
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
        let (Some(low), Some(high)) = (int(low), int(high)) else {
            return Err(malformed(text, "Missing \"]\" after array dimensions."));
        };
        if high < low {
            return Err(PgError::new(SqlState::ARRAY_SUBSCRIPT_ERROR, "upper bound cannot be less than lower bound"));
        }
        if low != 1 {
            return Err(PgError::not_supported("an array whose lower bound is not 1"));
        }
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
    let mut shape = Literal { text, body, at: 0, delimiter: b',', dimensions: Vec::new(), elements: Vec::new() };
    shape.shape()?;
    if shape.dimensions.iter().map(|d| *d as i64).ne(lengths.iter().copied()) {
        return Err(malformed(text, "Specified array dimensions do not match array contents."));
    }
    Ok(body)
}

/// Parser of `{…}`.
struct Literal<'a> {
    text: &'a str,
    body: &'a str,
    at: usize,
    delimiter: u8,
    dimensions: Vec<usize>,
    /// None: NULL
    elements: Vec<Option<String>>,
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
    fn shape(&mut self) -> Result<()> {
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
        Ok(if !quoted && !escaped && value.eq_ignore_ascii_case("null") { None } else { Some(value) })
    }
}

/// Whether an element's text needs quotes inside `{…}`.
fn needs_quotes(text: &[u8], delimiter: u8) -> bool {
    text.is_empty()
        || text.eq_ignore_ascii_case(b"null")
        || text.iter().any(|b| matches!(b, b'"' | b'\\' | b'{' | b'}') || *b == delimiter || is_space(*b))
}

pub(crate) fn text_out(
    value: DatumRef,
    element: &TypeCodec,
    delimiter: u8,
    context: &Context,
    out: &mut Vec<u8>,
) -> Result<()> {
    let array = stored(value, element)?;
    if delimiter == VECTOR_DELIMITER {
        for (i, e) in array.elements.iter().enumerate() {
            if i > 0 {
                out.push(b' ');
            }
            element.text_out(e.as_ref(), context, out)?;
        }
        return Ok(());
    }
    if array.dimensions.is_empty() {
        out.extend_from_slice(b"{}");
        return Ok(());
    }
    let mut scratch = Vec::new();
    let last = array.dimensions.len() - 1;
    for (i, e) in array.elements.iter().enumerate() {
        // Braces open where an element begins a row of its dimension, and close where it ends one.
        let mut span = 1;
        let (mut opens, mut closes) = (0, 0);
        for d in (0..=last).rev() {
            span *= array.dimensions[d];
            opens += usize::from(i % span == 0);
            closes += usize::from((i + 1) % span == 0);
        }
        if i > 0 {
            out.push(delimiter);
        }
        out.extend(std::iter::repeat_n(b'{', opens));
        if e.is_null() {
            out.extend_from_slice(b"NULL");
        } else {
            scratch.clear();
            element.text_out(e.as_ref(), context, &mut scratch)?;
            if needs_quotes(&scratch, delimiter) {
                out.push(b'"');
                for b in &scratch {
                    if matches!(b, b'"' | b'\\') {
                        out.push(b'\\');
                    }
                    out.push(*b);
                }
                out.push(b'"');
            } else {
                out.extend_from_slice(&scratch);
            }
        }
        out.extend(std::iter::repeat_n(b'}', closes));
    }
    Ok(())
}

/// Binary form: dimensions, has-nulls flag, element type, then length and lower bound of each dimension, then elements.
pub(crate) fn binary_in(
    bytes: &[u8],
    element: &TypeCodec,
    element_oid: Oid,
    delimiter: u8,
    typmod: i32,
    context: &Context,
) -> Result<Datum> {
    let bad = |message: String| PgError::new(SqlState::INVALID_BINARY_REPRESENTATION, message);
    let mut r = Reader(bytes);
    let count = r.i32()?;
    if count < 0 {
        return Err(bad(format!("invalid number of dimensions: {count}")));
    }
    if count as usize > MAX_DIMENSIONS {
        return Err(too_deep(count as usize));
    }
    let flags = r.i32()?;
    if flags != 0 && flags != 1 {
        return Err(bad("invalid array flags".into()));
    }
    let sent = r.u32()?;
    if sent != element_oid {
        let name = |oid| {
            let name = crate::typmod::type_name(oid);
            name.unwrap_or_else(|| oid.to_string())
        };
        return Err(PgError::new(
            SqlState::DATATYPE_MISMATCH,
            format!(
                "binary data has array element type {sent} ({}) instead of expected {element_oid} ({})",
                name(sent),
                name(element_oid)
            ),
        ));
    }
    let lower = if delimiter == VECTOR_DELIMITER { 0 } else { 1 };
    let mut dimensions = Vec::new();
    for _ in 0..count {
        let length = r.i32()?;
        let bound = r.i32()?;
        if length < 0 {
            return Err(PgError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, "array size exceeds the maximum allowed"));
        }
        if bound != lower && length > 0 {
            return Err(PgError::not_supported("an array whose lower bound is not 1"));
        }
        dimensions.push(length as usize);
    }
    let total = dimensions.iter().try_fold(1usize, |n, d| n.checked_mul(*d)).unwrap_or(usize::MAX);
    let total = if dimensions.is_empty() { 0 } else { total };
    // Every element takes a length word, so a count that the message cannot hold is refused before anything is kept.
    if total > r.0.len() / 4 {
        return Err(PgError::new(SqlState::PROTOCOL_VIOLATION, "insufficient data left in message"));
    }
    let mut elements = Vec::with_capacity(total);
    for _ in 0..total {
        let length = r.i32()?;
        elements.push(match length {
            -1 => Datum::Null,
            n if n < 0 => return Err(bad("insufficient data left in message".into())),
            n => element.binary_in(r.take(n as usize)?, typmod, context)?,
        });
    }
    r.end()?;
    if total == 0 {
        dimensions.clear();
    }
    Ok(Array { dimensions, elements }.to_datum())
}

pub(crate) fn binary_out(
    value: DatumRef,
    element: &TypeCodec,
    element_oid: Oid,
    delimiter: u8,
    context: &Context,
    out: &mut Vec<u8>,
) -> Result<()> {
    let mut array = stored(value, element)?;
    let vector = delimiter == VECTOR_DELIMITER;
    if vector && array.dimensions.is_empty() {
        array.dimensions.push(0);
    }
    let nulls = array.elements.iter().any(Datum::is_null);
    out.extend_from_slice(&(array.dimensions.len() as i32).to_be_bytes());
    out.extend_from_slice(&(nulls as i32).to_be_bytes());
    out.extend_from_slice(&element_oid.to_be_bytes());
    for d in &array.dimensions {
        out.extend_from_slice(&(*d as i32).to_be_bytes());
        out.extend_from_slice(&i32::from(!vector).to_be_bytes());
    }
    for e in &array.elements {
        length_prefixed(e, element, context, out)?;
    }
    Ok(())
}

/// Appends a value with its length word; -1 for NULL.
pub(crate) fn length_prefixed(value: &Datum, codec: &TypeCodec, context: &Context, out: &mut Vec<u8>) -> Result<()> {
    if value.is_null() {
        out.extend_from_slice(&(-1i32).to_be_bytes());
        return Ok(());
    }
    let at = out.len();
    out.extend_from_slice(&[0; 4]);
    codec.binary_out(value.as_ref(), context, out)?;
    let length = (out.len() - at - 4) as i32;
    out[at..at + 4].copy_from_slice(&length.to_be_bytes());
    Ok(())
}

/// The array type's element OID for a codec, for callers that only know the array's OID.
pub fn element_oid(array_oid: Oid) -> Option<Oid> {
    catalog::by_oid(array_oid).filter(|t| t.is_array()).map(|t| t.elem)
}
