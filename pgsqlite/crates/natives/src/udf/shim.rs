//! The thin layer between SQLite's C interface and the native functions: values are read in place, strictness and
//! panics are handled here, errors go to the session's cell.

use super::session_cell::{SessionCell, MARKER};
use libsqlite3_sys as ffi;
use pgsqlite_types::datetime::{Date, Interval, Time, TimeTz, Timestamp};
use pgsqlite_types::json::{self, Flavor, Json};
use pgsqlite_types::numeric::Numeric;
use pgsqlite_types::work::{self, PIECE};
use pgsqlite_types::{float, memory, Datum, DatumRef, Oid, PgError, Result, SqlState};
use std::any::Any;
use std::cell::Cell;
use std::ffi::{c_int, c_void, CString};
use std::sync::Arc;

/// A native scalar function: reads its arguments from the call, gives the result in storage form.
pub type Scalar = fn(&Call) -> Result<Datum>;

/// Where the values of a call are.
#[derive(Clone, Copy)]
enum Values<'a> {
    Sqlite(&'a [*mut ffi::sqlite3_value]),
    Own(&'a [Datum]),
}

/// A value as a short decimal: `coefficient × 10^-scale`.
#[derive(Clone, Copy, Default)]
pub(crate) enum Decimal {
    #[default]
    Unread,
    Short(i64, u16),
    /// a longer number, none that is finite, or another value
    Other,
}

/// Digits that fit 64 bits whatever they are.
const SHORT: usize = 18;

/// The decimal that a text is, if it is one of a few digits in plain form.
fn short_decimal(text: &[u8]) -> Decimal {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    if digits.is_empty() || digits.len() > SHORT {
        return Decimal::Other;
    }
    let (mut coefficient, mut point) = (0i64, None);
    for (i, byte) in digits.iter().enumerate() {
        match byte {
            b'0'..=b'9' => coefficient = coefficient * 10 + i64::from(byte - b'0'),
            b'.' if point.is_none() && i > 0 && i + 1 < digits.len() => point = Some(i),
            _ => return Decimal::Other,
        }
    }
    let scale = point.map_or(0, |i| digits.len() - i - 1);
    Decimal::Short(if negative { -coefficient } else { coefficient }, scale as u16)
}

/// One call of a native function.
pub struct Call<'a> {
    values: Values<'a>,
    /// which of the values are the arguments; None: all
    picked: Option<&'a [usize]>,
    /// what was read of the values as decimals, where several aggregates read the same ones
    decimals: Option<&'a [Cell<Decimal>]>,
    pub session: &'a SessionCell,
    db: *mut ffi::sqlite3,
}

/// The value of `value`, borrowed from SQLite.
///
/// # Safety
/// `value` must be a protected `sqlite3_value` that outlives `'a`, and not be converted meanwhile.
unsafe fn read<'a>(value: *mut ffi::sqlite3_value) -> DatumRef<'a> {
    // SAFETY: promised by the caller; a text's and a blob's length is that of the pointer just asked for.
    unsafe {
        match ffi::sqlite3_value_type(value) {
            ffi::SQLITE_INTEGER => DatumRef::Int(ffi::sqlite3_value_int64(value)),
            ffi::SQLITE_FLOAT => DatumRef::Real(ffi::sqlite3_value_double(value)),
            ffi::SQLITE_TEXT => {
                let text = ffi::sqlite3_value_text(value);
                let length = ffi::sqlite3_value_bytes(value) as usize;
                if text.is_null() {
                    return DatumRef::Text("");
                }
                let bytes = std::slice::from_raw_parts(text, length);
                match std::str::from_utf8(bytes) {
                    Ok(text) => DatumRef::Text(text),
                    // Text of another program may be no UTF-8: shown as bytes, so that every reader of text refuses it.
                    Err(_) => DatumRef::Blob(bytes),
                }
            }
            ffi::SQLITE_BLOB => {
                let bytes = ffi::sqlite3_value_blob(value);
                let length = ffi::sqlite3_value_bytes(value) as usize;
                if bytes.is_null() {
                    return DatumRef::Blob(&[]);
                }
                DatumRef::Blob(std::slice::from_raw_parts(bytes.cast(), length))
            }
            _ => DatumRef::Null,
        }
    }
}

