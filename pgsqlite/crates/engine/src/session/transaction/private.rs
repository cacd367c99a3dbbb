//! Transactions that change temporary tables alone.
//!
//! Temporary tables are in SQLite's `temp` database, which each connection has for itself. A transaction that changes only those needs no
//! writer slot: it is a SQLite transaction that writes to `temp` and reads the database, so that other sessions write meanwhile. In READ COMMITTED each
//! of its statements exchanges the snapshot of the database for the newest one ([`Engine::renew_snapshot`]). Its first statement that
//! writes to the database takes the slot and makes a writing transaction of it, on the newest snapshot. What REPEATABLE READ has begun keeps its
//! snapshot, as ever.
//!
//! Which temporary objects there are is the session's own knowledge, which the shared catalog does not have: DDL on them publishes nothing.

use crate::connection::Connection;
use crate::engine::Engine;
use crate::plans::Body;
use crate::routine::HasRoutines;
use crate::session::context::SessionContext;
use crate::session::executor::Executor;
use crate::session::transaction::state::Open;
use crate::session::Session;
use pgsqlite_sql::catalog::{Catalog, Relation, RelationKind, PG_TEMP};
use pgsqlite_sql::parse::{ast, NodeEnum, RawStatement};
use pgsqlite_sql::plan::QueryPlan;
use pgsqlite_sql::routine::Routine;
use pgsqlite_storage::connection::patience::pause;
use pgsqlite_types::{PgError, Result, SqlState};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// So long the newest snapshot is asked for while a checkpoint keeps it.
const LONGEST: Duration = Duration::from_secs(5);

/// The temporary objects of a session.
#[derive(Clone, Default)]
pub(in crate::session) struct Temporary {
    pub relations: Vec<Arc<Relation>>,
    /// functions of the temporary schema
    pub routines: Vec<Arc<Routine>>,
}

