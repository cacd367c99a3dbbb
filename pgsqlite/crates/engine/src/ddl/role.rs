//! Roles, databases, extensions: what a cluster has besides the objects of one database.

use super::options::{boolean, def_elems, integer, string};
use super::{Ddl, NodeEnum};
use crate::store;
use pgsqlite_sql::catalog::*;
use pgsqlite_sql::parse::ast;
use pgsqlite_types::{PgError, Result, SqlState};
use std::sync::Arc;

impl Ddl<'_> {
    pub(super) fn put_role(&mut self, role: Role) -> Result<()> {
        self.ensure_store()?;
        store::write::put_role(self.conn, &role)?;
        self.catalog.roles.insert(role.oid, Arc::new(role));
        self.changed = true;
        Ok(())
    }

    fn role_options(&self, role: &mut Role, nodes: &[ast::Node]) -> Result<()> {
        for option in def_elems(nodes) {
            match option.defname.as_str() {
                "superuser" => role.superuser = boolean(option)?,
                "inherit" => role.inherit = boolean(option)?,
                "createrole" => role.create_role = boolean(option)?,
                "createdb" => role.create_db = boolean(option)?,
                "canlogin" => role.login = boolean(option)?,
                "isreplication" => role.replication = boolean(option)?,
                "bypassrls" => role.bypass_rls = boolean(option)?,
                "connectionlimit" => role.connection_limit = integer(option)? as i32,
                "validUntil" => role.valid_until = string(option).map(str::to_string),
                "password" => {
                    role.password = match string(option) {
                        None => None,
                        // A verifier is stored as it is; md5 ones cannot be used for SCRAM.
                        Some(text) if text.starts_with("SCRAM-SHA-256$") => Some(text.to_string()),
                        Some(text) if text.starts_with("md5") && text.len() == 35 => {
                            return Err(PgError::not_supported("an md5 password").at(option.location))
                        }
                        Some("") => None,
                        Some(text) => Some(scram_verifier(text)?),
                    }
                }
                other => return Err(PgError::not_supported(format!("the role option {other}")).at(option.location)),
            }
        }
        Ok(())
    }

    pub(super) fn create_role(&mut self, statement: &ast::CreateRoleStmt) -> Result<String> {
        let name = statement.role.as_str();
        if name.starts_with("pg_") {
            return Err(PgError::new(SqlState::RESERVED_NAME, format!("role name \"{name}\" is reserved"))
                .detail("Role names starting with \"pg_\" are reserved."));
        }
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
        self.role_options(&mut role, &statement.options)?;
        self.put_role(role)?;
        Ok("CREATE ROLE".into())
    }

    pub(super) fn alter_role(&mut self, statement: &ast::AlterRoleStmt) -> Result<String> {
        let spec = statement.role.as_ref().ok_or_else(|| PgError::internal("ALTER ROLE without a role"))?;
        let mut role = (*self.role(spec)?).clone();
        self.role_options(&mut role, &statement.options)?;
        self.put_role(role)?;
        Ok("ALTER ROLE".into())
    }

    pub(super) fn drop_role(&mut self, statement: &ast::DropRoleStmt) -> Result<String> {
        for node in &statement.roles {
            let Some(NodeEnum::RoleSpec(spec)) = &node.node else {
                return Err(PgError::internal("DROP ROLE of something that is no role"));
            };
            let role = match self.role(spec) {
                Ok(role) => role,
                Err(error) if statement.missing_ok => {
                    self.notice(SqlState::SUCCESSFUL_COMPLETION, format!("{}, skipping", error.message()));
                    continue;
                }
                Err(error) => return Err(error),
            };
            if role.oid == self.environment.user {
                return Err(PgError::new(SqlState::OBJECT_IN_USE, "current user cannot be dropped"));
            }
            if role.oid < pgsqlite_types::oid::FIRST_USER_OID {
                return Err(PgError::new(
                    SqlState::DEPENDENT_OBJECTS_STILL_EXIST,
                    format!("cannot drop role {} because it is required by the database system", role.name),
                ));
            }
            let owned: Vec<String> = self
                .catalog
                .relations
                .values()
                .filter(|r| r.owner == role.oid && !matches!(r.kind, RelationKind::Index(_)))
                .map(|r| format!("owner of {}", self.describe(super::drop::Object::Relation(r.oid))))
                .collect();
            if !owned.is_empty() {
                return Err(PgError::new(
                    SqlState::DEPENDENT_OBJECTS_STILL_EXIST,
                    format!("role \"{}\" cannot be dropped because some objects depend on it", role.name),
                )
                .detail(owned.join("\n")));
            }
            self.ensure_store()?;
            store::write::delete_role(self.conn, role.oid)?;
            self.catalog.roles.remove(&role.oid);
            self.changed = true;
        }
        Ok("DROP ROLE".into())
    }

    pub(super) fn create_database(&mut self, statement: &ast::CreatedbStmt) -> Result<String> {
        let Some(databases) = self.session.databases else {
            return Err(PgError::not_supported("CREATE DATABASE in a server that serves one file"));
        };
        for option in def_elems(&statement.options) {
            let value = string(option).unwrap_or("").to_ascii_lowercase();
            match (option.defname.as_str(), value.as_str()) {
                ("encoding", "utf8" | "utf-8" | "unicode") | ("template", "template0" | "template1") => {}
                ("owner", _) | ("connection_limit", _) | ("is_template" | "allow_connections", _) => {
                    return Err(PgError::not_supported(format!("the database option {}", option.defname)))
                }
                ("lc_collate" | "lc_ctype" | "locale", "c" | "posix" | "c.utf-8" | "c.utf8") => {}
                (other, _) => return Err(PgError::not_supported(format!("the database option {other}"))),
            }
        }
        databases.create(&statement.dbname)?;
        Ok("CREATE DATABASE".into())
    }

    pub(super) fn drop_database(&mut self, statement: &ast::DropdbStmt) -> Result<String> {
        let Some(databases) = self.session.databases else {
            return Err(PgError::not_supported("DROP DATABASE in a server that serves one file"));
        };
        if statement.dbname == self.catalog.database {
            return Err(PgError::new(SqlState::OBJECT_IN_USE, "cannot drop the currently open database"));
        }
        if statement.missing_ok && !databases.list().contains(&statement.dbname) {
            let message = format!("database \"{}\" does not exist, skipping", statement.dbname);
            self.notice(SqlState::SUCCESSFUL_COMPLETION, message);
            return Ok("DROP DATABASE".into());
        }
        databases.drop(&statement.dbname)?;
        Ok("DROP DATABASE".into())
    }

    pub(super) fn create_extension(&mut self, statement: &ast::CreateExtensionStmt) -> Result<String> {
        if statement.extname == "plpgsql" {
            if statement.if_not_exists {
                self.notice(SqlState::DUPLICATE_OBJECT, "extension \"plpgsql\" already exists, skipping");
                return Ok("CREATE EXTENSION".into());
            }
            return Err(PgError::new(SqlState::DUPLICATE_OBJECT, "extension \"plpgsql\" already exists"));
        }
        Err(PgError::not_supported(format!("extension \"{}\"", statement.extname)))
    }
}

