//! Which engine a database name means.

use crate::archiving::Archivers;
use crate::config::{Config, Databases};
use crate::failover::Failover;
use crate::feed::{self, Feed, Feeds};
use crate::standby::{self, Followers, Follows, Source};
use parking_lot::Mutex;
use pgsqlite_engine::engine::Engine;
use pgsqlite_engine::session::{
    DatabasesHandle, EngineConfig, Flow, Location, OutputColumn, Row, RowSink, SessionOptions,
};
use pgsqlite_metadata::store::other::{self, Other};
use pgsqlite_metadata::store::transactions::Recorded;
use pgsqlite_natives::recovery::{Recovery, Standby};
use pgsqlite_natives::statistics::refused::RefusedLog;
use pgsqlite_natives::statistics::Statistics;
use pgsqlite_objects::ddl::{DatabaseAdmin, Founder};
use pgsqlite_storage::checkpoints;
use pgsqlite_storage::files::folder;
use pgsqlite_storage::files::server_file::may_be_database;
use pgsqlite_types::codec::Context;
use pgsqlite_types::{PgError, Result, SqlState};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// So long a database that is to go is waited for while sessions use it, as PostgreSQL does.
const PATIENCE: Duration = Duration::from_secs(5);

/// Between two looks at which databases an archive has.
const NEW_DATABASES: Duration = Duration::from_secs(5);

/// The open databases.
pub struct Registry {
    shared: Arc<Shared>,
    pub statistics: Arc<Statistics>,
}

/// What the registry and the folder's DDL share.
struct Shared {
    config: Config,
    refused: Option<Arc<RefusedLog>>,
    statistics: Arc<Statistics>,
    /// By name; "" is the one of a server that serves one file. The map is locked for look-ups only.
    places: Mutex<HashMap<String, Arc<Place>>>,
    /// Throw-away copies (`pgsqlite.clone`), by name. Their sessions hold them.
    clones: Mutex<HashMap<String, Arc<Mutex<ThrowAway>>>>,
    archivers: Archivers,
    feeds: Feeds,
    /// of a server that was started as a standby
    followers: Option<Followers>,
    /// of a server whose lease decides whether it is a primary
    failover: Option<Arc<Failover>>,
}

/// A throw-away copy, which is locked while it is made.
#[derive(Default)]
struct ThrowAway {
    original: String,
    engine: Weak<Engine>,
}

/// A throw-away copy, as others see it.
pub struct Clone {
    pub name: String,
    /// the database that it is a copy of
    pub original: String,
    pub bytes: u64,
}

/// Where a database is while it is open. A place is locked while its database is opened, made, moved or removed: whoever asks for
/// another database does not wait for that.
type Place = Mutex<Option<Arc<Engine>>>;

impl Shared {
    /// Does something with the place of a name, which is locked meanwhile.
    fn with_place<R>(&self, name: &str, work: impl FnOnce(&mut Option<Arc<Engine>>) -> R) -> R {
        loop {
            let place = self.places.lock().entry(name.to_string()).or_default().clone();
            let mut locked = place.lock();
            // a database that was dropped has left its place
            if self.places.lock().get(name).is_some_and(|now| Arc::ptr_eq(now, &place)) {
                return work(&mut locked);
            }
        }
    }

    /// The engine of a database that is open, unless somebody opens, closes or moves it now.
    fn open_now(&self, name: &str) -> Option<Arc<Engine>> {
        let place = self.places.lock().get(name)?.clone();
        let engine = place.try_lock()?.clone();
        engine
    }

    /// The one database of a server that serves a file or memory: it is open from the start. Others look at its place for moments only,
    /// which are waited for.
    fn always_open(&self) -> Option<Arc<Engine>> {
        let place = self.places.lock().get("")?.clone();
        let engine = place.lock().clone();
        engine
    }

    /// Whether a database is open, or somebody opens it now.
    fn is_open(&self, name: &str) -> bool {
        let Some(place) = self.places.lock().get(name).cloned() else { return false };
        let open = place.try_lock().is_none_or(|engine| engine.is_some());
        open
    }

