//! Statements that fire triggers, carried out row by row (`pgsqlite_sql::lower` has the statements of SQLite for it).
//!
//! The order is PostgreSQL's (manual, "Overview of Trigger Behavior"): BEFORE … FOR EACH STATEMENT; for each row the BEFORE triggers
//! by name, each with what the one before it returned, then the row is stored; after all rows AFTER … FOR EACH ROW, row by row;
//! at last AFTER … FOR EACH STATEMENT. All rows are computed before the first trigger runs.

use super::after::{self, Level, Pending, Set};
use super::builtin_triggers;
use super::foreign_key::{self, Key};
use super::plpgsql::{Shape, Value};
use super::statement::{bind, check_may_write, step_once, told_more, Planned};
use super::{compiled, Host, Runnable, STACK};
use pgsqlite_sql::analyze::variables::{Precedence, Variable, Variables};
use pgsqlite_sql::catalog::{Relation, RelationKind};
use pgsqlite_sql::plan::{ByRows, Triggered};
use pgsqlite_sql::routine::{Event, Timing, Trigger};
use pgsqlite_storage::sqlite_statement::{RawStatement, Step};
use pgsqlite_types::{oid, Datum, Oid, PgError, Result, SqlState};
use std::cell::RefCell;
use std::collections::HashSet;
use std::rc::Rc;
use std::sync::Arc;

/// A row that was changed: as it was and as it is.
pub struct Changed {
    pub old: Option<Vec<Datum>>,
    pub new: Option<Vec<Datum>>,
}

/// What an event of a table's rows fires.
pub struct Fires {
    pub(super) relation: Arc<Relation>,
    shape: Rc<Shape>,
    pub(super) event: Event,
    /// attnums that UPDATE sets
    set: Vec<i16>,
    pub(super) triggers: Vec<Trigger>,
    /// managed foreign keys
    pub(super) keys: Vec<Rc<Key>>,
}

impl Fires {
    /// Foreign keys alone.
    pub(super) fn of_keys(host: Host, relation: &Arc<Relation>, event: Event, keys: Vec<Key>) -> Fires {
        let shape = host.routines().shape(host, relation);
        let keys = keys.into_iter().map(Rc::new).collect();
        Fires { relation: relation.clone(), shape, event, set: vec![], triggers: vec![], keys }
    }

    /// Whether rows are asked for when the statement is done.
    fn asks_after(&self) -> bool {
        !self.keys.is_empty() || self.triggers.iter().any(|t| t.timing == Timing::After)
    }

    /// Whether triggers have transition tables.
    pub(super) fn has_transition_tables(&self) -> bool {
        self.triggers.iter().any(|t| t.old_table.is_some() || t.new_table.is_some())
    }
}

/// The same, with the connection.
pub(super) struct Firing<'h> {
    pub host: Host<'h>,
    pub fires: Rc<Fires>,
}

impl std::ops::Deref for Firing<'_> {
    type Target = Fires;
    fn deref(&self) -> &Fires {
        &self.fires
    }
}

/// Runs the statement; what RETURNING shows goes to `rows` when all is done. Returns how many rows were changed.
pub fn run(
    host: Host,
    t: &Triggered,
    parameters: &[Datum],
    rows: &mut dyn FnMut(Vec<Datum>) -> Result<bool>,
) -> Result<u64> {
    check_may_write(host.routines(), t.event.word())?;
    let remembered = host.cell.rows.set_aside();
    let result = after::at_level(host, || run_inside(host, t, parameters));
    host.cell.rows.put_back(remembered);
    let (count, shown) = result?;
    for row in shown {
        if !rows(row)? {
            break;
        }
    }
    Ok(count)
}

/// Runs a data modification as part of another one. Its AFTER triggers and checks wait with those of the outer one.
pub(super) fn run_inside_level(host: Host, planned: &Planned, parameters: &[Datum]) -> Result<()> {
    match &planned.plan.query.triggered {
        Some(t) => {
            let remembered = host.cell.rows.set_aside();
            let result = run_inside(host, t, parameters);
            host.cell.rows.put_back(remembered);
            result.map(|_| ())
        }
        None => planned.run(host, parameters, &mut |_| Ok(true)).map(|_| ()),
    }
}

/// A statement that stores rows of a table: where its values are among the columns.
struct Storing<'t> {
    t: &'t Triggered,
    /// positions of the stored columns among the live ones
    stored: Vec<usize>,
    key_column: Option<usize>,
    apply: RawStatement,
}

