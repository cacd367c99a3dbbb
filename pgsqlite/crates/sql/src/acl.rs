//! Privileges: what GRANT stores beside an object, and who may do what.
//!
//! An object without a list (`None`) has PostgreSQL's built-in one, [`default_acl`]. A list is one row of `relacl`, `nspacl` or
//! `typacl`: each [`AclItem`] prints as `grantee=letters/grantor`.

pub use crate::catalog::acl_item::{privilege, AclItem, PUBLIC_ROLE};
use crate::catalog::{Catalog, Column, Membership, Relation, RelationKind, Role, BOOTSTRAP_ROLE};
use pgsqlite_types::{Oid, PgError, Result, SqlState};

/// What kind of object a list belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AclObject {
    Table,
    Sequence,
    Schema,
    Type,
    Database,
    Function,
    LargeObject,
}

impl AclObject {
    /// All privileges there are for such an object.
    pub fn all(self) -> u32 {
        use privilege::*;
        match self {
            AclObject::Table => INSERT | SELECT | UPDATE | DELETE | TRUNCATE | REFERENCES | TRIGGER | MAINTAIN,
            AclObject::Sequence => SELECT | UPDATE | USAGE,
            AclObject::Schema => USAGE | CREATE,
            AclObject::Type => USAGE,
            AclObject::Database => CREATE | TEMPORARY | CONNECT,
            AclObject::Function => EXECUTE,
            AclObject::LargeObject => SELECT | UPDATE,
        }
    }

    /// What PUBLIC has without any GRANT.
    fn of_public(self) -> u32 {
        match self {
            AclObject::Type => privilege::USAGE,
            AclObject::Function => privilege::EXECUTE,
            AclObject::Database => privilege::TEMPORARY | privilege::CONNECT,
            _ => 0,
        }
    }

    /// The kind of list a relation has.
    pub fn of_relation(relation: &Relation) -> AclObject {
        match relation.kind {
            RelationKind::Sequence(_) => AclObject::Sequence,
            _ => AclObject::Table,
        }
    }
}

/// The list of an object that has none of its own.
pub fn default_acl(object: AclObject, owner: Oid) -> Vec<AclItem> {
    let mut out = Vec::new();
    if object.of_public() != 0 {
        out.push(AclItem { grantee: PUBLIC_ROLE, grantor: owner, privileges: object.of_public(), grant_options: 0 });
    }
    out.push(AclItem { grantee: owner, grantor: owner, privileges: object.all(), grant_options: 0 });
    out
}

/// The list of one of PostgreSQL's own functions. None: the default.
pub fn builtin_function_acl(catalog: &Catalog, proc: Oid) -> Option<Vec<AclItem>> {
    let text = crate::builtins::catalog::proc_details(proc)?.acl?;
    // (what comes with initdb is the bootstrap role's, whatever its name)
    let role = |name: &str| match name {
        "" => Some(PUBLIC_ROLE),
        "postgres" => Some(crate::catalog::BOOTSTRAP_ROLE),
        _ => catalog.role_named(name).map(|r| r.oid),
    };
    let items = text.trim_matches(['{', '}']).split(',').filter_map(|item| {
        let (grantee, rest) = item.split_once('=')?;
        let (_, grantor) = rest.split_once('/')?;
        let (grantee, grantor) = (role(grantee)?, role(grantor)?);
        Some(AclItem { grantee, grantor, privileges: privilege::EXECUTE, grant_options: 0 })
    });
    Some(items.collect())
}

/// `grantee=letters/grantor`, as PostgreSQL prints an aclitem.
pub fn item_text(catalog: &Catalog, item: &AclItem) -> String {
    let role = |oid: Oid| match catalog.role_name(oid) {
        Some(name) if name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') => name.to_string(),
        Some(name) => crate::names::quoted(name),
        None => oid.to_string(),
    };
    let mut out = if item.grantee == PUBLIC_ROLE { String::new() } else { role(item.grantee) };
    out.push('=');
    for (bit, (letter, _)) in privilege::NAMES.iter().enumerate() {
        if item.privileges & (1 << bit) != 0 {
            out.push(*letter);
            if item.grant_options & (1 << bit) != 0 {
                out.push('*');
            }
        }
    }
    out.push('/');
    out.push_str(&role(item.grantor));
    out
}

