//! LOCK TABLE, and who has to heed it.
//!
//! LOCK TABLE takes a lock of the database's table ([`crate::locks`]), not the writer slot. As long as no relation is locked there, statements
//! do not look. If one is, each statement waits, before it takes the slot, for the locks of others on the relations that its lowered text names;
//! a statement whose changes are not all known beforehand (triggers, functions, foreign keys' actions) waits for every lock that keeps
//! writers out. What transactions have changed before the lock is asked for is found in their notes ([`SessionServer::relations`]).

use super::server_functions::{sessions_of, SessionServer};
use super::Session;
use crate::engine::Engine;
use crate::locks::{Mode, Request, Target};
use crate::statistics::activity::Wait;
use pgsqlite_sql::parse::{ast, NodeEnum, RawStatement};
use pgsqlite_sql::plan::{QueryPlan, Tag};
use pgsqlite_types::{Oid, PgError, Result, SqlState};
use std::sync::Arc;
use std::time::Duration;

/// So often LOCK TABLE looks whether a statement that has the slot is done.
const LOOK: Duration = Duration::from_millis(5);

impl SessionServer {
    /// A lock of the session on a relation, until its transaction ends.
    fn relation_request(&self, relation: Oid, mode: Mode) -> Request {
        Request { session: self.number(), target: Target::Relation(relation), mode, transaction: true }
    }

    /// For nextval, while relations are locked: waits, on the statement's thread, for whoever changes the sequence. Whether it has waited.
    pub(crate) fn heed_sequence(&self, sequence: Oid) -> Result<bool> {
        let engine = self.engine()?;
        let mode = Mode::RowExclusive;
        if !engine.locks.relations_against(self.number(), mode).contains(&sequence) {
            return Ok(false);
        }
        let request = Request { transaction: false, ..self.relation_request(sequence, mode) };
        self.wait_here(Wait::Relation, self.limits_of_natives(), self.turn(request, true))?;
        engine.locks.release(request);
        Ok(true)
    }
}

impl Session {
    /// The relations locked by others that a plan has to wait for, and the mode in which it would lock them.
    pub(super) fn locked_for_plan(&self, plan: &QueryPlan) -> Option<(Vec<Oid>, Mode)> {
        if !self.engine.locks.has_relations() {
            return None;
        }
        let writes = plan.writes || plan.calls_writers;
        let mode = match plan.locks_rows {
            _ if writes => Mode::RowExclusive,
            true => Mode::RowShare,
            false => Mode::AccessShare,
        };
        let against = self.engine.locks.relations_against(self.server.number(), mode);
        let catalog = self.catalog();
        let changes_more = || {
            plan.calls_writers
                || plan.triggered.is_some()
                || plan.rewritten.is_some()
                || plan.tag != Tag::Insert && plan.modifies.iter().any(|&t| catalog.referencing(t).next().is_some())
        };
        let unknown = writes && changes_more();
        let named = |oid: &Oid| {
            let Some(relation) = catalog.relation(*oid) else { return false };
            let name = pgsqlite_sql::names::quoted(&relation.sqlite_name);
            unknown || plan.modifies.contains(oid) || plan.steps.iter().any(|s| s.sql.contains(&name))
        };
        let found: Vec<Oid> = against.into_iter().filter(named).collect();
        (!found.is_empty()).then_some((found, mode))
    }

    /// Before a plan runs: waits for the locks of others on what it reads or changes. True: it has waited.
    pub(super) async fn heed_locks(&mut self, plan: &QueryPlan) -> Result<bool> {
        let Some((relations, mode)) = self.locked_for_plan(plan) else { return Ok(false) };
        self.wait_for_relations(&relations, mode).await?;
        Ok(true)
    }

    /// Takes locks on relations, waiting for each.
    pub(super) async fn wait_for_relations(&mut self, relations: &[Oid], mode: Mode) -> Result<()> {
        for &relation in relations {
            let request = self.server.relation_request(relation, mode);
            let keeps_lease = self.release_for_wait();
            let server = self.server.clone();
            server.wait(Wait::Relation, self.limits(), server.turn(request, keeps_lease)).await?;
        }
        self.begin_statement().await
    }

