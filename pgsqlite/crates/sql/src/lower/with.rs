//! INSERT, UPDATE, DELETE in WITH, and what they share with the rest of their statement.
//!
//! Each modification runs as a step of its own and leaves the rows of its RETURNING in a temporary table, which stands for
//! the WITH query afterwards. In PostgreSQL all parts of a statement see the tables as they were before it: a table that one
//! part changes and another one reads is copied first, and the copy is read.

use super::{Lowerer, Scope};
use crate::catalog::{Relation, RelationKind};
use crate::plan::{ByRows, Step, StepOutput, Triggered};
use crate::typed::{
    Cte, CteBody, Expr, ExprKind, FromItem, InsertSource, Modify, ModifyAction, Query, QueryBody, RteColumn, RteKind,
};
use crate::volatility;
use crate::walk;
use crate::walk::modify_exprs_mut;
use pgsqlite_types::{Oid, PgError, Result};
use std::borrow::Cow;
use std::sync::Arc;

impl Lowerer<'_> {
    /// The query over what its modifying WITH queries left; their steps and tables are added.
    pub(super) fn modifying_ctes<'q>(
        &mut self,
        query: &'q Query,
        steps: &mut Vec<Step>,
        modifies: &mut Vec<Oid>,
    ) -> Result<Cow<'q, Query>> {
        let changed = self.with_their_parts(changed_tables(&query.ctes));
        if changed.is_empty() {
            return Ok(Cow::Borrowed(query));
        }
        let mut query = query.clone();
        let order = Order::of(&query.ctes, &|i| query_names(&query, 0, i));
        let order = order.all_first();
        self.note_repeated(&query.ctes, &order, None)?;
        let mut all = Vec::new();
        each_table(&mut query, &mut |r| all.push(r.clone()));
        let changed = self.with_read_tables(&query.ctes, changed, &all);
        self.check_read_by_ctes(&query.ctes, &changed, all)?;
        let mut read = Vec::new();
        each_table(&mut query, &mut |r| note(r, &changed, &mut read));
        let copies = self.copies(&query.ctes, &changed, read, steps)?;
        each_table(&mut query, &mut |r| replace(r, &copies));
        let (now, _) = self.run_modifying_ctes(&mut query.ctes, &order, true, &copies, modifies)?;
        steps.extend(now);
        Ok(Cow::Owned(query))
    }

    /// The same for a data modification.
    pub(super) fn modification_after_ctes<'m>(
        &mut self,
        modify: &'m Modify,
        steps: &mut Vec<Step>,
        modifies: &mut Vec<Oid>,
    ) -> Result<Cow<'m, Modify>> {
        let mut changed = self.with_their_parts(changed_tables(&modify.ctes));
        if changed.is_empty() {
            return Ok(Cow::Borrowed(modify));
        }
        let mut modify = modify.clone();
        let order = Order::of(&modify.ctes, &|i| modification_names(&modify, 0, i));
        let own = self.with_their_parts(vec![modify.target.oid]);
        // whether the statement's own rows come before those of parts that it does not read can be told only by a table of both
        let apart = !own.iter().any(|table| changed.contains(table));
        let order = if apart { order.all_first() } else { order };
        self.note_repeated(&modify.ctes, &order, Some(&modify))?;
        if !order.unread.is_empty() {
            // (named twice: what a part reads of it is not what the part alone changes)
            changed.extend(own);
        }
        let mut all = Vec::new();
        each_table_of_modify(&mut modify, &mut |r| all.push(r.clone()));
        let changed = self.with_read_tables(&modify.ctes, changed, &all);
        self.check_read_by_ctes(&modify.ctes, &changed, all)?;
        let mut read = Vec::new();
        each_table_of_modify(&mut modify, &mut |r| note(r, &changed, &mut read));
        for cte in &mut modify.ctes {
            // the target, too, is a table that WITH queries must not see changed: nothing has changed it yet
            if let CteBody::Query(query) = &mut cte.body {
                each_table(query, &mut |r| note(r, &changed, &mut read));
            }
        }
        let copies = self.copies(&modify.ctes, &changed, read, steps)?;
        each_table_of_modify(&mut modify, &mut |r| replace(r, &copies));
        let (before, after) = self.run_modifying_ctes(&mut modify.ctes, &order, false, &copies, modifies)?;
        steps.extend(before);
        self.unread_parts.extend(after);
        Ok(Cow::Owned(modify))
    }

    /// Tables that several parts of a statement change: no part may meet a row that another one has inserted or changed. `main`: the
    /// statement itself. Errors: 0A000 where a part does not note its rows.
    fn note_repeated(&mut self, ctes: &[Cte], order: &Order, main: Option<&Modify>) -> Result<()> {
        let part = |i: &usize| match &ctes[*i].body {
            CteBody::Modify(modify) => Some(&**modify),
            CteBody::Query(_) => None,
        };
        let parts: Vec<&Modify> = order.read.iter().filter_map(part).chain(main).collect();
        let parts: Vec<&Modify> = parts.into_iter().chain(order.unread.iter().filter_map(part)).collect();
        let tables: Vec<Vec<Oid>> = parts.iter().map(|p| self.with_their_parts(vec![p.target.oid])).collect();
        for (i, part) in parts.iter().enumerate() {
            // (PostgreSQL carries out the actions of foreign keys when all parts are done)
            for changing in &parts[..i] {
                for (child, constraint) in self.reached_by_actions(changing) {
                    if tables[i].contains(&child.oid) {
                        return Err(PgError::not_supported(format!(
                            "a change of table \"{}\" beside that of another part of the statement, which reaches it by foreign key \
                             \"{constraint}\"",
                            child.name
                        )));
                    }
                }
            }
            let earlier: Vec<usize> = (0..i).filter(|&e| tables[e].iter().any(|t| tables[i].contains(t))).collect();
            // (a row that is there is left as it is by DO NOTHING, whoever has stored it)
            let adds = matches!(&part.action, ModifyAction::Insert { on_conflict, .. }
                if on_conflict.as_ref().is_none_or(|conflict| conflict.set.is_none()));
            if earlier.is_empty() || adds {
                continue;
            }
            let notes = |m: &Modify| {
                !matches!(m.action, ModifyAction::Merge { .. }) && matches!(m.target.kind, RelationKind::Table)
            };
            if !notes(part) || !earlier.iter().all(|&e| notes(parts[e])) {
                return Err(PgError::not_supported("changing a table twice in one statement"));
            }
            self.changed_by_several.extend(&tables[i]);
        }
        Ok(())
    }

    /// Tables with the children and partitions that change with them.
    fn with_their_parts(&self, tables: Vec<Oid>) -> Vec<Oid> {
        tables.iter().flat_map(|t| self.env.catalog.with_descendants(*t)).collect()
    }

    /// The tables that WITH queries change, with those that actions of foreign keys change, and those that triggers may change meanwhile:
    /// all that are read.
    fn with_read_tables(&self, ctes: &[Cte], mut changed: Vec<Oid>, read: &[Arc<Relation>]) -> Vec<Oid> {
        for cte in ctes {
            let CteBody::Modify(modify) = &cte.body else { continue };
            changed.extend(self.reached_by_actions(modify).iter().map(|(child, _)| child.oid));
        }
        let fires = |cte: &Cte| matches!(&cte.body, CteBody::Modify(modify) if self.fires_triggers(modify));
        if !ctes.iter().any(fires) {
            return changed;
        }
        let mut tables: Vec<Oid> = read.iter().filter(|r| r.kind == RelationKind::Table).map(|r| r.oid).collect();
        for cte in ctes {
            let mut note = |r: &mut Arc<Relation>| tables.extend((r.kind == RelationKind::Table).then_some(r.oid));
            match cte.body.clone() {
                CteBody::Query(mut query) => each_table(&mut query, &mut note),
                CteBody::Modify(mut modify) => each_table_of_modify(&mut modify, &mut note),
            }
        }
        for table in tables {
            if !changed.contains(&table) {
                changed.push(table);
            }
        }
        changed
    }

    /// Refuses tables that stand for several, one of which another part of the statement changes. `all`: those that are read
    /// besides what WITH queries read.
    fn check_read_by_ctes(&self, ctes: &[Cte], changed: &[Oid], mut all: Vec<Arc<Relation>>) -> Result<()> {
        for cte in ctes {
            match cte.body.clone() {
                CteBody::Query(mut query) => each_table(&mut query, &mut |r| all.push(r.clone())),
                CteBody::Modify(mut modify) => each_table_of_modify(&mut modify, &mut |r| all.push(r.clone())),
            }
        }
        self.check_no_ancestors(changed, &all)
    }

    /// Steps that copy the changed tables that are read: what stands for each.
    fn copies(
        &mut self,
        ctes: &[Cte],
        changed: &[Oid],
        mut read: Vec<Arc<Relation>>,
        steps: &mut Vec<Step>,
    ) -> Result<Vec<(Oid, Arc<Relation>)>> {
        for cte in ctes {
            match cte.body.clone() {
                CteBody::Query(mut query) => each_table(&mut query, &mut |r| note(r, changed, &mut read)),
                CteBody::Modify(mut modify) => {
                    // what it reads of its own target is as it was, if nothing else changes that
                    let own = modify.target.oid;
                    let alone = changed.iter().filter(|oid| **oid == own).count() == 1;
                    let others: Vec<Oid> = changed.iter().copied().filter(|oid| *oid != own || !alone).collect();
                    each_table_of_modify(&mut modify, &mut |r| note(r, &others, &mut read));
                }
            }
        }
        read.into_iter().map(|relation| Ok((relation.oid, self.copy_step(&relation, steps)?))).collect()
    }

    /// A step that copies a table: what stands for it.
    pub(super) fn copy_step(&mut self, relation: &Relation, steps: &mut Vec<Step>) -> Result<Arc<Relation>> {
        let texts = self.target_columns(relation, "")?;
        let columns: Vec<String> = texts.iter().enumerate().map(|(i, text)| format!("{text} AS c{}", i + 1)).collect();
        let width = columns.len();
        let table = format!("{}_{width}", self.unique("pg_before_"));
        steps.push(Step {
            sql: format!("SELECT {} FROM {}", columns.join(", "), self.read_table(relation)),
            output: StepOutput::Materialize { table: table.clone(), columns: width },
            counts: false,
            deletes: false,
            by_rows: None,
        });
        Ok(Arc::new(stand_in(&table, &crate::analyze::relation_columns(relation))))
    }

    /// The steps of WITH queries: of those that come before the statement's own rows, and of those that come after them. `order` has both;
    /// `shown`: the statement itself only shows what it reads.
    fn run_modifying_ctes(
        &mut self,
        ctes: &mut [Cte],
        order: &Order,
        shown: bool,
        copies: &[(Oid, Arc<Relation>)],
        modifies: &mut Vec<Oid>,
    ) -> Result<(Vec<Step>, Vec<Step>)> {
        // what reads a part reads the rows that it leaves
        let mut parts: Vec<Option<Modify>> = vec![None; ctes.len()];
        for (i, cte) in ctes.iter_mut().enumerate() {
            let CteBody::Modify(modify) = &mut cte.body else { continue };
            let modify = (**modify).clone();
            let table = if modify.returning.is_empty() { String::new() } else { table_of_part(i, cte) };
            cte.body = CteBody::Query(materialized_query(&table, cte));
            parts[i] = Some(modify);
        }
        // The AFTER … FOR EACH STATEMENT triggers of a part that another one reads are due when that one has asked for its last row.
        let mut due: Vec<(usize, Step)> = Vec::new();
        let changes: Vec<bool> = parts.iter().map(Option::is_some).collect();
        let mut all = [Vec::new(), Vec::new()];
        for (steps, numbers, first) in [(0, &order.read, true), (1, &order.unread, false)] {
            for &i in numbers {
                let after =
                    self.run_with_query(ctes, (i, parts[i].take()), copies, first, modifies, &mut all[steps])?;
                if changes[i] {
                    let (now, later) = due.into_iter().partition(|(part, _)| order.reads[i][*part]);
                    due = later;
                    all[steps].extend(now.into_iter().map(|(_, step)| step));
                }
                let Some(after) = after else { continue };
                let by_part = (0..ctes.len()).any(|other| changes[other] && order.reads[other][i]);
                match by_part || (first && !shown) {
                    true => due.push((i, after)),
                    false => all[steps].push(after),
                }
            }
            let left = due.drain(..).map(|(_, step)| step);
            if first {
                self.after_statements.extend(left)
            } else {
                all[steps].extend(left)
            }
        }
        let [before, after] = all;
        Ok((before, after))
    }

    /// The steps of WITH query `i`, with the modification that it is; gives the one of its AFTER … FOR EACH STATEMENT triggers. `first`:
    /// the statement itself has changed nothing yet.
    fn run_with_query(
        &mut self,
        ctes: &mut [Cte],
        (i, part): (usize, Option<Modify>),
        copies: &[(Oid, Arc<Relation>)],
        first: bool,
        modifies: &mut Vec<Oid>,
        steps: &mut Vec<Step>,
    ) -> Result<Option<Step>> {
        let table = table_of_part(i, &ctes[i]);
        let Some(mut modify) = part else {
            let CteBody::Query(query) = &ctes[i].body else { return Ok(None) };
            // computed once for all parts
            let mut volatile = false;
            walk::query_exprs(query, 0, &mut |_, e| volatile |= volatility::shows_calls_in(self.env.catalog, e));
            if volatile && !ctes[i].recursive {
                let query = query.clone();
                self.scopes.push(Scope::default());
                let lowered =
                    self.with_queries(&ctes[..i]).and_then(|with| Ok(format!("{with}{}", self.query(&query)?)));
                self.scopes.pop();
                let columns = ctes[i].columns.len();
                let output = StepOutput::Materialize { table: table.clone(), columns };
                steps.push(Step::new(lowered?, output, false));
                ctes[i].body = CteBody::Query(materialized_query(&table, &ctes[i]));
            }
            return Ok(None);
        };
        let own = modify.target.oid;
        let mut substitutes: Vec<(Oid, Arc<Relation>)> = copies.to_vec();
        if first && modifies.is_empty() {
            substitutes.retain(|(oid, _)| *oid != own);
        }
        each_table_of_modify(&mut modify, &mut |r| replace(r, &substitutes));
        let columns = modify.returning.len();
        let output = match columns {
            0 => StepOutput::None,
            _ => StepOutput::Materialize { table, columns },
        };
        // it may refer to the WITH queries before it, which are those of the level around it
        self.scopes.push(Scope::default());
        if self.goes_by_rows(&modify) {
            let made = self.with_queries(&ctes[..i]).and_then(|with| self.part_by_rows(&modify, &with));
            self.scopes.pop();
            let mut made = made?;
            modifies.extend(self.changed_by_rows(&made));
            let [before, after] = Self::statements_of(&mut made);
            steps.push(before);
            steps.push(Self::step_by_rows(ByRows::Modify(made), output, false));
            return Ok(Some(after));
        }
        let lowered = self
            .with_queries(&ctes[..i])
            .and_then(|with| Ok((with, self.modify_steps(&modify, &modify.ctes.clone())?)));
        self.scopes.pop();
        let (with, mut step) = lowered?;
        if !with.is_empty() {
            for s in &mut step {
                if s.sql.starts_with("WITH ") {
                    return Err(PgError::not_supported("WITH in a data-modifying statement in WITH"));
                }
                s.sql.insert_str(0, &with);
            }
        }
        if let (Some(last), true) = (step.last_mut(), columns > 0) {
            last.output = output;
        }
        for s in &mut step {
            s.counts = false;
        }
        steps.extend(step);
        modifies.push(own);
        Ok(None)
    }

    /// The FOR EACH STATEMENT triggers of a part of a statement, as steps: those before its rows, and those after all rows of all
    /// parts.
    pub(super) fn statements_of(part: &mut Triggered) -> [Step; 2] {
        part.part_of_several = true;
        [true, false].map(|before| {
            let mut events = vec![(part.event, part.set.clone())];
            // (ON CONFLICT DO UPDATE: the last that begins is the first that ends)
            let update = part.conflict.as_ref().map(|conflict| (conflict.event, conflict.set.clone()));
            events.splice(if before { 1..1 } else { 0..0 }, update);
            let by_rows = ByRows::Statements { table: part.table, events, before };
            Self::step_by_rows(by_rows, StepOutput::None, false)
        })
    }

    /// A modification in WITH that is carried out row by row. `with`: the text of the WITH queries before it.
    fn part_by_rows(&mut self, modify: &Modify, with: &str) -> Result<Triggered> {
        if modify.returning.iter().any(|t| walk::any(&t.expr, &|e| matches!(e.kind, ExprKind::SubLink { .. }))) {
            return Err(PgError::not_supported(
                "a sub-query in RETURNING of a data-modifying WITH that is carried out row by row",
            ));
        }
        // (how many parameters the statement has is not known here: those of the rows come behind any that it may have)
        let parameters = self.parameters;
        let (mut made, _) = self.by_rows(modify, &modify.ctes, parameters)?;
        let put = |rows: &mut String| -> Result<()> {
            if with.is_empty() {
                return Ok(());
            }
            if rows.starts_with("WITH ") {
                return Err(PgError::not_supported("WITH in a data-modifying statement in WITH"));
            }
            rows.insert_str(0, with);
            Ok(())
        };
        put(&mut made.rows)?;
        if let Some(tuple_routing) = &mut made.tuple_routing {
            tuple_routing.branches.iter_mut().try_for_each(|branch| put(&mut branch.rows))?;
        }
        Ok(made)
    }
}

