//! Commits that are made together, with a disk that is busy for as long as a test likes.

use crate::engine::Engine;
use crate::session::tests::numbers;
use crate::session::{EngineConfig, Location, Session, SessionOptions};
use pgsqlite_storage::in_memory::MemoryFolder;
use pgsqlite_types::{Result, SqlState};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;

struct Database {
    engine: Arc<Engine>,
    folder: MemoryFolder,
}

impl Database {
    /// With a table `t (id int primary key, p int)`, whose `p` is a key of `p (id)` that is looked at when a transaction ends.
    async fn new() -> Database {
        let folder = MemoryFolder::new().expect("a folder");
        let server_files = folder.file().parent().map(std::path::PathBuf::from);
        let config =
            EngineConfig { pool_size: 3, server_files, ..EngineConfig::new(Location::File(folder.file()), "test") };
        let database = Database { engine: Engine::open(config).expect("opens"), folder };
        let tables = "CREATE TABLE p (id int PRIMARY KEY); INSERT INTO p VALUES (1);
            CREATE TABLE t (id int PRIMARY KEY, p int REFERENCES p DEFERRABLE INITIALLY DEFERRED, s text)";
        numbers(&mut database.session(), tables).await.expect("runs");
        database
    }

    fn session(&self) -> Session {
        let options = SessionOptions { user: "postgres".into(), ..Default::default() };
        self.engine.session(options).expect("a session")
    }

    /// In a session of its own, as others do meanwhile.
    fn start(&self, text: &'static str) -> JoinHandle<Result<Vec<i64>>> {
        let mut session = self.session();
        tokio::spawn(async move { numbers(&mut session, text).await })
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
        numbers(&mut self.session(), "SELECT id FROM t ORDER BY id").await.expect("reads")
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
        let before = writer.last_commit();
        let first = d.start_as_member(1, "INSERT INTO t VALUES (1, 1)").await;
        let second = d.start_as_member(2, "INSERT INTO t VALUES (2, 1) RETURNING id").await;
        // what fails is taken back, and the others stay
        assert_eq!(failed(d.start("INSERT INTO t VALUES (3, 1), (2, 1)")).await, SqlState::UNIQUE_VIOLATION);
        assert_eq!(failed(d.start("INSERT INTO t VALUES (4, 7)")).await, SqlState::FOREIGN_KEY_VIOLATION);
        let third = d.start_as_member(3, "UPDATE t SET s = 'x' WHERE id = 1").await;
        // nobody sees what is not committed
        assert!(d.ids().await.is_empty());
        assert_eq!(writer.last_commit(), before);
        assert!(!first.is_finished() && !second.is_finished() && !third.is_finished());
        writer.let_disk_go().expect("syncs");
        for started in [first, second, third] {
            succeeded(started).await;
        }
        assert_eq!((d.ids().await, writer.last_commit()), (vec![1, 2], before + 1));
    });
}

#[test]
fn what_changes_nothing_waits_for_no_disk() {
    test(async {
        let d = Database::new().await;
        let before = d.engine.writer.last_commit();
        for text in ["UPDATE t SET s = 'x' WHERE id = 7", "DELETE FROM t", "BEGIN; DELETE FROM t; COMMIT"] {
            numbers(&mut d.session(), text).await.expect("runs");
        }
        assert_eq!(d.engine.writer.last_commit(), before);
        numbers(&mut d.session(), "INSERT INTO t VALUES (1, 1)").await.expect("inserts");
        assert_eq!(d.engine.writer.last_commit(), before + 1);
        // nor do those of a transaction that was left open
        d.engine.writer.keep_disk_busy();
        let none = d.start_as_member(1, "DELETE FROM t WHERE id = 7").await;
        let also_none = d.start_as_member(2, "DELETE FROM t WHERE id = 8").await;
        let mut block = d.session();
        numbers(&mut block, "BEGIN; DELETE FROM t WHERE id = 9").await.expect("deletes");
        succeeded(none).await;
        succeeded(also_none).await;
        assert_eq!(d.engine.writer.last_commit(), before + 1);
        d.engine.writer.let_disk_go().expect("syncs");
    });
}

