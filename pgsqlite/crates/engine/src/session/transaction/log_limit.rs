//! The bound of a database's write-ahead log (`--log-limit`).
//!
//! The log begins anew once all of it is in the database and nobody reads from it. SQLite tries that at each checkpoint and does not wait.
//! Two things keep it from that for good, and the log grows while others write:
//!
//! * *Readers that overlap*: there is always one that began before the last commit. Who gets the writer slot while the log is long waits
//!   in the slot until those who read have ended. Nothing is committed meanwhile, so that readers who come find all of the log in the
//!   database and do not read from it. The wait is short ([`Patience`]), and there is none for twenty times as long after it: writers
//!   lose a twentieth of their time at most. Beyond the limit the wait lasts until the log is empty, and those who read for longer than
//!   [`GRACE`] meanwhile end with 72000.
//! * *One transaction that reads for long*: past half of the limit a warning names its session. Past the limit it ends with 72000, as in
//!   PostgreSQL one ends that is older than `old_snapshot_threshold` (manual, 20.4.8): with the statement that runs, or with the session
//!   if its client is silent. Transactions that have not seen the log grow by half of the limit are left alone.

use crate::engine::Engine;
use crate::requests::too_old;
use crate::session::context::SessionContext;
use crate::session::execution::work::Begins;
use crate::session::executor::Executor;
use crate::writer::Slot;
use pgsqlite_storage::vfs::OldestReader;
use pgsqlite_types::Result;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Up to this length, in bytes, the log is left to SQLite's own checkpoints.
const LONG: u64 = 32 << 20;
/// How long the readers may be waited for, for each MiB of the log.
const PER_MIB: Duration = Duration::from_millis(3);
/// Beyond the limit a transaction that reads may take so long until it ends, and its session twice as long: a client that takes no rows
/// does not take the error, either.
const GRACE: Duration = Duration::from_secs(5);
/// How long a look at the readers is put off each time.
const LOOKS: Duration = Duration::from_millis(2);
/// A wait is followed by so many times as much time without one.
const SHARE: u32 = 20;

/// How long the slot may be kept to wait for those who read the log.
enum Patience {
    /// so long
    For(Duration),
    /// until it is empty: the log has reached its limit
    ForEver,
}

impl Engine {
    /// Whether the log is so long that its readers are worth waiting for, and how long.
    fn patience(&self) -> Option<Patience> {
        let length = self.writer.progress().length();
        if length <= LONG.min(self.config.log_limit.unwrap_or(LONG)) {
            return None;
        }
        if self.leaves_log {
            self.report_long_log(length);
            return None;
        }
        if self.config.log_limit.is_some_and(|limit| length > limit) {
            return Some(Patience::ForEver);
        }
        let due = self.long_log.next.lock().is_none_or(|next| next <= Instant::now());
        due.then(|| Patience::For(PER_MIB * u32::try_from(length >> 20).unwrap_or(u32::MAX)))
    }

    /// Looks for a transaction that has read while the log grew: warns of it, and ends it if the log has reached its limit.
    fn look_at_oldest_reader(&self) {
        let Some(limit) = self.config.log_limit else { return };
        let log = self.writer.progress();
        if log.length() <= limit / 2 {
            return;
        }
        let Some(reader) = log.oldest_reader().filter(|reader| reader.grown > limit / 4) else { return };
        let ends = log.length() > limit && reader.grown > limit / 2;
        if ends || self.is_first_warning(reader) {
            self.report_reader(reader, ends, log.length());
        }
    }

    /// Another program writes the log back: if it does not come to that, it is said once for each limit that the log has passed.
    fn report_long_log(&self, length: u64) {
        let Some(limit) = self.config.log_limit else { return };
        let reported = self.long_log.reported.load(Ordering::Relaxed);
        if length < reported / 2 {
            self.long_log.reported.store(0, Ordering::Relaxed);
        } else if length > reported + limit {
            self.long_log.reported.store(length, Ordering::Relaxed);
            tracing::warn!(
                target: "pgsqlite::log",
                "the log of database \"{}\" is {} MiB long: what copies it and writes it back (archive, max_wal_senders, or checkpoints = external) does not run, or cannot",
                self.config.database, length >> 20,
            );
        }
    }

