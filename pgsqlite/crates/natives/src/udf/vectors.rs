//! pgvector: the functions and aggregates of `vector`, `halfvec`, `sparsevec`, and the distances of bit strings.

use super::session_cell::SessionCell;
use super::shim::{Call, NewState, Scalar, State};
use half::f16;
use pgsqlite_sql::lower::support;
use pgsqlite_types::array::Array;
use pgsqlite_types::codec::TypeCodec;
use pgsqlite_types::extension::vector::distance::{norm, Asked, Metric};
use pgsqlite_types::extension::vector::sparse::Sparse;
use pgsqlite_types::extension::vector::{data, elements, expect_dimensions, store, store_half, stored, to_half, Kind};
use pgsqlite_types::numeric::Numeric;
use pgsqlite_types::{float, work, Datum, PgError, Result, SqlState};
use std::cell::RefCell;

/// Bytes that a loop compares in about the time of one step.
const BYTES_OF_A_STEP: usize = 256;

fn value<'a>(c: &Call<'a>, i: usize, kind: Kind) -> Result<&'a [u8]> {
    stored(c.datum(i), kind)
}

/// 22000: the values have different numbers of dimensions.
fn same_dimensions(kind: Kind, a: &[u8], b: &[u8]) -> Result<()> {
    let (x, y) = (kind.dimensions(a), kind.dimensions(b));
    if x != y {
        return Err(data(format!("different {} dimensions {x} and {y}", kind.name())));
    }
    Ok(())
}

thread_local! {
    /// The value that was compared last. One of the operands mostly is the same for all rows.
    static ASKED: RefCell<Option<Asked>> = const { RefCell::new(None) };
}

/// The distance between two stored values of as many dimensions.
pub(crate) fn between(kind: Kind, metric: Metric, a: &[u8], b: &[u8]) -> f64 {
    ASKED.with_borrow_mut(|known| match known {
        Some(asked) if asked.is(kind, b) => asked.distance(metric, a),
        Some(asked) if asked.is(kind, a) => asked.distance(metric, b),
        _ => known.insert(Asked::new(kind, b)).distance(metric, a),
    })
}

fn distance(c: &Call, kind: Kind, metric: Metric) -> Result<Datum> {
    let (a, b) = (value(c, 0, kind)?, value(c, 1, kind)?);
    same_dimensions(kind, a, b)?;
    work::tick(a.len() / BYTES_OF_A_STEP)?;
    Ok(float::to_datum(between(kind, metric, a, b)))
}

// --- arithmetic ----------------------------------------------------------------------------------------------------------

fn overflow() -> PgError {
    PgError::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "value out of range: overflow")
}

fn underflow() -> PgError {
    PgError::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "value out of range: underflow")
}

fn to_datum(kind: Kind, elements: &[f32]) -> Result<Datum> {
    match kind {
        Kind::Half => store_half(elements),
        _ => Ok(store(elements)),
    }
}

/// An element as the type keeps it. Errors: 22003.
fn rounded(kind: Kind, element: f32) -> Result<f32> {
    let element = match kind {
        Kind::Half => f16::from_f32(element).to_f32(),
        _ => element,
    };
    match element.is_infinite() {
        true => Err(overflow()),
        false => Ok(element),
    }
}

fn combine(kind: Kind, a: &[u8], b: &[u8], each: impl Fn(f32, f32) -> Result<f32>) -> Result<Datum> {
    same_dimensions(kind, a, b)?;
    work::tick(a.len() / BYTES_OF_A_STEP)?;
    let pairs = elements(kind, a).into_iter().zip(elements(kind, b));
    let combined: Result<Vec<f32>> = pairs.map(|(x, y)| rounded(kind, each(x, y)?)).collect();
    to_datum(kind, &combined?)
}

fn arithmetic(c: &Call, kind: Kind, each: fn(f32, f32) -> f32) -> Result<Datum> {
    combine(kind, value(c, 0, kind)?, value(c, 1, kind)?, |x, y| Ok(each(x, y)))
}

fn multiply(c: &Call, kind: Kind) -> Result<Datum> {
    combine(kind, value(c, 0, kind)?, value(c, 1, kind)?, |x, y| {
        let product = rounded(kind, x * y)?;
        match product == 0.0 && x != 0.0 && y != 0.0 {
            true => Err(underflow()),
            false => Ok(product),
        }
    })
}