impl<'t> Storing<'t> {
    fn new(host: Host, t: &'t Triggered, relation: &Relation) -> Result<Storing<'t>> {
        let position = |attnum: i16| {
            relation
                .live_columns()
                .position(|c| c.attnum == attnum)
                .ok_or_else(|| PgError::internal("a column that is gone"))
        };
        Ok(Storing {
            t,
            stored: t.columns.iter().map(|a| position(*a)).collect::<Result<Vec<_>>>()?,
            key_column: match relation.rowid_column {
                Some(a) => Some(position(a)?),
                None => None,
            },
            apply: host.kept_statement(&t.apply)?,
        })
    }

    /// Refuses a row whose BEFORE triggers have set what the statement does not store.
    fn check(&self, relation: &Relation, old: Option<&Vec<Datum>>, new: Option<&Vec<Datum>>) -> Result<()> {
        let Some(values) = new else { return Ok(()) };
        for (i, column) in relation.live_columns().enumerate() {
            let unstored = !self.stored.contains(&i) && column.generated.is_none() && !values[i].is_null();
            let moved = self.t.key_stays && self.key_column == Some(i) && old.is_some_and(|o| o[i] != values[i]);
            if unstored || moved {
                return Err(PgError::not_supported(format!(
                    "a BEFORE trigger that sets column \"{}\" of table \"{}\"",
                    column.name, relation.name
                )));
            }
        }
        Ok(())
    }

    /// The parameters of the statement: those of the client's, the key, the stored values, what RETURNING needs.
    fn values(&self, parameters: &[Datum], key: Datum, new: Option<&Vec<Datum>>, others: Vec<Datum>) -> Vec<Datum> {
        let mut values: Vec<Datum> = parameters.iter().take(self.t.parameters).cloned().collect();
        values.resize(self.t.parameters, Datum::Null);
        values.push(key);
        values.extend(self.stored.iter().map(|&at| new.map_or(Datum::Null, |n| n[at].clone())));
        values.extend(others);
        values
    }

    /// The rowid of an updated row, from the statement's parameters and the row as it is now.
    fn rowid_of(&self, values: &[Datum], row: &[Datum]) -> Datum {
        match self.key_column {
            Some(at) => row[at].clone(),
            None => values[self.t.parameters].clone(),
        }
    }

    fn store(&mut self, host: Host, values: &[Datum], width: usize) -> Result<Option<Vec<Datum>>> {
        store(host, &mut self.apply, values, width).map_err(|e| {
            told_more(host, &self.t.modify, self.t.shown.as_ref(), values, e, |sql| {
                sql.replace(&self.t.place, &self.t.condition)
            })
        })
    }
}

/// The triggers of a statement's event.
pub(super) fn firing<'h>(host: Host<'h>, t: &Triggered, relation: &Arc<Relation>) -> Result<Firing<'h>> {
    firing_of(host, relation, t.event, &t.set)
}

fn firing_of<'h>(host: Host<'h>, relation: &Arc<Relation>, event: Event, set: &[i16]) -> Result<Firing<'h>> {
    let triggers: Vec<Trigger> = relation
        .triggers
        .iter()
        .filter(|trigger| {
            let columns = trigger.columns.is_empty() || trigger.columns.iter().any(|c| set.contains(c));
            trigger.is_on() && trigger.events.contains(&event) && (event != Event::Update || columns)
        })
        .cloned()
        .collect();
    let shape = host.routines().shape(host, relation);
    let keys = match relation.kind {
        RelationKind::View { .. } => vec![],
        _ => after::keys(host, relation, event, set)?.into_iter().map(Rc::new).collect(),
    };
    let (relation, set) = (relation.clone(), set.to_vec());
    Ok(Firing::new(host, Rc::new(Fires { relation, shape, event, set, triggers, keys })))
}

fn run_inside(host: Host, t: &Triggered, parameters: &[Datum]) -> Result<(u64, Vec<Vec<Datum>>)> {
    if let Some(spread) = &t.spread {
        return super::spread::run(host, t, spread, parameters);
    }
    let relation = target(host, t)?;
    if matches!(relation.kind, RelationKind::View { .. }) {
        return run_instead(&firing(host, t, &relation)?, t, parameters);
    }
    let mut part = Part::new(host, t)?;
    if !t.part_of_several {
        part.fired.before_statement()?;
    }
    if let (Some(updates), false) = (&part.updates, t.part_of_several) {
        updates.before_statement()?;
    }
    let proposed = all_rows(host, &t.rows, parameters)?;
    let mut run = Run::new(host);
    let result = part.rows(proposed, parameters, &mut run, None);
    part.give_back();
    result?;
    if let (Some(updates), false) = (&part.updates, t.part_of_several) {
        after::statement(host, &updates.fires)?;
    }
    if !t.part_of_several {
        after::statement(host, &part.fired.fires)?;
    }
    Ok((part.count, part.shown))
}

/// A step of a statement, as part of the level around it: how many rows it changed, and what RETURNING shows of them.
pub fn run_step(host: Host, step: &ByRows, parameters: &[Datum]) -> Result<(u64, Vec<Vec<Datum>>)> {
    match step {
        ByRows::Modify(t) => {
            check_may_write(host.routines(), t.event.word())?;
            run_inside(host, t, parameters)
        }
        ByRows::Statements { table, events, before } => {
            let relation = host.catalog().relation(*table).cloned();
            let relation = relation.ok_or_else(|| PgError::internal("a table that is gone"))?;
            for (event, set) in events {
                let fired = firing_of(host, &relation, *event, set)?;
                match before {
                    true => fired.before_statement()?,
                    false => after::statement(host, &fired.fires)?,
                }
            }
            Ok((0, vec![]))
        }
    }
}

/// A statement on a view: INSTEAD OF triggers do what is to be done with each row. A row whose trigger returned NULL does not count.
fn run_instead(fired: &Firing, t: &Triggered, parameters: &[Datum]) -> Result<(u64, Vec<Vec<Datum>>)> {
    let host = fired.host;
    if !t.part_of_several {
        fired.before_statement()?;
    }
    let proposed = all_rows(host, &t.rows, parameters)?;
    let done = instead_rows(fired, t, proposed, parameters)?;
    if !t.part_of_several {
        after::statement(host, &fired.fires)?;
    }
    Ok(done)
}

