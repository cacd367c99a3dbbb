//! An archive that several servers share: what the one that has the lease does.
//!
//! It puts an entry for each group of commits, and answers those who wait for that. The log begins anew when all of it is in the archive: what is in the database's file has been shown to others
//! only after that.

use super::{failed, now, Pending, Work, LONG, LONGEST_FAILURE, PATIENCE, VERY_LONG};
use crate::failover::{unknown, Failover};
use pgsqlite_engine::engine::Engine;
use pgsqlite_replication::failover::node::Role;
use pgsqlite_replication::ltx::Header;
use pgsqlite_storage::stream::{Next, Stream};
use pgsqlite_types::Result;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Between two attempts.
const AGAIN: Duration = Duration::from_millis(100);

impl Work {
    /// The number of this process in what it writes; zero: there is no lease.
    pub(super) fn process(&self) -> u64 {
        self.failover.as_ref().map_or(0, |failover| failover.process().0)
    }

    /// Puts the first entry, after which no other server's can come. Errors: 08007 if the lease is lost.
    pub(super) fn begin_to_lead(&mut self, engine: &Arc<Engine>, failover: &Failover) -> Result<()> {
        while !failover.leads() {
            if failover.is_deposed() {
                return Err(unknown());
            }
            let shipped = self.ship(engine).and_then(|()| match failover.role() {
                Role::Begins => self.say_nothing(engine),
                _ => Ok(()),
            });
            if let Err(e) = shipped {
                tracing::warn!("the archive of database \"{}\" is not gone on with: {}", self.name, e.message());
                std::thread::sleep(AGAIN);
            }
        }
        Ok(())
    }

    /// Puts an entry with nothing but the first page, as it is.
    fn say_nothing(&mut self, engine: &Engine) -> Result<()> {
        let Some(position) = self.stream.as_ref().and_then(Stream::position) else { return Ok(()) };
        let (content, pages) = engine.first_page()?;
        self.time = self.time.max(now());
        let number = self.last + 1;
        let header = Header::new(content.len() as u32, pages, number, number, self.time);
        let header = header.at((self.lsn, self.lsn)).by(self.process());
        let made = self.archive.make_file(0, &header, |to| to.page(1, &content));
        let (made, ()) = made.map_err(|e| failed(&e.to_string()))?;
        self.pending = Some(Pending { made, position });
        self.publish(engine)
    }

    /// All that is committed is in the archive when this returns. Errors: 08007 if the lease is lost.
    pub(super) fn ship_all(&mut self) -> Result<()> {
        let (Some(engine), Some(failover)) = (self.engine.upgrade(), self.failover.clone()) else {
            return Err(unknown());
        };
        let began = Instant::now();
        self.hurries = true;
        let shipped = loop {
            match self.ship(&engine) {
                Ok(()) => break Ok(()),
                Err(_) if failover.is_deposed() => break Err(unknown()),
                Err(e) if began.elapsed() > LONGEST_FAILURE => {
                    failover.give_up(e.message());
                    break Err(unknown());
                }
                Err(e) => {
                    tracing::warn!("the archive of database \"{}\" is not written: {}", self.name, e.message());
                    std::thread::sleep(AGAIN);
                }
            }
        };
        self.hurries = false;
        shipped
    }

    /// Whether the log is so long that it should begin anew.
    pub(super) fn is_long(&self) -> bool {
        self.stream.as_ref().is_some_and(|stream| stream.log_length() > LONG)
    }

    /// Puts what is committed, and has the log begin anew.
    pub(super) fn ship_leading(&mut self, engine: &Arc<Engine>, stream: &mut Stream) -> Result<()> {
        self.ship_next(engine, stream)?;
        let length = stream.log_length();
        if self.hurries || length <= LONG {
            return Ok(());
        }
        engine.while_nobody_writes(|| {
            let began = Instant::now();
            match stream.advance()? {
                Next::Nothing => {}
                Next::Batch(batch) => self.write(engine, &batch)?,
                // (there is another time)
                Next::Lost(_) => return Ok(()),
            }
            while !stream.write_back()? && length > VERY_LONG && began.elapsed() < PATIENCE {
                std::thread::sleep(Duration::from_millis(2));
            }
            Ok(())
        })?
    }
}
