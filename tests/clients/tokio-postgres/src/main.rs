//! tokio-postgres: binary parameters, prepared statements, pipelined queries, transactions, COPY-free life, error fields.

use tokio_postgres::{types::Type, Error, NoTls};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let of = |name| std::env::var(name).expect("set by run.py");
    let mut config = tokio_postgres::Config::new();
    config.host(of("PGHOST")).port(of("PGPORT").parse().expect("a port")).user(of("PGUSER")).dbname(of("PGDATABASE"));
    let (mut client, connection) = config.connect(NoTls).await?;
    tokio::spawn(connection);

    client
        .batch_execute(
            "CREATE TYPE mood AS ENUM ('sad', 'happy');
             CREATE TABLE t (id serial PRIMARY KEY, a int8, b text UNIQUE, c float4, d bytea, e text[], f jsonb, g bool, h mood)",
        )
        .await?;
    let json = serde_json::json!({"k": [1, null]});
    let insert = client.prepare("INSERT INTO t (a, b, c, d, e, f, g) VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING id").await?;
    assert_eq!(insert.params()[..4], [Type::INT8, Type::TEXT, Type::FLOAT4, Type::BYTEA]);
    let tags = vec!["x".to_owned(), String::new()];
    let row = client.query_one(&insert, &[&(1i64 << 40), &"it's", &1.5f32, &vec![0u8, 255], &tags, &json, &true]).await?;
    assert_eq!(row.get::<_, i32>(0), 1);
    let row = client.query_one("SELECT a, b, c, d, e, f, g FROM t WHERE id = $1", &[&1i32]).await?;
    assert_eq!((row.get::<_, i64>(0), row.get::<_, &str>(1), row.get::<_, f32>(2)), (1 << 40, "it's", 1.5));
    assert_eq!((row.get::<_, Vec<u8>>(3), row.get::<_, Vec<String>>(4)), (vec![0, 255], tags));
    assert_eq!((row.get::<_, serde_json::Value>(5), row.get::<_, Option<bool>>(6)), (json, Some(true)));

    let mood = client.prepare("SELECT h FROM t").await?;
    assert_eq!(mood.columns()[0].type_().name(), "mood");

    let one = client.prepare("SELECT $1::int4 + 1").await?;
    let (x, y) = (1i32, 2i32);
    let (p, q): ([&(dyn tokio_postgres::types::ToSql + Sync); 1], [&(dyn tokio_postgres::types::ToSql + Sync); 1]) = ([&x], [&y]);
    let (first, second) = tokio::join!(client.query_one(&one, &p), client.query_one(&one, &q));
    assert_eq!((first?.get::<_, i32>(0), second?.get::<_, i32>(0)), (2, 3));

    let error = client.execute("INSERT INTO t (b) VALUES ($1)", &[&"it's"]).await.expect_err("a duplicate");
    let error = error.as_db_error().expect("the server's error");
    assert_eq!((error.code().code(), error.constraint(), error.table()), ("23505", Some("t_b_key"), Some("t")));

    let mut transaction = client.transaction().await?;
    assert_eq!(transaction.execute("UPDATE t SET a = a + 1", &[]).await?, 1);
    let inner = transaction.transaction().await?;
    assert_eq!(inner.execute("DELETE FROM t", &[]).await?, 1);
    inner.rollback().await?;
    transaction.commit().await?;
    let a: i64 = client.query_one("SELECT a FROM t", &[]).await?.get(0);
    assert_eq!(a, (1 << 40) + 1);
    println!("ok");
    Ok(())
}
