//! LOCK TABLE, and who has to heed it.
//!
//! LOCK TABLE takes a lock of the database's table ([`crate::locks`]), not the writer slot. As long as no relation is locked there, statements
//! do not look. If one is, each statement waits, before it takes the slot, for the locks of others on the relations that its plan names ([`pgsqlite_sql::plan::Named`]);
//! a statement whose changes are not all known beforehand (triggers, functions) waits for every lock that keeps writers out. What foreign
//! keys reach follows from the catalog ([`crate::session::transaction::key_relations`]). What transactions have changed before the lock is asked for is found in their notes ([`SessionServer::relations`]).

use crate::engine::Engine;
use crate::locks::{Mode, Request, Target};
use crate::plans::{Body, Prepared};
use crate::session::context::SessionContext;
use crate::session::execution::server_functions::{sessions_of, SessionServer};
use crate::session::executor::Executor;
use crate::session::transaction::ddl_relations::cascades;
use crate::session::transaction::key_relations::{reached, reached_by_rows, Reached};
use crate::session::Session;
use pgsqlite_natives::statistics::activity::Wait;
use pgsqlite_sql::effects::may_write;
use pgsqlite_sql::parse::{ast, NodeEnum, RawStatement};
use pgsqlite_sql::plan::QueryPlan;
use pgsqlite_sql::routine::Function;
use pgsqlite_types::{Oid, PgError, Result, SqlState};
use std::sync::Arc;
use std::time::Duration;

/// So often LOCK TABLE looks whether a statement that has the slot is done.
const LOOK: Duration = Duration::from_millis(5);

/// The relations that a statement without a plan names.
enum Named<'a> {
    /// any
    All,
    /// those of DDL
    ByDdl(&'a NodeEnum),
    One(Oid),
}

/// What it touches beside these.
struct Beyond<'a> {
    /// what functions change that its expressions may call: any relation that may be written
    calls: bool,
    /// what its query reads, and what functions change that the query calls
    query: Option<&'a QueryPlan>,
    /// what the foreign keys of this table reference, which gets rows
    filled: Option<Oid>,
}

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

impl SessionContext {
    /// The relations locked by others that a plan has to wait for, each with the mode in which it would lock it.
    pub(in crate::session) fn locked_for_plan(&self, plan: &QueryPlan) -> Vec<(Oid, Mode)> {
        if !self.engine.locks.has_relations() {
            return vec![];
        }
        let writes = plan.writes || plan.calls_writers;
        let mode = match plan.locks_rows {
            _ if writes => Mode::RowExclusive,
            true => Mode::RowShare,
            false => Mode::AccessShare,
        };
        let against = self.engine.locks.relations_against(self.server.number(), mode);
        let catalog = self.catalog();
        let reached = if plan.modifies.is_empty() { Reached::default() } else { reached(&catalog, plan) };
        let changes_more = plan.calls_writers || plan.triggered.is_some() || plan.rewritten.is_some();
        let unknown = writes && (changes_more || reached.fires_triggers);
        let named = |oid: &Oid| {
            let is_named = unknown || plan.modifies.contains(oid) || plan.named.read.contains(oid);
            is_named && catalog.relation(*oid).is_some()
        };
        let mut found: Vec<(Oid, Mode)> = against.into_iter().filter(named).map(|oid| (oid, mode)).collect();
        found.extend(reached.relations.into_iter().filter(|&(oid, mode)| self.is_locked_against(oid, mode)));
        found
    }

    /// Whether others have locked a relation so that a lock in this mode has to wait.
    fn is_locked_against(&self, relation: Oid, mode: Mode) -> bool {
        self.engine.locks.relations_against(self.server.number(), mode).contains(&relation)
    }

    /// The relations of these that others have locked against a mode.
    fn locked_of(&self, named: &Named<'_>, mode: Mode) -> Vec<Oid> {
        if !self.engine.locks.has_relations() {
            return vec![];
        }
        let mut against = self.engine.locks.relations_against(self.server.number(), mode);
        match named {
            Named::All => {}
            Named::One(table) => against.retain(|oid| oid == table),
            Named::ByDdl(_) if against.is_empty() => {}
            Named::ByDdl(node) => {
                let named = self.named_by_ddl(node);
                against.retain(|oid| named.contains(oid));
            }
        }
        against
    }

