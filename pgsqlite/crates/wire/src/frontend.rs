//! Messages of the client.

use crate::{Fields, Malformed};

/// The longest message PostgreSQL takes (1 GiB − 1).
pub const MAX_LENGTH: usize = 0x3fff_ffff;
/// Messages that are short by nature are refused above this.
const MAX_SMALL_LENGTH: usize = 10_000;
/// The longest message of a SASL exchange: nobody who has not proved who they are can make the server keep more.
const MAX_SASL_LENGTH: usize = 1024;

#[derive(Debug, PartialEq, Eq)]
pub enum Target {
    Statement,
    Portal,
}

/// A message, borrowed from the input buffer.
#[derive(Debug, PartialEq, Eq)]
pub enum Message<'a> {
    Query(&'a [u8]),
    Parse {
        name: &'a [u8],
        text: &'a [u8],
        types: Vec<u32>,
    },
    Bind {
        portal: &'a [u8],
        statement: &'a [u8],
        formats: Vec<i16>,
        values: Vec<Option<&'a [u8]>>,
        result_formats: Vec<i16>,
    },
    Describe {
        target: Target,
        name: &'a [u8],
    },
    Execute {
        portal: &'a [u8],
        max_rows: i32,
    },
    Close {
        target: Target,
        name: &'a [u8],
    },
    Sync,
    Flush,
    CopyData(&'a [u8]),
    CopyDone,
    CopyFail(&'a [u8]),
    FunctionCall {
        function: u32,
        formats: Vec<i16>,
        values: Vec<Option<&'a [u8]>>,
        result_format: i16,
    },
    Terminate,
}

/// What stands at the start of a buffer.
#[derive(Debug, PartialEq, Eq)]
pub enum Frame {
    /// more bytes are needed before anything can be said
    Incomplete,
    /// a whole message: its type and the range of its body
    Whole { kind: u8, start: usize, end: usize },
}

/// Looks for a whole message. Lengths that no message can have are refused before anything is read or kept for them.
pub fn frame(buffer: &[u8]) -> Result<Frame, Malformed> {
    let Some(&kind) = buffer.first() else { return Ok(Frame::Incomplete) };
    let limit = match kind {
        b'Q' | b'P' | b'B' | b'd' | b'F' => MAX_LENGTH,
        b'D' | b'E' | b'C' | b'S' | b'H' | b'c' | b'f' | b'X' => MAX_SMALL_LENGTH,
        other => return Err(Malformed::new(format!("invalid frontend message type {other}"))),
    };
    whole(kind, buffer, limit)
}

/// The same during authentication, where only answers to the server's challenges may come: PasswordMessage,
/// SASLInitialResponse, SASLResponse.
pub fn frame_of_authentication(buffer: &[u8]) -> Result<Frame, Malformed> {
    match buffer.first() {
        None => Ok(Frame::Incomplete),
        Some(b'p') => whole(b'p', buffer, MAX_SASL_LENGTH),
        Some(other) => Err(Malformed::new(format!("expected SASL response, got message type {other}"))),
    }
}

/// The same on a connection for replication: nobody sends anything long there.
pub fn frame_of_replication(buffer: &[u8]) -> Result<Frame, Malformed> {
    match buffer.first() {
        None => Ok(Frame::Incomplete),
        Some(kind) if b"QPBdFDECSHcfX".contains(kind) => whole(*kind, buffer, MAX_SMALL_LENGTH),
        Some(other) => Err(Malformed::new(format!("invalid frontend message type {other}"))),
    }
}

fn whole(kind: u8, buffer: &[u8], limit: usize) -> Result<Frame, Malformed> {
    let Some(&[_, a, b, c, d]) = buffer.first_chunk::<5>() else { return Ok(Frame::Incomplete) };
    let length = usize::try_from(i32::from_be_bytes([a, b, c, d]))
        .ok()
        .filter(|n| (4..=limit).contains(n))
        .ok_or_else(|| Malformed::new("invalid message length"))?;
    if buffer.len() < length + 1 {
        return Ok(Frame::Incomplete);
    }
    Ok(Frame::Whole { kind, start: 5, end: length + 1 })
}

/// Decodes a message's body.
pub fn decode(kind: u8, body: &[u8]) -> Result<Message<'_>, Malformed> {
    let mut f = Fields::new(body);
    let message = match kind {
        b'Q' => Message::Query(f.cstr()?),
        b'P' => {
            let (name, text) = (f.cstr()?, f.cstr()?);
            let n = f.count()?;
            let types = (0..n).map(|_| f.i32().map(|v| v as u32)).collect::<Result<_, _>>()?;
            Message::Parse { name, text, types }
        }
        b'B' => {
            let (portal, statement) = (f.cstr()?, f.cstr()?);
            let n = f.count()?;
            let formats = (0..n).map(|_| f.i16()).collect::<Result<_, _>>()?;
            let n = f.count()?;
            let mut values = Vec::with_capacity(n.min(body.len()));
            for number in 1..=n {
                values.push(value(&mut f).map_err(|mut e| {
                    e.parameter = Some((String::from_utf8_lossy(portal).into_owned(), number));
                    e
                })?);
            }
            let n = f.count()?;
            let result_formats = (0..n).map(|_| f.i16()).collect::<Result<_, _>>()?;
            Message::Bind { portal, statement, formats, values, result_formats }
        }
        b'D' | b'C' => {
            let target = match f.u8()? {
                b'S' => Target::Statement,
                b'P' => Target::Portal,
                other => {
                    let what = if kind == b'D' { "DESCRIBE" } else { "CLOSE" };
                    return Err(Malformed::new(format!("invalid {what} message subtype {other}")));
                }
            };
            let name = f.cstr()?;
            if kind == b'D' {
                Message::Describe { target, name }
            } else {
                Message::Close { target, name }
            }
        }
        b'E' => Message::Execute { portal: f.cstr()?, max_rows: f.i32()? },
        b'S' => Message::Sync,
        b'H' => Message::Flush,
        b'd' => Message::CopyData(f.rest()),
        b'c' => {
            f.rest();
            Message::CopyDone
        }
        b'f' => Message::CopyFail(f.cstr()?),
        b'F' => {
            let function = f.i32()? as u32;
            let n = f.count()?;
            let formats = (0..n).map(|_| f.i16()).collect::<Result<_, _>>()?;
            let n = f.count()?;
            let mut values = Vec::with_capacity(n.min(body.len()));
            for _ in 0..n {
                values.push(match f.i32()? {
                    -1 => None,
                    length => Some(f.take(usize::try_from(length).map_err(|_| {
                        Malformed::new(format!("invalid argument size {length} in function call message"))
                    })?)?),
                });
            }
            Message::FunctionCall { function, formats, values, result_format: f.i16()? }
        }
        b'X' => {
            f.rest();
            Message::Terminate
        }
        other => return Err(Malformed::new(format!("invalid frontend message type {other}"))),
    };
    f.end()?;
    Ok(message)
}

/// A value of Bind; None: NULL.
fn value<'a>(f: &mut Fields<'a>) -> Result<Option<&'a [u8]>, Malformed> {
    match f.i32()? {
        -1 => Ok(None),
        length => {
            let length = usize::try_from(length).map_err(|_| Malformed::new("insufficient data left in message"))?;
            f.take(length).map(Some)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_wait_for_their_end() {
        assert_eq!(frame(b""), Ok(Frame::Incomplete));
        assert_eq!(frame(b"S\0\0"), Ok(Frame::Incomplete));
        assert_eq!(frame(b"S\0\0\0\x04"), Ok(Frame::Whole { kind: b'S', start: 5, end: 5 }));
    }

    #[test]
    fn lying_lengths_are_refused_at_once() {
        assert!(frame(b"Q\x7f\xff\xff\xff").is_err());
        assert!(frame(b"Q\0\0\0\x03").is_err());
        assert!(frame(b"S\0\x01\0\0").is_err());
        assert!(frame(b"z\0\0\0\x04").is_err());
        // after authentication a password is as unknown as any other letter
        assert!(frame(b"p\0\0\0\x04").is_err());
        assert!(frame_of_authentication(b"p\0\0\x04\x01").is_err());
        assert!(frame_of_authentication(b"Q\0\0\0\x05\0").is_err());
        assert_eq!(frame_of_authentication(b"p\0\0\0\x04"), Ok(Frame::Whole { kind: b'p', start: 5, end: 5 }));
    }

    #[test]
    fn bind_is_decoded() {
        let body = b"p\0s\0\0\x01\0\x01\0\x02\0\0\0\x01x\xff\xff\xff\xff\0\0";
        let expected = Message::Bind {
            portal: b"p",
            statement: b"s",
            formats: vec![1],
            values: vec![Some(b"x"), None],
            result_formats: vec![],
        };
        assert_eq!(decode(b'B', body), Ok(expected));
    }

    #[test]
    fn surplus_and_missing_bytes_are_refused() {
        assert!(decode(b'S', b"x").is_err());
        assert!(decode(b'Q', b"select 1").is_err());
        assert!(decode(b'B', b"\0\0\0\0\0\x01\0\0\0\x09x").is_err());
        assert!(decode(b'B', b"\0\0\0\0\0\x01\xff\xff\xff\xfex\0\0").is_err());
    }
}
