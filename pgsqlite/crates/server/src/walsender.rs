//! A connection for replication: a standby asks for what is committed to a database, and is sent it until one of the two ends
//! (<https://www.postgresql.org/docs/15/protocol-replication.html>).
//!
//! What is sent are LTX files (`pgsqlite_replication::stream`). Several are under way at a time, but not many: a standby that is slow gets larger ones.

use crate::client::{malformed, Client, End};
use crate::errors;
use crate::feed::{Changes, Copy, Feed, Following};
use crate::replication_command::{self, Command};
use crate::shared::Shared;
use crate::startup::Replicates;
use bytes::Bytes;
use parking_lot::Mutex;
use pgsqlite_engine::engine::Engine;
use pgsqlite_engine::session::{CancelHandle, Session};
use pgsqlite_natives::statistics::senders::{Phase, Sender, Sent};
use pgsqlite_replication::ltx::{Header, Writer};
use pgsqlite_replication::stream::{now, FromPrimary, FromStandby, Part, Status, MOST};
use pgsqlite_storage::stream::Position;
use pgsqlite_types::transaction_ids::lsn_text;
use pgsqlite_types::{PgError, Result, SqlState};
use pgsqlite_wire::backend::Column;
use pgsqlite_wire::frontend::{self, Message};
use std::collections::VecDeque;
use std::io::Write;
use std::sync::atomic::Ordering;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A standby that was sent nothing for so long is told that the server is there.
const KEEPALIVE: Duration = Duration::from_secs(10);
/// So many files may be under way that have not come to the standby yet.
const WINDOW: usize = 8;
/// So many bytes of a copy are made at a time.
const PIECE: usize = 1 << 20;
/// So long the standbys may take for what is left when the server stops, after all other clients are gone.
const LAST_CHANGES: Duration = Duration::from_secs(3);
/// So long the place in the log may take to be known after the start.
const PATIENCE: Duration = Duration::from_secs(60);

/// Serves a standby to its end.
pub async fn run(shared: &Arc<Shared>, session: Session, standby: Replicates, client: &mut Client) -> End {
    let Replicates { engine, feed, sender, is_for_database } = standby;
    let cancel = session.cancel_handle();
    let timeout = session.shown_setting("wal_sender_timeout").and_then(|shown| duration(&shown));
    client.set_send_timeout(timeout);
    let mut connection = Connection { shared, client, session, timeout, cancel, engine, feed, sender, is_for_database };
    let end = match connection.converse().await {
        Ok(()) => End::Gone,
        Err(end) => end,
    };
    shared.databases.statistics.senders.remove(&connection.sender);
    end
}

struct Connection<'a> {
    shared: &'a Arc<Shared>,
    client: &'a mut Client,
    session: Session,
    /// a standby that says nothing for so long is given up (`wal_sender_timeout`); None: it may be silent
    timeout: Option<Duration>,
    cancel: CancelHandle,
    engine: Arc<Engine>,
    feed: Arc<Feed>,
    sender: Arc<Sender>,
    is_for_database: bool,
}

/// How far the standby of a connection has come.
struct Sending {
    lsn: u64,
    position: Position,
    /// the ends of the files that have not come to it, and when they were sent
    under_way: VecDeque<(u64, Instant)>,
    /// the same of those that it has not applied
    unapplied: VecDeque<(u64, Instant)>,
    /// it has sent something, or taken what was sent
    heard: Instant,
    told: Instant,
    /// a status came after which nothing was under way
    was_idle: bool,
    /// when the server was told to stop, and when all other clients were gone
    stopping: bool,
    alone: Option<Instant>,
    /// the standby has ended the stream
    ended: bool,
}

/// Runs what may wait for the disk or for those who write. The tasks of the thread go on meanwhile.
fn blocking<R>(work: impl FnOnce() -> R) -> R {
    tokio::task::block_in_place(work)
}

