//! INSERT, UPDATE and DELETE on a table whose triggers they fire (and on one that stands for several: `tuple_routing.rs`).
//!
//! Such a statement is not one of SQLite's: its rows are computed first ([`Triggered::rows`]), then the engine fires the BEFORE
//! triggers for each and stores what they leave of it with [`Triggered::apply`], one row at a time; then come the AFTER triggers.
//! So triggers run between SQLite's statements, never inside one that writes.
//!
//! The same way go changes of tables with foreign keys that the server carries out ([`crate::foreign_key`]), and INSERT and UPDATE
//! on a table with EXCLUDE constraints, which are looked at for each row that is stored. What would change such a table in
//! another way is refused: its triggers would not fire, its constraints not be looked at.

use super::{rowid_name, Lowerer};
use crate::catalog::{Column, Constraint, ConstraintKind, ForeignKeyAction, Relation, RelationKind};
use crate::plan::{ByRows, QueryPlan, Step, StepOutput, Tag, Triggered};
use crate::routine::{Event, Timing, Trigger};
use crate::typed::{Cte, Expr, ExprKind, InsertSource, Modify, ModifyAction, OnConflict, Target, Var};
use crate::volatility::is_repeatable;
use crate::walk;
use pgsqlite_types::{oid, Datum, Oid, PgError, Result};
use std::sync::Arc;

/// The events of a data modification, with the columns that it sets.
fn events(modify: &Modify) -> Vec<(Event, Vec<i16>)> {
    match &modify.action {
        ModifyAction::Insert { on_conflict, .. } => {
            let mut out = vec![(Event::Insert, vec![])];
            if let Some(set) = on_conflict.as_ref().and_then(|c| c.set.as_ref()) {
                out.push((Event::Update, set.iter().map(|s| s.0).collect()));
            }
            out
        }
        ModifyAction::Update { set, .. } => vec![(Event::Update, set.iter().map(|s| s.0).collect())],
        ModifyAction::Delete { .. } => vec![(Event::Delete, vec![])],
        ModifyAction::Merge { .. } => {
            vec![(Event::Insert, vec![]), (Event::Update, vec![]), (Event::Delete, vec![])]
        }
    }
}

/// Whether a table has a trigger for the event that is on.
fn fires(relation: &Relation, event: Event) -> bool {
    relation.triggers.iter().any(|t| t.is_on() && t.events.contains(&event))
}

/// Whether a new value must be computed once, though a CHECK (or a policy) or a generated column looks at it, too: row by row it is a
/// parameter of what stores it.
fn computes_once(modify: &Modify) -> bool {
    let target = &modify.target;
    let (set, secured) = match &modify.action {
        ModifyAction::Update { set, .. } => (set, false),
        ModifyAction::Insert { on_conflict: Some(conflict), .. } => match &conflict.set {
            Some(set) => (set, !conflict.secured.written.is_empty()),
            None => return false,
        },
        _ => return false,
    };
    let looked_at = secured
        || !modify.checks.is_empty()
        || target.live_columns().any(|c| c.generated.is_some() || super::row_checks::is_left_to_us(c))
        || target.constraints.iter().any(|c| c.is_check());
    looked_at
        && target.kind == RelationKind::Table
        && !target.without_rowid
        && set.iter().any(|(_, e)| !is_repeatable(e))
}

/// Whether an event makes rows that EXCLUDE constraints must be satisfied by at once.
fn may_exclude(relation: &Relation, event: Event) -> bool {
    matches!(event, Event::Insert | Event::Update) && relation.immediate_exclusions().next().is_some()
}

/// What SQLite does to the rows that reference a table when rows of that are deleted, or updated in the columns `set`.
fn caused_by_action(constraint: &Constraint, event: Event, set: &[i16]) -> Option<Event> {
    let ConstraintKind::ForeignKey { columns, on_update, on_delete, .. } = &constraint.kind else { return None };
    if constraint.managed || (event == Event::Update && !columns.iter().any(|a| set.contains(a))) {
        return None;
    }
    match (if event == Event::Delete { on_delete } else { on_update }, event) {
        (ForeignKeyAction::NoAction | ForeignKeyAction::Restrict, _) => None,
        (ForeignKeyAction::Cascade, Event::Delete) => Some(Event::Delete),
        _ => Some(Event::Update),
    }
}

