//! pgsqlite: flags, environment and configuration file → a running server.
//!
//! A flag wins over the environment, the environment over the file, the file over the default.

mod archive;
mod cluster;
mod completions;
mod demo;
mod exec;
mod greeting;
mod import;
mod inspect;
mod logging;
mod memory_limit;
mod offline;
mod progress;
mod promote;
mod user;

use anyhow::Context;
use clap::parser::ValueSource;
use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use pgsqlite_replication::levels::Policy;
use pgsqlite_server::config::{Auth, Config, Databases, Tls};
use pgsqlite_server::failover::{self, begin_again, is_deposed, LeaseConfig};
use pgsqlite_server::hba::{Maps, Offered, Rules};
use pgsqlite_server::standby::conninfo::{self, Conninfo};
use pgsqlite_server::standby::Source;
use pgsqlite_server::Server;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

#[global_allocator]
static ALLOCATOR: pgsqlite_memory::Accounting = pgsqlite_memory::Accounting;

/// A PostgreSQL server over an ordinary SQLite file.
///
/// Every flag can also be given as an environment variable (shown in brackets) or, as in `socket_dir`, in the TOML file
/// that --config names.
#[derive(Parser, Debug)]
#[command(version, max_term_width = 100, args_conflicts_with_subcommands = true)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    flags: Flags,
}

#[derive(Subcommand, Debug)]
enum Command {
    Exec(exec::ExecCommand),
    Import(import::ImportCommand),
    Info(inspect::InfoCommand),
    Check(inspect::CheckCommand),
    Upgrade(inspect::UpgradeCommand),
    Restore(archive::RestoreCommand),
    Verify(archive::VerifyCommand),
    Promote(promote::PromoteCommand),
    Cluster(cluster::ClusterCommand),
    User(user::UserCommand),
    Demo(demo::DemoCommand),
    Completions(completions::CompletionsCommand),
    Man(completions::ManCommand),
}

