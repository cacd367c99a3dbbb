//! Which of several servers with one archive in a bucket is the primary: the one that has the lease (`--lease`).
//!
//! The rules are in `pgsqlite_replication::failover`. A thread asks for the lease and renews it. The archive's thread (`crate::archiving`) puts each group of commits before they are acknowledged,
//! and asks here whether they may be. A standby (`crate::standby`) that has got the lease reads the archive to its end and is promoted. A primary that has lost it ends all sessions and begins
//! again as a new process ([`begin_again`]), which drops what the archive has not ([`boot`]).

mod boot;

use crate::kept::{beside, Kept};
use parking_lot::Mutex;
use pgsqlite_cluster::service::Cluster;
use pgsqlite_natives::recovery::Standby;
use pgsqlite_replication::archive::{Archive, Made};
use pgsqlite_replication::failover::node::{Appended, Ask, Moment, Node, Role, Verdict};
use pgsqlite_replication::failover::{LeaseObject, Tag};
use pgsqlite_replication::place::Place;
use pgsqlite_storage::stream::Position;
use pgsqlite_types::{PgError, Result, SqlState};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What the flags say of the lease.
#[derive(Debug, Clone)]
pub struct LeaseConfig {
    /// for how long others leave it alone after it was renewed
    pub lasts: Duration,
    /// the name of this server
    pub node: String,
    /// where the archive is, for requests about the lease, which fail early
    pub place: Place,
    /// it may begin the archive, where there is nothing in it
    pub begins: bool,
    /// the cluster that keeps the archive: the primary's node had better lead it
    pub cluster: Option<Arc<Cluster>>,
}

/// The longest lease: what is removed from an archive has been there for much longer.
pub const LONGEST: Duration = Duration::from_secs(60);
/// Between two attempts to put an entry.
const AGAIN: Duration = Duration::from_millis(50);
/// Between two looks at what is asked for.
const TICK: Duration = Duration::from_millis(20);
/// A deposed primary that has not ended by then is ended.
const LAST: Duration = Duration::from_secs(10);
/// What a bucket answers while it does not answer as it should is logged so often. (The texts differ: they say how long it took.)
const OFTEN: Duration = Duration::from_secs(10);

/// A server of this process has lost its lease.
static DEPOSED: AtomicBool = AtomicBool::new(false);

/// Somebody has told the process to end.
static STOPS: AtomicBool = AtomicBool::new(false);

/// The process is to end: if its server loses a lease now, it does not begin again.
pub fn stops() {
    STOPS.store(true, Ordering::Release);
}

/// The file beside a database that asks its primary to leave the cluster.
pub fn leave_file(database: &Path) -> PathBuf {
    beside(database, ".leave")
}

/// Whether the process is to end.
pub fn is_stopping() -> bool {
    STOPS.load(Ordering::Acquire)
}

/// Whether this process has lost a lease, and is to begin again.
pub fn is_deposed() -> bool {
    DEPOSED.load(Ordering::Acquire)
}

/// The time of a clock that never goes back and runs while the machine sleeps.
fn clock() -> Moment {
    #[cfg(target_os = "linux")]
    const CLOCK: libc::clockid_t = libc::CLOCK_BOOTTIME;
    #[cfg(not(target_os = "linux"))]
    const CLOCK: libc::clockid_t = libc::CLOCK_MONOTONIC;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes to a struct of this function.
    unsafe { libc::clock_gettime(CLOCK, &mut time) };
    Duration::new(time.tv_sec.max(0) as u64, time.tv_nsec.clamp(0, 999_999_999) as u32)
}

/// The name of this machine.
pub fn machine() -> String {
    let mut name = [0u8; 256];
    // SAFETY: writes to an array of this function, whose last byte stays zero.
    unsafe { libc::gethostname(name.as_mut_ptr().cast(), name.len() - 1) };
    let end = name.iter().position(|byte| *byte == 0).unwrap_or(0);
    match String::from_utf8_lossy(&name[..end]) {
        name if name.is_empty() => "pgsqlite".to_string(),
        name => name.into_owned(),
    }
}

