//! The login packet, the only message with a length of its own, and the answers to it.

use super::input::{malformed, Cursor, Read, Stop};
use super::output::Output;

/// What a client says of itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Login {
    pub user: String,
    pub password: String,
    /// INFORMIXSERVER
    pub server: String,
    /// CLIENT_LOCALE, DBDATE and the like
    pub environment: Vec<(String, String)>,
}

impl Login {
    pub fn variable(&self, name: &str) -> Option<&str> {
        self.environment.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str())
    }
}

const REQUEST: u8 = 1;
const ACCEPTED: u8 = 2;
const REJECTED: u8 = 3;
/// The header's fourth byte, the same in both directions.
const MARK: u8 = 60;
const HEADER: usize = 6;

/// The first packet and its length. A peer that speaks something else is recognized by the first four bytes.
pub fn decode(bytes: &[u8]) -> Read<(Login, usize)> {
    let mut head = Cursor::new(bytes);
    let length = head.count("the length of the login packet")?;
    if head.byte()? != REQUEST || head.byte()? != MARK {
        return malformed("not a login packet");
    }
    if length < HEADER {
        return malformed(format!("a login packet of {length} bytes"));
    }
    if bytes.len() < length {
        return Err(Stop::Incomplete);
    }
    let mut body = Cursor::new(&bytes[HEADER..length]);
    // here nothing more will arrive: a field that does not fit is a fault
    match fields(&mut body) {
        Err(Stop::Incomplete) => malformed("a login packet that ends too early"),
        other => Ok((other?, length)),
    }
}

