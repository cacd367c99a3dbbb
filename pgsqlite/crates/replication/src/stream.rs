//! Changes over a connection: what is in the CopyData messages of PostgreSQL's streaming replication protocol
//! (<https://www.postgresql.org/docs/15/protocol-replication.html>).
//!
//! The messages are PostgreSQL's. What an XLogData message carries is not the write-ahead log, but a [`Part`] of an [`crate::ltx`] file: its beginning, some of its bytes, or its
//! end. Places in the log are those of [`crate::ltx::Header::lsn`]. Beside each of them goes the *position*: a word by which the primary knows the place in its
//! write-ahead log again, and notices if it has become another one.

use crate::{Error, Result};
use std::time::{SystemTime, UNIX_EPOCH};

/// The name of what is sent, which a standby asks for in START_REPLICATION. A standby of PostgreSQL does not.
pub const FORMAT: &str = "ltx3";
/// An XLogData message carries at most so many bytes of a file.
pub const MOST: usize = 128 << 10;

/// Microseconds between 1970 and 2000, from when PostgreSQL counts.
const EPOCH: i64 = 946_684_800_000_000;

/// Now, as the messages have times: microseconds since 2000.
pub fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_micros() as i64) - EPOCH
}

/// What a primary sends.
#[derive(Debug, PartialEq, Eq)]
pub enum FromPrimary<'a> {
    /// Changes that begin at this place.
    Data {
        /// where they begin
        from: u64,
        /// where the primary's log ends
        end: u64,
        /// when it was sent
        sent: i64,
        /// a part of an LTX file
        part: Part<'a>,
    },
    /// The primary is there.
    Keepalive {
        /// where its log ends
        end: u64,
        /// when it was sent
        sent: i64,
        /// it wants an answer at once
        reply: bool,
    },
}

/// A part of an LTX file.
#[derive(Debug, PartialEq, Eq)]
pub enum Part<'a> {
    /// The next file is about to come.
    Begin {
        /// it has the whole database, whatever the standby has
        whole: bool,
        /// the place up to which it leads
        to: u64,
        /// the position of the place from which it leads; of no meaning if it is whole
        before: &'a str,
        /// the position of the place up to which it leads
        position: &'a str,
    },
    /// No file comes: the place that the standby has come to has another number in the primary's log.
    Moved {
        /// the number
        to: u64,
        /// the position of the place
        position: &'a str,
    },
    /// Bytes of it.
    Bytes(&'a [u8]),
    /// That was all of it.
    End,
}

/// How far a standby has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Status {
    /// all up to here is written to its disk's cache
    pub written: u64,
    /// all up to here is on its disk
    pub flushed: u64,
    /// all up to here is shown to readers
    pub applied: u64,
    /// when it was sent
    pub sent: i64,
    /// the standby wants an answer at once
    pub reply: bool,
}

/// What a standby sends.
#[derive(Debug, PartialEq, Eq)]
pub enum FromStandby {
    /// How far it has come.
    Status(Status),
    /// What its readers see, which the primary need not know.
    Feedback,
}

/// Takes numbers off the beginning of a message.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or_else(|| Error::new("a message ends too early"))?;
        self.0 = rest;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8> {
        Ok(self.take(1)?[0])
    }

    fn number(&mut self) -> Result<u64> {
        Ok(self.take(8)?.iter().fold(0, |n, b| n << 8 | u64::from(*b)))
    }

    fn end(&self) -> Result<()> {
        match self.0 {
            [] => Ok(()),
            _ => Err(Error::new("a message is longer than it may be")),
        }
    }
}

