//! intarray: sets of integers. Arrays count as what they hold, whatever their dimensions.

use super::shim::{Call, Scalar};
use pgsqlite_types::array::Array;
use pgsqlite_types::codec::TypeCodec;
use pgsqlite_types::extension::query_int::QueryInt;
use pgsqlite_types::{Datum, PgError, Result, SqlState};

/// An argument; 22004 where an element is NULL.
fn array(c: &Call, i: usize) -> Result<Array> {
    let array = Array::from_storage(c.text(i)?, &TypeCodec::Int4)
        .ok_or_else(|| PgError::corrupted("a stored array is malformed"))?;
    if array.elements.iter().any(|e| matches!(e, Datum::Null)) {
        return Err(PgError::new(SqlState::NULL_VALUE_NOT_ALLOWED, "array must not contain nulls"));
    }
    Ok(array)
}

fn values(array: &Array) -> Vec<i64> {
    array.elements.iter().map(|e| if let Datum::Int(i) = e { *i } else { 0 }).collect()
}

fn list(c: &Call, i: usize) -> Result<Vec<i64>> {
    array(c, i).map(|a| values(&a))
}

/// The elements, sorted, each once.
fn set(c: &Call, i: usize) -> Result<Vec<i64>> {
    let mut out = list(c, i)?;
    out.sort_unstable();
    out.dedup();
    Ok(out)
}

fn of(values: Vec<i64>) -> Datum {
    Array::from_elements(values.into_iter().map(Datum::Int).collect()).to_datum()
}

fn unique(mut values: Vec<i64>) -> Datum {
    values.sort_unstable();
    values.dedup();
    of(values)
}

fn has(set: &[i64], value: i64) -> bool {
    set.binary_search(&value).is_ok()
}

fn contains(c: &Call, outer: usize, inner: usize) -> Result<Datum> {
    let (outer, inner) = (set(c, outer)?, set(c, inner)?);
    Ok(Datum::from(inner.iter().all(|v| has(&outer, *v))))
}

fn overlap(c: &Call) -> Result<Datum> {
    let (a, b) = (set(c, 0)?, set(c, 1)?);
    Ok(Datum::from(a.iter().any(|v| has(&b, *v))))
}

/// Whether both have the same elements, each as often.
fn same(c: &Call) -> Result<bool> {
    let (mut a, mut b) = (list(c, 0)?, list(c, 1)?);
    a.sort_unstable();
    b.sort_unstable();
    Ok(a == b)
}

fn intersection(c: &Call) -> Result<Datum> {
    let (a, b) = (set(c, 0)?, set(c, 1)?);
    Ok(of(a.into_iter().filter(|v| has(&b, *v)).collect()))
}

fn joined(c: &Call) -> Result<Vec<i64>> {
    let mut out = list(c, 0)?;
    out.extend(list(c, 1)?);
    Ok(out)
}

fn pushed(c: &Call) -> Result<Vec<i64>> {
    let mut out = list(c, 0)?;
    out.push(c.int(1)?);
    Ok(out)
}

fn subtract(c: &Call) -> Result<Datum> {
    let (a, b) = (set(c, 0)?, set(c, 1)?);
    Ok(of(a.into_iter().filter(|v| !has(&b, *v)).collect()))
}

fn remove(c: &Call) -> Result<Datum> {
    let gone = c.int(1)?;
    Ok(of(list(c, 0)?.into_iter().filter(|v| *v != gone).collect()))
}

fn sorted(c: &Call, descending: bool) -> Result<Datum> {
    let array = array(c, 0)?;
    let mut values = values(&array);
    values.sort_unstable();
    if descending {
        values.reverse();
    }
    Ok(Array {
        elements: values.into_iter().map(Datum::Int).collect(),
        dimensions: array.dimensions,
        lower: array.lower,
    }
    .to_datum())
}

fn sort(c: &Call) -> Result<Datum> {
    let descending = match c.len() {
        0 | 1 => false,
        _ if c.text(1)?.eq_ignore_ascii_case("asc") => false,
        _ if c.text(1)?.eq_ignore_ascii_case("desc") => true,
        _ => {
            array(c, 0)?;
            let message = "second parameter must be \"ASC\" or \"DESC\"";
            return Err(PgError::new(SqlState::INVALID_PARAMETER_VALUE, message));
        }
    };
    sorted(c, descending)
}

/// Neighbours that are equal become one.
fn uniq(c: &Call) -> Result<Datum> {
    let mut values = list(c, 0)?;
    values.dedup();
    Ok(of(values))
}

/// The place of an element, from 1; 0: it is not there.
fn index(c: &Call) -> Result<Datum> {
    let wanted = c.int(1)?;
    Ok(Datum::Int(list(c, 0)?.iter().position(|v| *v == wanted).map_or(0, |i| i as i64 + 1)))
}

/// (array, start, length): a start below 0 counts from the end, a length below 0 leaves so many out there, 0 is "to the end".
fn subarray(c: &Call) -> Result<Datum> {
    let all = list(c, 0)?;
    let count = all.len() as i64;
    let start = c.int(1)?;
    let length = if c.len() > 2 { c.int(2)? } else { 0 };
    let start = if start > 0 { start - 1 } else { start };
    let start = if start < 0 { count + start } else { start };
    let end = match length {
        ..=-1 => count + length,
        0 => count,
        _ => start + length,
    }
    .min(count);
    let start = start.max(0);
    if start >= end {
        return Ok(of(vec![]));
    }
    Ok(of(all[start as usize..end as usize].to_vec()))
}

fn matches(c: &Call, of: usize, query: usize) -> Result<Datum> {
    let set = set(c, of)?;
    let query = QueryInt::parse(c.text(query)?)?;
    Ok(Datum::from(query.matches(&|value| has(&set, value.into()))))
}

pub(crate) const FUNCTIONS: &[(&str, Scalar)] = &[
    ("_int_contains", |c| contains(c, 0, 1)),
    ("_int_contained", |c| contains(c, 1, 0)),
    ("_int_overlap", overlap),
    ("_int_same", |c| same(c).map(Datum::from)),
    ("_int_different", |c| same(c).map(|same| Datum::from(!same))),
    ("_int_inter", intersection),
    ("_int_union", |c| joined(c).map(unique)),
    ("boolop", |c| matches(c, 0, 1)),
    ("rboolop", |c| matches(c, 1, 0)),
    ("icount", |c| Ok(Datum::Int(list(c, 0)?.len() as i64))),
    ("idx", index),
    ("intarray_push_array", |c| joined(c).map(of)),
    ("intarray_push_elem", |c| pushed(c).map(of)),
    ("intset_union_elem", |c| pushed(c).map(unique)),
    ("intarray_del_elem", remove),
    ("intset_subtract", subtract),
    ("intset", |c| Ok(of(vec![c.int(0)?]))),
    ("sort", sort),
    ("sort_asc", |c| sorted(c, false)),
    ("sort_desc", |c| sorted(c, true)),
    ("subarray", subarray),
    ("uniq", uniq),
];
