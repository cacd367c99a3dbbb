//! MERGE: the joined rows are chosen first, with the WHEN clause that acts on each and the values it gives, into a temporary
//! table; then each clause is carried out for its rows.

use super::{quote, rowid_name, support, table_name, Lowerer};
use crate::analyze::{plain_column, var};
use crate::plan::{Step, StepOutput};
use crate::typed::{
    Expr, ExprKind, FromItem, InsertSource, JoinKind, MergeAction, MergeWhen, Modify, ModifyAction, QueryBody,
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
        let rowid = rowid_name(&target)?;
        let name = table_name(&target);
        let alias = self.unique("t");
        let prefix = format!("{alias}.");
        let source_text = self.other_entries(modify, &prefix, std::slice::from_ref(source))?;
        let source_text =
            if matches!(source, FromItem::Join { .. }) { format!("({source_text})") } else { source_text };
        // rows without a match matter only if something is done with them
        let join = if whens.iter().any(|w| !w.matched) { JoinKind::Left } else { JoinKind::Inner };
        let word = if join == JoinKind::Left { "LEFT JOIN" } else { "JOIN" };
        let on = self.expr(on)?;

        let mut chosen = [String::new(), String::new()];
        for (i, when) in whens.iter().enumerate() {
            let condition = match &when.condition {
                Some(condition) => self.expr(condition)?,
                None => "1".into(),
            };
            chosen[when.matched as usize] += &format!(" WHEN {condition} THEN {}", i + 1);
        }
        let case = |whens: &String| if whens.is_empty() { "NULL".to_string() } else { format!("CASE{whens} END") };
        let act =
            format!("CASE WHEN {prefix}{rowid} IS NOT NULL THEN {} ELSE {} END", case(&chosen[1]), case(&chosen[0]));
        let mut columns = vec![format!("{prefix}{rowid} AS c1"), format!("{act} AS c2")];
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
        let rows = format!("temp.{}", quote(&table));
        let mut steps = vec![Step {
            sql: format!("{with}SELECT {} FROM {source_text} {word} {name} AS {alias} ON {on}", columns.join(", ")),
            output: StepOutput::Materialize { table: table.clone(), columns: width },
            counts: false,
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
                    "SELECT {}() FROM {rows} WHERE c2 IN ({}) GROUP BY c1 HAVING count(*) > 1",
                    support::MERGE_TWICE,
                    changing.join(", ")
                ),
                output: StepOutput::None,
                counts: false,
            });
        }
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
                        let assignments = self.assignments(&target, &set, &prefix)?;
                        format!(
                            "UPDATE {name} AS {alias} SET {} FROM {rows} AS {row} WHERE {prefix}{rowid} = {row}.c1 AND \
                             {row}.c2 = {act}",
                            assignments.join(", ")
                        )
                    }
                    (MergeAction::Insert { columns, values }, 2) => {
                        let insert = insertion(modify, &table, act, first[i], width, columns, values);
                        steps.extend(self.modify_steps(&insert, &[])?);
                        continue;
                    }
                    _ => continue,
                };
                steps.push(Step { sql, output: StepOutput::None, counts: true });
            }
        }
        Ok(steps)
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
fn insertion(
    merge: &Modify,
    table: &str,
    act: usize,
    first: usize,
    width: usize,
    columns: &[i16],
    values: &[Expr],
) -> Modify {
    let mut all: Vec<RteColumn> = vec![plain_column("rowid", oid::INT8, -1), plain_column("act", oid::INT4, -1)];
    for i in 3..=width {
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
        checks: merge.checks.clone(),
    }
}
