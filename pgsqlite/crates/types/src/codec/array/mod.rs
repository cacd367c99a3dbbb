//! Arrays. Stored as compact JSON text, as SQLite's `json_array` prints it: numbers as JSON numbers (NaN and infinities
//! as strings), booleans as 0 and 1, SQL NULL as `null`, everything else as strings; nested for more dimensions. Equal
//! arrays are equal texts, but for floats that SQLite printed itself (it may use more digits): the collation
//! `pg_array_…` compares values. Where a lower bound is not 1, the bounds of all dimensions stand in front, as in PostgreSQL's
//! text form: `[0:2]=[1,2,3]`. SQLite's JSON functions refuse such a text; ours take the bounds off first.
//!
//! This file has the value and its storage form; `literal` reads `{…}`, `io` is the codec.

mod io;
mod literal;

pub(crate) use io::{binary_in, binary_out, length_prefixed, stored, text_in, text_out};

use crate::buffer::{int, is_space};
use crate::codec::TypeCodec;
use crate::json::write_string;
use crate::oid::Oid;
use crate::{bytea, catalog, float, work};
use crate::{Datum, PgError, Result, SqlState};

/// Most dimensions of an array.
pub const MAX_DIMENSIONS: usize = 6;

/// Most elements of an array, as PostgreSQL's MaxArraySize has it.
pub const MAX_ELEMENTS: i64 = 134_217_727;

/// An array in memory: the length of each dimension (none: empty), the lower bound of each (none: all are 1) and the elements in
/// storage form, row by row.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Array {
    pub dimensions: Vec<usize>,
    pub lower: Vec<i64>,
    pub elements: Vec<Datum>,
}

/// Whether an element's storage form is printed as a JSON number.
pub(crate) fn is_number(element: &TypeCodec) -> bool {
    matches!(
        element,
        TypeCodec::Bool
            | TypeCodec::Int2
            | TypeCodec::Int4
            | TypeCodec::Int8
            | TypeCodec::Money
            | TypeCodec::Oid
            | TypeCodec::Xid
            | TypeCodec::Cid
            | TypeCodec::Xid8
            | TypeCodec::Reg(_)
            | TypeCodec::Float4
            | TypeCodec::Float8
    )
}

/// Appends one element as it stands in the stored text.
fn write_element(value: &Datum, out: &mut Vec<u8>) {
    work::pulse(4);
    match value {
        Datum::Null => out.extend_from_slice(b"null"),
        Datum::Int(i) => int(out, *i),
        Datum::Real(r) => float::write_json(*r, out),
        Datum::Text(t) => write_string(t, out),
        Datum::Blob(b) => {
            out.extend_from_slice(b"\"\\\\x");
            crate::buffer::hex(out, b);
            out.push(b'"');
        }
    }
}

impl Array {
    /// A one-dimensional array.
    pub fn from_elements(elements: Vec<Datum>) -> Array {
        let dimensions = if elements.is_empty() { Vec::new() } else { vec![elements.len()] };
        Array { dimensions, lower: Vec::new(), elements }
    }

    /// The first subscript of a dimension.
    pub fn lower_bound(&self, dimension: usize) -> i64 {
        self.lower.get(dimension).copied().unwrap_or(1)
    }

    /// The last subscript of a dimension; None: there is no such dimension.
    pub fn upper_bound(&self, dimension: usize) -> Option<i64> {
        Some(self.lower_bound(dimension) + *self.dimensions.get(dimension)? as i64 - 1)
    }

    /// The lower bounds of all dimensions.
    pub fn lower_bounds(&self) -> Vec<i64> {
        (0..self.dimensions.len()).map(|d| self.lower_bound(d)).collect()
    }

    /// A lower bound is not 1.
    pub fn has_bounds(&self) -> bool {
        (0..self.dimensions.len()).any(|d| self.lower_bound(d) != 1)
    }

    /// `[0:2][1:3]`: the bounds of all dimensions.
    pub fn shown_bounds(&self) -> String {
        let one = |d: usize| format!("[{}:{}]", self.lower_bound(d), self.upper_bound(d).unwrap_or_default());
        (0..self.dimensions.len()).map(one).collect()
    }

    /// 54000 if there are too many elements or a bound is beyond 32 bits.
    pub fn check_size(&self) -> Result<()> {
        let count = self.dimensions.iter().try_fold(1i64, |n, d| n.checked_mul(i64::try_from(*d).ok()?));
        if count.is_none_or(|n| n > MAX_ELEMENTS) {
            return Err(too_many_elements());
        }
        for (d, length) in self.dimensions.iter().enumerate() {
            let lower = self.lower_bound(d);
            if lower + *length as i64 > i64::from(i32::MAX) {
                return Err(PgError::new(
                    SqlState::PROGRAM_LIMIT_EXCEEDED,
                    format!("array lower bound is too large: {lower}"),
                ));
            }
        }
        Ok(())
    }

    /// The storage form.
    pub fn to_storage(&self) -> String {
        let mut out = Vec::new();
        let mut next = 0;
        if self.has_bounds() {
            out.extend_from_slice(self.shown_bounds().as_bytes());
            out.push(b'=');
        }
        self.write_level(0, &mut next, &mut out);
        String::from_utf8(out).expect("JSON of valid strings is valid UTF-8")
    }

    pub fn to_datum(&self) -> Datum {
        Datum::Text(self.to_storage())
    }