pub(super) fn row_tag(event: Event) -> Tag {
    match event {
        Event::Insert => Tag::Insert,
        Event::Update => Tag::Update,
        _ => Tag::Delete,
    }
}

impl Lowerer<'_> {
    /// Whether a statement fires triggers of its table, or stores rows that EXCLUDE constraints are to look at.
    pub(super) fn fires_triggers(&self, modify: &Modify) -> bool {
        let catalog = self.env.catalog;
        events(modify).iter().any(|(event, set)| {
            fires(&modify.target, *event)
                || may_exclude(&modify.target, *event)
                || catalog.concerns_managed_keys(&modify.target, *event, set)
        })
    }

    /// Refuses a modification that reaches triggers which would not fire: those of its own table (`own`, unless it is carried
    /// out row by row), and those of tables that SQLite changes for a foreign key.
    pub(super) fn check_triggers(&self, modify: &Modify, own: bool) -> Result<()> {
        if own && self.is_spread(modify) {
            return Err(PgError::not_supported(format!(
                "this form of data modification on table \"{}\", which has children or partitions,",
                modify.target.name
            )));
        }
        if own && self.fires_triggers(modify) {
            let because = match events(modify).iter().any(|(event, _)| fires(&modify.target, *event)) {
                true => "whose triggers it fires",
                false => "which has exclusion constraints",
            };
            return Err(PgError::not_supported(format!(
                "this form of data modification on table \"{}\", {because},",
                modify.target.name
            )));
        }
        let mut seen = Vec::new();
        for (event, set) in events(modify) {
            self.check_cascade(&modify.target, event, &set, &mut seen)?;
        }
        Ok(())
    }

    fn check_cascade(&self, parent: &Relation, event: Event, set: &[i16], seen: &mut Vec<(Oid, Event)>) -> Result<()> {
        if event == Event::Insert || seen.contains(&(parent.oid, event)) {
            return Ok(());
        }
        seen.push((parent.oid, event));
        for (child, constraint) in self.env.catalog.referencing(parent.oid) {
            let Some(caused) = caused_by_action(constraint, event, set) else { continue };
            // (of a table of another program, or of an earlier version that could not be brought to this one)
            if event == Event::Update && !self.env.catalog.updates_as_given(child, constraint) {
                return Err(PgError::not_supported(format!(
                    "an update of table \"{}\" that reaches table \"{}\", whose columns are of other types, by foreign key \"{}\"",
                    parent.name, child.name, constraint.name
                )));
            }
            // (a key in an expression or a condition may be any of the columns)
            let keys = |c: &Constraint| {
                let index = self.env.catalog.relation(c.index).map(|r| &r.kind);
                let plain = matches!(index, Some(RelationKind::Index(i)) if i.predicate.is_none());
                !plain || c.columns.iter().any(|a| *a == 0 || constraint.columns.contains(a))
            };
            if caused == Event::Update && child.immediate_exclusions().any(keys) {
                return Err(PgError::not_supported(format!(
                    "a change of table \"{}\" that reaches table \"{}\", which has exclusion constraints, by foreign key \"{}\"",
                    parent.name, child.name, constraint.name
                )));
            }
            if fires(child, caused) || self.env.catalog.concerns_managed_keys(child, caused, &constraint.columns) {
                return Err(PgError::not_supported(format!(
                    "a change of table \"{}\" that reaches table \"{}\", which has triggers, by foreign key \"{}\"",
                    parent.name, child.name, constraint.name
                )));
            }
            self.check_cascade(child, caused, &constraint.columns, seen)?;
        }
        Ok(())
    }

    /// The tables that SQLite changes when it carries out the actions of foreign keys for a modification, each with the key's name.
    pub(super) fn reached_by_actions(&self, modify: &Modify) -> Vec<(Arc<Relation>, String)> {
        let catalog = self.env.catalog;
        let mut waiting: Vec<(Oid, Event, Vec<i16>)> = Vec::new();
        for parent in catalog.with_descendants(modify.target.oid) {
            waiting.extend(events(modify).into_iter().map(|(event, set)| (parent, event, set)));
        }
        let (mut seen, mut found) = (Vec::new(), Vec::new());
        while let Some((parent, event, set)) = waiting.pop() {
            if event == Event::Insert || seen.contains(&(parent, event)) {
                continue;
            }
            seen.push((parent, event));
            for (child, constraint) in catalog.referencing(parent) {
                let Some(caused) = caused_by_action(constraint, event, &set) else { continue };
                found.push((child.clone(), constraint.name.clone()));
                waiting.push((child.oid, caused, constraint.columns.clone()));
            }
        }
        found
    }

    /// Whether a modification is carried out row by row.
    pub(super) fn goes_by_rows(&self, modify: &Modify) -> bool {
        self.fires_triggers(modify)
            || self.is_spread(modify)
            || self.reads_by_functions(modify)
            || computes_once(modify)
            || matches!(modify.action, ModifyAction::Insert { .. }) && returned_entry(modify).is_some()
    }

    /// Whether it calls STABLE functions of the user: they see the tables as they were before the statement, so
    /// all rows are computed before the first is changed.
    fn reads_by_functions(&self, modify: &Modify) -> bool {
        if modify.target.kind != RelationKind::Table || modify.target.without_rowid {
            return false;
        }
        let steady = |e: &Expr| match &e.kind {
            ExprKind::Func { proc, .. } => self.env.catalog.function(*proc).is_some_and(|f| f.volatility == b's'),
            _ => false,
        };
        let mut found = false;
        match &modify.action {
            // SQLite computes the one row before it stores it
            ModifyAction::Insert { source: InsertSource::Values(rows), .. } if rows.len() == 1 => return false,
            ModifyAction::Merge { .. } => return false,
            ModifyAction::Insert { source: InsertSource::Query { query, .. }, .. } => {
                walk::query_exprs(query, 0, &mut |_, e| found |= steady(e));
            }
            _ => {}
        }
        super::with::each_expr_of_modify(modify, &mut |expr| walk::deep(expr, 0, &mut |_, e| found |= steady(e)));
        found
    }

    /// A statement as one that is carried out row by row. `parameters`: how many the statement has itself.
    pub(super) fn by_rows(&mut self, modify: &Modify, ctes: &[Cte], parameters: usize) -> Result<(Triggered, Tag)> {
        let target = modify.target.clone();
        self.check_triggers(modify, false)?;
        if target.without_rowid {
            return Err(PgError::not_supported("triggers of a table WITHOUT ROWID"));
        }
        if returned_entry(modify).is_some() && self.is_spread(modify) {
            return Err(PgError::not_supported("RETURNING OLD of a table with children or partitions"));
        }
        self.uses_catalog = true;
        let several = self.is_spread(modify) && !matches!(modify.action, ModifyAction::Insert { .. });
        self.note_computed_once(modify, several)?;
        self.scopes.push(super::Scope::default());
        let made = match target.kind {
            RelationKind::View { .. } => self.instead(modify, ctes, parameters),
            _ => self.triggered(modify, ctes, parameters),
        };
        self.scopes.pop();
        let (mut triggered, tag) = made?;
        triggered.tuple_routing = self.tuple_routing(modify, ctes, parameters)?;
        let of_parent = |t: &Trigger| t.parent != 0 && t.is_on() && t.row && t.timing == Timing::Before;
        if matches!(modify.action, ModifyAction::Insert { .. }) && target.triggers.iter().any(of_parent) {
            triggered.fits = self.fits(&target)?;
        }
        Ok((triggered, tag))
    }

    /// The tables that a modification carried out row by row changes.
    pub(super) fn changed_by_rows(&self, triggered: &Triggered) -> Vec<Oid> {
        match triggered.tuple_routing {
            Some(_) => self.env.catalog.with_descendants(triggered.table),
            None => vec![triggered.table],
        }
    }

    /// A step that is carried out row by row: whoever does not know of such is refused.
    pub(super) fn step_by_rows(by_rows: ByRows, output: StepOutput, counts: bool) -> Step {
        let sql = format!("SELECT {}()", super::support::FIRES_TRIGGERS);
        Step { by_rows: Some(Box::new(by_rows)), ..Step::new(sql, output, counts) }
    }

    /// The plan of a statement that fires triggers.
    pub(super) fn triggered_plan(&mut self, modify: &Modify, ctes: &[Cte], parameters: usize) -> Result<QueryPlan> {
        let (triggered, tag) = self.by_rows(modify, ctes, parameters)?;
        let modifies = self.changed_by_rows(&triggered);
        let refused = format!("SELECT {}()", super::support::FIRES_TRIGGERS);
        Ok(QueryPlan {
            steps: vec![Step::new(refused, StepOutput::Rows, true)],
            tag,
            writes: true,
            touches_few_rows: false,
            waits_apart: false,
            waits_aside: false,
            shares: false,
            modifies,
            constant: false,
            locks_rows: false,
            named: std::mem::take(&mut self.named),
            passes_over: self.passes_over,
            upserts: self.upserts,
            calls_writers: true,
            current_of: self.current_of(modify),
            assigns: None,
            gather: None,
            read_back: None,
            rewritten: None,
            shape: Default::default(),
            triggered: Some(Box::new(triggered)),
        })
    }

    pub(super) fn triggered(&mut self, modify: &Modify, ctes: &[Cte], parameters: usize) -> Result<(Triggered, Tag)> {
        let target = modify.target.clone();
        let with = self.with_queries(ctes)?;
        let live: Vec<_> = target.live_columns().cloned().collect();
        // the columns that a row is stored with
        let stored: Vec<_> = match &modify.action {
            ModifyAction::Insert { columns, .. } => live.iter().filter(|c| columns.contains(&c.attnum)).collect(),
            _ => live.iter().filter(|c| !c.is_generated()).collect::<Vec<_>>(),
        };
        let key = parameters + 1;
        let first_new = key + 1;
        let parameter = |at: usize, ty: Oid| Expr::new(ExprKind::Param(at), ty, -1);
        // columns of other tables that RETURNING shows become parameters
        let mut others: Vec<Expr> = Vec::new();
        // (a row that is inserted was not there before)
        let mut returning = modify.returning.clone();
        if let (ModifyAction::Insert { .. }, Some(first)) = (&modify.action, returned_entry(modify)) {
            returning.iter_mut().for_each(|t| crate::analyze::returning::without_row(&mut t.expr, first));
        }
        for t in &returning {
            super::modify::collect_other_columns(&t.expr, &mut others);
        }
        let first_other = first_new + stored.len();
        let values: Vec<Expr> = stored
            .iter()
            .enumerate()
            .map(|(i, c)| Expr { typmod: c.typmod, ..parameter(first_new + i, c.type_oid) })
            .collect();
        let mut apply = Modify { ctes: vec![], ..modify.clone() };
        apply.returning = stored_row(&target, &with_parameters(&returning, &others, first_other));
        let (rows, event, set, tag) = match &modify.action {
            ModifyAction::Insert { columns, source, on_conflict } => {
                let attnums: Vec<i16> = stored.iter().map(|c| c.attnum).collect();
                apply.action = ModifyAction::Insert {
                    columns: attnums.clone(),
                    source: InsertSource::Values(vec![values]),
                    // a row that is there is changed as by UPDATE: its triggers fire
                    on_conflict: on_conflict
                        .clone()
                        .filter(|c| !c.target.as_ref().is_some_and(|t| super::exclusion::is_exclusion(&target, t)))
                        .map(|c| crate::typed::OnConflict { set: None, filter: None, ..c }),
                };
                self.scope().entries = vec![self.target_columns(&target, "")?];
                (self.proposed_rows(modify, columns, &attnums, source, &others)?, Event::Insert, vec![], Tag::Insert)
            }
            ModifyAction::Update { set, from, filter } => {
                let alias = self.unique("t");
                let from_text = self.other_entries(modify, &format!("{alias}."), from)?;
                let rowid = rowid_name(&target)?;
                let mut old = self.target_columns(&target, &format!("{alias}."))?;
                // (behind them are the hidden ones)
                old.truncate(live.len());
                let mut columns = vec![format!("{alias}.{rowid}")];
                columns.extend(old.iter().cloned());
                columns.extend(self.changed_row(&live, &old, set)?);
                for other in &others {
                    columns.push(self.expr(other)?);
                }
                let rows = self.row_query(&target, &alias, &columns, &from_text, filter.as_ref())?;
                let key_column = stored.iter().position(|c| target.rowid_column == Some(c.attnum));
                let all: Vec<(i16, Expr)> = stored.iter().zip(values).map(|(c, v)| (c.attnum, v)).collect();
                // the row's number stays, unless it is set
                let mut kept = all.clone();
                if let Some(at) = key_column {
                    if !set.iter().any(|(a, _)| target.rowid_column == Some(*a)) {
                        kept.remove(at);
                    }
                }
                apply.action = ModifyAction::Update { set: kept, from: vec![], filter: Some(row_numbered(rowid, key)) };
                // (what it needs of other tables are parameters)
                apply.range_table.truncate(1);
                (rows, Event::Update, self.updated_columns(&target, set)?, Tag::Update)
            }
            ModifyAction::Delete { using, filter } => {
                let alias = self.unique("t");
                let from_text = self.other_entries(modify, &format!("{alias}."), using)?;
                let rowid = rowid_name(&target)?;
                let mut columns = vec![format!("{alias}.{rowid}")];
                columns.extend(self.target_columns(&target, &format!("{alias}."))?.into_iter().take(live.len()));
                for other in &others {
                    columns.push(self.expr(other)?);
                }
                let rows = self.row_query(&target, &alias, &columns, &from_text, filter.as_ref())?;
                apply.action = ModifyAction::Delete { using: vec![], filter: Some(row_numbered(rowid, key)) };
                apply.range_table.truncate(1);
                (rows, Event::Delete, vec![], Tag::Delete)
            }
            ModifyAction::Merge { .. } => return Err(PgError::internal("MERGE row by row")),
        };
        let steps = self.modify_steps_of_row(&apply)?;
        let row = apply;
        let [step] = &steps[..] else {
            return Err(PgError::not_supported("RETURNING with a sub-query over a table whose triggers fire"));
        };
        let exclusions = match (event, &modify.action) {
            (Event::Insert, ModifyAction::Insert { on_conflict, .. }) => {
                self.immediate_exclusions(&target, on_conflict.as_ref())?
            }
            (Event::Update, _) => self.immediate_exclusions(&target, None)?,
            _ => vec![],
        };
        let triggered = Triggered {
            table: target.oid,
            exclusions,
            event,
            set,
            rows: format!("{with}{rows}"),
            one_by_one: ctes.is_empty() && self.is_one_by_one(&modify.action),
            current: self.current_row(&target)?,
            apply: step.sql.clone(),
            parameters,
            columns: stored.iter().map(|c| c.attnum).collect(),
            key_stays: matches!(event, Event::Update)
                && target.rowid_column.is_some_and(
                    |a| !matches!(&modify.action, ModifyAction::Update { set, .. } if set.iter().any(|s| s.0 == a)),
                ),
            others: others.len(),
            returning: modify.returning.len(),
            conflict: match &modify.action {
                ModifyAction::Insert { on_conflict: Some(c), .. } if c.set.is_some() => {
                    Some(Box::new(self.conflicting(modify, c, &stored, parameters)?))
                }
                _ => None,
            },
            modify: Box::new(row),
            conflicting: None,
            fits: None,
            shown: None,
            tuple_routing: None,
            part_of_several: false,
        };
        Ok((triggered, tag))
    }

    /// See [`Triggered::one_by_one`].
    pub(super) fn is_one_by_one(&self, action: &ModifyAction) -> bool {
        let ModifyAction::Insert { source: InsertSource::Values(rows), .. } = action else { return false };
        let catalog = self.env.catalog;
        let steady = |proc: &Oid| catalog.proc(*proc).is_some_and(|p| p.volatility != b'v');
        let reads = |e: &Expr| walk::any(e, &|e| matches!(e.kind, ExprKind::SubLink { .. }));
        rows.len() > 1
            && !rows.iter().flatten().any(|e| reads(e) || crate::volatility::made_functions(e).iter().any(steady))
    }

    /// The new row of an UPDATE: its live columns as they are (`old`), those of `set` with their new values.
    pub(super) fn changed_row(&mut self, live: &[Column], old: &[String], set: &[(i16, Expr)]) -> Result<Vec<String>> {
        let one = |(column, old): (&Column, &String)| match set.iter().find(|(a, _)| *a == column.attnum) {
            Some((_, expr)) => self.expr(expr),
            None => Ok(old.clone()),
        };
        live.iter().zip(old).map(one).collect()
    }

    /// The columns that an UPDATE changes: those that it sets, and those that are computed from them. Where BEFORE triggers may set others,
    /// too, these are all generated columns.
    fn updated_columns(&self, target: &Relation, set: &[(i16, Expr)]) -> Result<Vec<i16>> {
        let mut changed: Vec<i16> = set.iter().map(|s| s.0).collect();
        let is_before = |t: &Trigger| t.row && t.timing == Timing::Before && t.events.contains(&Event::Update);
        let all = target.triggers.iter().any(is_before);
        let attnums: Vec<i16> = target.live_columns().map(|c| c.attnum).collect();
        for column in target.live_columns() {
            let Some(text) = &column.generated else { continue };
            let read = |i: usize| set.iter().any(|s| attnums.get(i) == Some(&s.0));
            let expr = crate::analyze::analyze_expression(self.env, text, Some(target), None)?;
            if all || crate::deparse::columns_used(&expr).into_iter().any(read) {
                changed.push(column.attnum);
            }
        }
        Ok(changed)
    }

    /// The query of [`Triggered::current`].
    fn current_row(&mut self, target: &Relation) -> Result<String> {
        let alias = self.unique("t");
        let mut columns = self.target_columns(target, &format!("{alias}."))?;
        columns.truncate(target.live_columns().count());
        if columns.is_empty() {
            columns.push("NULL".into());
        }
        let (table, rowid) = (self.read_table(target), rowid_name(target)?);
        Ok(format!("SELECT {} FROM {table} AS {alias} WHERE {alias}.{rowid} = ?1", columns.join(", ")))
    }

    /// ON CONFLICT DO UPDATE: the row that is there, with the values it gets, and the statement that stores it. `inserted`: the columns
    /// whose values the INSERT's statement has as parameters.
    fn conflicting(
        &mut self,
        modify: &Modify,
        conflict: &OnConflict,
        inserted: &[&Column],
        parameters: usize,
    ) -> Result<Triggered> {
        let target = modify.target.clone();
        let (Some(set), Some(arbiter)) = (&conflict.set, &conflict.target) else {
            return Err(PgError::internal("ON CONFLICT DO UPDATE without a target"));
        };
        let live: Vec<Column> = target.live_columns().cloned().collect();
        let excluded_at = modify
            .range_table
            .iter()
            .position(|r| r.alias == "excluded" && matches!(r.kind, crate::typed::RteKind::Relation(_)))
            .ok_or_else(|| PgError::internal("excluded"))?;
        let (key, first_new) = (parameters + 1, parameters + 2);
        let mut excluded: Vec<String> = live
            .iter()
            .map(|c| match inserted.iter().position(|i| i.attnum == c.attnum) {
                Some(i) => format!("?{}", first_new + i),
                None => "NULL".into(),
            })
            .collect();
        self.compute_virtual(&target, &mut excluded, None)?;
        let alias = self.unique("t");
        let mut old = self.target_columns(&target, &format!("{alias}."))?;
        old.truncate(live.len());
        let scope = self.scope();
        scope.entries = vec![vec![]; excluded_at + 1];
        let mut conditions = Vec::new();
        let equals = if self.takes_nulls(arbiter) { "IS" } else { "=" };
        for expr in &arbiter.keys {
            self.scope().entries[0] = old.clone();
            let stored = self.expr(expr)?;
            self.scope().entries[0] = excluded.clone();
            conditions.push(format!("{stored} {equals} {}", self.expr(expr)?));
        }
        self.scope().entries[0] = old.clone();
        self.scope().entries[excluded_at] = excluded;
        let (table, rowid) = (self.read_table(&target), rowid_name(&target)?);
        if let Some(filter) = &arbiter.filter {
            conditions.push(format!("({})", self.condition(filter)?));
        }
        let is_conditional = conflict.filter.is_some() || !conflict.secured.existing.is_empty();
        let there = || format!("SELECT {alias}.{rowid} FROM {table} AS {alias} WHERE {}", conditions.join(" AND "));
        let conflicting = is_conditional.then(there);
        if let Some(filter) = &conflict.filter {
            conditions.push(format!("({})", self.condition(filter)?));
        }
        if !conflict.secured.existing.is_empty() {
            let checked = self.existing_checks(&conflict.secured, "1".into(), &old)?;
            conditions.push(format!("CASE WHEN {} THEN {checked} END", conditions.join(" AND ")));
        }
        let mut columns = vec![format!("{alias}.{rowid}")];
        columns.extend(old.iter().cloned());
        columns.extend(self.changed_row(&live, &old, set)?);
        // what RETURNING shows of the row as it was
        let mut others: Vec<Expr> = Vec::new();
        for t in &modify.returning {
            super::modify::collect_other_columns(&t.expr, &mut others);
        }
        if let Some(returned) = returned_entry(modify) {
            self.scope().entries.resize(returned + 1, vec![]);
            self.scope().entries[returned] = old.clone();
        }
        for other in &others {
            columns.push(self.expr(other)?);
        }
        let rows = format!("SELECT {} FROM {table} AS {alias} WHERE {}", columns.join(", "), conditions.join(" AND "));
        let stored: Vec<&Column> = live.iter().filter(|c| c.generated.is_none()).collect();
        let sets_key = set.iter().any(|(a, _)| target.rowid_column == Some(*a));
        let kept: Vec<(i16, Expr)> = stored
            .iter()
            .enumerate()
            .filter(|(_, c)| sets_key || target.rowid_column != Some(c.attnum))
            .map(|(i, c)| {
                let value = Expr::new(ExprKind::Param(first_new + i), c.type_oid, -1);
                (c.attnum, Expr { typmod: c.typmod, ..value })
            })
            .collect();
        let mut apply = Modify { ctes: vec![], ..modify.clone() };
        let shown = with_parameters(&modify.returning, &others, first_new + stored.len());
        apply.returning = stored_row(&target, &shown);
        // (what it needs of other tables are parameters)
        apply.range_table.truncate(1);
        apply.checks = super::row_checks::new_row_checks(&modify.checks, &conflict.secured);
        apply.action = ModifyAction::Update { set: kept, from: vec![], filter: Some(row_numbered(rowid, key)) };
        let steps = self.modify_steps_of_row(&apply)?;
        let [step] = &steps[..] else {
            return Err(PgError::not_supported("RETURNING with a sub-query over a table whose triggers fire"));
        };
        Ok(Triggered {
            table: target.oid,
            exclusions: self.immediate_exclusions(&target, None)?,
            event: Event::Update,
            set: self.updated_columns(&target, set)?,
            current: self.current_row(&target)?,
            rows,
            one_by_one: false,
            apply: step.sql.clone(),
            parameters,
            columns: stored.iter().map(|c| c.attnum).collect(),
            key_stays: target.rowid_column.is_some() && !sets_key,
            others: others.len(),
            returning: modify.returning.len(),
            modify: Box::new(apply),
            conflict: None,
            conflicting,
            fits: None,
            shown: None,
            tuple_routing: None,
            part_of_several: false,
        })
    }
    /// The rows of UPDATE and DELETE, each once.
    fn row_query(
        &mut self,
        target: &Relation,
        alias: &str,
        columns: &[String],
        from: &str,
        filter: Option<&Expr>,
    ) -> Result<String> {
        let condition = self.condition_of_change(filter, target, &format!("{alias}."))?;
        let (items, group) = match from.is_empty() {
            true => (String::new(), String::new()),
            false => (format!(", {from}"), format!(" GROUP BY {alias}.{}", rowid_name(target)?)),
        };
        Ok(format!(
            "SELECT {} FROM {} AS {alias}{items}{condition}{group}",
            columns.join(", "),
            self.read_table(target)
        ))
    }

    /// The rows of INSERT: the values of the columns `stored`, in their order. The scope has the target's entry.
    pub(super) fn proposed_rows(
        &mut self,
        modify: &Modify,
        columns: &[i16],
        stored: &[i16],
        source: &InsertSource,
        others: &[Expr],
    ) -> Result<String> {
        let order: Vec<usize> = stored.iter().filter_map(|a| columns.iter().position(|c| c == a)).collect();
        let row_text = |lowerer: &mut Self, order: &[usize], row: &[Expr], others: &[Expr]| -> Result<Vec<String>> {
            let mut out = Vec::new();
            for &i in order {
                let expr = row.get(i).ok_or_else(|| PgError::internal("a row that is too short"))?;
                if matches!(expr.kind, ExprKind::Default) {
                    return Err(PgError::not_supported("DEFAULT of this column").at(expr.location));
                }
                out.push(lowerer.expr(expr)?);
            }
            for other in others {
                out.push(lowerer.expr(other)?);
            }
            if out.is_empty() {
                out.push("NULL".into());
            }
            Ok(out)
        };
        match source {
            InsertSource::Values(rows) => {
                // of several rows what is written is computed before what is not, as they stand in the tree; one is computed by its columns
                let mut computed = order.clone();
                if rows.len() > 1 {
                    computed.sort_unstable();
                }
                let out: Result<Vec<String>> = self.beside_no_row(|lowerer| {
                    let text =
                        |row: &Vec<Expr>| Ok(format!("({})", row_text(lowerer, &computed, row, &[])?.join(", ")));
                    rows.iter().map(text).collect()
                });
                let values = format!("VALUES {}", out?.join(", "));
                if computed == order {
                    return Ok(values);
                }
                let place = |i: &usize| computed.iter().position(|c| c == i).map(|at| format!("column{}", at + 1));
                Ok(format!("SELECT {} FROM ({values})", order.iter().filter_map(place).collect::<Vec<_>>().join(", ")))
            }
            InsertSource::Query { query, values } => {
                let inner = super::postponed::keeping_order(query, self.query(query)?);
                let alias = self.unique("t");
                self.source_entry(modify, query, &alias)?;
                let row = row_text(self, &order, values, others)?;
                debug_assert!(values.iter().all(is_repeatable) || !row.is_empty());
                Ok(format!("SELECT {} FROM ({inner}) AS {alias} WHERE 1", row.join(", ")))
            }
        }
    }
}

