//! What the page shows. Most of it are rows of the views that SQL has, read in a session of who asks: nobody sees more here than there.

use super::let_in::Entry;
use crate::answer::Answer;
use crate::shared::Shared;
use hyper::StatusCode;
use pgsqlite_engine::session::{Flow, OutputColumn, Row, RowSink, Session, SessionOptions};
use pgsqlite_natives::recovery::Recovery;
use pgsqlite_types::codec::Context;
use pgsqlite_types::{DatumRef, PgError, Result};
use serde_json::{json, Value};
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::Arc;

/// So many statements are looked at for what they use.
const STATEMENTS: usize = 100;

/// What somebody wants to see.
#[derive(Debug, Clone, Copy)]
pub enum What {
    /// what changes from second to second
    Live,
    /// tables and indexes
    Relations,
    /// the plan of a statement, by its number in pg_stat_statements
    Plan(i64),
}

const SESSIONS: &str = "SELECT pid, datname AS database, usename AS user, application_name AS application,
        host(client_addr) AS client, state, wait_event_type AS waits_for, wait_event AS event,
        extract(epoch FROM clock_timestamp() - backend_start)::float8 AS age,
        extract(epoch FROM clock_timestamp() - xact_start)::float8 AS transaction_age,
        extract(epoch FROM clock_timestamp() - CASE state WHEN 'active' THEN query_start ELSE state_change END)::float8 AS state_age,
        pg_blocking_pids(pid) AS blocked_by, left(query, 2000) AS query,
        coalesce((SELECT concat_ws(' ', i.phase, i.tuples_done, 'of about', i.tuples_total, 'rows')
                FROM pg_stat_progress_create_index i WHERE i.pid = a.pid),
            (SELECT format('%s rows, %s', c.tuples_processed, pg_size_pretty(c.bytes_processed))
                FROM pg_stat_progress_copy c WHERE c.pid = a.pid)) AS progress
    FROM pg_stat_activity a ORDER BY pid";

const STATEMENTS_BY_TIME: &str = "SELECT s.queryid::text, d.datname AS database, r.rolname AS user, s.calls, s.rows,
        s.total_exec_time AS total, s.mean_exec_time AS mean, s.max_exec_time AS max,
        s.total_exec_time / nullif(sum(s.total_exec_time) OVER (), 0) AS share, left(s.query, 2000) AS query
    FROM pg_stat_statements s LEFT JOIN pg_database d ON d.oid = s.dbid LEFT JOIN pg_roles r ON r.oid = s.userid
    ORDER BY s.total_exec_time DESC LIMIT 50";

const DATABASES: &str =
    "SELECT datname AS database, numbackends AS sessions, xact_commit AS commits, xact_rollback AS rollbacks,
        tup_returned AS returned, tup_inserted AS inserted, tup_updated AS updated, tup_deleted AS deleted,
        blks_read AS blocks_read, blks_hit AS blocks_hit
    FROM pg_stat_database WHERE datname IS NOT NULL ORDER BY datname";

const ARCHIVER: &str = "SELECT archived_count AS files, last_archived_time AS last, failed_count AS failures,
        last_failed_time AS last_failure FROM pg_stat_archiver";

const PREPARED: &str = "SELECT gid, owner, database, extract(epoch FROM clock_timestamp() - prepared)::float8 AS age
    FROM pg_prepared_xacts ORDER BY prepared";

const RELATIONS: &str = "SELECT c.oid::int8, n.nspname AS schema, c.relname AS name, c.relkind AS kind,
        CASE WHEN c.reltuples >= 0 THEN c.reltuples::int8 END AS rows, pg_relation_size(c.oid) AS bytes,
        greatest(s.last_analyze, s.last_autoanalyze) AS analyzed, t.relname AS table
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        LEFT JOIN pg_stat_user_tables s ON s.relid = c.oid
        LEFT JOIN pg_index i ON i.indexrelid = c.oid LEFT JOIN pg_class t ON t.oid = i.indrelid
    WHERE c.relkind IN ('r', 'm', 'i') AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg\\_%'
    ORDER BY 6 DESC, 2, 3";

/// Answers with what is wanted, as JSON.
pub async fn at(shared: &Arc<Shared>, entry: Entry, what: What) -> Answer {
    let (done, found) = tokio::sync::oneshot::channel();
    let own = shared.clone();
    // a task of its own: a session whose client goes away ends its statement all the same
    shared.spawn(async move {
        // (who asked may be gone)
        let _ = done.send(look(&own, &entry, what).await);
    });
    match found.await {
        Ok(Ok(value)) => Answer::new("application/json", value.to_string()),
        Ok(Err(error)) => Answer::told(StatusCode::FORBIDDEN, error.message()),
        Err(_) => Answer::told(StatusCode::INTERNAL_SERVER_ERROR, "the server could not look"),
    }
}

