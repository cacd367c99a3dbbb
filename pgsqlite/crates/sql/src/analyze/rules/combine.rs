//! A rule's command with the rows of the statement that it belongs to: the source's FROM list, its conditions and the rule's, and the
//! source's expressions in place of OLD and NEW.

use super::super::{plain_column, view_target::both};
use super::source::{moved, set_rows, shift_entries, shifted, Source, SOURCE};
use crate::typed::{
    Expr, ExprKind, FromItem, InsertSource, Modify, ModifyAction, OperatorRef, Product, Query, QueryBody,
    RangeTableEntry, RteKind, Target, Var,
};
use crate::walk;
use pgsqlite_types::{oid, Datum, PgError, Result, SqlState};

/// `=` of integers.
const INT4_EQUALS: OperatorRef = OperatorRef { oid: 96, proc: 65 };

/// A place that takes the source's rows in: a query level, or UPDATE's FROM or DELETE's USING.
struct Place<'p> {
    entries: &'p mut Vec<RangeTableEntry>,
    from: &'p mut Vec<FromItem>,
    filter: &'p mut Option<Expr>,
    ctes: &'p mut Vec<crate::typed::Cte>,
}

impl Source<'_> {
    /// Makes of a rule's command (see [`super::action`]) what is carried out. `condition`: the rule's.
    pub(super) fn combine(&self, command: &mut Product, condition: Option<&Expr>) -> Result<()> {
        let rows = rows_named(command, condition);
        self.join_target(rows.0, rows.1);
        match command {
            Product::Query(query) => self.into_query(query, 1, condition),
            Product::Modify(modify) => {
                let returning = std::mem::take(&mut modify.returning);
                let offset = self.into_modify(modify, condition)?;
                modify.returning = self.returning(returning, offset)?;
                Ok(())
            }
            Product::Notify { .. } if condition.is_some() => {
                Err(PgError::new(SqlState::FEATURE_NOT_SUPPORTED, "conditional utility statements are not implemented"))
            }
            Product::Notify { .. } => Ok(()),
        }
    }

    /// Adds the source's rows to a place whose own expressions have been seen to.
    fn join(&self, place: Place, condition: Option<&Expr>) -> Result<()> {
        let offset = self.offset(place.entries.len());
        let mut entries = self.entries().to_vec();
        shift_entries(&mut entries, offset);
        place.entries.extend(entries);
        place.from.extend(self.items().into_iter().map(|item| shifted(item, offset)));
        let rows = self.filter().map(|f| moved(f, offset, 0));
        let condition = match condition {
            Some(c) => {
                let mut c = c.clone();
                self.put(&mut c, 1, offset)?;
                Some(c)
            }
            None => None,
        };
        *place.filter = both(both(rows, condition), place.filter.take());
        if !self.modify().ctes.is_empty() {
            if !place.ctes.is_empty() {
                return Err(PgError::not_supported("WITH of a statement whose rule has a WITH of its own"));
            }
            place.ctes.clone_from(&self.modify().ctes);
        }
        Ok(())
    }

    /// A query: OLD and NEW are `up` levels above it.
    fn into_query(&self, query: &mut Query, up: usize, condition: Option<&Expr>) -> Result<()> {
        if query.range_table.iter().any(|e| names_rows_inside(e, up)) {
            return Err(PgError::not_supported("OLD or NEW in an item of FROM of a rule's command"));
        }
        if let QueryBody::Values(rows) = &mut query.body {
            let alone = self.items().is_empty() && condition.is_none();
            if !alone && query.order_by.is_empty() && query.limit.is_none() && query.offset.is_none() {
                let rows = std::mem::take(rows);
                let names = std::mem::take(&mut query.columns);
                *query = self.rows_query(rows, up, condition)?;
                for (column, own) in query.columns.iter_mut().zip(names) {
                    column.name = own.name;
                }
                return Ok(());
            }
        }
        let offset = self.offset(query.range_table.len());
        if !matches!(query.body, QueryBody::Select(_)) {
            let alone = self.items().is_empty() && condition.is_none();
            if !alone {
                return Err(PgError::new(
                    SqlState::FEATURE_NOT_SUPPORTED,
                    "conditional UNION/INTERSECT/EXCEPT statements are not implemented",
                ));
            }
        }
        let mut error = None;
        walk::query_exprs_mut(query, 0, &mut |depth, e| {
            if let Err(e) = self.put_here(e, depth, up, offset) {
                error.get_or_insert(e);
            }
        });
        if let Some(error) = error {
            return Err(error);
        }
        let Query { range_table, body, ctes, .. } = query;
        let QueryBody::Select(select) = body else { return Ok(()) };
        self.join(Place { entries: range_table, from: &mut select.from, filter: &mut select.filter, ctes }, condition)
    }

    /// A data modification (its RETURNING apart). Returns the source's place among its entries; None: it is not among them.
    fn into_modify(&self, modify: &mut Modify, condition: Option<&Expr>) -> Result<Option<isize>> {
        let offset = self.offset(modify.range_table.len());
        if let ModifyAction::Insert { source, .. } = &modify.action {
            return match source {
                InsertSource::Values(_) => self.into_values(modify, condition),
                InsertSource::Query { .. } => self.into_insert_select(modify, condition),
            };
        }
        if modify.range_table.iter().any(|e| names_rows_inside(e, 1)) {
            return Err(PgError::not_supported("OLD or NEW in an item of FROM of a rule's command"));
        }
        let mut error = None;
        let mut put = |depth: usize, e: &mut Expr| {
            if let Err(e) = self.put_here(e, depth, 1, offset) {
                error.get_or_insert(e);
            }
        };
        walk::entry_exprs_mut(&mut modify.range_table, 0, &mut put);
        for cte in &mut modify.ctes {
            if let crate::typed::CteBody::Query(query) = &mut cte.body {
                walk::query_exprs_mut(query, 1, &mut put);
            }
        }
        for e in crate::walk::modify_exprs_mut(modify) {
            walk::deep_mut(e, 0, &mut put);
        }
        if let Some(error) = error {
            return Err(error);
        }
        let Modify { range_table, ctes, action, .. } = modify;
        let (from, filter) = match action {
            ModifyAction::Update { from, filter, .. } => (from, filter),
            ModifyAction::Delete { using, filter } => (using, filter),
            _ => return Err(PgError::not_supported("MERGE as a rule's command")),
        };
        self.join(Place { entries: range_table, from, filter, ctes }, condition)?;
        Ok(Some(offset))
    }

    /// INSERT … VALUES.
    fn into_values(&self, modify: &mut Modify, condition: Option<&Expr>) -> Result<Option<isize>> {
        let ModifyAction::Insert { source: InsertSource::Values(rows), .. } = &mut modify.action else {
            return Err(PgError::internal("VALUES expected"));
        };
        if self.items().is_empty() && condition.is_none() {
            for value in rows.iter_mut().flatten() {
                self.put(value, 1, self.offset(1))?;
            }
            if !self.modify().ctes.is_empty() {
                modify.ctes.clone_from(&self.modify().ctes);
            }
            return Ok(None);
        }
        let rows = std::mem::take(rows);
        let query = self.rows_query(rows, 1, condition)?;
        set_rows(modify, query);
        Ok(None)
    }

    /// The rows of VALUES for each of the source's rows. OLD and NEW are `up` levels above them.
    fn rows_query(&self, mut rows: Vec<Vec<Expr>>, up: usize, condition: Option<&Expr>) -> Result<Query> {
        if rows.iter().flatten().any(|v| matches!(v.kind, ExprKind::Default)) {
            return Err(PgError::not_supported("a rule's INSERT with a DEFAULT that only SQLite knows"));
        }
        let offset = self.offset(0);
        for value in rows.iter_mut().flatten() {
            self.put(value, up, offset)?;
        }
        let count = rows.len();
        let mut rows = rows.into_iter();
        let first = rows.next().ok_or_else(|| PgError::internal("VALUES without rows"))?;
        let mut query = self.query_of(first, None);
        let QueryBody::Select(select) = &mut query.body else { return Err(PgError::internal("a SELECT expected")) };
        if count > 1 {
            // their numbers are joined, and each value is that of the row with the number
            let number = |n: usize| Expr::new(ExprKind::Const(Datum::Int(n as i64)), oid::INT4, -1);
            let column = plain_column("column1", oid::INT4, -1);
            let numbers =
                Query::new(QueryBody::Values((1..=count).map(|n| vec![number(n)]).collect()), vec![column.clone()]);
            let kind = RteKind::Subquery { query: Box::new(numbers), lateral: false };
            query.range_table.push(super::super::entry(kind, "*VALUES*".into(), true, vec![column.clone()]));
            let at = query.range_table.len() - 1;
            select.from.push(FromItem::Entry(at));
            let others: Vec<Vec<Expr>> = rows.collect();
            for (i, target) in select.targets.iter_mut().enumerate() {
                let own = std::mem::replace(&mut target.expr, number(0));
                let (ty, typmod) = (own.ty, own.typmod);
                let values = std::iter::once(own).chain(others.iter().filter_map(|row| row.get(i).cloned()));
                let is = |n: usize| {
                    let args = vec![super::super::var(0, at, 0, &column, -1), number(n)];
                    Expr::new(ExprKind::Op { op: INT4_EQUALS, args }, oid::BOOL, -1)
                };
                let whens = values.enumerate().map(|(row, value)| (is(row + 1), value)).collect();
                target.expr = Expr::new(ExprKind::Case { whens, otherwise: None }, ty, -1).with_typmod(typmod);
            }
        }
        let mut filter = self.filter().map(|f| moved(f, offset, 0));
        if let Some(condition) = condition {
            let mut condition = condition.clone();
            self.put(&mut condition, 1, offset)?;
            filter = both(filter, Some(condition));
        }
        select.filter = filter;
        query.ctes.clone_from(&self.modify().ctes);
        Ok(query)
    }

    /// INSERT … SELECT: the rows go into the SELECT.
    fn into_insert_select(&self, modify: &mut Modify, condition: Option<&Expr>) -> Result<Option<isize>> {
        let ModifyAction::Insert { source: InsertSource::Query { query, .. }, .. } = &mut modify.action else {
            return Err(PgError::internal("a query expected"));
        };
        self.into_query(query, 2, condition)?;
        let copy = query.clone();
        for entry in &mut modify.range_table {
            if entry.alias == SOURCE {
                if let RteKind::Subquery { query, .. } = &mut entry.kind {
                    query.clone_from(&copy);
                }
            }
        }
        Ok(None)
    }

    /// What the statement's RETURNING shows: of the target's columns what the command's RETURNING (`own`) gives for them.
    fn returning(&self, own: Vec<Target>, offset: Option<isize>) -> Result<Vec<Target>> {
        let wanted = &self.modify().returning;
        if own.is_empty() || wanted.is_empty() {
            return Ok(vec![]);
        }
        let unreachable = || PgError::not_supported("RETURNING of a rule's INSERT that names rows of the statement");
        let mut given = Vec::with_capacity(own.len());
        for mut target in own {
            if self.is_named(&target.expr, 1) {
                if offset.is_none() && !self.items().is_empty() {
                    return Err(unreachable());
                }
                self.put(&mut target.expr, 1, offset.unwrap_or(0))?;
            }
            given.push(target.expr);
        }
        if wanted.iter().any(|t| names_others(&t.expr)) {
            return Err(PgError::not_supported("RETURNING of other tables' columns in a statement with rules"));
        }
        let mut out = Vec::with_capacity(wanted.len());
        for target in wanted {
            let mut expr = target.expr.clone();
            // marked first, so that what is put in is not taken for the target's columns
            walk::deep_mut(&mut expr, 0, &mut |depth, e| match &mut e.kind {
                ExprKind::Var(Var { levels_up, rte, .. }) | ExprKind::WholeRow { levels_up, rte, .. }
                    if *levels_up == depth =>
                {
                    *rte = MARKED;
                }
                _ => {}
            });
            let mut missing = false;
            walk::deep_mut(&mut expr, 0, &mut |depth, e| match &mut e.kind {
                ExprKind::Var(v) if v.levels_up == depth && v.rte == MARKED => match given.get(v.column) {
                    Some(value) => *e = moved(value, 0, depth),
                    None => missing = true,
                },
                ExprKind::WholeRow { levels_up, rte: MARKED, .. } if *levels_up == depth => {
                    e.kind = ExprKind::Row(given.iter().map(|value| moved(value, 0, depth)).collect());
                }
                _ => {}
            });
            if missing {
                return Err(PgError::not_supported("a system column in RETURNING of a statement with rules"));
            }
            out.push(Target { expr, ..target.clone() });
        }
        Ok(out)
    }
}

