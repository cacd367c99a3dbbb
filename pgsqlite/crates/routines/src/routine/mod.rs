//! Functions, procedures and triggers of the user: running their bodies.
//!
//! A statement that calls a function was lowered to a call of the native `pg_call` (or `pg_call_rows`), which finds the function
//! in the catalog and runs its body on the same connection: SQLite allows statements inside a function that a statement calls.
//!
//! * [`statement`]: a statement of a body, planned once and run many times; [`convert`]: values between types
//! * [`trigger`]: statements that fire triggers; [`after`]: what comes when their rows are stored; [`foreign_key`]: the foreign keys that
//!   SQLite cannot carry out; [`builtin_triggers`]: PostgreSQL's own trigger functions
//! * [`aggregate`]: aggregates made of functions
//! * [`cursors`]: what functions leave open
//! * [`sql`]: bodies in SQL; [`plpgsql`]: bodies in PL/pgSQL; [`utility`]: DDL and the like inside a body
//!
//! What a body may do follows from the statement around it ([`Access`]): the session has taken the writer slot if the functions
//! that it calls may change data (`pgsqlite_sql::effects`). Nothing here waits for anything.

pub mod after;
pub mod aggregate;
pub mod builtin_triggers;
pub mod convert;
mod counted;
pub mod cursors;
mod exclusion_check;
pub mod firing;
mod foreign_key;
mod own_settings;
pub mod plpgsql;
mod proposed;
mod queried;
pub mod rewritten;
pub mod scratch;
mod set_constraints;
mod sql_body;
pub mod statement;
pub mod trigger;
mod tuple_routing;
pub mod utility;

use crate::cursor_position::CursorPosition;
use libsqlite3_sys as ffi;
use parking_lot::Mutex;
use pgsqlite_metadata::store::names::CatalogNames;
use pgsqlite_natives::udf::session_cell::{Routines, SessionCell};
use pgsqlite_natives::udf::shim::{Call, Scalar};
use pgsqlite_sql::analyze::Environment;
use pgsqlite_sql::catalog::Catalog;
use pgsqlite_sql::routine::{Function, Language};
use pgsqlite_storage::sqlite_statement::RawStatement;
use pgsqlite_storage::written::Written;
use pgsqlite_types::array::Array;
use pgsqlite_types::{oid, record, Datum, Oid, PgError, Result, SqlState};
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;
use std::sync::Arc;

/// Functions that call each other, at most: each level is a step of SQLite on the stack.
const DEEPEST: usize = 200;
/// The stack that a level may need.
const STACK: usize = 512 << 10;
/// Compiled functions kept per connection.
const KEPT: usize = 256;
/// A prepared statement takes several times the bytes of its text: none of a longer text is kept.
const LONGEST_KEPT: usize = 32 << 10;

/// What functions may do to data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Access {
    /// the writer slot is not ours: a change would be made outside the order of writers
    #[default]
    Read,
    /// the transaction is read-only
    ReadOnly,
    Write,
}

