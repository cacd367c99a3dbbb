//! Row-by-row statements on a table that stands for several (`pgsqlite_sql::lower` has SQLite's statements for each of them).
//!
//! All rows of all tables are computed before the first is changed (of VALUES each when those before it are stored). FOR EACH STATEMENT triggers are those of the table that the
//! statement names, FOR EACH ROW triggers those of the table that has the row. A row of a partitioned table that is inserted goes to the
//! partition that its key belongs to; one that is updated goes to another one, if its key says so: then it is deleted
//! here and inserted there, with the triggers of both.

use super::after::{self, Set};
use super::firing::{firing, Changed, Fires, Firing};
use super::foreign_key;
use super::proposed::ProposedRows;
use super::statement::printed_value;
use super::trigger::{all_rows, Moved, Mover, Part, Run};
use super::Host;
use pgsqlite_sql::catalog::Relation;
use pgsqlite_sql::plan::{Routing, Triggered, TupleRouting};
use pgsqlite_sql::routine::{Event, Timing, Trigger};
use pgsqlite_sql::typed::RowCheckOf;
use pgsqlite_types::{Datum, PgError, Result, SqlState};
use std::cell::{RefCell, RefMut};
use std::rc::Rc;
use std::sync::Arc;

/// The parts of a statement, made when a row first needs them.
struct Parts<'t, 'h> {
    host: Host<'h>,
    statements: Vec<&'t Triggered>,
    made: Vec<RefCell<Option<Part<'t, 'h>>>>,
    /// the table that the statement names
    root: Arc<Relation>,
    /// its transition tables
    sets: (Option<Set>, Option<Set>),
    /// the DELETEs of rows that go to another partition begin here
    first_departure: usize,
}

impl<'t, 'h> Parts<'t, 'h> {
    fn get(&self, number: usize) -> Result<RefMut<'_, Part<'t, 'h>>> {
        let mut slot = self.made[number].borrow_mut();
        if slot.is_none() {
            let mut part = Part::new(self.host, self.statements[number])?;
            if part.relation.oid != self.root.oid {
                let places = places(&self.root, &part.relation)?;
                part.belongs_to(self.sets.clone(), places);
            }
            if number >= self.first_departure {
                part.departs()?;
            }
            *slot = Some(part);
        }
        RefMut::filter_map(slot, Option::as_mut).map_err(|_| PgError::internal("a part of a statement"))
    }
}

pub(super) fn run(
    host: Host,
    t: &Triggered,
    tuple_routing: &TupleRouting,
    parameters: &[Datum],
) -> Result<(u64, Vec<Vec<Datum>>)> {
    let catalog = host.catalog();
    let root = catalog.relation(t.table).cloned().ok_or_else(|| PgError::internal("a table that is gone"))?;
    let named = firing(host, t, &root)?;
    after::uses(host, root.oid)?;
    let updates = match t.conflict.as_deref() {
        Some(c) => Some(firing(host, c, &root)?),
        None => None,
    };
    let mut statements: Vec<&Triggered> = vec![t];
    statements.extend(&tuple_routing.branches);
    let first_leaf = statements.len();
    let mut first_departure = usize::MAX;
    if let Some(routing) = &tuple_routing.routing {
        statements.extend(&routing.leaves);
        first_departure = statements.len();
        statements.extend(&routing.departures);
    }
    let made = statements.iter().map(|_| RefCell::new(None)).collect();
    if !t.part_of_several {
        named.before_statement()?;
    }
    if let (Some(updates), false) = (&updates, t.part_of_several) {
        updates.before_statement()?;
    }
    let sets = (named.transition_set()?, updates.as_ref().map_or(Ok(None), Firing::transition_set)?);
    let parts = Parts { host, statements, made, root: root.clone(), sets, first_departure };
    let mut run = Run::new(host);
    let mut work = Work { host, root: &root, t, parts: &parts, first_leaf, parameters, count: 0, shown: vec![] };
    let result = match (t.event, &tuple_routing.routing) {
        (Event::Insert, Some(routing)) => work.insert(routing, &mut run),
        (Event::Insert, None) => Err(PgError::internal("INSERT without routing")),
        (_, routing) => work.change(routing.as_ref(), 1 + tuple_routing.branches.len(), &mut run),
    };
    let (count, shown) = (work.count, work.shown);
    for slot in &parts.made {
        if let Some(part) = slot.borrow_mut().as_mut() {
            part.give_back();
        }
    }
    result?;
    if let (Some(updates), false) = (&updates, t.part_of_several) {
        after::statement(host, &updates.fires)?;
    }
    if !t.part_of_several {
        after::statement(host, &named.fires)?;
    }
    Ok((count, shown))
}