/// What a statement of one row returns: the live columns, then what RETURNING shows. Where that is nothing, it counts that there is a row.
fn stored_row(target: &Relation, shown: &[Target]) -> Vec<Target> {
    let column = |(i, c): (usize, &Column)| {
        let var = ExprKind::Var(Var { levels_up: 0, rte: 0, column: i });
        Target { expr: Expr::new(var, c.type_oid, -1), name: c.name.clone(), origin: (0, 0) }
    };
    let mut row: Vec<Target> = target.live_columns().enumerate().map(column).chain(shown.iter().cloned()).collect();
    if row.is_empty() {
        let expr = Expr::new(ExprKind::Const(Datum::Int(1)), oid::INT4, -1);
        row.push(Target { expr, name: "row".into(), origin: (0, 0) });
    }
    row
}

/// The entry of RETURNING's OLD.
pub(super) fn returned_entry(modify: &Modify) -> Option<usize> {
    modify.range_table.iter().position(|e| e.kind == crate::typed::RteKind::Returned)
}

/// What RETURNING shows, with parameters, from number `first` on, in the place of the columns of other entries.
fn with_parameters(returning: &[Target], others: &[Expr], first: usize) -> Vec<Target> {
    let one = |t: &Target| {
        // (in its sub-queries, too)
        let mut expr = t.expr.clone();
        walk::deep_mut(&mut expr, 0, &mut |depth, e| {
            let own = if depth == 0 { Some(e.clone()) } else { super::stages::outer_var(e, depth) };
            if let Some(at) = own.and_then(|own| others.iter().position(|o| *o == own)) {
                *e = Expr { typmod: e.typmod, ..Expr::new(ExprKind::Param(first + at), e.ty, -1) };
            }
        });
        Target { expr, ..t.clone() }
    };
    returning.iter().map(one).collect()
}

/// The condition on the row whose rowid is in the parameter.
fn row_numbered(rowid: String, parameter: usize) -> Expr {
    Expr::new(ExprKind::RowNumbered { rowid, parameter }, oid::BOOL, -1)
}
