//! `pgsqlite info`, `check` and `upgrade`: a file, looked at from the command line.

use crate::offline::told;
use crate::progress::Progress;
use anyhow::{bail, Result};
use clap::Args;
use pgsqlite_engine::inspect;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::Arc;
use std::time::Duration;

/// Print what is in a file: tables with rows and sizes, its format, the processes that have it open
#[derive(Args, Debug)]
pub struct InfoCommand {
    /// The SQLite file
    file: PathBuf,
}

/// Check that a file is sound: pages, indexes, foreign keys, catalogs
///
/// It reads the whole file. A server may have the file open. The exit code is 1 if something is wrong.
#[derive(Args, Debug)]
pub struct CheckCommand {
    /// The SQLite file
    file: PathBuf,
}

/// Upgrade a file of an earlier pgsqlite to the newest format
///
/// A server does so by itself with the first change of the schema. An earlier pgsqlite cannot serve the file afterwards.
#[derive(Args, Debug)]
pub struct UpgradeCommand {
    /// The SQLite file, which no server may have open
    file: PathBuf,
}

/// A number of bytes as a person reads it.
fn size(bytes: i64) -> String {
    let mut value = bytes as f64;
    for unit in ["B", "kB", "MB", "GB"] {
        if value < 1000.0 {
            return if unit == "B" { format!("{bytes} B") } else { format!("{value:.1} {unit}") };
        }
        value /= 1000.0;
    }
    format!("{value:.1} TB")
}

/// The processes that have a file open, as far as this user may know: number and name. Nobody is found where there is no `/proc`.
fn holders(file: &Path) -> Vec<(u32, String)> {
    let Ok(real) = file.canonicalize() else { return vec![] };
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        let descriptors = std::fs::read_dir(entry.path().join("fd")).into_iter().flatten().flatten();
        let has = descriptors.into_iter().any(|fd| std::fs::read_link(fd.path()).is_ok_and(|target| target == real));
        if has && pid != std::process::id() {
            let name = std::fs::read_to_string(entry.path().join("comm")).unwrap_or_default();
            found.push((pid, name.trim_end().to_string()));
        }
    }
    found.sort();
    found
}

pub fn info(command: &InfoCommand) -> Result<()> {
    let facts = inspect::facts(&command.file).map_err(told)?;
    println!("{}", command.file.display());
    let format = match facts.format {
        None => "none: pgsqlite has changed nothing in the file".into(),
        Some(format) if format < facts.newest_format => {
            format!("{format}; the newest is {} (pgsqlite upgrade)", facts.newest_format)
        }
        Some(format) => format!("{format}, the newest"),
    };
    println!("  format     {format}");
    println!(
        "  size       {}, {} of it free; pages of {} bytes, journal mode {}",
        size(facts.bytes),
        size(facts.free_bytes),
        facts.page_size,
        facts.journal
    );
    println!("  users      {}", facts.users.join(", "));
    let open = holders(&command.file);
    let open: Vec<String> = open.iter().map(|(pid, name)| format!("{name} (process {pid})")).collect();
    println!("  open in    {}", if open.is_empty() { "nobody that this user can see".into() } else { open.join(", ") });
    println!("  objects    {} tables, {} views, {} functions", facts.tables.len(), facts.views, facts.functions);
    let width = facts.tables.iter().map(|t| t.name.chars().count()).max().unwrap_or(0).max(5);
    if !facts.tables.is_empty() {
        println!("\n  {:width$}  {:>12}  {:>10}  {:>10}  indexes", "table", "rows", "size", "indexes");
    }
    for table in &facts.tables {
        let (bytes, index_bytes) = (size(table.bytes), size(table.index_bytes));
        println!("  {:width$}  {:>12}  {bytes:>10}  {index_bytes:>10}  {}", table.name, table.rows, table.indexes);
    }
    Ok(())
}

/// Runs what may take long on a thread of its own, and shows meanwhile how far it is: how much is done, of how much.
fn beside<T: Send + 'static>(
    what: &'static str,
    far: impl Fn() -> (u64, Option<u64>),
    run: impl FnOnce() -> T + Send + 'static,
) -> Result<T> {
    let running = std::thread::Builder::new().stack_size(64 << 20).spawn(run)?;
    let mut progress = Progress::new(what);
    loop {
        let (done, total) = far();
        progress.show(done, total, "");
        if running.is_finished() {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    drop(progress);
    running.join().map_err(|_| anyhow::anyhow!("{what} ended before its time"))
}

pub fn check(command: &CheckCommand) -> Result<()> {
    let file = command.file.clone();
    let watch = Arc::<inspect::Watch>::default();
    let watched = watch.clone();
    let pages = || (watch.done.load(Ordering::Relaxed), Some(watch.total.load(Ordering::Relaxed)));
    let found = beside("checking", pages, move || inspect::check(&file, &watched))?;
    let found = found.map_err(told)?;
    let file = command.file.display();
    found.remarks.iter().for_each(|remark| println!("note: {remark}"));
    if found.problems.is_empty() {
        println!("{file} is sound: {} tables, {} indexes", found.tables, found.indexes);
        return Ok(());
    }
    found.problems.iter().for_each(|problem| println!("{problem}"));
    bail!(
        "\"{file}\" has {} problems\n  Indexes can be made anew with REINDEX. For anything else go back to a copy, or save what can be read with pg_dump.",
        found.problems.len()
    )
}

pub fn upgrade(command: &UpgradeCommand) -> Result<()> {
    let file = command.file.display();
    let path = command.file.clone();
    // (what it changes is in the log, until the end)
    let mut log = command.file.clone().into_os_string();
    log.push("-wal");
    let written = || (std::fs::metadata(&log).map_or(0, |log| log.len()), None);
    match beside("upgrading", written, move || inspect::upgrade(&path))?.map_err(told)? {
        (None, _) => println!("{file} has nothing of pgsqlite that could be old"),
        (Some(before), now) if before == now => println!("{file} has the newest format, {now}, already"),
        (Some(before), now) => println!("{file} has format {now} now (it was {before})"),
    }
    Ok(())
}
