//! A PostgreSQL session: the interface between the protocol (crate `server`) and the engine.

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

/// How to open a database.
#[derive(Debug, Clone)]
pub struct EngineConfig {
    pub location: Location,
    /// What `current_database()` reports (the file's stem, or `main`).
    pub database: String,
    /// false: every session keeps one SQLite connection of its own.
    pub pooling: bool,
    /// Most SQLite connections leased at once for reading.
    pub pool_size: usize,
    /// How long a statement waits for a connection before 53300.
    pub pool_timeout: Duration,
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
    /// COPY … TO STDOUT begins with this many columns (`formats`: one per column).
    fn copy_out(&mut self, formats: &[Format]) -> Result<()>;
    /// One row (or header) of COPY … TO STDOUT, encoded.
    fn copy_data(&mut self, data: &[u8]) -> Result<Flow>;
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

/// Cancels what a session is running; cheap to clone, usable from any thread.
#[derive(Clone)]
pub struct CancelHandle {
    _private: (),
}

impl CancelHandle {
    /// The running statement (if any) ends with 57014.
    pub fn cancel(&self) {}
    /// The session ends with 57P01 at the next chance (pg_terminate_backend, shutdown).
    pub fn terminate(&self) {}
}

/// One database, shared by its sessions.
pub struct Engine {
    _private: (),
}

impl Engine {
    /// Opens or makes the database. Errors: 58P01/58000 for the file system, 55006 when another pgsqlite has it open,
    /// 0A000/XX001 for a file that is not a database or that a newer pgsqlite wrote.
    pub fn open(_config: EngineConfig) -> Result<Arc<Engine>> {
        Err(PgError::not_supported("opening a database"))
    }
    pub fn session(self: &Arc<Self>, _options: SessionOptions) -> Result<Session> {
        Err(PgError::not_supported("a session"))
    }
    /// The stored SCRAM verifier (`SCRAM-SHA-256$…`) of a role: Ok(None) if the role has none or does not exist.
    pub fn password_verifier(&self, _role: &str) -> Result<Option<String>> {
        Err(PgError::not_supported("roles"))
    }
    /// Waits for running statements, checkpoints and closes the WAL.
    pub async fn shutdown(&self) -> Result<()> {
        Ok(())
    }
}

/// A session. Dropping it rolls back and frees everything it holds.
pub struct Session {
    _private: (),
}

/// The statements of a simple-protocol query string, in turn.
pub struct Script {
    _private: (),
}

impl Session {
    // --- extended protocol -----------------------------------------------------------------------------------------
    /// Parse. `name` "" is the unnamed statement; 42P05 if a named one exists.
    pub async fn parse(&mut self, _name: &str, _text: &str, _parameter_types: &[Oid]) -> Result<()> {
        Err(PgError::not_supported("Parse"))
    }
    pub async fn describe_statement(&mut self, _name: &str) -> Result<StatementDescription> {
        Err(PgError::not_supported("Describe"))
    }
    /// Bind: decodes the parameters by the statement's types. `formats`/`result_formats` as in the protocol (0, 1 or n).
    pub async fn bind(
        &mut self,
        _portal: &str,
        _statement: &str,
        _formats: &[Format],
        _values: &[Option<&[u8]>],
        _result_formats: &[Format],
    ) -> Result<()> {
        Err(PgError::not_supported("Bind"))
    }
    /// The portal's columns (None: no rows) and, per column, its format.
    pub fn describe_portal(&self, _portal: &str) -> Result<Option<(Arc<[OutputColumn]>, Vec<Format>)>> {
        Err(PgError::not_supported("Describe"))
    }
    /// Execute, also to go on after `Suspended` or `Paused`. `max_rows` 0: all.
    pub async fn execute(&mut self, _portal: &str, _max_rows: u64, _sink: &mut dyn RowSink) -> Result<Execution> {
        Err(PgError::not_supported("Execute"))
    }
    pub fn close_statement(&mut self, _name: &str) -> Result<()> {
        Ok(())
    }
    pub fn close_portal(&mut self, _name: &str) -> Result<()> {
        Ok(())
    }
    /// Sync: ends the implicit transaction (commits, or rolls back after an error). An error here is sent before ReadyForQuery.
    pub async fn sync(&mut self) -> Result<()> {
        Ok(())
    }
    /// Told after every error sent to the client: the open transaction (block) is now failed.
    pub async fn failed(&mut self) {}

    // --- simple protocol -------------------------------------------------------------------------------------------
    /// Parses a whole query string (a syntax error anywhere runs nothing). Several statements form one implicit transaction.
    pub fn script(&mut self, _text: &str) -> Result<Script> {
        Err(PgError::not_supported("simple query"))
    }
    /// Runs the script's current statement, or goes on with it after `Paused` or a finished COPY. None: the script is done
    /// (call `sync` then).
    pub async fn execute_script(&mut self, _script: &mut Script, _sink: &mut dyn RowSink) -> Result<Option<Execution>> {
        Err(PgError::not_supported("simple query"))
    }

    // --- COPY FROM STDIN -------------------------------------------------------------------------------------------
    /// A piece of CopyData, cut anywhere.
    pub async fn copy_in_data(&mut self, _data: &[u8]) -> Result<()> {
        Err(PgError::not_supported("COPY"))
    }
    /// CopyDone: the command tag.
    pub async fn copy_in_done(&mut self) -> Result<String> {
        Err(PgError::not_supported("COPY"))
    }
    /// CopyFail: 57014 with the client's message.
    pub async fn copy_in_fail(&mut self, _message: &str) -> PgError {
        PgError::not_supported("COPY")
    }

    // --- state -----------------------------------------------------------------------------------------------------
    pub fn transaction_status(&self) -> TransactionStatus {
        TransactionStatus::Idle
    }
    /// Notices and warnings since the last call.
    pub fn take_notices(&mut self) -> Vec<PgError> {
        Vec::new()
    }
    /// Reported settings (GUC_REPORT) whose value changed since the last call; on a new session: all of them.
    pub fn take_parameter_changes(&mut self) -> Vec<(String, String)> {
        Vec::new()
    }
    /// Notifications due now (only outside a transaction).
    pub fn take_notifications(&mut self) -> Vec<Notification> {
        Vec::new()
    }
    /// Resolves when a notification, termination or idle_in_transaction/idle_session timeout needs the session's attention
    /// while the client is silent; Err: the session must end with this error.
    pub async fn wait_event(&mut self) -> Result<()> {
        std::future::pending().await
    }
    pub fn cancel_handle(&self) -> CancelHandle {
        CancelHandle { _private: () }
    }
    /// A setting's value as SHOW prints it.
    pub fn setting(&self, _name: &str) -> Option<String> {
        None
    }
}