/// Reads `grantee=letters/grantor`, as a literal of type aclitem. Errors: 22P02, 42704.
pub fn read_item(catalog: &Catalog, text: &str) -> Result<AclItem> {
    let invalid = |what: String| PgError::new(SqlState::INVALID_TEXT_REPRESENTATION, what);
    // a name, quoted or not, and what follows it
    let name = |text: &str| -> Result<(String, usize)> {
        let (mut out, mut quoted, mut end) = (String::new(), false, text.len());
        let mut chars = text.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            match c {
                '"' if quoted && chars.next_if(|(_, next)| *next == '"').is_some() => out.push('"'),
                '"' => quoted = !quoted,
                c if quoted || c.is_alphanumeric() || c == '_' => out.push(c),
                _ => {
                    end = at;
                    break;
                }
            }
        }
        Ok((out, end))
    };
    let role = |name: &str| {
        let found = catalog.role_named(name).map(|r| r.oid);
        found.ok_or_else(|| PgError::new(SqlState::UNDEFINED_OBJECT, format!("role \"{name}\" does not exist")))
    };
    let text = text.trim_start();
    let (mut grantee, mut end) = name(text)?;
    let mut rest = text[end..].trim_start();
    if !rest.starts_with('=') {
        if !matches!(grantee.as_str(), "group" | "user") {
            return Err(invalid(format!("unrecognized key word: \"{grantee}\""))
                .hint("ACL key word must be \"group\" or \"user\"."));
        }
        (grantee, end) = name(rest)?;
        if grantee.is_empty() {
            return Err(invalid("missing name".into()).hint("A name must follow the \"group\" or \"user\" key word."));
        }
        rest = rest[end..].trim_start();
    }
    let rest = rest.strip_prefix('=').ok_or_else(|| invalid("missing \"=\" sign".into()))?;
    let mut item = AclItem { grantee: PUBLIC_ROLE, grantor: BOOTSTRAP_ROLE, privileges: 0, grant_options: 0 };
    let (mut last, mut behind) = (0, rest.len());
    for (at, c) in rest.char_indices() {
        if c == '*' {
            item.grant_options |= last;
            continue;
        }
        if !c.is_ascii_alphabetic() {
            behind = at;
            break;
        }
        let bit = privilege::NAMES.iter().position(|n| n.0 == c);
        last = 1 << bit.ok_or_else(|| invalid("invalid mode character: must be one of \"arwdDxtXUCTcsAm\"".into()))?;
        item.privileges |= last;
    }
    if !grantee.is_empty() {
        item.grantee = role(&grantee)?;
    }
    let rest = &rest[behind..];
    let Some(rest) = rest.strip_prefix('/') else {
        return match rest.trim_start() {
            "" => Ok(item),
            _ => Err(invalid("extra garbage at the end of the ACL specification".into())),
        };
    };
    let (grantor, end) = name(rest)?;
    if grantor.is_empty() {
        return Err(invalid("a name must follow the \"/\" sign".into()));
    }
    item.grantor = role(&grantor)?;
    if !rest[end..].trim_start().is_empty() {
        return Err(invalid("extra garbage at the end of the ACL specification".into()));
    }
    Ok(item)
}

/// Whether a role is this predefined one, or inherits its privileges.
pub fn inherits(catalog: &Catalog, role: Oid, predefined: &str) -> bool {
    inherited_roles(catalog, role).iter().any(|&r| catalog.role_name(r) == Some(predefined))
}

/// pg_database_owner: whoever owns the database is a member of it.
const DATABASE_OWNER_ROLE: Oid = 6171;

/// `role` and the roles that it is a member of, directly or not, by memberships of a kind, in the order in which they are met.
fn reached(catalog: &Catalog, role: Oid, by: impl Fn(&Role, &Membership) -> bool) -> Vec<Oid> {
    let mut out = vec![role];
    let mut at = 0;
    while at < out.len() {
        if let Some(r) = catalog.roles.get(&out[at]) {
            for membership in r.memberships.iter().filter(|m| by(r, m)) {
                if !out.contains(&membership.role) {
                    out.push(membership.role);
                }
            }
        }
        if out[at] == catalog.properties.owner && !out.contains(&DATABASE_OWNER_ROLE) {
            out.push(DATABASE_OWNER_ROLE);
        }
        at += 1;
    }
    out
}

/// `role` and the roles whose privileges it inherits.
pub fn inherited_roles(catalog: &Catalog, role: Oid) -> Vec<Oid> {
    reached(catalog, role, Role::inherits_by)
}

/// Whether `role` is `other` or a member of it, directly or not.
pub fn member_of(catalog: &Catalog, role: Oid, other: Oid) -> bool {
    reached(catalog, role, |_, _| true).contains(&other)
}

/// Whether `role` may become `other` by SET ROLE: memberships WITH SET lead there.
pub fn may_set_role(catalog: &Catalog, role: Oid, other: Oid) -> bool {
    is_superuser(catalog, role) || reached(catalog, role, |_, m| m.set).contains(&other)
}

