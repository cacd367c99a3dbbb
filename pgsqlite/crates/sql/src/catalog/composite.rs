//! The rows of pg_class that stand-alone composite types have: a `regclass` names them as it names relations.

use super::{Catalog, UserType, UserTypeKind};
use pgsqlite_types::{work, Oid};

/// An OID that follows from that of another object and a number below 1,600, far beyond the counter's reach: of rows that have an OID in
/// PostgreSQL only.
pub fn derived_oid(object: Oid, number: i16) -> Oid {
    let derived = 2_000_000_000 + (u64::from(object) * 1600 + number.unsigned_abs() as u64) % 900_000_000;
    derived as Oid
}

/// The OID of a composite type's row in pg_class.
pub fn composite_class(composite: Oid) -> Oid {
    derived_oid(composite, 1599)
}

impl Catalog {
    /// The composite type whose row in pg_class has this OID.
    pub fn composite_of_class(&self, class: Oid) -> Option<&UserType> {
        let mut all = self.types.values().map(|t| &**t);
        all.find(|t| {
            work::visit();
            matches!(t.kind, UserTypeKind::Composite { .. }) && composite_class(t.oid) == class
        })
    }

    /// The OID in pg_class of the composite type of this name.
    pub fn composite_class_in(&self, schema: Oid, name: &str) -> Option<Oid> {
        let composite = self.types.get(&self.type_in(schema, name)?)?;
        matches!(composite.kind, UserTypeKind::Composite { .. }).then(|| composite_class(composite.oid))
    }
}
