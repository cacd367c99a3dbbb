//! Transactions whose clients are silent do not hold up others.
//!
//! A block that has written has the writer slot. When its client is silent, the block *rests*: it lays its connection and slot where whoever
//! needs the slot finds them. Usually nobody does, and the block goes on as if nothing had happened. Whoever wants to write meanwhile *puts it aside*: takes
//! locks on the rows and keys that it has changed ([`crate::locks::row_locks`]), rolls it back in SQLite, and has the slot. Before the block's next
//! statement that writes, or reads a table that it has changed, its changes are put back ([`crate::changes`]).
//!
//! What cannot be put back keeps the slot: see [`Executor::may_be_put_aside`].
//!
//! A statement that meets a row or key of a transaction that was put aside is undone; its own transaction is put aside, too, waits
//! for the other's end, and runs the statement anew on what is there then ([`Executor::heed`], [`Executor::step_aside`]).

use crate::changes::replay::{replay, Failure};
use crate::changes::table::{needs_deferral, obstacle, Table};
use crate::connection::Connection;
use crate::engine::Engine;
use crate::locks::row_locks::{Footprint, Row, RowMode};
use crate::locks::{Holder, Mode, Request, Target};
use crate::routine::HasRoutines;
use crate::session::context::SessionContext;
use crate::session::execution::server_functions::SessionServer;
use crate::session::executor::Executor;
use crate::session::Session;
use crate::writer::{Resting, Slot};
use parking_lot::Mutex;
use pgsqlite_natives::statistics::activity::Wait;
use pgsqlite_natives::udf::session_cell::NotificationMark;
use pgsqlite_sql::plan::{PassesOver, QueryPlan};
use pgsqlite_storage::changes::change_log::{ChangeLog, Mark, Operation};
use pgsqlite_types::{Datum, PgError, Result, SqlState};
use std::sync::Arc;
use std::time::Duration;

/// A transaction that was put aside.
pub(in crate::session) struct Aside {
    pub log: ChangeLog,
    /// the log's tables
    pub tables: Vec<Arc<Table>>,
}

/// A transaction whose client is silent.
struct AtRest {
    connection: Connection,
    slot: Slot,
    server: Arc<SessionServer>,
    engine: Arc<Engine>,
}

enum Rest {
    /// nobody has wanted the slot
    Untouched(Box<AtRest>),
    Aside(Aside),
}

/// Where a session's transaction is while its client is silent.
#[derive(Default)]
pub(in crate::session) struct Place(Mutex<Option<Rest>>);

impl Resting<crate::connection::PostgresNatives> for Place {
    fn put_aside(&self) -> Option<Slot> {
        let mut place = self.0.lock();
        match place.take() {
            Some(Rest::Untouched(rest)) => match aside(&rest) {
                Ok(aside) => {
                    *place = Some(Rest::Aside(aside));
                    let AtRest { connection, slot, engine, .. } = *rest;
                    // one that cannot roll back is closed, which does it
                    if connection.command("ROLLBACK").is_ok() {
                        engine.idle.put(connection);
                    }
                    Some(slot)
                }
                Err(obstacle) => {
                    tracing::debug!(%obstacle, "a transaction keeps the writer slot");
                    *place = Some(Rest::Untouched(rest));
                    None
                }
            },
            other => {
                *place = other;
                None
            }
        }
    }
}

/// Takes the locks of a transaction that is about to be rolled back in SQLite. Errors: why it cannot be put back.
fn aside(rest: &AtRest) -> Result<Aside> {
    let AtRest { connection, server, engine, .. } = rest;
    let tables = engine.tables_of(connection, &connection.recorder().log)?;
    if let Some(obstacle) = obstacle(&connection.recorder().log, &tables) {
        return Err(PgError::internal(obstacle));
    }
    let footprint = footprint(connection, &connection.recorder().log, &tables, 0)?;
    server.lock_relations(tables.iter().map(|t| t.oid).filter(|oid| *oid != 0), Mode::RowExclusive as i32);
    engine.rows.put_aside(server.number(), footprint);
    server.hold_transaction(engine);
    let log = connection.recorder().take();
    Ok(Aside { log, tables })
}

