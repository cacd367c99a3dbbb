//! One database: its file, its catalog, its connections, its writer.

use crate::config::{EngineConfig, Location};
use crate::connection::{Connection, Idle};
use crate::image::{Image, Read};
use crate::writer::Writer;
use parking_lot::{Mutex, RwLock};
use pgsqlite_metadata::counter::next_number;
use pgsqlite_metadata::store;
use pgsqlite_metadata::store::names::CatalogNames;
use pgsqlite_objects::ddl;
use pgsqlite_sql::catalog::{Catalog, Role};
use pgsqlite_storage::checkpoints;
use pgsqlite_storage::files::Room;
use pgsqlite_storage::in_memory::MemoryFolder;
use pgsqlite_storage::lease::Leases;
use pgsqlite_storage::vfs::Anchor;
use pgsqlite_storage::wal::Wal;
use pgsqlite_types::codec::{Context, TypeCodec};
use pgsqlite_types::datetime::Timestamp;
use pgsqlite_types::{Datum, PgError, Result, Settings, SqlState};
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Instant;

/// What a database knows of those that wait, besides its lock table and the writer's queue.
#[derive(Default)]
pub(crate) struct Waits {
    /// the sessions that wait for a pooled connection
    pub(crate) pool: Mutex<HashSet<u64>>,
    /// the sessions that a cycle's error ends, until they have left their wait
    pub(crate) victims: Mutex<HashSet<u64>>,
    /// the holder of the writer slot whose client is silent: its session, the number of its silence, and since when that is known
    pub(crate) silent: Mutex<Option<(u64, u64, tokio::time::Instant)>>,
    /// the holder of the writer slot that others wait for
    pub(crate) contested: Mutex<Option<Contested>>,
}

/// A transaction that has the writer slot while others wait for it.
pub(crate) struct Contested {
    pub session: u64,
    /// when the transaction began, which tells the transactions of a session apart
    pub began: Option<i64>,
    /// how long others have waited for it, all in all
    pub waited: std::time::Duration,
    /// when a waiter looked last
    pub seen: tokio::time::Instant,
}

/// What is known of a database's long log.
#[derive(Default)]
pub(crate) struct LongLog {
    /// the read transaction (session, when it began) that was last said to keep the log from beginning anew
    pub(crate) reader: Mutex<(u64, u64)>,
    /// no wait for the readers before; None: there was none
    pub(crate) next: Mutex<Option<Instant>>,
    /// the length at which it was last said that nobody writes it back
    pub(crate) reported: AtomicU64,
}

/// A database, shared by its sessions.
pub struct Engine {
    pub(crate) config: Arc<EngineConfig>,
    /// what is done in this database
    pub(crate) counters: Arc<pgsqlite_natives::statistics::DatabaseCounters>,
    catalog: RwLock<Arc<Catalog>>,
    /// how often another catalog has come into its place
    published: AtomicU64,
    pub(crate) idle: Arc<Idle>,
    /// how many more connections may be leased; None without a pool
    leases: Option<Arc<Leases>>,
    pub(crate) writer: Writer,
    pub(crate) plans: crate::plans::PlanCache,
    pub(crate) sequences: Mutex<crate::sequence_state::Sequences>,
    pub(crate) locks: crate::locks::lock_table::LockTable,
    pub(crate) rows: crate::locks::row_locks::RowLocks,
    pub(crate) serializable: crate::locks::serializable::Serializable,
    pub(crate) prepared: crate::prepared::Prepared,
    /// what is known of the tables whose changes were put aside, by their names, in the catalog with this epoch
    pub(crate) tables: Mutex<(u64, HashMap<Box<str>, Arc<crate::changes::table::Table>>)>,
    pub(crate) waits: Waits,
    pub(crate) channels: crate::notify::Channels,
    pub(crate) long_log: LongLog,
    /// of a standby's transactions
    pub(crate) gate: Arc<crate::gate::Gate>,
    /// The schema cookie the catalog belongs to.
    cookie: Mutex<i64>,
    /// Keeps a read mark while sessions come and go. Before the keeper: it must not be the last to close.
    anchor: Mutex<Option<Anchor>>,
    /// Keeps the WAL (and an in-memory database) alive while no session holds a connection.
    keeper: Arc<Mutex<Option<Connection>>>,
    /// The database's files, which nobody else opens. After all connections.
    pub(crate) room: Arc<Room>,
    /// another program writes the log back
    pub(crate) leaves_log: bool,
    /// what clones are made from
    pub(crate) image: Mutex<Option<Arc<Image>>>,
    _memory: Option<MemoryFolder>,
}

