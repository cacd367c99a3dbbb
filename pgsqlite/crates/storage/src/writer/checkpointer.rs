//! The log is written back to the database's file by a thread of its own, while others read and write.
//!
//! SQLite would do that within the COMMIT by which the log has got long. Who commits, who has read what was committed, and who waits for the
//! slot would all wait for two syncs and for everything that is copied, which takes seconds after a bulk load on a slow disk.
//!
//! Much is copied beside the writers. What they commit meanwhile is left over, and the log begins anew only when all of it is in the file, so the
//! thread takes the slot for the rest. Nobody commits while it has it, and the next writer begins the log anew unless somebody reads from it
//! (`session/transaction/log_limit.rs` of the engine bounds such a log). A log that is not much is copied within the slot at once: to copy it
//! twice costs short transactions a tenth of their speed.

use super::{Applicant, Inner, Writer};
use crate::connection::{Connection, Natives};
use crate::files::Room;
use parking_lot::{Condvar, Mutex};
use pgsqlite_types::Result;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The log is written back when it has grown by so many bytes.
const STEP: u64 = 4 << 20;
/// Where somebody reads an older state, the rest is tried again with the first commit after so long.
const PAUSE: Duration = Duration::from_millis(50);
/// The thread ends when the log has not got long for so long.
const IDLE: Duration = Duration::from_secs(10);
/// So much may be copied while nobody else can write, in bytes.
const REST: u64 = 2 * STEP;
/// The log is written back so often beside the writers, at most, before the rest is written back within the slot.
const ROUNDS: usize = 3;

/// What the thread is doing.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// there is none
    #[default]
    Nothing,
    /// it waits for the log to get long
    Rests,
    /// it writes the log back beside the writers
    Beside,
    /// it waits for the slot
    Waits,
    /// the slot is its own
    InSlot,
    /// there will be no other one: the database is closed
    Over,
}

/// When the log is written back, and who does it.
pub(super) struct Checkpointer {
    room: Arc<Room>,
    /// [`Progress::beginnings`](crate::vfs::Progress::beginnings) of the log that `due` is of
    beginnings: AtomicU64,
    /// the log is to be written back when it is so long, in bytes
    due: AtomicU64,
    /// when the log was tried to be written back, if something was left
    tried: Mutex<Option<Instant>>,
    /// [`Progress::appended`](crate::vfs::Progress::appended) up to which all is in the file
    copied: AtomicU64,
    thread: Mutex<Option<JoinHandle<()>>>,
    /// told when the slot is the thread's, or there is to be none
    turns: Condvar,
}

impl Checkpointer {
    pub(super) fn new(room: Arc<Room>) -> Checkpointer {
        let (beginnings, tried, copied, thread, turns) = Default::default();
        Checkpointer { room, beginnings, due: AtomicU64::new(STEP), tried, copied, thread, turns }
    }

    /// The slot has become the thread's.
    pub(super) fn slot_is_its(&self) {
        self.turns.notify_one();
    }
}

impl<N: Natives> Inner<N> {
    /// After a commit: begins to write the log back if it has got long.
    pub(super) fn look_at_log(self: &Arc<Self>) {
        let (log, own) = (&self.log.progress, &self.checkpointer);
        let beginnings = log.beginnings();
        if own.beginnings.swap(beginnings, Ordering::Relaxed) != beginnings {
            own.due.store(STEP, Ordering::Relaxed);
            *own.tried.lock() = None;
        }
        if log.length() < own.due.load(Ordering::Relaxed) && own.tried.lock().is_none_or(|t| t.elapsed() < PAUSE) {
            return;
        }
        let mut thread = own.thread.lock();
        {
            let mut state = self.state.lock();
            match state.checkpoint {
                Turn::Nothing => state.checkpoint = Turn::Beside,
                Turn::Rests => {
                    state.checkpoint = Turn::Beside;
                    own.turns.notify_one();
                    return;
                }
                Turn::Beside | Turn::Waits | Turn::InSlot | Turn::Over => return,
            }
        }
        let inner = self.clone();
        match std::thread::Builder::new().name("checkpointer".into()).spawn(move || inner.write_back()) {
            // (the one before has ended)
            Ok(new) => *thread = Some(new),
            Err(e) => {
                tracing::debug!("no thread writes the log back: {e}");
                self.state.lock().checkpoint = Turn::Nothing;
            }
        }
    }