/// What the functions of a connection keep and tell the session.
#[derive(Default)]
pub struct Runtime {
    pub access: Cell<Access>,
    /// what runs is a DO or a procedure that nothing but such called, outside a transaction block: COMMIT could end a transaction here
    pub may_end_transaction: Cell<bool>,
    /// who ends the transaction for a body that may do so
    ender: RefCell<Option<Ender>>,
    /// what the calls have taken that were counted
    counted_time: Cell<std::time::Duration>,
    /// blocks with EXCEPTION that run
    subtransactions: Cell<usize>,
    /// loops over the rows of data modifications that run
    writing_loops: Cell<usize>,
    depth: Cell<usize>,
    /// where the bodies that run are, the innermost last
    pub places: RefCell<Vec<Place>>,
    /// how many of the functions that run are triggers'
    pub trigger_depth: Cell<usize>,
    /// a function that is not volatile runs: it changes nothing
    steady: Cell<bool>,
    compiled: RefCell<HashMap<(Oid, String), Compiled>>,
    conversions: RefCell<HashMap<(Oid, Oid, i32), Rc<statement::Planned>>>,
    /// aggregates ready to compute, by what lowering wrote of them
    aggregates: RefCell<HashMap<String, Rc<aggregate::Program>>>,
    /// WHEN conditions of triggers, by trigger
    conditions: RefCell<HashMap<Oid, Rc<Condition>>>,
    /// the rows of tables with triggers, by table: with the catalog's epoch
    shapes: RefCell<HashMap<Oid, (u64, Rc<plpgsql::Shape>)>>,
    /// prepared statements that are not in use, by text
    statements: RefCell<HashMap<String, Vec<RawStatement>>>,
    /// the catalog after DDL of a body, and the sequences that it made or set: the session takes them over
    pub changed: RefCell<Option<(Arc<Catalog>, Vec<Oid>)>>,
    /// temporary tables were made
    pub temporary: Cell<bool>,
    /// for names of savepoints
    blocks: Cell<usize>,
    /// the statements that run, the innermost last
    levels: RefCell<Vec<after::Level>>,
    /// the tables that the queries of the loops read that run
    pub loop_tables: RefCell<Vec<Oid>>,
    /// temporary tables between the steps of the statements that run
    busy_tables: RefCell<Vec<String>>,
    /// what a COPY FROM leaves to be done after its last row
    copying: RefCell<after::Level>,
    /// what waits for the end of the transaction
    pub pending: RefCell<VecDeque<Rc<after::Pending>>>,
    /// the same as it was at each savepoint
    waited: RefCell<Vec<VecDeque<Rc<after::Pending>>>>,
    /// the same as it was before a statement that may be undone
    kept: RefCell<VecDeque<Rc<after::Pending>>>,
    /// what the statements of functions have passed over since the outer statement began
    pub passed_over: Cell<pgsqlite_sql::plan::PassesOver>,
    /// what SET CONSTRAINTS has said
    pub modes: RefCell<crate::constraint_modes::Modes>,
    /// a body has said it: the session takes it over
    pub modes_set: Cell<bool>,
    /// statements of foreign keys: by constraint, table and kind
    keys: RefCell<HashMap<(Oid, Oid, char), Rc<statement::Planned>>>,
    /// rows that the connection has written of the tables that are watched
    pub written: Arc<Mutex<Written>>,
    /// what the transaction changes, if that is recorded
    pub recorder: Arc<Mutex<pgsqlite_storage::changes::recorder::Recorder>>,
    /// the cursors that functions have opened
    pub cursors: RefCell<cursors::Cursors>,
    /// a body's cursors have asked for that: to be forgotten when the transaction ends
    pub has_positioned_cursors: Cell<bool>,
}

/// Where a body that runs is.
pub struct Place {
    /// `PL/pgSQL function f(integer)`, or all of the line for a body in SQL
    pub body: Rc<str>,
    /// None: a body in SQL
    pub at: Option<(u32, &'static str)>,
    /// the text of the SQL statement that it runs
    pub statement: Option<String>,
}

/// A body runs, as long as this lives.
pub struct Entered<'a>(&'a Runtime);

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        self.0.places.borrow_mut().pop();
    }
}

/// The session's side of COMMIT and ROLLBACK in a body, which runs on a thread of its own meanwhile.
pub struct Ender {
    /// true: COMMIT
    pub request: std::sync::mpsc::Sender<bool>,
    pub done: std::sync::mpsc::Receiver<Result<()>>,
}

/// A function ready to run, with what it was made for.
struct Compiled {
    stamp: Stamp,
    run: Runnable,
}

#[derive(Clone)]
enum Runnable {
    Sql(Rc<sql_body::SqlFunction>),
    PlPgSql(Rc<plpgsql::Program>),
}

/// What decides how a body is analyzed.
#[derive(Clone, PartialEq)]
pub struct Stamp {
    epoch: u64,
    path: Vec<Oid>,
    user: Oid,
    settings: String,
}

impl Stamp {
    pub fn now(cell: &SessionCell) -> Stamp {
        let state = cell.state();
        Stamp {
            epoch: state.catalog.epoch,
            path: state.search_path.clone(),
            user: state.user_oid,
            settings: state.plan_key.clone(),
        }
    }
    /// Whether it is still as it was.
    pub fn holds(&self, cell: &SessionCell) -> bool {
        let state = cell.state();
        self.epoch == state.catalog.epoch
            && self.user == state.user_oid
            && self.path == state.search_path
            && self.settings == state.plan_key
    }

    /// Whether names and literals mean the same as then.
    fn reads_as_now(&self, cell: &SessionCell) -> bool {
        let state = cell.state();
        self.path == state.search_path && self.settings == state.plan_key
    }

