//! Ranges and multiranges. Stored as TEXT in the manual's form, `[1,10)`, `empty`, `{[1,3),[5,7)}`, with bounds in their
//! own *storage* form, quoted as the text form quotes them: `["2024-01-01 00:00:00","2024-02-01 00:00:00")` holds moments
//! in UTC. What is stored is canonical (discrete ranges are `[)`, multiranges sorted and joined), so equal values of most
//! subtypes are equal texts; where the subtype has several texts for one value (`1.0`, `1.00`) the collations
//! `pg_range_…` and `pg_multirange_…` compare values.
//!
//! | what | where |
//! | --- | --- |
//! | the values, their storage form and order | this file |
//! | the text and binary forms | `io` |
//! | the literal's grammar, shared by text and storage form | `literal` |
//! | what operators and functions compute | `operators` |

mod io;
mod literal;
pub mod operators;

pub(crate) use io::{
    multirange_binary_in, multirange_binary_out, multirange_text_in, multirange_text_out, range_binary_in,
    range_binary_out, range_text_in, range_text_out,
};

use crate::array::is_number;
use crate::buffer::bad_stored;
use crate::codec::TypeCodec;
use crate::datetime::Date;
use crate::int::Width;
use crate::oid::{self, Oid};
use crate::{bytea, Datum, DatumRef, PgError, Result, SqlState};
use std::cmp::Ordering;
use std::sync::{Arc, OnceLock};

/// A range type together with its multirange type.
#[derive(Debug, Clone, PartialEq)]
pub struct RangeType {
    pub oid: Oid,
    pub multirange: Oid,
    pub subtype: Oid,
    /// codec of the subtype
    pub element: TypeCodec,
    /// Ranges of this type have a canonical function: the subtype's values can be counted.
    pub discrete: bool,
}

/// PostgreSQL's own: (range, multirange, subtype, whether it is discrete).
const BUILTIN: [(Oid, Oid, Oid, bool); 6] = [
    (oid::INT4RANGE, oid::INT4MULTIRANGE, oid::INT4, true),
    (oid::INT8RANGE, oid::INT8MULTIRANGE, oid::INT8, true),
    (oid::NUMRANGE, oid::NUMMULTIRANGE, oid::NUMERIC, false),
    (oid::TSRANGE, oid::TSMULTIRANGE, oid::TIMESTAMP, false),
    (oid::TSTZRANGE, oid::TSTZMULTIRANGE, oid::TIMESTAMPTZ, false),
    (oid::DATERANGE, oid::DATEMULTIRANGE, oid::DATE, true),
];

impl RangeType {
    /// The built-in range type that `ty` is the range or the multirange of.
    pub fn builtin(ty: Oid) -> Option<&'static Arc<RangeType>> {
        static TYPES: OnceLock<Vec<Arc<RangeType>>> = OnceLock::new();
        let make = |&(oid, multirange, subtype, discrete): &(Oid, Oid, Oid, bool)| {
            Some(Arc::new(RangeType { oid, multirange, subtype, element: TypeCodec::builtin(subtype)?, discrete }))
        };
        TYPES
            .get_or_init(|| BUILTIN.iter().filter_map(make).collect())
            .iter()
            .find(|t| t.oid == ty || t.multirange == ty)
    }

    /// The codec of a built-in range or multirange type.
    pub(crate) fn builtin_codec(ty: Oid) -> Option<TypeCodec> {
        let t = RangeType::builtin(ty)?.clone();
        Some(if t.oid == ty { TypeCodec::Range(t) } else { TypeCodec::Multirange(t) })
    }

    fn compare_values(&self, a: &Datum, b: &Datum) -> Ordering {
        self.element.compare_storage(a.as_ref(), b.as_ref())
    }
}

/// One end of a range that is not empty.
#[derive(Debug, Clone, PartialEq)]
pub struct Bound {
    /// in storage form; None: there is no bound on this side
    pub value: Option<Datum>,
    pub inclusive: bool,
}

/// The two ends of a range that is not empty.
#[derive(Debug, Clone, PartialEq)]
pub struct Span {
    pub lower: Bound,
    pub upper: Bound,
}

/// A range.
#[derive(Debug, Clone, PartialEq)]
pub enum Range {
    Empty,
    Span(Span),
}

/// A multirange: spans in order, none of which meets or touches the next.
pub type Multirange = Vec<Span>;

/// A bound and the side it is on: what comparisons need.
#[derive(Clone, Copy)]
struct End<'a> {
    bound: &'a Bound,
    lower: bool,
}

