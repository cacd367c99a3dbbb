//! A value in its SQLite storage form, owned and borrowed.

use std::cmp::Ordering;

/// A value in storage form, owned: what is bound to a statement's parameter or returned by a native function.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Datum {
    #[default]
    Null,
    Int(i64),
    Real(f64),
    Text(String),
    Blob(Vec<u8>),
}

/// A value in storage form, borrowed from SQLite (`sqlite3_column_*`, `sqlite3_value_*`): valid until the next step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum DatumRef<'a> {
    Null,
    Int(i64),
    Real(f64),
    Text(&'a str),
    Blob(&'a [u8]),
}

impl Datum {
    /// The same value, borrowed.
    pub fn as_ref(&self) -> DatumRef<'_> {
        match self {
            Datum::Null => DatumRef::Null,
            Datum::Int(i) => DatumRef::Int(*i),
            Datum::Real(r) => DatumRef::Real(*r),
            Datum::Text(t) => DatumRef::Text(t),
            Datum::Blob(b) => DatumRef::Blob(b),
        }
    }

    pub fn is_null(&self) -> bool {
        matches!(self, Datum::Null)
    }
}

impl DatumRef<'_> {
    /// The same value, owned.
    pub fn to_owned(self) -> Datum {
        match self {
            DatumRef::Null => Datum::Null,
            DatumRef::Int(i) => Datum::Int(i),
            DatumRef::Real(r) => Datum::Real(r),
            DatumRef::Text(t) => Datum::Text(t.to_string()),
            DatumRef::Blob(b) => Datum::Blob(b.to_vec()),
        }
    }

    pub fn is_null(self) -> bool {
        matches!(self, DatumRef::Null)
    }
}

impl From<i64> for Datum {
    fn from(v: i64) -> Self {
        Datum::Int(v)
    }
}
impl From<bool> for Datum {
    fn from(v: bool) -> Self {
        Datum::Int(v as i64)
    }
}
impl From<f64> for Datum {
    fn from(v: f64) -> Self {
        Datum::Real(v)
    }
}
impl From<String> for Datum {
    fn from(v: String) -> Self {
        Datum::Text(v)
    }
}
impl From<&str> for Datum {
    fn from(v: &str) -> Self {
        Datum::Text(v.to_string())
    }
}
impl<T: Into<Datum>> From<Option<T>> for Datum {
    fn from(v: Option<T>) -> Self {
        v.map_or(Datum::Null, Into::into)
    }
}

/// SQLite's own order: NULL, numbers, text, blobs; each by value.
pub fn storage_classes(a: DatumRef, b: DatumRef) -> Ordering {
    let class = |d: DatumRef| match d {
        DatumRef::Null => 0,
        DatumRef::Int(_) | DatumRef::Real(_) => 1,
        DatumRef::Text(_) => 2,
        DatumRef::Blob(_) => 3,
    };
    match (a, b) {
        (DatumRef::Int(x), DatumRef::Int(y)) => x.cmp(&y),
        (DatumRef::Real(x), DatumRef::Real(y)) => x.partial_cmp(&y).unwrap_or(Ordering::Equal),
        (DatumRef::Int(x), DatumRef::Real(y)) => int_real(x, y),
        (DatumRef::Real(x), DatumRef::Int(y)) => int_real(y, x).reverse(),
        (DatumRef::Text(x), DatumRef::Text(y)) => x.cmp(y),
        (DatumRef::Blob(x), DatumRef::Blob(y)) => x.cmp(y),
        _ => class(a).cmp(&class(b)),
    }
}

/// Exact comparison of a 64-bit integer with a double.
fn int_real(i: i64, r: f64) -> Ordering {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if r >= LIMIT {
        Ordering::Less
    } else if r < -LIMIT {
        Ordering::Greater
    } else {
        i.cmp(&(r as i64)).then_with(|| 0.0.partial_cmp(&r.fract()).unwrap_or(Ordering::Equal))
    }
}
