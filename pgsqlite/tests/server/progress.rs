//! How far commands are that take long: pg_stat_progress_copy, pg_stat_progress_create_index, pg_stat_progress_vacuum, pg_stat_progress_analyze.

use crate::harness::*;
use std::time::{Duration, Instant};

/// Asks until there are rows, or the client has got its answer.
fn seen(watcher: &mut Client, sql: &str) -> Vec<Vec<String>> {
    let begun = Instant::now();
    loop {
        let rows = watcher.rows(sql);
        if !rows.is_empty() {
            return rows;
        }
        assert!(begun.elapsed() < PATIENCE, "{sql}: nothing is seen");
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn copy_tells_bytes_and_rows() {
    let folder = Folder::new();
    let server = Server::start(&folder, &["--in-memory"]);
    let (mut watcher, mut client) = (server.session(), server.session());
    client.rows("CREATE TABLE t (a int, b text)");
    client.send(&query("COPY t FROM STDIN"));
    while client.receive().0 != b'G' {}
    let lines: String = (0..20_000).map(|i| format!("{i}\tsome text\n")).collect();
    for piece in lines.as_bytes().chunks(8192) {
        client.send(&message(b'd', piece));
    }
    let sql = "SELECT relid::regclass, command, bytes_processed, tuples_processed FROM pg_stat_progress_copy WHERE bytes_processed = ";
    let rows = seen(&mut watcher, &format!("{sql}{}", lines.len()));
    assert_eq!((rows[0][0].as_str(), rows[0][1].as_str()), ("t", "COPY FROM"));
    let copied: i64 = rows[0][3].parse().unwrap();
    assert!(copied > 0 && copied <= 20_000, "{rows:?}");
    client.send(&message(b'c', b""));
    client.until_ready();
    assert_eq!(watcher.rows("SELECT * FROM pg_stat_progress_copy").len(), 0);
    // after an error nothing is left, either
    client.send(&query("COPY t FROM STDIN"));
    while client.receive().0 != b'G' {}
    seen(&mut watcher, "SELECT * FROM pg_stat_progress_copy");
    client.send(&[message(b'd', b"no number\tx\n"), message(b'c', b"")].concat());
    client.until_ready();
    assert_eq!(watcher.rows("SELECT * FROM pg_stat_progress_copy").len(), 0);
}

#[test]
fn an_index_that_is_built_tells_rows_that_only_grow() {
    let folder = Folder::new();
    let server = Server::start(&folder, &["--in-memory"]);
    let (mut watcher, mut client) = (server.session(), server.session());
    client.rows("CREATE TABLE t (a int, b text)");
    client.rows("INSERT INTO t SELECT n, md5(n::text) FROM generate_series(1, 300000) AS n");
    client.send(&query("CREATE INDEX i ON t (b)"));
    let sql = "SELECT relid::regclass, command, phase, tuples_done, tuples_total FROM pg_stat_progress_create_index";
    let mut last = seen(&mut watcher, sql).remove(0);
    let mut looks = 0;
    loop {
        let mut rows = watcher.rows(sql);
        if rows.is_empty() {
            break;
        }
        let row = rows.remove(0);
        assert_eq!((row[0].as_str(), row[1].as_str(), row[4].as_str()), ("t", "CREATE INDEX", "300000"));
        let (done, before): (i64, i64) = (row[3].parse().unwrap(), last[3].parse().unwrap());
        assert!(done <= 300_000 && (row[2] != last[2] || done >= before), "{last:?} then {row:?}");
        assert!(row[2].starts_with("building index: "), "{row:?}");
        looks += 1;
        last = row;
    }
    assert!(looks > 0);
    client.until_ready();
    // a role sees that others are at work, and not at what
    watcher.rows("CREATE ROLE curious LOGIN");
    client.send(&query("CREATE INDEX j ON t (b, a)"));
    let mut curious = server.connect();
    curious.send(&startup(&[("user", "curious"), ("database", "main")]));
    curious.until_ready();
    let rows = seen(&mut curious, "SELECT pid > 0, relid, phase FROM pg_stat_progress_create_index");
    assert_eq!(rows[0], ["t", "NULL", "NULL"]);
    client.until_ready();
}

#[test]
fn vacuum_analyze_and_reindex_are_seen() {
    let folder = Folder::new();
    let server = Server::start(&folder, &["--in-memory"]);
    let (mut watcher, mut client) = (server.session(), server.session());
    client.rows("CREATE TABLE t (a int PRIMARY KEY, b text)");
    client.rows("CREATE INDEX i ON t (b)");
    client.rows("INSERT INTO t SELECT n, md5(n::text) FROM generate_series(1, 300000) AS n");
    client.send(&query("VACUUM FULL"));
    let shown = "SELECT command, phase, heap_blks_total > 1000 FROM pg_stat_progress_cluster";
    assert_eq!(seen(&mut watcher, shown)[0], ["VACUUM FULL", "seq scanning heap", "t"]);
    client.until_ready();
    // (one of these may be over before anybody looks)
    let begun = Instant::now();
    let found = loop {
        client.send(&query("ANALYZE t"));
        let rows = watcher.rows("SELECT relid::regclass, phase FROM pg_stat_progress_analyze");
        client.until_ready();
        if let Some(found) = rows.into_iter().next() {
            break found;
        }
        assert!(begun.elapsed() < PATIENCE, "no ANALYZE is seen");
    };
    assert_eq!(found, ["t", "acquiring sample rows"]);
    client.send(&query("REINDEX TABLE t"));
    let rows = seen(&mut watcher, "SELECT relid::regclass, command, phase FROM pg_stat_progress_create_index");
    assert_eq!(rows[0], ["t", "REINDEX", "building index"]);
    client.until_ready();
    for view in ["copy", "create_index", "cluster", "vacuum", "analyze"] {
        assert_eq!(watcher.rows(&format!("SELECT * FROM pg_stat_progress_{view}")).len(), 0, "{view}");
    }
}
