//! Triggers: each group of actions is a function of the schema `informix` and a trigger of PostgreSQL's that calls it.
//!
//! Actions for each row come after the row's change, those that set columns (`EXECUTE FUNCTION … INTO c`) before it.

use super::print::Locals;
use super::routine::{dollar_quoted, marked};
use super::*;
use crate::dialect::print::{ident, Printer, Scope};
use crate::dialect::Parse;
use crate::errors::Failure;
use crate::values::types::SCHEMA;
use pgsqlite_sql::catalog::Relation;
use pgsqlite_types::work;
use std::sync::Arc;

/// What the functions of a trigger are called, behind its name.
const PARTS: [&str; 4] = ["", " before", " after", " set"];

fn function_name(trigger: &str, part: &str) -> String {
    format!("trigger {trigger}{part}")
}

/// The name of the trigger whose function this is.
pub fn name_of(function: &str) -> Option<&str> {
    let name = function.strip_prefix("trigger ")?;
    Some(PARTS.iter().rev().find_map(|part| name.strip_suffix(part).filter(|_| !part.is_empty())).unwrap_or(name))
}

/// `systriggers.event`
pub fn event_letter(trigger: &pgsqlite_sql::routine::Trigger) -> &'static str {
    use pgsqlite_sql::routine::Event;
    match trigger.events.first() {
        Some(Event::Insert) => "I",
        Some(Event::Update) => "U",
        _ => "D",
    }
}

