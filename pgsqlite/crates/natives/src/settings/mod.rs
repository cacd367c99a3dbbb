//! Settings (GUCs): names and defaults are PostgreSQL's (`pg_settings`, as data), values are checked as it checks them.

pub mod accepted;
pub mod rights;
pub mod values;

use pgsqlite_sql::acl;
use pgsqlite_sql::catalog::{Catalog, PG_CATALOG};
use pgsqlite_types::encoding::Encoding;
use pgsqlite_types::error::Severity;
use pgsqlite_types::settings::{parse_date_style, ByteaOutput, DateOrder, DateStyle, IntervalStyle};
use pgsqlite_types::text::truncate_name;
use pgsqlite_types::{Oid, PgError, Result, Settings, SqlState};
use rights::Permit;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use values::{bound, display, parse_number};

pub use values::parse_bool;

/// The settings that are a transaction's, and end with it.
pub const OF_TRANSACTION: [&str; 3] = ["transaction_isolation", "transaction_read_only", "transaction_deferrable"];

/// What a statement does, as far as `log_statement` asks. Each value of the setting takes in those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// `ddl`: it defines, changes or drops an object.
    Definition,
    /// `mod`: it changes data.
    Change,
    /// `all`: anything else.
    Other,
}

impl Class {
    /// The class up to which statements are logged; None: `none`.
    pub(crate) fn of_setting(value: &str) -> Option<Class> {
        match value {
            "ddl" => Some(Class::Definition),
            "mod" => Some(Class::Change),
            "all" => Some(Class::Other),
            _ => None,
        }
    }
}

/// One row of PostgreSQL's `pg_settings`.
#[derive(Debug)]
pub struct Definition {
    pub name: &'static str,
    pub default: &'static str,
    pub unit: Option<&'static str>,
    pub context: &'static str,
    /// `bool`, `integer`, `real`, `string`, `enum`
    pub vartype: &'static str,
    pub min: Option<f64>,
    pub max: Option<f64>,
    pub values: Vec<&'static str>,
}

/// By lower-case name.
pub fn definitions() -> &'static HashMap<String, Definition> {
    static TABLE: OnceLock<HashMap<String, Definition>> = OnceLock::new();
    TABLE.get_or_init(|| {
        pgsqlite_sql::builtins::catalog::settings_data()
            .map(|line| {
                let f: Vec<&'static str> = line.split('\t').collect();
                let optional = |i: usize| (f[i] != "\\N").then_some(f[i]);
                let definition = Definition {
                    name: f[0],
                    default: optional(1).unwrap_or(""),
                    unit: optional(2),
                    context: f[5],
                    vartype: f[6],
                    min: optional(7).and_then(|v| v.parse().ok()),
                    max: optional(8).and_then(|v| v.parse().ok()),
                    values: optional(9).map_or(vec![], |v| {
                        v.trim_matches(['{', '}']).split(',').map(|s| s.trim_matches('"')).collect()
                    }),
                };
                (f[0].to_ascii_lowercase(), definition)
            })
            .collect()
    })
}

/// Settings whose changes the client is told of (GUC_REPORT), in PostgreSQL's spelling.
pub const REPORTED: &[&str] = &[
    "application_name",
    "client_encoding",
    "DateStyle",
    "default_transaction_read_only",
    "in_hot_standby",
    "integer_datetimes",
    "IntervalStyle",
    "server_encoding",
    "server_version",
    // (each behind the one that may decide it)
    "session_authorization",
    "is_superuser",
    "search_path",
    "standard_conforming_strings",
    "TimeZone",
];

/// What a fresh PostgreSQL session reports where that differs from the built-in default.
const FRESH: &[(&str, &str)] = &[
    ("client_encoding", "UTF8"),
    ("server_encoding", "UTF8"),
    ("timezone", "UTC"),
    ("log_timezone", "UTC"),
    ("lc_collate", "C.UTF-8"),
    ("lc_ctype", "C.UTF-8"),
    ("lc_messages", "C.UTF-8"),
    ("lc_monetary", "C.UTF-8"),
    ("lc_numeric", "C.UTF-8"),
    ("lc_time", "C.UTF-8"),
    ("datestyle", "ISO, MDY"),
    ("default_text_search_config", "pg_catalog.english"),
    ("is_superuser", "on"),
    ("server_version", "15.18"),
    ("server_version_num", "150018"),
    ("max_connections", "100"),
];