    /// The open database `key`, or this one opened as it. Of two clients that ask for a closed database at once, the second waits until
    /// it is open.
    fn open_as(self: &Arc<Self>, key: &str, location: Location, database: String) -> Result<Arc<Engine>> {
        if let Some(engine) = self.open_now(key) {
            return Ok(engine);
        }
        blocking(|| {
            self.with_place(key, |place| {
                if let Some(engine) = place {
                    return Ok(engine.clone());
                }
                let name = database.clone();
                let databases = match &self.config.databases {
                    Databases::Directory(dir) => {
                        Some(DatabasesHandle(Arc::new(Folder { dir: dir.clone(), shared: self.clone() })))
                    }
                    _ => None,
                };
                let file = match &location {
                    Location::File(path) => Some(path.clone()),
                    Location::Memory => None,
                };
                let follows = self.follows(file.as_deref(), &name)?;
                // (one that was promoted before is a primary's from the start)
                let followers = self.followers.as_ref().filter(|_| follows.is_some());
                let recovery = followers.map(|all| Arc::new(Recovery::of(all.standby())));
                let engine = Engine::open(EngineConfig {
                    databases,
                    location,
                    recovery,
                    database,
                    pooling: self.config.pooling,
                    pool_size: self.config.pool_size,
                    pool_timeout: self.config.pool_timeout,
                    idle_writer_timeout: self.config.idle_writer_timeout,
                    writer_timeout: self.config.writer_timeout,
                    puts_aside: self.config.puts_aside,
                    rereads: self.config.rereads,
                    lease: self.config.lease.is_some(),
                    log_limit: self.config.log_limit,
                    founder: self.config.founder.clone(),
                    max_prepared: self.config.max_prepared,
                    reserved_connections: self.config.reserved_connections,
                    server_files: self.config.server_files.clone(),
                    refused: self.refused.clone(),
                    statistics: self.statistics.clone(),
                })?;
                match (follows, &self.followers, file) {
                    (Some(follows), Some(followers), Some(file)) => {
                        let shared = Arc::downgrade(self);
                        let promoted = move || {
                            if let Some(shared) = shared.upgrade() {
                                shared.promoted();
                            }
                        };
                        followers.begin(&engine, &file, follows, promoted)?;
                    }
                    (None, _, Some(file)) => self.begin_copies(&engine, &file, &name)?,
                    _ => {}
                }
                *place = Some(engine.clone());
                Ok(engine)
            })
        })
    }
}

impl Shared {
    /// Has what is committed to a primary's database copied: for standbys, and to the archive.
    fn begin_copies(&self, engine: &Arc<Engine>, file: &Path, name: &str) -> Result<()> {
        let Config { archive, archive_policy, max_wal_senders, wal_keep_size, .. } = &self.config;
        let feed = match max_wal_senders {
            0 => None,
            _ => Some(self.feeds.begin(engine, file, name, *wal_keep_size, archive.is_some())?),
        };
        match archive {
            Some(place) => self.archivers.begin(engine, place, name, *archive_policy, feed, self.failover.clone()),
            None => Ok(()),
        }
    }

    /// Makes a database's file ready that is about to be opened. Returns what it follows; None: it is a primary's.
    fn follows(&self, file: Option<&Path>, name: &str) -> Result<Option<Follows>> {
        match (file, &self.followers, &self.config.standby) {
            (Some(file), Some(followers), Some(source)) if followers.standby().recovers() => {
                // (one file may have another name here)
                let is_named = matches!(self.config.databases, Databases::File(_));
                let name = source.named().filter(|_| is_named).unwrap_or(name);
                let follows = standby::prepare(file, source, name)?;
                if follows.is_none() {
                    // (all databases of a server are promoted together)
                    followers.standby().promote();
                }
                Ok(follows)
            }
            (Some(file), None, _) => standby::leave(file).map(|()| None),
            _ => Ok(None),
        }
    }

    /// A server whose databases all were promoted before is a primary.
    fn end_unless_followed(&self) {
        if let Some(followers) = self.followers.as_ref().filter(|all| all.is_done()) {
            if self.failover.is_none() {
                tracing::warn!("the server was promoted before: it is a primary, and --standby has no effect");
            }
            followers.standby().end();
        }
    }

