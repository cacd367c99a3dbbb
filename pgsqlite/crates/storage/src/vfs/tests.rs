//! What other processes see of the short cuts: nothing but a read mark that is held a little longer.

use super::marks::Anchor;
use super::open::open_file;
use crate::in_memory::MemoryFolder;
use pgsqlite_types::work;
use rusqlite::Connection;
use std::path::Path;

/// A database in WAL mode with one table.
fn database(path: &Path) -> Connection {
    let db = open_file(path).expect("opens");
    db.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; CREATE TABLE t (i)").expect("runs");
    db
}

fn count(db: &Connection) -> i64 {
    db.query_row("SELECT count(*) FROM t", [], |r| r.get(0)).expect("reads")
}

#[test]
fn readers_and_writers_see_each_other_while_a_mark_is_held() {
    let folder = MemoryFolder::new().expect("a folder");
    let path = folder.file();
    let writer = database(&path);
    let reader = open_file(&path).expect("opens");
    // not ours: SQLite's own VFS, as another program has it
    let other = super::open::as_another_program(&path).expect("opens");
    let anchor = Anchor::new(&path).expect("opens").expect("the files are ours");
    for i in 1..=300 {
        writer.execute("INSERT INTO t VALUES (?1)", [i]).expect("writes");
        assert_eq!((count(&reader), count(&writer), count(&other)), (i, i, i));
        assert!(anchor.mark().is_some(), "a mark is held after a reader has gone");
    }
    // a transaction keeps its snapshot
    reader.execute_batch("BEGIN").expect("begins");
    assert_eq!(count(&reader), 300);
    writer.execute("INSERT INTO t VALUES (0)", []).expect("writes");
    assert_eq!((count(&reader), count(&writer)), (300, 301));
    reader.execute_batch("COMMIT").expect("commits");
    assert_eq!(count(&reader), 301);
}

/// A checkpoint of a connection of this process is not held up by the mark, and the log begins anew after it.
#[test]
fn checkpoints_come_first() {
    let folder = MemoryFolder::new().expect("a folder");
    let path = folder.file();
    let db = database(&path);
    let _anchor = Anchor::new(&path).expect("opens").expect("the files are ours");
    let reader = open_file(&path).expect("opens");
    for _ in 0..3 {
        for i in 0..100 {
            db.execute("INSERT INTO t VALUES (?1)", [i]).expect("writes");
            count(&reader);
        }
        let (busy, frames, copied): (i64, i64, i64) = db
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?)))
            .expect("checkpoints");
        assert_eq!((busy, frames, copied), (0, 0, 0), "all frames were copied and the log is empty");
    }
    assert_eq!(count(&reader), 300);
}

/// The log does not grow without end while there is always a reader: SQLite's own checkpoint after 1000 pages gets through.
#[test]
fn the_log_is_reused() {
    let folder = MemoryFolder::new().expect("a folder");
    let path = folder.file();
    let db = database(&path);
    let _anchor = Anchor::new(&path).expect("opens").expect("the files are ours");
    let readers = [open_file(&path).expect("opens"), open_file(&path).expect("opens")];
    for i in 0..6000_i64 {
        db.execute("INSERT INTO t VALUES (?1)", [i]).expect("writes");
        count(&readers[i as usize % 2]);
    }
    let log = std::fs::metadata(path.with_file_name("main.db-wal")).expect("is there").len();
    assert!(log < 1200 * 4120, "the log has {log} bytes");
}

/// The mark goes when nobody reads any more: then another program's checkpoint gets through.
#[test]
fn an_idle_mark_is_let_go() {
    let folder = MemoryFolder::new().expect("a folder");
    let path = folder.file();
    let db = database(&path);
    let anchor = Anchor::new(&path).expect("opens").expect("the files are ours");
    db.execute("INSERT INTO t VALUES (1)", []).expect("writes");
    count(&db);
    assert!(anchor.mark().is_some());
    while anchor.mark().is_some() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert_eq!(count(&db), 1);
    assert!(anchor.mark().is_some(), "and is held again after the next reader");
}

/// What COMMIT has acknowledged is in the files then, also where the transaction was larger than the page cache and SQLite has
/// written frames of it twice (it gives those new headers at the end).
#[test]
fn a_spilled_transaction_is_in_the_log() {
    let folder = MemoryFolder::new().expect("a folder");
    let path = folder.file();
    let db = database(&path);
    db.execute_batch("PRAGMA synchronous = NORMAL; PRAGMA cache_size = 5").expect("runs");
    for round in 1..=3_i64 {
        db.execute_batch("BEGIN").expect("begins");
        for i in 0..200_i64 {
            db.execute("INSERT INTO t VALUES (randomblob(1 + ?1 % 7 * 300))", [i]).expect("writes");
        }
        for i in (1..=200_i64).chain(1..=100) {
            db.execute("UPDATE t SET i = randomblob(length(i)) WHERE rowid = ?1", [i]).expect("writes");
        }
        db.execute_batch("COMMIT").expect("commits");
        for end in ["", "-wal"] {
            let name = |base: &str| path.with_file_name(format!("{base}.db{end}"));
            std::fs::copy(name("main"), name("copy")).expect("copies");
        }
        let copy = super::open::as_another_program(path.with_file_name("copy.db")).expect("opens");
        let sound: String = copy.query_row("PRAGMA integrity_check", [], |r| r.get(0)).expect("checks");
        assert_eq!((count(&copy), sound.as_str()), (200 * round, "ok"));
        drop(copy);
        for end in ["", "-wal", "-shm"] {
            let _ = std::fs::remove_file(path.with_file_name(format!("copy.db{end}")));
        }
    }
}

