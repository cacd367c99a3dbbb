//! Types that CREATE EXTENSION brings: `citext`, `hstore`, `query_int` (of intarray), `vector`, `halfvec` and `sparsevec` (of vector).
//!
//! They have fixed OIDs in the range that initdb leaves free (`data/extension_type.tsv`, made by gen/extensions.sh); a
//! catalog shows them once their extension has been made.

pub mod citext;
pub mod hstore;
pub mod query_int;
pub mod vector;

use crate::Oid;

pub const CITEXT_ARRAY: Oid = 15531;
pub const CITEXT: Oid = 15532;
pub const HSTORE: Oid = 15536;
pub const QUERY_INT: Oid = 15540;
pub const HALFVEC: Oid = 15004;
pub const SPARSEVEC: Oid = 15005;
pub const VECTOR: Oid = 15006;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_are_the_types_numbers() {
        for (oid, name) in [
            (CITEXT_ARRAY, "_citext"),
            (CITEXT, "citext"),
            (HSTORE, "hstore"),
            (QUERY_INT, "query_int"),
            (HALFVEC, "halfvec"),
            (SPARSEVEC, "sparsevec"),
            (VECTOR, "vector"),
        ] {
            assert_eq!(crate::catalog::by_oid(oid).map(|t| t.name), Some(name));
        }
    }
}
