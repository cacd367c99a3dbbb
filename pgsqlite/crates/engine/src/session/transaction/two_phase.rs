//! PREPARE TRANSACTION, COMMIT PREPARED, ROLLBACK PREPARED (manual: "Two-Phase Transactions").
//!
//! PREPARE takes the transaction out of SQLite, as one is put aside whose client is silent ([`crate::session::transaction::resting`]), and commits what it has
//! changed as data: its log, and the locks that do not follow from the log. Its locks belong from then on to a session that has no client
//! ([`crate::prepared`]). COMMIT PREPARED makes the changes again, removes the record, and commits both together.

use crate::changes::table::obstacle;
use crate::locks::Mode;
use crate::prepared::{missing, Claim, Transaction};
use crate::session::context::SessionContext;
use crate::session::execution::running::while_requests_count;
use crate::session::execution::server_functions::next_session;
use crate::session::executor::Executor;
use crate::session::transaction::prepared_locks::{add, end, hold_end};
use crate::session::transaction::resting::{footprint, Aside};
use crate::session::transaction::state::Open;
use pgsqlite_metadata::store;
use pgsqlite_metadata::store::prepared::{Locks, Record};
use pgsqlite_storage::changes::change_log::ChangeLog;
use pgsqlite_types::{PgError, Result, SqlState};

impl SessionContext {
    fn is_stored(&self, gid: &str) -> bool {
        let keeper = self.engine.keeper();
        keeper.as_ref().is_some_and(|keeper| store::prepared::is_stored(keeper.rusqlite(), gid).unwrap_or(true))
    }
}

impl Executor {
    /// PREPARE TRANSACTION. However it fails, the transaction is over. Errors: those of COMMIT; 22023, 42710, 53200, 55000 for the identifier; 0A000
    /// for what cannot be prepared.
    pub(in crate::session) async fn prepare_transaction(&mut self, gid: &str) -> Result<()> {
        let prepared = self.try_prepare(gid).await;
        if prepared.is_err() && self.context.transaction.has_work() {
            self.rollback();
        }
        prepared
    }