    /// Runs with names and literals read as then. `settings`: the ones of then.
    fn while_read<R>(&self, cell: &SessionCell, settings: &pgsqlite_types::Settings, run: impl FnOnce() -> R) -> R {
        let swap = |other: (Vec<Oid>, String, pgsqlite_types::Settings)| {
            cell.update(|state| {
                (
                    std::mem::replace(&mut state.search_path, other.0),
                    std::mem::replace(&mut state.plan_key, other.1),
                    std::mem::replace(&mut state.settings, other.2),
                )
            })
        };
        let now = swap((self.path.clone(), self.settings.clone(), settings.clone()));
        let result = run();
        swap(now);
        result
    }
}

/// The functions of the user on a connection.
pub trait HasRoutines {
    fn routines(&self) -> &Runtime;
}

impl HasRoutines for SessionCell {
    fn routines(&self) -> &Runtime {
        match self.routines.as_any().downcast_ref() {
            Some(runtime) => runtime,
            None => unreachable!("a connection's cell is made with a runtime of this module"),
        }
    }
}

impl Routines for Runtime {
    fn as_any(&self) -> &dyn std::any::Any {
        self
    }
    fn trigger_depth(&self) -> usize {
        self.trigger_depth.get()
    }
    fn assign(&self, c: &Call, value: Datum, from: Oid, to: Oid) -> Result<Datum> {
        convert::assign(Host { cell: c.session, db: c.connection() }, value, from, to, -1)
    }
    fn queried(&self, c: &Call, text: &str) -> Result<(Vec<Oid>, Vec<Vec<Datum>>)> {
        queried::queried(Host { cell: c.session, db: c.connection() }, text)
    }
    fn is_in_subtransaction(&self) -> bool {
        self.subtransactions.get() > 0
    }
    fn only_reads_from_now(&self) {
        self.access.set(Access::ReadOnly);
    }
    fn check_may_write(&self, command: &str) -> Result<()> {
        statement::check_may_write(self, command)
    }
    fn check_not_read_only(&self, command: &str) -> Result<()> {
        statement::check_not_read_only(self, command)
    }
}

impl Runtime {
    /// Finalizes all statements: before the connection closes.
    pub fn clear(&self) {
        self.compiled.borrow_mut().clear();
        self.conversions.borrow_mut().clear();
        self.aggregates.borrow_mut().clear();
        self.conditions.borrow_mut().clear();
        self.keys.borrow_mut().clear();
        self.statements.borrow_mut().clear();
    }

    /// Whether anything waits for the end of the transaction.
    pub fn has_pending(&self) -> bool {
        !self.pending.borrow().is_empty()
    }

    /// A transaction begins: nothing waits for its end.
    pub fn begin(&self) {
        self.pending.borrow_mut().clear();
        self.waited.borrow_mut().clear();
    }

    /// The savepoint of this number is made.
    pub fn savepoint(&self, number: usize) {
        let mut waited = self.waited.borrow_mut();
        waited.resize(number, VecDeque::new());
        waited.push(self.pending.borrow().clone());
    }

    /// The transaction is again as it was at this savepoint.
    pub fn rollback_to(&self, number: usize) {
        let mut waited = self.waited.borrow_mut();
        waited.truncate(number + 1);
        *self.pending.borrow_mut() = waited.get(number).cloned().unwrap_or_default();
    }

    /// A statement begins that may be undone.
    pub fn keep_pending(&self) {
        self.kept.borrow_mut().clone_from(&self.pending.borrow());
        self.passed_over.set(Default::default());
    }

    /// It is undone.
    pub fn go_back_to_kept(&self) {
        self.pending.borrow_mut().clone_from(&self.kept.borrow());
    }

