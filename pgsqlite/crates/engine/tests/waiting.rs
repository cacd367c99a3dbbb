//! What a session waits for, and what ends the wait: the writer slot, an advisory lock, a pooled connection, COPY's data, the client.

mod common;

use common::*;
use pgsqlite_engine::session::{Execution, Session};
use std::time::{Duration, Instant};

/// Cancels (or terminates) the session's statement once it has begun.
fn later(session: &Session, stop: impl FnOnce(&pgsqlite_engine::session::CancelHandle) + Send + 'static) {
    let handle = session.cancel_handle();
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(60));
        stop(&handle);
    });
}

async fn message(session: &mut Session, text: &str) -> String {
    match run(session, text).await {
        Ok(rows) => panic!("{text} gave {rows:?} instead of an error"),
        Err(e) => format!("{} {}", e.code().as_str(), e.message()),
    }
}

const TIMED_OUT: &str = "57014 canceling statement due to statement timeout";
const CANCELED: &str = "57014 canceling statement due to user request";

#[test]
fn a_wait_for_the_writer_ends_with_its_timeouts_and_requests() {
    let folder = Folder::new("wait-writer");
    runtime().block_on(async {
        let engine = open(&folder.file());
        let (mut a, mut b) = (session(&engine), session(&engine));
        ok(&mut a, "CREATE TABLE t (a int)").await;
        ok(&mut a, "BEGIN; INSERT INTO t VALUES (1)").await;

        ok(&mut b, "SET statement_timeout = '40ms'").await;
        assert_eq!(message(&mut b, "INSERT INTO t VALUES (2)").await, TIMED_OUT);
        ok(&mut b, "SET statement_timeout = 0; SET lock_timeout = '40ms'").await;
        assert_eq!(message(&mut b, "INSERT INTO t VALUES (2)").await, "55P03 canceling statement due to lock timeout");
        ok(&mut b, "RESET lock_timeout").await;
        later(&b, |h| h.cancel());
        assert_eq!(message(&mut b, "INSERT INTO t VALUES (2)").await, CANCELED);
        // the queue is in order after those who left it
        ok(&mut a, "COMMIT").await;
        ok(&mut b, "INSERT INTO t VALUES (3)").await;
        assert_eq!(ok(&mut b, "SELECT a FROM t ORDER BY a").await, ["1", "3"]);

        ok(&mut a, "BEGIN; LOCK TABLE t").await;
        later(&b, |h| h.terminate());
        assert_eq!(
            message(&mut b, "INSERT INTO t VALUES (2)").await,
            "57P01 terminating connection due to administrator command"
        );
    });
}

#[test]
fn a_transaction_ends_with_its_timeout() {
    const OVER: &str = "25P04 terminating connection due to transaction timeout";
    async fn falls_silent(session: &mut Session) -> String {
        let end = tokio::time::timeout(Duration::from_secs(5), async {
            loop {
                if let Err(e) = session.wait_event().await {
                    return format!("{} {}", e.code().as_str(), e.message());
                }
            }
        });
        end.await.expect("the session goes on")
    }
    let folder = Folder::new("wait-transaction");
    runtime().block_on(async {
        let engine = open(&folder.file());
        let limited = || async {
            let mut a = session(&engine);
            ok(&mut a, "SET transaction_timeout = '300ms'").await;
            a
        };
        // each statement outside of a block has its own
        let mut a = limited().await;
        for _ in 0..3 {
            ok(&mut a, "SELECT pg_sleep(0.15)").await;
        }
        assert_eq!(message(&mut a, "SELECT pg_sleep(5)").await, OVER);
        // those of a block, or of a query string, share it
        let mut a = limited().await;
        ok(&mut a, "BEGIN; SELECT pg_sleep(0.2)").await;
        assert_eq!(message(&mut a, "SELECT pg_sleep(0.2)").await, OVER);
        let mut a = limited().await;
        assert_eq!(message(&mut a, "SELECT pg_sleep(0.2); SELECT pg_sleep(0.2)").await, OVER);
        // nothing catches it
        let mut a = limited().await;
        let caught = "DO $$ BEGIN PERFORM pg_sleep(5); EXCEPTION WHEN others THEN NULL; END $$";
        assert_eq!(message(&mut a, caught).await, OVER);
        // a block whose client is silent, a failed one, one that got the limit itself
        for block in
            ["BEGIN", "BEGIN; SELECT 1/0", "SET transaction_timeout = 0; BEGIN; SET LOCAL transaction_timeout = 300"]
        {
            let mut a = limited().await;
            let _ = run(&mut a, block).await;
            assert_eq!(falls_silent(&mut a).await, OVER, "{block}");
        }
        // none: it has ended, or the limit is taken away
        for block in ["BEGIN; SELECT 1; COMMIT", "SELECT 1", "BEGIN; SET transaction_timeout = 0"] {
            let mut a = limited().await;
            ok(&mut a, block).await;
            let silent =
                tokio::time::timeout(Duration::from_millis(600), async { while a.wait_event().await.is_ok() {} });
            assert!(silent.await.is_err(), "{block}");
            ok(&mut a, "SELECT 1").await;
        }
    });
}

