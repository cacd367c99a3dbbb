//! Sub-queries with volatile functions in a data modification that is carried out row by row.
//!
//! PostgreSQL computes a sub-query that names nothing around it when it is first needed, and once for the statement. Row by row a
//! statement is many statements of SQLite's: one for each table that it stands for, and one for each row that is stored. So the value is
//! remembered with the statement: `CASE WHEN known(n) THEN value(n) ELSE keep(n, (SELECT …)) END`.

use super::{support, Lowerer};
use crate::typed::{Expr, ExprKind, Modify, ModifyAction, Query, SubLinkKind};
use crate::{volatility, walk};
use pgsqlite_types::{PgError, Result};

impl Lowerer<'_> {
    /// Whether it can be seen how often a query is computed.
    pub(super) fn shows_computing(&self, query: &Query) -> bool {
        let mut shows = false;
        walk::query_exprs(query, 0, &mut |_, e| shows |= volatility::shows_calls_in(self.env.catalog, e));
        shows
    }

    /// Notes the sub-queries of a modification that are computed once. Errors: 0A000 for one that is compared row by row, where it would be
    /// computed for each row that is stored, or (`several`) for each of the tables.
    pub(super) fn note_computed_once(&mut self, modify: &Modify, several: bool) -> Result<()> {
        let mut found = Vec::new();
        let mut compared = false;
        let mut see = |expr: &Expr, anew: bool| {
            walk::deep(expr, 0, &mut |_, e| {
                let ExprKind::SubLink { kind, query } = &e.kind else { return };
                if !walk::is_closed(query, self.parameters) || !self.shows_computing(query) {
                    return;
                }
                match kind {
                    SubLinkKind::Scalar | SubLinkKind::Exists | SubLinkKind::Array => found.push(e.clone()),
                    SubLinkKind::Quantified { .. } | SubLinkKind::RowCompare { .. } => compared |= anew,
                }
            });
        };
        super::with::each_expr_of_modify(modify, &mut |expr| see(expr, several));
        modify.returning.iter().for_each(|t| see(&t.expr, true));
        if let ModifyAction::Insert { on_conflict: Some(conflict), .. } = &modify.action {
            let set = conflict.set.iter().flatten().map(|(_, value)| value);
            set.chain(&conflict.filter).for_each(|expr| see(expr, true));
        }
        if compared {
            return Err(PgError::not_supported(format!(
                "a comparison with the rows of a sub-query with a volatile function, in a change of table \"{}\" that is carried out row by row,",
                modify.target.name
            )));
        }
        for expr in found {
            if self.number_of(&expr).is_none() {
                self.once.push(expr);
            }
        }
        Ok(())
    }

    /// The number of one that is computed once. (Expressions are equal wherever they are written.)
    fn number_of(&self, expr: &Expr) -> Option<usize> {
        self.once.iter().position(|e| e.location == expr.location && e == expr)
    }

    /// The text of a sub-query, remembered if it is one of those that are computed once.
    pub(super) fn computed_at_first(&self, expr: &Expr, text: String) -> String {
        match self.number_of(expr) {
            Some(n) => format!(
                "CASE WHEN {known}({n}) THEN {value}({n}) ELSE {keep}({n}, {text}) END",
                known = support::ONCE_KNOWN,
                value = support::ONCE_VALUE,
                keep = support::ONCE_KEEP
            ),
            None => text,
        }
    }
}
