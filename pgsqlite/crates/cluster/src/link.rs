//! Connections between nodes: what one sends, the other reads. Each goes one way.
//!
//! With certificates both ends show theirs (mutual TLS), each with the node's name. Without them a cluster is refused addresses beyond this machine.

use crate::bytes_of::{Reader, Writer};
use crate::{Error, Result};
use bytes::Bytes;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection, StreamOwned};
use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// The beginning of a connection: the protocol and its version.
const MAGIC: &[u8; 8] = b"pgsqcl01";
/// No frame is longer.
const LONGEST: u32 = 64 << 20;
/// A node is connected to, and takes what is sent, within this time, or is unreachable.
const PATIENCE: Duration = Duration::from_secs(3);

/// A node of the cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// its number, from 1
    pub number: u64,
    /// its name, which its certificate has
    pub name: String,
    /// where it listens for the others: HOST:PORT
    pub address: String,
}

/// The files by which nodes know each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Certificates {
    /// the node's certificate, and those between it and the authority
    pub certificate: PathBuf,
    /// its key
    pub key: PathBuf,
    /// the authority that has signed all nodes' certificates
    pub authority: PathBuf,
}

/// Both sides' configuration.
#[derive(Clone)]
pub(crate) struct Tls {
    client: Arc<ClientConfig>,
    server: Arc<ServerConfig>,
}

fn of_file(file: &Path, e: impl std::fmt::Display) -> Error {
    Error::new(format!("\"{}\": {e}", file.display()))
}

impl Tls {
    pub(crate) fn new(files: &Certificates) -> Result<Tls> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let certificates = |file: &Path| -> Result<Vec<CertificateDer<'static>>> {
            let read = CertificateDer::pem_file_iter(file).map_err(|e| of_file(file, e))?;
            read.collect::<std::result::Result<_, _>>().map_err(|e| of_file(file, e))
        };
        let mut roots = RootCertStore::empty();
        for certificate in certificates(&files.authority)? {
            roots.add(certificate).map_err(|e| of_file(&files.authority, e))?;
        }
        let (roots, chain) = (Arc::new(roots), certificates(&files.certificate)?);
        let key = || PrivateKeyDer::from_pem_file(&files.key).map_err(|e| of_file(&files.key, e));
        let failed = |e: rustls::Error| of_file(&files.certificate, e);
        let verifier = WebPkiClientVerifier::builder_with_provider(roots.clone(), provider.clone())
            .build()
            .map_err(|e| of_file(&files.authority, e))?;
        let server = ServerConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .map_err(failed)?
            .with_client_cert_verifier(verifier)
            .with_single_cert(chain.clone(), key()?)
            .map_err(failed)?;
        let client = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(failed)?
            .with_root_certificates(roots)
            .with_client_auth_cert(chain, key()?)
            .map_err(failed)?;
        Ok(Tls { client: Arc::new(client), server: Arc::new(server) })
    }
}

/// A connection.
enum Stream {
    Plain(TcpStream),
    Client(Box<StreamOwned<ClientConnection, TcpStream>>),
    Server(Box<StreamOwned<ServerConnection, TcpStream>>),
}

impl Read for Stream {
    fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
        match self {
            Stream::Plain(s) => s.read(to),
            Stream::Client(s) => s.read(to),
            Stream::Server(s) => s.read(to),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, from: &[u8]) -> std::io::Result<usize> {
        match self {
            Stream::Plain(s) => s.write(from),
            Stream::Client(s) => s.write(from),
            Stream::Server(s) => s.write(from),
        }
    }
    fn flush(&mut self) -> std::io::Result<()> {
        match self {
            Stream::Plain(s) => s.flush(),
            Stream::Client(s) => s.flush(),
            Stream::Server(s) => s.flush(),
        }
    }
}

/// What comes over a connection.
#[derive(Debug)]
pub(crate) enum Frame {
    /// A message of Raft.
    Message(Bytes),
    /// A piece of a copy.
    Piece(Bytes),
}

const MESSAGE: u8 = 1;
const PIECE: u8 = 2;

fn io(e: std::io::Error) -> Error {
    Error::new(e.to_string())
}

/// What tells clusters apart: their number, and the names of the nodes. A node of a cluster that has ended must not be taken for one of its successor, which may have the same names.
pub(crate) fn cluster_of(id: u64, members: &[Member]) -> Vec<u8> {
    let names: Vec<&str> = members.iter().map(|member| member.name.as_str()).collect();
    format!("{id:016x} {}", names.join(",")).into_bytes()
}

/// The end that sends.
pub(crate) struct Outgoing(Stream);

impl Outgoing {
    /// Connects the node `from` to another one.
    pub(crate) fn connect(from: &Member, to: &Member, cluster: &[u8], tls: Option<&Tls>) -> Result<Outgoing> {
        let addresses = to.address.to_socket_addrs().map_err(io)?;
        let mut last = Error::new(format!("\"{}\" is no address", to.address));
        let mut tcp = None;
        for address in addresses {
            match TcpStream::connect_timeout(&address, PATIENCE) {
                Ok(stream) => {
                    tcp = Some(stream);
                    break;
                }
                Err(e) => last = io(e),
            }
        }
        let Some(tcp) = tcp else { return Err(last) };
        tcp.set_nodelay(true).map_err(io)?;
        tcp.set_write_timeout(Some(PATIENCE)).map_err(io)?;
        tcp.set_read_timeout(Some(PATIENCE)).map_err(io)?;
        let stream = match tls {
            None => Stream::Plain(tcp),
            Some(tls) => {
                let name = ServerName::try_from(to.name.clone())
                    .map_err(|_| Error::new(format!("\"{}\" is no name of a certificate", to.name)))?;
                let connection =
                    ClientConnection::new(tls.client.clone(), name).map_err(|e| Error::new(e.to_string()))?;
                Stream::Client(Box::new(StreamOwned::new(connection, tcp)))
            }
        };
        let mut out = Outgoing(stream);
        let mut w = Writer::default();
        w.0.extend(MAGIC);
        w.u64(from.number).u64(to.number).bytes(cluster);
        out.0.write_all(&w.0).and_then(|()| out.0.flush()).map_err(io)?;
        Ok(out)
    }