/// What the changes of a log touch from number `since` on.
pub(in crate::session) fn footprint(
    connection: &Connection,
    log: &ChangeLog,
    tables: &[Arc<Table>],
    since: usize,
) -> Result<Footprint> {
    let mut footprint = Footprint::default();
    let names: Vec<Arc<str>> = tables.iter().map(|t| Arc::from(&*t.name)).collect();
    for change in &log.changes()[since..] {
        pgsqlite_types::work::tick(1)?;
        let table = &tables[change.table];
        if table.oid == 0 && !change.direct {
            // (a table that SQLite's triggers keep: whoever changes its rows changes those of the trigger's table)
            continue;
        }
        let touched = table.touched(log, change);
        let mode = match change.operation {
            Operation::Update if !touched.changes_key => RowMode::NoKeyUpdate,
            _ => RowMode::Update,
        };
        // (a number that SQLite has chosen for a new row is given away again meanwhile)
        if change.operation != Operation::Insert || table.numbered_by_column {
            footprint.rows.push((Row { table: names[change.table].clone(), rowid: change.rowid }, mode));
        }
        footprint.removes |= touched.removes;
        footprint.keys.extend(touched.new_keys);
        footprint.keys.extend(touched.old_keys);
        for (parent, query, values) in touched.references {
            let Some(row) = connection.first_row(&query, &values)? else { continue };
            if let [Datum::Int(rowid)] = row[..] {
                footprint.rows.push((Row { table: Arc::from(&*parent), rowid }, RowMode::KeyShare));
            }
        }
    }
    Ok(footprint)
}

impl Engine {
    /// What is known of a log's tables.
    pub(in crate::session) fn tables_of(&self, connection: &Connection, log: &ChangeLog) -> Result<Vec<Arc<Table>>> {
        let catalog = self.catalog();
        let mut known = self.tables.lock();
        if known.0 != catalog.epoch {
            *known = (catalog.epoch, Default::default());
        }
        let mut of = |name: &str| {
            if let Some(table) = known.1.get(name) {
                return Ok(table.clone());
            }
            let table = Table::read(connection.rusqlite(), &catalog, name).map_err(|_| connection.error())?;
            let table = Arc::new(table);
            known.1.insert(name.into(), table.clone());
            Ok(table)
        };
        log.tables.iter().map(|name| of(name)).collect()
    }
}

impl SessionServer {
    /// The lock of who is the next of those that wait for the end of another's transaction.
    fn turn_request(&self, other: Holder) -> Request {
        Request { session: self.number(), target: Target::Turn(other), mode: Mode::Exclusive, transaction: true }
    }

    /// The statement that waited for another's transaction has what it waited for, or waits for something else: it is the next one's turn.
    pub(in crate::session) fn end_turn(&self, engine: &Engine) {
        if let Some(other) = self.next_after.lock().take() {
            engine.locks.release(self.turn_request(other));
        }
    }

    /// The transaction holds rows: others may wait for its end.
    pub(in crate::session) fn hold_transaction(&self, engine: &Engine) {
        if let Some(holder) = engine.rows.holder(self.number()) {
            let before = self.holds_as.lock().replace(holder).filter(|before| *before != holder);
            self.hold_end_of(engine, holder);
            if let Some(before) = before {
                engine.locks.release(end_of(before));
            }
        }
    }

    /// Others may wait for the end of a transaction of the session.
    pub(in crate::session) fn hold_end_of(&self, engine: &Engine, holder: Holder) {
        self.note_locked();
        engine.locks.hold(end_of(holder));
    }

    /// Rows that the transaction held are free: who waits for it looks again.
    pub(in crate::session) fn wake_waiters(&self, engine: &Engine) {
        if let Some(holder) = self.holds_as.lock().take() {
            engine.locks.release(end_of(holder));
        }
        self.hold_transaction(engine);
    }
}

/// The lock that a transaction has until its end, for others to wait for.
pub(in crate::session) fn end_of(holder: Holder) -> Request {
    let target = Target::Transaction(holder);
    Request { session: holder.session, target, mode: Mode::Exclusive, transaction: true }
}