    /// After the slot was taken for a plan: true if somebody has locked a relation meanwhile that the plan needs. Then the slot is given
    /// back, if it was taken for this statement.
    pub(super) fn is_locked_meanwhile(&mut self, plan: &QueryPlan, had_slot: bool) -> Result<bool> {
        if had_slot || self.transaction.repeatable || self.locked_for_plan(plan).is_none() {
            return Ok(false);
        }
        self.give_slot_back()?;
        Ok(true)
    }

    /// What is written without a plan (DDL, COPY FROM, DO): waits for the locks of others on the relations that its text names
    /// (`all`: on any), and takes the writer slot.
    pub(super) async fn begin_write_of(&mut self, command: &str, text: &str, mode: Mode, all: bool) -> Result<()> {
        self.begin_write_in(command, text, &[], mode, all).await
    }

    /// As [`Session::begin_write_of`], for relations that the text need not name, too.
    async fn begin_write_in(
        &mut self,
        command: &str,
        text: &str,
        touched: &[Oid],
        mode: Mode,
        all: bool,
    ) -> Result<()> {
        let locked_by_others = |session: &Session| -> Vec<Oid> {
            let against = session.engine.locks.relations_against(session.server.number(), mode);
            let mut locked: Vec<Oid> = against.into_iter().filter(|oid| touched.contains(oid)).collect();
            locked.extend(session.locked_for_text(text, mode, all).into_iter().filter(|oid| !touched.contains(oid)));
            locked
        };
        loop {
            let locked = locked_by_others(self);
            if !locked.is_empty() {
                self.wait_for_relations(&locked, mode).await?;
            }
            let had_slot = self.transaction.slot.is_some();
            self.begin_write(command, false).await?;
            self.note_anything(true)?;
            if had_slot || self.transaction.repeatable || locked_by_others(self).is_empty() {
                return Ok(());
            }
            self.give_slot_back()?;
        }
    }

    /// Waits for the locks of others on these tables (`None`: on any relation), and takes the writer slot; no transaction of SQLite's begins.
    pub(super) async fn take_slot_of(&mut self, tables: Option<&[Oid]>, mode: Mode) -> Result<()> {
        let locked = |session: &Session| -> Vec<Oid> {
            let against = session.engine.locks.relations_against(session.server.number(), mode);
            against.into_iter().filter(|oid| tables.is_none_or(|tables| tables.contains(oid))).collect()
        };
        loop {
            let against = locked(self);
            if !against.is_empty() {
                self.wait_for_relations(&against, mode).await?;
            }
            let had_slot = self.transaction.slot.is_some();
            self.take_slot().await?;
            if had_slot || locked(self).is_empty() {
                return self.begin_statement().await;
            }
            self.transaction.slot = None;
        }
    }

    /// The relations that a text names and that others have locked against a mode (`all`: all that others have locked so).
    pub(super) fn locked_for_text(&self, text: &str, mode: Mode, all: bool) -> Vec<Oid> {
        if !self.engine.locks.has_relations() {
            return vec![];
        }
        let against = self.engine.locks.relations_against(self.server.number(), mode);
        let catalog = self.catalog();
        let text = text.to_ascii_lowercase();
        let all = all || text.contains("cascade");
        let named =
            |oid: &Oid| all || catalog.relation(*oid).is_some_and(|r| names_word(&text, &r.name.to_ascii_lowercase()));
        against.into_iter().filter(named).collect()
    }

