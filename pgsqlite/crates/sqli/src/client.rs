//! The socket of one client with its buffers.

use crate::wire::input::{Read, Stop, LONGEST};
use crate::wire::output::Output;
use bytes::{Buf, BytesMut};
use pgsqlite_server::byte_stream::Stream;
use std::time::Duration;
use tokio::io::AsyncReadExt;

/// The buffer is flushed when it holds this much.
pub const FLUSH: usize = 64 * 1024;
const READ: usize = 8 * 1024;

/// Why a conversation ends.
#[derive(Debug)]
pub enum End {
    /// the client said goodbye, or went away, or must go: nothing more is to be said
    Gone,
    /// the client does not keep to the protocol
    Malformed(String),
}

impl From<std::io::Error> for End {
    fn from(_: std::io::Error) -> End {
        End::Gone
    }
}

pub struct Client {
    pub stream: Stream,
    input: BytesMut,
    pub out: Output,
    send_timeout: Option<Duration>,
}

impl Client {
    pub fn new(stream: Stream, send_timeout: Option<Duration>) -> Client {
        Client { stream, input: BytesMut::new(), out: Output::default(), send_timeout }
    }

    /// What `decode` makes of the bytes that are there; None: more must arrive.
    pub fn take<T>(&mut self, decode: impl FnOnce(&[u8]) -> Read<(T, usize)>) -> Result<Option<T>, End> {
        if self.input.is_empty() {
            return Ok(None);
        }
        match decode(&self.input) {
            Ok((message, length)) => {
                self.input.advance(length);
                Ok(Some(message))
            }
            Err(Stop::Incomplete) if self.input.len() > LONGEST => {
                Err(End::Malformed("a message that is too long".into()))
            }
            Err(Stop::Incomplete) => Ok(None),
            Err(Stop::Malformed(what)) => Err(End::Malformed(what)),
        }
    }

    /// Reads more input. Safe to drop before it is done.
    pub async fn fill(&mut self) -> Result<(), End> {
        // as much again as is there, so that a long message is looked at only a few times
        self.input.reserve(READ.max(self.input.len()));
        match self.stream.read_buf(&mut self.input).await? {
            0 => Err(End::Gone),
            _ => Ok(()),
        }
    }

    /// Sends what is written. Errors: the client is gone, or takes nothing for too long.
    pub async fn flush(&mut self) -> Result<(), End> {
        if self.out.buffer.is_empty() {
            return Ok(());
        }
        self.stream.send(&self.out.buffer, self.send_timeout).await?;
        self.out.buffer.clear();
        self.out.buffer.shrink_to(FLUSH);
        Ok(())
    }
}
