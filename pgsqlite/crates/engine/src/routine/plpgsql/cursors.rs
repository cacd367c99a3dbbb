//! Cursors of a body: their rows are read when they are opened, and show the state of that moment.

use super::super::statement::Column;
use super::run::{Flow, Frame};
use super::values::{Typed, Value};
use super::Kind;
use pgsqlite_sql::plpgsql::{Direction, Query, Sql, Statement, Target};
use pgsqlite_types::{oid, Datum, PgError, Result, SqlState};
use std::collections::HashMap;

/// An open cursor.
struct Open {
    columns: Vec<Column>,
    rows: Vec<Vec<Datum>>,
    /// the row it stands on: 0 before the first, one more than there are behind the last
    at: usize,
    scroll: Option<bool>,
}

/// The cursors that a body has opened, by name.
#[derive(Default)]
pub(crate) struct Cursors {
    open: HashMap<String, Open>,
    unnamed: usize,
}

impl Cursors {
    /// The transaction ends, and they with it.
    pub fn close_all(&mut self) {
        self.open.clear();
    }
}

impl Frame<'_> {
    fn cursor_name(&self, variable: usize) -> Result<String> {
        match &self.values[variable] {
            Value::Scalar(Datum::Text(name)) => Ok(name.clone()),
            _ => Err(PgError::new(
                SqlState::NULL_VALUE_NOT_ALLOWED,
                format!("cursor variable \"{}\" is null", self.program.body.variables[variable].name),
            )),
        }
    }

    pub(super) fn open_cursor(
        &mut self,
        variable: usize,
        scroll: Option<bool>,
        query: Option<&Query>,
        arguments: &[(Option<String>, Sql)],
    ) -> Result<()> {
        let declared = &self.program.body.variables[variable];
        if !matches!(self.program.kinds[variable], Kind::Scalar { ty: oid::REFCURSOR, .. }) {
            return Err(PgError::new(
                SqlState::DATATYPE_MISMATCH,
                format!("variable \"{}\" must be of type cursor or refcursor", declared.name),
            ));
        }
        let name = match &self.values[variable] {
            Value::Scalar(Datum::Text(name)) => name.clone(),
            _ if declared.constant => {
                return Err(PgError::new(
                    SqlState::ERROR_IN_ASSIGNMENT,
                    format!("variable \"{}\" is declared CONSTANT", declared.name),
                ))
            }
            _ if declared.cursor.is_some() => declared.name.clone(),
            _ => {
                self.cursors.unnamed += 1;
                format!("<unnamed portal {}>", self.cursors.unnamed)
            }
        };
        if self.cursors.open.contains_key(&name) {
            return Err(PgError::new(SqlState::DUPLICATE_CURSOR, format!("cursor \"{name}\" already in use")));
        }
        let (scroll, (columns, rows)) = match (query, &declared.cursor) {
            (Some(query), _) => (scroll, self.query_rows(query)?),
            (None, Some(cursor)) => {
                let cursor = cursor.clone();
                self.set_parameters(&declared.name.clone(), &cursor.parameters, arguments)?;
                (cursor.scroll, self.query_rows(&Query::Static(cursor.query))?)
            }
            (None, None) => return Err(PgError::internal("a cursor without a query")),
        };
        self.values[variable] = Value::Scalar(Datum::Text(name.clone()));
        self.cursors.open.insert(name, Open { columns, rows, at: 0, scroll });
        Ok(())
    }

    fn set_parameters(
        &mut self,
        name: &str,
        parameters: &[(String, usize)],
        arguments: &[(Option<String>, Sql)],
    ) -> Result<()> {
        let syntax = |m: String| PgError::new(SqlState::SYNTAX_ERROR, m);
        if arguments.is_empty() && !parameters.is_empty() {
            return Err(syntax(format!("cursor \"{name}\" has arguments")));
        }
        if !arguments.is_empty() && parameters.is_empty() {
            return Err(syntax(format!("cursor \"{name}\" has no arguments")));
        }
        let mut values: Vec<Option<Typed>> = parameters.iter().map(|_| None).collect();
        for (i, (label, sql)) in arguments.iter().enumerate() {
            let at = match label {
                None => i,
                Some(label) => parameters
                    .iter()
                    .position(|(p, _)| p == label)
                    .ok_or_else(|| syntax(format!("cursor \"{name}\" has no argument named \"{label}\"")))?,
            };
            let slot = values.get_mut(at).ok_or_else(|| syntax(format!("too many arguments for cursor \"{name}\"")))?;
            if slot.is_some() {
                return Err(syntax(format!(
                    "value for parameter \"{}\" of cursor \"{name}\" specified more than once",
                    parameters[at].0
                )));
            }
            *slot = Some(self.eval(sql)?);
        }
        for ((_, variable), value) in parameters.iter().zip(values) {
            let value = value.ok_or_else(|| syntax(format!("not enough arguments for cursor \"{name}\"")))?;
            self.assign_variable(*variable, value)?;
        }
        Ok(())
    }

    /// FETCH (`into`) and MOVE; whether there was a row.
    pub(super) fn fetch(&mut self, cursor: usize, direction: &Direction, into: Option<&[Target]>) -> Result<bool> {
        let name = self.cursor_name(cursor)?;
        let count = |frame: &Self, sql: &Sql| -> Result<i64> {
            frame.eval_integer(sql)?.ok_or_else(|| {
                PgError::new(SqlState::NULL_VALUE_NOT_ALLOWED, "relative or absolute cursor position is null")
            })
        };
        let known = |frame: &Self| {
            if frame.cursors.open.contains_key(&name) {
                Ok(())
            } else {
                Err(PgError::new(SqlState::INVALID_CURSOR_NAME, format!("cursor \"{name}\" does not exist")))
            }
        };
        known(self)?;
        let (at, end) = {
            let open = &self.cursors.open[&name];
            (open.at as i64, open.rows.len() as i64)
        };
        let mut moved = 1;
        let new = match direction {
            Direction::Next | Direction::Forward(None) => at + 1,
            Direction::Prior | Direction::Backward(None) => at - 1,
            Direction::First => 1,
            Direction::Last => end,
            Direction::Absolute(sql) => {
                let n = count(self, sql)?;
                if n < 0 {
                    end + 1 + n
                } else {
                    n
                }
            }
            Direction::Relative(sql) => at + count(self, sql)?,
            Direction::Forward(Some(sql)) => {
                moved = count(self, sql)?;
                at + moved
            }
            Direction::Backward(Some(sql)) => {
                moved = count(self, sql)?;
                at - moved
            }
            Direction::ForwardAll => end + 1,
            Direction::BackwardAll => 0,
        };
        let _ = moved;
        let new = new.clamp(0, end + 1);
        let open = self.cursors.open.get_mut(&name).ok_or_else(|| PgError::internal("a cursor that is gone"))?;
        if new < at && open.scroll == Some(false) {
            return Err(PgError::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, "cursor can only scan forward")
                .hint("Declare it with SCROLL option to enable backward scan."));
        }
        open.at = new as usize;
        let row = (new >= 1).then(|| open.rows.get(new as usize - 1).cloned()).flatten();
        let columns = open.columns.clone();
        let found = match direction {
            // MOVE counts the rows it has passed
            Direction::ForwardAll | Direction::Forward(Some(_)) => (new - at).min(end - at) > 0,
            Direction::BackwardAll | Direction::Backward(Some(_)) => at - new > i64::from(at > end),
            _ => row.is_some(),
        };
        self.count = u64::from(found);
        if let Some(targets) = into {
            self.assign_row(targets, &columns, row)?;
        }
        Ok(found)
    }

    pub(super) fn close_cursor(&mut self, cursor: usize) -> Result<()> {
        let name = self.cursor_name(cursor)?;
        if self.cursors.open.remove(&name).is_none() {
            return Err(PgError::new(SqlState::INVALID_CURSOR_NAME, format!("cursor \"{name}\" does not exist")));
        }
        Ok(())
    }

    /// FOR record IN cursor LOOP
    pub(super) fn cursor_loop(
        &mut self,
        label: &Option<String>,
        variable: usize,
        cursor: usize,
        arguments: &[(Option<String>, Sql)],
        body: &[Statement],
    ) -> Result<Flow> {
        let before = self.values[cursor].clone();
        self.open_cursor(cursor, None, None, arguments)?;
        let name = self.cursor_name(cursor)?;
        let (columns, rows) = {
            let open = &self.cursors.open[&name];
            (open.columns.clone(), open.rows.clone())
        };
        let targets = [Target { variable, fields: vec![], subscripts: String::new() }];
        let result = self.over_rows(label, &targets, &columns, rows, body);
        self.cursors.open.remove(&name);
        if !matches!(before, Value::Scalar(Datum::Text(_))) {
            self.values[cursor] = before;
        }
        result
    }
}