/// A statement runs that must not touch what transactions hold that were put aside.
pub(in crate::session) struct Heeding {
    /// the changes of its transaction before it
    since: Mark,
    /// the log of a transaction that cannot be put aside: the statement has one of its own
    of_transaction: Option<ChangeLog>,
    /// the tables that it changes, by their names in SQLite; None: any
    tables: Option<Vec<Arc<str>>>,
    /// it has ON CONFLICT
    upserts: bool,
    /// it has a savepoint of its own
    savepoint: bool,
    /// what the transaction had asked to be told before
    told: NotificationMark,
}

impl SessionContext {
    /// Whether a plan reads what the transaction, which was put aside, has changed (or may do so).
    pub(in crate::session) fn reads_what_is_aside(&self, plan: &QueryPlan) -> bool {
        let Some(aside) = self.transaction.aside() else { return false };
        plan.named.reads_more
            || !self.catalog().routines.is_empty()
            || aside.tables.iter().any(|table| plan.named.read.contains(&table.oid))
    }
}

impl Executor {
    /// Whether the transaction, which has the writer slot, can be taken out of SQLite and put back. These cannot: REPEATABLE READ (its
    /// snapshot is not the newest), DDL and TRUNCATE, temporary tables, deferred constraints and triggers, cursors for WHERE CURRENT OF.
    fn may_be_put_aside(&self) -> bool {
        let Some(connection) = &self.connection else { return false };
        let is_recorded = {
            let recorder = connection.recorder();
            recorder.on && recorder.log.obstacle.is_none()
        };
        is_recorded
            && self.may_be_put_aside_but_for_sqlite()
            && !connection.has_deferred_violations()
            && !connection.is_autocommit()
    }

    fn may_be_put_aside_but_for_sqlite(&self) -> bool {
        let t = &self.context.transaction;
        let Some(connection) = &self.connection else { return false };
        let plain = t.has_slot()
            && t.is_in_sqlite()
            && !t.is_repeatable()
            && !t.is_joined()
            && !t.is_temporary_alone()
            && t.is_rows_alone()
            && self.copying.is_none()
            && self.connection_is_passing();
        plain
            && !self.has_open_query()
            && !connection.cell.routines().has_pending()
            && !connection.cell.routines().has_positioned_cursors.get()
    }

    /// `away`: the transaction is put aside, whether or not anybody waits. `patience`: see [`crate::session::execution::pace::Pace::patience`].
    fn lay_down(&mut self, away: bool, patience: Option<Duration>) {
        let (Some(connection), Some(slot)) = (self.connection.take(), self.context.transaction.take_slot()) else {
            return;
        };
        self.random = connection.cell.random.get();
        self.context.note_seen(&connection);
        self.context.transaction.lies_down();
        self.pace.rests();
        let (server, engine) = (self.context.server.clone(), self.context.engine.clone());
        let goes = {
            let mut place = self.place.0.lock();
            *place = Some(Rest::Untouched(Box::new(AtRest { connection, slot, server, engine })));
            away || !self.context.engine.writer.lay_down(self.place.clone(), patience)
        };
        if goes {
            drop(self.place.put_aside());
        }
    }

    /// The client goes on.
    pub(in crate::session) fn rouse(&mut self) {
        if self.context.engine.config.rereads
            && !self.context.transaction.block().is_open()
            && !self.context.transaction.is_in_sqlite()
        {
            if let Err(e) = self.context.engine.reread(self.connection.as_ref()) {
                tracing::error!("the catalog is not read anew: {}", e.message());
            }
        }
        if self.context.transaction.ends_silence() {
            self.context.engine.writer.take_up();
        }
        let Some(checks) = self.context.transaction.gets_up() else { return };
        self.pace.goes_on();
        let rest = self.place.0.lock().take();
        match rest {
            Some(Rest::Untouched(rest)) => {
                self.context.engine.writer.take_up();
                let AtRest { connection, slot, .. } = *rest;
                self.connection = Some(connection);
                self.context.transaction.set_slot(slot);
                self.context.transaction.goes_on(checks);
            }
            Some(Rest::Aside(aside)) => {
                self.context.transaction.puts_aside(aside);
            }
            None => {}
        }
    }

    /// The transaction is put aside: it keeps its locks. False: it cannot be.
    pub(in crate::session) fn put_aside(&mut self) -> bool {
        if !self.may_be_put_aside() {
            return false;
        }
        self.lay_down(true, None);
        self.rouse();
        self.context.transaction.aside().is_some()
    }

