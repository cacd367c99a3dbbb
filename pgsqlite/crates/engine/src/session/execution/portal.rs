//! Portals: a bound statement and where its execution stands.
//!
//! A portal that gives its rows in parts (a cursor, Execute with a row limit) must show the state of its beginning, whatever the
//! session does in between. In a READ COMMITTED block it therefore gets a connection of its own, whose snapshot stays, and outside a
//! block it keeps the session's when the session does something else; where that cannot be (own writes, temporary tables) its
//! remaining rows are read into its [`Spool`] before something else may change them.

use crate::connection::{Connection, RawStatement, Step};
use crate::plans::{Body, Prepared};
use crate::session::context::SessionContext;
use crate::session::execution::spool::{Keep, Spool};
use crate::session::execution::work::Begins;
use crate::session::executor::Executor;
use crate::session::{Execution, Flow, Format, OutputColumn, Row, RowSink, Session};
use pgsqlite_sql::parse::{ast, NodeEnum};
use pgsqlite_sql::plan::{QueryPlan, Tag};
use pgsqlite_types::codec::Context;
use pgsqlite_types::{Datum, DatumRef, PgError, Result, SqlState};
use std::sync::Arc;

/// A bound statement.
pub(in crate::session) struct Portal {
    pub prepared: Option<Arc<Prepared>>,
    /// boxed: SQLite reads bound values in place
    pub parameters: Box<[Datum]>,
    pub formats: Vec<Format>,
    /// where the parameters come from
    pub given: crate::session::protocol::rebinding::Given,
    pub(in crate::session) state: State,
    /// a connection that this portal alone reads from
    pub(in crate::session) own: Option<Connection>,
    pub spool: Spool,
    /// the row it stands on: 0 before the first, one more than there are behind the last
    pub position: u64,
    /// rows given before the sink asked to pause
    pub(in crate::session) paused: u64,
    /// of a query that locks rows on a snapshot: up to which lock it is known that the rows are what the snapshot shows
    pub(in crate::session) checked: Option<u64>,
    /// … and the next one is not: the rows before it are given, then the error
    pub(in crate::session) changed: bool,
    /// its several steps run inside SQLite's savepoint `pg_statement`
    pub(in crate::session) savepoint: bool,
    /// columns behind those that the client sees
    pub hidden: usize,
    /// the tables on whose rows WHERE CURRENT OF may work
    pub cursor_position: crate::session::execution::current_of::CursorPosition,
    /// a FETCH has met an error: it can only be closed
    pub failed: bool,
    /// rows of a statement that is no query, for a client that takes some at a time
    collected: Option<crate::session::protocol::collected::Collected>,
    /// made by DECLARE
    pub cursor: Option<crate::session::execution::cursor::Cursor>,
    /// one connection runs it, whatever its plan allows
    pub undivided: bool,
    /// how many savepoints the transaction had when it was made
    pub depth: usize,
    /// what its execution took until now
    pub spent: std::time::Duration,
}

pub(in crate::session) enum State {
    New,
    /// the last step's statement, between rows
    Running {
        statement: RawStatement,
        sql: String,
        row_waiting: bool,
    },
    /// every row is read: the rest is in the spool
    Exhausted,
    /// reading ahead failed: told when the rows before are given
    Broken(PgError),
    Done(String),
    /// the schema changed after the plan was made; nothing has been done yet
    Stale,
}

impl Portal {
    /// The connection that it reads from, if there is one already.
    pub fn connection_of<'a>(&'a mut self, executor: &'a mut Executor) -> Option<&'a mut Connection> {
        self.own.as_mut().or(executor.connection.as_mut())
    }

    pub fn new(prepared: Option<Arc<Prepared>>, parameters: Vec<Datum>, formats: Vec<Format>) -> Box<Portal> {
        Box::new(Portal {
            prepared,
            parameters: parameters.into_boxed_slice(),
            formats,
            given: Default::default(),
            state: State::New,
            own: None,
            spool: Spool::new(Keep::Nothing),
            position: 0,
            paused: 0,
            checked: None,
            changed: false,
            savepoint: false,
            failed: false,
            hidden: 0,
            cursor_position: Default::default(),
            collected: None,
            cursor: None,
            undivided: false,
            depth: 0,
            spent: Default::default(),
        })
    }

