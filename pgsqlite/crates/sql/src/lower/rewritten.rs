//! Statements that rewrite rules have made of one: each is lowered by itself.

use super::lower;
use crate::analyze::{Environment, Statement};
use crate::plan::{Plan, ProductPlan, QueryPlan, RewrittenPlan, Tag};
use crate::routine::Event;
use crate::typed::{Product, Rewritten};
use pgsqlite_types::{Oid, PgError, Result};

/// The plan of the whole. Its parameters are those of every product.
pub(super) fn rewritten_plan(environment: &Environment, rewritten: &Rewritten, parameters: Vec<Oid>) -> Result<Plan> {
    let mut products = Vec::new();
    let mut modifies = Vec::new();
    let mut named = crate::plan::Named::default();
    let mut columns = None;
    for (i, product) in rewritten.products.iter().enumerate() {
        let statement = match product {
            Product::Notify { channel, payload } => {
                products.push(ProductPlan::Notify { channel: channel.clone(), payload: payload.clone() });
                continue;
            }
            Product::Query(query) => Statement::Query(query.clone()),
            Product::Modify(modify) => Statement::Modify(modify.clone()),
        };
        let mut plan = lower(environment, &statement, parameters.clone())?;
        modifies.append(&mut plan.query.modifies.clone());
        named.read.extend(&plan.query.named.read);
        named.reads_more |= plan.query.named.reads_more;
        if rewritten.counted == Some(i) {
            columns = plan.columns.clone();
        } else if matches!(product, Product::Modify(_)) && plan.columns.is_some() {
            return Err(PgError::internal("RETURNING of a rule's command that nobody asked for"));
        }
        let modify = match statement {
            Statement::Modify(modify) if plan.query.triggered.is_none() => Some(Box::new(modify)),
            _ => None,
        };
        plan.uses_catalog = true;
        products.push(ProductPlan::Run { plan: Box::new(plan), modify });
    }
    let tag = match rewritten.event {
        Event::Insert => Tag::Insert,
        Event::Update => Tag::Update,
        Event::Delete => Tag::Delete,
        Event::Truncate => return Err(PgError::internal("rules for TRUNCATE")),
    };
    let query = QueryPlan {
        steps: vec![],
        tag,
        writes: true,
        touches_few_rows: false,
        waits_apart: false,
        waits_aside: false,
        shares: false,
        constant: false,
        modifies,
        named,
        locks_rows: false,
        passes_over: crate::plan::PassesOver::Values,
        upserts: false,
        calls_writers: false,
        triggered: None,
        gather: None,
        read_back: None,
        current_of: None,
        assigns: None,
        shape: Default::default(),
        rewritten: Some(Box::new(RewrittenPlan { products, counted: rewritten.counted })),
    };
    Ok(Plan { parameters, columns, query, uses_catalog: true })
}
