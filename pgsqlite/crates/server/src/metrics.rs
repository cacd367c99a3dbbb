//! `--metrics-addr`: the server's statistics in Prometheus' text format, at `/metrics`.

use crate::addresses::address_error;
use crate::answer::{Answer, PLAIN};
use crate::shared::Shared;
use hyper::StatusCode;
use pgsqlite_natives::statistics::activity::State;
use pgsqlite_natives::statistics::DatabaseCounters;
use pgsqlite_types::Result;
use std::fmt::Write;
use std::sync::atomic::Ordering;
use tokio::net::TcpListener;

const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Listens. Errors: 55006 and 58030 as for the server's other sockets.
pub async fn listen(address: &str) -> Result<TcpListener> {
    let failed = |e| address_error(format!("{address} for metrics"), e, "--metrics-addr HOST:PORT");
    TcpListener::bind(address).await.map_err(failed)
}

/// What there is at a path.
pub fn answer(shared: &Shared, path: &str) -> Answer {
    match path {
        "/metrics" => Answer::new(METRICS, text(shared)),
        "/" => Answer::new(PLAIN, "pgsqlite: see /metrics\n"),
        _ => Answer::told(StatusCode::NOT_FOUND, "only /metrics is here"),
    }
}

/// A label's value as the format wants it.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// Writes metrics with their help and type.
struct Page(String);

