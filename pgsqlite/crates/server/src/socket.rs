//! A client's socket, TCP or Unix, waited for in one of two ways.
//!
//! As a task among others, through the runtime's poller: what a session does that says nothing for a while. It is woken for
//! what has come in, and for room to write only while it waits for that; Tokio's own streams ask for both at once, and on a
//! Unix socket the kernel tells of new room each time the client has read an answer, so every round trip would wake a thread
//! for nothing, about when the next request comes.
//!
//! Or *patiently*: the thread itself waits for what comes next, for up to [`PATIENCE`], and the poller knows nothing of the
//! socket. A session that has a thread of its own (`crate::own_thread`) does that: no other thread is woken for it.
//!
//! Before it waits, a patient thread, or that of a session that others wait for, stays awake for a moment ([`crate::busy_poll`]).

use crate::busy_poll::BusyPoll;
use pgsqlite_engine::session::{BoxFuture, ClientWatch};
use socket2::Socket as Handle;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{ready, Context, Poll};
use std::time::Duration;
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf, Ready};

/// So long a thread waits for its client's next message; most programs send the next statement far sooner.
pub const PATIENCE: Duration = Duration::from_millis(4);

pub struct Socket {
    /// the poller's registration (None: patient, or not read from yet); dropped before the descriptor is closed
    watch: Option<AsyncFd<RawFd>>,
    /// a second handle, registered for room to write, while a write waits for it
    full: Option<AsyncFd<Handle>>,
    /// shared with who watches the client ([`Socket::watch`])
    handle: Arc<Handle>,
    patient: bool,
    /// others wait for what comes next
    urgent: bool,
    /// how a patient read begins
    poll: BusyPoll,
}

impl Socket {
    /// `busy_poll`: so long a patient read may ask for what is about to come before it sleeps (zero: never).
    pub fn new(handle: Handle, busy_poll: Duration) -> io::Result<Socket> {
        // each call says whether it waits
        handle.set_nonblocking(false)?;
        handle.set_read_timeout(Some(PATIENCE))?;
        let handle = Arc::new(handle);
        Ok(Socket { watch: None, full: None, handle, patient: false, urgent: false, poll: BusyPoll::new(busy_poll) })
    }

    /// From now on reads wait on their thread, until one has waited for [`PATIENCE`] in vain.
    pub fn be_patient(&mut self) {
        self.watch = None;
        self.patient = true;
    }

    /// Reads wait in the poller again.
    pub fn be_impatient(&mut self) {
        self.patient = false;
    }

    /// Who tells when the client has gone away.
    pub fn watch(&self) -> Arc<dyn ClientWatch> {
        Arc::new(Watch(Arc::downgrade(&self.handle)))
    }

    /// Whether others wait for what comes next: the next read begins awake, a patient one or not.
    pub fn be_urgent(&mut self, urgent: bool) {
        self.urgent = urgent;
    }

    pub fn is_patient(&self) -> bool {
        self.patient
    }
}

/// Watches a socket without reading from it.
struct Watch(Weak<Handle>);

impl ClientWatch for Watch {
    fn gone(&self) -> BoxFuture<'static, ()> {
        let socket = self.0.clone();
        Box::pin(async move {
            let Some(handle) = socket.upgrade() else { return };
            // a descriptor of its own: the socket's may be registered already
            let watched = handle.try_clone().and_then(|second| register(second, Interest::READABLE));
            drop(handle);
            let Ok(watched) = watched else {
                return std::future::pending().await;
            };
            loop {
                match watched.ready(Interest::READABLE).await {
                    Ok(mut guard) if !guard.ready().is_read_closed() => guard.clear_ready_matching(Ready::READABLE),
                    _ => return,
                }
            }
        })
    }

    fn is_gone(&self) -> bool {
        #[cfg(target_os = "linux")]
        const CLOSED: i16 = libc::POLLRDHUP | libc::POLLHUP | libc::POLLERR;
        #[cfg(not(target_os = "linux"))]
        const CLOSED: i16 = libc::POLLHUP | libc::POLLERR;
        let Some(handle) = self.0.upgrade() else { return true };
        let mut asked = libc::pollfd { fd: handle.as_raw_fd(), events: CLOSED, revents: 0 };
        // SAFETY: one descriptor, which the handle keeps open.
        unsafe { libc::poll(&mut asked, 1, 0) > 0 && asked.revents & CLOSED != 0 }
    }
}

