//! Aggregates of the user (CREATE AGGREGATE): a state that functions make of the state before and a row's values.
//!
//! Lowering writes `pg_aggregate(what, argument …)`; *what* names the aggregate, tells how a window's frame moves and the types
//! ([`support::AGGREGATE`]). The functions are planned once per connection and catalog ([`Program`]), as `SELECT f($1, $2 …)`.
//!
//! In a frame whose beginning moves, rows are only noted when SQLite adds or removes them; the state follows when the
//! value is asked for. Then, as in PostgreSQL, the removed rows are taken out by the inverse transition function, where there is one and the
//! frame overlaps the one before, or else the state is made anew from the frame's rows.

use super::statement::Planned;
use super::{Host, Stamp};
use libsqlite3_sys as ffi;
use pgsqlite_natives::udf::session_cell::SessionCell;
use pgsqlite_natives::udf::shim::{Call, State, Types};
use pgsqlite_sql::analyze::aggregate::call_query;
use pgsqlite_sql::analyze::concrete_type;
use pgsqlite_sql::builtins::catalog::{Aggregate, AggregateSteps};
use pgsqlite_types::{Datum, Oid, PgError, Result, SqlState};
use std::collections::VecDeque;
use std::rc::Rc;

/// An aggregate's functions for certain argument types.
pub(super) struct Program {
    stamp: Stamp,
    transition: Function,
    /// of a moving frame
    inverse: Option<Function>,
    finish: Option<Function>,
    initial: Datum,
    /// the first aggregated value that is not NULL is the first state
    first_is_state: bool,
    direct: usize,
    /// NULLs that the final function gets behind the direct arguments
    extra: usize,
    /// rows leave the frame
    moves: bool,
}

struct Function {
    planned: Planned,
    strict: bool,
}

impl Function {
    fn new(host: Host, proc: Oid, types: &[Oid], result: Oid) -> Result<Function> {
        let query = host.with_environment(|e| call_query(e, proc, types, result))?;
        let strict = host.catalog().proc(proc).is_some_and(|p| p.strict);
        Ok(Function { planned: Planned::of_query(host, query, types.to_vec())?, strict })
    }

    fn call(&self, host: Host, values: &[Datum]) -> Result<Datum> {
        let mut result = Datum::Null;
        self.planned.run(host, values, &mut |row| {
            result = row.into_iter().next().unwrap_or_default();
            Ok(false)
        })?;
        Ok(result)
    }
}

/// `oid:frame:direct arguments:types` as lowering writes it.
struct What {
    aggregate: Oid,
    frame: u8,
    direct: usize,
    types: Types,
}

impl What {
    fn parse(text: &str) -> Result<What> {
        let bad = || PgError::internal(format!("malformed aggregate {text}"));
        let mut parts = text.splitn(4, ':');
        let mut part = || parts.next().ok_or_else(bad);
        Ok(What {
            aggregate: part()?.parse().map_err(|_| bad())?,
            frame: *part()?.as_bytes().first().ok_or_else(bad)?,
            direct: part()?.parse().map_err(|_| bad())?,
            types: Types::parse(part()?)?,
        })
    }
}

/// The program of what lowering wrote: kept, or made now.
fn program(host: Host, text: &str) -> Result<Rc<Program>> {
    if let Some(found) = host.routines().aggregates.borrow().get(text) {
        if found.stamp.holds(host.cell) {
            return Ok(found.clone());
        }
    }
    let made = Rc::new(Program::compile(host, &What::parse(text)?)?);
    let mut kept = host.routines().aggregates.borrow_mut();
    if kept.len() >= super::KEPT {
        kept.clear();
    }
    kept.insert(text.to_string(), made.clone());
    Ok(made)
}

impl Program {
    fn compile(host: Host, what: &What) -> Result<Program> {
        let catalog = host.catalog();
        let gone =
            || PgError::new(SqlState::UNDEFINED_FUNCTION, format!("aggregate {} does not exist", what.aggregate));
        let proc = catalog.proc(what.aggregate).ok_or_else(gone)?;
        let aggregate: &Aggregate = catalog.aggregate(what.aggregate).ok_or_else(gone)?;
        let takes_out = what.frame == b'i';
        let steps: &AggregateSteps = match &aggregate.moving {
            Some(moving) if takes_out => moving,
            _ => &aggregate.plain,
        };
        let given = &what.types.args;
        let (direct, aggregated) = given.split_at(what.direct);
        let state = concrete_type(&catalog, &proc.args, given, steps.state);
        let with_state = |rest: &[Oid]| -> Vec<Oid> { [state].iter().chain(rest).copied().collect() };
        let transition = Function::new(host, steps.transition, &with_state(aggregated), state)?;
        let inverse = match steps.inverse {
            0 => None,
            inverse => Some(Function::new(host, inverse, &with_state(aggregated), state)?),
        };
        let extra = if steps.finish_extra { aggregated.len() } else { 0 };
        let finish = match steps.finish {
            0 => None,
            finish => {
                let types = with_state(if steps.finish_extra { given } else { direct });
                Some(Function::new(host, finish, &types, what.types.result)?)
            }
        };
        let initial = match &steps.initial {
            None => Datum::Null,
            Some(text) => {
                let codec = host.cell.codec(state)?;
                host.cell.with_context(|context| codec.text_in(text, -1, context))?
            }
        };
        Ok(Program {
            stamp: Stamp::now(host.cell),
            first_is_state: transition.strict && initial.is_null(),
            transition,
            inverse,
            finish,
            initial,
            direct: what.direct,
            extra,
            moves: what.frame != b'f',
        })
    }

