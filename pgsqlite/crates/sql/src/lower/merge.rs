//! MERGE: the joined rows are chosen first, with the WHEN clause that acts on each and the values it gives, into a temporary
//! table; then each clause is carried out for its rows.

use super::row_checks::new_row_checks;
use super::triggered::returned_entry;
use super::{rowid_name, support, table_name, Lowerer, Scope};
use crate::analyze::{plain_column, var};
use crate::plan::{ByRows, Step, StepOutput};
use crate::routine::Event;
use crate::typed::{
    Cte, Expr, ExprKind, FromItem, InsertSource, MergeAction, MergeMatch, MergeWhen, Modify, ModifyAction, QueryBody,
    RteColumn, RteKind,
};
use pgsqlite_types::{oid, Datum, PgError, Result};

impl Lowerer<'_> {
    pub(super) fn merge_steps(
        &mut self,
        modify: &Modify,
        with: &str,
        source: &FromItem,
        on: &Expr,
        whens: &[MergeWhen],
    ) -> Result<Vec<Step>> {
        let target = modify.target.clone();
        if target.without_rowid {
            return Err(PgError::not_supported("MERGE into a table WITHOUT ROWID"));
        }
        let chosen = self.merge_rows(modify, with, (source, on), whens, &[])?;
        let Chosen { table, width, first, mut steps, .. } = chosen;
        let rowid = rowid_name(&target)?;
        let name = table_name(&target);
        let alias = self.unique("t");
        let prefix = format!("{alias}.");
        self.scope().entries[0] = self.entry_columns(&target, &prefix)?;
        let rows = super::scratch_name(&table);
        // what frees a key comes before what takes one
        for pass in 0..3 {
            for (i, when) in whens.iter().enumerate() {
                let act = i + 1;
                let sql = match (&when.action, pass) {
                    (MergeAction::Delete, 0) => {
                        format!("DELETE FROM {name} WHERE {rowid} IN (SELECT c1 FROM {rows} WHERE c2 = {act})")
                    }
                    (MergeAction::Update(set), 1) => {
                        let row = self.unique("t");
                        let entry = (0..set.len()).map(|j| format!("{row}.c{}", first[i] + j)).collect();
                        let rte = self.add_entry(entry);
                        let set: Vec<(i16, Expr)> = set
                            .iter()
                            .enumerate()
                            .map(|(column, (attnum, expr))| {
                                let kind = ExprKind::Var(crate::typed::Var { levels_up: 0, rte, column });
                                (*attnum, Expr { kind, ..expr.clone() })
                            })
                            .collect();
                        let around = std::mem::take(&mut self.row_checks);
                        self.row_checks = new_row_checks(&modify.checks, &whens[i].secured);
                        let assignments = self.assignments(&target, &set, &prefix);
                        self.row_checks = around;
                        let assignments = assignments?;
                        format!(
                            "UPDATE {name} AS {alias} SET {} FROM {rows} AS {row} WHERE {prefix}{rowid} = {row}.c1 AND \
                             {row}.c2 = {act}",
                            assignments.join(", ")
                        )
                    }
                    (MergeAction::Insert { columns, values }, 2) => {
                        let insert = insertion(modify, when, &table, act, first[i], width, columns, values);
                        steps.extend(self.modify_steps(&insert, &[])?);
                        continue;
                    }
                    _ => continue,
                };
                steps.push(Step::new(sql, StepOutput::None, true));
            }
        }
        Ok(steps)
    }

    /// The step that chooses the rows, with what is done with each, and the one that looks for rows which are chosen twice. `extras`: what
    /// RETURNING shows of the source.
    fn merge_rows(
        &mut self,
        modify: &Modify,
        with: &str,
        (source, on): (&FromItem, &Expr),
        whens: &[MergeWhen],
        extras: &[Expr],
    ) -> Result<Chosen> {
        let target = modify.target.clone();
        let alias = self.unique("t");
        let prefix = format!("{alias}.");
        let mut source_text = self.other_entries(modify, &prefix, std::slice::from_ref(source))?;
        let is_for = |matched: MergeMatch| whens.iter().any(|w| w.matched == matched);
        let (lone_source, lone_target) =
            (is_for(MergeMatch::NotMatchedByTarget), is_for(MergeMatch::NotMatchedBySource));
        let present = match (lone_target, source) {
            (false, _) => None,
            (true, FromItem::Entry(i)) => {
                let columns = self.scope().entries[*i].clone();
                let rte = &modify.range_table[*i];
                let found = self.presence(rte, &mut source_text, &columns)?;
                Some(found.ok_or_else(|| PgError::not_supported("NOT MATCHED BY SOURCE of this kind of source"))?)
            }
            _ => return Err(PgError::not_supported("NOT MATCHED BY SOURCE of joined tables")),
        };
        let (name, rowid, tableoid) = match self.stands_for_several(&modify.range_table[0], &target) {
            true => {
                let (text, columns) = self.several_tables(&target, &alias)?;
                let hidden = target.live_columns().count();
                let (rowid, tableoid) = (columns[hidden].clone(), columns[hidden + 2].clone());
                self.scope().entries[0] = columns;
                (text, rowid, tableoid)
            }
            false => {
                let rowid = format!("{prefix}{}", rowid_name(&target)?);
                (format!("{} AS {alias}", self.read_table(&target)), rowid, target.oid.to_string())
            }
        };
        let source_text =
            if matches!(source, FromItem::Join { .. }) { format!("({source_text})") } else { source_text };
        // rows without a match matter only if something is done with them
        let word = match (lone_source, lone_target) {
            (false, false) => "JOIN",
            (true, false) => "LEFT JOIN",
            (false, true) => "RIGHT JOIN",
            (true, true) => "FULL JOIN",
        };
        let on = self.condition(on)?;

        let mut chosen = [String::new(), String::new(), String::new()];
        let existing: Vec<String> =
            self.scope().entries[0].iter().take(target.live_columns().count()).cloned().collect();
        for (i, when) in whens.iter().enumerate() {
            let condition = match &when.condition {
                Some(condition) => self.condition(condition)?,
                None => "1".into(),
            };
            let number = self.existing_checks(&when.secured, (i + 1).to_string(), &existing)?;
            let kind = match when.matched {
                MergeMatch::NotMatchedByTarget => 0,
                MergeMatch::Matched => 1,
                MergeMatch::NotMatchedBySource => 2,
            };
            chosen[kind] += &format!(" WHEN {condition} THEN {number}");
        }
        let case = |whens: &String| if whens.is_empty() { "NULL".to_string() } else { format!("CASE{whens} END") };
        let (by_target, matched, by_source) = (case(&chosen[0]), case(&chosen[1]), case(&chosen[2]));
        let matched = match present {
            Some(present) => format!("CASE WHEN {present} IS NULL THEN {by_source} ELSE {matched} END"),
            None => matched,
        };
        let act = format!("CASE WHEN {rowid} IS NOT NULL THEN {matched} ELSE {by_target} END");
        let mut columns = vec![format!("{rowid} AS c1"), format!("{act} AS c2"), format!("{tableoid} AS c3")];
        // first column of each clause's values
        let mut first = Vec::new();
        for (i, when) in whens.iter().enumerate() {
            first.push(columns.len() + 1);
            for value in values(&when.action) {
                // evaluated only for the clause's own rows: it may fail for others
                let text = self.expr(value)?;
                columns.push(format!("CASE WHEN {act} = {} THEN {text} END AS c{}", i + 1, columns.len() + 1));
            }
        }
        let extra = columns.len() + 1;
        for value in extras {
            columns.push(format!("{} AS c{}", self.expr(value)?, columns.len() + 1));
        }
        let width = columns.len();
        // (one of the same name has as many columns: SQLite drops no table while a statement runs)
        let table = format!("{}_{width}", self.unique("pg_merge_"));
        let rows = super::scratch_name(&table);
        let mut steps = vec![Step {
            sql: format!("{with}SELECT {} FROM {source_text} {word} {name} ON {on}", columns.join(", ")),
            output: StepOutput::Materialize { table: table.clone(), columns: width },
            counts: false,
            deletes: false,
            by_rows: None,
        }];
        let changing: Vec<String> = whens
            .iter()
            .enumerate()
            .filter(|(_, w)| matches!(w.action, MergeAction::Update(_) | MergeAction::Delete))
            .map(|(i, _)| (i + 1).to_string())
            .collect();
        if !changing.is_empty() {
            steps.push(Step {
                sql: format!(
                    "SELECT {}() FROM {rows} WHERE c2 IN ({}) GROUP BY c1, c3 HAVING count(*) > 1",
                    support::MERGE_TWICE,
                    changing.join(", ")
                ),
                output: StepOutput::None,
                counts: false,
                deletes: false,
                by_rows: None,
            });
        }
        Ok(Chosen { table, width, first, extra, steps })
    }
}

