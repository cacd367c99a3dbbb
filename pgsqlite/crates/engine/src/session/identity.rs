//! Who the session is: the user it authenticated as, and the role whose privileges count (SET ROLE, SET SESSION AUTHORIZATION).
//!
//! A name that `trust` lets in without being a role of the file is the file's owner under that name: it has all rights, and
//! becomes a superuser role when it first makes an object (so that the object's owner can be told).

use super::Session;
use pgsqlite_sql::acl;
use pgsqlite_sql::catalog::{Catalog, BOOTSTRAP_ROLE};
use pgsqlite_types::{Oid, PgError, Result, SqlState};

/// No role has this OID: what is left of a role that was dropped under its session.
const NOBODY: Oid = Oid::MAX;

/// ((version of the settings, epoch of the catalog), role, it is a superuser)
pub(super) type Known = ((u64, u64), Oid, bool);

impl Session {
    /// `session_user`
    pub(super) fn session_user(&self) -> String {
        self.gucs.get("session_authorization").unwrap_or_else(|| self.options.user.clone())
    }

    /// `current_user`
    pub(super) fn current_user(&self) -> String {
        match self.gucs.get("role") {
            Some(role) if role != "none" => role,
            _ => self.session_user(),
        }
    }

    fn role_oid(&self, catalog: &Catalog, name: &str) -> Oid {
        match catalog.role_named(name) {
            Some(role) => role.oid,
            None if name == self.options.user && !self.is_role => BOOTSTRAP_ROLE,
            None => NOBODY,
        }
    }

    /// The role whose privileges count, and whether it is a superuser. Kept until the settings or the catalog change.
    fn identity(&self, catalog: &Catalog) -> (Oid, bool) {
        let state = (self.gucs.version(), catalog.epoch);
        let mut known = self.identity.lock();
        match *known {
            Some((of, role, superuser)) if of == state => (role, superuser),
            _ => {
                let role = self.role_oid(catalog, &self.current_user());
                let superuser = acl::is_superuser(catalog, role);
                *known = Some((state, role, superuser));
                (role, superuser)
            }
        }
    }

    /// The role whose privileges count.
    pub(super) fn user_oid(&self, catalog: &Catalog) -> Oid {
        self.identity(catalog).0
    }

    pub(super) fn is_superuser(&self, catalog: &Catalog) -> bool {
        self.identity(catalog).1
    }

    /// What plans are told apart by: the role, 0 for all superusers, to whom everything is permitted.
    pub(super) fn plan_role(&self, catalog: &Catalog) -> Oid {
        match self.identity(catalog) {
            (_, true) => 0,
            (role, false) => role,
        }
    }

    /// The name under which the first object makes a role; None: the user is one already.
    pub(super) fn user_without_role(&self, catalog: &Catalog) -> Option<String> {
        let name = self.current_user();
        (!self.is_role && name == self.options.user && catalog.role_named(&name).is_none()).then_some(name)
    }

    /// May the user come in? Errors (FATAL): 28000 for a role without LOGIN, 42501 without CONNECT on the database.
    pub(super) fn check_login(&self) -> Result<()> {
        let catalog = self.catalog();
        let Some(role) = catalog.role_named(&self.options.user) else { return Ok(()) };
        if !role.login {
            return Err(PgError::new(
                SqlState::INVALID_AUTHORIZATION_SPECIFICATION,
                format!("role \"{}\" is not permitted to log in", role.name),
            )
            .fatal());
        }
        // (superusers may always come in)
        if role.connection_limit >= 0 && !role.superuser {
            let all = self.engine.config.statistics.sessions();
            let own =
                all.iter().filter(|a| a.user_oid == role.oid && !std::sync::Arc::ptr_eq(a, &self.activity)).count();
            if own >= role.connection_limit as usize {
                return Err(PgError::new(
                    SqlState::TOO_MANY_CONNECTIONS,
                    format!("too many connections for role \"{}\"", role.name),
                )
                .fatal());
            }
        }
        let database = &catalog.properties;
        let has = acl::privileges(&catalog, role.oid, acl::AclObject::Database, database.owner, database.acl.as_ref());
        if has & acl::privilege::CONNECT == 0 {
            return Err(PgError::new(
                SqlState::INSUFFICIENT_PRIVILEGE,
                format!("permission denied for database \"{}\"", self.database()),
            )
            .detail("User does not have CONNECT privilege.")
            .fatal());
        }
        Ok(())
    }

