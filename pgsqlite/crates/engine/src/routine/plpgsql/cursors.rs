//! Cursors of a body: their rows are read when they are opened, and show the state of that moment. WHERE CURRENT OF means the row
//! of a table that a cursor stands on ([`Standing`]).

use super::super::add_context;
use super::super::statement::Column;
use super::run::{Flow, Frame};
use super::values::{Typed, Value};
use super::Kind;
use crate::standing::{state, Standing};
use crate::udf::rows::Current;
use pgsqlite_sql::plpgsql::{Direction, Query, Sql, Statement, Target};
use pgsqlite_types::{oid, Datum, Oid, PgError, Result, SqlState};
use std::collections::HashMap;

/// An open cursor.
struct Open {
    columns: Vec<Column>,
    /// with the hidden columns of `standing` behind the others
    rows: Vec<Vec<Datum>>,
    /// the row it stands on: 0 before the first, one more than there are behind the last
    at: usize,
    scroll: Option<bool>,
    /// the tables that its rows are of; None: that is not known
    standing: Option<Standing>,
    /// a loop goes over its rows
    pinned: bool,
    /// the transaction that it was opened in has ended
    held: bool,
}

impl Open {
    /// The row of a number from 1, without the hidden columns.
    fn row(&self, number: usize) -> Option<Vec<Datum>> {
        let row = self.rows.get(number.checked_sub(1)?)?;
        Some(row[..self.columns.len()].to_vec())
    }
}

/// The cursors that a body has opened, by name.
#[derive(Default)]
pub(crate) struct Cursors {
    open: HashMap<String, Open>,
    unnamed: usize,
}

impl Cursors {
    /// The transaction ends, and they with it. Those of loops are held: their rows are there.
    pub fn close_all(&mut self) {
        self.open.retain(|_, open| open.pinned);
        self.open.values_mut().for_each(|open| open.held = true);
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
        let open = match (query, &declared.cursor) {
            (Some(Query::Static(sql)), _) => self.opened(sql, scroll)?,
            (Some(query), _) => {
                let (columns, rows) = self.query_rows(query)?;
                Open { columns, rows, at: 0, scroll, standing: None, pinned: false, held: false }
            }
            (None, Some(cursor)) => {
                let cursor = cursor.clone();
                self.set_parameters(&declared.name.clone(), &cursor.parameters, arguments)?;
                self.opened(&cursor.query, cursor.scroll)?
            }
            (None, None) => return Err(PgError::internal("a cursor without a query")),
        };
        self.values[variable] = Value::Scalar(Datum::Text(name.clone()));
        self.cursors.open.insert(name, open);
        Ok(())
    }

    /// A cursor over the rows of a query. Which rows of tables they are is known where somebody may ask for it: the body says WHERE CURRENT OF,
    /// or the rows are locked.
    fn opened(&self, sql: &Sql, scroll: Option<bool>) -> Result<Open> {
        let mut words = sql.text.split_ascii_whitespace();
        let locks = words.any(|w| w.eq_ignore_ascii_case("for"));
        if !locks && !self.program.may_use_position() {
            let (columns, rows) = self.query_rows(&Query::Static(sql.clone()))?;
            return Ok(Open { columns, rows, at: 0, scroll, standing: None, pinned: false, held: false });
        }
        let expression = self.planned_cursor(sql)?;
        let rows = expression
            .planned
            .rows(self.host, &self.parameters(&expression))
            .map_err(|e| add_context(e, format!("SQL statement \"{}\"", sql.text)))?;
        let mut standing = expression.standing.clone().unwrap_or_default();
        let mut columns = expression.planned.columns.clone().ok_or_else(super::run::no_rows)?;
        columns.truncate(columns.len() - standing.hidden());
        if standing.hidden() > 0 {
            self.host.watch_standing(&mut standing);
        }
        Ok(Open { columns, rows, at: 0, scroll, standing: Some(standing), pinned: false, held: false })
    }