impl FromPrimary<'_> {
    /// Writes it behind what is there.
    pub fn encode(&self, to: &mut Vec<u8>) {
        match self {
            FromPrimary::Data { from, end, sent, part } => {
                to.push(b'w');
                to.extend(from.to_be_bytes());
                to.extend(end.to_be_bytes());
                to.extend(sent.to_be_bytes());
                match part {
                    Part::Begin { whole, to: place, before, position } => {
                        to.extend([b'B', u8::from(*whole)]);
                        to.extend(place.to_be_bytes());
                        to.extend(before.as_bytes());
                        to.push(b' ');
                        to.extend(position.as_bytes());
                    }
                    Part::Moved { to: place, position } => {
                        to.push(b'M');
                        to.extend(place.to_be_bytes());
                        to.extend(position.as_bytes());
                    }
                    Part::Bytes(bytes) => {
                        to.push(b'P');
                        to.extend_from_slice(bytes);
                    }
                    Part::End => to.push(b'E'),
                }
            }
            FromPrimary::Keepalive { end, sent, reply } => {
                to.push(b'k');
                to.extend(end.to_be_bytes());
                to.extend(sent.to_be_bytes());
                to.push(u8::from(*reply));
            }
        }
    }

    /// Reads the content of a CopyData message. Errors: it is none of these, as of a server that sends something else.
    pub fn decode(message: &[u8]) -> Result<FromPrimary<'_>> {
        let mut fields = Fields(message);
        match fields.byte()? {
            b'w' => {
                let (from, end, sent) = (fields.number()?, fields.number()?, fields.number()? as i64);
                let part = match fields.byte()? {
                    b'B' => {
                        let (whole, to) = (fields.byte()? != 0, fields.number()?);
                        let words = std::str::from_utf8(fields.0).ok().and_then(|words| words.split_once(' '));
                        let (before, position) = words.ok_or_else(|| Error::new("a file without its positions"))?;
                        Part::Begin { whole, to, before, position }
                    }
                    b'M' => {
                        let to = fields.number()?;
                        let position =
                            std::str::from_utf8(fields.0).map_err(|_| Error::new("a position is no text"))?;
                        Part::Moved { to, position }
                    }
                    b'P' => Part::Bytes(fields.0),
                    b'E' => {
                        fields.end()?;
                        Part::End
                    }
                    other => return Err(Error::new(format!("changes in a form that is not known: {other}"))),
                };
                Ok(FromPrimary::Data { from, end, sent, part })
            }
            b'k' => {
                let (end, sent, reply) = (fields.number()?, fields.number()? as i64, fields.byte()? != 0);
                fields.end()?;
                Ok(FromPrimary::Keepalive { end, sent, reply })
            }
            other => Err(Error::new(format!("unexpected message type {other} of a primary"))),
        }
    }
}

impl FromStandby {
    /// Writes a status behind what is there.
    pub fn encode_status(status: &Status, to: &mut Vec<u8>) {
        to.push(b'r');
        to.extend(status.written.to_be_bytes());
        to.extend(status.flushed.to_be_bytes());
        to.extend(status.applied.to_be_bytes());
        to.extend(status.sent.to_be_bytes());
        to.push(u8::from(status.reply));
    }

    /// Reads the content of a CopyData message. Errors: it is none of these.
    pub fn decode(message: &[u8]) -> Result<FromStandby> {
        let mut fields = Fields(message);
        match fields.byte()? {
            b'r' => {
                let status = Status {
                    written: fields.number()?,
                    flushed: fields.number()?,
                    applied: fields.number()?,
                    sent: fields.number()? as i64,
                    reply: fields.byte()? != 0,
                };
                fields.end()?;
                Ok(FromStandby::Status(status))
            }
            b'h' => {
                fields.take(24)?;
                fields.end()?;
                Ok(FromStandby::Feedback)
            }
            other => Err(Error::new(format!("unexpected message type {other} of a standby"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_encoded_is_decoded() {
        let moved = Part::Moved { to: 8, position: "1-2-3" };
        let parts = [
            moved,
            Part::Begin { whole: true, to: 9, before: "0-1-2", position: "1-2-3" },
            Part::Bytes(b"abc"),
            Part::End,
        ];
        let mut messages: Vec<FromPrimary> =
            parts.into_iter().map(|part| FromPrimary::Data { from: 1 << 40, end: 7, sent: -5, part }).collect();
        messages.push(FromPrimary::Keepalive { end: u64::MAX, sent: 3, reply: true });
        for message in messages {
            let mut bytes = Vec::new();
            message.encode(&mut bytes);
            assert_eq!(FromPrimary::decode(&bytes), Ok(message));
        }
        let status = Status { written: 3, flushed: 2, applied: 1, sent: -1, reply: true };
        let mut bytes = Vec::new();
        FromStandby::encode_status(&status, &mut bytes);
        assert_eq!(FromStandby::decode(&bytes), Ok(FromStandby::Status(status)));
        assert_eq!(FromStandby::decode(&[&b"h"[..], &[0; 24]].concat()), Ok(FromStandby::Feedback));
    }

    #[test]
    fn other_bytes_are_refused() {
        let mut status = Vec::new();
        FromStandby::encode_status(&Status::default(), &mut status);
        for length in 0..status.len() {
            assert!(FromStandby::decode(&status[..length]).is_err(), "{length} bytes");
        }
        status.push(0);
        assert!(FromStandby::decode(&status).is_err());
        assert!(FromStandby::decode(b"x").is_err());
        for wrong in [&b""[..], b"w", b"k123", &[b'w'; 26], &[b'k'; 19]] {
            assert!(FromPrimary::decode(wrong).is_err(), "{wrong:?}");
        }
    }
}
