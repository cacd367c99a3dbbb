//! What tests of sessions without a socket share.
#![allow(dead_code)] // each test file uses what it needs

use pgsqlite_engine::engine::Engine;
use pgsqlite_engine::session::*;
use pgsqlite_types::codec::Context;
use pgsqlite_types::Result;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Collects the rows in text form, columns joined by `|`, NULL as nothing.
#[derive(Default)]
pub struct Rows {
    pub columns: Vec<OutputColumn>,
    pub rows: Vec<String>,
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
}

pub fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime")
}

/// A folder of its own, removed at the end.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("pgsqlite-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder");
        Folder(path)
    }
    pub fn file(&self) -> PathBuf {
        self.0.join("test.db")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub fn open(path: &Path) -> Arc<Engine> {
    open_with_pool(path, 4, Duration::from_secs(5))
}

pub fn open_with_pool(path: &Path, pool_size: usize, pool_timeout: Duration) -> Arc<Engine> {
    let location = Location::File(path.to_path_buf());
    let config = EngineConfig { pool_size, pool_timeout, ..EngineConfig::new(location, "test") };
    Engine::open(config).expect("the database opens")
}

pub fn session(engine: &Arc<Engine>) -> Session {
    engine.session(SessionOptions { user: "postgres".into(), ..Default::default() }).expect("a session")
}

/// Runs a query string as the simple protocol does; the last statement's rows.
pub async fn run(session: &mut Session, text: &str) -> Result<Vec<String>> {
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

pub async fn ok(session: &mut Session, text: &str) -> Vec<String> {
    run(session, text).await.unwrap_or_else(|e| panic!("{text}: {e:?}"))
}

pub async fn code(session: &mut Session, text: &str) -> String {
    match run(session, text).await {
        Ok(rows) => panic!("{text} gave {rows:?} instead of an error"),
        Err(e) => e.code().to_string(),
    }
}