#[test]
fn what_cannot_share_commits_for_the_others_first() {
    test(async {
        let d = Database::new().await;
        let writer = &d.engine.writer;
        writer.keep_disk_busy();
        let before = writer.last_commit();
        let first = d.start_as_member(1, "INSERT INTO t VALUES (1, 1)").await;
        let mut block = d.session();
        numbers(&mut block, "BEGIN").await.expect("begins");
        numbers(&mut block, "INSERT INTO t VALUES (2, 1)").await.expect("inserts");
        assert_eq!(d.ids().await, [1]);
        // a statement that may take long is no member, nor is one with a function of which that is not known
        let long = d.start("INSERT INTO t SELECT 3, 1");
        let waiting = d.start("INSERT INTO t VALUES (4, 1, set_config('a.b', 'x', false))");
        let block = tokio::spawn(async move { numbers(&mut block, "COMMIT").await });
        for _ in 0..5000 {
            if (writer.last_commit(), writer.members()) == (before + 3, 1) {
                break;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert_eq!((writer.last_commit(), writer.members()), (before + 3, 1));
        assert!(!block.is_finished() && !long.is_finished() && !waiting.is_finished());
        writer.let_disk_go().expect("syncs");
        for started in [first, block, long, waiting] {
            succeeded(started).await;
        }
        assert_eq!((d.ids().await, writer.last_commit()), (vec![1, 2, 3, 4], before + 4));
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
        writer.let_disk_go().expect_err("one has failed before");
        assert_eq!(failed(first).await, SqlState::IO_ERROR);
        assert_eq!(failed(second).await, SqlState::IO_ERROR);
        assert!(d.ids().await.is_empty());
        assert_eq!(failed(d.start("INSERT INTO t VALUES (3, 1)")).await, SqlState::IO_ERROR);
    });
}

/// A reader sees a commit before its sync; what it says of that waits for the sync, and only that.
#[test]
fn what_was_seen_waits_for_its_sync() {
    test(async {
        let d = Database::new().await;
        let writer = &d.engine.writer;
        let pages = "CREATE TABLE big (id int PRIMARY KEY, s text);
            INSERT INTO big SELECT g, repeat('x', 500) FROM generate_series(1, 1000) g; CHECKPOINT";
        for text in pages.split(';') {
            numbers(&mut d.session(), text).await.expect("runs");
        }
        // one to write with, and one to read with meanwhile
        let (one, two) =
            (d.engine.connection(true).await.expect("leased"), d.engine.connection(true).await.expect("leased"));
        d.engine.idle.put(one);
        d.engine.idle.put(two);
        writer.keep_disk_busy();
        let committed = d.start("BEGIN; SAVEPOINT a; UPDATE big SET s = 'y' WHERE id = 900; COMMIT");
        // (with a savepoint it is not left open for others)
        while writer.is_synced() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let (mut other, mut same, mut refused) = (d.session(), d.session(), d.session());
        numbers(&mut other, "SELECT id FROM big WHERE id = 100").await.expect("reads");
        assert_eq!(other.unsettled(), None, "it has read another page");
        assert_eq!(numbers(&mut same, "SELECT id FROM big WHERE id = 900").await.expect("reads"), [900]);
        let seen = same.unsettled().expect("it has seen what is not on disk");
        numbers(&mut refused, "INSERT INTO big VALUES (900, 'z')").await.expect_err("is there already");
        assert!(refused.unsettled().is_some());
        let waiting = tokio::spawn(async move {
            same.settle(seen).await.expect("syncs");
            same.unsettled()
        });
        tokio::time::sleep(Duration::from_millis(20)).await;
        assert!(!waiting.is_finished() && !committed.is_finished());
        writer.let_disk_go().expect("syncs");
        assert_eq!(waiting.await.expect("no panic"), None);
        assert_eq!(refused.unsettled(), None);
        succeeded(committed).await;
    });
}

/// What a file gets outlives a loss of power, as what a client is told: COPY TO a file and the copy of a database wait for the sync.
#[test]
fn files_get_what_is_on_disk() {
    test(async {
        let d = Database::new().await;
        let writer = &d.engine.writer;
        writer.keep_disk_busy();
        let committed = d.start("BEGIN; SAVEPOINT a; INSERT INTO t VALUES (1, 1); COMMIT");
        while writer.is_synced() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let path = |name: &str| d.folder.file().with_file_name(name);
        let (rows, copy) = (path("rows"), path("copy.db"));
        let (mut session, text) = (d.session(), format!("COPY t TO '{}'", rows.display()));
        let exported = tokio::spawn(async move { numbers(&mut session, &text).await });
        let (engine, to) = (d.engine.clone(), copy.clone());
        let copied = tokio::task::spawn_blocking(move || engine.copy_to(&to));
        while !rows.exists() || !copy.exists() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert!(!exported.is_finished() && !copied.is_finished() && !committed.is_finished());
        assert_eq!(std::fs::read_to_string(&rows).expect("is there"), "");
        writer.let_disk_go().expect("syncs");
        exported.await.expect("no panic").expect("is written");
        copied.await.expect("no panic").expect("is made");
        assert_eq!(std::fs::read_to_string(&rows).expect("is there"), "1\t1\t\\N\n");
        succeeded(committed).await;
    });
}

/// Who has seen a commit that SQLite is just making waits for it; if it comes to nothing, for the one before.
#[test]
fn a_commit_that_comes_to_nothing_keeps_nobody_waiting() {
    test(async {
        let d = Database::new().await;
        let writer = &d.engine.writer;
        writer.expect_commit(true).expect("the log is there");
        let coming = writer.last_commit() + 1;
        let mut session = d.session();
        let waiting = tokio::spawn(async move { session.settle(coming).await });
        tokio::time::sleep(Duration::from_millis(20)).await;
        assert!(!waiting.is_finished());
        writer.not_committed();
        waiting.await.expect("no panic").expect("there is nothing to wait for");
        assert!(!writer.progress().has_unsynced());
    });
}

/// Who has changed nothing beside others, but seen what is not on disk yet, waits for that.
#[test]
fn a_shared_transaction_without_changes_waits_for_what_it_has_seen() {
    test(async {
        let d = Database::new().await;
        let writer = &d.engine.writer;
        writer.keep_disk_busy();
        let before = writer.last_commit();
        let committed = d.start("BEGIN; SAVEPOINT a; INSERT INTO t VALUES (1, 1); COMMIT");
        while writer.last_commit() == before {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let none = d.start_as_member(1, "INSERT INTO t VALUES (1, 1) ON CONFLICT DO NOTHING").await;
        let mut block = d.session();
        numbers(&mut block, "BEGIN; DELETE FROM t WHERE id = 9").await.expect("commits for the other");
        tokio::time::sleep(Duration::from_millis(20)).await;
        assert!(!none.is_finished());
        writer.let_disk_go().expect("syncs");
        succeeded(none).await;
        succeeded(committed).await;
    });
}

/// A number of a sequence that another session's commit covers is told after that commit's sync.
#[test]
fn a_number_is_told_when_what_covers_it_is_on_disk() {
    test(async {
        let d = Database::new().await;
        let writer = &d.engine.writer;
        numbers(&mut d.session(), "CREATE SEQUENCE s").await.expect("runs");
        writer.keep_disk_busy();
        let before = writer.last_commit();
        let stores = d.start("BEGIN; SAVEPOINT a; INSERT INTO t SELECT nextval('s'), 1; COMMIT");
        while writer.last_commit() == before {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let taken = d.start("SELECT nextval('s')");
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert!(!taken.is_finished(), "{:?}", taken.await);
        writer.let_disk_go().expect("syncs");
        assert_eq!(taken.await.expect("no panic").expect("a number"), [2]);
        succeeded(stores).await;
    });
}

/// DDL writes where sequences really stand, which is less than what commits before it have stored: those must not be taken for what the
/// file says, though their syncs end later.
#[test]
fn a_number_is_not_covered_by_what_ddl_takes_back() {
    test(async {
        let d = Database::new().await;
        let writer = &d.engine.writer;
        numbers(&mut d.session(), "CREATE SEQUENCE s").await.expect("runs");
        writer.keep_disk_busy();
        let before = writer.last_commit();
        let stores = d.start("BEGIN; SAVEPOINT a; INSERT INTO t SELECT nextval('s'), 1; COMMIT");
        while writer.last_commit() == before {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let mut ddl = d.session();
        numbers(&mut ddl, "BEGIN; CREATE TABLE other (i int); ALTER SEQUENCE s OWNED BY NONE").await.expect("runs");
        writer.let_disk_go().expect("syncs");
        succeeded(stores).await;
        // nothing on disk covers it once the block is committed
        let taken = d.start("SELECT nextval('s')");
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert!(!taken.is_finished(), "{:?}", taken.await);
        numbers(&mut ddl, "COMMIT").await.expect("commits");
        // (the statement has begun anew, for the schema has changed: a number may be left out)
        let taken = taken.await.expect("no panic").expect("a number");
        assert!(taken[0] >= 2, "{taken:?}");
    });
}

/// Of a commit that nobody waits for with the disk, nothing is on disk.
#[test]
fn a_number_that_an_asynchronous_commit_covers_is_told_after_a_sync() {
    test(async {
        let d = Database::new().await;
        let writer = &d.engine.writer;
        numbers(&mut d.session(), "CREATE SEQUENCE s").await.expect("runs");
        numbers(&mut d.session(), "SET synchronous_commit = off; SELECT nextval('s')").await.expect("runs");
        writer.keep_disk_busy();
        let taken = d.start("SELECT nextval('s')");
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert!(!taken.is_finished(), "{:?}", taken.await);
        writer.let_disk_go().expect("syncs");
        assert_eq!(taken.await.expect("no panic").expect("a number"), [2]);
    });
}

/// A log that has grown beside a reader is cut once it begins anew, and CHECKPOINT leaves an empty one.
#[test]
fn the_log_gets_shorter() {
    test(async {
        let d = Database::new().await;
        let length = || {
            let mut log = d.folder.file().into_os_string();
            log.push("-wal");
            std::fs::metadata(log).expect("is there").len()
        };
        numbers(&mut d.session(), "CREATE TABLE big (id int, s text)").await.expect("runs");
        let mut reader = d.session();
        numbers(&mut reader, "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT id FROM t").await.expect("reads");
        let rows = "INSERT INTO big SELECT g, repeat('x', 1000) FROM generate_series(1, 6000) g";
        for _ in 0..4 {
            numbers(&mut d.session(), rows).await.expect("inserts");
        }
        assert!(length() > 20 << 20, "{} bytes", length());
        numbers(&mut reader, "COMMIT").await.expect("ends");
        let mut ids = vec![];
        while length() > pgsqlite_storage::connection::LOG_KEPT as u64 {
            assert!(ids.len() < 2000, "{} bytes", length());
            tokio::time::sleep(Duration::from_millis(10)).await;
            ids.push(ids.len() as i64 + 1);
            let text = format!("INSERT INTO t VALUES ({}, 1)", ids.len());
            numbers(&mut d.session(), &text).await.expect("inserts");
        }
        numbers(&mut d.session(), "CHECKPOINT").await.expect("runs");
        assert_eq!(length(), 0);
        assert_eq!(d.ids().await, ids);
    });
}

/// The thread that writes the log back waits for the slot of a block, and ends when the database is closed: its connection would keep the log.
#[test]
fn a_database_is_closed_while_its_log_waits_to_be_written_back() {
    test(async {
        let d = Database::new().await;
        numbers(&mut d.session(), "CREATE TABLE big (s text)").await.expect("runs");
        let mut holder = d.session();
        let rows = "INSERT INTO big SELECT repeat('x', 1000) FROM generate_series(1, 6000)";
        numbers(&mut holder, rows).await.expect("inserts");
        numbers(&mut holder, "BEGIN; LOCK TABLE big; INSERT INTO t VALUES (1, 1)").await.expect("inserts");
        drop(holder);
        d.engine.shutdown().await.expect("closes");
        let log = std::fs::metadata(d.folder.file().with_extension("db-wal"));
        assert!(log.is_err() || log.is_ok_and(|log| log.len() == 0), "the log is in the file");
    });
}

/// The log of a database that is written to begins anew without CHECKPOINT.
#[test]
fn the_log_begins_anew_by_itself() {
    test(async {
        let d = Database::new().await;
        numbers(&mut d.session(), "CREATE TABLE big (s text)").await.expect("runs");
        let before = d.engine.writer.progress().beginnings();
        let mut commits = 0;
        while d.engine.writer.progress().beginnings() < before + 3 {
            let rows = "INSERT INTO big SELECT repeat('x', 1000) FROM generate_series(1, 500)";
            numbers(&mut d.session(), rows).await.expect("inserts");
            numbers(&mut d.session(), "SELECT count(*) FROM big").await.expect("reads");
            commits += 1;
            assert!(commits < 1000, "{} bytes", d.engine.writer.progress().length());
        }
    });
}

/// A sync that fails in one of SQLite's checkpoints stops writes as one of the writer's own does, and no later sync is believed.
#[test]
fn a_failed_sync_of_a_checkpoint_is_remembered() {
    test(async {
        let d = Database::new().await;
        numbers(&mut d.session(), "INSERT INTO t VALUES (1, 1)").await.expect("inserts");
        d.engine.writer.progress().fail();
        let keeper = d.engine.connection(true).await.expect("a connection");
        let checkpoint = keeper.rusqlite().query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |r| r.get::<_, i64>(0));
        assert!(checkpoint.is_err(), "{checkpoint:?}");
        for text in ["INSERT INTO t VALUES (2, 1)", "SET synchronous_commit = off; INSERT INTO t VALUES (3, 1)"] {
            let refused = numbers(&mut d.session(), text).await.expect_err("nothing is written any more");
            assert_eq!(refused.code(), SqlState::IO_ERROR);
        }
        assert_eq!(d.ids().await, [1]);
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
                        all = all.and(numbers(&mut session, &text).await.map(drop));
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

/// A thread that waits in a runtime of its own has a silent transaction put aside, and so has who waits after it.
#[test]
fn a_silent_transaction_is_put_aside_for_a_thread_without_the_servers_runtime() {
    test(async {
        let d = Database::new().await;
        for n in 0..3 {
            let mut block = d.session();
            numbers(&mut block, &format!("BEGIN; INSERT INTO t VALUES ({n}, 1)")).await.expect("inserts");
            // (a client that is quick is waited for before it is put aside)
            for _ in 0..8 {
                block.rest_block();
                block.rouse();
                numbers(&mut block, "SELECT 1").await.expect("reads");
            }
            block.rest_block();
            let engine = d.engine.clone();
            let thread = std::thread::spawn(move || engine.while_nobody_writes(|| ()));
            let waited = tokio::task::spawn_blocking(move || thread.join());
            waited.await.expect("no panic").expect("no panic").expect("has its turn");
            numbers(&mut d.session(), &format!("INSERT INTO t VALUES ({n} + 10, 1)")).await.expect("inserts");
            block.rouse();
            numbers(&mut block, "COMMIT").await.expect("commits");
        }
        assert_eq!(d.ids().await, [0, 1, 2, 10, 11, 12]);
    });
}
