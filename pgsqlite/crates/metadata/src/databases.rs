//! The server's other databases.

use crate::store::{self, sqlite_error};
use pgsqlite_sql::catalog::{DatabaseProperties, Role, BOOTSTRAP_ROLE};
use pgsqlite_types::work;
use pgsqlite_types::{Oid, Result};
use rusqlite::Connection;
use std::sync::Arc;

/// Makes and removes databases: the server's part of CREATE DATABASE and DROP DATABASE.
pub trait DatabaseAdmin: Send + Sync {
    /// Makes an empty database, or a copy of `template`. Errors: 42P04 if it exists, 3D000 if the template does not.
    fn create(&self, name: &str, template: Option<&str>, founder: &Founder) -> Result<()>;
    /// `force`: sessions that use it are ended. Errors: 3D000 if it does not exist, 55006 if it is in use.
    fn drop(&self, name: &str, force: bool) -> Result<()>;
    /// Errors: 42P04, 3D000, 55006 as above.
    fn rename(&self, name: &str, new_name: &str) -> Result<()>;
    /// The names of all databases, sorted.
    fn list(&self) -> Vec<String>;
    /// Runs a statement about a database in a session of its own there, as its first superuser; it is committed at once. Errors: 3D000, those
    /// of the statement, 55P03 where the database's writer does not become free.
    fn configure(&self, name: &str, statement: &str) -> Result<()>;
    /// What the file of one of them says. Errors: 3D000, what SQLite says of it.
    fn look(&self, name: &str) -> Result<crate::store::other::Other>;
    /// What the file of one of them has recorded of a transaction. Errors: as of `look`.
    fn recorded(&self, name: &str, transaction: u64) -> Result<crate::store::transactions::Recorded>;
}

/// The server's other databases, for CREATE DATABASE and pg_database.
#[derive(Clone)]
pub struct DatabasesHandle(pub Arc<dyn DatabaseAdmin>);

impl std::fmt::Debug for DatabasesHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str("DatabasesHandle")
    }
}

/// What a new database takes over from the one in which CREATE DATABASE ran: PostgreSQL's roles are a cluster's, here each
/// file has its own.
pub struct Founder {
    /// the roles of the database in which CREATE DATABASE ran
    pub roles: Vec<Role>,
    /// the new database's owner
    pub owner: Oid,
}

impl Founder {
    /// Stores the roles and the owner in a new database file. That is not synced: whoever gives the file its name does it.
    pub fn found(&self, file: &std::path::Path) -> Result<()> {
        let conn = Connection::open(file).map_err(|e| pgsqlite_storage::error::open_error(file, e))?;
        conn.execute_batch("PRAGMA synchronous = OFF; BEGIN IMMEDIATE").map_err(sqlite_error)?;
        let mut catalog = store::load(&conn)?;
        for role in &self.roles {
            work::visit();
            catalog.roles.insert(role.oid, Arc::new(role.clone()));
        }
        store::init(&conn, &catalog)?;
        for role in self.roles.iter().filter(|r| r.oid >= store::base::FOUNDER_ROLE || r.oid == BOOTSTRAP_ROLE) {
            work::visit();
            store::storing::put_role(&conn, role)?;
        }
        let properties = DatabaseProperties { owner: self.owner, ..catalog.properties.clone() };
        store::storing::put_properties(&conn, &properties)?;
        conn.execute_batch("COMMIT").map_err(sqlite_error)
    }
}
