//! The SQLI port: accepting, TLS, and the urgent byte that cancels.
//!
//! One port serves clients with and without TLS: a TLS handshake and a login packet differ in their first bytes.

use crate::client::{Client, End};
use crate::{conversation, login};
use pgsqlite_engine::session::CancelHandle;
use pgsqlite_server::entrance::Visitor;
use pgsqlite_server::listen::{self, Shared};
use pgsqlite_server::socket::Socket;
use pgsqlite_server::stream::Stream;
use pgsqlite_server::Server;
use pgsqlite_types::Result;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncWriteExt, Interest};
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

/// Cancel requests of one client.
#[derive(Default)]
pub struct Interrupts {
    /// one has come and has not been answered yet
    pending: AtomicBool,
}

impl Interrupts {
    /// Whether a request has come since it was asked last.
    pub fn take(&self) -> bool {
        self.pending.swap(false, Ordering::AcqRel)
    }
}

/// The byte that asks to end the running statement.
const INTERRUPT: u8 = 0x42;

/// A statement whose client has gone away may run so long, and may be one that changes something quickly.
const LEFT: Duration = Duration::from_millis(100);

/// Waits for urgent bytes on a second descriptor of the socket and cancels what the session runs; also what it runs when the client has
/// closed its side. Ends when dropped.
pub struct Watcher {
    pub interrupts: Arc<Interrupts>,
    pub cancel: Arc<std::sync::Mutex<Option<CancelHandle>>>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Watcher {
    fn new(socket: OwnedFd) -> std::io::Result<Watcher> {
        let interrupts = Arc::new(Interrupts::default());
        let cancel: Arc<std::sync::Mutex<Option<CancelHandle>>> = Arc::default();
        // SAFETY: the descriptor is owned by what is registered, so that it stays open and the same until it is deregistered.
        let socket = unsafe { AsyncFd::register_with_interest(socket, Interest::PRIORITY | Interest::READABLE)? };
        let (own, session) = (interrupts.clone(), cancel.clone());
        let task = tokio::spawn(async move {
            while let Ok(mut ready) = socket.ready(Interest::PRIORITY).await {
                // a closed connection is ready for ever, and waiting for it would not let go of the thread
                if !ready.ready().is_priority() || ready.ready().is_read_closed() {
                    break;
                }
                let mut byte = 0u8;
                // SAFETY: the descriptor is open as long as `socket` lives; one byte is written to a byte that lives here.
                let n = unsafe {
                    libc::recv(
                        socket.get_ref().as_raw_fd(),
                        (&raw mut byte).cast(),
                        1,
                        libc::MSG_OOB | libc::MSG_DONTWAIT,
                    )
                };
                let state = ready.ready();
                ready.clear_ready();
                if n == 1 && byte == INTERRUPT {
                    own.pending.store(true, Ordering::Release);
                    if let Ok(cancel) = session.lock() {
                        if let Some(cancel) = &*cancel {
                            cancel.cancel();
                        }
                    }
                }
                // a closed connection stays ready for ever
                if state.is_write_closed() || state.is_error() {
                    break;
                }
                if n != 1 {
                    // ready, and yet no byte: whatever the reason, this must not become a busy loop
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
            }
            // nobody is there who could take an answer
            loop {
                let running = session.lock().ok().and_then(|cancel| cancel.clone());
                let Some(running) = running else { return };
                tokio::time::sleep(LEFT).await;
                running.cancel();
            }
        });
        Ok(Watcher { interrupts, cancel, task })
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::OwnedFd;
    use std::time::Duration;

    /// On one thread: a watcher that went on asking would keep the test itself from going on.
    #[tokio::test]
    async fn the_watcher_tells_of_urgent_bytes_and_ends_with_the_connection() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("listens");
        let client = std::net::TcpStream::connect(listener.local_addr().expect("an address")).expect("connects");
        let (served, _) = listener.accept().expect("accepts");
        let mut watcher = Watcher::new(OwnedFd::from(served)).expect("watches");
        socket2::SockRef::from(&client).send_out_of_band(&[INTERRUPT]).expect("sends");
        let told = async {
            while !watcher.interrupts.take() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        assert!(tokio::time::timeout(Duration::from_secs(5), told).await.is_ok(), "the urgent byte was not told");
        // closed at once, in both directions
        socket2::SockRef::from(&client).set_linger(Some(Duration::ZERO)).expect("sets an option");
        drop(client);
        let ended = tokio::time::timeout(Duration::from_secs(5), &mut watcher.task).await;
        assert!(ended.is_ok(), "the watcher goes on after the connection has ended");
    }
}
