//! Commits that are made together, with a disk that is busy for as long as a test likes.

use super::Writer;
use crate::engine::Engine;
use crate::memory::MemoryFolder;
use crate::session::{EngineConfig, Execution, Flow, Location, OutputColumn, Row, RowSink, Session, SessionOptions};
use pgsqlite_types::codec::Context;
use pgsqlite_types::{DatumRef, PgError, Result, SqlState};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;

impl Writer {
    /// From now on the disk is busy.
    fn keep_disk_busy(&self) {
        self.0.state.lock().syncing = true;
    }

    fn let_disk_go(&self) -> Result<()> {
        let synced = self.0.sync();
        self.0.call_committer();
        synced
    }

    fn commits(&self) -> u64 {
        self.0.state.lock().commits
    }

    /// How many transactions wait for the one that is open.
    fn members(&self) -> usize {
        self.0.state.lock().open.as_ref().map_or(0, |open| open.members.0.len())
    }

    fn fail(&self) {
        self.0.state.lock().failed = Some(PgError::new(SqlState::IO_ERROR, "a sync has failed"));
    }
}

/// Whole numbers of the first column.
#[derive(Default)]
struct Numbers(Vec<i64>);

impl RowSink for Numbers {
    fn columns(&mut self, _: &Arc<[OutputColumn]>) -> Result<()> {
        Ok(())
    }
    fn row(&mut self, row: &dyn Row, _: &Context) -> Result<Flow> {
        match row.value(0) {
            DatumRef::Int(n) => self.0.push(n),
            other => return Err(PgError::internal(format!("{other:?}"))),
        }
        Ok(Flow::Continue)
    }
}

async fn run(session: &mut Session, text: &str) -> Result<Vec<i64>> {
    let mut numbers = Numbers::default();
    let result = async {
        let mut script = session.script(text)?;
        while let Some(execution) = session.execute_script(&mut script, &mut numbers).await? {
            assert!(!matches!(execution, Execution::Paused), "nothing pauses here");
        }
        Ok(())
    }
    .await;
    if result.is_err() {
        session.failed().await;
    }
    session.sync().await?;
    result.map(|()| numbers.0)
}

struct Database {
    engine: Arc<Engine>,
    _folder: MemoryFolder,
}

impl Database {
    /// With a table `t (id int primary key, p int)`, whose `p` is a key of `p (id)` that is looked at when a transaction ends.
    async fn new() -> Database {
        let folder = MemoryFolder::new().expect("a folder");
        let config = EngineConfig { pool_size: 3, ..EngineConfig::new(Location::File(folder.file()), "test") };
        let database = Database { engine: Engine::open(config).expect("opens"), _folder: folder };
        let tables = "CREATE TABLE p (id int PRIMARY KEY); INSERT INTO p VALUES (1);
            CREATE TABLE t (id int PRIMARY KEY, p int REFERENCES p DEFERRABLE INITIALLY DEFERRED, s text)";
        run(&mut database.session(), tables).await.expect("runs");
        database
    }

    fn session(&self) -> Session {
        let options = SessionOptions { user: "postgres".into(), ..Default::default() };
        self.engine.session(options).expect("a session")
    }

    /// In a session of its own, as others do meanwhile.
    fn start(&self, text: &'static str) -> JoinHandle<Result<Vec<i64>>> {
        let mut session = self.session();
        tokio::spawn(async move { run(&mut session, text).await })
    }

