//! The socket of one client with its buffers: whole messages in, filled buffers out.
//!
//! Input is read into one buffer that grows with what arrives, never with what a length claims; a message is split off it
//! without copying. Output collects in one buffer and goes out in one write when the client has nothing more to say, or
//! when enough has come together.

use crate::byte_stream::Stream;
use crate::sink::FLUSH;
use bytes::{Bytes, BytesMut};
use pgsqlite_types::{PgError, SqlState};
use pgsqlite_wire::backend::Output;
use pgsqlite_wire::frontend::{self, Frame};
use pgsqlite_wire::startup::{self, Startup};
use pgsqlite_wire::Malformed;
use std::future::Future;
use std::task::Poll;
use std::time::Duration;
use tokio::io::AsyncReadExt;

/// Why a connection ends.
pub enum End {
    /// the client said goodbye, or went away
    Gone,
    /// this is told, then the connection is closed
    Fatal(PgError),
}

impl From<std::io::Error> for End {
    fn from(_: std::io::Error) -> End {
        End::Gone
    }
}
impl From<Malformed> for End {
    fn from(e: Malformed) -> End {
        End::Fatal(malformed(e).fatal())
    }
}

/// A peer's mistake as an error.
pub fn malformed(e: Malformed) -> PgError {
    let error = PgError::new(SqlState::parse(e.code).unwrap_or(SqlState::PROTOCOL_VIOLATION), e.message);
    match e.parameter {
        Some((portal, number)) => error.context(parameter_context(&portal, number)),
        None => error,
    }
}

/// Where an error of a value of Bind happened, as PostgreSQL says it.
pub fn parameter_context(portal: &str, number: usize) -> String {
    match portal {
        "" => format!("unnamed portal parameter ${number}"),
        name => format!("portal \"{name}\" parameter ${number}"),
    }
}

/// The socket with its buffers.
pub struct Client {
    pub stream: Stream,
    input: BytesMut,
    pub out: Output,
    /// how long a client may take nothing of what is sent (None: for ever)
    send_timeout: Option<Duration>,
    /// a big message came: its room is to be given back
    big: bool,
}

/// A room for this much is made before reading.
const READ: usize = 8192;
/// … but for as much only while a session is one of many that wait: a statement that is longer is read in two pieces.
const READ_WAITING: usize = 512;
/// A message of this size is rare enough to give its room back once it is answered.
const BIG: usize = 16 * READ;

impl Client {
    pub fn new(stream: Stream, send_timeout: Option<Duration>) -> Client {
        Client { stream, input: BytesMut::with_capacity(READ), out: Output::default(), send_timeout, big: false }
    }

    /// How long the client may take nothing of what is sent from now on.
    pub fn set_send_timeout(&mut self, timeout: Option<Duration>) {
        self.send_timeout = timeout;
    }

    /// Sends what is in the output buffer. Errors: the client is gone, or takes nothing for too long.
    pub async fn flush(&mut self) -> Result<(), End> {
        if self.out.buffer.is_empty() {
            return Ok(());
        }
        self.stream.send(&self.out.buffer, self.send_timeout).await?;
        self.out.buffer.clear();
        self.out.answered = false;
        if self.out.buffer.capacity() > 4 * FLUSH {
            self.out.buffer.shrink_to(FLUSH);
        }
        Ok(())
    }

    /// Gives back the memory of messages that are done with, before a wait that may be long.
    pub fn rest(&mut self) {
        if self.input.is_empty() {
            self.input = BytesMut::new();
        }
        if self.out.buffer.is_empty() {
            self.out.buffer = Vec::new();
        }
    }

    /// Reads more input. False: the socket was patient and lost its patience; the next call waits as a task does. Safe to
    /// drop before it is done.
    pub async fn fill(&mut self) -> Result<bool, End> {
        if self.big && self.input.is_empty() {
            self.input = BytesMut::new();
            self.big = false;
        }
        let was_patient = self.stream.is_patient();
        // also takes back the room of messages that are done with
        self.input.reserve(match self.input.len() {
            0 if !was_patient => READ_WAITING,
            length => READ.max(length / 2),
        });
        let mut read = std::pin::pin!(self.stream.read_buf(&mut self.input));
        let read = std::future::poll_fn(|cx| match read.as_mut().poll(cx) {
            Poll::Ready(n) => Poll::Ready(n.map(Some)),
            Poll::Pending if was_patient => Poll::Ready(Ok(None)),
            Poll::Pending => Poll::Pending,
        });
        match read.await? {
            Some(0) => Err(End::Gone),
            Some(_) => Ok(true),
            None => Ok(false),
        }
    }

    /// A whole message that is there already: its type and its body.
    pub fn buffered(&mut self) -> Result<Option<(u8, Bytes)>, End> {
        let frame = frontend::frame(&self.input)?;
        Ok(self.split(frame))
    }

    /// As [`Client::buffered`], on a connection for replication.
    pub fn buffered_for_replication(&mut self) -> Result<Option<(u8, Bytes)>, End> {
        let frame = frontend::frame_of_replication(&self.input)?;
        Ok(self.split(frame))
    }

    fn split(&mut self, frame: Frame) -> Option<(u8, Bytes)> {
        match frame {
            Frame::Incomplete => None,
            Frame::Whole { kind, start, end } => {
                self.big |= end > BIG;
                let mut message = self.input.split_to(end).freeze();
                Some((kind, message.split_off(start)))
            }
        }
    }

    async fn exact(&mut self, n: usize) -> Result<Bytes, End> {
        while self.input.len() < n {
            self.fill().await?;
        }
        Ok(self.input.split_to(n).freeze())
    }

    /// The first packet (or the one after a request for encryption).
    pub async fn startup(&mut self) -> Result<Startup, End> {
        let head = self.exact(4).await?;
        let length = startup::body_length([head[0], head[1], head[2], head[3]]).map_err(|e| {
            // no client of PostgreSQL: it gets no answer
            tracing::debug!("a connection that begins otherwise than with a start-up packet: {}", e.message);
            End::Gone
        })?;
        let body = self.exact(length).await?;
        Ok(startup::decode(&body)?)
    }

    /// Whether the client has sent more than was asked of it.
    pub fn has_input(&self) -> bool {
        !self.input.is_empty()
    }

    /// Whether a Sync is what comes next, as far as has come in.
    pub fn sync_follows(&self) -> bool {
        self.input.first() == Some(&b'S')
    }

    /// The answer to a challenge of the authentication.
    pub async fn password(&mut self) -> Result<Bytes, End> {
        loop {
            let frame = frontend::frame_of_authentication(&self.input)?;
            if let Some((_, body)) = self.split(frame) {
                return Ok(body);
            }
            self.fill().await?;
        }
    }
}
