//! A statement of a function's body: analyzed once, with the function's variables as parameters, and run many times.

use super::{Access, Host, Stamp};
use libsqlite3_sys as ffi;
use pgsqlite_natives::udf::statement_rows::Current;
use pgsqlite_sql::analyze::variables::Variables;
use pgsqlite_sql::analyze::{analyze_in_function, Environment, Statement};
use pgsqlite_sql::parse::NodeEnum;
use pgsqlite_sql::plan::{Plan, Step as PlanStep, StepOutput, Tag};
use pgsqlite_sql::typed::{Cte, CteBody, Expr, ExprKind, Modify, Query, QueryBody};
use pgsqlite_storage::sqlite_statement::{RawStatement, Step};
use pgsqlite_types::codec::Context;
use pgsqlite_types::{Datum, Oid, PgError, Result, SqlState};
use std::cell::RefCell;

/// A column of the rows that a statement gives.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    pub name: String,
    pub ty: Oid,
    pub typmod: i32,
}

/// A planned statement. Its parameters are those of the plan, `?1` …
pub struct Planned {
    pub plan: Plan,
    /// None: it gives no rows
    pub columns: Option<Vec<Column>>,
    /// of a data modification: what it is, to tell of rows that a constraint refuses
    modify: Option<Box<Modify>>,
    /// the statement is no more than a value that is known without SQLite
    shortcut: Option<Shortcut>,
    /// an expression that PostgreSQL runs as a query, so that GET DIAGNOSTICS tells how many rows it gave
    pub is_query: bool,
    stamp: Stamp,
    /// prepared statements that are not in use, by step
    ready: RefCell<Vec<Vec<RawStatement>>>,
}

enum Shortcut {
    Parameter(usize),
    Value(Datum),
}

/// What a statement did.
#[derive(Debug, Clone, Copy, Default)]
pub struct Done {
    /// rows given or changed
    pub rows: u64,
}

/// Takes rows; false: enough.
pub type Rows<'r> = &'r mut dyn FnMut(Vec<Datum>) -> Result<bool>;

impl Planned {
    /// Plans a query or data modification. `parameters`: gives the types of the parameters after analysis.
    pub fn new(
        host: Host,
        node: &NodeEnum,
        variables: &dyn Variables,
        parameters: impl FnOnce() -> Vec<Oid>,
    ) -> Result<Planned> {
        Planned::read(host, node, variables, parameters, false)
    }

    /// As [`Planned::new`], of a text that is stored: its names were looked up when it was stored.
    pub fn of_stored_text(
        host: Host,
        node: &NodeEnum,
        variables: &dyn Variables,
        parameters: impl FnOnce() -> Vec<Oid>,
    ) -> Result<Planned> {
        Planned::read(host, node, variables, parameters, true)
    }

    fn read(
        host: Host,
        node: &NodeEnum,
        variables: &dyn Variables,
        parameters: impl FnOnce() -> Vec<Oid>,
        stored: bool,
    ) -> Result<Planned> {
        let (plan, shortcut, modify) = host.with_environment(|environment| -> Result<_> {
            let environment = &if stored { environment.for_stored_text() } else { *environment };
            let statement = analyze_in_function(environment, node, variables)?;
            let shortcut = (shortcut(&statement), is_query(&statement));
            let plan = pgsqlite_sql::lower::lower(environment, &statement, parameters())?;
            let modify = told_of(statement, &plan);
            Ok((plan, shortcut, modify))
        })?;
        Ok(Planned { modify, ..Planned::of(host, plan, shortcut) })
    }

    /// Plans a statement of a foreign key: with all rights.
    pub fn for_key(host: Host, node: &NodeEnum, variables: &dyn Variables, parameters: Vec<Oid>) -> Result<Planned> {
        let (plan, modify) = host.with_environment(|environment| -> Result<_> {
            let user = pgsqlite_sql::catalog::BOOTSTRAP_ROLE;
            let environment = Environment { user, ..environment.for_stored_text() };
            let statement = analyze_in_function(&environment, node, variables)?;
            let plan = pgsqlite_sql::lower::lower(&environment, &statement, parameters)?;
            let modify = told_of(statement, &plan);
            Ok((plan, modify))
        })?;
        Ok(Planned { modify, ..Planned::of(host, plan, (None, true)) })
    }

