//! Copies of a database's changes outside of its file: the files that hold them, and restoring a database from them.
//!
//! An [`archive`] is a folder, or a part of a bucket ([`place`]), with [`ltx`] files in the layout of Litestream. Each file has the pages that some transactions have changed.
//! [`restore`] chooses the files that lead to a state, and writes it to a new file; [`follow`] those that lead on from there. [`stream`] has the messages by which such files come over a connection. Everything that is read is compared with its checksum.
//!
//! The crate knows pages and nothing of SQL. It opens no database.

#![warn(missing_docs)]

pub mod archive;
mod bucket;
mod cluster;
mod crc64;
mod entry;
mod error;
pub mod failover;
pub mod follow;
pub mod levels;
pub mod ltx;
mod patience;
pub mod place;
pub mod restore;
pub mod stream;

pub use error::{Error, Result};
