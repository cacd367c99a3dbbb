//! Queries (view definitions), laid out line by line as ruleutils does.

use super::expr::Label;
use super::{quote_identifier, Level, Printer, Style};
use crate::sql_json::SqlJson;
use crate::typed::*;
use pgsqlite_types::work;
use pgsqlite_types::{oid, Datum, PgError, Result};

/// What a clause's continuation lines are indented by.
pub(super) const STD: i32 = 8;
pub(super) const JOIN: i32 = 4;
pub(super) const VAR: i32 = 4;

impl<'a> Printer<'a> {
    /// A keyword on a line of its own (ruleutils' appendContextKeyword).
    pub(super) fn keyword(&mut self, word: &str, before: i32, after: i32, plus: i32) {
        if self.flat {
            self.out.push_str(word);
            return;
        }
        self.indent = (self.indent + before).max(0);
        while self.out.ends_with(' ') {
            work::visit();
            self.out.pop();
        }
        self.out.push('\n');
        for _ in 0..self.indent + plus {
            work::visit();
            self.out.push(' ');
        }
        self.out.push_str(word);
        self.indent = (self.indent + after).max(0);
    }

    pub(super) fn aggregate(&mut self, call: &Aggregate) -> Result<()> {
        self.call_head(call)?;
        self.call_filter(call)
    }

    fn call_filter(&mut self, call: &Aggregate) -> Result<()> {
        if let Some(filter) = &call.filter {
            self.out.push_str(" FILTER (WHERE ");
            self.expr(filter, false)?;
            self.out.push(')');
        }
        Ok(())
    }

    fn call_head(&mut self, call: &Aggregate) -> Result<()> {
        let name = self.names.function(call.proc);
        self.out.push_str(&name);
        self.out.push('(');
        if call.distinct {
            self.out.push_str("DISTINCT ");
        }
        let ordered_set = self.names.catalog.aggregate(call.proc).is_some_and(|a| a.kind != b'n');
        if ordered_set {
            self.list(&call.direct)?;
            self.out.push_str(") WITHIN GROUP (ORDER BY ");
            self.sort_keys(&call.order_by, false)?;
        } else {
            if call.star {
                self.out.push('*');
            } else {
                let last = call.args.len().saturating_sub(1);
                for (i, arg) in call.args.iter().enumerate() {
                    work::visit();
                    if i > 0 {
                        self.out.push_str(", ");
                    }
                    if call.variadic && i == last {
                        self.out.push_str("VARIADIC ");
                    }
                    self.expr(arg, true)?;
                }
            }
            if !call.order_by.is_empty() {
                self.out.push_str(" ORDER BY ");
                self.sort_keys(&call.order_by, false)?;
            }
        }
        self.out.push(')');
        Ok(())
    }

    pub(super) fn sort_keys(&mut self, keys: &[SortKey], by_number: bool) -> Result<()> {
        for (i, key) in keys.iter().enumerate() {
            work::visit();
            if i > 0 {
                self.out.push_str(", ");
            }
            match key.target {
                Some(target) if by_number => self.out.push_str(&(target + 1).to_string()),
                _ => self.sort_item(&key.expr)?,
            }
            self.out.push_str(match (key.descending, key.nulls_first) {
                (false, false) => "",
                (false, true) => " NULLS FIRST",
                (true, true) => " DESC",
                (true, false) => " DESC NULLS LAST",
            });
        }
        Ok(())
    }

    /// An expression of ORDER BY and its like. A bare column there would be taken for an output of its name, if there is one.
    fn sort_item(&mut self, expr: &Expr) -> Result<()> {
        let (ExprKind::Var(var), false) = (&expr.kind, self.outputs.is_empty()) else { return self.group_item(expr) };
        let (var, at) = (*var, self.levels.len() - 1);
        let name = self.column_name(at, var.rte, var.column);
        let taken = self.outputs.iter().any(|(output, column)| *output == name && *column != Some(var));
        let qualify = self.levels[at].qualify;
        self.levels[at].qualify |= taken;
        let result = self.group_item(expr);
        self.levels[at].qualify = qualify;
        result
    }