fn instead_rows(
    fired: &Firing,
    t: &Triggered,
    proposed: Vec<Vec<Datum>>,
    parameters: &[Datum],
) -> Result<(u64, Vec<Vec<Datum>>)> {
    let host = fired.host;
    let width = fired.relation.live_columns().count();
    let (mut count, mut shown) = (0, Vec::new());
    for row in proposed {
        host.check_interrupt()?;
        let mut row = row.into_iter();
        let mut old = None;
        if t.event != Event::Insert {
            old = Some(row.by_ref().skip(1).take(width).collect::<Vec<_>>());
        }
        let mut new = match t.event {
            Event::Delete => None,
            _ => Some(row.by_ref().take(width).collect::<Vec<_>>()),
        };
        let mut done = true;
        for trigger in fired.of(Timing::InsteadOf, true) {
            match fired.fire(trigger, old.as_ref(), new.as_ref())? {
                Some(returned) if new.is_some() => new = Some(returned),
                Some(_) => {}
                None => {
                    done = false;
                    break;
                }
            }
        }
        if !done {
            continue;
        }
        count += 1;
        if t.returning > 0 {
            let mut values: Vec<Datum> = parameters.iter().take(t.parameters).cloned().collect();
            values.resize(t.parameters + 1, Datum::Null);
            values.extend(new.or(old).unwrap_or_default());
            values.extend(row);
            let mut returned = all_rows(host, &t.apply, &values)?.pop().unwrap_or_default();
            shown.push(returned.split_off(width));
        }
    }
    Ok((count, shown))
}

/// Begins a COPY FROM to a relation whose triggers it fires. What is to be done after its last row waits with the connection.
pub fn begin_copy(host: Host, t: &Triggered) -> Result<()> {
    check_may_write(host.routines(), "COPY FROM")?;
    let fired = firing(host, t, &target(host, t)?)?;
    let ((), level) = after::inside(host, Level::default(), || fired.before_statement())?;
    host.routines().copying.replace(level);
    Ok(())
}

/// Stores a row of COPY FROM, whose values are `parameters`; gives the rows stored: none where a condition or a trigger says so.
pub fn copy_row(host: Host, t: &Triggered, parameters: &[Datum]) -> Result<u64> {
    let (count, level) = after::inside(host, host.routines().copying.take(), || {
        if let Some(spread) = &t.spread {
            return super::spread::copy_row(host, t, spread, parameters);
        }
        let relation = target(host, t)?;
        if matches!(relation.kind, RelationKind::View { .. }) {
            let fired = firing(host, t, &relation)?;
            let proposed = all_rows(host, &t.rows, parameters)?;
            // (a row that its trigger leaves out counts, too)
            let count = proposed.len() as u64;
            return instead_rows(&fired, t, proposed, parameters).map(|_| count);
        }
        let proposed = all_rows(host, &t.rows, parameters)?;
        let mut part = Part::new(host, t)?;
        let result = part.rows(proposed, parameters, &mut Run::new(host), None);
        part.give_back();
        result.map(|()| part.count)
    })?;
    host.routines().copying.replace(level);
    Ok(count)
}

/// Fires what comes after the last row of a COPY FROM.
pub fn end_copy(host: Host, t: &Triggered) -> Result<()> {
    let fired = firing(host, t, &target(host, t)?)?;
    after::inside(host, host.routines().copying.take(), || {
        after::statement(host, &fired.fires)?;
        after::drain(host)
    })
    .map(|_| ())
}

/// The relation that a statement changes.
fn target(host: Host, t: &Triggered) -> Result<Arc<Relation>> {
    let found = host.catalog().relation(t.table).cloned();
    found.ok_or_else(|| PgError::internal("a table with triggers that is gone"))
}

/// Fires the TRUNCATE triggers of a table. Errors: 0A000 if they change the schema, which the TRUNCATE is about to do itself.
pub fn fire_truncate(host: Host, relation: &Arc<Relation>, timing: Timing) -> Result<()> {
    let triggers: Vec<Trigger> = relation
        .triggers
        .iter()
        .filter(|t| t.is_on() && t.timing == timing && t.events.contains(&Event::Truncate))
        .cloned()
        .collect();
    if triggers.is_empty() {
        return Ok(());
    }
    check_may_write(host.routines(), "TRUNCATE")?;
    let before = host.catalog().epoch;
    let shape = host.routines().shape(host, relation);
    let (relation, keys) = (relation.clone(), vec![]);
    let fires = Fires { relation, shape, event: Event::Truncate, set: vec![], triggers, keys };
    Firing::new(host, Rc::new(fires)).statement(timing)?;
    if host.catalog().epoch != before {
        return Err(PgError::not_supported("DDL in a trigger for TRUNCATE"));
    }
    Ok(())
}

/// What all parts of a statement have in common while their rows are stored.
pub(super) struct Run {
    /// whether triggers have changed any table, and so perhaps rows that are still to come
    pub changed_else: bool,
    changes: i64,
}

impl Run {
    pub fn new(host: Host) -> Run {
        Run { changed_else: false, changes: changes_in_all(host) }
    }
}

/// What has become of an updated row.
pub(super) enum Moved {
    /// it stays in its table
    No,
    /// it is in another one; what RETURNING shows of it
    Yes(Vec<Datum>),
    /// triggers have kept it from going, or from arriving
    LeftOut,
}

