//! The first packet: StartupMessage, SSLRequest, GSSENCRequest or CancelRequest. It has no type byte.

use crate::{Fields, Malformed};

/// PostgreSQL's MAX_STARTUP_PACKET_LENGTH.
pub const MAX_LENGTH: usize = 10_000;

const PROTOCOL_3: i32 = 3 << 16;
const CANCEL: i32 = (1234 << 16) | 5678;
const SSL: i32 = (1234 << 16) | 5679;
const GSSENC: i32 = (1234 << 16) | 5680;

#[derive(Debug, PartialEq, Eq)]
pub enum Startup {
    Ssl,
    GssEnc,
    Cancel {
        pid: i32,
        secret: i32,
    },
    Start {
        /// the minor protocol version the client asked for
        minor: u16,
        parameters: Vec<(String, String)>,
        /// `_pq_.` options, which we do not know
        unknown_options: Vec<String>,
    },
}

/// The packet's body length from its first four bytes (the length counts itself).
pub fn body_length(head: [u8; 4]) -> Result<usize, Malformed> {
    let length = i32::from_be_bytes(head);
    usize::try_from(length)
        .ok()
        .filter(|&n| (8..=MAX_LENGTH).contains(&n))
        .map(|n| n - 4)
        .ok_or_else(|| Malformed::new("invalid length of startup packet"))
}

/// Decodes the packet's body.
pub fn decode(body: &[u8]) -> Result<Startup, Malformed> {
    let mut f = Fields::new(body);
    let version = f.i32()?;
    match version {
        CANCEL => return Ok(Startup::Cancel { pid: f.i32()?, secret: f.i32()? }),
        SSL => return Ok(Startup::Ssl),
        GSSENC => return Ok(Startup::GssEnc),
        _ => {}
    }
    if version >> 16 != PROTOCOL_3 >> 16 {
        return Err(Malformed::new(format!(
            "unsupported frontend protocol {}.{}: server supports 3.0 to 3.0",
            version >> 16,
            version & 0xffff
        )));
    }
    let (mut parameters, mut unknown_options) = (Vec::new(), Vec::new());
    loop {
        let name = f.cstr().map_err(|_| layout())?;
        if name.is_empty() {
            break;
        }
        let value = f.cstr().map_err(|_| layout())?;
        let text = |b: &[u8]| {
            String::from_utf8(b.to_vec()).map_err(|_| Malformed::new("invalid byte sequence for encoding \"UTF8\""))
        };
        let name = text(name)?;
        if name.starts_with("_pq_.") {
            unknown_options.push(name);
        } else {
            parameters.push((name, text(value)?));
        }
    }
    if !f.is_empty() {
        return Err(layout());
    }
    Ok(Startup::Start { minor: (version & 0xffff) as u16, parameters, unknown_options })
}

fn layout() -> Malformed {
    Malformed::new("invalid startup packet layout: expected terminator as last byte")
}
