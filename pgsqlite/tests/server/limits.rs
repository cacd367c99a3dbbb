//! What a client, known or not, can take of the server: connections, time, memory.

use crate::harness::*;
use std::time::{Duration, Instant};

#[test]
fn places_are_limited_and_given_back() {
    let folder = Folder::new();
    let server = Server::start(&folder, &["--in-memory", "--max-connections", "2", "--reserved-connections", "0"]);
    // who has not said who they are takes no place
    let _silent: Vec<Client> = (0..4).map(|_| server.connect()).collect();
    let first = server.session();
    let mut second = server.session();
    let mut third = server.connect();
    third.send(&startup(&[("user", "postgres"), ("database", "main")]));
    let (kind, body) = third.receive();
    assert_eq!((kind, field(&body, b'C').as_str()), (b'E', "53300"));
    assert_eq!(field(&body, b'M'), "sorry, too many clients already");
    // a cancel request needs none
    server.connect().send(&packet(&[&(1234u32 << 16 | 5678).to_be_bytes()[..], &[0; 8]].concat()));
    drop(first);
    let begun = Instant::now();
    loop {
        let mut again = server.connect();
        again.send(&startup(&[("user", "postgres"), ("database", "main")]));
        if again.receive().0 == b'R' {
            break;
        }
        assert!(begun.elapsed() < PATIENCE, "a place was not given back");
    }
    second.is_served();
}

#[test]
fn the_last_places_are_for_superusers() {
    let folder = Folder::new();
    let server = Server::start(&folder, &["--in-memory", "--max-connections", "2", "--reserved-connections", "1"]);
    let mut first = server.session();
    first.rows("CREATE ROLE plain LOGIN");
    let mut plain = server.connect();
    plain.send(&startup(&[("user", "plain"), ("database", "main")]));
    let (_, body) = plain.receive();
    assert_eq!(field(&body, b'C'), "53300");
    assert!(field(&body, b'M').starts_with("remaining connection slots are reserved"));
    plain.closed();
    let mut superuser = server.connect();
    superuser.send(&startup(&[("user", "postgres"), ("database", "main")]));
    superuser.until_ready();
    superuser.is_served();
}

#[test]
fn a_flood_of_silent_sockets_is_bounded() {
    let folder = Folder::new();
    let server = Server::start(&folder, &["--in-memory", "--max-connections", "3", "--reserved-connections", "0"]);
    let mut bystander = server.session();
    let mut flood: Vec<Client> = (0..200).map(|_| server.connect()).collect();
    bystander.is_served();
    // those that have waited longest make room for the others, and for whoever says who they are
    assert_eq!(flood[0].told_to_go(), "53300");
    server.session().is_served();
    drop(flood);
    bystander.is_served();
}

#[test]
fn a_slow_startup_ends() {
    let folder = Folder::new();
    let server = Server::start(&folder, &["--in-memory", "--authentication-timeout", "1"]);
    let mut silent = server.connect();
    let mut half = server.connect();
    half.send(b"\0\0\0\x20\0\x03\0\0us");
    for client in [&mut silent, &mut half] {
        assert_eq!(client.told_to_go(), "57014");
    }
    // a session that is through is not concerned
    let mut session = server.session();
    std::thread::sleep(Duration::from_millis(1300));
    session.is_served();
}

#[test]
fn a_client_that_does_not_read_is_given_up_and_frees_the_writer() {
    let folder = Folder::new();
    let server = Server::start(&folder, &["--in-memory", "--send-timeout", "1"]);
    let mut other = server.session();
    other.rows("CREATE TABLE t (a text)");
    let mut slow = server.session();
    // holds the writer slot while its result waits to be taken
    slow.send(&query("INSERT INTO t SELECT repeat('x', 1000) FROM generate_series(1, 20000) RETURNING a"));
    let mut one = [0];
    slow.stream.read_exact(&mut one).unwrap();
    let begun = Instant::now();
    other.rows("INSERT INTO t VALUES ('mine')");
    assert!(begun.elapsed() < PATIENCE);
    assert_eq!(other.value("SELECT count(*) FROM t"), "1", "what was not taken is rolled back");
}

