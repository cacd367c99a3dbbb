//! What the server answers to bad bytes and bad command lines, from outside: the real binary, a real socket, no driver.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

const BINARY: &str = env!("CARGO_BIN_EXE_pgsqlite");

/// A folder of its own for one test, removed at its end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("pgsqlite-wire-{}-{n}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}
impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A server on a Unix socket in `folder`, killed when it goes out of scope.
struct Server(Child, PathBuf);

impl Server {
    fn start(folder: &Folder, flags: &[&str]) -> Server {
        let child = command(folder, flags).stdout(Stdio::null()).spawn().unwrap();
        let server = Server(child, folder.0.join(".s.PGSQL.5432"));
        let begun = Instant::now();
        while UnixStream::connect(&server.1).is_err() {
            assert!(begun.elapsed() < Duration::from_secs(30), "the server does not listen");
            std::thread::sleep(Duration::from_millis(20));
        }
        server
    }
    fn connect(&self) -> UnixStream {
        let stream = UnixStream::connect(&self.1).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        stream
    }
    /// A session past start-up.
    fn session(&self, database: &str) -> UnixStream {
        let mut stream = self.connect();
        stream.write_all(&startup(database)).unwrap();
        until_ready(&mut stream);
        stream
    }
}
impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn command(folder: &Folder, flags: &[&str]) -> Command {
    let mut command = Command::new(BINARY);
    command.args(flags).arg("--no-tcp").arg("--socket-dir").arg(&folder.0);
    command
}

fn startup(database: &str) -> Vec<u8> {
    let body = format!("\0\x03\0\0user\0u\0database\0{database}\0\0");
    let mut packet = (body.len() as u32 + 4).to_be_bytes().to_vec();
    packet.extend_from_slice(body.as_bytes());
    packet
}

fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut message = vec![kind];
    message.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
    message.extend_from_slice(body);
    message
}

fn receive(stream: &mut UnixStream) -> (u8, Vec<u8>) {
    let mut head = [0; 5];
    stream.read_exact(&mut head).unwrap();
    let mut body = vec![0; u32::from_be_bytes(head[1..].try_into().unwrap()) as usize - 4];
    stream.read_exact(&mut body).unwrap();
    (head[0], body)
}

fn until_ready(stream: &mut UnixStream) -> Vec<(u8, Vec<u8>)> {
    let mut messages = Vec::new();
    loop {
        messages.push(receive(stream));
        if messages.last().unwrap().0 == b'Z' {
            return messages;
        }
    }
}

/// Field `code` of an ErrorResponse.
fn field(body: &[u8], code: u8) -> String {
    let found = body.split(|&b| b == 0).find(|f| f.first() == Some(&code));
    String::from_utf8_lossy(&found.expect("the field is there")[1..]).into_owned()
}

fn query(stream: &mut UnixStream, text: &[u8]) -> Vec<(u8, Vec<u8>)> {
    stream.write_all(&message(b'Q', &[text, b"\0"].concat())).unwrap();
    until_ready(stream)
}

fn assert_answers(stream: &mut UnixStream) {
    let kinds: Vec<u8> = query(stream, b"SELECT 1").iter().map(|m| m.0).collect();
    assert_eq!(kinds, b"TDCZ");
}

#[test]
fn malformed_messages_end_their_session_only() {
    let folder = Folder::new();
    let server = Server::start(&folder, &["--in-memory"]);
    let mut bystander = server.session("main");
    // too short, 1 GiB, negative (PostgreSQL closes these three without a word: we say why), unknown type (as PostgreSQL)
    for bytes in [&b"Q\0\0\0\x03"[..], b"Q\x40\0\0\0", b"Q\xff\xff\xff\xff", b"z\0\0\0\x04"] {
        let mut stream = server.session("main");
        stream.write_all(bytes).unwrap();
        let (kind, body) = receive(&mut stream);
        assert_eq!((kind, field(&body, b'S').as_str(), field(&body, b'C').as_str()), (b'E', "FATAL", "08P01"));
        assert_eq!(stream.read(&mut [0]).unwrap(), 0, "the connection is closed");
        assert_answers(&mut bystander);
    }
    // half a message, then gone; a query whose client does not wait for the answer
    server.session("main").write_all(b"Q\0\0\0\x20SEL").unwrap();
    let many = b"SELECT repeat('x', 1000) FROM generate_series(1, 100000)\0";
    server.session("main").write_all(&message(b'Q', many)).unwrap();
    assert_answers(&mut bystander);
}

#[test]
fn bad_text_is_an_error_of_its_statement() {
    let folder = Folder::new();
    let server = Server::start(&folder, &["--in-memory"]);
    let mut stream = server.session("main");
    let nested = ["SELECT ".to_string(), "(".repeat(10_000), "1".into(), ")".repeat(10_000)].concat();
    for (text, code) in [(&b"SELECT '\xff'"[..], "22021"), (nested.as_bytes(), "54001")] {
        let answer = query(&mut stream, text);
        assert_eq!((answer[0].0, field(&answer[0].1, b'C').as_str()), (b'E', code));
        assert_answers(&mut stream);
    }
}

#[test]
fn an_unknown_database_is_3d000() {
    let folder = Folder::new();
    let server = Server::start(&folder, &["--data-dir", folder.0.to_str().unwrap()]);
    for name in ["nowhere", "../nowhere"] {
        let mut stream = server.connect();
        stream.write_all(&startup(name)).unwrap();
        let (kind, body) = receive(&mut stream);
        assert_eq!((kind, field(&body, b'C').as_str()), (b'E', "3D000"));
        assert_eq!(field(&body, b'M'), format!("database \"{name}\" does not exist"));
    }
}

fn refused(output: Output) -> String {
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(text.lines().count(), 1, "one line: {text}");
    text
}

#[test]
fn what_cannot_be_served_is_refused_in_a_line() {
    let folder = Folder::new();
    let file = folder.0.join("a.db");
    let flags = ["--database", file.to_str().unwrap()];
    let _server = Server::start(&folder, &flags);
    refused(command(&folder, &flags).output().unwrap());
    let other = Folder::new();
    refused(command(&other, &flags).output().unwrap());
    let text = other.0.join("text.db");
    std::fs::write(&text, "certainly not a database").unwrap();
    let said = refused(command(&other, &["--database", text.to_str().unwrap()]).output().unwrap());
    assert!(said.contains("is not a SQLite database"), "{said}");
    assert_eq!(std::fs::read_to_string(&text).unwrap(), "certainly not a database");
}
