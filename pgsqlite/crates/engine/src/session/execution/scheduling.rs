//! Queries that are soon over, among other tasks.
//!
//! How long a query takes is not known before. Each is begun among the session's thread's other tasks, which are handed over when
//! it lasts ([`crate::session::execution::work`]). From then on the query hands them over at once, until it is found to be quick.

use crate::plans::Prepared;
use crate::session::execution::portal::Portal;
use crate::session::execution::work::{Begins, ALLOWED};
use crate::session::executor::Executor;
use crate::session::{Execution, RowSink};
use pgsqlite_sql::plan::QueryPlan;
use pgsqlite_types::Result;
use std::sync::atomic::Ordering;
use std::time::Instant;

impl Executor {
    /// Runs (or goes on with) a plan, with as little ado as it may take.
    pub(in crate::session) fn run_on_sqlite(
        &mut self,
        portal: &mut Portal,
        prepared: &Prepared,
        query: &QueryPlan,
        max_rows: u64,
        sink: &mut dyn RowSink,
    ) -> Result<Execution> {
        let lasts = !query.touches_few_rows && (query.writes || prepared.lasts.load(Ordering::Relaxed));
        let begins = match self.context.begins_here() {
            Begins::Here if lasts => Begins::Apart,
            other => other,
        };
        let began = (begins == Begins::Apart && !query.writes && portal.is_new()).then(Instant::now);
        let reads_long = lasts && !query.writes;
        if reads_long {
            if let Some(connection) = portal.connection_of(self) {
                connection.widen();
            }
        }
        let (result, handed_over) = self.on_sqlite_noting(portal, begins, |session, portal| {
            session.run_plan(portal, query, prepared.epoch, max_rows, sink)
        });
        if reads_long && !matches!(result, Ok(Execution::Paused)) {
            if let Some(connection) = portal.connection_of(self) {
                connection.narrow();
            }
        }
        if handed_over && !query.touches_few_rows {
            prepared.lasts.store(true, Ordering::Relaxed);
        } else if began.is_some_and(|began| began.elapsed() < ALLOWED / 2) {
            prepared.lasts.store(false, Ordering::Relaxed);
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Engine;
    use crate::session::tests::numbers;
    use crate::session::{EngineConfig, Location, SessionOptions};
    use std::sync::atomic::AtomicUsize;
    use std::sync::Arc;
    use std::time::Duration;

    /// One thread of the runtime: what does not hand the other tasks over keeps them waiting.
    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn whatever_lasts_hands_the_other_tasks_over_and_is_run_once() {
        let engine = Engine::open(EngineConfig::new(Location::Memory, "test")).expect("opens");
        let session =
            || engine.session(SessionOptions { user: "postgres".into(), ..Default::default() }).expect("a session");
        let long = [
            // SQLite itself
            ("SELECT count(*) FROM t AS a, t AS b WHERE a.i + b.i > 0", Some(1_000_000)),
            // functions, in the midst of one row
            ("SELECT length(repeat('ab', 30000000))", Some(60_000_000)),
            ("SELECT length(replace(repeat('ab', 3000000), 'a', 'xyz'))", Some(12_000_000)),
            ("SELECT count(*) FROM t WHERE i = 1 AND repeat('ab', 14) ~ '(.*)(.*)(.*)(.*)\\4\\3\\2\\1x'", Some(0)),
            // a short write, by its plan
            ("INSERT INTO w VALUES (length(lpad('x', 50000000, 'ab')))", None),
            ("SELECT count(*) FROM (SELECT nextval('s') FROM t AS a, t AS b LIMIT 100000) AS n", Some(100_000)),
            ("CREATE TABLE x AS SELECT a.i FROM t AS a, t AS b LIMIT 200000", None),
        ];
        let mut first = session();
        numbers(
            &mut first,
            "CREATE TABLE t (i int); INSERT INTO t SELECT generate_series(1, 1000); CREATE TABLE w (n int); \
             CREATE SEQUENCE s",
        )
        .await
        .expect("runs");
        let beats = Arc::new(AtomicUsize::new(0));
        let beating = beats.clone();
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(Duration::from_millis(1)).await;
                beating.fetch_add(1, Ordering::Relaxed);
            }
        });
        // what a thread of its own finds time for: on a machine that has no processor to spare it is as little
        let thread_beats = Arc::new(AtomicUsize::new(0));
        let beating = Arc::downgrade(&thread_beats);
        std::thread::spawn(move || {
            while let Some(beats) = beating.upgrade() {
                std::thread::sleep(Duration::from_millis(1));
                beats.fetch_add(1, Ordering::Relaxed);
            }
        });
        for (text, expected) in long {
            let mut seen = Vec::new();
            // (what keeps the others waiting does so each time; a busy machine gives the runtime's thread no time now and then)
            let mut handed_over = async || {
                numbers(&mut first, "DROP TABLE IF EXISTS x; SELECT setval('s', 1, false)").await.expect("runs");
                let mut session = session();
                session.set_own_thread(false);
                let (before, began) = (beats.load(Ordering::Relaxed), Instant::now());
                let thread_before = thread_beats.load(Ordering::Relaxed);
                // a task of its own, so that it runs on the runtime's thread
                let ran = tokio::spawn(async move { numbers(&mut session, text).await });
                let rows = ran.await.expect("no panic").expect(text);
                assert_eq!(rows.first().copied(), expected, "{text}");
                let (beaten, took) = (beats.load(Ordering::Relaxed) - before, began.elapsed());
                let possible = thread_beats.load(Ordering::Relaxed) - thread_before;
                if text.contains("nextval") {
                    let last = numbers(&mut first, "SELECT last_value FROM s").await.expect("runs");
                    assert_eq!(last, [100_000], "side effects come once");
                }
                (possible < 40 || beaten > 2, format!("{beaten} beats of {possible} in {took:?}"))
            };
            for _ in 0..5 {
                let (handed_over, how) = handed_over().await;
                seen.push(how);
                if handed_over {
                    break;
                }
            }
            assert!(seen.len() < 5, "{text}: {}", seen.join(", "));
        }
    }
}
