//! pg_stat_activity, pg_stat_database, pg_stat_statements: the server's statistics as rows.
//!
//! What this server does not count (blocks, WAL, temporary files) is NULL, not 0.

use super::cluster::known_databases;
use super::{int, text, Rows};
use pgsqlite_natives::statistics::activity::State;
use pgsqlite_natives::statistics::functions::FunctionCounts;
use pgsqlite_natives::statistics::slru::NAMES;
use pgsqlite_natives::statistics::Statistics;
use pgsqlite_natives::udf::session_cell::{ServerFunctions, SessionState};
use pgsqlite_sql::acl;
use pgsqlite_types::datetime::Timestamp;
use pgsqlite_types::work;
use pgsqlite_types::{Datum, Oid};
use std::sync::atomic::Ordering;
use std::sync::Arc;

pub(super) fn statistics(state: &SessionState) -> Option<Arc<Statistics>> {
    state.server.as_ref().and_then(|s| s.statistics())
}

fn time(micros: i64) -> Datum {
    text(Timestamp(micros).to_storage())
}

pub(super) fn optional_time(micros: Option<i64>) -> Datum {
    micros.map_or(Datum::Null, time)
}

/// Whether the session may see what this user does: its own, or with pg_read_all_stats.
pub(super) fn may_see(state: &SessionState, user: Oid) -> bool {
    let catalog = &state.catalog;
    acl::is_superuser(catalog, state.user_oid)
        || catalog.roles.is_empty()
        || acl::member_of(catalog, state.user_oid, user)
        || acl::inherits(catalog, state.user_oid, "pg_read_all_stats")
}

pub(super) fn activity(rows: &mut Rows, state: &SessionState) {
    let Some(statistics) = statistics(state) else { return };
    let numbers = known_databases(state);
    for session in statistics.sessions() {
        work::visit();
        // (a WAL sender is in no database, as PostgreSQL sees it)
        let database = numbers.iter().find(|d| d.name == session.database).filter(|_| !session.replicates());
        let shown = database.map_or(&*session.database, |d| &*d.shown);
        let mut row = vec![
            ("datid", database.map(|d| d.number).into()),
            ("datname", (!session.replicates()).then(|| shown.to_string()).into()),
            ("pid", int(session.pid)),
            ("usesysid", int(session.user_oid)),
            ("usename", text(&*session.user)),
        ];
        let live = session.live();
        row.push(("application_name", text(&*live.application_name)));
        row.push(("backend_type", text(if session.replicates() { "walsender" } else { "client backend" })));
        if !may_see(state, session.user_oid) {
            row.push(("query", text("<insufficient privilege>")));
            // who it is may be seen, what it does not
            row.retain(|(name, _)| !matches!(*name, "backend_type"));
            rows.push(&row);
            continue;
        }
        row.extend([
            ("client_addr", session.client.map(|a| a.ip().to_string()).into()),
            // as PostgreSQL has it for Unix sockets
            ("client_port", int(session.client.map_or(-1, |a| i64::from(a.port())))),
            ("backend_start", time(session.started)),
        ]);
        if live.hidden {
            row.extend([("state", text("disabled")), ("query", text(""))]);
            rows.push(&row);
            continue;
        }
        let wait = match live.state {
            State::Active if session.replicates() => Some(("Activity", "WalSenderMain")),
            State::Active => session.wait().event(),
            _ => Some(("Client", "ClientRead")),
        };
        row.extend([
            ("xact_start", optional_time(live.transaction_start)),
            ("query_start", optional_time(live.query_start)),
            ("state_change", time(live.state_change)),
            ("wait_event_type", wait.map(|w| w.0.to_string()).into()),
            ("wait_event", wait.map(|w| w.1.to_string()).into()),
            ("state", text(live.state.name())),
            ("query_id", live.query_id.into()),
            ("query", text(&*live.query)),
        ]);
        rows.push(&row);
    }
}

