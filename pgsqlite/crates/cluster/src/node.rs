//! A node of the cluster without threads, network or clock: it is told that time passes, what others have sent and what its own process asks for, and says what is to be sent and what is answered.
//!
//! Raft itself is the library's. This file connects it with the node's memory ([`Disk`]) and with the objects, and keeps to the order that Raft demands: a leader's messages may go at once,
//! anybody else's only when what they speak of is there for good.

use crate::command::{Change, Command};
use crate::disk::{Disk, Marks};
use crate::objects::{apply, Outcome};
use crate::{Error, Result};
use raft::eraftpb::{ConfState, Entry, EntryType, Message, Snapshot};
use raft::{Config, GetEntriesContext, RaftState, RawNode, ReadOnlyOption, StateRole, Storage, StorageError};
use std::collections::{HashSet, VecDeque};

/// A node with a leader hears of it after so many ticks.
const HEARTBEAT: usize = 2;
/// A node that has not heard of its leader for so many ticks, or up to twice as many, looks for another one.
pub const ELECTION: usize = 10;
/// So many bytes of entries go in one message, or one entry.
const MESSAGE: u64 = 1 << 20;
/// So many messages with entries go to a node before it has answered.
const IN_FLIGHT: usize = 64;
/// A leader refuses what is proposed when so many bytes are on their way.
const UNCOMMITTED: u64 = 64 << 20;
/// The log is cut when it has so many entries that the objects have already.
const LONG: u64 = 20_000;
/// So many of them stay for nodes that are a little behind.
const KEPT: u64 = 10_000;

/// What has become of something that the process has asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// A change has been agreed upon.
    Changed(Outcome),
    /// The node has all that was agreed upon when the question was asked.
    UpToDate,
}

/// The cluster has no leader that this node knows of, or it has too much to do. Nothing has been asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoLeader;

/// How often a log is cut; tests have other figures.
#[derive(Debug, Clone, Copy)]
pub struct Lengths {
    /// above so many entries that are applied
    pub long: u64,
    /// to so many
    pub kept: u64,
}

impl Default for Lengths {
    fn default() -> Lengths {
        Lengths { long: LONG, kept: KEPT }
    }
}

/// The memory, as Raft reads it.
struct Memory<D>(D);

impl<D: Disk> Storage for Memory<D> {
    fn initial_state(&self) -> raft::Result<RaftState> {
        let marks = self.0.marks();
        let conf_state = ConfState { voters: marks.voters.clone(), ..Default::default() };
        let mut hard = marks.hard.clone();
        // (that more is agreed upon is not written each time)
        hard.commit = hard.commit.max(marks.applied);
        Ok(RaftState::new(hard, conf_state))
    }

    fn entries(
        &self,
        low: u64,
        high: u64,
        most: impl Into<Option<u64>>,
        _: GetEntriesContext,
    ) -> raft::Result<Vec<Entry>> {
        match low <= self.0.marks().compacted {
            true => Err(StorageError::Compacted.into()),
            false => Ok(self.0.entries(low, high, most.into().unwrap_or(u64::MAX))?),
        }
    }

    fn term(&self, index: u64) -> raft::Result<u64> {
        if index < self.0.marks().compacted {
            return Err(StorageError::Compacted.into());
        }
        self.0.term(index)?.ok_or_else(|| StorageError::Unavailable.into())
    }

    fn first_index(&self) -> raft::Result<u64> {
        Ok(self.0.marks().compacted + 1)
    }

    fn last_index(&self) -> raft::Result<u64> {
        Ok(self.0.last_index())
    }

    /// What a node gets that needs entries that are cut. Who sends the message makes the copy, behind this entry or a later one: Raft asks for it within its work.
    fn snapshot(&self, request_index: u64, _: u64) -> raft::Result<Snapshot> {
        let marks = self.0.marks();
        if marks.applied < request_index {
            return Err(StorageError::SnapshotTemporarilyUnavailable.into());
        }
        let mut snapshot = Snapshot::default();
        let metadata = snapshot.mut_metadata();
        (metadata.index, metadata.term) = (marks.applied, marks.applied_term);
        metadata.mut_conf_state().voters = marks.voters.clone();
        Ok(snapshot)
    }
}

/// A question that is answered when the node has applied an entry.
struct Read {
    ticket: u64,
    entry: u64,
}