impl Span {
    fn low(&self) -> End<'_> {
        End { bound: &self.lower, lower: true }
    }
    fn high(&self) -> End<'_> {
        End { bound: &self.upper, lower: false }
    }
}

/// The order of two bounds by their values alone; an absent lower bound is below, an absent upper one above everything.
fn compare_bound_values(t: &RangeType, a: End, b: End) -> Ordering {
    match (&a.bound.value, &b.bound.value) {
        (Some(x), Some(y)) => t.compare_values(x, y),
        (None, None) => b.lower.cmp(&a.lower),
        (None, Some(_)) if a.lower => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (Some(_), None) if b.lower => Ordering::Greater,
        (Some(_), None) => Ordering::Less,
    }
}

/// The order of two bounds as places on the line: an exclusive lower bound is just above its value, an exclusive upper
/// one just below.
fn compare_bounds(t: &RangeType, a: End, b: End) -> Ordering {
    let order = compare_bound_values(t, a, b);
    if order != Ordering::Equal || a.bound.value.is_none() {
        return order;
    }
    let place = |e: End| match (e.bound.inclusive, e.lower) {
        (true, _) => 0,
        (false, true) => 1,
        (false, false) => -1,
    };
    place(a).cmp(&place(b))
}

fn crossed() -> PgError {
    PgError::new(SqlState::DATA_EXCEPTION, "range lower bound must be less than or equal to range upper bound")
}

/// Whether there is something between the bounds. Errors: 22000 if the lower one is above the upper one.
fn has_values(t: &RangeType, span: &Span) -> Result<bool> {
    match compare_bound_values(t, span.low(), span.high()) {
        Ordering::Greater => Err(crossed()),
        Ordering::Equal => Ok(span.lower.inclusive && span.upper.inclusive),
        Ordering::Less => Ok(true),
    }
}

/// The value after one of a discrete subtype; infinite dates have none.
fn successor(t: &RangeType, value: &Datum) -> Result<Option<Datum>> {
    Ok(match (&t.element, value) {
        (TypeCodec::Int4, Datum::Int(i)) => {
            let next = i32::try_from(*i).ok().and_then(|i| i.checked_add(1));
            Some(Datum::Int(next.ok_or_else(|| Width::Four.out_of_range())?.into()))
        }
        (TypeCodec::Int8, Datum::Int(i)) => {
            Some(Datum::Int(i.checked_add(1).ok_or_else(|| Width::Eight.out_of_range())?))
        }
        (TypeCodec::Date, Datum::Text(text)) => {
            let date = Date::from_storage(text).ok_or_else(|| bad_stored("date", value.as_ref()))?;
            if date.is_infinite() {
                return Ok(None);
            }
            Some(Datum::Text(date.add_days(1)?.to_storage()))
        }
        (_, value) => return Err(bad_stored("range", value.as_ref())),
    })
}

impl Range {
    /// A range between two bounds, in its type's canonical form. Errors: 22000 if the lower bound is above the upper one;
    /// 22003, 22008 where the canonical form leaves the subtype.
    pub fn new(t: &RangeType, mut lower: Bound, mut upper: Bound) -> Result<Range> {
        lower.inclusive &= lower.value.is_some();
        upper.inclusive &= upper.value.is_some();
        let mut span = Span { lower, upper };
        if !has_values(t, &span)? {
            return Ok(Range::Empty);
        }
        if !t.discrete {
            return Ok(Range::Span(span));
        }
        // counted: `[` below, `)` above
        for (bound, wanted) in [(&mut span.lower, true), (&mut span.upper, false)] {
            crate::work::pulse(1);
            if bound.inclusive == wanted {
                continue;
            }
            if let Some(value) = &bound.value {
                if let Some(next) = successor(t, value)? {
                    *bound = Bound { value: Some(next), inclusive: wanted };
                }
            }
        }
        Ok(if has_values(t, &span)? { Range::Span(span) } else { Range::Empty })
    }

    pub fn span(&self) -> Option<&Span> {
        match self {
            Range::Empty => None,
            Range::Span(span) => Some(span),
        }
    }

    /// The storage form.
    pub fn to_storage(&self) -> String {
        match self {
            Range::Empty => literal::EMPTY.to_string(),
            Range::Span(span) => span.to_storage(),
        }
    }