    /// A cursor whose rows are there, and which stands on one of them.
    pub fn of_rows(prepared: Arc<Prepared>, formats: Vec<Format>, rows: Vec<Vec<Datum>>, position: u64) -> Box<Portal> {
        let mut portal = Portal::new(Some(prepared), vec![], formats);
        portal.spool = Spool::new(Keep::All);
        rows.into_iter().for_each(|row| portal.spool.push(row.into()));
        portal.position = position;
        portal.state = State::Exhausted;
        portal
    }

    pub fn source(&self) -> Option<crate::session::StatementSource> {
        self.prepared.clone().map(crate::session::StatementSource)
    }

    /// As if nothing had been executed: its query is given up, and nobody has seen a row.
    pub fn begin_anew(&mut self) {
        debug_assert!(!matches!(self.state, State::Running { .. }), "its statement was given back");
        self.state = State::New;
        self.spool = Spool::new(self.spool.keep);
        self.position = 0;
        self.paused = 0;
    }

    /// Reads a bounded number of rows, and writes none.
    pub fn reads_few_rows(&self) -> bool {
        let body = self.prepared.as_ref().map(|p| &p.body);
        matches!(body, Some(Body::Plan(plan)) if plan.query.touches_few_rows && !plan.query.writes)
    }

    /// Gives one row of constants.
    pub fn is_constant(&self) -> bool {
        matches!(self.prepared.as_ref().map(|p| &p.body), Some(Body::Plan(plan)) if plan.query.constant)
    }

    /// BEGIN, COMMIT and the like.
    pub fn transaction_command(&self) -> Option<ast::TransactionStmtKind> {
        match &self.prepared.as_ref()?.statement.node {
            NodeEnum::TransactionStmt(t) => ast::TransactionStmtKind::try_from(t.kind).ok(),
            _ => None,
        }
    }

    /// Nothing has been executed yet.
    pub fn is_new(&self) -> bool {
        matches!(self.state, State::New)
    }

    /// It gave no rows and is done: such a portal runs once.
    pub fn ran_once(&self) -> bool {
        matches!(self.state, State::Done(_)) && self.prepared.as_ref().is_some_and(|p| p.columns.is_none())
    }

    pub fn columns(&self) -> Option<Arc<[OutputColumn]>> {
        let columns = self.prepared.as_ref().and_then(|p| p.columns.clone())?;
        match self.hidden {
            0 => Some(columns),
            n => Some(columns[..columns.len().saturating_sub(n)].into()),
        }
    }

    /// A cursor WITH HOLD whose transaction has committed.
    pub fn is_held(&self) -> bool {
        self.cursor.as_ref().is_some_and(|c| c.held)
    }

    /// The error that reading ahead met.
    pub fn take_error(&mut self) -> Result<()> {
        match &self.state {
            State::Broken(e) => Err(e.clone()),
            _ => Ok(()),
        }
    }

    /// The connection that it alone reads from.
    pub fn own_connection(&self) -> Option<&Connection> {
        self.own.as_ref()
    }

    /// Reads from the session's connection, with rows to come.
    fn reads_session_connection(&self) -> bool {
        self.own.is_none() && matches!(self.state, State::Running { .. })
    }
}

impl Row for RawStatement {
    fn value(&self, column: usize) -> DatumRef<'_> {
        self.column(column)
    }
}

/// Whether a query over constants failed because of a domain's constraints.
fn is_of_domain(error: &PgError) -> bool {
    matches!(error.code(), SqlState::CHECK_VIOLATION | SqlState::NOT_NULL_VIOLATION)
}

/// A row of our own making (SHOW, EXPLAIN …).
pub(in crate::session) struct OwnRow(pub Vec<Datum>);

impl Row for OwnRow {
    fn value(&self, column: usize) -> DatumRef<'_> {
        self.0[column].as_ref()
    }
}

/// The present row, to be kept.
pub(in crate::session) fn copied(statement: &RawStatement) -> Box<[Datum]> {
    (0..statement.column_count()).map(|i| statement.column(i).to_owned()).collect()
}

impl SessionContext {
    /// The connection that a portal has for itself goes back to the pool.
    fn give_back_own(&mut self, portal: &mut Portal) {
        if let Some(connection) = portal.own.take() {
            self.note_seen(&connection);
            self.notices.extend(connection.cell.take_notices());
            self.give_back_reader(connection);
        }
    }