/// The value as a decimal.
///
/// # Safety
/// As of [`read`].
unsafe fn decimal_of(value: *mut ffi::sqlite3_value) -> Decimal {
    // SAFETY: as in `read`.
    unsafe {
        match ffi::sqlite3_value_type(value) {
            ffi::SQLITE_INTEGER => Decimal::Short(ffi::sqlite3_value_int64(value), 0),
            ffi::SQLITE_TEXT => {
                let text = ffi::sqlite3_value_text(value);
                let length = ffi::sqlite3_value_bytes(value) as usize;
                match text.is_null() {
                    true => Decimal::Other,
                    false => short_decimal(std::slice::from_raw_parts(text, length)),
                }
            }
            _ => Decimal::Other,
        }
    }
}

/// A value that is not of the storage form its type has.
fn misfit(expected: &str, value: DatumRef) -> PgError {
    let shown = match value {
        DatumRef::Null => "NULL".to_string(),
        DatumRef::Int(i) => i.to_string(),
        DatumRef::Real(r) => r.to_string(),
        DatumRef::Text(t) => t.to_string(),
        DatumRef::Blob(_) => "a blob".to_string(),
    };
    PgError::new(
        SqlState::INVALID_TEXT_REPRESENTATION,
        format!("invalid input syntax for type {expected}: \"{shown}\""),
    )
}

/// The connection that runs a call.
fn connection_of(context: *mut ffi::sqlite3_context) -> *mut ffi::sqlite3 {
    // SAFETY: `context` is the running call's.
    unsafe { ffi::sqlite3_context_db_handle(context) }
}

