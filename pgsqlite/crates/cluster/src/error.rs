//! Why something did not work.

use std::fmt;

/// A result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// An error, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    what: String,
    /// there was no memory for it
    memory: bool,
}

impl Error {
    /// An error with this text.
    pub fn new(what: impl Into<String>) -> Error {
        Error { what: what.into(), memory: false }
    }

    /// Whether it is that there was no memory.
    pub(crate) fn is_memory(&self) -> bool {
        self.memory
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for Error {}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Error {
        let memory = error.sqlite_error_code() == Some(rusqlite::ErrorCode::OutOfMemory);
        Error { what: format!("the cluster's file: {error}"), memory }
    }
}

impl From<raft::Error> for Error {
    fn from(error: raft::Error) -> Error {
        Error::new(format!("Raft: {error}"))
    }
}

impl From<Error> for raft::Error {
    fn from(error: Error) -> raft::Error {
        raft::Error::Store(raft::StorageError::Other(Box::new(error)))
    }
}
