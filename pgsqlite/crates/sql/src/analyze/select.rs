//! Queries: SELECT, VALUES, set operations.

use super::from::plain_column;
use super::typename::name_parts;
use super::{Analyzer, Clause, Level};
use crate::catalog::RelationKind;
use crate::parse::{ast, NodeEnum};
use crate::typed::{
    Distinct, Expr, ExprKind, GroupingClause, Query, QueryBody, RowMark, RteColumn, RteKind, Select, SortKey, Target,
};
use pgsqlite_types::{oid, Datum, Oid, PgError, Result, SqlState};

/// The most columns that a row may have while it is computed: PostgreSQL's MaxTupleAttributeNumber.
pub(super) const MOST_ENTRIES: usize = 1664;

/// Refuses a query that computes too many columns for each row: those that it returns, and what it groups and sorts by besides.
fn check_entries(query: &Query) -> Result<()> {
    let mut entries = query.columns.len() + query.order_by.iter().filter(|key| key.target.is_none()).count();
    if let QueryBody::Select(s) = &query.body {
        for key in &s.group_by {
            if entries > MOST_ENTRIES {
                break;
            }
            pgsqlite_types::work::tick(16)?;
            entries += usize::from(!s.targets.iter().any(|t| t.expr == *key));
        }
    }
    if entries > MOST_ENTRIES {
        let message = format!("target lists can have at most {MOST_ENTRIES} entries");
        return Err(PgError::new(SqlState::TOO_MANY_COLUMNS, message));
    }
    Ok(())
}

