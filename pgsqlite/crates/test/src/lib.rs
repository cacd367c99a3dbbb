//! A PostgreSQL database for each test, by the program `pgsqlite`.
//!
//! ```no_run
//! use pgsqlite_test::{Server, Template};
//! use std::sync::OnceLock;
//!
//! fn template() -> &'static Template {
//!     static TEMPLATE: OnceLock<Template> = OnceLock::new();
//!     TEMPLATE.get_or_init(|| {
//!         Template::new(Server::shared(), |database| database.execute("CREATE TABLE books (title text)")).unwrap()
//!     })
//! }
//!
//! fn a_test() {
//!     let database = template().copy().unwrap();
//!     // tokio-postgres, sqlx, diesel: whatever takes a URL or libpq's words
//!     println!("{} {}", database.url(), database.conninfo());
//! }
//! ```
//!
//! The program is the one that `PGSQLITE_BIN` names, or that of the `PATH` (`cargo install`, a package). It ends with its standard input, and so with the
//! tests' process, however that ends. Its files are in memory where there is room.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// What went wrong: the server's message, or that of the operating system.
#[derive(Debug, Clone)]
pub struct Error(String);

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

impl From<std::io::Error> for Error {
    fn from(e: std::io::Error) -> Error {
        Error(e.to_string())
    }
}

const USER: &str = "postgres";

/// A running server with databases of its own. It stops, and its folder is gone, when it is dropped.
pub struct Server {
    process: Child,
    folder: PathBuf,
    next: AtomicU32,
}

/// The folder for what is gone at the end.
fn base() -> PathBuf {
    let shared = Path::new("/dev/shm");
    if shared.is_dir() {
        shared.to_path_buf()
    } else {
        std::env::temp_dir()
    }
}

