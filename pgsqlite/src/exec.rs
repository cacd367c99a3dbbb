//! `pgsqlite exec … -- COMMAND`: a server for one command, which leaves nothing behind.
//!
//! The server listens in a private folder (or on a free port, with `--tcp`); the command finds it by the variables that every client of
//! PostgreSQL knows. Signals are passed on, and pgsqlite ends as the command ends.

use crate::offline::told;
use anyhow::{Context as _, Result};
use clap::Args;
use pgsqlite_engine::database_copy::copy_file;
use pgsqlite_server::config::{Auth, Config, Databases};
use pgsqlite_server::Server;
use pgsqlite_storage::files::folder::make_empty;
use pgsqlite_storage::in_memory;
use pgsqlite_storage::vfs::open::leave_litestreams;
use std::fs::File;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use tokio::process::Command;
use tokio::signal::unix::{signal, Signal, SignalKind};

/// What a command line of the server, and the environment, say: its configuration and the level of its log.
pub type Configured = fn(&[&str]) -> Result<Config>;

/// The port of the socket's name, where nothing else is.
const PORT: u16 = 5432;
const PREFIX: &str = "pgsqlite-exec-";
/// A socket's path may have 107 bytes.
const LONGEST_FOLDER: usize = 80;
/// As of `env` and other programs that start one: the command was not found, could not be started, and pgsqlite itself failed.
const NOT_FOUND: u8 = 127;
const NOT_STARTED: u8 = 126;
const OWN_FAILURE: u8 = 125;

/// Run a command with a database of its own, and exit with its exit code
///
/// The command finds the server by PGHOST, PGPORT, PGUSER, PGDATABASE and DATABASE_URL. Without --database or --template the database is
/// new, in memory, and gone at the end, and the command may create other databases. The exit code is the command's, 128 + n if signal n ended it, 125 if the server could not be
/// started, and 126 or 127 if the command could not.
#[derive(Args, Debug)]
pub struct ExecCommand {
    /// Serve this file, and keep what the command changes
    #[arg(long, value_name = "FILE", conflicts_with = "template")]
    database: Option<PathBuf>,
    /// Serve a private copy of this file, which stays as it is
    #[arg(long, value_name = "FILE")]
    template: Option<PathBuf>,
    /// Listen on a free port of localhost, for programs that cannot use Unix sockets (other users of the machine can connect)
    #[arg(long)]
    tcp: bool,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<std::ffi::OsString>,
}

/// The folder of the socket, removed when dropped.
struct PrivateFolder {
    path: PathBuf,
    _lock: File,
}

impl PrivateFolder {
    /// `bytes`: how much it will have at first.
    fn new(bytes: u64) -> Result<PrivateFolder> {
        let mut base = in_memory::base(bytes);
        if base.as_os_str().len() > LONGEST_FOLDER {
            base = "/tmp".into();
        }
        remove_abandoned(&base);
        let path = base.join(format!("{PREFIX}{}", std::process::id()));
        let failed = || format!("cannot make the folder \"{}\"", path.display());
        // (left by a process of the same number, which is gone)
        let _ = std::fs::remove_dir_all(&path);
        std::fs::DirBuilder::new().mode(0o700).create(&path).with_context(failed)?;
        let lock = File::create(path.join("lock")).with_context(failed)?;
        lock.lock().with_context(failed)?;
        Ok(PrivateFolder { path, _lock: lock })
    }
}

impl Drop for PrivateFolder {
    fn drop(&mut self) {
        if let Err(e) = std::fs::remove_dir_all(&self.path) {
            eprintln!("pgsqlite: the folder {} is left: {e}", self.path.display());
        }
    }
}

/// Removes the folders of those that were killed: the process is gone, and nobody holds the lock.
fn remove_abandoned(base: &Path) {
    for entry in std::fs::read_dir(base).into_iter().flatten().flatten() {
        if in_memory::is_gone(&entry.file_name().to_string_lossy(), PREFIX) {
            let abandoned = File::open(entry.path().join("lock")).is_ok_and(|file| file.try_lock().is_ok());
            if abandoned {
                let _ = std::fs::remove_dir_all(entry.path());
            }
        }
    }
}

/// The signals that the command gets in place of pgsqlite.
struct Signals([(i32, Signal); 6]);

impl Signals {
    fn new() -> std::io::Result<Signals> {
        let one = |number: i32| signal(SignalKind::from_raw(number)).map(|signal| (number, signal));
        Ok(Signals([
            one(libc::SIGTERM)?,
            one(libc::SIGINT)?,
            one(libc::SIGHUP)?,
            one(libc::SIGQUIT)?,
            one(libc::SIGUSR1)?,
            one(libc::SIGUSR2)?,
        ]))
    }

    async fn next(&mut self) -> i32 {
        let [a, b, c, d, e, f] = &mut self.0;
        tokio::select! {
            _ = a.1.recv() => a.0,
            _ = b.1.recv() => b.0,
            _ = c.1.recv() => c.0,
            _ = d.1.recv() => d.0,
            _ = e.1.recv() => e.0,
            _ = f.1.recv() => f.0,
        }
    }
}

/// Whether the terminal has sent the signal to the command, too: it sends Ctrl-C and Ctrl-\ to all in the foreground.
fn came_from_terminal(number: i32) -> bool {
    // SAFETY: asks for numbers; without a terminal the first is -1.
    matches!(number, libc::SIGINT | libc::SIGQUIT) && unsafe { libc::tcgetpgrp(libc::STDIN_FILENO) == libc::getpgrp() }
}

