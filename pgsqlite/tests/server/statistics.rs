//! What is seen from outside: pg_stat_activity over all sessions, pg_stat_database, pg_stat_statements, slow statements in the log,
//! metrics.

use crate::harness::*;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// A session of this user and application.
fn session_of(server: &Server, user: &str, application: &str) -> Client {
    let mut client = server.connect();
    client.send(&startup(&[("user", user), ("database", "main"), ("application_name", application)]));
    client.until_ready();
    client
}

/// The values of a result of one column.
fn single(client: &mut Client, sql: impl AsRef<str>) -> Vec<String> {
    client.rows(sql.as_ref()).into_iter().map(|mut row| row.remove(0)).collect()
}

/// Asks until the answer is this one, for other sessions need their time.
fn eventually(client: &mut Client, sql: &str, wanted: &[&str]) {
    let begun = Instant::now();
    loop {
        let rows = single(client, sql);
        if rows == wanted {
            return;
        }
        assert!(begun.elapsed() < Duration::from_secs(20), "{sql}: {rows:?} instead of {wanted:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn activity_shows_all_sessions_and_what_they_do() {
    let folder = Folder::new();
    let server = Server::start(&folder, &["--in-memory"]);
    let mut watcher = session_of(&server, "postgres", "watcher");
    let mut idle = session_of(&server, "postgres", "idler");
    let mut holder = session_of(&server, "postgres", "holder");
    let mut waiter = session_of(&server, "postgres", "waiter");
    let mut failed = session_of(&server, "postgres", "failed");
    idle.rows("CREATE TABLE t (a int PRIMARY KEY)");
    holder.rows("BEGIN");
    holder.rows("INSERT INTO t VALUES (1)");
    waiter.send(&query("INSERT INTO t VALUES (1)"));
    failed.rows("BEGIN");
    failed.fails("SELECT 1/0");
    let what =
        |name: &str, columns: &str| format!("SELECT {columns} FROM pg_stat_activity WHERE application_name = '{name}'");
    let columns = "concat_ws(' ', state, wait_event_type, wait_event)";
    eventually(&mut watcher, &what("idler", columns), &["idle Client ClientRead"]);
    eventually(&mut watcher, &what("holder", columns), &["idle in transaction Client ClientRead"]);
    eventually(&mut watcher, &what("waiter", columns), &["active Lock transactionid"]);
    eventually(&mut watcher, &what("failed", columns), &["idle in transaction (aborted) Client ClientRead"]);
    eventually(&mut watcher, &what("watcher", "state"), &["active"]);
    assert_eq!(single(&mut watcher, what("waiter", "query")), ["INSERT INTO t VALUES (1)"]);
    assert_eq!(single(&mut watcher, what("idler", "query")), ["CREATE TABLE t (a int PRIMARY KEY)"]);
    let times = "backend_start <= query_start AND query_start <= state_change AND state_change <= clock_timestamp()";
    assert_eq!(single(&mut watcher, what("idler", times)), ["t"]);
    assert_eq!(single(&mut watcher, what("idler", "xact_start IS NULL")), ["t"]);
    assert_eq!(single(&mut watcher, what("holder", "xact_start <= query_start")), ["t"]);
    assert_eq!(
        single(&mut watcher, "SELECT pid = pg_backend_pid() FROM pg_stat_activity WHERE application_name = 'watcher'"),
        ["t"]
    );
    // the database's number and name are those of pg_database
    let joined =
        "SELECT count(*) FROM pg_stat_activity a JOIN pg_database d ON d.oid = a.datid AND d.datname = a.datname";
    assert_eq!(single(&mut watcher, joined), ["5"]);
    // the number is good for cancelling
    watcher.rows("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE application_name = 'waiter'");
    let messages = waiter.until_ready();
    assert_eq!(field(&messages.iter().find(|m| m.0 == b'E').unwrap().1, b'C'), "57014");
    eventually(&mut watcher, &what("waiter", columns), &["idle Client ClientRead"]);
    idle.rows("SET application_name = 'renamed'");
    eventually(&mut watcher, &what("renamed", "state"), &["idle"]);
    drop(idle);
    eventually(&mut watcher, &what("renamed", "state"), &[]);
}

#[test]
fn others_do_not_see_what_a_session_does() {
    let folder = Folder::new();
    let server = Server::start(&folder, &["--in-memory"]);
    let mut admin = session_of(&server, "postgres", "admin");
    admin.rows("CREATE ROLE curious LOGIN");
    admin.rows("CREATE ROLE monitor LOGIN");
    admin.rows("GRANT pg_read_all_stats TO monitor");
    admin.rows("SELECT 'secret'");
    let sql = "SELECT coalesce(state, 'hidden') || ' ' || query FROM pg_stat_activity WHERE application_name = 'admin'";
    let mut curious = session_of(&server, "curious", "curious");
    assert_eq!(single(&mut curious, sql), ["hidden <insufficient privilege>"]);
    let own = "SELECT state FROM pg_stat_activity WHERE application_name = 'curious'";
    assert_eq!(single(&mut curious, own), ["active"]);
    let statements = "SELECT count(*) FROM pg_stat_statements WHERE query LIKE '%secret%' OR query LIKE 'CREATE ROLE%'";
    assert_eq!(single(&mut curious, statements), ["0"]);
    for function in ["pg_stat_reset()", "pg_stat_statements_reset()"] {
        assert_eq!(curious.fails(&format!("SELECT {function}")), "42501");
    }
    let mut monitor = session_of(&server, "monitor", "monitor");
    assert_eq!(single(&mut monitor, sql), ["idle SELECT 'secret'"]);
}

#[test]
fn statements_are_counted_by_their_text_without_literals() {
    let folder = Folder::new();
    let server = Server::start(&folder, &["--in-memory"]);
    let mut client = session_of(&server, "postgres", "a");
    client.rows("CREATE TABLE t (a int PRIMARY KEY, b text)");
    client.rows("SELECT pg_stat_statements_reset()");
    client.rows("INSERT INTO t VALUES (1, 'x'), (2, 'y')");
    client.rows("INSERT INTO t VALUES (3, 'x'), (4, 'y')");
    for key in ["1", "2", "3"] {
        client.rows(&format!("SELECT b FROM t WHERE a = {key}"));
    }
    client.send(&[parse("s", "SELECT b FROM t WHERE a > $1"), sync()].concat());
    client.until_ready();
    let mut other = session_of(&server, "postgres", "b");
    for session in [&mut client, &mut other] {
        session
            .send(&[parse("", "SELECT b FROM t WHERE a > $1"), bind("", "", &["1"]), execute("", 0), sync()].concat());
        session.until_ready();
    }
    client.rows("PREPARE p(int) AS SELECT count(*) FROM t WHERE a <> $1");
    client.rows("EXECUTE p(5)");
    client.fails("SELECT a / 0 FROM t");
    let of = |query: &str| {
        format!("SELECT calls || ' ' || rows || ' ' || (min_exec_time <= mean_exec_time AND mean_exec_time <= max_exec_time \
          AND total_exec_time >= max_exec_time) FROM pg_stat_statements WHERE query = '{query}'")
    };
    assert_eq!(single(&mut other, of("INSERT INTO t VALUES ($1, $2), ($3, $4)")), ["2 4 true"]);
    assert_eq!(single(&mut other, of("SELECT b FROM t WHERE a = $1")), ["3 3 true"]);
    assert_eq!(single(&mut other, of("SELECT b FROM t WHERE a > $1")), ["2 6 true"]);
    assert_eq!(single(&mut other, of("PREPARE p(int) AS SELECT count(*) FROM t WHERE a <> $1")).len(), 1);
    // a statement that failed is not there
    assert_eq!(single(&mut other, "SELECT count(*) FROM pg_stat_statements WHERE query LIKE 'SELECT a /%'"), ["0"]);
    let id = "SELECT count(DISTINCT queryid) = count(*) AND min(userid) = 10 FROM pg_stat_statements";
    assert_eq!(single(&mut other, id), ["t"]);
    // the session's last statement has the same number in pg_stat_activity
    client.rows("SELECT b FROM t WHERE a = 4");
    let joined = "SELECT s.query FROM pg_stat_activity a JOIN pg_stat_statements s ON s.queryid = a.query_id \
                  WHERE a.application_name = 'a'";
    assert_eq!(single(&mut other, joined), ["SELECT b FROM t WHERE a = $1"]);
    other.rows("SELECT pg_stat_statements_reset()");
    assert_eq!(single(&mut other, of("SELECT b FROM t WHERE a = $1")), Vec::<String>::new());
    client.rows("SELECT b FROM t WHERE a = 1");
    assert_eq!(single(&mut other, of("SELECT b FROM t WHERE a = $1")), ["1 1 true"]);
    assert_eq!(other.fails("SELECT pg_stat_statements_reset(10, 0, 0)"), "0A000");
    // always there
    client.rows("CREATE EXTENSION IF NOT EXISTS pg_stat_statements");
    assert_eq!(client.fails("CREATE EXTENSION pg_stat_statements"), "42710");
}

#[test]
fn a_database_counts_what_was_done_in_it() {
    let folder = Folder::new();
    let data = folder.path("data");
    std::fs::create_dir(&data).unwrap();
    let server = Server::start(&folder, &["--data-dir", &data]);
    let mut first = server.session_in("postgres");
    first.rows("CREATE DATABASE one");
    let mut client = server.session_in("one");
    client.rows("CREATE TABLE t (a int)");
    client.rows("SELECT pg_stat_reset()");
    client.rows("INSERT INTO t SELECT generate_series(1, 10)");
    client.rows("UPDATE t SET a = a + 1 WHERE a > 5");
    client.rows("DELETE FROM t WHERE a < 3");
    client.rows("SELECT * FROM t");
    client.rows("BEGIN");
    client.rows("ROLLBACK");
    let counts = |database: &str| {
        format!(
            "SELECT concat_ws(' ', numbackends, xact_rollback, tup_inserted, tup_updated, tup_deleted, sessions) \
          FROM pg_stat_database WHERE datname = '{database}'"
        )
    };
    assert_eq!(single(&mut client, counts("one")), ["1 1 10 5 2 0"]);
    // seen from the other database it is the same
    assert_eq!(single(&mut first, counts("one")), ["1 1 10 5 2 0"]);
    let more = "SELECT xact_commit >= 4 AND tup_returned >= 8 AND session_time >= active_time AND stats_reset < now() \
                AND blks_hit > 0 AND blks_read >= 0 FROM pg_stat_database WHERE datname = 'one'";
    assert_eq!(single(&mut client, more), ["t"]);
    let activity = "SELECT datname FROM pg_stat_activity ORDER BY 1";
    assert_eq!(single(&mut first, activity), ["one", "postgres"]);
}

/// A server whose log goes into a file.
fn logging(folder: &Folder, flags: &[&str]) -> Server {
    let mut command = unix_only(folder, flags);
    command.stderr(Stdio::from(std::fs::File::create(folder.path("log")).unwrap()));
    Server::spawn(command, folder.0.join(".s.PGSQL.5432"), 5432)
}

#[test]
fn slow_statements_are_in_the_log() {
    let folder = Folder::new();
    let server = logging(&folder, &["--in-memory", "--log-min-duration-statement", "200"]);
    let mut client = session_of(&server, "postgres", "a");
    client.rows("CREATE TABLE t (a int PRIMARY KEY)");
    assert_eq!(single(&mut client, "SHOW log_min_duration_statement"), ["200ms"]);
    client.rows("SELECT 'quick'");
    client.rows("SELECT 'slow', pg_sleep(0.25)");
    client.send(
        &[parse("named", "SELECT 'by name', pg_sleep($1)"), bind("", "named", &["0.25"]), execute("", 0), sync()]
            .concat(),
    );
    client.until_ready();
    client.rows("SET log_min_duration_statement = -1");
    client.rows("SELECT 'not told', pg_sleep(0.25)");
    client.rows("SET auto_explain.log_min_duration = '100ms'");
    client.rows("SELECT pg_sleep(0.15), a FROM (VALUES (1)) v LEFT JOIN t ON t.a = 3");
    client.rows("SET auto_explain.log_min_duration = -1");
    client.rows("SET log_min_duration_statement = 0");
    client.rows("SELECT 'everything'");
    client.rows("SELECT 1");
    server.stop();
    let log = std::fs::read_to_string(folder.path("log")).unwrap();
    let line = |part: &str| log.lines().find(|l| l.contains(part)).unwrap_or_else(|| panic!("{part} in {log}"));
    assert!(line("SELECT 'slow'").contains("ms  statement: SELECT 'slow', pg_sleep(0.25)"), "{log}");
    assert!(line("SELECT 'slow'").contains("user=\"postgres\""), "{log}");
    assert!(line("'by name'").contains("ms  execute <unnamed>: SELECT 'by name', pg_sleep($1)"), "{log}");
    line("'everything'");
    for absent in ["'quick'", "'not told'"] {
        assert!(!log.contains(absent), "{absent} in {log}");
    }
    let took: f64 =
        line("SELECT 'slow'").split("duration: ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    assert!((250.0..5000.0).contains(&took), "{took}");
    let plan = log.split("  plan:\nQuery Text: SELECT pg_sleep(0.15)").nth(1).expect("a plan");
    assert!(plan.contains("t_pkey") && plan.lines().count() > 2, "{plan}");
    assert_eq!(log.matches("plan:").count(), 1);
}

/// An HTTP answer: status line and body.
fn get(address: &str, request: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let length = format!("content-length: {}", body.len());
    assert!(head.to_ascii_lowercase().contains(&length) || request.starts_with("HEAD"), "{head}");
    (head.lines().next().unwrap().to_string(), body.to_string())
}

/// A metric's value.
fn metric(text: &str, name: &str) -> f64 {
    let line = text.lines().find(|l| l.strip_prefix(name).is_some_and(|rest| rest.starts_with(' ')));
    line.unwrap_or_else(|| panic!("{name} in {text}")).rsplit(' ').next().unwrap().parse().unwrap()
}

#[test]
fn metrics_are_served_to_prometheus() {
    let folder = Folder::new();
    let address = format!("127.0.0.1:{}", free_port());
    let server = Server::start(&folder, &["--in-memory", "--metrics-addr", &address]);
    let mut client = session_of(&server, "postgres", "a");
    client.rows("CREATE TABLE t (a int)");
    client.rows("INSERT INTO t SELECT generate_series(1, 7)");
    client.rows("SELECT * FROM t");
    client.fails("SELECT 1/0");
    client.fails("SELECT 1/0");
    client.rows("BEGIN");
    let (status, text) = get(&address, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_eq!(status, "HTTP/1.1 200 OK");
    assert_eq!(metric(&text, "pgsqlite_sessions{database=\"main\",state=\"idle in transaction\"}"), 1.0);
    assert_eq!(metric(&text, "pgsqlite_rows_total{database=\"main\",operation=\"inserted\"}"), 7.0);
    assert_eq!(metric(&text, "pgsqlite_rows_total{database=\"main\",operation=\"returned\"}"), 7.0);
    assert_eq!(metric(&text, "pgsqlite_errors_total{sqlstate=\"22012\"}"), 2.0);
    assert_eq!(metric(&text, "pgsqlite_sessions_total{database=\"main\"}"), 1.0);
    let count = metric(&text, "pgsqlite_statement_duration_seconds_count");
    assert!(count >= 5.0, "{count}");
    assert_eq!(metric(&text, "pgsqlite_statement_duration_seconds_bucket{le=\"+Inf\"}"), count);
    // each name has one HELP and one TYPE, before its values
    let mut declared = std::collections::HashSet::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap();
            assert!(["counter", "gauge", "histogram"].contains(&kind), "{line}");
            assert!(declared.insert(name.to_string()), "{line}");
        } else if !line.starts_with('#') {
            let name = line.split(['{', ' ']).next().unwrap();
            let base = ["_bucket", "_sum", "_count"].iter().find_map(|s| name.strip_suffix(s));
            assert!(declared.contains(name) || base.is_some_and(|b| declared.contains(b)), "{line}");
        }
    }
    assert_eq!(get(&address, "GET /other HTTP/1.1\r\n\r\n").0, "HTTP/1.1 404 Not Found");
    assert_eq!(get(&address, "POST /metrics HTTP/1.1\r\n\r\n").0, "HTTP/1.1 405 Method Not Allowed");
    let head = get(&address, "HEAD /metrics HTTP/1.1\r\n\r\n");
    assert_eq!((head.0.as_str(), head.1.as_str()), ("HTTP/1.1 200 OK", ""));
    let long = format!("GET /metrics HTTP/1.1\r\nX: {}\r\n", "x".repeat(9000));
    assert_eq!(get(&address, &long).0, "HTTP/1.1 431 Request Header Fields Too Large");
    // clients that say nothing hold up nobody else
    let silent: Vec<TcpStream> = (0..8).map(|_| TcpStream::connect(&address).unwrap()).collect();
    assert_eq!(get(&address, "GET /metrics HTTP/1.0\r\n\r\n").0, "HTTP/1.0 200 OK");
    drop(silent);
    let second = Folder::new();
    let refusal = refused(unix_only(&second, &["--in-memory", "--metrics-addr", &address]));
    assert!(refusal.contains("metrics"), "{refusal}");
    server.stop();
}

#[test]
fn explain_analyze_tells_rows_and_times_that_were_measured() {
    let folder = Folder::new();
    let server = Server::start(&folder, &["--in-memory"]);
    let mut client = session_of(&server, "postgres", "a");
    client.rows("CREATE TABLE t (a int PRIMARY KEY)");
    client.rows("INSERT INTO t SELECT generate_series(1, 100)");
    // the first row comes after a tenth of a second, the last after three
    let sql = "EXPLAIN ANALYZE SELECT a, pg_sleep(0.1) FROM t WHERE a <= 3";
    let first = client.rows(sql)[0][0].clone();
    let times = first.split("(actual time=").nth(1).unwrap_or_else(|| panic!("{first}"));
    let (start, rest) = times.split_once("..").unwrap();
    let (total, rest) = rest.split_once(' ').unwrap();
    let (start, total): (f64, f64) = (start.parse().unwrap(), total.parse().unwrap());
    assert!(rest.starts_with("rows=3.00 loops=1)"), "{first}");
    assert!((100.0..290.0).contains(&start) && (300.0..5000.0).contains(&total), "{first}");
    let off = client.rows("EXPLAIN (ANALYZE, TIMING off) SELECT a FROM t WHERE a <= 3");
    assert!(off[0][0].ends_with("(actual rows=3.00 loops=1)"), "{off:?}");
    let changed = client.rows("EXPLAIN (ANALYZE, FORMAT json) UPDATE t SET a = a + 1000 WHERE a <= 4")[0][0].clone();
    for part in
        ["\"Actual Startup Time\": ", "\"Actual Total Time\": ", "\"Actual Rows\": 4.00", "\"Execution Time\": "]
    {
        assert!(changed.contains(part), "{part} in {changed}");
    }
    assert_eq!(single(&mut client, "SELECT count(*) FROM t WHERE a > 1000"), ["4"]);
}

/// The lines of a plan.
fn analyzed(client: &mut Client, sql: &str) -> Vec<String> {
    single(client, format!("EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off) {sql}"))
}

/// PostgreSQL says the same of each node (and beside it what the conditions are), where the plan is the same.
#[test]
fn explain_analyze_tells_what_each_node_gave() {
    let folder = Folder::new();
    let server = Server::start(&folder, &["--in-memory"]);
    let mut client = session_of(&server, "postgres", "a");
    client.rows("CREATE TABLE t (id int PRIMARY KEY, a int, b text)");
    client.rows("INSERT INTO t SELECT i, i % 10, 'text' || i FROM generate_series(1, 1000) AS i");
    client.rows("CREATE INDEX ta ON t (a)");
    client.rows("CREATE TABLE u (x int, y int)");
    client.rows("INSERT INTO u SELECT i, i % 10 FROM generate_series(1, 20) AS i");
    client.rows("CREATE TABLE child (id int REFERENCES t ON DELETE CASCADE)");
    let cases: &[(&str, &[&str])] = &[
        ("SELECT * FROM u WHERE y > 5", &["Seq Scan on u (actual rows=8.00 loops=1)", "  Rows Removed by Filter: 12"]),
        (
            "SELECT * FROM u WHERE y > 3 LIMIT 2",
            &[
                "Limit (actual rows=2.00 loops=1)",
                "  ->  Seq Scan on u (actual rows=2.00 loops=1)",
                "        Rows Removed by Filter: 3",
            ],
        ),
        // per loop, rounded
        (
            "SELECT * FROM u JOIN t ON t.id = u.x WHERE t.b LIKE '%1' AND u.y < 9",
            &[
                "Nested Loop (actual rows=2.00 loops=1)",
                "  ->  Seq Scan on u (actual rows=18.00 loops=1)",
                "        Rows Removed by Filter: 2",
                "  ->  Index Scan using t_pkey on t (actual rows=0.11 loops=18)",
                "        Index Cond: (rowid=?)",
                "        Rows Removed by Filter: 1",
            ],
        ),
        (
            "SELECT * FROM u JOIN t ON t.id = u.x WHERE u.y > 50",
            &[
                "Nested Loop (actual rows=0.00 loops=1)",
                "  ->  Seq Scan on u (actual rows=0.00 loops=1)",
                "        Rows Removed by Filter: 20",
                "  ->  Index Scan using t_pkey on t (never executed)",
                "        Index Cond: (rowid=?)",
            ],
        ),
        (
            "SELECT y, count(*) FROM u WHERE x > 5 GROUP BY y ORDER BY 2 LIMIT 3",
            &[
                "Limit (actual rows=3.00 loops=1)",
                "  ->  Sort (actual rows=3.00 loops=1)",
                "        ->  GroupAggregate (actual rows=10.00 loops=1)",
                "              ->  Sort (actual rows=15.00 loops=1)",
                "                    ->  Seq Scan on u (actual rows=15.00 loops=1)",
                "                          Rows Removed by Filter: 5",
            ],
        ),
        // how many rows OFFSET passes over is not counted, how many are sorted is
        (
            "SELECT * FROM u WHERE y > 2 ORDER BY y LIMIT 3 OFFSET 2",
            &[
                "Limit (actual rows=3.00 loops=1)",
                "  ->  Sort",
                "        ->  Seq Scan on u (actual rows=14.00 loops=1)",
                "              Rows Removed by Filter: 6",
            ],
        ),
        // what an aggregate gets, and what a LEFT JOIN finds, is not counted
        (
            "SELECT sum(x) FROM u WHERE y > 3",
            &["Aggregate (actual rows=1.00 loops=1)", "  ->  Seq Scan on u", "        Rows Visited: 20"],
        ),
        (
            "SELECT * FROM u LEFT JOIN t ON t.id = u.x AND t.b = ''",
            &[
                "Nested Loop Left Join (actual rows=20.00 loops=1)",
                "  ->  Seq Scan on u (actual rows=20.00 loops=1)",
                "  ->  Index Scan using t_pkey on t",
                "        Index Cond: (rowid=?)",
                "        Rows Visited: 20",
            ],
        ),
        (
            "SELECT * FROM u WHERE EXISTS (SELECT 1 FROM t WHERE t.id = u.x AND t.a = 2)",
            &[
                "Nested Loop Semi Join (actual rows=2.00 loops=1)",
                "  ->  Seq Scan on u (actual rows=20.00 loops=1)",
                "  ->  Index Only Scan using ta on t (actual rows=0.10 loops=20)",
                "        Index Cond: (a=? AND rowid=?)",
            ],
        ),
        // a DISTINCT that needs no sorting drops rows unseen
        (
            "SELECT DISTINCT a FROM t WHERE id > 20",
            &[
                "Unique (actual rows=10.00 loops=1)",
                "  ->  Index Only Scan using ta on t",
                "        Rows Visited: 1000",
            ],
        ),
        (
            "DELETE FROM t WHERE a = 3 AND b LIKE '%13'",
            &[
                "Delete on t (actual rows=0.00 loops=1)",
                "  ->  Index Scan using ta on t (actual rows=10.00 loops=1)",
                "        Index Cond: (a=?)",
                "        Rows Removed by Filter: 90",
            ],
        ),
    ];
    let inserted = [
        "Insert on u (actual rows=0.00 loops=1)",
        "  ->  Subquery Scan on t3 (actual rows=10.00 loops=1)",
        "        ->  GroupAggregate (actual rows=10.00 loops=1)",
        "              ->  Sort (actual rows=20.00 loops=1)",
        "                    ->  Seq Scan on u (actual rows=20.00 loops=1)",
    ];
    client.rows("BEGIN");
    assert_eq!(analyzed(&mut client, "INSERT INTO u SELECT y, count(*) FROM u GROUP BY y"), inserted);
    client.rows("ROLLBACK");
    for (sql, expected) in cases {
        let told = analyzed(&mut client, sql);
        let told: Vec<&str> = told.iter().map(String::as_str).filter(|l| !l.contains("Foreign Key")).collect();
        assert_eq!(&told[..expected.len().min(told.len())], *expected, "{sql}: {told:#?}");
    }
    // the same in a transaction, of a prepared statement, and with the statement cached before and after
    client.rows("PREPARE p (int) AS SELECT * FROM u WHERE y > $1");
    for _ in 0..2 {
        client.rows("EXECUTE p (7)");
        let expected = ["Seq Scan on u (actual rows=4.00 loops=1)", "  Rows Removed by Filter: 16"];
        client.rows("BEGIN");
        assert_eq!(analyzed(&mut client, "EXECUTE p (7)"), expected);
        client.rows("COMMIT");
        assert_eq!(analyzed(&mut client, "EXECUTE p (7)"), expected);
    }
    // one that fails leaves nothing behind
    assert_eq!(client.fails("EXPLAIN ANALYZE SELECT 1 / (y - 3) FROM u"), "22012");
    assert_eq!(client.value("SELECT count(*) FROM u WHERE y > 5"), "8");
    let json = client.value("EXPLAIN (ANALYZE, FORMAT json) SELECT * FROM u WHERE y > 5");
    assert!(json.contains("\"Actual Rows\": 8.00,") && json.contains("\"Rows Removed by Filter\": 12\n"), "{json}");
    let xml = client.value("EXPLAIN (ANALYZE, FORMAT xml) SELECT * FROM u WHERE y > 5");
    assert!(xml.contains("<Rows-Removed-by-Filter>12</Rows-Removed-by-Filter>"), "{xml}");
}
