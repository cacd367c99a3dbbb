//! Transactions: blocks, savepoints, snapshots, the writer slot.
//!
//! READ COMMITTED holds no SQLite snapshot between read-only statements; the first write takes the writer slot and begins
//! a SQLite transaction on a fresh snapshot. REPEATABLE READ and SERIALIZABLE hold one from their first statement.

pub(in crate::session) mod beside;
pub(in crate::session) mod block;
pub(in crate::session) mod characteristics;
pub(crate) mod constraints;
pub(in crate::session) mod control;
pub(in crate::session) mod ddl_relations;
pub(in crate::session) mod deferred_keys;
pub(in crate::session) mod detaching;
pub(in crate::session) mod ended_settings;
pub(in crate::session) mod foreign_locks;
pub(in crate::session) mod hot_standby;
pub(in crate::session) mod joined;
pub(in crate::session) mod key_relations;
pub(crate) mod log_limit;
pub(in crate::session) mod prepared_locks;
pub(in crate::session) mod private;
pub(in crate::session) mod readers;
pub(in crate::session) mod relation_locks;
pub(in crate::session) mod resting;
pub(in crate::session) mod savepoints;
pub(in crate::session) mod serializable;
pub(in crate::session) mod silence;
pub(in crate::session) mod state;
pub(in crate::session) mod two_phase;
pub(in crate::session) mod violations;
pub(crate) mod waiting;

use crate::connection::Connection;
use crate::routine::HasRoutines;
use crate::session::context::SessionContext;
use crate::session::execution::running::while_requests_count;
use crate::session::execution::work::Begins;
use crate::session::executor::Executor;
use crate::session::transaction::block::{AtSync, Block};
use crate::session::transaction::state::{Open, Transaction};
use crate::session::{BoxFuture, Session, TransactionStatus};
use crate::writer::{Applicant, Slot};
use pgsqlite_natives::settings::rights::role_name;
use pgsqlite_natives::statistics::activity::Wait;
use pgsqlite_sql::parse::{ast, NodeEnum};
use pgsqlite_types::{PgError, Result, SqlState};
use std::sync::Arc;

pub(in crate::session) fn failed_block() -> PgError {
    PgError::new(
        SqlState::IN_FAILED_SQL_TRANSACTION,
        "current transaction is aborted, commands ignored until end of transaction block",
    )
}

impl SessionContext {
    /// As ReadyForQuery reports it.
    pub(in crate::session) fn transaction_status(&self) -> TransactionStatus {
        self.transaction.block().status()
    }

    /// 25P02 in a failed block, except for what ends it.
    pub(in crate::session) fn check_not_failed(&self, node: &NodeEnum) -> Result<()> {
        if !self.transaction.block().is_failed() {
            return Ok(());
        }
        if let NodeEnum::TransactionStmt(t) = node {
            use ast::TransactionStmtKind as K;
            if matches!(
                K::try_from(t.kind),
                Ok(K::TransStmtCommit | K::TransStmtRollback | K::TransStmtRollbackTo | K::TransStmtPrepare)
            ) {
                return Ok(());
            }
        }
        Err(failed_block())
    }

    /// Tells a connection's natives of this session as it is now.
    pub(in crate::session) fn tell_natives(&self, connection: &Connection) {
        let view = self.view();
        connection.cell.update(|state| {
            state.settings.transaction_timestamp = self.gucs.typed.transaction_timestamp;
            state.statement_timestamp = self.statement_timestamp;
            if state.stamp == view.stamp {
                return;
            }
            state.stamp = view.stamp;
            state.plan_key.clone_from(&view.plan_key);
            state.settings = self.gucs.typed.clone();
            state.catalog = view.catalog.clone();
            state.explicit_path.clone_from(&view.path);
            state.search_path.clone_from(&view.path);
            state.sequences = Some(self.sequences.clone());
            state.variables = Some(self.variables.clone());
            state.server = Some(self.server.clone());
            state.user = role_name(&view.catalog, view.user);
            state.user_oid = view.user;
            state.session_oid = self.gucs.session_role();
            state.session_user = role_name(&view.catalog, state.session_oid);
            state.login = self.login;
            state.database = self.database().into();
            state.databases.clone_from(&self.engine.config.databases);
            state.backend_pid = self.options.backend_pid;
            state.client_addr = self.options.client_addr;
            state.names = view;
        });
    }

