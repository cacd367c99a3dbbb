//! Requests of a client to end the running statement: urgent bytes, and the end of the connection.

use pgsqlite_engine::session::CancelHandle;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::unix::AsyncFd;
use tokio::io::Interest;

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
    pub fn new(socket: OwnedFd) -> std::io::Result<Watcher> {
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

#[cfg(test)]
mod tests {
    use super::*;

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
