//! The load generator: a job on standard input → each target's histogram on standard output, progress on standard error.
//!
//! All targets' sessions are opened first and warmed up; after a pause the targets take turns in slices, in another order each
//! time, so that a disturbance of the machine meets all of them.

mod job;
mod record;
mod server;
mod sqlite;
mod wire;

use anyhow::{ensure, Context, Result};
use job::{Job, Place};
use record::Record;
use std::time::Duration;

/// Most sessions at once while warming up.
const WARMUP_CLIENTS: usize = 10;
/// A warm-up that takes longer than this has warmed up.
const LONGEST_WARMUP: Duration = Duration::from_secs(10);

enum Driver<'a> {
    Server(server::Server<'a>),
    Sqlite(sqlite::Sqlite<'a>),
}

impl Driver<'_> {
    fn slice(&mut self, record: &mut Record, operations: u64, time: Duration, clients: usize) -> Result<()> {
        match self {
            Driver::Server(s) => s.slice(record, operations, time, clients),
            Driver::Sqlite(s) => s.slice(record, operations, time, clients),
        }
    }
}

fn main() -> Result<()> {
    // the SQLite of the server, not another one
    pgsqlite_sqlite::check().map_err(anyhow::Error::msg)?;
    let job: Job = serde_json::from_reader(std::io::stdin().lock()).context("reading the job")?;
    ensure!(!job.statements.is_empty() && job.clients > 0 && job.slices > 0, "a job without work");
    ensure!(job.rate.is_none_or(|r| r > 0.0), "the rate of an open loop is above zero");
    let mut drivers = Vec::new();
    for target in &job.targets {
        let driver = match &target.place {
            place @ Place::Server { .. } => server::Server::open(&job, place).map(Driver::Server),
            place @ Place::Sqlite { .. } => sqlite::Sqlite::open(&job, place).map(Driver::Sqlite),
        };
        drivers.push((driver.with_context(|| target.name.clone())?, Record::new()?));
    }
    if job.warmup_operations > 0 {
        for (target, (driver, _)) in job.targets.iter().zip(&mut drivers) {
            driver
                .slice(&mut Record::new()?, job.warmup_operations, LONGEST_WARMUP, WARMUP_CLIENTS)
                .with_context(|| format!("warming up {}", target.name))?;
        }
        std::thread::sleep(Duration::from_millis(job.pause_ms));
    }
    let count = drivers.len();
    for slice in 0..job.slices {
        for turn in 0..count {
            let at = (slice + turn) % count;
            let (driver, record) = &mut drivers[at];
            driver
                .slice(record, job.slice_operations, Duration::from_millis(job.slice_ms), job.clients)
                .with_context(|| job.targets[at].name.clone())?;
        }
        eprintln!("slice {}/{}", slice + 1, job.slices);
    }
    let summaries = job.targets.iter().zip(&drivers).map(|(t, (_, record))| record.summary(&t.name));
    println!("{}", serde_json::to_string(&summaries.collect::<Result<Vec<_>>>()?)?);
    Ok(())
}
