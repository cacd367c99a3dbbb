//! What an INSERT, UPDATE or DELETE would do to its table, as a query.
//!
//! SQLite tells which constraint failed, not for which row. After a failure the engine lowers the statement once more with
//! [`proposed_rows`], reads the rows that the statement proposes (nothing is changed by that) and finds the one that
//! PostgreSQL would report. Nothing of this is paid for by statements that succeed, except that values of volatile
//! expressions, which a second evaluation would not give again, are remembered by `pg_keep` while they are stored.

use super::{quote, quote_text, rowid_name, support, table_name, Lowerer, Scope};
use crate::acl;
use crate::analyze::{analyze_expression, Environment};
use crate::catalog::{ConstraintKind, ForeignKeyAction, KeyPart, Relation};
use crate::deparse::{definitions, Style};
use crate::typed::{
    Cte, CteBody, Expr, FromItem, InsertSource, MergeAction, MergeMatch, MergeWhen, Modify, ModifyAction, OnConflict,
    Query, QueryBody, RowCheckOf, Select, Written,
};
use crate::volatility;
use pgsqlite_types::{Oid, PgError, Result};
use std::sync::Arc;

/// The rows of a data modification before they are stored, and what to check them for.
#[derive(Debug)]
pub struct Proposed {
    pub relation: Arc<Relation>,
    /// the live columns (positions) that DETAIL shows of a row; None: all
    pub shown: Option<Vec<usize>>,
    /// the role may not read the whole table: of a row DETAIL shows these columns (positions among the live ones), by name
    pub visible: Option<Vec<usize>>,
    /// SQLite SQL. Its columns are addressed by number below.
    pub sql: String,
    /// new value of each live column (INSERT, UPDATE); a value that only SQLite knows is NULL
    pub new: Option<Vec<usize>>,
    /// old value of each live column (UPDATE, DELETE)
    pub old: Option<Vec<usize>>,
    /// the rowid of the old row
    pub rowid: Option<usize>,
    /// attnums whose values come from `pg_kept`: the row is known only for the evaluation that was the last
    pub kept: Vec<i16>,
    /// attnums of columns whose new values are not known
    pub unknown: Vec<i16>,
    /// (constraint's name, column with the condition), in the order of checking
    pub checks: Vec<(String, usize)>,
    /// in the order of checking
    pub unique: Vec<UniqueKey>,
    /// what is demanded besides the constraints, after them: (whose demand, column with the condition)
    pub row_checks: Vec<(RowCheckOf, usize)>,
    /// foreign keys of the table, in the order of checking
    pub references: Vec<Reference>,
    /// foreign keys of other tables (or itself) to the table
    pub referenced_by: Vec<Reference>,
    /// ON CONFLICT DO NOTHING: of these rows those are left out whose keys are there
    pub skips_conflicts: bool,
    /// the key that ON CONFLICT looks at (a position in `unique`): rows that are there by this one are not stored
    pub arbiter: Option<usize>,
    /// rows of the table that the statement's WITH deletes: a query, and its column with their rowids
    pub gone: Vec<(String, usize)>,
}

/// A unique index.
#[derive(Debug)]
pub struct UniqueKey {
    pub name: String,
    /// `a, lower(b)` as DETAIL shows it
    pub columns: String,
    /// the role may not read the key
    pub hidden: bool,
    /// columns of the row with the key's values, and their types
    pub key: Vec<(usize, Oid)>,
    /// column of the row that tells whether a partial index holds it
    pub predicate: Option<usize>,
    pub nulls_not_distinct: bool,
    /// the key is known for every proposed row, whatever is in [`Proposed::kept`]
    pub repeatable: bool,
    /// rowids of stored rows with the key `?1, ?2 …`
    pub lookup: String,
}

/// A foreign key, seen from the side that the statement changes.
#[derive(Debug)]
pub struct Reference {
    pub constraint: String,
    /// schema and name of the table that has the constraint
    pub child_schema: String,
    pub child: String,
    /// the table that it references
    pub parent: String,
    /// this side's columns as DETAIL shows them
    pub columns: String,
    /// the role may not read them
    pub hidden: bool,
    /// the action is RESTRICT (of what references the table)
    pub restricts: bool,
    /// positions of this side's columns among the live columns
    pub key: Vec<usize>,
    /// where the other side is this table, too: positions of its columns
    pub other: Option<Vec<usize>>,
    /// rowids (or 1) of the other side's rows for the key `?1, ?2 …`
    pub lookup: String,
}

