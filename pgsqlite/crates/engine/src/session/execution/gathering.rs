//! Groups that several connections make at once ([`pgsqlite_sql::plan::Gather`]).
//!
//! The connection that runs the plan and some of the pool read one snapshot. Each groups the rows of a range of rowids, in a thread of its
//! own; then the groups are put together in the order of the rows, so that "the first of equal values" stays what it is. If anything is in
//! the way (no connection to spare, an index that serves the query better, groups that need files), the plan runs as it does without.

use crate::connection::{Connection, Step};
use crate::requests::CancelHandle;
use crate::session::context::SessionContext;
use crate::session::execution::portal::Portal;
use crate::session::execution::unshared::Unshared;
use crate::session::executor::Executor;
use pgsqlite_natives::udf::groups::Groups;
use pgsqlite_sql::plan::{Gather, QueryPlan};
use pgsqlite_types::{Datum, DatumRef, PgError, Result};
use std::sync::LazyLock;

/// Fewer rows than this are not divided.
const LEAST: i64 = 20_000;

impl SessionContext {
    /// How many connections may help with a query: what the setting allows, and as many as there are other processors.
    pub(in crate::session) fn helpers(&self) -> usize {
        let allowed = self.gucs.get("max_parallel_workers_per_gather").and_then(|n| n.parse().ok()).unwrap_or(0);
        // (asking reads files)
        static PROCESSORS: LazyLock<usize> =
            LazyLock::new(|| std::thread::available_parallelism().map_or(1, usize::from));
        allowed.min(*PROCESSORS - 1)
    }

    /// Whether the session sees what other connections do not, or its transaction notes what it reads.
    fn has_changes(&self) -> bool {
        let t = &self.transaction;
        t.is_writer() || t.watched().is_some() || t.branch().is_some() || t.catalog().is_some() || self.has_temporary()
    }

    /// Whether a plan is to be run on a connection whose snapshot stays while its groups are gathered.
    pub(in crate::session) fn gathers(&self, plan: &QueryPlan) -> bool {
        plan.gather.is_some() && self.helpers() > 0
    }
}

/// A connection that helps, and goes back to the pool however its work ends.
struct Helper<'a> {
    context: &'a SessionContext,
    connection: Option<Connection>,
}

impl Drop for Helper<'_> {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take() {
            self.context.give_back_reader(connection);
        }
    }
}

impl Executor {
    /// How many connections would help with a plan if it were run now; None: its groups are not gathered.
    pub(in crate::session) fn would_gather(&mut self, plan: &QueryPlan) -> Result<Option<usize>> {
        let helpers = self.context.helpers();
        let Some(gather) = plan.gather.as_ref().filter(|_| helpers > 0 && !self.context.has_changes()) else {
            return Ok(None);
        };
        Ok(is_scanned(self.connection()?, gather)?.then_some(helpers))
    }

    /// Makes the groups of a plan, if several connections can. Returns whether `gather.sql` is to be run, on the portal's connection. An
    /// error of a part is no error of the plan, which may never come by it (LIMIT 0): one connection runs the plan then, and meets the error
    /// where it does. Errors: those of requests.
    pub(in crate::session) fn gather(&mut self, portal: &mut Portal, gather: &Gather) -> Result<bool> {
        self.try_gather(portal, gather).or_else(|_| self.context.cancel.check().map(|()| false))
    }

    fn try_gather(&mut self, portal: &mut Portal, gather: &Gather) -> Result<bool> {
        let helpers = self.context.helpers();
        let shares_snapshot = portal.own.is_some() || !self.context.has_changes();
        let Some(connection) = portal.own.as_mut().or(self.connection.as_mut()) else { return Ok(false) };
        let alone = helpers == 0 || portal.undivided || !shares_snapshot || connection.is_autocommit();
        if alone || !is_scanned(connection, gather)? {
            return Ok(false);
        }
        let Some((first, last)) = row_numbers(connection, &gather.table)? else { return Ok(false) };
        let mut helping = Vec::new();
        while helping.len() < helpers && last.saturating_sub(first) / (helping.len() as i64 + 1) >= LEAST {
            let Some(connection) = self.context.connection_apart()? else { break };
            helping.push(Helper { context: &self.context, connection: Some(connection) });
        }
        if helping.is_empty() {
            return Ok(false);
        }
        for helper in &helping {
            let Some(own) = &helper.connection else { continue };
            let same = own.reads_snapshot_of(connection)?
                || matches!(own.take_snapshot_of(connection), Ok(true))
                    && own.is_reading()
                    && own.reads_snapshot_of(connection)?;
            if !same {
                return Ok(false);
            }
        }
        let parts = ranges(first, last, helping.len() + 1);
        let made = in_parts(&self.context.cancel, connection, &mut helping, gather, &parts, &portal.parameters);
        let told: Vec<PgError> =
            helping.iter().flat_map(|h| &h.connection).flat_map(|c| c.cell.take_notices()).collect();
        drop(helping);
        self.context.notices.extend(told);
        let made = made?;
        let mut whole: Option<Groups> = None;
        for groups in made {
            if !groups.is_whole() {
                return Ok(false);
            }
            match &mut whole {
                Some(whole) => whole.append(groups)?,
                None => whole = Some(groups),
            }
        }
        let Some(connection) = portal.own.as_ref().or(self.connection.as_ref()) else { return Ok(false) };
        if let (None, Some(plan)) = (&whole, &gather.one_group) {
            whole = Some(Groups::of_no_rows(plan, &connection.cell)?);
        }
        connection.cell.groups.gather(whole);
        Ok(true)
    }
}

