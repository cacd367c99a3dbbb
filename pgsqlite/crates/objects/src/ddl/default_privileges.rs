//! ALTER DEFAULT PRIVILEGES, and what objects get of it when they are made.
//!
//! An entry without a schema starts from PostgreSQL's built-in privileges and stands in their place; one of a schema adds to it.

use super::acl_change::{AclChange, Mode};
use super::grant::privilege_bits;
use super::{strings, Ddl, NodeEnum};
use pgsqlite_sql::acl::{self, AclItem, AclObject, PUBLIC_ROLE};
use pgsqlite_sql::catalog::*;
use pgsqlite_sql::parse::ast;
use pgsqlite_types::work;
use pgsqlite_types::{Oid, PgError, Result, SqlState};

/// The letter of `defaclobjtype`; '\0': there are no default privileges for such objects.
fn letter(object: AclObject) -> char {
    match object {
        AclObject::Table => 'r',
        AclObject::Sequence => 'S',
        AclObject::Function => 'f',
        AclObject::Type => 'T',
        AclObject::Schema => 'n',
        _ => '\0',
    }
}

/// The kind of objects that an entry is for.
pub(crate) fn object_of(letter: char) -> Option<AclObject> {
    [AclObject::Table, AclObject::Sequence, AclObject::Function, AclObject::Type, AclObject::Schema]
        .into_iter()
        .find(|o| self::letter(*o) == letter)
}

fn sorted(mut items: Vec<AclItem>) -> Vec<AclItem> {
    items.sort_by_key(|i| (i.grantee, i.grantor));
    items
}