    /// Errors: 25006 in a read-only transaction, which names the command.
    pub(in crate::session) fn check_may_write(&self, command: &str) -> Result<()> {
        match self.is_read_only() {
            false if self.engine.in_recovery() => Err(crate::gate::during_recovery(command)),
            false => Ok(()),
            true => Err(PgError::new(
                SqlState::READ_ONLY_SQL_TRANSACTION,
                format!("cannot execute {command} in a read-only transaction"),
            )),
        }
    }

    /// Whether the transaction may have written something.
    fn writes(&self) -> bool {
        self.transaction.may_write()
    }

    /// Sequences that were set since a savepoint (None: since the transaction's beginning) stand where they stood before.
    pub(in crate::session) fn take_back_restarts(&mut self, savepoint: Option<usize>) {
        let taken = self.transaction.savepoints_mut().take_restarted(savepoint);
        let mut sequences = self.engine.sequences.lock();
        for (sequence, before) in taken {
            match before {
                Some(state) => sequences.insert(sequence, state),
                None => sequences.remove(&sequence),
            };
        }
    }
}

impl Executor {
    pub(in crate::session) fn connection(&self) -> Result<&Connection> {
        self.connection.as_ref().ok_or_else(|| PgError::internal("no connection"))
    }

    /// Leases a connection and tells its natives of this session and statement.
    pub(in crate::session) async fn begin_statement(&mut self) -> Result<()> {
        if self.context.cancel.is_terminated() {
            return Err(crate::requests::terminated());
        }
        self.context.transaction.block_mut().start();
        if self.context.gucs.often.in_hot_standby {
            self.context.begin_on_standby().await?;
        }
        self.context.watch_serializable();
        self.context.server.set_in_block(self.context.transaction.block().is_block());
        self.context.server.set_repeatable(self.context.transaction.is_repeatable());
        if self.connection.is_none() {
            let connection = match self.context.engine.connection_to_spare()? {
                Some(connection) => connection,
                None => {
                    let superuser = self.context.is_superuser(&self.context.catalog());
                    let leased = self.context.engine.connection(superuser);
                    self.context.server.wait(Wait::Pool, self.context.limits(), leased).await?
                }
            };
            // the state of random() is the session's, not the connection's
            connection.cell.random.set(self.random);
            connection.belongs_to(self.context.server.number());
            self.connection = Some(connection);
        }
        match self.context.transaction.is_temporary_alone() && !self.context.transaction.block().is_failed() {
            true => self.renew_snapshot()?,
            false => self.refresh_catalog()?,
        }
        if self.context.temp_file_limit != self.context.gucs.often.temp_file_limit {
            self.context.temp_file_limit = self.context.gucs.often.temp_file_limit;
            if let Some(account) = pgsqlite_memory::Account::current() {
                account.files().set(self.context.temp_file_limit);
            }
        }
        let started = self.context.transaction.start(self.context.statement_timestamp);
        self.context.gucs.typed.transaction_timestamp = started;
        {
            let view = self.context.view();
            let mut own = self.context.sequences.own.lock();
            own.catalog = view.catalog.clone();
            own.user = view.user;
            own.read_only = self.context.is_read_only();
        }
        self.context.variables.refresh(&self.context.gucs);
        let connection = self.connection()?;
        connection.cell.rows.clear();
        self.context.tell_natives(connection);
        self.tell_access();
        Ok(())
    }