    pub fn enter(&self, body: Rc<str>, at: Option<(u32, &'static str)>) -> Entered<'_> {
        self.places.borrow_mut().push(Place { body, at, statement: None });
        Entered(self)
    }

    /// The innermost body is at this statement.
    pub fn at(&self, line: u32, what: &'static str) {
        if let Some(place) = self.places.borrow_mut().last_mut() {
            place.at = Some((line, what));
        }
    }

    /// The SQL that the innermost body runs. None: no more.
    pub fn runs(&self, statement: Option<String>) {
        if let Some(place) = self.places.borrow_mut().last_mut() {
            place.statement = statement;
        }
    }

    /// What `PG_CONTEXT` says: the bodies that run, from the inside out.
    pub fn context(&self) -> String {
        let mut lines = Vec::new();
        for place in self.places.borrow().iter().rev() {
            if let Some(statement) = &place.statement {
                lines.push(format!("SQL statement \"{statement}\""));
            }
            lines.push(match place.at {
                Some((line, what)) => format!("PL/pgSQL function {} line {line} at {what}", place.body),
                None => place.body.to_string(),
            });
        }
        lines.join("\n")
    }

    /// Who ends the transaction from now on. None: nobody can.
    pub fn set_ender(&self, ender: Option<Ender>) {
        self.ender.replace(ender);
        self.subtransactions.set(0);
        self.writing_loops.set(0);
    }

    /// COMMIT (or ROLLBACK) in a body; a new transaction begins. Errors: 2D000 where none may end.
    fn end_transaction(&self, commit: bool) -> Result<()> {
        let wrong = |message: &str| Err(PgError::new(SqlState::INVALID_TRANSACTION_TERMINATION, message));
        if !self.may_end_transaction.get() {
            return wrong("invalid transaction termination");
        }
        if self.subtransactions.get() > 0 {
            return wrong(match commit {
                true => "cannot commit while a subtransaction is active",
                false => "cannot roll back while a subtransaction is active",
            });
        }
        if self.writing_loops.get() > 0 {
            return Err(PgError::new(
                SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
                "cannot perform transaction commands inside a cursor loop that is not read-only",
            ));
        }
        let ender = self.ender.borrow();
        let Some(ender) = ender.as_ref() else {
            return Err(PgError::not_supported("COMMIT or ROLLBACK in a body that was not seen to have one"));
        };
        let gone = || PgError::internal("nobody ends the transaction");
        ender.request.send(commit).map_err(|_| gone())?;
        ender.done.recv().map_err(|_| gone())?
    }

    /// Whether a constraint is checked when the transaction ends.
    fn is_deferred(&self, constraint: &pgsqlite_sql::catalog::Constraint) -> bool {
        self.modes.borrow().is_deferred(constraint)
    }

    fn is_deferred_trigger(&self, trigger: &pgsqlite_sql::routine::Trigger) -> bool {
        self.modes.borrow().says(trigger.constraint, trigger.deferrable, trigger.initially_deferred)
    }

    /// The shape of a table's rows: one and the same as long as the catalog is.
    fn shape(&self, host: Host, relation: &pgsqlite_sql::catalog::Relation) -> Rc<plpgsql::Shape> {
        let epoch = host.cell.state().catalog.epoch;
        if let Some((made, shape)) = self.shapes.borrow().get(&relation.oid) {
            if *made == epoch {
                return shape.clone();
            }
        }
        let fields = relation.live_columns().map(|c| (c.name.clone(), c.type_oid, c.typmod)).collect();
        let shape = Rc::new(plpgsql::Shape { fields, ty: relation.row_type });
        self.shapes.borrow_mut().insert(relation.oid, (epoch, shape.clone()));
        shape
    }

    /// A trigger's WHEN, planned.
    fn condition(&self, host: Host, trigger: Oid, text: &str, names: &firing::RowNames) -> Result<Rc<Condition>> {
        if let Some(found) = self.conditions.borrow().get(&trigger) {
            if found.0.holds(host) {
                return Ok(found.clone());
            }
        }
        let statements = pgsqlite_sql::parse::parse(&format!("SELECT {text}"))?;
        let node = &statements.first().ok_or_else(|| PgError::internal("a condition that is none"))?.node;
        let planned = statement::Planned::of_stored_text(host, node, names, || names.types())?;
        let made = Rc::new((planned, names.sources.borrow().clone()));
        self.conditions.borrow_mut().insert(trigger, made.clone());
        Ok(made)
    }
}

/// A planned condition, and what its parameters are: NEW (else OLD), and the field.
type Condition = (statement::Planned, Vec<(bool, Option<usize>)>);

/// The connection on which a body runs, seen from inside it.
#[derive(Clone, Copy)]
pub struct Host<'a> {
    pub cell: &'a SessionCell,
    pub db: *mut ffi::sqlite3,
}

impl<'a> Host<'a> {
    pub fn routines(&self) -> &'a Runtime {
        self.cell.routines()
    }