    /// No database follows any more: the server is a primary.
    fn promoted(&self) {
        let Some(followers) = &self.followers else { return };
        // (with a lease nobody may write before commits wait for the archive)
        if self.failover.is_none() {
            followers.standby().end();
        }
        let places: Vec<(String, Arc<Place>)> =
            self.places.lock().iter().map(|(name, place)| (name.clone(), place.clone())).collect();
        for (key, place) in places {
            let Some(engine) = place.lock().clone() else { continue };
            let name = if key.is_empty() { engine.catalog().database.clone() } else { key };
            let file = match &self.config.databases {
                Databases::File(path) => Some(path.clone()),
                Databases::Directory(dir) => file_of(dir, &name),
                Databases::Memory => None,
            };
            let Some(file) = file else { continue };
            if let Err(e) = self.begin_copies(&engine, &file, &name) {
                tracing::error!("the changes of database \"{name}\" are not copied: {}", e.message());
                if let Some(failover) = &self.failover {
                    return failover.give_up(e.message());
                }
            }
        }
        followers.standby().end();
        tracing::warn!("the server was promoted: it is a primary");
    }
}

/// Looks from time to time which databases the archive or the primary has, and opens those that have come.
fn follow_new_databases(shared: Weak<Shared>, dir: PathBuf) -> Result<()> {
    let look = move || {
        let mut reported = String::new();
        loop {
            {
                let Some(shared) = shared.upgrade() else { return };
                let follows = shared.followers.as_ref().is_some_and(|all| all.standby().recovers());
                let Some(source) = shared.config.standby.as_ref().filter(|_| follows) else { return };
                if let Err(e) = shared.follow_all(source, &dir) {
                    if reported != e.message() {
                        tracing::error!("new databases are not followed: {}", e.message());
                        reported = e.message().to_string();
                    }
                }
            }
            std::thread::sleep(NEW_DATABASES);
        }
    };
    let spawned = std::thread::Builder::new().name("standby-databases".into()).spawn(look);
    spawned.map(drop).map_err(|e| PgError::new(SqlState::IO_ERROR, format!("no thread for a standby: {e}")))
}

impl Shared {
    /// Opens the databases that a standby of a folder begins with. It waits for an archive that is not there yet, or a primary; one that does not answer is needed for those alone
    /// that are not in the folder. Errors: those of a database's file.
    fn follow_first(self: &Arc<Self>, source: &Source, dir: &Path) -> Result<()> {
        let mut reported = String::new();
        loop {
            match self.follow_all(source, dir) {
                Ok(0) => {}
                Ok(_) => return Ok(()),
                Err(e) if e.code() != SqlState::IO_ERROR => return Err(e),
                Err(e) => {
                    if reported != e.message() {
                        tracing::warn!("the standby waits: {}", e.message());
                        reported = e.message().to_string();
                    }
                    let known = standby::followers(dir)?;
                    for name in &known {
                        let Some(path) = file_of(dir, name) else { continue };
                        self.open_as(name, Location::File(path), name.clone())?;
                    }
                    if !known.is_empty() {
                        return Ok(());
                    }
                }
            }
            std::thread::sleep(NEW_DATABASES / 10);
        }
    }

    /// Opens each database that the archive or the primary has. Returns how many there are.
    fn follow_all(self: &Arc<Self>, source: &Source, dir: &Path) -> Result<usize> {
        let names = source.names()?;
        for name in &names {
            let Some(path) = file_of(dir, name) else { continue };
            if self.followers.as_ref().is_some_and(|all| all.standby().is_promoted()) && !path.exists() {
                continue;
            }
            self.open_as(name, Location::File(path), name.clone())?;
        }
        Ok(names.len())
    }
}

/// Runs what may wait for the disk or for another session. The tasks of the thread go on meanwhile.
fn blocking<R>(work: impl FnOnce() -> R) -> R {
    use tokio::runtime::{Handle, RuntimeFlavor};
    match Handle::try_current().map(|runtime| runtime.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(work),
        _ => work(),
    }
}