/// The rows that a statement proposes; None where they cannot be told again.
pub fn proposed_rows(environment: &Environment, modify: &Modify) -> Result<Option<Proposed>> {
    proposed_by(environment, modify, Part::Whole)
}

/// The rows that each part proposes of a statement which does one thing to some rows and another one to others: what ON CONFLICT DO
/// UPDATE makes of rows that are there, and what each WHEN clause of MERGE does. (In which order the parts meet their rows is not known.)
pub fn proposed_by_parts(environment: &Environment, modify: &Modify) -> Result<Vec<Proposed>> {
    let parts = match &modify.action {
        ModifyAction::Insert { on_conflict: Some(OnConflict { set: Some(_), .. }), .. } => vec![Part::Updated],
        ModifyAction::Merge { whens, .. } => (0..whens.len()).map(Part::When).collect(),
        _ => vec![],
    };
    let mut out = Vec::new();
    for part in parts {
        out.extend(proposed_by(environment, modify, part)?);
    }
    Ok(out)
}

fn proposed_by(environment: &Environment, modify: &Modify, part: Part) -> Result<Option<Proposed>> {
    crate::parse::with_stack(|| {
        let mut lowerer = Lowerer::new(environment);
        lowerer.scopes.push(Scope::default());
        lowerer.proposed(modify, part)
    })
}

/// What of a statement proposes rows.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    Whole,
    /// ON CONFLICT DO UPDATE
    Updated,
    /// a WHEN clause of MERGE
    When(usize),
}

/// The texts of new rows, of old ones, of their rowid, and where they come from.
type Sides = (Option<Vec<String>>, Option<Vec<String>>, Option<String>, String);

/// The row's texts while the query is put together.
struct Texts {
    columns: Vec<String>,
}

impl Texts {
    fn add(&mut self, text: String) -> usize {
        self.columns.push(text);
        self.columns.len() - 1
    }
    fn add_all(&mut self, texts: &[String]) -> Vec<usize> {
        texts.iter().map(|t| self.add(t.clone())).collect()
    }
}

