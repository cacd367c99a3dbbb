//! What a session does now, for others to see: a row of pg_stat_activity.

use super::progress::Progress;
use parking_lot::Mutex;
use pgsqlite_types::Oid;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, AtomicU8, Ordering};
use std::sync::Arc;

/// What a session is in, as pg_stat_activity shows it (`state`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Active,
    Idle,
    IdleInTransaction,
    /// in a block that has failed
    IdleInFailedTransaction,
}

impl State {
    /// All states.
    pub const ALL: [State; 4] = [State::Active, State::Idle, State::IdleInTransaction, State::IdleInFailedTransaction];

    /// The word that pg_stat_activity shows.
    pub fn name(self) -> &'static str {
        match self {
            State::Active => "active",
            State::Idle => "idle",
            State::IdleInTransaction => "idle in transaction",
            State::IdleInFailedTransaction => "idle in transaction (aborted)",
        }
    }
}

/// What an active session waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Wait {
    Nothing,
    /// the writer slot
    Writer,
    /// its commit to be on disk
    Sync,
    /// a connection of the pool
    Pool,
    Advisory,
    Relation,
    /// the end of a transaction that has locked a row
    Transaction,
    /// `pg_sleep`
    Sleep,
    /// a lock of another program on the database file
    OtherProgram,
    /// a change of the primary to be applied
    Replay,
}

impl Wait {
    /// `wait_event_type` and `wait_event`: PostgreSQL's where it has one of this meaning.
    pub fn event(self) -> Option<(&'static str, &'static str)> {
        match self {
            Wait::Nothing => None,
            Wait::Writer | Wait::Transaction => Some(("Lock", "transactionid")),
            Wait::Sync => Some(("IO", "WALSync")),
            Wait::Pool => Some(("Extension", "ConnectionPool")),
            Wait::Advisory => Some(("Lock", "advisory")),
            Wait::Relation => Some(("Lock", "relation")),
            Wait::Sleep => Some(("Timeout", "PgSleep")),
            Wait::OtherProgram => Some(("Lock", "OtherProgram")),
            Wait::Replay => Some(("IPC", "WalReplay")),
        }
    }
}

/// The TLS of a client's connection, as pg_stat_ssl shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Encryption {
    /// `TLSv1.3`
    pub version: String,
    /// OpenSSL's name of the cipher suite
    pub cipher: String,
    /// of the cipher's key
    pub bits: i32,
    /// the subject of the client's certificate (`/CN=ada`)
    pub client: Option<String>,
    /// the number of the client's certificate, in decimal
    pub client_serial: Option<String>,
    /// who has issued the client's certificate
    pub issuer: Option<String>,
}

/// A session as others see it.
pub struct Activity {
    /// tells sessions apart, in the order in which they came
    pub number: u64,
    pub pid: i32,
    pub database: String,
    pub user: String,
    pub user_oid: Oid,
    pub client: Option<SocketAddr>,
    /// None: the connection is not encrypted
    pub encryption: Option<Arc<Encryption>>,
    /// microseconds since 2000-01-01 UTC, as all times here
    pub started: i64,
    wait: AtomicU8,
    /// when it began to wait for the writer slot
    waits_since: AtomicI64,
    writes: AtomicBool,
    /// its client is a standby
    replicates: AtomicBool,
    /// how often the client has begun to be silent, and has ended that: odd while it is
    silence: AtomicU64,
    live: Mutex<Live>,
    /// how far its command is, if that takes long
    progress: Mutex<Option<Arc<Progress>>>,
}

/// A silence of a client.
pub struct Silence<'a> {
    activity: &'a Activity,
    pub number: u64,
}

impl Drop for Silence<'_> {
    fn drop(&mut self) {
        self.activity.silence.store(self.number + 1, Ordering::Relaxed);
    }
}

/// What a session does now, as pg_stat_activity shows it.
#[derive(Debug, Clone)]
pub struct Live {
    /// the session does not want it to be seen (`track_activities`)
    pub hidden: bool,
    pub state: State,
    /// the running statement's text, or the last one's
    pub query: Arc<str>,
    pub query_start: Option<i64>,
    pub transaction_start: Option<i64>,
    /// how many transactions have begun
    pub transactions: u32,
    pub state_change: i64,
    pub application_name: Arc<str>,
    /// as pg_stat_statements names the statement
    pub query_id: Option<i64>,
}

