//! Types that CREATE EXTENSION brings: `citext`, `hstore`, `query_int` (of intarray).
//!
//! They have fixed OIDs in the range that initdb leaves free (`data/extension_type.tsv`, made by gen/extensions.sh); a
//! catalog shows them once their extension has been made.

pub mod citext;
pub mod hstore;
pub mod query_int;

use crate::Oid;

pub const CITEXT_ARRAY: Oid = 15531;
pub const CITEXT: Oid = 15532;
pub const HSTORE: Oid = 15536;
pub const QUERY_INT: Oid = 15540;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_are_the_types_numbers() {
        for (oid, name) in [(CITEXT_ARRAY, "_citext"), (CITEXT, "citext"), (HSTORE, "hstore"), (QUERY_INT, "query_int")]
        {
            assert_eq!(crate::catalog::by_oid(oid).map(|t| t.name), Some(name));
        }
    }
}
