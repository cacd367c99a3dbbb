//! Sockets: listening, accepting, shutting down.

use crate::addresses::{address_error, in_use};
use crate::byte_stream::Stream;
use crate::config::Config;
use crate::databases::Registry;
use crate::entrance::Visitor;
use crate::failed_logins::FailedLogins;
use crate::failover::is_deposed;
use crate::hba::{Maps, Rules};
use crate::http::{self, Site};
use crate::metrics;
use crate::reload;
use crate::serve;
pub use crate::shared::{pause_after, Place, Shared};
use crate::socket::Socket;
use crate::starting;
use crate::status::Status;
use crate::tls::Tls;
use parking_lot::{Mutex, RwLock};
use pgsqlite_engine::session::CancelHandle;
use pgsqlite_types::{PgError, Result, SqlState};
use std::fs::File;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI32, AtomicUsize};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream, UnixListener};
use tokio::signal::unix::{signal, Signal, SignalKind};
use tokio::sync::Semaphore;

/// The stack of the thread that opens databases: definitions are as deep as statements may be.
const STACK: usize = 512 << 20;

/// A server that listens.
pub struct Server {
    shared: Arc<Shared>,
    tcp: Vec<TcpListener>,
    unix: Option<UnixSocket>,
    metrics: Option<TcpListener>,
    status: Vec<TcpListener>,
    hangups: Signal,
}

/// A Unix socket and the lock that tells other servers of it.
struct UnixSocket {
    listener: UnixListener,
    path: PathBuf,
    lock_path: PathBuf,
    _lock: File,
}

impl Drop for UnixSocket {
    fn drop(&mut self) {
        for path in [&self.path, &self.lock_path] {
            if let Err(e) = std::fs::remove_file(path) {
                tracing::debug!("socket file {}: {e}", path.display());
            }
        }
    }
}

impl Server {
    /// Opens the databases and the sockets. In its configuration a port 0 becomes the one that the system has chosen.
    pub async fn start(mut config: Config) -> Result<Server> {
        let tls = match &config.tls {
            Some(tls) => Some(Tls::new(tls, config.tls_client_ca.as_deref())?),
            None => None,
        };
        let mut tcp = vec![];
        if config.tcp {
            tcp = bind(&config, config.port).await?;
            config.port = port_of(&tcp)?;
        } else if config.port == 0 {
            return Err(PgError::new(
                SqlState::INVALID_PARAMETER_VALUE,
                "port 0 stands for any free TCP port, and the server does not listen on TCP",
            )
            .hint("Name the port: clients find the Unix socket by it."));
        }
        let unix = match &config.socket_dir {
            Some(dir) => Some(unix_socket(dir.join(format!(".s.PGSQL.{}", config.port)))?),
            None => None,
        };
        if tcp.is_empty() && unix.is_none() {
            return Err(PgError::new(
                SqlState::INVALID_PARAMETER_VALUE,
                "nothing to listen on: neither TCP nor a socket folder",
            ));
        }
        let metrics = match &config.metrics_addr {
            Some(address) => Some(metrics::listen(address).await?),
            None => None,
        };
        let status = match &config.status_addr {
            Some(address) => {
                let failed = |e| address_error(format!("{address} for the status page"), e, "--status-addr HOST:PORT");
                let addresses = tokio::net::lookup_host(address).await.map_err(failed)?;
                let sockets = bind_all(&config, addresses, failed).await?;
                config.status_addr = Some(with_port(address, port_of(&sockets)?));
                sockets
            }
            None => vec![],
        };
        // (before the first client: the signal's default would end the server)
        let hangups = signal(SignalKind::hangup())
            .map_err(|e| PgError::no_resources(format!("could not install signal handlers: {e}")))?;
        let databases = open(&config, &tcp, unix.as_ref().map(|unix| &unix.listener)).await?;
        let mut mock_secret = [0u8; 16];
        let no_random = |e| PgError::no_resources(format!("could not generate random numbers: {e}"));
        getrandom::fill(&mut mock_secret).map_err(no_random)?;
        let run_mark = getrandom::u64().map_err(no_random)?;
        Ok(Server {
            shared: Arc::new(Shared {
                settings: config.shown(),
                rules: RwLock::new(Arc::new(config.hba.clone().unwrap_or_else(|| Rules::of_flag(config.auth)))),
                maps: RwLock::new(config.maps.clone().map(Arc::new)),
                reload: Arc::default(),
                entrance: Arc::default(),
                config,
                databases,
                tls,
                sessions: Mutex::default(),
                sockets: AtomicUsize::new(0),
                places: AtomicUsize::new(0),
                senders: AtomicUsize::new(0),
                next_pid: AtomicI32::new(1),
                started: std::time::Instant::now(),
                failed_logins: FailedLogins::default(),
                mock_secret,
                run_mark,
                threads: Arc::new(Semaphore::new(crate::own_thread::most())),
                stopping: tokio::sync::watch::Sender::new(false),
                abandoned: tokio::sync::watch::Sender::new(false),
            }),
            tcp,
            unix,
            metrics,
            status,
            hangups,
        })
    }

