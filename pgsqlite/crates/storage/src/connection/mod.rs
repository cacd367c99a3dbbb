//! A SQLite connection of ours, with its statements, its snapshot and its natives.
//!
//! What the natives are is not this crate's affair: whoever opens connections says so by a type with the trait [`Natives`].

mod branch;
pub mod patience;
mod snapshots;
mod wide;
#[cfg(test)]
pub(crate) mod without_natives;

use crate::changes::recorder::Recorder;
use crate::error;
use crate::error::sqlite_error;
use crate::files::Room;
use crate::lru_cache::LruCache;
pub use crate::sqlite_statement::{Counted, RawStatement, Step};
use crate::vfs::open::{count_loops, open_file};
use crate::vfs::Reading;
use crate::written::Written;
use libsqlite3_sys as ffi;
use parking_lot::Mutex;
use patience::Patience;
use pgsqlite_types::{Datum, PgError, Result, SqlState};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ffi::c_int;
use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::sync::Arc;

/// To so many bytes a longer log is cut when SQLite begins it anew: one that grew beside a long reader, or by a large transaction.
pub const LOG_KEPT: i64 = 16 << 20;
/// Prepared statements kept per connection.
const STATEMENT_CACHE: usize = 128;
/// The bytes of their texts together.
const STATEMENT_BYTES: usize = 1 << 20;

/// What the connections of a program have besides SQLite's own functions. A type without values has this trait: all that is known of one
/// connection's natives is in its cell.
///
/// # Safety
/// [`Natives::written`] and [`Natives::recorder`] return the same allocation as long as the cell lives: SQLite has its address.
pub unsafe trait Natives: Sized + 'static {
    /// What the natives of one connection share with its user.
    type Cell: Send + Sync;

    /// Registers the natives on a connection that has just been opened. Returns their cell, which lives as long as the connection.
    fn register(connection: &rusqlite::Connection) -> Result<Arc<Self::Cell>>;

    /// Finalizes the statements that the natives have prepared. The connection is about to close.
    fn finalize(cell: &Self::Cell);

    /// Clears what the natives keep in the connection's temporary databases. The connection is about to wait for its next user.
    fn clear(connection: &Connection<Self>);

    /// The rows that the connection has written, of the tables that are watched.
    fn written(cell: &Self::Cell) -> &Arc<Mutex<Written>>;

    /// What the connection's transaction has changed.
    fn recorder(cell: &Self::Cell) -> &Arc<Mutex<Recorder>>;

    /// How many rows the connection had changed before its transaction could write.
    fn changes_before(cell: &Self::Cell) -> &Cell<i64>;

    /// Whether a native has made temporary objects since this was asked last.
    fn has_made_temporary(cell: &Self::Cell) -> bool;

    /// Adds the pages that the connection has read to the counters of its database.
    ///
    /// # Safety
    /// `db` is the live connection of the cell, and this thread uses it.
    unsafe fn count_pages(cell: &Self::Cell, db: *mut ffi::sqlite3);

    /// The error behind an error that a native has given to SQLite, which carries only a text. It is forgotten afterwards.
    fn take_error(cell: &Self::Cell) -> Option<PgError>;

    /// The error for a code and a message of SQLite's, by what the natives know of the tables: [`error::from_sqlite`] knows nothing of them.
    fn statement_error(cell: &Self::Cell, code: c_int, message: &str) -> PgError;
}

/// Finalizes the natives' statements before their connection closes.
struct Finalizes<N: Natives>(Arc<N::Cell>);

impl<N: Natives> Drop for Finalizes<N> {
    fn drop(&mut self) {
        N::finalize(&self.0);
    }
}

/// A step of SQLite's plan (<https://www.sqlite.org/eqp.html>).
#[derive(Debug, Clone, PartialEq)]
pub struct PlanStep {
    /// greater than 0
    pub id: i64,
    /// the step that it is a part of; 0: none
    pub parent: i64,
    /// what is done, in words
    pub detail: String,
}