impl Engine {
    /// Opens or makes the database. Errors: 58P01/58030 for the file system, 55006 when another pgsqlite has it open,
    /// 0A000/XX001 for a file that is not a database or that a newer pgsqlite wrote.
    pub fn open(config: EngineConfig) -> Result<Arc<Engine>> {
        pgsqlite_sqlite::check().map_err(|wrong| {
            PgError::new(SqlState::SYSTEM_ERROR, format!("SQLite was not compiled as pgsqlite needs it: {wrong}"))
        })?;
        match config.location.clone() {
            Location::Memory => {
                let folder = MemoryFolder::new()?;
                Engine::open_at(config, &folder.file(), Some(folder), None)
            }
            Location::File(path) => Engine::open_at(config, &path, None, None),
        }
    }

    /// Opens a database in memory whose file has been read already.
    pub(crate) fn open_read(config: EngineConfig, folder: MemoryFolder, read: Read) -> Result<Arc<Engine>> {
        Engine::open_at(config, &folder.file(), Some(folder), Some(read))
    }

    /// `read`: what the file says, of a file that nobody else has used since.
    fn open_at(
        config: EngineConfig,
        path: &Path,
        memory: Option<MemoryFolder>,
        read: Option<Read>,
    ) -> Result<Arc<Engine>> {
        let room = Room::enter(path)?;
        let keeper = match &read {
            Some(_) => Connection::open_unread(&room)?,
            None => Connection::open_in(&room)?,
        };
        let known = match &read {
            Some(read) => read.version,
            None => {
                let known = store::version(keeper.rusqlite()).map_err(|mut e| {
                    let fields = e.fields_mut();
                    fields.message = format!("\"{}\": {}", path.display(), fields.message);
                    e
                })?;
                set_log_mode(&keeper, path, &room)?;
                known
            }
        };
        let anchor = Anchor::new(room.path())?;
        if read.is_some() {
            // (SQLite makes the log's index with the first transaction)
            schema_version(&keeper)?;
        }
        room.open_index();
        if read.is_none() {
            keeper.check_writes()?;
        }
        // asked for first: what another program changes meanwhile is noticed later
        let mut mark = room.mark();
        let mut cookie = schema_version(&keeper)?;
        let is_clone = read.is_some();
        let (mut catalog, highest) = match read {
            Some(read) => (Catalog::clone(&read.catalog), read.highest),
            None => (store::load(keeper.rusqlite())?, store::transactions::highest(keeper.rusqlite())?),
        };
        let recovers = config.recovery.as_ref().is_some_and(|recovery| recovery.standby.recovers());
        if !is_clone && memory.is_none() && !recovers && ddl::is_unsettled(&catalog) {
            match crate::settle::settle(&room) {
                Ok(()) => {
                    mark = room.mark();
                    cookie = schema_version(&keeper)?;
                    catalog = store::load(keeper.rusqlite())?;
                }
                // (statements that would need it are refused)
                Err(problem) => {
                    tracing::warn!(%problem, "foreign keys of \"{}\" could not be brought to what this version makes of them", path.display());
                }
            }
        }
        // what has nothing of ours yet is new to us
        if let (None, Some(founder)) = (known, config.founder.as_deref().and_then(store::base::founder_role)) {
            catalog.roles.insert(founder.oid, Arc::new(founder));
        }
        pgsqlite_metadata::counter::pass(highest);
        catalog.epoch = next_number();
        catalog.database.clone_from(&config.database);
        catalog.database_alias = config.databases.is_none().then(|| "main".into());
        room.compared(mark);
        let log = keeper.reading();
        let keeper = Arc::new(Mutex::new(Some(keeper)));
        // what is gone with the server anyway needs no sync
        let wal = memory.is_none().then(|| Wal::new(room.clone(), keeper.clone(), log.progress.clone()));
        if let Some(wal) = &wal {
            wal.check()?;
        }
        let leaves_log = checkpoints::are_left(room.path());
        if !leaves_log
            && !is_clone
            && checkpoints::has_litestreams_tables(
                keeper.lock().as_ref().ok_or_else(|| PgError::shut_down())?.rusqlite(),
            )?
        {
            tracing::warn!(
                "Litestream replicates \"{}\", and this server writes its log back: a restart of Litestream can miss changes without notice\n\
                 Start the server with --checkpoints external.",
                path.display()
            );
        }
        let leases = config.pooling.then(|| Arc::new(Leases::new(config.pool_size, config.reserved_connections)));
        let idle = Arc::<Idle>::default();
        // names of throw-away databases are not remembered
        let counters = if is_clone { Arc::default() } else { config.statistics.database(&config.database) };
        let pool: Weak<Idle> = Arc::downgrade(&idle);
        counters.set_pool(pool);
        let engine = Arc::new(Engine {
            counters,
            config: Arc::new(config),
            catalog: RwLock::new(Arc::new(catalog)),
            published: AtomicU64::new(0),
            writer: Writer::new(room.clone(), wal, log, idle.clone()),
            idle,
            leases,
            plans: Default::default(),
            sequences: Mutex::default(),
            locks: Default::default(),
            rows: Default::default(),
            serializable: Default::default(),
            prepared: Default::default(),
            tables: Mutex::default(),
            waits: Default::default(),
            channels: Default::default(),
            long_log: Default::default(),
            gate: Default::default(),
            cookie: Mutex::new(cookie),
            anchor: Mutex::new(anchor),
            keeper,
            leaves_log,
            room,
            image: Mutex::default(),
            _memory: memory,
        });
        // (those of a standby are its primary's)
        if !is_clone && !engine.in_recovery() {
            let keeper = engine.keeper();
            keeper.as_ref().map_or(Ok(()), |keeper| engine.restore_prepared(keeper))?;
        }
        Ok(engine)
    }

