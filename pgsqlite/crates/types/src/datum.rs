//! A value in its SQLite storage form, owned and borrowed.

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
