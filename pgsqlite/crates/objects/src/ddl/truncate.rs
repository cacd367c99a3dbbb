//! TRUNCATE.

use super::{Ddl, NodeEnum};
use pgsqlite_metadata::store;
use pgsqlite_sql::catalog::*;
use pgsqlite_sql::names::quoted;
use pgsqlite_sql::parse::ast;
use pgsqlite_sql::routine::{Event, Timing};
use pgsqlite_types::{work, Oid, PgError, Result, SqlState};
use std::sync::Arc;

impl Ddl<'_> {
    pub(super) fn truncate(&mut self, statement: &ast::TruncateStmt) -> Result<String> {
        let mut tables: Vec<Oid> = Vec::new();
        for node in &statement.relations {
            work::visit();
            let Some(NodeEnum::RangeVar(name)) = &node.node else {
                return Err(PgError::internal("TRUNCATE of something without a name"));
            };
            let relation = self.find(name)?;
            self.check_not_system(&relation)?;
            if relation.kind != RelationKind::Table {
                return Err(PgError::new(SqlState::WRONG_OBJECT_TYPE, format!("\"{}\" is not a table", relation.name)));
            }
            let has = pgsqlite_sql::acl::relation_privileges(&self.catalog, self.environment.user, &relation);
            if has & pgsqlite_sql::acl::privilege::TRUNCATE == 0 {
                return Err(PgError::new(
                    SqlState::INSUFFICIENT_PRIVILEGE,
                    format!("permission denied for table {}", relation.name),
                ));
            }
            if !name.inh && relation.is_partitioned() {
                return Err(PgError::new(SqlState::WRONG_OBJECT_TYPE, "cannot truncate only a partitioned table")
                    .hint("Do not specify the ONLY keyword, or use TRUNCATE ONLY on the partitions directly."));
            }
            let all = if name.inh { self.catalog.with_descendants(relation.oid) } else { vec![relation.oid] };
            for table in all {
                work::visit();
                if !tables.contains(&table) {
                    tables.push(table);
                }
            }
        }
        let cascade = statement.behavior() == ast::DropBehavior::DropCascade;
        let mut at = 0;
        while at < tables.len() {
            work::visit();
            let table = tables[at];
            at += 1;
            if !cascade && !self.has_constraint_triggers(table) {
                continue;
            }
            let children: Vec<(Oid, String)> =
                self.catalog.referencing(table).map(|(child, _)| (child.oid, child.name.clone())).collect();
            for (child, name) in children {
                work::visit();
                if tables.contains(&child) {
                    continue;
                }
                if !cascade {
                    let parent = self.required(table)?.name.clone();
                    return Err(PgError::new(
                        SqlState::FEATURE_NOT_SUPPORTED,
                        "cannot truncate a table referenced in a foreign key constraint",
                    )
                    .detail(format!("Table \"{name}\" references \"{parent}\"."))
                    .hint(format!("Truncate table \"{name}\" at the same time, or use TRUNCATE ... CASCADE.")));
                }
                self.notice(SqlState::SUCCESSFUL_COMPLETION, format!("truncate cascades to table \"{name}\""));
                tables.push(child);
                if self.required(child)?.is_partitioned() {
                    for part in self.catalog.with_descendants(child) {
                        work::visit();
                        if !tables.contains(&part) {
                            let name = self.required(part)?.name.clone();
                            let message = format!("truncate cascades to table \"{name}\"");
                            self.notice(SqlState::SUCCESSFUL_COMPLETION, message);
                            tables.push(part);
                        }
                    }
                }
            }
        }
        self.fire_truncate(&tables, Timing::Before)?;
        // Children first: no foreign key sees a missing row.
        let mut left = tables.clone();
        while !left.is_empty() {
            work::visit();
            let next = left
                .iter()
                .position(|&t| {
                    !self
                        .catalog
                        .referencing(t)
                        .any(|(child, c)| !c.managed && child.oid != t && left.contains(&child.oid))
                })
                .unwrap_or(0);
            let relation = self.required(left.remove(next))?.clone();
            let database = if relation.temporary { "temp" } else { "main" };
            self.sqlite(&format!("DELETE FROM {database}.{}", quoted(&relation.sqlite_name)))?;
            self.forget_rows(relation.oid)?;
        }
        if statement.restart_seqs {
            let owned: Vec<(Oid, i64)> = self
                .catalog
                .relations
                .values()
                .filter_map(|r| match &r.kind {
                    RelationKind::Sequence(s) if s.row_numbers.is_some() => None,
                    RelationKind::Sequence(s) if s.owned_by.is_some_and(|o| tables.contains(&o.0)) => {
                        Some((r.oid, s.start))
                    }
                    _ => None,
                })
                .collect();
            // SQLite begins with 1 where there are no rows, unless it remembers what was there
            let remembered = |r: &&Arc<Relation>| match &r.kind {
                RelationKind::Sequence(s) => s.row_numbers == Some(RowNumbers::Autoincrement) && s.owned_by.is_some(),
                _ => false,
            };
            for sequence in self.catalog.relations.values().filter(remembered) {
                work::visit();
                let RelationKind::Sequence(Sequence { owned_by: Some((table, _)), .. }) = &sequence.kind else {
                    continue;
                };
                if let Some(table) = tables.iter().find(|t| *t == table).and_then(|t| self.catalog.relation(*t)) {
                    self.conn
                        .execute("DELETE FROM main.sqlite_sequence WHERE name = ?1", [&table.sqlite_name])
                        .map_err(store::sqlite_error)?;
                }
            }
            for (sequence, start) in owned {
                work::visit();
                self.put_sequence_state(sequence, start, false)?;
            }
        }
        self.fire_truncate(&tables, Timing::After)?;
        Ok("TRUNCATE TABLE".into())
    }

    /// Whether a table has what PostgreSQL has as triggers: its own, and the foreign keys that are enforced, on either side.
    fn has_constraint_triggers(&self, table: Oid) -> bool {
        let own = |r: &Relation| {
            !r.triggers.is_empty() || r.constraints.iter().any(|c| c.is_foreign_key() && !c.not_enforced)
        };
        self.catalog.relation(table).is_some_and(|r| own(r))
            || self.catalog.referencing(table).any(|(_, c)| !c.not_enforced)
    }

    /// Fires the TRUNCATE triggers of tables.
    fn fire_truncate(&mut self, tables: &[Oid], timing: Timing) -> Result<()> {
        for table in tables {
            work::visit();
            let relation = self.catalog.relation(*table).ok_or_else(|| PgError::internal("a table that is gone"))?;
            if !relation.triggers.iter().any(|t| t.events.contains(&Event::Truncate)) {
                continue;
            }
            let (Some(show), Some(fire)) = (self.session.show_catalog, self.session.fire_truncate) else {
                return Err(PgError::not_supported("a trigger for TRUNCATE in this place"));
            };
            show(Arc::new(self.catalog.clone()));
            fire(std::mem::take(&mut self.notices), relation, timing)?;
        }
        Ok(())
    }
}
