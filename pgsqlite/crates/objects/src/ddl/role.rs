//! Roles, databases, extensions: what a cluster has besides the objects of one database.

use super::def_elem::{boolean, def_elems, integer, string};
use super::membership::GrantOptions;
use super::{Ddl, NodeEnum};
use pgsqlite_metadata::store;
use pgsqlite_natives::hashing::digest_of;
use pgsqlite_sql::acl;
use pgsqlite_sql::catalog::*;
use pgsqlite_sql::parse::ast;
use pgsqlite_types::work;
use pgsqlite_types::{Oid, PgError, Result, SqlState};
use sha2::Sha256;
use std::sync::Arc;

impl Ddl<'_> {
    pub(super) fn put_role(&mut self, role: Role) -> Result<()> {
        self.ensure_store()?;
        store::storing::put_role(self.conn, &role)?;
        self.catalog.roles.insert(role.oid, Arc::new(role));
        self.changed = true;
        Ok(())
    }

    /// Applies options to a role; gives the memberships asked for: (granted, member, admin) with 0 for the role itself.
    fn role_options(&mut self, role: &mut Role, nodes: &[ast::Node]) -> Result<Vec<(Oid, Oid, bool)>> {
        let mut memberships = Vec::new();
        let mut seen: Vec<&str> = Vec::new();
        for option in def_elems(nodes) {
            work::visit();
            if seen.contains(&option.defname.as_str()) {
                return Err(
                    PgError::new(SqlState::SYNTAX_ERROR, "conflicting or redundant options").at(option.location)
                );
            }
            seen.push(&option.defname);
            match option.defname.as_str() {
                // (who may do that was asked before)
                "superuser" => role.superuser = boolean(option)?,
                "inherit" => role.inherit = boolean(option)?,
                "createrole" => role.create_role = boolean(option)?,
                "createdb" => role.create_db = boolean(option)?,
                "canlogin" => role.login = boolean(option)?,
                "isreplication" => role.replication = boolean(option)?,
                "bypassrls" => role.bypass_rls = boolean(option)?,
                "connectionlimit" => {
                    let limit = integer(option)?;
                    if limit < -1 {
                        return Err(PgError::new(
                            SqlState::INVALID_PARAMETER_VALUE,
                            format!("invalid connection limit: {limit}"),
                        ));
                    }
                    role.connection_limit = limit as i32;
                }
                "validUntil" => role.valid_until = self.valid_until(option)?,
                "password" => {
                    role.password = match string(option) {
                        None => None,
                        Some(text) if is_empty_password(text)? => {
                            self.notice(
                                SqlState::SUCCESSFUL_COMPLETION,
                                "empty string is not a valid password, clearing password",
                            );
                            None
                        }
                        // A verifier is stored as it is; md5 ones cannot be used for SCRAM.
                        Some(text) if verifier_parts(text).is_some() => Some(text.to_string()),
                        Some(text) if is_md5(text) => {
                            return Err(PgError::not_supported("an md5 password").at(option.location))
                        }
                        Some(text) => Some(scram_verifier(text)?),
                    }
                }
                "sysid" => {}
                // IN ROLE; ROLE; ADMIN
                "addroleto" | "rolemembers" | "adminmembers" => {
                    for spec in role_specs(option) {
                        work::visit();
                        let other = self.role(spec)?.oid;
                        memberships.push(match option.defname.as_str() {
                            "addroleto" => (other, 0, false),
                            which => (0, other, which == "adminmembers"),
                        });
                    }
                }
                other => return Err(PgError::not_supported(format!("the role option {other}")).at(option.location)),
            }
        }
        Ok(memberships)
    }

    /// VALID UNTIL in the storage form of timestamptz; `infinity` is as good as none.
    fn valid_until(&self, option: &ast::DefElem) -> Result<Option<String>> {
        let Some(text) = string(option) else { return Ok(None) };
        let names = pgsqlite_metadata::store::names::CatalogNames {
            catalog: &self.catalog,
            search_path: self.environment.search_path,
        };
        let context = pgsqlite_types::codec::Context { settings: self.environment.settings, names: &names };
        match pgsqlite_types::codec::TypeCodec::TimestampTz.text_in(text, -1, &context)? {
            pgsqlite_types::Datum::Text(stored) => Ok(Some(stored)),
            _ => Err(PgError::internal("a timestamp that is no text")),
        }
    }

    pub(super) fn create_role(&mut self, statement: &ast::CreateRoleStmt) -> Result<String> {
        self.check_may_create(&statement.options)?;
        let name = statement.role.as_str();
        check_not_reserved(name)?;
        if self.catalog.role_named(name).is_some() {
            return Err(PgError::new(SqlState::DUPLICATE_OBJECT, format!("role \"{name}\" already exists")));
        }
        let mut role = Role {
            oid: self.new_oid(false)?,
            name: name.to_string(),
            superuser: false,
            inherit: true,
            create_role: false,
            create_db: false,
            login: statement.stmt_type() == ast::RoleStmtType::RolestmtUser,
            replication: false,
            bypass_rls: false,
            connection_limit: -1,
            password: None,
            valid_until: None,
            memberships: Vec::new(),
            settings: Vec::new(),
        };
        if def_elems(&statement.options).any(|o| o.defname == "sysid") {
            self.notice(SqlState::SUCCESSFUL_COMPLETION, "SYSID can no longer be specified");
        }
        let oid = role.oid;
        let mut memberships = self.role_options(&mut role, &statement.options)?;
        self.put_role(role)?;
        let user = self.environment.user;
        for (granted, ..) in memberships.iter().filter(|m| m.1 == 0) {
            work::visit();
            self.check_may_grant(*granted, true)?;
            self.add_members(user, *granted, &[oid], None, GrantOptions::default())?;
        }
        // who is no superuser administers the roles that it makes
        if !self.is_superuser() {
            let options = GrantOptions { admin: Some(true), inherit: Some(false), set: Some(false) };
            self.add_members(BOOTSTRAP_ROLE, oid, &[user], Some(BOOTSTRAP_ROLE), options)?;
        }
        // ROLE first, then ADMIN
        memberships.sort_by_key(|m| m.2);
        for (_, member, admin) in memberships.into_iter().filter(|m| m.1 != 0) {
            work::visit();
            let options = GrantOptions { admin: admin.then_some(true), ..GrantOptions::default() };
            self.add_members(user, oid, &[member], None, options)?;
        }
        Ok("CREATE ROLE".into())
    }

    /// The session's own roles, which it can neither rename nor drop, with PostgreSQL's word for each. One role may be both.
    pub(super) fn own_roles(&self) -> [(&'static str, Oid); 2] {
        [("current", self.environment.user), ("session", self.session.session_role)]
    }

    /// 42501 unless the session's role may make one with these options.
    fn check_may_create(&self, options: &[ast::Node]) -> Result<()> {
        self.check_create_role("create role", "Only roles with the CREATEROLE attribute may create roles.")?;
        let Some(own) = self.catalog.roles.get(&self.environment.user).filter(|own| !own.superuser) else {
            return Ok(());
        };
        for (option, attribute, has) in [
            ("superuser", "SUPERUSER", false),
            ("createdb", "CREATEDB", own.create_db),
            ("isreplication", "REPLICATION", own.replication),
            ("bypassrls", "BYPASSRLS", own.bypass_rls),
        ] {
            let asked = def_elems(options).find(|o| o.defname == option);
            if !has && asked.map(boolean).transpose()?.unwrap_or(false) {
                return Err(PgError::new(SqlState::INSUFFICIENT_PRIVILEGE, "permission denied to create role").detail(
                    format!(
                        "Only roles with the {attribute} attribute may create roles with the {attribute} attribute."
                    ),
                ));
            }
        }
        Ok(())
    }

    /// Whether the session's role has CREATEROLE and the admin option on a role.
    pub(super) fn administers(&self, role: Oid) -> bool {
        self.may_create_roles() && acl::is_admin_of(&self.catalog, self.environment.user, role)
    }

    /// 42501 unless the session's role may change this one.
    fn check_may_alter(&self, role: &Role) -> Result<()> {
        if role.superuser && !self.is_superuser() {
            return Err(denied("alter role", superusers_alone("alter")));
        }
        match self.administers(role.oid) {
            true => Ok(()),
            false => Err(denied("alter role", administrators_alone(&role.name, "alter"))),
        }
    }

    /// 42501 unless the session's role may change this one's attributes to what the options say.
    fn check_may_change(&self, role: &Role, options: &[ast::Node]) -> Result<()> {
        let changes = |option: &str| def_elems(options).any(|o| o.defname == option);
        let Some(own) = self.catalog.roles.get(&self.environment.user).filter(|own| !own.superuser) else {
            return Ok(());
        };
        let change = |attribute: &str| {
            let detail = format!("Only roles with the {attribute} attribute may change the {attribute} attribute.");
            Err(denied("alter role", detail))
        };
        if role.superuser {
            return Err(denied("alter role", superusers_alone("alter")));
        }
        if changes("superuser") {
            return change("SUPERUSER");
        }
        if !self.administers(role.oid) {
            let others = |o: &ast::DefElem| !matches!(o.defname.as_str(), "password" | "rolemembers");
            if def_elems(options).any(others) {
                return Err(denied("alter role", administrators_alone(&role.name, "alter")));
            }
            // everybody may change their own password
            if changes("password") && role.oid != own.oid {
                return Err(denied("alter role", "To change another role's password, the current user must have the CREATEROLE attribute and the ADMIN option on the role."));
            }
        } else {
            for (option, attribute, has) in [
                ("createdb", "CREATEDB", own.create_db),
                ("isreplication", "REPLICATION", own.replication),
                ("bypassrls", "BYPASSRLS", own.bypass_rls),
            ] {
                if changes(option) && !has {
                    return change(attribute);
                }
            }
        }
        if changes("rolemembers") && !acl::is_admin_of(&self.catalog, own.oid, role.oid) {
            let detail = format!("Only roles with the ADMIN option on role \"{}\" may add or drop members.", role.name);
            return Err(denied("alter role", detail));
        }
        Ok(())
    }

    pub(super) fn alter_role(&mut self, statement: &ast::AlterRoleStmt) -> Result<String> {
        let spec = statement.role.as_ref().ok_or_else(|| PgError::internal("ALTER ROLE without a role"))?;
        let mut role = (*self.role(spec)?).clone();
        self.check_may_change(&role, &statement.options)?;
        let oid = role.oid;
        // ALTER GROUP … ADD USER: action 1, DROP USER: -1, both with the option rolemembers
        let group = def_elems(&statement.options).any(|o| o.defname == "rolemembers");
        role.settle_memberships();
        let memberships = self.role_options(&mut role, &statement.options)?;
        if group {
            let members: Vec<Oid> = memberships.iter().map(|m| m.1).collect();
            let (user, options) = (self.environment.user, GrantOptions::default());
            match statement.action >= 0 {
                true => self.add_members(user, oid, &members, None, options)?,
                false => self.remove_members(user, oid, &members, None, options, false)?,
            }
            return Ok("ALTER ROLE".into());
        }
        self.put_role(role)?;
        Ok("ALTER ROLE".into())
    }

    /// ALTER ROLE … SET and RESET: defaults of the role's sessions.
    pub(super) fn alter_role_set(&mut self, statement: &ast::AlterRoleSetStmt) -> Result<String> {
        let tag = "ALTER ROLE".to_string();
        if !statement.database.is_empty() {
            return Err(PgError::not_supported("ALTER ROLE … IN DATABASE"));
        }
        let spec = statement.role.as_ref().ok_or_else(|| PgError::not_supported("ALTER ROLE ALL"))?;
        let mut role = (*self.role(spec)?).clone();
        if role.superuser || role.oid != self.environment.user {
            self.check_may_alter(&role)?;
        }
        let set = statement.setstmt.as_ref().ok_or_else(|| PgError::internal("ALTER ROLE without SET"))?;
        self.change_settings(&mut role.settings, set)?;
        self.put_role(role)?;
        Ok(tag)
    }

    /// Applies SET or RESET to stored settings. Errors: those of the SET itself.
    fn change_settings(&mut self, settings: &mut Vec<(String, String)>, set: &ast::VariableSetStmt) -> Result<()> {
        use ast::VariableSetKind as K;
        let name = set.name.to_ascii_lowercase();
        match set.kind() {
            K::VarSetValue => {
                let value = super::def_elem::setting_value(&name, &set.args)?;
                // refused here rather than at each session's start
                let (tried, told) = self.claimant().check_stored(&set.name, Some(&value))?;
                // (Informix's clients have no such setting)
                if !tried.is_on("standard_conforming_strings") {
                    return Err(PgError::not_supported("a stored standard_conforming_strings = off"));
                }
                self.notices.extend(told);
                match settings.iter_mut().find(|s| s.0 == name) {
                    Some(found) => found.1 = value,
                    None => settings.push((name, value)),
                }
            }
            K::VarSetDefault | K::VarReset => {
                self.claimant().check_stored(&set.name, None)?;
                settings.retain(|s| s.0 != name);
            }
            // those that are not this role's to change stay
            K::VarResetAll => settings.retain(|s| self.claimant().check_stored(&s.0, None).is_err()),
            _ => return Err(PgError::not_supported("this form of SET")),
        }
        Ok(())
    }

    pub(super) fn drop_role(&mut self, statement: &ast::DropRoleStmt) -> Result<String> {
        let may = "Only roles with the CREATEROLE attribute and the ADMIN option on the target roles may drop roles.";
        self.check_create_role("drop role", may)?;
        let mut gone: Vec<Arc<Role>> = Vec::new();
        for node in &statement.roles {
            work::visit();
            let Some(NodeEnum::RoleSpec(spec)) = &node.node else {
                return Err(PgError::internal("DROP ROLE of something that is no role"));
            };
            if spec.roletype() != ast::RoleSpecType::RolespecCstring {
                return Err(PgError::new(
                    SqlState::INVALID_PARAMETER_VALUE,
                    "cannot use special role specifier in DROP ROLE",
                ));
            }
            let role = match self.role(spec) {
                Ok(role) => role,
                Err(error) if statement.missing_ok => {
                    self.notice(SqlState::SUCCESSFUL_COMPLETION, format!("{}, skipping", error.message()));
                    continue;
                }
                Err(error) => return Err(error),
            };
            if gone.iter().any(|g| g.oid == role.oid) {
                continue;
            }
            if let Some((own, _)) = self.own_roles().iter().find(|own| own.1 == role.oid) {
                return Err(PgError::new(SqlState::OBJECT_IN_USE, format!("{own} user cannot be dropped")));
            }
            if role.superuser && !self.is_superuser() {
                return Err(denied("drop role", superusers_alone("drop")));
            }
            if !acl::is_admin_of(&self.catalog, self.environment.user, role.oid) {
                return Err(denied("drop role", administrators_alone(&role.name, "drop")));
            }
            if role.oid < store::base::FOUNDER_ROLE {
                return Err(PgError::new(
                    SqlState::DEPENDENT_OBJECTS_STILL_EXIST,
                    format!("cannot drop role {} because it is required by the database system", role.name),
                ));
            }
            // (its own memberships are no reason to keep it; those that it has granted to others are)
            self.change_memberships(|member, m| (m.role != role.oid && member != role.oid).then(|| m.clone()))?;
            gone.push(role);
        }
        for role in gone {
            work::visit();
            let owned = self.role_dependencies(role.oid)?;
            if !owned.is_empty() {
                return Err(PgError::new(
                    SqlState::DEPENDENT_OBJECTS_STILL_EXIST,
                    format!("role \"{}\" cannot be dropped because some objects depend on it", role.name),
                )
                .detail(owned.join("\n")));
            }
            self.ensure_store()?;
            store::storing::delete_role(self.conn, role.oid)?;
            self.catalog.roles.remove(&role.oid);
            self.catalog.comments.retain(|key, _| key.1 != role.oid);
            self.changed = true;
        }
        Ok("DROP ROLE".into())
    }

    fn check_create_database(&self) -> Result<&dyn super::DatabaseAdmin> {
        let user = self.catalog.roles.get(&self.environment.user);
        if !user.is_some_and(|r| r.superuser || r.create_db) {
            return Err(PgError::new(SqlState::INSUFFICIENT_PRIVILEGE, "permission denied to create database"));
        }
        self.session.databases.ok_or_else(|| PgError::not_supported("CREATE DATABASE in a server that serves one file"))
    }

    pub(super) fn create_database(&mut self, statement: &ast::CreatedbStmt) -> Result<String> {
        let databases = self.check_create_database()?;
        let mut template = None;
        let mut owner = self.environment.user;
        for option in def_elems(&statement.options) {
            work::visit();
            let text = string(option).unwrap_or("");
            let value = text.to_ascii_lowercase();
            match (option.defname.as_str(), value.as_str()) {
                ("encoding", "utf8" | "utf-8" | "unicode" | "default") => {}
                ("encoding", _) if integer(option).is_ok_and(|n| n == 6) => {}
                ("template", "template0" | "template1" | "default") => {}
                ("template", _) => template = Some(text.to_string()),
                ("owner", "default") => {}
                ("owner", _) => {
                    owner = self.role_named(text)?.oid;
                    self.check_becomes_owner(owner)?;
                }
                ("connection_limit", _) if integer(option).is_ok_and(|n| n == -1) => {}
                ("allow_connections", _) if boolean(option).is_ok_and(|b| b) => {}
                ("is_template", _) if boolean(option).is_ok_and(|b| !b) => {}
                ("lc_collate" | "lc_ctype" | "locale", "c" | "posix" | "c.utf-8" | "c.utf8" | "default") => {}
                ("lc_collate" | "lc_ctype" | "locale", _) => {
                    return Err(PgError::not_supported(format!("the locale \"{text}\"")).at(option.location))
                }
                ("locale_provider", "libc") | ("strategy", "wal_log" | "file_copy") => {}
                ("tablespace", "pg_default" | "default") => {}
                (other, _) => {
                    return Err(PgError::not_supported(format!("the database option {other}")).at(option.location))
                }
            }
        }
        // The new file knows the roles of this one.
        let founder = super::Founder { roles: self.catalog.roles.values().map(|r| (**r).clone()).collect(), owner };
        databases.create(&statement.dbname, template.as_deref(), &founder)?;
        Ok("CREATE DATABASE".into())
    }

    pub(super) fn drop_database(&mut self, statement: &ast::DropdbStmt) -> Result<String> {
        let Some(databases) = self.session.databases else {
            return Err(PgError::not_supported("DROP DATABASE in a server that serves one file"));
        };
        let force = def_elems(&statement.options).any(|o| o.defname == "force");
        if !databases.list().contains(&statement.dbname) {
            let message = format!("database \"{}\" does not exist", statement.dbname);
            if statement.missing_ok {
                self.notice(SqlState::SUCCESSFUL_COMPLETION, format!("{message}, skipping"));
                return Ok("DROP DATABASE".into());
            }
            return Err(PgError::new(SqlState::UNDEFINED_DATABASE, message));
        }
        if statement.dbname == self.catalog.database {
            self.check_owned("database", &statement.dbname, self.catalog.properties.owner)?;
            return Err(PgError::new(SqlState::OBJECT_IN_USE, "cannot drop the currently open database"));
        }
        // who owns another file's database is written in that file: only superusers may drop it
        if !pgsqlite_sql::acl::is_superuser(&self.catalog, self.environment.user) {
            return Err(PgError::new(
                SqlState::INSUFFICIENT_PRIVILEGE,
                format!("must be owner of database {}", statement.dbname),
            ));
        }
        pgsqlite_metadata::store::transactions::forget_others(self.conn, &self.catalog)?;
        databases.drop(&statement.dbname, force)?;
        Ok("DROP DATABASE".into())
    }

    /// The database a statement names must be the one that is open. Errors: 3D000, 0A000.
    fn check_this_database(&self, name: &str) -> Result<()> {
        if self.catalog.is_database(name) {
            return Ok(());
        }
        if self.session.databases.is_some_and(|d| d.list().iter().any(|n| n == name)) {
            return Err(PgError::not_supported("ALTER DATABASE of a database other than the current one"));
        }
        Err(PgError::new(SqlState::UNDEFINED_DATABASE, format!("database \"{name}\" does not exist")))
    }

    pub(super) fn alter_database(&mut self, statement: &ast::AlterDatabaseStmt) -> Result<String> {
        self.check_this_database(&statement.dbname)?;
        self.check_owned("database", &statement.dbname, self.catalog.properties.owner)?;
        for option in def_elems(&statement.options) {
            work::visit();
            match option.defname.as_str() {
                "connection_limit" if integer(option)? == -1 => {}
                "allow_connections" if boolean(option)? => {}
                "is_template" if !boolean(option)? => {}
                other => return Err(PgError::not_supported(format!("the database option {other}")).at(option.location)),
            }
        }
        Ok("ALTER DATABASE".into())
    }

    /// The folder's databases, if `name` is another one than this. 42501 for who does not own it.
    fn other_database(&self, name: &str) -> Result<Option<&dyn super::DatabaseAdmin>> {
        let other =
            self.session.databases.filter(|d| !self.catalog.is_database(name) && d.list().iter().any(|n| n == name));
        if let Some(databases) = other {
            // (an owner that only the other file knows is nobody here)
            let owner = databases.look(name)?.owner_in(&self.catalog).unwrap_or_default();
            self.check_owned("database", name, owner)?;
        }
        Ok(other)
    }

    /// Runs the statement in another database, if `name` is one: there its roles are looked up by their names. `roles`: those that it names.
    /// Gives whether it did. 0A000 for a role that means another one there.
    pub(super) fn configure_other_database<'s>(
        &self,
        name: &str,
        roles: impl Iterator<Item = &'s ast::RoleSpec>,
    ) -> Result<bool> {
        let Some(databases) = self.other_database(name)? else { return Ok(false) };
        for role in roles {
            work::visit();
            if !matches!(role.roletype(), ast::RoleSpecType::RolespecCstring | ast::RoleSpecType::RolespecPublic) {
                return Err(PgError::not_supported("the current user in a statement about another database"));
            }
        }
        databases.configure(name, &self.text)?;
        Ok(true)
    }

    /// ALTER DATABASE … SET and RESET: defaults of all sessions.
    pub(super) fn alter_database_set(&mut self, statement: &ast::AlterDatabaseSetStmt) -> Result<String> {
        let set = statement.setstmt.as_ref().ok_or_else(|| PgError::internal("ALTER DATABASE without SET"))?;
        let name = statement.dbname.as_str();
        if self.other_database(name)?.is_some() {
            // the value is checked by the rights of this role; there the statement runs with all rights
            self.change_settings(&mut Vec::new(), set)?;
            self.configure_other_database(name, std::iter::empty())?;
            return Ok("ALTER DATABASE".into());
        }
        self.check_this_database(name)?;
        self.check_owned("database", name, self.catalog.properties.owner)?;
        let mut properties = self.catalog.properties.clone();
        self.change_settings(&mut properties.settings, set)?;
        self.put_properties(properties)?;
        Ok("ALTER DATABASE".into())
    }

    pub(super) fn rename_database(&mut self, name: &str, new_name: &str) -> Result<()> {
        let Some(databases) = self.session.databases else {
            return Err(PgError::not_supported("ALTER DATABASE … RENAME in a server that serves one file"));
        };
        if !databases.list().iter().any(|n| n == name) {
            return Err(PgError::new(SqlState::UNDEFINED_DATABASE, format!("database \"{name}\" does not exist")));
        }
        if name == self.catalog.database {
            return Err(PgError::new(SqlState::FEATURE_NOT_SUPPORTED, "current database cannot be renamed"));
        }
        if !pgsqlite_sql::acl::is_superuser(&self.catalog, self.environment.user) {
            return Err(PgError::new(SqlState::INSUFFICIENT_PRIVILEGE, format!("must be owner of database {name}")));
        }
        databases.rename(name, new_name)
    }

    pub(super) fn create_extension(&mut self, statement: &ast::CreateExtensionStmt) -> Result<String> {
        let name = statement.extname.as_str();
        let Some(known) = crate::pg_catalog::EXTENSIONS.iter().find(|e| e.name == name) else {
            return Err(PgError::not_supported(format!("extension \"{name}\"")));
        };
        if known.oid.is_some() || self.catalog.extensions.contains_key(name) {
            let message = format!("extension \"{name}\" already exists");
            if statement.if_not_exists {
                self.notice(SqlState::DUPLICATE_OBJECT, format!("{message}, skipping"));
                return Ok("CREATE EXTENSION".into());
            }
            return Err(PgError::new(SqlState::DUPLICATE_OBJECT, message));
        }
        let mut schema_name = String::new();
        for node in &statement.options {
            work::visit();
            let Some(NodeEnum::DefElem(option)) = &node.node else { continue };
            let text = match option.arg.as_ref().and_then(|a| a.node.as_ref()) {
                Some(NodeEnum::String(s)) => s.sval.clone(),
                _ => String::new(),
            };
            match option.defname.as_str() {
                "schema" => schema_name = text,
                "new_version" if text == known.version => {}
                "new_version" => return Err(PgError::not_supported(format!("version {text} of extension \"{name}\""))),
                // there is nothing that they need
                "cascade" => {}
                other => return Err(PgError::not_supported(format!("CREATE EXTENSION … {other}"))),
            }
        }
        let user = self.environment.user;
        let properties = &self.catalog.properties;
        let database = acl::AclObject::Database;
        let has = acl::privileges(&self.catalog, user, database, properties.owner, properties.acl.as_ref());
        let may_create = known.trusted && has & acl::privilege::CREATE != 0;
        if !may_create && !acl::is_superuser(&self.catalog, user) {
            let message = format!("permission denied to create extension \"{name}\"");
            return Err(PgError::new(SqlState::INSUFFICIENT_PRIVILEGE, message).hint(match known.trusted {
                true => "Must have CREATE privilege on current database to create this extension.",
                false => "Must be superuser to create this extension.",
            }));
        }
        let schema = match schema_name.as_str() {
            "" | "pg_temp" => self.lasting_schema(&schema_name, "extension")?,
            given => self.catalog.schema_oid(given).ok_or_else(|| {
                PgError::new(SqlState::INVALID_SCHEMA_NAME, format!("schema \"{given}\" does not exist"))
            })?,
        };
        let extension = Extension {
            oid: self.new_oid(false)?,
            name: name.to_string(),
            schema,
            owner: user,
            version: known.version.to_string(),
        };
        self.ensure_store()?;
        pgsqlite_metadata::store::storing::put_extension(self.conn, &extension)?;
        self.put_comment_of_extension(extension.oid, known.comment)?;
        self.catalog.extensions.insert(name.to_string(), std::sync::Arc::new(extension));
        self.changed = true;
        Ok("CREATE EXTENSION".into())
    }

    fn put_comment_of_extension(&mut self, extension: Oid, comment: &str) -> Result<()> {
        let class = super::schema::CLASS_EXTENSION;
        pgsqlite_metadata::store::storing::put_comment(self.conn, class, extension, 0, Some(comment))?;
        self.catalog.comments.insert((class, extension, 0), comment.to_string());
        Ok(())
    }

    /// DROP EXTENSION of those that were made; None: one of them was not. What may use one is found by its text: the names of the
    /// extension's functions and operators.
    pub(super) fn drop_extensions(&mut self, statement: &ast::DropStmt) -> Result<Option<String>> {
        if statement.remove_type() != ast::ObjectType::ObjectExtension {
            return Ok(None);
        }
        let mut found = Vec::new();
        for node in &statement.objects {
            work::visit();
            let Some(NodeEnum::String(name)) = &node.node else { return Ok(None) };
            let Some(extension) = self.catalog.extensions.get(&name.sval) else { return Ok(None) };
            found.push(extension.clone());
        }
        for extension in found {
            work::visit();
            if !acl::owns(&self.catalog, self.environment.user, extension.owner) {
                return Err(PgError::new(
                    SqlState::INSUFFICIENT_PRIVILEGE,
                    format!("must be owner of extension {}", extension.name),
                ));
            }
            if self.may_be_used(&extension.name)? {
                return Err(PgError::not_supported(format!(
                    "DROP EXTENSION of \"{}\", whose functions something may use,",
                    extension.name
                )));
            }
            self.catalog.extensions.remove(&extension.name);
            pgsqlite_metadata::store::storing::delete_object(self.conn, extension.oid)?;
            self.forget_comments(extension.oid)?;
            self.changed = true;
        }
        Ok(Some("DROP EXTENSION".into()))
    }

    /// Whether any stored definition names a type, function or operator of the extension.
    fn may_be_used(&self, extension: &str) -> Result<bool> {
        use pgsqlite_sql::builtins::{catalog as builtin, extensions};
        let of = |oid: Oid| extensions::of(oid) == Some(extension);
        let type_of = |oid: Oid| pgsqlite_types::catalog::by_oid(oid).is_some_and(|t| t.extension == Some(extension));
        let functions: Vec<&str> = builtin::all_procs().iter().filter(|p| of(p.oid)).map(|p| p.name.as_str()).collect();
        // (who uses an operator of the extension's own types has a value of such a type, too)
        let operators: Vec<&str> = builtin::all_operators()
            .iter()
            .filter(|o| of(o.oid) && !type_of(o.left) && !type_of(o.right))
            .map(|o| o.name.as_str())
            .collect();
        let types: Vec<&str> =
            pgsqlite_types::catalog::all().iter().filter(|t| t.extension == Some(extension)).map(|t| t.name).collect();
        let mut definitions: Vec<String> = Vec::new();
        let failed = |e: serde_json::Error| PgError::internal(format!("catalog object as JSON: {e}"));
        for relation in self.catalog.relations.values() {
            work::visit();
            if let RelationKind::Index(index) = &relation.kind {
                if index.columns.iter().any(|c| of(c.opclass)) {
                    return Ok(true);
                }
            }
            if relation.live_columns().any(|c| type_of(c.type_oid)) {
                return Ok(true);
            }
            definitions.push(serde_json::to_string(&**relation).map_err(failed)?);
        }
        for user_type in self.catalog.types.values() {
            work::visit();
            let used = match &user_type.kind {
                UserTypeKind::Domain { base, .. } => type_of(*base),
                UserTypeKind::Composite { fields } => fields.iter().any(|(_, ty, _)| type_of(*ty)),
                UserTypeKind::Range(range) => type_of(range.subtype),
                UserTypeKind::Enum { .. } | UserTypeKind::Multirange { .. } => false,
            };
            if used {
                return Ok(true);
            }
            definitions.push(serde_json::to_string(&**user_type).map_err(failed)?);
        }
        for routine in self.catalog.routines.values() {
            work::visit();
            let function = &routine.function;
            if type_of(function.returns) || function.arguments.iter().any(|a| type_of(a.type_oid)) {
                return Ok(true);
            }
            // (other bodies are looked up when they run)
            if function.standard {
                definitions.push(function.source.clone());
            }
        }
        Ok(definitions.iter().any(|d| {
            functions.iter().any(|name| calls(d, name))
                || types.iter().any(|name| has_word(d, name))
                || operators.iter().any(|name| has_operator(d, name))
        }))
    }
}

