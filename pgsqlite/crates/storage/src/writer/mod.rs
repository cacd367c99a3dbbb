//! The writer slot, commits that are made together, and the disk.
//!
//! SQLite has one writer. Sessions queue for its [`Slot`] first-in-first-out: nobody polls, nobody sees "database is locked". A commit
//! appends to the WAL under `synchronous=NORMAL`; before it is acknowledged, one fdatasync of the WAL runs outside the slot, for
//! all commits made before it began (group commit).
//!
//! While the disk is busy with one sync, a commit that is made cannot be acknowledged before the next. So short transactions that
//! end meanwhile are not committed one by one: the first leaves its SQLite transaction open in the slot, as a [`Shared`] one, the
//! next joins it within a savepoint of its own, and when the disk is free the committer (a thread) commits all of them at once,
//! syncs, and tells each. Who finds nobody else at work commits and syncs by itself, on its own thread.
//!
//! What cannot share (a block, DDL, a statement that may take long) has the shared transaction committed when it gets the slot,
//! and begins its own.
//!
//! Readers see a commit before it is synced. Whoever has seen one waits for that sync before a client gets to know ([`seen`]).

mod checkpointer;
mod disk;
mod replicator;
mod seen;
mod testing;

use crate::connection::{Connection, Idle, Natives};
use crate::files::Room;
use crate::vfs::{Progress, Reading};
use crate::wal::Wal;
use checkpointer::{Checkpointer, Turn};
use parking_lot::{Condvar, Mutex};
use pgsqlite_types::{PgError, Result, SqlState};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::{oneshot, Notify};

pub use replicator::Replicator;

/// How the commit of a transaction that was left to others went.
pub type Outcome = oneshot::Receiver<Result<()>>;

/// A SQLite transaction with the work of several sessions, open in the slot.
pub struct Shared<N: Natives> {
    /// where the transaction is open
    pub connection: Connection<N>,
    /// whose work is in it
    pub members: Members,
}

/// Those who wait for the outcome of a shared transaction.
#[derive(Default)]
pub struct Members(Vec<Member>);

/// One who waits for the outcome of a commit.
struct Member {
    outcome: oneshot::Sender<Result<()>>,
    /// of its transaction, which is in progress until the outcome is there, also if its session is gone
    number: Option<Box<dyn Send>>,
}

impl Member {
    fn tell(self, outcome: Result<()>) {
        drop(self.number);
        // a session may be gone
        let _ = self.outcome.send(outcome);
    }
}

impl From<oneshot::Sender<Result<()>>> for Member {
    fn from(outcome: oneshot::Sender<Result<()>>) -> Member {
        Member { outcome, number: None }
    }
}

impl Members {
    /// None of what they did has happened.
    pub fn fail(self, error: &PgError) {
        self.tell(&Err(error.clone()));
    }

    fn tell(self, outcome: &Result<()>) {
        for member in self.0 {
            member.tell(outcome.clone());
        }
    }
}

/// A session that asks for the slot.
#[derive(Debug, Clone, Copy, Default)]
pub struct Applicant {
    /// the number that tells sessions apart; 0: none
    pub session: u64,
    /// it will keep the slot until its client ends a block
    pub in_block: bool,
    /// it has a pooled connection while it waits
    pub keeps_lease: bool,
}

/// A transaction that has the slot while its client is silent.
pub trait Resting<N: Natives>: Send + Sync {
    /// Puts the transaction aside. Returns its slot; None: it is at work again, or cannot be put aside.
    fn put_aside(&self) -> Option<Slot<N>>;
}

/// For so long a silence that will be short is waited for.
const GRACE: Duration = Duration::from_millis(1);

/// A time in which the slot's holder keeps it and is silent: see [`Writer::keep_silently`]. Nobody writes or commits in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Silence(u64);

struct Waiting<N: Natives> {
    who: Applicant,
    turn: oneshot::Sender<Slot<N>>,
}

struct State<N: Natives> {
    /// somebody has the slot (or it is on its way to them)
    held: bool,
    /// who has it; session 0: the committer, or nobody
    holder: Applicant,
    /// its holder's client is silent: the slot can be had for putting the transaction aside
    resting: Option<Arc<dyn Resting<N>>>,
    /// … but not before somebody has waited for [`GRACE`]: the client will go on at once
    graced: bool,
    /// since when the holder's client is silent, if it is `resting`
    silent: Option<Instant>,
    /// its holder's client is silent, and it keeps the slot
    kept: Option<Silence>,
    /// the last silence of a holder that kept the slot
    last: u64,
    /// since when the present holder has been waited for
    contended: Option<Instant>,
    /// who waits for it
    queue: VecDeque<Waiting<N>>,
    /// left open by the slot's last holder
    open: Option<Shared<N>>,
    /// the slot, with what is open, is the committer's
    due: bool,
    /// the disk is at work
    syncing: bool,
    /// commits made
    commits: u64,
    /// every commit up to this number is on disk
    synced: u64,
    /// commits that wait for the disk
    waiting: Vec<(u64, Member)>,
    /// a sync has failed: what it was for may be lost, and nothing more is written
    failed: Option<PgError>,
    /// what is done to write the log back
    checkpoint: Turn,
    /// the writer is gone
    closed: bool,
}

