//! What a body does with cursors: their rows are read when they are opened, and show the state of that moment. WHERE CURRENT OF means
//! the row of a table that a cursor stands on ([`CursorPosition`]).

use super::super::cursors::Open;
use super::super::statement::Planned;
use super::super::{add_context, of_query};
use super::expressions::{one_statement, Using};
use super::run::{Flow, Frame};
use super::variable_values::{Typed, Value};
use super::Kind;
use crate::cursor_position::{state, CursorPosition};
use pgsqlite_natives::udf::statement_rows::Current;
use pgsqlite_sql::parse::{parse, NodeEnum};
use pgsqlite_sql::plpgsql::{Direction, Query, Sql, Statement, Target};
use pgsqlite_types::{oid, Datum, Oid, PgError, Result, SqlState};

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
            _ => {
                let server = self.host.cell.state().server.clone();
                server.ok_or_else(|| PgError::not_supported("a cursor without a name outside a session"))?.next_portal()
            }
        };
        let cursors = &self.host.routines().cursors;
        if cursors.borrow().is_taken(&name) {
            return Err(PgError::new(SqlState::DUPLICATE_CURSOR, format!("cursor \"{name}\" already in use")));
        }
        let open = match (query, &declared.cursor) {
            (Some(Query::Static(sql)), _) => self.opened(sql, scroll)?,
            (Some(Query::Dynamic { text, using }), _) => {
                let (text, using) = (self.dynamic_text(text)?, self.using(using)?);
                self.opened_text(&text, &using, scroll)
                    .map_err(|e| of_query(e, &text, 0, format!("SQL statement \"{text}\"")))?
            }
            (None, Some(cursor)) => {
                let cursor = cursor.clone();
                self.set_parameters(&declared.name.clone(), &cursor.parameters, arguments)?;
                self.opened(&cursor.query, cursor.scroll)?
            }
            (None, None) => return Err(PgError::internal("a cursor without a query")),
        };
        self.values[variable] = Value::Scalar(Datum::Text(name.clone()));
        cursors.borrow_mut().insert(name, open);
        Ok(())
    }

    /// A cursor over the rows of a query of the body.
    fn opened(&self, sql: &Sql, scroll: Option<bool>) -> Result<Open> {
        let expression = self.planned_cursor(sql)?;
        let parameters = self.parameters(&expression);
        self.open_planned(&sql.text, &expression.planned, expression.position.clone(), &parameters, scroll)
            .map_err(|e| add_context(e, format!("SQL statement \"{}\"", sql.text)))
    }

    /// A cursor over the rows of a query that the body has made. Errors: 42P11 where it is not one query.
    fn opened_text(&self, text: &str, using: &[Typed], scroll: Option<bool>) -> Result<Open> {
        crate::routine::check_escapes(self.host, text)?;
        let statements = parse(text)?;
        let [statement] = &statements[..] else {
            return Err(PgError::new(SqlState::INVALID_CURSOR_DEFINITION, "cannot open multi-query plan as cursor"));
        };
        let types: Vec<Oid> = using.iter().map(|t| t.ty).collect();
        let plan = |node: &NodeEnum| Planned::new(self.host, node, &Using { types: &types }, || types.clone());
        let extended = self.position_of(&statement.node)?;
        let (planned, position) = match extended {
            None => (plan(&statement.node)?, None),
            Some((position, node)) => match plan(&node) {
                Ok(planned) => (planned, Some(position)),
                Err(refused) => (plan(&statement.node)?, CursorPosition::without_numbers(refused)?),
            },
        };
        let values: Vec<Datum> = using.iter().map(|t| t.value.clone()).collect();
        self.open_planned(text, &planned, position, &values, scroll)
    }

    fn open_planned(
        &self,
        text: &str,
        planned: &Planned,
        position: Option<CursorPosition>,
        parameters: &[Datum],
        scroll: Option<bool>,
    ) -> Result<Open> {
        let (Some(mut columns), Some(mut described)) = (planned.columns.clone(), planned.plan.columns.clone()) else {
            return Err(super::run::no_rows());
        };
        let rows = planned.rows(self.host, parameters)?;
        let mut position = position.unwrap_or_default();
        columns.truncate(columns.len() - position.hidden());
        described.truncate(columns.len());
        if position.hidden() > 0 {
            self.host.watch_position(&mut position);
        }
        let forward = match one_statement(text).map(|s| s.node) {
            Ok(NodeEnum::SelectStmt(select)) => {
                !select.locking_clause.is_empty() || !crate::cursor_position::goes_back(&select)
            }
            _ => true,
        };
        let scroll = scroll.or(forward.then_some(false));
        let mut open = Open::new(text.to_string(), columns, described, rows);
        (open.scroll, open.position) = (scroll, Some(position));
        open.tables = planned.reads().to_vec();
        Ok(open)
    }

    /// 34000: there is no such cursor; 0A000: it is none of a function's that runs.
    fn no_cursor(&self, name: &str) -> PgError {
        match self.host.routines().cursors.borrow().is_of_session(name) {
            true => PgError::not_supported(format!("the session's cursor \"{name}\" in a function")),
            false => PgError::new(SqlState::INVALID_CURSOR_NAME, format!("cursor \"{name}\" does not exist")),
        }
    }

    /// The row that a statement means by WHERE CURRENT OF `cursor`, a variable or a cursor's name. `tables`: those that it may change; `names`: what
    /// its text sees. Errors: 24000 (the cursor stands on no row of the table), 0A000 for a cursor that is not the body's.
    pub(super) fn current_row(&self, cursor: &str, tables: &[Oid], names: usize) -> Result<Current> {
        let variable = self.program.body.look_up(names, &[cursor]).map(|found| found.0);
        let is_cursor = |v: &usize| matches!(self.program.kinds[*v], Kind::Scalar { ty: oid::REFCURSOR, .. });
        let name = match variable.filter(is_cursor) {
            // (a parameter of the statement to PostgreSQL: its variables are numbered from the arguments on)
            Some(v) if matches!(self.values[v], Value::Scalar(Datum::Null)) => {
                return Err(PgError::new(SqlState::UNDEFINED_OBJECT, format!("no value found for parameter {}", v + 1)))
            }
            Some(v) => self.cursor_name(v)?,
            None => cursor.to_string(),
        };
        let cursors = self.host.routines().cursors.borrow();
        let open = cursors.get(&name).ok_or_else(|| self.no_cursor(&name))?;
        if open.held {
            return Err(state(format!("cursor \"{name}\" is held from a previous transaction")));
        }
        let position = open.position.as_ref().ok_or_else(|| PgError::internal("a cursor without its tables"))?;
        let row = open.at.checked_sub(1).and_then(|i| open.rows.get(i)).map(Vec::as_slice);
        let row = position.current(&name, tables, row, &self.host.catalog(), &self.host.routines().written.lock())?;
        Ok(Current { cursor: cursor.to_string(), row })
    }

    /// Takes out of a cursor FOR UPDATE, on its way to row `target`, the rows that the transaction has changed since it was opened.
    fn pass_over(&self, name: &str, target: i64) -> Result<()> {
        let host = self.host;
        let mut cursors = host.routines().cursors.borrow_mut();
        let Some(open) = cursors.get_mut(name) else { return Ok(()) };
        let Some(position) = open.position.as_ref().filter(|s| s.locks() && !open.held) else { return Ok(()) };
        let catalog = host.catalog();
        let written = host.routines().written.lock();
        let mut next = open.at;
        while next < open.rows.len() && (next as i64) < target {
            match position.passes_over(&catalog, &written, &open.rows[next])? {
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
        if !arguments.is_empty() {
            // they are a row that was found
            self.set_found(true);
            self.count.set(1);
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
        let cursors = &self.host.routines().cursors;
        let at = cursors.borrow().get(&name).map(|open| open.at as i64).ok_or_else(|| self.no_cursor(&name))?;
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
        let gone = || PgError::internal("a cursor that is gone");
        let end = cursors.borrow().get(&name).ok_or_else(gone)?.rows.len() as i64;
        let new = match direction {
            Direction::Last => end,
            Direction::Absolute(_) if number < 0 => end + 1 + number,
            Direction::ForwardAll => end + 1,
            Direction::BackwardAll => 0,
            _ => target,
        };
        let new = new.clamp(0, end + 1);
        let mut cursors = cursors.borrow_mut();
        let open = cursors.get_mut(&name).ok_or_else(gone)?;
        if new < at && open.scroll == Some(false) {
            return Err(PgError::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, "cursor can only scan forward")
                .hint("Declare it with SCROLL option to enable backward scan."));
        }
        open.at = new as usize;
        let row = open.row(open.at);
        let columns = open.columns.clone();
        drop(cursors);
        let found = match direction {
            // MOVE counts the rows it has passed
            Direction::ForwardAll | Direction::Forward(Some(_)) => (new - at).min(end - at) > 0,
            Direction::BackwardAll | Direction::Backward(Some(_)) => at - new > i64::from(at > end),
            _ => row.is_some(),
        };
        self.count.set(u64::from(found));
        if let Some(targets) = into {
            self.assign_row(targets, &columns, row)?;
        }
        Ok(found)
    }

    pub(super) fn close_cursor(&mut self, cursor: usize) -> Result<()> {
        let name = self.cursor_name(cursor)?;
        let cursors = &self.host.routines().cursors;
        if cursors.borrow().get(&name).is_some_and(|open| open.pinned) {
            return Err(state(format!("cannot drop pinned portal \"{name}\"")));
        }
        let closed = cursors.borrow_mut().remove(&name);
        closed.map(drop).ok_or_else(|| self.no_cursor(&name))
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
        self.host.routines().cursors.borrow_mut().remove(&name);
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
            let cursors = &self.host.routines().cursors;
            let at = cursors.borrow().get(name).map_or(0, |open| open.at as i64);
            self.pass_over(name, at + 1)?;
            let (row, columns) = {
                let mut cursors = cursors.borrow_mut();
                let gone = || PgError::internal("the cursor of a loop is gone");
                let open = cursors.get_mut(name).ok_or_else(gone)?;
                open.pinned = true;
                open.at = (open.at + 1).min(open.rows.len() + 1);
                (open.row(open.at), open.columns.clone())
            };
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
