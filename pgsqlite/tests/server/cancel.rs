//! Cancel requests: a second connection that names a session by its key.

use crate::harness::*;
use std::time::{Duration, Instant};

const ENDLESS: &str = "SELECT count(*) FROM generate_series(1, 1000000) a, generate_series(1, 1000000) b";

/// A session and the body of its BackendKeyData.
fn session_with_key(server: &Server) -> (Client, Vec<u8>) {
    let mut client = server.connect();
    client.send(&startup(&[("user", "postgres"), ("database", "main")]));
    let messages = client.until_ready();
    let key = messages.iter().find(|m| m.0 == b'K').unwrap().1.clone();
    assert_eq!(key.len(), 8);
    (client, key)
}

/// Sends a cancel request; the server answers with nothing but the end.
fn cancel(server: &Server, key: &[u8]) {
    let mut client = server.connect();
    client.send(&packet(&[&(1234u32 << 16 | 5678).to_be_bytes()[..], key].concat()));
    client.closed();
}

fn is_canceled(client: &mut Client) {
    let messages = client.until_ready();
    let (_, body) = messages.iter().find(|m| m.0 == b'E').expect("an error");
    assert_eq!(field(body, b'C'), "57014");
    assert_eq!(field(body, b'M'), "canceling statement due to user request");
}

#[test]
fn a_running_statement_is_canceled_and_the_session_goes_on() {
    let folder = Folder::new();
    let server = Server::start(&folder, &["--in-memory"]);
    let (mut client, key) = session_with_key(&server);
    let mut bystander = server.session();
    for _ in 0..3 {
        client.send(&query(ENDLESS));
        std::thread::sleep(Duration::from_millis(100));
        let begun = Instant::now();
        cancel(&server, &key);
        is_canceled(&mut client);
        assert!(begun.elapsed() < Duration::from_secs(10));
        client.is_served();
        bystander.is_served();
    }
    // also by the extended protocol, and inside a block, which is failed then
    client.rows("BEGIN");
    client.send(&[parse("", ENDLESS), bind("", "", &[]), execute("", 0), sync()].concat());
    std::thread::sleep(Duration::from_millis(100));
    cancel(&server, &key);
    is_canceled(&mut client);
    assert_eq!(client.fails("SELECT 1"), "25P02");
    client.rows("ROLLBACK");
    client.is_served();
}

#[test]
fn a_wrong_key_cancels_nothing() {
    let folder = Folder::new();
    let server = Server::start(&folder, &["--in-memory"]);
    let (mut client, key) = session_with_key(&server);
    let mut wrong = key.clone();
    wrong[7] ^= 1;
    client.send(&query("SELECT count(*) FROM generate_series(1, 1000000) a"));
    for key in [&wrong[..], &[0; 8], &[0xff; 8]] {
        cancel(&server, key);
    }
    assert_eq!(kinds(&client.until_ready()), "TDCZ");
}

#[test]
fn an_idle_session_is_not_concerned() {
    let folder = Folder::new();
    let server = Server::start(&folder, &["--in-memory"]);
    let (mut client, key) = session_with_key(&server);
    cancel(&server, &key);
    client.is_served();
    client.rows("BEGIN");
    client.rows("SELECT 1");
    cancel(&server, &key);
    client.is_served();
    client.rows("COMMIT");
}

#[test]
fn who_waits_for_another_writer_is_canceled_too() {
    let folder = Folder::new();
    let server = Server::start(&folder, &["--in-memory"]);
    let mut holder = server.session();
    holder.rows("CREATE TABLE t (a int PRIMARY KEY)");
    holder.rows("BEGIN");
    holder.rows("INSERT INTO t VALUES (1)");
    let (mut client, key) = session_with_key(&server);
    client.send(&query("INSERT INTO t VALUES (1)"));
    std::thread::sleep(Duration::from_millis(200));
    cancel(&server, &key);
    is_canceled(&mut client);
    client.rows("SET statement_timeout = '100ms'");
    assert_eq!(client.fails("INSERT INTO t VALUES (1)"), "57014");
    holder.rows("COMMIT");
    client.rows("INSERT INTO t VALUES (4)");
    assert_eq!(client.value("SELECT string_agg(a::text, ',' ORDER BY a) FROM t"), "1,4");
}