    /// A connection that has only read goes back to the pool: one that [`SessionContext::connection_apart`] has given, or that the session
    /// has left to a portal. One that cannot end its transaction is closed.
    pub(in crate::session) fn give_back_reader(&self, connection: Connection) {
        if connection.is_autocommit() || connection.exec("ROLLBACK").is_ok() {
            self.engine.idle.put(connection);
        }
    }

    /// Whether a portal may be given up when it has to wait, and begun anew afterwards.
    fn may_wait_apart(&self, portal: &Portal, query: &QueryPlan) -> bool {
        (query.waits_apart || query.waits_aside)
            && portal.is_new()
            && portal.own.is_none()
            && portal.spool.keep == Keep::Nothing
            && !self.transaction.is_joined()
    }

    /// For pg_locks: what a data modification locks in a transaction block.
    fn note_modified(&self, query: &QueryPlan, prepared: &Prepared, catalog: &pgsqlite_sql::catalog::Catalog) {
        const ROW_EXCLUSIVE: i32 = 3;
        if query.modifies.is_empty() || !self.transaction.block().is_explicit() {
            return;
        }
        self.server.lock_relations(query.modifies.iter().copied(), ROW_EXCLUSIVE);
        // (an INSERT gives the indexes free again)
        if query.tag != Tag::Insert {
            // (the plan is of this catalog)
            let indexes = prepared.indexes.get_or_init(|| {
                query.modifies.iter().flat_map(|&t| catalog.indexes_of(t).map(|(i, _)| i.oid)).collect()
            });
            self.server.lock_relations(indexes.iter().copied(), ROW_EXCLUSIVE);
        }
    }

    /// Whether a plan needs the writer slot: it writes, locks rows, or calls functions that may write (and are told if they must not).
    fn needs_slot(&self, plan: &QueryPlan) -> bool {
        plan.writes || plan.locks_rows || plan.calls_writers && !self.is_read_only()
    }

    /// Whether a portal may read from a connection of its own: it sees what is committed, and only that.
    fn may_read_apart(&self, plan: &QueryPlan) -> bool {
        self.transaction.block().is_open() && self.sees_only_what_is_committed(plan)
    }

    /// Whether a plan that only reads would see the same on any connection whose snapshot is of now.
    fn sees_only_what_is_committed(&self, plan: &QueryPlan) -> bool {
        !self.transaction.is_in_sqlite()
            && self.transaction.catalog().is_none()
            && !self.has_temporary()
            && !plan.writes
            && !plan.calls_writers
            && !plan.locks_rows
            && plan.steps.len() == 1
    }

    /// A connection with a snapshot of now. None: the pool has none to spare.
    pub(in crate::session) fn connection_apart(&self) -> Result<Option<Connection>> {
        let Some(connection) = self.engine.connection_to_spare()? else { return Ok(None) };
        self.tell_natives(&connection);
        connection.begin_snapshot()?;
        Ok(Some(connection))
    }
}

impl Executor {
    /// Releases what a portal holds.
    pub(in crate::session) fn close(&mut self, mut portal: Box<Portal>) {
        self.stop_reading(&mut portal, State::Exhausted);
    }

    /// An error has ended a cursor, which stays until it is closed.
    pub(in crate::session) fn fail(&mut self, portal: &mut Portal) {
        self.stop_reading(portal, State::Exhausted);
        portal.failed = true;
    }

    /// Gives the statement back, and the portal's own connection.
    pub(in crate::session) fn stop_reading(&mut self, portal: &mut Portal, state: State) {
        if let State::Running { statement, sql, .. } = std::mem::replace(&mut portal.state, state) {
            if let Some(connection) = portal.own.as_mut().or(self.connection.as_mut()) {
                connection.release(&sql, statement);
            }
        }
        self.context.give_back_own(portal);
    }

    /// A statement of a block took the slot, and has changed and locked nothing: others may have it.
    fn give_back_unused_slot(&mut self, query: &QueryPlan) -> Result<()> {
        let t = &self.context.transaction;
        let in_plain_block = t.block().is_open() && t.has_slot() && !t.is_joined() && !t.is_repeatable();
        let does_no_more =
            !query.calls_writers && query.triggered.is_none() && query.rewritten.is_none() && query.steps.len() == 1;
        if in_plain_block && does_no_more && !self.portals.values().any(|p| p.reads_session_connection()) {
            self.give_slot_back()?;
        } else if self.context.transaction.is_repeatable() && query.locks_rows && does_no_more {
            self.leave_slot()?;
        }
        Ok(())
    }

