//! PostgreSQL's own trigger functions: `suppress_redundant_updates_trigger`, `tsvector_update_trigger` and
//! `tsvector_update_trigger_column`.

use super::Host;
use pgsqlite_natives::text_search::dictionary::Configuration;
use pgsqlite_natives::text_search::document::{lexemes, vector};
use pgsqlite_sql::builtins::trigger_functions::{SUPPRESS_REDUNDANT_UPDATES, TSVECTOR_UPDATE, TSVECTOR_UPDATE_COLUMN};
use pgsqlite_sql::catalog::Relation;
use pgsqlite_sql::routine::{Event, Timing, Trigger};
use pgsqlite_types::{oid, Datum, Oid, PgError, Result, SqlState};

/// A row that a trigger fires for: as it was, as it is to be, and the attnums that UPDATE sets.
pub(super) struct Row<'r> {
    pub relation: &'r Relation,
    pub event: Event,
    pub old: Option<&'r Vec<Datum>>,
    pub new: Option<&'r Vec<Datum>>,
    pub set: &'r [i16],
}

fn protocol(message: &str) -> PgError {
    PgError::new(SqlState::TRIGGER_PROTOCOL_VIOLATED, message)
}

/// What the function returns: the row, or None to leave it out. None of both: it is none of these functions.
pub(super) fn call(host: Host, trigger: &Trigger, row: &Row) -> Option<Result<Option<Vec<Datum>>>> {
    Some(match trigger.function {
        SUPPRESS_REDUNDANT_UPDATES => suppress(trigger, row),
        TSVECTOR_UPDATE => update_vector(host, trigger, row, false),
        TSVECTOR_UPDATE_COLUMN => update_vector(host, trigger, row, true),
        _ => return None,
    })
}

fn suppress(trigger: &Trigger, row: &Row) -> Result<Option<Vec<Datum>>> {
    let name = "suppress_redundant_updates_trigger";
    if row.event != Event::Update {
        return Err(protocol(&format!("{name}: must be called on update")));
    }
    if trigger.timing != Timing::Before {
        return Err(protocol(&format!("{name}: must be called before update")));
    }
    if !trigger.row {
        return Err(protocol(&format!("{name}: must be called for each row")));
    }
    Ok(if row.old == row.new { None } else { row.new.cloned() })
}

/// Arguments: the column of the vector, the configuration (or the column that has it), the columns of the document.
fn update_vector(host: Host, trigger: &Trigger, row: &Row, by_column: bool) -> Result<Option<Vec<Datum>>> {
    if !trigger.row {
        return Err(PgError::internal("tsvector_update_trigger: must be fired for row"));
    }
    let Some(new) = row.new else { return Err(protocol("tsvector_update_trigger: can't process DELETE events")) };
    if trigger.timing != Timing::Before {
        return Err(protocol("tsvector_update_trigger: must be fired BEFORE event"));
    }
    let [target, configuration, columns @ ..] = &trigger.arguments[..] else {
        return Err(protocol(
            "tsvector_update_trigger: arguments must be tsvector_field, ts_config, text_field1, ...)",
        ));
    };
    let fields: Vec<_> = row.relation.live_columns().collect();
    let place = |name: &String| fields.iter().position(|f| f.name == *name);
    let missing = |kind: &str, name: &str| {
        PgError::new(SqlState::UNDEFINED_COLUMN, format!("{kind}column \"{name}\" does not exist"))
    };
    let mismatch = |name: &str, what: &str| {
        PgError::new(SqlState::DATATYPE_MISMATCH, format!("column \"{name}\" is not of {what} type"))
    };
    let is_set = |at: usize| row.event == Event::Insert || row.set.contains(&fields[at].attnum);
    let at = place(target).ok_or_else(|| missing("tsvector ", target))?;
    if fields[at].type_oid != oid::TSVECTOR {
        return Err(mismatch(target, "tsvector"));
    }
    let mut needed = row.event == Event::Insert;
    let configuration = if by_column {
        let at = place(configuration).ok_or_else(|| missing("configuration ", configuration))?;
        if fields[at].type_oid != oid::REGCONFIG {
            return Err(mismatch(configuration, "regconfig"));
        }
        needed |= is_set(at);
        match new[at] {
            Datum::Int(oid) => oid as Oid,
            _ => {
                return Err(PgError::new(
                    SqlState::NULL_VALUE_NOT_ALLOWED,
                    format!("configuration column \"{configuration}\" must not be null"),
                ))
            }
        }
    } else {
        let Some((schema, name)) = configuration.split_once('.') else {
            return Err(PgError::new(
                SqlState::INVALID_PARAMETER_VALUE,
                format!("text search configuration name \"{configuration}\" must be schema-qualified"),
            ));
        };
        let catalog = host.catalog();
        let found = catalog.schema_oid(schema).and_then(|schema| catalog.ts_configuration_in(schema, name));
        found.ok_or_else(|| {
            PgError::new(
                SqlState::UNDEFINED_OBJECT,
                format!("text search configuration \"{configuration}\" does not exist"),
            )
        })?
    };
    let configuration = Configuration::of(&host.catalog(), configuration)?;
    let (mut all, mut last) = (Vec::new(), 0);
    for column in columns {
        let at = place(column).ok_or_else(|| missing("", column))?;
        if !matches!(fields[at].type_oid, oid::TEXT | oid::VARCHAR | oid::BPCHAR) {
            return Err(mismatch(column, "a character"));
        }
        needed |= is_set(at);
        if let Datum::Text(text) = &new[at] {
            all.extend(lexemes(&configuration, text, &mut last, &|notice| host.cell.notice(notice)));
        }
    }
    let mut out = new.clone();
    if needed {
        out[at] = vector(all)?.to_datum();
    }
    Ok(Some(out))
}
