//! What the server is told by flags, environment and file.

pub use crate::hba::Auth;
use crate::hba::{Maps, Rules};
use std::path::PathBuf;
use std::time::Duration;

/// Where the databases are.
#[derive(Debug, Clone)]
pub enum Databases {
    /// one file, whatever database name a client gives
    File(PathBuf),
    /// one private database in memory
    Memory,
    /// `name` means DIR/name.db
    Directory(PathBuf),
}

#[derive(Debug, Clone)]
pub struct Config {
    pub databases: Databases,
    pub host: String,
    pub port: u16,
    /// where Informix clients (SQLI) are listened to; None: nowhere
    pub sqli_port: Option<u16>,
    pub socket_dir: Option<PathBuf>,
    pub tcp: bool,
    /// None: trust on loopback and Unix sockets, and nothing else is listened on
    pub auth: Option<Auth>,
    /// `--hba`: the rules of a file, in the place of `auth`
    pub hba: Option<Rules>,
    /// `--ident`: which users of the operating system and of certificates may be which role
    pub maps: Option<Maps>,
    /// the folder in which COPY may read and write files; None: nowhere
    pub server_files: Option<PathBuf>,
    /// certificate chain and key, PEM
    pub tls: Option<Tls>,
    /// the certificates of the authorities that sign those of clients, PEM; None: clients are not asked for any
    pub tls_client_ca: Option<PathBuf>,
    /// TCP connections without TLS are refused
    pub require_tls: bool,
    /// a superuser that new files have beside `postgres`; None: none
    pub founder: Option<String>,
    pub pooling: bool,
    pub pool_size: usize,
    pub pool_timeout: Duration,
    /// a session whose client is silent in a transaction that has written ends after this time, if others wait to write; None: never
    pub idle_writer_timeout: Option<Duration>,
    /// a session of a role that is no superuser ends after others have waited so long to write for its transaction; None: never
    pub writer_timeout: Option<Duration>,
    /// the transaction of each silent client is put aside at once: for tests
    pub puts_aside: bool,
    /// the catalog is read from the file before each statement: for tests
    pub rereads: bool,
    /// how many bytes a database's log may have while a transaction keeps it from beginning anew; None: any number
    pub log_limit: Option<u64>,
    /// where each database's changes are copied to a place of its own; None: they are not
    pub archive: Option<pgsqlite_replication::place::Place>,
    /// what the archives keep
    pub archive_policy: pgsqlite_replication::levels::Policy,
    /// servers share the archive, and the one that has its lease is the primary; None: there is no lease
    pub lease: Option<crate::failover::LeaseConfig>,
    /// what the databases follow; None: they are a primary's
    pub standby: Option<crate::standby::Source>,
    /// so many standbys may follow over connections; 0: none
    pub max_wal_senders: usize,
    /// so many bytes of changes are kept for standbys that are behind, by database
    pub wal_keep_size: u64,
    /// other programs write the databases' logs back (`--checkpoints external`)
    pub checkpoints_left: bool,
    /// the file to which each error 0A000 and XX000 is appended as a line of JSON; None: none
    pub log_refused: Option<PathBuf>,
    pub max_connections: usize,
    /// so many transactions may be prepared at once in a database; 0: none
    pub max_prepared: usize,
    /// the last of `max_connections` are for superusers
    pub reserved_connections: usize,
    /// a client must be let in by then
    pub authentication_timeout: Duration,
    /// a client that takes nothing of its result for this long is given up (None: never)
    pub send_timeout: Option<Duration>,
    /// so long the thread of a busy session may poll for the next message before it sleeps (zero: never)
    pub busy_poll: Duration,
    /// how long running statements may go on after the server was told to stop
    pub shutdown_timeout: Duration,
    /// the program stops the server when its standard input ends
    pub stop_with_input: bool,
    /// `host:port` where metrics are served; None: nowhere
    pub metrics_addr: Option<String>,
    /// `host:port` where the status page is served; None: nowhere
    pub status_addr: Option<String>,
    /// statements that take at least so long are logged (`log_min_duration_statement`); None: only where a session's settings say so
    pub log_min_duration: Option<Duration>,
}

#[derive(Debug, Clone)]
pub enum Tls {
    Files { cert: PathBuf, key: PathBuf },
    SelfSigned,
}