/// Runs a statement that gives no rows in a session of its own, on a thread of its own: the caller's is within another session's statement.
fn run_apart(engine: &Arc<Engine>, database: &str, statement: &str) -> Result<()> {
    let run = || -> Result<()> {
        let failed = |e: std::io::Error| PgError::new(SqlState::IO_ERROR, format!("no thread for a statement: {e}"));
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().map_err(failed)?;
        runtime.block_on(async {
            let settings = vec![("lock_timeout".to_string(), "5s".to_string())];
            let (user, database) = (engine.bootstrap_role(), database.to_string());
            let mut session = engine.session(SessionOptions { user, database, settings, ..Default::default() })?;
            let mut script = session.script(statement)?;
            while session.execute_script(&mut script, &mut NoRows).await?.is_some() {}
            session.sync().await
        })
    };
    std::thread::scope(|scope| scope.spawn(run).join()).unwrap_or_else(|_| Err(PgError::internal("a statement apart")))
}

/// Takes no rows.
struct NoRows;

impl RowSink for NoRows {
    fn columns(&mut self, _: &Arc<[OutputColumn]>) -> Result<()> {
        Ok(())
    }
    fn row(&mut self, _: &dyn Row, _: &Context) -> Result<Flow> {
        Ok(Flow::Continue)
    }
}

/// `DIR/name.db`; None: the name is not one that a file may have (a name is a file's name, never a path).
fn file_of(dir: &Path, name: &str) -> Option<PathBuf> {
    let plain = !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\\', '\0']);
    plain.then(|| dir.join(format!("{name}.db")))
}

/// CREATE, DROP and ALTER DATABASE in a folder of files. The places of the databases are locked meanwhile, so that no session begins on
/// a file that is being made, moved or removed.
struct Folder {
    dir: PathBuf,
    shared: Arc<Shared>,
}

impl Folder {
    fn path(&self, name: &str) -> Result<PathBuf> {
        file_of(&self.dir, name)
            .ok_or_else(|| PgError::not_supported(format!("the database name \"{name}\", which cannot be a file's,")))
    }

    /// A file that is there. Errors: 3D000.
    fn existing(&self, name: &str) -> Result<PathBuf> {
        file_of(&self.dir, name)
            .filter(|p| p.is_file())
            .ok_or_else(|| PgError::new(SqlState::INVALID_CATALOG_NAME, format!("database \"{name}\" does not exist")))
    }

    fn duplicate(name: &str) -> PgError {
        PgError::new(SqlState::DUPLICATE_DATABASE, format!("database \"{name}\" already exists"))
    }

    /// Closes a database that no session uses. Errors: 55006.
    fn close(place: &mut Option<Arc<Engine>>, shared: &Shared, name: &str) -> Result<()> {
        if let Some(engine) = place {
            // (standbys are no users of it, as in PostgreSQL)
            shared.feeds.ask_to_leave(name);
            // the place's own is one; every session has another
            let sessions = Arc::strong_count(engine) - 1;
            if sessions > 0 {
                let detail = match sessions {
                    1 => "There is 1 other session using the database.".to_string(),
                    n => format!("There are {n} other sessions using the database."),
                };
                return Err(PgError::new(
                    SqlState::OBJECT_IN_USE,
                    format!("database \"{name}\" is being accessed by other users"),
                )
                .detail(detail));
            }
            engine.settle_before_close();
            shared.archivers.end(name);
            shared.feeds.end(name);
            *place = None;
        }
        Ok(())
    }

    /// Errors: 55006 for a file with prepared transactions, which would be lost or come back under another name.
    fn check_not_prepared(path: &Path, name: &str) -> Result<()> {
        // (a file that cannot be read has none that could be committed)
        let detail = match other::prepared(path).unwrap_or(0) {
            0 => return Ok(()),
            1 => "There is 1 prepared transaction using the database.".to_string(),
            n => format!("There are {n} prepared transactions using the database."),
        };
        let message = format!("database \"{name}\" is being accessed by other users");
        Err(PgError::new(SqlState::OBJECT_IN_USE, message).detail(detail))
    }

    /// Does something with a database that is closed meanwhile. One that a session uses is waited for a moment: a client that has said
    /// farewell may not be gone yet. Errors: 55006.
    fn with_closed<R>(&self, name: &str, work: impl FnOnce() -> Result<R>) -> Result<R> {
        let began = Instant::now();
        let mut work = Some(work);
        blocking(|| loop {
            let done =
                self.shared.with_place(name, |place| match (Folder::close(place, &self.shared, name), work.take()) {
                    (Ok(()), Some(work)) => Ok(work()),
                    (Err(e), waiting) => {
                        work = waiting;
                        Err(e)
                    }
                    (Ok(()), None) => Err(PgError::internal("done already")),
                });
            match done {
                Ok(result) => return result,
                Err(e) if began.elapsed() >= PATIENCE => return Err(e),
                Err(_) => std::thread::sleep(PATIENCE / 250),
            }
        })
    }

