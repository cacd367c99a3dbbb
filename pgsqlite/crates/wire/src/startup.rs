//! The first packet: StartupMessage, SSLRequest, GSSENCRequest or CancelRequest. It has no type byte.

use crate::{Fields, Malformed};

/// PostgreSQL's MAX_STARTUP_PACKET_LENGTH.
pub const MAX_LENGTH: usize = 10_000;

/// The longest name of a role or database: PostgreSQL takes no notice of what is behind it.
const NAME_LENGTH: usize = 63;

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
        return Err(Malformed::with_code(
            "0A000",
            format!(
                "unsupported frontend protocol {}.{}: server supports 3.0 to 3.0",
                (version as u32) >> 16,
                version & 0xffff
            ),
        ));
    }
    let (mut parameters, mut unknown_options) = (Vec::new(), Vec::new());
    loop {
        let name = f.cstr().map_err(|_| layout())?;
        if name.is_empty() {
            break;
        }
        let value = f.cstr().map_err(|_| layout())?;
        let text = |b: &[u8]| {
            String::from_utf8(b.to_vec())
                .map_err(|_| Malformed::with_code("22021", "invalid byte sequence for encoding \"UTF8\""))
        };
        let name = text(name)?;
        if name.starts_with("_pq_.") {
            unknown_options.push(name);
            continue;
        }
        let value = match name.as_str() {
            "user" => named(value).map_err(|shown| nobody("28000", "role", &shown))?,
            "database" => named(value).map_err(|shown| nobody("3D000", "database", &shown))?,
            // (of which only ASCII is kept)
            "application_name" => text(value).unwrap_or_else(|_| {
                let shown = |b: &u8| if b.is_ascii() { char::from(*b).to_string() } else { format!("\\x{b:02x}") };
                value.iter().map(shown).collect()
            }),
            _ => text(value)?,
        };
        parameters.push((name, value));
    }
    if !f.is_empty() {
        return Err(layout());
    }
    Ok(Startup::Start { minor: (version & 0xffff) as u16, parameters, unknown_options })
}

/// The name of a role or database, as much as counts of it. Errors: the name as a message shows it, of which a byte belongs to no character, so
/// that nothing can have it.
fn named(value: &[u8]) -> Result<String, String> {
    let value = &value[..value.len().min(NAME_LENGTH)];
    String::from_utf8(value.to_vec()).map_err(|_| {
        let mut shown = String::new();
        for chunk in value.utf8_chunks() {
            shown += chunk.valid();
            shown.extend(chunk.invalid().iter().map(|byte| format!("\\x{byte:02x}")));
        }
        shown
    })
}

fn nobody(code: &'static str, what: &str, shown: &str) -> Malformed {
    Malformed::with_code(code, format!("{what} \"{shown}\" does not exist"))
}

fn layout() -> Malformed {
    Malformed::new("invalid startup packet layout: expected terminator as last byte")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(version: i32, rest: &[u8]) -> Vec<u8> {
        [&version.to_be_bytes()[..], rest].concat()
    }

    #[test]
    fn lengths_are_bounded() {
        assert_eq!(body_length(8i32.to_be_bytes()), Ok(4));
        for bad in [0, 7, -1, 10_001, 1 << 30] {
            assert!(body_length(i32::to_be_bytes(bad)).is_err(), "{bad}");
        }
    }

    #[test]
    fn parameters_and_protocol_options_are_told_apart() {
        let body = packet((3 << 16) + 2, b"user\0u\0_pq_.new\0on\0database\0d\0\0");
        let expected = Startup::Start {
            minor: 2,
            parameters: vec![("user".into(), "u".into()), ("database".into(), "d".into())],
            unknown_options: vec!["_pq_.new".into()],
        };
        assert_eq!(decode(&body), Ok(expected));
        assert_eq!(decode(&packet(CANCEL, b"\0\0\0\x07\0\0\0\x09")), Ok(Startup::Cancel { pid: 7, secret: 9 }));
    }

    #[test]
    fn names_are_cut_and_show_bytes_that_are_no_characters() {
        let told = |name: &str, value: &[u8]| {
            let body = packet(3 << 16, &[name.as_bytes(), b"\0", value, b"\0\0"].concat());
            match decode(&body) {
                Ok(Startup::Start { parameters, .. }) => parameters[0].1.clone(),
                Ok(other) => format!("{other:?}"),
                Err(e) => format!("{} {}", e.code, e.message),
            }
        };
        let long = "u".repeat(70);
        assert_eq!(told("user", long.as_bytes()), "u".repeat(63));
        assert_eq!(told("database", long.as_bytes()), "u".repeat(63));
        assert_eq!(told("user", b"\xff\xfe"), "28000 role \"\\xff\\xfe\" does not exist");
        let cut = format!("28000 role \"{}\\xc3\" does not exist", "\u{fc}".repeat(31));
        assert_eq!(told("user", "\u{fc}".repeat(40).as_bytes()), cut);
        assert_eq!(told("database", b"\xff"), "3D000 database \"\\xff\" does not exist");
        assert_eq!(told("application_name", b"caf\xe9"), "caf\\xe9");
    }

    #[test]
    fn what_is_no_startup_packet_says_why() {
        assert_eq!(decode(&packet(2 << 16, b"")).map_err(|e| e.code), Err("0A000"));
        assert_eq!(decode(&packet(3 << 16, b"user\0u\0DateStyle\0\xff\0\0")).map_err(|e| e.code), Err("22021"));
        for bad in [&b"user\0u\0"[..], b"user\0u", b"user\0u\0\0surplus", b""] {
            assert_eq!(decode(&packet(3 << 16, bad)).map_err(|e| e.code), Err("08P01"), "{bad:?}");
        }
    }
}
