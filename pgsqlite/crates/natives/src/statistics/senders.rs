//! Connections over which standbys follow the server: the rows of pg_stat_replication.

use parking_lot::Mutex;
use pgsqlite_types::Oid;
use std::net::SocketAddr;
use std::sync::Arc;

/// What is done for a standby, as pg_stat_replication shows it (`state`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Phase {
    /// It has not asked for anything yet.
    #[default]
    Startup,
    /// It is sent what was committed before, or a copy of the whole database.
    Catchup,
    /// It is sent what is committed.
    Streaming,
    /// The server stops.
    Stopping,
}

impl Phase {
    /// The word that pg_stat_replication shows.
    pub fn name(self) -> &'static str {
        match self {
            Phase::Startup => "startup",
            Phase::Catchup => "catchup",
            Phase::Streaming => "streaming",
            Phase::Stopping => "stopping",
        }
    }
}

/// One such connection.
#[derive(Debug)]
pub struct Sender {
    /// the process number of its session
    pub pid: i32,
    /// the database that is followed
    pub database: String,
    /// the role that follows
    pub user: String,
    pub user_oid: Oid,
    /// what the standby calls itself
    pub application_name: String,
    /// where it is; None: at the other end of a Unix socket
    pub client: Option<SocketAddr>,
    /// since when: microseconds since 2000-01-01 UTC, as all times here
    pub started: i64,
    /// how far it has come
    pub progress: Mutex<Sent>,
}

/// How far a standby has come. Places are bytes of the log; 0: none is known. Lags are microseconds.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sent {
    pub phase: Phase,
    pub sent: u64,
    pub written: u64,
    pub flushed: u64,
    pub replayed: u64,
    pub write_lag: Option<i64>,
    pub flush_lag: Option<i64>,
    pub replay_lag: Option<i64>,
    pub reply_time: Option<i64>,
}

impl Sender {
    /// How far it has come.
    pub fn progress(&self) -> Sent {
        *self.progress.lock()
    }

    /// Changes that.
    pub fn change(&self, change: impl FnOnce(&mut Sent)) {
        change(&mut self.progress.lock());
    }
}

/// All of them, in the order in which they came.
#[derive(Debug, Default)]
pub struct Senders(Mutex<Vec<Arc<Sender>>>);

impl Senders {
    /// Those that are there now.
    pub fn all(&self) -> Vec<Arc<Sender>> {
        self.0.lock().clone()
    }

    /// One that has come.
    pub fn add(&self, sender: Sender) -> Arc<Sender> {
        let sender = Arc::new(sender);
        self.0.lock().push(sender.clone());
        sender
    }

    /// One is gone.
    pub fn remove(&self, sender: &Arc<Sender>) {
        self.0.lock().retain(|other| !Arc::ptr_eq(other, sender));
    }
}