    /// A statement begins: what was recorded before it can be kept if SQLite gives up the whole transaction.
    pub(in crate::session) fn note_statement(&mut self) {
        let before = match &self.connection {
            Some(connection) if self.context.transaction.is_in_sqlite() => {
                let recorder = connection.recorder();
                recorder.on.then(|| recorder.log.mark())
            }
            _ => None,
        };
        self.context.transaction.set_before_statement(before);
    }

    /// SQLite has given up the whole transaction, because a statement that writes was interrupted or the disk is full: what the block has
    /// changed before that statement is put aside, so that ROLLBACK TO finds its savepoints. False: it cannot be.
    pub(in crate::session) fn keeps_changes(&mut self) -> bool {
        let Some(before) = self.context.transaction.take_before_statement() else { return false };
        if self.context.transaction.savepoints().is_empty() || !self.may_be_put_aside_but_for_sqlite() {
            return false;
        }
        let Some(connection) = &self.connection else { return false };
        let mut log = connection.recorder().take();
        log.cut(before);
        let tables = self.context.engine.tables_of(connection, &log);
        let held = tables.and_then(|tables| Ok((footprint(connection, &log, &tables, 0)?, tables)));
        let Ok((footprint, tables)) = held else { return false };
        if obstacle(&log, &tables).is_some() {
            return false;
        }
        self.context.engine.rows.put_aside(self.context.server.number(), footprint);
        self.context.server.hold_transaction(&self.context.engine);
        self.context.server.lock_relations(tables.iter().map(|t| t.oid).filter(|o| *o != 0), Mode::RowExclusive as i32);
        self.context.transaction.puts_aside(Aside { log, tables });
        self.context.transaction.give_up_slot();
        true
    }

    /// As [`Executor::begin_statement`], for what may read anything: a transaction that was put aside is put back.
    pub(in crate::session) async fn begin_whole(&mut self) -> Result<()> {
        self.begin_statement().await?;
        match self.context.transaction.aside() {
            Some(_) => self.begin_slot(false).await,
            None => Ok(()),
        }
    }

    /// After ROLLBACK TO: what the transaction holds by its changes is what is left of them. (In the writer slot nobody asks.)
    pub(in crate::session) fn hold_what_is_left(&mut self) -> Result<()> {
        let (session, rows) = (self.context.server.number(), &self.context.engine.rows);
        if !rows.has(session) {
            return Ok(());
        }
        if self.context.transaction.branch().is_some() {
            self.lock_what_is_left_beside()?;
            self.context.server.wake_waiters(&self.context.engine);
            return Ok(());
        }
        let left = match self.context.transaction.aside() {
            Some(aside) => footprint(self.connection()?, &aside.log, &aside.tables, 0)?,
            None => Footprint::default(),
        };
        rows.put_aside(session, left);
        self.context.server.wake_waiters(&self.context.engine);
        Ok(())
    }

    /// In the transaction of SQLite that has just begun: makes the changes again of one that was put aside. `refreshed`: the catalog is that of
    /// now, or why it is not. Errors: 40001 if they cannot be made again; then nothing is left of them.
    pub(in crate::session) fn put_back(&mut self, aside: Aside, refreshed: Result<()>) -> Result<()> {
        let result = refreshed.and_then(|()| self.try_put_back(aside));
        if result.is_err() {
            self.context.transaction.savepoints_mut().lose();
            self.undo_in_sqlite();
        }
        result
    }

