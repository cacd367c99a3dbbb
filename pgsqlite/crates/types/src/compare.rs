//! Order of values in storage form: what the SQLite collations named by [`TypeCodec::collation`] compute.

use crate::array::Array;
use crate::codec::TypeCodec;
use crate::datetime::{Interval, TimeTz};
use crate::datum::storage_classes;
use crate::extension::citext;
use crate::extension::hstore::Hstore;
use crate::network::inet::Inet;
use crate::range::{self, Range, RangeType};
use crate::tsearch::{Query, Vector};
use crate::work;
use crate::{json, numeric, record, text, transaction_ids, DatumRef};
use std::cmp::Ordering;

/// Compares two texts by what `read` makes of them; what it cannot read sorts last, by bytes.
fn by_value<T>(a: &str, b: &str, read: impl Fn(&str) -> Option<T>, order: impl Fn(&T, &T) -> Ordering) -> Ordering {
    match (read(a), read(b)) {
        (Some(x), Some(y)) => order(&x, &y),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => a.cmp(b),
    }
}

/// `pg_interval`: by span, a month has 30 days.
pub fn interval(a: &str, b: &str) -> Ordering {
    by_value(a, b, Interval::from_storage, |x, y| x.compare(*y))
}

/// `pg_timetz`: by the moment in UTC.
pub fn timetz(a: &str, b: &str) -> Ordering {
    by_value(a, b, TimeTz::from_storage, |x, y| x.cmp(y))
}

/// `pg_inet`: networks before what is in them.
pub fn inet(a: &str, b: &str) -> Ordering {
    by_value(a, b, Inet::from_storage, |x, y| x.compare(y))
}

/// `pg_tsvector`: by size, then lexeme by lexeme.
pub fn tsvector(a: &str, b: &str) -> Ordering {
    by_value(a, b, |t| Vector::parse(t).ok(), Vector::compare)
}

/// `pg_tsquery`: by size, then node by node.
pub fn tsquery(a: &str, b: &str) -> Ordering {
    by_value(a, b, |t| Query::parse(t).ok(), Query::compare)
}

/// `character(n)`: trailing blanks do not count.
pub fn bpchar(a: &str, b: &str) -> Ordering {
    a.trim_end_matches(' ').cmp(b.trim_end_matches(' '))
}

/// `pg_array_…`: element by element, NULLs last, then by number of elements, of dimensions, then their lengths and bounds.
pub fn array(a: &str, b: &str, element: &TypeCodec) -> Ordering {
    if a == b {
        return Ordering::Equal;
    }
    by_value(a, b, |t| Array::from_storage(t, element), |x, y| arrays(x, y, element))
}

fn arrays(x: &Array, y: &Array, element: &TypeCodec) -> Ordering {
    for (p, q) in x.elements.iter().zip(&y.elements) {
        work::pulse(1);
        let order = match (p.is_null(), q.is_null()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Greater,
            (false, true) => Ordering::Less,
            (false, false) => element.compare_storage(p.as_ref(), q.as_ref()),
        };
        if order != Ordering::Equal {
            return order;
        }
    }
    let shape = |a: &Array| (a.elements.len(), a.dimensions.len());
    // (arrays that differ in their lower bounds alone are not equal)
    let bounds = || x.lower_bounds().cmp(&y.lower_bounds());
    shape(x).cmp(&shape(y)).then_with(|| x.dimensions.cmp(&y.dimensions)).then_with(bounds)
}

/// `pg_range_…`: by lower, then by upper bound.
fn ranges(a: &str, b: &str, t: &RangeType) -> Ordering {
    if a == b {
        return Ordering::Equal;
    }
    by_value(a, b, |text| Range::from_storage(text, t), |x, y| range::compare(t, x, y))
}

/// `pg_multirange_…`: range by range.
fn multiranges(a: &str, b: &str, t: &RangeType) -> Ordering {
    if a == b {
        return Ordering::Equal;
    }
    by_value(a, b, |text| range::multirange_from_storage(text, t), |x, y| range::compare_multiranges(t, x, y))
}