    /// The template of a new database, opened. Errors: 3D000.
    fn template(&self, name: &str) -> Result<Arc<Engine>> {
        let path = self.existing(name).map_err(|_| {
            PgError::new(SqlState::INVALID_CATALOG_NAME, format!("template database \"{name}\" does not exist"))
        })?;
        self.shared.open_as(name, Location::File(path), name.to_string())
    }
}

impl DatabaseAdmin for Folder {
    fn create(&self, name: &str, template: Option<&str>, founder: &Founder) -> Result<()> {
        let path = self.path(name)?;
        if path.exists() {
            return Err(Folder::duplicate(name));
        }
        // (before the place of the new one is locked: nobody waits for two places)
        let template = template.map(|template| self.template(template)).transpose()?;
        // made under another name: a server that dies meanwhile leaves no half database
        let making = self.dir.join(format!(".{name}.db.new"));
        let make = || {
            if path.exists() {
                return Err(Folder::duplicate(name));
            }
            let made = (|| {
                folder::remove(&making)?;
                match &template {
                    Some(template) => template.copy_to(&making)?,
                    None => founder.found(&making)?,
                }
                folder::install(&making, &path)
            })();
            if made.is_err() {
                // what is left of the attempt; the error that is told is the first one
                let _ = folder::remove(&making);
            }
            made
        };
        blocking(|| self.shared.with_place(name, |_| make()))
    }

    fn drop(&self, name: &str, force: bool) -> Result<()> {
        self.existing(name)?;
        let dropped = self.with_closed(name, || {
            let path = self.existing(name)?;
            Folder::check_not_prepared(&path, name)?;
            self.shared.places.lock().remove(name);
            folder::remove(&path)?;
            feed::Kept::forget(&path)
        });
        dropped.map_err(|e| match (force, e.code()) {
            (true, SqlState::OBJECT_IN_USE) => {
                PgError::not_supported("DROP DATABASE … WITH (FORCE) while sessions use it")
            }
            _ => e,
        })
    }

    fn rename(&self, name: &str, new_name: &str) -> Result<()> {
        let target = self.path(new_name)?;
        let path = self.existing(name)?;
        if target.exists() {
            return Err(Folder::duplicate(new_name));
        }
        if checkpoints::are_left(&path) {
            // what is in the log alone would stay behind, and so would the other program
            return Err(checkpoints::refused("ALTER DATABASE … RENAME"));
        }
        self.with_closed(name, || {
            if !path.is_file() {
                return Err(PgError::new(SqlState::OBJECT_IN_USE, "another session changes the database"));
            }
            Folder::check_not_prepared(&path, name)?;
            // somebody may make a database of the new name now: that one is first
            let place = self.shared.places.lock().entry(new_name.to_string()).or_default().clone();
            let Some(_locked) = place.try_lock().filter(|engine| engine.is_none()) else {
                return Err(Folder::duplicate(new_name));
            };
            if target.exists() {
                return Err(Folder::duplicate(new_name));
            }
            folder::rename(name, &path, &target)
        })
    }

    fn configure(&self, name: &str, statement: &str) -> Result<()> {
        let path = self.existing(name)?;
        let engine = self.shared.open_as(name, Location::File(path), name.to_string())?;
        blocking(|| run_apart(&engine, name, statement))
    }

    fn list(&self) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(&self.dir)
            .into_iter()
            .flatten()
            .flatten()
            .filter(|entry| entry.file_type().is_ok_and(|t| t.is_file()))
            .filter_map(|entry| entry.file_name().to_str()?.strip_suffix(".db").map(str::to_string))
            .filter(|name| {
                self.shared.is_open(name) || file_of(&self.dir, name).is_some_and(|path| may_be_database(&path))
            })
            .collect();
        names.sort();
        names
    }

    fn look(&self, name: &str) -> Result<Other> {
        let path = self.existing(name)?;
        blocking(|| other::look(&path))
    }

    fn recorded(&self, name: &str, transaction: u64) -> Result<Recorded> {
        let path = self.existing(name)?;
        blocking(|| other::recorded(&path, transaction))
    }
}

