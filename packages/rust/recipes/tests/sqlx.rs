//! sqlx: its migrations fill the template, and each test has a pool on a copy.

use pgsqlite_test::{Database, Error, Server, Template};
use sqlx::postgres::{PgConnectOptions, PgPool};
use std::sync::OnceLock;

/// sqlx's URLs need a host, and that of a socket has none.
fn options(database: &Database) -> PgConnectOptions {
    PgConnectOptions::new_without_pgpass().socket(Server::shared().host()).username("postgres").database(database.name())
}

/// Runs in a thread of its own: a test's runtime cannot wait for another one.
fn migrate(empty: &Database) -> Result<(), Error> {
    let options = options(empty);
    let migrating = std::thread::spawn(move || {
        tokio::runtime::Runtime::new()?.block_on(async {
            let pool = PgPool::connect_with(options).await.map_err(std::io::Error::other)?;
            let migrations = sqlx::migrate::Migrator::new(std::path::Path::new("sqlx-migrations")).await;
            migrations.map_err(std::io::Error::other)?.run(&pool).await.map_err(std::io::Error::other)?;
            pool.close().await;
            Ok::<_, std::io::Error>(())
        })
    });
    Ok(migrating.join().expect("the migration does not panic")?)
}

async fn insert_and_count() -> i64 {
    static TEMPLATE: OnceLock<Template> = OnceLock::new();
    let database = TEMPLATE.get_or_init(|| Template::new(Server::shared(), migrate).unwrap()).copy().unwrap();
    let pool = PgPool::connect_with(options(&database)).await.unwrap();
    sqlx::query("INSERT INTO books (title) VALUES ($1)").bind("second").execute(&pool).await.unwrap();
    let count = sqlx::query_scalar("SELECT count(*) FROM books").fetch_one(&pool).await.unwrap();
    pool.close().await;
    count
}

#[tokio::test]
async fn one() {
    assert_eq!(insert_and_count().await, 2);
}

#[tokio::test]
async fn another() {
    assert_eq!(insert_and_count().await, 2);
}