    fn frame(&mut self, kind: u8, content: &[u8]) -> std::io::Result<()> {
        let mut head = [0; 5];
        head[0] = kind;
        head[1..].copy_from_slice(&(content.len() as u32).to_be_bytes());
        // (one write where it is short: one packet)
        match content.len() {
            0..=16_384 => self.0.write_all(&[&head, content].concat()),
            _ => self.0.write_all(&head).and_then(|()| self.0.write_all(content)),
        }
    }

    /// Sends a message.
    pub(crate) fn message(&mut self, message: &[u8]) -> std::io::Result<()> {
        self.frame(MESSAGE, message)
    }

    /// Sends what is in buffers.
    pub(crate) fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}

/// A copy is written to a connection in pieces.
impl Write for Outgoing {
    fn write(&mut self, from: &[u8]) -> std::io::Result<usize> {
        let length = from.len().min(1 << 20);
        self.frame(PIECE, &from[..length])?;
        Ok(length)
    }
    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}

/// The end that reads.
pub(crate) struct Incoming {
    stream: Stream,
    /// the number of the node that sends
    pub(crate) from: u64,
}

impl Incoming {
    /// Takes a connection. Errors: it is none of a node of this cluster, or is meant for another node.
    pub(crate) fn accept(
        tcp: TcpStream,
        to: u64,
        own: &[u8],
        members: &[Member],
        tls: Option<&Tls>,
    ) -> Result<Incoming> {
        tcp.set_nodelay(true).map_err(io)?;
        tcp.set_read_timeout(Some(PATIENCE)).map_err(io)?;
        tcp.set_write_timeout(Some(PATIENCE)).map_err(io)?;
        let mut stream = match tls {
            None => Stream::Plain(tcp),
            Some(tls) => {
                let connection = ServerConnection::new(tls.server.clone()).map_err(|e| Error::new(e.to_string()))?;
                Stream::Server(Box::new(StreamOwned::new(connection, tcp)))
            }
        };
        let mut head = [0; 8 + 16 + 4];
        stream.read_exact(&mut head).map_err(io)?;
        if head[..8] != MAGIC[..] {
            return Err(Error::new("it does not speak this version of the cluster's protocol"));
        }
        let mut r = Reader(Bytes::copy_from_slice(&head[8..]));
        let (Some(from), Some(meant), Some(length)) = (r.u64(), r.u64(), r.u32()) else {
            return Err(Error::new("it does not say who it is"));
        };
        let mut cluster = vec![0; length.min(4096) as usize];
        stream.read_exact(&mut cluster).map_err(io)?;
        if cluster != own {
            let theirs = String::from_utf8_lossy(&cluster).into_owned();
            return Err(Error::new(format!("it is of another cluster, with the nodes {theirs}")));
        }
        if meant != to {
            return Err(Error::new(format!("it looks for node {meant}")));
        }
        let Some(member) = members.iter().find(|member| member.number == from && from != to) else {
            return Err(Error::new(format!("there is no node {from}")));
        };
        if let Stream::Server(stream) = &stream {
            let certificate = stream.conn.peer_certificates().and_then(<[_]>::first);
            let verified = certificate.ok_or(Error::new("it shows no certificate")).and_then(|certificate| {
                let name = ServerName::try_from(member.name.as_str()).map_err(|e| Error::new(e.to_string()))?;
                let parsed =
                    rustls::server::ParsedCertificate::try_from(certificate).map_err(|e| Error::new(e.to_string()))?;
                rustls::client::verify_server_name(&parsed, &name).map_err(|e| Error::new(e.to_string()))
            });
            verified.map_err(|e| Error::new(format!("it is not node \"{}\": {e}", member.name)))?;
        }
        let mut incoming = Incoming { stream, from };
        incoming.waits_for(None)?;
        Ok(incoming)
    }

    /// For how long a frame is waited for. None: a node may be silent.
    pub(crate) fn waits_for(&mut self, time: Option<Duration>) -> Result<()> {
        let tcp = match &self.stream {
            Stream::Plain(tcp) => tcp,
            Stream::Client(s) => s.get_ref(),
            Stream::Server(s) => s.get_ref(),
        };
        tcp.set_read_timeout(time).map_err(io)
    }

    /// The next frame.
    pub(crate) fn next(&mut self) -> Result<Frame> {
        let mut head = [0; 5];
        self.stream.read_exact(&mut head).map_err(io)?;
        let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]);
        if length > LONGEST {
            return Err(Error::new("a frame that is too long"));
        }
        let mut content = vec![0; length as usize];
        self.stream.read_exact(&mut content).map_err(io)?;
        match head[0] {
            MESSAGE => Ok(Frame::Message(content.into())),
            PIECE => Ok(Frame::Piece(content.into())),
            _ => Err(Error::new("a frame that is none")),
        }
    }
}