/// A folder without the database `postgres` gets it, as a cluster of PostgreSQL has it: `psql -l` and other tools connect to it unless they
/// are told otherwise, and CREATE DATABASE needs one to connect to. A folder of files that cannot be written to is served without.
fn first_database(dir: &Path) -> Result<()> {
    let path = dir.join("postgres.db");
    match folder::make_empty(&path) {
        Ok(_) => Ok(()),
        Err(e) => {
            let failed = |e| PgError::new(SqlState::IO_ERROR, format!("database file \"{}\": {e}", dir.display()));
            for entry in std::fs::read_dir(dir).map_err(failed)? {
                if entry.map_err(failed)?.path().extension().is_some_and(|e| e == "db") {
                    tracing::warn!("the database \"postgres\" cannot be made: {e}");
                    return Ok(());
                }
            }
            Err(failed(e))
        }
    }
}

/// The name of the one database of a server.
fn name_of(path: &Path) -> String {
    path.file_stem().map_or("main".to_string(), |s| s.to_string_lossy().into_owned())
}

impl Registry {
    /// Opens the one database there is; those of a folder are opened when a client asks for them.
    pub fn new(config: Config) -> Result<Registry> {
        let refused = match &config.log_refused {
            None => None,
            Some(path) => Some(Arc::new(RefusedLog::open(path)?)),
        };
        let statistics = Arc::<Statistics>::default();
        let by_lease = config.lease.is_some();
        let standby = Arc::new(if by_lease { Standby::by_lease() } else { Standby::new() });
        let failover =
            match (&config.lease, &config.databases) {
                (None, _) => None,
                (Some(lease), Databases::File(path)) => {
                    checkpoints::leave(path);
                    Some(Failover::boot(lease, path, &name_of(path), standby.clone())?)
                }
                (Some(_), _) => return Err(PgError::new(
                    SqlState::INVALID_PARAMETER_VALUE,
                    "a lease needs --database FILE: servers with a folder of databases, or one in memory, have none",
                )),
            };
        let followers = config.standby.as_ref().map(|_| Followers::new(standby, failover.clone()));
        let shared = Arc::new(Shared {
            config,
            refused,
            statistics: statistics.clone(),
            places: Mutex::default(),
            clones: Mutex::default(),
            archivers: Archivers::default(),
            feeds: Feeds::default(),
            followers,
            failover,
        });
        let registry = Registry { shared, statistics };
        let archive = registry.shared.config.archive.is_some();
        let follows = registry.shared.config.standby.clone();
        if follows.is_some() && registry.shared.config.checkpoints_left {
            return Err(PgError::new(
                SqlState::INVALID_PARAMETER_VALUE,
                "standby and checkpoints = external exclude each other: another program copies what a primary writes",
            ));
        }
        if follows.is_some() && matches!(registry.shared.config.databases, Databases::Memory) {
            return Err(PgError::new(
                SqlState::INVALID_PARAMETER_VALUE,
                "a standby needs files: a database in memory would be restored at each start",
            ));
        }
        if archive && registry.shared.config.checkpoints_left {
            return Err(PgError::new(
                SqlState::INVALID_PARAMETER_VALUE,
                "archive and checkpoints = external exclude each other: one of two programs must write the log back",
            ));
        }
        let senders = registry.shared.config.max_wal_senders > 0;
        if senders && registry.shared.config.checkpoints_left {
            return Err(PgError::new(
                SqlState::INVALID_PARAMETER_VALUE,
                "max_wal_senders and checkpoints = external exclude each other: one of two programs must write the log back",
            ));
        }
        if archive || senders || registry.shared.config.checkpoints_left {
            match &registry.shared.config.databases {
                Databases::File(path) | Databases::Directory(path) => checkpoints::leave(path),
                Databases::Memory => {
                    return Err(PgError::new(
                        SqlState::INVALID_PARAMETER_VALUE,
                        "checkpoints = external, archive and max_wal_senders need files: a database in memory has no log that lasts",
                    ))
                }
            }
        }
        match &registry.shared.config.databases {
            Databases::File(path) => {
                let stem = name_of(path);
                registry.shared.open_as("", Location::File(path.clone()), stem)?;
                registry.shared.end_unless_followed();
            }
            Databases::Memory => {
                registry.shared.open_as("", Location::Memory, "main".into())?;
            }
            Databases::Directory(dir) => {
                if !dir.is_dir() {
                    let message = match dir.exists() {
                        true => format!("\"{}\" is no folder: --data-dir serves a folder of files", dir.display()),
                        false => format!("the folder \"{}\" does not exist", dir.display()),
                    };
                    return Err(PgError::new(SqlState::UNDEFINED_FILE, message));
                }
                if follows.is_some() && standby::were_promoted(dir)? {
                    registry.shared.end_unless_followed();
                } else if let Some(source) = &follows {
                    registry.shared.follow_first(source, dir)?;
                    registry.shared.end_unless_followed();
                    follow_new_databases(Arc::downgrade(&registry.shared), dir.clone())?;
                    return Ok(registry);
                }
                first_database(dir)?;
                if archive {
                    // what a crash has left in the log of any of them is copied, too
                    for name in registry.names().unwrap_or_default() {
                        if let Err(e) = registry.get(&name) {
                            tracing::error!("the database \"{name}\" is not copied to the archive: {}", e.message());
                        }
                    }
                }
            }
        }
        Ok(registry)
    }