/// What the server decides by itself.
const OVERRIDDEN: [&str; 3] = OF_TRANSACTION;

/// Whether a name (in lower case) is one that any application may give a value.
fn is_of_application(key: &str) -> bool {
    key.contains('.') && !key.starts_with("plpgsql.") && !definitions().contains_key(key)
}

/// Whether it is a setting that the server knows by itself, and not one of an extension or an application.
pub fn is_setting_of_server(name: &str) -> bool {
    let key = name.to_ascii_lowercase();
    rights::is_identity(&key) || key == SEED || definitions().contains_key(&key)
}

/// The setting that is a call of `setseed`. It has no value that SHOW could show, and is not among those that SHOW ALL lists.
const SEED: &str = "seed";

const SEED_DEFINITION: Definition = Definition {
    name: SEED,
    default: "0",
    unit: None,
    context: "user",
    vartype: "real",
    min: Some(-1.0),
    max: Some(1.0),
    values: Vec::new(),
};

/// The number that `setseed` is called with, if SET or `set_config` gives this setting this value. Nothing else that sets a setting (RESET, a
/// role's settings, the options of a session's start) calls it. None: another setting, or a value that it cannot have.
pub fn seed_of(name: &str, value: &str) -> Option<f64> {
    if !name.eq_ignore_ascii_case(SEED) {
        return None;
    }
    parse_number(value, None, false).ok()
}

/// The schemas of `search_path` that there are and that the role may look into, in their order.
pub fn search_path(settings: &Gucs, catalog: &Catalog, user: &str, role: Oid) -> Vec<Oid> {
    let text = settings.get("search_path").unwrap_or_default();
    let superuser = acl::is_superuser(catalog, role);
    if superuser && text == "\"$user\", public" && catalog.schema_oid(user).is_none() {
        return catalog.schema_oid("public").into_iter().collect();
    }
    let names = values::split_names(&text).unwrap_or_default();
    names
        .iter()
        .filter_map(|name| match name.as_str() {
            "$user" => catalog.schema_oid(user),
            "pg_catalog" => Some(PG_CATALOG),
            other => catalog.schema_oid(other),
        })
        // schemas one may not look into are passed over
        .filter(|&s| superuser || acl::schema_privileges(catalog, role, s) & acl::privilege::USAGE != 0)
        .collect()
}

/// Settings whose values are for superusers and pg_read_all_settings (GUC_SUPERUSER_ONLY).
const SECRET: &[&str] = &[
    "config_file",
    "data_directory",
    "dynamic_library_path",
    "extension_destdir",
    "external_pid_file",
    "hba_file",
    "ident_file",
    "jit_provider",
    "krb_server_keyfile",
    "log_directory",
    "log_filename",
    "output_plugin_libraries",
    "primary_conninfo",
    "session_preload_libraries",
    "shared_preload_libraries",
    "ssl_ciphers",
    "ssl_dh_params_file",
    "ssl_ecdh_curve",
    "ssl_max_protocol_version",
    "ssl_min_protocol_version",
    "ssl_passphrase_command",
    "unix_socket_directories",
];

/// Whether a role may see a setting's value.
pub fn may_examine(catalog: &Catalog, role: Oid, name: &str) -> bool {
    let secret = SECRET.iter().any(|s| s.eq_ignore_ascii_case(name));
    !secret || acl::is_superuser(catalog, role) || acl::inherits(catalog, role, "pg_read_all_settings")
}

/// 42501 unless a role may see a setting's value.
pub fn check_may_examine(catalog: &Catalog, role: Oid, name: &str) -> Result<()> {
    if may_examine(catalog, role, name) {
        return Ok(());
    }
    Err(PgError::new(SqlState::INSUFFICIENT_PRIVILEGE, format!("permission denied to examine \"{name}\""))
        .detail("Only roles with privileges of the \"pg_read_all_settings\" role may examine this parameter."))
}

