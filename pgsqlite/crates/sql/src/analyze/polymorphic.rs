//! What the polymorphic types of a function's results are in a call. Manual, "Polymorphic Types".
//!
//! Resolution (`resolve.rs`) makes the arguments concrete; here the OUT parameters follow from them.

use crate::catalog::{Catalog, RangeTypes};
use pgsqlite_types::{oid, Oid};

/// What the arguments of one family (`any…` or `anycompatible…`) say.
#[derive(Default)]
struct Known {
    element: Option<Oid>,
    array: Option<Oid>,
    ranges: Option<RangeTypes>,
}

/// The type that a polymorphic result type stands for, in a call whose parameters are `declared` and whose (converted)
/// arguments are of the types `actual`. Other types, and what the arguments do not tell, come back as they are.
pub fn concrete_type(catalog: &Catalog, declared: &[Oid], actual: &[Oid], wanted: Oid) -> Oid {
    let (mut simple, mut compatible) = (Known::default(), Known::default());
    for (&d, &a) in declared.iter().zip(actual) {
        let base = catalog.base_type(a);
        match d {
            oid::ANYELEMENT | oid::ANYNONARRAY | oid::ANYENUM => simple.element = Some(a),
            oid::ANYARRAY => simple.array = Some(base),
            oid::ANYRANGE | oid::ANYMULTIRANGE => simple.ranges = catalog.range_types(base),
            oid::ANYCOMPATIBLE | oid::ANYCOMPATIBLENONARRAY => compatible.element = Some(a),
            oid::ANYCOMPATIBLEARRAY => compatible.array = Some(base),
            oid::ANYCOMPATIBLERANGE | oid::ANYCOMPATIBLEMULTIRANGE => compatible.ranges = catalog.range_types(base),
            _ => {}
        }
    }
    let known = match wanted {
        oid::ANYCOMPATIBLE
        | oid::ANYCOMPATIBLENONARRAY
        | oid::ANYCOMPATIBLEARRAY
        | oid::ANYCOMPATIBLERANGE
        | oid::ANYCOMPATIBLEMULTIRANGE => compatible,
        _ => simple,
    };
    let element = || {
        let of_array = || known.array.and_then(|a| catalog.element_type(a));
        known.element.or_else(of_array).or(known.ranges.map(|t| t.subtype))
    };
    let concrete = match wanted {
        oid::ANYELEMENT | oid::ANYNONARRAY | oid::ANYENUM | oid::ANYCOMPATIBLE | oid::ANYCOMPATIBLENONARRAY => {
            element()
        }
        oid::ANYARRAY | oid::ANYCOMPATIBLEARRAY => known.array.or_else(|| catalog.array_type(element()?)),
        oid::ANYRANGE | oid::ANYCOMPATIBLERANGE => known.ranges.map(|t| t.range),
        oid::ANYMULTIRANGE | oid::ANYCOMPATIBLEMULTIRANGE => known.ranges.map(|t| t.multirange),
        _ => None,
    };
    concrete.unwrap_or(wanted)
}
