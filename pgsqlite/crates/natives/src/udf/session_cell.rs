//! What the native functions of a connection may ask of the session that uses it.
//!
//! A connection has one [`SessionCell`], which its functions share. The engine fills its [`SessionState`] when it
//! leases the connection to a session and before each statement; functions read it while the statement is stepped; an
//! error that a function raises waits in the cell, because SQLite carries only a text: [`SessionCell::take_error`].

use super::shim::Call;
use crate::settings::rights::{role_name, Claimant};
use crate::settings::{cannot_be_reset, is_setting_of_server, parse_bool, search_path, Gucs, OF_TRANSACTION};
use pgsqlite_metadata::store::names::CatalogNames;
use pgsqlite_sql::catalog::{Catalog, PG_CATALOG, PUBLIC};
use pgsqlite_types::codec::{Context, NamesFor, RegNames, TypeCodec};
use pgsqlite_types::{Datum, Oid, PgError, Result, Settings, SqlState};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// The sequences of the database, as `nextval` and its friends use them. Errors: 42P01, 55000 and 2200H as PostgreSQL's.
pub trait SequenceSource {
    /// Advances the sequence and returns its new value.
    fn nextval(&self, sequence: Oid) -> Result<i64>;
    /// What `nextval` of this sequence returned last in this session.
    fn currval(&self, sequence: Oid) -> Result<i64>;
    /// What `nextval` of any sequence returned last in this session.
    fn lastval(&self) -> Result<i64>;
    /// (last_value, is_called): the row that a sequence has as a relation.
    fn state(&self, sequence: Oid) -> Result<(i64, bool)>;
    /// What nextval gave last in any session (`pg_sequence_last_value`); None: it was not called yet.
    fn last_value(&self, sequence: Oid) -> Result<Option<i64>>;
    /// The catalog in which sequences are looked up from now on.
    fn show_catalog(&self, catalog: Arc<Catalog>);
    /// SQLite numbers a row of the sequence's table: that is what `currval` and `lastval` give from now on.
    fn given(&self, sequence: Oid, value: i64);
    /// Sets the value; `called` false: the next `nextval` gives the value itself.
    fn setval(&self, sequence: Oid, value: i64, called: bool) -> Result<i64>;
    /// Stores in the running transaction where all sequences really stand.
    fn settle(&self, db: &rusqlite::Connection) -> Result<()>;
}

/// What [`SessionCell::set_effects_aside`] has put aside.
pub struct Aside {
    notices: Vec<PgError>,
    bytes: usize,
    random: [u64; 2],
    sequences: Option<HashMap<Oid, i64>>,
}

/// The settings (GUCs) of the session as `current_setting` and `set_config` use them.
pub trait Variables {
    /// The value as SHOW prints it; None: there is no such setting.
    fn get(&self, name: &str) -> Option<String>;
    /// The value in the setting's own unit.
    fn raw(&self, name: &str) -> Option<String>;
    /// Sets it for the session or (`local`) the transaction and returns the new value as SHOW prints it.
    /// Errors: those of [`Claimant::permit`], 42704, 22023.
    fn set(&self, name: &str, value: Option<&str>, local: bool, who: &Claimant) -> Result<String>;
    /// A function with these SET clauses begins, whose settings are put aside. Errors: as of `set`, and nothing is put aside then.
    fn enter(&self, settings: &[(String, String)], who: &Claimant) -> Result<SettingsMark>;
    /// It ends. Of its settings stays what its body has set for the session; what the body has set for the transaction goes.
    fn leave(&self, settings: &[(String, String)], aside: SettingsMark);
    /// All settings as they are now.
    fn all(&self) -> Arc<Gucs>;
    /// The settings as a subtransaction that begins now goes back to them if it fails.
    fn mark(&self) -> SettingsMark;
    /// They are again as they were then.
    fn go_back(&self, mark: SettingsMark);
}

