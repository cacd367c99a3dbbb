//! Sockets: listening, accepting, shutting down.

use crate::config::{Auth, Config, Tls};
use crate::connection;
use crate::databases::Registry;
use crate::stream::Stream;
use parking_lot::Mutex;
use pgsqlite_engine::session::CancelHandle;
use pgsqlite_types::{PgError, Result, SqlState};
use std::collections::HashMap;
use std::fs::File;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, UnixListener};
use tokio_rustls::TlsAcceptor;

/// What all connections share.
pub struct Shared {
    pub config: Config,
    pub databases: Registry,
    pub tls: Option<TlsAcceptor>,
    /// pid → (secret, how to cancel)
    pub sessions: Mutex<HashMap<i32, (i32, CancelHandle)>>,
    pub connections: AtomicUsize,
    next_pid: AtomicI32,
    /// for the salts of users that do not exist
    pub mock_secret: [u8; 16],
}

impl Shared {
    pub fn new_pid(&self) -> i32 {
        self.next_pid.fetch_add(1, Ordering::Relaxed)
    }
}

/// A server that listens.
pub struct Server {
    shared: Arc<Shared>,
    tcp: Vec<TcpListener>,
    unix: Option<UnixSocket>,
}

/// A Unix socket and the lock that tells other servers of it.
struct UnixSocket {
    listener: UnixListener,
    path: PathBuf,
    _lock: File,
}

impl Drop for UnixSocket {
    fn drop(&mut self) {
        if let Err(e) = std::fs::remove_file(&self.path) {
            tracing::debug!("socket file {}: {e}", self.path.display());
        }
    }
}

fn address_error(what: String, e: std::io::Error) -> PgError {
    if e.kind() == std::io::ErrorKind::AddrInUse {
        return PgError::new(
            SqlState::OBJECT_IN_USE,
            format!("{what} is in use already: is another server running there?"),
        );
    }
    PgError::new(SqlState::IO_ERROR, format!("cannot listen on {what}: {e}"))
}

