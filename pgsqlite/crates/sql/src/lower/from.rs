//! FROM: entries of the range table, joins, and the order in which they are joined.

use super::conditions::{conjuncts, joined};
use super::join_order::{JoinOrder, Placed};
use super::{support, Lowerer};
use crate::catalog::RelationKind;
use crate::typed::{Expr, ExprKind, FromItem, JoinKind, Query, QueryBody, RangeTableEntry, RteKind, Select};
use crate::walk;
use pgsqlite_types::{Oid, PgError, Result};

impl Lowerer<'_> {
    /// The items of FROM in the order that was chosen for them, and the conditions that are left for WHERE. What `implied` gives for a
    /// table that is hashed is asked while it is read.
    pub(super) fn ordered_items(
        &mut self,
        order: &JoinOrder,
        from: &[String],
        query: &Query,
        implied: &mut Vec<(usize, String)>,
    ) -> Result<(Vec<String>, Option<Expr>)> {
        if let Some(filter) = &order.filter {
            *implied = self.implied(filter, query)?;
        }
        let all = order.filter.iter().flat_map(conjuncts).flat_map(conjuncts);
        let mut conditions: Vec<Expr> = all.cloned().collect();
        let mut items = Vec::new();
        for Placed { entry, keys, .. } in &order.entries {
            if keys.is_empty() {
                items.push(from[*entry].clone());
                continue;
            }
            let (own, rest): (Vec<Expr>, Vec<Expr>) =
                conditions.iter().cloned().partition(|c| super::hash_join::is_own(c, *entry, query));
            let of_entry = implied.iter().filter(|(e, _)| e == entry);
            let mut filter: Vec<String> = of_entry.map(|(_, text)| text.clone()).collect();
            if !own.is_empty() {
                filter.push(self.filter(&joined(own.clone(), 0, ExprKind::And), query, Some(*entry))?);
            }
            match self.hashed_item(*entry, &from[*entry], keys, (&own, &filter), query)? {
                Some(item) => {
                    items.push(item);
                    conditions = rest;
                    implied.retain(|(e, _)| e != entry);
                }
                None => items.push(from[*entry].clone()),
            }
        }
        let left = (!conditions.is_empty()).then(|| joined(conditions, 0, ExprKind::And));
        Ok((items, left))
    }

    /// The entries behind a modified table (FROM, USING): their texts, by index; the scope's entries are filled in.
    pub(super) fn entries_after_target(&mut self, range_table: &[RangeTableEntry]) -> Result<Vec<String>> {
        let mut texts = vec![String::new()];
        for rte in &range_table[1..] {
            let (text, columns) = if needs_siblings(rte) { self.lateral_entry(rte)? } else { self.entry(rte)? };
            self.scope().entries.push(columns);
            texts.push(text);
        }
        Ok(texts)
    }

    pub(super) fn join_item(&mut self, item: &FromItem, from: &[String]) -> Result<String> {
        self.from_item(item, from, None)
    }

    /// An item of FROM. `of`: the SELECT and its query, where joins may be hashed.
    pub(super) fn from_item(
        &mut self,
        item: &FromItem,
        from: &[String],
        of: Option<(&Select, &Query)>,
    ) -> Result<String> {
        match item {
            FromItem::Entry(i) => Ok(from[*i].clone()),
            FromItem::Join { kind, left, right, on, .. } => {
                let l = self.from_item(left, from, of)?;
                if let (JoinKind::Left, Some(on), Some(of)) = (kind, on, of) {
                    if let Some((r, on)) = self.hashed_far_side((left, right), on, from, of)? {
                        return Ok(format!("{l} LEFT JOIN {r} ON {}", self.asked(&on)?));
                    }
                }
                let r = self.from_item(right, from, of)?;
                let r = if matches!(**right, FromItem::Join { .. }) { format!("({r})") } else { r };
                let word = match kind {
                    JoinKind::Inner => "JOIN",
                    JoinKind::Left => "LEFT JOIN",
                    JoinKind::Right => "RIGHT JOIN",
                    JoinKind::Full => "FULL JOIN",
                    JoinKind::Cross => "CROSS JOIN",
                };
                Ok(match on {
                    Some(on) => format!("{l} {word} {r} ON {}", self.asked(on)?),
                    None => format!("{l} {word} {r}"),
                })
            }
        }
    }

    /// A range table entry: its text in FROM and the texts of its columns.
    pub(super) fn entry(&mut self, rte: &RangeTableEntry) -> Result<(String, Vec<String>)> {
        let alias = self.unique("t");
        match &rte.kind {
            RteKind::Relation(relation) => {
                self.uses_catalog = true;
                if let RelationKind::Sequence(_) = relation.kind {
                    // its one row: where it stands (log_cnt is PostgreSQL's own bookkeeping of its log)
                    let state = |part: u8| format!("{}({}, {part})", support::SEQUENCE, relation.oid);
                    let row = format!(
                        "(SELECT {} AS last_value, 0 AS log_cnt, {} AS is_called) AS {alias}",
                        state(0),
                        state(1)
                    );
                    let columns = ["last_value", "log_cnt", "is_called"].map(|c| format!("{alias}.{c}"));
                    return Ok((row, columns.to_vec()));
                }
                if self.stands_for_several(rte, relation) {
                    if rte.sample.is_some() {
                        return Err(PgError::not_supported("TABLESAMPLE of a table with children or partitions"));
                    }
                    return self.several_tables(relation, &alias);
                }
                let mut columns = self.entry_columns(relation, &[&alias, "."].concat())?;
                if relation.has_virtual_columns() {
                    if rte.sample.is_some() {
                        return Err(PgError::not_supported("TABLESAMPLE of a table with virtual generated columns"));
                    }
                    let present = format!("{alias}.{}", super::rowid_name(relation)?);
                    let live = relation.live_columns().count();
                    self.compute_virtual(relation, &mut columns[..live], Some(&present))?;
                }
                let Some(sample) = &rte.sample else {
                    return Ok(([&self.read_table(relation), " AS ", &alias].concat(), columns));
                };
                // each row is chosen by a hash of its number, with a seed that is the statement's own where there is no REPEATABLE
                let percent = self.expr(&sample.percent)?;
                let seed = match &sample.seed {
                    Some(seed) => self.expr(seed)?,
                    None => "(SELECT random())".into(),
                };
                let row = if relation.without_rowid { "random()" } else { "rowid" };
                let table = self.read_table(relation);
                let chosen = format!("{}({percent}, {seed}, {row}, {})", support::SAMPLE, sample.seed.is_some() as i32);
                Ok((format!("(SELECT * FROM {table} WHERE {chosen}) AS {alias}"), columns))
            }
            RteKind::Subquery { query, lateral } => {
                let columns = (1..=rte.columns.len()).map(|i| format!("{alias}.c{i}")).collect();
                if *lateral {
                    // lowered by lateral_entry, when its siblings are known
                    return Ok((String::new(), columns));
                }
                let text = self.query(query)?;
                Ok((format!("({}) AS {alias}", self.computed_once(query, text)), columns))
            }
            RteKind::Cte { levels_up, index, .. } => {
                let scope = self
                    .scopes
                    .len()
                    .checked_sub(1 + levels_up)
                    .ok_or_else(|| PgError::internal("a WITH query of no level"))?;
                let name = self.scopes[scope]
                    .ctes
                    .get(*index)
                    .cloned()
                    .ok_or_else(|| PgError::internal("a WITH query that is not there"))?;
                Ok((format!("{name} AS {alias}"), (1..=rte.columns.len()).map(|i| format!("{alias}.c{i}")).collect()))
            }
            RteKind::Function { .. } => Ok((String::new(), vec![])),
            // (where it is a value of its own, that comes from the rows that are changed)
            RteKind::Returned => Ok((String::new(), self.scope().entries[0].clone())),
            RteKind::Values { .. } | RteKind::Join { .. } => Err(PgError::internal("this entry is not lowered")),
        }
    }

    /// What is NULL where an outer join found no row of the entry; the entry's text gets a column for it if need be.
    pub(super) fn presence(
        &self,
        rte: &RangeTableEntry,
        text: &mut String,
        columns: &[String],
    ) -> Result<Option<String>> {
        let alias = |text: &str| text.rsplit_once(" AS ").map(|(_, alias)| alias.to_string());
        match &rte.kind {
            RteKind::Relation(relation) => {
                if let Some(i) = relation.live_columns().position(|c| c.not_null) {
                    return Ok(Some(columns[i].clone()));
                }
                if self.stands_for_several(rte, relation) {
                    return Ok(alias(text).map(|a| Self::present_in_several(&a)));
                }
                let hidden = relation.columns.iter().any(|c| c.name.eq_ignore_ascii_case("rowid"));
                if relation.without_rowid || hidden || relation.kind == RelationKind::ForeignView {
                    return Err(PgError::not_supported(format!(
                        "the whole row of \"{}\" behind an outer join",
                        rte.alias
                    )));
                }
                Ok(alias(text).map(|a| format!("{a}.rowid")))
            }
            RteKind::Subquery { lateral: false, .. } | RteKind::Cte { .. } => {
                let (source, alias) = text.rsplit_once(" AS ").ok_or_else(|| PgError::internal("no alias"))?;
                let present = format!("{alias}.present");
                *text = format!("(SELECT *, 1 AS present FROM {source}) AS {alias}");
                Ok(Some(present))
            }
            _ => Ok(None),
        }
    }

    pub(super) fn lateral_entry(&mut self, rte: &RangeTableEntry) -> Result<(String, Vec<String>)> {
        match &rte.kind {
            RteKind::Function { functions, ordinality, .. } => {
                let types: Vec<Oid> = rte.columns.iter().map(|c| c.ty).collect();
                self.function_item(functions, *ordinality, &types)
            }
            RteKind::Subquery { query, lateral: true } => {
                let alias = self.unique("t");
                self.begun_anew += 1;
                let text = self.query(query);
                self.begun_anew -= 1;
                let text = text?;
                let types: Vec<Oid> = query.columns.iter().map(|c| c.ty).collect();
                let row: Vec<String> =
                    types.iter().enumerate().map(|(i, ty)| self.json_element(&format!("c{}", i + 1), *ty)).collect();
                let columns = types
                    .iter()
                    .enumerate()
                    .map(|(i, ty)| self.from_json_element(format!("json_extract({alias}.value, '$[{i}]')"), *ty))
                    .collect();
                Ok((
                    format!(
                        "json_each((SELECT json_group_array(json_array({})) FROM ({text}))) AS {alias}",
                        row.join(", ")
                    ),
                    columns,
                ))
            }
            _ => Err(PgError::internal("not a lateral entry")),
        }
    }
}