fn tag(body: &mut Cursor, expected: i16) -> Read<()> {
    match body.short()? {
        found if found == expected => Ok(()),
        found => malformed(format!("tag {found} instead of {expected} in the login packet")),
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap_or_else(|_| bytes.iter().map(|b| *b as char).collect())
}

fn fields(body: &mut Cursor) -> Read<Login> {
    tag(body, 100)?;
    tag(body, 101)?;
    body.int()?;
    body.ascii()?;
    tag(body, 108)?;
    body.take(12)?;
    for _version_serial_application in 0..3 {
        body.ascii()?;
    }
    for _capabilities in 0..3 {
        body.int()?;
    }
    body.short()?;
    let user = text(body.ascii()?);
    let password = text(body.ascii()?);
    // names of the protocol and of the transport
    body.take(8)?;
    body.int()?;
    body.take(8)?;
    body.int()?;
    tag(body, 104)?;
    body.short()?;
    body.int()?;
    let server = text(body.ascii()?);
    for _database_and_reserved in 0..5 {
        body.short()?;
    }
    tag(body, 106)?;
    let count = body.count("the number of environment variables")?;
    let mut environment = Vec::new();
    for _ in 0..count {
        environment.push((text(body.ascii()?), text(body.ascii()?)));
    }
    Ok(Login { user, password, server, environment })
}

/// The version that clients are told. What stands after the word Version is the product's version for them.
pub const VERSION: &str =
    concat!("IBM Informix Dynamic Server Version 14.10.FC7 (pgsqlite ", env!("CARGO_PKG_VERSION"), ")");

/// The answer that lets a client in.
pub fn accept() -> Vec<u8> {
    answer(ACCEPTED, 0, "")
}

/// The answer that sends a client away, with an Informix error code and a message.
pub fn reject(service_error: i16, message: &str) -> Vec<u8> {
    answer(REJECTED, service_error, message)
}

fn answer(kind: u8, service_error: i16, message: &str) -> Vec<u8> {
    let mut out = Output::default();
    // header; the length follows
    out.buffer.extend_from_slice(&[0, 0, kind, MARK, 0x10, 0]);
    out.short(100);
    out.short(101);
    out.int(61);
    out.ascii("IEEEI");
    out.short(108);
    out.buffer.extend_from_slice(b"srvinfx\0\0\0\0\0");
    out.ascii(VERSION);
    out.ascii("AAA#B000000");
    out.ascii("sqli");
    // the level of the protocol, reserved, reserved
    for n in [316, 0, 0] {
        out.int(n);
    }
    for n in [1, 0, 0] {
        out.short(n);
    }
    out.buffer.extend_from_slice(b"ol\0\0\0\0\0\0");
    out.int(61);
    out.buffer.extend_from_slice(b"tlitcp\0\0");
    out.int(1);
    out.short(102);
    out.buffer.extend_from_slice(&[0; 6]);
    out.short(service_error);
    out.short(0);
    out.short(0);
    out.short(!message.is_empty() as i16);
    if !message.is_empty() {
        out.short(0);
        out.char(message.as_bytes());
    }
    out.short(127);
    let length = out.buffer.len() as i16;
    out.buffer[..2].copy_from_slice(&length.to_be_bytes());
    out.buffer
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A login as IBM's driver sends it, put together from its parts.
    pub fn request() -> Vec<u8> {
        let mut out = Output::default();
        out.buffer.extend_from_slice(&[0, 0, 1, 60, 0, 0]);
        out.short(100);
        out.short(101);
        out.int(61);
        out.ascii("IEEEM");
        out.short(108);
        out.buffer.extend_from_slice(b"sqlexec\0\0\0\0\0");
        for text in ["9.280", "RDS#R000000", "sqli"] {
            out.ascii(text);
        }
        for n in [316, 0, 0] {
            out.int(n);
        }
        out.short(1);
        out.ascii("informix");
        out.ascii("in4mix");
        out.buffer.extend_from_slice(b"ol\0\0\0\0\0\0\0\0\0\x3dtlitcp\0\0\0\0\0\x01\0\x68\0\x0b\0\0\0\x03\0\x02x\0");
        for _ in 0..5 {
            out.short(0);
        }
        out.short(106);
        out.short(1);
        out.ascii("CLIENT_LOCALE");
        out.ascii("en_US.utf8");
        out.short(107);
        let length = out.buffer.len() as i16;
        out.buffer[..2].copy_from_slice(&length.to_be_bytes());
        out.buffer
    }

    #[test]
    fn a_login_is_read_whole_or_not_at_all() {
        let bytes = request();
        let (login, length) = decode(&bytes).unwrap();
        assert_eq!((login.user.as_str(), login.password.as_str(), login.server.as_str()), ("informix", "in4mix", "x"));
        assert_eq!((login.variable("CLIENT_LOCALE"), length), (Some("en_US.utf8"), bytes.len()));
        for end in 0..bytes.len() {
            assert_eq!(decode(&bytes[..end]), Err(Stop::Incomplete), "{end}");
        }
    }

    #[test]
    fn a_packet_that_lies_about_itself_is_refused() {
        let whole = request();
        for (at, value) in [(0, 0xff), (2, 9), (3, 0x16), (6, 1), (14, 0x7f)] {
            let mut bytes = whole.clone();
            bytes[at] = value;
            assert!(matches!(decode(&bytes), Err(Stop::Malformed(_))), "byte {at}");
        }
        // too short for what it must hold
        let mut bytes = whole[..40].to_vec();
        bytes[..2].copy_from_slice(&40i16.to_be_bytes());
        assert!(matches!(decode(&bytes), Err(Stop::Malformed(_))));
        assert!(matches!(decode(b"GET / HTTP/1.1\r\n"), Err(Stop::Malformed(_))));
    }

    #[test]
    fn the_answer_has_the_form_that_clients_accept() {
        let bytes = accept();
        assert_eq!(&bytes[..2], (bytes.len() as i16).to_be_bytes());
        assert_eq!(&bytes[2..4], [2, 60]);
        assert!(bytes.ends_with(&[0, 102, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 127]));
        let bytes = reject(-951, "no");
        assert_eq!(bytes[2], 3);
        assert!(bytes.ends_with(&[0xfc, 0x49, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2, b'n', b'o', 0, 127]));
    }
}
