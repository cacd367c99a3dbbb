//! The body of a function that was written in the standard's way (`RETURN …`, `BEGIN ATOMIC … END`), printed from its analyzed statements.

use super::definitions::unexpanded;
use super::{Names, Printer, Style};
use crate::analyze::inline::Parameters;
use crate::analyze::{self, Environment, Statement};
use crate::catalog::BOOTSTRAP_ROLE;
use crate::routine::Function;
use crate::typed::{Expr, QueryBody};
use pgsqlite_types::work;
use pgsqlite_types::{Oid, PgError, Result};

/// How the parameters of a function are called in its body.
#[derive(Debug, Clone)]
pub(crate) struct ParameterNames {
    pub function: String,
    /// by number; empty: it has none
    pub names: Vec<String>,
}

/// The body of a function as the session sees it, without the line's end.
pub fn function_body(environment: &Environment, function: &Function) -> Result<String> {
    let reading = if function.qualified { environment.for_stored_text() } else { *environment };
    printed_body(&reading, Names::of(environment), function)
}

/// The body of a function as it is stored: each name in it is qualified. `reading`: what its names mean now; `names`: what they are
/// called from now on, as [`Names::stored`] has it.
pub fn stored_body(reading: &Environment, names: Names, function: &Function) -> Result<String> {
    printed_body(reading, names, function)
}

fn printed_body(reading: &Environment, names: Names, function: &Function) -> Result<String> {
    let catalog = unexpanded(reading.catalog);
    let stored = Environment { catalog: &catalog, user: BOOTSTRAP_ROLE, ..*reading };
    let types: Vec<Oid> = function.inputs().map(|a| a.type_oid).collect();
    let parameters = Parameters::of(function, &types);
    let known =
        ParameterNames { function: function.name.clone(), names: function.inputs().map(|a| a.name.clone()).collect() };
    let block = function.source.trim_start().get(..5).is_some_and(|w| w.eq_ignore_ascii_case("begin"));
    let mut out = String::new();
    for (node, returns) in analyze::standard_body(function)? {
        work::visit();
        let statement = analyze::analyze_in_function_to_print(&stored, &node, &parameters)?;
        let mut printer = Printer::new(names, Style::Full, None);
        printer.parameters = Some(known.clone());
        printer.names_visible = false;
        if !block {
            printer.flat = true;
            printer.expr(returned(&statement)?, true)?;
            return Ok(format!("RETURN {}", printer.out));
        }
        printer.indent = 1;
        match &statement {
            _ if returns => {
                printer.indent += super::query::STD;
                printer.out.push_str(" RETURN ");
                printer.expr(returned(&statement)?, true)?;
            }
            Statement::Query(query) => printer.query(query)?,
            Statement::Modify(modify) => printer.modify(modify)?,
            Statement::Rewritten(_) => return Err(PgError::internal("a statement that is printed, rewritten")),
        }
        out.push_str(&printer.out);
        out.push_str(";\n");
    }
    Ok(format!("BEGIN ATOMIC\n{out}END"))
}

/// The expression of RETURN.
fn returned(statement: &Statement) -> Result<&Expr> {
    let Statement::Query(query) = statement else { return Err(PgError::internal("RETURN that is no query")) };
    match &query.body {
        QueryBody::Select(select) => select.targets.first().map(|t| &t.expr),
        _ => None,
    }
    .ok_or_else(|| PgError::internal("RETURN without an expression"))
}