    fn write_level(&self, level: usize, next: &mut usize, out: &mut Vec<u8>) {
        out.push(b'[');
        for i in 0..self.dimensions.get(level).copied().unwrap_or(0) {
            work::pulse(1);
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
        let (bounds, text) = split_bounds(text);
        let mut reader = Stored { text: StoredText::new(text), element, array: Array::default() };
        reader.level(0)?;
        reader.array.lower = bounds;
        let fits = reader.array.lower.is_empty() || reader.array.lower.len() == reader.array.dimensions.len();
        (fits && reader.text.is_read()).then_some(reader.array)
    }
}

/// 54000: more elements than PostgreSQL's arrays can have.
pub fn too_many_elements() -> PgError {
    let message = format!("array size exceeds the maximum allowed ({MAX_ELEMENTS})");
    PgError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message)
}

/// A storage form as its lower bounds (none: all are 1) and the JSON array.
pub fn split_bounds(text: &str) -> (Vec<i64>, &str) {
    let mut lower = Vec::new();
    let mut rest = text;
    while let Some(inner) = rest.strip_prefix('[') {
        work::pulse(1);
        // (most arrays have none: the first character that is no number tells)
        let end = inner.find(|c: char| !c.is_ascii_digit() && c != '-').unwrap_or(0);
        let Some((Ok(low), after)) = inner[end..].strip_prefix(':').map(|after| (inner[..end].parse(), after)) else {
            break;
        };
        let Some((_, after)) = after.split_once(']') else { break };
        lower.push(low);
        rest = after;
    }
    match rest.strip_prefix('=') {
        Some(json) if !lower.is_empty() => (lower, json),
        _ => (Vec::new(), text),
    }
}

/// A stored JSON text and the place up to which it has been read.
pub(crate) struct StoredText<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> StoredText<'a> {
    pub(crate) fn new(text: &'a str) -> StoredText<'a> {
        StoredText { text, at: 0 }
    }

    /// The next byte that is no blank.
    pub(crate) fn peek(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        while bytes.get(self.at).is_some_and(|b| is_space(*b)) {
            work::pulse(1);
            self.at += 1;
        }
        bytes.get(self.at).copied()
    }

    /// Reads a byte after blanks, if it is the given one.
    pub(crate) fn takes(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    /// Whether the whole text has been read.
    pub(crate) fn is_read(&self) -> bool {
        self.at == self.text.len()
    }

    /// A number, or one of JSON's words.
    pub(crate) fn word(&mut self) -> Option<&'a str> {
        self.peek()?;
        let rest = &self.text[self.at..];
        let end = rest.find([',', ']', ' ', '\n', '\t', '\r'])?;
        self.at += end;
        Some(&rest[..end])
    }

    /// A string in double quotes.
    pub(crate) fn string(&mut self) -> Option<String> {
        let rest = &self.text[self.at + 1..];
        let bytes = rest.as_bytes();
        let mut end = 0;
        while *bytes.get(end)? != b'"' {
            work::pulse(1);
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
        Some(text)
    }
}

/// Reader of the stored JSON text. It takes any JSON array of scalars, of the right shape, as SQLite makes them.
struct Stored<'a> {
    text: StoredText<'a>,
    element: &'a TypeCodec,
    array: Array,
}

impl Stored<'_> {
    fn level(&mut self, depth: usize) -> Option<()> {
        if depth >= MAX_DIMENSIONS || !self.text.takes(b'[') {
            return None;
        }
        let mut count = 0;
        if self.text.takes(b']') {
            // Only the whole array may be empty.
            return (depth == 0).then_some(());
        }
        let nested = self.text.peek()? == b'[';
        if self.array.dimensions.len() == depth {
            self.array.dimensions.push(0);
        }
        loop {
            work::pulse(1);
            if nested {
                self.level(depth + 1)?;
            } else {
                if self.array.dimensions.len() != depth + 1 {
                    return None;
                }
                work::pulse(4);
                let value = self.scalar()?;
                self.array.elements.push(value);
            }
            count += 1;
            match self.text.peek()? {
                b',' => self.text.at += 1,
                b']' => break,
                _ => return None,
            }
        }
        self.text.at += 1;
        // Rows of one dimension have one length: the first one decides.
        let known = &mut self.array.dimensions[depth];
        if *known == 0 {
            *known = count;
        }
        (*known == count).then_some(())
    }

    fn scalar(&mut self) -> Option<Datum> {
        if self.text.peek()? == b'"' {
            return self.string();
        }
        Some(match self.text.word()? {
            "null" => Datum::Null,
            "true" => Datum::Int(1),
            "false" => Datum::Int(0),
            word => match self.element {
                TypeCodec::Float4 | TypeCodec::Float8 => Datum::Real(word.parse().ok()?),
                e if is_number(e) => Datum::Int(word.parse().ok()?),
                // A JSON number among texts, as json_array makes from a numeric of SQLite's own.
                _ => Datum::Text(word.to_string()),
            },
        })
    }

    fn string(&mut self) -> Option<Datum> {
        let text = self.text.string()?;
        Some(match self.element {
            TypeCodec::Float4 | TypeCodec::Float8 => match text.as_str() {
                "Infinity" => Datum::Real(f64::INFINITY),
                "-Infinity" => Datum::Real(f64::NEG_INFINITY),
                _ => Datum::Text(text),
            },
            element if element.is_blob() => Datum::Blob(bytea::parse(&text).ok()?),
            _ => Datum::Text(text),
        })
    }
}

/// The array type's element OID for a codec, for callers that only know the array's OID.
pub fn element_oid(array_oid: Oid) -> Option<Oid> {
    catalog::by_oid(array_oid).filter(|t| t.is_array()).map(|t| t.elem)
}