/// The rows that a MERGE has chosen.
struct Chosen {
    /// a temporary table: rowid, the WHEN clause's number, the table's OID, the clauses' values
    table: String,
    width: usize,
    /// first column of each clause's values
    first: Vec<usize>,
    /// first column of what RETURNING shows of the source
    extra: usize,
    steps: Vec<Step>,
}

/// The columns that such a table begins with.
fn fixed_columns() -> Vec<RteColumn> {
    vec![
        plain_column("rowid", oid::INT8, -1),
        plain_column("act", oid::INT4, -1),
        plain_column("tableoid", oid::OID, -1),
    ]
}

/// `column = value`, both of 64 bits.
fn equal(left: Expr, right: Expr) -> Expr {
    // int8 = int8
    let op = crate::typed::OperatorRef { oid: 410, proc: 467 };
    Expr::new(ExprKind::Op { op, args: vec![left, right] }, oid::BOOL, -1)
}

impl Lowerer<'_> {
    /// MERGE into a table whose triggers fire, or that stands for several: each clause is a modification of its own that is carried out
    /// row by row, with the rows that were chosen before.
    pub(super) fn merge_by_rows(&mut self, modify: &Modify, ctes: &[Cte], parameters: usize) -> Result<Vec<Step>> {
        let ModifyAction::Merge { source, on, whens } = &modify.action else {
            return Err(PgError::internal("not a MERGE"));
        };
        let target = modify.target.clone();
        if target.without_rowid {
            return Err(PgError::not_supported("MERGE into a table WITHOUT ROWID"));
        }
        self.uses_catalog = true;
        self.scopes.push(Scope::default());
        let mut extras: Vec<Expr> = Vec::new();
        let returned = returned_entry(modify).unwrap_or(usize::MAX);
        for t in &modify.returning {
            super::modify::collect_other_columns(&t.expr, &mut extras);
        }
        extras.retain(|e| match &e.kind {
            ExprKind::Var(v) => v.rte < returned,
            ExprKind::WholeRow { rte, .. } => *rte < returned,
            _ => true,
        });
        let with = self.with_queries(ctes);
        let chosen = with.and_then(|with| self.merge_rows(modify, &with, (source, on), whens, &extras));
        self.scopes.pop();
        let Chosen { table, width, first, extra, mut steps } = chosen?;
        let mut events: Vec<(Event, Vec<i16>)> = Vec::new();
        for event in [Event::Insert, Event::Update, Event::Delete] {
            let mut set = Vec::new();
            let mut found = false;
            for when in whens {
                match (&when.action, event) {
                    (MergeAction::Insert { .. }, Event::Insert) | (MergeAction::Delete, Event::Delete) => found = true,
                    (MergeAction::Update(columns), Event::Update) => {
                        found = true;
                        set.extend(columns.iter().map(|c| c.0));
                    }
                    _ => {}
                }
            }
            events.extend(found.then_some((event, set)));
        }
        let statements = |events: Vec<(Event, Vec<i16>)>, before: bool| {
            let by_rows = ByRows::Statements { table: target.oid, events, before };
            Self::step_by_rows(by_rows, StepOutput::None, false)
        };
        steps.insert(0, statements(events.clone(), true));
        for pass in [Event::Delete, Event::Update, Event::Insert] {
            for (i, when) in whens.iter().enumerate() {
                let mut own = match (&when.action, pass) {
                    (MergeAction::Delete, Event::Delete) => change(modify, when, &table, i + 1, first[i], width, None),
                    (MergeAction::Update(set), Event::Update) => {
                        change(modify, when, &table, i + 1, first[i], width, Some(set))
                    }
                    (MergeAction::Insert { columns, values }, Event::Insert) => {
                        insertion(modify, when, &table, i + 1, first[i], width, columns, values)
                    }
                    _ => continue,
                };
                show(&mut own, modify, when.matched, &extras, extra);
                let (mut made, _) = self.by_rows(&own, &[], parameters)?;
                made.part_of_several = true;
                let output = if own.returning.is_empty() { StepOutput::None } else { StepOutput::Rows };
                steps.push(Self::step_by_rows(ByRows::Modify(made), output, true));
            }
        }
        events.reverse();
        steps.push(statements(events, false));
        Ok(steps)
    }
}