    /// The last error of SQLite, or the one that a native raised.
    pub fn error(&self) -> PgError {
        if let Some(error) = self.cell.take_error() {
            return error;
        }
        // SAFETY: a live connection; the message is copied at once.
        let (code, message) = unsafe {
            let message = std::ffi::CStr::from_ptr(ffi::sqlite3_errmsg(self.db)).to_string_lossy().into_owned();
            (ffi::sqlite3_extended_errcode(self.db), message)
        };
        // SAFETY: a live connection.
        if code == ffi::SQLITE_ABORT_ROLLBACK && unsafe { ffi::sqlite3_get_autocommit(self.db) } == 0 {
            return pgsqlite_storage::error::given_up();
        }
        let state = self.cell.state();
        pgsqlite_metadata::error::from_sqlite(code, &message, Some(&state.catalog))
    }

    /// Runs SQL of our own.
    pub fn exec(&self, sql: &str) -> Result<()> {
        self.connection()?.execute_batch(sql).map_err(|_| self.error())
    }

    /// rusqlite's view of the connection, which it does not close.
    pub fn connection(&self) -> Result<rusqlite::Connection> {
        // SAFETY: the handle belongs to the engine and outlives this view of it.
        unsafe { rusqlite::Connection::from_handle(self.db) }.map_err(|e| PgError::internal(e.to_string()))
    }

    pub fn prepare(&self, sql: &str) -> Result<RawStatement> {
        RawStatement::prepare(self.db, sql).map_err(|_| self.error())
    }

    /// A prepared statement of this text: kept, or prepared now.
    pub fn kept_statement(&self, sql: &str) -> Result<RawStatement> {
        let found = self.routines().statements.borrow_mut().get_mut(sql).and_then(Vec::pop);
        match found {
            Some(statement) => Ok(statement),
            None => self.prepare(sql),
        }
    }

    /// Gives a statement back that has been reset.
    pub fn keep_statement(&self, sql: &str, statement: RawStatement) {
        if sql.len() > LONGEST_KEPT {
            return;
        }
        let mut kept = self.routines().statements.borrow_mut();
        if kept.len() >= KEPT && !kept.contains_key(sql) {
            kept.clear();
        }
        match kept.get_mut(sql) {
            Some(list) => list.push(statement),
            None => {
                kept.insert(sql.to_string(), vec![statement]);
            }
        }
    }

    pub fn catalog(&self) -> Arc<Catalog> {
        self.cell.state().catalog.clone()
    }

    /// Runs with the session's environment. No function is called meanwhile.
    pub fn with_environment<R>(&self, run: impl FnOnce(&Environment) -> R) -> R {
        let state = self.cell.state();
        run(&Environment {
            catalog: &state.catalog,
            search_path: &state.search_path,
            settings: &state.settings,
            names: &*state.names,
            user: state.user_oid,
            rights: pgsqlite_sql::analyze::Rights::AskedNow,
            parameters: Default::default(),
            sqlite_text: pgsqlite_sql::lower::lower_expression,
        })
    }

    /// Runs with the session's environment as it is now. Functions may be called meanwhile, and change the state.
    pub fn with_environment_of_now<R>(&self, run: impl FnOnce(&Environment) -> R) -> R {
        let (catalog, path, settings, user) = {
            let state = self.cell.state();
            (state.catalog.clone(), state.search_path.clone(), state.settings.clone(), state.user_oid)
        };
        run(&Environment {
            catalog: &catalog,
            search_path: &path,
            settings: &settings,
            names: &CatalogNames { catalog: &catalog, search_path: &path },
            user,
            rights: pgsqlite_sql::analyze::Rights::AskedNow,
            parameters: Default::default(),
            sqlite_text: pgsqlite_sql::lower::lower_expression,
        })
    }

    /// A value as text, as its type prints it.
    pub fn text_of(&self, value: &Datum, ty: Oid) -> Result<String> {
        let codec = self.cell.codec(ty)?;
        let mut out = Vec::new();
        self.cell.with_context(|context| codec.text_out(value.as_ref(), context, &mut out))?;
        String::from_utf8(out).map_err(|_| PgError::internal("text output that is no UTF-8"))
    }

    /// A cursor is open: rows that are deleted (or, if it locks them, changed) from now on are gone for it.
    pub fn watch_position(&self, position: &mut CursorPosition) {
        let (catalog, runtime) = (self.catalog(), self.routines());
        let mut written = runtime.written.lock();
        for (temporary, table, changes) in position.watched(&catalog) {
            written.watch_cursor(temporary, table, changes);
        }
        position.since = written.now();
        drop(written);
        runtime.has_positioned_cursors.set(true);
        // SAFETY: a live connection, whose cell holds what is written.
        unsafe { pgsqlite_storage::written::listen(self.db, &runtime.written) }
    }

