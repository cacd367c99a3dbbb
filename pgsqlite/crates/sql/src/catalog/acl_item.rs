//! What GRANT stores beside an object.

use pgsqlite_types::Oid;
use serde::{Deserialize, Serialize};

/// The grantee PUBLIC.
pub const PUBLIC_ROLE: Oid = 0;

/// Privileges as bits, in the order in which PostgreSQL prints their letters.
pub mod privilege {
    pub const INSERT: u32 = 1 << 0;
    pub const SELECT: u32 = 1 << 1;
    pub const UPDATE: u32 = 1 << 2;
    pub const DELETE: u32 = 1 << 3;
    pub const TRUNCATE: u32 = 1 << 4;
    pub const REFERENCES: u32 = 1 << 5;
    pub const TRIGGER: u32 = 1 << 6;
    pub const EXECUTE: u32 = 1 << 7;
    pub const USAGE: u32 = 1 << 8;
    pub const CREATE: u32 = 1 << 9;
    pub const TEMPORARY: u32 = 1 << 10;
    pub const CONNECT: u32 = 1 << 11;
    pub const MAINTAIN: u32 = 1 << 14;
    /// letter and SQL word of each, from bit 0
    pub const NAMES: [(char, &str); 15] = [
        ('a', "INSERT"),
        ('r', "SELECT"),
        ('w', "UPDATE"),
        ('d', "DELETE"),
        ('D', "TRUNCATE"),
        ('x', "REFERENCES"),
        ('t', "TRIGGER"),
        ('X', "EXECUTE"),
        ('U', "USAGE"),
        ('C', "CREATE"),
        ('T', "TEMPORARY"),
        ('c', "CONNECT"),
        ('s', "SET"),
        ('A', "ALTER SYSTEM"),
        ('m', "MAINTAIN"),
    ];
}

/// One grantee's privileges by one grantor: an `aclitem`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AclItem {
    /// [`PUBLIC_ROLE`]: everybody
    pub grantee: Oid,
    pub grantor: Oid,
    /// bits of [`privilege`]
    pub privileges: u32,
    /// those of them that the grantee may grant on
    #[serde(default)]
    pub grant_options: u32,
}