    /// Who may not empty a table does not wait for it, and keeps nobody waiting. Errors: 42501.
    fn check_may_truncate(&self, node: &NodeEnum) -> Result<()> {
        let NodeEnum::TruncateStmt(statement) = node else { return Ok(()) };
        let (catalog, user) = (self.catalog(), self.view().user);
        for named in &statement.relations {
            let Some(NodeEnum::RangeVar(name)) = &named.node else { continue };
            let Ok(table) = self.named_relation(name) else { continue };
            let granted = pgsqlite_sql::acl::relation_privileges(&catalog, user, &table);
            if (table.is_stored() || table.is_partitioned()) && granted & pgsqlite_sql::acl::privilege::TRUNCATE == 0 {
                let message = format!("permission denied for table {}", table.name);
                return Err(PgError::new(SqlState::INSUFFICIENT_PRIVILEGE, message));
            }
        }
        Ok(())
    }

    /// Whether some function that an expression may call changes data. (Only asked for while relations are locked.)
    fn has_writing_functions(&self) -> bool {
        let catalog = self.catalog();
        let called = |f: &Function| !f.procedure && f.aggregate.is_none() && !f.is_trigger() && !f.is_event_trigger();
        self.engine.locks.has_relations()
            && catalog.routines.values().any(|r| called(&r.function) && may_write(&catalog, r.function.oid))
    }

    /// The relations that others have locked so that a lock in this mode would have to wait.
    pub(in crate::session) fn locked_by_others(&self, mode: Mode) -> Vec<Oid> {
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
}

impl Executor {
    /// Before a plan runs: waits for the locks of others on what it reads or changes. True: it has waited.
    pub(in crate::session) async fn heed_locks(&mut self, plan: &QueryPlan) -> Result<bool> {
        let locked = self.context.locked_for_plan(plan);
        if locked.is_empty() {
            return Ok(false);
        }
        self.wait_for_locks(&locked).await?;
        Ok(true)
    }

    /// Takes locks in one mode on relations, waiting for each.
    pub(in crate::session) async fn wait_for_relations(&mut self, relations: &[Oid], mode: Mode) -> Result<()> {
        let wanted: Vec<(Oid, Mode)> = relations.iter().map(|&oid| (oid, mode)).collect();
        self.wait_for_locks(&wanted).await
    }

    /// Takes locks on relations, waiting for each.
    pub(in crate::session) async fn wait_for_locks(&mut self, wanted: &[(Oid, Mode)]) -> Result<()> {
        for &(relation, mode) in wanted {
            let request = self.context.server.relation_request(relation, mode);
            let keeps_lease = self.release_for_wait();
            let server = self.context.server.clone();
            server.wait(Wait::Relation, self.context.limits(), server.turn(request, keeps_lease)).await?;
        }
        self.begin_statement().await
    }

    /// After the slot was taken for a plan: true if somebody has locked a relation meanwhile that the plan needs. Then the slot is given
    /// back, if it was taken for this statement.
    pub(in crate::session) fn is_locked_meanwhile(&mut self, plan: &QueryPlan, had_slot: bool) -> Result<bool> {
        if had_slot || self.context.transaction.is_repeatable() || self.context.locked_for_plan(plan).is_empty() {
            return Ok(false);
        }
        self.give_slot_back()?;
        Ok(true)
    }

    /// As [`Session::begin_write_of`], for relations that the statement need not name, too.
    async fn begin_write_in(
        &mut self,
        command: &str,
        named: Named<'_>,
        touched: &[Oid],
        mode: Mode,
        beyond: Beyond<'_>,
    ) -> Result<()> {
        let locked_by_others = |session: &Executor| -> Vec<Oid> {
            let against = session.context.engine.locks.relations_against(session.context.server.number(), mode);
            let mut locked: Vec<Oid> = against.into_iter().filter(|oid| touched.contains(oid)).collect();
            let named = session.context.locked_of(&named, mode);
            locked.extend(named.into_iter().filter(|oid| !touched.contains(oid)));
            locked
        };
        let locked_beyond = |session: &Executor| -> Vec<(Oid, Mode)> {
            let mut locked = beyond.query.map_or(vec![], |query| session.context.locked_for_plan(query));
            if let Some(table) = beyond.filled {
                let reached = reached_by_rows(&session.context.catalog(), table).relations;
                locked.extend(reached.into_iter().filter(|&(oid, mode)| session.context.is_locked_against(oid, mode)));
            }
            if beyond.calls {
                let mode = Mode::RowExclusive;
                let against = session.context.engine.locks.relations_against(session.context.server.number(), mode);
                locked.extend(against.into_iter().map(|oid| (oid, mode)));
            }
            locked
        };
        loop {
            let locked = locked_by_others(self);
            if !locked.is_empty() {
                self.wait_for_relations(&locked, mode).await?;
            }
            let locked = locked_beyond(self);
            if !locked.is_empty() {
                self.wait_for_locks(&locked).await?;
            }
            let had_slot = self.context.transaction.has_slot();
            self.begin_write(command, false).await?;
            self.context.note_anything(true)?;
            let free = |session: &Executor| locked_by_others(session).is_empty() && locked_beyond(session).is_empty();
            if had_slot || self.context.transaction.is_repeatable() || free(self) {
                return Ok(());
            }
            self.give_slot_back()?;
        }
    }

