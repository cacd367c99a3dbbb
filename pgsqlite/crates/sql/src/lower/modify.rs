//! INSERT, UPDATE, DELETE.
//!
//! What SQLite's schema does not check (CHECK constraints, which may use native functions) and does not compute
//! (generated columns) is part of the statement: a CHECK wraps the first column's new value, so that it is evaluated once
//! for each row that is written.

use super::evaluation_order;
use super::proposed::{keep, named};
use super::{quote, quote_text, rowid_name, support, table_name, Lowerer, Scope};
use crate::builtins::imp::{imp, Imp};
use crate::catalog::{Column, Relation};
use crate::plan::{ByRows, Plan, PlanColumn, QueryPlan, ReadBack, Step, StepOutput, Tag};
use crate::typed::{
    CastMethod, Cte, Expr, ExprKind, FromItem, InsertSource, Modify, ModifyAction, OnConflict, RteColumn, RteKind,
    Target,
};
use crate::volatility::{is_repeatable, shows_calls};
use pgsqlite_types::{Oid, PgError, Result, SqlState};

impl Lowerer<'_> {
    pub(super) fn modify_plan(&mut self, modify: &Modify, parameters: Vec<Oid>) -> Result<Plan> {
        let mut steps = Vec::new();
        let mut modifies = Vec::new();
        let modify = self.modification_after_ctes(modify, &mut steps, &mut modifies)?;
        let ctes = modify.ctes.clone();
        // (where a part of the statement goes by rows, so does the rest: what comes after the rows comes after all)
        let by_rows = self.goes_by_rows(&modify) || steps.iter().any(|s| s.by_rows.is_some());
        let merges = matches!(modify.action, ModifyAction::Merge { .. });
        // (the row that a partition's bound refuses is told by what goes row by row)
        let by_rows = by_rows || (merges && modify.target.is_partition());
        let by_rows = by_rows || (merges && !modify.returning.is_empty());
        // (and where other parts come after its rows: RETURNING shows them when all is done)
        let by_rows = by_rows || !self.unread_parts.is_empty();
        let triggered = !merges && by_rows;
        let own = match triggered {
            false if by_rows => self.merge_by_rows(&modify, &ctes, parameters.len())?,
            false => self.modify_steps(&modify, &ctes)?,
            true if steps.is_empty() && self.unread_parts.is_empty() => vec![],
            true => {
                let (mut own, _) = self.by_rows(&modify, &ctes, parameters.len())?;
                modifies.extend(self.changed_by_rows(&own));
                let [before, after] = Self::statements_of(&mut own);
                // (the rows of WITH are asked for when the first row of the statement is)
                steps.insert(0, before);
                self.after_statements.push(after);
                vec![Self::step_by_rows(ByRows::Modify(own), StepOutput::Rows, true)]
            }
        };
        let triggered = triggered && steps.is_empty() && own.is_empty();
        steps.extend(own);
        let several = steps.len() + self.unread_parts.len() > 1;
        steps.append(&mut self.after_statements);
        steps.append(&mut self.unread_parts);
        modifies.push(modify.target.oid);
        let tag = match &modify.action {
            ModifyAction::Insert { .. } => Tag::Insert,
            ModifyAction::Update { .. } => Tag::Update,
            ModifyAction::Delete { .. } => Tag::Delete,
            ModifyAction::Merge { .. } => Tag::Merge,
        };
        let columns = if modify.returning.is_empty() {
            None
        } else {
            let mut columns = Vec::new();
            for t in &modify.returning {
                self.check_type(t.expr.ty)?;
                columns.push(PlanColumn {
                    name: t.name.clone(),
                    type_oid: t.expr.ty,
                    typmod: t.expr.typmod,
                    table_oid: t.origin.0,
                    attnum: t.origin.1,
                });
            }
            Some(columns)
        };
        if triggered {
            let query = self.triggered_plan(&modify, &ctes, parameters.len())?;
            return Ok(Plan { parameters, columns, query, uses_catalog: true });
        }
        let touches_few_rows = !several
            && match &modify.action {
                ModifyAction::Insert { source: InsertSource::Values(rows), .. } => rows.len() <= 100,
                ModifyAction::Insert { .. } => false,
                ModifyAction::Update { filter, from, .. } => from.is_empty() && self.bounded_filter(filter, &modify),
                ModifyAction::Delete { filter, using } => using.is_empty() && self.bounded_filter(filter, &modify),
                ModifyAction::Merge { .. } => false,
            };
        Ok(Plan {
            parameters,
            columns,
            query: QueryPlan {
                steps,
                tag,
                writes: true,
                touches_few_rows,
                waits_apart: false,
                waits_aside: !several && !by_rows && self.waits_alone(),
                shares: touches_few_rows && self.routines.is_empty() && !self.may_wait,
                constant: false,
                modifies,
                locks_rows: false,
                named: std::mem::take(&mut self.named),
                passes_over: self.passes_over,
                upserts: self.upserts,
                calls_writers: self.calls_writers() || by_rows,
                triggered: None,
                current_of: self.current_of(&modify),
                assigns: if several { None } else { assigns(&modify) },
                gather: None,
                read_back: if several { None } else { std::mem::take(&mut self.read_back) },
                rewritten: None,
                shape: if several { Default::default() } else { shape_of(&modify) },
            },
            uses_catalog: true,
        })
    }

    /// The cursor on whose row a statement works, and the tables that may have the row.
    pub(super) fn current_of(&self, modify: &Modify) -> Option<(String, Vec<Oid>)> {
        let (ModifyAction::Update { filter, .. } | ModifyAction::Delete { filter, .. }) = &modify.action else {
            return None;
        };
        let mut found = None;
        crate::walk::deep(filter.as_ref()?, 0, &mut |_, e| {
            if let ExprKind::CurrentOf { cursor, .. } = &e.kind {
                found = Some(cursor.clone());
            }
        });
        let tables = match modify.range_table.first().is_some_and(|rte| rte.only) {
            true => vec![modify.target.oid],
            false => self.env.catalog.tables_with_rows(modify.target.oid).iter().map(|t| t.oid).collect(),
        };
        found.map(|cursor| (cursor, tables))
    }

    fn bounded_filter(&self, filter: &Option<Expr>, modify: &Modify) -> bool {
        filter.as_ref().is_some_and(|f| has_key_lookup(f, 0, &modify.target, &modify.range_table[0].columns))
    }

    /// The steps of one INSERT, UPDATE or DELETE; `ctes` are the WITH queries it may refer to.
    pub(super) fn modify_steps(&mut self, modify: &Modify, ctes: &[Cte]) -> Result<Vec<Step>> {
        self.check_triggers(modify, true)?;
        self.steps_without_triggers(modify, ctes)
    }

    /// As [`Lowerer::modify_steps`], of the statement that stores a row whose triggers the engine fires.
    pub(super) fn modify_steps_of_row(&mut self, modify: &Modify) -> Result<Vec<Step>> {
        self.steps_without_triggers(modify, &[])
    }

    fn steps_without_triggers(&mut self, modify: &Modify, ctes: &[Cte]) -> Result<Vec<Step>> {
        self.uses_catalog = true;
        self.scopes.push(Scope::default());
        let around = std::mem::replace(&mut self.row_checks, modify.checks.clone());
        let shown = self.returning_name.replace(modify.target.sqlite_name.to_ascii_lowercase());
        let result = self.modify_in_scope(modify, ctes);
        self.returning_name = shown;
        self.row_checks = around;
        self.scopes.pop();
        result
    }

    fn modify_in_scope(&mut self, modify: &Modify, ctes: &[Cte]) -> Result<Vec<Step>> {
        let with = self.with_queries(ctes)?;
        if modify.returning.iter().any(|t| uses_other_entries(&t.expr)) {
            return self.modify_by_rows(modify, &with);
        }
        let mut before = Vec::new();
        let copied = self.returning_without_target(modify, &mut before)?;
        let modify = copied.as_ref().unwrap_or(modify);
        let sql = match &modify.action {
            ModifyAction::Insert { columns, source, on_conflict } => {
                self.insert(modify, columns, source, on_conflict.as_ref())?
            }
            ModifyAction::Update { set, from, filter } => self.update(modify, set, from, filter.as_ref())?,
            ModifyAction::Delete { using, filter } => self.delete(modify, using, filter.as_ref())?,
            ModifyAction::Merge { source, on, whens } => return self.merge_steps(modify, &with, source, on, whens),
        };
        let returning = self.returning(modify)?;
        let output = if modify.returning.is_empty() { StepOutput::None } else { StepOutput::Rows };
        self.read_back = match returning.strip_prefix(RETURNING) {
            Some(shown) if inserts_one_row(modify) => Some(ReadBack {
                insert: format!("{with}{sql}"),
                row: format!(
                    "SELECT {shown} FROM {} WHERE {} = last_insert_rowid()",
                    table_name(&modify.target),
                    rowid_name(&modify.target)?
                ),
            }),
            _ => None,
        };
        let deletes = matches!(modify.action, ModifyAction::Delete { .. });
        before.push(Step { deletes, ..Step::new(format!("{with}{sql}{returning}"), output, true) });
        Ok(before)
    }

    /// RETURNING whose sub-queries read the target, or what SQLite changes for its foreign keys: they see it as it was before the
    /// statement, in a copy.
    fn returning_without_target(&mut self, modify: &Modify, steps: &mut Vec<Step>) -> Result<Option<Modify>> {
        if !modify.returning.iter().any(|t| looks_further(&t.expr)) {
            return Ok(None);
        }
        let mut tables = vec![modify.target.clone()];
        tables.extend(self.reached_by_actions(modify).into_iter().map(|(child, _)| child));
        let mut copied: Option<Modify> = None;
        for (i, table) in tables.iter().enumerate() {
            if tables[..i].iter().any(|t| t.oid == table.oid)
                || !modify.returning.iter().any(|t| reads(&t.expr, &self.with_ancestors(table.oid)))
            {
                continue;
            }
            if modify.returning.iter().any(|t| reads(&t.expr, &self.env.catalog.ancestors(table.oid))) {
                return Err(PgError::not_supported(
                    "a sub-query in RETURNING that reads the rows of the target by another table",
                ));
            }
            let copy = self.copy_step(table, steps)?;
            for t in &mut copied.get_or_insert_with(|| modify.clone()).returning {
                super::with::replace_in_sub_queries(&mut t.expr, table.oid, &copy);
            }
        }
        Ok(copied)
    }

    /// UPDATE … FROM and DELETE … USING whose RETURNING shows columns of the other tables: the rows are chosen first, with
    /// the new values and what RETURNING needs, into a temporary table; then they are changed.
    fn modify_by_rows(&mut self, modify: &Modify, with: &str) -> Result<Vec<Step>> {
        let target = modify.target.clone();
        if target.without_rowid {
            return Err(PgError::not_supported("RETURNING columns of other tables on a table WITHOUT ROWID"));
        }
        let rowid = rowid_name(&target)?;
        let mut steps = Vec::new();
        let copied = self.returning_without_target(modify, &mut steps)?;
        let modify = copied.as_ref().unwrap_or(modify);
        let (set, from, filter): (&[(i16, Expr)], _, _) = match &modify.action {
            ModifyAction::Update { set, from, filter } => (set, from, filter),
            ModifyAction::Delete { using, filter } => (&[], using, filter),
            ModifyAction::Insert { .. } | ModifyAction::Merge { .. } => {
                return Err(PgError::internal("other tables in RETURNING of INSERT"))
            }
        };
        let mut others: Vec<Expr> = Vec::new();
        for t in &modify.returning {
            collect_other_columns(&t.expr, &mut others);
        }
        // the rows
        let alias = self.unique("t");
        let from_text = self.other_entries(modify, &format!("{alias}."), from)?;
        let mut columns = vec![format!("{alias}.{rowid} AS c1")];
        for expr in others.iter().chain(set.iter().map(|(_, e)| e)) {
            columns.push(format!("{} AS c{}", self.expr(expr)?, columns.len() + 1));
        }
        let condition = self.condition_of_change(filter.as_ref(), &target, &format!("{alias}."))?;
        let items = if from_text.is_empty() { String::new() } else { format!(", {from_text}") };
        let width = columns.len();
        let table = format!("{}_{width}", self.unique("pg_rows_"));
        steps.push(Step {
            sql: format!(
                "{with}SELECT {} FROM {} AS {alias}{items}{condition} GROUP BY {alias}.{rowid}",
                columns.join(", "),
                self.read_table(&target)
            ),
            output: StepOutput::Materialize { table: table.clone(), columns: width },
            counts: false,
            deletes: false,
            by_rows: None,
        });
        // the change: values come from the rows
        let rows = self.unique("t");
        let name = table_name(&target);
        let first_value = 2 + others.len();
        let mut key = "c1".to_string();
        let sql = match &modify.action {
            ModifyAction::Update { .. } => {
                let mut entry = Vec::new();
                let mut values = Vec::new();
                for (i, (attnum, expr)) in set.iter().enumerate() {
                    let column = first_value + i;
                    if target.rowid_column == Some(*attnum) {
                        key = format!("c{column}");
                    }
                    entry.push(format!("{rows}.c{column}"));
                    let var = crate::typed::Var { levels_up: 0, rte: self.scope().entries.len(), column: i };
                    values.push((*attnum, Expr { kind: ExprKind::Var(var), ..expr.clone() }));
                }
                self.add_entry(entry);
                self.scope().entries[0] = self.entry_columns(&target, &format!("{alias}."))?;
                let assignments = self.assignments(&target, &values, &format!("{alias}."))?;
                format!(
                    "UPDATE {name} AS {alias} SET {} FROM {} AS {rows} WHERE {alias}.{rowid} = {rows}.c1",
                    assignments.join(", "),
                    super::scratch_name(&table)
                )
            }
            _ => format!("DELETE FROM {name} WHERE {rowid} IN (SELECT c1 FROM {})", super::scratch_name(&table)),
        };
        // RETURNING looks up what belongs to the row
        let qualified = returning_prefix(&target);
        let row = self.unique("t");
        let look_up: Vec<String> = (0..others.len())
            .map(|i| {
                format!(
                    "(SELECT {row}.c{} FROM {} AS {row} WHERE {row}.{key} = {qualified}{rowid})",
                    i + 2,
                    super::scratch_name(&table)
                )
            })
            .collect();
        let rte = self.add_entry(look_up);
        let mut modify = modify.clone();
        for t in &mut modify.returning {
            super::stages::replace(&mut t.expr, &others, rte);
        }
        self.scope().entries[0] = self.entry_columns(&target, &qualified)?;
        let returning = self.returning(&modify)?;
        steps.push(Step::new(format!("{with}{sql}{returning}"), StepOutput::Rows, true));
        Ok(steps)
    }

    // --- INSERT --------------------------------------------------------------------------------------------------------

    fn insert(
        &mut self,
        modify: &Modify,
        attnums: &[i16],
        source: &InsertSource,
        on_conflict: Option<&OnConflict>,
    ) -> Result<String> {
        let target = modify.target.clone();
        let alias = self.unique("t");
        let prefix = format!("{alias}.");
        let mut columns: Vec<Column> = Vec::new();
        for attnum in attnums {
            columns.push(
                target.column_by_attnum(*attnum).cloned().ok_or_else(|| PgError::internal("INSERT into no column"))?,
            );
        }
        let checks = self.has_checks(&target);
        // (a virtual column is computed for what is checked)
        let computed = |c: &&Column| c.generated.is_some() && (checks || !c.is_virtual);
        let generated: Vec<Column> = target.live_columns().filter(computed).cloned().collect();
        let in_order = matches!(source, InsertSource::Values(rows) if rows.len() == 1 && evaluation_order::must_keep_order(&rows[0]));
        let must_name_rows = checks || !generated.is_empty() || in_order;
        let volatile = volatile_columns(source, attnums);
        let kept = if keeps_are_exact(modify, source, &self.with_ancestors(target.oid)) { &volatile[..] } else { &[] };

        // the rows: expressions per column
        let mut text;
        let stored = generated.iter().filter(|c| !c.is_virtual);
        let names: Vec<String> = columns.iter().chain(stored).map(|c| quote(&c.name)).collect();
        let into = format!("INSERT INTO {} AS {alias} ({})", table_name(&target), names.join(", "));
        self.scope().entries = vec![self.entry_columns(&target, &prefix)?];
        match source {
            InsertSource::Values(rows) if !must_name_rows => {
                // SQLite computes the constants of a single row first, as PostgreSQL does
                let folded = if rows.len() > 1 { self.folded_values(rows)? } else { vec![] };
                let out = self.rows_of_values(&target, rows, &columns, kept, &folded)?;
                if columns.is_empty() && rows.len() > 1 {
                    let rows = vec!["(NULL)"; rows.len()].join(", ");
                    text = format!("{} VALUES {rows}", self.into_no_column(&target, &alias)?);
                } else if columns.is_empty() {
                    text = format!("INSERT INTO {} AS {alias} DEFAULT VALUES", table_name(&target));
                } else {
                    text = format!("{into} VALUES {}", out.join(", "));
                }
            }
            InsertSource::Values(rows) => {
                let folded = self.folded_values(rows)?;
                let out = self.rows_of_values(&target, rows, &columns, &[], &folded)?;
                if columns.is_empty() {
                    return Err(PgError::not_supported("INSERT without values into a table with checks"));
                }
                let row_names: Vec<String> = (1..=columns.len()).map(|i| format!("c{i}")).collect();
                let (new, new_row) = self.new_row(&row_names);
                let values = self.checked_row(&target, &columns, &generated, &new_row, kept)?;
                let with = self.unique("w");
                text = format!(
                    "{into} SELECT {} FROM ({}) AS {new} WHERE 1",
                    values.join(", "),
                    once(&with, &row_names, &format!("VALUES {}", out.join(", ")))
                );
            }
            InsertSource::Query { query, values } => {
                let mut inner = self.query(query)?;
                if !volatile.is_empty() {
                    inner = super::postponed::keeping_order(query, inner);
                }
                let source_alias = self.unique("t");
                self.source_entry(modify, query, &source_alias)?;
                if columns.is_empty() && must_name_rows {
                    return Err(PgError::not_supported("INSERT without values into a table with checks"));
                }
                if columns.is_empty() {
                    let into = self.into_no_column(&target, &alias)?;
                    text = format!("{into} SELECT NULL FROM ({inner}) AS {source_alias} WHERE 1");
                } else if must_name_rows {
                    let row = self.insert_row(&target, values, &columns, &[], &[])?;
                    let named: Vec<String> =
                        row.iter().enumerate().map(|(i, v)| format!("{v} AS c{}", i + 1)).collect();
                    let row_names: Vec<String> = (1..=columns.len()).map(|i| format!("c{i}")).collect();
                    let (new, new_row) = self.new_row(&row_names);
                    let values = self.checked_row(&target, &columns, &generated, &new_row, kept)?;
                    let mut rows = format!("SELECT {} FROM ({inner}) AS {source_alias} WHERE 1", named.join(", "));
                    let mut changing = !volatile.is_empty();
                    crate::walk::query_exprs(query, 0, &mut |_, e| changing |= shows_calls(e));
                    if changing {
                        let with = self.unique("w");
                        rows = once(&with, &row_names, &rows);
                    }
                    text = format!("{into} SELECT {} FROM ({rows}) AS {new} WHERE 1", values.join(", "));
                } else {
                    let row = self.insert_row(&target, values, &columns, kept, &[])?;
                    text = format!("{into} SELECT {} FROM ({inner}) AS {source_alias} WHERE 1", row.join(", "));
                }
            }
        }
        if let Some(conflict) = on_conflict {
            text += &self.on_conflict(modify, conflict, &alias)?;
        }
        // RETURNING sees the new row by the bare names of the target's columns
        self.scope().entries[0] = self.entry_columns(&target, "")?;
        Ok(text)
    }

    /// A name for the rows of an INSERT, and their columns behind it: in a sub-query of a check a bare name could be taken for a
    /// column of that.
    pub(super) fn new_row(&mut self, names: &[String]) -> (String, Vec<String>) {
        let alias = self.unique("t");
        let columns = names.iter().map(|name| format!("{alias}.{name}")).collect();
        (alias, columns)
    }

    /// `INSERT INTO` for rows that get no value: a column that is NULL without one stands for all.
    fn into_no_column(&self, target: &Relation, alias: &str) -> Result<String> {
        let table = table_name(target);
        let column = match target.stored_columns().next() {
            None => Some(super::NO_COLUMN),
            Some(_) => target.live_columns().find(|c| !c.sqlite_default && !c.is_generated()).map(|c| c.name.as_str()),
        };
        let column = column.ok_or_else(|| PgError::not_supported("several rows without columns"))?;
        Ok(format!("INSERT INTO {table} AS {alias} ({})", quote(column)))
    }

    /// Makes the columns of an INSERT's query known to its values.
    pub(super) fn source_entry(&mut self, modify: &Modify, query: &crate::typed::Query, alias: &str) -> Result<()> {
        let entry = modify
            .range_table
            .iter()
            .position(|r| matches!(r.kind, RteKind::Subquery { .. }) && r.alias == "*SELECT*")
            .ok_or_else(|| PgError::internal("INSERT source entry"))?;
        let scope = self.scope();
        if scope.entries.len() <= entry {
            scope.entries.resize(entry + 1, vec![]);
        }
        scope.entries[entry] = (1..=query.columns.len()).map(|i| format!("{alias}.c{i}")).collect();
        Ok(())
    }

    /// The rows of VALUES, as of [`Lowerer::insert_row`], each in parentheses. The target's columns are no columns yet.
    fn rows_of_values(
        &mut self,
        target: &Relation,
        rows: &[Vec<Expr>],
        columns: &[Column],
        kept: &[i16],
        folded: &[String],
    ) -> Result<Vec<String>> {
        let mut folded = Some(folded);
        self.beside_no_row(|lowerer| {
            rows.iter()
                .map(|row| {
                    let values = lowerer.insert_row(target, row, columns, kept, folded.take().unwrap_or_default())?;
                    Ok(format!("({})", values.join(", ")))
                })
                .collect()
        })
    }

    /// The texts of a row's values; those of the columns in `kept` are remembered. The texts in `folded` are computed before
    /// the first value that is no constant.
    fn insert_row(
        &mut self,
        target: &Relation,
        row: &[Expr],
        columns: &[Column],
        kept: &[i16],
        folded: &[String],
    ) -> Result<Vec<String>> {
        let mut out = Vec::with_capacity(row.len());
        let mut computed: Vec<(i16, String)> = Vec::new();
        let mut folded = Some(folded);
        for (expr, column) in row.iter().zip(columns) {
            if matches!(expr.kind, ExprKind::Default) {
                return Err(PgError::not_supported(format!("DEFAULT for column \"{}\"", column.name)).at(expr.location));
            }
            let mut value = self.expr(expr)?;
            if evaluation_order::may_fail_again(expr) {
                computed.push((column.attnum, value.clone()));
            }
            if !is_repeatable(expr) {
                value = evaluation_order::after(folded.take().unwrap_or_default(), value);
            }
            if kept.contains(&column.attnum) {
                value = keep(column.attnum, &value);
            }
            out.push(value);
        }
        for ((expr, column), value) in row.iter().zip(columns).zip(&mut out) {
            *value = self.not_null_rowid(target, column, expr, std::mem::take(value), &computed);
        }
        Ok(out)
    }

    /// SQLite gives a row a number where its INTEGER PRIMARY KEY would be NULL; PostgreSQL refuses the row. It does so once it has computed all
    /// values: where there is none, those in `computed` are computed before the row is refused.
    fn not_null_rowid(
        &self,
        target: &Relation,
        column: &Column,
        expr: &Expr,
        value: String,
        computed: &[(i16, String)],
    ) -> String {
        let never_null = match &expr.kind {
            ExprKind::Const(d) => *d != pgsqlite_types::Datum::Null,
            ExprKind::NextRow(_) => true,
            _ => false,
        };
        if target.rowid_column != Some(column.attnum) || never_null {
            return value;
        }
        let (table, name) = (named(self.env, target), quote_text(&column.name));
        // (a sequence's next number is never NULL)
        let computed = if evaluation_order::takes_number(expr) { &[] } else { computed };
        let others: String =
            computed.iter().filter(|(a, _)| *a != column.attnum).map(|(_, value)| format!(", {value}")).collect();
        match others.is_empty() {
            true => format!("{}({value}, {table}, {name})", support::NOT_NULL),
            false => format!("coalesce({value}, {}(NULL, {table}, {name}{others}))", support::NOT_NULL),
        }
    }

    // --- UPDATE --------------------------------------------------------------------------------------------------------

    /// `"column" = value` for each, generated columns recomputed, CHECKs attached to the first.
    pub(super) fn assignments(&mut self, target: &Relation, set: &[(i16, Expr)], prefix: &str) -> Result<Vec<String>> {
        let mut values: Vec<(Column, String)> = Vec::new();
        let mut computed: Vec<(i16, String)> = Vec::new();
        for (attnum, expr) in set {
            let column =
                target.column_by_attnum(*attnum).cloned().ok_or_else(|| PgError::internal("SET of no column"))?;
            let value = self.expr(expr)?;
            if evaluation_order::may_fail_again(expr) {
                computed.push((*attnum, value.clone()));
            }
            values.push((column, value));
        }
        for ((_, expr), (column, value)) in set.iter().zip(&mut values) {
            *value = self.not_null_rowid(target, column, expr, std::mem::take(value), &computed);
        }
        let checks = self.has_checks(target);
        let computed = |c: &&Column| c.generated.is_some() && (checks || !c.is_virtual);
        let generated: Vec<Column> = target.live_columns().filter(computed).cloned().collect();
        if values.is_empty() && target.has_virtual_columns() {
            // (DEFAULT for a virtual column alone: the row is checked, and stays as it is)
            let texts = self.target_columns(target, prefix)?;
            let stored = |c: &Column| !c.is_virtual && c.generated.is_none() && target.rowid_column != Some(c.attnum);
            let same = target.live_columns().zip(texts).find(|(c, _)| stored(c));
            values.extend(same.map(|(c, text)| (c.clone(), text)));
        }
        if checks || !generated.is_empty() {
            if set.iter().any(|(_, e)| !is_repeatable(e)) {
                return Err(PgError::not_supported(
                    "a volatile value in UPDATE of a table with CHECK constraints or generated columns",
                ));
            }
            let old = self.target_columns(target, prefix)?;
            let mut row: Vec<String> = target
                .live_columns()
                .zip(old)
                .map(|(c, old)| values.iter().find(|(x, _)| x.attnum == c.attnum).map_or(old, |(_, v)| v.clone()))
                .collect();
            for column in &generated {
                let value = self.generated_value(target, column, &row)?;
                let position = target
                    .live_columns()
                    .position(|c| c.attnum == column.attnum)
                    .ok_or_else(|| PgError::internal("generated column"))?;
                row[position] = value.clone();
                if !column.is_virtual {
                    values.push((column.clone(), value));
                }
            }
            if let Some((column, value)) = values.first().cloned() {
                values[0] = (column, self.with_checks(target, value, &row)?);
            }
        }
        if values.is_empty() {
            return Err(PgError::not_supported("an UPDATE that sets nothing"));
        }
        Ok(values.into_iter().map(|(c, v)| format!("{} = {v}", quote(&c.name))).collect())
    }

    fn update(
        &mut self,
        modify: &Modify,
        set: &[(i16, Expr)],
        from: &[FromItem],
        filter: Option<&Expr>,
    ) -> Result<String> {
        let target = modify.target.clone();
        let alias = self.unique("t");
        let prefix = format!("{alias}.");
        let from_text = self.other_entries(modify, &prefix, from)?;
        let assignments = self.assignments(&target, set, &prefix)?;
        let mut text = format!("UPDATE {} AS {alias} SET {}", self.read_table(&target), assignments.join(", "));
        if !from_text.is_empty() {
            text += &format!(" FROM {from_text}");
        } else if set.iter().any(|(_, e)| reads(e, &self.with_ancestors(target.oid))) {
            // with FROM all new values are computed before the first row changes
            text += " FROM (SELECT 1)";
        }
        text += &self.condition_of_change(filter, &target, &prefix)?;
        self.scope().entries[0] = self.entry_columns(&target, "")?;
        Ok(text)
    }

    /// The WHERE of an UPDATE or DELETE: its condition, and that no other part of the statement has changed the row.
    pub(super) fn condition_of_change(
        &mut self,
        filter: Option<&Expr>,
        target: &Relation,
        prefix: &str,
    ) -> Result<String> {
        let mut conditions = Vec::new();
        if let Some(filter) = filter {
            conditions.push(self.ordered_condition(filter)?);
        }
        if self.changed_by_several.contains(&target.oid) {
            conditions.push(format!("{}({})", support::IS_UNTOUCHED, identity(target, prefix)?));
        }
        Ok(match conditions.is_empty() {
            true => String::new(),
            false => format!(" WHERE {}", conditions.join(" AND ")),
        })
    }

    /// Lowers FROM/USING: the scope's entries, and the text of the items.
    pub(super) fn other_entries(&mut self, modify: &Modify, prefix: &str, items: &[FromItem]) -> Result<String> {
        let columns = self.entry_columns(&modify.target, prefix)?;
        self.scope().entries = vec![columns];
        let texts = self.entries_after_target(&modify.range_table)?;
        let mut out = Vec::new();
        for item in items {
            out.push(self.join_item(item, &texts)?);
        }
        Ok(out.join(", "))
    }

    // --- DELETE --------------------------------------------------------------------------------------------------------

    fn delete(&mut self, modify: &Modify, using: &[FromItem], filter: Option<&Expr>) -> Result<String> {
        let target = modify.target.clone();
        let alias = self.unique("t");
        let prefix = format!("{alias}.");
        let using_text = self.other_entries(modify, &prefix, using)?;
        let condition = self.condition_of_change(filter, &target, &prefix)?;
        let text = if using_text.is_empty() {
            format!("DELETE FROM {} AS {alias}{condition}", self.read_table(&target))
        } else {
            if target.without_rowid {
                return Err(PgError::not_supported("DELETE … USING on a table WITHOUT ROWID"));
            }
            let table = self.read_table(&target);
            let rowid = rowid_name(&target)?;
            format!("DELETE FROM {table} WHERE {rowid} IN (SELECT {alias}.{rowid} FROM {table} AS {alias}, {using_text}{condition})")
        };
        self.scope().entries[0] = self.entry_columns(&target, "")?;
        Ok(text)
    }

    fn returning(&mut self, modify: &Modify) -> Result<String> {
        let noted = !matches!(modify.action, ModifyAction::Delete { .. })
            && self.changed_by_several.contains(&modify.target.oid);
        let touches = noted || affects_several(modify);
        if modify.returning.is_empty() && !touches {
            return Ok(String::new());
        }
        let mut out = Vec::new();
        for Target { expr, .. } in &modify.returning {
            if crate::walk::contains_set_function(expr) {
                return Err(PgError::new(
                    SqlState::FEATURE_NOT_SUPPORTED,
                    "set-returning functions are not allowed in RETURNING",
                )
                .at(expr.location));
            }
            // some expressions become sub-queries over json_each, whose columns are called id, key, value …: no bare names
            self.scope().entries[0] = self.entry_columns(&modify.target, &returning_prefix(&modify.target))?;
            out.push(format!("{} AS c{}", self.expr(expr)?, out.len() + 1));
        }
        if shows_xmax(modify) {
            out.push(format!("{}()", support::NEXT_ROW));
        }
        if touches {
            // after the columns that the client sees
            out.push(format!("{}({})", support::TOUCH, identity(&modify.target, "")?));
        }
        Ok(format!("{RETURNING}{}", out.join(", ")))
    }
}

