//! A transaction, and what SQLite does for it.
//!
//! SQLite does one thing at a time for a transaction, so that is one value ([`State`]), and what belongs to it is there only with it. The writer
//! slot is beside it: who has the slot has not always begun to write, and who reads in SQLite needs none.

use crate::constraint_modes::Modes;
use crate::gate::Inside;
use crate::locks::serializable::Watched;
use crate::session::transaction::beside::Beside;
use crate::session::transaction::block::Block;
use crate::session::transaction::deferred_keys::Watch;
use crate::session::transaction::private::Temporary;
use crate::session::transaction::resting::Aside;
use crate::session::transaction::savepoints::Savepoints;
use crate::session::transaction::silence::BesideSilence;
use crate::writer::{Members, Slot};
use pgsqlite_natives::settings::Gucs;
use pgsqlite_sql::catalog::Catalog;
use pgsqlite_storage::changes::change_log::Mark;
use pgsqlite_storage::vfs::Pin;
use std::collections::HashMap;
use std::sync::Arc;

/// What SQLite does for a transaction.
#[derive(Default)]
enum State {
    /// SQLite has nothing open, and nothing is kept of what it had.
    #[default]
    Nothing,
    /// The client is silent: connection and slot are in the session's place, where others find them ([`crate::session::transaction::resting::Place`]).
    Resting(Checks),
    /// The changes are put aside: SQLite has no transaction.
    Aside(Aside),
    /// SQLite has a transaction open.
    Open(Open, Checks),
}

/// What a transaction of SQLite checks later than with the statement. It ends with that transaction: the next one knows nothing of it.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::session) struct Checks {
    /// deferrable PRIMARY KEY and UNIQUE constraints
    keys: Watch,
    /// SQLite checks all foreign keys at COMMIT only
    defers_all: bool,
}

/// How a transaction is open in SQLite.
pub(in crate::session) enum Open {
    /// It reads a snapshot, or it writes, in the writer slot.
    Plain,
    /// As `Plain`, and it has changed temporary tables before it had the writer slot: a rollback in SQLite would take that back, so it keeps
    /// what SQLite has open when it gives the slot to others.
    Mixed,
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

/// The isolation level of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::session) enum Isolation {
    #[default]
    ReadCommitted,
    /// one snapshot for the whole transaction
    RepeatableRead,
    /// the same, and what it reads and writes is watched
    Serializable,
}

/// What a transaction's DDL has changed.
#[derive(Default)]
struct Ddl {
    /// the catalog after it
    catalog: Option<Arc<Catalog>>,
    /// it may have changed the file's schema without a change of the catalog, and commits by itself
    changes_schema: bool,
    /// the session's temporary objects, before the transaction changed which there are without the writer slot
    temporary_before: Option<Temporary>,
}

/// By lower-case name of a setting, what holds again after the transaction.
pub(in crate::session) type Local = HashMap<String, Option<String>>;

/// The settings of a transaction that has changed some.
pub(in crate::session) struct ChangedSettings {
    /// those to go back to on rollback
    pub before: Gucs,
    /// SET LOCAL
    pub local: Local,
}

/// The clock of `transaction_timeout`, which goes until the transaction ends.
pub(in crate::session) struct Limit {
    /// unique in the process
    pub number: u64,
    pub clock: tokio::task::JoinHandle<()>,
}

impl Drop for Limit {
    fn drop(&mut self) {
        self.clock.abort();
    }
}

/// A session's transaction.
#[derive(Default)]
pub(in crate::session) struct Transaction {
    block: Block,
    state: State,
    slot: Option<Held>,
    /// it has done more in the slot than DDL that leaves all rows to who wants to lock them
    keeps_rows: bool,
    isolation: Isolation,
    read_only: bool,
    /// what it reads and writes is watched: it is serializable
    watched: Option<Watched>,
    /// a query has run: its snapshot is set, as far as the rules of SET TRANSACTION go
    queried: bool,
    savepoints: Savepoints,
    ddl: Ddl,
    /// SET CONSTRAINTS
    constraints: Modes,
    /// cursors stand on rows: the connection notes which are deleted
    has_positioned_cursors: bool,
    /// cursors that its COMMIT holds: they go if it fails
    held: Vec<String>,
    /// None: it has changed no setting
    settings: Option<ChangedSettings>,
    /// on a standby: what keeps the schema as it is
    inside: Option<Inside>,
    /// the clock of `transaction_timeout`
    limit: Option<Limit>,
    /// now(), microseconds since 2000-01-01 UTC
    started: Option<i64>,
    /// what was recorded before the running statement
    before_statement: Option<Mark>,
    /// what runs cannot be undone: its Execute ends the transaction
    ends_with_statement: bool,
}