impl Page {
    fn head(&mut self, name: &str, kind: &str, help: &str) {
        // writing to a String does not fail
        let _ = write!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    fn value(&mut self, name: &str, labels: &[(&str, &str)], value: f64) {
        let labels: Vec<String> = labels.iter().map(|(n, v)| format!("{n}=\"{}\"", escaped(v))).collect();
        let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        let _ = writeln!(self.0, "{name}{labels} {value}");
    }
}

/// All metrics.
fn text(shared: &Shared) -> String {
    let statistics = &shared.databases.statistics;
    let mut page = Page(String::with_capacity(4096));
    page.head("pgsqlite_info", "gauge", "The server's version.");
    page.value("pgsqlite_info", &[("version", env!("CARGO_PKG_VERSION"))], 1.0);
    page.head("pgsqlite_uptime_seconds", "gauge", "Seconds since the server started.");
    page.value("pgsqlite_uptime_seconds", &[], shared.started.elapsed().as_secs_f64());
    page.head(
        "pgsqlite_memory_bytes",
        "gauge",
        "Bytes that are allocated, of all sessions and caches (--memory-limit counts these).",
    );
    page.value("pgsqlite_memory_bytes", &[], pgsqlite_memory::total() as f64);
    page.head("pgsqlite_memory_peak_bytes", "gauge", "The most of these bytes since the server started.");
    page.value("pgsqlite_memory_peak_bytes", &[], pgsqlite_memory::peak() as f64);
    page.head("pgsqlite_memory_limit_bytes", "gauge", "The limit of these bytes.");
    page.value("pgsqlite_memory_limit_bytes", &[], pgsqlite_memory::limit() as f64);

    let sessions = statistics.sessions();
    page.head("pgsqlite_sessions", "gauge", "Sessions by database and state.");
    let databases = statistics.databases();
    for (database, _) in &databases {
        for state in State::ALL {
            let count = sessions.iter().filter(|s| s.database == *database && s.live().state == state).count();
            page.value("pgsqlite_sessions", &[("database", database), ("state", state.name())], count as f64);
        }
    }
    page.head("pgsqlite_sessions_max", "gauge", "Most sessions at once (max_connections).");
    page.value("pgsqlite_sessions_max", &[], shared.config.max_connections as f64);
    page.head("pgsqlite_unauthenticated", "gauge", "Clients that have not been let in yet.");
    page.value("pgsqlite_unauthenticated", &[], shared.entrance.len() as f64);
    page.head("pgsqlite_sessions_waiting", "gauge", "Sessions that wait, by what for.");
    for wait in [
        pgsqlite_natives::statistics::activity::Wait::Writer,
        pgsqlite_natives::statistics::activity::Wait::Sync,
        pgsqlite_natives::statistics::activity::Wait::Pool,
    ] {
        let count = sessions.iter().filter(|s| s.wait() == wait).count();
        let name = wait.event().map_or("", |(_, event)| event);
        page.value("pgsqlite_sessions_waiting", &[("event", name)], count as f64);
    }

    type Read = fn(&DatabaseCounters) -> u64;
    let counters: [(&str, &str, &[(&str, Read)]); 4] = [
        ("pgsqlite_sessions_total", "Sessions that came.", &[("", |c| c.sessions.load(Ordering::Relaxed))]),
        ("pgsqlite_statements_total", "Statements that ended.", &[("", |c| c.statements.load(Ordering::Relaxed))]),
        (
            "pgsqlite_transactions_total",
            "Transactions that ended, by how.",
            &[("commit", |c| c.commits.load(Ordering::Relaxed)), ("rollback", |c| c.rollbacks.load(Ordering::Relaxed))],
        ),
        (
            "pgsqlite_rows_total",
            "Rows by what was done with them.",
            &[
                ("returned", |c| c.rows_returned.load(Ordering::Relaxed)),
                ("inserted", |c| c.rows_inserted.load(Ordering::Relaxed)),
                ("updated", |c| c.rows_updated.load(Ordering::Relaxed)),
                ("deleted", |c| c.rows_deleted.load(Ordering::Relaxed)),
            ],
        ),
    ];
    for (name, help, kinds) in counters {
        page.head(name, "counter", help);
        let label = if name.contains("rows") { "operation" } else { "result" };
        for (database, counters) in &databases {
            for (kind, read) in kinds {
                let mut labels = vec![("database", database.as_str())];
                if !kind.is_empty() {
                    labels.push((label, kind));
                }
                page.value(name, &labels, read(counters) as f64);
            }
        }
    }

    let archived: Vec<_> = databases.iter().filter(|(_, c)| c.archive_current.load(Ordering::Relaxed) > 0).collect();
    if !archived.is_empty() || shared.config.archive.is_some() {
        let name = "pgsqlite_archive_current_timestamp_seconds";
        page.head(name, "gauge", "What was committed by this time (Unix) is in the archive.");
        let seconds = |milliseconds: i64| milliseconds as f64 / 1000.0;
        let current = |counters: &DatabaseCounters| counters.archive_current.load(Ordering::Relaxed) as i64;
        for (database, counters) in &archived {
            page.value(name, &[("database", database)], seconds(current(counters)));
        }
        let name = "pgsqlite_archive_lag_seconds";
        page.head(name, "gauge", "The age of that time: what was committed since may not be in the archive.");
        let now =
            std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |d| d.as_millis() as i64);
        for (database, counters) in &archived {
            page.value(name, &[("database", database)], seconds((now - current(counters)).max(0)));
        }
        let name = "pgsqlite_archive_lag_bytes";
        page.head(name, "gauge", "Bytes of the write-ahead log that have been read and are not in the archive yet.");
        for (database, counters) in &databases {
            if let Some(place) = counters.archive_place.lock().flatten() {
                let lag = place.lsn.saturating_sub(counters.archive_lsn.load(Ordering::Relaxed));
                page.value(name, &[("database", database)], lag as f64);
            }
        }
        let name = "pgsqlite_archive_last_error_timestamp_seconds";
        page.head(name, "gauge", "When an attempt to write to the archive failed last (Unix).");
        for (database, counters) in &databases {
            let at = counters.archive_failed_at.load(Ordering::Relaxed);
            if at > 0 {
                page.value(name, &[("database", database)], seconds(at));
            }
        }
        let counters: [(&str, &str, Read); 2] = [
            ("pgsqlite_archive_files_total", "Files written to the archive.", |c| c.archived.load(Ordering::Relaxed)),
            ("pgsqlite_archive_errors_total", "Failed attempts to write to it.", |c| {
                c.archive_failed.load(Ordering::Relaxed)
            }),
        ];
        for (name, help, read) in counters {
            page.head(name, "counter", help);
            for (database, counters) in &databases {
                page.value(name, &[("database", database)], read(counters) as f64);
            }
        }
    }