/// What MERGE's RETURNING shows of the rows of a clause: `own` is its statement, whose entry 1 has the columns of the source (`extras`, from
/// number `extra` on).
fn show(own: &mut Modify, merge: &Modify, matched: MergeMatch, extras: &[Expr], extra: usize) {
    let Some(old) = returned_entry(merge) else {
        own.returning.clone_from(&merge.returning);
        return show_source(own, extras, extra, |_, _, _| false);
    };
    own.returning.clone_from(&merge.returning);
    let word = match &own.action {
        ModifyAction::Insert { .. } => "INSERT",
        ModifyAction::Update { .. } => "UPDATE",
        _ => "DELETE",
    };
    let action = merge.range_table[old].columns.len();
    let mut shows_old = false;
    show_source(own, extras, extra, |e, _, rte| {
        if rte < old {
            // (a row of the source that is not there is NULL as a whole, too)
            let absent = matched == MergeMatch::NotMatchedBySource;
            if absent {
                e.kind = ExprKind::Const(Datum::Null);
            }
            return absent;
        }
        let is_action = matches!(&e.kind, ExprKind::Var(v) if v.column == action);
        let to = match (word, rte == old) {
            _ if is_action => None,
            ("UPDATE", true) => {
                shows_old = true;
                Some(2)
            }
            ("DELETE", true) | ("INSERT" | "UPDATE", false) => Some(0),
            _ => None,
        };
        match (&mut e.kind, to) {
            (ExprKind::Var(v), Some(to)) => v.rte = to,
            (ExprKind::WholeRow { rte, .. }, Some(to)) => *rte = to,
            _ if is_action => e.kind = ExprKind::Const(Datum::from(word)),
            _ => e.kind = ExprKind::Const(Datum::Null),
        }
        true
    });
    if shows_old {
        own.range_table.push(merge.range_table[old].clone());
    }
}