/// When the WITH queries of a statement are carried out. PostgreSQL begins a data-modifying one when its first row is asked for; those that
/// nobody asks are carried out when the statement's own rows are done, the last one first.
struct Order {
    /// those that come before the statement's own rows, which reads them, by itself or by others of them
    read: Vec<usize>,
    /// the other modifications, each behind what it reads
    unread: Vec<usize>,
    /// for each WITH query whether it reads another one, by itself or by others
    reads: Vec<Vec<bool>>,
}

impl Order {
    /// `names`: whether the statement itself names the WITH query of that number.
    fn of(ctes: &[Cte], names: &dyn Fn(usize) -> bool) -> Order {
        let mut reads: Vec<Vec<bool>> = Vec::new();
        for cte in ctes {
            let mut row = vec![false; ctes.len()];
            // (a WITH query names only those before it)
            for (other, further) in reads.iter().enumerate() {
                let named = match &cte.body {
                    CteBody::Query(query) => query_names(query, 1, other),
                    CteBody::Modify(modify) => modification_names(modify, 1, other),
                };
                if named {
                    row[other] = true;
                    row.iter_mut().zip(further).for_each(|(to, from)| *to |= from);
                }
            }
            reads.push(row);
        }
        let mut found = vec![false; ctes.len()];
        let mut add = |i: usize, to: &mut Vec<usize>| {
            for other in (0..=i).filter(|&other| other == i || reads[i][other]) {
                if !std::mem::replace(&mut found[other], true) {
                    to.push(other);
                }
            }
        };
        let (mut read, mut unread) = (Vec::new(), Vec::new());
        (0..ctes.len()).filter(|&i| names(i)).for_each(|i| add(i, &mut read));
        let modifications = (0..ctes.len()).rev().filter(|&i| matches!(ctes[i].body, CteBody::Modify(_)));
        modifications.for_each(|i| add(i, &mut unread));
        Order { read, unread, reads }
    }

