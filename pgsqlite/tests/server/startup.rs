//! The first packets: parameters, versions, requests for encryption that is not there, and what is no start-up packet.

use crate::harness::*;
use std::io::Write;

fn in_memory() -> (Folder, Server) {
    let folder = Folder::new();
    let server = Server::start(&folder, &["--in-memory"]);
    (folder, server)
}

#[test]
fn a_session_begins_with_its_parameters_and_key() {
    let (_folder, server) = in_memory();
    let mut client = server.connect();
    client.send(&startup(&[
        ("user", "postgres"),
        ("database", "main"),
        ("application_name", "test"),
        ("TimeZone", "Europe/Berlin"),
    ]));
    let messages = client.until_ready();
    let kinds = kinds(&messages);
    assert!(kinds.starts_with('R') && kinds.ends_with("KZ"), "{kinds}");
    assert_eq!(messages[0].1, 0u32.to_be_bytes(), "AuthenticationOk");
    assert_eq!(messages.last().unwrap().1, b"I");
    let status = |name: &str| {
        let found = messages.iter().filter(|m| m.0 == b'S').find_map(|m| {
            let text = String::from_utf8(m.1.clone()).unwrap();
            let (n, v) = text.trim_end_matches('\0').split_once('\0').map(|(n, v)| (n.to_string(), v.to_string()))?;
            (n == name).then_some(v)
        });
        found.unwrap_or_else(|| panic!("no ParameterStatus of {name}"))
    };
    assert_eq!(status("application_name"), "test");
    assert_eq!(status("TimeZone"), "Europe/Berlin");
    assert_eq!(status("server_encoding"), "UTF8");
    assert_eq!(status("client_encoding"), "UTF8");
    assert_eq!(status("integer_datetimes"), "on");
    assert_eq!(status("standard_conforming_strings"), "on");
    assert!(status("server_version").starts_with("15."));
    assert_eq!(status("session_authorization"), "postgres");
    assert_eq!(client.value("SELECT current_user"), "postgres");
}

#[test]
fn settings_come_in_options() {
    let (_folder, server) = in_memory();
    let mut client = server.connect();
    let options = r"-c DateStyle=German --extra-float-digits=0 -c application_name=a\ b";
    client.send(&startup(&[("user", "postgres"), ("database", "main"), ("options", options)]));
    client.until_ready();
    assert_eq!(client.value("SHOW DateStyle"), "German, DMY");
    assert_eq!(client.value("SHOW extra_float_digits"), "0");
    assert_eq!(client.value("SHOW application_name"), "a b");
    // RESET goes back to what the client asked for, not to the server's own default
    client.rows("SET DateStyle = 'SQL'");
    client.rows("RESET DateStyle");
    assert_eq!(client.value("SHOW DateStyle"), "German, DMY");
}

#[test]
fn bad_parameters_are_told_and_end_the_connection() {
    let (_folder, server) = in_memory();
    for (parameters, code) in [
        (&[("database", "main")][..], "28000"),
        (&[("user", ""), ("database", "main")], "28000"),
        (&[("user", "postgres"), ("TimeZone", "Nowhere/Never")], "22023"),
        (&[("user", "postgres"), ("no_such_setting", "1")], "42704"),
        (&[("user", "postgres"), ("options", "-x")], "42601"),
        // (a database in memory has no standbys)
        (&[("user", "postgres"), ("replication", "database")], "53300"),
    ] {
        let mut client = server.connect();
        client.send(&startup(parameters));
        assert_eq!(client.told_to_go(), code, "{parameters:?}");
    }
    server.session().is_served();
}

#[test]
fn encryption_that_is_not_offered_is_declined() {
    let (_folder, server) = in_memory();
    let mut client = server.connect();
    for request in [5679u32, 5680] {
        client.send(&packet(&(1234 << 16 | request).to_be_bytes()));
        let mut answer = [0];
        client.stream.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"N");
    }
    client.send(&startup(&[("user", "postgres"), ("database", "main")]));
    client.until_ready();
    client.is_served();
    // once each, as PostgreSQL: a client cannot ask for ever
    let mut client = server.connect();
    let request = packet(&(1234u32 << 16 | 5679).to_be_bytes());
    client.send(&[request.clone(), request].concat());
    let mut answer = [0];
    client.stream.read_exact(&mut answer).unwrap();
    assert_eq!(client.told_to_go(), "0A000");
}

#[test]
fn a_newer_protocol_is_negotiated_down() {
    let (_folder, server) = in_memory();
    let mut client = server.connect();
    client.send(&packet(b"\0\x03\0\x02user\0postgres\0database\0main\0_pq_.new\0on\0\0"));
    let (kind, body) = client.receive();
    assert_eq!((kind, &body[..]), (b'v', &b"\0\x03\0\0\0\0\0\x01_pq_.new\0"[..]));
    client.until_ready();
    client.is_served();
    // also where the start-up fails afterwards
    for (parameters, code) in [(&b"user\0nobody\0database\0main\0"[..], "28000"), (b"database\0main\0", "28000")] {
        let mut client = server.connect();
        client.send(&packet(&[b"\0\x03\0\x02", parameters, b"_pq_.new\0on\0\0"].concat()));
        assert_eq!(client.receive().0, b'v');
        assert_eq!(client.told_to_go(), code);
    }
}

#[test]
fn what_is_no_startup_packet_ends_its_connection_only() {
    let (_folder, server) = in_memory();
    let mut bystander = server.session();
    // what is no packet at all gets no answer, as from PostgreSQL
    for bytes in [
        &b"\0\0\0\x03"[..],
        b"\0\0\0\x07\0\0\0",
        b"\x40\0\0\0",
        b"\xff\xff\xff\xff",
        b"GET / HTTP/1.1\r\n\r\n",
        b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03", // a TLS ClientHello
    ] {
        let mut client = server.connect();
        client.send(bytes);
        client.closed();
        bystander.is_served();
    }
    for (bytes, code) in [
        (&b"\0\0\0\x08\0\x02\0\0"[..], "0A000"),
        (b"\0\0\0\x0c\0\x03\0\0user", "08P01"),
        (b"\0\0\0\x11\0\x03\0\0user\0u\0\0x", "08P01"),
        (b"\0\0\0\x10\0\x03\0\0user\0\xff\0\0", "28000"),
    ] {
        let mut client = server.connect();
        client.send(bytes);
        assert_eq!(client.told_to_go(), code, "{bytes:?}");
        bystander.is_served();
    }
    // half a packet, then gone
    for bytes in [&b""[..], b"\0", b"\0\0\0\x20", b"\0\0\0\x20\0\x03\0\0us"] {
        server.connect().stream.write_all(bytes).unwrap();
    }
    bystander.is_served();
}
