//! Functions that ask the server: other sessions, advisory locks, the transaction's number, waiting.

use libsqlite3_sys as ffi;
use pgsqlite_natives::udf::session_cell::{AdvisoryKey, Fate, ServerFunctions};
use pgsqlite_natives::udf::shim::{Call, Scalar};
use pgsqlite_natives::udf::strings::invalid_parameter;
use pgsqlite_sql::acl;
use pgsqlite_types::datetime::Timestamp;
use pgsqlite_types::error::Severity;
use pgsqlite_types::work;
use pgsqlite_types::{Datum, DatumRef, Oid, PgError, Result, SqlState};
use std::sync::Arc;
use std::time::Duration;

fn server(c: &Call) -> Result<Arc<dyn ServerFunctions>> {
    c.session.server()
}
/// The value of type `void`.
fn void() -> Result<Datum> {
    Ok(Datum::Text(String::new()))
}

/// 25006 on a standby. `command`: its name in the message.
fn check_not_in_recovery(c: &Call, command: &str) -> Result<()> {
    match server(c)?.recovery().is_some_and(|recovery| recovery.standby.recovers()) {
        true => {
            Err(PgError::new(SqlState::READ_ONLY_SQL_TRANSACTION, format!("cannot execute {command} during recovery")))
        }
        false => Ok(()),
    }
}

