//! INSERT, UPDATE, DELETE.

use super::assignments::multiple_assignments;
use super::returning::Change;
use super::{Analyzer, Clause, Level};
use crate::acl::privilege;
use crate::catalog::{Column, Identity, PolicyCommand, Relation, RelationKind};
use crate::parse::{ast, NodeEnum};
use crate::typed::{
    Expr, ExprKind, InsertSource, Modify, ModifyAction, QueryBody, RowCheck, RowCheckOf, RteKind, Target, Var, Written,
};
use pgsqlite_types::{oid, Datum, PgError, Result, SqlState};
use std::sync::Arc;

/// A schema that may not be looked into is refused where it is written; a table at execution.
pub(super) fn schema_position(error: PgError, r: &ast::RangeVar) -> PgError {
    if error.message().starts_with("permission denied for schema") {
        return error.at(r.location);
    }
    error
}

impl Analyzer<'_> {
    /// Runs `f` in a level of its own and hands the level back.
    pub(super) fn modify_level<R>(&mut self, f: impl FnOnce(&mut Self) -> Result<R>) -> Result<(R, Level)> {
        self.levels.push(Level::new());
        let result = f(self);
        let level = self.levels.pop().expect("pushed above");
        Ok((result?, level))
    }

    /// The table a statement changes, as entry 0.
    fn target_relation(&mut self, r: &ast::RangeVar, verb: &str) -> Result<Arc<Relation>> {
        let relation = self.required_relation(r)?;
        if crate::catalog::TRANSITION_TABLES.contains(&relation.oid) {
            return Err(PgError::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                format!("relation \"{}\" cannot be the target of a modifying statement", relation.name),
            ));
        }
        let kind = match &relation.kind {
            RelationKind::Table => {
                let needed = match verb {
                    "INSERT" => privilege::INSERT,
                    "UPDATE" => privilege::UPDATE,
                    _ => privilege::DELETE,
                };
                let by_columns = match verb {
                    "INSERT" | "UPDATE" => self.check_some_columns(&relation, needed),
                    _ => self.check_privilege(&relation, needed).map(|()| false),
                };
                self.level().target_by_columns = by_columns.map_err(|e| schema_position(e, r))?;
                return Ok(relation);
            }
            RelationKind::MaterializedView { .. } => "materialized view",
            RelationKind::View { .. } => {
                let needed = match verb {
                    "INSERT" => privilege::INSERT,
                    "UPDATE" => privilege::UPDATE,
                    _ => privilege::DELETE,
                };
                self.check_privilege(&relation, needed).map_err(|e| schema_position(e, r))?;
                self.check_view_access(&relation)?;
                if let Some(event) = super::view_target::event_of(verb) {
                    // its triggers or rules do what is to be done
                    let own = relation.has_instead_of(event) || relation.is_replaced(event);
                    if own || self.kept_view == Some(relation.oid) {
                        return Ok(relation);
                    }
                    self.check_rules_of_view(&relation, event)?;
                }
                return self.view_target(&relation, verb);
            }
            RelationKind::ForeignView => {
                return Err(PgError::not_supported(format!("{verb} on a view (\"{}\")", relation.name)).at(r.location));
            }
            RelationKind::Sequence(_) => "sequence",
            RelationKind::Index(_) => "index",
            RelationKind::System => {
                return Err(PgError::new(
                    SqlState::INSUFFICIENT_PRIVILEGE,
                    format!("permission denied: \"{}\" is a system catalog", relation.name),
                )
                .at(r.location));
            }
        };
        Err(PgError::new(SqlState::WRONG_OBJECT_TYPE, format!("cannot change {kind} \"{}\"", relation.name)))
    }

    // --- INSERT ------------------------------------------------------------------------------------------------------

    pub(crate) fn insert(&mut self, stmt: &ast::InsertStmt) -> Result<Modify> {
        let (result, level) = self.modify_level(|a| a.insert_in_level(stmt))?;
        let (target, action, returning) = result;
        let mut checks = level.checks;
        checks.extend(self.partition_check(&target)?);
        checks.extend(level.view_target.map(|v| v.checks).unwrap_or_default());
        let written = Written { table: target.clone(), columns: level.written };
        let (ctes, range_table) = (level.ctes, level.range_table);
        let modify = Modify { ctes, range_table, target, action, returning, checks, written };
        self.check_modify_rights(&modify, &level.column_checks, &level.below_views, level.denied_below)?;
        Ok(modify)
    }

    /// What a partition's bound demands of the rows that are written to it directly.
    pub(super) fn partition_check(&self, target: &Relation) -> Result<Option<RowCheck>> {
        let Some(text) = crate::partition::constraint(self.env.catalog, target)? else { return Ok(None) };
        let condition = super::analyze_expression(&self.env, &text, Some(target), Some((oid::BOOL, -1)))?;
        let schema = self.env.catalog.schema_name(target.schema).to_string();
        Ok(Some(RowCheck { condition, of: RowCheckOf::Partition { schema, table: target.name.clone() } }))
    }

    /// The same of UPDATE, which may leave the columns alone that the bound is about.
    fn partition_check_of_update(&self, target: &Relation, set: &[(i16, Expr)]) -> Result<Option<RowCheck>> {
        let Some(check) = self.partition_check(target)? else { return Ok(None) };
        let used = crate::walk::columns_used(&check.condition);
        let used = used.iter().filter_map(|i| target.live_columns().nth(*i)).map(|c| c.attnum);
        let triggers = target.triggers.iter().any(|t| t.is_on() && t.row);
        let touched = triggers || used.into_iter().any(|a| set.iter().any(|(attnum, _)| *attnum == a));
        Ok(touched.then_some(check))
    }

    fn insert_in_level(&mut self, stmt: &ast::InsertStmt) -> Result<(Arc<Relation>, ModifyAction, Vec<Target>)> {
        if let Some(with) = &stmt.with_clause {
            self.with_clause(with)?;
        }
        let r = stmt.relation.as_ref().ok_or_else(|| PgError::internal("INSERT without a table"))?;
        let target = self.target_relation(r, "INSERT")?;
        let mut updates_by_columns = false;
        if stmt.on_conflict_clause.as_ref().is_some_and(|c| !c.target_list.is_empty()) {
            let named = self.named_target(&target);
            match self.level().view_target.is_some() {
                true => self.check_privilege(&named, privilege::UPDATE)?,
                false => updates_by_columns = self.check_some_columns(&named, privilege::UPDATE)?,
            }
        }
        let item = if target.is_replaced(crate::routine::Event::Insert) {
            // a view that rules replace is not read
            self.add_relation_entry(target.clone(), r.alias.as_ref(), false)?;
            self.namespace_of(0, Some((target.schema, target.name.clone())), r.alias.is_some())
        } else {
            self.target_entry(&target, r)?
        };

        // the columns named, or all
        let mut parts: Vec<&[ast::Node]> = Vec::new();
        let named: Vec<Column> = if stmt.cols.is_empty() {
            self.all_assigned_columns(&target)?
        } else {
            let mut named: Vec<Column> = Vec::new();
            for node in &stmt.cols {
                let Some(NodeEnum::ResTarget(t)) = &node.node else {
                    return Err(PgError::internal("ResTarget expected"));
                };
                let column = self.assigned_column(&target, &t.name, "INSERT", t.location)?;
                let mut earlier = named.iter().zip(&parts).filter(|(c, _)| c.attnum == column.attnum);
                // only parts of a column may come several times
                let same = |written: &ast::Node| match &written.node {
                    Some(NodeEnum::ResTarget(before)) => before.name == t.name,
                    _ => false,
                };
                let repeated = stmt.cols[..named.len()].iter().any(same);
                if repeated && earlier.any(|(_, part)| part.is_empty() || t.indirection.is_empty()) {
                    return Err(PgError::new(
                        SqlState::DUPLICATE_COLUMN,
                        format!("column \"{}\" specified more than once", t.name),
                    )
                    .at(t.location));
                }
                named.push(column.clone());
                parts.push(&t.indirection);
            }
            named
        };
        parts.resize(named.len(), &[]);
        // two columns of a view can be the same one of its table
        let valued = if stmt.select_stmt.is_some() { &named[..] } else { &[] };
        for (i, column) in valued.iter().enumerate() {
            let twice = |(c, part): (&Column, &&[ast::Node])| c.attnum == column.attnum && part.is_empty();
            if parts[i].is_empty() && named[..i].iter().zip(&parts).any(twice) {
                return Err(multiple_assignments(&column.name));
            }
        }
        let overriding_system = stmt.r#override == ast::OverridingKind::OverridingSystemValue as i32;
        let overriding_user = stmt.r#override == ast::OverridingKind::OverridingUserValue as i32;
        let implicit_columns = stmt.cols.is_empty();
        let check_width = |given: usize, location: i32, named: &[Column]| -> Result<()> {
            if given > named.len() {
                return Err(PgError::new(SqlState::SYNTAX_ERROR, "INSERT has more expressions than target columns")
                    .at(location));
            }
            if given < named.len() && !implicit_columns {
                let location = match &stmt.cols[given].node {
                    Some(NodeEnum::ResTarget(t)) => t.location,
                    _ => -1,
                };
                return Err(PgError::new(SqlState::SYNTAX_ERROR, "INSERT has more target columns than expressions")
                    .at(location));
            }
            Ok(())
        };

        // which columns get a value, in the table's order
        let mut given: Vec<Column> = Vec::new();
        let source = match stmt.select_stmt.as_deref().and_then(|n| n.node.as_ref()) {
            None => {
                // DEFAULT VALUES
                InsertSource::Values(vec![vec![]])
            }
            Some(NodeEnum::SelectStmt(select))
                if !select.values_lists.is_empty()
                    && select.sort_clause.is_empty()
                    && select.limit_count.is_none()
                    && select.limit_offset.is_none()
                    && select.with_clause.is_none() =>
            {
                let mut rows = Vec::with_capacity(select.values_lists.len());
                let raw = self.value_rows(&select.values_lists)?;
                let width = raw[0].len();
                check_width(width, raw[0].get(named.len()).map_or(-1, |e| e.location), &named)?;
                given = named[..width].to_vec();
                for row in raw {
                    let mut out = Vec::with_capacity(width);
                    for ((expr, column), part) in row.into_iter().zip(&given).zip(&parts) {
                        out.push(match part {
                            [] => self.column_value(expr, column, overriding_system, overriding_user)?,
                            _ => expr,
                        });
                    }
                    rows.push(self.merge_parts(out, &given, &parts)?);
                }
                given = without_repeats(given);
                // a generated column that is DEFAULT in all rows gets no value
                for i in (0..given.len()).rev() {
                    let default = |row: &Vec<Expr>| matches!(row[i].kind, ExprKind::Default);
                    if given[i].is_generated() && rows.iter().all(default) {
                        given.remove(i);
                        rows.iter_mut().for_each(|row| drop(row.remove(i)));
                    }
                }
                InsertSource::Values(rows)
            }
            Some(NodeEnum::SelectStmt(select)) => {
                let mut query = self.query(select)?;
                check_width(query.columns.len(), -1, &named)?;
                given = named[..query.columns.len()].to_vec();
                // literals of the select list take the columns' types
                let mut literals: Vec<(usize, Expr)> = Vec::new();
                if let QueryBody::Select(body) = &mut query.body {
                    for (i, t) in body.targets.iter_mut().enumerate() {
                        if t.expr.ty == oid::UNKNOWN && !parts[i].is_empty() {
                            // (of a part of a column: the part's)
                            literals.push((i, t.expr.clone()));
                        } else if t.expr.ty == oid::UNKNOWN {
                            let column = &given[i];
                            let expr = std::mem::replace(&mut t.expr, Expr::new(ExprKind::Default, 0, -1));
                            let name = self.name_in_target(column);
                            t.expr = self.coerce_assignment(expr, column.type_oid, column.typmod, &name)?;
                            query.columns[i].ty = t.expr.ty;
                            query.columns[i].typmod = t.expr.typmod;
                        }
                    }
                }
                self.resolve_unknown_columns(&mut query)?;
                let columns = query.columns.clone();
                let locations: Vec<i32> =
                    (0..columns.len()).map(|i| super::select::column_expr(&query, i).location).collect();
                let level = self.level();
                level.range_table.push(super::entry(
                    RteKind::Subquery { query: Box::new(query), lateral: false },
                    "*SELECT*".into(),
                    true,
                    columns.clone(),
                ));
                let entry = level.range_table.len() - 1;
                let mut values = Vec::new();
                for (i, column) in given.iter().enumerate() {
                    let value = super::var(0, entry, i, &columns[i], locations[i]);
                    if column.is_generated() || column.identity == Some(Identity::Always) && !overriding_system {
                        return Err(self.generated_always(column));
                    }
                    values.push(match parts[i] {
                        [] => {
                            let name = self.name_in_target(column);
                            self.coerce_assignment(value, column.type_oid, column.typmod, &name)?
                        }
                        _ => match literals.iter().find(|(at, _)| *at == i) {
                            Some((_, literal)) => literal.clone(),
                            None => value,
                        },
                    });
                }
                let values = self.merge_parts(values, &given, &parts)?;
                given = without_repeats(given);
                let Some(RteKind::Subquery { query, .. }) = self.level().range_table.get(entry).map(|e| e.kind.clone())
                else {
                    return Err(PgError::internal("INSERT source"));
                };
                InsertSource::Query { query, values }
            }
            Some(other) => return Err(PgError::not_supported(format!("INSERT … {}", crate::command::name(other)))),
        };

        if self.level().target_by_columns {
            self.check_columns(&target, self.acting, given.iter().map(|c| c.attnum), privilege::INSERT)?;
        }
        // a default that the view has for a column that is none of the table's could go nowhere, nor beside a value
        if let (Some(view), false) = (self.level().view_target.clone(), stmt.cols.is_empty()) {
            let written = |name: &str| {
                stmt.cols.iter().any(|c| matches!(&c.node, Some(NodeEnum::ResTarget(t)) if t.name == name))
            };
            for column in view.view.live_columns().filter(|c| c.default.is_some() && !written(&c.name)) {
                let own = self.assigned_column(&target, &column.name, "INSERT", -1)?;
                if given.iter().any(|g| g.attnum == own.attnum) {
                    return Err(multiple_assignments(&own.name));
                }
            }
        }
        // defaults for the columns without a value
        let mut columns: Vec<i16> = given.iter().map(|c| c.attnum).collect();
        let mut defaults = Vec::new();
        let left = target.live_columns().filter(|c| !self.storing && !given.iter().any(|g| g.attnum == c.attnum));
        for column in left.collect::<Vec<_>>() {
            if let Some(expr) = self.default_of(column)? {
                columns.push(column.attnum);
                defaults.push(expr);
            }
        }
        let mut source = match source {
            InsertSource::Values(rows) => InsertSource::Values(
                rows.into_iter().map(|r| r.into_iter().chain(defaults.clone()).collect()).collect(),
            ),
            InsertSource::Query { query, values } => {
                InsertSource::Query { query, values: values.into_iter().chain(defaults).collect() }
            }
        };
        // a row is computed in the order of the columns; of several VALUES rows the written values come before the defaults
        match &mut source {
            _ if self.storing => {}
            InsertSource::Values(rows) if rows.len() == 1 => sort_by_attnum(&mut columns, &mut rows[0]),
            InsertSource::Query { values, .. } => sort_by_attnum(&mut columns, values),
            InsertSource::Values(_) => {}
        }
        // ON CONFLICT and RETURNING see the table (and excluded)
        let on_view = self.level().view_target.is_some() || matches!(target.kind, RelationKind::View { .. });
        if stmt.on_conflict_clause.is_some() && on_view {
            return Err(PgError::not_supported("ON CONFLICT on a view"));
        }
        let on_conflict = match &stmt.on_conflict_clause {
            Some(clause) => Some(self.on_conflict(clause, &target, &item, updates_by_columns)?),
            None => None,
        };
        self.level().namespace = vec![item];
        self.level().inserts = true;
        let updates = on_conflict.as_ref().is_some_and(|c| c.set.is_some());
        let returning = self.returning(stmt.returning_clause.as_ref(), Change::Insert { updates })?;
        // an arbiter's columns are read (that only they are is seen when all is analyzed)
        let arbiter = stmt.on_conflict_clause.as_ref().is_some_and(|c| c.infer.is_some());
        let selects = self.reads_target(returning.iter().map(|t| &t.expr)) || arbiter;
        if selects {
            self.check_target_reads(&target)?;
        }
        let set = on_conflict.iter().filter_map(|c| c.set.as_ref()).flatten().map(|s| s.0);
        self.level().written = given.iter().map(|c| c.attnum).chain(set).collect();
        let secured = self.as_target(|a| a.secured_checks(&target, PolicyCommand::Insert, selects))?;
        self.level().checks.extend(secured);
        Ok((target, ModifyAction::Insert { columns, source, on_conflict }, returning))
    }

    /// The values of a row, a column once: those for parts of a column are put into it one after the other.
    fn merge_parts(&mut self, row: Vec<Expr>, columns: &[Column], parts: &[&[ast::Node]]) -> Result<Vec<Expr>> {
        if parts.iter().all(|p| p.is_empty()) {
            return Ok(row);
        }
        let mut out: Vec<(i16, Expr)> = Vec::new();
        for ((value, column), part) in row.into_iter().zip(columns).zip(parts) {
            if part.is_empty() {
                out.push((column.attnum, value));
                continue;
            }
            let location = value.location;
            let earlier = out.iter().position(|(attnum, _)| *attnum == column.attnum);
            let base = match earlier {
                Some(i) => out[i].1.clone(),
                None => Expr::new(ExprKind::Const(Datum::Null), column.type_oid, -1).with_typmod(column.typmod),
            };
            let value = self.assign_part(base, part, value, &column.name, location)?;
            let value = self.coerce_assignment(value, column.type_oid, column.typmod, &column.name)?;
            match earlier {
                Some(i) => out[i].1 = value,
                None => out.push((column.attnum, value)),
            }
        }
        Ok(out.into_iter().map(|(_, value)| value).collect())
    }

    pub(super) fn target_column(&mut self, target: &Relation, attnum: i16) -> Result<Expr> {
        let entry = &self.level().range_table[0];
        let column = entry
            .columns
            .iter()
            .position(|c| c.attnum == attnum)
            .ok_or_else(|| PgError::internal(format!("column {attnum} of {}", target.name)))?;
        Ok(super::var(0, 0, column, &entry.columns[column].clone(), -1))
    }

    /// FROM and USING of a modification: LATERAL does not see the table that is changed.
    fn other_tables(&mut self, nodes: &[ast::Node]) -> Result<Vec<crate::typed::FromItem>> {
        self.level().changes = true;
        for item in &mut self.level().namespace {
            item.lateral_ok = false;
        }
        let from = self.from_clause(nodes)?;
        for item in &mut self.level().namespace {
            item.lateral_ok = true;
        }
        Ok(from)
    }

    // --- UPDATE ------------------------------------------------------------------------------------------------------

    pub(crate) fn update(&mut self, stmt: &ast::UpdateStmt) -> Result<Modify> {
        let (result, level) = self.modify_level(|a| {
            if let Some(with) = &stmt.with_clause {
                a.with_clause(with)?;
            }
            let r = stmt.relation.as_ref().ok_or_else(|| PgError::internal("UPDATE without a table"))?;
            let target = a.target_relation(r, "UPDATE")?;
            let item = a.target_entry(&target, r)?;
            a.level().namespace.push(item);
            let from = a.other_tables(&stmt.from_clause)?;
            let filter = a.where_clause(stmt.where_clause.as_deref())?;
            let set = a.set_list(&stmt.target_list, &target)?;
            let returning = a.returning(stmt.returning_clause.as_ref(), Change::Update)?;
            let condition = filter.iter().filter(|_| !is_current_of(stmt.where_clause.as_deref()));
            let values = set.iter().map(|(_, e)| e);
            let selects = a.reads_target(condition.chain(values).chain(returning.iter().map(|t| &t.expr)));
            let filter = super::view_target::both(a.view_filter(), filter);
            a.level().written = set.iter().map(|(attnum, _)| *attnum).collect();
            if selects {
                a.check_target_reads(&target)?;
            }
            if a.level().target_by_columns {
                a.check_columns(&target, a.acting, set.iter().map(|(attnum, _)| *attnum), privilege::UPDATE)?;
            }
            let secured = a.as_target(|a| a.secured_filter(&target, PolicyCommand::Update, selects))?;
            a.level().checks = a.as_target(|a| a.secured_checks(&target, PolicyCommand::Update, selects))?;
            let filter = super::view_target::both(secured, filter);
            Ok((target, ModifyAction::Update { set, from, filter }, returning))
        })?;
        let (target, action, returning) = result;
        let mut checks = level.checks;
        if let ModifyAction::Update { set, .. } = &action {
            checks.extend(self.partition_check_of_update(&target, set)?);
        }
        checks.extend(level.view_target.map(|v| v.checks).unwrap_or_default());
        let written = Written { table: target.clone(), columns: level.written };
        let (ctes, range_table) = (level.ctes, level.range_table);
        let modify = Modify { ctes, range_table, target, action, returning, checks, written };
        self.check_modify_rights(&modify, &level.column_checks, &level.below_views, level.denied_below)?;
        Ok(modify)
    }

    /// Whether expressions of a data modification name a column of its target, entry 0: only then the right to read it is needed, and
    /// policies for reading hold.
    fn reads_target<'e>(&mut self, mut expressions: impl Iterator<Item = &'e Expr>) -> bool {
        self.level().names_computed || expressions.any(names_target)
    }

    /// 42501 unless the statement may read the target: all of it, or (seen when all is analyzed) what it names.
    pub(super) fn check_target_reads(&mut self, target: &Arc<Relation>) -> Result<()> {
        if self.level().view_target.is_some() {
            let named = self.named_target(target);
            return self.check_privilege(&named, privilege::SELECT);
        }
        if self.check_some_columns(target, privilege::SELECT)? {
            let role = self.acting;
            let level = self.level();
            let returned = |(_, entry): &(usize, &crate::typed::RangeTableEntry)| entry.kind == RteKind::Returned;
            let further = level.range_table.iter().enumerate().filter(returned).map(|(rte, _)| rte);
            let checks = std::iter::once(0).chain(further).map(|rte| super::column_rights::ColumnCheck {
                rte,
                relation: target.clone(),
                role,
            });
            level.column_checks.extend(checks.collect::<Vec<_>>());
        }
        Ok(())
    }

    /// Runs `f` as the role whose privileges count for the target: the owner of the view that stands for it.
    pub(super) fn as_target<R>(&mut self, f: impl FnOnce(&mut Self) -> R) -> R {
        let own = self.acting;
        let acting = self.level().view_target.as_ref().map_or(own, |v| v.acting);
        let around = std::mem::replace(&mut self.acting, acting);
        let result = f(self);
        self.acting = around;
        result
    }

    /// The condition of the view that stands for the target.
    fn view_filter(&mut self) -> Option<Expr> {
        self.level().view_target.as_ref().and_then(|v| v.filter.clone())
    }

    pub(super) fn where_clause(&mut self, node: Option<&ast::Node>) -> Result<Option<Expr>> {
        let Some(node) = node else { return Ok(None) };
        if let Some(NodeEnum::CurrentOfExpr(c)) = &node.node {
            return self.current_of(&c.cursor_name).map(Some);
        }
        let filter = self.in_clause(Clause::Where, |a| a.expr(node))?;
        self.coerce_boolean(filter, "WHERE").map(Some)
    }

    /// WHERE CURRENT OF: the target's row with the number of the one that the cursor stands on.
    fn current_of(&mut self, cursor: &str) -> Result<Expr> {
        let stored = matches!(&self.level().range_table[0].kind, RteKind::Relation(r) if r.is_stored());
        if self.level().view_target.is_some() || !stored {
            return Err(PgError::new(SqlState::FEATURE_NOT_SUPPORTED, "WHERE CURRENT OF on a view is not implemented"));
        }
        // (the target is the first item that names are looked up in)
        let missing = || PgError::internal("a table without system columns");
        let number = self.system_column(0, 0, "ctid", -1)?.ok_or_else(missing)?;
        let table = Box::new(self.system_column(0, 0, "tableoid", -1)?.ok_or_else(missing)?);
        let here = Expr::new(ExprKind::CurrentOf { cursor: cursor.to_string(), table }, oid::TID, -1);
        self.in_stored_text(|a| a.operator("=", Some(number), here, -1))
    }

    // --- DELETE ------------------------------------------------------------------------------------------------------

    pub(crate) fn delete(&mut self, stmt: &ast::DeleteStmt) -> Result<Modify> {
        let (result, level) = self.modify_level(|a| {
            if let Some(with) = &stmt.with_clause {
                a.with_clause(with)?;
            }
            let r = stmt.relation.as_ref().ok_or_else(|| PgError::internal("DELETE without a table"))?;
            let target = a.target_relation(r, "DELETE")?;
            let item = a.target_entry(&target, r)?;
            a.level().namespace.push(item);
            let using = a.other_tables(&stmt.using_clause)?;
            let filter = a.where_clause(stmt.where_clause.as_deref())?;
            let returning = a.returning(stmt.returning_clause.as_ref(), Change::Delete)?;
            let condition = filter.iter().filter(|_| !is_current_of(stmt.where_clause.as_deref()));
            let selects = a.reads_target(condition.chain(returning.iter().map(|t| &t.expr)));
            let filter = super::view_target::both(a.view_filter(), filter);
            if selects {
                a.check_target_reads(&target)?;
            }
            let secured = a.as_target(|a| a.secured_filter(&target, PolicyCommand::Delete, selects))?;
            let filter = super::view_target::both(secured, filter);
            Ok((target, ModifyAction::Delete { using, filter }, returning))
        })?;
        let (target, action, returning) = result;
        let written = Written { table: target.clone(), columns: vec![] };
        let (ctes, range_table) = (level.ctes, level.range_table);
        let modify = Modify { ctes, range_table, target, action, returning, checks: vec![], written };
        self.check_modify_rights(&modify, &level.column_checks, &level.below_views, level.denied_below)?;
        Ok(modify)
    }
}

