//! A connection for replication to a primary: its start, commands, and the messages of a stream.
//!
//! It is used by a standby's thread, which waits at the socket for a moment only and then looks at what else is asked for.

use super::conninfo::{Conninfo, Host, SslMode};
use super::tls;
use bytes::{Buf, Bytes, BytesMut};
use pgsqlite_replication::stream::{FromStandby, Status, FORMAT};
use pgsqlite_storage::stream::Position;
use pgsqlite_types::transaction_ids::{lsn_text, parse_lsn};
use pgsqlite_types::{PgError, Result, SqlState};
use pgsqlite_wire::scram;
use rustls::pki_types::ServerName;
use rustls::{ClientConnection, StreamOwned};
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// So long a read waits, before what else is asked for is looked at.
pub const TICK: Duration = Duration::from_millis(20);
/// So long a primary may take to answer a command, or to take what is sent.
const PATIENCE: Duration = Duration::from_secs(60);
/// A message of a primary is at most so long: it sends changes in pieces.
const LONGEST: usize = 1 << 20;

enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
}

impl Read for Stream {
    fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
        match self {
            Stream::Tcp(stream) => stream.read(to),
            Stream::Unix(stream) => stream.read(to),
            Stream::Tls(stream) => stream.read(to),
        }
    }
}

impl Stream {
    fn send(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        match self {
            Stream::Tcp(stream) => stream.write_all(bytes),
            Stream::Unix(stream) => stream.write_all(bytes),
            Stream::Tls(stream) => stream.write_all(bytes).and_then(|()| stream.flush()),
        }
    }

    /// Whether a read returns at once: with what is there, or WouldBlock.
    fn set_nonblocking(&self, nonblocking: bool) -> std::io::Result<()> {
        match self {
            Stream::Tcp(stream) => stream.set_nonblocking(nonblocking),
            Stream::Unix(stream) => stream.set_nonblocking(nonblocking),
            Stream::Tls(stream) => stream.sock.set_nonblocking(nonblocking),
        }
    }
}

/// A connection to a primary.
pub struct Primary {
    stream: Stream,
    input: BytesMut,
    /// the server it is connected to
    pub host: Host,
}

/// What a primary says of itself.
pub struct Identity {
    /// where its log ends
    pub lsn: u64,
}

fn lost(host: &Host, why: impl std::fmt::Display) -> PgError {
    PgError::new(SqlState::CONNECTION_FAILURE, format!("the primary {host}: {why}"))
}

fn startup_packet(parameters: &[(&str, &str)]) -> Vec<u8> {
    let mut body = (3i32 << 16).to_be_bytes().to_vec();
    for (name, value) in parameters {
        for text in [name, value] {
            body.extend_from_slice(text.as_bytes());
            body.push(0);
        }
    }
    body.push(0);
    let mut packet = (body.len() as i32 + 4).to_be_bytes().to_vec();
    packet.extend(body);
    packet
}

fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![kind];
    bytes.extend((body.len() as i32 + 4).to_be_bytes());
    bytes.extend_from_slice(body);
    bytes
}

/// What an ErrorResponse says.
fn told(host: &Host, body: &[u8]) -> PgError {
    let (mut code, mut text) = (None, String::new());
    for field in body.split(|byte| *byte == 0) {
        let Some((kind, value)) = field.split_first() else { break };
        let value = String::from_utf8_lossy(value).into_owned();
        match kind {
            b'C' => code = SqlState::parse(&value),
            b'M' => text = value,
            _ => {}
        }
    }
    PgError::new(code.unwrap_or(SqlState::CONNECTION_FAILURE), format!("the primary {host} says: {text}"))
}

impl Primary {
    /// Connects to the first of the servers that is a primary and takes the standby, beginning with that of this number. Returns it with its number. Errors: those of the servers.
    pub fn connect(conninfo: &Conninfo, database: &str, first: usize) -> Result<(Primary, usize)> {
        let mut failed: Option<PgError> = None;
        for i in 0..conninfo.hosts.len() {
            let number = (first + i) % conninfo.hosts.len();
            match Primary::connect_to(conninfo, &conninfo.hosts[number], database) {
                Ok(primary) => return Ok((primary, number)),
                Err(e) => {
                    failed = Some(match failed {
                        None => e,
                        Some(before) => PgError::new(before.code(), format!("{}; {}", before.message(), e.message())),
                    })
                }
            }
        }
        Err(failed.unwrap_or_else(|| PgError::internal("a primary without a host")))
    }