#[derive(clap::Args, Debug)]
struct Flags {
    /// Serve this SQLite file, whatever database name a client gives, and make it if it does not exist
    #[arg(long, env = "PGSQLITE_DATABASE", value_name = "FILE")]
    database: Option<PathBuf>,
    /// Serve a private database in memory, which is gone when the server stops
    #[arg(long, env = "PGSQLITE_IN_MEMORY", value_parser = clap::builder::BoolishValueParser::new())]
    in_memory: bool,
    /// Serve a folder of files: database `name` is DIR/name.db
    #[arg(long, env = "PGSQLITE_DATA_DIR", value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// Address to listen on [default: localhost]
    #[arg(long, env = "PGSQLITE_HOST")]
    host: Option<String>,
    /// Port to listen on, which also names the Unix socket: .s.PGSQL.5432; 0 is any free one, which is printed [default: 5432]
    #[arg(long, env = "PGSQLITE_PORT")]
    port: Option<u16>,
    /// Port for Informix clients (SQLI); Informix itself uses 9088 [default: none]
    #[arg(long, env = "PGSQLITE_SQLI_PORT", value_name = "PORT")]
    sqli_port: Option<u16>,
    /// Folder of the Unix socket [default: /tmp]
    #[arg(long, env = "PGSQLITE_SOCKET_DIR", value_name = "DIR")]
    socket_dir: Option<PathBuf>,
    /// Listen on the Unix socket only
    #[arg(long, env = "PGSQLITE_NO_TCP", value_parser = clap::builder::BoolishValueParser::new())]
    no_tcp: bool,
    /// How clients prove who they are [default: trust, and the server listens on loopback addresses and the Unix socket only]
    #[arg(long, env = "PGSQLITE_AUTH", value_enum)]
    auth: Option<AuthFlag>,
    /// File of rules, instead of --auth, that say who may connect from where, in the syntax of pg_hba.conf; methods: trust, reject, scram-sha-256, peer, cert
    #[arg(long, env = "PGSQLITE_HBA", value_name = "FILE")]
    hba: Option<PathBuf>,
    /// File of maps from users of the operating system, and from certificates, to roles, in the syntax of pg_ident.conf (with --hba)
    #[arg(long, env = "PGSQLITE_IDENT", value_name = "FILE")]
    ident: Option<PathBuf>,
    /// Folder in which superusers may COPY from and to files of the server [default: none]
    #[arg(long, env = "PGSQLITE_SERVER_FILES", value_name = "DIR")]
    server_files: Option<PathBuf>,
    /// Name of the superuser that a new file has beside `postgres` [default: the operating system's user]
    #[arg(long, env = "PGSQLITE_SUPERUSER", value_name = "NAME")]
    superuser: Option<String>,
    /// TLS certificate chain, PEM (with --tls-key)
    #[arg(long, env = "PGSQLITE_TLS_CERT", value_name = "FILE")]
    tls_cert: Option<PathBuf>,
    /// TLS private key, PEM
    #[arg(long, env = "PGSQLITE_TLS_KEY", value_name = "FILE")]
    tls_key: Option<PathBuf>,
    /// Certificates of authorities, PEM: the server asks clients for certificates that one of them has signed (for rules of --hba)
    #[arg(long, env = "PGSQLITE_TLS_CA", value_name = "FILE")]
    tls_ca: Option<PathBuf>,
    /// Offer TLS with a certificate made at start
    #[arg(long, env = "PGSQLITE_TLS_SELF_SIGNED", value_parser = clap::builder::BoolishValueParser::new())]
    tls_self_signed: bool,
    /// Lease SQLite connections from a pool (true), or give every session one of its own (false) [default: true]
    #[arg(long, env = "PGSQLITE_USE_POOLING", value_name = "BOOL", value_parser = clap::builder::BoolishValueParser::new())]
    use_pooling: Option<bool>,
    /// Largest number of SQLite connections in use; a session leases one for a statement or a transaction [default: 100]
    #[arg(long, env = "PGSQLITE_POOL_SIZE", value_name = "N")]
    pool_size: Option<usize>,
    /// Seconds a statement waits for a free connection before it fails with 53300 [default: 30]
    #[arg(long, env = "PGSQLITE_POOL_TIMEOUT", value_name = "SECONDS")]
    pool_timeout: Option<u64>,
    /// Seconds that a client may be silent in a transaction that keeps others from writing; then its session ends (25P03). 0: no
    /// limit [default: 60]
    #[arg(long, env = "PGSQLITE_IDLE_WRITER_TIMEOUT", value_name = "SECONDS")]
    idle_writer_timeout: Option<u64>,
    /// Seconds that others may wait, in sum, for one transaction to let them write; then its session ends (25P04), unless its role is a
    /// superuser. 0: no limit [default: 300]
    #[arg(long, env = "PGSQLITE_WRITER_TIMEOUT", value_name = "SECONDS")]
    writer_timeout: Option<u64>,
    /// Put the transaction of each silent client aside at once, also while nobody else wants to write: for tests
    #[arg(long, env = "PGSQLITE_PUT_ASIDE", hide = true, value_parser = clap::builder::BoolishValueParser::new())]
    put_aside: bool,
    /// Read the catalog from the file before each statement, as after another program's change of the schema: for tests
    #[arg(long, env = "PGSQLITE_REREAD", hide = true, value_parser = clap::builder::BoolishValueParser::new())]
    reread: bool,
    /// MiB that a database's write-ahead log may have before the transaction that has read for longest, and so keeps the log, fails
    /// with 72000. 0: no limit [default: 8192]
    #[arg(long, env = "PGSQLITE_LOG_LIMIT", value_name = "MIB")]
    log_limit: Option<u64>,
    /// Who writes a database's write-ahead log back into its file: the server, or another program that replicates the log [default: own]
    #[arg(long, env = "PGSQLITE_CHECKPOINTS", value_enum)]
    checkpoints: Option<CheckpointsFlag>,
    /// Write copies of all changes to this URL within about a second: file:PATH, s3://BUCKET/PREFIX, gs://BUCKET/PREFIX or az://CONTAINER/PREFIX. Each database has a folder of its own there [default: none]
    #[arg(long, env = "PGSQLITE_ARCHIVE", value_name = "URL")]
    archive: Option<String>,
    /// Hours for which the archive keeps earlier states of a database [default: 168]
    #[arg(long, env = "PGSQLITE_ARCHIVE_RETENTION", value_name = "HOURS")]
    archive_retention: Option<u64>,
    /// Hours between copies of the whole database in the archive [default: 24]
    #[arg(long, env = "PGSQLITE_ARCHIVE_SNAPSHOTS", value_name = "HOURS")]
    archive_snapshots: Option<u64>,
    /// Seconds for which the lease of the archive lasts: several servers have one archive, in a bucket, and the one that has its lease is the primary; the others follow, and one of them takes the lease when it is not renewed for so long. Commits wait for the archive [default: no lease]
    #[arg(long, env = "PGSQLITE_LEASE", value_name = "SECONDS")]
    lease: Option<u64>,
    /// Keep the database together with other servers, so that each change is on a majority of them before it is acknowledged, and one of them goes on when the primary fails: all nodes, in the same order everywhere, NAME=HOST:PORT,NAME=HOST:PORT,NAME=HOST:PORT. The node is made first (`pgsqlite cluster`) [default: none]
    #[arg(long, env = "PGSQLITE_CLUSTER", value_name = "NODES")]
    cluster: Option<String>,
    /// This node's certificate, PEM, in which its name is: the nodes of a cluster on several machines know each other by certificates
    #[arg(long, env = "PGSQLITE_CLUSTER_CERT", value_name = "FILE")]
    cluster_cert: Option<PathBuf>,
    /// Its private key, PEM
    #[arg(long, env = "PGSQLITE_CLUSTER_KEY", value_name = "FILE")]
    cluster_key: Option<PathBuf>,
    /// The authority that has signed the certificates of all nodes, PEM
    #[arg(long, env = "PGSQLITE_CLUSTER_CA", value_name = "FILE")]
    cluster_ca: Option<PathBuf>,
    /// Name of this server in the lease, or which node of the cluster it is [default: the machine's name]
    #[arg(long, env = "PGSQLITE_NODE_NAME", value_name = "NAME")]
    node_name: Option<String>,
    /// Follow another server, and serve readers, until the server is promoted: over a connection (postgresql://USER@HOST:PORT,HOST:PORT/DATABASE; the other has --max-wal-senders), or by the archive that it writes (the URL of its --archive) [default: none]
    #[arg(long, env = "PGSQLITE_STANDBY", value_name = "URL")]
    standby: Option<String>,
    /// Largest number of standbys that follow this server over connections (their --standby). With it a database's write-ahead log stays beside its file when the server stops. 0: none [default: 0]
    #[arg(long, env = "PGSQLITE_MAX_WAL_SENDERS", value_name = "N")]
    max_wal_senders: Option<usize>,
    /// MiB of changes that are kept, for each database, for such standbys that are slow or away; one that is further behind is sent a copy of the database [default: 64]
    #[arg(long, env = "PGSQLITE_WAL_KEEP_SIZE", value_name = "MIB")]
    wal_keep_size: Option<u64>,
    /// Append each statement that fails with 0A000 (not implemented) or XX000 (a defect) to this file, as a line of JSON
    #[arg(long, env = "PGSQLITE_LOG_REFUSED", value_name = "FILE")]
    log_refused: Option<PathBuf>,
    /// Refuse TCP connections without TLS (with --tls-cert or --tls-self-signed)
    #[arg(long, env = "PGSQLITE_REQUIRE_TLS", value_parser = clap::builder::BoolishValueParser::new())]
    require_tls: bool,
    /// Largest number of clients [default: 1000]
    #[arg(long, env = "PGSQLITE_MAX_CONNECTIONS", value_name = "N")]
    max_connections: Option<usize>,
    /// Number of the --max-connections that are reserved for superusers [default: 3]
    #[arg(long, env = "PGSQLITE_RESERVED_CONNECTIONS", value_name = "N")]
    reserved_connections: Option<usize>,
    /// Largest number of prepared transactions in a database (PREPARE TRANSACTION). 0: none [default: 64]
    #[arg(long, env = "PGSQLITE_MAX_PREPARED_TRANSACTIONS", value_name = "N")]
    max_prepared_transactions: Option<usize>,
    /// Seconds a client has to connect and authenticate [default: 60]
    #[arg(long, env = "PGSQLITE_AUTHENTICATION_TIMEOUT", value_name = "SECONDS")]
    authentication_timeout: Option<u64>,
    /// Seconds that a client may leave its result unread; then its session ends. 0: no limit [default: 300]
    #[arg(long, env = "PGSQLITE_SEND_TIMEOUT", value_name = "SECONDS")]
    send_timeout: Option<u64>,
    /// Microseconds that a busy session's thread polls for the next message before it sleeps. 0: it sleeps at once [default: 50]
    #[arg(long, env = "PGSQLITE_BUSY_POLL", value_name = "MICROSECONDS")]
    busy_poll: Option<u64>,
    /// Seconds that running statements may take to end after SIGTERM [default: 30]
    #[arg(long, env = "PGSQLITE_SHUTDOWN_TIMEOUT", value_name = "SECONDS")]
    shutdown_timeout: Option<u64>,
    /// Stop when standard input ends, so that the server ends with the program that started it
    #[arg(long, env = "PGSQLITE_STOP_WITH_INPUT", value_parser = clap::builder::BoolishValueParser::new())]
    stop_with_input: bool,
    /// Memory that all sessions may hold together: 512MB, 2GB, or none [default: three quarters of the machine's or control group's]
    #[arg(long, env = "PGSQLITE_MEMORY_LIMIT", value_name = "SIZE")]
    memory_limit: Option<String>,
    /// Serve metrics for Prometheus at http://ADDR/metrics, for example localhost:9187
    #[arg(long, env = "PGSQLITE_METRICS_ADDR", value_name = "ADDR")]
    metrics_addr: Option<String>,
    /// Serve a page that shows what the server does at http://ADDR/, for example localhost:9188; it lets in whoever may log in for SQL
    #[arg(long, env = "PGSQLITE_STATUS_ADDR", value_name = "ADDR")]
    status_addr: Option<String>,
    /// Log statements that take at least this many milliseconds, as log_min_duration_statement does
    #[arg(long, env = "PGSQLITE_LOG_MIN_DURATION_STATEMENT", value_name = "MS")]
    log_min_duration_statement: Option<u64>,
    /// What is logged: error, warn, info, debug or trace [default: warn]
    #[arg(long, env = "PGSQLITE_LOG_LEVEL")]
    log_level: Option<String>,
    /// How the log is written: lines for people, or JSON objects, one on each line [default: text]
    #[arg(long, env = "PGSQLITE_LOG_FORMAT", value_enum)]
    log_format: Option<logging::Form>,
    /// TOML file with the same names as the flags
    #[arg(long, env = "PGSQLITE_CONFIG", value_name = "FILE")]
    config: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
enum AuthFlag {
    Trust,
    Scram,
    /// The operating system's user on the Unix socket, passwords elsewhere
    Peer,
}

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
enum CheckpointsFlag {
    /// The server itself
    Own,
    /// Another program, such as Litestream; the server leaves the log alone
    External,
}

/// The configuration file: what the flags say, without dashes.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct FileConfig {
    database: Option<PathBuf>,
    in_memory: Option<bool>,
    data_dir: Option<PathBuf>,
    host: Option<String>,
    port: Option<u16>,
    sqli_port: Option<u16>,
    socket_dir: Option<PathBuf>,
    no_tcp: Option<bool>,
    auth: Option<AuthFlag>,
    hba: Option<PathBuf>,
    ident: Option<PathBuf>,
    server_files: Option<PathBuf>,
    superuser: Option<String>,
    tls_cert: Option<PathBuf>,
    tls_key: Option<PathBuf>,
    tls_ca: Option<PathBuf>,
    tls_self_signed: Option<bool>,
    require_tls: Option<bool>,
    use_pooling: Option<bool>,
    pool_size: Option<usize>,
    pool_timeout: Option<u64>,
    idle_writer_timeout: Option<u64>,
    writer_timeout: Option<u64>,
    log_limit: Option<u64>,
    checkpoints: Option<CheckpointsFlag>,
    archive: Option<String>,
    archive_retention: Option<u64>,
    archive_snapshots: Option<u64>,
    lease: Option<u64>,
    cluster: Option<String>,
    cluster_cert: Option<PathBuf>,
    cluster_key: Option<PathBuf>,
    cluster_ca: Option<PathBuf>,
    node_name: Option<String>,
    standby: Option<String>,
    max_wal_senders: Option<usize>,
    wal_keep_size: Option<u64>,
    log_refused: Option<PathBuf>,
    max_connections: Option<usize>,
    reserved_connections: Option<usize>,
    max_prepared_transactions: Option<usize>,
    authentication_timeout: Option<u64>,
    send_timeout: Option<u64>,
    busy_poll: Option<u64>,
    shutdown_timeout: Option<u64>,
    stop_with_input: Option<bool>,
    memory_limit: Option<String>,
    metrics_addr: Option<String>,
    status_addr: Option<String>,
    log_min_duration_statement: Option<u64>,
    log_level: Option<String>,
    log_format: Option<logging::Form>,
}

