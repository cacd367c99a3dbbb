//! The recorded files of `tests/sql`, run in this process. What they answer is compared elsewhere (`tests/sql/run.py`).

use crate::engine::Engine;
use crate::session::{EngineConfig, Execution, Flow, Location, OutputColumn, Row, RowSink, Session, SessionOptions};
use pgsqlite_types::codec::Context;
use pgsqlite_types::Result;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The repository's folder of tests.
pub fn tests() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests")
}

/// One statement of a file.
pub struct Case {
    pub sql: String,
    copy: String,
    connection: Option<String>,
    /// it is given parameters
    pub bound: bool,
}

/// The statements of a file; its README describes the format.
pub fn cases(path: &Path) -> Vec<Case> {
    let text = std::fs::read_to_string(path).expect("a file of statements");
    let mut lines = text.lines().peekable();
    let mut cases = Vec::new();
    loop {
        let (mut connection, mut bound) = (None, false);
        while let Some(line) = lines.next_if(|l| l.trim().is_empty() || l.starts_with(['#', '@'])) {
            if let Some(name) = line.strip_prefix("@conn ") {
                connection = Some(name.to_owned());
            }
            bound |= line.starts_with("@params") || line.starts_with("@bparams");
        }
        if lines.peek().is_none() {
            return cases;
        }
        let mut sql = Vec::new();
        for line in lines.by_ref() {
            sql.push(line);
            if line.trim_end().ends_with(';') {
                break;
            }
        }
        let mut copy = String::new();
        while let Some(line) = lines.next_if(|l| l.starts_with("< ")) {
            copy.push_str(&line[2..]);
            copy.push('\n');
        }
        if lines.next_if_eq(&"----").is_some() {
            while lines.next_if(|l| !l.is_empty()).is_some() {}
        }
        cases.push(Case { sql: sql.join("\n"), copy, connection, bound });
    }
}

/// A database with the sessions of a file.
pub struct Replay {
    pub engine: Arc<Engine>,
    sessions: HashMap<String, Session>,
    current: String,
}

/// Takes rows, and keeps none.
struct NoRows;

impl RowSink for NoRows {
    fn columns(&mut self, _: &Arc<[OutputColumn]>) -> Result<()> {
        Ok(())
    }
    fn row(&mut self, _: &dyn Row, _: &Context) -> Result<Flow> {
        Ok(Flow::Continue)
    }
    fn copy_out(&mut self, _: &[crate::session::Format]) -> Result<()> {
        Ok(())
    }
    fn copy_data(&mut self, _: &[u8]) -> Result<Flow> {
        Ok(Flow::Continue)
    }
    fn copy_done(&mut self) -> Result<()> {
        Ok(())
    }
}

impl Replay {
    pub fn new() -> Replay {
        let engine = Engine::open(EngineConfig::new(Location::Memory, "main")).expect("a database in memory");
        Replay { engine, sessions: HashMap::new(), current: "main".into() }
    }

    /// The session that the next statement runs in.
    pub fn session(&mut self, case: &Case) -> &mut Session {
        if let Some(name) = &case.connection {
            self.current.clone_from(name);
        }
        let engine = &self.engine;
        self.sessions.entry(self.current.clone()).or_insert_with(|| {
            let setting = |name: &str, value: &str| (name.to_owned(), value.to_owned());
            let settings =
                vec![setting("TimeZone", "UTC"), setting("lock_timeout", "2s"), setting("statement_timeout", "20s")];
            let (user, database) = ("postgres".to_owned(), "main".to_owned());
            engine.session(SessionOptions { user, database, settings, ..Default::default() }).expect("a session")
        })
    }

    /// Runs a statement, whatever it answers.
    pub async fn run(&mut self, case: &Case) {
        let session = self.session(case);
        // (its error is what the file expects)
        let _ = run(session, case).await;
        let _ = session.sync().await;
        session.take_notices();
        session.take_notifications();
        if session.cancel_handle().is_terminated() {
            let current = self.current.clone();
            self.sessions.remove(&current);
        }
    }
}

async fn run(session: &mut Session, case: &Case) -> Result<()> {
    let mut script = session.script(&case.sql)?;
    while let Some(execution) = session.execute_script(&mut script, &mut NoRows).await? {
        if let Execution::CopyIn { .. } = execution {
            session.copy_in_data(case.copy.as_bytes()).await?;
            session.copy_in_done().await?;
        }
        if script.is_last() {
            session.sync().await?;
        }
    }
    Ok(())
}

/// Runs the work in a runtime like the server's, on a thread with a server's stack.
pub fn in_runtime(work: impl std::future::Future<Output = ()> + Send + 'static) {
    let run = move || {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        builder.worker_threads(1).thread_stack_size(16 << 20).enable_all().build().expect("a runtime").block_on(work);
    };
    let thread = std::thread::Builder::new().stack_size(64 << 20).spawn(run).expect("a thread");
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}
