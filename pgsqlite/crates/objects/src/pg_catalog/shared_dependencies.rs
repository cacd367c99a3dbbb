//! pg_shdepend: which objects of this database need which roles. Roles that every database has are pinned: nothing is said of them.

use super::cluster::OWN;
use super::relations::{CLASS, NAMESPACE, PROC, TYPE};
use super::{int, text, Rows};
use pgsqlite_natives::large_object::store;
use pgsqlite_natives::udf::session_cell::SessionState;
use pgsqlite_sql::acl::AclItem;
use pgsqlite_sql::catalog::*;
use pgsqlite_types::work;
use pgsqlite_types::{oid, Datum, Oid, Result};
use rusqlite::Connection;

const ROLE: Oid = 1260;
const DATABASE: Oid = 1262;
const DEFAULT_ACL: Oid = 826;
const LARGE_OBJECT: Oid = 2613;
const OPERATOR: Oid = 2617;
const EXTENSION: Oid = 3079;
const POLICY: Oid = 3256;
const STATISTICS: Oid = 3381;
const COLLATION: Oid = 3456;
const DICTIONARY: Oid = 3600;
const CONFIGURATION: Oid = 3602;

struct Edges<'a> {
    rows: &'a mut Rows,
}

impl Edges<'_> {
    /// `o`: owner, `a`: named in privileges, `r`: target of a policy
    fn push(&mut self, (class, object, column): (Oid, Oid, i16), role: Oid, kind: &str) {
        // (PUBLIC is no role; those below are pinned)
        if role < oid::FIRST_USER_OID {
            return;
        }
        let database = if class == DATABASE { 0 } else { OWN };
        self.rows.push(&[
            ("dbid", Datum::Int(database)),
            ("classid", int(class)),
            ("objid", int(object)),
            ("objsubid", int(column)),
            ("refclassid", int(ROLE)),
            ("refobjid", int(role)),
            ("deptype", text(kind)),
        ]);
    }

    /// An object with its owner, and with the roles that its privileges name.
    fn object(&mut self, class: Oid, object: Oid, owner: Oid, acl: &Option<Vec<AclItem>>) {
        self.push((class, object, 0), owner, "o");
        self.named((class, object, 0), owner, acl);
    }

    fn named(&mut self, object: (Oid, Oid, i16), owner: Oid, acl: &Option<Vec<AclItem>>) {
        let mut roles: Vec<Oid> = acl.iter().flatten().flat_map(|i| [i.grantee, i.grantor]).collect();
        roles.sort_unstable();
        roles.dedup();
        for role in roles.into_iter().filter(|r| *r != owner) {
            work::visit();
            self.push(object, role, "a");
        }
    }
}

pub(super) fn depends(rows: &mut Rows, connection: &Connection, state: &SessionState) -> Result<()> {
    let catalog = &*state.catalog;
    let mut edges = Edges { rows };
    edges.object(DATABASE, OWN as Oid, catalog.properties.owner, &catalog.properties.acl);
    for found in store::all(connection)? {
        work::visit();
        edges.object(LARGE_OBJECT, found.object, found.owner, &found.acl);
    }
    for s in catalog.schemas.values() {
        work::visit();
        edges.object(NAMESPACE, s.oid, s.owner, &s.acl);
    }
    for r in catalog.relations.values().filter(|r| r.oid >= oid::FIRST_USER_OID) {
        work::visit();
        if !matches!(r.kind, RelationKind::Index(_)) {
            edges.object(CLASS, r.oid, r.owner, &r.acl);
        }
        for column in r.live_columns() {
            work::visit();
            edges.named((CLASS, r.oid, column.attnum), r.owner, &column.acl);
        }
        for policy in &r.security.policies {
            work::visit();
            for role in &policy.roles {
                work::visit();
                edges.push((POLICY, policy.oid, 0), *role, "r");
            }
        }
    }
    for t in catalog.types.values() {
        work::visit();
        edges.object(TYPE, t.oid, t.owner, &t.acl);
    }
    for f in catalog.routines.values().map(|r| &r.function) {
        work::visit();
        edges.object(PROC, f.oid, f.owner, &f.acl);
    }
    let without_privileges = (catalog.statistics().map(|(_, s)| (STATISTICS, s.oid, s.owner)))
        .chain(catalog.operators.values().map(|o| (OPERATOR, o.definition.oid, o.definition.owner)))
        .chain(catalog.collations.values().map(|c| (COLLATION, c.oid, c.owner)))
        .chain(catalog.ts_configurations.values().map(|c| (CONFIGURATION, c.oid, c.owner)))
        .chain(catalog.ts_dictionaries.values().map(|d| (DICTIONARY, d.oid, d.owner)))
        .chain(catalog.extensions.values().map(|e| (EXTENSION, e.oid, e.owner)));
    for (class, object, owner) in without_privileges {
        work::visit();
        edges.object(class, object, owner, &None);
    }
    for entry in &catalog.properties.default_acls {
        work::visit();
        edges.object(DEFAULT_ACL, entry.oid, entry.role, &Some(entry.acl.clone()));
    }
    Ok(())
}
