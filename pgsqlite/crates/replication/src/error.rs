//! What can go wrong with an archive.

use std::fmt;
use std::path::Path;

/// Why an archive cannot be read, or a database not be restored from it: a sentence for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error(String);

/// The result of work with an archive.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An error with this sentence.
    pub fn new(message: impl Into<String>) -> Error {
        Error(message.into())
    }

    /// What the operating system reports of a file.
    pub(crate) fn file(path: &Path, error: &std::io::Error) -> Error {
        Error(format!("\"{}\": {error}", path.display()))
    }

    /// The same error, of this file.
    pub(crate) fn of(self, path: &Path) -> Error {
        Error(format!("\"{}\": {}", path.display(), self.0))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Error {
        match error.kind() {
            std::io::ErrorKind::UnexpectedEof => Error::new("the file ends too early"),
            _ => Error(error.to_string()),
        }
    }
}
