//! The rows that a statement carried out row by row proposes.

use super::statement::{bind, step_once};
use super::trigger::all_rows;
use super::Host;
use pgsqlite_sql::plan::Triggered;
use pgsqlite_storage::sqlite_statement::{RawStatement, Step};
use pgsqlite_types::{Datum, Result};

/// The rows of [`Triggered::rows`]. All are computed before the first is changed, unless they read nothing that the statement may change: then
/// each is computed when those before it are stored ([`Triggered::one_by_one`]).
pub(super) enum ProposedRows<'p, 'h> {
    All(std::vec::IntoIter<Vec<Datum>>),
    OneByOne {
        host: Host<'h>,
        sql: &'p str,
        /// None: there are no more rows
        statement: Option<RawStatement>,
    },
}

impl<'p, 'h> ProposedRows<'p, 'h> {
    pub fn of(host: Host<'h>, t: &'p Triggered, parameters: &'p [Datum]) -> Result<ProposedRows<'p, 'h>> {
        if !t.one_by_one {
            return Ok(ProposedRows::All(all_rows(host, &t.rows, parameters)?.into_iter()));
        }
        let mut statement = host.kept_statement(&t.rows)?;
        // SAFETY: the parameters outlive what is returned, and the statement is reset when that is dropped.
        let bound = unsafe { bind(host, &mut statement, parameters) };
        let rows = ProposedRows::OneByOne { host, sql: &t.rows, statement: Some(statement) };
        bound.map(|()| rows)
    }

    fn end(&mut self) {
        if let ProposedRows::OneByOne { host, sql, statement } = self {
            if let Some(mut statement) = statement.take() {
                statement.reset();
                host.keep_statement(sql, statement);
            }
        }
    }
}

impl From<Vec<Vec<Datum>>> for ProposedRows<'_, '_> {
    fn from(rows: Vec<Vec<Datum>>) -> Self {
        ProposedRows::All(rows.into_iter())
    }
}

impl Iterator for ProposedRows<'_, '_> {
    type Item = Result<Vec<Datum>>;

    fn next(&mut self) -> Option<Self::Item> {
        let (host, statement) = match self {
            ProposedRows::All(rows) => return rows.next().map(Ok),
            ProposedRows::OneByOne { host, statement, .. } => (*host, statement.as_mut()?),
        };
        match step_once(host, statement) {
            Ok(Step::Row) => {
                let width = statement.column_count();
                Some(Ok((0..width).map(|i| statement.column(i).to_owned()).collect()))
            }
            Ok(Step::Done) => {
                self.end();
                None
            }
            Err(e) => {
                self.end();
                Some(Err(e))
            }
        }
    }
}

impl Drop for ProposedRows<'_, '_> {
    fn drop(&mut self) {
        self.end();
    }
}