/// A query whose values may be used more than once outside. SQLite would put their expressions in the place of each use; a
/// sub-query with OFFSET it leaves whole, and runs it row by row beside the query around it.
pub(super) fn once(alias: &str, columns: &[String], query: &str) -> String {
    format!("WITH {alias}({}) AS ({query}) SELECT * FROM {alias} LIMIT -1 OFFSET 0", columns.join(", "))
}

/// How RETURNING's sub-queries name the target's columns: by the table's name, which [`Lowerer::unique`] gives to nothing else.
fn returning_prefix(target: &Relation) -> String {
    format!("{}.", quote(&target.sqlite_name))
}

const RETURNING: &str = " RETURNING ";

/// Whether a statement inserts exactly one row, and its RETURNING looks at nothing else: then it can be read when it is there.
fn inserts_one_row(modify: &Modify) -> bool {
    let one = matches!(
        &modify.action,
        ModifyAction::Insert { source: InsertSource::Values(rows), on_conflict: None, .. } if rows.len() == 1
    );
    one && !modify.target.without_rowid
        && !shows_xmax(modify)
        && !modify.returning.iter().any(|t| looks_further(&t.expr))
}

/// Whether an expression has a sub-query.
fn looks_further(expr: &Expr) -> bool {
    crate::walk::any(expr, &|e| matches!(e.kind, ExprKind::SubLink { .. }))
}

