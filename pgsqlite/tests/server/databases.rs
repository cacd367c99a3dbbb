//! Which file a client gets, and files that are not served: those are left as they are.

use crate::harness::*;

#[test]
fn any_name_means_the_one_file() {
    let folder = Folder::new();
    let server = Server::start(&folder, &["--database", &folder.path("shop.db")]);
    server.session_in("main").rows("CREATE TABLE t (a int)");
    for name in ["main", "shop", "anything", "with space", "../x"] {
        let mut client = server.session_in(name);
        assert_eq!(client.value("SELECT count(*) FROM t"), "0");
        let expected = if name == "main" { "main" } else { "shop" };
        for query in [
            "SELECT current_database()",
            "SELECT current_catalog",
            "SELECT datname FROM pg_database",
            "SELECT datname FROM pg_stat_activity WHERE pid = pg_backend_pid()",
            "SELECT table_catalog FROM information_schema.tables WHERE table_name = 't'",
            "SELECT catalog_name FROM information_schema.information_schema_catalog_name",
        ] {
            assert_eq!(client.value(query), expected, "{name}: {query}");
        }
        // whatever the client calls it, both names mean it
        for known in ["main", "shop"] {
            client.rows(&format!("SELECT {known}.public.t.a FROM {known}.public.t"));
            client.rows(&format!("GRANT CONNECT ON DATABASE {known} TO PUBLIC"));
            client.value(&format!("SELECT pg_database_size('{known}')"));
        }
        assert_eq!(client.fails("SELECT * FROM other.public.t"), "0A000");
    }
    // two at the same time see the same tables under different names
    let (mut one, mut other) = (server.session_in("main"), server.session_in("shop"));
    for _ in 0..2 {
        let query = "SELECT table_catalog FROM information_schema.tables WHERE table_name = 't'";
        assert_eq!((one.value(query), other.value(query)), ("main".to_string(), "shop".to_string()));
    }
    // no name at all: the user's
    let mut client = server.connect();
    client.send(&startup(&[("user", "postgres")]));
    client.until_ready();
    client.rows("SELECT * FROM t");
}

#[test]
fn a_folder_holds_databases_by_name() {
    let folder = Folder::new();
    let data = Folder::new();
    for name in ["one.db", "two.db"] {
        std::fs::write(data.0.join(name), "").unwrap();
    }
    std::fs::write(folder.0.join("outside.db"), "").unwrap();
    let outside = format!("../{}/outside", folder.0.file_name().unwrap().to_str().unwrap());
    let server = Server::start(&folder, &["--data-dir", data.0.to_str().unwrap()]);
    server.session_in("one").rows("CREATE TABLE t (a int)");
    assert_eq!(server.session_in("two").fails("SELECT * FROM t"), "42P01");
    assert_eq!(server.session_in("one").value("SELECT current_database()"), "one");
    for name in ["three", "", "one.db", ".", "..", &outside, "/etc/passwd", "o/ne"] {
        let mut client = server.connect();
        client.send(&startup(&[("user", "nobody"), ("database", name)]));
        let (kind, body) = client.receive();
        assert_eq!((kind, field(&body, b'C').as_str()), (b'E', "3D000"), "{name}");
        let name = if name.is_empty() { "nobody" } else { name };
        assert_eq!(field(&body, b'M'), format!("database \"{name}\" does not exist"));
        client.closed();
    }
    assert!(refused(unix_only(&Folder::new(), &["--data-dir", &folder.path("missing")])).contains("missing"));
}

/// Transactions' numbers are the server's, not one database's; what another file has recorded counts, and what a file that is gone may have
/// recorded is not denied.
#[test]
fn what_became_of_a_transaction_is_known_in_every_database() {
    let folder = Folder::new();
    let data = Folder::new();
    for name in ["one.db", "two.db", "three.db"] {
        std::fs::write(data.0.join(name), "").unwrap();
    }
    let start = || Server::start(&folder, &["--data-dir", data.0.to_str().unwrap()]);
    let server = start();
    let (mut one, mut two) = (server.session_in("one"), server.session_in("two"));
    one.rows("CREATE TABLE t (a int)");
    let mut transaction = |end: &str| {
        one.rows("BEGIN");
        one.rows("INSERT INTO t VALUES (1)");
        let number = one.value("SELECT pg_current_xact_id()");
        assert_eq!(two.value(&format!("SELECT pg_xact_status('{number}')")), "in progress");
        one.rows(end);
        number
    };
    let (committed, aborted) = (transaction("COMMIT"), transaction("ROLLBACK"));
    drop((one, two));
    let says = |server: &Server, database: &str, number: &str| {
        server.session_in(database).value(&format!("SELECT coalesce(pg_xact_status('{number}'), 'nobody knows')"))
    };
    let both_say = |server: &Server| {
        for database in ["one", "two"] {
            assert_eq!(says(server, database, &committed), "committed");
            assert_eq!(says(server, database, &aborted), "aborted");
        }
    };
    both_say(&server);
    server.stop();
    let server = start();
    both_say(&server);
    // a transaction of a database that is dropped
    let mut one = server.session_in("one");
    one.rows("BEGIN");
    one.rows("INSERT INTO t VALUES (2)");
    let number = one.value("SELECT pg_current_xact_id()");
    one.rows("COMMIT");
    drop(one);
    server.session_in("two").rows("DROP DATABASE one WITH (FORCE)");
    for database in ["two", "three"] {
        assert_eq!(says(&server, database, &number), "nobody knows");
    }
    server.stop();
    assert_eq!(says(&start(), "three", &number), "nobody knows");
}