/// The settings as they were at a moment within a statement.
#[derive(Clone)]
pub struct SettingsMark {
    pub values: Arc<Gucs>,
    /// how many changes the statement had made
    pub changes: usize,
}

/// The payload of a message (NOTIFY, `pg_notify`) must be shorter than this, in bytes.
pub const PAYLOAD: usize = 8000;

/// Whose a session is.
#[derive(Debug, Clone, Copy)]
pub struct Backend {
    /// The role that its client authenticated as; None: that of another database, whose roles are others.
    pub role: Option<Oid>,
    /// It is a superuser there.
    pub superuser: bool,
}

/// What the server as a whole knows.
pub trait ServerFunctions {
    /// `pg_cancel_backend`, `pg_terminate_backend`: whether there was such a session.
    fn signal(&self, pid: i32, terminate: bool) -> Result<bool>;
    /// The session with this process number.
    fn backend(&self, pid: i32) -> Option<Backend>;
    /// The program that serves the database; None: there is none.
    fn host(&self) -> Option<Arc<dyn crate::host::Host>>;
    /// `pg_notify`
    fn notify(&self, channel: &str, payload: &str) -> Result<()>;
    /// LISTEN. Errors: 25006 on a standby.
    fn listen(&self, channel: &str) -> Result<()>;
    /// UNLISTEN; None: `*`
    fn unlisten(&self, channel: Option<&str>) -> Result<()>;
    /// `pg_listening_channels`
    fn listening(&self) -> Result<Vec<String>>;
    /// `pg_try_advisory_lock…` and, waiting, `pg_advisory_lock…`: whether the lock was got.
    fn advisory_lock(&self, key: AdvisoryKey, shared: bool, transaction: bool, wait: bool) -> Result<bool>;
    /// `pg_advisory_unlock…`: whether the session held it.
    fn advisory_unlock(&self, key: AdvisoryKey, shared: bool) -> Result<bool>;
    /// `pg_advisory_unlock_all`
    fn advisory_unlock_all(&self) -> Result<()>;
    /// Locks a row of a table (by their name and number in SQLite) until the transaction ends; `mode`: 1 (KEY SHARE) to 4 (UPDATE). False: another
    /// Whether the running statement is one of a transaction block, which keeps its locks.
    fn is_in_block(&self) -> bool;
    /// transaction has it. Errors, if `wait`: the statement is to be begun anew when that transaction has ended.
    fn lock_row(&self, table: &str, rowid: i64, mode: i64, wait: bool) -> Result<bool>;
    /// The locks that the transaction has now.
    fn locks_now(&self) -> LockMark;
    /// How much the transaction has asked to be told at its end.
    fn notifications_now(&self) -> NotificationMark;
    /// What it has asked since this mark was made is nobody's.
    fn take_back_notifications(&self, mark: NotificationMark);
    /// What was done since this mark was made is undone: its locks are given back.
    fn unlock_since(&self, mark: LockMark);
    /// What the sessions of this process hold and wait for. Those that `writes` names get a transaction's number if they have none.
    fn lock_holders(&self, writes: &dyn Fn(u64) -> bool) -> Vec<LockHolder>;
    /// The prepared transactions of the database.
    fn prepared_transactions(&self) -> Vec<PreparedTransaction>;
    /// The transaction's number (`txid_current`); `assign`: it gets one if it has none.
    fn transaction_id(&self, assign: bool) -> Result<Option<u64>>;
    /// Whether a query of one truth value is true of the database without the running transaction.
    fn was_committed(&self, sql: &str, parameters: &[pgsqlite_types::Datum]) -> bool;
    /// Whether the transaction may have written to the file.
    fn has_writer_slot(&self) -> Result<bool>;
    /// Whether the transaction has written something that ROLLBACK TO took back.
    fn has_undone(&self) -> bool;
    /// What became of the transaction with this number, which is not in the future; None: that is too long ago.
    fn transaction_fate(&self, number: u64) -> Result<Option<Fate>>;
    /// The transaction's number, or the one that it would get now.
    fn latest_transaction_id(&self) -> Result<u64>;
    /// The name of the next cursor without one.
    fn next_portal(&self) -> String;
    /// The large objects that the transaction holds open.
    fn large_objects(&self) -> &parking_lot::Mutex<crate::large_object::Descriptors>;
    /// `pg_sleep`. Errors: 57014, 57P01.
    fn sleep(&self, duration: Duration) -> Result<()>;
    /// What the server counts; None: there is no server any more.
    fn statistics(&self) -> Option<Arc<crate::statistics::Statistics>>;
    /// `pg_notification_queue_usage`: how full the fullest queue of messages is, from 0 to 1.
    fn notification_usage(&self) -> Result<f64>;
    /// Which calls of functions are counted now.
    fn tracks_functions(&self) -> crate::settings::TracksFunctions;
    /// What the running transaction has counted of a function; None: nothing.
    fn own_function_counts(&self, function: Oid) -> Option<crate::statistics::functions::FunctionCounts>;
    /// A function is about to be called, which is counted: its time in the transaction before.
    fn function_begins(&self, function: Oid) -> Duration;
    /// A function was called: `total` is what the transaction has counted of it now, `own` its own time in this call.
    fn function_called(&self, function: Oid, total: Duration, own: Duration);
    /// What transactions that have ended have counted of a function, as the running one sees it; None: nothing.
    fn function_counts(&self, function: Oid) -> Option<crate::statistics::functions::FunctionCounts>;
    /// The same of what pg_stat_slru shows.
    fn slrus(&self) -> Option<[crate::statistics::slru::Slru; crate::statistics::slru::NAMES.len()]>;
    /// `pg_stat_clear_snapshot()`
    fn clear_statistics_read(&self);
    /// `pg_current_wal_lsn`, for a function of this name. Errors: 0A000, 55000.
    fn log_place(&self, function: &str) -> Result<u64>;
    /// How far the database has come, if its server was started as a standby.
    fn recovery(&self) -> Option<Arc<crate::recovery::Recovery>>;
    /// Microseconds since 2000-01-01 UTC.
    fn start_time(&self) -> i64;
}

