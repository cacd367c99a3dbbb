//! A transaction, and what SQLite does for it.
//!
//! SQLite does one thing at a time for a transaction, so that is one value ([`State`]), and what belongs to it is there only with it. The writer
//! slot is beside it: who has the slot has not always begun to write, and who reads in SQLite needs none.

use crate::session::transaction::beside::Beside;
use crate::session::transaction::block::Block;
use crate::session::transaction::resting::Aside;
use crate::session::transaction::silence::BesideSilence;
use crate::session::transaction::Savepoint;
use crate::writer::{Members, Slot};
use pgsqlite_natives::settings::Gucs;
use pgsqlite_sql::catalog::Catalog;
use pgsqlite_storage::vfs::Pin;
use pgsqlite_types::Oid;
use std::collections::HashMap;
use std::sync::Arc;

/// What SQLite does for a transaction.
#[derive(Default)]
enum State {
    /// SQLite has nothing open, and nothing is kept of what it had.
    #[default]
    Nothing,
    /// The client is silent: connection and slot are in the session's place, where others find them ([`crate::session::transaction::resting::Place`]).
    Resting,
    /// The changes are put aside: SQLite has no transaction.
    Aside(Aside),
    /// SQLite has a transaction open.
    Open(Open),
}

/// How a transaction is open in SQLite.
pub(in crate::session) enum Open {
    /// It reads a snapshot, or it writes, in the writer slot.
    Plain,
    /// It has joined a transaction that others left open ([`crate::session::transaction::joined`]): those wait for its end.
    Joined(Members),
    /// It has changed temporary tables alone ([`crate::session::transaction::private`]), and exchanges its snapshot of the database before each
    /// statement.
    Temporary(#[expect(dead_code, reason = "held: the log keeps what it pins")] Pin),
    /// It makes its changes beside the log, on its own snapshot ([`crate::session::transaction::beside`]).
    Branch(Beside),
    /// The running statement locks rows without the slot ([`crate::session::transaction::silence`]).
    BesideSilence(BesideSilence),
}

/// The writer slot of a transaction.
struct Held {
    slot: Slot,
    /// it is kept while the client is silent: others may lock rows
    silently: bool,
}

/// A session's transaction.
#[derive(Default)]
pub(in crate::session) struct Transaction {
    pub block: Block,
    state: State,
    slot: Option<Held>,
    /// it has done more in the slot than DDL that leaves all rows to who wants to lock them
    pub keeps_rows: bool,
    /// what was recorded before the running statement
    pub before_statement: Option<pgsqlite_storage::changes::log::Mark>,
    /// how many savepoints there were when the slot was taken
    pub slot_depth: usize,
    /// temporary tables were changed without the writer slot: that must not be rolled back when the slot is given back
    pub temporary: bool,
    /// the session's temporary objects, before the transaction changed which there are without the writer slot
    pub temporary_before: Option<crate::session::transaction::private::Temporary>,
    /// one snapshot for the whole transaction
    pub repeatable: bool,
    /// SERIALIZABLE: it is repeatable, too
    pub serializable: bool,
    pub read_only: bool,
    /// what it reads and writes is watched: it is serializable
    pub watched: Option<crate::locks::serializable::Watched>,
    /// tables that TRUNCATE has emptied, and how many savepoints there were: COPY may FREEZE its rows in them
    pub emptied: Vec<(Oid, usize)>,
    /// sequences that DDL (RESTART, TRUNCATE … RESTART IDENTITY) has set: where they stood before, and how many savepoints there were
    pub restarted: Vec<(Oid, Option<crate::sequence_state::State>, usize)>,
    /// a query has run: its snapshot is set, as far as the rules of SET TRANSACTION go
    pub queried: bool,
    pub savepoints: Vec<Savepoint>,
    /// SQLite gave them up with the whole transaction
    pub lost_savepoints: bool,
    /// SET CONSTRAINTS
    pub constraints: crate::constraint_modes::Modes,
    /// SQLite checks all foreign keys at COMMIT only
    pub defers_all: bool,
    /// deferrable PRIMARY KEY and UNIQUE constraints
    pub keys: crate::session::transaction::deferred_keys::Watch,
    /// cursors stand on rows: the connection notes which are deleted
    pub has_positioned_cursors: bool,
    /// the catalog after this transaction's DDL
    pub catalog: Option<Arc<Catalog>>,
    /// cursors that its COMMIT holds: they go if it fails
    pub held: Vec<String>,
    /// it may have changed the file's schema without a change of the catalog, and commits by itself
    pub changes_schema: bool,
    /// settings to go back to on rollback
    pub gucs: Option<Gucs>,
    /// SET LOCAL: by lower-case name, what holds again after the transaction
    pub local: HashMap<String, Option<String>>,
    /// on a standby: what keeps the schema as it is
    pub inside: Option<crate::gate::Inside>,
    /// now(), microseconds since 2000-01-01 UTC
    pub started: Option<i64>,
    /// what runs cannot be undone: its Execute ends the transaction
    pub ends_with_statement: bool,
}

impl Transaction {
    /// Whether changes of rows are all that the transaction has done to the database: no DDL, no TRUNCATE, no sequence that DDL has set, no
    /// temporary table, nothing deferred, no cursor whose rows are followed. Then what is recorded of it is all of it.
    pub fn is_rows_alone(&self) -> bool {
        !self.temporary
            && self.temporary_before.is_none()
            && self.catalog.is_none()
            && self.emptied.is_empty()
            && self.restarted.is_empty()
            && self.constraints.is_default()
            && !self.defers_all
            && !self.has_positioned_cursors
    }