/// One read: whether it took all there was. Err(WouldBlock): nothing has come (in [`PATIENCE`], without `MSG_DONTWAIT`).
fn receive(handle: &Handle, buf: &mut ReadBuf<'_>, flags: i32) -> io::Result<bool> {
    loop {
        // SAFETY: only written to, never made uninitialized.
        let room = unsafe { buf.unfilled_mut() };
        match handle.recv_with_flags(room, flags) {
            Ok(n) => {
                let drained = n > 0 && n < room.len();
                // SAFETY: the kernel has written that many bytes to its start.
                unsafe { buf.assume_init(n) };
                buf.advance(n);
                return Ok(drained);
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
}

/// Registers with the poller; must be called inside the runtime.
fn register<T: AsRawFd>(handle: T, interest: Interest) -> io::Result<AsyncFd<T>> {
    // SAFETY: what is passed gives the same descriptor always, and the `Socket` that it belongs to closes it only after
    // the registration has been dropped.
    Ok(unsafe { AsyncFd::register_with_interest(handle, interest) }?)
}

impl AsyncRead for Socket {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.patient || this.urgent {
            let polled = this.poll.poll(this.urgent, || {
                // the poller would wake a thread for what this one finds
                this.watch = None;
                receive(&this.handle, buf, libc::MSG_DONTWAIT)
            });
            this.urgent = false;
            if let Some(came) = polled {
                this.poll.heard();
                return Poll::Ready(came.map(drop));
            }
        }
        if this.patient {
            match receive(&this.handle, buf, 0) {
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                    // Pending tells the caller, also if something comes in this moment: it would go on as if the socket were patient
                    this.patient = false;
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
                other => {
                    this.poll.heard();
                    return Poll::Ready(other.map(drop));
                }
            }
        }
        let watch = match &this.watch {
            Some(watch) => watch,
            None => this.watch.insert(register(this.handle.as_raw_fd(), Interest::READABLE)?),
        };
        loop {
            let mut guard = ready!(watch.poll_read_ready(cx))?;
            match receive(&this.handle, buf, libc::MSG_DONTWAIT) {
                Ok(drained) => {
                    if drained {
                        // what comes now is told anew (the readiness is edge-triggered)
                        guard.clear_ready();
                    }
                    return Poll::Ready(Ok(()));
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => guard.clear_ready(),
                Err(e) => return Poll::Ready(Err(e)),
            }
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        loop {
            match this.handle.send_with_flags(buf, libc::MSG_DONTWAIT) {
                Ok(n) => {
                    this.full = None;
                    return Poll::Ready(Ok(n));
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                    let full = match &this.full {
                        Some(full) => full,
                        None => {
                            let second = this.handle.try_clone()?;
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
        Poll::Ready(self.handle.shutdown(std::net::Shutdown::Write))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;
    use std::io::Write;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    #[derive(Default)]
    struct Woken(AtomicUsize);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn pair(busy_poll: Duration) -> (Socket, std::os::unix::net::UnixStream) {
        let (client, server) = std::os::unix::net::UnixStream::pair().unwrap();
        (Socket::new(Handle::from(server), busy_poll).unwrap(), client)
    }

    #[tokio::test]
    async fn a_read_that_loses_its_patience_says_so_and_is_tried_again() {
        let (mut socket, mut client) = pair(Duration::ZERO);
        socket.be_patient();
        let woken = Arc::new(Woken::default());
        let waker = woken.clone().into();
        let mut room = [0; 8];
        let mut buf = ReadBuf::new(&mut room);
        let first = Pin::new(&mut socket).poll_read(&mut Context::from_waker(&waker), &mut buf);
        assert!(first.is_pending() && !socket.is_patient());
        assert_eq!(woken.0.load(Ordering::Relaxed), 1);
        client.write_all(b"ab").unwrap();
        poll_fn(|cx| Pin::new(&mut socket).poll_read(cx, &mut buf)).await.unwrap();
        assert_eq!(buf.filled(), b"ab");
    }

    #[tokio::test]
    async fn an_urgent_read_leaves_the_poller_and_comes_back_to_it() {
        let (mut socket, mut client) = pair(Duration::from_micros(50));
        let mut room = [0; 8];
        for urgent in [false, true, true, false] {
            let mut buf = ReadBuf::new(&mut room);
            socket.be_urgent(urgent);
            let pending = poll_fn(|cx| Poll::Ready(Pin::new(&mut socket).poll_read(cx, &mut buf).is_pending())).await;
            assert!(pending);
            socket.be_urgent(urgent);
            client.write_all(b"ab").unwrap();
            poll_fn(|cx| Pin::new(&mut socket).poll_read(cx, &mut buf)).await.unwrap();
            assert_eq!(buf.filled(), b"ab");
        }
    }
}
