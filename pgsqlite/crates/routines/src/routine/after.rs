//! What a statement leaves to be done when its rows are stored: AFTER triggers and managed foreign keys.
//!
//! Each statement has a [`Level`] of its own (statements of functions nest). Rows and statements add events to it; when the
//! statement is done, [`at_level`] carries them out in order. A foreign key's action is a data modification inside the same
//! level: its events come behind those that are there, as in PostgreSQL, and its BEFORE and AFTER … FOR EACH STATEMENT
//! triggers fire once per table and level. What is deferred goes to [`Pending`] and is carried out by SET CONSTRAINTS or
//! COMMIT.

use super::firing::{Changed, Fires, Firing};
use super::foreign_key::{self, Key, PendingKey};
use super::Host;
use pgsqlite_sql::routine::{Event, Timing, Trigger};
use pgsqlite_types::work;
use pgsqlite_types::{Oid, PgError, Result, SqlState};
use std::cell::RefCell;
use std::collections::{HashMap, HashSet, VecDeque};
use std::rc::Rc;

/// The rows of transition tables.
pub(super) type Set = Rc<RefCell<Vec<Rc<Changed>>>>;

/// Something that is to be done.
pub(super) enum After {
    Row(Waiting),
    Statement { fires: Rc<Fires>, set: Set, due: Due },
}

/// A row that waits for its triggers and foreign keys.
pub(super) struct Waiting {
    pub fires: Rc<Fires>,
    pub row: Rc<Changed>,
    pub set: Option<Set>,
    pub due: Due,
    /// the foreign key whose action has changed the row
    pub action: Option<Oid>,
}

/// The triggers (by their positions) whose conditions held when the event happened.
pub(super) type Due = Vec<usize>;

/// A statement, while it runs.
#[derive(Default)]
pub struct Level {
    queue: VecDeque<After>,
    /// the transition tables of (table, event): until a trigger reads them
    sets: HashMap<(Oid, Event), Set>,
    /// whose BEFORE … FOR EACH STATEMENT triggers have fired
    before: HashSet<(Oid, Event)>,
    /// the tables whose rows are changed
    tables: HashSet<Oid>,
    /// the foreign key whose action runs
    action: Option<Oid>,
}

/// Deferred until the end of the transaction.
pub enum Pending {
    Trigger { fires: Rc<Fires>, trigger: Box<Trigger>, row: Rc<Changed> },
    Key(PendingKey),
}

impl Pending {
    /// The constraint that it is of.
    fn constraint(&self) -> Oid {
        match self {
            Pending::Trigger { trigger, .. } => trigger.constraint,
            Pending::Key(key) => key.constraint,
        }
    }
}

fn with_top<R>(host: Host, run: impl FnOnce(&mut Level) -> R) -> Result<R> {
    let mut levels = host.routines().levels.borrow_mut();
    levels.last_mut().map(run).ok_or_else(|| PgError::internal("a row outside of a statement"))
}

/// Runs a statement, then what it has left to be done.
pub fn at_level<R>(host: Host, run: impl FnOnce() -> Result<R>) -> Result<R> {
    inside(host, Level::default(), || {
        let result = run()?;
        drain(host)?;
        Ok(result)
    })
    .map(|(result, _)| result)
}

/// Runs inside a level, which is given back.
pub(super) fn inside<R>(host: Host, level: Level, run: impl FnOnce() -> Result<R>) -> Result<(R, Level)> {
    let depth = {
        let mut levels = host.routines().levels.borrow_mut();
        levels.push(level);
        levels.len() - 1
    };
    let result = run();
    let mut levels = host.routines().levels.borrow_mut();
    levels.truncate(depth + 1);
    let level = levels.pop().unwrap_or_default();
    result.map(|result| (result, level))
}

/// Whether the level has nothing to be done.
pub(super) fn drain(host: Host) -> Result<()> {
    while let Some(next) = with_top(host, |level| level.queue.pop_front())? {
        match next {
            After::Row(waiting) => Firing::new(host, waiting.fires.clone()).after_row(&waiting)?,
            After::Statement { fires, set, due } => Firing::new(host, fires).after_statement(&set, &due)?,
        }
    }
    Ok(())
}

/// True: the BEFORE … FOR EACH STATEMENT triggers have not fired yet at this level.
pub(super) fn first_of(host: Host, fires: &Fires) -> Result<bool> {
    with_top(host, |level| level.before.insert((fires.relation.oid, fires.event)))
}

/// The rows of the transition tables of a table.
pub(super) fn set_of(host: Host, fires: &Fires) -> Result<Set> {
    with_top(host, |level| level.sets.entry((fires.relation.oid, fires.event)).or_default().clone())
}

/// A trigger is about to read the rows: what comes later goes to others.
pub(super) fn close(host: Host, fires: &Fires, set: &Set) -> Result<()> {
    with_top(host, |level| {
        let key = (fires.relation.oid, fires.event);
        if level.sets.get(&key).is_some_and(|s| Rc::ptr_eq(s, set)) {
            level.sets.remove(&key);
            level.before.remove(&key);
        }
    })
}