    /// Outside a transaction: reads the catalog anew if another program has changed the schema.
    pub(in crate::session) fn refresh_catalog(&self) -> Result<()> {
        if self.context.transaction.is_in_sqlite() {
            return Ok(());
        }
        self.context.engine.refresh(self.connection.as_ref())
    }

    /// Before a read: a transaction that keeps its snapshot takes it now.
    pub(in crate::session) fn begin_read(&mut self) -> Result<()> {
        debug_assert!(!self.context.transaction.rests(), "the client is silent");
        if !self.context.transaction.is_in_sqlite() {
            // an open read would keep its snapshot for this statement, too
            self.settle_portals();
        } else if self.context.transaction.is_temporary_alone() {
            self.renew_snapshot()?;
        }
        if self.context.transaction.block().is_open()
            && self.context.transaction.is_repeatable()
            && !self.context.transaction.is_in_sqlite()
        {
            let connection = self.connection()?;
            connection.begin_snapshot()?;
            self.context.transaction.opened(Open::Plain);
            self.reopen_savepoints()?;
        }
        Ok(())
    }

    /// Before a write: the writer slot, and a SQLite transaction.
    /// `command` names the statement in the refusal of a read-only transaction.
    /// `shares`: it is over soon, and may join a transaction that others have left open.
    pub(in crate::session) async fn begin_write(&mut self, command: &str, shares: bool) -> Result<()> {
        self.context.check_may_write(command)?;
        self.settle_portals();
        self.context.transaction.set_queried();
        self.context.transaction.set_keeps_rows(true);
        self.begin_slot(shares && self.context.transaction.watched().is_none()).await
    }

    /// The writer slot, if it is free now.
    pub(in crate::session) fn try_slot(&mut self) -> Result<bool> {
        if !self.context.transaction.has_slot() {
            self.context.check_not_standby()?;
            if let Some(mut slot) = self.context.engine.writer.try_acquire(self.applicant())? {
                slot.commit_shared();
                self.context.transaction.set_slot(slot);
            }
        }
        Ok(self.context.transaction.has_slot())
    }

    /// Waits for the writer slot, alone.
    pub(in crate::session) async fn take_slot(&mut self) -> Result<()> {
        if !self.context.transaction.has_slot() {
            let mut slot = self.wait_for_slot().await?;
            slot.commit_shared();
            self.context.transaction.set_slot(slot);
        }
        Ok(())
    }

    /// Waits for the writer slot.
    async fn wait_for_slot(&mut self) -> Result<Slot> {
        self.context.check_not_standby()?;
        let slot = self.context.engine.writer.acquire(self.applicant());
        self.context.server.wait(Wait::Writer, self.context.limits(), slot).await
    }

    /// The session as one that asks for the writer slot.
    pub(in crate::session) fn applicant(&self) -> Applicant {
        Applicant {
            session: self.context.server.number(),
            in_block: self.context.transaction.block().is_explicit(),
            keeps_lease: self.connection.is_some(),
        }
    }

    /// The writer slot, and a SQLite transaction in it: one of its own, or (`shares`) one that others have left open.
    pub(in crate::session) async fn begin_slot(&mut self, shares: bool) -> Result<()> {
        self.acquire_slot(shares).await?;
        self.keep_slot()?;
        if !self.context.transaction.is_in_sqlite() {
            self.begin_immediate().await?;
            let aside = self.context.transaction.take_aside();
            self.context.transaction.opened(Open::Plain);
            self.connection()?.cell.routines().begin();
            // what waited for the slot, or another program, may have changed the schema
            let refreshed = self.context.engine.refresh(self.connection.as_ref());
            match aside {
                Some(aside) => self.put_back(aside, refreshed)?,
                None => {
                    refreshed?;
                    self.reopen_savepoints()?;
                    if self.context.transaction.block().is_block() && !self.context.transaction.is_repeatable() {
                        let connection = self.connection()?;
                        drop(connection.recorder().take());
                        connection.record_changes(true);
                    }
                }
            }
            if !self.context.transaction.constraints().is_default() {
                self.defer_in_sqlite()?;
            }
        } else if self.context.transaction.is_temporary_alone() {
            self.settle_portals();
            self.begin_immediate().await?;
            self.context.transaction.goes_on_plainly();
            self.context.engine.refresh(self.connection.as_ref())?;
        }
        self.tell_access();
        self.watch_keys()
    }