    /// Whether nobody has been warned of this transaction.
    fn is_first_warning(&self, reader: OldestReader) -> bool {
        let transaction = (reader.session, reader.began);
        std::mem::replace(&mut *self.long_log.reader.lock(), transaction) != transaction
    }

    /// Logs whose transaction keeps the log from beginning anew, and ends that if it has to end.
    fn report_reader(&self, reader: OldestReader, ends: bool, length: u64) {
        let Some(activity) = self.activity_of(reader.session) else { return };
        let what = if ends { "is ended" } else { "keeps it from beginning anew" };
        let live = activity.live();
        tracing::warn!(
            target: "pgsqlite::log", pid = activity.pid, user = activity.user, database = activity.database,
            "the log of database \"{}\" is {} MiB long: the transaction of process {} {what}\nits last statement: {}",
            activity.database, length >> 20, activity.pid, live.query,
        );
        if let (true, Some(server)) = (ends, crate::session::execution::server_functions::session_of(activity.pid)) {
            server.cancel().end_snapshot(reader.began);
        }
    }

    /// Ends the session whose transaction does not end.
    fn end_session_of(&self, reader: OldestReader) {
        let server = self
            .activity_of(reader.session)
            .and_then(|a| crate::session::execution::server_functions::session_of(a.pid));
        if let Some(server) = server {
            server.cancel().terminate();
        }
    }
}

impl SessionContext {
    /// Empties the log, and waits for those who keep that from being done.
    async fn wait_for_readers(&mut self, patience: &Patience) -> Result<()> {
        let began = Instant::now();
        let mut ended: Option<(OldestReader, Instant)> = None;
        // (without one to spare now, there will be one another time)
        let Some(connection) = self.engine.connection_to_spare()? else { return Ok(()) };
        let result = loop {
            match self.cancel.work(Begins::Apart, None, || connection.empty_log()) {
                Ok(false) => {}
                Ok(true) => break Ok(()),
                Err(e) => {
                    // the writer may have more luck; what it meets is its own error
                    tracing::warn!(target: "pgsqlite::log", "the log could not be written back: {e}");
                    break self.cancel.check();
                }
            }
            match patience {
                Patience::For(limit) if began.elapsed() >= *limit => break Ok(()),
                Patience::ForEver if began.elapsed() >= GRACE => match self.engine.writer.progress().oldest_reader() {
                    Some(reader) => match &ended {
                        Some((known, since)) if known.began == reader.began && known.session == reader.session => {
                            if since.elapsed() >= GRACE {
                                self.engine.end_session_of(reader);
                            }
                        }
                        _ => {
                            ended = Some((reader, Instant::now()));
                            self.engine.report_reader(reader, true, self.engine.writer.progress().length());
                        }
                    },
                    // another program reads, and nothing can be done about that
                    None => break Ok(()),
                },
                _ => {}
            }
            tokio::select! {
                biased;
                stopped = self.cancel.requested() => break Err(stopped),
                () = tokio::time::sleep(LOOKS) => {}
            }
        };
        self.engine.idle.put(connection);
        result
    }
}

impl Executor {
    /// With the writer slot, before a transaction begins in it: looks at the log's length, and does what it asks for. Errors: those of
    /// requests that come while the readers are waited for.
    pub(in crate::session) async fn bound_log(&mut self, slot: &mut Slot) -> Result<()> {
        self.context.engine.look_at_oldest_reader();
        let Some(patience) = self.context.engine.patience() else { return Ok(()) };
        if self.connection.as_ref().is_some_and(|connection| connection.is_reading()) {
            // its own snapshot is in the log
            return Ok(());
        }
        slot.commit_shared();
        let began = Instant::now();
        let waited = self.context.wait_for_readers(&patience).await;
        *self.context.engine.long_log.next.lock() = Some(Instant::now() + began.elapsed().max(LOOKS) * SHARE);
        waited
    }

    /// 72000 (fatal) if the transaction that the silent client has left open is to end.
    pub(in crate::session) fn check_snapshot(&self) -> Result<()> {
        let began = self.connection.as_ref().map_or(0, |connection| connection.reading().began());
        match self.context.cancel.ends_snapshot(began) {
            true => Err(too_old().fatal()),
            false => Ok(()),
        }
    }
}