/// Entries on the far side of an outer join that the query uses as whole rows.
pub(super) fn rows_that_may_miss(query: &Query) -> Vec<usize> {
    fn far_side(item: &FromItem, far: bool, out: &mut Vec<usize>) {
        match item {
            FromItem::Entry(i) if far => out.push(*i),
            FromItem::Entry(_) => {}
            FromItem::Join { kind, left, right, .. } => {
                far_side(left, far || matches!(kind, JoinKind::Right | JoinKind::Full), out);
                far_side(right, far || matches!(kind, JoinKind::Left | JoinKind::Full), out);
            }
        }
    }
    let QueryBody::Select(select) = &query.body else { return vec![] };
    let mut far = Vec::new();
    select.from.iter().for_each(|item| far_side(item, false, &mut far));
    if far.is_empty() {
        return far;
    }
    let mut used = Vec::new();
    walk::query_exprs(query, 0, &mut |depth, e| {
        if let ExprKind::WholeRow { levels_up, rte, .. } = &e.kind {
            if *levels_up == depth {
                used.push(*rte);
            }
        }
    });
    far.retain(|i| used.contains(i));
    far
}

/// Entries whose text depends on the entries before them.
pub(super) fn needs_siblings(rte: &RangeTableEntry) -> bool {
    matches!(&rte.kind, RteKind::Function { .. } | RteKind::Subquery { lateral: true, .. })
}
