//! Page caches of connections whose queries last.

use super::{Connection, Natives};
use crate::vfs::caches::{wide, Grant};

/// What a connection's sorts and, [`crate::vfs::caches::TIMES`] as much, its page cache may take.
pub(super) const CACHE_SIZE: &str = "PRAGMA main.cache_size = -2048";

impl<N: Natives> Connection<N> {
    /// Gives the connection a wide page cache, where one is free. A query that lasts is about to run.
    pub fn widen(&mut self) {
        if self.wide.is_none() {
            if let Some(grant) = Grant::new() {
                if wide(&grant, || self.conn.execute_batch(CACHE_SIZE)).is_ok() {
                    self.wide = Some(grant);
                }
            }
        }
    }

    /// Takes the wide page cache away if another connection wants one. A query has ended.
    pub fn narrow(&mut self) {
        if self.wide.is_some() && Grant::is_wanted() && self.conn.execute_batch(CACHE_SIZE).is_ok() {
            self.wide = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::connection::without_natives::Connection;
    use libsqlite3_sys as ffi;

    /// The bytes of a connection's page cache.
    fn cached(c: &Connection) -> i32 {
        let (mut now, mut most) = (0, 0);
        // SAFETY: a live connection of this thread.
        unsafe {
            let db = c.rusqlite().handle();
            ffi::sqlite3_db_status(db, ffi::SQLITE_DBSTATUS_CACHE_USED, &mut now, &mut most, 0);
        }
        now
    }

    #[test]
    fn a_wide_cache_keeps_what_a_narrow_one_does_not() {
        let folder = std::env::temp_dir().join(format!("pgsqlite-wide-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let mut c = Connection::open(&folder.join("t.db")).expect("opens");
        let fill = "CREATE TABLE t (a); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 8000)
                    INSERT INTO t SELECT zeroblob(4000) FROM n";
        c.rusqlite().execute_batch(fill).expect("fills");
        let read = |c: &Connection| {
            c.rusqlite().query_row("SELECT sum(length(a)) FROM t", [], |r| r.get::<_, i64>(0)).expect("reads");
            cached(c)
        };
        let narrow = read(&c);
        assert!(narrow < 20 << 20, "{narrow}");
        c.widen();
        let wide = read(&c);
        assert!(wide > 30 << 20, "{wide}");
        // nobody wants it
        c.narrow();
        assert!(read(&c) > 30 << 20);
        drop(c);
        std::fs::remove_dir_all(&folder).expect("is removed");
    }
}