impl<N: Natives> Default for State<N> {
    fn default() -> Self {
        let (held, holder, due, syncing, commits, synced, failed, closed) = Default::default();
        let (resting, open, queue, waiting) = (None, None, VecDeque::new(), Vec::new());
        let (graced, silent, kept, last, contended, checkpoint) = Default::default();
        State {
            held,
            holder,
            resting,
            graced,
            silent,
            kept,
            last,
            contended,
            queue,
            open,
            due,
            syncing,
            commits,
            synced,
            waiting,
            failed,
            checkpoint,
            closed,
        }
    }
}

impl<N: Natives> State<N> {
    /// Whether there is something for the committer.
    fn has_work(&self) -> bool {
        self.due || !self.syncing && self.is_made_for_someone()
    }

    /// 58030 after a sync has failed.
    fn check(&self, progress: &Progress) -> Result<()> {
        match &self.failed {
            None if !progress.has_failed() => Ok(()),
            Some(lost) if lost.code() == SqlState::TRANSACTION_RESOLUTION_UNKNOWN => Err(replicator::lost()),
            Some(lost) if lost.code() == SqlState::UNDEFINED_FILE => Err(PgError::new(
                SqlState::UNDEFINED_FILE,
                format!("the server has stopped accepting writes: {}", lost.message()),
            )),
            _ => Err(PgError::new(
                SqlState::IO_ERROR,
                "the server has stopped accepting writes because a sync of the database failed",
            )),
        }
    }

    /// Whether anybody waits for the slot.
    fn is_waited_for(&self) -> bool {
        self.queue.iter().any(|w| !w.turn.is_closed())
    }

    /// Whether somebody waits for the disk with a commit that has been made: readers may wait for one that is being made.
    fn is_made_for_someone(&self) -> bool {
        self.waiting.iter().any(|(number, _)| *number <= self.commits)
    }
}

struct Inner<N: Natives> {
    state: Mutex<State<N>>,
    /// told when there is something for the committer
    work: Condvar,
    /// told when the holder falls silent and keeps the slot
    silences: Notify,
    /// None: it was not needed yet
    committer: Mutex<Option<JoinHandle<()>>>,
    /// None: an in-memory database has nothing to sync
    wal: Option<Wal>,
    /// how far the log is on disk, and what the engine's own connection has seen of it
    log: Reading,
    /// where the connections of shared transactions come back to
    idle: Arc<Idle<N>>,
    /// others that have to have each commit
    replicator: OnceLock<Arc<dyn Replicator>>,
    /// writes the log back
    checkpointer: Checkpointer,
    /// of those who wait for this machine's disk alone, one syncs
    own_disk: Mutex<()>,
    /// the server's runtime, once a session has been seen in it
    runtime: OnceLock<Handle>,
    /// a task looks after a silence that is waited for; changed while the state is locked, but for a task that is dropped
    watched: AtomicBool,
}

/// The queue of a database's writers.
pub struct Writer<N: Natives>(Arc<Inner<N>>);

/// The right to write: held from the first write of a transaction to its end, and given to the next in line when it is dropped.
pub struct Slot<N: Natives> {
    inner: Arc<Inner<N>>,
    /// The transaction that others have left open: to be joined or committed before anything else is written.
    pub shared: Option<Shared<N>>,
    /// it is somebody else's already
    spent: bool,
}

impl<N: Natives> Drop for Slot<N> {
    fn drop(&mut self) {
        if !self.spent {
            self.inner.give_back(self.shared.take());
        }
    }
}

impl<N: Natives> Slot<N> {
    fn new(inner: &Arc<Inner<N>>, shared: Option<Shared<N>>) -> Slot<N> {
        Slot { inner: inner.clone(), shared, spent: false }
    }

    /// Commits what others have left open; the committer sees to its sync. Nothing is told here if it fails: its members are.
    pub fn commit_shared(&mut self) {
        if let Some(shared) = self.shared.take() {
            self.inner.commit(shared);
            self.inner.call_committer();
        }
    }

