//! What a function names: for the dependencies that a catalog shows, and for what DROP asks.

use pgsqlite_sql::analyze::inline::Parameters;
use pgsqlite_sql::analyze::{analyze_expression, analyze_in_function_to_print, Environment, Statement};
use pgsqlite_sql::deparse::{expression_references, statement_references, Reference};
use pgsqlite_sql::routine::Function;
use pgsqlite_sql::typed::Product;
use pgsqlite_types::work;

/// What the defaults of a function's arguments and its body, if that is written in the SQL standard's way, name. `stored` reads texts as
/// they are stored, `written` a body whose names are those that the user wrote; both leave views as they are named. A text that cannot be
/// analyzed any more names nothing.
pub(crate) fn function_references(f: &Function, stored: &Environment, written: &Environment) -> Vec<Reference> {
    let of_text = |text: &str| {
        analyze_expression(stored, text, None, None).map(|e| expression_references(&e)).unwrap_or_default()
    };
    let mut found: Vec<Reference> = f.arguments.iter().filter_map(|a| a.default.as_deref()).flat_map(of_text).collect();
    if f.standard {
        let types = f.input_types();
        let parameters = Parameters::of(f, &types);
        for node in pgsqlite_sql::analyze::sql_body(f).unwrap_or_default() {
            work::visit();
            let environment = if f.qualified { stored } else { written };
            let product = match analyze_in_function_to_print(environment, &node, &parameters) {
                Ok(Statement::Query(query)) => Product::Query(query),
                Ok(Statement::Modify(modify)) => Product::Modify(modify),
                Ok(Statement::Rewritten(_)) | Err(_) => continue,
            };
            found.extend(statement_references(&[product]));
        }
        // (one that calls itself does not stand in its own way)
        found.retain(|r| r.object != f.oid);
    }
    found
}