impl TypeCodec {
    /// The order of two values in storage form, as PostgreSQL's btree operator class of the type has it.
    pub fn compare_storage(&self, a: DatumRef, b: DatumRef) -> Ordering {
        match (a, b) {
            (DatumRef::Text(x), DatumRef::Text(y)) => self.compare_text(x, y),
            // A numeric that an expression of SQLite's own left as INTEGER.
            (DatumRef::Int(x), DatumRef::Text(y)) if *self == TypeCodec::Numeric => {
                numeric::compare_text(itoa::Buffer::new().format(x), y)
            }
            (DatumRef::Text(x), DatumRef::Int(y)) if *self == TypeCodec::Numeric => {
                numeric::compare_text(x, itoa::Buffer::new().format(y))
            }
            _ => storage_classes(a, b),
        }
    }

    /// As [`TypeCodec::compare_storage`] for two texts: what the collation of the type is registered with.
    pub fn compare_text(&self, a: &str, b: &str) -> Ordering {
        match self {
            TypeCodec::Numeric => numeric::compare_text(a, b),
            TypeCodec::BpChar => bpchar(a, b),
            TypeCodec::Char => text::char_byte(a).cmp(&text::char_byte(b)),
            TypeCodec::TimeTz => timetz(a, b),
            TypeCodec::Interval => interval(a, b),
            TypeCodec::Jsonb => json::compare_text(a, b),
            TypeCodec::Inet { .. } => inet(a, b),
            TypeCodec::TsVector => tsvector(a, b),
            TypeCodec::TsQuery => tsquery(a, b),
            TypeCodec::Citext => citext::compare(a, b),
            TypeCodec::Hstore => by_value(a, b, |t| Hstore::parse(t).ok(), Hstore::compare),
            TypeCodec::Lsn => transaction_ids::compare_lsn(a, b),
            TypeCodec::Enum(e) => e.position(a).cmp(&e.position(b)).then_with(|| a.cmp(b)),
            TypeCodec::Array(element, ..) => array(a, b, element),
            TypeCodec::Record => record::compare(a, b, &|_, _| None),
            TypeCodec::Composite(t) => record::compare(a, b, &|i, _| t.codecs.get(i).cloned().flatten()),
            TypeCodec::Range(t) => ranges(a, b, t),
            TypeCodec::Multirange(t) => multiranges(a, b, t),
            _ => a.cmp(b),
        }
    }
}

/// Compares two texts by the name of a collation. Those of types of the user (`pg_enum_…`, arrays of them) need the
/// catalog: None, as for names that are no collation of ours; register them through [`TypeCodec::compare_text`].
pub fn by_name(collation: &str, a: &str, b: &str) -> Option<Ordering> {
    Some(codec_of(collation)?.compare_text(a, b))
}

/// The codec whose order a collation is, for built-in types.
pub fn codec_of(collation: &str) -> Option<TypeCodec> {
    Some(match collation {
        "decimal" => TypeCodec::Numeric,
        "RTRIM" => TypeCodec::BpChar,
        "pg_char" => TypeCodec::Char,
        "pg_interval" => TypeCodec::Interval,
        "pg_timetz" => TypeCodec::TimeTz,
        "pg_jsonb" => TypeCodec::Jsonb,
        "pg_lsn" => TypeCodec::Lsn,
        "pg_inet" => TypeCodec::Inet { network: false },
        "pg_tsvector" => TypeCodec::TsVector,
        "pg_tsquery" => TypeCodec::TsQuery,
        "pg_citext" => TypeCodec::Citext,
        "pg_hstore" => TypeCodec::Hstore,
        "pg_record" => TypeCodec::Record,
        _ => {
            let range = collation.strip_prefix("pg_range_").or_else(|| collation.strip_prefix("pg_multirange_"));
            if let Some(range) = range {
                return RangeType::builtin_codec(range.parse().ok()?);
            }
            let element = collation.strip_prefix("pg_array_")?.parse().ok()?;
            TypeCodec::Array(Box::new(TypeCodec::builtin(element)?), element, b',')
        }
    })
}