impl Lowerer<'_> {
    fn proposed(&mut self, modify: &Modify, part: Part) -> Result<Option<Proposed>> {
        let relation = modify.target.clone();
        let Some(ctes) = as_queries(&modify.ctes) else { return Ok(None) };
        let mut gone = vec![];
        for cte in &modify.ctes {
            let CteBody::Modify(other) = &cte.body else { continue };
            if other.target.oid == relation.oid {
                match proposed_by(self.env, other, Part::Whole)? {
                    Some(Proposed { sql, rowid: Some(rowid), .. }) => gone.push((sql, rowid)),
                    _ => return Ok(None),
                }
            }
        }
        let with = self.with_queries(&ctes)?;
        let mut texts = Texts { columns: vec![] };
        let mut kept = vec![];
        let mut unknown = vec![];
        let mut skips_conflicts = false;
        let (new, old, rowid, from) = match &modify.action {
            ModifyAction::Insert { columns, source, on_conflict } => {
                // which row a conflict's action changed cannot be told from the proposed rows
                let one = matches!(source, InsertSource::Values(rows) if rows.len() == 1);
                let updates = on_conflict.as_ref().is_some_and(|c| c.set.is_some());
                if part == Part::Whole && updates && !one {
                    return Ok(None);
                }
                skips_conflicts = part == Part::Whole && on_conflict.is_some() && !one;
                let Some(from) = self.inserted_rows(modify, columns, source, &mut kept)? else { return Ok(None) };
                let mut new = Vec::new();
                for column in relation.live_columns() {
                    new.push(match columns.iter().position(|a| *a == column.attnum) {
                        Some(i) => format!("r.c{}", i + 1),
                        None => {
                            if column.generated.is_none() && column.sqlite_default
                                || relation.rowid_column == Some(column.attnum)
                            {
                                unknown.push(column.attnum);
                            }
                            "NULL".to_string()
                        }
                    });
                }
                self.fill_generated(&relation, &mut new)?;
                match (on_conflict, part) {
                    (Some(conflict), Part::Updated) => {
                        if !kept.is_empty() || !unknown.is_empty() {
                            return Ok(None);
                        }
                        let Some(sides) = self.updated_rows(modify, conflict, &new, &from)? else { return Ok(None) };
                        sides
                    }
                    _ => (Some(new), None, None, from),
                }
            }
            ModifyAction::Update { set, from, filter } => {
                if relation.without_rowid || set.iter().any(|(_, e)| !volatility::is_repeatable(e)) {
                    return Ok(None);
                }
                let alias = self.unique("t");
                let others = self.other_entries(modify, &format!("{alias}."), from)?;
                let old = self.target_columns(&relation, &format!("{alias}."))?;
                let mut new = old.clone();
                for (attnum, expr) in set {
                    let at = position(&relation, *attnum)?;
                    new[at] = self.expr(expr)?;
                }
                self.fill_generated(&relation, &mut new)?;
                let mut text = format!("{} AS {alias}", table_name(&relation));
                if !others.is_empty() {
                    text += &format!(", {others}");
                }
                if let Some(filter) = filter {
                    text += &format!(" WHERE {}", self.ordered_condition(filter)?);
                }
                (Some(new), Some(old), Some(format!("{alias}.{}", rowid_name(&relation)?)), text)
            }
            ModifyAction::Merge { source, on, whens } => {
                let Part::When(at) = part else { return Ok(None) };
                let Some(sides) = self.merged_rows(modify, source, on, &whens[..=at], &mut unknown)? else {
                    return Ok(None);
                };
                sides
            }
            ModifyAction::Delete { using, filter } => {
                if relation.without_rowid {
                    return Ok(None);
                }
                let alias = self.unique("t");
                let others = self.other_entries(modify, &format!("{alias}."), using)?;
                let old = self.target_columns(&relation, &format!("{alias}."))?;
                let mut text = format!("{} AS {alias}", table_name(&relation));
                if !others.is_empty() {
                    text += &format!(", {others}");
                }
                if let Some(filter) = filter {
                    text += &format!(" WHERE {}", self.ordered_condition(filter)?);
                }
                (None, Some(old), Some(format!("{alias}.{}", rowid_name(&relation)?)), text)
            }
        };
        let mut checks = vec![];
        let mut unique = vec![];
        let mut arbiter = None;
        let mut row_checks = vec![];
        if let Some(new) = &new {
            for check in modify.checks.iter().filter(|c| !matches!(c.of, RowCheckOf::Policy { .. })) {
                let condition = self.over_row(&check.condition, new)?;
                row_checks.push((check.of.clone(), texts.add(format!("({condition}) IS TRUE"))));
            }
            let mut sorted: Vec<_> = relation
                .constraints
                .iter()
                .filter_map(|c| c.enforced_check().map(|expression| (&c.name, expression)))
                .collect();
            sorted.sort();
            for (name, expression) in sorted {
                let expr = analyze_expression(self.env, expression, Some(&relation), None)?;
                let condition = self.over_row(&expr, new)?;
                checks.push((name.clone(), texts.add(condition)));
            }
            unique = self.unique_keys(&relation, new, &mut texts, &kept)?;
            if let (ModifyAction::Insert { on_conflict: Some(conflict), .. }, Part::Whole) = (&modify.action, part) {
                let index = conflict.target.as_ref().and_then(|t| self.env.catalog.relation(t.index));
                arbiter = index.and_then(|index| unique.iter().position(|u| u.name == index.name));
                // with DO UPDATE the row that failed may be the one that was changed instead
                if arbiter.is_none() && conflict.set.is_some() {
                    unique.clear();
                }
            }
        }
        let deletes = new.is_none();
        let (references, referenced_by) = self.foreign_keys(&relation, deletes)?;
        let new = new.map(|n| texts.add_all(&n));
        let old = old.map(|o| texts.add_all(&o));
        let rowid = rowid.map(|r| texts.add(r));
        let sql = format!("{with}SELECT {} FROM {from}", texts.columns.join(", "));
        let visible = self.visible(&relation, &modify.written);
        Ok(Some(Proposed {
            relation,
            shown: None,
            visible,
            sql,
            new,
            old,
            rowid,
            kept,
            unknown,
            checks,
            unique,
            row_checks,
            references,
            referenced_by,
            skips_conflicts,
            arbiter,
            gone,
        }))
    }

    /// What ON CONFLICT DO UPDATE makes of the rows that are there. `excluded`: the row that was to be inserted, of `from`.
    fn updated_rows(
        &mut self,
        modify: &Modify,
        conflict: &OnConflict,
        excluded: &[String],
        from: &str,
    ) -> Result<Option<Sides>> {
        let relation = modify.target.clone();
        let (Some(set), Some(target)) = (&conflict.set, &conflict.target) else { return Ok(None) };
        let expressions = set.iter().map(|(_, e)| e).chain(&conflict.filter);
        let place = modify.range_table.iter().position(|r| r.alias == "excluded");
        let (Some(place), false) = (place, relation.without_rowid) else { return Ok(None) };
        if expressions.into_iter().any(|e| !volatility::is_repeatable(e)) {
            return Ok(None);
        }
        let alias = self.unique("t");
        let prefix = format!("{alias}.");
        let old = self.target_columns(&relation, &prefix)?;
        let mut entries = vec![vec![]; place + 1];
        entries[0] = self.entry_columns(&relation, &prefix)?;
        entries[place] = excluded.to_vec();
        self.scope().entries = entries;
        let mut conditions = Vec::new();
        for key in &target.keys {
            conditions.push(format!("{} = {}", self.over_row(key, &old)?, self.over_row(key, excluded)?));
        }
        if let Some(filter) = &target.filter {
            conditions.push(self.over_row(filter, &old)?);
            conditions.push(self.over_row(filter, excluded)?);
        }
        if let Some(filter) = &conflict.filter {
            conditions.push(self.condition(filter)?);
        }
        let mut new = old.clone();
        for (attnum, expr) in set {
            new[position(&relation, *attnum)?] = self.expr(expr)?;
        }
        self.fill_generated(&relation, &mut new)?;
        let rowid = format!("{prefix}{}", rowid_name(&relation)?);
        let text =
            format!("{from} CROSS JOIN {} AS {alias} WHERE ({})", table_name(&relation), conditions.join(") AND ("));
        Ok(Some((Some(new), Some(old), Some(rowid), text)))
    }

    /// What the last of these WHEN clauses of a MERGE does.
    fn merged_rows(
        &mut self,
        modify: &Modify,
        source: &FromItem,
        on: &Expr,
        whens: &[MergeWhen],
        unknown: &mut Vec<i16>,
    ) -> Result<Option<Sides>> {
        let relation = modify.target.clone();
        let Some((when, earlier)) = whens.split_last() else { return Ok(None) };
        let values: Vec<&Expr> = match &when.action {
            MergeAction::Update(set) => set.iter().map(|(_, e)| e).collect(),
            MergeAction::Insert { values, .. } => values.iter().collect(),
            MergeAction::Delete => vec![],
            MergeAction::Nothing => return Ok(None),
        };
        let conditions = whens.iter().filter_map(|w| w.condition.as_ref());
        let all_repeatable = values.into_iter().chain(conditions).chain([on]).all(volatility::is_repeatable);
        let several = self.stands_for_several(&modify.range_table[0], &relation);
        if relation.without_rowid || several || !all_repeatable {
            return Ok(None);
        }
        let alias = self.unique("t");
        let prefix = format!("{alias}.");
        let mut source_text = self.other_entries(modify, &prefix, std::slice::from_ref(source))?;
        if matches!(source, FromItem::Join { .. }) {
            source_text = format!("({source_text})");
        }
        let on = self.condition(on)?;
        let mut conditions = Vec::new();
        for other in earlier.iter().filter(|w| w.matched == when.matched) {
            conditions.push(match &other.condition {
                Some(condition) => format!("({}) IS NOT TRUE", self.expr(condition)?),
                None => "0".into(),
            });
        }
        if let Some(condition) = &when.condition {
            conditions.push(self.condition(condition)?);
        }
        let old = self.target_columns(&relation, &prefix)?;
        let new = match &when.action {
            MergeAction::Insert { columns, values } => {
                let mut new = Vec::new();
                for column in relation.live_columns() {
                    new.push(match columns.iter().position(|a| *a == column.attnum) {
                        Some(i) => self.expr(&values[i])?,
                        None => {
                            if column.generated.is_none() && column.sqlite_default
                                || relation.rowid_column == Some(column.attnum)
                            {
                                unknown.push(column.attnum);
                            }
                            "NULL".to_string()
                        }
                    });
                }
                self.fill_generated(&relation, &mut new)?;
                Some(new)
            }
            MergeAction::Update(set) => {
                let mut new = old.clone();
                for (attnum, expr) in set {
                    new[position(&relation, *attnum)?] = self.expr(expr)?;
                }
                self.fill_generated(&relation, &mut new)?;
                Some(new)
            }
            MergeAction::Delete | MergeAction::Nothing => None,
        };
        let table = table_name(&relation);
        let text = match when.matched {
            MergeMatch::NotMatchedByTarget => {
                conditions.push(format!("NOT EXISTS (SELECT 1 FROM {table} AS {alias} WHERE {on})"));
                let text = format!("{source_text} WHERE ({})", conditions.join(") AND ("));
                return Ok(Some((new, None, None, text)));
            }
            MergeMatch::NotMatchedBySource => {
                conditions.push(format!("NOT EXISTS (SELECT 1 FROM {source_text} WHERE {on})"));
                format!("{table} AS {alias} WHERE ({})", conditions.join(") AND ("))
            }
            MergeMatch::Matched => {
                conditions.push(on);
                format!("{source_text} CROSS JOIN {table} AS {alias} WHERE ({})", conditions.join(") AND ("))
            }
        };
        Ok(Some((new, Some(old), Some(format!("{prefix}{}", rowid_name(&relation)?)), text)))
    }

    /// The rows of an INSERT as a FROM item named `r` with columns `c1`, `c2` …
    fn inserted_rows(
        &mut self,
        modify: &Modify,
        attnums: &[i16],
        source: &InsertSource,
        kept: &mut Vec<i16>,
    ) -> Result<Option<String>> {
        let names: Vec<String> = (1..=attnums.len()).map(|i| format!("c{i}")).collect();
        if attnums.is_empty() {
            return Ok(Some("(SELECT 1) AS r".into()));
        }
        let volatile = super::modify::volatile_columns(source, attnums);
        if !volatile.is_empty()
            && !super::modify::keeps_are_exact(modify, source, &self.with_ancestors(modify.target.oid))
        {
            return Ok(None);
        }
        let kept_text = |attnum: i16| format!("{}({attnum})", support::KEPT);
        kept.extend(&volatile);
        match source {
            InsertSource::Values(rows) => {
                let columns = self.target_columns(&modify.target, "")?;
                self.scope().entries = vec![columns];
                let mut out = Vec::new();
                for row in rows {
                    let mut values = Vec::new();
                    for (expr, attnum) in row.iter().zip(attnums) {
                        values.push(if volatile.contains(attnum) { kept_text(*attnum) } else { self.expr(expr)? });
                    }
                    out.push(format!("({})", values.join(", ")));
                }
                let with = self.unique("w");
                Ok(Some(format!(
                    "({}) AS r",
                    super::modify::once(&with, &names, &format!("VALUES {}", out.join(", ")))
                )))
            }
            InsertSource::Query { query, values } => {
                let mut repeatable = true;
                crate::walk::query_exprs(query, 0, &mut |_, e| repeatable &= !volatility::shows_calls(e));
                if !repeatable {
                    return Ok(None);
                }
                let inner = self.query(query)?;
                let alias = self.unique("t");
                self.source_entry(modify, query, &alias)?;
                let mut out = Vec::new();
                for (i, (expr, attnum)) in values.iter().zip(attnums).enumerate() {
                    let text = if volatile.contains(attnum) { kept_text(*attnum) } else { self.expr(expr)? };
                    out.push(format!("{text} AS c{}", i + 1));
                }
                Ok(Some(format!("(SELECT {} FROM ({inner}) AS {alias}) AS r", out.join(", "))))
            }
        }
    }

    fn fill_generated(&mut self, relation: &Relation, row: &mut [String]) -> Result<()> {
        for column in relation.live_columns().filter(|c| c.generated.is_some()) {
            let value = self.generated_value(relation, column, row)?;
            row[position(relation, column.attnum)?] = value;
        }
        Ok(())
    }

    /// See [`Proposed::visible`]: what the role may read of the table that the statement names, and what it has written itself.
    fn visible(&self, relation: &Relation, written: &Written) -> Option<Vec<usize>> {
        let (catalog, role, table) = (self.env.catalog, self.env.user, &written.table);
        if acl::may_see(catalog, role, table, &[]) {
            return None;
        }
        if acl::policies_apply(catalog, role, table) {
            return Some(vec![]);
        }
        let seen = |attnum: &i16| written.columns.contains(attnum) || acl::may_see(catalog, role, table, &[*attnum]);
        let place = |name: &str| relation.live_columns().position(|c| c.name == name);
        Some(table.live_columns().filter(|c| seen(&c.attnum)).filter_map(|c| place(&c.name)).collect())
    }

    fn unique_keys(
        &mut self,
        relation: &Relation,
        new: &[String],
        texts: &mut Texts,
        kept: &[i16],
    ) -> Result<Vec<UniqueKey>> {
        let stored = self.target_columns(relation, "t.")?;
        let mut indexes: Vec<_> =
            self.env.catalog.indexes_of(relation.oid).filter(|(_, i)| i.unique && !i.deferrable).collect();
        indexes.sort_by_key(|(r, _)| r.oid);
        let mut out = Vec::new();
        for (index_relation, index) in indexes {
            let mut shown = Vec::new();
            let mut key = Vec::new();
            let mut conditions = Vec::new();
            for (i, column) in index.columns.iter().enumerate() {
                shown.push(
                    definitions::index_definition(self.env, index_relation, i + 1, Style::Pretty)?.unwrap_or_default(),
                );
                let place = i + 1;
                match &column.key {
                    KeyPart::Column(attnum) => {
                        let at = position(relation, *attnum)?;
                        let column = relation
                            .column_by_attnum(*attnum)
                            .ok_or_else(|| PgError::internal("an index on a missing column"))?;
                        key.push((texts.add(new[at].clone()), column.type_oid));
                        conditions.push(format!("{} IS ?{place}", stored[at]));
                    }
                    KeyPart::Expression(text) => {
                        let expr = analyze_expression(self.env, text, Some(relation), None)?;
                        key.push((texts.add(self.over_row(&expr, new)?), expr.ty));
                        conditions.push(format!("{} IS ?{place}", self.over_row(&expr, &stored)?));
                    }
                }
            }
            let mut predicate = None;
            if let Some(text) = &index.predicate {
                let expr = analyze_expression(self.env, text, Some(relation), None)?;
                predicate = Some(texts.add(self.over_row(&expr, new)?));
                conditions.push(self.over_row(&expr, &stored)?);
            }
            let identity =
                if relation.without_rowid { "1".to_string() } else { format!("t.{}", rowid_name(relation)?) };
            out.push(UniqueKey {
                name: index_relation.name.clone(),
                columns: shown.join(", "),
                hidden: {
                    let attnums: Option<Vec<i16>> = index
                        .columns
                        .iter()
                        .map(|c| if let KeyPart::Column(attnum) = &c.key { Some(*attnum) } else { None })
                        .collect();
                    !acl::may_see(self.env.catalog, self.env.user, relation, &attnums.unwrap_or_default())
                },
                key,
                predicate,
                nulls_not_distinct: index.nulls_not_distinct,
                repeatable: kept.is_empty()
                    || index.predicate.is_none()
                        && index.columns.iter().all(|c| matches!(&c.key, KeyPart::Column(a) if !kept.contains(a))),
                lookup: format!(
                    "SELECT {identity} FROM {} AS t WHERE {}",
                    table_name(relation),
                    conditions.join(" AND ")
                ),
            });
        }
        Ok(out)
    }

    /// The table's foreign keys, and those that reference it and forbid its keys to go.
    fn foreign_keys(&self, relation: &Arc<Relation>, deletes: bool) -> Result<(Vec<Reference>, Vec<Reference>)> {
        let catalog = self.env.catalog;
        let mut own = Vec::new();
        let mut others = Vec::new();
        let mut children: Vec<_> = catalog.relations.values().collect();
        children.sort_by_key(|r| r.oid);
        for child in children {
            let mut constraints: Vec<_> = child.constraints.iter().filter(|c| !c.managed).collect();
            constraints.sort_by_key(|c| c.oid);
            for constraint in constraints {
                let ConstraintKind::ForeignKey { references, columns, on_update, on_delete, .. } = &constraint.kind
                else {
                    continue;
                };
                let forbids =
                    |a: &ForeignKeyAction| matches!(a, ForeignKeyAction::NoAction | ForeignKeyAction::Restrict);
                let Some(parent) = catalog.relation(*references) else { continue };
                let itself = *references == child.oid;
                let side = |this: &Relation, these: &[i16], that: &Relation, those: &[i16]| -> Result<Reference> {
                    let positions =
                        |r: &Relation, list: &[i16]| list.iter().map(|a| position(r, *a)).collect::<Result<Vec<_>>>();
                    // PostgreSQL quotes no names here
                    let shown: Vec<&str> =
                        these.iter().filter_map(|a| this.column_by_attnum(*a)).map(|c| &c.name[..]).collect();
                    let conditions: Vec<String> = those
                        .iter()
                        .filter_map(|a| that.column_by_attnum(*a))
                        .enumerate()
                        .map(|(i, c)| format!("{} = ?{}", quote(&c.name), i + 1))
                        .collect();
                    let identity = if that.without_rowid { "1".to_string() } else { rowid_name(that)? };
                    Ok(Reference {
                        constraint: constraint.name.clone(),
                        child_schema: catalog.schema_name(child.schema).to_string(),
                        child: child.name.clone(),
                        parent: parent.name.clone(),
                        columns: shown.join(", "),
                        hidden: !acl::may_see(catalog, self.env.user, this, these),
                        restricts: *(if deletes { on_delete } else { on_update }) == ForeignKeyAction::Restrict,
                        key: positions(this, these)?,
                        other: if itself { Some(positions(that, those)?) } else { None },
                        lookup: format!(
                            "SELECT {identity} FROM {} WHERE {}",
                            table_name(that),
                            conditions.join(" AND ")
                        ),
                    })
                };
                if child.oid == relation.oid {
                    own.push(side(child, &constraint.columns, parent, columns)?);
                }
                if *references == relation.oid && forbids(if deletes { on_delete } else { on_update }) {
                    others.push(side(parent, columns, child, &constraint.columns)?);
                }
            }
        }
        Ok((own, others))
    }
}