/// Takes an updated row (its key, as it was, as it is to be, what RETURNING needs) to another table, if it belongs there.
pub(super) type Mover<'m> = &'m mut dyn FnMut(&mut Run, &Datum, &Vec<Datum>, &Vec<Datum>, &[Datum]) -> Result<Moved>;

/// A statement on the rows of one table, and what they have come to.
pub(super) struct Part<'t, 'h> {
    t: &'t Triggered,
    pub relation: Arc<Relation>,
    pub fired: Firing<'h>,
    /// ON CONFLICT DO UPDATE: the triggers of that, and the statement
    pub updates: Option<Firing<'h>>,
    storing: Option<Storing<'t>>,
    updating: Option<Storing<'t>>,
    pub count: u64,
    pub shown: Vec<Vec<Datum>>,
    /// the transition tables that the rows go to, and those of ON CONFLICT DO UPDATE; of a table that the statement does not name:
    /// with the positions of that one's columns
    sets: (Option<Set>, Option<Set>),
    places: Option<Vec<usize>>,
    /// rows that this statement has inserted or updated, for ON CONFLICT
    touched: HashSet<i64>,
}

impl<'t, 'h> Part<'t, 'h> {
    pub fn new(host: Host<'h>, t: &'t Triggered) -> Result<Part<'t, 'h>> {
        let catalog = host.catalog();
        let relation = catalog
            .relation(t.table)
            .cloned()
            .ok_or_else(|| PgError::internal("a table with triggers that is gone"))?;
        let fired = firing(host, t, &relation)?;
        after::uses(host, relation.oid)?;
        let updates = match t.conflict.as_deref() {
            Some(c) => Some(firing(host, c, &relation)?),
            None => None,
        };
        let sets = (fired.transition_set()?, updates.as_ref().map_or(Ok(None), Firing::transition_set)?);
        Ok(Part {
            t,
            relation,
            fired,
            updates,
            storing: None,
            updating: None,
            count: 0,
            shown: vec![],
            sets,
            places: None,
            touched: HashSet::new(),
        })
    }

    /// The table is one of those that the named table stands for: its rows go to that one's transition tables. `places`: positions of that
    /// one's columns.
    pub fn belongs_to(&mut self, sets: (Option<Set>, Option<Set>), places: Vec<usize>) {
        self.sets = sets;
        self.places = Some(places);
    }

    /// Its rows go to another partition: only foreign keys that name this one lose them.
    pub fn departs(&mut self) -> Result<()> {
        let table = self.relation.oid;
        let fires = &*self.fired.fires;
        let keys = fires.keys.iter().filter(|k| k.names(table)).cloned().collect();
        let (relation, shape) = (fires.relation.clone(), fires.shape.clone());
        let (event, set, triggers) = (fires.event, fires.set.clone(), fires.triggers.clone());
        self.fired.fires = Rc::new(Fires { relation, shape, event, set, triggers, keys });
        Ok(())
    }

    /// Remembers a row for what comes after the statement.
    fn stored(&self, updated: bool, old: Option<Vec<Datum>>, new: Option<Vec<Datum>>) -> Result<()> {
        let (fired, set) = match (updated, &self.updates) {
            (true, Some(updates)) => (updates, &self.sets.1),
            _ => (&self.fired, &self.sets.0),
        };
        let asked = fired.asks_after();
        if !asked && set.is_none() {
            return Ok(());
        }
        let row = Rc::new(Changed { old, new });
        if let Some(set) = set {
            let kept = match &self.places {
                None => row.clone(),
                Some(places) => {
                    let of_named = |r: &Vec<Datum>| places.iter().map(|&p| r[p].clone()).collect::<Vec<_>>();
                    Rc::new(Changed { old: row.old.as_ref().map(of_named), new: row.new.as_ref().map(of_named) })
                }
            };
            set.borrow_mut().push(kept);
        }
        match asked {
            true => after::row(fired.host, &fired.fires, row, set.clone()),
            false => Ok(()),
        }
    }

    /// Puts the prepared statements back where the next one looks for them.
    pub fn give_back(&mut self) {
        for storing in [self.storing.take(), self.updating.take()].into_iter().flatten() {
            self.fired.host.keep_statement(&storing.t.apply, storing.apply);
        }
    }