    /// An expression of GROUP BY or ORDER BY: in parentheses where it could be read otherwise.
    fn group_item(&mut self, expr: &Expr) -> Result<()> {
        match &expr.kind {
            ExprKind::Var(_) => self.expr(expr, true),
            // (a bare number would be a position, and other bare constants are not allowed)
            // (PostgreSQL's NULL has its length from a call)
            ExprKind::Const(value) if value.is_null() && expr.typmod >= 0 && expr.ty != oid::INTERVAL => {
                self.out.push('(');
                self.constant(value, expr, Label::Always)?;
                self.out.push(')');
                Ok(())
            }
            ExprKind::Const(value) => self.constant(value, expr, Label::Always),
            _ => {
                let call = matches!(
                    expr.kind,
                    ExprKind::Func { .. }
                        | ExprKind::Aggregate(_)
                        | ExprKind::Window { .. }
                        | ExprKind::Cast {
                            method: CastMethod::Function(_) | CastMethod::Typmod,
                            form: CastForm::Explicit | CastForm::Assignment | CastForm::Implicit,
                            ..
                        }
                        | ExprKind::Cast { form: CastForm::Syntax, .. }
                ) || matches!(&expr.kind, ExprKind::SqlJson { form, .. } if !matches!(**form, SqlJson::Is { .. } | SqlJson::Path(_)));
                let parentheses = self.style == Style::Pretty || call;
                if parentheses {
                    self.out.push('(');
                }
                self.expr(expr, true)?;
                if parentheses {
                    self.out.push(')');
                }
                Ok(())
            }
        }
    }

    pub(super) fn window_call(&mut self, call: &Aggregate, window: usize) -> Result<()> {
        self.call_head(call)?;
        self.call_tail(call, Some(window))
    }

    /// What stands behind the parentheses of an aggregate's or window function's call.
    pub(super) fn call_tail(&mut self, call: &Aggregate, window: Option<usize>) -> Result<()> {
        self.call_filter(call)?;
        let Some(window) = window else { return Ok(()) };
        self.out.push_str(" OVER ");
        let windows: &'a [Window] = self.levels.last().map_or(&[], |l| l.windows);
        let definition = windows.get(window).ok_or_else(|| PgError::internal("no such window"))?;
        match &definition.name {
            Some(name) => {
                self.out.push_str(&quote_identifier(name));
                Ok(())
            }
            None => self.window(definition),
        }
    }

    fn window(&mut self, window: &Window) -> Result<()> {
        self.out.push('(');
        let mut space = "";
        if !window.partition_by.is_empty() {
            self.out.push_str("PARTITION BY ");
            for (i, expr) in window.partition_by.iter().enumerate() {
                work::visit();
                if i > 0 {
                    self.out.push_str(", ");
                }
                self.sort_item(expr)?;
            }
            space = " ";
        }
        if !window.order_by.is_empty() {
            self.out.push_str(space);
            self.out.push_str("ORDER BY ");
            self.sort_keys(&window.order_by, false)?;
            space = " ";
        }
        if let Some(frame) = &window.frame {
            self.out.push_str(space);
            self.out.push_str(match frame.mode {
                FrameMode::Range => "RANGE BETWEEN ",
                FrameMode::Rows => "ROWS BETWEEN ",
                FrameMode::Groups => "GROUPS BETWEEN ",
            });
            self.frame_bound(&frame.start)?;
            self.out.push_str(" AND ");
            self.frame_bound(&frame.end)?;
            self.out.push_str(match frame.exclusion {
                FrameExclusion::NoOthers => "",
                FrameExclusion::CurrentRow => " EXCLUDE CURRENT ROW",
                FrameExclusion::Group => " EXCLUDE GROUP",
                FrameExclusion::Ties => " EXCLUDE TIES",
            });
        }
        self.out.push(')');
        Ok(())
    }

    fn frame_bound(&mut self, bound: &FrameBound) -> Result<()> {
        match bound {
            FrameBound::UnboundedPreceding => self.out.push_str("UNBOUNDED PRECEDING"),
            FrameBound::UnboundedFollowing => self.out.push_str("UNBOUNDED FOLLOWING"),
            FrameBound::CurrentRow => self.out.push_str("CURRENT ROW"),
            FrameBound::Preceding(e) => {
                self.expr(e, false)?;
                self.out.push_str(" PRECEDING");
            }
            FrameBound::Following(e) => {
                self.expr(e, false)?;
                self.out.push_str(" FOLLOWING");
            }
        }
        Ok(())
    }

