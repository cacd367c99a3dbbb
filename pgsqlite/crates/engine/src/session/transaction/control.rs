//! BEGIN, COMMIT, ROLLBACK, SAVEPOINT, PREPARE TRANSACTION: what these statements do to the session's transaction.

use crate::routine::HasRoutines;
use crate::session::context::SessionContext;
use crate::session::executor::Executor;
use crate::session::transaction::savepoints::Savepoint;
use pgsqlite_natives::settings::rights::Permit;
use pgsqlite_natives::udf::session_cell::ServerFunctions as _;
use pgsqlite_sql::parse::ast;
use pgsqlite_types::{PgError, Result, SqlState};

impl SessionContext {
    pub(in crate::session) fn need_block(&self, what: &str) -> Result<()> {
        if !self.transaction.block().is_explicit() {
            return Err(PgError::new(
                SqlState::NO_ACTIVE_SQL_TRANSACTION,
                format!("{what} can only be used in transaction blocks"),
            ));
        }
        Ok(())
    }

    pub(in crate::session) fn savepoint(&self, name: &str) -> Result<usize> {
        self.transaction.savepoints().named(name).ok_or_else(|| {
            let error =
                PgError::new(SqlState::INVALID_SAVEPOINT_SPECIFICATION, format!("savepoint \"{name}\" does not exist"));
            if !self.transaction.savepoints().are_lost() {
                return error;
            }
            error
                .detail("A data modification was interrupted in this transaction: SQLite rolls back all of it then.")
                .hint("Only ROLLBACK ends the transaction now.")
        })
    }
}

