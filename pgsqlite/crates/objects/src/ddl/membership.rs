//! Membership in roles.

use super::role::{denied, superusers_alone};
use super::{Ddl, NodeEnum};
use pgsqlite_metadata::store::base::DATABASE_OWNER_ROLE;
use pgsqlite_sql::acl;
use pgsqlite_sql::catalog::*;
use pgsqlite_sql::parse::ast;
use pgsqlite_types::error::Severity;
use pgsqlite_types::{work, Oid, PgError, Result, SqlState};

/// WITH ADMIN, INHERIT and SET of GRANT; None: not said. In REVOKE: which of them go.
#[derive(Clone, Copy, Default)]
pub(super) struct GrantOptions {
    pub admin: Option<bool>,
    pub inherit: Option<bool>,
    pub set: Option<bool>,
}

impl GrantOptions {
    fn apply(self, membership: &mut Membership) {
        membership.admin = self.admin.unwrap_or(membership.admin);
        membership.inherit = self.inherit.or(membership.inherit);
        membership.set = self.set.unwrap_or(membership.set);
    }
}

/// What REVOKE does to a membership.
#[derive(Clone, Copy, PartialEq)]
enum Fate {
    Stays,
    Ends,
    LosesAdmin,
    LosesInherit,
    LosesSet,
}

/// Ends a membership, or its admin option alone, with those that its member has granted by it. Errors: 2BP01 where there are such without CASCADE.
fn plan_end(grants: &[(Oid, Membership)], fates: &mut [Fate], at: usize, admin: bool, cascade: bool) -> Result<()> {
    work::visit();
    if fates[at] == Fate::Ends || admin && fates[at] == Fate::LosesAdmin {
        return Ok(());
    }
    let (member, grant) = &grants[at];
    if !admin {
        fates[at] = Fate::Ends;
    } else if grant.admin {
        fates[at] = Fate::LosesAdmin;
    }
    let keeps_option = |i: usize| grants[i].0 == *member && grants[i].1.admin && fates[i] == Fate::Stays;
    if !grant.admin || (0..grants.len()).any(keeps_option) {
        return Ok(());
    }
    for i in 0..grants.len() {
        work::visit();
        if grants[i].1.grantor != *member || fates[i] == Fate::Ends {
            continue;
        }
        if !cascade {
            return Err(PgError::new(SqlState::DEPENDENT_OBJECTS_STILL_EXIST, "dependent privileges exist")
                .hint("Use CASCADE to revoke them too."));
        }
        plan_end(grants, fates, i, false, cascade)?;
    }
    Ok(())
}