/// Whether an INSERT … ON CONFLICT DO UPDATE may meet a row that it has inserted or updated itself (21000).
pub(super) fn affects_several(modify: &Modify) -> bool {
    match &modify.action {
        ModifyAction::Insert { source, on_conflict: Some(OnConflict { set: Some(_), .. }), .. } => {
            !matches!(source, InsertSource::Values(rows) if rows.len() == 1)
        }
        _ => false,
    }
}

/// Whether RETURNING shows which rows ON CONFLICT DO UPDATE changed.
pub(super) fn shows_xmax(modify: &Modify) -> bool {
    let hidden = modify.range_table.first().and_then(|e| e.columns.iter().position(|c| c.attnum == -4));
    let is_xmax = |depth: usize, e: &Expr| matches!(&e.kind, ExprKind::Var(v) if v.levels_up == depth && v.rte == 0 && Some(v.column) == hidden);
    let mut found = false;
    for target in modify.returning.iter().filter(|_| hidden.is_some()) {
        crate::walk::deep(&target.expr, 0, &mut |depth, e| found |= is_xmax(depth, e));
    }
    found
}

/// What tells a row of a table from all others, as arguments of a native function: the table's OID and the key.
pub(super) fn identity(target: &Relation, prefix: &str) -> Result<String> {
    let key = if target.without_rowid {
        let primary = target.primary_key().ok_or_else(|| PgError::internal("a table WITHOUT ROWID and without key"))?;
        let names = primary.columns.iter().filter_map(|a| target.column_by_attnum(*a));
        names.map(|c| format!("{prefix}{}", quote(&c.name))).collect::<Vec<_>>().join(", ")
    } else {
        format!("{prefix}{}", rowid_name(target)?)
    };
    Ok(format!("{}, {key}", target.oid))
}