fn transaction_id(c: &Call) -> Result<Datum> {
    check_not_in_recovery(c, "pg_current_xact_id()")?;
    Ok(server(c)?.transaction_id(true)?.map(|n| n as i64).into())
}
fn assigned_transaction_id(c: &Call) -> Result<Datum> {
    let server = server(c)?;
    let number = match server.transaction_id(false)? {
        None if has_written(c, &*server)? => server.transaction_id(true)?,
        known => known,
    };
    Ok(number.map(|n| n as i64).into())
}
/// Whether the transaction has changed anything, be it taken back since: then it has a number in PostgreSQL.
fn has_written(c: &Call, server: &dyn ServerFunctions) -> Result<bool> {
    if server.has_undone() {
        return Ok(true);
    }
    let db = c.connection();
    // SAFETY: the connection and the statements are those of the running call's thread.
    unsafe {
        if ffi::sqlite3_txn_state(db, c"temp".as_ptr()) == ffi::SQLITE_TXN_WRITE {
            return Ok(true);
        }
        let beside = ffi::sqlite3_txn_state(db, c"main".as_ptr()) == ffi::SQLITE_TXN_WRITE;
        if !beside && !server.has_writer_slot()? {
            return Ok(false);
        }
        if ffi::sqlite3_total_changes64(db) > c.session.changes_before.get() {
            return Ok(true);
        }
        // what the running statement changes is counted at its end
        let mut statement = ffi::sqlite3_next_stmt(db, std::ptr::null_mut());
        while !statement.is_null() {
            pgsqlite_types::work::visit();
            if ffi::sqlite3_stmt_busy(statement) != 0 && ffi::sqlite3_stmt_readonly(statement) == 0 {
                return Ok(true);
            }
            statement = ffi::sqlite3_next_stmt(db, statement);
        }
    }
    Ok(false)
}
/// `pg_xact_status`, `txid_status`
fn transaction_status(c: &Call) -> Result<Datum> {
    let number = match c.datum(0) {
        // a bigint, whose sign is a bit as any other
        DatumRef::Int(i) => i as u64,
        other => pgsqlite_types::transaction_ids::xid8(other)?,
    };
    if number == 0 {
        return Ok(Datum::Null);
    }
    if number < 3 {
        // those by which a cluster is made
        return Ok(Datum::Text("committed".into()));
    }
    if number >= pgsqlite_metadata::counter::coming_number() {
        return Err(invalid_parameter(format!("transaction ID {number} is in the future")));
    }
    let word = server(c)?.transaction_fate(number)?.map(|fate| match fate {
        Fate::InProgress => "in progress",
        Fate::Committed => "committed",
        Fate::Aborted => "aborted",
    });
    Ok(word.map_or(Datum::Null, |word| Datum::Text(word.into())))
}
fn notify(c: &Call) -> Result<Datum> {
    if c.is_null(0) || c.text(0)?.is_empty() {
        return Err(invalid_parameter("channel name cannot be empty"));
    }
    let payload = if c.is_null(1) { "" } else { c.text(1)? };
    if c.text(0)?.len() >= 64 {
        return Err(invalid_parameter("channel name too long"));
    }
    if payload.len() >= pgsqlite_natives::udf::session_cell::PAYLOAD {
        return Err(invalid_parameter("payload string too long"));
    }
    check_not_in_recovery(c, "NOTIFY")?;
    server(c)?.notify(c.text(0)?, payload)?;
    void()
}
/// The channels that are listened to, as rows.
fn listening(c: &Call) -> Result<Datum> {
    rows(server(c)?.listening()?)
}
/// The process numbers of the sessions that another one waits for, as an array.
fn blocking_pids(c: &Call) -> Result<Datum> {
    rows(crate::pg_catalog::blocking_pids(&*server(c)?, c.int(0)? as i32))
}
/// The words of the grammar, as rows of five columns.
fn keywords(_: &Call) -> Result<Datum> {
    let all = pgsqlite_sql::builtins::keywords::keywords()
        .map(|k| (k.word, k.category, k.bare_label as i64, k.category_description(), k.label_description()));
    rows(all.collect::<Vec<_>>())
}
fn rows(of: impl serde::Serialize) -> Result<Datum> {
    Ok(Datum::Text(serde_json::to_string(&of).map_err(|e| PgError::internal(e.to_string()))?))
}
fn timezone_names(_: &Call) -> Result<Datum> {
    let all = crate::pg_catalog::zones().into_iter();
    rows(all.map(|(name, abbreviation, offset, dst)| (name, abbreviation, offset, i32::from(dst))).collect::<Vec<_>>())
}
fn timezone_abbreviations(_: &Call) -> Result<Datum> {
    let all = crate::pg_catalog::abbreviations().into_iter();
    rows(all.map(|(name, offset, dst)| (name, offset, i32::from(dst))).collect::<Vec<_>>())
}
fn available_extensions(_: &Call) -> Result<Datum> {
    rows(crate::pg_catalog::EXTENSIONS.map(|e| (e.name, e.version, e.comment)))
}
fn available_extension_versions(_: &Call) -> Result<Datum> {
    // superuser and, before the comment, requires are the same for all
    rows(
        crate::pg_catalog::EXTENSIONS
            .map(|e| (e.name, e.version, 1, i32::from(e.trusted), i32::from(e.relocatable), e.schema, (), e.comment)),
    )
}
/// The rules of who may come in, as rows.
fn hba_file_rules(c: &Call) -> Result<Datum> {
    let found = server(c)?.host().map(|host| host.hba_file_rules()).transpose()?;
    let fields = |r: pgsqlite_natives::host::HbaFileRule| {
        let list = |words: Option<Vec<String>>| words.map(|words| serde_json::json!(words).to_string());
        let (databases, users, options) = (list(r.databases), list(r.users), list(r.options));
        (r.line, r.kind, databases, users, r.address, r.netmask, r.method, options, r.error)
    };
    rows(found.into_iter().flatten().map(fields).collect::<Vec<_>>())
}
/// The maps of user names, as rows.
fn ident_file_mappings(c: &Call) -> Result<Datum> {
    let found = server(c)?.host().map(|host| host.ident_file_mappings()).transpose()?;
    let fields = |m: pgsqlite_natives::host::IdentFileMapping| (m.line, m.map, m.system_user, m.role, m.error);
    rows(found.into_iter().flatten().map(fields).collect::<Vec<_>>())
}
/// How many transactions ago another began; those before the first are infinitely old.
fn transaction_age(c: &Call) -> Result<Datum> {
    let number = c.int(0)? as u32;
    if number < 3 {
        return Ok(Datum::Int(i32::MAX.into()));
    }
    let now = server(c)?.latest_transaction_id()? as u32;
    Ok(Datum::Int((now.wrapping_sub(number) as i32).into()))
}
fn start_time(c: &Call) -> Result<Datum> {
    Ok(Datum::Text(Timestamp(server(c)?.start_time()).to_storage()))
}
fn signal(c: &Call, terminate: bool) -> Result<Datum> {
    let pid = c.int(0)? as i32;
    {
        let (what, all, done, verb) = match terminate {
            true => ("process", "processes", "terminated", "terminate"),
            false => ("query", "queries", "canceled", "cancel"),
        };
        let denied = |detail: String| {
            let message = format!("permission denied to {verb} {what}");
            Err(PgError::new(SqlState::INSUFFICIENT_PRIVILEGE, message).detail(detail))
        };
        let state = c.session.state();
        let (catalog, user) = (&state.catalog, state.user_oid);
        let superuser = acl::is_superuser(catalog, user) || catalog.roles.is_empty();
        if let Some(target) = server(c)?.backend(pid).filter(|_| !superuser) {
            if target.superuser {
                return denied(format!(
                    "Only roles with the SUPERUSER attribute may {verb} {all} of roles with the SUPERUSER attribute."
                ));
            }
            let is_own = target.role.is_some_and(|role| acl::inherited_roles(catalog, user).contains(&role));
            if !is_own && !acl::inherits(catalog, user, "pg_signal_backend") {
                return denied(format!(
                    "Only roles with privileges of the role whose {what} is being {done} or with privileges of the \"pg_signal_backend\" role may {verb} this {what}."
                ));
            }
        }
    }
    let found = server(c)?.signal(pid, terminate)?;
    if !found {
        let message = format!("PID {pid} is not a PostgreSQL backend process");
        c.session.notice(PgError::new(SqlState::WARNING, message).severity(Severity::Warning));
    }
    Ok(Datum::from(found))
}
fn cancel_backend(c: &Call) -> Result<Datum> {
    signal(c, false)
}
fn terminate_backend(c: &Call) -> Result<Datum> {
    match c.int(1)? {
        0 => signal(c, true),
        n if n < 0 => Err(PgError::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "\"timeout\" must not be negative")),
        _ => Err(PgError::not_supported("pg_terminate_backend with a timeout")),
    }
}
fn sleep(c: &Call) -> Result<Datum> {
    // A year is as good as for ever.
    let seconds = c.float(0)?;
    let seconds = if seconds.is_nan() { 0.0 } else { seconds.clamp(0.0, 366.0 * 86_400.0) };
    server(c)?.sleep(Duration::from_secs_f64(seconds))?;
    void()
}

