//! Runs the statements that rewrite rules have made of one, one after the other: each sees what those before it have done.

use super::statement::Planned;
use super::Host;
use pgsqlite_sql::plan::{PlanColumn, ProductPlan, RewrittenPlan};
use pgsqlite_types::{Datum, PgError, Result};

/// The rows of a rule's SELECT, which the client gets beside what the statement gives.
pub struct Aside {
    pub columns: Vec<PlanColumn>,
    pub rows: Vec<Vec<Datum>>,
}

/// What running it has given.
#[derive(Default)]
pub struct Given {
    /// what the command tag counts
    pub count: u64,
    /// of RETURNING
    pub rows: Vec<Vec<Datum>>,
    pub aside: Vec<Aside>,
}

/// Runs all of them.
pub fn run(host: Host, plan: &RewrittenPlan, parameters: &[Datum]) -> Result<Given> {
    let mut given = Given::default();
    for (i, product) in plan.products.iter().enumerate() {
        host.check_interrupt()?;
        match product {
            ProductPlan::Notify { channel, payload } => {
                let server = host.cell.state().server.clone();
                let server = server.ok_or_else(|| PgError::not_supported("NOTIFY outside a session"))?;
                server.notify(channel, payload)?;
            }
            ProductPlan::Run { plan: own, modify } => {
                let planned = Planned::of_product(host, own, modify);
                let mut rows = Vec::new();
                let done = planned.run(host, parameters, &mut |row| {
                    rows.push(row);
                    Ok(true)
                })?;
                if plan.counted == Some(i) {
                    given.count = done.rows;
                    given.rows = rows;
                } else if let (None, Some(columns)) = (modify, &own.columns) {
                    if own.query.triggered.is_none() {
                        given.aside.push(Aside { columns: columns.clone(), rows });
                    }
                }
            }
        }
    }
    Ok(given)
}