/// Whether a rule's command or condition names OLD and NEW.
fn rows_named(command: &Product, condition: Option<&Expr>) -> (bool, bool) {
    let mut rows = (false, false);
    if let Some(condition) = condition {
        walk::deep(condition, 0, &mut |depth, e| Source::note_rows(e, depth, 1, &mut rows));
    }
    match command {
        Product::Notify { .. } => {}
        Product::Query(query) => walk::query_exprs(query, 0, &mut |depth, e| Source::note_rows(e, depth, 1, &mut rows)),
        Product::Modify(modify) => {
            walk::entry_exprs(&modify.range_table, 0, &mut |depth, e| Source::note_rows(e, depth, 1, &mut rows));
            let mut modify = modify.clone();
            for e in crate::walk::modify_exprs_mut(&mut modify) {
                walk::deep(e, 0, &mut |depth, e| Source::note_rows(e, depth, 1, &mut rows));
            }
        }
    }
    rows
}

/// Whether an entry of FROM, but for functions, names OLD or NEW, which are `up` levels above the query.
fn names_rows_inside(entry: &RangeTableEntry, up: usize) -> bool {
    let mut rows = (false, false);
    let one = std::slice::from_ref(entry);
    walk::entry_exprs(one, 0, &mut |depth, e| Source::note_rows(e, depth, up, &mut rows));
    rows.0 || rows.1
}

/// The entry of variables that stand for the target's columns.
const MARKED: usize = usize::MAX;

/// Whether an expression of RETURNING names another entry than the target.
fn names_others(expr: &Expr) -> bool {
    let mut found = false;
    walk::deep(expr, 0, &mut |depth, e| match &e.kind {
        ExprKind::Var(v) => found |= v.levels_up == depth && v.rte != 0,
        ExprKind::WholeRow { levels_up, rte, .. } => found |= *levels_up == depth && *rte != 0,
        _ => {}
    });
    found
}