/// pg_options_to_table(text[]): (name, value) of each `name=value`; without `=` the value is NULL.
fn options(c: &Call) -> Result<Datum> {
    let options = pgsqlite_types::array::Array::from_storage(c.text(0)?, &pgsqlite_types::codec::TypeCodec::Text)
        .ok_or_else(|| PgError::internal("an array of options that is none"))?;
    let mut rows: Vec<serde_json::Value> = Vec::new();
    for item in &options.elements {
        work::visit();
        let Datum::Text(item) = item else {
            let message = "null array element not allowed in this context";
            return Err(PgError::new(SqlState::NULL_VALUE_NOT_ALLOWED, message));
        };
        rows.push(match item.split_once('=') {
            Some((name, value)) => serde_json::json!([name, value]),
            None => serde_json::json!([item, null]),
        });
    }
    Ok(Datum::Text(serde_json::Value::from(rows).to_string()))
}

// --- advisory locks --------------------------------------------------------------------------------------------------

fn key(c: &Call) -> Result<AdvisoryKey> {
    Ok(match c.len() {
        1 => AdvisoryKey::One(c.int(0)?),
        _ => AdvisoryKey::Two(c.int(0)? as i32, c.int(1)? as i32),
    })
}
fn take(c: &Call, shared: bool, transaction: bool, wait: bool) -> Result<Datum> {
    let got = server(c)?.advisory_lock(key(c)?, shared, transaction, wait)?;
    if wait {
        void()
    } else {
        Ok(Datum::from(got))
    }
}
fn give(c: &Call, shared: bool) -> Result<Datum> {
    let held = server(c)?.advisory_unlock(key(c)?, shared)?;
    if !held {
        let mode = if shared { "ShareLock" } else { "ExclusiveLock" };
        let message = format!("you don't own a lock of type {mode}");
        c.session.notice(PgError::new(SqlState::WARNING, message).severity(Severity::Warning));
    }
    Ok(Datum::from(held))
}
fn give_all(c: &Call) -> Result<Datum> {
    server(c)?.advisory_unlock_all()?;
    void()
}