    fn connect_to(conninfo: &Conninfo, host: &Host, database: &str) -> Result<Primary> {
        let io = |e: std::io::Error| lost(host, e);
        let mut stream = match host.socket() {
            Some(path) => {
                let stream = UnixStream::connect(path).map_err(io)?;
                stream
                    .set_read_timeout(Some(TICK))
                    .and_then(|()| stream.set_write_timeout(Some(PATIENCE)))
                    .map_err(io)?;
                Stream::Unix(stream)
            }
            None => {
                let mut connected = Err(lost(host, "the name has no address"));
                for address in (host.name.as_str(), host.port).to_socket_addrs().map_err(io)? {
                    connected = TcpStream::connect_timeout(&address, conninfo.connect_timeout).map_err(io);
                    if connected.is_ok() {
                        break;
                    }
                }
                let stream = connected?;
                let keepalive = socket2::SockRef::from(&stream).set_keepalive(true);
                stream.set_nodelay(true).and(keepalive).map_err(io)?;
                stream
                    .set_read_timeout(Some(TICK))
                    .and_then(|()| stream.set_write_timeout(Some(PATIENCE)))
                    .map_err(io)?;
                Stream::Tcp(stream)
            }
        };
        let deadline = Instant::now() + conninfo.connect_timeout;
        if let (Stream::Tcp(tcp), true) = (&mut stream, conninfo.sslmode != SslMode::Disable) {
            tcp.write_all(&[0, 0, 0, 8, 4, 210, 22, 47]).map_err(io)?;
            let mut answer = [0];
            while let Err(e) = tcp.read_exact(&mut answer) {
                if !waits(&e) || Instant::now() >= deadline {
                    return Err(io(e));
                }
            }
            stream = match (answer[0], conninfo.sslmode, stream) {
                (b'S', _, Stream::Tcp(tcp)) => {
                    let name = ServerName::try_from(host.name.clone()).map_err(|e| lost(host, e))?;
                    let client = ClientConnection::new(tls::client(conninfo)?, name).map_err(|e| lost(host, e))?;
                    let mut stream = StreamOwned::new(client, tcp);
                    while stream.conn.is_handshaking() {
                        match stream.conn.complete_io(&mut stream.sock) {
                            Ok(_) => {}
                            Err(e) if waits(&e) && Instant::now() < deadline => {}
                            Err(e) => return Err(io(e)),
                        }
                    }
                    Stream::Tls(Box::new(stream))
                }
                (b'N', SslMode::Prefer, stream) => stream,
                (b'N', ..) => return Err(lost(host, "the server does not offer TLS")),
                _ => return Err(lost(host, "the server is none of PostgreSQL's protocol")),
            };
        }
        let mut primary = Primary { stream, input: BytesMut::new(), host: host.clone() };
        primary.start(conninfo, database, deadline)?;
        Ok(primary)
    }

