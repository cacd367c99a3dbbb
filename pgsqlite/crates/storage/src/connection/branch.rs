//! Transactions that change the snapshot they read, beside the log (`vfs/branch.rs`).

use super::{Connection, Natives};
use pgsqlite_types::{PgError, Result};

/// While a branch lives, its pages stay in memory: there is no place in a file for them.
const NO_LIMIT: &str = "PRAGMA main.cache_spill = 2147483647";
/// SQLite's own: a cache that is full writes pages to the log.
const LIMIT: &str = "PRAGMA main.cache_spill = 1";

impl<N: Natives> Connection<N> {
    /// In a transaction that has only read: it writes from now on, on the snapshot that it reads, without SQLite's write lock. It can be
    /// rolled back, or [joined](Connection::join_branch). False: that cannot be had here.
    pub fn begin_branch(&self) -> Result<bool> {
        // SAFETY: a live connection, used by this thread.
        if !unsafe { crate::vfs::begin_branch(self.handle()) } {
            return Ok(false);
        }
        let begun = self.exec(NO_LIMIT).and_then(|()| self.try_write_lock());
        match begun {
            Ok(true) => Ok(true),
            other => {
                // SAFETY: as above; SQLite has not begun to write.
                unsafe { crate::vfs::end_branch(self.handle()) };
                other.and(Err(PgError::internal("a transaction beside the log could not begin")))
            }
        }
    }

    /// Whether its transaction is a branch.
    pub fn is_branch(&self) -> bool {
        self.reading.as_ref().is_some_and(|r| r.is_beside())
    }

    /// Makes a writing transaction of a branch, which may commit. False: others have committed since its snapshot, or another program
    /// writes just now; then it is as before.
    pub fn join_branch(&self) -> Result<bool> {
        // SAFETY: a live connection, used by this thread.
        let joined = unsafe { crate::vfs::join_branch(self.handle()) };
        if joined {
            self.exec(LIMIT)?;
        }
        Ok(joined)
    }

    /// Rolls a branch back.
    pub fn leave_branch(&self) -> Result<()> {
        self.command("ROLLBACK")?;
        self.exec(LIMIT)
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use crate::connection::without_natives::Connection;
    use crate::in_memory::MemoryFolder;

    struct Two {
        _folder: MemoryFolder,
        a: Connection,
        b: Connection,
    }

    /// Two connections to a database with a table of 100 rows.
    fn two() -> Two {
        let folder = MemoryFolder::new().expect("a folder");
        let path = folder.file();
        let a = Connection::open(&path).expect("opens");
        a.exec("PRAGMA journal_mode = WAL").expect("is set");
        a.exec("CREATE TABLE t (i INTEGER PRIMARY KEY, x)").expect("runs");
        a.exec(&filled(100)).expect("fills");
        let b = Connection::open(&path).expect("opens");
        Two { _folder: folder, a, b }
    }

    fn filled(rows: usize) -> String {
        format!(
            "INSERT INTO t (x) WITH n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {rows})
             SELECT randomblob(200) FROM n"
        )
    }

    fn count(c: &Connection) -> i64 {
        c.rusqlite().query_row("SELECT count(*) FROM t", [], |r| r.get(0)).expect("reads")
    }

    fn is_sound(c: &Connection) -> bool {
        c.rusqlite().query_row("PRAGMA integrity_check", [], |r| r.get::<_, String>(0)).expect("checks") == "ok"
    }

    #[test]
    fn a_branch_sees_its_snapshot_and_its_changes_and_nobody_sees_those() {
        let Two { a, b, .. } = two();
        for round in 0..20 {
            let before = count(&a);
            a.command("BEGIN").expect("begins");
            a.take_snapshot().expect("reads");
            b.exec(&filled(3)).expect("others commit before the branch begins");
            assert!(a.begin_branch().expect("branches") && a.is_branch());
            // more than the page cache holds, savepoints among them
            a.exec("SAVEPOINT s").expect("runs");
            a.exec(&filled(if round % 5 == 0 { 200_000 } else { 10 })).expect("writes");
            a.exec("ROLLBACK TO s").expect("runs");
            a.exec(&filled(10)).expect("writes");
            for i in 1..=5 {
                b.exec(&filled(1000)).expect("others commit meanwhile");
                a.exec("UPDATE t SET x = randomblob(150)").expect("writes");
                assert_eq!((count(&a), count(&b)), (before + 10, before + 3 + 1000 * i));
            }
            assert!(!a.join_branch().expect("is asked"), "others have committed");
            assert!(a.exec("COMMIT").is_err(), "nothing of it may reach the log");
            if a.is_branch() {
                a.leave_branch().expect("rolls back");
            }
            assert!(!a.is_branch() && a.is_autocommit());
            assert_eq!((count(&a), count(&b)), (before + 5003, before + 5003));
            a.exec("DELETE FROM t WHERE i > 100").expect("writes as ever");
            assert!(is_sound(&a) && is_sound(&b));
        }
    }

    #[test]
    fn a_branch_of_the_newest_snapshot_can_be_committed() {
        let Two { a, b, .. } = two();
        for i in 1..=10 {
            a.command("BEGIN").expect("begins");
            a.take_snapshot().expect("reads");
            assert!(a.begin_branch().expect("branches"));
            a.exec(&filled(1000)).expect("writes");
            b.command("BEGIN IMMEDIATE").expect("the write lock is free");
            assert!(!a.join_branch().expect("is asked"), "another writes");
            b.command("ROLLBACK").expect("ends");
            assert!(a.join_branch().expect("is asked") && !a.is_branch());
            assert!(b.without_patience(|| b.exec("BEGIN IMMEDIATE")).is_err(), "the write lock is taken");
            a.command("COMMIT").expect("commits");
            assert_eq!((count(&a), count(&b)), (100 + 1000 * i, 100 + 1000 * i));
        }
        assert!(is_sound(&a) && is_sound(&b));
    }

    #[test]
    fn a_branch_of_a_log_that_is_empty() {
        let Two { a, b, .. } = two();
        a.rusqlite().query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).expect("checkpoints");
        a.command("BEGIN").expect("begins");
        a.take_snapshot().expect("reads");
        assert!(a.begin_branch().expect("branches"));
        a.exec(&filled(5)).expect("writes");
        b.exec(&filled(7)).expect("writes");
        assert_eq!((count(&a), count(&b)), (105, 107));
        a.leave_branch().expect("rolls back");
        assert_eq!(count(&a), 107);
        assert!(is_sound(&a));
    }
}
