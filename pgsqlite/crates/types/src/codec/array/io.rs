//! The codec of arrays: client text and binary ⇄ the stored JSON text.

use super::literal::{literal_bounds, malformed, too_deep, Literal};
use super::{Array, MAX_DIMENSIONS};
use crate::buffer::{bad_stored, is_space, Reader};
use crate::codec::{Context, TypeCodec, VECTOR_DELIMITER};
use crate::oid::{Oid, FIRST_GENERATED_OID};
use crate::work;
use crate::{Datum, DatumRef, PgError, Result, SqlState};

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
    let (lower, body) = if literal.starts_with('[') { literal_bounds(text, literal)? } else { (vec![], literal) };
    if !body.starts_with('{') {
        return Err(malformed(text, "Array value must start with \"{\" or dimension information."));
    }
    let nulls = context.settings.array_nulls;
    let mut parser = Literal { text, body, at: 0, delimiter, nulls, dimensions: Vec::new(), elements: Vec::new() };
    parser.shape()?;
    let mut elements = Vec::with_capacity(parser.elements.len());
    for e in &parser.elements {
        work::pulse(1);
        elements.push(match e {
            Some(t) => element.text_in(t, typmod, context)?,
            None => Datum::Null,
        });
    }
    let array = Array { dimensions: parser.dimensions, lower, elements };
    array.check_size()?;
    Ok(array.to_datum())
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
            work::pulse(1);
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
    if array.has_bounds() {
        out.extend_from_slice(array.shown_bounds().as_bytes());
        out.push(b'=');
    }
    let mut scratch = Vec::new();
    let last = array.dimensions.len() - 1;
    for (i, e) in array.elements.iter().enumerate() {
        work::pulse(1);
        // Braces open where an element begins a row of its dimension, and close where it ends one.
        let mut span = 1;
        let (mut opens, mut closes) = (0, 0);
        // bounded: the dimensions of an array
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
                    work::pulse(1);
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
    // only the numbers of built-in types are the same everywhere: a client may send a domain's base type, or know the type
    // by its number in another database
    if sent != element_oid && sent < FIRST_GENERATED_OID && element_oid < FIRST_GENERATED_OID {
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
    let vector = delimiter == VECTOR_DELIMITER;
    let mut dimensions = Vec::new();
    let mut lower = Vec::new();
    for _ in 0..count {
        work::pulse(1);
        let length = r.i32()?;
        let bound = r.i32()?;
        if length < 0 {
            return Err(PgError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, "array size exceeds the maximum allowed"));
        }
        if vector && bound != 0 && length > 0 {
            return Err(PgError::not_supported("a vector that does not begin at 0"));
        }
        dimensions.push(length as usize);
        lower.push(if vector { 1 } else { i64::from(bound) });
    }
    let total = dimensions.iter().try_fold(1usize, |n, d| n.checked_mul(*d)).unwrap_or(usize::MAX);
    let total = if dimensions.is_empty() { 0 } else { total };
    // Every element takes a length word, so a count that the message cannot hold is refused before anything is kept.
    if total > r.0.len() / 4 {
        return Err(PgError::new(SqlState::PROTOCOL_VIOLATION, "insufficient data left in message"));
    }
    let mut elements = Vec::with_capacity(total);
    for _ in 0..total {
        work::pulse(1);
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
    let array = Array { dimensions, lower, elements };
    array.check_size()?;
    Ok(array.to_datum())
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
    for (i, d) in array.dimensions.iter().enumerate() {
        let bound = if vector { 0 } else { array.lower_bound(i) as i32 };
        out.extend_from_slice(&(*d as i32).to_be_bytes());
        out.extend_from_slice(&bound.to_be_bytes());
    }
    for e in &array.elements {
        work::pulse(1);
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
