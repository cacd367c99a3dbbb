//! INSERT, UPDATE, DELETE in WITH, and what they share with the rest of their statement.
//!
//! Each modification runs as a step of its own and leaves the rows of its RETURNING in a temporary table, which stands for
//! the WITH query afterwards. In PostgreSQL all parts of a statement see the tables as they were before it: a table that one
//! part changes and another one reads is copied first, and the copy is read.

use super::{Lowerer, Scope};
use crate::analyze::walk;
use crate::catalog::{Relation, RelationKind};
use crate::plan::{ByRows, Step, StepOutput, Triggered};
use crate::typed::{
    Cte, CteBody, Expr, ExprKind, FromItem, InsertSource, MergeAction, Modify, ModifyAction, Query, QueryBody,
    RteColumn, RteKind,
};
use crate::volatility;
use pgsqlite_types::{Oid, PgError, Result};
use std::sync::Arc;

impl Lowerer<'_> {
    /// The query over what its modifying WITH queries left; their steps and tables are added.
    pub(super) fn modifying_ctes(
        &mut self,
        query: &Query,
        steps: &mut Vec<Step>,
        modifies: &mut Vec<Oid>,
    ) -> Result<Query> {
        let mut query = query.clone();
        let changed = self.with_their_parts(changed_tables(&query.ctes));
        if changed.is_empty() {
            return Ok(query);
        }
        let mut all = Vec::new();
        each_table(&mut query, &mut |r| all.push(r.clone()));
        let changed = self.with_read_tables(&query.ctes, changed, &all);
        self.check_read_by_ctes(&query.ctes, &changed, all)?;
        let mut read = Vec::new();
        each_table(&mut query, &mut |r| note(r, &changed, &mut read));
        let copies = self.copies(&query.ctes, &changed, read, steps)?;
        each_table(&mut query, &mut |r| replace(r, &copies));
        self.run_modifying_ctes(&mut query.ctes, &copies, steps, modifies)?;
        Ok(query)
    }

    /// The same for a data modification.
    pub(super) fn modification_after_ctes(
        &mut self,
        modify: &Modify,
        steps: &mut Vec<Step>,
        modifies: &mut Vec<Oid>,
    ) -> Result<Modify> {
        let mut modify = modify.clone();
        let changed = self.with_their_parts(changed_tables(&modify.ctes));
        if changed.is_empty() {
            return Ok(modify);
        }
        check_repeated(&changed, &modify)?;
        let mut all = vec![modify.target.clone()];
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
        self.run_modifying_ctes(&mut modify.ctes, &copies, steps, modifies)?;
        Ok(modify)
    }

    /// Tables with the children and partitions that change with them.
    fn with_their_parts(&self, tables: Vec<Oid>) -> Vec<Oid> {
        tables.iter().flat_map(|t| self.env.catalog.with_descendants(*t)).collect()
    }

    /// The tables that WITH queries change, with those that triggers may change meanwhile: all that are read.
    fn with_read_tables(&self, ctes: &[Cte], mut changed: Vec<Oid>, read: &[Arc<Relation>]) -> Vec<Oid> {
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
        Ok(read.into_iter().map(|relation| (relation.oid, self.copy_step(&relation, steps))).collect())
    }

    /// A step that copies a table: what stands for it.
    pub(super) fn copy_step(&mut self, relation: &Relation, steps: &mut Vec<Step>) -> Arc<Relation> {
        let table = self.unique("pg_before_");
        let columns: Vec<String> = relation
            .live_columns()
            .enumerate()
            .map(|(i, c)| format!("{} AS c{}", self.column_text(relation, c, super::quote(&c.name)), i + 1))
            .collect();
        let width = columns.len();
        steps.push(Step {
            sql: format!("SELECT {} FROM {}", columns.join(", "), super::table_name(relation)),
            output: StepOutput::Materialize { table: table.clone(), columns: width },
            counts: false,
            by_rows: None,
        });
        Arc::new(stand_in(&table, &crate::analyze::relation_columns(relation)))
    }

    fn run_modifying_ctes(
        &mut self,
        ctes: &mut [Cte],
        copies: &[(Oid, Arc<Relation>)],
        steps: &mut Vec<Step>,
        modifies: &mut Vec<Oid>,
    ) -> Result<()> {
        for i in 0..ctes.len() {
            let table = format!("pg_with_{}_{}", i + 1, ctes[i].columns.len());
            let modify = match &mut ctes[i].body {
                CteBody::Query(query) => {
                    // computed once for all parts
                    let mut volatile = false;
                    walk::query_exprs(query, 0, &mut |_, e| volatile |= volatility::shows_calls(e));
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
                    continue;
                }
                CteBody::Modify(modify) => modify.clone(),
            };
            let own = modify.target.oid;
            let mut modify = *modify;
            let own_first = !modifies.contains(&own);
            let mut substitutes: Vec<(Oid, Arc<Relation>)> = copies.to_vec();
            if own_first && modifies.is_empty() {
                substitutes.retain(|(oid, _)| *oid != own);
            }
            each_table_of_modify(&mut modify, &mut |r| replace(r, &substitutes));
            let columns = modify.returning.len();
            let output = match columns {
                0 => StepOutput::None,
                _ => StepOutput::Materialize { table: table.clone(), columns },
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
                self.after_statements.push(after);
                steps.push(Self::step_by_rows(ByRows::Modify(made), output, false));
                let table = if columns > 0 { table.as_str() } else { "" };
                ctes[i].body = CteBody::Query(materialized_query(table, &ctes[i]));
                continue;
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
            if let Some(last) = step.last_mut() {
                if columns > 0 {
                    last.output = StepOutput::Materialize { table: table.clone(), columns };
                }
            }
            for s in &mut step {
                s.counts = false;
            }
            steps.extend(step);
            modifies.push(own);
            let table = if columns > 0 { table.as_str() } else { "" };
            ctes[i].body = CteBody::Query(materialized_query(table, &ctes[i]));
        }
        Ok(())
    }

    /// The FOR EACH STATEMENT triggers of a part of a statement, as steps: those before its rows, and those after all rows of all
    /// parts.
    pub(super) fn statements_of(part: &mut Triggered) -> [Step; 2] {
        part.part_of_several = true;
        [true, false].map(|before| {
            let events = vec![(part.event, part.set.clone())];
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
        if let Some(spread) = &mut made.spread {
            spread.branches.iter_mut().try_for_each(|branch| put(&mut branch.rows))?;
        }
        Ok(made)
    }
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

/// Rows that one part of a statement inserted or changed must not be met by an UPDATE or DELETE of another part.
fn check_repeated(changed: &[Oid], modify: &Modify) -> Result<()> {
    let inserts = matches!(modify.action, ModifyAction::Insert { on_conflict: None, .. });
    if changed.contains(&modify.target.oid) && !inserts {
        return Err(PgError::not_supported("changing a table twice in one statement"));
    }
    Ok(())
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

/// The tables (OIDs) that a query reads, wherever in it.
pub fn tables_read(query: &Query) -> Vec<Oid> {
    let mut found = Vec::new();
    each_table(&mut query.clone(), &mut |table| found.push(table.oid));
    found
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

/// The expressions of a modification itself.
pub(crate) fn modify_exprs_mut(modify: &mut Modify) -> Vec<&mut Expr> {
    fn of_from<'m>(item: &'m mut FromItem, out: &mut Vec<&'m mut Expr>) {
        if let FromItem::Join { left, right, on, .. } = item {
            of_from(left, out);
            of_from(right, out);
            out.extend(on.iter_mut());
        }
    }
    let mut out: Vec<&mut Expr> = Vec::new();
    match &mut modify.action {
        ModifyAction::Insert { source, on_conflict, .. } => {
            match source {
                InsertSource::Values(rows) => out.extend(rows.iter_mut().flatten()),
                InsertSource::Query { values, .. } => out.extend(values.iter_mut()),
            }
            if let Some(conflict) = on_conflict {
                out.extend(conflict.set.iter_mut().flatten().map(|(_, e)| e));
                out.extend(conflict.filter.iter_mut());
                out.extend(conflict.secured.conditions());
            }
        }
        ModifyAction::Update { set, from, filter } => {
            out.extend(set.iter_mut().map(|(_, e)| e));
            from.iter_mut().for_each(|item| of_from(item, &mut out));
            out.extend(filter.iter_mut());
        }
        ModifyAction::Delete { using, filter } => {
            using.iter_mut().for_each(|item| of_from(item, &mut out));
            out.extend(filter.iter_mut());
        }
        ModifyAction::Merge { source, on, whens } => {
            of_from(source, &mut out);
            out.push(on);
            for when in whens {
                out.extend(when.condition.iter_mut());
                out.extend(when.secured.conditions());
                match &mut when.action {
                    MergeAction::Update(set) => out.extend(set.iter_mut().map(|(_, e)| e)),
                    MergeAction::Insert { values, .. } => out.extend(values.iter_mut()),
                    MergeAction::Nothing | MergeAction::Delete => {}
                }
            }
        }
    }
    out.extend(modify.returning.iter_mut().map(|t| &mut t.expr));
    out.extend(modify.checks.iter_mut().map(|c| &mut c.condition));
    out
}

/// A temporary table of ours as a relation.
fn stand_in(table: &str, columns: &[RteColumn]) -> Relation {
    let mut relation = Relation {
        oid: 0,
        schema: crate::catalog::PG_TEMP,
        name: table.into(),
        kind: RelationKind::Table,
        sqlite_name: table.into(),
        owner: 10,
        row_type: 0,
        array_type: 0,
        temporary: true,
        unlogged: false,
        columns: vec![],
        constraints: vec![],
        rowid_column: None,
        without_rowid: false,
        origin: Default::default(),
        acl: None,
        tuples: None,
        on_commit: Default::default(),
        security: Default::default(),
        inheritance: Default::default(),
        storage: Default::default(),
        triggers: Vec::new(),
        statistics: Vec::new(),
        rules: Vec::new(),
    };
    for (i, c) in columns.iter().enumerate() {
        let name = format!("c{}", i + 1);
        relation.columns.push(crate::catalog::Column::new(i as i16 + 1, name, c.ty, c.typmod));
    }
    relation
}

/// `SELECT c1, … FROM temp."table"`, as a typed query over a stand-in relation.
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
