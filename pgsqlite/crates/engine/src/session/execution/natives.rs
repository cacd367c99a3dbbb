//! What native functions get from a session: its settings.

use parking_lot::Mutex;
use pgsqlite_natives::settings::rights::{self, Claimant, Permit, Source};
use pgsqlite_natives::settings::Gucs;
use pgsqlite_natives::udf::session_cell::{SettingsMark, Variables};
use pgsqlite_sql::acl;
use pgsqlite_types::Result;
use std::sync::Arc;

/// A change that set_config() has made: (name, value, local, that it was permitted).
type Change = (String, Option<String>, bool, Permit);

/// The session's settings for current_setting() and set_config(): a copy, whose changes the session takes over after the
/// statement.
pub struct SessionVariables {
    inner: Mutex<Inner>,
}

struct Inner {
    /// shared with the marks of the subtransactions that run
    values: Arc<Gucs>,
    changes: Vec<Change>,
}

impl Inner {
    fn set(&mut self, name: &str, value: Option<&str>, permit: Permit, who: &Claimant) -> Result<()> {
        let values = Arc::make_mut(&mut self.values);
        values.set(name, value, permit)?;
        if rights::is_identity(&name.to_ascii_lowercase()) {
            if name.eq_ignore_ascii_case("session_authorization") {
                values.set("role", None, permit)?;
            }
            values.set_superuser(acl::is_superuser(who.catalog, values.current_role()));
        }
        Ok(())
    }
}

impl SessionVariables {
    pub fn new(gucs: Gucs) -> Self {
        SessionVariables { inner: Mutex::new(Inner { values: Arc::new(gucs), changes: Vec::new() }) }
    }
    /// Before a statement: the settings as they are.
    pub fn refresh(&self, gucs: &Gucs) {
        let mut inner = self.inner.lock();
        if inner.values.version() != gucs.version() {
            inner.values = Arc::new(gucs.clone());
        }
    }
    /// How long a native function may wait.
    pub(crate) fn limits(&self) -> crate::session::transaction::waiting::Limits {
        crate::session::transaction::waiting::Limits::of(&self.inner.lock().values)
    }
    /// What is often asked for.
    pub(crate) fn often<R>(&self, ask: impl FnOnce(&pgsqlite_natives::settings::Often) -> R) -> R {
        ask(&self.inner.lock().values.often)
    }
    pub fn take_changes(&self) -> Vec<Change> {
        std::mem::take(&mut self.inner.lock().changes)
    }
}

impl Variables for SessionVariables {
    fn get(&self, name: &str) -> Option<String> {
        self.inner.lock().values.get(name)
    }
    fn raw(&self, name: &str) -> Option<String> {
        self.inner.lock().values.raw(name)
    }
    fn set(&self, name: &str, value: Option<&str>, local: bool, who: &Claimant) -> Result<String> {
        let permit = who.permit(name, value, Source::Statement)?;
        let mut inner = self.inner.lock();
        inner.set(name, value, permit, who)?;
        inner.changes.push((name.to_string(), value.map(str::to_string), local, permit));
        Ok(inner.values.get(name).unwrap_or_default())
    }
    fn enter(&self, settings: &[(String, String)], who: &Claimant) -> Result<SettingsMark> {
        let mark = self.mark();
        let mut inner = self.inner.lock();
        for (name, value) in settings {
            let set = who
                .permit(name, Some(value), Source::Statement)
                .and_then(|permit| inner.set(name, Some(value), permit, who));
            if let Err(e) = set {
                inner.values = mark.values;
                return Err(e);
            }
        }
        Ok(mark)
    }
    fn leave(&self, settings: &[(String, String)], aside: SettingsMark) {
        let mut inner = self.inner.lock();
        let inner = &mut *inner;
        if inner.changes.len() <= aside.changes {
            inner.values = aside.values;
            return;
        }
        for (name, _) in settings {
            let is_own = |(changed, ..): &Change| changed.eq_ignore_ascii_case(name);
            let stays = inner.changes[aside.changes..].iter().any(|change| is_own(change) && !change.2);
            if stays {
                continue;
            }
            let within = inner.changes.split_off(aside.changes);
            inner.changes.extend(within.into_iter().filter(|change| !is_own(change)));
            let before = aside.values.kept(name);
            if Arc::make_mut(&mut inner.values).set(name, before.as_deref(), Permit::put_back()).is_err() {
                tracing::debug!(name, "a setting of a function could not be put back");
            }
        }
    }
    fn all(&self) -> Arc<Gucs> {
        self.inner.lock().values.clone()
    }
    fn mark(&self) -> SettingsMark {
        let inner = self.inner.lock();
        SettingsMark { values: inner.values.clone(), changes: inner.changes.len() }
    }
    fn go_back(&self, mark: SettingsMark) {
        let mut inner = self.inner.lock();
        let back = inner.values.back_to(&mark.values);
        inner.changes.truncate(mark.changes);
        // (the session is told of the names that stay known)
        let stay = back.names_since(&mark.values).map(|name| (name, None, false, Permit::put_back()));
        inner.changes.extend(stay.collect::<Vec<_>>());
        inner.values = match back.version() == mark.values.version() {
            true => mark.values,
            false => Arc::new(back),
        };
    }
}
