//! Functions of ranges and multiranges. All are typed natives: the subtype decides how bounds compare.
//!
//! To most operators a range is a multirange of at most one range, so the forms for range and range, range and multirange
//! and so on share one function.

use super::session_cell::SessionCell;
use super::shim::{Call, NewState, Scalar, State};
use pgsqlite_sql::lower::support;
use pgsqlite_types::array::Array;
use pgsqlite_types::codec::TypeCodec;
use pgsqlite_types::range::{self, operators, Bound, Range, RangeType, Span};
use pgsqlite_types::work;
use pgsqlite_types::{float, Datum, DatumRef, Oid, PgError, Result, SqlState};
use std::collections::VecDeque;
use std::sync::Arc;

/// The range type behind a range or multirange type, and whether it is the multirange.
fn type_of(session: &SessionCell, ty: Oid) -> Result<(Arc<RangeType>, bool)> {
    match session.codec(ty)? {
        TypeCodec::Range(t) => Ok((t, false)),
        TypeCodec::Multirange(t) => Ok((t, true)),
        _ => Err(PgError::internal("a range or multirange expected")),
    }
}

/// The range type of the SQL argument `i` (from 0) of a typed native.
fn argument_type(c: &Call, i: usize) -> Result<(Arc<RangeType>, bool)> {
    let types = c.types()?;
    let ty = types.args.get(i).ok_or_else(|| PgError::internal("a range function without its arguments"))?;
    type_of(c.session, *ty)
}

fn read(value: DatumRef, t: &RangeType, multirange: bool) -> Result<Vec<Span>> {
    if multirange {
        return range::stored_multirange(value, t);
    }
    Ok(Range::stored(value, t)?.span().cloned().into_iter().collect())
}

/// The ranges of the SQL argument `i`, with their type.
fn spans(c: &Call, i: usize) -> Result<(Arc<RangeType>, Vec<Span>)> {
    let (t, multirange) = argument_type(c, i)?;
    let spans = read(c.datum(i + 1), &t, multirange)?;
    Ok((t, spans))
}

/// Both operands' ranges.
fn operands(c: &Call) -> Result<(Arc<RangeType>, Vec<Span>, Vec<Span>)> {
    let (t, left) = spans(c, 0)?;
    Ok((t, left, spans(c, 1)?.1))
}

fn range_datum(range: impl Into<Range>) -> Datum {
    Datum::Text(range.into().to_storage())
}
fn multirange_datum(spans: &[Span]) -> Datum {
    Datum::Text(range::multirange_to_storage(spans))
}
fn first(spans: Vec<Span>) -> Range {
    spans.into_iter().next().into()
}

// --- constructors ----------------------------------------------------------------------------------------------------

/// (lower, upper [, flags])
fn new_range(c: &Call) -> Result<Datum> {
    let (t, _) = type_of(c.session, c.types()?.result)?;
    let (lower_inclusive, upper_inclusive) = match (c.len(), c.datum(3)) {
        (..4, _) => (true, false),
        (_, DatumRef::Null) => {
            let message = "range constructor flags argument must not be null";
            return Err(PgError::new(SqlState::DATA_EXCEPTION, message));
        }
        _ => match c.text(3)? {
            "[]" => (true, true),
            "[)" => (true, false),
            "(]" => (false, true),
            "()" => (false, false),
            _ => {
                return Err(PgError::new(SqlState::SYNTAX_ERROR, "invalid range bound flags")
                    .hint("Valid values are \"[]\", \"[)\", \"(]\", and \"()\"."))
            }
        },
    };
    let bound = |i: usize, inclusive: bool| Bound { value: (!c.is_null(i)).then(|| c.datum(i).to_owned()), inclusive };
    Range::new(&t, bound(1, lower_inclusive), bound(2, upper_inclusive)).map(range_datum)
}

fn no_null_members() -> PgError {
    PgError::new(SqlState::NULL_VALUE_NOT_ALLOWED, "multirange values cannot contain null members")
}

