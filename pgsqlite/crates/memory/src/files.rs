//! How much a session has written into its temporary files, and how much it may.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The temporary files of one session.
#[derive(Debug)]
pub struct FileLimit {
    pub(crate) used: AtomicU64,
    /// bytes; `u64::MAX`: no limit
    pub(crate) limit: AtomicU64,
    /// a write was refused since somebody last asked
    pub(crate) refused: AtomicBool,
}

impl Default for FileLimit {
    fn default() -> Self {
        FileLimit { used: AtomicU64::new(0), limit: AtomicU64::new(u64::MAX), refused: AtomicBool::new(false) }
    }
}

impl FileLimit {
    /// Sets how many bytes all temporary files of the session may have together. `None`: as many as the disk has place for.
    pub fn set(&self, limit: Option<u64>) {
        self.limit.store(limit.unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Bytes of the session's temporary files now.
    pub fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// Whether a write was refused since this was last asked; the limit in bytes.
    pub fn take_refused(&self) -> Option<u64> {
        self.refused.swap(false, Ordering::Relaxed).then(|| self.limit.load(Ordering::Relaxed))
    }
}
