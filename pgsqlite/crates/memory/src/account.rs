//! The memory of one session.

use crate::files::FileLimit;
use std::sync::atomic::{AtomicIsize, Ordering};
use std::sync::Arc;

/// What one session holds, in bytes. It may be negative: a session may free what others have allocated.
///
/// One thread at a time runs a session, so the count is changed without a lock.
#[derive(Debug, Default)]
pub struct Account {
    pub(crate) held: AtomicIsize,
    files: FileLimit,
}

impl Account {
    #[allow(clippy::new_without_default)]
    pub fn new() -> Arc<Account> {
        Arc::default()
    }

    /// Bytes that the session holds, without those of a call that runs.
    pub fn held(&self) -> isize {
        self.held.load(Ordering::Relaxed)
    }

    /// The session's temporary files.
    pub fn files(&self) -> &FileLimit {
        &self.files
    }
}