    let recoveries = shared.databases.recoveries();
    if shared.config.standby.is_some() {
        page.head("pgsqlite_in_recovery", "gauge", "1: the server is a standby; 0: it was promoted.");
        page.value("pgsqlite_in_recovery", &[], if recoveries.is_empty() { 0.0 } else { 1.0 });
        let name = "pgsqlite_standby_replayed_bytes";
        page.head(name, "gauge", "The place in the primary's log up to which all changes are applied.");
        for (database, recovery) in &recoveries {
            page.value(name, &[("database", database)], recovery.replayed.load(Ordering::Relaxed) as f64);
        }
        let name = "pgsqlite_standby_current_timestamp_seconds";
        page.head(name, "gauge", "What the archive had at this time (Unix) is applied.");
        for (database, recovery) in &recoveries {
            let at = recovery.followed_at.load(Ordering::Relaxed);
            if at > 0 {
                page.value(name, &[("database", database)], at as f64 / 1000.0);
            }
        }
        let name = "pgsqlite_standby_errors_total";
        page.head(name, "counter", "Failed attempts to read the archive or to apply a change.");
        for (database, recovery) in &recoveries {
            page.value(name, &[("database", database)], recovery.failed.load(Ordering::Relaxed) as f64);
        }
    }

    if let Some((epoch, leads)) = shared.databases.lease() {
        let name = "pgsqlite_lease_epoch";
        page.head(name, "gauge", "The number of the lease's holder, as it was seen last: one more with each failover.");
        page.value(name, &[], epoch as f64);
        let name = "pgsqlite_lease_held";
        page.head(name, "gauge", "1: the server has the lease, and is the primary.");
        page.value(name, &[], if leads { 1.0 } else { 0.0 });
    }

    if let Some(node) = shared.config.lease.as_ref().and_then(|lease| lease.cluster.as_ref()).map(|node| node.status())
    {
        let gauges = [
            (
                "pgsqlite_cluster_has_leader",
                "1: this node knows of a leader of the cluster.",
                node.leader.is_some() as u64,
            ),
            (
                "pgsqlite_cluster_failed",
                "1: this node cannot use its memory (a full disk), and tries again.",
                node.failed.is_some() as u64,
            ),
            ("pgsqlite_cluster_term", "Raft's term: one more with each election.", node.term),
            (
                "pgsqlite_cluster_applied",
                "The number of the last entry of the cluster's log that this node has applied.",
                node.applied,
            ),
        ];
        for (name, help, value) in gauges {
            page.head(name, "gauge", help);
            page.value(name, &[], value as f64);
        }
    }

    if shared.config.max_wal_senders > 0 {
        let senders = statistics.senders.all();
        type Sent = fn(&pgsqlite_natives::statistics::senders::Sent) -> Option<f64>;
        let gauges: [(&str, &str, Sent); 3] = [
            ("pgsqlite_replication_sent_bytes", "The place in the log up to which a standby was sent all.", |s| {
                Some(s.sent as f64)
            }),
            ("pgsqlite_replication_replayed_bytes", "The place up to which a standby shows all.", |s| {
                Some(s.replayed as f64)
            }),
            (
                "pgsqlite_replication_replay_lag_seconds",
                "How long a standby took to show what it was sent last; none: it has all.",
                |s| s.replay_lag.map(|micros| micros as f64 / 1e6),
            ),
        ];
        for (name, help, read) in gauges {
            page.head(name, "gauge", help);
            for sender in &senders {
                let pid = sender.pid.to_string();
                let labels = [
                    ("database", sender.database.as_str()),
                    ("application_name", sender.application_name.as_str()),
                    ("pid", pid.as_str()),
                ];
                if let Some(value) = read(&sender.progress()) {
                    page.value(name, &labels, value);
                }
            }
        }
    }

    page.head("pgsqlite_errors_total", "counter", "Errors that clients were told, by SQLSTATE.");
    for (state, count) in statistics.errors() {
        page.value("pgsqlite_errors_total", &[("sqlstate", &state)], count as f64);
    }

    let name = "pgsqlite_statement_duration_seconds";
    page.head(name, "histogram", "How long statements took, without waiting for the client or for the commit's sync.");
    let (buckets, count, sum) = statistics.durations.cumulative();
    for (bound, count) in buckets {
        page.value(&format!("{name}_bucket"), &[("le", &bound.to_string())], count as f64);
    }
    page.value(&format!("{name}_bucket"), &[("le", "+Inf")], count as f64);
    page.value(&format!("{name}_sum"), &[], sum);
    page.value(&format!("{name}_count"), &[], count as f64);
    page.0
}
