//! A Unix socket that wakes its task for what has come in, and for room to write only while it waits for that.
//!
//! Tokio's own stream asks for both at once. On a Unix socket the kernel tells of new room each time the client has read
//! an answer, so every round trip would wake a thread for nothing, about when the next request comes.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::pin::Pin;
use std::task::{ready, Context, Poll};
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};

pub struct LocalStream {
    socket: AsyncFd<UnixStream>,
    /// a second handle of the socket, while a write waits for room
    full: Option<AsyncFd<UnixStream>>,
}

impl LocalStream {
    /// Must be called inside the runtime.
    pub fn new(stream: UnixStream) -> io::Result<LocalStream> {
        stream.set_nonblocking(true)?;
        Ok(LocalStream { socket: register(stream, Interest::READABLE)?, full: None })
    }
}

fn register(stream: UnixStream, interest: Interest) -> io::Result<AsyncFd<UnixStream>> {
    // SAFETY: the stream owns its descriptor, stays inside the AsyncFd, and always gives the same one.
    Ok(unsafe { AsyncFd::register_with_interest(stream, interest) }?)
}

impl AsyncRead for LocalStream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        loop {
            let mut guard = ready!(this.socket.poll_read_ready(cx))?;
            let room = buf.initialize_unfilled();
            match guard.try_io(|socket| socket.get_ref().read(room)) {
                Ok(Ok(n)) => {
                    if n > 0 && n < room.len() {
                        // nothing is left: what comes now is told anew (the readiness is edge-triggered)
                        guard.clear_ready();
                    }
                    buf.advance(n);
                    return Poll::Ready(Ok(()));
                }
                Ok(Err(e)) if e.kind() == io::ErrorKind::Interrupted => {}
                Ok(Err(e)) => return Poll::Ready(Err(e)),
                Err(_would_block) => {}
            }
        }
    }
}

impl AsyncWrite for LocalStream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        loop {
            match this.socket.get_ref().write(buf) {
                Ok(n) => {
                    this.full = None;
                    return Poll::Ready(Ok(n));
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                    let full = match &this.full {
                        Some(full) => full,
                        None => {
                            let second = this.socket.get_ref().try_clone()?;
                            this.full.insert(register(second, Interest::WRITABLE)?)
                        }
                    };
                    // told of room at once, perhaps of that before the write: the next round finds out
                    ready!(full.poll_write_ready(cx))?.clear_ready();
                }
                Err(e) => return Poll::Ready(Err(e)),
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.socket.get_ref().shutdown(std::net::Shutdown::Write))
    }
}