/// What became of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    InProgress,
    Committed,
    Aborted,
}

/// The functions of the user, as natives use them.
pub trait Routines {
    /// The value itself, for those who know its type.
    fn as_any(&self) -> &dyn std::any::Any;
    /// How many of the functions that run are triggers'.
    fn trigger_depth(&self) -> usize;
    /// A value of one type as one of another, as PL/pgSQL assigns it. Errors: 42846, those of the types' input and of domains.
    fn assign(&self, c: &Call, value: Datum, from: Oid, to: Oid) -> Result<Datum>;
    /// Runs a query that a function gets as a text: the types of its columns, and its rows.
    fn queried(&self, c: &Call, text: &str) -> Result<(Vec<Oid>, Vec<Vec<Datum>>)>;
    /// Whether a block with an EXCEPTION clause runs.
    fn is_in_subtransaction(&self) -> bool;
    /// The transaction may only read from now on.
    fn only_reads_from_now(&self);
    /// 0A000 in a function that is not volatile, 25006 in a read-only transaction. `command` is its name in the message.
    fn check_may_write(&self, command: &str) -> Result<()>;
    /// 25006 in a read-only transaction.
    fn check_not_read_only(&self, command: &str) -> Result<()>;
}

/// What a transaction had asked for with LISTEN, UNLISTEN and NOTIFY at a moment.
#[derive(Debug, Clone, Copy, Default)]
pub struct NotificationMark {
    pub wishes: usize,
    pub messages: usize,
}

/// The locks that a transaction had at a moment.
#[derive(Debug, Clone, Copy, Default)]
pub struct LockMark {
    /// how many relations were noted as locked
    pub noted: usize,
    /// the last request to the database's table of locks
    pub table: u64,
    /// how many plans were noted as reading
    pub read: usize,
    /// the last lock on a row
    pub rows: u64,
}