    /// Whether the session may become the role (`setting`: `role` or `session_authorization`). Errors: 22023, 42501.
    pub(super) fn check_identity(&self, setting: &str, value: Option<&str>) -> Result<()> {
        let Some(name) = value else { return Ok(()) };
        if setting == "role" && name == "none" {
            return Ok(());
        }
        let catalog = self.catalog();
        let session = self.role_oid(&catalog, &self.session_user());
        let login = self.role_oid(&catalog, &self.options.user);
        let target = match catalog.role_named(name) {
            Some(role) => role.oid,
            None if name == self.options.user && !self.is_role => return Ok(()),
            None => {
                return Err(PgError::new(SqlState::INVALID_PARAMETER_VALUE, format!("role \"{name}\" does not exist")))
            }
        };
        let denied = |what: String| Err(PgError::new(SqlState::INSUFFICIENT_PRIVILEGE, what));
        match setting {
            "role" if acl::is_superuser(&catalog, session) || acl::member_of(&catalog, session, target) => Ok(()),
            "role" => denied(format!("permission denied to set role \"{name}\"")),
            _ if acl::is_superuser(&catalog, login) || login == target => Ok(()),
            _ => denied("permission denied to set session authorization".into()),
        }
    }

    /// 42501 unless the effective role is a superuser or inherits from this predefined role.
    pub(super) fn check_member_of(&self, predefined: &str, what: impl Into<String>) -> Result<()> {
        let catalog = self.catalog();
        let user = self.user_oid(&catalog);
        let inherits = || {
            acl::inherited_roles(&catalog, user).iter().any(|&r| r != user && catalog.role_name(r) == Some(predefined))
        };
        if self.is_superuser(&catalog) || inherits() {
            return Ok(());
        }
        Err(PgError::new(SqlState::INSUFFICIENT_PRIVILEGE, what))
    }

    /// 42501 for a setting that only superusers change.
    pub(super) fn check_may_set(&self, name: &str) -> Result<()> {
        let definition = super::guc::definitions().get(name);
        if definition.is_some_and(|d| d.context.starts_with("superuser")) {
            return self.check_member_of("", format!("permission denied to set parameter \"{name}\""));
        }
        Ok(())
    }

    /// 42501 unless the role has one of the privileges on the relation, or owns it.
    pub(super) fn check_relation_privilege(
        &self,
        relation: &pgsqlite_sql::catalog::Relation,
        needed: u32,
    ) -> Result<()> {
        self.check_relation_privilege_of(self.user_oid(&self.catalog()), relation, needed)
    }

    /// As [`Session::check_relation_privilege`], for a role that need not be the session's.
    pub(super) fn check_relation_privilege_of(
        &self,
        user: pgsqlite_types::Oid,
        relation: &pgsqlite_sql::catalog::Relation,
        needed: u32,
    ) -> Result<()> {
        let catalog = self.catalog();
        if acl::relation_privileges(&catalog, user, relation) & needed != 0 || acl::owns(&catalog, user, relation.owner)
        {
            return Ok(());
        }
        let word = crate::ddl::kind_word(&relation.kind);
        Err(PgError::new(SqlState::INSUFFICIENT_PRIVILEGE, format!("permission denied for {word} {}", relation.name)))
    }

    /// Brings `is_superuser` in line with the role.
    pub(super) fn refresh_superuser(&mut self) {
        let catalog = self.catalog();
        let superuser = self.is_superuser(&catalog);
        self.gucs.set_superuser(superuser);
    }
}
