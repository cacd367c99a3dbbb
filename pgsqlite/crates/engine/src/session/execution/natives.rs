//! What native functions get from a session: its settings.

use parking_lot::Mutex;
use pgsqlite_natives::settings::rights::{Claimant, Permit, Source};
use pgsqlite_natives::settings::Gucs;
use pgsqlite_natives::udf::session_cell::{PutAside, Variables};
use pgsqlite_types::{Result, Settings};

/// A change that set_config() has made: (name, value, local, that it was permitted).
type Change = (String, Option<String>, bool, Permit);

/// The session's settings for current_setting() and set_config(): a copy, whose changes the session takes over after the
/// statement.
pub struct SessionVariables {
    inner: Mutex<(Gucs, Vec<Change>)>,
}

impl SessionVariables {
    pub fn new(gucs: Gucs) -> Self {
        SessionVariables { inner: Mutex::new((gucs, Vec::new())) }
    }
    /// Before a statement: the settings as they are.
    pub fn refresh(&self, gucs: &Gucs) {
        let mut inner = self.inner.lock();
        if inner.0.version() != gucs.version() {
            inner.0 = gucs.clone();
        }
    }
    /// How long a native function may wait.
    pub(crate) fn limits(&self) -> crate::session::transaction::waiting::Limits {
        crate::session::transaction::waiting::Limits::of(&self.inner.lock().0)
    }
    /// What is often asked for.
    pub(crate) fn often<R>(&self, ask: impl FnOnce(&pgsqlite_natives::settings::Often) -> R) -> R {
        ask(&self.inner.lock().0.often)
    }
    pub fn take_changes(&self) -> Vec<Change> {
        std::mem::take(&mut self.inner.lock().1)
    }
}

impl Variables for SessionVariables {
    fn get(&self, name: &str) -> Option<String> {
        self.inner.lock().0.get(name)
    }
    fn raw(&self, name: &str) -> Option<String> {
        self.inner.lock().0.raw(name)
    }
    fn set(&self, name: &str, value: Option<&str>, local: bool, who: &Claimant) -> Result<String> {
        let permit = who.permit(name, value, Source::Statement)?;
        let mut inner = self.inner.lock();
        inner.0.set(name, value, permit)?;
        inner.1.push((name.to_string(), value.map(str::to_string), local, permit));
        Ok(inner.0.get(name).unwrap_or_default())
    }
    fn enter(&self, settings: &[(String, String)], who: &Claimant) -> Result<PutAside> {
        let mut inner = self.inner.lock();
        let (mut aside, mut done) = (PutAside::new(), Ok(()));
        for (name, value) in settings {
            let before = inner.0.get(name);
            done = who
                .permit(name, Some(value), Source::Statement)
                .and_then(|permit| inner.0.set(name, Some(value), permit));
            if done.is_err() {
                break;
            }
            aside.push((name.clone(), before));
        }
        drop(inner);
        match done {
            Ok(()) => Ok(aside),
            Err(e) => {
                self.leave(aside);
                Err(e)
            }
        }
    }
    fn leave(&self, aside: PutAside) {
        let mut inner = self.inner.lock();
        for (name, value) in aside.into_iter().rev() {
            let stays = inner.1.iter().any(|(changed, _, local, _)| !local && changed.eq_ignore_ascii_case(&name));
            if !stays && inner.0.set(&name, value.as_deref(), Permit::put_back()).is_err() {
                tracing::debug!(name, "a setting of a function could not be put back");
            }
        }
    }
    fn typed(&self) -> (Settings, String) {
        let inner = self.inner.lock();
        (inner.0.typed.clone(), inner.0.plan_key())
    }
}