/// Puts the columns of entry 1 in the place of the source's; `done` is asked first, of each column with its depth and entry.
fn show_source(own: &mut Modify, extras: &[Expr], extra: usize, mut done: impl FnMut(&mut Expr, usize, usize) -> bool) {
    for target in &mut own.returning {
        crate::walk::deep_mut(&mut target.expr, 0, &mut |depth, e| {
            let (up, rte) = match &e.kind {
                ExprKind::Var(v) => (v.levels_up, v.rte),
                ExprKind::WholeRow { levels_up, rte, .. } => (*levels_up, *rte),
                _ => return,
            };
            if up != depth || rte == 0 || done(e, depth, rte) {
                return;
            }
            let found = if depth == 0 { Some(e.clone()) } else { super::stages::outer_var(e, depth) };
            if let Some(at) = found.and_then(|found| extras.iter().position(|x| *x == found)) {
                e.kind = ExprKind::Var(crate::typed::Var { levels_up: depth, rte: 1, column: extra - 1 + at });
            }
        });
    }
}

/// The UPDATE (`set`) or DELETE of a clause: of its rows in the temporary table.
fn change(
    merge: &Modify,
    when: &MergeWhen,
    table: &str,
    act: usize,
    first: usize,
    width: usize,
    set: Option<&[(i16, Expr)]>,
) -> Modify {
    let mut all = fixed_columns();
    for i in 4..=width {
        let value = set.and_then(|s| s.get(i.wrapping_sub(first))).map(|(_, e)| e);
        all.push(plain_column(&format!("v{i}"), value.map_or(oid::TEXT, |v| v.ty), value.map_or(-1, |v| v.typmod)));
    }
    let query = super::with::query_of_table(table, all.clone());
    let kind = RteKind::Subquery { query: Box::new(query), lateral: false };
    let rows = crate::analyze::entry(kind, "*CHOSEN*".into(), true, all.clone());
    let mut target = merge.range_table[0].clone();
    let live = merge.target.live_columns().count();
    target.columns.truncate(live);
    // ctid, xmax, tableoid
    target.columns.extend(
        [(-1i16, oid::INT8), (-2, oid::XID), (-6, oid::OID)]
            .map(|(attnum, ty)| RteColumn { attnum, ..plain_column("", ty, -1) }),
    );
    let of_target = |column: usize| var(0, 0, live + column, &target.columns[live + column], -1);
    let of_rows = |column: usize| var(0, 1, column, &all[column], -1);
    let number = Expr::new(ExprKind::Const(Datum::Int(act as i64)), oid::INT8, -1);
    let conditions = vec![equal(of_target(0), of_rows(0)), equal(of_target(2), of_rows(2)), equal(of_rows(1), number)];
    let filter = Some(Expr::new(ExprKind::And(conditions), oid::BOOL, -1));
    let from = vec![FromItem::Entry(1)];
    let action = match set {
        None => ModifyAction::Delete { using: from, filter },
        Some(set) => {
            let value = |(i, (attnum, expr)): (usize, &(i16, Expr))| {
                (*attnum, Expr { typmod: expr.typmod, ..of_rows(first - 1 + i) })
            };
            ModifyAction::Update { set: set.iter().enumerate().map(value).collect(), from, filter }
        }
    };
    Modify {
        ctes: vec![],
        range_table: vec![target, rows],
        target: merge.target.clone(),
        action,
        returning: vec![],
        checks: new_row_checks(&merge.checks, &when.secured),
        written: merge.written.clone(),
    }
}

