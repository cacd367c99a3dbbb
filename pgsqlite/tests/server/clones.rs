//! `pgsqlite.clone`: throw-away copies of a database, by a connection's option alone.

use crate::harness::*;
use std::time::Instant;

/// A session with the parameters of a start-up packet.
fn session(server: &Server, parameters: &[(&str, &str)]) -> Client {
    let mut client = server.connect();
    client.send(&startup(parameters));
    client.until_ready();
    client
}

/// The SQLSTATE of a session that is refused.
fn refused_session(server: &Server, parameters: &[(&str, &str)]) -> String {
    let mut client = server.connect();
    client.send(&startup(parameters));
    let (kind, body) = client.receive();
    assert_eq!(kind, b'E');
    field(&body, b'C')
}

fn clone<'a>(name: &'a str, options: &'a str) -> [(&'a str, &'a str); 3] {
    [("user", "postgres"), ("database", name), ("options", options)]
}

#[test]
fn a_clone_is_private_shared_by_name_and_gone_with_its_last_session() {
    let folder = Folder::new();
    let server = Server::start(&folder, &["--database", &folder.path("shop.db")]);
    let mut base = server.session();
    base.rows("CREATE TABLE t (i int); INSERT INTO t VALUES (1)");
    let option = "-c pgsqlite.clone=shop";
    let mut one = session(&server, &clone("one", option));
    let mut same = session(&server, &clone("one", option));
    // also as a parameter of its own, as some drivers send it
    let mut two = session(&server, &[("user", "postgres"), ("database", "two"), ("PgSQLite.Clone", "shop")]);
    one.rows("INSERT INTO t VALUES (2)");
    assert_eq!(same.value("SELECT count(*) FROM t"), "2");
    assert_eq!(two.value("SELECT count(*) FROM t"), "1");
    assert_eq!(base.value("SELECT count(*) FROM t"), "1");
    assert_eq!(one.value("SELECT current_database()"), "one");
    assert_eq!(one.value("SHOW pgsqlite.clone"), "shop");
    assert_eq!(one.fails("SET pgsqlite.clone = 'other'"), "55P02");
    drop(one);
    assert_eq!(same.value("SELECT count(*) FROM t"), "2");
    drop(same);
    // (the server notices a moment later that the last session is gone)
    let begun = Instant::now();
    while session(&server, &clone("one", option)).value("SELECT count(*) FROM t") != "1" {
        assert!(begun.elapsed() < PATIENCE, "the clone outlives its sessions");
    }
    server.stop();
}

#[test]
fn a_folder_s_clones_have_names_of_their_own() {
    let folder = Folder::new();
    let data = Folder::new();
    let server = Server::start(&folder, &["--data-dir", data.0.to_str().unwrap()]);
    server.session_in("postgres").rows("CREATE DATABASE base");
    server.session_in("postgres").rows("CREATE DATABASE other");
    server.session_in("base").rows("CREATE TABLE t (i int)");
    let mut held = session(&server, &clone("test", "-c pgsqlite.clone=base"));
    // while a session holds it, its name is enough
    let mut plain = server.session_in("test");
    plain.rows("INSERT INTO t VALUES (1)");
    assert_eq!(held.value("SELECT count(*) FROM t"), "1");
    assert_eq!(server.session_in("base").value("SELECT count(*) FROM t"), "0");
    assert_eq!(refused_session(&server, &clone("test", "-c pgsqlite.clone=other")), "42P04");
    assert_eq!(refused_session(&server, &clone("other", "-c pgsqlite.clone=base")), "42P04");
    assert_eq!(refused_session(&server, &clone("test2", "-c pgsqlite.clone=missing")), "3D000");
    assert_eq!(refused_session(&server, &clone("../x", "-c pgsqlite.clone=../x")), "3D000");
    drop((held, plain));
    let begun = Instant::now();
    loop {
        let mut client = server.connect();
        client.send(&startup(&[("user", "postgres"), ("database", "test")]));
        let (kind, body) = client.receive();
        if kind == b'E' {
            assert_eq!(field(&body, b'C'), "3D000");
            break;
        }
        assert!(begun.elapsed() < PATIENCE, "the clone outlives its sessions");
    }
    assert_eq!(data.names().iter().filter(|name| name.ends_with(".db")).count(), 3, "{:?}", data.names());
}

/// A clone shows a role what the original does, and who makes one may make databases.
#[test]
fn clones_are_for_those_who_may_make_databases() {
    let folder = Folder::new();
    let server = Server::start(&folder, &["--database", &folder.path("base.db")]);
    let mut base = server.session();
    base.rows("CREATE ROLE maker LOGIN CREATEDB; CREATE ROLE guest LOGIN; CREATE TABLE secret (i int)");
    let as_role = |role: &'static str| [("user", role), ("database", "mine"), ("options", "-c pgsqlite.clone=base")];
    assert_eq!(refused_session(&server, &as_role("guest")), "42501");
    let mut maker = session(&server, &as_role("maker"));
    assert_eq!(maker.fails("SELECT * FROM secret"), "42501");
    // one that is there is a database like any other
    assert_eq!(session(&server, &as_role("guest")).fails("SELECT * FROM secret"), "42501");
}

/// What clones cost: a generous bound for a debug build on a busy machine. `tests/packages/clone_times.py` measures.
#[test]
fn sixteen_clones_at_once() {
    let folder = Folder::new();
    let server = Server::start(&folder, &["--database", &folder.path("base.db")]);
    let mut base = server.session();
    for i in 0..20 {
        base.rows(&format!("CREATE TABLE t{i} (i serial PRIMARY KEY, s text)"));
    }
    std::thread::scope(|scope| {
        for i in 0..16 {
            let server = &server;
            scope.spawn(move || {
                let name = format!("c{i}");
                let mut client = session(server, &clone(&name, "-c pgsqlite.clone=base"));
                for n in 1..=3 {
                    assert_eq!(client.value("INSERT INTO t7 (s) VALUES ('x') RETURNING i"), n.to_string());
                }
            });
        }
    });
    assert_eq!(base.value("SELECT count(*) FROM t7"), "0");
    drop(base);
    server.stop();
}
