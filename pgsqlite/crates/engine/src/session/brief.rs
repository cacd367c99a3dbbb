//! Queries that are soon over, among other tasks.
//!
//! A session is one task of many on a few threads (the server's `own_thread`). Whatever may take long is run with
//! `block_in_place`, which hands the thread's other tasks to another thread; for a query of some microseconds that costs more than
//! the query. How long a query takes is not known before, but for key look-ups. So one that nobody notices if it is run twice is
//! begun on the spot, with [`ALLOWED`] time. If that is not enough, SQLite is interrupted, the rows that the client has not seen
//! yet are taken back, and the query begins anew in `block_in_place`, as it then does at once the next times, until it is found to
//! be quick.

use super::plans::Prepared;
use super::portal::Portal;
use super::spool::Keep;
use super::{Execution, RowSink, Session};
use pgsqlite_sql::plan::QueryPlan;
use pgsqlite_types::Result;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// So long one task may keep the others of its thread waiting.
const ALLOWED: Duration = Duration::from_millis(2);

impl Session {
    /// Runs (or goes on with) a plan, with as little ado as it may take.
    pub(super) fn run_on_sqlite(
        &mut self,
        portal: &mut Portal,
        prepared: &Prepared,
        query: &QueryPlan,
        max_rows: u64,
        sink: &mut dyn RowSink,
    ) -> Result<Execution> {
        let may_be_brief = !query.bounded && query.repeatable && !self.own_thread && portal.is_new();
        // others wait for a transaction with members, a portal with a connection or rows of its own is a cursor's
        let plain = self.transaction.members.is_none() && !portal.reads_apart() && portal.spool.keep == Keep::Nothing;
        let begins = may_be_brief && plain && !prepared.lasts.load(Ordering::Relaxed);
        if let Some(mark) = sink.mark().filter(|_| begins) {
            self.connection()?.allow(Instant::now() + ALLOWED);
            let result = self.on_sqlite(portal, true, |session, portal| {
                session.run_plan(portal, query, prepared.epoch, max_rows, sink)
            });
            let interrupted = self.connection()?.disallow();
            if result.is_ok() || !interrupted {
                return result;
            }
            // nothing has happened
            sink.take_back(mark);
            portal.begin_anew();
            prepared.lasts.store(true, Ordering::Relaxed);
        }
        let began = may_be_brief.then(Instant::now);
        let result = self.on_sqlite(portal, query.bounded, |session, portal| {
            session.run_plan(portal, query, prepared.epoch, max_rows, sink)
        });
        if let (Some(began), Ok(Execution::Complete(_) | Execution::Suspended)) = (began, &result) {
            if began.elapsed() < ALLOWED / 2 {
                prepared.lasts.store(false, Ordering::Relaxed);
            }
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Engine;
    use crate::session::{EngineConfig, Flow, Location, OutputColumn, Row, SessionOptions};
    use pgsqlite_types::codec::Context;
    use pgsqlite_types::{DatumRef, PgError, SqlState};
    use std::sync::Arc;

    /// Whole numbers of the first column, as a client's buffer would have them.
    #[derive(Default)]
    struct Buffer {
        rows: Vec<i64>,
        taken_back: usize,
    }

    impl RowSink for Buffer {
        fn columns(&mut self, _: &Arc<[OutputColumn]>) -> Result<()> {
            Ok(())
        }
        fn row(&mut self, row: &dyn Row, _: &Context) -> Result<Flow> {
            match row.value(0) {
                DatumRef::Int(n) => self.rows.push(n),
                other => return Err(PgError::internal(format!("{other:?}"))),
            }
            Ok(Flow::Continue)
        }
        fn mark(&self) -> Option<usize> {
            Some(self.rows.len())
        }
        fn take_back(&mut self, mark: usize) {
            self.rows.truncate(mark);
            self.taken_back += 1;
        }
    }

    /// What came of a text: the rows, and how often rows were taken back; else the SQLSTATE.
    async fn run(session: &mut Session, text: &str) -> std::result::Result<(Vec<i64>, usize), SqlState> {
        let mut buffer = Buffer::default();
        let mut script = session.script(text).map_err(|e| e.code())?;
        let mut result = Ok(());
        loop {
            match session.execute_script(&mut script, &mut buffer).await {
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(e) => {
                    session.failed().await;
                    result = Err(e);
                    break;
                }
            }
        }
        session.sync().await.and(result).map(|()| (buffer.rows, buffer.taken_back)).map_err(|e| e.code())
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_long_query_begins_anew_and_its_rows_come_once() {
        let engine = Engine::open(EngineConfig::new(Location::Memory, "test")).expect("opens");
        let mut session =
            engine.session(SessionOptions { user: "postgres".into(), ..Default::default() }).expect("a session");
        session.set_own_thread(false);
        run(&mut session, "CREATE TABLE t (i int); INSERT INTO t SELECT generate_series(1, 1000)").await.expect("runs");
        let quick = "SELECT i FROM t WHERE i < 3 ORDER BY i";
        assert_eq!(run(&mut session, quick).await, Ok((vec![1, 2], 0)));
        // three rows at once, and then none for long
        let long = "SELECT i FROM t WHERE i <= 3 UNION ALL SELECT count(*) FROM t AS a, t AS b WHERE a.i + b.i > 0";
        let rows = vec![1, 2, 3, 1_000_000];
        assert_eq!(run(&mut session, long).await, Ok((rows.clone(), 1)));
        // from now on it is known
        assert_eq!(run(&mut session, long).await, Ok((rows.clone(), 0)));
        // a transaction and what it has written stay, and so does its error
        let within = "BEGIN; DELETE FROM t WHERE i = 3; \
            SELECT i FROM t WHERE i <= 3 UNION ALL SELECT count(*) FROM t AS a, t AS b WHERE a.i + b.i > 1; COMMIT";
        assert_eq!(run(&mut session, within).await, Ok((vec![1, 2, 998_001], 1)));
        let fails =
            "SELECT i FROM t WHERE i <= 3 UNION ALL SELECT sum(1 / (1001 - a.i - b.i / 1000)) FROM t AS a, t AS b";
        assert_eq!(run(&mut session, fails).await, Err(SqlState::DIVISION_BY_ZERO));
        // with an effect it is run once
        let counted =
            "CREATE SEQUENCE s; SELECT count(*) FROM (SELECT nextval('s') FROM t AS a, t AS b LIMIT 100000) AS n; \
            SELECT last_value FROM s";
        assert_eq!(run(&mut session, counted).await, Ok((vec![100_000, 100_000], 0)));
    }
}