    /// Everything comes before the statement's own rows.
    fn all_first(mut self) -> Order {
        self.read.append(&mut self.unread);
        self
    }
}

/// The temporary table of the rows that a part's RETURNING gives.
fn table_of_part(number: usize, cte: &Cte) -> String {
    format!("pg_with_{}_{}", number + 1, cte.columns.len())
}

/// Whether a query names the WITH query `index` of the level `depth` levels out.
pub(super) fn query_names(query: &Query, depth: usize, index: usize) -> bool {
    let mut uses = Vec::new();
    super::query::cte_uses(query, depth, index, false, &mut uses);
    !uses.is_empty()
}

/// The same of a data modification.
pub(super) fn modification_names(modify: &Modify, depth: usize, index: usize) -> bool {
    let mut found = modify.range_table.iter().any(|entry| match &entry.kind {
        RteKind::Cte { levels_up, index: i, .. } => *levels_up == depth && *i == index,
        RteKind::Subquery { query, .. } => query_names(query, depth + 1, index),
        _ => false,
    });
    for cte in &modify.ctes {
        if let (CteBody::Query(query), true) = (&cte.body, depth > 0) {
            found |= query_names(query, depth + 1, index);
        }
    }
    if let ModifyAction::Insert { source: InsertSource::Query { query, .. }, .. } = &modify.action {
        found |= query_names(query, depth + 1, index);
    }
    each_expr_of_modify(modify, &mut |expr| {
        walk::deep(expr, 0, &mut |at, e| {
            if let (0, ExprKind::SubLink { query, .. }) = (at, &e.kind) {
                found |= query_names(query, depth + 1, index);
            }
        });
    });
    found
}