/// The places where a text has another one, with what is around it.
fn around<'t>(text: &'t str, part: &'t str) -> impl Iterator<Item = (Option<char>, &'t str)> + 't {
    text.match_indices(part).map(move |(at, _)| (text[..at].chars().next_back(), &text[at + part.len()..]))
}

fn in_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn has_word(text: &str, word: &str) -> bool {
    around(text, word).any(|(before, after)| !before.is_some_and(in_word) && !after.starts_with(in_word))
}

fn calls(text: &str, function: &str) -> bool {
    around(text, function).any(|(before, after)| !before.is_some_and(in_word) && after.starts_with(['(', '"', '\\']))
}

/// An operator is printed between blanks, or in front of its operand.
fn has_operator(text: &str, operator: &str) -> bool {
    around(text, operator).any(|(before, after)| matches!(before, Some(' ' | '(')) && after.starts_with([' ', '(']))
}

/// The roles in an option's list.
fn role_specs(option: &ast::DefElem) -> Vec<&ast::RoleSpec> {
    let Some(NodeEnum::List(list)) = option.arg.as_ref().and_then(|a| a.node.as_ref()) else { return Vec::new() };
    list.items
        .iter()
        .filter_map(|n| match &n.node {
            Some(NodeEnum::RoleSpec(spec)) => Some(spec),
            _ => None,
        })
        .collect()
}