impl<'a> Call<'a> {
    /// Whether the statement that runs is to end (cancel request, timeout).
    pub fn interrupted(&self) -> bool {
        // SAFETY: the connection is the running call's.
        unsafe { ffi::sqlite3_is_interrupted(self.db) != 0 }
    }
    /// Runs a query of our own that gives one integer on the connection of the call; NULL is 0.
    pub fn query_integer(&self, sql: &str, parameters: &[&str]) -> Result<i64> {
        let failed = |e: rusqlite::Error| {
            let code = e.sqlite_error().map_or(ffi::SQLITE_ERROR, |e| e.extended_code);
            pgsqlite_metadata::error::from_sqlite(code, &e.to_string(), None)
        };
        // SAFETY: the handle belongs to the engine; this view of it does not close it.
        let connection = unsafe { rusqlite::Connection::from_handle(self.db) }.map_err(failed)?;
        connection
            .query_row(sql, rusqlite::params_from_iter(parameters), |r| r.get::<_, Option<i64>>(0))
            .map(|n| n.unwrap_or(0))
            .map_err(failed)
    }
    fn of_sqlite(values: &'a [*mut ffi::sqlite3_value], session: &'a SessionCell, db: *mut ffi::sqlite3) -> Call<'a> {
        Call { values: Values::Sqlite(values), picked: None, decimals: None, session, db }
    }
    /// A call of an aggregate that asks nothing of the connection.
    pub(crate) fn of_values(values: &'a [Datum], session: &'a SessionCell) -> Call<'a> {
        Call { values: Values::Own(values), picked: None, decimals: None, session, db: std::ptr::null_mut() }
    }
    /// The call with some of its arguments, by their places.
    pub(crate) fn picked(&self, places: &'a [usize]) -> Call<'a> {
        Call { picked: Some(places), ..*self }
    }
    /// The call with a place for each of its values where it keeps what it has read as a decimal.
    pub(crate) fn remembering(&self, decimals: &'a [Cell<Decimal>]) -> Call<'a> {
        Call { decimals: Some(decimals), ..*self }
    }
    /// The same call seen without its first argument.
    pub(crate) fn without_first(&self) -> Call<'a> {
        let (mut values, mut picked, mut decimals) = (self.values, self.picked, self.decimals);
        if picked.is_none() {
            decimals = decimals.and_then(|decimals| decimals.get(1..));
        }
        match (&mut picked, &mut values) {
            (Some(places), _) => *places = places.get(1..).unwrap_or_default(),
            (None, Values::Sqlite(values)) => *values = values.get(1..).unwrap_or_default(),
            (None, Values::Own(values)) => *values = values.get(1..).unwrap_or_default(),
        }
        Call { values, picked, decimals, ..*self }
    }
    /// The connection that runs the call.
    pub fn connection(&self) -> *mut ffi::sqlite3 {
        self.db
    }
    /// The number of arguments.
    pub fn len(&self) -> usize {
        match (self.picked, self.values) {
            (Some(places), _) => places.len(),
            (None, Values::Sqlite(values)) => values.len(),
            (None, Values::Own(values)) => values.len(),
        }
    }
    /// The place of an argument among the values; beyond them, if there is none.
    fn place(&self, i: usize) -> usize {
        match self.picked {
            Some(places) => places.get(i).copied().unwrap_or(usize::MAX),
            None => i,
        }
    }
    /// The argument with this number, as it is.
    pub fn datum(&self, i: usize) -> DatumRef<'a> {
        let i = self.place(i);
        match self.values {
            // SAFETY: SQLite's argument values live as long as the call.
            Values::Sqlite(values) => values.get(i).map_or(DatumRef::Null, |&value| unsafe { read(value) }),
            Values::Own(values) => values.get(i).map_or(DatumRef::Null, Datum::as_ref),
        }
    }
    /// Whether the argument is NULL or missing.
    pub fn is_null(&self, i: usize) -> bool {
        match self.values {
            // SAFETY: SQLite's argument values live as long as the call.
            Values::Sqlite(values) => values
                .get(self.place(i))
                .is_none_or(|&value| unsafe { ffi::sqlite3_value_type(value) } == ffi::SQLITE_NULL),
            Values::Own(_) => self.datum(i).is_null(),
        }
    }
    /// The argument as a decimal of a few digits: its coefficient and scale. None: it is no such one.
    pub(crate) fn short_decimal(&self, i: usize) -> Option<(i64, u16)> {
        let place = self.place(i);
        let known = self.decimals.and_then(|decimals| decimals.get(place));
        let mut decimal = known.map_or(Decimal::Unread, Cell::get);
        if let Decimal::Unread = decimal {
            decimal = match self.values {
                Values::Sqlite(values) => {
                    // SAFETY: SQLite's argument values live as long as the call.
                    values.get(place).map_or(Decimal::Other, |&value| unsafe { decimal_of(value) })
                }
                Values::Own(_) => match self.datum(i) {
                    DatumRef::Int(v) => Decimal::Short(v, 0),
                    DatumRef::Text(text) => short_decimal(text.as_bytes()),
                    _ => Decimal::Other,
                },
            };
            if let Some(known) = known {
                known.set(decimal);
            }
        }
        match decimal {
            Decimal::Short(coefficient, scale) => Some((coefficient, scale)),
            _ => None,
        }
    }
    /// The argument as an integer. Errors: XX000 where it is something else, as for the other types below.
    pub fn int(&self, i: usize) -> Result<i64> {
        match self.datum(i) {
            DatumRef::Int(v) => Ok(v),
            // An expression of SQLite's own that left the integers' range.
            DatumRef::Real(_) => Err(PgError::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "bigint out of range")),
            other => Err(misfit("bigint", other)),
        }
    }
    /// The argument as a boolean.
    pub fn bool(&self, i: usize) -> Result<bool> {
        Ok(self.int(i)? != 0)
    }
    /// The argument as a float.
    pub fn float(&self, i: usize) -> Result<f64> {
        float::from_datum(self.datum(i))
    }
    /// The argument as a text.
    pub fn text(&self, i: usize) -> Result<&'a str> {
        match self.datum(i) {
            DatumRef::Text(t) => Ok(t),
            other => Err(misfit("text", other)),
        }
    }
    /// The argument as a bytea.
    pub fn bytes(&self, i: usize) -> Result<&'a [u8]> {
        match self.datum(i) {
            DatumRef::Blob(b) => Ok(b),
            other => Err(misfit("bytea", other)),
        }
    }
    /// The argument as a numeric.
    pub fn numeric(&self, i: usize) -> Result<Numeric> {
        Numeric::from_datum(self.datum(i))
    }
    fn stored<T>(&self, i: usize, name: &str, parse: impl Fn(&str) -> Option<T>) -> Result<T> {
        match self.datum(i) {
            DatumRef::Text(t) => parse(t),
            _ => None,
        }
        .ok_or_else(|| misfit(name, self.datum(i)))
    }
    /// The argument as a date.
    pub fn date(&self, i: usize) -> Result<Date> {
        self.stored(i, "date", Date::from_storage)
    }
    /// The argument as a time.
    pub fn time(&self, i: usize) -> Result<Time> {
        self.stored(i, "time", Time::from_storage)
    }
    /// The argument as a time with time zone.
    pub fn timetz(&self, i: usize) -> Result<TimeTz> {
        self.stored(i, "time with time zone", TimeTz::from_storage)
    }
    /// The argument as a timestamp.
    pub fn timestamp(&self, i: usize) -> Result<Timestamp> {
        self.stored(i, "timestamp", Timestamp::from_storage)
    }
    /// The argument as an interval.
    pub fn interval(&self, i: usize) -> Result<Interval> {
        self.stored(i, "interval", Interval::from_storage)
    }
    /// The tree of a json or jsonb argument.
    pub fn json(&self, i: usize) -> Result<Json> {
        json::parse(self.text(i)?, Flavor::Json)
    }
    /// Argument 0 of a typed native: argument types, whether VARIADIC was written, result type.
    pub fn types(&self) -> Result<Types> {
        Types::parse(self.text(0)?)
    }
}