/// Takes the place of this process by a new one with the same arguments. Returns why that was not possible.
pub fn begin_again() -> std::io::Error {
    use std::os::unix::process::CommandExt;
    // (a program that was replaced has another name now)
    let running = std::env::current_exe().ok().filter(|path| path.exists());
    let program = running.unwrap_or_else(|| std::env::args_os().next().unwrap_or_default().into());
    std::process::Command::new(program).args(std::env::args_os().skip(1)).exec()
}

/// The error of a commit of which nobody knows whether others have it.
pub fn unknown() -> PgError {
    PgError::new(
        SqlState::TRANSACTION_RESOLUTION_UNKNOWN,
        "the server has lost its lease: it is not known whether the transaction was committed",
    )
    .fatal()
    .hint("Connect again, and look.")
}

fn failed(error: &pgsqlite_replication::Error) -> PgError {
    PgError::new(SqlState::IO_ERROR, error.to_string())
}

/// The end of an archive, after the first entry of a standby that was promoted.
#[derive(Debug, Clone, Copy)]
pub struct Begun {
    /// the number of that entry
    pub last: u64,
    /// when it was written
    pub time: i64,
    /// all of the log that is in the archive, counted from its beginning
    pub lsn: u64,
    /// where that is in the file's log
    pub position: Position,
}

/// The lease of a server's database, and this server's part in it.
pub struct Failover {
    node: Mutex<Node<Tag>>,
    object: LeaseObject,
    /// until when the server leads, as milliseconds of the clock; 0: it does not
    until: AtomicU64,
    /// what becomes a primary with the lease
    standby: Arc<Standby>,
    /// it may take the lease
    may_take: AtomicBool,
    /// it gives the lease away, or ends
    ends: AtomicBool,
    /// since when it leads
    since: Mutex<Option<Moment>>,
    cluster: Option<Arc<Cluster>>,
    reported: Mutex<Option<Instant>>,
    deposed: tokio::sync::watch::Sender<bool>,
    /// the process whose work this one goes on with; 0: none
    before: u64,
    database: PathBuf,
    /// where a standby that was promoted has begun to write
    begun: Mutex<Option<Begun>>,
}

impl Failover {
    fn new(
        config: &LeaseConfig,
        (database, name): (&Path, &str),
        standby: Arc<Standby>,
        (nonce, before): (u64, u64),
    ) -> Result<Failover> {
        let place = config.place.within(name).map_err(|e| failed(&e))?;
        let object = LeaseObject::at(&place).map_err(|e| failed(&e))?;
        let node = Node::new(&config.node, nonce, config.lasts);
        Ok(Failover {
            node: Mutex::new(if before == 0 { node } else { node.resumes(before) }),
            object,
            until: AtomicU64::new(0),
            standby,
            may_take: AtomicBool::new(false),
            ends: AtomicBool::new(false),
            since: Mutex::new(None),
            cluster: config.cluster.clone(),
            reported: Mutex::new(None),
            deposed: tokio::sync::watch::Sender::new(false),
            before,
            database: database.to_path_buf(),
            begun: Mutex::new(None),
        })
    }

    /// The number by which others know this process, and that of the one whose work it goes on with.
    pub fn process(&self) -> (u64, u64) {
        (self.node.lock().nonce(), self.before)
    }

    /// Whether this process has a node of the cluster that keeps the archive, which is asked cheaply.
    pub fn is_in_cluster(&self) -> bool {
        self.cluster.is_some()
    }

    /// What the server is.
    pub fn role(&self) -> Role {
        self.node.lock().role()
    }

    /// Whether it leads, so that it may show what it has.
    pub fn leads(&self) -> bool {
        match self.until.load(Ordering::Acquire) {
            0 => false,
            until => (clock().as_millis() as u64) < until,
        }
    }

    /// The number of the lease's holder, as it was seen last; 0: there was none.
    pub fn epoch(&self) -> u64 {
        self.node.lock().lease().map_or(0, |lease| lease.epoch)
    }

