//! The files of an archive.

use crate::ltx::Header;
use crate::{Error, Result};
use std::fs::File;
use std::path::{Path, PathBuf};

/// The level of whole databases.
pub const SNAPSHOTS: u32 = 9;

/// A file of an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// its level
    pub level: u32,
    /// the number of its first transaction
    pub first: u64,
    /// the number of its last
    pub last: u64,
    /// where it is
    pub path: PathBuf,
    /// its bytes; zero: nobody has asked
    pub size: u64,
}

/// A file that is complete, and not in the archive yet.
#[derive(Debug)]
pub struct Made {
    /// its level
    pub level: u32,
    /// what it says of itself
    pub header: Header,
    pub(crate) file: File,
    /// its name in a folder until it is published
    pub(crate) making: PathBuf,
}

/// What has become of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Published {
    /// It is in the archive, for good.
    Done,
    /// Another one has its name: somebody else writes to the archive.
    Taken,
}

/// What has become of an entry of a log that several nodes write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Appended {
    /// It is in the log.
    Done,
    /// Its number is another entry's.
    Taken,
    /// No answer has come: it may be in the log, or get there yet.
    Unknown,
}

/// What a file's name says: `FIRST-LAST.ltx`, sixteen hexadecimal digits each.
pub(crate) fn transactions(name: &str) -> Option<(u64, u64)> {
    let (first, last) = name.strip_suffix(".ltx")?.split_once('-')?;
    let number = |text: &str| match text.len() {
        16 => u64::from_str_radix(text, 16).ok(),
        _ => None,
    };
    Some((number(first)?, number(last)?))
}

impl Entry {
    pub(crate) fn check(&self, header: &Header) -> Result<()> {
        match (header.first, header.last) == (self.first, self.last) {
            true => Ok(()),
            false => {
                let what = format!("the file has the transactions {:x} to {:x}", header.first, header.last);
                Err(Error::new(what).of(&self.path))
            }
        }
    }

    /// The file, for messages.
    pub fn path(&self) -> &Path {
        &self.path
    }
}