    pub fn rows(
        &mut self,
        proposed: Vec<Vec<Datum>>,
        parameters: &[Datum],
        run: &mut Run,
        mut mover: Option<Mover>,
    ) -> Result<()> {
        let host = self.fired.host;
        let t = self.t;
        if self.storing.is_none() {
            self.storing = Some(Storing::new(host, t, &self.relation)?);
            if let Some(conflict) = t.conflict.as_deref() {
                self.updating = Some(Storing::new(host, conflict, &self.relation)?);
            }
        }
        let width = self.relation.live_columns().count();
        run.changes = changes_in_all(host);
        for row in proposed {
            host.check_interrupt()?;
            let Some(storing) = &mut self.storing else { return Err(PgError::internal("no statement")) };
            let mut row = row.into_iter();
            let mut key = Datum::Null;
            let mut old = None;
            if t.event != Event::Insert {
                key = row.next().unwrap_or_default();
                old = Some(row.by_ref().take(width).collect::<Vec<_>>());
            }
            let new = match t.event {
                Event::Insert => {
                    let mut values = vec![Datum::Null; width];
                    for (at, value) in storing.stored.iter().zip(row.by_ref()) {
                        values[*at] = value;
                    }
                    Some(values)
                }
                Event::Update => Some(row.by_ref().take(width).collect::<Vec<_>>()),
                _ => None,
            };
            let others: Vec<Datum> = row.collect();
            // by triggers of the rows before it (PostgreSQL's words are those of UPDATE then)
            run.changed_else |= changes_in_all(host) != run.changes;
            if let (true, Some(old)) = (run.changed_else, &old) {
                check_unchanged(host, t, &key, old, Event::Update)?;
            }
            run.changes = changes_in_all(host);
            let Some(new) = self.fired.before_row(old.as_ref(), new)? else { continue };
            if let (true, Some(old)) = (changes_in_all(host) != run.changes, &old) {
                run.changed_else = true;
                check_unchanged(host, t, &key, old, t.event)?;
            }
            if let (Some(mover), Some(new)) = (&mut mover, &new) {
                let before = old.as_ref().unwrap_or(new);
                match mover(run, &key, before, new, &others)? {
                    Moved::No => {}
                    Moved::Yes(returned) => {
                        self.done(returned);
                        run.changes = changes_in_all(host);
                        continue;
                    }
                    Moved::LeftOut => {
                        run.changes = changes_in_all(host);
                        continue;
                    }
                }
            }
            storing.check(&self.relation, old.as_ref(), new.as_ref())?;
            let values = storing.values(parameters, key, new.as_ref(), others);
            let stored = storing.store(host, &values, width + t.returning)?;
            run.changes = changes_in_all(host);
            match stored {
                Some(mut result) => {
                    let inserted = || {
                        // SAFETY: a live connection.
                        unsafe { libsqlite3_sys::sqlite3_last_insert_rowid(host.db) }
                    };
                    let rowid = match t.event {
                        Event::Insert => Datum::Int(inserted()),
                        _ => storing.rowid_of(&values, &result),
                    };
                    if !super::exclusion::stays(host, &t.exclusions, &self.relation, &rowid)? {
                        run.changes = changes_in_all(host);
                        continue;
                    }
                    if self.updates.is_some() {
                        self.touched.insert(inserted());
                    }
                    let returned = result.split_off(width);
                    self.done(returned);
                    self.stored(false, old, new.map(|_| result))?;
                }
                None if t.event == Event::Insert => {
                    // the row is there: DO NOTHING or DO UPDATE
                    self.update_conflicting(&values, parameters)?;
                }
                None => return Err(modified_meanwhile(t.event)),
            }
        }
        Ok(())
    }

    fn done(&mut self, returned: Vec<Datum>) {
        self.count += 1;
        if self.t.returning > 0 {
            self.shown.push(returned);
        }
    }

    fn update_conflicting(&mut self, inserted: &[Datum], parameters: &[Datum]) -> Result<()> {
        let host = self.fired.host;
        let width = self.relation.live_columns().count();
        let (Some(updating), Some(updates)) = (&mut self.updating, &self.updates) else { return Ok(()) };
        let mut found = all_rows(host, &updating.t.rows, inserted)?;
        // none: the condition of DO UPDATE leaves it as it is
        let Some(row) = found.pop() else { return Ok(()) };
        let mut row = row.into_iter();
        let key = row.next().unwrap_or_default();
        if let Datum::Int(rowid) = key {
            // (by this part, or by another part of the statement)
            if !self.touched.insert(rowid) || host.cell.rows.is_touched(self.relation.oid, rowid) {
                return Err(pgsqlite_natives::udf::rows::affected_twice());
            }
        }
        let old: Vec<Datum> = row.by_ref().take(width).collect();
        let new: Vec<Datum> = row.collect();
        let changes = changes_in_all(host);
        let Some(new) = updates.before_row(Some(&old), Some(new))? else { return Ok(()) };
        if changes_in_all(host) != changes {
            check_unchanged(host, updating.t, &key, &old, Event::Update)?;
        }
        updating.check(&self.relation, Some(&old), new.as_ref())?;
        let values = updating.values(parameters, key, new.as_ref(), vec![]);
        let returning = updating.t.returning;
        let Some(mut result) = updating.store(host, &values, width + returning)? else {
            return Err(modified_meanwhile(Event::Update));
        };
        let rowid = updating.rowid_of(&values, &result);
        super::exclusion::stays(host, &updating.t.exclusions, &self.relation, &rowid)?;
        let returned = result.split_off(width);
        self.done(returned);
        self.stored(true, Some(old), Some(result))
    }
}

/// How many rows of all tables the connection has changed.
fn changes_in_all(host: Host) -> i64 {
    // SAFETY: a live connection.
    unsafe { libsqlite3_sys::sqlite3_total_changes64(host.db) }
}

/// Refuses to overwrite what a trigger has made of the row since its old values were read. Errors: 27000.
fn check_unchanged(host: Host, t: &Triggered, key: &Datum, old: &Vec<Datum>, event: Event) -> Result<()> {
    match all_rows(host, &t.current, std::slice::from_ref(key))?.first() {
        Some(now) if now == old => Ok(()),
        _ => Err(modified_meanwhile(event)),
    }
}

