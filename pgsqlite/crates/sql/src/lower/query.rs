//! Queries: SELECT, VALUES, set operations.

use super::expr::{direction, not_a_position};
use super::from::{needs_siblings, rows_that_may_miss};
use super::kept_rows::Kept;
use super::stages::{plain_limit, Stage};
use super::{support, Lowerer, Scope};
use crate::typed::{
    Aggregate, CteBody, Distinct, Expr, ExprKind, FromItem, Query, QueryBody, RangeTableEntry, RteKind, Select,
    SetOperation, SortKey,
};
use crate::volatility;
use crate::walk;
use pgsqlite_types::{Datum, PgError, Result};

/// What a row count is for: 0 and 1 as support::LIMIT's argument; of WITH TIES it may not be NULL.
#[derive(Clone, Copy)]
pub(super) enum LimitKind {
    Limit = 0,
    Offset = 1,
    WithTies = 2,
}

impl Lowerer<'_> {
    /// A whole query; its columns are `c1`, `c2` ….
    pub(super) fn query(&mut self, query: &Query) -> Result<String> {
        let (text, hashed) = self.query_or_groups(query)?;
        if !hashed || self.scopes.is_empty() {
            return Ok(text);
        }
        // the groups are made once, and may be looked up by an index that SQLite makes for them
        let name = self.unique("w");
        Ok(format!("WITH {name} AS MATERIALIZED ({text}) SELECT * FROM {name}"))
    }

    /// A whole query, and whether it reads groups that are found by hashing: SQLite would find them anew wherever the query is named.
    fn query_or_groups(&mut self, query: &Query) -> Result<(String, bool)> {
        self.scopes.push(Scope { takes_ahead: !self.in_recursive_term, ..Scope::default() });
        let around = std::mem::replace(&mut self.asks_rows, false);
        let result = self.query_in_scope(query);
        self.asks_rows = around;
        let hashed = self.scopes.pop().is_some_and(|scope| scope.hashed);
        let text = result?;
        pgsqlite_types::work::tick(256 + text.len() / 16)?;
        Ok((super::expr::within_length_limit(text)?, hashed))
    }

    fn query_in_scope(&mut self, query: &Query) -> Result<String> {
        let grouped = self.eagerly_grouped(query);
        let query = grouped.as_ref().unwrap_or(query);
        let narrowed = self.pushed_down(query);
        let query = narrowed.as_ref().unwrap_or(query);
        let with = self.with_clause(query)?;
        let mut entries = Vec::new();
        let mut from_texts = Vec::new();
        let marked = rows_that_may_miss(query);
        let mut present = Vec::new();
        self.scope().alone = query.range_table.len() == 1;
        let kept = self.kept(query);
        if kept == Kept::Nothing {
            self.seek_division(query);
        }
        for (i, rte) in query.range_table.iter().enumerate() {
            let (mut text, columns) = self.entry(rte)?;
            if kept == Kept::Items {
                text = self.kept_item(rte, text)?;
            }
            present.push(match marked.contains(&i) {
                true => self.presence(rte, &mut text, &columns)?,
                false => None,
            });
            entries.push(columns);
            from_texts.push(text);
        }
        self.scope().divides_below = false;
        self.scope().entries = entries;
        self.scope().present = present;
        // FROM items that are LATERAL or functions refer to entries before them: lowered again with those in sight
        for (i, rte) in query.range_table.iter().enumerate() {
            if needs_siblings(rte) {
                let (text, columns) = self.lateral_entry(rte)?;
                if marked.contains(&i) {
                    let (_, alias) =
                        text.rsplit_once(" AS ").ok_or_else(|| PgError::internal("an item without alias"))?;
                    self.scope().present[i] = Some(format!("{alias}.key"));
                }
                from_texts[i] = text;
                self.scope().entries[i] = columns;
            }
        }
        let limit = self.limit_clause(query)?;
        let body = match &query.body {
            QueryBody::Select(select) => self.select(select, query, &from_texts, &limit, kept)?,
            QueryBody::Values(rows) => {
                let mut texts = Vec::new();
                for row in rows {
                    texts.push(format!("({})", self.exprs(row)?.join(", ")));
                }
                let width = rows.first().map_or(0, Vec::len);
                if width == 0 {
                    return Err(PgError::not_supported("VALUES without columns"));
                }
                let columns: Vec<String> = (1..=width).map(|i| format!("column{i} AS c{i}")).collect();
                // (SQLite gives the columns of VALUES no names where a value depends on the query around it)
                let values = if refers_outwards(query) {
                    let arms: Vec<String> = texts.iter().map(|t| format!("SELECT {}", &t[1..t.len() - 1])).collect();
                    // an arm without rows names the columns
                    let named: Vec<String> = (1..=width).map(|i| format!("NULL AS c{i}")).collect();
                    format!("SELECT {} WHERE 0 UNION ALL {}", named.join(", "), arms.join(" UNION ALL "))
                } else {
                    format!("SELECT {} FROM (VALUES {})", columns.join(", "), texts.join(", "))
                };
                self.ordered_output(values, query, &limit)?
            }
            QueryBody::SetOperation { op, all, left, right } => {
                let text = self.set_operation(*op, *all, left, right, query)?;
                self.ordered_output(text, query, &limit)?
            }
        };
        let ahead = std::mem::take(&mut self.scope().ahead).join(", ");
        Ok(match (ahead.is_empty(), with.is_empty()) {
            (true, _) => format!("{with}{body}"),
            (false, true) => format!("WITH {ahead} {body}"),
            (false, false) => format!("{}, {ahead} {body}", with.trim_end()),
        })
    }

    pub(super) fn scope(&mut self) -> &mut Scope {
        self.scopes.last_mut().expect("inside a query")
    }

    /// One more entry of this level, of our own making: its index.
    pub(super) fn add_entry(&mut self, columns: Vec<String>) -> usize {
        self.scope().entries.push(columns);
        self.last_entry()
    }

    /// What `make` returns where this level has no entries, and so no row.
    pub(super) fn beside_no_row<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> T {
        let entries = std::mem::take(&mut self.scope().entries);
        let made = make(self);
        self.scope().entries = entries;
        made
    }

    pub(super) fn last_entry(&mut self) -> usize {
        self.scope().entries.len() - 1
    }

    // --- WITH ----------------------------------------------------------------------------------------------------------

    pub(super) fn with_clause(&mut self, query: &Query) -> Result<String> {
        for (i, cte) in query.ctes.iter().enumerate() {
            let CteBody::Query(body) = &cte.body else { continue };
            let mut volatile = false;
            walk::query_exprs(body, 0, &mut |_, e| volatile |= volatility::shows_calls_in(self.env.catalog, e));
            let mut uses = Vec::new();
            if volatile {
                cte_uses(query, 0, i, false, &mut uses);
            }
            // SQLite computes it anew in each arm
            if uses.len() > 1 && uses.contains(&true) {
                let what =
                    "a WITH query with a volatile function that is used more than once in UNION, INTERSECT or EXCEPT";
                return Err(PgError::not_supported(what));
            }
        }
        self.with_queries(&query.ctes)
    }

    /// A volatile function is called in the query or in one of its sub-queries, or a sample is taken by chance.
    fn changes_each_time(&self, query: &Query) -> bool {
        let mut found = false;
        walk::query_exprs(query, 0, &mut |_, e| found |= volatility::is_volatile(self.env.catalog, e));
        walk::entries(query, &mut |entry| found |= entry.sample.as_ref().is_some_and(|sample| sample.seed.is_none()));
        found
    }

    /// Whether a function of FROM is called once for all rows although its results differ from call to call.
    pub(super) fn called_once(&self, call: &Expr) -> bool {
        let (mut volatile, mut constant) = (false, true);
        walk::deep(call, 0, &mut |_, e| {
            volatile |= volatility::is_volatile(self.env.catalog, e);
            constant &= !matches!(e.kind, ExprKind::Var(_) | ExprKind::WholeRow { .. } | ExprKind::SubLink { .. });
        });
        volatile && constant && self.scopes.last().is_some_and(|s| s.takes_ahead)
    }

    /// The text of a sub-query in FROM, whose rows are the same for all rows beside it. SQLite would write its columns into what is around it,
    /// and compute it again for each of those rows. (PostgreSQL takes a function of the user in the WHERE of a plain SELECT into the query
    /// around it; so does this, or a view would be computed whole for one of its rows.)
    pub(super) fn computed_once(&mut self, query: &Query, text: String) -> String {
        let in_targets = match &query.body {
            QueryBody::Select(select) => {
                let mut found = false;
                for target in &select.targets {
                    walk::deep(&target.expr, 0, &mut |_, e| found |= volatility::is_volatile(self.env.catalog, e));
                }
                found
            }
            _ => false,
        };
        let once = in_targets
            || !self.scope().alone
                && match &query.body {
                    QueryBody::Select(_) if walk::is_plain(query) => {
                        let mut found = false;
                        walk::query_exprs(query, 0, &mut |_, e| found |= volatility::calls_volatile_builtin(e));
                        found
                    }
                    _ => self.changes_each_time(query),
                };
        if !once {
            return text;
        }
        let name = self.unique("w");
        format!("WITH {name} AS MATERIALIZED ({text}) SELECT * FROM {name}")
    }

    pub(super) fn with_queries(&mut self, ctes: &[crate::typed::Cte]) -> Result<String> {
        if ctes.is_empty() {
            return Ok(String::new());
        }
        let mut texts = Vec::new();
        let mut recursive = false;
        for cte in ctes {
            let CteBody::Query(body) = &cte.body else {
                return Err(PgError::not_supported("a data-modifying statement in WITH here"));
            };
            recursive |= cte.recursive;
            let name = self.unique("w");
            // a recursive query sees its own name
            self.scope().ctes.push(name.clone());
            let (text, hashed) =
                if cte.recursive { (self.recursive(body)?, false) } else { self.query_or_groups(body)? };
            let columns: Vec<String> = (1..=cte.columns.len()).map(|i| format!("c{i}")).collect();
            // PostgreSQL computes a WITH query once if it is used more than once or has side effects
            let hint = match cte.materialized {
                _ if hashed || self.changes_each_time(body) => " MATERIALIZED",
                Some(true) => " MATERIALIZED",
                Some(false) => " NOT MATERIALIZED",
                None => "",
            };
            let columns = if columns.is_empty() { String::new() } else { format!("({})", columns.join(", ")) };
            texts.push(format!("{name}{columns} AS{hint} ({text})"));
        }
        Ok(format!("WITH {}{} ", if recursive { "RECURSIVE " } else { "" }, texts.join(", ")))
    }

    /// The two terms of WITH RECURSIVE must stay the arms of SQLite's own compound.
    fn recursive(&mut self, query: &Query) -> Result<String> {
        let QueryBody::SetOperation { op: SetOperation::Union, all, left, right } = &query.body else {
            return Err(PgError::internal("a recursive query that is no UNION"));
        };
        if !works_row_by_row(right) {
            return Err(PgError::not_supported("this form of recursive term in WITH RECURSIVE"));
        }
        self.scopes.push(Scope::default());
        let result = (|| {
            let with = self.with_clause(query)?;
            let l = self.query(left)?;
            // rows that are equal but not the same count once under UNION: the first term says how they compare
            let columns: Vec<String> = query
                .columns
                .iter()
                .enumerate()
                .map(|(i, c)| {
                    let collate = self.collate_column(c);
                    format!("c{0}{collate} AS c{0}", i + 1)
                })
                .collect();
            let l = if *all { self.plain_arm(l, left) } else { format!("SELECT {} FROM ({l})", columns.join(", ")) };
            let around = std::mem::replace(&mut self.in_recursive_term, true);
            let r = self.query(right);
            self.in_recursive_term = around;
            let r = r?;
            Ok(format!("{with}{l} UNION{} {r}", if *all { " ALL" } else { "" }))
        })();
        self.scopes.pop();
        result
    }

    // --- SELECT ----------------------------------------------------------------------------------------------------------

    fn select(&mut self, select: &Select, query: &Query, from: &[String], limit: &str, kept: Kept) -> Result<String> {
        if let ([entry], true, true) = (&query.range_table[..], select.grouped, select.group_by.is_empty()) {
            if let RteKind::Relation(relation) = &entry.kind {
                let columns = entry.columns.iter().map(|c| c.attnum).collect();
                self.scope().whole_table = Some((relation.oid, columns));
            }
        }
        let factored = select.filter.as_ref().map(|filter| self.factored(filter));
        let mut candidates = Vec::new();
        if let Some(filter) = &factored {
            candidates = self.candidates(filter, select, query)?;
        }
        let nearest = self.nearest(select, query)?;
        // (a few rows whose numbers are known are where SQLite begins; of one table it serves groups alone)
        let joins = !matches!(select.from[..], [] | [FromItem::Entry(_)]);
        let serves = candidates.is_empty() && (joins || select.grouped || self.is_divided_above());
        let order = if serves { self.join_order(select, query) } else { None };
        let mut items = Vec::new();
        // what the ORs imply for each table alone
        let mut implied = Vec::new();
        let (filter, first) = match order.as_ref().filter(|order| order.entries.len() > 1) {
            Some(order) => {
                let (tables, filter) = self.ordered_items(order, from, query, &mut implied)?;
                items.push(tables.join(" CROSS JOIN "));
                (filter, order.entries.first().map(|placed| placed.entry).filter(|_| order.scans_first))
            }
            None => {
                if let Some(filter) = &factored {
                    implied = self.implied(filter, query)?;
                }
                for item in &select.from {
                    items.push(self.from_item(item, from, Some((select, query)))?);
                }
                match select.from[..] {
                    [FromItem::Entry(entry)] if select.grouped => (factored, Some(entry)),
                    _ => (factored, None),
                }
            }
        };
        let mut filter = match &filter {
            Some(filter) => {
                let mut conditions = candidates;
                conditions.extend(implied.into_iter().map(|(_, text)| text));
                conditions.push(self.filter(filter, query, first)?);
                format!(" WHERE {}", conditions.join(" AND "))
            }
            None => nearest.map_or(String::new(), |condition| format!(" WHERE {condition}")),
        };
        let divided = match kept {
            Kept::Nothing => self.division(order.as_ref(), &mut filter, from, (select, query)),
            _ => None,
        };
        let mut stage = Stage {
            select: select.clone(),
            order_by: query.order_by.clone(),
            from: items.join(", "),
            filter,
            group_having: String::new(),
        };
        if kept == Kept::Rows {
            self.keep_rows(&mut stage)?;
        }
        let no_keys = select.group_by.is_empty();
        let unmade_group = select.grouped && no_keys && !stage.exprs().into_iter().any(walk::contains_aggregate);
        let in_rows = select.grouped && self.needs_rows(&stage);
        if !select.grouping_sets.is_empty() || unmade_group || no_keys && select.having.is_some() || in_rows {
            self.grouping_stage(&mut stage)?;
        } else if !self.hashed_groups(&mut stage, query, divided.as_ref(), order.as_ref())? {
            let gathered = divided.and_then(|divided| self.gathered_aggregates(&stage, query, divided).transpose());
            stage.group_having = self.group_having(select)?;
            if let Some(gathered) = gathered {
                let (above, mut found) = gathered?;
                let ahead = self.scope().ahead.len();
                found.instead = self.above_groups(above, query, limit)?;
                let needs_more = self.scope().ahead.len() > ahead;
                self.scope().ahead.truncate(ahead);
                found.serial = self.above_groups(stage, query, limit)?;
                let text = found.serial.clone();
                if !needs_more {
                    self.keep_gathered(found);
                }
                return Ok(text);
            }
        }
        self.above_groups(stage, query, limit)
    }

    /// What a SELECT computes of its rows or groups.
    fn above_groups(&mut self, mut stage: Stage, query: &Query, limit: &str) -> Result<String> {
        if stage.exprs().into_iter().any(walk::contains_set_function) {
            self.set_functions(&mut stage)?;
        }
        self.numbered_rows(&mut stage, query)?;
        if matches!(stage.select.distinct, Distinct::On(_)) || query.with_ties {
            return self.chosen_rows(&stage, query, limit);
        }
        let late = super::postponed::postponed(&stage.select, &stage.order_by);
        if !late.is_empty() && query.row_locks.is_empty() {
            return self.after_sorting(&stage, &late, limit);
        }
        let Stage { select, order_by, .. } = &stage;
        let mut targets = Vec::new();
        for (i, target) in select.targets.iter().enumerate() {
            let text = self.windowed(&target.expr, select)?;
            let collate = if select.distinct == Distinct::All { self.collate_of(&target.expr) } else { String::new() };
            targets.push([&text[..], &collate, " AS c", &(i + 1).to_string()].concat());
        }
        if targets.is_empty() {
            // SELECT without columns: a column that the plan does not know of
            targets.push("1 AS c1".into());
        }
        let width = targets.len();
        targets.extend(self.columns_of_locks(query)?);
        let distinct = if select.distinct == Distinct::All { "DISTINCT " } else { "" };
        let mut text = ["SELECT ", distinct, &targets.join(", "), &stage.from_where(), &stage.group_having].concat();
        if !order_by.is_empty() {
            text += &[" ORDER BY ", &self.order_keys(order_by, select)?].concat();
        }
        if !query.row_locks.is_empty() {
            return Ok(self.locked_rows(query, &text, width, limit));
        }
        Ok(text + limit)
    }

    fn call_over(&mut self, call: &Aggregate, index: usize, select: &Select, whole: &Expr) -> Result<String> {
        let window = &select.windows[index];
        match self.call_over_rows(call, index, window, whole)? {
            Some(text) => Ok(text),
            None => match self.of_other_row(call, window, whole, select)? {
                Some(text) => Ok(text),
                None => self.window_call(call, window, whole),
            },
        }
    }

    /// An expression that may hold window calls.
    pub(super) fn windowed(&mut self, expr: &Expr, select: &Select) -> Result<String> {
        if !walk::contains_window(expr) {
            return self.expr(expr);
        }
        if let ExprKind::Window { call, window } = &expr.kind {
            let text = self.call_over(call, *window, select, expr)?;
            return Ok(self.settled(expr, text));
        }
        // each window call is lowered on its own and put back as a ready text
        let mut texts = Vec::new();
        let mut error = None;
        let base = self.scopes.len();
        let replaced = walk::map(expr, &mut |e| {
            if let ExprKind::Window { call, window } = &e.kind {
                match self.call_over(call, *window, select, e) {
                    Ok(text) => texts.push(text),
                    Err(err) => error = Some(err),
                }
                let var = crate::typed::Var { levels_up: 0, rte: usize::MAX, column: texts.len().saturating_sub(1) };
                return Some(Expr { kind: ExprKind::Var(var), ..e.clone() });
            }
            None
        });
        if let Some(error) = error {
            return Err(error);
        }
        debug_assert_eq!(base, self.scopes.len());
        // entries are indexed by rte: the ready texts stand behind the last one
        let ready = self.scope().entries.len();
        let renamed = walk::map(&replaced, &mut |e| match &e.kind {
            ExprKind::Var(v) if v.rte == usize::MAX => {
                Some(Expr { kind: ExprKind::Var(crate::typed::Var { rte: ready, ..*v }), ..e.clone() })
            }
            _ => None,
        });
        self.scope().entries.push(texts);
        let result = self.expr(&renamed);
        self.scope().entries.pop();
        result
    }

    pub(super) fn order_keys(&mut self, keys: &[SortKey], select: &Select) -> Result<String> {
        let mut out = Vec::new();
        for key in keys {
            // an output column is named by its position: the same value is not computed twice
            let text = match key.target {
                Some(i) if select.targets.get(i).is_some_and(|t| t.expr == key.expr) => (i + 1).to_string(),
                _ if walk::contains_window(&key.expr) => self.windowed(&key.expr, select)?,
                _ if matches!(key.expr.kind, ExprKind::Const(_)) => continue,
                _ => not_a_position(self.expr(&key.expr)?, &key.expr),
            };
            let collate = self.collation_of(&key.expr).map_or(String::new(), |c| format!(" COLLATE {c}"));
            out.push(format!("{text}{collate}{}", direction(key)));
        }
        if out.is_empty() {
            out.push("NULL".into());
        }
        Ok(out.join(", "))
    }

    fn group_having(&mut self, select: &Select) -> Result<String> {
        let mut text = String::new();
        if !select.group_by.is_empty() {
            let mut keys = Vec::new();
            for key in &select.group_by {
                keys.push(self.group_key(key)?);
            }
            text += &format!(" GROUP BY {}", keys.join(", "));
        }
        if let Some(having) = &select.having {
            text += &format!(" HAVING {}", self.ordered_condition(having)?);
        }
        Ok(text)
    }

    // --- set operations, ORDER BY, LIMIT -------------------------------------------------------------------------------------

    fn set_operation(
        &mut self,
        op: SetOperation,
        all: bool,
        left: &Query,
        right: &Query,
        query: &Query,
    ) -> Result<String> {
        let l = self.query(left)?;
        let r = self.query(right)?;
        let word = match op {
            SetOperation::Union => "UNION",
            SetOperation::Intersect => "INTERSECT",
            SetOperation::Except => "EXCEPT",
        };
        if op == SetOperation::Union && all {
            return Ok(format!("{} UNION ALL {}", self.plain_arm(l, left), self.wrapped_arm(r)));
        }
        let mut columns = Vec::new();
        for (i, c) in query.columns.iter().enumerate() {
            let collate = self.collate_column(c);
            columns.push(format!("c{0}{collate} AS c{0}", i + 1));
        }
        if columns.is_empty() {
            // rows without columns are all equal: each has one of ours
            columns.push("c1".into());
        }
        let equal_not_same = query.columns.iter().any(|c| self.collation_in(c.ty, c.collation).is_some());
        if op == SetOperation::Union && !all && equal_not_same {
            // of equal rows (1.0, 1.00) the first stays; SQLite's UNION keeps the last
            let rows = format!("{} UNION ALL {}", self.plain_arm(l, left), self.wrapped_arm(r));
            return Ok(format!("SELECT DISTINCT {} FROM ({rows})", columns.join(", ")));
        }
        if !all {
            // (DISTINCT keeps the first of equal rows, as above)
            let first = if op == SetOperation::Except && equal_not_same { "DISTINCT " } else { "" };
            let arm = |text: &str| format!("SELECT {first}{} FROM ({text})", columns.join(", "));
            return Ok(format!("{} {word} {}", arm(&l), arm(&r)));
        }
        // INTERSECT ALL, EXCEPT ALL: the n-th copy of a row on one side matches the n-th on the other
        let mut partition: Vec<String> =
            query.columns.iter().enumerate().map(|(i, c)| format!("c{}{}", i + 1, self.collate_column(c))).collect();
        if partition.is_empty() {
            partition.push("c1".into());
        }
        let arm = |text: &str| {
            format!(
                "SELECT {}, row_number() OVER (PARTITION BY {}) AS rn FROM ({text})",
                columns.join(", "),
                partition.join(", ")
            )
        };
        let plain: Vec<String> = (1..=query.columns.len().max(1)).map(|i| format!("c{i}")).collect();
        Ok(format!("SELECT {} FROM ({} {word} {})", plain.join(", "), arm(&l), arm(&r)))
    }

    /// A compound's left arm may be a compound of the same kind; anything with ORDER BY, LIMIT or WITH is wrapped.
    fn plain_arm(&self, text: String, query: &Query) -> String {
        let simple =
            query.order_by.is_empty() && query.limit.is_none() && query.offset.is_none() && query.ctes.is_empty();
        let union_all = match &query.body {
            QueryBody::SetOperation { op, all, .. } => *op == SetOperation::Union && *all,
            QueryBody::Select(s) => !matches!(s.distinct, Distinct::On(_)),
            QueryBody::Values(_) => true,
        };
        if simple && union_all && !text.starts_with("WITH ") {
            text
        } else {
            self.wrapped_arm(text)
        }
    }

    fn wrapped_arm(&self, text: String) -> String {
        format!("SELECT * FROM ({text})")
    }

    /// ORDER BY and LIMIT of a query whose sort keys are output columns.
    fn ordered_output(&mut self, text: String, query: &Query, limit: &str) -> Result<String> {
        if query.order_by.is_empty() && limit.is_empty() {
            return Ok(text);
        }
        let mut keys = Vec::new();
        for key in &query.order_by {
            let column = key.target.ok_or_else(|| PgError::internal("a sort key that is no output column"))?;
            let of = &query.columns[column];
            let collate = self.collate_column(of);
            let value = match of.collation == crate::catalog::NO_COLLATION {
                true => format!("{}(c{}, 'string comparison')", support::NO_COLLATION, column + 1),
                false => format!("c{}", column + 1),
            };
            keys.push(format!("{value}{collate}{}", direction(key)));
        }
        if query.with_ties {
            let output: Vec<String> = (1..=query.columns.len()).map(|i| format!("c{i}")).collect();
            return self.with_ties(&text, &output.join(", "), &format!("ORDER BY {}", keys.join(", ")), query);
        }
        let order = if keys.is_empty() { String::new() } else { format!(" ORDER BY {}", keys.join(", ")) };
        Ok(format!("SELECT * FROM ({text}){order}{limit}"))
    }

    /// LIMIT's or OFFSET's value; -1 for NULL.
    pub(super) fn limit_bound(&mut self, expr: &Expr, kind: LimitKind) -> Result<String> {
        Ok(match plain_limit(expr) {
            Some(n) => n.to_string(),
            None => format!("{}({}, {})", support::LIMIT, self.expr(expr)?, kind as i32),
        })
    }

    /// Whether the LIMIT of a query has an OFFSET. A sub-query has one always where no ORDER BY says which rows LIMIT leaves: the order of the
    /// rows below it decides that, not the order of the query around it, which SQLite would make it a part of.
    pub(super) fn has_offset(&self, query: &Query) -> bool {
        query.offset.is_some() || query.limit.is_some() && query.order_by.is_empty() && self.scopes.len() > 1
    }

    fn limit_clause(&mut self, query: &Query) -> Result<String> {
        for bound in query.limit.iter().chain(&query.offset) {
            let mut outwards = false;
            walk::deep(bound, 0, &mut |depth, e| outwards |= refers_beyond(e, depth));
            if outwards {
                let what = "LIMIT or OFFSET that depends on the query around it";
                return Err(PgError::not_supported(what).at(bound.location));
            }
        }
        let limit = match &query.limit {
            Some(limit) => self.limit_bound(limit, LimitKind::Limit)?,
            None if query.offset.is_some() => "-1".into(),
            None => return Ok(String::new()),
        };
        Ok(match &query.offset {
            Some(offset) => format!(" LIMIT {limit} OFFSET {}", self.limit_bound(offset, LimitKind::Offset)?),
            None if self.has_offset(query) => format!(" LIMIT {limit} OFFSET 0"),
            None => format!(" LIMIT {limit}"),
        })
    }
}