impl Flags {
    /// What a command line, which clap accepts, and the environment say.
    fn configured(words: &[&str]) -> anyhow::Result<Config> {
        let matches = Cli::command().try_get_matches_from(words)?;
        configure(Cli::from_arg_matches(&matches)?.flags, &matches).map(|(config, _)| config)
    }
}

/// Flags, environment and file together.
fn configure(flags: Flags, matches: &ArgMatches) -> anyhow::Result<(Config, logging::Choice)> {
    let file: FileConfig = match &flags.config {
        Some(path) => {
            let text =
                std::fs::read_to_string(path).map_err(|e| anyhow::anyhow!("cannot read {}: {e}", path.display()))?;
            toml::from_str(&text).map_err(|e| anyhow::anyhow!("{}: {e}", path.display()))?
        }
        None => FileConfig::default(),
    };
    let databases = databases(&flags, matches, &file)?;
    check_host(&flags, matches, &file)?;
    let self_signed = flags.tls_self_signed || file.tls_self_signed.unwrap_or(false);
    let tls = match (flags.tls_cert.or(file.tls_cert), flags.tls_key.or(file.tls_key)) {
        (Some(_), Some(_)) if self_signed => anyhow::bail!("tls_self_signed and tls_cert exclude each other"),
        (Some(cert), Some(key)) => Some(Tls::Files { cert, key }),
        (None, None) => self_signed.then_some(Tls::SelfSigned),
        _ => anyhow::bail!("tls_cert and tls_key go together"),
    };
    let tls_client_ca = flags.tls_ca.or(file.tls_ca);
    if tls_client_ca.is_some() && tls.is_none() {
        anyhow::bail!("tls_ca needs tls_cert and tls_key, or tls_self_signed");
    }
    let ident = flags.ident.or(file.ident);
    let offered = Offered { tls: tls.is_some(), client_certificates: tls_client_ca.is_some(), maps: ident.is_some() };
    let hba = rules(flags.hba.or(file.hba), flags.auth.or(file.auth), offered)?;
    let maps = maps(ident, hba.is_some())?;
    memory_limit::apply(flags.memory_limit.or(file.memory_limit).as_deref())?;
    let archive_url = flags.archive.or(file.archive);
    let node_name = flags.node_name.or(file.node_name);
    let (certificate, key) = (flags.cluster_cert.or(file.cluster_cert), flags.cluster_key.or(file.cluster_key));
    let authority = flags.cluster_ca.or(file.cluster_ca);
    let (archive, lease) = match (flags.cluster.or(file.cluster), flags.lease.or(file.lease)) {
        (Some(_), _) if archive_url.is_some() => {
            anyhow::bail!("cluster and archive exclude each other: the nodes keep the archive")
        }
        (Some(nodes), lease) => {
            let wanted = cluster::Wanted { nodes, node_name, lease, certificate, key, authority };
            let (place, lease) = cluster::join(wanted, &databases)?;
            (Some(place), Some(lease))
        }
        (None, _) if certificate.or(key).or(authority).is_some() => {
            anyhow::bail!("cluster_cert, cluster_key and cluster_ca need cluster")
        }
        (None, Some(seconds)) => {
            let lease = lease(seconds, node_name, archive_url.as_deref(), &databases)?;
            let place = archive_url.map(|url| archive::shared_place(&url, &databases)).transpose()?;
            (place, Some(lease))
        }
        (None, None) if node_name.is_some() => anyhow::bail!("node_name needs lease or cluster"),
        (None, None) => (archive_url.map(|url| archive::place(&url, &databases)).transpose()?, None),
    };
    let standby = match flags.standby.or(file.standby) {
        Some(url) if conninfo::is_primary(&url) => {
            let primary = Conninfo::parse(&url).map_err(|e| anyhow::anyhow!("standby: {}", e.message()))?;
            if primary.has_password() && matches.value_source("standby") == Some(ValueSource::CommandLine) {
                anyhow::bail!(
                    "standby: a password on the command line is shown to everybody on the machine: \
                     write it into ~/.pgpass or the file that PGPASSFILE names, or the URL into PGSQLITE_STANDBY or the file of --config"
                );
            }
            Some(Source::Primary(Arc::new(primary)))
        }
        Some(url) => Some(Source::Archive(archive::place(&url, &databases)?)),
        None => None,
    };
    let max_wal_senders = flags.max_wal_senders.or(file.max_wal_senders).unwrap_or(0);
    if lease.is_some() && standby.is_some() {
        anyhow::bail!("lease and standby exclude each other: with a lease a server follows the archive when another one is the primary");
    }
    if lease.is_some() && max_wal_senders > 0 {
        anyhow::bail!("lease and max_wal_senders exclude each other: a standby over a connection would have what the archive may not have");
    }
    let standby = match (&lease, &archive) {
        (Some(_), Some(place)) => Some(Source::Archive(place.clone())),
        _ => standby,
    };
    let config = Config {
        databases,
        standby,
        archive_policy: Policy {
            retention: hours("archive_retention", flags.archive_retention.or(file.archive_retention).unwrap_or(168))?,
            snapshots: hours("archive_snapshots", flags.archive_snapshots.or(file.archive_snapshots).unwrap_or(24))?,
        },
        host: flags.host.or(file.host).unwrap_or_else(|| "localhost".into()),
        port: flags.port.or(file.port).unwrap_or(5432),
        sqli_port: flags.sqli_port.or(file.sqli_port),
        socket_dir: Some(absolute(flags.socket_dir.or(file.socket_dir).unwrap_or_else(|| "/tmp".into()))?),
        tcp: !(flags.no_tcp || file.no_tcp.unwrap_or(false)),
        auth: flags.auth.or(file.auth).map(|a| match a {
            AuthFlag::Trust => Auth::Trust,
            AuthFlag::Scram => Auth::Scram,
            AuthFlag::Peer => Auth::Peer,
        }),
        hba,
        maps,
        server_files: match flags.server_files.or(file.server_files) {
            Some(dir) => Some(folder("server_files", &dir)?),
            None => None,
        },
        founder: flags.superuser.or(file.superuser).or_else(pgsqlite_server::os_user::own),
        require_tls: require_tls(flags.require_tls || file.require_tls.unwrap_or(false), &tls)?,
        tls,
        tls_client_ca,
        pooling: flags.use_pooling.or(file.use_pooling).unwrap_or(true),
        pool_size: at_least_one("pool_size", flags.pool_size.or(file.pool_size).unwrap_or(100))?,
        pool_timeout: Duration::from_secs(flags.pool_timeout.or(file.pool_timeout).unwrap_or(30)),
        idle_writer_timeout: match flags.idle_writer_timeout.or(file.idle_writer_timeout).unwrap_or(60) {
            0 => None,
            seconds => Some(Duration::from_secs(seconds)),
        },
        writer_timeout: match flags.writer_timeout.or(file.writer_timeout).unwrap_or(300) {
            0 => None,
            seconds => Some(Duration::from_secs(seconds)),
        },
        puts_aside: flags.put_aside,
        rereads: flags.reread,
        log_limit: match flags.log_limit.or(file.log_limit).unwrap_or(8192) {
            0 => None,
            mib => Some(mib.checked_mul(1 << 20).context("log_limit is too large")?),
        },
        archive,
        lease,
        max_wal_senders,
        wal_keep_size: flags
            .wal_keep_size
            .or(file.wal_keep_size)
            .unwrap_or(64)
            .checked_mul(1 << 20)
            .context("wal_keep_size is too large")?,
        checkpoints_left: flags.checkpoints.or(file.checkpoints) == Some(CheckpointsFlag::External),
        log_refused: flags.log_refused.or(file.log_refused),
        max_connections: at_least_one(
            "max_connections",
            flags.max_connections.or(file.max_connections).unwrap_or(1000),
        )?,
        reserved_connections: flags.reserved_connections.or(file.reserved_connections).unwrap_or(3),
        max_prepared: flags.max_prepared_transactions.or(file.max_prepared_transactions).unwrap_or(64),
        authentication_timeout: Duration::from_secs(
            flags.authentication_timeout.or(file.authentication_timeout).unwrap_or(60),
        ),
        send_timeout: match flags.send_timeout.or(file.send_timeout).unwrap_or(300) {
            0 => None,
            seconds => Some(Duration::from_secs(seconds)),
        },
        busy_poll: busy_poll(flags.busy_poll.or(file.busy_poll).unwrap_or(50))?,
        shutdown_timeout: Duration::from_secs(flags.shutdown_timeout.or(file.shutdown_timeout).unwrap_or(30)),
        metrics_addr: flags.metrics_addr.or(file.metrics_addr),
        status_addr: flags.status_addr.or(file.status_addr),
        stop_with_input: flags.stop_with_input || file.stop_with_input.unwrap_or(false),
        log_min_duration: flags
            .log_min_duration_statement
            .or(file.log_min_duration_statement)
            .map(Duration::from_millis),
    };
    let level = flags.log_level.or(file.log_level).unwrap_or_else(|| "warn".into());
    Ok((config, logging::Choice { level, form: flags.log_format.or(file.log_format).unwrap_or_default() }))
}