    /// Whether something is open or set that COMMIT would keep and ROLLBACK take back.
    pub fn has_work(&self) -> bool {
        self.has_begun() || self.has_slot() || self.catalog.is_some() || self.gucs.is_some() || self.started.is_some()
    }

    // --- SQLite ----------------------------------------------------------------------------------------------------------

    /// Whether SQLite has a transaction open, or had one of which something is kept.
    pub fn has_begun(&self) -> bool {
        !matches!(self.state, State::Nothing)
    }

    /// Whether SQLite has a transaction open.
    pub fn is_in_sqlite(&self) -> bool {
        matches!(self.state, State::Open(_))
    }

    /// Whether it is open in SQLite and has the writer slot: its statements write to the database.
    pub fn may_write(&self) -> bool {
        self.is_in_sqlite() && self.has_slot()
    }

    /// Whether it has the writer slot, or changes that were put aside.
    pub fn is_writer(&self) -> bool {
        self.has_slot() || self.aside().is_some()
    }

    /// Whether it has joined a transaction that others left open.
    pub fn is_joined(&self) -> bool {
        matches!(self.state, State::Open(Open::Joined(_)))
    }

    /// Whether SQLite has changed temporary tables alone for it, and its snapshot of the database is exchanged before each statement.
    pub fn is_temporary_alone(&self) -> bool {
        matches!(self.state, State::Open(Open::Temporary(_)))
    }

    /// What is known of it if it writes beside the log.
    pub fn branch(&self) -> Option<&Beside> {
        match &self.state {
            State::Open(Open::Branch(beside)) => Some(beside),
            _ => None,
        }
    }

    pub fn branch_mut(&mut self) -> Option<&mut Beside> {
        match &mut self.state {
            State::Open(Open::Branch(beside)) => Some(beside),
            _ => None,
        }
    }

    /// The running statement, if it locks rows without the slot.
    pub fn beside_silence(&self) -> Option<&BesideSilence> {
        match &self.state {
            State::Open(Open::BesideSilence(beside)) => Some(beside),
            _ => None,
        }
    }

    pub fn beside_silence_mut(&mut self) -> Option<&mut BesideSilence> {
        match &mut self.state {
            State::Open(Open::BesideSilence(beside)) => Some(beside),
            _ => None,
        }
    }

    /// SQLite has it open from now on. (Changes that are put aside are taken up before: [`Transaction::take_aside`].)
    pub fn opened(&mut self, open: Open) {
        debug_assert!(!self.rests() && self.aside().is_none(), "what is put aside would be lost");
        self.state = State::Open(open);
    }

    /// What was open beside the log, or changed temporary tables alone, goes on as any other transaction.
    pub fn goes_on_plainly(&mut self) {
        if matches!(self.state, State::Open(Open::Temporary(_) | Open::Branch(_))) {
            self.state = State::Open(Open::Plain);
        }
    }

    /// SQLite has nothing open from now on, and what was put aside is forgotten.
    pub fn closed(&mut self) {
        if !self.rests() {
            self.state = State::Nothing;
        }
    }

    /// Those with whom it shares a transaction of SQLite; it leaves that.
    pub fn take_members(&mut self) -> Option<Members> {
        match std::mem::take(&mut self.state) {
            State::Open(Open::Joined(members)) => Some(members),
            other => {
                self.state = other;
                None
            }
        }
    }

    // --- silence ---------------------------------------------------------------------------------------------------------

    /// Whether connection and slot are in the session's place.
    pub fn rests(&self) -> bool {
        matches!(self.state, State::Resting)
    }

    /// Connection and slot are in the session's place from now on.
    pub fn lies_down(&mut self) {
        self.state = State::Resting;
    }

    /// The client goes on. Returns whether the session's place has what became of the transaction.
    pub fn gets_up(&mut self) -> bool {
        let rests = self.rests();
        if rests {
            self.state = State::Nothing;
        }
        rests
    }

    /// What is put aside.
    pub fn aside(&self) -> Option<&Aside> {
        match &self.state {
            State::Aside(aside) => Some(aside),
            _ => None,
        }
    }

    pub fn aside_mut(&mut self) -> Option<&mut Aside> {
        match &mut self.state {
            State::Aside(aside) => Some(aside),
            _ => None,
        }
    }

    /// The changes are put aside: SQLite has no transaction any more.
    pub fn puts_aside(&mut self, aside: Aside) {
        self.state = State::Aside(aside);
    }

    /// Takes up what was put aside, to put it back.
    pub fn take_aside(&mut self) -> Option<Aside> {
        match std::mem::take(&mut self.state) {
            State::Aside(aside) => Some(aside),
            other => {
                self.state = other;
                None
            }
        }
    }

    // --- the writer slot -------------------------------------------------------------------------------------------------

    pub fn has_slot(&self) -> bool {
        self.slot.is_some()
    }

    pub fn slot(&self) -> Option<&Slot> {
        self.slot.as_ref().map(|held| &held.slot)
    }

    pub fn set_slot(&mut self, slot: Slot) {
        self.slot = Some(Held { slot, silently: false });
    }

    pub fn take_slot(&mut self) -> Option<Slot> {
        self.slot.take().map(|held| held.slot)
    }

    /// Others may have the slot.
    pub fn give_up_slot(&mut self) {
        self.slot = None;
    }

    /// The slot is kept while the client is silent: others may lock rows.
    pub fn falls_silent(&mut self) {
        if let Some(held) = &mut self.slot {
            held.silently = true;
        }
    }

    /// The client goes on. Returns whether the slot was kept while it was silent.
    pub fn ends_silence(&mut self) -> bool {
        self.slot.as_mut().is_some_and(|held| std::mem::take(&mut held.silently))
    }
}