    /// The writer slot; SQLite begins nothing. `shares`: see [`Executor::begin_slot`].
    pub(in crate::session) async fn acquire_slot(&mut self, shares: bool) -> Result<()> {
        if !self.context.transaction.has_slot() {
            self.context.check_not_standby()?;
            let slot = match self.context.engine.writer.try_acquire(self.applicant())? {
                Some(slot) => slot,
                None => {
                    // many may wait: what they would do nothing with meanwhile is for others
                    self.release_for_wait();
                    self.wait_for_slot().await?
                }
            };
            self.use_slot(slot, shares).await?;
        }
        Ok(())
    }

    /// The session has the writer slot from now on. `shares`: see [`Executor::begin_slot`].
    pub(in crate::session) async fn use_slot(&mut self, mut slot: Slot, shares: bool) -> Result<()> {
        self.bound_log(&mut slot).await?;
        self.enter_slot(slot, shares).await?;
        if self.context.transaction.aside().is_none() {
            self.context.transaction.savepoints_mut().begins_to_write();
        }
        self.connection()?.begins_to_write();
        Ok(())
    }

    /// Savepoints made before the SQLite transaction began exist in it, too.
    pub(in crate::session) fn reopen_savepoints(&mut self) -> Result<()> {
        for i in 0..self.context.transaction.savepoints().len() {
            self.connection()?.exec(&format!("SAVEPOINT pg_sp_{i}"))?;
        }
        Ok(())
    }

    /// After each statement: an error that made SQLite roll back everything is told apart.
    pub(in crate::session) fn statement_result<T>(&mut self, result: Result<T>) -> Result<T> {
        let changes = self.take_native_changes();
        let result = result.and_then(|value| changes.map(|()| value));
        result.map_err(|e| {
            self.forget_routine_changes();
            self.look_for_given_up(&e, true);
            if e.code() == SqlState::QUERY_CANCELED && e.fields().context.is_none() {
                // SQLite tells that it was interrupted; the handle knows why
                return self.context.cancel.error();
            }
            e
        })
    }

    /// After an error: SQLite may have given up the whole transaction (an interrupted write, a full disk). `keeps`: what was changed before
    /// the statement is kept, if it can be.
    fn look_for_given_up(&mut self, error: &PgError, keeps: bool) {
        let Some(connection) = &self.connection else { return };
        if !self.context.transaction.is_in_sqlite() || !connection.is_autocommit() {
            return;
        }
        if let Some(members) = self.context.transaction.take_members() {
            members.fail(error);
        }
        if !keeps || !self.keeps_changes() {
            self.context.transaction.closed();
            self.context.transaction.savepoints_mut().lose();
        }
    }

    /// Takes back what natives left in the cell: set_config(), notices.
    fn take_native_changes(&mut self) -> Result<()> {
        let Some(connection) = &self.connection else { return Ok(()) };
        self.context.notices.extend(connection.cell.take_notices());
        self.take_routine_changes()?;
        self.take_constraint_modes()?;
        self.take_function_cursors()?;
        for (name, value, local, permit) in self.context.variables.take_changes() {
            // the native has checked the value; whether it may be changed now depends on the transaction
            self.context.apply_setting(&name, value.as_deref(), local, permit)?;
        }
        Ok(())
    }

