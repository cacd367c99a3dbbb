//! An object store that a few nodes keep together by Raft, without any other program: what a majority of them has is never lost.
//!
//! An object has a name, a content and a tag, and is put on a condition: that there is none, or that it has a certain tag. That is all that an archive with a lease asks of a bucket.
//! A change is a [`command`], the content of an entry of Raft's log. [`objects`] says what it makes of the objects. [`node`] is a node without threads, network and clock, which the
//! simulation (a test) runs with drops, duplicates, crashes and partitions. [`file`] is a node's memory in a SQLite file, and [`service`] runs a node: threads, connections and a clock.
//!
//! The crate knows nothing of what the objects are.

#![warn(missing_docs)]

mod bytes_of;
pub mod command;
pub mod disk;
mod error;
pub mod file;
mod link;
pub mod node;
pub mod objects;
pub mod service;
#[cfg(test)]
mod simulation;
pub mod wire;

pub use error::{Error, Result};
pub use link::{Certificates, Member};