    /// Plans an analyzed query.
    pub fn of_query(host: Host, query: Query, parameters: Vec<Oid>) -> Result<Planned> {
        let statement = Statement::Query(query);
        let plan =
            host.with_environment(|environment| pgsqlite_sql::lower::lower(environment, &statement, parameters))?;
        let shortcut = (shortcut(&statement), is_query(&statement));
        Ok(Planned::of(host, plan, shortcut))
    }

    /// A statement that a rule has made.
    pub(super) fn of_product(host: Host, plan: &Plan, modify: &Option<Box<Modify>>) -> Planned {
        Planned { modify: modify.clone(), ..Planned::of(host, plan.clone(), (None, true)) }
    }

    fn of(host: Host, plan: Plan, (shortcut, is_query): (Option<Shortcut>, bool)) -> Planned {
        let columns = plan.columns.as_ref().map(|columns| {
            columns.iter().map(|c| Column { name: c.name.clone(), ty: c.type_oid, typmod: c.typmod }).collect()
        });
        let steps = plan.query.steps.len();
        Planned {
            plan,
            columns,
            modify: None,
            shortcut,
            is_query,
            stamp: Stamp::now(host.cell),
            ready: RefCell::new((0..steps).map(|_| Vec::new()).collect()),
        }
    }

    /// The tables that a query reads: as long as it is open they are in use.
    pub fn reads(&self) -> &[Oid] {
        match self.plan.query.tag {
            Tag::Select => &self.plan.query.named.read,
            _ => &[],
        }
    }

    /// Whether it may be run as things are now.
    pub fn holds(&self, host: Host) -> bool {
        self.stamp.holds(host.cell)
    }

    /// The one value of an expression that needs no statement.
    pub fn value<'v>(&'v self, parameters: &'v [Datum]) -> Option<&'v Datum> {
        match self.shortcut.as_ref()? {
            Shortcut::Parameter(n) => parameters.get(n - 1),
            Shortcut::Value(value) => Some(value),
        }
    }

    pub fn writes(&self) -> bool {
        self.plan.query.writes || self.plan.query.locks_rows
    }

