//! What a statement has in place of OLD and NEW: the rows that it is about.

use super::super::{analyze_expression, plain_column, Environment};
use super::action::OLD;
use crate::catalog::Relation;
use crate::routine::Event;
use crate::typed::{
    BoolTest, Expr, ExprKind, FromItem, InsertSource, Modify, ModifyAction, Query, QueryBody, RangeTableEntry, RteKind,
    Select, Target, Var,
};
use crate::walk;
use pgsqlite_types::{oid, Datum, PgError, Result};
use std::borrow::Cow;
use std::cell::Cell;

/// The alias of the query whose rows an INSERT stores.
pub(super) const SOURCE: &str = "*SELECT*";

/// A statement that rules rewrite.
pub(super) struct Source<'m> {
    modify: Cow<'m, Modify>,
    pub event: Event,
    /// The expressions of the target's generated columns (over its live columns), by attribute number.
    generated: Vec<(i16, Expr)>,
    /// the target's rows are among those of the statement that is being made
    joined: Cell<bool>,
}

impl<'m> Source<'m> {
    /// Errors: 0A000 where the statement is of a form that is not rewritten.
    pub fn new(environment: &Environment, modify: &'m Modify, event: Event) -> Result<Source<'m>> {
        if modify.ctes.iter().any(|c| matches!(c.body, crate::typed::CteBody::Modify(_))) {
            return Err(PgError::not_supported("a data-modifying WITH before a statement that rules rewrite"));
        }
        let filter = match &modify.action {
            ModifyAction::Update { filter, .. } | ModifyAction::Delete { filter, .. } => filter.as_ref(),
            ModifyAction::Insert { .. } | ModifyAction::Merge { .. } => None,
        };
        if filter.is_some_and(|f| walk::any(f, &|e| matches!(e.kind, ExprKind::CurrentOf { .. }))) {
            return Err(PgError::not_supported("WHERE CURRENT OF in a statement that rules rewrite"));
        }
        let modify = match &modify.action {
            ModifyAction::Insert { source: InsertSource::Values(rows), .. } if rows.len() > 1 => {
                Cow::Owned(with_rows_as_entry(modify, rows)?)
            }
            _ => Cow::Borrowed(modify),
        };
        let mut generated = Vec::new();
        for column in modify.target.live_columns() {
            if let Some(text) = &column.generated {
                let target = Some((column.type_oid, column.typmod));
                generated.push((column.attnum, analyze_expression(environment, text, Some(&modify.target), target)?));
            }
        }
        Ok(Source { modify, event, generated, joined: Cell::new(true) })
    }

    /// Whether a statement that names OLD or NEW as told needs the target's rows: else they are left out, as PostgreSQL leaves them out, and
    /// a command that says nothing of them is carried out once, however many there are.
    pub fn join_target(&self, old: bool, new: bool) {
        let mut named = old || new && self.event == Event::Update;
        if let Some(filter) = self.filter() {
            walk::deep(filter, 0, &mut |depth, e| match &e.kind {
                ExprKind::Var(v) => named |= v.levels_up == depth && v.rte == 0,
                ExprKind::WholeRow { levels_up, rte, .. } => named |= *levels_up == depth && *rte == 0,
                _ => {}
            });
        }
        self.joined.set(named);
    }

    pub fn modify(&self) -> &Modify {
        &self.modify
    }

    pub fn relation(&self) -> &Relation {
        &self.modify.target
    }

    /// The entries of its rows. (Those of INSERT do not have the target among them.)
    pub fn entries(&self) -> &[RangeTableEntry] {
        &self.modify.range_table[self.first()..]
    }

    /// Its first entry that is among [`Source::entries`].
    fn first(&self) -> usize {
        usize::from(self.event == Event::Insert)
    }

    /// What is added to an entry's number where the entries stand behind `others` others.
    pub fn offset(&self, others: usize) -> isize {
        others as isize - self.first() as isize
    }

    /// Its FROM list; empty: it is about one row.
    pub fn items(&self) -> Vec<FromItem> {
        match &self.modify.action {
            ModifyAction::Insert { .. } => {
                let entries = self.modify.range_table.iter().enumerate().skip(1);
                entries.filter(|(_, e)| e.alias == SOURCE).map(|(i, _)| FromItem::Entry(i)).collect()
            }
            ModifyAction::Update { from: others, .. } | ModifyAction::Delete { using: others, .. } => {
                self.joined.get().then_some(FromItem::Entry(0)).into_iter().chain(others.iter().cloned()).collect()
            }
            ModifyAction::Merge { .. } => vec![],
        }
    }

    pub fn filter(&self) -> Option<&Expr> {
        match &self.modify.action {
            ModifyAction::Update { filter, .. } | ModifyAction::Delete { filter, .. } => filter.as_ref(),
            ModifyAction::Insert { .. } | ModifyAction::Merge { .. } => None,
        }
    }

    /// What a column (among the live ones) of OLD or NEW is, in terms of the source's entries.
    fn value(&self, row: usize, column: usize) -> Result<Expr> {
        let live = self.relation().live_columns().nth(column);
        let Some(live) = live else { return Err(PgError::not_supported("a system column of OLD or NEW in a rule")) };
        let old = || {
            let own = &self.modify.range_table[0].columns;
            let at = own.iter().position(|c| c.attnum == live.attnum);
            // (a view's query has its columns in the view's order)
            let at = at.unwrap_or(column);
            own.get(at)
                .map(|c| Expr {
                    kind: ExprKind::Var(Var { levels_up: 0, rte: 0, column: at }),
                    ty: c.ty,
                    typmod: c.typmod,
                    collation: c.collation,
                    location: -1,
                })
                .ok_or_else(|| PgError::internal("a column of OLD that is not there"))
        };
        if row == OLD {
            return old();
        }
        if let Some((_, expr)) = self.generated.iter().find(|(attnum, _)| *attnum == live.attnum) {
            // what the columns that it is made from will be
            let mut error = None;
            let computed = walk::map(expr, &mut |e| match &e.kind {
                ExprKind::Var(v) => self.value(row, v.column).map_err(|e| error = Some(e)).ok(),
                _ => None,
            });
            return error.map_or(Ok(computed), Err);
        }
        if live.sqlite_generated {
            return Err(PgError::not_supported("NEW of a column that SQLite generates"));
        }
        let given = match &self.modify.action {
            ModifyAction::Insert { columns, source, .. } => {
                let at = columns.iter().position(|a| *a == live.attnum);
                let values = match source {
                    InsertSource::Values(rows) => rows.first(),
                    InsertSource::Query { values, .. } => Some(values),
                };
                at.and_then(|at| values.and_then(|v| v.get(at))).cloned()
            }
            ModifyAction::Update { set, .. } => match set.iter().find(|(a, _)| *a == live.attnum) {
                Some((_, value)) => Some(value.clone()),
                None => return old(),
            },
            _ => None,
        };
        if live.sqlite_default && given.is_none() {
            return Err(PgError::not_supported("NEW of a column whose default only SQLite knows"));
        }
        Ok(match given {
            Some(value) if !matches!(value.kind, ExprKind::Default) => value,
            _ => Expr::new(ExprKind::Const(Datum::Null), live.type_oid, -1).with_typmod(live.typmod),
        })
    }

    /// Puts the source's expressions where `expr` names OLD and NEW, which are `up` levels above it. Its entries are at `offset` in the
    /// level of the expression.
    pub fn put(&self, expr: &mut Expr, up: usize, offset: isize) -> Result<()> {
        let mut error = None;
        walk::deep_mut(expr, 0, &mut |depth, e| {
            if let Err(e) = self.put_here(e, depth, up, offset) {
                error.get_or_insert(e);
            }
        });
        error.map_or(Ok(()), Err)
    }

    /// As [`Source::put`], of one node, `depth` levels below that of the entries.
    pub fn put_here(&self, e: &mut Expr, depth: usize, up: usize, offset: isize) -> Result<()> {
        match &e.kind {
            ExprKind::Var(v) if v.levels_up == depth + up => {
                *e = moved(&self.value(v.rte, v.column)?, offset, depth);
            }
            ExprKind::WholeRow { levels_up, rte, fields } if *levels_up == depth + up => {
                if *rte == OLD && self.event != Event::Insert {
                    let rte = usize::try_from(offset).map_err(|_| PgError::internal("OLD without an entry"))?;
                    e.kind = ExprKind::WholeRow { levels_up: depth, rte, fields: fields.clone() };
                } else {
                    let row = *rte;
                    let count = self.relation().live_columns().count();
                    let values = (0..count)
                        .map(|column| Ok(moved(&self.value(row, column)?, offset, depth)))
                        .collect::<Result<Vec<_>>>()?;
                    e.kind = ExprKind::Row(values);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Notes whether a node, `depth` levels below the one that is `up` levels below them, is OLD's or NEW's.
    pub fn note_rows(e: &Expr, depth: usize, up: usize, rows: &mut (bool, bool)) {
        let (levels_up, rte) = match &e.kind {
            ExprKind::Var(v) => (v.levels_up, v.rte),
            ExprKind::WholeRow { levels_up, rte, .. } => (*levels_up, *rte),
            _ => return,
        };
        if levels_up == depth + up {
            match rte {
                OLD => rows.0 = true,
                _ => rows.1 = true,
            }
        }
    }

    /// Whether an expression names OLD or NEW, which are `up` levels above it.
    pub fn is_named(&self, expr: &Expr, up: usize) -> bool {
        let mut rows = (false, false);
        walk::deep(expr, 0, &mut |depth, e| Source::note_rows(e, depth, up, &mut rows));
        rows.0 || rows.1
    }

    /// The rows of an INSERT as a query, each with `values` (over the source's entries).
    pub fn query_of(&self, values: Vec<Expr>, filter: Option<Expr>) -> Query {
        let offset = self.offset(0);
        let mut entries = self.entries().to_vec();
        shift_entries(&mut entries, offset);
        let columns = values.iter().enumerate().map(|(i, v)| column_of(i, v)).collect();
        let targets = values
            .into_iter()
            .enumerate()
            .map(|(i, expr)| Target { expr, name: format!("column{}", i + 1), origin: (0, 0) })
            .collect();
        let from = self.items().into_iter().map(|item| shifted(item, offset)).collect();
        let select = Select { targets, from, filter, ..Default::default() };
        Query { range_table: entries, ..Query::new(QueryBody::Select(select), columns) }
    }

    /// The statement for the rows of which none of the conditions (OLD and NEW one level up) is true.
    pub fn but_not(&self, conditions: &[Expr]) -> Result<Modify> {
        let negated = |offset: isize| -> Result<Option<Expr>> {
            let mut all = None;
            for condition in conditions {
                let mut condition = condition.clone();
                self.put(&mut condition, 1, offset)?;
                let test = ExprKind::BoolTest { arg: Box::new(condition), test: BoolTest::NotTrue };
                all = super::super::view_target::both(all, Some(Expr::new(test, oid::BOOL, -1)));
            }
            Ok(all)
        };
        let mut modify = self.modify().clone();
        match &mut modify.action {
            ModifyAction::Update { filter, .. } | ModifyAction::Delete { filter, .. } => {
                *filter = super::super::view_target::both(filter.take(), negated(0)?);
            }
            ModifyAction::Insert { source, .. } => {
                let offset = self.offset(0);
                let mut values = match source {
                    InsertSource::Values(rows) if rows.len() == 1 => rows.remove(0),
                    InsertSource::Values(_) => return Err(PgError::internal("rows that are no entry")),
                    InsertSource::Query { values, .. } => std::mem::take(values),
                };
                if values.iter().any(|v| matches!(v.kind, ExprKind::Default)) {
                    return Err(PgError::not_supported("DEFAULT that only SQLite knows, where a rule has a condition"));
                }
                values.iter_mut().for_each(|v| *v = moved(v, offset, 0));
                let mut query = self.query_of(values, negated(offset)?);
                // its entries name the WITH queries of the level they are in
                query.ctes.clone_from(&self.modify().ctes);
                set_rows(&mut modify, query);
            }
            ModifyAction::Merge { .. } => return Err(PgError::internal("MERGE with rules")),
        }
        Ok(modify)
    }
}

fn column_of(i: usize, value: &Expr) -> crate::typed::RteColumn {
    crate::typed::RteColumn {
        collation: value.collation,
        ..plain_column(&format!("column{}", i + 1), value.ty, value.typmod)
    }
}

/// An INSERT of the rows of a query that has the columns in order.
pub(super) fn set_rows(modify: &mut Modify, query: Query) {
    let columns = query.columns.clone();
    let kind = RteKind::Subquery { query: Box::new(query.clone()), lateral: false };
    let entry = super::super::entry(kind, SOURCE.into(), true, columns.clone());
    // (ON CONFLICT has an entry, too)
    let at = match modify.range_table.iter().position(|e| e.alias == SOURCE) {
        Some(at) => {
            modify.range_table[at] = entry;
            at
        }
        None => {
            modify.range_table.push(entry);
            modify.range_table.len() - 1
        }
    };
    let values = columns.iter().enumerate().map(|(i, c)| super::super::var(0, at, i, c, -1)).collect();
    if let ModifyAction::Insert { source, .. } = &mut modify.action {
        *source = InsertSource::Query { query: Box::new(query), values };
    }
}

/// INSERT of several rows, as if they were a query's.
fn with_rows_as_entry(modify: &Modify, rows: &[Vec<Expr>]) -> Result<Modify> {
    if rows.iter().flatten().any(|v| matches!(v.kind, ExprKind::Default)) {
        return Err(PgError::not_supported("DEFAULT that only SQLite knows, for a table with rules"));
    }
    let first = rows.first().ok_or_else(|| PgError::internal("VALUES without rows"))?;
    let columns = first.iter().enumerate().map(|(i, v)| column_of(i, v)).collect();
    let mut modify = modify.clone();
    set_rows(&mut modify, Query::new(QueryBody::Values(rows.to_vec()), columns));
    Ok(modify)
}

/// A copy of an expression over the source's entries for a place `depth` levels below them, where they are `offset` further on.
pub(super) fn moved(expr: &Expr, offset: isize, depth: usize) -> Expr {
    let mut out = expr.clone();
    out.location = -1;
    walk::deep_mut(&mut out, 0, &mut |inside, e| match &mut e.kind {
        ExprKind::Var(Var { levels_up, rte, .. }) | ExprKind::WholeRow { levels_up, rte, .. }
            if *levels_up == inside =>
        {
            *rte = rte.wrapping_add_signed(offset);
            *levels_up += depth;
        }
        ExprKind::SubLink { query, .. } => super::super::shift_with_references(query, inside + 1, depth),
        _ => {}
    });
    out
}

/// The entries among others, `offset` further on.
pub(super) fn shift_entries(entries: &mut [RangeTableEntry], offset: isize) {
    walk::entry_exprs_mut(entries, 0, &mut |inside, e| match &mut e.kind {
        ExprKind::Var(Var { levels_up, rte, .. }) | ExprKind::WholeRow { levels_up, rte, .. }
            if *levels_up == inside =>
        {
            *rte = rte.wrapping_add_signed(offset);
        }
        _ => {}
    });
}

/// An item of FROM whose entries are `offset` further on.
pub(super) fn shifted(item: FromItem, offset: isize) -> FromItem {
    match item {
        FromItem::Entry(i) => FromItem::Entry(i.wrapping_add_signed(offset)),
        FromItem::Join { kind, left, right, on, using, using_alias, entry } => FromItem::Join {
            kind,
            left: Box::new(shifted(*left, offset)),
            right: Box::new(shifted(*right, offset)),
            on: on.map(|e| moved(&e, offset, 0)),
            using,
            using_alias,
            entry: entry.map(|i| i.wrapping_add_signed(offset)),
        },
    }
}