impl Activity {
    /// The activity of a session that begins now (microseconds since 2000-01-01 UTC), idle.
    pub fn new(
        number: u64,
        pid: i32,
        database: &str,
        (user, user_oid): (&str, Oid),
        (client, encryption): (Option<SocketAddr>, Option<Arc<Encryption>>),
        now: i64,
    ) -> Activity {
        let live = Live {
            hidden: false,
            state: State::Idle,
            query: "".into(),
            query_start: None,
            transaction_start: None,
            transactions: 0,
            state_change: now,
            application_name: "".into(),
            query_id: None,
        };
        Activity {
            number,
            pid,
            database: database.into(),
            user: user.into(),
            user_oid,
            client,
            encryption,
            started: now,
            wait: AtomicU8::new(Wait::Nothing as u8),
            waits_since: AtomicI64::new(0),
            writes: AtomicBool::new(false),
            replicates: AtomicBool::new(false),
            silence: AtomicU64::new(0),
            live: Mutex::new(live),
            progress: Mutex::default(),
        }
    }

    /// How far the session's command is; None: it does nothing that is shown.
    pub fn progress(&self) -> Option<Arc<Progress>> {
        self.progress.lock().clone()
    }

    /// The command shows how far it is, until [`Activity::ends_progress`].
    pub fn begins_progress(&self, progress: &Arc<Progress>) {
        *self.progress.lock() = Some(progress.clone());
    }

    /// The command has ended.
    pub fn ends_progress(&self) {
        *self.progress.lock() = None;
    }

    /// Notes what the session waits for from now on.
    pub fn set_wait(&self, wait: Wait) {
        if matches!(wait, Wait::Writer | Wait::Transaction) {
            self.waits_since.store(pgsqlite_metadata::clock::now(), Ordering::Relaxed);
        }
        self.wait.store(wait as u8, Ordering::Relaxed);
    }

    /// When the wait for another's transaction began that it is in.
    pub fn waits_since(&self) -> i64 {
        self.waits_since.load(Ordering::Relaxed)
    }

    /// What the session waits for.
    pub fn wait(&self) -> Wait {
        let now = self.wait.load(Ordering::Relaxed);
        use Wait::*;
        [Writer, Sync, Pool, Advisory, Relation, Transaction, Sleep, OtherProgram, Replay]
            .into_iter()
            .find(|w| *w as u8 == now)
            .unwrap_or(Nothing)
    }

    /// The number of the client's silence; None: it has said something that is not yet answered.
    pub fn silence(&self) -> Option<u64> {
        let number = self.silence.load(Ordering::Relaxed);
        (number % 2 == 1).then_some(number)
    }

    /// Nothing is to be done until the client says something: its silence lasts until what is returned is dropped. By the session alone.
    pub fn fall_silent(&self) -> Silence<'_> {
        let number = self.silence.load(Ordering::Relaxed) | 1;
        self.silence.store(number, Ordering::Relaxed);
        Silence { activity: self, number }
    }

    /// The session has (or has no more) the writer slot of its database.
    pub fn set_writes(&self, writes: bool) {
        self.writes.store(writes, Ordering::Relaxed);
    }

    /// The client is a standby: the session is a WAL sender from now on.
    pub fn set_replicates(&self) {
        self.replicates.store(true, Ordering::Relaxed);
    }

    /// Whether the session is a WAL sender.
    pub fn replicates(&self) -> bool {
        self.replicates.load(Ordering::Relaxed)
    }

    /// Whether the session has the writer slot of its database.
    pub fn writes(&self) -> bool {
        self.writes.load(Ordering::Relaxed)
    }

    /// Its present state. Copies: nobody is held up.
    pub fn live(&self) -> Live {
        self.live.lock().clone()
    }

    /// A change of it; what the session was in before, and for how many microseconds.
    pub fn change(&self, now: i64, change: impl FnOnce(&mut Live)) -> (State, u64) {
        let mut live = self.live.lock();
        let before = live.state;
        change(&mut live);
        let lasted = now.saturating_sub(live.state_change).max(0) as u64;
        live.state_change = now;
        (before, lasted)
    }

    /// Notes what pg_stat_statements calls the statement.
    pub fn set_query_id(&self, query_id: i64) {
        self.live.lock().query_id = Some(query_id);
    }

    /// Notes the setting `application_name`.
    pub fn set_application_name(&self, name: &str) {
        let mut live = self.live.lock();
        if &*live.application_name != name {
            live.application_name = name.into();
        }
    }
}
