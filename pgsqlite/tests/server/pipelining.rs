//! Many messages at once, messages in pieces, and portals that go on: what depends on how bytes arrive.

use crate::harness::*;
use std::time::Duration;

fn in_memory() -> (Folder, Server) {
    let folder = Folder::new();
    let server = Server::start(&folder, &["--in-memory"]);
    (folder, server)
}

#[test]
fn thousands_of_messages_in_one_write() {
    let (_folder, server) = in_memory();
    let mut client = server.session();
    client.rows("CREATE TABLE t (a int)");
    let mut bytes = parse("s", "INSERT INTO t VALUES ($1)");
    for i in 0..5000 {
        bytes.extend(bind("", "s", &[&i.to_string()]));
        bytes.extend(execute("", 0));
    }
    bytes.extend(sync());
    client.send(&bytes);
    let messages = client.until_ready();
    assert_eq!(kinds(&messages), format!("1{}Z", "2C".repeat(5000)));
    assert_eq!(client.value("SELECT count(*) || ' ' || sum(a) FROM t"), "5000 12497500");
}

#[test]
fn messages_may_arrive_byte_by_byte() {
    let (_folder, server) = in_memory();
    let mut client = server.session();
    let bytes =
        [parse("", "SELECT $1::text"), bind("", "", &["ä"]), message(b'D', b"P\0"), execute("", 0), sync()].concat();
    for byte in bytes {
        client.send(&[byte]);
    }
    let messages = client.until_ready();
    assert_eq!(kinds(&messages), "12TDCZ");
    assert_eq!(values(&messages[3].1), ["ä"]);
}

/// PostgreSQL 15 gives the messages in this order.
#[test]
fn what_functions_raise_comes_before_their_row() {
    let (_folder, server) = in_memory();
    let mut client = server.session();
    client.rows(
        "CREATE FUNCTION f(i int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE '%', i; RETURN i; END $$",
    );
    client.rows("CREATE PROCEDURE p(INOUT i int) LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE '%', i; END $$");
    client.rows("CREATE TABLE t (i int)");
    for (text, expected) in [
        ("SELECT f(1)", "TNDCZ"),
        ("SELECT f(g) FROM generate_series(1, 3) g", "TNDNDNDCZ"),
        ("SELECT 1 / (f(g) - 2) FROM generate_series(1, 3) g", "TNDNEZ"),
        ("SELECT f(g) FROM generate_series(1, 3) g ORDER BY 1 DESC", "TNNNDDDCZ"),
        ("INSERT INTO t VALUES (1), (2) RETURNING f(i)", "NNTDDCZ"),
        ("WITH x AS (INSERT INTO t VALUES (5) RETURNING f(i)) SELECT * FROM x", "NTDCZ"),
        ("COPY (SELECT f(g) FROM generate_series(1, 2) g) TO STDOUT", "HNdNdcCZ"),
        ("EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off) SELECT f(1)", "NTDCZ"),
        ("CALL p(7)", "NTDCZ"),
        ("SET client_min_messages = 'warning'; SELECT f(1)", "CTDCZ"),
    ] {
        let messages = client.simple(text);
        let without_settings: String = kinds(&messages).replace('S', "");
        assert_eq!(without_settings, expected, "{text}");
    }
    client.rows("RESET client_min_messages");
    let text = "SELECT f(g) FROM generate_series(1, 3) g";
    client.send(&[parse("", text), bind("", "", &[]), execute("", 2), execute("", 0), sync()].concat());
    assert_eq!(kinds(&client.until_ready()), "12NDNDsNDCZ");
}

#[test]
fn an_error_skips_to_its_sync_only() {
    let (_folder, server) = in_memory();
    let mut client = server.session();
    let good = |text: &str| [parse("", text), bind("", "", &[]), execute("", 0)].concat();
    client.send(
        &[good("SELECT 1"), good("SELECT 1/0"), good("SELECT 2"), query("SELECT 3"), sync(), good("SELECT 4"), sync()]
            .concat(),
    );
    let first = client.until_ready();
    // where PostgreSQL folds constants, at Bind, the division fails
    assert_eq!(kinds(&first), "12DC1EZ");
    assert_eq!(field(&first[5].1, b'C'), "22012");
    assert_eq!(kinds(&client.until_ready()), "12DCZ");
}