/// Readers see a long commit that somebody waits for when all but its last frame is on disk.
#[test]
fn a_long_commit_is_on_disk_before_it_is_seen() {
    const LAST_FRAME: u64 = 24 + 4096;
    for spills in [false, true] {
        let folder = MemoryFolder::new().expect("a folder");
        let db = database(&folder.file());
        db.execute_batch("PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 0").expect("runs");
        db.execute_batch(if spills { "PRAGMA cache_size = 5" } else { "PRAGMA cache_size = 5000" }).expect("runs");
        // SAFETY: the connection is this thread's.
        let progress = unsafe { super::reading_of(db.handle()) }.expect("the files are ours").progress;
        let change = |rows: i64| {
            db.execute_batch("BEGIN").expect("begins");
            db.execute_batch(&format!(
                "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {rows})
                 INSERT INTO t SELECT randomblob(3000) FROM n;
                 UPDATE t SET i = randomblob(3000);
                 COMMIT"
            ))
            .expect("runs");
            progress.unsynced_bytes()
        };
        assert!(change(1000) > 3_000_000, "nobody waits for the disk");
        progress.begins(1);
        assert!(change(1000) <= LAST_FRAME, "spills: {spills}");
        db.execute_batch("DELETE FROM t").expect("runs");
        progress.is_synced(&progress.extent(), 1);
        progress.begins(2);
        assert!((LAST_FRAME..100_000).contains(&change(10)), "a short commit is synced by the one who waits for it");
    }
}

/// A session whose statement is to end; whether its transaction has savepoints.
struct Ends(bool);

impl work::Overseer for Ends {
    fn look(&self, _: bool) -> pgsqlite_types::Result<()> {
        Err(pgsqlite_types::PgError::new(pgsqlite_types::SqlState::QUERY_CANCELED, "enough"))
    }
    fn stops_sqlite(&self) -> bool {
        true
    }
    fn has_savepoints(&self) -> bool {
        self.0
    }
}

/// A statement that is to end does so within one value: fewer steps of SQLite's machine are made than its progress handler waits for. What
/// reads beside own changes goes on, for SQLite may read to take them back; so does a COMMIT, which nobody oversees.
#[test]
fn a_request_is_seen_within_one_value() {
    let folder = MemoryFolder::new().expect("a folder");
    let path = folder.file();
    let db = database(&path);
    let stopped = |error: rusqlite::Error| error.sqlite_error_code();
    db.execute("INSERT INTO t VALUES (zeroblob(3000000))", []).expect("writes");
    let reader = open_file(&path).expect("opens");
    let last = |db: &Connection| db.query_row("SELECT substr(i, -1) = x'00' FROM t", [], |r| r.get::<_, bool>(0));
    let interrupted = Some(rusqlite::ErrorCode::OperationInterrupted);
    assert_eq!(work::overseen(&Ends(false), || last(&reader)).map_err(stopped), Err(interrupted));
    assert_eq!(last(&reader), Ok(true));
    db.execute_batch("PRAGMA cache_size = 5; BEGIN IMMEDIATE").expect("begins");
    assert_eq!(work::overseen(&Ends(false), || last(&db)), Ok(true));
    let write = || db.execute("INSERT INTO t VALUES (randomblob(3000000))", []);
    assert_eq!(work::overseen(&Ends(false), write).map_err(stopped), Err(interrupted));
    assert!(db.is_autocommit(), "SQLite has taken the transaction back");
    assert_eq!((count(&db), last(&db)), (1, Ok(true)));
    // (an allocation)
    let large =
        || db.query_row("SELECT octet_length(zeroblob(5000000) || zeroblob(5000000))", [], |r| r.get::<_, i64>(0));
    assert_eq!(work::overseen(&Ends(false), large).map_err(stopped), Err(Some(rusqlite::ErrorCode::OutOfMemory)));
    // (SQLite would give up the savepoints)
    assert_eq!(work::overseen(&Ends(true), large), Ok(10_000_000));
    assert_eq!(large(), Ok(10_000_000));
}

/// Without the watcher's thread no mark stays held, neither the first nor a later one.
#[test]
fn no_mark_is_held_that_nobody_watches() {
    let folder = MemoryFolder::new().expect("a folder");
    let path = folder.file();
    let db = database(&path);
    let anchor = Anchor::new(&path).expect("opens").expect("the files are ours");
    for i in 0..3 {
        db.execute("INSERT INTO t VALUES (?1)", [i]).expect("writes");
        assert_eq!(count(&db), i + 1);
        assert!(anchor.mark().is_some());
        assert!(!anchor.hand_over_to_nobody());
    }
}
