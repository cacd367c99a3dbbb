//! A database whose changes come from another server.
//!
//! Whoever brings the changes (the crate `server`) writes them with an [`Applier`] through [`Engine::apply`]. Sessions read meanwhile, each statement a state
//! that the primary had.

use crate::engine::Engine;
use pgsqlite_natives::recovery::Recovery;
use pgsqlite_storage::apply::{Applier, Change};
use pgsqlite_types::{PgError, Result};
use std::sync::Arc;

impl Engine {
    /// How far the database has come, if its server was started as a standby.
    pub fn recovery(&self) -> Option<&Arc<Recovery>> {
        self.config.recovery.as_ref()
    }

    /// Whether changes come from another server, so that nobody may write.
    pub fn in_recovery(&self) -> bool {
        self.config.recovery.as_ref().is_some_and(|recovery| recovery.standby.recovers())
    }

    /// What writes the changes of another server.
    pub fn applier(&self) -> Result<Applier> {
        Applier::new(self.room.clone())
    }

    /// Writes a change, and shows it. Afterwards sessions know the catalog that belongs to it. It waits: not to be called on a thread with other tasks.
    pub fn apply(&self, applier: &mut Applier, write: impl FnOnce(&mut Change<'_>) -> Result<()>) -> Result<()> {
        let mut change = applier.begin()?;
        write(&mut change)?;
        if change.changes_schema() {
            let _closed = self.gate.close();
            change.commit()?;
            self.refresh(None)?;
        } else {
            change.commit()?;
        }
        applier.write_back()
    }

    /// Makes what a standby has kept in memory as a primary needs it: to be called when nothing is applied any more, before anybody may write.
    pub fn prepare_to_write(&self) -> Result<()> {
        self.refresh(None)?;
        self.sequences.lock().clear();
        let keeper = self.keeper();
        let Some(keeper) = keeper.as_ref() else { return Err(PgError::shut_down()) };
        pgsqlite_metadata::counter::pass(pgsqlite_metadata::store::transactions::highest(keeper.rusqlite())?);
        self.restore_prepared(keeper)
    }
}