    pub(super) fn sublink(&mut self, kind: &SubLinkKind, query: &Query, expr: &Expr) -> Result<()> {
        let _ = expr;
        if *kind == SubLinkKind::Array {
            self.out.push_str("ARRAY(");
        } else {
            self.out.push('(');
        }
        let names = self.names;
        let operator = |op: &OperatorRef| names.operator(op.oid);
        match kind {
            SubLinkKind::Quantified { quantifier, tests, operators } => {
                self.sublink_tests(tests)?;
                let name = operators.first().map_or("?".to_string(), operator);
                match (quantifier, name.as_str()) {
                    (Quantifier::Any, "=") => self.out.push_str(" IN "),
                    (Quantifier::Any, name) => self.out.push_str(&format!(" {name} ANY ")),
                    (Quantifier::All, name) => self.out.push_str(&format!(" {name} ALL ")),
                }
                self.out.push('(');
            }
            SubLinkKind::RowCompare { tests, operators } => {
                self.sublink_tests(tests)?;
                let name = operators.first().map_or("?".to_string(), operator);
                self.out.push_str(&format!(" {name} ("));
            }
            SubLinkKind::Exists => self.out.push_str("EXISTS ("),
            SubLinkKind::Scalar | SubLinkKind::Array => {}
        }
        self.visible_query(query, false)?;
        if matches!(kind, SubLinkKind::Scalar | SubLinkKind::Array) {
            self.out.push(')');
        } else {
            self.out.push_str("))");
        }
        Ok(())
    }

    fn sublink_tests(&mut self, tests: &[Expr]) -> Result<()> {
        match tests {
            [one] => self.expr(one, true),
            several => {
                self.out.push('(');
                self.list(several)?;
                self.out.push(')');
                Ok(())
            }
        }
    }

