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

    /// What a bucket has answered, or why it did not.
    pub(crate) fn bucket(place: &str, error: &dyn std::error::Error) -> Error {
        // (the answer's text may have several lines of XML)
        let (mut message, mut cause) = (error.to_string(), error.source());
        while let Some(next) = cause {
            let text = next.to_string();
            if !message.contains(&text) {
                message = format!("{message}: {text}");
            }
            cause = next.source();
        }
        let message = message.split_whitespace().collect::<Vec<_>>().join(" ");
        let short: String = message.chars().take(600).collect();
        Error(format!("\"{place}\": {short}"))
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
