//! Sessions beside each other: what one does must be seen, or not seen, by the others as PostgreSQL does it.
//!
//! Every test opens a database of its own and drives [`Session`] without a socket.

use pgsqlite_engine::engine::Engine;
use pgsqlite_engine::session::*;
use pgsqlite_types::codec::Context;
use pgsqlite_types::{oid, PgError, Result};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Collects the rows in text form, columns joined by `|`, NULL as nothing.
#[derive(Default)]
struct Rows {
    columns: Vec<OutputColumn>,
    rows: Vec<String>,
}

impl RowSink for Rows {
    fn columns(&mut self, columns: &Arc<[OutputColumn]>) -> Result<()> {
        self.columns = columns.to_vec();
        Ok(())
    }
    fn row(&mut self, row: &dyn Row, context: &Context) -> Result<Flow> {
        let mut line = Vec::new();
        for (i, column) in self.columns.iter().enumerate() {
            if i > 0 {
                line.push(b'|');
            }
            let value = row.value(i);
            if !matches!(value, pgsqlite_types::DatumRef::Null) {
                column.codec.text_out(value, context, &mut line)?;
            }
        }
        self.rows.push(String::from_utf8_lossy(&line).into_owned());
        Ok(Flow::Continue)
    }
    fn copy_out(&mut self, _formats: &[Format]) -> Result<()> {
        Err(PgError::internal("no COPY here"))
    }
    fn copy_data(&mut self, _data: &[u8]) -> Result<Flow> {
        Err(PgError::internal("no COPY here"))
    }
    fn copy_done(&mut self) -> Result<()> {
        Err(PgError::internal("no COPY here"))
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime")
}

/// A folder of its own, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("pgsqlite-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder");
        Folder(path)
    }
    fn file(&self) -> PathBuf {
        self.0.join("test.db")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn open(path: &Path) -> Arc<Engine> {
    let config = EngineConfig {
        location: Location::File(path.to_path_buf()),
        database: "test".into(),
        pooling: true,
        pool_size: 4,
        pool_timeout: Duration::from_secs(5),
        databases: None,
    };
    Engine::open(config).expect("the database opens")
}

fn session(engine: &Arc<Engine>) -> Session {
    engine.session(SessionOptions { user: "postgres".into(), ..Default::default() }).expect("a session")
}

/// Runs a query string as the simple protocol does; the last statement's rows.
async fn run(session: &mut Session, text: &str) -> Result<Vec<String>> {
    let result = async {
        let mut script = session.script(text)?;
        let mut rows = Vec::new();
        loop {
            let mut sink = Rows::default();
            match session.execute_script(&mut script, &mut sink).await? {
                Some(_) => rows = sink.rows,
                None => return Ok(rows),
            }
        }
    }
    .await;
    if result.is_err() {
        session.failed().await;
    }
    session.sync().await?;
    result
}

async fn ok(session: &mut Session, text: &str) -> Vec<String> {
    run(session, text).await.unwrap_or_else(|e| panic!("{text}: {e:?}"))
}

async fn code(session: &mut Session, text: &str) -> String {
    match run(session, text).await {
        Ok(rows) => panic!("{text} gave {rows:?} instead of an error"),
        Err(e) => e.code().to_string(),
    }
}

#[test]
fn values_of_a_sequence_are_not_given_again_after_a_restart() {
    let folder = Folder::new("sequence");
    runtime().block_on(async {
        let engine = open(&folder.file());
        let mut a = session(&engine);
        ok(&mut a, "CREATE SEQUENCE s").await;
        assert_eq!(ok(&mut a, "SELECT nextval('s')").await, ["1"]);
        assert_eq!(ok(&mut a, "SELECT nextval('s')").await, ["2"]);
        drop(a);
        engine.shutdown().await.expect("shutdown");
        drop(engine);
        let engine = open(&folder.file());
        assert_eq!(ok(&mut session(&engine), "SELECT nextval('s')").await, ["3"]);
    });
}

#[test]
fn temporary_tables_belong_to_their_session() {
    let folder = Folder::new("temporary");
    runtime().block_on(async {
        let engine = open(&folder.file());
        let (mut a, mut b) = (session(&engine), session(&engine));
        ok(&mut a, "CREATE TABLE t (a int); INSERT INTO t VALUES (1)").await;
        ok(&mut a, "CREATE TEMP TABLE t (b text); INSERT INTO t VALUES ('mine')").await;
        ok(&mut a, "CREATE TEMP TABLE only_mine (a int)").await;
        assert_eq!(ok(&mut a, "SELECT b FROM t").await, ["mine"]);
        assert_eq!(ok(&mut b, "SELECT a FROM t").await, ["1"]);
        assert_eq!(code(&mut b, "SELECT * FROM only_mine").await, "42P01");
        // another session's change of the schema does not take them away
        ok(&mut b, "CREATE TABLE u (a int)").await;
        assert_eq!(ok(&mut a, "SELECT b FROM t").await, ["mine"]);
        assert_eq!(ok(&mut a, "SELECT count(*) FROM u").await, ["0"]);
        drop(a);
        let mut c = session(&engine);
        assert_eq!(ok(&mut c, "SELECT a FROM t").await, ["1"]);
        assert_eq!(code(&mut c, "SELECT * FROM only_mine").await, "42P01");
    });
}

#[test]
fn the_columns_of_execute_are_those_of_the_sessions_statement() {
    let folder = Folder::new("execute");
    runtime().block_on(async {
        let engine = open(&folder.file());
        for (query, expected) in [("SELECT 1::int4", oid::INT4), ("SELECT 'x'::text", oid::TEXT)] {
            let mut s = session(&engine);
            ok(&mut s, &format!("PREPARE q AS {query}")).await;
            s.parse("", "EXECUTE q", &[]).await.expect("parse");
            let columns = s.describe_statement("").await.expect("describe").columns.expect("columns");
            assert_eq!(columns[0].type_oid, expected, "{query}");
            s.sync().await.expect("sync");
        }
    });
}

#[test]
fn a_plan_of_a_rolled_back_schema_is_not_used() {
    let folder = Folder::new("rolled-back");
    runtime().block_on(async {
        let engine = open(&folder.file());
        let (mut a, mut b) = (session(&engine), session(&engine));
        ok(&mut a, "CREATE TABLE t (a int)").await;
        ok(&mut a, "BEGIN; ALTER TABLE t ADD COLUMN b int").await;
        a.parse("s", "SELECT * FROM t", &[]).await.expect("parse");
        ok(&mut a, "ROLLBACK").await;
        ok(&mut b, "ALTER TABLE t ADD COLUMN c text").await;
        let error = a.describe_statement("s").await.expect_err("the columns are others");
        assert_eq!(error.code().to_string(), "0A000");
    });
}

#[test]
fn a_write_that_waited_obeys_the_new_constraint() {
    let folder = Folder::new("waited");
    runtime().block_on(async {
        let engine = open(&folder.file());
        let (mut a, mut b) = (session(&engine), session(&engine));
        ok(&mut a, "CREATE TABLE t (a int)").await;
        ok(&mut b, "INSERT INTO t VALUES (1)").await;
        ok(&mut a, "BEGIN; ALTER TABLE t ADD CONSTRAINT positive CHECK (a > 0)").await;
        let waiting = tokio::spawn(async move { run(&mut b, "INSERT INTO t VALUES (-1)").await });
        tokio::time::sleep(Duration::from_millis(200)).await;
        assert!(!waiting.is_finished(), "the writer slot is taken");
        ok(&mut a, "COMMIT").await;
        let error = waiting.await.expect("the task").expect_err("the constraint holds");
        assert_eq!(error.code().to_string(), "23514");
        assert_eq!(ok(&mut a, "SELECT count(*) FROM t").await, ["1"]);
    });
}

#[test]
fn a_read_only_transaction_names_the_command() {
    let folder = Folder::new("read-only");
    runtime().block_on(async {
        let engine = open(&folder.file());
        let mut a = session(&engine);
        ok(&mut a, "CREATE TABLE t (a int)").await;
        let error = run(&mut a, "BEGIN READ ONLY; INSERT INTO t VALUES (1)").await.expect_err("read-only");
        assert_eq!(error.code().to_string(), "25006");
        assert_eq!(error.message(), "cannot execute INSERT in a read-only transaction");
    });
}
