//! What a function's SET clauses and SECURITY DEFINER change of its session while it runs.

use super::{Access, Host};
use pgsqlite_natives::udf::session_cell::SessionState;
use pgsqlite_sql::routine::Function;
use pgsqlite_types::{Oid, PgError, Result};
use std::sync::Arc;

/// SECURITY DEFINER and SET clauses hold while the function runs.
pub(super) fn with_settings<R>(host: Host, f: &Function, run: impl FnOnce() -> Result<R>) -> Result<R> {
    if !f.security_definer && f.settings.is_empty() {
        return run();
    }
    let variables = host.cell.state().variables.clone().ok_or_else(|| PgError::internal("no session"))?;
    let around = variables.all().version();
    let before = Followed::of(&host.cell.state());
    if f.security_definer {
        host.cell.update(|state| state.act_as(f.owner));
    }
    let result = match f.settings.is_empty() {
        true => run(),
        false => {
            let entered = variables.enter(&f.settings, &host.cell.state().claimant());
            entered.and_then(|aside| {
                host.cell.follow_settings();
                let access = host.routines().access.get();
                if f.settings.iter().any(|(name, value)| name == "transaction_read_only" && value == "on") {
                    host.routines().access.set(Access::ReadOnly);
                }
                let result = run();
                host.routines().access.set(access);
                variables.leave(&f.settings, aside);
                result
            })
        }
    };
    let changed = variables.all().version() != around;
    host.cell.update(|state| before.put_back(state));
    if changed {
        // (the body has set something for the session, or for the transaction)
        host.cell.follow_settings();
    }
    result
}

/// What of a session's state follows its settings, and the role of a function with SECURITY DEFINER.
struct Followed {
    settings: pgsqlite_types::Settings,
    plan_key: String,
    user: (String, Oid),
    session_user: (String, Oid),
    in_definer: bool,
    restricted: bool,
    path: Vec<Oid>,
    epoch: u64,
    names: Arc<dyn pgsqlite_types::codec::RegNames>,
}

impl Followed {
    fn of(state: &SessionState) -> Followed {
        Followed {
            settings: state.settings.clone(),
            plan_key: state.plan_key.clone(),
            user: (state.user.clone(), state.user_oid),
            session_user: (state.session_user.clone(), state.session_oid),
            in_definer: state.in_definer,
            restricted: state.restricted,
            path: state.search_path.clone(),
            epoch: state.catalog.epoch,
            names: state.names.clone(),
        }
    }

    fn put_back(self, state: &mut SessionState) {
        state.settings = self.settings;
        state.plan_key = self.plan_key;
        (state.user, state.user_oid) = self.user;
        (state.session_user, state.session_oid) = self.session_user;
        state.in_definer = self.in_definer;
        state.restricted = self.restricted;
        state.explicit_path.clone_from(&self.path);
        state.search_path = self.path;
        match state.catalog.epoch == self.epoch {
            true => state.names = self.names,
            // the body has changed the schema
            false => state.show(state.catalog.clone()),
        }
    }
}