impl Connection<'_> {
    /// Answers commands until the client goes.
    async fn converse(&mut self) -> Result<(), End> {
        // after an error in the extended protocol: up to Sync
        let mut skips = false;
        loop {
            let Some((kind, body)) = self.client.buffered_for_replication()? else {
                self.flush().await?;
                tokio::select! {
                    biased;
                    () = self.cancel.terminated() => return Err(terminated()),
                    () = self.shared.stopped() => return Err(terminated()),
                    filled = self.client.fill() => filled.map(drop)?,
                }
                continue;
            };
            if skips && !matches!(kind, b'S' | b'X') {
                continue;
            }
            match frontend::decode(kind, &body) {
                Ok(Message::Query(text)) => {
                    let text = String::from_utf8_lossy(text).into_owned();
                    if self.session.shown_setting("log_replication_commands").as_deref() == Some("on") {
                        tracing::warn!("received replication command: {text}");
                    }
                    match replication_command::parse(&text) {
                        Ok(command) => self.carry_out(command, &text).await?,
                        Err(e) => errors::write(&mut self.client.out, &e, b'E', Some(&text)),
                    }
                }
                Ok(Message::Terminate) => return Ok(()),
                // (leftovers of a stream that has ended)
                Ok(Message::CopyData(_) | Message::CopyDone | Message::CopyFail(_)) => continue,
                Ok(Message::Sync) => skips = false,
                Ok(Message::FunctionCall { .. }) => {
                    let message = "fastpath function calls not supported in a replication connection";
                    let error = PgError::new(SqlState::PROTOCOL_VIOLATION, message);
                    errors::write(&mut self.client.out, &error, b'E', None);
                }
                Ok(_) => {
                    let message = "extended query protocol not supported in a replication connection";
                    let error = PgError::new(SqlState::PROTOCOL_VIOLATION, message);
                    errors::write(&mut self.client.out, &error, b'E', None);
                    skips = true;
                    continue;
                }
                Err(e) => errors::write(&mut self.client.out, &malformed(e), b'E', None),
            }
            self.client.out.ready_for_query(b'I');
        }
    }

    async fn carry_out(&mut self, command: Command, text: &str) -> Result<(), End> {
        match command {
            Command::Identify => match self.identify() {
                Ok(row) => {
                    let columns = [("systemid", 25), ("timeline", 20), ("xlogpos", 25), ("dbname", 25)];
                    self.rows(&columns, &[row], "IDENTIFY_SYSTEM");
                }
                Err(e) => errors::write(&mut self.client.out, &e, b'E', None),
            },
            Command::List => {
                let names = self.shared.databases.names();
                let names = names.unwrap_or_else(|| vec![self.engine.catalog().database.clone()]);
                let rows: Vec<Vec<Option<String>>> = names.into_iter().map(|name| vec![Some(name)]).collect();
                self.rows(&[("datname", 25)], &rows, "LIST_DATABASES");
            }
            Command::Start { lsn, position } => {
                self.session.replicates(text);
                self.stream(lsn, position).await?;
                self.client.out.command_complete("START_REPLICATION");
            }
        }
        Ok(())
    }

    fn identify(&self) -> Result<Vec<Option<String>>> {
        let (lsn, _) = blocking(|| self.feed.place(&self.engine))?;
        let database = self.is_for_database.then(|| self.engine.catalog().database.clone());
        Ok(vec![Some(self.feed.identifier().to_string()), Some("1".into()), Some(lsn_text(lsn)), database])
    }

    fn rows(&mut self, columns: &[(&str, u32)], rows: &[Vec<Option<String>>], tag: &str) {
        let out = &mut self.client.out;
        out.row_description(columns.iter().map(|(name, type_oid)| Column {
            name,
            table_oid: 0,
            attnum: 0,
            type_oid: *type_oid,
            type_len: if *type_oid == 20 { 8 } else { -1 },
            typmod: -1,
            format: 0,
        }));
        for row in rows {
            out.message(b'D', |b| {
                b.extend_from_slice(&(row.len() as i16).to_be_bytes());
                for value in row {
                    match value {
                        Some(value) => {
                            b.extend_from_slice(&(value.len() as i32).to_be_bytes());
                            b.extend_from_slice(value.as_bytes());
                        }
                        None => b.extend_from_slice(&(-1i32).to_be_bytes()),
                    }
                }
            });
        }
        out.command_complete(tag);
    }

    async fn flush(&mut self) -> Result<(), End> {
        tokio::select! {
            biased;
            sent = self.client.flush() => sent,
            () = self.cancel.terminated() => Err(End::Gone),
        }
    }

    /// Sends pieces of a copy. The log cannot begin anew as long as the copy is read: a standby that takes too long for it is given up.
    async fn flush_of_copy(&mut self) -> Result<(), End> {
        let (engine, limit) = (self.engine.clone(), self.shared.config.log_limit);
        let mut flush = std::pin::pin!(self.client.flush());
        loop {
            let length = engine.log_state().log_bytes;
            if limit.is_some_and(|limit| length > limit) {
                tracing::warn!(
                    "the copy of database \"{}\" for the standby \"{}\" is given up: the log has grown to {length} bytes meanwhile",
                    self.sender.database,
                    self.sender.application_name
                );
                return Err(End::Gone);
            }
            tokio::select! {
                biased;
                sent = &mut flush => return sent,
                () = self.cancel.terminated() => return Err(End::Gone),
                () = tokio::time::sleep(Duration::from_millis(500)) => {}
            }
        }
    }

    /// Sends what is committed after a place, until one of the two ends.
    async fn stream(&mut self, lsn: u64, position: Option<Position>) -> Result<(), End> {
        let connected = self.feed.connect();
        let asked_to_leave = self.feed.asked_to_leave();
        let began = Instant::now();
        // (an archive may have to be read first)
        while let Err(e) = blocking(|| self.feed.place(&self.engine)) {
            if began.elapsed() > PATIENCE || e.code() != SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE {
                return Err(End::Fatal(e.fatal()));
            }
            tokio::select! {
                () = self.cancel.terminated() => return Err(terminated()),
                () = self.shared.stopped() => return Err(terminated()),
                () = tokio::time::sleep(Duration::from_millis(50)) => {}
            }
        }
        self.client.out.copy_response(b'W', &[]);
        self.sender.change(|sent| *sent = Sent { phase: Phase::Catchup, ..Sent::default() });
        let now = Instant::now();
        let mut sending = Sending {
            lsn,
            position: position.unwrap_or_default(),
            under_way: VecDeque::new(),
            unapplied: VecDeque::new(),
            heard: now,
            told: now,
            was_idle: false,
            stopping: false,
            alone: None,
            ended: false,
        };
        if position.is_none() {
            self.copy(&mut sending, "it has none").await?;
        }
        let mut grown = self.feed.subscribe();
        while !sending.ended {
            while let Some((kind, body)) = self.client.buffered_for_replication()? {
                self.take(&mut sending, kind, &body)?;
            }
            if self.feed.asked_to_leave() != asked_to_leave {
                return Err(terminated());
            }
            if let Some(timeout) = self.timeout.filter(|timeout| sending.heard.elapsed() >= *timeout) {
                let name = &self.sender.application_name;
                tracing::warn!(
                    "the standby \"{name}\" of database \"{}\" has said nothing for {timeout:?}: its connection is ended",
                    self.sender.database
                );
                return Err(End::Gone);
            }
            if self.has_stopped(&mut sending) {
                break;
            }
            grown.borrow_and_update();
            let has_room = sending.under_way.len() < WINDOW;
            if has_room && self.send_next(&mut sending).await? {
                continue;
            }
            self.keep_alive(&mut sending);
            self.flush().await?;
            let _waiting = has_room.then(|| self.feed.wait());
            let pause = if sending.stopping { Duration::from_millis(20) } else { Duration::from_secs(1) };
            tokio::select! {
                biased;
                () = self.cancel.terminated() => return Err(terminated()),
                filled = self.client.fill() => filled.map(drop)?,
                changed = grown.changed(), if has_room => changed.map_err(|_| terminated())?,
                () = self.shared.stopped(), if !sending.stopping => sending.stopping = true,
                () = tokio::time::sleep(pause) => {}
            }
        }
        drop(connected);
        self.client.out.copy_done();
        self.flush().await
    }

    /// Whether the server stops and the standby has had everything, or had time for it.
    fn has_stopped(&self, sending: &mut Sending) -> bool {
        if !sending.stopping {
            return false;
        }
        self.sender.change(|sent| sent.phase = Phase::Stopping);
        let sockets = self.shared.sockets.load(Ordering::Acquire);
        if sending.alone.is_none() && sockets <= self.shared.senders.load(Ordering::Acquire) {
            if let Err(e) = blocking(|| self.feed.take(&self.engine)) {
                tracing::debug!("{}", e.message());
            }
            sending.alone = Some(Instant::now());
            return false;
        }
        sending.alone.is_some_and(|at| {
            let has_all = blocking(|| self.feed.after(&self.engine, sending.lsn, sending.position));
            let has_all = matches!(has_all, Ok(Following::Nothing(_))) && sending.unapplied.is_empty();
            has_all || at.elapsed() >= LAST_CHANGES
        })
    }

    /// What the standby says.
    fn take(&self, sending: &mut Sending, kind: u8, body: &Bytes) -> Result<(), End> {
        sending.heard = Instant::now();
        let violation = |message: String| End::Fatal(PgError::new(SqlState::PROTOCOL_VIOLATION, message).fatal());
        match frontend::decode(kind, body).map_err(|e| End::Fatal(malformed(e).fatal()))? {
            Message::CopyData(data) => match FromStandby::decode(data) {
                Ok(FromStandby::Status(status)) => {
                    self.note(sending, &status);
                    if status.reply {
                        // (it is told at once)
                        sending.told = Instant::now() - KEEPALIVE;
                    }
                    Ok(())
                }
                Ok(FromStandby::Feedback) => Ok(()),
                Err(e) => Err(violation(e.to_string())),
            },
            Message::CopyDone => {
                sending.ended = true;
                Ok(())
            }
            Message::Terminate => Err(End::Gone),
            _ => Err(violation(format!("unexpected standby message type \"{}\"", char::from(kind)))),
        }
    }

    fn note(&self, sending: &mut Sending, status: &Status) {
        // (the time since the last file was sent that the standby has got over)
        let done = |sent: &mut VecDeque<(u64, Instant)>, upto: u64| {
            let mut lag = None;
            while let Some((_, at)) = sent.front().filter(|(end, _)| *end <= upto) {
                lag = Some(at.elapsed().as_micros() as i64);
                sent.pop_front();
            }
            lag
        };
        let came = done(&mut sending.under_way, status.written);
        let applied = done(&mut sending.unapplied, status.applied);
        let is_idle = came.is_none() && applied.is_none() && sending.unapplied.is_empty();
        let was_idle = std::mem::replace(&mut sending.was_idle, is_idle);
        self.sender.change(|sent| {
            (sent.written, sent.flushed, sent.replayed) = (status.written, status.flushed, status.applied);
            sent.reply_time = Some(status.sent);
            if is_idle && was_idle {
                (sent.write_lag, sent.flush_lag, sent.replay_lag) = (None, None, None);
            }
            sent.write_lag = came.or(sent.write_lag);
            if applied.is_some() {
                // (a standby syncs and shows changes in one step)
                (sent.flush_lag, sent.replay_lag) = (applied, applied);
            }
        });
    }

    fn keep_alive(&mut self, sending: &mut Sending) {
        let pause = self.timeout.map_or(KEEPALIVE, |timeout| KEEPALIVE.min(timeout / 2));
        if sending.told.elapsed() >= pause {
            sending.told = Instant::now();
            let reply = self.timeout.is_some_and(|timeout| sending.heard.elapsed() >= timeout / 2);
            self.message(&FromPrimary::Keepalive { end: sending.lsn, sent: now(), reply });
        }
    }

    fn message(&mut self, message: &FromPrimary) {
        self.client.out.message(b'd', |buffer| message.encode(buffer));
    }

    /// Sends what leads on. False: the standby has everything.
    async fn send_next(&mut self, sending: &mut Sending) -> Result<bool, End> {
        let next = blocking(|| self.feed.after(&self.engine, sending.lsn, sending.position));
        match next.map_err(|e| End::Fatal(e.fatal()))? {
            Following::Nothing(place) if place != sending.lsn => {
                // (the archive has counted anew)
                let position = sending.position.to_string();
                self.part(sending.lsn, place, Part::Moved { to: place, position: &position });
                self.flush().await?;
                self.sent(sending, place, sending.position);
                Ok(true)
            }
            Following::Nothing(_) => {
                let is_new = self.sender.progress().phase == Phase::Catchup;
                if is_new && sending.unapplied.is_empty() {
                    self.sender.change(|sent| sent.phase = Phase::Streaming);
                }
                Ok(false)
            }
            Following::Changes(changes) => {
                self.send(sending, &changes).await?;
                Ok(true)
            }
            Following::Gone => {
                self.copy(sending, "what it has missed is not kept any more").await?;
                Ok(true)
            }
        }
    }

    /// The places of a file were sent.
    fn sent(&self, sending: &mut Sending, to: u64, position: Position) {
        (sending.lsn, sending.position) = (to, position);
        (sending.told, sending.heard) = (Instant::now(), Instant::now());
        sending.under_way.push_back((to, Instant::now()));
        sending.unapplied.push_back((to, Instant::now()));
        self.sender.change(|sent| sent.sent = to);
    }

    async fn send(&mut self, sending: &mut Sending, changes: &Arc<Changes>) -> Result<(), End> {
        let (from, end) = (changes.from, changes.to);
        let (before, position) = (changes.before.to_string(), changes.after.to_string());
        self.part(from, end, Part::Begin { whole: false, to: changes.to, before: &before, position: &position });
        let (mut offset, mut bytes) = (0, Vec::new());
        loop {
            let read = match changes.is_in_memory() {
                true => changes.read(offset, &mut bytes, MOST),
                false => blocking(|| changes.read(offset, &mut bytes, MOST)),
            };
            read.map_err(|e| End::Fatal(e.fatal()))?;
            if bytes.is_empty() {
                break;
            }
            offset += bytes.len() as u64;
            self.part(from, end, Part::Bytes(&bytes));
            if self.client.out.buffer.len() >= PIECE {
                self.flush().await?;
            }
        }
        self.part(from, end, Part::End);
        self.flush().await?;
        self.sent(sending, changes.to, changes.after);
        Ok(())
    }

    fn part(&mut self, from: u64, end: u64, part: Part) {
        self.message(&FromPrimary::Data { from, end, sent: now(), part });
    }

    /// Sends the whole database.
    async fn copy(&mut self, sending: &mut Sending, why: &str) -> Result<(), End> {
        let name = self.sender.application_name.clone();
        tracing::warn!(
            "the standby \"{name}\" of database \"{}\" is sent a copy of the whole database: {why}",
            self.sender.database
        );
        let fatal = |e: PgError| End::Fatal(e.fatal());
        let failed = |e: pgsqlite_replication::Error| fatal(PgError::new(SqlState::IO_ERROR, e.to_string()));
        self.sender.change(|sent| sent.phase = Phase::Catchup);
        let Copy { batch, lsn, position } = blocking(|| self.feed.copy(&self.engine)).map_err(fatal)?;
        let word = position.to_string();
        self.part(lsn, lsn, Part::Begin { whole: true, to: lsn, before: "", position: &word });
        let pieces = Pieces::default();
        let header = Header::new(batch.page_size, batch.pages, 1, lsn, crate::feed::now()).at((lsn, lsn));
        let mut writer = Writer::new(pieces.clone(), header).map_err(failed)?;
        let mut content = vec![0; batch.page_size as usize];
        loop {
            let more = blocking(|| -> Result<bool> {
                while writer.next() <= batch.pages {
                    let page = writer.next();
                    batch.page(page, &mut content)?;
                    writer.page(page, &content).map_err(|e| PgError::new(SqlState::IO_ERROR, e.to_string()))?;
                    if pieces.0.lock().len() >= PIECE {
                        return Ok(true);
                    }
                }
                Ok(false)
            });
            if !more.map_err(fatal)? {
                break;
            }
            self.pieces(lsn, &pieces);
            self.flush_of_copy().await?;
        }
        // (the log may begin anew as soon as the copy is given up)
        let next = blocking(|| {
            self.feed.take(&self.engine)?;
            self.feed.after(&self.engine, lsn, position)
        });
        drop(batch);
        writer.finish().map_err(failed)?;
        self.pieces(lsn, &pieces);
        self.part(lsn, lsn, Part::End);
        self.flush().await?;
        sending.under_way.clear();
        sending.unapplied.clear();
        self.sent(sending, lsn, position);
        match next.map_err(fatal)? {
            Following::Changes(changes) => self.send(sending, &changes).await,
            Following::Nothing(_) | Following::Gone => Ok(()),
        }
    }

    fn pieces(&mut self, lsn: u64, pieces: &Pieces) {
        let bytes = std::mem::take(&mut *pieces.0.lock());
        for bytes in bytes.chunks(MOST) {
            self.part(lsn, lsn, Part::Bytes(bytes));
        }
    }
}