    /// For how long it has led.
    pub fn has_led(&self) -> Duration {
        self.since.lock().map_or(Duration::ZERO, |since| clock().saturating_sub(since))
    }

    /// Takes over what the node is now.
    fn note(&self, node: &Node<Tag>) {
        let until = if node.role() == Role::Leads { node.until().as_millis() as u64 } else { 0 };
        self.until.store(until, Ordering::Release);
        if until > 0 {
            self.since.lock().get_or_insert_with(clock);
        }
    }

    fn report(&self, message: &str) {
        let mut reported = self.reported.lock();
        if reported.is_none_or(|at| at.elapsed() >= OFTEN) {
            tracing::warn!("the server's bucket: {message}");
            *reported = Some(Instant::now());
        }
    }

    /// One request about the lease, or a rest. False: there is nothing to ask any more.
    fn step(&self) -> bool {
        let ask = {
            let mut node = self.node.lock();
            let ask = node.next(clock());
            self.note(&node);
            ask
        };
        match ask {
            Ask::Nothing => return false,
            Ask::Rest(until) => std::thread::sleep(until.saturating_sub(clock()).min(TICK)),
            ask => {
                let Some((answer, error)) = self.object.ask(ask) else { return true };
                if let Some(e) = error {
                    self.report(&e.to_string());
                }
                let mut node = self.node.lock();
                let held = node.holds();
                node.answered(clock(), answer);
                self.note(&node);
                if let Some(cluster) = self.cluster.as_ref().filter(|_| node.holds()) {
                    cluster.wants_to_lead();
                }
                if node.holds() && !held {
                    let epoch = node.lease().map_or(0, |lease| lease.epoch);
                    tracing::warn!("the server has taken the lease (epoch {epoch})");
                }
            }
        }
        true
    }

    /// Starts the thread that asks for the lease, and renews it.
    fn start(self: &Arc<Self>) -> Result<()> {
        let this = self.clone();
        let run = move || {
            loop {
                if this.role() == Role::Follows && (this.ends.load(Ordering::Acquire) || !this.may_take()) {
                    if this.ends.load(Ordering::Acquire) {
                        return;
                    }
                    std::thread::sleep(TICK);
                    continue;
                }
                if this.is_to_leave() {
                    if let Err(e) = this.leave() {
                        tracing::error!("the database does not leave its cluster: {}", e.message());
                    }
                    break;
                }
                if !this.step() {
                    break;
                }
                if this.role() == Role::Reads && this.may_take() {
                    this.standby.promote();
                }
            }
            if !this.ends.load(Ordering::Acquire) {
                this.is_over();
            }
        };
        let spawned = std::thread::Builder::new().name("lease".into()).spawn(run);
        spawned.map(drop).map_err(|e| PgError::new(SqlState::IO_ERROR, format!("no thread for the lease: {e}")))
    }

    fn may_take(&self) -> bool {
        self.may_take.load(Ordering::Acquire)
    }

    /// From now on the lease is taken when it is free: the database follows, and can be promoted.
    pub fn take(&self) {
        self.may_take.store(true, Ordering::Release);
    }

    /// The lease is lost: the process is to begin again.
    fn is_over(&self) {
        self.until.store(0, Ordering::Release);
        if DEPOSED.swap(true, Ordering::AcqRel) {
            return;
        }
        let holder = self.node.lock().lease().map_or("nobody".to_string(), |lease| format!("\"{}\"", lease.holder));
        tracing::error!("the server has lost its lease, which {holder} has had last: it begins again as a standby");
        self.deposed.send_replace(true);
        let ends = || {
            std::thread::sleep(LAST);
            if is_stopping() {
                std::process::exit(0);
            }
            tracing::error!("the server begins again at once: {}", begin_again());
            std::process::abort();
        };
        if std::thread::Builder::new().name("ends".into()).spawn(ends).is_err() {
            std::process::abort();
        }
    }

    /// Gives the database up, for this reason: the process is to begin again.
    pub fn give_up(&self, why: &str) {
        tracing::error!("the server gives its lease up: {why}");
        self.is_over();
    }