    /// DDL: waits for the locks of others on the relations that it names, takes the slot, and notes what it locks.
    pub(super) async fn begin_ddl(&mut self, raw: &RawStatement) -> Result<()> {
        // (told by the refusal of a read-only transaction only)
        let command = if self.is_read_only() { pgsqlite_sql::command::name(&raw.node) } else { String::new() };
        if let NodeEnum::AlterSeqStmt(s) = &raw.node {
            self.begin_write(&command, false).await?;
            self.note_anything(true)?;
            // nextval in other sessions waits for the end of this transaction. (It is locked after the slot is taken: who has the slot
            // and calls nextval must not wait for who waits for the slot.)
            let sequence = s.sequence.as_ref().and_then(|r| self.named_relation(r).ok());
            if let Some(relation) = sequence.filter(|s| !s.temporary) {
                self.wait_for_relations(&[relation.oid], Mode::ShareRowExclusive).await?;
            }
            return Ok(());
        }
        let Some(mode) = mode_of_ddl(&raw.node) else {
            self.begin_write(&command, false).await?;
            return self.note_anything(true);
        };
        let touched = self.locked_by_ddl(&raw.node);
        for relation in &touched {
            self.import_holders(*relation);
        }
        let keeps_rows = self.transaction.keeps_rows || !leaves_rows(&raw.node);
        self.begin_write_in(&command, &raw.text, &touched, mode, false).await?;
        self.transaction.keeps_rows = keeps_rows;
        if self.transaction.block.is_explicit() {
            let catalog = self.catalog();
            let text = raw.text.to_ascii_lowercase();
            let names = |r: &Arc<pgsqlite_sql::catalog::Relation>| {
                r.kind == pgsqlite_sql::catalog::RelationKind::Table
                    && !r.temporary
                    && (touched.contains(&r.oid) || names_word(&text, &r.name.to_ascii_lowercase()))
            };
            let named: Vec<Oid> = catalog.relations.values().filter(|r| names(r)).map(|r| r.oid).collect();
            self.server.lock_relations(named, mode as i32);
        }
        Ok(())
    }

    /// LOCK TABLE: the relations, in the order of the statement.
    pub(super) async fn lock_relations(&mut self, l: &ast::LockStmt, relations: &[Oid]) -> Result<()> {
        let mode = Mode::numbered(l.mode).ok_or_else(|| PgError::internal("an unknown mode of LOCK TABLE"))?;
        for &relation in relations {
            let request = self.server.relation_request(relation, mode);
            loop {
                // from now on others look
                self.server.note_locked();
                self.import_holders(relation);
                if l.nowait {
                    if !self.engine.locks.try_acquire(request) {
                        let catalog = self.catalog();
                        let name = catalog.relation(relation).map_or("", |r| &r.name);
                        let message = format!("could not obtain lock on relation \"{name}\"");
                        return Err(PgError::new(SqlState::LOCK_NOT_AVAILABLE, message));
                    }
                } else {
                    let keeps_lease = self.release_for_wait();
                    let server = self.server.clone();
                    server.wait(Wait::Relation, self.limits(), server.turn(request, keeps_lease)).await?;
                }
                self.let_writer_finish(mode).await?;
                // a statement may have begun before it could see the lock
                self.import_holders(relation);
                if !self.engine.locks.conflicts_of_holder(request) {
                    break;
                }
                self.engine.locks.release(request);
            }
        }
        self.begin_statement().await
    }

    /// The relations that others have locked so that a lock in this mode would have to wait.
    pub(super) fn locked_by_others(&self, mode: Mode) -> Vec<Oid> {
        let catalog = self.catalog();
        catalog
            .relations
            .values()
            .filter(|r| r.is_stored() || r.is_partitioned())
            .for_each(|r| self.import_holders(r.oid));
        self.engine.locks.relations_against(self.server.number(), mode)
    }

    /// What other transactions have noted of a relation becomes locks of the table.
    fn import_holders(&self, relation: Oid) {
        let catalog = self.catalog();
        let Some(relation) = catalog.relation(relation) else { return };
        for other in sessions_of(&self.engine) {
            if other.number() != self.server.number() {
                other.publish_relation(&self.engine, relation);
            }
        }
    }

    /// Waits for a statement that is writing now and may have begun before the lock was there.
    async fn let_writer_finish(&mut self, mode: Mode) -> Result<()> {
        if !mode.conflicts(Mode::RowExclusive) || self.transaction.slot.is_some() {
            return Ok(());
        }
        let engine = self.engine.clone();
        let done = async {
            while !engine.writer_is_done() {
                tokio::time::sleep(LOOK).await;
            }
            Ok(())
        };
        self.server.wait(Wait::Relation, self.limits(), done).await?;
        // what others have left open becomes visible
        if let Some(mut slot) = self.engine.writer.try_acquire(self.applicant())? {
            slot.commit_shared();
        }
        Ok(())
    }
}