#[test]
fn a_request_between_statements_is_forgotten() {
    let folder = Folder::new("wait-idle");
    runtime().block_on(async {
        let engine = open(&folder.file());
        let mut a = session(&engine);
        a.cancel_handle().cancel();
        assert_eq!(ok(&mut a, "SELECT 1").await, ["1"]);
    });
}

#[test]
fn a_long_query_ends_with_its_timeout() {
    let folder = Folder::new("wait-query");
    runtime().block_on(async {
        let engine = open(&folder.file());
        let mut a = session(&engine);
        let long = "SELECT count(*) FROM generate_series(1, 100000) a, generate_series(1, 100000) b WHERE a + b = 0";
        ok(&mut a, "SET statement_timeout = '400ms'").await;
        let began = Instant::now();
        assert_eq!(message(&mut a, long).await, TIMED_OUT);
        assert!(began.elapsed() < Duration::from_secs(20));
        // each statement has its own time
        ok(&mut a, "SET statement_timeout = '10s'").await;
        later(&a, |h| h.cancel());
        assert_eq!(message(&mut a, long).await, CANCELED);
        assert_eq!(ok(&mut a, "SELECT 1").await, ["1"]);
    });
}

#[test]
fn a_wait_for_an_advisory_lock_ends_with_its_timeouts_and_requests() {
    let folder = Folder::new("wait-advisory");
    runtime().block_on(async {
        let engine = open(&folder.file());
        let (mut a, mut b) = (session(&engine), session(&engine));
        ok(&mut a, "SELECT pg_advisory_lock(7)").await;
        ok(&mut b, "SET statement_timeout = '40ms'").await;
        assert_eq!(message(&mut b, "SELECT pg_advisory_lock(7)").await, TIMED_OUT);
        ok(&mut b, "SET statement_timeout = 0; SET lock_timeout = '40ms'").await;
        assert_eq!(
            message(&mut b, "SELECT pg_advisory_lock(7)").await,
            "55P03 canceling statement due to lock timeout"
        );
        ok(&mut b, "RESET lock_timeout").await;
        later(&b, |h| h.cancel());
        assert_eq!(message(&mut b, "SELECT pg_advisory_lock(7)").await, CANCELED);
        ok(&mut a, "SELECT pg_advisory_unlock(7)").await;
        ok(&mut b, "SELECT pg_advisory_lock(7)").await;
    });
}

#[test]
fn the_pool_lends_as_many_connections_as_it_may() {
    let folder = Folder::new("wait-pool");
    runtime().block_on(async {
        let engine = open_with_pool(&folder.file(), 1, Duration::from_millis(60));
        let (mut a, mut b) = (session(&engine), session(&engine));
        ok(&mut a, "CREATE TABLE t (a int)").await;
        ok(&mut b, "SELECT * FROM t").await;
        // a transaction keeps its connection
        ok(&mut a, "BEGIN; INSERT INTO t VALUES (1)").await;
        assert_eq!(
            message(&mut b, "SELECT * FROM t").await,
            "53300 no connection of the pool became free within 0.06 seconds"
        );
        // a cursor does without a connection of its own
        ok(&mut a, "COMMIT; BEGIN; DECLARE c CURSOR FOR SELECT a FROM t; FETCH 1 FROM c; COMMIT").await;
        assert_eq!(ok(&mut b, "SELECT * FROM t").await, ["1"]);
        drop(a);
        assert_eq!(ok(&mut b, "SELECT * FROM t").await, ["1"]);
    });
}

#[test]
fn an_idle_session_is_ended_by_its_timeouts() {
    let folder = Folder::new("wait-client");
    runtime().block_on(async {
        let engine = open(&folder.file());
        let mut a = session(&engine);
        ok(&mut a, "SET idle_session_timeout = '40ms'; SET idle_in_transaction_session_timeout = '20ms'").await;
        let error = a.wait_event().await.unwrap_err();
        assert_eq!(error.code().as_str(), "57P05");
        assert_eq!(error.message(), "terminating connection due to idle-session timeout");
        ok(&mut a, "BEGIN").await;
        let error = a.wait_event().await.unwrap_err();
        assert_eq!(error.code().as_str(), "25P03");
        assert_eq!(error.message(), "terminating connection due to idle-in-transaction timeout");
        // without them it waits
        ok(&mut a, "ROLLBACK; RESET ALL").await;
        assert!(tokio::time::timeout(Duration::from_millis(80), a.wait_event()).await.is_err());
    });
}

