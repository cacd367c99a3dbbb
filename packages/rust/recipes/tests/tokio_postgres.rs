//! tokio-postgres: the template is filled by a file of SQL.

use pgsqlite_test::{Server, Template};
use std::sync::OnceLock;

fn template() -> &'static Template {
    static TEMPLATE: OnceLock<Template> = OnceLock::new();
    let migrate = || Template::new(Server::shared(), |empty| empty.execute(include_str!("../migrations/001_books/up.sql"))).unwrap();
    TEMPLATE.get_or_init(migrate)
}

async fn insert_and_count() -> i64 {
    let database = template().copy().unwrap();
    let (client, connection) = tokio_postgres::connect(&database.conninfo(), tokio_postgres::NoTls).await.unwrap();
    let running = tokio::spawn(connection);
    client.execute("INSERT INTO books (title) VALUES ($1)", &[&"second"]).await.unwrap();
    let count = client.query_one("SELECT count(*) FROM books", &[]).await.unwrap().get(0);
    drop(client);
    running.await.unwrap().unwrap();
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