impl Analyzer<'_> {
    /// A whole statement's query.
    pub(crate) fn top_query(&mut self, select: &ast::SelectStmt) -> Result<Query> {
        let mut query = self.query(select)?;
        self.resolve_unknown_columns(&mut query)?;
        Ok(query)
    }

    /// A query inside an expression.
    pub(crate) fn sub_query(&mut self, node: &ast::Node) -> Result<Query> {
        let Some(NodeEnum::SelectStmt(select)) = &node.node else { return Err(PgError::internal("SELECT expected")) };
        self.query(select)
    }

    /// Any query, in a level of its own.
    pub(crate) fn query(&mut self, select: &ast::SelectStmt) -> Result<Query> {
        pgsqlite_types::work::tick(256)?;
        if let Some(into) = &select.into_clause {
            return Err(into_not_allowed(into));
        }
        self.levels.push(Level::new());
        let result = self.query_in_level(select);
        let level = self.levels.pop().expect("pushed above");
        let mut query = result?;
        query.ctes = level.ctes;
        query.range_table = level.range_table;
        if !self.storing {
            self.note_row_locks(&mut query, select)?;
        }
        self.check_query_columns(&query, &level.column_checks)?;
        self.assign_query_collations(&mut query)?;
        check_entries(&query)?;
        Ok(query)
    }

    fn query_in_level(&mut self, select: &ast::SelectStmt) -> Result<Query> {
        if std::mem::take(&mut self.locks_next) {
            self.level().locked.push(Vec::new());
        }
        for node in &select.locking_clause {
            let Some(NodeEnum::LockingClause(lock)) = &node.node else { continue };
            let names = lock.locked_rels.iter().filter_map(|r| match &r.node {
                Some(NodeEnum::RangeVar(r)) => Some(r.relname.clone()),
                _ => None,
            });
            self.level().locked.push(names.collect());
        }
        if let Some(with) = &select.with_clause {
            self.with_clause(with)?;
        }
        let op = ast::SetOperation::try_from(select.op).map_err(|_| PgError::internal("unknown set operation"))?;
        let mut query = match op {
            ast::SetOperation::SetopNone | ast::SetOperation::Undefined if !select.values_lists.is_empty() => {
                self.values(select)?
            }
            ast::SetOperation::SetopNone | ast::SetOperation::Undefined => self.simple_select(select)?,
            _ => self.set_operation(select, op)?,
        };
        (query.limit, query.offset) = self.limits(select)?;
        query.with_ties = select.limit_option == ast::LimitOption::WithTies as i32 && select.limit_count.is_some();
        if query.with_ties && query.order_by.is_empty() {
            return Err(PgError::new(SqlState::SYNTAX_ERROR, "WITH TIES cannot be specified without ORDER BY clause"));
        }
        for node in &select.locking_clause {
            let Some(NodeEnum::LockingClause(lock)) = &node.node else {
                return Err(PgError::internal("locking clause expected"));
            };
            let (strength, _) = super::row_locks::strength(lock);
            super::row_locks::check_lockable(&query, strength)?;
            for relation in &lock.locked_rels {
                let Some(NodeEnum::RangeVar(r)) = &relation.node else { continue };
                if !self.level().range_table.iter().any(|e| e.is_named(&r.relname)) {
                    return Err(PgError::new(
                        SqlState::UNDEFINED_TABLE,
                        format!("relation \"{}\" in {strength} clause not found in FROM clause", r.relname),
                    )
                    .at(r.location));
                }
            }
            let named: Vec<&str> = lock
                .locked_rels
                .iter()
                .filter_map(|r| match &r.node {
                    Some(NodeEnum::RangeVar(r)) => Some(r.relname.as_str()),
                    _ => None,
                })
                .collect();
            for entry in &self.level().range_table {
                let RteKind::Relation(relation) = &entry.kind else { continue };
                let kind = match relation.kind {
                    RelationKind::MaterializedView { .. } => "materialized view",
                    RelationKind::Sequence(_) => "sequence",
                    _ => continue,
                };
                if named.is_empty() || named.contains(&entry.alias.as_str()) {
                    return Err(PgError::new(
                        SqlState::WRONG_OBJECT_TYPE,
                        format!("cannot lock rows in {kind} \"{}\"", relation.name),
                    ));
                }
            }
            if self.storing {
                let wait = match ast::LockWaitPolicy::try_from(lock.wait_policy) {
                    Ok(ast::LockWaitPolicy::LockWaitSkip) => " SKIP LOCKED",
                    Ok(ast::LockWaitPolicy::LockWaitError) => " NOWAIT",
                    _ => "",
                };
                for (rte, entry) in self.level().range_table.iter().enumerate() {
                    let lockable = matches!(entry.kind, RteKind::Relation(_) | RteKind::Subquery { .. });
                    let marked = query.row_marks.iter().any(|m| m.rte == rte);
                    if lockable && !marked && (named.is_empty() || named.iter().any(|n| entry.is_named(n))) {
                        query.row_marks.push(RowMark { strength, rte, wait });
                    }
                }
            }
            query.locks_rows = true;
        }
        Ok(query)
    }

    // --- SELECT ------------------------------------------------------------------------------------------------------

    fn simple_select(&mut self, select: &ast::SelectStmt) -> Result<Query> {
        let from = self.from_clause(&select.from_clause)?;
        // named windows first: OVER w refers to them
        for node in &select.window_clause {
            let Some(NodeEnum::WindowDef(def)) = &node.node else { return Err(PgError::internal("window expected")) };
            if self.level().windows.iter().any(|w| w.name.as_deref() == Some(&def.name)) {
                return Err(PgError::new(
                    SqlState::WINDOWING_ERROR,
                    format!("window \"{}\" is already defined", def.name),
                )
                .at(def.location));
            }
            let mut window = self.window_definition(def)?;
            window.name = Some(def.name.clone());
            self.level().windows.push(window);
        }
        self.level().clause = Clause::SelectTarget;
        let mut targets = self.target_list(&select.target_list)?;
        // (of two errors PostgreSQL reports that of the select list)
        let filter = match &select.where_clause {
            Some(node) => {
                let filter = self.in_clause(Clause::Where, |a| a.expr(node))?;
                Some(self.coerce_boolean(filter, "WHERE")?)
            }
            None => None,
        };
        let (group_by, elements, mut grouping_sets) = self.group_clause(&select.group_clause, &mut targets)?;
        if select.group_distinct {
            // GROUP BY DISTINCT: sets of the same keys count once
            let mut seen: Vec<Vec<usize>> = Vec::new();
            grouping_sets.retain(|set| {
                let mut sorted = set.clone();
                sorted.sort_unstable();
                sorted.dedup();
                let new = !seen.contains(&sorted);
                seen.push(sorted);
                new
            });
        }
        let having = match &select.having_clause {
            Some(node) => {
                let having = self.in_clause(Clause::Having, |a| a.expr(node))?;
                Some(self.coerce_boolean(having, "HAVING")?)
            }
            None => None,
        };
        let mut order_by = self.order_clause(&select.sort_clause, &mut targets)?;
        let distinct = self.distinct_clause(&select.distinct_clause, &mut targets, &order_by)?;
        if distinct == Distinct::All {
            if let Some(key) = order_by.iter().find(|k| k.target.is_none()) {
                return Err(PgError::new(
                    SqlState::INVALID_COLUMN_REFERENCE,
                    "for SELECT DISTINCT, ORDER BY expressions must appear in select list",
                )
                .at(key.expr.location));
            }
        }
        let grouped = !select.group_clause.is_empty() || having.is_some() || self.level().has_aggregates;
        let windows = std::mem::take(&mut self.level().windows);
        // literals nothing typed stay unknown in the targets until the use of the query is known
        let columns = targets.iter().map(target_column).collect();
        let mut body = Select {
            from,
            targets,
            filter,
            group_by,
            grouping_sets,
            grouping_clause: (!elements.is_empty())
                .then(|| Box::new(GroupingClause { distinct: select.group_distinct, elements })),
            grouped,
            having,
            windows,
            distinct,
        };
        if body.grouped || self.level().pending_grouping {
            self.check_grouping(&mut body, &mut order_by)?;
        }
        Ok(Query { order_by, ..Query::new(QueryBody::Select(body), columns) })
    }

    /// The select list (also RETURNING's).
    pub(crate) fn target_list(&mut self, nodes: &[ast::Node]) -> Result<Vec<Target>> {
        let mut targets = Vec::new();
        for node in nodes {
            let Some(NodeEnum::ResTarget(target)) = &node.node else {
                return Err(PgError::internal("ResTarget expected"));
            };
            let value = target.val.as_deref().ok_or_else(|| PgError::internal("a target without an expression"))?;
            if let Some(NodeEnum::ColumnRef(c)) = &value.node {
                if c.fields.last().is_some_and(|f| matches!(f.node, Some(NodeEnum::AStar(_)))) {
                    for (name, expr) in self.expand_star(c)? {
                        let origin = self.origin(&expr);
                        targets.push(Target { expr, name, origin });
                    }
                    continue;
                }
            }
            if let Some(NodeEnum::AIndirection(i)) = &value.node {
                if i.indirection.last().is_some_and(|f| matches!(f.node, Some(NodeEnum::AStar(_)))) {
                    targets.extend(self.expand_composite(i)?);
                    continue;
                }
            }
            let expr = self.expr(value)?;
            let name = if target.name.is_empty() { column_name(value) } else { target.name.clone() };
            let origin = self.origin(&expr);
            targets.push(Target { expr, name, origin });
        }
        Ok(targets)
    }

    /// `(composite).*`: a column per field.
    fn expand_composite(&mut self, i: &ast::AIndirection) -> Result<Vec<Target>> {
        let inner = &i.indirection[..i.indirection.len() - 1];
        let arg = if inner.is_empty() {
            self.expr_opt(i.arg.as_deref())?
        } else {
            let node = ast::AIndirection { indirection: inner.to_vec(), ..i.clone() };
            self.expr(&ast::Node { node: Some(NodeEnum::AIndirection(Box::new(node))) })?
        };
        if let ExprKind::WholeRow { levels_up, rte, .. } = arg.kind {
            let fields = self.whole_row_fields(levels_up, rte, arg.location);
            let names: Vec<String> = self.levels[self.levels.len() - 1 - levels_up].range_table[rte]
                .columns
                .iter()
                .map(|c| c.name.clone())
                .collect();
            return Ok(fields
                .into_iter()
                .zip(names)
                .map(|(expr, name)| {
                    let origin = self.origin(&expr);
                    Target { expr, name, origin }
                })
                .collect());
        }
        if !self.is_row_type(arg.ty) {
            return Err(PgError::new(
                SqlState::WRONG_OBJECT_TYPE,
                format!("type {} is not composite", self.type_display(arg.ty)),
            )
            .at(arg.location));
        }
        if matches!(arg.kind, ExprKind::Row(_)) {
            // (a row that was made one of a composite type has its names)
            let names = self.record_fields(&arg)?.into_iter().map(|(name, ..)| name);
            let ExprKind::Row(fields) = arg.kind else { return Err(PgError::internal("a row expected")) };
            return Ok(fields
                .into_iter()
                .zip(names)
                .map(|(expr, name)| Target { expr, name, origin: (0, 0) })
                .collect());
        }
        let location = arg.location;
        let fields = self.record_fields(&arg)?;
        Ok(fields
            .into_iter()
            .enumerate()
            .map(|(index, (name, ty, typmod))| {
                let kind = ExprKind::Field { arg: Box::new(arg.clone()), index, name: name.clone() };
                Target { expr: Expr::new(kind, ty, location).with_typmod(typmod), name, origin: (0, 0) }
            })
            .collect())
    }

    /// The table column a plain variable comes from.
    pub(crate) fn origin(&self, expr: &Expr) -> (Oid, i16) {
        match &expr.kind {
            ExprKind::Var(v) => self
                .levels
                .len()
                .checked_sub(1 + v.levels_up)
                .and_then(|i| self.levels[i].range_table.get(v.rte))
                .and_then(|r| r.columns.get(v.column))
                .map_or((0, 0), |c| c.origin),
            _ => (0, 0),
        }
    }

    /// A GROUP BY or ORDER BY item as PostgreSQL reads it: a bare name of an output column, a position, or an expression.
    /// `sql92`: ORDER BY prefers output names, GROUP BY input columns.
    pub(super) fn list_item(
        &mut self,
        node: &ast::Node,
        targets: &mut [Target],
        clause: Clause,
    ) -> Result<(Expr, Option<usize>)> {
        if let Some(NodeEnum::ColumnRef(c)) = &node.node {
            if let [name] = name_parts(&c.fields)[..] {
                if c.fields.len() == 1 {
                    let input_first = clause == Clause::GroupBy;
                    let is_input = input_first && self.has_column(name);
                    if !is_input {
                        let mut found: Option<usize> = None;
                        for (i, target) in targets.iter().enumerate().filter(|(_, t)| t.name == name) {
                            match found {
                                Some(j) if targets[j].expr != target.expr => {
                                    return Err(PgError::new(
                                        SqlState::AMBIGUOUS_COLUMN,
                                        format!("{} \"{name}\" is ambiguous", clause.name()),
                                    )
                                    .at(c.location));
                                }
                                Some(_) => {}
                                None => found = Some(i),
                            }
                        }
                        if let Some(i) = found {
                            let target = &mut targets[i];
                            if target.expr.ty == oid::UNKNOWN {
                                target.expr = self.resolve_unknown(target.expr.clone())?;
                            }
                            return Ok((targets[i].expr.clone(), Some(i)));
                        }
                    }
                }
            }
        }
        if let Some(NodeEnum::AConst(c)) = &node.node {
            let position = match &c.val {
                Some(ast::a_const::Val::Ival(i)) => i.ival,
                _ => {
                    return Err(PgError::new(
                        SqlState::SYNTAX_ERROR,
                        format!("non-integer constant in {}", clause.name()),
                    )
                    .at(c.location))
                }
            };
            let index = usize::try_from(position).ok().filter(|&p| p >= 1 && p <= targets.len()).ok_or_else(|| {
                PgError::new(
                    SqlState::INVALID_COLUMN_REFERENCE,
                    format!("{} position {position} is not in select list", clause.name()),
                )
                .at(c.location)
            })? - 1;
            let target = targets[index].expr.clone();
            let expr = self.resolve_unknown(target)?;
            targets[index].expr = expr.clone();
            return Ok((expr, Some(index)));
        }
        let expr = self.in_clause(clause, |a| a.expr(node))?;
        let expr = self.resolve_unknown(expr)?;
        let index = targets.iter().position(|t| t.expr == expr);
        Ok((expr, index))
    }

    fn has_column(&self, name: &str) -> bool {
        self.levels
            .last()
            .expect("inside a level")
            .namespace
            .iter()
            .any(|i| i.columns_visible && i.columns.iter().any(|(n, _)| n == name))
    }

    fn order_clause(&mut self, nodes: &[ast::Node], targets: &mut [Target]) -> Result<Vec<SortKey>> {
        let mut keys = Vec::new();
        for node in nodes {
            let Some(NodeEnum::SortBy(sort)) = &node.node else { return Err(PgError::internal("SortBy expected")) };
            let inner = sort.node.as_deref().ok_or_else(|| PgError::internal("ORDER BY without expression"))?;
            let (expr, target) = self.list_item(inner, targets, Clause::OrderBy)?;
            let key = self.sort_key(expr, sort, target)?;
            // what is sorted by already does not sort once more
            if !keys.iter().any(|k: &SortKey| k.expr == key.expr) {
                keys.push(key);
            }
        }
        Ok(keys)
    }

    fn distinct_clause(
        &mut self,
        nodes: &[ast::Node],
        targets: &mut [Target],
        order_by: &[SortKey],
    ) -> Result<Distinct> {
        match nodes {
            [] => Ok(Distinct::No),
            [ast::Node { node: None }] => {
                for target in targets.iter_mut() {
                    target.expr = self.resolve_unknown(target.expr.clone())?;
                    self.check_comparable(target.expr.ty, target.expr.location)?;
                }
                Ok(Distinct::All)
            }
            list => {
                let mut exprs = Vec::new();
                let mut locations = Vec::new();
                for node in list {
                    let (expr, _) = self.list_item(node, targets, Clause::SelectTarget).map_err(|mut e| {
                        // the clause is DISTINCT ON in these messages
                        let message = e
                            .message()
                            .replace("SELECT position", "SELECT DISTINCT ON position")
                            .replace("constant in SELECT", "constant in DISTINCT ON");
                        e.fields_mut().message = message;
                        e
                    })?;
                    if !exprs.contains(&expr) {
                        locations.push(match &node.node {
                            Some(NodeEnum::ColumnRef(c)) => c.location,
                            Some(NodeEnum::AConst(c)) => c.location,
                            _ => expr.location,
                        });
                        exprs.push(expr);
                    }
                }
                let mut seen_other = false;
                for (i, key) in order_by.iter().enumerate() {
                    let on = exprs.iter().position(|e| *e == key.expr);
                    if let (Some(on), true) = (on, seen_other) {
                        return Err(distinct_on_mismatch(locations[on]));
                    }
                    if on.is_none() {
                        if i < exprs.len() {
                            let missing = exprs.iter().position(|e| !order_by.iter().any(|k| k.expr == *e));
                            return Err(distinct_on_mismatch(locations[missing.unwrap_or(0)]));
                        }
                        seen_other = true;
                    }
                }
                // PostgreSQL calls them after the sort if that needs none of them: then a row that stays gives several
                let calls = crate::walk::contains_set_function;
                let late = targets.iter().find(|t| calls(&t.expr));
                if let Some(late) = late.filter(|_| !order_by.is_empty() && !order_by.iter().any(|k| calls(&k.expr))) {
                    return Err(PgError::not_supported(
                        "DISTINCT ON beside a set-returning function that ORDER BY does not name",
                    )
                    .at(late.expr.location));
                }
                Ok(Distinct::On(exprs))
            }
        }
    }

    fn limits(&mut self, select: &ast::SelectStmt) -> Result<(Option<Box<Expr>>, Option<Box<Expr>>)> {
        let mut one = |node: &Option<Box<ast::Node>>, clause: Clause| -> Result<Option<Box<Expr>>> {
            let Some(node) = node else { return Ok(None) };
            let expr = self.in_clause(clause, |a| {
                // LIMIT sees no columns of this query
                let saved = std::mem::take(&mut a.level().namespace);
                let result = a.expr(node);
                a.level().namespace = saved;
                result
            });
            let expr = expr.map_err(|e| {
                if e.code() == SqlState::UNDEFINED_COLUMN || e.code() == SqlState::UNDEFINED_TABLE {
                    let location = e.fields().location.map_or(-1, |l| l as i32);
                    return PgError::new(
                        SqlState::INVALID_COLUMN_REFERENCE,
                        format!("argument of {} must not contain variables", clause.name()),
                    )
                    .at(location);
                }
                e
            })?;
            let ties = select.limit_option == ast::LimitOption::WithTies as i32;
            if matches!(expr.kind, ExprKind::Const(Datum::Null)) {
                if ties && clause == Clause::Limit {
                    return Err(PgError::new(
                        SqlState::INVALID_ROW_COUNT_IN_LIMIT_CLAUSE,
                        "row count cannot be null in FETCH FIRST ... WITH TIES clause",
                    ));
                }
                return Ok(None);
            }
            Ok(Some(Box::new(self.coerce_to_bigint(expr, clause.name())?)))
        };
        let offset = one(&select.limit_offset, Clause::Offset)?;
        let limit = one(&select.limit_count, Clause::Limit)?;
        Ok((limit, offset))
    }

    // --- VALUES ------------------------------------------------------------------------------------------------------

    fn values(&mut self, select: &ast::SelectStmt) -> Result<Query> {
        let mut rows = self.value_rows(&select.values_lists)?;
        if let Some(default) = rows.iter().flatten().find(|value| matches!(value.kind, ExprKind::Default)) {
            return Err(super::expr::default_is_not_allowed(default.location));
        }
        let width = rows[0].len();
        let mut columns = Vec::with_capacity(width);
        for i in 0..width {
            let column: Vec<&Expr> = rows.iter().map(|r| &r[i]).collect();
            let all_unknown = column.iter().all(|e| e.ty == oid::UNKNOWN);
            let ty = if all_unknown { oid::TEXT } else { self.common_type(&column, "VALUES")? };
            let typmod = column[0].typmod;
            let typmod = if column.iter().all(|e| e.ty == ty && e.typmod == typmod) { typmod } else { -1 };
            for row in &mut rows {
                let expr = std::mem::replace(&mut row[i], Expr::new(ExprKind::Default, 0, -1));
                row[i] = self.coerce_to_common(expr, ty, "VALUES")?;
            }
            columns.push(plain_column(&format!("column{}", i + 1), ty, typmod));
        }
        let mut targets: Vec<Target> = columns
            .iter()
            .map(|c| Target { expr: Expr::new(ExprKind::Default, c.ty, -1), name: c.name.clone(), origin: (0, 0) })
            .collect();
        let order_by = self.output_order(&select.sort_clause, &mut targets, "VALUES")?;
        Ok(Query { order_by, ..Query::new(QueryBody::Values(rows), columns) })
    }

    /// Rows of expressions of one width.
    pub(crate) fn value_rows(&mut self, lists: &[ast::Node]) -> Result<Vec<Vec<Expr>>> {
        let mut rows: Vec<Vec<Expr>> = Vec::with_capacity(lists.len());
        for list in lists {
            let Some(NodeEnum::List(list)) = &list.node else { return Err(PgError::internal("VALUES row expected")) };
            let mut row = Vec::new();
            for node in &list.items {
                match &node.node {
                    Some(NodeEnum::ColumnRef(c))
                        if c.fields.last().is_some_and(|f| matches!(f.node, Some(NodeEnum::AStar(_)))) =>
                    {
                        row.extend(self.expand_star(c)?.into_iter().map(|(_, e)| e));
                    }
                    _ => row.push(self.in_clause(Clause::Values, |a| a.expr_or_default(node))?),
                }
            }
            if rows.first().is_some_and(|first| first.len() != row.len()) {
                let location = row.first().map_or(-1, |e| e.location);
                return Err(
                    PgError::new(SqlState::SYNTAX_ERROR, "VALUES lists must all be the same length").at(location)
                );
            }
            rows.push(row);
        }
        Ok(rows)
    }

    // --- set operations ----------------------------------------------------------------------------------------------

    // --- the columns of a query ----------------------------------------------------------------------------------------
}