impl Ddl<'_> {
    pub(super) fn grant_role(&mut self, statement: &ast::GrantRoleStmt) -> Result<String> {
        let tag = if statement.is_grant { "GRANT ROLE" } else { "REVOKE ROLE" };
        let mut options = GrantOptions::default();
        for option in super::def_elem::def_elems(&statement.opt) {
            work::visit();
            let which = match option.defname.as_str() {
                "admin" => &mut options.admin,
                "inherit" => &mut options.inherit,
                "set" => &mut options.set,
                other => {
                    let message = format!("unrecognized role option \"{other}\"");
                    return Err(PgError::new(SqlState::SYNTAX_ERROR, message).at(option.location));
                }
            };
            // (of REVOKE: OPTION FOR)
            *which = Some(statement.is_grant && super::def_elem::boolean(option)?);
        }
        let grantor = statement.grantor.as_ref().map(|spec| self.role(spec)).transpose()?.map(|role| role.oid);
        let mut members = Vec::new();
        for node in &statement.grantee_roles {
            work::visit();
            let Some(NodeEnum::RoleSpec(spec)) = &node.node else {
                return Err(PgError::internal("a member that is no role"));
            };
            members.push(self.role(spec)?.oid);
        }
        let user = self.environment.user;
        let cascade = statement.behavior() == ast::DropBehavior::DropCascade;
        for node in &statement.granted_roles {
            work::visit();
            let Some(NodeEnum::AccessPriv(access)) = &node.node else {
                return Err(PgError::internal("a role that is no AccessPriv"));
            };
            let granted = self.role_named(&access.priv_name)?.oid;
            self.check_may_grant(granted, statement.is_grant)?;
            match statement.is_grant {
                true => self.add_members(user, granted, &members, grantor, options)?,
                false => self.remove_members(user, granted, &members, grantor, options, cascade)?,
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

    fn name_of(&self, role: Oid) -> String {
        self.catalog.role_name(role).unwrap_or_default().to_string()
    }

    /// Refuses to change who is a member of a role. Errors: 42501, 0A000.
    pub(super) fn check_may_grant(&self, granted: Oid, grant: bool) -> Result<()> {
        let name = self.name_of(granted);
        if grant && granted == DATABASE_OWNER_ROLE {
            let message = format!("role \"{name}\" cannot have explicit members");
            return Err(PgError::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        let act = if grant { "grant" } else { "revoke" };
        let detail = if acl::is_superuser(&self.catalog, granted) {
            if self.is_superuser() {
                return Ok(());
            }
            superusers_alone(act)
        } else {
            if acl::is_admin_of(&self.catalog, self.environment.user, granted) {
                return Ok(());
            }
            format!("Only roles with the ADMIN option on role \"{name}\" may {act} this role.")
        };
        Err(denied(&format!("{act} role \"{name}\""), detail))
    }

    /// Who is noted as the one that grants. Errors: 42501.
    fn grantor(&self, user: Oid, granted: Oid, named: Option<Oid>, grant: bool) -> Result<Oid> {
        let Some(grantor) = named else {
            if acl::is_superuser(&self.catalog, user) {
                return Ok(BOOTSTRAP_ROLE);
            }
            return acl::best_admin(&self.catalog, user, granted)
                .ok_or_else(|| PgError::new(SqlState::INSUFFICIENT_PRIVILEGE, "no possible grantors"));
        };
        let name = self.name_of(grantor);
        let has_rights = acl::owns(&self.catalog, user, grantor);
        if !grant {
            let detail =
                format!("Only roles with privileges of role \"{name}\" may revoke privileges granted by this role.");
            let act = format!("revoke privileges granted by role \"{name}\"");
            return if has_rights { Ok(grantor) } else { Err(denied(&act, detail)) };
        }
        let act = format!("grant privileges as role \"{name}\"");
        if !has_rights {
            let detail = format!("Only roles with privileges of role \"{name}\" may grant privileges as this role.");
            return Err(denied(&act, detail));
        }
        if grantor != BOOTSTRAP_ROLE && acl::best_admin(&self.catalog, grantor, granted) != Some(grantor) {
            let detail = format!("The grantor must have the ADMIN option on role \"{}\".", self.name_of(granted));
            return Err(denied(&act, detail));
        }
        Ok(grantor)
    }

    /// Who is a member of a role, and how: (member, membership), in the order of `pg_auth_members`' index.
    fn grants_of(&self, granted: Oid) -> Vec<(Oid, Membership)> {
        let roles = self.catalog.roles.values();
        let of_role = |r: &std::sync::Arc<Role>| {
            let oid = r.oid;
            r.memberships.iter().filter(|m| m.role == granted).map(|m| (oid, m.clone())).collect::<Vec<_>>()
        };
        let mut grants: Vec<(Oid, Membership)> = roles.flat_map(of_role).collect();
        grants.sort_by_key(|(member, m)| (*member, m.grantor));
        grants
    }

    /// Changes or ends memberships: `change` says what each becomes.
    pub(super) fn change_memberships(&mut self, change: impl Fn(Oid, &Membership) -> Option<Membership>) -> Result<()> {
        for role in self.catalog.roles.values().cloned().collect::<Vec<_>>() {
            work::visit();
            let memberships: Vec<Membership> = role.memberships.iter().filter_map(|m| change(role.oid, m)).collect();
            if memberships != role.memberships {
                self.put_role(Role { memberships, ..(*role).clone() })?;
            }
        }
        Ok(())
    }

    /// Makes roles members of `granted`. Errors: 42501, 0LP01, 0A000.
    pub(super) fn add_members(
        &mut self,
        user: Oid,
        granted: Oid,
        members: &[Oid],
        grantor: Option<Oid>,
        options: GrantOptions,
    ) -> Result<()> {
        if members.is_empty() {
            return Ok(());
        }
        let grantor = self.grantor(user, granted, grantor, true)?;
        let granted_name = self.name_of(granted);
        for &member in members {
            work::visit();
            let member_name = self.name_of(member);
            if member == DATABASE_OWNER_ROLE {
                let message = format!("role \"{member_name}\" cannot be a member of any role");
                return Err(PgError::new(SqlState::FEATURE_NOT_SUPPORTED, message));
            }
            if acl::member_of(&self.catalog, granted, member) {
                let message = format!("role \"{granted_name}\" is a member of role \"{member_name}\"");
                return Err(PgError::new(SqlState::INVALID_GRANT_OPERATION, message));
            }
        }
        if options.admin == Some(true) && grantor != BOOTSTRAP_ROLE {
            self.check_no_circle(granted, members, grantor)?;
        }
        for &member in members {
            work::visit();
            let mut role = (*self.catalog.roles[&member]).clone();
            let inherit = role.inherit;
            let same = |m: &&mut Membership| m.role == granted && m.grantor == grantor;
            match role.memberships.iter_mut().find(same) {
                Some(found) => {
                    let before = found.clone();
                    found.inherit.get_or_insert(inherit);
                    options.apply(found);
                    if *found == before {
                        let message = format!(
                            "role \"{}\" has already been granted membership in role \"{granted_name}\" by role \"{}\"",
                            role.name,
                            self.name_of(grantor)
                        );
                        self.notice(SqlState::SUCCESSFUL_COMPLETION, message);
                        continue;
                    }
                }
                None => {
                    let mut made =
                        Membership { role: granted, grantor, admin: false, inherit: Some(inherit), set: true };
                    options.apply(&mut made);
                    role.memberships.push(made);
                }
            }
            self.put_role(role)?;
        }
        Ok(())
    }

    /// Refuses to give the admin option to the one that one's own comes from. Errors: 0LP01.
    fn check_no_circle(&self, granted: Oid, members: &[Oid], grantor: Oid) -> Result<()> {
        let circle = || {
            let message = "ADMIN option cannot be granted back to your own grantor";
            PgError::new(SqlState::INVALID_GRANT_OPERATION, message)
        };
        if members.contains(&BOOTSTRAP_ROLE) {
            return Err(circle());
        }
        let grants = self.grants_of(granted);
        let mut fates = vec![Fate::Stays; grants.len()];
        for at in (0..grants.len()).filter(|at| members.contains(&grants[*at].0)) {
            work::visit();
            plan_end(&grants, &mut fates, at, false, true)?;
        }
        let keeps =
            |(at, (member, m)): (usize, &(Oid, Membership))| fates[at] == Fate::Stays && *member == grantor && m.admin;
        match grants.iter().enumerate().any(keeps) {
            true => Ok(()),
            false => Err(circle()),
        }
    }

    /// Ends memberships of `granted`, or with options only these of them. Errors: 42501, 2BP01.
    pub(super) fn remove_members(
        &mut self,
        user: Oid,
        granted: Oid,
        members: &[Oid],
        grantor: Option<Oid>,
        options: GrantOptions,
        cascade: bool,
    ) -> Result<()> {
        let grantor = self.grantor(user, granted, grantor, false)?;
        let grants = self.grants_of(granted);
        let mut fates = vec![Fate::Stays; grants.len()];
        for &member in members {
            work::visit();
            let Some(at) = grants.iter().position(|(m, grant)| *m == member && grant.grantor == grantor) else {
                let message = format!(
                    "role \"{}\" has not been granted membership in role \"{}\" by role \"{}\"",
                    self.name_of(member),
                    self.name_of(granted),
                    self.name_of(grantor)
                );
                self.notices.push(PgError::new(SqlState::WARNING, message).severity(Severity::Warning));
                continue;
            };
            match (options.inherit, options.set) {
                (Some(_), _) => fates[at] = Fate::LosesInherit,
                (_, Some(_)) => fates[at] = Fate::LosesSet,
                _ => plan_end(&grants, &mut fates, at, options.admin.is_some(), cascade)?,
            }
        }
        self.change_memberships(|member, m| {
            let fate = grants.iter().position(|(of, grant)| *of == member && grant == m).map(|at| fates[at]);
            let mut changed = m.clone();
            match fate.unwrap_or(Fate::Stays) {
                Fate::Stays => {}
                Fate::Ends => return None,
                Fate::LosesAdmin => changed.admin = false,
                Fate::LosesInherit => changed.inherit = Some(false),
                Fate::LosesSet => changed.set = false,
            }
            Some(changed)
        })
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
