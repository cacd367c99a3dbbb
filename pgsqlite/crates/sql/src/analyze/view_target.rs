//! INSERT, UPDATE and DELETE on views: a view over one table, without grouping and the like, stands for that table (manual,
//! CREATE VIEW, "Updatable Views").

use super::column_rights::BelowView;
use super::from::NamespaceItem;
use super::{Analyzer, Rights};
use crate::catalog::{CheckOption, Column, Relation, RelationKind, TypeEntry};
use crate::parse::ast;
use crate::routine::Event;
use crate::typed::{Distinct, Expr, ExprKind, FromItem, Query, QueryBody, RowCheck, RowCheckOf, RteKind, Var};
use crate::walk;
use pgsqlite_types::{oid, Oid, PgError, Result, SqlState};
use std::sync::Arc;

/// What a view is of its table. Expressions are over the table as entry 0.
#[derive(Clone)]
pub(crate) struct ViewTarget {
    pub view: Arc<Relation>,
    pub columns: Vec<(String, Expr)>,
    pub filter: Option<Expr>,
    /// what its check option (and that of views below it) demands of new rows
    pub checks: Vec<RowCheck>,
    /// whose privileges and policies count for the table
    pub acting: Oid,
    /// its query is FROM ONLY
    pub only: bool,
}

/// A query of one table: the table, the columns and the conditions.
struct Simple {
    table: Arc<Relation>,
    columns: Vec<Expr>,
    /// the conditions of the views below and of the query itself (last), each with the row type of its view; 0: the query's own
    filters: Vec<(Oid, Option<Expr>)>,
    only: bool,
}

/// Why a view's query is not simple, as PostgreSQL's DETAIL says it.
fn obstacle(query: &Query) -> Option<&'static str> {
    let QueryBody::Select(select) = &query.body else {
        return Some(match query.body {
            QueryBody::SetOperation { .. } => {
                "Views containing UNION, INTERSECT, or EXCEPT are not automatically updatable."
            }
            _ => "Views that do not select from a single table or view are not automatically updatable.",
        });
    };
    let any = |test: fn(&Expr) -> bool| select.targets.iter().any(|t| test(&t.expr));
    if select.distinct != Distinct::No {
        Some("Views containing DISTINCT are not automatically updatable.")
    } else if !select.group_by.is_empty() || !select.grouping_sets.is_empty() {
        Some("Views containing GROUP BY are not automatically updatable.")
    } else if select.having.is_some() {
        Some("Views containing HAVING are not automatically updatable.")
    } else if !query.ctes.is_empty() {
        Some("Views containing WITH are not automatically updatable.")
    } else if query.limit.is_some() || query.offset.is_some() {
        Some("Views containing LIMIT or OFFSET are not automatically updatable.")
    } else if any(walk::contains_aggregate) {
        Some("Views that return aggregate functions are not automatically updatable.")
    } else if any(walk::contains_window) {
        Some("Views that return window functions are not automatically updatable.")
    } else if any(walk::contains_set_function) {
        Some("Views that return set-returning functions are not automatically updatable.")
    } else if !matches!(&select.from[..], [FromItem::Entry(0)]) {
        Some("Views that do not select from a single table or view are not automatically updatable.")
    } else {
        None
    }
}

/// The event of a data modification; None: MERGE.
pub(super) fn event_of(verb: &str) -> Option<Event> {
    match verb {
        "INSERT" => Some(Event::Insert),
        "UPDATE" => Some(Event::Update),
        "DELETE" => Some(Event::Delete),
        _ => None,
    }
}

/// The view of a row type, if its INSTEAD OF triggers do what is to be done.
type Instead<'a> = &'a dyn Fn(Oid) -> Option<Arc<Relation>>;

fn simple(query: &Query, instead: Instead) -> Result<Simple, &'static str> {
    if let Some(obstacle) = obstacle(query) {
        return Err(obstacle);
    }
    let single = "Views that do not select from a single table or view are not automatically updatable.";
    let QueryBody::Select(select) = &query.body else { return Err(single) };
    let mut columns: Vec<Expr> = select.targets.iter().map(|t| t.expr.clone()).collect();
    let filter = select.filter.clone();
    match &query.range_table[0].kind {
        RteKind::Relation(table) if table.kind == RelationKind::Table && query.range_table[0].sample.is_none() => {
            Ok(Simple { table: table.clone(), columns, filters: vec![(0, filter)], only: query.range_table[0].only })
        }
        // a table whose policies stand here as a query: what they mean for a change is the table's own affair
        RteKind::Subquery { query: inner, .. } if query.range_table[0].row_type != 0 => {
            if let Some(table) = secured_table(inner, query.range_table[0].row_type) {
                let only = inner.range_table[0].only;
                return Ok(Simple { table: table.clone(), columns, filters: vec![(0, filter)], only });
            }
            if let Some(view) = instead(query.range_table[0].row_type) {
                return Ok(Simple { table: view, columns, filters: vec![(0, filter)], only: false });
            }
            // a view over a view
            let Simple { table, columns: below, mut filters, only } = simple(inner, instead)?;
            let mut filter = filter;
            columns.iter_mut().chain(filter.iter_mut()).for_each(|e| through(e, &below));
            if let Some(view) = filters.last_mut() {
                view.0 = query.range_table[0].row_type;
            }
            filters.push((0, filter));
            Ok(Simple { table, columns, filters, only })
        }
        _ => Err(single),
    }
}

