//! LISTEN and NOTIFY: who listens to which channel, and what waits to be told.
//!
//! Both take effect at commit: a session collects its wishes and messages in [`Pending`], and [`Channels::commit`] makes them
//! everybody's. Each listening session has a [`Mailbox`]; the server empties it whenever the session is outside a transaction.
//! Nothing is stored in the file: the sessions of one process are all there are.

use crate::requests::CancelHandle;
use parking_lot::Mutex;
use pgsqlite_natives::udf::session_cell::NotificationMark;
use pgsqlite_types::{PgError, Result, SqlState};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

/// Bytes of messages that may wait for one session, and that one transaction may collect. A session that listens and stays in a
/// transaction does not take its messages; PostgreSQL's queue, of 8 GB, has an end for the same reason.
const QUEUE: usize = 64 << 20;

/// Channels that one session listens to, at most.
const CHANNELS: usize = 10_000;

/// What a message takes beside its texts: the allocations and the entry of the queue.
const OVERHEAD: usize = 96;

/// An asynchronous message of NOTIFY.
#[derive(Debug, Clone)]
pub struct Notification {
    pub pid: i32,
    pub channel: String,
    pub payload: String,
}

/// What waits for one session, and how to wake it.
pub struct Mailbox {
    waiting: Mutex<Waiting>,
    wake: CancelHandle,
}

#[derive(Default)]
struct Waiting {
    messages: Vec<Notification>,
    bytes: usize,
}

/// 54000, as PostgreSQL's when its queue is full.
fn queue_is_full() -> PgError {
    PgError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, "too many notifications in the NOTIFY queue")
        .detail(format!("At most {} MB wait for a session or are sent by a transaction.", QUEUE >> 20))
        .hint("A session that listens gets its notifications when its transaction ends.")
}

/// 54000
fn too_many_channels() -> PgError {
    PgError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, "too many channels")
        .detail(format!("A session listens to at most {CHANNELS} channels."))
        .hint("Listen to one channel, and send what belongs to whom in the payload.")
}