fn target_column(target: &Target) -> RteColumn {
    RteColumn {
        name: target.name.clone(),
        ty: target.expr.ty,
        typmod: target.expr.typmod,
        attnum: 0,
        origin: target.origin,
        collation: target.expr.collation,
    }
}

/// A query's column as an expression, for common types and error positions.
pub(super) fn column_expr(query: &Query, i: usize) -> Expr {
    let c = &query.columns[i];
    let (location, constant) = match &query.body {
        QueryBody::Select(s) => (s.targets[i].expr.location, matches!(s.targets[i].expr.kind, ExprKind::Const(_))),
        QueryBody::Values(rows) => (rows[0][i].location, false),
        QueryBody::SetOperation { left, .. } => return Expr { ty: c.ty, typmod: c.typmod, ..column_expr(left, i) },
    };
    let _ = constant;
    Expr { kind: ExprKind::Default, ty: c.ty, typmod: c.typmod, collation: 0, location }
}

pub(super) fn first_location(query: &Query) -> i32 {
    if query.columns.is_empty() {
        -1
    } else {
        column_expr(query, 0).location
    }
}

fn distinct_on_mismatch(location: i32) -> PgError {
    PgError::new(
        SqlState::INVALID_COLUMN_REFERENCE,
        "SELECT DISTINCT ON expressions must match initial ORDER BY expressions",
    )
    .at(location)
}