    /// A printer that goes on in place of this one. A new level borrows what may live shorter than the levels around: a printer of its
    /// own prints it.
    pub(super) fn inner<'s>(&mut self) -> Printer<'s>
    where
        'a: 's,
    {
        let mut inner: Printer<'s> = Printer {
            names: self.names,
            style: self.style,
            out: std::mem::take(&mut self.out),
            indent: self.indent,
            levels: Vec::new(),
            relation: self.relation,
            bare: 0,
            names_visible: self.names_visible,
            parameters: self.parameters.clone(),
            flat: self.flat,
            outputs: Vec::new(),
        };
        for level in &self.levels {
            work::visit();
            inner.levels.push(Level {
                entries: level.entries,
                aliases: level.aliases.clone(),
                qualify: level.qualify,
                windows: level.windows,
                group_by: level.group_by,
                ctes: level.ctes.clone(),
                columns: level.columns.clone(),
            });
        }
        inner
    }

    /// A query at the current indentation.
    pub(super) fn query(&mut self, query: &Query) -> Result<()> {
        self.query_as(query, None)
    }

    /// A query whose outputs others can name, or cannot.
    pub(super) fn visible_query(&mut self, query: &Query, visible: bool) -> Result<()> {
        let around = std::mem::replace(&mut self.names_visible, visible);
        let result = self.query(query);
        self.names_visible = around;
        result
    }

    /// What the columns of a level's entries are called.
    pub(super) fn column_names(
        &self,
        entries: &[RangeTableEntry],
        from: &[FromItem],
        ctes: &[Cte],
    ) -> Vec<super::columns::ColumnNames> {
        let own = named_ctes(ctes);
        super::columns::column_names(self.names.catalog, entries, from, &|entry| match &entry.kind {
            RteKind::Subquery { query, .. } => Some(query.columns.iter().map(|c| c.name.clone()).collect()),
            RteKind::Cte { levels_up: 0, index, .. } => own.get(*index).map(|c| c.1.clone()),
            RteKind::Cte { levels_up, index, .. } => {
                let level = self.levels.len().checked_sub(*levels_up).and_then(|at| self.levels.get(at));
                level.and_then(|l| l.ctes.get(*index)).map(|c| c.1.clone())
            }
            _ => None,
        })
    }

    /// As [`Printer::query`], with these names for its outputs.
    pub(super) fn query_as(&mut self, query: &Query, outputs: Option<&[String]>) -> Result<()> {
        let indent = self.indent;
        let mut inner = self.inner();
        let (windows, group_by): (&[Window], &[Expr]) = match &query.body {
            QueryBody::Select(select) => (&select.windows, &select.group_by),
            _ => (&[], &[]),
        };
        let from = match &query.body {
            QueryBody::Select(select) => &select.from[..],
            _ => &[],
        };
        let columns = inner.column_names(&query.range_table, from, &query.ctes);
        let used: Vec<String> = inner.levels.iter().flat_map(|l| l.aliases.iter().cloned()).collect();
        // Columns of a query by itself over one entry need no name before theirs. (In a function's body they could be taken for its
        // parameters.) A text that is stored has it: what is added to a table or function later changes nothing of it.
        let within = !inner.levels.is_empty() || inner.parameters.is_some();
        let qualify = within || query.range_table.len() != 1 || self.names.is_stored();
        if !qualify {
            inner.outputs = output_columns(query, outputs);
        }
        inner.levels.push(Level {
            columns: columns.into(),
            entries: &query.range_table,
            aliases: unique_aliases(self.names.catalog, &query.range_table, &used),
            qualify,
            windows,
            group_by,
            ctes: named_ctes(&query.ctes),
        });
        let result = inner.query_level(query, outputs);
        self.out = inner.out;
        self.indent = indent;
        result
    }

    fn query_level(&mut self, query: &'a Query, outputs: Option<&[String]>) -> Result<()> {
        if query.locks_rows && query.row_marks.is_empty() {
            return Err(PgError::not_supported("the text of FOR UPDATE in this place"));
        }
        self.with_clause(&query.ctes)?;
        match &query.body {
            QueryBody::Select(select) => self.select(query, select, outputs)?,
            QueryBody::Values(rows) => {
                self.indent += STD;
                self.out.push(' ');
                self.values(rows)?;
            }
            QueryBody::SetOperation { .. } => self.set_operation(query, outputs)?,
        }
        if !query.order_by.is_empty() {
            self.keyword(" ORDER BY ", -STD, STD, 1);
            self.sort_keys(&query.order_by, matches!(query.body, QueryBody::SetOperation { .. }))?;
        }
        if let Some(offset) = &query.offset {
            self.keyword(" OFFSET ", -STD, STD, 0);
            self.expr(offset, false)?;
        }
        if let Some(limit) = &query.limit {
            if query.with_ties {
                self.keyword(" FETCH FIRST ", -STD, STD, 0);
                self.out.push('(');
                self.expr(limit, false)?;
                self.out.push_str(") ROWS WITH TIES");
            } else {
                self.keyword(" LIMIT ", -STD, STD, 0);
                self.expr(limit, false)?;
            }
        }
        for mark in &query.row_marks {
            work::visit();
            let alias = self.levels.last().and_then(|l| l.aliases.get(mark.rte)).cloned().unwrap_or_default();
            self.keyword(&format!(" {}", mark.strength), -STD, STD, 0);
            self.out.push_str(&format!(" OF {}{}", quote_identifier(&alias), mark.wait));
        }
        Ok(())
    }

    pub(super) fn with_clause(&mut self, ctes: &'a [Cte]) -> Result<()> {
        if ctes.is_empty() {
            return Ok(());
        }
        self.indent += STD;
        self.out.push(' ');
        let mut separator = if ctes.iter().any(|c| c.recursive) { "WITH RECURSIVE " } else { "WITH " };
        for cte in ctes {
            work::visit();
            self.out.push_str(separator);
            separator = ", ";
            self.out.push_str(&quote_identifier(&cte.name));
            let CteBody::Query(query) = &cte.body else {
                return Err(PgError::not_supported("a data-modifying WITH in a view"));
            };
            if cte.named > 0 {
                let names: Vec<String> =
                    cte.columns.iter().take(cte.named).map(|c| quote_identifier(&c.name)).collect();
                self.out.push_str(&format!("({})", names.join(", ")));
            }
            // What SEARCH and CYCLE add follows from them.
            let query = cte.marked.as_ref().map_or(query, |marked| &marked.query);
            self.out.push_str(match cte.materialized {
                Some(true) => " AS MATERIALIZED (",
                Some(false) => " AS NOT MATERIALIZED (",
                None => " AS (",
            });
            self.keyword("", 0, 0, 0);
            self.visible_query(query, true)?;
            self.keyword("", 0, 0, 0);
            self.out.push(')');
            if let Some(marked) = &cte.marked {
                self.search_and_cycle(marked)?;
            }
        }
        self.indent -= STD;
        self.keyword("", 0, 0, 0);
        Ok(())
    }

    /// A constant of CYCLE. PostgreSQL shows it with a cast, for which its grammar has no place there: stored is `type 'text'`.
    fn mark_value(&mut self, value: &Expr) -> Result<()> {
        let start = self.out.len();
        self.expr(value, false)?;
        let stored = self.names.settings.is_none();
        let cast = self.out[start..].rsplit_once("::").filter(|_| stored);
        let constant = |(text, ty): (&str, &str)| if text == "NULL" { text.into() } else { format!("{ty} {text}") };
        if let Some(constant) = cast.map(constant) {
            self.out.truncate(start);
            self.out.push_str(&constant);
        }
        Ok(())
    }

    /// The clauses behind a recursive query.
    fn search_and_cycle(&mut self, marked: &Marked) -> Result<()> {
        let list = |names: &[String]| names.iter().map(|n| quote_identifier(n)).collect::<Vec<_>>().join(", ");
        if let Some(search) = &marked.search {
            let order = if search.breadth { "BREADTH" } else { "DEPTH" };
            let sequence = quote_identifier(&search.sequence);
            self.out.push_str(&format!(" SEARCH {order} FIRST BY {} SET {sequence}", list(&search.columns)));
        }
        if let Some(cycle) = &marked.cycle {
            self.out.push_str(&format!(" CYCLE {} SET {}", list(&cycle.columns), quote_identifier(&cycle.mark)));
            let is = |e: &Expr, wanted: bool| e.ty == oid::BOOL && e.kind == ExprKind::Const(Datum::from(wanted));
            if !(is(&cycle.value, true) && is(&cycle.default, false)) {
                self.out.push_str(" TO ");
                self.mark_value(&cycle.value)?;
                self.out.push_str(" DEFAULT ");
                self.mark_value(&cycle.default)?;
            }
            self.out.push_str(&format!(" USING {}", quote_identifier(&cycle.path)));
        }
        Ok(())
    }

    pub(super) fn values(&mut self, rows: &[Vec<Expr>]) -> Result<()> {
        self.out.push_str("VALUES ");
        for (i, row) in rows.iter().enumerate() {
            work::visit();
            if i > 0 {
                self.out.push_str(", ");
            }
            self.out.push('(');
            self.row_items(row, false, ",")?;
            self.out.push(')');
        }
        Ok(())
    }

    /// The items of a row: of VALUES, or of ROW(…) (`inner`: as operands).
    pub(super) fn row_items<'i>(
        &mut self,
        items: impl IntoIterator<Item = &'i Expr>,
        inner: bool,
        separator: &str,
    ) -> Result<()> {
        for (i, item) in items.into_iter().enumerate() {
            work::visit();
            if i > 0 {
                self.out.push_str(separator);
            }
            self.expr(item, inner)?;
            self.whole_row_type(item);
        }
        Ok(())
    }

    fn set_operation(&mut self, query: &'a Query, outputs: Option<&[String]>) -> Result<()> {
        let QueryBody::SetOperation { op, all, left, right } = &query.body else {
            return Err(PgError::internal("not a set operation"));
        };
        let nested = |q: &Query| matches!(q.body, QueryBody::SetOperation { .. });
        let own_clauses =
            |q: &Query| !q.ctes.is_empty() || !q.order_by.is_empty() || q.limit.is_some() || q.offset.is_some();
        let same = matches!(&left.body, QueryBody::SetOperation { op: o, all: a, .. } if o == op && a == all);
        let parentheses = nested(left) && !same || own_clauses(left);
        if parentheses {
            self.out.push('(');
            if nested(left) {
                self.keyword("", STD, 0, 0);
            }
        }
        self.query_as(left, outputs)?;
        if parentheses {
            if nested(left) {
                self.keyword(") ", -STD, 0, 0);
            } else {
                self.out.push(')');
                self.keyword("", 0, 0, 0);
            }
        } else {
            self.keyword("", 0, 0, 0);
        }
        self.out.push_str(match op {
            SetOperation::Union => "UNION ",
            SetOperation::Intersect => "INTERSECT ",
            SetOperation::Except => "EXCEPT ",
        });
        if *all {
            self.out.push_str("ALL ");
        }
        let right_nested = nested(right);
        if right_nested {
            self.out.push('(');
        }
        self.keyword("", if right_nested { STD } else { 0 }, 0, 0);
        if own_clauses(right) && !right_nested {
            self.out.push('(');
        }
        // the left side has given the columns their names
        let around = std::mem::replace(&mut self.names_visible, false);
        let result = self.query_as(right, outputs);
        self.names_visible = around;
        result?;
        if own_clauses(right) && !right_nested {
            self.out.push(')');
        }
        if right_nested {
            self.indent -= STD;
            self.keyword(")", 0, 0, 0);
        }
        Ok(())
    }

    fn select(&mut self, query: &'a Query, select: &'a Select, outputs: Option<&[String]>) -> Result<()> {
        self.indent += STD;
        self.out.push_str(if self.flat { "SELECT" } else { " SELECT" });
        match &select.distinct {
            Distinct::No => {}
            Distinct::All => self.out.push_str(" DISTINCT"),
            Distinct::On(list) => {
                self.out.push_str(" DISTINCT ON (");
                for (i, expr) in list.iter().enumerate() {
                    work::visit();
                    if i > 0 {
                        self.out.push_str(", ");
                    }
                    self.sort_item(expr)?;
                }
                self.out.push(')');
            }
        }
        let names: Vec<&str> = match outputs {
            Some(outputs) => outputs.iter().map(String::as_str).collect(),
            None => query.columns.iter().map(|c| c.name.as_str()).collect(),
        };
        self.target_list(&select.targets[..names.len().min(select.targets.len())], &names)?;
        self.from_clause(&query.range_table, &select.from, " FROM ")?;
        if let Some(filter) = &select.filter {
            self.keyword(" WHERE ", -STD, STD, 1);
            self.expr(filter, false)?;
        }
        if let Some(clause) = &select.grouping_clause {
            self.keyword(" GROUP BY ", -STD, STD, 1);
            if clause.distinct {
                self.out.push_str("DISTINCT ");
            }
            self.grouping_elements(&clause.elements, true, select)?;
        } else if !select.group_by.is_empty() {
            self.keyword(" GROUP BY ", -STD, STD, 1);
            for (i, expr) in select.group_by.iter().enumerate() {
                work::visit();
                if i > 0 {
                    self.out.push_str(", ");
                }
                self.group_item(expr)?;
            }
        }
        if let Some(having) = &select.having {
            self.keyword(" HAVING ", -STD, STD, 0);
            self.expr(having, false)?;
        }
        let named: Vec<&Window> = select.windows.iter().filter(|w| w.name.is_some()).collect();
        for (i, window) in named.iter().enumerate() {
            work::visit();
            if i == 0 {
                self.keyword(" WINDOW ", -STD, STD, 1);
            } else {
                self.out.push_str(", ");
            }
            self.out.push_str(&quote_identifier(window.name.as_deref().unwrap_or("")));
            self.out.push_str(" AS ");
            self.window(window)?;
        }
        Ok(())
    }

    /// A list of outputs with the names that they are to have.
    pub(super) fn target_list(&mut self, targets: &'a [Target], names: &[&str]) -> Result<()> {
        for (i, target) in targets.iter().enumerate() {
            work::visit();
            self.out.push_str(if i == 0 { " " } else { ", " });
            let before = std::mem::take(&mut self.out);
            self.expr(&target.expr, true)?;
            self.whole_row_type(&target.expr);
            let own = match &target.expr.kind {
                ExprKind::Var(v) => self.var_name(*v),
                _ if self.names_visible => None,
                _ => Some("?column?".to_string()),
            };
            let name = names.get(i).copied().unwrap_or(&target.name);
            // (the label of a constant gives it another name when the text is read again)
            let renamed = self.names.is_stored() && !self.names_visible && self.out.contains("::");
            if own.as_deref() != Some(name) || renamed && !matches!(target.expr.kind, ExprKind::Var(_)) {
                self.out.push_str(&format!(" AS {}", quote_identifier(name)));
            }
            let text = std::mem::replace(&mut self.out, before);
            // Every column but the first has a line of its own (a text that begins with one has it already).
            if text.starts_with('\n') {
                while self.out.ends_with(' ') {
                    work::visit();
                    self.out.pop();
                }
            } else if i > 0 {
                self.keyword("", -STD, STD, VAR);
            }
            self.out.push_str(&text);
        }
        Ok(())
    }

    /// A whole row in a select list says its type: `t.*` alone would be all its columns.
    pub(super) fn whole_row_type(&mut self, expr: &Expr) {
        if matches!(expr.kind, ExprKind::WholeRow { .. }) {
            let name = self.names.type_name(expr.ty, -1);
            self.out.push_str(&format!("::{name}"));
        }
    }

    /// Elements of GROUP BY with grouping sets, or of a grouping set.
    /// `bare`: a single key stands without parentheses.
    fn grouping_elements(&mut self, elements: &'a [GroupingElement], bare: bool, select: &'a Select) -> Result<()> {
        for (i, element) in elements.iter().enumerate() {
            work::visit();
            if i > 0 {
                self.out.push_str(", ");
            }
            let (word, parts, bare) = match element {
                GroupingElement::Keys(keys) => {
                    let parentheses = !bare || keys.len() != 1;
                    if parentheses {
                        self.out.push('(');
                    }
                    for (i, key) in keys.iter().enumerate() {
                        work::visit();
                        if i > 0 {
                            self.out.push_str(", ");
                        }
                        self.group_item(&select.group_by[*key])?;
                    }
                    if parentheses {
                        self.out.push(')');
                    }
                    continue;
                }
                GroupingElement::Rollup(parts) => ("ROLLUP(", parts, true),
                GroupingElement::Cube(parts) => ("CUBE(", parts, true),
                GroupingElement::Sets(parts) => ("GROUPING SETS (", parts, false),
            };
            self.out.push_str(word);
            self.grouping_elements(parts, bare, select)?;
            self.out.push(')');
        }
        Ok(())
    }

    /// The name a plain column reference has by itself.
    fn var_name(&self, var: Var) -> Option<String> {
        let at = self.levels.len().checked_sub(1 + var.levels_up)?;
        let entry = self.levels[at].entries.get(var.rte)?;
        if let (RteKind::Join { columns }, false) = (&entry.kind, entry.has_alias) {
            if let Some(Expr { kind: ExprKind::Var(inner), .. }) = columns.get(var.column) {
                return self.var_name(Var { levels_up: var.levels_up + inner.levels_up, ..*inner });
            }
        }
        Some(self.column_name(at, var.rte, var.column))
    }
}

