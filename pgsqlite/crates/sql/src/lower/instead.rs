//! INSERT, UPDATE and DELETE on a view whose INSTEAD OF triggers do what is to be done.
//!
//! The statement changes nothing itself: its rows are computed ([`Triggered::rows`]; UPDATE and DELETE read them from the view's query),
//! the engine fires the triggers for each, and [`Triggered::apply`] is a query that gives what RETURNING shows of a row.

use super::triggered::row_tag;
use super::Lowerer;
use crate::catalog::Column;
use crate::plan::{Tag, Triggered};
use crate::routine::Event;
use crate::typed::{Cte, Expr, ExprKind, FromItem, Modify, ModifyAction, RteKind};
use crate::walk;
use pgsqlite_types::{PgError, Result};

impl Lowerer<'_> {
    /// `parameters`: how many the statement has itself.
    pub(super) fn instead(&mut self, modify: &Modify, ctes: &[Cte], parameters: usize) -> Result<(Triggered, Tag)> {
        let target = modify.target.clone();
        if !modify.checks.is_empty() {
            return Err(PgError::not_supported(
                "WITH CHECK OPTION of a view over a view that INSTEAD OF triggers change",
            ));
        }
        let with = self.with_queries(ctes)?;
        let live: Vec<Column> = target.live_columns().cloned().collect();
        let key = parameters + 1;
        let first_other = key + 1 + live.len();
        let others = returned_of_others(modify);
        let other_texts = |lowerer: &mut Self| -> Result<Vec<String>> {
            let one = |(rte, column): &(usize, usize)| match lowerer.scope().entries.get(*rte) {
                Some(columns) if *column < columns.len() => Ok(columns[*column].clone()),
                _ => Err(PgError::internal("a column of RETURNING that is not there")),
            };
            others.iter().map(one).collect()
        };
        let (rows, event, set) = match &modify.action {
            ModifyAction::Insert { columns, source, .. } => {
                let attnums: Vec<i16> = live.iter().map(|c| c.attnum).collect();
                if attnums.iter().any(|a| !columns.contains(a)) {
                    return Err(PgError::internal("a column of a view without a value"));
                }
                // (what is inserted cannot name the view's columns)
                self.scope().entries = vec![vec!["NULL".to_string(); attnums.len()]];
                (self.proposed_rows(modify, columns, &attnums, source, &[])?, Event::Insert, vec![])
            }
            ModifyAction::Update { set, from, filter } => {
                let (from, old) = self.view_rows(modify, from)?;
                let mut columns = vec!["NULL".to_string()];
                columns.extend(old.iter().cloned());
                columns.extend(self.changed_row(&live, &old, set)?);
                columns.extend(other_texts(self)?);
                let condition = self.where_clause(filter.as_ref())?;
                let attnums = set.iter().map(|s| s.0).collect();
                (format!("SELECT {} FROM {from}{condition}", columns.join(", ")), Event::Update, attnums)
            }
            ModifyAction::Delete { using, filter } => {
                let (from, old) = self.view_rows(modify, using)?;
                let mut columns = vec!["NULL".to_string()];
                columns.extend(old);
                columns.extend(other_texts(self)?);
                let condition = self.where_clause(filter.as_ref())?;
                (format!("SELECT {} FROM {from}{condition}", columns.join(", ")), Event::Delete, vec![])
            }
            ModifyAction::Merge { .. } => return Err(PgError::internal("MERGE row by row")),
        };
        // RETURNING over the row as parameters
        let entries = modify.range_table.iter().map(|rte| vec!["NULL".to_string(); rte.columns.len()]).collect();
        self.scope().entries = entries;
        self.scope().entries[0] = (0..live.len()).map(|i| format!("?{}", key + 1 + i)).collect();
        for (i, (rte, column)) in others.iter().enumerate() {
            self.scope().entries[*rte][*column] = format!("?{}", first_other + i);
        }
        let mut shown = self.scope().entries[0].clone();
        for target in &modify.returning {
            if walk::contains_set_function(&target.expr) {
                return Err(PgError::new(
                    pgsqlite_types::SqlState::FEATURE_NOT_SUPPORTED,
                    "set-returning functions are not allowed in RETURNING",
                )
                .at(target.expr.location));
            }
            shown.push(self.expr(&target.expr)?);
        }
        let triggered = Triggered {
            exclusions: vec![],
            table: target.oid,
            event,
            set,
            rows: format!("{with}{rows}"),
            one_by_one: ctes.is_empty() && self.is_one_by_one(&modify.action),
            current: String::new(),
            apply: format!("SELECT {}", shown.join(", ")),
            parameters,
            columns: live.iter().map(|c| c.attnum).collect(),
            key_stays: false,
            others: others.len(),
            returning: modify.returning.len(),
            modify: Box::new(modify.clone()),
            conflict: None,
            conflicting: None,
            fits: None,
            shown: None,
            tuple_routing: None,
            part_of_several: false,
        };
        Ok((triggered, row_tag(event)))
    }

    fn where_clause(&mut self, filter: Option<&Expr>) -> Result<String> {
        match filter {
            Some(filter) => Ok(format!(" WHERE {}", self.condition(filter)?)),
            None => Ok(String::new()),
        }
    }

    /// FROM of the view's rows and what stands beside it; the view's columns.
    fn view_rows(&mut self, modify: &Modify, items: &[FromItem]) -> Result<(String, Vec<String>)> {
        let RteKind::Subquery { query, .. } = &modify.range_table[0].kind else {
            return Err(PgError::internal("a view without its query"));
        };
        let inner = self.query(query)?;
        let alias = self.unique("t");
        let old: Vec<String> = (1..=query.columns.len()).map(|i| format!("{alias}.c{i}")).collect();
        self.scope().entries = vec![old.clone()];
        let texts = self.entries_after_target(&modify.range_table)?;
        let mut out = vec![format!("({inner}) AS {alias}")];
        for item in items {
            out.push(self.join_item(item, &texts)?);
        }
        Ok((out.join(", "), old))
    }
}

/// The columns of entries besides the view that RETURNING shows: (entry, column).
fn returned_of_others(modify: &Modify) -> Vec<(usize, usize)> {
    let mut out = Vec::new();
    let mut add = |rte: usize, column: usize| {
        if rte != 0 && !out.contains(&(rte, column)) {
            out.push((rte, column));
        }
    };
    for target in &modify.returning {
        walk::deep(&target.expr, 0, &mut |depth, e| match &e.kind {
            ExprKind::Var(v) if v.levels_up == depth => add(v.rte, v.column),
            ExprKind::WholeRow { levels_up, rte, fields } if *levels_up == depth => {
                (0..fields.len()).for_each(|i| add(*rte, i));
            }
            _ => {}
        });
    }
    out
}