/// A node.
pub struct Node<D: Disk> {
    raft: RawNode<Memory<D>>,
    process: u64,
    last_ticket: u64,
    /// questions that Raft has answered, and that wait for the objects
    reads: VecDeque<Read>,
    /// what has been asked for and not been answered
    open: HashSet<u64>,
    lengths: Lengths,
}

impl<D: Disk> Node<D> {
    /// The node of this number, with its memory. `process`: a number that no other process has. Errors: those of the memory, and one whose cluster has other nodes.
    pub fn new(number: u64, process: u64, disk: D, lengths: Lengths) -> Result<Node<D>> {
        if !disk.marks().voters.contains(&number) {
            return Err(Error::new(format!("the cluster of this memory has no node {number}")));
        }
        let config = Config {
            id: number,
            election_tick: ELECTION,
            heartbeat_tick: HEARTBEAT,
            applied: disk.marks().applied,
            max_size_per_msg: MESSAGE,
            max_inflight_msgs: IN_FLIGHT,
            max_uncommitted_size: UNCOMMITTED,
            max_committed_size_per_ready: 16 << 20,
            check_quorum: true,
            pre_vote: true,
            read_only_option: ReadOnlyOption::Safe,
            ..Default::default()
        };
        let logger = slog::Logger::root(slog::Discard, slog::o!());
        let raft = RawNode::new(&config, Memory(disk), &logger)?;
        Ok(Node { raft, process, last_ticket: 0, reads: VecDeque::new(), open: HashSet::new(), lengths })
    }

    /// The node's memory.
    pub fn disk(&self) -> &D {
        &self.raft.store().0
    }

    /// The numbers beside the node's log.
    pub fn disk_marks(&self) -> &Marks {
        self.disk().marks()
    }

    fn disk_mut(&mut self) -> &mut D {
        &mut self.raft.mut_store().0
    }

    /// The number of the leader. None: the node knows of none.
    pub fn leader(&self) -> Option<u64> {
        Some(self.raft.raft.leader_id).filter(|leader| *leader != 0)
    }

    /// Whether the node is the leader, as far as it knows.
    pub fn leads(&self) -> bool {
        self.raft.raft.state == StateRole::Leader
    }

    /// Raft's term.
    pub fn term(&self) -> u64 {
        self.raft.raft.term
    }

    /// A tick has passed.
    pub fn tick(&mut self) {
        self.raft.tick();
    }

    /// Another node has sent a message. What Raft does not want is passed over, as it would be if it were lost.
    pub fn step(&mut self, message: Message) {
        let _ = self.raft.step(message);
    }

    /// Whether the node is about to take this copy.
    pub fn takes(&self, copy: &[u8]) -> bool {
        self.raft.snap().is_some_and(|snapshot| snapshot.data[..] == *copy)
    }

    /// A message to that node has not been sent.
    pub fn is_unreachable(&mut self, node: u64) {
        self.raft.report_unreachable(node);
    }

    /// Whether a copy has been brought to that node.
    pub fn copy_ended(&mut self, node: u64, well: bool) {
        let status = if well { raft::SnapshotStatus::Finish } else { raft::SnapshotStatus::Failure };
        self.raft.report_snapshot(node, status);
    }

    /// The leader is asked to let this node lead.
    pub fn wants_to_lead(&mut self) {
        let number = self.raft.raft.id;
        if self.leader().is_some_and(|leader| leader != number) {
            self.raft.transfer_leader(number);
        }
    }

    /// If this node leads: another one is to do so, the one that has most of the log.
    pub fn hands_over(&mut self) {
        if !self.leads() {
            return;
        }
        let raft = &self.raft.raft;
        let others = raft.prs().iter().filter(|(number, progress)| **number != raft.id && progress.recent_active);
        let next = others.max_by_key(|(_, progress)| progress.matched).map(|(number, _)| *number);
        if let Some(next) = next {
            self.raft.transfer_leader(next);
        }
    }

    /// Asks for a change. Its answer has the number that is returned. No answer may come: then it may have happened, or happen yet.
    pub fn propose(&mut self, time: u64, change: Change) -> std::result::Result<u64, NoLeader> {
        let ticket = self.last_ticket + 1;
        let command = Command { process: self.process, ticket, time, change };
        if self.leader().is_none() || self.raft.propose(Vec::new(), command.encode()).is_err() {
            return Err(NoLeader);
        }
        self.last_ticket = ticket;
        self.open.insert(ticket);
        Ok(ticket)
    }