/// The names of a query's outputs, with the column that each is if it is one.
fn output_columns(query: &Query, outputs: Option<&[String]>) -> Vec<(String, Option<Var>)> {
    let QueryBody::Select(select) = &query.body else { return Vec::new() };
    let own = |i: usize| query.columns.get(i).map(|c| c.name.clone());
    let name = |i: usize| outputs.and_then(|o| o.get(i).cloned()).or_else(|| own(i));
    let column = |target: &Target| match target.expr.kind {
        ExprKind::Var(var) => Some(var),
        _ => None,
    };
    select.targets.iter().enumerate().filter_map(|(i, t)| Some((name(i)?, column(t)))).collect()
}

/// The names of WITH queries and of their columns.
pub(super) fn named_ctes(ctes: &[Cte]) -> Vec<(String, Vec<String>)> {
    ctes.iter().map(|c| (c.name.clone(), c.columns.iter().map(|c| c.name.clone()).collect())).collect()
}

/// The aliases of a level's entries, made unique among themselves and those of the levels around (`t`, `t_1` …).
pub(super) fn unique_aliases(
    catalog: &crate::catalog::Catalog,
    entries: &[RangeTableEntry],
    outer: &[String],
) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for entry in entries {
        work::visit();
        let wanted = match &entry.kind {
            // A table without an alias goes by the name it has now.
            RteKind::Relation(r) if !entry.has_alias => catalog.relation(r.oid).unwrap_or(r).name.clone(),
            _ => entry.alias.clone(),
        };
        let mut name = wanted.clone();
        let mut n = 1;
        while !name.is_empty() && (out.contains(&name) || outer.contains(&name)) {
            work::visit();
            name = format!("{wanted}_{n}");
            n += 1;
        }
        out.push(name);
    }
    out
}

/// Whether an expression of FROM is printed as a call, the only form that the grammar takes there besides CAST.
pub(super) fn looks_like_call(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Const(_)
        | ExprKind::Op { .. }
        | ExprKind::Array(_)
        | ExprKind::Row(_)
        | ExprKind::Case { .. }
        | ExprKind::Field { .. }
        | ExprKind::Subscript { .. } => false,
        ExprKind::Cast { form: CastForm::Keyword(_), .. } => true,
        ExprKind::Cast { form: CastForm::Implicit | CastForm::Syntax, arg, .. } => looks_like_call(arg),
        ExprKind::Cast { .. } => false,
        _ => true,
    }
}
