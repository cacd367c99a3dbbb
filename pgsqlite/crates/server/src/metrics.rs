//! `--metrics-addr`: the server's statistics in Prometheus' text format, over HTTP at `/metrics`.
//!
//! The few lines of HTTP that a scraper needs are written here: a GET without a body, an answer, the end of the connection.

use crate::entrance::Entrance;
use crate::shared::{pause_after, Shared};
use pgsqlite_natives::statistics::activity::State;
use pgsqlite_natives::statistics::DatabaseCounters;
use pgsqlite_types::{PgError, Result, SqlState};
use std::fmt::Write;
use std::sync::atomic::Ordering;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// The longest request that is read.
const LONGEST: usize = 8192;
/// A scraper that does not ask or take its answer by then is given up.
const PATIENCE: Duration = Duration::from_secs(10);
/// Requests that are served at once: one more sends away the slowest.
const MOST: usize = 16;

/// Listens. Errors: 55006 and 58030 as for the server's other sockets.
pub async fn listen(address: &str) -> Result<TcpListener> {
    TcpListener::bind(address).await.map_err(|e| {
        let state =
            if e.kind() == std::io::ErrorKind::AddrInUse { SqlState::OBJECT_IN_USE } else { SqlState::IO_ERROR };
        PgError::new(state, format!("cannot listen on {address} for metrics: {e}"))
    })
}

/// Serves until the task is aborted.
pub async fn serve(listener: TcpListener, shared: Arc<Shared>) {
    let entrance = Arc::<Entrance>::default();
    loop {
        match listener.accept().await {
            Ok((stream, address)) => {
                let shared = shared.clone();
                let visitor = entrance.enter(Some(address), None, MOST);
                tokio::spawn(async move {
                    tokio::select! {
                        () = visitor.sent_away() => tracing::debug!("metrics: a client made room for another"),
                        answered = tokio::time::timeout(PATIENCE, answer(stream, &shared)) => match answered {
                            Ok(Ok(())) => {}
                            Ok(Err(e)) => tracing::debug!("metrics: {e}"),
                            Err(_) => tracing::debug!("metrics: a client was given up"),
                        }
                    }
                });
            }
            Err(e) => pause_after(e).await,
        }
    }
}

async fn answer(mut stream: TcpStream, shared: &Shared) -> std::io::Result<()> {
    let mut request = Vec::new();
    let whole = loop {
        if request.windows(4).any(|w| w == b"\r\n\r\n") {
            break true;
        }
        if request.len() > LONGEST {
            break false;
        }
        if stream.read_buf(&mut request).await? == 0 {
            return Ok(());
        }
    };
    let line = request.split(|b| *b == b'\r').next().unwrap_or_default();
    let mut words = line.split(|b| *b == b' ');
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let path = path.split(|b| *b == b'?').next().unwrap_or_default();
    let (status, kind, body) = match (whole, method, path) {
        (false, ..) => ("431 Request Header Fields Too Large", PLAIN, "too long\n".to_string()),
        (_, b"GET" | b"HEAD", b"/metrics") => ("200 OK", METRICS, text(shared)),
        (_, b"GET" | b"HEAD", b"/") => ("200 OK", PLAIN, "pgsqlite: see /metrics\n".to_string()),
        (_, b"GET" | b"HEAD", _) => ("404 Not Found", PLAIN, "only /metrics is here\n".to_string()),
        _ => ("405 Method Not Allowed", PLAIN, "only GET\n".to_string()),
    };
    let mut out = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    if method != b"HEAD" {
        out.push_str(&body);
    }
    stream.write_all(out.as_bytes()).await?;
    stream.shutdown().await
}

const PLAIN: &str = "text/plain; charset=utf-8";
const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";

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
