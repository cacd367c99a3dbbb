//! Temporary files, which count for the session that has opened them.

use crate::Account;
use std::sync::atomic::Ordering;
use std::sync::Arc;

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