#[test]
fn copy_ends_with_requests_while_it_waits_for_data() {
    let folder = Folder::new("wait-copy");
    runtime().block_on(async {
        let engine = open(&folder.file());
        let mut a = session(&engine);
        ok(&mut a, "CREATE TABLE t (a int)").await;
        let mut script = a.script("COPY t FROM STDIN").unwrap();
        let mut sink = Rows::default();
        let begun = a.execute_script(&mut script, &mut sink).await.unwrap();
        assert!(matches!(begun, Some(Execution::CopyIn { .. })));
        a.copy_in_data(b"1\n2\n").await.unwrap();
        a.cancel_handle().cancel();
        let error = a.copy_in_data(b"3\n").await.unwrap_err();
        assert_eq!(error.message(), "canceling statement due to user request");
        a.failed().await;
        a.sync().await.unwrap();
        assert_eq!(ok(&mut a, "SELECT count(*) FROM t").await, ["0"]);
        // a client that sends nothing does not keep it from ending
        ok(&mut a, "SET statement_timeout = '40ms'").await;
        let mut script = a.script("COPY t FROM STDIN").unwrap();
        a.execute_script(&mut script, &mut sink).await.unwrap();
        let error = a.copy_in_stopped().await;
        assert_eq!(error.message(), "canceling statement due to statement timeout");
        a.failed().await;
        a.sync().await.unwrap();
        ok(&mut a, "RESET statement_timeout").await;
        // a client that goes away in the middle leaves nothing behind
        let mut script = a.script("COPY t FROM STDIN").unwrap();
        a.execute_script(&mut script, &mut sink).await.unwrap();
        a.copy_in_data(b"1\n").await.unwrap();
        drop(a);
        let mut b = session(&engine);
        ok(&mut b, "INSERT INTO t VALUES (9)").await;
        assert_eq!(ok(&mut b, "SELECT a FROM t").await, ["9"]);
    });
}

#[test]
fn nobody_waits_for_a_session_that_reads_a_cursor() {
    let folder = Folder::new("wait-cursor");
    runtime().block_on(async {
        let engine = open(&folder.file());
        let (mut a, mut b) = (session(&engine), session(&engine));
        ok(&mut a, "CREATE TABLE t (a int); INSERT INTO t SELECT generate_series(1, 1000)").await;
        ok(&mut a, "BEGIN; DECLARE c CURSOR FOR SELECT a FROM t ORDER BY a; FETCH 1 FROM c").await;
        ok(&mut b, "DELETE FROM t WHERE a > 500").await;
        // the other's commit is seen by statements, and not by the cursor; writing after it is no conflict
        assert_eq!(ok(&mut a, "SELECT count(*) FROM t").await, ["500"]);
        ok(&mut a, "UPDATE t SET a = a + 1").await;
        assert_eq!(ok(&mut a, "FETCH ALL FROM c").await.len(), 999);
        ok(&mut a, "COMMIT").await;
        ok(&mut b, "DROP TABLE t").await;
    });
}

#[test]
fn a_block_goes_on_from_its_savepoint_after_an_interrupted_write() {
    let folder = Folder::new("wait-savepoint");
    runtime().block_on(async {
        let engine = open(&folder.file());
        let mut a = session(&engine);
        ok(&mut a, "CREATE TABLE t (a int)").await;
        ok(&mut a, "BEGIN; INSERT INTO t VALUES (1); SAVEPOINT s; SET statement_timeout = '400ms'").await;
        let long =
            "INSERT INTO t SELECT 1 FROM generate_series(1, 100000) a, generate_series(1, 100000) b WHERE a + b = 0";
        assert_eq!(message(&mut a, long).await, TIMED_OUT);
        assert_eq!(message(&mut a, "SELECT 1").await.split(' ').next(), Some("25P02"));
        // SQLite has rolled back all of it; nobody waits for the failed transaction
        let mut b = session(&engine);
        ok(&mut b, "INSERT INTO t VALUES (2)").await;
        ok(&mut a, "ROLLBACK TO s; INSERT INTO t VALUES (3)").await;
        assert_eq!(ok(&mut a, "SELECT a FROM t ORDER BY a").await, ["1", "2", "3"]);
        ok(&mut a, "COMMIT").await;
        assert_eq!(ok(&mut b, "SELECT a FROM t ORDER BY a").await, ["1", "2", "3"]);
        // what cannot be put aside is lost, and says so
        ok(&mut a, "BEGIN; CREATE TABLE u (); SAVEPOINT s; SET statement_timeout = '400ms'").await;
        assert_eq!(message(&mut a, long).await, TIMED_OUT);
        let error = run(&mut a, "ROLLBACK TO s").await.unwrap_err();
        assert_eq!(error.code().as_str(), "3B001");
        assert!(error.fields().detail.as_deref().is_some_and(|d| d.contains("interrupted")));
        ok(&mut a, "ROLLBACK").await;
    });
}