/// The key of an advisory lock: one bigint or two integers, which never meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AdvisoryKey {
    One(i64),
    Two(i32, i32),
}

/// An advisory lock of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AdvisoryLock {
    pub key: AdvisoryKey,
    pub shared: bool,
    /// it is not held yet: since when it is waited for, microseconds since 2000-01-01 UTC
    pub waits_since: Option<i64>,
}

/// The locks of a session.
#[derive(Debug)]
pub struct LockHolder {
    /// the number that tells sessions apart
    pub session: u64,
    pub transaction: Option<u64>,
    /// with the number of the mode (1 is ACCESS SHARE, 8 ACCESS EXCLUSIVE), and since when it is waited for
    pub relations: Vec<(Oid, i32, Option<i64>)>,
    pub advisory: Vec<AdvisoryLock>,
    /// the sessions that keep it from a lock
    pub waits_for: Vec<u64>,
    /// it has the database's writer slot, and who waits for it does so for the end of its statement or transaction: not in a silence, in which
    /// others get the slot after a moment
    pub slot: bool,
}

/// A prepared transaction of the database.
#[derive(Debug)]
pub struct PreparedTransaction {
    pub gid: String,
    pub number: u64,
    /// microseconds since 2000-01-01 UTC
    pub prepared: i64,
    /// the role that has prepared it
    pub owner: Oid,
    pub locks: LockHolder,
}

/// A row of pg_prepared_statements.
pub struct PreparedRow {
    pub name: String,
    pub statement: String,
    /// microseconds since 2000-01-01 UTC
    pub prepared: i64,
    pub parameters: Vec<Oid>,
    pub from_sql: bool,
    pub executions: i64,
}

/// A row of pg_cursors.
pub struct CursorRow {
    pub name: String,
    pub statement: String,
    pub holdable: bool,
    pub binary: bool,
    pub scrollable: bool,
    /// microseconds since 2000-01-01 UTC
    pub created: i64,
}

/// What only the session knows. Filled before a statement that reads it.
#[derive(Default)]
pub struct SessionObjects {
    pub prepared: Vec<PreparedRow>,
    pub cursors: Vec<CursorRow>,
}

/// Everything the functions read. Replace fields as they change; all are cheap to clone.
pub struct SessionState {
    /// `transaction_timestamp` in it is `now()`.
    pub settings: Settings,
    pub catalog: Arc<Catalog>,
    /// Schemas in which unqualified names are looked up, pg_catalog included where the session has it.
    pub search_path: Vec<Oid>,
    /// As `search_path`, without the implicit entries: what `current_schemas(false)` shows.
    pub explicit_path: Vec<Oid>,
    pub names: Arc<dyn RegNames>,
    pub sequences: Option<Arc<dyn SequenceSource>>,
    pub variables: Option<Arc<dyn Variables>>,
    pub server: Option<Arc<dyn ServerFunctions>>,
    pub user: String,
    pub session_user: String,
    /// the role of `user`
    pub user_oid: Oid,
    /// the role of `session_user`
    pub session_oid: Oid,
    /// the role that the client authenticated as
    pub login: Oid,
    /// a function with SECURITY DEFINER runs, or a command as the owner of its table
    pub in_definer: bool,
    /// A command runs functions of a table's owner, who may be another one than whose command it is: nothing may be left for later.
    pub restricted: bool,
    pub database: String,
    /// None: the server serves one file
    pub databases: Option<pgsqlite_metadata::databases::DatabasesHandle>,
    pub backend_pid: i32,
    /// None on a Unix socket.
    pub client_addr: Option<std::net::SocketAddr>,
    pub server_addr: Option<std::net::SocketAddr>,
    /// Microseconds since 2000-01-01 UTC.
    pub statement_timestamp: i64,
    /// Tells which session and which of its views filled the state; 0: none.
    pub stamp: u64,
    /// the settings that decide how literals are read
    pub plan_key: String,
    pub objects: SessionObjects,
}