fn modified_meanwhile(event: Event) -> PgError {
    let word = if event == Event::Update { "updated" } else { "deleted" };
    PgError::new(
        SqlState::TRIGGERED_DATA_CHANGE_VIOLATION,
        format!("tuple to be {word} was already modified by an operation triggered by the current command"),
    )
    .hint("Consider using an AFTER trigger instead of a BEFORE trigger to propagate changes to other rows.")
}

/// All rows of a query.
pub(super) fn all_rows(host: Host, sql: &str, parameters: &[Datum]) -> Result<Vec<Vec<Datum>>> {
    let mut statement = host.kept_statement(sql)?;
    let mut out = Vec::new();
    // SAFETY: the parameters live until the statement is reset below.
    let mut result = unsafe { bind(host, &mut statement, parameters) };
    let width = statement.column_count();
    while result.is_ok() {
        match step_once(host, &mut statement) {
            Ok(Step::Row) => out.push((0..width).map(|i| statement.column(i).to_owned()).collect()),
            Ok(Step::Done) => break,
            Err(e) => result = Err(e),
        }
    }
    statement.reset();
    host.keep_statement(sql, statement);
    result.map(|()| out)
}

/// Stores a row; what it is then. None: nothing was changed.
fn store(host: Host, apply: &mut RawStatement, values: &[Datum], width: usize) -> Result<Option<Vec<Datum>>> {
    // SAFETY: the values live until the statement is reset below.
    let mut result = unsafe { bind(host, apply, values) };
    let mut row = None;
    while result.is_ok() {
        match step_once(host, apply) {
            Ok(Step::Row) => row = Some((0..width).map(|i| apply.column(i).to_owned()).collect()),
            Ok(Step::Done) => break,
            Err(e) => result = Err(e),
        }
    }
    apply.reset();
    result.map(|()| row)
}