/// A connection with its natives, its statement cache and the cell through which natives see the session.
pub struct Connection<N: Natives>(Box<Parts<N>>);

/// Boxed: a connection changes hands several times a statement.
pub struct Parts<N: Natives> {
    // order matters: statements are finalized before the connection closes
    /// by their text; None: it is in use
    cache: LruCache<String, Option<RawStatement>>,
    _finalizes: Finalizes<N>,
    /// BEGIN, COMMIT and the like
    commands: RefCell<Vec<(&'static str, RawStatement)>>,
    conn: rusqlite::Connection,
    /// through which its natives see the session
    pub cell: Arc<N::Cell>,
    /// it may have temporary objects
    temporary: Cell<bool>,
    interrupt: Arc<rusqlite::InterruptHandle>,
    /// by its text: what each statement did, while that is recorded
    recorded: Option<HashMap<String, Vec<Counted>>>,
    /// what it has seen of the log; None: its files are not those of our VFS
    reading: Option<Reading>,
    /// its place among the pool's leased connections; given back with the connection
    pub lease: Option<crate::lease::Lease>,
    /// the files are the database's as long as a connection is open
    room: Option<Arc<Room>>,
    /// SQLite's busy handler has its address
    patience: Patience,
    /// it has a wide page cache
    wide: Option<crate::vfs::caches::Grant>,
}

impl<N: Natives> Drop for Parts<N> {
    fn drop(&mut self) {
        self.count_pages();
    }
}

impl<N: Natives> Parts<N> {
    /// Adds the pages that it has read to the counters of its database.
    fn count_pages(&self) {
        // SAFETY: the connection is open until its parts are dropped.
        unsafe { N::count_pages(&self.cell, self.conn.handle()) };
    }
}

impl<N: Natives> Deref for Connection<N> {
    type Target = Parts<N>;
    fn deref(&self) -> &Parts<N> {
        &self.0
    }
}

impl<N: Natives> DerefMut for Connection<N> {
    fn deref_mut(&mut self) -> &mut Parts<N> {
        &mut self.0
    }
}

impl<N: Natives> Connection<N> {
    /// A connection to the database that the engine has open.
    pub fn open_in(room: &Arc<Room>) -> Result<Connection<N>> {
        Connection::<N>::open(room.path())?.enter(room)
    }

    /// As [`Connection::open_in`], for a file that is never synced: SQLite reads the schema with the first statement that needs it, and has its own
    /// size for the cache.
    pub fn open_unread(room: &Arc<Room>) -> Result<Connection<N>> {
        Connection::<N>::open_with(room.path(), "PRAGMA foreign_keys = ON; PRAGMA temp_store = FILE;")?.enter(room)
    }

    fn enter(mut self, room: &Arc<Room>) -> Result<Connection<N>> {
        // another file may have come to the path
        room.check_open(self.has_moved())?;
        self.room = Some(room.clone());
        Ok(self)
    }

    /// Sorts and sets of rows that outgrow their caches go to temporary files. (A sort has the memory of `cache_size`, see `vfs/caches.rs`.)
    pub fn open(path: &Path) -> Result<Connection<N>> {
        let usual = "PRAGMA foreign_keys = ON; PRAGMA synchronous = NORMAL; PRAGMA temp_store = FILE;";
        Connection::open_with(path, &[usual, wide::CACHE_SIZE].concat())
    }