    /// The thread.
    fn write_back(self: &Arc<Self>) {
        // (not an idle connection: a session would open another, which comes to have a cache of its own)
        let connection = Connection::<N>::open_in(&self.checkpointer.room);
        loop {
            let written = match &connection {
                Ok(own) => self.write_back_by(own),
                Err(e) => Err(e.clone()),
            };
            self.checkpointer.due.store(self.log.progress.length() + STEP, Ordering::Relaxed);
            *self.checkpointer.tried.lock() = matches!(written, Ok(false)).then(Instant::now);
            if let Err(e) = &written {
                // what it means for the writers, they find out by themselves
                tracing::warn!(target: "pgsqlite::log", "the log could not be written back: {e}");
            }
            let mut state = self.state.lock();
            if state.checkpoint == Turn::Beside {
                state.checkpoint = if written.is_ok() { Turn::Rests } else { Turn::Nothing };
            }
            let until = Instant::now() + IDLE;
            while state.checkpoint == Turn::Rests {
                if self.checkpointer.turns.wait_until(&mut state, until).timed_out() && state.checkpoint == Turn::Rests
                {
                    state.checkpoint = Turn::Nothing;
                }
            }
            if state.checkpoint != Turn::Beside {
                return;
            }
        }
    }

    /// Returns whether all is in the file.
    fn write_back_by(self: &Arc<Self>, connection: &Connection<N>) -> Result<bool> {
        for _ in 0..ROUNDS {
            if self.log.progress.appended() - self.checkpointer.copied.load(Ordering::Relaxed) <= REST {
                break;
            }
            if !self.copy(connection)? {
                return Ok(false);
            }
        }
        if !self.take_slot() {
            return Ok(false);
        }
        let copied = self.copy(connection);
        {
            let mut state = self.state.lock();
            if state.checkpoint == Turn::InSlot {
                state.checkpoint = Turn::Beside;
            }
        }
        self.give_back(None);
        copied
    }

    /// Copies what is committed. False: somebody reads an older state, or it is left to another program; there will be another time.
    fn copy(&self, connection: &Connection<N>) -> Result<bool> {
        let before = self.log.progress.appended();
        let all = connection.write_back()?;
        if all {
            self.checkpointer.copied.store(before, Ordering::Relaxed);
        }
        Ok(all)
    }

    /// Waits for the slot, before those who queue for it. False: the database is being closed.
    fn take_slot(&self) -> bool {
        let mut state = self.state.lock();
        if state.checkpoint == Turn::Over {
            return false;
        }
        if !state.held && state.open.is_none() {
            state.held = true;
            state.holder = Applicant::default();
            state.checkpoint = Turn::InSlot;
            return true;
        }
        state.checkpoint = Turn::Waits;
        while state.checkpoint == Turn::Waits {
            self.checkpointer.turns.wait(&mut state);
        }
        state.checkpoint == Turn::InSlot
    }
}

impl<N: Natives> Writer<N> {
    /// The log is written back no more, and no connection is open for that when this returns: the database is being closed.
    pub fn stop_checkpoints(&self) {
        let own = &self.0.checkpointer;
        // (if the slot is the thread's, it gives it back)
        self.0.state.lock().checkpoint = Turn::Over;
        own.turns.notify_one();
        let thread = own.thread.lock().take();
        if thread.is_some_and(|thread| crate::apart::apart(|| thread.join()).is_err()) {
            tracing::error!("the thread that writes the log back has panicked");
        }
    }
}