fn concatenate(c: &Call, kind: Kind) -> Result<Datum> {
    let (a, b) = (value(c, 0, kind)?, value(c, 1, kind)?);
    kind.check_dimensions(kind.dimensions(a) + kind.dimensions(b))?;
    Ok(Datum::Blob([a, b].concat()))
}

fn normalize(c: &Call, kind: Kind) -> Result<Datum> {
    let value = value(c, 0, kind)?;
    let length = norm(kind, value);
    let part = |e: f32| (f64::from(e) / length) as f32;
    if kind == Kind::Sparse {
        let mut sparse = Sparse::from_stored(value);
        sparse.elements.retain_mut(|(_, e)| {
            *e = if length > 0.0 { part(*e) } else { 0.0 };
            *e != 0.0
        });
        return Ok(sparse.to_datum());
    }
    let parts = elements(kind, value).into_iter().map(|e| if length > 0.0 { part(e) } else { 0.0 });
    let parts: Result<Vec<f32>> = parts.map(|e| rounded(kind, e)).collect();
    to_datum(kind, &parts?)
}

fn part(c: &Call, kind: Kind) -> Result<Datum> {
    let value = value(c, 0, kind)?;
    let (start, count) = (c.int(1)?, c.int(2)?);
    if count < 1 {
        kind.check_dimensions(0)?;
    }
    let dimensions = kind.dimensions(value);
    let end = start.saturating_add(count).min(dimensions + 1);
    let start = start.max(1);
    kind.check_dimensions(end - start)?;
    let size = if kind == Kind::Half { 2 } else { 4 };
    let bytes = value.get((start as usize - 1) * size..(end as usize - 1) * size);
    bytes.map(|b| Datum::Blob(b.to_vec())).ok_or_else(|| PgError::internal("a part beyond a vector"))
}

fn quantize(c: &Call, kind: Kind) -> Result<Datum> {
    let bits = elements(kind, value(c, 0, kind)?).into_iter().map(|e| if e > 0.0 { '1' } else { '0' });
    Ok(Datum::Text(bits.collect()))
}

fn dimensions(c: &Call, kind: Kind) -> Result<Datum> {
    Ok(Datum::Int(kind.dimensions(value(c, 0, kind)?)))
}

fn length(c: &Call, kind: Kind) -> Result<Datum> {
    Ok(float::to_datum(norm(kind, value(c, 0, kind)?)))
}

fn compare(c: &Call, kind: Kind) -> Result<Datum> {
    Ok(Datum::Int(value(c, 0, kind)?.cmp(value(c, 1, kind)?) as i64))
}

// --- casts ---------------------------------------------------------------------------------------------------------------

/// (value, modifier, explicit): of the type's own length.
fn fit(c: &Call, kind: Kind) -> Result<Datum> {
    let value = value(c, 0, kind)?;
    kind.check_modifier(value, c.int(1)? as i32)?;
    Ok(Datum::Blob(value.to_vec()))
}

/// (array, modifier, explicit)
fn from_array(c: &Call, kind: Kind) -> Result<Datum> {
    let text = c.text(0)?;
    // (what is in the text tells numerics, which are strings, from the rest)
    let array = Array::from_storage(text, &TypeCodec::Float8)
        .ok_or_else(|| PgError::corrupted("a stored array is malformed"))?;
    if array.dimensions.len() > 1 {
        return Err(data("array must be 1-D"));
    }
    if array.elements.iter().any(Datum::is_null) {
        return Err(PgError::new(SqlState::NULL_VALUE_NOT_ALLOWED, "array must not contain nulls"));
    }
    kind.check_dimensions(array.elements.len() as i64)?;
    expect_dimensions(c.int(1)? as i32, array.elements.len() as i64)?;
    let mut values = Vec::with_capacity(array.elements.len());
    for element in &array.elements {
        work::pulse(1);
        let number = match element {
            Datum::Text(text) if text != float::NAN => Numeric::from_text(text)?.to_float(true)? as f32,
            other => float::from_datum(other.as_ref())? as f32,
        };
        let number = match kind {
            Kind::Half => to_half(number)?.to_f32(),
            _ => number,
        };
        kind.check_element(number)?;
        values.push(number);
    }
    match kind {
        Kind::Sparse => Ok(Sparse::from_dense(&values)?.to_datum()),
        dense => to_datum(dense, &values),
    }
}

fn to_floats(c: &Call, kind: Kind) -> Result<Datum> {
    let values = elements(kind, value(c, 0, kind)?);
    Ok(Array::from_elements(values.into_iter().map(|e| float::to_datum(f64::from(e))).collect()).to_datum())
}