/// What to serve: exactly one of the three, from the first of command line, environment and file that names any.
fn databases(flags: &Flags, matches: &ArgMatches, file: &FileConfig) -> anyhow::Result<Databases> {
    let named = |source: ValueSource| {
        let from = |id: &str| matches.value_source(id) == Some(source);
        let mut named = Vec::new();
        named.extend(flags.database.clone().filter(|_| from("database")).map(Databases::File));
        named.extend((flags.in_memory && from("in_memory")).then_some(Databases::Memory));
        named.extend(flags.data_dir.clone().filter(|_| from("data_dir")).map(Databases::Directory));
        named
    };
    let mut of_file = Vec::new();
    of_file.extend(file.database.clone().map(Databases::File));
    of_file.extend(file.in_memory.unwrap_or(false).then_some(Databases::Memory));
    of_file.extend(file.data_dir.clone().map(Databases::Directory));
    let places = [
        ("the command line", named(ValueSource::CommandLine)),
        ("the environment", named(ValueSource::EnvVariable)),
        ("the configuration file", of_file),
    ];
    for (place, mut named) in places {
        match named.len() {
            0 => {}
            1 => return Ok(named.remove(0)),
            _ => anyhow::bail!("{place} names more than one of database, in_memory, data_dir"),
        }
    }
    anyhow::bail!("say what to serve: --database FILE, --in-memory or --data-dir DIR")
}

