//! A file that no server has open, used from the command line: opened, changed by statements, closed.

use anyhow::{bail, Result};
use pgsqlite_engine::engine::Engine;
use pgsqlite_engine::session::{
    EngineConfig, Execution, Flow, Format, Location, OutputColumn, Row, RowSink, Session, SessionOptions,
};
use pgsqlite_types::codec::Context;
use pgsqlite_types::PgError;
use std::path::Path;
use std::sync::Arc;

/// An error as a person reads it, in one line: the message, its detail, and what to do.
pub fn told(e: PgError) -> anyhow::Error {
    let fields = e.fields();
    let detail = fields.detail.as_ref().map_or(String::new(), |d| format!(": {}", d.replace('\n', ", ")));
    let message = format!("{}{detail}", e.message());
    match &fields.hint {
        Some(hint) if message.ends_with(['.', '?']) => anyhow::anyhow!("{message} {hint}"),
        Some(hint) => anyhow::anyhow!("{message}. {hint}"),
        None => anyhow::anyhow!(message),
    }
}

/// Opens a file for one user. `make`: it may be new.
pub fn open(path: &Path, make: bool) -> Result<Arc<Engine>> {
    if !make && !path.exists() {
        bail!("the file \"{}\" does not exist", path.display());
    }
    pgsqlite_storage::vfs::open::leave_litestreams(path);
    let database = path.file_stem().map_or("main".into(), |s| s.to_string_lossy());
    let config = EngineConfig {
        pool_size: 2,
        founder: pgsqlite_server::os_user::own(),
        ..EngineConfig::new(Location::File(path.to_path_buf()), &database)
    };
    Engine::open(config).map_err(told)
}

/// Closes the file in any case.
pub async fn finish<T>(result: Result<T>, engine: &Arc<Engine>) -> Result<T> {
    let closed = engine.shutdown().await.map_err(told);
    result.and_then(|value| closed.map(|()| value))
}

/// A session of the superuser that every file has.
pub fn session(engine: &Arc<Engine>) -> Result<Session, PgError> {
    let options = SessionOptions { user: engine.bootstrap_role(), database: "main".into(), ..Default::default() };
    engine.session(options)
}

/// Runs statements that give no rows.
pub async fn execute(engine: &Arc<Engine>, statements: &str) -> Result<()> {
    let run = async {
        let mut session = session(engine)?;
        let mut script = session.script(statements)?;
        while let Some(execution) = session.execute_script(&mut script, &mut NoRows).await? {
            if let Execution::CopyIn { .. } = execution {
                return Err(PgError::internal("a statement wants data"));
            }
        }
        session.sync().await
    };
    run.await.map_err(told)
}

/// Takes no rows.
pub struct NoRows;

impl RowSink for NoRows {
    fn columns(&mut self, _: &Arc<[OutputColumn]>) -> pgsqlite_types::Result<()> {
        Ok(())
    }
    fn row(&mut self, _: &dyn Row, _: &Context) -> pgsqlite_types::Result<Flow> {
        Ok(Flow::Continue)
    }
    fn copy_out(&mut self, _: &[Format]) -> pgsqlite_types::Result<()> {
        Ok(())
    }
    fn copy_done(&mut self) -> pgsqlite_types::Result<()> {
        Ok(())
    }
    fn copy_data(&mut self, _: &[u8]) -> pgsqlite_types::Result<Flow> {
        Ok(Flow::Continue)
    }
}