/// Whether an expression names a column of entry 0.
fn names_target(expression: &Expr) -> bool {
    let mut found = false;
    crate::walk::deep(expression, 0, &mut |depth, e| {
        found |= match &e.kind {
            ExprKind::Var(v) => v.levels_up == depth && v.rte == 0,
            ExprKind::WholeRow { levels_up, rte, .. } => *levels_up == depth && *rte == 0,
            _ => false,
        }
    });
    found
}

/// WHERE CURRENT OF reads the cursor, not the table.
fn is_current_of(condition: Option<&ast::Node>) -> bool {
    condition.is_some_and(|node| matches!(node.node, Some(NodeEnum::CurrentOfExpr(_))))
}

/// The columns in order of first appearance.
fn without_repeats(columns: Vec<Column>) -> Vec<Column> {
    let mut out: Vec<Column> = Vec::new();
    for column in columns {
        if !out.iter().any(|c| c.attnum == column.attnum) {
            out.push(column);
        }
    }
    out
}

/// A query that moves one level deeper: its references to outer queries reach one further.
pub(super) fn shift(query: crate::typed::Query) -> crate::typed::Query {
    let mut query = query;
    shift_with_references(&mut query, 0, 1);
    crate::walk::query_exprs_mut(&mut query, 0, &mut |depth, e| match &mut e.kind {
        ExprKind::Var(Var { levels_up, .. }) | ExprKind::WholeRow { levels_up, .. } if *levels_up > depth => {
            *levels_up += 1;
        }
        ExprKind::Aggregate(call) if call.levels_up > depth => call.levels_up += 1,
        ExprKind::SubLink { query, .. } => shift_with_references(query, depth + 1, 1),
        _ => {}
    });
    query
}

/// The part of [`shift`] (by so many levels) that concerns references to WITH queries, outside expressions; the query is `depth`
/// levels in.
pub(crate) fn shift_with_references(query: &mut crate::typed::Query, depth: usize, by: usize) {
    for entry in &mut query.range_table {
        match &mut entry.kind {
            RteKind::Cte { levels_up, .. } if *levels_up > depth => *levels_up += by,
            RteKind::Subquery { query, .. } => shift_with_references(query, depth + 1, by),
            _ => {}
        }
    }
    for cte in &mut query.ctes {
        if let crate::typed::CteBody::Query(query) = &mut cte.body {
            shift_with_references(query, depth + 1, by);
        }
    }
    if let QueryBody::SetOperation { left, right, .. } = &mut query.body {
        shift_with_references(left, depth + 1, by);
        shift_with_references(right, depth + 1, by);
    }
}

/// Values in the order of their columns.
fn sort_by_attnum(columns: &mut Vec<i16>, values: &mut Vec<Expr>) {
    let mut pairs: Vec<(i16, Expr)> = std::mem::take(columns).into_iter().zip(std::mem::take(values)).collect();
    pairs.sort_by_key(|(attnum, _)| *attnum);
    (*columns, *values) = pairs.into_iter().unzip();
}