/// The lease of an archive. Errors: a place that has none.
fn lease(
    seconds: u64,
    node: Option<String>,
    archive: Option<&str>,
    databases: &Databases,
) -> anyhow::Result<LeaseConfig> {
    let Some(url) = archive else { anyhow::bail!("lease needs archive: the URL of the bucket that all servers share") };
    if !matches!(databases, Databases::File(_)) {
        anyhow::bail!("lease needs database: a folder of databases, or one in memory, has none");
    }
    let longest = failover::LONGEST.as_secs();
    if !(1..=longest).contains(&seconds) {
        anyhow::bail!("lease is between 1 and {longest} seconds");
    }
    let lasts = Duration::from_secs(seconds);
    let place = archive::lease_place(url, lasts, databases)?;
    let node = match node {
        Some(node) if node.is_empty() => anyhow::bail!("node_name is empty"),
        Some(node) => node,
        None => failover::machine(),
    };
    Ok(LeaseConfig { lasts, node, place, begins: true, cluster: None })
}

/// Hours of a setting of the archive. Errors: none, or more than a hundred years.
fn hours(name: &str, hours: u64) -> anyhow::Result<Duration> {
    match hours {
        1..=876_000 => Ok(Duration::from_secs(hours * 3600)),
        _ => anyhow::bail!("{name} is between 1 and 876000 hours"),
    }
}

