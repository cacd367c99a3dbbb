//! Informix's transactions on PostgreSQL's.
//!
//! * A failed statement undoes itself, not its transaction: each statement that writes runs inside a savepoint.
//! * Outside BEGIN every statement commits by itself; a cursor that is open then goes on, from rows read ahead.
//! * COMMIT closes cursors that are not WITH HOLD; those read the rest of their rows before.

use super::{Conversation, Step, Wrong};
use crate::dialect::ast::Transaction;
use crate::errors::Failure;
use pgsqlite_engine::session::{Execution, Flow, Row, RowSink, TransactionStatus};
use pgsqlite_types::codec::Context;
use std::sync::Arc;

/// Takes the rows of statements whose rows nobody wants.
pub(super) struct Discard;

impl RowSink for Discard {
    fn columns(&mut self, _: &Arc<[pgsqlite_engine::session::OutputColumn]>) -> pgsqlite_types::Result<()> {
        Ok(())
    }
    fn row(&mut self, _: &dyn Row, _: &Context) -> pgsqlite_types::Result<Flow> {
        Ok(Flow::Continue)
    }
    fn copy_out(&mut self, _: &[pgsqlite_engine::session::Format]) -> pgsqlite_types::Result<()> {
        Ok(())
    }
    fn copy_data(&mut self, _: &[u8]) -> pgsqlite_types::Result<Flow> {
        Ok(Flow::Continue)
    }
    fn copy_done(&mut self) -> pgsqlite_types::Result<()> {
        Ok(())
    }
}

/// The savepoint around a statement. Informix's names cannot be this one.
const AROUND: &str = "\"(statement)\"";