/// Whether SQLite would read the table from its beginning to its end, outermost of all, and finds parts of it by their numbers.
fn is_scanned(connection: &Connection, gather: &Gather) -> Result<bool> {
    let first = |condition: &str| -> Result<String> {
        let sql = format!("EXPLAIN QUERY PLAN {}", gather.part(condition));
        let db = connection.rusqlite();
        let found =
            db.prepare(&sql).and_then(|mut s| s.raw_query().next()?.map_or(Ok(String::new()), |row| row.get(3)));
        found.map_err(|_| connection.error())
    };
    let alias = &gather.alias;
    Ok(first("1")? == format!("SCAN {alias}")
        && first(&condition(alias, (1, 2)))?
            == format!("SEARCH {alias} USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"))
}

fn condition(alias: &str, (from, to): (i64, i64)) -> String {
    format!("{alias}.rowid BETWEEN {from} AND {to}")
}

/// The least and the greatest number of a row; None: there are no rows.
fn row_numbers(connection: &Connection, table: &str) -> Result<Option<(i64, i64)>> {
    let sql = format!("SELECT (SELECT min(rowid) FROM {table}), (SELECT max(rowid) FROM {table})");
    let found: (Option<i64>, Option<i64>) = connection
        .rusqlite()
        .query_row(&sql, [], |row| Ok((row.get(0)?, row.get(1)?)))
        .map_err(|_| connection.error())?;
    Ok(found.0.zip(found.1))
}

/// The numbers of rows in so many parts.
fn ranges(first: i64, last: i64, parts: usize) -> Vec<(i64, i64)> {
    let (all, parts) = (i128::from(last) - i128::from(first) + 1, parts as i128);
    let at = |i: i128| i128::from(first) + all * i / parts;
    (0..parts).map(|i| (at(i) as i64, (at(i + 1) - 1) as i64)).collect()
}

