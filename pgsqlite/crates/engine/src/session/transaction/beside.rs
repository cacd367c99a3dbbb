//! Transactions of REPEATABLE READ and SERIALIZABLE that write.
//!
//! Such a transaction sees what was committed when it began, and its own changes. SQLite lets nobody write on a snapshot that is not the
//! newest, so these are made beside the log ([`Connection::begin_branch`]), where they hold up nobody. A statement that writes has the writer slot
//! while it runs: then the rows and keys that it has changed are compared with what is committed now, and locked. The first who has updated a
//! row wins, as in PostgreSQL: 40001 for a row that another transaction has changed since the snapshot, and a wait for one that another
//! transaction holds (manual: "Repeatable Read Isolation Level").
//!
//! COMMIT makes the recorded changes again, on the newest state ([`Executor::put_back`]). Nothing is in their way: the locks have kept others
//! from it. Where nobody has committed since the snapshot, the transaction goes on as one that has the slot, and is committed as it is.

use crate::changes::table::{obstacle, Now, Table};
use crate::connection::Connection;
use crate::locks::row_locks::{Footprint, Row, RowMode};
use crate::routine::HasRoutines;
use crate::session::context::SessionContext;
use crate::session::executor::Executor;
use crate::session::transaction::resting::{changed, footprint, Aside};
use crate::session::transaction::state::Open;
use libsqlite3_sys as ffi;
use pgsqlite_sql::plan::QueryPlan;
use pgsqlite_storage::changes::change_log::{Change, ChangeLog, Operation};
use pgsqlite_types::{Datum, PgError, Result, SqlState};
use std::collections::HashSet;
use std::sync::Arc;

/// What is known of a transaction that writes beside the log.
#[derive(Default)]
pub(in crate::session) struct Beside {
    /// Rows that it has inserted, by their table's place in the log and their number: others may have rows of these numbers.
    inserted: HashSet<(usize, i64)>,
    /// so many changes are locked
    locked: usize,
}

impl Executor {
    /// Whether a plan's changes can be made beside the log. These need the slot to the end: what follows DDL, TRUNCATE and changes of
    /// temporary tables, and tables of which rows cannot be put back.
    pub(in crate::session) fn may_write_beside(&self, plan: &QueryPlan) -> Result<bool> {
        let t = &self.context.transaction;
        if t.branch().is_some() {
            return Ok(true);
        }
        let Some(connection) = &self.connection else { return Ok(false) };
        let plain = t.is_repeatable()
            && t.block().is_explicit()
            && !t.has_slot()
            && t.is_rows_alone()
            && plan.current_of.is_none()
            && !connection.has_temporary();
        if !plain {
            return Ok(false);
        }
        let catalog = self.context.catalog();
        let mut log = ChangeLog::default();
        for relation in plan.modifies.iter().filter_map(|t| catalog.relation(*t)) {
            if relation.is_stored() {
                log.table(&relation.sqlite_name);
            }
        }
        let tables = self.context.engine.tables_of(connection, &log)?;
        Ok(tables.iter().all(|t| t.obstacle.is_none()))
    }

    /// Before a statement that writes beside the log: the writer slot, for as long as it runs.
    pub(in crate::session) async fn begin_beside(&mut self) -> Result<()> {
        self.settle_portals();
        self.begin_read()?;
        self.acquire_slot(false).await?;
        if self.context.transaction.branch().is_none() {
            let connection = self.connection()?;
            if connection.begin_branch()? {
                connection.begins_to_write();
                connection.cell.routines().begin();
                drop(connection.recorder().take());
                connection.record_changes(true);
                self.context.transaction.opened(Open::Branch(Beside::default()));
            }
        }
        self.tell_access();
        self.watch_keys()
    }

    /// What cannot be done beside the log begins, in the writer slot: the transaction goes on as one that keeps the slot. Errors: 40001 if others
    /// have committed since its snapshot.
    pub(in crate::session) fn keep_slot(&mut self) -> Result<()> {
        if self.context.transaction.branch().is_none() {
            return Ok(());
        }
        if self.connection()?.join_branch()? {
            self.context.transaction.goes_on_plainly();
            return Ok(());
        }
        Err(changed(
            "What comes now needs the newest state, and others have committed since the transaction began.".into(),
        ))
    }