/// Of nothing, a range, or an array of ranges.
fn new_multirange(c: &Call) -> Result<Datum> {
    let types = c.types()?;
    let Some(&argument) = types.args.first() else { return Ok(multirange_datum(&[])) };
    if c.is_null(1) {
        return Ok(Datum::Null);
    }
    let TypeCodec::Array(element, ..) = c.session.codec(argument)? else {
        return Ok(multirange_datum(&spans(c, 0)?.1));
    };
    let (t, _) = type_of(c.session, types.result)?;
    let array = super::strings::array(c.text(1)?, &element)?;
    if array.dimensions.len() > 1 {
        let message = "multiranges cannot be constructed from multidimensional arrays";
        return Err(PgError::new(SqlState::CARDINALITY_VIOLATION, message));
    }
    let members = array.elements.iter().map(|e| match e {
        Datum::Null => Err(no_null_members()),
        value => Range::stored(value.as_ref(), &t),
    });
    let members = members.collect::<Result<Vec<_>>>()?;
    Ok(multirange_datum(&operators::joined(&t, members)?))
}

// --- parts -----------------------------------------------------------------------------------------------------------

/// What `read` says of the first and last bound; for no range at all `Null` of a value, false of a property.
fn of_bound(c: &Call, lower: bool, read: fn(&Bound) -> Datum, of_none: Datum) -> Result<Datum> {
    let spans = spans(c, 0)?.1;
    let bound = if lower { spans.first().map(|s| &s.lower) } else { spans.last().map(|s| &s.upper) };
    Ok(bound.map_or(of_none, read))
}
fn value(bound: &Bound) -> Datum {
    bound.value.clone().unwrap_or_default()
}
fn inclusive(bound: &Bound) -> Datum {
    bound.inclusive.into()
}
fn infinite(bound: &Bound) -> Datum {
    bound.value.is_none().into()
}
fn lower(c: &Call) -> Result<Datum> {
    of_bound(c, true, value, Datum::Null)
}
fn upper(c: &Call) -> Result<Datum> {
    of_bound(c, false, value, Datum::Null)
}
fn lower_inc(c: &Call) -> Result<Datum> {
    of_bound(c, true, inclusive, false.into())
}
fn upper_inc(c: &Call) -> Result<Datum> {
    of_bound(c, false, inclusive, false.into())
}
fn lower_inf(c: &Call) -> Result<Datum> {
    of_bound(c, true, infinite, false.into())
}
fn upper_inf(c: &Call) -> Result<Datum> {
    of_bound(c, false, infinite, false.into())
}
fn is_empty(c: &Call) -> Result<Datum> {
    Ok(spans(c, 0)?.1.is_empty().into())
}
fn unnest(c: &Call) -> Result<Datum> {
    let members = spans(c, 0)?.1.into_iter().map(range_datum);
    Ok(Array::from_elements(members.collect()).to_datum())
}

// --- operators -------------------------------------------------------------------------------------------------------