/// 0A000: a setting that RESET and SET … TO DEFAULT do not take (GUC_NO_RESET).
pub fn cannot_be_reset(name: &str) -> PgError {
    PgError::new(SqlState::FEATURE_NOT_SUPPORTED, format!("parameter \"{name}\" cannot be reset"))
}

/// The settings of one session.
#[derive(Clone)]
pub struct Gucs {
    /// by lower-case name; only those that differ from the default
    values: HashMap<String, String>,
    /// shared by the copies that a session keeps of its settings
    defaults: Arc<HashMap<String, String>>,
    /// of these, where they come from: `source` of pg_settings
    sources: Arc<HashMap<String, &'static str>>,
    pub typed: Settings,
    pub client_encoding: Encoding,
    /// changes with every change, unique in the process
    version: u64,
    pub often: Often,
}

/// The setting of sessions that do not wait until what they read is with the others that have to have it (a server with a lease).
const READ_UNREPLICATED: &str = "pgsqlite.read_unreplicated";

/// What every statement asks for, ready to be used. Times are in milliseconds, 0: for ever.
#[derive(Clone)]
pub struct Often {
    pub statement_timeout: u64,
    pub lock_timeout: u64,
    pub deadlock_timeout: u64,
    pub idle_session_timeout: u64,
    pub idle_in_transaction_session_timeout: u64,
    pub transaction_timeout: u64,
    /// after how long a running statement's client is looked after
    pub client_connection_check_interval: u64,
    /// synchronous_commit: a commit is told when it is on disk
    pub waits_for_disk: bool,
    /// … and when others have it that have to (a server with a lease)
    pub waits_for_others: bool,
    /// … and have applied it: remote_apply
    pub waits_for_apply: bool,
    /// pgsqlite.read_unreplicated: what is read may be what those others do not have
    pub reads_unreplicated: bool,
    pub default_transaction_read_only: bool,
    /// the server is a standby
    pub in_hot_standby: bool,
    /// statements outside of blocks are serializable transactions
    pub default_serializable: bool,
    /// bytes; None: no limit
    pub temp_file_limit: Option<u64>,
    /// an error ends the session
    pub exits_on_error: bool,
    /// others see what the session does
    pub tracks_activities: bool,
    /// rows that statements return and change are counted
    pub tracks_counts: bool,
    /// backslashes are themselves in '…'
    pub standard_conforming_strings: bool,
    /// which calls of functions are counted
    pub tracks_functions: TracksFunctions,
    /// how a transaction reads statistics again
    pub fetch_consistency: crate::statistics::fetched::Consistency,
    /// the class of statements up to which the log is told of them before they run; None: it is not
    pub log_statement: Option<Class>,
    /// the log is told how long each statement took
    pub log_duration: bool,
}

/// `track_functions`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TracksFunctions {
    None,
    /// those in PL/pgSQL
    Procedural,
    All,
}

impl Often {
    const DEFAULT: Often = Often {
        statement_timeout: 0,
        lock_timeout: 0,
        deadlock_timeout: 1000,
        idle_session_timeout: 0,
        idle_in_transaction_session_timeout: 0,
        transaction_timeout: 0,
        client_connection_check_interval: 0,
        waits_for_disk: true,
        waits_for_others: true,
        waits_for_apply: false,
        reads_unreplicated: false,
        default_transaction_read_only: false,
        in_hot_standby: false,
        default_serializable: false,
        temp_file_limit: None,
        exits_on_error: false,
        tracks_activities: true,
        tracks_counts: true,
        standard_conforming_strings: true,
        tracks_functions: TracksFunctions::None,
        fetch_consistency: crate::statistics::fetched::Consistency::Cache,
        log_statement: None,
        log_duration: false,
    };