    fn open_with(path: &Path, settings: &str) -> Result<Connection<N>> {
        let conn = open_file(path)?;
        let setup = || -> rusqlite::Result<()> {
            conn.execute_batch(settings)?;
            conn.pragma_update(None, "journal_size_limit", LOG_KEPT)?;
            // (`crate::writer` writes the log back)
            conn.pragma_update(None, "wal_autocheckpoint", 0)
        };
        setup().map_err(|e| error::open_error(path, e))?;
        let cell = N::register(&conn)?;
        let interrupt = Arc::new(conn.get_interrupt_handle());
        // SAFETY: a live connection of this thread.
        let reading = unsafe { crate::vfs::reading_of(conn.handle()) };
        // SQLite opens a file to read if it cannot be opened to write now, and the connection would stay so
        if conn.is_readonly(rusqlite::MAIN_DB).map_err(|e| error::open_error(path, e))? {
            return Err(PgError::new(
                SqlState::IO_ERROR,
                format!("database file \"{}\" cannot be opened to write now", path.display()),
            ));
        }
        let connection = Connection(Box::new(Parts {
            cache: LruCache::new(STATEMENT_CACHE, STATEMENT_BYTES),
            _finalizes: Finalizes(cell.clone()),
            commands: RefCell::default(),
            conn,
            cell,
            temporary: Cell::new(false),
            interrupt,
            recorded: None,
            reading,
            lease: None,
            room: None,
            patience: Patience::default(),
            wide: None,
        }));
        connection.wait_for_others();
        Ok(connection)
    }

    /// The connection as rusqlite has it: for DDL and the store.
    pub fn rusqlite(&self) -> &rusqlite::Connection {
        &self.conn
    }

    /// What interrupts the connection, from any thread.
    pub fn interrupt_handle(&self) -> Arc<rusqlite::InterruptHandle> {
        self.interrupt.clone()
    }

    /// Whether no transaction is open.
    pub fn is_autocommit(&self) -> bool {
        self.conn.is_autocommit()
    }

    /// Whether its transaction holds SQLite's write lock.
    pub fn is_writing(&self) -> bool {
        self.transaction_state() == ffi::SQLITE_TXN_WRITE && !self.is_branch()
    }

    /// Whether it reads from a snapshot that may not be the last one.
    pub fn is_reading(&self) -> bool {
        self.transaction_state() == ffi::SQLITE_TXN_READ || self.is_branch()
    }

    /// Whether SQLite has begun to write, also beside the log.
    pub fn has_begun_to_write(&self) -> bool {
        self.transaction_state() == ffi::SQLITE_TXN_WRITE
    }

    fn transaction_state(&self) -> c_int {
        // SAFETY: a live connection and a name that ends with a null byte (rusqlite would copy it first).
        unsafe { ffi::sqlite3_txn_state(self.handle(), c"main".as_ptr()) }
    }

    /// The number of the last commit that may have been seen through this connection.
    pub fn seen(&self) -> u64 {
        self.reading.as_ref().map_or(u64::MAX, Reading::seen)
    }

    /// Forgets the pages that it has read, so that it marks what it reads again. To be called outside of transactions.
    pub fn forget_pages(&self) -> Result<()> {
        self.rusqlite().release_memory().map_err(sqlite_error)
    }

    /// It has made this commit.
    pub fn mark_seen(&self, commit: u64) {
        if let Some(reading) = &self.reading {
            reading.mark(commit);
        }
    }

    /// Keeps this process from beginning the log anew while the pin lives. None: that cannot be had.
    pub fn pin_log(&self) -> Option<crate::vfs::Pin> {
        // SAFETY: a live connection of this thread.
        unsafe { crate::vfs::pin_log(self.handle()) }
    }

    /// Whether all that was seen through it is on disk.
    fn is_settled(&self) -> bool {
        self.reading.as_ref().is_none_or(|r| !r.progress.has_unsynced() || r.is_settled())
    }

    /// It is this session's from now on.
    pub fn belongs_to(&self, session: u64) {
        if let Some(reading) = &self.reading {
            reading.belongs_to(session);
        }
    }

    /// What it sees of its database's log.
    pub fn reading(&self) -> Reading {
        self.reading.clone().unwrap_or_default()
    }