/// Takes a file that is written, piece by piece.
#[derive(Clone, Default)]
struct Pieces(Arc<Mutex<Vec<u8>>>);

impl Write for Pieces {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A time as SHOW prints it. None: 0, which is no limit.
fn duration(shown: &str) -> Option<Duration> {
    let (number, unit) = shown.split_at(shown.find(|c: char| !c.is_ascii_digit()).unwrap_or(shown.len()));
    let milliseconds = match unit {
        "" | "ms" => 1,
        "s" => 1000,
        "min" => 60_000,
        "h" => 3_600_000,
        _ => 86_400_000,
    };
    let duration = Duration::from_millis(number.parse::<u64>().ok()?.saturating_mul(milliseconds));
    Some(duration).filter(|duration| !duration.is_zero())
}

fn terminated() -> End {
    let message = "terminating connection due to administrator command";
    End::Fatal(PgError::new(SqlState::ADMIN_SHUTDOWN, message).fatal())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_show_prints_them() {
        let seconds = |n| Some(Duration::from_secs(n));
        for (shown, wanted) in [
            ("1min", seconds(60)),
            ("30s", seconds(30)),
            ("1500ms", Some(Duration::from_millis(1500))),
            ("2h", seconds(7200)),
            ("1d", seconds(86_400)),
            ("0", None),
        ] {
            assert_eq!(duration(shown), wanted, "{shown}");
        }
    }
}