    /// Waits for the locks of others on these tables (`None`: on any relation), and takes the writer slot; no transaction of SQLite's begins.
    pub(in crate::session) async fn take_slot_of(&mut self, tables: Option<&[Oid]>, mode: Mode) -> Result<()> {
        let locked = |session: &Executor| -> Vec<Oid> {
            let against = session.context.engine.locks.relations_against(session.context.server.number(), mode);
            against.into_iter().filter(|oid| tables.is_none_or(|tables| tables.contains(oid))).collect()
        };
        loop {
            let against = locked(self);
            if !against.is_empty() {
                self.wait_for_relations(&against, mode).await?;
            }
            let had_slot = self.context.transaction.has_slot();
            self.take_slot().await?;
            if had_slot || locked(self).is_empty() {
                return self.begin_statement().await;
            }
            self.context.transaction.give_up_slot();
        }
    }

    /// LOCK TABLE: the relations, in the order of the statement.
    pub(in crate::session) async fn lock_relations(&mut self, l: &ast::LockStmt, relations: &[Oid]) -> Result<()> {
        let mode = Mode::numbered(l.mode).ok_or_else(|| PgError::internal("an unknown mode of LOCK TABLE"))?;
        for &relation in relations {
            let request = self.context.server.relation_request(relation, mode);
            loop {
                // from now on others look
                self.context.server.note_locked();
                self.context.import_holders(relation);
                if l.nowait {
                    if !self.context.engine.locks.try_acquire(request) {
                        let catalog = self.context.catalog();
                        let name = catalog.relation(relation).map_or("", |r| &r.name);
                        let message = format!("could not obtain lock on relation \"{name}\"");
                        return Err(PgError::new(SqlState::LOCK_NOT_AVAILABLE, message));
                    }
                } else {
                    let keeps_lease = self.release_for_wait();
                    let server = self.context.server.clone();
                    server.wait(Wait::Relation, self.context.limits(), server.turn(request, keeps_lease)).await?;
                }
                self.let_writer_finish(mode).await?;
                // a statement may have begun before it could see the lock
                self.context.import_holders(relation);
                if !self.context.engine.locks.conflicts_of_holder(request) {
                    break;
                }
                self.context.engine.locks.release(request);
            }
        }
        self.begin_statement().await
    }

    /// Waits for a statement that is writing now and may have begun before the lock was there.
    async fn let_writer_finish(&mut self, mode: Mode) -> Result<()> {
        if !mode.conflicts(Mode::RowExclusive) || self.context.transaction.has_slot() {
            return Ok(());
        }
        let engine = self.context.engine.clone();
        let done = async {
            while !engine.writer_is_done() {
                tokio::time::sleep(LOOK).await;
            }
            Ok(())
        };
        self.context.server.wait(Wait::Relation, self.context.limits(), done).await?;
        // what others have left open becomes visible
        if let Some(mut slot) = self.context.engine.writer.try_acquire(self.applicant())? {
            slot.commit_shared();
        }
        Ok(())
    }
}

impl Session {
    /// What is written without a plan (COPY FROM, DO): waits for the locks of others on `filled` (`all`: on any relation), on those that
    /// functions may change which it calls, and on those that the rows of `filled` reference; takes the writer slot.
    pub(in crate::session) async fn begin_write_of(
        &mut self,
        command: &str,
        mode: Mode,
        all: bool,
        filled: Option<(&ast::RangeVar, Oid)>,
    ) -> Result<()> {
        let calls = match filled {
            Some((name, _)) => self.executor.context.has_writing_functions() && self.row_calls_writers(name),
            None => false,
        };
        let filled = filled.map(|(_, table)| table);
        let named = match filled {
            Some(table) if !all => Named::One(table),
            _ => Named::All,
        };
        self.executor.begin_write_in(command, named, &[], mode, Beyond { calls, query: None, filled }).await
    }

