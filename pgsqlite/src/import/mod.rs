//! `pgsqlite import`: a dump of pg_dump, or a folder of CSV files, into a file that no server has open.
//!
//! All of it is one transaction: after an error the file is as it was.

mod csv_folder;
mod split;
mod sql_file;

use crate::offline::{finish, open, session, told, NoRows};
use crate::progress::Progress;
use anyhow::{bail, Result};
use clap::Args;
use pgsqlite_engine::engine::Engine;
use pgsqlite_engine::session::{Execution, Session};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

/// Import a dump of pg_dump (plain SQL) or a folder of CSV files
///
/// The import is one transaction: after an error the file is as it was. Each file NAME.csv of a folder becomes the table NAME. Its first line
/// names the columns, and the values determine their types.
#[derive(Args, Debug)]
pub struct ImportCommand {
    /// The SQLite file, made if it does not exist
    #[arg(long, env = "PGSQLITE_DATABASE", value_name = "FILE")]
    database: PathBuf,
    /// Leave out owners and privileges (OWNER TO, GRANT, REVOKE)
    #[arg(long)]
    no_owner: bool,
    /// The dump, the folder, or - for a dump on standard input
    source: PathBuf,
}

/// An import that is on its way.
struct Import<'a> {
    session: Session,
    progress: &'a mut Progress,
    /// what is done now, for the progress
    note: String,
    no_owner: bool,
    statements: u64,
    rows: u64,
}

impl Import<'_> {
    /// Runs the one statement of a text. A COPY … FROM stdin waits for its data then.
    async fn execute(&mut self, text: &str) -> Result<Option<Execution>> {
        let run = async {
            let mut script = self.session.script(text)?;
            let mut last = None;
            while let Some(execution) = self.session.execute_script(&mut script, &mut NoRows).await? {
                let waits = matches!(execution, Execution::CopyIn { .. });
                last = Some(execution);
                if waits {
                    return Ok(last);
                }
            }
            self.session.sync().await?;
            Ok(last)
        };
        let done = run.await.map_err(told)?;
        self.statements += 1;
        for notice in self.session.take_notices() {
            if notice.fields().severity != pgsqlite_types::error::Severity::Notice {
                eprintln!("pgsqlite: {}", notice.message());
            }
        }
        Ok(done)
    }

    async fn copy_data(&mut self, data: &[u8]) -> Result<()> {
        self.session.copy_in_data(data).await.map_err(told)
    }

    async fn copy_done(&mut self) -> Result<()> {
        let tag = self.session.copy_in_done().await.map_err(told)?;
        self.rows += tag.strip_prefix("COPY ").and_then(|n| n.parse::<u64>().ok()).unwrap_or(0);
        self.note = format!("{} rows", self.rows);
        self.session.sync().await.map_err(told)
    }
}

async fn import(engine: &Arc<Engine>, command: &ImportCommand) -> Result<(u64, u64)> {
    let mut progress = Progress::new("importing");
    let mut import = Import {
        session: session(engine).map_err(told)?,
        progress: &mut progress,
        note: String::new(),
        no_owner: command.no_owner,
        statements: 0,
        rows: 0,
    };
    import.execute("BEGIN").await?;
    if command.source.is_dir() {
        csv_folder::import(&mut import, &command.source).await?;
    } else {
        sql_file::import(&mut import, &command.source).await?;
    }
    let counts = (import.statements - 1, import.rows);
    import.execute("COMMIT").await?;
    Ok(counts)
}

pub async fn run(command: ImportCommand) -> Result<()> {
    if command.source != std::path::Path::new("-") && !command.source.exists() {
        bail!("\"{}\" does not exist", command.source.display());
    }
    let real = |path: &std::path::Path| path.canonicalize().ok();
    if real(&command.source).is_some_and(|source| Some(source) == real(&command.database)) {
        bail!("\"{}\" is both the source and the database", command.source.display());
    }
    let is_new = !command.database.exists();
    let began = Instant::now();
    let engine = open(&command.database, true)?;
    let imported = finish(import(&engine, &command).await, &engine).await;
    drop(engine);
    if imported.is_err() && is_new {
        // (nothing was committed to it)
        let _ = std::fs::remove_file(&command.database);
    }
    let (statements, rows) = imported?;
    let seconds = began.elapsed().as_secs_f64();
    println!("{}: {statements} statements, {rows} rows of COPY in {seconds:.1} s", command.database.display());
    Ok(())
}