async fn look(shared: &Arc<Shared>, entry: &Entry, what: What) -> Result<Value> {
    let mut session = session(shared, entry, true)?;
    Ok(match what {
        What::Live => {
            let mut found = of_server(shared, entry);
            for (name, query) in [
                ("sessions", SESSIONS),
                ("statements", STATEMENTS_BY_TIME),
                ("databases", DATABASES),
                ("archiver", ARCHIVER),
                ("prepared", PREPARED),
            ] {
                found[name] = section(rows(&mut session, query).await);
            }
            found
        }
        What::Relations => {
            let found = section(rows(&mut session, RELATIONS).await);
            json!({ "relations": found, "uses": uses(shared, entry, &mut session).await? })
        }
        What::Plan(id) => {
            let mut planning = self::session(shared, entry, false)?;
            match text_of(&mut session, id).await? {
                None => json!({ "error": "the statement is not in pg_stat_statements any more" }),
                Some(query) => match explain(&mut planning, &query, "TEXT").await {
                    Ok(lines) => json!({ "query": query, "plan": lines.join("\n") }),
                    Err(error) => json!({ "query": query, "error": error.message() }),
                },
            }
        }
    })
}

/// A session of who asks, which is not counted. It reads only, and gives up what takes long. `own_names`: names mean the system's views,
/// whatever the database's objects are called; else what they mean to the role.
fn session(shared: &Arc<Shared>, entry: &Entry, own_names: bool) -> Result<Session> {
    let mut settings = vec![
        ("default_transaction_read_only", "on"),
        ("statement_timeout", "5s"),
        ("application_name", "pgsqlite status page"),
    ];
    if own_names {
        settings.push(("search_path", "pg_catalog"));
    }
    entry.engine.session(SessionOptions {
        user: entry.user.clone(),
        database: entry.database.clone(),
        settings: settings.into_iter().map(|(name, value)| (name.to_string(), value.to_string())).collect(),
        client_addr: Some(entry.address),
        server_settings: shared.settings.clone(),
        host: shared.host(),
        ..SessionOptions::default()
    })
}

/// One part of the page: an error in it leaves the others as they are.
fn section(found: Result<Value>) -> Value {
    found.unwrap_or_else(|error| json!({ "error": error.message() }))
}

/// The rows of a query, as an array of objects.
async fn rows(session: &mut Session, query: &str) -> Result<Value> {
    let sql = format!("SELECT coalesce(json_agg(q), '[]')::text FROM ({query}) AS q");
    let text = lines(session, &sql).await?.concat();
    serde_json::from_str(&text).map_err(|e| PgError::internal(format!("rows as JSON: {e}")))
}

/// The first column of a query's rows, which is text.
async fn lines(session: &mut Session, sql: &str) -> Result<Vec<String>> {
    let mut taken = Lines::default();
    let run = async {
        let mut script = session.script(sql)?;
        while session.execute_script(&mut script, &mut taken).await?.is_some() {}
        Ok(())
    };
    let result: Result<()> = run.await;
    // (the transaction ends in any case)
    let ended = session.sync().await;
    result.and(ended).map(|()| taken.0)
}

/// The text of a statement of this database, without its literals. None: there is none, or it is another role's.
async fn text_of(session: &mut Session, id: i64) -> Result<Option<String>> {
    let sql = format!(
        "SELECT query FROM pg_stat_statements s JOIN pg_database d ON d.oid = s.dbid \
         WHERE s.queryid = {id} AND d.datname = current_database() LIMIT 1"
    );
    Ok(lines(session, &sql).await?.pop())
}

/// The plan of a statement whose parameters have no values.
async fn explain(session: &mut Session, query: &str, format: &str) -> Result<Vec<String>> {
    let mut taken = Lines::default();
    let run = async {
        session.parse("", &format!("EXPLAIN (FORMAT {format}) {query}"), &[]).await?;
        let parameters = session.describe_statement("").await?.parameters.len();
        session.bind("", "", &[], &vec![None; parameters], &[]).await?;
        session.execute("", 0, &mut taken).await.map(drop)
    };
    let result = run.await;
    let ended = session.sync().await;
    result.and(ended).map(|()| taken.0)
}

/// How often tables and indexes were used, as far as the plans tell that the statements with the most time have now: by name, the calls
/// of the statements that use it.
async fn uses(shared: &Arc<Shared>, entry: &Entry, session: &mut Session) -> Result<Value> {
    let sql = format!(
        "SELECT s.query, s.calls FROM pg_stat_statements s JOIN pg_database d ON d.oid = s.dbid \
         WHERE d.datname = current_database() AND s.query ~* '^\\s*(select|insert|update|delete|with|merge|values)\\M' \
         ORDER BY s.total_exec_time DESC LIMIT {STATEMENTS}"
    );
    let found = match rows(session, &sql).await {
        Ok(found) => found,
        Err(error) => return Ok(json!({ "error": error.message() })),
    };
    let mut planning = self::session(shared, entry, false)?;
    let mut calls: BTreeMap<String, i64> = BTreeMap::new();
    let mut planned = 0;
    for statement in found.as_array().into_iter().flatten() {
        let (Some(query), Some(n)) = (statement["query"].as_str(), statement["calls"].as_i64()) else { continue };
        // a statement of tables that are gone has no plan
        let Ok(plan) = explain(&mut planning, query, "JSON").await else { continue };
        let Ok(plan) = serde_json::from_str::<Value>(&plan.join("\n")) else { continue };
        planned += 1;
        let mut names = Vec::new();
        named(&plan, &mut names);
        names.sort_unstable();
        names.dedup();
        for name in names {
            *calls.entry(name.to_string()).or_default() += n;
        }
    }
    Ok(json!({ "statements": planned, "calls": calls }))
}