/// The columns of existing rows that an UPDATE or an INSERT assigns, those computed from them included; None: another statement.
fn assigns(modify: &Modify) -> Option<Vec<i16>> {
    let set = match &modify.action {
        ModifyAction::Update { set, .. } => set,
        ModifyAction::Insert { on_conflict: Some(OnConflict { set: Some(set), .. }), .. } => set,
        ModifyAction::Insert { .. } => return Some(vec![]),
        _ => return None,
    };
    let generated = modify.target.live_columns().filter(|c| c.generated.is_some()).map(|c| c.attnum);
    Some(set.iter().map(|(attnum, _)| *attnum).chain(generated).collect())
}

/// The columns of an INSERT whose values differ with each evaluation.
pub(super) fn volatile_columns(source: &InsertSource, attnums: &[i16]) -> Vec<i16> {
    let rows: Vec<&[Expr]> = match source {
        InsertSource::Values(rows) => rows.iter().map(|r| &r[..]).collect(),
        InsertSource::Query { values, .. } => vec![values],
    };
    let changes = |i: usize| rows.iter().any(|row| row.get(i).is_some_and(|e| !is_repeatable(e)));
    attnums.iter().enumerate().filter(|(i, _)| changes(*i)).map(|(_, a)| *a).collect()
}

/// Whether the row whose values were remembered last is the one that a constraint refuses: SQLite evaluates a row and
/// stores it, unless it must collect all rows first, for RETURNING or because the source reads the target.
/// `tables`: the target and those whose reading reads it.
pub(super) fn keeps_are_exact(modify: &Modify, source: &InsertSource, tables: &[Oid]) -> bool {
    match source {
        InsertSource::Values(rows) if rows.len() == 1 => true,
        _ if !modify.returning.is_empty() || affects_several(modify) => false,
        InsertSource::Values(rows) => !rows.iter().flatten().any(|e| reads(e, tables)),
        InsertSource::Query { query, values } => {
            !super::query_reads(query, tables) && !values.iter().any(|e| reads(e, tables))
        }
    }
}