/// `md5` and 32 hexadecimal digits.
fn is_md5(text: &str) -> bool {
    let digits = |d: &str| d.len() == 32 && d.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
    text.strip_prefix("md5").is_some_and(digits)
}

/// Iterations, salt, StoredKey and ServerKey of a verifier as [`scram_verifier`] makes it; None: the text is none.
fn verifier_parts(text: &str) -> Option<(u32, Vec<u8>, Vec<u8>, Vec<u8>)> {
    use base64::Engine as _;
    let decode = |t: &str| base64::engine::general_purpose::STANDARD.decode(t).ok();
    let (counted, keys) = text.strip_prefix("SCRAM-SHA-256$")?.split_once('$')?;
    let (iterations, salt) = counted.split_once(':')?;
    let (stored, server) = keys.split_once(':')?;
    let (salt, stored, server) = (decode(salt)?, decode(stored)?, decode(server)?);
    let is_key = |key: &[u8]| key.len() == 32;
    (is_key(&stored) && is_key(&server)).then_some((iterations.parse().ok()?, salt, stored, server))
}

/// Whether a password, or what a verifier was made of, is the empty text. Errors: those of requests.
fn is_empty_password(text: &str) -> Result<bool> {
    Ok(match verifier_parts(text) {
        None => text.is_empty(),
        Some((iterations, salt, stored, _)) => scram_keys("", &salt, iterations)?.0[..] == stored[..],
    })
}