    /// Those who can log in with a password, by name.
    pub fn users(&self) -> Vec<Arc<Role>> {
        let mut users: Vec<Arc<Role>> =
            self.catalog.read().roles.values().filter(|r| r.login && r.password.is_some()).cloned().collect();
        users.sort_by(|a, b| a.name.cmp(&b.name));
        users
    }

    /// Whether a user is a role, or a member of it, directly or not. (A superuser is no member of all roles here.)
    pub fn is_member(&self, user: &str, role: &str) -> bool {
        let catalog = self.catalog.read();
        let (Some(user), Some(role)) = (catalog.role_named(user), catalog.role_named(role)) else { return false };
        pgsqlite_sql::acl::member_of(&catalog, user.oid, role.oid)
    }

    /// The name of the superuser that every file has.
    pub fn bootstrap_role(&self) -> String {
        self.catalog.read().role_name(pgsqlite_sql::catalog::BOOTSTRAP_ROLE).unwrap_or("postgres").to_string()
    }

    /// What the database says of a role; None: nothing.
    pub fn role(&self, name: &str) -> Option<Arc<Role>> {
        self.catalog.read().role_named(name).cloned()
    }

    /// The number of a role that may copy the whole database: a superuser, or one with REPLICATION. None: it may not.
    pub fn may_replicate(&self, name: &str) -> Option<pgsqlite_types::Oid> {
        let catalog = self.catalog.read();
        match catalog.role_named(name) {
            Some(role) => (role.superuser || role.replication).then_some(role.oid),
            // (a file of another program has no roles yet: everybody is its superuser)
            None => catalog.roles.is_empty().then_some(pgsqlite_sql::catalog::BOOTSTRAP_ROLE),
        }
    }

    /// Whether a role may see what others do: a superuser, or one with the privileges of pg_read_all_stats.
    pub fn may_see_statistics(&self, name: &str) -> bool {
        let catalog = self.catalog.read();
        match catalog.role_named(name) {
            Some(role) => role.superuser || pgsqlite_sql::acl::inherits(&catalog, role.oid, "pg_read_all_stats"),
            None => catalog.roles.is_empty(),
        }
    }

    /// The stored SCRAM verifier (`SCRAM-SHA-256$…`) of a role: Ok(None) if the role has none, does not exist, or its
    /// password is valid no more.
    pub fn password_verifier(&self, role: &str) -> Result<Option<String>> {
        let Some(role) = self.role(role) else { return Ok(None) };
        if let Some(until) = &role.valid_until {
            let catalog = self.catalog();
            let names = CatalogNames { catalog: &catalog, search_path: &[] };
            let context = Context { settings: &Settings::default(), names: &names };
            let until = TypeCodec::TimestampTz.text_in(until, -1, &context)?;
            let Datum::Text(until) = until else { return Err(PgError::internal("VALID UNTIL is no timestamp")) };
            let until = Timestamp::from_storage(&until).ok_or_else(|| PgError::internal("VALID UNTIL"))?;
            if until.0 < pgsqlite_metadata::clock::now() {
                return Ok(None);
            }
        }
        Ok(role.password.clone())
    }