impl Temporary {
    pub fn of(catalog: &Catalog) -> Temporary {
        Temporary {
            relations: catalog.relations.values().filter(|r| r.temporary).cloned().collect(),
            routines: catalog.temporary_routines().cloned().collect(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.relations.is_empty() && self.routines.is_empty()
    }
}

impl SessionContext {
    /// Whether a plan changes temporary tables, and nothing else.
    pub(in crate::session) fn changes_temporary_alone(&self, plan: &QueryPlan) -> bool {
        if self.temporary.is_empty() || self.transaction.has_slot() || !plan.writes {
            return false;
        }
        let catalog = self.catalog();
        let is_plain = !plan.calls_writers
            && !plan.locks_rows
            && plan.triggered.is_none()
            && plan.rewritten.is_none()
            && !plan.has_steps_by_rows();
        is_plain
            && !plan.modifies.is_empty()
            && plan.modifies.iter().all(|t| catalog.relation(*t).is_some_and(|r| r.temporary))
    }

    /// Whether COPY FROM into a table changes nothing but temporary tables.
    pub(in crate::session) fn fills_temporary_alone(&self, table: &Relation) -> bool {
        // (a function of the user may change anything)
        let calls_none = || {
            self.catalog().routines.is_empty()
                || table.constraints.is_empty()
                    && table.columns.iter().all(|c| c.default.is_none() && c.generated.is_none())
        };
        table.temporary && table.kind == RelationKind::Table && table.triggers.is_empty() && calls_none()
    }

    /// The object of a DROP.
    fn is_temporary_or_missing(&self, node: &ast::Node, missing_ok: bool) -> bool {
        let Some(NodeEnum::List(list)) = &node.node else { return false };
        let part = |n: &ast::Node| match &n.node {
            Some(NodeEnum::String(s)) => Some(s.sval.clone()),
            _ => None,
        };
        let Some(parts) = list.items.iter().map(part).collect::<Option<Vec<String>>>() else { return false };
        let (schemaname, relname) = match &parts[..] {
            [name] => (String::new(), name.clone()),
            [schema, name] => (schema.clone(), name.clone()),
            _ => return false,
        };
        match self.named_relation(&ast::RangeVar { schemaname, relname, ..Default::default() }) {
            Ok(relation) => relation.temporary,
            Err(e) => missing_ok && e.code() == SqlState::UNDEFINED_TABLE,
        }
    }
}

impl Executor {
    /// Before a statement that changes temporary tables alone: a transaction of SQLite, without the writer slot. False: it needs the slot.
    pub(in crate::session) fn begin_temporary(&mut self) -> Result<bool> {
        if self.context.transaction.has_slot() || self.context.transaction.branch().is_some() {
            return Ok(false);
        }
        self.settle_portals();
        self.context.transaction.set_queried();
        if self.context.transaction.is_temporary_alone() {
            self.renew_snapshot()?;
        } else if !self.context.transaction.is_in_sqlite() {
            let connection = self.connection()?;
            let pin = match self.context.transaction.is_repeatable() {
                true => None,
                false => match connection.pin_log() {
                    Some(pin) => Some(pin),
                    None => return Ok(false),
                },
            };
            match self.context.transaction.is_repeatable() {
                true => connection.begin_snapshot()?,
                false => connection.command("BEGIN")?,
            }
            connection.cell.routines().begin();
            self.context.transaction.opened(pin.map_or(Open::Plain, Open::Temporary));
            self.reopen_savepoints()?;
            if !self.context.transaction.constraints().is_default() {
                self.defer_in_sqlite()?;
            }
        }
        self.context.transaction.changes_temporary();
        self.tell_access();
        self.watch_keys()?;
        Ok(true)
    }

    /// Before a statement of a transaction that has changed temporary tables alone: it sees what is committed now.
    pub(in crate::session) fn renew_snapshot(&mut self) -> Result<()> {
        self.settle_portals();
        let connection = self.connection()?;
        self.context.engine.renew_snapshot(connection)?;
        self.context.engine.refresh(self.connection.as_ref())
    }

    /// Errors: XX000 if a transaction without the writer slot has written to the database after all. Nothing of it is kept then.
    pub(in crate::session) fn check_private(&self) -> Result<()> {
        match !self.context.transaction.has_slot() && self.connection()?.is_writing() {
            true => Err(PgError::internal("a transaction has written to the database without the writer slot")),
            false => Ok(()),
        }
    }

    /// The session has other temporary objects from now on.
    pub(in crate::session) fn set_temporary(&mut self, temporary: Temporary) {
        self.context.temporary = temporary;
        *self.context.merged.lock() = None;
        if let Some(connection) = &mut self.connection {
            connection.clear_cache();
        }
    }

    /// DDL on temporary objects has given this catalog, in a transaction without the writer slot.
    pub(in crate::session) fn keep_temporary(&mut self, catalog: &Catalog) {
        let now = Temporary::of(catalog);
        let before = std::mem::take(&mut self.context.temporary);
        self.context.transaction.note_temporary_before(before);
        self.set_temporary(now);
    }
}

impl Session {
    /// DDL on temporary objects alone begins: true if it needs no slot, and its transaction is ready.
    pub(in crate::session) async fn begin_private_ddl(&mut self, raw: &RawStatement) -> Result<bool> {
        if self.executor.context.transaction.has_slot()
            || self.executor.context.is_read_only()
            || self.executor.context.transaction.catalog().is_some()
        {
            return Ok(false);
        }
        if !self.is_private_ddl(&raw.node, &raw.text) {
            return Ok(false);
        }
        // (the query of a CREATE TABLE AS may read what others have locked)
        loop {
            let locked = self.locked_for_create_as(raw);
            if locked.is_empty() {
                break;
            }
            self.executor.wait_for_locks(&locked).await?;
        }
        self.executor.begin_temporary()
    }

    fn is_private_ddl(&mut self, node: &NodeEnum, text: &str) -> bool {
        let made_in_temporary = self.executor.context.view().path.first() == Some(&PG_TEMP);
        let named_temporary = |r: &ast::RangeVar| {
            r.relpersistence == "t" || r.schemaname == "pg_temp" || made_in_temporary && r.schemaname.is_empty()
        };
        let is_temporary = |session: &Session, r: &ast::RangeVar| {
            session.executor.context.named_relation(r).is_ok_and(|r| r.temporary)
        };
        match node {
            NodeEnum::CreateStmt(s) => {
                let parents = s.inh_relations.iter().all(|n| match &n.node {
                    Some(NodeEnum::RangeVar(r)) => is_temporary(self, r),
                    _ => false,
                });
                s.relation.as_ref().is_some_and(named_temporary) && parents
            }
            NodeEnum::CreateTableAsStmt(s) => {
                let into = s.into.as_ref().and_then(|i| i.rel.as_ref()).is_some_and(named_temporary);
                match s.query.as_ref().and_then(|q| q.node.as_ref()) {
                    Some(NodeEnum::SelectStmt(select)) if into => self.only_reads((**select).clone(), text),
                    _ => false,
                }
            }
            NodeEnum::SelectStmt(s) => {
                let into = s.into_clause.as_ref().and_then(|i| i.rel.as_ref()).is_some_and(named_temporary);
                into && self.only_reads(ast::SelectStmt { into_clause: None, ..(**s).clone() }, text)
            }
            NodeEnum::IndexStmt(s) => !s.concurrent && s.relation.as_ref().is_some_and(|r| is_temporary(self, r)),
            NodeEnum::CreateSeqStmt(s) => s.sequence.as_ref().is_some_and(named_temporary),
            NodeEnum::DropStmt(s) => {
                use ast::ObjectType as T;
                let kind =
                    matches!(s.remove_type(), T::ObjectTable | T::ObjectIndex | T::ObjectSequence | T::ObjectView);
                kind && !s.concurrent
                    && s.objects.iter().all(|n| self.executor.context.is_temporary_or_missing(n, s.missing_ok))
            }
            NodeEnum::TruncateStmt(s) => s.relations.iter().all(|n| match &n.node {
                Some(NodeEnum::RangeVar(r)) => {
                    self.executor.context.named_relation(r).is_ok_and(|r| r.temporary && r.triggers.is_empty())
                }
                _ => false,
            }),
            _ => false,
        }
    }

    /// Whether a query changes nothing, as far as its plan shows.
    fn only_reads(&mut self, select: ast::SelectStmt, text: &str) -> bool {
        // (an error is reported by the statement itself)
        self.plan_inside(NodeEnum::SelectStmt(Box::new(select)), text).is_some_and(|prepared| {
            matches!(&prepared.body, Body::Plan(plan)
                if !plan.query.writes && !plan.query.calls_writers && !plan.query.locks_rows)
        })
    }
}

impl Engine {
    /// In a transaction that has not written to the database: it reads what is committed now.
    pub(crate) fn renew_snapshot(&self, connection: &Connection) -> Result<()> {
        let until = Instant::now() + LONGEST;
        for attempts in 0.. {
            if !connection.is_reading() {
                return Ok(());
            }
            let renewed = {
                let keeper = self.keeper();
                let Some(newest) = &*keeper else { return Err(PgError::shut_down()) };
                newest.in_transaction("BEGIN", || {
                    newest.take_snapshot().and_then(|()| connection.take_snapshot_of(newest))
                })?
            };
            if renewed {
                return Ok(());
            }
            if Instant::now() >= until {
                return Err(PgError::new(SqlState::LOCK_NOT_AVAILABLE, "the database file is locked by a checkpoint"));
            }
            std::thread::sleep(pause(attempts));
        }
        Err(PgError::internal("an endless wait has ended"))
    }
}