impl<'h> Firing<'h> {
    pub fn new(host: Host<'h>, fires: Rc<Fires>) -> Firing<'h> {
        Firing { host, fires }
    }

    /// The rows of the transition tables, if there are any.
    pub fn transition_set(&self) -> Result<Option<Set>> {
        match self.has_transition_tables() {
            true => after::set_of(self.host, &self.fires).map(Some),
            false => Ok(None),
        }
    }

    /// BEFORE … FOR EACH STATEMENT, once for all that a statement does to the table.
    pub fn before_statement(&self) -> Result<()> {
        if !self.triggers.iter().any(|t| !t.row) || !after::first_of(self.host, &self.fires)? {
            return Ok(());
        }
        self.statement(Timing::Before)
    }

    fn of(&self, timing: Timing, row: bool) -> impl Iterator<Item = &Trigger> {
        self.triggers.iter().filter(move |t| t.timing == timing && t.row == row)
    }

    pub fn statement(&self, timing: Timing) -> Result<()> {
        for trigger in self.of(timing, false) {
            if self.condition(trigger, None, None)? {
                self.fire(trigger, None, None)?;
            }
        }
        Ok(())
    }

    /// The BEFORE triggers of a row. None: the row is left out. Inner None: there is no new row (DELETE).
    fn before_row(&self, old: Option<&Vec<Datum>>, new: Option<Vec<Datum>>) -> Result<Option<Option<Vec<Datum>>>> {
        let mut new = new;
        // generated columns are computed when the row is stored
        let generated: Vec<usize> =
            self.relation.live_columns().enumerate().filter(|(_, c)| c.generated.is_some()).map(|(i, _)| i).collect();
        if let Some(row) = &mut new {
            generated.iter().for_each(|&i| row[i] = Datum::Null);
        }
        for trigger in self.of(Timing::Before, true) {
            if !self.condition(trigger, old, new.as_ref())? {
                continue;
            }
            let returned = self.fire(trigger, old, new.as_ref())?;
            match (returned, &new) {
                (None, _) => return Ok(None),
                (Some(row), Some(_)) => {
                    let mut row = row;
                    generated.iter().for_each(|&i| row[i] = Datum::Null);
                    new = Some(row);
                }
                (Some(_), None) => {}
            }
        }
        Ok(Some(new))
    }

    /// AFTER … FOR EACH ROW and foreign keys, in the order of PostgreSQL's names for them.
    pub fn after_row(&self, row: &Changed, set: Option<&Set>) -> Result<()> {
        let mut keys = Some(&self.keys);
        for trigger in self.of(Timing::After, true) {
            if trigger.name.as_str() > "RI_ConstraintTrigger_a" {
                self.fire_keys(keys.take(), row)?;
            }
            if !self.condition(trigger, row.old.as_ref(), row.new.as_ref())? {
                continue;
            }
            if trigger.deferrable && self.host.routines().is_deferred_trigger(trigger) {
                let row = Rc::new(Changed { old: row.old.clone(), new: row.new.clone() });
                let (fires, trigger) = (self.fires.clone(), Box::new(trigger.clone()));
                after::defer(self.host, Pending::Trigger { fires, trigger, row });
                continue;
            }
            self.with_transition_tables(trigger, set, || self.fire_after(trigger, row))?;
        }
        self.fire_keys(keys, row)
    }

    fn fire_keys(&self, keys: Option<&Vec<Rc<Key>>>, row: &Changed) -> Result<()> {
        keys.into_iter().flatten().try_for_each(|key| foreign_key::fire(self.host, key, self.event, row))
    }

    /// An AFTER … FOR EACH ROW trigger whose condition holds.
    pub fn fire_after(&self, trigger: &Trigger, row: &Changed) -> Result<()> {
        self.fire(trigger, row.old.as_ref(), row.new.as_ref()).map(|_| ())
    }

    pub fn after_statement(&self, set: &Set) -> Result<()> {
        for trigger in self.of(Timing::After, false) {
            if self.condition(trigger, None, None)? {
                self.with_transition_tables(trigger, Some(set), || self.fire(trigger, None, None).map(|_| ()))?;
            }
        }
        Ok(())
    }

    /// Runs with the tables of REFERENCING in sight: tables of the statement's own ([`super::scratch`]).
    fn with_transition_tables(
        &self,
        trigger: &Trigger,
        set: Option<&Set>,
        run: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        use pgsqlite_sql::catalog::{Column, RelationKind, PG_TEMP};
        use std::hash::{Hash, Hasher};
        if trigger.old_table.is_none() && trigger.new_table.is_none() {
            return run();
        }
        let host = self.host;
        if let Some(set) = set {
            after::close(host, &self.fires, set)?;
        }
        let before = host.catalog();
        let mut with = (*before).clone();
        let mut made = Vec::new();
        super::scratch::attach(host)?;
        for (is_new, name) in [(false, &trigger.old_table), (true, &trigger.new_table)] {
            let Some(name) = name else { continue };
            let depth = host.routines().depth.get();
            let columns: Vec<Column> = self
                .relation
                .live_columns()
                .zip(1i16..)
                .map(|(c, attnum)| Column {
                    collation: c.collation,
                    ..Column::new(attnum, c.name.clone(), c.type_oid, c.typmod)
                })
                .collect();
            // (a table of the same columns is used again; not one whose columns were of other types)
            let mut types = std::collections::hash_map::DefaultHasher::new();
            columns.iter().for_each(|c| (&c.name, c.type_oid, c.typmod, c.collation).hash(&mut types));
            let sqlite_name =
                format!("pg_transition_{depth}_{}_{}_{:x}", trigger.oid, u8::from(is_new), types.finish());
            let relation = Relation {
                oid: pgsqlite_sql::catalog::TRANSITION_TABLES[usize::from(is_new)],
                schema: PG_TEMP,
                name: name.clone(),
                kind: RelationKind::Table,
                sqlite_name: sqlite_name.clone(),
                temporary: true,
                row_type: 0,
                array_type: 0,
                columns,
                constraints: vec![],
                rowid_column: None,
                without_rowid: false,
                triggers: vec![],
                origin: Default::default(),
                security: Default::default(),
                inheritance: Default::default(),
                storage: Default::default(),
                tuples: None,
                distinct: vec![],
                ..(*self.relation).clone()
            };
            let quoted = pgsqlite_sql::lower::scratch_name(&sqlite_name);
            let declared: Vec<String> = relation
                .columns
                .iter()
                .map(|c| {
                    let ty = pgsqlite_objects::ddl::sqlite::declared_type(&before, c);
                    format!("{} {ty}", pgsqlite_sql::names::quoted(&c.name))
                })
                .collect();
            host.exec(&format!("CREATE TABLE IF NOT EXISTS {quoted} ({}); DELETE FROM {quoted}", declared.join(", ")))?;
            let places: Vec<String> = (1..=relation.columns.len()).map(|i| format!("?{i}")).collect();
            let mut insert = host.prepare(&format!("INSERT INTO {quoted} VALUES ({})", places.join(", ")))?;
            for row in set.iter().flat_map(|set| set.borrow().clone()) {
                let values = if is_new { &row.new } else { &row.old };
                if let Some(values) = values {
                    // SAFETY: the row lives until the statement is reset.
                    unsafe { bind(host, &mut insert, values)? };
                    step_once(host, &mut insert)?;
                    insert.reset();
                }
            }
            made.push(relation.oid);
            with.add_relation(relation);
        }
        with.epoch = pgsqlite_metadata::numbers::passing_epoch();
        let epoch = with.epoch;
        super::utility::show_catalog(host, Arc::new(with));
        let result = run();
        let after = host.catalog();
        if after.epoch == epoch {
            super::utility::show_catalog(host, before);
        } else {
            // DDL in the function: its catalog stays, without the tables
            let mut left = (*after).clone();
            made.iter().for_each(|oid| left.remove_relation(*oid));
            left.epoch = pgsqlite_metadata::numbers::next_number();
            let left = Arc::new(left);
            if let Some(changed) = host.routines().changed.borrow_mut().as_mut() {
                changed.0 = left.clone();
            }
            super::utility::show_catalog(host, left);
        }
        result
    }

    fn row(&self, values: Option<&Vec<Datum>>) -> Value {
        Value::row(&self.shape, values)
    }

    /// Whether WHEN lets the trigger fire.
    fn condition(&self, trigger: &Trigger, old: Option<&Vec<Datum>>, new: Option<&Vec<Datum>>) -> Result<bool> {
        let Some(text) = &trigger.condition else { return Ok(true) };
        let names = RowNames { shape: &self.shape, sources: RefCell::default() };
        let planned = self.host.routines().condition(self.host, trigger.oid, text, &names)?;
        let parameters: Vec<Datum> = planned
            .1
            .iter()
            .map(|(is_new, at)| {
                let row = if *is_new { new } else { old };
                match at {
                    Some(i) => row.map_or(Datum::Null, |r| r[*i].clone()),
                    None => row
                        .map_or(Datum::Null, |r| super::record_of(&self.shape.fields, r, self.shape.ty == oid::RECORD)),
                }
            })
            .collect();
        let mut found = false;
        planned.0.run(self.host, &parameters, &mut |row| {
            found = row.first() == Some(&Datum::Int(1));
            Ok(true)
        })?;
        Ok(found)
    }

    /// Calls the trigger's function; the row that it returned.
    fn fire(
        &self,
        trigger: &Trigger,
        old: Option<&Vec<Datum>>,
        new: Option<&Vec<Datum>>,
    ) -> Result<Option<Vec<Datum>>> {
        let host = self.host;
        let runtime = host.routines();
        let row = builtin_triggers::Row { relation: &self.relation, event: self.event, old, new, set: &self.set };
        if let Some(returned) = builtin_triggers::call(host, trigger, &row) {
            return returned;
        }
        let catalog = host.catalog();
        let routine = catalog
            .routines
            .get(&trigger.function)
            .ok_or_else(|| PgError::internal("a trigger's function that is gone"))?;
        let depth = runtime.depth.get();
        if depth >= super::DEEPEST {
            return Err(PgError::new(SqlState::STATEMENT_TOO_COMPLEX, "stack depth limit exceeded"));
        }
        let schema = catalog.schema_name(self.relation.schema).to_string();
        let text = |s: &str| Value::Scalar(Datum::Text(s.to_string()));
        let arguments = pgsqlite_types::array::Array::from_elements(
            trigger.arguments.iter().map(|a| Datum::Text(a.clone())).collect(),
        );
        let given = vec![
            self.row(new),
            self.row(old),
            text(&trigger.name),
            text(match trigger.timing {
                Timing::Before => "BEFORE",
                Timing::After => "AFTER",
                Timing::InsteadOf => "INSTEAD OF",
            }),
            text(if trigger.row { "ROW" } else { "STATEMENT" }),
            text(self.event.word()),
            Value::Scalar(Datum::Int(i64::from(self.relation.oid))),
            text(&self.relation.name),
            text(&self.relation.name),
            text(&schema),
            Value::Scalar(Datum::Int(trigger.arguments.len() as i64)),
            Value::Scalar(if trigger.arguments.is_empty() { Datum::Null } else { arguments.to_datum() }),
        ];
        runtime.depth.set(depth + 1);
        let triggers = runtime.trigger_depth.get();
        runtime.trigger_depth.set(triggers + 1);
        let steady = runtime.steady.replace(false);
        let could_end = runtime.may_end_transaction.replace(false);
        let counted = super::counted::Counted::begin(host, &routine.function);
        let result = stacker::maybe_grow(STACK, STACK * 32, || {
            super::with_settings(host, &routine.function, || {
                match compiled(host, &routine.function, &[], oid::TRIGGER)? {
                    Runnable::PlPgSql(program) => program.fire(host, given, &self.shape, trigger.row),
                    Runnable::Sql(_) => Err(PgError::internal("a trigger function in SQL")),
                }
            })
        });
        if let (Some(counted), Ok(_)) = (counted, &result) {
            counted.end(host);
        }
        runtime.steady.set(steady);
        runtime.may_end_transaction.set(could_end);
        runtime.trigger_depth.set(triggers);
        runtime.depth.set(depth);
        result
    }
}

/// OLD and NEW in WHEN.
pub(super) struct RowNames<'s> {
    shape: &'s Rc<Shape>,
    /// NEW (else OLD), and the field; None: the whole row
    pub sources: RefCell<Vec<(bool, Option<usize>)>>,
}