/// (value, modifier, explicit): as a value of another of the types.
fn convert(c: &Call, from: Kind, to: Kind) -> Result<Datum> {
    let value = value(c, 0, from)?;
    let dimensions = from.dimensions(value);
    to.check_dimensions(dimensions)?;
    expect_dimensions(c.int(1)? as i32, dimensions)?;
    let values = match from {
        Kind::Sparse => Sparse::from_stored(value).to_dense(to)?,
        dense => elements(dense, value),
    };
    match to {
        Kind::Sparse => Ok(Sparse::from_dense(&values)?.to_datum()),
        dense => to_datum(dense, &values),
    }
}

// --- bit strings ---------------------------------------------------------------------------------------------------------

/// How many bits are set in both, in the first and in the second of two strings, and how many differ.
fn bits(c: &Call) -> Result<[f64; 4]> {
    let (a, b) = (c.text(0)?.as_bytes(), c.text(1)?.as_bytes());
    if a.len() != b.len() {
        return Err(data(format!("different bit lengths {} and {}", a.len(), b.len())));
    }
    work::tick(a.len() / BYTES_OF_A_STEP)?;
    let count = |each: fn(u8, u8) -> bool| a.iter().zip(b).filter(|(x, y)| each(**x, **y)).count() as f64;
    Ok([count(|x, y| x & y & 1 == 1), count(|x, _| x & 1 == 1), count(|_, y| y & 1 == 1), count(|x, y| x != y)])
}

fn hamming(c: &Call) -> Result<Datum> {
    Ok(Datum::Real(bits(c)?[3]))
}

fn jaccard(c: &Call) -> Result<Datum> {
    let [both, first, second, _] = bits(c)?;
    Ok(Datum::Real(if both == 0.0 { 1.0 } else { 1.0 - both / (first + second - both) }))
}

// --- aggregates ----------------------------------------------------------------------------------------------------------

fn state(c: &Call, i: usize, function: &str) -> Result<Vec<f64>> {
    let array = Array::from_storage(c.text(i)?, &TypeCodec::Float8);
    let array = array.filter(|a| a.dimensions.len() == 1 && !a.elements.iter().any(Datum::is_null));
    let array = array.ok_or_else(|| PgError::internal(format!("{function}: expected state array")))?;
    array.elements.iter().map(|e| float::from_datum(e.as_ref())).collect()
}

fn of_state(state: &[f64]) -> Datum {
    Array::from_elements(state.iter().map(|&v| float::to_datum(v)).collect()).to_datum()
}

/// Adds a value to the state of an average: the number of values, and the sums of their elements.
fn accumulate(state: &mut Vec<f64>, kind: Kind, value: &[u8]) -> Result<()> {
    let values = elements(kind, value);
    if state.len() <= 1 {
        state.resize(1, 0.0);
        state.resize(values.len() + 1, 0.0);
    }
    let (Some((count, sums)), dimensions) = (state.split_first_mut(), values.len() as i64) else {
        return Err(PgError::internal("an average without a state"));
    };
    expect_dimensions(sums.len() as i32, dimensions)?;
    *count += 1.0;
    // bounded: 16,000 elements
    for (sum, value) in sums.iter_mut().zip(values) {
        *sum += f64::from(value);
        if sum.is_infinite() {
            return Err(overflow());
        }
    }
    Ok(())
}

fn average(state: &[f64], kind: Kind) -> Result<Datum> {
    let Some((count, sums)) = state.split_first().filter(|(count, _)| **count != 0.0) else {
        return Ok(Datum::Null);
    };
    kind.check_dimensions(sums.len() as i64)?;
    let mut values = Vec::with_capacity(sums.len());
    // bounded: 16,000 elements
    for sum in sums {
        let value = (sum / count) as f32;
        let value = if kind == Kind::Half { to_half(value)?.to_f32() } else { value };
        kind.check_element(value)?;
        values.push(value);
    }
    to_datum(kind, &values)
}

fn accum(c: &Call, kind: Kind) -> Result<Datum> {
    let mut state = state(c, 0, "vector_accum")?;
    accumulate(&mut state, kind, value(c, 1, kind)?)?;
    Ok(of_state(&state))
}