    /// The result of a state.
    fn finished(&self, host: Host, state: &Datum, direct: &[Datum]) -> Result<Datum> {
        let Some(finish) = &self.finish else { return Ok(state.clone()) };
        let mut values = vec![state.clone()];
        values.extend_from_slice(direct);
        values.resize(values.len() + self.extra, Datum::Null);
        if finish.strict && values.iter().any(Datum::is_null) {
            return Ok(Datum::Null);
        }
        finish.call(host, &values)
    }
}

/// The state of one group or frame.
#[derive(Default)]
pub struct UserAggregate {
    program: Option<Rc<Program>>,
    /// the connection, from the first row on
    db: Option<*mut ffi::sqlite3>,
    direct: Vec<Datum>,
    state: Datum,
    /// rows in the state, those apart that a strict transition function left out
    taken: usize,
    /// the frame's rows, where it moves
    rows: VecDeque<Vec<Datum>>,
    /// how many of `rows`, from the front, are in the state
    seen: usize,
    /// rows that left the frame but not yet the state
    left: Vec<Vec<Datum>>,
}

pub fn new_user_aggregate() -> Box<dyn State> {
    Box::<UserAggregate>::default()
}

impl UserAggregate {
    fn start(&mut self, call: &Call) -> Result<Rc<Program>> {
        if let Some(program) = &self.program {
            return Ok(program.clone());
        }
        let host = Host { cell: call.session, db: call.connection() };
        let program = program(host, call.text(0)?)?;
        self.state = program.initial.clone();
        self.direct = (1..=program.direct).map(|i| call.datum(i).to_owned()).collect();
        self.db = Some(call.connection());
        self.program = Some(program.clone());
        Ok(program)
    }

    /// Takes a row into the state.
    fn take(&mut self, host: Host, program: &Program, row: &[Datum]) -> Result<()> {
        if program.transition.strict {
            if row.iter().any(Datum::is_null) {
                return Ok(());
            }
            if program.first_is_state && self.taken == 0 && self.state.is_null() {
                self.state = row.first().cloned().unwrap_or_default();
                self.taken = 1;
                return Ok(());
            }
            if self.state.is_null() {
                return Ok(());
            }
        }
        let mut values = Vec::with_capacity(row.len() + 1);
        values.push(std::mem::take(&mut self.state));
        values.extend_from_slice(row);
        self.state = program.transition.call(host, &values)?;
        self.taken += 1;
        if self.state.is_null() && program.inverse.is_some() {
            return Err(PgError::new(
                SqlState::NULL_VALUE_NOT_ALLOWED,
                "moving-aggregate transition function must not return null",
            ));
        }
        Ok(())
    }

    /// Takes a row out of the state again; false: the state is to be made anew.
    fn take_out(&mut self, host: Host, program: &Program, row: &[Datum]) -> Result<bool> {
        let Some(inverse) = &program.inverse else { return Ok(false) };
        if inverse.strict && row.iter().any(Datum::is_null) {
            return Ok(true);
        }
        if self.taken == 1 {
            self.state = program.initial.clone();
            self.taken = 0;
            return Ok(true);
        }
        let mut values = Vec::with_capacity(row.len() + 1);
        values.push(self.state.clone());
        values.extend_from_slice(row);
        let state = inverse.call(host, &values)?;
        if state.is_null() {
            return Ok(false);
        }
        self.state = state;
        self.taken -= 1;
        Ok(true)
    }

    /// Brings the state of a moving frame up to its rows.
    fn follow(&mut self, host: Host, program: &Program) -> Result<()> {
        let left = std::mem::take(&mut self.left);
        let mut anew = !left.is_empty() && self.seen == 0;
        for row in &left {
            if anew {
                break;
            }
            anew = !self.take_out(host, program, row)?;
        }
        if anew {
            self.state = program.initial.clone();
            self.taken = 0;
            self.seen = 0;
        }
        while self.seen < self.rows.len() {
            let row = std::mem::take(&mut self.rows[self.seen]);
            let result = self.take(host, program, &row);
            self.rows[self.seen] = row;
            result?;
            self.seen += 1;
        }
        Ok(())
    }
}

impl State for UserAggregate {
    fn step(&mut self, call: &Call) -> Result<()> {
        let program = self.start(call)?;
        let row: Vec<Datum> = (1 + program.direct..call.len()).map(|i| call.datum(i).to_owned()).collect();
        if program.moves {
            self.rows.push_back(row);
            return Ok(());
        }
        let host = Host { cell: call.session, db: call.connection() };
        host.check_interrupt()?;
        self.take(host, &program, &row)
    }

    fn inverse(&mut self, _call: &Call) -> Result<()> {
        let Some(row) = self.rows.pop_front() else {
            return Err(PgError::internal("a row leaves a frame that is not there"));
        };
        if self.seen > 0 {
            self.seen -= 1;
            self.left.push(row);
        }
        Ok(())
    }

    fn value(&mut self, session: &SessionCell) -> Result<Datum> {
        // (a group without rows is told apart by the statement and not asked here)
        let (Some(program), Some(db)) = (self.program.clone(), self.db) else { return Ok(Datum::Null) };
        let host = Host { cell: session, db };
        if program.moves {
            self.follow(host, &program)?;
        }
        program.finished(host, &self.state, &self.direct)
    }
}

/// (what, direct argument …) → the result of a group without rows.
pub(super) fn pg_aggregate_none(c: &Call) -> Result<Datum> {
    let host = Host { cell: c.session, db: c.connection() };
    let program = program(host, c.text(0)?)?;
    let direct: Vec<Datum> = (1..c.len()).map(|i| c.datum(i).to_owned()).collect();
    program.finished(host, &program.initial, &direct)
}
