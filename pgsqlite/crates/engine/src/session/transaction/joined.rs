//! Short transactions that share one of SQLite (see [`crate::writer`]): joining one that others have left open, and leaving one open.
//!
//! A session joins with a connection that is not its own, and works there within the savepoint `pg_shared`: what it does can be taken
//! back without touching what others have done. It cannot be interrupted meanwhile, because SQLite would roll back everything;
//! so only statements that are short by their plan, and the whole of their transaction, may join.

use crate::connection::Connection;
use crate::routine::HasRoutines;
use crate::session::executor::Executor;
use crate::session::transaction::state::Open;
use crate::session::Session;
use crate::transactions::Number;
use crate::writer::{Shared, Slot};
use pgsqlite_natives::statistics::activity::Wait;
use pgsqlite_types::{PgError, Result, SqlState};

/// For so many transactions a session remembers that it met others.
const REMEMBERED: u8 = 32;

impl Executor {
    pub(in crate::session) fn forget_others(&mut self) {
        self.beside_others = self.beside_others.saturating_sub(1);
    }

    /// Whether the connection is the session's for no longer than a statement.
    pub(in crate::session) fn connection_is_passing(&self) -> bool {
        self.context.engine.config.pooling
            && !self.keeps_connection
            && !self.connection.as_ref().is_some_and(Connection::has_temporary)
    }

    /// Whether a statement that is short by its plan may join the transaction of others.
    fn may_join(&self) -> bool {
        self.context.sync_follows
            && !self.context.transaction.block().is_explicit()
            && !self.context.transaction.has_begun()
            && self.context.waits_for_all()
            && self.connection_is_passing()
    }

    /// Begins to use the slot, with a connection: that of others, if their transaction can be joined, or one of its own.
    pub(in crate::session) async fn enter_slot(&mut self, mut slot: Slot, shares: bool) -> Result<()> {
        match slot.shared.take() {
            Some(shared) if shares && self.may_join() => return self.join(slot, shared),
            shared => slot.shared = shared,
        }
        slot.commit_shared();
        if self.connection.is_none() {
            match self.context.engine.connection_to_spare()? {
                Some(connection) => self.adopt(connection),
                // who has the slot must not wait for the pool: its connections may be those of transactions that wait for the slot
                None => {
                    drop(slot);
                    self.begin_statement().await?;
                    return self.take_slot().await;
                }
            }
        }
        self.context.transaction.set_slot(slot);
        Ok(())
    }

    /// Goes on with this connection.
    pub(in crate::session) fn adopt(&mut self, connection: Connection) {
        connection.cell.random.set(self.random);
        connection.belongs_to(self.context.server.number());
        connection.cell.rows.clear();
        self.context.tell_natives(&connection);
        self.connection = Some(connection);
    }

    /// Goes on in the transaction that others have left open.
    fn join(&mut self, slot: Slot, shared: Shared) -> Result<()> {
        if let Err(e) = shared.connection.command("SAVEPOINT pg_shared") {
            slot.leave_to(shared);
            return Err(e);
        }
        let Shared { connection, members } = shared;
        self.give_connection_back();
        connection.cell.routines().begin();
        self.adopt(connection);
        self.context.transaction.set_slot(slot);
        self.context.transaction.opened(Open::Joined(members));
        Ok(())
    }

    /// Takes back what the session has done in the transaction of others, and leaves that to them.
    pub(in crate::session) fn withdraw(&mut self) -> Result<()> {
        let joined =
            (self.connection.take(), self.context.transaction.take_slot(), self.context.transaction.take_members());
        let (Some(connection), Some(slot), Some(members)) = joined else {
            return Err(PgError::internal("a shared transaction without its slot"));
        };
        self.random = connection.cell.random.replace([0, 0]);
        self.context.note_seen(&connection);
        match connection.exec("ROLLBACK TO pg_shared; RELEASE pg_shared") {
            Ok(()) => {
                slot.leave_to(Shared { connection, members });
                Ok(())
            }
            Err(e) => {
                // closing the connection rolls back, and must be done before the slot is another's
                drop(connection);
                members.fail(&e);
                drop(slot);
                Err(e)
            }
        }
    }

    /// Whether the transaction that ends now is left open for others: the disk is busy, so that it has to wait in any case.
    pub(in crate::session) fn leaves_commit(&mut self) -> bool {
        let Some(slot) = self.context.transaction.slot() else { return false };
        let busy = slot.disk_is_busy();
        if (busy || self.context.transaction.is_joined()) && !self.context.transaction.block().is_explicit() {
            self.beside_others = REMEMBERED;
        }
        let t = &self.context.transaction;
        // SQLite itself tells of keys that are violated at the end, and of whose they are
        let is_plain =
            t.catalog().is_none() && t.savepoints().is_empty() && !t.defers_all() && !t.has_positioned_cursors();
        t.is_joined()
            || busy
                && is_plain
                && t.watched().is_none()
                && self.context.waits_for_all()
                && self.context.engine.writer.syncs()
                && self.connection_is_passing()
                && self.connection.as_ref().is_some_and(|c| !c.has_deferred_violations())
    }

    /// Leaves the transaction open, and waits until it is committed and on disk.
    /// `number`: that of the transaction, if anybody knows it.
    pub(in crate::session) async fn leave_commit(&mut self, number: Option<Number>) -> Result<()> {
        if self.context.transaction.is_joined() {
            let connection = self.connection()?;
            match connection.has_deferred_violations() {
                true => match self.violated(|_| true) {
                    Ok(Some(error)) | Err(error) => Err(error),
                    Ok(None) => Err(PgError::internal("a foreign key is violated, but none is found to be")),
                },
                false => connection.command("RELEASE pg_shared"),
            }?;
        }
        let (Some(connection), Some(slot)) = (self.connection.take(), self.context.transaction.take_slot()) else {
            return Err(PgError::internal("a commit without its slot"));
        };
        self.random = connection.cell.random.replace([0, 0]);
        self.context.note_seen(&connection);
        let members = self.context.transaction.take_members();
        self.context.transaction.closed();
        let outcome = slot.leave(connection, members, number);
        self.context.observation.activity.set_wait(Wait::Sync);
        let outcome = outcome.await;
        self.context.observation.activity.set_wait(Wait::Nothing);
        let committed = match outcome {
            Ok(committed) => committed,
            Err(_) => {
                Err(PgError::new(SqlState::TRANSACTION_RESOLUTION_UNKNOWN, "the outcome of a commit is not known")
                    .fatal())
            }
        };
        self.finish(committed.is_err());
        if committed.is_ok() {
            self.context.sequences.durable();
            self.context.server.committed();
        }
        committed
    }
}

impl Session {
    /// Whether the next statement ends its transaction: a Sync follows. To be told before [`Session::execute`].
    pub fn tell_sync_follows(&mut self, follows: bool) {
        self.executor.context.sync_follows = follows;
    }

    /// Whether the session has a thread that may wait for the disk itself; others leave that to the committer.
    pub fn set_own_thread(&mut self, own: bool) {
        self.executor.context.own_thread = own;
    }

    /// Whether other sessions were committing at the time of one of the last commits of single statements. (Who writes in blocks keeps its
    /// thread: each of their statements would have to be woken for.)
    pub fn commits_beside_others(&self) -> bool {
        self.executor.beside_others > 0
    }

    /// Whether a transaction of the session has the writer slot, and others wait for it: until the client's next statements come.
    pub fn keeps_others_waiting(&self) -> bool {
        self.executor.context.transaction.slot().is_some_and(Slot::is_waited_for)
    }
}