/// The types of a typed native's call (`'v23,25>114'`), with the order of an ordered-set aggregate's keys (`';dl,af'`).
#[derive(Debug, Clone, PartialEq)]
pub struct Types {
    pub variadic: bool,
    pub args: Vec<Oid>,
    pub result: Oid,
    /// per sort key: descending, NULLs first
    pub order: Vec<(bool, bool)>,
}

impl Types {
    /// The types that lowering wrote as a text: the arguments' OIDs, `>`, the result's and, after `;`, the order. Errors: XX000.
    pub fn parse(text: &str) -> Result<Types> {
        let bad = || PgError::internal(format!("malformed type list {text}"));
        let (text, order) = text.split_once(';').unwrap_or((text, ""));
        let (args, result) = text.split_once('>').ok_or_else(bad)?;
        let variadic = args.starts_with('v');
        let args = args.trim_start_matches('v');
        Ok(Types {
            variadic,
            args: args
                .split(',')
                .filter(|s| !s.is_empty())
                .map(|s| s.parse().map_err(|_| bad()))
                .collect::<Result<_>>()?,
            result: result.parse().map_err(|_| bad())?,
            order: order.split(',').map(|key| (key.starts_with('d'), key.ends_with('f'))).collect(),
        })
    }
}

/// Bytes of SQLite's own making, copied in pieces. None: there is no memory.
fn copied(bytes: &[u8]) -> Result<Option<*mut u8>> {
    work::room(bytes.len())?;
    // SAFETY: as many bytes as are asked for, or none.
    let copy = unsafe { ffi::sqlite3_malloc64(bytes.len() as u64) } as *mut u8;
    if copy.is_null() {
        return Ok(None);
    }
    for (i, piece) in bytes.chunks(PIECE).enumerate() {
        if let Err(error) = work::tick(PIECE / 16) {
            // SAFETY: made above, given to nobody.
            unsafe { ffi::sqlite3_free(copy.cast()) };
            return Err(error);
        }
        // SAFETY: within the copy, which is as long as the bytes.
        unsafe { std::ptr::copy_nonoverlapping(piece.as_ptr(), copy.add(i * PIECE), piece.len()) };
    }
    Ok(Some(copy))
}

