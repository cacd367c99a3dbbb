//! What a session shows of how far its command is (pg_stat_progress_*).

use crate::session::context::SessionContext;
use pgsqlite_natives::statistics::activity::Activity;
use pgsqlite_natives::statistics::progress::{Command, Progress};
use pgsqlite_types::Oid;
use std::sync::Arc;

/// A command that others see the progress of, until it is dropped.
pub(in crate::session) struct Shown {
    activity: Arc<Activity>,
    pub progress: Arc<Progress>,
}

impl Drop for Shown {
    fn drop(&mut self) {
        self.activity.ends_progress();
    }
}

impl SessionContext {
    /// Others see from now on how far a command is. `relation`: its table; 0: it is not known yet.
    pub(in crate::session) fn show_progress(&self, command: Command, relation: Oid) -> Shown {
        let progress = Progress::new(command, relation);
        self.observation.activity.begins_progress(&progress);
        Shown { activity: self.observation.activity.clone(), progress }
    }
}