    /// SQLite's handle, which is valid as long as the connection is.
    pub fn handle(&self) -> *mut ffi::sqlite3 {
        // SAFETY: used only while self lives.
        unsafe { self.conn.handle() }
    }

    /// To be called before temporary objects may be made.
    pub fn expect_temporary(&self) {
        self.temporary.set(true);
    }

    /// Whether the connection has temporary tables: then it belongs to its session.
    pub fn has_temporary(&self) -> bool {
        if N::has_made_temporary(&self.cell) {
            self.temporary.set(true);
        }
        if self.temporary.get() {
            let found = self
                .conn
                .prepare_cached("SELECT EXISTS (SELECT 1 FROM temp.sqlite_schema)")
                .and_then(|mut s| s.query_row([], |r| r.get::<_, bool>(0)))
                .unwrap_or(true);
            self.temporary.set(found);
        }
        self.temporary.get()
    }

    /// Rows changed by the last statement.
    pub fn changes(&self) -> u64 {
        // SAFETY: a live connection.
        unsafe { ffi::sqlite3_changes64(self.handle()) as u64 }
    }

    /// What the connection changes from now on is its transaction's.
    pub fn begins_to_write(&self) {
        // SAFETY: a live connection.
        N::changes_before(&self.cell).set(unsafe { ffi::sqlite3_total_changes64(self.handle()) });
    }

    /// How many rows its transaction has changed since [`Connection::begins_to_write`].
    pub fn changes_of_transaction(&self) -> i64 {
        // SAFETY: a live connection.
        unsafe { ffi::sqlite3_total_changes64(self.handle()) - N::changes_before(&self.cell).get() }
    }

    /// Runs a transaction of our own: `begin` (BEGIN, BEGIN IMMEDIATE), what `run` does, and COMMIT. After an error there is no transaction.
    pub fn in_transaction<R>(&self, begin: &'static str, run: impl FnOnce() -> Result<R>) -> Result<R> {
        self.command(begin)?;
        let result = run().and_then(|value| self.command("COMMIT").map(|()| value));
        result.inspect_err(|error| self.give_up(error))
    }

    /// ROLLBACK of a transaction of our own that has failed.
    fn give_up(&self, error: &PgError) {
        if !self.is_autocommit() {
            if let Err(other) = self.command("ROLLBACK") {
                tracing::error!(%error, %other, "a transaction that has failed cannot be ended");
            }
        }
    }

    /// BEGIN of a transaction that sees what is committed now. After an error there is no transaction.
    pub fn begin_snapshot(&self) -> Result<()> {
        self.command("BEGIN")?;
        self.take_snapshot().inspect_err(|error| self.give_up(error))
    }

    /// Takes the snapshot of a transaction that has read nothing yet: it sees what is committed now.
    pub fn take_snapshot(&self) -> Result<()> {
        self.conn
            .prepare_cached("SELECT count(*) FROM (SELECT 1 FROM main.sqlite_schema LIMIT 1)")
            .and_then(|mut s| s.query_row([], |_| Ok(())))
            .map_err(|_| self.error())
    }

    /// Runs one statement of our own without parameters that comes again and again (BEGIN, COMMIT …): it stays prepared.
    pub fn command(&self, sql: &'static str) -> Result<()> {
        let mut commands = self.commands.borrow_mut();
        let at = match commands.iter().position(|(text, _)| *text == sql) {
            Some(at) => at,
            None => {
                commands.push((sql, self.prepare_now(sql)?));
                commands.len() - 1
            }
        };
        let result = self.step(&mut commands[at].1).map(drop);
        // SAFETY: a live statement; the result of reset repeats the step's.
        unsafe { ffi::sqlite3_reset(commands[at].1.stmt) };
        result
    }