// --- addresses -------------------------------------------------------------------------------------------------------

fn port(address: Option<std::net::SocketAddr>) -> Result<Datum> {
    Ok(address.map(|a| a.port() as i64).into())
}

fn host(address: Option<std::net::SocketAddr>) -> Result<Datum> {
    Ok(address.map(|a| a.ip().to_canonical().to_string()).into())
}

// --- statistics ------------------------------------------------------------------------------------------------------

fn statistics(c: &Call) -> Result<Arc<pgsqlite_natives::statistics::Statistics>> {
    server(c)?.statistics().ok_or_else(|| PgError::internal("a session without an engine"))
}
/// Only superusers may, as in PostgreSQL unless it is granted.
fn check_may_reset(c: &Call, function: &str) -> Result<()> {
    let state = c.session.state();
    if pgsqlite_sql::acl::is_superuser(&state.catalog, state.user_oid) || state.catalog.roles.is_empty() {
        return Ok(());
    }
    Err(PgError::new(SqlState::INSUFFICIENT_PRIVILEGE, format!("permission denied for function {function}")))
}
fn reset_database(c: &Call) -> Result<Datum> {
    check_may_reset(c, "pg_stat_reset")?;
    let database = c.session.state().catalog.database.clone();
    statistics(c)?.reset_database(&database, pgsqlite_metadata::clock::now());
    void()
}
fn reset_table(c: &Call) -> Result<Datum> {
    check_may_reset(c, "pg_stat_reset_single_table_counters")?;
    let database = c.session.state().catalog.database.clone();
    statistics(c)?.database(&database).reset_table(c.int(0)? as Oid, pgsqlite_metadata::clock::now());
    void()
}
fn reset_function(c: &Call) -> Result<Datum> {
    check_may_reset(c, "pg_stat_reset_single_function_counters")?;
    let database = c.session.state().catalog.database.clone();
    let counters = statistics(c)?.database(&database);
    counters.functions.reset(Oid::try_from(c.int(0)?).unwrap_or_default());
    counters.reset.store(pgsqlite_metadata::clock::now(), std::sync::atomic::Ordering::Relaxed);
    void()
}
fn reset_slru(c: &Call) -> Result<Datum> {
    check_may_reset(c, "pg_stat_reset_slru")?;
    let name = (!c.datum(0).is_null()).then(|| c.text(0)).transpose()?;
    statistics(c)?.slrus.reset(name, pgsqlite_metadata::clock::now());
    void()
}
/// What a transaction has counted is told when it ends, in any case.
fn flush_statistics(_: &Call) -> Result<Datum> {
    void()
}
fn clear_snapshot(c: &Call) -> Result<Datum> {
    server(c)?.clear_statistics_read();
    void()
}
fn reset_statements(c: &Call) -> Result<Datum> {
    check_may_reset(c, "pg_stat_statements_reset")?;
    if (0..3).any(|i| !matches!(c.int(i), Ok(0))) {
        return Err(PgError::not_supported("pg_stat_statements_reset of some statements only"));
    }
    statistics(c)?.statements.reset();
    void()
}

fn reset_shared(c: &Call) -> Result<Datum> {
    check_may_reset(c, "pg_stat_reset_shared")?;
    match c.text(0)? {
        "archiver" => statistics(c)?.archiving.reset(),
        target @ ("bgwriter" | "checkpointer" | "io" | "recovery_prefetch" | "slru" | "wal") => {
            return Err(PgError::not_supported(format!("pg_stat_reset_shared of \"{target}\", which is not counted,")))
        }
        other => {
            let message = format!("unrecognized reset target: \"{other}\"");
            return Err(PgError::new(SqlState::INVALID_PARAMETER_VALUE, message)
                .hint("Target must be \"archiver\", \"bgwriter\", \"checkpointer\", \"io\", \"recovery_prefetch\", \"slru\", or \"wal\"."));
        }
    }
    void()
}
fn log_place(c: &Call, function: &str) -> Result<Datum> {
    Ok(Datum::Text(pgsqlite_types::transaction_ids::lsn_text(server(c)?.log_place(function)?)))
}

