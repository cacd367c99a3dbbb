//! MERGE: the joined rows are chosen first, with the WHEN clause that acts on each and the values it gives, into a temporary
//! table; then each clause is carried out for its rows.

use super::row_checks::new_row_checks;
use super::{rowid_name, support, table_name, Lowerer, Scope};
use crate::analyze::{plain_column, var};
use crate::plan::{ByRows, Step, StepOutput};
use crate::routine::Event;
use crate::typed::{
    Cte, Expr, ExprKind, FromItem, InsertSource, JoinKind, MergeAction, MergeWhen, Modify, ModifyAction, QueryBody,
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
        let chosen = self.merge_rows(modify, with, source, on, whens)?;
        let Chosen { table, width, first, mut steps } = chosen;
        let rowid = rowid_name(&target)?;
        let name = table_name(&target);
        let alias = self.unique("t");
        let prefix = format!("{alias}.");
        self.scope().entries[0] = self.entry_columns(&target, &prefix);
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

    /// The step that chooses the rows, with what is done with each, and the one that looks for rows which are chosen twice.
    fn merge_rows(
        &mut self,
        modify: &Modify,
        with: &str,
        source: &FromItem,
        on: &Expr,
        whens: &[MergeWhen],
    ) -> Result<Chosen> {
        let target = modify.target.clone();
        let alias = self.unique("t");
        let prefix = format!("{alias}.");
        let source_text = self.other_entries(modify, &prefix, std::slice::from_ref(source))?;
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
        let join = if whens.iter().any(|w| !w.matched) { JoinKind::Left } else { JoinKind::Inner };
        let word = if join == JoinKind::Left { "LEFT JOIN" } else { "JOIN" };
        let on = self.condition(on)?;

        let mut chosen = [String::new(), String::new()];
        let existing: Vec<String> =
            self.scope().entries[0].iter().take(target.live_columns().count()).cloned().collect();
        for (i, when) in whens.iter().enumerate() {
            let condition = match &when.condition {
                Some(condition) => self.condition(condition)?,
                None => "1".into(),
            };
            let number = self.existing_checks(&when.secured, (i + 1).to_string(), &existing)?;
            chosen[when.matched as usize] += &format!(" WHEN {condition} THEN {number}");
        }
        let case = |whens: &String| if whens.is_empty() { "NULL".to_string() } else { format!("CASE{whens} END") };
        let act = format!("CASE WHEN {rowid} IS NOT NULL THEN {} ELSE {} END", case(&chosen[1]), case(&chosen[0]));
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
        let table = self.unique("pg_merge_");
        let width = columns.len();
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
        Ok(Chosen { table, width, first, steps })
    }
}

/// The rows that a MERGE has chosen.
struct Chosen {
    /// a temporary table: rowid, the WHEN clause's number, the table's OID, the clauses' values
    table: String,
    width: usize,
    /// first column of each clause's values
    first: Vec<usize>,
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
        let with = self.with_queries(ctes);
        let chosen = with.and_then(|with| self.merge_rows(modify, &with, source, on, whens));
        self.scopes.pop();
        let Chosen { table, width, first, mut steps } = chosen?;
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
                let own = match (&when.action, pass) {
                    (MergeAction::Delete, Event::Delete) => change(modify, when, &table, i + 1, first[i], width, None),
                    (MergeAction::Update(set), Event::Update) => {
                        change(modify, when, &table, i + 1, first[i], width, Some(set))
                    }
                    (MergeAction::Insert { columns, values }, Event::Insert) => {
                        insertion(modify, when, &table, i + 1, first[i], width, columns, values)
                    }
                    _ => continue,
                };
                let (mut made, _) = self.by_rows(&own, &[], parameters)?;
                made.part_of_several = true;
                steps.push(Self::step_by_rows(ByRows::Modify(made), StepOutput::None, true));
            }
        }
        events.reverse();
        steps.push(statements(events, false));
        Ok(steps)
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