fn has_admin_option(catalog: &Catalog, role: Oid, other: Oid) -> bool {
    catalog.roles.get(&role).is_some_and(|r| r.memberships.iter().any(|m| m.role == other && m.admin))
}

/// Whether `role`, or a role that it is a member of, directly or not, has the admin option on `other`. A superuser has it.
pub fn is_admin_of(catalog: &Catalog, role: Oid, other: Oid) -> bool {
    is_superuser(catalog, role)
        || role != other && reached(catalog, role, |_, _| true).iter().any(|r| has_admin_option(catalog, *r, other))
}

/// The nearest of `role` and the roles whose privileges it inherits that has the admin option on `other`.
pub fn best_admin(catalog: &Catalog, role: Oid, other: Oid) -> Option<Oid> {
    let of = (role != other).then(|| inherited_roles(catalog, role));
    of.into_iter().flatten().find(|r| has_admin_option(catalog, *r, other))
}

pub fn is_superuser(catalog: &Catalog, role: Oid) -> bool {
    catalog.roles.get(&role).is_some_and(|r| r.superuser)
}

/// The role owns the object, or inherits from the one that does.
pub fn owns(catalog: &Catalog, role: Oid, owner: Oid) -> bool {
    is_superuser(catalog, role) || inherited_roles(catalog, role).contains(&owner)
}

/// The privileges (bits of [`privilege`]) that `role` has on an object.
pub fn privileges(catalog: &Catalog, role: Oid, object: AclObject, owner: Oid, acl: Option<&Vec<AclItem>>) -> u32 {
    if is_superuser(catalog, role) {
        return object.all();
    }
    let roles = inherited_roles(catalog, role);
    let default;
    let items = match acl {
        Some(items) => items,
        None => {
            default = default_acl(object, owner);
            &default
        }
    };
    items.iter().filter(|i| i.grantee == PUBLIC_ROLE || roles.contains(&i.grantee)).fold(0, |all, i| all | i.privileges)
}

/// The system catalogs that not everybody may read.
const READ_BY_SUPERUSERS: [&str; 18] = [
    "_pg_foreign_data_wrappers",
    "_pg_foreign_servers",
    "_pg_foreign_table_columns",
    "_pg_foreign_tables",
    "_pg_user_mappings",
    "pg_authid",
    "pg_config",
    "pg_file_settings",
    "pg_hba_file_rules",
    "pg_ident_file_mappings",
    "pg_largeobject",
    "pg_replication_origin_status",
    "pg_shadow",
    "pg_statistic",
    "pg_statistic_ext_data",
    "pg_user_mapping",
    "sql_parts",
    "transforms",
];

/// Those that who has `pg_read_all_stats` may read, too.
const READ_FOR_STATISTICS: [&str; 2] = ["pg_backend_memory_contexts", "pg_shmem_allocations"];

/// The privileges of `role` on a relation, those of the predefined roles included.
pub fn relation_privileges(catalog: &Catalog, role: Oid, relation: &Relation) -> u32 {
    let object = AclObject::of_relation(relation);
    if relation.oid < pgsqlite_types::oid::FIRST_USER_OID {
        // the catalogs: everybody reads them, except for what holds passwords
        let name = relation.name.as_str();
        let readable = !READ_BY_SUPERUSERS.contains(&name)
            && (!READ_FOR_STATISTICS.contains(&name) || has_privileges_of(catalog, role, "pg_read_all_stats"));
        return if readable || is_superuser(catalog, role) { privilege::SELECT } else { 0 };
    }
    let mut has = privileges(catalog, role, object, relation.owner, relation.acl.as_ref());
    if has_privileges_of(catalog, role, "pg_read_all_data") {
        has |= privilege::SELECT;
    }
    if has_privileges_of(catalog, role, "pg_write_all_data") {
        has |= privilege::INSERT | privilege::UPDATE | privilege::DELETE;
    }
    if has_privileges_of(catalog, role, "pg_maintain") {
        has |= privilege::MAINTAIN;
    }
    has
}

/// Whether a role may VACUUM, ANALYZE, REINDEX, REFRESH and the like. (Owners may: their lists in files of earlier releases know nothing of
/// the privilege.)
pub fn may_maintain(catalog: &Catalog, role: Oid, relation: &Relation) -> bool {
    owns(catalog, role, relation.owner) || relation_privileges(catalog, role, relation) & privilege::MAINTAIN != 0
}

/// Whether a role has what a predefined role (by name) gives: it is that role, or inherits from it.
pub fn has_privileges_of(catalog: &Catalog, role: Oid, predefined: &str) -> bool {
    let is_predefined = |r: &Oid| *r < pgsqlite_types::oid::FIRST_USER_OID && catalog.role_name(*r) == Some(predefined);
    inherited_roles(catalog, role).iter().any(is_predefined)
}