#[test]
fn a_pipeline_up_to_sync_is_one_transaction() {
    let (_folder, server) = in_memory();
    let mut client = server.session();
    client.rows("CREATE TABLE t (a int PRIMARY KEY)");
    let insert =
        |v: &str| [parse("", &format!("INSERT INTO t VALUES ({v})")), bind("", "", &[]), execute("", 0)].concat();
    client.send(&[insert("1"), insert("2"), insert("1"), sync()].concat());
    assert_eq!(kinds(&client.until_ready()), "12C12C12EZ");
    assert_eq!(client.value("SELECT count(*) FROM t"), "0");
    client.send(&[insert("1"), sync(), insert("1"), sync()].concat());
    client.until_ready();
    client.until_ready();
    assert_eq!(client.value("SELECT count(*) FROM t"), "1");
}

#[test]
fn flush_sends_what_is_there_without_ending_anything() {
    let (_folder, server) = in_memory();
    let mut client = server.session();
    client.send(&[parse("", "SELECT 7"), message(b'H', b"")].concat());
    assert_eq!(client.receive().0, b'1');
    client.send(&[bind("", "", &[]), execute("", 0), message(b'H', b"")].concat());
    assert_eq!([client.receive().0, client.receive().0, client.receive().0], *b"2DC");
    client.send(&sync());
    assert_eq!(client.receive(), (b'Z', b"I".to_vec()));
}

#[test]
fn a_portal_gives_its_rows_in_portions() {
    let (_folder, server) = in_memory();
    let mut client = server.session();
    let mut other = server.session();
    client.send(&[parse("", "SELECT a FROM generate_series(1, 100000) a"), bind("p", "", &[])].concat());
    let mut seen = 0;
    for _ in 0..10 {
        client.send(&[execute("p", 1000), message(b'H', b"")].concat());
        loop {
            match client.receive() {
                (b'D', body) => {
                    seen += 1;
                    assert_eq!(values(&body), [seen.to_string()]);
                }
                (b's', _) => break,
                (b'1' | b'2', _) => {}
                (kind, body) => panic!("{} {}", kind as char, error(&body)),
            }
        }
        // an open portal holds up nobody
        other.is_served();
    }
    assert_eq!(seen, 10_000);
    client.send(&[message(b'C', b"Pp\0"), execute("p", 0), sync()].concat());
    let messages = client.until_ready();
    assert_eq!(kinds(&messages), "3EZ");
    assert_eq!(field(&messages[1].1, b'C'), "34000");
}

#[test]
fn several_portals_of_a_transaction_interleave() {
    let (_folder, server) = in_memory();
    let mut client = server.session();
    client.rows("BEGIN");
    client.send(
        &[
            parse("s", "SELECT a FROM generate_series($1::int, $1 + 2) a"),
            bind("x", "s", &["10"]),
            bind("y", "s", &["20"]),
            execute("x", 1),
            execute("y", 2),
            execute("x", 1),
            sync(),
            execute("y", 0),
            execute("x", 0),
            sync(),
        ]
        .concat(),
    );
    let first = client.until_ready();
    assert_eq!(kinds(&first), "122DsDDsDsZ");
    let second = client.until_ready();
    assert_eq!(kinds(&second), "DCDCZ");
    let row = |m: &Message| values(&m.1).remove(0);
    assert_eq!([row(&second[0]), row(&second[2])], ["22", "12"]);
    // they end with their transaction
    client.rows("COMMIT");
    client.send(&[execute("x", 0), sync()].concat());
    assert_eq!(field(&client.until_ready()[0].1, b'C'), "34000");
}

#[test]
fn a_client_may_say_goodbye_in_the_middle() {
    let (_folder, server) = in_memory();
    let mut client = server.session();
    client.rows("CREATE TABLE t (a int)");
    let mut leaving = server.session();
    // no Sync: nothing is committed
    leaving
        .send(&[parse("", "INSERT INTO t VALUES (1)"), bind("", "", &[]), execute("", 0), message(b'X', b"")].concat());
    leaving.stream.read_to_end(&mut Vec::new()).unwrap();
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(client.value("SELECT count(*) FROM t"), "0");
    client.rows("INSERT INTO t VALUES (2)");
}
