//! What a session on a standby may do, and what it is told.
//!
//! Its transactions begin as READ ONLY, so that all is refused that is refused there. What PostgreSQL refuses besides is here.

use crate::gate::during_recovery;
use crate::session::context::SessionContext;
use pgsqlite_natives::statistics::activity::Wait;
use pgsqlite_sql::parse::{ast, NodeEnum};
use pgsqlite_types::{PgError, Result, SqlState};
use std::sync::atomic::Ordering;
use std::time::Duration;

/// The setting that says which place of the primary's log a transaction waits for.
const WAIT_FOR_LSN: &str = "pgsqlite.wait_for_lsn";
/// Between two looks at how far the database has come.
const LOOK: Duration = Duration::from_millis(5);

/// ROW EXCLUSIVE, as LOCK TABLE numbers the modes: no stronger lock can be had.
const ROW_EXCLUSIVE: i32 = 3;

/// The error for SERIALIZABLE.
pub(in crate::session) fn no_serializable() -> PgError {
    PgError::new(SqlState::FEATURE_NOT_SUPPORTED, "cannot use serializable mode in a hot standby")
}

impl SessionContext {
    /// After a promotion: the session may write, beginning with its next transaction.
    pub(in crate::session) fn follow_promotion(&mut self) {
        if !self.gucs.often.in_hot_standby || self.engine.in_recovery() {
            return;
        }
        self.gucs.set_in_hot_standby(false);
        self.initial.set_in_hot_standby(false);
        if let Some(changed) = self.transaction.settings_mut() {
            changed.before.set_in_hot_standby(false);
        }
        self.variables.refresh(&self.gucs);
    }

    /// At the beginning of a statement: a transaction begins, or goes on. The schema stays as it is until it ends.
    pub(in crate::session) async fn begin_on_standby(&mut self) -> Result<()> {
        if !self.transaction.block().is_explicit() {
            self.follow_promotion();
        }
        if self.transaction.inside().is_none() && self.engine.in_recovery() {
            let gate = self.engine.gate.clone();
            let entered = async { Ok(gate.enter(&self.cancel).await) };
            let inside = self.server.wait(Wait::Relation, self.limits(), entered).await?;
            self.transaction.set_inside(Some(inside));
        }
        Ok(())
    }

    /// Before a query: `pgsqlite.wait_for_lsn` has a transaction's first one wait until all changes up to this place of the primary's log are applied.
    /// Errors: 22023 for what is no place, 55000 if the standby is promoted before.
    pub(in crate::session) async fn wait_for_place(&mut self) -> Result<()> {
        if !self.gucs.often.in_hot_standby || self.transaction.has_queried() || !self.engine.in_recovery() {
            return Ok(());
        }
        let Some(text) = self.gucs.get(WAIT_FOR_LSN).filter(|text| !text.is_empty()) else { return Ok(()) };
        let Some(place) = pgsqlite_types::transaction_ids::parse_lsn(&text) else {
            let message = format!("invalid value for parameter \"{WAIT_FOR_LSN}\": \"{text}\"");
            return Err(PgError::new(SqlState::INVALID_PARAMETER_VALUE, message)
                .hint("It is a place in the log, as pg_current_wal_lsn() returns it on the primary."));
        };
        let Some(recovery) = self.engine.recovery().cloned() else { return Ok(()) };
        if recovery.replayed.load(Ordering::Acquire) >= place {
            return Ok(());
        }
        // (what is waited for may be a change of the schema)
        self.transaction.set_inside(None);
        let applied = async {
            while recovery.replayed.load(Ordering::Acquire) < place {
                if !recovery.standby.recovers() {
                    let message = format!("the standby was promoted before it came to {text}");
                    return Err(PgError::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
                        .detail("What was committed up to there on the primary may be lost."));
                }
                tokio::time::sleep(LOOK).await;
            }
            Ok(())
        };
        self.server.wait(Wait::Replay, self.limits(), applied).await
    }

    /// As [`SessionContext::wait_for_place`], before a statement that is no query itself but reads.
    pub(in crate::session) async fn wait_for_place_of(&mut self, node: &NodeEnum) -> Result<()> {
        match node {
            NodeEnum::CopyStmt(_)
            | NodeEnum::DoStmt(_)
            | NodeEnum::CallStmt(_)
            | NodeEnum::DeclareCursorStmt(_)
            | NodeEnum::ExecuteStmt(_)
            | NodeEnum::ExplainStmt(_) => self.wait_for_place().await,
            _ => Ok(()),
        }
    }

    /// 0A000 for a query in a transaction that is SERIALIZABLE because transactions are so by default.
    pub(in crate::session) fn check_standby_isolation(&self) -> Result<()> {
        if !self.gucs.often.in_hot_standby || !self.engine.in_recovery() {
            return Ok(());
        }
        match self.gucs.get("transaction_isolation").as_deref() {
            Some("serializable") => Err(no_serializable()
                .detail("\"default_transaction_isolation\" is set to \"serializable\".")
                .hint("You can use \"SET default_transaction_isolation = 'repeatable read'\" to change the default.")),
            _ => Ok(()),
        }
    }

    /// As [`SessionContext::check_may_write`], for a command whose name is not known beforehand.
    pub(in crate::session) fn check_may_write_named(&self, command: impl FnOnce() -> String) -> Result<()> {
        match self.is_read_only() || self.engine.in_recovery() {
            true => self.check_may_write(&command()),
            false => Ok(()),
        }
    }

    /// 25006: on a standby nobody gets the writer slot, whatever asks for it.
    pub(in crate::session) fn check_not_standby(&self) -> Result<()> {
        match self.engine.in_recovery() {
            true => Err(during_recovery("a statement that writes")),
            false => Ok(()),
        }
    }

    /// 25006 for statements that a standby does not run, also where another read-only transaction would.
    pub(in crate::session) fn check_during_recovery(&self, node: &NodeEnum) -> Result<()> {
        if !self.engine.in_recovery() {
            return Ok(());
        }
        use ast::TransactionStmtKind as K;
        let command = match node {
            NodeEnum::VacuumStmt(v) if v.is_vacuumcmd => "VACUUM",
            NodeEnum::VacuumStmt(_) => "ANALYZE",
            NodeEnum::ReindexStmt(_) => "REINDEX",
            NodeEnum::ClusterStmt(_) => "CLUSTER",
            NodeEnum::ListenStmt(_) => "LISTEN",
            NodeEnum::NotifyStmt(_) => "NOTIFY",
            NodeEnum::CopyStmt(c) if c.is_from => "COPY",
            NodeEnum::LockStmt(l) if l.mode > ROW_EXCLUSIVE => "LOCK TABLE",
            NodeEnum::TransactionStmt(t) => match K::try_from(t.kind) {
                Ok(K::TransStmtPrepare) => "PREPARE TRANSACTION",
                Ok(K::TransStmtCommitPrepared) => "COMMIT PREPARED",
                Ok(K::TransStmtRollbackPrepared) => "ROLLBACK PREPARED",
                _ => return Ok(()),
            },
            node if pgsqlite_objects::ddl::handles(node) => {
                return self.check_may_write(&pgsqlite_sql::command::tag(node));
            }
            _ => return Ok(()),
        };
        Err(during_recovery(command))
    }
}
