//! The shapes that pass between the protocol (crate `server`) and the engine.

use pgsqlite_types::codec::Context;
use pgsqlite_types::{DatumRef, Oid, PgError, Result};
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

/// The server's other databases, for CREATE DATABASE and pg_database.
#[derive(Clone)]
pub struct DatabasesHandle(pub Arc<dyn crate::ddl::DatabaseAdmin>);

impl std::fmt::Debug for DatabasesHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str("DatabasesHandle")
    }
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
    /// A transaction that reads while the log grows to so many bytes ends ([`super::log_limit`]). None: none does.
    pub log_limit: Option<u64>,
    /// None: the server serves this one file, databases cannot be made.
    pub databases: Option<DatabasesHandle>,
    /// How many of the pool's connections are kept for superusers.
    pub reserved_connections: usize,
    /// The folder in which COPY may read and write files; None: nowhere.
    pub server_files: Option<std::path::PathBuf>,
    /// A superuser that a new file has beside `postgres`.
    pub founder: Option<String>,
    /// where refused statements are logged; None: nowhere
    pub refused: Option<Arc<crate::statistics::refused::RefusedLog>>,
    /// shared by all databases of a server
    pub statistics: Arc<crate::statistics::Statistics>,
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
            log_limit: None,
            databases: None,
            founder: None,
            reserved_connections: 0,
            server_files: None,
            refused: None,
            statistics: Default::default(),
        }
    }
}

/// A prepared statement's text, to be looked at after an error: positions in errors count in it.
pub struct StatementSource(pub(crate) Arc<super::plans::Prepared>);

impl StatementSource {
    /// The text with blanks for what stood before the statement, so that locations fit.
    pub fn text(&self) -> String {
        let raw = &self.0.statement;
        format!("{}{}", " ".repeat(raw.offset), raw.text)
    }
}

/// Looks after a session's client while the session waits.
pub trait ClientWatch: Send + Sync {
    /// Resolves when the client has gone away.
    fn gone(&self) -> std::pin::Pin<Box<dyn std::future::Future<Output = ()> + Send>>;
}

/// What a client says of itself at connection start.
#[derive(Debug, Clone, Default)]
pub struct SessionOptions {
    pub user: String,
    pub database: String,
    /// Settings of the startup packet (`application_name`, `client_encoding`, `options=-c …` already split).
    pub settings: Vec<(String, String)>,
    /// What `pg_backend_pid()` reports; the key of cancel requests.
    pub backend_pid: i32,
    /// What `inet_client_addr()` and `pg_stat_activity` report; None on a Unix socket.
    pub client_addr: Option<std::net::SocketAddr>,
    /// What SHOW says of the server's own settings (`port`, `max_connections` …), as it was started.
    pub server_settings: Arc<[(&'static str, String)]>,
    /// Who answers `pg_reload_conf()` and shows the rules of who may come in.
    pub host: HostHandle,
}

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

/// One column of a result: what RowDescription says.
#[derive(Debug, Clone, PartialEq)]
pub struct OutputColumn {
    pub name: String,
    pub type_oid: Oid,
    pub type_len: i16,
    pub typmod: i32,
    /// The table and attribute number the column comes from; 0 if it is an expression.
    pub table_oid: Oid,
    pub attnum: i16,
    pub codec: pgsqlite_types::codec::TypeCodec,
}

/// What ParameterDescription and RowDescription say of a prepared statement.
#[derive(Debug, Clone)]
pub struct StatementDescription {
    pub parameters: Vec<Oid>,
    /// None: the statement returns no rows (NoData).
    pub columns: Option<Arc<[OutputColumn]>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Text,
    Binary,
}

/// A row as SQLite has it: valid until the next one.
pub trait Row {
    fn value(&self, column: usize) -> DatumRef<'_>;
}

/// What a sink wants after a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    Continue,
    /// The sink's buffer is full: the session returns [`Execution::Paused`]; flush and call `execute` again.
    Pause,
}

/// Who takes the rows. The engine never collects a result.
pub trait RowSink: Send {
    /// Called once before the first row of every statement that returns rows (the simple protocol sends
    /// RowDescription here; the extended one has sent it on Describe and ignores it).
    fn columns(&mut self, columns: &Arc<[OutputColumn]>) -> Result<()>;
    fn row(&mut self, row: &dyn Row, context: &Context) -> Result<Flow>;
    /// Whether it takes rows of several results for one statement (the simple protocol does).
    fn takes_rows_aside(&self) -> bool {
        false
    }
    /// Whether whole answers to earlier queries wait in it to be sent. What may take long asks for a pause before it begins.
    fn holds_answers(&self) -> bool {
        false
    }
    /// The position of the next row in the output, for [`RowSink::take_back`]. None: rows cannot be taken back.
    fn mark(&self) -> Option<usize> {
        None
    }
    /// Removes the rows that were added since [`RowSink::mark`] returned `mark`.
    fn take_back(&mut self, _mark: usize) {}
    /// COPY … TO STDOUT begins with this many columns (`formats`: one per column).
    fn copy_out(&mut self, _formats: &[Format]) -> Result<()> {
        Err(takes_no_copy())
    }
    /// One row (or header) of COPY … TO STDOUT, encoded.
    fn copy_data(&mut self, _data: &[u8]) -> Result<Flow> {
        Err(takes_no_copy())
    }
    /// The same in the binary format: its texts are in the client's encoding already.
    fn copy_binary(&mut self, data: &[u8]) -> Result<Flow> {
        self.copy_data(data)
    }
    /// The rows of COPY … TO STDOUT are complete.
    fn copy_done(&mut self) -> Result<()> {
        Err(takes_no_copy())
    }
}

/// COPY … TO STDOUT goes to sinks that take its data: the protocol's.
fn takes_no_copy() -> PgError {
    PgError::internal("COPY to a sink of rows alone")
}

/// Where the execution of a statement stands.
#[derive(Debug)]
pub enum Execution {
    /// Done; the command tag (`INSERT 0 1`).
    Complete(String),
    /// The statement string was empty (EmptyQueryResponse).
    Empty,
    /// The row limit was reached (PortalSuspended).
    Suspended,
    /// The sink asked to pause: flush, then call again with the same portal.
    Paused,
    /// COPY … FROM STDIN waits for data: `copy_in_data`, then `copy_in_done` or `copy_in_fail`.
    CopyIn { formats: Vec<Format> },
}

/// `I`, `T` or `E` of ReadyForQuery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransactionStatus {
    Idle,
    InTransaction,
    Failed,
}

/// An asynchronous message of NOTIFY.
#[derive(Debug, Clone)]
pub struct Notification {
    pub pid: i32,
    pub channel: String,
    pub payload: String,
}