impl Executor {
    pub(in crate::session) async fn transaction_statement(&mut self, t: &ast::TransactionStmt) -> Result<String> {
        use ast::TransactionStmtKind as K;
        let kind = K::try_from(t.kind).map_err(|_| PgError::internal("unknown transaction statement"))?;
        match kind {
            K::TransStmtBegin | K::TransStmtStart => {
                let begins = !self.context.transaction.block().is_open();
                if begins {
                    self.context.transaction.block_mut().begin();
                    self.context.apply_characteristics();
                } else {
                    self.context.warn(SqlState::ACTIVE_SQL_TRANSACTION, "there is already a transaction in progress");
                }
                let set = self.context.transaction_options(&t.options);
                if set.is_err() && begins {
                    self.context.transaction.block_mut().end();
                }
                set?;
                Ok(if kind == K::TransStmtBegin { "BEGIN" } else { "START TRANSACTION" }.into())
            }
            K::TransStmtCommit | K::TransStmtRollback => {
                let commit = kind == K::TransStmtCommit;
                let was = self.context.transaction.block();
                if !was.is_explicit() {
                    if t.chain {
                        let word = if commit { "COMMIT" } else { "ROLLBACK" };
                        return Err(PgError::new(
                            SqlState::NO_ACTIVE_SQL_TRANSACTION,
                            format!("{word} AND CHAIN can only be used in transaction blocks"),
                        ));
                    }
                    self.context.warn(SqlState::NO_ACTIVE_SQL_TRANSACTION, "there is no transaction in progress");
                }
                let characteristics = self.context.characteristics();
                let committed = commit && !was.is_failed();
                self.context.transaction.block_mut().end();
                if committed {
                    self.commit().await?;
                } else {
                    self.rollback();
                }
                if t.chain {
                    self.context.chain(characteristics)?;
                }
                Ok(if committed { "COMMIT" } else { "ROLLBACK" }.into())
            }
            K::TransStmtSavepoint => {
                self.context.need_block("SAVEPOINT")?;
                let i = self.context.transaction.savepoints().len();
                if self.context.transaction.is_in_sqlite() {
                    self.connection()?.exec(&format!("SAVEPOINT pg_sp_{i}"))?;
                }
                let savepoint = Savepoint {
                    name: t.savepoint_name.clone(),
                    catalog: self.context.transaction.catalog().cloned(),
                    temporary: self.context.temporary.clone(),
                    gucs: self.context.gucs.clone(),
                    local: self.context.transaction.local(),
                    pending: self.context.server.pending.lock().mark(),
                    constraints: self.context.transaction.constraints().clone(),
                    noted: self.connection.as_ref().map_or(0, |c| c.written().now()),
                    recorded: match self.context.transaction.aside() {
                        Some(aside) => aside.log.mark(),
                        None if self.context.transaction.is_in_sqlite() => self.connection()?.recorder().log.mark(),
                        None => Default::default(),
                    },
                    locks: self.context.server.locks_now(),
                };
                self.context.transaction.savepoints_mut().push(savepoint);
                if let Some(connection) = &self.connection {
                    connection.cell.routines().savepoint(i);
                }
                self.context.server.large_objects.lock().savepoint(i);
                Ok("SAVEPOINT".into())
            }
            K::TransStmtRelease => {
                self.context.need_block("RELEASE SAVEPOINT")?;
                let i = self.context.savepoint(&t.savepoint_name)?;
                if self.context.transaction.is_in_sqlite() {
                    self.connection()?.exec(&format!("RELEASE pg_sp_{i}"))?;
                }
                // READ ONLY that was set since the savepoint ends with it
                let read_only = self.context.transaction.savepoints().at(i).gucs.is_on("transaction_read_only");
                if read_only != self.context.gucs.is_on("transaction_read_only") {
                    let value = if read_only { "on" } else { "off" };
                    self.context.gucs.set("transaction_read_only", Some(value), Permit::put_back())?;
                    self.context.apply_characteristics();
                }
                self.context.transaction.savepoints_mut().release(i);
                for portal in self.portals.values_mut() {
                    portal.depth = portal.depth.min(i);
                }
                Ok("RELEASE".into())
            }
            K::TransStmtRollbackTo => {
                self.context.need_block("ROLLBACK TO SAVEPOINT")?;
                let i = self.context.savepoint(&t.savepoint_name)?;
                self.close_portals(|p| p.depth > i && !p.is_held());
                self.lost_portals.clear();
                self.settle_portals();
                let recorded = self.context.transaction.savepoints().at(i).recorded;
                let t = &self.context.transaction;
                let began_since =
                    t.has_slot() && t.savepoints().began_to_write_since(i) && !t.is_joined() && !t.is_repeatable();
                if self.has_changed_rows()? {
                    self.context.server.undoes();
                }
                if self.context.transaction.is_in_sqlite() {
                    self.connection()?.exec(&format!("ROLLBACK TO pg_sp_{i}"))?;
                    self.connection()?.written().undo(self.context.transaction.savepoints().at(i).noted);
                    self.connection()?.cell.routines().rollback_to(i);
                    self.connection()?.recorder().log.cut(recorded);
                } else if let Some(aside) = self.context.transaction.aside_mut() {
                    aside.log.cut(recorded);
                }
                self.context.server.large_objects.lock().rollback_to(i);
                self.context.take_back_restarts(Some(i));
                self.context.transaction.savepoints_mut().roll_back_to(i);
                let savepoint = &self.context.transaction.savepoints().at(i);
                self.context.server.pending.lock().roll_back_to(savepoint.pending);
                self.context.server.unlock_since(savepoint.locks);
                self.hold_what_is_left()?;
                let savepoint = &self.context.transaction.savepoints().at(i);
                let constraints = savepoint.constraints.clone();
                let (catalog, gucs) = (savepoint.catalog.clone(), self.context.gucs.back_to(&savepoint.gucs));
                let temporary =
                    self.context.transaction.has_changed_temporary_objects().then(|| savepoint.temporary.clone());
                let local = savepoint.local.clone();
                self.context.transaction.go_back_to_local(local);
                self.context.transaction.set_catalog(catalog);
                if let Some(temporary) = temporary {
                    self.set_temporary(temporary);
                }
                self.context.transaction.set_constraints(constraints);
                self.context.gucs = gucs;
                self.context.apply_characteristics();
                self.context.transaction.block_mut().resume();
                if began_since {
                    // nothing is left of what the transaction has written: others may write
                    self.give_slot_back()?;
                }
                Ok("ROLLBACK".into())
            }
            K::TransStmtPrepare => {
                if !self.context.transaction.block().is_explicit() {
                    self.context.warn(SqlState::NO_ACTIVE_SQL_TRANSACTION, "there is no transaction in progress");
                    return Ok("ROLLBACK".into());
                }
                let is_failed = self.context.transaction.block().is_failed();
                self.context.transaction.block_mut().end();
                if is_failed {
                    self.rollback();
                    return Ok("ROLLBACK".into());
                }
                self.prepare_transaction(&t.gid).await?;
                Ok("PREPARE TRANSACTION".into())
            }
            K::TransStmtCommitPrepared | K::TransStmtRollbackPrepared => {
                let commits = kind == K::TransStmtCommitPrepared;
                let word = if commits { "COMMIT PREPARED" } else { "ROLLBACK PREPARED" };
                if self.context.transaction.block().is_block() {
                    return Err(PgError::new(
                        SqlState::ACTIVE_SQL_TRANSACTION,
                        format!("{word} cannot run inside a transaction block"),
                    ));
                }
                self.finish_prepared(&t.gid, commits).await?;
                Ok(word.into())
            }
            K::Undefined => Err(PgError::internal("undefined transaction statement")),
        }
    }

    /// The transaction has changed rows that it can still take back.
    pub(in crate::session) fn has_changed_rows(&self) -> Result<bool> {
        if let Some(aside) = self.context.transaction.aside() {
            return Ok(!aside.log.is_empty());
        }
        let changed = self.connection.as_ref().is_some_and(|c| c.changes_of_transaction() > 0);
        Ok(changed && self.context.server.has_writer_slot()?)
    }
}
