//! The codecs of ranges and multiranges: client text and binary ⇄ the stored text.

use super::{literal, multirange_to_storage, operators, stored_multirange, Bound, Range, RangeType, Span};
use crate::array::length_prefixed;
use crate::buffer::Reader;
use crate::codec::Context;
use crate::{Datum, DatumRef, PgError, Result, SqlState};

/// What the first byte of a range's binary form says.
mod flag {
    pub const EMPTY: u8 = 0x01;
    pub const LOWER_INCLUSIVE: u8 = 0x02;
    pub const UPPER_INCLUSIVE: u8 = 0x04;
    pub const LOWER_INFINITE: u8 = 0x08;
    pub const UPPER_INFINITE: u8 = 0x10;
}

fn range_from_text(text: &str, t: &RangeType, context: &Context) -> Result<Range> {
    let Some(parts) = literal::range(text)? else { return Ok(Range::Empty) };
    let value = |text: Option<String>| text.map(|text| t.element.text_in(&text, -1, context)).transpose();
    let lower = Bound { value: value(parts.lower)?, inclusive: parts.lower_inclusive };
    let upper = Bound { value: value(parts.upper)?, inclusive: parts.upper_inclusive };
    Range::new(t, lower, upper)
}

pub(crate) fn range_text_in(text: &str, t: &RangeType, context: &Context) -> Result<Datum> {
    Ok(Datum::Text(range_from_text(text, t, context)?.to_storage()))
}

pub(crate) fn multirange_text_in(text: &str, t: &RangeType, context: &Context) -> Result<Datum> {
    let ranges = literal::multirange(text, |range| range_from_text(range, t, context))?;
    let spans = operators::joined(t, ranges)?;
    Ok(Datum::Text(multirange_to_storage(&spans)))
}

fn span_text_out(span: &Span, t: &RangeType, context: &Context, out: &mut Vec<u8>) -> Result<()> {
    let mut scratch = Vec::new();
    let mut bound = |bound: &Bound, out: &mut Vec<u8>| -> Result<()> {
        if let Some(value) = &bound.value {
            scratch.clear();
            t.element.text_out(value.as_ref(), context, &mut scratch)?;
            literal::quoted(&scratch, out);
        }
        Ok(())
    };
    out.push(if span.lower.inclusive { b'[' } else { b'(' });
    bound(&span.lower, out)?;
    out.push(b',');
    bound(&span.upper, out)?;
    out.push(if span.upper.inclusive { b']' } else { b')' });
    Ok(())
}

pub(crate) fn range_text_out(value: DatumRef, t: &RangeType, context: &Context, out: &mut Vec<u8>) -> Result<()> {
    match Range::stored(value, t)? {
        Range::Empty => out.extend_from_slice(literal::EMPTY.as_bytes()),
        Range::Span(span) => span_text_out(&span, t, context, out)?,
    }
    Ok(())
}

pub(crate) fn multirange_text_out(value: DatumRef, t: &RangeType, context: &Context, out: &mut Vec<u8>) -> Result<()> {
    out.push(b'{');
    for (i, span) in stored_multirange(value, t)?.iter().enumerate() {
        crate::work::pulse(1);
        if i > 0 {
            out.push(b',');
        }
        span_text_out(span, t, context, out)?;
    }
    out.push(b'}');
    Ok(())
}

fn range_from_binary(bytes: &[u8], t: &RangeType, context: &Context) -> Result<Range> {
    let mut r = Reader(bytes);
    let flags = r.u8()?;
    let mut value = |absent: u8| -> Result<Option<Datum>> {
        if flags & (flag::EMPTY | absent) != 0 {
            return Ok(None);
        }
        let length = usize::try_from(r.i32()?)
            .map_err(|_| PgError::new(SqlState::PROTOCOL_VIOLATION, "insufficient data left in message"))?;
        t.element.binary_in(r.take(length)?, -1, context).map(Some)
    };
    let lower = Bound { value: value(flag::LOWER_INFINITE)?, inclusive: flags & flag::LOWER_INCLUSIVE != 0 };
    let upper = Bound { value: value(flag::UPPER_INFINITE)?, inclusive: flags & flag::UPPER_INCLUSIVE != 0 };
    r.end()?;
    if flags & flag::EMPTY != 0 {
        return Ok(Range::Empty);
    }
    Range::new(t, lower, upper)
}

/// The binary form: flags, then the bounds that there are, each with its length.
pub(crate) fn range_binary_in(bytes: &[u8], t: &RangeType, context: &Context) -> Result<Datum> {
    Ok(Datum::Text(range_from_binary(bytes, t, context)?.to_storage()))
}

/// The binary form: the number of ranges, then each with its length.
pub(crate) fn multirange_binary_in(bytes: &[u8], t: &RangeType, context: &Context) -> Result<Datum> {
    let mut r = Reader(bytes);
    let mut ranges = Vec::new();
    for _ in 0..r.u32()? {
        crate::work::pulse(1);
        let length = r.u32()? as usize;
        ranges.push(range_from_binary(r.take(length)?, t, context)?);
    }
    r.end()?;
    Ok(Datum::Text(multirange_to_storage(&operators::joined(t, ranges)?)))
}

fn binary_out(span: Option<&Span>, t: &RangeType, context: &Context, out: &mut Vec<u8>) -> Result<()> {
    let Some(Span { lower, upper }) = span else {
        out.push(flag::EMPTY);
        return Ok(());
    };
    let mut flags = 0;
    for (set, flag) in [
        (lower.inclusive, flag::LOWER_INCLUSIVE),
        (upper.inclusive, flag::UPPER_INCLUSIVE),
        (lower.value.is_none(), flag::LOWER_INFINITE),
        (upper.value.is_none(), flag::UPPER_INFINITE),
    ] {
        crate::work::pulse(1);
        if set {
            flags |= flag;
        }
    }
    out.push(flags);
    for value in [lower, upper].into_iter().filter_map(|b| b.value.as_ref()) {
        crate::work::pulse(1);
        length_prefixed(value, &t.element, context, out)?;
    }
    Ok(())
}

pub(crate) fn range_binary_out(value: DatumRef, t: &RangeType, context: &Context, out: &mut Vec<u8>) -> Result<()> {
    binary_out(Range::stored(value, t)?.span(), t, context, out)
}

pub(crate) fn multirange_binary_out(
    value: DatumRef,
    t: &RangeType,
    context: &Context,
    out: &mut Vec<u8>,
) -> Result<()> {
    let spans = stored_multirange(value, t)?;
    out.extend_from_slice(&(spans.len() as i32).to_be_bytes());
    for span in &spans {
        crate::work::pulse(1);
        let at = out.len();
        out.extend_from_slice(&[0; 4]);
        binary_out(Some(span), t, context, out)?;
        let length = (out.len() - at - 4) as i32;
        out[at..at + 4].copy_from_slice(&length.to_be_bytes());
    }
    Ok(())
}