    /// Runs what steps SQLite: cancel requests interrupt it, and what may take long does not hold up other sessions.
    pub(in crate::session) fn on_sqlite<R>(
        &mut self,
        portal: &mut Portal,
        begins: Begins,
        run: impl FnOnce(&mut Executor, &mut Portal) -> Result<R>,
    ) -> Result<R> {
        self.on_sqlite_noting(portal, begins, run).0
    }

    /// As [`Executor::on_sqlite`]. Returns, too, whether it lasted so long that others' tasks were handed over.
    pub(in crate::session) fn on_sqlite_noting<R>(
        &mut self,
        portal: &mut Portal,
        begins: Begins,
        run: impl FnOnce(&mut Executor, &mut Portal) -> Result<R>,
    ) -> (Result<R>, bool) {
        let interrupt = match portal.own.as_ref().or(self.connection.as_ref()) {
            // what interrupts SQLite takes back what others have done
            _ if self.context.transaction.is_joined() => None,
            connection => connection.map(Connection::interrupt_handle),
        };
        if let Some(own) = &portal.own {
            // settings may have changed since the last rows
            own.cell.update(|state| state.settings = self.context.gucs.typed.clone());
        }
        let cancel = self.context.cancel.clone();
        let result = cancel.work_noting(begins, interrupt, || run(self, portal));
        if let Some(own) = &portal.own {
            self.context.notices.extend(own.cell.take_notices());
        }
        result
    }

    /// Takes the first step of a query over constants, so that its errors come before its columns are told.
    fn start_constant(&mut self, portal: &mut Portal, plan: &QueryPlan) -> Result<()> {
        let [step] = &plan.steps[..] else { return Ok(()) };
        let begins = self.context.begins_here();
        let connection = self.connection.as_mut().ok_or_else(|| PgError::internal("no connection"))?;
        let mut statement = connection.prepare(&step.sql)?;
        // SAFETY: the portal owns the values in a box and outlives the statement's execution.
        unsafe { connection.bind_all(&mut statement, &portal.parameters)? };
        let interrupt = Some(connection.interrupt_handle());
        let first = self.context.cancel.work(begins, interrupt, || connection.step(&mut statement));
        match first {
            Ok(Step::Row) => {
                portal.state = State::Running { statement, sql: step.sql.clone(), row_waiting: true };
                Ok(())
            }
            Ok(Step::Done) => {
                connection.release(&step.sql, statement);
                Ok(())
            }
            Err(e) => {
                connection.release(&step.sql, statement);
                Err(e)
            }
        }
    }

    /// In Bind: a query over constants takes its first step, where PostgreSQL would plan (and fold constants).
    pub(in crate::session) async fn start_if_constant(&mut self, portal: &mut Portal) -> Result<()> {
        let Some(prepared) = portal.prepared.clone() else { return Ok(()) };
        if let Body::Plan(plan) = &prepared.body {
            if plan.query.constant
                && !plan.query.writes
                && self.context.transaction_status() != crate::session::TransactionStatus::Failed
            {
                self.context.statement_timestamp = pgsqlite_metadata::clock::now();
                self.context.wait_for_place().await?;
                self.begin_statement().await?;
                self.context.check_standby_isolation()?;
                self.context.transaction.set_queried();
                self.begin_read()?;
                let result = match self.start_constant(portal, &plan.query) {
                    // (not before the rows are described)
                    Err(e) if is_of_domain(&e) => Ok(()),
                    other => other,
                };
                return self.statement_result(result);
            }
        }
        Ok(())
    }

    /// Whether a portal reads from the session's connection, with rows to come.
    pub(in crate::session) fn has_open_query(&self) -> bool {
        self.portals.values().any(|p| p.reads_session_connection())
    }