#[test]
fn what_is_in_memory_is_shared_and_gone_at_the_end() {
    let folder = Folder::new();
    let server = Server::start(&folder, &["--in-memory"]);
    let (mut one, mut two) = (server.session(), server.session());
    one.rows("CREATE TABLE t (a int)");
    one.rows("INSERT INTO t VALUES (1)");
    assert_eq!(two.value("SELECT a FROM t"), "1");
    drop((one, two));
    server.stop();
    assert_eq!(folder.names().iter().filter(|n| n.contains("memory") || n.ends_with(".db")).count(), 0);
    let server = Server::start(&folder, &["--in-memory"]);
    assert_eq!(server.session().fails("SELECT a FROM t"), "42P01");
}

#[test]
fn a_second_server_is_refused() {
    let folder = Folder::new();
    let file = folder.path("a.db");
    let server = Server::start_tcp(&folder, &["--database", &file]);
    let port = server.port.to_string();
    // the same socket
    let said = refused(unix_only(&folder, &["--in-memory", "--port", &port]));
    assert!(said.contains("socket") && said.contains("in use"), "{said}");
    // the same port
    let other = Folder::new();
    let said = refused(pgsqlite(&[
        "--in-memory",
        "--host",
        "127.0.0.1",
        "--port",
        &port,
        "--socket-dir",
        other.0.to_str().unwrap(),
    ]));
    assert!(said.contains(&format!("127.0.0.1:{port}")) && said.contains("in use"), "{said}");
    // the same file, also by another name
    let link = other.path("link.db");
    std::os::unix::fs::symlink(&file, &link).unwrap();
    for name in [&file, &link] {
        let said = refused(unix_only(&other, &["--database", name]));
        assert!(said.contains("another pgsqlite serves"), "{said}");
    }
    server.session().is_served();
}

#[test]
fn a_stale_socket_is_replaced() {
    let folder = Folder::new();
    let mut server = Server::start(&folder, &["--in-memory"]);
    server.signal("KILL");
    server.ended();
    assert!(server.socket.exists(), "a killed server leaves its socket file");
    Server::start(&folder, &["--in-memory"]).session().is_served();
    // one that somebody else's program listens on stays
    let socket = folder.0.join(".s.PGSQL.7777");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    assert!(refused(unix_only(&folder, &["--in-memory", "--port", "7777"])).contains("in use"));
    assert!(socket.exists());
}

/// Starting on this file fails with these words, and neither the file nor its folder is touched.
fn is_left_untouched(folder: &Folder, name: &str, said: &str) {
    let path = folder.path(name);
    let (before, names) = (std::fs::metadata(&path).unwrap().is_file().then(|| bytes(&path)), folder.names());
    let sockets = Folder::new();
    let text = refused(unix_only(&sockets, &["--database", &path]));
    assert!(text.contains(said) && text.contains(name), "{name}: {text}");
    if let Some(before) = before {
        assert!(before == bytes(&path), "{name} was changed");
    }
    assert_eq!(folder.names(), names, "{name}");
}

#[test]
fn what_is_no_database_is_left_untouched() {
    let folder = Folder::new();
    std::fs::write(folder.0.join("text.db"), "certainly not a database").unwrap();
    std::fs::write(folder.0.join("short.db"), "SQLite").unwrap();
    std::fs::write(folder.0.join("trash.db"), [&b"SQLite format 3\0"[..], &[0xa5; 5000]].concat()).unwrap();
    std::fs::create_dir(folder.0.join("folder.db")).unwrap();
    for name in ["text.db", "short.db", "trash.db"] {
        is_left_untouched(&folder, name, "is not a SQLite database");
    }
    is_left_untouched(&folder, "folder.db", "is not a file");
    let said = refused(unix_only(&Folder::new(), &["--database", &folder.path("missing/a.db")]));
    assert!(said.contains("missing") && said.contains("does not exist"), "{said}");
}

#[test]
fn a_read_only_file_is_left_untouched() {
    let folder = Folder::new();
    let path = folder.path("a.db");
    let server = Server::start(&folder, &["--database", &path]);
    server.session().rows("CREATE TABLE t (a int)");
    server.stop();
    let mut permissions = std::fs::metadata(&path).unwrap().permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(&path, permissions).unwrap();
    is_left_untouched(&folder, "a.db", "is read-only");
}

