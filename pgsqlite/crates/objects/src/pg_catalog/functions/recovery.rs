//! Functions of a standby: how far it has come, and what becomes of it (PostgreSQL's manual, "Recovery Control Functions").

use pgsqlite_natives::recovery::Recovery;
use pgsqlite_natives::udf::shim::{Call, Scalar};
use pgsqlite_types::datetime::{Timestamp, UNIX_EPOCH_MICROS};
use pgsqlite_types::error::Severity;
use pgsqlite_types::transaction_ids::lsn_text;
use pgsqlite_types::{Datum, PgError, Result, SqlState};
use std::sync::atomic::Ordering;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Between two looks at whether something has happened.
const PAUSE: Duration = Duration::from_millis(20);

/// How far the database has come, if its server was started as a standby.
fn known(c: &Call) -> Result<Option<Arc<Recovery>>> {
    Ok(c.session.server()?.recovery())
}

/// Errors: 42501 for who is no superuser, 55000 on a primary.
fn control(c: &Call, function: &str) -> Result<Arc<Recovery>> {
    let state = c.session.state();
    if !pgsqlite_sql::acl::is_superuser(&state.catalog, state.user_oid) && !state.catalog.roles.is_empty() {
        let message = format!("permission denied for function {function}");
        return Err(PgError::new(SqlState::INSUFFICIENT_PRIVILEGE, message));
    }
    drop(state);
    in_progress(c)
}

/// Errors: 55000 on a primary.
fn in_progress(c: &Call) -> Result<Arc<Recovery>> {
    known(c)?.filter(|recovery| recovery.standby.recovers()).ok_or_else(|| {
        PgError::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, "recovery is not in progress")
            .hint("Recovery control functions can only be executed during recovery.")
    })
}

fn is_in_recovery(c: &Call) -> Result<Datum> {
    Ok(known(c)?.is_some_and(|recovery| recovery.standby.recovers()).into())
}

/// A place in the log; 0: none is known.
fn place(lsn: u64) -> Datum {
    match lsn {
        0 => Datum::Null,
        lsn => Datum::Text(lsn_text(lsn)),
    }
}

fn last_replayed(c: &Call) -> Result<Datum> {
    Ok(place(known(c)?.map_or(0, |recovery| recovery.replayed.load(Ordering::Acquire))))
}

/// NULL where changes come from an archive.
fn last_received(c: &Call) -> Result<Datum> {
    Ok(place(known(c)?.map_or(0, |recovery| recovery.received.load(Ordering::Acquire))))
}

fn last_replay_time(c: &Call) -> Result<Datum> {
    Ok(match known(c)?.map_or(0, |recovery| recovery.replayed_at.load(Ordering::Acquire)) {
        0 => Datum::Null,
        milliseconds => Datum::Text(Timestamp(milliseconds * 1000 - UNIX_EPOCH_MICROS).to_storage()),
    })
}

fn pause(c: &Call, function: &str, pauses: bool) -> Result<Datum> {
    let recovery = control(c, function)?;
    if recovery.standby.is_promoted() {
        let message = "standby promotion is ongoing";
        return Err(PgError::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
            .hint(format!("{function}() cannot be executed after promotion is triggered.")));
    }
    recovery.standby.pause(pauses);
    Ok(Datum::Text(String::new()))
}

fn is_paused(c: &Call) -> Result<Datum> {
    Ok(in_progress(c)?.standby.pauses().into())
}

fn pause_state(c: &Call) -> Result<Datum> {
    let recovery = in_progress(c)?;
    Ok(match (recovery.standby.pauses(), recovery.is_paused.load(Ordering::Acquire)) {
        (false, _) => "not paused",
        (true, false) => "pause requested",
        (true, true) => "paused",
    }
    .into())
}

/// `pg_promote(wait, wait_seconds)`.
fn promote(c: &Call) -> Result<Datum> {
    let recovery = control(c, "pg_promote")?;
    let (waits, seconds) = (c.int(0)? != 0, c.int(1)?);
    if seconds <= 0 {
        return Err(PgError::new(
            SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
            "\"wait_seconds\" must not be negative or zero",
        ));
    }
    if recovery.standby.is_by_lease() {
        return Err(PgError::not_supported("pg_promote() where a lease decides which server is the primary")
            .hint("Stop the primary: it gives its lease away."));
    }
    recovery.standby.promote();
    if !waits {
        return Ok(true.into());
    }
    let (server, began) = (c.session.server()?, Instant::now());
    while recovery.standby.recovers() {
        pgsqlite_types::work::visit();
        if began.elapsed() >= Duration::from_secs(seconds as u64) {
            let message = match seconds {
                1 => "server did not promote within 1 second".to_string(),
                n => format!("server did not promote within {n} seconds"),
            };
            c.session.notice(PgError::new(SqlState::WARNING, message).severity(Severity::Warning));
            return Ok(false.into());
        }
        server.sleep(PAUSE)?;
    }
    Ok(true.into())
}

pub(crate) const FUNCTIONS: &[(&str, Scalar)] = &[
    ("pg_is_in_recovery", is_in_recovery),
    ("pg_last_wal_replay_lsn", last_replayed),
    ("pg_last_wal_receive_lsn", last_received),
    ("pg_last_xact_replay_timestamp", last_replay_time),
    ("pg_wal_replay_pause", |c| pause(c, "pg_wal_replay_pause", true)),
    ("pg_wal_replay_resume", |c| pause(c, "pg_wal_replay_resume", false)),
    ("pg_is_wal_replay_paused", is_paused),
    ("pg_get_wal_replay_pause_state", pause_state),
    ("pg_promote", promote),
];
