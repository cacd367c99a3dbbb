//! What a node keeps: Raft's log and votes, and the objects that the log has led to.

use crate::Result;
use bytes::Bytes;
use raft::eraftpb::{Entry, HardState};

/// An object, as it is known without its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    /// the number of the entry that has put it: another one for each state of an object
    pub tag: u64,
    /// when it was put, by the clock of who did, in milliseconds since 1970
    pub time: u64,
    /// the bytes of its content
    pub size: u64,
    /// what its user keeps beside the content
    pub attributes: Bytes,
}

/// A part of a content: it stays where it came, in an entry of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// the entry's number
    pub entry: u64,
    /// where it begins in the entry's data, in bytes
    pub at: u64,
    /// its bytes
    pub length: u64,
}

/// Numbers that a node keeps beside the log.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Marks {
    /// Raft's term, vote and commit
    pub hard: HardState,
    /// the entries up to this one are no part of the log any more (what objects need of them is kept)
    pub compacted: u64,
    /// its term
    pub compacted_term: u64,
    /// the objects are those behind this entry
    pub applied: u64,
    /// its term
    pub applied_term: u64,
    /// the numbers of the nodes
    pub voters: Vec<u64>,
}

/// The objects, while entries are applied to them.
pub trait Objects {
    /// The object of this name.
    fn object(&self, name: &str) -> Result<Option<Object>>;
    /// The object of this name is this one from now on.
    fn set(&mut self, name: &str, object: &Object, parts: &[Part]) -> Result<()>;
    /// There is no object of this name from now on.
    fn remove(&mut self, name: &str) -> Result<()>;
    /// A part of an upload has come; one that came before under its number is replaced.
    fn add_part(&mut self, upload: u64, number: u32, part: Part) -> Result<()>;
    /// The parts of an upload by their numbers.
    fn parts(&self, upload: u64) -> Result<Vec<(u32, Part)>>;
    /// The upload's parts belong to it no longer.
    fn forget_upload(&mut self, upload: u64) -> Result<()>;
    /// As [`Objects::forget_upload`], for parts of all uploads that came before this entry.
    fn forget_uploads_before(&mut self, entry: u64) -> Result<()>;
}

/// A node's memory that outlives it.
pub trait Disk {
    /// The numbers beside the log.
    fn marks(&self) -> &Marks;

    /// The number of the last entry.
    fn last_index(&self) -> u64;

    /// The term of an entry of the log, or of the last one that is no part of it any more. None: it is not there.
    fn term(&self, index: u64) -> Result<Option<u64>>;

    /// The entries from `low` to before `high`, which are there, but at most so many bytes of them, and at least one.
    fn entries(&self, low: u64, high: u64, most: u64) -> Result<Vec<Entry>>;

    /// Adds entries to the log, in place of those that have their numbers or later ones, and takes a new state of Raft. They are there for good when this returns.
    fn write(&mut self, entries: &[Entry], hard: Option<&HardState>) -> Result<()>;

    /// Changes the objects as one, and with them what was applied: the number of an entry and its term. It may be lost when the machine fails, with what came later.
    fn apply(&mut self, applied: (u64, u64), work: &mut dyn FnMut(&mut dyn Objects) -> Result<()>) -> Result<()>;

    /// The log need not have the entries up to this one any more.
    fn compact(&mut self, index: u64) -> Result<()>;

    /// Takes a copy of another node's objects, which was made behind this entry of this term, in place of everything. `copy` names it. It is there for good when this returns.
    fn install(&mut self, index: u64, term: u64, copy: &[u8]) -> Result<()>;
}
