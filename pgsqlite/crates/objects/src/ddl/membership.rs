//! Membership in roles.

use super::{Ddl, NodeEnum};
use pgsqlite_metadata::store::base::DATABASE_OWNER_ROLE;
use pgsqlite_sql::acl;
use pgsqlite_sql::catalog::*;
use pgsqlite_sql::parse::ast;
use pgsqlite_types::error::Severity;
use pgsqlite_types::{work, Oid, PgError, Result, SqlState};

impl Ddl<'_> {
    pub(super) fn grant_role(&mut self, statement: &ast::GrantRoleStmt) -> Result<String> {
        let tag = if statement.is_grant { "GRANT ROLE" } else { "REVOKE ROLE" };
        let mut admin = false;
        let mut inherit = None;
        for option in super::def_elem::def_elems(&statement.opt) {
            work::visit();
            match option.defname.as_str() {
                // (of REVOKE: ADMIN OPTION FOR)
                "admin" => admin = !statement.is_grant || super::def_elem::boolean(option)?,
                // (of PostgreSQL 16: what says the same as without it)
                "inherit" if statement.is_grant => inherit = Some(super::def_elem::boolean(option)?),
                "set" if statement.is_grant && super::def_elem::boolean(option)? => {}
                name @ ("inherit" | "set") => {
                    let what = if statement.is_grant {
                        "GRANT … WITH SET FALSE".into()
                    } else {
                        format!("REVOKE {name} OPTION")
                    };
                    return Err(PgError::not_supported(what).at(option.location));
                }
                other => {
                    let message = format!("unrecognized role option \"{other}\"");
                    return Err(PgError::new(SqlState::SYNTAX_ERROR, message).at(option.location));
                }
            }
        }
        let mut members = Vec::new();
        for node in &statement.grantee_roles {
            work::visit();
            let Some(NodeEnum::RoleSpec(spec)) = &node.node else {
                return Err(PgError::internal("a member that is no role"));
            };
            let member = self.role(spec)?;
            if inherit.is_some_and(|inherit| inherit != member.inherit) {
                let what = "GRANT … WITH INHERIT otherwise than the member inherits";
                return Err(PgError::not_supported(what));
            }
            members.push(member.oid);
        }
        for node in &statement.granted_roles {
            work::visit();
            let Some(NodeEnum::AccessPriv(access)) = &node.node else {
                return Err(PgError::internal("a role that is no AccessPriv"));
            };
            let granted = self.role_named(&access.priv_name)?;
            for &member in &members {
                work::visit();
                self.change_membership(granted.oid, member, statement.is_grant, admin)?;
            }
        }
        Ok(tag.into())
    }

    pub(super) fn role_named(&self, name: &str) -> Result<std::sync::Arc<Role>> {
        self.catalog
            .role_named(name)
            .cloned()
            .ok_or_else(|| PgError::new(SqlState::UNDEFINED_OBJECT, format!("role \"{name}\" does not exist")))
    }

    /// Makes `member` a member of `granted`, or ends that (with `admin`: only the admin option).
    pub(super) fn change_membership(&mut self, granted: Oid, member: Oid, grant: bool, admin: bool) -> Result<()> {
        let name = |oid: Oid| self.catalog.role_name(oid).unwrap_or_default().to_string();
        let (granted_name, member_name) = (name(granted), name(member));
        let user = self.environment.user;
        let role = &self.catalog.roles[&granted];
        let is_admin = acl::is_admin_of(&self.catalog, user, granted);
        let may = self.is_superuser()
            || !role.superuser && (is_admin || self.catalog.roles.get(&user).is_some_and(|r| r.create_role));
        if !may {
            let message = if role.superuser {
                "must be superuser to alter superusers".to_string()
            } else {
                format!("must have admin option on role \"{granted_name}\"")
            };
            return Err(PgError::new(SqlState::INSUFFICIENT_PRIVILEGE, message));
        }
        let mut changed = (*self.catalog.roles[&member]).clone();
        let at = changed.memberships.iter().position(|m| m.role == granted);
        if grant {
            if granted == DATABASE_OWNER_ROLE {
                let message = format!("role \"{granted_name}\" cannot have explicit members");
                return Err(PgError::new(SqlState::FEATURE_NOT_SUPPORTED, message));
            }
            if member == DATABASE_OWNER_ROLE {
                let message = format!("role \"{member_name}\" cannot be a member of any role");
                return Err(PgError::new(SqlState::FEATURE_NOT_SUPPORTED, message));
            }
            if acl::member_of(&self.catalog, granted, member) {
                let message = format!("role \"{member_name}\" is a member of role \"{granted_name}\"");
                let message = if granted == member {
                    message
                } else {
                    format!("role \"{granted_name}\" is a member of role \"{member_name}\"")
                };
                return Err(PgError::new(SqlState::INVALID_GRANT_OPERATION, message));
            }
            match at {
                Some(i) if changed.memberships[i].admin || !admin => {
                    let message = format!("role \"{member_name}\" is already a member of role \"{granted_name}\"");
                    self.notice(SqlState::SUCCESSFUL_COMPLETION, message);
                    return Ok(());
                }
                Some(i) => changed.memberships[i] = Membership { role: granted, grantor: user, admin: true },
                None => changed.memberships.push(Membership { role: granted, grantor: user, admin }),
            }
        } else {
            match at {
                None => {
                    let message = format!("role \"{member_name}\" is not a member of role \"{granted_name}\"");
                    self.notices.push(PgError::new(SqlState::WARNING, message).severity(Severity::Warning));
                    return Ok(());
                }
                Some(i) if admin => changed.memberships[i].admin = false,
                Some(i) => {
                    changed.memberships.remove(i);
                }
            }
        }
        self.put_role(changed)
    }

    /// The roles whose objects a statement is about. Errors: 42501, `permission denied to …`, for one whose rights the session does not have.
    pub(super) fn role_list(&self, nodes: &[ast::Node], act: &str) -> Result<Vec<Oid>> {
        let mut out = Vec::new();
        for node in nodes {
            work::visit();
            let Some(NodeEnum::RoleSpec(spec)) = &node.node else {
                return Err(PgError::internal("a role that is no RoleSpec"));
            };
            let role = self.role(spec)?.oid;
            let what = if act == "drop" { "drop objects" } else { "reassign objects" };
            self.check_acts_as(role, act, &format!("{what} owned by it"))?;
            out.push(role);
        }
        Ok(out)
    }

    /// 42501 unless the session has the rights of a role; `may`: what only roles with them may do.
    pub(super) fn check_acts_as(&self, role: Oid, act: &str, may: &str) -> Result<()> {
        if acl::owns(&self.catalog, self.environment.user, role) {
            return Ok(());
        }
        let name = self.catalog.role_name(role).unwrap_or_default();
        Err(PgError::new(SqlState::INSUFFICIENT_PRIVILEGE, format!("permission denied to {act} objects"))
            .detail(format!("Only roles with privileges of role \"{name}\" may {may}.")))
    }
}