    fn try_put_back(&mut self, Aside { mut log, tables }: Aside) -> Result<()> {
        let connection = self.connection()?;
        let now = self.context.engine.tables_of(connection, &log)?;
        if let Some((table, _)) = tables.iter().zip(&now).find(|(then, now)| !then.is_like(now)) {
            return Err(changed(format!("Table \"{}\" has been altered.", table.name)));
        }
        // a statement's rows are put back one by one: a foreign key may be violated in between (the pragma makes SQLite forget what it has
        // prepared on the connection)
        let defers = needs_deferral(&log, &tables);
        if defers {
            connection.exec("PRAGMA defer_foreign_keys = ON")?;
        }
        let marks: Vec<usize> = self.context.transaction.savepoints().iter().map(|s| s.recorded.len).collect();
        let mut made = 0;
        let replayed = replay(connection.rusqlite(), &mut log, &tables, |at| {
            while marks.get(made).is_some_and(|mark| *mark <= at) {
                connection.rusqlite().execute_batch(&format!("SAVEPOINT pg_sp_{made}"))?;
                made += 1;
            }
            Ok(())
        });
        match replayed {
            Ok(()) if connection.has_deferred_violations() => {
                return Err(changed("A foreign key refers to a row that is not there any more.".into()))
            }
            Ok(()) => {}
            Err(Failure::Changed(what)) => return Err(changed(what)),
            Err(Failure::Sqlite) => {
                let error = connection.error();
                return Err(match error.code().as_str().starts_with("23") {
                    true => changed(error.message().to_string()),
                    false => error,
                });
            }
        }
        if defers {
            connection.exec("PRAGMA defer_foreign_keys = OFF")?;
        }
        connection.record_changes(true);
        connection.recorder().go_on(log);
        Ok(())
    }

    // --- the locks of others -------------------------------------------------------------------------------------------

    /// Before a statement that writes or locks rows, in the writer slot. `may_wait`: it may have to be undone in any case.
    pub(in crate::session) fn heed(&mut self, query: &QueryPlan, may_wait: bool) -> Result<()> {
        self.heeding = None;
        let beside = self.context.transaction.branch().is_some();
        let always = beside || may_wait;
        if !self.context.transaction.has_slot()
            || !always && !self.context.engine.rows.has_others(self.context.server.number())
        {
            return Ok(());
        }
        let joined = self.context.transaction.is_joined();
        let connection = self.connection()?;
        if !connection.recorder().on {
            // nobody can put back what came before: only this statement can be undone
            drop(connection.recorder().take());
            connection.record_changes(true);
            if !joined && connection.changes_of_transaction() > 0 {
                let mut recorder = connection.recorder();
                recorder.log.obstacle = Some("it was not recorded from its beginning");
                recorder.rows = true;
            }
        }
        let of_transaction = {
            let mut recorder = connection.recorder();
            recorder.log.obstacle.is_some().then(|| {
                let log = recorder.take();
                recorder.go_on(ChangeLog::default());
                log
            })
        };
        // (a transaction that others have joined is one of several: it has a savepoint)
        let savepoint = !joined && self.context.transaction.is_in_sqlite();
        if savepoint {
            connection.exec("SAVEPOINT pg_heed")?;
        }
        connection.cell.routines().keep_pending();
        let since = connection.recorder().log.mark();
        let catalog = self.context.catalog();
        let names = query.modifies.iter().map(|&t| catalog.relation(t).map(|r| Arc::from(&*r.sqlite_name)));
        let tables = (!query.calls_writers && query.triggered.is_none()).then(|| names.flatten().collect());
        let told = self.context.server.pending.lock().mark();
        self.heeding = Some(Heeding { since, of_transaction, tables, upserts: query.upserts, savepoint, told });
        Ok(())
    }

    /// Before the first row of a statement is told, and at its end: whether it has touched what others hold. Errors: one that
    /// [`Executor::in_the_way`] takes.
    pub(in crate::session) fn check_touched(&mut self) -> Result<()> {
        self.context.check_silence_lasts()?;
        let Some(heeding) = &self.heeding else { return Ok(()) };
        let (since, upserts) = (heeding.since.len, heeding.upserts);
        match self.met_by(heeding)? {
            None => self.check_beside(since, upserts),
            Some(other) => Err(self.context.server.meet(other)),
        }
    }

    /// Whose rows or keys a statement has touched until now.
    fn met_by(&self, heeding: &Heeding) -> Result<Option<Holder>> {
        let connection = self.connection()?;
        let log = &connection.recorder().log;
        if log.obstacle.is_some() {
            // what it has changed is not known row by row
            return Ok(self.context.engine.rows.holder_in(self.context.server.number(), heeding.tables.as_deref()));
        }
        let tables = self.context.engine.tables_of(connection, log)?;
        let footprint = footprint(connection, log, &tables, heeding.since.len)?;
        Ok(self.context.engine.rows.conflict(self.context.server.number(), &footprint))
    }

