//! LISTEN and NOTIFY: who listens to which channel, and what waits to be told.
//!
//! Both take effect at commit: a session collects its wishes and messages in [`Pending`], and [`Channels::commit`] makes them
//! everybody's. Each listening session has a [`Mailbox`]; the server empties it whenever the session is outside a transaction.
//! Nothing is stored in the file: the sessions of one process are all there are.

use crate::session::{CancelHandle, Notification};
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

/// A payload must be shorter than this, in bytes.
pub const PAYLOAD: usize = 8000;

/// What waits for one session, and how to wake it.
pub struct Mailbox {
    waiting: Mutex<Vec<Notification>>,
    wake: CancelHandle,
}

impl Mailbox {
    pub fn new(wake: CancelHandle) -> Mailbox {
        Mailbox { waiting: Mutex::default(), wake }
    }
    pub fn is_empty(&self) -> bool {
        self.waiting.lock().is_empty()
    }
    pub fn take(&self) -> Vec<Notification> {
        std::mem::take(&mut self.waiting.lock())
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
}

/// How much was pending when a savepoint was made.
#[derive(Clone, Copy, Default)]
pub struct Mark {
    wishes: usize,
    messages: usize,
}

impl Pending {
    pub fn listen(&mut self, channel: &str) {
        self.wishes.push(Wish::Listen(channel.into()));
    }
    pub fn unlisten(&mut self, channel: &str) {
        self.wishes.push(Wish::Unlisten(channel.into()));
    }
    pub fn unlisten_all(&mut self) {
        self.wishes.push(Wish::UnlistenAll);
    }
    pub fn notify(&mut self, channel: &str, payload: &str) {
        let message = (channel.to_string(), payload.to_string());
        if self.known.insert(message.clone()) {
            self.messages.push(message);
        }
    }
    pub fn is_empty(&self) -> bool {
        self.wishes.is_empty() && self.messages.is_empty()
    }
    pub fn clear(&mut self) {
        *self = Pending::default();
    }
    pub fn mark(&self) -> Mark {
        Mark { wishes: self.wishes.len(), messages: self.messages.len() }
    }
    /// ROLLBACK TO SAVEPOINT
    pub fn roll_back_to(&mut self, mark: Mark) {
        self.wishes.truncate(mark.wishes);
        for message in self.messages.drain(mark.messages.min(self.messages.len())..) {
            self.known.remove(&message);
        }
    }
}

/// The channels of a database.
#[derive(Default)]
pub struct Channels {
    /// channel → session number → its mailbox
    listeners: Mutex<BTreeMap<String, HashMap<u64, Arc<Mailbox>>>>,
}

impl Channels {
    /// A transaction of session `number` (process number `pid`) committed. Its own LISTEN counts for its own messages.
    pub fn commit(&self, number: u64, pid: i32, mailbox: &Arc<Mailbox>, pending: &mut Pending) {
        let mut listeners = self.listeners.lock();
        for wish in pending.wishes.drain(..) {
            match wish {
                Wish::Listen(channel) => {
                    listeners.entry(channel).or_default().insert(number, mailbox.clone());
                }
                Wish::Unlisten(channel) => {
                    if let Some(sessions) = listeners.get_mut(&channel) {
                        sessions.remove(&number);
                    }
                }
                Wish::UnlistenAll => listeners.values_mut().for_each(|sessions| {
                    sessions.remove(&number);
                }),
            }
        }
        listeners.retain(|_, sessions| !sessions.is_empty());
        // under the lock, so that all listeners see messages in the order of commits
        for (channel, payload) in pending.messages.drain(..) {
            for mailbox in listeners.get(&channel).into_iter().flat_map(HashMap::values) {
                let message = Notification { pid, channel: channel.clone(), payload: payload.clone() };
                mailbox.waiting.lock().push(message);
                mailbox.wake.wake();
            }
        }
        pending.clear();
    }

    /// The session is gone.
    pub fn leave(&self, number: u64) {
        self.listeners.lock().retain(|_, sessions| {
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
        pending.listen("x");
        channels.commit(1, 11, &a, &mut pending);
        pending.listen("x");
        pending.notify("x", "1");
        pending.notify("x", "1");
        pending.notify("y", "unheard");
        pending.notify("x", "2");
        assert!(a.is_empty());
        channels.commit(2, 22, &b, &mut pending);
        assert_eq!(payloads(&a), ["x:1", "x:2"]);
        assert_eq!(payloads(&b), ["x:1", "x:2"]);
        assert_eq!(channels.of(1).into_iter().collect::<Vec<_>>(), ["x"]);
        channels.leave(2);
        pending.notify("x", "3");
        pending.unlisten_all();
        channels.commit(1, 11, &a, &mut pending);
        assert!(a.is_empty() && b.is_empty());
    }

    #[test]
    fn a_savepoint_takes_back_what_came_after_it() {
        let channels = Channels::default();
        let a = mailbox();
        let mut pending = Pending::default();
        pending.listen("x");
        pending.notify("x", "before");
        let mark = pending.mark();
        pending.notify("x", "after");
        pending.unlisten("x");
        pending.roll_back_to(mark);
        pending.notify("x", "after");
        channels.commit(1, 1, &a, &mut pending);
        assert_eq!(payloads(&a), ["x:before", "x:after"]);
    }
}
