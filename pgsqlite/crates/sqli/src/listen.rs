//! The SQLI port: accepting, TLS, and the urgent byte that cancels.
//!
//! One port serves clients with and without TLS: a TLS handshake and a login packet differ in their first bytes.

use crate::client::{Client, End};
use crate::interrupts::Watcher;
use crate::{conversation, login};
use pgsqlite_server::byte_stream::Stream;
use pgsqlite_server::entrance::Visitor;
use pgsqlite_server::listen::{self, Shared};
use pgsqlite_server::socket::Socket;
use pgsqlite_server::Server;
use pgsqlite_types::Result;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};

/// A client that is told why it is sent away has this long to take the message.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// The sockets that listen.
pub struct Listener {
    shared: Arc<Shared>,
    sockets: Vec<TcpListener>,
}

impl Listener {
    /// Listens on `port` of the server's host; None if the server has no SQLI port. Errors: as of the server's own port.
    pub async fn start(server: &Server) -> Result<Option<Listener>> {
        let shared = server.shared();
        let Some(port) = shared.config.sqli_port else { return Ok(None) };
        let sockets = listen::bind(&shared.config, port).await?;
        Ok(Some(Listener { shared, sockets }))
    }

    /// The port that it has, also where the system has chosen it.
    pub fn port(&self) -> Result<u16> {
        listen::port_of(&self.sockets)
    }

    /// Accepts clients until the server stops.
    pub async fn run(self) {
        let mut accepting = tokio::task::JoinSet::new();
        for socket in self.sockets {
            let shared = self.shared.clone();
            accepting.spawn(async move {
                loop {
                    let (stream, address) = listen::accept(&socket).await;
                    let own = shared.clone();
                    let visitor = shared.visitor(Some(address), None);
                    shared.spawn(async move { serve(&own, stream, address, visitor).await });
                }
            });
        }
        self.shared.stopped().await;
    }
}

/// Serves one client to its end.
async fn serve(shared: &Arc<Shared>, socket: TcpStream, address: SocketAddr, visitor: Visitor) {
    let watcher = match socket.as_fd().try_clone_to_owned().and_then(Watcher::new) {
        Ok(watcher) => watcher,
        Err(e) => {
            tracing::warn!("a client cannot be served: {e}");
            return;
        }
    };
    let limit = shared.config.authentication_timeout;
    let started = tokio::select! {
        biased;
        () = shared.stopped() => return,
        () = visitor.sent_away() => return,
        started = tokio::time::timeout(limit, async {
            let mut client = Client::new(encrypt(shared, socket).await?, shared.config.send_timeout);
            let started = login::login(shared, &mut client, address).await;
            Ok((client, started))
        }) => started.unwrap_or(Err(End::Gone)),
    };
    drop(visitor);
    let Ok((mut client, started)) = started else { return };
    let end = match started {
        Ok(identity) => tokio::select! {
            biased;
            () = shared.abandoned() => End::Gone,
            end = conversation::run(shared, &mut client, identity, &watcher) => end,
        },
        Err(end) => end,
    };
    if let End::Malformed(what) = &end {
        tracing::debug!("a client breaks the protocol: {what}");
    }
    // the client may be gone already
    let _ = tokio::time::timeout(LAST_WORDS, client.flush()).await;
    let _ = tokio::time::timeout(LAST_WORDS, client.stream.shutdown()).await;
}

/// TLS, if the client begins it.
async fn encrypt(shared: &Shared, socket: TcpStream) -> std::result::Result<Stream, End> {
    let mut first = [0u8; 3];
    loop {
        match socket.peek(&mut first).await? {
            0 => return Err(End::Gone),
            // a login packet has its type, 1, third; a handshake has a version there, whose second byte comes next
            1 | 2 if first[0] == 0x16 => {
                // what came is there, so that waiting for readiness would not wait
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            _ => break,
        }
    }
    // a handshake record of TLS 1.x is 16 03 01 … 03 with a length that a login packet's mark (60) is above
    let mut start = [0u8; 4];
    let is_tls = first[..2] == [0x16, 3] && socket.peek(&mut start).await? >= 3 && start[3] != 60;
    let mut stream = Stream::Plain(Socket::new(socket.into_std()?.into(), shared.config.busy_poll)?);
    if is_tls {
        let tls = shared.tls.as_ref().ok_or_else(|| End::Malformed("TLS is not set up".into()))?;
        stream.encrypt(&tls.acceptor).await?;
    }
    Ok(stream)
}
