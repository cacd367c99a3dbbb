//! A client's byte stream: its socket, or TLS over it.

use crate::certificate;
use crate::socket::Socket;
use pgsqlite_natives::statistics::activity::Encryption;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio_rustls::server::TlsStream;
use tokio_rustls::TlsAcceptor;

pub enum Stream {
    Plain(Socket),
    Tls(Box<TlsStream<Socket>>),
    /// given up when a handshake failed
    Closed,
}

impl Stream {
    /// The server's side of a handshake. Nothing may have been read that came after the client's request for it.
    pub async fn encrypt(&mut self, acceptor: &TlsAcceptor) -> io::Result<()> {
        *self = match std::mem::replace(self, Stream::Closed) {
            Stream::Plain(socket) => Stream::Tls(Box::new(acceptor.accept(socket).await?)),
            other => other,
        };
        Ok(())
    }

    pub fn is_encrypted(&self) -> bool {
        matches!(self, Stream::Tls(_))
    }

    /// The certificate of the client, in DER. It is valid: an invalid one ends the handshake. None: the client has none, or was not asked.
    pub fn client_certificate(&self) -> Option<&[u8]> {
        match self {
            Stream::Tls(tls) => tls.get_ref().1.peer_certificates()?.first().map(|certificate| certificate.as_ref()),
            Stream::Plain(_) | Stream::Closed => None,
        }
    }

    /// What pg_stat_ssl says of it. None: it is not encrypted.
    pub fn encryption(&self) -> Option<Encryption> {
        match self {
            Stream::Tls(tls) => certificate::encryption(tls.get_ref().1),
            Stream::Plain(_) | Stream::Closed => None,
        }
    }

    /// See [`Socket::be_patient`].
    pub fn be_patient(&mut self) {
        match self {
            Stream::Plain(socket) => socket.be_patient(),
            Stream::Tls(tls) => tls.get_mut().0.be_patient(),
            Stream::Closed => {}
        }
    }

    /// See [`Socket::be_impatient`].
    pub fn be_impatient(&mut self) {
        match self {
            Stream::Plain(socket) => socket.be_impatient(),
            Stream::Tls(tls) => tls.get_mut().0.be_impatient(),
            Stream::Closed => {}
        }
    }

    /// See [`Socket::be_urgent`].
    pub fn be_urgent(&mut self, urgent: bool) {
        match self {
            Stream::Plain(socket) => socket.be_urgent(urgent),
            Stream::Tls(tls) => tls.get_mut().0.be_urgent(urgent),
            Stream::Closed => {}
        }
    }

    /// See [`Socket::watch`]; None: the stream is closed.
    pub fn watch(&self) -> Option<std::sync::Arc<dyn pgsqlite_engine::session::ClientWatch>> {
        match self {
            Stream::Plain(socket) => Some(socket.watch()),
            Stream::Tls(tls) => Some(tls.get_ref().0.watch()),
            Stream::Closed => None,
        }
    }

    pub fn is_patient(&self) -> bool {
        match self {
            Stream::Plain(socket) => socket.is_patient(),
            Stream::Tls(tls) => tls.get_ref().0.is_patient(),
            Stream::Closed => false,
        }
    }

    /// Sends all of it. A client that takes nothing for longer than `limit` (None: may take for ever) is given up, for it may
    /// hold the writer slot. Errors: TimedOut then, WriteZero where the other side takes no more, the socket's.
    pub async fn send(&mut self, bytes: &[u8], limit: Option<Duration>) -> io::Result<()> {
        let mut sent = 0;
        while sent < bytes.len() {
            let mut write = std::pin::pin!(self.write(&bytes[sent..]));
            // mostly the socket takes it at once, and no clock is needed
            let at_once = std::future::poll_fn(|cx| {
                Poll::Ready(match write.as_mut().poll(cx) {
                    Poll::Ready(n) => Some(n),
                    Poll::Pending => None,
                })
            });
            let n = match (at_once.await, limit) {
                (Some(n), _) => n?,
                (None, None) => write.await?,
                (None, Some(limit)) => match tokio::time::timeout(limit, write).await {
                    Ok(n) => n?,
                    Err(_) => {
                        tracing::warn!("a client took nothing of its result for {limit:?}: its session is ended");
                        return Err(io::ErrorKind::TimedOut.into());
                    }
                },
            };
            if n == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            sent += n;
        }
        self.flush().await
    }
}

fn closed<T>() -> Poll<io::Result<T>> {
    Poll::Ready(Err(io::ErrorKind::NotConnected.into()))
}

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Plain(s) => Pin::new(s).poll_read(cx, buf),
            Stream::Tls(s) => Pin::new(s).poll_read(cx, buf),
            Stream::Closed => closed(),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Stream::Plain(s) => Pin::new(s).poll_write(cx, buf),
            Stream::Tls(s) => Pin::new(s).poll_write(cx, buf),
            Stream::Closed => closed(),
        }
    }
    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Plain(s) => Pin::new(s).poll_flush(cx),
            Stream::Tls(s) => Pin::new(s).poll_flush(cx),
            Stream::Closed => closed(),
        }
    }
    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Plain(s) => Pin::new(s).poll_shutdown(cx),
            Stream::Tls(s) => Pin::new(s).poll_shutdown(cx),
            Stream::Closed => Poll::Ready(Ok(())),
        }
    }
}