/// The name of an unnamed output column (FigureColname of PostgreSQL: manual 7.3.2).
pub fn column_name(node: &ast::Node) -> String {
    name_of(node).map_or_else(|| "?column?".to_string(), |(n, _)| n)
}

/// (name, strength): a cast's type name is weak, anything else strong.
fn name_of(node: &ast::Node) -> Option<(String, bool)> {
    match node.node.as_ref()? {
        NodeEnum::ColumnRef(c) => name_parts(&c.fields).last().map(|s| (s.to_string(), true)),
        NodeEnum::AIndirection(i) => {
            let field = i.indirection.iter().rev().find_map(|n| match &n.node {
                Some(NodeEnum::String(s)) => Some(s.sval.clone()),
                _ => None,
            });
            field.map(|f| (f, true)).or_else(|| name_of(i.arg.as_deref()?))
        }
        NodeEnum::FuncCall(f) => name_parts(&f.funcname).last().map(|s| (s.to_string(), true)),
        NodeEnum::AExpr(e) if e.kind == ast::AExprKind::AexprNullif as i32 => Some(("nullif".into(), true)),
        NodeEnum::TypeCast(c) => {
            if let Some((name, true)) = c.arg.as_deref().and_then(name_of) {
                return Some((name, true));
            }
            let name = c.type_name.as_ref().and_then(|t| name_parts(&t.names).last().map(|s| s.to_string()))?;
            Some((name, false))
        }
        NodeEnum::CollateClause(c) => name_of(c.arg.as_deref()?),
        NodeEnum::GroupingFunc(_) => Some(("grouping".into(), true)),
        NodeEnum::SubLink(s) => match ast::SubLinkType::try_from(s.sub_link_type).ok()? {
            ast::SubLinkType::ExistsSublink => Some(("exists".into(), true)),
            ast::SubLinkType::ArraySublink => Some(("array".into(), true)),
            ast::SubLinkType::ExprSublink => {
                let Some(NodeEnum::SelectStmt(select)) = s.subselect.as_ref()?.node.as_ref() else { return None };
                let mut select: &ast::SelectStmt = select;
                while let Some(left) = &select.larg {
                    select = left;
                }
                if !select.values_lists.is_empty() {
                    return Some(("column1".into(), true));
                }
                let Some(NodeEnum::ResTarget(target)) = select.target_list.first()?.node.as_ref() else { return None };
                if !target.name.is_empty() {
                    return Some((target.name.clone(), true));
                }
                // (whatever the sub-query calls its column, also `?column?`)
                Some((column_name(target.val.as_deref()?), true))
            }
            _ => None,
        },
        NodeEnum::CaseExpr(c) => match c.defresult.as_deref().and_then(name_of) {
            Some((name, true)) => Some((name, true)),
            _ => Some(("case".into(), false)),
        },
        NodeEnum::AArrayExpr(_) => Some(("array".into(), true)),
        NodeEnum::RowExpr(_) => Some(("row".into(), true)),
        NodeEnum::CoalesceExpr(_) => Some(("coalesce".into(), true)),
        NodeEnum::MinMaxExpr(m) => {
            Some((if m.op == ast::MinMaxOp::IsGreatest as i32 { "greatest" } else { "least" }.into(), true))
        }
        NodeEnum::SqlvalueFunction(f) => Some((super::from::sql_value_name(f.op).into(), true)),
        NodeEnum::MergeSupportFunc(_) => Some(("merge_action".into(), true)),
        NodeEnum::JsonObjectConstructor(_) => Some(("json_object".into(), true)),
        NodeEnum::JsonArrayConstructor(_) | NodeEnum::JsonArrayQueryConstructor(_) => Some(("json_array".into(), true)),
        NodeEnum::JsonObjectAgg(_) => Some(("json_objectagg".into(), true)),
        NodeEnum::JsonArrayAgg(_) => Some(("json_arrayagg".into(), true)),
        NodeEnum::JsonParseExpr(_) => Some(("json".into(), true)),
        NodeEnum::JsonScalarExpr(_) => Some(("json_scalar".into(), true)),
        NodeEnum::JsonSerializeExpr(_) => Some(("json_serialize".into(), true)),
        NodeEnum::JsonFuncExpr(f) => match ast::JsonExprOp::try_from(f.op).ok()? {
            ast::JsonExprOp::JsonExistsOp => Some(("json_exists".into(), true)),
            ast::JsonExprOp::JsonQueryOp => Some(("json_query".into(), true)),
            ast::JsonExprOp::JsonValueOp => Some(("json_value".into(), true)),
            _ => None,
        },
        NodeEnum::XmlExpr(_) | NodeEnum::XmlSerialize(_) => None,
        _ => None,
    }
}

/// 42601: INTO in a query that makes no table.
pub fn into_not_allowed(into: &ast::IntoClause) -> PgError {
    let location = into.rel.as_ref().map_or(-1, |r| r.location);
    PgError::new(SqlState::SYNTAX_ERROR, "SELECT ... INTO is not allowed here").at(location)
}
