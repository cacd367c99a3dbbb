//! The status page, as a browser asks for it: who is let in, what the answers say to the browser, what is in them. `tests/status` looks at
//! it in a browser.

use crate::harness::*;
use std::io::{Read, Write};
use std::net::TcpStream;

/// The status line, the headers, and the body.
struct Answer {
    status: u16,
    head: String,
    body: String,
}

fn send(address: &str, request: &str) -> Answer {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    Answer { status: head[9..12].parse().unwrap(), head: head.to_string(), body: body.to_string() }
}

fn get(address: &str, path: &str, headers: &str) -> Answer {
    send(address, &format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n{headers}\r\n"))
}

/// `user:password` as a header.
fn basic(user: &str, password: &str) -> String {
    use base64::Engine;
    let encoded = base64::engine::general_purpose::STANDARD.encode(format!("{user}:{password}"));
    format!("Authorization: Basic {encoded}\r\n")
}

#[test]
fn the_page_brings_everything_along_and_may_load_nothing_else() {
    let folder = Folder::new();
    let address = format!("127.0.0.1:{}", free_port());
    let _server = Server::start(&folder, &["--in-memory", "--status-addr", &address]);
    for (path, kind) in
        [("/", "text/html"), ("/page.css", "text/css"), ("/page.js", "text/javascript"), ("/icon.svg", "image/svg+xml")]
    {
        let answer = get(&address, path, "");
        assert_eq!(answer.status, 200, "{path}");
        let head = answer.head.to_ascii_lowercase();
        assert!(head.contains(&format!("content-type: {kind}")), "{path}: {head}");
        assert!(head.contains("content-security-policy: default-src 'none'; script-src 'self';"), "{head}");
        for header in ["x-content-type-options: nosniff", "referrer-policy: no-referrer", "cache-control: no-store"] {
            assert!(head.contains(header), "{path}: {head}");
        }
        assert!(!head.contains("unsafe-"), "{head}");
        // (the name of SVG's elements is no address that is asked)
        let body = answer.body.replace("http://www.w3.org/2000/svg", "");
        assert!(!body.contains("http://") && !body.contains("https://"), "{path} names another server");
        assert!(!body.contains("innerHTML") && !body.contains("style="), "{path}");
    }
    assert_eq!(get(&address, "/other", "").status, 404);
    for method in ["POST", "PUT", "DELETE", "OPTIONS"] {
        let answer = send(&address, &format!("{method} / HTTP/1.1\r\nHost: {address}\r\nContent-Length: 0\r\n\r\n"));
        assert_eq!(answer.status, 405, "{method}");
    }
}

#[test]
fn pages_of_others_cannot_ask_by_another_name() {
    let folder = Folder::new();
    let address = format!("127.0.0.1:{}", free_port());
    let _server = Server::start(&folder, &["--in-memory", "--status-addr", &address]);
    for host in ["evil.example", "evil.example:80", "localhost.evil.example"] {
        let answer = send(&address, &format!("GET /live.json HTTP/1.1\r\nHost: {host}\r\n\r\n"));
        assert_eq!(answer.status, 421, "{host}: {}", answer.body);
    }
    for host in ["localhost:1", "127.0.0.1", "[::1]:1"] {
        assert_eq!(send(&address, &format!("GET /live.json HTTP/1.1\r\nHost: {host}\r\n\r\n")).status, 200, "{host}");
    }
}

#[test]
fn passwords_are_those_of_sql_and_so_are_the_rights() {
    let folder = Folder::new();
    let file = folder.path("main.db");
    let address = format!("127.0.0.1:{}", free_port());
    {
        let server = Server::start(&folder, &["--database", &file]);
        let mut admin = server.session();
        admin.rows("CREATE ROLE reader LOGIN PASSWORD 'right'");
        admin.rows("CREATE ROLE watcher LOGIN PASSWORD 'too'");
        admin.rows("GRANT pg_read_all_stats TO watcher");
        admin.rows("CREATE ROLE nobody PASSWORD 'x'");
    }
    let rules = folder.path("hba.conf");
    std::fs::write(&rules, "local all all trust\nhost all refused all reject\nhost all all all scram-sha-256\n")
        .unwrap();
    let server = Server::start(&folder, &["--database", &file, "--hba", &rules, "--status-addr", &address]);
    let mut other = server.session();
    other.rows("SELECT 'what others do'");
    let asked = get(&address, "/", "");
    assert_eq!(asked.status, 401);
    assert!(asked.head.to_ascii_lowercase().contains("www-authenticate: basic realm=\"pgsqlite\""), "{}", asked.head);
    for (user, password, status) in [
        ("reader", "wrong", 401),
        ("reader", "", 401),
        ("postgres", "right", 401),
        ("missing", "right", 401),
        ("refused", "right", 403),
        ("nobody", "x", 403),
        ("reader", "right", 200),
        ("watcher", "too", 200),
    ] {
        let answer = get(&address, "/live.json", &basic(user, password));
        assert_eq!(answer.status, status, "{user}: {}", answer.body);
    }
    // for a role without the right, what others do is as hidden as in SQL
    let seen = get(&address, "/live.json", &basic("reader", "right")).body;
    assert!(seen.contains("<insufficient privilege>") && !seen.contains("what others do"), "{seen}");
    let seen = get(&address, "/live.json", &basic("watcher", "too")).body;
    assert!(seen.contains("what others do"), "{seen}");
    // bytes of another scheme are no credentials
    assert_eq!(get(&address, "/", "Authorization: Bearer x\r\n").status, 401);
}

#[test]
fn a_page_for_others_needs_a_choice_of_authentication_and_encryption() {
    let folder = Folder::new();
    let anywhere = format!("0.0.0.0:{}", free_port());
    let refusal = refused(unix_only(&folder, &["--in-memory", "--status-addr", &anywhere]));
    assert!(refusal.contains("needs a choice of authentication"), "{refusal}");
    let server = Server::start(&folder, &["--in-memory", "--status-addr", &anywhere, "--auth", "trust"]);
    drop(server);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    let _listener = std::net::TcpListener::bind(&taken);
    let held = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let refusal =
        refused(unix_only(&folder, &["--in-memory", "--status-addr", &held.local_addr().unwrap().to_string()]));
    assert!(refusal.contains("is in use already") && refusal.contains("--status-addr"), "{refusal}");
    let address = format!("127.0.0.1:{}", free_port());
    let flags = ["--in-memory", "--status-addr", &address, "--tls-self-signed", "--require-tls"];
    let _server = Server::start(&folder, &flags);
    assert_eq!(get(&address, "/", "").status, 403);
}

#[test]
fn a_plan_is_shown_and_nothing_is_run() {
    let folder = Folder::new();
    let address = format!("127.0.0.1:{}", free_port());
    let server = Server::start(&folder, &["--in-memory", "--status-addr", &address]);
    let mut client = server.session();
    client.rows("CREATE TABLE t (a int PRIMARY KEY, b text)");
    client.rows("INSERT INTO t VALUES (1, 'x')");
    client.rows("SELECT b FROM t WHERE a = 1");
    client.rows("DELETE FROM t WHERE a = 2");
    let id = |client: &mut Client, like: &str| {
        client.rows(&format!("SELECT queryid FROM pg_stat_statements WHERE query LIKE '{like}'"))[0][0].clone()
    };
    let select = id(&mut client, "SELECT b%");
    let answer = get(&address, &format!("/plan.json?queryid={select}"), "").body;
    assert!(answer.contains("Index Scan") && answer.contains("SELECT b FROM t WHERE a = $1"), "{answer}");
    let delete = id(&mut client, "DELETE%");
    assert!(get(&address, &format!("/plan.json?queryid={delete}"), "").body.contains("Delete on t"));
    let create = id(&mut client, "CREATE TABLE t%");
    assert!(get(&address, &format!("/plan.json?queryid={create}"), "").body.contains("\"error\""));
    assert!(get(&address, "/plan.json?queryid=7", "").body.contains("not in pg_stat_statements"));
    assert_eq!(get(&address, "/plan.json?queryid=x", "").status, 400);
    assert_eq!(client.rows("SELECT count(*) FROM t")[0][0], "1");
    // what the page asks is not counted
    let own = "SELECT count(*) FROM pg_stat_statements WHERE query LIKE '%json_agg%' OR query LIKE 'EXPLAIN%'";
    assert_eq!(client.rows(own)[0][0], "0");
    assert_eq!(client.rows("SELECT count(*) FROM pg_stat_activity")[0][0], "1");
    let relations = get(&address, "/relations.json", "").body;
    assert!(relations.contains("\"name\":\"t\"") && relations.contains("\"t_pkey\""), "{relations}");
}
