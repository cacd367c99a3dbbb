//! `pg_series(kind, start, stop, step)`: generate_series as a table-valued function, which gives its rows one by one.
//!
//! Columns: `value` in storage form, `key` (the row's number from 0); the arguments are hidden columns, as SQLite has it.

use super::{session_of, through_cell, unregistered};
use pgsqlite_natives::udf::session_cell::SessionCell;
use pgsqlite_sql::lower::support;
use pgsqlite_types::buffer::bad_stored;
use pgsqlite_types::datetime::{Interval, Timestamp};
use pgsqlite_types::numeric::Numeric;
use pgsqlite_types::{work, Datum, DatumRef, PgError, Result, SqlState};
use rusqlite::types::ValueRef;
use rusqlite::vtab::{
    Context, Filters, IndexConstraintOp, IndexInfo, Module, VTab, VTabConfig, VTabConnection, VTabCursor,
};
use rusqlite::{ffi, Connection};
use std::borrow::Cow;
use std::ffi::{c_int, CStr};
use std::marker::PhantomData;
use std::sync::Arc;

/// Columns before the hidden arguments.
const ARGUMENTS: c_int = 2;

/// Registers the table with a connection.
pub fn register(conn: &Connection, cell: &Arc<SessionCell>) -> Result<()> {
    const MODULE: Module<SeriesTable> = Module::eponymous_only_module();
    conn.create_module(support::SERIES, &MODULE, Some(cell.clone())).map_err(|e| unregistered(support::SERIES, &e))
}

#[repr(C)]
struct SeriesTable {
    base: ffi::sqlite3_vtab,
    cell: Arc<SessionCell>,
}

// SAFETY: the struct is repr(C) and starts with sqlite3_vtab, as SQLite demands.
unsafe impl<'vtab> VTab<'vtab> for SeriesTable {
    type Aux = Arc<SessionCell>;
    type Cursor = Cursor<'vtab>;

    fn connect(
        db: &mut VTabConnection,
        aux: Option<&Arc<SessionCell>>,
        _module_name: &[u8],
        _database_name: &[u8],
        _table_name: &[u8],
        _args: &[&[u8]],
    ) -> rusqlite::Result<(Cow<'static, CStr>, Self)> {
        let cell = session_of(aux)?;
        db.config(VTabConfig::Innocuous)?;
        let sql = c"CREATE TABLE x(value, key INTEGER, kind HIDDEN, start HIDDEN, stop HIDDEN, step HIDDEN)";
        Ok((Cow::Borrowed(sql), SeriesTable { base: ffi::sqlite3_vtab::default(), cell }))
    }

    fn best_index(&self, info: &mut IndexInfo) -> rusqlite::Result<bool> {
        let mut found = [None; 4];
        for (i, constraint) in info.constraints().enumerate() {
            let argument = constraint.column() - ARGUMENTS;
            if constraint.operator() != IndexConstraintOp::SQLITE_INDEX_CONSTRAINT_EQ || argument < 0 {
                continue;
            }
            if constraint.is_usable() {
                found[argument as usize] = Some(i);
            }
        }
        // a plan in which an argument is not known yet is none
        if found.iter().any(Option::is_none) {
            return Ok(false);
        }
        for (argument, i) in found.into_iter().flatten().enumerate() {
            let mut usage = info.constraint_usage(i);
            usage.set_argv_index(argument as c_int + 1);
            usage.set_omit(true);
        }
        info.set_estimated_cost(1000.0);
        info.set_estimated_rows(1000);
        Ok(true)
    }