    /// Whether others queue for it.
    pub fn is_waited_for(&self) -> bool {
        !self.inner.state.lock().queue.is_empty()
    }

    /// Whether a short transaction that ends now is better left open: the disk is busy, so that it costs no time.
    pub fn disk_is_busy(&self) -> bool {
        self.inner.state.lock().syncing
    }

    /// Leaves a transaction open, for others to join and the committer to commit. `members` are those whose transaction was joined.
    /// `number`: that of the holder's transaction, if anybody knows it; it is kept until the outcome is there.
    pub fn leave(
        self,
        connection: Connection<N>,
        members: Option<Members>,
        number: Option<impl Send + 'static>,
    ) -> Outcome {
        let (sender, outcome) = oneshot::channel();
        let mut members = members.unwrap_or_default();
        let number = number.map(|number| Box::new(number) as Box<dyn Send>);
        members.0.push(Member { outcome: sender, number });
        self.leave_to(Shared { connection, members });
        outcome
    }

    /// Leaves a transaction open in which the holder has no part (any more).
    pub fn leave_to(mut self, shared: Shared<N>) {
        self.shared = Some(shared);
    }
}

/// The task that looks after silences ([`Inner::watch`]).
struct Watch<N: Natives> {
    inner: Arc<Inner<N>>,
    /// it is known already that nobody watches
    over: bool,
}

impl<N: Natives> Watch<N> {
    async fn look(mut self) {
        let mut rest = GRACE;
        loop {
            tokio::time::sleep(rest).await;
            let resting = {
                let mut state = self.inner.state.lock();
                let silence = state.silent.filter(|_| state.graced && state.resting.is_some() && state.is_waited_for());
                match silence.map(|since| GRACE.saturating_sub(since.elapsed())) {
                    Some(left) if !left.is_zero() => {
                        rest = left;
                        continue;
                    }
                    over => {
                        self.inner.watched.store(false, Ordering::Release);
                        state.graced &= over.is_none();
                        over.and_then(|_| state.resting.take())
                    }
                }
            };
            self.over = true;
            drop(resting.and_then(|resting| resting.put_aside()));
            return;
        }
    }
}

impl<N: Natives> Drop for Watch<N> {
    /// A runtime that ends drops its tasks: another one may look then.
    fn drop(&mut self) {
        if !self.over {
            self.inner.watched.store(false, Ordering::Release);
        }
    }
}

impl<N: Natives> Inner<N> {
    /// The server's runtime. Threads that wait in a runtime of their own, which ends with their wait, are looked after in that of the sessions. None: there is none.
    fn runtime(&self) -> Option<Handle> {
        match Handle::try_current() {
            Ok(own) if own.runtime_flavor() == RuntimeFlavor::MultiThread => {
                Some(self.runtime.get_or_init(|| own.clone()).clone())
            }
            _ => self.runtime.get().cloned(),
        }
    }

    /// A holder that is still silent after [`GRACE`] has its transaction put aside, and who waits longest gets the slot. One task looks after
    /// all silences of this moment: a task for each would cost more than the silences themselves take.
    fn watch(self: &Arc<Self>) {
        let Some(runtime) = self.runtime() else { return };
        if !self.watched.swap(true, Ordering::AcqRel) {
            runtime.spawn(Watch { inner: self.clone(), over: false }.look());
        }
    }

    /// The slot goes to the committer if there is something to commit and the disk is free, else to the thread that writes the log back if it
    /// waits, else to who waits longest.
    fn give_back(self: &Arc<Self>, mut shared: Option<Shared<N>>) {
        loop {
            let next = {
                let mut state = self.state.lock();
                state.kept = None;
                if shared.is_some() {
                    state.open = shared.take();
                }
                if state.open.is_some() && !state.syncing {
                    state.due = true;
                    state.holder = Applicant::default();
                    None
                } else if state.checkpoint == Turn::Waits && state.open.is_none() {
                    state.checkpoint = Turn::InSlot;
                    state.holder = Applicant::default();
                    self.checkpointer.slot_is_its();
                    None
                } else {
                    let next = state.queue.pop_front();
                    state.held = next.is_some();
                    state.contended = (!state.queue.is_empty()).then(Instant::now);
                    state.holder = next.as_ref().map(|next| next.who).unwrap_or_default();
                    next.map(|next| (next.turn, state.open.take()))
                }
            };
            match next {
                None => return self.call_committer(),
                Some((next, open)) => match next.send(Slot::new(self, open)) {
                    Ok(()) => return,
                    // it waits no more
                    Err(mut slot) => {
                        slot.spent = true;
                        shared = slot.shared.take();
                    }
                },
            }
        }
    }