/// The table of this row type, if that is what the query reads with its policies.
fn secured_table(query: &Query, row_type: Oid) -> Option<&Arc<Relation>> {
    match &query.range_table.first()?.kind {
        RteKind::Relation(table) if table.row_type == row_type => Some(table),
        _ => None,
    }
}

/// Puts the inner view's columns where the outer one names them.
fn through(expr: &mut Expr, columns: &[Expr]) {
    walk::deep_mut(expr, 0, &mut |depth, e| {
        let ExprKind::Var(Var { levels_up, rte: 0, column }) = e.kind else { return };
        if levels_up == depth {
            if let Some(inner) = columns.get(column) {
                let mut inner = inner.clone();
                walk::deep_mut(&mut inner, 0, &mut |inside, v| {
                    if let ExprKind::Var(v) = &mut v.kind {
                        if v.levels_up == inside {
                            // marked, so that it is not taken for the outer view's column
                            v.rte = PUT_IN;
                        }
                        if v.levels_up >= inside {
                            v.levels_up += depth;
                        }
                    }
                });
                *e = inner;
            }
        }
    });
    walk::deep_mut(expr, 0, &mut |_, e| {
        if let ExprKind::Var(v) = &mut e.kind {
            if v.rte == PUT_IN {
                v.rte = 0;
            }
        }
    });
}

/// The entry of variables that [`through`] has put in.
const PUT_IN: usize = usize::MAX;

/// The conjunction of two conditions.
pub(super) fn both(a: Option<Expr>, b: Option<Expr>) -> Option<Expr> {
    match (a, b) {
        (Some(a), Some(b)) => Some(Expr::new(ExprKind::And(vec![a, b]), oid::BOOL, -1)),
        (a, b) => a.or(b),
    }
}

/// Why INSERT, UPDATE and DELETE do not work on a view of this query, as PostgreSQL says it. A view without a column that could be
/// updated is none of those that are updated by themselves.
pub fn why_not_updatable(query: &Query) -> Option<&'static str> {
    if let Err(obstacle) = simple(query, &|_| None) {
        return Some(obstacle);
    }
    let QueryBody::Select(select) = &query.body else { return None };
    let columns = &query.range_table[0].columns;
    let is_column = |e: &Expr| match e.kind {
        ExprKind::Var(v) => v.levels_up == 0 && v.rte == 0 && columns.get(v.column).is_some_and(|c| c.attnum >= 0),
        _ => false,
    };
    let any = select.targets.iter().any(|t| is_column(&t.expr));
    (!any).then_some("Views that have no updatable columns are not automatically updatable.")
}

/// Which of INSERT, UPDATE and DELETE work on a relation, as `pg_relation_is_updatable` tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Updatable {
    pub insert: bool,
    pub update: bool,
    pub delete: bool,
}

impl Updatable {
    const ALL: Updatable = Updatable { insert: true, update: true, delete: true };

    /// One bit per command, with the numbers that PostgreSQL has for them.
    pub fn bits(self) -> i64 {
        i64::from(self.update) << 2 | i64::from(self.insert) << 3 | i64::from(self.delete) << 4
    }

    fn also(&mut self, event: Event) {
        match event {
            Event::Insert => self.insert = true,
            Event::Update => self.update = true,
            Event::Delete => self.delete = true,
            Event::Truncate => {}
        }
    }
}

/// What works on a relation (of the column with this attnum, if one is asked for): because it is a table, because rules or, with
/// `triggers`, INSTEAD OF triggers carry it out, or because it is a view of such a relation.
pub fn updatable(
    environment: &super::Environment,
    relation: &Relation,
    triggers: bool,
    column: Option<i16>,
) -> Result<Updatable> {
    updatable_of(environment, relation, triggers, column.map(|c| vec![c]))
}