    /// Gives the database up, and has its file made again from the archive, for this reason.
    pub fn drop_file(&self, why: &str) -> Result<()> {
        // (of no process that can have the lease)
        Kept::Leading { process: 0, before: 0 }.write(&self.database)?;
        self.give_up(why);
        Ok(())
    }

    /// The server is a primary from now on: what its file has is good for as long as nobody else has the lease.
    pub fn keep(&self) -> Result<()> {
        let (process, before) = self.process();
        Kept::Leading { process, before }.write(&self.database)
    }

    /// Whether the lease is lost.
    pub fn is_deposed(&self) -> bool {
        self.role() == Role::Deposed || is_deposed()
    }

    /// Waits until the lease is lost.
    pub async fn deposed(&self) {
        let mut deposed = self.deposed.subscribe();
        // (the sender lives as long as this)
        let _ = deposed.wait_for(|deposed| *deposed).await;
    }

    /// Where a standby that was promoted has begun to write: the archive need not be asked for it.
    pub fn begins(&self, begun: Begun) {
        *self.begun.lock() = Some(begun);
    }

    /// See [`Failover::begins`].
    pub fn begun(&self) -> Option<Begun> {
        *self.begun.lock()
    }

    /// The archive has been read to its end, since the lease was taken: to this transaction.
    pub fn has_read(&self, transaction: u64) {
        self.node.lock().has_read(transaction);
    }

    /// Puts an entry, until it is known what has become of it. Errors: 08007 if the lease is lost.
    pub fn append(&self, archive: &Archive, made: &Made, position: &str) -> Result<Verdict> {
        let number = self.node.lock().append(clock()).map_err(|_| unknown())?;
        if number != made.header.first || number != made.header.last {
            self.give_up("an entry has another number than it should have");
            return Err(unknown());
        }
        loop {
            let outcome = archive.append(made, position).unwrap_or_else(|e| {
                self.report(&e.to_string());
                Appended::Unknown
            });
            let verdict = {
                let mut node = self.node.lock();
                let verdict = node.appended(clock(), outcome);
                self.note(&node);
                verdict
            };
            match verdict {
                Verdict::Again if is_deposed() => return Ok(Verdict::Deposed),
                Verdict::Again => std::thread::sleep(AGAIN),
                verdict => return Ok(verdict),
            }
        }
    }

    /// Whether the database is to leave the cluster, and it is the primary's.
    fn is_to_leave(&self) -> bool {
        let is_asked = || {
            let asked = std::fs::read_to_string(leave_file(&self.database));
            asked.is_ok_and(|process| process == format!("{:016x}", self.process().0))
        };
        self.is_in_cluster() && self.role() == Role::Leads && is_asked()
    }

    /// Nobody is a primary after this server: its file is a database of its own from then on, and the server ends.
    fn leave(&self) -> Result<()> {
        // (nobody is shown or told anything any more)
        self.until.store(0, Ordering::Release);
        self.node.lock().leave();
        let began = Instant::now();
        while self.role() != Role::Deposed && began.elapsed() < LAST {
            self.step();
        }
        if !self.node.lock().has_left() {
            return Err(unknown());
        }
        let gone = |path: &Path| std::fs::remove_file(path).map_err(|e| crate::kept::io(path, &e));
        gone(&Kept::path(&self.database))?;
        gone(&leave_file(&self.database))?;
        tracing::warn!("the database has left its cluster: the server ends");
        stops();
        Ok(())
    }

    /// Gives the lease away: the server ends, and has put all that it has.
    pub fn release(&self) {
        self.ends.store(true, Ordering::Release);
        {
            let mut node = self.node.lock();
            if !node.holds() {
                return;
            }
            node.release();
        }
        // (nobody is shown anything any more)
        self.until.store(0, Ordering::Release);
        let began = Instant::now();
        while self.role() != Role::Deposed && began.elapsed() < Duration::from_secs(2) {
            std::thread::sleep(TICK);
        }
        if let Some(cluster) = &self.cluster {
            cluster.hands_over();
        }
    }
}