    /// After a statement that heeds the locks of others: the transaction that it has to wait for; then it is undone.
    pub(in crate::session) fn in_the_way<T>(
        &mut self,
        query: &QueryPlan,
        result: &Result<T>,
    ) -> Result<Option<Holder>> {
        let met = self.context.server.met();
        let Some(heeding) = self.heeding.take() else { return Ok(met) };
        let own = self.context.server.number();
        let connection = self.connection()?;
        let passed_over = query.passes_over.max(connection.cell.routines().passed_over.get());
        let met = match (met, result) {
            (Some(other), _) => Some(other),
            // a row may be there only because its deletion was put aside; and who is in the way of the rows that the statement has
            // touched is waited for before anything else is said
            (None, Err(e))
                if [SqlState::UNIQUE_VIOLATION, SqlState::FOREIGN_KEY_VIOLATION, SqlState::RESTRICT_VIOLATION]
                    .contains(&e.code()) =>
            {
                self.met_by(&heeding)?.or_else(|| self.context.engine.rows.remover_in(own, None))
            }
            (None, Ok(_)) => match passed_over {
                PassesOver::None => None,
                PassesOver::Rows => self.context.engine.rows.remover_in(own, heeding.tables.as_deref()),
                PassesOver::Values => self.context.engine.rows.holder_in(own, heeding.tables.as_deref()),
            },
            (None, Err(_)) => None,
        };
        let connection = self.connection()?;
        if connection.is_autocommit() {
            return Ok(None);
        }
        let undone = met.is_some() || result.is_err();
        if heeding.savepoint {
            connection.exec(if undone { "ROLLBACK TO pg_heed; RELEASE pg_heed" } else { "RELEASE pg_heed" })?;
        }
        if undone {
            connection.recorder().log.cut(heeding.since);
        }
        if let Some(log) = heeding.of_transaction {
            connection.recorder().go_on(log);
        }
        if !undone {
            self.lock_beside()?;
        }
        let connection = self.connection()?;
        if met.is_some() || query.waits_aside && self.context.server.wants_apart() {
            connection.cell.routines().go_back_to_kept();
            connection.cell.take_notices();
            connection.cell.routines().changed.take();
            self.forget_native_settings();
            self.context.server.pending.lock().roll_back_to(heeding.told);
        }
        Ok(met)
    }

    /// Gives others the writer slot. False: the transaction has to keep it.
    pub(in crate::session) fn make_way(&mut self) -> Result<bool> {
        if self.context.transaction.is_joined() {
            self.withdraw()?;
            return Ok(true);
        }
        if !self.context.transaction.has_slot() {
            return Ok(true);
        }
        if self.context.transaction.is_repeatable() {
            return self.leave_slot();
        }
        let empty = self.connection()?.recorder().log.is_empty();
        if empty && !self.context.transaction.has_changed_temporary() {
            self.give_slot_back()?;
            return Ok(true);
        }
        Ok(self.put_aside())
    }

    /// Gives others the writer slot, and waits for the end of another's transaction. Errors: those of waits; 40001 where a transaction keeps its
    /// snapshot; 40P01 where it cannot be put aside, so that each would wait for the other.
    pub(in crate::session) async fn step_aside(&mut self, other: Holder) -> Result<()> {
        if !self.make_way()? {
            return Err(match self.context.transaction.is_repeatable() {
                true => {
                    PgError::new(SqlState::SERIALIZATION_FAILURE, "could not serialize access due to concurrent update")
                }
                false => PgError::new(SqlState::DEADLOCK_DETECTED, "deadlock detected").detail(
                    "The transaction has made changes with which it keeps the writer slot, and waits for a row that another transaction has locked.",
                ),
            });
        }
        let keeps_lease = self.release_for_wait();
        let server = self.context.server.clone();
        server.end_turn(&self.context.engine);
        let turn = server.turn_request(other);
        server.wait(Wait::Transaction, self.context.limits(), server.turn(turn, keeps_lease)).await?;
        *server.next_after.lock() = Some(other);
        let target = Target::Transaction(other);
        let request = Request { session: self.context.server.number(), target, mode: Mode::Share, transaction: false };
        server.wait(Wait::Transaction, self.context.limits(), server.turn(request, keeps_lease)).await?;
        self.context.engine.locks.release(request);
        Ok(())
    }