/// `SCRAM-SHA-256$iterations:salt$StoredKey:ServerKey` of a password, as PostgreSQL stores it (RFC 5802).
fn scram_verifier(password: &str) -> Result<String> {
    use base64::Engine as _;
    const ITERATIONS: u32 = 4096;
    let mut salt = [0u8; 16];
    getrandom::fill(&mut salt).map_err(|e| PgError::no_resources(format!("could not generate random numbers: {e}")))?;
    let (stored, server) = scram_keys(password, &salt, ITERATIONS)?;
    let encode = |bytes: &[u8]| base64::engine::general_purpose::STANDARD.encode(bytes);
    Ok(format!("SCRAM-SHA-256${ITERATIONS}:{}${}:{}", encode(&salt), encode(&stored), encode(&server)))
}

/// StoredKey and ServerKey of a password. Errors: those of requests.
fn scram_keys(password: &str, salt: &[u8], iterations: u32) -> Result<(Vec<u8>, Vec<u8>)> {
    /// A key of HMAC, as a block.
    fn block_of(key: &[u8]) -> Result<[u8; 64]> {
        let mut block = [0; 64];
        let short = if key.len() > 64 { &digest_of::<Sha256>(&[key])? } else { key };
        block[..short.len()].copy_from_slice(short);
        Ok(block)
    }
    fn hmac(key: &[u8; 64], parts: [&[u8]; 2]) -> Result<Vec<u8>> {
        let pad = |byte: u8| key.map(|b| b ^ byte);
        let inner = digest_of::<Sha256>(&[&pad(0x36), parts[0], parts[1]])?;
        digest_of::<Sha256>(&[&pad(0x5c), &inner])
    }
    // a password that SASLprep refuses is used as it is, as PostgreSQL does
    let prepared = stringprep::saslprep(password);
    let password = block_of(prepared.as_deref().unwrap_or(password).as_bytes())?;
    let mut block = hmac(&password, [salt, &1u32.to_be_bytes()])?;
    let mut salted = block.clone();
    for _ in 1..iterations {
        work::visit();
        block = hmac(&password, [&block, &[]])?;
        salted.iter_mut().zip(&block).for_each(|(s, b)| *s ^= b);
    }
    let salted = block_of(&salted)?;
    let stored = digest_of::<Sha256>(&[&hmac(&salted, [b"Client Key", &[]])?])?;
    Ok((stored, hmac(&salted, [b"Server Key", &[]])?))
}

/// 42501, with what would be needed.
pub(super) fn denied(act: &str, detail: impl Into<String>) -> PgError {
    PgError::new(SqlState::INSUFFICIENT_PRIVILEGE, format!("permission denied to {act}")).detail(detail)
}

pub(super) fn superusers_alone(act: &str) -> String {
    format!("Only roles with the SUPERUSER attribute may {act} roles with the SUPERUSER attribute.")
}

pub(super) fn administrators_alone(role: &str, act: &str) -> String {
    format!("Only roles with the CREATEROLE attribute and the ADMIN option on role \"{role}\" may {act} this role.")
}

/// 42939 for names that are kept for predefined roles.
pub(super) fn check_not_reserved(name: &str) -> Result<()> {
    if name.starts_with("pg_") {
        return Err(PgError::new(SqlState::RESERVED_NAME, format!("role name \"{name}\" is reserved"))
            .detail("Role names starting with \"pg_\" are reserved."));
    }
    Ok(())
}