/// As [`updatable`], of these columns: INSERT and UPDATE work where one of them can be assigned to.
fn updatable_of(
    environment: &super::Environment,
    relation: &Relation,
    triggers: bool,
    columns: Option<Vec<i16>>,
) -> Result<Updatable> {
    match &relation.kind {
        RelationKind::Table => return Ok(Updatable::ALL),
        RelationKind::View { .. } => {}
        _ => return Ok(Updatable::default()),
    }
    let mut out = Updatable::default();
    for event in [Event::Insert, Event::Update, Event::Delete] {
        if relation.is_replaced(event) || triggers && relation.has_instead_of(event) {
            out.also(event);
        }
    }
    let Some(query) = super::stored_views::view_query(environment, relation)? else { return Ok(out) };
    if out == Updatable::ALL || obstacle(&query).is_some() {
        return Ok(out);
    }
    let (RteKind::Relation(below), QueryBody::Select(select)) = (&query.range_table[0].kind, &query.body) else {
        return Ok(out);
    };
    // (views stand as tables in that query)
    let Some(below) = environment.catalog.relation(below.oid) else { return Ok(out) };
    let mut assignable: Vec<i16> = Vec::new();
    for (target, own) in select.targets.iter().zip(relation.live_columns()) {
        let ExprKind::Var(v) = &target.expr.kind else { continue };
        let Some(base) = query.range_table[0].columns.get(v.column).filter(|c| c.attnum > 0) else { continue };
        if columns.as_ref().is_none_or(|c| c.contains(&own.attnum)) {
            assignable.push(base.attnum);
        }
    }
    let mut through = match assignable.is_empty() {
        true => Updatable { delete: true, ..Default::default() },
        false => Updatable::ALL,
    };
    if !matches!(below.kind, RelationKind::Table) {
        let inner = updatable_of(environment, below, triggers, Some(assignable))?;
        through.insert &= inner.insert;
        through.update &= inner.update;
        through.delete &= inner.delete;
    }
    out.insert |= through.insert;
    out.update |= through.update;
    out.delete |= through.delete;
    Ok(out)
}