    /// The row that a statement means by WHERE CURRENT OF `cursor`, a variable or a cursor's name. `tables`: those that it may change; `names`: what
    /// its text sees. Errors: 24000 (the cursor stands on no row of the table), 0A000 for a cursor that is not the body's.
    pub(super) fn current_row(&self, cursor: &str, tables: &[Oid], names: usize) -> Result<Current> {
        let variable = self.program.body.look_up(names, &[cursor]).map(|found| found.0);
        let is_cursor = |v: &usize| matches!(self.program.kinds[*v], Kind::Scalar { ty: oid::REFCURSOR, .. });
        let name = match variable.filter(is_cursor) {
            Some(v) if self.program.body.variables[v].cursor.is_none() => self.cursor_name(v)?,
            Some(v) => self.cursor_name(v).unwrap_or_else(|_| cursor.to_string()),
            None => cursor.to_string(),
        };
        let open = self.cursors.open.get(&name);
        if open.is_some_and(|open| open.held) {
            return Err(state(format!("cursor \"{name}\" is held from a previous transaction")));
        }
        let Some((open, standing)) = open.and_then(|open| Some((open, open.standing.as_ref()?))) else {
            return Err(PgError::not_supported(
                "WHERE CURRENT OF a cursor of another function or session, or of EXECUTE,",
            ));
        };
        let row = open.at.checked_sub(1).and_then(|i| open.rows.get(i)).map(Vec::as_slice);
        let row = standing.current(&name, tables, row, &self.host.catalog(), &self.host.routines().written.lock())?;
        Ok(Current { cursor: cursor.to_string(), row })
    }

    /// Takes out of a cursor FOR UPDATE, on its way to row `target`, the rows that the transaction has changed since it was opened.
    fn pass_over(&mut self, name: &str, target: i64) -> Result<()> {
        let host = self.host;
        let Some(open) = self.cursors.open.get_mut(name) else { return Ok(()) };
        let Some(standing) = open.standing.as_ref().filter(|s| s.locks() && !open.held) else { return Ok(()) };
        let catalog = host.catalog();
        let written = host.routines().written.lock();
        let mut next = open.at;
        while next < open.rows.len() && (next as i64) < target {
            match standing.passes_over(&catalog, &written, &open.rows[next])? {
                true => drop(open.rows.remove(next)),
                false => next += 1,
            }
        }
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
        let Some(at) = self.cursors.open.get(&name).map(|open| open.at as i64) else {
            return Err(PgError::new(SqlState::INVALID_CURSOR_NAME, format!("cursor \"{name}\" does not exist")));
        };
        let number = match direction {
            Direction::Absolute(sql)
            | Direction::Relative(sql)
            | Direction::Forward(Some(sql))
            | Direction::Backward(Some(sql)) => count(self, sql)?,
            _ => 1,
        };
        let backward = matches!(direction, Direction::Prior | Direction::Backward(_));
        // (as far as it may go)
        let target = match direction {
            Direction::Last | Direction::ForwardAll => i64::MAX,
            Direction::Absolute(_) if number < 0 => i64::MAX,
            Direction::First | Direction::Absolute(_) => number,
            _ if backward => at.saturating_sub(number),
            _ => at.saturating_add(number),
        };
        self.pass_over(&name, target)?;
        let end = self.cursors.open[&name].rows.len() as i64;
        let new = match direction {
            Direction::Last => end,
            Direction::Absolute(_) if number < 0 => end + 1 + number,
            Direction::ForwardAll => end + 1,
            Direction::BackwardAll => 0,
            _ => target,
        };
        let new = new.clamp(0, end + 1);
        let open = self.cursors.open.get_mut(&name).ok_or_else(|| PgError::internal("a cursor that is gone"))?;
        if new < at && open.scroll == Some(false) {
            return Err(PgError::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, "cursor can only scan forward")
                .hint("Declare it with SCROLL option to enable backward scan."));
        }
        open.at = new as usize;
        let row = open.row(open.at);
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
        if self.cursors.open.get(&name).is_some_and(|open| open.pinned) {
            return Err(state(format!("cannot drop pinned portal \"{name}\"")));
        }
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
        let targets = [Target { variable, fields: vec![], subscripts: String::new() }];
        let result = self.over_cursor(label, &targets, &name, body);
        self.cursors.open.remove(&name);
        if !matches!(before, Value::Scalar(Datum::Text(_))) {
            self.values[cursor] = before;
        }
        result
    }

    /// The loop over the rows of an open cursor, whose position its body sees.
    fn over_cursor(
        &mut self,
        label: &Option<String>,
        targets: &[Target],
        name: &str,
        body: &[Statement],
    ) -> Result<Flow> {
        let mut found = false;
        let mut flow = Flow::Next;
        loop {
            let at = self.cursors.open.get(name).map_or(0, |open| open.at as i64);
            self.pass_over(name, at + 1)?;
            let Some(open) = self.cursors.open.get_mut(name) else {
                return Err(PgError::internal("the cursor of a loop is gone"));
            };
            open.pinned = true;
            open.at = (open.at + 1).min(open.rows.len() + 1);
            let (row, columns) = (open.row(open.at), open.columns.clone());
            if row.is_none() {
                if !found {
                    self.assign_row(targets, &columns, None)?;
                }
                break;
            }
            found = true;
            self.assign_row(targets, &columns, row)?;
            if let Some(after) = self.turn(label, body)? {
                flow = after;
                break;
            }
        }
        self.set_found(found);
        Ok(flow)
    }
}