impl RowNames<'_> {
    fn number(&self, source: (bool, Option<usize>)) -> usize {
        let mut sources = self.sources.borrow_mut();
        if let Some(i) = sources.iter().position(|s| *s == source) {
            return i + 1;
        }
        sources.push(source);
        sources.len()
    }

    pub fn types(&self) -> Vec<Oid> {
        let of = |field: &Option<usize>| field.map_or(self.shape.ty, |i| self.shape.fields[i].1);
        self.sources.borrow().iter().map(|(_, field)| of(field)).collect()
    }
}

impl Variables for RowNames<'_> {
    fn find(&self, names: &[&str]) -> Result<Option<(Variable, usize)>> {
        let is_new = match names.first() {
            Some(&"new") => true,
            Some(&"old") => false,
            _ => return Ok(None),
        };
        let Some(field) = names.get(1) else {
            let number = self.number((is_new, None));
            return Ok(Some((Variable { number, ty: self.shape.ty, typmod: -1 }, 1)));
        };
        let Some(i) = self.shape.find(field) else { return Ok(None) };
        let (_, ty, typmod) = self.shape.fields[i];
        Ok(Some((Variable { number: self.number((is_new, Some(i))), ty, typmod }, 2)))
    }
    fn parameter(&self, _n: usize) -> Result<Option<Variable>> {
        Ok(None)
    }
    fn fields(&self, names: &[&str]) -> Result<Option<Vec<(String, Variable)>>> {
        let mut out = Vec::new();
        if !matches!(names, ["new"] | ["old"]) {
            return Ok(None);
        }
        for (name, _, _) in &self.shape.fields {
            if let Some((variable, _)) = self.find(&[names[0], name])? {
                out.push((name.clone(), variable));
            }
        }
        Ok(Some(out))
    }
    fn precedence(&self) -> Precedence {
        Precedence::Variables
    }
}
