//! The rules of a grouped query: every variable outside an aggregate is a grouping expression or depends on one (42803).

use super::Analyzer;
use crate::typed::{Distinct, Expr, ExprKind, RteKind, Select, SortKey, Var};
use crate::walk;
use pgsqlite_types::{oid, PgError, Result, SqlState};

impl Analyzer<'_> {
    /// Checks select list, HAVING and ORDER BY, and resolves GROUPING(…).
    pub(crate) fn check_grouping(&mut self, select: &mut Select, order_by: &mut [SortKey]) -> Result<()> {
        let keys = select.group_by.clone();
        // A column depends on a key only if every grouping set has the key.
        self.level().dependency_keys = if select.grouping_sets.is_empty() {
            keys.clone()
        } else {
            let in_all = |i: &usize| select.grouping_sets.iter().all(|set| set.contains(i));
            (0..keys.len()).filter(in_all).map(|i| keys[i].clone()).collect()
        };
        for target in &mut select.targets {
            self.check_grouped(&mut target.expr, &keys)?;
        }
        if let Some(having) = &mut select.having {
            self.check_grouped(having, &keys)?;
        }
        for key in order_by.iter_mut() {
            self.check_grouped(&mut key.expr, &keys)?;
        }
        for window in &mut select.windows {
            for expr in window.partition_by.iter_mut().chain(window.order_by.iter_mut().map(|k| &mut k.expr)) {
                self.check_grouped(expr, &keys)?;
            }
        }
        if let Distinct::On(list) = &mut select.distinct {
            for expr in list {
                self.check_grouped(expr, &keys)?;
            }
        }
        Ok(())
    }

    fn check_grouped(&mut self, expr: &mut Expr, keys: &[Expr]) -> Result<()> {
        if keys.contains(expr) {
            return Ok(());
        }
        match &mut expr.kind {
            ExprKind::Aggregate(aggregate) if aggregate.levels_up == 0 && !aggregate.direct.is_empty() => {
                // the direct arguments are of the group, not of its rows
                for arg in &mut aggregate.direct {
                    self.check_grouped(arg, keys).map_err(|e| match e.code() {
                        SqlState::GROUPING_ERROR => {
                            e.detail("Direct arguments of an ordered-set aggregate must use only grouped columns.")
                        }
                        _ => e,
                    })?;
                }
                return Ok(());
            }
            ExprKind::Aggregate(_) => return Ok(()),
            ExprKind::Field { arg, index, .. } if *index == usize::MAX => {
                // GROUPING(…), left by analysis of the call
                let ExprKind::Row(args) = &arg.kind else {
                    return Err(PgError::internal("GROUPING without arguments"));
                };
                let mut positions = Vec::new();
                for a in args {
                    let position = keys.iter().position(|k| k == a).ok_or_else(|| {
                        if walk::any(a, &|e| matches!(&e.kind, ExprKind::Var(v) if v.levels_up > 0)) {
                            return PgError::not_supported("GROUPING of an outer query's grouping columns")
                                .at(a.location);
                        }
                        PgError::new(
                            SqlState::GROUPING_ERROR,
                            "arguments to GROUPING must be grouping expressions of the associated query level",
                        )
                        .at(a.location)
                    })?;
                    positions.push(position);
                }
                *expr = Expr::new(ExprKind::Grouping(positions), oid::INT4, expr.location);
                return Ok(());
            }
            ExprKind::Var(v) if v.levels_up == 0 => {
                let v = *v;
                return self.check_var(v, expr.location, keys);
            }
            ExprKind::WholeRow { levels_up: 0, rte, .. } => {
                let rte = *rte;
                let columns = self.level().range_table[rte].columns.len();
                for column in 0..columns {
                    self.check_var(Var { levels_up: 0, rte, column }, expr.location, keys)?;
                }
                return Ok(());
            }
            ExprKind::SubLink { query, .. } => {
                // variables of this level used inside the sub-query
                let mut outer: Vec<(Var, i32)> = Vec::new();
                walk::query_exprs(query, 0, &mut |depth, e| {
                    if let ExprKind::Var(v) = &e.kind {
                        if v.levels_up == depth + 1 {
                            outer.push((Var { levels_up: 0, ..*v }, e.location));
                        }
                    }
                });
                for (v, location) in outer {
                    let mut key_var = keys.iter().any(|k| matches!(&k.kind, ExprKind::Var(kv) if *kv == v));
                    key_var |= self.depends_on_key(v);
                    if !key_var {
                        let entry = &self.level().range_table[v.rte];
                        let name = format!("{}.{}", entry.alias, entry.columns[v.column].name);
                        return Err(PgError::new(
                            SqlState::GROUPING_ERROR,
                            format!("subquery uses ungrouped column \"{name}\" from outer query"),
                        )
                        .at(location));
                    }
                }
            }
            _ => {}
        }
        let mut result = Ok(());
        walk::children_mut(expr, &mut |child| {
            if result.is_ok() {
                result = self.check_grouped(child, keys);
            }
        });
        result
    }

    fn check_var(&mut self, v: Var, location: i32, keys: &[Expr]) -> Result<()> {
        if self.storing {
            // it has been checked in a tree without joins' entries
            return Ok(());
        }
        if keys.iter().any(|k| matches!(&k.kind, ExprKind::Var(kv) if *kv == v)) || self.depends_on_key(v) {
            return Ok(());
        }
        let entry = &self.level().range_table[v.rte];
        let name = format!("{}.{}", entry.alias, entry.columns[v.column].name);
        Err(PgError::new(
            SqlState::GROUPING_ERROR,
            format!("column \"{name}\" must appear in the GROUP BY clause or be used in an aggregate function"),
        )
        .at(location))
    }

    /// Functional dependency: the table's whole primary key is among the grouping expressions.
    fn depends_on_key(&mut self, v: Var) -> bool {
        let keys = self.level().dependency_keys.clone();
        let RteKind::Relation(relation) = &self.level().range_table[v.rte].kind else { return false };
        let relation = relation.clone();
        let Some(primary) = relation.primary_constraint().filter(|k| !k.deferrable) else { return false };
        let columns = &self.level().range_table[v.rte].columns;
        primary.columns.iter().all(|attnum| {
            columns.iter().position(|c| c.attnum == *attnum).is_some_and(|column| {
                keys.iter().any(|k| matches!(&k.kind, ExprKind::Var(kv) if kv.levels_up == 0 && kv.rte == v.rte && kv.column == column))
            })
        })
    }
}