/// The tables that WITH queries change, one entry per modification.
fn changed_tables(ctes: &[Cte]) -> Vec<Oid> {
    ctes.iter()
        .filter_map(|cte| match &cte.body {
            CteBody::Modify(modify) => Some(modify.target.oid),
            CteBody::Query(_) => None,
        })
        .collect()
}

fn note(table: &mut Arc<Relation>, changed: &[Oid], read: &mut Vec<Arc<Relation>>) {
    if changed.contains(&table.oid) && !read.iter().any(|r| r.oid == table.oid) {
        read.push(table.clone());
    }
}

fn replace(table: &mut Arc<Relation>, copies: &[(Oid, Arc<Relation>)]) {
    if let Some((_, copy)) = copies.iter().find(|(oid, _)| *oid == table.oid) {
        *table = copy.clone();
    }
}

/// Calls `f` on every table that a query reads, in sub-queries and WITH queries (but not in modifications), too.
fn each_table(query: &mut Query, f: &mut dyn FnMut(&mut Arc<Relation>)) {
    tables_of_from(query, f);
    walk::query_exprs_mut(query, 0, &mut |_, e| {
        if let ExprKind::SubLink { query, .. } = &mut e.kind {
            tables_of_from(query, f);
        }
    });
}

fn tables_of_from(query: &mut Query, f: &mut dyn FnMut(&mut Arc<Relation>)) {
    for entry in &mut query.range_table {
        match &mut entry.kind {
            RteKind::Relation(relation) => f(relation),
            RteKind::Subquery { query, .. } => tables_of_from(query, f),
            _ => {}
        }
    }
    for cte in &mut query.ctes {
        if let CteBody::Query(query) = &mut cte.body {
            tables_of_from(query, f);
        }
    }
    if let QueryBody::SetOperation { left, right, .. } = &mut query.body {
        tables_of_from(left, f);
        tables_of_from(right, f);
    }
}

