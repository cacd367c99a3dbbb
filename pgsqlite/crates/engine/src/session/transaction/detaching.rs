//! ALTER TABLE … DETACH PARTITION … CONCURRENTLY (manual, "ALTER TABLE").
//!
//! The first transaction marks the partition as being detached: from then on, statements find the table without it. (It waits for those that
//! have used the table and keep their snapshot: what they have read stays as it is. Others do not hold it up.) Then all transactions have to end that have used the table before. The second transaction, for which only who uses the partition itself waits,
//! makes a table of its own of it. What ends in between, by an error or with the server, leaves the mark, until DETACH … FINALIZE.

use crate::engine::Engine;
use crate::locks::{Holder, Mode, Request, Target};
use crate::session::execution::server_functions::{sessions_of, SessionServer};
use crate::session::executor::Executor;
use crate::session::Session;
use pgsqlite_natives::statistics::activity::Wait;
use pgsqlite_sql::catalog::Relation;
use pgsqlite_sql::parse::ast::AlterTableType as T;
use pgsqlite_sql::parse::{ast, NodeEnum, RawStatement};
use pgsqlite_types::{PgError, Result};
use std::sync::Arc;

/// The one command of an ALTER TABLE.
fn command(statement: &ast::AlterTableStmt) -> Option<(T, &ast::PartitionCmd)> {
    let [command] = &statement.cmds[..] else { return None };
    let Some(NodeEnum::AlterTableCmd(command)) = &command.node else { return None };
    match command.def.as_ref().and_then(|def| def.node.as_ref()) {
        Some(NodeEnum::PartitionCmd(part)) => Some((command.subtype(), part)),
        _ => None,
    }
}

/// Whether it is a DETACH PARTITION … CONCURRENTLY.
pub(in crate::session) fn is_concurrent(statement: &ast::AlterTableStmt) -> bool {
    matches!(command(statement), Some((T::AtDetachPartition, part)) if part.concurrent)
}

/// Whether it lets others use the partitioned table meanwhile: a DETACH PARTITION … CONCURRENTLY, or its end.
pub(in crate::session) fn lets_use_table(statement: &ast::AlterTableStmt) -> bool {
    is_concurrent(statement) || matches!(command(statement), Some((T::AtDetachPartitionFinalize, _)))
}

/// The statement that ends it.
fn end_of(statement: &ast::AlterTableStmt, raw: &RawStatement) -> Result<RawStatement> {
    let mut end = statement.clone();
    let command = end.cmds.first_mut().and_then(|c| c.node.as_mut());
    let Some(NodeEnum::AlterTableCmd(command)) = command else {
        return Err(PgError::internal("a DETACH that is none"));
    };
    command.subtype = T::AtDetachPartitionFinalize as i32;
    if let Some(NodeEnum::PartitionCmd(part)) = command.def.as_mut().and_then(|def| def.node.as_mut()) {
        part.concurrent = false;
    }
    Ok(RawStatement { node: NodeEnum::AlterTableStmt(end), text: raw.text.clone(), offset: raw.offset })
}

/// Whose transactions are waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Users {
    /// those that have written
    Writers,
    /// those that keep their snapshots
    OfSnapshots,
    All,
}

impl SessionServer {
    /// Whether the transaction has used one of these tables. Then others may wait for its end.
    fn lets_wait_who_uses(&self, engine: &Engine, tables: &[Arc<Relation>], users: Users) -> bool {
        if users == Users::OfSnapshots && !self.is_repeatable() {
            return false;
        }
        let (least, reads_count) = match users {
            Users::Writers => (Mode::RowExclusive as i32, false),
            Users::OfSnapshots | Users::All => (0, true),
        };
        self.while_it_lasts(|noted, reads| {
            let uses = tables.iter().any(|table| {
                noted.iter().any(|(oid, mode)| *oid == table.oid && *mode >= least)
                    || reads_count && reads.mode_of(table.oid).is_some()
            });
            if uses {
                self.hold_end_of(engine, Holder::any(self.number()));
            }
            uses
        })
    }
}

impl Executor {
    /// Waits for the end of the transactions that have used these tables until now.
    async fn wait_for_users(&mut self, tables: &[Arc<Relation>], users: Users) -> Result<()> {
        let own = self.context.server.number();
        let others: Vec<u64> = sessions_of(&self.context.engine)
            .into_iter()
            .filter(|other| other.number() != own && other.lets_wait_who_uses(&self.context.engine, tables, users))
            .map(|other| other.number())
            .collect();
        for other in others {
            let keeps_lease = self.release_for_wait();
            let server = self.context.server.clone();
            let request = Request {
                session: own,
                target: Target::Transaction(Holder::any(other)),
                mode: Mode::Share,
                transaction: false,
            };
            server.wait(Wait::Transaction, self.context.limits(), server.turn(request, keeps_lease)).await?;
            self.context.engine.locks.release(request);
        }
        self.begin_statement().await
    }
}

impl Session {
    pub(in crate::session) async fn detach_concurrently(
        &mut self,
        statement: &ast::AlterTableStmt,
        raw: &RawStatement,
    ) -> Result<String> {
        self.executor.context.need_no_block("ALTER TABLE ... DETACH CONCURRENTLY")?;
        let catalog = self.executor.context.catalog();
        let parent = statement.relation.as_ref().and_then(|name| self.executor.context.named_relation(name).ok());
        let parts = parent.map(|parent| catalog.with_descendants(parent.oid)).unwrap_or_default();
        let used: Vec<Arc<Relation>> = parts.iter().filter_map(|oid| catalog.relation(*oid)).cloned().collect();
        let referencing = parts.iter().flat_map(|part| catalog.referencing(*part));
        let referencing: Vec<Arc<Relation>> = referencing.map(|(table, _)| table.clone()).collect();
        // (whoever has inserted references to its rows: they are to be found)
        self.executor.wait_for_users(&referencing, Users::Writers).await?;
        self.executor.wait_for_users(&used, Users::OfSnapshots).await?;
        self.run_ddl_on(raw, &[], (vec![], vec![]), None).await?;
        self.executor.statement_result(Ok(()))?;
        self.executor.commit().await?;
        self.executor.context.transaction.set_started(pgsqlite_metadata::clock::now());
        self.executor.begin_statement().await?;
        self.executor.context.transaction.set_ends_with_statement();
        self.executor.wait_for_users(&referencing, Users::Writers).await?;
        self.executor.wait_for_users(&used, Users::All).await?;
        self.run_ddl_on(&end_of(statement, raw)?, &[], (vec![], vec![]), None).await
    }
}
