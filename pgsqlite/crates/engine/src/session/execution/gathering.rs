//! Groups that several connections make at once ([`pgsqlite_sql::plan::Gather`]).
//!
//! The connection that runs the plan and some of the pool read one snapshot. Each groups parts of the rows, in a thread of its own; then the
//! groups are put together. A part is a range of the divided table's rowids if SQLite reads that table first and as a whole. If rows of it
//! are looked up, it is every second block of rowids (or every third …): all connections read what is before that table, and its index, but
//! each only its own rows. If anything is in the way (no connection to spare, a plan of SQLite's that the condition of a part would change,
//! groups that need files), the plan runs as it does without.

use crate::connection::{Connection, Step};
use crate::requests::CancelHandle;
use crate::session::context::SessionContext;
use crate::session::execution::portal::Portal;
use crate::session::execution::unshared::Unshared;
use crate::session::executor::Executor;
use pgsqlite_natives::udf::groups::Groups;
use pgsqlite_sql::plan::{Division, Gather, QueryPlan};
use pgsqlite_types::{Datum, DatumRef, PgError, Result};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::LazyLock;

/// A range of rowids is not shorter than this.
const SHORTEST: i64 = 512;
/// So many ranges for each connection: one that has little to do takes another one.
const RANGES_EACH: usize = 8;
/// Rows whose numbers differ in no more than so many of the last bits are in one block.
const BLOCK_BITS: u32 = 6;

/// The processors of the machine besides the one that a query has anyway. (Asking reads files.)
static OTHER_PROCESSORS: LazyLock<usize> =
    LazyLock::new(|| std::thread::available_parallelism().map_or(1, usize::from) - 1);

/// How many connections help now, for all sessions together: not more than there are other processors, because several queries at once
/// have work for all processors, and dividing costs some of it.
static HELPING: AtomicUsize = AtomicUsize::new(0);

