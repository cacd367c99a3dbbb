//! What the operators and functions of ranges and multiranges compute. Manual, "Range/Multirange Functions and Operators".
//!
//! A range without values is in no place: it is before, after and beside nothing, and every range contains it.

use super::{compare_bound_values, compare_bounds, compare_spans, Bound, End, Multirange, Range, RangeType, Span};
use crate::work::Ticking;
use crate::{Datum, PgError, Result, SqlState};
use std::cmp::Ordering;

/// The bound on the other side of the same place: where what is outside begins.
fn flipped(bound: &Bound) -> Bound {
    Bound { value: bound.value.clone(), inclusive: !bound.inclusive }
}

/// Whether nothing lies between an upper bound and a lower one, which do not overlap either.
fn touch(t: &RangeType, upper: End, lower: End) -> Result<bool> {
    Ok(match compare_bound_values(t, upper, lower) {
        // a counted type may have no value between two bounds that differ
        Ordering::Less if t.discrete => Range::new(t, flipped(upper.bound), flipped(lower.bound))?.span().is_none(),
        Ordering::Less | Ordering::Greater => false,
        Ordering::Equal => upper.bound.value.is_some() && upper.bound.inclusive != lower.bound.inclusive,
    })
}

impl Span {
    pub fn overlaps(&self, t: &RangeType, other: &Span) -> bool {
        let inside = |a: &Span, b: &Span| {
            compare_bounds(t, a.low(), b.low()).is_ge() && compare_bounds(t, a.low(), b.high()).is_le()
        };
        inside(self, other) || inside(other, self)
    }
    pub fn contains(&self, t: &RangeType, other: &Span) -> bool {
        compare_bounds(t, self.low(), other.low()).is_le() && compare_bounds(t, self.high(), other.high()).is_ge()
    }
    pub fn contains_value(&self, t: &RangeType, value: &Datum) -> bool {
        let above = self.lower.value.as_ref().is_none_or(|low| match t.compare_values(low, value) {
            Ordering::Less => true,
            Ordering::Equal => self.lower.inclusive,
            Ordering::Greater => false,
        });
        let below = self.upper.value.as_ref().is_none_or(|high| match t.compare_values(high, value) {
            Ordering::Greater => true,
            Ordering::Equal => self.upper.inclusive,
            Ordering::Less => false,
        });
        above && below
    }
    /// `<<`
    pub fn is_before(&self, t: &RangeType, other: &Span) -> bool {
        compare_bounds(t, self.high(), other.low()).is_lt()
    }
    /// `&<`
    pub fn ends_within(&self, t: &RangeType, other: &Span) -> bool {
        compare_bounds(t, self.high(), other.high()).is_le()
    }
    /// `&>`
    pub fn begins_within(&self, t: &RangeType, other: &Span) -> bool {
        compare_bounds(t, self.low(), other.low()).is_ge()
    }
    /// `-|-`
    pub fn is_adjacent(&self, t: &RangeType, other: &Span) -> Result<bool> {
        Ok(touch(t, self.high(), other.low())? || touch(t, other.high(), self.low())?)
    }
    /// What both have.
    pub fn intersection(&self, t: &RangeType, other: &Span) -> Option<Span> {
        self.overlaps(t, other).then(|| {
            let lower = if compare_bounds(t, self.low(), other.low()).is_ge() { &self.lower } else { &other.lower };
            let upper = if compare_bounds(t, self.high(), other.high()).is_le() { &self.upper } else { &other.upper };
            Span { lower: lower.clone(), upper: upper.clone() }
        })
    }
    /// The smallest range that contains both; of equal bounds the other's, whose text may be another.
    pub fn hull(&self, t: &RangeType, other: &Span) -> Span {
        let lower = if compare_bounds(t, self.low(), other.low()).is_lt() { &self.lower } else { &other.lower };
        let upper = if compare_bounds(t, self.high(), other.high()).is_gt() { &self.upper } else { &other.upper };
        Span { lower: lower.clone(), upper: upper.clone() }
    }
    /// What is left of it without the other: nothing, one range or two.
    fn without(&self, t: &RangeType, other: &Span) -> Result<Vec<Span>> {
        if !self.overlaps(t, other) {
            return Ok(vec![self.clone()]);
        }
        let mut left = Vec::new();
        if compare_bounds(t, self.low(), other.low()).is_lt() {
            left.push(Range::new(t, self.lower.clone(), flipped(&other.lower))?);
        }
        if compare_bounds(t, self.high(), other.high()).is_gt() {
            left.push(Range::new(t, flipped(&other.upper), self.upper.clone())?);
        }
        Ok(left.into_iter().filter_map(|r| r.span().cloned()).collect())
    }
}