impl Printer<'_> {
    /// The table of an Informix trigger, by its name.
    fn table_of_trigger(&self, name: &str) -> Option<Arc<Relation>> {
        let catalog = &self.environment.catalog;
        let own = catalog.schema_oid(SCHEMA)?;
        let functions: Vec<String> = PARTS.iter().map(|part| function_name(name, part)).collect();
        let is_own = |oid| {
            catalog.routines.get(oid).is_some_and(|r| r.function.schema == own && functions.contains(&r.function.name))
        };
        catalog.relations.values().find(|r| r.triggers.iter().any(|t| is_own(&t.function))).cloned()
    }

    /// CREATE TRIGGER: statements that make it; none: it is there already, which IF NOT EXISTS says is well.
    pub fn create_trigger(&mut self, trigger: &Trigger) -> Parse<Vec<String>> {
        let name = &trigger.name.name;
        if self.table_of_trigger(name).is_some() {
            if trigger.if_not_exists {
                return Ok(vec![]);
            }
            return Err(Failure::text(format!("the trigger {name} already exists")));
        }
        let relation = self.existing(&trigger.table)?;
        let table = self.table(&trigger.table)?;
        for column in &trigger.columns {
            work::visit();
            relation.column(column).ok_or_else(|| Failure::new(-217, 0, column.clone()))?;
        }
        if trigger.event == Event::Insert && trigger.old.is_some()
            || trigger.event == Event::Delete && trigger.new.is_some()
        {
            return Err(Failure::text("a correlation name of rows that the event does not have"));
        }
        let sets = |action: &&Action| {
            action.statements.iter().any(|s| matches!(&s.what, What::Call(_, into) if !into.is_empty()))
        };
        let (set, row): (Vec<&Action>, Vec<&Action>) = trigger.row.iter().partition(sets);
        if !set.is_empty() && trigger.event == Event::Delete {
            return Err(Failure::refused("EXECUTE … INTO in a trigger of DELETE"));
        }
        let event = match (trigger.event, trigger.columns.is_empty()) {
            (Event::Insert, _) => "INSERT".to_string(),
            (Event::Delete, _) => "DELETE".into(),
            (Event::Update, true) => "UPDATE".into(),
            (Event::Update, false) => {
                format!("UPDATE OF {}", trigger.columns.iter().map(|c| ident(c)).collect::<Vec<_>>().join(", "))
            }
        };
        let mut out = vec![];
        if self.environment.catalog.schema_oid(SCHEMA).is_none() {
            out.push(format!("CREATE SCHEMA IF NOT EXISTS {SCHEMA}"));
        }
        let before: Vec<&Action> = trigger.before.iter().collect();
        let after: Vec<&Action> = trigger.after.iter().collect();
        let groups = [(row, "AFTER", true), (before, "BEFORE", false), (after, "AFTER", false), (set, "BEFORE", true)];
        for ((actions, time, each_row), part) in groups.into_iter().zip(PARTS) {
            work::visit();
            if actions.is_empty() {
                continue;
            }
            let body = self.actions(trigger, &relation, &actions, each_row)?;
            let function = ident(&function_name(name, part));
            let result = match (time, each_row) {
                ("BEFORE", true) => "RETURN NEW;\n",
                _ => "RETURN NULL;\n",
            };
            let source = format!(
                "\n{}DECLARE\n{}\"(rows)\" bigint := 0; \"(serial)\" bigint := 0;\nBEGIN\n{body}{result}END;\n",
                marked(&trigger.text),
                errors::VARIABLES
            );
            // that of a trigger whose table was dropped may be left
            out.push(format!(
                "CREATE OR REPLACE FUNCTION {SCHEMA}.{function}() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER \
                 SET search_path = pg_catalog, pg_temp, public AS {}",
                dollar_quoted(&source)
            ));
            let each = if each_row { "ROW" } else { "STATEMENT" };
            out.push(format!(
                "CREATE TRIGGER {} {time} {event} ON {table} FOR EACH {each} EXECUTE FUNCTION {SCHEMA}.{function}()",
                ident(&format!("{name}{part}"))
            ));
        }
        Ok(out)
    }

    fn actions(
        &mut self,
        trigger: &Trigger,
        relation: &Arc<Relation>,
        actions: &[&Action],
        each_row: bool,
    ) -> Parse<String> {
        let mut locals = Locals::new(vec![], false, false, None, vec![]);
        let mut scope = vec![];
        if each_row {
            let columns: Vec<String> = relation.live_columns().map(|c| c.name.clone()).collect();
            for (name, row) in [(&trigger.old, "OLD"), (&trigger.new, "NEW")] {
                work::visit();
                let Some(name) = name else { continue };
                locals.rows.push((name.clone(), row));
                let (relation, columns) = (Some(relation.clone()), Some(columns.clone()));
                scope.push(Scope { alias: name.clone(), relation, columns, query: None });
            }
        }
        self.locals = Some(locals);
        self.scopes.push(scope);
        let printed = self.actions_in_scope(relation, actions);
        self.scopes.pop();
        self.locals = None;
        printed
    }

    fn actions_in_scope(&mut self, relation: &Relation, actions: &[&Action]) -> Parse<String> {
        let mut out = String::new();
        for action in actions {
            work::visit();
            let mut inner = String::new();
            for step in &action.statements {
                work::visit();
                let printed = match &step.what {
                    What::Call(call, into) if !into.is_empty() => self.set_columns(relation, call, into),
                    what => self.step(what),
                };
                inner += &printed.map_err(|failure| match failure.offset {
                    0 => failure.at(step.at),
                    _ => failure,
                })?;
            }
            out += &match &action.condition {
                Some(condition) => format!("IF {} THEN\n{inner}END IF;\n", self.expr(condition)?),
                None => inner,
            };
        }
        Ok(out)
    }

    /// `EXECUTE FUNCTION f(…) INTO a, b`: columns of the new row.
    fn set_columns(&mut self, relation: &Relation, call: &Call, into: &[String]) -> Parse<String> {
        for column in into {
            work::visit();
            relation.column(column).ok_or_else(|| Failure::new(-217, 0, column.clone()))?;
        }
        let (query, shown) = self.execute(call)?;
        if shown.map_or(0, |s| s.len()) != into.len() {
            return Err(Failure::new(-684, 0, call.name.name.clone()));
        }
        let (targets, values): (Vec<String>, Vec<String>) = (1..=into.len())
            .zip(into)
            .map(|(i, column)| (format!("NEW.{}", ident(column)), format!("\"({i})\"")))
            .unzip();
        Ok(format!(
            "SELECT {values} INTO {} FROM ({query}) AS \"(r)\"({values});\n",
            targets.join(", "),
            values = values.join(", ")
        ))
    }

    /// DROP TRIGGER. Errors: a text if there is none.
    pub fn drop_trigger(&self, name: &Name, if_exists: bool) -> Parse<Vec<String>> {
        let Some(relation) = self.table_of_trigger(&name.name) else {
            return match if_exists {
                true => Ok(vec![]),
                false => Err(Failure::text(format!("there is no trigger {}", name.name))),
            };
        };
        let catalog = &self.environment.catalog;
        let table = format!("{}.{}", ident(catalog.schema_name(relation.schema)), ident(&relation.name));
        let own = catalog.schema_oid(SCHEMA);
        let mut out = vec![];
        for part in PARTS {
            work::visit();
            let function = function_name(&name.name, part);
            if catalog.routines_named(&function).any(|r| Some(r.function.schema) == own) {
                out.push(format!("DROP TRIGGER {} ON {table}", ident(&format!("{}{part}", name.name))));
                out.push(format!("DROP FUNCTION {SCHEMA}.{}()", ident(&function)));
            }
        }
        Ok(out)
    }
}