    /// To be called for each row or statement of a routine. Errors: 57014, 57P01 if the statement is to end.
    pub fn check_interrupt(&self) -> Result<()> {
        pgsqlite_types::work::tick(64)
    }

    /// Whether a transaction of SQLite is open.
    pub fn in_transaction(&self) -> bool {
        // SAFETY: a live connection.
        unsafe { ffi::sqlite3_get_autocommit(self.db) == 0 }
    }
}

/// What a call gave.
pub enum Outcome {
    Value(Datum),
    /// the columns' values of each row
    Rows(Vec<Vec<Datum>>),
}

/// Calls a function. `types`: of the arguments at the call; `ret`: of the result.
pub fn call(host: Host, function: Oid, types: &[Oid], ret: Oid, args: Vec<Datum>) -> Result<Outcome> {
    let catalog = host.catalog();
    let routine = catalog.routines.get(&function).ok_or_else(|| {
        PgError::new(SqlState::UNDEFINED_FUNCTION, format!("cache lookup failed for function {function}"))
    })?;
    let f = &routine.function;
    // a procedure's call has arguments for its OUT parameters, too
    let (types, args): (Vec<Oid>, Vec<Datum>) = if f.procedure {
        let inputs = f.arguments.iter().map(|a| a.mode.is_input());
        types.iter().copied().zip(args).zip(inputs).filter(|(_, input)| *input).map(|(both, _)| both).unzip()
    } else {
        (types.to_vec(), args)
    };
    let types = &types[..];
    if f.strict && args.iter().any(Datum::is_null) {
        return Ok(if f.returns_set { Outcome::Rows(vec![]) } else { Outcome::Value(Datum::Null) });
    }
    let runtime = host.routines();
    let depth = runtime.depth.get();
    if depth >= DEEPEST {
        return Err(PgError::new(SqlState::STATEMENT_TOO_COMPLEX, "stack depth limit exceeded").hint(
            "Functions that call each other are nested too deeply: each call runs inside a statement of SQLite.",
        ));
    }
    runtime.depth.set(depth + 1);
    let plain = f.procedure && f.settings.is_empty() && !f.security_definer;
    let could_end = runtime.may_end_transaction.replace(plain && runtime.may_end_transaction.get());
    let steady = runtime.steady.replace(runtime.steady.get() || f.volatility != b'v');
    let counted = counted::Counted::begin(host, f);
    let result = stacker::maybe_grow(STACK, STACK * 32, || {
        own_settings::with_settings(host, f, || {
            let runnable = compiled(host, f, types, ret)?;
            match &runnable {
                Runnable::Sql(sql) => sql.run(host, f, args),
                Runnable::PlPgSql(program) => program.call(host, f, args),
            }
        })
    });
    if let (Some(counted), Ok(_)) = (counted, &result) {
        counted.end(host);
    }
    runtime.steady.set(steady);
    runtime.depth.set(depth);
    runtime.may_end_transaction.set(could_end);
    result
}

/// Bodies and texts that functions run are read as the standard has it: refuses those in which backslashes would escape.
pub fn check_escapes(host: Host, text: &str) -> Result<()> {
    if host.cell.state().settings.standard_conforming_strings || !pgsqlite_sql::escapes::depends(text) {
        return Ok(());
    }
    let what = "a function with a backslash in a string constant while standard_conforming_strings is off";
    Err(PgError::not_supported(what))
}

/// The function's program, for these types of arguments: kept, or made now.
fn compiled(host: Host, f: &Function, types: &[Oid], ret: Oid) -> Result<Runnable> {
    check_escapes(host, &f.source)?;
    let list: Vec<String> = types.iter().chain([&ret]).map(Oid::to_string).collect();
    let key = (f.oid, list.join(","));
    if let Some(found) = host.routines().compiled.borrow().get(&key) {
        if found.stamp.holds(host.cell) {
            return Ok(found.run.clone());
        }
    }
    let run = match f.language {
        Language::Sql => Runnable::Sql(Rc::new(sql_body::SqlFunction::compile(host, f, types, ret)?)),
        Language::Internal => {
            return Err(PgError::not_supported(format!("calling the internal function \"{}\" here", f.source)))
        }
        Language::PlPgSql => Runnable::PlPgSql(Rc::new(plpgsql::Program::compile(host, f, types, ret)?)),
    };
    let mut kept = host.routines().compiled.borrow_mut();
    if kept.len() >= KEPT {
        kept.clear();
    }
    kept.insert(key, Compiled { stamp: Stamp::now(host.cell), run: run.clone() });
    Ok(run)
}

