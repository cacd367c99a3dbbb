//! ON CONFLICT.

use super::modify::{affects_several, identity, shows_xmax};
use super::row_checks::new_row_checks;
use super::{rowid_name, support, Lowerer};
use crate::catalog::{KeyPart, RelationKind};
use crate::plan::PassesOver;
use crate::typed::{ConflictTarget, Expr, ExprKind, Modify, OnConflict, RteKind};
use pgsqlite_types::{PgError, Result};

impl Lowerer<'_> {
    /// Whether NULLs are not distinct in the index that ON CONFLICT looks at.
    pub(super) fn takes_nulls(&self, arbiter: &ConflictTarget) -> bool {
        let index = self.env.catalog.relation(arbiter.index).map(|r| &r.kind);
        matches!(index, Some(RelationKind::Index(index)) if index.nulls_not_distinct)
    }

    /// The places of the arbiter's keys in the order of its index: SQLite compares the conditions of partial indexes as they are written.
    fn index_order(&self, modify: &Modify, arbiter: &ConflictTarget) -> Result<Vec<usize>> {
        let Some(RelationKind::Index(index)) = self.env.catalog.relation(arbiter.index).map(|r| &r.kind) else {
            return Err(PgError::internal("an arbiter that is no index"));
        };
        let columns = modify.range_table.first().map_or(&[][..], |r| &r.columns[..]);
        let attnum = |key: &Expr| match &key.kind {
            ExprKind::Var(v) => columns.get(v.column).map(|c| c.attnum),
            _ => None,
        };
        if arbiter.keys.iter().filter(|k| attnum(k).is_none()).count() > 1 {
            return Err(PgError::not_supported("ON CONFLICT by several expressions with NULLS NOT DISTINCT"));
        }
        let place = |part: &KeyPart| {
            arbiter.keys.iter().position(|key| match part {
                KeyPart::Column(a) => attnum(key) == Some(*a),
                KeyPart::Expression(_) => attnum(key).is_none(),
            })
        };
        let places: Option<Vec<usize>> = index.columns.iter().map(|c| place(&c.key)).collect();
        places.ok_or_else(|| PgError::internal("an arbiter with other keys than its index"))
    }

    pub(super) fn on_conflict(&mut self, modify: &Modify, conflict: &OnConflict, alias: &str) -> Result<String> {
        let target = &modify.target;
        let mut text = String::from(" ON CONFLICT");
        // the SQLite index of the rows that have a NULL in the key
        let mut of_nulls = None;
        if let Some(arbiter) = &conflict.target {
            // keys and predicate by the bare names of the columns
            let bare = self.entry_columns(target, "")?;
            let saved = std::mem::replace(&mut self.scope().entries[0], bare);
            let mut keys = Vec::new();
            for key in &arbiter.keys {
                keys.push(self.expr(key)?);
            }
            if self.takes_nulls(arbiter) {
                if arbiter.filter.is_some() {
                    return Err(PgError::not_supported("ON CONFLICT by a partial index with NULLS NOT DISTINCT"));
                }
                let parts: Vec<String> = keys.iter().map(|key| format!("({key} IS NULL), ifnull({key}, '')")).collect();
                let order = self.index_order(modify, arbiter)?;
                let absent: Vec<String> = order.iter().map(|&i| format!("{} IS NULL", keys[i])).collect();
                of_nulls = Some(format!(" ON CONFLICT ({}) WHERE ({})", parts.join(", "), absent.join(" OR ")));
            }
            text += &format!(" ({})", keys.join(", "));
            if let Some(filter) = &arbiter.filter {
                text += &format!(" WHERE {}", self.condition(filter)?);
            }
            self.scope().entries[0] = saved;
        }
        let passes_over = match (&conflict.set, &conflict.filter) {
            (None, _) => PassesOver::Rows,
            (Some(_), Some(_)) => PassesOver::Values,
            (Some(_), None) => PassesOver::None,
        };
        self.passes_over = self.passes_over.max(passes_over);
        self.upserts = true;
        let Some(set) = &conflict.set else {
            text += " DO NOTHING";
            return Ok(match of_nulls {
                Some(also) => format!("{text}{also} DO NOTHING"),
                None => text,
            });
        };
        let excluded = modify
            .range_table
            .iter()
            .position(|r| r.alias == "excluded" && matches!(r.kind, RteKind::Relation(_)))
            .ok_or_else(|| PgError::internal("excluded"))?;
        let columns = self.target_columns(target, "excluded.")?;
        let scope = self.scope();
        if scope.entries.len() <= excluded {
            scope.entries.resize(excluded + 1, vec![]);
        }
        scope.entries[excluded] = columns;
        let several = affects_several(modify) || self.changed_by_several.contains(&target.oid);
        let shows_xmax = shows_xmax(modify);
        let around = self.row_checks.clone();
        self.row_checks = new_row_checks(&modify.checks, &conflict.secured);
        let assignments = self.assignments(target, set, &format!("{alias}."));
        self.row_checks = around;
        let assignments = assignments?;
        let mut filter = match &conflict.filter {
            Some(filter) => Some(self.expr(filter)?),
            None => None,
        };
        if let (Some(condition), false) = (&filter, target.without_rowid || target.temporary) {
            // a row that the condition leaves as it is is locked all the same
            let keys =
                |c: &crate::catalog::Constraint| c.is_key() && c.columns.iter().any(|a| set.iter().any(|s| s.0 == *a));
            let mode = if target.constraints.iter().any(keys) { 4 } else { 3 };
            let number = format!("{alias}.{}", rowid_name(target)?);
            let policy = crate::typed::LockPolicy::Block as u8;
            let lock = format!("{}({}, {number}, {mode}, {policy})", support::LOCK_ROW, target.oid);
            filter = Some(format!("CASE WHEN {condition} THEN 1 ELSE NOT {lock} END"));
        }
        if several {
            // the row is locked, and found to be this command's own, before the condition is looked at
            let condition = filter.unwrap_or_else(|| "1".into());
            filter = Some(format!("{}({condition}, {})", support::UNTOUCHED, identity(target, &format!("{alias}."))?));
        }
        if !conflict.secured.existing.is_empty() {
            let row = self.target_columns(target, &format!("{alias}."))?;
            let checked = self.existing_checks(&conflict.secured, "1".into(), &row)?;
            filter = Some(format!("CASE WHEN {} THEN {checked} END", filter.unwrap_or_else(|| "1".into())));
        }
        if shows_xmax {
            // (the row is updated if the condition holds)
            filter = Some(format!("{}({})", support::UPDATES, filter.unwrap_or_else(|| "1".into())));
        }
        let mut action = format!(" DO UPDATE SET {}", assignments.join(", "));
        if let Some(filter) = filter {
            action += &format!(" WHERE {filter}");
        }
        text += &action;
        if let Some(also) = of_nulls {
            text += &format!("{also}{action}");
        }
        Ok(text)
    }
}