/// Whether an expression has a sub-query that reads one of the tables.
fn reads(expr: &Expr, tables: &[Oid]) -> bool {
    crate::walk::any(expr, &|e| matches!(&e.kind, ExprKind::SubLink { query, .. } if super::query_reads(query, tables)))
}

/// Whether an expression uses entries besides the target.
fn uses_other_entries(expr: &Expr) -> bool {
    let mut others = Vec::new();
    collect_other_columns(expr, &mut others);
    !others.is_empty()
}

/// The columns of entries besides the target that an expression uses, sub-queries included, as this level writes them.
pub(super) fn collect_other_columns(expr: &Expr, out: &mut Vec<Expr>) {
    crate::walk::deep(expr, 0, &mut |depth, e| {
        let kind = match &e.kind {
            ExprKind::Var(v) if v.levels_up == depth && v.rte != 0 => {
                ExprKind::Var(crate::typed::Var { levels_up: 0, ..*v })
            }
            ExprKind::WholeRow { levels_up, rte, fields } if *levels_up == depth && *rte != 0 => {
                ExprKind::WholeRow { levels_up: 0, rte: *rte, fields: fields.clone() }
            }
            _ => return,
        };
        let own = Expr { kind, ..e.clone() };
        if !out.contains(&own) {
            out.push(own);
        }
    });
}