impl Default for SessionState {
    fn default() -> Self {
        SessionState {
            settings: Settings::default(),
            catalog: Arc::new(Catalog::default()),
            search_path: vec![PG_CATALOG, PUBLIC],
            explicit_path: vec![PUBLIC],
            names: Arc::new(BuiltinNames),
            sequences: None,
            variables: None,
            server: None,
            user: String::new(),
            session_user: String::new(),
            user_oid: pgsqlite_sql::catalog::BOOTSTRAP_ROLE,
            session_oid: pgsqlite_sql::catalog::BOOTSTRAP_ROLE,
            login: pgsqlite_sql::catalog::BOOTSTRAP_ROLE,
            in_definer: false,
            restricted: false,
            database: String::new(),
            databases: None,
            backend_pid: 0,
            client_addr: None,
            server_addr: None,
            statement_timestamp: 0,
            stamp: 0,
            plan_key: String::new(),
            objects: SessionObjects::default(),
        }
    }
}

impl SessionState {
    /// Another catalog is seen from now on, or along another path. The session fills the state anew for its next statement.
    pub fn show(&mut self, catalog: Arc<Catalog>) {
        if let Some(variables) = &self.variables {
            self.search_path = search_path(&variables.all(), &catalog, &self.user, self.user_oid);
            self.explicit_path.clone_from(&self.search_path);
        }
        self.names = Arc::new(OwnNames { catalog: catalog.clone(), path: self.search_path.clone() });
        self.catalog = catalog;
        self.stamp = 0;
    }

    /// From now on functions run as this role.
    pub fn act_as(&mut self, role: Oid) {
        self.user = role_name(&self.catalog, role);
        self.user_oid = role;
        self.in_definer = true;
    }

    /// Those whose statement runs, as they ask for a change of a setting.
    pub fn claimant(&self) -> Claimant<'_> {
        Claimant {
            catalog: &self.catalog,
            login: self.login,
            session: self.session_oid,
            current: self.user_oid,
            in_definer: self.in_definer,
            restricted: self.restricted,
        }
    }
}

/// Names of built-in types only: for a connection that no session has leased.
pub struct BuiltinNames;

impl RegNames for BuiltinNames {
    fn reg_name(&self, reg_type: Oid, oid: Oid) -> Option<String> {
        (reg_type == pgsqlite_types::oid::REGTYPE).then(|| pgsqlite_types::typmod::type_name(oid))?
    }
    fn reg_oid(&self, reg_type: Oid, name: &str) -> Result<Oid> {
        Err(PgError::not_supported(format!("the name \"{name}\" as type {reg_type} outside a session")))
    }
    fn reg_oid_for(&self, _: Oid, reg_type: Oid, name: &str) -> Result<Oid> {
        self.reg_oid(reg_type, name)
    }
    fn codec(&self, type_oid: Oid) -> Option<TypeCodec> {
        TypeCodec::builtin(type_oid)
    }
}

/// Names in a catalog along a search path that a running function has changed.
struct OwnNames {
    catalog: Arc<Catalog>,
    path: Vec<Oid>,
}

impl OwnNames {
    fn seen(&self) -> CatalogNames<'_> {
        CatalogNames { catalog: &self.catalog, search_path: &self.path }
    }
}

impl RegNames for OwnNames {
    fn reg_name(&self, reg_type: Oid, oid: Oid) -> Option<String> {
        self.seen().reg_name(reg_type, oid)
    }
    fn reg_oid(&self, reg_type: Oid, name: &str) -> Result<Oid> {
        self.seen().reg_oid(reg_type, name)
    }
    fn reg_oid_for(&self, role: Oid, reg_type: Oid, name: &str) -> Result<Oid> {
        self.seen().reg_oid_for(role, reg_type, name)
    }
    fn codec(&self, type_oid: Oid) -> Option<TypeCodec> {
        self.catalog.codec(type_oid)
    }
}