    /// The command as messages name it.
    pub fn command(&self) -> &'static str {
        match self.plan.query.tag {
            Tag::Select => "SELECT FOR UPDATE",
            Tag::Insert => "INSERT",
            Tag::Update => "UPDATE",
            Tag::Delete => "DELETE",
            Tag::Merge => "MERGE",
        }
    }

    /// Runs it. The rows it gives go to `rows`. Errors: 0A000 for WHERE CURRENT OF, besides those of the statement.
    pub fn run(&self, host: Host, parameters: &[Datum], rows: Rows) -> Result<Done> {
        if self.plan.query.current_of.is_some() {
            return Err(PgError::not_supported("WHERE CURRENT OF a cursor that this function has not opened"));
        }
        let passed = &host.routines().passed_over;
        passed.set(passed.get().max(self.plan.query.passes_over));
        self.run_here(host, parameters, rows)
    }

    /// As [`Planned::run`], of a statement with WHERE CURRENT OF, which means the row `current`.
    pub fn run_at(&self, host: Host, current: Current, parameters: &[Datum], rows: Rows) -> Result<Done> {
        let around = host.cell.rows.current.replace(Some(current));
        let done = self.run_here(host, parameters, rows);
        host.cell.rows.current.replace(around);
        done
    }

    fn run_here(&self, host: Host, parameters: &[Datum], rows: Rows) -> Result<Done> {
        if self.plan.query.modifies.is_empty() {
            return self.run_alone(host, parameters, rows);
        }
        let since = super::set_constraints::noted(host);
        let done = self.run_alone(host, parameters, rows)?;
        super::set_constraints::statement_ends(host, since)?;
        Ok(done)
    }

    fn run_alone(&self, host: Host, parameters: &[Datum], rows: Rows) -> Result<Done> {
        if let Some(value) = self.value(parameters) {
            rows(vec![value.clone()])?;
            return Ok(Done { rows: 1 });
        }
        if let Some(rewritten) = &self.plan.query.rewritten {
            // (what a rule's SELECT gives is nobody's here)
            let given = super::rewritten::run(host, rewritten, parameters)?;
            for row in given.rows {
                if !rows(row)? {
                    break;
                }
            }
            return Ok(Done { rows: given.count });
        }
        if let Some(triggered) = &self.plan.query.triggered {
            let rows = super::trigger::run(host, triggered, parameters, rows)?;
            return Ok(Done { rows });
        }
        if self.writes() {
            check_may_write(host.routines(), self.command())?;
        }
        // what the statement around remembers of its rows is not ours
        let remembered = host.cell.rows.set_aside();
        let result = match self.plan.query.has_steps_by_rows() {
            true => self.run_by_rows(host, parameters, rows),
            false => self.run_steps(host, parameters, 0, rows),
        };
        let result = result.map_err(|e| match &self.modify {
            Some(modify) => told_more(host, modify, None, parameters, e),
            None => e,
        });
        host.cell.rows.put_back(remembered);
        result
    }

    /// A statement some of whose steps are carried out row by row.
    fn run_by_rows(&self, host: Host, parameters: &[Datum], rows: Rows) -> Result<Done> {
        let steps = &self.plan.query.steps;
        let done = run_by_rows(host, steps, parameters)?;
        if done.steps < steps.len() {
            return self.run_steps(host, parameters, done.steps, rows);
        }
        let count = done.count;
        for row in done.shown {
            if !rows(row)? {
                break;
            }
        }
        Ok(Done { rows: count })
    }

    /// Runs the steps from number `first`.
    fn run_steps(&self, host: Host, parameters: &[Datum], first: usize, rows: Rows) -> Result<Done> {
        let mut done = Done::default();
        let last = self.plan.query.steps.len().saturating_sub(1);
        for (i, step) in self.plan.query.steps.iter().enumerate().skip(first) {
            let found = self.ready.borrow_mut()[i].pop();
            let mut statement = match found {
                Some(statement) => statement,
                None => host.prepare(&step.sql)?,
            };
            // SAFETY: the caller's values stay in place until the statement is reset below.
            let bound = unsafe { bind(host, &mut statement, parameters) };
            let result = bound.and_then(|()| match &step.output {
                StepOutput::Materialize { table, columns } => {
                    let mut kept = Vec::new();
                    while step_once(host, &mut statement)? == Step::Row {
                        kept.push((0..*columns).map(|c| statement.column(c).to_owned()).collect::<Vec<_>>());
                    }
                    statement.reset();
                    materialize(host, table, *columns, kept)
                }
                StepOutput::Rows if i == last => {
                    let width = self.columns.as_ref().map_or(0, Vec::len);
                    while step_once(host, &mut statement)? == Step::Row {
                        done.rows += 1;
                        if !rows((0..width).map(|c| statement.column(c).to_owned()).collect())? {
                            break;
                        }
                    }
                    Ok(())
                }
                _ => {
                    let told = self.told_deletes(host);
                    let reported = host.routines().recorder.lock().reported();
                    while step_once(host, &mut statement)? == Step::Row {}
                    // SAFETY: a live connection.
                    let changed = unsafe { ffi::sqlite3_changes64(host.db) } as u64;
                    if told.is_some_and(|told| host.routines().written.lock().deleted() - told < changed) {
                        host.routines().written.lock().note_all_deleted();
                    }
                    if step.deletes {
                        host.routines().recorder.lock().expect(reported, changed);
                    }
                    if step.counts {
                        done.rows += changed;
                    }
                    Ok(())
                }
            });
            statement.reset();
            self.ready.borrow_mut()[i].push(statement);
            result?;
        }
        Ok(done)
    }

    /// Of a DELETE while cursors watch: how many rows SQLite has told to be deleted. (It does not tell of each if it empties a table.)
    fn told_deletes(&self, host: Host) -> Option<u64> {
        let written = (self.plan.query.tag == Tag::Delete).then(|| host.routines().written.lock());
        written.filter(|w| w.is_watching()).map(|w| w.deleted())
    }

    /// All rows.
    pub fn rows(&self, host: Host, parameters: &[Datum]) -> Result<Vec<Vec<Datum>>> {
        let mut out = Vec::new();
        self.run(host, parameters, &mut |row| {
            out.push(row);
            Ok(true)
        })?;
        Ok(out)
    }
}

/// What the steps of a statement have done that are carried out row by row.
pub struct DoneByRows {
    /// how many steps: all, or all but the last one, which is a query
    pub steps: usize,
    /// rows changed
    pub count: u64,
    /// the rows that the last step gives
    pub shown: Vec<Vec<Datum>>,
}

