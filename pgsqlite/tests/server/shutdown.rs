//! SIGTERM and SIGINT: running statements finish, sessions are told, the WAL is closed; a second signal ends at once.

use crate::harness::*;
use std::time::{Duration, Instant};

/// A statement that runs about this long on the machine of the test. It is measured, for machines differ.
fn statement_of(client: &mut Client, wanted: Duration) -> String {
    let text = |n: u64| {
        let series = format!("generate_series(1, 100) a, generate_series(1, 100) b, generate_series(1, {n}) c");
        format!("SELECT count(*) FROM {series} WHERE a % 7 = 3")
    };
    let mut n = 2;
    loop {
        let begun = Instant::now();
        client.rows(&text(n));
        let took = begun.elapsed();
        if took > Duration::from_millis(50) {
            return text((n as f64 * wanted.as_secs_f64() / took.as_secs_f64()) as u64);
        }
        n *= 4;
    }
}

fn on_file(folder: &Folder) -> Server {
    Server::start(folder, &["--database", &folder.path("a.db")])
}

fn is_left_clean(folder: &Folder) {
    let names = folder.names();
    assert_eq!(names, ["a.db"]);
}

#[test]
fn idle_sessions_are_told_and_the_wal_is_closed() {
    for name in ["TERM", "INT"] {
        let folder = Folder::new();
        let mut server = on_file(&folder);
        let mut client = server.session();
        client.rows("CREATE TABLE t (a int)");
        client.rows("INSERT INTO t VALUES (1)");
        client.rows("CREATE TEMP TABLE own (a int)");
        let mut open = server.session();
        open.rows("BEGIN");
        open.rows("INSERT INTO t VALUES (2)");
        let mut reading = server.session();
        reading.rows("BEGIN ISOLATION LEVEL REPEATABLE READ");
        reading.rows("SELECT * FROM t");
        let begun = Instant::now();
        server.signal(name);
        for client in [&mut client, &mut open, &mut reading] {
            assert_eq!(client.told_to_go(), "57P01");
        }
        assert_eq!(server.ended().code(), Some(0));
        assert!(begun.elapsed() < Duration::from_secs(10), "nothing was running");
        is_left_clean(&folder);
        let server = on_file(&folder);
        assert_eq!(
            server.session().value("SELECT string_agg(a::text, ',') FROM t"),
            "1",
            "the open transaction is undone"
        );
    }
}

#[test]
fn running_statements_finish() {
    let folder = Folder::new();
    let mut server = on_file(&folder);
    let mut client = server.session();
    client.rows("CREATE TABLE t (a int)");
    let slow = statement_of(&mut client, Duration::from_millis(1500));
    let mut writer = server.session();
    client.send(&query(&slow));
    writer.send(&query(&format!("INSERT INTO t {}", slow.replace("count(*)", "count(*)::int"))));
    std::thread::sleep(Duration::from_millis(200));
    server.signal("TERM");
    for (client, expected) in [(&mut client, "TDCZ"), (&mut writer, "CZ")] {
        assert_eq!(kinds(&client.until_ready()), expected);
        assert_eq!(client.told_to_go(), "57P01");
    }
    assert_eq!(server.ended().code(), Some(0));
    is_left_clean(&folder);
    assert_eq!(on_file(&folder).session().value("SELECT count(*) FROM t"), "1");
}

#[test]
fn statements_that_take_too_long_are_canceled() {
    let folder = Folder::new();
    let mut server = Server::start(&folder, &["--database", &folder.path("a.db"), "--shutdown-timeout", "1"]);
    let mut client = server.session();
    let endless = statement_of(&mut client, Duration::from_secs(600));
    client.send(&query(&endless));
    std::thread::sleep(Duration::from_millis(100));
    server.signal("TERM");
    // RowDescription may come first
    let (mut kind, mut body) = client.receive();
    if kind == b'T' {
        (kind, body) = client.receive();
    }
    assert_eq!((kind, field(&body, b'C').as_str()), (b'E', "57P01"));
    assert_eq!(server.ended().code(), Some(0));
    is_left_clean(&folder);
}

#[test]
fn a_second_signal_ends_at_once() {
    let folder = Folder::new();
    let mut server = on_file(&folder);
    let mut client = server.session();
    client.rows("CREATE TABLE t (a int)");
    client.rows("INSERT INTO t VALUES (1)");
    let mut idle = server.session();
    let endless = statement_of(&mut client, Duration::from_secs(600));
    client.send(&query(&endless));
    std::thread::sleep(Duration::from_millis(100));
    server.signal("TERM");
    // the server has seen it: two signals that come before that are one
    assert_eq!(idle.told_to_go(), "57P01");
    let begun = Instant::now();
    server.signal("TERM");
    assert_eq!(server.ended().code(), Some(128 + 15));
    assert!(begun.elapsed() < Duration::from_secs(5));
    // as after a crash: nothing that was acknowledged is lost, and the socket is taken over
    assert_eq!(on_file(&folder).session().value("SELECT a FROM t"), "1");
}

#[test]
fn nobody_can_hold_up_the_end() {
    let folder = Folder::new();
    let mut server = Server::start(&folder, &["--database", &folder.path("a.db"), "--shutdown-timeout", "2"]);
    let mut client = server.session();
    client.rows("CREATE TABLE t (a text)");
    // one that has not said who it is, one in the middle of a message, one that does not take its result
    let mut silent = server.connect();
    let mut half = server.session();
    half.send(b"Q\0\0\0\x20SEL");
    let mut deaf = server.session();
    deaf.send(&query("INSERT INTO t SELECT repeat('x', 1000) FROM generate_series(1, 20000) RETURNING a"));
    std::thread::sleep(Duration::from_millis(300));
    let begun = Instant::now();
    server.signal("TERM");
    assert_eq!(silent.told_to_go(), "57P03");
    assert_eq!(half.told_to_go(), "57P01");
    assert_eq!(server.ended().code(), Some(0));
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
    is_left_clean(&folder);
    assert_eq!(on_file(&folder).session().value("SELECT count(*) FROM t"), "0");
}
