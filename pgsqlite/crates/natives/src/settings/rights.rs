//! Who may change which setting, and when. All ways to a setting ask [`Claimant::permit`]: the start-up packet, ALTER ROLE and
//! ALTER DATABASE … SET (when they are given, and when a session begins), SET, set_config() and the SET clauses of functions.
//! [`Gucs::set`](super::Gucs::set) takes no value without the [`Permit`] that it returns.

use super::{definitions, Definition, Gucs};
use pgsqlite_sql::acl;
use pgsqlite_sql::catalog::Catalog;
use pgsqlite_types::error::Severity;
use pgsqlite_types::{Oid, PgError, Result, SqlState};

/// Where a new value comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The start-up packet, with its `options`.
    StartUp,
    /// ALTER ROLE … SET or ALTER DATABASE … SET, whose values were checked when they were given: a session that begins takes them over.
    Stored,
    /// A statement: SET, set_config(), ALTER … SET, a function's SET clause.
    Statement,
}

/// The proof that a setting may be changed.
#[derive(Debug, Clone, Copy)]
pub struct Permit {
    /// Of `role` and `session_authorization`: whom the name means now. None: of other settings, and for a value that `Gucs::kept` gave.
    role: Option<Oid>,
}

impl Permit {
    /// For a value that was in force before, and is put back: one that `Gucs::kept` gave.
    pub fn put_back() -> Permit {
        Permit { role: None }
    }

    /// The value as the settings keep it. A role is kept by its OID, with the name that SHOW shows: the name may become another role's.
    pub(super) fn kept(self, key: &str, value: &str) -> String {
        match self.role {
            Some(role) if is_identity(key) => kept_role(role, value),
            _ => value.to_string(),
        }
    }
}

/// A role as the settings keep it.
pub(super) fn kept_role(role: Oid, name: &str) -> String {
    format!("{role} {name}")
}

/// The OID (0: none) and the name of a role as the settings keep it.
pub(super) fn role_of(kept: &str) -> (Oid, &str) {
    let (oid, name) = kept.split_once(' ').unwrap_or((kept, ""));
    (oid.parse().unwrap_or(NOBODY), name)
}

/// Those who ask for a change.
#[derive(Debug, Clone, Copy)]
pub struct Claimant<'a> {
    /// The roles as they are known now.
    pub catalog: &'a Catalog,
    /// The role that the client authenticated as.
    pub login: Oid,
    /// `session_user`
    pub session: Oid,
    /// `current_user`, whose privileges count.
    pub current: Oid,
    /// A function with SECURITY DEFINER asks.
    pub in_definer: bool,
    /// A command asks that runs as the owner of its table.
    pub restricted: bool,
}

/// The option of a connection that asks for a throw-away copy of a database. It has done its work when a session begins.
pub const CLONE: &str = "pgsqlite.clone";

/// Settings that are the session's identity. PostgreSQL lists them nowhere.
pub fn is_identity(key: &str) -> bool {
    matches!(key, "role" | "session_authorization")
}

/// No role has this OID: whom a name means that is no role's.
pub const NOBODY: Oid = Oid::MAX;

/// What a session's role is called now; what remains of one that was dropped is its OID.
pub fn role_name(catalog: &Catalog, role: Oid) -> String {
    catalog.role_name(role).map_or_else(|| format!("unknown (OID={role})"), str::to_string)
}

fn fixed(message: String) -> PgError {
    PgError::new(SqlState::CANT_CHANGE_RUNTIME_PARAM, message)
}

fn denied(message: String) -> PgError {
    PgError::new(SqlState::INSUFFICIENT_PRIVILEGE, message)
}

