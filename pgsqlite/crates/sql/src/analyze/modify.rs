//! INSERT, UPDATE, DELETE.

use super::{Analyzer, Clause, Level};
use crate::acl::privilege;
use crate::builtins::catalog as builtin;
use crate::catalog::{Column, Constraint, ConstraintKind, Identity, KeyPart, PolicyCommand, Relation, RelationKind};
use crate::parse::{ast, NodeEnum};
use crate::typed::{
    CastForm, CastMethod, ConflictTarget, Expr, ExprKind, InsertSource, Modify, ModifyAction, OnConflict, QueryBody,
    RowCheck, RowCheckOf, RteKind, Target, Var,
};
use pgsqlite_types::{oid, Datum, Oid, PgError, Result, SqlState};
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
        let modify = Modify { ctes: level.ctes, range_table: level.range_table, target, action, returning, checks };
        self.check_modify_columns(&modify, &level.column_checks)?;
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
        // an arbiter's columns are read (that only they are is seen when all is analyzed)
        let arbiter = stmt.on_conflict_clause.as_ref().is_some_and(|c| c.infer.is_some());
        if arbiter || !stmt.returning_clause.as_ref().is_none_or(|r| r.exprs.is_empty()) {
            self.check_target_reads(&target)?;
        }
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
                            t.expr = self.coerce_assignment(expr, column.type_oid, column.typmod, &column.name)?;
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
                        [] => self.coerce_assignment(value, column.type_oid, column.typmod, &column.name)?,
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
        let returning = self.returning(stmt.returning_clause.as_ref())?;
        let selects = !returning.is_empty() || on_conflict.as_ref().is_some_and(|c| c.target.is_some());
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

    fn generated_always(&self, column: &Column) -> PgError {
        let error = PgError::new(
            SqlState::GENERATED_ALWAYS,
            format!("cannot insert a non-DEFAULT value into column \"{}\"", column.name),
        );
        if column.is_generated() {
            error.detail(format!("Column \"{}\" is a generated column.", column.name))
        } else {
            error
                .detail(format!("Column \"{}\" is an identity column defined as GENERATED ALWAYS.", column.name))
                .hint("Use OVERRIDING SYSTEM VALUE to override.")
        }
    }

    /// A value of VALUES for a column; DEFAULT is replaced by the column's default.
    pub(super) fn column_value(
        &mut self,
        expr: Expr,
        column: &Column,
        overriding_system: bool,
        overriding_user: bool,
    ) -> Result<Expr> {
        let is_default = matches!(expr.kind, ExprKind::Default);
        if is_default && self.storing {
            return Ok(Expr::new(ExprKind::Default, column.type_oid, expr.location));
        }
        if is_default || overriding_user && column.identity.is_some() {
            return Ok(match self.default_of(column)? {
                Some(default) => default,
                None => Expr::new(ExprKind::Default, column.type_oid, expr.location),
            });
        }
        if column.is_generated() || column.identity == Some(Identity::Always) && !overriding_system {
            return Err(self.generated_always(column));
        }
        let (ty, typmod, name) = (column.type_oid, column.typmod, column.name.clone());
        self.coerce_assignment(expr, ty, typmod, &name)
    }

    /// A default's text as a value of a column.
    fn stored_default(&mut self, text: &str, column: &Column) -> Result<Expr> {
        // a default sees nothing of the statement
        let saved = std::mem::take(&mut self.levels);
        let mut level = Level::new();
        level.clause = Clause::Standalone;
        self.levels.push(level);
        let open = std::mem::replace(&mut self.parameters_open, false);
        let result = self
            .sub_expression(text)
            .and_then(|e| self.coerce_assignment(e, column.type_oid, column.typmod, &column.name));
        self.parameters_open = open;
        self.levels = saved;
        result
    }

    /// The default that the view through which a table is changed has for a column; it counts before the column's own.
    /// Errors: 42601 where several columns of the view are the same one of the table, and have defaults.
    fn view_default(&mut self, column: &Column) -> Result<Option<String>> {
        let level = self.level();
        let (Some(target), Some(entry)) = (&level.view_target, level.range_table.first()) else { return Ok(None) };
        let is_column = |e: &Expr| match &e.kind {
            ExprKind::Var(v) if v.levels_up == 0 && v.rte == 0 => {
                entry.columns.get(v.column).is_some_and(|c| c.attnum == column.attnum)
            }
            _ => false,
        };
        let of_view = target.view.live_columns().zip(&target.columns);
        let mut defaults = of_view.filter(|(_, (_, e))| is_column(e)).filter_map(|(c, _)| c.default.clone());
        match (defaults.next(), defaults.next()) {
            (_, Some(_)) => Err(multiple_assignments(&column.name)),
            (default, None) => Ok(default),
        }
    }

    /// What a column gets without a value. None: nothing is inserted (generated columns: SQLite or lowering computes them).
    pub(crate) fn default_of(&mut self, column: &Column) -> Result<Option<Expr>> {
        if let Some(text) = self.view_default(column)? {
            if column.is_generated() || column.identity == Some(Identity::Always) {
                return Err(self.generated_always(column));
            }
            return self.stored_default(&text, column).map(Some);
        }
        if column.identity.is_some() {
            return self.nextval(column.sequence, column.type_oid).map(Some);
        }
        if column.generated.is_some() || column.sqlite_default {
            return Ok(None);
        }
        if let Some(text) = &column.default {
            return self.stored_default(text, column).map(Some);
        }
        // a domain's default
        if let Some(crate::catalog::TypeEntry::User(t)) = self.env.catalog.type_entry(column.type_oid) {
            if let crate::catalog::UserTypeKind::Domain { default, base, .. } = &t.kind {
                // its own, or that of the domains below it
                let (mut default, mut base) = (default.clone(), *base);
                while default.is_none() {
                    let Some(crate::catalog::UserTypeKind::Domain { default: next, base: below, .. }) =
                        self.env.catalog.types.get(&base).map(|t| &t.kind)
                    else {
                        break;
                    };
                    (default, base) = (next.clone(), *below);
                }
                let expr = match default {
                    Some(text) => self.sub_expression(&text)?,
                    None => Expr::new(ExprKind::Const(Datum::Null), oid::UNKNOWN, -1),
                };
                return self.coerce_assignment(expr, column.type_oid, column.typmod, &column.name).map(Some);
            }
        }
        Ok(Some(Expr {
            kind: ExprKind::Const(Datum::Null),
            ty: column.type_oid,
            typmod: column.typmod,
            collation: 0,
            location: -1,
        }))
    }

    fn nextval(&mut self, sequence: Oid, ty: Oid) -> Result<Expr> {
        if let Some(RelationKind::Sequence(s)) = self.env.catalog.relation(sequence).map(|r| &r.kind) {
            if s.row_numbers.is_some() {
                return Ok(Expr::new(ExprKind::NextRow(sequence), ty, -1));
            }
        }
        let sequence = Expr::new(ExprKind::Const(Datum::Int(sequence as i64)), oid::REGCLASS, -1);
        let call = Expr::new(
            ExprKind::Func { proc: crate::volatility::NEXTVAL, args: vec![sequence], variadic: false },
            oid::INT8,
            -1,
        );
        self.try_coerce(call, ty, -1, builtin::CastContext::Assignment, CastForm::Assignment)?
            .ok_or_else(|| PgError::internal("an identity column of a type that is not an integer"))
    }

    fn on_conflict(
        &mut self,
        clause: &ast::OnConflictClause,
        target: &Arc<Relation>,
        item: &super::from::NamespaceItem,
        updates_by_columns: bool,
    ) -> Result<OnConflict> {
        let do_update = clause.action == ast::OnConflictAction::OnconflictUpdate as i32;
        self.level().namespace = vec![item.clone()];
        let conflict_target = match &clause.infer {
            Some(infer) => {
                let arbiter = self.infer_arbiter(infer, target)?;
                self.check_arbiter(target, |key| key.index == arbiter.index)?;
                Some(arbiter)
            }
            None => {
                if do_update {
                    return Err(PgError::new(
                        SqlState::SYNTAX_ERROR,
                        "ON CONFLICT DO UPDATE requires inference specification or constraint name",
                    )
                    .hint("For example, ON CONFLICT (column_name).")
                    .at(clause.location));
                }
                self.check_arbiter(target, |_| true)?;
                None
            }
        };
        if !do_update {
            return Ok(OnConflict { target: conflict_target, set: None, filter: None, secured: Default::default() });
        }
        // `excluded`: a second entry over the same table
        let columns = super::relation_columns(target);
        let level = self.level();
        level.range_table.push(super::entry(RteKind::Relation(target.clone()), "excluded".into(), true, columns));
        let entry = level.range_table.len() - 1;
        let mut excluded = self.namespace_of(entry, None, true);
        excluded.columns_visible = false;
        self.level().namespace.push(excluded);
        let set = self.set_list(&clause.target_list, target)?;
        let filter = match &clause.where_clause {
            Some(node) => {
                let filter = self.in_clause(Clause::Where, |a| a.expr(node))?;
                Some(self.coerce_boolean(filter, "WHERE")?)
            }
            None => None,
        };
        let arbiter = conflict_target.as_ref().map_or(0, |t| t.index);
        if target.constraints.iter().any(|c| c.kind == ConstraintKind::Exclusion && c.index == arbiter) {
            return Err(PgError::new(
                SqlState::WRONG_OBJECT_TYPE,
                "ON CONFLICT DO UPDATE not supported with exclusion constraints",
            ));
        }
        if updates_by_columns {
            self.check_columns(target, self.acting, set.iter().map(|(attnum, _)| *attnum), privilege::UPDATE)?;
        }
        let secured = self.as_target(|a| a.secured_change(target, PolicyCommand::Update, false))?;
        Ok(OnConflict { target: conflict_target, set: Some(set), filter, secured })
    }

    /// 55000 if one of the keys that ON CONFLICT looks at is checked later than it looks.
    fn check_arbiter(&self, target: &Relation, looks_at: impl Fn(&Constraint) -> bool) -> Result<()> {
        match target.deferrable_keys().find(|key| looks_at(key)) {
            None => Ok(()),
            Some(key) => Err(PgError::new(
                SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
                "ON CONFLICT does not support deferrable unique constraints/exclusion constraints as arbiters",
            )
            .schema(self.env.catalog.schema_name(target.schema))
            .table(target.name.clone())
            .constraint(key.name.clone())),
        }
    }

    fn infer_arbiter(&mut self, infer: &ast::InferClause, target: &Arc<Relation>) -> Result<ConflictTarget> {
        if !infer.conname.is_empty() {
            let constraint = target.constraints.iter().find(|c| c.name == infer.conname).ok_or_else(|| {
                PgError::new(
                    SqlState::UNDEFINED_OBJECT,
                    format!("constraint \"{}\" for table \"{}\" does not exist", infer.conname, target.name),
                )
            })?;
            if constraint.kind == ConstraintKind::Exclusion {
                let (index, constraint) = (constraint.index, constraint.oid);
                return Ok(ConflictTarget { keys: vec![], filter: None, index, constraint, written: vec![] });
            }
            if !constraint.is_key() {
                return Err(PgError::new(
                    SqlState::WRONG_OBJECT_TYPE,
                    "constraint in ON CONFLICT clause has no associated index",
                ));
            }
            let keys = constraint.columns.iter().map(|&a| self.target_column(target, a)).collect::<Result<Vec<_>>>()?;
            return Ok(ConflictTarget {
                keys,
                filter: None,
                index: constraint.index,
                constraint: constraint.oid,
                written: vec![],
            });
        }
        let mut keys = Vec::new();
        // of each key the collation and the operator class that the index must have, 0: any
        let mut wanted: Vec<(Oid, String)> = Vec::new();
        let mut texts = Vec::new();
        for node in &infer.index_elems {
            let Some(NodeEnum::IndexElem(elem)) = &node.node else {
                return Err(PgError::internal("index element expected"));
            };
            let collation = match &elem.collation[..] {
                [] => 0,
                name => self.collation(name, infer.location)?,
            };
            let opclass = super::typename::name_parts(&elem.opclass).last().map_or(String::new(), |n| n.to_string());
            wanted.push((collation, opclass));
            if elem.name.is_empty() {
                keys.push(self.expr_opt(elem.expr.as_deref())?);
            } else {
                let column =
                    target.column(&elem.name).ok_or_else(|| self.missing_column(None, &elem.name, infer.location))?;
                keys.push(self.target_column(target, column.attnum)?);
            }
        }
        let filter = match &infer.where_clause {
            Some(node) => {
                let filter = self.in_clause(Clause::Where, |a| a.expr(node))?;
                Some(self.coerce_boolean(filter, "WHERE")?)
            }
            None => None,
        };
        if self.storing {
            // (whether there is an index for it is seen when it is carried out)
            return Ok(ConflictTarget { keys, filter, index: 0, constraint: 0, written: wanted });
        }
        for key in &keys {
            texts.push(self.lowered(key, target)?);
        }
        // the unique index with just these keys
        let no_match = || {
            PgError::new(
                SqlState::INVALID_COLUMN_REFERENCE,
                "there is no unique or exclusion constraint matching the ON CONFLICT specification",
            )
        };
        let plain = wanted.iter().all(|(collation, opclass)| *collation == 0 && opclass.is_empty());
        if filter.is_none() && plain {
            for constraint in &target.constraints {
                if matches!(constraint.kind, ConstraintKind::PrimaryKey | ConstraintKind::Unique { .. })
                    && constraint.columns.len() == keys.len()
                {
                    let all = constraint
                        .columns
                        .iter()
                        .all(|&a| self.target_column(target, a).is_ok_and(|c| keys.contains(&c)));
                    if all {
                        return Ok(ConflictTarget {
                            keys,
                            filter: None,
                            index: constraint.index,
                            constraint: 0,
                            written: vec![],
                        });
                    }
                }
            }
        }
        let indexes: Vec<_> = self.env.catalog.indexes_of(target.oid).map(|(r, i)| (r.oid, i.clone())).collect();
        for (index_oid, index) in
            indexes.into_iter().filter(|(_, i)| i.unique && !i.of_sqlite && i.columns.len() == keys.len())
        {
            let mut fits = true;
            for column in &index.columns {
                let key = match &column.key {
                    KeyPart::Column(a) => self.target_column(target, *a)?,
                    KeyPart::Expression(text) => self.sub_expression(text)?,
                };
                let key = self.lowered(&key, target)?;
                let asked = texts.iter().position(|k| *k == key).map(|i| &wanted[i]);
                fits &= asked.is_some_and(|(collation, opclass)| {
                    (*collation == 0 || *collation == column.collation)
                        && (opclass.is_empty() || same_operator_class(opclass, column.opclass))
                });
            }
            if !fits {
                continue;
            }
            match (&index.predicate, &filter) {
                (None, _) => {
                    return Ok(ConflictTarget { keys, filter: None, index: index_oid, constraint: 0, written: vec![] })
                }
                (Some(text), Some(given)) => {
                    let predicate = self.sub_expression(text)?;
                    let predicate = self.coerce_boolean(predicate, "WHERE")?;
                    if let Some(equal) = self.implies(given, &predicate, target)? {
                        let level = self.level();
                        level.checks.extend(equal.map(|condition| RowCheck { condition, of: RowCheckOf::Arbiter }));
                        let filter = Some(predicate);
                        return Ok(ConflictTarget { keys, filter, index: index_oid, constraint: 0, written: vec![] });
                    }
                }
                (Some(_), None) => {}
            }
        }
        Err(no_match())
    }

    fn target_column(&mut self, target: &Relation, attnum: i16) -> Result<Expr> {
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
            let filter = super::view_target::both(a.view_filter(), filter);
            let set = a.set_list(&stmt.target_list, &target)?;
            let returning = a.returning(stmt.returning_clause.as_ref())?;
            let reads = |e: &Expr| crate::walk::any(e, &|e| matches!(e.kind, ExprKind::Var(_)));
            let selects = filter.is_some() || !returning.is_empty() || set.iter().any(|(_, e)| reads(e));
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
        let modify = Modify { ctes: level.ctes, range_table: level.range_table, target, action, returning, checks };
        self.check_modify_columns(&modify, &level.column_checks)?;
        Ok(modify)
    }

    /// 42501 unless the statement may read the target: all of it, or (seen when all is analyzed) what it names.
    pub(super) fn check_target_reads(&mut self, target: &Arc<Relation>) -> Result<()> {
        if self.level().view_target.is_some() {
            let named = self.named_target(target);
            return self.check_privilege(&named, privilege::SELECT);
        }
        if self.check_some_columns(target, privilege::SELECT)? {
            let check = super::column_rights::ColumnCheck { rte: 0, relation: target.clone(), role: self.acting };
            self.level().column_checks.push(check);
        }
        Ok(())
    }

    /// Runs `f` as the role whose privileges count for the target: the owner of the view that stands for it.
    fn as_target<R>(&mut self, f: impl FnOnce(&mut Self) -> R) -> R {
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

    fn where_clause(&mut self, node: Option<&ast::Node>) -> Result<Option<Expr>> {
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

    /// SET of UPDATE and ON CONFLICT DO UPDATE.
    pub(super) fn set_list(&mut self, nodes: &[ast::Node], target: &Arc<Relation>) -> Result<Vec<(i16, Expr)>> {
        let mut set: Vec<(i16, Expr)> = Vec::new();
        for node in nodes {
            let Some(NodeEnum::ResTarget(t)) = &node.node else { return Err(PgError::internal("ResTarget expected")) };
            let column = self.assigned_column(target, &t.name, "UPDATE", t.location)?;
            let earlier = set.iter().position(|(a, _)| *a == column.attnum);
            // what is a domain's was checked, or is so in the end
            if let Some((_, expr)) = earlier.map(|i| &mut set[i]) {
                while let ExprKind::Cast { arg, method: CastMethod::Domain | CastMethod::Relabel, .. } = &expr.kind {
                    *expr = (**arg).clone();
                }
            }
            if earlier.is_some_and(|i| t.indirection.is_empty() || !matches!(set[i].1.kind, ExprKind::Assign { .. })) {
                return Err(multiple_assignments(&column.name));
            }
            let value = t.val.as_deref().ok_or_else(|| PgError::internal("SET without a value"))?;
            let expr = match &value.node {
                Some(NodeEnum::MultiAssignRef(m)) => self.multi_assign(m)?,
                _ => self.in_clause(Clause::UpdateSet, |a| a.expr(value))?,
            };
            // a view's column without a default of its own has that of its type, or NULL, whatever its table's column has
            let of_view = matches!(expr.kind, ExprKind::Default) && !self.storing && self.level().view_target.is_some();
            let expr = match of_view && self.view_default(&column)?.is_none() {
                true => {
                    let bare = Column { default: None, identity: None, generated: None, ..column.clone() };
                    self.default_of(&bare)?
                        .unwrap_or_else(|| Expr::new(ExprKind::Const(Datum::Null), oid::UNKNOWN, expr.location))
                }
                false => expr,
            };
            if column.is_generated() || column.identity == Some(Identity::Always) {
                if matches!(expr.kind, ExprKind::Default) {
                    if column.is_generated() {
                        continue;
                    }
                } else {
                    let error = PgError::new(
                        SqlState::GENERATED_ALWAYS,
                        format!("column \"{}\" can only be updated to DEFAULT", column.name),
                    );
                    return Err(if column.is_generated() {
                        error.detail(format!("Column \"{}\" is a generated column.", column.name))
                    } else {
                        error.detail(format!(
                            "Column \"{}\" is an identity column defined as GENERATED ALWAYS.",
                            column.name
                        ))
                    });
                }
            }
            if !t.indirection.is_empty() {
                // several parts of one column are assigned one after the other
                let base = match earlier {
                    Some(i) => set.remove(i).1,
                    None => self.target_column(target, column.attnum)?,
                };
                let expr = self.assign_part(base, &t.indirection, expr, &column.name, t.location)?;
                let expr = self.coerce_assignment(expr, column.type_oid, column.typmod, &column.name)?;
                set.push((column.attnum, expr));
                continue;
            }
            let expr = if matches!(expr.kind, ExprKind::Default) && self.storing {
                expr
            } else if matches!(expr.kind, ExprKind::Default) {
                self.default_of(&column)?.ok_or_else(|| PgError::internal("default of a generated column"))?
            } else {
                self.coerce_assignment(expr, column.type_oid, column.typmod, &column.name)?
            };
            set.push((column.attnum, expr));
        }
        Ok(set)
    }

    /// `(a, b) = (x, y)` or `= ROW(x, y)`; a sub-query on the right is one scalar sub-query per column.
    fn multi_assign(&mut self, m: &ast::MultiAssignRef) -> Result<Expr> {
        let source = m.source.as_deref().ok_or_else(|| PgError::internal("multiple assignment without a source"))?;
        match &source.node {
            Some(NodeEnum::RowExpr(row)) => {
                let mismatch = || {
                    PgError::new(SqlState::SYNTAX_ERROR, "number of columns does not match number of values")
                        .at(row.location)
                };
                let star = |node: &ast::Node| match &node.node {
                    Some(NodeEnum::ColumnRef(c)) => {
                        c.fields.last().is_some_and(|f| matches!(f.node, Some(NodeEnum::AStar(_))))
                    }
                    _ => false,
                };
                if row.args.iter().any(star) {
                    let mut values = self.in_clause(Clause::UpdateSet, |a| a.row_elements(&row.args))?;
                    if values.len() != m.ncolumns as usize {
                        return Err(mismatch());
                    }
                    return Ok(values.swap_remove(m.colno as usize - 1));
                }
                if row.args.len() != m.ncolumns as usize {
                    return Err(mismatch());
                }
                self.in_clause(Clause::UpdateSet, |a| a.expr(&row.args[m.colno as usize - 1]))
            }
            Some(NodeEnum::SubLink(s)) => {
                let select = s.subselect.as_deref().ok_or_else(|| PgError::internal("a sub-query without a query"))?;
                let mut query = self.in_clause(Clause::UpdateSet, |a| a.sub_query(select))?;
                if query.columns.len() != m.ncolumns as usize {
                    return Err(PgError::new(
                        SqlState::SYNTAX_ERROR,
                        "number of columns does not match number of values",
                    )
                    .at(s.location));
                }
                self.resolve_unknown_columns(&mut query)?;
                let index = m.colno as usize - 1;
                let (ty, typmod) = (query.columns[index].ty, query.columns[index].typmod);
                // the query with one of its columns: wrapped so that ORDER BY, DISTINCT and LIMIT keep their meaning
                let columns = query.columns.clone();
                let column = super::var(0, 0, index, &columns[index], -1);
                let target = Target { expr: column, name: columns[index].name.clone(), origin: (0, 0) };
                let wrapped = crate::typed::Query {
                    range_table: vec![super::entry(
                        RteKind::Subquery { query: Box::new(shift(query)), lateral: false },
                        "source".into(),
                        true,
                        columns.clone(),
                    )],
                    ..crate::typed::Query::new(
                        QueryBody::Select(crate::typed::Select {
                            from: vec![crate::typed::FromItem::Entry(0)],
                            targets: vec![target],
                            ..Default::default()
                        }),
                        vec![columns[index].clone()],
                    )
                };
                Ok(Expr::new(
                    ExprKind::SubLink { kind: crate::typed::SubLinkKind::Scalar, query: Box::new(wrapped) },
                    ty,
                    s.location,
                )
                .with_typmod(typmod))
            }
            _ => Err(PgError::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                "source for a multiple-column UPDATE item must be a sub-SELECT or ROW() expression",
            )),
        }
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
            let filter = super::view_target::both(a.view_filter(), filter);
            let returning = a.returning(stmt.returning_clause.as_ref())?;
            let selects = filter.is_some() || !returning.is_empty();
            if selects {
                a.check_target_reads(&target)?;
            }
            let secured = a.as_target(|a| a.secured_filter(&target, PolicyCommand::Delete, selects))?;
            let filter = super::view_target::both(secured, filter);
            Ok((target, ModifyAction::Delete { using, filter }, returning))
        })?;
        let (target, action, returning) = result;
        let modify =
            Modify { ctes: level.ctes, range_table: level.range_table, target, action, returning, checks: vec![] };
        self.check_modify_columns(&modify, &level.column_checks)?;
        Ok(modify)
    }

    fn returning(&mut self, clause: Option<&ast::ReturningClause>) -> Result<Vec<Target>> {
        let Some(clause) = clause else { return Ok(vec![]) };
        if !clause.options.is_empty() {
            return Err(PgError::not_supported("RETURNING WITH (…)"));
        }
        self.level().clause = Clause::Returning;
        let mut targets = self.target_list(&clause.exprs)?;
        if targets.is_empty() {
            let location = match clause.exprs.first().and_then(|n| n.node.as_ref()) {
                Some(NodeEnum::ResTarget(t)) => t.val.as_deref().map_or(t.location, super::location_of),
                _ => -1,
            };
            return Err(PgError::new(SqlState::SYNTAX_ERROR, "RETURNING must have at least one column").at(location));
        }
        for target in &mut targets {
            target.expr = self.resolve_unknown(target.expr.clone())?;
        }
        Ok(targets)
    }
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

/// Whether the operator class that ON CONFLICT names is, but for its name, that of an index.
fn same_operator_class(name: &str, of_index: Oid) -> bool {
    let classes = builtin::all_operator_classes();
    let Some(index) = classes.iter().find(|c| c.oid == of_index) else { return false };
    classes
        .iter()
        .any(|c| c.name == name && c.method == index.method && c.family == index.family && c.input == index.input)
}

fn multiple_assignments(column: &str) -> PgError {
    PgError::new(SqlState::SYNTAX_ERROR, format!("multiple assignments to same column \"{column}\""))
}
