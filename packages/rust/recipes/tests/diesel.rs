//! diesel: its migrations fill the template, and each test has a connection to a copy. It needs libpq.
#![cfg(feature = "diesel")]

use diesel::prelude::*;
use diesel_migrations::{embed_migrations, EmbeddedMigrations, MigrationHarness};
use pgsqlite_test::{Database, Error, Server, Template};
use std::sync::OnceLock;

const MIGRATIONS: EmbeddedMigrations = embed_migrations!("migrations");

diesel::table! {
    books (id) {
        id -> Integer,
        title -> Text,
    }
}

fn migrate(empty: &Database) -> Result<(), Error> {
    let mut connection = PgConnection::establish(&empty.url()).map_err(std::io::Error::other)?;
    connection.run_pending_migrations(MIGRATIONS).map_err(|e| std::io::Error::other(e.to_string()))?;
    Ok(())
}

fn insert_and_count() -> i64 {
    static TEMPLATE: OnceLock<Template> = OnceLock::new();
    let database = TEMPLATE.get_or_init(|| Template::new(Server::shared(), migrate).unwrap()).copy().unwrap();
    let mut connection = PgConnection::establish(&database.url()).unwrap();
    diesel::insert_into(books::table).values(books::title.eq("second")).execute(&mut connection).unwrap();
    books::table.count().get_result(&mut connection).unwrap()
}

#[test]
fn one() {
    assert_eq!(insert_and_count(), 2);
}

#[test]
fn another() {
    assert_eq!(insert_and_count(), 2);
}
