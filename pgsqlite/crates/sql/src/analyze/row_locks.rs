//! Which rows FOR UPDATE, FOR SHARE and their kin lock.
//!
//! A clause means the rows of the tables in FROM (those that OF names, else all), also through views and sub-queries: each row of the result
//! gets the numbers of the rows that it is made of, and lowering locks those above the sort and below LIMIT. The rows of WITH
//! queries are not locked (manual: SELECT, "The Locking Clause").

use super::{var, Analyzer};
use crate::parse::{ast, NodeEnum};
use crate::typed::{
    Distinct, Expr, ExprKind, LockPolicy, Query, QueryBody, RangeTableEntry, RowLock, RteColumn, RteKind, Target,
};
use pgsqlite_types::{oid, Datum, PgError, Result, SqlState};

/// How rows are locked.
#[derive(Clone, Copy)]
struct Lock {
    /// as it is written
    strength: &'static str,
    /// 1: KEY SHARE … 4: UPDATE
    mode: u8,
    policy: LockPolicy,
}

/// The rows of an entry: the OID of their table, and their numbers.
struct Rows {
    table: Expr,
    number: Expr,
}

/// The strength of a clause as it is written, and its place among the four.
pub(super) fn strength(lock: &ast::LockingClause) -> (&'static str, u8) {
    match ast::LockClauseStrength::try_from(lock.strength) {
        Ok(ast::LockClauseStrength::LcsForkeyshare) => ("FOR KEY SHARE", 1),
        Ok(ast::LockClauseStrength::LcsForshare) => ("FOR SHARE", 2),
        Ok(ast::LockClauseStrength::LcsFornokeyupdate) => ("FOR NO KEY UPDATE", 3),
        _ => ("FOR UPDATE", 4),
    }
}

/// 0A000 where the rows of a query are not those of its tables any more.
pub(super) fn check_lockable(query: &Query, strength: &str) -> Result<()> {
    let obstacle = match &query.body {
        QueryBody::Select(s) if s.distinct != Distinct::No => "DISTINCT clause",
        QueryBody::Select(s) if !s.group_by.is_empty() => "GROUP BY clause",
        QueryBody::Select(s) if s.having.is_some() => "HAVING clause",
        QueryBody::Select(s) if s.grouped => "aggregate functions",
        QueryBody::Select(s) if s.targets.iter().any(|t| crate::walk::contains_window(&t.expr)) => "window functions",
        QueryBody::Select(s) if s.targets.iter().any(|t| crate::walk::contains_set_function(&t.expr)) => {
            "set-returning functions in the target list"
        }
        QueryBody::Select(_) => return Ok(()),
        QueryBody::SetOperation { .. } => "UNION/INTERSECT/EXCEPT",
        QueryBody::Values(_) => "VALUES",
    };
    Err(PgError::new(SqlState::FEATURE_NOT_SUPPORTED, format!("{strength} is not allowed with {obstacle}")))
}

