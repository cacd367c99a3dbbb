//! Who the session is: the user it authenticated as, and the role whose privileges count (SET ROLE, SET SESSION AUTHORIZATION).

use crate::session::context::SessionContext;
use pgsqlite_natives::settings::rights::Claimant;
use pgsqlite_sql::acl;
use pgsqlite_sql::catalog::Catalog;
use pgsqlite_types::{Oid, PgError, Result, SqlState};

/// ((version of the settings, epoch of the catalog), role, it is a superuser)
pub(in crate::session) type Known = ((u64, u64), Oid, bool);

impl SessionContext {
    /// The role whose privileges count, and whether it is a superuser. Kept until the settings or the catalog change.
    fn identity(&self, catalog: &Catalog) -> (Oid, bool) {
        let state = (self.gucs.version(), catalog.epoch);
        let mut known = self.identity.lock();
        match *known {
            Some((of, role, superuser)) if of == state => (role, superuser),
            _ => {
                let role = self.gucs.current_role();
                let superuser = acl::is_superuser(catalog, role);
                *known = Some((state, role, superuser));
                (role, superuser)
            }
        }
    }

    /// The role whose privileges count.
    pub(in crate::session) fn user_oid(&self, catalog: &Catalog) -> Oid {
        self.identity(catalog).0
    }

    pub(in crate::session) fn is_superuser(&self, catalog: &Catalog) -> bool {
        self.identity(catalog).1
    }

    /// What plans are told apart by: the role, 0 for all superusers, to whom everything is permitted.
    pub(in crate::session) fn plan_role(&self, catalog: &Catalog) -> Oid {
        match self.identity(catalog) {
            (_, true) => 0,
            (role, false) => role,
        }
    }

    /// May the user come in? Errors (FATAL): 28000 for a name that is no role, or one without LOGIN, 42501 without CONNECT on the database.
    pub(in crate::session) fn check_login(&self) -> Result<()> {
        let catalog = self.catalog();
        let Some(role) = catalog.role_named(&self.options.user) else {
            return Err(PgError::new(
                SqlState::INVALID_AUTHORIZATION_SPECIFICATION,
                format!("role \"{}\" does not exist", self.options.user),
            )
            .fatal());
        };
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
            let own = all
                .iter()
                .filter(|a| a.user_oid == role.oid && !std::sync::Arc::ptr_eq(a, &self.observation.activity))
                .count();
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

    /// The session as one that asks for a change of a setting.
    pub(in crate::session) fn claimant<'a>(&'a self, catalog: &'a Catalog) -> Claimant<'a> {
        Claimant {
            catalog,
            login: self.login,
            session: self.gucs.session_role(),
            current: self.user_oid(catalog),
            in_definer: false,
            restricted: false,
        }
    }

    /// 42501 unless the effective role is a superuser or inherits from this predefined role. `denied` and `may`: what the message and its
    /// DETAIL say that the others have no permission to do.
    pub(in crate::session) fn check_member_of(&self, predefined: &str, denied: &str, may: &str) -> Result<()> {
        let catalog = self.catalog();
        let user = self.user_oid(&catalog);
        if self.is_superuser(&catalog) || acl::has_privileges_of(&catalog, user, predefined) {
            return Ok(());
        }
        Err(PgError::new(SqlState::INSUFFICIENT_PRIVILEGE, format!("permission denied to {denied}"))
            .detail(format!("Only roles with privileges of the \"{predefined}\" role may {may}.")))
    }

    /// 42501 unless the role has one of the privileges on the relation, or owns it.
    pub(in crate::session) fn check_relation_privilege(
        &self,
        relation: &pgsqlite_sql::catalog::Relation,
        needed: u32,
    ) -> Result<()> {
        self.check_relation_privilege_of(self.user_oid(&self.catalog()), relation, needed)
    }

    /// As [`SessionContext::check_relation_privilege`], for a role that need not be the session's.
    pub(in crate::session) fn check_relation_privilege_of(
        &self,
        user: pgsqlite_types::Oid,
        relation: &pgsqlite_sql::catalog::Relation,
        needed: u32,
    ) -> Result<()> {
        let catalog = self.catalog();
        if acl::relation_privileges(&catalog, user, relation) & needed != 0 || acl::is_superuser(&catalog, user) {
            return Ok(());
        }
        let word = pgsqlite_objects::ddl::kind_word(&relation.kind);
        Err(PgError::new(SqlState::INSUFFICIENT_PRIVILEGE, format!("permission denied for {word} {}", relation.name)))
    }

    /// Brings `is_superuser` in line with the role.
    pub(in crate::session) fn refresh_superuser(&mut self) {
        let catalog = self.catalog();
        let superuser = self.is_superuser(&catalog);
        self.gucs.set_superuser(superuser);
    }
}