    /// A transaction that keeps its snapshot and has written nothing gives the slot to others. False: it has written.
    pub(in crate::session) fn leave_slot(&mut self) -> Result<bool> {
        if !self.context.transaction.is_repeatable() || self.connection()?.is_writing() {
            return Ok(false);
        }
        self.context.transaction.give_up_slot();
        Ok(true)
    }

    /// In a transaction that keeps its snapshot: 40001 if a row that was locked after `mark` is not any more what the snapshot shows.
    pub(in crate::session) fn check_locked_since(&self, mark: u64) -> Result<()> {
        if !self.context.transaction.is_repeatable() {
            return Ok(());
        }
        let connection = self.connection()?;
        let locked = self.context.engine.rows.taken_since(self.context.server.number(), mark);
        let mut log = ChangeLog::default();
        let places: Vec<usize> = locked.iter().map(|(row, _)| log.table(&row.table)).collect();
        let tables = self.context.engine.tables_of(connection, &log)?;
        let keeper = self.context.engine.keeper();
        let newest = keeper.as_ref().ok_or_else(|| PgError::shut_down())?;
        for ((row, mode), place) in locked.iter().zip(places) {
            pgsqlite_types::work::tick(1)?;
            let table = &tables[place];
            if self.has_changed_row(row) {
                continue;
            }
            let Some(query) = &table.by_number else { continue };
            let key = [Datum::Int(row.rowid)];
            let what = match (connection.first_row(query, &key)?, newest.first_row(query, &key)?) {
                (seen, now) if seen == now => continue,
                // (KEY SHARE is beside changes of all but the key)
                (Some(seen), Some(now)) if *mode == RowMode::KeyShare && table.has_same_keys(&seen, &now) => continue,
                (_, None) => "could not serialize access due to concurrent delete",
                _ => "could not serialize access due to concurrent update",
            };
            return Err(PgError::new(SqlState::SERIALIZATION_FAILURE, what));
        }
        Ok(())
    }

    /// Before what cannot be begun anew (COPY FROM, a body that may commit, VACUUM), in the writer slot: waits for a transaction that holds
    /// rows. `tables`: of these tables; None: of any. Returns whether it has waited: then the slot is to be taken anew.
    pub(in crate::session) async fn let_holder_end(&mut self, tables: Option<&[Arc<str>]>) -> Result<bool> {
        match self.context.engine.rows.holder_in(self.context.server.number(), tables) {
            None => Ok(false),
            Some(other) => {
                self.step_aside(other).await?;
                self.begin_statement().await?;
                Ok(true)
            }
        }
    }
}

impl Session {
    /// The client is silent from now on, until [`Session::rouse`]: whoever needs the writer slot may have that of an open block.
    pub fn rest_block(&mut self) {
        let executor = &mut self.executor;
        executor.context.server.end_turn(&executor.context.engine);
        if executor.context.transaction.branch().is_some() && !executor.has_open_query() {
            executor.context.transaction.give_up_slot();
        }
        if executor.context.transaction.has_slot()
            && executor.context.transaction.block().is_explicit()
            && executor.may_be_put_aside()
        {
            let patience = executor.pace.patience(executor.connection.as_ref().map_or(0, |c| c.recorder().log.len()));
            executor.lay_down(executor.context.engine.config.puts_aside, patience);
        }
        executor.fall_silent();
        // a block that has nothing open in SQLite needs no connection of the pool
        let is_free = executor.context.transaction.block().is_explicit()
            && !executor.context.transaction.is_in_sqlite()
            && !executor.context.transaction.has_slot();
        if is_free && executor.connection.is_some() && executor.connection_is_passing() && !executor.has_open_query() {
            executor.give_connection_back();
        }
    }

    /// The client goes on.
    pub fn rouse(&mut self) {
        self.executor.rouse();
    }
}

/// 40001: what was put aside cannot be put back.
pub(in crate::session) fn changed(what: String) -> PgError {
    PgError::new(SqlState::SERIALIZATION_FAILURE, "could not serialize access due to concurrent update").detail(what)
}