/// What is written into a URL.
fn percent(text: &str) -> String {
    let plain = |b: &u8| b.is_ascii_alphanumeric() || b"-._~".contains(b);
    text.bytes().map(|b| if plain(&b) { (b as char).to_string() } else { format!("%{b:02X}") }).collect()
}

impl ExecCommand {
    /// How the server is to be: as the flags and the environment say, where this command says nothing.
    fn config(&self, folder: &Path, configured: Configured) -> Result<Config> {
        let place = folder.to_str().context("the temporary folder's name is no UTF-8")?;
        let words = ["pgsqlite", "--in-memory", "--auth", "trust", "--shutdown-timeout", "5", "--socket-dir", place];
        let mut config = configured(&words)?;
        self.database.iter().for_each(|file| leave_litestreams(file));
        config.databases = match (&self.database, &self.template) {
            (Some(file), _) => Databases::File(file.clone()),
            // a folder, in which the command can make other databases: tests of frameworks do
            (None, template) => {
                let file = folder.join(format!("{}.db", self.name()));
                match template {
                    Some(template) => copy_file(template, &file).map_err(told)?,
                    None => drop(make_empty(&file)?),
                }
                Databases::Directory(folder.to_path_buf())
            }
        };
        (config.host, config.tcp, config.port) = ("127.0.0.1".into(), self.tcp, if self.tcp { 0 } else { PORT });
        (config.auth, config.tls, config.tls_client_ca, config.require_tls) = (Some(Auth::Trust), None, None, false);
        (config.sqli_port, config.metrics_addr, config.status_addr) = (None, None, None);
        // (a file that Litestream replicates is known by its tables)
        config.checkpoints_left = false;
        config.standby = None;
        config.archive = None;
        config.lease = None;
        config.max_wal_senders = 0;
        Ok(config)
    }

    /// What the database is called.
    fn name(&self) -> String {
        let file = self.database.as_ref().or(self.template.as_ref());
        file.and_then(|f| f.file_stem()).map_or("main".into(), |s| s.to_string_lossy().into_owned())
    }

    /// The command, which finds the server.
    fn command(&self, folder: &Path, port: u16, user: &str) -> Command {
        let mut command = Command::new(&self.command[0]);
        command.args(&self.command[1..]);
        let database = self.name();
        // what says otherwise where to connect, or how
        for name in ["PGHOSTADDR", "PGSERVICE", "PGSSLMODE", "PGREQUIRESSL", "PGCHANNELBINDING", "PGREQUIREAUTH"] {
            command.env_remove(name);
        }
        let (user_part, database_part) = (percent(user), percent(&database));
        let folder = folder.to_string_lossy();
        let (host, url) = if self.tcp {
            ("127.0.0.1".to_string(), format!("postgresql://{user_part}@127.0.0.1:{port}/{database_part}"))
        } else {
            // (no host before the path: a client that overlooks the parameter must not come to another server)
            let url = format!("postgresql://{user_part}@/{database_part}?host={}&port={port}", percent(&folder));
            (folder.into_owned(), url)
        };
        command.env("PGHOST", host).env("PGPORT", port.to_string()).env("PGUSER", user).env("PGDATABASE", database);
        command.env("DATABASE_URL", url);
        #[cfg(target_os = "linux")]
        // SAFETY: one system call, which may be made between fork and exec: the command does not outlive a pgsqlite that is killed.
        unsafe {
            command.pre_exec(|| {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM);
                Ok(())
            });
        }
        command
    }
}

/// Serves the command to its end.
async fn serve(exec: &ExecCommand, folder: &Path, configured: Configured) -> Result<ExitCode> {
    let mut signals = Signals::new().context("signal handlers")?;
    let config = exec.config(folder, configured)?;
    let server = Server::start(config).await.map_err(told)?;
    let user = server.bootstrap_role(&exec.name()).map_err(told)?;
    let port = server.config().port;
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let serving = tokio::spawn(server.run(async {
        let _ = stopped.await;
    }));
    let name = exec.command[0].to_string_lossy();
    let code = match exec.command(folder, port, &user).spawn() {
        Err(e) => {
            eprintln!("pgsqlite: cannot start {name}: {e}");
            let missing = e.kind() == std::io::ErrorKind::NotFound;
            Ok(ExitCode::from(if missing { NOT_FOUND } else { NOT_STARTED }))
        }
        Ok(mut child) => loop {
            tokio::select! {
                ended = child.wait() => break ended.context("the command").map(|status| {
                    let number = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
                    ExitCode::from(number as u8)
                }),
                number = signals.next() => {
                    if let Some(pid) = child.id().filter(|_| !came_from_terminal(number)) {
                        // SAFETY: a child that has not been waited for: the number is nobody else's.
                        unsafe { libc::kill(pid as i32, number) };
                    }
                }
            }
        },
    };
    let _ = stop.send(());
    tokio::time::timeout(Duration::from_secs(15), serving)
        .await
        .context("the server did not stop in time")?
        .context("the server")?
        .map_err(told)?;
    code
}

/// Runs the command. The exit code is its own.
pub async fn run(exec: ExecCommand, configured: Configured) -> ExitCode {
    let ended = async {
        let bytes = exec.template.as_ref().and_then(|file| file.metadata().ok()).map_or(0, |m| m.len());
        let folder = PrivateFolder::new(bytes)?;
        serve(&exec, &folder.path, configured).await
    };
    ended.await.unwrap_or_else(|e| {
        eprintln!("pgsqlite: {e:#}");
        ExitCode::from(OWN_FAILURE)
    })
}
