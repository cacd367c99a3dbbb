//! What every database has: PostgreSQL's schemas, the bootstrap role, the system relations.

use pgsqlite_sql::acl::{privilege, AclItem, AclObject, PUBLIC_ROLE};
use pgsqlite_sql::builtins::catalog::{system_relations, SystemRelation};
use pgsqlite_sql::catalog::*;
use pgsqlite_types::work;
use std::sync::{Arc, OnceLock};

/// The role whose only member is the database's owner.
pub const DATABASE_OWNER_ROLE: pgsqlite_types::Oid = 6171;
/// The roles that PostgreSQL 15 predefines.
const PREDEFINED_ROLES: &[(pgsqlite_types::Oid, &str)] = &[
    (DATABASE_OWNER_ROLE, "pg_database_owner"),
    (6181, "pg_read_all_data"),
    (6182, "pg_write_all_data"),
    (MONITOR_ROLE, "pg_monitor"),
    (3374, "pg_read_all_settings"),
    (3375, "pg_read_all_stats"),
    (3377, "pg_stat_scan_tables"),
    (4569, "pg_read_server_files"),
    (4570, "pg_write_server_files"),
    (4571, "pg_execute_server_program"),
    (4200, "pg_signal_backend"),
    (4544, "pg_checkpoint"),
    (4550, "pg_use_reserved_connections"),
    (6304, "pg_create_subscription"),
    (6337, "pg_maintain"),
    (6392, "pg_signal_autovacuum_worker"),
];

const MONITOR_ROLE: pgsqlite_types::Oid = 3373;
/// What the role that monitors is a member of.
const MONITORED_ROLES: [pgsqlite_types::Oid; 3] = [3374, 3375, 3377];

fn predefined_role(name: &str) -> Role {
    Role {
        superuser: false,
        create_role: false,
        create_db: false,
        login: false,
        replication: false,
        bypass_rls: false,
        ..bootstrap_role(name)
    }
}

/// The catalog of an empty database. Made once.
pub fn catalog() -> &'static Catalog {
    static BASE: OnceLock<Catalog> = OnceLock::new();
    BASE.get_or_init(|| {
        let mut catalog = Catalog::default();
        for (oid, name) in [
            (PG_CATALOG, "pg_catalog"),
            (PG_TOAST, "pg_toast"),
            (PUBLIC, "public"),
            (INFORMATION_SCHEMA, "information_schema"),
            (PG_TEMP, "pg_temp"),
        ] {
            work::visit();
            let owner = if oid == PUBLIC { DATABASE_OWNER_ROLE } else { BOOTSTRAP_ROLE };
            let item = |grantee, privileges| AclItem { grantee, grantor: owner, privileges, grant_options: 0 };
            let acl = matches!(oid, PG_CATALOG | PUBLIC | INFORMATION_SCHEMA)
                .then(|| vec![item(owner, AclObject::Schema.all()), item(PUBLIC_ROLE, privilege::USAGE)]);
            catalog.add_schema(Schema { oid, name: name.into(), owner, acl });
        }
        catalog.roles.insert(BOOTSTRAP_ROLE, Arc::new(bootstrap_role("postgres")));
        for &(oid, name) in PREDEFINED_ROLES {
            work::visit();
            let membership =
                |&role| Membership { role, grantor: BOOTSTRAP_ROLE, admin: false, inherit: Some(true), set: true };
            let memberships =
                if oid == MONITOR_ROLE { MONITORED_ROLES.iter().map(membership).collect() } else { Vec::new() };
            catalog.roles.insert(oid, Arc::new(Role { oid, memberships, ..predefined_role(name) }));
        }
        for relation in system_relations() {
            work::visit();
            catalog.add_relation(system_relation(relation));
        }
        catalog.comments.insert((2615, PUBLIC, 0), "standard public schema".into());
        catalog.comments.insert((2615, PG_CATALOG, 0), "system catalog schema".into());
        catalog
    })
}

/// The OID of the role that a new file has beside `postgres`: the operating system's user who made it, as initdb makes one.
pub const FOUNDER_ROLE: pgsqlite_types::Oid = 16383;

/// The role of [`FOUNDER_ROLE`]; None: the name is that of the bootstrap role, or one that no role may have.
pub fn founder_role(name: &str) -> Option<Role> {
    let reserved = name.is_empty() || name.starts_with("pg_") || matches!(name, "postgres" | "public" | "none");
    (!reserved).then(|| Role { oid: FOUNDER_ROLE, ..bootstrap_role(name) })
}

/// The superuser that initdb makes.
pub fn bootstrap_role(name: &str) -> Role {
    Role {
        oid: BOOTSTRAP_ROLE,
        name: name.into(),
        superuser: true,
        inherit: true,
        create_role: true,
        create_db: true,
        login: true,
        replication: true,
        bypass_rls: true,
        connection_limit: -1,
        password: None,
        valid_until: None,
        memberships: Vec::new(),
        settings: Vec::new(),
    }
}

/// The array type over the row type of a system relation: made just before it, but for those whose own OIDs are written down.
fn system_array_type(row_type: pgsqlite_types::Oid) -> pgsqlite_types::Oid {
    match row_type {
        0 => 0,
        // (pg_stat_statements, which PostgreSQL has with its extension only)
        15502 => 0,
        71 => 210,
        75 => 270,
        81 => 272,
        83 => 273,
        1248 => 10052,
        2842 => 10057,
        2843 => 10058,
        4066 => 10093,
        6101 => 10112,
        other => other - 1,
    }
}

fn system_relation(system: &SystemRelation) -> Relation {
    let schema = if system.schema == "pg_catalog" { PG_CATALOG } else { INFORMATION_SCHEMA };
    let kind = RelationKind::System;
    Relation {
        oid: system.oid,
        schema,
        name: system.name.into(),
        sqlite_name: format!("{}.{}", system.schema, system.name),
        row_type: system.row_type,
        array_type: system_array_type(system.row_type),
        columns: system
            .columns
            .iter()
            .map(|&(attnum, name, ty, typmod, not_null, collation)| Column {
                not_null,
                collation,
                ..Column::new(attnum, name, ty, typmod)
            })
            .collect(),
        ..Relation::new(kind)
    }
}