    /// Before something else happens in the session: a portal that reads from its connection keeps that, and the session goes on with
    /// another. Where that cannot be, the rest of its rows is read now.
    pub(in crate::session) fn settle_portals(&mut self) {
        let reading = self.portals.values().filter(|p| p.reads_session_connection()).count();
        if reading == 0 {
            return;
        }
        let mut portals = std::mem::take(&mut self.portals);
        for portal in portals.values_mut().filter(|p| p.reads_session_connection()) {
            if reading == 1 && self.leave_connection_to(portal) {
                break;
            }
            // a request that has come already stops the statement that this makes room for
            let _ = self.on_sqlite(portal, Begins::Apart, |session, portal| {
                session.read_ahead(portal);
                Ok(())
            });
        }
        self.portals = portals;
    }

    /// Lets a portal that reads from the session's connection keep it, and takes another for the session. False: what the portal reads
    /// hangs on the session's connection, or the pool has none to spare.
    fn leave_connection_to(&mut self, portal: &mut Portal) -> bool {
        let Some(prepared) = &portal.prepared else { return false };
        let Body::Plan(plan) = &prepared.body else { return false };
        let may = self.connection_is_passing()
            && !portal.savepoint
            && !prepared.shows_session
            && self.context.sees_only_what_is_committed(&plan.query);
        // (where it cannot be opened the session goes on with the one that it has)
        let Ok(Some(other)) = (if may { self.context.engine.connection_to_spare() } else { Ok(None) }) else {
            return false;
        };
        let Some(connection) = self.connection.take() else { return false };
        self.random = connection.cell.random.replace([0, 0]);
        self.adopt(other);
        self.tell_access();
        portal.own = Some(connection);
        true
    }

    /// Reads all rows that are left into the spool. An error waits there until the rows before it are given; 53200 lets those go, because
    /// they are what takes the memory.
    pub(in crate::session) fn read_ahead(&mut self, portal: &mut Portal) {
        let end = loop {
            let State::Running { statement, row_waiting, .. } = &mut portal.state else { return };
            let Some(connection) = portal.own.as_ref().or(self.connection.as_ref()) else { return };
            let step = if std::mem::take(row_waiting) { Ok(Step::Row) } else { connection.step(statement) };
            match step {
                Ok(Step::Row) => {
                    let row = copied(statement);
                    // a row that was locked and has changed since the snapshot is an error where it would be given
                    if let Some(mark) = portal.checked {
                        if let Err(e) = self.check_locked_since(mark) {
                            portal.changed = true;
                            break State::Broken(e);
                        }
                        portal.checked = Some(self.context.engine.rows.mark());
                    }
                    portal.spool.push(row);
                }
                Ok(Step::Done) => break State::Exhausted,
                Err(e) => {
                    if e.code() == SqlState::OUT_OF_MEMORY {
                        portal.spool = Spool::new(portal.spool.keep);
                    }
                    break State::Broken(e);
                }
            }
        };
        self.stop_reading(portal, end);
    }

    /// Starts a cursor's query. It may have to begin anew: then the portal is stale.
    fn open(&mut self, portal: &mut Portal) -> Result<()> {
        let prepared = portal.prepared.clone().ok_or_else(|| PgError::internal("a cursor without a query"))?;
        let Body::Plan(plan) = &prepared.body else { return Err(PgError::internal("a cursor over no plan")) };
        let several = plan.query.steps.len() > 1;
        // READ COMMITTED keeps no snapshot on the session's connection: what cannot be read apart is read now
        let now = portal.own.is_none()
            && (several
                || !self.context.transaction.is_in_sqlite()
                || plan.query.writes
                || plan.query.calls_writers
                || plan.query.locks_rows);
        if matches!(portal.state, State::New) {
            if several {
                self.connection()?.exec("SAVEPOINT pg_statement")?;
            }
            let result = self.start(portal, &plan.query, prepared.epoch, &mut Unwanted).map(|_| ());
            if matches!(portal.state, State::Stale) {
                return match several {
                    true => self.end_savepoint(false),
                    false => Ok(()),
                };
            }
            if several {
                if result.is_ok() {
                    self.read_ahead(portal);
                }
                self.end_savepoint(result.is_ok())?;
            }
            result?;
        }
        if now {
            self.read_ahead(portal);
        }
        Ok(())
    }

    pub(in crate::session) fn end_savepoint(&mut self, keep: bool) -> Result<()> {
        let connection = self.connection()?;
        if keep {
            connection.exec("RELEASE pg_statement")
        } else if connection.is_autocommit() {
            Ok(())
        } else {
            connection.exec("ROLLBACK TO pg_statement; RELEASE pg_statement")
        }
    }
}

