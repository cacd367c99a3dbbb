//! Typed tree → SQLite SQL.

use crate::analyze::{Environment, Statement};
use crate::plan::Plan;
use crate::typed::Expr;
use pgsqlite_types::{Oid, PgError, Result};

/// Lowers an analyzed statement to a plan.
pub fn lower(environment: &Environment, statement: &Statement, parameters: Vec<Oid>) -> Result<Plan> {
    let _ = (environment, statement, parameters);
    Err(PgError::not_supported("this statement"))
}

/// Lowers an expression over the columns of one relation (see [`crate::analyze::analyze_expression`]) to SQLite expression
/// text; columns are written as quoted bare names. For CHECK, generated columns, indexes and DEFAULT in SQLite's schema.
pub fn lower_expression(
    environment: &Environment,
    expr: &Expr,
    relation: Option<&crate::catalog::Relation>,
) -> Result<String> {
    let _ = (environment, expr, relation);
    Err(PgError::not_supported("expressions"))
}
