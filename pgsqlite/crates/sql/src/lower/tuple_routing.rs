//! UPDATE and DELETE of a table with children, and what changes a partitioned table.
//!
//! The engine carries them out row by row, as it does where triggers fire: [`Triggered`] has the statements for the table that
//! is named, [`TupleRouting`] those for its descendants, and how a row finds its partition ([`Routing`]).

use super::{Lowerer, Scope};
use crate::analyze::analyze_expression;
use crate::catalog::{KeyPart, PartitionBound, Relation};
use crate::partition;
use crate::plan::{Routing, RoutingLevel, Triggered, TupleRouting};
use crate::routine::{Event, Timing};
use crate::typed::{Cte, CteBody, Expr, ExprKind, InsertSource, Modify, ModifyAction};
use crate::volatility;
use crate::walk;
use pgsqlite_types::{oid, Datum, Oid, PgError, Result};
use std::sync::Arc;

impl Lowerer<'_> {
    /// Whether a modification reaches other tables than the one it names.
    pub(super) fn is_spread(&self, modify: &Modify) -> bool {
        let target = &modify.target;
        match modify.action {
            ModifyAction::Insert { .. } => target.is_partitioned(),
            _ => modify.range_table.first().is_some_and(|rte| self.stands_for_several(rte, target)),
        }
    }

    /// `table` and the tables that it inherits from: a query of any of them reads rows of `table`.
    pub(super) fn with_ancestors(&self, table: Oid) -> Vec<Oid> {
        let mut all = vec![table];
        all.extend(self.env.catalog.ancestors(table));
        all
    }

    pub(super) fn tuple_routing(
        &mut self,
        modify: &Modify,
        ctes: &[Cte],
        parameters: usize,
    ) -> Result<Option<Box<TupleRouting>>> {
        if !self.is_spread(modify) {
            return Ok(None);
        }
        let target = modify.target.clone();
        let insert = matches!(modify.action, ModifyAction::Insert { .. });
        let tables = self.env.catalog.tables_with_rows(target.oid);
        let mut branches = Vec::new();
        if !insert {
            if tables.len() + usize::from(target.is_partitioned()) > 1 {
                self.check_once(modify, ctes)?;
            }
            for table in tables.iter().filter(|t| t.oid != target.oid) {
                let own = self.for_table(modify, table)?;
                self.check_triggers(&own, false)?;
                let mut branch = self.triggered_in_scope(&own, ctes, parameters)?;
                branch.shown = Some(places(&target, table)?);
                branches.push(branch);
            }
        }
        let routing = match &modify.action {
            _ if !target.is_partitioned() => None,
            ModifyAction::Insert { on_conflict, .. } => {
                let keys = self.key_columns(&target)?;
                let set = on_conflict.as_ref().and_then(|c| c.set.as_ref());
                if let Some(arbiter) = on_conflict.as_ref().and_then(|c| c.target.as_ref()) {
                    let everywhere = |leaf: &Arc<Relation>| {
                        let mut indexes = self.env.catalog.indexes_of(leaf.oid);
                        indexes.any(|(index, _)| self.env.catalog.ancestors(index.oid).contains(&arbiter.index))
                    };
                    if !tables.iter().all(everywhere) {
                        return Err(PgError::not_supported("ON CONFLICT by an index that not every partition has"));
                    }
                }
                if set.is_some_and(|s| s.iter().any(|(a, _)| keys.contains(a))) {
                    return Err(PgError::not_supported(
                        "ON CONFLICT DO UPDATE that sets a column of the partition key",
                    ));
                }
                Some(self.routing(modify, ctes, &tables, parameters)?)
            }
            ModifyAction::Update { set, .. } => {
                let keys = self.key_columns(&target)?;
                let moves = set.iter().any(|(a, _)| keys.contains(a)) || tables.iter().any(|t| may_change_rows(t));
                match moves {
                    true => Some(self.routing(modify, ctes, &tables, parameters)?),
                    false => None,
                }
            }
            _ => None,
        };
        Ok(Some(Box::new(TupleRouting { branches, routing })))
    }

    /// Refuses what is to be computed once for the whole statement and would be computed for each table: volatile functions in FROM and in
    /// WITH queries that are read. (Of other sub-queries the values are remembered: `computed_once.rs`.)
    fn check_once(&self, modify: &Modify, ctes: &[Cte]) -> Result<()> {
        let is_read = |index: usize| {
            let by_another =
                |cte: &Cte| matches!(&cte.body, CteBody::Query(q) if super::with::query_names(q, 0, index));
            super::with::modification_names(modify, 0, index) || ctes.iter().any(by_another)
        };
        let shows = |cte: &Cte| matches!(&cte.body, CteBody::Query(q) if self.shows_computing(q));
        let mut volatile = ctes.iter().enumerate().any(|(i, cte)| shows(cte) && is_read(i));
        for entry in modify.range_table.iter().skip(1) {
            volatile |= match &entry.kind {
                crate::typed::RteKind::Subquery { query, .. } => self.shows_computing(query),
                crate::typed::RteKind::Function { functions, .. } => {
                    let catalog = self.env.catalog;
                    functions.iter().any(|f| walk::any(&f.call, &|e| volatility::shows_calls_in(catalog, e)))
                }
                _ => false,
            };
        }
        if volatile {
            return Err(PgError::not_supported(format!(
                "a volatile function in FROM or WITH of a change of table \"{}\", which has children or partitions,",
                modify.target.name
            )));
        }
        Ok(())
    }

    fn triggered_in_scope(&mut self, modify: &Modify, ctes: &[Cte], parameters: usize) -> Result<Triggered> {
        self.scopes.push(Scope::default());
        let made = self.triggered(modify, ctes, parameters);
        self.scopes.pop();
        Ok(made?.0)
    }

    /// attnums (in `target`) of the columns that the keys of it and its partitions use.
    pub(super) fn key_columns(&self, target: &Relation) -> Result<Vec<i16>> {
        let mut out = Vec::new();
        for oid in self.env.catalog.with_descendants(target.oid) {
            let Some(table) = self.env.catalog.relation(oid) else { continue };
            let Some(key) = &table.inheritance.key else { continue };
            for column in &key.columns {
                let names: Vec<String> = match &column.part {
                    KeyPart::Column(a) => table.column_by_attnum(*a).map(|c| c.name.clone()).into_iter().collect(),
                    KeyPart::Expression(text) => {
                        let expr = analyze_expression(self.env, text, Some(table), None)?;
                        let used = crate::deparse::columns_used(&expr);
                        used.into_iter().filter_map(|i| table.live_columns().nth(i)).map(|c| c.name.clone()).collect()
                    }
                };
                out.extend(names.iter().filter_map(|n| target.column(n)).map(|c| c.attnum));
            }
        }
        Ok(out)
    }

    fn routing(
        &mut self,
        modify: &Modify,
        ctes: &[Cte],
        leaves: &[Arc<Relation>],
        parameters: usize,
    ) -> Result<Routing> {
        let target = modify.target.clone();
        let texts: Vec<String> = (1..=target.live_columns().count()).map(|i| format!("?{i}")).collect();
        let mut levels = Vec::new();
        let choose = self.choose(&target, &target, &texts, leaves, &mut levels)?;
        let fits = self.fits(&target)?;
        let nothing = |columns: usize| {
            let null = Expr::new(ExprKind::Const(Datum::Null), oid::UNKNOWN, -1);
            InsertSource::Values(vec![vec![null; columns]])
        };
        // what the leaves' statements store are parameters: the rows and what they are read from are left out
        let mut modify = modify.clone();
        modify.ctes.clear();
        if let ModifyAction::Insert { columns, source, .. } = &mut modify.action {
            *source = nothing(columns.len());
        }
        let mut inserts = Vec::new();
        let mut departures = Vec::new();
        for leaf in leaves {
            let mut own = self.for_table(&modify, leaf)?;
            if !matches!(own.action, ModifyAction::Insert { .. }) {
                let columns: Vec<i16> = leaf.live_columns().filter(|c| !c.is_generated()).map(|c| c.attnum).collect();
                own.action = ModifyAction::Insert { source: nothing(columns.len()), columns, on_conflict: None };
                let mut departure = own.clone();
                departure.action = ModifyAction::Delete { using: vec![], filter: None };
                departure.returning.clear();
                departure.checks.clear();
                self.check_triggers(&departure, false)?;
                departures.push(self.triggered_in_scope(&departure, ctes, parameters)?);
            }
            let mut insert = self.triggered_in_scope(&own, ctes, parameters)?;
            insert.shown = Some(places(&target, leaf)?);
            inserts.push(insert);
        }
        Ok(Routing { choose: format!("SELECT {choose}"), fits, levels, leaves: inserts, departures })
    }

    /// Of a table that is a partition: the query of whether a row (`?1`, `?2` …: its live columns) belongs to it.
    pub(super) fn fits(&mut self, target: &Relation) -> Result<Option<String>> {
        let Some(text) = partition::constraint(self.env.catalog, target)? else { return Ok(None) };
        let texts: Vec<String> = (1..=target.live_columns().count()).map(|i| format!("?{i}")).collect();
        let expr = analyze_expression(self.env, &text, Some(target), Some((oid::BOOL, -1)))?;
        Ok(Some(format!("SELECT ({}) IS TRUE", self.over_row(&expr, &texts)?)))
    }

    /// The number of the leaf for a row of `root` whose columns are `texts`; `-1 - n`: level n has no partition for it.
    fn choose(
        &mut self,
        root: &Relation,
        table: &Relation,
        texts: &[String],
        leaves: &[Arc<Relation>],
        levels: &mut Vec<RoutingLevel>,
    ) -> Result<String> {
        let key = table.inheritance.key.clone().ok_or_else(|| PgError::internal("a table without partition key"))?;
        let mut columns = Vec::new();
        let mut values = Vec::new();
        let shown = partition::shown_key(table, &key)?;
        for ((text, column), shown) in partition::key_texts(table, &key)?.iter().zip(&key.columns).zip(shown) {
            let expr = analyze_expression(self.env, text, Some(root), None)?;
            values.push(self.over_row(&expr, texts)?);
            columns.push((shown, column.type_oid));
        }
        let number = levels.len();
        levels.push(RoutingLevel { table: table.oid, columns, values: format!("SELECT {}", values.join(", ")) });
        let mut arms = String::new();
        let mut otherwise = format!("{}", -1 - number as i64);
        let partitions: Vec<Arc<Relation>> = self.env.catalog.partitions(table.oid).into_iter().cloned().collect();
        for child in partitions {
            let found = match child.is_partitioned() {
                true => self.choose(root, &child, texts, leaves, levels)?,
                false => leaves
                    .iter()
                    .position(|l| l.oid == child.oid)
                    .ok_or_else(|| PgError::internal("a partition that is no descendant"))?
                    .to_string(),
            };
            match &child.inheritance.bound {
                Some(PartitionBound::Default) => otherwise = found,
                Some(bound) => {
                    let conditions = partition::bound_conditions(self.env.catalog, table, bound)?;
                    let text = conditions.join(" AND ");
                    let expr = analyze_expression(self.env, &text, Some(root), Some((oid::BOOL, -1)))?;
                    arms += &format!(" WHEN {} THEN {found}", self.over_row(&expr, texts)?);
                }
                None => {}
            }
        }
        Ok(match arms.is_empty() {
            true => otherwise,
            false => format!("CASE{arms} ELSE {otherwise} END"),
        })
    }

    /// Refuses statements whose parts run one after the other where one of them changes what another one reads as a
    /// descendant of the table it names.
    pub(super) fn check_no_ancestors(&self, changed: &[Oid], read: &[Arc<Relation>]) -> Result<()> {
        let catalog = self.env.catalog;
        for table in read.iter().filter(|t| catalog.stands_for_several(t)) {
            let all = catalog.with_descendants(table.oid);
            if changed.iter().any(|c| all.contains(c)) {
                return Err(PgError::not_supported(format!(
                    "a data-modifying WITH together with the rows of table \"{}\", which has children or partitions,",
                    table.name
                )));
            }
        }
        Ok(())
    }
}

/// For each live column of a table the position of the one of its name in a descendant.
fn places(table: &Relation, descendant: &Relation) -> Result<Vec<usize>> {
    let place = |name: &str| descendant.live_columns().position(|c| c.name == name);
    let missing = |name: &str| super::inherit::missing_column(table, descendant, name);
    table.live_columns().map(|c| place(&c.name).ok_or_else(|| missing(&c.name))).collect()
}

/// Whether BEFORE triggers may make another row of one that is updated.
fn may_change_rows(table: &Relation) -> bool {
    table.triggers.iter().any(|t| t.is_on() && t.row && t.timing == Timing::Before && t.events.contains(&Event::Update))
}