impl Transaction {
    /// Whether changes of rows are all that the transaction has done to the database: no DDL, no TRUNCATE, no sequence that DDL has set, no
    /// temporary table, nothing deferred, no cursor whose rows are followed. Then what is recorded of it is all of it.
    pub fn is_rows_alone(&self) -> bool {
        !self.has_changed_temporary()
            && self.ddl.temporary_before.is_none()
            && self.ddl.catalog.is_none()
            && !self.savepoints.has_emptied_any()
            && !self.savepoints.has_restarted_any()
            && self.constraints.is_default()
            && !self.defers_all()
            && !self.has_positioned_cursors
    }

    /// Whether something is open or set that COMMIT would keep and ROLLBACK take back.
    pub fn has_work(&self) -> bool {
        self.has_begun()
            || self.has_slot()
            || self.ddl.catalog.is_some()
            || self.settings.is_some()
            || self.started.is_some()
    }

    /// Where it stands, as the client's messages decide it.
    pub fn block(&self) -> Block {
        self.block
    }

    pub fn block_mut(&mut self) -> &mut Block {
        &mut self.block
    }

    /// The number under which `transaction_timeout` ends it.
    pub fn limit(&self) -> Option<u64> {
        self.limit.as_ref().map(|l| l.number)
    }

    pub fn set_limit(&mut self, limit: Option<Limit>) {
        self.limit = limit;
    }

    /// When it began; that is now, if it has not begun yet.
    pub fn start(&mut self, now: i64) -> i64 {
        *self.started.get_or_insert(now)
    }

    pub fn has_started(&self) -> bool {
        self.started.is_some()
    }

    /// It begins at this time, whatever becomes of the statement that runs.
    pub fn set_started(&mut self, at: i64) {
        self.started = Some(at);
    }

    /// What runs cannot be undone: its Execute ends the transaction.
    pub fn ends_with_statement(&self) -> bool {
        self.ends_with_statement
    }

    pub fn set_ends_with_statement(&mut self) {
        self.ends_with_statement = true;
    }

    /// What was recorded before the running statement, if that can be cut off.
    pub fn take_before_statement(&mut self) -> Option<Mark> {
        self.before_statement.take()
    }

    pub fn set_before_statement(&mut self, before: Option<Mark>) {
        self.before_statement = before;
    }

    /// On a standby: what keeps the schema as it is.
    pub fn inside(&self) -> Option<&Inside> {
        self.inside.as_ref()
    }

    pub fn set_inside(&mut self, inside: Option<Inside>) {
        self.inside = inside;
    }

    // --- characteristics -------------------------------------------------------------------------------------------------

    /// Whether it has one snapshot from its first statement on: REPEATABLE READ or SERIALIZABLE.
    pub fn is_repeatable(&self) -> bool {
        self.isolation != Isolation::ReadCommitted
    }

    pub fn is_serializable(&self) -> bool {
        self.isolation == Isolation::Serializable
    }

    pub fn set_isolation(&mut self, isolation: Isolation) {
        self.isolation = isolation;
    }

    pub fn is_read_only(&self) -> bool {
        self.read_only
    }

    pub fn set_read_only(&mut self, read_only: bool) {
        self.read_only = read_only;
    }

    /// Whether a query has run: its snapshot is set, as far as the rules of SET TRANSACTION go.
    pub fn has_queried(&self) -> bool {
        self.queried
    }

    pub fn set_queried(&mut self) {
        self.queried = true;
    }

    /// What sees what it reads and writes, if it is serializable.
    pub fn watched(&self) -> Option<&Watched> {
        self.watched.as_ref()
    }

    pub fn take_watched(&mut self) -> Option<Watched> {
        self.watched.take()
    }

    pub fn set_watched(&mut self, watched: Watched) {
        self.watched = Some(watched);
    }