/// The types of a call as lowering writes them: `'23,25>114'`.
fn call_types(text: &str) -> Result<(Vec<Oid>, Oid)> {
    let types = pgsqlite_natives::udf::shim::Types::parse(text)?;
    Ok((types.args, types.result))
}

fn outcome(c: &Call) -> Result<(Outcome, Oid)> {
    let function = c.int(0)? as Oid;
    let (types, ret) = call_types(c.text(1)?)?;
    let args = (2..c.len()).map(|i| c.datum(i).to_owned()).collect();
    let host = Host { cell: c.session, db: c.connection() };
    Ok((call(host, function, &types, ret, args)?, ret))
}

/// (function, types, argument …) → the result
fn pg_call(c: &Call) -> Result<Datum> {
    match outcome(c)?.0 {
        Outcome::Value(value) => Ok(value),
        Outcome::Rows(_) => Err(PgError::internal("a set where one value is due")),
    }
}

/// (function, types, argument …) → JSON array of rows: values, records (of a composite type), or arrays of columns (OUT
/// parameters)
fn pg_call_rows(c: &Call) -> Result<Datum> {
    let (outcome, ret) = outcome(c)?;
    let Outcome::Rows(rows) = outcome else { return Err(PgError::internal("one value where a set is due")) };
    let catalog = c.session.state().catalog.clone();
    let outputs: Vec<Oid> =
        catalog.function(c.int(0)? as Oid).map(|f| f.outputs().map(|a| a.type_oid).collect()).unwrap_or_default();
    let mut out = String::from("[");
    for (i, row) in rows.into_iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        if outputs.len() > 1 {
            out.push_str(&Array::from_elements(row).to_storage());
        } else {
            let mut row = row;
            let value = match row.len() {
                1 => row.remove(0),
                _ => return Err(PgError::internal("a row of a set that is not one value")),
            };
            let item = Array::from_elements(vec![value]).to_storage();
            out.push_str(&item[1..item.len() - 1]);
        }
    }
    let _ = ret;
    out.push(']');
    Ok(Datum::Text(out))
}

/// (function, types, argument …, expected types) → JSON array of the records' values. Errors: 42804 where a record has others.
fn pg_call_records(c: &Call) -> Result<Datum> {
    let function = c.int(0)? as Oid;
    let (types, ret) = call_types(c.text(1)?)?;
    let last = c.len() - 1;
    let bad = || PgError::internal("a definition list");
    let (mut expected, mut modifiers): (Vec<Oid>, Vec<i32>) = (Vec::new(), Vec::new());
    for item in c.text(last)?.split(',') {
        let (ty, typmod) = item.split_once(':').ok_or_else(bad)?;
        expected.push(ty.parse().map_err(|_| bad())?);
        modifiers.push(typmod.parse().map_err(|_| bad())?);
    }
    let args = (2..last).map(|i| c.datum(i).to_owned()).collect();
    let host = Host { cell: c.session, db: c.connection() };
    let rows = match call(host, function, &types, ret, args)? {
        Outcome::Rows(rows) => rows.into_iter().filter_map(|r| r.into_iter().next()).collect(),
        Outcome::Value(value) => vec![value],
    };
    let catalog = host.catalog();
    // the columns of a body in SQL are converted, records of PL/pgSQL are not
    let converts = catalog.function(function).is_some_and(|f| f.language == Language::Sql);
    let mut out = Vec::new();
    for row in rows {
        let Datum::Text(text) = row else {
            out.push(Array::from_elements(vec![Datum::Null; expected.len()]).to_storage());
            continue;
        };
        let fields = record::from_storage(&text).ok_or_else(|| PgError::corrupted("a stored record is malformed"))?;
        if converts && fields.len() != expected.len() {
            let what = if fields.len() > expected.len() { "too many" } else { "too few" };
            let message = "return type mismatch in function declared to return record";
            return Err(PgError::new(SqlState::INVALID_FUNCTION_DEFINITION, message)
                .detail(format!("Final statement returns {what} columns.")));
        }
        if converts {
            let mut values = Vec::with_capacity(fields.len());
            for (i, (ty, value)) in fields.into_iter().enumerate() {
                let value = convert::assign_by_cast(&host, value, ty, expected[i], modifiers[i])?;
                values.push(value.ok_or_else(|| sql_body::record_mismatch(&catalog, ty, expected[i], i + 1))?);
            }
            out.push(Array::from_elements(values).to_storage());
            continue;
        }
        sql_body::check_returned_row(&catalog, &fields, &expected)?;
        out.push(Array::from_elements(fields.into_iter().map(|(_, v)| v).collect()).to_storage());
    }
    Ok(Datum::Text(format!("[{}]", out.join(","))))
}

