//! An archive that several servers share: what the one that has the lease does.
//!
//! It puts an entry for each group of commits, and answers those who wait for that. The log begins anew when all of it is in the archive: what is in the database's file has been shown to others
//! only after that.

use super::{failed, now, Ask, Pending, Work, LONG, LONGEST_FAILURE, PATIENCE, VERY_LONG};
use crate::failover::{unknown, Failover};
use pgsqlite_engine::engine::Engine;
use pgsqlite_replication::failover::node::Role;
use pgsqlite_replication::ltx::Header;
use pgsqlite_storage::stream::{Next, Stream};
use pgsqlite_types::Result;
use std::sync::mpsc::{channel, Sender};
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
        loop {
            match self.ship(&engine) {
                Ok(()) => return Ok(()),
                Err(_) if failover.is_deposed() => return Err(unknown()),
                Err(e) if began.elapsed() > LONGEST_FAILURE => {
                    failover.give_up(e.message());
                    return Err(unknown());
                }
                Err(e) => {
                    tracing::warn!("the archive of database \"{}\" is not written: {}", self.name, e.message());
                    std::thread::sleep(AGAIN);
                }
            }
        }
    }

    /// If the log is long: asks for the writer's slot, and then this thread to have the log begin anew ([`Ask::Anew`]). Another thread waits for the slot, because whoever has it may wait for this one.
    pub(super) fn ask_anew(&mut self, asks: Option<&Sender<Ask>>) {
        let is_long = self.stream.as_ref().is_some_and(|stream| stream.log_length() > LONG);
        let Some(engine) = self.engine.upgrade().filter(|_| is_long && !self.waits_for_slot) else { return };
        let Some(asks) = asks.cloned() else { return };
        let work = move || {
            let waited = engine.while_nobody_writes(|| {
                let (done, is_done) = channel();
                // (the thread may have ended, or end before it comes to that)
                if asks.send(Ask::Anew(Some(done))).is_ok() {
                    let _ = is_done.recv();
                }
            });
            if waited.is_err() {
                let _ = asks.send(Ask::Anew(None));
            }
        };
        match std::thread::Builder::new().name("begins-anew".into()).spawn(work) {
            Ok(_) => self.waits_for_slot = true,
            Err(e) => tracing::warn!("no thread to have the log begin anew: {e}"),
        }
    }

    /// While nobody writes: puts what is committed, and has the log begin anew.
    pub(super) fn begin_anew(&mut self) -> Result<()> {
        let (Some(engine), Some(mut stream)) = (self.engine.upgrade(), self.stream.take()) else { return Ok(()) };
        match stream.advance()? {
            Next::Nothing => {}
            Next::Batch(batch) => self.write(&engine, &batch)?,
            // (it is told when it is looked at next)
            Next::Lost(_) => return Ok(()),
        }
        let (length, began) = (stream.log_length(), Instant::now());
        while !stream.write_back()? && length > VERY_LONG && began.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(2));
        }
        self.stream = Some(stream);
        Ok(())
    }
}