/// A row of COPY FROM into a partitioned table.
pub(super) fn copy_row(host: Host, t: &Triggered, tuple_routing: &TupleRouting, parameters: &[Datum]) -> Result<u64> {
    let catalog = host.catalog();
    let root = catalog.relation(t.table).cloned().ok_or_else(|| PgError::internal("a table that is gone"))?;
    let routing = tuple_routing.routing.as_ref().ok_or_else(|| PgError::internal("INSERT without routing"))?;
    let sets = (firing(host, t, &root)?.transition_set()?, None);
    let statements: Vec<&Triggered> = routing.leaves.iter().collect();
    let made = statements.iter().map(|_| RefCell::new(None)).collect();
    let parts = Parts { host, statements, made, root: root.clone(), sets, first_departure: usize::MAX };
    let mut work = Work { host, root: &root, t, parts: &parts, first_leaf: 0, parameters, count: 0, shown: vec![] };
    let result = work.insert(routing, &mut Run::new(host));
    let count = work.count;
    for slot in &parts.made {
        if let Some(part) = slot.borrow_mut().as_mut() {
            part.give_back();
        }
    }
    result.map(|()| count)
}

/// For each live column of `from` the position of the one of the same name in `to`.
fn places(from: &Relation, to: &Relation) -> Result<Vec<usize>> {
    from.live_columns()
        .map(|c| {
            to.live_columns()
                .position(|o| o.name == c.name)
                .ok_or_else(|| pgsqlite_sql::lower::missing_column(from, to, &c.name))
        })
        .collect()
}

/// 0A000 for a row that a trigger has taken out of the partition that it was to be stored in.
fn moved_by(host: Host, trigger: &Trigger, relation: &Relation) -> PgError {
    PgError::new(
        SqlState::FEATURE_NOT_SUPPORTED,
        "moving row to another partition during a BEFORE FOR EACH ROW trigger is not supported",
    )
    .detail(format!(
        "Before executing trigger \"{}\", the row was to be in partition \"{}.{}\".",
        trigger.name,
        host.catalog().schema_name(relation.schema),
        relation.name
    ))
}

/// The rows of a statement that names one table. Of a partition ([`Triggered::fits`]) a trigger of its parent's may not take a row.
pub(super) fn rows_of_named(
    part: &mut Part,
    proposed: ProposedRows,
    parameters: &[Datum],
    run: &mut Run,
) -> Result<()> {
    let (host, relation) = (part.fired.host, part.relation.clone());
    let Some(fits) = part.fits() else { return part.rows(proposed, parameters, run, None) };
    let after_each = |trigger: &Trigger, new: &Vec<Datum>| -> Result<()> {
        match trigger.parent != 0 && all_rows(host, fits, new)?.first().and_then(|r| r.first()) != Some(&Datum::Int(1))
        {
            true => Err(moved_by(host, trigger, &relation)),
            false => Ok(()),
        }
    };
    let mut stays = |_: &mut Run, _: &Datum, _: &Vec<Datum>, _: &Vec<Datum>, _: &[Datum]| Ok(Moved::No);
    part.rows(proposed, parameters, run, Some(Mover { moves: &mut stays, after_each: Some(&after_each) }))
}

struct Work<'w, 't, 'h> {
    host: Host<'h>,
    root: &'w Arc<Relation>,
    t: &'t Triggered,
    parts: &'w Parts<'t, 'h>,
    first_leaf: usize,
    parameters: &'w [Datum],
    count: u64,
    shown: Vec<Vec<Datum>>,
}