impl Server {
    /// The server of the process, started with the first call. Its folder is removed by the tests of a later process, for a static is never dropped.
    /// Panics if it cannot be started: then no test can go on.
    pub fn shared() -> &'static Arc<Server> {
        static SHARED: OnceLock<Arc<Server>> = OnceLock::new();
        SHARED.get_or_init(|| Arc::new(Server::start().unwrap_or_else(|e| panic!("{e}"))))
    }

    /// Starts a server. Errors: what the program says, or that there is none.
    pub fn start() -> Result<Server, Error> {
        Server::start_program(std::env::var_os("PGSQLITE_BIN").unwrap_or_else(|| "pgsqlite".into()))
    }

    /// Starts a certain program.
    pub fn start_program(program: impl AsRef<std::ffi::OsStr>) -> Result<Server, Error> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let base = base();
        remove_abandoned(&base);
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder = base.join(format!("pgsqlite-test-crate-{}-{n}", std::process::id()));
        let databases = folder.join("databases");
        std::fs::DirBuilder::new().mode(0o700).recursive(true).create(&databases)?;
        let mut command = Command::new(program.as_ref());
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("PGSQLITE_")) {
            command.env_remove(name);
        }
        command.arg("--data-dir").arg(&databases).arg("--socket-dir").arg(&folder);
        command.args(["--no-tcp", "--auth", "trust", "--superuser", USER, "--stop-with-input"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let process = command.spawn().map_err(|e| {
            let _ = std::fs::remove_dir_all(&folder);
            let program = program.as_ref().to_string_lossy();
            Error(format!("cannot start {program}: {e} (put pgsqlite on the PATH, or name it in PGSQLITE_BIN)"))
        })?;
        let mut server = Server { process, folder, next: AtomicU32::new(1) };
        // (the first line comes when it listens)
        let mut line = String::new();
        if let Some(output) = server.process.stdout.take() {
            BufReader::new(output).read_line(&mut line)?;
        }
        if line.is_empty() {
            let mut said = String::new();
            if let Some(mut errors) = server.process.stderr.take() {
                errors.read_to_string(&mut said)?;
            }
            return Err(Error(format!("pgsqlite did not start: {}", said.trim())));
        }
        Ok(server)
    }

    /// The folder of the Unix socket, which clients take for the host.
    pub fn host(&self) -> &Path {
        &self.folder
    }

    /// Makes an empty database.
    pub fn create_database(self: &Arc<Self>, name: &str) -> Result<Database, Error> {
        self.run("postgres", &format!("CREATE DATABASE \"{}\"", name.replace('"', "\"\"")))?;
        Ok(Database { server: self.clone(), name: name.into(), _held: None })
    }

    /// A private copy of a database, in memory: gone with the value, once its sessions are.
    pub fn copy_of(self: &Arc<Self>, original: &str) -> Result<Database, Error> {
        let name = format!("{original}_{}", self.next.fetch_add(1, Ordering::Relaxed));
        let held = self.session(&name, &[("pgsqlite.clone", original)])?;
        Ok(Database { server: self.clone(), name, _held: Some(held) })
    }

    /// Opens a session. The protocol is that of PostgreSQL's manual, "Frontend/Backend Protocol".
    fn session(&self, database: &str, options: &[(&str, &str)]) -> Result<UnixStream, Error> {
        let mut stream = UnixStream::connect(self.folder.join(".s.PGSQL.5432"))?;
        stream.set_read_timeout(Some(Duration::from_secs(600)))?;
        let mut body = Vec::new();
        for (name, value) in [("user", USER), ("database", database)].iter().chain(options) {
            for word in [name, value] {
                body.extend_from_slice(word.as_bytes());
                body.push(0);
            }
        }
        body.push(0);
        let mut packet = (body.len() as u32 + 8).to_be_bytes().to_vec();
        packet.extend_from_slice(&196_608_u32.to_be_bytes());
        packet.extend_from_slice(&body);
        ask(&mut stream, &packet)?;
        Ok(stream)
    }

    fn run(&self, database: &str, statements: &str) -> Result<(), Error> {
        let mut stream = self.session(database, &[])?;
        let mut packet = vec![b'Q'];
        packet.extend_from_slice(&(statements.len() as u32 + 5).to_be_bytes());
        packet.extend_from_slice(statements.as_bytes());
        packet.push(0);
        ask(&mut stream, &packet)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let _ = self.process.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Removes the folders of processes that are gone.
fn remove_abandoned(base: &Path) {
    for entry in std::fs::read_dir(base).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let pid = name.strip_prefix("pgsqlite-test-crate-").and_then(|rest| rest.split('-').next().map(str::to_string));
        if pid.is_some_and(|pid| Path::new("/proc/self").exists() && !Path::new("/proc").join(pid).exists()) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

/// Sends a message, and reads until the server is ready.
fn ask(stream: &mut UnixStream, message: &[u8]) -> Result<(), Error> {
    stream.write_all(message)?;
    let mut told = None;
    loop {
        let mut head = [0; 5];
        if let Err(e) = stream.read_exact(&mut head) {
            return Err(told.unwrap_or_else(|| e.into()));
        }
        let [kind, length @ ..] = head;
        let mut body = vec![0; (u32::from_be_bytes(length) as usize).saturating_sub(4)];
        stream.read_exact(&mut body)?;
        match kind {
            b'Z' => return told.map_or(Ok(()), Err),
            b'E' => {
                let text = String::from_utf8_lossy(&body).into_owned();
                let message = text.split('\0').find_map(|field| field.strip_prefix('M'));
                told = told.or_else(|| message.map(|m| Error(m.into())));
            }
            _ => {}
        }
    }
}

/// A database of a server.
pub struct Database {
    server: Arc<Server>,
    name: String,
    /// the session that keeps a copy
    _held: Option<UnixStream>,
}

impl Database {
    pub fn name(&self) -> &str {
        &self.name
    }

    /// `postgresql://…`. There is no host before the path: a client that overlooks the parameter must not come to another server.
    pub fn url(&self) -> String {
        let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._~".contains(&b);
        let percent = |text: &str| -> String {
            text.bytes().map(|b| if plain(b) { (b as char).to_string() } else { format!("%{b:02X}") }).collect()
        };
        let host = percent(&self.server.folder.to_string_lossy());
        format!("postgresql://{USER}@/{}?host={host}&port=5432", percent(&self.name))
    }

    /// `host=… port=… user=… dbname=…`
    pub fn conninfo(&self) -> String {
        format!("host={} port=5432 user={USER} dbname={}", self.server.folder.display(), self.name)
    }

    /// Runs statements in a session of their own. Errors: the server's message.
    pub fn execute(&self, statements: &str) -> Result<(), Error> {
        self.server.run(&self.name, statements)
    }
}

/// A database that is made once, and copied for each test.
pub struct Template(Database);

impl Template {
    /// Makes a database and lets `migrate` fill it.
    pub fn new(server: &Arc<Server>, migrate: impl FnOnce(&Database) -> Result<(), Error>) -> Result<Template, Error> {
        let name = format!("template_{}", server.next.fetch_add(1, Ordering::Relaxed));
        let database = server.create_database(&name)?;
        migrate(&database)?;
        Ok(Template(database))
    }

    /// A private copy.
    pub fn copy(&self) -> Result<Database, Error> {
        self.0.server.copy_of(&self.0.name)
    }
}