    /// As [`Executor::commit`].
    fn commit_at_sync(&mut self) -> BoxFuture<'_, Result<()>> {
        Box::pin(self.commit())
    }

    async fn end_implicit(&mut self) -> Result<()> {
        self.forget_others();
        self.context.sync_follows = false;
        let ended = match self.context.transaction.block_mut().sync() {
            AtSync::Commit => self.commit_at_sync().await,
            AtSync::Rollback => {
                self.rollback();
                Ok(())
            }
            AtSync::Nothing => return Ok(()),
        };
        debug_assert!(!self.context.transaction.has_work() && self.context.transaction.block() == Block::default());
        ended
    }

    /// The snapshot of a transaction that has written nothing is given up.
    pub(in crate::session) fn end_read_only(&mut self) -> Result<()> {
        self.end_sqlite("COMMIT")
    }

    /// In a block that need not have the slot: it goes to others, and is taken again for the next write. A block with changes is put aside. The slot stays
    /// where the block has changed temporary tables, which a rollback in SQLite would take back.
    pub(in crate::session) fn give_slot_back(&mut self) -> Result<()> {
        if self.context.transaction.has_changed_temporary() {
            return Ok(());
        }
        let has_changes = self.connection.as_ref().is_some_and(|c| c.recorder().on && !c.recorder().log.is_empty());
        if has_changes {
            // (what cannot be put aside keeps the slot)
            self.put_aside();
            return Ok(());
        }
        self.end_sqlite("ROLLBACK")?;
        if self.context.engine.rows.has(self.context.server.number()) {
            self.context.engine.rows.put_aside(self.context.server.number(), Default::default());
            self.context.server.wake_waiters(&self.context.engine);
        }
        Ok(())
    }

    /// COMMIT or ROLLBACK in SQLite; the slot is given back.
    pub(in crate::session) fn end_sqlite(&mut self, sql: &'static str) -> Result<()> {
        if self.context.transaction.is_joined() {
            return self.withdraw();
        }
        if self.context.transaction.is_in_sqlite() {
            let connection = self.connection()?;
            if connection.is_branch() {
                connection.leave_branch()?;
            } else if !connection.is_autocommit() {
                connection.command(sql)?;
            }
        }
        self.context.transaction.closed();
        self.context.transaction.give_up_slot();
        Ok(())
    }

    /// ROLLBACK in SQLite; the slot is given back. A connection that cannot roll back is closed, which does it.
    pub(in crate::session) fn undo_in_sqlite(&mut self) {
        if let Err(e) = self.end_sqlite("ROLLBACK") {
            tracing::warn!("a connection that cannot roll back is closed: {e}");
            // SQLite's lock is given back before the slot
            self.connection = None;
            self.context.transaction.closed();
            self.context.transaction.give_up_slot();
        }
    }

    /// Commits what is open and waits until it is on disk. However it fails, the transaction is over.
    pub(in crate::session) async fn commit(&mut self) -> Result<()> {
        let committed = self.try_commit().await;
        if committed.is_err() && self.context.transaction.has_work() {
            self.rollback();
        }
        committed
    }

    /// Whether COMMIT has to compute something: rows of cursors, what constraints and triggers have left for it, temporary tables.
    fn waits_for_commit(&self) -> bool {
        let left = |c: &Connection| {
            self.context.transaction.keys().watches() || c.has_temporary() || c.cell.routines().has_pending()
        };
        self.portals.values().any(|p| p.cursor.is_some())
            || self.context.writes() && self.connection.as_ref().is_some_and(left)
    }

    async fn try_commit(&mut self) -> Result<()> {
        self.context.server.check_room()?;
        if self.context.transaction.aside().is_some() {
            self.begin_statement().await?;
            self.begin_slot(false).await?;
        }
        if self.context.transaction.branch().is_some() {
            while_requests_count(self, |executor| {
                executor.hold_cursors()?;
                executor.run_pending(|_| true)?;
                executor.check_keys_at_commit()
            })?;
            if let Some(watched) = self.context.transaction.watched() {
                watched.prepare()?;
            }
            self.bring_home().await?;
        }
        // (after a statement requests count no more: those that come meanwhile end the transaction, as long as it is not committed)
        if self.waits_for_commit() {
            while_requests_count(self, |executor| {
                executor.hold_cursors()?;
                if !executor.context.writes() {
                    return Ok(());
                }
                executor.run_pending(|_| true)?;
                executor.check_keys_at_commit()?;
                executor.on_commit()
            })?;
        } else {
            self.hold_cursors()?;
        }
        if !self.context.transaction.has_slot() {
            self.store_sequences_ahead().await?;
        }
        if let Some(watched) = self.context.transaction.watched() {
            watched.prepare()?;
        }
        let wrote = self.context.writes();
        let waits = self.context.gucs.often.waits_for_disk;
        let replicates = self.context.replicates();
        let waits_for_all = self.context.waits_for_all();
        if wrote && replicates && self.context.gucs.often.waits_for_apply {
            // (nobody tells the primary what standbys have applied)
            return Err(PgError::not_supported(
                "a commit with synchronous_commit = remote_apply on a server with a lease",
            )
            .hint("With synchronous_commit = on the bucket has the commit before it is acknowledged."));
        }
        // (others see the transaction in progress as long as this lives)
        let number = self.context.server.last_number();
        let mut keeps_schema = !self.context.transaction.changes_schema();
        let mut durable = None;
        let mut rests_on_others = false;
        if self.context.transaction.is_in_sqlite() {
            if !wrote && self.context.transaction.has_changed_temporary() {
                self.end_temporary()?;
            }
            if wrote {
                rests_on_others =
                    self.context.sequences.store(&self.context.catalog(), self.connection()?.rusqlite())?;
                if let Some(number) = &number {
                    let connection = self.connection()?.rusqlite();
                    keeps_schema &= !pgsqlite_metadata::store::transactions::record(
                        connection,
                        &self.context.catalog(),
                        number.get(),
                    )?;
                }
                if (keeps_schema || self.context.transaction.is_joined()) && self.leaves_commit() {
                    return self.leave_commit(number).await;
                }
                if self.connection()?.is_writing() {
                    self.context.engine.writer.expect_commit(waits || replicates)?;
                }
            }
            let cookie = match self.context.transaction.catalog() {
                Some(_) => Some(crate::engine::schema_version(self.connection()?)?),
                None => None,
            };
            let changed = match self.connection()?.commit(keeps_schema && cookie.is_none()) {
                Ok(changed) => changed,
                Err(e) => {
                    if wrote {
                        self.context.engine.writer.not_committed();
                    }
                    // (after a deferred constraint's error the transaction is still open in SQLite)
                    return Err(self.explain_commit(e));
                }
            };
            self.context.transaction.closed();
            if wrote && changed {
                let number = self.context.engine.writer.committed();
                if waits_for_all {
                    self.connection()?.mark_seen(number);
                } else if replicates {
                    self.connection()?.forget_pages()?;
                }
                durable = Some(number);
            } else if wrote {
                self.context.engine.writer.not_committed();
                if rests_on_others {
                    // the commit of another session has stored where the sequences stand
                    durable = Some(self.context.engine.writer.last_commit());
                }
            }
            if let Some(catalog) = self.context.transaction.take_catalog() {
                if let Some(number) = durable.filter(|_| waits || replicates) {
                    self.context.engine.writer.progress().changes_catalog(number);
                }
                let catalog = self.context.take_temporary(catalog).with_labels_committed();
                self.context.engine.publish(catalog, cookie);
            }
        }
        if let Some(watched) = self.context.transaction.take_watched() {
            watched.committed();
        }
        // others may write while we wait for the disk
        self.context.transaction.give_up_slot();
        self.finish(false);
        if let Some(commit) = durable.filter(|_| waits) {
            self.context.observation.activity.set_wait(Wait::Sync);
            let (writer, here) = (&self.context.engine.writer, self.context.own_thread);
            let durable = match waits_for_all {
                true => writer.wait_durable(commit, here).await,
                false => writer.wait_on_own_disk(commit, here).await,
            };
            self.context.observation.activity.set_wait(Wait::Nothing);
            if durable.is_err() {
                self.context.server.pending.lock().clear();
            }
            durable?;
        }
        match waits_for_all {
            true => self.context.sequences.durable(),
            false => self.context.sequences.not_durable(),
        }
        if let Some(number) = number.filter(|_| !wrote) {
            number.committed_unwritten();
        }
        self.context.server.committed();
        Ok(())
    }

    /// At the COMMIT of a transaction that has not written: values of sequences that it took must not come again after a crash. Where
    /// they soon would not be covered any more, more are stored ahead if nobody has the writer slot.
    async fn store_sequences_ahead(&mut self) -> Result<()> {
        use crate::sequence_state::ToStore;
        let due = self.context.sequences.to_store();
        if due == ToStore::Nothing || due == ToStore::Soon && self.context.transaction.is_in_sqlite() {
            return Ok(());
        }
        if !self.context.transaction.is_temporary_alone() {
            // the snapshot of a REPEATABLE READ transaction may be stale, so the state is stored in a SQLite transaction of its own
            if self.context.transaction.is_in_sqlite() && self.context.transaction.has_changed_temporary() {
                self.end_temporary()?;
            }
            self.end_sqlite("COMMIT")?;
        }
        let free = self.connection.is_some() && self.try_slot()?;
        if free || due == ToStore::Now {
            self.context.sequences.reach_further(!free);
            if free && self.context.transaction.is_temporary_alone() {
                self.context.transaction.savepoints_mut().begins_to_write();
            }
            self.begin_slot(false).await?;
        }
        Ok(())
    }

    /// Before the COMMIT of a transaction that has changed temporary tables alone: what is checked and done then.
    fn end_temporary(&mut self) -> Result<()> {
        self.run_pending(|_| true)?;
        self.check_keys_at_commit()?;
        self.on_commit()?;
        if let Some(catalog) = self.context.transaction.take_catalog() {
            self.keep_temporary(&catalog);
        }
        self.check_private()
    }

    /// ON COMMIT DROP and ON COMMIT DELETE ROWS of the session's temporary tables.
    fn on_commit(&mut self) -> Result<()> {
        if !self.connection()?.has_temporary() {
            return Ok(());
        }
        let private = !self.context.transaction.has_slot();
        let catalog = self.context.catalog();
        let view = self.context.view();
        let connection = self.connection()?.rusqlite();
        let interrupt =
            (!self.context.transaction.is_joined()).then(|| self.connection().map(Connection::interrupt_handle));
        let interrupt = interrupt.transpose()?;
        let outcome = self.context.cancel.work(Begins::Apart, interrupt, || {
            self.context.with_environment(&view, |e| pgsqlite_objects::ddl::on_commit(connection, &catalog, e, private))
        })?;
        if let Some(mut new) = outcome.and_then(|o| o.catalog) {
            Arc::make_mut(&mut new).epoch = pgsqlite_metadata::counter::next_number();
            self.context.transaction.set_catalog(Some(new));
            if let Some(connection) = &mut self.connection {
                connection.clear_cache();
            }
        }
        Ok(())
    }

    /// Takes back what the transaction has done, and ends it.
    pub(in crate::session) fn rollback(&mut self) {
        self.forget_routine_changes();
        drop(self.context.variables.take_changes());
        self.close_portals(|p| !p.is_held());
        let had_ddl =
            self.context.transaction.catalog().is_some() || self.context.transaction.has_changed_temporary_objects();
        self.undo_in_sqlite();
        if had_ddl {
            if let Some(connection) = &mut self.connection {
                connection.clear_cache();
            }
        }
        self.finish(true);
    }

    pub(in crate::session) fn finish(&mut self, rolled_back: bool) {
        if self.context.transaction.has_started() && !self.context.observation.is_of_program {
            let counters = &self.context.engine.counters;
            pgsqlite_natives::statistics::add(if rolled_back { &counters.rollbacks } else { &counters.commits }, 1);
        }
        let was_another = self.context.end_settings(rolled_back);
        if rolled_back {
            self.context.take_back_restarts(None);
            self.context.server.pending.lock().clear();
            self.context.sequences.rolled_back();
            if let Some(before) = self.context.transaction.take_temporary_before() {
                self.set_temporary(before);
            }
            for name in self.context.transaction.take_held() {
                self.drop_portal(&name);
            }
        } else {
            self.context.sequences.committed();
        }
        if let Some(connection) = &self.connection {
            if connection.cell.routines().has_positioned_cursors.take()
                || self.context.transaction.has_positioned_cursors()
            {
                connection.forget_deletes();
            }
        }
        self.context.transaction = Transaction::default();
        if was_another {
            self.context.refresh_superuser();
        }
        self.lost_portals.clear();
        self.context.server.transaction_ended();
        // the lease ends with the transaction, unless temporary tables tie the session to its connection
        if self.context.engine.config.pooling
            && !self.keeps_connection
            && !self.connection.as_ref().is_some_and(Connection::has_temporary)
        {
            self.give_connection_back();
        }
    }

    /// To the pool.
    pub(in crate::session) fn give_connection_back(&mut self) {
        if let Some(connection) = self.connection.take() {
            self.random = connection.cell.random.replace([0, 0]);
            self.context.note_seen(&connection);
            self.context.engine.idle.put(connection);
        }
    }
}

