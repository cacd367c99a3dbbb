//! One client's groups of messages and their answers.
//!
//! Messages are carried out as they come, their answers collect in the output, and EOT sends them. After an error the rest of the
//! group is read but not carried out. [`statement`]: PREPARE to EXECUTE; [`keys`]: what INSERT gives back; [`cursor`]: rows that wait;
//! [`transaction`]: what Informix's transactions ask of PostgreSQL's; [`large_objects`], [`client_file`]: BLOB and CLOB; [`xa`].

pub mod client_file;
mod cursor;
mod databases;
mod fetch;
mod keys;
mod large_objects;
mod put;
mod statement;
mod transaction;
mod xa;

use crate::client::{Client, End, FLUSH};
use crate::dialect::ast::Transaction;
use crate::dialect::translation::Keys;
use crate::dialect::Environment;
use crate::errors::Failure;
use crate::interrupts::Watcher;
use crate::login::Identity;
use crate::wire::messages::{self, Message};
use large_objects::LargeObjects;
use pgsqlite_engine::session::Session;
use pgsqlite_server::listen::Shared;
use pgsqlite_types::error::Severity;
use pgsqlite_types::PgError;
use statement::Statement;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// What stands in a group that goes wrong.
pub(crate) enum Wrong {
    /// told, then the rest of the group is skipped
    Failed(Failure),
    /// told, then the connection is closed
    Fatal(Failure),
    End(End),
}

pub(crate) type Step<T = ()> = Result<T, Wrong>;

impl From<Failure> for Wrong {
    fn from(failure: Failure) -> Wrong {
        Wrong::Failed(failure)
    }
}

impl From<PgError> for Wrong {
    fn from(error: PgError) -> Wrong {
        match error.fields().severity {
            Severity::Fatal | Severity::Panic => Wrong::Fatal(error.into()),
            _ => Wrong::Failed(error.into()),
        }
    }
}

impl From<End> for Wrong {
    fn from(end: End) -> Wrong {
        Wrong::End(end)
    }
}

/// What servers of this age can do: clients choose the form of messages by what both sides have. 8-byte row counts (70) and sizes
/// (69) are left out, and so is PAM (44).
const CAPABILITIES: [u8; 9] = [0xbd, 0xbe, 0x9f, 0xfe, 0x7f, 0xb7, 0xff, 0xef, 0xf0];

/// Most statements that a client may have prepared at once.
const MOST_STATEMENTS: usize = 8192;

/// What the locators of a session begin with: no other session of this server has it. Clients see it, so nothing secret is in it.
fn large_objects_mark(shared: &Shared) -> u64 {
    use std::sync::atomic::{AtomicU64, Ordering};
    static LAST: AtomicU64 = AtomicU64::new(0);
    shared.run_mark.wrapping_add(LAST.fetch_add(1, Ordering::Relaxed))
}

pub(crate) struct Conversation<'a> {
    shared: &'a Arc<Shared>,
    client: &'a mut Client,
    identity: Identity,
    watcher: &'a Watcher,
    session: Option<Session>,
    /// the name that the client opened it by
    database: String,
    statements: BTreeMap<i16, Statement>,
    /// the statement that messages are about
    current: Option<i16>,
    /// BEGIN was said
    in_transaction: bool,
    /// locks are not waited for
    not_waiting: bool,
    /// what the last INSERT numbered its row
    last_serial: i64,
    /// rows that the last statement touched
    row_count: i64,
    /// sequences that must follow values given by clients, and how far
    followers: BTreeMap<String, i64>,
    /// answers of this group were skipped after an error
    skipping: bool,
    /// the statement whose generated keys this group has described
    described_keys: Option<i16>,
    large_objects: LargeObjects,
    xa: xa::Xa,
    /// the text that was prepared last
    text: String,
    /// messages that were read while a file of the client was read or written
    pending: VecDeque<Message>,
}

/// Out of the table of sessions when dropped.
struct Registered<'a> {
    shared: &'a Shared,
    pid: i32,
}

impl Drop for Registered<'_> {
    fn drop(&mut self) {
        self.shared.sessions.lock().remove(&self.pid);
    }
}

/// Serves a client that is let in, until it goes.
pub(crate) async fn run(shared: &Arc<Shared>, client: &mut Client, identity: Identity, watcher: &Watcher) -> End {
    let _registered = Registered { shared, pid: identity.pid };
    let mut conversation = Conversation {
        shared,
        client,
        identity,
        watcher,
        session: None,
        database: String::new(),
        statements: BTreeMap::new(),
        current: None,
        in_transaction: false,
        not_waiting: true,
        last_serial: 0,
        row_count: 0,
        followers: BTreeMap::new(),
        skipping: false,
        described_keys: None,
        large_objects: LargeObjects::new(large_objects_mark(shared)),
        xa: xa::Xa::default(),
        text: String::new(),
        pending: VecDeque::new(),
    };
    loop {
        if let Err(end) = conversation.next().await {
            // what is written is still to be sent
            return conversation.wait_for_seen().await.err().unwrap_or(end);
        }
    }
}