    /// What is committed to an open database, for standbys. None: standbys cannot follow it.
    pub fn feed(&self, name: &str) -> Option<Arc<Feed>> {
        self.shared.feeds.of(name)
    }

    /// How far the databases of a standby have come, by their names. Empty: the server is a primary.
    pub fn recoveries(&self) -> Vec<(String, Arc<Recovery>)> {
        let followers = self.shared.followers.as_ref().filter(|all| all.standby().recovers());
        followers.map_or_else(Vec::new, Followers::known)
    }

    /// Whether any role of the one database may log in with a password; None: a folder of databases.
    pub fn knows_password(&self) -> Option<bool> {
        Some(self.shared.always_open()?.users().iter().any(|role| role.password.is_some()))
    }

    /// The databases of a folder; None: there is one, which has every name.
    pub fn names(&self) -> Option<Vec<String>> {
        match &self.shared.config.databases {
            Databases::Directory(dir) => Some(Folder { dir: dir.clone(), shared: self.shared.clone() }.list()),
            _ => None,
        }
    }

    /// The database a client names that has proved who it is. A folder has `template1`, made when somebody comes to it, and `template0`, to which
    /// nobody may connect, as a cluster of PostgreSQL has them. Errors: 3D000, 55000.
    pub fn enter(&self, name: &str) -> Result<Arc<Engine>> {
        let missing = match (self.get(name), &self.shared.config.databases) {
            (Err(e), Databases::Directory(dir)) if e.code() == SqlState::INVALID_CATALOG_NAME => (e, dir),
            (found, _) => return found,
        };
        let in_recovery = self.shared.followers.as_ref().is_some_and(|all| all.standby().recovers());
        match name {
            _ if in_recovery => Err(missing.0),
            "template0" => Err(PgError::new(
                SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
                "database \"template0\" is not currently accepting connections",
            )),
            // an empty file is an empty database
            "template1" => match folder::make_empty(&missing.1.join("template1.db")) {
                Ok(_) => self.get(name),
                Err(_) => Err(missing.0),
            },
            _ => Err(missing.0),
        }
    }

