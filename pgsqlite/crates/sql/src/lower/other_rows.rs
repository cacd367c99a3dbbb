//! Window functions that give the value of another row: `lag`, `lead`, `first_value`, `last_value` and `nth_value`.
//!
//! SQLite computes their argument for each row of the window, PostgreSQL for the rows alone that are asked for, which can be noticed where the
//! argument fails for another one. Such an argument is computed of the columns that the function gives of that row.

use super::connectives::waits;
use super::Lowerer;
use crate::builtins::catalog as builtin;
use crate::typed::{Aggregate, Expr, ExprKind, Select, Var, Window};
use crate::volatility::is_repeatable;
use crate::walk;
use pgsqlite_types::{oid, Datum, Result};

impl Lowerer<'_> {
    /// A call whose argument is not computed for rows that nobody asks for. None: it needs no care, or cannot have it, because its argument has, or
    /// becomes in SQLite, sub-queries.
    pub(super) fn of_other_row(
        &mut self,
        call: &Aggregate,
        window: &Window,
        whole: &Expr,
        select: &Select,
    ) -> Result<Option<String>> {
        let Some(proc) = builtin::proc_by_oid(call.proc) else { return Ok(None) };
        let [value, others @ ..] = &call.args[..] else { return Ok(None) };
        let is_one = matches!(proc.name.as_str(), "lag" | "lead" | "first_value" | "last_value" | "nth_value");
        let takes_care = is_one && proc.kind == b'w' && waits(value) && others.iter().all(is_repeatable);
        if !takes_care {
            return Ok(None);
        }
        let mut columns: Vec<Expr> = Vec::new();
        let ready = self.scope().entries.len();
        let of_row = walk::map(value, &mut |e| {
            let is_column = match &e.kind {
                ExprKind::Var(v) => v.levels_up == 0,
                ExprKind::Aggregate(a) => a.levels_up == 0,
                ExprKind::Const(_) | ExprKind::Param(_) => false,
                _ => select.group_by.contains(e),
            };
            is_column.then(|| {
                let column = columns.iter().position(|c| c.kind == e.kind).unwrap_or_else(|| {
                    columns.push(e.clone());
                    columns.len() - 1
                });
                Expr { kind: ExprKind::Var(Var { levels_up: 0, rte: ready, column }), ..e.clone() }
            })
        });
        let is_column = matches!(of_row.kind, ExprKind::Var(_));
        if columns.is_empty() || is_column || walk::any(&of_row, &is_no_column) {
            return Ok(None);
        }
        // (the default of lag and lead stands apart)
        let places = &others[..others.len().min(1)];
        let Some(plain) = builtin::procs_named(&proc.name).find(|p| p.args.len() == 1 + places.len()) else {
            return Ok(None);
        };
        let there = |lowerer: &mut Self, column: Expr| {
            let args = [std::slice::from_ref(&column), places].concat();
            let told = Aggregate { proc: plain.oid, args, ..call.clone() };
            let whole = Expr { ty: column.ty, ..whole.clone() };
            lowerer.window_call(&told, window, &whole)
        };
        let exists = there(self, Expr::new(ExprKind::Const(Datum::Int(1)), oid::INT4, -1))?;
        let texts = columns.into_iter().map(|column| there(self, column)).collect::<Result<Vec<_>>>()?;
        self.scope().entries.push(texts);
        let text = self.expr(&of_row);
        self.scope().entries.pop();
        let text = text?;
        // (SQLite takes no window function of a query in a sub-query, which = ANY (array) and the like become)
        if text.contains("SELECT ") {
            return Ok(None);
        }
        Ok(Some(match others {
            [place, default] => {
                let (place, default) = (self.expr(place)?, self.expr(default)?);
                format!(
                    "(CASE WHEN {place} IS NULL THEN NULL WHEN {exists} IS NOT NULL THEN {text} ELSE {default} END)"
                )
            }
            _ => format!("(CASE WHEN {exists} IS NOT NULL THEN {text} END)"),
        }))
    }
}

/// What an argument may not have in it.
fn is_no_column(e: &Expr) -> bool {
    matches!(
        e.kind,
        ExprKind::SubLink { .. }
            | ExprKind::Aggregate(_)
            | ExprKind::Window { .. }
            | ExprKind::Grouping(_)
            | ExprKind::WholeRow { .. }
    )
}