impl SessionContext {
    /// How many connections may help with a query: what the setting allows, and as many as there are other processors.
    pub(in crate::session) fn helpers(&self) -> usize {
        let allowed = self.gucs.get("max_parallel_workers_per_gather").and_then(|n| n.parse().ok()).unwrap_or(0);
        allowed.min(*OTHER_PROCESSORS)
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

impl<'a> Helper<'a> {
    /// None: enough connections help others, or the pool has none to spare.
    fn lease(context: &'a SessionContext) -> Result<Option<Helper<'a>>> {
        let one_more = |helping: usize| (helping < *OTHER_PROCESSORS).then_some(helping + 1);
        if HELPING.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).is_err() {
            return Ok(None);
        }
        // (from here on its end counts)
        let mut helper = Helper { context, connection: None };
        helper.connection = context.connection_apart()?;
        Ok(helper.connection.is_some().then_some(helper))
    }
}

impl Drop for Helper<'_> {
    fn drop(&mut self) {
        HELPING.fetch_sub(1, Ordering::Relaxed);
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
        Ok(division(self.connection()?, gather)?.map(|_| helpers))
    }

    /// Makes the groups of a plan, if several connections can. Returns whether `gather.sql` is to be run, on the portal's connection. An
    /// error of a part is no error of the plan, which may never come by it (LIMIT 0): one connection runs the plan then, and meets the error
    /// where it does. Errors: those of requests.
    pub(in crate::session) fn gather(&mut self, portal: &mut Portal, gather: &Gather) -> Result<bool> {
        self.try_gather(portal, gather).or_else(|e| {
            tracing::debug!("groups are not gathered: {e}");
            self.context.cancel.check().map(|()| false)
        })
    }

    fn try_gather(&mut self, portal: &mut Portal, gather: &Gather) -> Result<bool> {
        let helpers = self.context.helpers();
        let shares_snapshot = portal.own.is_some() || !self.context.has_changes();
        let Some(connection) = portal.own.as_mut().or(self.connection.as_mut()) else { return Ok(false) };
        let alone = helpers == 0 || portal.undivided || !shares_snapshot || connection.is_autocommit();
        if alone {
            return Ok(false);
        }
        let Some(division) = division(connection, gather)? else { return Ok(false) };
        self.context.notices.extend(connection.cell.take_notices());
        let mut helping = Vec::new();
        while helping.len() < helpers {
            let Some(helper) = Helper::lease(&self.context)? else { break };
            helping.push(helper);
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
        let connections = helping.len() + 1;
        let parts = match division {
            Division::Blocks => blocks(&row_number(gather), connections),
            Division::Ranges { many } => {
                let Some((first, last)) = row_numbers(connection, gather)? else { return Ok(false) };
                let parts = if many { connections * RANGES_EACH } else { connections };
                ranges(first, last, parts).map(|range| between(gather, range)).collect()
            }
        };
        let made = in_parts(&self.context.cancel, connection, &mut helping, gather, &parts, &portal.parameters);
        let of_helpers = helping.iter().flat_map(|h| &h.connection).flat_map(|c| c.cell.take_notices());
        let notices = connection.cell.take_notices().len() + of_helpers.count();
        drop(helping);
        let made = made?;
        // each part gives the notice of what one connection computes once
        if notices > 0 {
            return Ok(false);
        }
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

/// How the rows of a plan are divided. SQLite is asked when the plan runs first.
fn division(connection: &Connection, gather: &Gather) -> Result<Option<Division>> {
    match gather.division.get() {
        Some(found) => Ok(*found),
        None => {
            let found = possible_division(connection, gather)?;
            Ok(*gather.division.get_or_init(|| found))
        }
    }
}

/// How the rows of a plan can be divided; None: not without SQLite reading them in another way.
fn possible_division(connection: &Connection, gather: &Gather) -> Result<Option<Division>> {
    let alias = &gather.alias;
    let steps = query_plan(connection, &gather.whole())?;
    let reads = |step: &String| {
        let rest = step.strip_prefix("SCAN ").or_else(|| step.strip_prefix("SEARCH "));
        rest.and_then(|rest| rest.strip_prefix(alias.as_str()))
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    };
    let Some(at) = steps.iter().position(reads) else { return Ok(None) };
    if steps[at + 1..].iter().any(reads) || steps[at].contains("AUTOMATIC") {
        return Ok(None);
    }
    let anew = ["MATERIALIZE ", "CO-ROUTINE ", "VIRTUAL TABLE", "AUTOMATIC ", "BLOOM FILTER "];
    let many = gather.few_groups && !steps.iter().any(|step| anew.iter().any(|word| step.contains(word)));
    let in_blocks = || Ok(query_plan(connection, &gather.part(&blocks(&row_number(gather), 2)[0]))? == steps);
    if steps[at] != format!("SCAN {alias}") {
        // (that SQLite reads all of it in the order of an index says that there is a use for it)
        let divides = steps[at].starts_with("SEARCH ") && !gather.only_scanned && in_blocks()?;
        return Ok(divides.then_some(Division::Blocks));
    }
    let mut ranged = steps.clone();
    ranged[at] = format!("SEARCH {alias} USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)");
    let in_ranges = at == 0 && query_plan(connection, &gather.part(&between(gather, (1, 2))))? == ranged;
    // the rows that a query wants are often beside each other: in one of two ranges, but in all blocks
    Ok(match in_ranges {
        true if many => Some(Division::Ranges { many }),
        _ if gather.is_small && in_blocks()? => Some(Division::Blocks),
        true => Some(Division::Ranges { many }),
        false => None,
    })
}

/// The steps of SQLite's plan, in words.
fn query_plan(connection: &Connection, sql: &str) -> Result<Vec<String>> {
    Ok(connection.query_plan(sql)?.into_iter().map(|step| step.detail).collect())
}

/// The number of a row of the divided table.
fn row_number(gather: &Gather) -> String {
    format!("{}.{}", gather.alias, gather.rowid)
}

fn between(gather: &Gather, (from, to): (i64, i64)) -> String {
    format!("{} BETWEEN {from} AND {to}", row_number(gather))
}

/// Conditions of which each row satisfies one, and about as many rows each. (SQLite uses no index for them.)
fn blocks(row_number: &str, parts: usize) -> Vec<String> {
    let block = format!("({row_number} >> {BLOCK_BITS})");
    let chosen = |part: usize| match parts.is_power_of_two() {
        true => format!("{block} & {} = {part}", parts - 1),
        // (of a negative number, there is a negative rest)
        false => format!("{block} % {parts} IN ({part}, {})", part as i64 - parts as i64),
    };
    (0..parts).map(chosen).collect()
}

/// The least and the greatest number of a row; None: there are no rows.
fn row_numbers(connection: &Connection, Gather { table, rowid, .. }: &Gather) -> Result<Option<(i64, i64)>> {
    let sql = format!("SELECT (SELECT min({rowid}) FROM {table}), (SELECT max({rowid}) FROM {table})");
    let found: (Option<i64>, Option<i64>) = connection
        .rusqlite()
        .query_row(&sql, [], |row| Ok((row.get(0)?, row.get(1)?)))
        .map_err(|_| connection.error())?;
    Ok(found.0.zip(found.1))
}

/// The numbers of rows in so many parts, or fewer if they would be short.
fn ranges(first: i64, last: i64, parts: usize) -> impl Iterator<Item = (i64, i64)> {
    let all = i128::from(last) - i128::from(first) + 1;
    let parts = (parts as i128).min(all / i128::from(SHORTEST)).max(1);
    let at = move |i: i128| i128::from(first) + all * i / parts;
    (0..parts).map(move |i| (at(i) as i64, (at(i + 1) - 1) as i64))
}

/// Makes the groups of each part, in the order of the parts; those of no rows are left out. Each connection takes the next part when it
/// has made one; the calling thread makes some, too.
fn in_parts(
    cancel: &CancelHandle,
    connection: &mut Connection,
    helping: &mut [Helper<'_>],
    gather: &Gather,
    parts: &[String],
    parameters: &[Datum],
) -> Result<Vec<Groups>> {
    let of_helpers: Vec<&mut Connection> = helping.iter_mut().filter_map(|h| h.connection.as_mut()).collect();
    let interrupts: Vec<_> = of_helpers.iter().map(|c| c.interrupt_handle()).collect();
    let next = AtomicUsize::new(0);
    let work = |connection: &mut Connection| {
        let mut made = Vec::new();
        while let Some((number, part)) = some_part(&next, parts) {
            let of_part = groups(connection, &gather.part(part), parameters);
            if of_part.is_err() {
                next.store(parts.len(), Ordering::Relaxed);
            }
            made.push((number, of_part));
        }
        made
    };
    std::thread::scope(|scope| {
        let mut threads = Vec::new();
        for connection in of_helpers {
            let cancel = cancel.clone();
            // SAFETY: until this thread ends nobody else uses the connection and its cell.
            let connection = unsafe { Unshared::new(connection) };
            let work = &work;
            let run = move || {
                let connection = connection.into_inner();
                let made = cancel.work_for(|| pgsqlite_types::work::catching(|| Ok(work(connection))));
                // SAFETY: this thread ends with it.
                unsafe { Unshared::new(made) }
            };
            match std::thread::Builder::new().name("gather".into()).spawn_scoped(scope, run) {
                Ok(thread) => threads.push(thread),
                // the others make its parts
                Err(e) => tracing::debug!("no thread for a part of a query: {e}"),
            }
        }
        let mut made = work(connection);
        if made.iter().any(|(_, of_part)| of_part.is_err()) {
            interrupts.iter().for_each(|handle| handle.interrupt());
        }
        for thread in threads {
            let of_thread = thread.join().map_err(|_| PgError::internal("a part of a query has broken down"))?;
            made.extend(of_thread.into_inner()?);
        }
        made.sort_by_key(|(number, _)| *number);
        made.into_iter().filter_map(|(_, of_part)| of_part.transpose()).collect()
    })
}

/// The next part that nobody has taken.
fn some_part<'p>(next: &AtomicUsize, parts: &'p [String]) -> Option<(usize, &'p String)> {
    let number =
        next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| (n < parts.len()).then_some(n + 1)).ok()?;
    Some((number, &parts[number]))
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
        let ranges = |first, last, parts| super::ranges(first, last, parts).collect::<Vec<_>>();
        assert_eq!(ranges(1, 3000, 3), [(1, 1000), (1001, 2000), (2001, 3000)]);
        assert_eq!(ranges(i64::MIN, i64::MAX, 2), [(i64::MIN, -1), (0, i64::MAX)]);
        assert_eq!(ranges(1, 1100, 16), [(1, 550), (551, 1100)]);
        assert_eq!(ranges(5, 5, 2), [(5, 5)]);
    }

    #[test]
    fn blocks_have_every_row_once() {
        let db = rusqlite::Connection::open_in_memory().unwrap();
        let numbers = "WITH RECURSIVE t(rowid) AS (SELECT -500 UNION ALL SELECT rowid + 1 FROM t WHERE rowid < 500)";
        for parts in 1..8 {
            let counts: Vec<i64> = super::blocks("t.rowid", parts)
                .iter()
                .map(|block| {
                    let sql = format!("{numbers} SELECT count(*) FROM t WHERE {block}");
                    db.query_row(&sql, [], |row| row.get(0)).unwrap()
                })
                .collect();
            assert_eq!(counts.iter().sum::<i64>(), 1001, "{parts}");
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn groups_are_gathered_unless_something_is_in_the_way() {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let engine = Engine::open(EngineConfig::new(Location::Memory, "test")).expect("opens");
        let mut session =
            engine.session(SessionOptions { user: "postgres".into(), ..Default::default() }).expect("a session");
        let made = "CREATE TABLE t (id int PRIMARY KEY, g int, h int, n numeric); CREATE INDEX ON t (g);
            INSERT INTO t SELECT i, i % 7, i % 5, i / 10.0 FROM generate_series(1, 60000) i;
            CREATE TABLE small (g int PRIMARY KEY, name text); INSERT INTO small SELECT i, i % 2 FROM generate_series(0, 6) i;
            CREATE TABLE middle (k int PRIMARY KEY, g int); INSERT INTO middle SELECT i, i % 7 FROM generate_series(1, 2000) i;
            ALTER TABLE t ADD k int; UPDATE t SET k = id % 2000; CREATE INDEX ON t (k); ANALYZE t, small, middle";
        numbers(&mut session, made).await.unwrap();
        let expected = (processors - 1).min(2);
        for sql in [
            "SELECT sum(n) FROM t",
            "SELECT h, count(*) FROM t WHERE n < 2000 GROUP BY h",
            "SELECT sum(n) FROM t WHERE k < 400",
            "SELECT sum(n) FROM t WHERE n < $1",
            "SELECT name, sum(n) FROM t JOIN middle USING (k) JOIN small ON small.g = middle.g GROUP BY name",
            "SELECT sum(n) FROM t JOIN middle USING (k) JOIN small ON small.g = middle.g WHERE small.g = 2",
            "SELECT name, sum(m) FROM (SELECT name, n * 2 AS m FROM t JOIN small USING (g)) AS x GROUP BY name",
            "SELECT max(m) FROM (SELECT h, sum(n) AS m FROM t GROUP BY h) AS x",
            "WITH w AS (SELECT h, sum(n) AS m FROM t GROUP BY h) SELECT * FROM w JOIN small ON g = h WHERE m = (SELECT max(m) FROM w)",
            "SELECT h, count(small.g) FROM t LEFT JOIN small USING (g) GROUP BY h",
        ] {
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
            "SELECT (SELECT sum(n) FROM t WHERE t.g = small.g) FROM small",
            "SELECT name FROM small WHERE CASE WHEN name = '1' THEN g < (SELECT avg(n) FROM t) END",
            "SELECT sum(n) FROM t FULL JOIN small USING (g)",
            "SELECT sum(n) FROM (SELECT n FROM t LIMIT 50000) AS x",
            "WITH w AS (SELECT g FROM small) SELECT sum(n) FROM t JOIN w USING (g)",
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
        // what one connection gives notice of once is not given notice of by each part
        session.take_notices();
        numbers(
            &mut session,
            "SELECT count(*) FROM t WHERE to_tsvector('english', 'a') @@ to_tsquery('english', 'the')",
        )
        .await
        .unwrap();
        assert_eq!(session.take_notices().len(), 1);
    }
}