impl Ddl<'_> {
    fn default_entry(&self, role: Oid, schema: Oid, object: AclObject) -> Option<&DefaultAcl> {
        self.catalog
            .properties
            .default_acls
            .iter()
            .find(|d| d.role == role && d.schema == schema && d.object == letter(object))
    }

    /// The privileges of a new object of the session's role; None: the built-in ones.
    pub(super) fn default_acl(&self, object: AclObject, schema: Oid) -> Option<Vec<AclItem>> {
        let owner = self.environment.user;
        let everywhere = self.default_entry(owner, 0, object);
        let here = if schema == 0 { None } else { self.default_entry(owner, schema, object) };
        if everywhere.is_none() && here.is_none() {
            return None;
        }
        let built_in = acl::default_acl(object, owner);
        let mut items = everywhere.map_or(built_in.clone(), |d| d.acl.clone());
        for item in here.iter().flat_map(|d| &d.acl) {
            work::visit();
            let place = items.iter().position(|i| i.grantee == item.grantee && i.grantor == item.grantor);
            match place.and_then(|at| items.get_mut(at)) {
                Some(same) => {
                    same.privileges |= item.privileges;
                    same.grant_options |= item.grant_options;
                }
                None => items.push(item.clone()),
            }
        }
        let items = sorted(items);
        // (where nobody is left PostgreSQL, too, comes back to the built-in ones)
        (!items.is_empty() && items != sorted(built_in)).then_some(items)
    }

    pub(super) fn alter_default_privileges(&mut self, s: &ast::AlterDefaultPrivilegesStmt) -> Result<String> {
        use ast::ObjectType as T;
        let action =
            s.action.as_ref().ok_or_else(|| PgError::internal("ALTER DEFAULT PRIVILEGES without an action"))?;
        let (mut roles, mut schemas) = (Vec::new(), Vec::new());
        let (mut role_specs, mut schema_names) = (Vec::new(), Vec::new());
        for option in super::def_elem::def_elems(&s.options) {
            work::visit();
            let Some(NodeEnum::List(list)) = option.arg.as_ref().and_then(|a| a.node.as_ref()) else { continue };
            match option.defname.as_str() {
                "roles" => role_specs.extend(list.items.iter()),
                "schemas" => schema_names.extend(strings(&list.items)),
                other => return Err(PgError::internal(format!("the option {other} of ALTER DEFAULT PRIVILEGES"))),
            }
        }
        let mut grantees = Vec::new();
        for node in &action.grantees {
            work::visit();
            let Some(NodeEnum::RoleSpec(spec)) = &node.node else {
                return Err(PgError::internal("a grantee that is no role"));
            };
            let public = spec.roletype() == ast::RoleSpecType::RolespecPublic;
            grantees.push(if public { PUBLIC_ROLE } else { self.role(spec)?.oid });
        }
        let object = match action.objtype() {
            T::ObjectTable => AclObject::Table,
            T::ObjectSequence => AclObject::Sequence,
            T::ObjectFunction | T::ObjectProcedure | T::ObjectRoutine => AclObject::Function,
            T::ObjectType => AclObject::Type,
            T::ObjectSchema => AclObject::Schema,
            other => return Err(PgError::internal(format!("default privileges of {other:?}"))),
        };
        let mut words = Vec::new();
        for node in &action.privileges {
            work::visit();
            let Some(NodeEnum::AccessPriv(access)) = &node.node else {
                return Err(PgError::internal("a privilege that is no AccessPriv"));
            };
            if !access.cols.is_empty() {
                return Err(PgError::new(
                    SqlState::INVALID_GRANT_OPERATION,
                    "default privileges cannot be set for columns",
                ));
            }
            words.push(access.priv_name.clone());
        }
        let bits = privilege_bits(&words, object).map_err(|mut e| {
            if let Some(start) = e.message().strip_suffix(" for table") {
                e.fields_mut().message = format!("{start} for relation");
            }
            e
        })?;
        for node in role_specs {
            work::visit();
            let Some(NodeEnum::RoleSpec(spec)) = &node.node else { return Err(PgError::internal("no role")) };
            roles.push(self.role(spec)?.oid);
        }
        if roles.is_empty() {
            roles.push(self.environment.user);
        }
        for role in &roles {
            work::visit();
            if !pgsqlite_sql::acl::owns(&self.catalog, self.environment.user, *role) {
                let message = "permission denied to change default privileges";
                return Err(PgError::new(SqlState::INSUFFICIENT_PRIVILEGE, message));
            }
        }
        if object == AclObject::Schema && !schema_names.is_empty() {
            return Err(PgError::new(
                SqlState::INVALID_GRANT_OPERATION,
                "cannot use IN SCHEMA clause when using GRANT/REVOKE ON SCHEMAS",
            ));
        }
        for name in schema_names {
            work::visit();
            schemas.push(self.catalog.schema_oid(name).ok_or_else(|| {
                PgError::new(SqlState::UNDEFINED_SCHEMA, format!("schema \"{name}\" does not exist"))
            })?);
        }
        if schemas.is_empty() {
            schemas.push(0);
        }
        for &role in &roles {
            work::visit();
            for &schema in &schemas {
                work::visit();
                let start = if schema == 0 { acl::default_acl(object, role) } else { vec![] };
                let entry = self.default_entry(role, schema, object).cloned();
                let mut items = entry.as_ref().map_or(start.clone(), |d| d.acl.clone());
                for &grantee in &grantees {
                    work::visit();
                    let (grant, option) = (action.is_grant, action.grant_option);
                    if grant && option && grantee == PUBLIC_ROLE {
                        let message = "grant options can only be granted to roles";
                        return Err(PgError::new(SqlState::INVALID_GRANT_OPERATION, message));
                    }
                    let privileges = if grant || !option { bits } else { 0 };
                    let grant_options = if !grant || option { bits } else { 0 };
                    let cascade = action.behavior() == ast::DropBehavior::DropCascade;
                    let mode = if grant { Mode::Add } else { Mode::Remove { cascade } };
                    let change = AclItem { grantee, grantor: role, privileges, grant_options };
                    AclChange { catalog: &self.catalog, owner: role }.update(&mut items, &change, mode)?;
                }
                let items = sorted(items);
                let mut properties = self.catalog.properties.clone();
                let same = |d: &DefaultAcl| d.role == role && d.schema == schema && d.object == letter(object);
                properties.default_acls.retain(|d| !same(d));
                if items != sorted(start) {
                    let oid = match &entry {
                        Some(entry) => entry.oid,
                        None => self.new_oid(false)?,
                    };
                    properties.default_acls.push(DefaultAcl { oid, role, schema, object: letter(object), acl: items });
                    properties.default_acls.sort_by_key(|d| d.oid);
                }
                self.put_properties(properties)?;
            }
        }
        Ok("ALTER DEFAULT PRIVILEGES".into())
    }

    /// Forgets the entries of roles that own nothing any more, and what entries grant to them.
    pub(super) fn drop_default_privileges(&mut self, roles: &[Oid]) -> Result<()> {
        let mut properties = self.catalog.properties.clone();
        properties.default_acls.retain(|d| !roles.contains(&d.role));
        for entry in &mut properties.default_acls {
            work::visit();
            entry.acl.retain(|i| !roles.contains(&i.grantee));
        }
        properties.default_acls.retain(|d| {
            let start = match object_of(d.object) {
                Some(object) if d.schema == 0 => acl::default_acl(object, d.role),
                _ => vec![],
            };
            sorted(d.acl.clone()) != sorted(start)
        });
        if properties != self.catalog.properties {
            self.put_properties(properties)?;
        }
        Ok(())
    }

    /// What entries have to do with a role: lines for the detail of DROP ROLE's refusal.
    pub(super) fn default_privileges_of(&self, role: Oid) -> Vec<(Oid, String)> {
        let mut out = Vec::new();
        for entry in &self.catalog.properties.default_acls {
            work::visit();
            let what = match entry.object {
                'r' => "relations",
                'S' => "sequences",
                'f' => "functions",
                'T' => "types",
                _ => "schemas",
            };
            let of = self.catalog.role_name(entry.role).unwrap_or_default();
            let mut described = format!("default privileges on new {what} belonging to role {of}");
            if entry.schema != 0 {
                described.push_str(&format!(" in schema {}", self.catalog.schema_name(entry.schema)));
            }
            if entry.role == role {
                out.push((entry.oid, format!("owner of {described}")));
            } else if entry.acl.iter().any(|i| i.grantee == role) {
                out.push((entry.oid, format!("privileges for {described}")));
            }
        }
        out
    }
}