    /// COMMIT. `keeps_schema`: the transaction has not changed the schema, which nobody needs to compare after it. Returns whether SQLite
    /// has written anything since the last COMMIT here: if not, there is nothing to sync.
    pub fn commit(&self, keeps_schema: bool) -> Result<bool> {
        let room = self.room.as_ref().filter(|_| keeps_schema);
        let before = room.and_then(|room| room.commits_compared());
        self.command("COMMIT")?;
        if let (Some(room), Some(before)) = (room, before) {
            room.committed(before);
        }
        Ok(self.status(ffi::SQLITE_DBSTATUS_CACHE_WRITE, true) != 0)
    }

    /// One of SQLite's figures of this connection (`SQLITE_DBSTATUS_…`), which begins anew afterwards if `reset`.
    fn status(&self, figure: c_int, reset: bool) -> c_int {
        let (mut current, mut highest) = (0, 0);
        // SAFETY: a live connection; the figures are written to the two integers.
        unsafe { ffi::sqlite3_db_status(self.handle(), figure, &mut current, &mut highest, c_int::from(reset)) };
        current
    }

    /// Runs SQL of our own without parameters.
    pub fn exec(&self, sql: &str) -> Result<()> {
        self.conn.execute_batch(sql).map_err(|_| self.error())
    }

    /// The statement for this text: from the cache or prepared anew. It comes back by [`Connection::release`].
    pub fn prepare(&mut self, sql: &str) -> Result<RawStatement> {
        self.prepare_or_find(sql).map(|(statement, _)| statement)
    }

    /// As [`Connection::prepare`]; true: it was prepared now, from the schema as it is now.
    pub fn prepare_or_find(&mut self, sql: &str) -> Result<(RawStatement, bool)> {
        if self.recorded.is_some() {
            return Ok((self.prepare_now(sql)?, true));
        }
        match self.cache.get_mut(sql).and_then(Option::take) {
            Some(statement) => Ok((statement, false)),
            None => Ok((self.prepare_now(sql)?, true)),
        }
    }

    fn prepare_now(&self, sql: &str) -> Result<RawStatement> {
        RawStatement::prepare(self.handle(), sql).map_err(|_| {
            let error = self.error();
            tracing::debug!(sql, %error, "prepare");
            error
        })
    }

    /// Gives a statement back: reset, unbound, kept for the next use.
    pub fn release(&mut self, sql: &str, statement: RawStatement) {
        if let Some(recorded) = &mut self.recorded {
            recorded.insert(sql.to_string(), statement.counted());
            return;
        }
        // SAFETY: a live statement; the result of reset repeats the last step's error, which was told already.
        unsafe {
            ffi::sqlite3_reset(statement.stmt);
            ffi::sqlite3_clear_bindings(statement.stmt);
        }
        match self.cache.get_mut(sql) {
            Some(place) => *place = Some(statement),
            None => self.cache.put(sql.to_string(), Some(statement), sql.len()),
        }
    }

    /// From now on statements are prepared anew, and what their executions did is kept when they are released.
    pub fn record(&mut self) {
        self.recorded = Some(HashMap::new());
        // SAFETY: a live connection.
        unsafe { count_loops(self.handle(), true) };
    }

    /// The end of [`Connection::record`]: what the last execution of each statement did, by its text.
    pub fn end_record(&mut self) -> HashMap<String, Vec<Counted>> {
        let Some(recorded) = self.recorded.take() else { return HashMap::new() };
        // SAFETY: a live connection.
        unsafe { count_loops(self.handle(), false) };
        recorded
    }

    /// Resets a statement that is to be run again with other values.
    pub fn reset(&self, statement: &mut RawStatement) {
        // SAFETY: a live statement; the result repeats the last step's error, which was told already.
        unsafe { ffi::sqlite3_reset(statement.stmt) };
    }