    /// The throw-away copy of `original` that a client calls `name`. Those who call it so share it, and it is gone with the last of them.
    /// Errors: 3D000 for an original that does not exist, 42P04 if something else has the name, 42501 if the role may make no database.
    pub fn enter_clone(&self, name: &str, original: &str, user: &str) -> Result<Arc<Engine>> {
        let base = self.enter(original)?;
        if base.in_recovery() {
            return Err(PgError::not_supported("a clone of a standby's database"));
        }
        if let Databases::Directory(dir) = &self.shared.config.databases {
            if name != original && file_of(dir, name).is_some_and(|path| path.exists()) {
                return Err(Folder::duplicate(name));
            }
        }
        let place = {
            let mut clones = self.shared.clones.lock();
            // (a place that is locked is one that somebody makes just now)
            clones.retain(|_, place| {
                Arc::strong_count(place) > 1 || place.try_lock().is_none_or(|clone| clone.engine.strong_count() > 0)
            });
            clones.entry(name.to_string()).or_default().clone()
        };
        blocking(|| {
            let mut clone = place.lock();
            if let Some(engine) = clone.engine.upgrade() {
                if clone.original != original {
                    let held = format!("It is a clone of \"{}\".", clone.original);
                    return Err(Folder::duplicate(name).detail(held));
                }
                return Ok(engine);
            }
            if !base.role(user).is_some_and(|role| role.superuser || role.create_db) {
                return Err(PgError::new(SqlState::INSUFFICIENT_PRIVILEGE, "permission denied to clone a database")
                    .detail("A role that makes a clone needs CREATEDB.")
                    .hint(format!("ALTER ROLE {} CREATEDB", pgsqlite_sql::names::quoted(user))));
            }
            let engine = base.open_clone(name)?;
            *clone = ThrowAway { original: original.into(), engine: Arc::downgrade(&engine) };
            Ok(engine)
        })
    }

    /// The throw-away copies that sessions use now, by name.
    pub fn clones(&self) -> Vec<Clone> {
        let places: Vec<_> = self.shared.clones.lock().iter().map(|(n, place)| (n.clone(), place.clone())).collect();
        let mut clones: Vec<Clone> = places
            .into_iter()
            .filter_map(|(name, place)| {
                // (one that is locked is being made)
                let clone = place.try_lock()?;
                let engine = clone.engine.upgrade()?;
                Some(Clone { name, original: clone.original.clone(), bytes: engine.file_bytes() })
            })
            .collect();
        clones.sort_by(|a, b| a.name.cmp(&b.name));
        clones
    }

    /// A throw-away copy that sessions use now.
    fn clone_named(&self, name: &str) -> Option<Arc<Engine>> {
        let place = self.shared.clones.lock().get(name)?.clone();
        let engine = blocking(|| place.lock().engine.upgrade());
        engine
    }

    /// The database a client names; 3D000 if there is none. In a folder that may be a throw-away copy, as long as other sessions use it.
    pub fn get(&self, name: &str) -> Result<Arc<Engine>> {
        let Databases::Directory(dir) = &self.shared.config.databases else {
            return self.shared.always_open().ok_or_else(|| PgError::shut_down());
        };
        let unknown =
            || PgError::new(SqlState::INVALID_CATALOG_NAME, format!("database \"{name}\" does not exist")).fatal();
        let path = file_of(dir, name).ok_or_else(unknown)?;
        if let Some(engine) = self.shared.open_now(name) {
            return Ok(engine);
        }
        if !path.is_file() {
            return self.clone_named(name).ok_or_else(unknown);
        }
        self.shared.open_as(name, Location::File(path), name.to_string())
    }

    /// The number of the lease's holder, as it was seen last, and whether that is this server. None: there is no lease.
    pub fn lease(&self) -> Option<(u64, bool)> {
        let failover = self.shared.failover.as_ref()?;
        Some((failover.epoch(), failover.leads()))
    }

    /// Waits until the server has lost its lease. Without one it waits for ever.
    pub async fn deposed(&self) {
        match &self.shared.failover {
            Some(failover) => failover.deposed().await,
            None => std::future::pending().await,
        }
    }

    pub async fn shutdown(&self) -> Result<()> {
        let places: Vec<Arc<Place>> = self.shared.places.lock().drain().map(|(_, place)| place).collect();
        let engines: Vec<Arc<Engine>> = places.iter().filter_map(|place| place.lock().take()).collect();
        engines.iter().for_each(|engine| engine.settle_before_close());
        if let Some(followers) = &self.shared.followers {
            blocking(|| followers.finish());
        }
        blocking(|| self.shared.archivers.finish());
        blocking(|| self.shared.feeds.finish());
        for engine in engines {
            engine.shutdown().await?;
        }
        if let Some(failover) = &self.shared.failover {
            blocking(|| failover.release());
        }
        Ok(())
    }
}