impl Engine {
    /// Whether nobody has the writer slot, or a block whose notes are complete: its client is silent, or its statement waits.
    fn writer_is_done(&self) -> bool {
        let Some(holder) = self.writer.holder() else { return !self.writer.is_committing() };
        let Some(activity) = self.activity_of(holder.session) else { return true };
        holder.in_block
            && (activity.silence().is_some() || activity.wait() == Wait::Relation || activity.wait() == Wait::Advisory)
    }
}

/// Whether a text has a word.
fn names_word(text: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).any(|(at, _)| {
        let before = text[..at].chars().next_back().is_some_and(is_part);
        let after = text[at + word.len()..].chars().next().is_some_and(is_part);
        !before && !after
    })
}

/// How DDL locks the relations that it names; None: not at all.
fn mode_of_ddl(node: &NodeEnum) -> Option<Mode> {
    Some(match node {
        NodeEnum::AlterTableStmt(s) if s.cmds.iter().all(lets_read) => Mode::ShareRowExclusive,
        NodeEnum::AlterTableStmt(_)
        | NodeEnum::DropStmt(_)
        | NodeEnum::RenameStmt(_)
        | NodeEnum::TruncateStmt(_)
        | NodeEnum::AlterObjectSchemaStmt(_)
        | NodeEnum::DropOwnedStmt(_)
        | NodeEnum::CreatePolicyStmt(_)
        | NodeEnum::AlterPolicyStmt(_)
        | NodeEnum::RuleStmt(_)
        | NodeEnum::RefreshMatViewStmt(_)
        | NodeEnum::ReindexStmt(_) => Mode::AccessExclusive,
        NodeEnum::IndexStmt(s) if s.concurrent => Mode::ShareUpdateExclusive,
        NodeEnum::IndexStmt(_) | NodeEnum::AlterDomainStmt(_) => Mode::Share,
        NodeEnum::CreateTrigStmt(_) | NodeEnum::CreateStmt(_) => Mode::ShareRowExclusive,
        NodeEnum::VacuumStmt(_) | NodeEnum::CommentStmt(_) => Mode::ShareUpdateExclusive,
        NodeEnum::ViewStmt(_) | NodeEnum::CreateTableAsStmt(_) => Mode::AccessShare,
        _ => return None,
    })
}

/// Whether DDL leaves all rows of all tables as they are, and to whoever wants to lock them: it makes an object, or locks its tables against
/// writers alone.
fn leaves_rows(node: &NodeEnum) -> bool {
    match node {
        NodeEnum::AlterTableStmt(s) => s.cmds.iter().all(lets_read),
        NodeEnum::CreateStmt(s) => s.inh_relations.is_empty() && s.partbound.is_none(),
        NodeEnum::CreateTrigStmt(_) | NodeEnum::IndexStmt(_) | NodeEnum::ViewStmt(_) | NodeEnum::CommentStmt(_) => true,
        _ => false,
    }
}

/// Whether a command of ALTER TABLE locks its tables against writers alone (manual, "ALTER TABLE"): it enables or disables triggers, or adds a
/// foreign key. (One that is not NOT VALID makes the table anew here, which nobody may read meanwhile.)
fn lets_read(command: &ast::Node) -> bool {
    use ast::AlterTableType as T;
    let Some(NodeEnum::AlterTableCmd(command)) = &command.node else { return false };
    match command.subtype() {
        T::AtEnableTrig
        | T::AtEnableAlwaysTrig
        | T::AtEnableReplicaTrig
        | T::AtDisableTrig
        | T::AtEnableTrigAll
        | T::AtDisableTrigAll
        | T::AtEnableTrigUser
        | T::AtDisableTrigUser => true,
        T::AtAddConstraint => match command.def.as_ref().and_then(|def| def.node.as_ref()) {
            Some(NodeEnum::Constraint(c)) => c.contype() == ast::ConstrType::ConstrForeign && c.skip_validation,
            _ => false,
        },
        _ => false,
    }
}