    /// How SQLite would run a statement (EXPLAIN QUERY PLAN), whose parameters need no values.
    pub fn query_plan(&self, sql: &str) -> Result<Vec<PlanStep>> {
        let prepared = self.conn.prepare(&format!("EXPLAIN QUERY PLAN {sql}"));
        let step = |row: &rusqlite::Row| Ok(PlanStep { id: row.get(0)?, parent: row.get(1)?, detail: row.get(3)? });
        let steps = prepared.and_then(|mut statement| statement.raw_query().mapped(step).collect());
        steps.map_err(|_| self.error())
    }

    /// The first row of a query of our own.
    pub fn first_row(&self, sql: &str, parameters: &[Datum]) -> Result<Option<Vec<Datum>>> {
        Ok(self.rows(sql, parameters, 1)?.pop())
    }

    /// All rows of a query of our own.
    pub fn all_rows(&self, sql: &str, parameters: &[Datum]) -> Result<Vec<Vec<Datum>>> {
        self.rows(sql, parameters, usize::MAX)
    }

    fn rows(&self, sql: &str, parameters: &[Datum], most: usize) -> Result<Vec<Vec<Datum>>> {
        use rusqlite::types::Value;
        let values = parameters.iter().map(|p| match p {
            Datum::Null => Value::Null,
            Datum::Int(i) => Value::Integer(*i),
            Datum::Real(r) => Value::Real(*r),
            Datum::Text(t) => Value::Text(t.clone()),
            Datum::Blob(b) => Value::Blob(b.clone()),
        });
        let mut statement = self.conn.prepare_cached(sql).map_err(|_| self.error())?;
        let columns = statement.column_count();
        let mut rows = statement.query(rusqlite::params_from_iter(values)).map_err(|_| self.error())?;
        let value = |row: &rusqlite::Row, i: usize| -> rusqlite::Result<Datum> {
            Ok(match row.get(i)? {
                Value::Null => Datum::Null,
                Value::Integer(i) => Datum::Int(i),
                Value::Real(r) => Datum::Real(r),
                Value::Text(t) => Datum::Text(t),
                Value::Blob(b) => Datum::Blob(b),
            })
        };
        let mut found = Vec::new();
        while found.len() < most {
            let Some(row) = rows.next().map_err(|_| self.error())? else { break };
            found.push((0..columns).map(|i| value(row, i).map_err(|_| self.error())).collect::<Result<Vec<_>>>()?);
        }
        Ok(found)
    }

    /// Whether rows of the open transaction violate foreign keys that are checked at its end.
    pub fn has_deferred_violations(&self) -> bool {
        self.status(ffi::SQLITE_DBSTATUS_DEFERRED_FKS, false) != 0
    }

    /// Whether a statement is between its rows.
    pub fn is_in_statement(&self) -> bool {
        // SAFETY: a live connection, whose statements are not finalized meanwhile.
        unsafe {
            let mut statement = ffi::sqlite3_next_stmt(self.handle(), std::ptr::null_mut());
            while !statement.is_null() {
                if ffi::sqlite3_stmt_busy(statement) != 0 {
                    return true;
                }
                statement = ffi::sqlite3_next_stmt(self.handle(), statement);
            }
        }
        false
    }

    /// Binds as many of the parameters as the statement has. They must stay in place until it is released.
    ///
    /// # Safety
    /// `values` must not be changed or dropped before the statement is released.
    pub unsafe fn bind_all(&self, statement: &mut RawStatement, values: &[Datum]) -> Result<()> {
        for i in 1..=statement.parameter_count() {
            let value = values.get(i - 1).ok_or_else(|| PgError::internal(format!("no value for parameter {i}")))?;
            // SAFETY: promised by the caller.
            if unsafe { statement.bind(i, value) } != ffi::SQLITE_OK {
                return Err(self.error());
            }
        }
        Ok(())
    }