#[test]
fn a_result_is_never_collected() {
    let folder = Folder::new();
    let server = Server::start(&folder, &["--in-memory"]);
    let mut bystander = server.session();
    let mut slow = server.session();
    let before = server.resident();
    // 500 MB that nobody takes
    slow.send(&query("SELECT repeat('x', 1000) FROM generate_series(1, 500000)"));
    let mut one = [0];
    slow.stream.read_exact(&mut one).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    bystander.is_served();
    let grown = server.resident().saturating_sub(before);
    assert!(grown < 100_000, "{grown} KiB more");
}

#[test]
fn answers_to_a_client_that_only_sends_are_bounded() {
    let folder = Folder::new();
    let server = Server::start(&folder, &["--in-memory"]);
    let mut bystander = server.session();
    let mut client = server.session();
    let columns = vec!["1"; 1600].join(", ");
    client.send(&[parse("s", &format!("SELECT {columns}")), sync()].concat());
    client.until_ready();
    let before = server.resident();
    // each seven bytes are answered with 50 KB: as many as the sockets take, without reading
    let describes = message(b'D', b"Ss\0").repeat(20_000);
    let mut sender = client;
    std::thread::spawn(move || {
        let _ = std::io::Write::write_all(&mut sender.stream, &describes);
        std::thread::sleep(Duration::from_secs(2));
    });
    std::thread::sleep(Duration::from_millis(1000));
    bystander.is_served();
    let grown = server.resident().saturating_sub(before);
    assert!(grown < 50_000, "{grown} KiB more");
}

#[test]
fn a_length_makes_no_room_by_itself() {
    let folder = Folder::new();
    let server = Server::start(&folder, &["--in-memory"]);
    let before = server.resident();
    let mut clients: Vec<Client> = (0..20).map(|_| server.session()).collect();
    for client in &mut clients {
        client.send(&[&b"Q\x3f\xff\xff\xff"[..], &[b'x'; 1000]].concat());
    }
    server.session().is_served();
    let grown = server.resident().saturating_sub(before);
    assert!(grown < 50_000, "{grown} KiB more");
}

#[test]
fn a_client_in_the_middle_of_copy_is_not_idle() {
    let folder = Folder::new();
    let server = Server::start(&folder, &["--in-memory"]);
    let mut client = server.session();
    client.rows("CREATE TABLE t (a int)");
    client.rows("SET idle_session_timeout = '150ms'");
    client.rows("SET idle_in_transaction_session_timeout = '150ms'");
    for begin in ["", "BEGIN; "] {
        client.send(&query(&format!("{begin}COPY t FROM STDIN")));
        while client.receive().0 != b'G' {}
        std::thread::sleep(std::time::Duration::from_millis(500));
        client.send(&message(b'd', b"1\n"));
        std::thread::sleep(std::time::Duration::from_millis(500));
        client.send(&message(b'c', b""));
        let answers = client.until_ready();
        assert!(answers.iter().any(|(kind, body)| *kind == b'C' && body.starts_with(b"COPY 1")), "{answers:?}");
    }
    // afterwards it is: in the transaction first
    assert_eq!(client.told_to_go(), "25P03");
}

#[test]
fn a_statement_has_as_many_parameters_as_the_protocol_can_count() {
    let folder = Folder::new();
    let server = Server::start(&folder, &["--in-memory"]);
    let mut client = server.session();
    client.rows("CREATE TABLE t (a int)");
    for count in [32_767, 40_000, 65_535] {
        let places: Vec<String> = (1..=count).map(|i| format!("(${i})")).collect();
        let values: Vec<String> = (1..=count).map(|i| i.to_string()).collect();
        let values: Vec<&str> = values.iter().map(String::as_str).collect();
        client.send(&parse("", &format!("INSERT INTO t VALUES {}", places.join(", "))));
        client.send(&[bind("", "", &values), execute("", 0), message(b'S', b"")].concat());
        client.until_ready();
        assert_eq!(client.rows("SELECT count(*), max(a) FROM t"), [[count.to_string(), count.to_string()]]);
        client.rows("DELETE FROM t");
    }
}