pub(crate) const FUNCTIONS: &[(&str, Scalar)] = &[
    ("pg_stat_reset_shared", reset_shared),
    // (a commit is acknowledged when it is on disk: there is nothing between the three)
    ("pg_current_wal_lsn", |c| log_place(c, "pg_current_wal_lsn")),
    ("pg_current_wal_insert_lsn", |c| log_place(c, "pg_current_wal_insert_lsn")),
    ("pg_current_wal_flush_lsn", |c| log_place(c, "pg_current_wal_flush_lsn")),
    ("pg_stat_reset", reset_database),
    ("pg_notification_queue_usage", |c| Ok(Datum::Real(server(c)?.notification_usage()?))),
    ("pg_stat_reset_single_function_counters", reset_function),
    ("pg_stat_reset_slru", reset_slru),
    ("pg_stat_force_next_flush", flush_statistics),
    ("pg_stat_clear_snapshot", clear_snapshot),
    ("pg_stat_reset_single_table_counters", reset_table),
    ("pg_stat_statements_reset", reset_statements),
    ("pg_current_xact_id", transaction_id),
    ("pg_current_xact_id_if_assigned", assigned_transaction_id),
    ("pg_xact_status", transaction_status),
    ("pg_notify", notify),
    ("pg_blocking_pids", blocking_pids),
    ("pg_listening_channels", listening),
    ("pg_get_keywords", keywords),
    ("pg_options_to_table", options),
    ("pg_timezone_names", timezone_names),
    ("pg_timezone_abbrevs", timezone_abbreviations),
    ("pg_available_extensions", available_extensions),
    ("pg_available_extension_versions", available_extension_versions),
    ("xid_age", transaction_age),
    ("pg_postmaster_start_time", start_time),
    ("pg_reload_conf", |c| Ok(Datum::from(server(c)?.host().inspect(|host| host.reload()).is_some()))),
    ("pg_hba_file_rules", hba_file_rules),
    ("pg_ident_file_mappings", ident_file_mappings),
    ("pg_cancel_backend", cancel_backend),
    ("pg_terminate_backend", terminate_backend),
    ("pg_sleep", sleep),
    ("pg_advisory_lock_int8 pg_advisory_lock_int4", |c| take(c, false, false, true)),
    ("pg_advisory_lock_shared_int8 pg_advisory_lock_shared_int4", |c| take(c, true, false, true)),
    ("pg_advisory_xact_lock_int8 pg_advisory_xact_lock_int4", |c| take(c, false, true, true)),
    ("pg_advisory_xact_lock_shared_int8 pg_advisory_xact_lock_shared_int4", |c| take(c, true, true, true)),
    ("pg_try_advisory_lock_int8 pg_try_advisory_lock_int4", |c| take(c, false, false, false)),
    ("pg_try_advisory_lock_shared_int8 pg_try_advisory_lock_shared_int4", |c| take(c, true, false, false)),
    ("pg_try_advisory_xact_lock_int8 pg_try_advisory_xact_lock_int4", |c| take(c, false, true, false)),
    ("pg_try_advisory_xact_lock_shared_int8 pg_try_advisory_xact_lock_shared_int4", |c| take(c, true, true, false)),
    ("pg_advisory_unlock_int8 pg_advisory_unlock_int4", |c| give(c, false)),
    ("pg_advisory_unlock_shared_int8 pg_advisory_unlock_shared_int4", |c| give(c, true)),
    ("pg_advisory_unlock_all", give_all),
    ("inet_client_addr", |c| host(c.session.state().client_addr)),
    ("inet_server_addr", |c| host(c.session.state().server_addr)),
    ("inet_client_port", |c| port(c.session.state().client_addr)),
    ("inet_server_port", |c| port(c.session.state().server_addr)),
];
