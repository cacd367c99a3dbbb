//! What the tests share: a folder, a server process, a client that speaks the protocol byte by byte.
//!
//! The client knows no more than framing, so that a test can send anything and see everything. Every read has a time limit:
//! a server that does not answer fails the test instead of hanging it.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Longer than anything here takes on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A folder of its own for one test, removed at its end.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new() -> Folder {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("pgsqlite-server-test-{}-{n}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
    pub fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_string()
    }
    /// The names in it, sorted.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> =
            std::fs::read_dir(&self.0).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}
impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The binary with these arguments, and nothing of pgsqlite in the environment.
pub fn pgsqlite(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pgsqlite"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("PGSQLITE_") {
            command.env_remove(name);
        }
    }
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null());
    // the log is for who looks at a failure: TEST_LOG=1 cargo test …
    if std::env::var_os("TEST_LOG").is_none() {
        command.stderr(Stdio::null());
    }
    command
}

/// `pgsqlite` on a Unix socket in `folder` only.
pub fn unix_only(folder: &Folder, flags: &[&str]) -> Command {
    let mut command = pgsqlite(flags);
    command.arg("--no-tcp").arg("--socket-dir").arg(&folder.0);
    command
}

/// Runs to the end, which must come by itself.
pub fn output(mut command: Command) -> Output {
    let mut process = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let begun = Instant::now();
    while process.try_wait().unwrap().is_none() {
        if begun.elapsed() > Duration::from_secs(10) {
            process.kill().unwrap();
            panic!("{command:?} goes on");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    process.wait_with_output().unwrap()
}

/// Must end with a failure and one line of text.
pub fn refused(command: Command) -> String {
    let output = output(command);
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert_eq!(text.trim_end().lines().count(), 1, "one line: {text}");
    text
}

/// A port that was free a moment ago.
pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// A server, killed when it goes out of scope.
pub struct Server {
    pub process: Child,
    pub socket: PathBuf,
    pub port: u16,
}

impl Server {
    /// On a Unix socket in `folder` only.
    pub fn start(folder: &Folder, flags: &[&str]) -> Server {
        Server::spawn(unix_only(folder, flags), folder.0.join(".s.PGSQL.5432"), 5432)
    }
    /// Also on a TCP port of 127.0.0.1.
    pub fn start_tcp(folder: &Folder, flags: &[&str]) -> Server {
        let port = free_port();
        let mut command = pgsqlite(flags);
        command.args(["--host", "127.0.0.1", "--port", &port.to_string(), "--socket-dir"]).arg(&folder.0);
        Server::spawn(command, folder.0.join(format!(".s.PGSQL.{port}")), port)
    }
    /// Any command that makes a server listen on `socket`.
    pub fn spawn(mut command: Command, socket: PathBuf, port: u16) -> Server {
        let mut process = command.spawn().unwrap();
        let begun = Instant::now();
        while UnixStream::connect(&socket).is_err() {
            if let Some(status) = process.try_wait().unwrap() {
                panic!("the server ended: {status}");
            }
            assert!(begun.elapsed() < PATIENCE, "the server does not listen");
            std::thread::sleep(Duration::from_millis(5));
        }
        Server { process, socket, port }
    }
    /// A connection before its first packet.
    pub fn connect(&self) -> Client {
        Client::new(UnixStream::connect(&self.socket).unwrap())
    }
    pub fn connect_tcp(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }
    /// A session past start-up.
    pub fn session(&self) -> Client {
        self.session_in("main")
    }
    pub fn session_in(&self, database: &str) -> Client {
        let mut client = self.connect();
        client.send(&startup(&[("user", "postgres"), ("database", database)]));
        client.until_ready();
        client
    }
    pub fn signal(&self, name: &str) {
        let kill = format!("kill -{name} {}", self.process.id());
        assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
    }
    /// Waits for the process to end by itself.
    pub fn ended(&mut self) -> ExitStatus {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.process.try_wait().unwrap() {
                return status;
            }
            assert!(begun.elapsed() < PATIENCE, "the server does not stop");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    /// SIGTERM, and a clean end.
    pub fn stop(mut self) {
        self.signal("TERM");
        assert_eq!(self.ended().code(), Some(0));
    }
    /// Resident memory in KiB.
    pub fn resident(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id())).unwrap();
        let line = status.lines().find(|l| l.starts_with("VmRSS:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }
}
impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

// --- messages ------------------------------------------------------------------------------------------------------------

/// A start-up packet of protocol 3.0.
pub fn startup(parameters: &[(&str, &str)]) -> Vec<u8> {
    let mut body = vec![0, 3, 0, 0];
    for (name, value) in parameters {
        body.extend_from_slice(format!("{name}\0{value}\0").as_bytes());
    }
    body.push(0);
    packet(&body)
}

/// A packet without a type: a length, then this.
pub fn packet(body: &[u8]) -> Vec<u8> {
    [&(body.len() as u32 + 4).to_be_bytes()[..], body].concat()
}

pub fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    [&[kind][..], &packet(body)].concat()
}

pub fn query(text: &str) -> Vec<u8> {
    message(b'Q', format!("{text}\0").as_bytes())
}

pub fn parse(name: &str, text: &str) -> Vec<u8> {
    message(b'P', format!("{name}\0{text}\0\0\0").as_bytes())
}

/// Bind with text parameters and text results.
pub fn bind(portal: &str, statement: &str, values: &[&str]) -> Vec<u8> {
    let mut body = format!("{portal}\0{statement}\0\0\0").into_bytes();
    body.extend_from_slice(&(values.len() as u16).to_be_bytes());
    for value in values {
        body.extend_from_slice(&(value.len() as u32).to_be_bytes());
        body.extend_from_slice(value.as_bytes());
    }
    body.extend_from_slice(&[0, 0]);
    message(b'B', &body)
}

pub fn execute(portal: &str, rows: u32) -> Vec<u8> {
    message(b'E', &[portal.as_bytes(), b"\0", &rows.to_be_bytes()].concat())
}

pub fn sync() -> Vec<u8> {
    message(b'S', b"")
}

// --- client --------------------------------------------------------------------------------------------------------------

pub trait Stream: Read + Write + Send {}
impl<T: Read + Write + Send> Stream for T {}

/// A message of the server: type and body.
pub type Message = (u8, Vec<u8>);

pub struct Client {
    pub stream: Box<dyn Stream>,
}

impl Client {
    pub fn new(stream: UnixStream) -> Client {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        Client { stream: Box::new(stream) }
    }
    pub fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }
    pub fn receive(&mut self) -> Message {
        let mut head = [0; 5];
        self.stream.read_exact(&mut head).unwrap();
        let mut body = vec![0; u32::from_be_bytes(head[1..].try_into().unwrap()) as usize - 4];
        self.stream.read_exact(&mut body).unwrap();
        (head[0], body)
    }
    pub fn until_ready(&mut self) -> Vec<Message> {
        let mut messages = Vec::new();
        loop {
            messages.push(self.receive());
            match messages.last().unwrap() {
                (b'Z', _) => return messages,
                (b'E', body) if field(body, b'S') == "FATAL" => panic!("{}", error(body)),
                _ => {}
            }
        }
    }
    pub fn simple(&mut self, text: &str) -> Vec<Message> {
        self.send(&query(text));
        self.until_ready()
    }
    /// The rows of a simple query, as text, `NULL` for NULL.
    pub fn rows(&mut self, text: &str) -> Vec<Vec<String>> {
        let messages = self.simple(text);
        if let Some((_, body)) = messages.iter().find(|m| m.0 == b'E') {
            panic!("{text}: {}", error(body));
        }
        messages.iter().filter(|m| m.0 == b'D').map(|m| values(&m.1)).collect()
    }
    /// The single value of a simple query.
    pub fn value(&mut self, text: &str) -> String {
        let mut rows = self.rows(text);
        assert_eq!((rows.len(), rows[0].len()), (1, 1), "{text}");
        rows.remove(0).remove(0)
    }
    /// The SQLSTATE of a simple query that must fail, and leave the session ready.
    pub fn fails(&mut self, text: &str) -> String {
        let messages = self.simple(text);
        let (_, body) = messages.iter().find(|m| m.0 == b'E').unwrap_or_else(|| panic!("{text} did not fail"));
        field(body, b'C')
    }
    /// The next messages are an ErrorResponse of severity FATAL, and the end.
    pub fn told_to_go(&mut self) -> String {
        let (kind, body) = self.receive();
        assert_eq!((kind, field(&body, b'S').as_str()), (b'E', "FATAL"), "{}", error(&body));
        self.closed();
        field(&body, b'C')
    }
    pub fn closed(&mut self) {
        let mut rest = Vec::new();
        // a reset is an end, too
        if let Ok(n) = self.stream.read_to_end(&mut rest) {
            assert_eq!(n, 0, "the connection is closed, but for {rest:?}");
        }
    }
    /// The session is alive and answers rightly.
    pub fn is_served(&mut self) {
        assert_eq!(kinds(&self.simple("SELECT 1")), "TDCZ");
    }
}

/// The types of messages in a row.
pub fn kinds(messages: &[Message]) -> String {
    messages.iter().map(|m| m.0 as char).collect()
}

/// Field `code` of an ErrorResponse.
pub fn field(body: &[u8], code: u8) -> String {
    let found = body.split(|&b| b == 0).find(|f| f.first() == Some(&code));
    String::from_utf8_lossy(&found.unwrap_or_else(|| panic!("no field {}: {}", code as char, error(body)))[1..])
        .into_owned()
}

/// An ErrorResponse for people.
pub fn error(body: &[u8]) -> String {
    String::from_utf8_lossy(body).replace('\0', " ")
}

/// The values of a DataRow as text, `NULL` for NULL.
pub fn values(body: &[u8]) -> Vec<String> {
    let mut rest = &body[2..];
    let mut values = Vec::new();
    while let Some((head, tail)) = rest.split_first_chunk::<4>() {
        let length = i32::from_be_bytes(*head);
        let (value, tail) = tail.split_at(length.max(0) as usize);
        values.push(if length < 0 { "NULL".into() } else { String::from_utf8_lossy(value).into_owned() });
        rest = tail;
    }
    values
}

/// A file's bytes: what must not change.
pub fn bytes(path: impl AsRef<Path>) -> Vec<u8> {
    std::fs::read(path).unwrap()
}
