//! How a database is opened.

use pgsqlite_metadata::databases::DatabasesHandle;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Where a database lives.
#[derive(Debug, Clone)]
pub enum Location {
    File(PathBuf),
    /// A private in-memory database, gone with the engine.
    Memory,
}

/// How to open a database.
#[derive(Debug, Clone)]
pub struct EngineConfig {
    pub location: Location,
    /// The database's name (the file's stem). Where `databases` is None, a client may also connect to it as `main`.
    pub database: String,
    /// false: every session keeps one SQLite connection of its own.
    pub pooling: bool,
    /// Most SQLite connections leased at once, whether for a statement or for a transaction.
    pub pool_size: usize,
    /// How long a statement waits for a connection before 53300.
    pub pool_timeout: Duration,
    /// A session whose client is silent in a transaction that has the writer slot ends after this time, if others wait for the slot.
    /// None: never.
    pub idle_writer_timeout: Option<Duration>,
    /// A session of a role that is no superuser ends after others have waited for so long for its transaction that has the writer slot.
    /// None: never.
    pub writer_timeout: Option<Duration>,
    /// A transaction whose client is silent is put aside at once, whether or not another wants to write: for tests.
    pub puts_aside: bool,
    /// The catalog is read from the file before each statement, as after another program's change of the schema: for tests.
    pub rereads: bool,
    /// Servers share the database's archive: commits wait for it, and nothing is shown that it does not have, while this one is the primary.
    pub lease: bool,
    /// A transaction that reads while the log grows to so many bytes ends (`--log-limit`). None: none does.
    pub log_limit: Option<u64>,
    /// None: the server serves this one file, databases cannot be made.
    pub databases: Option<DatabasesHandle>,
    /// So many transactions may be prepared at once (`max_prepared_transactions`). 0: PREPARE TRANSACTION is refused.
    pub max_prepared: usize,
    /// How many of the pool's connections are kept for superusers.
    pub reserved_connections: usize,
    /// The folder in which COPY may read and write files; None: nowhere.
    pub server_files: Option<std::path::PathBuf>,
    /// A superuser that a new file has beside `postgres`.
    pub founder: Option<String>,
    /// where refused statements are logged; None: nowhere
    pub refused: Option<Arc<pgsqlite_natives::statistics::refused::RefusedLog>>,
    /// how far the database has come, where its changes come from another server; None: it is a primary's
    pub recovery: Option<Arc<pgsqlite_natives::recovery::Recovery>>,
    /// shared by all databases of a server
    pub statistics: Arc<pgsqlite_natives::statistics::Statistics>,
}

impl EngineConfig {
    /// A database by itself, with a pool of a hundred connections.
    pub fn new(location: Location, database: &str) -> EngineConfig {
        EngineConfig {
            location,
            database: database.into(),
            pooling: true,
            pool_size: 100,
            pool_timeout: Duration::from_secs(30),
            idle_writer_timeout: None,
            writer_timeout: None,
            puts_aside: false,
            rereads: false,
            lease: false,
            log_limit: None,
            databases: None,
            founder: None,
            max_prepared: 64,
            reserved_connections: 0,
            server_files: None,
            refused: None,
            recovery: None,
            statistics: Default::default(),
        }
    }
}
