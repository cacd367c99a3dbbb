//! Arrays. Stored as compact JSON text, as SQLite's `json_array` prints it: numbers as JSON numbers (NaN and infinities
//! as strings), booleans as 0 and 1, SQL NULL as `null`, everything else as strings; nested for more dimensions. Equal
//! arrays are equal texts, but for floats that SQLite printed itself (it may use more digits): the collation
//! `pg_array_…` compares values. Lower bounds other than 1 have no place in the form and are refused.
//!
//! This file has the value and its storage form; `literal` reads `{…}`, `io` is the codec.

mod io;
mod literal;

pub(crate) use io::{binary_in, binary_out, length_prefixed, stored, text_in, text_out};

use crate::codec::TypeCodec;
use crate::json::write_string;
use crate::oid::Oid;
use crate::write::{int, is_space};
use crate::Datum;
use crate::{bytea, catalog, float};

/// Most dimensions of an array.
pub const MAX_DIMENSIONS: usize = 6;

/// An array in memory: the length of each dimension (none: empty) and the elements in storage form, row by row.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Array {
    pub dimensions: Vec<usize>,
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
            | TypeCodec::Xid8
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

/// The array type's element OID for a codec, for callers that only know the array's OID.
pub fn element_oid(array_oid: Oid) -> Option<Oid> {
    catalog::by_oid(array_oid).filter(|t| t.is_array()).map(|t| t.elem)
}