/// Whether an expression `depth` levels further in names a column of a query around that level.
fn refers_beyond(e: &Expr, depth: usize) -> bool {
    match &e.kind {
        ExprKind::Var(v) => v.levels_up > depth,
        ExprKind::WholeRow { levels_up, .. } => *levels_up > depth,
        _ => false,
    }
}

/// Whether a query depends on a query around it.
pub(super) fn refers_outwards(query: &Query) -> bool {
    let mut outwards = false;
    walk::query_exprs(query, 0, &mut |depth, e| outwards |= refers_beyond(e, depth));
    outwards
}

/// How often a query names WITH query `index` of the level `depth` levels out: one entry per use, which says whether the
/// use is in an arm of UNION, INTERSECT or EXCEPT.
pub(super) fn cte_uses(query: &Query, depth: usize, index: usize, in_arm: bool, uses: &mut Vec<bool>) {
    for entry in &query.range_table {
        match &entry.kind {
            // (what a recursive term names is the query's last rows)
            RteKind::Cte { levels_up, index: i, self_reference: false, .. } if *levels_up == depth && *i == index => {
                uses.push(in_arm)
            }
            RteKind::Subquery { query, .. } => cte_uses(query, depth + 1, index, in_arm, uses),
            _ => {}
        }
    }
    for cte in &query.ctes {
        if let CteBody::Query(query) = &cte.body {
            cte_uses(query, depth + 1, index, in_arm, uses);
        }
    }
    if let QueryBody::SetOperation { left, right, .. } = &query.body {
        cte_uses(left, depth + 1, index, true, uses);
        cte_uses(right, depth + 1, index, true, uses);
    }
    walk::query_exprs(query, 0, &mut |at, e| {
        if let (0, ExprKind::SubLink { query, .. }) = (at, &e.kind) {
            cte_uses(query, depth + 1, index, in_arm, uses);
        }
    });
}