fn contains_value(c: &Call) -> Result<Datum> {
    let (t, spans) = spans(c, 0)?;
    let value = c.datum(2).to_owned();
    Ok(spans.iter().any(|s| s.contains_value(&t, &value)).into())
}
fn value_contained(c: &Call) -> Result<Datum> {
    let (t, spans) = spans(c, 1)?;
    let value = c.datum(1).to_owned();
    Ok(spans.iter().any(|s| s.contains_value(&t, &value)).into())
}
fn contains(c: &Call) -> Result<Datum> {
    let (t, a, b) = operands(c)?;
    Ok(operators::contains_all(&t, &a, &b).into())
}
fn contained(c: &Call) -> Result<Datum> {
    let (t, a, b) = operands(c)?;
    Ok(operators::contains_all(&t, &b, &a).into())
}
fn overlaps(c: &Call) -> Result<Datum> {
    let (t, a, b) = operands(c)?;
    Ok(operators::overlap(&t, &a, &b).into())
}
/// Compares the places of the whole operands; what has no values is nowhere.
fn by_extent(c: &Call, holds: fn(&RangeType, &Span, &Span) -> Result<bool>) -> Result<Datum> {
    let (t, a, b) = operands(c)?;
    match (operators::extent(&a), operators::extent(&b)) {
        (Some(a), Some(b)) => holds(&t, &a, &b).map(Datum::from),
        _ => Ok(false.into()),
    }
}
fn adjacent(c: &Call) -> Result<Datum> {
    by_extent(c, |t, a, b| a.is_adjacent(t, b))
}
fn before(c: &Call) -> Result<Datum> {
    by_extent(c, |t, a, b| Ok(a.is_before(t, b)))
}
fn after(c: &Call) -> Result<Datum> {
    by_extent(c, |t, a, b| Ok(b.is_before(t, a)))
}
fn overleft(c: &Call) -> Result<Datum> {
    by_extent(c, |t, a, b| Ok(a.ends_within(t, b)))
}
fn overright(c: &Call) -> Result<Datum> {
    by_extent(c, |t, a, b| Ok(a.begins_within(t, b)))
}
fn range_union(c: &Call) -> Result<Datum> {
    let (t, a, b) = operands(c)?;
    first(a).union(&t, &first(b)).map(range_datum)
}
fn range_intersect(c: &Call) -> Result<Datum> {
    let (t, a, b) = operands(c)?;
    Ok(range_datum(first(a).intersection(&t, &first(b))))
}
fn range_minus(c: &Call) -> Result<Datum> {
    let (t, a, b) = operands(c)?;
    first(a).difference(&t, &first(b)).map(range_datum)
}
fn range_merge(c: &Call) -> Result<Datum> {
    let (t, a, b) = operands(c)?;
    Ok(range_datum(first(a).merge(&t, &first(b))))
}
fn extent(c: &Call) -> Result<Datum> {
    Ok(range_datum(operators::extent(&spans(c, 0)?.1)))
}
fn union(c: &Call) -> Result<Datum> {
    let (t, a, b) = operands(c)?;
    Ok(multirange_datum(&operators::union(&t, a, b)?))
}
fn intersect(c: &Call) -> Result<Datum> {
    let (t, a, b) = operands(c)?;
    Ok(multirange_datum(&operators::intersection(&t, &a, &b)?))
}
fn minus(c: &Call) -> Result<Datum> {
    let (t, a, b) = operands(c)?;
    Ok(multirange_datum(&operators::difference(&t, &a, &b)?))
}
fn compare(c: &Call) -> Result<Datum> {
    let codec = c.session.codec(c.types()?.args[0])?;
    Ok(Datum::Int(codec.compare_storage(c.datum(1), c.datum(2)) as i64))
}

// --- subtype differences ---------------------------------------------------------------------------------------------

fn integer_difference(c: &Call) -> Result<Datum> {
    Ok(Datum::Real(c.int(0)? as f64 - c.int(1)? as f64))
}
fn numeric_difference(c: &Call) -> Result<Datum> {
    Ok(float::to_datum(c.numeric(0)?.sub(&c.numeric(1)?)?.to_f64()))
}
/// In days.
fn date_difference(c: &Call) -> Result<Datum> {
    Ok(Datum::Real(f64::from(c.date(0)?.0) - f64::from(c.date(1)?.0)))
}
/// In seconds.
fn timestamp_difference(c: &Call) -> Result<Datum> {
    Ok(Datum::Real((c.timestamp(0)?.0 as f64 - c.timestamp(1)?.0 as f64) / 1e6))
}

