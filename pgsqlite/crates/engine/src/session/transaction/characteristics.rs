//! What a transaction is: its isolation level, whether it may write, whether it may be deferred. Said by BEGIN, SET TRANSACTION,
//! or the settings `transaction_isolation`, `transaction_read_only` and `transaction_deferrable`, of which those are faces.
//!
//! DEFERRABLE needs no waiting: a SQLite snapshot is always one that a read-only serializable transaction may use.

use crate::session::context::SessionContext;
use crate::session::transaction::state::Isolation;
use pgsqlite_natives::settings::rights::{self, Permit, Source};
use pgsqlite_natives::settings::{cannot_be_reset, values, OF_TRANSACTION};
use pgsqlite_sql::parse::ast;
use pgsqlite_types::{PgError, Result, SqlState};

fn active(message: &str) -> PgError {
    PgError::new(SqlState::ACTIVE_SQL_TRANSACTION, message)
}

impl SessionContext {
    /// Before one of [`OF_TRANSACTION`] is changed: 25001 where it is too late, 0A000 without a value, as it has no default to go back to.
    pub(in crate::session) fn check_characteristic(&self, key: &str, value: Option<&str>) -> Result<()> {
        let t = &self.transaction;
        let sub = !t.savepoints().is_empty();
        let current = self.gucs.get(key).unwrap_or_default();
        let new = value.ok_or_else(|| cannot_be_reset(key))?.to_ascii_lowercase();
        match key {
            "transaction_isolation" if new != current => {
                if t.has_queried() {
                    return Err(active("SET TRANSACTION ISOLATION LEVEL must be called before any query"));
                }
                if sub {
                    return Err(active("SET TRANSACTION ISOLATION LEVEL must not be called in a subtransaction"));
                }
                if new == "serializable" && self.engine.in_recovery() {
                    let instead = "You can use REPEATABLE READ instead.";
                    return Err(crate::session::transaction::hot_standby::no_serializable().hint(instead));
                }
            }
            "transaction_read_only"
                if (t.is_read_only() || self.gucs.often.in_hot_standby)
                    && pgsqlite_natives::settings::parse_bool(&new) == Some(false) =>
            {
                if sub {
                    return Err(active("cannot set transaction read-write mode inside a read-only transaction"));
                }
                if t.has_queried() {
                    return Err(active("transaction read-write mode must be set before any query"));
                }
                if self.engine.in_recovery() {
                    return Err(PgError::new(
                        SqlState::FEATURE_NOT_SUPPORTED,
                        "cannot set transaction read-write mode during recovery",
                    ));
                }
            }
            "transaction_deferrable" => {
                if sub {
                    return Err(active("SET TRANSACTION [NOT] DEFERRABLE cannot be called within a subtransaction"));
                }
                if t.has_queried() {
                    return Err(active("SET TRANSACTION [NOT] DEFERRABLE must be called before any query"));
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Makes the transaction what its settings say: at its beginning, after a change, after ROLLBACK TO.
    pub(in crate::session) fn apply_characteristics(&mut self) {
        let isolation = self.gucs.get("transaction_isolation");
        self.transaction.set_isolation(match isolation.as_deref() {
            Some("serializable") => Isolation::Serializable,
            Some("repeatable read") => Isolation::RepeatableRead,
            _ => Isolation::ReadCommitted,
        });
        self.transaction.set_read_only(self.gucs.is_on("transaction_read_only"));
        if let Some(watched) = self.transaction.watched() {
            watched.set_read_only(self.transaction.is_read_only());
        }
    }

    /// The characteristics that a chained transaction takes over.
    pub(in crate::session) fn characteristics(&self) -> Vec<(&'static str, String)> {
        OF_TRANSACTION.iter().map(|name| (*name, self.gucs.get(name).unwrap_or_default())).collect()
    }

    pub(in crate::session) fn chain(&mut self, characteristics: Vec<(&'static str, String)>) -> Result<()> {
        self.transaction.block_mut().begin();
        for (name, value) in characteristics {
            self.set_setting(name, Some(&value), true)?;
        }
        Ok(())
    }

    /// ISOLATION LEVEL, READ ONLY, DEFERRABLE of BEGIN and SET TRANSACTION.
    pub(in crate::session) fn transaction_options(&mut self, options: &[ast::Node]) -> Result<()> {
        for (mode, value) in values::of_modes(options)? {
            self.set_setting(mode, Some(&value), true)?;
        }
        Ok(())
    }

    /// SET SESSION CHARACTERISTICS AS TRANSACTION: what later transactions begin with.
    pub(in crate::session) fn session_characteristics(&mut self, options: &[ast::Node]) -> Result<()> {
        for (mode, value) in values::of_modes(options)? {
            self.set_setting(&format!("default_{mode}"), Some(&value), false)?;
        }
        Ok(())
    }

    /// Sets a setting inside the transaction's rules (undone by ROLLBACK; LOCAL: undone at its end).
    pub(in crate::session) fn set_setting(&mut self, name: &str, value: Option<&str>, local: bool) -> Result<()> {
        let catalog = self.catalog();
        let permit = self.claimant(&catalog).permit(name, value, Source::Statement)?;
        self.apply_setting(name, value, local, permit)
    }

    /// As [`SessionContext::set_setting`], for a change that is permitted.
    pub(in crate::session) fn apply_setting(
        &mut self,
        name: &str,
        value: Option<&str>,
        local: bool,
        permit: Permit,
    ) -> Result<()> {
        if value.is_some_and(|value| pgsqlite_natives::settings::seed_of(name, value).is_some()) {
            // (it is done, and has no value that could come back)
            return self.gucs.set(name, value, permit);
        }
        self.transaction.note_settings(&self.gucs);
        let before = self.gucs.kept(name);
        let key = name.to_ascii_lowercase();
        let identity = rights::is_identity(&key);
        let of_transaction = OF_TRANSACTION.contains(&key.as_str());
        if of_transaction {
            self.check_characteristic(&key, value)?;
        }
        self.gucs.set(name, value, permit)?;
        if of_transaction {
            self.apply_characteristics();
        }
        let changed = self.transaction.note_settings(&self.gucs);
        if of_transaction {
            changed.local.insert(key.clone(), None);
        } else if local {
            changed.local.entry(key.clone()).or_insert(before);
        } else {
            // SET after SET LOCAL: this value stays
            changed.local.remove(&key);
        }
        if identity {
            if key == "session_authorization" {
                self.gucs.set("role", None, permit)?;
            }
            self.refresh_superuser();
        }
        Ok(())
    }
}