    /// COMMIT of a shared transaction, by the holder of the slot. From now on its members wait for the disk.
    fn commit(self: &Arc<Self>, Shared { connection, members }: Shared<N>) {
        let failed = self.state.lock().check(&self.log.progress).err();
        let number = self.begin_commit();
        let committed = match failed {
            None => self.lengthen(true).and_then(|()| connection.commit(true)),
            Some(e) => Err(e),
        };
        match committed {
            Ok(wrote) => {
                connection.mark_seen(number);
                // where there was nothing to write, what was found may still be on its way to the disk
                let number = if wrote { number } else { number - 1 };
                let settled = {
                    let mut state = self.state.lock();
                    state.commits = number;
                    if wrote || number > state.synced {
                        state.waiting.extend(members.0.into_iter().map(|m| (number, m)));
                        None
                    } else {
                        Some(members)
                    }
                };
                if let Some(members) = settled {
                    members.tell(&Ok(()));
                }
                if wrote {
                    self.look_at_log();
                } else {
                    self.give_commit_up();
                }
            }
            Err(e) => {
                tracing::warn!(error = %e, "a transaction of several sessions could not be committed");
                self.give_commit_up();
                members.fail(&e);
            }
        }
        // one that cannot be cleaned is closed
        if connection.is_autocommit() || connection.exec("ROLLBACK").is_ok() {
            self.idle.put(connection);
        }
    }

    /// Before COMMIT, while SQLite's write lock is held. `synced`: a sync follows. Errors: 58P01 if the log is not the one that it was;
    /// nothing more is written.
    fn lengthen(&self, synced: bool) -> Result<()> {
        let Some(wal) = &self.wal else { return Ok(()) };
        let checked = match synced {
            true => wal.check_length(),
            false => wal.check_length().and_then(|()| wal.check_now_and_then()),
        };
        if let Err(e) = checked {
            self.state.lock().failed.get_or_insert(e.clone());
            return Err(e);
        }
        if let Err(e) = wal.lengthen() {
            tracing::debug!("the write-ahead log was not made longer: {e}");
        }
        Ok(())
    }
}

impl<N: Natives> Writer<N> {
    /// `log`: what the engine's own connection sees of it.
    pub fn new(room: Arc<Room>, wal: Option<Wal>, log: Reading, idle: Arc<Idle<N>>) -> Writer<N> {
        let (state, work, silences, committer) = Default::default();
        let (replicator, own_disk) = Default::default();
        let (runtime, watched) = Default::default();
        let checkpointer = Checkpointer::new(room);
        Writer(Arc::new(Inner {
            state,
            work,
            silences,
            committer,
            wal,
            log,
            idle,
            replicator,
            checkpointer,
            own_disk,
            runtime,
            watched,
        }))
    }

    /// Errors: 58030 after a sync has failed, whoever asked for it.
    fn check(&self) -> Result<()> {
        self.0.state.lock().check(&self.0.log.progress)
    }

    /// The slot, if nobody has it or waits for it, or its holder can be put aside. Errors: 58030 after a sync has failed.
    pub fn try_acquire(&self, who: Applicant) -> Result<Option<Slot<N>>> {
        self.acquire_with(who, |_| ())
    }

    /// Waits for the slot, in order of asking. Errors: as [`Writer::try_acquire`].
    pub async fn acquire(&self, who: Applicant) -> Result<Slot<N>> {
        let (sender, turn) = oneshot::channel();
        let mut sender = Some(sender);
        let queued = self.acquire_with(who, |state| {
            state.queue.extend(sender.take().map(|turn| Waiting { who, turn }));
            state.contended.get_or_insert_with(Instant::now);
        })?;
        if let Some(slot) = queued {
            return Ok(slot);
        }
        let slot = turn.await.map_err(|_| PgError::internal("the queue of the writers is gone"))?;
        self.check()?;
        Ok(slot)
    }

    /// The slot, if it can be had now; otherwise `wait` is called before the state of the slot can change.
    fn acquire_with(&self, who: Applicant, wait: impl FnOnce(&mut State<N>)) -> Result<Option<Slot<N>>> {
        loop {
            let resting = {
                let mut state = self.0.state.lock();
                state.check(&self.0.log.progress)?;
                if !state.held {
                    state.held = true;
                    state.holder = who;
                    return Ok(Some(Slot::new(&self.0, state.open.take())));
                }
                let graced = state.graced;
                match state.resting.take_if(|_| !graced) {
                    Some(resting) => resting,
                    None => {
                        let is_first = state.resting.is_some() && !state.is_waited_for();
                        wait(&mut state);
                        if is_first && state.is_waited_for() {
                            self.0.watch();
                        }
                        return Ok(None);
                    }
                }
            };
            // (its holder may come back at this moment: then it is as if it had never been silent)
            if let Some(slot) = resting.put_aside() {
                self.0.state.lock().holder = who;
                return Ok(Some(slot));
            }
        }
    }