    /// Follows a setting that has got this (canonical) value.
    fn follow(&mut self, definition: &Definition, value: &str) {
        let place = match definition.name {
            "statement_timeout" => &mut self.statement_timeout,
            "lock_timeout" => &mut self.lock_timeout,
            "deadlock_timeout" => &mut self.deadlock_timeout,
            "idle_session_timeout" => &mut self.idle_session_timeout,
            "idle_in_transaction_session_timeout" => &mut self.idle_in_transaction_session_timeout,
            "transaction_timeout" => &mut self.transaction_timeout,
            "client_connection_check_interval" => &mut self.client_connection_check_interval,
            "exit_on_error" => {
                self.exits_on_error = value == "on";
                return;
            }
            "track_activities" => {
                self.tracks_activities = value == "on";
                return;
            }
            "standard_conforming_strings" => {
                self.standard_conforming_strings = value == "on";
                return;
            }
            "track_counts" => {
                self.tracks_counts = value == "on";
                return;
            }
            "track_functions" => {
                self.tracks_functions = match value {
                    "all" => TracksFunctions::All,
                    "pl" => TracksFunctions::Procedural,
                    _ => TracksFunctions::None,
                };
                return;
            }
            "stats_fetch_consistency" => {
                self.fetch_consistency = crate::statistics::fetched::Consistency::of_setting(value);
                return;
            }
            "log_statement" => {
                self.log_statement = Class::of_setting(value);
                return;
            }
            "log_duration" => {
                self.log_duration = value == "on";
                return;
            }
            "synchronous_commit" => {
                self.waits_for_disk = value != "off";
                self.waits_for_others = !matches!(value, "off" | "local");
                self.waits_for_apply = value == "remote_apply";
                return;
            }
            "temp_file_limit" => {
                let kib = parse_number(value, definition.unit, true).unwrap_or(-1.0);
                self.temp_file_limit = (kib >= 0.0).then_some(kib as u64 * 1024);
                return;
            }
            "default_transaction_read_only" => {
                self.default_transaction_read_only = value == "on";
                return;
            }
            "default_transaction_isolation" => {
                self.default_serializable = value == "serializable";
                return;
            }
            _ => return,
        };
        *place = parse_number(value, definition.unit, true).map_or(0, |n| n.max(0.0) as u64);
    }
}