/// The tables and indexes that a plan names.
fn named<'p>(plan: &'p Value, names: &mut Vec<&'p str>) {
    match plan {
        Value::Array(all) => all.iter().for_each(|one| named(one, names)),
        Value::Object(node) => {
            for (key, value) in node {
                match (key.as_str(), value) {
                    ("Relation Name" | "Index Name", Value::String(name)) => names.push(name),
                    _ => named(value, names),
                }
            }
        }
        _ => {}
    }
}

/// What no view has: the log, the archive of each database, the clones.
fn of_server(shared: &Arc<Shared>, entry: &Entry) -> Value {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |d| d.as_millis() as i64);
    let archives: Vec<Value> = shared
        .databases
        .statistics
        .databases()
        .iter()
        .filter_map(|(database, counters)| {
            let current = counters.archive_current.load(Ordering::Relaxed) as i64;
            let failed_at = counters.archive_failed_at.load(Ordering::Relaxed);
            let place = counters.archive_place.lock().flatten();
            let lag = place.map(|place| place.lsn.saturating_sub(counters.archive_lsn.load(Ordering::Relaxed)));
            (current > 0 || failed_at > 0).then(|| {
                json!({
                    "database": database,
                    "lag": (current > 0).then(|| (now - current).max(0) as f64 / 1000.0),
                    "lag_bytes": lag,
                    "files": counters.archived.load(Ordering::Relaxed),
                    "failures": counters.archive_failed.load(Ordering::Relaxed),
                    "last_failure": (failed_at > 0).then(|| (now - failed_at).max(0) as f64 / 1000.0),
                })
            })
        })
        .collect();
    let follows = |(database, recovery): (String, Arc<Recovery>)| {
        let at = recovery.followed_at.load(Ordering::Relaxed);
        json!({
            "database": database,
            "lag": (at > 0).then(|| (now - at).max(0) as f64 / 1000.0),
            "replayed": recovery.replayed.load(Ordering::Relaxed),
            "failures": recovery.failed.load(Ordering::Relaxed),
        })
    };
    let is_standby = shared.config.standby.is_some();
    let standby: Option<Vec<Value>> =
        is_standby.then(|| shared.databases.recoveries().into_iter().map(follows).collect());
    // (as pg_stat_replication shows them)
    let may_see = entry.engine.may_see_statistics(&entry.user);
    let senders = if may_see { shared.databases.statistics.senders.all() } else { vec![] };
    let senders: Vec<Value> = senders
        .iter()
        .map(|sender| {
            let sent = sender.progress();
            json!({
                "database": sender.database,
                "name": sender.application_name,
                "state": sent.phase.name(),
                "behind": sent.sent.saturating_sub(sent.replayed),
                "lag": sent.replay_lag.map(|micros| micros as f64 / 1e6),
            })
        })
        .collect();
    let clones: Vec<Value> = shared
        .databases
        .clones()
        .into_iter()
        .map(|clone| json!({ "name": clone.name, "original": clone.original, "bytes": clone.bytes }))
        .collect();
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "uptime": shared.started.elapsed().as_secs_f64(),
        "user": entry.user,
        "database": entry.database,
        "most_sessions": shared.config.max_connections,
        "names": shared.databases.names(),
        "log": log(&entry.engine, shared),
        "archives": archives,
        "standby": standby,
        "followed_by": senders,
        "clones": clones,
    })
}

fn log(engine: &pgsqlite_engine::engine::Engine, shared: &Shared) -> Value {
    let state = engine.log_state();
    json!({
        "file_bytes": state.file_bytes,
        "log_bytes": state.log_bytes,
        "frames": state.frames,
        "written_back": state.written_back,
        "page_bytes": state.page_bytes,
        "limit": shared.config.log_limit,
        "left_to_others": shared.config.checkpoints_left,
        "checkpoints": state.restarts,
        "oldest_reader": state.oldest_reader.map(|(pid, grown)| json!({ "pid": pid, "grown": grown })),
    })
}

/// Takes the texts of the first column.
#[derive(Default)]
struct Lines(Vec<String>);

impl RowSink for Lines {
    fn columns(&mut self, _: &Arc<[OutputColumn]>) -> Result<()> {
        Ok(())
    }
    fn row(&mut self, row: &dyn Row, _: &Context) -> Result<Flow> {
        if let DatumRef::Text(text) = row.value(0) {
            self.0.push(text.to_string());
        }
        Ok(Flow::Continue)
    }
}