impl Session {
    /// Executes a portal, or goes on with it.
    pub(in crate::session) async fn run_portal(
        &mut self,
        portal: &mut Portal,
        max_rows: u64,
        sink: &mut dyn RowSink,
    ) -> Result<Execution> {
        let result = loop {
            let once = self.run_portal_once(portal, max_rows, sink).await;
            self.executor.leave_silence()?;
            if let Some(result) = once.transpose() {
                break result;
            }
        };
        self.executor.context.server.end_turn(&self.executor.context.engine);
        result
    }

    /// None: it has to be executed anew, and nothing has happened yet.
    async fn run_portal_once(
        &mut self,
        portal: &mut Portal,
        max_rows: u64,
        sink: &mut dyn RowSink,
    ) -> Result<Option<Execution>> {
        let Some(mut prepared) = portal.prepared.clone() else { return Ok(Some(Execution::Empty)) };
        self.executor.context.check_not_failed(&prepared.statement.node)?;
        if let State::Done(tag) = &portal.state {
            // executed again after it ended: nothing more comes
            return Ok(Some(Execution::Complete(tag_of_rerun(tag))));
        }
        let began_without =
            !self.executor.context.transaction.has_slot() && !self.executor.context.transaction.has_begun();
        if matches!((&prepared.body, &portal.state), (Body::Plan(_), State::New)) {
            if let Err(e) = self.begin_plan(portal, &mut prepared, max_rows > 0).await {
                // a lock that cannot be had, and what others have written, is met when rows are read
                let of_rows = |plan: &QueryPlan| match e.code() {
                    SqlState::LOCK_NOT_AVAILABLE => plan.locks_rows,
                    SqlState::SERIALIZATION_FAILURE => !plan.writes,
                    // PostgreSQL computes constants while it plans, and asks domains while it runs
                    _ => plan.constant && is_of_domain(&e),
                };
                if let (Body::Plan(plan), Some(columns)) = (&prepared.body, &prepared.columns) {
                    if of_rows(&plan.query) {
                        sink.columns(columns)?;
                    }
                }
                return Err(e);
            }
            // a query over constants has taken its first step
            if let (State::Running { .. }, Some(columns)) = (&portal.state, &prepared.columns) {
                sink.columns(columns)?;
            }
        }
        match &prepared.body {
            Body::Utility => {
                if let (true, None, Some(columns)) = (max_rows > 0, &portal.collected, &prepared.columns) {
                    let collected = self.collect(&prepared, portal).await?;
                    sink.columns(columns)?;
                    portal.collected = Some(collected);
                }
                let execution = match &mut portal.collected {
                    Some(collected) => self.executor.context.give_collected(collected, max_rows, sink)?,
                    None => self.run_utility(&prepared, portal, sink).await?,
                };
                if let Execution::Complete(tag) = &execution {
                    portal.state = State::Done(tag.clone());
                }
                Ok(Some(execution))
            }
            Body::Plan(plan) => {
                let query = &plan.query;
                if let Some((cursor, tables)) = &query.current_of {
                    self.executor.show_current(cursor, tables)?;
                }
                let fresh = portal.is_new();
                let locked_before = if query.locks_rows { self.executor.context.engine.rows.mark() } else { 0 };
                portal.changed = false;
                portal.checked =
                    (query.locks_rows && self.executor.context.transaction.is_repeatable()).then_some(locked_before);
                let told = sink.mark();
                let mark = self.executor.context.may_wait_apart(portal, query).then_some(told).flatten();
                if mark.is_some() {
                    self.executor.context.begin_apart(query.waits_aside);
                }
                self.executor.note_statement();
                if fresh && (query.writes || query.locks_rows || query.calls_writers) {
                    self.executor.heed(query, mark.is_some())?;
                }
                let mut result = self.executor.run_on_sqlite(portal, &prepared, query, max_rows, sink);
                if self.executor.context.end_beside_silence(locked_before)? {
                    self.executor.stop_reading(portal, State::Exhausted);
                    told.into_iter().for_each(|mark| sink.take_back(mark));
                    portal.begin_anew();
                    return Ok(None);
                }
                if let Ok(Execution::Complete(_)) = &result {
                    result = self.executor.check_touched().and(result);
                    if query.locks_rows && result.is_ok() {
                        result = self.executor.check_locked_since(locked_before).and(result);
                    }
                }
                if let Some(other) = self.executor.in_the_way(query, &result)? {
                    self.executor.stop_reading(portal, State::Exhausted);
                    self.executor.leave_silence()?;
                    self.executor.step_aside(other).await?;
                    told.into_iter().for_each(|mark| sink.take_back(mark));
                    portal.begin_anew();
                    return Ok(None);
                }
                if query.current_of.is_some() {
                    if let Some(connection) = &self.executor.connection {
                        connection.cell.rows.current.take();
                    }
                }
                if matches!(portal.state, State::Stale) {
                    portal.state = State::New;
                    return Ok(None);
                }
                if let Some(mark) = mark {
                    if query.waits_aside && self.executor.context.server.wants_apart() {
                        self.executor.stop_reading(portal, State::Exhausted);
                        // (what cannot be put aside keeps the slot)
                        self.executor.make_way()?;
                    }
                    if self.executor.wait_apart().await? {
                        // nothing has happened yet
                        sink.take_back(mark);
                        portal.begin_anew();
                        return Ok(None);
                    }
                }
                let result = match (&query.triggered, &query.rewritten) {
                    (_, Some(_)) => result,
                    // (what the triggers have made of the row cannot be told again)
                    (Some(_), _) => result,
                    (None, None) => result.map_err(|e| self.executor.diagnose(&prepared, &portal.parameters, e)),
                };
                let result = match result {
                    Ok(Execution::Complete(tag)) if query.writes && !tag.ends_with(" 0") => {
                        self.executor.note_plan_writes(query).map(|()| Execution::Complete(tag))
                    }
                    other => other,
                };
                let result = match result {
                    // (a function that the query has called may have changed data, too)
                    Ok(Execution::Complete(tag)) if !query.modifies.is_empty() || query.calls_writers => {
                        self.executor.check_constraints(Some(query.tag)).map(|()| Execution::Complete(tag))
                    }
                    other => other,
                };
                let result = self.executor.statement_result(result);
                if let Ok(Execution::Complete(tag)) = &result {
                    portal.state = State::Done(tag.clone());
                }
                if began_without && result.is_ok() {
                    let unused = matches!(&result, Ok(Execution::Complete(tag)) if tag.ends_with(" 0"));
                    if unused || query.locks_rows && !query.writes {
                        self.executor.give_back_unused_slot(query)?;
                    }
                }
                result.map(Some)
            }
        }
    }

