//! The settings of a session as its transaction ends, fails, or runs a statement again.

use crate::session::context::SessionContext;
use crate::session::executor::Executor;
use crate::session::transaction::state::ChangedSettings;
use pgsqlite_natives::settings::rights::{is_identity, Permit};

impl SessionContext {
    /// The transaction ends: what it has set stays or is taken back, and what it has set for itself goes. Returns whether the session may be
    /// another role now.
    pub(in crate::session) fn end_settings(&mut self, rolled_back: bool) -> bool {
        let Some(ChangedSettings { before, mut local }) = self.transaction.take_settings() else { return false };
        if rolled_back {
            self.gucs = self.gucs.back_to(&before);
            // what SET LOCAL has put aside may be of this transaction
            local.clear();
        }
        let was_another = local.keys().any(|name| is_identity(name));
        for (name, value) in local {
            if self.gucs.set(&name, value.as_deref(), Permit::put_back()).is_err() {
                tracing::debug!(name, "a SET LOCAL value could not be put back");
            }
        }
        was_another
    }

    /// A block has failed: its settings are at once those that its last savepoint, or its beginning, has found. What the transaction is stays:
    /// another one may be chained to it.
    pub(in crate::session) fn take_back_settings(&mut self) {
        if let Some(savepoint) = self.transaction.savepoints().last() {
            self.gucs = self.gucs.back_to(&savepoint.gucs);
            let local = savepoint.local.clone();
            self.transaction.go_back_to_local(local);
            return;
        }
        let characteristics = self.characteristics();
        let Some(changed) = self.transaction.settings_mut() else { return };
        self.gucs = self.gucs.back_to(&changed.before);
        changed.local.clear();
        for (name, value) in characteristics {
            if self.gucs.get(name).as_ref() != Some(&value)
                && self.gucs.set(name, Some(&value), Permit::put_back()).is_ok()
            {
                changed.local.insert(name.to_string(), None);
            }
        }
    }
}

impl Executor {
    /// The statement is undone and run again: it has set nothing.
    pub(in crate::session) fn forget_native_settings(&self) {
        if !self.context.variables.take_changes().is_empty() {
            self.context.variables.refresh(&self.context.gucs);
            if let Some(connection) = &self.connection {
                self.context.tell_natives(connection);
            }
        }
    }
}