/// What a notice takes beside its texts.
const NOTICE: usize = 256;

/// Bytes of notices that one statement may raise.
const NOTICES: usize = 32 << 20;

/// The session side of a connection.
pub struct SessionCell {
    state: RefCell<SessionState>,
    error: RefCell<Option<PgError>>,
    notices: RefCell<Vec<PgError>>,
    /// of the notices that were raised by [`SessionCell::raise`]
    notice_bytes: Cell<usize>,
    /// something is computed once more, to tell more of an error: what sequences have given meanwhile
    pub again: RefCell<Option<HashMap<Oid, i64>>>,
    /// State of `random()`; zeros: to be seeded.
    pub random: Cell<[u64; 2]>,
    /// How many rows the connection had changed before its transaction could write.
    pub changes_before: Cell<i64>,
    pub(crate) patterns: super::pattern::Cache,
    /// What the running statement remembers of its rows.
    pub rows: super::statement_rows::StatementRows,
    /// The groups that it has made by hashing and is about to read.
    pub groups: super::groups::Made,
    /// The rows of joins that it has hashed and is about to read.
    pub hashed_rows: super::hashed_rows::Made,
    /// The functions of the user.
    pub routines: Box<dyn Routines>,
    /// The pages that the connection has read.
    pub pages: super::buffer_usage::Pages,
}

// SAFETY: a SQLite connection, and with it its cell, belongs to one thread at a time: it is handed over, never shared.
// The engine fills the cell only while it holds the connection, and functions run only inside its calls of SQLite.
unsafe impl Send for SessionCell {}
// SAFETY: as above.
unsafe impl Sync for SessionCell {}

impl SessionCell {
    /// The cell of a new connection.
    pub fn new(state: SessionState, routines: Box<dyn Routines>) -> Self {
        SessionCell {
            state: RefCell::new(state),
            error: RefCell::new(None),
            notices: RefCell::new(Vec::new()),
            notice_bytes: Cell::new(0),
            again: RefCell::new(None),
            random: Cell::new([0, 0]),
            changes_before: Cell::new(0),
            patterns: Default::default(),
            rows: Default::default(),
            groups: Default::default(),
            hashed_rows: Default::default(),
            routines,
            pages: Default::default(),
        }
    }

    /// The server, as natives ask it. Errors: 0A000 outside a session.
    pub fn server(&self) -> Result<Arc<dyn ServerFunctions>> {
        let server = self.state.borrow().server.clone();
        server.ok_or_else(|| PgError::not_supported("a function of the server outside a session"))
    }