    /// Reads a storage form; None for anything else.
    pub fn from_storage(text: &str, t: &RangeType) -> Option<Range> {
        let parts = literal::range(text).ok()?;
        let Some(parts) = parts else { return Some(Range::Empty) };
        let value = |text: Option<String>| match text {
            Some(text) => element_from_storage(text, &t.element).map(Some),
            None => Some(None),
        };
        let lower = Bound { value: value(parts.lower)?, inclusive: parts.lower_inclusive };
        let upper = Bound { value: value(parts.upper)?, inclusive: parts.upper_inclusive };
        Some(Range::Span(Span { lower, upper }))
    }

    /// A range value that a native function got. Errors: 22P02 for what is no range.
    pub fn stored(value: DatumRef, t: &RangeType) -> Result<Range> {
        match value {
            DatumRef::Text(text) => Range::from_storage(text, t),
            _ => None,
        }
        .ok_or_else(|| bad_stored("range", value))
    }
}

impl From<Span> for Range {
    fn from(span: Span) -> Self {
        Range::Span(span)
    }
}

impl From<Option<Span>> for Range {
    fn from(span: Option<Span>) -> Self {
        span.map_or(Range::Empty, Range::Span)
    }
}

impl Span {
    /// The storage form of the range.
    pub fn to_storage(&self) -> String {
        let mut out = vec![if self.lower.inclusive { b'[' } else { b'(' }];
        element_to_storage(&self.lower.value, &mut out);
        out.push(b',');
        element_to_storage(&self.upper.value, &mut out);
        out.push(if self.upper.inclusive { b']' } else { b')' });
        String::from_utf8_lossy(&out).into_owned()
    }
}

/// The storage form of a multirange.
pub fn multirange_to_storage(spans: &[Span]) -> String {
    let spans: Vec<String> = spans.iter().map(Span::to_storage).collect();
    format!("{{{}}}", spans.join(","))
}

/// Reads the storage form of a multirange; None for anything else.
pub fn multirange_from_storage(text: &str, t: &RangeType) -> Option<Multirange> {
    let ranges = literal::multirange(text, |range| Ok(Range::from_storage(range, t))).ok()?;
    ranges.into_iter().map(|range| range?.span().cloned()).collect()
}

/// A multirange value that a native function got. Errors: 22P02 for what is no multirange.
pub fn stored_multirange(value: DatumRef, t: &RangeType) -> Result<Multirange> {
    match value {
        DatumRef::Text(text) => multirange_from_storage(text, t),
        _ => None,
    }
    .ok_or_else(|| bad_stored("multirange", value))
}

fn element_to_storage(value: &Option<Datum>, out: &mut Vec<u8>) {
    match value {
        None | Some(Datum::Null) => {}
        Some(Datum::Int(i)) => crate::buffer::int(out, *i),
        Some(Datum::Real(r)) => crate::float::write(*r, false, 1, out),
        Some(Datum::Text(text)) => literal::quoted(text.as_bytes(), out),
        Some(Datum::Blob(bytes)) => {
            let mut hex = b"\\x".to_vec();
            crate::buffer::hex(&mut hex, bytes);
            literal::quoted(&hex, out);
        }
    }
}

fn element_from_storage(text: String, element: &TypeCodec) -> Option<Datum> {
    Some(match element {
        TypeCodec::Float4 | TypeCodec::Float8 if text != crate::float::NAN => {
            Datum::Real(crate::float::parse(&text, false).ok()?)
        }
        TypeCodec::Float4 | TypeCodec::Float8 => Datum::Text(text),
        e if is_number(e) => Datum::Int(text.parse().ok()?),
        e if e.is_blob() => Datum::Blob(bytea::parse(&text).ok()?),
        _ => Datum::Text(text),
    })
}

/// The order of `pg_range_…`: empty ranges first, then by lower, then by upper bound.
pub fn compare(t: &RangeType, a: &Range, b: &Range) -> Ordering {
    match (a, b) {
        (Range::Empty, Range::Empty) => Ordering::Equal,
        (Range::Empty, _) => Ordering::Less,
        (_, Range::Empty) => Ordering::Greater,
        (Range::Span(x), Range::Span(y)) => compare_spans(t, x, y),
    }
}

fn compare_spans(t: &RangeType, a: &Span, b: &Span) -> Ordering {
    compare_bounds(t, a.low(), b.low()).then_with(|| compare_bounds(t, a.high(), b.high()))
}

