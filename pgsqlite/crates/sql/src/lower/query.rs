//! Queries: SELECT, VALUES, set operations, FROM.

use super::expr::direction;
use super::{quote, support, table_name, Lowerer, Scope};
use crate::analyze::walk;
use crate::builtins::imp::{imp, native_name, Imp};
use crate::catalog::RelationKind;
use crate::typed::{
    CteBody, Distinct, Expr, ExprKind, FromItem, JoinKind, Query, QueryBody, RangeTableEntry, RteKind, Select,
    SetOperation, SortKey, Target,
};
use pgsqlite_types::{oid, Datum, Oid, PgError, Result};

impl Lowerer<'_> {
    /// A whole query; its columns are `c1`, `c2` ….
    pub(super) fn query(&mut self, query: &Query) -> Result<String> {
        if query.with_ties {
            return Err(PgError::not_supported("FETCH … WITH TIES"));
        }
        self.scopes.push(Scope { entries: vec![], ctes: vec![] });
        let result = self.query_in_scope(query);
        self.scopes.pop();
        result
    }

    fn query_in_scope(&mut self, query: &Query) -> Result<String> {
        let with = self.with_clause(query)?;
        let mut entries = Vec::new();
        let mut from_texts = Vec::new();
        for rte in &query.range_table {
            let (text, columns) = self.entry(rte)?;
            entries.push(columns);
            from_texts.push(text);
        }
        self.scope().entries = entries;
        // FROM items that are LATERAL or functions refer to entries before them: lowered again with those in sight
        for (i, rte) in query.range_table.iter().enumerate() {
            if needs_siblings(rte) {
                let (text, columns) = self.lateral_entry(rte)?;
                from_texts[i] = text;
                self.scope().entries[i] = columns;
            }
        }
        let limit = self.limit_clause(query)?;
        let body = match &query.body {
            QueryBody::Select(select) => self.select(select, query, &from_texts, &limit)?,
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
                let values = format!("SELECT {} FROM (VALUES {})", columns.join(", "), texts.join(", "));
                self.ordered_output(values, query, &limit)?
            }
            QueryBody::SetOperation { op, all, left, right } => {
                let text = self.set_operation(*op, *all, left, right, query)?;
                self.ordered_output(text, query, &limit)?
            }
        };
        Ok(format!("{with}{body}"))
    }

    pub(super) fn scope(&mut self) -> &mut Scope {
        self.scopes.last_mut().expect("inside a query")
    }

    // --- WITH ----------------------------------------------------------------------------------------------------------

    pub(super) fn with_clause(&mut self, query: &Query) -> Result<String> {
        self.with_queries(&query.ctes)
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
            let text = if cte.recursive { self.recursive(body)? } else { self.query(body)? };
            let columns: Vec<String> = (1..=cte.columns.len()).map(|i| format!("c{i}")).collect();
            // PostgreSQL computes a WITH query once if it is used more than once or has side effects
            let hint = match cte.materialized {
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
        if !query.ctes.is_empty() {
            return Err(PgError::not_supported("WITH inside a recursive query"));
        }
        self.scopes.push(Scope { entries: vec![], ctes: vec![] });
        let result = (|| {
            if !all && query.columns.iter().any(|c| self.collation(c.ty).is_some()) {
                return Err(PgError::not_supported("WITH RECURSIVE … UNION over this type (UNION ALL works)"));
            }
            let l = self.query(left)?;
            let l = self.plain_arm(l, left);
            let r = self.query(right)?;
            Ok(format!("{l} UNION{} {r}", if *all { " ALL" } else { "" }))
        })();
        self.scopes.pop();
        result
    }

    // --- SELECT ----------------------------------------------------------------------------------------------------------

    fn select(&mut self, select: &Select, query: &Query, from: &[String], limit: &str) -> Result<String> {
        if !select.grouping_sets.is_empty() {
            return Err(PgError::not_supported("GROUPING SETS, CUBE and ROLLUP"));
        }
        // set-returning functions in the select list become FROM items
        let mut select = select.clone();
        let mut order_by = query.order_by.clone();
        let mut extra_from = String::new();
        if select.targets.iter().any(|t| walk::contains_set_function(&t.expr))
            || order_by.iter().any(|k| walk::contains_set_function(&k.expr))
        {
            extra_from = self.set_functions(&mut select, &mut order_by)?;
        }
        if let Distinct::On(on) = &select.distinct {
            let on = on.clone();
            return self.distinct_on(&select, &on, &order_by, from, &extra_from, limit);
        }
        let mut targets = Vec::new();
        for (i, target) in select.targets.iter().enumerate() {
            let text = self.target(target, &select)?;
            let collate = match self.collation(target.expr.ty) {
                Some(c) if select.distinct == Distinct::All => format!(" COLLATE {c}"),
                _ => String::new(),
            };
            targets.push(format!("{text}{collate} AS c{}", i + 1));
        }
        if targets.is_empty() {
            // SELECT without columns: a column that the plan does not know of
            targets.push("1 AS c1".into());
        }
        let distinct = if select.distinct == Distinct::All { "DISTINCT " } else { "" };
        let mut text = format!("SELECT {distinct}{}", targets.join(", "));
        text += &self.from_where(&select, from, &extra_from)?;
        text += &self.group_having(&select)?;
        if !order_by.is_empty() {
            text += &format!(" ORDER BY {}", self.order_keys(&order_by, &select)?);
        }
        Ok(text + limit)
    }

    /// A target's text; window calls get their window's definition.
    fn target(&mut self, target: &Target, select: &Select) -> Result<String> {
        self.windowed(&target.expr, select)
    }

    /// An expression that may hold window calls.
    fn windowed(&mut self, expr: &Expr, select: &Select) -> Result<String> {
        if !walk::contains_window(expr) {
            return self.record_or_value(expr);
        }
        if let ExprKind::Window { call, window } = &expr.kind {
            return self.window_call(call, &select.windows[*window], expr);
        }
        // each window call is lowered on its own and put back as a ready text
        let mut texts = Vec::new();
        let mut error = None;
        let base = self.scopes.len();
        let replaced = walk::map(expr, &mut |e| {
            if let ExprKind::Window { call, window } = &e.kind {
                match self.window_call(call, &select.windows[*window], e) {
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

    /// A whole row in the select list is a record value of its columns.
    fn record_or_value(&mut self, expr: &Expr) -> Result<String> {
        self.expr(expr)
    }

    fn order_keys(&mut self, keys: &[SortKey], select: &Select) -> Result<String> {
        let mut out = Vec::new();
        for key in keys {
            // an output column is named by its position: the same value is not computed twice
            let text = match key.target {
                Some(i) if select.targets.get(i).is_some_and(|t| t.expr == key.expr) => (i + 1).to_string(),
                _ if walk::contains_window(&key.expr) => self.windowed(&key.expr, select)?,
                _ if matches!(key.expr.kind, ExprKind::Const(_)) => continue,
                _ => self.expr(&key.expr)?,
            };
            let collate = self.collation(key.expr.ty).map_or(String::new(), |c| format!(" COLLATE {c}"));
            out.push(format!("{text}{collate}{}", direction(key)));
        }
        if out.is_empty() {
            out.push("NULL".into());
        }
        Ok(out.join(", "))
    }

    fn from_where(&mut self, select: &Select, from: &[String], extra_from: &str) -> Result<String> {
        let mut text = String::new();
        let mut items = Vec::new();
        for item in &select.from {
            items.push(self.from_item(item, from)?);
        }
        if !items.is_empty() {
            text += &format!(" FROM {}", items.join(", "));
            text += extra_from;
        } else if !extra_from.is_empty() {
            text += &format!(" FROM {}", extra_from.trim_start_matches(", "));
        }
        if let Some(filter) = &select.filter {
            text += &format!(" WHERE {}", self.expr(filter)?);
        }
        Ok(text)
    }

    fn group_having(&mut self, select: &Select) -> Result<String> {
        let mut text = String::new();
        if !select.group_by.is_empty() {
            let mut keys = Vec::new();
            for key in &select.group_by {
                let key_text = self.collated(key)?;
                // a bare number would be a column position
                keys.push(if matches!(key.kind, ExprKind::Const(_)) {
                    format!("CAST({key_text} AS TEXT)")
                } else {
                    key_text
                });
            }
            text += &format!(" GROUP BY {}", keys.join(", "));
        }
        if let Some(having) = &select.having {
            // HAVING without GROUP BY and without aggregates still makes one group
            if select.group_by.is_empty() && !select.targets.iter().any(|t| walk::contains_aggregate(&t.expr)) {
                return Err(PgError::not_supported("HAVING without GROUP BY and aggregates"));
            }
            text += &format!(" HAVING {}", self.expr(having)?);
        }
        Ok(text)
    }

    /// DISTINCT ON: the first row of each group, by a window.
    fn distinct_on(
        &mut self,
        select: &Select,
        on: &[Expr],
        order_by: &[SortKey],
        from: &[String],
        extra_from: &str,
        limit: &str,
    ) -> Result<String> {
        if select.grouped || !select.windows.is_empty() {
            return Err(PgError::not_supported("DISTINCT ON with grouping or window functions"));
        }
        let mut inner = Vec::new();
        for (i, target) in select.targets.iter().enumerate() {
            inner.push(format!("{} AS c{}", self.expr(&target.expr)?, i + 1));
        }
        let mut keys = Vec::new();
        for (i, key) in order_by.iter().enumerate() {
            inner.push(format!("{} AS k{}", self.expr(&key.expr)?, i + 1));
            let collate = self.collation(key.expr.ty).map_or(String::new(), |c| format!(" COLLATE {c}"));
            keys.push(format!("k{}{collate}{}", i + 1, direction(key)));
        }
        let mut partition = Vec::new();
        for expr in on {
            partition.push(self.collated(expr)?);
        }
        let order =
            if order_by.is_empty() { String::new() } else { format!(" ORDER BY {}", self.sort_keys(order_by)?) };
        inner.push(format!("row_number() OVER (PARTITION BY {}{order}) AS rn", partition.join(", ")));
        let outer: Vec<String> = (1..=select.targets.len()).map(|i| format!("c{i}")).collect();
        let body = format!("SELECT {}{}", inner.join(", "), self.from_where(select, from, extra_from)?);
        let order = if keys.is_empty() { String::new() } else { format!(" ORDER BY {}", keys.join(", ")) };
        Ok(format!("SELECT {} FROM ({body}) WHERE rn = 1{order}{limit}", outer.join(", ")))
    }

    /// Set-returning functions in the select list: one is joined LATERAL (a row per value, none for an empty set).
    /// Several would have to run in step: refused.
    fn set_functions(&mut self, select: &mut Select, order_by: &mut [SortKey]) -> Result<String> {
        if select.grouped || !select.windows.is_empty() {
            return Err(PgError::not_supported("a set-returning function in a grouped or windowed select list"));
        }
        let mut calls: Vec<Expr> = Vec::new();
        for expr in select.targets.iter().map(|t| &t.expr).chain(order_by.iter().map(|k| &k.expr)) {
            collect_set_functions(expr, &mut calls);
        }
        let [call] = &calls[..] else {
            return Err(PgError::not_supported("several set-returning functions in one select list")
                .at(calls.first().map_or(-1, |c| c.location)));
        };
        let ExprKind::SetFunc { proc, args, variadic } = &call.kind else {
            return Err(PgError::internal("set function expected"));
        };
        if call.ty == oid::RECORD {
            return Err(PgError::not_supported("a function that returns records in the select list").at(call.location));
        }
        let (text, columns) = self.table_function(*proc, args, *variadic, call, 1)?;
        let rte = self.scope().entries.len();
        self.scope().entries.push(columns);
        let swap = |e: &mut Expr| {
            *e = walk::map(e, &mut |x| {
                (x == call).then(|| Expr {
                    kind: ExprKind::Var(crate::typed::Var { levels_up: 0, rte, column: 0 }),
                    ..x.clone()
                })
            });
        };
        select.targets.iter_mut().for_each(|t| swap(&mut t.expr));
        order_by.iter_mut().for_each(|k| swap(&mut k.expr));
        if let Distinct::On(list) = &mut select.distinct {
            list.iter_mut().for_each(swap);
        }
        Ok(format!(", {text}"))
    }

    // --- FROM --------------------------------------------------------------------------------------------------------------

    /// The entries behind a modified table (FROM, USING): their texts, by index; the scope's entries are filled in.
    pub(super) fn entries_after_target(&mut self, range_table: &[RangeTableEntry]) -> Result<Vec<String>> {
        let mut texts = vec![String::new()];
        for rte in &range_table[1..] {
            let (text, columns) = if needs_siblings(rte) { self.lateral_entry(rte)? } else { self.entry(rte)? };
            self.scope().entries.push(columns);
            texts.push(text);
        }
        Ok(texts)
    }

    pub(super) fn join_item(&mut self, item: &FromItem, from: &[String]) -> Result<String> {
        self.from_item(item, from)
    }

    fn from_item(&mut self, item: &FromItem, from: &[String]) -> Result<String> {
        match item {
            FromItem::Entry(i) => Ok(from[*i].clone()),
            FromItem::Join { kind, left, right, on, .. } => {
                let l = self.from_item(left, from)?;
                let r = self.from_item(right, from)?;
                let r = if matches!(**right, FromItem::Join { .. }) { format!("({r})") } else { r };
                let word = match kind {
                    JoinKind::Inner => "JOIN",
                    JoinKind::Left => "LEFT JOIN",
                    JoinKind::Right => "RIGHT JOIN",
                    JoinKind::Full => "FULL JOIN",
                    JoinKind::Cross => "CROSS JOIN",
                };
                Ok(match on {
                    Some(on) => format!("{l} {word} {r} ON {}", self.expr(on)?),
                    None => format!("{l} {word} {r}"),
                })
            }
        }
    }

    /// A range table entry: its text in FROM and the texts of its columns.
    fn entry(&mut self, rte: &RangeTableEntry) -> Result<(String, Vec<String>)> {
        let alias = self.unique("t");
        match &rte.kind {
            RteKind::Relation(relation) => {
                self.uses_catalog = true;
                if let RelationKind::Sequence(_) = relation.kind {
                    return Err(PgError::not_supported("SELECT from a sequence"));
                }
                let columns = relation
                    .live_columns()
                    .map(|c| {
                        let reference = format!("{alias}.{}", quote(&c.name));
                        self.column_text(relation, c, reference)
                    })
                    .collect();
                Ok((format!("{} AS {alias}", table_name(relation)), columns))
            }
            RteKind::Subquery { query, lateral } => {
                let columns = (1..=rte.columns.len()).map(|i| format!("{alias}.c{i}")).collect();
                if *lateral {
                    // lowered by lateral_entry, when its siblings are known
                    return Ok((String::new(), columns));
                }
                let text = self.query(query)?;
                Ok((format!("({text}) AS {alias}"), columns))
            }
            RteKind::Cte { levels_up, index, .. } => {
                let scope = self
                    .scopes
                    .len()
                    .checked_sub(1 + levels_up)
                    .ok_or_else(|| PgError::internal("a WITH query of no level"))?;
                let name = self.scopes[scope]
                    .ctes
                    .get(*index)
                    .cloned()
                    .ok_or_else(|| PgError::internal("a WITH query that is not there"))?;
                Ok((format!("{name} AS {alias}"), (1..=rte.columns.len()).map(|i| format!("{alias}.c{i}")).collect()))
            }
            RteKind::Function { .. } => Ok((String::new(), vec![])),
            RteKind::Values { .. } | RteKind::Join { .. } => Err(PgError::internal("this entry is not lowered")),
        }
    }

    fn lateral_entry(&mut self, rte: &RangeTableEntry) -> Result<(String, Vec<String>)> {
        match &rte.kind {
            RteKind::Function { functions, ordinality, .. } => {
                let [function] = &functions[..] else {
                    return Err(PgError::not_supported("ROWS FROM and several functions side by side"));
                };
                let (text, mut columns) = match &function.call.kind {
                    ExprKind::SetFunc { proc, args, variadic } => {
                        self.table_function(*proc, args, *variadic, &function.call, function.width)?
                    }
                    _ => {
                        // a plain function: one row
                        if function.width != 1 {
                            return Err(PgError::not_supported("this function in FROM").at(function.call.location));
                        }
                        if function.call.ty == oid::BYTEA {
                            return Err(PgError::not_supported("a function that returns bytea in FROM")
                                .at(function.call.location));
                        }
                        let alias = self.unique("t");
                        let value = self.expr(&function.call)?;
                        (format!("json_each(json_array({value})) AS {alias}"), vec![format!("{alias}.value")])
                    }
                };
                if *ordinality {
                    let alias =
                        columns[0].split('.').next().unwrap_or("").trim_start_matches("json_extract(").to_string();
                    columns.push(format!("({alias}.key + 1)"));
                }
                Ok((text, columns))
            }
            RteKind::Subquery { query, lateral: true } => {
                if let Some(c) = query.columns.iter().find(|c| c.ty == oid::BYTEA) {
                    return Err(PgError::not_supported(format!("LATERAL over a bytea column (\"{}\")", c.name)));
                }
                let alias = self.unique("t");
                let text = self.query(query)?;
                let row: Vec<String> = (1..=query.columns.len()).map(|i| format!("c{i}")).collect();
                let columns =
                    (0..query.columns.len()).map(|i| format!("json_extract({alias}.value, '$[{i}]')")).collect();
                Ok((
                    format!(
                        "json_each((SELECT json_group_array(json_array({})) FROM ({text}))) AS {alias}",
                        row.join(", ")
                    ),
                    columns,
                ))
            }
            _ => Err(PgError::internal("not a lateral entry")),
        }
    }

    /// A set-returning function as a table: json_each over the array of its rows.
    fn table_function(
        &mut self,
        proc: Oid,
        args: &[Expr],
        variadic: bool,
        call: &Expr,
        width: usize,
    ) -> Result<(String, Vec<String>)> {
        let Some(Imp::NativeSet { typed }) = imp(proc) else {
            return Err(
                PgError::not_supported(format!("set-returning function {}", native_name(proc))).at(call.location)
            );
        };
        let mut texts = Vec::new();
        if typed {
            let types: Vec<String> = args.iter().map(|a| a.ty.to_string()).collect();
            texts.push(format!("'{}{}>{}'", if variadic { "v" } else { "" }, types.join(","), call.ty));
        }
        texts.extend(self.exprs(args)?);
        let alias = self.unique("t");
        let columns = if width == 1 {
            vec![format!("{alias}.value")]
        } else {
            (0..width).map(|i| format!("json_extract({alias}.value, '$[{i}]')")).collect()
        };
        Ok((format!("json_each({}({})) AS {alias}", native_name(proc), texts.join(", ")), columns))
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
            let collate = self.collation(c.ty).map_or(String::new(), |c| format!(" COLLATE {c}"));
            columns.push(format!("c{0}{collate} AS c{0}", i + 1));
        }
        if !all {
            let arm = |text: &str| format!("SELECT {} FROM ({text})", columns.join(", "));
            return Ok(format!("{} {word} {}", arm(&l), arm(&r)));
        }
        // INTERSECT ALL, EXCEPT ALL: the n-th copy of a row on one side matches the n-th on the other
        let partition: Vec<String> = query
            .columns
            .iter()
            .enumerate()
            .map(|(i, c)| {
                format!("c{}{}", i + 1, self.collation(c.ty).map_or(String::new(), |c| format!(" COLLATE {c}")))
            })
            .collect();
        let arm = |text: &str| {
            format!(
                "SELECT {}, row_number() OVER (PARTITION BY {}) AS rn FROM ({text})",
                columns.join(", "),
                partition.join(", ")
            )
        };
        let plain: Vec<String> = (1..=query.columns.len()).map(|i| format!("c{i}")).collect();
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
        if simple && union_all {
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
            let collate = self.collation(query.columns[column].ty).map_or(String::new(), |c| format!(" COLLATE {c}"));
            keys.push(format!("c{}{collate}{}", column + 1, direction(key)));
        }
        let order = if keys.is_empty() { String::new() } else { format!(" ORDER BY {}", keys.join(", ")) };
        Ok(format!("SELECT * FROM ({text}){order}{limit}"))
    }

    fn limit_clause(&mut self, query: &Query) -> Result<String> {
        let mut bound = |expr: &Expr, is_offset: bool| -> Result<String> {
            Ok(match &expr.kind {
                ExprKind::Const(Datum::Int(n)) if *n >= 0 => n.to_string(),
                _ => format!("{}({}, {})", support::LIMIT, self.expr(expr)?, is_offset as i32),
            })
        };
        let limit = match &query.limit {
            Some(limit) => bound(limit, false)?,
            None if query.offset.is_some() => "-1".into(),
            None => return Ok(String::new()),
        };
        Ok(match &query.offset {
            Some(offset) => format!(" LIMIT {limit} OFFSET {}", bound(offset, true)?),
            None => format!(" LIMIT {limit}"),
        })
    }
}

/// Entries whose text depends on the entries before them.
fn needs_siblings(rte: &RangeTableEntry) -> bool {
    matches!(&rte.kind, RteKind::Function { .. } | RteKind::Subquery { lateral: true, .. })
}

fn collect_set_functions(expr: &Expr, out: &mut Vec<Expr>) {
    if matches!(expr.kind, ExprKind::SetFunc { .. }) {
        if !out.contains(expr) {
            out.push(expr.clone());
        }
        return;
    }
    let mut children = Vec::new();
    walk::children(expr, &mut |e| children.push(e), &mut |_| {});
    children.into_iter().for_each(|e| collect_set_functions(e, out));
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