    /// Copies what is committed to a file that does not exist yet, sequences as they stand, without what is prepared; others may use the database meanwhile. The copy
    /// is not synced. What it has of the database is on disk there. It waits: not to be called on a thread with other tasks.
    pub fn copy_to(&self, to: &Path) -> Result<()> {
        crate::database_copy::copy_to(&self.room, &self.catalog(), to)?;
        self.writer.settle_all()?;
        crate::database_copy::leave_prepared(to)?;
        self.settle_sequences(Some(to))
    }

    /// Waits for the writer, checkpoints and closes the WAL.
    pub async fn shutdown(&self) -> Result<()> {
        let mut slot = self.writer.acquire(Default::default()).await?;
        slot.commit_shared();
        self.writer.stop_checkpoints();
        self.settle_before_close();
        self.idle.clear();
        drop(self.anchor.lock().take());
        self.prepare_close();
        // the last connection to close checkpoints and removes the WAL
        drop(self.keeper.lock().take());
        Ok(())
    }

    /// A connection to lease: an idle one, or a new one. While as many are leased as the pool may have, it waits for one to come
    /// back: 53300 after `pool_timeout`. The last ones are for superusers.
    pub(crate) async fn connection(&self, superuser: bool) -> Result<Connection> {
        let Some(leases) = &self.leases else { return self.open_connection() };
        let lease = match leases.take_now(superuser) {
            Some(lease) => lease,
            None => match tokio::time::timeout(self.config.pool_timeout, leases.take(superuser)).await {
                Ok(lease) => lease?,
                Err(_) => {
                    return Err(PgError::new(
                        SqlState::TOO_MANY_CONNECTIONS,
                        format!(
                            "no connection of the pool became free within {} seconds",
                            self.config.pool_timeout.as_secs_f64()
                        ),
                    )
                    .detail(format!("All {} connections of the pool are in use.", self.config.pool_size))
                    .hint("Raise PGSQLITE_POOL_SIZE, or end transactions sooner."))
                }
            },
        };
        let mut connection = self.open_connection()?;
        connection.lease = Some(lease);
        Ok(connection)
    }

    /// A connection besides the one that a session has; None if the pool has none to spare now.
    pub(crate) fn connection_to_spare(&self) -> Result<Option<Connection>> {
        let Some(leases) = &self.leases else { return self.open_connection().map(Some) };
        let Some(lease) = leases.take_now(false) else { return Ok(None) };
        let mut connection = self.open_connection()?;
        connection.lease = Some(lease);
        Ok(Some(connection))
    }

    fn open_connection(&self) -> Result<Connection> {
        match self.idle.take() {
            Some(connection) => Ok(connection),
            None => {
                let connection = Connection::open_in(&self.room)?;
                connection.cell.pages.belong_to(&self.counters);
                Ok(connection)
            }
        }
    }

    /// The committed schema.
    pub fn catalog(&self) -> Arc<Catalog> {
        self.catalog.read().clone()
    }

    /// The connection that is always there (None after shutdown): for look-ups of committed state.
    /// Whether a query of one truth value is true of the database as it is committed. (A table that a transaction has made is not there.)
    pub(crate) fn was_committed(&self, sql: &str, parameters: &[pgsqlite_types::Datum]) -> bool {
        let keeper = self.keeper();
        let row = keeper.as_ref().and_then(|connection| connection.first_row(sql, parameters).ok().flatten());
        row.is_some_and(|row| row.first() == Some(&pgsqlite_types::Datum::Int(1)))
    }