    /// As [`Database::start`]; resolves when it waits for the open transaction's end as the `n`th.
    async fn start_as_member(&self, n: usize, text: &'static str) -> JoinHandle<Result<Vec<i64>>> {
        let started = self.start(text);
        for _ in 0..5000 {
            if self.engine.writer.members() == n {
                return started;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        panic!("{text}: {} members instead of {n}; {:?}", self.engine.writer.members(), started.await);
    }

    async fn ids(&self) -> Vec<i64> {
        run(&mut self.session(), "SELECT id FROM t ORDER BY id").await.expect("reads")
    }
}

fn test(body: impl std::future::Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let limit = Duration::from_secs(60);
    runtime.expect("a runtime").block_on(async { tokio::time::timeout(limit, body).await.expect("comes to an end") });
}

async fn succeeded(started: JoinHandle<Result<Vec<i64>>>) {
    started.await.expect("no panic").expect("is committed");
}

async fn failed(started: JoinHandle<Result<Vec<i64>>>) -> SqlState {
    started.await.expect("no panic").expect_err("is not committed").code()
}

#[test]
fn short_transactions_are_committed_together() {
    test(async {
        let d = Database::new().await;
        let writer = &d.engine.writer;
        writer.keep_disk_busy();
        let before = writer.commits();
        let first = d.start_as_member(1, "INSERT INTO t VALUES (1, 1)").await;
        let second = d.start_as_member(2, "INSERT INTO t VALUES (2, 1) RETURNING id").await;
        // what fails is taken back, and the others stay
        assert_eq!(failed(d.start("INSERT INTO t VALUES (3, 1), (2, 1)")).await, SqlState::UNIQUE_VIOLATION);
        assert_eq!(failed(d.start("INSERT INTO t VALUES (4, 7)")).await, SqlState::FOREIGN_KEY_VIOLATION);
        let third = d.start_as_member(3, "UPDATE t SET s = 'x' WHERE id = 1").await;
        // nobody sees what is not committed
        assert!(d.ids().await.is_empty());
        assert_eq!(writer.commits(), before);
        assert!(!first.is_finished() && !second.is_finished() && !third.is_finished());
        writer.let_disk_go().expect("syncs");
        for started in [first, second, third] {
            succeeded(started).await;
        }
        assert_eq!((d.ids().await, writer.commits()), (vec![1, 2], before + 1));
    });
}

#[test]
fn what_changes_nothing_waits_for_no_disk() {
    test(async {
        let d = Database::new().await;
        let before = d.engine.writer.commits();
        for text in ["UPDATE t SET s = 'x' WHERE id = 7", "DELETE FROM t", "BEGIN; DELETE FROM t; COMMIT"] {
            run(&mut d.session(), text).await.expect("runs");
        }
        assert_eq!(d.engine.writer.commits(), before);
        run(&mut d.session(), "INSERT INTO t VALUES (1, 1)").await.expect("inserts");
        assert_eq!(d.engine.writer.commits(), before + 1);
        // nor do those of a transaction that was left open
        d.engine.writer.keep_disk_busy();
        let none = d.start_as_member(1, "DELETE FROM t WHERE id = 7").await;
        let also_none = d.start_as_member(2, "DELETE FROM t WHERE id = 8").await;
        let mut block = d.session();
        run(&mut block, "BEGIN; DELETE FROM t WHERE id = 9").await.expect("deletes");
        succeeded(none).await;
        succeeded(also_none).await;
        assert_eq!(d.engine.writer.commits(), before + 1);
        d.engine.writer.let_disk_go().expect("syncs");
    });
}

#[test]
fn what_cannot_share_commits_for_the_others_first() {
    test(async {
        let d = Database::new().await;
        let writer = &d.engine.writer;
        writer.keep_disk_busy();
        let before = writer.commits();
        let first = d.start_as_member(1, "INSERT INTO t VALUES (1, 1)").await;
        let mut block = d.session();
        run(&mut block, "BEGIN").await.expect("begins");
        run(&mut block, "INSERT INTO t VALUES (2, 1)").await.expect("inserts");
        assert_eq!(d.ids().await, [1]);
        // a statement that may take long is no member, nor is one with a function of which that is not known
        let long = d.start("INSERT INTO t SELECT 3, 1");
        let waiting = d.start("INSERT INTO t VALUES (4, 1, set_config('a.b', 'x', false))");
        let block = tokio::spawn(async move { run(&mut block, "COMMIT").await });
        for _ in 0..5000 {
            if (writer.commits(), writer.members()) == (before + 3, 1) {
                break;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert_eq!((writer.commits(), writer.members()), (before + 3, 1));
        assert!(!block.is_finished() && !long.is_finished() && !waiting.is_finished());
        writer.let_disk_go().expect("syncs");
        for started in [first, block, long, waiting] {
            succeeded(started).await;
        }
        assert_eq!((d.ids().await, writer.commits()), (vec![1, 2, 3, 4], before + 4));
    });
}

#[test]
fn the_end_of_a_session_takes_nothing_from_the_others() {
    test(async {
        let d = Database::new().await;
        let writer = &d.engine.writer;
        writer.keep_disk_busy();
        let first = d.start_as_member(1, "INSERT INTO t VALUES (1, 1)").await;
        let gone = d.start_as_member(2, "INSERT INTO t VALUES (2, 1)").await;
        gone.abort();
        assert!(gone.await.is_err_and(|e| e.is_cancelled()));
        let third = d.start_as_member(3, "INSERT INTO t VALUES (3, 1)").await;
        writer.let_disk_go().expect("syncs");
        succeeded(first).await;
        succeeded(third).await;
        assert_eq!(d.ids().await, [1, 2, 3]);
    });
}

#[test]
fn a_transaction_that_sqlite_gives_up_fails_for_all_members() {
    test(async {
        let d = Database::new().await;
        let writer = &d.engine.writer;
        // no page more than there are now: the disk is full
        let connection = d.engine.connection(true).await.expect("a connection");
        connection.exec("PRAGMA max_page_count = 1").expect("runs");
        d.engine.idle.put(connection);
        writer.keep_disk_busy();
        let first = d.start_as_member(1, "INSERT INTO t VALUES (1, 1)").await;
        let big = d.start("INSERT INTO t VALUES (2, 1, repeat('x', 100000))");
        assert_eq!(failed(big).await, SqlState::DISK_FULL);
        assert_eq!(failed(first).await, SqlState::DISK_FULL);
        writer.let_disk_go().expect("syncs");
        assert!(d.ids().await.is_empty());
        succeeded(d.start("INSERT INTO t VALUES (3, 1)")).await;
        assert_eq!(d.ids().await, [3]);
    });
}

#[test]
fn after_a_failed_sync_nothing_is_acknowledged() {
    test(async {
        let d = Database::new().await;
        let writer = &d.engine.writer;
        writer.keep_disk_busy();
        let first = d.start_as_member(1, "INSERT INTO t VALUES (1, 1)").await;
        let second = d.start_as_member(2, "INSERT INTO t VALUES (2, 1)").await;
        writer.fail();
        writer.let_disk_go().expect("syncs");
        assert_eq!(failed(first).await, SqlState::IO_ERROR);
        assert_eq!(failed(second).await, SqlState::IO_ERROR);
        assert!(d.ids().await.is_empty());
        assert_eq!(failed(d.start("INSERT INTO t VALUES (3, 1)")).await, SqlState::IO_ERROR);
    });
}

/// Many sessions at once, some of whose statements fail: what was told is what there is.
#[test]
fn what_is_told_is_what_there_is() {
    test(async {
        let d = Arc::new(Database::new().await);
        let sessions = (0..8).map(|s| {
            let d = d.clone();
            tokio::spawn(async move {
                let mut session = d.session();
                session.set_own_thread(s % 2 == 0);
                let mut told = Vec::new();
                for i in 0..60 {
                    // each number is tried by two sessions, and one row in five refers to nothing
                    let (id, p) = (s / 2 * 1000 + i, if (s + i) % 5 == 0 { 7 } else { 1 });
                    let insert = format!("INSERT INTO t VALUES ({id}, {p})");
                    let texts = match i % 3 {
                        0 => vec!["BEGIN".to_string(), insert, "COMMIT".into()],
                        _ => vec![insert],
                    };
                    let mut all = Ok(());
                    for text in texts {
                        all = all.and(run(&mut session, &text).await.map(drop));
                    }
                    match all {
                        Ok(()) => told.push(i64::from(id)),
                        Err(e) => assert!(
                            matches!(e.code(), SqlState::UNIQUE_VIOLATION | SqlState::FOREIGN_KEY_VIOLATION),
                            "{e:?}"
                        ),
                    }
                }
                told
            })
        });
        let sessions: Vec<_> = sessions.collect();
        let mut told = Vec::new();
        for session in sessions {
            told.extend(session.await.expect("no panic"));
        }
        told.sort_unstable();
        assert_eq!(told, d.ids().await);
        assert!(told.len() > 100, "{} rows", told.len());
    });
}
