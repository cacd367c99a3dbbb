//! A query that a function gets as a text: `ts_stat`, `ts_rewrite`.

use super::statement::Planned;
use super::Host;
use pgsqlite_sql::analyze::variables::{Precedence, Variable, Variables};
use pgsqlite_sql::parse::{parse, NodeEnum};
use pgsqlite_types::{Datum, Oid, PgError, Result, SqlState};

/// Nothing of the statement around is in sight.
struct NoVariables;

impl Variables for NoVariables {
    fn find(&self, _names: &[&str]) -> Result<Option<(Variable, usize)>> {
        Ok(None)
    }
    fn parameter(&self, _n: usize) -> Result<Option<Variable>> {
        Ok(None)
    }
    fn fields(&self, _names: &[&str]) -> Result<Option<Vec<(String, Variable)>>> {
        Ok(None)
    }
    fn precedence(&self) -> Precedence {
        Precedence::Columns
    }
}

/// The types of its columns, and its rows.
pub fn queried(host: Host, text: &str) -> Result<(Vec<Oid>, Vec<Vec<Datum>>)> {
    let run = || {
        super::check_escapes(host, text)?;
        let statements = parse(text)?;
        let [statement] = &statements[..] else {
            return Err(PgError::new(SqlState::INVALID_CURSOR_DEFINITION, "cannot open multi-query plan as cursor"));
        };
        if !matches!(statement.node, NodeEnum::SelectStmt(_)) {
            return Err(PgError::not_supported(format!(
                "{} as the query of a function",
                pgsqlite_sql::command::name(&statement.node)
            )));
        }
        let planned = Planned::new(host, &statement.node, &NoVariables, Vec::new)?;
        let columns = planned.columns.iter().flatten().map(|c| c.ty).collect();
        Ok((columns, planned.rows(host, &[])?))
    };
    run().map_err(|e| super::add_context(super::in_query(e, text, 0), format!("SQL statement \"{text}\"")))
}
