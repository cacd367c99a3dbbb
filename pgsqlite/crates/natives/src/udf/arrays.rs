//! Functions of arrays and enums. All are typed natives: the element type decides how elements compare.

use super::shim::{Call, Scalar};
use super::strings::array as read_array;
use super::support::untyped;
use pgsqlite_types::array::Array;
use pgsqlite_types::buffer::bad_stored;
use pgsqlite_types::codec::TypeCodec;
use pgsqlite_types::work::{self, Ticking};
use pgsqlite_types::{oid, Datum, DatumRef, PgError, Result, SqlState};

fn element_codec(c: &Call, argument: usize) -> Result<TypeCodec> {
    match c.session.codec(c.types()?.args[argument])? {
        TypeCodec::Array(element, ..) => Ok(*element),
        _ => Err(PgError::internal("an array expected")),
    }
}
/// The array at SQL argument `i` (from 0).
fn argument(c: &Call, i: usize) -> Result<Array> {
    read_array(c.text(i + 1)?, &element_codec(c, i)?)
}
fn subscript(message: &str) -> PgError {
    PgError::new(SqlState::ARRAY_SUBSCRIPT_ERROR, message)
}
/// The array at SQL argument 0 with its bounds: the vectors of the catalogs begin at 0.
fn array_with_bounds(c: &Call) -> Result<Array> {
    let mut array = untyped(c.text(1)?)?;
    if matches!(c.types()?.args[0], oid::INT2VECTOR | oid::OIDVECTOR) {
        array.lower = vec![0];
    }
    Ok(array)
}
/// The first and the last subscript of the dimension that is asked for.
fn dimension(c: &Call) -> Result<Option<(i64, i64)>> {
    if c.is_null(1) || c.is_null(2) {
        return Ok(None);
    }
    let (array, n) = (array_with_bounds(c)?, c.int(2)?);
    Ok(usize::try_from(n - 1).ok().and_then(|n| Some((array.lower_bound(n), array.upper_bound(n)?))))
}
fn length(c: &Call) -> Result<Datum> {
    Ok(dimension(c)?.map(|(low, high)| high - low + 1).into())
}
fn lower(c: &Call) -> Result<Datum> {
    Ok(dimension(c)?.map(|(low, _)| low).into())
}
fn upper(c: &Call) -> Result<Datum> {
    Ok(dimension(c)?.map(|(_, high)| high).into())
}
fn dimensions(c: &Call) -> Result<Datum> {
    if c.is_null(1) {
        return Ok(Datum::Null);
    }
    let n = untyped(c.text(1)?)?.dimensions.len() as i64;
    Ok((n > 0).then_some(n).into())
}
fn shape(c: &Call) -> Result<Datum> {
    if c.is_null(1) {
        return Ok(Datum::Null);
    }
    let shape = array_with_bounds(c)?.shown_bounds();
    Ok((!shape.is_empty()).then_some(shape).into())
}
fn cardinality(c: &Call) -> Result<Datum> {
    if c.is_null(1) {
        return Ok(Datum::Null);
    }
    Ok(Datum::Int(untyped(c.text(1)?)?.elements.len() as i64))
}
fn one_dimensional(array: &Array) -> Result<()> {
    if array.dimensions.len() > 1 {
        return Err(PgError::new(SqlState::DATA_EXCEPTION, "argument must be empty or one-dimensional array"));
    }
    Ok(())
}
/// A one-dimensional array that has got more elements, or fewer, and begins where it began.
fn with_length(array: Array) -> Result<Datum> {
    let array = Array { lower: array.lower, ..Array::from_elements(array.elements) };
    array.check_size()?;
    Ok(array.to_datum())
}
fn append(c: &Call) -> Result<Datum> {
    let mut array = if c.is_null(1) { Array::default() } else { argument(c, 0)? };
    one_dimensional(&array)?;
    array.elements.push(c.datum(2).to_owned());
    with_length(array)
}
fn prepend(c: &Call) -> Result<Datum> {
    let mut array = if c.is_null(2) { Array::default() } else { argument(c, 1)? };
    one_dimensional(&array)?;
    array.elements.insert(0, c.datum(1).to_owned());
    with_length(array)
}
fn cat(c: &Call) -> Result<Datum> {
    if c.is_null(1) || c.is_null(2) {
        return Ok(c.datum(if c.is_null(1) { 2 } else { 1 }).to_owned());
    }
    let (a, b) = (argument(c, 0)?, argument(c, 1)?);
    if a.dimensions.is_empty() {
        return Ok(b.to_datum());
    }
    if b.dimensions.is_empty() {
        return Ok(a.to_datum());
    }
    let (x, y) = (&a.dimensions, &b.dimensions);
    let incompatible = || {
        let what = match x.len().abs_diff(y.len()) {
            0 => "with differing element dimensions".to_string(),
            1 => "with differing dimensions".to_string(),
            _ => format!("of {} and {} dimensions", x.len(), y.len()),
        };
        subscript("cannot concatenate incompatible arrays")
            .detail(format!("Arrays {what} are not compatible for concatenation."))
    };
    let (low, other) = (a.lower_bounds(), b.lower_bounds());
    let (dimensions, lower) = if x.len() == y.len() && x[1..] == y[1..] && low[1..] == other[1..] {
        (std::iter::once(x[0] + y[0]).chain(x[1..].iter().copied()).collect(), low)
    } else if x.len() + 1 == y.len() && x[..] == y[1..] && low[..] == other[1..] {
        (std::iter::once(y[0] + 1).chain(y[1..].iter().copied()).collect(), other)
    } else if y.len() + 1 == x.len() && y[..] == x[1..] && other[..] == low[1..] {
        (std::iter::once(x[0] + 1).chain(x[1..].iter().copied()).collect(), low)
    } else {
        return Err(incompatible());
    };
    let array = Array { dimensions, lower, elements: a.elements.into_iter().chain(b.elements).collect() };
    array.check_size()?;
    Ok(array.to_datum())
}
fn trim(c: &Call) -> Result<Datum> {
    if c.is_null(1) || c.is_null(2) {
        return Ok(Datum::Null);
    }
    let (mut array, n) = (argument(c, 0)?, c.int(2)?);
    let have = array.dimensions.first().copied().unwrap_or(0);
    if n < 0 || n as usize > have {
        return Err(PgError::new(
            SqlState::ARRAY_ELEMENT_ERROR,
            format!("number of elements to trim must be between 0 and {have}"),
        ));
    }
    if have == n as usize {
        return Ok(Datum::from("[]"));
    }
    let each = array.elements.len() / have;
    array.dimensions[0] = have - n as usize;
    array.elements.truncate((have - n as usize) * each);
    // (it is a slice)
    array.lower.clear();
    Ok(array.to_datum())
}
/// Equality in which NULLs are equal, as `array_remove` and its like take it.
fn same(codec: &TypeCodec, a: DatumRef, b: DatumRef) -> bool {
    work::pulse(4);
    match (a.is_null(), b.is_null()) {
        (false, false) => codec.compare_storage(a, b).is_eq(),
        (x, y) => x && y,
    }
}
fn remove(c: &Call) -> Result<Datum> {
    if c.is_null(1) {
        return Ok(Datum::Null);
    }
    let (array, codec) = (argument(c, 0)?, element_codec(c, 0)?);
    if array.dimensions.len() > 1 {
        return Err(PgError::new(
            SqlState::FEATURE_NOT_SUPPORTED,
            "removing elements from multidimensional arrays is not supported",
        ));
    }
    let kept = array.elements.into_iter().filter(|e| !same(&codec, e.as_ref(), c.datum(2)));
    with_length(Array { lower: array.lower, ..Array::from_elements(kept.collect()) })
}
fn replace(c: &Call) -> Result<Datum> {
    if c.is_null(1) {
        return Ok(Datum::Null);
    }
    let (mut array, codec) = (argument(c, 0)?, element_codec(c, 0)?);
    for e in array.elements.iter_mut().pulsing() {
        if same(&codec, e.as_ref(), c.datum(2)) {
            *e = c.datum(3).to_owned();
        }
    }
    Ok(array.to_datum())
}
fn searchable(array: &Array) -> Result<()> {
    if array.dimensions.len() > 1 {
        return Err(PgError::new(
            SqlState::FEATURE_NOT_SUPPORTED,
            "searching for elements in multidimensional arrays is not supported",
        ));
    }
    Ok(())
}
fn position(c: &Call) -> Result<Datum> {
    if c.is_null(1) {
        return Ok(Datum::Null);
    }
    let (array, codec) = (argument(c, 0)?, element_codec(c, 0)?);
    searchable(&array)?;
    if array.elements.is_empty() {
        return Ok(Datum::Null);
    }
    // (before the place to begin at is looked at)
    if c.is_null(2) && !array.elements.contains(&Datum::Null) {
        return Ok(Datum::Null);
    }
    let from = if c.len() > 3 {
        if c.is_null(3) {
            return Err(PgError::new(SqlState::NULL_VALUE_NOT_ALLOWED, "initial position must not be null"));
        }
        usize::try_from(c.int(3)? - array.lower_bound(0)).unwrap_or(0)
    } else {
        0
    };
    let mut rest = array.elements.iter().enumerate().skip(from);
    let found = rest.find(|(_, e)| same(&codec, e.as_ref(), c.datum(2)));
    Ok(found.map(|(i, _)| i as i64 + array.lower_bound(0)).into())
}
fn positions(c: &Call) -> Result<Datum> {
    if c.is_null(1) {
        return Ok(Datum::Null);
    }
    let (array, codec) = (argument(c, 0)?, element_codec(c, 0)?);
    searchable(&array)?;
    let found = array.elements.iter().enumerate().filter(|(_, e)| same(&codec, e.as_ref(), c.datum(2)));
    Ok(Array::from_elements(found.map(|(i, _)| Datum::Int(i as i64 + array.lower_bound(0))).collect()).to_datum())
}
/// Whether every element of `inner` is one of `outer`; NULL is like none.
fn includes(codec: &TypeCodec, outer: &Array, inner: &Array) -> bool {
    inner
        .elements
        .iter()
        .all(|e| !e.is_null() && outer.elements.iter().any(|o| !o.is_null() && same(codec, o.as_ref(), e.as_ref())))
}
fn both(c: &Call) -> Result<Option<(Array, Array, TypeCodec)>> {
    if c.is_null(1) || c.is_null(2) {
        return Ok(None);
    }
    Ok(Some((argument(c, 0)?, argument(c, 1)?, element_codec(c, 0)?)))
}
fn contains(c: &Call) -> Result<Datum> {
    Ok(both(c)?.map(|(a, b, codec)| includes(&codec, &a, &b)).into())
}
fn contained(c: &Call) -> Result<Datum> {
    Ok(both(c)?.map(|(a, b, codec)| includes(&codec, &b, &a)).into())
}
fn overlap(c: &Call) -> Result<Datum> {
    Ok(both(c)?
        .map(|(a, b, codec)| {
            let meets = |e: &Datum| {
                !e.is_null() && b.elements.iter().any(|o| !o.is_null() && same(&codec, o.as_ref(), e.as_ref()))
            };
            a.elements.iter().any(meets)
        })
        .into())
}
fn unnest(c: &Call) -> Result<Datum> {
    Ok(Array::from_elements(untyped(c.text(0)?)?.elements).to_datum())
}
/// The elements with their numbers from 1, as rows of two columns.
fn expand(c: &Call) -> Result<Datum> {
    let mut out = String::from("[");
    for (i, element) in untyped(c.text(0)?)?.elements.into_iter().enumerate().pulsing() {
        let Datum::Text(row) = Array::from_elements(vec![element, Datum::Int(i as i64 + 1)]).to_datum() else {
            return Err(PgError::internal("a row that is no text"));
        };
        out.push_str(if i > 0 { "," } else { "" });
        out.push_str(&row);
    }
    out.push(']');
    Ok(Datum::Text(out))
}
fn subscripts(c: &Call) -> Result<Datum> {
    let (low, high) = dimension(c)?.unwrap_or((1, 0));
    let mut all: Vec<Datum> = (low..=high).pulsing().map(Datum::Int).collect();
    if c.len() > 3 && c.bool(3)? {
        all.reverse();
    }
    Ok(Array::from_elements(all).to_datum())
}
/// The labels of the type that `choose` takes by their number, of as many as there are.
fn labels(c: &Call, choose: impl Fn(usize, usize) -> bool) -> Result<Vec<String>> {
    match c.session.codec(c.types()?.args[0])? {
        TypeCodec::Enum(e) => {
            let count = e.labels.len();
            let chosen = e.labels.iter().enumerate().filter(|(i, _)| choose(*i, count)).map(|(_, l)| l);
            chosen.map(|l| e.check_safe(l).map(|()| l.clone())).collect()
        }
        _ => Err(PgError::new(SqlState::FEATURE_NOT_SUPPORTED, "could not determine actual enum type")),
    }
}
fn enum_first(c: &Call) -> Result<Datum> {
    Ok(labels(c, |i, _| i == 0)?.pop().into())
}
fn enum_last(c: &Call) -> Result<Datum> {
    Ok(labels(c, |i, count| i + 1 == count)?.pop().into())
}
/// The labels from one value to another; a NULL bound is the end.
fn enum_range_bounds(c: &Call) -> Result<Datum> {
    let TypeCodec::Enum(of) = c.session.codec(c.types()?.args[0])? else {
        return Err(PgError::new(SqlState::FEATURE_NOT_SUPPORTED, "could not determine actual enum type"));
    };
    let at = |i: usize, default: usize| match c.datum(i) {
        DatumRef::Text(label) => {
            of.labels.iter().position(|l| l == label).ok_or_else(|| bad_stored("enum", DatumRef::Text(label)))
        }
        _ => Ok(default),
    };
    let (low, high) = (at(1, 0)?, at(2, of.labels.len().saturating_sub(1))?);
    Ok(Array::from_elements(labels(c, |i, _| (low..=high).contains(&i))?.into_iter().map(Datum::Text).collect())
        .to_datum())
}
/// So many copies of a value.
fn filled(value: DatumRef, count: usize) -> Result<Vec<Datum>> {
    let bytes = match value {
        DatumRef::Text(t) => t.len(),
        DatumRef::Blob(b) => b.len(),
        _ => 0,
    };
    work::room(count.saturating_mul(bytes + std::mem::size_of::<Datum>()))?;
    (0..count).ticking(2 + bytes / 16).map(|i| i.map(|_| value.to_owned())).collect()
}
/// (value, lengths [, lower bounds])
fn fill(c: &Call) -> Result<Datum> {
    let no_null = |m: &str| PgError::new(SqlState::NULL_VALUE_NOT_ALLOWED, m);
    if c.is_null(2) || c.len() > 3 && c.is_null(3) {
        return Err(no_null("dimension array or low bound array cannot be null"));
    }
    let numbers = |i: usize| {
        let array = untyped(c.text(i)?)?;
        if array.dimensions.len() > 1 {
            return Err(
                subscript("wrong number of array subscripts").detail("Dimension array must be one dimensional.")
            );
        }
        array
            .elements
            .iter()
            .map(|e| match e {
                Datum::Int(n) => Ok(*n),
                _ => Err(no_null("dimension values cannot be null")),
            })
            .collect::<Result<Vec<i64>>>()
    };
    let lengths = numbers(2)?;
    if lengths.len() > 6 {
        return Err(PgError::new(
            SqlState::PROGRAM_LIMIT_EXCEEDED,
            format!("number of array dimensions ({}) exceeds the maximum allowed (6)", lengths.len()),
        ));
    }
    let mut lower = Vec::new();
    if c.len() > 3 {
        let bounds = numbers(3)?;
        if bounds.len() != lengths.len() {
            return Err(subscript("wrong number of array subscripts")
                .detail("Low bound array has different size than dimensions array."));
        }
        lower = bounds;
    }
    const MOST: i64 = 134_217_727;
    let too_large =
        || PgError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, format!("array size exceeds the maximum allowed ({MOST})"));
    let mut count = 1i64;
    for &n in lengths.iter().pulsing() {
        count = count.checked_mul(n).filter(|p| n >= 0 && *p <= MOST).ok_or_else(too_large)?;
    }
    if lengths.is_empty() || count == 0 {
        return Ok(Datum::from("[]"));
    }
    let dimensions = lengths.iter().map(|n| *n as usize).collect();
    let array = Array { dimensions, lower, elements: filled(c.datum(1), count as usize)? };
    array.check_size()?;
    Ok(array.to_datum())
}
/// How many of the sorted thresholds are at or below the operand.
fn width_bucket(c: &Call) -> Result<Datum> {
    let thresholds = argument(c, 1)?;
    if thresholds.dimensions.len() > 1 {
        return Err(subscript("thresholds must be one-dimensional array"));
    }
    if thresholds.elements.iter().any(Datum::is_null) {
        return Err(PgError::new(SqlState::NULL_VALUE_NOT_ALLOWED, "thresholds array must not contain NULLs"));
    }
    let codec = element_codec(c, 1)?;
    let below = thresholds.elements.partition_point(|t| codec.compare_storage(c.datum(1), t.as_ref()).is_ge());
    Ok(Datum::Int(below as i64))
}
/// The pieces that an array is cut into along its first dimension.
fn slices(array: &Array) -> Vec<&[Datum]> {
    let first = array.dimensions.first().copied().unwrap_or(0);
    match first {
        0 => vec![],
        n => array.elements.chunks(array.elements.len() / n).collect(),
    }
}
/// The array of these slices of another one, as many as they are. `lower`: where it begins.
fn of_slices(array: &Array, slices: &[&[Datum]], lower: Vec<i64>) -> Datum {
    if slices.is_empty() {
        return Array::default().to_datum();
    }
    let mut dimensions = array.dimensions.clone();
    dimensions[0] = slices.len();
    Array { dimensions, lower, elements: slices.concat() }.to_datum()
}
fn reverse(c: &Call) -> Result<Datum> {
    if c.is_null(1) {
        return Ok(Datum::Null);
    }
    let array = argument(c, 0)?;
    let mut slices = slices(&array);
    slices.reverse();
    Ok(of_slices(&array, &slices, array.lower.clone()))
}
/// Whether values of a type have no order.
fn is_unordered(ty: pgsqlite_types::Oid) -> bool {
    let geometric =
        matches!(ty, oid::POINT | oid::LINE | oid::BOX | oid::LSEG | oid::PATH | oid::POLYGON | oid::CIRCLE);
    geometric || matches!(ty, oid::JSON | oid::XML | oid::XID | oid::CID | oid::TXID_SNAPSHOT | oid::PG_SNAPSHOT)
}
/// (array [, descending [, NULLs first]]): the slices along the first dimension in order.
fn sort(c: &Call) -> Result<Datum> {
    if (1..c.len()).any(|i| c.is_null(i)) {
        return Ok(Datum::Null);
    }
    let (array, codec) = (argument(c, 0)?, element_codec(c, 0)?);
    let descending = c.len() > 2 && c.bool(2)?;
    let nulls_first = if c.len() > 3 { c.bool(3)? } else { descending };
    let of_elements = array.dimensions.len() == 1;
    let compare = |a: DatumRef, b: DatumRef| {
        work::pulse(4);
        match (a.is_null(), b.is_null()) {
            (true, true) => std::cmp::Ordering::Equal,
            // (within a slice a NULL is greater than all)
            (true, false) if of_elements && nulls_first != descending => std::cmp::Ordering::Less,
            (true, false) => std::cmp::Ordering::Greater,
            (false, true) if of_elements && nulls_first != descending => std::cmp::Ordering::Greater,
            (false, true) => std::cmp::Ordering::Less,
            (false, false) => codec.compare_storage(a, b),
        }
    };
    let mut slices = slices(&array);
    if let TypeCodec::Array(_, element, _) = c.session.codec(c.types()?.args[0])? {
        if slices.len() > 1 && is_unordered(element) {
            let name = pgsqlite_types::typmod::type_name(element).unwrap_or_default();
            let message = format!("could not identify a comparison function for type {name}");
            return Err(PgError::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
    }
    slices.sort_by(|a, b| {
        let mut pairs = a.iter().zip(b.iter()).map(|(a, b)| compare(a.as_ref(), b.as_ref()));
        let order = pairs.find(|order| order.is_ne()).unwrap_or(std::cmp::Ordering::Equal);
        if descending {
            order.reverse()
        } else {
            order
        }
    });
    Ok(of_slices(&array, &slices, array.lower.clone()))
}
/// So many slices, chosen and put in order by chance.
fn by_chance<'a>(c: &Call, slices: &mut [&'a [Datum]], count: usize) -> Result<Vec<&'a [Datum]>> {
    for i in 0..count {
        work::tick(1)?;
        let last = (slices.len() - 1 - i) as u64;
        slices.swap(i, i + super::later::random_below(c.session, last)? as usize);
    }
    Ok(slices[..count].to_vec())
}
fn shuffle(c: &Call) -> Result<Datum> {
    if c.is_null(1) {
        return Ok(Datum::Null);
    }
    let array = argument(c, 0)?;
    let mut slices = slices(&array);
    let count = slices.len();
    let chosen = by_chance(c, &mut slices, count)?;
    Ok(of_slices(&array, &chosen, array.lower.clone()))
}
fn sample(c: &Call) -> Result<Datum> {
    if c.is_null(1) || c.is_null(2) {
        return Ok(Datum::Null);
    }
    let (array, count) = (argument(c, 0)?, c.int(2)?);
    let mut slices = slices(&array);
    let there = slices.len();
    let count = usize::try_from(count).ok().filter(|n| *n <= there).ok_or_else(|| {
        PgError::new(SqlState::INVALID_PARAMETER_VALUE, format!("sample size must be between 0 and {there}"))
    })?;
    let chosen = by_chance(c, &mut slices, count)?;
    // (it begins at 1, its slices where they began)
    let lower = array.lower.iter().enumerate().map(|(i, low)| if i == 0 { 1 } else { *low }).collect();
    Ok(of_slices(&array, &chosen, lower))
}
fn enum_range(c: &Call) -> Result<Datum> {
    Ok(Array::from_elements(labels(c, |_, _| true)?.into_iter().map(Datum::Text).collect()).to_datum())
}

pub(crate) const FUNCTIONS: &[(&str, Scalar)] = &[
    ("array_reverse", reverse),
    ("array_sort array_sort_order array_sort_order_nulls_first", sort),
    ("array_shuffle", shuffle),
    ("array_sample", sample),
    ("array_fill array_fill_with_lower_bounds", fill),
    ("width_bucket_array", width_bucket),
    ("enum_range_bounds", enum_range_bounds),
    ("array_length", length),
    ("array_upper", upper),
    ("array_lower", lower),
    ("array_ndims", dimensions),
    ("array_dims", shape),
    ("array_cardinality", cardinality),
    ("array_append", append),
    ("array_prepend", prepend),
    ("array_cat", cat),
    ("trim_array", trim),
    ("array_remove", remove),
    ("array_replace", replace),
    ("array_position array_position_start", position),
    ("array_positions", positions),
    ("arraycontains", contains),
    ("arraycontained", contained),
    ("arrayoverlap", overlap),
    ("array_unnest", unnest),
    ("_pg_expandarray(anyarray)", expand),
    ("generate_subscripts generate_subscripts_nodir", subscripts),
    ("enum_first", enum_first),
    ("enum_last", enum_last),
    ("enum_range_all", enum_range),
];