impl Work<'_, '_, '_> {
    /// INSERT into a partitioned table.
    fn insert(&mut self, routing: &Routing, run: &mut Run) -> Result<()> {
        let width = self.root.live_columns().count();
        let mut stored = Vec::new();
        for attnum in &self.t.columns {
            stored.push(
                self.root
                    .live_columns()
                    .position(|c| c.attnum == *attnum)
                    .ok_or_else(|| PgError::internal("a column that is gone"))?,
            );
        }
        for row in ProposedRows::of(self.host, self.t, self.parameters)? {
            let row = row?;
            let mut values = vec![Datum::Null; width];
            let mut row = row.into_iter();
            for (at, value) in stored.iter().zip(row.by_ref()) {
                values[*at] = value;
            }
            let others: Vec<Datum> = row.collect();
            let leaf = self.choose(routing, &values)?;
            self.put(routing, leaf, &values, &others, run)?;
            let mut part = self.parts.get(self.first_leaf + leaf)?;
            self.shown.append(&mut part.shown);
            self.count += std::mem::take(&mut part.count);
        }
        Ok(())
    }

    /// UPDATE and DELETE. `tables`: how many parts have rows to change.
    fn change(&mut self, routing: Option<&Routing>, tables: usize, run: &mut Run) -> Result<()> {
        let mut proposed = Vec::new();
        for number in 0..tables {
            proposed.push(all_rows(self.host, &self.parts.statements[number].rows, self.parameters)?);
        }
        for (number, rows) in proposed.into_iter().enumerate() {
            if rows.is_empty() {
                continue;
            }
            let mut part = self.parts.get(number)?;
            let relation = part.relation.clone();
            match routing {
                None => part.rows(rows.into(), self.parameters, run, None)?,
                Some(routing) => {
                    let own = routing.leaves.iter().position(|l| l.table == relation.oid);
                    let places = places(self.root, &relation)?;
                    let this = &*self;
                    let mut moves =
                        |run: &mut Run, key: &Datum, old: &Vec<Datum>, new: &Vec<Datum>, others: &[Datum]| {
                            let row: Vec<Datum> = places.iter().map(|&p| new[p].clone()).collect();
                            let leaf = this.choose(routing, &row)?;
                            match own {
                                Some(own) if own != leaf => {
                                    this.take_over(routing, (own, leaf), (key, old), (&row, others), run)
                                }
                                _ => Ok(Moved::No),
                            }
                        };
                    let mover = Mover { moves: &mut moves, after_each: None };
                    part.rows(rows.into(), self.parameters, run, Some(mover))?
                }
            }
            self.shown.append(&mut part.shown);
            self.count += std::mem::take(&mut part.count);
        }
        Ok(())
    }

    /// Moves a row from a partition to another one.
    fn take_over(
        &self,
        routing: &Routing,
        (from, to): (usize, usize),
        (key, old): (&Datum, &Vec<Datum>),
        (row, others): (&[Datum], &[Datum]),
        run: &mut Run,
    ) -> Result<Moved> {
        let mut departure = self.parts.get(self.first_leaf + routing.leaves.len() + from)?;
        let mut leaving = vec![key.clone()];
        leaving.extend(old.iter().cloned());
        departure.rows(vec![leaving].into(), self.parameters, run, None)?;
        if std::mem::take(&mut departure.count) == 0 {
            return Ok(Moved::LeftOut);
        }
        let fires = !departure.fired.triggers.is_empty();
        drop(departure);
        self.put(routing, to, row, others, run)?;
        let mut part = self.parts.get(self.first_leaf + to)?;
        run.changed_else |= fires || !part.fired.triggers.is_empty();
        if std::mem::take(&mut part.count) == 0 {
            // (it is gone from where it was, as in PostgreSQL)
            return Ok(Moved::LeftOut);
        }
        let shown = part.shown.pop().unwrap_or_default();
        drop(part);
        self.moved(from, old, row)?;
        Ok(Moved::Yes(shown))
    }

    /// A row has gone from a partition to another one: for the foreign keys that reference the table with both of them it is updated.
    fn moved(&self, from: usize, old: &[Datum], row: &[Datum]) -> Result<()> {
        let left = self.parts.get(self.first_leaf + from)?.relation.clone();
        let keys = foreign_key::keys_of_move(&self.host.catalog(), self.root, &left)?;
        if keys.is_empty() {
            return Ok(());
        }
        let places = places(self.root, &left)?;
        let old = places.iter().map(|&p| old[p].clone()).collect();
        let fires = Fires::of_keys(self.host, self.root, Event::Update, keys);
        let row = Changed { old: Some(old), new: Some(row.to_vec()) };
        after::row(self.host, &Rc::new(fires), Rc::new(row), None)
    }

    /// Inserts a row (with the columns of the table that the statement names) into a leaf.
    fn put(&self, routing: &Routing, leaf: usize, row: &[Datum], others: &[Datum], run: &mut Run) -> Result<()> {
        let mut part = self.parts.get(self.first_leaf + leaf)?;
        let places = places(self.root, &part.relation)?;
        let mut values = Vec::new();
        for attnum in &routing.leaves[leaf].columns {
            let own = part.relation.live_columns().position(|c| c.attnum == *attnum);
            let at = places.iter().position(|p| Some(*p) == own);
            values.push(row[at.ok_or_else(|| PgError::internal("a partition with a column of its own"))?].clone());
        }
        values.extend(others.iter().cloned());
        let before: Vec<_> = part.fired.triggers.iter().filter(|t| t.row && t.timing == Timing::Before).collect();
        if before.is_empty() {
            return part.rows(vec![values].into(), self.parameters, run, None);
        }
        // what the triggers make of the row must belong to the same partition: PostgreSQL looks after each trigger that is the partitioned
        // table's, and again at last
        let relation = part.relation.clone();
        let in_root = |new: &Vec<Datum>| -> Vec<Datum> { places.iter().map(|&p| new[p].clone()).collect() };
        let stays = |row: &[Datum]| self.choose(routing, row).ok() == Some(leaf);
        let after_each = |trigger: &Trigger, new: &Vec<Datum>| -> Result<()> {
            if trigger.parent == 0 || stays(&in_root(new)) {
                return Ok(());
            }
            Err(moved_by(self.host, trigger, &relation))
        };
        let mut moves = |_: &mut Run, _: &Datum, _: &Vec<Datum>, new: &Vec<Datum>, _: &[Datum]| {
            let row = in_root(new);
            match stays(&row) {
                true => Ok(Moved::No),
                false => Err(self.misplaced(&relation, &row)?),
            }
        };
        let mover = Mover { moves: &mut moves, after_each: Some(&after_each) };
        part.rows(vec![values].into(), self.parameters, run, Some(mover))
    }

    /// 23514 for a row (of the table that the statement names) that does not belong to a partition.
    fn misplaced(&self, relation: &Relation, row: &[Datum]) -> Result<PgError> {
        let catalog = self.host.catalog();
        let schema = catalog.schema_name(relation.schema).to_string();
        let error = RowCheckOf::Partition { schema, table: relation.name.clone() }.violation();
        if !pgsqlite_sql::acl::may_see(&catalog, self.host.cell.state().user_oid, self.root, &[]) {
            return Ok(error);
        }
        let mut shown = Vec::new();
        for (column, value) in self.root.live_columns().zip(row) {
            shown.push(printed_value(self.host, column.type_oid, value)?);
        }
        Ok(error.detail(format!("Failing row contains ({}).", shown.join(", "))))
    }

    /// The leaf that a row belongs to. Errors: 23514 if there is none.
    fn choose(&self, routing: &Routing, row: &[Datum]) -> Result<usize> {
        if let Some(fits) = &routing.fits {
            // (before any trigger has seen the row)
            if all_rows(self.host, fits, row)?.first().and_then(|r| r.first()) != Some(&Datum::Int(1)) {
                return Err(self.misplaced(self.root, row)?);
            }
        }
        let found = all_rows(self.host, &routing.choose, row)?;
        let Some(Datum::Int(number)) = found.first().and_then(|r| r.first()) else {
            return Err(PgError::internal("no number of a partition"));
        };
        if let Ok(leaf) = usize::try_from(*number) {
            return Ok(leaf);
        }
        let level = routing
            .levels
            .get((-1 - number) as usize)
            .ok_or_else(|| PgError::internal("a level of partitions that is not there"))?;
        let catalog = self.host.catalog();
        let table = catalog.relation(level.table).ok_or_else(|| PgError::internal("a table that is gone"))?;
        let values = all_rows(self.host, &level.values, row)?.pop().unwrap_or_default();
        let mut shown = Vec::new();
        for ((_, ty), value) in level.columns.iter().zip(&values) {
            shown.push(printed_value(self.host, *ty, value)?);
        }
        let names: Vec<&str> = level.columns.iter().map(|(name, _)| name.as_str()).collect();
        let error = PgError::new(
            SqlState::CHECK_VIOLATION,
            format!("no partition of relation \"{}\" found for row", table.name),
        );
        // (a key that is an expression is told to those who may read the whole table)
        let attnums: Option<Vec<i16>> = names.iter().map(|name| table.column(name).map(|c| c.attnum)).collect();
        let role = self.host.cell.state().user_oid;
        let error = match pgsqlite_sql::acl::may_see(&catalog, role, table, &attnums.unwrap_or_default()) {
            true => {
                let (names, values) = (names.join(", "), shown.join(", "));
                error.detail(format!("Partition key of the failing row contains ({names}) = ({values})."))
            }
            false => error,
        };
        Err(error.schema(catalog.schema_name(table.schema)).table(table.name.clone()))
    }
}