    /// Whether the defaults and checks of a new row of a table may call functions that change data.
    fn row_calls_writers(&mut self, table: &ast::RangeVar) -> bool {
        let insert = ast::InsertStmt { relation: Some(table.clone()), ..Default::default() };
        let text = format!("row of {}.{}", table.schemaname, table.relname);
        let plan = self.plan_inside(NodeEnum::InsertStmt(Box::new(insert)), &text);
        !matches!(plan.as_deref(), Some(Prepared { body: Body::Plan(plan), .. }) if !plan.query.calls_writers)
    }

    /// DDL: waits for the locks of others on the relations that it names, takes the slot, and notes what it locks.
    pub(in crate::session) async fn begin_ddl(&mut self, raw: &RawStatement) -> Result<()> {
        // (told by the refusal of a read-only transaction only)
        let command =
            if self.executor.context.is_read_only() { pgsqlite_sql::command::tag(&raw.node) } else { String::new() };
        if let NodeEnum::AlterSeqStmt(s) = &raw.node {
            self.executor.begin_write(&command, false).await?;
            self.executor.context.note_anything(true)?;
            // nextval in other sessions waits for the end of this transaction. (It is locked after the slot is taken: who has the slot
            // and calls nextval must not wait for who waits for the slot.)
            let sequence = s.sequence.as_ref().and_then(|r| self.executor.context.named_relation(r).ok());
            if let Some(relation) = sequence.filter(|s| !s.temporary) {
                self.executor.wait_for_relations(&[relation.oid], Mode::ShareRowExclusive).await?;
            }
            return Ok(());
        }
        let Some(mode) = mode_of_ddl(&raw.node) else {
            self.executor.begin_write(&command, false).await?;
            return self.executor.context.note_anything(true);
        };
        self.executor.context.check_may_truncate(&raw.node)?;
        let touched = self.executor.context.locked_by_ddl(&raw.node);
        for relation in &touched {
            self.executor.context.import_holders(*relation);
        }
        let keeps_rows = self.executor.context.transaction.keeps_rows() || !leaves_rows(&raw.node);
        let calls = may_call(&raw.node) && self.executor.context.has_writing_functions();
        let query = if self.executor.context.engine.locks.has_relations() { self.plan_of_create_as(raw) } else { None };
        let query = query.as_ref().and_then(|prepared| match &prepared.body {
            Body::Plan(plan) => Some(&plan.query),
            _ => None,
        });
        let named = match cascades(&raw.node) {
            true => Named::All,
            false => Named::ByDdl(&raw.node),
        };
        self.executor.begin_write_in(&command, named, &touched, mode, Beyond { calls, query, filled: None }).await?;
        self.executor.context.transaction.set_keeps_rows(keeps_rows);
        if self.executor.context.transaction.block().is_explicit() {
            let catalog = self.executor.context.catalog();
            let is_table = |oid: &Oid| {
                catalog
                    .relation(*oid)
                    .is_some_and(|r| r.kind == pgsqlite_sql::catalog::RelationKind::Table && !r.temporary)
            };
            let mut locked: Vec<Oid> =
                touched.into_iter().chain(self.executor.context.named_by_ddl(&raw.node)).filter(is_table).collect();
            locked.sort_unstable();
            locked.dedup();
            self.executor.context.server.lock_relations(locked, mode as i32);
        }
        Ok(())
    }

    /// The plan of the query of a CREATE TABLE AS; None where it is none, or cannot be planned (which is reported when it runs).
    fn plan_of_create_as(&mut self, raw: &RawStatement) -> Option<Arc<Prepared>> {
        let node = match &raw.node {
            NodeEnum::CreateTableAsStmt(s) => s.query.as_ref()?.node.clone()?,
            NodeEnum::SelectStmt(s) => {
                NodeEnum::SelectStmt(Box::new(ast::SelectStmt { into_clause: None, ..(**s).clone() }))
            }
            _ => return None,
        };
        self.plan_inside(node, &raw.text)
    }

