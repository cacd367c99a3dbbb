//! The shapes that pass between the protocol (crate `server`) and the engine.

use crate::plans::OutputColumn;
use pgsqlite_natives::host::HostHandle;
use pgsqlite_types::codec::Context;
use pgsqlite_types::{DatumRef, Oid, PgError, Result};
use std::sync::Arc;

/// A prepared statement's text, to be looked at after an error: positions in errors count in it.
pub struct StatementSource(pub(crate) Arc<crate::plans::Prepared>);

impl StatementSource {
    /// The text with blanks for what stood before the statement, so that locations fit.
    pub fn text(&self) -> String {
        let raw = &self.0.statement;
        format!("{}{}", " ".repeat(raw.offset), raw.text)
    }
}

/// A future whose code is compiled in this crate, once. The code of an `async fn` is compiled by each crate that awaits it, with all that it
/// awaits in turn: what crates above call, and what carries out statements, is boxed.
pub type BoxFuture<'a, T> = std::pin::Pin<Box<dyn std::future::Future<Output = T> + Send + 'a>>;

/// Looks after a session's client while the session waits.
pub trait ClientWatch: Send + Sync {
    /// Resolves when the client has gone away.
    fn gone(&self) -> BoxFuture<'static, ()>;

    /// Whether the client has gone away. It does not wait.
    fn is_gone(&self) -> bool;
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
    /// What `pg_stat_ssl` says of the connection; None: it is not encrypted.
    pub encryption: Option<Arc<pgsqlite_natives::statistics::activity::Encryption>>,
    /// What SHOW says of the server's own settings (`port`, `max_connections` …), as it was started.
    pub server_settings: Arc<[(&'static str, String)]>,
    /// Who answers `pg_reload_conf()` and shows the rules of who may come in.
    pub host: HostHandle,
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
    /// Whether what functions raise while a row is computed is to be given before the row. Else it comes when the statement ends.
    fn takes_notices(&self) -> bool {
        false
    }
    /// A notice or warning, for [`RowSink::takes_notices`].
    fn notice(&mut self, _notice: &PgError) {}
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