impl Server {
    /// Opens the databases and the sockets.
    pub async fn start(config: Config) -> Result<Server> {
        let tls = match &config.tls {
            Some(tls) => Some(acceptor(tls)?),
            None => None,
        };
        let mut tcp = Vec::new();
        if config.tcp {
            let what = format!("{}:{}", config.host, config.port);
            let addresses: Vec<_> = tokio::net::lookup_host((config.host.as_str(), config.port))
                .await
                .map_err(|e| address_error(what.clone(), e))?
                .collect();
            for address in addresses {
                if config.auth.is_none() && !is_loopback(address.ip()) {
                    return Err(PgError::new(
                        SqlState::INVALID_PARAMETER_VALUE,
                        format!("listening on {address} needs a choice of authentication: --auth scram (or, if you must, --auth trust)"),
                    ));
                }
                match TcpListener::bind(address).await {
                    Ok(listener) => tcp.push(listener),
                    // a host without IPv6 listens on IPv4
                    Err(e) if e.kind() == std::io::ErrorKind::AddrNotAvailable && !tcp.is_empty() => {}
                    Err(e) => return Err(address_error(what.clone(), e)),
                }
            }
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
        let databases = Registry::new(config.clone())?;
        let mut mock_secret = [0u8; 16];
        getrandom::fill(&mut mock_secret).map_err(|e| PgError::internal(format!("no random numbers: {e}")))?;
        Ok(Server {
            shared: Arc::new(Shared {
                config,
                databases,
                tls,
                sessions: Mutex::default(),
                connections: AtomicUsize::new(0),
                next_pid: AtomicI32::new(1),
                mock_secret,
            }),
            tcp,
            unix,
        })
    }

    /// Accepts connections until `stop` resolves, then lets running statements finish and closes everything.
    pub async fn run(self, stop: impl std::future::Future<Output = ()>) -> Result<()> {
        let mut accepting = Vec::new();
        for listener in self.tcp {
            let shared = self.shared.clone();
            accepting.push(tokio::spawn(async move {
                loop {
                    match listener.accept().await {
                        Ok((socket, address)) => {
                            if let Err(e) = socket.set_nodelay(true) {
                                tracing::debug!("TCP_NODELAY: {e}");
                            }
                            serve(&shared, Stream::Tcp(socket), Some(address));
                        }
                        Err(e) => pause_after(e).await,
                    }
                }
            }));
        }
        if let Some(unix) = self.unix {
            let shared = self.shared.clone();
            accepting.push(tokio::spawn(async move {
                loop {
                    match unix.listener.accept().await {
                        Ok((socket, _)) => serve(&shared, Stream::Unix(socket), None),
                        Err(e) => pause_after(e).await,
                    }
                }
            }));
        }
        stop.await;
        tracing::info!("shutting down");
        for task in &accepting {
            task.abort();
        }
        // sessions notice when they are between statements; a statement that runs has a while to finish
        for _ in 0..100 {
            {
                let sessions = self.shared.sessions.lock();
                sessions.values().for_each(|(_, cancel)| cancel.finish());
            }
            if self.shared.connections.load(Ordering::Acquire) == 0 {
                break;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        self.shared.sessions.lock().values().for_each(|(_, cancel)| cancel.terminate());
        for _ in 0..20 {
            if self.shared.connections.load(Ordering::Acquire) == 0 {
                break;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        self.shared.databases.shutdown().await
    }
}

/// Running out of descriptors must not become a busy loop.
async fn pause_after(e: std::io::Error) {
    tracing::warn!("accept: {e}");
    tokio::time::sleep(Duration::from_millis(100)).await;
}

fn serve(shared: &Arc<Shared>, stream: Stream, address: Option<std::net::SocketAddr>) {
    let shared = shared.clone();
    shared.connections.fetch_add(1, Ordering::AcqRel);
    tokio::spawn(async move {
        connection::serve(&shared, stream, address).await;
        shared.connections.fetch_sub(1, Ordering::AcqRel);
    });
}

pub fn is_loopback(ip: IpAddr) -> bool {
    ip.is_loopback()
}

impl Config {
    /// The authentication of a connection from this address (None: Unix socket).
    pub fn auth_for(&self, address: Option<std::net::SocketAddr>) -> Auth {
        match self.auth {
            Some(auth) => auth,
            None if address.is_none_or(|a| is_loopback(a.ip())) => Auth::Trust,
            None => Auth::Scram,
        }
    }
}

/// A socket file that no server holds is replaced.
fn unix_socket(path: PathBuf) -> Result<UnixSocket> {
    let what = format!("the socket {}", path.display());
    let mut lock_path = path.clone().into_os_string();
    lock_path.push(".lock");
    let lock = std::fs::OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&lock_path)
        .map_err(|e| address_error(what.clone(), e))?;
    if lock.try_lock().is_err() || std::os::unix::net::UnixStream::connect(&path).is_ok() {
        return Err(PgError::new(
            SqlState::OBJECT_IN_USE,
            format!("{what} is in use already: is another server running there?"),
        ));
    }
    match std::fs::remove_file(&path) {
        Ok(()) => {}
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
        Err(e) => return Err(address_error(what, e)),
    }
    let listener = UnixListener::bind(&path).map_err(|e| address_error(what, e))?;
    Ok(UnixSocket { listener, path, _lock: lock })
}

fn acceptor(tls: &Tls) -> Result<TlsAcceptor> {
    use rustls::pki_types::pem::PemObject;
    use rustls::pki_types::{CertificateDer, PrivateKeyDer};
    let bad = |what: &str, e: String| PgError::new(SqlState::CONFIG_FILE_ERROR, format!("TLS {what}: {e}"));
    let (chain, key) = match tls {
        Tls::Files { cert, key } => {
            let chain = CertificateDer::pem_file_iter(cert)
                .and_then(|i| i.collect::<std::result::Result<Vec<_>, _>>())
                .map_err(|e| bad("certificate", format!("{}: {e}", cert.display())))?;
            let key = PrivateKeyDer::from_pem_file(key).map_err(|e| bad("key", format!("{}: {e}", key.display())))?;
            (chain, key)
        }
        Tls::SelfSigned => {
            let made = rcgen::generate_simple_self_signed(vec!["localhost".to_string()])
                .map_err(|e| bad("certificate", e.to_string()))?;
            let key =
                PrivateKeyDer::try_from(made.signing_key.serialize_der()).map_err(|e| bad("key", e.to_string()))?;
            (vec![made.cert.der().clone()], key)
        }
    };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|e| bad("set-up", e.to_string()))?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(|e| bad("set-up", e.to_string()))?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}