    /// Asks to be told when the node has all that is agreed upon now. The question may get lost, as one of [`Node::propose`].
    pub fn catch_up(&mut self) -> std::result::Result<u64, NoLeader> {
        if self.leader().is_none() {
            return Err(NoLeader);
        }
        self.last_ticket += 1;
        let ticket = self.last_ticket;
        let mut context = self.process.to_be_bytes().to_vec();
        context.extend(ticket.to_be_bytes());
        self.raft.read_index(context);
        self.open.insert(ticket);
        Ok(ticket)
    }

    /// Nobody waits for this answer any more.
    pub fn forget(&mut self, ticket: u64) {
        self.open.remove(&ticket);
        self.reads.retain(|read| read.ticket != ticket);
    }

    /// Does what is due: writes, applies, and hands out what is to be sent. Returns answers. Errors: those of the memory. The node must not be used any more after one.
    pub fn work(&mut self, send: &mut dyn FnMut(Message)) -> Result<Vec<(u64, Answer)>> {
        let mut answers = Vec::new();
        while self.raft.has_ready() {
            let mut ready = self.raft.ready();
            for message in ready.take_messages() {
                send(message);
            }
            if ready.snapshot().get_metadata().index > 0 {
                let metadata = ready.snapshot().get_metadata();
                let (index, term) = (metadata.index, metadata.term);
                let copy = ready.snapshot().data.clone();
                self.disk_mut().install(index, term, &copy)?;
            }
            // (that more is agreed upon is written with the next entries: who has lost it learns it again)
            if ready.must_sync() {
                let (entries, hard) = (ready.take_entries(), ready.hs().cloned());
                self.disk_mut().write(&entries, hard.as_ref())?;
            }
            for state in ready.take_read_states() {
                self.has_been_answered(state.index, &state.request_ctx);
            }
            for message in ready.take_persisted_messages() {
                send(message);
            }
            self.apply(ready.take_committed_entries(), &mut answers)?;
            let mut light = self.raft.advance(ready);
            for message in light.take_messages() {
                send(message);
            }
            self.apply(light.take_committed_entries(), &mut answers)?;
            self.raft.advance_apply();
        }
        let applied = self.disk().marks().applied;
        while self.reads.front().is_some_and(|read| read.entry <= applied) {
            let Some(read) = self.reads.pop_front() else { break };
            if self.open.remove(&read.ticket) {
                answers.push((read.ticket, Answer::UpToDate));
            }
        }
        let Lengths { long, kept } = self.lengths;
        if applied.saturating_sub(self.disk().marks().compacted) > long {
            self.disk_mut().compact(applied - kept)?;
        }
        Ok(answers)
    }

    fn has_been_answered(&mut self, entry: u64, context: &[u8]) {
        let number = |at: usize| context.get(at..at + 8).and_then(|b| b.try_into().ok()).map(u64::from_be_bytes);
        if let (Some(process), Some(ticket)) = (number(0), number(8)) {
            if process == self.process {
                self.reads.push_back(Read { ticket, entry });
            }
        }
    }

    fn apply(&mut self, entries: Vec<Entry>, answers: &mut Vec<(u64, Answer)>) -> Result<()> {
        let Some(last) = entries.last() else { return Ok(()) };
        let (index, term) = (last.index, last.term);
        let mut done = Vec::new();
        self.disk_mut().apply((index, term), &mut |objects| {
            // (a memory may try again)
            done.clear();
            for entry in &entries {
                // (a leader begins with an entry without content)
                if entry.get_entry_type() != EntryType::EntryNormal || entry.data.is_empty() {
                    continue;
                }
                let Some(command) = Command::decode(&entry.data) else {
                    return Err(Error::new(format!("entry {} is of a newer version", entry.index)));
                };
                let (process, ticket) = (command.process, command.ticket);
                done.push((process, ticket, apply(objects, entry.index, entry.data.len(), command)?));
            }
            Ok(())
        })?;
        for (process, ticket, outcome) in done {
            if process == self.process && self.open.remove(&ticket) {
                answers.push((ticket, Answer::Changed(outcome)));
            }
        }
        Ok(())
    }
}