/// What runs the steps of a statement that fires triggers does not know of them.
fn pg_fires_triggers(_: &Call) -> Result<Datum> {
    Err(PgError::not_supported("a data modification that fires triggers, in this place,"))
}

/// (name, arity, deterministic, function) of the natives of this module.
pub const FUNCTIONS: &[(&str, i32, bool, Scalar)] = &[
    (pgsqlite_sql::lower::support::CALL, -1, false, pg_call),
    (pgsqlite_sql::lower::support::CALL_IMMUTABLE, -1, true, pg_call),
    (pgsqlite_sql::lower::support::AGGREGATE_NONE, -1, false, aggregate::pg_aggregate_none),
    (pgsqlite_sql::lower::support::CALL_ROWS, -1, false, pg_call_rows),
    (pgsqlite_sql::lower::support::FIRES_TRIGGERS, 0, false, pg_fires_triggers),
    (pgsqlite_sql::lower::support::CALL_RECORDS, -1, false, pg_call_records),
];

/// The fields of a row type: (name, type, type modifier).
pub type Fields = Vec<(String, Oid, i32)>;

/// A row of values as a record's storage form. `anonymous`: it has no type of its own, so the names go with it.
pub fn record_of(fields: &[(String, Oid, i32)], values: &[Datum], anonymous: bool) -> Datum {
    if anonymous {
        let named: Vec<(String, record::Field)> =
            fields.iter().zip(values).map(|((n, ty, _), v)| (n.clone(), (*ty, v.clone()))).collect();
        return Datum::Text(record::named_to_storage(&named));
    }
    let list: Vec<record::Field> = fields.iter().zip(values).map(|((_, ty, _), v)| (*ty, v.clone())).collect();
    Datum::Text(record::to_storage(&list))
}

/// An error in a text of a body: its location counts in that text. `shift`: bytes that were put in front of it for analysis.
pub fn in_query(mut error: PgError, query: &str, shift: i64) -> PgError {
    let fields = error.fields_mut();
    if let (Some(location), None) = (fields.location, &fields.internal_query) {
        fields.location = usize::try_from(location as i64 + shift).ok().filter(|l| *l <= query.len());
        if fields.location.is_some() {
            fields.internal_query = Some(query.to_string());
        }
    }
    error
}

/// As [`in_query`]; an error without a place in the text gets `line`, which has the text, as CONTEXT.
pub fn of_query(error: PgError, query: &str, shift: i64, line: impl Into<String>) -> PgError {
    let told = error.fields().internal_query.is_some();
    let error = in_query(error, query, shift);
    match error.fields().internal_query.is_some() && !told {
        true => error,
        false => add_context(error, line),
    }
}

/// A line more of CONTEXT, from the inside out.
pub fn add_context(mut error: PgError, line: impl Into<String>) -> PgError {
    let line = line.into();
    let fields = error.fields_mut();
    if fields.internal_query.is_none() {
        fields.location = None;
    }
    fields.context = Some(match fields.context.take() {
        Some(inner) => format!("{inner}\n{line}"),
        None => line,
    });
    error
}

/// `void` as a value.
pub fn void() -> Datum {
    Datum::Text(String::new())
}

/// The type of a result where a function's is polymorphic: the one of the call.
pub fn actual_type(declared: Oid, call: Oid) -> Oid {
    match declared {
        oid::ANYELEMENT
        | oid::ANYARRAY
        | oid::ANYNONARRAY
        | oid::ANYENUM
        | oid::ANYRANGE
        | oid::ANYMULTIRANGE
        | oid::ANYCOMPATIBLERANGE
        | oid::ANYCOMPATIBLEMULTIRANGE
        | oid::ANYCOMPATIBLE
        | oid::ANYCOMPATIBLEARRAY
        | oid::ANYCOMPATIBLENONARRAY => call,
        other => other,
    }
}
