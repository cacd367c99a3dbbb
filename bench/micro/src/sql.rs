//! A statement's way to SQLite SQL: parse, lift the literals, analyze, lower.

use crate::{engine, Case};
use pgsqlite_sql::analyze::{analyze, Environment};
use pgsqlite_sql::catalog::{Catalog, PG_CATALOG, PUBLIC};
use pgsqlite_sql::lift;
use pgsqlite_sql::lower::lower;
use pgsqlite_sql::parse::parse;
use pgsqlite_types::codec::NoNames;
use pgsqlite_types::{Oid, Settings};
use std::hint::black_box;
use std::sync::Arc;

pub const STATEMENTS: &[(&str, &str)] = &[
    ("key select", "SELECT id, n, s FROM b WHERE id = $1"),
    ("range select", "SELECT id, n, s FROM b WHERE id >= $1 AND id < $2 ORDER BY id LIMIT 20"),
    ("insert", "INSERT INTO b (id, n, s) VALUES ($1, $2, $3) RETURNING id"),
    ("update", "UPDATE b SET n = n + 1 WHERE id = $1"),
    (
        "join and group",
        "SELECT o.customer, count(*), sum(o.amount) FROM orders o JOIN b ON b.id = o.b WHERE o.placed >= $1 \
         GROUP BY o.customer HAVING sum(o.amount) > 100 ORDER BY 3 DESC LIMIT 10",
    ),
    (
        "CTE and window",
        "WITH recent AS (SELECT id, customer, amount, row_number() OVER (PARTITION BY customer ORDER BY placed DESC) AS r \
         FROM orders WHERE placed > now() - interval '30 days') SELECT b.s, recent.amount FROM recent JOIN b ON b.id = recent.id \
         WHERE r <= 3 AND b.n BETWEEN $1 AND $2",
    ),
];

const PATH: &[Oid] = &[PG_CATALOG, PUBLIC];

fn environment<'a>(catalog: &'a Catalog, settings: &'a Settings) -> Environment<'a> {
    Environment {
        catalog,
        search_path: PATH,
        settings,
        names: &NoNames,
        user: 10,
        rights: pgsqlite_sql::analyze::Rights::AskedNow,
        fitted_parameters: false,
    }
}

pub fn cases(cases: &mut Vec<Case>) {
    let catalog = engine::schema();
    let settings = Arc::new(Settings::default());
    for (name, text) in STATEMENTS {
        cases.push(Case::new(format!("sql/{name}, parse"), move || {
            black_box(parse(black_box(text))).expect("a statement");
        }));
        let raw = parse(text).expect("a statement").remove(0);
        let analyzed =
            analyze(&environment(&catalog, &settings), &raw.node, &[]).unwrap_or_else(|e| panic!("{name}: {e:?}"));
        let (c, s) = (catalog.clone(), settings.clone());
        cases.push(Case::new(format!("sql/{name}, analyze"), move || {
            black_box(analyze(&environment(&c, &s), black_box(&raw.node), &[])).expect("an analyzed statement");
        }));
        let (c, s) = (catalog.clone(), settings.clone());
        cases.push(Case::new(format!("sql/{name}, lower"), move || {
            let (statement, parameters) = &analyzed;
            black_box(lower(&environment(&c, &s), black_box(statement), parameters.clone())).expect("a plan");
        }));
    }
    let text = "SELECT id, n, s FROM b WHERE id = 4711 AND s <> 'nothing' LIMIT 20";
    cases.push(Case::new("sql/literals found in a text", move || {
        black_box(lift::mask(black_box(text))).expect("a mask");
    }));
}