/// Makes the groups of each part; those of no rows are left out. The calling thread makes those of the first.
fn in_parts(
    cancel: &CancelHandle,
    connection: &mut Connection,
    helping: &mut [Helper<'_>],
    gather: &Gather,
    parts: &[(i64, i64)],
    parameters: &[Datum],
) -> Result<Vec<Groups>> {
    let of_helpers: Vec<&mut Connection> = helping.iter_mut().filter_map(|h| h.connection.as_mut()).collect();
    let interrupts: Vec<_> = of_helpers.iter().map(|c| c.interrupt_handle()).collect();
    std::thread::scope(|scope| {
        let mut threads = Vec::new();
        let mut failed = None;
        for (connection, part) in of_helpers.into_iter().zip(&parts[1..]) {
            let sql = gather.part(&condition(&gather.alias, *part));
            let cancel = cancel.clone();
            // SAFETY: until this thread ends nobody else uses the connection and its cell.
            let connection = unsafe { Unshared::new(connection) };
            let run = move || {
                let connection = connection.into_inner();
                let made = cancel.work_for(|| pgsqlite_types::work::catching(|| groups(connection, &sql, parameters)));
                // SAFETY: this thread ends with it.
                unsafe { Unshared::new(made) }
            };
            match std::thread::Builder::new().name("gather".into()).spawn_scoped(scope, run) {
                Ok(thread) => threads.push(thread),
                Err(e) => {
                    failed = Some(PgError::no_resources(format!("could not start a thread for a query: {e}")));
                    break;
                }
            }
        }
        let own = match failed {
            Some(e) => Err(e),
            None => groups(connection, &gather.part(&condition(&gather.alias, parts[0])), parameters),
        };
        if own.is_err() {
            interrupts.iter().for_each(|handle| handle.interrupt());
        }
        let mut made = vec![own];
        for thread in threads {
            let of_part = thread.join().map_err(|_| PgError::internal("a part of a query has broken down"));
            made.push(of_part.and_then(Unshared::into_inner));
        }
        // (the first error is the first part's, as if one connection had read all rows)
        made.into_iter().filter_map(Result::transpose).collect()
    })
}

/// The groups of one part.
fn groups(connection: &mut Connection, sql: &str, parameters: &[Datum]) -> Result<Option<Groups>> {
    let mut statement = connection.prepare(sql)?;
    // SAFETY: the values outlive the statement's execution.
    unsafe { connection.bind_all(&mut statement, parameters)? };
    let number = match connection.step(&mut statement) {
        Ok(Step::Row) => match statement.column(0) {
            DatumRef::Int(number) => Ok(number),
            _ => Err(PgError::internal("groups without a number")),
        },
        Ok(Step::Done) => Err(PgError::internal("groups without a row")),
        Err(e) => Err(e),
    };
    connection.release(sql, statement);
    Ok(connection.cell.groups.take(number?).map(|groups| *groups))
}

#[cfg(test)]
mod tests {
    use crate::engine::Engine;
    use crate::plans::Body;
    use crate::session::tests::numbers;
    use crate::session::{EngineConfig, Location, Session, SessionOptions};
    use std::sync::Arc;

    /// How many connections would help with a query.
    async fn helpers(session: &mut Session, sql: &str) -> usize {
        session.executor.begin_statement().await.unwrap();
        let raw = pgsqlite_sql::parse::parse(sql).unwrap().remove(0);
        let (plan, _) = session.plan(&Arc::new(raw), &[]).unwrap();
        let Body::Plan(body) = &plan.body else { panic!("{sql}: no plan") };
        session.executor.would_gather(&body.query).unwrap().unwrap_or(0)
    }

    #[test]
    fn parts_have_every_row_once() {
        assert_eq!(super::ranges(1, 10, 3), [(1, 3), (4, 6), (7, 10)]);
        let whole = super::ranges(i64::MIN, i64::MAX, 2);
        assert_eq!(whole, [(i64::MIN, -1), (0, i64::MAX)]);
        assert_eq!(super::ranges(5, 5, 2), [(5, 4), (5, 5)]);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn groups_are_gathered_unless_something_is_in_the_way() {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let engine = Engine::open(EngineConfig::new(Location::Memory, "test")).expect("opens");
        let mut session =
            engine.session(SessionOptions { user: "postgres".into(), ..Default::default() }).expect("a session");
        let made = "CREATE TABLE t (id int PRIMARY KEY, g int, h int, n numeric); CREATE INDEX ON t (g);
            INSERT INTO t SELECT i, i % 7, i % 5, i / 10.0 FROM generate_series(1, 60000) i;
            CREATE TABLE small (g int); INSERT INTO small VALUES (1); ANALYZE t, small";
        numbers(&mut session, made).await.unwrap();
        let expected = (processors - 1).min(2);
        for sql in ["SELECT sum(n) FROM t", "SELECT h, count(*) FROM t WHERE n < 2000 GROUP BY h"] {
            assert_eq!(helpers(&mut session, sql).await, expected, "{sql}");
        }
        for sql in [
            "SELECT count(g) FROM small",
            "SELECT sum(n) FROM t WHERE id = 5",
            "SELECT sum(n) FROM t WHERE g = 3 AND id < 10",
            "SELECT sum(random()) FROM t",
            "SELECT sum(id / 3.0::float8) FROM t",
            "SELECT array_agg(n) FROM t",
            "SELECT count(DISTINCT n) FROM t",
        ] {
            assert_eq!(helpers(&mut session, sql).await, 0, "{sql}");
        }
        numbers(&mut session, "SET max_parallel_workers_per_gather = 0").await.unwrap();
        assert_eq!(helpers(&mut session, "SELECT sum(n) FROM t").await, 0);
        numbers(&mut session, "RESET max_parallel_workers_per_gather").await.unwrap();
        // what the transaction has changed is for its own connection
        numbers(&mut session, "BEGIN; UPDATE t SET n = 1 WHERE id = 1").await.unwrap();
        assert_eq!(helpers(&mut session, "SELECT sum(n) FROM t").await, 0);
        numbers(&mut session, "ROLLBACK").await.unwrap();
        let whole = numbers(&mut session, "SELECT sum(id)::int8 FROM t; SELECT count(*) FROM t WHERE n < 0").await;
        assert_eq!(whole.unwrap(), [1_800_030_000, 0]);
    }
}