/// A host that nothing listens on (Informix clients may have a port there): one of the two is a mistake, unless a stronger
/// place overrules a weaker one.
fn check_host(flags: &Flags, matches: &ArgMatches, file: &FileConfig) -> anyhow::Result<()> {
    let both = |source| matches.value_source("host") == Some(source) && matches.value_source("no_tcp") == Some(source);
    let in_file = file.host.is_some() && file.no_tcp == Some(true);
    let in_flags = flags.no_tcp && (both(ValueSource::CommandLine) || both(ValueSource::EnvVariable));
    let sqli = flags.sqli_port.or(file.sqli_port).is_some();
    if (in_flags || in_file) && !sqli {
        anyhow::bail!("host and no_tcp exclude each other");
    }
    Ok(())
}

/// The rules of a file. They and `auth` exclude each other.
fn rules(file: Option<PathBuf>, auth: Option<AuthFlag>, offered: Offered) -> anyhow::Result<Option<Rules>> {
    match file {
        Some(_) if auth.is_some() => anyhow::bail!("hba and auth exclude each other"),
        Some(file) => Rules::read(&file, offered).map(Some).map_err(|e| anyhow::anyhow!("{}", e.message())),
        None => Ok(None),
    }
}

/// The maps of user names, which only rules of a file name.
fn maps(file: Option<PathBuf>, has_rules: bool) -> anyhow::Result<Option<Maps>> {
    match file {
        Some(_) if !has_rules => anyhow::bail!("ident needs hba: only rules of a file name maps"),
        Some(file) => Maps::read(&file).map(Some).map_err(|e| anyhow::anyhow!("{}", e.message())),
        None => Ok(None),
    }
}