/// As [`each_table`], of what a modification reads besides its target's own rows.
fn each_table_of_modify(modify: &mut Modify, f: &mut dyn FnMut(&mut Arc<Relation>)) {
    for entry in modify.range_table.iter_mut().skip(1) {
        match &mut entry.kind {
            RteKind::Relation(relation) if entry.alias != "excluded" => f(relation),
            RteKind::Subquery { query, .. } => each_table(query, f),
            _ => {}
        }
    }
    for cte in &mut modify.ctes {
        if let CteBody::Query(query) = &mut cte.body {
            each_table(query, f);
        }
    }
    if let ModifyAction::Insert { source: InsertSource::Query { query, .. }, .. } = &mut modify.action {
        each_table(query, f);
    }
    for expr in modify_exprs_mut(modify) {
        walk::deep_mut(expr, 0, &mut |_, e| {
            if let ExprKind::SubLink { query, .. } = &mut e.kind {
                tables_of_from(query, f);
            }
        });
    }
}

/// In an expression's sub-queries, `copy` is read in the place of a table.
pub(super) fn replace_in_sub_queries(expr: &mut Expr, table: Oid, copy: &Arc<Relation>) {
    let copies = [(table, copy.clone())];
    walk::deep_mut(expr, 0, &mut |_, e| {
        if let ExprKind::SubLink { query, .. } = &mut e.kind {
            tables_of_from(query, &mut |r| replace(r, &copies));
        }
    });
}