    /// A statement has made its changes beside the log: compares what they touch, from number `since` on, with what is committed now.
    /// `upserts`: the statement has ON CONFLICT. Errors: 40001, 23505.
    pub(in crate::session) fn check_beside(&mut self, since: usize, upserts: bool) -> Result<()> {
        if self.context.transaction.branch().is_some() && self.cannot_be_made_again()? {
            return self.keep_slot();
        }
        let Some(beside) = self.context.transaction.branch() else { return Ok(()) };
        let connection = self.connection()?;
        let log = &connection.recorder().log;
        if log.len() == since {
            return Ok(());
        }
        let tables = self.context.engine.tables_of(connection, log)?;
        let keeper = self.context.engine.keeper();
        let newest = keeper.as_ref().ok_or_else(|| PgError::shut_down())?;
        let mut comparison = Comparison {
            context: &self.context,
            newest,
            own: connection,
            log,
            tables: &tables,
            inserted_before: &beside.inserted,
            inserted: HashSet::new(),
            touched: HashSet::new(),
            upserts,
        };
        log.changes()[since..].iter().try_for_each(|change| comparison.check(change))
    }

    /// Whether the changes that were recorded cannot be made again, or are too many for that.
    fn cannot_be_made_again(&self) -> Result<bool> {
        let connection = self.connection()?;
        let log = &connection.recorder().log;
        let tables = self.context.engine.tables_of(connection, log)?;
        Ok(obstacle(log, &tables).is_some())
    }

    /// A statement has ended: what it has changed is locked.
    pub(in crate::session) fn lock_beside(&mut self) -> Result<()> {
        let Some(beside) = self.context.transaction.branch_mut() else { return Ok(()) };
        let mut beside = std::mem::take(beside);
        let held = self.footprint_beside(&mut beside);
        self.context.transaction.opened(Open::Branch(beside));
        if let Some(held) = held? {
            self.context.engine.rows.hold_more(self.context.server.number(), held);
            self.context.server.hold_transaction(&self.context.engine);
        }
        Ok(())
    }

    /// What the changes touch that `beside` does not count as locked yet; it does from now on. None: there are no such changes.
    fn footprint_beside(&self, beside: &mut Beside) -> Result<Option<Footprint>> {
        let connection = self.connection()?;
        let log = &connection.recorder().log;
        if log.len() == beside.locked {
            return Ok(None);
        }
        let tables = self.context.engine.tables_of(connection, log)?;
        for change in &log.changes()[beside.locked..] {
            let place = (change.table, change.rowid);
            match change.operation {
                Operation::Insert if !tables[change.table].numbered_by_column => drop(beside.inserted.insert(place)),
                _ => {}
            }
        }
        let mut held = footprint(connection, log, &tables, beside.locked)?;
        let names: Vec<&str> = tables.iter().map(|t| &*t.name).collect();
        held.rows.retain(|(row, _)| {
            let table = names.iter().position(|n| **n == *row.table);
            !table.is_some_and(|table| beside.inserted.contains(&(table, row.rowid)))
        });
        beside.locked = log.len();
        Ok(Some(held))
    }

    /// Whether the transaction has changed a row, beside the log.
    pub(in crate::session) fn has_changed_row(&self, row: &Row) -> bool {
        let (Some(beside), Some(connection)) = (self.context.transaction.branch(), &self.connection) else {
            return false;
        };
        let table = connection.recorder().log.tables.iter().position(|t| **t == *row.table);
        table.is_some_and(|table| beside.inserted.contains(&(table, row.rowid)))
            || self.context.engine.rows.holds_by_change(self.context.server.number(), row)
    }

    /// ROLLBACK TO has taken changes back: what is locked is what is left of them.
    pub(in crate::session) fn lock_what_is_left_beside(&mut self) -> Result<()> {
        let mut beside = Beside::default();
        let left = self.footprint_beside(&mut beside);
        self.context.transaction.opened(Open::Branch(beside));
        // (in one step: nobody finds a row free that is still held)
        self.context.engine.rows.put_aside(self.context.server.number(), left?.unwrap_or_default());
        Ok(())
    }

