//! Statements that fire triggers, carried out row by row (`pgsqlite_sql::lower` has the statements of SQLite for it).
//!
//! The order is PostgreSQL's (manual, "Overview of Trigger Behavior"): BEFORE … FOR EACH STATEMENT; for each row the BEFORE triggers
//! by name, each with what the one before it returned, then the row is stored; after all rows AFTER … FOR EACH ROW, row by row;
//! at last AFTER … FOR EACH STATEMENT. All rows are computed before the first trigger runs, but for those of [`ProposedRows::OneByOne`].

use super::after::{self, Level, Set};
use super::firing::{firing, firing_of, Changed, Fires, Firing};
use super::proposed::ProposedRows;
use super::statement::{bind, check_may_write, step_once, told_more, Planned};
use super::Host;
use pgsqlite_sql::catalog::{Relation, RelationKind};
use pgsqlite_sql::plan::{ByRows, Triggered};
use pgsqlite_sql::routine::{Event, Timing, Trigger};
use pgsqlite_storage::sqlite_statement::{RawStatement, Step};
use pgsqlite_types::{Datum, PgError, Result, SqlState};
use std::collections::HashSet;
use std::rc::Rc;
use std::sync::Arc;

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
    pub(super) fn new(host: Host, t: &'t Triggered, relation: &Relation) -> Result<Storing<'t>> {
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
    pub(super) fn values(
        &self,
        parameters: &[Datum],
        key: Datum,
        new: Option<&Vec<Datum>>,
        others: Vec<Datum>,
    ) -> Vec<Datum> {
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
        store(host, &mut self.apply, values, width)
            .map_err(|e| told_more(host, &self.t.modify, self.t.shown.as_ref(), values, e))
    }
}

fn run_inside(host: Host, t: &Triggered, parameters: &[Datum]) -> Result<(u64, Vec<Vec<Datum>>)> {
    if let Some(tuple_routing) = &t.tuple_routing {
        return super::tuple_routing::run(host, t, tuple_routing, parameters);
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
    let proposed = ProposedRows::of(host, t, parameters)?;
    let mut run = Run::new(host);
    let result = super::tuple_routing::rows_of_named(&mut part, proposed, parameters, &mut run);
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
    let proposed = ProposedRows::of(host, t, parameters)?;
    let done = instead_rows(fired, t, proposed, parameters)?;
    if !t.part_of_several {
        after::statement(host, &fired.fires)?;
    }
    Ok(done)
}

fn instead_rows(
    fired: &Firing,
    t: &Triggered,
    proposed: ProposedRows,
    parameters: &[Datum],
) -> Result<(u64, Vec<Vec<Datum>>)> {
    let host = fired.host;
    let width = fired.relation.live_columns().count();
    let (mut count, mut shown) = (0, Vec::new());
    for row in proposed {
        host.check_interrupt()?;
        let mut row = row?.into_iter();
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
        if let Some(tuple_routing) = &t.tuple_routing {
            return super::tuple_routing::copy_row(host, t, tuple_routing, parameters);
        }
        let relation = target(host, t)?;
        if matches!(relation.kind, RelationKind::View { .. }) {
            let fired = firing(host, t, &relation)?;
            let proposed = all_rows(host, &t.rows, parameters)?;
            // (a row that its trigger leaves out counts, too)
            let count = proposed.len() as u64;
            return instead_rows(&fired, t, proposed.into(), parameters).map(|_| count);
        }
        let proposed = ProposedRows::of(host, t, parameters)?;
        let mut part = Part::new(host, t)?;
        let result = super::tuple_routing::rows_of_named(&mut part, proposed, parameters, &mut Run::new(host));
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

/// What a partition's rows go through after their BEFORE triggers.
pub(super) struct Mover<'m> {
    /// Takes an updated row (its key, as it was, as it is to be, what RETURNING needs) to another table, if it belongs there.
    pub moves: &'m mut dyn FnMut(&mut Run, &Datum, &Vec<Datum>, &Vec<Datum>, &[Datum]) -> Result<Moved>,
    /// looks at what each of these triggers has made of a row
    pub after_each: Option<AfterEach<'m>>,
}

/// See [`Mover::after_each`].
pub(super) type AfterEach<'m> = &'m dyn Fn(&Trigger, &Vec<Datum>) -> Result<()>;

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

    /// The query of whether a row belongs to the table: [`Triggered::fits`].
    pub fn fits(&self) -> Option<&'t str> {
        self.t.fits.as_deref()
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
        proposed: ProposedRows,
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
            let row = row?;
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
            let Some(new) = self.fired.before_row(old.as_ref(), new, mover.as_ref().and_then(|m| m.after_each))? else {
                continue;
            };
            if let (true, Some(old)) = (changes_in_all(host) != run.changes, &old) {
                run.changed_else = true;
                check_unchanged(host, t, &key, old, t.event)?;
            }
            if let (Some(mover), Some(new)) = (&mut mover, &new) {
                let before = old.as_ref().unwrap_or(new);
                match (mover.moves)(run, &key, before, new, &others)? {
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
                    if !super::exclusion_check::stays(host, &t.exclusions, &self.relation, &rowid)? {
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
        // (that the row is the statement's own is found before the condition is looked at)
        if let Some(conflicting) = &updating.t.conflicting {
            for row in all_rows(host, conflicting, inserted)? {
                let own = |rowid| self.touched.contains(rowid) || host.cell.rows.is_touched(self.relation.oid, *rowid);
                if matches!(row.first(), Some(Datum::Int(rowid)) if own(rowid)) {
                    return Err(pgsqlite_natives::udf::statement_rows::affected_twice());
                }
            }
        }
        let mut found = all_rows(host, &updating.t.rows, inserted)?;
        // none: the condition of DO UPDATE leaves it as it is
        let Some(row) = found.pop() else { return Ok(()) };
        let mut row = row.into_iter();
        let key = row.next().unwrap_or_default();
        if let Datum::Int(rowid) = key {
            // (by this part, or by another part of the statement)
            if !self.touched.insert(rowid) || host.cell.rows.is_touched(self.relation.oid, rowid) {
                return Err(pgsqlite_natives::udf::statement_rows::affected_twice());
            }
        }
        let old: Vec<Datum> = row.by_ref().take(width).collect();
        let new: Vec<Datum> = row.by_ref().take(width).collect();
        let others: Vec<Datum> = row.collect();
        let changes = changes_in_all(host);
        let Some(new) = updates.before_row(Some(&old), Some(new), None)? else { return Ok(()) };
        if changes_in_all(host) != changes {
            check_unchanged(host, updating.t, &key, &old, Event::Update)?;
        }
        updating.check(&self.relation, Some(&old), new.as_ref())?;
        let values = updating.values(parameters, key, new.as_ref(), others);
        let returning = updating.t.returning;
        let Some(mut result) = updating.store(host, &values, width + returning)? else {
            return Err(modified_meanwhile(Event::Update));
        };
        let rowid = updating.rowid_of(&values, &result);
        super::exclusion_check::stays(host, &updating.t.exclusions, &self.relation, &rowid)?;
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
fn check_unchanged(host: Host, t: &Triggered, key: &Datum, old: &[Datum], event: Event) -> Result<()> {
    match all_rows(host, &t.current, std::slice::from_ref(key))?.first() {
        // (a row without columns is there, and has not changed)
        Some(now) if now[..] == *old || old.is_empty() => Ok(()),
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