/// A folder that is there, by its real path.
fn folder(name: &str, path: &std::path::Path) -> anyhow::Result<PathBuf> {
    match path.canonicalize() {
        Ok(real) if real.is_dir() => Ok(real),
        Ok(_) => anyhow::bail!("{name}: \"{}\" is no folder", path.display()),
        Err(e) => anyhow::bail!("{name}: \"{}\": {e}", path.display()),
    }
}

fn at_least_one(name: &str, value: usize) -> anyhow::Result<usize> {
    if value == 0 {
        anyhow::bail!("{name} must be at least 1");
    }
    Ok(value)
}

/// Longer than a client's thoughts take would only keep a processor busy.
fn busy_poll(microseconds: u64) -> anyhow::Result<Duration> {
    if microseconds > 1000 {
        anyhow::bail!("busy_poll must be at most 1000 microseconds");
    }
    Ok(Duration::from_micros(microseconds))
}

/// What clients are told does not depend on the folder that the server was started in.
fn absolute(path: PathBuf) -> anyhow::Result<PathBuf> {
    std::path::absolute(&path).map_err(|e| anyhow::anyhow!("socket_dir \"{}\": {e}", path.display()))
}

/// Variables for tests and benchmarks: where they find the server, and which joins are hashed (`lower/hash_join.rs`).
const OF_TESTS: [&str; 2] = ["PGSQLITE_BIN", "PGSQLITE_HASH_JOINS"];

/// Variables that look like ours and mean nothing: a misspelt one would be believed to work.
fn warn_of_unknown_variables() {
    let command = Cli::command();
    let mut unknown: Vec<String> = std::env::vars_os()
        .filter_map(|(name, _)| name.into_string().ok())
        .filter(|name| name.starts_with("PGSQLITE_") && !OF_TESTS.contains(&name.as_str()))
        .filter(|name| !command.get_arguments().any(|a| a.get_env().is_some_and(|e| e == name.as_str())))
        .collect();
    unknown.sort();
    for name in unknown {
        logging::warn(&format!("the environment variable {name} means nothing to pgsqlite"));
    }
}

/// Requiring what is not offered would refuse everybody.
fn require_tls(wanted: bool, tls: &Option<Tls>) -> anyhow::Result<bool> {
    if wanted && tls.is_none() {
        anyhow::bail!("require_tls needs tls_cert and tls_key, or tls_self_signed");
    }
    Ok(wanted)
}

/// SIGTERM and SIGINT: the first is answered by a clean stop, the second by an immediate one. Made before anything is
/// opened, so that no signal meets a half-started server.
struct StopSignals {
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
}