    async fn try_prepare(&mut self, gid: &str) -> Result<()> {
        if self.portals.values().any(|p| p.cursor.as_ref().is_some_and(|c| c.hold && !c.held)) {
            return Err(refused("has created a cursor WITH HOLD"));
        }
        self.close_cursors();
        let t = &self.context.transaction;
        let has_written = t.is_writer() || t.branch().is_some();
        let has_changed = t.has_changed_temporary() || t.has_changed_temporary_objects();
        if has_changed || self.context.server.has_used_temporary() {
            return Err(refused("has operated on temporary objects"));
        }
        match has_written {
            true => self.settle_for_commit().await?,
            false => {
                self.end_read_only()?;
                self.acquire_slot(false).await?;
            }
        }
        let claim = self.context.engine.prepared.reserve(gid, self.context.engine.config.max_prepared)?;
        if !self.context.server.pending.lock().is_empty() {
            return Err(refused("has executed LISTEN, UNLISTEN, or NOTIFY"));
        }
        if self.context.engine.locks.holds_twice(self.context.server.number()) {
            return Err(PgError::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                "cannot PREPARE while holding both session-level and transaction-level locks on the same object",
            ));
        }
        let log = match self.context.transaction.is_in_sqlite() {
            true => self.take_whole_log()?,
            false => ChangeLog::default(),
        };
        self.store_prepared(claim, log).await
    }

    /// What COMMIT checks and computes, on the newest state, in the writer slot.
    async fn settle_for_commit(&mut self) -> Result<()> {
        if let (Some(watched), Some(_)) = (self.context.transaction.watched(), self.context.transaction.branch()) {
            watched.prepare()?;
        }
        self.bring_home().await?;
        if self.context.transaction.aside().is_some() {
            self.begin_slot(false).await?;
        }
        if self.context.transaction.is_in_sqlite() {
            while_requests_count(self, |executor| {
                executor.run_pending(|_| true)?;
                executor.check_keys_at_commit()
            })?;
            if self.connection()?.has_deferred_violations() {
                // SQLite says so before it writes anything
                let refused = self.connection()?.command("COMMIT");
                let e = refused.err().unwrap_or_else(|| PgError::internal("a violated key has been committed"));
                return Err(self.explain_commit(e));
            }
        }
        match self.context.transaction.watched() {
            Some(watched) => watched.prepare(),
            None => Ok(()),
        }
    }

    /// The log of the transaction that SQLite has open. Errors: 0A000 if it does not have all that the transaction has done.
    fn take_whole_log(&self) -> Result<ChangeLog> {
        let t = &self.context.transaction;
        if t.catalog().is_some() {
            return Err(refused("has changed the schema"));
        }
        if t.savepoints().has_emptied_any() {
            return Err(refused("has run TRUNCATE"));
        }
        if t.savepoints().has_restarted_any() {
            return Err(refused("has restarted a sequence"));
        }
        let connection = self.connection()?;
        let mut recorder = connection.recorder();
        if !recorder.on {
            return Err(refused("keeps the writer's slot from its beginning"));
        }
        let log = recorder.take();
        drop(recorder);
        let tables = self.context.engine.tables_of(connection, &log)?;
        match obstacle(&log, &tables) {
            Some(obstacle) => Err(PgError::not_supported(format!(
                "PREPARE TRANSACTION of changes that cannot be made again ({obstacle})"
            ))),
            None => Ok(log),
        }
    }

    /// In the writer slot: hands the locks over, takes the changes out of SQLite, and commits the record.
    async fn store_prepared(&mut self, mut claim: Claim, log: ChangeLog) -> Result<()> {
        let (own, holder) = (self.context.server.number(), next_session());
        let engine = self.context.engine.clone();
        let connection = self.connection()?;
        let tables = engine.tables_of(connection, &log)?;
        let footprint = footprint(connection, &log, &tables, 0)?;
        let number = self.context.server.own_transaction_id().and_then(|_| self.context.server.last_number());
        let number = number.ok_or_else(|| PgError::internal("a transaction without a number"))?;
        let taken = engine.rows.taken_since(own, 0);
        self.context
            .server
            .lock_relations(tables.iter().map(|t| t.oid).filter(|oid| *oid != 0), Mode::RowExclusive as i32);
        let catalog = self.context.catalog();
        catalog.relations.values().for_each(|relation| self.context.server.publish_relation(&engine, relation));
        engine.rows.put_aside(own, footprint);
        let mut locks = Locks {
            serializable: self.context.transaction.watched().is_some(),
            columns: tables.iter().map(|t| t.columns.clone()).collect(),
            rows: taken.into_iter().map(|(row, mode)| (row.table.to_string(), row.rowid, mode.number())).collect(),
            ..Locks::default()
        };
        engine.rows.hand_over(own, holder);
        engine.locks.hand_over(own, holder);
        hold_end(&engine, holder);
        engine.locks.of(holder).iter().for_each(|lock| add(&mut locks, lock.target, lock.mode));
        let owner = self.context.user_oid(&catalog);
        let gid = claim.gid().to_string();
        let record =
            Record { gid: gid.clone(), number: number.get(), prepared: pgsqlite_metadata::clock::now(), owner, locks };
        claim.hold(Transaction {
            number,
            prepared: record.prepared,
            owner,
            holder,
            tables: Some(tables),
            watched: self.context.transaction.take_watched(),
        });
        let stored = self.commit_record(&record, &log).await;
        // (an error may come after the commit: of a disk that does not take it)
        if stored.is_err() && !self.context.is_stored(&gid) {
            end(&engine, claim, false);
        }
        stored
    }

    async fn commit_record(&mut self, record: &Record, log: &ChangeLog) -> Result<()> {
        if self.context.transaction.is_in_sqlite() {
            self.connection()?.command("ROLLBACK")?;
            self.context.transaction.closed();
        }
        self.context.transaction.set_constraints(Default::default());
        self.context.transaction.savepoints_mut().clear();
        self.begin_immediate().await?;
        self.context.transaction.opened(Open::Plain);
        store::prepared::put(self.connection()?.rusqlite(), &self.context.catalog(), record, log)?;
        self.context.transaction.set_changes_schema();
        self.commit().await
    }

    /// COMMIT PREPARED and ROLLBACK PREPARED, outside of a block. Errors: 42704, 42501 and 55000 for the identifier; 40001 where another program has
    /// changed what the transaction had changed: it stays prepared.
    pub(in crate::session) async fn finish_prepared(&mut self, gid: &str, commit: bool) -> Result<()> {
        let catalog = self.context.catalog();
        let (is_superuser, own) = (self.context.is_superuser(&catalog), self.context.user_oid(&catalog));
        let claim = self.context.engine.prepared.claim(gid, |owner| is_superuser || owner == own)?;
        let ended = self.end_prepared(&claim, commit).await;
        if ended.is_err() && self.context.transaction.has_work() {
            self.rollback();
        }
        if ended.is_ok() || !self.context.is_stored(gid) {
            end(&self.context.engine, claim, commit);
        }
        ended
    }

    async fn end_prepared(&mut self, claim: &Claim, commit: bool) -> Result<()> {
        let transaction = claim.transaction().ok_or_else(|| PgError::internal("a transaction that is not prepared"))?;
        self.begin_slot(false).await?;
        if !store::prepared::is_stored(self.connection()?.rusqlite(), claim.gid())? {
            // it was ended by a session that is gone
            return Err(missing(claim.gid()));
        }
        if commit {
            let tables = transaction.tables.clone().ok_or_else(|| store::prepared::damaged(claim.gid()))?;
            let log = store::prepared::changes(self.connection()?.rusqlite(), claim.gid())?;
            self.put_back(Aside { log, tables }, Ok(()))?;
        }
        let connection = self.connection()?.rusqlite();
        store::prepared::remove(connection, claim.gid())?;
        if commit {
            store::transactions::record(connection, &self.context.catalog(), transaction.number.get())?;
        }
        self.context.transaction.set_changes_schema();
        self.commit().await
    }
}

fn refused(what: &str) -> PgError {
    PgError::new(SqlState::FEATURE_NOT_SUPPORTED, format!("cannot PREPARE a transaction that {what}"))
}