    fn open(&'vtab mut self) -> rusqlite::Result<Cursor<'vtab>> {
        Ok(Cursor {
            base: ffi::sqlite3_vtab_cursor::default(),
            cell: self.cell.clone(),
            series: Series::Empty,
            key: 0,
            phantom: PhantomData,
        })
    }
}

/// A series and where it stands; `None` as the present value: it is over.
enum Series {
    Empty,
    Int { at: Option<i64>, stop: i64, step: i64 },
    Numeric { at: Numeric, stop: Numeric, step: Numeric, value: Datum },
    Times { at: Timestamp, stop: Timestamp, step: Interval, local: bool, value: Datum },
}

fn invalid(message: impl Into<String>) -> PgError {
    PgError::new(SqlState::INVALID_PARAMETER_VALUE, message.into())
}

fn zero_step() -> PgError {
    invalid("step size cannot equal zero")
}

impl Series {
    fn new(arguments: &[ValueRef]) -> Result<Series> {
        let [kind, bounds @ ..] = arguments else { return Err(PgError::internal("a series without arguments")) };
        if bounds.iter().any(|b| matches!(b, ValueRef::Null)) {
            return Ok(Series::Empty);
        }
        let text = |v: ValueRef<'_>| -> Result<String> {
            match super::datum(v) {
                DatumRef::Text(t) => Ok(t.to_string()),
                other => Err(bad_stored("text", other)),
            }
        };
        let int = |v: ValueRef<'_>| match v {
            ValueRef::Integer(i) => Ok(i),
            ValueRef::Real(_) => Err(PgError::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "bigint out of range")),
            other => Err(bad_stored("bigint", super::datum(other))),
        };
        let [start, stop, step] = bounds else { return Err(PgError::internal("a series without bounds")) };
        match text(*kind)?.as_str() {
            "int" => {
                let (start, stop, step) = (int(*start)?, int(*stop)?, int(*step)?);
                if step == 0 {
                    return Err(zero_step());
                }
                Ok(Series::Int { at: Some(start), stop, step })
            }
            "numeric" => {
                let number = |v: ValueRef<'_>, what: &str| -> Result<Numeric> {
                    let number = Numeric::from_datum(match v {
                        ValueRef::Integer(i) => DatumRef::Int(i),
                        ValueRef::Text(t) => DatumRef::Text(std::str::from_utf8(t).unwrap_or("")),
                        _ => DatumRef::Null,
                    })?;
                    if !number.is_finite() {
                        let kind = if number.is_nan() { "NaN" } else { "infinity" };
                        return Err(invalid(format!("{what} cannot be {kind}")));
                    }
                    Ok(number)
                };
                let (at, stop) = (number(*start, "start value")?, number(*stop, "stop value")?);
                let step = number(*step, "step size")?;
                if step.is_zero() {
                    return Err(zero_step());
                }
                let value = at.to_datum();
                Ok(Series::Numeric { at, stop, step, value })
            }
            kind => {
                let moment =
                    |t: String| Timestamp::from_storage(&t).ok_or_else(|| bad_stored("timestamp", DatumRef::Text(&t)));
                let (at, stop, step) = (moment(text(*start)?)?, moment(text(*stop)?)?, text(*step)?);
                let step =
                    Interval::from_storage(&step).ok_or_else(|| bad_stored("interval", DatumRef::Text(&step)))?;
                if step.span().signum() == 0 {
                    return Err(zero_step());
                }
                let value = Datum::Text(at.to_storage());
                Ok(Series::Times { at, stop, step, local: kind == "timestamp", value })
            }
        }
    }

    fn over(&self) -> bool {
        match self {
            Series::Empty => true,
            Series::Int { at, stop, step } => match at {
                Some(at) => {
                    if *step > 0 {
                        at > stop
                    } else {
                        at < stop
                    }
                }
                None => true,
            },
            Series::Numeric { at, stop, step, .. } => {
                if step.is_negative() {
                    at < stop
                } else {
                    at > stop
                }
            }
            Series::Times { at, stop, step, .. } => {
                if step.span().signum() > 0 {
                    at > stop
                } else {
                    at < stop
                }
            }
        }
    }

    fn advance(&mut self, cell: &SessionCell) -> Result<()> {
        match self {
            Series::Empty => {}
            Series::Int { at, step, .. } => *at = at.and_then(|v| v.checked_add(*step)),
            Series::Numeric { at, step, value, .. } => {
                *at = at.add(step)?;
                *value = at.to_datum();
            }
            Series::Times { at, step, local, value, .. } => {
                *at = if *local {
                    at.add_interval(*step)?
                } else {
                    at.add_interval_tz(*step, &cell.state().settings.time_zone)?
                };
                *value = Datum::Text(at.to_storage());
            }
        }
        Ok(())
    }
}

#[repr(C)]
struct Cursor<'vtab> {
    base: ffi::sqlite3_vtab_cursor,
    cell: Arc<SessionCell>,
    series: Series,
    key: i64,
    phantom: PhantomData<&'vtab SeriesTable>,
}

// SAFETY: the struct is repr(C) and starts with sqlite3_vtab_cursor, as SQLite demands.
unsafe impl VTabCursor for Cursor<'_> {
    fn filter(&mut self, _idx_num: c_int, _idx_str: Option<&str>, args: &Filters<'_>) -> rusqlite::Result<()> {
        let arguments: Vec<ValueRef> = args.iter().collect();
        self.key = 0;
        self.series = through_cell(&self.cell, work::catching(|| Series::new(&arguments)))?;
        Ok(())
    }

    fn next(&mut self) -> rusqlite::Result<()> {
        self.key += 1;
        let cell = self.cell.clone();
        let result = work::catching(|| self.series.advance(&cell));
        through_cell(&self.cell, result)
    }

    fn eof(&self) -> bool {
        self.series.over()
    }

    fn column(&self, context: &mut Context, i: c_int) -> rusqlite::Result<()> {
        match i {
            0 => match &self.series {
                Series::Int { at, .. } => context.set_result(at),
                Series::Numeric { value, .. } | Series::Times { value, .. } => {
                    context.set_result(super::Borrowed(value))
                }
                Series::Empty => Ok(()),
            },
            1 => context.set_result(self.key),
            _ => Ok(()),
        }
    }

    fn rowid(&self) -> rusqlite::Result<i64> {
        Ok(self.key)
    }
}
