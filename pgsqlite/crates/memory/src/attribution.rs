//! Whose memory it is: what a call or a future allocates and frees belongs to the account that has run it.

use crate::account::Account;
use crate::count;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::sync::Arc;
use std::task::{Context, Poll};

impl Account {
    /// The account of the session that runs on this thread.
    pub fn current() -> Option<Arc<Account>> {
        let account = count::current();
        if account.is_null() {
            return None;
        }
        // SAFETY: `run` was called on an Arc's content, and keeps it alive until it ends.
        unsafe {
            Arc::increment_strong_count(account);
            Some(Arc::from_raw(account))
        }
    }

    /// Attributes what `call` allocates and frees to this session.
    pub fn run<R>(self: &Arc<Self>, call: impl FnOnce() -> R) -> R {
        let _guard = Guard { account: self, before: count::enter(Arc::as_ptr(self)) };
        call()
    }

    /// Attributes what `future` allocates and frees, whenever it is polled, to this session.
    pub fn track<F: Future>(self: &Arc<Self>, future: F) -> Tracked<F> {
        Tracked { account: self.clone(), future }
    }
}

/// Ends the attribution, also when the call panics.
struct Guard<'a> {
    account: &'a Arc<Account>,
    before: (*const Account, isize),
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        let held = &self.account.held;
        count::leave(self.before, |change| held.store(held.load(Ordering::Relaxed) + change, Ordering::Relaxed));
    }
}

pin_project_lite::pin_project! {
    /// A future whose allocations belong to an [`Account`].
    pub struct Tracked<F> {
        account: Arc<Account>,
        #[pin]
        future: F,
    }
}

impl<F: Future> Future for Tracked<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        this.account.run(|| this.future.poll(context))
    }
}