impl Claimant<'_> {
    /// Whether a setting may get this value (None: its default). Errors: 55P02 for a setting that is fixed at this time, 42501 for one that is
    /// not this role's to change, 22023 for a role that does not exist. An unknown name is the setter's error.
    pub fn permit(&self, name: &str, value: Option<&str>, source: Source) -> Result<Permit> {
        let key = name.to_ascii_lowercase();
        if is_identity(&key) {
            return Ok(Permit { role: Some(self.check_identity(&key, value)?) });
        }
        if let Some(definition) = definitions().get(&key) {
            self.check_context(definition, name, source)?;
        } else if key == CLONE && source != Source::StartUp {
            return Err(fixed(format!("parameter \"{name}\" cannot be set after connection start")));
        } else if key == "is_superuser" {
            // listed by no view, and never anybody's to set
            return Err(fixed(format!("parameter \"{name}\" cannot be changed")));
        }
        if source == Source::StartUp && key == "transaction_isolation" {
            return Err(PgError::new(
                SqlState::ACTIVE_SQL_TRANSACTION,
                "SET TRANSACTION ISOLATION LEVEL must be called before any query",
            ));
        }
        Ok(Permit { role: None })
    }

    /// What `pg_settings.context` says.
    fn check_context(&self, definition: &Definition, name: &str, source: Source) -> Result<()> {
        let at_start = source != Source::Statement;
        // the values of a start-up packet are the login's; no SET ROLE has come before them
        let role = if source == Source::StartUp { self.login } else { self.current };
        let superuser = || source == Source::Stored || acl::is_superuser(self.catalog, role);
        match definition.context {
            "user" => Ok(()),
            "superuser" if superuser() => Ok(()),
            "backend" if at_start => Ok(()),
            "superuser-backend" if at_start && superuser() => Ok(()),
            "superuser" => Err(denied(format!("permission denied to set parameter \"{name}\""))),
            "superuser-backend" if at_start => Err(denied(format!("permission denied to set parameter \"{name}\""))),
            "backend" | "superuser-backend" => {
                Err(fixed(format!("parameter \"{name}\" cannot be set after connection start")))
            }
            "postmaster" => Err(fixed(format!("parameter \"{name}\" cannot be changed without restarting the server"))),
            "sighup" => Err(fixed(format!("parameter \"{name}\" cannot be changed now"))),
            _ => Err(fixed(format!("parameter \"{name}\" cannot be changed"))),
        }
    }

    /// The role that the session may become; 0: none.
    fn check_identity(&self, setting: &str, value: Option<&str>) -> Result<Oid> {
        if self.restricted {
            return Err(denied(format!("cannot set parameter \"{setting}\" within security-restricted operation")));
        }
        if self.in_definer {
            return Err(denied(format!("cannot set parameter \"{setting}\" within security-definer function")));
        }
        let Some(name) = value else { return Ok(0) };
        if setting == "role" && name == "none" {
            return Ok(0);
        }
        let Some(target) = self.catalog.role_named(name).map(|role| role.oid) else {
            return Err(PgError::new(SqlState::INVALID_PARAMETER_VALUE, format!("role \"{name}\" does not exist")));
        };
        let is_superuser = |role| acl::is_superuser(self.catalog, role);
        match setting {
            "role" if acl::may_set_role(self.catalog, self.session, target) => Ok(target),
            "role" => Err(denied(format!("permission denied to set role \"{name}\""))),
            _ if is_superuser(self.login) || self.login == target => Ok(target),
            _ => Err(denied(format!("permission denied to set session authorization \"{name}\""))),
        }
    }
}

impl Claimant<'_> {
    /// Checks a value that is to be stored for sessions to come (ALTER ROLE … SET, ALTER DATABASE … SET, a function's SET clause); None: the
    /// stored one is to go. Returns what the settings would be, and what is to be told. Errors: those that SET would give.
    pub fn check_stored(&self, name: &str, value: Option<&str>) -> Result<(Gucs, Option<PgError>)> {
        let (key, mut tried) = (name.to_ascii_lowercase(), Gucs::new("", NOBODY));
        if is_identity(&key) {
            // who the role may be is asked when a session begins
            return Ok((tried, value.and_then(|role| self.foresee(&key, role))));
        }
        if !definitions().contains_key(&key) && key.contains('.') && !acl::is_superuser(self.catalog, self.current) {
            return Err(denied(format!("permission denied to set parameter \"{name}\"")));
        }
        let permit = self.permit(name, value, Source::Statement)?;
        tried.set(name, value, permit)?;
        Ok((tried, None))
    }

    /// What a session that takes over a stored identity will be told.
    fn foresee(&self, setting: &str, name: &str) -> Option<PgError> {
        if setting == "role" && name == "none" {
            return None;
        }
        let Some(role) = self.catalog.role_named(name) else {
            let error = PgError::new(SqlState::UNDEFINED_OBJECT, format!("role \"{name}\" does not exist"));
            return Some(error.severity(Severity::Notice));
        };
        let may = acl::may_set_role(self.catalog, self.session, role.oid);
        let what = match setting {
            "role" => format!("permission will be denied to set role \"{name}\""),
            _ => format!("permission will be denied to set session authorization \"{name}\""),
        };
        (!may).then(|| denied(what).severity(Severity::Notice))
    }
}