#[test]
fn a_newer_file_is_left_untouched() {
    let folder = Folder::new();
    let path = folder.path("a.db");
    let server = Server::start(&folder, &["--database", &path]);
    server.session().rows("CREATE TABLE t (a serial PRIMARY KEY)");
    server.stop();
    let sqlite = rusqlite::Connection::open(&path).unwrap();
    let changed = sqlite
        .execute("UPDATE __pgsqlite_meta SET value = value + 1000 WHERE key = 'version'", [])
        .expect("where the version is kept");
    assert_eq!(changed, 1);
    sqlite.close().unwrap();
    is_left_untouched(&folder, "a.db", "newer");
}

/// What `\l+` of psql asks for.
const LISTED: &str = "SELECT datname || '|' || pg_get_userbyid(datdba) || '|' || coalesce(array_to_string(datacl, ' '), '') || '|' \
    || CASE WHEN has_database_privilege(datname, 'CONNECT') THEN (pg_database_size(datname) > 0)::text ELSE 'No Access' END \
    FROM pg_database ORDER BY datname";

#[test]
fn other_databases_of_a_folder_tell_size_owner_and_privileges() {
    let folder = Folder::new();
    let data = Folder::new();
    std::fs::write(data.0.join("notes.db"), "certainly not a database").unwrap();
    let foreign = data.0.join("foreign.db");
    rusqlite::Connection::open(&foreign)
        .unwrap()
        .execute_batch("CREATE TABLE t (a); INSERT INTO t VALUES (1)")
        .unwrap();
    let before = bytes(foreign.to_str().unwrap());
    let server = Server::start(&folder, &["--data-dir", data.0.to_str().unwrap()]);
    // tools connect to it unless they are told otherwise
    let mut client = server.session_in("postgres");
    for sql in
        ["CREATE ROLE joe LOGIN", "CREATE ROLE ann LOGIN", "CREATE DATABASE shop OWNER joe", "CREATE DATABASE closed"]
    {
        client.rows(sql);
    }
    let mut shop = server.session_in("shop");
    shop.rows("CREATE TABLE t (a text)");
    shop.rows("INSERT INTO t SELECT repeat('x', 1000) FROM generate_series(1, 200)");
    shop.rows("REVOKE CONNECT ON DATABASE shop FROM PUBLIC");
    shop.rows("GRANT CONNECT ON DATABASE shop TO ann");
    let own = shop.value("SELECT pg_database_size('shop')");
    assert_eq!(client.value("SELECT pg_database_size('shop')"), own);
    let by_number = "SELECT pg_database_size(oid) FROM pg_database WHERE datname = 'shop'";
    assert_eq!(client.value(by_number), own);
    let listed: Vec<String> = client.rows(LISTED).into_iter().map(|mut r| r.remove(0)).collect();
    let shop_acl = "=T/joe joe=CTc/joe ann=c/joe";
    let expected = [
        "closed|postgres||true".into(),
        "foreign|postgres||true".into(),
        "postgres|postgres||false".into(),
        format!("shop|joe|{shop_acl}|true"),
    ];
    assert_eq!(listed[..2], expected[..2]);
    assert_eq!(listed[3], expected[3]);
    assert!(listed[2].starts_with("postgres|postgres||"), "{listed:?}");
    assert_eq!(listed.len(), 4);
    // roles are found by their names
    for (role, may) in [("joe", "t"), ("ann", "t"), ("postgres", "t")] {
        assert_eq!(client.value(&format!("SELECT has_database_privilege('{role}', 'shop', 'CONNECT')")), may, "{role}");
    }
    client.rows("CREATE ROLE stranger LOGIN");
    assert_eq!(client.value("SELECT has_database_privilege('stranger', 'shop', 'CONNECT')"), "f");
    assert_eq!(client.value("SELECT has_database_privilege('stranger', 'shop', 'TEMP')"), "t");
    assert_eq!(client.value("SELECT has_database_privilege('ann', 'shop', 'CREATE')"), "f");
    client.rows("SET ROLE stranger");
    assert_eq!(client.fails("SELECT pg_database_size('shop')"), "42501");
    assert_eq!(client.value("SELECT pg_database_size('foreign') > 0"), "t");
    client.rows("RESET ROLE");
    assert_eq!(client.fails("SELECT pg_database_size('notes')"), "3D000");
    assert_eq!(client.fails("SELECT has_database_privilege('nobody', 'CONNECT')"), "3D000");
    assert_eq!(client.rows("SELECT has_database_privilege(99999::oid, 'CONNECT') IS NULL")[0][0], "t");
    // what is looked at stays as it is, and nothing stays beside it
    assert!(bytes(foreign.to_str().unwrap()) == before);
    drop(shop);
    let left: Vec<String> =
        data.names().into_iter().filter(|n| n.starts_with("foreign") || n.starts_with("closed")).collect();
    assert_eq!(left, ["closed.db", "foreign.db"]);
    client.rows("ALTER DATABASE closed RENAME TO moved");
    assert_eq!(client.value("SELECT count(*) FROM pg_database WHERE datname = 'moved'"), "1");
}