fn next_version() -> u64 {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl Gucs {
    /// The settings of a new session of this user, the role with this OID.
    pub fn new(user: &str, role: Oid) -> Gucs {
        let mut defaults: HashMap<String, String> = FRESH.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect();
        defaults.insert("session_authorization".into(), rights::kept_role(role, user));
        defaults.insert("role".into(), rights::kept_role(0, "none"));
        Gucs {
            values: HashMap::new(),
            defaults: Arc::new(defaults),
            sources: Arc::new(OVERRIDDEN.iter().map(|name| (name.to_string(), "override")).collect()),
            typed: Settings::default(),
            client_encoding: Encoding::Utf8,
            version: next_version(),
            often: Often::DEFAULT,
        }
    }

    /// The value of a setting of the server, which no session can change.
    pub fn set_of_server(&mut self, name: &str, value: &str) {
        self.version = next_version();
        Arc::make_mut(&mut self.defaults).insert(name.to_string(), value.to_string());
        let built_in = definitions().get(name).is_some_and(|d| display(d, d.default) == value);
        if !built_in {
            Arc::make_mut(&mut self.sources).insert(name.to_string(), "command line");
        }
    }

    /// Makes this state another one than any before.
    pub fn touch(&mut self) {
        self.version = next_version();
    }

    /// From now on RESET goes back to the values as they are. `source`: where those come from that were set since then.
    pub fn keep_as_defaults(&mut self, source: &'static str) {
        self.version = next_version();
        for (name, value) in std::mem::take(&mut self.values) {
            Arc::make_mut(&mut self.sources).insert(name.clone(), source);
            Arc::make_mut(&mut self.defaults).insert(name, value);
        }
    }

    /// Where the value of a setting of the server comes from (`source` of pg_settings), and what RESET makes of it, in the setting's own unit.
    pub fn origin(&self, name: &str) -> (&'static str, Option<String>) {
        let key = name.to_ascii_lowercase();
        let source = match self.values.contains_key(&key) {
            true => "session",
            false => self.sources.get(&key).copied().unwrap_or("default"),
        };
        let reset = match (self.defaults.get(&key), definitions().get(&key)) {
            (Some(value), Some(definition)) => Some(values::raw(definition, value)),
            (Some(value), None) => Some(value.clone()),
            (None, Some(definition)) => Some(values::raw(definition, &display(definition, definition.default))),
            (None, None) => None,
        };
        (source, reset)
    }

    /// `in_hot_standby`: transactions begin as those that may only read.
    pub fn set_in_hot_standby(&mut self, standby: bool) {
        self.version = next_version();
        self.often.in_hot_standby = standby;
        let value = if standby { "on" } else { "off" };
        Arc::make_mut(&mut self.defaults).insert("in_hot_standby".into(), value.into());
    }

    /// `is_superuser` follows the role.
    pub fn set_superuser(&mut self, superuser: bool) {
        self.version = next_version();
        Arc::make_mut(&mut self.defaults).insert("is_superuser".into(), if superuser { "on" } else { "off" }.into());
    }

    /// Tells two states of settings apart.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// What was set, or is the session's default; None: the setting's own default holds.
    fn stored(&self, key: &str) -> Option<&String> {
        self.values.get(key).or_else(|| self.defaults.get(key))
    }

    /// The value as SHOW prints it; None: no such setting.
    pub fn get(&self, name: &str) -> Option<String> {
        let key = name.to_ascii_lowercase();
        if let Some(v) = self.stored(&key) {
            return Some(if rights::is_identity(&key) { rights::role_of(v).1 } else { v }.to_string());
        }
        if OF_TRANSACTION.contains(&key.as_str()) {
            if self.often.in_hot_standby && key == "transaction_read_only" {
                return Some("on".into());
            }
            return self.get(&format!("default_{key}"));
        }
        if key == SEED {
            return Some("unavailable".into());
        }
        let definition = definitions().get(&key)?;
        Some(display(definition, definition.default))
    }

    /// These settings again as they were before. A name that an application has given since then stays known, without a value.
    pub fn back_to(&self, before: &Gucs) -> Gucs {
        let mut back = before.clone();
        for name in self.names_since(before) {
            back.version = next_version();
            back.values.insert(name, String::new());
        }
        back
    }

    /// The names that an application has given since the settings were as before.
    pub fn names_since<'a>(&'a self, before: &'a Gucs) -> impl Iterator<Item = String> + 'a {
        let known = |name: &String| before.values.contains_key(name) || before.defaults.contains_key(name);
        self.values.keys().filter(move |name| is_of_application(name) && !known(name)).cloned()
    }

    /// The value as [`Permit::put_back`] lets it be set again.
    pub fn kept(&self, name: &str) -> Option<String> {
        let key = name.to_ascii_lowercase();
        match rights::is_identity(&key) {
            true => self.stored(&key).cloned(),
            false => self.get(name),
        }
    }

    /// The names that RESET ALL is for: what the session has set, but for its identity and the transaction's characteristics.
    pub fn names_to_reset(&self) -> Vec<String> {
        let kept = |name: &str| rights::is_identity(name) || OF_TRANSACTION.contains(&name);
        self.values.keys().filter(|name| !kept(name)).cloned().collect()
    }

    fn role_in(&self, key: &str) -> Oid {
        self.stored(key).map_or(rights::NOBODY, |kept| rights::role_of(kept).0)
    }

    /// The role that is `session_user`, whatever it is called now.
    pub fn session_role(&self) -> Oid {
        self.role_in("session_authorization")
    }

    /// The role that is `current_user`, outside of functions with SECURITY DEFINER.
    pub fn current_role(&self) -> Oid {
        match self.role_in("role") {
            0 => self.session_role(),
            role => role,
        }
    }

    /// The value in the setting's own unit, as pg_settings shows it.
    pub fn raw(&self, name: &str) -> Option<String> {
        let shown = self.get(name)?;
        Some(match definitions().get(&name.to_ascii_lowercase()) {
            Some(definition) => values::raw(definition, &shown),
            None => shown,
        })
    }

    /// The error 42704 of a setting that does not exist.
    pub fn unknown(name: &str) -> PgError {
        PgError::new(SqlState::UNDEFINED_OBJECT, format!("unrecognized configuration parameter \"{name}\""))
    }

    /// Sets a value (None: back to the default). Errors: 42704, 22023.
    pub fn set(&mut self, name: &str, value: Option<&str>, permit: Permit) -> Result<()> {
        let key = name.to_ascii_lowercase();
        self.version = next_version();
        // not among the settings that SHOW ALL lists; the session checks them
        if rights::is_identity(&key) {
            match value {
                Some(v) => self.values.insert(key.clone(), permit.kept(&key, v)),
                None => self.values.remove(&key),
            };
            return Ok(());
        }
        if key == SEED {
            return value.map_or(Err(cannot_be_reset(&key)), |v| self.check(&key, &SEED_DEFINITION, v).map(|_| ()));
        }
        let Some(definition) = definitions().get(&key) else {
            // placeholders of extensions: names of several parts take any value, and keep none as an empty one
            if key.contains('.') {
                if !values::is_custom_name(name) {
                    return Err(PgError::new(
                        SqlState::INVALID_NAME,
                        format!("invalid configuration parameter name \"{name}\""),
                    )
                    .detail("Custom parameter names must be two or more simple identifiers separated by dots."));
                }
                if let Some(of_plpgsql) = key.strip_prefix("plpgsql.") {
                    values::check_plpgsql(name, of_plpgsql, value)?;
                    match value {
                        Some(v) => self.values.insert(key, v.to_string()),
                        None => self.values.remove(&key),
                    };
                    return Ok(());
                }
                accepted::check_custom(&key)?;
                if key.starts_with("hnsw.") || key.starts_with("ivfflat.") {
                    values::check_vector(name, &key, value)?;
                }
                if key == READ_UNREPLICATED {
                    values::check_boolean(name, value)?;
                }
                match value {
                    Some(v) => self.values.insert(key.clone(), v.to_string()),
                    // a name that was given once stays known
                    None if self.defaults.contains_key(&key) => self.values.remove(&key),
                    None => self.values.insert(key.clone(), String::new()),
                };
                if key == READ_UNREPLICATED {
                    let reads = self.get(READ_UNREPLICATED).and_then(|value| parse_bool(&value));
                    self.often.reads_unreplicated = reads.unwrap_or(false);
                }
                return Ok(());
            }
            return Err(Gucs::unknown(name));
        };
        let text = match value {
            Some(v) => v.to_string(),
            None => self.defaults.get(&key).cloned().unwrap_or_else(|| definition.default.to_string()),
        };
        let canonical = {
            let typed = self.typed.clone();
            let canonical = self.check(&key, definition, &text)?;
            let default = FRESH.iter().find(|f| f.0 == key).map(|f| f.1.to_string());
            let default = default.unwrap_or_else(|| display(definition, definition.default));
            accepted::check(definition, &default, &canonical).inspect_err(|_| self.typed = typed)?;
            canonical
        };
        self.often.follow(definition, &canonical);
        if value.is_some() {
            self.values.insert(key, canonical);
        } else {
            self.values.remove(&key);
        }
        Ok(())
    }

    /// Checks a value, applies it to the typed settings, and gives its canonical text.
    fn check(&mut self, key: &str, definition: &Definition, value: &str) -> Result<String> {
        let name = definition.name;
        let invalid = || {
            PgError::new(
                SqlState::INVALID_PARAMETER_VALUE,
                format!("invalid value for parameter \"{}\": \"{value}\"", definition.name),
            )
        };
        match key {
            // these are shown in other programs' logs and titles
            "application_name" | "cluster_name" => {
                let clean = truncate_name(value).bytes().map(|b| match b {
                    b' '..=b'~' => char::from(b).to_string(),
                    _ => format!("\\x{b:02x}"),
                });
                return Ok(clean.collect());
            }
            "timezone" => {
                use pgsqlite_types::datetime::zone::NoZone;
                let (zone, shown) = pgsqlite_types::datetime::zone::for_setting(value).map_err(|no| match no {
                    NoZone::Invalid(None) => invalid(),
                    NoZone::Invalid(Some(detail)) => invalid().detail(detail),
                    NoZone::Error(error) => error,
                })?;
                self.typed.time_zone = zone;
                self.typed.time_zone_name.clone_from(&shown);
                return Ok(shown);
            }
            "datestyle" => {
                let current = (self.typed.date_style, self.typed.date_order);
                (self.typed.date_style, self.typed.date_order) =
                    parse_date_style(value, current).map_err(|detail| invalid().detail(detail))?;
                let style = match self.typed.date_style {
                    DateStyle::Iso => "ISO",
                    DateStyle::Sql => "SQL",
                    DateStyle::Postgres => "Postgres",
                    DateStyle::German => "German",
                };
                let order = match self.typed.date_order {
                    DateOrder::Mdy => "MDY",
                    DateOrder::Dmy => "DMY",
                    DateOrder::Ymd => "YMD",
                };
                return Ok(format!("{style}, {order}"));
            }
            "intervalstyle" => {
                let (style, name) = match value.to_ascii_lowercase().as_str() {
                    "postgres" => (IntervalStyle::Postgres, "postgres"),
                    "postgres_verbose" => (IntervalStyle::PostgresVerbose, "postgres_verbose"),
                    "sql_standard" => (IntervalStyle::SqlStandard, "sql_standard"),
                    "iso_8601" => (IntervalStyle::Iso8601, "iso_8601"),
                    _ => return Err(enum_error(name, definition, value)),
                };
                self.typed.interval_style = style;
                return Ok(name.into());
            }
            "default_text_search_config" => {
                let name = value.strip_prefix("pg_catalog.").unwrap_or(value);
                let known = pgsqlite_sql::builtins::text_search::configuration_named(name);
                return known.map(|_| format!("pg_catalog.{name}")).ok_or_else(invalid);
            }
            "bytea_output" => {
                let (output, name) = match value.to_ascii_lowercase().as_str() {
                    "hex" => (ByteaOutput::Hex, "hex"),
                    "escape" => (ByteaOutput::Escape, "escape"),
                    _ => return Err(enum_error(name, definition, value)),
                };
                self.typed.bytea_output = output;
                return Ok(name.into());
            }
            "client_encoding" => {
                return match Encoding::by_name(value) {
                    Some(Encoding::Other) => Err(PgError::not_supported(format!("client_encoding \"{value}\""))),
                    Some(encoding) => {
                        self.client_encoding = encoding;
                        Ok(encoding.name().into())
                    }
                    None => Err(invalid()),
                };
            }
            "row_security" => {
                if let Some(on) = parse_bool(value) {
                    self.typed.row_security = on;
                }
            }
            "restrict_nonsystem_relation_kind" => {
                let kinds: Vec<&str> = value.split(',').map(str::trim).filter(|k| !k.is_empty()).collect();
                let known = |k: &&str| k.eq_ignore_ascii_case("view") || k.eq_ignore_ascii_case("foreign-table");
                if let Some(unknown) = kinds.iter().find(|k| !known(k)) {
                    return Err(invalid().detail(format!("Unrecognized key word: \"{unknown}\".")));
                }
                self.typed.restrict_views = kinds.iter().any(|k| k.eq_ignore_ascii_case("view"));
            }
            "array_nulls" => {
                if let Some(on) = parse_bool(value) {
                    self.typed.array_nulls = on;
                }
            }
            "transform_null_equals" => {
                if let Some(on) = parse_bool(value) {
                    self.typed.transform_null_equals = on;
                }
            }
            "temp_tablespaces" => {
                let names = values::split_names(value).ok_or_else(|| invalid().detail("List syntax is invalid."))?;
                if let Some(unknown) = names.iter().find(|n| !matches!(n.as_str(), "" | "pg_default")) {
                    return Err(PgError::new(
                        SqlState::UNDEFINED_OBJECT,
                        format!("tablespace \"{unknown}\" does not exist"),
                    ));
                }
            }
            "standard_conforming_strings" => {
                if let Some(on) = parse_bool(value) {
                    self.typed.standard_conforming_strings = on;
                }
            }
            // (triggers, rules and foreign keys would have to rest)
            "session_replication_role" if value.eq_ignore_ascii_case("replica") => {
                return Err(PgError::not_supported("session_replication_role = replica"));
            }
            "password_encryption" if value.eq_ignore_ascii_case("md5") => {
                return Err(PgError::not_supported("password_encryption = md5"));
            }
            // messages are English, and numbers, money and dates are formatted as in the C locale
            "lc_messages" if value.starts_with("en_") => {}
            "lc_messages" | "lc_monetary" | "lc_numeric" | "lc_time"
                if !matches!(value, "" | "C" | "POSIX" | "C.UTF-8" | "C.utf8") =>
            {
                return Err(invalid());
            }
            "search_path" if values::split_names(value).is_none() => {
                return Err(invalid().detail("List syntax is invalid."));
            }
            "default_tablespace" if !matches!(value, "" | "pg_default") => {
                return Err(invalid().detail(format!("Tablespace \"{value}\" does not exist.")));
            }
            "default_table_access_method" if value != "heap" => {
                return Err(invalid().detail(format!("Table access method \"{value}\" does not exist.")));
            }
            _ => {}
        }
        match definition.vartype {
            "bool" => match parse_bool(value) {
                Some(b) => Ok(if b { "on" } else { "off" }.into()),
                None => Err(PgError::new(
                    SqlState::INVALID_PARAMETER_VALUE,
                    format!("parameter \"{name}\" requires a Boolean value"),
                )),
            },
            "enum" => {
                let lower = value.to_ascii_lowercase();
                if let Some(found) = definition.values.iter().find(|v| v.to_ascii_lowercase() == lower) {
                    return Ok(found.to_string());
                }
                // booleans are hidden synonyms of some enums (synchronous_commit = true)
                match parse_bool(value) {
                    Some(b) if definition.values.contains(&if b { "on" } else { "off" }) => {
                        Ok(if b { "on" } else { "off" }.into())
                    }
                    _ => Err(enum_error(name, definition, value)),
                }
            }
            "integer" | "real" => {
                let integer = definition.vartype == "integer";
                let number = parse_number(value, definition.unit, integer).map_err(|hint| {
                    let error = PgError::new(
                        SqlState::INVALID_PARAMETER_VALUE,
                        format!("invalid value for parameter \"{name}\": \"{value}\""),
                    );
                    match hint {
                        Some(hint) => error.hint(hint),
                        None => error,
                    }
                })?;
                if definition.min.is_some_and(|m| number < m) || definition.max.is_some_and(|m| number > m) {
                    let unit = definition.unit.map_or(String::new(), |u| format!(" {u}"));
                    return Err(PgError::new(
                        SqlState::INVALID_PARAMETER_VALUE,
                        format!(
                            "{}{unit} is outside the valid range for parameter \"{name}\" ({}{unit} .. {}{unit})",
                            bound(number, integer),
                            bound(definition.min.unwrap_or(f64::MIN), integer),
                            bound(definition.max.unwrap_or(f64::MAX), integer)
                        ),
                    ));
                }
                if key == "extra_float_digits" {
                    self.typed.extra_float_digits = number as i32;
                }
                Ok(display(definition, &number.to_string()))
            }
            _ => Ok(value.to_string()),
        }
    }

    /// What decides how literals are read: part of the plan cache's key.
    pub fn plan_key(&self) -> String {
        format!(
            "{}/{:?}/{:?}/{:?}/{}/{}/{}/{}/{}",
            self.typed.time_zone_name,
            self.typed.date_style,
            self.typed.date_order,
            self.typed.interval_style,
            self.typed.row_security,
            self.typed.restrict_views,
            self.typed.standard_conforming_strings,
            self.typed.array_nulls,
            self.typed.transform_null_equals
        )
    }

    /// Whether a boolean setting is on.
    pub fn is_on(&self, name: &str) -> bool {
        self.get(name).is_some_and(|v| v == "on")
    }
}

fn enum_error(name: &str, definition: &Definition, value: &str) -> PgError {
    PgError::new(SqlState::INVALID_PARAMETER_VALUE, format!("invalid value for parameter \"{name}\": \"{value}\""))
        .hint(format!("Available values: {}.", definition.values.join(", ")))
}

/// Whether the client gets a message where client_min_messages is `least`.
pub fn is_told(notice: &PgError, least: &str) -> bool {
    let least = rank(least);
    match notice.fields().severity {
        Severity::Info => true,
        Severity::Warning => least <= rank("warning"),
        Severity::Notice => least <= rank("notice"),
        Severity::Log => least <= rank("log"),
        Severity::Debug => least <= rank("debug1"),
        Severity::Error | Severity::Fatal | Severity::Panic => true,
    }
}

/// The order of client_min_messages.
fn rank(level: &str) -> usize {
    ["debug5", "debug4", "debug3", "debug2", "debug1", "log", "notice", "warning", "error"]
        .iter()
        .position(|l| *l == level)
        .unwrap_or(0)
}