    /// Makes the session ready to run a plan. A plan that was made before the schema changed is made anew: constraints and
    /// defaults are part of it, so the old one would store what the new schema forbids. `partial`: its rows are wanted in parts.
    pub(in crate::session) async fn begin_plan(
        &mut self,
        portal: &mut Portal,
        prepared: &mut Arc<Prepared>,
        partial: bool,
    ) -> Result<()> {
        self.executor.context.wait_for_place().await?;
        self.executor.begin_statement().await?;
        self.executor.context.check_standby_isolation()?;
        self.executor.context.transaction.set_queried();
        let had_slot = self.executor.context.transaction.has_slot();
        loop {
            let Body::Plan(plan) = &prepared.body else { return Err(PgError::internal("not a plan")) };
            if self.executor.context.transaction.block().is_explicit() {
                self.executor.context.server.note_read(prepared);
            }
            if plan.query.locks_rows && plan.query.tag == Tag::Select {
                self.executor.context.check_may_write_named(|| pgsqlite_sql::command::tag(&prepared.statement.node))?;
            }
            // (who waits in these goes on with another state of the catalog)
            self.executor.heed_locks(&plan.query).await?;
            self.executor.note_plan_reads(prepared, &plan.query, &portal.parameters)?;
            if self.executor.context.changes_temporary_alone(&plan.query) && self.executor.begin_temporary()? {
                // others may write meanwhile
            } else if !partial && self.executor.begin_beside_silence(&plan.query).await? {
                // nobody writes meanwhile
                if !self.executor.context.locked_for_plan(&plan.query).is_empty() {
                    self.executor.leave_silence()?;
                    continue;
                }
            } else if self.executor.context.needs_slot(&plan.query) {
                if self.executor.context.transaction.is_repeatable() && plan.query.locks_rows && !plan.query.writes {
                    // it reads its snapshot, and writes nothing
                    self.executor.begin_read()?;
                }
                let tag = command(plan.query.tag);
                match self.executor.context.transaction.is_repeatable()
                    && self.executor.may_write_beside(&plan.query)?
                {
                    true => {
                        self.executor.context.check_may_write(tag)?;
                        self.executor.begin_beside().await?;
                    }
                    false => self.executor.begin_write(tag, plan.query.shares && !partial).await?,
                }
                if self.executor.is_locked_meanwhile(&plan.query, had_slot)? {
                    continue;
                }
            } else if self.executor.context.reads_what_is_aside(&plan.query) {
                self.executor.begin_slot(false).await?;
            } else {
                self.executor.begin_read()?;
            }
            let view = self.executor.context.view();
            if prepared.epoch == view.catalog.epoch && prepared.role == view.role {
                break;
            }
            let new = self.plan_anew(portal, prepared)?;
            if let Body::Plan(plan) = &new.body {
                if self.executor.context.transaction.is_joined() && !plan.query.shares {
                    self.executor.withdraw()?;
                }
            }
            *prepared = new;
            portal.prepared = Some(prepared.clone());
            // natives see the catalog that the new plan was made for
            self.executor.begin_statement().await?;
        }
        let view = self.executor.context.view();
        if prepared.shows_session {
            self.show_session()?;
        }
        if let Body::Plan(plan) = &prepared.body {
            self.executor.context.note_modified(&plan.query, prepared, &view.catalog);
            let context = &self.executor.context;
            let apart = match partial {
                true => context.may_read_apart(&plan.query),
                false => {
                    !portal.undivided
                        && context.gathers(&plan.query)
                        && context.sees_only_what_is_committed(&plan.query)
                }
            };
            if apart && !prepared.shows_session {
                portal.own = self.executor.context.connection_apart()?;
            }
            if plan.query.constant && portal.own.is_none() && matches!(portal.state, State::New) {
                self.executor.start_constant(portal, &plan.query)?;
            }
        }
        Ok(())
    }