fn not_contiguous(what: &str) -> PgError {
    PgError::new(SqlState::DATA_EXCEPTION, format!("result of range {what} would not be contiguous"))
}

impl Range {
    /// `+`. Errors: 22000 if there is a gap between them.
    pub fn union(&self, t: &RangeType, other: &Range) -> Result<Range> {
        if let (Range::Span(a), Range::Span(b)) = (self, other) {
            if !a.overlaps(t, b) && !a.is_adjacent(t, b)? {
                return Err(not_contiguous("union"));
            }
        }
        Ok(self.merge(t, other))
    }
    /// `range_merge`: the smallest range that contains both.
    pub fn merge(&self, t: &RangeType, other: &Range) -> Range {
        match (self, other) {
            (Range::Span(a), Range::Span(b)) => Range::Span(a.hull(t, b)),
            (Range::Empty, other) => other.clone(),
            (this, Range::Empty) => this.clone(),
        }
    }
    /// `*`
    pub fn intersection(&self, t: &RangeType, other: &Range) -> Range {
        match (self, other) {
            (Range::Span(a), Range::Span(b)) => a.intersection(t, b).into(),
            _ => Range::Empty,
        }
    }
    /// `-`. Errors: 22000 if two ranges would be left.
    pub fn difference(&self, t: &RangeType, other: &Range) -> Result<Range> {
        let (Range::Span(a), Range::Span(b)) = (self, other) else { return Ok(self.clone()) };
        let below = compare_bounds(t, a.low(), b.low()).is_lt();
        let above = compare_bounds(t, a.high(), b.high()).is_gt();
        if below && above {
            return Err(not_contiguous("difference"));
        }
        Ok(a.without(t, b)?.into_iter().next().into())
    }
}

/// The multirange of some ranges: sorted, what overlaps or touches is one.
pub fn joined(t: &RangeType, ranges: Vec<Range>) -> Result<Multirange> {
    let mut spans: Vec<Span> = ranges.into_iter().filter_map(|r| r.span().cloned()).collect();
    spans.sort_by(|a, b| compare_spans(t, a, b));
    let mut out: Multirange = Vec::new();
    for span in spans {
        crate::work::pulse(1);
        match out.last_mut() {
            Some(last) if last.overlaps(t, &span) || last.is_adjacent(t, &span)? => {
                *last = last.hull(t, &span);
            }
            _ => out.push(span),
        }
    }
    Ok(out)
}

/// The smallest range that contains all of a multirange.
pub fn extent(multirange: &[Span]) -> Option<Span> {
    let (first, last) = (multirange.first()?, multirange.last()?);
    Some(Span { lower: first.lower.clone(), upper: last.upper.clone() })
}

/// Whether each range of `inner` is in one of `outer`.
pub fn contains_all(t: &RangeType, outer: &[Span], inner: &[Span]) -> bool {
    inner.iter().all(|i| outer.iter().pulsing().any(|o| o.contains(t, i)))
}

pub fn overlap(t: &RangeType, a: &[Span], b: &[Span]) -> bool {
    a.iter().any(|x| b.iter().pulsing().any(|y| x.overlaps(t, y)))
}

/// `+` of multiranges.
pub fn union(t: &RangeType, a: Multirange, b: Multirange) -> Result<Multirange> {
    joined(t, a.into_iter().chain(b).map(Range::Span).collect())
}

/// `*` of multiranges, whose spans are in order: of the two that are looked at, the one that ends first meets nothing more.
pub fn intersection(t: &RangeType, a: &[Span], b: &[Span]) -> Result<Multirange> {
    let (mut i, mut j) = (0, 0);
    let mut both = Vec::new();
    while let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
        crate::work::tick(1)?;
        both.extend(x.intersection(t, y).map(Range::Span));
        match compare_bounds(t, x.high(), y.high()).is_le() {
            true => i += 1,
            false => j += 1,
        }
    }
    joined(t, both)
}

/// `-` of multiranges.
pub fn difference(t: &RangeType, a: &[Span], b: &[Span]) -> Result<Multirange> {
    let mut left: Vec<Span> = a.to_vec();
    for taken in b {
        crate::work::pulse(1);
        let mut next = Vec::new();
        for span in &left {
            crate::work::pulse(1);
            next.extend(span.without(t, taken)?);
        }
        left = next;
    }
    joined(t, left.into_iter().map(Range::Span).collect())
}