/// `SCRAM-SHA-256$iterations:salt$StoredKey:ServerKey` of a password, as PostgreSQL stores it (RFC 5802).
fn scram_verifier(password: &str) -> Result<String> {
    use base64::Engine as _;
    use sha2::{Digest, Sha256};
    const ITERATIONS: u32 = 4096;
    let mut salt = [0u8; 16];
    getrandom::fill(&mut salt).map_err(|e| PgError::internal(format!("random bytes: {e}")))?;
    let hmac = |key: &[u8], parts: &[&[u8]]| -> [u8; 32] {
        let mut block = [0u8; 64];
        if key.len() > 64 {
            block[..32].copy_from_slice(&Sha256::digest(key));
        } else {
            block[..key.len()].copy_from_slice(key);
        }
        let pad = |byte: u8| block.map(|b| b ^ byte);
        let mut inner = Sha256::new();
        inner.update(pad(0x36));
        parts.iter().for_each(|p| inner.update(p));
        let mut outer = Sha256::new();
        outer.update(pad(0x5c));
        outer.update(inner.finalize());
        outer.finalize().into()
    };
    // SASLprep leaves printable ASCII alone; other passwords are refused rather than stored so that nobody can log in.
    if !password.bytes().all(|b| (0x20..0x7f).contains(&b)) {
        return Err(PgError::not_supported("a password with characters outside ASCII"));
    }
    let mut block = hmac(password.as_bytes(), &[&salt, &1u32.to_be_bytes()]);
    let mut salted = block;
    for _ in 1..ITERATIONS {
        block = hmac(password.as_bytes(), &[&block]);
        salted.iter_mut().zip(block).for_each(|(s, b)| *s ^= b);
    }
    let stored: [u8; 32] = Sha256::digest(hmac(&salted, &[b"Client Key"])).into();
    let server = hmac(&salted, &[b"Server Key"]);
    let encode = |bytes: &[u8]| base64::engine::general_purpose::STANDARD.encode(bytes);
    Ok(format!("SCRAM-SHA-256${ITERATIONS}:{}${}:{}", encode(&salt), encode(&stored), encode(&server)))
}