    /// Runs a statement to its next row, or to its end. Errors: SQLite's; 53200 for a row when the session holds more than its share of
    /// the memory, because rows are what callers keep.
    pub fn step(&self, statement: &mut RawStatement) -> Result<Step> {
        // SAFETY: a live statement of this connection.
        match unsafe { ffi::sqlite3_step(statement.stmt) } {
            ffi::SQLITE_ROW => pgsqlite_types::memory::check().map(|()| Step::Row),
            ffi::SQLITE_DONE => Ok(Step::Done),
            _ => Err(self.error()),
        }
    }

    /// Forgets prepared statements (after DDL).
    pub fn clear_cache(&mut self) {
        self.cache.clear();
    }

    /// Notes from now on which rows of these tables (temporary, name in SQLite) are inserted and updated, by whatever.
    pub fn watch(&self, tables: impl Iterator<Item = (bool, String)>) {
        let mut written = N::written(&self.cell).lock();
        written.set_tables(tables);
        drop(written);
        self.listen();
    }

    /// Records changes of rows in the tables of a cursor for WHERE CURRENT OF, as far as SQLite reports them. Each table is
    /// `(is temporary, name, whether updates are recorded, too)`.
    pub fn watch_cursor<'t>(&self, tables: impl Iterator<Item = (bool, &'t str, bool)>) {
        let mut written = N::written(&self.cell).lock();
        for (temporary, table, changes) in tables {
            written.watch_cursor(temporary, table, changes);
        }
        drop(written);
        self.listen();
    }

    /// The cursors that asked for it are closed.
    pub fn forget_deletes(&self) {
        N::written(&self.cell).lock().forget_deletes();
        self.listen();
    }

    fn listen(&self) {
        // SAFETY: the connection is live, and its cell, which outlives it, holds what is written.
        unsafe { crate::written::listen(self.handle(), N::written(&self.cell)) }
    }

    /// The rows that were written since the last [`Written::clear`].
    pub fn written(&self) -> parking_lot::MutexGuard<'_, Written> {
        N::written(&self.cell).lock()
    }

    /// Records what the transaction changes from now on, or no more.
    pub fn record_changes(&self, on: bool) {
        // SAFETY: the connection is live, and its cell, which outlives it, holds the recorder.
        unsafe { crate::changes::recorder::listen(self.handle(), N::recorder(&self.cell), on) }
    }

    /// What the transaction has changed.
    pub fn recorder(&self) -> parking_lot::MutexGuard<'_, Recorder> {
        N::recorder(&self.cell).lock()
    }

    /// The last error as PostgreSQL would tell it.
    pub fn error(&self) -> PgError {
        if let Some(error) = N::take_error(&self.cell) {
            return error;
        }
        // SAFETY: a live connection; the message is copied at once.
        let (code, message) = unsafe {
            let message = std::ffi::CStr::from_ptr(ffi::sqlite3_errmsg(self.handle())).to_string_lossy().into_owned();
            (ffi::sqlite3_extended_errcode(self.handle()), message)
        };
        if code == ffi::SQLITE_ABORT_ROLLBACK && !self.is_autocommit() {
            return error::given_up();
        }
        // (an interrupt while a statement is prepared ends the making of a virtual table, which SQLite reports as an error like any other)
        // SAFETY: a live connection.
        let is_interrupted = || unsafe { ffi::sqlite3_is_interrupted(self.handle()) != 0 };
        let code = match code {
            ffi::SQLITE_ERROR if message.starts_with("vtable constructor failed") && is_interrupted() => {
                ffi::SQLITE_INTERRUPT
            }
            code => code,
        };
        N::statement_error(&self.cell, code, &message)
    }
}

/// Most connections kept open for the next session that needs one: each costs its page cache and its schema.
const MOST_IDLE: usize = 16;

/// Connections waiting to be leased.
pub struct Idle<N: Natives>(Mutex<Vec<Connection<N>>>);

impl<N: Natives> Default for Idle<N> {
    fn default() -> Self {
        Idle(Mutex::default())
    }
}

