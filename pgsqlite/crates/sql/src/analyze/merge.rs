//! MERGE.

use super::returning::Change;
use super::{Analyzer, Clause};
use crate::acl::privilege;
use crate::catalog::{Column, PolicyCommand, Relation, RelationKind};
use crate::parse::{ast, NodeEnum};
use crate::typed::{Expr, MergeAction, MergeMatch, MergeWhen, Modify, ModifyAction, SecuredChange, Target, Written};
use pgsqlite_types::{PgError, Result, SqlState};
use std::sync::Arc;

impl Analyzer<'_> {
    pub(crate) fn merge(&mut self, stmt: &ast::MergeStmt) -> Result<Modify> {
        let (result, level) = self.modify_level(|a| a.merge_in_level(stmt))?;
        let (target, action, returning) = result;
        let checks = self.partition_check(&target)?.into_iter().collect();
        let written = Written { table: target.clone(), columns: level.written };
        let (ctes, range_table) = (level.ctes, level.range_table);
        let modify = Modify { ctes, range_table, target, action, returning, checks, written };
        self.check_modify_rights(&modify, &level.column_checks, &level.below_views, level.denied_below)?;
        Ok(modify)
    }

    fn merge_in_level(&mut self, stmt: &ast::MergeStmt) -> Result<(Arc<Relation>, ModifyAction, Vec<Target>)> {
        if let Some(with) = &stmt.with_clause {
            if with.recursive {
                let message = "WITH RECURSIVE is not supported for MERGE statement";
                return Err(PgError::new(SqlState::SYNTAX_ERROR, message));
            }
            self.with_clause(with)?;
        }
        let r = stmt.relation.as_ref().ok_or_else(|| PgError::internal("MERGE without a table"))?;
        let target = self.required_relation(r)?;
        if target.kind != RelationKind::Table {
            let kind = match target.kind {
                RelationKind::View { .. } | RelationKind::ForeignView => "views",
                RelationKind::MaterializedView { .. } => "materialized views",
                RelationKind::Sequence(_) => "sequences",
                RelationKind::Index(_) => "indexes",
                _ => "system catalogs",
            };
            return Err(PgError::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                format!("cannot execute MERGE on relation \"{}\"", target.name),
            )
            .detail(format!("This operation is not supported for {kind}.")));
        }
        if !target.rules.is_empty() {
            return Err(PgError::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                format!("cannot execute MERGE on relation \"{}\"", target.name),
            )
            .detail("MERGE is not supported for relations with rules."));
        }
        let target_item = self.target_entry(&target, r)?;
        let source_node = stmt.source_relation.as_deref().ok_or_else(|| PgError::internal("MERGE without a source"))?;
        let mut from = self.from_clause(std::slice::from_ref(source_node))?;
        let source = from.pop().ok_or_else(|| PgError::internal("MERGE without a source"))?;
        let source_items = self.level().namespace.clone();
        if source_items.iter().any(|i| i.table_visible && i.alias == target_item.alias) {
            return Err(PgError::new(
                SqlState::DUPLICATE_ALIAS,
                format!("name \"{}\" specified more than once", target_item.alias),
            )
            .detail("The name is used both as MERGE target table and data source."));
        }
        // the join sees both sides
        let mut both_items = vec![target_item.clone()];
        both_items.extend(source_items.iter().cloned());
        self.level().namespace = both_items.clone();
        let on = stmt.join_condition.as_deref().ok_or_else(|| PgError::internal("MERGE without ON"))?;
        let on = self.in_clause(Clause::JoinOn, |a| a.expr(on))?;
        let on = self.coerce_boolean(on, "JOIN/ON")?;
        // rows that policies hide are not there
        let seen = self.secured_reading(&target)?;
        let on = super::view_target::both(seen.clone(), Some(on.clone())).unwrap_or(on);

        let mut whens: Vec<MergeWhen> = Vec::new();
        let mut unconditional: Vec<MergeMatch> = Vec::new();
        for node in &stmt.merge_when_clauses {
            let Some(NodeEnum::MergeWhenClause(clause)) = &node.node else {
                return Err(PgError::internal("WHEN clause expected"));
            };
            let matched = match ast::MergeMatchKind::try_from(clause.match_kind) {
                Ok(ast::MergeMatchKind::MergeWhenMatched) => MergeMatch::Matched,
                Ok(ast::MergeMatchKind::MergeWhenNotMatchedByTarget) => MergeMatch::NotMatchedByTarget,
                _ => MergeMatch::NotMatchedBySource,
            };
            if unconditional.contains(&matched) {
                return Err(PgError::new(
                    SqlState::SYNTAX_ERROR,
                    "unreachable WHEN clause specified after unconditional WHEN clause",
                ));
            }
            // a row without a match has no target, or no source
            self.level().namespace = match matched {
                MergeMatch::Matched => both_items.clone(),
                MergeMatch::NotMatchedByTarget => source_items.clone(),
                MergeMatch::NotMatchedBySource => vec![target_item.clone()],
            };
            let condition = match clause.condition.as_deref() {
                Some(node) => {
                    let condition = self.in_clause(Clause::Where, |a| a.expr(node))?;
                    Some(self.coerce_boolean(condition, "WHEN")?)
                }
                None => {
                    unconditional.push(matched);
                    None
                }
            };
            let condition = match matched {
                MergeMatch::NotMatchedBySource => super::view_target::both(seen.clone(), condition),
                _ => condition,
            };
            let action = match ast::CmdType::try_from(clause.command_type) {
                Ok(ast::CmdType::CmdNothing) => MergeAction::Nothing,
                Ok(ast::CmdType::CmdDelete) => {
                    self.check_privilege(&target, privilege::DELETE)?;
                    MergeAction::Delete
                }
                Ok(ast::CmdType::CmdUpdate) => {
                    let by_columns = self.check_some_columns(&target, privilege::UPDATE)?;
                    let set = self.set_list(&clause.target_list, &target)?;
                    if by_columns {
                        self.check_columns(&target, self.acting, set.iter().map(|s| s.0), privilege::UPDATE)?;
                    }
                    self.level().written.extend(set.iter().map(|s| s.0));
                    MergeAction::Update(set)
                }
                Ok(ast::CmdType::CmdInsert) => {
                    let by_columns = self.check_some_columns(&target, privilege::INSERT)?;
                    self.merge_insert(clause, &target, by_columns)?
                }
                _ => return Err(PgError::internal("unknown action of MERGE")),
            };
            let secured = match &action {
                MergeAction::Nothing => SecuredChange::default(),
                MergeAction::Update(_) => self.secured_change(&target, PolicyCommand::Update, true)?,
                MergeAction::Delete => self.secured_change(&target, PolicyCommand::Delete, true)?,
                MergeAction::Insert { .. } => self.secured_change(&target, PolicyCommand::Insert, true)?,
            };
            whens.push(MergeWhen { matched, condition, action, secured });
        }
        self.level().namespace = both_items;
        self.level().merges = true;
        let returning = self.returning(stmt.returning_clause.as_ref(), Change::Merge)?;
        self.check_target_reads(&target)?;
        Ok((target, ModifyAction::Merge { source, on, whens }, returning))
    }

    fn merge_insert(
        &mut self,
        clause: &ast::MergeWhenClause,
        target: &Arc<Relation>,
        by_columns: bool,
    ) -> Result<MergeAction> {
        let mut named: Vec<Column> = Vec::new();
        for node in &clause.target_list {
            let Some(NodeEnum::ResTarget(t)) = &node.node else { return Err(PgError::internal("ResTarget expected")) };
            if !t.indirection.is_empty() {
                return Err(PgError::not_supported("INSERT of MERGE into a part of a column").at(t.location));
            }
            let column = self.assigned_column(target, &t.name, "INSERT", t.location)?;
            if named.iter().any(|c| c.attnum == column.attnum) {
                return Err(PgError::new(
                    SqlState::DUPLICATE_COLUMN,
                    format!("column \"{}\" specified more than once", t.name),
                )
                .at(t.location));
            }
            named.push(column);
        }
        let listed = !named.is_empty();
        if !listed {
            named = target.live_columns().cloned().collect();
        }
        let mut values: Vec<Expr> = Vec::new();
        for node in &clause.values {
            values.push(self.in_clause(Clause::Values, |a| a.expr_or_default(node))?);
        }
        if values.len() > named.len() {
            return Err(PgError::new(SqlState::SYNTAX_ERROR, "INSERT has more expressions than target columns")
                .at(values[named.len()].location));
        }
        if listed && values.len() < named.len() {
            let location = match &clause.target_list[values.len()].node {
                Some(NodeEnum::ResTarget(t)) => t.location,
                _ => -1,
            };
            return Err(
                PgError::new(SqlState::SYNTAX_ERROR, "INSERT has more target columns than expressions").at(location)
            );
        }
        named.truncate(values.len());
        self.level().written.extend(named.iter().map(|c| c.attnum));
        if by_columns {
            self.check_columns(target, self.acting, named.iter().map(|c| c.attnum), privilege::INSERT)?;
        }
        let system = clause.r#override == ast::OverridingKind::OverridingSystemValue as i32;
        let user = clause.r#override == ast::OverridingKind::OverridingUserValue as i32;
        let mut columns = Vec::new();
        let mut out = Vec::new();
        for (value, column) in values.into_iter().zip(&named) {
            columns.push(column.attnum);
            out.push(self.column_value(value, column, system, user)?);
        }
        for column in target.live_columns().filter(|c| !named.iter().any(|n| n.attnum == c.attnum)) {
            if let Some(default) = self.default_of(column)? {
                columns.push(column.attnum);
                out.push(default);
            }
        }
        Ok(MergeAction::Insert { columns, values: out })
    }
}
