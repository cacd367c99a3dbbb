//! Rows are locked without the writer slot while its holder keeps it and is silent.
//!
//! A transaction with DDL keeps the slot until it ends ([`crate::session::transaction::resting`]), but PostgreSQL lets others lock rows meanwhile where the DDL
//! makes new objects, or locks its tables against writers alone. As long as
//! the holder's client is silent nobody writes or commits, so that what is committed is the newest state of all rows, unless the holder
//! has changed some. `SELECT … FOR UPDATE` reads it without the slot, takes its locks, and looks then whether the silence lasts: from that
//! moment on whoever writes finds the locks. Where the holder has gone on meanwhile, the locks are given back and the statement waits
//! for the slot, or for the next silence.

use crate::session::context::SessionContext;
use crate::session::execution::portal::command;
use crate::session::executor::Executor;
use crate::session::transaction::state::Open;
use crate::writer::Slot;
use pgsqlite_natives::statistics::activity::Wait;
use pgsqlite_sql::plan::QueryPlan;
use pgsqlite_storage::writer::Silence;
use pgsqlite_types::{PgError, Result};

/// A statement that locks rows without the slot.
pub(in crate::session) struct BesideSilence {
    silence: Silence,
    /// the silence lasted when all rows were locked
    lasted: bool,
    /// … or it was found not to
    over: bool,
}

impl SessionContext {
    /// All rows of a statement are read, none has been sent. Errors: one with which it is begun anew, if the silence is over.
    pub(in crate::session) fn check_silence_lasts(&mut self) -> Result<()> {
        let now = self.engine.writer.silence();
        match self.transaction.beside_silence_mut() {
            // (the locks that were taken while it lasted hold, whatever its end has brought since)
            Some(beside) if beside.lasted => Ok(()),
            Some(beside) if now != Some(beside.silence) => {
                beside.over = true;
                Err(PgError::internal("a statement that has locked rows beside a silent writer is begun anew"))
            }
            Some(beside) => {
                beside.lasted = true;
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Such a statement has run. `mark`: the last row lock before it. True: the silence was over before all rows were locked; its locks
    /// are given back, and it has to be executed anew.
    pub(in crate::session) fn end_beside_silence(&mut self, mark: u64) -> Result<bool> {
        let Some(beside) = self.transaction.beside_silence() else { return Ok(false) };
        // (what was found to be over may look as before again)
        if beside.lasted || !beside.over && self.engine.writer.silence() == Some(beside.silence) {
            return Ok(false);
        }
        self.server.met();
        self.engine.rows.release_since(self.server.number(), mark);
        self.server.wake_waiters(&self.engine);
        Ok(true)
    }
}

impl Executor {
    /// The client is silent. A block that keeps the slot, and has only made objects or changed what lets others lock rows
    /// ([`crate::session::transaction::relation_locks::leaves_rows`]), lets them do so.
    pub(in crate::session) fn fall_silent(&mut self) {
        let t = &self.context.transaction;
        if !t.has_slot() || !t.is_in_sqlite() || !t.block().is_explicit() || t.is_repeatable() || t.is_joined() {
            return;
        }
        let changes_no_rows = self.connection.as_ref().is_some_and(|connection| {
            let recorder = connection.recorder();
            recorder.on && !recorder.rows
        });
        if changes_no_rows && !self.context.transaction.keeps_rows() && self.copying.is_none() {
            self.context.transaction.falls_silent();
            self.context.engine.writer.keep_silently();
        }
    }

    /// Before a statement that locks rows and changes nothing: waits for the writer slot, or until its holder is silent and keeps it. Then a
    /// transaction of SQLite begins that only reads. False: the statement needs the slot (and may have it by now).
    pub(in crate::session) async fn begin_beside_silence(&mut self, plan: &QueryPlan) -> Result<bool> {
        if self.context.transaction.beside_silence().is_some() {
            return Ok(true);
        }
        let t = &self.context.transaction;
        let has_nothing = !t.has_slot() && !t.has_begun() && !t.is_repeatable();
        let only_locks = plan.locks_rows
            && !plan.writes
            && !plan.calls_writers
            && !plan.waits_apart
            && !plan.waits_aside
            && plan.triggered.is_none()
            && plan.rewritten.is_none()
            && plan.steps.len() == 1;
        if !has_nothing || !only_locks || self.context.has_temporary() {
            return Ok(false);
        }
        self.context.check_may_write(command(plan.tag))?;
        self.settle_portals();
        if let Some(slot) = self.context.engine.writer.try_acquire(self.applicant())? {
            self.use_slot(slot, false).await?;
            return Ok(false);
        }
        let silence = loop {
            if let Some(silence) = self.context.engine.writer.silence() {
                break silence;
            }
            if let Some(slot) = self.slot_or_silence().await? {
                self.use_slot(slot, false).await?;
                return Ok(false);
            }
            self.begin_statement().await?;
        };
        let connection = self.connection()?;
        connection.begin_snapshot()?;
        self.context.transaction.opened(Open::BesideSilence(BesideSilence { silence, lasted: false, over: false }));
        Ok(true)
    }

    /// Waits for the writer slot, or until its holder is silent and keeps it (None).
    async fn slot_or_silence(&mut self) -> Result<Option<Slot>> {
        self.release_for_wait();
        let (engine, applicant) = (self.context.engine.clone(), self.applicant());
        let either = async {
            tokio::select! {
                biased;
                slot = engine.writer.acquire(applicant) => slot.map(Some),
                () = engine.writer.fallen_silent() => Ok(None),
            }
        };
        self.context.server.wait(Wait::Writer, self.context.limits(), either).await
    }

    /// Ends the transaction of SQLite in which a statement has locked rows.
    pub(in crate::session) fn leave_silence(&mut self) -> Result<()> {
        match self.context.transaction.beside_silence() {
            None => Ok(()),
            Some(_) => self.end_sqlite("ROLLBACK"),
        }
    }
}
