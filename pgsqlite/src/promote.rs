//! `pgsqlite promote`: a standby becomes a primary.

use anyhow::{bail, Result};
use clap::Args;
use pgsqlite_server::standby::{promotion_file, Kept};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Make a running standby a primary, as pg_promote() does
///
/// The standby applies all that its archive has, or its primary has sent, and then lets clients write. The command waits for that.
#[derive(Args, Debug)]
pub struct PromoteCommand {
    /// The standby's SQLite file, or its folder of files
    database: PathBuf,
    /// Seconds to wait. 0: do not wait
    #[arg(long, default_value_t = 60, value_name = "SECONDS")]
    wait: u64,
}

/// The databases that follow.
fn followers(database: &Path) -> Result<Vec<PathBuf>> {
    let files = match database.is_dir() {
        false => vec![database.to_path_buf()],
        true => {
            let mut files = Vec::new();
            for entry in std::fs::read_dir(database)? {
                let path = entry?.path();
                if path.extension().is_some_and(|end| end == "db") {
                    files.push(path);
                }
            }
            files
        }
    };
    let mut found = Vec::new();
    for file in files {
        match Kept::read(&file)? {
            Some(Kept::Following { .. } | Kept::Streaming { .. }) => found.push(file),
            Some(Kept::Restoring) => bail!("\"{}\" is not complete yet", file.display()),
            Some(Kept::Promoted | Kept::Leading { .. }) | None => {}
        }
    }
    Ok(found)
}

pub fn promote(command: &PromoteCommand) -> Result<()> {
    let Some(first) = followers(&command.database)?.into_iter().next() else {
        bail!("\"{}\" is no standby's", command.database.display());
    };
    std::fs::write(promotion_file(&first), "")?;
    let began = Instant::now();
    while !followers(&command.database)?.is_empty() {
        if command.wait == 0 {
            return Ok(());
        }
        if began.elapsed() >= Duration::from_secs(command.wait) {
            bail!(
                "the standby has not become a primary within {} seconds: is its server running? Its log says more",
                command.wait
            );
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    println!("\"{}\" is a primary's now", command.database.display());
    Ok(())
}
