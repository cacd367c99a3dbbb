//! The constraints of domains: those that users have made, and those of the schema `information_schema`.

use super::{Catalog, DomainConstraint, UserTypeKind, INFORMATION_SCHEMA};
use pgsqlite_types::{oid, Oid};
use std::sync::OnceLock;

/// A constraint with what its domain is.
pub struct DomainCheck<'a> {
    pub domain: Oid,
    pub domain_name: &'a str,
    pub schema: Oid,
    pub base: Oid,
    pub check: &'a DomainConstraint,
}

/// A domain of `information_schema`: its OID, its name, the type below it and its constraint.
struct Standard {
    domain: Oid,
    name: &'static str,
    base: Oid,
    check: DomainConstraint,
}

/// The constraints of the domains in `information_schema`, with PostgreSQL 15's OIDs.
fn standard() -> &'static [Standard] {
    static ALL: OnceLock<[Standard; 2]> = OnceLock::new();
    let check = |oid: Oid, name: &str, expression: &str| DomainConstraint {
        oid,
        name: name.into(),
        expression: expression.into(),
        not_valid: false,
    };
    ALL.get_or_init(|| {
        [
            Standard {
                domain: 13_221,
                name: "cardinal_number",
                base: oid::INT4,
                check: check(13_222, "cardinal_number_domain_check", "(VALUE >= 0)"),
            },
            Standard {
                domain: 13_234,
                name: "yes_or_no",
                base: oid::VARCHAR,
                check: check(
                    13_235,
                    "yes_or_no_check",
                    "((VALUE)::text = ANY ((ARRAY['YES'::character varying, 'NO'::character varying])::text[]))",
                ),
            },
        ]
    })
}

impl Catalog {
    /// The constraints of all domains, CHECK and NOT NULL.
    pub fn domain_checks(&self) -> impl Iterator<Item = DomainCheck<'_>> {
        let of_users = self.types.values().flat_map(|t| {
            let (checks, not_null, base) = match &t.kind {
                UserTypeKind::Domain { checks, base, not_null_constraint, .. } => {
                    (&checks[..], not_null_constraint.as_ref(), *base)
                }
                _ => (&[][..], None, 0),
            };
            // (in the order of their OIDs)
            let at = not_null.map_or(checks.len(), |n| checks.partition_point(|c| c.oid < n.oid));
            checks[..at].iter().chain(not_null).chain(&checks[at..]).map(move |check| DomainCheck {
                domain: t.oid,
                domain_name: &t.name,
                schema: t.schema,
                base,
                check,
            })
        });
        let of_standard = standard().iter().map(|s| DomainCheck {
            domain: s.domain,
            domain_name: s.name,
            schema: INFORMATION_SCHEMA,
            base: s.base,
            check: &s.check,
        });
        of_standard.chain(of_users)
    }
}