impl StopSignals {
    fn new() -> std::io::Result<StopSignals> {
        use tokio::signal::unix::{signal, SignalKind};
        Ok(StopSignals { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    /// The next signal's number.
    async fn next(&mut self) -> i32 {
        tokio::select! {
            _ = self.terminate.recv() => 15,
            _ = self.interrupt.recv() => 2,
        }
    }
}

/// Resolves when standard input ends, if that is to stop the server.
async fn end_of_input(stops: bool) {
    if !stops {
        return std::future::pending().await;
    }
    let (ended, end) = tokio::sync::oneshot::channel();
    // (a thread of its own: nothing waits for its end when the server stops otherwise)
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        let _ = ended.send(());
    });
    let _ = end.await;
}

/// Resolves at the first signal, or the end of the input; from then on a second one ends the process at once, as a crash would: what was
/// acknowledged is in the file or its WAL.
async fn stop(mut signals: StopSignals, stops_with_input: bool) {
    const INTERRUPT: i32 = 2;
    let number = tokio::select! {
        number = signals.next() => number,
        () = end_of_input(stops_with_input) => 0,
    };
    if number == INTERRUPT {
        // somebody sits there and waits
        logging::tell("stopping once the statements that run have ended; a second signal stops at once");
    }
    tokio::spawn(async move {
        let number = signals.next().await;
        logging::tell("stopped at once");
        std::process::exit(128 + number);
    });
}

/// Its threads have room for the deepest statement that the parser lets through (it measures its own depth, as PostgreSQL
/// does, and the stages after it need more for each level). Only what is used of a stack takes memory.
fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    const STACK: usize = 512 << 20;
    tokio::runtime::Builder::new_multi_thread()
        .thread_stack_size(STACK)
        .on_thread_stop(pgsqlite_memory::flush_thread)
        .enable_all()
        .build()
}

/// What is no server. (A commit is waited for on a thread of its own, so all that change a file have a runtime.)
fn carry_out(command: Command) -> anyhow::Result<ExitCode> {
    let done = |()| ExitCode::SUCCESS;
    match command {
        Command::Exec(command) => {
            pgsqlite_server::ignore_file_size_signal();
            logging::Choice { level: "warn".into(), form: logging::Form::Text }.begin()?;
            Ok(runtime()?.block_on(exec::run(command, Flags::configured)))
        }
        Command::Import(command) => runtime()?.block_on(import::run(command)).map(done),
        Command::Info(command) => inspect::info(&command).map(done),
        Command::Check(command) => inspect::check(&command).map(done),
        Command::Upgrade(command) => inspect::upgrade(&command).map(done),
        Command::Restore(command) => archive::restore(&command).map(done),
        Command::Verify(command) => archive::verify(&command).map(done),
        Command::Promote(command) => promote::promote(&command).map(done),
        Command::Cluster(command) => cluster::make(&command).map(done),
        Command::User(command) => runtime()?.block_on(user::run(command)).map(done),
        Command::Demo(command) => runtime()?.block_on(demo::run(command)).map(done),
        Command::Completions(command) => completions::completions(&command, Cli::command()).map(done),
        Command::Man(command) => completions::man(&command, Cli::command()).map(done),
    }
}

fn run() -> anyhow::Result<ExitCode> {
    let matches = Cli::command().get_matches();
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|e| e.exit());
    if let Some(command) = cli.command {
        return carry_out(command);
    }
    if let Some(form) = cli.flags.log_format {
        // (what is wrong with the rest is told in it, too)
        form.choose();
    }
    let (config, log) = configure(cli.flags, &matches)?;
    log.begin()?;
    warn_of_unknown_variables();
    // a file that may not grow is an error of the statement that writes, as in PostgreSQL
    pgsqlite_server::ignore_file_size_signal();
    runtime()?.block_on(async {
        let signals = StopSignals::new().map_err(|e| anyhow::anyhow!("signal handlers: {e}"))?;
        let mut signals = signals;
        let server = tokio::select! {
            server = Server::start(config.clone()) => server.map_err(offline::told)?,
            // (a standby may wait for its archive for any time)
            _ = signals.next(), if config.standby.is_some() => return Ok(ExitCode::SUCCESS),
        };
        let sqli = pgsqlite_sqli::Listener::start(&server).await.map_err(offline::told)?;
        let mut sqli_port = None;
        if let Some(listener) = sqli {
            sqli_port = Some(listener.port().map_err(offline::told)?);
            tokio::spawn(listener.run());
        }
        print!("{}", greeting::greeting(&server, sqli_port));
        use std::io::Write;
        std::io::stdout().flush()?;
        // (also while a server that has lost its lease ends)
        let told = tokio::spawn(async move {
            stop(signals, config.stop_with_input).await;
            failover::stops();
        });
        let ended = server.run(async { drop(told.await) }).await.map_err(offline::told);
        if !is_deposed() {
            ended?;
        }
        Ok(ExitCode::SUCCESS)
    })
}

fn main() -> ExitCode {
    pgsqlite_memory::set_delay();
    let ended = run();
    if is_deposed() && !failover::is_stopping() {
        // (as a standby, with what the archive has)
        logging::fail(&format!("the server cannot begin again: {}", begin_again()));
        return ExitCode::FAILURE;
    }
    match ended {
        Ok(code) => code,
        Err(e) => {
            logging::fail(&format!("{e:#}"));
            ExitCode::FAILURE
        }
    }
}