/// SQLite takes the rows of a recursive query one by one, PostgreSQL all new ones at once: the same for a plain SELECT that has
/// the query itself among its FROM items.
fn works_row_by_row(term: &Query) -> bool {
    let QueryBody::Select(select) = &term.body else { return false };
    let set_functions = select.targets.iter().any(|t| walk::contains_set_function(&t.expr));
    let itself = |r: &RangeTableEntry| matches!(r.kind, RteKind::Cte { self_reference: true, .. });
    let direct = term.range_table.iter().filter(|r| itself(r)).count();
    let deeper = {
        let mut found = term.ctes.iter().any(|c| matches!(&c.body, CteBody::Query(q) if names_recursion(q)));
        for entry in &term.range_table {
            if let RteKind::Subquery { query, .. } = &entry.kind {
                found |= names_recursion(query);
            }
        }
        found
    };
    let plain = !select.grouped
        && select.windows.is_empty()
        && select.distinct == Distinct::No
        && term.order_by.is_empty()
        && term.limit.is_none()
        && term.offset.is_none()
        && term.ctes.is_empty();
    plain && !set_functions && direct <= 1 && !deeper
}

/// Whether a query (or one in its FROM) reads a recursive query that is being defined.
fn names_recursion(query: &Query) -> bool {
    query.range_table.iter().any(|r| match &r.kind {
        RteKind::Cte { self_reference, .. } => *self_reference,
        RteKind::Subquery { query, .. } => names_recursion(query),
        _ => false,
    }) || query.ctes.iter().any(|c| matches!(&c.body, CteBody::Query(q) if !c.recursive && names_recursion(q)))
        || matches!(&query.body, QueryBody::SetOperation { left, right, .. }
            if names_recursion(left) || names_recursion(right))
}

/// Whether a query gives one row at most: an aggregate without GROUP BY, no FROM, LIMIT 1, or one value row.
pub(super) fn at_most_one_row(query: &Query) -> bool {
    if query.limit.as_ref().is_some_and(|l| matches!(l.kind, ExprKind::Const(Datum::Int(0 | 1)))) {
        return true;
    }
    match &query.body {
        QueryBody::Select(s) => {
            let no_set = !s.targets.iter().any(|t| walk::contains_set_function(&t.expr));
            no_set && (s.from.is_empty() || s.grouped && s.group_by.is_empty() && s.grouping_sets.is_empty())
        }
        QueryBody::Values(rows) => rows.len() <= 1,
        QueryBody::SetOperation { .. } => false,
    }
}