    // --- what it has done, and what takes that back ----------------------------------------------------------------------

    pub fn savepoints(&self) -> &Savepoints {
        &self.savepoints
    }

    pub fn savepoints_mut(&mut self) -> &mut Savepoints {
        &mut self.savepoints
    }

    /// The catalog after its DDL.
    pub fn catalog(&self) -> Option<&Arc<Catalog>> {
        self.ddl.catalog.as_ref()
    }

    pub fn set_catalog(&mut self, catalog: Option<Arc<Catalog>>) {
        self.ddl.catalog = catalog;
    }

    pub fn take_catalog(&mut self) -> Option<Arc<Catalog>> {
        self.ddl.catalog.take()
    }

    /// Whether it may have changed the file's schema without a change of the catalog.
    pub fn changes_schema(&self) -> bool {
        self.ddl.changes_schema
    }

    pub fn set_changes_schema(&mut self) {
        self.ddl.changes_schema = true;
    }

    /// Whether it has changed temporary tables without the writer slot. (A rollback in SQLite takes that back.)
    pub fn has_changed_temporary(&self) -> bool {
        matches!(self.state, State::Open(Open::Mixed | Open::Temporary(_), _))
    }

    /// It changes temporary tables without the writer slot, in what SQLite has open.
    pub fn changes_temporary(&mut self) {
        debug_assert!(matches!(self.state, State::Open(Open::Plain | Open::Mixed | Open::Temporary(_), _)));
        if let State::Open(open @ Open::Plain, _) = &mut self.state {
            *open = Open::Mixed;
        }
    }

    /// Whether it has changed which temporary objects there are without the writer slot.
    pub fn has_changed_temporary_objects(&self) -> bool {
        self.ddl.temporary_before.is_some()
    }

    /// It changes which temporary objects there are: these there were before.
    pub fn note_temporary_before(&mut self, before: Temporary) {
        self.ddl.temporary_before.get_or_insert(before);
    }

    pub fn take_temporary_before(&mut self) -> Option<Temporary> {
        self.ddl.temporary_before.take()
    }

    /// Settings change: if they are the first, ROLLBACK goes back to `gucs`.
    pub fn note_settings(&mut self, gucs: &Gucs) -> &mut ChangedSettings {
        self.settings.get_or_insert_with(|| ChangedSettings { before: gucs.clone(), local: Local::new() })
    }

    /// The settings that it began with; None: it has changed none.
    pub fn settings_before(&self) -> Option<&Gucs> {
        self.settings.as_ref().map(|changed| &changed.before)
    }

    pub fn settings_mut(&mut self) -> Option<&mut ChangedSettings> {
        self.settings.as_mut()
    }

    pub fn take_settings(&mut self) -> Option<ChangedSettings> {
        self.settings.take()
    }

    /// What SET LOCAL has put aside, as a savepoint keeps it.
    pub fn local(&self) -> Local {
        self.settings.as_ref().map_or_else(Local::new, |settings| settings.local.clone())
    }

    /// What SET LOCAL had put aside when the savepoint was made. (That is nothing, if no setting had been changed.)
    pub fn go_back_to_local(&mut self, local: Local) {
        if let Some(settings) = &mut self.settings {
            settings.local = local;
        }
    }

    /// Its COMMIT holds a cursor, which goes if it fails.
    pub fn holds(&mut self, cursor: String) {
        self.held.push(cursor);
    }

    pub fn take_held(&mut self) -> Vec<String> {
        std::mem::take(&mut self.held)
    }

    // --- what is checked later -------------------------------------------------------------------------------------------

    /// What SET CONSTRAINTS has said.
    pub fn constraints(&self) -> &Modes {
        &self.constraints
    }

    pub fn set_constraints(&mut self, modes: Modes) {
        self.constraints = modes;
    }

    /// Whether SQLite checks all foreign keys at COMMIT only.
    pub fn defers_all(&self) -> bool {
        matches!(&self.state, State::Open(_, checks) if checks.defers_all)
    }

    pub fn set_defers_all(&mut self, all: bool) {
        if let State::Open(_, checks) = &mut self.state {
            checks.defers_all = all;
        }
    }