/// A table's rows are about to be changed.
pub(super) fn uses(host: Host, table: Oid) -> Result<()> {
    with_top(host, |level| {
        level.tables.insert(table);
    })
}

/// The tables in use: those whose rows the statements that run change, and those that open cursors and loops of functions read.
pub fn busy_tables(host: Host) -> Vec<Oid> {
    let routines = host.routines();
    let (levels, cursors) = (routines.levels.borrow(), routines.cursors.borrow());
    let changed = levels.iter().flat_map(|level| level.tables.iter().copied());
    changed.chain(cursors.tables()).chain(routines.loop_tables.borrow().iter().copied()).collect()
}

/// The tables for whose rows something waits.
pub fn pending_tables(host: Host) -> Vec<Oid> {
    let table = |pending: &Rc<Pending>| match &**pending {
        Pending::Trigger { fires, .. } => fires.relation.oid,
        Pending::Key(key) => key.table(),
    };
    host.routines().pending.borrow().iter().map(table).collect()
}

/// A row is stored (or gone). What its AFTER triggers' conditions say is asked now, as in PostgreSQL.
pub(super) fn row(host: Host, fires: &Rc<Fires>, row: Rc<Changed>, set: Option<Set>) -> Result<()> {
    let due = Firing::new(host, fires.clone()).due(true, row.old.as_ref(), row.new.as_ref())?;
    if due.is_empty() && fires.keys.is_empty() {
        return Ok(());
    }
    with_top(host, |level| {
        let (fires, action) = (fires.clone(), level.action);
        level.queue.push_back(After::Row(Waiting { fires, row, set, due, action }));
    })
}

/// Runs what a foreign key's action does, inside the level.
pub(super) fn acting<R>(host: Host, constraint: Oid, run: impl FnOnce() -> Result<R>) -> Result<R> {
    let around = with_top(host, |level| level.action.replace(constraint))?;
    let result = run();
    with_top(host, |level| level.action = around)?;
    result
}

/// The AFTER … FOR EACH STATEMENT triggers of a table are due; those that wait for the same rows already need not fire.
pub(super) fn statement(host: Host, fires: &Rc<Fires>) -> Result<()> {
    if !fires.triggers.iter().any(|t| t.timing == Timing::After && !t.row) {
        return Ok(());
    }
    let set = set_of(host, fires)?;
    let due = Firing::new(host, fires.clone()).due(false, None, None)?;
    with_top(host, |level| {
        let same = |event: &After| matches!(event, After::Statement { set: other, .. } if Rc::ptr_eq(other, &set));
        level.queue.retain(|event| !same(event));
        if !due.is_empty() {
            level.queue.push_back(After::Statement { fires: fires.clone(), set, due });
        }
    })
}

/// Leaves a trigger or a key for later. Errors: 42501 where it would come when somebody else's rights hold.
pub(super) fn defer(host: Host, pending: Pending) -> Result<()> {
    if host.cell.state().restricted {
        let message = "cannot fire deferred trigger within security-restricted operation";
        return Err(PgError::new(SqlState::INSUFFICIENT_PRIVILEGE, message));
    }
    host.routines().pending.borrow_mut().push_back(Rc::new(pending));
    Ok(())
}

/// Carries out what is deferred of the constraints that `due` names. Errors: what the triggers raise, 23503.
pub fn run_pending(host: Host, due: impl Fn(Oid) -> bool) -> Result<()> {
    loop {
        // (triggers may defer more)
        let next = {
            let mut pending = host.routines().pending.borrow_mut();
            let at = pending.iter().position(|p| {
                work::pulse(1);
                due(p.constraint())
            });
            at.and_then(|at| pending.remove(at))
        };
        work::tick(8)?;
        match next.as_deref() {
            None => return Ok(()),
            Some(Pending::Key(key)) => foreign_key::check_pending(host, key)?,
            Some(Pending::Trigger { fires, trigger, row }) => {
                let remembered = host.cell.rows.set_aside();
                let result = at_level(host, || {
                    uses(host, fires.relation.oid)?;
                    Firing::new(host, fires.clone()).fire_after(trigger, row)
                });
                host.cell.rows.put_back(remembered);
                result?;
            }
        }
    }
}

/// What managed foreign keys a table's event has to look at.
pub(super) fn keys(
    host: Host,
    relation: &pgsqlite_sql::catalog::Relation,
    event: Event,
    set: &[i16],
) -> Result<Vec<Key>> {
    let catalog = host.catalog();
    // (a BEFORE trigger may set other columns than the statement)
    let may_set_more = |t: &Trigger| t.is_on() && t.row && t.timing == Timing::Before && t.events.contains(&event);
    if !relation.triggers.iter().any(may_set_more) && !catalog.concerns_managed_keys(relation, event, set) {
        return Ok(vec![]);
    }
    foreign_key::keys(&catalog, relation, event)
}