fn values(action: &MergeAction) -> Vec<&Expr> {
    match action {
        MergeAction::Update(set) => set.iter().map(|(_, e)| e).collect(),
        MergeAction::Insert { values, .. } => values.iter().collect(),
        MergeAction::Nothing | MergeAction::Delete => vec![],
    }
}

/// The INSERT of a clause: from its rows in the temporary table.
#[allow(clippy::too_many_arguments)]
fn insertion(
    merge: &Modify,
    when: &MergeWhen,
    table: &str,
    act: usize,
    first: usize,
    width: usize,
    columns: &[i16],
    values: &[Expr],
) -> Modify {
    let mut all = fixed_columns();
    for i in 4..=width {
        let value = values.get(i.wrapping_sub(first));
        all.push(plain_column(&format!("v{i}"), value.map_or(oid::TEXT, |v| v.ty), value.map_or(-1, |v| v.typmod)));
    }
    let mut query = super::with::query_of_table(table, all.clone());
    if let QueryBody::Select(select) = &mut query.body {
        // int4 = int4
        let op = crate::typed::OperatorRef { oid: 96, proc: 65 };
        let number = Expr::new(ExprKind::Const(Datum::Int(act as i64)), oid::INT4, -1);
        let kind = ExprKind::Op { op, args: vec![var(0, 0, 1, &all[1], -1), number] };
        select.filter = Some(Expr::new(kind, oid::BOOL, -1));
    }
    let kind = RteKind::Subquery { query: Box::new(query.clone()), lateral: false };
    let source = crate::analyze::entry(kind, "*SELECT*".into(), true, all.clone());
    let values = (0..values.len()).map(|i| var(0, 1, first - 1 + i, &all[first - 1 + i], -1)).collect();
    Modify {
        ctes: vec![],
        range_table: vec![merge.range_table[0].clone(), source],
        target: merge.target.clone(),
        action: ModifyAction::Insert {
            columns: columns.to_vec(),
            source: InsertSource::Query { query: Box::new(query), values },
            on_conflict: None,
        },
        returning: vec![],
        checks: new_row_checks(&merge.checks, &when.secured),
        written: merge.written.clone(),
    }
}
