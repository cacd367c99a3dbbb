//! The error of a session's statement that a constraint refused, with the row that it refused.

use crate::connection::{Connection, Step};
use crate::diagnose::{
    first_in_with, may_tell_more, proposed_by, proposed_of, same_constraint, violation, violation_of_parts, RowReader,
    RowValues,
};
use crate::plans::{Body, Prepared};
use crate::session::executor::Executor;
use pgsqlite_sql::analyze::{analyze, Statement};
use pgsqlite_sql::plan::Tag;
use pgsqlite_sql::routine::Event;
use pgsqlite_types::codec::Context;
use pgsqlite_types::{Datum, PgError, Result, SqlState};

impl Executor {
    /// The error of a failed data modification with what PostgreSQL tells about the row. Where the row cannot be told
    /// again, and where something fails on the way, the error stays as it is.
    pub(in crate::session) fn diagnose(
        &mut self,
        prepared: &Prepared,
        parameters: &[Datum],
        error: PgError,
    ) -> PgError {
        if !may_tell_more(&error) {
            return error;
        }
        let notices = self.connection.as_ref().map(|c| c.cell.set_effects_aside());
        let found = self.find_violation(prepared, parameters, &error);
        if let (Some(connection), Some(notices)) = (&self.connection, notices) {
            connection.cell.put_effects_back(notices);
        }
        match found {
            Ok(Some(found)) => match &error.fields().context {
                Some(context) => found.context(context.clone()),
                None => found,
            },
            Ok(None) => error,
            Err(e) => {
                tracing::debug!(%e, "the rows of a failed statement could not be read");
                error
            }
        }
    }

    fn find_violation(
        &mut self,
        prepared: &Prepared,
        parameters: &[Datum],
        error: &PgError,
    ) -> Result<Option<PgError>> {
        let code = error.code();
        let view = self.context.view();
        let (proposed, parts, first) = self.context.with_environment(&view, |environment| {
            let (statement, _) = analyze(environment, &prepared.statement.node, &prepared.parameters)?;
            Ok(match &statement {
                Statement::Modify(modify) => {
                    let parts = proposed_by(environment, modify, code)?;
                    (proposed_of(environment, modify, code)?, parts, first_in_with(environment, &modify.ctes, code))
                }
                Statement::Query(query) => (None, vec![], first_in_with(environment, &query.ctes, code)),
                Statement::Rewritten(_) => (None, vec![], None),
            })
        })?;
        let (catalog, context) = (&view.catalog, Context { settings: &self.context.gucs.typed, names: &*view });
        let connection = self.connection.as_mut().ok_or_else(|| PgError::internal("no connection"))?;
        let mut reader = Reader(connection);
        if let Some(first) = &first {
            // (another part of the statement may have failed: it must be the error that was met)
            let found = violation(first, catalog, context, &mut reader, parameters, code)?;
            if let Some(found) = found.filter(|found| same_constraint(found, error)) {
                return Ok(Some(found));
            }
        }
        let mut found = match &proposed {
            Some(proposed) => violation(proposed, catalog, context, &mut reader, parameters, code)?,
            None => None,
        };
        let met = |found: &PgError| code == SqlState::FOREIGN_KEY_VIOLATION || same_constraint(found, error);
        if !parts.is_empty() && !found.as_ref().is_some_and(met) {
            found = violation_of_parts(&parts, catalog, context, &mut reader, parameters, error)?;
        }
        match found {
            None if code == SqlState::FOREIGN_KEY_VIOLATION => self.violation_by_action(prepared, parameters),
            found => Ok(found),
        }
    }

    /// A key that is violated not by the statement's own rows but by what ON DELETE or ON UPDATE makes of others: the statement is
    /// run once more with all keys deferred, looked at, and undone.
    fn violation_by_action(&mut self, prepared: &Prepared, parameters: &[Datum]) -> Result<Option<PgError>> {
        let Body::Plan(plan) = &prepared.body else { return Ok(None) };
        let ([step], Tag::Update | Tag::Delete) = (&plan.query.steps[..], plan.query.tag) else { return Ok(None) };
        let event = if plan.query.tag == Tag::Delete { Event::Delete } else { Event::Update };
        // turning deferral off makes SQLite forget the violations it has counted
        if self.context.transaction.defers_all() || self.connection()?.has_deferred_violations() {
            return Ok(None);
        }
        let connection = self.connection.as_mut().ok_or_else(|| PgError::internal("no connection"))?;
        connection.exec("SAVEPOINT pg_diagnose; PRAGMA defer_foreign_keys = ON")?;
        let ran = read_into(&mut vec![], connection, &step.sql, parameters, usize::MAX);
        let found = ran.and_then(|_| self.violated_by(Some(event), |_| true));
        let connection = self.connection()?;
        let ended = connection.exec("ROLLBACK TO pg_diagnose; RELEASE pg_diagnose");
        connection.exec("PRAGMA defer_foreign_keys = OFF")?;
        ended?;
        found
    }
}

/// The connection on which the statement has failed.
struct Reader<'c>(&'c mut Connection);

impl RowReader for Reader<'_> {
    fn read_into(&mut self, rows: &mut Vec<RowValues>, sql: &str, parameters: &[Datum], most: usize) -> Result<bool> {
        read_into(rows, self.0, sql, parameters, most)
    }
    fn kept(&self, attnum: i16) -> u64 {
        self.0.cell.rows.count(attnum)
    }
}

/// Puts the rows of a query behind `rows`, those before an error, too. False: there are more than `most`.
fn read_into(
    rows: &mut Vec<RowValues>,
    connection: &mut Connection,
    sql: &str,
    parameters: &[Datum],
    most: usize,
) -> Result<bool> {
    let mut statement = connection.prepare(sql)?;
    let columns = statement.column_count();
    let mut run = |connection: &Connection, statement: &mut crate::connection::RawStatement| {
        // SAFETY: the values outlive the statement's execution, which ends before this function does.
        unsafe { connection.bind_all(statement, parameters)? };
        while connection.step(statement)? == Step::Row {
            if rows.len() == most {
                return Ok(false);
            }
            rows.push((0..columns).map(|i| statement.column(i).to_owned()).collect());
        }
        Ok(true)
    };
    let result = run(connection, &mut statement);
    connection.release(sql, statement);
    result
}
