//! What all connections of a server share.

use crate::config::Config;
use crate::databases::Registry;
use crate::entrance::{Entrance, Visitor};
use crate::failed_logins::FailedLogins;
use crate::hba::{Maps, Rules};
use crate::tls::Tls;
use parking_lot::{Mutex, RwLock};
use pgsqlite_engine::session::{CancelHandle, HbaFileRule, Host, HostHandle, IdentFileMapping};
use pgsqlite_types::{PgError, Result, SqlState};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::sync::{Notify, Semaphore};

/// What all connections share.
pub struct Shared {
    pub config: Config,
    pub databases: Registry,
    pub tls: Option<Tls>,
    /// what SHOW says of the configuration
    pub settings: Arc<[(&'static str, String)]>,
    /// pid → (secret, how to cancel)
    pub sessions: Mutex<HashMap<i32, (i32, CancelHandle)>>,
    /// who may come in
    pub(crate) rules: RwLock<Arc<Rules>>,
    /// which users of the operating system and of certificates may be which role; None: there is no file of it
    pub(crate) maps: RwLock<Option<Arc<Maps>>>,
    /// asks for the rules to be read again
    pub(crate) reload: Arc<Notify>,
    /// clients that have not been let in yet
    pub entrance: Arc<Entrance>,
    /// accepted sockets: those that have not said who they are, too
    pub(crate) sockets: AtomicUsize,
    /// clients that have a place
    pub(crate) places: AtomicUsize,
    /// clients that replicate, which have places of their own
    pub(crate) senders: AtomicUsize,
    pub(crate) next_pid: AtomicI32,
    pub started: std::time::Instant,
    pub failed_logins: FailedLogins,
    /// for the salts of users that do not exist
    pub mock_secret: [u8; 16],
    /// random, too, and no secret: clients may be told it (in what only this run of the server can have given them)
    pub run_mark: u64,
    /// for sessions that want a thread of their own
    pub threads: Arc<Semaphore>,
    pub(crate) stopping: tokio::sync::watch::Sender<bool>,
    pub(crate) abandoned: tokio::sync::watch::Sender<bool>,
}

/// One of `max_connections` places, given back when dropped.
pub struct Place {
    shared: Arc<Shared>,
    /// one of the last, which are kept for superusers
    pub is_reserved: bool,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.shared.places.fetch_sub(1, Ordering::AcqRel);
    }
}

/// One of `max_wal_senders` places, given back when dropped.
pub struct SenderPlace(Arc<Shared>);

impl Drop for SenderPlace {
    fn drop(&mut self) {
        self.0.senders.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Shared {
    /// A place among those who replicate; None: all are taken.
    pub fn take_sender_place(self: &Arc<Self>) -> Option<SenderPlace> {
        let most = self.config.max_wal_senders;
        let taken = self.senders.fetch_update(Ordering::AcqRel, Ordering::Acquire, |n| (n < most).then_some(n + 1));
        taken.ok().map(|_| SenderPlace(self.clone()))
    }

    /// The error for who gets none of them.
    pub fn no_sender_place(&self) -> PgError {
        let most = self.config.max_wal_senders;
        let message = format!("number of requested standby connections exceeds max_wal_senders (currently {most})");
        let error = PgError::new(SqlState::TOO_MANY_CONNECTIONS, message).fatal();
        match most {
            0 => error.hint("Start the server with --max-wal-senders 10, so that standbys can follow it."),
            _ => error,
        }
    }

    /// Who may come in.
    pub fn rules(&self) -> Arc<Rules> {
        self.rules.read().clone()
    }

    /// The maps that rules name; None: there are none.
    pub fn maps(&self) -> Option<Arc<Maps>> {
        self.maps.read().clone()
    }

    /// Whom sessions ask for what is the server's.
    pub fn host(self: &Arc<Self>) -> HostHandle {
        HostHandle(Some(Arc::new(ServerHost(Arc::downgrade(self)))))
    }

    /// Resolves when a session has called `pg_reload_conf()`.
    pub async fn reload_requested(&self) {
        self.reload.notified().await;
    }

    /// From now on these rules count.
    pub fn set_rules(&self, rules: Rules) {
        *self.rules.write() = Arc::new(rules);
    }

    /// From now on these maps count.
    pub fn set_maps(&self, maps: Maps) {
        *self.maps.write() = Some(Arc::new(maps));
    }

    pub fn new_pid(&self) -> i32 {
        self.next_pid.fetch_add(1, Ordering::Relaxed)
    }

    /// A place among the connections; None: all are taken.
    pub fn take_place(self: &Arc<Self>) -> Option<Place> {
        let most = self.config.max_connections;
        let taken =
            self.places.fetch_update(Ordering::AcqRel, Ordering::Acquire, |n| (n < most).then_some(n + 1)).ok()?;
        Some(Place {
            shared: self.clone(),
            is_reserved: taken >= most.saturating_sub(self.config.reserved_connections),
        })
    }

    /// Resolves when the server begins to stop.
    pub async fn stopped(&self) {
        // the sender lives in `self`: waiting cannot fail
        let _ = self.stopping.subscribe().wait_for(|stopping| *stopping).await;
    }

    /// Resolves when sessions that neither read nor write any more are given up.
    pub async fn abandoned(&self) {
        let _ = self.abandoned.subscribe().wait_for(|abandoned| *abandoned).await;
    }
}

/// The server as its sessions ask it. (A session may outlive it by a moment.)
struct ServerHost(Weak<Shared>);

impl Host for ServerHost {
    fn reload(&self) {
        if let Some(shared) = self.0.upgrade() {
            shared.reload.notify_one();
        }
    }
    fn hba_file_rules(&self) -> Result<Vec<HbaFileRule>> {
        self.0.upgrade().map_or(Ok(vec![]), |shared| shared.rules().shown())
    }
    fn ident_file_mappings(&self) -> Result<Vec<IdentFileMapping>> {
        self.0.upgrade().and_then(|shared| shared.maps()).map_or(Ok(vec![]), |maps| maps.shown())
    }
}

impl Shared {
    /// Tells all sessions to end, until none is left (true) or time is up.
    pub(crate) async fn all_gone(&self, limit: Duration, tell: impl Fn(&CancelHandle)) -> bool {
        let deadline = tokio::time::Instant::now() + limit;
        // short at first, for most sessions are idle
        let mut pause = Duration::from_millis(1);
        loop {
            self.sessions.lock().values().for_each(|(_, cancel)| tell(cancel));
            if self.sockets.load(Ordering::Acquire) == 0 {
                return true;
            }
            let now = tokio::time::Instant::now();
            if now >= deadline {
                return false;
            }
            tokio::time::sleep_until((now + pause).min(deadline)).await;
            pause = (pause * 2).min(Duration::from_millis(100));
        }
    }
}

impl Shared {
    /// A client that has come. There may be as many who have not been let in as there are places.
    pub fn visitor(&self, address: Option<SocketAddr>, uid: Option<u32>) -> Visitor {
        self.entrance.enter(address, uid, self.config.max_connections.max(16))
    }

    /// Serves an accepted socket, of whatever protocol, in a task that shutting down waits for.
    pub fn spawn(self: &Arc<Self>, serving: impl std::future::Future<Output = ()> + Send + 'static) {
        self.sockets.fetch_add(1, Ordering::AcqRel);
        let open = Open { shared: self.clone() };
        // boxed: an async block keeps room for what it is given beside the room for it while it runs
        // what a session allocates is its own
        let serving = Box::pin(pgsqlite_memory::Account::new().track(serving));
        tokio::spawn(async move {
            let _open = open;
            serving.await;
        });
    }
}

/// An accepted socket that is counted until its task ends, however it ends.
struct Open {
    shared: Arc<Shared>,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.shared.sockets.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Running out of descriptors must not become a busy loop.
pub async fn pause_after(e: std::io::Error) {
    tracing::warn!("accept: {e}");
    tokio::time::sleep(Duration::from_millis(100)).await;
}
