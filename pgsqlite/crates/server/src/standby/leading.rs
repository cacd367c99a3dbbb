//! A standby that has got the lease of its archive: it reads the archive to its end, and puts the first entry of its own, before anybody may write.

use super::{failed, Work};
use crate::failover::{unknown, Begun, Failover};
use pgsqlite_engine::engine::Engine;
use pgsqlite_replication::failover::node::{Role, Verdict};
use pgsqlite_replication::ltx::Header;
use pgsqlite_types::{PgError, Result};
use std::sync::atomic::Ordering;
use std::time::{SystemTime, UNIX_EPOCH};

impl Work {
    /// The archive has been read to its end, after the lease was taken. Puts an entry with nothing but the first page, as it is: no late request of an earlier primary can come before it. Errors:
    /// 08007 if the lease is lost.
    pub(super) fn begin_to_lead(&mut self, engine: &Engine, failover: &Failover) -> Result<()> {
        while failover.role() != Role::Leads {
            if failover.is_deposed() {
                return Err(unknown());
            }
            failover.has_read(self.transaction);
            let position = engine.stream(None).begin_here()?;
            let position = position.ok_or_else(|| PgError::internal("the log cannot be looked at"))?;
            let (content, pages) = engine.first_page()?;
            let number = self.transaction + 1;
            if self.time == 0 {
                // (nothing has come since the start; times never go back)
                let entries = self.archive.entries().map_err(|e| failed(&e))?;
                if let Some(newest) = entries.iter().max_by_key(|entry| entry.last) {
                    let headers = self.archive.headers(std::slice::from_ref(newest)).map_err(|e| failed(&e))?;
                    self.time = headers[0].time;
                }
            }
            let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_millis() as i64);
            let lsn = self.recovery.replayed.load(Ordering::Acquire);
            let header = Header::new(content.len() as u32, pages, number, number, now.max(self.time)).at((lsn, lsn));
            let made = self.archive.make_file(0, &header.by(failover.process().0), |to| to.page(1, &content));
            let (made, ()) = made.map_err(|e| failed(&e))?;
            match failover.append(&self.archive, &made, &crate::archiving::note(number, position))? {
                Verdict::Acknowledged => {
                    self.transaction = number;
                    failover.begins(Begun { last: number, time: made.header.time, lsn, position });
                }
                // (a late request of an earlier primary)
                Verdict::Behind => self.follow(engine, true)?,
                Verdict::Again | Verdict::Deposed => return Err(unknown()),
            }
        }
        Ok(())
    }
}
