//! Roles, and what the database itself has of them: owner, default privileges, settings.

use super::acl_item::AclItem;
use super::BOOTSTRAP_ROLE;
use pgsqlite_types::Oid;
use serde::{Deserialize, Serialize};

/// One role's membership in another: a row of `pg_auth_members`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Membership {
    /// the role it is a member of
    pub role: Oid,
    pub grantor: Oid,
    pub admin: bool,
    /// The member has the role's rights by itself. None: as the member's INHERIT says (files of earlier versions).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inherit: Option<bool>,
    /// The member may become the role by SET ROLE.
    #[serde(default = "yes")]
    pub set: bool,
}

fn yes() -> bool {
    true
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Role {
    pub oid: Oid,
    pub name: String,
    pub superuser: bool,
    pub inherit: bool,
    pub create_role: bool,
    pub create_db: bool,
    pub login: bool,
    pub replication: bool,
    pub bypass_rls: bool,
    pub connection_limit: i32,
    /// SCRAM verifier
    pub password: Option<String>,
    pub valid_until: Option<String>,
    #[serde(default)]
    pub memberships: Vec<Membership>,
    /// ALTER ROLE … SET: (name, value)
    #[serde(default)]
    pub settings: Vec<(String, String)>,
}

impl Role {
    /// Whether it has by itself the rights that a membership of its own is about.
    pub fn inherits_by(&self, membership: &Membership) -> bool {
        membership.inherit.unwrap_or(self.inherit)
    }

    /// Its memberships say themselves whether they pass rights on: a change of INHERIT is about those to come.
    pub fn settle_memberships(&mut self) {
        let inherit = self.inherit;
        self.memberships.iter_mut().for_each(|m| {
            m.inherit.get_or_insert(inherit);
        });
    }
}

/// What is kept of the database itself: its row of `pg_database`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DatabaseProperties {
    pub owner: Oid,
    /// None: PostgreSQL's default privileges
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acl: Option<Vec<AclItem>>,
    /// ALTER DATABASE … SET: (name, value)
    #[serde(default)]
    pub settings: Vec<(String, String)>,
    /// ALTER DEFAULT PRIVILEGES
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub default_acls: Vec<DefaultAcl>,
}

/// What new objects of a role grant by themselves: a row of `pg_default_acl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DefaultAcl {
    pub oid: Oid,
    pub role: Oid,
    /// 0: in every schema
    pub schema: Oid,
    /// as `defaclobjtype`: `r` tables and views, `S` sequences, `f` functions, `T` types, `n` schemas
    pub object: char,
    pub acl: Vec<AclItem>,
}

impl Default for DatabaseProperties {
    fn default() -> Self {
        DatabaseProperties { owner: BOOTSTRAP_ROLE, acl: None, settings: Vec::new(), default_acls: Vec::new() }
    }
}
