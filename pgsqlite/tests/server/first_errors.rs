//! What somebody meets first: each error says what to do next. And the log in JSON.

use crate::harness::*;
use std::process::Stdio;

#[test]
fn a_port_in_use_names_the_flag_that_chooses_another() {
    let folder = Folder::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let socket_dir = folder.0.to_str().unwrap();
    let flags = ["--in-memory", "--host", "127.0.0.1", "--port", &port, "--socket-dir", socket_dir];
    let said = refused(pgsqlite(&flags));
    assert!(said.contains(&format!("127.0.0.1:{port} is in use already")) && said.contains("--port N"), "{said}");
    for flag in ["--metrics-addr", "--status-addr"] {
        let said = refused(unix_only(&folder, &["--in-memory", flag, &format!("127.0.0.1:{port}")]));
        assert!(said.contains("is in use already") && said.contains(flag), "{said}");
    }
    let other = free_port().to_string();
    let flags =
        ["--in-memory", "--host", "127.0.0.1", "--port", &other, "--sqli-port", &port, "--socket-dir", socket_dir];
    let said = refused(pgsqlite(&flags));
    assert!(said.contains("is in use already") && said.contains("--sqli-port N"), "{said}");
    let _server = Server::start(&folder, &["--in-memory"]);
    let said = refused(unix_only(&folder, &["--in-memory"]));
    assert!(said.contains(".s.PGSQL.5432 is in use already") && said.contains("--socket-dir DIR"), "{said}");
}

#[test]
fn a_file_that_is_served_names_the_way_to_who_serves_it() {
    let folder = Folder::new();
    let file = folder.path("main.db");
    let _server = Server::start(&folder, &["--database", &file]);
    let other = Folder::new();
    let said = refused(unix_only(&other, &["--database", &file]));
    assert!(said.contains("another pgsqlite serves") && said.contains("pgsqlite info FILE"), "{said}");
}

#[test]
fn a_file_that_is_no_database_names_the_way_to_import_it() {
    let folder = Folder::new();
    let file = folder.path("dump.sql");
    std::fs::write(&file, "CREATE TABLE t (a int);\n".repeat(100)).unwrap();
    let said = refused(unix_only(&folder, &["--database", &file]));
    assert!(said.contains("is not a SQLite database") && said.contains("pgsqlite import"), "{said}");
}

#[test]
fn a_wrong_password_names_the_ways_to_set_one_and_tells_nobody_apart() {
    let folder = Folder::new();
    let file = folder.path("main.db");
    {
        let server = Server::start(&folder, &["--database", &file]);
        server.session().rows("CREATE ROLE known LOGIN PASSWORD 'right'");
    }
    let server = Server::start(&folder, &["--database", &file, "--auth", "scram"]);
    let hints = ["known", "unknown"].map(|user| {
        let mut client = server.connect();
        client.send(&startup(&[("user", user), ("database", "main")]));
        assert_eq!(client.receive().0, b'R');
        let first = b"n,,n=,r=abcdefgh";
        let length = (first.len() as u32).to_be_bytes();
        client.send(&message(b'p', &[&b"SCRAM-SHA-256\0"[..], &length, first].concat()));
        let (kind, body) = client.receive();
        assert_eq!(kind, b'R');
        let server_first = String::from_utf8(body[4..].to_vec()).unwrap();
        let nonce = server_first.split(',').next().unwrap();
        let proof = "A".repeat(43) + "=";
        client.send(&message(b'p', format!("c=biws,{nonce},p={proof}").as_bytes()));
        let (kind, body) = client.receive();
        assert_eq!((kind, field(&body, b'C').as_str()), (b'E', "28P01"), "{}", error(&body));
        field(&body, b'H')
    });
    assert!(hints[0].contains("ALTER ROLE") && hints[0].contains("pgsqlite user passwd"), "{hints:?}");
    assert_eq!(hints[0], hints[1]);
}

#[test]
fn a_refused_statement_names_the_document_and_the_flag() {
    let folder = Folder::new();
    let server = Server::start(&folder, &["--in-memory"]);
    let mut client = server.session();
    let messages = client.simple("CREATE TABLESPACE fast LOCATION '/disk'");
    let (_, body) = messages.iter().find(|m| m.0 == b'E').unwrap();
    assert_eq!(field(body, b'C'), "0A000");
    let hint = field(body, b'H');
    assert!(hint.contains("docs/compatibility.md") && hint.contains("--log-refused FILE"), "{hint}");
}

/// Runs a server with these flags, and returns what it has written to standard error.
fn log_of(folder: &Folder, flags: &[&str], with: impl FnOnce(&Server)) -> String {
    let mut command = unix_only(folder, flags);
    command.stderr(Stdio::piped());
    let mut server = Server::spawn(command, folder.0.join(".s.PGSQL.5432"), 5432);
    with(&server);
    server.signal("TERM");
    assert_eq!(server.ended().code(), Some(0));
    let mut said = String::new();
    std::io::Read::read_to_string(server.process.stderr.as_mut().unwrap(), &mut said).unwrap();
    said
}

#[test]
fn the_log_can_be_json() {
    let folder = Folder::new();
    let flags = ["--in-memory", "--log-format", "json", "--log-level", "info", "--log-min-duration-statement", "0"];
    let log = log_of(&folder, &flags, |server| {
        server.session().rows("SELECT 'a \"quoted\" text\nof two lines'");
    });
    let lines: Vec<serde_json::Value> = log.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
    assert!(!lines.is_empty());
    for line in &lines {
        for name in ["timestamp", "level", "message", "target"] {
            assert!(line[name].is_string(), "{name}: {line}");
        }
    }
    let told = |text: &str| lines.iter().any(|line| line.to_string().contains(text));
    assert!(told("of two lines") && told("shutting down"), "{log}");
    // what the program tells beside the log, and why it does not start, is JSON, too
    let mut command = unix_only(&folder, &["--data-dir", &folder.path("missing"), "--log-format", "json"]);
    command.env("PGSQLITE_POOLSIZE", "10");
    let output = output(command);
    let said = String::from_utf8(output.stderr).unwrap();
    let lines: Vec<serde_json::Value> = said.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
    let levels: Vec<&str> = lines.iter().map(|line| line["level"].as_str().unwrap()).collect();
    assert_eq!((output.status.code(), levels), (Some(1), vec!["WARN", "ERROR"]), "{said}");
    assert!(lines[1]["message"].as_str().unwrap().contains("does not exist"), "{said}");
}
