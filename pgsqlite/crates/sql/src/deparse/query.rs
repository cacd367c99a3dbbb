//! Queries (view definitions), laid out line by line as ruleutils does.

use super::{quote_identifier, Printer};
use crate::typed::*;
use pgsqlite_types::{PgError, Result};

impl<'a> Printer<'a> {
    /// A keyword on a line of its own (ruleutils' appendContextKeyword).
    pub(super) fn keyword(&mut self, word: &str, before: i32, after: i32, plus: i32) {
        self.indent += before;
        while self.out.ends_with(' ') {
            self.out.pop();
        }
        self.out.push('\n');
        for _ in 0..self.indent.max(0) + plus {
            self.out.push(' ');
        }
        self.out.push_str(word);
        self.indent = (self.indent + after).max(0);
    }

    pub(super) fn aggregate(&mut self, call: &Aggregate) -> Result<()> {
        let name = self.names.function(call.proc);
        self.out.push_str(&name);
        self.out.push('(');
        if call.distinct {
            self.out.push_str("DISTINCT ");
        }
        if call.star {
            self.out.push('*');
        } else if !call.direct.is_empty() {
            return Err(PgError::not_supported("printing an ordered-set aggregate"));
        } else {
            self.list(&call.args)?;
        }
        if !call.order_by.is_empty() {
            self.out.push_str(" ORDER BY ");
            self.sort_keys(&call.order_by)?;
        }
        self.out.push(')');
        if let Some(filter) = &call.filter {
            self.out.push_str(" FILTER (WHERE ");
            self.expr(filter, false)?;
            self.out.push(')');
        }
        Ok(())
    }

    fn sort_keys(&mut self, keys: &[SortKey]) -> Result<()> {
        for (i, key) in keys.iter().enumerate() {
            if i > 0 {
                self.out.push_str(", ");
            }
            self.expr(&key.expr, false)?;
            self.out.push_str(match (key.descending, key.nulls_first) {
                (false, false) => "",
                (false, true) => " NULLS FIRST",
                (true, true) => " DESC",
                (true, false) => " DESC NULLS LAST",
            });
        }
        Ok(())
    }

    pub(super) fn window_call(&mut self, _call: &Aggregate, _window: usize) -> Result<()> {
        Err(PgError::not_supported("printing a window function"))
    }

    pub(super) fn sublink(&mut self, _kind: &SubLinkKind, _query: &Query, _expr: &Expr) -> Result<()> {
        Err(PgError::not_supported("printing a sub-query"))
    }

    pub(super) fn query(&mut self, _query: &Query) -> Result<()> {
        let _ = quote_identifier;
        Err(PgError::not_supported("printing a query"))
    }
}
