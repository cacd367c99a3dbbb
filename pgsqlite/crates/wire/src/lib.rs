//! Bytes ⇄ messages of the PostgreSQL protocol, version 3 (manual, chapter "Frontend/Backend Protocol"). No I/O, no SQL.
//!
//! * [`startup`]: the first packet of a connection
//! * [`frontend`]: messages of the client, decoded from a growing buffer under limits
//! * [`backend`]: messages to the client, appended to an output buffer in place
//! * [`scram`]: SCRAM-SHA-256 as a state machine

pub mod backend;
pub mod frontend;
pub mod scram;
pub mod startup;

use std::fmt;

/// What a peer did wrong. Broken framing ends that session; a malformed body inside a whole message is an error of that
/// message, as in PostgreSQL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Malformed {
    /// SQLSTATE, mostly 08P01
    pub code: &'static str,
    pub message: String,
    /// the value of a Bind it is about: portal and number, from 1
    pub parameter: Option<(String, usize)>,
}

impl Malformed {
    pub fn new(message: impl Into<String>) -> Self {
        Malformed::with_code("08P01", message)
    }
    pub(crate) fn with_code(code: &'static str, message: impl Into<String>) -> Self {
        Malformed { code, message: message.into(), parameter: None }
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
impl std::error::Error for Malformed {}

/// Reads fields from a message body.
pub(crate) struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub fn new(body: &'a [u8]) -> Self {
        Fields { rest: body }
    }
    pub fn take(&mut self, n: usize) -> Result<&'a [u8], Malformed> {
        if n > self.rest.len() {
            return Err(Malformed::new("insufficient data left in message"));
        }
        let (head, tail) = self.rest.split_at(n);
        self.rest = tail;
        Ok(head)
    }
    pub fn u8(&mut self) -> Result<u8, Malformed> {
        Ok(self.take(1)?[0])
    }
    pub fn i16(&mut self) -> Result<i16, Malformed> {
        let b = self.take(2)?;
        Ok(i16::from_be_bytes([b[0], b[1]]))
    }
    pub fn i32(&mut self) -> Result<i32, Malformed> {
        let b = self.take(4)?;
        Ok(i32::from_be_bytes([b[0], b[1], b[2], b[3]]))
    }
    /// A count that cannot be negative.
    pub fn count(&mut self) -> Result<usize, Malformed> {
        // counts are unsigned 16 bits in PostgreSQL's own reading
        Ok(self.i16()? as u16 as usize)
    }
    pub fn cstr(&mut self) -> Result<&'a [u8], Malformed> {
        let end = self.rest.iter().position(|&b| b == 0).ok_or_else(|| Malformed::new("invalid string in message"))?;
        let text = &self.rest[..end];
        self.rest = &self.rest[end + 1..];
        Ok(text)
    }
    pub fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.rest)
    }
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }
    pub fn end(self) -> Result<(), Malformed> {
        if self.rest.is_empty() {
            Ok(())
        } else {
            Err(Malformed::new("invalid message format"))
        }
    }
}