/// WITH queries with each DELETE as the query that gives the rows which it returns; None: there is another modification.
fn as_queries(ctes: &[Cte]) -> Option<Vec<Cte>> {
    ctes.iter()
        .map(|cte| {
            let modify = match &cte.body {
                CteBody::Query(_) => return Some(cte.clone()),
                CteBody::Modify(modify) => modify,
            };
            let ModifyAction::Delete { using, filter } = &modify.action else { return None };
            let conditions = modify.returning.iter().map(|t| &t.expr).chain(filter);
            if conditions.into_iter().any(|e| !volatility::is_repeatable(e)) {
                return None;
            }
            let mut from = vec![FromItem::Entry(0)];
            from.extend(using.iter().cloned());
            let select =
                Select { from, targets: modify.returning.clone(), filter: filter.clone(), ..Select::default() };
            let mut query = Query::new(QueryBody::Select(select), cte.columns.clone());
            query.ctes = as_queries(&modify.ctes)?;
            query.range_table = modify.range_table.clone();
            Some(Cte { body: CteBody::Query(query), ..cte.clone() })
        })
        .collect()
}

/// The place of a column among the live columns.
fn position(relation: &Relation, attnum: i16) -> Result<usize> {
    relation
        .live_columns()
        .position(|c| c.attnum == attnum)
        .ok_or_else(|| PgError::internal(format!("column {attnum} of \"{}\" is not there", relation.name)))
}

/// `pg_keep(attnum, value)`: the value, remembered until the statement ends.
pub(super) fn keep(attnum: i16, value: &str) -> String {
    format!("{}({attnum}, {value})", support::KEEP)
}

/// Arguments that name a relation in a native function's error: schema and name.
pub(super) fn named(environment: &Environment, relation: &Relation) -> String {
    format!("{}, {}", quote_text(environment.catalog.schema_name(relation.schema)), quote_text(&relation.name))
}