fn set_result(context: *mut ffi::sqlite3_context, session: &SessionCell, value: &Datum) {
    if let Datum::Text(_) | Datum::Blob(_) = value {
        let bytes = match value {
            Datum::Text(t) => t.as_bytes(),
            Datum::Blob(b) => b,
            _ => &[],
        };
        if bytes.len() > 4 * PIECE {
            // SAFETY: `context` is the running call's; SQLite frees the copy, also on failure.
            return unsafe {
                match copied(bytes) {
                    Ok(None) => ffi::sqlite3_result_error_nomem(context),
                    Ok(Some(copy)) => {
                        let length = bytes.len() as u64;
                        match value {
                            Datum::Text(_) => ffi::sqlite3_result_text64(
                                context,
                                copy.cast(),
                                length,
                                Some(ffi::sqlite3_free),
                                ffi::SQLITE_UTF8 as u8,
                            ),
                            _ => ffi::sqlite3_result_blob64(context, copy.cast(), length, Some(ffi::sqlite3_free)),
                        }
                    }
                    Err(error) => set_error(context, session, error),
                }
            };
        }
    }
    // SAFETY: `context` is the running call's; texts and blobs are copied by SQLite (SQLITE_TRANSIENT).
    unsafe {
        match value {
            Datum::Null => ffi::sqlite3_result_null(context),
            Datum::Int(i) => ffi::sqlite3_result_int64(context, *i),
            Datum::Real(r) => ffi::sqlite3_result_double(context, *r),
            Datum::Text(t) => ffi::sqlite3_result_text64(
                context,
                t.as_ptr().cast(),
                t.len() as u64,
                ffi::SQLITE_TRANSIENT(),
                ffi::SQLITE_UTF8 as u8,
            ),
            Datum::Blob(b) => {
                ffi::sqlite3_result_blob64(context, b.as_ptr().cast(), b.len() as u64, ffi::SQLITE_TRANSIENT())
            }
        }
    }
}

fn set_error(context: *mut ffi::sqlite3_context, session: &SessionCell, error: PgError) {
    session.set_error(error);
    // SAFETY: as above; SQLite copies the text.
    unsafe { ffi::sqlite3_result_error(context, MARKER.as_ptr().cast(), MARKER.len() as c_int) };
}

/// What a value's bytes take to read, where they are many; numbers count nothing.
fn weight(values: &[*mut ffi::sqlite3_value]) -> usize {
    let weigh = |&value: &*mut ffi::sqlite3_value| {
        // SAFETY: SQLite's arguments; the length of a text or blob is at hand.
        unsafe {
            match ffi::sqlite3_value_type(value) {
                ffi::SQLITE_TEXT | ffi::SQLITE_BLOB => ffi::sqlite3_value_bytes(value) as usize,
                _ => 0,
            }
        }
    };
    values.iter().map(weigh).sum()
}

/// Runs a native: requests that come meanwhile end it, and large arguments are announced before they are read.
fn guarded<R>(values: &[*mut ffi::sqlite3_value], run: impl FnOnce() -> Result<R>) -> Result<R> {
    work::catching(|| {
        work::room(8 + weight(values))?;
        run()
    })
}

/// A function bound to a connection.
struct Bound {
    session: Arc<SessionCell>,
    run: Scalar,
    strict: bool,
}

extern "C" fn call_scalar(context: *mut ffi::sqlite3_context, count: c_int, values: *mut *mut ffi::sqlite3_value) {
    // SAFETY: the user data is the `Bound` given at registration, which lives until the connection closes; SQLite passes
    // `count` values.
    let (bound, values) = unsafe {
        let bound = &*(ffi::sqlite3_user_data(context) as *const Bound);
        let values = if count == 0 { &[][..] } else { std::slice::from_raw_parts(values, count as usize) };
        (bound, values)
    };
    if bound.strict {
        for &v in values {
            // SAFETY: as above.
            if unsafe { ffi::sqlite3_value_type(v) } == ffi::SQLITE_NULL {
                // SAFETY: a live context.
                return unsafe { ffi::sqlite3_result_null(context) };
            }
        }
    }
    if let Err(error) = memory::check() {
        return set_error(context, &bound.session, error);
    }
    let call = Call::of_sqlite(values, &bound.session, connection_of(context));
    match guarded(values, || (bound.run)(&call)) {
        Ok(value) => set_result(context, &bound.session, &value),
        Err(error) => set_error(context, &bound.session, error),
    }
}

extern "C" fn drop_bound<T>(data: *mut c_void) {
    // SAFETY: made by Box::into_raw at registration; SQLite calls this once.
    drop(unsafe { Box::from_raw(data as *mut T) });
}

/// How a function is registered.
#[derive(Debug, Clone, Copy)]
pub struct Traits {
    /// Number of arguments; -1: any.
    pub arity: i32,
    pub strict: bool,
    pub deterministic: bool,
}