fn combine_states(c: &Call) -> Result<Datum> {
    let (mut a, b) = (state(c, 0, "vector_combine")?, state(c, 1, "vector_combine")?);
    match (a.first(), b.first()) {
        (Some(0.0), _) => return Ok(of_state(&b)),
        (_, Some(0.0)) => return Ok(of_state(&a)),
        _ => {}
    }
    expect_dimensions(a.len() as i32 - 1, b.len() as i64 - 1)?;
    // bounded: 16,000 elements
    for (x, y) in a.iter_mut().zip(b) {
        *x += y;
        if x.is_infinite() {
            return Err(overflow());
        }
    }
    Ok(of_state(&a))
}

fn final_average(c: &Call, kind: Kind) -> Result<Datum> {
    average(&state(c, 0, "vector_avg")?, kind)
}

/// `avg`
struct Average {
    kind: Kind,
    state: Vec<f64>,
}

/// `sum`
struct Sum {
    kind: Kind,
    sum: Option<Vec<u8>>,
}

impl State for Average {
    fn step(&mut self, call: &Call) -> Result<()> {
        accumulate(&mut self.state, self.kind, value(call, 0, self.kind)?)
    }
    fn value(&mut self, _session: &SessionCell) -> Result<Datum> {
        average(&self.state, self.kind)
    }
}

impl State for Sum {
    fn step(&mut self, call: &Call) -> Result<()> {
        let value = value(call, 0, self.kind)?;
        let sum = match &self.sum {
            None => Datum::Blob(value.to_vec()),
            Some(sum) => combine(self.kind, sum, value, |x, y| Ok(x + y))?,
        };
        if let Datum::Blob(bytes) = sum {
            self.sum = Some(bytes);
        }
        Ok(())
    }
    fn value(&mut self, _session: &SessionCell) -> Result<Datum> {
        Ok(self.sum.clone().map_or(Datum::Null, Datum::Blob))
    }
}

fn new_average(kind: Kind) -> Box<dyn State> {
    Box::new(Average { kind, state: Vec::new() })
}

fn new_sum(kind: Kind) -> Box<dyn State> {
    Box::new(Sum { kind, sum: None })
}

pub(crate) const AGGREGATES: &[(&str, NewState)] = &[
    ("avg(vector)", || new_average(Kind::Vector)),
    ("avg(halfvec)", || new_average(Kind::Half)),
    ("sum(vector)", || new_sum(Kind::Vector)),
    ("sum(halfvec)", || new_sum(Kind::Half)),
];

