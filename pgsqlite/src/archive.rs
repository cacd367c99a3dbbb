//! `pgsqlite restore` and `verify`: a database, made again from the copies of its changes.

use anyhow::{bail, Context as _, Result};
use clap::Args;
use pgsqlite_replication::archive::Archive;
use pgsqlite_replication::place::{Patience, Place};
use pgsqlite_replication::restore::{lsn_text, restore as restore_state, verify as verify_archive, Until};
use pgsqlite_server::config::Databases;
use pgsqlite_types::transaction_ids::parse_lsn;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Restore a database from the copies of its changes that --archive or Litestream has written
///
/// The new file must not exist. Every copy that is read is compared with its checksum, and the file gets its name only when it is complete. Without
/// --at, --lsn and --txid the newest state is restored.
#[derive(Args, Debug)]
pub struct RestoreCommand {
    /// Where the copies are: file:PATH, s3://BUCKET/PREFIX, gs://BUCKET/PREFIX or az://CONTAINER/PREFIX
    url: String,
    /// The new SQLite file
    file: PathBuf,
    /// Restore the last copied state that is not later than this time, such as 2026-01-31T12:00:00Z
    #[arg(long, value_name = "TIME", conflicts_with_all = ["lsn", "txid"])]
    at: Option<String>,
    /// Restore the last copied state that is not beyond this place in the log, as pg_current_wal_lsn() has returned it
    #[arg(long, value_name = "LSN", conflicts_with = "txid")]
    lsn: Option<String>,
    /// Restore the state after this transaction, as `verify` and Litestream number transactions (hexadecimal)
    #[arg(long, value_name = "NUMBER")]
    txid: Option<String>,
}

/// Read all copies of a database's changes, and check that they are sound and lead to the newest state
///
/// The exit code is 1 if something is wrong.
#[derive(Args, Debug)]
pub struct VerifyCommand {
    /// Where the copies are: file:PATH, s3://BUCKET/PREFIX, gs://BUCKET/PREFIX or az://CONTAINER/PREFIX
    url: String,
}

/// So long a running server tries a request again before it has failed. It makes the next attempt itself.
const PATIENCE: Duration = Duration::from_secs(5);

/// Where a server's archives are. Files on their way to a bucket are made beside the databases.
pub fn place(url: &str, databases: &Databases) -> Result<Place> {
    Ok(beside(Place::parse(url, PATIENCE)?, databases))
}

/// Where the archive of servers with a lease is: commits wait for its answers.
pub fn shared_place(url: &str, databases: &Databases) -> Result<Place> {
    let patience = Patience { tries: Duration::ZERO, answer: Duration::from_secs(10) };
    Ok(beside(Place::parse(url, patience)?, databases))
}

/// The same place, for requests about a lease that lasts for so long. Errors: a place that can have none.
pub fn lease_place(url: &str, lasts: Duration, databases: &Databases) -> Result<Place> {
    let answer = (lasts / 4).max(Duration::from_millis(250));
    let place = Place::parse(url, Patience { tries: Duration::ZERO, answer })?;
    if let Place::Folder(_) = place {
        anyhow::bail!("lease needs an archive in a bucket (s3:, gs: or az:): a folder has no writes on a condition");
    }
    Ok(beside(place, databases))
}

pub fn beside(place: Place, databases: &Databases) -> Place {
    match databases {
        Databases::File(file) => {
            place.made_in(file.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new(".")))
        }
        Databases::Directory(folder) => place.made_in(folder),
        Databases::Memory => place,
    }
}

/// Milliseconds since 1970, as a person reads them.
fn time(milliseconds: i64) -> String {
    jiff::Timestamp::from_millisecond(milliseconds).map_or("an unknown time".into(), |time| time.to_string())
}

pub fn restore(command: &RestoreCommand) -> Result<()> {
    let until = match (&command.at, &command.lsn, &command.txid) {
        (Some(at), ..) => {
            let time: jiff::Timestamp =
                at.parse().with_context(|| format!("--at \"{at}\" is no time with a time zone"))?;
            Until::Time(time.as_millisecond())
        }
        (None, Some(lsn), _) => Until::Lsn(
            parse_lsn(lsn).with_context(|| format!("--lsn \"{lsn}\" is no place in a log, such as 0/1A2B3C"))?,
        ),
        (None, None, Some(number)) => {
            let parsed =
                u64::from_str_radix(number, 16).with_context(|| format!("--txid \"{number}\" is no number"))?;
            Until::Transaction(parsed)
        }
        (None, None, None) => Until::Now,
    };
    let state = restore_state(&Archive::open(&command.url)?, &command.file, until)?;
    println!(
        "{} has the state of transaction {:x}, {}{}: {} pages of {} bytes, from {} files",
        command.file.display(),
        state.transaction,
        if state.lsn > 0 { format!("{}, ", lsn_text(state.lsn)) } else { String::new() },
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