fn flags(traits: Traits) -> c_int {
    ffi::SQLITE_UTF8 | ffi::SQLITE_INNOCUOUS | if traits.deterministic { ffi::SQLITE_DETERMINISTIC } else { 0 }
}

fn c_name(name: &str) -> Result<CString> {
    CString::new(name).map_err(|_| PgError::internal("a function name with NUL"))
}

fn checked(code: c_int, name: &str) -> Result<()> {
    match code {
        ffi::SQLITE_OK => Ok(()),
        code => Err(PgError::internal(format!("registering {name} failed with SQLite code {code}"))),
    }
}

/// Registers a scalar function.
pub fn scalar(
    db: *mut ffi::sqlite3,
    session: &Arc<SessionCell>,
    name: &str,
    traits: Traits,
    run: Scalar,
) -> Result<()> {
    let bound = Box::into_raw(Box::new(Bound { session: session.clone(), run, strict: traits.strict }));
    let c = c_name(name)?;
    // SAFETY: `db` is an open connection; SQLite owns `bound` from here, also on failure.
    let code = unsafe {
        ffi::sqlite3_create_function_v2(
            db,
            c.as_ptr(),
            traits.arity,
            flags(traits),
            bound.cast(),
            Some(call_scalar),
            None,
            None,
            Some(drop_bound::<Bound>),
        )
    };
    checked(code, name)
}

/// The state of one group of a native aggregate.
pub trait State: Any {
    /// Takes a row in. `call` has all arguments, incl. the type list of typed aggregates.
    fn step(&mut self, call: &Call) -> Result<()>;
    /// Takes the oldest row out again (a moving window frame). Only called if the registration says `invertible`.
    fn inverse(&mut self, _call: &Call) -> Result<()> {
        Err(PgError::not_supported("a moving window frame for this aggregate"))
    }
    /// The result so far.
    fn value(&mut self, session: &SessionCell) -> Result<Datum>;
    /// What another state of the same aggregate has seen, rows that come later, counts as seen here. Of aggregates whose states keep no
    /// rows (`lower::groups`).
    fn combine(&mut self, _later: Box<dyn Any>) -> Result<()> {
        Err(PgError::internal("states of an aggregate that cannot be combined"))
    }
}

/// The state that is to be combined with one of its kind.
pub(crate) fn same_kind<S: State>(later: Box<dyn Any>) -> Result<Box<S>> {
    later.downcast().map_err(|_| PgError::internal("states of different aggregates"))
}

/// Makes the state of an empty group.
pub type NewState = fn() -> Box<dyn State>;

struct BoundAggregate {
    session: Arc<SessionCell>,
    new: NewState,
    /// the variant that leaves equal rows out
    distinct: bool,
    /// Rows with a NULL in one of the arguments are left out (the aggregate's transition function is strict).
    strict: bool,
}

impl BoundAggregate {
    fn make(&self) -> Box<dyn State> {
        let state = (self.new)();
        if self.distinct {
            return Box::new(super::distinct::Distinct::new(state));
        }
        state
    }
}

/// What SQLite keeps per group: a pointer to the state, null before the first row.
type Slot = *mut Box<dyn State>;

unsafe fn aggregate_slot(context: *mut ffi::sqlite3_context, make: bool) -> Option<&'static mut Slot> {
    // SAFETY: SQLite gives zeroed memory of that size, kept until xFinal.
    unsafe {
        let bytes = if make { std::mem::size_of::<Slot>() as c_int } else { 0 };
        (ffi::sqlite3_aggregate_context(context, bytes) as *mut Slot).as_mut()
    }
}