    /// The superuser that a database has in any case. Errors: those of opening it.
    pub fn bootstrap_role(&self, database: &str) -> Result<String> {
        Ok(self.shared.databases.get(database)?.bootstrap_role())
    }

    /// Whether any user of the one database has a password to log in with; None: there are several databases.
    pub fn knows_password(&self) -> Option<bool> {
        self.shared.databases.knows_password()
    }

    /// What it was started with, and the ports that it was given.
    pub fn config(&self) -> &Config {
        &self.shared.config
    }

    /// What listeners of other protocols share with this one.
    pub fn shared(&self) -> Arc<Shared> {
        self.shared.clone()
    }

    /// Accepts connections until `stop` resolves, then lets running statements finish and closes everything.
    pub async fn run(self, stop: impl std::future::Future<Output = ()>) -> Result<()> {
        let mut accepting = Vec::new();
        for listener in self.tcp {
            let shared = self.shared.clone();
            accepting.push(tokio::spawn(async move {
                loop {
                    let (socket, address) = accept(&listener).await;
                    accepted(&shared, socket.into_std().map(Into::into), Some(address), None).await;
                }
            }));
        }
        if let Some(unix) = self.unix {
            let shared = self.shared.clone();
            accepting.push(tokio::spawn(async move {
                loop {
                    match unix.listener.accept().await {
                        Ok((socket, _)) => {
                            let uid = socket.peer_cred().ok().map(|peer| peer.uid());
                            accepted(&shared, socket.into_std().map(Into::into), None, uid).await;
                        }
                        Err(e) => pause_after(e).await,
                    }
                }
            }));
        }
        if let Some(listener) = self.metrics {
            accepting.push(tokio::spawn(http::serve(listener, self.shared.clone(), Arc::new(Site::Metrics))));
        }
        let address = self.shared.config.status_addr.clone().unwrap_or_default();
        let page = Arc::new(Site::Status(Status::new(&address)));
        for listener in self.status {
            accepting.push(tokio::spawn(http::serve(listener, self.shared.clone(), page.clone())));
        }
        accepting.push(tokio::spawn(reload::when_asked(self.shared.clone(), self.hangups)));
        tokio::select! {
            () = stop => {}
            () = self.shared.databases.deposed() => {}
        }
        tracing::info!("shutting down");
        for task in &accepting {
            task.abort();
        }
        self.shared.stopping.send_replace(true);
        // sessions notice when they are between statements; a statement that runs has a while to finish
        let patience = if is_deposed() { Duration::ZERO } else { self.shared.config.shutdown_timeout };
        if !self.shared.all_gone(patience, CancelHandle::finish).await {
            tracing::warn!("statements that still run are canceled");
            if !self.shared.all_gone(Duration::from_secs(1), CancelHandle::terminate).await {
                self.shared.abandoned.send_replace(true);
                self.shared.all_gone(Duration::from_secs(1), CancelHandle::terminate).await;
            }
        }
        self.shared.databases.shutdown().await
    }
}

/// Opens the databases. Those of a standby may wait for their archive, and be restored first: clients are refused meanwhile.
async fn open(config: &Config, tcp: &[TcpListener], unix: Option<&UnixListener>) -> Result<Registry> {
    if config.standby.is_none() {
        return Registry::new(config.clone());
    }
    let (done, opened) = tokio::sync::oneshot::channel();
    let config = config.clone();
    std::thread::Builder::new()
        .name("opens".into())
        .stack_size(STACK)
        .spawn(move || {
            // (nobody waits for it any more if the server was told to stop)
            let _ = done.send(Registry::new(config));
        })
        .map_err(|e| PgError::new(SqlState::IO_ERROR, format!("no thread to open databases: {e}")))?;
    tokio::select! {
        opened = opened => opened.unwrap_or_else(|_| Err(PgError::internal("the databases are not opened"))),
        never = starting::refuse_all(tcp, unix) => match never {},
    }
}

