//! The program that serves the database, as far as SQL may ask it.

use pgsqlite_types::Result;
use std::sync::Arc;

/// The program that serves the database, as far as SQL may ask it.
pub trait Host: Send + Sync {
    /// Begins to read the configuration again. Returns at once.
    fn reload(&self);
    /// What the file with the rules of who may come in has now. Errors: 58P01 where it cannot be read.
    fn hba_file_rules(&self) -> Result<Vec<HbaFileRule>>;
    /// What the file with the maps of user names has now. Errors: 58P01 where it cannot be read.
    fn ident_file_mappings(&self) -> Result<Vec<IdentFileMapping>>;
}

/// A row of pg_hba_file_rules.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct HbaFileRule {
    /// None: the rule stands for a flag.
    pub line: Option<i64>,
    pub kind: Option<&'static str>,
    pub databases: Option<Vec<String>>,
    pub users: Option<Vec<String>>,
    pub address: Option<String>,
    pub netmask: Option<String>,
    pub method: Option<&'static str>,
    pub options: Option<Vec<String>>,
    pub error: Option<String>,
}

/// A row of pg_ident_file_mappings.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct IdentFileMapping {
    pub line: i64,
    pub map: Option<String>,
    pub system_user: Option<String>,
    pub role: Option<String>,
    pub error: Option<String>,
}

/// The program that serves the database; in a Rust program that uses the engine as a library there may be none.
#[derive(Clone, Default)]
pub struct HostHandle(pub Option<Arc<dyn Host>>);

impl std::fmt::Debug for HostHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("HostHandle").field(&self.0.is_some()).finish()
    }
}
