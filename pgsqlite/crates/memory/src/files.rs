//! Temporary files: how much of them a session has written, and how much it may.

use crate::Account;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;

/// The temporary files of one session.
#[derive(Debug)]
pub struct FileLimit {
    used: AtomicU64,
    /// bytes; `u64::MAX`: no limit
    limit: AtomicU64,
    /// a write was refused since somebody last asked
    refused: AtomicBool,
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

/// A temporary file that counts for the session that has opened it.
#[derive(Debug)]
pub struct TemporaryFile {
    account: Option<Arc<Account>>,
    size: u64,
}

impl TemporaryFile {
    /// A new, empty file of the session that runs on this thread.
    pub fn new() -> TemporaryFile {
        TemporaryFile { account: Account::current(), size: 0 }
    }

    /// Whether the file may be as long as this.
    pub fn grow(&mut self, size: u64) -> bool {
        let Some(files) = self.account.as_ref().map(|a| a.files()).filter(|_| size > self.size) else { return true };
        let more = size - self.size;
        if files.used().saturating_add(more) > files.limit.load(Ordering::Relaxed) {
            files.refused.store(true, Ordering::Relaxed);
            return false;
        }
        files.used.fetch_add(more, Ordering::Relaxed);
        self.size = size;
        true
    }

    /// The file has become shorter.
    pub fn shrink(&mut self, size: u64) {
        if size < self.size {
            if let Some(account) = &self.account {
                account.files().used.fetch_sub(self.size - size, Ordering::Relaxed);
            }
            self.size = size;
        }
    }
}

impl Default for TemporaryFile {
    fn default() -> Self {
        TemporaryFile::new()
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        self.shrink(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_a_session_count_together() {
        let account = Account::new();
        account.files().set(Some(100));
        account.run(|| {
            let (mut a, mut b) = (TemporaryFile::new(), TemporaryFile::new());
            assert!(a.grow(60) && b.grow(40) && a.grow(50));
            assert!(!b.grow(41));
            assert_eq!((account.files().take_refused(), account.files().take_refused()), (Some(100), None));
            a.shrink(10);
            assert!(b.grow(90) && !a.grow(11));
            drop(b);
            assert_eq!(account.files().used(), 10);
            assert!(a.grow(100));
        });
        assert_eq!(account.files().used(), 0);
        // nobody's
        assert!(TemporaryFile::new().grow(1 << 40));
    }
}