/// The order of `pg_multirange_…`: range by range, the one that ends first is less.
pub fn compare_multiranges(t: &RangeType, a: &[Span], b: &[Span]) -> Ordering {
    let differing = a.iter().zip(b).map(|(x, y)| compare_spans(t, x, y)).find(|o| o.is_ne());
    differing.unwrap_or_else(|| a.len().cmp(&b.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::{Context, NoNames};
    use crate::Settings;

    fn read(ty: Oid, text: &str) -> Result<Datum> {
        let settings = Settings::default();
        let context = Context { settings: &settings, names: &NoNames };
        TypeCodec::builtin(ty).expect("a range type").text_in(text, -1, &context)
    }

    /// Text in, text out, and through the binary form, as PostgreSQL answers.
    #[test]
    fn forms() {
        let settings = Settings::default();
        let context = Context { settings: &settings, names: &NoNames };
        for (ty, text, shown) in [
            (oid::INT4RANGE, "(1,5]", "[2,6)"),
            (oid::INT4RANGE, "(1,2)", "empty"),
            (oid::INT4RANGE, " EMPTY ", "empty"),
            (oid::INT4RANGE, "[,]", "(,)"),
            (oid::INT4RANGE, "[ 1 , 5 ]", "[1,6)"),
            (oid::NUMRANGE, "[1.10,2.50]", "[1.10,2.50]"),
            (oid::NUMRANGE, "[1,1)", "empty"),
            (oid::DATERANGE, "[2020-01-01,2020-12-31]", "[2020-01-01,2021-01-01)"),
            (oid::DATERANGE, "[2020-01-01,infinity]", "[2020-01-01,infinity]"),
            (oid::TSRANGE, "[2020-01-01 10:00,)", "[\"2020-01-01 10:00:00\",)"),
            (oid::INT4MULTIRANGE, "{[1,2], [3,4) ,empty,[10,20)}", "{[1,4),[10,20)}"),
            (oid::INT4MULTIRANGE, "{}", "{}"),
            (oid::NUMMULTIRANGE, "{[5,6),[1,2)}", "{[1,2),[5,6)}"),
        ] {
            let codec = TypeCodec::builtin(ty).expect("a range type");
            let stored = codec.text_in(text, -1, &context).unwrap_or_else(|e| panic!("{text}: {e}"));
            let mut out = Vec::new();
            codec.text_out(stored.as_ref(), &context, &mut out).expect("text");
            assert_eq!(String::from_utf8_lossy(&out), shown);
            out.clear();
            codec.binary_out(stored.as_ref(), &context, &mut out).expect("binary");
            assert_eq!(codec.binary_in(&out, -1, &context).expect("binary"), stored, "{text}");
        }
    }

    #[test]
    fn refused() {
        for (ty, text, code, detail) in [
            (oid::INT4RANGE, "[1,2", "22P02", Some("Unexpected end of input.")),
            (oid::INT4RANGE, "1,2)", "22P02", Some("Missing left parenthesis or bracket.")),
            (oid::INT4RANGE, "[1)", "22P02", Some("Missing comma after lower bound.")),
            (oid::INT4RANGE, "[1,2,3)", "22P02", Some("Too many commas.")),
            (oid::INT4RANGE, "[1,2) x", "22P02", Some("Junk after right parenthesis or bracket.")),
            (oid::INT4RANGE, "empty x", "22P02", Some("Junk after \"empty\" key word.")),
            (oid::INT4RANGE, "[2,1)", "22000", None),
            (oid::INT4RANGE, "[1,2147483647]", "22003", None),
            (oid::INT4MULTIRANGE, "{[1,2),}", "22P02", Some("Expected range start.")),
            (oid::INT4MULTIRANGE, "{é}", "22P02", Some("Expected range start.")),
            (oid::INT4MULTIRANGE, "{[1,2)", "22P02", Some("Unexpected end of input.")),
            (oid::INT4MULTIRANGE, "{} x", "22P02", Some("Junk after closing right brace.")),
        ] {
            let e = read(ty, text).expect_err(text);
            assert_eq!((e.code().as_str(), e.fields().detail.as_deref()), (code, detail), "{text}");
        }
    }

    /// `range_cmp` of PostgreSQL: each is less than the next.
    #[test]
    fn order() {
        let sorted = ["empty", "(,1)", "(,)", "[1.0,1.00]", "[1,2)", "[1,2]", "[1,)", "(1,2)"];
        let codec = TypeCodec::builtin(oid::NUMRANGE).expect("numrange");
        for pair in sorted.windows(2) {
            assert!(codec.compare_text(pair[0], pair[1]).is_lt(), "{pair:?}");
            assert!(codec.compare_text(pair[1], pair[0]).is_gt(), "{pair:?}");
        }
        assert!(codec.compare_text("[1.0,2)", "[1.00,2.0)").is_eq());
    }
}