pub(crate) const FUNCTIONS: &[(&str, Scalar)] = &[
    ("l2_distance", |c| distance(c, Kind::Vector, Metric::L2)),
    ("vector_l2_squared_distance", |c| distance(c, Kind::Vector, Metric::SquaredL2)),
    ("inner_product", |c| distance(c, Kind::Vector, Metric::Product)),
    ("vector_negative_inner_product", |c| distance(c, Kind::Vector, Metric::NegativeProduct)),
    ("cosine_distance", |c| distance(c, Kind::Vector, Metric::Cosine)),
    ("l1_distance", |c| distance(c, Kind::Vector, Metric::L1)),
    ("vector_spherical_distance", |c| distance(c, Kind::Vector, Metric::Spherical)),
    ("halfvec_l2_distance", |c| distance(c, Kind::Half, Metric::L2)),
    ("halfvec_l2_squared_distance", |c| distance(c, Kind::Half, Metric::SquaredL2)),
    ("halfvec_inner_product", |c| distance(c, Kind::Half, Metric::Product)),
    ("halfvec_negative_inner_product", |c| distance(c, Kind::Half, Metric::NegativeProduct)),
    ("halfvec_cosine_distance", |c| distance(c, Kind::Half, Metric::Cosine)),
    ("halfvec_l1_distance", |c| distance(c, Kind::Half, Metric::L1)),
    ("halfvec_spherical_distance", |c| distance(c, Kind::Half, Metric::Spherical)),
    ("sparsevec_l2_distance", |c| distance(c, Kind::Sparse, Metric::L2)),
    ("sparsevec_l2_squared_distance", |c| distance(c, Kind::Sparse, Metric::SquaredL2)),
    ("sparsevec_inner_product", |c| distance(c, Kind::Sparse, Metric::Product)),
    ("sparsevec_negative_inner_product", |c| distance(c, Kind::Sparse, Metric::NegativeProduct)),
    ("sparsevec_cosine_distance", |c| distance(c, Kind::Sparse, Metric::Cosine)),
    ("sparsevec_l1_distance", |c| distance(c, Kind::Sparse, Metric::L1)),
    ("hamming_distance", hamming),
    ("jaccard_distance", jaccard),
    ("vector_dims", |c| dimensions(c, Kind::Vector)),
    ("halfvec_vector_dims", |c| dimensions(c, Kind::Half)),
    ("vector_norm", |c| length(c, Kind::Vector)),
    ("halfvec_l2_norm", |c| length(c, Kind::Half)),
    ("sparsevec_l2_norm", |c| length(c, Kind::Sparse)),
    ("l2_normalize", |c| normalize(c, Kind::Vector)),
    ("halfvec_l2_normalize", |c| normalize(c, Kind::Half)),
    ("sparsevec_l2_normalize", |c| normalize(c, Kind::Sparse)),
    ("binary_quantize", |c| quantize(c, Kind::Vector)),
    ("halfvec_binary_quantize", |c| quantize(c, Kind::Half)),
    ("subvector", |c| part(c, Kind::Vector)),
    ("halfvec_subvector", |c| part(c, Kind::Half)),
    ("vector_add", |c| arithmetic(c, Kind::Vector, |x, y| x + y)),
    ("vector_sub", |c| arithmetic(c, Kind::Vector, |x, y| x - y)),
    ("vector_mul", |c| multiply(c, Kind::Vector)),
    ("vector_concat", |c| concatenate(c, Kind::Vector)),
    ("halfvec_add", |c| arithmetic(c, Kind::Half, |x, y| x + y)),
    ("halfvec_sub", |c| arithmetic(c, Kind::Half, |x, y| x - y)),
    ("halfvec_mul", |c| multiply(c, Kind::Half)),
    ("halfvec_concat", |c| concatenate(c, Kind::Half)),
    ("vector_cmp", |c| compare(c, Kind::Vector)),
    ("halfvec_cmp", |c| compare(c, Kind::Half)),
    ("sparsevec_cmp", |c| compare(c, Kind::Sparse)),
    ("vector", |c| fit(c, Kind::Vector)),
    ("halfvec", |c| fit(c, Kind::Half)),
    ("sparsevec", |c| fit(c, Kind::Sparse)),
    ("array_to_vector", |c| from_array(c, Kind::Vector)),
    ("array_to_halfvec", |c| from_array(c, Kind::Half)),
    ("array_to_sparsevec", |c| from_array(c, Kind::Sparse)),
    ("vector_to_float4", |c| to_floats(c, Kind::Vector)),
    ("halfvec_to_float4", |c| to_floats(c, Kind::Half)),
    ("vector_to_halfvec", |c| convert(c, Kind::Vector, Kind::Half)),
    ("vector_to_sparsevec", |c| convert(c, Kind::Vector, Kind::Sparse)),
    ("halfvec_to_vector", |c| convert(c, Kind::Half, Kind::Vector)),
    ("halfvec_to_sparsevec", |c| convert(c, Kind::Half, Kind::Sparse)),
    ("sparsevec_to_vector", |c| convert(c, Kind::Sparse, Kind::Vector)),
    ("sparsevec_to_halfvec", |c| convert(c, Kind::Sparse, Kind::Half)),
    ("vector_accum", |c| accum(c, Kind::Vector)),
    ("halfvec_accum", |c| accum(c, Kind::Half)),
    ("vector_combine", combine_states),
    ("vector_avg", |c| final_average(c, Kind::Vector)),
    ("halfvec_avg", |c| final_average(c, Kind::Half)),
];

/// (access method, number of lists): of how many lists the rows are read. `hnsw.ef_search` is 40 where it is not set, which are a third of
/// them; `ivfflat.probes` makes it no fewer than that.
fn lists_asked(c: &Call) -> Result<Datum> {
    let variables = c.session.state().variables.clone().ok_or_else(|| PgError::internal("no session"))?;
    let set = |name: &str, default: i64| variables.get(name).and_then(|v| v.parse().ok()).unwrap_or(default);
    let share = |lists: i64, of: i64| (lists * of + LISTS_OF_ALL - 1) / LISTS_OF_ALL;
    let lists = c.int(1)?;
    let asked = match c.text(0)? {
        "hnsw" => share(lists, set("hnsw.ef_search", 40)),
        _ => set("ivfflat.probes", 1).max(share(lists, 40)),
    };
    Ok(Datum::Int(asked.max(1)))
}

/// The value of `hnsw.ef_search` with which all lists are read.
const LISTS_OF_ALL: i64 = 120;

pub(crate) const OWN: &[(&str, i32, bool, Scalar)] = &[(support::LISTS_ASKED, 2, false, lists_asked)];
