//! What a server with a lease begins as, and with which file.
//!
//! A file of a process that had the lease is gone on with if nobody has had it since; else it may have what the archive has not, and is dropped. A server that finds nothing in the archive
//! takes the lease, and begins the archive with its own file, or with an empty one. Any other is a standby.

use super::{failed, Failover, LeaseConfig, OFTEN};
use crate::kept::Kept;
use pgsqlite_natives::recovery::Standby;
use pgsqlite_replication::archive::Archive;
use pgsqlite_replication::failover::node::Role;
use pgsqlite_storage::files::{folder, Room};
use pgsqlite_types::{PgError, Result, SqlState};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Between two attempts to ask a bucket that does not answer.
const REST: Duration = Duration::from_millis(500);

/// What a file is good for.
enum Found {
    /// Nothing: it is to be made from the archive, or follows it.
    Follows,
    /// It is the state that this process has left, and nobody has written since.
    Own(u64),
    /// The archive has nothing.
    First,
}

/// Asks until there is an answer.
fn asked<R>(what: impl Fn() -> pgsqlite_replication::Result<R>) -> R {
    let mut reported: Option<Instant> = None;
    loop {
        match what() {
            Ok(found) => return found,
            Err(e) => {
                if reported.is_none_or(|at| at.elapsed() >= OFTEN) {
                    reported = Some(Instant::now());
                    tracing::warn!("the server waits for its bucket: {e}");
                }
                std::thread::sleep(REST);
            }
        }
    }
}

fn nonce() -> Result<u64> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).map_err(|e| PgError::new(SqlState::IO_ERROR, format!("no chance: {e}")))?;
    Ok(u64::from_be_bytes(bytes).max(1))
}

impl Failover {
    /// Finds what the server is, and makes its file ready. It waits for a bucket that does not answer. Errors: 55000 for a file that has nothing to do with the archive.
    pub fn boot(config: &LeaseConfig, database: &Path, name: &str, standby: Arc<Standby>) -> Result<Arc<Failover>> {
        let nonce = nonce()?;
        if database.symlink_metadata().is_ok() {
            // (another server's file is left alone)
            drop(Room::enter(database)?);
        }
        let trial = Failover::new(config, (database, name), standby.clone(), (nonce, 0))?;
        let archive = Archive::reader(config.place.within(name).map_err(|e| failed(&e))?);
        if asked(|| trial.object.look()).is_none() {
            // (who has had a lease there has found that it can be had)
            trial.object.check(nonce).map_err(|e| failed(&e))?;
        }
        let is_file = database.symlink_metadata().is_ok();
        let found = match (is_file, Kept::read(database)?) {
            (true, Some(Kept::Leading { process, before })) => {
                let lease = asked(|| trial.object.look());
                match lease.map(|(_, lease)| lease.nonce) {
                    Some(last) if last == process || last == before => Found::Own(last),
                    Some(_) => {
                        drop_file(database)?;
                        Found::Follows
                    }
                    None => {
                        let message = format!(
                            "\"{}\" belongs to an archive with a lease, and this one has none",
                            database.display()
                        );
                        return Err(PgError::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
                            .hint("Is the URL of the archive another one? To begin a new archive with the file, remove the file that ends in .standby."));
                    }
                }
            }
            (true, Some(Kept::Following { .. } | Kept::Restoring)) => Found::Follows,
            (true, other) => match asked(|| archive.is_empty()) {
                true if config.begins && other.is_none_or(|kept| kept == Kept::Promoted) => Found::First,
                _ => {
                    return Err(PgError::new(
                        SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
                        format!("\"{}\" may have what the archive has not", database.display()),
                    )
                    .hint("Move the file and those beside it away. The server makes it again from the archive."))
                }
            },
            (false, _) if config.begins && asked(|| archive.is_empty()) => Found::First,
            (false, _) if !config.begins => {
                // (another one begins)
                while asked(|| archive.is_empty()) {
                    std::thread::sleep(REST);
                }
                Found::Follows
            }
            (false, _) => Found::Follows,
        };
        let before = if let Found::Own(before) = found { before } else { 0 };
        let failover = Arc::new(Failover::new(config, (database, name), standby, (nonce, before))?);
        match found {
            Found::Follows => {}
            Found::Own(_) => {
                failover.keep()?;
                failover.hold(&archive, false)?;
            }
            Found::First => failover.hold(&archive, true)?,
        }
        failover.start()?;
        Ok(failover)
    }

    /// Waits for the lease. Returns without it if there is reason to follow: another server has begun the archive (`first`), or has got the lease.
    fn hold(&self, archive: &Archive, first: bool) -> Result<()> {
        let database = self.database.as_path();
        loop {
            if !self.step() {
                let message = "the server has lost its lease while it started";
                return Err(PgError::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message).hint("Start it again."));
            }
            if self.role() == Role::Reads {
                if !first || asked(|| archive.is_empty()) {
                    break;
                }
                // (another server has begun the archive, and has given the lease away)
                return self.follows_other(database);
            }
            // (None: there is no other server's)
            let other = {
                let node = self.node.lock();
                node.lease().map(|lease| lease.nonce).filter(|nonce| *nonce != node.nonce())
            };
            if !first && other.is_some_and(|nonce| nonce != self.before) {
                return drop_file(database);
            }
            if first && other.is_some() && !asked(|| archive.is_empty()) {
                return self.follows_other(database);
            }
        }
        folder::make_empty(database)
            .map_err(|e| PgError::new(SqlState::IO_ERROR, format!("\"{}\": {e}", database.display())))?;
        self.keep()
    }

    /// Another server has begun the archive while this one was about to. Errors: 55000 for a file that has something else.
    fn follows_other(&self, database: &Path) -> Result<()> {
        match database.metadata().is_ok_and(|file| file.len() > 0) {
            // (an empty file is none)
            false => folder::remove(database),
            true => {
                let message =
                    format!("another server has begun the archive: \"{}\" is not part of it", database.display());
                Err(PgError::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message))
            }
        }
    }
}

/// Puts a file aside that may have what the archive has not. It is made again.
fn drop_file(database: &Path) -> Result<()> {
    let aside = folder::put_aside(database)?;
    tracing::warn!(
        "\"{}\" is dropped: another server has had the lease since, and the archive may not have all of it; it is \"{}\" now",
        database.display(),
        aside.display()
    );
    Kept::Restoring.write(database)
}