    pub(crate) fn keeper(&self) -> parking_lot::MutexGuard<'_, Option<Connection>> {
        self.keeper.lock()
    }

    /// Changes with the committed schema: whoever has asked for this number and then for the catalog has that of now as long as the
    /// number is the same. To ask costs no write to memory that the sessions share.
    pub(crate) fn published(&self) -> u64 {
        self.published.load(Ordering::Acquire)
    }

    fn set_catalog(&self, catalog: Arc<Catalog>) {
        let epoch = catalog.epoch;
        let old = std::mem::replace(&mut *self.catalog.write(), catalog);
        self.published.fetch_add(1, Ordering::Release);
        // what is thrown away may be large: nobody waits for that
        crate::discard::discard((old, self.plans.keep_only(epoch)));
    }

    /// The catalog that a committed transaction has left behind, with SQLite's number of its schema.
    pub(crate) fn publish(&self, catalog: Arc<Catalog>, version: Option<i64>) {
        let mut cookie = self.cookie.lock();
        if let Some(version) = version {
            *cookie = version;
        }
        self.set_catalog(catalog);
    }

    /// Notices a change of the schema by another program, and reads the catalog anew. While nobody else commits, that is a look at
    /// memory; after a commit of another program it costs a read transaction of SQLite. `connection`: one that has no transaction open,
    /// or has just begun to write.
    pub(crate) fn refresh(&self, connection: Option<&Connection>) -> Result<()> {
        if !self.room.has_changed() {
            return Ok(());
        }
        // who publishes a catalog waits meanwhile: what is read here is never older than what is there
        let mut cookie = self.cookie.lock();
        if !self.room.has_changed() {
            return Ok(());
        }
        self.read_catalog(&mut cookie, connection, false)
    }

    /// Reads the catalog anew, whether or not the schema has changed: for tests.
    pub(crate) fn reread(&self, connection: Option<&Connection>) -> Result<()> {
        self.read_catalog(&mut self.cookie.lock(), connection, true)
    }

    fn read_catalog(&self, cookie: &mut i64, connection: Option<&Connection>, always: bool) -> Result<()> {
        let mark = self.room.mark();
        let keeper = self.keeper.lock();
        // a connection that is reading may see a state from before the last change
        let source = match (connection.filter(|c| !c.is_reading()), &*keeper) {
            (Some(connection), _) => connection,
            (None, Some(keeper)) => keeper,
            (None, None) => return Ok(()),
        };
        if always || *cookie != schema_version(source)? {
            let read = || {
                let now = schema_version(source)?;
                let mut new = store::reconcile(source.rusqlite(), &self.catalog())?;
                new.epoch = next_number();
                Ok((now, new))
            };
            let (now, new) = match source.is_autocommit() {
                true => source.in_transaction("BEGIN", read)?,
                false => read()?,
            };
            self.set_catalog(Arc::new(new));
            *cookie = now;
        }
        self.room.compared(mark);
        Ok(())
    }

    /// Before the last connection closes: the log is written back and removed, unless its name is another file's now.
    fn prepare_close(&self) {
        // what goes with its folder is not tidied up
        if self._memory.is_some() || !self.room.may_tidy(self.writer.log()) {
            if let Some(keeper) = &*self.keeper.lock() {
                keeper.leave_log();
            }
        }
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.prepare_close();
    }
}

/// Puts a file into write-ahead-log mode.
fn set_log_mode(keeper: &Connection, path: &Path, room: &Room) -> Result<()> {
    let mode: String = keeper
        .rusqlite()
        .query_row("PRAGMA journal_mode = WAL", [], |r| r.get(0))
        .map_err(|e| pgsqlite_storage::error::open_error(path, e))?;
    // where the file's header could not be written SQLite may answer "wal" all the same: another connection reads it
    let stored: String = pgsqlite_storage::vfs::open::open_file(room.path())?
        .query_row("PRAGMA journal_mode", [], |r| r.get(0))
        .map_err(|e| pgsqlite_storage::error::open_error(path, e))?;
    if mode != "wal" || stored != "wal" {
        return Err(PgError::new(
            SqlState::IO_ERROR,
            format!("\"{}\" cannot be put into write-ahead-log mode", path.display()),
        ));
    }
    Ok(())
}

/// SQLite's number of the schema, as the connection sees it.
pub(crate) fn schema_version(connection: &Connection) -> Result<i64> {
    connection
        .rusqlite()
        .prepare_cached("PRAGMA main.schema_version")
        .and_then(|mut s| s.query_row([], |r| r.get(0)))
        .map_err(|_| connection.error())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A statement that began to read before a change of the schema must not bring the catalog of before back.
    #[test]
    fn the_catalog_does_not_go_back() {
        let folder = MemoryFolder::new().expect("a folder");
        let engine = Engine::open(EngineConfig::new(Location::File(folder.file()), "test")).expect("opens");
        let reader = Connection::open(engine.room.path()).expect("opens");
        reader.exec("BEGIN").expect("begins");
        reader.take_snapshot().expect("reads");
        // another program makes a table, and its change is noticed
        let other = pgsqlite_storage::vfs::open::as_another_program(engine.room.path()).expect("opens");
        other.execute_batch("CREATE TABLE made (i INT)").expect("runs");
        let second = Connection::open(engine.room.path()).expect("opens");
        engine.refresh(Some(&second)).expect("reads");
        let known = || engine.catalog().relations.values().any(|r| r.name == "made");
        assert!(known());
        engine.refresh(Some(&reader)).expect("reads");
        assert!(known());
        reader.exec("COMMIT").expect("ends");
        engine.refresh(Some(&reader)).expect("reads");
        assert!(known());
    }
}