impl Mailbox {
    pub fn new(wake: CancelHandle) -> Mailbox {
        Mailbox { waiting: Mutex::default(), wake }
    }
    pub fn is_empty(&self) -> bool {
        self.waiting.lock().messages.is_empty()
    }
    pub fn take(&self) -> Vec<Notification> {
        std::mem::take(&mut *self.waiting.lock()).messages
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Wish {
    Listen(String),
    Unlisten(String),
    UnlistenAll,
}

/// What a transaction asked for; nothing of it is seen before its commit.
#[derive(Default)]
pub struct Pending {
    wishes: Vec<Wish>,
    messages: Vec<(String, String)>,
    /// equal messages of one transaction are told once
    known: HashSet<(String, String)>,
    /// of `messages`
    bytes: usize,
}

impl Pending {
    /// Errors: 54000 where the transaction has wished more than a session can have.
    pub fn listen(&mut self, channel: &str) -> Result<()> {
        self.wish(Wish::Listen(channel.into()))
    }
    /// Errors: as of [`Pending::listen`].
    pub fn unlisten(&mut self, channel: &str) -> Result<()> {
        self.wish(Wish::Unlisten(channel.into()))
    }
    /// Errors: as of [`Pending::listen`].
    pub fn unlisten_all(&mut self) -> Result<()> {
        self.wish(Wish::UnlistenAll)
    }
    fn wish(&mut self, wish: Wish) -> Result<()> {
        if self.wishes.len() >= 2 * CHANNELS {
            return Err(too_many_channels());
        }
        self.wishes.push(wish);
        Ok(())
    }
    /// Errors: 54000 where the transaction has collected more than a queue holds.
    pub fn notify(&mut self, channel: &str, payload: &str) -> Result<()> {
        let message = (channel.to_string(), payload.to_string());
        if self.known.contains(&message) {
            return Ok(());
        }
        let bytes = self.bytes + size(&message);
        if bytes > QUEUE {
            return Err(queue_is_full());
        }
        self.bytes = bytes;
        self.known.insert(message.clone());
        self.messages.push(message);
        Ok(())
    }
    pub fn is_empty(&self) -> bool {
        self.wishes.is_empty() && self.messages.is_empty()
    }
    pub fn clear(&mut self) {
        *self = Pending::default();
    }
    /// Of each message the bytes of its channel and payload.
    pub fn lengths(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.messages.iter().map(|(channel, payload)| (channel.len(), payload.len()))
    }
    pub fn mark(&self) -> NotificationMark {
        NotificationMark { wishes: self.wishes.len(), messages: self.messages.len() }
    }
    /// What came after this mark is taken back: ROLLBACK TO SAVEPOINT, or a block with an EXCEPTION clause has failed.
    pub fn roll_back_to(&mut self, mark: NotificationMark) {
        self.wishes.truncate(mark.wishes);
        for message in self.messages.drain(mark.messages.min(self.messages.len())..) {
            self.bytes -= size(&message);
            self.known.remove(&message);
        }
    }
}

/// What a message takes in a queue.
fn size((channel, payload): &(String, String)) -> usize {
    channel.len() + payload.len() + OVERHEAD
}

/// The channels of a database.
#[derive(Default)]
pub struct Channels {
    /// channel → session number → its mailbox
    listeners: Mutex<BTreeMap<String, HashMap<u64, Arc<Mailbox>>>>,
    /// how many each session listens to
    counts: Mutex<HashMap<u64, usize>>,
}

impl Channels {
    /// Whether the messages of a transaction that is about to commit find room in the queues of those who listen, and the channels of
    /// session `number` are not too many then. Errors: 54000.
    pub fn check_room(&self, number: u64, pending: &Pending) -> Result<()> {
        if pending.wishes.iter().any(|w| matches!(w, Wish::Listen(_))) {
            self.check_channels(number, pending)?;
        }
        if pending.messages.is_empty() {
            return Ok(());
        }
        let listeners = self.listeners.lock();
        // A session that listens to several of the channels gets at most all messages: no sum for each is needed.
        let full = |mailbox: &Arc<Mailbox>| mailbox.waiting.lock().bytes.saturating_add(pending.bytes) > QUEUE;
        let channels: BTreeSet<&String> = pending.messages.iter().map(|(channel, _)| channel).collect();
        if channels.into_iter().filter_map(|c| listeners.get(c)).flat_map(HashMap::values).any(full) {
            return Err(queue_is_full());
        }
        Ok(())
    }

    fn check_channels(&self, number: u64, pending: &Pending) -> Result<()> {
        let counts = self.counts.lock();
        if counts.get(&number).copied().unwrap_or(0) + pending.wishes.len() <= CHANNELS {
            return Ok(());
        }
        drop(counts);
        let mut channels = self.of(number);
        for wish in &pending.wishes {
            match wish {
                Wish::Listen(channel) => {
                    channels.insert(channel.clone());
                }
                Wish::Unlisten(channel) => {
                    channels.remove(channel);
                }
                Wish::UnlistenAll => channels.clear(),
            }
        }
        match channels.len() {
            0..=CHANNELS => Ok(()),
            _ => Err(too_many_channels()),
        }
    }

    /// A transaction of session `number` (process number `pid`) committed. Its own LISTEN counts for its own messages.
    pub fn commit(&self, number: u64, pid: i32, mailbox: &Arc<Mailbox>, pending: &mut Pending) {
        let mut listeners = self.listeners.lock();
        if !pending.wishes.is_empty() {
            let mut counts = self.counts.lock();
            let count = counts.entry(number).or_default();
            for wish in pending.wishes.drain(..) {
                match wish {
                    Wish::Listen(channel) => {
                        let before = listeners.entry(channel).or_default().insert(number, mailbox.clone());
                        *count += usize::from(before.is_none());
                    }
                    Wish::Unlisten(channel) => {
                        let Some(sessions) = listeners.get_mut(&channel) else { continue };
                        *count -= usize::from(sessions.remove(&number).is_some());
                        if sessions.is_empty() {
                            listeners.remove(&channel);
                        }
                    }
                    Wish::UnlistenAll => {
                        listeners.retain(|_, sessions| {
                            sessions.remove(&number);
                            !sessions.is_empty()
                        });
                        *count = 0;
                    }
                }
            }
        }
        // under the lock, so that all listeners see messages in the order of commits
        for (channel, payload) in pending.messages.drain(..) {
            for mailbox in listeners.get(&channel).into_iter().flat_map(HashMap::values) {
                let message = Notification { pid, channel: channel.clone(), payload: payload.clone() };
                let mut waiting = mailbox.waiting.lock();
                waiting.bytes += channel.len() + payload.len() + OVERHEAD;
                waiting.messages.push(message);
                drop(waiting);
                mailbox.wake.wake();
            }
        }
        pending.clear();
    }

    /// How full the fullest of the queues is: 0 to 1.
    pub fn usage(&self) -> f64 {
        let listeners = self.listeners.lock();
        let bytes = listeners.values().flat_map(HashMap::values).map(|mailbox| mailbox.waiting.lock().bytes).max();
        bytes.unwrap_or(0) as f64 / QUEUE as f64
    }

    /// The session is gone.
    pub fn leave(&self, number: u64) {
        let mut listeners = self.listeners.lock();
        if self.counts.lock().remove(&number).is_none_or(|n| n == 0) {
            return;
        }
        listeners.retain(|_, sessions| {
            sessions.remove(&number);
            !sessions.is_empty()
        });
    }

    /// The channels a session listens to.
    pub fn of(&self, number: u64) -> BTreeSet<String> {
        let listeners = self.listeners.lock();
        listeners.iter().filter(|(_, s)| s.contains_key(&number)).map(|(c, _)| c.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mailbox() -> Arc<Mailbox> {
        Arc::new(Mailbox::new(CancelHandle::default()))
    }

    fn payloads(mailbox: &Mailbox) -> Vec<String> {
        mailbox.take().into_iter().map(|n| format!("{}:{}", n.channel, n.payload)).collect()
    }

    #[test]
    fn messages_come_at_commit_once_and_in_order() {
        let channels = Channels::default();
        let (a, b) = (mailbox(), mailbox());
        let mut pending = Pending::default();
        pending.listen("x").expect("room");
        channels.commit(1, 11, &a, &mut pending);
        pending.listen("x").expect("room");
        pending.notify("x", "1").expect("room");
        pending.notify("x", "1").expect("room");
        pending.notify("y", "unheard").expect("room");
        pending.notify("x", "2").expect("room");
        assert!(a.is_empty());
        channels.commit(2, 22, &b, &mut pending);
        assert_eq!(payloads(&a), ["x:1", "x:2"]);
        assert_eq!(payloads(&b), ["x:1", "x:2"]);
        assert_eq!(channels.of(1).into_iter().collect::<Vec<_>>(), ["x"]);
        channels.leave(2);
        pending.notify("x", "3").expect("room");
        pending.unlisten_all().expect("room");
        channels.commit(1, 11, &a, &mut pending);
        assert!(a.is_empty() && b.is_empty());
    }

    #[test]
    fn a_savepoint_takes_back_what_came_after_it() {
        let channels = Channels::default();
        let a = mailbox();
        let mut pending = Pending::default();
        pending.listen("x").expect("room");
        pending.notify("x", "before").expect("room");
        let mark = pending.mark();
        pending.notify("x", "after").expect("room");
        pending.unlisten("x").expect("room");
        pending.roll_back_to(mark);
        pending.notify("x", "after").expect("room");
        channels.commit(1, 1, &a, &mut pending);
        assert_eq!(payloads(&a), ["x:before", "x:after"]);
    }

    #[test]
    fn a_queue_that_nobody_empties_has_an_end() {
        let channels = Channels::default();
        let (listener, sender) = (mailbox(), mailbox());
        let mut pending = Pending::default();
        pending.listen("x").expect("room");
        channels.commit(1, 11, &listener, &mut pending);
        let fill = |pending: &mut Pending| {
            let mut sent = 0;
            while pending.notify("x", &format!("{sent:07999}")).is_ok() {
                sent += 1;
            }
            sent
        };
        // a transaction's own bound, and what a savepoint gives back
        let mark = pending.mark();
        let sent = fill(&mut pending);
        assert_eq!(sent, QUEUE / (8000 + OVERHEAD));
        pending.roll_back_to(mark);
        assert_eq!(fill(&mut pending), sent);
        assert!(channels.check_room(2, &pending).is_ok());
        channels.commit(2, 22, &sender, &mut pending);
        // the listener has taken nothing yet
        for (channel, room) in [("x", false), ("y", true)] {
            pending.clear();
            pending.notify(channel, &"z".repeat(7999)).expect("one has room");
            assert_eq!(channels.check_room(2, &pending).is_ok(), room);
        }
        assert_eq!(listener.take().len(), sent);
        pending.notify("x", "1").expect("one has room");
        assert!(channels.check_room(2, &pending).is_ok());
    }

    #[test]
    fn the_channels_of_a_session_have_an_end() {
        let (channels, a) = (Channels::default(), mailbox());
        let listen = |n: usize| {
            let mut pending = Pending::default();
            pending.listen(&format!("c{n}")).expect("one wish");
            channels.check_room(1, &pending).map(|()| channels.commit(1, 11, &a, &mut pending))
        };
        for n in 0..CHANNELS {
            listen(n).expect("room");
        }
        listen(5).expect("a channel that it listens to");
        assert_eq!(listen(CHANNELS).unwrap_err().code(), SqlState::PROGRAM_LIMIT_EXCEEDED);
        let mut pending = Pending::default();
        pending.unlisten("c7").expect("one wish");
        channels.commit(1, 11, &a, &mut pending);
        listen(CHANNELS).expect("room");
        channels.leave(1);
        assert!(channels.of(1).is_empty());
        listen(0).expect("room");
        // the wishes of one transaction
        let wished = (0..).take_while(|n| pending.listen(&format!("c{n}")).is_ok()).count();
        assert_eq!(wished, 2 * CHANNELS);
    }
}