impl Session {
    /// Sync: ends the implicit transaction (commits, or rolls back after an error). An error here is sent before ReadyForQuery.
    pub async fn sync(&mut self) -> Result<()> {
        let executor = &mut self.executor;
        executor.context.cancel.set_others_follow(false);
        if executor.context.timer.is_some() {
            executor.context.end_running();
        }
        let result = executor.end_implicit().await;
        executor.context.observe_pause();
        result
    }

    /// Told after every error sent to the client: the open transaction (block) is now failed. An error of [`Session::sync`] itself
    /// has ended its transaction already: told of it, the session stays as it is.
    pub async fn failed(&mut self) {
        let executor = &mut self.executor;
        executor.context.cancel.set_others_follow(false);
        // (an error may be that memory is scarce: plans can be made again)
        if pgsqlite_memory::total() > pgsqlite_memory::limit() / 4 * 3 {
            executor.context.engine.plans.clear();
        }
        if executor.context.timer.is_some() {
            executor.context.end_running();
        }
        executor.forget_routine_changes();
        // (a request may have stopped what is no statement of SQLite's to the client: DDL, a savepoint)
        let request = executor.context.cancel.error();
        executor.look_for_given_up(&request, false);
        if executor.context.transaction.has_work() {
            executor.context.transaction.block_mut().start();
        }
        if executor.context.transaction.block_mut().fail() {
            executor.context.take_back_settings();
            // cursors made before the last savepoint can be used again after ROLLBACK TO
            let depth = executor.context.transaction.savepoints().len();
            let lost: Vec<_> = executor.portals.iter().filter(|(_, p)| p.depth >= depth && !p.is_held()).collect();
            let lost: Vec<_> = lost.into_iter().map(|(name, p)| (name.clone(), p.columns().is_some())).collect();
            for (name, columns) in lost {
                executor.drop_portal(&name);
                executor.lost_portals.insert(name, columns);
            }
            // without savepoints nothing can be kept: others may write from now on
            if executor.context.transaction.savepoints().is_empty() {
                executor.undo_in_sqlite();
                executor.context.server.transaction_ended();
            }
        }
    }
}