impl Conversation<'_> {
    /// Runs statements of our own.
    pub(super) async fn run_sql(&mut self, text: &str) -> Step {
        let session = self.session()?;
        let mut script = session.script(text)?;
        loop {
            match session.execute_script(&mut script, &mut Discard).await? {
                None => break,
                Some(Execution::CopyIn { .. }) => return Err(Failure::internal("COPY").into()),
                Some(_) => {}
            }
        }
        for notice in session.take_notices() {
            tracing::debug!(%notice, "a notice that SQLI has no message for");
        }
        Ok(())
    }

    /// Before a statement that changes something.
    pub(super) async fn begin_change(&mut self) -> Step {
        match self.in_transaction {
            true => self.run_sql(&format!("SAVEPOINT {AROUND}")).await,
            false => self.settle().await,
        }
    }

    /// After it: what it did is kept, or undone.
    pub(super) async fn end_change<T>(&mut self, result: Step<T>) -> Step<T> {
        if let Err(Wrong::End(_) | Wrong::Fatal(_)) = result {
            return result;
        }
        if self.in_transaction {
            if result.is_err() {
                self.session()?.failed().await;
                self.run_sql(&format!("ROLLBACK TO SAVEPOINT {AROUND}")).await?;
            }
            self.run_sql(&format!("RELEASE SAVEPOINT {AROUND}")).await?;
            return result;
        }
        let session = self.session()?;
        if result.is_err() {
            session.failed().await;
        }
        session.sync().await?;
        result
    }

    /// After a statement that only reads: outside a transaction its snapshot is given up, unless cursors read on in it.
    pub(super) async fn end_read(&mut self) -> Step {
        let reading = self.statements.values().any(|s| s.cursor.as_ref().is_some_and(|c| c.is_live()));
        if !self.in_transaction && !reading {
            self.session()?.sync().await?;
        }
        Ok(())
    }

    /// Outside a transaction, before something is committed: cursors read the rest of their rows.
    pub(super) async fn settle(&mut self) -> Step {
        if self.in_transaction {
            return Ok(());
        }
        let ids: Vec<i16> = self.statements.keys().copied().collect();
        for id in ids {
            self.read_rest(id).await?;
        }
        self.session()?.sync().await?;
        Ok(())
    }

    /// Begins, ends or divides a transaction and tells the client so.
    pub(super) async fn transaction(&mut self, what: Transaction) -> Step {
        if self.xa.has_branch() && matches!(what, Transaction::Begin | Transaction::Commit | Transaction::Rollback) {
            return Err(Failure::new(super::xa::IN_BRANCH, 0, "").into());
        }
        match what {
            Transaction::Begin => {
                self.begin().await?;
                self.client.out.transaction(1, 1, 0);
            }
            Transaction::Commit => {
                self.commit().await?;
                self.client.out.transaction(2, 0, 1);
            }
            Transaction::Rollback => {
                self.rollback().await?;
                self.client.out.transaction(3, 0, 1);
            }
            Transaction::Savepoint(name) => self.savepoint("SAVEPOINT", &name).await?,
            Transaction::ReleaseSavepoint(name) => self.savepoint("RELEASE SAVEPOINT", &name).await?,
            Transaction::RollbackTo(name) => self.savepoint("ROLLBACK TO SAVEPOINT", &name).await?,
        }
        self.done(0, 0);
        Ok(())
    }

    pub(super) async fn begin(&mut self) -> Step {
        if self.in_transaction {
            return Err(Failure::new(-535, 0, "").into());
        }
        self.settle().await?;
        self.run_sql("BEGIN").await?;
        self.in_transaction = true;
        Ok(())
    }

    pub(super) async fn commit(&mut self) -> Step {
        if !self.in_transaction {
            return Err(Failure::new(-255, 0, "").into());
        }
        self.end_cursors().await?;
        let failed = self.session()?.transaction_status() == TransactionStatus::Failed;
        let committed = self.run_sql("COMMIT").await;
        self.in_transaction = false;
        if committed.is_err() {
            self.session()?.failed().await;
        }
        let synced = self.session()?.sync().await;
        if committed.is_err() {
            self.large_objects.undo();
        }
        committed?;
        synced?;
        if failed {
            self.large_objects.undo();
            // what could not be undone by itself has undone everything
            return Err(Failure::text("the transaction had failed: it is rolled back").into());
        }
        Ok(())
    }

    pub(super) async fn rollback(&mut self) -> Step {
        if !self.in_transaction {
            return Err(Failure::new(-255, 0, "").into());
        }
        // a failed transaction has no rows to read on from
        if self.session()?.transaction_status() != TransactionStatus::Failed {
            self.end_cursors().await?;
        }
        self.run_sql("ROLLBACK").await?;
        self.large_objects.undo();
        self.in_transaction = false;
        self.session()?.sync().await?;
        Ok(())
    }

    /// The transaction ends: cursors WITH HOLD read the rest of their rows, the others are closed.
    pub(super) async fn end_cursors(&mut self) -> Step {
        let ids: Vec<i16> = self.statements.keys().copied().collect();
        for id in ids {
            let Some(statement) = self.statements.get(&id) else { continue };
            if statement.hold {
                self.read_rest(id).await?;
            } else if statement.cursor.is_some() {
                self.close_cursor(id)?;
            }
        }
        Ok(())
    }

    /// SAVEPOINT, RELEASE, ROLLBACK TO.
    async fn savepoint(&mut self, verb: &str, name: &str) -> Step {
        if !self.in_transaction {
            return Err(Failure::new(-255, 0, "").into());
        }
        let sql = format!("{verb} {}", pgsqlite_sql::names::quoted(name));
        if verb.starts_with("ROLLBACK") {
            self.large_objects.undo();
        }
        if verb == "SAVEPOINT" || self.session()?.transaction_status() == TransactionStatus::Failed {
            return self.run_sql(&sql).await;
        }
        // a savepoint that is not there fails PostgreSQL's transaction, but not Informix's
        self.begin_change().await?;
        match self.run_sql(&sql).await {
            // what was begun is gone with all that came after the savepoint
            Ok(()) => Ok(()),
            failed => self.end_change(failed).await,
        }
    }
}