    /// From the start-up packet to the first ReadyForQuery.
    fn start(&mut self, conninfo: &Conninfo, database: &str, deadline: Instant) -> Result<()> {
        let parameters = [
            ("user", conninfo.user.as_str()),
            ("database", database),
            ("replication", "true"),
            ("application_name", conninfo.application_name.as_str()),
        ];
        self.send(&startup_packet(&parameters))?;
        let (mut client, mut proof) = (None, None);
        loop {
            let (kind, body) = self.answer(deadline)?;
            let refused = |what: &str| lost(&self.host, what);
            match (kind, body.first_chunk::<4>().map(|n| i32::from_be_bytes(*n))) {
                (b'E', _) => return Err(told(&self.host, &body)),
                (b'R', Some(0)) if proof.is_some() => {
                    return Err(refused("the server has not proved that it knows the password"))
                }
                (b'R', Some(0)) => {}
                (b'R', Some(10)) => {
                    if !body[4..].split(|byte| *byte == 0).any(|name| name == b"SCRAM-SHA-256") {
                        return Err(refused("the server asks for a password in a way that is not supported"));
                    }
                    let mut nonce = [0; 18];
                    getrandom::fill(&mut nonce)
                        .map_err(|e| PgError::no_resources(format!("no random numbers: {e}")))?;
                    let nonce: String = nonce.iter().map(|byte| format!("{byte:02x}")).collect();
                    let begun = scram::Client::new(&nonce);
                    let first = begun.first();
                    let mut body = b"SCRAM-SHA-256\0".to_vec();
                    body.extend((first.len() as i32).to_be_bytes());
                    body.extend(first.as_bytes());
                    client = Some(begun);
                    self.send(&message(b'p', &body))?;
                }
                (b'R', Some(11)) => {
                    let Some(password) = conninfo.password(&self.host, database)? else {
                        return Err(lost(&self.host, "the server asks for a password, and there is none")
                            .hint("Write it into ~/.pgpass or the file that PGPASSFILE names."));
                    };
                    let text = std::str::from_utf8(&body[4..]).ok();
                    let last = client.take().zip(text).and_then(|(client, text)| client.last(text, &password));
                    let Some((last, expected)) = last else { return Err(refused("a malformed SCRAM message")) };
                    proof = Some(expected);
                    self.send(&message(b'p', last.as_bytes()))?;
                }
                (b'R', Some(12)) => {
                    let text = std::str::from_utf8(&body[4..]).unwrap_or_default();
                    if !proof.take().is_some_and(|proof| proof.is(text)) {
                        return Err(refused("the server does not know the password"));
                    }
                }
                (b'R', _) => return Err(refused("the server asks for a password in a way that is not supported")),
                (b'S' | b'K' | b'N', _) => {}
                (b'Z', _) => return Ok(()),
                (kind, _) => return Err(refused(&format!("unexpected message type {kind}"))),
            }
        }
    }

    fn send(&mut self, bytes: &[u8]) -> Result<()> {
        self.stream.send(bytes).map_err(|e| lost(&self.host, e))
    }

    /// A whole message that has come.
    fn buffered(&mut self) -> Result<Option<(u8, Bytes)>> {
        let Some(&[kind, a, b, c, d]) = self.input.first_chunk::<5>() else { return Ok(None) };
        let length = i32::from_be_bytes([a, b, c, d]);
        if !(4..=LONGEST as i32).contains(&length) {
            return Err(lost(&self.host, "a message of an impossible length"));
        }
        if self.input.len() <= length as usize {
            return Ok(None);
        }
        let mut body = self.input.split_to(length as usize + 1).freeze();
        body.advance(5);
        Ok(Some((kind, body)))
    }

    /// Reads what comes. False: nothing has come for a moment.
    fn fill(&mut self) -> Result<bool> {
        const MOST: usize = 256 << 10;
        let length = self.input.len();
        self.input.resize(length + MOST, 0);
        let read = self.stream.read(&mut self.input[length..]);
        self.input.truncate(length + read.as_ref().map_or(0, |n| *n));
        match read {
            Ok(0) => Err(lost(&self.host, "the connection was closed")),
            Ok(_) => Ok(true),
            Err(e) if waits(&e) => Ok(false),
            Err(e) => Err(lost(&self.host, e)),
        }
    }

    fn answer(&mut self, deadline: Instant) -> Result<(u8, Bytes)> {
        loop {
            if let Some(found) = self.buffered()? {
                return Ok(found);
            }
            if !self.fill()? && Instant::now() >= deadline {
                return Err(lost(&self.host, "it does not answer"));
            }
        }
    }

