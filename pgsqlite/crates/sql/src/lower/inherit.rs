//! Tables that stand for several: a parent with its children, a partitioned table with its partitions.
//!
//! Read, such a table is a UNION ALL of the tables that have its rows, in the columns of the one that was named. What a
//! modification of it becomes for one of those tables is [`Lowerer::for_table`].

use super::{quote, rowid_name, Lowerer};
use crate::analyze::relation_columns;
use crate::catalog::Relation;
use crate::typed::{Expr, ExprKind, Modify, RangeTableEntry, Var};
use crate::walk;
use pgsqlite_types::{PgError, Result};
use std::sync::Arc;

/// The columns that such a query has besides those of the table: the row's number and its table's OID.
const NUMBER: &str = "r";
const TABLE: &str = "o";

/// Marks the columns that are replaced already.
const MARK: usize = usize::MAX;

impl Lowerer<'_> {
    /// Whether an entry of FROM means the rows of other tables, too.
    pub(super) fn stands_for_several(&self, rte: &RangeTableEntry, relation: &Relation) -> bool {
        !rte.only && self.env.catalog.stands_for_several(relation)
    }

    /// A table with its descendants in FROM: its text, and the texts of its columns (and the hidden ones).
    pub(super) fn several_tables(&mut self, relation: &Relation, alias: &str) -> Result<(String, Vec<String>)> {
        let mut arms = Vec::new();
        self.named.read.push(relation.oid);
        let mut tables = self.env.catalog.tables_with_rows(relation.oid);
        if tables.is_empty() {
            // a table without partitions: its own, which is empty
            tables.push(Arc::new(relation.clone()));
        }
        for table in tables {
            let mut columns = Vec::new();
            for (i, column) in relation.live_columns().enumerate() {
                let own = table.column(&column.name).ok_or_else(|| missing_column(relation, &table, &column.name))?;
                let text = match own.is_virtual {
                    true => "NULL".to_string(),
                    false => self.column_text(&table, own, quote(&own.name)),
                };
                columns.push(format!("{text} AS c{}", i + 1));
            }
            columns.push(format!("{} AS {NUMBER}", rowid_name(&table)?));
            columns.push(format!("{} AS {TABLE}", table.oid));
            arms.push(format!("SELECT {} FROM {}", columns.join(", "), self.read_table(&table)));
        }
        let mut columns: Vec<String> = (1..=relation.live_columns().count()).map(|i| format!("{alias}.c{i}")).collect();
        self.compute_virtual(relation, &mut columns, Some(&Self::present_in_several(alias)))?;
        columns.push(format!("{alias}.{NUMBER}"));
        columns.push("NULL".into());
        columns.push(format!("{alias}.{TABLE}"));
        Ok((format!("({}) AS {alias}", arms.join(" UNION ALL ")), columns))
    }

    /// What is NULL where an outer join found no row of such a table.
    pub(super) fn present_in_several(alias: &str) -> String {
        format!("{alias}.{TABLE}")
    }

    /// A modification of `modify.target` as one of `table`, one of the tables that have its rows: columns are those of the same
    /// name there.
    pub(super) fn for_table(&self, modify: &Modify, table: &Arc<Relation>) -> Result<Modify> {
        let target = &modify.target;
        let mut modify = modify.clone();
        if table.oid == target.oid {
            return Ok(modify);
        }
        let live: Vec<_> = target.live_columns().collect();
        let own: Vec<_> = table.live_columns().collect();
        let hidden = modify.range_table[0].columns.len() > live.len();
        // positions there of the columns here; the hidden ones follow
        let mut places = Vec::new();
        for column in &live {
            places.push(
                own.iter()
                    .position(|c| c.name == column.name)
                    .ok_or_else(|| missing_column(target, table, &column.name))?,
            );
        }
        let same = places.iter().enumerate().all(|(i, p)| i == *p) && own.len() == live.len();
        places.extend((0..modify.range_table[0].columns.len() - live.len()).map(|i| own.len() + i));
        let excluded = modify.range_table.iter().position(|r| {
            r.alias == "excluded" && matches!(&r.kind, crate::typed::RteKind::Relation(r) if r.oid == target.oid)
        });
        let is_target = |rte: usize| rte == 0 || Some(rte) == excluded;
        let columns = relation_columns(table);
        let change = &mut |depth: usize, e: &mut Expr| match &e.kind {
            ExprKind::Var(v) if v.levels_up == depth && is_target(v.rte) => {
                // (marked, so that it is not taken for a column of the parent again)
                e.kind = ExprKind::Var(Var { column: places[v.column], rte: MARK - v.rte, ..*v });
            }
            ExprKind::WholeRow { levels_up, rte, fields } if *levels_up == depth && is_target(*rte) && !same => {
                let fields = fields
                    .iter()
                    .enumerate()
                    .map(|(i, _)| crate::analyze::var(depth, MARK - *rte, places[i], &columns[places[i]], e.location));
                e.kind = ExprKind::Row(fields.collect());
            }
            _ => {}
        };
        let unmark = &mut |_: usize, e: &mut Expr| {
            if let ExprKind::Var(v) = &mut e.kind {
                if v.rte > MARK / 2 {
                    v.rte = MARK - v.rte;
                }
            }
        };
        for expr in crate::walk::modify_exprs_mut(&mut modify) {
            walk::deep_mut(expr, 0, change);
            walk::deep_mut(expr, 0, unmark);
        }
        if let crate::typed::ModifyAction::Insert { on_conflict: Some(conflict), .. } = &mut modify.action {
            if let Some(arbiter) = &mut conflict.target {
                arbiter.keys.iter_mut().chain(arbiter.filter.iter_mut()).for_each(|e| {
                    walk::deep_mut(e, 0, change);
                    walk::deep_mut(e, 0, unmark);
                });
            }
        }
        let attnum = |a: i16| -> Result<i16> {
            let name = target.column_by_attnum(a).map_or("", |c| &c.name);
            table.column(name).map(|c| c.attnum).ok_or_else(|| missing_column(target, table, name))
        };
        use crate::typed::ModifyAction as A;
        match &mut modify.action {
            A::Insert { columns, on_conflict, .. } => {
                for column in columns.iter_mut() {
                    *column = attnum(*column)?;
                }
                for (column, _) in on_conflict.iter_mut().filter_map(|c| c.set.as_mut()).flatten() {
                    *column = attnum(*column)?;
                }
            }
            A::Update { set, .. } => {
                for (column, _) in set.iter_mut() {
                    *column = attnum(*column)?;
                }
            }
            A::Delete { .. } => {}
            A::Merge { .. } => return Err(PgError::internal("MERGE over several tables")),
        }
        for rte in [Some(0), excluded].into_iter().flatten() {
            let entry = &mut modify.range_table[rte];
            let mut all = columns.clone();
            if hidden && rte == 0 {
                all.extend(entry.columns.iter().filter(|c| c.attnum < 0).cloned());
            }
            entry.columns = all;
            entry.kind = crate::typed::RteKind::Relation(table.clone());
        }
        modify.target = table.clone();
        Ok(modify)
    }
}

/// XX001: a table whose rows another table has, too, lacks one of its columns.
pub fn missing_column(parent: &Relation, child: &Relation, column: &str) -> PgError {
    let (parent, child) = (&parent.name, &child.name);
    PgError::damaged_catalog(format_args!("table \"{child}\" lacks the column \"{column}\" of \"{parent}\""))
}