    /// At COMMIT: what was changed beside the log is made part of the newest state, in the writer slot, for SQLite's COMMIT. Errors: 40001 if
    /// it cannot be.
    pub(in crate::session) async fn bring_home(&mut self) -> Result<()> {
        if self.context.transaction.branch().is_none() {
            return Ok(());
        }
        if self.connection()?.has_deferred_violations() {
            // SQLite says so before it writes anything
            let refused = self.connection()?.command("COMMIT");
            let e =
                refused.err().unwrap_or_else(|| PgError::internal("a transaction beside the log has been committed"));
            return Err(self.explain_commit(e));
        }
        self.acquire_slot(false).await?;
        if self.connection()?.join_branch()? {
            self.context.transaction.goes_on_plainly();
            return Ok(());
        }
        let connection = self.connection()?;
        let log = connection.recorder().take();
        let tables = self.context.engine.tables_of(connection, &log)?;
        let obstacle = obstacle(&log, &tables);
        connection.leave_branch()?;
        self.context.transaction.closed();
        if let Some(obstacle) = obstacle {
            return Err(changed(format!(
                "The changes cannot be made again on what others have committed: {obstacle}."
            )));
        }
        if log.is_empty() {
            self.context.transaction.give_up_slot();
            return Ok(());
        }
        self.context.transaction.puts_aside(Aside { log, tables });
        self.begin_slot(false).await
    }
}

/// Compares the changes of a statement with what is committed now.
struct Comparison<'a> {
    context: &'a SessionContext,
    newest: &'a Connection,
    own: &'a Connection,
    log: &'a ChangeLog,
    tables: &'a [Arc<Table>],
    /// rows that the transaction has inserted before the statement
    inserted_before: &'a HashSet<(usize, i64)>,
    /// … and those that the statement has inserted
    inserted: HashSet<(usize, i64)>,
    /// rows of the snapshot that the statement has changed
    touched: HashSet<(usize, i64)>,
    upserts: bool,
}

impl Comparison<'_> {
    fn row(&self, table: &Table, rowid: i64) -> Row {
        Row { table: Arc::from(&*table.name), rowid }
    }

    fn has_inserted(&self, place: &(usize, i64)) -> bool {
        self.inserted.contains(place) || self.inserted_before.contains(place)
    }

    /// Whether the transaction keeps others from changing a row.
    fn holds(&self, table: &Table, rowid: i64) -> bool {
        self.context.engine.rows.holds(self.context.server.number(), &self.row(table, rowid), RowMode::Share)
    }

    fn check(&mut self, change: &Change) -> Result<()> {
        pgsqlite_types::work::tick(1)?;
        let table = &self.tables[change.table];
        if table.oid == 0 && !change.direct {
            return Ok(());
        }
        let place = (change.table, change.rowid);
        match change.operation {
            Operation::Insert if table.numbered_by_column => {}
            Operation::Insert => drop(self.inserted.insert(place)),
            _ if self.has_inserted(&place) || self.touched.contains(&place) || self.holds(table, change.rowid) => {}
            _ => {
                self.compare(table, change)?;
                self.touched.insert(place);
            }
        }
        for (names, query, values) in table.lookups(self.log, change) {
            let Some(row) = self.newest.first_row(&query, &values)? else { continue };
            let [Datum::Int(rowid)] = row[..] else { continue };
            if !self.touched.contains(&(change.table, rowid)) && !self.holds(table, rowid) {
                if self.upserts {
                    // (it would have to update a row that the snapshot does not have)
                    return Err(concurrent("update"));
                }
                // (what keeps the row out was read, too)
                self.context.note_met(table.oid)?;
                let message = format!("UNIQUE constraint failed: {names}");
                let catalog = self.context.catalog();
                return Err(pgsqlite_metadata::error::from_sqlite(
                    ffi::SQLITE_CONSTRAINT_UNIQUE,
                    &message,
                    Some(&catalog),
                ));
            }
        }
        for (parent, query, values) in table.touched(self.log, change).references {
            let seen = self.own.first_row(&query, &values)?;
            let Some([Datum::Int(rowid)]) = seen.as_deref() else { continue };
            let own = self.log.tables.iter().position(|t| **t == *parent);
            let is_own =
                own.is_some_and(|table| self.has_inserted(&(table, *rowid)) || self.holds(&self.tables[table], *rowid));
            if !is_own && self.newest.first_row(&query, &values)? != seen {
                return Err(concurrent("update"));
            }
        }
        Ok(())
    }

    /// Whether a row is what the snapshot shows.
    fn compare(&self, table: &Table, change: &Change) -> Result<()> {
        let seen = self.log.old(change).unwrap_or_default();
        match table.compare(self.newest.rusqlite(), change.rowid, &seen).map_err(|_| self.newest.error())? {
            Now::Same => Ok(()),
            Now::Changed => Err(concurrent("update")),
            Now::Gone => Err(concurrent("delete")),
        }
    }
}

/// 40001: another transaction has changed a row since the snapshot.
fn concurrent(what: &str) -> PgError {
    PgError::new(SqlState::SERIALIZATION_FAILURE, format!("could not serialize access due to concurrent {what}"))
}