/// By PostgreSQL's C symbols.
pub(crate) const FUNCTIONS: &[(&str, Scalar)] = &[
    ("range_constructor2 range_constructor3", new_range),
    ("multirange_constructor0 multirange_constructor1 multirange_constructor2", new_multirange),
    ("range_lower multirange_lower", lower),
    ("range_upper multirange_upper", upper),
    ("range_empty multirange_empty", is_empty),
    ("range_lower_inc multirange_lower_inc", lower_inc),
    ("range_upper_inc multirange_upper_inc", upper_inc),
    ("range_lower_inf multirange_lower_inf", lower_inf),
    ("range_upper_inf multirange_upper_inf", upper_inf),
    ("multirange_unnest", unnest),
    ("range_contains_elem multirange_contains_elem", contains_value),
    ("elem_contained_by_range elem_contained_by_multirange", value_contained),
    ("range_contains range_contains_multirange multirange_contains_range multirange_contains_multirange", contains),
    (
        "range_contained_by range_contained_by_multirange multirange_contained_by_range \
         multirange_contained_by_multirange",
        contained,
    ),
    ("range_overlaps range_overlaps_multirange multirange_overlaps_range multirange_overlaps_multirange", overlaps),
    ("range_adjacent range_adjacent_multirange multirange_adjacent_range multirange_adjacent_multirange", adjacent),
    ("range_before range_before_multirange multirange_before_range multirange_before_multirange", before),
    ("range_after range_after_multirange multirange_after_range multirange_after_multirange", after),
    ("range_overleft range_overleft_multirange multirange_overleft_range multirange_overleft_multirange", overleft),
    (
        "range_overright range_overright_multirange multirange_overright_range multirange_overright_multirange",
        overright,
    ),
    ("range_union", range_union),
    ("range_intersect", range_intersect),
    ("range_minus", range_minus),
    ("range_merge", range_merge),
    ("range_merge_from_multirange", extent),
    ("multirange_union", union),
    ("multirange_intersect", intersect),
    ("multirange_minus", minus),
    ("range_cmp multirange_cmp", compare),
    ("int4range_subdiff int8range_subdiff", integer_difference),
    ("numrange_subdiff", numeric_difference),
    ("daterange_subdiff", date_difference),
    ("tsrange_subdiff tstzrange_subdiff", timestamp_difference),
];

/// The constructors of range types of the user, by the names that lowering calls.
pub(crate) const CONSTRUCTORS: &[(&str, i32, bool, Scalar)] =
    &[(support::NEW_RANGE, -1, true, new_range), (support::NEW_MULTIRANGE, -1, true, new_multirange)];

// --- aggregates ------------------------------------------------------------------------------------------------------

/// The ranges of the rows of a group, and their type: whether they are multiranges, too.
#[derive(Default)]
struct Members {
    of: Option<(Arc<RangeType>, bool)>,
    rows: VecDeque<Vec<Span>>,
    intersect: bool,
}

impl State for Members {
    fn step(&mut self, call: &Call) -> Result<()> {
        if self.of.is_none() {
            self.of = Some(argument_type(call, 0)?);
        }
        if let Some((t, multirange)) = &self.of {
            self.rows.push_back(read(call.datum(1), t, *multirange)?);
        }
        Ok(())
    }
    fn inverse(&mut self, _call: &Call) -> Result<()> {
        self.rows.pop_front();
        Ok(())
    }
    fn value(&mut self, _session: &SessionCell) -> Result<Datum> {
        let (Some((t, multirange)), Some(head)) = (&self.of, self.rows.front()) else { return Ok(Datum::Null) };
        if !self.intersect {
            let all = self.rows.iter().flatten().cloned().map(Range::Span);
            return Ok(multirange_datum(&operators::joined(t, all.collect())?));
        }
        let mut common = head.clone();
        for row in self.rows.iter().skip(1) {
            work::pulse(1);
            common = operators::intersection(t, &common, row)?;
        }
        Ok(if *multirange { multirange_datum(&common) } else { range_datum(first(common)) })
    }
}

pub(crate) const AGGREGATES: &[(&str, NewState)] = &[
    ("range_agg(anyrange) range_agg(anymultirange)", || Box::<Members>::default()),
    ("range_intersect_agg(anyrange) range_intersect_agg(anymultirange)", || {
        Box::new(Members { intersect: true, ..Default::default() })
    }),
];