impl Analyzer<'_> {
    /// Notes in an analyzed query which rows its clauses lock.
    pub(super) fn note_row_locks(&self, query: &mut Query, select: &ast::SelectStmt) -> Result<()> {
        for node in &select.locking_clause {
            let Some(NodeEnum::LockingClause(clause)) = &node.node else { continue };
            let (strength, mode) = strength(clause);
            let policy = match ast::LockWaitPolicy::try_from(clause.wait_policy) {
                Ok(ast::LockWaitPolicy::LockWaitSkip) => LockPolicy::Skip,
                Ok(ast::LockWaitPolicy::LockWaitError) => LockPolicy::Refuse,
                _ => LockPolicy::Wait,
            };
            let named: Vec<&str> = clause
                .locked_rels
                .iter()
                .filter_map(|r| match &r.node {
                    Some(NodeEnum::RangeVar(r)) => Some(r.relname.as_str()),
                    _ => None,
                })
                .collect();
            let is_meant = |entry: &RangeTableEntry| named.is_empty() || named.iter().any(|n| entry.is_named(n));
            self.lock_entries(query, is_meant, Lock { strength, mode, policy })?;
        }
        Ok(())
    }

    fn lock_entries(&self, query: &mut Query, is_meant: impl Fn(&RangeTableEntry) -> bool, lock: Lock) -> Result<()> {
        check_lockable(query, lock.strength)?;
        for rte in 0..query.range_table.len() {
            let entry = &mut query.range_table[rte];
            if !is_meant(entry) {
                continue;
            }
            for Rows { table, number } in self.rows_of(entry, rte, lock)? {
                // (of several clauses for one table the strongest counts, and the one that waits least)
                match query.row_locks.iter_mut().find(|l| l.number == number && l.table == table) {
                    Some(known) => {
                        known.mode = known.mode.max(lock.mode);
                        known.policy = known.policy.max(lock.policy);
                    }
                    None => query.row_locks.push(RowLock { table, number, mode: lock.mode, policy: lock.policy }),
                }
            }
        }
        if query.with_ties && !query.row_locks.is_empty() {
            return Err(PgError::not_supported(format!("{} with FETCH FIRST … WITH TIES", lock.strength)));
        }
        Ok(())
    }

    /// The rows of an entry that a query around it can lock. A sub-query whose rows are not simply those of its tables locks them itself.
    fn rows_of(&self, entry: &mut RangeTableEntry, rte: usize, lock: Lock) -> Result<Vec<Rows>> {
        match &mut entry.kind {
            RteKind::Relation(relation) => {
                let relation = relation.clone();
                if !relation.is_stored() || relation.temporary {
                    return Ok(vec![]);
                }
                if entry.sample.is_some() && relation.rowid_column.is_none() {
                    return Err(PgError::not_supported(format!("{} with TABLESAMPLE", lock.strength)));
                }
                let several = !entry.only && self.env.catalog.stands_for_several(&relation);
                let constant = |value: i64, ty| Expr::new(ExprKind::Const(Datum::Int(value)), ty, -1);
                let table = match several {
                    true => super::system_columns::hidden_of(entry, 0, rte, 2, -1),
                    false => constant(relation.oid.into(), oid::OID),
                };
                let number = match relation.without_rowid {
                    // its rows have no numbers: they are locked together
                    true => constant(0, oid::TID),
                    false => super::system_columns::hidden_of(entry, 0, rte, 0, -1),
                };
                Ok(vec![Rows { table, number }])
            }
            // (VALUES has no rows of tables)
            RteKind::Subquery { query, .. } if matches!(query.body, QueryBody::Values(_)) => Ok(vec![]),
            RteKind::Subquery { query, .. } => {
                check_lockable(query, lock.strength)?;
                let simple = query.order_by.is_empty() && query.limit.is_none() && query.offset.is_none();
                if !simple {
                    self.lock_entries(query, |_| true, lock)?;
                    return Ok(vec![]);
                }
                let mut found = Vec::new();
                for inner in 0..query.range_table.len() {
                    found.extend(self.rows_of(&mut query.range_table[inner], inner, lock)?);
                }
                let mut shown = |expr: Expr| {
                    let column = RteColumn {
                        name: String::new(),
                        ty: expr.ty,
                        typmod: -1,
                        attnum: 0,
                        origin: (0, 0),
                        collation: 0,
                    };
                    if let QueryBody::Select(select) = &mut query.body {
                        select.targets.push(Target { expr, name: String::new(), origin: (0, 0) });
                    }
                    query.columns.push(column.clone());
                    let place = query.columns.len() - 1;
                    entry.columns.resize(place, column.clone());
                    entry.columns.push(column.clone());
                    var(0, rte, place, &column, -1)
                };
                Ok(found.into_iter().map(|r| Rows { table: shown(r.table), number: shown(r.number) }).collect())
            }
            _ => Ok(vec![]),
        }
    }
}