impl Conversation<'_> {
    /// Reads and answers one message.
    async fn next(&mut self) -> Result<(), End> {
        let message = self.receive().await?;
        match message {
            Message::EndOfGroup => {
                if let Err(wrong) = self.follow_sequences().await {
                    self.went_wrong(wrong)?;
                }
                self.skipping = false;
                self.described_keys = None;
                // a request that came while the group was at work was for it
                self.watcher.interrupts.take();
                self.client.out.eot();
                if let Some(session) = &mut self.session {
                    session.observe_pause();
                }
                return self.flush().await;
            }
            Message::Exit => {
                self.client.out.short(crate::wire::code::EXIT);
                return Err(End::Gone);
            }
            _ if self.skipping => return Ok(()),
            message => {
                if let Err(wrong) = self.answer(message).await {
                    self.went_wrong(wrong)?;
                }
            }
        }
        self.flush_if_full().await
    }

    /// Sends the answers. What they tell of is on disk then: the session may have seen commits that are not yet.
    async fn flush(&mut self) -> Result<(), End> {
        self.wait_for_seen().await?;
        self.client.flush().await
    }

    /// As [`Conversation::flush`], once enough has come together.
    async fn flush_if_full(&mut self) -> Result<(), End> {
        match self.client.out.buffer.len() >= FLUSH {
            true => self.flush().await,
            false => Ok(()),
        }
    }

    /// Waits until all that the session has seen is on disk. If that fails, only this is told.
    async fn wait_for_seen(&mut self) -> Result<(), End> {
        let Some(session) = &mut self.session else { return Ok(()) };
        let Some(commit) = session.unsettled().filter(|_| !self.client.out.buffer.is_empty()) else { return Ok(()) };
        match session.settle(commit).await {
            Ok(()) => Ok(()),
            Err(error) => {
                self.client.out.buffer.clear();
                self.went_wrong(error.fatal().into())
            }
        }
    }

    fn went_wrong(&mut self, wrong: Wrong) -> Result<(), End> {
        let (failure, mut fatal) = match wrong {
            // a row that is locked, and not one that was waited for
            Wrong::Failed(failure) if self.not_waiting && (failure.sqlcode, failure.isamcode) == (-244, -154) => {
                (Failure { isamcode: -107, ..failure }, false)
            }
            Wrong::Failed(failure) => (failure, false),
            Wrong::Fatal(failure) => (failure, true),
            Wrong::End(end) => return Err(end),
        };
        if let (Some(session), Some(cause)) = (&self.session, &failure.cause) {
            let statement = self.current.and_then(|id| self.statements.get(&id));
            session.observe_error_of(cause, statement.map_or(&self.text, |s| &s.text));
            fatal |= session.exits_on_error();
        }
        let mut name = Vec::new();
        // a name that the client's code set does not have is told as far as it has it
        for c in failure.name.chars() {
            if self.identity.codeset.encode(&c.to_string(), &mut name).is_err() {
                name.push(b'?');
            }
        }
        self.client.out.error(failure.sqlcode, failure.isamcode, failure.offset, &name);
        self.skipping = true;
        if fatal {
            self.client.out.eot();
            return Err(End::Gone);
        }
        Ok(())
    }

    /// The next message. While the client is silent the session may be told to end.
    async fn receive(&mut self) -> Result<Message, End> {
        match self.pending.pop_front() {
            Some(message) => Ok(message),
            None => self.receive_next().await,
        }
    }

    /// The next message of the socket.
    async fn receive_next(&mut self) -> Result<Message, End> {
        loop {
            if let Some(message) = self.client.take(messages::decode)? {
                return Ok(message);
            }
            match &mut self.session {
                None => tokio::select! {
                    biased;
                    () = self.shared.stopped() => return Err(End::Gone),
                    filled = self.client.fill() => filled?,
                },
                Some(session) => {
                    session.rest_block();
                    let came = tokio::select! {
                        biased;
                        event = session.wait_event() => event.map_err(|_| End::Gone),
                        filled = self.client.fill() => filled,
                    };
                    session.rouse();
                    came?;
                    // notifications are not for these clients
                    session.take_notifications();
                }
            }
        }
    }

    fn session(&mut self) -> Step<&mut Session> {
        // Database not selected yet
        self.session.as_mut().ok_or(Wrong::Failed(Failure::new(-349, 0, "")))
    }

    fn environment(&mut self) -> Step<Environment> {
        let catalog = self.session()?.catalog_snapshot();
        Ok(Environment {
            catalog,
            database: self.database.clone(),
            user: self.identity.user.clone(),
            codeset: self.identity.codeset,
            delimident: self.identity.delimident,
            keys: Keys::None,
            row_numbers: true,
            dates: self.identity.dates.clone(),
            money: self.identity.money.clone(),
            databases: self.shared.databases.names().unwrap_or_else(|| vec![self.database.clone()]),
        })
    }

    fn done(&mut self, rows: i64, serial: i64) {
        let narrow = |n: i64| n.clamp(0, i32::MAX.into()) as i32;
        if i32::try_from(serial).is_err() {
            self.client.out.insert_done(serial);
        }
        self.client.out.done(0, narrow(rows), 0, narrow(serial));
        self.client.out.cost();
    }

    async fn answer(&mut self, message: Message) -> Step {
        self.xa.check(&message)?;
        match message {
            Message::Protocols(_) => {
                self.client.out.short(crate::wire::code::PROTOCOLS);
                self.client.out.char(&CAPABILITIES);
                Ok(())
            }
            Message::Info => Ok(()),
            Message::OpenResourceManager { name } => self.open_database(&name, false).await,
            Message::CloseResourceManager => {
                self.close_resource_manager();
                Ok(())
            }
            Message::Branch { call, xid, flags } => self.branch_call(call, xid, flags).await,
            Message::Recover { most, flags } => self.recover(most, flags).await,
            Message::OpenDatabase { name, exclusive } => self.open_database(&name, exclusive).await,
            Message::CloseDatabase => {
                self.statements.clear();
                self.close_session();
                self.done(0, 0);
                Ok(())
            }
            Message::Version => {
                self.client.out.short(crate::wire::code::VERSION);
                self.client.out.char(crate::wire::login::VERSION.as_bytes());
                Ok(())
            }
            Message::DatabaseList => {
                let names = match self.shared.databases.names() {
                    // one file has whatever name a client gives it
                    None => vec![self.database.clone()],
                    Some(names) => names,
                };
                self.client.out.short(crate::wire::code::DATABASE_LIST);
                for name in names.iter().map(String::as_str).filter(|n| !n.is_empty()).chain([""]) {
                    let mut bytes = Vec::new();
                    self.identity.codeset.encode(name, &mut bytes)?;
                    self.client.out.char(&bytes);
                }
                Ok(())
            }
            Message::Prepare { text, .. } | Message::Command(text) => self.prepare(&text).await,
            Message::Id(id) => {
                if !self.statements.contains_key(&id) {
                    // the statement is not prepared
                    return Err(Failure::new(-267, 0, "").into());
                }
                self.current = Some(id);
                Ok(())
            }
            Message::Describe => self.describe(),
            Message::InputDescribe => self.describe_input(),
            Message::WantDone => {
                self.done(0, 0);
                Ok(())
            }
            Message::AutoKeys(wanted) => self.want_keys(wanted).await,
            Message::AutoFree => {
                self.statement()?.auto_free = true;
                Ok(())
            }
            Message::CursorName(name) => {
                let name = self.identity.codeset.decode(&name)?;
                self.statement()?.cursor_name = Some(name);
                Ok(())
            }
            Message::Bind(values) => self.bind(values),
            Message::BlobBind(count) => self.blob_bind(count),
            Message::Blob(piece) => self.blob_piece(piece),
            Message::ReturnTypes(wanted) => self.return_types(wanted),
            Message::Scroll => {
                self.statement()?.scroll = true;
                Ok(())
            }
            Message::Hold => {
                self.statement()?.hold = true;
                Ok(())
            }
            Message::Open => self.open().await,
            Message::Execute => self.execute().await,
            Message::Fetch { buffer } => self.fetch(buffer).await,
            Message::ScrollFetch { kind, row } => self.scroll_fetch(kind, row).await,
            Message::FetchBlob(descriptor) => self.fetch_blob(&descriptor),
            Message::LargeObjectData(data) => self.large_object_data(data).await,
            Message::Put(row) => self.put(&row).await,
            Message::Flush => {
                self.done(0, 0);
                Ok(())
            }
            Message::Close => self.close().await,
            Message::Release => self.release().await,
            Message::Begin => self.transaction(Transaction::Begin).await,
            Message::Commit => self.transaction(Transaction::Commit).await,
            Message::Rollback => self.transaction(Transaction::Rollback).await,
            Message::SetSavepoint(name) => {
                let name = self.identity.codeset.decode(&name)?;
                self.transaction(Transaction::Savepoint(name)).await
            }
            Message::ReleaseSavepoint(name) => {
                let name = self.identity.codeset.decode(&name)?;
                self.transaction(Transaction::ReleaseSavepoint(name)).await
            }
            Message::RollbackToSavepoint(name) => {
                let name = self.identity.codeset.decode(&name)?;
                self.transaction(Transaction::RollbackTo(name)).await
            }
            Message::GetRoutine(signature) => self.get_routine(&signature),
            Message::CallRoutine { handle, values } => self.call_routine(handle, &values).await,
            Message::EndOfGroup | Message::Exit => Ok(()),
        }
    }

    fn not_let_in(&self, user: &str, database: &str, reason: &str) {
        self.shared.failed_logins.tell(user, database, Some(self.identity.address), reason);
    }

    /// An interrupt that came before the statement began to run.
    fn check_interrupt(&self) -> Step {
        match self.watcher.interrupts.take() {
            true => Err(Failure::new(-213, -157, "").into()),
            false => Ok(()),
        }
    }
}