/// Visits the expressions that [`modify_exprs_mut`] lists, of a data modification that stays as it is.
pub(super) fn each_expr_of_modify(modify: &Modify, visit: &mut dyn FnMut(&Expr)) {
    let mut copy = modify.clone();
    modify_exprs_mut(&mut copy).into_iter().for_each(|expr| visit(expr));
}

/// A table of [`super::SCRATCH`] as a relation.
fn stand_in(table: &str, columns: &[RteColumn]) -> Relation {
    let mut relation = Relation {
        schema: crate::catalog::PG_TEMP,
        name: table.into(),
        sqlite_name: table.into(),
        temporary: true,
        ..Relation::new(RelationKind::Table)
    };
    for (i, c) in columns.iter().enumerate() {
        let name = format!("c{}", i + 1);
        relation.columns.push(crate::catalog::Column::new(i as i16 + 1, name, c.ty, c.typmod));
    }
    relation
}

/// `SELECT c1, … FROM pg_scratch."table"`, as a typed query over a stand-in relation.
fn materialized_query(table: &str, cte: &Cte) -> Query {
    query_of_table(table, cte.columns.clone())
}

pub(super) fn query_of_table(table: &str, columns: Vec<RteColumn>) -> Query {
    let targets = columns
        .iter()
        .enumerate()
        .map(|(i, c)| crate::typed::Target {
            expr: crate::analyze::var(0, 0, i, c, -1),
            name: c.name.clone(),
            origin: c.origin,
        })
        .collect();
    Query {
        range_table: vec![crate::analyze::entry(
            RteKind::Relation(Arc::new(stand_in(table, &columns))),
            table.into(),
            false,
            columns.clone(),
        )],
        ..Query::new(
            QueryBody::Select(crate::typed::Select {
                from: if table.is_empty() { vec![] } else { vec![FromItem::Entry(0)] },
                targets,
                ..Default::default()
            }),
            columns,
        )
    }
}

fn entry_reads(kind: &RteKind, tables: &[Oid]) -> bool {
    match kind {
        RteKind::Relation(r) => tables.contains(&r.oid),
        RteKind::Subquery { query, .. } => query_reads(query, tables),
        _ => false,
    }
}

/// Whether a query reads one of the tables, anywhere.
pub(super) fn query_reads(query: &Query, tables: &[Oid]) -> bool {
    let mut found = query.range_table.iter().any(|r| entry_reads(&r.kind, tables));
    for cte in &query.ctes {
        if let CteBody::Query(q) = &cte.body {
            found |= query_reads(q, tables);
        }
    }
    if let QueryBody::SetOperation { left, right, .. } = &query.body {
        found |= query_reads(left, tables) || query_reads(right, tables);
    }
    walk::query_exprs(query, 0, &mut |_, e| {
        if let ExprKind::SubLink { query, .. } = &e.kind {
            found |= query_reads(query, tables);
        }
    });
    found
}
