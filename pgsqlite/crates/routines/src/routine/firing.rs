//! Triggers that fire: what fires for a table and an event, BEFORE and AFTER, for rows and for statements.

use super::after::{self, Due, Pending, Set, Waiting};
use super::foreign_key::{self, Key};
use super::plpgsql::{Shape, Value};
use super::statement::{bind, check_may_write, step_once};
use super::{builtin_triggers, compiled, Host, Runnable, STACK};
use pgsqlite_sql::analyze::variables::{Precedence, Variable, Variables};
use pgsqlite_sql::catalog::{Relation, RelationKind};
use pgsqlite_sql::plan::Triggered;
use pgsqlite_sql::routine::{Event, Timing, Trigger};
use pgsqlite_types::{oid, Datum, Oid, PgError, Result, SqlState};
use std::cell::RefCell;
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
    pub(super) shape: Rc<Shape>,
    pub(super) event: Event,
    /// attnums that UPDATE sets
    pub(super) set: Vec<i16>,
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
    pub(super) fn asks_after(&self) -> bool {
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

/// The triggers of a statement's event.
pub(super) fn firing<'h>(host: Host<'h>, t: &Triggered, relation: &Arc<Relation>) -> Result<Firing<'h>> {
    firing_of(host, relation, t.event, &t.set)
}

pub(super) fn firing_of<'h>(host: Host<'h>, relation: &Arc<Relation>, event: Event, set: &[i16]) -> Result<Firing<'h>> {
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

    pub(super) fn of(&self, timing: Timing, row: bool) -> impl Iterator<Item = &Trigger> {
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

    /// The BEFORE triggers of a row. None: the row is left out. Inner None: there is no new row (DELETE). `after_each` looks at a new row that a
    /// trigger has made another one.
    pub(super) fn before_row(
        &self,
        old: Option<&Vec<Datum>>,
        new: Option<Vec<Datum>>,
        after_each: Option<super::trigger::AfterEach>,
    ) -> Result<Option<Option<Vec<Datum>>>> {
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
                (Some(row), Some(before)) => {
                    let mut row = row;
                    generated.iter().for_each(|&i| row[i] = Datum::Null);
                    if let Some(after_each) = after_each.filter(|_| row != *before) {
                        after_each(trigger, &row)?;
                    }
                    new = Some(row);
                }
                (Some(_), None) => {}
            }
        }
        Ok(Some(new))
    }

    /// The AFTER triggers that the event is for, by their positions: their conditions hold.
    pub fn due(&self, row: bool, old: Option<&Vec<Datum>>, new: Option<&Vec<Datum>>) -> Result<Due> {
        let mut due = Due::new();
        for (at, trigger) in self.triggers.iter().enumerate() {
            if trigger.timing == Timing::After && trigger.row == row && self.condition(trigger, old, new)? {
                due.push(at);
            }
        }
        Ok(due)
    }

    /// AFTER … FOR EACH ROW and foreign keys, in the order of PostgreSQL's names for them.
    pub fn after_row(&self, waiting: &Waiting) -> Result<()> {
        let mut keys = Some(&self.keys);
        let (row, set) = (&*waiting.row, waiting.set.as_ref());
        for trigger in waiting.due.iter().map(|at| &self.triggers[*at]) {
            if trigger.name.as_str() > "RI_ConstraintTrigger_a" {
                self.fire_keys(keys.take(), waiting)?;
            }
            if trigger.deferrable && self.host.routines().is_deferred_trigger(trigger) {
                let row = Rc::new(Changed { old: row.old.clone(), new: row.new.clone() });
                let (fires, trigger) = (self.fires.clone(), Box::new(trigger.clone()));
                after::defer(self.host, Pending::Trigger { fires, trigger, row })?;
                continue;
            }
            self.with_transition_tables(trigger, set, || self.fire_after(trigger, row))?;
        }
        self.fire_keys(keys, waiting)
    }

    fn fire_keys(&self, keys: Option<&Vec<Rc<Key>>>, waiting: &Waiting) -> Result<()> {
        let mut keys = keys.into_iter().flatten();
        keys.try_for_each(|key| foreign_key::fire(self.host, key, self.event, &waiting.row, waiting.action))
    }

    /// An AFTER … FOR EACH ROW trigger whose condition holds.
    pub fn fire_after(&self, trigger: &Trigger, row: &Changed) -> Result<()> {
        self.fire(trigger, row.old.as_ref(), row.new.as_ref()).map(|_| ())
    }

    pub fn after_statement(&self, set: &Set, due: &Due) -> Result<()> {
        for trigger in due.iter().map(|at| &self.triggers[*at]) {
            self.with_transition_tables(trigger, Some(set), || self.fire(trigger, None, None).map(|_| ()))?;
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
            let mut declared: Vec<String> = relation
                .columns
                .iter()
                .map(|c| {
                    let ty = pgsqlite_objects::ddl::sqlite_schema::declared_type(&before, c);
                    format!("{} {ty}", pgsqlite_sql::names::quoted(&c.name))
                })
                .collect();
            // (a table of SQLite has a column; of a row without columns it is NULL)
            if declared.is_empty() {
                declared.push("none".into());
            }
            host.exec(&format!("CREATE TABLE IF NOT EXISTS {quoted} ({}); DELETE FROM {quoted}", declared.join(", ")))?;
            let places: Vec<String> = (1..=declared.len()).map(|i| format!("?{i}")).collect();
            let mut insert = host.prepare(&format!("INSERT INTO {quoted} VALUES ({})", places.join(", ")))?;
            let nothing = vec![Datum::Null];
            for row in set.iter().flat_map(|set| set.borrow().clone()) {
                let values = if is_new { &row.new } else { &row.old };
                if let Some(values) = values {
                    let stored = self.without_virtual(values);
                    let values = if values.is_empty() { &nothing } else { stored.as_ref().unwrap_or(values) };
                    // SAFETY: the row lives until the statement is reset.
                    unsafe { bind(host, &mut insert, values)? };
                    step_once(host, &mut insert)?;
                    insert.reset();
                }
            }
            made.push(relation.oid);
            with.add_relation(relation);
        }
        with.epoch = pgsqlite_metadata::counter::passing_epoch();
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
            left.epoch = pgsqlite_metadata::counter::next_number();
            let left = Arc::new(left);
            if let Some(changed) = host.routines().changed.borrow_mut().as_mut() {
                changed.0 = left.clone();
            }
            super::utility::show_catalog(host, left);
        }
        result
    }

    /// OLD and NEW as a trigger's function sees them: a virtual column has no value there.
    fn row(&self, values: Option<&Vec<Datum>>) -> Value {
        let stored = values.and_then(|v| self.without_virtual(v));
        Value::row(&self.shape, stored.as_ref().or(values))
    }

    /// A row with NULL in the place of what is computed when it is read. None: nothing is.
    fn without_virtual(&self, row: &[Datum]) -> Option<Vec<Datum>> {
        if !self.relation.has_virtual_columns() {
            return None;
        }
        let mut stored = row.to_vec();
        for (value, column) in stored.iter_mut().zip(self.relation.live_columns()) {
            if column.is_virtual {
                *value = Datum::Null;
            }
        }
        Some(stored)
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
    pub(super) fn fire(
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
            .ok_or_else(|| PgError::cache_lookup_failed("function", trigger.function))?;
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
            super::own_settings::with_settings(host, &routine.function, || {
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
