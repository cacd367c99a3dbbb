//! information_schema: triggers and the columns of UPDATE OF.

use super::information_schema::{database, may_know, schema, Row, MORE_THAN_SELECT};
use super::views::with_environment;
use super::{int, text, Rows};
use pgsqlite_natives::udf::session_cell::SessionState;
use pgsqlite_sql::catalog::Relation;
use pgsqlite_sql::deparse::{trigger_condition, Style};
use pgsqlite_sql::routine::{Event, Timing, Trigger};
use pgsqlite_types::work;
use pgsqlite_types::Datum;

fn named(state: &SessionState, relation: &Relation, trigger: &Trigger) -> Row {
    vec![
        ("trigger_catalog", database(state)),
        ("trigger_schema", schema(state, relation.schema)),
        ("trigger_name", text(&*trigger.name)),
        ("event_object_catalog", database(state)),
        ("event_object_schema", schema(state, relation.schema)),
        ("event_object_table", text(&*relation.name)),
    ]
}

/// A row per trigger and event; TRUNCATE is none in the standard's sense.
pub(super) fn triggers(rows: &mut Rows, state: &SessionState) {
    for relation in state.catalog.relations.values().filter(|r| may_know(state, r, MORE_THAN_SELECT)) {
        work::visit();
        for t in &relation.triggers {
            work::visit();
            for event in t.events.iter().filter(|e| **e != Event::Truncate) {
                work::visit();
                let alike = |other: &&Trigger| {
                    other.events.contains(event)
                        && other.row == t.row
                        && other.timing == t.timing
                        && other.name < t.name
                };
                let condition = t.condition.as_ref().and_then(|condition| {
                    with_environment(state, |e| trigger_condition(e, relation, condition, Style::Full)).ok()
                });
                let mut row = named(state, relation, t);
                row.extend([
                    ("event_manipulation", text(event.word())),
                    ("action_order", int(1 + relation.triggers.iter().filter(alike).count() as i64)),
                    ("action_condition", condition.map_or(Datum::Null, Datum::from)),
                    (
                        "action_statement",
                        text(with_environment(state, |e| super::functions::routines::trigger_action(e, t))),
                    ),
                    ("action_orientation", text(if t.row { "ROW" } else { "STATEMENT" })),
                    (
                        "action_timing",
                        text(match t.timing {
                            Timing::Before => "BEFORE",
                            Timing::After => "AFTER",
                            Timing::InsteadOf => "INSTEAD OF",
                        }),
                    ),
                    ("action_reference_old_table", t.old_table.clone().map_or(Datum::Null, Datum::from)),
                    ("action_reference_new_table", t.new_table.clone().map_or(Datum::Null, Datum::from)),
                ]);
                rows.push(&row);
            }
        }
    }
}

/// The columns of UPDATE OF.
pub(super) fn update_columns(rows: &mut Rows, state: &SessionState) {
    for relation in state.catalog.relations.values().filter(|r| may_know(state, r, MORE_THAN_SELECT)) {
        work::visit();
        for t in &relation.triggers {
            work::visit();
            for column in t.columns.iter().filter_map(|a| relation.column_by_attnum(*a)) {
                work::visit();
                let mut row = named(state, relation, t);
                row.push(("event_object_column", text(&*column.name)));
                rows.push(&row);
            }
        }
    }
}