/// The archives of all databases together: a file's name begins with its database's.
pub(super) fn archiver(rows: &mut Rows, state: &SessionState) {
    let Some(statistics) = statistics(state) else { return };
    let shown = statistics.archiving.shown();
    let file = |of: &Option<(String, i64)>| of.as_ref().map_or(Datum::Null, |(file, _)| text(&**file));
    let when = |of: &Option<(String, i64)>| optional_time(of.as_ref().map(|(_, when)| *when));
    rows.push(&[
        ("archived_count", int(shown.count)),
        ("last_archived_wal", file(&shown.last)),
        ("last_archived_time", when(&shown.last)),
        ("failed_count", int(shown.failed)),
        ("last_failed_wal", file(&shown.last_failed)),
        ("last_failed_time", when(&shown.last_failed)),
        ("stats_reset", time(shown.reset)),
    ]);
}

/// pg_stat_user_functions: the functions of which calls were counted.
pub(super) fn user_functions(rows: &mut Rows, state: &SessionState) {
    functions(rows, state, |server, function| server.function_counts(function));
}

/// pg_stat_xact_user_functions: those that the running transaction has called.
pub(super) fn user_functions_in_transaction(rows: &mut Rows, state: &SessionState) {
    functions(rows, state, |server, function| server.own_function_counts(function));
}

fn functions(
    rows: &mut Rows,
    state: &SessionState,
    counts: impl Fn(&dyn ServerFunctions, Oid) -> Option<FunctionCounts>,
) {
    let Some(server) = &state.server else { return };
    for routine in state.catalog.routines.values() {
        work::visit();
        let function = &routine.function;
        let Some(counts) = counts(&**server, function.oid) else { continue };
        let ms = |time: std::time::Duration| Datum::Real(time.as_secs_f64() * 1000.0);
        rows.push(&[
            ("funcid", int(function.oid)),
            ("schemaname", text(state.catalog.schema_name(function.schema))),
            ("funcname", text(&*function.name)),
            ("calls", int(counts.calls)),
            ("total_time", ms(counts.total)),
            ("self_time", ms(counts.own)),
        ]);
    }
}

/// pg_stat_slru: of what PostgreSQL keeps in simple caches there is the queue of notifications alone; nothing of it is read or written.
pub(super) fn slrus(rows: &mut Rows, state: &SessionState) {
    let Some(shown) = state.server.as_ref().and_then(|server| server.slrus()) else { return };
    for (name, cache) in NAMES.iter().zip(shown) {
        work::visit();
        let mut row =
            vec![("name", text(*name)), ("blks_zeroed", int(cache.pages_begun)), ("stats_reset", time(cache.reset))];
        let others = ["blks_hit", "blks_read", "blks_written", "blks_exists", "flushes", "truncates"];
        row.extend(others.map(|column| (column, int(0))));
        rows.push(&row);
    }
}

/// pg_stat_ssl: of others' sessions only who may see what they do learns anything.
pub(super) fn ssl(rows: &mut Rows, state: &SessionState) {
    for session in statistics(state).iter().flat_map(|s| s.sessions()) {
        work::visit();
        if !may_see(state, session.user_oid) {
            continue;
        }
        let mut row = vec![("pid", int(session.pid)), ("ssl", session.encryption.is_some().into())];
        if let Some(encryption) = &session.encryption {
            let optional = |value: &Option<String>| value.as_deref().map_or(Datum::Null, text);
            row.extend([
                ("version", text(&*encryption.version)),
                ("cipher", text(&*encryption.cipher)),
                ("bits", int(encryption.bits)),
                ("client_dn", optional(&encryption.client)),
                ("client_serial", optional(&encryption.client_serial)),
                ("issuer_dn", optional(&encryption.issuer)),
            ]);
        }
        rows.push(&row);
    }
}

/// pg_stat_bgwriter and pg_stat_wal: a row of what is not counted.
pub(super) fn uncounted(rows: &mut Rows) {
    rows.push(&[]);
}

/// pg_stat_recovery_prefetch: nothing is read before it is needed.
pub(super) fn prefetch(rows: &mut Rows) {
    let counters: Vec<&'static str> = rows.column_names().filter(|c| *c != "stats_reset").collect();
    rows.push(&counters.into_iter().map(|column| (column, int(0))).collect::<Vec<_>>());
}