/// Listens on `port` of all addresses of the configured host.
/// Errors: 55006 and 58030 where a socket cannot be had, 22023 where others could come in and nobody chose an authentication.
pub async fn bind(config: &Config, port: u16) -> Result<Vec<TcpListener>> {
    let flag = if config.sqli_port == Some(port) { "--sqli-port N" } else { "--port N" };
    let failed = |e| address_error(format!("{}:{port}", config.host), e, flag);
    let addresses = tokio::net::lookup_host((config.host.as_str(), port)).await.map_err(failed)?;
    bind_all(config, addresses, failed).await
}

/// How often another port is asked for where the one that is free for one address is taken for another.
const FREE_PORTS_TRIED: usize = 20;

/// Listens on all of the addresses. Port 0 becomes a free one, which is the same for all.
async fn bind_all(
    config: &Config,
    addresses: impl Iterator<Item = SocketAddr>,
    failed: impl Fn(std::io::Error) -> PgError,
) -> Result<Vec<TcpListener>> {
    let addresses: Vec<SocketAddr> = addresses.collect();
    let any = addresses.len() > 1 && addresses.iter().all(|address| address.port() == 0);
    for _ in 1..if any { FREE_PORTS_TRIED } else { 1 } {
        match bind_each(config, &addresses, &failed).await {
            Err(e) if e.code() == SqlState::OBJECT_IN_USE => {}
            bound => return bound,
        }
    }
    bind_each(config, &addresses, &failed).await
}

async fn bind_each(
    config: &Config,
    addresses: &[SocketAddr],
    failed: &impl Fn(std::io::Error) -> PgError,
) -> Result<Vec<TcpListener>> {
    let mut sockets: Vec<TcpListener> = Vec::new();
    for mut address in addresses.iter().copied() {
        if let (0, Some(first)) = (address.port(), sockets.first()) {
            address.set_port(first.local_addr().map_err(failed)?.port());
        }
        if config.auth.is_none() && config.hba.is_none() && !is_loopback(address.ip()) {
            return Err(PgError::new(
                SqlState::INVALID_PARAMETER_VALUE,
                format!("listening on {address} needs a choice of authentication: --auth scram, --hba FILE (or, if you must, --auth trust)"),
            ));
        }
        match TcpListener::bind(address).await {
            Ok(socket) => sockets.push(socket),
            // a host without IPv6 listens on IPv4
            Err(e) if e.kind() == std::io::ErrorKind::AddrNotAvailable && !sockets.is_empty() => {}
            Err(e) => return Err(failed(e)),
        }
    }
    Ok(sockets)
}

/// The port that sockets of one listener have. Errors: 58030 if there is none, or if it cannot be told.
pub fn port_of(sockets: &[TcpListener]) -> Result<u16> {
    let address = sockets.first().map(TcpListener::local_addr);
    match address.unwrap_or_else(|| Err(std::io::ErrorKind::AddrNotAvailable.into())) {
        Ok(address) => Ok(address.port()),
        Err(e) => Err(PgError::new(SqlState::IO_ERROR, format!("the address of a socket: {e}"))),
    }
}

/// HOST:PORT with the port that was given for a port 0.
fn with_port(address: &str, port: u16) -> String {
    match address.rsplit_once(':') {
        Some((host, _)) => format!("{host}:{port}"),
        None => address.to_string(),
    }
}

/// The next client.
pub async fn accept(listener: &TcpListener) -> (TcpStream, SocketAddr) {
    loop {
        match listener.accept().await {
            Ok((socket, address)) => {
                // without keep-alive a client that lost its network would be kept for ever
                let keepalive = socket2::SockRef::from(&socket).set_keepalive(true);
                if let Err(e) = socket.set_nodelay(true).and(keepalive) {
                    tracing::debug!("socket options: {e}");
                }
                return (socket, address);
            }
            Err(e) => pause_after(e).await,
        }
    }
}

