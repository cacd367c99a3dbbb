//! The rules of who may come in, and the maps of user names, are read again at SIGHUP and when a session calls `pg_reload_conf()`.

use crate::hba::{Maps, Rules};
use crate::shared::Shared;
use pgsqlite_types::Result;
use std::sync::Arc;
use tokio::signal::unix::Signal;

/// Reads both files again whenever somebody asks. One with a fault changes nothing: what it said stays, and the log names the fault.
pub async fn when_asked(shared: Arc<Shared>, mut hangups: Signal) {
    loop {
        tokio::select! {
            _ = hangups.recv() => {}
            _ = shared.reload_requested() => {}
        }
        let (rules, maps) = (shared.rules(), shared.maps());
        if rules.file().is_none() {
            tracing::info!("asked to read the configuration again: there is no file with rules");
            continue;
        }
        // (maps first: whom a new rule's map does not name yet would be kept out)
        if let Some(maps) = maps {
            if let Some(maps) = read("the maps of user names", move || Maps::read(maps.file()).map(Some)).await {
                shared.set_maps(maps);
            }
        }
        if let Some(rules) = read("the rules of who may come in", move || Rules::read_again(&rules)).await {
            shared.set_rules(rules);
        }
    }
}

/// What a file says now; None: nothing changes.
async fn read<T: Send + 'static>(
    what: &str,
    reading: impl FnOnce() -> Result<Option<T>> + Send + 'static,
) -> Option<T> {
    match tokio::task::spawn_blocking(reading).await {
        Ok(Ok(found)) => {
            tracing::info!("{what} were read again");
            return found;
        }
        Ok(Err(error)) => tracing::error!("{what} stay as they were: {}", error.message()),
        Err(error) => tracing::error!(%error, "{what} could not be read again"),
    }
    None
}