    /// The holder of the slot is silent: the slot can be had from it. False: others wait for it. `patience`: they may wait for so long, all in all,
    /// and at most for [`GRACE`] now, because the client will go on at once.
    pub fn lay_down(&self, resting: Arc<dyn Resting<N>>, patience: Option<Duration>) -> bool {
        let mut state = self.0.state.lock();
        let is_waited_for = state.is_waited_for();
        let waits = |patience: Duration| state.contended.is_none_or(|since| since.elapsed() < patience);
        state.graced = patience.is_some_and(waits) && self.0.runtime().is_some();
        if is_waited_for && !state.graced {
            state.resting = None;
            return false;
        }
        state.resting = Some(resting);
        state.silent = state.graced.then(Instant::now);
        if is_waited_for {
            self.0.watch();
        }
        true
    }

    /// The holder of the slot goes on.
    pub fn take_up(&self) {
        let mut state = self.0.state.lock();
        state.resting = None;
        state.kept = None;
    }

    /// The holder of the slot is silent, and keeps it: its transaction cannot be put aside. It has changed no rows of tables of users, so that
    /// what is committed is what others may lock meanwhile. Until [`Writer::take_up`].
    pub fn keep_silently(&self) {
        let mut state = self.0.state.lock();
        state.last += 1;
        state.kept = Some(Silence(state.last));
        drop(state);
        self.0.silences.notify_waiters();
    }

    /// Waits until [`Writer::silence`] has one.
    pub async fn fallen_silent(&self) {
        let mut next = std::pin::pin!(self.0.silences.notified());
        next.as_mut().enable();
        if self.silence().is_none() {
            next.await;
        }
    }

    /// The present time in which nobody writes: see [`Writer::keep_silently`].
    pub fn silence(&self) -> Option<Silence> {
        self.0.state.lock().kept
    }

    /// Who has the slot. None: nobody, or the committer.
    pub fn holder(&self) -> Option<Applicant> {
        let state = self.0.state.lock();
        (state.held && state.holder.session != 0).then_some(state.holder)
    }

    /// Whether the session has the slot and keeps it: its client is not silent, or its transaction cannot be put aside.
    pub fn is_kept_by(&self, session: u64) -> bool {
        let state = self.0.state.lock();
        state.held && state.holder.session == session && state.resting.is_none()
    }

    /// Whether the committer has the slot, or is about to.
    pub fn is_committing(&self) -> bool {
        self.0.state.lock().due
    }

    /// Those that wait for the slot, first first.
    pub fn waiting(&self) -> Vec<Applicant> {
        self.0.state.lock().queue.iter().filter(|w| !w.turn.is_closed()).map(|w| w.who).collect()
    }

    /// Whether commits reach a disk.
    pub fn syncs(&self) -> bool {
        self.0.wal.is_some()
    }

    /// To be called right before COMMIT, while SQLite's write lock is held. `synced`: [`Writer::wait_durable`] will be called. What comes of it
    /// is to be told by [`Writer::committed`] or [`Writer::not_committed`]. Errors: 58P01 if the log was cut or is gone, 58030 after a sync
    /// has failed: then nothing may be written.
    pub fn expect_commit(&self, synced: bool) -> Result<()> {
        self.0.lengthen(synced)?;
        self.check()?;
        if synced {
            self.0.begin_commit();
        }
        Ok(())
    }

    /// The log that is open, to compare it with what is at its place.
    pub fn log(&self) -> Option<crate::files::FileId> {
        self.0.wal.as_ref().and_then(Wal::id)
    }

    /// To be called right after COMMIT, still inside the slot: the commit's number.
    pub fn committed(&self) -> u64 {
        let mut state = self.0.state.lock();
        state.commits += 1;
        let number = state.commits;
        let reader_waits = !state.waiting.is_empty() && state.has_work();
        drop(state);
        if reader_waits {
            self.0.call_committer();
        }
        self.0.look_at_log();
        number
    }

    /// The commit that [`Writer::expect_commit`] announced was none, or has failed.
    pub fn not_committed(&self) {
        self.0.give_commit_up();
    }
}
