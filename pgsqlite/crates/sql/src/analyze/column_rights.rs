//! Privileges on columns: who may not read a whole table may name those of its columns that are granted.
//!
//! Such a table is taken note of where it is named; which columns the query uses is known when the query is analyzed.

use super::Analyzer;
use crate::acl::{self, privilege};
use crate::catalog::Relation;
use crate::typed::{Expr, ExprKind, Modify, ModifyAction, Query, RangeTableEntry, SecuredChange};
use crate::walk;
use pgsqlite_types::{Oid, PgError, Result, SqlState};
use std::collections::BTreeSet;
use std::sync::Arc;

/// An entry of a range table of which only some columns may be read.
#[derive(Clone)]
pub(crate) struct ColumnCheck {
    pub rte: usize,
    pub relation: Arc<Relation>,
    /// whose privileges count
    pub role: Oid,
}

/// A relation that a view changes in the name of its owner. PostgreSQL asks for the privileges of the relations that a statement names first.
pub(crate) struct BelowView {
    pub relation: Arc<Relation>,
    pub role: Oid,
    /// the privilege, of [`privilege`]
    pub needed: u32,
}

impl Analyzer<'_> {
    /// 42501 for what a data modification, and the views through which it changes something, may not do.
    pub(super) fn check_modify_rights(
        &self,
        modify: &Modify,
        columns: &[ColumnCheck],
        below: &[BelowView],
        denied: Option<PgError>,
    ) -> Result<()> {
        self.check_modify_columns(modify, columns)?;
        denied.map_or(Ok(()), Err)?;
        below.iter().try_for_each(|b| self.check_privilege_of(b.role, &b.relation, b.needed, false))
    }

    /// 42501 unless the acting role has the privilege on the relation or on some of its columns; true: on these only.
    pub(super) fn check_some_columns(&self, relation: &Relation, needed: u32) -> Result<bool> {
        match self.check_privilege(relation, needed) {
            Ok(()) => Ok(false),
            Err(denied) => {
                let in_schema = !denied.message().starts_with("permission denied for schema");
                let (catalog, role) = (self.env.catalog, self.acting);
                let some = relation
                    .live_columns()
                    .any(|c| c.acl.is_some() && acl::column_privileges(catalog, role, relation, c) & needed != 0);
                if in_schema && some {
                    Ok(true)
                } else {
                    Err(denied)
                }
            }
        }
    }

    /// 42501 unless the role has the privilege on each of the columns.
    pub(super) fn check_columns(
        &self,
        relation: &Relation,
        role: Oid,
        attnums: impl Iterator<Item = i16>,
        needed: u32,
    ) -> Result<()> {
        if self.env.rights == super::Rights::AskedAtUse {
            return Ok(());
        }
        for attnum in attnums {
            let held = match relation.column_by_attnum(attnum) {
                Some(column) => acl::column_privileges(self.env.catalog, role, relation, column),
                None => acl::relation_privileges(self.env.catalog, role, relation),
            };
            if held & needed != needed {
                let word = if relation.is_stored() { "table" } else { "view" };
                return Err(PgError::new(
                    SqlState::INSUFFICIENT_PRIVILEGE,
                    format!("permission denied for {word} {}", relation.name),
                ));
            }
        }
        Ok(())
    }

    fn check_used(&self, check: &ColumnCheck, entries: &[RangeTableEntry], used: &BTreeSet<usize>) -> Result<()> {
        let entry = entries.get(check.rte).ok_or_else(|| PgError::internal("no such range table entry"))?;
        // what is no column of the relation is its system columns, which go with the whole
        // (and behind the columns of OLD is the action of MERGE)
        let is_action =
            |column: &usize| entry.kind == crate::typed::RteKind::Returned && *column >= entry.columns.len();
        let attnums = used
            .iter()
            .filter(|column| !is_action(column))
            .map(|&column| entry.columns.get(column).map_or(0, |c| c.attnum));
        self.check_columns(&check.relation, check.role, attnums, privilege::SELECT)
    }

    /// The columns that a query uses of the entries in which only some may be read.
    pub(super) fn check_query_columns(&self, query: &Query, checks: &[ColumnCheck]) -> Result<()> {
        for check in checks {
            let mut used = BTreeSet::new();
            walk::query_exprs(query, 0, &mut |depth, e| note(check.rte, depth, &e.kind, &mut used));
            self.check_used(check, &query.range_table, &used)?;
        }
        Ok(())
    }

    /// As [`Analyzer::check_query_columns`], of a data modification.
    fn check_modify_columns(&self, modify: &Modify, checks: &[ColumnCheck]) -> Result<()> {
        if checks.is_empty() {
            return Ok(());
        }
        // what policies and views demand of rows is not what the statement names
        let mut copy = Modify { checks: vec![], ..modify.clone() };
        let mut arbiter = None;
        match &mut copy.action {
            ModifyAction::Insert { on_conflict: Some(conflict), .. } => {
                conflict.secured = SecuredChange::default();
                arbiter = conflict.target.clone();
            }
            ModifyAction::Merge { whens, .. } => whens.iter_mut().for_each(|w| w.secured = SecuredChange::default()),
            _ => {}
        }
        // what ON CONFLICT reads of the proposed row is read of the table, too
        let excluded = modify.range_table.iter().position(|r| {
            arbiter.is_some() && r.alias == "excluded" && matches!(r.kind, crate::typed::RteKind::Relation(_))
        });
        for check in checks {
            let mut used = BTreeSet::new();
            let mut see = |depth: usize, e: &Expr| {
                note(check.rte, depth, &e.kind, &mut used);
                if let (0, Some(excluded)) = (check.rte, excluded) {
                    note(excluded, depth, &e.kind, &mut used);
                }
            };
            for expr in crate::walk::modify_exprs_mut(&mut copy) {
                walk::deep(expr, 0, &mut see);
            }
            for expr in arbiter.iter().flat_map(|a| a.keys.iter().chain(&a.filter)) {
                walk::deep(expr, 0, &mut see);
            }
            walk::entry_exprs(&modify.range_table, 0, &mut see);
            self.check_used(check, &modify.range_table, &used)?;
        }
        Ok(())
    }
}

fn note(rte: usize, depth: usize, kind: &ExprKind, used: &mut BTreeSet<usize>) {
    match kind {
        ExprKind::Var(v) if v.levels_up == depth && v.rte == rte => {
            used.insert(v.column);
        }
        ExprKind::WholeRow { levels_up, rte: row, fields } if *levels_up == depth && *row == rte => {
            used.extend(0..fields.len());
        }
        _ => {}
    }
}