    /// Reads the state. Must not be held while `update` runs.
    pub fn state(&self) -> std::cell::Ref<'_, SessionState> {
        self.state.borrow()
    }

    /// Runs as another role, as a function with SECURITY DEFINER of that role does.
    pub fn as_role<R>(&self, role: Oid, run: impl FnOnce() -> R) -> R {
        let (own, restricted) = (self.state().user_oid, self.state().restricted);
        match own == role {
            true => run(),
            false => self.acting(role, restricted, run),
        }
    }

    /// Runs as the owner of a table what maintains the table: its functions have no more rights than its owner has, whoever gave the command
    /// (PostgreSQL's security-restricted operation). What they make is not left for when that is over.
    pub fn as_owner<R>(&self, owner: Oid, run: impl FnOnce() -> R) -> R {
        self.acting(owner, true, run)
    }

    fn acting<R>(&self, role: Oid, restricted: bool, run: impl FnOnce() -> R) -> R {
        /// Puts the session's own role back, also where a request ends the work.
        struct Back<'a>(&'a SessionCell, Option<(String, Oid, bool, bool)>);
        impl Drop for Back<'_> {
            fn drop(&mut self) {
                if let Some(before) = self.1.take() {
                    self.0.update(|state| (state.user, state.user_oid, state.in_definer, state.restricted) = before);
                }
            }
        }
        let before = self.update(|state| {
            let before = (state.user.clone(), state.user_oid, state.in_definer, state.restricted);
            state.act_as(role);
            state.restricted = restricted;
            before
        });
        let _back = Back(self, Some(before));
        run()
    }

    /// Changes the state; only between statements (or from outside any function call).
    pub fn update<R>(&self, change: impl FnOnce(&mut SessionState) -> R) -> R {
        change(&mut self.state.borrow_mut())
    }

    /// Sets a setting as SET and `set_config` do, and returns the new value as SHOW prints it. What runs after it within the same statement
    /// follows it. Errors: those of [`Variables::set`].
    pub fn set_setting(&self, name: &str, value: Option<&str>, local: bool) -> Result<String> {
        let variables = self.state().variables.clone();
        let variables = variables.ok_or_else(|| PgError::not_supported("a setting outside a session"))?;
        self.check_characteristic(name, value, &*variables)?;
        let shown = variables.set(name, value, local, &self.state().claimant())?;
        if name.eq_ignore_ascii_case("transaction_read_only") && shown == "on" {
            self.routines.only_reads_from_now();
        }
        if is_setting_of_server(name) {
            self.follow_settings();
        }
        if let Some(seed) = value.and_then(|value| crate::settings::seed_of(name, value)) {
            self.random.set(super::numbers::seeded(seed));
        }
        Ok(shown)
    }

    /// 25001 for a setting of the transaction that a query comes too late to change, 0A000 for one without a value.
    fn check_characteristic(&self, name: &str, value: Option<&str>, variables: &dyn Variables) -> Result<()> {
        let key = name.to_ascii_lowercase();
        if !OF_TRANSACTION.contains(&key.as_str()) {
            return Ok(());
        }
        let now = variables.get(&key).unwrap_or_default();
        let new = value.ok_or_else(|| cannot_be_reset(&key))?.to_string();
        let within = self.routines.is_in_subtransaction();
        let too_late = match key.as_str() {
            "transaction_isolation" if !new.eq_ignore_ascii_case(&now) => {
                "SET TRANSACTION ISOLATION LEVEL must be called before any query"
            }
            "transaction_read_only" if now == "on" && parse_bool(&new) == Some(false) => match within {
                true => "cannot set transaction read-write mode inside a read-only transaction",
                false => "transaction read-write mode must be set before any query",
            },
            "transaction_deferrable" if within => {
                "SET TRANSACTION [NOT] DEFERRABLE cannot be called within a subtransaction"
            }
            "transaction_deferrable" => "SET TRANSACTION [NOT] DEFERRABLE must be called before any query",
            _ => return Ok(()),
        };
        Err(PgError::new(SqlState::ACTIVE_SQL_TRANSACTION, too_late))
    }

    /// Brings the state in line with the settings, which the running statement has changed: what the codecs and the analyzer read of them,
    /// the role (but within a function with SECURITY DEFINER, which has its own), and the search path.
    pub fn follow_settings(&self) {
        let Some(variables) = self.state().variables.clone() else { return };
        let settings = variables.all();
        self.update(|state| {
            let now = state.settings.transaction_timestamp;
            state.settings = settings.typed.clone();
            state.settings.transaction_timestamp = now;
            state.plan_key = settings.plan_key();
            if !state.in_definer {
                state.session_oid = settings.session_role();
                state.session_user = role_name(&state.catalog, state.session_oid);
                state.user_oid = settings.current_role();
                state.user = role_name(&state.catalog, state.user_oid);
            }
            let catalog = state.catalog.clone();
            state.show(catalog);
        });
    }

    /// The settings are again as they were at this mark.
    pub fn go_back_to_settings(&self, mark: SettingsMark) {
        let Some(variables) = self.state().variables.clone() else { return };
        if variables.all().version() != mark.values.version() {
            variables.go_back(mark);
            self.follow_settings();
        }
    }

    /// Runs with the codecs' context of the session.
    pub fn with_context<R>(&self, run: impl FnOnce(&Context) -> R) -> R {
        let state = self.state.borrow();
        let names = NamesFor { names: &*state.names, role: Some(state.user_oid) };
        run(&Context { settings: &state.settings, names: &names })
    }

    /// The object that the current role means by a name, as text of a reg type. Errors: 42501 for a schema that it may not look into,
    /// and those of [`RegNames::reg_oid`].
    pub fn reg_oid(&self, reg_type: Oid, name: &str) -> Result<Oid> {
        let state = self.state.borrow();
        state.names.reg_oid_for(state.user_oid, reg_type, name)
    }

    /// The codec of a type, built-in or of the user; 0A000 where there is none.
    pub fn codec(&self, type_oid: Oid) -> Result<TypeCodec> {
        TypeCodec::builtin(type_oid).or_else(|| self.state.borrow().catalog.codec(type_oid)).ok_or_else(|| {
            let name = pgsqlite_types::typmod::type_name(type_oid).unwrap_or_else(|| type_oid.to_string());
            PgError::not_supported(format!("type {name}"))
        })
    }

    /// The error behind a SQLite error whose text is [`MARKER`]. The engine takes it when a step or prepare fails.
    /// Whether a native has failed in the statement that runs.
    pub fn has_error(&self) -> bool {
        self.error.borrow().is_some()
    }
    /// Takes the error that a native has raised out of the cell.
    pub fn take_error(&self) -> Option<PgError> {
        self.error.borrow_mut().take()
    }
    /// Keeps the error that a native raises.
    pub fn set_error(&self, error: PgError) {
        *self.error.borrow_mut() = Some(error);
    }

    /// Whether functions have raised something since [`SessionCell::take_notices`].
    pub fn has_notices(&self) -> bool {
        !self.notices.borrow().is_empty()
    }
    /// Notices and warnings that functions raised since the last call.
    pub fn take_notices(&self) -> Vec<PgError> {
        self.notice_bytes.set(0);
        self.notices.take()
    }
    /// Before something is computed once more, to tell more of an error: what it raises, the client gets already.
    /// Sequences and the generator of random numbers do not go on by it.
    pub fn set_effects_aside(&self) -> Aside {
        let sequences = self.again.replace(Some(HashMap::new()));
        Aside { notices: self.notices.take(), bytes: self.notice_bytes.take(), random: self.random.get(), sequences }
    }
    /// After it.
    pub fn put_effects_back(&self, aside: Aside) {
        self.notices.replace(aside.notices);
        self.notice_bytes.set(aside.bytes);
        self.random.set(aside.random);
        self.again.replace(aside.sequences);
    }
    /// As [`SessionCell::notice`], for what a client decides about. The client gets notices when a statement pauses or ends, so they
    /// are kept until then. Errors: 53200 where they take more than [`NOTICES`] bytes.
    pub fn raise(&self, notice: PgError) -> Result<()> {
        let texts = [Some(notice.message()), notice.fields().detail.as_deref(), notice.fields().hint.as_deref()];
        let bytes = self.notice_bytes.get() + texts.into_iter().flatten().map(str::len).sum::<usize>() + NOTICE;
        if bytes > NOTICES {
            let limit = NOTICES >> 20;
            return Err(PgError::new(SqlState::OUT_OF_MEMORY, "out of memory")
                .detail(format!("A statement may raise at most {limit} MB of notices.")));
        }
        self.notice_bytes.set(bytes);
        self.notice(notice);
        Ok(())
    }
    /// Keeps a notice for the client, if client_min_messages lets it through now: a function may set that for what it calls.
    pub fn notice(&self, notice: PgError) {
        let least = self.state().variables.as_ref().and_then(|v| v.get("client_min_messages"));
        if least.is_none_or(|least| crate::settings::is_told(&notice, &least)) {
            self.notices.borrow_mut().push(notice);
        }
    }
}

/// The text of a SQLite error that stands for the error in the cell.
pub const MARKER: &str = "pgsqlite error";