    /// Carries out a command that returns rows of texts.
    fn rows(&mut self, command: &str) -> Result<Vec<Vec<Option<String>>>> {
        self.send(&message(b'Q', &[command.as_bytes(), b"\0"].concat()))?;
        let deadline = Instant::now() + PATIENCE;
        let (mut rows, mut failed) = (Vec::new(), None);
        loop {
            let (kind, body) = self.answer(deadline)?;
            match kind {
                b'D' => rows.push(columns(&body).ok_or_else(|| lost(&self.host, "a malformed row"))?),
                b'E' => failed = Some(told(&self.host, &body)),
                b'Z' => return failed.map_or(Ok(rows), Err),
                _ => {}
            }
        }
    }

    /// Where the primary is.
    pub fn identify(&mut self) -> Result<Identity> {
        let rows = self.rows("IDENTIFY_SYSTEM")?;
        let lsn = rows.first().and_then(|row| parse_lsn(row.get(2)?.as_deref()?));
        lsn.map(|lsn| Identity { lsn }).ok_or_else(|| lost(&self.host, "it does not say who it is"))
    }

    /// The names of its databases.
    pub fn databases(&mut self) -> Result<Vec<String>> {
        Ok(self.rows("LIST_DATABASES")?.into_iter().filter_map(|row| row.into_iter().next()?).collect())
    }

    /// Begins the stream, after the place that the standby has. Errors: also for a server that is no pgsqlite.
    pub fn begin(&mut self, from: Option<(u64, Position)>) -> Result<()> {
        let (lsn, position) = from.map_or((0, String::new()), |(lsn, position)| (lsn, position.to_string()));
        let command =
            format!("START_REPLICATION PHYSICAL {} (format '{FORMAT}', position '{position}')\0", lsn_text(lsn));
        self.send(&message(b'Q', command.as_bytes()))?;
        loop {
            match self.answer(Instant::now() + PATIENCE)? {
                (b'W', _) => return Ok(()),
                (b'E', body) => return Err(told(&self.host, &body)),
                (b'N' | b'S', _) => {}
                (kind, _) => return Err(lost(&self.host, format!("unexpected message type {kind}"))),
            }
        }
    }

    /// What CopyData has next. `waits`: for a moment, if there is nothing. None: there is nothing. Errors: also where the primary has ended the stream.
    pub fn next(&mut self, waits: bool) -> Result<Option<Bytes>> {
        loop {
            match self.buffered()? {
                Some((b'd', body)) => return Ok(Some(body)),
                Some((b'c', _)) => return Err(lost(&self.host, "the server stops")),
                Some((b'E', body)) => return Err(told(&self.host, &body)),
                Some((b'N' | b'S', _)) => continue,
                Some((kind, _)) => return Err(lost(&self.host, format!("unexpected message type {kind}"))),
                None => {}
            }
            let came = match waits {
                true => self.fill()?,
                false => {
                    let io = |e: std::io::Error| PgError::new(SqlState::CONNECTION_FAILURE, e.to_string());
                    self.stream.set_nonblocking(true).map_err(io)?;
                    let came = self.fill();
                    self.stream.set_nonblocking(false).map_err(io)?;
                    came?
                }
            };
            if !came {
                return Ok(None);
            }
        }
    }

    /// Tells how far the standby has come.
    pub fn tell(&mut self, status: &Status) -> Result<()> {
        let mut body = Vec::new();
        FromStandby::encode_status(status, &mut body);
        self.send(&message(b'd', &body))
    }
}

impl Drop for Primary {
    fn drop(&mut self) {
        // (so that the primary need not find out; it may be gone)
        let _ = self.stream.send(&message(b'X', &[]));
    }
}

/// Whether nothing has come yet.
fn waits(e: &std::io::Error) -> bool {
    matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

/// The values of a DataRow.
fn columns(body: &[u8]) -> Option<Vec<Option<String>>> {
    let (count, mut rest) = body.split_first_chunk::<2>()?;
    let mut values = Vec::new();
    for _ in 0..i16::from_be_bytes(*count) {
        let (length, after) = rest.split_first_chunk::<4>()?;
        let length = i32::from_be_bytes(*length);
        if length < 0 {
            values.push(None);
            rest = after;
            continue;
        }
        let (value, after) = after.split_at_checked(length as usize)?;
        values.push(Some(std::str::from_utf8(value).ok()?.to_string()));
        rest = after;
    }
    Some(values)
}