    /// The relations locked by others that the query of a CREATE TABLE AS (or a SELECT INTO) reads.
    pub(in crate::session) fn locked_for_create_as(&mut self, raw: &RawStatement) -> Vec<(Oid, Mode)> {
        if !self.executor.context.engine.locks.has_relations() {
            return vec![];
        }
        match self.plan_of_create_as(raw).as_deref() {
            Some(Prepared { body: Body::Plan(plan), .. }) => self.executor.context.locked_for_plan(&plan.query),
            _ => vec![],
        }
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

/// How DDL locks the relations that it names; None: not at all.
fn mode_of_ddl(node: &NodeEnum) -> Option<Mode> {
    Some(match node {
        NodeEnum::AlterTableStmt(s) if crate::session::transaction::detaching::is_concurrent(s) => {
            Mode::ShareUpdateExclusive
        }
        NodeEnum::AlterTableStmt(s) => {
            let modes = s.cmds.iter().map(mode_of_command);
            modes.max().unwrap_or(Mode::AccessExclusive)
        }
        // (PostgreSQL locks the index alone)
        NodeEnum::RenameStmt(s) if s.rename_type() == ast::ObjectType::ObjectIndex => Mode::AccessShare,
        NodeEnum::DropStmt(_)
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
        // (a SELECT that comes here has INTO)
        NodeEnum::ViewStmt(_) | NodeEnum::CreateTableAsStmt(_) | NodeEnum::SelectStmt(_) => Mode::AccessShare,
        _ => return None,
    })
}

/// Whether DDL may compute expressions: of defaults, conversions, or a materialized view's query.
fn may_call(node: &NodeEnum) -> bool {
    matches!(node, NodeEnum::AlterTableStmt(_) | NodeEnum::RefreshMatViewStmt(_))
}

/// Whether DDL leaves all rows of all tables as they are, and to whoever wants to lock them: it makes an object, or locks its tables against
/// writers alone.
fn leaves_rows(node: &NodeEnum) -> bool {
    match node {
        NodeEnum::AlterTableStmt(s) => {
            s.cmds.iter().all(|c| mode_of_command(c) != Mode::AccessExclusive && !makes_anew(c))
        }
        NodeEnum::RenameStmt(s) => s.rename_type() == ast::ObjectType::ObjectIndex,
        NodeEnum::CreateStmt(s) => s.inh_relations.is_empty() && s.partbound.is_none(),
        NodeEnum::CreateTrigStmt(_) | NodeEnum::IndexStmt(_) | NodeEnum::ViewStmt(_) | NodeEnum::CommentStmt(_) => true,
        _ => false,
    }
}

/// How a command of ALTER TABLE locks its tables (manual, "ALTER TABLE").
fn mode_of_command(command: &ast::Node) -> Mode {
    use ast::AlterTableType as T;
    let Some(NodeEnum::AlterTableCmd(command)) = &command.node else { return Mode::AccessExclusive };
    match command.subtype() {
        T::AtEnableTrig
        | T::AtEnableAlwaysTrig
        | T::AtEnableReplicaTrig
        | T::AtDisableTrig
        | T::AtEnableTrigAll
        | T::AtDisableTrigAll
        | T::AtEnableTrigUser
        | T::AtDisableTrigUser => Mode::ShareRowExclusive,
        T::AtAddConstraint if foreign_key_of(command).is_some() => Mode::ShareRowExclusive,
        T::AtValidateConstraint
        | T::AtSetStatistics
        | T::AtSetOptions
        | T::AtResetOptions
        | T::AtClusterOn
        | T::AtDropCluster => Mode::ShareUpdateExclusive,
        T::AtSetRelOptions | T::AtResetRelOptions => match command.def.as_ref().and_then(|def| def.node.as_ref()) {
            Some(NodeEnum::List(list)) if !list.items.iter().any(shuts_out) => Mode::ShareUpdateExclusive,
            _ => Mode::AccessExclusive,
        },
        _ => Mode::AccessExclusive,
    }
}

/// Whether a change of this storage parameter lets nobody use the relation meanwhile.
fn shuts_out(option: &ast::Node) -> bool {
    let Some(NodeEnum::DefElem(option)) = &option.node else { return true };
    let name = option.defname.as_str();
    let plain =
        matches!(name, "fillfactor" | "parallel_workers" | "toast_tuple_target" | "deduplicate_items" | "n_distinct")
            || name.starts_with("autovacuum_")
            || name.starts_with("vacuum_");
    !plain
}

/// The foreign key that ADD adds.
fn foreign_key_of(command: &ast::AlterTableCmd) -> Option<&ast::Constraint> {
    match command.def.as_ref().and_then(|def| def.node.as_ref()) {
        Some(NodeEnum::Constraint(c)) if c.contype() == ast::ConstrType::ConstrForeign => Some(c),
        _ => None,
    }
}

/// Whether the table is made anew by a command that lets others read it: by a foreign key whose rows are looked at.
fn makes_anew(command: &ast::Node) -> bool {
    let Some(NodeEnum::AlterTableCmd(command)) = &command.node else { return true };
    foreign_key_of(command).is_some_and(|c| !c.skip_validation)
}