    /// What is known of deferrable PRIMARY KEY and UNIQUE constraints.
    pub fn keys(&self) -> Watch {
        match &self.state {
            State::Open(_, checks) => checks.keys,
            _ => Watch::default(),
        }
    }

    pub fn set_keys(&mut self, keys: Watch) {
        if let State::Open(_, checks) = &mut self.state {
            checks.keys = keys;
        }
    }

    /// Whether cursors stand on rows: the connection notes which are deleted.
    pub fn has_positioned_cursors(&self) -> bool {
        self.has_positioned_cursors
    }

    pub fn set_positioned_cursors(&mut self) {
        self.has_positioned_cursors = true;
    }

    // --- SQLite ----------------------------------------------------------------------------------------------------------

    /// Whether SQLite has a transaction open, or had one of which something is kept.
    pub fn has_begun(&self) -> bool {
        !matches!(self.state, State::Nothing)
    }

    /// Whether SQLite has a transaction open.
    pub fn is_in_sqlite(&self) -> bool {
        matches!(self.state, State::Open(..))
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
        matches!(self.state, State::Open(Open::Joined(_), _))
    }

    /// Whether SQLite has changed temporary tables alone for it, and its snapshot of the database is exchanged before each statement.
    pub fn is_temporary_alone(&self) -> bool {
        matches!(self.state, State::Open(Open::Temporary(_), _))
    }

    /// What is known of it if it writes beside the log.
    pub fn branch(&self) -> Option<&Beside> {
        match &self.state {
            State::Open(Open::Branch(beside), _) => Some(beside),
            _ => None,
        }
    }

    pub fn branch_mut(&mut self) -> Option<&mut Beside> {
        match &mut self.state {
            State::Open(Open::Branch(beside), _) => Some(beside),
            _ => None,
        }
    }

    /// The running statement, if it locks rows without the slot.
    pub fn beside_silence(&self) -> Option<&BesideSilence> {
        match &self.state {
            State::Open(Open::BesideSilence(beside), _) => Some(beside),
            _ => None,
        }
    }

    pub fn beside_silence_mut(&mut self) -> Option<&mut BesideSilence> {
        match &mut self.state {
            State::Open(Open::BesideSilence(beside), _) => Some(beside),
            _ => None,
        }
    }

    /// SQLite has it open from now on. (Changes that are put aside are taken up before: [`Transaction::take_aside`].)
    pub fn opened(&mut self, open: Open) {
        debug_assert!(!self.rests() && self.aside().is_none(), "what is put aside would be lost");
        let checks = match &self.state {
            State::Open(_, checks) => *checks,
            _ => Checks::default(),
        };
        self.state = State::Open(open, checks);
    }

    /// What was open beside the log, or changed temporary tables alone, goes on as any other transaction.
    pub fn goes_on_plainly(&mut self) {
        if let State::Open(open, _) = &mut self.state {
            match open {
                Open::Temporary(_) => *open = Open::Mixed,
                Open::Branch(_) => *open = Open::Plain,
                _ => {}
            }
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
            State::Open(Open::Joined(members), _) => Some(members),
            other => {
                self.state = other;
                None
            }
        }
    }

    // --- silence ---------------------------------------------------------------------------------------------------------

    /// Whether connection and slot are in the session's place.
    pub fn rests(&self) -> bool {
        matches!(self.state, State::Resting(_))
    }

    /// Connection and slot are in the session's place from now on.
    pub fn lies_down(&mut self) {
        self.state = match &self.state {
            State::Open(_, checks) => State::Resting(*checks),
            _ => State::Resting(Checks::default()),
        };
    }

    /// The client goes on. The session's place has what became of the transaction; these are the checks of what SQLite had open.
    pub fn gets_up(&mut self) -> Option<Checks> {
        let State::Resting(checks) = self.state else { return None };
        self.state = State::Nothing;
        Some(checks)
    }

    /// Nobody has wanted the slot: what SQLite had open goes on.
    pub fn goes_on(&mut self, checks: Checks) {
        self.state = State::Open(Open::Plain, checks);
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

    /// Whether it has done more in the slot than DDL that leaves all rows to who wants to lock them.
    pub fn keeps_rows(&self) -> bool {
        self.keeps_rows
    }

    pub fn set_keeps_rows(&mut self, keeps_rows: bool) {
        self.keeps_rows = keeps_rows;
    }

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
