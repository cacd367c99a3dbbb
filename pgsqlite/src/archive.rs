//! `pgsqlite restore` and `verify`: a database, made again from the copies of its changes.

use anyhow::{bail, Context as _, Result};
use clap::Args;
use pgsqlite_replication::archive::Archive;
use pgsqlite_replication::restore::{restore as restore_state, verify as verify_archive, Until};
use std::path::PathBuf;

/// Make a database again from the copies of its changes, which --archive or Litestream has written
///
/// The file must not exist. Every page that is read is compared with its checksum, and the file has its name only when it is complete. Without
/// --at and --txid it is the newest state.
#[derive(Args, Debug)]
pub struct RestoreCommand {
    /// Where the copies are: file:PATH
    url: String,
    /// The new SQLite file
    file: PathBuf,
    /// The state of this time, such as 2026-01-31T12:00:00Z: the last commit by then of which there is a copy
    #[arg(long, value_name = "TIME", conflicts_with = "txid")]
    at: Option<String>,
    /// The state after this transaction, as `verify` and Litestream number them (hexadecimal)
    #[arg(long, value_name = "NUMBER")]
    txid: Option<String>,
}

/// Read all copies of a database's changes, and look whether they are sound and lead to the newest state
///
/// The exit code is 1 if something is wrong.
#[derive(Args, Debug)]
pub struct VerifyCommand {
    /// Where the copies are: file:PATH
    url: String,
}

/// Milliseconds since 1970, as a person reads them.
fn time(milliseconds: i64) -> String {
    jiff::Timestamp::from_millisecond(milliseconds).map_or("an unknown time".into(), |time| time.to_string())
}

pub fn restore(command: &RestoreCommand) -> Result<()> {
    let until = match (&command.at, &command.txid) {
        (Some(at), _) => {
            let time: jiff::Timestamp =
                at.parse().with_context(|| format!("--at \"{at}\" is no time with a time zone"))?;
            Until::Time(time.as_millisecond())
        }
        (None, Some(number)) => {
            let parsed =
                u64::from_str_radix(number, 16).with_context(|| format!("--txid \"{number}\" is no number"))?;
            Until::Transaction(parsed)
        }
        (None, None) => Until::Now,
    };
    let state = restore_state(&Archive::open(&command.url)?, &command.file, until)?;
    println!(
        "{} has the state of transaction {:x}, {}: {} pages of {} bytes, from {} files",
        command.file.display(),
        state.transaction,
        time(state.time),
        state.pages,
        state.page_size,
        state.files
    );
    Ok(())
}

pub fn verify(command: &VerifyCommand) -> Result<()> {
    let found = verify_archive(&Archive::open(&command.url)?)?;
    found.problems.iter().for_each(|problem| println!("{problem}"));
    match (found.problems.len(), found.newest) {
        (0, Some(newest)) => {
            println!(
                "{} is sound: {} files with {} pages, up to transaction {newest:x}",
                command.url, found.files, found.pages
            );
            Ok(())
        }
        (problems, _) => bail!("{} has {problems} problems", command.url),
    }
}