impl<N: Natives> Idle<N> {
    /// The one that was used last; while what that has seen is on its way to the disk, rather another: who reads through it might have to
    /// wait for the disk. None: there is none, or the disk has failed, and what all of them have seen may be lost.
    pub fn take(&self) -> Option<Connection<N>> {
        let mut idle = self.0.lock();
        match idle.iter().rposition(|c| c.is_settled()) {
            Some(at) => Some(idle.remove(at)),
            None => idle.pop_if(|c| !c.reading.as_ref().is_some_and(|r| r.progress.has_failed())),
        }
    }
    /// Takes a connection back: its place is free for others. It is closed if enough are idle already.
    pub fn put(&self, mut connection: Connection<N>) {
        connection.end_record();
        connection.record_changes(false);
        N::clear(&connection);
        let lease = connection.lease.take();
        let mut idle = self.0.lock();
        if idle.len() < MOST_IDLE {
            idle.push(connection);
        }
        drop(idle);
        drop(lease);
    }
    /// Closes the connections.
    pub fn clear(&self) {
        self.0.lock().clear();
    }

    /// Adds the pages that the connections have read to the counters of their database.
    pub fn count_pages(&self) {
        self.0.lock().iter().for_each(|connection| connection.count_pages());
    }
}

#[cfg(test)]
mod tests {
    use super::without_natives::Connection;
    use crate::files::Room;
    use pgsqlite_types::{PgError, SqlState};

    #[test]
    fn a_transaction_that_fails_as_it_begins_leaves_none() {
        let folder = crate::in_memory::MemoryFolder::new().expect("a folder");
        let open = || Connection::open(&folder.file()).expect("opens");
        let (a, b) = (open(), open());
        b.exec("CREATE TABLE t (i); BEGIN EXCLUSIVE").expect("no log, so nobody else may read");
        assert!(a.without_patience(|| a.begin_snapshot()).is_err());
        assert!(a.is_autocommit());
        b.exec("ROLLBACK").expect("ends");
        a.begin_snapshot().expect("reads");
        assert!(!a.is_autocommit());
        a.command("COMMIT").expect("ends");
        let failed: Result<(), PgError> = a.in_transaction("BEGIN IMMEDIATE", || {
            a.exec("INSERT INTO t VALUES (1)")?;
            Err(PgError::internal("no more"))
        });
        assert!(failed.is_err() && a.is_autocommit());
        a.in_transaction("BEGIN", || a.exec("INSERT INTO t VALUES (2)")).expect("commits");
        let rows: String = b.rusqlite().query_row("SELECT group_concat(i) FROM t", [], |r| r.get(0)).expect("reads");
        assert_eq!(rows, "2");
    }

    /// SQLite opens a file to read where it cannot be opened to write for a moment: such a connection would stay in the pool.
    #[test]
    fn a_connection_can_write() {
        use std::os::unix::fs::PermissionsExt;
        let folder = crate::in_memory::MemoryFolder::new().expect("a folder");
        let room = Room::enter(&folder.file()).expect("is made");
        drop(Connection::open_in(&room).expect("opens"));
        let permit = |mode| std::fs::set_permissions(folder.file(), std::fs::Permissions::from_mode(mode)).unwrap();
        let permit_folder = |mode| {
            let folder = folder.file().parent().expect("a folder").to_path_buf();
            std::fs::set_permissions(folder, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        permit(0o444);
        permit_folder(0o755);
        // root may write to everything: this thread is nobody for a moment
        // SAFETY: changes what this thread may do to files.
        unsafe { libc::setfsuid(65_534) };
        let opened = Connection::open(&folder.file());
        // SAFETY: as above.
        unsafe { libc::setfsuid(libc::geteuid()) };
        permit(0o644);
        permit_folder(0o700);
        assert_eq!(opened.err().map(|e| e.code()), Some(SqlState::IO_ERROR));
        Connection::open_in(&room).expect("opens again").check_writes().expect("can write");
    }
}
