//! Whole statements on the engine in the process: what is left of a round trip when the socket is taken away.

use crate::statements::STATEMENTS;
use crate::Case;
use pgsqlite_engine::engine::Engine;
use pgsqlite_engine::session::{
    EngineConfig, Execution, Flow, Format, Location, OutputColumn, Row, RowSink, Session, SessionOptions,
};
use pgsqlite_sql::catalog::Catalog;
use pgsqlite_types::codec::Context;
use pgsqlite_types::{PgError, Result};
use std::cell::RefCell;
use std::hint::black_box;
use std::rc::Rc;
use std::sync::Arc;
use tokio::runtime::Runtime;

const SCHEMA: &str = "CREATE TABLE b (id int PRIMARY KEY, n int NOT NULL, s text NOT NULL); \
    CREATE TABLE orders (id bigserial PRIMARY KEY, b int REFERENCES b, customer text NOT NULL, amount numeric(10,2) NOT NULL, \
    placed timestamptz NOT NULL DEFAULT now()); \
    INSERT INTO b SELECT i, i, 'row ' || i FROM generate_series(0, 9999) AS i";

/// Encodes rows as the server does, into a buffer that is used again.
struct Buffer {
    columns: Option<Arc<[OutputColumn]>>,
    binary: bool,
    bytes: Vec<u8>,
    rows: u64,
}

impl RowSink for Buffer {
    fn columns(&mut self, columns: &Arc<[OutputColumn]>) -> Result<()> {
        self.columns = Some(columns.clone());
        Ok(())
    }
    fn row(&mut self, row: &dyn Row, context: &Context) -> Result<Flow> {
        let columns = self.columns.as_ref().ok_or_else(|| PgError::internal("a row before its columns"))?;
        for (i, column) in columns.iter().enumerate() {
            let value = row.value(i);
            match self.binary {
                true => column.codec.binary_out(value, context, &mut self.bytes)?,
                false => column.codec.text_out(value, context, &mut self.bytes)?,
            }
        }
        self.rows += 1;
        Ok(Flow::Continue)
    }
}

/// An engine in memory with the tables of the statements, and a session.
struct Database {
    runtime: Runtime,
    engine: Arc<Engine>,
    session: Session,
}

fn database() -> Database {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
    let engine = Engine::open(EngineConfig::new(Location::Memory, "bench")).expect("an engine");
    let mut session =
        engine.session(SessionOptions { user: "postgres".into(), ..Default::default() }).expect("a session");
    runtime.block_on(run(&mut session, SCHEMA)).expect("the schema");
    Database { runtime, engine, session }
}

async fn run(session: &mut Session, text: &str) -> Result<u64> {
    let mut script = session.script(text)?;
    let mut sink = Buffer { columns: None, binary: false, bytes: Vec::new(), rows: 0 };
    while session.execute_script(&mut script, &mut sink).await?.is_some() {}
    session.sync().await?;
    Ok(sink.rows)
}

/// The schema of the statements, for analysis without a session.
pub fn schema() -> Arc<Catalog> {
    database().engine.catalog()
}

/// Bind, execute and sync of a prepared statement.
async fn prepared(session: &mut Session, name: &str, values: &[Option<&[u8]>], sink: &mut Buffer) -> Result<()> {
    let format = [if sink.binary { Format::Binary } else { Format::Text }];
    sink.bytes.clear();
    session.bind("", name, &format, values, &format).await?;
    match session.execute("", 0, sink).await? {
        Execution::Complete(_) => session.sync().await,
        other => Err(PgError::internal(format!("{other:?}"))),
    }
}

pub fn cases(cases: &mut Vec<Case>) {
    let mut database = database();
    for (name, text) in STATEMENTS {
        database.runtime.block_on(async {
            database.session.parse(name, text, &[]).await.unwrap_or_else(|e| panic!("{name}: {e:?}"));
            database.session.sync().await.expect("sync");
        });
    }
    let database = Rc::new(RefCell::new(database));
    for (name, rows) in [("key select", 1), ("range select", 20), ("update", 0)] {
        for binary in [false, true] {
            let database = database.clone();
            let mut sink = Buffer { columns: None, binary, bytes: Vec::with_capacity(4096), rows: 0 };
            let mut key = 0i32;
            let form = if binary { "binary" } else { "text" };
            cases.push(Case::new(format!("engine/{name}, prepared, {form}"), move || {
                key = (key + 7919) % 9_000;
                let (low, high) = if binary {
                    (key.to_be_bytes().to_vec(), (key + 20).to_be_bytes().to_vec())
                } else {
                    (key.to_string().into_bytes(), (key + 20).to_string().into_bytes())
                };
                let all = [Some(&low[..]), Some(&high[..])];
                let values = if name == "range select" { &all[..] } else { &all[..1] };
                sink.rows = 0;
                let database = &mut *database.borrow_mut();
                database.runtime.block_on(prepared(&mut database.session, name, values, &mut sink)).expect("executed");
                assert_eq!(sink.rows, rows, "{name}");
                black_box(&sink.bytes);
            }));
        }
    }
    let shared = database.clone();
    let mut key = 0;
    cases.push(Case::new("engine/key select, text seen before but for its literal", move || {
        key = (key + 7919) % 9_000;
        let database = &mut *shared.borrow_mut();
        let text = format!("SELECT id, n, s FROM b WHERE id = {key}");
        assert_eq!(database.runtime.block_on(run(&mut database.session, &text)).expect("executed"), 1);
    }));
    let mut number = 0;
    cases.push(Case::new("engine/key select, text never seen before", move || {
        number += 1;
        let database = &mut *database.borrow_mut();
        let text = format!("SELECT id, n, s AS s{number} FROM b WHERE id = 17");
        assert_eq!(database.runtime.block_on(run(&mut database.session, &text)).expect("executed"), 1);
    }));
}