impl Analyzer<'_> {
    /// The query of a view that is changed. What its owner may not read is told after what the statement may not do.
    fn query_below(&mut self, view: &Relation, definition: &str) -> Result<Query> {
        let denied = match self.view_query(view, definition) {
            Err(e) if e.code() == SqlState::INSUFFICIENT_PRIVILEGE => e,
            result => return result,
        };
        let rights = std::mem::replace(&mut self.env.rights, Rights::AskedAtUse);
        let query = self.view_query(view, definition);
        self.env.rights = rights;
        self.level().denied_below.get_or_insert(denied);
        query
    }

    /// The table behind a view that a statement changes; the level keeps what the view is of it.
    pub(super) fn view_target(&mut self, view: &Arc<Relation>, verb: &str) -> Result<Arc<Relation>> {
        let RelationKind::View { definition, .. } = &view.kind else {
            return Err(PgError::internal("a view expected"));
        };
        let query = self.query_below(view, &definition.clone())?;
        let catalog = self.env.catalog;
        let instead = |row_type: Oid| match catalog.type_entry(row_type) {
            Some(TypeEntry::Row(below)) => {
                let below = catalog.relation(below.oid)?;
                event_of(verb)
                    .is_some_and(|event| below.has_instead_of(event) || below.is_replaced(event))
                    .then(|| below.clone())
            }
            _ => None,
        };
        let simple = simple(&query, &instead).map_err(|detail| {
            let (act, participle, event) = match verb {
                "INSERT" => ("insert into", "inserting into", "INSERT"),
                "UPDATE" => ("update", "updating", "UPDATE"),
                _ => ("delete from", "deleting from", "DELETE"),
            };
            PgError::new(
                SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
                format!("cannot {act} view \"{}\"", view.name),
            )
            .detail(detail)
            .hint(format!(
                "To enable {participle} the view, provide an INSTEAD OF {event} trigger or an unconditional ON {event} DO \
                 INSTEAD rule."
            ))
        })?;
        // each view changes what is below it in the name of its owner
        let needed = match verb {
            "INSERT" => crate::acl::privilege::INSERT,
            "UPDATE" => crate::acl::privilege::UPDATE,
            _ => crate::acl::privilege::DELETE,
        };
        let (mut acting, mut below_views) = (self.acting_within(view), vec![]);
        // (the conditions are those of the innermost view first)
        for (row_type, _) in simple.filters.iter().rev().skip(1) {
            let Some(TypeEntry::Row(below)) = self.env.catalog.type_entry(*row_type) else { continue };
            let Some(below) = self.env.catalog.relation(below.oid) else { continue };
            below_views.push(BelowView { relation: below.clone(), role: acting, needed });
            acting = self.acting_within(below);
        }
        below_views.push(BelowView { relation: simple.table.clone(), role: acting, needed });
        self.level().below_views.extend(below_views);
        for (row_type, _) in &simple.filters {
            if let Some(TypeEntry::Row(below)) = self.env.catalog.type_entry(*row_type) {
                let below = self.env.catalog.relation(below.oid).cloned();
                let Some(below) = below else { continue };
                if let Some(event) = event_of(verb) {
                    self.check_rules_of_view(&below, event)?;
                }
                if below.live_columns().any(|c| c.default.is_some()) {
                    let what = format!("a change through view \"{}\", below which a view has defaults", view.name);
                    return Err(PgError::not_supported(what));
                }
            }
        }
        let checks = self.view_checks(view, &simple.filters);
        let only = simple.only;
        let filter = simple.filters.into_iter().fold(None, |all, (_, filter)| both(all, filter));
        let names = view.live_columns().map(|c| c.name.clone());
        let columns = names.zip(simple.columns).collect();
        self.level().view_target = Some(ViewTarget { view: view.clone(), columns, filter, checks, acting, only });
        Ok(simple.table)
    }

    /// The conditions that new rows must satisfy: those of the views with a check option, and of all below one that is CASCADED.
    /// Inner views come first.
    fn view_checks(&self, view: &Relation, filters: &[(Oid, Option<Expr>)]) -> Vec<RowCheck> {
        let mut checks = Vec::new();
        let mut cascaded = false;
        for (row_type, filter) in filters.iter().rev() {
            let layer = match self.env.catalog.type_entry(*row_type) {
                Some(TypeEntry::Row(below)) => below,
                _ => view,
            };
            cascaded |= layer.check_option() == Some(CheckOption::Cascaded);
            if let (true, Some(condition)) = (cascaded || layer.check_option().is_some(), filter) {
                checks.insert(0, RowCheck { condition: condition.clone(), of: RowCheckOf::View(layer.name.clone()) });
            }
        }
        checks
    }

    /// The target as entry 0, and what its columns are called.
    pub(super) fn target_entry(&mut self, target: &Arc<Relation>, r: &ast::RangeVar) -> Result<NamespaceItem> {
        let alias = if self.level().view_target.is_some() { None } else { r.alias.as_ref() };
        if let RelationKind::View { definition, .. } = &target.kind {
            // a view with INSTEAD OF triggers: UPDATE and DELETE read its rows
            let query = self.view_query(target, definition)?;
            self.query_entry(query, super::relation_columns(target), target, alias)?;
        } else {
            self.add_relation_entry(target.clone(), alias, false)?;
        }
        self.level().range_table[0].only = self.level().view_target.as_ref().map_or(!r.inh, |v| v.only);
        let Some(view) = self.level().view_target.clone() else {
            return Ok(self.namespace_of(0, Some((target.schema, target.name.clone())), r.alias.is_some()));
        };
        let mut item = self.namespace_of(0, Some((view.view.schema, view.view.name.clone())), r.alias.is_some());
        item.alias = r.alias.as_ref().map_or(view.view.name.clone(), |a| a.aliasname.clone());
        item.rte = None;
        item.columns = view.columns;
        Ok(item)
    }

    /// Whose privileges count: those on the view, if there is one.
    pub(super) fn named_target(&mut self, target: &Arc<Relation>) -> Arc<Relation> {
        self.level().view_target.as_ref().map_or(target.clone(), |v| v.view.clone())
    }

    /// The column that a statement assigns to by this name: `verb` is INSERT or UPDATE.
    pub(super) fn assigned_column(
        &mut self,
        target: &Relation,
        name: &str,
        verb: &str,
        location: i32,
    ) -> Result<Column> {
        let Some(view) = self.level().view_target.clone() else {
            return target.column(name).cloned().ok_or_else(|| missing(name, &target.name, location));
        };
        let (_, expr) =
            view.columns.iter().find(|(n, _)| n == name).ok_or_else(|| missing(name, &view.view.name, location))?;
        let attnum = match expr.kind {
            ExprKind::Var(v) if v.levels_up == 0 && v.rte == 0 => {
                self.level().range_table[0].columns.get(v.column).map(|c| c.attnum)
            }
            _ => None,
        };
        attnum.and_then(|a| target.column_by_attnum(a)).cloned().ok_or_else(|| {
            let act = if verb == "INSERT" { "insert into" } else { "update" };
            PgError::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                format!("cannot {act} column \"{name}\" of view \"{}\"", view.view.name),
            )
            .detail("View columns that are not columns of their base relation are not updatable.")
        })
    }

    /// All columns that an INSERT without a list of columns gives values to.
    pub(super) fn all_assigned_columns(&mut self, target: &Relation) -> Result<Vec<Column>> {
        match self.level().view_target.clone() {
            None => Ok(target.live_columns().cloned().collect()),
            Some(view) => {
                view.columns.iter().map(|(name, _)| self.assigned_column(target, name, "INSERT", -1)).collect()
            }
        }
    }
}

fn missing(name: &str, relation: &str, location: i32) -> PgError {
    PgError::new(SqlState::UNDEFINED_COLUMN, format!("column \"{name}\" of relation \"{relation}\" does not exist"))
        .at(location)
}
