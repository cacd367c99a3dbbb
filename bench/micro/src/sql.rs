//! A statement's way to SQLite SQL: parse, make parameters of the literals, analyze, lower.

use crate::statements::STATEMENTS;
use crate::{engine, Case};
use pgsqlite_sql::analyze::{analyze, Environment};
use pgsqlite_sql::catalog::{Catalog, PG_CATALOG, PUBLIC};
use pgsqlite_sql::lower::lower;
use pgsqlite_sql::parameterize;
use pgsqlite_sql::parse::parse;
use pgsqlite_types::codec::NoNames;
use pgsqlite_types::{Oid, Settings};
use std::hint::black_box;
use std::sync::Arc;

const PATH: &[Oid] = &[PG_CATALOG, PUBLIC];

fn environment<'a>(catalog: &'a Catalog, settings: &'a Settings) -> Environment<'a> {
    Environment {
        catalog,
        search_path: PATH,
        settings,
        names: &NoNames,
        user: 10,
        rights: pgsqlite_sql::analyze::Rights::AskedNow,
        parameters: Default::default(),
        sqlite_text: pgsqlite_sql::lower::lower_expression,
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
        black_box(parameterize::mask(black_box(text))).expect("a mask");
    }));
}