/// Whether a condition pins the primary key of an entry by equality with something that is no column of it.
pub(super) fn has_key_lookup(filter: &Expr, entry: usize, relation: &Relation, columns: &[RteColumn]) -> bool {
    let Some(primary) = relation.primary_key() else { return false };
    let mut conjuncts = vec![filter];
    let mut pinned: Vec<i16> = Vec::new();
    while let Some(e) = conjuncts.pop() {
        match &e.kind {
            ExprKind::And(list) => conjuncts.extend(list),
            ExprKind::Op { op, args } if matches!(imp(op.proc), Some(Imp::Inline("$1 = $2"))) => {
                for (a, b) in [(0, 1), (1, 0)] {
                    let Some(attnum) = own_column(&args[a], entry, columns) else { continue };
                    let constant =
                        !crate::walk::any(&args[b], &|e| matches!(e.kind, ExprKind::Var(_) | ExprKind::SubLink { .. }));
                    if constant {
                        pinned.push(attnum);
                    }
                }
            }
            _ => {}
        }
    }
    primary.columns.iter().all(|c| pinned.contains(c))
}

fn own_column(expr: &Expr, entry: usize, columns: &[RteColumn]) -> Option<i16> {
    match &expr.kind {
        ExprKind::Var(v) if v.levels_up == 0 && v.rte == entry => columns.get(v.column).map(|c| c.attnum),
        ExprKind::Cast { arg, method: CastMethod::Relabel, .. } => own_column(arg, entry, columns),
        _ => None,
    }
}

/// What becomes of the rows that a data modification reads.
fn shape_of(modify: &Modify) -> crate::plan::Shape {
    use crate::plan::Shape;
    match &modify.action {
        // (of several rows that UPDATE … FROM finds for one row it takes one)
        ModifyAction::Update { from, .. } => Shape { changes_each: from.is_empty(), ..Shape::default() },
        ModifyAction::Delete { using, .. } => Shape { changes_each: using.is_empty(), ..Shape::default() },
        // (a query with groups or LIMIT is a sub-query of what SQLite inserts)
        ModifyAction::Insert { on_conflict, .. } => Shape { changes_each: on_conflict.is_none(), ..Shape::default() },
        ModifyAction::Merge { .. } => Shape::default(),
    }
}