fn transition(
    context: *mut ffi::sqlite3_context,
    count: c_int,
    values: *mut *mut ffi::sqlite3_value,
    run: fn(&mut dyn State, &Call) -> Result<()>,
) {
    // SAFETY: as in `call_scalar`.
    let (bound, values) = unsafe {
        let bound = &*(ffi::sqlite3_user_data(context) as *const BoundAggregate);
        let values = if count == 0 { &[][..] } else { std::slice::from_raw_parts(values, count as usize) };
        (bound, values)
    };
    // SAFETY: SQLite's argument values live as long as the call.
    if bound.strict && values.iter().any(|&v| unsafe { ffi::sqlite3_value_type(v) } == ffi::SQLITE_NULL) {
        return;
    }
    if let Err(error) = memory::check() {
        return set_error(context, &bound.session, error);
    }
    // SAFETY: `context` is that of this call of an aggregate.
    let Some(slot) = (unsafe { aggregate_slot(context, true) }) else {
        // SAFETY: as above.
        return unsafe { ffi::sqlite3_result_error_nomem(context) };
    };
    if slot.is_null() {
        *slot = Box::into_raw(Box::new(bound.make()));
    }
    let call = Call::of_sqlite(values, &bound.session, connection_of(context));
    // SAFETY: the slot holds a live box until xFinal.
    let state = unsafe { &mut **slot };
    match guarded(values, || run(&mut **state, &call)) {
        Ok(()) => {}
        Err(error) => set_error(context, &bound.session, error),
    }
}

extern "C" fn aggregate_step(context: *mut ffi::sqlite3_context, n: c_int, values: *mut *mut ffi::sqlite3_value) {
    transition(context, n, values, |s, c| s.step(c));
}
extern "C" fn aggregate_inverse(context: *mut ffi::sqlite3_context, n: c_int, values: *mut *mut ffi::sqlite3_value) {
    transition(context, n, values, |s, c| s.inverse(c));
}

/// Whether the statement has met an error or is to end for a request.
fn has_failed(context: *mut ffi::sqlite3_context, session: &SessionCell) -> bool {
    // SAFETY: a live context of a live connection.
    session.has_error() || unsafe { ffi::sqlite3_is_interrupted(connection_of(context)) } != 0
}

fn aggregate_result(context: *mut ffi::sqlite3_context, last: bool) {
    // SAFETY: as above.
    let bound = unsafe { &*(ffi::sqlite3_user_data(context) as *const BoundAggregate) };
    if last && has_failed(context, &bound.session) {
        // SQLite clears up, for which it calls xFinal too: nobody wants the result, which may take as long as all steps together
        // SAFETY: a live context of an aggregate.
        if let Some(slot) = unsafe { aggregate_slot(context, false) }.filter(|slot| !slot.is_null()) {
            // SAFETY: as below.
            drop(unsafe { Box::from_raw(*slot) });
            *slot = std::ptr::null_mut();
        }
        // SAFETY: a live context.
        return unsafe { ffi::sqlite3_result_error_code(context, ffi::SQLITE_INTERRUPT) };
    }
    // SAFETY: a live context of an aggregate.
    let result = match unsafe { aggregate_slot(context, false) } {
        Some(slot) if !slot.is_null() => {
            // SAFETY: the slot has a state that `aggregate_step` has made, and nobody else uses it during the call.
            let state = unsafe { &mut **slot };
            let result = work::catching(|| state.value(&bound.session));
            if last {
                // SAFETY: xFinal is the slot's last use.
                drop(unsafe { Box::from_raw(*slot) });
                *slot = std::ptr::null_mut();
            }
            result
        }
        _ => work::catching(|| bound.make().value(&bound.session)),
    };
    match result {
        Ok(value) => set_result(context, &bound.session, &value),
        Err(error) => set_error(context, &bound.session, error),
    }
}

extern "C" fn aggregate_final(context: *mut ffi::sqlite3_context) {
    aggregate_result(context, true);
}
extern "C" fn aggregate_value(context: *mut ffi::sqlite3_context) {
    aggregate_result(context, false);
}

/// Registers an aggregate that is a window function too. `distinct`: its variant for DISTINCT.
pub fn aggregate(
    db: *mut ffi::sqlite3,
    session: &Arc<SessionCell>,
    name: &str,
    traits: Traits,
    new: NewState,
    distinct: bool,
) -> Result<()> {
    let bound =
        Box::into_raw(Box::new(BoundAggregate { session: session.clone(), new, distinct, strict: traits.strict }));
    let c = c_name(name)?;
    // SAFETY: as in `scalar`.
    let code = unsafe {
        ffi::sqlite3_create_window_function(
            db,
            c.as_ptr(),
            traits.arity,
            flags(traits),
            bound.cast(),
            Some(aggregate_step),
            Some(aggregate_final),
            Some(aggregate_value),
            Some(aggregate_inverse),
            Some(drop_bound::<BoundAggregate>),
        )
    };
    checked(code, name)
}