/// `uid`: of the user at the other end of a Unix socket.
async fn accepted(
    shared: &Arc<Shared>,
    handle: std::io::Result<socket2::Socket>,
    address: Option<SocketAddr>,
    uid: Option<u32>,
) {
    match handle.and_then(|handle| Socket::new(handle, shared.config.busy_poll)) {
        Ok(socket) => {
            let visitor = shared.visitor(address, uid);
            serve(shared, Stream::Plain(socket), address, visitor);
        }
        Err(e) => pause_after(e).await,
    }
}

fn serve(shared: &Arc<Shared>, stream: Stream, address: Option<SocketAddr>, visitor: Visitor) {
    let own = shared.clone();
    shared.spawn(async move { serve::serve(&own, stream, address, visitor).await });
}

fn is_loopback(ip: IpAddr) -> bool {
    ip.is_loopback()
}

impl Config {
    /// The configuration as PostgreSQL's settings of the same meaning, in the form that SHOW prints.
    fn shown(&self) -> Arc<[(&'static str, String)]> {
        let flag = |on: bool| if on { "on" } else { "off" }.to_string();
        let seconds = match self.authentication_timeout.as_secs() {
            n if n > 0 && n % 60 == 0 => format!("{}min", n / 60),
            n => format!("{n}s"),
        };
        let path = |path: Option<&Path>| path.map_or(String::new(), |path| path.display().to_string());
        let log = self.log_min_duration.map_or("-1".to_string(), |least| match least.as_millis() {
            ms if ms > 0 && ms % 60_000 == 0 => format!("{}min", ms / 60_000),
            ms if ms > 0 && ms % 1000 == 0 => format!("{}s", ms / 1000),
            0 => "0".to_string(),
            ms => format!("{ms}ms"),
        });
        Arc::from([
            ("log_min_duration_statement", log),
            ("max_connections", self.max_connections.to_string()),
            ("max_prepared_transactions", self.max_prepared.to_string()),
            ("max_wal_senders", self.max_wal_senders.to_string()),
            ("wal_keep_size", format!("{}MB", self.wal_keep_size >> 20)),
            ("superuser_reserved_connections", self.reserved_connections.to_string()),
            ("port", self.port.to_string()),
            ("listen_addresses", if self.tcp { self.host.clone() } else { String::new() }),
            (
                "unix_socket_directories",
                self.socket_dir.as_ref().map_or(String::new(), |dir| dir.display().to_string()),
            ),
            ("ssl", flag(self.tls.is_some())),
            ("ssl_ca_file", path(self.tls_client_ca.as_deref())),
            ("hba_file", path(self.hba.as_ref().and_then(Rules::file))),
            ("ident_file", path(self.maps.as_ref().map(Maps::file))),
            ("authentication_timeout", seconds),
        ])
    }
}

/// What chooses another Unix socket.
const SOCKET: &str = "--port N, or --socket-dir DIR for another folder";

/// A socket file that no server holds is replaced.
fn unix_socket(path: PathBuf) -> Result<UnixSocket> {
    let what = format!("the socket {}", path.display());
    let mut lock_path = path.clone().into_os_string();
    lock_path.push(".lock");
    let lock_path = PathBuf::from(lock_path);
    let lock = loop {
        let lock = std::fs::OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&lock_path)
            .map_err(|e| address_error(what.clone(), e, SOCKET))?;
        if lock.try_lock().is_err() {
            return Err(in_use(&what, SOCKET));
        }
        // who held it may have removed it between our opening and locking: then we hold nothing
        let ours = lock.metadata().map_err(|e| address_error(what.clone(), e, SOCKET))?;
        if std::fs::metadata(&lock_path).is_ok_and(|m| (m.dev(), m.ino()) == (ours.dev(), ours.ino())) {
            break lock;
        }
    };
    if std::os::unix::net::UnixStream::connect(&path).is_ok() {
        return Err(in_use(&what, SOCKET));
    }
    match std::fs::remove_file(&path) {
        Ok(()) => {}
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
        Err(e) => return Err(address_error(what, e, SOCKET)),
    }
    let listener = UnixListener::bind(&path).map_err(|e| address_error(what, e, SOCKET))?;
    Ok(UnixSocket { listener, path, lock_path, _lock: lock })
}