/// Runs the steps of a statement some of which are carried out row by row, with what comes after their rows. A query at the end
/// is left to the caller.
pub fn run_by_rows(host: Host, steps: &[PlanStep], parameters: &[Datum]) -> Result<DoneByRows> {
    let query = steps.last().is_some_and(|s| s.by_rows.is_none() && s.output == StepOutput::Rows);
    let mut done = DoneByRows { steps: steps.len() - usize::from(query), count: 0, shown: vec![] };
    let busy = host.routines().busy_tables.borrow().len();
    let result = super::after::at_level(host, || {
        for step in &steps[..done.steps] {
            let (count, rows) = match &step.by_rows {
                Some(by_rows) => super::trigger::run_step(host, by_rows, parameters)?,
                None => (0, super::trigger::all_rows(host, &step.sql, parameters)?),
            };
            // SAFETY: a live connection.
            let changed = || unsafe { ffi::sqlite3_changes64(host.db) } as u64;
            done.count += match step.counts {
                false => 0,
                true if step.by_rows.is_some() => count,
                true => changed(),
            };
            match &step.output {
                StepOutput::None => {}
                StepOutput::Rows => done.shown.extend(rows),
                StepOutput::Materialize { table, columns } => {
                    if host.routines().busy_tables.borrow().contains(table) {
                        return Err(PgError::not_supported(
                            "a data-modifying WITH or MERGE in a trigger that another one fires",
                        ));
                    }
                    materialize(host, table, *columns, rows)?;
                    host.routines().busy_tables.borrow_mut().push(table.clone());
                }
            }
        }
        Ok(())
    });
    host.routines().busy_tables.borrow_mut().truncate(busy);
    result.map(|()| done)
}

/// The error of a failed data modification with what PostgreSQL tells of the row.
pub fn told_more(
    host: Host,
    modify: &Modify,
    shown: Option<&Vec<usize>>,
    parameters: &[Datum],
    error: PgError,
) -> PgError {
    use crate::diagnose::{may_tell_more, proposed_by, proposed_of, violation, violation_of_parts};
    if !may_tell_more(&error) {
        return error;
    }
    let find = || -> Result<Option<PgError>> {
        let code = error.code();
        let (whole, mut parts) =
            host.with_environment(|e| Ok((proposed_of(e, modify, code)?, proposed_by(e, modify, code)?)))?;
        parts.extend(whole);
        for part in &mut parts {
            part.shown = shown.cloned();
        }
        let catalog = host.catalog();
        let (settings, names) = {
            let state = host.cell.state();
            (state.settings.clone(), state.names.clone())
        };
        let context = Context { settings: &settings, names: &*names };
        match &parts[..] {
            [] => Ok(None),
            [whole] => violation(whole, &catalog, context, &mut Reader(host), parameters, error.code()),
            parts => violation_of_parts(parts, &catalog, context, &mut Reader(host), parameters, &error),
        }
    };
    let notices = host.cell.set_effects_aside();
    let found = find();
    host.cell.put_effects_back(notices);
    match found {
        Ok(Some(found)) => found,
        Ok(None) => error,
        Err(e) => {
            tracing::debug!(%e, "the rows of a failed statement could not be read");
            error
        }
    }
}

/// The modification whose rows the error of a failed statement tells of. Of a query with data-modifying WITH queries the first one, if no
/// other part of it modifies anything.
fn told_of(statement: Statement, plan: &Plan) -> Option<Box<Modify>> {
    match statement {
        Statement::Modify(modify) if plan.query.triggered.is_none() => Some(Box::new(modify)),
        Statement::Query(mut query) => {
            let is_part = |cte: &Cte| matches!(cte.body, CteBody::Modify(_));
            let alone =
                query.ctes.iter().filter(|cte| is_part(cte)).count() == 1 && query.ctes.first().is_some_and(is_part);
            match alone.then(|| query.ctes.swap_remove(0).body)? {
                CteBody::Modify(modify) => Some(modify),
                CteBody::Query(_) => None,
            }
        }
        _ => None,
    }
}

/// A value as an error's DETAIL shows it.
pub(super) fn printed_value(host: Host, ty: Oid, value: &Datum) -> Result<String> {
    let (settings, names) = {
        let state = host.cell.state();
        (state.settings.clone(), state.names.clone())
    };
    let context = Context { settings: &settings, names: &*names };
    crate::diagnose::shown(&host.catalog(), &context, ty, value)
}

struct Reader<'h>(Host<'h>);