    /// Plans a cursor's query and starts it without giving a row: the state it shows is that of now. While others change the schema
    /// in between, it begins anew.
    pub(in crate::session) async fn begin_and_open(
        &mut self,
        portal: &mut Portal,
        prepared: &mut Arc<Prepared>,
    ) -> Result<()> {
        loop {
            self.begin_plan(portal, prepared, true).await?;
            let opened = self.executor.on_sqlite(portal, Begins::Apart, |executor, portal| executor.open(portal));
            if let Some(other) = self.executor.context.server.met() {
                portal.begin_anew();
                self.executor.step_aside(other).await?;
                continue;
            }
            opened?;
            if !matches!(portal.state, State::Stale) {
                return Ok(());
            }
            portal.begin_anew();
            self.executor.context.give_back_own(portal);
        }
    }
}

/// A sink that drops the rows of a statement whose rows nobody gets.
pub(in crate::session) struct Unwanted;

impl RowSink for Unwanted {
    fn columns(&mut self, _columns: &Arc<[OutputColumn]>) -> Result<()> {
        Ok(())
    }
    fn row(&mut self, _row: &dyn Row, _context: &Context) -> Result<Flow> {
        Ok(Flow::Continue)
    }
}

/// The command's name in messages.
pub(in crate::session) fn command(tag: Tag) -> &'static str {
    match tag {
        // a SELECT that writes calls nextval() or locks rows
        Tag::Select => "SELECT",
        Tag::Insert => "INSERT",
        Tag::Update => "UPDATE",
        Tag::Delete => "DELETE",
        Tag::Merge => "MERGE",
    }
}

pub(in crate::session) fn tag(tag: Tag, n: u64) -> String {
    let command = match tag {
        Tag::Select => "SELECT ",
        Tag::Insert => "INSERT 0 ",
        Tag::Update => "UPDATE ",
        Tag::Delete => "DELETE ",
        Tag::Merge => "MERGE ",
    };
    [command, itoa::Buffer::new().format(n)].concat()
}

/// A finished portal executed again gives no rows: its tag counts none.
fn tag_of_rerun(tag: &str) -> String {
    match tag.rsplit_once(' ') {
        Some((word, n)) if n.bytes().all(|b| b.is_ascii_digit()) => format!("{word} 0"),
        _ => tag.to_string(),
    }
}
