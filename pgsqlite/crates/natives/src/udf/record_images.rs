//! Records compared field by field: by the images of their values (`*=`, `*<` …), and by value where the fields of the two differ in
//! type or number, which SQLite's comparison of their texts cannot tell.

use super::shim::{Call, Scalar};
use pgsqlite_sql::lower::support;
use pgsqlite_types::datetime::{Date, Time, Timestamp};
use pgsqlite_types::record::{self, Field};
use pgsqlite_types::work;
use pgsqlite_types::{float, oid, Datum, Oid, PgError, Result, SqlState};
use std::cmp::Ordering;

fn fields(c: &Call, i: usize) -> Result<Vec<Field>> {
    record::from_storage(c.text(i)?).ok_or_else(|| PgError::corrupted("a stored record is malformed"))
}

fn mismatch(message: String) -> PgError {
    PgError::new(SqlState::DATATYPE_MISMATCH, message)
}

fn type_name(c: &Call, ty: Oid) -> String {
    let state = c.session.state();
    pgsqlite_sql::deparse::Names::new(&state.catalog, &state.search_path).type_name(ty, -1)
}

/// The fields of both in pairs, each pair of one type. `each` says whether the order is decided. Errors: 42804.
fn compare(
    c: &Call,
    (left, right): (usize, usize),
    exact: bool,
    each: impl Fn(Oid, &Datum, &Datum) -> Result<Ordering>,
) -> Result<Ordering> {
    let (a, b) = (fields(c, left)?, fields(c, right)?);
    let base = |ty: Oid| if exact { ty } else { c.session.state().catalog.base_type(ty) };
    for (i, ((at, av), (bt, bv))) in a.iter().zip(&b).enumerate() {
        work::pulse(1);
        if base(*at) != base(*bt) {
            return Err(mismatch(format!(
                "cannot compare dissimilar column types {} and {} at record column {}",
                type_name(c, *at),
                type_name(c, *bt),
                i + 1
            )));
        }
        let order = match (av.is_null(), bv.is_null()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Greater,
            (false, true) => Ordering::Less,
            (false, false) => each(*at, av, bv)?,
        };
        if order.is_ne() {
            return Ok(order);
        }
    }
    if a.len() != b.len() {
        return Err(mismatch("cannot compare record types with different numbers of columns".into()));
    }
    Ok(Ordering::Equal)
}

/// What PostgreSQL keeps of a value, as far as its order goes. None: nothing here knows.
enum Image {
    /// a value that fits a machine word: words are compared without sign
    Word(u64),
    Bytes(Vec<u8>),
}

fn image(ty: Oid, value: &Datum) -> Result<Option<Image>> {
    let word = |n: i64| Some(Image::Word(n as u64));
    Ok(match (ty, value) {
        (oid::BOOL | oid::INT2 | oid::INT4 | oid::INT8 | oid::OID, Datum::Int(n)) => word(*n),
        (oid::FLOAT8, v) => word(float::from_datum(v.as_ref())?.to_bits() as i64),
        (oid::FLOAT4, v) => word(i64::from((float::from_datum(v.as_ref())? as f32).to_bits() as i32)),
        (oid::DATE, Datum::Text(t)) => Date::from_storage(t).and_then(|d| word(i64::from(d.0))),
        (oid::TIME, Datum::Text(t)) => Time::from_storage(t).and_then(|t| word(t.0)),
        (oid::TIMESTAMP | oid::TIMESTAMPTZ, Datum::Text(t)) => Timestamp::from_storage(t).and_then(|t| word(t.0)),
        (oid::TEXT | oid::VARCHAR | oid::BPCHAR | oid::NAME | oid::JSON | oid::UUID, Datum::Text(t)) => {
            Some(Image::Bytes(t.as_bytes().to_vec()))
        }
        (oid::BYTEA, Datum::Blob(b)) => Some(Image::Bytes(b.clone())),
        (oid::POINT, Datum::Text(t)) => {
            let mut numbers = t.trim_matches(['(', ')']).split(',').map(|n| n.trim().parse::<f64>());
            match (numbers.next(), numbers.next()) {
                (Some(Ok(x)), Some(Ok(y))) => {
                    Some(Image::Bytes(x.to_le_bytes().into_iter().chain(y.to_le_bytes()).collect()))
                }
                _ => None,
            }
        }
        _ => None,
    })
}

fn by_image(c: &Call, equality: bool) -> Result<Ordering> {
    compare(c, (0, 1), true, |ty, a, b| {
        match (image(ty, a)?, image(ty, b)?) {
            (Some(Image::Word(a)), Some(Image::Word(b))) => return Ok(a.cmp(&b)),
            (Some(Image::Bytes(a)), Some(Image::Bytes(b))) => {
                let common = a.len().min(b.len());
                return Ok(a[..common].cmp(&b[..common]).then(a.len().cmp(&b.len())));
            }
            _ => {}
        }
        // what is stored is different where the image is
        match a == b {
            true => Ok(Ordering::Equal),
            false if equality => Ok(Ordering::Less),
            false => Err(PgError::not_supported(format!("the order of images of type {}", type_name(c, ty)))),
        }
    })
}

fn equal_images(c: &Call) -> Result<bool> {
    Ok(by_image(c, true)?.is_eq())
}

/// (operator, record, record): the order of values.
fn record_compare(c: &Call) -> Result<Datum> {
    if c.is_null(1) || c.is_null(2) {
        return Ok(Datum::Null);
    }
    let operator = c.text(0)?;
    let equality = matches!(operator, "=" | "<>");
    let order = compare(c, (1, 2), false, |ty, a, b| {
        let base = c.session.state().catalog.base_type(ty);
        if matches!(
            base,
            oid::POINT | oid::BOX | oid::LINE | oid::PATH | oid::POLYGON | oid::CIRCLE | oid::JSON | oid::XML
        ) {
            let what = if equality { "an equality operator" } else { "a comparison function" };
            return Err(PgError::new(
                SqlState::UNDEFINED_FUNCTION,
                format!("could not identify {what} for type {}", type_name(c, ty)),
            ));
        }
        Ok(c.session.codec(ty)?.compare_storage(a.as_ref(), b.as_ref()))
    })?;
    Ok(match operator {
        "=" => order.is_eq(),
        "<>" => order.is_ne(),
        "<" => order.is_lt(),
        "<=" => order.is_le(),
        ">" => order.is_gt(),
        ">=" => order.is_ge(),
        _ => return Err(PgError::internal("an operator of records")),
    }
    .into())
}

/// Of records that no statement could compare by their text.
pub const COMPARISONS: &[(&str, i32, bool, Scalar)] = &[(support::RECORD_COMPARE, 3, true, record_compare)];

pub(crate) const FUNCTIONS: &[(&str, Scalar)] = &[
    ("record_image_eq", |c| Ok(equal_images(c)?.into())),
    ("record_image_ne", |c| Ok((!equal_images(c)?).into())),
    ("record_image_lt", |c| Ok(by_image(c, false)?.is_lt().into())),
    ("record_image_le", |c| Ok(by_image(c, false)?.is_le().into())),
    ("record_image_gt", |c| Ok(by_image(c, false)?.is_gt().into())),
    ("record_image_ge", |c| Ok(by_image(c, false)?.is_ge().into())),
    ("btrecordimagecmp", |c| Ok(Datum::Int(by_image(c, false)? as i64))),
];