/// The privileges of `role` on a schema.
pub fn schema_privileges(catalog: &Catalog, role: Oid, schema: Oid) -> u32 {
    use crate::catalog::PG_TEMP;
    if schema == PG_TEMP {
        return AclObject::Schema.all();
    }
    let Some(s) = catalog.schemas.get(&schema) else { return 0 };
    let mut has = privileges(catalog, role, AclObject::Schema, s.owner, s.acl.as_ref());
    if ["pg_read_all_data", "pg_write_all_data"].iter().any(|name| has_privileges_of(catalog, role, name)) {
        has |= privilege::USAGE;
    }
    has
}

/// 42501 for a schema that a role may not look into: not even whether something is in it is told. A schema that does not exist is not
/// this function's matter.
pub fn check_schema_usage(catalog: &Catalog, role: Oid, schema: &str) -> Result<()> {
    match catalog.schema_oid(schema).filter(|oid| catalog.schemas.contains_key(oid)) {
        Some(oid) if schema_privileges(catalog, role, oid) & privilege::USAGE == 0 && !is_superuser(catalog, role) => {
            let message = format!("permission denied for schema {schema}");
            Err(PgError::new(SqlState::INSUFFICIENT_PRIVILEGE, message))
        }
        _ => Ok(()),
    }
}

/// A query of a foreign key, which the owner of the table that is queried runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyQuery {
    /// SELECT … FOR KEY SHARE
    Look,
    Delete,
    /// UPDATE of the key's columns
    Update,
}

/// Errors: 42501 if the owner of a table may not look into its schema, or lacks a privilege on the table that the query needs, or on `columns`,
/// those of the key.
pub fn check_key_query(catalog: &Catalog, table: &Relation, query: KeyQuery, columns: &[i16]) -> Result<()> {
    use privilege::{DELETE, SELECT, UPDATE};
    if is_superuser(catalog, table.owner) {
        return Ok(());
    }
    check_schema_usage(catalog, table.owner, catalog.schema_name(table.schema))?;
    let has = |needed: u32, column: &Column| column_privileges(catalog, table.owner, table, column) & needed != 0;
    let of_key = |needed: u32| columns.iter().filter_map(|a| table.column_by_attnum(*a)).all(|c| has(needed, c));
    let may = match query {
        KeyQuery::Look => of_key(SELECT) && table.live_columns().any(|c| has(UPDATE, c)),
        KeyQuery::Delete => of_key(SELECT) && relation_privileges(catalog, table.owner, table) & DELETE != 0,
        KeyQuery::Update => of_key(SELECT) && of_key(UPDATE),
    };
    if !may {
        let message = format!("permission denied for table {}", table.name);
        return Err(PgError::new(SqlState::INSUFFICIENT_PRIVILEGE, message));
    }
    Ok(())
}

/// Whether the policies of a table with row-level security apply to `role`.
pub fn policies_apply(catalog: &Catalog, role: Oid, relation: &Relation) -> bool {
    if !relation.security.enabled || catalog.roles.is_empty() {
        return false;
    }
    let bypasses = is_superuser(catalog, role) || catalog.roles.get(&role).is_some_and(|r| r.bypass_rls);
    !bypasses && (relation.security.forced || !owns(catalog, role, relation.owner))
}

/// The privileges that can be granted on a column.
pub const OF_COLUMNS: u32 = privilege::SELECT | privilege::INSERT | privilege::UPDATE | privilege::REFERENCES;

/// Whether an error may tell a role the values of these columns of a table (none named: of all of them). Where policies hide rows, values are
/// not told to those to whom they apply.
pub fn may_see(catalog: &Catalog, role: Oid, relation: &Relation, columns: &[i16]) -> bool {
    if policies_apply(catalog, role, relation) {
        return false;
    }
    if is_superuser(catalog, role) || relation_privileges(catalog, role, relation) & privilege::SELECT != 0 {
        return true;
    }
    let readable = |attnum: &i16| {
        let column = relation.column_by_attnum(*attnum);
        column.is_some_and(|c| column_privileges(catalog, role, relation, c) & privilege::SELECT != 0)
    };
    !columns.is_empty() && columns.iter().all(readable)
}

/// The privileges of `role` on a column: the relation's and its own.
pub fn column_privileges(catalog: &Catalog, role: Oid, relation: &Relation, column: &Column) -> u32 {
    let all = relation_privileges(catalog, role, relation);
    let Some(items) = &column.acl else { return all };
    let roles = inherited_roles(catalog, role);
    let mine = items.iter().filter(|i| i.grantee == PUBLIC_ROLE || roles.contains(&i.grantee));
    mine.fold(all, |all, i| all | i.privileges)
}