impl crate::diagnose::RowReader for Reader<'_> {
    fn read_into(&mut self, rows: &mut Vec<Vec<Datum>>, sql: &str, parameters: &[Datum], most: usize) -> Result<bool> {
        let mut statement = self.0.prepare(sql)?;
        // SAFETY: the parameters outlive the statement.
        unsafe { bind(self.0, &mut statement, parameters)? };
        let width = statement.column_count();
        while step_once(self.0, &mut statement)? == Step::Row {
            if rows.len() == most {
                return Ok(false);
            }
            rows.push((0..width).map(|i| statement.column(i).to_owned()).collect());
        }
        Ok(true)
    }
    fn kept(&self, attnum: i16) -> u64 {
        self.0.cell.rows.count(attnum)
    }
}

/// 0A000 in a function that is not volatile.
pub fn check_volatile(runtime: &super::Runtime, command: &str) -> Result<()> {
    if runtime.steady.get() {
        return Err(PgError::new(
            SqlState::FEATURE_NOT_SUPPORTED,
            format!("{command} is not allowed in a non-volatile function"),
        ));
    }
    Ok(())
}

/// 25006 in a read-only transaction.
pub fn check_not_read_only(runtime: &super::Runtime, command: &str) -> Result<()> {
    if matches!(runtime.access.get(), Access::ReadOnly) {
        let message = format!("cannot execute {command} in a read-only transaction");
        return Err(PgError::new(SqlState::READ_ONLY_SQL_TRANSACTION, message));
    }
    Ok(())
}

/// Both, and 0A000 in a statement that was taken for one that only reads.
pub fn check_may_write(runtime: &super::Runtime, command: &str) -> Result<()> {
    check_volatile(runtime, command)?;
    check_not_read_only(runtime, command)?;
    match runtime.access.get() {
        Access::Write | Access::ReadOnly => Ok(()),
        Access::Read => Err(PgError::not_supported(format!("{command} in a function that this statement calls"))),
    }
}

/// The value of a query that is no more than that: it has no clause but SELECT.
fn only_value(statement: &Statement) -> Option<&Expr> {
    let Statement::Query(query) = statement else { return None };
    let QueryBody::Select(select) = &query.body else { return None };
    let plain = query.ctes.is_empty()
        && query.range_table.is_empty()
        && query.limit.is_none()
        && query.offset.is_none()
        && select.filter.is_none()
        && select.having.is_none()
        && !select.grouped;
    match (&select.targets[..], plain) {
        ([one], true) => Some(&one.expr),
        _ => None,
    }
}

fn shortcut(statement: &Statement) -> Option<Shortcut> {
    match only_value(statement)? {
        Expr { kind: ExprKind::Param(n), .. } => Some(Shortcut::Parameter(*n)),
        Expr { kind: ExprKind::Const(value), .. } => Some(Shortcut::Value(value.clone())),
        _ => None,
    }
}

fn is_query(statement: &Statement) -> bool {
    let counts = |e: &Expr| {
        let kind = &e.kind;
        matches!(kind, ExprKind::SubLink { .. } | ExprKind::SetFunc { .. } | ExprKind::Window { .. })
    };
    only_value(statement).is_none_or(|value| pgsqlite_sql::walk::any(value, &counts))
}

/// Binds as many of the values as the statement has parameters.
///
/// # Safety
/// `values` must stay in place until the statement is reset.
pub unsafe fn bind(host: Host, statement: &mut RawStatement, values: &[Datum]) -> Result<()> {
    for i in 1..=statement.parameter_count() {
        let value = values.get(i - 1).ok_or_else(|| PgError::internal(format!("no value for parameter {i}")))?;
        // SAFETY: promised by the caller.
        if unsafe { statement.bind(i, value) } != ffi::SQLITE_OK {
            return Err(host.error());
        }
    }
    Ok(())
}

/// Runs a statement to its next row, or to its end. Errors: SQLite's; 53200 as [`pgsqlite_storage`]'s connections give it for a row.
pub fn step_once(host: Host, statement: &mut RawStatement) -> Result<Step> {
    let step = statement.step().map_err(|_| host.error())?;
    if matches!(step, Step::Row) {
        pgsqlite_types::memory::check()?;
    }
    Ok(step)
}

/// Rows into a table of the statement's own.
pub fn materialize(host: Host, table: &str, columns: usize, rows: Vec<Vec<Datum>>) -> Result<()> {
    super::scratch::empty_table(host, table, columns)?;
    let mut insert = host.prepare(&super::scratch::insert(table, columns))?;
    for row in rows {
        // SAFETY: the row lives until the statement is reset.
        unsafe { bind(host, &mut insert, &row)? };
        step_once(host, &mut insert)?;
        insert.reset();
    }
    Ok(())
}