/// pg_stat_database_conflicts: what a standby had to end is not counted.
pub(super) fn conflicts(rows: &mut Rows, state: &SessionState) {
    for database in known_databases(state) {
        work::visit();
        rows.push(&[("datid", Datum::Int(database.number)), ("datname", text(&*database.shown))]);
    }
}

/// GSSAPI is not offered: no session uses it.
pub(super) fn gssapi(rows: &mut Rows, state: &SessionState) {
    for session in statistics(state).iter().flat_map(|s| s.sessions()) {
        work::visit();
        if !may_see(state, session.user_oid) {
            continue;
        }
        rows.push(&[("pid", int(session.pid)), ("gss_authenticated", false.into()), ("encrypted", false.into())]);
    }
}

pub(super) fn stat_database(rows: &mut Rows, state: &SessionState) {
    let Some(statistics) = statistics(state) else { return };
    let sessions = statistics.sessions();
    for database in known_databases(state) {
        work::visit();
        let counters = statistics.database(&database.name);
        counters.gather_pages();
        let count = |c: &std::sync::atomic::AtomicU64| Datum::Int(c.load(Ordering::Relaxed) as i64);
        let ms = |c: &std::sync::atomic::AtomicU64| Datum::Real(c.load(Ordering::Relaxed) as f64 / 1000.0);
        let reset = counters.reset.load(Ordering::Relaxed);
        rows.push(&[
            ("datid", Datum::Int(database.number)),
            ("datname", text(&*database.shown)),
            (
                "numbackends",
                int(sessions.iter().filter(|s| s.database == database.name && !s.replicates()).count() as i64),
            ),
            ("xact_commit", count(&counters.commits)),
            ("xact_rollback", count(&counters.rollbacks)),
            ("blks_read", count(&counters.blocks_read)),
            ("blks_hit", count(&counters.blocks_hit)),
            ("tup_returned", count(&counters.rows_returned)),
            ("tup_inserted", count(&counters.rows_inserted)),
            ("tup_updated", count(&counters.rows_updated)),
            ("tup_deleted", count(&counters.rows_deleted)),
            ("session_time", ms(&counters.session_time)),
            ("active_time", ms(&counters.active_time)),
            ("idle_in_transaction_time", ms(&counters.idle_in_transaction_time)),
            ("sessions", count(&counters.sessions)),
            ("sessions_killed", count(&counters.sessions_killed)),
            ("stats_reset", optional_time((reset != 0).then_some(reset))),
        ]);
    }
}

pub(super) fn stat_statements(rows: &mut Rows, state: &SessionState) {
    let Some(statistics) = statistics(state) else { return };
    let numbers = known_databases(state);
    for entry in statistics.statements.all() {
        work::visit();
        let counts = entry.counts();
        let database = numbers.iter().find(|d| *d.name == *entry.database);
        let visible = may_see(state, entry.user);
        rows.push(&[
            ("userid", int(entry.user)),
            ("dbid", database.map(|d| d.number).into()),
            ("toplevel", true.into()),
            ("queryid", if visible { Datum::Int(entry.query_id) } else { Datum::Null }),
            ("query", text(if visible { &*entry.query } else { "<insufficient privilege>" })),
            // planning is not tracked, as by default in PostgreSQL
            ("plans", int(0i64)),
            ("total_plan_time", Datum::Real(0.0)),
            ("min_plan_time", Datum::Real(0.0)),
            ("max_plan_time", Datum::Real(0.0)),
            ("mean_plan_time", Datum::Real(0.0)),
            ("stddev_plan_time", Datum::Real(0.0)),
            ("calls", Datum::Int(counts.calls as i64)),
            ("total_exec_time", Datum::Real(counts.total)),
            ("min_exec_time", Datum::Real(counts.min)),
            ("max_exec_time", Datum::Real(counts.max)),
            ("mean_exec_time", Datum::Real(counts.mean)),
            ("stddev_exec_time", Datum::Real(counts.deviation())),
            ("rows", Datum::Int(counts.rows as i64)),
        ]);
    }
}
